//! Checks that the parts of a format can be distinguished from one another.

use std::collections::BTreeSet;

use structgen_frontend::regex::{self, RegexOptions};

use super::{Call, Enclosed, Marker, MemberContent, Position, ToolFormat, core};
use crate::FormatError;
use crate::tool::is_name_char;

/// The maximum length of a marker in bytes, and the maximum number of its texts.
const LONGEST: usize = 500;
const MOST: usize = 8;

impl ToolFormat {
    pub(super) fn check(&self) -> Result<(), FormatError> {
        self.check_sizes()?;
        if self.name.is_empty() {
            return Err(FormatError::entry("name", "a format has a name"));
        }
        if let Some(reasoning) = &self.reasoning {
            check_enclosed("reasoning", reasoning)?;
        }
        if let Some(preamble) = &self.preamble {
            check_enclosed("preamble", preamble)?;
        }
        let has_end = self.text.end.texts().any(|end| !end.is_empty());
        if !self.encloses_text() && (has_end || self.preamble.is_some()) {
            let reason = "text that begins with nothing has no end and no preamble of its own";
            return Err(FormatError::entry("text", reason));
        }
        self.check_openings()?;
        self.check_trigger()?;
        self.check_call()?;
        self.check_next()
    }

    fn check_sizes(&self) -> Result<(), FormatError> {
        let mut markers = vec![
            self.calls.trigger.as_str(),
            self.call.begin(),
            self.call.end(),
        ];
        let mut several = vec![&self.calls.begin, &self.calls.separator, &self.calls.end];
        several.extend([&self.text.begin, &self.text.end]);
        for enclosed in [&self.reasoning, &self.preamble].into_iter().flatten() {
            several.extend([&enclosed.begin, &enclosed.end]);
        }
        match &self.call {
            Call::Object { members, .. } => {
                if members.len() > MOST {
                    return Err(FormatError::entry("call.members", "there are too many"));
                }
                markers.extend(members.iter().flat_map(|it| [it.key.as_str(), &it.value]));
            }
            Call::Json { id, name_end, .. } => {
                several.push(name_end);
                markers.extend(id.iter().flat_map(|id| [id.begin.as_str(), &id.pattern]));
            }
            Call::Tagged {
                name_end,
                parameter,
                ..
            } => {
                several.extend([name_end, &parameter.key_end, &parameter.end]);
                markers.push(&parameter.begin);
            }
            Call::Quoted { quote, .. } => markers.push(quote),
            Call::Python { .. } => {}
        }
        for marker in several {
            markers.extend(marker.texts());
            if marker.texts().count() > MOST {
                return Err(FormatError::entry("call", "a marker has more than 8 texts"));
            }
        }
        match markers.iter().find(|marker| marker.len() > LONGEST) {
            Some(_) => Err(FormatError::entry(
                "call",
                "a marker has more than 500 bytes",
            )),
            None => Ok(()),
        }
    }

    /// Checks that everything that may open the output can be distinguished.
    fn check_openings(&self) -> Result<(), FormatError> {
        let mut openings: Vec<(&'static str, String)> = Vec::new();
        let enclosed = self.reasoning.as_ref().map(|it| ("reasoning", &it.begin));
        let preamble = self.preamble.as_ref().map(|it| ("preamble", &it.begin));
        let text = self.encloses_text().then_some(("text", &self.text.begin));
        for (entry, begin) in enclosed.into_iter().chain(preamble).chain(text) {
            openings.extend(entries(entry, begin));
        }
        if self.encloses_text() || self.calls.position == Position::Start {
            openings.extend(self.triggers().iter().map(|it| ("calls", squeezed(it))));
        }
        check_apart(&openings)
    }

    fn check_trigger(&self) -> Result<(), FormatError> {
        let trigger = &self.calls.trigger;
        if trigger.is_empty() {
            if self.calls.position == Position::Anywhere {
                let reason = "without a trigger, calls cannot be told from text";
                return Err(FormatError::entry("calls.trigger", reason));
            }
            if self
                .triggers()
                .iter()
                .any(|trigger| core(trigger).is_empty())
            {
                let reason = "calls begin with nothing, so that they cannot be told from text";
                return Err(FormatError::entry("calls.begin", reason));
            }
            return Ok(());
        }
        if trigger.starts_with(crate::is_space) {
            let reason = "a trigger begins with something else than whitespace";
            return Err(FormatError::entry("calls.trigger", reason));
        }
        let call = self.call.opening();
        let mut begins = self.calls.begin.texts();
        if begins.all(|begin| format!("{begin}{call}").starts_with(trigger.as_str())) {
            Ok(())
        } else {
            let reason = "calls do not begin with the trigger: `calls.begin` and `call.begin` together have to";
            Err(FormatError::entry("calls.trigger", reason))
        }
    }

    fn check_call(&self) -> Result<(), FormatError> {
        match &self.call {
            Call::Object { members, .. } => {
                for (content, what) in [
                    (MemberContent::Name, "the name"),
                    (MemberContent::Arguments, "the arguments"),
                ] {
                    if members.iter().filter(|it| it.holds == content).count() != 1 {
                        let reason = format!("exactly one member holds {what}");
                        return Err(FormatError::entry("call.members", reason));
                    }
                }
                for (index, member) in members.iter().enumerate() {
                    if members[..index].iter().any(|it| it.key == member.key) {
                        let reason = "two members have the same key";
                        return Err(FormatError::entry("call.members", reason));
                    }
                    if member.holds == MemberContent::Id {
                        check_pattern("call.members", &member.value)?;
                    }
                    let is_needed =
                        matches!(member.holds, MemberContent::Name | MemberContent::Arguments);
                    if is_needed && member.optional {
                        let reason = "name and arguments are not optional";
                        return Err(FormatError::entry("call.members", reason));
                    }
                }
            }
            Call::Json {
                begin,
                id,
                name_end,
                ..
            } => {
                if let Some(id) = id {
                    check_pattern("call.id", &id.pattern)?;
                    if !begin.ends_with(id.prefix.as_deref().unwrap_or_default()) {
                        let reason = "a prefix is the end of `call.begin`";
                        return Err(FormatError::entry("call.id", reason));
                    }
                    if core(&id.begin).is_empty() {
                        let reason = "an id begins with something that tells it from the name";
                        return Err(FormatError::entry("call.id", reason));
                    }
                }
                for text in name_end.texts() {
                    check_behind_name("call.name_end", text)?;
                }
                check_apart(&entries("call.name_end", name_end))?;
            }
            Call::Tagged {
                name_end,
                parameter,
                end,
                ..
            } => {
                for text in name_end.texts() {
                    check_behind_name("call.name_end", text)?;
                }
                check_behind_name("call.parameter.begin", &parameter.begin)?;
                check_behind_name("call.end", end)?;
                for (entry, marker) in [
                    ("call.parameter.begin", &parameter.begin),
                    ("call.end", end),
                ] {
                    if core(marker).is_empty() {
                        return Err(FormatError::entry(
                            entry,
                            "it has to be more than whitespace",
                        ));
                    }
                }
                if parameter.key_end.texts().any(|text| core(text).is_empty()) {
                    let reason = "it has to be more than whitespace";
                    return Err(FormatError::entry("call.parameter.key_end", reason));
                }
                check_one_core("call.parameter.end", &parameter.end)?;
                if parameter.end.first().contains('"') {
                    let reason = "a quote in it could not be told from one of JSON";
                    return Err(FormatError::entry("call.parameter.end", reason));
                }
                check_apart(&[
                    ("call.parameter.begin", squeezed(&parameter.begin)),
                    ("call.end", squeezed(end)),
                ])?;
            }
            Call::Quoted { quote, .. } => {
                let in_use = |c: char| ",:{}[]".contains(c) || c.is_whitespace();
                if quote.is_empty()
                    || quote.contains(in_use)
                    || quote.starts_with(|c: char| c == '-' || c.is_alphanumeric())
                {
                    let reason =
                        "a quote is a text that neither a list nor a number or word could have";
                    return Err(FormatError::entry("call.quote", reason));
                }
            }
            Call::Python { .. } => {}
        }
        Ok(())
    }

    /// Checks that everything that may follow a call can be distinguished.
    fn check_next(&self) -> Result<(), FormatError> {
        let call = self.call.opening();
        let mut next = Vec::new();
        if self.calls.parallel {
            for separator in self.calls.separator.texts() {
                let text = squeezed(&format!("{separator}{call}"));
                if text.is_empty() && self.names_begin_calls() {
                    continue;
                }
                if text.is_empty() {
                    let reason = "between two calls there is nothing but whitespace";
                    return Err(FormatError::entry("calls.separator", reason));
                }
                // Texts that differ in whitespace only count as equal.
                if !next.iter().any(|(_, known)| *known == text) {
                    next.push(("calls.separator", text));
                }
            }
        }
        check_apart(&next)?;
        // One end may be a prefix of another: the longest match counts.
        for end in entries("calls.end", &self.calls.end) {
            let mut all = next.clone();
            all.push(end);
            check_apart(&all)?;
        }
        Ok(())
    }
}

impl ToolFormat {
    /// Whether a call is recognised as the next one by its name alone: it follows whitespace, and no end of all calls
    /// starts like a name.
    fn names_begin_calls(&self) -> bool {
        let end = |end: &str| core(end).starts_with(|c| !is_name_char(c));
        let spaced = |text: &str| !text.is_empty();
        matches!(self.call, Call::Python { .. })
            && self.calls.end.texts().all(end)
            && self.calls.separator.texts().all(spaced)
    }
}

/// A marker without its whitespace, for comparisons in which whitespace does not matter.
pub(crate) fn squeezed(marker: &str) -> String {
    marker.chars().filter(|&c| !crate::is_space(c)).collect()
}

/// The texts of a marker without whitespace, each once, except the empty text.
fn entries(entry: &'static str, marker: &Marker) -> Vec<(&'static str, String)> {
    let texts: BTreeSet<String> = marker.texts().map(squeezed).collect();
    let some = texts.into_iter().filter(|text| !text.is_empty());
    some.map(|text| (entry, text)).collect()
}

fn check_apart(markers: &[(&'static str, String)]) -> Result<(), FormatError> {
    for (index, (entry, marker)) in markers.iter().enumerate() {
        for (other, earlier) in &markers[..index] {
            if marker.starts_with(earlier.as_str()) || earlier.starts_with(marker.as_str()) {
                let reason = format!("{marker:?} cannot be told from {earlier:?} of `{other}`");
                return Err(FormatError::entry(entry, reason));
            }
        }
    }
    Ok(())
}

fn check_enclosed(entry: &'static str, enclosed: &Enclosed) -> Result<(), FormatError> {
    if enclosed.begin.texts().any(|begin| core(begin).is_empty()) {
        return Err(FormatError::entry(
            entry,
            "it has to begin with more than whitespace",
        ));
    }
    check_one_core(entry, &enclosed.end)
}

/// Checks that the texts of an end differ in whitespace only.
fn check_one_core(entry: &'static str, marker: &Marker) -> Result<(), FormatError> {
    let first = core(marker.first());
    if first.is_empty() || marker.texts().any(|text| core(text) != first) {
        let reason =
            "its end has to be more than whitespace, and the same in all its texts but for that";
        return Err(FormatError::entry(entry, reason));
    }
    Ok(())
}

fn check_behind_name(entry: &'static str, marker: &str) -> Result<(), FormatError> {
    if marker.starts_with(is_name_char) {
        let reason = "a name could go on with its first character";
        return Err(FormatError::entry(entry, reason));
    }
    Ok(())
}

fn check_pattern(entry: &'static str, pattern: &str) -> Result<(), FormatError> {
    regex::parse(pattern, RegexOptions::rust())
        .map(drop)
        .map_err(|error| FormatError::entry(entry, error.to_string()))
}
