//! Where the values of a spec are usually found, for the help of `missing-key` and `todo-value`.

/// Where the value of a key is usually found: keys of config.json, and of a GGUF's metadata (for `llama`; other architectures
/// write their own name before the first dot).
pub(super) fn of(key: &str) -> Option<&'static str> {
    Some(match key {
        "name" => "the path of MODEL.toml: it is the name of its folder",
        "targets" => "the list of machines that will serve it: [\"cpu\"] runs anywhere",
        "hidden_size" => "config.json: hidden_size; GGUF: llama.embedding_length",
        "vocab_size" => "config.json: vocab_size; GGUF: llama.vocab_size, or the number of tokenizer.ggml.tokens",
        "max_position_embeddings" => "config.json: max_position_embeddings; GGUF: llama.context_length",
        "rms_norm_eps" => "config.json: rms_norm_eps; GGUF: llama.attention.layer_norm_rms_epsilon",
        "tie_word_embeddings" => "config.json: tie_word_embeddings; GGUF: true when there is no tensor output.weight",
        "rms_norm_unit_offset" => "the model's code: true where a norm multiplies by 1 + weight (Gemma), else false",
        "embedding_scale" => "the model's code: \"1\", or \"sqrt(hidden_size)\" where the embedding is scaled (Gemma)",
        "sliding_window" => {
            "config.json: sliding_window and layer_types; GGUF: llama.attention.sliding_window; \"none\" where every token is seen"
        }
        "source" => "the address of the checkpoint's page, owner/name",
        "format" => "the checkpoint's files: \"hf\" for config.json and safetensors, \"gguf\" for one .gguf",
        "model_type" => "config.json: model_type; GGUF: general.architecture",
        "file" => "the list of files of the repository or the wheel",
        "sha256" => "the list of files of the repository or the wheel, or `sha256sum` of a download",
        "num_hidden_layers" => "config.json: num_hidden_layers; GGUF: llama.block_count",
        "kind" => "the model's code: \"gqa\" for attention, \"gated_mlp\" for a feed-forward with a gate",
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
        "softmax_scale" => "the model's code: \"rsqrt(head_dim)\" unless it says otherwise",
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
        "intermediate_size" => "config.json: intermediate_size; GGUF: llama.feed_forward_length",
        "hidden_act" => "config.json: hidden_act",
        "mlp_bias" => "config.json: mlp_bias; GGUF: true when there are tensors blk.0.ffn_up.bias and the like",
        "accept" => "the dtypes of the checkpoint's tensors",
        "temperature" | "top_p" | "top_k" => "generation_config.json, or the model card",
        "template" => "the checkpoint: \"checkpoint\" takes the template that comes with it, \"none\" says that there is none",
        "parser" => "the model card; \"none\" where the model has no such format",
        "op" => "the operations of a plan, such as linear, rms_norm or attention",
        "target" => "the kernel: \"cpu\" where it is a Rust function",
        "accumulate" => "the kernel: the dtype of its longest sum, usually \"f32\"",
        "class" => "the kernel: \"products\" for dot products, \"exponentials\" where it takes exp, else \"elementwise\"",
        "depth" => "the kernel: the length of its longest sum, as an expression over its params",
        "bytes" => "the kernel: bytes read and written, as an expression over its params",
        "flops" => "the kernel: operations, a multiply-add as two, as an expression over its params",
        _ => return None,
    })
}
