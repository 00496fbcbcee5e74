//! `tenon plan --kernels`: which kernel runs each op, and why.

use super::{by_target, line, weighted};
use crate::diagnostic::{listed, thousands};
use crate::model::{Kernel, Launch, Maxima, ParamSet, Requirement};
use crate::program::Program;

/// The selection of every program, an op at its dimensions once.
pub fn kernels(programs: &[Program<'_>]) -> String {
    by_target(programs, target)
}

fn target(program: &Program<'_>, text: &mut String) {
    let (model, target) = (program.model, program.target);
    let found = requirements(program);
    let templates: std::collections::BTreeSet<&str> = found.iter().map(|(_, kernel, _)| kernel.template.as_str()).collect();
    line(text, format!("{} on {}: {} kernels of {} templates", model.name, target.name(), found.len(), templates.len()));
    if target.launches() {
        line(text, limits(model.maxima(target)));
    }
    for (requirement, kernel, times) in &found {
        line(text, String::new());
        line(text, format!("{}, x{times} in a step: {}", requirement.op, params(requirement)));
        line(text, format!("  {:<10} {}: {}", "runs", kernel.template, kernel.reason));
        if !kernel.tuned.is_empty() {
            let tuned: Vec<String> = kernel.tuned.iter().map(|(name, value)| format!("{name} {value}")).collect();
            line(text, format!("  {:<10} {}", "tuned", tuned.join(", ")));
        }
        if let Some(launch) = &kernel.launch {
            line(text, format!("  {:<10} {}", "launch", shown(launch)));
        }
        for (name, why) in &kernel.others {
            line(text, format!("  {:<10} {name}: {why}", "not"));
        }
    }
}

/// Each op at its dimensions, its kernel, and how often a step runs it.
fn requirements<'p>(program: &'p Program<'_>) -> Vec<(Requirement, &'p Kernel, usize)> {
    let mut found: Vec<(Requirement, &Kernel, usize)> = Vec::new();
    for (op, times) in weighted(program, |_| true) {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        match found.iter_mut().find(|(known, ..)| *known == requirement) {
            Some((.., sum)) => *sum += times,
            None => {
                let kernel = program.model.kernel(program.target, &requirement);
                found.push((requirement, kernel, times));
            }
        }
    }
    found
}

fn params(requirement: &Requirement) -> String {
    let shown = |(name, set): &(&str, ParamSet)| match set {
        ParamSet::Int(value) => format!("{name} {value}"),
        ParamSet::Names(names) => format!("{name} {}", listed(names, "and").replace('`', "")),
    };
    requirement.params.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn limits(maxima: Maxima) -> String {
    let Maxima { step_tokens, sequences, context, page_size, pages } = maxima;
    format!(
        "largest step: {} tokens of {} sequences, context {}, {} pages of {} tokens",
        thousands(step_tokens),
        thousands(sequences),
        thousands(context),
        thousands(pages),
        thousands(page_size)
    )
}

fn shown(launch: &Launch) -> String {
    let sizes = |sizes: [u64; 3]| {
        let axes = sizes.iter().rposition(|size| *size != 1).map_or(1, |last| last + 1);
        sizes[..axes].iter().map(|size| thousands(*size)).collect::<Vec<_>>().join(" x ")
    };
    let memory = match launch.shared_bytes {
        0 => String::new(),
        bytes => format!(", {} bytes of shared memory", thousands(bytes)),
    };
    format!("{} blocks of {} threads{memory}", sizes(launch.grid), sizes(launch.block))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{driver, emit, models, programs};

    /// What `tenon plan --kernels` says of a base of the UI tests, beside a second template for attention.
    fn said(model: &str, priority: &str, head_dim: &str) -> String {
        let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/base");
        let all = driver::read(&ui, "model-specs", "kernel-templates").unwrap();
        let mut sources = driver::only(&all, &[model.to_owned()]);
        let attention = all.files().find(|(_, f)| f.path.ends_with("cpu_attention/TEMPLATE.toml")).unwrap().1.text.clone();
        let second = attention
            .replace("head_dim = { multiple_of = 8, max = 512 }", head_dim)
            .replace("target = \"cpu\"", &format!("target = \"cpu\"\n{priority}"));
        sources.add("kernel-templates/second/TEMPLATE.toml", second);
        let models = models(&sources).unwrap_or_else(|found| panic!("{:?}", found.sorted()));
        emit::kernels_text(&programs(&models[0]))
    }

    #[test]
    fn every_choice_has_a_reason() {
        let misfit = said("llama", "", "head_dim = { multiple_of = 16, max = 64 }");
        let attention = "attention, x24 in a step: num_key_value_heads 2, group 4, head_dim 72, kv_dtype bf16 and f32
  runs       cpu_attention: the only one that fits
  tuned      tile_q 4
  not        second: head_dim 72 is outside of { multiple_of = 16, max = 64 }
";
        assert!(misfit.contains(attention), "{misfit}");
        let ranked = said("llama", "priority = 3", "head_dim = { multiple_of = 8, max = 512 }");
        let attention = "  runs       second: the highest priority of those that fit
  tuned      tile_q 4
  not        cpu_attention: it fits, without a priority
";
        assert!(ranked.contains(attention), "{ranked}");
        assert!(ranked.contains("  tuned      tile 4\n"), "{ranked}");
        assert!(!ranked.contains("launch"), "functions are not launched: {ranked}");
    }

    #[test]
    fn launches_are_those_of_the_largest_step() {
        let text = said("llama_sm90a", "", "head_dim = { multiple_of = 8, max = 512 }");
        let attention = "  runs       sm90a_attention: the only one that fits
  tuned      tile_kv 64, stages 2, kv_splits 8
  launch     2 x 8 x 256 blocks of 128 threads, 131,072 bytes of shared memory
";
        assert!(text.contains(attention), "{text}");
        assert!(text.starts_with("llama_sm90a on sm_90a: 21 kernels of 13 templates\nlargest step: 8,192 tokens"), "{text}");
    }
}
