//! What a model writes in a format of tool calls: the first byte chooses the format, the second how the output is cut.

use std::sync::OnceLock;

use structgen_tools::{Message, ParseError, Tool, ToolFormat, ToolGrammar, ToolOptions};

pub(crate) const TOOLS: &str =
    include_str!("../../crates/structgen-tools/presets/samples-tools.json");

fn grammars() -> &'static [ToolGrammar] {
    static GRAMMARS: OnceLock<Vec<ToolGrammar>> = OnceLock::new();
    GRAMMARS.get_or_init(|| {
        let make = |name| {
            let format = ToolFormat::preset(name)?;
            let tools = Tool::list(TOOLS).ok()?;
            ToolGrammar::new(format, tools, &ToolOptions::new()).ok()
        };
        ToolFormat::presets().filter_map(make).collect()
    })
}

/// Parses an output whole and in pieces.
/// True when there was an output.
///
/// # Panics
/// When how it is cut matters.
pub fn tool_stream(data: &[u8]) -> bool {
    let [how, cut, output @ ..] = data else {
        return false;
    };
    let grammars = grammars();
    let grammar = &grammars[usize::from(*how) % grammars.len()];
    let whole = parse(grammar, output.len().max(1), output);
    let pieces = parse(grammar, usize::from(*cut % 16) + 1, output);
    assert_eq!(whole, pieces, "{}", grammar.format().name);
    true
}

/// The message in pieces of this many bytes, as far as it goes, and how it ended.
pub(crate) fn parse(
    grammar: &ToolGrammar,
    size: usize,
    output: &[u8],
) -> (Message, Result<(), ParseError>) {
    let mut parser = grammar.parser();
    let mut events = Vec::new();
    let mut pieces = output.chunks(size);
    let pushed = pieces.try_for_each(|piece| parser.push_bytes(piece, &mut events));
    let ended = pushed.and_then(|()| parser.finish(&mut events));
    (Message::from_events(events), ended)
}

/// The samples of every format.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let of_format = |(index, grammar): (usize, &ToolGrammar)| {
        let samples = grammar.format().samples.clone();
        samples.into_iter().enumerate().map(move |(cut, sample)| {
            [&[index as u8, cut as u8], sample.output.as_bytes()].concat()
        })
    };
    grammars().iter().enumerate().flat_map(of_format).collect()
}
