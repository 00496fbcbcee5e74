//! Speed: each goal beside its measurement, and beside what libraries do on the same shapes in the same run.

use serde_json::Value;

use super::page::table;
use super::{each, lines, text};
use crate::goals::{Anchor, Goal, Goals, Library, Source, Unit};

/// The section.
pub fn section(result: &Value, goals: &Goals) -> String {
    let number = |key: &str, digits: usize| result[key].as_f64().map_or_else(|| "-".to_owned(), |n| format!("{n:.digits$}"));
    let mut page = format!(
        "In the same run a copy moves {} TB/s, and cuBLASLt's bf16 product of 8,192^3 does {} TFLOP/s. Buffers rotate through more memory than the \
         caches hold; times are medians; outputs are checked before anything is timed. A peer's factor is its time by ours: over 1, ours is faster.",
        number("copy_tb_s", 2),
        number("product_tflop_s", 0)
    );
    let peers = &result["peers"];
    let versions = peers["versions"].as_object().into_iter().flatten();
    let versions: Vec<String> = versions.map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("-"))).collect();
    page += &match (peers["error"].as_str(), versions.is_empty()) {
        (Some(error), _) => format!(" The libraries did not run: {error}\n\n"),
        (None, true) => " The libraries were not run.\n\n".to_owned(),
        (None, false) => format!(" The libraries are those of {}.\n\n", versions.join(", ")),
    };
    let kernels: Vec<&Goal> = goals.goals.iter().filter(|goal| !matches!(goal.source(), Some(Source::Model(_)) | None)).collect();
    page += &summary(kernels.iter().map(|goal| (*goal, value(goal, result, goals))));
    let rows: Vec<Vec<String>> = kernels.iter().map(|goal| row(goal, result, goals)).collect();
    page += &table(&["work", "time", "TB/s", "TFLOP/s", "in the unit of its goals", "must", "anchor", "peers", "stated"], &rows);
    page + &lines("What failed:", &each(result, "faults").iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
}

fn row(goal: &Goal, result: &Value, goals: &Goals) -> Vec<String> {
    let mut cells = vec![goal.work.clone()];
    let measured = measurement(goal, result);
    match measured {
        None => cells.extend(["not measured", "", "", ""].map(str::to_owned)),
        Some(bench) => {
            let number = |key: &str| bench[key].as_f64().unwrap_or(f64::NAN);
            cells.push(time(number("us")));
            cells.push(format!("{:.2}", number("tb_s")));
            cells.push(format!("{:.0}", number("tflop_s")));
            cells.push(value(goal, result, goals).map_or_else(|| "not measured".to_owned(), |value| goal.unit.show(value)));
        }
    }
    let value = value(goal, result, goals);
    cells.push(judged(goal.unit, value, goal.must));
    cells.push(match &goal.anchor {
        None => String::new(),
        Some(Anchor::Number(anchor)) => judged(goal.unit, value, Some(*anchor)),
        Some(Anchor::Peer(library)) => match of_peer(goal, *library, result) {
            None => format!("{}: not measured", library.name()),
            Some(peer) => format!("{} {}", library.name(), judged(goal.unit, value, in_unit(goal.unit, peer))),
        },
    });
    let ours = measured.and_then(|bench| bench["us"].as_f64());
    let peers: Vec<String> = goal.peers.iter().map(|peer| beside(goal, peer.library(), ours, result)).collect();
    cells.push(peers.join("; "));
    cells.push(goal.stated.clone().unwrap_or_default());
    cells
}

/// What a library reaches, and its time by ours.
fn beside(goal: &Goal, library: Library, ours: Option<f64>, result: &Value) -> String {
    let name = library.name();
    let Some(peer) = of_peer(goal, library, result) else { return format!("{name}: not run") };
    let Some(us) = peer["us"].as_f64() else { return format!("{name}: {}", text(peer, "error")) };
    let reached = in_unit(goal.unit, peer).map_or_else(|| time(us), |value| goal.unit.show(value));
    ours.map_or_else(|| format!("{name} {reached}"), |ours| format!("{name} {reached}: {:.2}x", us / ours))
}

/// The entry of the bench for a row, where there is one that has a time.
fn measurement<'a>(goal: &Goal, result: &'a Value) -> Option<&'a Value> {
    let found = match goal.source()? {
        Source::Instance => each(result, "benches").iter().find(|bench| goal.is_at(text(bench, "instance"), text(bench, "size"))),
        Source::Product(product) => {
            let is_it = |key: &str, n: u64, bench: &Value| bench[key].as_u64() == Some(n);
            each(result, "products")
                .iter()
                .find(|b| is_it("rows", product.rows, b) && is_it("out", product.out, b) && is_it("in", product.inputs, b))
        }
        Source::Model(_) => None,
    };
    found.filter(|bench| bench["us"].is_f64())
}

fn of_peer<'a>(goal: &Goal, library: Library, result: &'a Value) -> Option<&'a Value> {
    let peer = goal.peers.iter().find(|peer| peer.library() == library)?;
    each(&result["peers"], "results").iter().find(|entry| text(entry, "name") == goal.name_of(peer))
}

/// What a row came to, in its unit.
fn value(goal: &Goal, result: &Value, goals: &Goals) -> Option<f64> {
    let bench = measurement(goal, result)?;
    if goal.unit == Unit::OfDense {
        let dense = measurement(goals.of(goal.dense.as_ref()?)?, result)?;
        return Some(dense["tb_s"].as_f64()? / bench["tb_s"].as_f64()?);
    }
    in_unit(goal.unit, bench)
}

fn in_unit(unit: Unit, bench: &Value) -> Option<f64> {
    match unit {
        Unit::TbS => bench["tb_s"].as_f64(),
        Unit::TflopS => bench["tflop_s"].as_f64(),
        Unit::Ms => Some(bench["us"].as_f64()? / 1e3),
        Unit::OfCopy => bench["of_copy"].as_f64(),
        Unit::OfProduct => bench["of_product"].as_f64(),
        Unit::OfDense | Unit::TokS => None,
    }
}

fn time(us: f64) -> String {
    if us < 1000.0 { format!("{us:.1} us") } else { format!("{:.3} ms", us / 1e3) }
}

/// How many of the goals that must be reached are.
pub fn summary<'a>(values: impl Iterator<Item = (&'a Goal, Option<f64>)>) -> String {
    let (mut met, mut under, mut unknown) = (0, Vec::new(), 0);
    for (goal, value) in values {
        match (goal.must, value) {
            (None, _) => {}
            (Some(_), None) => unknown += 1,
            (Some(must), Some(value)) if share(goal.unit, value, must) < 1.0 => under.push(goal.work.as_str()),
            _ => met += 1,
        }
    }
    let names = if under.is_empty() { String::new() } else { format!(" ({})", under.join("; ")) };
    format!(
        "Of {} goals that must be reached, {met} are met, {} are under{names} and {unknown} are not measured.\n\n",
        met + under.len() + unknown,
        under.len()
    )
}

/// What was measured by what is to be reached: over 1, better.
fn share(unit: Unit, value: f64, goal: f64) -> f64 {
    if unit.is_rate() { value / goal } else { goal / value }
}

/// A goal, whether it is met, and how far what was measured is from it: over 100%, better.
pub fn judged(unit: Unit, value: Option<f64>, goal: Option<f64>) -> String {
    let Some(goal) = goal else { return String::new() };
    let Some(value) = value else { return format!("{}: not measured", unit.show(goal)) };
    let share = share(unit, value, goal);
    // Rounded down: what is just under is not 100%.
    format!("{}: {} ({}%)", unit.show(goal), if share >= 1.0 { "met" } else { "**under**" }, (100.0 * share).floor())
}
