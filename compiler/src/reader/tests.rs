//! The reader by itself: what is read, what is left over, and where things stand.

use super::{Table, Vocabulary, read_file};
use crate::diagnostic::{Diagnostics, Id};
use crate::source::SourceMap;

fn read<T>(text: &str, read: impl FnOnce(Table<'_>) -> Option<T>) -> (Option<T>, Diagnostics, SourceMap) {
    let mut sources = SourceMap::default();
    let file = sources.add("f.toml", text);
    let mut diags = Diagnostics::default();
    let result = read_file(file, sources.file(file), |_| None, &mut diags, read);
    (result, diags, sources)
}

/// The first label of the first diagnostic: the text that it marks, and what it says.
fn first<'s>(diags: &Diagnostics, sources: &'s SourceMap) -> (&'s str, String) {
    let label = diags.sorted()[0].labels[0].clone();
    (sources.text(&label.span), label.text)
}

#[test]
fn headers_keys_and_values_have_their_places() {
    let text = "[a]\nb = \"c\"\n\n[a.d]\ne = { f = [1, 2] }\n";
    let (result, _, sources) = read(text, |mut root| {
        let mut a = root.table("a");
        let mut d = a.table("d");
        let headers = (a.header().clone(), d.header().clone());
        let b = a.required("b")?.text()?;
        let mut e = d.required("e")?.inline_table()?;
        let e_header = e.header().clone();
        let f = e.required("f")?.list(|v| v.integer(0..=9))?;
        e.finish();
        d.finish();
        a.finish();
        root.finish();
        Some((headers, b, e_header, f))
    });
    let ((a, d), b, e, f) = result.unwrap();
    let text = |span| sources.text(span);
    assert_eq!((text(&a), text(&d), text(&e)), ("[a]", "[a.d]", "{ f = [1, 2] }"));
    assert_eq!((text(&b.key), text(&b.span)), ("b", "\"c\""));
    assert_eq!((text(&f.span), text(&f[1].span), text(&f[1].key)), ("[1, 2]", "2", "f"));
}

#[test]
fn tables_and_dotted_keys_are_the_same() {
    for text in ["[a.b]\nc = 1\n", "a.b.c = 1\n", "a = { b.c = 1 }\n", "[a]\nb = { c = 1 }\n"] {
        let (result, diags, _) = read(text, |mut root| {
            let mut a = root.table("a");
            let mut b = a.table("b");
            let c = b.required("c")?.integer(0..=9)?;
            b.finish();
            a.finish();
            root.finish();
            Some(*c)
        });
        assert_eq!((result, diags.len()), (Some(1), 0), "{text}");
    }
}

#[test]
fn what_nobody_asks_for_is_reported() {
    let (result, diags, sources) = read("[a]\nx = 1\n", |mut root| {
        root.table("a").finish();
        root.finish();
        Some(())
    });
    assert!(result.is_none());
    assert_eq!(diags.sorted()[0].message, "unknown key `x` in `[a]`");
    assert_eq!(first(&diags, &sources), ("x", "nothing reads this".to_owned()));
}

#[test]
fn a_key_of_another_table_is_sent_there() {
    let (_, diags, sources) = read("[a]\nx = 1\n[b]\n", |mut root| {
        root.table("a").finish();
        let mut b = root.table("b");
        let _ = b.optional("x");
        b.finish();
        root.finish();
        Some(())
    });
    assert_eq!(first(&diags, &sources), ("x", "belongs to `[b]`".to_owned()));
}

#[test]
fn a_key_that_is_there_is_no_suggestion() {
    let (_, diags, _) = read("heads = 1\nhead = 2\n", |mut root| {
        let _ = root.required("heads")?.integer(0..=9);
        root.finish();
        Some(())
    });
    assert_eq!((diags.len(), diags.sorted()[0].helps.as_slice()), (1, &["delete it".to_owned()][..]));
}

#[test]
fn tables_where_values_are_wanted_and_the_reverse() {
    let (_, diags, _) = read("a = 1\n[b]\n[[c]]\n", |mut root| {
        root.table("a").finish();
        let _ = root.required("b")?.text();
        root.table("c").finish();
        let _ = root.tables("a");
        root.finish();
        Some(())
    });
    let messages: Vec<_> = diags.sorted().iter().map(|d| d.message.clone()).collect();
    let expected =
        ["`a` must be a list of tables, `[[a]]`", "`a` must be a table", "`b` must be a string", "`c` must be a table"];
    assert_eq!(messages, expected);
}

#[test]
fn numbers_of_every_notation() {
    let value = |text: &str| {
        let text = format!("a = {text}\n");
        read(&text, |mut root| {
            let value = *root.required("a")?.integer(0..=u64::MAX)?;
            root.finish();
            Some(value)
        })
        .0
    };
    assert_eq!(
        [value("0x_ff"), value("0b101"), value("0o17"), value("1_000"), value("+7")],
        [None, Some(5), Some(15), Some(1000), Some(7)]
    );
    assert_eq!(value("0xffff_ffff_ffff_ffff"), Some(u64::MAX));
    assert_eq!(value("0x1_0000_0000_0000_0000"), None);
    assert_eq!(value("99999999999999999999999999999999999999999999"), None);
}

#[test]
fn names_that_come_later_say_so() {
    const ACTS: Vocabulary<u8> =
        Vocabulary { names: &[("silu", 0), ("gelu", 1)], not_yet: &["relu2"], not_yet_id: Id::UnknownValue };
    let complaint = |text: &str| {
        let (_, diags, _) = read(text, |mut root| root.required("a")?.choice(&ACTS));
        let first = diags.sorted()[0].clone();
        (first.message, first.labels[0].text.clone(), first.patches.first().map(|p| p.replacement.clone()))
    };
    let expected = ("`a` cannot be `relu2` yet".to_owned(), "this version has `silu`, `gelu`".to_owned(), None);
    assert_eq!(complaint("a = \"relu2\"\n"), expected);
    let fix = Some("\"gelu\"".to_owned());
    assert_eq!(complaint("a = \"gelo\"\n"), ("`a` cannot be `gelo`".to_owned(), "legal: `gelu`, `silu`".to_owned(), fix));
}
