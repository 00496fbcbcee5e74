//! Every model of the UI tests' bases passes; each way to break a program is refused.

use std::path::Path;

use super::*;
use crate::model::{Model, Target};
use crate::program::{Ops, RowsOf};
use crate::{driver, lower, models};

fn bases() -> Vec<Model> {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/base");
    let sources = driver::read(&ui, "model-specs", "kernel-templates").unwrap();
    models(&sources).unwrap_or_else(|_| panic!("the bases pass check"))
}

fn model(name: &str) -> Model {
    bases().into_iter().find(|model| model.name == name).unwrap()
}

/// What is wrong with a program after `break_it`.
fn broken(model: &Model, break_it: impl FnOnce(&mut Program<'_>)) -> Vec<String> {
    let mut program = lower::lower(model, model.targets[0]);
    break_it(&mut program);
    verify(&program).iter().map(Fault::to_string).collect()
}

fn buffer<'p>(program: &'p mut Program<'_>, field: &str) -> &'p mut Buffer {
    program.buffers.iter_mut().find(|buffer| buffer.field == field).unwrap()
}

/// Removes the first op of the first kind of block that this holds for.
fn remove(ops: &mut Ops, is_it: impl Fn(&Op) -> bool) {
    let block = ops.kinds.iter_mut().find(|block| block.iter().any(&is_it)).unwrap();
    let at = block.iter().position(is_it).unwrap();
    block.remove(at);
}

fn writes(op: &Op, name: &str) -> bool {
    op.writes.iter().any(|buf| buf.name == name)
}

/// Gives a program the lifetimes of its ops, as the lowering does.
fn live_again(program: &mut Program<'_>) {
    for buffer in &mut program.buffers {
        let touches = |op: &&Op| op.reads.iter().chain(&op.writes).any(|buf| *buf == buffer.buf);
        let at: Vec<usize> = program.ops.iter().enumerate().filter(|(_, op)| touches(op)).map(|(at, _)| at).collect();
        if let (Some(first), Some(last)) = (at.first(), at.last()) {
            buffer.live = (*first, *last);
        }
    }
}

#[test]
fn every_base_is_right() {
    let models = bases();
    assert!(models.len() > 10 && models.iter().any(|model| model.targets.contains(&Target::Sm90a)));
    for model in &models {
        for target in &model.targets {
            assert_eq!(verify(&lower::lower(model, *target)), [], "{}", model.name);
        }
    }
}

#[test]
fn nothing_is_read_before_it_is_written() {
    let llama = model("llama");
    let without = |is_it: fn(&Op) -> bool| {
        broken(&llama, |program| {
            remove(&mut program.ops, is_it);
            live_again(program);
        })
    };
    assert_eq!(without(|op| writes(op, "q")), ["op 5 reads `q` before it is written"]);
    assert_eq!(without(|op| matches!(op.kind, OpKind::KvAppend { .. })), ["op 8 reads `cache` before it is written"]);
    let no_angles = broken(&llama, |program| {
        program.ops.prologue.retain(|op| !matches!(op.kind, OpKind::RopeAngles { .. }));
        live_again(program);
    });
    assert_eq!(no_angles, ["op 5 reads `angles` before it is written", "op 6 reads `angles` before it is written"]);
    // A projection that adds to what is there finds what an earlier layer left there.
    let adds = broken(&llama, |program| {
        let op = program.ops.kinds[0].iter_mut().find(|op| writes(op, "k")).unwrap();
        let OpKind::Linear { accumulate, .. } = &mut op.kind else { panic!("k is projected") };
        *accumulate = true;
    });
    assert_eq!(adds, ["op 4 reads `k` before it is written"]);
}

#[test]
fn a_block_reads_nothing_of_another_block() {
    let hybrid = model("nemotron_h");
    let mut program = lower::lower(&hybrid, Target::Cpu);
    // The second kind reads what the first wrote: it would be that of some earlier layer, or of none.
    let left =
        program.ops.kinds[0].iter().flat_map(|op| &op.writes).find(|buf| buf.name != "x" && buf.name != "h").copied().unwrap();
    assert!(program.ops.kinds[1].iter().all(|op| !op.writes.contains(&left)));
    let at = program.ops.prologue.len() + program.ops.kinds[0].len();
    program.ops.kinds[1][0].reads.push(left);
    live_again(&mut program);
    let faults: Vec<String> = verify(&program).iter().map(Fault::to_string).collect();
    assert_eq!(faults, [format!("op {at} reads `{}` before it is written", left.name)]);
}

#[test]
fn both_forms_of_an_attention_are_needed() {
    let latent = model("deepseek_v3");
    let without = |phase: Phase| {
        broken(&latent, |program| {
            for block in &mut program.ops.kinds {
                block.retain(|op| op.kind.phase() != Some(phase));
            }
            live_again(program);
        })
    };
    let (decode, prefill) = (without(Phase::Decode), without(Phase::Prefill));
    assert!(!decode.is_empty() && !prefill.is_empty());
    assert!(decode.iter().all(|fault| fault.ends_with("reads all rows of `attn`, of which spans of one token are not written")));
    assert!(
        prefill.iter().all(|fault| fault.ends_with("reads all rows of `attn`, of which spans of several tokens are not written"))
    );
}

#[test]
fn nothing_is_touched_outside_of_its_lifetime() {
    let llama = model("llama");
    let early = broken(&llama, |program| buffer(program, "q").live.1 -= 1);
    assert_eq!(early, ["op 9 touches `q`, which lives in ops 3..=8"]);
    let late = broken(&llama, |program| buffer(program, "q").live.0 += 1);
    assert_eq!(late, ["op 3 touches `q`, which lives in ops 4..=9"]);
    let unlisted = broken(&llama, |program| program.buffers.retain(|buffer| buffer.field != "v"));
    assert_eq!(unlisted.first().unwrap(), "op 5 names `v`, which is no buffer of the program");
}

#[test]
fn what_all_layers_read_lives_through_all_layers() {
    let hybrid = model("nemotron_h");
    // The residual stream is released after the first kind of block, and the ops behind do not read it.
    let mut program = lower::lower(&hybrid, Target::Cpu);
    let end = program.ops.prologue.len() + program.ops.kinds[0].len() - 1;
    for op in program.ops.kinds.iter_mut().skip(1).flatten().chain(&mut program.ops.epilogue) {
        op.reads.retain(|buf| buf.name != "x");
        op.writes.retain(|buf| buf.name != "x");
    }
    buffer(&mut program, "x").live.1 = end;
    let faults: Vec<String> = verify(&program).iter().map(Fault::to_string).collect();
    assert!(faults.contains(&format!("op {end} reads `x` in every layer, and its lifetime of ops 0..={end} ends within them")));
}

#[test]
fn live_buffers_share_no_memory() {
    let llama = model("llama");
    let shared = broken(&llama, |program| buffer(program, "v").field = "k".to_owned());
    assert_eq!(shared, ["op 5 touches `k[144]`, which shares memory with `v[144]` while both are live"]);
    // Of two whose lifetimes do not meet, one may have the memory of the other.
    let apart = broken(&llama, |program| buffer(program, "gate").field = "q".to_owned());
    assert_eq!(apart, [""; 0]);
    let touching = broken(&llama, |program| {
        let end = buffer(program, "q").live.1;
        let gate = buffer(program, "gate");
        gate.field = "q".to_owned();
        gate.live.0 = end;
    });
    assert_eq!(touching.len(), 1);
}

#[test]
fn an_op_does_not_read_its_output() {
    let llama = model("llama");
    let in_place = broken(&llama, |program| {
        let op = program.ops.kinds[0].iter_mut().find(|op| writes(op, "h")).unwrap();
        op.reads = op.writes.clone();
    });
    assert!(in_place.contains(&"op 2 reads `h` and writes it as another buffer".to_owned()), "{in_place:?}");
}

#[test]
fn rows_of_tokens_and_of_logits_are_two_buffers() {
    let llama = model("llama");
    let faults = broken(&llama, |program| {
        let gather = program.ops.epilogue.iter_mut().find(|op| matches!(op.kind, OpKind::GatherLogitRows { .. })).unwrap();
        gather.writes[0].rows = RowsOf::Tokens;
    });
    assert!(faults.iter().any(|fault| fault.ends_with("names `last`, which is no buffer of the program")), "{faults:?}");
}
