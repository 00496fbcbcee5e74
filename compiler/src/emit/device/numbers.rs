//! Expressions of a template in Rust: parameters are constants of the wrapper, dimensions of the step are fields of it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::binding::{BUCKET, CHOSEN};
use crate::emit::text::{constant, ident, int};
use crate::expr::{BinaryOp, Expr, ExprKind, Function};
use crate::model::Maxima;

/// What a name of an expression is in Rust.
pub type Names<'n> = &'n dyn Fn(&str) -> TokenStream;

/// The names of a wrapper: constants, what is chosen with the launch, and dimensions of the step.
pub fn in_wrapper(name: &str) -> TokenStream {
    if let Some(dtype) = name.strip_prefix("sizeof(").and_then(|rest| rest.strip_suffix(')')) {
        return dtype_bytes(dtype);
    }
    // The only dtype with scales is the storage format of the weight with which the kernel was chosen.
    if name.starts_with("per_scale(") {
        return quote!(format.per_scale());
    }
    if name == BUCKET {
        return quote!(bucket);
    }
    if CHOSEN.contains(&name) {
        let name = ident(name);
        return quote!(#name);
    }
    if Maxima::DIMS.contains(&name) {
        let field = ident(step_dim(name));
        return quote!(dims.#field);
    }
    let name = constant(name);
    quote!(#name)
}

/// The field of `StepDims` for a dimension of the step.
pub fn step_dim(name: &str) -> &str {
    if name == "tokens" { "rows" } else { name }
}

/// A dtype's bytes, by the name of its parameter.
fn dtype_bytes(param: &str) -> TokenStream {
    let ty = dtype_param(param);
    quote!(#ty::BYTES)
}

/// The type parameter of a wrapper for a parameter that names a dtype.
pub fn dtype_param(param: &str) -> proc_macro2::Ident {
    match param {
        "kv_dtype" => ident("D"),
        other => crate::emit::text::type_name(other.trim_end_matches("_dtype")),
    }
}

/// An expression as Rust.
pub fn rust(expr: &Expr, names: Names<'_>) -> TokenStream {
    written(expr, names, 0)
}

/// A product of expressions; 1 where there is none.
pub fn product(factors: &[&Expr], names: Names<'_>) -> TokenStream {
    match factors {
        [] => quote!(1),
        [one] => rust(one, names),
        many => {
            let factors = many.iter().map(|factor| written(factor, names, 3));
            factors.reduce(times).unwrap_or_default()
        }
    }
}

/// The product of two factors; what is chosen with each launch counts as 1 in the largest step, and is left out.
fn times(left: TokenStream, right: TokenStream) -> TokenStream {
    match (is_one(&left), is_one(&right)) {
        (true, _) => right,
        (_, true) => left,
        _ => quote!(#left * #right),
    }
}

fn is_one(tokens: &TokenStream) -> bool {
    tokens.to_string() == "1"
}

/// `level` is how tightly the place binds: parentheses stand where the expression binds less.
fn written(expr: &Expr, names: Names<'_>, level: u8) -> TokenStream {
    let (own, tokens) = match &expr.kind {
        ExprKind::Int(value) => {
            let value = int(*value as usize);
            (9, quote!(#value))
        }
        ExprKind::Name(name) => (9, names(name)),
        ExprKind::Binary(op, a, b) => {
            let (own, op) = match op {
                BinaryOp::Add => (1, quote!(+)),
                BinaryOp::Sub => (1, quote!(-)),
                BinaryOp::Mul => (2, quote!(*)),
                BinaryOp::Div => (2, quote!(/)),
                BinaryOp::Pow => {
                    let (a, b) = (written(a, names, 9), rust(b, names));
                    return quote!(#a.pow(#b as u32));
                }
            };
            let (a, b) = (written(a, names, own), written(b, names, own + 1));
            if is_one(&a) && matches!(expr.kind, ExprKind::Binary(BinaryOp::Mul, ..)) {
                // It binds as tightly as a factor does.
                return b;
            }
            if is_one(&b) && matches!(expr.kind, ExprKind::Binary(BinaryOp::Mul, ..)) {
                return a;
            }
            (own, quote!(#a #op #b))
        }
        ExprKind::Call(Function::CeilDiv, arguments) => {
            let (a, b) = (written(&arguments[0], names, 9), rust(&arguments[1], names));
            (9, quote!(#a.div_ceil(#b)))
        }
        ExprKind::Call(function @ (Function::Min | Function::Max), arguments) => {
            let method = if *function == Function::Min { ident("min") } else { ident("max") };
            // A literal alone has no type that a method could be looked up for, so that it does not come first.
            let at = arguments.iter().position(|argument| !matches!(argument.kind, ExprKind::Int(_))).unwrap_or(0);
            let first = written(&arguments[at], names, 9);
            let rest = arguments.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, argument)| rust(argument, names));
            (9, rest.fold(first, |left, right| quote!(#left.#method(#right))))
        }
        ExprKind::Call(Function::Sizeof | Function::PerScale, _) => (9, names(&expr.to_string())),
        // What is proven to be a whole number has neither fractions nor roots.
        ExprKind::Float(_) | ExprKind::Neg(_) | ExprKind::Call(..) => (9, quote!(0)),
    };
    if own < level { quote!((#tokens)) } else { tokens }
}
