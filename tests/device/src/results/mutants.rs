//! Mutants: which faults were put into which kernels, what caught them, and what did not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::page::table;
use super::{each, lines, text};

/// How a column of origins is headed. Others follow under their own names.
const ORIGINS: [(&str, &str); 5] = [
    ("written", "written"),
    ("parameter", "parameter step"),
    ("barrier", "barrier"),
    ("bound", "bound"),
    ("accumulator", "accumulator"),
];

/// Caught ones of those that count.
type Count = (usize, usize);

/// The section.
pub fn section(result: &Value) -> String {
    let mutants = each(result, "mutants");
    let mut origins: Vec<&str> = ORIGINS.iter().map(|(origin, _)| *origin).collect();
    let mut matrix: BTreeMap<(&str, &str), Count> = BTreeMap::new();
    let mut killers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut templates, mut verdicts, mut hows) = (BTreeSet::new(), BTreeMap::<&str, Count>::new(), BTreeSet::new());
    let (mut alive, mut equal, mut other) = (Vec::new(), BTreeMap::<&str, Vec<&str>>::new(), Vec::new());
    for mutant in mutants {
        let [template, name, origin, verdict] = ["template", "mutant", "origin", "verdict"].map(|key| text(mutant, key));
        templates.insert(template);
        if !origins.contains(&origin) {
            origins.push(origin);
        }
        let is_written = origin == "written";
        let of = verdicts.entry(verdict).or_default();
        *(if is_written { &mut of.0 } else { &mut of.1 }) += 1;
        match verdict {
            "caught" => {
                let how = text(mutant, "how");
                hows.insert(how);
                *killers.entry((template, how)).or_default() += 1;
            }
            "equivalent" => equal.entry(template).or_default().push(name),
            "missed" => alive.push(format!("{template} / {name} ({origin}): {}", text(mutant, "breaks"))),
            _ if mutant["passed"] != true => other.push(format!("{template} / {name}: {verdict} {}", text(mutant, "text"))),
            _ => {}
        }
        // The same machine code, or none, cannot be caught.
        if matches!(verdict, "caught" | "missed") {
            let count = matrix.entry((template, origin)).or_default();
            *count = (count.0 + usize::from(verdict == "caught"), count.1 + 1);
        }
    }
    let shown = |count: Option<&Count>| count.map_or_else(String::new, |(caught, all)| format!("{caught}/{all}"));
    let sum = |of: &mut dyn Iterator<Item = &Count>| of.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut rows = Vec::new();
    for template in &templates {
        let mut row = vec![(*template).to_owned()];
        row.extend(origins.iter().map(|origin| shown(matrix.get(&(*template, *origin)))));
        row.push(shown(Some(&sum(&mut matrix.iter().filter(|((t, _), _)| t == template).map(|(_, count)| count)))));
        rows.push(row);
    }
    let mut last = vec!["**all**".to_owned()];
    for origin in &origins {
        last.push(shown(Some(&sum(&mut matrix.iter().filter(|((_, o), _)| o == origin).map(|(_, count)| count)))));
    }
    let (caught, viable) = sum(&mut matrix.values());
    last.push(format!("{caught}/{viable}"));
    rows.push(last);
    let titles = origins.iter().map(|origin| ORIGINS.iter().find(|(o, _)| o == origin).map_or(*origin, |(_, title)| *title));
    let head: Vec<&str> = ["template"].into_iter().chain(titles).chain(["all"]).collect();

    let mut page = format!(
        "{caught} of {viable} viable mutants were caught. A mutant whose machine code is the kernel's, or which does not build, is listed below \
         and not counted.\n\n"
    );
    let verdict_rows: Vec<Vec<String>> =
        verdicts.iter().map(|(name, (written, made))| vec![(*name).to_owned(), written.to_string(), made.to_string()]).collect();
    page += &table(&["verdict", "written", "automatic"], &verdict_rows);
    page += "\nCaught of viable ones, by template and by where the fault comes from:\n\n";
    page += &table(&head, &rows);
    page += "\nWhat caught them, by template:\n\n";
    let killed = |template: &str, how: &str| killers.get(&(template, how)).map_or_else(String::new, ToString::to_string);
    let mut rows: Vec<Vec<String>> = templates
        .iter()
        .map(|template| [(*template).to_owned()].into_iter().chain(hows.iter().map(|how| killed(template, how))).collect())
        .collect();
    let all = |how: &&str| killers.iter().filter(|((_, h), _)| h == how).map(|(_, n)| n).sum::<usize>().to_string();
    rows.push(["**all**".to_owned()].into_iter().chain(hows.iter().map(all)).collect());
    page += &table(&["template"].into_iter().chain(hows.iter().copied()).collect::<Vec<_>>(), &rows);
    page += &lines("Missed:", &alive);
    page += &lines("Neither caught nor missed:", &other);
    let equal: Vec<String> = equal.iter().map(|(template, names)| format!("{template}: {}", names.join(", "))).collect();
    page += &lines("Equivalent, since the machine code is the same:", &equal);
    let faults: Vec<String> = each(result, "faults").iter().filter_map(|fault| fault.as_str().map(str::to_owned)).collect();
    page + &lines("What is wrong with the run:", &faults)
}
