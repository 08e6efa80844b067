//! Documents passed in place of a schema: requests and tools of chat APIs, OpenAPI descriptions, instances.

use crate::json_schema::keywords::{self, is_about_values};
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, SchemaWarning};

use super::spelling::nearest_keyword;

/// A kind of document that contains one schema.
struct Wrapper {
    what: &'static str,
    /// The value of its `type`, which is not a JSON type. If `None`, the document has no keyword about values.
    type_name: Option<&'static str>,
    /// A member that it has next to the schema.
    member: Option<&'static str>,
    schema: &'static str,
}

const fn wrapper(what: &'static str, schema: &'static str) -> Wrapper {
    Wrapper {
        what,
        type_name: None,
        member: None,
        schema,
    }
}

impl Wrapper {
    const fn of_type(mut self, name: &'static str) -> Self {
        self.type_name = Some(name);
        self
    }

    const fn with(mut self, member: &'static str) -> Self {
        self.member = Some(member);
        self
    }

    fn is(&self, document: &Json<'_>) -> bool {
        let has_type = match (self.type_name, document.get("type")) {
            (Some(name), Some(Json::String(named))) => named == name,
            (Some(_), _) => false,
            (None, _) => !document.keys().any(is_about_values),
        };
        let has_member = self
            .member
            .is_none_or(|member| document.get(member).is_some());
        let mut path = self.schema.split('/').skip(1);
        let schema = path.try_fold(document, |json, key| json.get(key));
        has_type && has_member && matches!(schema, Some(Json::Object(_)))
    }
}

const WRAPPERS: [Wrapper; 10] = [
    wrapper("a response format of OpenAI's API", "#/json_schema/schema").of_type("json_schema"),
    wrapper("a response format of OpenAI's API", "#/schema").of_type("json_schema"),
    wrapper("a tool of OpenAI's API", "#/function/parameters").of_type("function"),
    wrapper("a tool of OpenAI's API", "#/parameters").of_type("function"),
    wrapper(
        "a request of OpenAI's API",
        "#/response_format/json_schema/schema",
    ),
    wrapper("a response format of OpenAI's API", "#/json_schema/schema"),
    wrapper("a function of OpenAI's API", "#/parameters").with("name"),
    wrapper("a named schema of OpenAI's API", "#/schema").with("name"),
    wrapper("a tool of Anthropic's API", "#/input_schema").with("name"),
    wrapper("a tool of the Model Context Protocol", "#/inputSchema").with("name"),
];

/// What a document is, if it is not a schema.
pub(crate) fn find(document: &Json<'_>) -> Option<SchemaWarning> {
    let pointer = "#".to_owned();
    if let Some(found) = WRAPPERS.iter().find(|wrapper| wrapper.is(document)) {
        return Some(SchemaWarning::Wrapper {
            pointer,
            what: found.what,
            schema: Some(found.schema),
        });
    }
    if document.keys().any(is_about_values) {
        return None;
    }
    let is_text = |key| matches!(document.get(key), Some(Json::String(_)));
    if is_text("openapi") || is_text("swagger") {
        return Some(SchemaWarning::Wrapper {
            pointer,
            what: "an OpenAPI description",
            schema: None,
        });
    }
    is_instance(document).then(|| SchemaWarning::Instance {
        pointer,
        members: members(document),
    })
}

/// Whether a document has members, none of which could belong to a schema.
fn is_instance(document: &Json<'_>) -> bool {
    let is_of_schemas = |key: &str| {
        key.starts_with(['$', '_', '@', '/', '#'])
            || key.starts_with("x-")
            || keywords::find(key).is_some_and(|row| !matches!(row.name, "description" | "title"))
            || nearest_keyword(key, Draft::Draft2020).is_some()
            || key == "defs"
    };
    let mut keys = document.keys();
    let is_unknown = |key: &str| keywords::find(key).is_none();
    document.keys().any(is_unknown) && !keys.any(is_of_schemas)
}

/// The names of the first members.
fn members(document: &Json<'_>) -> String {
    const MOST: usize = 4;
    let name = |key: &str| format!("`{}`", key.chars().take(30).collect::<String>());
    let mut names: Vec<String> = document.keys().take(MOST).map(name).collect();
    if document.keys().nth(MOST).is_some() {
        names.push("…".to_owned());
    }
    names.join(", ")
}
