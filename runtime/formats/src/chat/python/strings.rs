//! Methods of `str`.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::arguments::{Arguments, integer, split};
use super::containers::{list, tuple};
use super::text::is_space;
use super::{Kind, charge, format, iterate, kind, markup, raise, type_name};

/// What `str` has, but for what makes or takes bytes and tables.
pub(super) const METHODS: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// Calls one of [`METHODS`]. What a `Markup` gives is one too.
pub(super) fn call(state: &mut State, receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let text = receiver.as_str().unwrap_or_default();
    charge(state, text.len())?;
    let made = |text: String| Ok(markup::like(receiver, text));
    match name {
        "capitalize" | "casefold" | "lower" | "swapcase" | "title" | "upper" => {
            Arguments::bind("the method", &[], 0, arguments)?;
            made(cased(text, name))
        }
        "isalnum" | "isalpha" | "isascii" | "isdecimal" | "isdigit" | "isidentifier" | "islower" | "isnumeric" | "isspace"
        | "istitle" | "isupper" => {
            Arguments::bind("the method", &[], 0, arguments)?;
            Ok(Value::from(is(text, name)?))
        }
        "strip" | "lstrip" | "rstrip" => {
            let arguments = Arguments::bind("strip", &["chars"], 0, arguments)?;
            let chars = arguments.optional_string(0)?;
            let strips = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
            let text = if name == "rstrip" { text } else { text.trim_start_matches(strips) };
            made(if name == "lstrip" { text } else { text.trim_end_matches(strips) }.to_owned())
        }
        "center" | "ljust" | "rjust" | "zfill" => padded(state, receiver, name, arguments),
        "count" | "find" | "rfind" | "index" | "rindex" => find(text, name, arguments),
        "startswith" | "endswith" => affix(state, text, name, arguments),
        "removeprefix" | "removesuffix" => {
            let arguments = Arguments::bind("removeprefix", &["affix"], 1, arguments)?;
            let affix = arguments.string(0)?;
            let kept = if name == "removeprefix" { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
            made(kept.unwrap_or(text).to_owned())
        }
        "replace" => {
            let arguments = Arguments::bind("replace", &["old", "new", "count"], 2, arguments)?;
            let new = arguments.string(1)?;
            let new = if receiver.is_safe() { arguments.get(1).map(|value| markup::escape(value, new)) } else { None }
                .unwrap_or_else(|| new.to_owned());
            made(replaced(state, text, arguments.string(0)?, &new, arguments.integer(2, -1)?)?)
        }
        "split" | "rsplit" => split_by(state, receiver, name == "rsplit", arguments),
        "splitlines" => {
            let keeps = Arguments::bind("splitlines", &["keepends"], 0, arguments)?.truth(0, false);
            list(lines(text, keeps).into_iter().map(|line| markup::like(receiver, line.to_owned())).collect())
        }
        "partition" | "rpartition" => {
            let arguments = Arguments::bind("partition", &["sep"], 1, arguments)?;
            let by = arguments.string(0)?;
            if by.is_empty() {
                return Err(raise("empty separator"));
            }
            let found = if name == "partition" { text.split_once(by) } else { text.rsplit_once(by) };
            let parts = match (found, name) {
                (Some((before, after)), _) => [before, by, after],
                (None, "partition") => [text, "", ""],
                (None, _) => ["", "", text],
            };
            tuple(parts.iter().map(|part| markup::like(receiver, (*part).to_owned())).collect())
        }
        "join" => join(state, receiver, arguments),
        "expandtabs" => expand_tabs(state, receiver, arguments),
        "format" => {
            let (positional, keywords) = split(arguments);
            format::braces(state, receiver, positional, keywords)
        }
        _ => {
            let arguments = Arguments::bind("format_map", &["mapping"], 1, arguments)?;
            let mapping = arguments.or_none(0);
            let pairs = mapping.downcast_object_ref::<super::containers::Dict>().map(|dict| dict.entries.clone());
            let pairs = pairs.ok_or_else(|| raise("format_map() needs a dict"))?;
            let named = pairs.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
            format::braces(state, receiver, &[], named.collect())
        }
    }
}

/// The first character as a title has it: where that is several, only the first of them is large.
fn title_case(c: char, out: &mut String) {
    let mut large = c.to_uppercase();
    out.extend(large.next());
    out.extend(large.flat_map(char::to_lowercase));
}

fn cased(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    match name {
        "lower" => return text.to_lowercase(),
        "upper" => return text.to_uppercase(),
        "casefold" => text.to_lowercase().chars().for_each(|c| match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            c => out.push(c),
        }),
        "swapcase" => text.chars().for_each(|c| {
            if c.is_uppercase() {
                out.extend(c.to_lowercase());
            } else {
                out.extend(c.to_uppercase());
            }
        }),
        "capitalize" => {
            let mut chars = text.chars();
            if let Some(first) = chars.next() {
                title_case(first, &mut out);
            }
            out.push_str(&chars.as_str().to_lowercase());
        }
        _ => {
            let mut within = false;
            for c in text.chars() {
                if within {
                    out.extend(c.to_lowercase());
                } else {
                    title_case(c, &mut out);
                }
                within = is_cased(c);
            }
        }
    }
    out
}

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}

fn is(text: &str, name: &str) -> Result<bool, Error> {
    let all = |holds: fn(char) -> bool| !text.is_empty() && text.chars().all(holds);
    /// Numbers that are no digits: fractions, Roman ones, ideographs.
    fn is_superscript(c: char) -> bool {
        matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨' | '⑴'..='⑼' | '⒈'..='⒐')
    }
    fn is_decimal(c: char) -> bool {
        c.is_numeric()
            && !is_superscript(c)
            && !matches!(c, '¼'..='¾' | '\u{2150}'..='\u{218f}' | '①'..='⓿' | '\u{3007}'..='\u{32ff}')
            && !('\u{3400}'..='\u{9fff}').contains(&c)
    }
    Ok(match name {
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isascii" => text.is_ascii(),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(|c| is_decimal(c) || is_superscript(c)),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(is_space),
        "isidentifier" => {
            text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        "islower" => is_lower_or_upper(text, false)?,
        "isupper" => is_lower_or_upper(text, true)?,
        _ => {
            let (mut within, mut any) = (false, false);
            for c in text.chars() {
                if (c.is_uppercase() && within) || (c.is_lowercase() && !within) {
                    return Ok(false);
                }
                within = is_cased(c);
                any |= within;
            }
            any
        }
    })
}

/// `islower` and `isupper`.
pub(super) fn is_lower_or_upper(text: &str, upper: bool) -> Result<bool, Error> {
    let holds = |c: char| if upper { c.is_uppercase() } else { c.is_lowercase() };
    Ok(text.chars().any(holds) && text.chars().all(|c| holds(c) || !is_cased(c)))
}

fn padded(state: &State, receiver: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("padding", &["width", "fillchar"], 1, arguments)?;
    let text = receiver.as_str().unwrap_or_default();
    let width = usize::try_from(arguments.integer(0, 0)?).unwrap_or(0);
    let fill = arguments.optional_string(1)?.unwrap_or(if name == "zfill" { "0" } else { " " });
    if fill.chars().count() != 1 {
        return Err(raise("The fill character must be exactly one character long"));
    }
    charge(state, width.saturating_mul(fill.len()))?;
    let missing = width.saturating_sub(text.chars().count());
    let padded = match name {
        "ljust" => format!("{text}{}", fill.repeat(missing)),
        "rjust" => format!("{}{text}", fill.repeat(missing)),
        "zfill" => {
            let (sign, digits) = if text.starts_with(['+', '-']) { text.split_at(1) } else { ("", text) };
            format!("{sign}{}{digits}", fill.repeat(missing))
        }
        _ => {
            let left = missing / 2 + (missing & width & 1);
            format!("{}{text}{}", fill.repeat(left), fill.repeat(missing - left))
        }
    };
    Ok(markup::like(receiver, padded))
}

/// The part between two places counted in characters, and where it begins.
fn part<'t>(text: &'t str, arguments: &Arguments, from: usize) -> Result<Option<(&'t str, usize)>, Error> {
    let length = text.chars().count() as i64;
    let place = |at: usize, default: i64| -> Result<i64, Error> {
        let Some(value) = arguments.get(at).filter(|value| !value.is_none()) else { return Ok(default) };
        let value = integer(value).ok_or_else(|| raise("slice indices must be integers or None"))?;
        Ok(if value < 0 { value.saturating_add(length).max(0) } else { value })
    };
    let (start, end) = (place(from, 0)?, place(from + 1, length)?.min(length));
    if start > end {
        return Ok(None);
    }
    let byte = |at: i64| text.char_indices().nth(at as usize).map_or(text.len(), |(at, _)| at);
    Ok(Some((&text[byte(start)..byte(end)], start as usize)))
}

fn find(text: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("find", &["sub", "start", "end"], 1, arguments)?;
    let wanted = arguments.string(0)?;
    let found = part(text, &arguments, 1)?;
    if name == "count" {
        let count =
            found.map_or(0, |(part, _)| if wanted.is_empty() { part.chars().count() + 1 } else { part.matches(wanted).count() });
        return Ok(Value::from(count));
    }
    let place = found.and_then(|(part, start)| {
        let at = if name.starts_with('r') { part.rfind(wanted) } else { part.find(wanted) }?;
        Some(start + part[..at].chars().count())
    });
    match place {
        Some(place) => Ok(Value::from(place)),
        None if name.ends_with("find") => Ok(Value::from(-1)),
        None => Err(raise("substring not found")),
    }
}

fn affix(state: &State, text: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("startswith", &["prefix", "start", "end"], 1, arguments)?;
    let affix = arguments.or_none(0);
    let candidates = match kind(&affix) {
        Kind::Str => vec![affix.clone()],
        Kind::Tuple => iterate::items(state, &affix)?,
        _ => {
            let found = type_name(&affix);
            return Err(raise(format!("{name} first arg must be str or a tuple of str, not {found}")));
        }
    };
    let Some((part, _)) = part(text, &arguments, 1)? else { return Ok(Value::from(false)) };
    for candidate in &candidates {
        let Some(candidate) = candidate.as_str() else {
            return Err(raise(format!("tuple for {name} must only contain str, not {}", type_name(candidate))));
        };
        if if name == "startswith" { part.starts_with(candidate) } else { part.ends_with(candidate) } {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

/// `str.replace`; a negative count replaces all.
pub(super) fn replaced(state: &State, text: &str, old: &str, new: &str, count: i64) -> Result<String, Error> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let matches = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() }.min(count);
    charge(state, text.len().saturating_add(matches.saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, count))
}

fn split_by(state: &State, receiver: &Value, from_right: bool, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("split", &["sep", "maxsplit"], 0, arguments)?;
    let text = receiver.as_str().unwrap_or_default();
    let most = usize::try_from(arguments.integer(1, -1)?).unwrap_or(usize::MAX - 1);
    state.consume_fuel(text.len() as u64 / 8)?;
    let mut parts: Vec<&str> = match arguments.optional_string(0)? {
        Some("") => return Err(raise("empty separator")),
        Some(by) if from_right => text.rsplitn(most + 1, by).collect(),
        Some(by) => text.splitn(most + 1, by).collect(),
        None => by_spaces(text, most, from_right),
    };
    if from_right {
        parts.reverse();
    }
    list(parts.into_iter().map(|part| markup::like(receiver, part.to_owned())).collect())
}

/// Words, the last of which has the rest of the text; those from the right are in that order.
fn by_spaces(text: &str, most: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = if from_right { text.trim_end_matches(is_space) } else { text.trim_start_matches(is_space) };
    while !rest.is_empty() {
        let cut = if from_right { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = cut.filter(|_| parts.len() < most) else {
            let whole = if from_right { rest.trim_start_matches(is_space) } else { rest.trim_end_matches(is_space) };
            parts.push(if parts.len() < most { whole } else { rest });
            break;
        };
        if from_right {
            let width = rest[at..].chars().next().map_or(1, char::len_utf8);
            parts.push(&rest[at + width..]);
            rest = rest[..at].trim_end_matches(is_space);
        } else {
            parts.push(&rest[..at]);
            rest = rest[at..].trim_start_matches(is_space);
        }
    }
    parts
}

/// `str.splitlines`.
pub(super) fn lines(text: &str, keep_ends: bool) -> Vec<&str> {
    const ENDS: [char; 11] = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}', '\n'];
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(ENDS) {
        let width = if rest[at..].starts_with("\r\n") { 2 } else { rest[at..].chars().next().map_or(1, char::len_utf8) };
        lines.push(if keep_ends { &rest[..at + width] } else { &rest[..at] });
        rest = &rest[at + width..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

fn join(state: &State, receiver: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("join", &["iterable"], 1, arguments)?;
    let text = receiver.as_str().unwrap_or_default();
    let mut out = String::new();
    for (i, item) in iterate::items(state, &arguments.or_none(0))?.iter().enumerate() {
        let Some(part) = item.as_str() else {
            return Err(raise(format!("sequence item {i}: expected str instance, {} found", type_name(item))));
        };
        charge(state, text.len() + part.len())?;
        out.push_str(if i > 0 { text } else { "" });
        out.push_str(&if receiver.is_safe() { markup::escape(item, part) } else { part.to_owned() });
    }
    Ok(markup::like(receiver, out))
}

fn expand_tabs(state: &State, receiver: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = Arguments::bind("expandtabs", &["tabsize"], 0, arguments)?;
    let width = usize::try_from(arguments.integer(0, 8)?).unwrap_or(0);
    let text = receiver.as_str().unwrap_or_default();
    charge(state, text.matches('\t').count().saturating_mul(width))?;
    let (mut out, mut column) = (String::new(), 0);
    for c in text.chars() {
        match c {
            '\t' if width > 0 => {
                let blanks = width - column % width;
                out.push_str(&" ".repeat(blanks));
                column += blanks;
            }
            '\t' => {}
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(markup::like(receiver, out))
}

/// Keyword arguments as minijinja has them.
pub(super) fn keyword_value(pairs: Vec<(String, Value)>) -> Value {
    Value::from(pairs.into_iter().collect::<Kwargs>())
}
