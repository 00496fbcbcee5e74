//! Goldens on a device: every case at several ways to cut and mix a prompt, against transformers in float64 (NUMERICS: sm_90a).

#[cfg(feature = "cuda")]
mod run;

#[cfg(feature = "cuda")]
pub use run::{Outcome, run};

/// The cases whose weights stand beside them.
pub const CASES: [&str; 14] = [
    "deepseek-v3-mla-moe",
    "gemma2-softcap",
    "gemma3-sliding",
    "glm4-moe-lite-mla",
    "gpt-oss-sinks",
    "llama-gqa",
    "llama3-rope",
    "minicpm3-mla",
    "mistral4-mla-moe",
    "nemotron-h-mamba2",
    "qwen3-moe",
    "qwen3-next-gdn",
    "qwen3-qknorm",
    "qwen3.5-moe-gdn",
];

/// Those with latent attention, which are compiled in both forms.
pub(crate) const LATENT: [&str; 4] = ["deepseek-v3-mla-moe", "glm4-moe-lite-mla", "minicpm3-mla", "mistral4-mla-moe"];

/// What a test does with a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Logits of every position of the prompt, in steps of so many tokens (`None`: at once), with pages of so many tokens, and with
    /// the first half of the prompt taken from another sequence or not.
    Logits {
        /// Tokens of a step.
        chunk: Option<usize>,
        /// Tokens of a page.
        page_size: usize,
        /// Whether it goes on from another sequence's pages and state.
        prefix: bool,
    },
    /// Prompts and answers in one step: each sequence's logits.
    Mixed,
    /// As many sequences as this decode together: each one's logits.
    Together(usize),
    /// The most likely token of each teacher-forced step, and the same chosen on the device.
    Greedy,
}

/// One test.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The golden.
    pub case: &'static str,
    /// Latent attention in the other forms.
    pub swapped: bool,
    /// What is done.
    pub what: What,
}

impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}/", self.case, if self.swapped { "-swapped" } else { "" })?;
        match self.what {
            What::Logits { chunk, page_size, prefix } => {
                let chunk = chunk.map_or_else(|| "whole".to_owned(), |c| c.to_string());
                write!(f, "chunk_{chunk}/page_{page_size}{}", if prefix { "/prefix" } else { "" })
            }
            What::Mixed => f.write_str("mixed_batch"),
            What::Together(n) => write!(f, "together_{n}"),
            What::Greedy => f.write_str("greedy"),
        }
    }
}

/// Every test, in order.
pub fn tests() -> Vec<Test> {
    let mut all = Vec::new();
    for case in CASES {
        for swapped in [false, true] {
            if swapped && !LATENT.contains(&case) {
                continue;
            }
            let logits = |chunk, page_size, prefix| What::Logits { chunk, page_size, prefix };
            let whats = [
                logits(None, 16, false),
                logits(None, 64, true),
                logits(Some(64), 64, false),
                logits(Some(17), 16, true),
                logits(Some(17), 48, false),
                logits(Some(1), 16, false),
                logits(Some(1), 48, true),
                What::Mixed,
                What::Together(3),
                What::Together(17),
                What::Greedy,
            ];
            all.extend(whats.map(|what| Test { case, swapped, what }));
        }
    }
    all
}
