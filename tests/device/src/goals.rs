//! `goals.toml`: what speed is measured against.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Every row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goals {
    /// In the order of the file.
    #[serde(rename = "goal")]
    pub goals: Vec<Goal>,
}

/// One row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// What is done, and at which size: unique among all rows.
    pub work: String,
    /// In which `must` and `anchor` are.
    pub unit: Unit,
    /// The least that is accepted.
    pub must: Option<f64>,
    /// What the best known program reaches.
    pub anchor: Option<Anchor>,
    /// The row that a factor is of.
    pub dense: Option<String>,
    /// What others state of programs that are not run here.
    pub stated: Option<String>,
    /// An instance of a template, by its name up to the parameters that are tuned.
    pub instance: Option<String>,
    /// The size of the instance, as its bench names it.
    pub size: Option<String>,
    /// A product of the matrix library, as the runtime calls it.
    pub product: Option<Product>,
    /// A whole model.
    pub model: Option<Load>,
    /// Libraries that do the same.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// What a goal is counted in.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Unit {
    /// Stored bytes per second, in 10^12.
    #[serde(rename = "TB/s")]
    TbS,
    /// Operations per second, in 10^12.
    #[serde(rename = "TFLOP/s")]
    TflopS,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Bytes per second as a share of a copy's.
    #[serde(rename = "of copy")]
    OfCopy,
    /// Operations per second as a share of those of the matrix library's large product.
    #[serde(rename = "of cuBLAS")]
    OfProduct,
    /// The time of a byte as a multiple of that of another row.
    #[serde(rename = "x dense")]
    OfDense,
    /// Tokens per second.
    #[serde(rename = "tok/s")]
    TokS,
}

/// What is to be reached in the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Anchor {
    /// A number.
    Number(f64),
    /// What this library reaches in the same run.
    Peer(Library),
}

/// A library.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub enum Library {
    /// Products.
    #[serde(rename = "cuBLAS")]
    Cublas,
    /// Attention.
    #[serde(rename = "cuDNN")]
    Cudnn,
    /// Attention.
    #[serde(rename = "FlashAttention-2")]
    Flash,
}

/// A product of bf16.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// Rows of activations.
    pub rows: u64,
    /// Rows of the weight.
    pub out: u64,
    /// Columns of the weight.
    #[serde(rename = "in")]
    pub inputs: u64,
}

/// What a model is asked for.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// As the server names it.
    pub name: String,
    /// What is timed.
    pub phase: Phase,
    /// Tokens of each prompt.
    pub prompt: u64,
    /// Sequences at a time.
    pub sequences: u64,
    /// Operations of a token, where the share of a product's rate is asked for.
    pub flops_per_token: Option<f64>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Prompts.
    Prefill,
    /// One token of each sequence.
    Decode,
}

/// What a library is asked for: an entry of the works of `peers.py`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Peer {
    /// y = x W^T.
    Product {
        /// Whose.
        library: Library,
        /// Rows of activations.
        rows: u64,
        /// Rows of the weight.
        out: u64,
        /// Columns of the weight.
        #[serde(rename = "in")]
        inputs: u64,
    },
    /// Softmax attention; a prefill is causal.
    Attention {
        /// Whose.
        library: Library,
        /// Whether each sequence has one query or as many as keys.
        phase: Phase,
        /// How many.
        sequences: u64,
        /// Keys of each.
        context: u64,
        /// Query heads.
        heads: u64,
        /// Key-value heads.
        kv_heads: u64,
        /// Of both.
        head_dim: u64,
    },
}

/// Where a row's measurement comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// An instance at a size of its bench: see [`Goal::is_at`].
    Instance,
    /// The matrix library, as the runtime calls it.
    Product(Product),
    /// A whole model.
    Model(&'a Load),
}

impl Goals {
    /// Reads the file.
    ///
    /// # Errors
    /// Where it cannot be read, two rows are of the same work, or a row has no source or several.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The same of a text.
    ///
    /// # Errors
    /// As of [`Goals::read`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let goals: Self = toml::from_str(text).map_err(|e| e.to_string())?;
        for (at, goal) in goals.goals.iter().enumerate() {
            let say = |what: &str| Err(format!("`{}` {what}", goal.work));
            if goals.goals[..at].iter().any(|other| other.work == goal.work) {
                return say("stands there twice");
            }
            if goal.source().is_none() {
                return say("needs an instance with a size, a product or a model, and one of them");
            }
            let is_known = |work: &String| goals.goals.iter().any(|other| other.work == *work && other.unit != Unit::OfDense);
            if (goal.unit == Unit::OfDense) != goal.dense.is_some() || !goal.dense.as_ref().is_none_or(is_known) {
                return say("is a multiple of another row where its unit says so, and only there");
            }
            if let Some(Anchor::Peer(library)) = &goal.anchor
                && !goal.peers.iter().any(|peer| peer.library() == *library)
            {
                return say(&format!("has {} as its anchor and not among its peers", library.name()));
            }
        }
        Ok(goals)
    }

    /// The row of a work.
    pub fn of(&self, work: &str) -> Option<&Goal> {
        self.goals.iter().find(|goal| goal.work == work)
    }
}

impl Goal {
    /// Where its measurement comes from; `None` where the row does not say one thing.
    pub fn source(&self) -> Option<Source<'_>> {
        match (&self.instance, &self.size, self.product, &self.model) {
            (Some(_), Some(_), None, None) => Some(Source::Instance),
            (None, None, Some(product), None) => Some(Source::Product(product)),
            (None, None, None, Some(load)) => Some(Source::Model(load)),
            _ => None,
        }
    }

    /// Whether its measurement is that of this instance.
    pub fn is_of(&self, instance: &str) -> bool {
        let rest = self.instance.as_ref().and_then(|name| instance.strip_prefix(name.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }

    /// Whether its measurement is that of this instance at this size.
    pub fn is_at(&self, instance: &str, size: &str) -> bool {
        self.is_of(instance) && self.size.as_deref() == Some(size)
    }

    /// The name under which `peers.py` times what `peer` does.
    pub fn name_of(&self, peer: &Peer) -> String {
        format!("{}, {}", self.work, peer.library().name())
    }
}

impl Unit {
    /// Whether more is better.
    pub fn is_rate(self) -> bool {
        !matches!(self, Self::Ms | Self::OfDense)
    }

    /// A value with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::TbS => format!("{value:.2} TB/s"),
            Self::TflopS => format!("{value:.0} TFLOP/s"),
            Self::Ms => format!("{value:.3} ms"),
            Self::OfCopy => format!("{:.0}% of copy", 100.0 * value),
            Self::OfProduct => format!("{:.0}% of cuBLAS", 100.0 * value),
            Self::OfDense => format!("{value:.2}x dense"),
            Self::TokS => format!("{value:.0} tok/s"),
        }
    }
}

impl Library {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cublas => "cuBLAS",
            Self::Cudnn => "cuDNN",
            Self::Flash => "FlashAttention-2",
        }
    }
}

impl Product {
    /// Bytes that must be moved, and operations.
    pub fn cost(self) -> (f64, f64) {
        let Self { rows, out, inputs } = self;
        (2.0 * (out * inputs + rows * (inputs + out)) as f64, 2.0 * rows as f64 * (out * inputs) as f64)
    }
}

impl Peer {
    /// Whose work it is.
    pub fn library(&self) -> Library {
        match self {
            Self::Product { library, .. } | Self::Attention { library, .. } => *library,
        }
    }

    /// Bytes that must be moved, and operations: those that `peers.py` divides by its times.
    pub fn cost(&self) -> (f64, f64) {
        match *self {
            Self::Product { rows, out, inputs, .. } => Product { rows, out, inputs }.cost(),
            Self::Attention { phase, sequences, context, heads, kv_heads, head_dim, .. } => {
                let (tokens, pairs) = match phase {
                    Phase::Prefill => (context, context * (context + 1) / 2),
                    Phase::Decode => (1, context),
                };
                let bytes = 4 * sequences * head_dim * (context * kv_heads + tokens * heads);
                (bytes as f64, 4.0 * (sequences * pairs) as f64 * (heads * head_dim) as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests;
