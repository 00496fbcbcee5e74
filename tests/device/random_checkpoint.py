"""Writes a checkpoint of random weights for a dense model, to measure speed where the real weights are not at hand.

    python3 tests/device/random_checkpoint.py llama-3.1-8b /dev/shm/llama

Every matrix holds normally distributed bf16 numbers of standard deviation 0.02, every norm ones: what a step reads and computes is what it
would be with the real weights, and what it says is noise.
"""

import json
import os
import struct
import sys

import numpy as np

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
MODELS = {"llama-3.1-8b": LLAMA_3_1_8B, "qwen3-0.6b": QWEN3_0_6B}


def tensors(c):
    """Names and shapes."""
    hidden, inner, head = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", [c["vocab_size"], hidden]
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        for name, shape in [("self_attn.q_proj", [q, hidden]), ("self_attn.k_proj", [kv, hidden]),
                            ("self_attn.v_proj", [kv, hidden]), ("self_attn.o_proj", [hidden, q]),
                            ("mlp.gate_proj", [inner, hidden]), ("mlp.up_proj", [inner, hidden]),
                            ("mlp.down_proj", [hidden, inner]), ("input_layernorm", [hidden]),
                            ("post_attention_layernorm", [hidden])]:
            yield f"{at}{name}.weight", shape
        if c["model_type"] == "qwen3":
            yield f"{at}self_attn.q_norm.weight", [head]
            yield f"{at}self_attn.k_norm.weight", [head]
    yield "model.norm.weight", [hidden]
    if not c["tie_word_embeddings"]:
        yield "lm_head.weight", [c["vocab_size"], hidden]


def main():
    name, folder = sys.argv[1:]
    config = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w") as f:
        json.dump(config, f)
    header, at = {}, 0
    for tensor, shape in tensors(config):
        size = 2 * int(np.prod(shape))
        header[tensor] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(1).normal(0, 0.02, 1 << 25).astype(np.float32)
    noise = (random.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for tensor, entry in header.items():
            left = entry["data_offsets"][1] - entry["data_offsets"][0]
            if len(entry["shape"]) == 1:
                f.write(struct.pack("<H", 0x3F80) * (left // 2))
                continue
            while left:
                piece = noise[: min(left, len(noise))]
                f.write(piece)
                left -= len(piece)
    print(f"{name}: {at / 1e9:.2f} GB in {folder}")


if __name__ == "__main__":
    main()
