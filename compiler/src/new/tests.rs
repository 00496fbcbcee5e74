//! Drafts against the specs that people wrote, and what is refused.

mod hub;
mod storage;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tenon_formats::CanonicalConfig;
use tenon_formats::gguf::{Array, Value as GgufValue};
use toml::Table;

use super::description::Format;
use super::{Checkpoint, Tensor, draft};

/// A checkpoint without tensors.
fn from_config(root: &Value) -> Checkpoint {
    let config = CanonicalConfig::from_hf(root).unwrap();
    Checkpoint { format: Format::Hf, config, tensors: None, template: None, generation: None }
}

fn text(checkpoint: &Checkpoint) -> String {
    match draft("a-model", checkpoint) {
        Ok(draft) => draft.text,
        Err(refusals) => panic!("{}", refusals.iter().map(|r| format!("{r}\n")).collect::<String>()),
    }
}

/// What a draft refuses, a line each.
fn refused(root: &Value) -> Vec<String> {
    let refusals = draft("a-model", &from_config(root)).expect_err("it asks for what there is not");
    refusals.iter().map(ToString::to_string).collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("compiler/ stands in the workspace").to_path_buf()
}

fn folders(of: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(workspace().join(of)).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

/// A spec as a draft can know it: not where it is published, how it is sampled from, its chat template, and for which GPUs it has kernels.
fn comparable(text: &str) -> Table {
    let mut table: Table = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    for key in ["sampling", "chat", "tools", "reasoning"] {
        table.remove(key);
    }
    let checkpoint = table.get_mut("checkpoint").and_then(|v| v.as_table_mut()).expect("a spec has a checkpoint");
    checkpoint.remove("source");
    checkpoint.remove("pull");
    table.get_mut("model").and_then(|v| v.as_table_mut()).expect("a spec has a model").remove("targets");
    table
}

/// The lines that tell one from the other.
fn same(written: &str, drafted: &str, what: &str) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    leaves(&mut left, "", comparable(written));
    leaves(&mut right, "", comparable(drafted));
    let only = |a: &[String], b: &[String]| a.iter().filter(|line| !b.contains(line)).cloned().collect::<Vec<_>>().join("\n  ");
    let (missing, more) = (only(&left, &right), only(&right, &left));
    assert!(missing.is_empty() && more.is_empty(), "{what}: written\n  {missing}\ndrafted\n  {more}");
}

fn leaves(lines: &mut Vec<String>, path: &str, table: Table) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => leaves(lines, &format!("{path}{key}."), inner),
            leaf => lines.push(format!("{path}{key} = {leaf:?}")),
        }
    }
    lines.sort();
}

#[test]
fn goldens_are_drafted_as_they_were_written() {
    let mut compared = 0;
    for folder in folders("tests/golden") {
        let (spec, config) = (folder.join("MODEL.toml"), folder.join("config.json"));
        if !spec.is_file() || !config.is_file() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap();
        let checkpoint = crate::driver::checkpoint(&folder).unwrap();
        let drafted = match draft(name, &checkpoint) {
            Ok(draft) => draft.text,
            Err(refusals) => panic!("{name}: {refusals:?}"),
        };
        let mut written = std::fs::read_to_string(&spec).unwrap();
        if name == "qwen3-qknorm" {
            // Its block is called otherwise on purpose.
            written = written.replace("[layers.attention]", "[layers.block]").replace("[\"attention\"]", "[\"block\"]");
        }
        same(&written, &drafted, name);
        compared += 1;
    }
    assert!(compared >= 4, "{compared} goldens have a spec");
}

/// What `tenon new` writes is what `tenon check` takes, for every golden, without a line edited by hand.
#[test]
fn drafts_of_goldens_pass_check_as_they_are() {
    let mut sources = crate::driver::read(&workspace(), "tests/golden", "kernel-templates").unwrap();
    sources = crate::driver::only(&sources, &[]);
    let mut drafted = 0;
    for folder in folders("tests/golden").into_iter().filter(|f| f.join("config.json").exists()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let draft = draft(&name, &crate::driver::checkpoint(&folder).unwrap()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(draft.todo.is_empty(), "{name}: {:?}", draft.todo);
        sources.add(format!("model-specs/{name}/MODEL.toml"), draft.text);
        drafted += 1;
    }
    match crate::models(&sources) {
        Ok(models) => assert_eq!((models.len(), drafted >= 16), (drafted, true)),
        Err(diags) => panic!("{}", diags.render(&sources, crate::diagnostic::Format::Human, false)),
    }
}

fn llama() -> Value {
    json!({
        "model_type": "llama", "hidden_size": 2048, "num_attention_heads": 16, "num_hidden_layers": 4, "vocab_size": 1000,
        "intermediate_size": 4096, "max_position_embeddings": 2048, "_name_or_path": "someone/a-model",
    })
}

fn with(mut root: Value, changes: Value) -> Value {
    root.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    root
}

#[test]
fn what_the_class_decides_has_a_comment() {
    let text = text(&from_config(&llama()));
    for line in [
        "rms_norm_eps = 1e-6  # default of llama\n",
        "num_key_value_heads = 16  # num_attention_heads\n",
        "rope_theta = 10000.0  # default of llama\n",
        "hidden_size = 2048\n",
        "rotary_dim = 128\n",
        "kv_cache_dtype = [\"bf16\", \"f32\"]\n",
        "accept = [\"bf16\", \"f16\", \"f32\"]\n",
        "source = \"someone/a-model\"\n",
        "[[checkpoint.pull]]\nhf = \"someone/a-model\"\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn what_nothing_says_is_to_do() {
    let mut root = llama();
    root.as_object_mut().unwrap().remove("vocab_size");
    let root = with(root, json!({"some_new_switch": {"on": true}, "_name_or_path": "/home/someone/model"}));
    let draft = draft("a-model", &from_config(&root)).unwrap();
    let expected = ["model.vocab_size", "config.ignore.some_new_switch"];
    assert!(expected.iter().all(|key| draft.todo.iter().any(|todo| todo == key)), "{:?}", draft.todo);
    assert!(draft.text.contains("some_new_switch = \"TODO\"  # it is {\"on\":true}: say why"), "{}", draft.text);
    assert!(draft.text.contains("source = \"a-model\"  # not stated; where it is published, as owner/name\n"), "{}", draft.text);
    assert!(draft.text.contains("vocab_size = \"TODO\"  # the checkpoint does not say\n"), "{}", draft.text);
}

#[test]
fn sampling_comes_from_generation_config() {
    let mut checkpoint = from_config(&llama());
    checkpoint.generation = Some(json!({"do_sample": true, "temperature": 0.6, "top_k": 20}));
    let sampled = text(&checkpoint);
    assert!(sampled.contains("temperature = 0.6\ntop_p = 1.0  # default of generation_config.json\ntop_k = 20\n"), "{sampled}");
    checkpoint.generation = Some(json!({"do_sample": false}));
    assert!(text(&checkpoint).contains("temperature = 0.0\n"));
}

#[test]
fn what_there_is_not_is_refused_by_key() {
    let line = |changes: Value| refused(&with(llama(), changes)).join("\n");
    let unknown = line(json!({"model_type": "mamba3"}));
    assert!(unknown.starts_with("`model_type`: it is `mamba3`, and models of this type are not supported; known are llama, "));
    assert_eq!(
        line(json!({"hidden_act": "swiglu"})),
        "`hidden_act`: `swiglu` is not supported; silu, gelu_pytorch_tanh, gelu, relu2 are"
    );
    assert_eq!(line(json!({"hidden_size": -1})), "`hidden_size`: it is -1, and it must be an integer that is not negative");
    let rope = line(json!({"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0]}}));
    assert!(rope.starts_with("`rope_scaling.rope_type`: `longrope` is not supported; none, default, linear, llama3, yarn are"));
    let types = line(json!({"layer_types": ["full_attention", "chunked_attention", "full_attention", "full_attention"]}));
    assert_eq!(types, "`layer_types`: layers of the type `chunked_attention` are not supported");
    assert_eq!(line(json!({"num_hidden_layers": null})), "`num_hidden_layers`: it is missing, and all else follows from it");
    assert_eq!(line(json!({"num_hidden_layers": 70_000})), "`num_hidden_layers`: it must be 1 to 65536");
    let stored = line(json!({"quantization_config": {"quant_method": "gptq", "bits": 4}}));
    assert_eq!(stored, "`quantization_config.quant_method`: weights stored by `gptq` are not supported");
    let blocks = line(json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]}}));
    assert_eq!(
        blocks,
        "`quantization_config.weight_block_size`: blocks of fp8 weights are 128 x 128, and no others are supported"
    );

    let gemma = json!({"model_type": "gemma2", "use_bidirectional_attention": true});
    assert_eq!(refused(&with(llama(), gemma)), ["`use_bidirectional_attention`: it is true, which is not supported"]);
    let qwen = with(llama(), json!({"model_type": "qwen3", "use_sliding_window": true}));
    assert_eq!(refused(&qwen), ["`use_sliding_window`: it is true, and layer_types does not say in which layers"]);
    let deepseek = with(hub::deepseek_v3(), json!({"topk_method": "greedy", "moe_layer_freq": 2, "n_shared_experts": 1}));
    let lines = refused(&deepseek);
    assert!(lines.iter().any(|l| l == "`topk_method`: this way of choosing experts is unknown"), "{lines:?}");
    assert!(lines.iter().any(|l| l.starts_with("`moe_layer_freq`: ")), "{lines:?}");
}

fn tensors(names: &[(&str, &str)]) -> Option<Vec<Tensor>> {
    let tensor = |(name, format): &(&str, &str)| Tensor { name: (*name).into(), format: Some((*format).into()), shape: None };
    Some(names.iter().map(tensor).collect())
}

#[test]
fn tensors_say_where_layers_stand_and_how_they_are_stored() {
    let mut checkpoint = from_config(&hub::qwen3_5_moe());
    let layer = "model.language_model.layers.0";
    checkpoint.tensors = tensors(&[
        ("model.language_model.embed_tokens.weight", "bf16"),
        ("model.language_model.norm.weight", "bf16"),
        ("model.language_model.layers.0.linear_attn.A_log", "f32"),
        ("model.language_model.layers.0.mlp.experts.gate_up_proj", "bf16"),
        ("model.visual.patch_embed.proj.weight", "i8"),
        ("mtp.fc.weight", "bf16"),
        ("model.something.new", "bf16"),
        ("alone", "bf16"),
        ("lm_head.weight", "bf16"),
    ]);
    let seen = text(&checkpoint);
    let end = &seen[seen.find("[weights]").unwrap()..seen.find("[config.ignore]").unwrap()];
    assert_eq!(
        end,
        "[weights]\naccept = [\"bf16\", \"f32\"]\nnames = \"model.language_model.layers.{layer}\"\nexperts = \"stacked\"\n\n\
         [weights.ignore]\n\
         alone = \"TODO\"  # say what this is and why the model does not need it\n\
         \"model.something.*\" = \"TODO\"  # say what these are and why the model does not need it\n\
         \"model.visual.*\" = \"the vision part is not compiled\"\n\
         \"mtp.*\" = \"speculation heads are not used\"\n\n",
        "{layer}"
    );
    let unreadable = Tensor { name: format!("{layer}.mlp.x"), format: Some("i64".into()), shape: None };
    checkpoint.tensors.as_mut().unwrap().push(unreadable);
    checkpoint.tensors.as_mut().unwrap().retain(|t| t.name != "lm_head.weight");
    let refusals: Vec<String> = draft("a-model", &checkpoint).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        refusals,
        [
            "`tie_word_embeddings`: it is false, and there is no tensor of a head of its own".to_owned(),
            format!("`{layer}.mlp.x`: it is stored as i64, which is not supported"),
        ]
    );
}

#[test]
fn a_tied_head_that_is_stored_is_ignored_and_layers_behind_the_last_too() {
    let mut checkpoint = from_config(&with(llama(), json!({"tie_word_embeddings": true})));
    checkpoint.tensors = tensors(&[
        ("model.layers.0.self_attn.q_proj.weight", "bf16"),
        ("model.layers.4.self_attn.q_proj.weight", "bf16"),
        ("lm_head.weight", "bf16"),
    ]);
    let text = text(&checkpoint);
    assert!(text.contains("\"lm_head.weight\" = \"the head is tied to the embedding\""), "{text}");
    assert!(text.contains("\"model.layers.4.*\" = \"speculation heads are not used\""), "{text}");
    checkpoint.tensors = tensors(&[("model.layers.0.self_attn.sinks", "bf16")]);
    let refusals = draft("a-model", &checkpoint).unwrap_err();
    assert_eq!(
        refusals[0].to_string(),
        "`self_attn.sinks`: there are tensors of attention sinks, which this model_type does not have"
    );
    checkpoint.tensors = tensors(&[("transformer.h.0.attn.weight", "bf16")]);
    assert!(draft("a-model", &checkpoint).unwrap_err()[0].reason.starts_with("no tensor of a layer has this beginning"));
}

fn gguf_of(architecture: &str, more: &[(&str, GgufValue)], tensors: &[(&str, &str)]) -> Checkpoint {
    let key = |name: &str| format!("{architecture}.{name}");
    let mut metadata: Vec<(String, GgufValue)> = vec![
        ("general.architecture".into(), GgufValue::String(architecture.into())),
        (key("block_count"), GgufValue::U32(6)),
        (key("embedding_length"), GgufValue::U32(256)),
        (key("feed_forward_length"), GgufValue::U32(512)),
        (key("context_length"), GgufValue::U32(2048)),
        (key("attention.head_count"), GgufValue::U32(4)),
        (key("attention.layer_norm_rms_epsilon"), GgufValue::F32(1e-6)),
        ("tokenizer.ggml.tokens".into(), GgufValue::Array(Array::String(vec!["a".into(), "b".into()]))),
    ];
    metadata.extend(more.iter().map(|(name, value)| (key(name), value.clone())));
    let metadata: std::collections::BTreeMap<String, GgufValue> = metadata.into_iter().collect();
    let gguf = tenon_formats::Gguf { version: 3, metadata, tensors: Vec::new() };
    Checkpoint {
        format: Format::Gguf,
        config: CanonicalConfig::from_gguf(&gguf).unwrap(),
        tensors: self::tensors(tensors),
        template: None,
        generation: None,
    }
}

#[test]
fn a_gguf_is_completed_from_the_table_of_its_architecture() {
    let stored = [("blk.0.attn_q.weight", "q4_k"), ("blk.0.attn_k.weight", "q4_k"), ("token_embd.weight", "q6_k")];
    let text = text(&gguf_of("gemma3", &[("attention.sliding_window", GgufValue::U32(512))], &stored));
    for line in [
        "format = \"gguf\"\n",
        "model_type = \"gemma3\"\n",
        "pattern = [\"local\", \"local\", \"local\", \"local\", \"local\", \"full\"]  # one full_attention in 6 layers\n",
        "query_pre_attn_scalar = 64  # head_dim\n",
        "sliding_window = 512\n",
        "rope_theta = 10000.0  # default of gemma3\n",
        "rope_theta = 1000000.0  # default of gemma3\n",
        "vocab_size = 2  # number of tokenizer.ggml.tokens\n",
        "tie_word_embeddings = true  # no output.weight\n",
        "attention_bias = false  # no blk.0.attn_q.bias\n",
        "accept = [\"q4_k\", \"q6_k\", \"f32\"]\n",
        "template = \"none\"\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let other = draft("a-model", &gguf_of("deepseek2", &[], &stored)).unwrap_err();
    let message = "it is `deepseek2`, and GGUF files of this architecture are not supported; known are llama, qwen3, gemma3";
    assert!(other[0].reason.starts_with(message), "{}", other[0]);
    let unreadable = draft("a-model", &gguf_of("llama", &[], &[("blk.0.attn_q.weight", "iq4_xs")])).unwrap_err();
    assert_eq!(unreadable[0].to_string(), "`blk.0.attn_q.weight`: it is stored as iq4_xs, which is not supported");
}

/// Whatever a config says, it is refused or becomes TOML.
#[test]
fn odd_configs_are_refused_or_become_toml() {
    let odd = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!("TODO \"\\\n\u{7f}"),
        json!([]),
        json!([1]),
        json!(["mlp"]),
        json!({}),
        json!({"a": 1}),
        json!(true),
    ];
    let (mut drafted, mut refused) = (0, 0);
    let mut roots = hub::all_hf();
    // The parts of the wrapped ones stand alone too.
    let inner: Vec<Value> = roots.iter().filter_map(|root| root.get("text_config").cloned()).collect();
    roots.extend(inner);
    for root in roots {
        for key in root.as_object().unwrap().keys() {
            for value in &odd {
                let mut changed = root.clone();
                changed[key] = value.clone();
                let Ok(config) = CanonicalConfig::from_hf(&changed) else { continue };
                let checkpoint = Checkpoint { config, ..from_config(&llama()) };
                match draft("a-model", &checkpoint) {
                    Ok(draft) => {
                        draft.text.parse::<Table>().unwrap_or_else(|e| panic!("{key} = {value}: {e}\n{}", draft.text));
                        assert_eq!(draft.todo.len(), draft.text.matches("= \"TODO\"").count(), "{}", draft.text);
                        drafted += 1;
                    }
                    Err(refusals) => {
                        assert!(
                            refusals.iter().all(|r| !r.to_string().contains('\n') && r.to_string().len() < 400),
                            "{refusals:?}"
                        );
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(drafted > 500 && refused > 500, "{drafted} drafted, {refused} refused");
}

#[test]
fn folders_files_and_names() {
    let error = |path: &str| crate::driver::checkpoint(&workspace().join(path)).unwrap_err();
    assert!(error("tests/golden").ends_with("tests/golden: no config.json, params.json or .gguf file"));
    assert!(error("README.md").ends_with("neither a folder nor a .gguf file"));
    assert!(error("nowhere").contains("nowhere"));
    assert!(super::is_name("qwen3.5-0.8b") && !super::is_name("") && !super::is_name("..") && !super::is_name("a/b"));
    let taken = crate::driver::create(&workspace(), "qwen3-8b", "").unwrap_err();
    assert_eq!(taken, "model-specs/qwen3-8b is there already; remove it, or take another name");
}
