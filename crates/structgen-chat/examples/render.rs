//! Renders conversations: reads one JSON object per line from standard input, and writes its prompt or error as a line
//! to standard output.
//!
//! ```sh
//! echo '{"template": "{{ messages[0].content | upper }}", "messages": [{"role": "user", "content": "hi"}]}' |
//!     cargo run -p structgen-chat --example render
//! ```

use std::io;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use structgen_chat::{ChatError, ChatMessage, ChatOptions, ChatPrompt, ChatTemplate};

#[derive(Deserialize)]
#[serde(default)]
struct Case {
    template: String,
    /// As in `tokenizer_config.json`.
    config: Map<String, Value>,
    messages: Vec<ChatMessage>,
    tools: Option<Vec<Value>>,
    documents: Option<Vec<Value>>,
    variables: Map<String, Value>,
    add_generation_prompt: bool,
    continue_final_message: bool,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            template: String::new(),
            config: Map::new(),
            messages: Vec::new(),
            tools: None,
            documents: None,
            variables: Map::new(),
            add_generation_prompt: true,
            continue_final_message: false,
        }
    }
}

impl Case {
    fn render(self) -> Result<ChatPrompt, ChatError> {
        let sources = [("default".to_owned(), self.template)];
        let config = Value::from(self.config).to_string();
        let options = ChatOptions {
            add_generation_prompt: self.add_generation_prompt,
            continue_final_message: self.continue_final_message,
            tools: self.tools,
            documents: self.documents,
            variables: self.variables,
            ..ChatOptions::default()
        };
        ChatTemplate::from_sources(sources, &config)?.render(&self.messages, &options)
    }
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lines() {
        let case: Case = serde_json::from_str(&line?)?;
        let start = Instant::now();
        let rendered = case.render();
        let ms = start.elapsed().as_millis();
        let line = match rendered {
            Ok(prompt) => json!({"text": prompt.text(), "ms": ms}),
            Err(error) => json!({"error": error.to_string(), "ms": ms}),
        };
        println!("{line}");
    }
    Ok(())
}
