//! What the form of a profile refuses although no keyword does: its limits, and strings left out of a format.

use structgen_frontend::json_schema::{self, Effect, Profile};
use structgen_grammar::{JsonForm, Whitespace};

use super::Schema;
use super::outline::Outline;
use crate::{Checker, Constraint};

/// A limit of a profile on how values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormLimit {
    /// What is limited, as a plural.
    pub what: &'static str,
    /// The maximum number.
    pub limit: u64,
    /// The profile.
    pub profile: Profile,
}

/// A format of which a profile accepts only a part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartialFormat {
    /// The JSON Pointer of the keyword, as `#/properties/host/format`.
    pub keyword: String,
    /// What is left out.
    pub left_out: &'static str,
    /// The profile.
    pub profile: Profile,
}

/// How the values of a constraint may be written.
#[derive(Debug)]
pub(super) struct Form {
    form: JsonForm,
    profile: Profile,
    partial: Vec<PartialFormat>,
}

impl Form {
    pub(super) fn of(constraint: &Constraint) -> Self {
        let report = constraint.report();
        let entries = report.narrowed().filter(|entry| entry.keyword == "format");
        let partial = entries.filter_map(|entry| match entry.effect {
            Effect::Narrowed { how } => Some(PartialFormat {
                keyword: entry.pointer(),
                left_out: how,
                profile: report.profile,
            }),
            _ => None,
        });
        Self {
            form: constraint.grammar().form().clone(),
            profile: report.profile,
            partial: partial.collect(),
        }
    }

    /// Returns the limit that the text exceeds at a byte, if it does.
    pub(super) fn limit(&self, text: &[u8], offset: usize, outline: &Outline) -> Option<FormLimit> {
        let (before, &byte) = (&text[..offset], text.get(offset)?);
        let (what, limit, used) = match byte {
            b'0'..=b'9' => self.digits(before),
            b'[' | b'{' => {
                let depth = outline.depth(outline.innermost(offset)?);
                (
                    "levels of nesting",
                    self.form.max_depth.into(),
                    depth as u64,
                )
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                let Whitespace::Bounded { max } = self.form.whitespace else {
                    return None;
                };
                let used = run(before, |byte| b" \t\n\r".contains(&byte));
                ("characters of whitespace in one place", max.into(), used)
            }
            _ => return None,
        };
        (limit > 0 && used >= limit).then_some(FormLimit {
            what,
            limit,
            profile: self.profile,
        })
    }

    /// Returns what kind of digits the number at the end of a text ends with, their limit, and how many there are.
    fn digits(&self, before: &[u8]) -> (&'static str, u64, u64) {
        let numbers = &self.form.numbers;
        let count = run(before, |byte| byte.is_ascii_digit());
        let rest = &before[..before.len() - count as usize];
        match rest {
            [.., b'.'] => (
                "digits after the decimal point",
                numbers.fraction_digits.into(),
                count,
            ),
            [.., b'e' | b'E'] | [.., b'e' | b'E', b'+' | b'-'] => (
                "digits of an exponent",
                numbers.exponent_digits.into(),
                count,
            ),
            _ => {
                // A number that may have a fraction has no more digits before the point than after it.
                let most = u64::from(numbers.integer_digits);
                let with_fraction = match numbers.exponent {
                    true => most,
                    false => most.min(numbers.fraction_digits.into()),
                };
                let limit = if count < most { with_fraction } else { most };
                ("digits before the decimal point", limit, count)
            }
        }
    }

    /// Returns whether the text may be refused at a byte although it violates no keyword: at a limit, or in a string if
    /// some format is accepted in part.
    pub(super) fn may_be_undecided(&self, text: &[u8], offset: usize, outline: &Outline) -> bool {
        let may_be_left_out = !self.partial.is_empty() && outline.string_at(text, offset).is_some();
        may_be_left_out || self.limit(text, offset, outline).is_some()
    }

    /// Returns the format of which the profile leaves out the string that contains a byte.
    pub(super) fn partial_format(
        &self,
        schema: &Schema,
        text: &[u8],
        offset: usize,
        outline: &Outline,
    ) -> Option<PartialFormat> {
        if self.partial.is_empty() {
            return None;
        }
        let string = outline.string_at(text, offset)?;
        let document: serde_json::Value = serde_json::from_str(&schema.document).ok()?;
        let leaves_out = |partial: &&PartialFormat| {
            let pointer = partial.keyword.strip_prefix('#')?;
            let format = document.pointer(pointer)?;
            let alone = serde_json::json!({"type": "string", "format": format});
            let alone = alone.to_string();
            let quoted = serde_json::Value::from(&*string).to_string();
            let violated = json_schema::violations(&alone, "", &schema.options, &quoted);
            if !violated.ok()?.is_empty() {
                return None;
            }
            let alone = Constraint::json_schema_str(&alone, &schema.options).ok()?;
            let mismatch = Checker::new(&alone).ok()?.check(quoted.as_bytes()).ok()?;
            Some(mismatch.is_some())
        };
        let mut partial = self.partial.iter();
        partial
            .find(|partial| leaves_out(partial).unwrap_or(false))
            .cloned()
    }
}

/// Returns the number of bytes of a kind at the end of a text.
fn run(text: &[u8], is_one: impl Fn(u8) -> bool) -> u64 {
    text.iter().rev().take_while(|&&byte| is_one(byte)).count() as u64
}
