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

const ACCEPT: &[F] = &[F::F32, F::Q4_1];
const LAYERS: [usize; 3] = [0, 1, 2];

/// One plan for each format: an embedding, a norm and a projection per layer.
struct Plan {
    tensors: &'static [TensorCheck],
    config: ConfigContract,
}

const HF_EMBED: EmbeddingSpec<8, 32> = EmbeddingSpec::new("model.embed_tokens.weight", ACCEPT);
const HF_Q: LinearSpec<32, 32> = LinearSpec::new("model.layers.{layer}.self_attn.q_proj.weight", ACCEPT);
const HF_NORM: NormSpec<32> = NormSpec::new("model.norm.weight", ACCEPT);
const HF: Plan = Plan {
    tensors: &[
        HF_EMBED.once(),
        HF_Q.per_layer(&LAYERS),
        HF_NORM.once(),
        TensorCheck::ignored("model.layers.{layer}.self_attn.rotary_emb.inv_freq", "computed from rope_theta"),
    ],
    config: CONTRACT,
};

const GGUF_EMBED: EmbeddingSpec<8, 32> = EmbeddingSpec::new("token_embd.weight", ACCEPT);
const GGUF_Q: LinearSpec<32, 32> = LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT)
    .rows(RowOrder::RopePairs { heads: 2, rotary_dim: 16 });
const GGUF_NORM: NormSpec<32> = NormSpec::new("output_norm.weight", ACCEPT);
const GGUF_HEAD: LinearSpec<8, 32> = LinearSpec::new("token_embd.weight", ACCEPT);
const GGUF: Plan = Plan {
    tensors: &[GGUF_EMBED.once(), GGUF_Q.per_layer(&LAYERS), GGUF_NORM.once()],
    config: CONTRACT,
};

const CONTRACT: ConfigContract = ConfigContract {
    keys: &[
        key("model_type", Expected::Text("llama")),
        key("hidden_size", Expected::Int(32)),
        key("vocab_size", Expected::Int(8)),
        key("num_hidden_layers", Expected::Int(3)),
        key("num_attention_heads", Expected::Int(2)),
        key("num_key_value_heads", Expected::Int(2)),
        key("head_dim", Expected::Int(16)),
        key("rotary_dim", Expected::Int(16)),
        key("partial_rotary_factor", Expected::Float(1.0)),
        key("rms_norm_eps", Expected::Float(1e-5)),
        key("rope_theta", Expected::Float(10_000.0)),
        key("rope_type", Expected::Text("default")),
        key("tie_word_embeddings", Expected::Bool(true)),
        key("hidden_act", Expected::Text("silu")),
        key("attention_bias", Expected::Bool(false)),
        key("layer_types", Expected::Text("full_attention")),
        key("sliding_window", Expected::Absent),
    ],
    ignored: &[],
};

const fn key(key: &'static str, expected: Expected) -> ConfigKey {
    ConfigKey { key, expected }
}

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
    let [embed, q, norm] = [0, 1, 2].map(|i| plan.tensors[i].name);
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
    let dir = if std::ptr::eq(plan.tensors, HF.tensors) {
        hf_dir(&config(), &tensors)
    } else {
        gguf_dir(&metadata(), &tensors)
    };
    differences(dir.path(), plan)
}

mod loading {
    use super::*;

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

mod tensors_that_differ {
    use super::*;

    #[test]
    fn missing() {
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors.retain(|t| t.name != "blk.1.attn_q.weight")),
            ["blk.1.attn_q.weight is missing"]
        );
        assert_eq!(
            with_tensors(&HF, |tensors| tensors.truncate(2)),
            ["model.layers.{layer}.self_attn.q_proj.weight (layers 0..3) is missing"]
        );
    }

    #[test]
    fn left_over() {
        let bias = |layer: usize| Tensor::f32(&format!("model.layers.{layer}.mlp.bias"), &[1], &[0.0]);
        assert_eq!(
            with_tensors(&HF, |tensors| tensors.push(Tensor::f32("lm_head.weight", &[1], &[0.0]))),
            ["lm_head.weight is in the checkpoint and not in the plan"]
        );
        assert_eq!(
            with_tensors(&HF, |tensors| tensors.push(bias(1))),
            ["model.layers.1.mlp.bias is in the checkpoint and not in the plan"]
        );
        assert_eq!(
            with_tensors(&HF, |tensors| tensors.extend([0, 1, 3].map(bias))),
            ["model.layers.{layer}.mlp.bias (layers 0..2, 3) is in the checkpoint and not in the plan"]
        );
    }

    #[test]
    fn a_layer_more_than_the_plan_has() {
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors.push(Tensor::f32("blk.3.attn_q.weight", &[32, 32], &[0.0; 1024]))),
            ["blk.3.attn_q.weight is in the checkpoint and not in the plan"]
        );
    }

    #[test]
    fn ignored() {
        let name = "model.layers.1.self_attn.rotary_emb.inv_freq";
        assert_eq!(with_tensors(&HF, |tensors| tensors.push(Tensor::f32(name, &[8], &[0.0; 8]))), [""; 0]);
    }

    #[test]
    fn shape() {
        let narrow = |layer: usize| Tensor::f32(&format!("blk.{layer}.attn_q.weight"), &[32, 16], &[0.5; 512]);
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors[3] = narrow(1)),
            ["blk.1.attn_q.weight: the spec needs [32, 32], the checkpoint has [32, 16]"]
        );
        assert_eq!(
            with_tensors(&GGUF, |tensors| (0..3).for_each(|i| tensors[2 + i] = narrow(i))),
            ["blk.{layer}.attn_q.weight (layers 0..3): the spec needs [32, 32], the checkpoint has [32, 16]"]
        );
        assert_eq!(
            with_tensors(&HF, |tensors| tensors[0].shape = vec![1, 32]),
            ["model.norm.weight: the spec needs [32], the checkpoint has [1, 32]"]
        );
    }

    #[test]
    fn format() {
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors[2] = Tensor::zeros("blk.0.attn_q.weight", &[32, 32], "q8_0", 34)),
            ["blk.0.attn_q.weight is q8_0, and the spec accepts f32, q4_1"]
        );
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors[2] = Tensor::zeros("blk.0.attn_q.weight", &[32, 256], "q6_k", 210)),
            [
                "blk.0.attn_q.weight is q6_k, and the spec accepts f32, q4_1",
                "blk.0.attn_q.weight: the spec needs [32, 32], the checkpoint has [32, 256]",
            ]
        );
        assert_eq!(
            with_tensors(&HF, |tensors| tensors[1] = Tensor::zeros("model.embed_tokens.weight", &[8, 32], "f8_e4m3", 32)),
            ["model.embed_tokens.weight is f8_e4m3, and the spec accepts f32, q4_1"]
        );
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors[0] = Tensor::zeros("output_norm.weight", &[32], "q4_1", 20)),
            ["output_norm.weight is q4_1, and the spec accepts f32"],
            "a norm is not quantised although matrices may be"
        );
    }
}

mod configs_that_differ {
    use super::*;

    fn with_config(changes: Value) -> Vec<String> {
        let mut config = config();
        changes.as_object().unwrap().iter().for_each(|(key, value)| config[key] = value.clone());
        differences(hf_dir(&config, &tensors(&HF)).path(), &HF)
    }

    fn with_metadata(key: &'static str, value: GgufValue) -> Vec<String> {
        let mut metadata = metadata();
        metadata.retain(|(k, _)| *k != key);
        metadata.push((key, value));
        differences(gguf_dir(&metadata, &tensors(&GGUF)).path(), &GGUF)
    }

    #[test]
    fn values() {
        assert_eq!(
            with_config(json!({"rope_scaling": {"rope_theta": 500000.0}})),
            ["rope_theta: the spec says 10000.0, the checkpoint has 500000.0 (rope_scaling.rope_theta)"]
        );
        assert_eq!(
            with_config(json!({"tie_word_embeddings": null})),
            ["tie_word_embeddings: the spec says true, the checkpoint does not say"]
        );
        assert_eq!(
            with_metadata("llama.rope.freq_base", GgufValue::F32(1e5)),
            ["rope_theta: the spec says 10000.0, the checkpoint has 100000.0 (llama.rope.freq_base)"]
        );
        assert_eq!(
            with_metadata("llama.attention.layer_norm_rms_epsilon", GgufValue::F32(1e-6)),
            [
                "rms_norm_eps: the spec says 0.00001, the checkpoint has 1e-6 \
                 (llama.attention.layer_norm_rms_epsilon)"
            ]
        );
    }

    #[test]
    fn unknown_keys() {
        assert_eq!(
            with_config(json!({"attn_logit_softcapping": 50.0})),
            ["attn_logit_softcapping: the checkpoint has 50.0, the spec neither states nor ignores it"]
        );
        assert_eq!(
            with_metadata("llama.expert_count", GgufValue::U32(8)),
            ["llama.expert_count: the checkpoint has 8, the spec neither states nor ignores it"]
        );
    }

    #[test]
    fn everything_is_said_at_once() {
        let mut config = config();
        config["vocab_size"] = json!(9);
        let dir = hf_dir(&config, &tensors(&HF)[1..]);
        let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
        let cpu = Cpu::new(1, Isa::Portable).unwrap();
        let error = Loader::new(&checkpoint, &cpu, HF.tensors, &HF.config).unwrap_err();
        let path = dir.path().display();
        assert_eq!(
            error.to_string(),
            format!(
                "{path} does not fit the plan in 2 places:\n  \
                   vocab_size: the spec says 8, the checkpoint has 9\n  \
                   model.norm.weight is missing\n\
                 load the checkpoint that the spec names, or write the spec of this one: tenon new NAME --from {path}; \
                 what cannot change the output goes into the spec's [config] ignore or [weights] ignore, with the reason"
            )
        );
    }
}

mod directories {
    use super::*;

    #[test]
    fn that_do_not_exist() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none");
        let expected = format!("{} does not exist; give a checkpoint's directory or a .gguf file", path.display());
        assert_eq!(open_error(&path), expected);
    }

    #[test]
    fn without_weights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display();
        let expected =
            format!("{path} holds no weights: neither model.safetensors nor its index nor a .gguf file is there");
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn without_config() {
        let dir = hf_dir(&config(), &tensors(&HF));
        fs::remove_file(dir.path().join("config.json")).unwrap();
        let path = dir.path().display();
        let expected = format!(
            "{path} holds safetensors and no config.json, which says what they are: \
             download it from where the weights come from"
        );
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn with_two_ggufs() {
        let dir = gguf_dir(&metadata(), &tensors(&GGUF));
        fs::copy(dir.path().join("tiny.gguf"), dir.path().join("other.gguf")).unwrap();
        let path = dir.path().display();
        let expected = format!("{path} holds 2 .gguf files (other.gguf, tiny.gguf); give the path of the one to load");
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn with_safetensors_under_another_name() {
        let dir = hf_dir(&config(), &tensors(&HF));
        fs::rename(dir.path().join("model.safetensors"), dir.path().join("consolidated.safetensors")).unwrap();
        let path = dir.path().display();
        let expected = format!(
            "{path} holds consolidated.safetensors, and neither model.safetensors nor model.safetensors.index.json, \
             which would say which files are the model"
        );
        assert_eq!(open_error(dir.path()), expected);
        let file = dir.path().join("consolidated.safetensors");
        let expected = format!(
            "{} is one file of a checkpoint; give the directory, which has config.json too",
            file.display()
        );
        assert_eq!(open_error(&file), expected);
    }

    #[test]
    fn whose_index_names_what_is_not_there() {
        let dir = sharded();
        fs::remove_file(dir.path().join("b.safetensors")).unwrap();
        let index = dir.path().join("model.safetensors.index.json");
        let expected = format!(
            "{} puts 3 tensors into b.safetensors, and that file is not beside it: download it",
            index.display()
        );
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn whose_index_is_of_another_checkpoint() {
        let cases = [
            ("model.norm.weight", json!("b.safetensors"), "belongs into b.safetensors and is in a.safetensors"),
            ("model.norm.weight", Value::Null, "is in a.safetensors and not in the index"),
            ("model.extra", json!("a.safetensors"), "belongs into a.safetensors and is not there"),
        ];
        for (tensor, shard, problem) in cases {
            let dir = sharded();
            let path = dir.path().join("model.safetensors.index.json");
            let mut index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let map = index["weight_map"].as_object_mut().unwrap();
            if shard.is_null() { map.remove(tensor) } else { map.insert(tensor.to_owned(), shard) };
            fs::write(&path, index.to_string()).unwrap();
            let expected = format!(
                "{}: `{tensor}` {problem}: index and shards are of different checkpoints",
                path.display()
            );
            assert_eq!(open_error(dir.path()), expected);
        }
    }
}

mod files {
    use super::*;

    #[test]
    fn that_are_cut_off_name_themselves() {
        let dir = gguf_dir(&metadata(), &tensors(&GGUF));
        let path = dir.path().join("tiny.gguf");
        let file = fs::read(&path).unwrap();
        fs::write(&path, &file[..file.len() - 1]).unwrap();
        let message = open_error(&path);
        let start = format!("{}: tensor `blk.2.attn_q.weight`: its 4096 bytes begin at byte ", path.display());
        assert!(message.starts_with(&start) && message.ends_with("the file is cut off"), "{message}");
        fs::write(&path, "").unwrap();
        let expected = format!("{}: not a GGUF file: it does not begin with \"GGUF\"", path.display());
        assert_eq!(open_error(&path), expected);

        let dir = hf_dir(&config(), &tensors(&HF));
        let path = dir.path().join("model.safetensors");
        fs::write(&path, "").unwrap();
        let expected = format!(
            "{}: the file has 0 bytes, and a safetensors file begins with 8 bytes that say how long its header is",
            path.display()
        );
        assert_eq!(open_error(dir.path()), expected);
    }

    #[test]
    fn that_are_one_of_several_parts() {
        let mut metadata = metadata();
        metadata.push(("split.count", GgufValue::U16(4)));
        let dir = gguf_dir(&metadata, &tensors(&GGUF));
        let path = dir.path().join("tiny.gguf");
        let expected =
            format!("{} is one of 4 parts; join them with llama.cpp's `llama-gguf-split --merge`", path.display());
        assert_eq!(open_error(&path), expected);
    }

    #[test]
    fn whose_config_is_broken() {
        let dir = hf_dir(&config(), &tensors(&HF));
        let path = dir.path().join("config.json");
        fs::write(&path, "{\"a\": 1, \"a\": 2}").unwrap();
        let expected = format!("{}: duplicate key `a` at line 1 column 12", path.display());
        assert_eq!(open_error(dir.path()), expected);
    }
}
