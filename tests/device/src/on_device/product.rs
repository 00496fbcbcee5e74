//! Products of the matrix library, called as the runtime calls it.

use half::bf16;
use tenon_core::cuda::{Bf16, CudaError, Device, DeviceRows, DeviceWorkspace, Gemm, GemmWeight};
use tenon_device_cases::Random;
use tenon_device_tests::goals::Product;

use super::bench::ROTATED_BYTES;

/// How far an output may be off the same in double precision, by the norm of what is looked at: bf16 keeps eight bits.
const LARGEST_ERROR: f64 = 4e-3;

/// How many measurements there are of a product.
const REPEATS: usize = 5;

/// What the library reaches with large matrices in bf16 at its best, in 10^12 operations per second: shares are of this.
pub fn large() -> Result<f64, String> {
    let work = Product { rows: 8192, out: 8192, inputs: 8192 };
    Ok(work.cost().1 / times(work)?[0] / 1e12)
}

/// Seconds of a product, the median.
pub fn seconds(work: Product) -> Result<f64, String> {
    Ok(times(work)?[REPEATS / 2])
}

/// Seconds of a product in several measurements, the shortest first. Its output must be right. Shapes are types of the runtime, so that there are
/// only those named here.
fn times(work: Product) -> Result<[f64; REPEATS], String> {
    match (work.out, work.inputs) {
        (24_576, 4096) => timed::<24_576, 4096>(work),
        (8192, 8192) => timed::<8192, 8192>(work),
        (out, inputs) => Err(format!("no product of {out} x {inputs} is compiled into this program")),
    }
}

fn timed<const OUT: usize, const IN: usize>(work: Product) -> Result<[f64; REPEATS], String> {
    let rows = work.rows as usize;
    let numbers = |seed: u64, elements: usize| -> Vec<bf16> {
        Random::new(seed).bf16(1 << 20, 1.0).into_iter().cycle().take(elements).map(bf16::from_bits).collect()
    };
    let (w, x) = (numbers(3, OUT * IN), numbers(4, rows * IN));
    let run = || -> Result<(Vec<bf16>, [f64; REPEATS]), CudaError> {
        let device = Device::open(0)?;
        let copies = (ROTATED_BYTES / work.cost().0).ceil().clamp(1.0, 24.0) as usize;
        let (mut weights, mut activations, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..copies {
            let mut weight = DeviceWorkspace::<Bf16>::new(&device, OUT * IN)?;
            weight.upload(&w)?;
            let mut activation = DeviceRows::<Bf16, IN>::new(&device, rows)?;
            activation.upload(&x)?;
            weights.push(weight);
            activations.push(activation);
            outputs.push(DeviceRows::<Bf16, OUT>::new(&device, rows)?);
        }
        let mut gemm = Gemm::new(&device)?;
        let mut launch = |n: usize| -> Result<(), CudaError> {
            (0..n).try_for_each(|i| {
                let at = i % copies;
                gemm.store(GemmWeight::<OUT, IN>::dequantised(&weights[at]), &activations[at], &mut outputs[at], rows)
            })
        };
        launch(copies)?;
        device.synchronise()?;
        // The library's calls have no events of their own here; many launches between two waits are as good.
        let mut time = |n: usize| -> Result<f64, CudaError> {
            let started = std::time::Instant::now();
            launch(n)?;
            device.synchronise()?;
            Ok(started.elapsed().as_secs_f64())
        };
        let n = copies * (0.02 / time(copies)?.max(1e-6)).ceil().clamp(1.0, 500.0) as usize;
        let mut times = [0.0; REPEATS];
        for of in &mut times {
            *of = time(n)? / n as f64;
        }
        times.sort_by(f64::total_cmp);
        Ok((outputs[0].download(rows)?, times))
    };
    let (y, times) = run().map_err(|e| e.to_string())?;
    // Some rows and columns at both ends.
    let (mut wrong, mut norm) = (0.0, 0.0);
    for row in [0, rows - 1] {
        for column in (0..32).chain(OUT - 32..OUT) {
            let product = |k: usize| x[row * IN + k].to_f64() * w[column * IN + k].to_f64();
            let exact: f64 = (0..IN).map(product).sum();
            wrong += (y[row * OUT + column].to_f64() - exact).powi(2);
            norm += exact * exact;
        }
    }
    let error = (wrong / norm).sqrt();
    if error <= LARGEST_ERROR { Ok(times) } else { Err(format!("its output is {error:.3e} off")) }
}
