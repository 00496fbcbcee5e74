//! Linear layers over rows of int8: each row that they read is quantised once, where the first of them reads it.

use super::op;
use crate::program::{Buf, Op, OpKind, Ops};

/// The name of buffers in int8. Those of one width and as many rows are one, since nobody reads an old one again.
pub(super) const BUFFER: &str = "int8";

/// The same ops, whose linear layers read int8.
pub(super) fn ops(ops: Ops) -> Ops {
    Ops { prologue: section(ops.prologue), kinds: ops.kinds.into_iter().map(section).collect(), epilogue: section(ops.epilogue) }
}

/// One list of ops. What another list has quantised is not known here.
fn section(ops: Vec<Op>) -> Vec<Op> {
    let mut out = Vec::new();
    // What each buffer of int8 holds, while that has not changed.
    let mut held: Vec<(Buf, Buf)> = Vec::new();
    for mut op in ops {
        if let OpKind::Linear { int8, .. } = &mut op.kind {
            *int8 = true;
            let from = op.reads[0];
            let quants = Buf { name: BUFFER, ..from };
            if !held.contains(&(quants, from)) {
                out.push(quantise(from, quants));
                held.retain(|(known, _)| *known != quants);
                held.push((quants, from));
            }
            op.reads[0] = quants;
        }
        held.retain(|(_, from)| !op.writes.contains(from));
        out.push(op);
    }
    out
}

fn quantise(from: Buf, to: Buf) -> Op {
    op(OpKind::Quantise { dim: from.width }, &[from], &[to])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Role;
    use crate::lower::{linear, tokens};

    /// What each op does, in a word.
    fn words(ops: &[Op]) -> Vec<String> {
        let word = |op: &Op| match &op.kind {
            OpKind::Quantise { .. } => format!("quantise {}", op.reads[0].name),
            OpKind::Linear { int8: true, .. } => format!("{} from {}", op.writes[0].name, op.reads[0].name),
            _ => "other".to_owned(),
        };
        ops.iter().map(word).collect()
    }

    #[test]
    fn a_row_is_quantised_once_until_it_changes() {
        let (h, q, k, gate, wide) = (tokens("h", 64), tokens("q", 64), tokens("k", 32), tokens("gate", 128), tokens("wide", 64));
        let changed = op(OpKind::Add { dim: 64 }, &[q], &[h]);
        let list = vec![
            linear(Role::QProj, h, q),
            linear(Role::KProj, h, k),
            changed,
            linear(Role::QProj, h, q),
            linear(Role::GateProj, h, gate),
            linear(Role::DownProj, gate, wide),
            linear(Role::OProj, wide, q),
            linear(Role::OProj, h, q),
        ];
        assert_eq!(
            words(&section(list)),
            [
                "quantise h",
                "q from int8",
                "k from int8",
                "other",
                "quantise h",
                "q from int8",
                "gate from int8",
                "quantise gate",
                "wide from int8",
                "quantise wide",
                "q from int8",
                "quantise h",
                "q from int8",
            ]
        );
    }
}
