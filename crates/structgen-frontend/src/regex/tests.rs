use super::*;

fn search(pattern: &str) -> Result<Regular, String> {
    parse(pattern, RegexOptions::json_schema()).map_err(|error| error.to_string())
}

#[test]
fn anchored_patterns_lose_their_anchors() {
    for (pattern, text) in [("^abc$", "abc"), ("^(?:a)(b)c$", "abc"), ("^(^a$)$", "a")] {
        assert_eq!(search(pattern), Ok(Regular::literal(text)), "{pattern}");
    }
}
