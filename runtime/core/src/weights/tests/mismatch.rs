//! Checkpoints that do not fit the plan: every difference and its line.

use super::*;

mod tensors {
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
            with_tensors(&HF, |tensors| tensors[1] = Tensor::zeros("model.embed_tokens.weight", &[8, 32], "f8_e5m2", 32)),
            ["model.embed_tokens.weight is f8_e5m2, and the spec accepts f32, q4_1"]
        );
        assert_eq!(
            with_tensors(&GGUF, |tensors| tensors[0] = Tensor::zeros("output_norm.weight", &[32], "q4_1", 20)),
            ["output_norm.weight is q4_1, and the spec accepts f32"],
            "a norm is not quantised although matrices may be"
        );
    }
}

mod configs {
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
            ["rms_norm_eps: the spec says 0.00001, the checkpoint has 1e-6 \
                 (llama.attention.layer_norm_rms_epsilon)"]
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
                 what the spec says, and where: tenon check NAME --checkpoint {path}\n\
                 why it is an error: tenon explain checkpoint-mismatch\n\
                 load the checkpoint that the spec names, or write the spec of this one: tenon new NAME --from {path}; \
                 what cannot change the output goes into the spec's [config] ignore or [weights] ignore, and a departure on purpose \
                 into [deviation], with the reason"
            )
        );
    }
}

#[test]
fn a_message_does_not_list_hundreds_of_tensors() {
    let strays: Vec<_> = (0..500).map(|i| Tensor::f32(&format!("stray{i:03}"), &[1], &[0.0])).collect();
    let dir = hf_dir(&config(), &[tensors(&HF), strays].concat());
    let checkpoint = Arc::new(Checkpoint::open(dir.path()).unwrap());
    let cpu = Cpu::new(1, Isa::Portable).unwrap();
    let error = Loader::new(&checkpoint, &cpu, HF.tensors, &HF.config).unwrap_err().to_string();
    assert!(error.contains("in 500 places:\n  stray000 is") && error.contains("\n  and 440 more\nwhat the spec says"), "{error}");
    assert_eq!(error.lines().count(), 1 + 60 + 1 + 3);
}

#[test]
fn the_other_format_is_one_sentence() {
    let (hf, gguf) = (hf_dir(&config(), &tensors(&HF)), gguf_dir(&metadata(), &tensors(&GGUF)));
    let (of_hf, of_gguf) = (Checkpoint::open(hf.path()).unwrap(), Checkpoint::open(gguf.path()).unwrap());
    assert!(of_hf.require(CheckpointKind::Hf).is_ok() && of_gguf.require(CheckpointKind::Gguf).is_ok());
    let path = hf.path().display();
    assert_eq!(
        of_hf.require(CheckpointKind::Gguf).unwrap_err().to_string(),
        format!(
            "the spec is for a gguf checkpoint and {path} is hf: load the gguf one, or write a spec of this one: \
             tenon new NAME --from {path}"
        )
    );
    let error = of_gguf.require(CheckpointKind::Hf).unwrap_err().to_string();
    let file = gguf.path().join("tiny.gguf");
    assert!(error.starts_with(&format!("the spec is for an hf checkpoint and {} is gguf: ", file.display())), "{error}");
}
