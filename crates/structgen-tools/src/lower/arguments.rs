//! Arguments that are not one JSON object: each has a tag or a keyword.

use rustc_hash::FxHashSet;
use structgen_frontend::json_schema::{Effect, ReportEntry};
use structgen_grammar::json_pointer::escaped;
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{
    CharSet, Expr, ExprId, GrammarBuilder, ObjectShape, Property, Regular, StringContent,
    StringShape,
};
use structgen_regular::{RegularLimits, RegularMachine};

use super::Lowering;
use super::raw::{Excluded, text_before};
use crate::format::{Parameter, core};
use crate::{Tool, ToolError};

/// How the text of an argument between tags is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// As a string, verbatim.
    Raw,
    /// As JSON.
    Json,
    /// As JSON if it is JSON, else as a string.
    Either,
}

/// The objects among the alternatives of an expression.
pub(super) fn objects(builder: &GrammarBuilder, root: ExprId) -> Vec<ExprId> {
    leaves(builder, [root])
        .into_iter()
        .filter(|&leaf| matches!(builder.get(leaf), Expr::Object(_)))
        .collect()
}

/// The alternatives of the expressions, through rules and choices. Rules of schemas are recursive only through values.
pub(super) fn leaves(
    builder: &GrammarBuilder,
    from: impl IntoIterator<Item = ExprId>,
) -> Vec<ExprId> {
    let mut pending: Vec<ExprId> = from.into_iter().collect();
    pending.reverse();
    let mut seen = FxHashSet::default();
    let mut leaves = Vec::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match builder.get(id) {
            Expr::Rule(rule) => pending.push(builder.body(*rule)),
            Expr::Choice(arms) => pending.extend(arms.iter().rev()),
            Expr::Never => {}
            _ => leaves.push(id),
        }
    }
    leaves
}

/// Why a grounded string is refused.
pub(super) const GROUNDED: &str = "a string that comes from an input is written as JSON only";

impl Lowering<'_> {
    /// The arguments as tags, in the order of their declaration.
    pub(super) fn tagged(
        &mut self,
        tool: &Tool,
        objects: &[ExprId],
        parameter: &Parameter,
    ) -> Result<ExprId, ToolError> {
        let mut kinds = KeyedMap::default();
        let mut arms = Vec::new();
        for &object in objects {
            let shape = self.plain(tool, object)?;
            let mut parts = Vec::with_capacity(shape.properties.len());
            for property in &shape.properties {
                let is_told = |end: &str| {
                    let whole = format!("{}{end}", property.key);
                    let ends = parameter
                        .key_end
                        .texts()
                        .filter_map(|it| whole.find(core(it)));
                    ends.min().is_some_and(|at| at >= property.key.len())
                };
                let key = &*property.key;
                if key.is_empty() || core(key) != key || !parameter.key_end.texts().all(is_told) {
                    let reason = "the key cannot be told from the tag around it";
                    return Err(self.unsupported(tool, property, reason));
                }
                let (value, kind) = self.tagged_value(tool, property, parameter)?;
                // Alternatives of the schema must agree on how the argument is parsed.
                let known = kinds.entry(property.key.to_string()).or_insert(kind);
                if *known != kind {
                    let reason = "one alternative of the schema has a string here and another one something else";
                    return Err(self.unsupported(tool, property, reason));
                }
                let begin = self.text(&parameter.begin);
                let [key_end, end] = [&parameter.key_end, &parameter.end].map(|it| self.marker(it));
                let key = self.builder.bytes(property.key.as_bytes());
                let whole = self.builder.sequence([begin, key, key_end, value, end]);
                parts.push(match property.required {
                    true => whole,
                    false => self.builder.repeat(whole, 0, Some(1)),
                });
            }
            arms.push(self.builder.sequence(parts));
        }
        self.kinds.insert(tool.name.clone(), kinds);
        Ok(self.builder.choice(arms))
    }

    fn tagged_value(
        &mut self,
        tool: &Tool,
        property: &Property,
        parameter: &Parameter,
    ) -> Result<(ExprId, ArgumentKind), ToolError> {
        let leaves = leaves(&self.builder, property.value.values());
        if leaves.iter().any(|&leaf| self.is_grounded_string(leaf)) {
            return Err(self.unsupported(tool, property, GROUNDED));
        }
        let strings: Vec<StringShape> = leaves
            .iter()
            .filter_map(|&leaf| match self.builder.get(leaf) {
                Expr::String(shape) => Some(shape.clone()),
                _ => None,
            })
            .collect();
        if strings.is_empty() {
            return Ok((self.builder.choice(leaves), ArgumentKind::Json));
        }
        let is_string = strings.len() == leaves.len();
        let mut excluded = text_before(parameter.end.texts());
        if !is_string {
            excluded.json();
        }
        let mut arms = Vec::new();
        let mut is_there = false;
        for shape in strings {
            let set = as_it_is(&shape, excluded.clone());
            let misplaced = |text: &str| {
                let end = parameter.end.first();
                let found = format!("{text}{end}").find(core(end));
                found.is_some_and(|at| at < text.len())
            };
            if is_string
                && let StringContent::Literals(texts) = &shape.content
                && texts.iter().any(|text| misplaced(text))
            {
                let reason = "a text of the list has the closing tag in it";
                return Err(self.unsupported(tool, property, reason));
            }
            if self.is_inhabited(tool, property, &set)? {
                is_there = true;
                arms.push(self.regular(set));
            }
        }
        if is_string {
            if !is_there {
                let reason = "every text that fits has the closing tag in it";
                return Err(self.unsupported(tool, property, reason));
            }
            return Ok((self.builder.choice(arms), ArgumentKind::Raw));
        }
        // Everything can be written as JSON, including strings that look like JSON.
        arms.extend(leaves);
        Ok((self.builder.choice(arms), ArgumentKind::Either))
    }

    pub(super) fn is_inhabited(
        &self,
        tool: &Tool,
        property: &Property,
        set: &Regular,
    ) -> Result<bool, ToolError> {
        let limit = |reason: String| ToolError::Limit {
            tool: tool.name.clone(),
            pointer: pointer(property),
            reason,
        };
        let mut machine = RegularMachine::new(set, RegularLimits::default())
            .map_err(|error| limit(error.to_string()))?;
        let start = machine.start().map_err(|error| limit(error.to_string()))?;
        Ok(start.is_some())
    }

    /// The arguments as keywords: `a=1, b='x'`.
    pub(super) fn python(&mut self, tool: &Tool, objects: &[ExprId]) -> Result<ExprId, ToolError> {
        let mut arms = Vec::new();
        let comma = self.builder.bytes(", ");
        for &object in objects {
            let shape = self.plain(tool, object)?;
            let mut parts = Vec::with_capacity(shape.properties.len());
            for property in &shape.properties {
                if !is_identifier(&property.key) {
                    let reason = "the key is no identifier of Python";
                    return Err(self.unsupported(tool, property, reason));
                }
                let value = self.python_value(tool, property)?;
                let key = self.builder.bytes(format!("{}=", property.key));
                parts.push((self.builder.sequence([key, value]), property.required));
            }
            arms.push(self.listed(&parts, comma));
        }
        Ok(self.builder.choice(arms))
    }

    /// The parts that are present, separated by commas; each with whether it is required.
    pub(super) fn listed(&mut self, parts: &[(ExprId, bool)], comma: ExprId) -> ExprId {
        // For each suffix of the parts: the continuation after an earlier part, and the text if no part came before.
        let mut behind = self.builder.bytes("");
        let mut first = behind;
        for &(part, required) in parts.iter().rev() {
            let starts = self.builder.sequence([part, behind]);
            let next = self.builder.sequence([comma, part]);
            if required {
                first = starts;
                behind = self.builder.sequence([next, behind]);
            } else {
                first = self.builder.choice([starts, first]);
                let next = self.builder.repeat(next, 0, Some(1));
                behind = self.builder.sequence([next, behind]);
            }
        }
        first
    }

    /// JSON is valid Python except for `true`, `false` and `null`. Strings without characters to escape may have single
    /// quotes.
    fn python_value(&mut self, tool: &Tool, property: &Property) -> Result<ExprId, ToolError> {
        let mut arms = leaves(&self.builder, property.value.values());
        for leaf in arms.clone() {
            let Expr::String(shape) = self.builder.get(leaf) else {
                continue;
            };
            let plain = CharSet::new([(' ', '&'), ('(', '['), (']', '~'), ('\u{A0}', char::MAX)]);
            let mut shape = shape.clone();
            if let StringContent::Literals(texts) = &mut shape.content {
                let kept = texts
                    .iter()
                    .filter(|text| text.chars().all(|c| plain.contains(c)));
                *texts = kept.cloned().collect();
            }
            let plain = Regular::repeat(Regular::Chars(plain), 0, None);
            let set =
                Regular::Intersection(vec![as_it_is(&shape, Excluded::default()), plain].into());
            if self.is_inhabited(tool, property, &set)? {
                let quoted = [Regular::literal("'"), set, Regular::literal("'")];
                arms.push(self.regular(Regular::concat(quoted)));
            }
        }
        Ok(self.builder.choice(arms))
    }

    /// Returns the shape of an object that is only a list of properties.
    pub(super) fn plain(&mut self, tool: &Tool, object: ExprId) -> Result<ObjectShape, ToolError> {
        let refuse = |reason| {
            Err(ToolError::Unsupported {
                tool: tool.name.clone(),
                pointer: "#".to_owned(),
                format: self.format.name.clone(),
                reason,
            })
        };
        let Expr::Object(shape) = self.builder.get(object) else {
            return refuse("arguments are an object");
        };
        let mut shape = (**shape).clone();
        // A property without a value is never present; it may only exclude the key from additional ones.
        shape
            .properties
            .retain(|property| !property.value.alternatives.is_empty());
        let required = shape.properties.iter().filter(|it| it.required).count();
        let all = shape.properties.len();
        if !shape.tallies.is_empty() {
            return refuse(
                "which arguments come together is only known to formats with JSON arguments",
            );
        }
        if !shape.referents.is_empty() {
            return refuse("values are compared with one another in JSON arguments only");
        }
        if shape.min_members as usize > required {
            return refuse(
                "a fewest number of arguments is only known to formats with JSON arguments",
            );
        }
        if shape.max_members.is_some_and(|max| (max as usize) < all) {
            return refuse(
                "a largest number of arguments is only known to formats with JSON arguments",
            );
        }
        if shape.additional.is_some() || !shape.patterns.is_empty() {
            let how =
                "arguments that are not declared are left out: the format has no place for them";
            let effect = Effect::Narrowed { how };
            if let Some((_, report)) = self.reports.last_mut() {
                report.entries.push(ReportEntry {
                    schema: "#".into(),
                    keyword: "additionalProperties".into(),
                    effect,
                });
            }
        }
        Ok(shape)
    }

    /// Whether the expression is a grounded string. It is only bound in its JSON form.
    pub(super) fn is_grounded_string(&self, leaf: ExprId) -> bool {
        let Expr::Grounded { body, .. } = self.builder.get(leaf) else {
            return false;
        };
        matches!(self.builder.get(*body), Expr::String(_))
    }

    pub(super) fn unsupported(
        &self,
        tool: &Tool,
        property: &Property,
        reason: &'static str,
    ) -> ToolError {
        ToolError::Unsupported {
            tool: tool.name.clone(),
            pointer: pointer(property),
            format: self.format.name.clone(),
            reason,
        }
    }
}

/// The location of most declarations of the property.
fn pointer(property: &Property) -> String {
    let key = escaped(&property.key);
    format!("#/properties/{key}")
}

/// The strings of a shape, unescaped.
pub(super) fn as_it_is(shape: &StringShape, excluded: Excluded) -> Regular {
    let content = match &shape.content {
        StringContent::Any => Regular::any_text(),
        StringContent::Regular(set) => set.clone(),
        StringContent::Literals(texts) => {
            Regular::union(texts.iter().map(|it| Regular::literal(it)))
        }
    };
    let mut arms = vec![content, excluded.others()];
    if shape.min_length > 0 || shape.max_length.is_some() {
        let any = Regular::Chars(CharSet::all());
        arms.push(Regular::repeat(any, shape.min_length, shape.max_length));
    }
    Regular::Intersection(arms.into())
}

fn is_identifier(key: &str) -> bool {
    let mut chars = key.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
