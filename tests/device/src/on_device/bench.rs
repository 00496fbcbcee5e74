//! How fast instances are, beside a copy in the same run.

use serde_json::{Value, json};
use tenon_compiler::driver::nvcc::Cubin;
use tenon_device_tests::REFERENCES;
use tenon_device_tests::gpu::Gpu;
use tenon_device_tests::launch::{Held, geometry};

use crate::Compiled;

/// Times every instance at the sizes of its reference, and gives the results as JSON.
pub fn bench(compiled: &[Compiled]) -> Result<Value, String> {
    let gpu = Gpu::open()?;
    let copy = copy_rate(&gpu)?;
    println!("{}, copy {copy:.2} TB/s", gpu.name());
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
            println!(
                "{:<56} {:<34} {:>9.2} us {rate:>6.2} TB/s {:>4.0}% of copy {speed:>7.1} TFLOP/s",
                one.instance.name,
                bench.name,
                seconds * 1e6,
                100.0 * rate / copy
            );
            rows.push(json!({
                "instance": one.instance.name,
                "size": bench.name,
                "us": seconds * 1e6,
                "tb_s": rate,
                "tflop_s": speed,
                "of_copy": rate / copy,
            }));
        }
    }
    Ok(json!({ "device": gpu.name(), "copy_tb_s": copy, "benches": rows }))
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
