//! Calls of tools in the format of a chat model, read back while they are written.

use structgen::tools::{Event, Tool, ToolChoice, ToolFormat, ToolGrammar, ToolOptions};
use structgen::{Constraint, GenerateOptions, Model, ModelOptions, Request, SamplingParams};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let tools = Tool::list(include_str!("../tools.json"))?;
    let format = ToolFormat::preset("qwen").ok_or_else(|| anyhow::anyhow!("no such format"))?;
    let options = ToolOptions::new()
        .with_choice(ToolChoice::Required)
        .with_max_calls(2);
    let tools = ToolGrammar::new(format, tools, &options)?;

    let model = Model::embedded(&ModelOptions::new())?;
    let compiled = model.compile(&Constraint::tools(&tools))?;
    let prompt = model.encode_prompt("Refund order AB-1234, it came late: ")?;
    let options = GenerateOptions {
        sampling: SamplingParams {
            temperature: 1.0,
            seed: 4,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(200),
        ..GenerateOptions::default()
    };
    let vocabulary = model.tokenizer().vocabulary().clone();
    let mut parser = tools.parser();
    let mut events = Vec::new();
    let request = Request::new(prompt, Some(compiled)).with_options(options);
    let run = model.submit(request.with_events())?;
    // Special tokens have no text and are part of calls: so the parser is fed tokens.
    for token in run.flat_map(|event| event.ids) {
        parser.push_token(&vocabulary, token, &mut events)?;
        for event in events.drain(..) {
            match event {
                Event::CallStarted { name, .. } => println!("{name} …"),
                Event::CallFinished { call, .. } => println!("{} {}", call.name, call.arguments),
                _ => {}
            }
        }
    }
    parser.finish(&mut events)?;
    Ok(())
}
