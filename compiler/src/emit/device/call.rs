//! One op of a device as a statement with its shape.

use proc_macro2::TokenStream;
use quote::quote;

use super::generics::GenericOf;
use super::kernels::{Field, field_of};
use crate::architecture::Role;
use crate::binding::Binding;
use crate::emit::text::{blank, comment, ident, int, trail};
use crate::expr::{Dim, Expr};
use crate::model::{ParamSet, Requirement};
use crate::program::{Call, DeviceOp, Dtype, Op, OpKind, Operand, Phase, Program, Store, When, device_dtype};
use crate::spec::ArgSpec;

/// What the statements of a program need.
pub struct Calls<'c, 'p> {
    pub program: &'c Program<'p>,
    pub fields: &'c [Field<'p>],
}

impl<'p> Calls<'_, 'p> {
    /// A list of ops, each as a statement; those for few rows and those for many as the two arms of one choice.
    pub fn statements(&self, ops: &[Op], run: &str) -> TokenStream {
        let mut out = TokenStream::new();
        let mut rest = ops;
        while let Some(op) = rest.first() {
            let OpKind::Device(kind) = &op.kind else { unreachable!("an op of a device") };
            let when = |op: &Op| match &op.kind {
                OpKind::Device(kind) => kind.when,
                _ => When::Always,
            };
            let taken = match (&kind.call, kind.when) {
                (Call::Within, _) => 1,
                (Call::Expand(phase), _) => {
                    out.extend(self.passes(*phase, &rest[..2], run));
                    2
                }
                (_, When::Always) => {
                    out.extend(heading(op));
                    out.extend(self.statement(op, run));
                    1
                }
                (_, when_first) => {
                    let few = rest.iter().take_while(|op| when(op) == when_first).count();
                    let many = rest[few..].iter().take_while(|op| when(op) == When::Many).count();
                    let list = |ops: &[Op]| ops.iter().map(|op| self.statement(op, run)).collect::<TokenStream>();
                    let (first, second) = (list(&rest[..few]), list(&rest[few..few + many]));
                    let run = ident(run);
                    out.extend(heading(op));
                    out.extend(match when_first {
                        When::Few => quote!(if #run.is_few() { #first } else { #second }),
                        _ => quote!(if !#run.is_few() { #first }),
                    });
                    few + many
                }
            };
            rest = &rest[taken..];
        }
        out
    }

    fn passes(&self, phase: Phase, ops: &[Op], run: &str) -> TokenStream {
        let OpKind::Device(attend) = &ops[1].kind else { unreachable!("an op of a device") };
        let heads = attend.params.iter().find_map(|(name, set)| match set {
            ParamSet::Int(value) if *name == "num_attention_heads" => Some(int(*value as usize)),
            _ => None,
        });
        let phase = ident(if phase == Phase::Prefill { "Prefill" } else { "Decode" });
        let body = ops.iter().map(|op| self.statement(op, run)).collect::<TokenStream>();
        let (heading, run) = (heading(&ops[0]), ident(run));
        quote! {
            #heading
            for pass in #run.passes(Phase::#phase, #heads, EXPANDED_ROWS) { #body }
        }
    }

    fn statement(&self, op: &Op, run: &str) -> TokenStream {
        let OpKind::Device(kind) = &op.kind else { unreachable!("an op of a device") };
        let requirement = op.requirement(&self.program.model.checkpoint.accept);
        let run = ident(run);
        let code = match &kind.call {
            Call::Linear(store) => self.linear(kind, *store, &run),
            Call::Gated => self.gated(op, kind, &run),
            Call::Within => return TokenStream::new(),
            Call::Launch | Call::Expand(_) | Call::InPass => self.launch(kind, &requirement, &run),
        };
        let trail = trail(&kind.shape);
        quote!(#code #trail)
    }

    fn buffer(&self, kind: &DeviceOp, name: &str) -> (proc_macro2::Ident, Dtype) {
        match kind.operand(name) {
            Some(Operand::Buf(buf)) => (ident(self.program.field(buf)), device_dtype(buf.name)),
            other => unreachable!("{name} of {} is {other:?}, and no buffer", kind.op),
        }
    }

    fn linear(&self, kind: &DeviceOp, store: Store, run: &proc_macro2::Ident) -> TokenStream {
        let weight = weight(kind.weight.expect("a product has a weight"));
        let ((x, _), (y, dtype)) = (self.buffer(kind, "x"), self.buffer(kind, "y"));
        let method = ident(match (store, dtype) {
            (Store::Add, _) => "add",
            (Store::Write, Dtype::F32) => "store_f32",
            (Store::Write, _) => "store",
        });
        quote!(k.matmul.#method(#run, &#weight, &s.#x, &mut s.#y)?;)
    }

    fn gated(&self, op: &Op, kind: &DeviceOp, run: &proc_macro2::Ident) -> TokenStream {
        let roles: Vec<TokenStream> = ["gate", "up"]
            .into_iter()
            .map(|name| match kind.operand(name) {
                Some(Operand::Weight(role, _)) => weight(*role),
                _ => unreachable!("a product has weights"),
            })
            .collect();
        let (gate, up) = (&roles[0], &roles[1]);
        let ((x, _), (y, _)) = (self.buffer(kind, "x"), self.buffer(kind, "y"));
        let beside = ident(self.program.field(&op.writes[1]));
        let requirement = op.requirement(&self.program.model.checkpoint.accept);
        let together = ident(&field_of(self.fields, self.program, &requirement).name);
        let act = ident(&self.act_mul(kind).name);
        quote!(k.matmul.gated(#run, &k.#together, &k.#act, &#gate, &#up, &s.#x, &mut s.#y, &mut s.#beside)?;)
    }

    /// The kernel of the activation that a gated product falls back to.
    fn act_mul(&self, gated: &DeviceOp) -> &Field<'p> {
        let number = |name: &str| gated.params.iter().find(|(param, _)| *param == name).map(|(_, set)| set.clone());
        let params = vec![
            ("act", number("act").expect("a gated product has an activation")),
            ("dim", number("out").expect("a product has a width")),
        ];
        field_of(self.fields, self.program, &Requirement { op: "act_mul", params })
    }

    fn launch(&self, kind: &DeviceOp, requirement: &Requirement, run: &proc_macro2::Ident) -> TokenStream {
        let field = field_of(self.fields, self.program, requirement);
        let args = field.wrapper.args.iter().filter_map(|(arg, binding)| self.operand(kind, arg, binding, run));
        let generics = field.wrapper.generics();
        let turbofish = generics.iter().any(|generic| !generic.inferred).then(|| {
            let values = generics.iter().map(|generic| match &generic.of {
                _ if generic.inferred => quote!(_),
                GenericOf::Param(param) => number(requirement, param),
                GenericOf::Width(width) => {
                    let value = width.iter().map(|expr| self.value(expr, requirement)).product::<u64>();
                    let value = int(value as usize);
                    quote!(#value)
                }
                GenericOf::Type => quote!(_),
            });
            quote!(::<#(#values),*>)
        });
        let name = ident(&field.name);
        quote!(k.#name.launch #turbofish (#run, #(#args),*)?;)
    }

    /// The value of an expression over the parameters of an op.
    fn value(&self, expr: &Expr, requirement: &Requirement) -> u64 {
        let dim = |name: &str| match requirement.params.iter().find(|(param, _)| *param == name) {
            Some((_, ParamSet::Int(value))) => Some(Dim::Int(*value)),
            _ => None,
        };
        // `check` has computed it for the plan's largest step.
        expr.eval_u64(&dim).unwrap_or(1)
    }

    /// What is passed for an argument; nothing where the wrapper has no parameter for it.
    fn operand(&self, kind: &DeviceOp, arg: &ArgSpec, binding: &Binding<'_>, run: &proc_macro2::Ident) -> Option<TokenStream> {
        let name = arg.name.value.as_str();
        let operand = kind.operand(name);
        let reference = |written: bool| if written { quote!(&mut) } else { quote!(&) };
        Some(match binding {
            Binding::Step | Binding::Rows | Binding::StepDim(_) | Binding::Param(_) | Binding::OfPlanes(..) | Binding::Sines => {
                return None;
            }
            Binding::Chosen(_) | Binding::Int | Binding::Float => match operand {
                Some(Operand::Value(text)) => {
                    let text = text.replace("run.", &format!("{run}."));
                    text.parse().expect("a value is an expression of Rust")
                }
                _ => quote!(0),
            },
            Binding::Compute => match operand {
                Some(Operand::Rotation(field, _)) => {
                    let field = ident(field);
                    quote!(s.#field.compute(#run.rows()))
                }
                _ => unreachable!("angles are those of a rotation"),
            },
            Binding::Angles(_) => match operand {
                Some(Operand::Rotation(field, _)) => {
                    let field = ident(field);
                    quote!(&s.#field)
                }
                _ => unreachable!("angles are those of a rotation"),
            },
            Binding::Planes(crate::binding::Planes::Stack) => match operand {
                Some(Operand::Weight(role, part)) => {
                    let (weight, part) = (weight(*role), ident(part));
                    quote!(#weight.#part())
                }
                _ => unreachable!("experts have weights"),
            },
            Binding::Planes(_) => match operand {
                Some(Operand::Weight(role, _)) => {
                    let weight = weight(*role);
                    quote!(&#weight)
                }
                _ => unreachable!("a product has a weight"),
            },
            Binding::Activations { written, .. } => {
                let ((buffer, _), reference) = (self.buffer(kind, name), reference(*written));
                quote!(#reference s.#buffer)
            }
            Binding::Vector { optional, .. } => match (operand, optional) {
                (Some(Operand::Weight(role, _)), true) => {
                    let weight = weight(*role);
                    quote!(Some(&#weight))
                }
                (Some(Operand::Weight(role, _)), false) => {
                    let weight = weight(*role);
                    quote!(&#weight)
                }
                _ => quote!(None),
            },
            Binding::Kv { .. } | Binding::Latents { .. } => quote!(kv),
            Binding::Workspace { written, .. } => match operand {
                Some(Operand::Work(field)) => {
                    let (field, reference) = (ident(field), reference(*written));
                    quote!(#reference s.#field)
                }
                _ => unreachable!("a workspace is a field"),
            },
            Binding::Memory => match operand {
                Some(Operand::Weight(role, part)) => memory(*role, part),
                Some(Operand::State("window")) => quote!(state.windows_mut()),
                Some(Operand::State(_)) => quote!(state.states_mut()),
                _ => quote!(Arg::null()),
            },
        })
    }
}

fn heading(op: &Op) -> TokenStream {
    let Some(heading) = &op.heading else { return TokenStream::new() };
    let (space, heading) = (blank(), comment(&format!("-- {heading}")));
    quote!(#space #heading)
}

fn weight(role: Role) -> TokenStream {
    let field = ident(role.field());
    quote!(w.#field)
}

/// A part of a weight, for a kernel.
fn memory(role: Role, part: &str) -> TokenStream {
    let weight = weight(role);
    let method = ident(match part {
        "w_k" => "keys",
        "w_v" => "values",
        "gate_bias" => "gate_bias",
        "up_bias" => "up_bias",
        "down_bias" => "down_bias",
        _ => "arg",
    });
    quote!(#weight.#method())
}

fn number(requirement: &Requirement, param: &str) -> TokenStream {
    match requirement.params.iter().find(|(name, _)| *name == param) {
        Some((_, ParamSet::Int(value))) => {
            let value = int(*value as usize);
            quote!(#value)
        }
        _ => quote!(_),
    }
}
