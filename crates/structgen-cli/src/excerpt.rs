//! Excerpts: a line of a text, with a position marked.

/// Characters to show before and after the position.
const BEFORE: usize = 40;
const AFTER: usize = 30;

/// Returns the line, and a caret under the column. Both are counted from one; columns are characters.
pub(crate) fn excerpt(text: &[u8], line: usize, column: usize) -> String {
    let line = line_of(text, line);
    let line: Vec<char> = String::from_utf8_lossy(line)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let at = column.saturating_sub(1).min(line.len());
    let from = at.saturating_sub(BEFORE);
    let shown: String = line[from..line.len().min(at + AFTER)].iter().collect();
    format!("  {shown}\n  {}^", " ".repeat(at - from))
}

/// As [`excerpt`], with a column in bytes.
pub(crate) fn excerpt_at_byte(text: &str, line: usize, column: usize) -> String {
    let bytes = line_of(text.as_bytes(), line);
    let before = &bytes[..column.saturating_sub(1).min(bytes.len())];
    let characters = String::from_utf8_lossy(before).chars().count();
    excerpt(text.as_bytes(), line, characters + 1)
}

fn line_of(text: &[u8], line: usize) -> &[u8] {
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.nth(line.saturating_sub(1)).unwrap_or_default()
}
