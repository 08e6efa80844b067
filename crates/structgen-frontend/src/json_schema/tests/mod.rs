//! Tests of the whole compiler.

mod corpus;
mod dynamic;
mod evaluation;
mod generated_formats;
mod grounding;
mod hostile;
mod messages;
mod mistakes;
mod narrowed;
mod patterns;
mod print;
mod random;
mod relations;
mod snapshots;
mod suite;
mod vocabulary;

use super::pipeline::with_program;
use super::s1_json::Json;
use super::s3_canonical::Canonicalizer;
use super::{Effect, Profile, SchemaError, SchemaOptions, s4_lower};

/// The result of compiling a schema and validating instances against it.
struct Judged {
    /// Whether the canonical form contains each instance, or why it could not be built.
    canonical: Result<Vec<bool>, SchemaError>,
    /// Whether a grammar was built, or why not.
    grammar: Result<(), SchemaError>,
}

/// Builds the canonical form of a schema, validates instances against it, and lowers it.
fn judge(schema: &Json<'_>, instances: &[Json<'_>], options: &SchemaOptions) -> Judged {
    let canonical = with_program(schema, "", options, |program, root| {
        let mut canonical = Canonicalizer::new(program, options);
        let node = canonical.schema_node(root)?;
        let mut verdicts = Vec::with_capacity(instances.len());
        for instance in instances {
            let verdict = canonical.contains(node, instance)?;
            // Validating keyword by keyword, without the canonical form, must agree; only a value that is left out may
            // be valid and not in the canonical form.
            let is_narrowed = |(_, effect): &(_, Effect)| matches!(effect, Effect::Narrowed { .. });
            let is_narrowed =
                options.profile == Profile::Rust || canonical.notes.iter().any(is_narrowed);
            match canonical.is_valid(root, instance, 0) {
                Ok(is_valid) => {
                    let agrees = is_valid == verdict || (is_valid && is_narrowed);
                    assert!(agrees, "{schema:?}: {instance:?}");
                }
                Err(error) => assert!(matches!(error, SchemaError::Unsupported { .. }), "{error}"),
            }
            verdicts.push(verdict);
        }
        let is_empty = canonical.is_empty(node).unwrap_or(false);
        assert!(!is_empty || !verdicts.contains(&true), "{schema:?}");
        Ok(verdicts)
    });
    let grammar = with_program(schema, "", options, |program, root| {
        let mut canonical = Canonicalizer::new(program, options);
        let node = canonical.schema_node(root)?;
        if canonical.is_empty(node)? {
            return Err(SchemaError::Unsatisfiable {
                pointer: String::new(),
                warnings: Vec::new(),
                conflicts: Vec::new(),
            });
        }
        s4_lower::lower(&mut canonical, node).map(|_| ())
    });
    Judged { canonical, grammar }
}
