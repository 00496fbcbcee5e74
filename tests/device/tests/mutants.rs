//! Mutants as data: each applies, each template has enough, and each reference gives what its template takes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon_compiler::driver::nvcc::{self, Nvcc};
use tenon_device_tests::REFERENCES;
use tenon_device_tests::instance::Instance;
use tenon_device_tests::mutants::{Gate, automatic, choose, differs, survivors, written};
use tenon_device_tests::template::Template;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn templates() -> Vec<Template> {
    Template::all(&root().join("kernel-templates")).unwrap()
}

#[test]
fn every_written_mutant_applies_exactly_once() {
    let (folder, mut faults) = (root().join("kernel-templates"), Vec::new());
    for template in templates() {
        let mutants = written(&folder, &template.name).unwrap();
        if mutants.len() < 4 {
            faults.push(format!("{} has {} mutants, and needs four", template.name, mutants.len()));
        }
        for mutant in mutants {
            if let Err(why) = mutant.change.text(&folder, &template.name) {
                faults.push(format!("{} / {}: {why}", template.name, mutant.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn automatic_mutants_apply_and_are_bounded() {
    let (folder, mut total) = (root().join("kernel-templates"), 0);
    for template in templates() {
        let own = written(&folder, &template.name).unwrap();
        let mutants = automatic(&folder, &template, 12).unwrap();
        assert!(mutants.len() <= 12, "{}", template.name);
        let mut names: BTreeSet<&str> = own.iter().map(|mutant| mutant.name.as_str()).collect();
        for mutant in &mutants {
            assert!(names.insert(&mutant.name), "{} has two mutants called {}", template.name, mutant.name);
            mutant.change.text(&folder, &template.name).unwrap();
        }
        println!("{:<24} {:>3} written, {:>3} automatic", template.name, own.len(), mutants.len());
        total += own.len() + mutants.len();
    }
    println!("{total} mutants");
}

/// The faults that engines had, by the words of `field` in mutants.toml: nine of the Mamba2 ops, and six of attention.
const FIELD: [&str; 15] = [
    "drop the inter-chunk term",
    "ignore initial states",
    "read this chunk's state for the previous one's",
    "drop D",
    "ignore slot indices",
    "treat a null row as slot 0",
    "whole-row variance instead of per group",
    "sigmoid for silu",
    "drop the sign check of A",
    "HEAD_DIM of another model",
    "scale over the latent dim",
    "chunk that ignores the cache",
    "fp8 cache on a bf16 latent",
    "swapped grid axes",
    "warp mask over a ragged tail",
];

#[test]
fn faults_from_the_field_are_among_the_written_ones() {
    let folder = root().join("kernel-templates");
    let mut found: BTreeSet<String> = BTreeSet::new();
    for template in templates() {
        for mutant in written(&folder, &template.name).unwrap() {
            let Some(field) = mutant.field else { continue };
            assert!(FIELD.contains(&field.as_str()), "{} / {}: nobody knows `{field}`", template.name, mutant.name);
            let gate = mutant.gate.map_or("none", Gate::name);
            println!("{field:<48} {} / {}, which {gate} must catch", template.name, mutant.name);
            found.insert(field);
        }
    }
    let missing: Vec<&str> = FIELD.into_iter().filter(|field| !found.contains(*field)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Of all written mutants these alone are compiled here: `tenon-device-tests mutants --compile-only` does so with the rest.
#[test]
fn faults_from_the_field_are_other_machine_code() {
    let Ok(path) = nvcc::find() else { return println!("skipped: no nvcc") };
    let nvcc = Nvcc::new(&path, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tenon-cubins")).unwrap();
    let (folder, templates) = (root().join("kernel-templates"), templates());
    let instances = Instance::listed(&templates, &root().join("tests/device/instances.toml"), &[]).unwrap();
    for (index, template) in templates.iter().enumerate() {
        let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
        for mutant in written(&folder, &template.name).unwrap().into_iter().filter(|mutant| mutant.field.is_some()) {
            let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants").join(&template.name).join(mutant.folder());
            let differs = differs(&nvcc, &folder, template, &choose(&own), &mutant, &place);
            assert_eq!(differs, Ok(true), "{} / {}", template.name, mutant.name);
        }
    }
}

#[test]
fn every_gate_is_expected_by_a_written_mutant() {
    let folder = root().join("kernel-templates");
    let mutants: Vec<_> = templates().iter().flat_map(|template| written(&folder, &template.name).unwrap()).collect();
    for gate in Gate::ALL {
        assert!(mutants.iter().any(|mutant| mutant.gate == Some(gate)), "no mutant is there for `{}`", gate.name());
    }
}

#[test]
fn every_survivor_is_an_automatic_mutant_with_a_reason() {
    let (folder, mut faults) = (root().join("kernel-templates"), Vec::new());
    for template in templates() {
        let all = automatic(&folder, &template, usize::MAX).unwrap();
        for known in survivors(&folder, &template.name).unwrap() {
            if !all.iter().any(|mutant| known.matches(mutant, &folder, &template.name)) {
                faults.push(format!("{}: nothing is changed in `{}` of {}", template.name, known.line, known.file));
            }
            if known.because.split_whitespace().count() < 5 {
                faults.push(format!("{}: `{}` is no reason", template.name, known.because));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Of the instances that mutants are tried on first: the others have the same reference.
#[test]
fn every_reference_has_cases_with_the_arguments_of_its_template() {
    let templates = templates();
    let instances = Instance::listed(&templates, &root().join("tests/device/instances.toml"), &[]).unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some((index, template)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, templates.get(i)?)))
        {
            let own: Vec<&Instance> = instances.iter().filter(|i| i.template == index).collect();
            let reference = REFERENCES.iter().find(|r| r.template == template.name);
            let (Some(instance), Some(reference)) = (choose(&own).first().copied(), reference) else {
                faults.push(format!("{} has no instance or no reference", template.name));
                continue;
            };
            let args: BTreeSet<&str> = template.args.iter().map(|arg| arg.name.as_str()).collect();
            let cases = (reference.cases)(&instance.params);
            if cases.is_empty() {
                faults.push(format!("{} has no case", instance.name));
            }
            for case in cases {
                let given: BTreeSet<&str> = case.args.iter().map(|(name, _)| *name).collect();
                if given != args || given.len() != case.args.len() {
                    faults.push(format!("{} / {}: {given:?}, and the template takes {args:?}", instance.name, case.name));
                }
                if case.expected.is_empty() || !case.expected.iter().all(|expected| args.contains(expected.arg)) {
                    faults.push(format!("{} / {}: an output is no argument", instance.name, case.name));
                }
            }
        }
        faults
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
