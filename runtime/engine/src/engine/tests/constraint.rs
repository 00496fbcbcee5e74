//! Answers that may say only some things.

use std::sync::Mutex;

use super::*;
use crate::constraint::{Constraint, ConstraintError, TokenSet};

/// Tokens of each place, and what it was told.
#[derive(Debug)]
struct Script {
    allowed: Vec<Vec<u32>>,
    told: Arc<Mutex<Vec<u32>>>,
}

impl Constraint for Script {
    fn allowed(&mut self, allowed: &mut TokenSet) -> Result<(), ConstraintError> {
        assert_eq!(allowed.len(), VOCAB);
        allowed.set_all(false);
        let place = self.told.lock().unwrap().len();
        let tokens = self.allowed.get(place).ok_or_else(|| ConstraintError(format!("nothing is left at {place}")))?;
        tokens.iter().for_each(|&token| allowed.allow_token(token));
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<(), ConstraintError> {
        let mut told = self.told.lock().unwrap();
        assert!(self.allowed[told.len()].contains(&token));
        told.push(token);
        Ok(())
    }

    fn fork(&self) -> Box<dyn Constraint> {
        Box::new(Self { allowed: self.allowed.clone(), told: Arc::default() })
    }
}

fn scripted(allowed: &[&[u32]]) -> (Option<Box<dyn Constraint>>, Arc<Mutex<Vec<u32>>>) {
    let told = Arc::default();
    let allowed = allowed.iter().map(|tokens| tokens.to_vec()).collect();
    (Some(Box::new(Script { allowed, told: Arc::clone(&told) })), told)
}

#[test]
fn only_what_is_allowed_is_chosen_and_each_choice_is_told_once() {
    let (fake, chosen_by_model) = summing(fake_limits()).choosing();
    let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
    // The most likely one is 3 + 1, then the sum goes on with what was chosen.
    let (constraint, told) = scripted(&[&[4, 9], &[20, 21], &[299]]);
    let with = engine.submit(Request { constraint, logprobs: Some(1), ..request(&[1, 2], None) }).unwrap();
    let beside = engine.submit(request(&[5], Some(4))).unwrap();
    let events = run(&mut engine);
    // Of equal logits the lowest id: neither 20 nor 21 is what the model would say.
    assert_eq!(tokens(&events, with), [4, 20]);
    assert_eq!(*told.lock().unwrap(), [4, 20, 299], "the end token, too");
    let usage = Usage { prompt_tokens: 2, cached_tokens: 0, completion_tokens: 3 };
    assert_eq!(end(&events, with), EventKind::Finished(FinishReason::End(299), usage));
    assert_eq!(tokens(&events, beside), expected(&[5], 4));
    // A constrained sequence does not choose on a device; the last step has the other alone.
    assert_eq!(chosen_by_model.lock().unwrap().len(), 1);
    // Log-probabilities are the model's own: what it would have said is the likeliest.
    let second = events
        .iter()
        .filter(|e| e.sequence == with)
        .filter_map(|e| if let EventKind::Token(t) = &e.kind { Some(t) } else { None });
    assert_eq!(second.last().unwrap().logprobs.as_ref().unwrap().top[0].0, 8);
}

#[test]
fn a_constraint_that_ends_up_nowhere_ends_its_own_sequence() {
    let mut engine = Engine::new(Box::new(summing(fake_limits())), CONFIG).unwrap();
    let (constraint, _) = scripted(&[&[4]]);
    let (empty, _) = scripted(&[&[]]);
    let fails = engine.submit(Request { constraint, ..request(&[1, 2], None) }).unwrap();
    let nothing = engine.submit(Request { constraint: empty, ..request(&[1, 2], None) }).unwrap();
    let beside = engine.submit(request(&[5], Some(4))).unwrap();
    let events = run(&mut engine);
    assert_eq!(tokens(&events, fails), [4]);
    let EventKind::Failed(error) = end(&events, fails) else { panic!("it went on") };
    assert_eq!(error.to_string(), "the grammar of this answer cannot go on: nothing is left at 1");
    assert_eq!(end(&events, nothing), EventKind::Failed(ChoiceError::Logits(LogitsError::Nothing)));
    assert_eq!(tokens(&events, beside), expected(&[5], 4));
    assert_eq!(engine.stats().pages_used, 0);
}

#[test]
fn a_constrained_sequence_that_is_computed_again_tells_nothing_twice() {
    let limits = BatchLimits { pages: 4, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    let first = engine.submit(request(&[1; 20], Some(40))).unwrap();
    let places: Vec<Vec<u32>> = (0..30).map(|i| vec![i, i + 100]).collect();
    let (constraint, told) = scripted(&places.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let last = engine.submit(Request { constraint, ..request(&[2; 20], Some(30)) }).unwrap();
    let events = run(&mut engine);
    assert!(engine.stats().preemptions > 0);
    assert_eq!(tokens(&events, first), expected(&[1; 20], 40));
    assert_eq!(tokens(&events, last), *told.lock().unwrap());
    assert_eq!(tokens(&events, last).len(), 30);
}

#[test]
fn what_a_device_does_not_know_is_chosen_from_logits() {
    let bias: Arc<[(u32, f32)]> = Arc::from([(7, 1.0)]);
    for sampling in [
        SamplingParams { min_p: 0.1, ..SamplingParams::GREEDY },
        SamplingParams { frequency_penalty: 0.1, ..SamplingParams::GREEDY },
        SamplingParams { presence_penalty: -0.1, ..SamplingParams::GREEDY },
        SamplingParams { repetition_penalty: 1.1, ..SamplingParams::GREEDY },
        SamplingParams { logit_bias: Some(bias), ..SamplingParams::GREEDY },
    ] {
        let (fake, told) = summing(fake_limits()).choosing();
        let mut engine = Engine::new(Box::new(fake), CONFIG).unwrap();
        engine.submit(Request { sampling: sampling.clone(), ..request(&[1], Some(2)) }).unwrap();
        run(&mut engine);
        assert!(told.lock().unwrap().is_empty(), "{sampling:?}");
    }
}
