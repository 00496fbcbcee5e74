//! Routed experts: the choice of experts, and their two products, for few rows by pair of token and expert and for many by expert.

use super::{device, dtype};
use crate::architecture::Role;
use crate::lower::{moe_field, moes, tokens};
use crate::model::{Model, Moe};
use crate::program::{Buf, DeviceOp, Op, OpKind, Operand, Part, When};

/// What one op becomes.
pub(super) fn op(model: &Model, op: &Op) -> Vec<Op> {
    match &op.kind {
        OpKind::Route { routes, router, experts, top_k, biased } => {
            let (ids, weights) = routed(*top_k);
            let of = |what: &str| format!("{router}.{what}()");
            let kind = DeviceOp::new("route", Part::Ffn)
                .number("experts", *experts)
                .number("top_k", *top_k)
                .with("router", Operand::Buf(op.reads[0]))
                .maybe("bias", biased.then_some(Role::CorrectionBias))
                .with("ids", Operand::Buf(ids))
                .with("weights", Operand::Buf(weights))
                .value("scores", of("scores_code"))
                .value("groups", of("group_count"))
                .value("top_groups", of("chosen_groups"))
                .value("group_score", of("group_score_code"))
                .value("normalise", of("normalise_code"))
                .value("scaling", of("scaling"))
                .writing(&[routes.as_str()])
                .shape(format!("{top_k} of {experts} experts per token"));
            vec![device(kind, &op.reads, &[ids, weights])]
        }
        OpKind::Experts { routes, experts, top_k, hidden, inner, clamp, .. } => {
            let (name, moe) = moes(model)
                .into_iter()
                .find(|(name, _)| moe_field(model, name, "routes") == *routes)
                .expect("experts are those of a feed-forward");
            debug_assert!(!name.is_empty());
            let stack = Stack { moe, experts: *experts, top_k: *top_k, hidden: *hidden, inner: *inner, clamp: clamp.as_ref() };
            stack.ops(op.reads[0], op.writes[0])
        }
        OpKind::SigmoidGateAdd { dim } => {
            let kind = DeviceOp::new("sigmoid_gate_add", Part::Ffn)
                .number("dim", *dim)
                .with("x", Operand::Buf(op.writes[0]))
                .with("gate", Operand::Buf(op.reads[0]))
                .with("y", Operand::Buf(op.reads[1]))
                .in_place()
                .shape(format!("{} += sigmoid({}) * [tokens, {dim}]", op.writes[0].name, op.reads[0].name));
            vec![device(kind, &op.reads, &op.writes)]
        }
        other => unreachable!("{other:?} is not about experts"),
    }
}

/// The experts of each token, and what they weigh.
fn routed(top_k: usize) -> (Buf, Buf) {
    (tokens("route_ids", top_k), tokens("route_weights", top_k))
}

/// The experts of a layer.
struct Stack<'m> {
    moe: &'m Moe,
    experts: usize,
    top_k: usize,
    hidden: usize,
    inner: usize,
    clamp: Option<&'m (String, String)>,
}

impl Stack<'_> {
    fn ops(&self, x: Buf, out: Buf) -> Vec<Op> {
        let (ids, weights) = routed(self.top_k);
        let tiles = ["expert_order", "expert_offsets", "expert_tiles"];
        let placed = |op: DeviceOp| {
            op.with("order", Operand::Work(tiles[0]))
                .with("offsets", Operand::Work(tiles[1]))
                .with("tiles", Operand::Work(tiles[2]))
        };
        let sort = placed(DeviceOp::new("expert_tiles", Part::Ffn).number("experts", self.experts).number("top_k", self.top_k))
            .with("ids", Operand::Buf(ids))
            .writing(&tiles)
            .when(When::Many)
            .shape("pairs by expert");
        let up = |op, when| {
            let (limit, alpha) = self.clamp.map_or(("0.0", "0.0"), |(limit, alpha)| (limit, alpha));
            let form = match (self.clamp, self.moe.gated) {
                (Some(_), _) => "clamped",
                (None, true) => "gated",
                (None, false) => "plain",
            };
            let bias = |which, has: bool| match self.moe.expert_bias && has {
                true => Operand::Weight(Role::Experts, which),
                false => Operand::Nothing,
            };
            self.sized(
                DeviceOp::new(op, Part::Ffn).names("format", Vec::new()).name("form", form).name("act", self.moe.act.as_str()),
            )
            .with("x", Operand::Buf(x))
            .with("stack", Operand::Weight(Role::Experts, "up"))
            .with("gate_bias", bias("gate_bias", self.moe.gated))
            .with("up_bias", bias("up_bias", true))
            .with("inner", Operand::Work("expert_inner"))
            .value("limit", limit)
            .value("alpha", alpha)
            .writing(&["expert_inner"])
            .when(when)
            .shape(format!("{}, [pairs, {}]", self.moe.act.as_str(), self.inner))
        };
        let down = |op, parts, when| {
            let bias = if self.moe.expert_bias { Operand::Weight(Role::Experts, "down_bias") } else { Operand::Nothing };
            self.sized(DeviceOp::new(op, Part::Ffn).names("format", Vec::new()))
                .with("inner", Operand::Work("expert_inner"))
                .with("stack", Operand::Weight(Role::Experts, "down"))
                .with("down_bias", bias)
                .with("parts", Operand::Work(parts))
                .reading(&["expert_inner"])
                .writing(&[parts])
                .when(when)
                .shape(format!("[pairs, {}]", self.hidden))
        };
        let sum = |rows, parts, when| {
            DeviceOp::new("experts_sum", Part::Ffn)
                .name("rows_dtype", rows)
                .name("out_dtype", dtype(out))
                .number("hidden", self.hidden)
                .number("top_k", self.top_k)
                .with("weights", Operand::Buf(weights))
                .with("ids", Operand::Buf(ids))
                .with("parts", Operand::Work(parts))
                .with("out", Operand::Buf(out))
                .reading(&[parts])
                .when(when)
                .shape(format!("[tokens, {}], the weighted sum of each token's experts", self.hidden))
        };
        let with_ids = |op: DeviceOp| op.with("ids", Operand::Buf(ids));
        vec![
            device(with_ids(up("experts_up_few", When::Few)), &[x, ids], &[]),
            device(with_ids(down("experts_down_few", "expert_parts", When::Few)), &[ids], &[]),
            device(sum("f32", "expert_parts", When::Few), &[weights, ids], &[out]),
            device(sort, &[ids], &[]),
            device(placed(up("experts_up_many", When::Many)).reading(&tiles), &[x], &[]),
            device(placed(down("experts_down_many", "expert_parts", When::Many)).reading(&tiles), &[], &[]),
            device(sum("bf16", "expert_parts", When::Many), &[weights, ids], &[out]),
        ]
    }

    fn sized(&self, op: DeviceOp) -> DeviceOp {
        op.number("hidden", self.hidden)
            .number("intermediate", self.inner)
            .number("experts", self.experts)
            .number("top_k", self.top_k)
    }
}
