//! The wrapper of a template: a type that loads its instances and launches them with typed arguments.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::generics::{Generic, GenericOf, any_type};
use super::numbers::{dtype_param, in_wrapper, product, rust as number, step_dim};
use crate::binding::{Binding, Element, Planes, bindings, is_rows};
use crate::emit::imports::Imports;
use crate::emit::text::{blank, constant, ident, rust, type_name};
use crate::expr::{Expr, ExprKind};
use crate::program::DeviceOp;
use crate::spec::{ArgSpec, TemplateSpec};

/// A template with how its arguments are passed.
pub struct Wrapper<'t> {
    pub template: &'t TemplateSpec,
    pub args: Vec<(&'t ArgSpec, Binding<'t>)>,
}

impl<'t> Wrapper<'t> {
    /// The wrapper of a template, for ops like this one. `check` has bound its arguments.
    pub fn new(template: &'t TemplateSpec, op: &DeviceOp) -> Self {
        let bound = bindings(template, op).unwrap_or_default();
        Self { template, args: template.args.iter().zip(bound).collect() }
    }

    /// The type.
    pub fn type_name(&self) -> Ident {
        type_name(&self.template.name)
    }

    fn element(&self, arg: &ArgSpec, element: Element<'_>) -> TokenStream {
        match element {
            Element::F32 => quote!(F32),
            Element::Bf16 => quote!(Bf16),
            Element::I32 => quote!(I32),
            Element::U32 => quote!(U32),
            Element::U8 => quote!(U8),
            Element::Named(param) => {
                let name = dtype_param(param);
                quote!(#name)
            }
            Element::Any => {
                let name = any_type(arg);
                quote!(#name)
            }
        }
    }

    /// The rows of a launch: of logits where a shape says so.
    fn rows(&self) -> TokenStream {
        let of_logits = self.args.iter().any(|(arg, _)| first_dim(arg).as_deref() == Some("logit_rows"));
        if of_logits { quote!(dims.logit_rows) } else { quote!(dims.rows) }
    }

    /// A parameter of `launch` for an argument, and what the kernel is given. No parameter where it follows from others.
    fn arg(&self, arg: &'t ArgSpec, binding: &Binding<'t>, known: &[Generic<'t>]) -> (Option<TokenStream>, TokenStream) {
        let name = ident(&arg.name.value);
        let reference = |written: bool| if written { quote!(&mut) } else { quote!(&) };
        let method = |written: bool| if written { ident("arg_mut") } else { ident("arg") };
        match binding {
            Binding::Step => (None, quote!(run.step())),
            Binding::Rows => {
                let rows = self.rows();
                (None, quote!(Arg::count(#rows)))
            }
            Binding::StepDim(dim) => {
                let field = ident(step_dim(dim));
                (None, quote!(Arg::count(dims.#field)))
            }
            Binding::Param(param) => {
                let param = constant(param);
                (None, quote!(Arg::count(#param)))
            }
            Binding::Chosen(_) | Binding::Int => (Some(quote!(#name: usize)), quote!(Arg::count(#name))),
            Binding::Float => (Some(quote!(#name: f32)), quote!(Arg::float(#name))),
            Binding::Planes(planes) => {
                let ty = match planes {
                    Planes::Linear => quote!(DeviceLinear<OUT, IN>),
                    Planes::Embedding => quote!(DeviceEmbedding<VOCAB, DIM>),
                    Planes::Stack => quote!(DeviceStack),
                };
                (Some(quote!(#name: &#ty)), quote!(#name.planes()))
            }
            Binding::OfPlanes(planes, part) => {
                let (planes, method) = (ident(planes), ident(part));
                let value = quote!(#planes.#method());
                (None, if *part == "factor" { quote!(Arg::float(#value)) } else { value })
            }
            Binding::Activations { element, width, written } => {
                let ty = self.element(arg, *element);
                let width = if width.is_empty() {
                    quote!(1)
                } else {
                    let name = self.width_name(arg, width, known);
                    quote!(#name)
                };
                let (reference, method) = (reference(*written), method(*written));
                let rows = match first_dim(arg).as_deref() {
                    Some("logit_rows") => quote!(dims.logit_rows),
                    _ => quote!(dims.rows),
                };
                (Some(quote!(#name: #reference DeviceRows<#ty, #width>)), quote!(#name.#method(#rows)))
            }
            Binding::Vector { width, optional } => {
                let width = self.width_name(arg, &[width], known);
                match optional {
                    true => (Some(quote!(#name: Option<&DeviceVector<#width>>)), quote!(DeviceVector::optional(#name))),
                    false => (Some(quote!(#name: &DeviceVector<#width>)), quote!(#name.arg())),
                }
            }
            Binding::Angles(width) => {
                let width = self.width_name(arg, &[width], known);
                (Some(quote!(angles: &DeviceAngles<#width, L>)), quote!(angles.cos(dims.rows)))
            }
            Binding::Sines => {
                let of = self.args.iter().any(|(_, binding)| *binding == Binding::Compute);
                let value = match (of, arg.name.value.as_str()) {
                    (true, "factor") => quote!(Arg::float(angles.factor)),
                    (true, _) => quote!(angles.#name),
                    (false, _) => quote!(angles.sin(dims.rows)),
                };
                (None, value)
            }
            Binding::Compute => (Some(quote!(angles: AngleArgs<'_>)), quote!(angles.frequencies)),
            Binding::Kv { written } => {
                let (reference, method) = (reference(*written), method(*written));
                (Some(quote!(#name: #reference DevicePagedKv<D, NUM_KEY_VALUE_HEADS, HEAD_DIM>)), quote!(#name.#method()))
            }
            Binding::Latents { written } => {
                let (reference, method) = (reference(*written), method(*written));
                (Some(quote!(#name: #reference DeviceLatentCache<D, KV_LORA_RANK, QK_ROPE_HEAD_DIM>)), quote!(#name.#method()))
            }
            Binding::Workspace { element, shape, written } => {
                let ty = self.element(arg, *element);
                let elements = product(shape, &in_wrapper);
                let (reference, method) = (reference(*written), method(*written));
                (Some(quote!(#name: #reference DeviceWorkspace<#ty>)), quote!(#name.#method(#elements)))
            }
            Binding::Memory => (Some(quote!(#name: Arg<'_>)), quote!(#name)),
        }
    }

    /// The file of the wrapper.
    pub fn file(&self) -> String {
        let (ty, space) = (self.type_name(), blank());
        let params = self.type_params();
        let declared: Vec<TokenStream> = params.iter().map(|(name, is_dtype)| declared(name, *is_dtype)).collect();
        let used: Vec<Ident> =
            params.iter().map(|(name, is_dtype)| if *is_dtype { dtype_param(name) } else { constant(name) }).collect();
        let (declared, used) = match params.is_empty() {
            true => (quote!(), quote!()),
            false => (quote!(<#(#declared),*>), quote!(<#(#used),*>)),
        };
        let dtypes: Vec<Ident> = params.iter().filter(|(_, is_dtype)| *is_dtype).map(|(name, _)| dtype_param(name)).collect();
        let (types_field, types_init) = match dtypes.as_slice() {
            [] => (quote!(), quote!()),
            dtypes => (quote!(types: PhantomData<fn() -> (#(#dtypes,)*)>,), quote!(, types: PhantomData)),
        };
        let with = params.iter().map(|(name, is_dtype)| {
            if *is_dtype {
                let ty = dtype_param(name);
                quote!(Parameter::name(#name, <#ty as DeviceElement>::NAME))
            } else {
                let number = constant(name);
                quote!(Parameter::number(#name, #number as u32))
            }
        });
        let launch = self.launch();
        let about = format!(" {}.", self.template.about);
        let body = quote! {
            #[doc = #about]
            #[derive(Debug)]
            pub struct #ty #declared {
                kernels: KernelSet,
                #types_field
            }
            #space
            impl #declared #ty #used {
                /// Loads those of the instances that are this type's.
                pub fn load(device: &Arc<Device>, instances: &[&Instance]) -> Result<Self, CudaError> {
                    let kernels = KernelSet::load(device, instances, &[#(#with),*])?;
                    Ok(Self { kernels #types_init })
                }
                #space
                #launch
            }
        };
        let mut imports = Imports::of(&body);
        let std = [imports.take("std::marker", ["PhantomData"]), imports.take("std::sync", ["Arc"])].into_iter().flatten();
        let runtime = RUNTIME.iter().filter_map(|(path, names)| imports.take(path, names.iter().copied()));
        let name = &self.template.name;
        rust(
            &[
                &format!("`{name}` on sm_90a: {}.", lower_first(&self.template.about)),
                &format!("Generated from kernel-templates/{name}/TEMPLATE.toml; edit that, then `cargo build`."),
            ],
            quote!(#(#std)* #space #(#runtime)* #space #body),
        )
    }

    fn launch(&self) -> TokenStream {
        let generics = self.generics();
        let declared: Vec<TokenStream> = generics
            .iter()
            .map(|generic| {
                let name = &generic.name;
                match generic.of {
                    GenericOf::Type if name == "L" => quote!(L: RopeLayout),
                    GenericOf::Type => quote!(#name: DeviceElement),
                    _ => quote!(const #name: usize),
                }
            })
            .collect();
        let declared = if declared.is_empty() { quote!() } else { quote!(<#(#declared),*>) };
        let asserts = generics.iter().filter_map(|generic| {
            let GenericOf::Width(width) = &generic.of else { return None };
            let (name, value) = (&generic.name, product(width, &in_wrapper));
            Some(quote!(const { assert!(#name == #value) };))
        });
        let args: Vec<_> = self.args.iter().map(|(arg, binding)| self.arg(arg, binding, &generics)).collect();
        let parameters: Vec<&TokenStream> = args.iter().filter_map(|(parameter, _)| parameter.as_ref()).collect();
        let values = args.iter().map(|(_, value)| value);
        let spec = self.template.launch.as_ref().expect("a kernel of a GPU has a launch");
        let axes = |list: &[crate::source::Spanned<Expr>]| {
            let mut sizes: Vec<TokenStream> = list.iter().map(|size| number(&size.value, &in_wrapper)).collect();
            sizes.resize(3, quote!(1));
            sizes
        };
        let (grid, block) = (axes(&spec.grid), axes(&spec.block));
        let (shared, overlaps) = (number(&spec.shared_bytes.value, &in_wrapper), spec.overlaps.value);
        let of_format = self.args.iter().find_map(|(arg, binding)| match binding {
            Binding::Planes(_) => Some(ident(&arg.name.value)),
            _ => None,
        });
        let has = |name: &str| self.template.params.iter().any(|(param, _)| param.value == name);
        let format = match of_format.as_ref().filter(|_| has("format")) {
            Some(planes) => quote!(Some(#planes.format())),
            None => quote!(None),
        };
        let has_buckets = self.template.params.iter().any(|(_, rule)| rule.value.bucket.is_some());
        let uses_bucket = format!("{grid:?}{shared}").contains(" bucket") || shared.to_string().contains("bucket");
        let choose = match (has_buckets, has("format")) {
            (false, false) => quote!(let kernel = self.kernels.only();),
            (true, _) if uses_bucket || format!("{}", quote!(#(#grid),*)).contains("bucket") => {
                quote!(let (kernel, bucket) = self.kernels.of(#format, dims.rows);)
            }
            _ => quote!(let (kernel, _) = self.kernels.of(#format, dims.rows);),
        };
        let choose = if has_buckets { choose } else { without_rows(choose, has("format"), &format) };
        let named = of_format.map(|planes| quote!(let format = #planes.format();));
        let named = named.filter(|_| quote!(#(#grid)* #(#block)* #shared).to_string().contains("format ."));
        let asked = quote!(#(#grid)* #(#block)* #shared #choose #(#values)*).to_string();
        let values = args.iter().map(|(_, value)| value);
        let dims = asked.contains("dims").then(|| quote!(let dims = run.dims();));
        let run = if asked.contains("dims") || asked.contains("run") { quote!(run) } else { quote!(_) };
        quote! {
            /// Launches it for the rows of a pass.
            #[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
            pub fn launch #declared (&self, #run: &Run<'_>, #(#parameters),*) -> Result<(), CudaError> {
                #(#asserts)*
                #dims
                #choose
                #named
                let launch = Launch { grid: [#(#grid),*], block: [#(#block),*], shared_bytes: #shared, overlaps: #overlaps };
                kernel.launch(launch, &[#(#values),*])
            }
        }
    }
}

/// A choice by format alone takes any number of rows.
fn without_rows(choose: TokenStream, by_format: bool, format: &TokenStream) -> TokenStream {
    if by_format { quote!(let (kernel, _) = self.kernels.of(#format, 1);) } else { choose }
}

fn declared(name: &str, is_dtype: bool) -> TokenStream {
    match (name, is_dtype) {
        ("kv_dtype", _) => quote!(D: KvDtype + DeviceElement),
        (_, true) => {
            let name = dtype_param(name);
            quote!(#name: DeviceElement)
        }
        (_, false) => {
            let name = constant(name);
            quote!(const #name: usize)
        }
    }
}

/// The first dimension of an argument, where it is a name.
fn first_dim(arg: &ArgSpec) -> Option<String> {
    match &arg.shape.as_ref()?.first()?.value.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Binary(_, rows, _) if is_rows(rows) => Some(rows.to_string()),
        _ => None,
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}

const RUNTIME: [(&str, &[&str]); 3] = [
    (
        "tenon_core::cuda",
        &[
            "AngleArgs",
            "Arg",
            "Bf16",
            "CudaError",
            "Device",
            "DeviceAngles",
            "DeviceElement",
            "DeviceEmbedding",
            "DeviceLatentCache",
            "DeviceLinear",
            "DevicePagedKv",
            "DeviceRows",
            "DeviceStack",
            "DeviceVector",
            "DeviceWorkspace",
            "F32",
            "I32",
            "Instance",
            "KernelSet",
            "Launch",
            "Parameter",
            "Run",
            "U32",
            "U8",
        ],
    ),
    ("tenon_core::dtype", &["KvDtype"]),
    ("tenon_core::rope", &["RopeLayout"]),
];
