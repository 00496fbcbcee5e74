//! `Markup`: what `|safe` and `|escape` make, which escapes as HTML whatever is added to it.

use minijinja::value::Value;

/// `markupsafe.escape` of a text.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// The text of a value, escaped unless it is a `Markup`.
pub(super) fn escape(value: &Value, text: &str) -> String {
    if value.is_safe() { text.to_owned() } else { escaped(text) }
}

/// A text of the kind of another.
pub(super) fn like(other: &Value, text: String) -> Value {
    if other.is_safe() { Value::from_safe_string(text) } else { Value::from(text) }
}
