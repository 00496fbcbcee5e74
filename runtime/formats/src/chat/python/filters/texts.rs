//! Filters of texts.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Filter;
use crate::chat::python::arguments::{Arguments, split};
use crate::chat::python::containers::{Dict, dict};
use crate::chat::python::text::{self, is_space};
use crate::chat::python::{Kind, charge, format, iterate, kind, markup, raise, strings};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("__text", |_, arguments| match arguments {
        [value] if value.as_str().is_some() => Ok(value.clone()),
        _ => Err(raise("a filter of a block must give a text")),
    }),
    ("capitalize", |state, arguments| method(state, "capitalize", arguments)),
    ("center", center),
    ("e", escape),
    ("escape", escape),
    ("filesizeformat", file_size),
    ("forceescape", force_escape),
    ("format", formatted),
    ("indent", indent),
    ("lower", |state, arguments| method(state, "lower", arguments)),
    ("pprint", pprint),
    ("replace", replace),
    ("safe", safe),
    ("string", string),
    ("striptags", strip_tags),
    ("title", title),
    ("trim", trim),
    ("truncate", truncate),
    ("upper", |state, arguments| method(state, "upper", arguments)),
    ("urlencode", url_encode),
    ("wordcount", word_count),
    ("wordwrap", word_wrap),
    ("xmlattr", xml_attributes),
];

/// `soft_str`: a text stays what it is, a `Markup` too.
fn soft(state: &State, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() { Ok(value.clone()) } else { text::str(state, value).map(Value::from) }
}

fn first(arguments: &Arguments) -> Value {
    arguments.get(0).cloned().unwrap_or_default()
}

fn method(state: &mut State, name: &'static str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind(name, &["s"], 1, arguments)?;
    let value = soft(state, &first(&arguments))?;
    strings::call(state, &value, name, &[])
}

fn center(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("center", &["value", "width"], 1, arguments)?;
    let value = soft(state, &first(&arguments))?;
    strings::call(state, &value, "center", &[Value::from(arguments.integer(1, 80)?)])
}

fn escape(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("escape", &["s"], 1, arguments)?);
    if value.is_safe() {
        return Ok(value);
    }
    Ok(Value::from_safe_string(markup::escaped(&text::str(state, &value)?)))
}

fn force_escape(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("forceescape", &["value"], 1, arguments)?);
    Ok(Value::from_safe_string(markup::escaped(&text::str(state, &value)?)))
}

fn safe(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("safe", &["value"], 1, arguments)?);
    Ok(Value::from_safe_string(text::str(state, &value)?))
}

fn string(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    soft(state, &first(&Arguments::bind("string", &["object"], 1, arguments)?))
}

fn file_size(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("filesizeformat", &["value", "binary"], 1, arguments)?;
    let bytes = super::numbers::to_float(state, &first(&arguments))?;
    let binary = arguments.truth(1, false);
    let base = if binary { 1024.0_f64 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc())));
    }
    let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
    let mut unit = base * base;
    let mut last = 0;
    while bytes >= unit && last + 1 < prefixes.len() {
        unit *= base;
        last += 1;
    }
    let prefix = if binary { format!("{}iB", prefixes[last].to_uppercase()) } else { format!("{}B", prefixes[last]) };
    Ok(Value::from(format!("{:.1} {prefix}", base * bytes / unit)))
}

fn formatted(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let (positional, keywords) = split(arguments);
    let [value, positional @ ..] = positional else { return Err(raise("format() is missing the argument 'value'")) };
    if !positional.is_empty() && !keywords.is_empty() {
        return Err(raise("can't handle positional and keyword arguments at the same time"));
    }
    let value = soft(state, value)?;
    let operand = if keywords.is_empty() {
        crate::chat::python::containers::tuple(positional.to_vec())?
    } else {
        dict(keywords.into_iter().map(|(name, value)| (Value::from(name), value)).collect())?
    };
    format::percent(state, &value, &operand)
}

fn indent(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("indent", &["s", "width", "first", "blank"], 1, arguments)?;
    let value = first(&arguments);
    let source = value.as_str().ok_or_else(|| raise("indent() needs a text"))?;
    let width = match arguments.get(1) {
        Some(width) if width.as_str().is_some() => width.as_str().unwrap_or_default().to_owned(),
        _ => {
            let width = usize::try_from(arguments.integer(1, 4)?).unwrap_or(0);
            charge(state, width)?;
            " ".repeat(width)
        }
    };
    let source = format!("{source}\n");
    let lines = strings::lines(&source, false);
    charge(state, (width.len() + 1).saturating_mul(lines.len()).saturating_add(source.len()))?;
    let blank = arguments.truth(3, false);
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let indents = if i == 0 { arguments.truth(2, false) } else { blank || !line.is_empty() };
        out.push_str(if indents { &width } else { "" });
        out.push_str(line);
    }
    Ok(markup::like(&value, out))
}

/// `pformat` writes what fits into a line as `repr` does, but with the keys of dicts sorted.
fn pprint(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("pprint", &["value"], 1, arguments)?);
    let shown = text::repr(state, &value)?;
    let plain = kind(&value) != Kind::Dict || value.len().unwrap_or(0) < 2;
    if plain && shown.chars().count() <= 80 { Ok(Value::from(shown)) } else { Err(raise("pprint() of so much is not known")) }
}

fn replace(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("replace", &["s", "old", "new", "count"], 3, arguments)?;
    let (source, old, new) =
        (arguments.soft_string(state, 0, "")?, arguments.soft_string(state, 1, "")?, arguments.soft_string(state, 2, "")?);
    let count = if arguments.or_none(3).is_none() { -1 } else { arguments.integer(3, -1)? };
    strings::replaced(state, &source, &old, &new, count).map(Value::from)
}

fn strip_tags(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("striptags", &["value"], 1, arguments)?);
    let mut source = text::str(state, &value)?;
    for (begin, end) in [("<!--", "-->"), ("<", ">")] {
        while let Some(from) = source.find(begin) {
            let Some(length) = source[from..].find(end) else { break };
            source.replace_range(from..from + length + end.len(), "");
            charge(state, source.len())?;
        }
    }
    let joined = source.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let unescaped = [("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", "\""), ("&quot;", "\""), ("&amp;", "&")];
    Ok(Value::from(unescaped.iter().fold(joined, |text, (from, to)| text.replace(from, to))))
}

/// Not `str.title`: words begin behind spaces, dashes and opening brackets only.
fn title(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = soft(state, &first(&Arguments::bind("title", &["s"], 1, arguments)?))?;
    let mut out = String::new();
    let mut begins = true;
    for c in value.as_str().unwrap_or_default().chars() {
        let separates = is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
        if separates {
            out.push(c);
        } else if begins {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        begins = separates;
    }
    Ok(Value::from(out))
}

fn trim(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("trim", &["value", "chars"], 1, arguments)?;
    let value = soft(state, &first(&arguments))?;
    strings::call(state, &value, "strip", &[arguments.or_none(1)])
}

fn truncate(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("truncate", &["s", "length", "killwords", "end", "leeway"], 1, arguments)?;
    let value = first(&arguments);
    let size = iterate::length(&value).ok_or_else(|| raise("truncate() needs a text"))?;
    let length = arguments.integer(1, 255)?;
    let end = arguments.optional_string(3)?.unwrap_or("...");
    let leeway = if arguments.or_none(4).is_none() { 5 } else { arguments.integer(4, 5)? };
    let ending = end.chars().count() as i64;
    if length < ending || leeway < 0 {
        return Err(raise(format!("expected length >= {ending}, got {length}")));
    }
    if size as i64 <= length.saturating_add(leeway) {
        return Ok(value);
    }
    state.consume_fuel(size as u64 / 64)?;
    let source: Vec<char> = value.as_str().ok_or_else(|| raise("truncate() needs a text"))?.chars().collect();
    let mut kept: String = source.iter().take(usize::try_from(length - ending).unwrap_or(0)).collect();
    if !arguments.truth(2, false) {
        kept.truncate(kept.rfind(' ').unwrap_or(kept.len()));
    }
    Ok(markup::like(&value, kept + end))
}

fn url_quote(state: &State, value: &Value, for_query: bool) -> Result<String, Error> {
    let mut out = String::new();
    for byte in text::str(state, value)?.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b'/' if !for_query => out.push('/'),
            b' ' if for_query => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out)
}

fn url_encode(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = first(&Arguments::bind("urlencode", &["value"], 1, arguments)?);
    let pairs: Vec<(Value, Value)> = match kind(&value) {
        Kind::Dict => value.downcast_object_ref::<Dict>().map(|dict| dict.entries.clone()).unwrap_or_default(),
        Kind::List | Kind::Tuple | Kind::View | Kind::Generator | Kind::Undefined | Kind::Range => {
            iterate::items(state, &value)?.iter().map(|item| iterate::pair(state, item)).collect::<Result<_, _>>()?
        }
        _ => return url_quote(state, &value, false).map(Value::from),
    };
    let mut parts = Vec::new();
    for (key, value) in &pairs {
        parts.push(format!("{}={}", url_quote(state, key, true)?, url_quote(state, value, true)?));
    }
    Ok(Value::from(parts.join("&")))
}

fn word_count(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let value = soft(state, &first(&Arguments::bind("wordcount", &["s"], 1, arguments)?))?;
    let words = value.as_str().unwrap_or_default().split(|c: char| !(c.is_alphanumeric() || c == '_'));
    Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
}

/// Words that are longer than a line are cut; hyphens are not looked at.
fn word_wrap(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let names = &["s", "width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let arguments = Arguments::bind("wordwrap", names, 1, arguments)?;
    let source = arguments.string(0)?;
    let width = usize::try_from(arguments.integer(1, 79)?).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| raise("invalid width (must be > 0)"))?;
    let break_long = arguments.truth(2, true);
    let wrap = arguments.optional_string(3)?.unwrap_or("\n");
    if source.contains('-') && arguments.truth(4, true) {
        return Err(raise("wordwrap() of hyphens is not known"));
    }
    charge(state, source.len().saturating_mul(wrap.len() + 1))?;
    let lines: Vec<String> =
        strings::lines(source, false).iter().map(|line| wrapped(line, width, break_long).join(wrap)).collect();
    Ok(Value::from(lines.join(wrap)))
}

/// One line as lines of at most that many characters: `textwrap.wrap` without hyphens.
fn wrapped(line: &str, width: usize, break_long: bool) -> Vec<String> {
    let mut chunks: Vec<Vec<char>> = Vec::new();
    for c in line.chars() {
        match chunks.last_mut().filter(|chunk| is_space(chunk[0]) == is_space(c)) {
            Some(chunk) => chunk.push(c),
            None => chunks.push(vec![c]),
        }
    }
    chunks.reverse();
    let mut lines: Vec<String> = Vec::new();
    while !chunks.is_empty() {
        let mut current: Vec<Vec<char>> = Vec::new();
        let mut length = 0;
        if !lines.is_empty() && chunks.last().is_some_and(|chunk| is_space(chunk[0])) {
            chunks.pop();
        }
        while let Some(chunk) = chunks.pop_if(|chunk| length + chunk.len() <= width) {
            length += chunk.len();
            current.push(chunk);
        }
        if let Some(long) = chunks.last_mut().filter(|chunk| chunk.len() > width) {
            if break_long {
                let rest = long.split_off(width - length);
                current.push(std::mem::replace(long, rest));
            } else if current.is_empty() {
                current.extend(chunks.pop());
            }
        }
        if current.last().is_some_and(|chunk| chunk.is_empty() || is_space(chunk[0])) {
            current.pop();
        }
        if !current.is_empty() {
            lines.push(current.into_iter().flatten().collect());
        }
    }
    lines
}

fn xml_attributes(state: &mut State, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("xmlattr", &["d", "autospace"], 1, arguments)?;
    let value = first(&arguments);
    let dict = value.downcast_object_ref::<Dict>().ok_or_else(|| raise("xmlattr() needs a dict"))?;
    let mut out = String::new();
    for (key, value) in dict.entries.iter().filter(|(_, value)| !value.is_none() && !value.is_undefined()) {
        let name = key.as_str().ok_or_else(|| raise("xmlattr() needs names that are texts"))?;
        if name.contains(|c: char| c.is_ascii_whitespace() || matches!(c, '\u{b}' | '/' | '>' | '=')) {
            return Err(raise(format!("Invalid character in attribute name: {}", text::quoted(name))));
        }
        if !out.is_empty() || arguments.truth(1, true) {
            out.push(' ');
        }
        let shown = text::str(state, value)?;
        out.push_str(&format!("{}=\"{}\"", markup::escape(key, name), markup::escape(value, &shown)));
    }
    Ok(Value::from(out))
}
