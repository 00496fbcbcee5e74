//! Deadlines and cancellation: what ends when, and that it holds nothing afterwards.

use std::time::Duration;

use super::*;

#[test]
fn time_ends_who_computes_and_who_waits() {
    let config = EngineConfig { step_tokens: 8, ..EngineConfig::new(4, 1) };
    let mut engine = Engine::new(Box::new(summing(fake_limits())), config).unwrap();
    let start = Instant::now();
    let at = |seconds| Some(start + Duration::from_secs(seconds));
    let runs = engine.submit(Request { deadline: at(3), ..request(&[1; 4], None) }).unwrap();
    let waits = engine.submit(Request { deadline: at(2), ..request(&[2; 4], None) }).unwrap();
    let late = engine.submit(Request { deadline: at(9), ..request(&[3; 4], Some(2)) }).unwrap();
    let mut events = Vec::new();
    for second in 0..9 {
        engine.step_at(start + Duration::from_secs(second), &mut events).unwrap();
        engine.check();
        match second {
            2 => assert_eq!(
                end(&events, waits),
                EventKind::Finished(FinishReason::Deadline, Usage { prompt_tokens: 4, ..Usage::default() })
            ),
            3 => {
                // What there was of it has been told.
                let usage = Usage { prompt_tokens: 4, cached_tokens: 0, completion_tokens: 3 };
                assert_eq!(end(&events, runs), EventKind::Finished(FinishReason::Deadline, usage));
                assert_eq!(tokens(&events, runs), expected(&[1; 4], 3));
            }
            _ => {}
        }
    }
    assert_eq!(tokens(&events, late), expected(&[3; 4], 2));
    assert!(engine.is_idle());
    assert_eq!(engine.stats().pages_used, 0);
}

#[test]
fn a_deadline_that_is_over_already_ends_the_request_without_computing() {
    let mut engine = Engine::new(Box::new(summing(fake_limits())), CONFIG).unwrap();
    let id = engine.submit(Request { deadline: Some(Instant::now()), ..request(&[1; 4], None) }).unwrap();
    let events = run(&mut engine);
    assert!(matches!(end(&events, id), EventKind::Finished(FinishReason::Deadline, _)));
    assert_eq!((events.len(), engine.stats().steps), (1, 0));
}

#[test]
fn cancelling_frees_pages_and_slots_within_the_call() {
    let limits = BatchLimits { state_slots: 2, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    let ids: Vec<_> = (1..=3).map(|token| engine.submit(request(&[token; 20], None)).unwrap()).collect();
    for _ in 0..4 {
        engine.step(&mut Vec::new()).unwrap();
    }
    let (used, slots) = (engine.stats().pages_used, engine.slots.free());
    assert!(used > 0 && slots == 0);
    assert!(engine.cancel(ids[0]).is_some());
    assert!(engine.stats().pages_used < used && engine.slots.free() == 1);
    assert!(engine.cancel(ids[1]).is_some() && engine.cancel(ids[2]).is_some());
    assert_eq!((engine.stats().pages_used, engine.slots.free(), engine.is_idle()), (0, 2, true));
    assert_eq!(engine.cancel(ids[2]), None);
    engine.check();
}

/// Case eng-cancel-03: of three that wait, the second leaves.
#[test]
fn who_leaves_the_queue_is_never_computed() {
    let fake = summing(fake_limits());
    let steps = fake.steps();
    let config = EngineConfig { step_tokens: 8, ..EngineConfig::new(4, 1) };
    let mut engine = Engine::new(Box::new(fake), config).unwrap();
    let ids = [1, 2, 3, 4].map(|token| engine.submit(request(&[token; 3], Some(2))).unwrap());
    engine.step(&mut Vec::new()).unwrap();
    assert_eq!(engine.stats().waiting, 3);
    engine.cancel(ids[2]);
    assert_eq!(engine.stats().waiting, 2);
    let events = run(&mut engine);
    let order: Vec<_> = events.iter().filter(|e| matches!(e.kind, EventKind::Finished(..))).map(|e| e.sequence).collect();
    assert_eq!(order, [ids[0], ids[1], ids[3]]);
    assert!(steps.lock().unwrap().iter().flatten().all(|(_, tokens)| !tokens.contains(&3)));
}
