//! All mutants in one text: `if mutant 1 is on { its code } else if mutant 2 is on { its code } else { what stood there }`.

use std::ops::Range;

use crate::list::Edit;

/// Where an edit belongs in a text.
///
/// # Errors
/// When `find` does not stand in the text exactly once, or cannot be replaced.
pub fn place(text: &str, edit: &Edit) -> Result<Range<usize>, String> {
    let (before, marked, after) = match edit.find.split_once('⟦') {
        None => ("", edit.find.as_str(), ""),
        Some((before, rest)) => {
            let (marked, after) = rest.split_once('⟧').ok_or("`⟦` without `⟧`")?;
            (before, marked, after)
        }
    };
    let whole = format!("{before}{marked}{after}");
    match text.matches(&whole).count() {
        1 => {}
        count => return Err(format!("`find` stands in {} {count} times", edit.file)),
    }
    let marked = marked.trim();
    if marked.starts_with("let ") {
        return Err("a `let` cannot be replaced: mark what is assigned".to_owned());
    }
    let start = text.find(&whole).ok_or("it was there")? + before.len();
    let start = start + text[start..].find(marked).ok_or("the marked part is in it")?;
    Ok(start..start + marked.len())
}

/// A mutant's code in place of a part of a text.
#[derive(Clone, Debug)]
pub struct Region {
    /// The mutant.
    pub number: u32,
    /// What is replaced.
    pub range: Range<usize>,
    /// By what.
    pub replace: String,
    /// Whichever mutant is on.
    pub always: bool,
}

/// A text with its mutants, and where the code of each stands in it.
pub struct Injected {
    /// The text.
    pub text: String,
    /// The mutant and its bytes.
    pub parts: Vec<(u32, Range<usize>)>,
}

/// Puts regions into a text. Those of the same place share it, and one may stand inside another.
///
/// # Errors
/// The numbers of two mutants of which each replaces a part of the other's place.
pub fn inject(text: &str, mut regions: Vec<Region>) -> Result<Injected, (u32, u32)> {
    regions.sort_by_key(|r| (r.range.start, std::cmp::Reverse(r.range.end), r.number));
    for (i, a) in regions.iter().enumerate() {
        for b in &regions[i + 1..] {
            if b.range.start < a.range.end && b.range.end > a.range.end {
                return Err((a.number, b.number));
            }
        }
    }
    let mut injected = Injected { text: String::with_capacity(2 * text.len()), parts: Vec::new() };
    put(text, 0..text.len(), &regions, &mut injected);
    Ok(injected)
}

/// Puts a part of the text with the regions in it.
fn put(text: &str, part: Range<usize>, mut regions: &[Region], to: &mut Injected) {
    let mut done = part.start;
    while let Some(first) = regions.first() {
        let range = first.range.clone();
        let here = regions.iter().take_while(|r| r.range == range).count();
        let inside = regions[here..].iter().take_while(|r| r.range.end <= range.end).count();
        to.text.push_str(&text[done..range.start]);
        if let Some(always) = regions[..here].iter().find(|r| r.always) {
            to.text.push_str(&always.replace);
            done = range.end;
            regions = &regions[here + inside..];
            continue;
        }
        // Statements and blocks need no parentheses and must not have any; other expressions may be operands.
        let block = text[range.clone()].ends_with([';', '}']);
        to.text.push_str(if block { "" } else { "(" });
        for region in &regions[..here] {
            to.text.push_str(&format!("if ::tenon_mutant::on({}) {{ ", region.number));
            let start = to.text.len();
            to.text.push_str(&region.replace);
            to.parts.push((region.number, start..to.text.len()));
            to.text.push_str(" } else ");
        }
        to.text.push_str("{ ");
        put(text, range.clone(), &regions[here..here + inside], to);
        to.text.push_str(if block { " }" } else { " })" });
        done = range.end;
        regions = &regions[here + inside..];
    }
    to.text.push_str(&text[done..part.end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str) -> Edit {
        Edit { file: "f".to_owned(), find: find.to_owned(), replace: String::new(), always: false }
    }

    #[test]
    fn a_place_stands_once() {
        let text = "let a = x + y; let b = x + y;";
        assert_eq!(place(text, &edit("a = ⟦x + y⟧;")).unwrap(), 8..13);
        assert_eq!(&text[place(text, &edit("b = ⟦x⟧ + y")).unwrap()], "x");
        assert!(place(text, &edit("x + y")).unwrap_err().contains("2 times"));
        assert!(place(text, &edit("z")).unwrap_err().contains("0 times"));
        assert!(place(text, &edit("let a = x + y;")).unwrap_err().contains("let"));
    }

    #[test]
    fn mutants_share_places_and_nest() {
        let text = "f(a * b); g();";
        let region = |number, range, replace: &str| Region { number, range, replace: replace.to_owned(), always: false };
        let of = |regions| inject(text, regions).map(|i| i.text);
        assert_eq!(
            of(vec![region(1, 2..3, "0"), region(2, 2..3, "1"), region(3, 0..9, "")]).unwrap(),
            "if ::tenon_mutant::on(3) {  } else { f((if ::tenon_mutant::on(1) { 0 } else if ::tenon_mutant::on(2) { 1 } else { a }) \
             * b); } g();"
        );
        assert_eq!(of(vec![region(1, 2..7, "0"), region(2, 6..9, "1")]).unwrap_err(), (1, 2));
        let injected = inject(text, vec![region(7, 6..7, "c + d")]).unwrap();
        let [(7, range)] = &injected.parts[..] else { panic!("one part") };
        assert_eq!(&injected.text[range.clone()], "c + d");
    }
}
