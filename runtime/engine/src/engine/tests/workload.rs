//! Simulated workloads: random requests at random times over caches that are too small, on every sort of model.
//!
//! Each scenario follows from its number. After every step all invariants are checked ([`Engine::check`]), and at the end every request
//! has ended exactly once, has said what it says alone, and its counts are exact. `TENON_FUZZ=N` runs N times as many; a failure prints
//! the number of its scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::fake::row;
use crate::rng::SplitMix64;

const SCENARIOS: u64 = 3000;

/// Prints the number of the scenario that fails.
struct Scenario(u64);

impl Drop for Scenario {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("scenario {} fails", self.0);
        }
    }
}

struct Random(SplitMix64);

impl Random {
    /// A number of a range.
    fn of(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        let (least, most) = range.into_inner();
        least + (self.0.unit() * (most - least + 1) as f64) as usize
    }

    /// True once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.of(1..=times) == 1
    }
}

/// One request, and when what happens to it.
struct Plan {
    prompt: Vec<u32>,
    max_tokens: Option<usize>,
    arrives: usize,
    cancelled: Option<usize>,
    deadline: Option<usize>,
}

/// What has become of one request.
#[derive(Default)]
struct Seen {
    tokens: Vec<u32>,
    progress: usize,
    end: Option<(FinishReason, Usage)>,
}

/// What all scenarios together have met.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    finished: u64,
    cancelled: u64,
    late: u64,
    refused: u64,
    preemptions: u64,
    hits: u64,
    recurrent_hits: u64,
    recomputed: u64,
}

const END: u32 = 7;

/// Answers end by themselves now and then.
fn token(row: u64) -> u32 {
    (row % 60) as u32
}

/// What a request says alone, and why it ends then.
fn alone(plan: &Plan, context: usize, cut: Option<usize>) -> (Vec<u32>, FinishReason) {
    let prompt = &plan.prompt;
    let (mut last, mut done) = (0, 0);
    while done < prompt.len() {
        let end = cut.map_or(prompt.len(), |chunk| prompt.len().min((done / chunk + 1) * chunk));
        let span = done..end;
        last = prompt[span.clone()].iter().fold(last, |last, &token| row(last, token, cut.map(|_| &span)));
        done = end;
    }
    let (limit, reason) = match plan.max_tokens {
        Some(tokens) => (prompt.len() + tokens, FinishReason::MaxTokens),
        None => (context, FinishReason::Context),
    };
    let mut answer = Vec::new();
    loop {
        let next = token(last);
        if next == END {
            return (answer, FinishReason::End(END));
        }
        answer.push(next);
        let length = prompt.len() + answer.len();
        if length == limit {
            return (answer, reason);
        }
        let span = length - 1..length;
        last = row(last, next, cut.map(|_| &span));
    }
}

fn scenario(number: u64, met: &mut Met) {
    let _number = Scenario(number);
    let random = &mut Random(SplitMix64::new(number));
    let (any_chunking, recurrent) = (random.once_in(2), random.once_in(2));
    let (page_size, chunk, max_sequences) = (random.of(1..=4), random.of(1..=7), random.of(1..=5));
    let max_positions = random.of(4..=40);
    let step_tokens = chunk + max_sequences - 1 + random.of(0..=9);
    let limits = BatchLimits {
        vocab_size: VOCAB,
        max_positions,
        page_size,
        // Now and then not even one context.
        pages: if random.once_in(8) { random.of(2..=6) } else { max_positions.div_ceil(page_size) * random.of(1..=2) },
        state_slots: if recurrent { random.of(1..=max_sequences) } else { 0 },
        max_tokens: step_tokens + random.of(0..=3),
        max_logit_rows: max_sequences,
    };
    let snapshots = random.of(0..=4);
    let config = EngineConfig {
        chunk,
        max_sequences,
        step_tokens,
        snapshots,
        context: random.once_in(3).then(|| random.of(2..=30)),
        prefix_cache: !random.once_in(6),
    };
    let fake = Fake::of_rows(limits, any_chunking, |_, row| one_hot(token(row))).with_snapshots(snapshots);
    let mut engine = Engine::new(Box::new(fake), config).unwrap();
    if random.once_in(8) {
        engine.cache.collide();
    }

    let context = engine.context();
    let stems: Vec<Vec<u32>> = (0..2).map(|_| (0..30).map(|_| random.of(10..=40) as u32).collect()).collect();
    let mut plans: Vec<Plan> = (0..random.of(1..=12))
        .map(|_| {
            let stem = &stems[random.of(0..=1)];
            let mut prompt = stem[..random.of(0..=stem.len())].to_vec();
            prompt.extend((0..random.of(0..=3)).map(|_| random.of(10..=40) as u32));
            prompt.truncate(if random.once_in(10) { 60 } else { context - 1 - random.of(0..=context / 2).min(context - 1) });
            let room = context.saturating_sub(prompt.len()).max(1);
            Plan {
                max_tokens: (!random.once_in(4)).then(|| random.of(1..=room)),
                prompt,
                arrives: random.of(0..=20),
                cancelled: random.once_in(5).then(|| random.of(0..=60)),
                deadline: random.once_in(6).then(|| random.of(0..=90)),
            }
        })
        .collect();
    // Copies that arrive at once.
    if random.once_in(3) {
        for _ in 0..random.of(1..=4) {
            let Plan { prompt, max_tokens, arrives, .. } = &plans[0];
            plans.push(Plan {
                prompt: prompt.clone(),
                max_tokens: *max_tokens,
                arrives: *arrives,
                cancelled: None,
                deadline: None,
            });
        }
    }

    let start = Instant::now();
    let at = |step: usize| start + Duration::from_secs(step as u64);
    let mut ids: BTreeMap<SequenceId, usize> = BTreeMap::new();
    let mut seen: Vec<Seen> = plans.iter().map(|_| Seen::default()).collect();
    let mut events = Vec::new();
    let (mut step, mut first, mut idle_steps) = (0, None, 0);
    while step <= 20 || !engine.is_idle() {
        assert!(step < 20_000, "it does not end");
        for (i, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.arrives == step) {
            let request = Request {
                deadline: plan.deadline.map(at),
                max_tokens: plan.max_tokens,
                ..Request::new(plan.prompt.clone(), SamplingParams::GREEDY, Arc::from([END]))
            };
            match engine.submit(request) {
                Ok(id) => assert!(ids.insert(id, i).is_none()),
                Err(_) => met.refused += 1,
            }
        }
        for (&id, &i) in &ids {
            if plans[i].cancelled == Some(step) {
                let usage = engine.cancel(id);
                assert_eq!(usage.is_none(), seen[i].end.is_some(), "what has not ended can be cancelled");
                if let Some(usage) = usage {
                    seen[i].end = Some((FinishReason::Cancelled, usage));
                }
                engine.check();
            }
        }
        let steps = engine.stats().steps;
        engine.step_at(at(step), &mut events).unwrap();
        engine.check();
        assert!(engine.stats().steps > steps || engine.is_idle(), "a step that computes nothing, although there is something");
        for event in events.drain(..) {
            let i = ids[&event.sequence];
            let of = &mut seen[i];
            assert!(of.end.is_none(), "something after the end");
            match event.kind {
                EventKind::Prompt { done, total } => {
                    assert!(of.progress < done && done <= total && total == plans[i].prompt.len() && of.tokens.is_empty());
                    of.progress = done;
                }
                EventKind::Token(token) => {
                    assert_eq!(of.progress, plans[i].prompt.len(), "a token before the end of the prompt");
                    of.tokens.push(token.id);
                }
                EventKind::Finished(reason, usage) => of.end = Some((reason, usage)),
                EventKind::Failed(error) => panic!("{error}"),
            }
        }
        // No starvation: whoever arrived first of all that are left computes something in every `max_sequences` steps. Only finitely
        // much of it is left, then the next is the first.
        let now = engine.running.first().map(|s| (s.id, s.tokens.len(), s.cached));
        idle_steps = if now.is_some() && now == first { idle_steps + 1 } else { 0 };
        assert!(idle_steps < max_sequences, "the first has waited for {idle_steps} steps");
        first = now;
        step += 1;
    }

    let stats = engine.stats();
    assert_eq!((stats.pages_used, stats.running, stats.waiting), (0, 0, 0));
    assert_eq!(engine.slots.free(), engine.slots.size());
    assert!(engine.deadlines.is_empty());
    let mut sum = Usage::default();
    let mut all_finished = true;
    for (&id, &i) in &ids {
        let (plan, of) = (&plans[i], &seen[i]);
        let Some((reason, usage)) = of.end else { panic!("{id:?} never ended") };
        let (said, why) = alone(plan, context, (!any_chunking).then_some(chunk));
        let ended_early = matches!(reason, FinishReason::Cancelled | FinishReason::Deadline);
        if ended_early {
            assert!(said.starts_with(&of.tokens), "the start of what it says alone");
        } else {
            assert_eq!((&of.tokens, reason), (&said, why), "what it says alone");
        }
        let end_token = usize::from(matches!(reason, FinishReason::End(_)));
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (plan.prompt.len(), of.tokens.len() + end_token));
        assert!(usage.cached_tokens < usage.prompt_tokens && usage.cached_tokens.is_multiple_of(engine.unit));
        sum.prompt_tokens += usage.prompt_tokens;
        sum.cached_tokens += usage.cached_tokens;
        sum.completion_tokens += usage.completion_tokens;
        all_finished &= !ended_early;
        met.finished += u64::from(!ended_early);
        met.cancelled += u64::from(reason == FinishReason::Cancelled);
        met.late += u64::from(reason == FinishReason::Deadline);
    }
    assert_eq!(stats.prefix_hit_tokens, sum.cached_tokens as u64);
    assert_eq!(stats.generated_tokens, sum.completion_tokens as u64);
    let computed = (sum.prompt_tokens - sum.cached_tokens) as u64;
    assert!(stats.prompt_tokens == computed || (!all_finished && stats.prompt_tokens < computed), "{stats:?}");
    assert!(stats.preemptions > 0 || stats.recomputed_tokens == 0);
    met.preemptions += stats.preemptions;
    met.recomputed += stats.recomputed_tokens;
    met.hits += stats.prefix_hit_tokens;
    met.recurrent_hits += if recurrent { stats.prefix_hit_tokens } else { 0 };
}

#[test]
fn simulated_workloads() {
    let times = std::env::var("TENON_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut met = Met::default();
    for number in 0..SCENARIOS * times {
        scenario(number, &mut met);
    }
    println!("{met:?}");
    // Nothing above is true because it was never tried.
    let Met { finished, cancelled, late, refused, preemptions, hits, recurrent_hits, recomputed } = met;
    let least = [finished, cancelled, late, refused, preemptions, hits, recurrent_hits, recomputed].map(|count| count / times);
    for (count, enough) in least.into_iter().zip([SCENARIOS, 500, 200, 100, 500, 5000, 500, 1000]) {
        assert!(count > enough, "{met:?}");
    }
}
