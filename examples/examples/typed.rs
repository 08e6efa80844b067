//! A text into a type of one's own.

use schemars::JsonSchema;
use serde::Deserialize;
use structgen::Extractor;

/// What is wanted; keys come in the order of the fields.
#[derive(Debug, JsonSchema, Deserialize)]
struct Ticket {
    reporter: String,
    product: String,
    attempts: u8,
    priority: Priority,
    phone: Option<String>,
}

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let tickets = Extractor::<Ticket>::embedded()?;
    let found = tickets
        .extract("Mia Brandt cannot log in to Ledger Pro after 3 attempts, please hurry!")?;
    let Ticket {
        reporter,
        product,
        attempts,
        priority,
        phone,
    } = &found.value;
    println!("{reporter} on {product}: {attempts} attempts, {priority:?}, phone {phone:?}");
    println!("{} ({} tokens)", found.json, found.tokens());
    Ok(())
}
