//! Corruptions of one value.

use std::ops::Range;

use super::places::{Entry, Kind};
use super::{Corruption, Lexicon, formula};

/// Every corruption of the value of a key.
pub fn corrupt(text: &str, entry: &Entry, lexicon: &Lexicon, into: &mut Vec<Corruption>) {
    let mut add = |operator, place: Range<usize>, with: String| {
        into.push(Corruption::new(&entry.path, operator, vec![(place, with)]));
    };
    for other in lexicon.values(&entry.general) {
        add("value of another spec", entry.value.clone(), other.to_owned());
    }
    of_kind(text, &entry.general, &entry.value, &entry.kind, lexicon, &mut add);
    // Of another type, whatever it is.
    for stranger in ["\"x\"", "7", "0.5", "true", "[]", "[7]", "{}", "1979-05-27", "\"none\"", "\"TODO\"", "\"\"", "nan", "-inf"]
    {
        add("another type", entry.value.clone(), stranger.to_owned());
    }
    add("in brackets", entry.value.clone(), format!("[{}]", &text[entry.value.clone()]));
    add("in quotes", entry.value.clone(), format!("'{}'", text[entry.value.clone()].replace('\'', "")));
}

fn of_kind(
    text: &str,
    general: &str,
    place: &Range<usize>,
    kind: &Kind,
    lexicon: &Lexicon,
    add: &mut impl FnMut(&'static str, Range<usize>, String),
) {
    let raw = &text[place.clone()];
    match kind {
        Kind::Integer => {
            let value: i128 = raw.replace('_', "").parse().unwrap_or(1);
            let powers = [value << 16, value << 32, 1 << 31, (1 << 31) + 1, i128::from(u32::MAX) + 1, 1 << 62];
            for (operator, number) in [
                ("off by one", value + 1),
                ("off by one", value - 1),
                ("sign flipped", -value),
                ("times two", value * 2),
                ("halved", value / 2),
                ("zero", 0),
                ("one", 1),
                ("two", 2),
            ]
            .into_iter()
            .chain(powers.map(|power| ("very large", power)))
            {
                add(operator, place.clone(), number.to_string());
            }
            for (operator, number) in [
                ("with a fraction", format!("{value}.0")),
                ("with a fraction", format!("{value}.5")),
                ("digit lost", raw[1..].to_owned()),
            ] {
                add(operator, place.clone(), number);
            }
        }
        Kind::Float => {
            let value: f64 = raw.parse().unwrap_or(1.0);
            for (operator, number) in [
                ("off by one", value + 1.0),
                ("off by one", value - 1.0),
                ("sign flipped", -value),
                ("times two", value * 2.0),
                ("halved", value / 2.0),
                ("times ten", value * 10.0),
                ("a tenth", value / 10.0),
                ("inverted", 1.0 / value),
                ("squared", value * value),
                ("nudged", value * (1.0 + 1e-6)),
                ("nudged in f64", value * (1.0 + 1e-12)),
                ("zero", 0.0),
                ("minus zero", -0.0),
                ("one", 1.0),
                ("very large", 1e38),
                ("very large", 1e300),
                ("very small", 1e-45),
                ("very small", 1e-300),
            ] {
                add(operator, place.clone(), format!("{number:?}"));
            }
            add("without a fraction", place.clone(), format!("{}", value.trunc()));
        }
        Kind::Boolean => {
            add("flipped", place.clone(), (raw != "true").to_string());
            add("capital", place.clone(), if raw == "true" { "True" } else { "False" }.to_owned());
        }
        Kind::Text(value) => {
            of_text(general, place, value, lexicon, add);
        }
        Kind::List(elements) => of_list(text, general, place, elements, lexicon, add),
        Kind::Inline => {}
    }
}

fn of_text(
    general: &str,
    place: &Range<usize>,
    value: &str,
    lexicon: &Lexicon,
    add: &mut impl FnMut(&'static str, Range<usize>, String),
) {
    let quoted = |text: &str| format!("\"{text}\"");
    for name in lexicon.names(general) {
        add("another name", place.clone(), quoted(name));
    }
    for (operator, text) in [
        ("letter lost", value.get(1..).unwrap_or_default().to_owned()),
        ("letter lost", value.get(..value.len().saturating_sub(1)).unwrap_or_default().to_owned()),
        ("letter too many", format!("{value}x")),
        ("space before it", format!(" {value}")),
        ("in capitals", value.to_uppercase()),
        ("dashes", value.replace('_', "-")),
        ("twice", format!("{value}{value}")),
    ] {
        add(operator, place.clone(), quoted(&text));
    }
    if formula::is_key(general) {
        for (operator, text) in formula::corrupt(value) {
            add(operator, place.clone(), quoted(&text));
        }
    }
}

fn of_list(
    text: &str,
    general: &str,
    place: &Range<usize>,
    elements: &[(Range<usize>, Kind)],
    lexicon: &Lexicon,
    add: &mut impl FnMut(&'static str, Range<usize>, String),
) {
    let raw: Vec<&str> = elements.iter().map(|(range, _)| &text[range.clone()]).collect();
    let list = |items: &[&str]| format!("[{}]", items.join(", "));
    for at in 0..raw.len() {
        let mut without = raw.clone();
        let one = without.remove(at);
        add("element removed", place.clone(), list(&without));
        let mut doubled = raw.clone();
        doubled.insert(at, one);
        add("element doubled", place.clone(), list(&doubled));
        if at > 0 {
            let mut swapped = raw.clone();
            swapped.swap(at - 1, at);
            add("elements swapped", place.clone(), list(&swapped));
        }
        for other in 0..raw.len() {
            let mut changed = raw.clone();
            changed[at] = raw[other];
            add("element of another place", place.clone(), list(&changed));
        }
        if let (range, Kind::Text(value)) = &elements[at] {
            of_text(general, range, value, lexicon, add);
        }
        for stranger in ["7", "\"x\"", "true", "[]"] {
            add("element of another type", elements[at].0.clone(), stranger.to_owned());
        }
        add("last elements lost", place.clone(), list(&raw[..at]));
        add("first elements lost", place.clone(), list(&raw[at..]));
    }
    let mut other = raw.clone();
    other.reverse();
    add("list reversed", place.clone(), list(&other));
    if !raw.is_empty() {
        other.rotate_left(1);
        add("list reversed and rotated", place.clone(), list(&other));
        let mut rotated = raw.clone();
        rotated.rotate_left(1);
        add("list rotated", place.clone(), list(&rotated));
        add("list twice", place.clone(), list(&[raw.clone(), raw.clone()].concat()));
        add("out of its brackets", place.clone(), raw[0].to_owned());
    }
    for name in lexicon.names(general) {
        let name = format!("\"{name}\"");
        let [last, first] = [[&raw[..], &[name.as_str()]].concat(), [&[name.as_str()], &raw[..]].concat()];
        add("element added", place.clone(), list(&last));
        add("element added in front", place.clone(), list(&first));
    }
}
