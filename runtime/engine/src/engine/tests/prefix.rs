//! What sequences share: the cases about prefixes of the public bug reports, and who computes what how often.

use super::*;
use crate::fake::row;

/// As many tokens as fit into a step, and room for some sequences of 64 tokens.
fn limits() -> BatchLimits {
    BatchLimits { pages: 32, max_tokens: 64, max_logit_rows: 16, max_positions: 256, ..fake_limits() }
}

fn engine(config: EngineConfig) -> Engine {
    Engine::new(Box::new(summing(limits())), config).unwrap()
}

/// A chunk of two pages.
const WIDE: EngineConfig = EngineConfig { step_tokens: 64, ..EngineConfig::new(32, 16) };

fn usage(events: &[Event], sequence: SequenceId) -> Usage {
    let EventKind::Finished(_, usage) = end(events, sequence) else { panic!("{sequence:?} did not finish") };
    usage
}

/// One request after the other.
fn one(engine: &mut Engine, prompt: &[u32], count: usize) -> (Vec<u32>, Usage) {
    let id = engine.submit(request(prompt, Some(count))).unwrap();
    let events = run(engine);
    (tokens(&events, id), usage(&events, id))
}

/// Case eng-prefix-02: prompts that share 2.5 pages and then differ, the same again, the prefix alone, and a next turn.
#[test]
fn a_hit_covers_exactly_the_shared_tokens() {
    let mut shared = engine(WIDE);
    let mut alone = engine(EngineConfig { prefix_cache: false, ..WIDE });
    let prefix: Vec<u32> = (0..40).map(|i| i * 7 % 50).collect();
    let with = |end: &[u32]| [&prefix[..], end].concat();
    let (first, _) = one(&mut alone, &with(&[200, 1]), 20);
    let next_turn = [&with(&[200, 1]), &first[..], &[7, 8, 9]].concat();
    let prompts = [with(&[200, 1]), with(&[201, 2, 3]), with(&[200, 1]), prefix.clone(), next_turn];
    // Whole pages of 16: the prefix has two and a half, and the turn 42 + 20 tokens, of which the last was chosen and not computed.
    for (prompt, cached) in prompts.iter().zip([0, 32, 32, 32, 48]) {
        let ((found, usage), (expected, cold)) = (one(&mut shared, prompt, 20), one(&mut alone, prompt, 20));
        assert_eq!(found, expected);
        assert_eq!((usage.cached_tokens, cold.cached_tokens), (cached, 0), "{} tokens", prompt.len());
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (prompt.len(), 20));
    }
    assert_eq!(shared.stats().prefix_hit_tokens, 32 * 3 + 48);
    assert_eq!(alone.stats().pages_cached, 0);
}

/// Case eng-prefix-05: log-probabilities beside a hit.
#[test]
fn logprobs_are_the_same_cold_and_cached() {
    let mut engine = engine(WIDE);
    let mut ask = || {
        let id = engine.submit(Request { logprobs: Some(5), ..request(&[3; 50], Some(6)) }).unwrap();
        let events = run(&mut engine);
        let chosen: Vec<_> = events.iter().filter(|e| e.sequence == id).map(|e| e.kind.clone()).collect();
        let tokens = chosen.into_iter().filter(|kind| matches!(kind, EventKind::Token(_))).collect::<Vec<_>>();
        (tokens, usage(&events, id).cached_tokens)
    };
    let (cold, warm) = (ask(), ask());
    assert_eq!((cold.1, warm.1), (0, 48));
    assert_eq!(cold.0, warm.0);
    assert_eq!(warm.0.len(), 6);
}

/// Part C of case eng-batch-01: copies that arrive at once are computed once, and say the same.
#[test]
fn copies_that_arrive_at_once_are_computed_once() {
    let mut engine = engine(WIDE);
    let prompt: Vec<u32> = (0..100).map(|i| i % 90).collect();
    let ids: Vec<_> = (0..16).map(|_| engine.submit(request(&prompt, Some(8))).unwrap()).collect();
    let events = run(&mut engine);
    for (i, &id) in ids.iter().enumerate() {
        assert_eq!(tokens(&events, id), expected(&prompt, 8));
        assert_eq!(usage(&events, id).cached_tokens, if i == 0 { 0 } else { 96 });
    }
    assert_eq!(engine.stats().prompt_tokens, 100 + 15 * 4);
}

/// Whoever computes for others is cancelled in the middle: another one goes on from there, and nobody waits for ever.
#[test]
fn who_waits_for_a_cancelled_sequence_goes_on_by_itself() {
    for steps in 0..4 {
        let mut engine = engine(EngineConfig { step_tokens: 32 + 15, ..WIDE });
        let prompt: Vec<u32> = (0..100).map(|i| i % 90).collect();
        let ids: Vec<_> = (0..4).map(|_| engine.submit(request(&prompt, Some(3))).unwrap()).collect();
        let mut events = Vec::new();
        for _ in 0..steps {
            engine.step(&mut events).unwrap();
        }
        engine.cancel(ids[0]);
        engine.check();
        events.extend(run(&mut engine));
        for &id in &ids[1..] {
            assert_eq!(tokens(&events, id), expected(&prompt, 3), "cancelled after {steps} steps");
        }
        assert!(engine.stats().prompt_tokens <= 200, "{:?}", engine.stats());
    }
}

/// An answer that depends on every cut: the next token follows from the last row.
fn cut(limits: BatchLimits, snapshots: usize) -> Fake {
    Fake::of_rows(limits, false, |_, row| one_hot((row % 290) as u32)).with_snapshots(snapshots)
}

/// What such a model answers when it is alone and nothing is cached.
fn expected_cut(prompt: &[u32], count: usize, chunk: usize) -> Vec<u32> {
    let (mut last, mut done) = (0, 0);
    while done < prompt.len() {
        let span = done..prompt.len().min((done / chunk + 1) * chunk);
        last = prompt[span.clone()].iter().fold(last, |last, &token| row(last, token, Some(&span)));
        done = span.end;
    }
    let mut answer = vec![(last % 290) as u32];
    while answer.len() < count {
        let at = prompt.len() + answer.len() - 1;
        last = row(last, answer[answer.len() - 1], Some(&(at..at + 1)));
        answer.push((last % 290) as u32);
    }
    answer
}

#[test]
fn where_cuts_matter_a_hit_ends_where_a_chunk_does() {
    let mut engine =
        Engine::new(Box::new(cut(limits(), 0)), EngineConfig { step_tokens: 48, ..EngineConfig::new(32, 2) }).unwrap();
    let prompt: Vec<u32> = (0..90).map(|i| i % 80).collect();
    let mut ask = |length: usize| {
        let id = engine.submit(request(&prompt[..length], Some(20))).unwrap();
        let events = run(&mut engine);
        assert_eq!(tokens(&events, id), expected_cut(&prompt[..length], 20, 32), "{length} tokens");
        usage(&events, id).cached_tokens
    };
    assert_eq!([90, 90, 64, 65, 63, 70, 32, 20].map(&mut ask), [0, 64, 32, 64, 32, 64, 0, 0]);
}

#[test]
fn a_recurrent_model_needs_a_snapshot_as_well() {
    let limits = BatchLimits { state_slots: 4, ..limits() };
    let config = EngineConfig { snapshots: 3, step_tokens: 48, ..EngineConfig::new(16, 4) };
    let mut engine = Engine::new(Box::new(cut(limits, 3)), config).unwrap();
    let prefix: Vec<u32> = (0..40).map(|i| i % 80).collect();
    let mut ask = |end: u32| {
        let prompt = [&prefix[..], &[end; 30]].concat();
        let id = engine.submit(request(&prompt, Some(5))).unwrap();
        let events = run(&mut engine);
        assert_eq!(tokens(&events, id), expected_cut(&prompt, 5, 16));
        usage(&events, id).cached_tokens
    };
    // The first leaves a snapshot at its own last boundary alone. The second finds pages of it without one, and leaves it there.
    assert_eq!([100, 101, 102, 101, 100].map(&mut ask), [0, 0, 32, 64, 32]);
    assert_eq!(engine.stats().snapshots_used, 3);
}

#[test]
fn copies_of_a_recurrent_model_wait_for_the_state() {
    let limits = BatchLimits { state_slots: 4, ..limits() };
    let config = EngineConfig { snapshots: 2, step_tokens: 48, ..EngineConfig::new(16, 4) };
    let mut engine = Engine::new(Box::new(cut(limits, 2)), config).unwrap();
    let prefix: Vec<u32> = (0..40).map(|i| i % 80).collect();
    let prompts: Vec<Vec<u32>> = (0..4).map(|i| [&prefix[..], &[100 + i; 10]].concat()).collect();
    let ids: Vec<_> = prompts.iter().map(|prompt| engine.submit(request(prompt, Some(5))).unwrap()).collect();
    let events = run(&mut engine);
    for (i, (prompt, id)) in prompts.iter().zip(ids).enumerate() {
        assert_eq!(tokens(&events, id), expected_cut(prompt, 5, 16));
        assert_eq!(usage(&events, id).cached_tokens, if i == 0 { 0 } else { 32 });
    }
}

#[test]
fn without_snapshots_a_recurrent_model_shares_nothing() {
    let limits = BatchLimits { state_slots: 2, ..limits() };
    let mut engine = Engine::new(Box::new(cut(limits, 0)), EngineConfig::new(16, 2)).unwrap();
    for _ in 0..2 {
        let id = engine.submit(request(&[5; 40], Some(2))).unwrap();
        assert_eq!(usage(&run(&mut engine), id).cached_tokens, 0);
    }
    assert_eq!(engine.stats().pages_cached, 0);
}

/// Texts whose hashes are all equal, which no attacker can do better.
#[test]
fn equal_hashes_give_nobody_the_text_of_another() {
    let mut engine = engine(WIDE);
    engine.cache.collide();
    for first in [1, 2, 1, 3] {
        let prompt: Vec<u32> = std::iter::repeat_n(first, 40).collect();
        let (found, _) = one(&mut engine, &prompt, 10);
        assert_eq!(found, expected(&prompt, 10));
    }
    assert_eq!(engine.stats().prefix_hit_tokens, 32);
}
