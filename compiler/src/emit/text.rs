//! From tokens to readable text: prettyplease, with comments and blank lines that tokens cannot carry.
//!
//! `quote!` drops comments, so emitters write marker statements, which become text after formatting:
//! `__blank!();` an empty line, `__comment!("..");` a comment line, `__trail!("..");` a comment at the end of the line before.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

/// A Rust file: a header of `//!` lines, then the formatted items.
pub fn rust(header: &[&str], items: TokenStream) -> String {
    let file = syn::parse2::<syn::File>(items.clone())
        .unwrap_or_else(|e| panic!("the compiler emitted tokens that are no Rust file: {e}\n{items}"));
    let mut text = String::new();
    for line in header {
        text.push_str("//! ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&markers(&prettyplease::unparse(&file)));
    text
}

/// The second line of every generated Rust file: what to edit instead.
pub fn edit_line(folder: &str) -> String {
    format!("Generated from {folder}; edit the TOMLs there, then `cargo build`.")
}

/// Replaces marker statements.
fn markers(formatted: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in whole_markers(formatted) {
        let line = line.as_str();
        let indent = &line[..line.len() - line.trim_start().len()];
        let content = line.trim();
        if content == "__blank!();" {
            // Not twice, and not at the start of a body.
            if lines.last().is_some_and(|last| !last.is_empty() && !last.ends_with('{')) {
                lines.push(String::new());
            }
        } else if let Some(comment) = argument(content, "__comment!(") {
            lines.push(format!("{indent}// {comment}"));
        } else if let Some(comment) = argument(content, "__trail!(") {
            let last = lines.last_mut().expect("a trailing comment follows a line");
            last.push_str(" // ");
            last.push_str(&comment);
        } else {
            lines.push(line.to_owned());
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The lines of a formatted file, with markers that were too long for one line put back on one, and so calls whose generic
/// arguments prettyplease spread over lines: a call of an op is one line, with its shape at the end.
fn whole_markers(formatted: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = formatted.lines();
    while let Some(line) = rest.next() {
        if ["__comment!(", "__trail!("].contains(&line.trim()) {
            let argument = rest.next().unwrap_or_default().trim();
            let end = rest.next().unwrap_or_default().trim();
            lines.push(format!("{line}{argument}{end}"));
        } else if line.trim_start().starts_with("const ") && line.contains("Spec::new(") && !line.ends_with(';') {
            lines.push(one_line(line, &mut rest));
        } else if line.trim_start().starts_with("k.") && !line.ends_with(';') {
            lines.push(joined(line, &mut rest));
        } else if line.ends_with("::<") {
            let mut arguments: Vec<&str> = Vec::new();
            let mut call = String::new();
            for argument in rest.by_ref() {
                match argument.trim().strip_prefix('>') {
                    Some(end) => {
                        call = format!("{line}{}>{end}", arguments.join(" ").trim_end_matches(','));
                        break;
                    }
                    None => arguments.push(argument.trim()),
                }
            }
            lines.push(call);
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// A launch, up to its semicolon, on one line.
fn joined<'t>(first: &str, rest: &mut impl Iterator<Item = &'t str>) -> String {
    let mut text = first.to_owned();
    for part in rest.map(str::trim) {
        if text.ends_with(',') && part.starts_with([')', '>']) {
            text.pop();
        } else if text.ends_with(',') {
            text.push(' ');
        }
        text.push_str(part);
        if part.ends_with(';') {
            break;
        }
    }
    text
}

/// A constant that names a tensor, up to its semicolon, on one line: a table of tensors is read by column.
fn one_line<'t>(first: &str, rest: &mut impl Iterator<Item = &'t str>) -> String {
    let mut text = first.to_owned();
    for line in rest {
        let part = line.trim();
        if text.ends_with(',') && part.starts_with([')', '}']) {
            text.pop();
        }
        if !text.ends_with('(') && !part.starts_with([')', '.']) {
            text.push(' ');
        }
        text.push_str(part);
        if part.ends_with(';') {
            break;
        }
    }
    text
}

fn argument(content: &str, marker: &str) -> Option<String> {
    let literal = content.strip_prefix(marker)?.strip_suffix(");")?;
    Some(syn::parse_str::<syn::LitStr>(literal).ok()?.value())
}

/// An empty line.
pub fn blank() -> TokenStream {
    quote!(__blank!();)
}

/// A comment line.
pub fn comment(text: &str) -> TokenStream {
    quote!(__comment!(#text);)
}

/// A comment at the end of the line before.
pub fn trail(text: &str) -> TokenStream {
    quote!(__trail!(#text);)
}

/// An integer without a suffix.
pub fn int(value: usize) -> Literal {
    Literal::usize_unsuffixed(value)
}

/// An f32 in the fewest digits that read back as the same value.
pub fn f32_literal(value: f32) -> TokenStream {
    float(&format!("{value:?}"))
}

/// An f64 in the fewest digits that read back as the same value.
pub fn f64_literal(value: f64) -> TokenStream {
    float(&format!("{value:?}"))
}

fn float(text: &str) -> TokenStream {
    text.parse().expect("a finite float prints as a literal")
}

/// A name in snake case as an identifier.
pub fn ident(name: &str) -> proc_macro2::Ident {
    format_ident!("{name}")
}

/// The same name as a constant.
pub fn constant(name: &str) -> proc_macro2::Ident {
    format_ident!("{}", name.to_ascii_uppercase())
}

/// The same name as a type.
pub fn type_name(name: &str) -> proc_macro2::Ident {
    let camel: String = name
        .split('_')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_ascii_uppercase())
        })
        .collect();
    format_ident!("{camel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_become_comments_and_blank_lines() {
        let (blank, comment, trail) = (blank(), comment("-- a \"heading\""), trail("[tokens, 64]"));
        let text = rust(
            &["One.", "Two."],
            quote! {
                const A: usize = 1;
                #blank
                fn f(x: usize) {
                    #comment
                    g(x);
                    #trail
                }
            },
        );
        assert_eq!(
            text,
            "//! One.\n//! Two.\n\nconst A: usize = 1;\n\nfn f(x: usize) {\n    // -- a \"heading\"\n    g(x); // [tokens, 64]\n}\n"
        );
    }

    #[test]
    fn long_markers_stay_one_line() {
        let text = "long ".repeat(40);
        let (comment, trail) = (comment(&text), trail(&text));
        let file = rust(&["One."], quote!(fn f() { #comment g(); #trail }));
        assert_eq!(file, format!("//! One.\n\nfn f() {{\n    // {text}\n    g(); // {text}\n}}\n"));
    }

    #[test]
    fn a_call_with_many_generic_arguments_stays_one_line() {
        let file = rust(
            &["One."],
            quote!(
                fn f() {
                    some_function::<FIRST_ARGUMENT, 4, _, _, _>(with, several, long, arguments, that, fill, the, line, up);
                }
            ),
        );
        let call = "some_function::<FIRST_ARGUMENT, 4, _, _, _>(with, several, long, arguments, that, fill, the, line, up);";
        assert_eq!(file, format!("//! One.\n\nfn f() {{\n    {call}\n}}\n"));
    }

    #[test]
    fn the_constant_of_a_tensor_is_one_line() {
        let file = rust(
            &["One."],
            quote!(
                const A: LinearSpec<576, 576> =
                    LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT).rows(RowOrder::RopePairs { heads: 9, rotary_dim: 64 });
            ),
        );
        let line =
            r#"LinearSpec::new("blk.{layer}.attn_q.weight", ACCEPT).rows(RowOrder::RopePairs { heads: 9, rotary_dim: 64 });"#;
        assert_eq!(file, format!("//! One.\n\nconst A: LinearSpec<576, 576> = {line}\n"));
    }

    #[test]
    fn names_become_types() {
        assert_eq!(type_name("block_f32").to_string(), "BlockF32");
    }
}
