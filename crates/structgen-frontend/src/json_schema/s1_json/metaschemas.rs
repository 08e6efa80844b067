//! The drafts' own metaschemas, so that references into them are resolved without fetching anything.

use std::sync::OnceLock;

use super::Json;
use crate::json_schema::SchemaLimits;

/// A metaschema, or the document of one vocabulary.
struct Document {
    uri: &'static str,
    text: &'static str,
    read: OnceLock<Option<Json<'static>>>,
}

macro_rules! documents {
    ($($uri:literal: $path:literal,)*) => {
        [$(Document {
            uri: $uri,
            text: include_str!(concat!("metaschemas/", $path)),
            read: OnceLock::new(),
        }),*]
    };
}

static DOCUMENTS: [Document; 19] = documents! {
    "http://json-schema.org/draft-04/schema": "draft4.json",
    "http://json-schema.org/draft-06/schema": "draft6.json",
    "http://json-schema.org/draft-07/schema": "draft7.json",
    "https://json-schema.org/draft/2019-09/schema": "draft2019-09/schema.json",
    "https://json-schema.org/draft/2019-09/meta/applicator": "draft2019-09/meta/applicator.json",
    "https://json-schema.org/draft/2019-09/meta/content": "draft2019-09/meta/content.json",
    "https://json-schema.org/draft/2019-09/meta/core": "draft2019-09/meta/core.json",
    "https://json-schema.org/draft/2019-09/meta/format": "draft2019-09/meta/format.json",
    "https://json-schema.org/draft/2019-09/meta/meta-data": "draft2019-09/meta/meta-data.json",
    "https://json-schema.org/draft/2019-09/meta/validation": "draft2019-09/meta/validation.json",
    "https://json-schema.org/draft/2020-12/schema": "draft2020-12/schema.json",
    "https://json-schema.org/draft/2020-12/meta/applicator": "draft2020-12/meta/applicator.json",
    "https://json-schema.org/draft/2020-12/meta/content": "draft2020-12/meta/content.json",
    "https://json-schema.org/draft/2020-12/meta/core": "draft2020-12/meta/core.json",
    "https://json-schema.org/draft/2020-12/meta/format-annotation": "draft2020-12/meta/format-annotation.json",
    "https://json-schema.org/draft/2020-12/meta/format-assertion": "draft2020-12/meta/format-assertion.json",
    "https://json-schema.org/draft/2020-12/meta/meta-data": "draft2020-12/meta/meta-data.json",
    "https://json-schema.org/draft/2020-12/meta/unevaluated": "draft2020-12/meta/unevaluated.json",
    "https://json-schema.org/draft/2020-12/meta/validation": "draft2020-12/meta/validation.json",
};

/// The document with this URI, without a fragment; parsed on first use.
pub(crate) fn find(uri: &str) -> Option<(&'static str, &'static Json<'static>)> {
    let document = DOCUMENTS.iter().find(|document| document.uri == uri)?;
    let read = || Json::from_text(document.text, &SchemaLimits::default()).ok();
    let json = document.read.get_or_init(read).as_ref()?;
    Some((document.uri, json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::Draft;

    #[test]
    fn every_document_is_json_and_names_itself_and_its_draft() {
        for document in &DOCUMENTS {
            let (uri, json) = find(document.uri).expect("it can be read");
            let text = |key| match json.get(key) {
                Some(Json::String(text)) => Some(text.trim_end_matches('#').to_owned()),
                _ => None,
            };
            let id = text("$id").or_else(|| text("id"));
            assert_eq!(id.as_deref(), Some(uri));
            let schema = text("$schema").expect("it names its draft");
            assert!(Draft::of_metaschema(&schema).is_some(), "{schema}");
        }
        assert!(find("https://json-schema.org/draft-03/schema").is_none());
    }
}
