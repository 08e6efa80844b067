//! Fifth stage: what became of each keyword, why no value is valid, or why a given value is invalid.

mod branches;
mod demand;
pub(crate) mod misplaced;
pub(crate) mod spelling;
pub(crate) mod unsatisfiable;
pub(crate) mod violations;

use std::borrow::Cow;

use crate::json_schema::keywords;
use crate::json_schema::s2_parse::Location;
use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{
    CompileReport, Effect, ReportEntry, SchemaError, SchemaOptions, SchemaWarning, Usage,
};

/// The report on a compiled schema.
///
/// # Errors
/// If there are probable mistakes and the options are strict.
pub(crate) fn report(
    canonical: &Canonicalizer<'_, '_>,
    options: &SchemaOptions,
) -> Result<CompileReport, SchemaError> {
    let mut report = CompileReport {
        warnings: warnings(canonical, options),
        ..CompileReport::default()
    };
    if options.strict && !report.warnings.is_empty() {
        return Err(SchemaError::Mistaken(report.warnings));
    }
    let dropped: rustc_hash::FxHashSet<_> = canonical
        .notes
        .iter()
        .filter(|(_, effect)| matches!(effect, Effect::Dropped { .. }))
        .map(|(origin, _)| *origin)
        .collect();
    let mut add = |schema, keyword: Cow<'static, str>, effect| {
        let schema = canonical.program.shared_pointer(schema);
        report.entries.push(ReportEntry {
            schema,
            keyword,
            effect,
        });
    };
    for &id in canonical.reached() {
        let schema = canonical.program.schema_ref(id);
        for keyword in &schema.keywords {
            let origin = Origin {
                schema: id,
                keyword: keyword.name,
            };
            let Some(effect) = keyword.assertion.effect(options) else {
                continue;
            };
            if effect == Effect::Enforced && dropped.contains(&origin) {
                continue;
            }
            add(id, keyword.name.into(), effect);
        }
        for &(name, note) in &schema.annotations {
            let name = match keywords::find(name) {
                Some(row) => row.name.into(),
                None => name.to_owned().into(),
            };
            add(id, name, Effect::Annotation { note });
        }
    }
    for (origin, effect) in &canonical.notes {
        add(origin.schema, origin.keyword.into(), effect.clone());
    }
    if canonical.program.has_scopes() {
        report.unite();
    }
    report.profile = options.profile;
    report.key_order = options.key_order();
    report.usage.push(Usage {
        what: "steps of the compilation",
        used: canonical.steps_taken(),
        limit: Some(options.limits.max_steps),
    });
    Ok(report)
}

/// The probable mistakes in the schemas that were reached, and in the document as a whole.
pub(crate) fn warnings(
    canonical: &Canonicalizer<'_, '_>,
    options: &SchemaOptions,
) -> Vec<SchemaWarning> {
    let first = canonical.reached().first();
    let root = first.map(|&id| canonical.program.schema_ref(id));
    let root = root.filter(|schema| matches!(schema.location, Location::Root(None)));
    let misplaced = root.and_then(|schema| misplaced::find(schema.json));
    misplaced
        .into_iter()
        .chain(spelling::find(canonical, options))
        .collect()
}
