use std::path::PathBuf;

use super::*;
use crate::REFERENCES;
use crate::instance::Instance;
use crate::template::Template;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn goals() -> Goals {
    Goals::read(&root().join("tests/device/goals.toml")).unwrap()
}

/// The templates, and every instance that is tested.
fn instances() -> (Vec<Template>, Vec<Instance>) {
    let templates = Template::all(&root().join("kernel-templates")).unwrap();
    let mut instances = Instance::listed(&templates, &root().join("tests/device/instances.toml"), &[]).unwrap();
    instances.extend(Instance::of_models(&templates, &root().join("generated/kernels/sm_90a"), &[]).unwrap());
    instances.sort_by(|a, b| a.name.cmp(&b.name));
    (templates, instances)
}

#[test]
fn every_row_names_an_instance_and_a_size_that_exist_and_peers_do_the_same_work() {
    let (templates, instances) = instances();
    for goal in goals().goals {
        let (bytes, flops) = match goal.source().unwrap() {
            Source::Instance => {
                let mut found: Vec<&Instance> = instances.iter().filter(|instance| goal.is_of(&instance.name)).collect();
                found.dedup_by_key(|instance| &instance.name);
                let [instance] = found[..] else { panic!("{}: {found:?}", goal.work) };
                let template = &templates[instance.template];
                let reference = REFERENCES.iter().find(|r| r.template == template.name).unwrap();
                let benches = (reference.bench)(&instance.params);
                let names: Vec<&String> = benches.iter().map(|bench| &bench.name).collect();
                let at_size = benches.iter().find(|bench| goal.is_at(&instance.name, &bench.name));
                let bench = at_size.unwrap_or_else(|| panic!("{}: {names:?}", goal.work));
                let cost = |cost: &crate::template::Size| cost.value(&instance.params, &bench.dims).unwrap();
                (cost(&template.cost.bytes), cost(&template.cost.flops))
            }
            Source::Product(product) => product.cost(),
            Source::Model(load) => {
                let spec = root().join("model-specs").join(&load.name).join("MODEL.toml");
                assert!(spec.exists(), "{}: there is no {}", goal.work, spec.display());
                assert_eq!(load.flops_per_token.is_some(), goal.unit == Unit::OfProduct, "{}", goal.work);
                continue;
            }
        };
        for peer in &goal.peers {
            assert_eq!(peer.cost(), (bytes, flops), "{}: {}", goal.work, peer.library().name());
        }
    }
}

#[test]
fn rows_that_contradict_themselves_are_refused() {
    let row = |rest: &str| Goals::parse(&format!("[[goal]]\nwork = \"a\"\nunit = \"TB/s\"\n{rest}"));
    assert!(row("instance = \"i\"\nsize = \"s\"").is_ok());
    let refused = |rest: &str, because: &str| {
        let said = row(rest).unwrap_err();
        assert!(said.contains(because), "{said}");
    };
    refused("instance = \"i\"", "and one of them");
    refused("instance = \"i\"\nsize = \"s\"\nproduct = { rows = 1, out = 1, in = 1 }", "and one of them");
    refused("instance = \"i\"\nsize = \"s\"\ndense = \"b\"", "only there");
    let factor = "[[goal]]\nwork = \"a\"\nunit = \"x dense\"\ninstance = \"i\"\nsize = \"s\"\n";
    for dense in ["", "dense = \"b\"", "dense = \"a\""] {
        assert!(Goals::parse(&format!("{factor}{dense}")).unwrap_err().contains("only there"), "{dense}");
    }
    refused("instance = \"i\"\nsize = \"s\"\nanchor = \"cuDNN\"", "not among its peers");
    refused("instance = \"i\"\nsize = \"s\"\nmost = 1", "unknown field");
    let twice = "[[goal]]\nwork = \"a\"\nunit = \"ms\"\ninstance = \"i\"\nsize = \"s\"\n";
    assert!(Goals::parse(&twice.repeat(2)).unwrap_err().contains("twice"));
}

#[test]
fn a_row_names_an_instance_up_to_what_is_tuned() {
    let text = "[[goal]]\nwork = \"a\"\nunit = \"ms\"\ninstance = \"linear_bf16_r1\"\nsize = \"s\"";
    let goal = &Goals::parse(text).unwrap().goals[0];
    assert!(goal.is_of("linear_bf16_r1") && goal.is_of("linear_bf16_r1_t64") && !goal.is_of("linear_bf16_r16"));
    assert!(goal.is_at("linear_bf16_r1", "s") && !goal.is_at("linear_bf16_r1", "t"));
}

#[test]
fn a_peer_is_written_as_the_script_reads_it() {
    let goals = goals();
    let peer = &goals.of("paged decode, hd 128, 32/8 heads, 64 x 8,192").unwrap().peers[0];
    let text = serde_json::to_string(peer).unwrap();
    assert!(
        text.starts_with(r#"{"kind":"attention","library":"cuDNN","phase":"decode","sequences":64,"context":8192"#),
        "{text}"
    );
    let script = std::fs::read_to_string(root().join("tests/device/peers.py")).unwrap();
    for library in [Library::Cudnn, Library::Flash] {
        assert!(script.contains(&format!("{:?}: SDPBackend", library.name())), "{}", library.name());
    }
}
