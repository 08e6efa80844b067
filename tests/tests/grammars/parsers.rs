//! Parsers that others wrote, for the formats that have one.

use std::fmt::Display;

use chrono::{DateTime, NaiveDate};
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex_automata::meta::Regex;
use serde::de::IgnoredAny;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::ALL_KEYWORDS;

/// What another parser says of a text of the grammar; nothing where there is none, or where the text is beyond what it
/// looks at.
pub(crate) fn judge(grammar: &str, text: &str) -> Option<Result<(), String>> {
    Some(match grammar {
        "json" => said(serde_json::from_str::<IgnoredAny>(text)),
        "json-lines" => text
            .lines()
            .try_for_each(|line| said(serde_json::from_str::<IgnoredAny>(line))),
        "csv" => csv(text),
        "dates" if text.len() == "2024-02-29".len() => said(text.parse::<NaiveDate>()),
        "dates" => said(DateTime::parse_from_rfc3339(text)),
        "emails" => return email(text),
        "emoji" => emoji(text),
        "markdown-list" => markdown(text, |tag| matches!(tag, Tag::List(_))),
        "markdown-table" => markdown(text, |tag| matches!(tag, Tag::Table(_))),
        "semver" => return semver(text),
        "sql" | "sql-select" => return sql(text),
        "toml" => return toml(text),
        "url" => said(url::Url::parse(text)),
        "xml" => said(roxmltree::Document::parse(text)),
        "yaml" => saphyr_parser::Parser::new_from_str(text).try_for_each(said),
        _ => return None,
    })
}

fn said<T, E: Display>(result: Result<T, E>) -> Result<(), String> {
    result.map(drop).map_err(|error| error.to_string())
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| otherwise.to_owned())
}

/// The crate takes almost everything; written anew and with every field in quotes, the records have to be the same.
fn csv(text: &str) -> Result<(), String> {
    let records = |text: &[u8]| -> Result<Vec<csv::ByteRecord>, String> {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text)
            .byte_records()
            .map(|record| record.map_err(|error| error.to_string()))
            .collect()
    };
    let read = records(text.as_bytes())?;
    let mut writer = csv::WriterBuilder::new()
        .flexible(true)
        .quote_style(csv::QuoteStyle::Always)
        .from_writer(Vec::new());
    for record in &read {
        writer
            .write_byte_record(record)
            .map_err(|error| error.to_string())?;
    }
    let written = writer.into_inner().map_err(|error| error.to_string())?;
    expect(records(&written)? == read, "the records differ")
}

/// The crate counts lengths as well, which the grammar does not.
fn email(text: &str) -> Option<Result<(), String>> {
    let is_short = text
        .split_once('@')
        .is_some_and(|(local, domain)| local.len() <= 64 && domain.len() <= 253);
    is_short.then(|| said(text.parse::<email_address::EmailAddress>()))
}

/// The regular expression of Unicode Technical Standard #51 for what may be an emoji.
fn emoji(text: &str) -> Result<(), String> {
    let one =
        r"(?:\p{Emoji}(?:\p{Emoji_Modifier}|\x{FE0F}\x{20E3}?|[\x{E0020}-\x{E007E}]+\x{E007F})?)";
    let flag = r"(?:[\x{1F1E6}-\x{1F1FF}]{2})";
    let pattern = format!(r"^(?:{flag}|{one}(?:\x{{200D}}(?:{flag}|{one}))*)+$");
    let regex = Regex::new(&pattern).map_err(|error| error.to_string())?;
    expect(regex.is_match(text), "no emoji")
}

/// Everything is Markdown; but the text has to be one block of the kind, and nothing beside it.
fn markdown(text: &str, is_kind: fn(&Tag<'_>) -> bool) -> Result<(), String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut depth = 0;
    let mut blocks = 0;
    let mut items = 0;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(tag) => {
                blocks += usize::from(depth == 0 && is_kind(&tag));
                expect(depth > 0 || is_kind(&tag), "another block")?;
                items += usize::from(matches!(tag, Tag::Item | Tag::TableRow | Tag::TableHead));
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    let is_table = text.starts_with('|');
    let lines = text.lines().count() - usize::from(is_table);
    expect(blocks == 1, "several blocks, or none")?;
    expect(items == lines, "an item or row for each line")
}

/// The crate's numbers have 64 bits.
fn semver(text: &str) -> Option<Result<(), String>> {
    let longest = text
        .split(|c: char| !c.is_ascii_digit())
        .map(str::len)
        .max();
    (longest < Some(20)).then(|| said(semver::Version::parse(text)))
}

/// Names in lower case that are words of some SQL are none for the crate.
fn sql(text: &str) -> Option<Result<(), String>> {
    let is_word = |word: &str| ALL_KEYWORDS.contains(&word.to_ascii_uppercase().as_str());
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    if words.any(|word| word.contains(|c: char| c.is_ascii_lowercase()) && is_word(word)) {
        return None;
    }
    Some(said(sqlparser::parser::Parser::parse_sql(
        &PostgreSqlDialect {},
        text,
    )))
}

/// Whether a key is defined twice is not described by the grammar.
fn toml(text: &str) -> Option<Result<(), String>> {
    let result = said(toml::from_str::<toml::Table>(text));
    match &result {
        Err(error) if error.contains("duplicate key") || error.contains("cannot extend") => None,
        _ => Some(result),
    }
}
