//! The contract of a checked spec with a checkpoint's config, without compiling it.

use tenon_compiler::model::{self, Model};
use tenon_formats::{ConfigContract, ConfigKey, Expected, IgnoredKey};

/// The contract as generated code holds it.
pub fn contract(model: &Model) -> ConfigContract<'static> {
    let keys = model.config.keys.iter().map(|(key, value)| ConfigKey::new(leak(key), expected(value)));
    let ignored = model.config.ignored.iter().map(|(key, reason)| IgnoredKey::new(leak(key), leak(reason)));
    ConfigContract {
        keys: Box::leak(keys.collect::<Vec<_>>().into_boxed_slice()),
        ignored: Box::leak(ignored.collect::<Vec<_>>().into_boxed_slice()),
    }
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn expected(value: &model::ConfigValue) -> Expected<'static> {
    use model::ConfigValue;
    match value {
        ConfigValue::Int(value) => Expected::Int(*value),
        ConfigValue::Float(value) => Expected::Float(*value),
        ConfigValue::Bool(value) => Expected::Bool(*value),
        ConfigValue::Text(value) => Expected::Text(leak(value)),
        ConfigValue::Absent => Expected::Absent,
        ConfigValue::List(names) => {
            Expected::List(Box::leak(names.iter().map(|name| leak(name)).collect::<Vec<_>>().into_boxed_slice()))
        }
        ConfigValue::AbsentOr(value) => Expected::AbsentOr(Box::leak(Box::new(expected(value)))),
        ConfigValue::Not(value, deviation) => Expected::Not(Box::leak(Box::new(expected(value))), leak(deviation)),
        ConfigValue::Each(name, count) => Expected::Each(leak(name), *count),
    }
}
