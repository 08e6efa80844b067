//! `structgen params`: what `--set` and `--params` take.

use structgen::Strategy;
use structgen::decode::params::{Parameter, find_parameters};

use crate::Outcome;
use crate::error::DONE;
use crate::output::write_line;
use crate::settings::{Settings, parameters};

/// Options of `structgen params`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The parameter to explain; without it, all are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print a JSON object for each parameter
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let table = parameters();
    let form = serde_json::to_value(Settings::default())?;
    let rows = match &args.name {
        Some(name) => find_parameters(&table, name)?,
        None => table.iter().collect(),
    };
    for row in rows {
        let default = match row.path().starts_with("options.") || row.strategy().is_some() {
            true => row.default_value(),
            false => row.value_in(&form),
        };
        let default = match &default {
            serde_json::Value::Null => "none".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            _ => default.to_string(),
        };
        if args.json {
            let line = serde_json::json!({
                "name": row.name,
                "path": row.path(),
                "values": row.kind.to_string(),
                "default": default,
                "strategies": row.honoured_by(),
                "help": row.help,
            });
            write_line(&line.to_string())?;
        } else if args.name.is_some() {
            write_line(&explain(row, &default))?;
        } else {
            write_line(&format!("{:<28} {}", row.name, row.help))?;
        }
    }
    Ok(DONE)
}

/// A paragraph about a parameter.
fn explain(row: &Parameter, default: &str) -> String {
    let honoured = row.honoured_by();
    let strategies = match honoured.len() == Strategy::NAMES.len() {
        true => "all".to_owned(),
        false => honoured.join(", "),
    };
    format!(
        "{}: {}\n  values      {}\n  default     {default}\n  in files    {}\n  strategies  {strategies}",
        row.name,
        row.help,
        row.kind,
        row.path(),
    )
}
