//! Tables and lists of Markdown.

/// A table; columns of which every cell is a number or empty stand to the right.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let is_number = |cell: &str| cell.trim_end_matches(['%', 'x']).parse::<f64>().is_ok() || cell == "-" || cell.is_empty();
    let is_right = |column: usize| {
        let mut cells = rows.iter().map(|row| row[column].as_str());
        !rows.is_empty() && cells.clone().any(|cell| !cell.is_empty()) && cells.all(is_number)
    };
    let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = line(&mut head.iter().map(|cell| (*cell).to_owned()));
    let rules = (0..head.len()).map(|column| if is_right(column) { "---:" } else { "---" });
    text += &format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
    for row in rows {
        text += &line(&mut row.iter().map(|cell| one_line(cell).replace('|', "\\|")));
    }
    text
}

/// A line per item.
pub fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("- {}\n", one_line(item))).collect()
}

/// What a cell or an item may hold: a line of it.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A share or `-` where there is none.
pub fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// The larger one of those that are there.
pub fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_no_cell_breaks_a_row() {
        let rows = [vec!["a | b".to_owned(), "1.5".to_owned()], vec!["two\nlines".to_owned(), "-".to_owned()]];
        assert_eq!(table(&["what", "n"], &rows), "| what | n |\n|---|---:|\n| a \\| b | 1.5 |\n| two lines | - |\n");
    }
}
