//! Checkpoints of goldens with other weights: numbers that random weights do not reach.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

use crate::reference::{folder, json};

/// A checkpoint of a case, in a folder below `into`, with other elements in some tensors: `change` sees the name of each and its bf16 elements. Its epsilon is
/// multiplied by `eps`.
pub fn changed(into: &Path, case: &str, what: &str, eps: f64, change: impl Fn(&str, &mut [f32])) -> PathBuf {
    let from = folder(case);
    let to = into.join("golden").join(format!("{case}-{what}"));
    fs::create_dir_all(&to).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
    let bytes = fs::read(from.join("model.safetensors")).expect("a case has its weights");
    let file = SafeTensors::deserialize(&bytes).expect("they are safetensors");
    let tensors: Vec<_> = file
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let wide = |b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
            assert_eq!(tensor.dtype(), safetensors::Dtype::BF16, "{name}");
            let mut elements: Vec<f32> = tensor.data().as_chunks::<2>().0.iter().map(wide).collect();
            change(&name, &mut elements);
            let narrow = |x: &f32| {
                assert_eq!(x.to_bits() & 0xffff, 0, "{name}: {x} is no bf16 number");
                ((x.to_bits() >> 16) as u16).to_le_bytes()
            };
            let stored: Vec<u8> = elements.iter().flat_map(narrow).collect();
            (name, tensor.shape().to_vec(), stored)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, data)| {
        (name, TensorView::new(safetensors::Dtype::BF16, shape.clone(), data).expect("the shape is what it was"))
    });
    let written = safetensors::serialize(views, None).expect("they were safetensors");
    let mut config = json(&from.join("config.json"));
    for key in ["rms_norm_eps", "layer_norm_epsilon"] {
        if let Some(value) = config.get_mut(key) {
            *value = (value.as_f64().expect("an epsilon is a number") * eps).into();
        }
    }
    // Tests of several threads or processes may come here at once, with the same bytes.
    let own = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    for (name, bytes) in [("model.safetensors", written), ("config.json", config.to_string().into_bytes())] {
        let beside = to.join(format!("{own}-{name}"));
        fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, to.join(name))).expect("the folder is writable");
    }
    to
}

/// A case with a residual stream 256 times larger: embeddings, and all that joins it. With an epsilon that is larger by the square, its
/// norms give the same bits. So is what the build script compiles in the other forms of latent attention, whose own norms have
/// another epsilon: where they take that of the model, it shows.
pub fn large_residual(into: &Path, case: &str) -> PathBuf {
    let tied = json(&folder(case).join("config.json"))["tie_word_embeddings"] == true;
    changed(into, case, "large-residual", 65536.0, |name, elements| {
        let name = name.strip_suffix(".weight").unwrap_or(name);
        if ["embed_tokens", "o_proj", "down_proj"].iter().any(|part| name.ends_with(part)) {
            elements.iter_mut().for_each(|x| *x *= 256.0);
        } else if tied && name == "model.norm" {
            // The embedding is the head, too.
            elements.iter_mut().for_each(|x| *x /= 256.0);
        }
    })
}
