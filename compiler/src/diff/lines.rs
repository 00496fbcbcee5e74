//! Differences of texts, line by line: what a reviewer sees of a generated file.

use std::fmt::Write as _;

use serde::Serialize;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Lines on both sides together, beyond those that both texts begin and end with, up to which the least difference is looked
/// for. That takes quadratic time, and generated files have under 300 lines; longer texts are one replaced block.
const MOST_COMPARED: usize = 4000;

/// Unchanged lines around a hunk of a whole difference.
const CONTEXT: usize = 3;

/// How many lines go and how many come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCount {
    /// Lines of the new text that the old one lacks.
    pub added: usize,
    /// Lines of the old text that the new one lacks.
    pub removed: usize,
}

/// The difference of two texts.
pub struct LineDiff<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    /// Compares two texts. A line includes its end, so that a missing last newline is a difference too.
    pub fn new(old: &'t str, new: &'t str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|(a, b)| a == b).count();
        let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
        let mut ops = Vec::new();
        if start > 0 {
            ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: start });
        }
        if old_middle.len() + new_middle.len() <= MOST_COMPARED {
            let middle = capture_diff_slices(Algorithm::Myers, old_middle, new_middle);
            ops.extend(middle.into_iter().map(|op| moved(op, start)));
        } else {
            let (old_len, new_len) = (old_middle.len(), new_middle.len());
            ops.push(DiffOp::Replace { old_index: start, old_len, new_index: start, new_len });
        }
        if end > 0 {
            ops.push(DiffOp::Equal { old_index: old.len() - end, new_index: new.len() - end, len: end });
        }
        Self { old, new, ops }
    }

    /// How many lines go and how many come.
    pub fn count(&self) -> LineCount {
        let changed = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        changed.fold(LineCount::default(), |count, op| LineCount {
            added: count.added + op.new_range().len(),
            removed: count.removed + op.old_range().len(),
        })
    }

    /// All hunks in the unified form, which `patch` reads, without the two lines that name the files. Empty for equal texts.
    pub fn unified(&self) -> String {
        let mut text = String::new();
        for hunk in group_diff_ops(self.ops.clone(), CONTEXT) {
            let _ = writeln!(text, "{}", header(&hunk));
            for (sign, line) in self.lines(&hunk) {
                text.push(sign);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    /// The first hunks for a message: indented, with a line of context, at most so many lines of hunks, and how many changed
    /// lines there are beyond. Without a newline at its end.
    pub fn excerpt(&self, most: usize) -> String {
        let (mut text, mut shown, mut changed) = (String::new(), 0, 0);
        for hunk in group_diff_ops(self.ops.clone(), 1) {
            if shown == most {
                break;
            }
            let _ = writeln!(text, "  {}", header(&hunk));
            for (sign, line) in self.lines(&hunk).take(most - shown) {
                shown += 1;
                changed += usize::from(sign != ' ');
                let end = if line.ends_with('\n') { "" } else { " (no newline at the end)" };
                let line = line.trim_end_matches('\n').replace('\r', "\\r");
                let _ = writeln!(text, "{}", format!("  {sign} {line}{end}").trim_end());
            }
        }
        let LineCount { added, removed } = self.count();
        match added + removed - changed {
            0 => text.truncate(text.trim_end().len()),
            1 => text.push_str("  .. 1 more line differs"),
            rest => {
                let _ = write!(text, "  .. {rest} more lines differ");
            }
        }
        text
    }

    fn lines<'s>(&'s self, hunk: &'s [DiffOp]) -> impl Iterator<Item = (char, &'t str)> + 's {
        hunk.iter().flat_map(|op| {
            let (old, new) = (&self.old[op.old_range()], &self.new[op.new_range()]);
            let (before, after) = if op.tag() == DiffTag::Equal { (' ', &new[..0]) } else { ('-', new) };
            old.iter().map(move |line| (before, *line)).chain(after.iter().map(|line| ('+', *line)))
        })
    }
}

/// The same change of lines that stand further below.
fn moved(op: DiffOp, by: usize) -> DiffOp {
    let (tag, old, new) = op.as_tag_tuple();
    let (old_index, new_index, old_len, new_len) = (old.start + by, new.start + by, old.len(), new.len());
    match tag {
        DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
        DiffTag::Delete => DiffOp::Delete { old_index, old_len, new_index },
        DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
        DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
    }
}

/// `@@ -3,7 +3,8 @@`
fn header(hunk: &[DiffOp]) -> String {
    let side = |range: fn(&DiffOp) -> std::ops::Range<usize>| {
        let (start, end) = (hunk.first().map_or(0, |op| range(op).start), hunk.last().map_or(0, |op| range(op).end));
        // A side without lines is named by the line before it, which is its start counted from 0.
        match end - start {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            len => format!("{},{len}", start + 1),
        }
    };
    format!("@@ -{} +{} @@", side(DiffOp::old_range), side(DiffOp::new_range))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(old: &str, new: &str) -> (usize, usize) {
        let count = LineDiff::new(old, new).count();
        (count.added, count.removed)
    }

    #[test]
    fn hunks_are_unified_and_apart() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 4\n", "four\n4b\n").replace("line 18\n", "");
        let diff = LineDiff::new(&old, &new);
        assert_eq!(diff.count(), LineCount { added: 2, removed: 2 });
        let expected = "\
@@ -1,7 +1,8 @@
 line 1
 line 2
 line 3
-line 4
+four
+4b
 line 5
 line 6
 line 7
@@ -15,6 +16,5 @@
 line 15
 line 16
 line 17
-line 18
 line 19
 line 20
";
        assert_eq!(diff.unified(), expected);
        assert_eq!(LineDiff::new(&old, &old).unified(), "");
        assert_eq!(LineDiff::new("", "a\n").unified(), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(LineDiff::new("a\n", "").unified(), "@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_missing_last_newline_is_a_difference() {
        assert_eq!(LineDiff::new("a\nb", "a\nb\n").unified(), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
        assert_eq!(LineDiff::new("b", "b\n").excerpt(9), "  @@ -1 +1 @@\n  - b (no newline at the end)\n  + b");
        assert_eq!(LineDiff::new("b\r\n", "b\n").excerpt(9), "  @@ -1 +1 @@\n  - b\\r\n  + b");
    }

    #[test]
    fn an_excerpt_counts_what_it_leaves_out() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nB\nc\nd\ne\nF\ng\n";
        let all = "  @@ -1,3 +1,3 @@\n    a\n  - b\n  + B\n    c\n  @@ -5,3 +5,3 @@\n    e\n  - f\n  + F\n    g";
        assert_eq!(LineDiff::new(old, new).excerpt(8), all);
        let some = "  @@ -1,3 +1,3 @@\n    a\n  - b\n  .. 3 more lines differ";
        assert_eq!(LineDiff::new(old, new).excerpt(2), some);
        let most = "  @@ -1,3 +1,3 @@\n    a\n  - b\n  + B\n    c\n  @@ -5,3 +5,3 @@\n    e\n  - f\n  .. 1 more line differs";
        assert_eq!(LineDiff::new(old, new).excerpt(6), most);
        assert_eq!(LineDiff::new(old, old).excerpt(6), "");
    }

    #[test]
    fn long_texts_are_compared_in_bounded_time() {
        let lines = |from: usize| (from..from + 200_000).map(|n| format!("{n}\n")).collect::<String>();
        let (old, new) = (format!("x\n{}y\n", lines(0)), format!("x\n{}y\n", lines(1_000_000)));
        assert_eq!(count(&old, &new), (200_000, 200_000));
        assert_eq!(count(&old, &old.replace("\n777\n", "\n778\n")), (1, 1), "ends that are equal do not count");
    }
}
