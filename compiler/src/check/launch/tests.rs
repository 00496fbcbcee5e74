//! Limits are exact: what is at one passes, what is one beyond does not; and what holds at the largest step holds at every step.

use std::path::Path;

use super::rules::{divides, shrinks};
use super::*;
use crate::diagnostic::Format;
use crate::expr::Dim;
use crate::source::SourceMap;
use crate::{driver, models};

const LINEAR: &str = "sm90a_linear/TEMPLATE.toml";
const NORM: &str = "sm90a_rms_norm/TEMPLATE.toml";
const SILU: &str = "sm90a_silu_mul/TEMPLATE.toml";
const KERNEL: &str = "llama_sm90a/KERNEL.toml";
const LIMITS: &str = "step_tokens = 8192";

/// The model for a GPU of the UI tests, with texts replaced: a file, what is found there once, and what stands there then.
fn sources(edits: &[(&str, &str, &str)]) -> SourceMap {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/base");
    let all = driver::only(&driver::read(&ui, "model-specs", "kernel-templates").unwrap(), &["llama_sm90a".to_owned()]);
    let mut edited = SourceMap::default();
    for (_, source) in all.files() {
        let mut text = source.text.clone();
        for (_, find, replace) in edits.iter().filter(|(file, ..)| source.path.ends_with(file)) {
            assert_eq!(text.matches(find).count(), 1, "`{find}` in {}", source.path);
            text = text.replace(find, replace);
        }
        edited.add(source.path.clone(), text);
    }
    edited
}

/// The ids of what is wrong with it.
fn wrong(edits: &[(&str, &str, &str)]) -> Vec<&'static str> {
    match models(&sources(edits)) {
        Ok(_) => Vec::new(),
        Err(found) => found.sorted().iter().map(|diagnostic| diagnostic.id.as_str()).collect(),
    }
}

#[test]
fn each_axis_of_a_grid_ends_where_the_device_does() {
    let step = |tokens: u64| format!("step_tokens = {tokens}");
    let y = |tokens| wrong(&[(SILU, "\"min(tokens, 65535)\"", "\"tokens\""), (KERNEL, LIMITS, &step(tokens))]);
    assert_eq!((y(65_535), y(65_536)), (vec![], vec!["launch-grid-limit"]));
    let z = |tokens| wrong(&[(SILU, "\"min(tokens, 65535)\"", "1, \"tokens\""), (KERNEL, LIMITS, &step(tokens))]);
    assert_eq!((z(65_535), z(65_536)), (vec![], vec!["launch-grid-limit"]));
    let x = |blocks: &str| wrong(&[(NORM, "grid = [\"tokens\"]", &format!("grid = [\"{blocks}\"]"))]);
    assert_eq!((x("max(tokens, 2147483647)"), x("tokens * 262144")), (vec![], vec!["launch-grid-limit"]));
}

#[test]
fn a_block_ends_where_the_device_does() {
    let block = |sizes: &str| wrong(&[(NORM, "block = [256]", &format!("block = {sizes}"))]);
    for legal in ["[32]", "[1024]", "[1, 1024]", "[16, 1, 64]", "[2, 512]"] {
        assert_eq!(block(legal), [""; 0], "{legal}");
    }
    for illegal in ["[1056]", "[1024, 2]", "[1, 1, 96]", "[48]", "[0]", "[2147483648, 2147483648, 2]"] {
        assert_eq!(block(illegal), ["launch-block"], "{illegal}");
    }
}

#[test]
fn shared_memory_ends_where_the_device_does() {
    let bytes = |bytes: &str| wrong(&[(NORM, "shared_bytes = \"32 * 4\"", &format!("shared_bytes = {bytes}"))]);
    assert_eq!((bytes("232448"), bytes("232449")), (vec![], vec!["shared-memory-limit"]));
    // The largest of the formats that the model accepts decides: bf16 would fit here, and f32 does not.
    let format = "\"100000 * sizeof(format)\"";
    let worst = wrong(&[(LINEAR, "\"2 * (tile_out + tile_tokens) * 64 * sizeof(format)\"", format)]);
    assert_eq!(worst, ["shared-memory-limit"]);
}

#[test]
fn an_index_ends_where_its_type_does() {
    let shape = |elements: &str| {
        wrong(&[(NORM, "name = \"x\"\ntype = \"const X*\"\nshape = [\"tokens\", \"dim\"]", &{
            format!("name = \"x\"\ntype = \"const X*\"\nshape = [{elements}]")
        })])
    };
    // The last of 2^31 elements has the index 2^31 - 1.
    assert_eq!((shape("\"tokens\", 262144"), shape("\"8 * tokens + 1\", 32768")), (vec![], vec!["index-width"]));
}

#[test]
fn one_mistake_is_told_once_at_the_instance_that_exceeds_most() {
    let edits = [(LINEAR, "shape = [\"tokens\", \"in\"]", "shape = [\"tokens\", \"in\", 65536]")];
    let Err(found) = models(&sources(&edits)) else { panic!("an index of 32 bits is too narrow") };
    let text = found.render(&sources(&edits), Format::Human, false);
    // Linears have 1024 inputs, but for one with 1536.
    assert_eq!(text.matches("error[index-width]").count(), 1, "{text}");
    assert!(text.contains("8,192 x 1,536 x 65,536"), "{text}");
}

#[test]
fn what_holds_at_the_largest_step_holds_at_every_step() {
    let names = ["tokens", "sequences", "context", "pages", "2", "3", "7", "64"];
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut proven, mut refused) = (0, 0);
    for _ in 0..4000 {
        let mut name = || names[random(names.len() as u64) as usize];
        let (a, b, c) = (name(), name(), name());
        let pair = |kind: u64, a: &str, b: &str| match kind {
            0 => format!("({a} + {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("ceil_div({a}, {b})"),
            4 => format!("({a} / {b})"),
            5 => format!("max({a}, {b})"),
            _ => format!("min({a}, {b})"),
        };
        let inner = pair(random(7), a, b);
        let text = if random(2) == 0 { pair(random(7), &inner, c) } else { pair(random(7), c, &inner) };
        let expr = Expr::parse(&text).unwrap();
        let value = |step: StepDims| expr.eval_u64(&|name: &str| -> Option<Dim> { step.get(name) });
        let requirement = crate::model::Requirement { op: "linear", params: Vec::new() };
        let instance = Instance {
            requirement: &requirement,
            tuned: &[],
            chosen: &[],
            buckets: &[],
            few: false,
            bucket: None,
            instead: None,
        };
        let largest = StepDims([1000, 1000, 100, 5000, 16, 3000, 100, 100, 1000, 100]);
        let is_proven = shrinks(&expr).is_none() && divides(&expr).is_none() && smallest(&expr, &instance).is_ok();
        let Some(most) = value(largest).ok().filter(|_| is_proven) else {
            refused += 1;
            continue;
        };
        proven += 1;
        for _ in 0..50 {
            let step = StepDims(largest.0.map(|most| 1 + random(most)));
            assert!(value(step).is_ok_and(|value| value <= most), "{text} at {step:?}: {:?}, and {most}", value(step));
        }
    }
    assert!(proven > 500 && refused > 500, "{proven} and {refused}");
}
