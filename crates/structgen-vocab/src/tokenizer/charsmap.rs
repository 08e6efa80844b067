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

use serde_json::Value;
use tokenizers::NormalizedString;

/// The maximum length in bytes of the replacement of a character; the longest known one has 33.
const MAX_REPLACEMENT: usize = 256;

/// Checks every compiled map in a normaliser; the error states what is wrong.
pub(super) fn check(normalizer: &Value) -> Result<(), String> {
    if normalizer.get("type").and_then(Value::as_str) == Some("Precompiled") {
        let map = normalizer.get("precompiled_charsmap");
        let map = map.and_then(Value::as_str).and_then(decode_base64);
        let map = map.ok_or("a compiled character map is base64")?;
        check_map(&map).ok_or("the compiled character map is broken")?;
    }
    match normalizer.get("normalizers").and_then(Value::as_array) {
        Some(steps) => steps.iter().try_for_each(check),
        None => Ok(()),
    }
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
        check_map(map)?;
        let (units, texts) = parts(map)?;
        let texts = texts.to_owned();
        Some(Self { units, texts })
    }

    /// The longest prefix of a text that the map replaces: its length and the replacement.
    fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        let mut node = offset(*self.units.first()?);
        let mut found = None;
        for (at, &byte) in text.iter().enumerate() {
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

/// Checks the part of the trie that texts can reach.
fn check_map(map: &[u8]) -> Option<()> {
    let (units, texts) = parts(map)?;

    let mut seen = vec![false; units.len()];
    let mut open = vec![offset(*units.first()?)];
    while let Some(node) = open.pop() {
        // Any byte may follow, so some text looks up each of the 255 children.
        for label in 1..=255 {
            let child = node ^ label;
            let unit = *units.get(child)?;
            if unit & (1 << 31 | 0xFF) != label as u32 {
                continue;
            }
            let next = child ^ offset(unit);
            if unit & 1 << 8 != 0 {
                let start = (*units.get(next)? & !(1 << 31)) as usize;
                let text = texts.get(start..)?;
                let len = text.find('\0').unwrap_or(text.len());
                if len > MAX_REPLACEMENT {
                    return None;
                }
            }
            if !std::mem::replace(&mut seen[child], true) {
                open.push(next);
            }
        }
    }
    Some(())
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
        assert_eq!(check_map(&bytes(&units, &texts)), Some(()));
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
            check_map(&bytes(&units, &texts)).is_none()
        };
        assert!(broken(&|units| units[0] = u32::MAX));
        assert!(broken(&|units| units[0] = 1024 << 10));
        assert!(broken(&|units| units[a] |= 1 << 30));
        assert!(broken(&|units| units[512] = 1 << 31 | 3));
        assert!(broken(&|units| units.truncate(300)));
        assert!(broken(&|units| units.clear()));
        let long = [b'x'; MAX_REPLACEMENT + 1];
        assert!(check_map(&bytes(&units, &long)).is_none());
        assert!(check_map(&bytes(&units, b"\xFF\0")).is_none());
        let mut huge = bytes(&units, &texts);
        huge[..4].fill(0xFF);
        assert!(check_map(&huge).is_none());
        assert!(check_map(b"").is_none());
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
