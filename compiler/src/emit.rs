//! Emission: programs become files. Nothing here decides anything; what is printed was settled by `lower`.

mod constants;
mod cpu;
mod imports;
mod plan;
mod root;
mod text;
mod weights;

use crate::model::Target;
use crate::program::Program;

pub(crate) use plan::instance;
use plan::workspace;
pub use plan::{Ask, Deployment, Unplanned, deployment, fit, kernels as kernels_text, plan as plan_text};

/// One output file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the crate that holds the models, with forward slashes.
    pub path: String,
    /// Content.
    pub text: String,
}

/// Emits a crate of models: one folder per model under `src/`, and the root that lists them. Each inner list holds one
/// program per target of one model.
pub fn emit(models: &[Vec<Program<'_>>]) -> Vec<File> {
    let mut files = vec![File { path: "src/lib.rs".to_owned(), text: root::root(models) }];
    for programs in models {
        files.extend(model(programs).into_iter().map(|f| File { path: format!("src/{}", f.path), ..f }));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Emits the folder of one model, relative to the folder that holds it.
pub fn model(programs: &[Program<'_>]) -> Vec<File> {
    let module = programs[0].model.module();
    let file = |name: &str, text: String| File { path: format!("{module}/{name}"), text };
    let mut files = vec![
        file("mod.rs", constants::constants(programs)),
        file("config.rs", constants::config_file(&programs[0])),
        file("layers.rs", weights::layers(&programs[0])),
        file("tensors.rs", weights::tensors(&programs[0])),
        file("weights.rs", weights::weights(&programs[0])),
        file("plan.txt", plan::plan(programs)),
        file("plan.json", plan::facts(programs)),
    ];
    for program in programs {
        match program.target {
            Target::Cpu => {
                files.push(file("cpu.rs", cpu::cpu(program)));
                files.push(file("cpu_memory.rs", cpu::memory(program)));
            }
            // There is no emitter yet, and `emittable` refuses the build. Code for another target in its place would be the fallback
            // that this project does not have.
            Target::Sm90a => {}
        }
    }
    files
}
