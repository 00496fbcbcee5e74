//! Latent attention in its parts: products with the two halves of the projection, and attention over latents.

use tenon_core::cache::LatentCache;
use tenon_core::cpu::{self, Absorbed, Cpu};
use tenon_core::dtype::{Bf16, Fp8E4m3, KvDtype};
use tenon_core::linear::LatentUp;
use tenon_core::rows::Rows;
use tenon_device_cases::StepCase;
use tenon_formats::StorageFormat;

use super::attend::{of_served, softmax_scale};
use super::product::{Bounded, Matrix};
use super::rows::rows_of;
use super::{Inputs, Output, dispatch, step};

/// True where a kernel of this phase serves a row.
fn serves(inputs: &Inputs<'_>, step: &StepCase, row: usize) -> bool {
    let Some((sequence, _)) = step.row(row) else { return false };
    match inputs.params.name("phase") {
        "prefill" => step.spans[sequence].1 > 1,
        "decode" => step.spans[sequence].1 == 1,
        _ => true,
    }
}

/// Each head's product with its matrix: `from` elements of `stride` at each head of each row that is served, to `to` elements of
/// `width`.
fn by_head(
    inputs: &Inputs<'_>,
    x: &[f32],
    (from, stride): (usize, usize),
    (to, width): (usize, usize),
    matrix: impl Fn(usize) -> Matrix,
) -> Option<Vec<Bounded>> {
    let (step, heads) = (inputs.step()?, inputs.int("num_attention_heads")?);
    let rows: Vec<usize> = (0..step.rows).filter(|&row| serves(inputs, step, row)).collect();
    let mut out = vec![(f64::NAN, 0.0); step.rows * heads * width];
    for head in 0..heads {
        let of_head: Vec<f32> = rows.iter().flat_map(|row| x[(row * heads + head) * stride..][..from].iter().copied()).collect();
        let product = matrix(head).product(&inputs.cpu, &of_head)?;
        for (row, product) in rows.iter().zip(product.chunks_exact(to)) {
            out[(row * heads + head) * width..][..to].copy_from_slice(product);
        }
    }
    Some(out)
}

/// `K^T q` of each head, and the rotated part as it was.
pub fn absorb(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (nope, rope, rank) =
        (inputs.params.int("qk_nope_head_dim"), inputs.params.int("qk_rope_head_dim"), inputs.params.int("kv_lora_rank"));
    let (q, w_k) = (inputs.numbers("q")?, inputs.numbers("w_k")?);
    let transposed = |head: usize| {
        let of_head = &w_k[head * nope * rank..][..nope * rank];
        Matrix::of_bf16((0..rank * nope).map(|i| of_head[i % nope * rank + i / nope]), rank, nope)
    };
    let mut out = by_head(inputs, &q, (nope, nope + rope), (rank, rank + rope), transposed)?;
    for (out, q) in out.chunks_exact_mut(rank + rope).zip(q.chunks_exact(nope + rope)) {
        if !out[0].0.is_nan() {
            out[rank..].iter_mut().zip(&q[nope..]).for_each(|(out, q)| *out = (f64::from(*q), 0.0));
        }
    }
    Some(vec![Output::bounded("q_latent", out)])
}

/// `V o` of each head.
pub fn up(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (rank, v) = (inputs.params.int("kv_lora_rank"), inputs.params.int("v_head_dim"));
    let (o, w_v) = (inputs.numbers("o_latent")?, inputs.numbers("w_v")?);
    let of_head = |head: usize| Matrix::of_bf16(w_v[head * v * rank..][..v * rank].iter().copied(), v, rank);
    Some(vec![Output::bounded("attn", by_head(inputs, &o, (rank, rank), (v, v), of_head)?)])
}

/// Keys and values of whole contexts.
pub fn expand(inputs: &Inputs<'_>) -> Option<Vec<Output>> {
    let (nope, rope, v, rank) = (
        inputs.params.int("qk_nope_head_dim"),
        inputs.params.int("qk_rope_head_dim"),
        inputs.params.int("v_head_dim"),
        inputs.params.int("kv_lora_rank"),
    );
    let (step, cache) = (inputs.step()?, inputs.numbers("cache")?);
    let (w_k, w_v) = (inputs.numbers("w_k")?, inputs.numbers("w_v")?);
    let (heads, first_head, context_rows) =
        (inputs.int("heads_of_pass")?, inputs.int("first_head")?, inputs.int("context_rows")?);
    let served = if inputs.params.name("phase") == "prefill" { step.prefill() } else { step.decode() };
    let (mut latents, mut tails) = (Vec::new(), Vec::new());
    for &sequence in &served[inputs.int("first_span")?..][..inputs.int("spans_of_pass")?] {
        let (start, tokens) = step.spans[sequence];
        for position in 0..start + tokens {
            let (page, place) = step.place(sequence, position);
            let latent = &cache[(page * step.page_size + place) * (rank + rope)..][..rank + rope];
            latents.extend_from_slice(&latent[..rank]);
            tails.extend(latent[rank..].iter().map(|&x| (f64::from(x), 0.0)));
        }
    }
    let key = nope + rope;
    let (mut keys, mut values) =
        (vec![(f64::NAN, 0.0); heads * context_rows * key], vec![(f64::NAN, 0.0); heads * context_rows * v]);
    for head in 0..heads {
        let from = first_head + head;
        let of_keys = Matrix::of_bf16(w_k[from * nope * rank..][..nope * rank].iter().copied(), nope, rank);
        let of_values = Matrix::of_bf16(w_v[from * v * rank..][..v * rank].iter().copied(), v, rank);
        let rows = of_keys.product(&inputs.cpu, &latents)?;
        for (row, (of_key, tail)) in rows.chunks_exact(nope).zip(tails.chunks_exact(rope)).enumerate() {
            let to = &mut keys[(head * context_rows + row) * key..][..key];
            to[..nope].copy_from_slice(of_key);
            to[nope..].copy_from_slice(tail);
        }
        let rows = of_values.product(&inputs.cpu, &latents)?;
        values[head * context_rows * v..][..rows.len()].copy_from_slice(&rows);
    }
    Some(vec![Output::bounded("keys", keys), Output::bounded("values", values)])
}

/// Attention over latents. The CPU's absorbed form has both products around it; with identities for them it is that alone. Where the
/// kernel writes parts to its workspace, the reference states those, and nothing is compared.
pub fn absorbed(inputs: &Inputs<'_>, decode: bool) -> Option<Vec<Output>> {
    let (step, rank, rope) = (inputs.step()?, inputs.params.int("kv_lora_rank"), inputs.params.int("qk_rope_head_dim"));
    let heads = inputs.int("num_attention_heads")?;
    let fp8 = inputs.params.name("kv_dtype") == "fp8_e4m3";
    let out = dispatch!((heads, rank, rope), (H, R, P) => if fp8 {
        attend::<H, R, P, { R + P }, { H * (R + P) }, { H * R }, Fp8E4m3>(inputs, decode)
    } else {
        attend::<H, R, P, { R + P }, { H * (R + P) }, { H * R }, Bf16>(inputs, decode)
    };
        (1, 512, 64) (2, 512, 64) (3, 512, 64) (5, 512, 64) (70, 512, 64) (2, 256, 64) (3, 256, 64) (5, 256, 64) (70, 256, 64)
        (1, 72, 24) (2, 72, 24) (3, 72, 24) (5, 72, 24) (70, 72, 24))?;
    let mut output = of_served(step, decode, &out, heads * rank, rank + rope, "o_latent");
    if decode {
        // Contexts of several parts are finished by another kernel.
        let splits = inputs.int("kv_splits")?;
        for row in 0..step.tokens() {
            let context = step.row(row)?.1 + 1;
            if splits > 1 && context > 64 {
                output.values[row * heads * rank..][..heads * rank].fill(f64::NAN);
            }
        }
    }
    Some(vec![output])
}

fn attend<const H: usize, const R: usize, const P: usize, const LATENT: usize, const Q: usize, const OUT: usize, D: KvDtype>(
    inputs: &Inputs<'_>,
    decode: bool,
) -> Option<Vec<f32>> {
    let (step, cpu): (_, &Cpu) = (inputs.step()?, &inputs.cpu);
    let stored = inputs.numbers("cache")?;
    let mut latents = Vec::new();
    for (sequence, (start, tokens)) in step.spans.iter().enumerate() {
        for position in 0..start + tokens {
            let (page, place) = step.place(sequence, position);
            latents.extend_from_slice(&stored[(page * step.page_size + place) * LATENT..][..LATENT]);
        }
    }
    let mut cache = LatentCache::<D, R, P>::new(step.pages, step.page_size);
    cache.append::<LATENT>(cpu, &rows_of(&latents), &step::contexts(step)?);
    let one = 0x3f80u16.to_le_bytes();
    let mut identities = vec![0; 2 * H * 2 * R * R];
    for row in 0..H * 2 * R {
        identities[2 * (row * R + row % R)..][..2].copy_from_slice(&one);
    }
    let up = LatentUp::<H, R, R, R>::pack(StorageFormat::Bf16, &identities).ok()?;
    let q = rows_of::<Q>(&inputs.numbers("q_latent")?[..step.tokens() * Q]);
    let (scale, batch) = (softmax_scale(inputs.float("scale")?)?, step::batch(step)?);
    let mut out = Rows::<f32, OUT>::with_capacity(q.rows());
    if decode {
        cpu::mla_decode::<Absorbed, H, R, R, R, P, Q, OUT, D>(cpu, &q, &cache, &up, scale, &batch, &mut out);
    } else {
        cpu::mla_prefill::<Absorbed, H, R, R, R, P, Q, OUT, D>(cpu, &q, &cache, &up, scale, &batch, &mut out);
    }
    Some(out.as_slice().to_vec())
}
