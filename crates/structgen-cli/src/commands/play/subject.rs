//! A model as the subject of the playground.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use structgen::constraint::{Matcher, MatcherError};
use structgen::decode::constraint::PlainMask;
use structgen::decode::events::{EventStream, OutputEvent, OutputPart};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::frontend::json_schema::SchemaError;
use structgen::vocab::{TokenId, Vocabulary};
use structgen::{Constraint, Error, Model, Profile, Request, SchemaOptions};
use structgen_play::{Begun, ConstraintKind, ConstraintText, Look, Problem, Subject};

use crate::args::grammar_options;
use crate::commands::lab::subject::{extraction, free_text};

pub(super) struct ModelSubject {
    model: Model,
    /// How to read grammars, and the name of their file, if one was given.
    grammar: GbnfOptions,
    grammar_name: Option<String>,
    prompt: Vec<TokenId>,
    matcher: Option<Matcher>,
    /// The tokens allowed in free text.
    free: Arc<PlainMask>,
}

/// What a prompt and a constraint ask for.
struct Asked {
    request: Request,
    /// Warnings about the constraint.
    warnings: Vec<String>,
}

impl ModelSubject {
    /// Grammars import files from the folder of `grammar`, or else from the current one.
    pub(super) fn new(model: Model, grammar: Option<&Path>) -> anyhow::Result<Self> {
        let name = grammar
            .filter(|path| path.is_file())
            .and_then(Path::file_name);
        Ok(Self {
            free: free_text(&model)?,
            model,
            grammar: grammar_options(grammar.unwrap_or(Path::new("."))),
            grammar_name: name.and_then(OsStr::to_str).map(str::to_owned),
            prompt: Vec::new(),
            matcher: None,
        })
    }

    /// Returns the request. A schema with the embedded model becomes an extraction.
    fn request(&self, prompt: &str, constraint: &ConstraintText) -> anyhow::Result<Asked> {
        let text = constraint.text.as_str();
        let constraint = match constraint.kind {
            ConstraintKind::Schema if self.model.is_embedded() => {
                // Compile the schema's text alone first, for errors with positions in it.
                Constraint::json_schema_str(text, &SchemaOptions::new())?;
                let (request, _) = extraction(&self.model, Some(prompt), Some(text))?;
                return Ok(Asked {
                    request,
                    warnings: Vec::new(),
                });
            }
            ConstraintKind::Schema => {
                let options = SchemaOptions::new().with_profile(Profile::Generate);
                Some(Constraint::json_schema_str(text, &options)?)
            }
            ConstraintKind::Pattern => Some(Constraint::regex(text)?),
            ConstraintKind::Grammar => Some(Constraint::gbnf_with(text, &self.grammar)?),
            ConstraintKind::Free => None,
        };
        let compiled = { constraint.as_ref() }
            .map(|constraint| self.model.compile(constraint))
            .transpose()?;
        let warnings = { constraint.iter() }.flat_map(Constraint::warnings);
        Ok(Asked {
            warnings: warnings.map(ToString::to_string).collect(),
            request: Request::new(self.model.encode_prompt(prompt)?, compiled),
        })
    }
}

impl Subject for ModelSubject {
    fn begin(&mut self, prompt: &str, constraint: &ConstraintText) -> Result<Begun, Problem> {
        let Asked { request, warnings } = { self.request(prompt, constraint) }
            .map_err(|error| problem(&error, &constraint.text, self.grammar_name.as_deref()))?;
        let Request {
            prompt,
            constraint: compiled,
            options,
            ..
        } = request;
        let sets_temperatures =
            { compiled.as_ref() }.is_some_and(|compiled| compiled.program().sets_temperatures());
        let is_json = compiled
            .as_ref()
            .is_some_and(|compiled| EventStream::new(compiled).is_json());
        self.prompt.clone_from(&prompt);
        self.matcher = compiled.map(|compiled| compiled.matcher());
        Ok(Begun {
            prompt,
            eos: self.model.eos().to_vec(),
            is_json,
            samplers: options.samplers,
            sets_temperatures,
            warnings,
        })
    }

    fn look(&mut self, output: &[TokenId]) -> Result<Look, Problem> {
        let failed = |error: &dyn std::error::Error| Problem::new(error.to_string());
        let (allowed, temperature) = match &mut self.matcher {
            Some(matcher) => allowed_after(matcher, output).map_err(|error| failed(&error))?,
            None => (Arc::clone(&self.free), None),
        };
        let text = [&self.prompt[..], output].concat();
        let rows = self
            .model
            .logits(&text, 1)
            .map_err(|error| failed(&error))?;
        let logits = rows.into_iter().next();
        Ok(Look {
            logits: logits
                .ok_or_else(|| Problem::new("the model gave no logits"))?
                .into(),
            allowed,
            temperature,
        })
    }

    fn vocabulary(&self) -> Arc<Vocabulary> {
        Arc::clone(self.model.tokenizer().vocabulary())
    }
}

/// Returns the tokens that may follow these, and the temperature that a grammar sets there.
fn allowed_after(
    matcher: &mut Matcher,
    output: &[TokenId],
) -> Result<(Arc<PlainMask>, Option<f32>), MatcherError> {
    follow(matcher, output)?;
    let allowed = PlainMask::new(matcher.mask()?.bits().clone());
    Ok((Arc::new(allowed), matcher.temperature()?))
}

/// Advances a matcher to the state after these tokens.
fn follow(matcher: &mut Matcher, output: &[TokenId]) -> Result<(), MatcherError> {
    let known: Vec<TokenId> = matcher.tokens().collect();
    let shared = known.iter().zip(output).take_while(|(a, b)| a == b).count();
    matcher.rollback(known.len() - shared)?;
    output[shared..]
        .iter()
        .try_for_each(|&token| matcher.accept_token(token))
}

/// Describes an error, and finds its position in the constraint's text, which may be a file of this name.
fn problem(error: &anyhow::Error, text: &str, name: Option<&str>) -> Problem {
    let message = Problem::new(format!("{error:#}"));
    match error.downcast_ref::<Error>() {
        Some(Error::Schema(SchemaError::NotJson {
            line,
            column,
            reason,
        })) => {
            let before = text.split_inclusive('\n').take(line - 1);
            let start: usize = before.map(str::len).sum();
            Problem::new(format!("not JSON: {reason}")).at_byte(text, start + column - 1)
        }
        Some(Error::Schema(error)) => match byte_of(text, pointer(error)) {
            Some(byte) => message.at_byte(text, byte),
            None => message,
        },
        Some(Error::Regex(error)) => {
            Problem::new(error.kind.to_string()).at_byte(text, error.position)
        }
        // A position in an imported file is not a position in the text.
        Some(Error::Gbnf(error)) if error.file.is_none() || error.file.as_deref() == name => {
            let hint = error.hint.as_ref();
            let hint = hint.map_or(String::new(), |hint| format!(" ({hint})"));
            let mut problem = Problem::new(format!("{}{hint}", error.kind));
            problem.at = Some((error.line.saturating_sub(1), error.column.saturating_sub(1)));
            problem
        }
        _ => message,
    }
}

/// Returns the JSON Pointer where a schema is refused, with the keyword if there is one.
fn pointer(error: &SchemaError) -> String {
    use SchemaError as E;
    let (pointer, keyword) = match error {
        E::InvalidKeyword {
            pointer, keyword, ..
        }
        | E::Unsupported {
            pointer, keyword, ..
        } => (pointer.as_str(), keyword.as_str()),
        E::UnknownDialect { pointer, .. } | E::UnknownVocabulary { pointer, .. } => {
            (pointer.as_str(), "$schema")
        }
        E::UnresolvedReference { pointer, .. } => (pointer.as_str(), "$ref"),
        E::NotASchema { pointer }
        | E::CircularReference { pointer }
        | E::Unsatisfiable { pointer, .. }
        | E::Limit { pointer, .. } => (pointer.as_str(), ""),
        _ => ("", ""),
    };
    let pointer = pointer.rsplit_once('#').map_or(pointer, |parts| parts.1);
    match keyword {
        "" => pointer.to_owned(),
        keyword if pointer.ends_with(&format!("/{keyword}")) => pointer.to_owned(),
        keyword => format!("{pointer}/{keyword}"),
    }
}

/// Returns where in a document the value at a pointer begins, or that at the longest prefix of the pointer that exists.
fn byte_of(text: &str, wanted: String) -> Option<usize> {
    let mut found: Option<(usize, usize)> = None;
    let mut events = EventStream::json();
    // Invalid JSON was refused earlier.
    let _ = events.push(text, &[], &mut |event| {
        if let OutputEvent::Started {
            part: OutputPart::Field { pointer, .. },
            start,
        } = event
        {
            let rest = wanted.strip_prefix(&*pointer);
            let is_on_the_way = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if is_on_the_way && found.is_none_or(|(length, _)| pointer.len() > length) {
                found = Some((pointer.len(), start));
            }
        }
    });
    found.map(|(_, start)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rest of the line from an error's position on.
    fn rest_of_line(constraint: impl Fn(&str) -> Result<Constraint, Error>, text: &str) -> String {
        let Err(error) = constraint(text) else {
            panic!("{text} is to be refused");
        };
        let (line, column) = problem(&error.into(), text, None).at.unwrap();
        let line = text.split('\n').nth(line).unwrap();
        line.chars().skip(column).collect()
    }

    #[test]
    fn problems_of_typed_constraints_have_their_place() {
        let schema = |text: &str| Constraint::json_schema_str(text, &SchemaOptions::new());
        assert_eq!(rest_of_line(schema, "{\n  \"type\": objekt }"), "objekt }");
        assert_eq!(
            rest_of_line(
                schema,
                "{\"properties\":\n {\"a\": {\"minLength\": \"ü\"}}}"
            ),
            "\"ü\"}}}"
        );
        assert_eq!(
            rest_of_line(schema, "{\"items\":\n {\"$ref\": \"#/nowhere\"}}"),
            "\"#/nowhere\"}}"
        );
        assert_eq!(rest_of_line(Constraint::regex, "ü(a|b"), "(a|b");
        assert_eq!(
            rest_of_line(Constraint::gbnf, "root ::= (\"a\"\n  | nothing)"),
            "nothing)"
        );
    }
}
