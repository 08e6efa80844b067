//! Which keywords contradict one another.

use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::s2_parse::{Program, SchemaId};
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{SchemaError, SchemaOptions, SchemaWarning};

/// The maximum number of keywords that are tried.
const MOST_KEYWORDS: usize = 200;

/// The error for an unsatisfiable schema: a minimal set of contradicting keywords.
///
/// Each keyword is left out in turn, and stays out if the schema is unsatisfiable without it too. The remaining
/// keywords are a minimal set.
pub(crate) fn explain(
    program: &mut Program<'_>,
    options: &SchemaOptions,
    root: SchemaId,
    warnings: Vec<SchemaWarning>,
) -> SchemaError {
    let mut origins = keywords(program, options, root);
    let mut left_out: Vec<Origin> = Vec::new();
    let mut conflicts: Vec<Origin> = Vec::new();
    // Outermost keywords first: if they are left out, those they contain are no longer reached.
    origins.truncate(MOST_KEYWORDS);
    for origin in origins {
        left_out.push(origin);
        let mut canonical = Canonicalizer::new(program, options);
        canonical.ignore(&left_out);
        let node = canonical.schema_node(root);
        if !matches!(node.and_then(|node| canonical.is_empty(node)), Ok(true)) {
            left_out.pop();
            conflicts.push(origin);
        }
    }
    let mut pointers: Vec<String> = Vec::with_capacity(conflicts.len());
    for origin in conflicts {
        let pointer = program.keyword_pointer(origin.schema, origin.keyword);
        // One pointer may be several schemas, in different dynamic scopes.
        if !pointers.contains(&pointer) {
            pointers.push(pointer);
        }
    }
    SchemaError::Unsatisfiable {
        pointer: program.pointer(root).to_owned(),
        conflicts: pointers,
        warnings,
    }
}

/// The keywords that the proof of emptiness looks at.
fn keywords(program: &mut Program<'_>, options: &SchemaOptions, root: SchemaId) -> Vec<Origin> {
    let mut canonical = Canonicalizer::new(program, options);
    // Ignoring any keyword disables simplification, so that every keyword on the path is listed.
    canonical.ignore(&[Origin {
        schema: SchemaId(u32::MAX),
        keyword: "",
    }]);
    let node = canonical.schema_node(root);
    let _ = node.and_then(|node| canonical.is_empty(node));
    let reached = canonical.reached().to_vec();
    let mut origins = Vec::new();
    for schema in reached {
        for keyword in &program.schema_ref(schema).keywords {
            let keyword = keyword.name;
            origins.push(Origin { schema, keyword });
        }
    }
    origins
}
