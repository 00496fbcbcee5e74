//! Whole models with a mutant in them: this program, in whose copy the machine code of every instance of a template is the mutant's.
//!
//! A case launches one kernel, so it cannot tell what kernels owe each other, such as to wait. The models of the goldens are compiled into
//! this program with their kernels, byte for byte as nvcc gave them; a mutant whose code is no longer takes the place of the kernel's.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::instance::Instance;
use crate::template::Template;

use super::build::build;
use super::change::Mutant;
use super::harness::{Harness, Waits};
use super::parallel::Turn;
use super::plan::Plan;
use super::process::watch_goldens;
use super::verdict::Verdict;

/// Seconds for the goldens of a mutant.
const GOLDENS: f64 = 120.0;

impl Harness<'_> {
    /// What the goldens say that a mutant names, with the mutant in every instance of its template.
    pub(super) fn with_goldens(
        &self,
        plan: &Plan,
        mutant: &Mutant,
        changed: &Template,
        folder: &Path,
        waits: &Waits,
    ) -> Result<Verdict, String> {
        let io = |e: std::io::Error| format!("{}: {e}", folder.display());
        let control = {
            let mut known = self.goldens.lock().unwrap_or_else(PoisonError::into_inner);
            let run = || self.goldens_of(&self.program, mutant, &folder.join("control.json"), waits);
            known.entry(mutant.goldens.clone()).or_insert_with(run).clone()
        };
        match control {
            Verdict::Missed => {}
            Verdict::Caught(kill) => return Ok(Verdict::ControlRed(kill.text)),
            other => return Ok(other),
        }
        let mut program = std::fs::read(&self.program).map_err(io)?;
        let names = names(&program, &plan.template.name);
        let original = Template { folder: plan.texts.join(&plan.template.name), ..plan.template.clone() };
        let mut replaced = 0;
        for instance in names.iter().filter_map(|name| Instance::parse(&original, name)) {
            let [kernel, other] = [(plan.texts, &original), (folder, changed)]
                .map(|(root, template)| build(&self.nvcc, root, template, &mutant.change.instance(&instance)));
            let (Ok(kernel), Ok(other)) = (kernel, other) else {
                return Ok(Verdict::Unviable(format!("{} does not build", instance.name)));
            };
            match replace(&mut program, &kernel, &other) {
                Ok(places) => replaced += places,
                Err(why) => return Ok(Verdict::Unviable(why)),
            }
        }
        if replaced == 0 {
            return Err("no model of this program has a kernel of the template".to_owned());
        }
        let path = folder.join("program");
        write(&program, &self.program, &path)?;
        Ok(self.goldens_of(&path, mutant, &folder.join("goldens.json"), waits))
    }

    /// Runs goldens in a program.
    fn goldens_of(&self, program: &Path, mutant: &Mutant, result: &Path, waits: &Waits) -> Verdict {
        let mut command = Command::new(program);
        command.args(["goldens", "--only", &mutant.goldens, "--json"]).arg(result);
        let start = Instant::now();
        let _turn = Turn::take(&self.on_device);
        waits.0.set(waits.0.get() + start.elapsed());
        watch_goldens(&mut command, result, Duration::from_secs_f64(GOLDENS))
    }
}

/// The names in a program that may be instances of a template: what stands before `_manifest` in their symbols.
fn names(program: &[u8], template: &str) -> BTreeSet<String> {
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = |end: usize| {
        let len = program[..end].iter().rev().take_while(|byte| is_name(byte)).count();
        String::from_utf8_lossy(&program[end - len..end]).into_owned()
    };
    let ends = places(program, b"_manifest\0");
    ends.into_iter().map(name).filter(|name| name.starts_with(template)).collect()
}

/// Puts other machine code in every place where `original` stands, and says how many there are.
///
/// # Errors
/// Where the other is longer: everything after it would have to move.
fn replace(program: &mut [u8], original: &[u8], other: &[u8]) -> Result<usize, String> {
    if other.len() > original.len() {
        return Err(format!("its machine code has {} bytes, and the kernel's {}", other.len(), original.len()));
    }
    let places = places(program, original);
    for at in &places {
        let room = &mut program[*at..at + original.len()];
        room.fill(0);
        room[..other.len()].copy_from_slice(other);
    }
    Ok(places.len())
}

/// Where a text of bytes stands; no two of them overlap.
fn places(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let (Some(first), mut at, mut found) = (text.first(), 0, Vec::new()) else { return Vec::new() };
    while let Some(next) = bytes[at..].iter().position(|byte| byte == first) {
        at += next;
        if bytes[at..].starts_with(text) {
            found.push(at);
            at += text.len();
        } else {
            at += 1;
        }
    }
    found
}

/// Writes a program that can be run.
///
/// # Errors
/// A file that cannot be written.
fn write(program: &[u8], like: &Path, to: &Path) -> Result<(), String> {
    let io = |e: std::io::Error| format!("{}: {e}", to.display());
    std::fs::write(to, program).map_err(io)?;
    let permissions = std::fs::metadata(like).map_err(io)?.permissions();
    std::fs::set_permissions(to, permissions).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_the_symbols_of_manifests() {
        let program = b"\0rms_norm_f32_d64_manifest\0x rms_norm_f32_d8_manifest\0rope_hd8_manifest\0 manifest_manifest";
        let names = names(program, "rms_norm");
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["rms_norm_f32_d64", "rms_norm_f32_d8"]);
    }

    #[test]
    fn every_place_gets_the_other_code() {
        let mut program = *b"..codE..cocodE.";
        assert_eq!(replace(&mut program, b"codE", b"ab"), Ok(2));
        assert_eq!(&program, b"..ab\0\0..coab\0\0.");
        assert_eq!(replace(&mut program, b"codE", b"x"), Ok(0));
        assert!(replace(&mut program, b"ab", b"longer").is_err());
        assert!(places(b"abc", b"").is_empty());
    }
}
