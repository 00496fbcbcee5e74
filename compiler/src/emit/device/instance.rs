//! Instances: a template at the parameters that a model asks for, its name, and its CUDA text.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::binding::BUCKET;
use crate::model::{Kernel, ParamSet, Requirement};
use crate::program::{OpKind, Program};
use crate::spec::TemplateSpec;

/// The value of a compile-time parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Param {
    /// A number.
    Number(u64),
    /// A name.
    Name(String),
}

/// A kernel of a program with its template, each op at its dimensions once.
pub struct Launched<'p> {
    /// What asks for it.
    pub requirement: Requirement,
    /// What was selected.
    pub kernel: &'p Kernel,
    /// The template.
    pub template: &'p TemplateSpec,
}

/// An instance of a template.
#[derive(Clone, Debug)]
pub struct Instance<'p> {
    /// `rms_norm_f32_d1024`
    pub name: String,
    /// The template.
    pub template: &'p TemplateSpec,
    /// Its compile-time parameters, in the order of TEMPLATE.toml.
    pub params: Vec<(&'p str, Param)>,
    /// Most bytes of dynamic shared memory of a launch.
    pub shared_bytes: u64,
    /// The models that launch it.
    pub models: BTreeSet<String>,
}

/// The kernels that a program launches.
pub fn launched<'p>(program: &Program<'p>) -> Vec<Launched<'p>> {
    let mut found: Vec<Launched<'p>> = Vec::new();
    for op in program.ops.iter().filter(|op| matches!(op.kind, OpKind::Device(_))) {
        let requirement = op.requirement(&program.model.checkpoint.accept);
        if found.iter().any(|known| known.requirement == requirement) {
            continue;
        }
        let kernel = program.model.kernel(program.target, &requirement);
        if let Some(template) = &kernel.device {
            found.push(Launched { requirement, kernel, template: &template.0 });
        }
    }
    found
}

/// The values of each compile-time parameter, in the order of TEMPLATE.toml: one, or one for each format, dtype or bucket.
pub fn values<'p>(launched: &Launched<'p>) -> Vec<(&'p str, Vec<Param>)> {
    let compiled = launched.template.params.iter().filter(|(_, rule)| rule.value.is_compiled());
    compiled
        .map(|(name, rule)| {
            let name = name.value.as_str();
            let numbers = |list: &[crate::source::Spanned<u64>]| list.iter().map(|n| Param::Number(n.value)).collect();
            let values = match launched.requirement.params.iter().find(|(param, _)| *param == name) {
                Some((_, ParamSet::Int(value))) => vec![Param::Number(*value)],
                Some((_, ParamSet::Names(names))) => names.iter().map(|name| Param::Name((*name).to_owned())).collect(),
                None => match (&rule.value.bucket, launched.kernel.tuned.iter().find(|(tuned, _)| tuned == name)) {
                    (Some(bucket), _) => numbers(&bucket.value),
                    (None, Some((_, value))) => vec![Param::Number(*value)],
                    (None, None) => Vec::new(),
                },
            };
            (name, values)
        })
        .collect()
}

/// Whether a parameter has several values in one model: which is taken is known when weights are loaded, or rows are launched.
pub fn is_open(name: &str) -> bool {
    name == "format" || name == "kv_dtype" || name == BUCKET
}

/// Every instance of these programs, by name.
pub fn instances<'p>(models: &[Vec<Program<'p>>]) -> BTreeMap<String, Instance<'p>> {
    let mut all: BTreeMap<String, Instance<'p>> = BTreeMap::new();
    for program in models.iter().flatten() {
        for launched in launched(program) {
            for params in combinations(&values(&launched)) {
                let name = name(launched.template, &params);
                let shared_bytes = launched.kernel.launch.map_or(0, |launch| launch.shared_bytes);
                let instance = all.entry(name.clone()).or_insert_with(|| Instance {
                    name,
                    template: launched.template,
                    params,
                    shared_bytes,
                    models: BTreeSet::new(),
                });
                instance.shared_bytes = instance.shared_bytes.max(shared_bytes);
                instance.models.insert(program.model.name.clone());
            }
        }
    }
    all
}

/// The names of the instances of one kernel.
pub fn names(launched: &Launched<'_>) -> Vec<String> {
    combinations(&values(launched)).iter().map(|params| name(launched.template, params)).collect()
}

/// Every choice of one value per parameter.
fn combinations<'p>(values: &[(&'p str, Vec<Param>)]) -> Vec<Vec<(&'p str, Param)>> {
    values.iter().fold(vec![Vec::new()], |chosen, (name, values)| {
        let with = |so_far: &Vec<(&'p str, Param)>| {
            values.iter().map(|value| so_far.iter().cloned().chain([(*name, value.clone())]).collect()).collect::<Vec<_>>()
        };
        chosen.iter().flat_map(with).collect()
    })
}

/// `rms_norm_f32_d1024`: names as they are, numbers after the initials of their names.
pub fn name(template: &TemplateSpec, params: &[(&str, Param)]) -> String {
    params.iter().fold(template.name.clone(), |name, (param, value)| match value {
        Param::Name(value) => format!("{name}_{value}"),
        Param::Number(value) => format!("{name}_{}{value}", initials(param)),
    })
}

/// `hd` of `head_dim`.
pub fn initials(param: &str) -> String {
    param.split('_').filter_map(|word| word.chars().next()).collect()
}

/// The environment in which CUDA templates are rendered: an unknown name is an error, and delimiters are none of C++.
pub fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .variable_delimiters("@{", "}@")
        .block_delimiters("@%", "%@")
        .comment_delimiters("@#", "#@")
        .build()
        .expect("the delimiters differ");
    environment.set_syntax(syntax);
    environment
}

/// Renders the code of a template with some value for every name that an instance has.
///
/// # Errors
/// What cannot be rendered: a name that no instance has, most often.
pub fn trial(template: &TemplateSpec, text: &str) -> Result<(), minijinja::Error> {
    let compiled = template.params.iter().filter(|(_, rule)| rule.value.is_compiled());
    let value = |rule: &crate::spec::ParamRule| match &rule.one_of {
        Some(names) => Value::from(names.first().map_or("", |name| name.value.as_str())),
        None => Value::from(1),
    };
    let context: BTreeMap<&str, Value> = compiled
        .map(|(name, rule)| (name.value.as_str(), value(&rule.value)))
        .chain([("instance", Value::from(template.name.as_str()))])
        .collect();
    environment().render_str(text, context).map(|_| ())
}

/// The CUDA text of an instance.
pub fn cuda(instance: &Instance<'_>) -> String {
    let number = |param: &Param| match param {
        Param::Number(value) => Value::from(*value),
        Param::Name(value) => Value::from(value.as_str()),
    };
    let context: BTreeMap<&str, Value> = instance
        .params
        .iter()
        .map(|(name, value)| (*name, number(value)))
        .chain([("instance", Value::from(instance.name.as_str()))])
        .collect();
    let source = instance.template.source.as_ref().map_or("", |(_, text)| text);
    // `check` has rendered the text with these names.
    let body = environment().render_str(source, context).unwrap_or_else(|e| format!("#error \"{e}\"\n"));
    let models: Vec<&str> = instance.models.iter().map(String::as_str).collect();
    let template = &instance.template.name;
    format!(
        "// {}. Used by {}.\n// Generated from kernel-templates/{template}/{template}.cu.jinja; edit that, then `cargo build`.\n{}\n",
        instance.template.about,
        models.join(", "),
        body.trim_end()
    )
}
