//! Parses the program's arguments.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use crate::error::{DONE, Failure};
use crate::settings::parameters;

/// Parses the arguments. One that begins with a minus sign and contains a space is a text, unless it is an option.
pub(crate) fn parse(command: impl Fn() -> Command) -> Result<ArgMatches, clap::Error> {
    command().try_get_matches().or_else(|error| {
        match error.kind() {
            // The error about a misspelt option is that of the first attempt, which has suggestions.
            ErrorKind::UnknownArgument => {
                { with_minus_texts(command()).try_get_matches() }.map_err(|_| with_parameter(error))
            }
            _ => Err(error),
        }
    })
}

/// Suggests the parameter that has the name of an unknown flag, if the command has parameters.
fn with_parameter(mut error: clap::Error) -> clap::Error {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let flag = text(ContextKind::InvalidArg).unwrap_or_default();
    let usage = text(ContextKind::Usage).unwrap_or_default();
    let name = flag.trim_start_matches('-').replace('-', "_");
    let rows = parameters();
    let mut named = rows.iter().map(|row| row.name).filter(|own| {
        let last = own.rsplit('.').next();
        *own == name || last == Some(&name)
    });
    let has_parameters = ["generate", "extract"]
        .iter()
        .any(|command| usage.contains(command));
    if let Some(own) = named
        .next()
        .filter(|_| has_parameters && flag.starts_with("--"))
    {
        let tip = StyledStr::from(format!(
            "'--set {own}=VALUE' sets this; see 'structgen params {own}'"
        ));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Lets texts begin with a minus sign.
fn with_minus_texts(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.is_positional() && arg.get_id() == "text" {
        true => arg.allow_hyphen_values(true).value_parser(text),
        false => arg,
    });
    command.mut_subcommands(with_minus_texts)
}

fn text(argument: &str) -> Result<String, &'static str> {
    let (word, rest) = match argument.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, Some(rest)),
        None => (argument, None),
    };
    // A value with a space may follow the equals sign of a misspelt option.
    let may_be_option = rest.is_none() || word.contains('=');
    match argument.starts_with('-') && argument != "-" && may_be_option {
        true => Err("it is an option"),
        false => Ok(argument.to_owned()),
    }
}

/// Prints help, the version or an error of usage.
pub(crate) fn report(message: &clap::Error) -> ExitCode {
    if message.use_stderr() {
        message.exit();
    }
    match message.print().and_then(|()| io::stdout().flush()) {
        Ok(()) => DONE,
        Err(error) => Failure::from(error).report(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_minus_sign_has_a_space_before_any_equals_sign() {
        for argument in ["a", "-", "-5 degrees", "--five degrees", "- x = y"] {
            assert_eq!(text(argument).as_deref(), Ok(argument));
        }
        for argument in ["-x", "--spanz", "--shcema=a b", "-s=a b"] {
            assert!(text(argument).is_err(), "{argument}");
        }
    }
}
