//! How weights are stored: what drafts make of the config's word for it, and of the tensors.

use serde_json::{Value, json};

use super::{Tensor, from_config, hub, llama, refused, tensors, text, with};

#[test]
fn quantised_tensors_name_their_formats() {
    let accept = |names: &[(&str, &str)]| {
        let mut checkpoint = from_config(&with(llama(), json!({"tie_word_embeddings": true})));
        checkpoint.tensors = tensors(names);
        let text = text(&checkpoint);
        text.lines().find(|line| line.starts_with("accept")).unwrap().to_owned()
    };
    let fp8 = [("model.layers.0.mlp.up_proj.weight", "f8_e4m3"), ("model.layers.0.mlp.up_proj.weight_scale_inv", "f32")];
    assert_eq!(accept(&fp8), "accept = [\"fp8_e4m3\", \"f32\"]");
    let modelopt = [
        ("model.layers.0.mlp.up_proj.weight", "u8"),
        ("model.layers.0.mlp.up_proj.weight_scale", "f8_e4m3"),
        ("model.layers.0.mlp.up_proj.weight_scale_2", "f32"),
        ("model.norm.weight", "bf16"),
    ];
    assert_eq!(accept(&modelopt), "accept = [\"nvfp4\", \"bf16\", \"f32\"]");
    let packed = [("model.layers.0.mlp.up_proj.weight_packed", "u8"), ("model.layers.0.mlp.up_proj.weight_global_scale", "f32")];
    assert_eq!(accept(&packed), "accept = [\"nvfp4\", \"f32\"]");
    let stack = [
        ("model.layers.0.mlp.experts.up_proj", "u8"),
        ("model.layers.0.mlp.experts.up_proj_weight_scale", "f8_e4m3"),
        ("model.layers.0.mlp.experts.up_proj_weight_scale_2", "f32"),
    ];
    assert_eq!(accept(&stack), "accept = [\"nvfp4\", \"f32\"]");
    let hub = [
        ("model.layers.0.mlp.experts.up_proj", "f8_e4m3"),
        ("model.layers.0.mlp.experts.up_proj_scale_inv", "bf16"),
        ("model.layers.0.mlp.experts.up_proj_activation_scale", "bf16"),
    ];
    assert_eq!(accept(&hub), "accept = [\"fp8_e4m3\", \"f32\"]");
    let mx = [("model.layers.0.mlp.experts.up_proj_blocks", "u8"), ("model.layers.0.mlp.experts.up_proj_scales", "u8")];
    assert_eq!(accept(&mx), "accept = [\"mxfp4\", \"f32\"]");
}

/// Methods by which publishers store weights, where no tensor is to be seen.
#[test]
fn methods_of_quantisation_name_their_formats() {
    let accept = |quantisation: Value| {
        let text = text(&from_config(&with(llama(), json!({"quantization_config": quantisation}))));
        assert!(text.contains("\"quantization_config.*\" = "), "{text}");
        text.lines().find(|line| line.starts_with("accept")).unwrap().to_owned()
    };
    let fp8 = "accept = [\"fp8_e4m3\", \"bf16\", \"f32\"]";
    assert_eq!(accept(json!({"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"})), fp8);
    assert_eq!(accept(json!({"quant_method": "fp8", "weight_block_size": null, "activation_scheme": "static"})), fp8);
    assert_eq!(accept(json!({"quant_method": "modelopt", "quant_algo": "FP8"})), fp8);
    let nvfp4 = "accept = [\"nvfp4\", \"bf16\"]";
    assert_eq!(accept(json!({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]})), nvfp4);
    let format = "nvfp4-pack-quantized";
    assert_eq!(accept(json!({"quant_method": "compressed-tensors", "format": format, "config_groups": {}})), nvfp4);
    assert_eq!(accept(json!({"quant_method": "mxfp4"})), "accept = [\"mxfp4\", \"bf16\"]");
    let refused = |quantisation: Value| refused(&with(llama(), json!({"quantization_config": quantisation})));
    assert_eq!(
        refused(json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})),
        ["`quantization_config.quant_algo`: of modelopt, only NVFP4 and FP8 are supported"]
    );
    assert_eq!(
        refused(json!({"quant_method": "compressed-tensors", "format": "float-quantized"})),
        ["`quantization_config.format`: of compressed-tensors, only nvfp4-pack-quantized is supported"]
    );
}

#[test]
fn scales_of_caches_are_ignored() {
    let mut checkpoint = from_config(&with(llama(), json!({"tie_word_embeddings": true})));
    checkpoint.tensors = tensors(&[
        ("model.layers.0.self_attn.k_proj.weight", "f8_e4m3"),
        ("model.layers.0.self_attn.k_proj.weight_scale", "f32"),
        ("model.layers.0.self_attn.k_proj.k_scale", "f32"),
        ("model.layers.1.self_attn.v_proj.v_scale", "f32"),
    ]);
    let text = text(&checkpoint);
    let reason = "it scales what a cache in fp8 holds, and caches here are not scaled";
    for name in ["k_proj.k_scale", "v_proj.v_scale"] {
        let line = format!("\"model.layers.{{layer}}.self_attn.{name}\" = \"{reason}\"");
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.contains("accept = [\"fp8_e4m3\", \"f32\"]"), "{text}");
}

/// A row of nvfp4 has half as many bytes as elements, and is no shorter for that.
#[test]
fn stacks_in_four_bits_are_not_transposed() {
    let checkpoint = from_config(&hub::qwen3_5_moe());
    let tensor = |name: &str, format: &str, shape: &[usize]| Tensor {
        name: format!("model.language_model.layers.0.mlp.experts.{name}"),
        format: Some(format.into()),
        shape: Some(shape.to_vec()),
    };
    let head = tensors(&[("lm_head.weight", "bf16")]).unwrap();
    let layout = |gate_up: Tensor| {
        let mut checkpoint = checkpoint.clone();
        let scale = tensor("gate_up_proj_weight_scale", "f8_e4m3", &[256, 3072, 192]);
        let scale_2 = tensor("gate_up_proj_weight_scale_2", "f32", &[256]);
        checkpoint.tensors = Some([head.clone(), vec![scale, scale_2, gate_up]].concat());
        let text = text(&checkpoint);
        text.lines().find(|line| line.starts_with("experts = ")).map(str::to_owned)
    };
    // As many rows as the hidden size.
    assert_eq!(layout(tensor("gate_up_proj", "u8", &[256, 3072, 1536])).as_deref(), Some("experts = \"stacked\""));
    assert_eq!(layout(tensor("gate_up_proj", "bf16", &[256, 3072, 2048])).as_deref(), Some("experts = \"transposed\""));
}
