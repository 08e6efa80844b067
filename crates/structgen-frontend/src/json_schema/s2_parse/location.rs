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

/// Writes the pointer of a schema, or of a keyword in it.
pub(super) fn pointer(program: &Program<'_>, id: SchemaId, keyword: Option<&str>) -> String {
    let mut chain = Vec::new();
    let mut at = id;
    let mut pointer = loop {
        match &program.schema_ref(at).location {
            Location::Root(None) => break "#".to_owned(),
            Location::Root(Some(uri)) => break format!("{uri}#"),
            Location::At(pointer) => break pointer.to_string(),
            Location::Below {
                parent,
                keyword,
                step,
            } => {
                chain.push((keyword, step));
                at = *parent;
            }
        }
    };
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
    if let Some(keyword) = keyword.filter(|keyword| !keyword.is_empty()) {
        push_token(&mut pointer, keyword);
    }
    pointer
}

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    if !token.contains(['~', '/']) {
        pointer.push_str(token);
        return;
    }
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(c),
        }
    }
}
