//! What is said to a command line that the parser does not take: help, or one sentence.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Error};

use crate::cli::Cli;
use crate::exit::Failure;

/// Shows what was asked for, or says what is wrong.
pub(crate) fn answer(error: &Error) -> Result<(), Failure> {
    let kind = error.kind();
    if kind == ErrorKind::DisplayHelp || kind == ErrorKind::DisplayVersion {
        return error.print().map_err(Failure::Output);
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return match error.print() {
            Ok(()) => Err(Failure::NoCommand),
            Err(source) => Err(Failure::Output(source)),
        };
    }
    Err(Failure::Usage(sentence(error, &help_command(std::env::args_os().nth(1)))))
}

/// The help that belongs to the command which was given.
fn help_command(word: Option<std::ffi::OsString>) -> String {
    let cli = Cli::command();
    match word.and_then(|word| cli.find_subcommand(word).map(|command| command.get_name())) {
        Some(name) => format!("`sleeve help {name}`"),
        None => "`sleeve help`".to_owned(),
    }
}

fn sentence(error: &Error, help: &str) -> String {
    let context = |kind| error.get(kind).map(words).unwrap_or_default();
    let arg = context(ContextKind::InvalidArg);
    let value = context(ContextKind::InvalidValue);
    let kind = error.kind();
    if kind == ErrorKind::ValueValidation {
        let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        return format!("{} cannot be \"{value}\": {reason}", flag(&arg));
    }
    if kind == ErrorKind::InvalidValue && value.is_empty() {
        return format!("{} has no value: give one after it, see {help}", flag(&arg));
    }
    if kind == ErrorKind::InvalidValue {
        let valid = context(ContextKind::ValidValue);
        return format!("{} cannot be \"{value}\": write one of {valid}", flag(&arg));
    }
    if kind == ErrorKind::MissingRequiredArgument {
        return format!("something is missing: add {arg}, see {help}");
    }
    if kind == ErrorKind::ArgumentConflict {
        return format!("{} can be given once only: remove the others", flag(&arg));
    }
    if kind == ErrorKind::UnknownArgument || kind == ErrorKind::InvalidSubcommand {
        return unknown(error, help);
    }
    // What is left has no sentence of its own here; the parser's first line has to do.
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    format!("{}: see {help}", first.strip_prefix("error: ").unwrap_or(first))
}

fn unknown(error: &Error, help: &str) -> String {
    let context = |kind| error.get(kind).map(words).unwrap_or_default();
    let command = context(ContextKind::InvalidSubcommand);
    let arg = context(ContextKind::InvalidArg);
    let (what, similar) = if !command.is_empty() {
        (format!("there is no command \"{command}\""), context(ContextKind::SuggestedSubcommand))
    } else if arg.starts_with('-') {
        (format!("there is no flag {arg}"), context(ContextKind::SuggestedArg))
    } else {
        (format!("\"{arg}\" belongs to no flag"), String::new())
    };
    if similar.is_empty() {
        format!("{what}: see {help}")
    } else {
        format!("{what}: write {similar} if that is meant, or see {help}")
    }
}

/// The flag alone, without the word that stands for its value.
fn flag(arg: &str) -> &str {
    arg.split_once(' ').map_or(arg, |(flag, _)| flag)
}

fn words(value: &ContextValue) -> String {
    match value {
        ContextValue::String(word) => word.clone(),
        ContextValue::Strings(words) => words.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => {
            texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        ContextValue::Bool(value) => value.to_string(),
        ContextValue::Number(value) => value.to_string(),
        ContextValue::None | _ => String::new(),
    }
}
