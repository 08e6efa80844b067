//! Strings: combines lengths, patterns and exclusions.

use std::collections::BTreeSet;

use structgen_grammar::{CharSet, Regular, StringContent, StringShape};

use super::branch::Branch;
use super::lengths::Lengths;
use super::{Canonicalizer, Strings, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::formats::Format;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Atom, TracedAtom};

/// The maximum number of strings of a pattern that is treated as a list.
const FEW_TEXTS: usize = 256;

/// What a branch asserts about strings, apart from those that it excludes.
#[derive(Default)]
struct StringRules<'b> {
    shape: StringShape,
    patterns: Vec<&'b Regular>,
    /// Formats, and whether the strings have them.
    formats: Vec<(&'static Format, bool)>,
    /// The name of the first format, enforced or not.
    format: Option<&'b str>,
    excluded: BTreeSet<&'b str>,
}

impl<'b> StringRules<'b> {
    fn of(atoms: &'b [TracedAtom<'_>]) -> Self {
        let mut rules = Self::default();
        let shape = &mut rules.shape;
        for traced in atoms {
            match &traced.atom {
                Atom::MinLength(count) => shape.min_length = shape.min_length.max(*count),
                Atom::MaxLength(count) => {
                    shape.max_length = Some(shape.max_length.map_or(*count, |max| max.min(*count)));
                }
                Atom::Text(regular) if !rules.patterns.contains(&regular) => {
                    rules.patterns.push(regular);
                }
                Atom::HasFormat(format, has) => rules.formats.push((format, *has)),
                Atom::Format(name) => rules.format = rules.format.or(Some(name)),
                Atom::NotValues(values) => {
                    rules
                        .excluded
                        .extend(values.iter().filter_map(|value| match value {
                            Json::String(text) => Some(text.as_ref()),
                            _ => None,
                        }));
                }
                _ => {}
            }
        }
        rules
    }

    /// Whether a string must have a format and must not have it. The sets of a narrowed format do not show this.
    fn contradict(&self) -> bool {
        self.formats.iter().any(|&(format, has)| {
            let mut others = self.formats.iter();
            has && others.any(|&(other, has)| !has && std::ptr::eq(format, other))
        })
    }
}

impl<'j> Canonicalizer<'_, 'j> {
    /// The strings of a branch.
    pub(super) fn finish_strings(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let rules = StringRules::of(&branch.atoms);
        let mut shape = rules.shape.clone();
        if shape.max_length.is_some_and(|max| max < shape.min_length) || rules.contradict() {
            return Ok(());
        }
        let mut arms: Vec<Regular> = rules.patterns.iter().map(|&set| set.clone()).collect();
        for &(format, has) in &rules.formats {
            let set = self.set_of_format(format, has);
            if !arms.contains(&set) {
                arms.push(set);
            }
        }
        let listed = if shape.max_length == Some(0) {
            Some([String::new()].into())
        } else {
            arms.iter().find_map(texts)
        };
        if let Some(texts) = listed {
            for text in texts {
                if !rules.excluded.contains(text.as_str()) && self.fits(&text, &rules)? {
                    out.add_literal(&text);
                }
            }
            return Ok(());
        }
        let mut outside = Vec::new();
        for &text in &rules.excluded {
            if self.fits(text, &rules)? {
                outside.push(Regular::literal(text));
            }
        }
        if !outside.is_empty() {
            let listed = match outside.len() {
                1 => outside.remove(0),
                _ => Regular::union(outside),
            };
            arms.push(Regular::Complement(listed.into()));
        }
        if self.is_proven_empty_text(&arms, &shape)? {
            return Ok(());
        }
        shape.content = match arms.len() {
            0 => StringContent::Any,
            1 => StringContent::Regular(arms.remove(0)),
            _ => StringContent::Regular(Regular::Intersection(arms.into())),
        };
        out.add_strings(Strings {
            shape,
            source: branch.source(),
            format: rules.format.map(Into::into),
            related: None,
        });
        Ok(())
    }

    /// Whether it is proven that no string with these lengths is in all the sets.
    fn is_proven_empty_text(
        &mut self,
        arms: &[Regular],
        shape: &StringShape,
    ) -> Result<bool, SchemaError> {
        let any_length = (shape.min_length, shape.max_length) == (0, None);
        let mut all = arms.to_vec();
        if !any_length {
            all.push(Regular::repeat(
                Regular::Chars(CharSet::all()),
                shape.min_length,
                shape.max_length,
            ));
        }
        let plain =
            |arm: &Regular| !matches!(arm, Regular::Complement(_) | Regular::Intersection(_));
        if arms.is_empty() || (all.len() == 1 && plain(&all[0])) {
            return Ok(false);
        }
        self.step(1)?;
        if let [only] = arms
            && let Some(lengths) = Lengths::of(only)
            && lengths.meet(shape.min_length, shape.max_length)
        {
            return Ok(false);
        }
        let whole = Regular::Intersection(all.into());
        Ok(self.machines.is_empty(&whole))
    }

    /// Whether the string meets the rules, even if it is excluded. This is exact, unlike the sets of formats.
    fn fits(&mut self, text: &str, rules: &StringRules<'_>) -> Result<bool, SchemaError> {
        let length = text.chars().count();
        let long_enough = length >= rules.shape.min_length as usize;
        let max_length = rules.shape.max_length;
        let short_enough = max_length.is_none_or(|max| length <= max as usize);
        if !long_enough || !short_enough {
            return Ok(false);
        }
        for regular in &rules.patterns {
            if !self.matches(regular, text)? {
                return Ok(false);
            }
        }
        for &(format, has) in &rules.formats {
            if !self.format_holds(format, has, text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the string is in the set.
    pub(super) fn matches(&mut self, regular: &Regular, text: &str) -> Result<bool, SchemaError> {
        let left = self.max_steps.saturating_sub(self.steps);
        let mut budget = left;
        let found = self.machines.contains(regular, text, &mut budget);
        self.step(usize::try_from(left - budget).unwrap_or(usize::MAX))?;
        match found {
            Some(found) => Ok(found),
            None => self.step(usize::MAX / 2).map(|()| false),
        }
    }
}

/// The strings of a set, if they are obviously few.
fn texts(regular: &Regular) -> Option<BTreeSet<String>> {
    match regular {
        Regular::Never => Some(BTreeSet::new()),
        Regular::Empty => Some([String::new()].into()),
        Regular::Bytes(bytes) => Some([String::from_utf8(bytes.to_vec()).ok()?].into()),
        Regular::Chars(set) => {
            let size = |&(low, high): &(char, char)| high as usize - low as usize + 1;
            let count: usize = set.ranges().iter().map(size).sum();
            if count > 16 {
                return None;
            }
            let chars = set.ranges().iter().flat_map(|&(low, high)| low..=high);
            Some(chars.map(String::from).collect())
        }
        Regular::Union(arms) => {
            let mut all = BTreeSet::new();
            for arm in arms.iter() {
                all.extend(texts(arm)?);
                if all.len() > FEW_TEXTS {
                    return None;
                }
            }
            Some(all)
        }
        Regular::Concat(parts) => {
            let mut all = BTreeSet::from([String::new()]);
            for part in parts.iter() {
                let next = texts(part)?;
                if all.len() * next.len() > FEW_TEXTS {
                    return None;
                }
                let join = |before: &String| {
                    let before = before.clone();
                    next.iter()
                        .map(move |text| format!("{before}{text}"))
                        .collect::<Vec<_>>()
                };
                all = all.iter().flat_map(join).collect();
            }
            Some(all)
        }
        Regular::Repeat {
            body,
            min: 0,
            max: Some(1),
        } => {
            let mut all = texts(body)?;
            all.insert(String::new());
            Some(all)
        }
        _ => None,
    }
}
