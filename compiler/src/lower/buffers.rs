//! The buffers that ops name, with their lifetimes.

use super::int8;
use crate::model::Target;
use crate::program::{Buffer, Dtype, Ops, device_dtype};

/// Lists the buffers that ops name, with their lifetimes.
pub(super) fn buffers(ops: &Ops, target: Target) -> Vec<Buffer> {
    let mut found: Vec<Buffer> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        for buf in op.reads.iter().chain(&op.writes) {
            if let Some(known) = found.iter_mut().find(|b| b.buf == *buf) {
                known.live.1 = at;
                continue;
            }
            let taken = found.iter().any(|b| b.field == buf.name);
            let field = if taken { format!("{}_{}", buf.name, buf.width) } else { buf.name.to_owned() };
            let dtype = match target {
                Target::Cpu if buf.name == int8::BUFFER => Dtype::Int8,
                Target::Cpu => Dtype::F32,
                Target::Sm90a => device_dtype(buf.name),
            };
            found.push(Buffer { field, buf: *buf, dtype, live: (at, at) });
        }
    }
    found
}
