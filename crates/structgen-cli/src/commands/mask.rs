//! `structgen mask`: what is allowed after the beginning of a text.

use structgen::explain::{Next, NextKey, NextTokens};

use crate::Outcome;
use crate::constraint_args::CheckArgs;
use crate::error::{DONE, does_not_fit};
use crate::explaining::{code, lines, next_rules, refusal, tokens};
use crate::input::TextArgs;
use crate::output::{tell, write, write_line};
use crate::vocabulary_args::VocabularyArgs;

/// Options of `structgen mask`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Shows what may come after a text: in words, as the keys that remain for a schema and as rules for a grammar, and as tokens with their number. \
    Without a text, what an output may begin with. Schemas are taken exactly, as by check; --profile generate shows what a model may write.\n\n\
    Exit codes: 0 done, 1 the text does not match so far, 2 bad input."
)]
pub(crate) struct Args {
    #[command(flatten)]
    text: TextArgs,
    /// Print JSON
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
    let (text, name) = match (&args.text.text, &args.text.file) {
        (None, None) => (Vec::new(), "the text".to_owned()),
        _ => args.text.read_bytes()?,
    };
    let Some(next) = explainer.next(&text)? else {
        let Some(explanation) = explainer.explain_beginning(&text)? else {
            return Ok(does_not_fit());
        };
        tell(&refusal(&explanation, &text, &name));
        return Ok(code(&explanation));
    };
    let compiled = args
        .vocabulary
        .compile(&given.constraint, args.constraint.timeout.token())?;
    let allowed = NextTokens::after(&compiled, &text, args.vocabulary.most)?;
    if args.json {
        let mut object = next.to_json();
        if let Some(allowed) = &allowed {
            object["tokens"] = allowed.to_json();
        }
        write_line(&serde_json::to_string_pretty(&object)?)?;
        return Ok(DONE);
    }
    let mut report = lines("next", &[next.in_words()]);
    if !next.forced.is_empty() {
        let forced = String::from_utf8_lossy(&next.forced);
        report += &lines("forced", &[format!("{forced:?}")]);
    }
    if let Some(value) = &next.value {
        let within = if value.is_empty() {
            "the document"
        } else {
            value
        };
        report += &lines("within", &[within.to_owned()]);
    }
    if let Some(keys) = keys(&next) {
        report += &lines("keys", &[keys]);
    }
    report += &lines("rules", &next_rules(&next.rules));
    if let Some(allowed) = &allowed {
        report += &lines("tokens", &[tokens(allowed)]);
    }
    write(&report)?;
    Ok(DONE)
}

/// Lists the keys that are allowed next; `None` if there are none.
fn keys(next: &Next) -> Option<String> {
    let shown = |key: &NextKey| match key.is_required {
        true => format!("{:?} (required)", key.key),
        false => format!("{:?}", key.key),
    };
    let listed: Vec<String> = next.keys.iter().map(shown).collect();
    let count = listed.len();
    match (count, next.other_keys) {
        (0, false) => None,
        (0, true) => Some("any that the schema does not name".to_owned()),
        (_, true) => Some(format!("{count}: {}, and others", listed.join(", "))),
        (_, false) => Some(format!("{count}: {}", listed.join(", "))),
    }
}
