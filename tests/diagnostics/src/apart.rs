//! What a model says beside what it computes. Two models that differ in nothing else give the same logits for one checkpoint, since
//! lowering and emission are functions of the model; each entry says why it may be left out of that comparison.

use tenon_compiler::model::{Kernel, Mixer, MlaForms, Model, Sampling};

/// A part of a model that changes no logits.
#[derive(Clone, Copy, Debug)]
pub struct Apart {
    /// The key or table of the spec.
    pub name: &'static str,
    /// Why no logit depends on it.
    pub why: &'static str,
    /// Takes it out of a model, and returns what it was.
    take: fn(&mut Model) -> String,
}

/// All such parts. What is not listed here must be equal.
pub const APART: &[Apart] = &[
    Apart {
        name: "[checkpoint] source, pull",
        why: "where the weights are found; here they are at hand",
        take: |model| text(&(std::mem::take(&mut model.checkpoint.source), std::mem::take(&mut model.checkpoint.pull))),
    },
    Apart {
        name: "[weights] accept",
        why: "each tensor's format must be in it, here as at load, and says by itself how the tensor is read",
        take: |model| text(&std::mem::take(&mut model.checkpoint.accept)),
    },
    Apart {
        name: "[weights.ignore]",
        why: "names of tensors that are not read; every tensor must be read or named, here as at load",
        take: |model| text(&std::mem::take(&mut model.checkpoint.ignore)),
    },
    Apart {
        name: "[config]",
        why: "what the checkpoint's config must say, and what it may; it is compared, here as at load",
        take: |model| text(&std::mem::take(&mut model.config)),
    },
    Apart {
        name: "[deviation]",
        why: "reasons, for the plan; the value that departs is a key of another table",
        take: |model| text(&std::mem::take(&mut model.deviations)),
    },
    Apart {
        name: "names of blocks, mixers and feed-forwards",
        why: "names of fields and constants in the generated code; which layer has which is compared",
        take: names,
    },
    Apart {
        name: "text of expressions",
        why: "stands in comments; the dimensions, factors and values that come of it are compared",
        take: formulas,
    },
    Apart {
        name: "[chat]",
        why: "makes the prompt, not its logits",
        take: |model| text(&std::mem::replace(&mut model.chat_template, tenon_compiler::model::ChatTemplate::None)),
    },
    Apart {
        name: "[tools], [reasoning]",
        why: "make the prompt and read the answer; they are compared with the chat template, here as at load",
        take: |model| text(&std::mem::take(&mut model.formats)),
    },
    Apart {
        name: "[sampling]",
        why: "begins where the logits end",
        take: |model| text(&std::mem::replace(&mut model.sampling, Sampling { temperature: 0.0, top_p: 1.0, top_k: 0 })),
    },
    Apart {
        name: "kv_cache_dtype after its first",
        why: "what a flag may choose; without one, a cache is of the first dtype that all caches may have",
        take: other_dtypes,
    },
    Apart {
        name: "KERNEL.toml tile",
        why: "rows per pass over a weight: a row has the same bits in any company, says a test of core::linear",
        take: |model| tuned(model, "tile"),
    },
    Apart {
        name: "KERNEL.toml tile_q",
        why: "queries per pass over the keys: the tile does not change the result, says the test of core::cpu::attention",
        take: |model| tuned(model, "tile_q"),
    },
    Apart {
        name: "KERNEL.toml chunk",
        why: "tokens per product of the delta rule: chunks of every size keep the bound of the test of core::cpu::delta",
        take: |model| tuned(model, "chunk"),
    },
    Apart {
        name: "KERNEL.toml mla",
        why: "the space in which one product is taken: goldens are run with both forms swapped",
        take: |model| {
            text(&std::mem::take(&mut model.mla_forms).iter().filter(|(_, f)| *f != MlaForms::default()).collect::<Vec<_>>())
        },
    },
    Apart {
        name: "kernels that dequantise",
        why: "launched for weights in another format than bf16, which must be accepted for that, here as at load",
        take: dequantised,
    },
    Apart {
        name: "why a kernel was chosen",
        why: "stands in the plan; which kernel it is, is compared",
        take: |model| kernels(model).map(|kernel| std::mem::take(&mut kernel.reason)).collect(),
    },
];

/// A model without what is apart.
pub struct Split {
    /// What computes.
    pub essence: String,
    /// Of each entry of [`APART`], what it was.
    pub apart: Vec<String>,
}

impl Split {
    /// Takes a model apart.
    pub fn new(mut model: Model) -> Self {
        let apart = APART.iter().map(|apart| (apart.take)(&mut model)).collect();
        // What was asked of each kernel follows from the rest; what was chosen stays.
        for (_, selection) in &mut model.kernels {
            selection.iter_mut().for_each(|(requirement, _)| requirement.params.clear());
        }
        Self { essence: format!("{model:#?}"), apart }
    }

    /// The entries in which two models differ.
    pub fn differ(&self, other: &Self) -> Vec<&'static str> {
        let pairs = APART.iter().zip(self.apart.iter().zip(&other.apart));
        pairs.filter(|(_, (a, b))| a != b).map(|(apart, _)| apart.name).collect()
    }
}

fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

/// Numbers stand for the names, in the order of first use, in which blocks stand already.
fn names(model: &mut Model) -> String {
    let mut taken = Vec::new();
    let (mut mixers, mut ffns) = (Vec::new(), Vec::new());
    for (at, kind) in model.kinds.iter_mut().enumerate() {
        taken.push(std::mem::replace(&mut kind.name, at.to_string()));
        let mixer = kind.mixer.as_mut().map(|(name, _)| name).zip(Some(&mut mixers)).into_iter();
        let ffn = kind.ffn.as_mut().map(|(name, _)| name).zip(Some(&mut ffns));
        for (name, known) in mixer.chain(ffn) {
            let number = known.iter().position(|known| known == name).unwrap_or(known.len());
            let name = std::mem::replace(name, number.to_string());
            if number == known.len() {
                known.push(name.clone());
            }
            taken.push(name);
        }
    }
    text(&taken)
}

fn formulas(model: &mut Model) -> String {
    let factors = [Some(&mut model.embedding_scale), model.residual_scale.as_mut(), model.logit_scale.as_mut()];
    let mut taken: Vec<String> = factors.into_iter().flatten().map(|factor| std::mem::take(&mut factor.formula)).collect();
    for kind in &mut model.kinds {
        match &mut kind.mixer {
            Some((_, Mixer::Gqa(gqa))) => taken.push(std::mem::take(&mut gqa.scale.formula)),
            Some((_, Mixer::Mla(mla))) => taken.push(std::mem::take(&mut mla.scale.formula)),
            _ => {}
        }
    }
    text(&taken)
}

/// Leaves the dtype that a cache has where no flag chooses.
fn other_dtypes(model: &mut Model) -> String {
    let mut caches: Vec<_> = model
        .kinds
        .iter_mut()
        .filter_map(|kind| match &mut kind.mixer {
            Some((_, Mixer::Gqa(gqa))) => Some(&mut gqa.kv),
            Some((_, Mixer::Mla(mla))) => Some(&mut mla.kv),
            _ => None,
        })
        .collect();
    let all: Vec<_> = caches.iter().map(|kv| kv.dtypes.clone()).collect();
    let default = all.first().and_then(|first| first.iter().find(|dtype| all.iter().all(|dtypes| dtypes.contains(dtype))));
    for kv in &mut caches {
        kv.dtypes = default.copied().into_iter().collect();
    }
    text(&all)
}

fn dequantised(model: &mut Model) -> String {
    let mut taken = Vec::new();
    for (_, selection) in &mut model.kernels {
        let (of_formats, others): (Vec<_>, Vec<_>) =
            std::mem::take(selection).into_iter().partition(|(requirement, _)| requirement.op == "dequantise");
        *selection = others;
        taken.push(of_formats);
    }
    text(&taken)
}

fn kernels(model: &mut Model) -> impl Iterator<Item = &mut Kernel> {
    model.kernels.iter_mut().flat_map(|(_, selection)| selection.iter_mut().map(|(_, kernel)| kernel))
}

fn tuned(model: &mut Model, key: &str) -> String {
    let mut taken = Vec::new();
    for kernel in kernels(model) {
        let (of_key, others) = std::mem::take(&mut kernel.tuned).into_iter().partition(|(name, _)| name == key);
        kernel.tuned = others;
        taken.push(of_key);
    }
    text(&taken)
}
