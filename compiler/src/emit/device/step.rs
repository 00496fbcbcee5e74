//! `sm_90a.rs` of a model: one step on a GPU as straight-line launches, a function per kind of block.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::call::Calls;
use super::kernels::Field;
use super::memory::cache_type;
use super::{dtype_type, load};
use crate::emit::cpu::which;
use crate::emit::imports::Imports;
use crate::emit::text::{blank, edit_line, ident, rust, type_name};
use crate::emit::weights::kind_type;
use crate::lower;
use crate::model::KvDtype;
use crate::program::{CacheDtype, Group, Program, Schedule};

const RUNTIME: [(&str, &[&str]); 7] = [
    ("tenon_core::batch", &["Batch", "BatchLimits", "SequenceSpan", "SnapshotId", "StateSlot"]),
    ("tenon_core::cpu", &["Cpu"]),
    (
        "tenon_core::cuda",
        &[
            "Arg",
            "Bf16",
            "Buckets",
            "CudaError",
            "Device",
            "DeviceDeltaState",
            "DeviceElement",
            "DeviceLatentCache",
            "DeviceMamba2State",
            "DevicePagedKv",
            "F32",
            "Graphs",
            "Phase",
            "Run",
            "SampledRows",
            "StepBuffer",
            "StepDims",
            "Turn",
        ],
    ),
    ("tenon_core::dtype", &["Fp8E4m3", "KvDtype", "KvDtypeName"]),
    ("tenon_core::layers", &["try_each_layer"]),
    (
        "tenon_core::model",
        &["LoadOptions", "Logits", "Memory", "Model", "ModelInfo", "RowSampling", "SampledModel", "StateError", "StepError"],
    ),
    ("tenon_core::weights", &["Checkpoint", "LoadError"]),
];

/// The text of `sm_90a.rs`.
pub fn file(program: &Program<'_>, fields: &[Field<'_>]) -> String {
    let calls = Calls { program, fields };
    let blocks = (0..program.model.kinds.len()).map(|kind| block(program, &calls, kind));
    let launch = launch(program, &calls);
    text(program, "one step over a batch, layer by layer", quote!(#(#blocks)* #launch))
}

/// The text of `sm_90a_model.rs`.
pub fn model_file(program: &Program<'_>) -> String {
    let (step, load) = (step(program), load::load(program));
    text(program, "how it is loaded, and steps as graphs or launch by launch", quote!(#step #load))
}

/// A file with what it says, and with its imports.
fn text(program: &Program<'_>, what: &str, body: TokenStream) -> String {
    let model = program.model;
    let mut imports = Imports::of(&body);
    let std = imports.take("std::sync", ["Arc"]);
    let defines_step = body.to_string().contains("struct Resident");
    if defines_step {
        // A variant of its own, and not the runtime's type.
        let _ = imports.take("self", ["Logits"]);
    }
    let runtime: Vec<TokenStream> =
        RUNTIME.iter().filter_map(|(path, names)| imports.take(path, names.iter().copied())).collect();
    let kinds: BTreeSet<String> = program.groups.iter().map(|g| kind_type(model, g).to_string()).collect();
    let own: Vec<TokenStream> = [
        imports.take("super::layers", ["Kind", "PATTERN"]),
        // The file that has them defines them.
        imports.take("super::sm_90a", ["Choice", "Resident"]).filter(|_| !defines_step),
        imports.take("super::sm_90a_kernels", ["Kernels"]),
        imports.take("super::sm_90a_memory", ["Caches", "EXPANDED_ROWS", "PLAN", "Scratch"]),
        imports.take("super::sm_90a_weights", kinds.iter().map(String::as_str).chain(["Weights"])),
        imports.constants("super"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let space = blank();
    let header = format!("{} on sm_90a: {what}.", model.name);
    rust(&[&header, &edit_line(&model.folder)], quote!(#std #space #(#runtime)* #space #(#own)* #space #body))
}

/// The kernels that a group of layers launches.
fn kernels(group: &Group) -> proc_macro2::Ident {
    match group.cache {
        CacheDtype::Fixed(dtype) => ident(&format!("kernels_{}", dtype.as_str())),
        CacheDtype::Chosen | CacheDtype::None => ident("k"),
    }
}

/// Dtypes that layers at the edges keep, whatever is chosen.
pub(super) fn fixed(program: &Program<'_>) -> Vec<KvDtype> {
    let mut dtypes = Vec::new();
    for group in &program.groups {
        if let CacheDtype::Fixed(dtype) = group.cache
            && !dtypes.contains(&dtype)
        {
            dtypes.push(dtype);
        }
    }
    dtypes
}

/// The function of one kind of block.
fn block(program: &Program<'_>, calls: &Calls<'_, '_>, kind: usize) -> TokenStream {
    let model = program.model;
    let (space, block) = (blank(), &model.kinds[kind]);
    let name = ident(&lower::field_name(&block.name));
    let ty = type_name(&lower::field_name(&block.name));
    let statements = calls.statements(&program.ops.kinds[kind], "run");
    let layers: Vec<usize> = (0..model.pattern.len()).filter(|l| model.pattern[*l] == kind).collect();
    let parts: Vec<String> = [block.mixer.as_ref().map(|(n, _)| n.clone()), block.ffn.as_ref().map(|(n, _)| n.clone())]
        .into_iter()
        .flatten()
        .collect();
    let doc = format!(" {}: {}.", which(&layers, model.pattern.len()), parts.join(", then "));
    let cache = block.mixer.as_ref().map(|(_, mixer)| {
        let (name, ty) = (ident(if mixer.is_recurrent() { "state" } else { "kv" }), cache_type(mixer, &ident("D")));
        quote!(#name: &mut #ty,)
    });
    quote! {
        #space
        #[doc = #doc]
        fn #name<D: KvDtype + DeviceElement>(
            k: &mut Kernels<D>,
            w: &#ty,
            #cache
            s: &mut Scratch,
            run: &Run<'_>,
        ) -> Result<(), CudaError> {
            #statements
            Ok(())
        }
    }
}

/// What lies on the device, and a step over it.
fn launch(program: &Program<'_>, calls: &Calls<'_, '_>) -> TokenStream {
    let space = blank();
    let prologue = calls.statements(&program.ops.prologue, "run");
    let layers = layers(program);
    // What stands behind the gathering of rows is computed for those alone.
    let gathered = 1.min(program.ops.epilogue.len());
    let gather = calls.statements(&program.ops.epilogue[..gathered], "run");
    let head = calls.statements(&program.ops.epilogue[gathered..], "head");
    let fixed = fixed(program);
    let fixed_fields = fixed.iter().map(|dtype| {
        let (name, ty) = (ident(&format!("kernels_{}", dtype.as_str())), ident(dtype_type(*dtype)));
        quote!(pub #name: Kernels<#ty>,)
    });
    let fixed_names = fixed.iter().map(|dtype| ident(&format!("kernels_{}", dtype.as_str())));
    let logits = logits(program);
    quote! {
        #space
        /// What lies on the device.
        pub struct Resident<D: KvDtype + DeviceElement> {
            pub weights: Weights,
            pub caches: Caches<D>,
            pub scratch: Scratch,
            pub kernels: Kernels<D>,
            #(#fixed_fields)*
            pub step: StepBuffer,
            pub sampled: SampledRows,
        }
        #space
        /// What a step ends with.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Choice {
            /// Rows of logits.
            Logits,
            /// The most likely token of each row.
            Greedy,
            /// A token of each row, as the row says.
            Sampled,
        }
        #space
        impl<D: KvDtype + DeviceElement> Resident<D> {
            /// Launches a step over the tokens that the step buffer was filled with.
            pub fn launch(&mut self, dims: StepDims, spans: &[SequenceSpan], choice: Choice) -> Result<(), CudaError> {
                let Self { weights: w, caches, scratch: s, kernels: k, #(#fixed_names,)* step, sampled } = self;
                let run = &Run::new(step, dims, spans);
                #prologue
                #layers
                if dims.logit_rows == 0 {
                    return Ok(());
                }
                #gather
                let head = &run.over_logit_rows();
                #head
                match choice {
                    Choice::Logits => {}
                    Choice::Greedy => {
                        k.argmax.launch(head, &s.#logits, sampled.ids_mut(head.rows()))?;
                    }
                    Choice::Sampled => {
                        let [temperature, top_k, top_p, random, ids] = sampled.args_mut(head.rows());
                        k.sample.launch(head, &s.#logits, temperature, top_k, top_p, random, ids)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn logits(program: &Program<'_>) -> proc_macro2::Ident {
    let buffer = program.buffers.iter().find(|b| b.buf.name == "logits").expect("the head writes logits");
    ident(&buffer.field)
}

fn layers(program: &Program<'_>) -> TokenStream {
    let call = |group: &Group, weights: TokenStream, cache: Option<TokenStream>| {
        let (function, kernels) = (ident(&lower::field_name(&program.model.kinds[group.kind].name)), kernels(group));
        let cache = cache.map(|cache| quote!(#cache,));
        quote!(#function(#kernels, #weights, #cache s, run))
    };
    match &program.schedule {
        Schedule::Sequential => {
            let loops = program.groups.iter().map(|group| {
                let field = ident(&group.field);
                match &program.model.kinds[group.kind].mixer {
                    Some((_, mixer)) => {
                        let cache = ident(if mixer.is_recurrent() { "state" } else { "kv" });
                        let body = call(group, quote!(w), Some(quote!(#cache)));
                        quote!(try_each_layer(&w.#field, &mut caches.#field, |w, #cache| #body)?;)
                    }
                    None => {
                        let body = call(group, quote!(w), None);
                        quote!(for w in w.#field.iter() { #body?; })
                    }
                }
            });
            quote!(#(#loops)*)
        }
        Schedule::Pattern(_) => {
            let arms = program.groups.iter().map(|group| {
                let (variant, field) = (type_name(&group.field), ident(&group.field));
                let has_cache = program.model.kinds[group.kind].mixer.is_some();
                let body = call(group, quote!(&w.#field[i]), has_cache.then(|| quote!(&mut caches.#field[i])));
                quote!(Kind::#variant => #body?,)
            });
            quote! {
                for (kind, i) in PATTERN {
                    match kind { #(#arms)* }
                }
            }
        }
    }
}

fn step(program: &Program<'_>) -> TokenStream {
    let (space, logits) = (blank(), logits(program));
    let state = program.is_recurrent().then(|| {
        quote! {
            #space
            fn save_state(&mut self, slot: StateSlot, snapshot: SnapshotId) -> Result<(), StateError> {
                StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
                Ok(self.resident.caches.save(slot, snapshot)?)
            }
            #space
            fn restore_state(&mut self, snapshot: SnapshotId, slot: StateSlot) -> Result<(), StateError> {
                StateError::check(&self.limits, self.snapshots, slot, snapshot)?;
                Ok(self.resident.caches.restore(snapshot, slot)?)
            }
        }
    });
    let run = match program.is_captured() {
        true => quote! {
            /// Runs a step: one token for each sequence as a graph, which is captured the second time, and others launch by launch.
            fn run(&mut self, batch: &Batch, choice: Choice) -> Result<(), StepError> {
                let Self { resident, graphs, buckets, device, .. } = self;
                let bucket = buckets.of_batch(batch);
                let dims = resident.step.fill(batch, bucket)?;
                let Some(bucket) = bucket else { return Ok(resident.launch(dims, batch.sequences(), choice)?) };
                let graphs = &mut graphs[choice as usize];
                match graphs.turn(bucket) {
                    Turn::Launch => resident.launch(dims, batch.sequences(), choice)?,
                    Turn::Capture => graphs.capture(device, bucket, || resident.launch(dims, &[], choice))?,
                    Turn::Replay => graphs.replay(bucket)?,
                }
                Ok(())
            }
        },
        false => quote! {
            /// Runs a step launch by launch: in how many passes contexts are expanded depends on them, and a graph would fix it.
            fn run(&mut self, batch: &Batch, choice: Choice) -> Result<(), StepError> {
                let dims = self.resident.step.fill(batch, None)?;
                Ok(self.resident.launch(dims, batch.sequences(), choice)?)
            }
        },
    };
    quote! {
        #space
        impl<D: KvDtype + DeviceElement> OnSm90a<D> {
            #run
        }
        #space
        impl<D: KvDtype + DeviceElement> Model for OnSm90a<D> {
            fn info(&self) -> &'static ModelInfo {
                &INFO
            }
            #space
            fn limits(&self) -> BatchLimits {
                self.limits
            }
            #space
            fn memory(&self) -> Memory {
                self.memory
            }
            #space
            fn any_chunking(&self) -> bool {
                true
            }
            #space
            fn step(&mut self, batch: &Batch, logits: &mut Logits) -> Result<(), StepError> {
                StepError::check(&self.limits, batch)?;
                self.run(batch, Choice::Logits)?;
                let Resident { step, scratch, .. } = &mut self.resident;
                step.finish(&scratch.#logits, batch.logit_rows().len(), logits)
            }
            #space
            fn sampled(&mut self) -> Option<&mut dyn SampledModel> {
                Some(self)
            }
            #state
        }
        #space
        impl<D: KvDtype + DeviceElement> SampledModel for OnSm90a<D> {
            fn step_sampled(
                &mut self,
                batch: &Batch,
                rows: &[RowSampling],
                chosen: &mut Vec<Option<u32>>,
            ) -> Result<(), StepError> {
                StepError::check(&self.limits, batch)?;
                assert_eq!(rows.len(), batch.logit_rows().len(), "one for each row of logits");
                let is_greedy = rows.iter().all(|row| row.temperature == 0.0);
                let choice = if is_greedy { Choice::Greedy } else { Choice::Sampled };
                self.resident.sampled.write(rows)?;
                self.run(batch, choice)?;
                let Resident { step, sampled, .. } = &mut self.resident;
                step.end()?;
                *chosen = sampled.read(rows.len())?;
                Ok(())
            }
        }
    }
}
