//! The three forms, letter by letter.

use super::{Format, floor, line_column, render};
use crate::diagnostic::{Diagnostic, Id};
use crate::source::{SourceMap, Span};

const MODEL: &str = "[mixer.attention]\nkind = \"gqa\"\nhead_dim = 72\nsoftmax_scale = \"rsqrt(head_dims)\"\n";
const TEMPLATE: &str = "op = \"attention\"\n[params]\nhead_dim = { multiple_of = 16, max = 256 }\n";

fn sources() -> (SourceMap, impl Fn(&str) -> Span) {
    let mut sources = SourceMap::default();
    let files =
        [sources.add("model-specs/toy/MODEL.toml", MODEL), sources.add("kernel-templates/attention/TEMPLATE.toml", TEMPLATE)];
    let find = move |needle: &str| {
        let (file, text) = if MODEL.contains(needle) { (files[0], MODEL) } else { (files[1], TEMPLATE) };
        let start = text.find(needle).unwrap();
        Span { file, range: start..start + needle.len() }
    };
    (sources, find)
}

#[test]
fn human_across_two_files() {
    let (sources, find) = sources();
    let gap = Diagnostic::new(Id::KernelGap, "no kernel decodes attention with head_dim 72 on cpu")
        .label(&find("head_dim = 72"), "needed by layers 0..24")
        .context(&find("16"), "72 is 4 x 16 + 8")
        .note("there is no fallback")
        .help("64 and 80 are legal");
    let expected = "\
error[kernel-gap]: no kernel decodes attention with head_dim 72 on cpu
 --> model-specs/toy/MODEL.toml:3:1
  |
3 | head_dim = 72
  | ^^^^^^^^^^^^^ needed by layers 0..24
  |
 ::: kernel-templates/attention/TEMPLATE.toml:3:28
  |
3 | head_dim = { multiple_of = 16, max = 256 }
  |                            -- 72 is 4 x 16 + 8
  |
  = there is no fallback
  = help: 64 and 80 are legal
  = explain: tenon explain kernel-gap
";
    assert_eq!(render(&[&gap], &sources, Format::Human, false), expected);
}

#[test]
fn human_with_a_patch() {
    let (sources, find) = sources();
    let unknown = Diagnostic::new(Id::UnknownDim, "`head_dims` is not a dimension of this attention")
        .label(&find("head_dims"), "")
        .context(&find("head_dim = 72"), "this is")
        .help("did you mean `head_dim`?")
        .patch(&find("head_dims"), "head_dim");
    let expected = "\
error[unknown-dim]: `head_dims` is not a dimension of this attention
 --> model-specs/toy/MODEL.toml:4:24
  |
3 | head_dim = 72
  | ------------- this is
4 | softmax_scale = \"rsqrt(head_dims)\"
  |                        ^^^^^^^^^
  |
help: did you mean `head_dim`?
  |
4 - softmax_scale = \"rsqrt(head_dims)\"
4 + softmax_scale = \"rsqrt(head_dim)\"
  |
  = explain: tenon explain unknown-dim
";
    assert_eq!(render(&[&unknown], &sources, Format::Human, false), expected);
}

#[test]
fn human_without_a_place() {
    let sources = SourceMap::default();
    let stale = Diagnostic::new(Id::GeneratedStale, "generated files differ from the specs").help("run `tenon build`");
    let text = render(&[&stale, &stale], &sources, Format::Human, false);
    assert!(text.starts_with("error[generated-stale]: generated files differ from the specs\n"), "{text}");
    assert_eq!(text.matches("run `tenon build`").count(), 2);
    assert_eq!(render(&[], &sources, Format::Human, false), "");
}

#[test]
fn color_is_only_added_when_asked_for() {
    let (sources, find) = sources();
    let diagnostic = Diagnostic::new(Id::UnknownDim, "message").label(&find("72"), "label");
    assert!(!render(&[&diagnostic], &sources, Format::Human, false).contains('\u{1b}'));
    assert!(render(&[&diagnostic], &sources, Format::Human, true).contains("\u{1b}["));
    assert!(!render(&[&diagnostic], &sources, Format::Short, true).contains('\u{1b}'));
}

#[test]
fn short_is_one_line_each() {
    let (sources, find) = sources();
    let placed = Diagnostic::new(Id::UnknownDim, "message").context(&find("gqa"), "").label(&find("72"), "label").note("note");
    let placeless = Diagnostic::new(Id::GeneratedStale, "other");
    let expected = "model-specs/toy/MODEL.toml:3:12: error[unknown-dim]: message\nerror[generated-stale]: other\n";
    assert_eq!(render(&[&placed, &placeless], &sources, Format::Short, false), expected);
}

#[test]
fn json_has_bytes_lines_and_everything_said() {
    let (sources, find) = sources();
    let diagnostic = Diagnostic::new(Id::UnknownDim, "message")
        .label(&find("head_dims"), "label")
        .note("note")
        .help("help")
        .patch(&find("head_dims"), "head_dim");
    let text = render(&[&diagnostic], &sources, Format::Json, false);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let place = serde_json::json!({
        "path": "model-specs/toy/MODEL.toml",
        "byte_start": 68, "byte_end": 77,
        "line_start": 4, "column_start": 24, "line_end": 4, "column_end": 33,
    });
    let with = |more: serde_json::Value| {
        let mut place = place.clone();
        place.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place
    };
    let expected = serde_json::json!({ "diagnostics": [{
        "severity": "error",
        "id": "unknown-dim",
        "message": "message",
        "labels": [with(serde_json::json!({ "text": "label", "primary": true }))],
        "notes": ["note"],
        "helps": ["help"],
        "patches": [with(serde_json::json!({ "replacement": "head_dim" }))],
        "explain": "tenon explain unknown-dim",
    }]});
    assert_eq!(json, expected);
    let none: serde_json::Value = serde_json::from_str(&render(&[], &sources, Format::Json, false)).unwrap();
    assert_eq!(none, serde_json::json!({ "diagnostics": [] }));
}

#[test]
fn columns_count_characters_and_no_byte_is_out_of_reach() {
    let text = "é = 1\nab";
    assert_eq!(line_column(text, 3), (1, 3));
    assert_eq!(line_column(text, 1), (1, 1), "inside é");
    assert_eq!(line_column(text, 99), (2, 3));
    assert_eq!((floor(text, 1), floor(text, 99)), (0, text.len()));
}

#[test]
fn no_span_makes_rendering_panic() {
    let mut sources = SourceMap::default();
    for text in ["", "é", "a\r\nb\r\n", "\u{feff}x = 1", "x\n\n\n"] {
        let file = sources.add("f", text);
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                let span = Span { file, range: start..end };
                let diagnostic = Diagnostic::new(Id::TomlSyntax, "m").label(&span, "l").context(&span, "").patch(&span, "r\ns");
                for format in Format::ALL {
                    assert!(!render(&[&diagnostic], &sources, format, true).is_empty());
                }
            }
        }
    }
}

#[test]
fn formats_are_read_back() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
    }
    assert_eq!("yaml".parse::<Format>(), Err("`yaml` is no format; there are human, short and json".to_owned()));
}
