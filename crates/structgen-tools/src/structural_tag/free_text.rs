//! Free text: what it must not contain, and what follows a trigger in it.

use std::collections::BTreeSet;

use structgen_grammar::keyed::KeyedSet;
use structgen_grammar::{CharSet, Expr, ExprId, Guide, Regular, TokenTerminal};

use super::StructuralTagError;
use super::lower::{Lowering, Tag, token_of};
use super::node::{Fields, Node};
use crate::lower::raw::text_without;

type Result<T> = std::result::Result<T, StructuralTagError>;

/// A trigger in free text, and what follows it.
struct Arm {
    trigger: Trigger,
    rest: ExprId,
}

enum Trigger {
    Text(String),
    Token(TokenTerminal),
}

/// The maximum cost of all texts that free text must not contain. Each costs the square of its length and 32 bytes,
/// since each of its beginnings may be excluded before what follows.
const MAX_EXCLUDED: u64 = 1 << 27;

/// The texts that trigger tags, in order of their lengths.
struct Triggers<'v> {
    lengths: BTreeSet<usize>,
    texts: KeyedSet<&'v str>,
}

impl<'v> Triggers<'v> {
    fn of(fields: &Fields<'v>) -> Result<Self> {
        let texts = fields.required("triggers")?.texts()?;
        Ok(Self {
            lengths: texts.iter().map(|text| text.len()).collect(),
            texts: texts.into_iter().collect(),
        })
    }

    /// The only trigger that is a prefix of a tag's `begin`, and the rest of `begin`.
    fn split(&self, begin: &Node<'v>) -> Result<(Trigger, &'v str)> {
        let text = begin.text()?;
        let prefixes = { self.lengths.iter() }.filter_map(|&length| text.split_at_checked(length));
        let mut found = prefixes.filter(|(prefix, _)| self.texts.contains(prefix));
        match (found.next(), found.next()) {
            (Some((trigger, rest)), None) => Ok((Trigger::Text(trigger.to_owned()), rest)),
            (None, _) => Err(begin.expected("a beginning with one of the `triggers`")),
            (Some(_), Some(_)) => {
                Err(begin.expected("a beginning with one of the `triggers`, not with several"))
            }
        }
    }
}

/// Free text with triggers in it.
struct Dispatch<'v> {
    arms: Vec<Arm>,
    excludes: Vec<&'v str>,
    at_least_one: bool,
    stop_after_first: bool,
}

impl Lowering<'_> {
    pub(super) fn any_text(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let fields = node.fields(&["type", "excludes", "max_tokens", "max_chars"])?;
        let mut set = self.free_text(node, &fields.texts("excludes")?, ends, ends)?;
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

    /// Free text with tags that are triggered by texts.
    pub(super) fn triggered_tags(&mut self, node: &Node<'_>, ends: &[&str]) -> Result<ExprId> {
        let fields = node.fields(&[
            "type",
            "triggers",
            "tags",
            "at_least_one",
            "stop_after_first",
            "excludes",
        ])?;
        let triggers = Triggers::of(&fields)?;
        let mut arms = Vec::new();
        for node in fields.required("tags")?.list()? {
            let tag = Tag::of(&node)?;
            let (trigger, beginning) = triggers.split(&tag.begin)?;
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
        self.dispatch(node, dispatch, ends)
    }

    /// Free text with tags that are triggered by tokens.
    pub(super) fn token_triggered_tags(
        &mut self,
        node: &Node<'_>,
        ends: &[&str],
    ) -> Result<ExprId> {
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
        let triggers = triggers.collect::<Result<KeyedSet<_>>>()?;
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
        self.dispatch(node, dispatch, ends)
    }

    /// The older notation: triggered tags whose contents are JSON.
    pub(super) fn legacy(&mut self, node: &Node<'_>, fields: &Fields<'_>) -> Result<ExprId> {
        if let Some(format) = fields.optional("format") {
            return Err(format.expected("either `format` or `structures`"));
        }
        let triggers = Triggers::of(fields)?;
        let mut arms = Vec::new();
        for node in fields.required("structures")?.list()? {
            let tag = node.fields(&["begin", "schema", "end"])?;
            let begin = tag.required("begin")?;
            let (trigger, beginning) = triggers.split(&begin)?;
            let schema = tag.required("schema")?;
            let quoted: String;
            let mut text = schema.schema()?;
            if text.starts_with('"') {
                quoted =
                    serde_json::from_str(text).map_err(|_| schema.expected("a JSON Schema"))?;
                text = &quoted;
            }
            let content = self.schema(text, &schema, self.options)?;
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
        self.dispatch(node, dispatch, &[])
    }

    pub(super) fn rules(
        &mut self,
        node: &Node<'_>,
        of_tokens: bool,
        ends: &[&str],
    ) -> Result<ExprId> {
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
        self.dispatch(node, dispatch, ends)
    }

    /// Free text in which every trigger is followed by the rest of one of its arms.
    fn dispatch(
        &mut self,
        node: &Node<'_>,
        dispatch: Dispatch<'_>,
        ends: &[&str],
    ) -> Result<ExprId> {
        let triggers = dispatch.arms.iter().filter_map(|arm| match &arm.trigger {
            Trigger::Text(text) => Some(text.clone()),
            Trigger::Token(_) => None,
        });
        let triggers: Vec<String> = triggers.collect();
        let triggers: Vec<&str> = triggers.iter().map(String::as_str).collect();
        let excluded = [&dispatch.excludes[..], &triggers].concat();
        let before = self.free_text(node, &excluded, ends, &triggers)?;
        let before = self.regular(before);
        let last = self.free_text(node, &excluded, ends, ends)?;
        let last = self.regular(last);
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
        Ok(match (dispatch.at_least_one, dispatch.stop_after_first) {
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
        })
    }

    /// Text that contains none of `excludes` and `ends`, not even together with what follows it.
    fn free_text(
        &mut self,
        at: &Node<'_>,
        excludes: &[&str],
        ends: &[&str],
        following: &[&str],
    ) -> Result<Regular> {
        let mut seen = KeyedSet::default();
        let markers = excludes.iter().chain(ends).copied();
        let markers: Vec<&str> = markers.filter(|marker| seen.insert(*marker)).collect();
        for marker in &markers {
            let cost = (marker.len() as u64 + 32).saturating_pow(2);
            self.excluded = self.excluded.saturating_add(cost);
        }
        if self.excluded > MAX_EXCLUDED {
            return Err(StructuralTagError::Limit {
                pointer: at.pointer.clone(),
                what: "steps for the texts that free text must not contain",
                limit: MAX_EXCLUDED,
            });
        }
        Ok(text_without(&markers, following).others())
    }
}

/// Tokens to exclude from free text. It never contains special ones, and the texts of others are excluded.
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
