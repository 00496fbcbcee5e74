//! The `tojson` filter: `json.dumps` of Python, whose spaces and number format models were trained on.

use std::fmt::Write;

use minijinja::value::Value;
use minijinja::{Error, State};

use super::arguments::{Arguments, integer};
use super::containers::Dict;
use super::{Kind, charge, compare, iterate, kind, raise, text, type_name};

/// `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`, as transformers defines it.
pub(super) fn tojson(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let names = &["x", "ensure_ascii", "indent", "separators", "sort_keys"];
    let arguments = Arguments::bind("tojson", names, 1, arguments)?;
    let indent = match arguments.or_none(2) {
        none if none.is_none() => None,
        width => match (integer(&width), width.as_str()) {
            (Some(width), _) => {
                let width = usize::try_from(width).unwrap_or(0);
                charge(state, width)?;
                Some(" ".repeat(width))
            }
            (None, Some(text)) => Some(text.to_owned()),
            _ => return Err(raise(format!("tojson(): 'indent' must be int or str, not {}", type_name(&width)))),
        },
    };
    let separators = match arguments.or_none(3) {
        // Python drops the space at the end of a line.
        none if none.is_none() => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        pair => {
            let parts = iterate::items(state, &pair)?;
            match parts.as_slice() {
                [item, key] if item.as_str().is_some() && key.as_str().is_some() => {
                    (text::str(state, item)?, text::str(state, key)?)
                }
                _ => return Err(raise("tojson(): 'separators' must be a pair of texts")),
            }
        }
    };
    let style = Style { ensure_ascii: arguments.truth(1, false), sort_keys: arguments.truth(4, false), indent, separators };
    let mut out = String::new();
    style.write(state, &arguments.or_none(0), 0, &mut out)?;
    Ok(Value::from(out))
}

struct Style {
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    separators: (String, String),
}

impl Style {
    fn write(&self, state: &State, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        state.consume_fuel(1)?;
        charge(state, out.len() / 1024)?;
        match kind(value) {
            Kind::None => out.push_str("null"),
            Kind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            Kind::Int => out.push_str(&value.to_string()),
            Kind::Float => out.push_str(&float(f64::try_from(value.clone())?)),
            Kind::Str => self.string(value.as_str().unwrap_or_default(), out),
            Kind::List | Kind::Tuple => {
                out.push('[');
                let items = iterate::items(state, value)?;
                for (i, item) in items.iter().enumerate() {
                    self.begin(i, depth + 1, out);
                    self.write(state, item, depth + 1, out)?;
                }
                self.end(items.len(), depth, out);
                out.push(']');
            }
            Kind::Dict => self.dict(state, value, depth, out)?,
            _ => return Err(raise(format!("Object of type {} is not JSON serializable", type_name(value)))),
        }
        Ok(())
    }

    fn dict(&self, state: &State, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        let mut entries = value.downcast_object_ref::<Dict>().map(|dict| dict.entries.clone()).unwrap_or_default();
        if self.sort_keys {
            let mut failed = None;
            entries.sort_by(|(a, _), (b, _)| match compare::order(state, a, b) {
                Ok(order) => order.unwrap_or(std::cmp::Ordering::Equal),
                Err(error) => {
                    failed.get_or_insert(error);
                    std::cmp::Ordering::Equal
                }
            });
            failed.map_or(Ok(()), Err)?;
        }
        out.push('{');
        for (i, (key, item)) in entries.iter().enumerate() {
            self.begin(i, depth + 1, out);
            match kind(key) {
                Kind::Str => self.string(key.as_str().unwrap_or_default(), out),
                Kind::Int | Kind::Float | Kind::Bool | Kind::None => {
                    out.push('"');
                    self.write(state, key, depth, out)?;
                    out.push('"');
                }
                _ => {
                    let found = type_name(key);
                    return Err(raise(format!("keys must be str, int, float, bool or None, not {found}")));
                }
            }
            out.push_str(&self.separators.1);
            self.write(state, item, depth + 1, out)?;
        }
        self.end(entries.len(), depth, out);
        out.push('}');
        Ok(())
    }

    fn begin(&self, index: usize, depth: usize, out: &mut String) {
        if index > 0 {
            out.push_str(&self.separators.0);
        }
        self.line(depth, out);
    }

    fn end(&self, items: usize, depth: usize, out: &mut String) {
        if items > 0 {
            self.line(depth, out);
        }
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ensure_ascii && c > '\u{7f}') => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        text::float(value)
    }
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use crate::chat::jinja::rewrite;
    use crate::chat::python::{from_json, install};

    fn render(expression: &str) -> Result<String, minijinja::Error> {
        let mut environment = Environment::empty();
        install(&mut environment);
        let value = serde_json::json!({"b": [1, 2.5, true, null], "a": {"q\"<>&'": "é\n\u{1}🦀\u{7f}"}, "e": [], "o": {}});
        let template = rewrite(&format!("{{{{ {expression} }}}}")).unwrap();
        environment.render_str(&template, minijinja::context! { v => from_json(&value)? })
    }

    #[test]
    fn writes_what_python_writes() {
        let plain = "{\"b\": [1, 2.5, true, null], \"a\": {\"q\\\"<>&'\": \"é\\n\\u0001🦀\u{7f}\"}, \"e\": [], \"o\": {}}";
        assert_eq!(render("v|tojson").unwrap(), plain);
        let ascii = "{\"a\":{\"q\\\"<>&'\":\"\\u00e9\\n\\u0001\\ud83e\\udd80\u{7f}\"},\"b\":[1,2.5,true,null],\"e\":[],\"o\":{}}";
        assert_eq!(render("v|tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':'))").unwrap(), ascii);
        assert_eq!(render("[1, {'k': 2}, []]|tojson(indent=2)").unwrap(), "[\n  1,\n  {\n    \"k\": 2\n  },\n  []\n]");
        assert_eq!(render("{1: 2, none: 1.0, true: ()}|tojson").unwrap(), "{\"1\": [], \"null\": 1.0}");
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for expression in
            ["missing|tojson", "v.items()|tojson", "[1]|map('string')|tojson", "range(2)|tojson", "{(1, 2): 3}|tojson"]
        {
            assert!(render(expression).is_err(), "{expression}");
        }
    }
}
