//! A schema that is only known at run time, and what the compiler says about it.

use serde_json::json;
use structgen::{GenerateOptions, Model, ModelOptions, SchemaExtractor, SchemaOptions};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 40},
            "rooms": {"type": "integer", "minimum": 1, "maximum": 20},
            "rent": {"type": "number", "exclusiveMinimum": 0}
        },
        "required": ["city", "rooms", "rent"]
    });
    let model = Model::embedded(&ModelOptions::new())?;
    let flats = SchemaExtractor::new(
        model,
        schema,
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )?;
    for text in [
        "Flat in Graz, 3 rooms, 740 euros a month",
        "Utrecht: 2 rooms for 1150.50",
    ] {
        println!("{}", flats.extract(text)?.json);
    }
    for entry in flats.report().narrowed() {
        println!("{} is {}", entry.pointer(), entry.effect);
    }
    Ok(())
}
