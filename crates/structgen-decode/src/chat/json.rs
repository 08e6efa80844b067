//! JSON as Python's `json.dumps` writes it, which is what the models have been trained on.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde_json::Value as Json;

/// How to write.
struct Style {
    indent: Option<usize>,
    item_separator: String,
    key_separator: String,
    ascii: bool,
    sort_keys: bool,
}

/// The filter `tojson(indent=None, ensure_ascii=False, separators=None, sort_keys=False)`.
pub(super) fn to_json(
    value: &Value,
    indent: Option<usize>,
    options: &Kwargs,
) -> Result<String, Error> {
    let invalid = |message: &str| Error::new(ErrorKind::InvalidOperation, message.to_owned());
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<usize>>("indent")?,
    };
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let (item_separator, key_separator) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => return Err(invalid("tojson: separators must be two strings")),
        None if indent.is_some() => (",".into(), ": ".into()),
        None => (", ".into(), ": ".into()),
    };
    let style = Style {
        // The text grows with the depth times this.
        indent: indent.map(|indent| indent.min(16)),
        item_separator,
        key_separator,
        ascii: options
            .get::<Option<bool>>("ensure_ascii")?
            .unwrap_or(false),
        sort_keys: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    let json = serde_json::to_value(value).map_err(|error| invalid(&format!("tojson: {error}")))?;
    let mut text = String::new();
    write(&mut text, &json, &style, 0);
    Ok(text)
}

fn write(text: &mut String, value: &Json, style: &Style, depth: usize) {
    match value {
        Json::String(string) => write_string(text, string, style),
        Json::Array(items) if !items.is_empty() => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(text, style, i, depth + 1);
                write(text, item, style, depth + 1);
            }
            newline(text, style, depth);
            text.push(']');
        }
        Json::Object(fields) if !fields.is_empty() => {
            let mut fields: Vec<_> = fields.iter().collect();
            if style.sort_keys {
                fields.sort_by_key(|(name, _)| *name);
            }
            text.push('{');
            for (i, (name, field)) in fields.into_iter().enumerate() {
                separate(text, style, i, depth + 1);
                write_string(text, name, style);
                text.push_str(&style.key_separator);
                write(text, field, style, depth + 1);
            }
            newline(text, style, depth);
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

fn separate(text: &mut String, style: &Style, i: usize, depth: usize) {
    if i > 0 {
        text.push_str(&style.item_separator);
    }
    newline(text, style, depth);
}

fn newline(text: &mut String, style: &Style, depth: usize) {
    if let Some(indent) = style.indent {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent * depth));
    }
}

fn write_string(text: &mut String, string: &str, style: &Style) {
    let quoted = Json::from(string).to_string();
    if !style.ascii {
        text.push_str(&quoted);
        return;
    }
    for c in quoted.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}
