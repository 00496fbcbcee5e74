"""Writes a checkpoint of random weights, to measure speed where the real weights are not at hand.

    python3 tests/device/random_checkpoint.py llama-3.1-8b /dev/shm/llama

Matrices hold normally distributed numbers of standard deviation 0.02, norms ones; experts of the large models are nvfp4. What a step reads and
computes is what it would be with the real weights, and what it says is noise. With `--sparse` behind the folder the file has its header and
its size and no numbers: enough for `cargo tenon check NAME --checkpoint FOLDER`.
"""

import concurrent.futures
import json
import math
import os
import struct
import sys

LLAMA_3_1_8B = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "hidden_act": "silu",
    "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16",
    "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
}
QWEN3_0_6B = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-06, "rope_theta": 1000000, "hidden_act": "silu",
    "tie_word_embeddings": True, "attention_bias": False, "rope_scaling": None, "max_window_layers": 28,
    "use_sliding_window": False, "sliding_window": None, "torch_dtype": "bfloat16",
}
# params.json, as Mistral's own checkpoints have it.
MISTRAL_SMALL_4 = {
    "dim": 4096, "n_layers": 36, "n_heads": 32, "n_kv_heads": 32, "head_dim": 128, "hidden_dim": 12288, "norm_eps": 1e-06,
    "vocab_size": 131072, "rope_theta": 10000.0, "max_position_embeddings": 1048576, "tied_embeddings": False, "q_lora_rank": 1024,
    "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "yarn": {"original_max_position_embeddings": 8192, "factor": 128, "apply_scale": False, "beta": 32, "alpha": 1},
    "llama_4_scaling": {"original_max_position_embeddings": 8192, "beta": 0.1},
    "moe": {"num_experts": 128, "num_experts_per_tok": 4, "expert_hidden_dim": 2048, "num_shared_experts": 1, "route_every_n": 1,
            "first_k_dense_replace": 0, "num_expert_groups": 1, "num_expert_groups_per_tok": 1, "routed_scale": 1.0},
    "quantization": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
}
# M mamba, E experts, * attention, as the checkpoint's own pattern has it.
NEMOTRON_PATTERN = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
NEMOTRON_3_SUPER = {
    "architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 4096, "vocab_size": 131072,
    "max_position_embeddings": 262144, "layer_norm_epsilon": 1e-05, "tie_word_embeddings": False, "attention_bias": False,
    "layers_block_type": [{"M": "linear_attention", "E": "moe", "*": "full_attention"}[kind] for kind in NEMOTRON_PATTERN],
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 128, "mamba_head_dim": 64,
    "mamba_hidden_act": "silu", "mamba_proj_bias": False, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128,
    "use_conv_bias": True, "use_bias": False, "mlp_bias": False, "time_step_min": 0.001, "time_step_max": 0.1, "expand": 2,
    "mlp_hidden_act": "relu2", "intermediate_size": 2688, "n_routed_experts": 512, "num_experts_per_tok": 22,
    "moe_intermediate_size": 2688, "moe_latent_size": 1024, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 5376,
    "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 5.0, "residual_in_fp32": False,
    "num_nextn_predict_layers": 0, "sliding_window": None,
}
QWEN3_5_122B = {
    "architectures": ["Qwen3_5MoeForCausalLM"], "model_type": "qwen3_5_moe_text", "hidden_size": 3072, "vocab_size": 248320,
    "max_position_embeddings": 262144, "rms_norm_eps": 1e-06, "tie_word_embeddings": False, "attention_bias": False,
    "hidden_act": "silu", "num_hidden_layers": 48, "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12,
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "partial_rotary_factor": 0.25,
    "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 64, "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4, "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 1024,
    "shared_expert_intermediate_size": 1024,
    "rope_parameters": {"partial_rotary_factor": 0.25, "rope_theta": 10000000.0, "rope_type": "default"},
}

# Names of the scales beside the elements of a matrix, of blocks and of it all; and whether elements are divided by the latter.
PACKED = ("_packed", "_scale", "_global_scale", True)
BESIDE = ("", "_scale", "_scale_2", False)


def nvfp4(name, shape, names):
    """The three tensors of a matrix, or of a stack of matrices."""
    data, scales, scale, divides = names
    yield name + data, "U8", [*shape[:-1], shape[-1] // 2], "bytes"
    yield name + scales, "F8_E4M3", [*shape[:-1], shape[-1] // 16], "scales"
    # Elements of e2m1 are some 3 wide and scales of blocks some 1.
    yield name + scale, "F32", [], 140.0 if divides else 1 / 140


def matrix(name, *shape):
    yield name + ".weight", "BF16", list(shape), "normal"


def norm(name, size):
    yield name + ".weight", "BF16", [size], "ones"


def dense(c):
    hidden, inner, head = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    yield from matrix("model.embed_tokens", c["vocab_size"], hidden)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        for name, rows, columns in [("self_attn.q_proj", q, hidden), ("self_attn.k_proj", kv, hidden), ("self_attn.v_proj", kv, hidden),
                                    ("self_attn.o_proj", hidden, q), ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden),
                                    ("mlp.down_proj", hidden, inner)]:
            yield from matrix(at + name, rows, columns)
        for name in ["input_layernorm", "post_attention_layernorm"]:
            yield from norm(at + name, hidden)
        if c["model_type"] == "qwen3":
            yield from norm(at + "self_attn.q_norm", head)
            yield from norm(at + "self_attn.k_norm", head)
    yield from norm("model.norm", hidden)
    if not c["tie_word_embeddings"]:
        yield from matrix("lm_head", c["vocab_size"], hidden)


def mistral(c):
    hidden, heads, rank, rope = c["dim"], c["n_heads"], c["kv_lora_rank"], c["qk_rope_head_dim"]
    nope, v, q_rank, inner = c["qk_nope_head_dim"], c["v_head_dim"], c["q_lora_rank"], c["moe"]["expert_hidden_dim"]
    yield from matrix("tok_embeddings", c["vocab_size"], hidden)
    for i in range(c["n_layers"]):
        at = f"layers.{i}."
        for name, rows, columns in [("wq_a", q_rank, hidden), ("wq_b", heads * (nope + rope), q_rank), ("wkv_a_with_mqa", rank + rope, hidden),
                                    ("wkv_b", heads * (nope + v), rank), ("wo", hidden, heads * v)]:
            yield from matrix(f"{at}attention.{name}", rows, columns)
        for name, size in [("attention_norm", hidden), ("ffn_norm", hidden), ("attention.q_a_norm", q_rank), ("attention.kv_a_norm", rank)]:
            yield from norm(at + name, size)
        yield from matrix(at + "gate", c["moe"]["num_experts"], hidden)
        for of in ["shared_experts", *(f"experts.{e}" for e in range(c["moe"]["num_experts"]))]:
            for name, shape in [("w1", [inner, hidden]), ("w3", [inner, hidden]), ("w2", [hidden, inner])]:
                yield from nvfp4(f"{at}{of}.{name}.weight", shape, PACKED)
    yield from norm("norm", hidden)
    yield from matrix("output", c["vocab_size"], hidden)


def nemotron(c):
    hidden, latent, inner, shared = c["hidden_size"], c["moe_latent_size"], c["moe_intermediate_size"], c["moe_shared_expert_intermediate_size"]
    heads, values = c["mamba_num_heads"], c["mamba_num_heads"] * c["mamba_head_dim"]
    channels = values + 2 * c["n_groups"] * c["ssm_state_size"]
    q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    yield from matrix("backbone.embeddings", c["vocab_size"], hidden)
    for i, kind in enumerate(NEMOTRON_PATTERN):
        yield from norm(f"backbone.layers.{i}.norm", hidden)
        at = f"backbone.layers.{i}.mixer."
        if kind == "M":
            yield from matrix(at + "in_proj", values + channels + heads, hidden)
            yield from matrix(at + "conv1d", channels, 1, c["conv_kernel"])
            yield at + "conv1d.bias", "BF16", [channels], "normal"
            for name in ["A_log", "D", "dt_bias"]:
                yield at + name, "BF16", [heads], "ones"
            yield from norm(at + "norm", values)
            yield from matrix(at + "out_proj", hidden, values)
        elif kind == "E":
            yield from matrix(at + "gate", c["n_routed_experts"], hidden)
            yield at + "gate.e_score_correction_bias", "F32", [c["n_routed_experts"]], 0.0
            yield from matrix(at + "fc1_latent_proj", latent, hidden)
            yield from matrix(at + "fc2_latent_proj", hidden, latent)
            for e in range(c["n_routed_experts"]):
                yield from nvfp4(f"{at}experts.{e}.up_proj.weight", [inner, latent], BESIDE)
                yield from nvfp4(f"{at}experts.{e}.down_proj.weight", [latent, inner], BESIDE)
            yield from nvfp4(at + "shared_experts.up_proj.weight", [shared, hidden], BESIDE)
            yield from nvfp4(at + "shared_experts.down_proj.weight", [hidden, shared], BESIDE)
        else:
            for name, rows, columns in [("q_proj", q, hidden), ("k_proj", kv, hidden), ("v_proj", kv, hidden), ("o_proj", hidden, q)]:
                yield from matrix(at + name, rows, columns)
    yield from norm("backbone.norm_f", hidden)
    yield from matrix("lm_head", c["vocab_size"], hidden)


def qwen3_5(c):
    hidden, head, experts, inner, shared = (c[key] for key in ["hidden_size", "head_dim", "num_experts", "moe_intermediate_size",
                                                               "shared_expert_intermediate_size"])
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    keys = c["linear_num_key_heads"] * c["linear_key_head_dim"]
    heads = c["linear_num_value_heads"]
    values = heads * c["linear_value_head_dim"]
    model = "model.language_model."
    yield from matrix(model + "embed_tokens", c["vocab_size"], hidden)
    for i, kind in enumerate(c["layer_types"]):
        at = f"{model}layers.{i}."
        for name in ["input_layernorm", "post_attention_layernorm"]:
            yield from norm(at + name, hidden)
        if kind == "linear_attention":
            for name, rows, columns in [("in_proj_qkv", 2 * keys + values, hidden), ("in_proj_z", values, hidden), ("in_proj_b", heads, hidden),
                                        ("in_proj_a", heads, hidden), ("out_proj", hidden, values)]:
                yield from matrix(f"{at}linear_attn.{name}", rows, columns)
            yield from matrix(at + "linear_attn.conv1d", 2 * keys + values, 1, c["linear_conv_kernel_dim"])
            for name in ["A_log", "dt_bias"]:
                yield f"{at}linear_attn.{name}", "BF16", [heads], "ones"
            yield from norm(at + "linear_attn.norm", c["linear_value_head_dim"])
        else:
            # Each head's queries, then its gates.
            for name, rows, columns in [("q_proj", 2 * q, hidden), ("k_proj", kv, hidden), ("v_proj", kv, hidden), ("o_proj", hidden, q)]:
                yield from matrix(f"{at}self_attn.{name}", rows, columns)
            yield from norm(at + "self_attn.q_norm", head)
            yield from norm(at + "self_attn.k_norm", head)
        yield from matrix(at + "mlp.gate", experts, hidden)
        yield from nvfp4(at + "mlp.experts.gate_up_proj", [experts, 2 * inner, hidden], BESIDE)
        yield from nvfp4(at + "mlp.experts.down_proj", [experts, hidden, inner], BESIDE)
        for name, shape in [("gate_proj", [shared, hidden]), ("up_proj", [shared, hidden]), ("down_proj", [hidden, shared])]:
            yield from nvfp4(f"{at}mlp.shared_expert.{name}.weight", shape, BESIDE)
        yield from matrix(at + "mlp.shared_expert_gate", 1, hidden)
    yield from norm(model + "norm", hidden)
    yield from matrix("lm_head", c["vocab_size"], hidden)


HF, NATIVE = ("config.json", "model.safetensors"), ("params.json", "consolidated.safetensors")
MODELS = {
    "llama-3.1-8b": (LLAMA_3_1_8B, dense, HF),
    "qwen3-0.6b": (QWEN3_0_6B, dense, HF),
    "mistral-small-4-nvfp4": (MISTRAL_SMALL_4, mistral, NATIVE),
    "nemotron-3-super-120b-a12b": (NEMOTRON_3_SUPER, nemotron, HF),
    "qwen3.5-122b-a10b": (QWEN3_5_122B, qwen3_5, HF),
}
BYTES = {"U8": 1, "F8_E4M3": 1, "BF16": 2, "F32": 4}
POOL = 1 << 26


def pools():
    """Bytes to fill tensors with."""
    import numpy as np

    random = np.random.default_rng(1)
    normal = random.normal(0, 0.02, POOL // 2).astype(np.float32)
    return {
        "normal": (normal.view(np.uint32) >> 16).astype(np.uint16).tobytes(),
        "ones": struct.pack("<H", 0x3F80) * (POOL // 2),
        "bytes": random.bytes(POOL),
        # From a half to two.
        "scales": random.integers(0x30, 0x40, POOL, dtype=np.uint8).tobytes(),
    }


def fill(file, pool, start, size):
    """Writes `size` bytes of a pool at `start`, beginning where no neighbour does."""
    done = 0
    while done < size:
        # Of even places, which elements of two bytes need.
        first = (start * 2654435761 + done) % (POOL // 2) // 2 * 2
        done += os.pwrite(file, pool[first : first + min(size - done, POOL - first)], start + done)


def main():
    name, folder = sys.argv[1:3]
    is_sparse = sys.argv[3:] == ["--sparse"]
    config, tensors, (config_name, file_name) = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{config_name}", "w") as f:
        json.dump(config, f)
    header, kinds, at = {}, [], 0
    # Widest elements first: every tensor then begins where its elements may.
    for tensor, dtype, shape, kind in sorted(tensors(config), key=lambda tensor: -BYTES[tensor[1]]):
        size = BYTES[dtype] * math.prod(shape)
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        kinds.append((kind, at, size))
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file = os.open(f"{folder}/{file_name}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
    os.pwrite(file, struct.pack("<Q", len(text)) + text, 0)
    base = 8 + len(text)
    os.ftruncate(file, base + at)
    if not is_sparse:
        views = {kind: memoryview(pool) for kind, pool in pools().items()}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            written = []
            for kind, start, size in kinds:
                if kind in views:
                    # Parts of a large tensor are written side by side.
                    for part in range(0, size, 1 << 28):
                        written.append(threads.submit(fill, file, views[kind], base + start + part, min(1 << 28, size - part)))
                else:
                    os.pwrite(file, struct.pack("<f", kind) * (size // 4), base + start)
            for future in written:
                future.result()
    os.close(file)
    print(f"{name}: {at / 1e9:.2f} GB in {folder}")


if __name__ == "__main__":
    main()
