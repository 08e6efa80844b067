//! How sure the model was of each value, and what becomes of the values while they are written.

use std::ops::ControlFlow;

use structgen::{Constraint, GenerateOptions, Model, ModelOptions, Request, SchemaOptions};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let model = Model::embedded(&ModelOptions::new())?;
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "contact": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}
        },
        "required": ["name", "contact"]
    });
    let compiled = model.compile(&Constraint::json_schema(&schema, &SchemaOptions::new())?)?;
    let prompt = model.extraction_prompt(
        &schema,
        "My name is Ruben Keller. Write to ruben@keller.com.",
    )?;
    let options = GenerateOptions {
        log_probs: true,
        max_new_tokens: Some(200),
        ..GenerateOptions::default()
    };
    let request = Request::new(prompt, Some(compiled)).with_options(options);
    let outputs = model.stream(request, |event| {
        match serde_json::to_string(&event) {
            Ok(line) => println!("{line}"),
            Err(_) => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    })?;
    let output = outputs.single()?;
    let confidence = output.confidence()?;
    for (index, field) in confidence.fields().iter().enumerate() {
        println!(
            "{:<15} {:>5.1}% by the model, {:>5.1}% under the schema: {}",
            confidence.pointer(index),
            100.0 * field.score.model.probability(),
            100.0 * field.score.allowed.probability(),
            &output.text[field.span.clone()],
        );
    }
    Ok(())
}
