//! Fifth stage: what became of each keyword, or why nothing is valid.

pub(crate) mod unsatisfiable;

use crate::json_schema::s2_parse::Assertion;
use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{CompileReport, Effect, FormatMode, Profile, SchemaOptions, Usage};

/// What became of each keyword of a schema that was compiled.
pub(crate) fn report(canonical: &Canonicalizer<'_, '_>, options: &SchemaOptions) -> CompileReport {
    let mut report = CompileReport::default();
    let dropped: rustc_hash::FxHashSet<_> = canonical
        .notes
        .iter()
        .filter(|(_, effect)| matches!(effect, Effect::Dropped { .. }))
        .map(|(origin, _)| *origin)
        .collect();
    for &id in canonical.reached() {
        let schema = canonical.program.schema_ref(id);
        for keyword in &schema.keywords {
            let origin = Origin {
                schema: id,
                keyword: keyword.name,
            };
            let note = match &keyword.assertion {
                // Its annotation says so already.
                Assertion::IfAlone(_) => continue,
                Assertion::Format(_) if options.formats == FormatMode::Annotate => {
                    Some("formats are annotations here")
                }
                Assertion::RustFormat(_) if options.profile != Profile::Rust => {
                    Some("a format that no draft defines")
                }
                _ => None,
            };
            let effect = match note {
                Some(note) => Effect::Annotation { note },
                None if dropped.contains(&origin) => continue,
                None => Effect::Enforced,
            };
            report.add(canonical.program.keyword_pointer(id, keyword.name), effect);
        }
        for (name, note) in &schema.annotations {
            let pointer = canonical.program.keyword_pointer(id, name);
            report.add(pointer, Effect::Annotation { note });
        }
    }
    for (origin, effect) in &canonical.notes {
        let pointer = canonical
            .program
            .keyword_pointer(origin.schema, origin.keyword);
        report.add(pointer, effect.clone());
    }
    if canonical.program.has_scopes() {
        report.unite();
    }
    report.profile = options.profile;
    report.usage.push(Usage {
        what: "steps of the compilation",
        used: canonical.steps_taken(),
        limit: Some(options.limits.max_steps),
    });
    report
}
