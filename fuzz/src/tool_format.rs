//! Formats of tool calls: the bytes are the TOML.

use std::path::Path;

use structgen_tools::{Tool, ToolFormat, ToolGrammar, ToolOptions};

use crate::SplitMix;
use crate::tool_stream::{TOOLS, parse};
use crate::walk;

/// Reads a format, and generates and parses calls in it.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not fit, on a dead end, or when how an output is cut matters.
pub fn tool_format(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let Ok(format) = ToolFormat::from_toml(text) else {
        return false;
    };
    let tools = Tool::list(TOOLS).expect("tools");
    let Ok(grammar) = ToolGrammar::new(format, tools, &ToolOptions::new()) else {
        return false;
    };
    for sample in &grammar.format().samples {
        parse_both(&grammar, sample.output.as_bytes());
    }
    let Ok(constraint) = walk::compile(grammar.grammar().clone()) else {
        return false;
    };
    let mut random = SplitMix::new(data.len() as u64);
    for _ in 0..2 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        walk::is_taken(&constraint, &text);
        parse_both(&grammar, &text);
    }
    true
}

fn parse_both(grammar: &ToolGrammar, output: &[u8]) {
    let whole = parse(grammar, output.len().max(1), output);
    let pieces = parse(grammar, 3, output);
    assert_eq!(whole, pieces, "{}", walk::show(output));
}

/// The formats that the project has.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/structgen-tools/presets");
    let read = |name| std::fs::read(folder.join(format!("{name}.toml"))).ok();
    ToolFormat::presets().filter_map(read).collect()
}
