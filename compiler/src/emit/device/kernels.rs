//! `sm_90a_kernels.rs` of a model: every kernel that its step launches, loaded.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::instance::{Launched, Param, initials, is_open, launched, names, values};
use super::numbers::dtype_param;
use super::wrapper::Wrapper;
use crate::emit::imports::Imports;
use crate::emit::text::{blank, constant, edit_line, ident, int, rust};
use crate::model::Requirement;
use crate::program::{DeviceOp, OpKind, Program};

/// A kernel of a model: a template at what one model fixes of its parameters.
pub struct Field<'p> {
    /// The field of generated code.
    pub name: String,
    /// The kernel, of the first op that asks for it.
    pub kernel: Launched<'p>,
    /// Its wrapper.
    pub wrapper: Wrapper<'p>,
    /// What the model fixes.
    fixed: Vec<(&'p str, Vec<Param>)>,
    /// The names of all instances.
    instances: Vec<String>,
}

/// The kernels of a program, each once.
pub fn fields<'p>(program: &'p Program<'p>) -> Vec<Field<'p>> {
    let op_of = |requirement: &Requirement| -> &'p DeviceOp {
        let is_it = |op: &&crate::program::Op| op.requirement(&program.model.checkpoint.accept) == *requirement;
        match &program.ops.iter().find(is_it).expect("a kernel is an op's").kind {
            OpKind::Device(op) => op,
            _ => unreachable!("only ops of a device are launched"),
        }
    };
    let mut found: Vec<Field<'p>> = Vec::new();
    for kernel in launched(program) {
        let fixed: Vec<_> = values(&kernel).into_iter().filter(|(name, _)| !is_open(name)).collect();
        let same = |field: &&mut Field<'p>| field.kernel.template.name == kernel.template.name && field.fixed == fixed;
        let instances = names(&kernel);
        match found.iter_mut().find(same) {
            Some(known) => known.instances.extend(instances),
            None => {
                let wrapper = Wrapper::new(kernel.template, op_of(&kernel.requirement));
                found.push(Field { name: String::new(), kernel, wrapper, fixed, instances });
            }
        }
    }
    let several: Vec<bool> = found
        .iter()
        .map(|field| found.iter().filter(|other| other.kernel.template.name == field.kernel.template.name).count() > 1)
        .collect();
    for (field, several) in found.iter_mut().zip(several) {
        field.name = field.kernel.template.name.clone();
        field.instances.sort();
        field.instances.dedup();
        if several {
            let parts = field.fixed.iter().map(|(param, values)| match values.first() {
                Some(Param::Number(value)) => format!("_{}{value}", initials(param)),
                Some(Param::Name(name)) => format!("_{name}"),
                None => String::new(),
            });
            field.name.extend(parts);
        }
    }
    found
}

/// The field that runs a requirement.
pub fn field_of<'f, 'p>(fields: &'f [Field<'p>], program: &Program<'p>, requirement: &Requirement) -> &'f Field<'p> {
    let kernel = program.model.kernel(program.target, requirement);
    let template = &kernel.device.as_ref().expect("kernels of a device have templates").0;
    let launched = Launched { requirement: requirement.clone(), kernel, template };
    let fixed: Vec<_> = values(&launched).into_iter().filter(|(name, _)| !is_open(name)).collect();
    let is_it = |field: &&Field<'p>| field.kernel.template.name == template.name && same(&field.fixed, &fixed);
    fields.iter().find(is_it).expect("every kernel has a field")
}

fn same(a: &[(&str, Vec<Param>)], b: &[(&str, Vec<Param>)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((n, v), (m, w))| n == m && v == w)
}

impl Field<'_> {
    /// The type of the field.
    pub fn ty(&self) -> TokenStream {
        let name = self.wrapper.type_name();
        let params: Vec<TokenStream> =
            self.wrapper.type_params().into_iter().map(|(param, is_dtype)| self.of_type(param, is_dtype)).collect();
        if params.is_empty() { quote!(#name) } else { quote!(#name<#(#params),*>) }
    }

    fn of_type(&self, param: &str, is_dtype: bool) -> TokenStream {
        if param == "kv_dtype" {
            let name = dtype_param(param);
            return quote!(#name);
        }
        let value = self.fixed.iter().find(|(name, _)| *name == param).and_then(|(_, values)| values.first());
        match value {
            Some(Param::Number(number)) => {
                let number = int(*number as usize);
                quote!(#number)
            }
            Some(Param::Name(name)) if is_dtype => {
                let name: Ident = ident(if name == "bf16" { "Bf16" } else { "F32" });
                quote!(#name)
            }
            _ => quote!(_),
        }
    }

    fn load(&self) -> TokenStream {
        let ty = self.wrapper.type_name();
        let instances = self.instances.iter().map(|name| constant(name));
        quote!(#ty::load(device, &[#(&instances::#instances),*])?)
    }
}

/// Whether a kernel is called through [`Matmul`](super::shared), and is no field of its own.
fn is_within(field: &Field<'_>) -> bool {
    ["linear", "dequantise"].contains(&field.kernel.template.op.value.as_str())
}

/// The text of `sm_90a_kernels.rs`.
pub fn file(program: &Program<'_>) -> String {
    let fields = fields(program);
    let own: Vec<&Field<'_>> = fields.iter().filter(|field| !is_within(field)).collect();
    let generic = own.iter().any(|field| field.wrapper.type_params().iter().any(|(name, _)| *name == "kv_dtype"));
    let space = blank();
    let declared = own.iter().map(|field| {
        let (name, ty, doc) = (ident(&field.name), field.ty(), format!(" {}.", field.kernel.template.about));
        quote!(#[doc = #doc] pub #name: #ty,)
    });
    let loaded = own.iter().map(|field| {
        let (name, load) = (ident(&field.name), field.load());
        quote!(#name: #load,)
    });
    let within = |op: &str| fields.iter().find(|field| field.kernel.template.op.value == op).map(Field::load);
    let linear = within("linear").unwrap_or_else(|| quote!(unreachable!()));
    let (elements, matmul) = match within("dequantise") {
        Some(dequantise) => (
            quote!(, matrix_elements: usize),
            quote!(Matmul::new(#linear, Gemm::new(device)?, Some(#dequantise), DeviceWorkspace::new(device, matrix_elements)?)),
        ),
        None => (quote!(, _: usize), quote!(Matmul::new(#linear, Gemm::new(device)?))),
    };
    let (marker, init) = match generic {
        true => (quote!(), quote!()),
        false => (quote!(dtype: PhantomData<fn() -> D>,), quote!(dtype: PhantomData,)),
    };
    let body = quote! {
        /// Every kernel of a step, with a cache of dtype `D`.
        pub struct Kernels<D: KvDtype + DeviceElement> {
            /// Products of weights and rows.
            pub matmul: Matmul,
            #(#declared)*
            #marker
        }
        #space
        impl<D: KvDtype + DeviceElement> Kernels<D> {
            /// Loads them. The largest weight that is not stored as bf16 has so many elements.
            pub fn load(device: &Arc<Device> #elements) -> Result<Self, CudaError> {
                Ok(Self { matmul: #matmul, #(#loaded)* #init })
            }
        }
    };
    let mut imports = Imports::of(&body);
    let std = [imports.take("std::marker", ["PhantomData"]), imports.take("std::sync", ["Arc"])].into_iter().flatten();
    let runtime =
        imports.take("tenon_core::cuda", ["Bf16", "CudaError", "Device", "DeviceElement", "DeviceWorkspace", "F32", "Gemm"]);
    let dtype = imports.take("tenon_core::dtype", ["KvDtype"]);
    let types: Vec<String> = fields.iter().map(|field| field.wrapper.type_name().to_string()).collect();
    let wrappers = imports.take("super::super::kernels", types.iter().map(String::as_str).chain(["Matmul", "instances"]));
    let header = format!("{} on sm_90a: the kernels of its step.", program.model.name);
    rust(&[&header, &edit_line(&program.model.folder)], quote!(#(#std)* #space #runtime #dtype #space #wrappers #space #body))
}
