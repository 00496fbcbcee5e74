//! A TOML as its values by key path, so that every key counts, also those that no part of the compiler looks at here.

use toml::de::{DeInteger, DeTable, DeValue};

use super::ValueChange;

/// Longest text of a value that is shown whole, in characters.
const LONGEST: usize = 72;

/// A value that is no table, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// `mixer.attention.head_dim`, `checkpoint.pull[0].hf`
    pub path: String,
    /// As it is written, on one line.
    pub text: String,
    /// What it says, however it is written.
    value: Value,
}

/// A value without its spelling.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    /// Beyond what a float holds exactly.
    Long(i128),
    Text(String),
    List(Vec<Value>),
    Table(Vec<(String, Value)>),
    /// Booleans and dates, by their text.
    Other(String),
}

impl Leaf {
    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self.value, Value::Number(_) | Value::Long(_))
    }
}

/// The values of a TOML, in the order of the file. A file that is no TOML has none.
pub(super) fn leaves(text: &str) -> Vec<Leaf> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    walk(table.get_ref(), "", text, &mut found);
    found.sort_by_key(|(start, _)| *start);
    found.into_iter().map(|(_, leaf)| leaf).collect()
}

fn walk(table: &DeTable<'_>, path: &str, text: &str, found: &mut Vec<(usize, Leaf)>) {
    for (key, value) in table {
        let key = key.get_ref();
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let span = value.span();
        match value.get_ref() {
            DeValue::Table(table) => walk(table, &path, text, found),
            DeValue::Array(array) if !array.is_empty() && array.iter().all(|e| e.get_ref().is_table()) => {
                for (i, element) in array.iter().enumerate() {
                    if let DeValue::Table(table) = element.get_ref() {
                        walk(table, &format!("{path}[{i}]"), text, found);
                    }
                }
            }
            leaf => {
                let text = one_line(text.get(span.clone()).unwrap_or_default());
                found.push((span.start, Leaf { path, text, value: plain(leaf) }));
            }
        }
    }
}

fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => match number(integer) {
            Some(n) if n.unsigned_abs() <= 1 << 53 => Value::Number(n as f64),
            Some(n) => Value::Long(n),
            None => Value::Other(integer.as_str().to_owned()),
        },
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(n) if !n.is_nan() => Value::Number(n),
            _ => Value::Other(float.as_str().to_owned()),
        },
        DeValue::Boolean(value) => Value::Other(value.to_string()),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Array(array) => Value::List(array.iter().map(|e| plain(e.get_ref())).collect()),
        DeValue::Table(table) => Value::Table(table.iter().map(|(k, v)| (k.get_ref().to_string(), plain(v.get_ref()))).collect()),
    }
}

fn number(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// The text on one line, and cut where it is long.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for part in text.lines().map(|l| l.trim()) {
        line.push_str(if line.is_empty() || line.ends_with('[') || part.starts_with(']') { "" } else { " " });
        line.push_str(part);
    }
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((at, _)) => format!("{}..", &line[..at]),
    }
}

/// The values that differ between two TOMLs: in the order of the old one, and then those that the new one adds. The second part
/// says whether either is a number.
pub(super) fn changes(old: &str, new: &str) -> Vec<(ValueChange, bool)> {
    let (old, new) = (leaves(old), leaves(new));
    let by_path = |leaves: &[Leaf]| -> std::collections::BTreeMap<String, usize> {
        leaves.iter().enumerate().map(|(i, leaf)| (leaf.path.clone(), i)).collect()
    };
    let (in_old, in_new) = (by_path(&old), by_path(&new));
    let change = |before: Option<&Leaf>, after: Option<&Leaf>| {
        let either = before.or(after)?;
        let text = |leaf: Option<&Leaf>| leaf.map(|leaf| leaf.text.clone());
        let is_number = before.is_some_and(Leaf::is_number) || after.is_some_and(Leaf::is_number);
        Some((ValueChange { key: either.path.clone(), old: text(before), new: text(after) }, is_number))
    };
    let kept = old.iter().filter_map(|before| {
        let after = in_new.get(&before.path).map(|at| &new[*at]);
        if after.is_some_and(|after| after.value == before.value) { None } else { change(Some(before), after) }
    });
    let added = new.iter().filter(|after| !in_old.contains_key(&after.path)).filter_map(|after| change(None, Some(after)));
    kept.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_say() {
        let old = "a = 1_000\nb = 1e-5\nc = [1, # one\n  2]\nd = \"x\"\n[t]\ne = { f = 1 }\n[[u]]\ng = 1\n";
        let same = "d = 'x'\na = 1000\nb = 0.00001\nc = [\n1, 2]\nu = [{ g = 0x1 }]\n[t.e]\nf = 1.0\n";
        assert_eq!(changes(old, same), []);
        let new = "a = 1_001\nb = 1e-5\nc = [1, 2, 3]\n[t]\ne = { f = 2, h = true }\n[[u]]\ng = 1\n[[u]]\ng = 2\n";
        let found: Vec<String> = changes(old, new)
            .into_iter()
            .map(|(c, number)| {
                format!("{} {} -> {} {number}", c.key, c.old.as_deref().unwrap_or("-"), c.new.as_deref().unwrap_or("-"))
            })
            .collect();
        let expected = [
            "a 1_000 -> 1_001 true",
            "c [1, # one 2] -> [1, 2, 3] false",
            "d \"x\" -> - false",
            "t.e.f 1 -> 2 true",
            "t.e.h - -> true false",
            "u[1].g - -> 2 true",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn long_values_are_cut() {
        let text = format!("a = \"{}\"", "é".repeat(100));
        assert_eq!(leaves(&text)[0].text, format!("\"{}..", "é".repeat(71)));
        assert!(leaves("a = ").is_empty());
    }
}
