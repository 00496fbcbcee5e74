//! Instances: a template at fixed parameters, rendered.

use std::collections::BTreeMap;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use tenon_device_cases::{Param, Params};

use crate::template::{Choices, Template};

/// A template at fixed parameters.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Which template, by index.
    pub template: usize,
    /// The parameters, in order.
    pub params: Params,
}

impl Instance {
    /// Every instance that `instances.toml` asks for: for each template tables of parameters, of which lists are multiplied out. What a
    /// table does not state is all names, all buckets and the first value of what can be tuned. `only` names templates; none means all.
    pub fn listed(templates: &[Template], file: &Path, only: &[String]) -> Result<Vec<Self>, String> {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let lists: toml::Table = toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        if let Some(stranger) = lists.keys().find(|name| !templates.iter().any(|t| t.name == **name)) {
            return Err(format!("{}: there is no template `{stranger}`", file.display()));
        }
        let mut all: Vec<Self> = Vec::new();
        let wanted = |template: &&Template| only.is_empty() || only.contains(&template.name);
        for (index, template) in templates.iter().enumerate().filter(|(_, template)| wanted(template)) {
            let none = toml::Value::Array(vec![toml::Value::Table(toml::Table::new())]);
            let tables = lists.get(&template.name).unwrap_or(&none);
            for table in tables.as_array().ok_or_else(|| format!("[[{}]] is an array of tables", template.name))? {
                for params in product(template, table)? {
                    let name = name(&template.name, &params);
                    if !all.iter().any(|known| known.name == name) {
                        all.push(Self { name, template: index, params });
                    }
                }
            }
        }
        Ok(all)
    }

    /// The instances whose CUDA text stands in a folder, by their names; none where there is no such folder.
    pub fn of_models(templates: &[Template], folder: &Path, only: &[String]) -> Result<Vec<Self>, String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cu")?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        let mut all = Vec::new();
        for name in names {
            let found = templates.iter().enumerate().find_map(|(i, template)| Some((i, template, parse(template, &name)?)));
            let (index, template, params) = found.ok_or_else(|| format!("{name} is an instance of no template"))?;
            if only.is_empty() || only.contains(&template.name) {
                all.push(Self { name, template: index, params });
            }
        }
        Ok(all)
    }

    /// The instance of a template that a name spells.
    pub fn parse(template: &Template, name: &str) -> Option<Self> {
        Some(Self { name: name.to_owned(), template: 0, params: parse(template, name)? })
    }

    /// Its CUDA source.
    pub fn render(&self, template: &Template) -> Result<String, String> {
        let path = template.folder.join(format!("{}.cu.jinja", template.name));
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let syntax = SyntaxConfig::builder()
            .variable_delimiters("@{", "}@")
            .block_delimiters("@%", "%@")
            .comment_delimiters("@#", "#@")
            .build()
            .map_err(|e| e.to_string())?;
        let mut environment = Environment::new();
        environment.set_syntax(syntax);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut values = BTreeMap::from([("instance".to_owned(), minijinja::Value::from(self.name.clone()))]);
        for (name, param) in &self.params.0 {
            let value = match param {
                Param::Int(n) => minijinja::Value::from(*n),
                Param::Name(n) => minijinja::Value::from(n.clone()),
            };
            values.insert(name.clone(), value);
        }
        environment.render_str(&text, minijinja::Value::from_pairs(values)).map_err(|e| format!("{}: {e:#}", path.display()))
    }

    /// What its manifest must say.
    pub fn manifest(&self) -> Vec<u32> {
        self.params
            .0
            .iter()
            .map(|(_, param)| match param {
                Param::Int(n) => *n as u32,
                Param::Name(name) => {
                    name.bytes().fold(2_166_136_261, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
                }
            })
            .collect()
    }
}

fn product(template: &Template, table: &toml::Value) -> Result<Vec<Params>, String> {
    let mut all = vec![Params::default()];
    for (name, choices) in &template.params {
        let values: Vec<Param> = match (table.get(name), choices) {
            (Some(toml::Value::Array(list)), _) => list.iter().map(param).collect::<Result<_, _>>()?,
            (Some(value), _) => vec![param(value)?],
            (None, Choices::Names(names)) => names.iter().cloned().map(Param::Name).collect(),
            (None, Choices::Bucket(rows)) => rows.iter().copied().map(Param::Int).collect(),
            (None, Choices::Tunable(values)) => values.first().copied().map(Param::Int).into_iter().collect(),
            (None, Choices::Dimension) => return Err(format!("[[{}]] does not state `{name}`", template.name)),
        };
        all = all
            .iter()
            .flat_map(|params| {
                values.iter().map(|value| {
                    let mut params = params.clone();
                    params.0.push((name.clone(), value.clone()));
                    params
                })
            })
            .collect();
    }
    Ok(all)
}

fn param(value: &toml::Value) -> Result<Param, String> {
    match value {
        toml::Value::Integer(n) => Ok(Param::Int(*n as u64)),
        toml::Value::String(name) => Ok(Param::Name(name.clone())),
        other => Err(format!("{other:?} is neither a number nor a name")),
    }
}

/// The parameters that a name spells.
fn parse(template: &Template, name: &str) -> Option<Params> {
    let mut rest = name.strip_prefix(&template.name)?;
    let mut params = Params::default();
    for (param, choices) in &template.params {
        rest = rest.strip_prefix('_')?;
        let value = if let Choices::Names(names) = choices {
            // The longest: one name may begin with another.
            let fits = |name: &&String| rest.strip_prefix(name.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('_'));
            let name = names.iter().filter(fits).max_by_key(|name| name.len())?;
            rest = &rest[name.len()..];
            Param::Name(name.clone())
        } else {
            rest = rest.strip_prefix(initials(param).as_str())?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let value = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            Param::Int(value)
        };
        params.0.push((param.clone(), value));
    }
    rest.is_empty().then_some(params)
}

fn initials(param: &str) -> String {
    param.split('_').filter_map(|word| word.chars().next()).collect()
}

/// Template, then the parameters: a name as it is, a number after the initials of what it counts.
fn name(template: &str, params: &Params) -> String {
    let mut name = template.to_owned();
    for (param, value) in &params.0 {
        name.push('_');
        match value {
            Param::Name(text) => name.push_str(text),
            Param::Int(n) => {
                name.push_str(&initials(param));
                name.push_str(&n.to_string());
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn every_name_is_read_back() {
        let templates = Template::all(&root().join("kernel-templates")).unwrap();
        let listed = Instance::listed(&templates, &root().join("tests/device/instances.toml"), &[]).unwrap();
        assert!(listed.len() > 300, "{}", listed.len());
        for instance in listed {
            let params = parse(&templates[instance.template], &instance.name).unwrap_or_else(|| panic!("{}", instance.name));
            assert_eq!(format!("{params:?}"), format!("{:?}", instance.params), "{}", instance.name);
        }
    }

    #[test]
    fn instances_of_models_render_as_they_were_emitted() {
        let templates = Template::all(&root().join("kernel-templates")).unwrap();
        let folder = root().join("generated/kernels/sm_90a");
        let instances = Instance::of_models(&templates, &folder, &[]).unwrap();
        assert!(instances.len() > 100, "{}", instances.len());
        for instance in instances {
            let emitted = std::fs::read_to_string(folder.join(format!("{}.cu", instance.name))).unwrap();
            let rendered = instance.render(&templates[instance.template]).unwrap();
            assert!(emitted.trim_end().ends_with(rendered.trim()), "{}: the tests would compile another text", instance.name);
        }
    }
}
