//! TEMPLATE.toml of a GPU's kernel, as far as a launch needs it. That it is right is the compiler's check.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenon_compiler::expr::{Dim, Expr};
use tenon_device_cases::{Param, Params};
use tenon_formats::StorageFormat;

/// One template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its folder.
    pub folder: PathBuf,
    /// The folder's name.
    pub name: String,
    /// Compile-time parameters in the order that names an instance, with what they may be.
    pub params: Vec<(String, Choices)>,
    /// `[launch]`
    pub launch: Launch,
    /// `[[arg]]`
    pub args: Vec<Arg>,
    /// `[cost]`
    pub cost: Cost,
    /// `[numerics] class`
    pub class: String,
    /// Bytes of local memory that a thread may use.
    pub max_spill_bytes: u64,
}

/// What a compile-time parameter may be.
#[derive(Clone, Debug)]
pub enum Choices {
    /// One of these names.
    Names(Vec<String>),
    /// One of these numbers, the default first.
    Tunable(Vec<u64>),
    /// One instance for each of these numbers of rows.
    Bucket(Vec<u64>),
    /// A dimension of a model.
    Dimension,
}

/// `[launch]`
#[derive(Clone, Debug, Deserialize)]
pub struct Launch {
    /// Blocks.
    pub grid: Vec<Size>,
    /// Threads.
    pub block: Vec<Size>,
    /// Dynamic shared memory.
    pub shared_bytes: Size,
    /// Starts before the previous kernel has ended.
    #[serde(default)]
    pub overlaps: bool,
}

/// `[[arg]]`
#[derive(Clone, Debug, Deserialize)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Its type in C++.
    #[serde(rename = "type")]
    pub ty: String,
}

/// `[cost]`
#[derive(Clone, Debug, Deserialize)]
pub struct Cost {
    /// Bytes that must be moved.
    pub bytes: Size,
    /// Operations.
    pub flops: Size,
}

/// A number or an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Size {
    /// A number.
    Number(u64),
    /// An expression.
    Text(String),
}

#[derive(Deserialize)]
struct File {
    target: String,
    #[serde(default)]
    max_spill_bytes: u64,
    params: Option<toml::Table>,
    launch: Option<Launch>,
    #[serde(default)]
    arg: Vec<Arg>,
    cost: Cost,
    numerics: Numerics,
}

#[derive(Deserialize)]
struct Numerics {
    class: String,
}

impl Template {
    /// Reads a folder. `None` for a kernel of another target.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join("TEMPLATE.toml");
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        if file.target != "sm_90a" {
            return Ok(None);
        }
        // In the order of the file, which a table does not keep: by where the name first stands in `[params]`.
        let mut params: Vec<(String, Choices)> = Vec::new();
        let table = file.params.unwrap_or_default();
        let body = text.split_once("[params]").map_or("", |(_, rest)| rest);
        let mut names: Vec<&String> = table.keys().collect();
        names.sort_by_key(|name| {
            body.lines().position(|l| l.split('=').next().is_some_and(|key| key.trim() == name.as_str())).unwrap_or(usize::MAX)
        });
        for name in names {
            let value = &table[name];
            let numbers = |key: &str| -> Option<Vec<u64>> {
                let list = value.get(key)?.as_array()?;
                Some(list.iter().filter_map(|n| n.as_integer()).map(|n| n as u64).collect())
            };
            let choices = if let Some(list) = value.as_array() {
                Choices::Names(list.iter().filter_map(|n| n.as_str()).map(str::to_owned).collect())
            } else if value.get("at").is_some() {
                continue;
            } else if let Some(list) = numbers("bucket") {
                Choices::Bucket(list)
            } else if let Some(list) = numbers("tunable") {
                Choices::Tunable(list)
            } else {
                Choices::Dimension
            };
            params.push((name.clone(), choices));
        }
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let launch = file.launch.ok_or_else(|| format!("{}: no [launch]", path.display()))?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            name,
            params,
            launch,
            args: file.arg,
            cost: file.cost,
            class: file.numerics.class,
            max_spill_bytes: file.max_spill_bytes,
        }))
    }

    /// Every template for the GPU.
    pub fn all(templates: &Path) -> Result<Vec<Self>, String> {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(templates)
            .map_err(|e| format!("{}: {e}", templates.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.join("TEMPLATE.toml").exists())
            .collect();
        folders.sort();
        folders.iter().filter_map(|folder| Self::read(folder).transpose()).collect()
    }
}

impl Size {
    /// Its value for the parameters of an instance and the dimensions of a launch.
    pub fn value(&self, params: &Params, dims: &[(&'static str, u64)]) -> Result<f64, String> {
        let text = match self {
            Self::Number(n) => return Ok(*n as f64),
            Self::Text(text) => text,
        };
        let expr = Expr::parse(text).map_err(|e| format!("`{text}`: {e}"))?;
        let dim = |name: &str| -> Option<Dim> {
            if let Some((_, value)) = dims.iter().find(|(n, _)| *n == name) {
                return Some(Dim::Int(*value));
            }
            match params.0.iter().find(|(n, _)| n == name)? {
                (_, Param::Int(value)) => Some(Dim::Int(*value)),
                (_, Param::Name(name)) => StorageFormat::parse(name).map(Dim::from),
            }
        };
        expr.eval_f64(&dim).map_err(|e| format!("`{text}`: {e}"))
    }

    /// The same as a whole number.
    pub fn whole(&self, params: &Params, dims: &[(&'static str, u64)]) -> Result<u32, String> {
        let value = self.value(params, dims)?;
        if value.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&value) {
            return Err(format!("{self:?} is {value}"));
        }
        Ok(value as u32)
    }
}
