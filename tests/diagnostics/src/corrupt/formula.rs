//! Corruptions of expressions: sub-expressions are replaced, removed and wrapped.

use std::ops::Range;

use tenon_compiler::expr::{BinaryOp, Expr, ExprKind, Function};

/// Whether a key holds an expression.
pub fn is_key(general: &str) -> bool {
    let key = general.rsplit('.').next().unwrap_or_default();
    ["softmax_scale", "embedding_scale", "residual_scale", "logit_scale"].contains(&key)
}

/// What may stand where another name belongs.
const NAMES: [&str; 18] = [
    "head_dim",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "query_pre_attn_scalar",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "kv_lora_rank",
    "q_lora_rank",
    "vocab_size",
    "factor",
    "mscale",
    "mscale_all_dim",
    "scale_emb",
    "scale_depth",
    "dim_model_base",
];

/// Every corruption of an expression.
pub fn corrupt(text: &str) -> Vec<(&'static str, String)> {
    let Ok(expr) = Expr::parse(text) else { return Vec::new() };
    let mut all = Vec::new();
    let with = |range: &Range<usize>, new: &str| format!("{}{new}{}", &text[..range.start], &text[range.end..]);
    let mut nodes = Vec::new();
    expr.visit(&mut |node| nodes.push(node));
    for node in &nodes {
        let old = &text[node.range.clone()];
        for new in NAMES.into_iter().chain(["0", "1", "2", "3", "0.5", "64", "unheard_of", ""]) {
            all.push(("sub-expression replaced", with(&node.range, new)));
        }
        for other in &nodes {
            all.push(("sub-expression of another place", with(&node.range, &text[other.range.clone()])));
        }
        for function in Function::ALL {
            all.push(("function around it", with(&node.range, &format!("{}({old})", function.as_str()))));
        }
        for new in [
            format!("-{old}"),
            format!("({old})^2"),
            format!("({old}) * 2"),
            format!("({old}) / 2"),
            format!("({old}) + 1"),
            format!("1 / ({old})"),
            format!("({old})"),
        ] {
            all.push(("operator added", with(&node.range, &new)));
        }
        match &node.kind {
            ExprKind::Binary(op, a, b) => {
                let [a, b] = [a, b].map(|side| &text[side.range.clone()]);
                all.push(("operand removed", with(&node.range, a)));
                all.push(("operand removed", with(&node.range, b)));
                all.push(("operands swapped", with(&node.range, &format!("({b}) {} ({a})", op.as_str()))));
                for other in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Pow] {
                    all.push(("another operator", with(&node.range, &format!("({a}) {} ({b})", other.as_str()))));
                }
            }
            ExprKind::Call(function, arguments) => {
                let list: Vec<&str> = arguments.iter().map(|a| &text[a.range.clone()]).collect();
                for other in Function::ALL.into_iter().filter(|f| f != function) {
                    all.push(("another function", with(&node.range, &format!("{}({})", other.as_str(), list.join(", ")))));
                }
                all.push(("function removed", with(&node.range, list[0])));
                let reversed: Vec<&str> = list.iter().rev().copied().collect();
                all.push(("arguments swapped", with(&node.range, &format!("{}({})", function.as_str(), reversed.join(", ")))));
            }
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) | ExprKind::Neg(_) => {}
        }
    }
    all
}
