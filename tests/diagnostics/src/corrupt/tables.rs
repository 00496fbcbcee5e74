//! Corruptions of keys and of whole tables.

use super::places::Places;
use super::{Corruption, Lexicon};

/// Every corruption of a key: its line goes, stands twice, in another table, under another name, or has the value of another key.
pub fn of_entry(text: &str, places: &Places, at: usize, lexicon: &Lexicon, into: &mut Vec<Corruption>) {
    let entry = &places.entries[at];
    let mut add = |operator, edits| into.push(Corruption::new(&entry.path, operator, edits));
    let line = text[entry.whole.clone()].to_owned();
    add("dropped", vec![(entry.whole.clone(), String::new())]);
    add("doubled", vec![(entry.whole.end..entry.whole.end, line.clone())]);
    add("left as a comment", vec![(entry.whole.start..entry.whole.start, "# ".to_owned())]);

    let same_table: Vec<_> = places.entries.iter().filter(|other| parent(&other.path) == parent(&entry.path)).collect();
    let own = same_table.iter().position(|other| other.key == entry.key).expect("it is in its own table");
    for other in same_table.iter().skip(own + 1) {
        let values = [(&entry.value, &other.value), (&other.value, &entry.value)];
        let edits = values.map(|(place, from)| (place.clone(), text[from.clone()].to_owned())).to_vec();
        add(if other.key == same_table[own + 1].key { "swapped with a neighbour" } else { "swapped in its table" }, edits);
    }
    for other in same_table.iter().filter(|other| other.key != entry.key) {
        add("value of another key", vec![(entry.value.clone(), text[other.value.clone()].to_owned())]);
    }

    let key = &text[entry.key.clone()];
    for misspelt in misspelt(key) {
        add("key misspelt", vec![(entry.key.clone(), misspelt)]);
    }
    let table = entry.general.rsplit_once('.').map_or("", |(table, _)| table);
    let known: Vec<&str> = same_table.iter().map(|other| &text[other.key.clone()]).collect();
    for (other, values) in lexicon.keys_of(table) {
        if !known.contains(&other) {
            add("under another key", vec![(entry.key.clone(), other.to_owned())]);
            if own == 0 {
                for value in values {
                    add("key added", vec![(entry.whole.start..entry.whole.start, format!("{other} = {value}\n"))]);
                }
            }
        }
    }
    for table in &places.tables {
        if !table.body.contains(&entry.whole.start) {
            add(
                "in another table",
                vec![(entry.whole.clone(), String::new()), (table.body.start..table.body.start, line.clone())],
            );
        }
    }
    add("before all tables", vec![(entry.whole.clone(), String::new()), (0..0, line)]);
}

/// Every corruption of a table.
pub fn of_tables(text: &str, places: &Places, lexicon: &Lexicon, into: &mut Vec<Corruption>) {
    for (at, table) in places.tables.iter().enumerate() {
        let mut add = |operator, edits| into.push(Corruption::new(&table.path, operator, edits));
        let (whole, body) = (&text[table.whole.clone()], &text[table.body.clone()]);
        add("table dropped", vec![(table.whole.clone(), String::new())]);
        add("header dropped", vec![(table.whole.start..table.body.start, String::new())]);
        add("table emptied", vec![(table.body.clone(), String::new())]);
        add("table doubled", vec![(table.whole.end..table.whole.end, format!("\n{whole}"))]);
        add("body doubled", vec![(table.body.start..table.body.start, body.to_owned())]);
        add("table moved to the end", vec![(table.whole.clone(), String::new()), (text.len()..text.len(), format!("\n{whole}"))]);
        for misspelt in misspelt(&table.path) {
            add("table misspelt", vec![(table.name.clone(), misspelt)]);
        }
        for (other_at, other) in places.tables.iter().enumerate() {
            if other_at != at {
                add("under the header of another", vec![(table.name.clone(), other.path.clone())]);
                add("a copy under another name", vec![(text.len()..text.len(), format!("\n[{}.copy]\n{body}", other.path))]);
            }
            if other_at > at {
                let edits = [(&table.body, &other.body), (&other.body, &table.body)];
                add("tables swapped", edits.map(|(place, from)| (place.clone(), text[from.clone()].to_owned())).to_vec());
            }
        }
        for other in lexicon.tables(&table.general) {
            add("table of another spec", vec![(table.body.clone(), other.to_owned())]);
        }
    }
    for (name, table) in [("config", "[config.ignore]"), ("weights.ignore", "[weights.ignore]"), ("deviation", "[deviation]")] {
        for entry in &places.entries {
            let key = &text[entry.key.clone()];
            let added = format!("\n{table}\n{key} = \"it is said to be of no use\"\n");
            into.push(Corruption::new(name, "excused", vec![(text.len()..text.len(), added)]));
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// What fingers make of a name.
fn misspelt(name: &str) -> Vec<String> {
    let mut all =
        vec![format!("{name}s"), name.to_uppercase(), name.replace('_', "-"), name.replacen('_', "", 1), format!("\"{name} \"")];
    let last = name.len() - 1;
    all.extend([name[..last].to_owned(), name[1..].to_owned()]);
    let mut letters: Vec<char> = name.chars().collect();
    letters.swap(last / 2, (last / 2 + 1).min(last));
    all.push(letters.iter().collect());
    all.retain(|other| !other.is_empty() && other != name);
    all
}
