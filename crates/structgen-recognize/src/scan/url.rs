//! Web addresses: `https://example.com/a?b=1`, `www.example.com`, `example.com/path`.

use std::net::Ipv6Addr;

use super::Found;
use crate::Value;

/// Longer addresses are not recognised; browsers do not agree on more either.
const MAX_BYTES: usize = 2048;

pub(super) fn recognize(text: &str, found: &mut Found<'_>) {
    let mut until = 0;
    for (at, _) in text.match_indices("://") {
        let scheme = text.as_bytes()[until.min(at)..at]
            .iter()
            .rev()
            .take(16)
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'+')
            .count();
        let start = at - scheme;
        if at < until
            || !text.as_bytes()[start..at]
                .first()
                .is_some_and(u8::is_ascii_alphabetic)
        {
            continue;
        }
        let end = end_of(text, at + 3);
        if end > at + 3 && end - start <= MAX_BYTES {
            found.add_bytes(start, end, Value::Url(normal(&text[start..end])));
            until = end;
        }
    }
    bare(text, found);
}

/// Adds addresses without a scheme: `www.` and a host, or a host and a path.
fn bare(text: &str, found: &mut Found<'_>) {
    let mut start = 0;
    let ends = |character: char| {
        character.is_whitespace()
            || matches!(
                character,
                '<' | '>' | '"' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';'
            )
    };
    for chunk in text.split_inclusive(ends) {
        let begin = start;
        start += chunk.len();
        if !chunk.contains('.') {
            continue;
        }
        let host_end = chunk
            .find(|character: char| !(character.is_alphanumeric() || "-.".contains(character)));
        let host = &chunk[..host_end.unwrap_or(chunk.len())];
        let path = host_end.is_some_and(|at| after_port(&chunk[at..]).starts_with('/'));
        let www = host
            .get(..4)
            .is_some_and(|head| head.eq_ignore_ascii_case("www."));
        if !(www || path)
            || chunk.len() > MAX_BYTES
            || !super::address::is_domain(host.trim_end_matches('.'))
        {
            continue;
        }
        let end = end_of(text, begin).min(begin + chunk.len());
        found.add_bytes(
            begin,
            end,
            Value::Url(format!("https://{}", normal(&text[begin..end]))),
        );
    }
}

/// Returns what follows the port at the start: `/path` of `:8080/path`.
fn after_port(rest: &str) -> &str {
    rest.strip_prefix(':').map_or(rest, |port| {
        port.trim_start_matches(|character: char| character.is_ascii_digit())
    })
}

/// Returns the end of the address at `at`: before a space or a mark that addresses cannot contain, and without the
/// punctuation of the surrounding sentence.
fn end_of(text: &str, at: usize) -> usize {
    let window = text.as_bytes()[at..].iter().take(MAX_BYTES + 1);
    let refused = |byte: &u8| {
        byte.is_ascii_whitespace() || byte.is_ascii_control() || b"<>\"{}|\\^`".contains(byte)
    };
    let mut end = at + window.take_while(|byte| !refused(byte)).count();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut address = &text[at..end];
    // White space that is not ASCII.
    address = address.split(char::is_whitespace).next().unwrap_or(address);
    let mut closing = address
        .matches(')')
        .count()
        .saturating_sub(address.matches('(').count());
    while let Some(last) = address.chars().next_back() {
        // `http://[::1]`.
        if last == ']' && address.starts_with('[') && address.find(']') == Some(address.len() - 1) {
            break;
        }
        let unmatched = last == ')' && closing > 0;
        if !(unmatched || ".,;:!?'’”»…*_]".contains(last)) {
            break;
        }
        closing -= usize::from(unmatched);
        address = &address[..address.len() - last.len_utf8()];
    }
    at + address.len()
}

/// Percent-encodes the bytes that RFC 3986 does not allow. The brackets around an IPv6 address are allowed.
fn normal(address: &str) -> String {
    let (host, rest) = address.split_at(ipv6_end(address).unwrap_or(0));
    let mut normal = String::with_capacity(address.len());
    normal.push_str(host);
    for (at, character) in rest.char_indices() {
        let allowed = match character {
            '[' | ']' => false,
            '%' => is_encoded(&rest.as_bytes()[at..]),
            _ => character.is_ascii(),
        };
        if allowed {
            normal.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                normal.push('%');
                normal.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
                normal.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
            }
        }
    }
    normal
}

/// Returns the end of an IPv6 address in brackets that is the host.
fn ipv6_end(address: &str) -> Option<usize> {
    let start = address.find("://[")? + 4;
    let end = start + address[start..].find(']')?;
    address[start..end].parse::<Ipv6Addr>().ok()?;
    Some(end + 1)
}

/// Returns whether two hexadecimal digits follow the percent sign at the start.
fn is_encoded(bytes: &[u8]) -> bool {
    matches!(bytes, [_, high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}
