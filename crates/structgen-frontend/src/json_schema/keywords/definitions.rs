//! `$defs` and `definitions`: schemas that references lead to.

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{SchemaParser, Step};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    // Definitions are read for a dynamic scope only when something refers to them.
    if let Json::Object(entries) = value
        && !parser.is_scoped()
    {
        for (key, value) in entries {
            parser.subschema(value, keyword, Step::Key(key));
        }
    }
}
