//! Measures the CPU kernels: `cargo run --release -p tenon-core --example kernels [threads] [isa]`.
//!
//! First a product in each storage format, of a shape that all of them can have; then the steps of SmolLM2-135M.

use std::time::Instant;

use tenon_core::batch::{Batch, BatchLimits, PageId, WantLogits};
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{Cpu, Isa, attention, physical_threads, rms_norm, rope, silu_mul};
use tenon_core::dtype::F32;
use tenon_core::linear::{Int8Rows, Linear, Norm, RowOrder};
use tenon_core::rope::{Halves, Rope, RopeAngles, RopeScaling};
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;
use tenon_formats::StorageFormat;

const LAYERS: usize = 30;
const PROMPT: usize = 401;
const TILE: usize = 6;
const TILE_Q: usize = 16;

fn main() {
    let mut args = std::env::args().skip(1);
    let threads = args.next().map_or(physical_threads(), |t| t.parse().expect("a number of threads"));
    let isa = args.next().map_or(Isa::detect(), |isa| isa.parse().unwrap_or_else(|e| panic!("{e}")));
    let cpu = Cpu::new(threads, isa).unwrap_or_else(|e| panic!("{e}"));
    println!("{threads} threads, {isa}");
    fork_join(&cpu);
    for format in StorageFormat::ALL {
        product::<1536, 768>(&cpu, format);
    }
    step(&cpu);
}

/// Seconds of the fastest of some runs, after one to warm up.
fn fastest(runs: usize, mut run: impl FnMut()) -> f64 {
    run();
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

fn fork_join(cpu: &Cpu) {
    let jobs = 10_000;
    let seconds = fastest(5, || (0..jobs).for_each(|_| cpu.run(cpu.threads(), |_| ())));
    println!("fork and join: {:.2} us", seconds / f64::from(jobs) * 1e6);
}

/// Deterministic bytes that are small numbers in every format.
fn weights(format: StorageFormat, rows: usize, inputs: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let mut bytes: Vec<u8> = (0..format.row_bytes(inputs).expect("whole blocks") * rows).map(|_| next()).collect();
    // The high byte of every float: f16 scales of about 0.01, f32 and bf16 of about 0.1.
    let (highs, high): (Vec<usize>, u8) = match format {
        StorageFormat::F32 => (vec![3], 0x3d),
        StorageFormat::Bf16 => (vec![1], 0x3d),
        StorageFormat::F16 => (vec![1], 0x21),
        quantised => (quantised.scales().iter().map(|at| at + 1).collect(), 0x21),
    };
    for block in bytes.chunks_mut(format.block_bytes()) {
        highs.iter().for_each(|&at| block[at] = high | block[at] & 0x80);
    }
    bytes
}

fn linear<const OUT: usize, const IN: usize>(cpu: &Cpu, format: StorageFormat, seed: u64) -> Linear<OUT, IN> {
    Linear::pack(cpu, format, &weights(format, OUT, IN, seed), RowOrder::Stored).expect("the bytes of the shape")
}

fn rows<const D: usize>(count: usize) -> Rows<f32, D> {
    let mut rows = Rows::with_capacity(PROMPT);
    rows.set_rows(count);
    for (i, x) in rows.as_mut_slice().iter_mut().enumerate() {
        *x = ((i * 7919 % 1000) as f32 - 500.0) / 500.0;
    }
    rows
}

/// Enough copies of one matrix that they come from memory, as they do in a model; with rows of f32 and of int8 in turns.
fn product<const OUT: usize, const IN: usize>(cpu: &Cpu, format: StorageFormat) {
    let one = linear::<OUT, IN>(cpu, format, 1).bytes();
    let copies = (100usize << 20).div_ceil(one);
    let matrices: Vec<Linear<OUT, IN>> = (0..copies).map(|i| linear(cpu, format, i as u64 + 1)).collect();
    let mut out = Rows::with_capacity(PROMPT);
    let mut quants = Int8Rows::with_capacity(PROMPT);
    for count in [1, 2, 4, 8, 64, PROMPT] {
        let x = rows::<IN>(count);
        let used = copies.min(3000 / count).max(4);
        let (mut of_f32, mut of_int8) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            of_f32 = of_f32.min(fastest(1, || matrices[..used].iter().for_each(|m| m.forward::<TILE>(cpu, &x, &mut out))));
            of_int8 = of_int8.min(fastest(1, || {
                for m in &matrices[..used] {
                    quants.quantise(cpu, &x);
                    m.forward_int8(cpu, &quants, &mut out);
                }
            }));
        }
        let macs = (used * count * OUT * IN) as f64;
        println!(
            "{format:>5} [{OUT}, {IN}] x {count:>3} rows: f32 {:6.1} GB/s {:7.1} GMAC/s, int8 {:6.1} GB/s {:7.1} GMAC/s, ratio {:.2}",
            (used * one) as f64 / of_f32 / 1e9,
            macs / of_f32 / 1e9,
            (used * one) as f64 / of_int8 / 1e9,
            macs / of_int8 / 1e9,
            of_f32 / of_int8,
        );
    }
}

struct Layer {
    norm: [Norm<576>; 2],
    q: Linear<576, 576>,
    k: Linear<192, 576>,
    v: Linear<192, 576>,
    o: Linear<576, 576>,
    gate: Linear<1536, 576>,
    up: Linear<1536, 576>,
    down: Linear<576, 1536>,
    kv: PagedKv<F32, 3, 64>,
}

/// Time per kind of operation over a whole step.
#[derive(Default)]
struct Times(Vec<(&'static str, f64)>);

impl Times {
    fn of(&mut self, what: &'static str, run: impl FnOnce()) {
        let start = Instant::now();
        run();
        let seconds = start.elapsed().as_secs_f64();
        match self.0.iter_mut().find(|(w, _)| *w == what) {
            Some((_, total)) => *total += seconds,
            None => self.0.push((what, seconds)),
        }
    }
}

fn step(cpu: &Cpu) {
    let norm = || {
        let bytes: Vec<u8> = (0..576).flat_map(|_| 1f32.to_le_bytes()).collect();
        Norm::<576>::decode(StorageFormat::F32, &bytes).expect("the bytes of the shape")
    };
    let limits = BatchLimits {
        vocab_size: 1,
        max_positions: 1024,
        page_size: 64,
        pages: 16,
        state_slots: 0,
        max_tokens: PROMPT,
        max_logit_rows: 1,
    };
    let q4 = StorageFormat::Q4_1;
    let mut layers: Vec<Layer> = (0..LAYERS as u64)
        .map(|i| Layer {
            norm: [norm(), norm()],
            q: linear(cpu, q4, 10 * i + 1),
            k: linear(cpu, q4, 10 * i + 2),
            v: linear(cpu, q4, 10 * i + 3),
            o: linear(cpu, q4, 10 * i + 4),
            gate: linear(cpu, q4, 10 * i + 5),
            up: linear(cpu, q4, 10 * i + 6),
            down: linear(cpu, q4, 10 * i + 7),
            kv: PagedKv::new(limits.pages, limits.page_size),
        })
        .collect();
    let start = Instant::now();
    let head = linear::<49152, 576>(cpu, StorageFormat::Q8_0, 9);
    println!("drew and packed the head in {:.3} s", start.elapsed().as_secs_f64());
    let mut angles = RopeAngles::<64, Halves>::new(&Rope::new(10_000.0, RopeScaling::None), PROMPT);
    let mut s =
        (rows::<576>(0), rows::<192>(0), rows::<192>(0), rows::<1536>(0), rows::<1536>(0), rows::<576>(0), rows::<576>(0));
    let mut logits = Rows::with_capacity(1);
    let mut batch = Batch::new(limits);
    for (what, tokens, start) in [("prompt", PROMPT, 0), ("decode", 1, PROMPT)] {
        let pages: Vec<PageId> = (0..(start + tokens).div_ceil(64) as u32).map(PageId).collect();
        batch.clear();
        batch.push(&vec![0; tokens], start, &pages, None, WantLogits::Last).expect("a batch within the limits");
        let mut best = (f64::INFINITY, Times::default());
        for _ in 0..if tokens == 1 { 50 } else { 3 } {
            let mut t = Times::default();
            let begin = Instant::now();
            let mut x = rows::<576>(tokens);
            let (q, k, v, gate, up, h, attn) = (&mut s.0, &mut s.1, &mut s.2, &mut s.3, &mut s.4, &mut s.5, &mut s.6);
            angles.fill(&batch);
            for layer in &mut layers {
                t.of("norm", || rms_norm(cpu, &x, &layer.norm[0], 1e-5, h));
                t.of("qkv", || {
                    layer.q.forward::<TILE>(cpu, h, q);
                    layer.k.forward::<TILE>(cpu, h, k);
                    layer.v.forward::<TILE>(cpu, h, v);
                });
                t.of("rope", || {
                    rope::<64, _, _, _>(cpu, q, &angles);
                    rope::<64, _, _, _>(cpu, k, &angles);
                });
                t.of("append", || layer.kv.append(cpu, k, v, &batch));
                let scale = SoftmaxScale::rsqrt(64, 0.125);
                t.of("attention", || attention::<TILE_Q, 9, 3, 64, 576, F32>(cpu, q, &layer.kv, scale, &batch, attn));
                t.of("o", || layer.o.forward_add::<TILE>(cpu, attn, &mut x));
                t.of("norm", || rms_norm(cpu, &x, &layer.norm[1], 1e-5, h));
                t.of("gate, up", || {
                    layer.gate.forward::<TILE>(cpu, h, gate);
                    layer.up.forward::<TILE>(cpu, h, up);
                });
                t.of("silu", || silu_mul(cpu, gate, up));
                t.of("down", || layer.down.forward_add::<TILE>(cpu, gate, &mut x));
            }
            h.set_rows(1);
            h.row_mut(0).copy_from_slice(x.row(tokens - 1));
            t.of("head", || head.forward::<TILE>(cpu, h, &mut logits));
            let seconds = begin.elapsed().as_secs_f64();
            if seconds < best.0 {
                best = (seconds, t);
            }
        }
        println!("{what}: {tokens} tokens in {:.2} ms, {:.1} tok/s", best.0 * 1e3, tokens as f64 / best.0);
        for (what, seconds) in best.1.0 {
            println!("  {what:<10} {:8.3} ms", seconds * 1e3);
        }
    }
}
