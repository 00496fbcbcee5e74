//! A server in this process: a scripted model, a tokenizer of bytes, and a small chat template.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tenon_core::batch::BatchLimits;
use tenon_core::model::SamplingDefaults;
use tenon_core::rows::Rows;
use tenon_engine::fake::{Fake, Spans, VOCAB};
use tenon_engine::template::{Clock, Settings, TemplateSource, prepare};
use tenon_engine::{Engine, EngineConfig, Tokenizer};
use tenon_server::serve::{Limits, ServeError, Served, Server};
use tokio::sync::oneshot;

/// Tokens that one request has room for.
pub const CONTEXT: usize = 256;
/// Bytes that a body may have.
pub const MAX_BODY: usize = 64 << 10;
/// The name of the model.
pub const MODEL: &str = "tiny";
/// Opens and closes a message. Ids below 256 are bytes.
pub const OPEN: u32 = 256;
pub const CLOSE: u32 = 257;

/// Tokens of several letters, so that a token can hold the end of one word and the beginning of the next.
const WORDS: [&str; 3] = ["red, blue, gre", "en, grey, wh", "ite, pink"];

/// Shows messages and calls; it knows no tools and no reasoning.
pub const TEMPLATE: &str = "{% for m in messages %}\
    {% if m.content == 'refuse this' %}{{ raise_exception('not with me') }}{% endif %}\
    <|open|>{{ m.role }}\n{{ m.content if m.content is not none else '' }}\
    {% for c in m.tool_calls or [] %}[{{ c.function.name }}{{ c.function.arguments | tojson }}]{% endfor %}<|close|>\
    {% endfor %}{% if add_generation_prompt %}<|open|>assistant\n{% endif %}";

/// Lets a test hold the model up inside a step.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    closed: bool,
    waiting: usize,
}

impl Gate {
    pub fn close(&self) {
        self.0.0.lock().unwrap().closed = true;
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().closed = false;
        self.0.1.notify_all();
    }

    /// True while the model stands before the gate.
    pub fn is_waited_for(&self) -> bool {
        self.0.0.lock().unwrap().waiting > 0
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.waiting += 1;
        self.0.1.wait_while(state, |state| state.closed).unwrap().waiting -= 1;
    }
}

/// A server that ends when this is dropped.
pub struct TestServer {
    pub address: SocketAddr,
    pub gate: Gate,
    pub steps: Arc<Mutex<Vec<Spans>>>,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// What a test wants of its server.
pub struct Setup {
    /// Requests at a time.
    pub max_sequences: usize,
    /// Requests that may wait beside them.
    pub queue: usize,
    /// Tokens of one request.
    pub context: usize,
    /// What the spec says about tools and reasoning.
    pub settings: Settings,
    /// The chat template.
    pub template: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self { max_sequences: 1, queue: 0, context: CONTEXT, settings: Settings::default(), template: TEMPLATE.to_owned() }
    }
}

impl TestServer {
    /// With this many requests at a time and waiting.
    pub fn start(max_sequences: usize, queue: usize) -> Self {
        Self::with(Setup { max_sequences, queue, ..Setup::default() })
    }

    /// As a test wants it.
    pub fn with(setup: Setup) -> Self {
        let Setup { max_sequences, queue, context, settings, template } = setup;
        let limits = BatchLimits {
            vocab_size: VOCAB,
            max_positions: context,
            page_size: 16,
            pages: max_sequences * context / 16,
            state_slots: 0,
            max_tokens: 64,
            max_logit_rows: max_sequences,
        };
        let gate = Gate::default();
        let passed = gate.clone();
        let fake = Fake::new(limits, move |tokens| {
            passed.pass();
            next(tokens)
        });
        let steps = fake.steps();
        let engine = Engine::new(Box::new(fake), EngineConfig::new(32, max_sequences)).unwrap();
        let server = Server::start(
            served_with(&template, context, settings),
            json!({ "model": MODEL }),
            engine,
            Limits { max_sequences, queue, max_body_bytes: MAX_BODY },
        )
        .unwrap();

        let (shutdown, ended) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let shutdown = async { drop(ended.await) };
                server.run(listener, shutdown).await
            })
        });
        Self { address: told.recv().unwrap(), gate, steps, shutdown: Some(shutdown), thread: Some(thread) }
    }

    /// Asks the server to end, as a signal does.
    pub fn shut_down(&mut self) {
        let _ = self.shutdown.take().unwrap().send(());
    }

    /// Waits for its end.
    pub fn end(&mut self) -> Result<(), ServeError> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// Texts of all prompts whose last token the model has seen, in the order in which their answers began.
    pub fn begun(&self) -> Vec<String> {
        let mut begun = Vec::new();
        for spans in self.steps.lock().unwrap().iter() {
            let prompts = spans.iter().filter(|(_, tokens)| tokens.len() > 1);
            begun.extend(prompts.map(|(_, tokens)| text_of(tokens)));
        }
        begun
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.gate.open();
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The model as far as text is concerned, with what a spec says about tools.
pub fn served(settings: Settings) -> Served {
    served_with(TEMPLATE, CONTEXT, settings)
}

/// The same with another template.
pub fn served_with(template: &str, context: usize, settings: Settings) -> Served {
    let tokenizer = tokenizer();
    let template = prepare(&TemplateSource::new(template), tokenizer.named_tokens(), Clock::Fixed(0), settings).unwrap();
    let sampling = SamplingDefaults { temperature: 0.0, top_p: 1.0, top_k: 0 };
    Served { name: MODEL.into(), tokenizer, template: Some(template), context, sampling }
}

fn text_of(tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().filter_map(|&t| u8::try_from(t).ok()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The next token: the model repeats the last message of a conversation, or what a plain prompt has before its first `>`, and then
/// ends. A text that begins with `~` is repeated for ever; one that begins with `!` breaks the model; with one that begins with `^` every
/// other token is possible too, though unlikely.
fn next(tokens: &[u32]) -> Rows<f32, VOCAB> {
    let find = |of: &[u32], token: u32| of.iter().rposition(|&t| t == token);
    let (said, from) = match find(tokens, OPEN) {
        Some(open) => {
            let close = find(&tokens[..open], CLOSE).unwrap();
            let said = find(&tokens[..close], OPEN).unwrap();
            let newline = said + tokens[said..].iter().position(|&t| t == u32::from(b'\n')).unwrap();
            (&tokens[newline + 1..close], open + "<assistant\n".len())
        }
        None => {
            // Without one, the model ends at once.
            let end = tokens.iter().position(|&t| t == u32::from(b'>'));
            end.map_or((&[][..], 0), |end| (&tokens[..end], end + 1))
        }
    };
    let mut row = Rows::with_capacity(1);
    row.set_rows(1);
    let at = tokens.len() - from;
    let token = match (said.first().copied(), said.get(at)) {
        (Some(first), _) if first == u32::from(b'~') => said[at % said.len()],
        (_, Some(&token)) => token,
        (_, None) => CLOSE,
    };
    let logits = row.row_mut(0);
    logits.fill(f32::NEG_INFINITY);
    if said.first() == Some(&u32::from(b'^')) {
        logits.fill(-20.0);
        // Whitespace between the tokens of JSON is no answer to wait for.
        [b'\t', b'\n', b'\r', b' '].iter().for_each(|&space| logits[usize::from(space)] = -30.0);
    }
    logits[token as usize] = 5.0;
    // The neighbours of a byte are likely too, so that sampling has a choice.
    if token < 256 {
        logits[(token as usize + 1) % 256] = 4.5;
        logits[(token as usize + 2) % 256] = 4.0;
    }
    if said.first() == Some(&u32::from(b'!')) {
        logits[7] = f32::NAN;
    }
    row
}

/// One token per byte, two control tokens, and the words.
fn tokenizer() -> Tokenizer {
    let dir = tempfile::tempdir().unwrap();
    let mut other = 256;
    let vocabulary: serde_json::Map<String, Value> = (0..=255u8)
        .map(|byte| {
            // The byte-level alphabet of GPT-2.
            let code = match byte {
                b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => u32::from(byte),
                _ => {
                    other += 1;
                    other - 1
                }
            };
            (char::from_u32(code).unwrap().to_string(), json!(byte))
        })
        .collect();
    let added = |(id, content, special): (u32, &str, bool)| {
        json!({"id": id, "content": content, "special": special, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false})
    };
    let control = [(OPEN, "<|open|>", true), (CLOSE, "<|close|>", true)];
    let words = (258..).zip(WORDS).map(|(id, word)| (id, word, false));
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "added_tokens": control.into_iter().chain(words).map(added).collect::<Vec<_>>(),
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    });
    std::fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
    std::fs::write(dir.path().join("tokenizer_config.json"), json!({"eos_token": "<|close|>"}).to_string()).unwrap();
    Tokenizer::from_dir(dir.path()).unwrap()
}
