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

/// The pointer of a schema. Recursive: schemas nest no deeper than the text they are in.
pub(super) fn pointer<'p>(program: &'p Program<'_>, id: SchemaId) -> &'p str {
    let schema = program.schema_ref(id);
    schema.pointer.get_or_init(|| match &schema.location {
        Location::Root(None) => "#".into(),
        Location::Root(Some(uri)) => format!("{uri}#").into(),
        Location::At(pointer) => (&**pointer).into(),
        Location::Below {
            parent,
            keyword,
            step,
        } => {
            let mut pointer = pointer_below(self::pointer(program, *parent), keyword);
            match step {
                Step::None => {}
                Step::Index(index) => {
                    let _ = write!(pointer, "/{index}");
                }
                Step::Key(key) => push_token(&mut pointer, key),
            }
            pointer.into()
        }
    })
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
