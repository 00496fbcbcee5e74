//! Load errors: a golden's checkpoint is spoilt and given to the model that was compiled for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tenon_compiler::check::checkpoint::expect;
use tenon_core::dtype::KvDtypeName;
use tenon_core::weights::{Checkpoint, LoadError, PlannedTensor};
use tenon_formats::expect::tensors::{Need, TensorCheck, in_layer};
use tenon_tests::golden::TABLES;
use tenon_tests::reference;
use tenon_tests::run::smallest;

use tenon_diagnostics::case::{Case, Files};
use tenon_diagnostics::stage::Stage;

#[test]
fn load_errors_read_as_expected() {
    let cases: Vec<Case> = Case::all().into_iter().filter(is_of_a_checkpoint).collect();
    assert!(cases.len() > 10, "there are cases of load errors");
    let run = |case: &Case| text(case).and_then(|text| case.compare_loaded(&text)).map_err(|why| format!("{}: {why}", case.name));
    let wrong: Vec<String> = cases.iter().filter_map(|case| run(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The compiler compares a checkpoint with the tables that the loader has, so that both give the same verdict.
#[test]
fn the_compiler_and_the_loader_compare_with_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let sources = tenon_compiler::driver::read(root, "tests/golden", "kernel-templates").expect("the specs are there");
    let models = tenon_compiler::models(&sources).unwrap_or_else(|e| panic!("{}", e.render(&sources, Default::default(), false)));
    assert!(models.len() >= 15, "{} goldens", models.len());
    for model in models {
        let (_, tensors, config) = TABLES.iter().find(|(name, ..)| *name == model.name).expect("it is compiled");
        let is_same = expect::with_contract(&model.config, |contract| contract == *config);
        assert!(is_same, "{}: another contract", model.name);
        expect::with_checks(&model, |checks| {
            let tensors: Vec<TensorCheck<'_>> = tensors.iter().filter_map(PlannedTensor::compared).collect();
            let (ours, loaders) = (each(checks), each(&tensors));
            assert!(ours.keys().eq(loaders.keys()), "{}: other tensors", model.name);
            let other = ours.iter().find(|(name, need)| loaders[*name] != **need);
            assert!(other.is_none(), "{}: {other:?}", model.name);
        });
    }
}

/// What each tensor must be, by name. Kinds of layers are cut into groups where the tables are compiled.
fn each<'t>(checks: &'t [TensorCheck<'t>]) -> BTreeMap<String, Need<'t>> {
    // Experts have names of their own.
    let name = |check: &TensorCheck<'t>| if matches!(check.need, Need::Experts(_)) { "experts.{layer}" } else { check.name };
    let names = |check: &TensorCheck<'t>| match check.layers {
        Some(layers) => layers.iter().map(|&layer| in_layer(name(check), layer)).collect(),
        None => vec![name(check).to_owned()],
    };
    checks.iter().flat_map(|check| names(check).into_iter().map(|name| (name, check.need))).collect()
}

/// Whether the mistake is in the checkpoint alone: the specs of the goldens are compiled as they are.
fn is_of_a_checkpoint(case: &Case) -> bool {
    case.stage() == Stage::Load && !case.edits_spec()
}

/// What the error says, with `CHECKPOINT` for the folder.
fn text(case: &Case) -> Result<String, String> {
    let golden = case.mistake.base.as_str();
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let checkpoint = folder.path().join("checkpoint");
    let kept = Files::of(&reference::folder(golden));
    kept.write(&checkpoint);
    if let Err(e) = load(golden, &checkpoint) {
        return Err(format!("the checkpoint is not loaded as it is: {e}"));
    }
    case.spoil(kept).write(&checkpoint);
    match load(golden, &checkpoint) {
        Ok(()) => Err("the checkpoint is loaded all the same".to_owned()),
        Err(e) => Ok(format!("{e}\n").replace(&checkpoint.display().to_string(), "CHECKPOINT")),
    }
}

fn load(golden: &str, checkpoint: &std::path::Path) -> Result<(), LoadError> {
    let entry = tenon_tests::golden::MODELS.iter().find(|model| model.info.name == golden).expect("a golden's name");
    let checkpoint = Arc::new(Checkpoint::open(checkpoint)?);
    let options = smallest(KvDtypeName::F32);
    entry.cpu.expect("goldens have the target cpu")(&checkpoint, &options).map(drop)
}
