//! Tests of scheduling with a fake model.

mod constraint;
mod deadline;
mod preemption;
mod prefix;
mod workload;

use std::sync::Arc;

use tenon_core::rows::Rows;

use super::*;
use crate::fake::{Fake, VOCAB, fake_limits, one_hot};
use crate::sampling::{LogitsError, SamplingParams};

const CONFIG: EngineConfig = EngineConfig { step_tokens: 8, ..EngineConfig::new(4, 3) };

impl Engine {
    /// Checks everything that must hold between steps.
    ///
    /// # Panics
    /// When something does not hold.
    fn check(&self) {
        let (size, unit) = (self.limits.page_size, self.unit);
        let mut users = vec![0; self.limits.pages];
        let mut slots = Vec::new();
        for sequence in &self.running {
            sequence.pages.iter().for_each(|page| users[page.0 as usize] += 1);
            slots.extend(sequence.slot);
            assert!(sequence.kept * size <= sequence.cached, "nothing that is kept is still to be written");
            assert!(sequence.kept <= sequence.pages.len() && sequence.cached <= sequence.pages.len() * size);
            assert!(sequence.cached < sequence.tokens.len(), "a sequence without anything to compute");
            assert!(self.any_chunking || sequence.kept * size % unit == 0, "prefixes end where spans of all prompts end");
            assert!(self.shares || sequence.kept == 0);
        }
        slots.sort_unstable();
        assert_eq!(slots.len(), if self.is_recurrent() { self.running.len() } else { 0 });
        assert!(slots.windows(2).all(|two| two[0] < two[1]), "two sequences with one slot");
        assert_eq!(self.slots.free() + slots.len(), self.slots.size(), "slots that nobody has");
        for sequence in &self.waiting {
            assert!(sequence.pages.is_empty() && sequence.slot.is_none() && sequence.cached == 0, "who waits has nothing");
        }
        let order: Vec<SequenceId> = self.running.iter().chain(&self.waiting).map(|s| s.id).collect();
        assert!(order.windows(2).all(|two| two[0] < two[1]), "who runs arrived before who waits, each in order");
        let deadlines = self.running.iter().chain(&self.waiting).filter(|s| s.deadline.is_some()).count();
        assert_eq!(self.deadlines.len(), deadlines);
        self.cache.check(&users);
    }
}

fn request(prompt: &[u32], max_tokens: Option<usize>) -> Request {
    Request { max_tokens, ..Request::new(prompt.to_vec(), SamplingParams::GREEDY, Arc::from([299])) }
}

/// The next token is one more than the sum of all tokens, so that any lost, doubled or foreign token changes the answer.
fn sum(tokens: &[u32]) -> u32 {
    (tokens.iter().sum::<u32>() + 1) % 290
}

fn summing(limits: BatchLimits) -> Fake {
    Fake::new(limits, |tokens| one_hot(sum(tokens)))
}

fn expected(prompt: &[u32], count: usize) -> Vec<u32> {
    let mut tokens = prompt.to_vec();
    for _ in 0..count {
        tokens.push(sum(&tokens));
    }
    tokens.split_off(prompt.len())
}

fn run(engine: &mut Engine) -> Vec<Event> {
    let mut events = Vec::new();
    while !engine.is_idle() {
        let before = events.len();
        let steps = engine.stats().steps;
        engine.step(&mut events).unwrap();
        engine.check();
        assert!(events.len() > before || engine.stats().steps > steps, "a step without any progress");
    }
    events
}

fn tokens(events: &[Event], sequence: SequenceId) -> Vec<u32> {
    let of = events.iter().filter(|e| e.sequence == sequence);
    of.filter_map(|e| if let EventKind::Token(t) = &e.kind { Some(t.id) } else { None }).collect()
}

fn end(events: &[Event], sequence: SequenceId) -> EventKind {
    events.iter().rfind(|e| e.sequence == sequence).unwrap().kind.clone()
}

#[test]
fn a_model_that_chooses_tokens_is_told_how_and_only_its_ids_are_read() {
    let (fake, told) = summing(fake_limits()).choosing();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let sampling = SamplingParams { temperature: 0.5, top_k: 9, top_p: 0.75, seed: 3, ..SamplingParams::GREEDY };
    let (a, b) = (vec![1, 2, 3, 4, 5], vec![7]);
    let first = engine.submit(request(&a, Some(4))).unwrap();
    let second = engine.submit(Request { sampling, ..request(&b, Some(2)) }).unwrap();
    let events = run(&mut engine);
    assert_eq!((tokens(&events, first), tokens(&events, second)), (expected(&a, 4), expected(&b, 2)));
    let told = told.lock().unwrap();
    let rows: Vec<&RowSampling> = told.iter().flatten().collect();
    assert_eq!(rows.len(), 6, "a row for each token, and none for the first part of the prompt");
    assert_eq!(rows.iter().filter(|row| ***row == RowSampling::GREEDY).count(), 4);
    let own: Vec<_> = rows.iter().filter(|row| row.temperature == 0.5).collect();
    assert!(own.iter().all(|row| (row.top_k, row.top_p) == (9, 0.75) && (0.0..1.0).contains(&row.random)));
    assert!(own.len() == 2 && own[0].random != own[1].random, "each token draws its own number");
}

#[test]
fn logprobs_are_read_from_logits_even_of_a_model_that_chooses() {
    let (fake, told) = summing(fake_limits()).choosing();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let id = engine.submit(Request { logprobs: Some(1), ..request(&[1, 2], Some(2)) }).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, id), expected(&[1, 2], 2));
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn broken_logits_on_a_device_end_the_sequence() {
    let mut none = Rows::<f32, VOCAB>::with_capacity(1);
    none.set_rows(1);
    none.row_mut(0).fill(f32::NEG_INFINITY);
    let (fake, _) = Fake::new(fake_limits(), move |_| none.clone()).choosing();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let id = engine.submit(request(&[1, 2], Some(2))).unwrap();
    assert_eq!(end(&run(&mut engine), id), EventKind::Failed(ChoiceError::Logits(LogitsError::Broken)));
    assert!(engine.is_idle());
}

#[test]
fn prompts_are_cut_at_absolute_multiples_of_the_chunk() {
    let fake = summing(fake_limits());
    let steps = fake.steps();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let prompt: Vec<u32> = (1..=10).collect();
    let id = engine.submit(request(&prompt, Some(3))).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, id), expected(&prompt, 3));
    let usage = Usage { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 3 };
    assert_eq!(end(&events, id), EventKind::Finished(FinishReason::MaxTokens, usage));
    let spans: Vec<(usize, usize)> = steps.lock().unwrap().iter().map(|s| (s[0].0, s[0].1.len())).collect();
    assert_eq!(spans, [(0, 4), (4, 4), (8, 2), (10, 1), (11, 1)]);
}

#[test]
fn sequences_share_steps_and_do_not_disturb_each_other() {
    let fake = summing(fake_limits());
    let steps = fake.steps();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let prompts: [&[u32]; 5] = [&[1, 2], &[7; 13], &[9], &[3, 1, 4, 1, 5], &[100; 20]];
    let ids: Vec<_> = prompts.iter().map(|p| engine.submit(request(p, Some(6))).unwrap()).collect();
    let events = run(&mut engine);
    for (id, prompt) in ids.iter().zip(prompts) {
        assert_eq!(tokens(&events, *id), expected(prompt, 6));
    }
    let steps = steps.lock().unwrap();
    assert!(steps.iter().all(|s| s.iter().map(|(_, t)| t.len()).sum::<usize>() <= 8));
    assert!(steps.iter().any(|s| s.iter().any(|(_, t)| t.len() > 1) && s.iter().any(|(p, t)| *p > 0 && t.len() == 1)));
    assert_eq!(engine.stats().pages_used, 0);
}

#[test]
fn a_sequence_waits_until_its_pages_are_free() {
    let limits = BatchLimits { pages: 3, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    assert_eq!(engine.context(), 48);
    let long = engine.submit(request(&[1; 20], Some(13))).unwrap();
    let other = engine.submit(request(&[2; 20], Some(2))).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, long), expected(&[1; 20], 13));
    assert_eq!(tokens(&events, other), expected(&[2; 20], 2));
    let order: Vec<_> = events.iter().filter(|e| matches!(e.kind, EventKind::Finished(..))).map(|e| e.sequence).collect();
    assert_eq!(order, [long, other]);
}

#[test]
fn it_ends_at_an_end_token_at_the_context_or_when_cancelled() {
    let mut engine =
        Engine::new(Box::new(Fake::new(fake_limits(), |t| one_hot(if t.len() == 5 { 299 } else { 1 }))), CONFIG).unwrap();
    let id = engine.submit(request(&[1, 2, 3], None)).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, id), [1, 1]);
    let usage = Usage { prompt_tokens: 3, cached_tokens: 0, completion_tokens: 3 };
    assert_eq!(end(&events, id), EventKind::Finished(FinishReason::End(299), usage));

    let mut engine = Engine::new(Box::new(summing(fake_limits())), CONFIG).unwrap();
    let id = engine.submit(request(&[5; 60], None)).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, id).len(), 4);
    assert!(matches!(end(&events, id), EventKind::Finished(FinishReason::Context, _)));

    let (running, waiting) = (request(&[1; 3], None), request(&[1; 3], None));
    let ids = [engine.submit(running).unwrap(), engine.submit(waiting).unwrap()];
    engine.step(&mut Vec::new()).unwrap();
    assert_eq!(engine.cancel(ids[0]), Some(Usage { prompt_tokens: 3, cached_tokens: 0, completion_tokens: 1 }));
    assert!(engine.cancel(ids[1]).is_some());
    assert_eq!(engine.cancel(ids[0]), None);
    assert!(engine.is_idle());
    assert_eq!(engine.cache.available(), 8);
}

#[test]
fn broken_logits_end_one_sequence_and_leave_the_others() {
    let fake = Fake::new(fake_limits(), |tokens| {
        let mut row: Rows<f32, VOCAB> = one_hot(sum(tokens));
        if tokens[0] == 13 {
            row.row_mut(0)[7] = f32::NAN;
        }
        row
    });
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    let bad = engine.submit(request(&[13], Some(4))).unwrap();
    let good = engine.submit(request(&[1], Some(4))).unwrap();
    let events = run(&mut engine);
    assert!(matches!(end(&events, bad), EventKind::Failed(ChoiceError::Logits(LogitsError::NotANumber { token: 7, .. }))));
    assert_eq!(tokens(&events, good), expected(&[1], 4));
    assert_eq!(engine.cache.available(), 8);
}

#[test]
fn a_request_may_ask_how_likely_its_tokens_were() {
    let mut engine = Engine::new(Box::new(summing(fake_limits())), CONFIG).unwrap();
    let with = engine.submit(Request { logprobs: Some(2), ..request(&[1], Some(3)) }).unwrap();
    let without = engine.submit(request(&[1], Some(3))).unwrap();
    let events = run(&mut engine);
    let told = |sequence| {
        let of = events.iter().filter(move |e| e.sequence == sequence);
        of.filter_map(|e| if let EventKind::Token(t) = &e.kind { Some(t) } else { None }).collect::<Vec<_>>()
    };
    assert_eq!(tokens(&events, with), tokens(&events, without));
    assert!(told(without).iter().all(|t| t.logprobs.is_none()));
    for token in told(with) {
        let logprobs = token.logprobs.as_ref().unwrap();
        // One logit of 5 among 299 of 0.
        let expected = 5.0 - (5f64.exp() + 299.0).ln();
        assert!((f64::from(logprobs.logprob) - expected).abs() < 1e-6, "{}", logprobs.logprob);
        assert_eq!(logprobs.top.len(), 2);
        assert_eq!(logprobs.top[0], (token.id, logprobs.logprob));
    }
}

#[test]
fn recurrent_models_get_a_slot_per_sequence() {
    let limits = BatchLimits { state_slots: 2, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    let ids: Vec<_> = (1..=4).map(|t| engine.submit(request(&[t], Some(3))).unwrap()).collect();
    let events = run(&mut engine);
    for (id, first) in ids.into_iter().zip(1..) {
        assert_eq!(tokens(&events, id), expected(&[first], 3));
    }
    assert_eq!(engine.slots.free(), 2);
}

#[test]
fn what_does_not_fit_is_refused_with_both_numbers() {
    let mut engine = Engine::new(Box::new(summing(fake_limits())), CONFIG).unwrap();
    let mut refuse = |r: Request| engine.submit(r).unwrap_err().to_string();
    assert_eq!(refuse(request(&[], None)), "the prompt has no tokens");
    assert_eq!(
        refuse(request(&[1; 64], None)),
        "the prompt has 64 tokens, and the context of 64 must hold it and at least one more"
    );
    assert_eq!(
        refuse(request(&[1; 60], Some(5))),
        "the prompt has 60 tokens and max_tokens is 5, together 65, and the context holds 64"
    );
    assert_eq!(refuse(request(&[1], Some(0))), "max_tokens is 0, and must be at least 1");
    assert_eq!(refuse(request(&[1, 300], None)), "token id 300 of the prompt is outside the model's vocabulary of 300");
    let hot = Request { sampling: SamplingParams { temperature: -1.0, ..SamplingParams::GREEDY }, ..request(&[1], None) };
    assert_eq!(refuse(hot), "temperature is -1, and must be 0 or more");
    assert!(engine.is_idle());
}

#[test]
fn configurations_under_which_prompts_could_starve_are_refused() {
    let new = |chunk, max_sequences| {
        let engine = Engine::new(Box::new(summing(fake_limits())), EngineConfig::new(chunk, max_sequences));
        engine.map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(new(6, 3), Ok(()));
    assert_eq!(new(7, 3).unwrap_err(), "steps of 9 tokens are asked for, and the model was loaded for 8");
    let tight = EngineConfig { step_tokens: 5, ..EngineConfig::new(4, 3) };
    assert_eq!(
        Engine::new(Box::new(summing(fake_limits())), tight).unwrap_err().to_string(),
        "a chunk of 4 beside 2 other sequences needs steps of 6 tokens, and step_tokens is 5"
    );
    assert_eq!(new(1, 5).unwrap_err(), "5 sequences need as many rows of logits, and the model was loaded for 4");
    assert_eq!(new(0, 1).unwrap_err(), "chunk must be at least 1");
}
