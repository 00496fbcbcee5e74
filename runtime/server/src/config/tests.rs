//! Where settings come from, and which of several wins.

use std::ffi::OsString;

use clap::{ArgMatches, Args};

use super::*;

fn given(line: &[&str]) -> ArgMatches {
    ServeArgs::augment_args(clap::Command::new("serve").no_binary_name(true)).try_get_matches_from(line).unwrap()
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment(variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect())
}

/// A file with this text, and its path.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (dir, path)
}

fn settle_with(line: &[&str], variables: &[(&str, &str)], text: &str) -> Result<ServeArgs, String> {
    let (_dir, path) = file(text);
    let line: Vec<&str> = line.iter().copied().chain(["--config", &path]).collect();
    settle(&given(&line), &environment(variables)).map_err(|error| error.to_string().replace(&path, "FILE"))
}

#[test]
fn a_flag_counts_before_the_environment_and_that_before_the_file() {
    let (flag, variable, text) = (["--queue=3"], [("TENON_SERVER_QUEUE", "2")], "queue = 1");
    let none: [(&str, &str); 0] = [];
    for (line, variables, text, queue) in [
        (&[][..], &none[..], "", 64),
        (&[], &none, text, 1),
        (&[], &variable, "", 2),
        (&[], &variable, text, 2),
        (&flag, &none, "", 3),
        (&flag, &none, text, 3),
        (&flag, &variable, "", 3),
        (&flag, &variable, text, 3),
        // Empty is not set.
        (&[], &[("TENON_SERVER_QUEUE", "")], text, 1),
    ] {
        assert_eq!(settle_with(line, variables, text).unwrap().queue, queue, "{line:?} {variables:?} {text:?}");
    }
}

#[test]
fn switches_lists_and_the_model_come_from_everywhere() {
    let text = "model = \"a\"\ninsecure-no-auth = true\noverride = true\ncors-origin = [\"http://a\", \"http://b\"]\n\
                temperature = 0.5\nport = \"81\"\nheader-timeout = 2.5";
    let args = settle_with(&[], &[], text).unwrap();
    assert_eq!((args.model.as_deref(), args.access.insecure_no_auth, args.overrides.allowed), (Some("a"), true, true));
    assert_eq!((args.access.cors_origins.len(), args.choice.temperature, args.port), (2, Some(0.5), 81));
    assert_eq!(args.http.limits().header_timeout, std::time::Duration::from_millis(2500));
    let variables =
        [("TENON_SERVER_MODEL", "b"), ("TENON_SERVER_OVERRIDE", "false"), ("TENON_SERVER_CORS_ORIGIN", "http://c, *")];
    let args = settle_with(&[], &variables, text).unwrap();
    assert_eq!((args.model.as_deref(), args.overrides.allowed, args.access.cors_origins.len()), (Some("b"), false, 2));
    assert_eq!(args.access.cors_origins[1], crate::serve::Origin::Any);
    let args = settle_with(&["c", "--insecure-no-auth=false", "--override"], &variables, text).unwrap();
    assert_eq!((args.model.as_deref(), args.access.insecure_no_auth, args.overrides.allowed), (Some("c"), false, true));
}

#[test]
fn the_file_may_be_named_by_the_environment() {
    let (_dir, path) = file("port = 7");
    let args = settle(&given(&["m"]), &environment(&[("TENON_SERVER_CONFIG", &path)])).unwrap();
    assert_eq!(args.port, 7);
    let missing = settle(&given(&["--config", "/nowhere/x.toml"]), &environment(&[])).unwrap_err().to_string();
    assert!(missing.starts_with("--config /nowhere/x.toml: "), "{missing}");
}

/// Every setting, at once from each place: none is left out of the mechanism.
#[test]
fn every_flag_is_a_setting() {
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    for arg in command.get_arguments().filter(|arg| !NO_SETTING.contains(&arg.get_id().as_str())) {
        assert!(arg.get_num_args().is_none_or(|count| count.takes_values()), "{arg} takes no value, so no file can set it");
        let name = name(arg);
        let missing = settle_with(&[], &[], &format!("{name} = []\n"));
        let known = missing.map(drop).map_err(|error| error.contains("there is no setting"));
        assert_ne!(known, Err(true), "{name}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let error = |variables: &[(&str, &str)], text: &str| settle_with(&["m"], variables, text).unwrap_err();
    assert_eq!(error(&[], "prot = 1"), "FILE: there is no setting `prot`; did you mean `port`?");
    assert_eq!(error(&[], "max_sequences = 1"), "FILE: there is no setting `max_sequences`; did you mean `max-sequences`?");
    assert_eq!(error(&[], "zzzzzzzzzzzz = 1"), "FILE: there is no setting `zzzzzzzzzzzz`; --print-config shows all");
    assert_eq!(error(&[], "config = \"x\""), "FILE: there is no setting `config`; --print-config shows all");
    assert_eq!(error(&[], "port = 99999"), "FILE: `port`: invalid value '99999' for '--port <PORT>': 99999 is not in 0..=65535");
    assert_eq!(
        error(&[("TENON_SERVER_PORT", "tcp://10.0.0.1:80")], ""),
        "TENON_SERVER_PORT: invalid value 'tcp://10.0.0.1:80' for '--port <PORT>': invalid digit found in string"
    );
    assert_eq!(
        error(&[("TENON_SERVER_LOG_FORMAT", "xml")], ""),
        "TENON_SERVER_LOG_FORMAT: invalid value 'xml' for '--log-format <FORMAT>' [possible values: text, json]"
    );
    assert_eq!(error(&[], "port = [1, 2]"), "FILE: `port` takes one value, and is a list");
    assert_eq!(
        error(&[], "[port]\nx = 1"),
        "FILE: `port` is a table, and must be a text, a number, true or false, or a list of texts"
    );
    assert!(error(&[], "port = \n").starts_with("FILE: TOML parse error at line 1"));
    // What a flag says is not read before its own place was told.
    assert!(error(&[], "insecure-no-auth = \"perhaps\"").starts_with("FILE: `insecure-no-auth`: invalid value 'perhaps'"));
    assert_eq!(
        unknown_variables(&environment(&[("TENON_SERVER_QEUE", "1"), ("TENON_SERVER_SERVICE_HOST", "1")]), &["queue", "port"]),
        [
            "TENON_SERVER_QEUE is set, and is no setting; did you mean `TENON_SERVER_QUEUE`?",
            "TENON_SERVER_SERVICE_HOST is set, and is no setting; --print-config shows all",
        ]
    );
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let text = "max-json-depth = 32\ncors-origin = [\"http://a\", \"http://b\"]\nsse-keep-alive = 0.5\n\
                weights = \"/odd \\\"name\\\" # \\\\ \\n\\u007f\"";
    let variables = [("TENON_SERVER_MAX_SEQUENCES", "8"), (API_KEY, "sk-secret")];
    let (_dir, path) = file(text);
    let first = settle(&given(&["bard", "--port", "0", "--config", &path]), &environment(&variables)).unwrap();
    let printed = first.settings.to_string();
    for (line, from) in [
        ("model = \"bard\"", "flag"),
        ("port = 0", "flag"),
        ("max-sequences = 8", "environment, TENON_SERVER_MAX_SEQUENCES"),
        ("cors-origin = [\"http://a\", \"http://b\"]", &format!("file, {path}")),
        ("host = \"127.0.0.1\"", "default"),
        ("insecure-no-auth = false", "default"),
        ("drain-timeout = 60", "default"),
        ("# request-timeout =", "not set: none"),
        ("# context =", "not set: the model's, at most 8192"),
    ] {
        let found = printed.lines().find(|found| found.starts_with(line)).unwrap_or_else(|| panic!("{line} in\n{printed}"));
        assert_eq!(found[line.len()..].trim_start(), format!("# {from}"), "{found}");
    }
    assert!(!printed.contains("secret"), "{printed}");
    assert!(printed.contains("# TENON_API_KEY is set, and is not shown"));
    let (_dir, path) = file(&printed);
    let second = settle(&given(&["--config", &path]), &environment(&[])).unwrap();
    let values = |args: &ServeArgs| {
        args.settings.all.iter().map(|setting| (setting.name.clone(), setting.values.clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&first), values(&second));
    assert_eq!(second.load.weights, first.load.weights);
}
