//! From a structural tag to a grammar.

use serde_json::Value;
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{self, CompileReport, KeyOrder, PartOptions, SchemaOptions};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{
    CharSet, Expr, ExprId, Grammar, GrammarBuilder, Guide, JsonForm, Regular, TokenTerminal,
    Whitespace,
};

use super::StructuralTagError;
use super::node::{Fields, Node};
use crate::lower::MarkerRules;
use crate::lower::raw::text_without;

type Result<T> = std::result::Result<T, StructuralTagError>;

/// The types of formats, for messages.
const TYPES: &str = "a type: const_string, json_schema, regex, grammar, any_text, sequence, or, optional, star, plus, repeat, tag, \
    triggered_tags, tags_with_separator, dispatch, token, exclude_token, token_triggered_tags or token_dispatch";

/// What a structural tag comes to.
pub(super) struct Lowered {
    pub(super) grammar: Grammar,
    pub(super) markers: MarkerRules,
    pub(super) reports: Vec<(String, CompileReport)>,
}

pub(super) fn lower(tag: &Value, options: &SchemaOptions) -> Result<Lowered> {
    let mut lowering = Lowering {
        options,
        builder: GrammarBuilder::new(),
        markers: MarkerRules::default(),
        reports: Vec::new(),
        form: None,
        grammars: 0,
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

struct Lowering<'o> {
    options: &'o SchemaOptions,
    builder: GrammarBuilder,
    markers: MarkerRules,
    reports: Vec<(String, CompileReport)>,
    form: Option<JsonForm>,
    /// How many grammars were embedded.
    grammars: usize,
}

/// What begins a stretch of structure in free text, and what follows it there.
struct Arm {
    trigger: Trigger,
    rest: ExprId,
}

enum Trigger {
    Text(String),
    Token(TokenTerminal),
}

/// Free text with arms in it.
struct Dispatch<'v> {
    arms: Vec<Arm>,
    excludes: Vec<&'v str>,
    at_least_one: bool,
    stop_after_first: bool,
}

impl Lowering<'_> {
    fn document(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let fields = node.fields(&["type", "format", "structures", "triggers"])?;
        if let Some(kind) = fields.optional("type")
            && kind.value != "structural_tag"
        {
            return Err(kind.expected("\"structural_tag\""));
        }
        if fields.optional("structures").is_some() {
            return self.legacy(&fields);
        }
        if let Some(triggers) = fields.optional("triggers") {
            return Err(triggers.expected("nothing but beside `structures`"));
        }
        self.format(&fields.required("format")?, &[])
    }

    /// The older notation: triggered tags whose contents are JSON.
    fn legacy(&mut self, fields: &Fields<'_>) -> Result<ExprId> {
        if let Some(format) = fields.optional("format") {
            return Err(format.expected("either `format` or `structures`"));
        }
        let triggers = fields.required("triggers")?.texts()?;
        let mut arms = Vec::new();
        for node in fields.required("structures")?.list()? {
            let tag = node.fields(&["begin", "schema", "end"])?;
            let begin = tag.required("begin")?;
            let (trigger, beginning) = split_at_trigger(&begin, &triggers)?;
            let schema = tag.required("schema")?;
            let parsed;
            let value = match schema.value {
                Value::String(text) => {
                    parsed =
                        serde_json::from_str(text).map_err(|_| schema.expected("a JSON Schema"))?;
                    &parsed
                }
                value => value,
            };
            let content = self.schema(value, &schema, self.options)?;
            let beginning = self.marker(beginning);
            let end = self.marker(tag.required("end")?.text()?);
            let rest = self.builder.sequence([beginning, content, end]);
            arms.push(Arm { trigger, rest });
        }
        let dispatch = Dispatch {
            arms,
            excludes: Vec::new(),
            at_least_one: false,
            stop_after_first: false,
        };
        Ok(self.dispatch(dispatch, &[]))
    }

    /// A text of a format. Where one of `ends` follows, the text does not have it, so that it is told from it.
    fn format(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let kind = node.value.get("type");
        let Some(kind) = kind.and_then(Value::as_str) else {
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
                let max = match max.value.as_i64() {
                    Some(-1) => None,
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
            "triggered_tags" => {
                let fields = node.fields(&[
                    "type",
                    "triggers",
                    "tags",
                    "at_least_one",
                    "stop_after_first",
                    "excludes",
                ])?;
                let triggers = fields.required("triggers")?.texts()?;
                let mut arms = Vec::new();
                for node in fields.required("tags")?.list()? {
                    let tag = Tag::of(&node)?;
                    let (trigger, beginning) = split_at_trigger(&tag.begin, &triggers)?;
                    let beginning = self.marker(beginning);
                    let rest = self.content_and_end(&tag, &[])?;
                    let rest = self.builder.sequence([beginning, rest]);
                    arms.push(Arm { trigger, rest });
                }
                let dispatch = Dispatch {
                    arms,
                    excludes: fields.texts("excludes")?,
                    at_least_one: fields.flag("at_least_one")?,
                    stop_after_first: fields.flag("stop_after_first")?,
                };
                Ok(self.dispatch(dispatch, ends))
            }
            "token_triggered_tags" => {
                let fields = node.fields(&[
                    "type",
                    "trigger_tokens",
                    "tags",
                    "at_least_one",
                    "stop_after_first",
                    "exclude_tokens",
                ])?;
                let triggers = fields.required("trigger_tokens")?.list()?;
                let triggers = triggers.iter().map(Node::token);
                let triggers = triggers.collect::<Result<Vec<_>>>()?;
                let mut arms = Vec::new();
                for node in fields.required("tags")?.list()? {
                    let tag = Tag::of(&node)?;
                    let Some(token) = token_of(&tag.begin)? else {
                        return Err(tag.begin.expected("a token"));
                    };
                    if !triggers.contains(&token) {
                        return Err(tag.begin.expected("one of the `trigger_tokens`"));
                    }
                    let rest = self.content_and_end(&tag, &[])?;
                    let trigger = Trigger::Token(token);
                    arms.push(Arm { trigger, rest });
                }
                let dispatch = Dispatch {
                    arms,
                    excludes: excluded_tokens(&fields)?,
                    at_least_one: fields.flag("at_least_one")?,
                    stop_after_first: fields.flag("stop_after_first")?,
                };
                Ok(self.dispatch(dispatch, ends))
            }
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
            _ => Err(Node {
                value: node.value,
                pointer: format!("{}/type", node.pointer),
            }
            .expected(TYPES)),
        }
    }

    fn json_schema(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let fields = node.fields(&[
            "type",
            "json_schema",
            "style",
            "any_order",
            "max_whitespace_cnt",
            "excludes",
        ])?;
        if let Some(style) = fields.optional("style")
            && style.text()? != "json"
        {
            return Err(style.unsupported(XML));
        }
        if let Some(excludes) = fields.optional("excludes")
            && !excludes.texts()?.is_empty()
        {
            return Err(excludes.unsupported(
                "texts cannot be excluded from all strings of a schema; a `pattern` of the schema can exclude them",
            ));
        }
        let mut options = self.options.clone();
        if fields.flag("any_order")? {
            options = options.with_order(KeyOrder::Any);
        }
        if let Some(node) = fields.optional("max_whitespace_cnt") {
            let most = node.count()?;
            if most < longest_whitespace(options.form().whitespace) {
                options = options.with_whitespace(match most {
                    0 => Whitespace::Compact,
                    _ => Whitespace::Bounded {
                        max: u16::try_from(most).unwrap_or(u16::MAX),
                    },
                });
            }
        }
        let schema = fields.required("json_schema")?;
        self.schema(schema.value, &schema, &options)
    }

    fn schema(&mut self, schema: &Value, at: &Node<'_>, options: &SchemaOptions) -> Result<ExprId> {
        let prefix = format!("value-{} ", self.reports.len() + 1);
        let part = PartOptions {
            prefix: &prefix,
            ..PartOptions::default()
        };
        let part = json_schema::compile_part(schema, options, part, &mut self.builder).map_err(
            |source| StructuralTagError::Schema {
                pointer: at.pointer.clone(),
                source,
            },
        )?;
        self.take_form(part.form, at)?;
        self.reports.push((at.pointer.clone(), part.report));
        Ok(part.root)
    }

    /// One form for all JSON of a text.
    fn take_form(&mut self, form: JsonForm, at: &Node<'_>) -> Result<()> {
        if { self.form.as_ref() }.is_some_and(|known| *known != form) {
            return Err(StructuralTagError::Forms {
                pointer: at.pointer.clone(),
            });
        }
        self.form = Some(form);
        Ok(())
    }

    fn regex(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let options = RegexOptions::json_schema().with_search(false);
        let set =
            regex::parse(node.text()?, options).map_err(|source| StructuralTagError::Regex {
                pointer: node.pointer.clone(),
                source,
            })?;
        Ok(self.regular(set))
    }

    fn grammar(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let options = GbnfOptions {
            schema: self.options.clone(),
            ..GbnfOptions::default()
        };
        let grammar =
            gbnf::parse(node.text()?, &options).map_err(|source| StructuralTagError::Grammar {
                pointer: node.pointer.clone(),
                source: Box::new(source),
            })?;
        if has_json(&grammar) {
            self.take_form(grammar.form().clone(), node)?;
        }
        self.grammars += 1;
        let prefix = format!("grammar-{} ", self.grammars);
        Ok(self.builder.embed(&grammar, &prefix))
    }

    fn any_text(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let fields = node.fields(&["type", "excludes", "max_tokens", "max_chars"])?;
        let mut set = free_text(&fields.texts("excludes")?, ends, ends);
        if let Some(most) = fields.optional("max_chars") {
            let few = Regular::repeat(Regular::Chars(CharSet::all()), 0, Some(most.count()?));
            set = Regular::Intersection([set, few].into());
        }
        let text = self.regular(set);
        Ok(match fields.optional("max_tokens") {
            Some(most) => self.builder.guided(Guide::MaxTokens(most.count()?), text),
            None => text,
        })
    }

    fn rules(&mut self, node: &Node<'_>, of_tokens: bool, ends: &[&str]) -> Result<ExprId> {
        let excludes = if of_tokens {
            "exclude_tokens"
        } else {
            "excludes"
        };
        let fields = node.fields(&["type", "rules", "loop", excludes])?;
        let repeats = fields
            .optional("loop")
            .map_or(Ok(true), |node| node.flag())?;
        let mut arms = Vec::new();
        for rule in fields.required("rules")?.list()? {
            let [pattern, content] = &rule.list()?[..] else {
                return Err(rule.expected("a pattern and a format"));
            };
            let trigger = match of_tokens {
                true => Trigger::Token(pattern.token()?),
                false => Trigger::Text(pattern.some_text()?.to_owned()),
            };
            let rest = self.format(content, if repeats { &[] } else { ends })?;
            arms.push(Arm { trigger, rest });
        }
        let dispatch = Dispatch {
            arms,
            excludes: match of_tokens {
                true => excluded_tokens(&fields)?,
                false => fields.texts("excludes")?,
            },
            at_least_one: false,
            stop_after_first: !repeats,
        };
        Ok(self.dispatch(dispatch, ends))
    }

    /// Free text, in which what follows a trigger is one of its arms.
    fn dispatch(&mut self, dispatch: Dispatch<'_>, ends: &[&str]) -> ExprId {
        let triggers = dispatch.arms.iter().filter_map(|arm| match &arm.trigger {
            Trigger::Text(text) => Some(text.clone()),
            Trigger::Token(_) => None,
        });
        let triggers: Vec<String> = triggers.collect();
        let triggers: Vec<&str> = triggers.iter().map(String::as_str).collect();
        let excluded = [&dispatch.excludes[..], &triggers].concat();
        let before = self.regular(free_text(&excluded, ends, &triggers));
        let last = self.regular(free_text(&excluded, ends, ends));
        let arms: Vec<ExprId> = { dispatch.arms.into_iter() }
            .map(|arm| {
                let trigger = match &arm.trigger {
                    Trigger::Text(text) => self.marker(text),
                    Trigger::Token(token) => self.builder.expr(Expr::Token(token.clone())),
                };
                self.builder.sequence([trigger, arm.rest])
            })
            .collect();
        let arm = self.builder.choice(arms);
        let later = self.builder.sequence([before, arm]);
        match (dispatch.at_least_one, dispatch.stop_after_first) {
            (true, true) => arm,
            (false, true) => self.builder.choice([later, last]),
            (true, false) => {
                let more = self.builder.repeat(later, 0, None);
                self.builder.sequence([arm, more, last])
            }
            (false, false) => {
                let all = self.builder.repeat(later, 0, None);
                self.builder.sequence([all, last])
            }
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

    /// What follows the beginning of a tag; `outer` may follow the tag itself.
    fn content_and_end(&mut self, tag: &Tag<'_>, outer: &[&str]) -> Result<ExprId> {
        if let Some(token) = token_of(&tag.end)? {
            let content = self.format(&tag.content, &[])?;
            let end = self.builder.expr(Expr::Token(token));
            return Ok(self.builder.sequence([content, end]));
        }
        let ends = match tag.end.value {
            Value::Array(_) => {
                let ends = tag.end.list()?;
                let ends = ends.iter().map(Node::text).collect::<Result<Vec<_>>>()?;
                match ends.is_empty() {
                    true => return Err(tag.end.expected("one end at least")),
                    false => ends,
                }
            }
            _ => vec![tag.end.text()?],
        };
        let told: Vec<&str> = ends.iter().copied().filter(|end| !end.is_empty()).collect();
        let content = match told.is_empty() {
            true => self.format(&tag.content, outer)?,
            false => self.format(&tag.content, &told)?,
        };
        let ends: Vec<ExprId> = ends.into_iter().map(|end| self.marker(end)).collect();
        let end = self.builder.choice(ends);
        Ok(self.builder.sequence([content, end]))
    }

    fn marker(&mut self, text: &str) -> ExprId {
        self.markers.marker(&mut self.builder, text)
    }

    fn regular(&mut self, set: Regular) -> ExprId {
        self.builder.expr(Expr::Regular(set))
    }
}

const XML: &str = "arguments as XML are written by formats of tools: give them as `tools`";

/// A tag, which within a list of tags needs no type.
struct Tag<'v> {
    begin: Node<'v>,
    content: Node<'v>,
    end: Node<'v>,
}

impl<'v> Tag<'v> {
    fn of(node: &Node<'v>) -> Result<Self> {
        let fields = node.fields(&["type", "begin", "content", "end"])?;
        if let Some(kind) = fields.optional("type")
            && kind.value != "tag"
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

/// The token that a beginning or an end is, where it is no text.
fn token_of(node: &Node<'_>) -> Result<Option<TokenTerminal>> {
    if !node.value.is_object() {
        return Ok(None);
    }
    let fields = node.fields(&["type", "token"])?;
    let kind = fields.required("type")?;
    if kind.value != "token" {
        return Err(kind.expected("\"token\""));
    }
    fields.required("token")?.token().map(Some)
}

/// The one trigger that a tag begins with, and the rest of its beginning.
fn split_at_trigger<'v>(begin: &Node<'v>, triggers: &[&str]) -> Result<(Trigger, &'v str)> {
    let text = begin.text()?;
    let mut found = triggers
        .iter()
        .filter(|trigger| text.starts_with(**trigger));
    match (found.next(), found.next()) {
        (Some(trigger), None) => {
            let rest = &text[trigger.len()..];
            Ok((Trigger::Text((*trigger).to_owned()), rest))
        }
        (None, _) => Err(begin.expected("a beginning with one of the `triggers`")),
        (Some(_), Some(_)) => {
            Err(begin.expected("a beginning with one of the `triggers`, not with several"))
        }
    }
}

fn elements<'v>(fields: &Fields<'v>) -> Result<Vec<Node<'v>>> {
    let elements = fields.required("elements")?;
    let list = elements.list()?;
    match list.is_empty() {
        true => Err(elements.expected("one element at least")),
        false => Ok(list),
    }
}

/// Tokens that free text must not have. Special ones never come in it, and the texts of others are left out.
fn excluded_tokens<'v>(fields: &Fields<'v>) -> Result<Vec<&'v str>> {
    let Some(node) = fields.optional("exclude_tokens") else {
        return Ok(Vec::new());
    };
    let named = |token: &Node<'v>| {
        token.some_text().map_err(|_| {
            token.unsupported("tokens are excluded from free text by their names, not by ids")
        })
    };
    node.list()?.iter().map(named).collect()
}

/// Text without `excludes` and `ends`, told from what follows it.
fn free_text(excludes: &[&str], ends: &[&str], following: &[&str]) -> Regular {
    let markers = [excludes, ends].concat();
    text_without(&markers, following).others()
}

/// The most whitespace at one place.
fn longest_whitespace(whitespace: Whitespace) -> u32 {
    match whitespace {
        Whitespace::Compact => 0,
        Whitespace::Spaced | Whitespace::OneSpace => 1,
        Whitespace::Bounded { max } => max.into(),
        Whitespace::Indented { .. } => u32::MAX,
    }
}

/// Whether the form of JSON matters to a grammar.
fn has_json(grammar: &Grammar) -> bool {
    let is_json = |expr: &Expr| {
        matches!(
            expr,
            Expr::String(_) | Expr::Number(_) | Expr::Object(_) | Expr::Array(_)
        )
    };
    grammar.exprs().iter().any(is_json)
}
