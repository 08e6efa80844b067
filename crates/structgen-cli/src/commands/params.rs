//! `structgen params`: what `--set` and `--params` accept.

use structgen::Strategy;
use structgen::TaskPreset;
use structgen::decode::params::{Parameter, find_parameters};
use structgen::decode::samplers::{TASK_GUIDES, TaskGuide};

use crate::Outcome;
use crate::error::DONE;
use crate::output::write_line;
use crate::settings::{Scope, Settings, parameters, scope};

/// Options of `structgen params`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Parameter to explain [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// List which values suit which task, and what --task sets
    #[arg(long, conflicts_with = "name")]
    tasks: bool,
    /// Print one JSON object per parameter or task
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.tasks {
        return tasks(args.json);
    }
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
                "applies_to": scope(row).to_string(),
                "strategies": row.honoured_by(),
                "tasks": guides(row).into_iter().collect::<serde_json::Map<_, _>>(),
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

/// Explains a parameter in a paragraph.
fn explain(row: &Parameter, default: &str) -> String {
    let honoured = row.honoured_by();
    let strategies = match honoured.len() == Strategy::NAMES.len() {
        true => "all".to_owned(),
        false => honoured.join(", "),
    };
    let mut text = format!(
        "{}: {}\n  values      {}\n  default     {default}\n  in files    {}\n  strategies  {strategies}",
        row.name,
        row.help,
        row.kind,
        row.path(),
    );
    let tasks = guides(row).into_iter();
    let tasks: Vec<String> = tasks
        .map(|(task, range)| format!("{task} {}", range.as_str().unwrap_or_default()))
        .collect();
    if scope(row) != Scope::Request {
        text.push_str(&format!("\n  applies to  {}", scope(row)));
    }
    if !tasks.is_empty() {
        text.push_str(&format!("\n  tasks       {}", tasks.join(", ")));
    }
    text
}

/// Returns which values of a parameter suit which task.
fn guides(row: &Parameter) -> Vec<(String, serde_json::Value)> {
    let range = |guide: &TaskGuide| {
        let mut ranges = guide.ranges();
        let (_, range) = ranges.find(|(name, _)| *name == row.name)?;
        Some((guide.task.to_owned(), range.to_string().into()))
    };
    TASK_GUIDES.iter().filter_map(range).collect()
}

/// Prints the ranges of all tasks, and the values that `--task` sets within them.
fn tasks(json: bool) -> Outcome {
    const COLUMNS: [&str; 5] = [
        "temperature",
        "top_k",
        "top_p",
        "repetition_penalty",
        "frequency_penalty",
    ];
    if json {
        for guide in TASK_GUIDES {
            let line = serde_json::json!({
                "task": guide.task,
                "about": guide.about,
                "ranges": guide.ranges().collect::<std::collections::BTreeMap<_, _>>(),
            });
            write_line(&line.to_string())?;
        }
        return Ok(DONE);
    }
    let row = |task: &str, cells: [String; 5], about: &str| {
        let [temperature, top_k, top_p, repetition, frequency] = cells;
        let line = format!(
            "{task:<12} {temperature:<12} {top_k:<8} {top_p:<10} {repetition:<11} {frequency:<10} {about}"
        );
        write_line(line.trim_end())
    };
    let heads = ["temperature", "top_k", "top_p", "repetition", "frequency"].map(str::to_owned);
    write_line("Ranges that suit a task; - is no opinion")?;
    row("task", heads.clone(), "")?;
    for guide in TASK_GUIDES {
        let cells = COLUMNS.map(|column| {
            let mut ranges = guide.ranges();
            let range = ranges.find(|(name, _)| *name == column);
            range.map_or("-".to_owned(), |(_, range)| range.to_string())
        });
        row(guide.task, cells, guide.about)?;
    }
    write_line("\nWhat --task sets")?;
    row("task", heads, "")?;
    for task in TaskPreset::ALL {
        let params = task.params();
        let cells = [
            params.temperature.to_string(),
            match params.top_k {
                0 => "off".to_owned(),
                top_k => top_k.to_string(),
            },
            match params.top_p {
                1.0 => "off".to_owned(),
                top_p => top_p.to_string(),
            },
            params.repetition_penalty.to_string(),
            params.frequency_penalty.to_string(),
        ];
        row(task.name(), cells, "")?;
    }
    Ok(DONE)
}
