//! Tools in a format: a grammar of what the model may write, and a parser for it.

use std::sync::Arc;

use structgen_frontend::json_schema::CompileReport;
use structgen_grammar::Grammar;
use structgen_vocab::Vocabulary;

use crate::lower::{self, MarkerRules};
use crate::parse::{Message, ParseError, Spec, ToolParser};
use crate::tool::check_distinct;
use crate::{Tool, ToolError, ToolFormat, ToolOptions};

/// Tools in a format: a grammar and a parser of its texts. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use structgen_tools::{Tool, ToolChoice, ToolFormat, ToolGrammar, ToolOptions};
///
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
/// let format = ToolFormat::preset("kimi").expect("it is a preset");
/// let options = ToolOptions::new().with_choice(ToolChoice::Required);
/// let tools = ToolGrammar::new(format, vec![Tool::new("roll", schema)?], &options)?;
/// assert!(tools.grammar().to_string().contains("roll #/properties/n"));
/// # Ok::<(), structgen_tools::ToolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolGrammar {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    grammar: Grammar,
    markers: MarkerRules,
    reports: Vec<(String, CompileReport)>,
    spec: Arc<Spec>,
}

impl ToolGrammar {
    /// Compiles the schemas of tools into one grammar of a format.
    ///
    /// # Errors
    /// [`ToolError`]: a schema is refused, with the tool's name and the JSON Pointer, or the format cannot write
    /// something.
    pub fn new(
        format: ToolFormat,
        tools: Vec<Tool>,
        options: &ToolOptions,
    ) -> Result<Self, ToolError> {
        check_distinct(&tools)?;
        let lowered = lower::lower(&format, &tools, options)?;
        let spec = Arc::new(Spec::new(format, lowered.kinds, options));
        Ok(Self {
            inner: Arc::new(Inner {
                grammar: lowered.grammar,
                markers: lowered.markers,
                reports: lowered.reports,
                spec,
            }),
        })
    }

    /// The grammar over bytes, with every marker as text.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.inner.grammar
    }

    /// The grammar for a vocabulary: markers, or parts of them, that are special tokens must be those tokens;
    /// everything else is text.
    #[must_use]
    pub fn grammar_for(&self, vocabulary: &Vocabulary) -> Grammar {
        lower::for_vocabulary(self.inner.grammar.clone(), &self.inner.markers, vocabulary)
    }

    /// What became of the keywords of each tool's schema, by the tool's name; `content` is the schema of the content.
    pub fn reports(&self) -> impl Iterator<Item = (&str, &CompileReport)> {
        let reports = self.inner.reports.iter();
        reports.map(|(tool, report)| (tool.as_str(), report))
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &ToolFormat {
        self.inner.spec.format()
    }

    /// A parser for one output, in pieces.
    #[must_use]
    pub fn parser(&self) -> ToolParser {
        ToolParser::new(self.inner.spec.clone())
    }

    /// Parses a whole output.
    ///
    /// # Errors
    /// If the output is not in the format, or ends within a call.
    pub fn parse(&self, output: &str) -> Result<Message, ParseError> {
        let mut parser = self.parser();
        let mut events = Vec::new();
        parser.push(output, &mut events)?;
        parser.finish(&mut events)?;
        Ok(Message::from_events(events))
    }
}
