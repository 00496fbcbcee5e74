//! Where a setting of `serve` comes from: a flag, else the environment, else a file, else its default. There is one way for all of
//! them: what the environment and the file say is read as if it stood on the command line, by the same parser.

mod file;
mod print;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::Failure;
use crate::cli::ServeArgs;

/// What a variable begins with: behind it stands the flag, in capitals, with `_` in place of `-`.
const PREFIX: &str = "TENON_SERVER_";
/// An API key. It is in no file and on no command line, which others can read.
pub const API_KEY: &str = "TENON_API_KEY";
/// The setting without a flag.
const MODEL: &str = "model";
/// Flags that are about settings, and none themselves.
const NO_SETTING: [&str; 3] = ["config", "print_config", "help"];

/// Variables of the environment.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Self {
        let known = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        Self(std::env::vars_os().filter_map(known).filter(|(name, _)| name.starts_with(PREFIX) || name == API_KEY).collect())
    }

    /// A variable. One that is empty counts as not set, since that is how scripts leave something out.
    fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(name).filter(|value| !value.is_empty())
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The command line.
    Flag,
    /// This variable.
    Environment(String),
    /// This file.
    File(String),
    /// The program.
    Default,
    /// Nobody has said anything; what happens then.
    Nobody(String),
}

/// One setting, as texts that its flag takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of its flag.
    pub name: String,
    /// Its value, or several where it may be given several times.
    pub values: Vec<OsString>,
    /// A list, also where it has one value.
    pub list: bool,
    /// Where they come from.
    pub from: From,
}

/// All settings of a server, in the order of `--help`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    all: Vec<Setting>,
    /// The environment has an API key.
    key_in_environment: bool,
}

/// The arguments of `serve`, with what the command line does not say from the environment and the file.
///
/// # Errors
/// A file that cannot be read, a key that does not exist, and a value that its flag would not take: each names where it stands.
pub fn settle(given: &ArgMatches, environment: &Environment) -> Result<ServeArgs, Failure> {
    let command = ServeArgs::augment_args(clap::Command::new("serve").no_binary_name(true));
    let path = given.get_one::<std::path::PathBuf>("config").cloned();
    let path = path.or_else(|| environment.get(&variable("config")).map(Into::into));
    let mut file = path.as_deref().map(file::read).transpose()?.unwrap_or_default();
    let path = path.as_deref().map(Path::display).map(|path| path.to_string()).unwrap_or_default();

    let mut settings = Settings { all: Vec::new(), key_in_environment: environment.get(API_KEY).is_some() };
    let arguments: Vec<&Arg> = command.get_arguments().filter(|arg| !NO_SETTING.contains(&arg.get_id().as_str())).collect();
    for arg in &arguments {
        let name = name(arg);
        let in_file = file.remove(name);
        let setting = setting(arg, given, environment, in_file.map(|values| (path.clone(), values)))?;
        check(&command, arg, &setting)?;
        settings.all.push(setting);
    }
    let names: Vec<&str> = arguments.iter().map(|arg| name(arg)).collect();
    if let Some(unknown) = file.keys().next() {
        return Err(format!("{path}: there is no setting `{unknown}`{}", suggestion(unknown, &names)).into());
    }
    for unknown in unknown_variables(environment, &names) {
        eprintln!("note: {unknown}");
    }

    // What stands without a flag comes last.
    let (model, flags): (Vec<&Setting>, Vec<&Setting>) = settings.all.iter().partition(|setting| setting.name == MODEL);
    let line: Vec<OsString> = flags.into_iter().chain(model).flat_map(words).collect();
    let matches = command.try_get_matches_from(line)?;
    let mut args = ServeArgs::from_arg_matches(&matches)?;
    args.config = given.get_one::<std::path::PathBuf>("config").cloned();
    args.print_config = given.get_flag("print_config");
    args.settings = settings;
    Ok(args)
}

/// The name of a setting: that of its flag, and `model` for what stands without one.
fn name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

fn setting(
    arg: &Arg,
    given: &ArgMatches,
    environment: &Environment,
    in_file: Option<(String, file::Values)>,
) -> Result<Setting, Failure> {
    let name = name(arg);
    let id = arg.get_id().as_str();
    let list = matches!(arg.get_action(), ArgAction::Append);
    let raw = || given.get_raw(id).map(|values| values.map(OsString::from).collect()).unwrap_or_default();
    let of = |values, from| Ok(Setting { name: name.to_owned(), values, list, from });
    if given.value_source(id) == Some(ValueSource::CommandLine) {
        return of(raw(), From::Flag);
    }
    let variable = variable(name);
    if let Some(value) = environment.get(&variable) {
        let values = match value.to_str() {
            Some(text) if list => text.split(',').map(|value| value.trim().into()).collect(),
            _ => vec![value.clone()],
        };
        return of(values, From::Environment(variable));
    }
    if let Some((path, values)) = in_file {
        if values.list && !list {
            return Err(format!("{path}: `{name}` takes one value, and is a list").into());
        }
        return of(values.texts.into_iter().map(OsString::from).collect(), From::File(path));
    }
    match given.value_source(id) {
        Some(ValueSource::DefaultValue) => of(raw(), From::Default),
        _ => {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let default = help.split_once("[default: ").and_then(|(_, rest)| rest.strip_suffix(']'));
            of(Vec::new(), From::Nobody(default.unwrap_or("none").to_owned()))
        }
    }
}

/// Reads one setting alone, so that an error can say where it stands.
fn check(command: &clap::Command, arg: &Arg, setting: &Setting) -> Result<(), Failure> {
    let place = match &setting.from {
        From::Environment(variable) => variable.clone(),
        From::File(path) => format!("{path}: `{}`", name(arg)),
        // The command line has been read, and so have defaults.
        From::Flag | From::Default | From::Nobody(_) => return Ok(()),
    };
    command.clone().try_get_matches_from(words(setting)).map(drop).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        // The parser puts what may stand there on lines of its own.
        let possible = text.lines().map(str::trim).find(|line| line.starts_with("[possible values"));
        format!("{place}: {first}{}", possible.map(|line| format!(" {line}")).unwrap_or_default()).into()
    })
}

/// A setting as words of a command line.
fn words(setting: &Setting) -> Vec<OsString> {
    let word = |value: &OsString| {
        let mut word = OsString::from(format!("--{}=", setting.name));
        word.push(value);
        word
    };
    match setting.name.as_str() {
        MODEL => setting.values.iter().flat_map(|value| ["--".into(), value.clone()]).collect(),
        _ => setting.values.iter().map(word).collect(),
    }
}

/// Variables that look like settings. They are no errors: a variable may be somebody else's, as those that Kubernetes sets for a
/// service of this name.
fn unknown_variables(environment: &Environment, names: &[&str]) -> Vec<String> {
    let known: Vec<String> = names.iter().copied().chain(["config"]).map(variable).collect();
    let unknown = environment.0.keys().filter(|name| name.starts_with(PREFIX) && !known.contains(name));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    unknown.map(|name| format!("{name} is set, and is no setting{}", suggestion(name, &known))).collect()
}

/// What may have been meant.
fn suggestion(unknown: &str, names: &[&str]) -> String {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let distance = |name: &&&str| strsim::damerau_levenshtein(&plain(unknown), &plain(name));
    match names.iter().min_by_key(distance) {
        Some(near) if distance(&near) <= 3.min(unknown.len() / 2) => format!("; did you mean `{near}`?"),
        _ => "; --print-config shows all".to_owned(),
    }
}

#[cfg(test)]
mod tests;
