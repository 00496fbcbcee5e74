//! `str` and `repr`.

use std::fmt::Write;

use minijinja::value::Value;
use minijinja::{AutoEscape, Error, Output, State};

use super::containers::{Dict, Generator, Range, Sequence, View, ViewOf};
use super::{Kind, charge, kind, markup, raise};

/// Python's `str.isspace` of one character, which is what `strip` strips and `\s` matches.
pub(in crate::chat) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Prints a value: what stands between `{{` and `}}`.
pub(super) fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let text = match value.as_str() {
        Some(text) if matches!(state.auto_escape(), AutoEscape::None) => return out.write_str(text).map_err(Error::from),
        _ => str(state, value)?,
    };
    let escapes = !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe();
    let text = if escapes { markup::escaped(&text) } else { text };
    out.write_str(&text).map_err(Error::from)
}

/// `str(value)`.
pub(super) fn str(state: &State, value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    match value.as_str() {
        Some(text) => out.push_str(text),
        None if value.is_undefined() => {}
        None => repr_into(state, value, &mut out)?,
    }
    Ok(out)
}

/// `repr(value)`.
pub(super) fn repr(state: &State, value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    repr_into(state, value, &mut out)?;
    Ok(out)
}

fn repr_into(state: &State, value: &Value, out: &mut String) -> Result<(), Error> {
    state.consume_fuel(1)?;
    charge(state, out.len() / 1024)?;
    match kind(value) {
        Kind::Undefined => out.push_str("Undefined"),
        Kind::None => out.push_str("None"),
        Kind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        Kind::Float => out.push_str(&float(f64::try_from(value.clone())?)),
        Kind::Int => out.push_str(&value.to_string()),
        Kind::Str => {
            let text = quoted(value.as_str().unwrap_or_default());
            if value.is_safe() {
                let _ = write!(out, "Markup({text})");
            } else {
                out.push_str(&text);
            }
        }
        Kind::List => items(state, value, "[", "]", out)?,
        Kind::Tuple => {
            let end = if value.len() == Some(1) { ",)" } else { ")" };
            items(state, value, "(", end, out)?;
        }
        Kind::Dict | Kind::Range | Kind::View | Kind::Generator | Kind::Other => object(state, value, out)?,
    }
    Ok(())
}

fn items(state: &State, value: &Value, begin: &str, end: &str, out: &mut String) -> Result<(), Error> {
    out.push_str(begin);
    if let Some(sequence) = value.downcast_object_ref::<Sequence>() {
        for (i, item) in sequence.items.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            repr_into(state, item, out)?;
        }
    } else {
        for (i, item) in value.try_iter()?.enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            repr_into(state, &item, out)?;
        }
    }
    out.push_str(end);
    Ok(())
}

fn object(state: &State, value: &Value, out: &mut String) -> Result<(), Error> {
    if let Some(dict) = value.downcast_object_ref::<Dict>() {
        out.push('{');
        for (i, (key, item)) in dict.entries.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            repr_into(state, key, out)?;
            out.push_str(": ");
            repr_into(state, item, out)?;
        }
        out.push('}');
    } else if let Some(range) = value.downcast_object_ref::<Range>() {
        let Range { start, stop, step, .. } = range;
        let _ = if *step == 1 { write!(out, "range({start}, {stop})") } else { write!(out, "range({start}, {stop}, {step})") };
    } else if let Some(view) = value.downcast_object_ref::<View>() {
        out.push_str(match view.of {
            ViewOf::Keys => "dict_keys(",
            ViewOf::Values => "dict_values(",
            ViewOf::Items => "dict_items(",
        });
        let listed = view.list()?;
        repr_into(state, &listed, out)?;
        out.push(')');
    } else if value.downcast_object_ref::<Generator>().is_some() {
        // The reference prints an address, which no prompt can depend on.
        return Err(raise("a generator is printed; `|list` is missing behind it"));
    } else {
        out.push_str(&value.to_string());
    }
    Ok(())
}

/// `repr` of a string.
pub(super) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
    out
}

/// Python's `str.isprintable` of one character: no control, format, private, surrogate or unassigned character and no space but
/// the blank. What is unassigned is left to Rust's own table, which is that of `Debug`.
fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\u{301}' => true,
        c if is_space(c) || c.is_control() => false,
        // Combining marks are printed; `escape_debug` writes those out that would join with the quote.
        c => c.escape_debug().len() == 1 || is_grapheme_extend(c),
    }
}

fn is_grapheme_extend(c: char) -> bool {
    // Behind another character, `str::escape_debug` escapes none but what is not printable.
    let text: String = ['a', c].iter().collect();
    text.escape_debug().count() == 2
}

/// `repr` of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
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
    use super::*;

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
    fn texts_are_quoted_as_python_quotes_them() {
        for (text, expected) in [
            ("a'b", r#""a'b""#),
            ("a'b\"", r#"'a\'b"'"#),
            ("\u{1}\u{7f}\u{a0}\u{ad}é\u{200b}\u{301}", r"'\x01\x7f\xa0\xadé\u200b́'"),
            ("👋🏽", "'👋🏽'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
