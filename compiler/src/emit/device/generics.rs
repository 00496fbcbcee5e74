//! What a wrapper is generic over: dtypes and numbers of its instances in its type, numbers of a launch and widths of rows in `launch`.

use proc_macro2::Ident;

use super::wrapper::Wrapper;
use crate::binding::{Binding, Element, Planes};
use crate::emit::text::{constant, ident, type_name};
use crate::expr::{Expr, ExprKind};
use crate::spec::ArgSpec;

/// A generic of the launch: its name, and whether the arguments say what it is.
pub struct Generic<'t> {
    pub name: Ident,
    pub of: GenericOf<'t>,
    pub inferred: bool,
}

/// What a generic of the launch stands for.
pub enum GenericOf<'t> {
    /// A parameter that is passed at launch.
    Param(&'t str),
    /// Elements of a row or a vector.
    Width(Vec<&'t Expr>),
    /// A type.
    Type,
}

impl<'t> Wrapper<'t> {
    /// The parameters of the type: dtypes, and numbers that an instance is compiled for.
    pub fn type_params(&self) -> Vec<(&'t str, bool)> {
        let compiled = self.template.params.iter().filter(|(_, rule)| rule.value.is_compiled() && rule.value.bucket.is_none());
        compiled
            .filter_map(|(name, rule)| match &rule.value.one_of {
                Some(_) => name.value.ends_with("_dtype").then_some((name.value.as_str(), true)),
                None => Some((name.value.as_str(), false)),
            })
            .collect()
    }

    fn is_type_number(&self, name: &str) -> bool {
        self.type_params().iter().any(|(param, is_dtype)| *param == name && !is_dtype)
    }

    fn is_launch_number(&self, name: &str) -> bool {
        self.args.iter().any(|(_, binding)| *binding == Binding::Param(name)) && !self.is_type_number(name)
    }

    /// The constant that is this width: a parameter's own, or none.
    fn own_constant(&self, width: &[&Expr]) -> Option<Ident> {
        match width {
            [Expr { kind: ExprKind::Name(name), .. }] if self.is_type_number(name) || self.is_launch_number(name) => {
                Some(constant(name))
            }
            _ => None,
        }
    }

    /// The generics of `launch`.
    pub fn generics(&self) -> Vec<Generic<'t>> {
        let mut found: Vec<Generic<'t>> = Vec::new();
        for (_, binding) in &self.args {
            if let Binding::Param(name) = binding
                && !self.is_type_number(name)
                && found.iter().all(|g| g.name != constant(name))
            {
                found.push(Generic { name: constant(name), of: GenericOf::Param(name), inferred: false });
            }
        }
        for (arg, binding) in &self.args {
            let (width, says) = match binding {
                Binding::Activations { width, .. } => (width.clone(), true),
                Binding::Vector { width, optional } => (vec![*width], !optional),
                Binding::Angles(width) => (vec![*width], true),
                Binding::Planes(Planes::Linear) => {
                    found.iter_mut().filter(|g| g.name == "OUT" || g.name == "IN").for_each(|g| g.inferred = true);
                    continue;
                }
                Binding::Planes(Planes::Embedding) => {
                    found.iter_mut().filter(|g| g.name == "VOCAB" || g.name == "DIM").for_each(|g| g.inferred = true);
                    continue;
                }
                Binding::Kv { .. } => {
                    found.iter_mut().filter(|g| g.name == "NUM_KEY_VALUE_HEADS").for_each(|g| g.inferred = true);
                    continue;
                }
                _ => continue,
            };
            if width.is_empty() {
                continue;
            }
            let name = self.width_name(arg, &width, &found);
            match found.iter_mut().find(|g| g.name == name) {
                Some(known) => known.inferred |= says,
                None if self.own_constant(&width).is_some() => {}
                None => found.push(Generic { name, of: GenericOf::Width(width), inferred: says }),
            }
        }
        for (arg, binding) in &self.args {
            match binding {
                Binding::Activations { element: Element::Any, .. } | Binding::Workspace { element: Element::Any, .. } => {
                    found.push(Generic { name: any_type(arg), of: GenericOf::Type, inferred: true });
                }
                Binding::Angles(_) => found.push(Generic { name: ident("L"), of: GenericOf::Type, inferred: true }),
                _ => {}
            }
        }
        found
    }

    /// The constant of a width: a parameter's, that of an equal width before, or its own.
    pub(super) fn width_name(&self, arg: &ArgSpec, width: &[&Expr], known: &[Generic<'_>]) -> Ident {
        if let Some(own) = self.own_constant(width) {
            return own;
        }
        let text = |width: &[&Expr]| width.iter().map(|e| format!("({e})")).collect::<String>();
        let same = known.iter().find(|g| matches!(&g.of, GenericOf::Width(other) if text(other) == text(width)));
        same.map_or_else(|| constant(&format!("{}_width", arg.name.value)), |g| g.name.clone())
    }
}

/// The type parameter of an argument whose elements the caller knows.
pub(super) fn any_type(arg: &ArgSpec) -> Ident {
    type_name(&format!("{}_element", arg.name.value))
}
