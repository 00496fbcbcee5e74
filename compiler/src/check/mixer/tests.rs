//! Values that follow from good specs. What is wrong with bad ones is told in the UI tests.

use crate::check::mixer::mixer;
use crate::diagnostic::Format;
use crate::model::{Mixer, Mla, QueryScale, RopeScaling};
use crate::parse::fixtures::{LATENT, parse_files};

/// The latent attention of the fixture, with some texts replaced.
fn mla(edits: &[(&str, &str)]) -> Mla {
    let mut text = LATENT.to_owned();
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}`");
        text = text.replace(from, to);
    }
    let (specs, mut diags, sources) = parse_files(&[("specs/one/MODEL.toml", &text)]);
    let spec = &specs.models["one"].0;
    let checked = mixer(spec, &spec.mixers[0].1, 3, &mut diags);
    assert_eq!(diags.render(&sources, Format::Human, false), "");
    let Some(Mixer::Mla(mla)) = checked else { panic!("mla") };
    mla
}

const WITHOUT_MSCALE: (&str, &str) = (" * yarn_mscale(factor, mscale_all_dim)^2\"", "\"");

/// 1 / sqrt(64 + 64) and the square of 0.1 ln(128) + 1, of Mistral Small 4 in its two formats.
#[test]
fn the_scales_of_mistral_small_4() {
    let dims = [
        ("qk_nope_head_dim = 32", "qk_nope_head_dim = 64"),
        ("qk_rope_head_dim = 16", "qk_rope_head_dim = 64"),
        ("rotary_dim = 16", "rotary_dim = 64"),
        ("factor = 4.0", "factor = 128.0"),
    ];
    let hf = mla(&dims);
    assert_eq!((hf.scale.dims, hf.scale.mscale), (128, Some((128.0, 1.0))));
    assert!((f64::from(hf.scale.value) - 0.194_969).abs() < 1e-6, "{}", hf.scale.value);
    assert_eq!(hf.scale.formula, "rsqrt(qk_nope_head_dim + qk_rope_head_dim) * yarn_mscale(factor, mscale_all_dim)^2");

    let native = [
        ("format = \"hf\"", "format = \"mistral\""),
        ("mscale = 1.0", "mscale = \"none\""),
        ("mscale_all_dim = 1.0", "mscale_all_dim = \"none\""),
        ("attention_factor = \"none\"", "attention_factor = 1.0"),
        WITHOUT_MSCALE,
    ];
    let native = mla(&[&dims[..], &native[..]].concat());
    assert_eq!((native.scale.dims, native.scale.mscale), (128, None));
    assert_eq!(native.scale.value, (1.0 / 128f64.sqrt()) as f32);
}

/// `_compute_yarn_parameters` of Hugging Face transformers, computed by hand: ln 4 = 1.386294.
#[test]
fn the_attention_factor_follows_from_what_is_stated() {
    let factor = |edits: &[(&str, &str)]| match mla(edits).rope.scaling {
        RopeScaling::Yarn { attention_factor, .. } => attention_factor,
        other => panic!("{other:?}"),
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    // Equal mscales cancel out.
    assert!(near(factor(&[]), 1.0));
    assert!(near(factor(&[("mscale = 1.0", "mscale = 0.707")]), 1.098_011 / 1.138_629));
    let none = [("mscale = 1.0", "mscale = \"none\""), ("mscale_all_dim = 1.0", "mscale_all_dim = \"none\""), WITHOUT_MSCALE];
    assert!(near(factor(&none), 1.138_629));
    // A 0 counts as none in the reference, for cosines and for scores.
    let zero = [("mscale = 1.0", "mscale = 0.0"), ("mscale_all_dim = 1.0", "mscale_all_dim = 0.0"), WITHOUT_MSCALE];
    assert!(near(factor(&zero), 1.138_629));
    assert!(near(factor(&[("attention_factor = \"none\"", "attention_factor = 1.25")]), 1.25));
    // Nothing is stretched by a factor of 1.
    assert!(near(factor(&[("factor = 4.0", "factor = 1.0"), none[0], none[1], WITHOUT_MSCALE]), 1.0));
}

#[test]
fn queries_grow_over_the_original_context() {
    assert_eq!(mla(&[]).query_scale, None);
    let scaled = mla(&[("truncate = true", "truncate = true\nllama_4_scaling_beta = 0.1")]);
    assert_eq!(scaled.query_scale, Some(QueryScale { beta: 0.1, original_max_position_embeddings: 64 }));
}

#[test]
fn widths_of_a_latent_attention() {
    let mla = mla(&[("q_lora_rank = 48", "q_lora_rank = \"none\"")]);
    assert_eq!((mla.q_lora_rank, mla.q_dim(), mla.latent_dim(), mla.o_dim()), (None, 4 * 48, 64 + 16, 4 * 24));
    assert_eq!(mla.latent_norm_eps, 1e-6);
    assert!(!mla.bias && mla.rope.interleaved);
}
