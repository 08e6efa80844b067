//! The constraint on the answer: a schema, a pattern, a grammar, a choice, or none.

use serde_json::value::RawValue;
use structgen::grammar::Whitespace;

use crate::error::{ApiError, Result};
use crate::fields::Fields;

/// The constraint on the answer, and the field that sets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    pub(crate) wanted: Wanted,
    /// The path of the field, for errors about its contents.
    pub(crate) param: String,
    /// The whitespace of JSON; `None` is the default.
    pub(crate) whitespace: Option<Whitespace>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    #[default]
    Free,
    /// JSON that is valid against this schema, which is kept as text so that numbers are exact.
    Schema(String),
    Regex(String),
    Choice(Vec<String>),
    Gbnf(String),
    /// Structural tags: text with tagged parts, in XGrammar's JSON.
    Tag(String),
}

/// Any JSON object, as `json_object` requests.
const OBJECT: &str = r#"{"type":"object"}"#;

impl Target {
    /// Reads the fields of OpenAI, vLLM and llama.cpp that constrain the answer. At most one may be set.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self> {
        let mut found = Self::default();
        if let Some(format) = fields.object("response_format")? {
            found.replace(response_format(format)?)?;
        }
        found.read_llama(fields)?;
        if let Some(mut outputs) = fields.object("structured_outputs")? {
            found.read_structured(&mut outputs, "")?;
            outputs.finish()?;
        }
        found.read_structured(fields, "guided_")?;
        Ok(found)
    }

    /// Reads the fields of this project's own endpoints: `json_schema`, `regex`, `grammar`, `choice`.
    pub(crate) fn read_plain(fields: &mut Fields<'_>) -> Result<Self> {
        let mut found = Self::default();
        found.read_llama(fields)?;
        if let Some(pattern) = fields.take("regex")? {
            found.set(Wanted::Regex(pattern), fields.path_of("regex"))?;
        }
        if let Some(choices) = fields.take("choice")? {
            found.set(Wanted::Choice(choices), fields.path_of("choice"))?;
        }
        Ok(found)
    }

    /// Reads `grammar` and `json_schema`, as in llama.cpp's server.
    fn read_llama(&mut self, fields: &mut Fields<'_>) -> Result<()> {
        if let Some(grammar) = fields.take("grammar")? {
            self.set(Wanted::Gbnf(grammar), fields.path_of("grammar"))?;
        }
        if let Some(schema) = fields.raw("json_schema") {
            let path = fields.path_of("json_schema");
            self.set(Wanted::Schema(schema_text(schema, &path)?), path)?;
        }
        Ok(())
    }

    /// Reads the fields of vLLM's `structured_outputs`, or the older ones that start with `guided_`.
    fn read_structured(&mut self, fields: &mut Fields<'_>, prefix: &str) -> Result<()> {
        let name = |field: &str| format!("{prefix}{field}");
        if let Some(schema) = fields.raw(&name("json")) {
            let path = fields.path_of(&name("json"));
            self.set(Wanted::Schema(schema_text(schema, &path)?), path)?;
        }
        if let Some(pattern) = fields.take(&name("regex"))? {
            self.set(Wanted::Regex(pattern), fields.path_of(&name("regex")))?;
        }
        if let Some(choices) = fields.take(&name("choice"))? {
            self.set(Wanted::Choice(choices), fields.path_of(&name("choice")))?;
        }
        if let Some(grammar) = fields.take(&name("grammar"))? {
            self.set(Wanted::Gbnf(grammar), fields.path_of(&name("grammar")))?;
        }
        if fields.take(&name("json_object"))? == Some(true) {
            let schema = Wanted::Schema(OBJECT.to_owned());
            self.set(schema, fields.path_of(&name("json_object")))?;
        }
        if let Some(tag) = fields.raw(&name("structural_tag")) {
            let tag = Wanted::Tag(text_or_json(tag)?);
            self.set(tag, fields.path_of(&name("structural_tag")))?;
        }
        let pattern = name("whitespace_pattern");
        if let Some(whitespace) = fields.take::<String>(&pattern)? {
            self.whitespace = Some(match &*whitespace {
                "" => Whitespace::Compact,
                "[ ]?" | " ?" => Whitespace::Spaced,
                _ => {
                    let path = fields.path_of(&pattern);
                    let message = format!(
                        "{path} may be \"\" for none or \"[ ]?\" for at most one space: unbounded whitespace lets \
                         a model write nothing else"
                    );
                    return Err(ApiError::invalid(path, message));
                }
            });
        }
        Ok(())
    }

    fn replace(&mut self, other: Self) -> Result<()> {
        match other.wanted {
            Wanted::Free => Ok(()),
            wanted => self.set(wanted, other.param),
        }
    }

    fn set(&mut self, wanted: Wanted, param: String) -> Result<()> {
        if self.wanted != Wanted::Free {
            let message = format!(
                "{} and {param} both say what the answer has to be: give one of them",
                self.param
            );
            return Err(ApiError::invalid(param, message));
        }
        (self.wanted, self.param) = (wanted, param);
        Ok(())
    }

    /// Returns this target, or the other one if this is free.
    pub(crate) fn or(mut self, other: Self) -> Result<Self> {
        self.replace(other)?;
        Ok(self)
    }

    /// Returns a target of any JSON object.
    pub(crate) fn object(param: impl Into<String>) -> Self {
        Self {
            wanted: Wanted::Schema(OBJECT.to_owned()),
            param: param.into(),
            whitespace: None,
        }
    }

    /// Returns a target of JSON that is valid against a schema.
    pub(crate) fn schema(schema: &RawValue, param: impl Into<String>) -> Result<Self> {
        let param = param.into();
        Ok(Self {
            wanted: Wanted::Schema(schema_text(schema, &param)?),
            param,
            whitespace: None,
        })
    }
}

/// Reads OpenAI's `response_format`, which in vLLM may also be a structural tag.
fn response_format(mut format: Fields<'_>) -> Result<Target> {
    let kind: String = format.need("type")?;
    let path = format.path().to_owned();
    let mut target = Target {
        param: path.clone(),
        ..Target::default()
    };
    match &*kind {
        "text" => {}
        "json_object" => {
            // llama.cpp accepts a schema here.
            match format.raw("schema") {
                Some(schema) => {
                    target = Target::schema(schema, format.path_of("schema"))?;
                }
                None => target.wanted = Wanted::Schema(OBJECT.to_owned()),
            }
        }
        "json_schema" => {
            let Some(named) = format.object("json_schema")? else {
                return Err(format.missing("json_schema"));
            };
            target = named_schema(named)?;
        }
        "structural_tag" => {
            let text = whole(&mut format, &kind)?;
            target.wanted = Wanted::Tag(text);
        }
        _ => {
            let param = format.path_of("type");
            let message = format!(
                "{param} is {kind:?}, and must be text, json_object, json_schema or structural_tag"
            );
            return Err(ApiError::invalid(param, message));
        }
    }
    format.finish()?;
    Ok(target)
}

/// Reads a named schema, as in OpenAI's `json_schema`. What `strict` demands holds with any value of it.
pub(crate) fn named_schema(mut named: Fields<'_>) -> Result<Target> {
    let _: Option<String> = named.take("name")?;
    let _: Option<String> = named.take("description")?;
    let _: Option<bool> = named.take("strict")?;
    let Some(schema) = named.raw("schema") else {
        return Err(named.missing("schema"));
    };
    let target = Target::schema(schema, named.path_of("schema"))?;
    named.finish()?;
    Ok(target)
}

/// Returns an object with all its fields as JSON, since structural tags have a parser of their own.
fn whole(fields: &mut Fields<'_>, kind: &str) -> Result<String> {
    let mut text = format!("{{\"type\":{}", serde_json::Value::from(kind));
    for (name, value) in fields.rest() {
        text.push_str(&format!(
            ",{}:{}",
            serde_json::Value::from(name),
            value.get()
        ));
    }
    text.push('}');
    Ok(text)
}

/// Returns the text of a schema, which clients send as an object, a boolean, or a string with one of these.
fn schema_text(schema: &RawValue, path: &str) -> Result<String> {
    let text = text_or_json(schema)?;
    match text.trim_start().starts_with(['{', 't', 'f']) {
        true => Ok(text),
        false => {
            let message = format!("{path}: a schema is an object or a boolean");
            Err(ApiError::invalid(path, message))
        }
    }
}

fn text_or_json(value: &RawValue) -> Result<String> {
    match value.get().starts_with('"') {
        true => crate::fields::parse(value, ""),
        false => Ok(value.get().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Unread;

    fn target_of(body: &str) -> Result<Target> {
        let unread = Unread::new(false);
        let mut fields = Fields::of_body(body, &unread)?;
        let target = Target::read(&mut fields)?;
        fields.finish()?;
        Ok(target)
    }

    #[test]
    fn every_field_that_says_what_the_answer_has_to_be_is_read() {
        for (body, wanted) in [
            (r#"{"response_format": {"type": "text"}}"#, Wanted::Free),
            (
                r#"{"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": {"const": 1.10}}}}"#,
                Wanted::Schema(r#"{"const": 1.10}"#.to_owned()),
            ),
            (r#"{"guided_regex": "a+"}"#, Wanted::Regex("a+".to_owned())),
            (
                r#"{"structured_outputs": {"choice": ["a", "b"]}}"#,
                Wanted::Choice(vec!["a".to_owned(), "b".to_owned()]),
            ),
            (
                r#"{"structured_outputs": {"json": "{\"type\": \"null\"}"}}"#,
                Wanted::Schema(r#"{"type": "null"}"#.to_owned()),
            ),
            (
                r#"{"grammar": "root ::= \"a\""}"#,
                Wanted::Gbnf("root ::= \"a\"".to_owned()),
            ),
        ] {
            assert_eq!(target_of(body).unwrap().wanted, wanted, "{body}");
        }
    }

    #[test]
    fn two_fields_that_say_so_are_refused() {
        let body = r#"{"guided_regex": "a", "grammar": "root ::= \"a\""}"#;
        let error = target_of(body).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("guided_regex"));
        assert!(error.message.contains("grammar"));
    }

    #[test]
    fn unknown_fields_are_refused_at_every_level() {
        let body = r#"{"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "scheme": 1}}}"#;
        let error = target_of(body).unwrap_err();
        assert_eq!(
            error.param.as_deref(),
            Some("response_format.json_schema.scheme")
        );
    }
}
