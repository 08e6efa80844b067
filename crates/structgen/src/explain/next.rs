//! What may come after the beginning of a text.

use structgen_constraint::Matcher;
use structgen_frontend::json_schema::violations;

use super::outline::{Next as NextJson, Outline};
use super::{Explainer, RuleAt};
use crate::Result;
use crate::checker::in_words;

/// The most bytes between the end of a member and the quote of the next key.
const LONGEST_GAP: usize = 64;

/// The longest forced text that is reported.
const LONGEST_FORCED: usize = 200;

/// What may come after the beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// The bytes that may come, sorted.
    pub bytes: Vec<u8>,
    /// Whether the text may end.
    pub may_end: bool,
    /// What has to come, whatever is chosen; empty where there is a choice at once.
    pub forced: Vec<u8>,
    /// The JSON Pointer of the innermost value that is open, where the text is to be JSON of a schema.
    pub value: Option<String>,
    /// Where a key may come: the keys that remain, in the order of the schema.
    pub keys: Vec<NextKey>,
    /// Whether keys may come that the schema does not name.
    pub other_keys: bool,
    /// The rules of a grammar that may go on, each with the bytes that may come of it.
    pub rules: Vec<NextRule>,
}

/// A key that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextKey {
    /// The key.
    pub key: String,
    /// Whether the object is not valid without it.
    pub is_required: bool,
}

/// A rule that may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextRule {
    /// The rule.
    pub rule: RuleAt,
    /// The bytes that may come of it, sorted.
    pub bytes: Vec<u8>,
}

impl Next {
    /// The bytes that may come in words: "`,`, a digit or the end of the text".
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(&self.bytes, self.may_end)
    }
}

impl NextRule {
    /// The bytes that may come of the rule in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(&self.bytes, false)
    }
}

impl Explainer {
    /// What may come after the beginning of a text; none where the text does not match so far.
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
    /// [`Error::Matcher`](crate::Error::Matcher) when a limit is exceeded.
    pub fn next(&self, beginning: &[u8]) -> Result<Option<Next>> {
        let mut matcher = self.checker().matcher();
        // What may come is what could stand after the text: a byte that is not in UTF-8 never may.
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
        let rules = rules.map(|rules| rules.expected(beginning, &refusal.expected));
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
                NextJson::InKey { object, .. } => Some(object),
                _ => outline.innermost(beginning.len()),
            };
            next.value = innermost.map(|place| outline.pointer(place));
            self.add_keys(&mut next, &mut matcher, beginning, &outline)?;
        }
        Ok(Some(next))
    }

    /// What comes after the text whatever is chosen.
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

    /// The bytes that may come after a text; none where it may end, too, or does not match so far.
    fn bytes_after(&self, matcher: &mut Matcher, text: &[u8]) -> Result<Vec<u8>> {
        let mut refused = text.to_vec();
        refused.push(0xFF);
        Ok(match matcher.check_text(&refused)? {
            Some(refusal) if refusal.offset == text.len() && !refusal.may_end => refusal.expected,
            _ => Vec::new(),
        })
    }

    /// Adds the keys that may come, where one may.
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
            NextJson::Other => return Ok(()),
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

    /// The text with what has to come before a key, its quote included; none where no key may come.
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
                // Whitespace that has to be there.
                match self.bytes_after(matcher, &text)?.first() {
                    Some(&byte) if byte.is_ascii_whitespace() => [&text[..], &[byte]].concat(),
                    _ => return Ok(None),
                }
            };
        }
        Ok(None)
    }

    /// The keys that the object lacks as far as it is written.
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

    /// Whether a key may come that is none of the given texts: after the quote, or after a beginning of one of them.
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
