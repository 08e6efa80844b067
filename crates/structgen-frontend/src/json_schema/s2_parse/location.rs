//! Locations of schemas, as JSON Pointers.

use std::fmt::Write as _;
use std::rc::Rc;

use super::{Program, SchemaId};

/// The location of a schema.
#[derive(Clone, Debug)]
pub(crate) enum Location<'j> {
    /// At the root of the main document, or of the document with this URI.
    Root(Option<Rc<str>>),
    /// Where a reference led: the whole pointer.
    At(Rc<str>),
    /// Below another schema.
    Below {
        parent: SchemaId,
        keyword: &'static str,
        step: Step<'j>,
    },
}

/// The step after a keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'j> {
    /// The keyword's value is the schema.
    None,
    /// The schema is one of a list.
    Index(usize),
    /// The schema has a key.
    Key(&'j str),
}

/// The pointer of a schema, or of a keyword in it.
pub(super) fn pointer(program: &Program<'_>, id: SchemaId, keyword: Option<&str>) -> String {
    let mut chain = Vec::new();
    let mut at = id;
    let root = loop {
        match &program.schema_ref(at).location {
            Location::Below {
                parent,
                keyword,
                step,
            } => {
                chain.push((*keyword, *step));
                at = *parent;
            }
            root => break root,
        }
    };
    let (root, hash): (&str, _) = match root {
        Location::Root(Some(uri)) => (uri, "#"),
        Location::At(pointer) => (pointer, ""),
        _ => ("", "#"),
    };
    let last = keyword.filter(|keyword| !keyword.is_empty());
    let steps = chain.iter().map(|(keyword, step)| {
        let step = match step {
            Step::None => 0,
            Step::Index(_) => INDEX_LENGTH,
            Step::Key(key) => key.len() + 1,
        };
        keyword.len() + 1 + step
    });
    let last_length = last.map_or(0, |last| last.len() + 1);
    let length = root.len() + hash.len() + steps.sum::<usize>() + last_length;
    let mut pointer = String::with_capacity(length);
    pointer.push_str(root);
    pointer.push_str(hash);
    for (keyword, step) in chain.into_iter().rev() {
        push_token(&mut pointer, keyword);
        match step {
            Step::None => {}
            Step::Index(index) => {
                let _ = write!(pointer, "/{index}");
            }
            Step::Key(key) => push_token(&mut pointer, key),
        }
    }
    if let Some(last) = last {
        push_token(&mut pointer, last);
    }
    pointer
}

/// The pointer of a keyword in the schema of this pointer.
pub(crate) fn pointer_below(schema: &str, keyword: &str) -> String {
    let mut pointer = String::with_capacity(schema.len() + 1 + keyword.len());
    pointer.push_str(schema);
    if !keyword.is_empty() {
        push_token(&mut pointer, keyword);
    }
    pointer
}

/// The length of most steps to an item of a list.
const INDEX_LENGTH: usize = 4;

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    let mut rest = token;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'~' | b'/')) {
        pointer.push_str(&rest[..at]);
        pointer.push_str(if rest.as_bytes()[at] == b'~' {
            "~0"
        } else {
            "~1"
        });
        rest = &rest[at + 1..];
    }
    pointer.push_str(rest);
}
