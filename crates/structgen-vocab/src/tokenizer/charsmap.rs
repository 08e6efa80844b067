//! SentencePiece's compiled character maps: checked, and applied.
//!
//! A map consists of the size of a double-array trie, the trie, and the replacement texts. The layout is that of
//! Darts-clone.
//!
//! The map in a `tokenizer.json` is in base64, and the `tokenizers` crate applies it. The crate trusts the size when it
//! allocates, and every index in the trie when it normalises, so a broken map would abort the process or panic on some
//! text. It also applies the map to graphemes: if the map contains only the beginning of one, the combining marks after
//! it are lost. SentencePiece replaces the longest matching prefix of the remaining text. So does a [`Map`], for
//! tokenizers read from SentencePiece's own file.

use std::collections::VecDeque;

use serde_json::Value;
use tokenizers::NormalizedString;

/// The maximum length in bytes of the replacement of a character; the longest known one has 33.
const MAX_REPLACEMENT: usize = 256;

/// The maximum length in bytes of the characters that are replaced together; the longest known ones have a few dozen.
/// The trie of a hostile map has cycles, so a text could be followed to its end from each of its characters.
const MAX_REPLACED: usize = 256;

/// Checks every compiled map in a normaliser; the error states what is wrong. Returns the maximum factor by which the
/// maps together may lengthen a text.
pub(super) fn check(normalizer: &Value) -> Result<usize, String> {
    let mut factor: usize = 1;
    if normalizer.get("type").and_then(Value::as_str) == Some("Precompiled") {
        let map = normalizer.get("precompiled_charsmap");
        let map = map.and_then(Value::as_str).and_then(decode_base64);
        let map = map.ok_or("a compiled character map is base64")?;
        factor = growth(&map).ok_or("the compiled character map is broken")?;
    }
    let steps = normalizer.get("normalizers").and_then(Value::as_array);
    for step in steps.into_iter().flatten() {
        factor = factor.saturating_mul(check(step)?);
    }
    Ok(factor)
}

/// A map whose indices are all in range.
#[derive(Debug)]
pub(super) struct Map {
    units: Vec<u32>,
    texts: String,
}

impl Map {
    /// Parses a map; `None` if it is broken.
    pub(super) fn read(map: &[u8]) -> Option<Self> {
        growth(map)?;
        let (units, texts) = parts(map)?;
        let texts = texts.to_owned();
        Some(Self { units, texts })
    }

    /// The longest prefix of a text that the map replaces: its length and the replacement.
    fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        let mut node = offset(*self.units.first()?);
        let mut found = None;
        for (at, &byte) in text.iter().take(MAX_REPLACED).enumerate() {
            node ^= usize::from(byte);
            let unit = *self.units.get(node)?;
            if byte == 0 || unit & (1 << 31 | 0xFF) != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            if unit & 1 << 8 != 0 {
                let start = (*self.units.get(node)? & !(1 << 31)) as usize;
                found = Some((at + 1, start));
            }
        }
        let (len, start) = found?;
        let to = self.texts.get(start..)?;
        Some((len, to.split('\0').next().unwrap_or(to)))
    }

    /// Replaces from left to right.
    pub(super) fn normalize(&self, text: &mut NormalizedString) {
        let mut changed: Vec<(char, isize)> = Vec::with_capacity(text.get().len());
        let mut removed_first = 0;
        let mut rest = text.get();
        while let Some(first) = rest.chars().next() {
            let found = self.longest(rest.as_bytes());
            // A match must end on a character boundary.
            let (from, to) = match found.filter(|(len, _)| rest.is_char_boundary(*len)) {
                Some((len, to)) => (&rest[..len], to),
                None => {
                    changed.push((first, 0));
                    rest = &rest[first.len_utf8()..];
                    continue;
                }
            };
            rest = &rest[from.len()..];
            let count = from.chars().count();
            changed.extend(
                to.chars()
                    .zip(0..)
                    .map(|(c, at)| (c, isize::from(at >= count))),
            );
            // Removed characters are attributed to the character before them.
            let removed = count.saturating_sub(to.chars().count());
            match changed.last_mut() {
                Some((_, change)) => *change -= removed as isize,
                None => removed_first += removed,
            }
        }
        text.transform(changed, removed_first);
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) as usize) << ((unit & 1 << 9) >> 6)
}

/// The trie and the replacement texts.
fn parts(map: &[u8]) -> Option<(Vec<u32>, &str)> {
    let (size, rest) = map.split_first_chunk::<4>()?;
    let size = usize::try_from(u32::from_le_bytes(*size)).ok()? / 4 * 4;
    let (trie, texts) = rest.split_at_checked(size)?;
    let units = trie.chunks_exact(4);
    let units = units.map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]));
    Some((units.collect(), std::str::from_utf8(texts).ok()?))
}

/// Checks the part of the trie that texts can reach. Returns the maximum factor by which a replacement is longer in
/// bytes than what it replaces, rounded up; `None` if the map is broken.
fn growth(map: &[u8]) -> Option<usize> {
    let (units, texts) = parts(map)?;

    let mut growth = 1;
    let mut seen = vec![false; units.len()];
    // Breadth first: nodes may have several parents, and each node is visited at its least depth.
    let mut open = VecDeque::from([(offset(*units.first()?), 1)]);
    while let Some((node, depth)) = open.pop_front() {
        // Any byte may follow, so some text looks up each of the 255 children.
        for label in 1..=255 {
            let child = node ^ label;
            let unit = *units.get(child)?;
            let is_child = unit & (1 << 31 | 0xFF) == label as u32;
            if !is_child || std::mem::replace(&mut seen[child], true) {
                continue;
            }
            if depth > MAX_REPLACED {
                return None;
            }
            let next = child ^ offset(unit);
            if unit & 1 << 8 != 0 {
                let start = (*units.get(next)? & !(1 << 31)) as usize;
                let text = texts.get(start..)?;
                let len = text.find('\0').unwrap_or(text.len());
                if len > MAX_REPLACEMENT {
                    return None;
                }
                growth = growth.max(len.div_ceil(depth));
            }
            open.push_back((next, depth + 1));
        }
    }
    Some(growth)
}

/// Decodes base64 with padding; `None` if it is invalid.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &digit in chunk {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trie that maps `a` to `b`: the root's children are around 256, the leaf is at 512.
    fn small_map() -> (Vec<u32>, Vec<u8>) {
        let mut units = vec![0u32; 1024];
        units[0] = 256 << 10;
        let a = 256 ^ usize::from(b'a');
        units[a] = ((a ^ 512) as u32) << 10 | 1 << 8 | u32::from(b'a');
        units[512] = 1 << 31;
        (units, b"b\0".to_vec())
    }

    fn bytes(units: &[u32], texts: &[u8]) -> Vec<u8> {
        let size = (units.len() * 4) as u32;
        let units = units.iter().flat_map(|unit| unit.to_le_bytes());
        size.to_le_bytes()
            .into_iter()
            .chain(units)
            .chain(texts.iter().copied())
            .collect()
    }

    #[test]
    fn a_good_map_passes() {
        let (units, texts) = small_map();
        assert_eq!(growth(&bytes(&units, &texts)), Some(1));
    }

    #[test]
    fn a_map_replaces_the_longest_beginning_and_nothing_after_it() {
        let (units, texts) = small_map();
        let map = Map::read(&bytes(&units, &texts)).unwrap();
        let mut text = NormalizedString::from("xa\u{30a}a");
        map.normalize(&mut text);
        assert_eq!(text.get(), "xb\u{30a}b");
        // With an empty replacement, also at the beginning.
        let map = Map::read(&bytes(&units, b"\0")).unwrap();
        let mut text = NormalizedString::from("aaxaé");
        map.normalize(&mut text);
        assert_eq!(text.get(), "xé");
    }

    #[test]
    fn indices_and_sizes_out_of_range_are_found() {
        let (units, texts) = small_map();
        let a = 256 ^ usize::from(b'a');
        let broken = |edit: &dyn Fn(&mut Vec<u32>)| {
            let mut units = units.clone();
            edit(&mut units);
            growth(&bytes(&units, &texts)).is_none()
        };
        assert!(broken(&|units| units[0] = u32::MAX));
        assert!(broken(&|units| units[0] = 1024 << 10));
        assert!(broken(&|units| units[a] |= 1 << 30));
        assert!(broken(&|units| units[512] = 1 << 31 | 3));
        assert!(broken(&|units| units.truncate(300)));
        assert!(broken(&|units| units.clear()));
        let long = [b'x'; MAX_REPLACEMENT + 1];
        assert!(growth(&bytes(&units, &long)).is_none());
        assert!(growth(&bytes(&units, b"\xFF\0")).is_none());
        let mut huge = bytes(&units, &texts);
        huge[..4].fill(0xFF);
        assert!(growth(&huge).is_none());
        assert!(growth(b"").is_none());
    }

    /// A map that replaces any number of `a` at once: the children of the only node are around 256.
    #[test]
    fn a_map_with_a_cycle_is_not_followed_to_the_end_of_a_text() {
        let (mut units, texts) = small_map();
        let a = 256 ^ usize::from(b'a');
        units[a] = ((a ^ 256) as u32) << 10 | 1 << 8 | u32::from(b'a');
        units[256] = 1 << 31;
        let map = Map::read(&bytes(&units, &texts)).unwrap();
        let mut text = NormalizedString::from("a".repeat(10 * MAX_REPLACED));
        map.normalize(&mut text);
        assert_eq!(text.get(), "b".repeat(10));
    }

    #[test]
    fn replacing_too_many_characters_at_once_is_refused() {
        let a = u32::from(b'a');
        let child = |node: u32| (256 * node) ^ a;
        let accepts = |count: u32| {
            let mut units = vec![0; 256 * 400];
            units[0] = 256 << 10;
            // Each node has its children around 256 times its number.
            for node in 1..=count {
                units[child(node) as usize] = (child(node) ^ (256 * (node + 1))) << 10 | a;
            }
            growth(&bytes(&units, b"\0")).is_some()
        };
        assert!(accepts(MAX_REPLACED as u32));
        assert!(!accepts(MAX_REPLACED as u32 + 1));
    }

    #[test]
    fn growth_is_that_of_the_shortest_text_with_a_replacement() {
        let (mut units, _) = small_map();
        let texts = "é".repeat(5);
        assert_eq!(growth(&bytes(&units, texts.as_bytes())), Some(10));
        // The same node after a longer text.
        let (x, y) = (256 ^ usize::from(b'x'), 768 ^ usize::from(b'a'));
        units[x] = ((x ^ 768) as u32) << 10 | u32::from(b'x');
        units[y] = ((y ^ 512) as u32) << 10 | 1 << 8 | u32::from(b'a');
        assert_eq!(growth(&bytes(&units, texts.as_bytes())), Some(10));
        units[256 ^ usize::from(b'a')] = 0;
        assert_eq!(growth(&bytes(&units, texts.as_bytes())), Some(5));
    }

    fn encode_base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = bytes.chunks(3).flat_map(|chunk| {
            let byte = |at| u32::from(chunk.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            (0..4).map(move |at| match at > chunk.len() {
                true => '=',
                false => char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]),
            })
        });
        digits.collect()
    }

    #[test]
    fn the_factors_of_maps_multiply() {
        let (units, _) = small_map();
        let map = encode_base64(&bytes(&units, &[b'x'; 200]));
        let map = serde_json::json!({"type": "Precompiled", "precompiled_charsmap": map});
        assert_eq!(check(&map), Ok(200));
        let list =
            serde_json::json!({"type": "Sequence", "normalizers": [map, {"type": "NFC"}, map]});
        assert_eq!(check(&list), Ok(40_000));
        assert_eq!(check(&Value::Null), Ok(1));
    }

    #[test]
    fn base64_known_values() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("+/+/", &[0xFB, 0xFF, 0xBF]),
        ] {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes));
        }
        for text in ["A", "AA", "A===", "====", "A=AA", "AA-_", "AA\nA"] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
    }
}
