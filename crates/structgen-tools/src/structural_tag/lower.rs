//! Builds a grammar from a structural tag.

use structgen_frontend::json_schema::{CompileReport, SchemaOptions};
use structgen_grammar::{Expr, ExprId, Grammar, GrammarBuilder, JsonForm, Regular, TokenTerminal};

use super::StructuralTagError;
use super::contents::XML;
use super::node::{Fields, Node};
use super::value::TagValue;
use crate::lower::MarkerRules;

type Result<T> = std::result::Result<T, StructuralTagError>;

/// The types of formats, for messages.
const TYPES: &str = "a type: const_string, json_schema, regex, grammar, any_text, sequence, or, optional, star, plus, repeat, tag, \
    triggered_tags, tags_with_separator, dispatch, token, exclude_token, token_triggered_tags or token_dispatch";

/// The result of lowering a structural tag.
pub(super) struct Lowered {
    pub(super) grammar: Grammar,
    pub(super) markers: MarkerRules,
    pub(super) reports: Vec<(String, CompileReport)>,
}

pub(super) fn lower(tag: &TagValue<'_>, options: &SchemaOptions) -> Result<Lowered> {
    let mut lowering = Lowering {
        options,
        builder: GrammarBuilder::new(),
        markers: MarkerRules::default(),
        reports: Vec::new(),
        form: None,
        grammars: 0,
        excluded: 0,
    };
    let root = lowering.builder.declare("root");
    let body = lowering.document(&Node::root(tag))?;
    lowering.builder.define(root, body);
    let form = lowering.form.unwrap_or_else(|| options.form());
    Ok(Lowered {
        grammar: lowering.builder.finish(root, form),
        markers: lowering.markers,
        reports: lowering.reports,
    })
}

pub(super) struct Lowering<'o> {
    pub(super) options: &'o SchemaOptions,
    pub(super) builder: GrammarBuilder,
    markers: MarkerRules,
    pub(super) reports: Vec<(String, CompileReport)>,
    pub(super) form: Option<JsonForm>,
    /// The number of embedded grammars.
    pub(super) grammars: usize,
    /// The cost so far of the texts that free text must not contain.
    pub(super) excluded: u64,
}

impl Lowering<'_> {
    fn document(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let fields = node.fields(&["type", "format", "structures", "triggers"])?;
        if let Some(kind) = fields.optional("type")
            && kind.value.text() != Some("structural_tag")
        {
            return Err(kind.expected("\"structural_tag\""));
        }
        if fields.optional("structures").is_some() {
            return self.legacy(node, &fields);
        }
        if let Some(triggers) = fields.optional("triggers") {
            return Err(triggers.expected("nothing but beside `structures`"));
        }
        self.format(&fields.required("format")?, &[])
    }

    /// A text of a format. It is unambiguous before any of `ends`, which may follow it.
    pub(super) fn format(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let Some(kind) = node.kind() else {
            return Err(node.expected(TYPES));
        };
        match kind {
            "const_string" => {
                let fields = node.fields(&["type", "value"])?;
                Ok(self.marker(fields.required("value")?.text()?))
            }
            "json_schema" => self.json_schema(node),
            "regex" => self.regex(&node.fields(&["type", "pattern"])?.required("pattern")?),
            "grammar" => self.grammar(&node.fields(&["type", "grammar"])?.required("grammar")?),
            "any_text" => self.any_text(node, ends),
            "sequence" => {
                let fields = node.fields(&["type", "elements"])?;
                let elements = elements(&fields)?;
                let last = elements.len() - 1;
                let mut parts = Vec::with_capacity(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    let ends = if index == last { ends } else { &[] };
                    parts.push(self.format(element, ends)?);
                }
                Ok(self.builder.sequence(parts))
            }
            "or" => {
                let fields = node.fields(&["type", "elements"])?;
                let elements = elements(&fields)?;
                let arms = elements.iter().map(|element| self.format(element, ends));
                let arms = arms.collect::<Result<Vec<_>>>()?;
                Ok(self.builder.choice(arms))
            }
            "optional" | "star" | "plus" => {
                let content = node.fields(&["type", "content"])?.required("content")?;
                let content = self.format(&content, ends)?;
                let (min, max) = match kind {
                    "optional" => (0, Some(1)),
                    "star" => (0, None),
                    _ => (1, None),
                };
                Ok(self.builder.repeat(content, min, max))
            }
            "repeat" => {
                let fields = node.fields(&["type", "min", "max", "content"])?;
                let (min, max) = (fields.required("min")?.count()?, fields.required("max")?);
                let max = match max.value {
                    TagValue::Number(Some(-1)) => None,
                    _ => match max.count()? {
                        count if count < min => {
                            return Err(max.expected("no less than `min`, or -1"));
                        }
                        count => Some(count),
                    },
                };
                let content = self.format(&fields.required("content")?, ends)?;
                Ok(self.builder.repeat(content, min, max))
            }
            "tag" => {
                let tag = Tag::of(node)?;
                let begin = self.begin(&tag.begin)?;
                let rest = self.content_and_end(&tag, ends)?;
                Ok(self.builder.sequence([begin, rest]))
            }
            "triggered_tags" => self.triggered_tags(node, ends),
            "token_triggered_tags" => self.token_triggered_tags(node, ends),
            "dispatch" | "token_dispatch" => self.rules(node, kind == "token_dispatch", ends),
            "tags_with_separator" => self.tags_with_separator(node, ends),
            "token" => {
                let token = node.fields(&["type", "token"])?.required("token")?.token()?;
                Ok(self.builder.expr(Expr::Token(token)))
            }
            "exclude_token" => {
                let fields = node.fields(&["type", "exclude_tokens"])?;
                let excluded = fields.required("exclude_tokens")?;
                let [token] = &excluded.list()?[..] else {
                    return Err(excluded.unsupported("exactly one token can be excluded"));
                };
                let other = match token.token()? {
                    TokenTerminal::Name(name) => TokenTerminal::NotName(name),
                    TokenTerminal::Id(id) => TokenTerminal::NotId(id),
                    other => other,
                };
                Ok(self.builder.expr(Expr::Token(other)))
            }
            "any_tokens" => Err(node.unsupported(
                "tokens of any kind are not supported; `any_text` is any text without special tokens",
            )),
            "qwen_xml_parameter" => Err(node.unsupported(XML)),
            _ => Err(StructuralTagError::Expected {
                pointer: format!("{}/type", node.pointer),
                expected: TYPES.to_owned(),
            }),
        }
    }

    fn tags_with_separator(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let fields = node.fields(&[
            "type",
            "tags",
            "separator",
            "at_least_one",
            "stop_after_first",
        ])?;
        let mut arms = Vec::new();
        for node in fields.required("tags")?.list()? {
            let tag = Tag::of(&node)?;
            let begin = self.begin(&tag.begin)?;
            let rest = self.content_and_end(&tag, ends)?;
            arms.push(self.builder.sequence([begin, rest]));
        }
        let tag = self.builder.choice(arms);
        let separator = self.marker(fields.required("separator")?.text()?);
        let next = self.builder.sequence([separator, tag]);
        let more = match fields.flag("stop_after_first")? {
            true => self.builder.bytes(""),
            false => self.builder.repeat(next, 0, None),
        };
        let some = self.builder.sequence([tag, more]);
        Ok(match fields.flag("at_least_one")? {
            true => some,
            false => self.builder.repeat(some, 0, Some(1)),
        })
    }

    fn begin(&mut self, begin: &Node<'_>) -> Result<ExprId> {
        Ok(match token_of(begin)? {
            Some(token) => self.builder.expr(Expr::Token(token)),
            None => self.marker(begin.text()?),
        })
    }

    /// The part of a tag after its `begin`; `outer` may follow the tag itself.
    pub(super) fn content_and_end(&mut self, tag: &Tag<'_>, outer: &[&str]) -> Result<ExprId> {
        if let Some(token) = token_of(&tag.end)? {
            let content = self.format(&tag.content, &[])?;
            let end = self.builder.expr(Expr::Token(token));
            return Ok(self.builder.sequence([content, end]));
        }
        let ends = match tag.end.value {
            TagValue::List(_) => {
                let ends = tag.end.list()?;
                let ends = ends.iter().map(Node::text).collect::<Result<Vec<_>>>()?;
                match ends.is_empty() {
                    true => return Err(tag.end.expected("one end at least")),
                    false => ends,
                }
            }
            _ => vec![tag.end.text()?],
        };
        let mut following: Vec<&str> = ends.iter().copied().filter(|end| !end.is_empty()).collect();
        if following.len() < ends.len() {
            // After an empty end comes what follows the tag.
            following.extend(outer);
        }
        let content = self.format(&tag.content, &following)?;
        let ends: Vec<ExprId> = ends.into_iter().map(|end| self.marker(end)).collect();
        let end = self.builder.choice(ends);
        Ok(self.builder.sequence([content, end]))
    }

    pub(super) fn marker(&mut self, text: &str) -> ExprId {
        self.markers.marker(&mut self.builder, text)
    }

    pub(super) fn regular(&mut self, set: Regular) -> ExprId {
        self.builder.expr(Expr::Regular(set))
    }
}

/// A tag, which needs no type within a list of tags.
pub(super) struct Tag<'v> {
    pub(super) begin: Node<'v>,
    content: Node<'v>,
    end: Node<'v>,
}

impl<'v> Tag<'v> {
    pub(super) fn of(node: &Node<'v>) -> Result<Self> {
        let fields = node.fields(&["type", "begin", "content", "end"])?;
        if let Some(kind) = fields.optional("type")
            && kind.value.text() != Some("tag")
        {
            return Err(kind.expected("\"tag\""));
        }
        Ok(Self {
            begin: fields.required("begin")?,
            content: fields.required("content")?,
            end: fields.required("end")?,
        })
    }
}

/// The token of a `begin` or `end`, unless it is a text.
pub(super) fn token_of(node: &Node<'_>) -> Result<Option<TokenTerminal>> {
    if !matches!(node.value, TagValue::Object(_)) {
        return Ok(None);
    }
    let fields = node.fields(&["type", "token"])?;
    let kind = fields.required("type")?;
    if kind.value.text() != Some("token") {
        return Err(kind.expected("\"token\""));
    }
    fields.required("token")?.token().map(Some)
}

fn elements<'v>(fields: &Fields<'v>) -> Result<Vec<Node<'v>>> {
    let elements = fields.required("elements")?;
    let list = elements.list()?;
    match list.is_empty() {
        true => Err(elements.expected("one element at least")),
        false => Ok(list),
    }
}
