//! Attention over a paged cache, and over keys and values that were expanded from latents.

use tenon_core::batch::Batch;
use tenon_core::cache::PagedKv;
use tenon_core::cpu::{self, Cpu};
use tenon_core::dtype::{Bf16, Fp8E4m3, KvDtype};
use tenon_core::linear::Vector;
use tenon_core::rows::Rows;
use tenon_core::scale::SoftmaxScale;
use tenon_device_cases::{StepCase, recurrence};
use tenon_formats::StorageFormat;

use super::rows::rows_of;
use super::{Inputs, Output, dispatch, maximum, step, stored};

/// Rows that share a pass over keys.
const TILE_Q: usize = 8;

/// What attention takes.
struct Problem {
    /// Whole contexts, whose keys and values fill the cache.
    contexts: Batch,
    /// The tokens of the step.
    batch: Batch,
    page_size: usize,
    pages: usize,
    /// `[context tokens, heads * head_dim]`
    keys: Vec<f32>,
    values: Vec<f32>,
    /// `[tokens, heads * head_dim]`
    q: Vec<f32>,
    sinks: Option<Vec<f32>>,
    scale: SoftmaxScale,
    /// 0: none.
    window: usize,
    /// 0: none.
    cap: f32,
}

/// The scale as the formula that it is. `None` where it is another.
pub fn softmax_scale(value: f32) -> Option<SoftmaxScale> {
    let dims = (1.0 / f64::from(value).powi(2)).round();
    let off = (f64::from(value).powi(2) * dims - 1.0).abs();
    (off < 3e-6).then(|| SoftmaxScale::rsqrt(dims as usize, value))
}

/// Spans of one token with `decode`, else the others.
pub fn attention(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    let (step, head_dim, group) = (inputs.step()?, inputs.params.int("head_dim"), inputs.params.int("group"));
    let kv_heads = inputs.int("num_key_value_heads")?;
    let (stored, contexts) = (inputs.numbers("kv")?, step::contexts(step)?);
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (sequence, (start, tokens)) in step.spans.iter().enumerate() {
        for position in 0..start + tokens {
            let (page, place) = step.place(sequence, position);
            for head in 0..kv_heads {
                let of = |kind: usize| {
                    &stored[(((page * 2 + kind) * kv_heads + head) * step.page_size + place) * head_dim..][..head_dim]
                };
                keys.extend_from_slice(of(0));
                values.extend_from_slice(of(1));
            }
        }
    }
    let mut q = inputs.numbers("q")?;
    q.truncate(step.tokens() * kv_heads * group * head_dim);
    let problem = Problem {
        contexts,
        batch: step::batch(step)?,
        page_size: step.page_size,
        pages: step.pages,
        keys,
        values,
        q,
        sinks: inputs.numbers("sinks"),
        scale: softmax_scale(inputs.float("scale")?)?,
        window: inputs.int("window")?,
        cap: inputs.float("soft_cap")?,
    };
    let fp8 = inputs.params.name("kv_dtype") == "fp8_e4m3";
    let cpu = &inputs.cpu;
    let out = dispatch!((kv_heads, group, head_dim), (KV, G, D) => if fp8 {
        problem.attend::<{ KV * G }, KV, D, { KV * G * D }, { KV * D }, Fp8E4m3>(cpu)
    } else {
        problem.attend::<{ KV * G }, KV, D, { KV * G * D }, { KV * D }, Bf16>(cpu)
    };
        (2, 1, 64) (2, 4, 64) (2, 8, 64) (2, 1, 128) (2, 4, 128) (2, 8, 128) (2, 16, 128) (2, 32, 128) (2, 2, 80) (2, 2, 96)
        (2, 2, 256) (2, 3, 8) (2, 3, 24) (2, 3, 72) (2, 2, 64) (2, 3, 64) (2, 2, 128) (2, 4, 256) (2, 8, 256) (2, 16, 256))?;
    let width = kv_heads * group * head_dim;
    Some(vec![of_served(step, decode, &out, width, head_dim, "out")])
}

/// The rows of one kind of spans. A score is a sum over a head, and the output one over the context.
pub fn of_served(step: &StepCase, decode: bool, out: &[f32], width: usize, head_dim: usize, arg: &'static str) -> Output {
    let most = maximum(out);
    let mut elements = vec![(f64::NAN, 0.0); step.rows * width];
    for row in 0..step.tokens() {
        let Some((sequence, position)) = step.row(row) else { continue };
        if (step.spans[sequence].1 == 1) != decode {
            continue;
        }
        for (element, &value) in elements[row * width..][..width].iter_mut().zip(&out[row * width..][..width]) {
            let value = f64::from(value);
            *element = (value, recurrence(position + 1 + head_dim, value, most));
        }
    }
    Output::bounded(arg, elements)
}

impl Problem {
    fn attend<const HEADS: usize, const KV_HEADS: usize, const D: usize, const Q: usize, const KV: usize, T: KvDtype>(
        &self,
        cpu: &Cpu,
    ) -> Option<Vec<f32>> {
        let mut kv = PagedKv::<T, KV_HEADS, D>::new(self.pages, self.page_size);
        kv.append::<KV>(cpu, &rows_of(&self.keys), &rows_of(&self.values), &self.contexts);
        let q = rows_of::<Q>(&self.q);
        let mut out = Rows::with_capacity(q.rows());
        let (scale, batch) = (self.scale, &self.batch);
        let window = (self.window > 0).then_some(self.window);
        match (&self.sinks, self.cap > 0.0, window) {
            // No model has both, and no kernel of the CPU.
            (Some(_), true, _) => return None,
            (Some(sinks), false, window) => {
                let sinks = Vector::decode(StorageFormat::F32, &stored(sinks)).ok()?;
                cpu::sink_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, &q, &kv, scale, &sinks, window, batch, &mut out);
            }
            (None, true, window) => {
                cpu::softcap_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, &q, &kv, scale, self.cap, window, batch, &mut out);
            }
            (None, false, Some(window)) => {
                cpu::sliding_attention::<TILE_Q, HEADS, _, _, _, _>(cpu, &q, &kv, scale, window, batch, &mut out);
            }
            (None, false, None) => cpu::attention::<TILE_Q, HEADS, _, _, _, _>(cpu, &q, &kv, scale, batch, &mut out),
        }
        Some(out.as_slice().to_vec())
    }
}

/// Attention over the expanded keys and values of some spans and heads: ordinary attention, whose values are shorter than keys.
pub fn expanded(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (step, v) = (inputs.step()?, inputs.params.int("v_head_dim"));
    let key = inputs.params.int("qk_nope_head_dim") + inputs.params.int("qk_rope_head_dim");
    let (all_heads, heads, first_head) =
        (inputs.int("num_attention_heads")?, inputs.int("heads_of_pass")?, inputs.int("first_head")?);
    let (context_rows, first_span, spans) =
        (inputs.int("context_rows")?, inputs.int("first_span")?, inputs.int("spans_of_pass")?);
    let decode = inputs.params.name("phase") != "prefill";
    let served = if decode { step.decode() } else { step.prefill() };
    let served = &served[first_span..][..spans];
    // A step of the served spans alone, whose contexts lie one after the other as in the arguments.
    let own = StepCase::new(64, &served.iter().map(|&s| step.spans[s]).collect::<Vec<_>>(), 1);
    let (of_keys, of_values, of_queries) = (inputs.numbers("keys")?, inputs.numbers("values")?, inputs.numbers("q")?);
    let (mut keys, mut values, mut q) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..own.spans.iter().map(|(start, tokens)| start + tokens).sum() {
        for head in 0..heads {
            let at = head * context_rows + row;
            keys.extend_from_slice(&of_keys[at * key..][..key]);
            values.extend_from_slice(&of_values[at * v..][..v]);
            values.resize(values.len() + key - v, 0.0);
        }
    }
    let first = step.first();
    let rows: Vec<usize> = served.iter().flat_map(|&s| first[s]..first[s] + step.spans[s].1).collect();
    for row in &rows {
        q.extend_from_slice(&of_queries[(row * all_heads + first_head) * key..][..heads * key]);
    }
    let problem = Problem {
        contexts: step::contexts(&own)?,
        batch: step::batch(&own)?,
        page_size: own.page_size,
        pages: own.pages,
        keys,
        values,
        q,
        sinks: None,
        scale: softmax_scale(inputs.float("scale")?)?,
        window: 0,
        cap: 0.0,
    };
    let cpu = &inputs.cpu;
    let out = dispatch!((heads, key), (H, D) => problem.attend::<H, H, D, { H * D }, { H * D }, Bf16>(cpu);
        (1, 64) (2, 64) (1, 192) (2, 192))?;
    let most = maximum(&out);
    let mut elements = vec![(f64::NAN, 0.0); step.rows * all_heads * v];
    for (own_row, &row) in rows.iter().enumerate() {
        let seen = own.row(own_row)?.1 + 1;
        for head in 0..heads {
            let to = &mut elements[(row * all_heads + first_head + head) * v..][..v];
            for (to, &value) in to.iter_mut().zip(&out[(own_row * heads + head) * key..][..v]) {
                *to = (f64::from(value), recurrence(seen + key, f64::from(value), most));
            }
        }
    }
    Some(vec![Output::bounded("attn", elements)])
}
