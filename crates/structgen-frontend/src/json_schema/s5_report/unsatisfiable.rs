//! Which keywords contradict one another.

use crate::json_schema::s2_parse::atoms::{Literal, Origin};
use crate::json_schema::s2_parse::{Program, SchemaId};
use crate::json_schema::s3_canonical::Canonicalizer;
use crate::json_schema::{SchemaError, SchemaOptions, SchemaWarning};

/// The maximum number of keywords that are tried.
const MOST_KEYWORDS: usize = 200;

/// The steps of the whole search, as a multiple of those that the proof took.
const TIMES_THE_PROOF: u64 = 20;

/// The steps of the whole search if the proof took few.
const FEW_STEPS: u64 = 400_000;

/// The error for an unsatisfiable schema, with the keywords that contradict one another; `taken` are the steps of the
/// proof.
pub(crate) fn explain(
    program: &mut Program<'_>,
    options: &SchemaOptions,
    root: SchemaId,
    taken: u64,
    warnings: Vec<SchemaWarning>,
) -> SchemaError {
    let steps_left = taken.saturating_mul(TIMES_THE_PROOF).max(FEW_STEPS);
    let search = Search {
        steps_left: steps_left.min(options.limits.max_steps),
        program,
        options,
        root,
    };
    let conflicts = search.conflicts();
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

/// The search for a minimal set of contradicting keywords. All its attempts share one budget.
struct Search<'a, 'j> {
    program: &'a mut Program<'j>,
    options: &'a SchemaOptions,
    root: SchemaId,
    steps_left: u64,
}

impl Search<'_, '_> {
    /// Each keyword is left out in turn, and stays out if the schema is unsatisfiable without it too. The remaining
    /// keywords are a minimal set; if the budget is used up, those found by then.
    fn conflicts(mut self) -> Vec<Origin> {
        let mut origins = self.keywords();
        let mut left_out: Vec<Origin> = Vec::new();
        let mut conflicts: Vec<Origin> = Vec::new();
        // Outermost keywords first: if they are left out, those they contain are no longer reached.
        origins.truncate(MOST_KEYWORDS);
        for origin in origins {
            left_out.push(origin);
            match self.is_unsatisfiable_without(&left_out) {
                Some(true) => {}
                Some(false) => {
                    left_out.pop();
                    conflicts.push(origin);
                }
                None => break,
            }
        }
        conflicts
    }

    /// Whether the schema is proven unsatisfiable without some keywords; `None` if the search has to end.
    fn is_unsatisfiable_without(&mut self, left_out: &[Origin]) -> Option<bool> {
        let (_, is_empty) = self.attempt(left_out);
        let is_cancelled = || {
            let token = self.options.cancel.as_ref();
            token.is_some_and(|token| token.check().is_err())
        };
        match is_empty {
            Ok(is_empty) => Some(is_empty),
            Err(_) if self.steps_left == 0 || is_cancelled() => None,
            Err(_) => Some(false),
        }
    }

    /// The schemas that the proof of emptiness looks at without some keywords, and its result.
    fn attempt(&mut self, left_out: &[Origin]) -> (Vec<SchemaId>, Result<bool, SchemaError>) {
        let mut canonical = Canonicalizer::new(self.program, self.options);
        canonical.limit_steps(self.steps_left);
        canonical.ignore(left_out);
        let node = canonical.schema_node(self.root);
        let is_empty = node.and_then(|node| {
            // Values that are left out would not contradict.
            Ok(canonical.is_empty(node)?
                && canonical.excludes_all(&[Literal::schema(self.root)])?)
        });
        self.steps_left = self.steps_left.saturating_sub(canonical.steps_taken());
        (canonical.reached().to_vec(), is_empty)
    }

    /// The keywords that the proof of emptiness looks at.
    fn keywords(&mut self) -> Vec<Origin> {
        // Ignoring any keyword disables simplification, so that every keyword on the path is listed.
        let nowhere = Origin {
            schema: SchemaId(u32::MAX),
            keyword: "",
        };
        let (reached, _) = self.attempt(&[nowhere]);
        let mut origins = Vec::new();
        for schema in reached {
            for keyword in &self.program.schema_ref(schema).keywords {
                let keyword = keyword.name;
                origins.push(Origin { schema, keyword });
            }
        }
        origins
    }
}
