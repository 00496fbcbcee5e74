//! What contradicts a spec, and what does not.

use super::*;

fn stated() -> Stated<'static> {
    Stated { model: "m", max_position_embeddings: 100, kv_cache_dtypes: vec!["bf16", "f32"], chat_template: Template::Checkpoint }
}

fn settled(asked: Asked<'_>) -> Result<Vec<String>, Vec<String>> {
    let line = CommandLine::new(["tenon-server", "serve", "m"]);
    match settle(&stated(), &asked, &line) {
        Ok(overrides) => Ok(overrides.lines()),
        Err(Refused(reports)) => Err(reports.into_iter().map(|report| report.message).collect()),
    }
}

#[test]
fn what_the_spec_allows_is_no_override() {
    for allowed in [None, Some(false), Some(true)] {
        for kv_cache_dtype in [None, Some("bf16"), Some("f32")] {
            for context in [None, Some(2), Some(100)] {
                assert_eq!(settled(Asked { context, kv_cache_dtype, chat_template: None, allowed }), Ok(Vec::new()));
            }
        }
    }
}

#[test]
fn each_contradiction_is_refused_by_itself_and_kept_where_it_is_allowed() {
    let context = Asked { context: Some(101), ..Asked::default() };
    let template = Asked { chat_template: Some("t.jinja"), ..Asked::default() };
    for (asked, flag, kept) in [
        (context, "--context 101", "overridden: the spec says max_position_embeddings = 100, and --context 101 was given"),
        (
            template,
            "--chat-template t.jinja",
            "overridden: the spec says template = \"checkpoint\", and --chat-template t.jinja was given",
        ),
    ] {
        let refused = Err(vec![format!("`{flag}` contradicts the spec of `m`")]);
        for allowed in [None, Some(false)] {
            assert_eq!(settled(Asked { allowed, ..asked }), refused);
        }
        assert_eq!(settled(Asked { allowed: Some(true), ..asked }), Ok(vec![kept.to_owned()]));
    }
    let all = Asked { context: Some(101), kv_cache_dtype: Some("fp8_e4m3"), chat_template: Some("t"), allowed: Some(false) };
    assert_eq!(settled(all).unwrap_err().len(), 3);
}

/// There is no code for a dtype that the spec does not list: no flag makes it.
#[test]
fn what_was_not_compiled_cannot_be_overridden() {
    let asked = Asked { kv_cache_dtype: Some("fp8_e4m3"), context: Some(101), allowed: Some(true), ..Asked::default() };
    assert_eq!(settled(asked), Err(vec!["`--kv-cache-dtype fp8_e4m3` contradicts the spec of `m`".to_owned()]));
}

#[test]
fn programs_read_the_same_as_people() {
    let asked = Asked { context: Some(200), allowed: Some(true), ..Asked::default() };
    let overrides = settle(&stated(), &asked, &CommandLine::new(["p"])).unwrap();
    assert_eq!(overrides.json(), json!([{ "key": "max_position_embeddings", "spec": "100", "flag": "--context 200" }]));
    assert_eq!(Overrides::default().json(), json!([]));
}
