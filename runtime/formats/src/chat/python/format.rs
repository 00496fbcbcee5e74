//! `'...' % values` and `'...'.format(...)`, with minijinja's formatting of single values.

use minijinja::formatting::{FormatStyle, format};
use minijinja::value::Value;
use minijinja::{Error, State};

use super::containers::Dict;
use super::strings::keyword_value;
use super::{Kind, charge, iterate, kind, markup, raise, text};

/// Values that have a form of their own stay, and all others become what they print as.
fn printed(state: &State, value: &Value, escapes: bool) -> Result<Value, Error> {
    Ok(match kind(value) {
        Kind::Bool | Kind::Int | Kind::Float => value.clone(),
        Kind::Str if !escapes => value.clone(),
        Kind::Str => Value::from(markup::escape(value, value.as_str().unwrap_or_default())),
        _ => Value::from(text::str(state, value)?),
    })
}

/// Pays for widths and precisions before they are filled.
fn charge_widths(state: &State, template: &str) -> Result<(), Error> {
    let digits = template.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    for width in digits {
        charge(state, width.parse().unwrap_or(usize::MAX))?;
    }
    Ok(())
}

/// `template % operand`.
pub(super) fn percent(state: &State, template: &Value, operand: &Value) -> Result<Value, Error> {
    let source = template.as_str().unwrap_or_default();
    let escapes = template.is_safe();
    charge_widths(state, source)?;
    let values = match operand.downcast_object_ref::<Dict>() {
        Some(dict) if source.contains("%(") => {
            let pairs = dict.entries.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
            let pairs: Result<Vec<_>, Error> =
                pairs.map(|(key, value)| Ok((key.to_owned(), printed(state, value, escapes)?))).collect();
            vec![Value::from_pairs(pairs?)]
        }
        _ => {
            let values = if kind(operand) == Kind::Tuple { iterate::items(state, operand)? } else { vec![operand.clone()] };
            let wanted = conversions(source);
            // What could be a mapping may be left unused.
            let is_mapping = matches!(kind(operand), Kind::Dict | Kind::List | Kind::Range | Kind::Undefined);
            if values.len() > wanted && !is_mapping {
                return Err(raise("not all arguments converted during string formatting"));
            }
            let values: Result<Vec<_>, Error> = values.iter().map(|value| printed(state, value, escapes)).collect();
            values?
        }
    };
    format(FormatStyle::Printf, source, &values).map(|text| markup::like(template, text))
}

/// How many values a template takes.
fn conversions(template: &str) -> usize {
    let mut count = 0;
    let mut chars = template.chars();
    while chars.any(|c| c == '%') {
        let conversion = chars.by_ref().find(|c| !matches!(c, '0'..='9' | '.' | '-' | '+' | ' ' | '#' | '*'));
        count += usize::from(conversion.is_some_and(|c| c != '%'));
    }
    count
}

/// `template.format(...)`.
pub(super) fn braces(
    state: &State,
    template: &Value,
    positional: &[Value],
    keywords: Vec<(String, Value)>,
) -> Result<Value, Error> {
    let source = template.as_str().unwrap_or_default();
    let escapes = template.is_safe();
    charge_widths(state, source)?;
    // Fields may look into values, which then stay as they are.
    let looks_in = source.contains('[') || source.contains('.');
    let value = |value: &Value| match kind(value) {
        Kind::Dict | Kind::List | Kind::Tuple if looks_in => Ok(value.clone()),
        _ => printed(state, value, escapes),
    };
    let mut values: Vec<Value> = positional.iter().map(&value).collect::<Result<_, _>>()?;
    let named: Result<Vec<_>, Error> = keywords.iter().map(|(name, given)| Ok((name.clone(), value(given)?))).collect();
    values.push(keyword_value(named?));
    format(FormatStyle::StrFormat, source, &values).map(|text| markup::like(template, text))
}
