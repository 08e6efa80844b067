//! Builds a grammar from tools and a format.
//!
//! The output is reasoning, then text or calls. Each marker is a rule of its own, so that it can become tokens once the
//! vocabulary is known.

mod arguments;
mod markers;
mod quoted;
pub(crate) mod raw;

use structgen_frontend::json_schema::{self, CompileReport, PartOptions, Words};
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{
    EscapeForm, Expr, ExprId, Grammar, GrammarBuilder, Guide, JsonForm, ObjectShape, Property,
    Regular, Slot, StringContent, StringShape,
};

pub(crate) use self::arguments::ArgumentKind;
pub(crate) use self::markers::{MarkerRules, for_vocabulary};
use self::raw::{Excluded, text_before};
use crate::format::{Call, MemberContent, Position, ToolFormat, core};
use crate::{Content, Marker, Reasoning, Tool, ToolChoice, ToolError, ToolOptions};

/// The result of lowering tools and a format.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// The grammar, with markers as their texts.
    pub(crate) grammar: Grammar,
    pub(crate) markers: MarkerRules,
    /// How the arguments of formats with tags are parsed, by tool and key.
    pub(crate) kinds: KeyedMap<String, KeyedMap<String, ArgumentKind>>,
    /// What became of the keywords of each tool's schema.
    pub(crate) reports: Vec<(String, CompileReport)>,
}

/// The maximum nesting of JSON: serde_json parses 127 levels, and a call adds one or two.
const DEEPEST: u32 = 120;

/// # Errors
/// See [`ToolError`].
pub(crate) fn lower(
    format: &ToolFormat,
    tools: &[Tool],
    options: &ToolOptions,
) -> Result<Lowered, ToolError> {
    let mut lowering = Lowering {
        format,
        options,
        builder: GrammarBuilder::new(),
        markers: MarkerRules::default(),
        kinds: KeyedMap::default(),
        reports: Vec::new(),
        form: None,
    };
    let root = lowering.builder.declare("root");
    let body = lowering.output(tools)?;
    lowering.builder.define(root, body);
    let mut form = lowering.form.unwrap_or_else(|| options.schema.form());
    // The output is parsed again, by a parser with these limits: nesting, and numbers up to 1.8e308.
    form.max_depth = form.max_depth.min(DEEPEST);
    form.numbers.exponent_digits = form.numbers.exponent_digits.min(2);
    Ok(Lowered {
        grammar: lowering.builder.finish(root, form),
        markers: lowering.markers,
        kinds: lowering.kinds,
        reports: lowering.reports,
    })
}

struct Lowering<'a> {
    format: &'a ToolFormat,
    options: &'a ToolOptions,
    builder: GrammarBuilder,
    markers: MarkerRules,
    kinds: KeyedMap<String, KeyedMap<String, ArgumentKind>>,
    reports: Vec<(String, CompileReport)>,
    form: Option<JsonForm>,
}

impl Lowering<'_> {
    fn output(&mut self, tools: &[Tool]) -> Result<ExprId, ToolError> {
        let calls = self.calls(tools)?;
        let content = self.content(calls.is_some())?;
        let Some(reasoning) = self.format.reasoning.clone() else {
            if matches!(
                self.options.reasoning,
                Reasoning::Required | Reasoning::Open
            ) {
                let format = self.format.name.clone();
                return Err(ToolError::NoReasoning { format });
            }
            return Ok(self.body(calls, content, None));
        };
        let mut inner = self.regular(text_before(reasoning.end.texts()).others());
        if let Some(most) = self.options.reasoning_tokens {
            inner = self.builder.guided(Guide::MaxTokens(most), inner);
        }
        let end = self.marker(&reasoning.end);
        let begin = self.marker(&reasoning.begin);
        let behind = self.body(calls, content, None);
        let open = self.builder.sequence([inner, end, behind]);
        let with = self.builder.sequence([begin, open]);
        Ok(match self.options.reasoning {
            Reasoning::Open => open,
            Reasoning::Required => with,
            Reasoning::Off => behind,
            Reasoning::Allowed => {
                // Text that begins like reasoning is reasoning.
                let without = self.body(calls, content, Some(&reasoning.begin));
                self.builder.choice([with, without])
            }
        })
    }

    /// What follows the reasoning; its text must not begin with `not`.
    fn body(
        &mut self,
        calls: Option<ExprId>,
        content: Option<ExprId>,
        not: Option<&Marker>,
    ) -> ExprId {
        let is_text = self.options.content == Content::Text;
        let demanded = self.options.demands_call();
        let mut arms = Vec::new();
        if !demanded {
            let content = match content {
                Some(content) => content,
                None => {
                    let excluded = self.free_text(not);
                    self.regular(excluded)
                }
            };
            let [begin, end] =
                [&self.format.text.begin, &self.format.text.end].map(|it| self.marker(it));
            arms.push(self.builder.sequence([begin, content, end]));
        }
        if let Some(calls) = calls {
            arms.push(calls);
            let may = self.options.text_before_calls.unwrap_or(!demanded);
            if may && is_text {
                arms.extend(self.with_preamble(calls, not));
            }
        }
        self.builder.choice(arms)
    }

    /// Free text that is distinguishable from calls. If the format encloses text, everything except the end marker.
    fn free_text(&self, not: Option<&Marker>) -> Regular {
        let mut excluded;
        if self.format.encloses_text() {
            let ends = self
                .format
                .text
                .end
                .texts()
                .filter(|end| !core(end).is_empty());
            return text_before(ends).others();
        }
        let triggers = self.format.triggers();
        match self.format.calls.position {
            Position::Anywhere => excluded = text_before(triggers.iter().map(String::as_str)),
            Position::Start => {
                excluded = Excluded::default();
                for trigger in &triggers {
                    excluded.beginning(core(trigger));
                }
            }
        }
        for begin in not.into_iter().flat_map(Marker::texts) {
            excluded.beginning(core(begin));
        }
        excluded.others()
    }

    fn with_preamble(&mut self, calls: ExprId, not: Option<&Marker>) -> Option<ExprId> {
        if let Some(preamble) = &self.format.preamble {
            let inner = self.regular(text_before(preamble.end.texts()).others());
            let [begin, end] = [&preamble.begin, &preamble.end].map(|it| self.marker(it));
            return Some(self.builder.sequence([begin, inner, end, calls]));
        }
        if self.format.encloses_text() || self.format.calls.position == Position::Start {
            return None;
        }
        let free = self.free_text(not);
        let free = self.regular(free);
        Some(self.builder.sequence([free, calls]))
    }

    /// The content, if it is not free text.
    fn content(&mut self, with_calls: bool) -> Result<Option<ExprId>, ToolError> {
        let may_be_call = match &self.options.content {
            Content::Text => false,
            Content::Json(_) => self.format.triggers().iter().any(|it| may_begin_json(it)),
            Content::Grammar(_) => true,
        };
        if with_calls && !self.format.encloses_text() && may_be_call {
            let format = self.format.name.clone();
            return Err(ToolError::AmbiguousContent { format });
        }
        match &self.options.content {
            Content::Text => Ok(None),
            Content::Json(schema) => self.json_content(schema).map(Some),
            Content::Grammar(grammar) => {
                self.take_form("content", grammar.form().clone())?;
                Ok(Some(self.builder.embed(grammar, "content ")))
            }
        }
    }

    fn json_content(&mut self, schema: &str) -> Result<ExprId, ToolError> {
        let part = PartOptions {
            prefix: "content ",
            words: Words::JSON,
        };
        let options = &self.options.schema;
        let part = json_schema::compile_part_str(schema, "", options, part, &mut self.builder)
            .map_err(ToolError::Content)?;
        self.take_form("content", part.form)?;
        self.reports.push(("content".to_owned(), part.report));
        Ok(part.root)
    }

    /// Checks that all JSON of an output has one form.
    fn take_form(&mut self, tool: &str, form: JsonForm) -> Result<(), ToolError> {
        match &self.form {
            Some(known) if *known != form => Err(ToolError::Forms {
                tool: tool.to_owned(),
            }),
            _ => {
                self.form = Some(form);
                Ok(())
            }
        }
    }

    /// All calls of an output; `None` if there are none.
    fn calls(&mut self, tools: &[Tool]) -> Result<Option<ExprId>, ToolError> {
        let chosen = chosen(tools, &self.options.choice)?;
        if chosen.is_empty() {
            return match self.options.demands_call() {
                true => Err(ToolError::NoTools),
                false => Ok(None),
            };
        }
        let mut arms = Vec::with_capacity(chosen.len());
        for tool in chosen {
            arms.push(self.call(tool)?);
        }
        let call = self.builder.choice(arms);
        let rule = self.builder.declare("call");
        self.builder.define(rule, call);
        let call = self.builder.rule(rule);
        let calls = &self.format.calls;
        let [begin, separator, end] =
            [&calls.begin, &calls.separator, &calls.end].map(|it| self.marker(it));
        let most = match (&self.options.choice, calls.parallel) {
            (ToolChoice::Named(_), _) | (_, false) => Some(1),
            _ => self.options.max_calls,
        };
        let next = self.builder.sequence([separator, call]);
        let more = self
            .builder
            .repeat(next, 0, most.map(|most| most.max(1) - 1));
        Ok(Some(self.builder.sequence([begin, call, more, end])))
    }

    /// A call of one tool.
    fn call(&mut self, tool: &Tool) -> Result<ExprId, ToolError> {
        let words = match self.format.call {
            Call::Python { .. } => Words::PYTHON,
            _ => Words::JSON,
        };
        let prefix = format!("{} ", tool.name);
        let part = PartOptions {
            prefix: &prefix,
            words,
        };
        let mut schema = self.options.schema.clone();
        if words == Words::PYTHON {
            // Python has other escapes; the necessary ones are the same.
            schema = schema.with_escapes(EscapeForm::Needed);
        }
        let parameters = tool.parameters();
        let part = json_schema::compile_part_str(parameters, "", &schema, part, &mut self.builder)
            .map_err(|source| ToolError::Schema {
                tool: tool.name.clone(),
                source,
            })?;
        self.take_form(&tool.name, part.form)?;
        self.reports.push((tool.name.clone(), part.report));
        let objects = arguments::objects(&self.builder, part.root);
        if objects.is_empty() {
            return Err(ToolError::NoObject {
                tool: tool.name.clone(),
            });
        }
        let format = self.format;
        let name = self.builder.bytes(&tool.name);
        let [begin, end] = [format.call.begin(), format.call.end()].map(|it| self.text(it));
        let inner = match &format.call {
            Call::Object { members, .. } => {
                let arguments = self.builder.choice(objects);
                let mut shape = ObjectShape {
                    ordered: members.len() as u32,
                    ..ObjectShape::default()
                };
                for member in members {
                    let value = match member.holds {
                        MemberContent::Arguments => arguments,
                        MemberContent::Name => {
                            self.string(StringContent::Literals([tool.name.as_str().into()].into()))
                        }
                        MemberContent::Constant => self.string(StringContent::Literals(
                            [member.value.as_str().into()].into(),
                        )),
                        MemberContent::Id => {
                            self.string(StringContent::Regular(pattern(&member.value)))
                        }
                    };
                    shape.properties.push(Property {
                        key: member.key.as_str().into(),
                        value: Slot::of(value),
                        required: !member.optional,
                        absent: 0,
                    });
                }
                self.builder.expr(Expr::Object(Box::new(shape)))
            }
            Call::Json { id, name_end, .. } => {
                let arguments = self.builder.choice(objects);
                let id = match id {
                    Some(id) => {
                        let begin = self.text(&id.begin);
                        let id = self.regular(pattern(&id.pattern));
                        self.builder.sequence([begin, id])
                    }
                    None => self.builder.bytes(""),
                };
                let name_end = self.marker(name_end);
                self.builder.sequence([name, id, name_end, arguments])
            }
            Call::Tagged {
                name_end,
                parameter,
                ..
            } => {
                let name_end = self.marker(name_end);
                let arguments = self.tagged(tool, &objects, parameter)?;
                self.builder.sequence([name, name_end, arguments])
            }
            Call::Quoted { quote, .. } => {
                let arguments = self.quoted(tool, &objects, quote)?;
                let [open, close] = ["{", "}"].map(|it| self.builder.bytes(it));
                self.builder.sequence([name, open, arguments, close])
            }
            Call::Python { .. } => {
                let arguments = self.python(tool, &objects)?;
                let [open, close] = ["(", ")"].map(|it| self.builder.bytes(it));
                self.builder.sequence([name, open, arguments, close])
            }
        };
        Ok(self.builder.sequence([begin, inner, end]))
    }

    fn string(&mut self, content: StringContent) -> ExprId {
        self.builder.expr(Expr::String(StringShape {
            content,
            ..StringShape::default()
        }))
    }

    fn regular(&mut self, set: Regular) -> ExprId {
        self.builder.expr(Expr::Regular(set))
    }

    /// A marker's text, as a rule of its own.
    fn text(&mut self, text: &str) -> ExprId {
        self.markers.marker(&mut self.builder, text)
    }

    fn marker(&mut self, marker: &Marker) -> ExprId {
        let arms: Vec<ExprId> = marker.texts().map(|text| self.text(text)).collect();
        self.builder.choice(arms)
    }
}

/// The tools that may be called.
fn chosen<'t>(tools: &'t [Tool], choice: &ToolChoice) -> Result<Vec<&'t Tool>, ToolError> {
    let names: &[String] = match choice {
        ToolChoice::Auto | ToolChoice::Required => return Ok(tools.iter().collect()),
        ToolChoice::None => &[],
        ToolChoice::Named(name) => std::slice::from_ref(name),
        ToolChoice::Subset { names, .. } => names,
    };
    if let Some(unknown) = names
        .iter()
        .find(|name| tools.iter().all(|tool| tool.name != **name))
    {
        return Err(ToolError::UnknownTool {
            name: unknown.clone(),
            known: tools.iter().map(|tool| tool.name.clone()).collect(),
        });
    }
    Ok(tools
        .iter()
        .filter(|tool| names.contains(&tool.name))
        .collect())
}

/// Parses a pattern that the format's check has accepted.
fn pattern(text: &str) -> Regular {
    use structgen_frontend::regex::{RegexOptions, parse};
    parse(text, RegexOptions::rust()).unwrap_or(Regular::Never)
}

/// Whether a JSON text could begin like the trigger, judged by its first two characters.
fn may_begin_json(trigger: &str) -> bool {
    let mut rest = core(trigger).chars().filter(|&c| !crate::is_space(c));
    let value = |c: char| c.is_ascii_digit() || "{[\"-tfn".contains(c);
    match (rest.next(), rest.next()) {
        (None, _) => true,
        (Some('{'), next) => next.is_none_or(|c| "\"}".contains(c)),
        (Some('['), next) => next.is_none_or(|c| value(c) || c == ']'),
        (Some(first), _) => value(first),
    }
}
