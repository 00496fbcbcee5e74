//! The CPU's kernels and the references of the GPU's kernels agree: each case of each instance, within the bounds of f32 alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tenon_device_tests::REFERENCES;
use tenon_device_tests::cpu::compute;
use tenon_device_tests::instance::Instance;
use tenon_device_tests::judge::judge;
use tenon_device_tests::template::Template;

/// What the outputs of a template came to.
#[derive(Default)]
struct Total {
    compared: usize,
    left_out: usize,
    share: f64,
    /// Of the references, and of the CPU's kernels.
    seconds: [f64; 2],
    faults: Vec<String>,
}

/// Templates that the CPU has something to compare with, whatever the instance.
const COMPARED: [&str; 43] = [
    "act",
    "act_mul",
    "add",
    "add_bias",
    "add_scaled",
    "attention_decode",
    "attention_prefill",
    "causal_conv_decode",
    "causal_conv_prefill",
    "delta_decode",
    "delta_prefill",
    "dequantise",
    "embedding",
    "experts_down_few",
    "experts_down_many",
    "experts_up_few",
    "experts_up_many",
    "gated_group_norm",
    "gated_head_norm",
    "head_norm",
    "latent_append",
    "linear",
    "linear_gated",
    "mamba2_scan",
    "mamba2_update",
    "mla_absorb",
    "mla_decode",
    "mla_expand",
    "mla_prefill_absorbed",
    "mla_prefill_expanded",
    "mla_up",
    "query_scale",
    "rms_norm",
    "rms_norm_add",
    "rms_norm_add_norm",
    "rope",
    "rope_append",
    "rope_tail",
    "route",
    "scale",
    "sigmoid_gate_add",
    "sigmoid_mul",
    "soft_cap",
];

/// `TENON_ONLY` may name templates, separated by commas.
#[test]
fn references_agree_with_the_cpu() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let templates = Template::all(&root.join("../../kernel-templates")).unwrap();
    let only = std::env::var("TENON_ONLY").unwrap_or_default();
    let only: Vec<String> = only.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let instances = Instance::listed(&templates, &root.join("instances.toml"), &only).unwrap();
    let (next, totals) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&str, Total>::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while let Some(instance) = instances.get(next.fetch_add(1, Ordering::Relaxed)) {
                    compare(&templates[instance.template].name, instance, &totals);
                }
            });
        }
    });
    let totals = totals.into_inner().unwrap();
    let (mut faults, mut seconds) = (Vec::new(), [0.0; 2]);
    for (template, total) in &totals {
        let Total { compared, left_out, share, seconds: [exact, by_cpu], .. } = total;
        println!(
            "{template:<22} {compared:>4} outputs, {left_out:>2} cases without, share {share:.3}, {exact:.1} + {by_cpu:.1} s"
        );
        seconds = [seconds[0] + exact, seconds[1] + by_cpu];
        faults.extend(total.faults.iter().map(|fault| format!("{template}: {fault}")));
    }
    println!("references {:.0} s, CPU {:.0} s, over all threads", seconds[0], seconds[1]);
    if std::env::var("TENON_ONLY").is_err() {
        faults.extend(
            COMPARED.iter().filter(|t| totals.get(*t).is_none_or(|t| t.compared == 0)).map(|t| format!("{t}: no output")),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn compare<'a>(template: &'a str, instance: &Instance, totals: &Mutex<BTreeMap<&'a str, Total>>) {
    let Some(reference) = REFERENCES.iter().find(|r| r.template == template) else { return };
    let mut own = Total::default();
    let start = Instant::now();
    let cases = (reference.cases)(&instance.params);
    own.seconds[0] = start.elapsed().as_secs_f64();
    for case in cases {
        let start = Instant::now();
        let computed = compute(template, &instance.params, &case);
        own.seconds[1] += start.elapsed().as_secs_f64();
        let Some(computed) = computed else {
            own.left_out += 1;
            continue;
        };
        for one in computed {
            let exact = case.expected.iter().find(|e| e.arg == one.values.arg).expect("an output of the case");
            let mut exact = exact.clone();
            // The CPU's own bounds, and nothing where it computes nothing.
            exact.bounds = one.values.bounds;
            for (exact, value) in exact.values.iter_mut().zip(&one.values.values) {
                if value.is_nan() {
                    *exact = f64::NAN;
                }
            }
            let verdict = judge(&exact, &one.values.values);
            own.compared += usize::from(verdict.elements > 0);
            own.share = own.share.max(verdict.share);
            if let Some(fault) = verdict.fault {
                own.faults.push(format!("{} / {}: {}: {fault}", instance.name, case.name, verdict.arg));
            }
        }
    }
    let mut totals = totals.lock().unwrap();
    let total = totals.entry(template).or_default();
    total.compared += own.compared;
    total.left_out += own.left_out;
    total.share = total.share.max(own.share);
    total.seconds = [0, 1].map(|i| total.seconds[i] + own.seconds[i]);
    total.faults.append(&mut own.faults);
}
