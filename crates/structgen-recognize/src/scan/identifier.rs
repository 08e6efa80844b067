//! UUIDs and codes: `CVE-2025-82218`, `#1042`, `AB-1234/5`, `3f2c9a1e`.

use super::Found;
use crate::Value;

/// Longer runs are not codes that people write.
const MAX_BYTES: usize = 64;

pub(super) fn recognize(text: &str, found: &mut Found<'_>) {
    let mut start = 0;
    for run in text.split_inclusive(|character: char| !belongs(character)) {
        let begin = start;
        start += run.len();
        let run = run.trim_end_matches(|character| !belongs(character));
        let trimmed = run.trim_start_matches(['-', '_', '.', '/']);
        let begin = begin + run.len() - trimmed.len();
        let code = trimmed.trim_end_matches(['-', '_', '.', '/', '#']);
        if code.len() > MAX_BYTES || !code.bytes().any(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let value = if is_uuid(code) {
            Value::Uuid(code.to_ascii_lowercase())
        } else if !is_number(code) {
            Value::Identifier(code.to_owned())
        } else {
            continue;
        };
        found.add_bytes(begin, begin + code.len(), value);
    }
}

fn belongs(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | '#')
}

/// Digits, with at most one point.
fn is_number(code: &str) -> bool {
    code.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && code.matches('.').take(2).count() < 2
}

fn is_uuid(code: &str) -> bool {
    let mut groups = code.split('-');
    let lengths = [8, 4, 4, 4, 12];
    let shaped = lengths.into_iter().all(|length| {
        groups.next().is_some_and(|group| {
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    shaped && groups.next().is_none()
}
