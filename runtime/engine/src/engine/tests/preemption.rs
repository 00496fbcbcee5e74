//! Too little room: who gives up its pages, who goes on, and that nothing is lost.

use super::*;

#[test]
fn the_last_to_arrive_gives_up_its_pages_and_says_the_same() {
    // Three pages: two sequences of 20 tokens and their answers do not fit together for long.
    let limits = BatchLimits { pages: 4, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    let prompts = [[1; 20], [2; 20], [3; 20]];
    let ids = prompts.map(|prompt| engine.submit(request(&prompt, Some(30))).unwrap());
    let events = run(&mut engine);
    for (id, prompt) in ids.iter().zip(prompts) {
        assert_eq!(tokens(&events, *id), expected(&prompt, 30));
        let EventKind::Finished(reason, usage) = end(&events, *id) else { panic!("{id:?} failed") };
        // What was found again after a preemption had been computed for this request.
        assert_eq!((reason, usage.cached_tokens, usage.completion_tokens), (FinishReason::MaxTokens, 0, 30));
        let progress: Vec<usize> = events
            .iter()
            .filter(|e| e.sequence == *id)
            .filter_map(|e| if let EventKind::Prompt { done, .. } = e.kind { Some(done) } else { None })
            .collect();
        assert!(progress.windows(2).all(|two| two[0] < two[1]) && progress.last() == Some(&20), "{progress:?}");
    }
    let order: Vec<_> = events.iter().filter(|e| matches!(e.kind, EventKind::Finished(..))).map(|e| e.sequence).collect();
    assert_eq!(order, ids, "first come, first served");
    let stats = engine.stats();
    assert!(stats.preemptions > 0 && stats.pages_used == 0, "{stats:?}");
    assert_eq!((stats.prompt_tokens, stats.generated_tokens), (60, 90));
}

#[test]
fn sequences_start_with_the_pages_that_they_need_by_now() {
    // One could fill the cache, and yet all three run at once.
    let limits = BatchLimits { pages: 4, ..fake_limits() };
    let mut engine = Engine::new(Box::new(summing(limits)), CONFIG).unwrap();
    let ids = [1, 2, 3].map(|token| engine.submit(request(&[token], None)).unwrap());
    let mut events = Vec::new();
    engine.step(&mut events).unwrap();
    assert_eq!(ids.map(|id| tokens(&events, id).len()), [1; 3]);
    assert_eq!((engine.stats().pages_used, engine.stats().running), (3, 3));
}

#[test]
fn a_long_prompt_delays_nobody_for_more_than_a_chunk_and_is_not_delayed_itself() {
    let limits = BatchLimits { pages: 64, max_positions: 256, ..fake_limits() };
    let fake = summing(limits);
    let steps = fake.steps();
    let config = EngineConfig { step_tokens: 6, prefix_cache: false, ..EngineConfig::new(4, 3) };
    let mut engine = Engine::new(Box::new(fake), config).unwrap();
    let long = engine.submit(request(&[9; 100], Some(1))).unwrap();
    // Short ones arrive one after the other, and would keep every step full.
    let mut events = Vec::new();
    let (mut short, mut next) = (Vec::new(), 0);
    while !events.iter().any(|e: &Event| e.sequence == long && matches!(e.kind, EventKind::Finished(..))) {
        if engine.stats().running + engine.stats().waiting < 4 {
            short.push((engine.submit(request(&[next % 7; 8], Some(2))).unwrap(), steps.lock().unwrap().len()));
            next += 1;
        }
        engine.step(&mut events).unwrap();
        engine.check();
        assert!(steps.lock().unwrap().len() < 100, "25 chunks, and at most two others between them");
    }
    assert!(short.len() > 10, "{} others were served meanwhile", short.len());
}

#[test]
fn several_prompts_share_a_step_and_answers_go_first() {
    let limits = BatchLimits { pages: 64, max_tokens: 40, max_positions: 256, ..fake_limits() };
    let fake = summing(limits);
    let steps = fake.steps();
    let mut engine = Engine::new(Box::new(fake), EngineConfig { step_tokens: 40, ..EngineConfig::new(32, 3) }).unwrap();
    engine.submit(request(&[1], Some(9))).unwrap();
    engine.step(&mut Vec::new()).unwrap();
    engine.submit(request(&[2; 20], Some(2))).unwrap();
    engine.submit(request(&[3; 30], Some(2))).unwrap();
    engine.step(&mut Vec::new()).unwrap();
    engine.step(&mut Vec::new()).unwrap();
    let lengths: Vec<Vec<usize>> = steps.lock().unwrap().iter().map(|s| s.iter().map(|(_, t)| t.len()).collect()).collect();
    // 40 tokens: one answer, 20 of the first prompt, and of the second a page.
    assert_eq!(lengths, [vec![1], vec![1, 20, 16], vec![1, 1, 14]]);
}

/// The work of a step does not grow with the pages of the cache: a cache of a million takes as many steps and as little time.
#[test]
fn a_large_cache_costs_nothing() {
    let limits = BatchLimits { pages: 1 << 20, max_tokens: 256, max_logit_rows: 64, ..fake_limits() };
    let mut cache = Cache::new(limits.pages, 0);
    let started = std::time::Instant::now();
    let pages: Vec<PageId> = (0..limits.pages).map_while(|_| cache.take()).collect();
    assert_eq!((pages.len(), cache.available()), (1 << 20, 0));
    cache.release(&pages);
    assert_eq!(cache.available(), 1 << 20);
    // Quadratic work would take hours.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
