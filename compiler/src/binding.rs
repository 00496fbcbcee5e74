//! How generated code passes each argument of a kernel: what it is by its type, its shape and its name in TEMPLATE.toml, and by what an op
//! has for it.

use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::model::Maxima;
use crate::program::{DeviceOp, Operand};
use crate::source::Spanned;
use crate::spec::{ArgSpec, ParamRule, TemplateSpec};

/// Parameters that are chosen with each launch, by its rows and spans, and not by the model.
pub const CHOSEN: [&str; 4] = ["kv_splits", "spans_of_pass", "heads_of_pass", "context_rows"];

/// The parameter whose value is the smallest of its bucket that holds the rows of a launch.
pub const BUCKET: &str = "rows";

/// An argument of a kernel, as generated code passes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding<'t> {
    /// The tokens of the step.
    Step,
    /// The number of rows of the launch.
    Rows,
    /// A dimension of the step.
    StepDim(&'t str),
    /// A parameter, which is a number.
    Param(&'t str),
    /// A parameter that is chosen with the launch.
    Chosen(&'t str),
    /// A whole number of the op.
    Int,
    /// A factor of the op.
    Float,
    /// A matrix of a stored format; its scales and factors are passed with it.
    Planes(Planes),
    /// Scales or factors of the matrix of this argument.
    OfPlanes(&'t str, &'static str),
    /// Rows of activations, `width` elements each.
    Activations {
        /// The elements.
        element: Element<'t>,
        /// Elements of a row: the factors of a product.
        width: Vec<&'t Expr>,
        /// It is written.
        written: bool,
    },
    /// A vector of f32.
    Vector {
        /// Its elements.
        width: &'t Expr,
        /// It may be null.
        optional: bool,
    },
    /// The cosines of a rotation; its sines follow with it. The parameter is the number of rotated elements.
    Angles(&'t Expr),
    /// The sines beside.
    Sines,
    /// What computes the angles: frequencies first, the others follow with it.
    Compute,
    /// A paged cache of keys and values.
    Kv {
        /// It is written.
        written: bool,
    },
    /// A paged cache of latents.
    Latents {
        /// It is written.
        written: bool,
    },
    /// Memory that kernels work in, of at least these elements.
    Workspace {
        /// The elements.
        element: Element<'t>,
        /// The factors of their number.
        shape: Vec<&'t Expr>,
        /// It is written.
        written: bool,
    },
    /// Memory whose type has its dimensions already.
    Memory,
}

/// A matrix of a stored format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planes {
    /// `[out, in]`
    Linear,
    /// `[vocab, dim]`
    Embedding,
    /// Those of experts, one after the other.
    Stack,
}

/// The elements of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'t> {
    /// `float`
    F32,
    /// `bf16`
    Bf16,
    /// `int`
    I32,
    /// `unsigned`
    U32,
    /// Bytes: memory without a type.
    U8,
    /// As the parameter of this name says.
    Named(&'t str),
    /// What the caller has.
    Any,
}

/// How each argument of a template is passed for an op. An argument for which the op has nothing is the error.
///
/// # Errors
/// The first argument that the op does not know.
pub fn bindings<'t>(template: &'t TemplateSpec, op: &DeviceOp) -> Result<Vec<Binding<'t>>, &'t ArgSpec> {
    template.args.iter().map(|arg| binding(template, op, arg).ok_or(arg)).collect()
}

fn binding<'t>(template: &'t TemplateSpec, op: &DeviceOp, arg: &'t ArgSpec) -> Option<Binding<'t>> {
    let name = arg.name.value.as_str();
    let rule = param(template, name);
    match arg.ty.value.as_str() {
        "Step" => return Some(Binding::Step),
        "int" if name == BUCKET => return Some(Binding::Rows),
        "int" if CHOSEN.contains(&name) && rule.is_some() => return Some(Binding::Chosen(name)),
        "int" if rule.is_some() => return Some(Binding::Param(name)),
        "int" if Maxima::DIMS.contains(&name) => return Some(Binding::StepDim(name)),
        "int" => return op.operand(name).map(|_| Binding::Int),
        _ => {}
    }
    if let Some((planes, part)) = of_planes(template, name) {
        return Some(Binding::OfPlanes(planes, part));
    }
    if op.op == "rope_angles" && ["factor", "cos", "sin"].contains(&name) {
        return Some(Binding::Sines);
    }
    let operand = op.operand(name)?;
    if !arg.is_memory() {
        return (arg.ty.value == "float").then_some(Binding::Float);
    }
    let shape: Vec<&Expr> = arg.shape.iter().flat_map(|shape| shape.value.iter().map(|dim| &dim.value)).collect();
    let written = !arg.ty.value.trim_start().starts_with("const");
    if is_planes(arg) {
        return Some(Binding::Planes(planes(template, name)));
    }
    Some(match operand {
        Operand::Rotation(_, "frequencies") => Binding::Compute,
        Operand::Rotation(_, "sin") => Binding::Sines,
        Operand::Rotation(..) => Binding::Angles(rotated(shape.get(1)?)?),
        Operand::Cache if name == "kv" => Binding::Kv { written },
        Operand::Cache => Binding::Latents { written },
        Operand::Work(_) => {
            let element = if base(&arg.ty.value) == "void" { Element::U8 } else { element(template, arg) };
            Binding::Workspace { element, shape, written }
        }
        Operand::Buf(_) => {
            let width = match (shape.as_slice(), shape.first().map(|first| &first.kind)) {
                // Numbers of a row that follow one another: `tokens * top_k`.
                ([_], Some(ExprKind::Binary(BinaryOp::Mul, rows, width))) if is_rows(rows) => vec![&**width],
                _ => shape.get(1..).unwrap_or_default().to_vec(),
            };
            Binding::Activations { element: element(template, arg), width, written }
        }
        Operand::Weight(_, "") | Operand::Nothing if shape.len() == 1 => {
            Binding::Vector { width: shape[0], optional: arg.is_optional() }
        }
        Operand::Weight(..) | Operand::Nothing | Operand::State(_) => Binding::Memory,
        Operand::Value(_) => return None,
    })
}

/// The rule of a parameter.
pub fn param<'t>(template: &'t TemplateSpec, name: &str) -> Option<&'t Spanned<ParamRule>> {
    template.params.iter().find(|(param, _)| param.value == name).map(|(_, rule)| rule)
}

fn is_planes(arg: &ArgSpec) -> bool {
    base(&arg.ty.value) == "unsigned char"
}

/// What stands in a pointer's type without `const` and `*`.
fn base(ty: &str) -> &str {
    ty.trim().trim_start_matches("const").trim_end_matches('*').trim()
}

fn planes(template: &TemplateSpec, name: &str) -> Planes {
    let has = |name: &str| template.args.iter().any(|arg| arg.name.value == name);
    if name == "table" {
        Planes::Embedding
    } else if has("factors") || has(&format!("{name}_factors")) {
        Planes::Stack
    } else {
        Planes::Linear
    }
}

/// The matrix that an argument holds the scales or factors of, and which of the two.
fn of_planes<'t>(template: &'t TemplateSpec, name: &str) -> Option<(&'t str, &'static str)> {
    let all = || template.args.iter().filter(|arg| is_planes(arg)).map(|arg| arg.name.value.as_str());
    ["scales", "factors", "factor"].into_iter().find_map(|part| {
        let of = match name.strip_suffix(part)? {
            "" => all().next(),
            prefix => all().find(|planes| prefix.strip_suffix('_') == Some(planes)),
        };
        of.map(|planes| (planes, part))
    })
}

/// Whether an expression is the number of rows of a launch.
pub fn is_rows(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Name(name) if name == "tokens" || name == "logit_rows")
}

/// Of `rotary_dim / 2`, the first.
fn rotated(width: &Expr) -> Option<&Expr> {
    match &width.kind {
        ExprKind::Binary(BinaryOp::Div, dim, two) if two.kind == ExprKind::Int(2) => Some(dim),
        _ => None,
    }
}

fn element<'t>(template: &'t TemplateSpec, arg: &'t ArgSpec) -> Element<'t> {
    let names = || template.params.iter().map(|(name, _)| name.value.as_str()).filter(|name| name.ends_with("_dtype"));
    match base(&arg.ty.value) {
        "float" => Element::F32,
        "bf16" => Element::Bf16,
        "int" => Element::I32,
        "unsigned" => Element::U32,
        written => {
            let own = names().find(|name| *name == written || name.strip_suffix("_dtype") == Some(&arg.name.value));
            let only = || names().filter(|name| *name != "kv_dtype").collect::<Vec<_>>();
            let element = own.or_else(|| match only().as_slice() {
                [one] => Some(*one),
                _ => None,
            });
            element.map_or(Element::Any, Element::Named)
        }
    }
}
