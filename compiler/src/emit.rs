//! Emission: programs become files. Nothing here decides anything; what is printed was settled by `lower`.

mod constants;
mod cpu;
pub(crate) mod device;
mod imports;
mod plan;
mod root;
mod text;
mod weights;

use crate::model::Target;
use crate::program::Program;

pub(crate) use device::instance;
use plan::workspace;
pub use plan::{Ask, Deployment, Unplanned, deployment, fit, kernels as kernels_text, plan as plan_text};
pub(crate) use plan::{default_dtype, instance as instance_of};

/// One output file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the crate that holds the models, with forward slashes.
    pub path: String,
    /// Content.
    pub text: String,
}

/// Emits a crate of models: one folder per model under `src/`, the root that lists them, and the kernels that they launch. Each inner list
/// holds one program per target of one model.
pub fn emit(models: &[Vec<Program<'_>>]) -> Vec<File> {
    let mut files = vec![File { path: "src/lib.rs".to_owned(), text: root::root(models) }];
    for programs in models {
        files.extend(model(programs).into_iter().map(|f| File { path: format!("src/{}", f.path), ..f }));
    }
    files.extend(kernels(models));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Emits what these models share: `src/kernels/` with a wrapper for each template and the table of instances, and `kernels/` with the CUDA
/// text of each instance. Nothing where no model is for a target that launches kernels.
pub fn kernels(models: &[Vec<Program<'_>>]) -> Vec<File> {
    device::shared_files(models)
}

/// An instance of a kernel, to be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name: that of its entry and of its file.
    pub name: String,
    /// Its CUDA text.
    pub text: String,
    /// The folder of its template, which is on the include path.
    pub template: String,
    /// Bytes that its threads may spill.
    pub max_spill_bytes: u64,
    /// Most bytes of dynamic shared memory of a launch.
    pub shared_bytes: u64,
    /// The models that launch it, by name.
    pub models: Vec<String>,
}

/// Every instance that these models launch, by name.
pub fn instances(models: &[Vec<Program<'_>>]) -> Vec<Instance> {
    let all = device::instance::instances(models);
    all.into_values()
        .map(|instance| Instance {
            text: device::instance::cuda(&instance),
            template: instance.template.name.clone(),
            max_spill_bytes: instance.template.max_spill_bytes.as_ref().map_or(0, |spill| spill.value),
            shared_bytes: instance.shared_bytes,
            models: instance.models.into_iter().collect(),
            name: instance.name,
        })
        .collect()
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
            Target::Sm90a => files.extend(device::model(program)),
        }
    }
    files
}
