//! Relations between values: finds their referents in the grammar, and refuses relations that a mask cannot enforce.
//!
//! A relation names its referents by a JSON Pointer into the output. The value there becomes an [`Expr::Referent`]
//! (`marks.rs`), after checking that the path to it (`way.rs`) and the values (`values.rs`) allow the relation to be
//! enforced.

mod marks;
mod values;
mod way;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{Expr, ExprId, GrammarBuilder, Relation, json_pointer};

use marks::Marks;
use values::check_values;
use way::{Way, check_places};

/// Why a relation is refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// The JSON Pointer of the keyword.
    pub(super) pointer: Box<str>,
    pub(super) reason: Reason,
}

/// What is wrong with a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NotAPointer,
    Nothing,
    AnyOrder,
    Later,
    Itself,
    NotADocument,
    Composite,
    Distinct,
    Counted,
    Several,
    MayBeAbsent,
    OtherValues,
    NoOrder,
    TooDeep,
    TooMany,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPointer => "a relation names a value by a JSON Pointer, in which `*` stands for all items of an array",
            Self::Nothing => "no declared value is there",
            Self::AnyOrder => "keys come in any order, so the value there may be written later",
            Self::Later => "the value there is written later",
            Self::Itself => "the value there is this one",
            Self::NotADocument => "only an output that is an object has values to refer to",
            Self::Composite => "an object or array is there, and only strings and numbers are compared",
            Self::Distinct => "values in distinct items are not compared with others",
            Self::Counted => "members and items that are counted are not compared with others",
            Self::Several => "only `in` compares with several values",
            Self::MayBeAbsent => "no value may have been written there, and this one is required: require that one, in arrays with `minItems`, or let this one be absent or null",
            Self::OtherValues => "values may be written there that are not valid here",
            Self::NoOrder => "only numbers and strings of the format `date` have an order, and those there must be of the same kind",
            Self::TooMany => "too many values are referred to",
            Self::TooDeep => "the schemas on the way there nest too deep",
        })
    }
}

/// The maximum number of distinct referents: each takes a pass over the whole grammar.
const MAX_REFERENTS: usize = 64;

/// Marks the referents of all relations in a grammar; returns the root.
pub(super) fn resolve(
    builder: &mut GrammarBuilder,
    root: ExprId,
    prefix: &str,
) -> Result<ExprId, Refused> {
    let mut uses = uses(builder, root);
    let mut names: Vec<Box<str>> = uses.iter().map(|it| it.referent.clone()).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(one) = uses.iter().find(|_| names.len() > MAX_REFERENTS) {
        return Err(Refused {
            pointer: one.pointer.clone(),
            reason: Reason::TooMany,
        });
    }
    let mut root = root;
    for name in names {
        let own: Vec<Use> = uses.extract_if(.., |it| it.referent == name).collect();
        let refused = |pointer: Option<Box<str>>, reason| Refused {
            pointer: pointer.unwrap_or_else(|| own[0].pointer.clone()),
            reason,
        };
        let Some(path) = path(name.strip_prefix(prefix).unwrap_or(&name)) else {
            return Err(refused(None, Reason::NotAPointer));
        };
        let path: Vec<&str> = path.iter().map(|segment| &**segment).collect();
        let is_several = path.contains(&"*");
        if let Some(one) = own
            .iter()
            .find(|it| is_several && it.relation != Relation::In)
        {
            return Err(refused(Some(one.pointer.clone()), Reason::Several));
        }
        let found = Way::new(builder, root, &name)
            .check_document(&path)
            .map_err(|(pointer, reason)| refused(pointer, reason))?;
        if found.is_empty() {
            return Err(refused(None, Reason::Nothing));
        }
        check_places(builder, root, &own)
            .and_then(|()| check_values(builder, &own, &found))
            .map_err(|(at, reason)| refused(Some(at), reason))?;
        let references = references(builder, root);
        let mut marks = Marks {
            builder,
            references,
            name: &name,
            marked: FxHashMap::default(),
        };
        root = marks.mark(root, &path, true, true).unwrap_or(root);
    }
    Ok(root)
}

/// The segments of a JSON Pointer, unescaped; `None` if it does not point to a part of a document.
fn path(pointer: &str) -> Option<Vec<Box<str>>> {
    let segments = pointer.strip_prefix('/')?.split('/');
    Some(
        segments
            .map(|it| json_pointer::unescaped(it).into())
            .collect(),
    )
}

/// A value that is compared with a referent.
#[derive(Debug)]
struct Use {
    pointer: Box<str>,
    relation: Relation,
    referent: Box<str>,
    body: ExprId,
}

/// All values below an expression that are compared with referents, in order of discovery.
fn uses(builder: &GrammarBuilder, root: ExprId) -> Vec<Use> {
    let mut uses = Vec::new();
    for id in reachable(builder, root) {
        if let Expr::Related {
            pointer,
            relation,
            referent,
            body,
        } = builder.get(id)
        {
            uses.push(Use {
                pointer: pointer.clone(),
                relation: *relation,
                referent: referent.clone(),
                body: *body,
            });
        }
    }
    uses
}

/// All expressions that one contains, through rules.
fn reachable(builder: &GrammarBuilder, root: ExprId) -> Vec<ExprId> {
    let mut seen = FxHashSet::from_iter([root]);
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        found.extend(parts(builder, id).filter(|&part| seen.insert(part)));
    }
    found
}

/// The direct parts of an expression; for a reference, the body of the rule.
fn parts(builder: &GrammarBuilder, id: ExprId) -> impl Iterator<Item = ExprId> + '_ {
    let rule = match builder.get(id) {
        Expr::Rule(rule) => Some(builder.rule_body(*rule)),
        _ => None,
    };
    builder.get(id).children().chain(rule)
}

/// The number of references to each expression.
fn references(builder: &GrammarBuilder, root: ExprId) -> FxHashMap<ExprId, u32> {
    let mut references = FxHashMap::default();
    for id in reachable(builder, root) {
        for part in parts(builder, id) {
            *references.entry(part).or_insert(0) += 1;
        }
    }
    references
}
