//! `Stored`: a random matrix in a storage format, as its blocks' planes lie on the device, and decoded.

use crate::{Random, U_BF16, Value, from_bf16, from_e4m3, products, to_bf16};

/// Every storage format.
pub const FORMATS: [&str; 14] =
    ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "fp8_e4m3", "nvfp4", "mxfp4"];

/// Elements of a block.
pub fn block_len(format: &str) -> usize {
    match format {
        "f32" | "f16" | "bf16" | "fp8_e4m3" => 1,
        "nvfp4" => 16,
        "q4_k" | "q5_k" | "q6_k" => 256,
        _ => 32,
    }
}

/// The planes of a format: first byte in a block, and bytes.
fn parts(format: &str) -> &'static [(usize, usize)] {
    match format {
        "f32" => &[(0, 4)],
        "f16" | "bf16" => &[(0, 2)],
        "fp8_e4m3" => &[(0, 1)],
        "q4_0" => &[(2, 16), (0, 2)],
        "q4_1" => &[(4, 16), (0, 4)],
        "q5_0" => &[(6, 16), (2, 4), (0, 2)],
        "q5_1" => &[(8, 16), (4, 4), (0, 4)],
        "q8_0" => &[(2, 32), (0, 2)],
        "q4_k" => &[(16, 128), (0, 16)],
        "q5_k" => &[(48, 128), (16, 32), (0, 16)],
        "q6_k" => &[(0, 128), (128, 64), (192, 16), (208, 2)],
        "nvfp4" => &[(1, 8), (0, 1)],
        "mxfp4" => &[(1, 16), (0, 1)],
        other => panic!("`{other}` is no storage format"),
    }
}

/// Bytes of a row on the device.
pub fn row_bytes(format: &str, inputs: usize) -> usize {
    let blocks = inputs / block_len(format);
    parts(format).iter().map(|(_, len)| (len * blocks).next_multiple_of(16)).sum()
}

/// The stored blocks of `rows` rows, one after the other as a checkpoint has them, from their planes.
pub fn blocks_of(format: &str, planes: &[u8], rows: usize, inputs: usize) -> Vec<u8> {
    let (blocks, bytes) = (inputs / block_len(format), row_bytes(format, inputs));
    let block: usize = parts(format).iter().map(|(_, len)| len).sum();
    let mut stored = vec![0; rows * blocks * block];
    for row in 0..rows {
        let mut plane = row * bytes;
        for &(first, len) in parts(format) {
            for b in 0..blocks {
                let to = (row * blocks + b) * block + first;
                stored[to..to + len].copy_from_slice(&planes[plane + b * len..][..len]);
            }
            plane += (len * blocks).next_multiple_of(16);
        }
    }
    stored
}

/// A random matrix.
#[derive(Clone, Debug)]
pub struct Stored {
    /// `[out, row_bytes]`. Padding holds 0xff, which no kernel may use.
    pub planes: Vec<u8>,
    /// Of fp8 `[ceil(out / 128), ceil(inputs / 128)]`; of other formats empty.
    pub scales: Vec<f32>,
    /// `[out, inputs]`, with the scales of blocks and of the table, without the factor of the matrix.
    pub weights: Vec<f64>,
}

/// A sum of products, and what its bounds are made of.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// The sum.
    pub value: f64,
    /// The sum of magnitudes.
    pub magnitude: f64,
    /// The sum of squares.
    pub squares: f64,
}

impl Dot {
    /// How far the product of a kernel may be off that adds up in f32. With `tensor_cores`, weights are rounded to bf16 where that
    /// does not hold them, f32 to two of these: such errors are independent, so their squares add up, and 4 deviations are allowed.
    pub fn bound(&self, format: &str, depth: usize, tensor_cores: bool) -> f64 {
        let rounding = match format {
            _ if !tensor_cores => 0.0,
            "bf16" | "f16" | "nvfp4" | "mxfp4" => 0.0,
            "f32" => U_BF16 * U_BF16,
            _ => U_BF16,
        };
        products(depth, self.magnitude) + 4.0 * rounding * self.squares.sqrt()
    }
}

impl Stored {
    /// Random blocks whose weights are around 1 and below.
    pub fn new(format: &str, out: usize, inputs: usize, random: &mut Random) -> Self {
        let len = block_len(format);
        assert!(inputs.is_multiple_of(len), "rows of {format} are whole blocks of {len}");
        let (mut planes, mut weights) = (Vec::new(), Vec::new());
        let across = inputs.div_ceil(128);
        let fp8 = format == "fp8_e4m3";
        let scales = if fp8 { random.numbers(out.div_ceil(128) * across, 0.01) } else { Vec::new() };
        for row in 0..out {
            let blocks: Vec<Vec<u8>> = (0..inputs / len).map(|_| block(format, random)).collect();
            for (b, block) in blocks.iter().enumerate() {
                let scale = if fp8 { f64::from(scales[row / 128 * across + b / 128]) } else { 1.0 };
                weights.extend((0..len).map(|k| scale * weight(format, block, k)));
            }
            for &(first, bytes) in parts(format) {
                blocks.iter().for_each(|block| planes.extend_from_slice(&block[first..first + bytes]));
                planes.resize(planes.len().next_multiple_of(16), 0xff);
            }
        }
        assert_eq!(planes.len(), out * row_bytes(format, inputs), "rows have one length");
        Self { planes, scales, weights }
    }

    /// The product of row `o` with `x`.
    pub fn dot(&self, o: usize, x: &[f64]) -> Dot {
        let mut dot = Dot { value: 0.0, magnitude: 0.0, squares: 0.0 };
        for (w, x) in self.weights[o * x.len()..][..x.len()].iter().zip(x) {
            dot.value += w * x;
            dot.magnitude += (w * x).abs();
            dot.squares += (w * x).powi(2);
        }
        dot
    }

    /// The planes as an argument.
    pub fn planes_arg(&self) -> Value {
        Value::Bytes(self.planes.clone())
    }

    /// The table of scales as an argument: null where the format has none.
    pub fn scales_arg(&self) -> Value {
        if self.scales.is_empty() { Value::Null } else { Value::F32(self.scales.clone()) }
    }
}

/// Arguments of the same shape for a bench: planes and scales.
pub fn bench_args(format: &str, out: usize, inputs: usize) -> (Value, Value) {
    let scales = match format {
        "fp8_e4m3" => Value::F32(vec![0.01; out.div_ceil(128) * inputs.div_ceil(128)]),
        _ => Value::Null,
    };
    (Value::Random(out * row_bytes(format, inputs)), scales)
}

/// A random block, as checkpoints have it.
fn block(format: &str, random: &mut Random) -> Vec<u8> {
    // Scales are halves of either sign, with this exponent or the next.
    let mut half = |exponent: u64| {
        let bits = random.bits();
        (((bits & 0x83ff) | ((exponent + (bits >> 20 & 1)) << 10)) as u16).to_le_bytes()
    };
    let scales: Vec<u8> = match format {
        "q4_0" => half(11).to_vec(),
        "q5_0" => half(10).to_vec(),
        "q8_0" => half(7).to_vec(),
        "q4_1" => [half(10), half(13)].concat(),
        "q5_1" => [half(9), half(13)].concat(),
        "q4_k" => [half(5), half(8)].concat(),
        "q5_k" => [half(4), half(8)].concat(),
        "q6_k" => half(3).to_vec(),
        _ => Vec::new(),
    };
    let mut bytes = |n: usize| (0..n).map(|_| random.bits() as u8).collect::<Vec<u8>>();
    match format {
        "f32" => random.unit().to_le_bytes().to_vec(),
        "bf16" => to_bf16(random.unit()).to_le_bytes().to_vec(),
        // From subnormals to below 1.
        "f16" => ((random.bits() & 0x83ff) as u16 | (random.below(15) << 10) as u16).to_le_bytes().to_vec(),
        // All but the two NaNs.
        "fp8_e4m3" => vec![random.below(127) as u8 | (random.bits() & 0x80) as u8],
        "nvfp4" => [
            vec![(0x20 + random.below(0x20) as u8) | (random.bits() & 0x80) as u8],
            (0..8).map(|_| random.bits() as u8).collect(),
        ]
        .concat(),
        // 2^-7 to 1, and now and then those that are read as 0.
        "mxfp4" => {
            let scale = if random.below(8) == 0 { random.below(4) } else { 120 + random.below(8) };
            [vec![scale as u8], (0..16).map(|_| random.bits() as u8).collect()].concat()
        }
        "q4_0" | "q4_1" => [scales, bytes(16)].concat(),
        "q5_0" | "q5_1" => [scales, bytes(20)].concat(),
        "q8_0" => [scales, bytes(32)].concat(),
        "q4_k" => [scales, bytes(140)].concat(),
        "q5_k" => [scales, bytes(172)].concat(),
        "q6_k" => [bytes(208), scales].concat(),
        other => panic!("`{other}` is no storage format"),
    }
}

/// Element `k` of a block.
fn weight(format: &str, block: &[u8], k: usize) -> f64 {
    let nibble = |at: usize, high: bool| if high { block[at] >> 4 } else { block[at] & 15 };
    let bit = |at: usize, bit: usize| block[at + bit / 8] >> (bit % 8) & 1;
    match format {
        "f32" => f64::from(f32::from_le_bytes([block[0], block[1], block[2], block[3]])),
        "f16" => half_at(block, 0),
        "bf16" => from_bf16(u16::from_le_bytes([block[0], block[1]])),
        "fp8_e4m3" => from_e4m3(block[0]),
        "q4_0" => half_at(block, 0) * (f64::from(nibble(2 + k % 16, k >= 16)) - 8.0),
        "q4_1" => half_at(block, 0) * f64::from(nibble(4 + k % 16, k >= 16)) + half_at(block, 2),
        "q5_0" => half_at(block, 0) * (f64::from(nibble(6 + k % 16, k >= 16) | bit(2, k) << 4) - 16.0),
        "q5_1" => half_at(block, 0) * f64::from(nibble(8 + k % 16, k >= 16) | bit(4, k) << 4) + half_at(block, 2),
        "q8_0" => half_at(block, 0) * f64::from(block[2 + k] as i8),
        "q4_k" => of_group(block, k, nibble(16 + k / 64 * 32 + k % 32, k / 32 % 2 == 1)),
        "q5_k" => {
            of_group(block, k, nibble(48 + k / 64 * 32 + k % 32, k / 32 % 2 == 1) | (block[16 + k % 32] >> (k / 32) & 1) << 4)
        }
        "q6_k" => {
            let (half, quarter, l) = (k / 128, k / 32 % 4, k % 32);
            let low = nibble(64 * half + 32 * (quarter % 2) + l, quarter >= 2);
            let q = low | (block[128 + 32 * half + l] >> (2 * quarter) & 3) << 4;
            half_at(block, 208) * f64::from(block[192 + k / 16] as i8) * (f64::from(q) - 32.0)
        }
        "nvfp4" => from_e4m3(block[0]) * e2m1(nibble(1 + k / 2, k % 2 == 1)),
        "mxfp4" => {
            let scale = if block[0] < 3 { 0.0 } else { 2f64.powi(i32::from(block[0]) - 127) };
            scale * e2m1(nibble(1 + k % 16, k >= 16))
        }
        other => panic!("`{other}` is no storage format"),
    }
}

/// An element of q4_k or q5_k with its quant: scales and minima of 6 bits, in 12 bytes after the two halves.
fn of_group(block: &[u8], k: usize, quant: u8) -> f64 {
    let (g, packed) = (k / 32, &block[4..16]);
    let (scale, minimum) = if g < 4 {
        (packed[g] & 63, packed[g + 4] & 63)
    } else {
        ((packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4, (packed[g + 4] >> 4) | (packed[g] >> 6) << 4)
    };
    half_at(block, 0) * f64::from(scale) * f64::from(quant) - half_at(block, 2) * f64::from(minimum)
}

/// E2M1: sign, two bits of exponent, one of mantissa.
fn e2m1(nibble: u8) -> f64 {
    let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(nibble & 7)];
    if nibble & 8 == 0 { magnitude } else { -magnitude }
}

/// The half at a byte.
fn half_at(block: &[u8], at: usize) -> f64 {
    let bits = u16::from_le_bytes([block[at], block[at + 1]]);
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = if exponent == 0 { mantissa * 2f64.powi(-24) } else { (1024.0 + mantissa) * 2f64.powi(exponent - 25) };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}
