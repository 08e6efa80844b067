//! Which keywords contradict one another.

use crate::json_schema::s2_parse::atoms::Origin;
use crate::json_schema::s2_parse::{Program, SchemaId};
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{SchemaError, SchemaOptions};

/// So many keywords are looked at, one by one.
const MOST_KEYWORDS: usize = 200;

/// The error for a schema that nothing fits: the keywords without any one of which something would.
///
/// Every keyword is left out in turn, for good where nothing fits without it either: what remains is a smallest set.
pub(crate) fn explain(
    program: &mut Program<'_>,
    options: &SchemaOptions,
    root: SchemaId,
) -> SchemaError {
    let mut origins = keywords(program, options, root);
    let mut left_out: Vec<Origin> = Vec::new();
    let mut conflicts: Vec<Origin> = Vec::new();
    // The outermost first: what is left out with them is not reached any more.
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
        // One place may be several schemas, by their dynamic scopes.
        if !pointers.contains(&pointer) {
            pointers.push(pointer);
        }
    }
    SchemaError::Unsatisfiable {
        pointer: program.pointer(root),
        conflicts: pointers,
    }
}

/// The keywords that are looked at when the schema is proven empty.
fn keywords(program: &mut Program<'_>, options: &SchemaOptions, root: SchemaId) -> Vec<Origin> {
    let mut canonical = Canonicalizer::new(program, options);
    // The nodes must not be simplified: every keyword on the way is to be named.
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
