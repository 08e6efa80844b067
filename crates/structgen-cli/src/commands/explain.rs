//! `structgen explain`: why a text, or a token after it, does not match, and what would.

use anyhow::bail;
use serde_json::json;
use structgen::constraint::CompiledConstraint;
use structgen::explain::{NEAREST_STEPS, NextTokens};
use structgen::vocab::TokenId;

use crate::Outcome;
use crate::args::whole;
use crate::constraint_args::CheckArgs;
use crate::error::DONE;
use crate::explaining::{code, lines, next_rules, refusal, tokens};
use crate::input::TextArgs;
use crate::output::{write, write_line};
use crate::vocabulary_args::VocabularyArgs;

/// Options of `structgen explain`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Reports the first place at which the text stops matching, the JSON Pointers of the value and of the keyword of the schema (or the rules of the \
    grammar), what was expected there in words and as tokens, and the nearest text that matches. Schemas are taken exactly, as by check.\n\n\
    With --token, the text is the beginning of an output, and the token comes after it.\n\n\
    Exit codes: 0 the text matches, 1 it does not, 2 bad input, or a text that could not be checked."
)]
pub(crate) struct Args {
    #[command(flatten)]
    text: TextArgs,
    /// Explain whether this token is allowed after the text
    #[arg(long, value_name = "ID", value_parser = whole::<u32>)]
    token: Option<u32>,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    constraint: CheckArgs,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let given = args.constraint.read()?;
    let explainer = given.explainer()?;
    // The text before a token is the beginning of an output, which is JSON.
    let (mut text, name) = match args.constraint.has_schema() && args.token.is_none() {
        true => args.text.read_json_bytes()?,
        false => args.text.read_bytes()?,
    };
    let compiled = args
        .vocabulary
        .compile(&given.constraint, args.constraint.timeout.token())?;
    let before = text.len();
    let explanation = match args.token {
        None => explainer.explain(&text)?,
        Some(id) => match token_bytes(&compiled, id, &text)? {
            None => {
                let fits = match args.json {
                    true => json!({"fits": true}).to_string(),
                    false => "the token matches".to_owned(),
                };
                write_line(&fits)?;
                return Ok(DONE);
            }
            Some(bytes) => {
                text.extend(bytes);
                explainer.explain_beginning(&text)?
            }
        },
    };
    let Some(explanation) = explanation else {
        let what = if args.token.is_some() {
            "token"
        } else {
            "text"
        };
        let fits = match args.json {
            true => json!({"fits": true}).to_string(),
            false => format!("the {what} matches"),
        };
        write_line(&fits)?;
        return Ok(DONE);
    };
    let offset = explanation.mismatch.offset;
    let expected = NextTokens::after(&compiled, &text[..offset], args.vocabulary.most)?;
    let nearest = explainer.nearest(&text)?;
    if args.json {
        let mut object = explanation.to_json();
        object["fits"] = false.into();
        if let Some(id) = args.token {
            object["token"] = json!({"id": id, "offset": offset.saturating_sub(before)});
        }
        if let Some(expected) = &expected {
            object["expected"]["tokens"] = expected.to_json();
        }
        if let Some(nearest) = &nearest {
            let text = String::from_utf8_lossy(&nearest.text);
            object["nearest"] = json!({"text": text, "edits": nearest.edits});
        }
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(code(&explanation));
    }
    let name = match args.token {
        Some(id) => format!("the token {id} after {name}"),
        None => name,
    };
    let mut report = refusal(&explanation, &text, &name) + "\n\n";
    let mut expected_words = vec![explanation.mismatch.expected_in_words()];
    expected_words.extend(next_rules(&explanation.expected_of_rules));
    report += &lines("expected", &expected_words);
    if let Some(expected) = &expected {
        report += &lines("tokens", &[tokens(expected)]);
    }
    report += &match &nearest {
        Some(nearest) => {
            let shown = String::from_utf8_lossy(&nearest.text);
            let edits = match nearest.edits {
                1 => "1 character changed".to_owned(),
                edits => format!("{edits} characters changed"),
            };
            lines("nearest", &[shown.into_owned(), format!("({edits})")])
        }
        None => lines(
            "nearest",
            &[format!("none was found in {NEAREST_STEPS} steps")],
        ),
    };
    write(&report)?;
    Ok(code(&explanation))
}

/// Returns the bytes of a token that follows a text, or `None` for a special token that is allowed.
fn token_bytes(
    compiled: &CompiledConstraint,
    id: u32,
    before: &[u8],
) -> anyhow::Result<Option<Vec<u8>>> {
    let vocabulary = compiled.vocabulary();
    let id = TokenId(id);
    if id.index() >= vocabulary.len() {
        bail!(
            "there is no token {}: the vocabulary has {}",
            id.0,
            vocabulary.len()
        );
    }
    if let Some(bytes) = vocabulary.token_bytes(id) {
        return Ok(Some(bytes.to_vec()));
    }
    let name = vocabulary
        .token_name(id)
        .unwrap_or("without a name")
        .to_owned();
    match compiled.matcher().mask_after(before)? {
        Some(mask) if mask.contains(id) => Ok(None),
        Some(_) => bail!(
            "the token {} ({name}) is a special token, and no such may come here",
            id.0
        ),
        None => {
            bail!("the text before the token does not match itself; explain it without --token")
        }
    }
}
