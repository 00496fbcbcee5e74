//! Whole models: tokens per second, and the share of the bandwidth.

use serde_json::Value;

use super::page::table;
use super::speed::{judged, summary};
use super::{each, lines, text};
use crate::goals::{Anchor, Goal, Goals, Load, Phase, Source, Unit};

/// The section. The rate of large products is that of the part `speed`.
pub fn section(result: &Value, speed: &Value, goals: &Goals) -> String {
    let mut page = "Random weights of the real shapes, loaded and run by `tenon-server bench`. A decode reads the weights of a token once per step, and the \
                    caches of all sequences; the share is of a copy's bandwidth in the same process.\n\n"
        .to_owned();
    let models: Vec<(&Goal, &Load)> = goals
        .goals
        .iter()
        .filter_map(|goal| match goal.source() {
            Some(Source::Model(load)) => Some((goal, load)),
            _ => None,
        })
        .collect();
    page += &summary(models.iter().map(|(goal, load)| (*goal, value(goal, load, result, speed))));
    let rows: Vec<Vec<String>> = models.iter().map(|(goal, load)| row(goal, load, result, speed)).collect();
    page += &table(&["work", "measured", "must", "anchor", "stated"], &rows);
    let mut runs = Vec::new();
    for model in each(result, "models") {
        for run in each(model, "runs") {
            let number = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
            runs.push(vec![
                text(model, "model").to_owned(),
                format!("{}", number("prompt_tokens")),
                format!("{}", number("concurrency")),
                format!("{:.0}", number("prompt_tokens_per_second")),
                format!("{:.1}", number("decode_tokens_per_second")),
                format!("{:.0}", number("decode_bytes_per_second") / 1e9),
                format!("{:.0}%", 100.0 * number("decode_share_of_read_bandwidth")),
            ]);
        }
    }
    if !runs.is_empty() {
        page += "\nEvery load that was run:\n\n";
        let head = ["model", "prompt", "sequences", "prompt tok/s", "decode tok/s", "decode GB/s", "of copy"];
        page += &table(&head, &runs);
    }
    let faults = each(result, "models").iter().filter(|model| model["error"].is_string());
    let faults: Vec<String> = faults.map(|model| format!("{}: {}", text(model, "model"), text(model, "error"))).collect();
    page + &lines("What failed:", &faults)
}

fn row(goal: &Goal, load: &Load, result: &Value, speed: &Value) -> Vec<String> {
    let value = value(goal, load, result, speed);
    let anchor = if let Some(Anchor::Number(anchor)) = goal.anchor { Some(anchor) } else { None };
    vec![
        goal.work.clone(),
        value.map_or_else(|| "not measured".to_owned(), |value| goal.unit.show(value)),
        judged(goal.unit, value, goal.must),
        judged(goal.unit, value, anchor),
        goal.stated.clone().unwrap_or_default(),
    ]
}

fn value(goal: &Goal, load: &Load, result: &Value, speed: &Value) -> Option<f64> {
    let runs =
        each(result, "models").iter().filter(|model| text(model, "model") == load.name).flat_map(|model| each(model, "runs"));
    let is_it =
        |run: &&Value| run["prompt_tokens"].as_u64() == Some(load.prompt) && run["concurrency"].as_u64() == Some(load.sequences);
    let run = runs.into_iter().find(is_it)?;
    let rate = match load.phase {
        Phase::Prefill => run["prompt_tokens_per_second"].as_f64()?,
        Phase::Decode => run["decode_tokens_per_second"].as_f64()?,
    };
    match goal.unit {
        Unit::TokS => Some(rate),
        Unit::OfCopy => run["decode_share_of_read_bandwidth"].as_f64(),
        Unit::OfProduct => Some(rate * load.flops_per_token? / 1e12 / speed["product_tflop_s"].as_f64()?),
        _ => None,
    }
}
