//! Parses the program's arguments.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use structgen::decode::params::Parameter;

use crate::error::{DONE, Failure};
use crate::settings::{parameters, scope};

/// Parses the arguments. One that begins with a minus sign and contains a space is a text, unless it is an option.
pub(crate) fn parse(command: impl Fn() -> Command) -> Result<ArgMatches, clap::Error> {
    command().try_get_matches().or_else(|error| {
        match error.kind() {
            // The error about a misspelt option is that of the first attempt, which has suggestions.
            ErrorKind::UnknownArgument => { with_minus_texts(command()).try_get_matches() }
                .map_err(|_| with_parameters(error)),
            _ => Err(error),
        }
    })
}

/// Suggests the parameters of the command that have the name of an unknown flag.
fn with_parameters(mut error: clap::Error) -> clap::Error {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let flag = text(ContextKind::InvalidArg).unwrap_or_default();
    let usage = text(ContextKind::Usage).unwrap_or_default();
    let Some(name) = flag.strip_prefix("--").map(|name| name.replace('-', "_")) else {
        return error;
    };
    let is_named = |row: &Parameter| row.name.rsplit('.').next() == Some(&name);
    let is_for =
        |row: &Parameter| { usage.split_whitespace() }.any(|command| scope(row).includes(command));
    let rows = parameters();
    let tips = { rows.iter() }
        .filter(|row| is_named(row) && is_for(row))
        .map(|row| {
            StyledStr::from(format!(
                "'--set {0}=VALUE' sets {0}: {1}",
                row.name, row.help
            ))
        });
    let tips: Vec<StyledStr> = tips.collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
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
