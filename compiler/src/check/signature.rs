//! `launch-mismatch`: the entry of a kernel takes what `[[arg]]` lists, in that order, so that the wrapper made of the list fits the kernel.
//!
//! A launch hands over addresses of values, and the device reads as many as the kernel has. The driver knows no names and no types, so that
//! two integers that change places are found by nothing later.

use super::arrays::scan::{At, TYPES, Token, tokens};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::source::Span;
use crate::spec::{ArgSpec, TemplateSpec};

/// Words of a parameter that do not change what is handed over.
const DECORATIONS: [&str; 3] = ["__restrict__", "__restrict", "__grid_constant__"];

/// A parameter of the entry.
#[derive(Debug, PartialEq, Eq)]
struct Parameter<'t> {
    /// None where the kernel does not use it.
    name: Option<&'t str>,
    /// The tokens of its type.
    ty: Vec<&'t str>,
    /// In the text.
    range: std::ops::Range<usize>,
}

/// Checks the entry in the code of one template. That there is code is for [`super::templates`] to ask.
pub(super) fn check(template: &TemplateSpec, diags: &mut Diagnostics) {
    let Some((file, text)) = &template.source else { return };
    let place = |range| Span { file: *file, range };
    let mismatch = |message: String| Diagnostic::new(Id::LaunchMismatch, message);
    let Some((range, parameters)) = entry(text) else {
        diags.push(
            mismatch(format!("the code of `{}` has no entry", template.name))
                .label(&place(0..0), "nothing in it is named after the instance")
                .context(&template.target.span, "a kernel for a GPU is launched by its name")
                .help("write extern \"C\" __global__ void @{ instance }@(..) with the arguments that TEMPLATE.toml lists"),
        );
        return;
    };
    let (has, lists) = (parameters.len(), template.args.len());
    let pairs = parameters.iter().zip(&template.args);
    let wrong = pairs.clone().position(|(parameter, arg)| !is_named(parameter, arg));
    if has != lists {
        let message = format!("the entry of `{}` has {has} parameters, and its TEMPLATE.toml lists {lists}", template.name);
        let at = wrong.unwrap_or(has.min(lists));
        let diagnostic = match (parameters.get(at), template.args.get(at)) {
            (Some(parameter), Some(arg)) => mismatch(message)
                .label(&place(parameter.range.clone()), format!("parameter {}", at + 1))
                .context(&arg.name.span, format!("argument {}", at + 1)),
            (Some(parameter), None) => mismatch(message).label(&place(parameter.range.clone()), "not in the list"),
            (None, Some(arg)) => {
                mismatch(message).label(&place(range), "ends before it").context(&arg.name.span, "not in the signature")
            }
            (None, None) => mismatch(message).label(&place(range), "the signature"),
        };
        diags.push(diagnostic.help("list in `[[arg]]` what the entry takes, in its order: the launch is made of the list"));
    } else if let Some(at) = wrong {
        let (parameter, arg) = (&parameters[at], &template.args[at]);
        let (name, listed) = (parameter.name.unwrap_or_default(), &arg.name.value);
        diags.push(
            mismatch(format!(
                "parameter {} of `{}` is `{name}`, and its TEMPLATE.toml lists `{listed}` there",
                at + 1,
                template.name
            ))
            .label(&place(parameter.range.clone()), format!("would be given `{listed}`"))
            .context(&arg.name.span, format!("argument {}", at + 1))
            .help("bring both into one order, and give them one name"),
        );
    }
    if has == lists && wrong.is_none() {
        for (parameter, arg) in pairs.filter(|(parameter, arg)| !is_of_type(parameter, arg, template)) {
            let (name, listed) = (&arg.name.value, &arg.ty.value);
            let ty = text[parameter.range.clone()].strip_suffix(parameter.name.unwrap_or_default()).unwrap_or_default().trim();
            diags.push(
                mismatch(format!("`{name}` of `{}` is `{ty}`, and its TEMPLATE.toml lists `{listed}`", template.name))
                    .label(&place(parameter.range.clone()), "what the kernel reads")
                    .context(&arg.ty.span, "what the launch hands over")
                    .help("write one type in both"),
            );
        }
    }
}

/// A parameter without a name is not used, and has none to compare.
fn is_named(parameter: &Parameter<'_>, arg: &ArgSpec) -> bool {
    parameter.name.is_none_or(|name| name == arg.name.value)
}

/// A type over a param of the template has another name in the code: then only what does not depend on the param is compared.
fn is_of_type(parameter: &Parameter<'_>, arg: &ArgSpec, template: &TemplateSpec) -> bool {
    let listed = tokens(&arg.ty.value);
    let listed: Vec<&str> = listed.iter().map(|(_, range)| &arg.ty.value[range.clone()]).collect();
    let is_param = |word: &str| template.params.iter().any(|(name, _)| name.value == word);
    listed.len() == parameter.ty.len() && listed.iter().zip(&parameter.ty).all(|(a, b)| a == b || is_param(a))
}

/// The parameters of `@{ instance }@(..)`, and where they stand.
fn entry(text: &str) -> Option<(std::ops::Range<usize>, Vec<Parameter<'_>>)> {
    let tokens = tokens(text);
    let begins = |at: &usize| {
        let signs = [(0, b'@'), (1, b'{'), (3, b'}'), (4, b'@'), (5, b'(')];
        signs.iter().all(|(ahead, sign)| is(&tokens, at + ahead, *sign)) && tokens[at + 2].0 == Token::Name("instance")
    };
    let open = (0..tokens.len()).find(begins)? + 5;
    let mut depth = 0usize;
    let close = (open..tokens.len()).find(|&at| {
        depth = (depth + usize::from(is(&tokens, at, b'('))) - usize::from(is(&tokens, at, b')'));
        depth == 0
    })?;
    let inside = &tokens[open + 1..close];
    let parameters = inside.split(|(token, _)| *token == Token::Sign(b',')).filter_map(|part| parameter(text, part)).collect();
    Some((tokens[open].1.start..tokens[close].1.end, parameters))
}

fn is(tokens: &[At<'_>], at: usize, sign: u8) -> bool {
    matches!(tokens.get(at), Some((Token::Sign(found), _)) if *found == sign)
}

fn parameter<'t>(text: &'t str, tokens: &[At<'t>]) -> Option<Parameter<'t>> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let name = match last.0 {
        Token::Name(name) if tokens.len() > 1 && !TYPES.contains(&name) => Some(name),
        _ => None,
    };
    let of_type = &tokens[..tokens.len() - usize::from(name.is_some())];
    let ty = of_type.iter().map(|(_, range)| &text[range.clone()]).filter(|word| !DECORATIONS.contains(word)).collect();
    Some(Parameter { name, ty, range: first.1.start..last.1.end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_found_by_its_name() {
        let text = "TENON_MANIFEST(@{ instance }@, DIM)\n\
            extern \"C\" __global__ void __launch_bounds__(Shape<1, 2>::THREADS)\n\
            @{ instance }@(Step step, const X* __restrict__ x, // a comment, with a comma\n    int /* unused */, unsigned* counters) {}";
        let (range, parameters) = entry(text).unwrap();
        assert!(text[range].starts_with("(Step step,"));
        let shown: Vec<(Option<&str>, String)> = parameters.iter().map(|p| (p.name, p.ty.join(" "))).collect();
        let known = [(Some("step"), "Step"), (Some("x"), "const X *"), (None, "int"), (Some("counters"), "unsigned *")];
        assert_eq!(shown, known.map(|(name, ty)| (name, ty.to_owned())));
    }

    #[test]
    fn any_text_is_fine() {
        for text in ["", "@{ instance }@", "@{ instance }@(", "@{ instance }@(int", "@{ instance }@)(", "@{instance}@(,,)"] {
            let _ = entry(text);
        }
        assert_eq!(entry("@{ instance }@()").map(|(_, parameters)| parameters), Some(Vec::new()));
    }
}
