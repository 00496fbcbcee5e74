//! Faults from the field, written against the types of the runtime: rustc must refuse each, in words that a person understands.

use std::fs;
use std::path::Path;

/// One passing case makes trybuild build instead of check, without which no assertion in a const block fires.
#[test]
fn cases() {
    swapped_copies();
    let t = trybuild::TestCases::new();
    t.pass("cases/pass_one_layer.rs");
    t.pass("cases/pass_generated.rs");
    // `width_of_latent_query.rs` is refused as well, in a text that depends on whether rustc shortens the path of a type: the mutants of
    // types build it, with its guard and without.
    t.compile_fail("cases/fail_*.rs");
}

/// Copies a generated model into `cases/emitted/`, once as it is and once with one dimension changed by hand.
fn swapped_copies() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = here.join("../../generated/src/smollm2_135m_instruct");
    for (folder, find, replace) in [
        ("as_generated", "", ""),
        // A cache of another head_dim, in the block's signature alone.
        ("head_dim_128", "kv: &mut PagedKv<D, 3, 64>", "kv: &mut PagedKv<D, 3, 128>"),
        // gate and down swapped: 576 x 1536 for 1536 x 576.
        ("swapped_projection", "pub down_proj: Linear<576, 1536>", "pub down_proj: Linear<1536, 576>"),
    ] {
        let into = here.join("cases/emitted").join(folder);
        fs::create_dir_all(&into).expect("the folder of the cases is writable");
        let mut replaced = 0;
        for name in
            ["mod.rs", "config.rs", "layers.rs", "tensors.rs", "weights.rs", "cpu.rs", "cpu_memory.rs", "plan.txt", "plan.json"]
        {
            let text = fs::read_to_string(model.join(name)).expect("the model is generated");
            if !find.is_empty() {
                replaced += text.matches(find).count();
            }
            let text = if find.is_empty() { text } else { text.replace(find, replace) };
            fs::write(into.join(name), text).expect("the folder of the cases is writable");
        }
        assert!(find.is_empty() || replaced == 1, "`{find}` stands {replaced} times in the generated files");
    }
}
