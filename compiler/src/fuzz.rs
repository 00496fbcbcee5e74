//! Spoilt specs and templates through all stages: text to files. Nothing panics; what is taken is emitted; what is refused is rendered,
//! and says a place that exists; advice in the form of patches does not make a file that panics either.
//!
//! The cases are the same on every machine. `TENON_FUZZ=N` runs N times as many.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::diagnostic::{Diagnostics, Format};
use crate::parse::fuzz::{Random, every_place_is_in_its_file, spoil};
use crate::source::SourceMap;
use crate::{driver, files, models};

/// Numbers at which arithmetic goes wrong first: the ends of the types, and what no dimension is.
const NUMBERS: [&str; 22] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "4096",
    "65536",
    "2147483647",
    "4294967295",
    "4294967296",
    "1152921504606846976",
    "9223372036854775807",
    "-1",
    "-9223372036854775808",
    "0.0",
    "1e-320",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "true",
    "\"\"",
];

/// With one number of the text replaced by one of [`NUMBERS`].
fn with_a_number(text: &str, random: &mut Random) -> String {
    let mut places = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let is_part = c.is_ascii_digit() || (start.is_some() && matches!(c, '.' | 'e' | '-' | '_'));
        // Digits of names such as `llama3` are no numbers.
        let after_name = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match (start, is_part) {
            (None, true) if !after_name => start = Some(at),
            (Some(from), false) => {
                places.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    if places.is_empty() {
        return text.to_owned();
    }
    let place = places[random.below(places.len())].clone();
    format!("{}{}{}", &text[..place.start], NUMBERS[random.below(NUMBERS.len())], &text[place.end..])
}

/// One case through all stages. True if it was taken.
fn compile(sources: &SourceMap, render: bool) -> bool {
    match models(sources) {
        Ok(models) => {
            let files = files(&models);
            assert!(files.iter().all(|file| !file.text.is_empty()), "an empty file");
            true
        }
        Err(found) => {
            assert!(every_place_is_in_its_file(&found, sources));
            if render {
                for format in Format::ALL {
                    assert!(!found.render(sources, format, false).is_empty());
                }
                let _ = models(&patched(&found, sources)).map(|models| files(&models));
            }
            false
        }
    }
}

/// With every patch applied that no other overlaps.
fn patched(found: &Diagnostics, sources: &SourceMap) -> SourceMap {
    let mut patches: Vec<_> = found.sorted().into_iter().flat_map(|d| &d.patches).collect();
    patches.sort_by(|a, b| b.span.cmp(&a.span));
    let mut out = SourceMap::default();
    for (id, file) in sources.files() {
        let mut text = file.text.clone();
        let mut end = text.len();
        for patch in patches.iter().filter(|patch| patch.span.file == id) {
            if patch.span.range.end <= end {
                end = patch.span.range.start;
                text.replace_range(patch.span.range.clone(), &patch.replacement);
            }
        }
        out.add(file.path.clone(), text);
    }
    out
}

/// The sources with one file spoilt.
fn spoilt(sources: &SourceMap, path: &str, random: &mut Random) -> SourceMap {
    let mut out = SourceMap::default();
    for (_, file) in sources.files() {
        let text = match (file.path == path, random.below(3)) {
            (false, _) => file.text.clone(),
            (true, 0) => spoil(&file.text, random),
            (true, 1) => with_a_number(&file.text, random),
            (true, _) => with_a_number(&with_a_number(&file.text, random), random),
        };
        out.add(file.path.clone(), text);
    }
    out
}

#[test]
fn spoilt_specs_through_all_stages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the compiler stands in the workspace");
    let all = driver::read(root, "model-specs", "kernel-templates").unwrap();
    let names = driver::model_names(&all);
    let times: usize = std::env::var("TENON_FUZZ").map_or(1, |n| n.parse().expect("TENON_FUZZ is a number"));
    // A model alone is quick. Templates are shared by all, so that each is spoilt under one model.
    let alone: Vec<SourceMap> = names.iter().map(|name| driver::only(&all, std::slice::from_ref(name))).collect();
    let mut jobs: Vec<(&SourceMap, String, u64)> = Vec::new();
    for (n, sources) in alone.iter().enumerate() {
        for (_, file) in sources.files() {
            let cases = match &file.path {
                path if path.starts_with("model-specs/") => 100,
                path if path.ends_with("/TEMPLATE.toml") => usize::from(jobs.len() % names.len() == n),
                // CUDA code: spoilt text of it is for nvcc to find.
                _ => 0,
            };
            jobs.extend((0..cases * times).map(|case| (sources, file.path.clone(), (n * 1000 + case) as u64)));
        }
    }
    through_all_stages(&jobs);
}

/// The made-up templates of the UI tests for a GPU, with their code, limits and dimensions.
#[test]
fn spoilt_launches_through_all_stages() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/base");
    let all = driver::read(&ui, "model-specs", "kernel-templates").unwrap();
    let sources = driver::only(&all, &["llama_sm90a".to_owned()]);
    let times: usize = std::env::var("TENON_FUZZ").map_or(1, |n| n.parse().expect("TENON_FUZZ is a number"));
    // Most of what spoils CUDA code is for nvcc to find: of the entries of kernels, one is enough.
    let is_of_a_gpu = |path: &&str| path.contains("sm90a") && (!path.ends_with(".cu.jinja") || path.contains("sm90a_linear/"));
    let paths: Vec<&str> = sources.files().map(|(_, file)| file.path.as_str()).filter(is_of_a_gpu).collect();
    assert!(paths.len() > 10);
    let cases = |path: &str| (0..60 * times).map(|seed| (&sources, path.to_owned(), seed as u64)).collect::<Vec<_>>();
    through_all_stages(&paths.into_iter().flat_map(cases).collect::<Vec<_>>());
}

/// Spoils a file of sources with a seed, for each of many.
fn through_all_stages(jobs: &[(&SourceMap, String, u64)]) {
    let (next, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((sources, path, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = spoilt(sources, path, &mut Random::new(*seed));
                    let run = std::panic::AssertUnwindSafe(|| compile(&case, seed % 4 == 0));
                    match std::panic::catch_unwind(run) {
                        Ok(was_taken) => taken.fetch_add(usize::from(was_taken), Ordering::Relaxed),
                        Err(_) => {
                            let text = &case.files().find(|(_, file)| file.path == *path).unwrap().1.text;
                            panic!("{path} with seed {seed} panics:\n{text}");
                        }
                    };
                }
            });
        }
    });
    let taken = taken.into_inner();
    println!("{} cases, {taken} taken", jobs.len());
    assert!(taken > jobs.len() / 50 && taken < jobs.len() / 2, "{taken} of {} taken: the cases miss one side", jobs.len());
}
