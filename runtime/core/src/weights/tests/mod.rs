//! Small checkpoints in both formats: the ones that fit load, and each that does not says why.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tenon_formats::gguf::{Array, Value as GgufValue};
use tenon_formats::write::{self, Tensor};

use super::StorageFormat as F;
use super::*;
use crate::cpu::{Cpu, Isa};

mod experts;
mod mismatch;
mod not_finite;
mod open;
mod recurrent;
mod scales;
mod split;

const ACCEPT: &[F] = &[F::F32, F::Q4_1];
const LAYERS: [usize; 3] = [0, 1, 2];

/// One plan for each format: an embedding, a norm and a projection per layer.
struct Plan {
    kind: CheckpointKind,
    tensors: &'static [PlannedTensor],
    config: ConfigContract<'static>,
}

const HF_EMBED: EmbeddingSpec<8, 32> = EmbeddingSpec::new("model.embed_tokens.weight", ACCEPT);
const HF_Q: LinearSpec<32, 32> = LinearSpec::new("model.layers.{layer}.self_attn.q_proj.weight", ACCEPT);
const HF_NORM: NormSpec<32> = NormSpec::new("model.norm.weight", ACCEPT);
const HF: Plan = Plan {
    kind: CheckpointKind::Hf,
    tensors: &[
        HF_EMBED.once(),
        HF_Q.per_layer(&LAYERS),
        HF_NORM.once(),
        PlannedTensor::ignored("model.layers.{layer}.self_attn.rotary_emb.inv_freq", "computed from rope_theta"),
    ],
    config: CONTRACT,
};

const GGUF_EMBED: EmbeddingSpec<8, 32> = EmbeddingSpec::new("token_embd.weight", ACCEPT);
const GGUF_Q: LinearSpec<32, 32> =
    LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT).rows(RowOrder::RopePairs { heads: 2, rotary_dim: 16 });
const GGUF_NORM: NormSpec<32> = NormSpec::new("output_norm.weight", ACCEPT);
const GGUF_HEAD: LinearSpec<8, 32> = LinearSpec::new("token_embd.weight", ACCEPT);
const GGUF: Plan = Plan {
    kind: CheckpointKind::Gguf,
    tensors: &[GGUF_EMBED.once(), GGUF_Q.per_layer(&LAYERS), GGUF_NORM.once()],
    config: CONTRACT,
};

const CONTRACT: ConfigContract = ConfigContract {
    keys: &[
        ConfigKey::new("model_type", Expected::Text("llama")),
        ConfigKey::new("hidden_size", Expected::Int(32)),
        ConfigKey::new("vocab_size", Expected::Int(8)),
        ConfigKey::new("num_hidden_layers", Expected::Int(3)),
        ConfigKey::new("num_attention_heads", Expected::Int(2)),
        ConfigKey::new("num_key_value_heads", Expected::Int(2)),
        ConfigKey::new("head_dim", Expected::Int(16)),
        ConfigKey::new("rotary_dim", Expected::Int(16)),
        ConfigKey::new("partial_rotary_factor", Expected::Float(1.0)),
        ConfigKey::new("rms_norm_eps", Expected::Float(1e-5)),
        ConfigKey::new("rope_theta", Expected::Float(10_000.0)),
        ConfigKey::new("rope_type", Expected::Text("default")),
        ConfigKey::new("tie_word_embeddings", Expected::Bool(true)),
        ConfigKey::new("hidden_act", Expected::Text("silu")),
        ConfigKey::new("attention_bias", Expected::Bool(false)),
        ConfigKey::new("layer_types", Expected::Text("full_attention")),
        ConfigKey::new("sliding_window", Expected::Absent),
    ],
    ignored: &[],
};

fn config() -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "vocab_size": 8,
        "num_hidden_layers": 3, "num_attention_heads": 2, "rms_norm_eps": 1e-5, "tie_word_embeddings": true,
    })
}

fn metadata() -> Vec<(&'static str, GgufValue)> {
    vec![
        ("general.architecture", GgufValue::String("llama".into())),
        ("general.name", GgufValue::String("tiny".into())),
        ("llama.block_count", GgufValue::U32(3)),
        ("llama.embedding_length", GgufValue::U32(32)),
        ("llama.attention.head_count", GgufValue::U32(2)),
        ("llama.attention.layer_norm_rms_epsilon", GgufValue::F32(1e-5)),
        ("tokenizer.ggml.tokens", GgufValue::Array(Array::String(vec!["t".into(); 8]))),
    ]
}

/// The tensors that a plan needs, in formats that it accepts.
fn tensors(plan: &Plan) -> Vec<Tensor> {
    let [embed, q, norm] = [0, 1, 2].map(|i| plan.tensors[i].check.name);
    let mut tensors = vec![
        Tensor::f32(norm, &[32], &[1.0; 32]),
        Tensor::f32(embed, &[8, 32], &std::array::from_fn::<f32, 256, _>(|i| i as f32)),
    ];
    for layer in LAYERS {
        let name = q.replace("{layer}", &layer.to_string());
        tensors.push(Tensor::f32(&name, &[32, 32], &[0.5; 1024]));
    }
    tensors
}

/// A directory with the config and one safetensors file.
fn hf_dir(config: &Value, tensors: &[Tensor]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    fs::write(dir.path().join("model.safetensors"), write::safetensors(tensors)).unwrap();
    dir
}

/// A directory with one GGUF file.
fn gguf_dir(metadata: &[(&str, GgufValue)], tensors: &[Tensor]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tiny.gguf"), write::gguf(metadata, tensors)).unwrap();
    dir
}

fn open_error(path: impl AsRef<Path>) -> String {
    Checkpoint::open(path).expect_err("the checkpoint is wrong").to_string()
}

/// The lines of the mismatch between a checkpoint and a plan.
fn differences(path: impl AsRef<Path>, plan: &Plan) -> Vec<String> {
    let checkpoint = Arc::new(Checkpoint::open(path).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    match Loader::new(&checkpoint, &cpu, plan.tensors, &plan.config) {
        Ok(_) => Vec::new(),
        Err(LoadError::Mismatch(mismatch)) => mismatch.differences,
        Err(other) => panic!("{other}"),
    }
}

/// The differences of the fitting checkpoint of a plan with its tensors changed.
fn with_tensors(plan: &Plan, change: impl FnOnce(&mut Vec<Tensor>)) -> Vec<String> {
    let mut tensors = tensors(plan);
    change(&mut tensors);
    let dir = match plan.kind {
        CheckpointKind::Hf | CheckpointKind::Mistral => hf_dir(&config(), &tensors),
        CheckpointKind::Gguf => gguf_dir(&metadata(), &tensors),
    };
    differences(dir.path(), plan)
}

/// The fitting checkpoint in two shards.
fn sharded() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let all = tensors(&HF);
    let (one, two) = all.split_at(2);
    let mut map = serde_json::Map::new();
    for (name, part) in [("a.safetensors", one), ("b.safetensors", two)] {
        fs::write(dir.path().join(name), write::safetensors(part)).unwrap();
        part.iter().for_each(|t| _ = map.insert(t.name.clone(), name.into()));
    }
    fs::write(dir.path().join("config.json"), config().to_string()).unwrap();
    fs::write(dir.path().join("model.safetensors.index.json"), json!({"weight_map": map}).to_string()).unwrap();
    dir
}

#[test]
fn what_fits_loads_from_a_directory() {
    let dir = hf_dir(&config(), &tensors(&HF));
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    assert_eq!((checkpoint.kind(), checkpoint.dir()), (CheckpointKind::Hf, dir.path()));
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, HF.tensors, &HF.config).unwrap();
    let layers: Box<[_; 3]> = from.layers(&LAYERS, |from, layer| from.linear(&HF_Q, layer)).unwrap();
    assert_eq!(layers.len(), 3);
    from.norm(&HF_NORM, 0).unwrap();
    from.embedding(&HF_EMBED).unwrap();
}

/// What attention has beside its linear layers; a plan for another number of heads is refused.
#[test]
fn latent_projections_and_vectors_load() {
    const KV_B: LatentUpSpec<2, 3, 4, 32> = LatentUpSpec::new("model.layers.{layer}.self_attn.kv_b_proj.weight", ACCEPT);
    const SINKS: VectorSpec<2> = VectorSpec::new("model.layers.{layer}.self_attn.sinks", ACCEPT);
    const OTHER: LatentUpSpec<3, 3, 4, 32> = LatentUpSpec::new("model.layers.{layer}.self_attn.kv_b_proj.weight", ACCEPT);
    const TABLE: &[PlannedTensor] =
        &[HF_EMBED.once(), HF_Q.per_layer(&LAYERS), HF_NORM.once(), KV_B.per_layer(&LAYERS), SINKS.per_layer(&LAYERS)];
    let mut tensors = tensors(&HF);
    for layer in LAYERS {
        let name = |of: &str| format!("model.layers.{layer}.self_attn.{of}");
        tensors.push(Tensor::f32(&name("kv_b_proj.weight"), &[14, 32], &[0.25; 448]));
        tensors.push(Tensor::f32(&name("sinks"), &[2], &[layer as f32, -1.0]));
    }
    let dir = hf_dir(&config(), &tensors);
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, TABLE, &HF.config).unwrap();
    assert_eq!(from.vector(&SINKS, 2).unwrap().values(), &[2.0, -1.0]);
    assert_eq!(from.latent_up(&KV_B, 1).unwrap().bytes(), 4 * 448);
    let other = from.latent_up(&OTHER, 1).map(|_| ()).unwrap_err().to_string();
    assert!(other.contains("kv_b_proj.weight: the spec needs [21, 32], the checkpoint has [14, 32]"), "{other}");
}

#[test]
fn what_fits_loads_from_a_gguf() {
    let dir = gguf_dir(&metadata(), &tensors(&GGUF));
    let by_dir = Checkpoint::open(dir.path()).unwrap();
    assert_eq!((by_dir.kind(), by_dir.path()), (CheckpointKind::Gguf, &*dir.path().join("tiny.gguf")));
    assert_eq!(by_dir.dir(), dir.path());
    let checkpoint = Arc::new(Checkpoint::open(dir.path().join("tiny.gguf")).unwrap());
    assert_eq!(checkpoint.gguf().unwrap().metadata["general.name"].as_str(), Some("tiny"));
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, GGUF.tensors, &GGUF.config).unwrap();
    from.linear(&GGUF_Q, 2).unwrap();
    from.linear(&GGUF_HEAD, 0).unwrap();
}

#[test]
fn mapped_tensors_hold_the_bytes_of_the_file() {
    let dir = gguf_dir(&metadata(), &tensors(&GGUF));
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let tensor = MappedTensor::new(&checkpoint, "token_embd.weight").unwrap();
    drop(checkpoint);
    assert_eq!((tensor.format(), tensor.shape()), (F::F32, &[8, 32][..]));
    assert_eq!(tensor.bytes()[4 * 255..], 255f32.to_le_bytes());
}

#[test]
fn shards_are_those_of_the_index() {
    let dir = sharded();
    // A stray file with other values under the same names is not part of the model.
    fs::write(dir.path().join("model.safetensors"), write::safetensors(&[Tensor::f32("stray", &[1], &[0.0])])).unwrap();
    assert_eq!(differences(dir.path(), &HF), [""; 0]);
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let embed = MappedTensor::new(&checkpoint, "model.embed_tokens.weight").unwrap();
    assert_eq!(embed.bytes()[4..8], 1f32.to_le_bytes());
}

#[test]
fn a_plan_that_loads_what_its_table_lacks_gets_an_error() {
    const OTHER: LinearSpec<16, 32> = LinearSpec::new("model.embed_tokens.weight", ACCEPT);
    const NONE: NormSpec<32> = NormSpec::new("model.layers.{layer}.norm", ACCEPT);
    let dir = hf_dir(&config(), &tensors(&HF));
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let from = Loader::new(&checkpoint, &cpu, HF.tensors, &HF.config).unwrap();
    let other = from.linear(&OTHER, 0).map(|_| ()).unwrap_err().to_string();
    assert!(other.contains("embed_tokens.weight: the spec needs [16, 32], the checkpoint has [8, 32]"), "{other}");
    let none = from.norm(&NONE, 4).map(|_| ()).unwrap_err().to_string();
    assert!(none.contains("model.layers.4.norm is missing"), "{none}");
}

#[test]
fn a_cache_dtype_that_the_spec_lacks_is_named_with_those_it_has() {
    use crate::dtype::KvDtypeName::{Bf16, F32};
    let error = LoadError::KvCacheDtype { model: "tiny", asked: F32, allowed: &[Bf16] };
    assert_eq!(
        error.to_string(),
        "tiny keeps its KV cache in bf16, and f32 was asked for: use one of those, or add it to kv_cache_dtype in the spec"
    );
}

/// What the file maps for the host is a copy on a device, and a head that is tied to it is the same one.
#[test]
fn a_tied_head_shares_the_embedding_of_a_device() {
    const TABLE: &[PlannedTensor] = &[GGUF_EMBED.once(), GGUF_HEAD.tied(), GGUF_Q.per_layer(&LAYERS), GGUF_NORM.once()];
    let dir = gguf_dir(&metadata(), &tensors(&GGUF));
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let needs = CheckpointNeeds { kind: CheckpointKind::Gguf, tensors: TABLE, config: &CONTRACT };
    let sums = |held: Vec<tenon_formats::memory::HeldWeights>| held.iter().map(|h| (h.mapped, h.bytes)).collect::<Vec<_>>();
    let (embedding, projections, norm) = (4 * 8 * 32, 3 * 4 * 32 * 32, 4 * 32);
    assert_eq!(sums(needs.held_on_device(&checkpoint).unwrap()), [(false, embedding + projections + norm)]);
    assert_eq!(sums(needs.held(&checkpoint).unwrap()), [(true, embedding), (false, embedding + projections + norm)]);
}
