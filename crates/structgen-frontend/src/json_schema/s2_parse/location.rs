//! Locations of schemas, as JSON Pointers.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use super::{Program, SchemaId};
use crate::json_schema::pointer::{push_below, push_key};

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
pub(super) fn pointer<'p>(program: &'p Program<'_>, id: SchemaId) -> &'p Arc<str> {
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
            let parent = self::pointer(program, *parent);
            let mut pointer = program.text.take();
            pointer.clear();
            push_below(&mut pointer, parent, keyword);
            match step {
                Step::None => {}
                Step::Index(index) => {
                    let _ = write!(pointer, "/{index}");
                }
                Step::Key(key) => push_key(&mut pointer, key),
            }
            let shared = Arc::from(pointer.as_str());
            program.text.set(pointer);
            shared
        }
    })
}
