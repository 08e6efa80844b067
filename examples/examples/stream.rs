//! Text under a regular expression, a grammar or a list of choices, as it comes.

use std::io::Write;

use structgen::{Constraint, GenerateOptions, Model, ModelOptions, Request, SamplingParams};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let model = Model::embedded(&ModelOptions::new())?;
    let prompt = model.encode_prompt("An order number: ")?;
    let sampling = SamplingParams {
        temperature: 1.0,
        top_p: 0.9,
        seed: 11,
        ..SamplingParams::default()
    };
    let options = GenerateOptions {
        sampling,
        max_new_tokens: Some(40),
        ..GenerateOptions::default()
    };
    let constraints = [
        Constraint::regex("[A-Z]{2}-[0-9]{4}(/[a-z]+)?")?,
        Constraint::gbnf("root ::= item (\", \" item){1,3}\nitem ::= [a-z]{3,6}")?,
        Constraint::choices(["refund", "replacement", "repair"])?,
    ];
    for constraint in &constraints {
        let compiled = model.compile(constraint)?;
        let request = Request::new(&prompt[..], Some(compiled)).with_options(options.clone());
        let mut run = model.submit(request.with_events())?;
        for event in &mut run {
            print!("{}", event.text);
            std::io::stdout().flush()?;
        }
        println!(" ({})", run.wait()?.single()?.finish);
    }
    Ok(())
}
