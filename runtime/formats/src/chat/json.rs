//! The `tojson` filter: `json.dumps` of Python, whose spaces and number format models were trained on.

use std::fmt::Write;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`, as transformers defines it.
pub(super) fn tojson(value: &Value, kwargs: Kwargs) -> Result<String, Error> {
    let indent = match kwargs.get::<Option<Value>>("indent")? {
        None => None,
        Some(v) if v.is_none() => None,
        Some(v) => match (v.as_usize(), v.as_str()) {
            (Some(width), _) => Some(" ".repeat(width)),
            (None, Some(text)) => Some(text.to_owned()),
            _ => return Err(invalid(format!("tojson: indent is {v}"))),
        },
    };
    let separators = match kwargs.get::<Option<Value>>("separators")? {
        Some(v) if !v.is_none() => {
            let parts: Vec<String> = v.try_iter()?.map(|s| s.to_string()).collect();
            let [item, key] = parts.try_into().map_err(|_| invalid("tojson: separators are not a pair".to_owned()))?;
            (item, key)
        }
        // Python drops the space at the end of a line.
        _ => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let style = Style {
        ensure_ascii: kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        indent,
        separators,
    };
    kwargs.assert_all_used()?;
    let mut out = String::new();
    style.write(value, 0, &mut out)?;
    Ok(out)
}

struct Style {
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    separators: (String, String),
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number if value.is_integer() => out.push_str(&value.to_string()),
            ValueKind::Number => out.push_str(&float(f64::try_from(value.clone())?)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                out.push('[');
                let items = value.try_iter()?.collect::<Vec<_>>();
                for (i, item) in items.iter().enumerate() {
                    self.begin(i, depth + 1, out);
                    self.write(item, depth + 1, out)?;
                }
                self.end(items.len(), depth, out);
                out.push(']');
            }
            ValueKind::Map => {
                out.push('{');
                let mut keys = value.try_iter()?.collect::<Vec<_>>();
                if self.sort_keys {
                    keys.sort();
                }
                for (i, key) in keys.iter().enumerate() {
                    self.begin(i, depth + 1, out);
                    match key.kind() {
                        ValueKind::String => self.string(key.as_str().unwrap_or_default(), out),
                        ValueKind::Number | ValueKind::Bool | ValueKind::None => {
                            out.push('"');
                            self.write(key, depth, out)?;
                            out.push('"');
                        }
                        other => return Err(invalid(format!("tojson: {other} as a key"))),
                    }
                    out.push_str(&self.separators.1);
                    self.write(&value.get_item(key)?, depth + 1, out)?;
                }
                self.end(keys.len(), depth, out);
                out.push('}');
            }
            other => return Err(invalid(format!("tojson: {other} is not JSON serializable"))),
        }
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
                c if c < ' ' || (self.ensure_ascii && c > '~') => {
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

/// `repr` of a Python float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16.
fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..16).contains(&exponent) {
        let text = value.to_string();
        if text.contains('.') { text } else { text + ".0" }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use minijinja::{Environment, context};

    use super::*;

    fn render(expression: &str) -> String {
        let mut env = Environment::new();
        env.add_filter("tojson", tojson);
        let value = serde_json::json!({"b": [1, 2.5, true, null], "a": {"q\"<>&'": "é\n\u{1}🦀"}, "e": [], "o": {}});
        env.render_str(&format!("{{{{ {expression} }}}}"), context! { v => Serde(value) }).unwrap()
    }

    #[test]
    fn writes_what_python_writes() {
        let plain = r#"{"b": [1, 2.5, true, null], "a": {"q\"<>&'": "é\n\u0001🦀"}, "e": [], "o": {}}"#;
        assert_eq!(render("v|tojson"), plain);
        let ascii = r#"{"a":{"q\"<>&'":"\u00e9\n\u0001\ud83e\udd80"},"b":[1,2.5,true,null],"e":[],"o":{}}"#;
        assert_eq!(render("v|tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':'))"), ascii);
        assert_eq!(render("[1, {'k': 2}, []]|tojson(indent=2)"), "[\n  1,\n  {\n    \"k\": 2\n  },\n  []\n]");
        assert_eq!(render("{1: 2}|tojson"), r#"{"1": 2}"#);
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (3.0, "3.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn an_undefined_value_is_an_error() {
        let mut env = Environment::new();
        env.add_filter("tojson", tojson);
        assert!(env.render_str("{{ missing|tojson }}", context! {}).is_err());
    }
}
