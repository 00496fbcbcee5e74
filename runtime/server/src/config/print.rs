//! Settings as a file that `--config` reads.

use std::ffi::OsStr;
use std::fmt;

use super::{API_KEY, From, Setting, Settings};

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<(String, String)> = self.all.iter().map(line).collect();
        let width = lines.iter().map(|(line, _)| line.chars().count()).filter(|&width| width <= 48).max().unwrap_or_default();
        for (line, from) in lines {
            writeln!(f, "{line:width$}  # {from}")?;
        }
        if self.key_in_environment {
            writeln!(f, "# {API_KEY} is set, and is not shown; a file has no key")?;
        }
        Ok(())
    }
}

fn line(setting: &Setting) -> (String, String) {
    let name = &setting.name;
    let from = match &setting.from {
        From::Flag => "flag".to_owned(),
        From::Environment(variable) => format!("environment, {variable}"),
        // On one line, whatever it is called.
        From::File(path) => format!("file, {}", path.escape_debug()),
        From::Default => "default".to_owned(),
        From::Nobody(what) => return (format!("# {name} ="), format!("not set: {what}")),
    };
    let values: Vec<String> = setting.values.iter().map(|value| literal(value)).collect();
    let value = match (setting.list, values.as_slice()) {
        (false, [one]) => one.clone(),
        _ => format!("[{}]", values.join(", ")),
    };
    (format!("{name} = {value}"), from)
}

/// A value as TOML has it: numbers and truth values as such, since that is how one would write them.
fn literal(value: &OsStr) -> String {
    let text = value.to_string_lossy();
    let plain_number = text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
        || text.parse::<f64>().is_ok_and(|number| text.contains('.') && number.is_finite() && number.to_string() == text);
    if plain_number || text == "true" || text == "false" { text.into_owned() } else { quoted(&text) }
}

/// A basic string of TOML, on one line: what breaks a line would end the value, and a comment behind it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
