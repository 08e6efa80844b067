//! Schema options: all of the library's, for every command that accepts a schema.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use serde::{Deserialize, Serialize};
use structgen::frontend::json_schema::{Draft, SchemaLimits};
use structgen::grammar::{EscapeForm, Indent, Whitespace};
use structgen::{FormatMode, KeyOrder, Profile, SchemaOptions, Source};

use crate::args::{read_documents, whole};

/// How to compile a schema. These flags override an `x-structgen` object in the schema.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Schema")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SchemaArgs {
    /// Purpose of the schema: accept every text that a validator accepts, what a model should write, or what
    /// deserialises into the Rust type that the schema was generated from
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    /// Use the schema at this JSON Pointer of the file, such as /components/schemas/Order of an OpenAPI 3.1 description
    #[arg(long, value_name = "POINTER")]
    pub(crate) at: Option<String>,
    /// Order of keys [default: the profile's]
    #[arg(long, value_enum)]
    order: Option<OrderArg>,
    /// Whitespace between JSON tokens: compact, spaced (at most one space after a comma or colon), one-space (exactly
    /// one), indent:N or indent:tab (a line per member and item), or bounded:N (up to N whitespace characters anywhere)
    #[arg(long, value_name = "FORM", value_parser = checked(parse_whitespace))]
    whitespace: Option<String>,
    /// Where strings and numbers come from. Only `extract` grounds values in texts, with flags of its own.
    #[arg(skip)]
    pub(crate) source: Option<SourceArg>,
    /// Which escapes strings may use
    #[arg(long, value_enum)]
    escapes: Option<EscapesArg>,
    /// Whether to enforce formats [default: assert]
    #[arg(long, value_enum)]
    formats: Option<FormatsArg>,
    /// Drop unsupported assertions instead of refusing the schema; the compile report lists them
    #[arg(long)]
    lenient: bool,
    /// Refuse a schema with probable mistakes, such as a misspelt keyword; by default these are warnings
    #[arg(long = "strict-schema")]
    #[serde(rename = "strict")]
    pub(crate) strict: bool,
    /// Draft of a schema without $schema, such as 7 or 2020-12
    #[arg(long, value_name = "DRAFT", value_parser = checked(parse_draft))]
    draft: Option<String>,
    /// Folder of documents that references may point to, by their $id, or as http://localhost:1234/ and their path
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// Maximum number of steps of a compilation
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    max_steps: Option<u64>,
    /// Maximum number of JSON values in a schema and its documents
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    max_values: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProfileArg {
    Exact,
    Generate,
    Rust,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OrderArg {
    /// As the schema declares them
    Declared,
    /// As declared, but required ones first
    RequiredFirst,
    /// Every permutation
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SourceArg {
    /// The model writes them freely
    Model,
    /// They come from the input
    Input,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EscapesArg {
    /// Every escape, wherever JSON allows it
    Any,
    /// Only the escapes that are necessary
    Needed,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormatsArg {
    /// Formats are enforced
    Assert,
    /// Formats are annotations only
    Annotate,
}

impl SchemaArgs {
    /// Returns whether strings and numbers have to come from the text, if specified.
    pub(crate) fn is_grounded(&self) -> Option<bool> {
        self.source.map(|source| source == SourceArg::Input)
    }

    /// Returns the options, with the command's default profile if none is given.
    pub(crate) fn options(&self, profile: Option<Profile>) -> anyhow::Result<SchemaOptions> {
        let mut options = SchemaOptions::new();
        let given = self.profile.map(|profile| match profile {
            ProfileArg::Exact => Profile::Exact,
            ProfileArg::Generate => Profile::Generate,
            ProfileArg::Rust => Profile::Rust,
        });
        if let Some(profile) = given.or(profile) {
            options = options.with_profile(profile);
        }
        options.order = self.order.map(|order| match order {
            OrderArg::Declared => KeyOrder::Declared,
            OrderArg::RequiredFirst => KeyOrder::RequiredFirst,
            OrderArg::Any => KeyOrder::Any,
        });
        let whitespace = self.whitespace.as_deref().map(parse_whitespace);
        options.whitespace = whitespace.transpose()?;
        options.escapes = self.escapes.map(|escapes| match escapes {
            EscapesArg::Any => EscapeForm::Any,
            EscapesArg::Needed => EscapeForm::Needed,
        });
        if let Some(source) = self.source {
            options = options.with_source(match source {
                SourceArg::Model => Source::Model,
                SourceArg::Input => Source::Input,
            });
        }
        if let Some(formats) = self.formats {
            options = options.with_formats(match formats {
                FormatsArg::Assert => FormatMode::Assert,
                FormatsArg::Annotate => FormatMode::Annotate,
            });
        }
        if self.lenient {
            options = options.with_lenient(true);
        }
        if self.strict {
            options = options.with_strict(true);
        }
        let draft = self.draft.as_deref().map(parse_draft);
        options.draft = draft.transpose()?.unwrap_or_default();
        let default = SchemaLimits::default();
        options.limits = SchemaLimits {
            max_steps: self.max_steps.unwrap_or(default.max_steps),
            max_values: self.max_values.unwrap_or(default.max_values),
            ..default
        };
        if let Some(folder) = &self.documents {
            options.documents = read_documents(folder)?;
        }
        Ok(options)
    }
}

/// Returns a flag's parser that checks the value but keeps its text, which the same parser reads later.
pub(crate) fn checked<T>(
    parse: impl Fn(&str) -> anyhow::Result<T> + Clone,
) -> impl Fn(&str) -> anyhow::Result<String> + Clone {
    move |text| parse(text).map(|_| text.to_owned())
}

fn parse_whitespace(text: &str) -> anyhow::Result<Whitespace> {
    match text.split_once(':') {
        None if text == "compact" => Ok(Whitespace::Compact),
        None if text == "spaced" => Ok(Whitespace::Spaced),
        None if text == "one-space" => Ok(Whitespace::OneSpace),
        Some(("indent", "tab")) => Ok(Whitespace::Indented {
            indent: Indent::Tab,
        }),
        Some(("indent", width)) => match width.parse() {
            Ok(width) => Ok(Whitespace::Indented {
                indent: Indent::Spaces(width),
            }),
            Err(_) => bail!("the indentation is a number from 0 to 255, or tab"),
        },
        Some(("bounded", max)) => match max.parse() {
            Ok(max) => Ok(Whitespace::Bounded { max }),
            Err(_) => bail!("the bound is a number from 0 to 65535"),
        },
        _ => bail!(
            "whitespace is compact, spaced, one-space, indent:N, indent:tab, or bounded:N, not {text:?}"
        ),
    }
}

/// Parses a draft by any of its names.
pub(crate) fn parse_draft(name: &str) -> anyhow::Result<Draft> {
    let name = name.to_ascii_lowercase();
    let short = name
        .strip_prefix("draft")
        .unwrap_or(&name)
        .trim_start_matches(['-', '_', ' ']);
    match short.trim_start_matches('0') {
        "4" => Ok(Draft::Draft4),
        "6" => Ok(Draft::Draft6),
        "7" => Ok(Draft::Draft7),
        "2019-09" | "2019" | "201909" => Ok(Draft::Draft2019),
        "2020-12" | "2020" | "202012" => Ok(Draft::Draft2020),
        _ => Err(anyhow!(
            "there is no draft {name:?}; there are draft4, draft6, draft7, draft2019-09 and draft2020-12"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_go_by_several_names() {
        for name in ["7", "draft7", "draft-07", "Draft 7"] {
            assert_eq!(parse_draft(name).unwrap(), Draft::Draft7, "{name}");
        }
        assert_eq!(parse_draft("2020-12").unwrap(), Draft::Draft2020);
        assert_eq!(parse_draft("draft2019-09").unwrap(), Draft::Draft2019);
        assert!(parse_draft("3").is_err());
    }

    #[test]
    fn whitespace_is_named_or_bounded() {
        assert_eq!(parse_whitespace("compact").unwrap(), Whitespace::Compact);
        let bounded = Whitespace::Bounded { max: 3 };
        assert_eq!(parse_whitespace("bounded:3").unwrap(), bounded);
        let tab = Whitespace::Indented {
            indent: Indent::Tab,
        };
        assert_eq!(parse_whitespace("indent:tab").unwrap(), tab);
        for wrong in [
            "",
            "indent:x",
            "bounded",
            "bounded:-1",
            "bounded:70000",
            "indent",
        ] {
            assert!(parse_whitespace(wrong).is_err(), "{wrong}");
        }
    }
}
