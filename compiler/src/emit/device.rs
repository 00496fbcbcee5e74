//! Code for a device that launches kernels: wrappers and instances, which models share, and the step of each model.

mod call;
mod generics;
pub(crate) mod instance;
mod kernels;
mod load;
mod memory;
mod numbers;
mod shared;
mod step;
mod weights;
mod wrapper;

use crate::emit::File;
use crate::emit::constants::common_dtypes;
use crate::model::KvDtype;
use crate::program::Program;

pub use shared::files as shared_files;

/// The files of one model, relative to the folder that holds it.
pub fn model(program: &Program<'_>) -> Vec<File> {
    let module = program.model.module();
    let fields = kernels::fields(program);
    let file = |name: &str, text: String| File { path: format!("{module}/{name}"), text };
    vec![
        file("sm_90a.rs", step::file(program, &fields)),
        file("sm_90a_model.rs", step::model_file(program)),
        file("sm_90a_kernels.rs", kernels::file(program)),
        file("sm_90a_memory.rs", memory::file(program, &fields)),
        file("sm_90a_weights.rs", weights::file(program)),
    ]
}

/// The cache dtypes of a model on a device, the default first.
pub fn device_dtypes(program: &Program<'_>) -> Vec<KvDtype> {
    common_dtypes(program.model, program.target)
}

fn dtype_type(dtype: KvDtype) -> &'static str {
    match dtype {
        KvDtype::F32 => "F32",
        KvDtype::Bf16 => "Bf16",
        KvDtype::Fp8E4m3 => "Fp8E4m3",
    }
}
