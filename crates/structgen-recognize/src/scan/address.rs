//! E-mail addresses, host names and IP addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Found;
use crate::Value;

/// The limit of RFC 5321 before the `@`.
const MAX_LOCAL: usize = 64;
/// The limit of RFC 1035 for a name.
const MAX_NAME: usize = 253;

pub(super) fn recognize(text: &str, found: &mut Found<'_>) {
    let mut start = 0;
    for atom in text.split_inclusive(|character| !belongs(character)) {
        let begin = start;
        start += atom.len();
        let atom = atom.trim_end_matches(|character| !belongs(character));
        if !atom
            .bytes()
            .any(|byte| matches!(byte, b'.' | b'-' | b'@' | b':'))
        {
            continue;
        }
        if atom.contains('@') {
            emails(text, atom, begin, found);
        } else {
            if atom.matches(':').take(2).count() == 2 && !atom.contains("://") {
                ipv6(atom, begin, found);
            }
            host(atom, begin, found);
        }
    }
}

fn belongs(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '-' | '_' | '+' | '%' | '@' | ':')
}

/// Adds the parts around each `@` of an atom.
fn emails(text: &str, atom: &str, start: usize, found: &mut Found<'_>) {
    let mut begin = start;
    let mut local: Option<(usize, &str)> = None;
    for part in atom.split('@') {
        if let Some((local_start, local)) = local {
            let domain = leading_domain(part);
            let domain_end = begin + domain.len();
            if is_domain(domain) && is_local(local) {
                let written = format!("{local}@{domain}");
                found.add_bytes(local_start, domain_end, Value::Email(written));
                if let Some(longer) = with_apostrophe(text, local_start) {
                    let written = text[longer..domain_end].to_owned();
                    found.add_bytes(longer, domain_end, Value::Email(written));
                }
            }
        }
        // `mailto:` and the like precede a colon.
        let own = part
            .rsplit(':')
            .next()
            .unwrap_or(part)
            .trim_start_matches(['.', '-', '%', '+']);
        local = Some((begin + part.len() - own.len(), own));
        begin += part.len() + 1;
    }
}

/// Returns the start of `o'brien@`, whose `brien@` starts at `local`; the letters may also be an article, as in
/// `l'adresse`.
fn with_apostrophe(text: &str, local: usize) -> Option<usize> {
    let name = text[..local].strip_suffix('\'')?;
    let letters = name.len()
        - name
            .trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
            .len();
    let begins = text[..name.len() - letters]
        .chars()
        .next_back()
        .is_none_or(|before| before.is_whitespace() || "<(:,;".contains(before));
    ((1..=MAX_LOCAL / 2).contains(&letters) && begins).then_some(name.len() - letters)
}

/// Returns the possible domain at the start: without anything after a colon, and without a point that ends a sentence.
fn leading_domain(part: &str) -> &str {
    let end =
        part.find(|character: char| !(character.is_alphanumeric() || ".-".contains(character)));
    part[..end.unwrap_or(part.len())].trim_end_matches(['.', '-'])
}

fn is_local(local: &str) -> bool {
    (1..=MAX_LOCAL).contains(&local.len())
        && !local.ends_with('.')
        && !local.contains("..")
        && local
            .chars()
            .all(|character| character.is_alphanumeric() || "._%+-".contains(character))
}

/// Returns whether a name has two or more labels, the last one of letters.
pub(super) fn is_domain(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or("");
    name.len() <= MAX_NAME
        && name.contains('.')
        && (last.starts_with("xn--")
            || (2..=24).contains(&last.chars().count()) && last.chars().all(char::is_alphabetic))
        && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .chars()
            .all(|character| character.is_alphanumeric() || character == '-')
}

/// Adds a name or an IPv4 address, without the port after it.
fn host(atom: &str, start: usize, found: &mut Found<'_>) {
    let trimmed = atom.trim_start_matches(['.', '-', '_', '+', '%', ':']);
    let start = start + atom.len() - trimmed.len();
    let name = trimmed
        .split(':')
        .next()
        .unwrap_or(trimmed)
        .trim_end_matches(['.', '-', '_', '+', '%']);
    let end = start + name.len();
    if name.len() > MAX_NAME {
        return;
    }
    if name.bytes().filter(|byte| *byte == b'.').count() == 3
        && let Some(address) = ipv4(name)
    {
        found.add_bytes(start, end, Value::Ipv4(address));
    } else if is_domain(name) || is_machine(name) {
        found.add_bytes(start, end, Value::Host(name.to_lowercase()));
    }
}

/// `std` rejects leading zeros, which occur in texts all the same.
fn ipv4(name: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = name.split('.');
    for octet in &mut octets {
        let part = parts
            .next()
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *octet = part.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// Returns whether this is a machine's name of one label: letters, a hyphen and digits, as in `web-05`.
fn is_machine(name: &str) -> bool {
    is_label(name)
        && name.starts_with(|character: char| character.is_ascii_alphabetic())
        && name.contains('-')
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && name.is_ascii()
}

fn ipv6(atom: &str, start: usize, found: &mut Found<'_>) {
    let trimmed = atom.trim_end_matches(['.', '-', '_', '+', '%']);
    let name = trimmed.split('%').next().unwrap_or(trimmed);
    // Longer than any address that ends with an IPv4 address.
    if name.len() > 45 {
        return;
    }
    let parsed = [name, name.trim_end_matches(':')]
        .into_iter()
        .find_map(|name| Some((name, name.parse().ok()?)));
    if let Some((name, address)) = parsed {
        let address: Ipv6Addr = address;
        found.add_bytes(start, start + name.len(), Value::Ipv6(address));
    }
}
