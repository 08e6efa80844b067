//! A tool's findings, as text, as JSON and as a plot.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use structgen_lab::chart::{Chart, Theme};

use crate::output::{note, write, write_line};

/// How to show a tool's findings.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ReportArgs {
    /// Print a JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: PlotArgs,
}

/// Where to draw a plot.
#[derive(clap::Args, Debug)]
pub(crate) struct PlotArgs {
    /// Draw a plot into a file, as SVG or PNG by its extension
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PathBuf>,
    /// Colours of the plot: light, dark or auto; with auto, an SVG follows the viewer's colour scheme and a PNG is
    /// light
    #[arg(long, value_name = "THEME", default_value_t = Theme::Auto, requires = "plot")]
    theme: Theme,
}

impl PlotArgs {
    /// Returns whether a plot was requested, or an error if the file name is not that of a plot.
    pub(crate) fn is_asked_for(&self) -> anyhow::Result<bool> {
        Ok(self.plot.as_deref().map(format_of).transpose()?.is_some())
    }

    /// Draws the plot, if one was requested.
    pub(crate) fn draw(&self, chart: &Chart) -> anyhow::Result<()> {
        let Some(path) = &self.plot else {
            return Ok(());
        };
        let bytes = match format_of(path)? {
            Format::Svg => chart.svg(self.theme).into_bytes(),
            Format::Png => chart.png(self.theme)?,
        };
        std::fs::write(path, bytes)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        note(&format!("{} was drawn", path.display()));
        Ok(())
    }
}

/// A tool's findings.
pub(crate) struct Report {
    /// As JSON.
    pub(crate) json: Value,
    /// As tables and sentences.
    pub(crate) text: String,
    /// As a plot.
    pub(crate) chart: Chart,
}

#[derive(Clone, Copy)]
enum Format {
    Svg,
    Png,
}

fn format_of(path: &Path) -> anyhow::Result<Format> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ => bail!(
            "--plot draws files whose names end in .svg or .png, and {} is none",
            path.display()
        ),
    }
}

impl ReportArgs {
    /// Returns an error if a plot was requested that cannot be drawn.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.plot.is_asked_for()?;
        Ok(())
    }

    pub(crate) fn print(&self, report: &Report) -> anyhow::Result<()> {
        self.plot.draw(&report.chart)?;
        if self.json {
            write_line(&report.json.to_string())?;
        } else {
            write(&report.text)?;
        }
        Ok(())
    }
}
