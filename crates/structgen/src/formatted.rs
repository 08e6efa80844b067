//! Formats JSON with whitespace after generation.

use structgen_grammar::{Indent, Whitespace};

/// Changes the whitespace between the tokens of JSON, and no value.
///
/// ```
/// use structgen::format_json;
/// use structgen::grammar::{Indent, Whitespace};
///
/// let indented = Whitespace::Indented { indent: Indent::Spaces(2) };
/// assert_eq!(format_json(r#"{"a": 1.50}"#, indented), "{\n  \"a\": 1.50\n}");
/// ```
///
/// If the form has optional whitespace, [`Spaced`](Whitespace::Spaced) writes a space after each comma and colon, and
/// [`Bounded`](Whitespace::Bounded) none.
pub fn format_json(json: &str, whitespace: Whitespace) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        if in_string {
            out.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = character == '\\' && !is_escaped;
            continue;
        }
        if is_space(character) {
            continue;
        }
        if let '}' | ']' = character {
            // Text that is not JSON may close what it did not open.
            depth = depth.saturating_sub(1);
            if !out.ends_with(['{', '[']) {
                break_line(&mut out, whitespace, depth);
            }
        }
        out.push(character);
        match character {
            '"' => in_string = true,
            '{' | '[' => {
                depth += 1;
                while rest.next_if(|&next| is_space(next)).is_some() {}
                if !matches!(rest.peek(), Some('}' | ']')) {
                    break_line(&mut out, whitespace, depth);
                }
            }
            ',' if matches!(whitespace, Whitespace::Indented { .. }) => {
                break_line(&mut out, whitespace, depth);
            }
            ',' | ':'
                if !matches!(whitespace, Whitespace::Compact | Whitespace::Bounded { .. }) =>
            {
                out.push(' ');
            }
            _ => {}
        }
    }
    out
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Starts a line, in the form that has lines.
fn break_line(out: &mut String, whitespace: Whitespace, depth: usize) {
    if let Whitespace::Indented { indent } = whitespace {
        out.push('\n');
        let level = match indent {
            Indent::Tab => "\t".to_owned(),
            Indent::Spaces(width) => " ".repeat(width.into()),
        };
        out.push_str(&level.repeat(depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn formatted_json_is_that_of_the_form() {
        let json = r#"{"a,b":[1.50,{},[],"x\\\":{ "],"c":{"d":null}}"#;
        let indented = Whitespace::Indented {
            indent: Indent::Spaces(2),
        };
        let value: Value = serde_json::from_str(json).unwrap();
        let expected = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(
            format_json(json, indented),
            expected.replace("1.5,", "1.50,")
        );
        let spaced = r#"{"a,b": [1.50, {}, [], "x\\\":{ "], "c": {"d": null}}"#;
        assert_eq!(format_json(json, Whitespace::OneSpace), spaced);
        for whitespace in [Whitespace::Compact, Whitespace::Bounded { max: 3 }] {
            assert_eq!(
                format_json(&expected, whitespace),
                json.replace("1.50", "1.5")
            );
        }
        let tabs = Whitespace::Indented {
            indent: Indent::Tab,
        };
        assert_eq!(format_json("[1]", tabs), "[\n\t1\n]");
        assert_eq!(format_json("]}[1]", tabs), "\n]\n}[\n\t1\n]");
    }
}
