//! How fast instances are, beside a copy in the same run.

use serde_json::{Value, json};
use tenon_compiler::driver::nvcc::Cubin;
use tenon_core::cuda::{Bf16, Device, DeviceRows, DeviceWorkspace, Gemm, GemmWeight};
use tenon_device_cases::Random;
use tenon_device_tests::REFERENCES;
use tenon_device_tests::gpu::Gpu;
use tenon_device_tests::launch::{Held, geometry};

use crate::Compiled;

/// Times every instance at the sizes of its reference, and gives the results as JSON.
pub fn bench(compiled: &[Compiled]) -> Result<Value, String> {
    let gpu = Gpu::open()?;
    let copy = copy_rate(&gpu)?;
    let product = product_rate()?;
    println!("{}, copy {copy:.2} TB/s, cuBLASLt 8192^3 bf16 {product:.0} TFLOP/s", gpu.name());
    let mut rows = Vec::new();
    for one in compiled {
        let Some(reference) = REFERENCES.iter().find(|r| r.template == one.template.name) else { continue };
        let Some(Cubin { bytes: cubin, .. }) = &one.cubin else { continue };
        for bench in (reference.bench)(&one.instance.params) {
            let geometry = geometry(&one.template, &one.instance, &bench.dims)?;
            let function = gpu.load(cubin, &one.instance.name, &one.instance.manifest(), geometry.shared_bytes)?;
            let bytes = one.template.cost.bytes.value(&one.instance.params, &bench.dims)?;
            let flops = one.template.cost.flops.value(&one.instance.params, &bench.dims)?;
            // Enough copies of everything that the caches do not hold the next one.
            let copies = (256e6 / bytes).ceil().clamp(1.0, 24.0) as usize;
            let mut held = (0..copies).map(|_| Held::new(&gpu, &one.template, &bench.args)).collect::<Result<Vec<_>, _>>()?;
            let mut launches = |n: usize| -> Result<(), String> {
                (0..n).try_for_each(|i| gpu.launch(&function, geometry, &mut held[i % copies].args))
            };
            launches(3)?;
            gpu.wait()?;
            let once = gpu.time(|| launches(1))?.max(1e-3);
            let n = (30.0 / once).ceil().clamp(5.0, 2000.0) as usize;
            let mut times = (0..3).map(|_| gpu.time(|| launches(n))).collect::<Result<Vec<_>, _>>()?;
            times.sort_by(f64::total_cmp);
            let seconds = times[1] / n as f64 / 1e3;
            let (rate, speed) = (bytes / seconds / 1e12, flops / seconds / 1e12);
            // The one of the two that it is nearer to.
            let (share, of) = if rate / copy > speed / product { (rate / copy, "copy") } else { (speed / product, "cuBLAS") };
            println!(
                "{:<56} {:<34} {:>9.2} us {rate:>6.2} TB/s {speed:>7.1} TFLOP/s, {:>4.0}% of {of}",
                one.instance.name,
                bench.name,
                seconds * 1e6,
                100.0 * share
            );
            rows.push(json!({
                "instance": one.instance.name,
                "size": bench.name,
                "us": seconds * 1e6,
                "tb_s": rate,
                "tflop_s": speed,
                "of_copy": rate / copy,
                "of_product": speed / product,
            }));
        }
    }
    Ok(json!({ "device": gpu.name(), "copy_tb_s": copy, "product_tflop_s": product, "benches": rows }))
}

/// Bytes read and written by a copy on the device, per second, in 10^12.
fn copy_rate(gpu: &Gpu) -> Result<f64, String> {
    let bytes = 2usize << 30;
    let (from, to) = (gpu.zeros(bytes)?, gpu.zeros(bytes)?);
    gpu.copy(&to, &from)?;
    gpu.wait()?;
    let n = 10;
    let ms = gpu.time(|| (0..n).try_for_each(|_| gpu.copy(&to, &from)))?;
    Ok(2.0 * bytes as f64 * n as f64 / (ms / 1e3) / 1e12)
}

/// What the matrix library reaches in bf16 with numbers of both signs, in 10^12 operations per second.
fn product_rate() -> Result<f64, String> {
    const N: usize = 8192;
    let rate = || {
        let device = Device::open(0)?;
        let (mut random, elements) = (Random::new(3), N * N);
        let numbers = random.bf16(1 << 20, 1.0).into_iter().cycle().take(elements).map(half::bf16::from_bits);
        let numbers: Vec<half::bf16> = numbers.collect();
        let mut weight = DeviceWorkspace::<Bf16>::new(&device, elements)?;
        weight.upload(&numbers)?;
        let (mut x, mut y) = (DeviceRows::<Bf16, N>::new(&device, N)?, DeviceRows::<Bf16, N>::new(&device, N)?);
        x.upload(&numbers)?;
        let mut gemm = Gemm::new(&device)?;
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            device.synchronise()?;
            let started = std::time::Instant::now();
            for _ in 0..10 {
                gemm.store(GemmWeight::<N, N>::dequantised(&weight), &x, &mut y, N)?;
            }
            device.synchronise()?;
            best = best.min(started.elapsed().as_secs_f64() / 10.0);
        }
        Ok::<f64, tenon_core::cuda::CudaError>(2.0 * (N * N * N) as f64 / best / 1e12)
    };
    rate().map_err(|e| e.to_string())
}
