//! What a deployment of a model takes on a device: the spec's numbers, in the form that the server checks a checkpoint with.

use tenon_formats::StorageFormat;
use tenon_formats::memory::{Budget, Flags, HeldWeights, KvNeed, Needs, Refusal, Settings, Table, packed_bytes};

use crate::program::{ExpertDims, Program, TensorShape};

/// A deployment as the command line asks for it.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Tokens of a sequence; without it, the model's, at most the usual default.
    pub context: Option<u64>,
    /// Sequences at a time; without it, one.
    pub sequences: Option<u64>,
    /// Snapshots of recurrent states.
    pub snapshots: Option<u64>,
    /// What the cache stores; without it, the first that the spec allows.
    pub kv_cache_dtype: Option<String>,
    /// The format of every matrix; without it, the first that the spec accepts.
    pub weights_format: Option<String>,
    /// Threads that compute; without it, two.
    pub threads: Option<u64>,
}

/// The flags of `tenon plan`, for advice.
const FLAGS: Flags = Flags {
    context: Some("--context"),
    sequences: Some("--sequences"),
    cache_tokens: None,
    snapshots: Some("--snapshots"),
    kv_cache_dtype: Some("--kv-cache-dtype"),
};

/// Why a deployment has no table, or one that is too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplanned {
    /// A value that the spec does not have: one line.
    Ask(String),
    /// It does not fit.
    Memory(Box<Refusal>),
}

/// What a deployment holds, against what there is.
///
/// # Errors
/// Flags that the spec contradicts, and a deployment that does not fit.
pub fn fit(program: &Program<'_>, ask: &Ask, budget: Option<&Budget>) -> Result<Table, Unplanned> {
    let (needs, settings) = ask.settle(program).map_err(Unplanned::Ask)?;
    match budget {
        None => Ok(needs.plan(&settings)),
        Some(budget) => needs.fit(&settings, budget, &FLAGS).map_err(Unplanned::Memory),
    }
}

/// Threads that a plan counts with: that of a machine which is not there cannot be asked.
const THREADS: u64 = 2;

impl Ask {
    /// The needs of the program with these weights, and the settings.
    ///
    /// # Errors
    /// A value that the spec does not have, in one line that says which it has.
    pub fn settle(&self, program: &Program<'_>) -> Result<(Needs, Settings), String> {
        let model = program.model;
        let accept = &model.checkpoint.accept;
        let format = match &self.weights_format {
            None => accept[0],
            Some(name) => *accept.iter().find(|format| format.as_str() == name).ok_or_else(|| {
                let known: Vec<&str> = accept.iter().map(|format| format.as_str()).collect();
                format!("--weights-format is `{name}`, and the spec of {} accepts {}", model.name, known.join(", "))
            })?,
        };
        let needs = needs(program, format);
        let kv = match &self.kv_cache_dtype {
            None => 0,
            Some(name) => needs.kv.iter().position(|kv| kv.dtype == name).ok_or_else(|| {
                let known: Vec<&str> = needs.kv.iter().map(|kv| kv.dtype).collect();
                format!("--kv-cache-dtype is `{name}`, and the spec of {} allows {}", model.name, known.join(", "))
            })?,
        };
        let (longest, snapshots) = (needs.max_context, self.snapshots.unwrap_or(0));
        let context = self.context.unwrap_or(longest.min(tenon_formats::memory::DEFAULT_CONTEXT));
        let sequences = self.sequences.unwrap_or(1);
        if !(2..=longest).contains(&context) {
            return Err(format!("--context is {context}, and {} has 2 to {longest}", model.name));
        }
        if sequences == 0 || self.threads == Some(0) {
            let flag = if sequences == 0 { "--sequences" } else { "--threads" };
            return Err(format!("{flag} is 0, and must be at least 1"));
        }
        if snapshots > 0 && needs.state_bytes == 0 {
            return Err(format!(
                "--snapshots is {snapshots}, and {} has no recurrent layer whose state could be kept",
                model.name
            ));
        }
        let settings = Settings { snapshots, kv, ..Settings::new(context, sequences, self.threads.unwrap_or(THREADS)) };
        Ok((needs, settings))
    }
}

/// What the model needs if every matrix had this format and every vector were f32, as the CPU keeps them.
fn needs(program: &Program<'_>, format: StorageFormat) -> Needs {
    let model = program.model;
    let dtypes = crate::emit::constants::common_dtypes(model, crate::model::Target::Cpu);
    let kv =
        |dtype: &crate::model::KvDtype| KvNeed { dtype: dtype.as_str(), bytes_per_token: program.kv_bytes_per_token(*dtype) };
    Needs {
        model: model.name.clone(),
        weights: weights(program, format),
        kv: dtypes.iter().map(kv).collect(),
        state_bytes: program.state_bytes_per_slot(),
        vocab_size: model.vocab_size as u64,
        max_context: model.max_position_embeddings as u64,
        workspace: super::workspace(program),
    }
}

fn weights(program: &Program<'_>, format: StorageFormat) -> Vec<HeldWeights> {
    use TensorShape as S;
    let (mut packed, mut mapped, mut floats) = (0, 0, 0);
    for tensor in &program.tensors {
        let copies = program.copies(tensor);
        // Rows that a block format cannot hold are stored as f32.
        let matrix = |out: usize, input: usize| match packed_bytes(format, out, input, false) {
            Some(bytes) => (bytes, 0),
            None => (0, 4 * (out * input) as u64),
        };
        let experts = |e: ExpertDims, inward: u64, all: u64| {
            let ((a, b), (c, d)) = (matrix(e.inner, e.hidden), matrix(e.hidden, e.inner));
            let count = e.experts as u64;
            let biases = all - count * (inward + 1) * (e.hidden * e.inner) as u64;
            (count * (inward * a + c), count * (inward * b + d) + 4 * biases)
        };
        let (of_format, of_floats) = match tensor.shape {
            S::Embedding { vocab, dim } => {
                let row = format.row_bytes(dim).unwrap_or(4 * dim);
                mapped += (row * vocab) as u64;
                (0, 0)
            }
            S::Linear { out, input } => matrix(out, input),
            // Row by row, without tiles.
            S::LatentUp { heads, nope, v, rank } => match format.row_bytes(rank) {
                Some(row) => ((row * heads * (nope + v)) as u64, 0),
                None => (0, 4 * tensor.shape.elements()),
            },
            S::GatedExperts(e) => experts(e, 2, tensor.shape.elements()),
            S::PlainExperts(e) => experts(e, 1, tensor.shape.elements()),
            S::Norm { .. } | S::Bias { .. } | S::Vector { .. } | S::Decay { .. } | S::Conv { .. } => {
                (0, 4 * tensor.shape.elements())
            }
        };
        packed += of_format * copies;
        floats += of_floats * copies;
    }
    let held = |format, mapped, bytes| HeldWeights { format, mapped, bytes };
    if format == StorageFormat::F32 {
        return vec![held(format, true, mapped), held(format, false, packed + floats)];
    }
    vec![held(format, true, mapped), held(format, false, packed), held(StorageFormat::F32, false, floats)]
}
