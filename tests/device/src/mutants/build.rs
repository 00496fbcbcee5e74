//! Compiles a mutant at one instance, and tells why where it does not build.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use tenon_compiler::driver::nvcc::{FailureKind, Job, Nvcc};

use crate::instance::Instance;
use crate::template::Template;

use super::change::{Mutant, apply};
use super::parallel::Alone;
use super::verdict::Gate;

/// Why there is no machine code.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A static_assert of the template, by its message.
    Asserted(String),
    /// Anything else.
    Other(String),
}

/// The machine code of an instance whose template stands under `root`, beside `include`. What spills is run all the same.
pub fn build(nvcc: &Nvcc, root: &Path, template: &Template, instance: &Instance) -> Result<Vec<u8>, Refusal> {
    let job = Job {
        name: instance.name.clone(),
        source: instance.render(template).map_err(Refusal::Other)?,
        include: vec![root.join(&template.name), root.join("include")],
        max_spill_bytes: u64::MAX,
        dynamic_shared_bytes: 0,
    };
    let mut hasher = DefaultHasher::new();
    (&job.source, texts(root, &template.name)).hash(&mut hasher);
    let _alone = Alone::take(hasher.finish());
    let [result] = <[_; 1]>::try_from(nvcc.each(&[job], 1)).map_err(|_| Refusal::Other("no result of nvcc".to_owned()))?;
    result.map(|cubin| cubin.bytes).map_err(|failure| match failure.kind {
        FailureKind::Refused(output) => refusal(&output, &texts(root, &template.name)),
        _ => Refusal::Other(failure.to_string().lines().collect::<Vec<_>>().join("; ")),
    })
}

/// Whether a mutant is other machine code than the kernel at one of these instances, or refused as it should be. Its text is written to
/// `folder`.
///
/// # Errors
/// A text that does not apply, and the first instance that does not build though it should.
pub fn differs(
    nvcc: &Nvcc,
    templates: &Path,
    template: &Template,
    instances: &[&Instance],
    mutant: &Mutant,
    folder: &Path,
) -> Result<bool, String> {
    let changed = apply(&mutant.change, templates, template, folder)?;
    for instance in instances {
        let kernel = build(nvcc, templates, template, instance).map_err(|why| format!("{}: {why:?}", instance.name))?;
        match build(nvcc, folder, &changed, &mutant.change.instance(instance)) {
            Ok(code) if code == kernel => {}
            Ok(_) => return Ok(true),
            Err(Refusal::Asserted(_)) if mutant.gate == Some(Gate::Build) => return Ok(true),
            Err(why) => return Err(format!("{}: {why:?}", instance.name)),
        }
    }
    Ok(false)
}

/// Whether a static_assert stands in these texts by whose message nvcc refused.
fn refusal(output: &str, texts: &[String]) -> Refusal {
    let messages = output.split("static assertion failed with \"").skip(1).filter_map(|rest| rest.split('"').next());
    for message in messages {
        let quoted = format!("\"{message}\"");
        if texts.iter().any(|text| text.contains("static_assert(") && text.contains(&quoted)) {
            return Refusal::Asserted(message.to_owned());
        }
    }
    let error = output.lines().find(|line| line.contains("error")).or_else(|| output.lines().next());
    Refusal::Other(error.unwrap_or("nvcc says nothing").to_owned())
}

/// The texts of all headers and of the entry.
fn texts(root: &Path, template: &str) -> Vec<String> {
    let files = [template, "include"].into_iter().filter_map(|part| std::fs::read_dir(root.join(part)).ok());
    files.flatten().filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_of_the_template_is_an_assert_of_its_own() {
        let own = vec!["static_assert(DIM % 2 == 0, \"pairs\");".to_owned()];
        let output = |message: &str| format!("x.cu(3): error: static assertion failed with \"{message}\"\n1 error detected");
        assert_eq!(refusal(&output("pairs"), &own), Refusal::Asserted("pairs".to_owned()));
        assert!(matches!(refusal(&output("another"), &own), Refusal::Other(_)));
        assert_eq!(refusal("a\nx.cu(3): error: no `f`\n", &own), Refusal::Other("x.cu(3): error: no `f`".to_owned()));
    }
}
