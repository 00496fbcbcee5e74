//! Greedy answers through the engine are bit-equal whatever else is in the batch: case eng-batch-01 with real weights.
//!
//! What a request says alone, on an engine without a prefix cache and with room for everything, is compared with what it says beside
//! others that come and go, with its prefix found in the cache, after its pages were taken away in the middle, and as one of many copies.
//! Log-probabilities are compared too, bit for bit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::{LoadOptions, ModelEntry};
use tenon_core::weights::Checkpoint;
use tenon_engine::engine::EngineStats;
use tenon_engine::{Engine, EngineConfig, EventKind, FinishReason, Request, SamplingParams, SequenceId};
use tenon_tests::reference::{Tensors, folder};

const CHUNK: usize = 32;
const PAGE: usize = 16;

/// A model, its weights, and the sizes of what it is asked.
struct Case {
    entry: &'static ModelEntry,
    weights: PathBuf,
    ids: Vec<u32>,
    /// Tokens of the longest prompt, of the prompt that is compared, and of answers.
    longest: usize,
    prompt: usize,
    answer: usize,
}

#[derive(Clone, Copy)]
struct Room {
    pages: usize,
    sequences: usize,
    prefix_cache: bool,
}

impl Case {
    fn golden(name: &str) -> Self {
        let entry = tenon_tests::golden::MODELS.iter().find(|m| m.info.name == name).expect("a golden has a spec");
        let ids = Tensors::read(folder(name).join("golden.safetensors")).ids("input_ids");
        Self { entry, weights: folder(name), ids, longest: 120, prompt: 75, answer: 24 }
    }

    fn engine(&self, room: Room) -> Engine {
        let checkpoint = Arc::new(Checkpoint::open(&self.weights).unwrap_or_else(|e| panic!("{e}")));
        let snapshots = 2 * room.sequences;
        let options = LoadOptions {
            threads: 2,
            isa: Isa::detect(),
            kv_cache_dtype: KvDtypeName::F32,
            page_size: PAGE,
            pages: room.pages,
            state_slots: room.sequences,
            snapshots,
            max_batch_tokens: CHUNK + room.sequences - 1,
            max_logit_rows: room.sequences,
            max_positions: None,
        };
        let load = self.entry.cpu.expect("it is compiled for the CPU");
        let model = load(&checkpoint, &options).unwrap_or_else(|e| panic!("{e}"));
        let config = EngineConfig { snapshots, prefix_cache: room.prefix_cache, ..EngineConfig::new(CHUNK, room.sequences) };
        Engine::new(model, config).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The first is compared; the others share something with it or nothing.
    fn prompts(&self) -> Vec<Vec<u32>> {
        let first = self.ids[..self.prompt].to_vec();
        let mut all = vec![first.clone()];
        for i in 1..16 {
            let length = 1 + (i * 37) % self.longest;
            let shared = [0, self.prompt / 3, self.prompt - 5][i % 3].min(length);
            let mut prompt = first[..shared].to_vec();
            prompt.extend(self.ids.iter().cycle().skip(11 * i + shared).take(length - shared));
            all.push(prompt);
        }
        all
    }

    fn request(&self, prompt: &[u32]) -> Request {
        let request = Request::new(prompt.to_vec(), SamplingParams::GREEDY, Arc::from([]));
        Request { max_tokens: Some(self.answer), logprobs: Some(5), ..request }
    }

    fn run(&self, name: &str) -> EngineStats {
        let prompts = self.prompts();
        let one = (self.longest + self.answer).div_ceil(PAGE);
        let mut alone = self.engine(Room { pages: one, sequences: 1, prefix_cache: false });
        let expected: Vec<Answer> = prompts.iter().map(|p| answers(&mut alone, &[self.request(p)], 0).remove(0)).collect();
        assert!(expected.iter().all(|a| a.ids.len() == self.answer && a.end == Some(FinishReason::MaxTokens)));

        // A: five times, the last four with what the first has left.
        let mut engine = self.engine(Room { pages: 3 * one, sequences: 6, prefix_cache: true });
        for time in 0..5 {
            assert_eq!(answers(&mut engine, &[self.request(&prompts[0])], 0)[0], expected[0], "{name}: time {time}");
        }
        let hits = engine.stats().prefix_hit_tokens;
        assert!(hits as usize >= 4 * (self.prompt - CHUNK), "{name}: {hits} tokens were found again");
        // B: among fifteen others that arrive one after the other; and all at once, in a cache that hardly holds one.
        let requests: Vec<Request> = prompts.iter().map(|prompt| self.request(prompt)).collect();
        let mut tight = self.engine(Room { pages: one + 1, sequences: 6, prefix_cache: true });
        for (engine, apart) in [(&mut engine, 2), (&mut tight, 0)] {
            for (i, (found, expected)) in answers(engine, &requests, apart).iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "{name}: prompt {i} among others");
            }
        }
        println!("{name}, little room: {:?}", tight.stats());
        assert!(tight.stats().preemptions > 0 && tight.stats().recomputed_tokens > 0, "{name}: {:?}", tight.stats());
        // C: sixteen copies at once, on an engine that has nothing yet.
        let mut engine = self.engine(Room { pages: 3 * one, sequences: 6, prefix_cache: true });
        let copies: Vec<Request> = (0..16).map(|_| self.request(&prompts[0])).collect();
        for (i, found) in answers(&mut engine, &copies, 0).iter().enumerate() {
            assert_eq!(*found, expected[0], "{name}: copy {i}");
        }
        println!("{name}: {:?}", engine.stats());
        engine.stats()
    }
}

/// What one request was told.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    ids: Vec<u32>,
    /// Bits of the log-probability of each token and of its likeliest alternatives.
    logprobs: Vec<Vec<(u32, u32)>>,
    end: Option<FinishReason>,
}

/// Runs requests to their ends, one submitted every `apart` steps, or all at once.
fn answers(engine: &mut Engine, requests: &[Request], apart: usize) -> Vec<Answer> {
    let mut ids: Vec<SequenceId> = Vec::new();
    let mut answers: Vec<Answer> = requests.iter().map(|_| Answer::default()).collect();
    let (mut step, mut events) = (0, Vec::new());
    while ids.len() < requests.len() || !engine.is_idle() {
        while ids.len() < requests.len() && ids.len() * apart <= step {
            let Request { prompt, max_tokens, logprobs, sampling, end_ids, .. } = &requests[ids.len()];
            let again = Request::new(prompt.clone(), sampling.clone(), Arc::clone(end_ids));
            ids.push(engine.submit(Request { max_tokens: *max_tokens, logprobs: *logprobs, ..again }).unwrap());
        }
        engine.step(&mut events).unwrap();
        step += 1;
        for event in events.drain(..) {
            let answer = &mut answers[ids.iter().position(|id| *id == event.sequence).unwrap()];
            match event.kind {
                EventKind::Token(token) => {
                    let logprobs = token.logprobs.unwrap();
                    answer.ids.push(token.id);
                    let top = logprobs.top.iter().map(|(id, logprob)| (*id, logprob.to_bits()));
                    answer.logprobs.push(std::iter::once((token.id, logprobs.logprob.to_bits())).chain(top).collect());
                }
                EventKind::Finished(reason, _) => answer.end = Some(reason),
                EventKind::Prompt { .. } => {}
                EventKind::Failed(error) => panic!("{error}"),
            }
        }
    }
    answers
}

/// Attention over keys and values: hits end at pages, and what was lost is computed again in chunks.
#[test]
fn grouped_query_attention() {
    Case::golden("llama-gqa").run("llama-gqa");
    Case::golden("gpt-oss-sinks").run("gpt-oss-sinks");
}

/// Latent attention has another form for single tokens, so that bits depend on the cuts.
#[test]
fn latent_attention() {
    Case::golden("glm4-moe-lite-mla").run("glm4-moe-lite-mla");
}

/// A hit needs the state as well.
#[test]
fn recurrent_layers() {
    for name in ["qwen3-next-gdn", "nemotron-h-mamba2"] {
        let stats = Case::golden(name).run(name);
        assert!(stats.snapshots_used > 0, "{stats:?}");
    }
}

/// As the case has it: 48 tokens beside prompts of 1 to 300.
#[test]
fn bard_mla() {
    let entry = tenon_models::MODELS.iter().find(|m| m.info.name == "bard-mla").expect("it is compiled in");
    let weights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model-specs/bard-mla/weights");
    let ids = Tensors::read(folder("bard-mla").join("golden.safetensors")).ids("input_ids");
    Case { entry, weights, ids, longest: 300, prompt: 150, answer: 48 }.run("bard-mla");
}

/// The same with the weights that `tenon-server pull` fetches, where they are.
#[test]
fn smollm2() {
    let Some(home) = std::env::var_os("TENON_HOME") else {
        println!("skipped: TENON_HOME is not set");
        return;
    };
    let weights = Path::new(&home).join("smollm2-135m-instruct");
    let entry = tenon_models::MODELS.iter().find(|m| m.info.name == "smollm2-135m-instruct");
    let Some(entry) = entry.filter(|_| weights.exists()) else {
        assert!(std::env::var_os("TENON_REQUIRE_WEIGHTS").is_none(), "no weights in {}", weights.display());
        println!("skipped: smollm2-135m-instruct is not compiled in, or not in {}", weights.display());
        return;
    };
    let ids: Vec<u32> = (0..400).map(|i| 1000 + (i * 7919) % 30_000).collect();
    Case { entry, weights, ids, longest: 90, prompt: 70, answer: 12 }.run("smollm2-135m-instruct");
}
