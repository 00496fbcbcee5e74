//! Whether a program uses its memory rightly: everything is written before it is read, nothing is touched before its lifetime begins or
//! after it ends, and no two buffers that live at the same time share memory.
//!
//! `check` refuses specs, and this refuses programs: a fault here is a mistake of the lowering, never of a spec. It is looked for in
//! every program, because what it would cost is silent: an op reads what another layer, or another request, left behind.
//!
//! A lifetime is a range over [`Ops::iter`], which lists each kind of block once, while the layers of a step run through the kinds in
//! any order. Ranges that do not meet are therefore proof of no conflict only because a block leaves nothing behind: what it reads it
//! has written itself, or it is carried through all layers, from before the first to after the last.

use std::fmt;

use super::{Buf, Buffer, Op, OpKind, Phase, Program};

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The op, counted over [`Ops::iter`](super::Ops::iter).
    pub at: usize,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// What is wrong with an op, or with the buffers that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It names a buffer that the program does not list, so that nothing would allocate it.
    Unlisted(&'static str),
    /// It reads what no earlier op of its block, nor any before the layers, has written.
    Unwritten(String),
    /// It reads all rows where only spans of this phase were written.
    WrittenIn(String, Phase),
    /// It is outside of the lifetime of what it touches: another buffer may have the memory.
    Outside(String, (usize, usize)),
    /// It reads in a layer what was written before the layers, and the lifetime ends within them.
    NotCarried(String, (usize, usize)),
    /// It touches the first of two buffers that share memory and live at the same time.
    Aliased(String, String),
    /// It reads and writes the same buffer as if they were two.
    ReadsItsOutput(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op {} ", self.at)?;
        match &self.kind {
            FaultKind::Unlisted(name) => write!(f, "names `{name}`, which is no buffer of the program"),
            FaultKind::Unwritten(name) => write!(f, "reads `{name}` before it is written"),
            FaultKind::WrittenIn(name, Phase::Prefill) => {
                write!(f, "reads all rows of `{name}`, of which spans of one token are not written")
            }
            FaultKind::WrittenIn(name, Phase::Decode) => {
                write!(f, "reads all rows of `{name}`, of which spans of several tokens are not written")
            }
            FaultKind::Outside(name, (first, last)) => write!(f, "touches `{name}`, which lives in ops {first}..={last}"),
            FaultKind::NotCarried(name, (first, last)) => {
                write!(f, "reads `{name}` in every layer, and its lifetime of ops {first}..={last} ends within them")
            }
            FaultKind::Aliased(a, b) => write!(f, "touches `{a}`, which shares memory with `{b}` while both are live"),
            FaultKind::ReadsItsOutput(name) => write!(f, "reads `{name}` and writes it as another buffer"),
        }
    }
}

/// What an op can read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'p> {
    Buffer(Buf),
    /// Cosines and sines of a rotation.
    Angles(&'p str),
    /// The experts of each token.
    Routes(&'p str),
    /// Keys and values, or latents, of the layer.
    Cache,
    /// What kernels of a device hand on to each other.
    Named(&'p str),
}

/// What has been written, and in spans of which phase: `None` is both.
type Written<'p> = Vec<(Place<'p>, Option<Phase>)>;

/// Everything that is wrong with the memory of a program; nothing, if the lowering is right.
pub fn verify(program: &Program<'_>) -> Vec<Fault> {
    let mut found = Vec::new();
    lifetimes(program, &mut found);
    aliases(program, &mut found);
    order(program, &mut found);
    found.sort_by_key(|fault| fault.at);
    found
}

/// Every buffer that is touched is listed, and lives then.
fn lifetimes(program: &Program<'_>, found: &mut Vec<Fault>) {
    for (at, op) in program.ops.iter().enumerate() {
        for buf in op.reads.iter().chain(&op.writes) {
            match listed(program, buf) {
                None => found.push(Fault { at, kind: FaultKind::Unlisted(buf.name) }),
                Some(buffer) if at < buffer.live.0 || at > buffer.live.1 => {
                    found.push(Fault { at, kind: FaultKind::Outside(buffer.field.clone(), buffer.live) });
                }
                Some(_) => {}
            }
        }
        for buf in op.writes.iter().filter(|buf| op.reads.contains(buf)) {
            found.push(Fault { at, kind: FaultKind::ReadsItsOutput(name(program, buf)) });
        }
    }
}

/// No two buffers that are live at the same time have the same memory, which is a field of the generated scratch.
fn aliases(program: &Program<'_>, found: &mut Vec<Fault>) {
    for (i, a) in program.buffers.iter().enumerate() {
        for b in &program.buffers[i + 1..] {
            let together = a.live.0.max(b.live.0);
            if a.field == b.field && together <= a.live.1.min(b.live.1) {
                let shown = |b: &Buffer| format!("{}[{}]", b.buf.name, b.buf.width);
                found.push(Fault { at: together, kind: FaultKind::Aliased(shown(a), shown(b)) });
            }
        }
    }
}

/// Everything is written before it is read: before the layers, or earlier in the same block.
fn order(program: &Program<'_>, found: &mut Vec<Fault>) {
    let ops = &program.ops;
    let mut carried = Written::new();
    section(program, &ops.prologue, 0, &mut carried, found);
    let mut at = ops.prologue.len();
    let layers_end = at + ops.kinds.iter().map(Vec::len).sum::<usize>();
    for kind in &ops.kinds {
        let mut own = carried.clone();
        section(program, kind, at, &mut own, found);
        for (at, op) in (at..).zip(kind) {
            for buffer in op.reads.iter().chain(&op.writes).filter_map(|buf| listed(program, buf)) {
                let is_carried = carried.iter().any(|(place, _)| *place == Place::Buffer(buffer.buf));
                if is_carried && buffer.live.1 + 1 < layers_end {
                    found.push(Fault { at, kind: FaultKind::NotCarried(buffer.field.clone(), buffer.live) });
                }
            }
        }
        at += kind.len();
    }
    section(program, &ops.epilogue, at, &mut carried, found);
}

fn section<'p>(program: &Program<'_>, ops: &'p [Op], first: usize, written: &mut Written<'p>, found: &mut Vec<Fault>) {
    for (at, op) in (first..).zip(ops) {
        let phase = op.kind.phase();
        let mut reads: Vec<Place<'p>> = op.reads.iter().copied().map(Place::Buffer).chain(read_beside(&op.kind)).collect();
        if op.kind.is_in_place() {
            let changed = if matches!(op.kind, OpKind::Device(_)) { 1 } else { op.writes.len() };
            reads.extend(op.writes.iter().take(changed).copied().map(Place::Buffer));
        }
        for place in reads {
            let of = || match place {
                Place::Buffer(buf) => name(program, &buf),
                Place::Angles(field) | Place::Routes(field) | Place::Named(field) => field.to_owned(),
                Place::Cache => "cache".to_owned(),
            };
            let known: Vec<Option<Phase>> =
                written.iter().filter(|(known, _)| *known == place).map(|(_, phase)| *phase).collect();
            let has = |phase: Phase| known.iter().any(|known| known.is_none_or(|known| known == phase));
            let kind = match phase {
                _ if known.is_empty() => FaultKind::Unwritten(of()),
                None if !has(Phase::Decode) => FaultKind::WrittenIn(of(), Phase::Prefill),
                None if !has(Phase::Prefill) => FaultKind::WrittenIn(of(), Phase::Decode),
                Some(phase) if !has(phase) => FaultKind::Unwritten(of()),
                _ => continue,
            };
            found.push(Fault { at, kind });
        }
        let writes = op.writes.iter().copied().map(Place::Buffer).chain(written_beside(&op.kind));
        written.extend(writes.map(|place| (place, phase)));
    }
}

fn read_beside(kind: &OpKind) -> Vec<Place<'_>> {
    match kind {
        OpKind::Rope { rope, .. } => vec![Place::Angles(rope)],
        OpKind::Attention { .. } | OpKind::Mla { .. } => vec![Place::Cache],
        OpKind::Experts { routes, .. } => vec![Place::Routes(routes)],
        OpKind::Device(op) => op.reads.iter().map(|name| Place::Named(name)).collect(),
        _ => Vec::new(),
    }
}

fn written_beside(kind: &OpKind) -> Vec<Place<'_>> {
    match kind {
        OpKind::RopeAngles { rope, .. } => vec![Place::Angles(rope)],
        OpKind::KvAppend { .. } | OpKind::LatentAppend { .. } => vec![Place::Cache],
        OpKind::Route { routes, .. } => vec![Place::Routes(routes)],
        OpKind::Device(op) => op.writes.iter().map(|name| Place::Named(name)).collect(),
        _ => Vec::new(),
    }
}

fn listed<'p>(program: &'p Program<'_>, buf: &Buf) -> Option<&'p Buffer> {
    program.buffers.iter().find(|buffer| buffer.buf == *buf)
}

fn name(program: &Program<'_>, buf: &Buf) -> String {
    listed(program, buf).map_or_else(|| buf.name.to_owned(), |buffer| buffer.field.clone())
}

#[cfg(test)]
mod tests;
