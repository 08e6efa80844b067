//! What may come after the beginning of a text.

use structgen_constraint::Matcher;
use structgen_frontend::json_schema::violations;

use super::outline::{Next as NextJson, Outline};
use super::rules::MOST_STEPS;
use super::{Explainer, RuleAt};
use crate::Result;
use crate::checker::in_words;

/// Maximum number of bytes between the end of a member and the quote of the next key.
const LONGEST_GAP: usize = 64;

/// The longest forced text to report.
const LONGEST_FORCED: usize = 200;

/// What may come after the beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// The bytes that may come, sorted.
    pub bytes: Vec<u8>,
    /// Whether the text may end.
    pub may_end: bool,
    /// The text that must come next; empty if there is a choice at once.
    pub forced: Vec<u8>,
    /// The JSON Pointer of the innermost open value, if the text should be JSON of a schema.
    pub value: Option<String>,
    /// The remaining keys, if a key may come next, in the order of the schema.
    pub keys: Vec<NextKey>,
    /// Whether keys that the schema does not name may come.
    pub other_keys: bool,
    /// The rules of a grammar that may continue, each with its possible next bytes.
    pub rules: Vec<NextRule>,
}

/// A key that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextKey {
    /// The key.
    pub key: String,
    /// Whether the object is invalid without it.
    pub is_required: bool,
}

/// A rule that may continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextRule {
    /// The rule.
    pub rule: RuleAt,
    /// Its possible next bytes, sorted.
    pub bytes: Vec<u8>,
}

impl Next {
    /// Describes the possible next bytes in words: "`,`, a digit or the end of the text".
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(&self.bytes, self.may_end)
    }
}

impl NextRule {
    /// Describes the rule's possible next bytes in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(&self.bytes, false)
    }
}

impl Explainer {
    /// Returns what may come after the beginning of a text, or `None` if the text does not match so far.
    ///
    /// ```
    /// use structgen::explain::Explainer;
    /// use structgen::{Checker, Constraint, Profile, SchemaOptions};
    ///
    /// let options = SchemaOptions::new().with_profile(Profile::Exact);
    /// let schema = r#"{
    ///     "type": "object", "additionalProperties": false, "required": ["name"],
    ///     "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "nick": {"type": "string"}}
    /// }"#;
    /// let constraint = Constraint::json_schema_str(schema, &options)?;
    /// let checker = Checker::new(&constraint)?;
    /// let explainer = Explainer::new(&constraint, checker).with_schema(schema, "", &options);
    /// let next = explainer.next(br#"{"age": 36, "n"#)?.unwrap();
    /// let keys: Vec<_> = next.keys.iter().map(|key| (&*key.key, key.is_required)).collect();
    /// assert_eq!(keys, [("name", true), ("nick", false)]);
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if a limit is exceeded.
    pub fn next(&self, beginning: &[u8]) -> Result<Option<Next>> {
        let mut matcher = self.checker().matcher();
        // Append a byte that never occurs in UTF-8: what the checker expects in its place is what may come.
        let mut refused = beginning.to_vec();
        refused.push(0xFF);
        let Some(refusal) = matcher.check_text(&refused)? else {
            return Ok(None);
        };
        if refusal.offset < beginning.len() {
            return Ok(None);
        }
        let forced = self.forced(&mut matcher, beginning)?;
        let rules = self.rules.as_ref();
        let rules = rules
            .map(|rules| rules.expected(beginning, &refusal.expected, &mut MOST_STEPS.clone()));
        let mut next = Next {
            bytes: refusal.expected,
            may_end: refusal.may_end,
            forced,
            value: None,
            keys: Vec::new(),
            other_keys: false,
            rules: rules.unwrap_or_default(),
        };
        if self.schema.is_some() {
            let outline = Outline::of(beginning);
            let innermost = match outline.next {
                NextJson::InKey { object, .. } | NextJson::AfterKey { object } => Some(object),
                _ => outline.innermost(beginning.len()),
            };
            next.value = innermost.map(|place| outline.pointer(place));
            self.add_keys(&mut next, &mut matcher, beginning, &outline)?;
        }
        Ok(Some(next))
    }

    /// Returns the text that must follow.
    fn forced(&self, matcher: &mut Matcher, beginning: &[u8]) -> Result<Vec<u8>> {
        let mut forced = Vec::new();
        let mut text = beginning.to_vec();
        while forced.len() < LONGEST_FORCED {
            let bytes = self.bytes_after(matcher, &text)?;
            let &[byte] = &bytes[..] else {
                break;
            };
            forced.push(byte);
            text.push(byte);
        }
        Ok(forced)
    }

    /// Returns the bytes that may come after a text; none if it may also end, or does not match so far.
    fn bytes_after(&self, matcher: &mut Matcher, text: &[u8]) -> Result<Vec<u8>> {
        let mut refused = text.to_vec();
        refused.push(0xFF);
        Ok(match matcher.check_text(&refused)? {
            Some(refusal) if refusal.offset == text.len() && !refusal.may_end => refusal.expected,
            _ => Vec::new(),
        })
    }

    /// Adds the keys that may come, if a key may come next.
    fn add_keys(
        &self,
        next: &mut Next,
        matcher: &mut Matcher,
        beginning: &[u8],
        outline: &Outline,
    ) -> Result<()> {
        let (object, quote, text) = match outline.next {
            NextJson::InKey { object, quote } => (object, quote, beginning.to_vec()),
            NextJson::Key {
                object,
                needs_comma,
            } => match self.before_key(matcher, beginning, needs_comma)? {
                Some(text) => (object, text.len() - 1, text),
                None => return Ok(()),
            },
            NextJson::AfterKey { .. } | NextJson::Other => return Ok(()),
        };
        let written = &text[quote..];
        let required = self.required(outline, object);
        let mut taken: Vec<Vec<u8>> = Vec::new();
        for key in &self.keys {
            let quoted = serde_json::Value::from(key.as_str()).to_string();
            let Some(rest) = quoted.as_bytes().strip_prefix(written) else {
                continue;
            };
            let whole = [&text, rest].concat();
            if matcher.takes_text(&whole)? {
                next.keys.push(NextKey {
                    key: key.clone(),
                    is_required: required.contains(key),
                });
                taken.push(whole);
            }
        }
        next.other_keys = self.has_other_keys(matcher, &text, &taken)?;
        Ok(())
    }

    /// Returns the text with what must come before a key, including its quote; `None` if no key may come.
    fn before_key(
        &self,
        matcher: &mut Matcher,
        beginning: &[u8],
        mut needs_comma: bool,
    ) -> Result<Option<Vec<u8>>> {
        let mut text = beginning.to_vec();
        while text.len() < beginning.len() + LONGEST_GAP {
            let quote = [&text[..], b"\""].concat();
            let comma = [&text[..], b","].concat();
            if !needs_comma && matcher.takes_text(&quote)? {
                return Ok(Some(quote));
            }
            text = if needs_comma && matcher.takes_text(&comma)? {
                needs_comma = false;
                comma
            } else {
                // Whitespace that must come.
                match self.bytes_after(matcher, &text)?.first() {
                    Some(&byte) if byte.is_ascii_whitespace() => [&text[..], &[byte]].concat(),
                    _ => return Ok(None),
                }
            };
        }
        Ok(None)
    }

    /// Returns the required keys that the object still lacks.
    fn required(&self, outline: &Outline, object: usize) -> Vec<String> {
        let (Some(schema), Some(closed)) = (&self.schema, &outline.closed) else {
            return Vec::new();
        };
        let pointer = outline.pointer(object);
        let found = violations(&schema.document, &schema.pointer, &schema.options, closed);
        let lacks = found.unwrap_or_default().into_iter().filter(|violation| {
            violation.instance == pointer && violation.keyword.ends_with("/required")
        });
        lacks.filter_map(|violation| violation.key).collect()
    }

    /// Returns whether a key other than the given texts may come: after the quote, or after a prefix of one of them.
    fn has_other_keys(
        &self,
        matcher: &mut Matcher,
        text: &[u8],
        taken: &[Vec<u8>],
    ) -> Result<bool> {
        const MOST_BEGINNINGS: usize = 200;
        let mut beginnings: Vec<&[u8]> = vec![text];
        for whole in taken {
            beginnings.extend((text.len() + 1..whole.len()).map(|end| &whole[..end]));
        }
        beginnings.sort_unstable();
        beginnings.dedup();
        for beginning in beginnings.into_iter().take(MOST_BEGINNINGS) {
            let is_known = |byte: u8| {
                let goes_on = |whole: &Vec<u8>| {
                    whole.strip_prefix(beginning).and_then(<[u8]>::first) == Some(&byte)
                };
                // A letter may be written as an escape.
                byte == b'\\' || taken.iter().any(goes_on)
            };
            let bytes = self.bytes_after(matcher, beginning)?;
            if bytes.iter().any(|&byte| !is_known(byte)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
