//! Load errors: a golden's checkpoint is spoilt and given to the model that was compiled for it.

use std::sync::Arc;

use tenon_core::cpu::Isa;
use tenon_core::dtype::KvDtypeName;
use tenon_core::model::LoadOptions;
use tenon_core::weights::{Checkpoint, LoadError};
use tenon_tests::reference;

use tenon_diagnostics::case::{Case, Files};
use tenon_diagnostics::stage::Stage;

#[test]
fn load_errors_read_as_expected() {
    let cases: Vec<Case> = Case::all().into_iter().filter(|case| Stage::of(case.id) == Stage::Load).collect();
    assert!(cases.len() > 3, "there are cases of load errors");
    let run = |case: &Case| text(case).and_then(|text| case.compare(&text)).map_err(|why| format!("{}: {why}", case.name));
    let wrong: Vec<String> = cases.iter().filter_map(|case| run(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let options = LoadOptions {
        threads: 1,
        isa: Isa::Portable,
        kv_cache_dtype: KvDtypeName::F32,
        page_size: 16,
        pages: 1,
        state_slots: 1,
        snapshots: 0,
        max_batch_tokens: 1,
        max_logit_rows: 1,
        max_positions: None,
    };
    entry.cpu.expect("goldens have the target cpu")(&checkpoint, &options).map(drop)
}
