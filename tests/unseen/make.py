#!/usr/bin/env python3
"""Writes small random checkpoints of every architecture at odd dimensions, with what transformers computes from them.

The folders hold what a model hub's do (config.json, model.safetensors) and nothing that was written for Tenon: `tenon new` has to
turn each into a spec that compiles and computes the reference's logits. Made with transformers 5.17 and torch 2.11:

    python3 tests/unseen/make.py OUT [CASE ...]

Each folder gets golden.safetensors (input_ids, logits of every position in float64 rounded to float32, a greedy continuation with its
margins) and golden.json (the reference's own errors in float32 and bf16), as the folders under tests/golden/ do.
"""

import json
import math
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.mistral4 import Mistral4ForCausalLM

VOCAB, SEQ, PREFIX, STEPS = 96, 110, 40, 12
COMMON = dict(vocab_size=VOCAB, max_position_embeddings=256, bos_token_id=0, eos_token_id=1, pad_token_id=None, use_cache=True)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=8.0, original_max_position_embeddings=32, beta_fast=32.0, beta_slow=1.0)
MLA = dict(kv_lora_rank=48, qk_nope_head_dim=24, qk_rope_head_dim=8, v_head_dim=20)

CASES = {
    "llama": dict(hidden_size=80, intermediate_size=112, num_hidden_layers=2, num_attention_heads=5, num_key_value_heads=1, head_dim=40,
                  attention_bias=True, mlp_bias=True, tie_word_embeddings=False, rms_norm_eps=1e-5),
    "mistral": dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, head_dim=24,
                    sliding_window=24, tie_word_embeddings=False),
    "qwen2": dict(hidden_size=72, intermediate_size=104, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                  tie_word_embeddings=True, use_sliding_window=False),
    "qwen3_moe": dict(hidden_size=56, intermediate_size=88, moe_intermediate_size=24, num_hidden_layers=3, num_attention_heads=3,
                      num_key_value_heads=3, head_dim=40, num_experts=7, num_experts_per_tok=3, norm_topk_prob=False, mlp_only_layers=[1],
                      tie_word_embeddings=False),
    "gemma2": dict(hidden_size=48, intermediate_size=72, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, head_dim=40,
                   query_pre_attn_scalar=20, sliding_window=16, attn_logit_softcapping=4.0, final_logit_softcapping=2.5),
    "gemma3_text": dict(hidden_size=48, intermediate_size=72, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, head_dim=24,
                        query_pre_attn_scalar=24, sliding_window=16,
                        layer_types=["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]),
    "mistral4": dict(hidden_size=80, intermediate_size=96, moe_intermediate_size=40, num_hidden_layers=2, num_attention_heads=5,
                     num_key_value_heads=5, q_lora_rank=40, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=2, n_group=1,
                     topk_group=1, first_k_dense_replace=0, rope_interleave=True, tie_word_embeddings=False,
                     rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.2), **MLA),
    "deepseek_v2": dict(hidden_size=72, intermediate_size=88, moe_intermediate_size=24, num_hidden_layers=2, num_attention_heads=3,
                        num_key_value_heads=3, q_lora_rank=None, n_routed_experts=9, num_experts_per_tok=2, n_shared_experts=1, n_group=3,
                        topk_group=2, topk_method="group_limited_greedy", norm_topk_prob=False, routed_scaling_factor=1.5,
                        first_k_dense_replace=1, tie_word_embeddings=False, **MLA),
    "deepseek_v3": dict(hidden_size=64, intermediate_size=88, moe_intermediate_size=24, num_hidden_layers=3, num_attention_heads=5,
                        num_key_value_heads=5, q_lora_rank=32, n_routed_experts=9, num_experts_per_tok=3, n_shared_experts=2, n_group=3,
                        topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.0, first_k_dense_replace=2, rope_interleave=False,
                        tie_word_embeddings=False, rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=0.8), **MLA),
    "glm4_moe_lite": dict(hidden_size=64, intermediate_size=88, moe_intermediate_size=24, num_hidden_layers=2, num_attention_heads=3,
                          num_key_value_heads=3, q_lora_rank=32, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=1, n_group=1,
                          topk_group=1, routed_scaling_factor=1.3, mlp_layer_types=["dense", "sparse"], tie_word_embeddings=False,
                          rms_norm_eps=1e-5, kv_lora_rank=48, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=40),
    "minicpm3": dict(hidden_size=72, intermediate_size=96, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=40,
                     scale_emb=6, scale_depth=1.2, dim_model_base=24, tie_word_embeddings=True, rms_norm_eps=1e-5, **MLA),
    "nemotron_h": dict(hidden_size=60, intermediate_size=84, num_attention_heads=3, num_key_value_heads=1, head_dim=40,
                       layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention", "moe"],
                       mamba_num_heads=6, mamba_head_dim=20, ssm_state_size=24, n_groups=3, conv_kernel=3, chunk_size=16, use_conv_bias=True,
                       mlp_hidden_act="relu2", n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=28, moe_latent_size=36,
                       moe_shared_expert_intermediate_size=44, n_shared_experts=1, n_group=3, topk_group=2, norm_topk_prob=True,
                       routed_scaling_factor=1.7, tie_word_embeddings=False),
    "qwen3_next": dict(hidden_size=56, intermediate_size=72, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, head_dim=40,
                       linear_num_key_heads=3, linear_num_value_heads=6, linear_key_head_dim=12, linear_value_head_dim=20,
                       linear_conv_kernel_dim=3, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                       shared_expert_intermediate_size=32, tie_word_embeddings=False,
                       rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.25)),
    "qwen3_5_text": dict(hidden_size=56, intermediate_size=72, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, head_dim=40,
                         linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=20, linear_value_head_dim=12,
                         linear_conv_kernel_dim=4, tie_word_embeddings=True,
                         rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "qwen3_5_moe_text": dict(hidden_size=56, num_hidden_layers=4, num_attention_heads=5, num_key_value_heads=5, head_dim=24,
                             linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=12, linear_value_head_dim=20,
                             linear_conv_kernel_dim=4, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=24,
                             shared_expert_intermediate_size=28, tie_word_embeddings=False,
                             rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "gpt_oss": dict(hidden_size=64, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, head_dim=40,
                    num_local_experts=5, num_experts_per_tok=3, sliding_window=16, attention_bias=True, tie_word_embeddings=False,
                    layer_types=["sliding_attention", "full_attention"], rope_parameters=dict(YARN, truncate=False)),
}


def fill(model, generator):
    """Weights under which attention is peaked, gates and experts are undecided, and every part matters."""
    normal = lambda p, std: torch.randn(p.shape, generator=generator, dtype=torch.float32) * std
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        last = name.split(".")[-1]
        # Of the buffers only this one is a weight; the others are constants of the class, such as a scale of the embedding.
        if p.dtype not in (torch.bfloat16, torch.float32) or (not isinstance(p, torch.nn.Parameter) and last != "e_score_correction_bias"):
            continue
        if last == "A_log":
            value = torch.log(0.5 + 4.0 * torch.rand(p.shape, generator=generator))
        elif last in ("D", "dt_bias", "sinks", "e_score_correction_bias") or "bias" in last:
            value = normal(p, {"e_score_correction_bias": 0.1, "D": 1.0, "sinks": 1.5}.get(last, 0.3))
        elif "norm" in name and p.dim() == 1:
            value = p.detach().float() + normal(p, 0.15)
        elif "conv1d" in name:
            value = normal(p, 0.6)
        elif "embed" in name or "embeddings" in name:
            value = normal(p, 1.0)
        else:
            gain = 2.2 if any(k in name for k in ("q_proj", "k_proj", "q_b_proj", "kv_b_proj", "gate.weight", "router")) else 1.2
            value = normal(p, gain / math.sqrt(p.shape[-2 if last in ("gate_up_proj", "down_proj") and model.config.model_type == "gpt_oss" else -1]))
        with torch.no_grad():
            p.copy_(value.to(torch.bfloat16))


def relative(a, b):
    return ((a.double() - b).norm(dim=-1) / b.norm(dim=-1)).flatten()


def make(case, out):
    seed = 100 + list(CASES).index(case)
    generator = torch.Generator().manual_seed(seed)
    config = AutoConfig.for_model(case, **{**COMMON, **CASES[case]})
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(seed)
    build = Mistral4ForCausalLM._from_config if case == "mistral4" else AutoModelForCausalLM.from_config
    model = build(config, dtype=torch.bfloat16).eval()
    fill(model, generator)
    folder = os.path.join(out, case.replace("_", "-"))
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder)
    for extra in ("generation_config.json",):
        path = os.path.join(folder, extra)
        if os.path.exists(path):
            os.remove(path)
    ids = torch.randint(2, VOCAB, (1, SEQ), generator=generator)
    with torch.no_grad():
        # Each read from the file, because constants of a class, such as a scale of the embedding, are rounded when a model is cast.
        read = lambda dtype: type(model).from_pretrained(
            folder, dtype=dtype, attn_implementation="eager", experts_implementation="eager"
        ).eval()
        bf16, f32 = read(torch.bfloat16)(ids).logits, read(torch.float32)(ids).logits
        model = read(torch.float64)
        exact = model(ids).logits
        tokens, margins, sequence = [], [], ids[:, :PREFIX]
        for _ in range(STEPS):
            top = model(sequence).logits[0, -1].topk(2)
            tokens.append(int(top.indices[0]))
            margins.append(float(top.values[0] - top.values[1]))
            sequence = torch.cat([sequence, top.indices[:1][None]], dim=1)
    e32, e16 = relative(f32, exact), relative(bf16, exact)
    save_file(
        {
            "input_ids": ids[0].to(torch.int32),
            "logits": exact[0].float().contiguous(),
            "greedy": torch.tensor(tokens, dtype=torch.int32),
            "greedy_margin": torch.tensor(margins, dtype=torch.float32),
            "greedy_prefix_len": torch.tensor([PREFIX], dtype=torch.int32),
        },
        os.path.join(folder, "golden.safetensors"),
    )
    facts = {
        "kind": case,
        "seed": seed,
        "seq": SEQ,
        "reference_float32_max_relative_error": float(e32.max()),
        "reference_bf16_relative_error": {"median": float(e16.median()), "max": float(e16.max())},
        "logit_std": float(exact.std()),
    }
    with open(os.path.join(folder, "golden.json"), "w") as f:
        json.dump(facts, f, indent=1)
        f.write("\n")
    size = sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder))
    print(f"{case}: f32 {e32.max():.1e}, bf16 median {e16.median():.3f}, logit std {exact.std():.2f}, {size} bytes")


if __name__ == "__main__":
    out, cases = sys.argv[1], sys.argv[2:] or list(CASES)
    failed = []
    for case in cases:
        try:
            make(case, out)
        except Exception as e:  # one broken case does not keep the others from being made
            failed.append(case)
            print(f"{case}: {type(e).__name__}: {str(e)[:300]}")
    sys.exit(1 if failed else 0)
