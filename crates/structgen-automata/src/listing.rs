//! Listed texts as a tree, for walks that visit many of their beginnings once.

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::escaped_length;

/// Listed texts, sorted.
#[derive(Clone, Debug)]
pub(crate) struct ListedTexts {
    texts: Arc<[Box<str>]>,
    /// By index of each text that is long, if any is: the escaped length from every [`MARK`]-th byte on.
    marks: Option<Arc<FxHashMap<usize, Box<[u32]>>>>,
}

/// The number of bytes between marks. Shorter texts have none.
const MARK: usize = 64;

impl ListedTexts {
    /// Returns the number of bytes that the text with this index takes in a JSON string from byte `depth` on, written
    /// in the shortest way. At most a few of them are read.
    pub(crate) fn escaped_from(&self, text: usize, depth: usize) -> u32 {
        let bytes = self.texts[text].as_bytes();
        match self.marks.as_ref().and_then(|marks| marks.get(&text)) {
            None => escaped_length(&bytes[depth..]),
            Some(marks) => {
                let mark = depth.div_ceil(MARK);
                let until = bytes.len().min(mark * MARK);
                escaped_length(&bytes[depth..until]) + marks.get(mark).copied().unwrap_or(0)
            }
        }
    }
}

impl FromIterator<Box<str>> for ListedTexts {
    fn from_iter<I: IntoIterator<Item = Box<str>>>(texts: I) -> Self {
        let texts: Arc<[Box<str>]> = texts.into_iter().collect();
        let long = texts.iter().enumerate().filter(|it| it.1.len() > MARK);
        let marks = long.map(|(i, text)| {
            let mut left = 0;
            let parts = text.as_bytes().chunks(MARK).rev();
            let mut marks: Vec<u32> = parts
                .map(|part| {
                    left += escaped_length(part);
                    left
                })
                .collect();
            marks.reverse();
            (i, marks.into())
        });
        let marks: FxHashMap<usize, Box<[u32]>> = marks.collect();
        Self {
            marks: (!marks.is_empty()).then(|| Arc::new(marks)),
            texts,
        }
    }
}

impl Deref for ListedTexts {
    type Target = [Box<str>];

    fn deref(&self) -> &[Box<str>] {
        &self.texts
    }
}

/// The listed texts with which a JSON string may go on: the keys of an object, or the strings of an enumeration. A walk
/// over their beginnings needs no state for each.
///
/// All is about the content of the string, without escapes.
#[derive(Clone, Debug)]
pub struct Listing {
    pub(crate) texts: ListedTexts,
    /// The label of each, and which may come; without them, all may, under the label 0.
    pub(crate) keys: Option<(Arc<[u32]>, AllowedKeys)>,
    pub(crate) start: Beginning,
}

/// A beginning of some listed texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The texts `low..high` begin with it.
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Its length in bytes.
    pub(crate) depth: u32,
}

/// The declared keys that may come next, and the cost of each beyond its bytes.
#[derive(Clone, Debug)]
pub(crate) struct AllowedKeys {
    /// By key; shared by all states of an object as far as they agree.
    pub(crate) weights: Arc<[Option<u32>]>,
    /// The labels below are those of keys that come in order.
    pub(crate) ordered: u32,
    /// Of these, the labels below this one are past.
    pub(crate) passed: u32,
    /// A bit for the label of each other key that is present and so may not come again; empty if the weights exclude
    /// these keys.
    pub(crate) taken: Arc<[u64]>,
    /// The labels from here on have to wait.
    pub(crate) until: u32,
}

impl AllowedKeys {
    /// Returns the keys that have a weight.
    pub(crate) fn with_weight(weights: Arc<[Option<u32>]>) -> Self {
        Self {
            weights,
            ordered: 0,
            passed: 0,
            taken: [].into(),
            until: u32::MAX,
        }
    }

    /// Returns the cost of a declared key beyond its bytes, by its index and label; `None` if it may not come.
    pub(crate) fn weight(&self, key: usize, label: u32) -> Option<u32> {
        let is_past = match label.checked_sub(self.ordered) {
            None => label < self.passed,
            Some(bit) => {
                let bits = self.taken.get(bit as usize / 64).copied().unwrap_or(0);
                bits >> (bit % 64) & 1 == 1
            }
        };
        self.weights[key].filter(|_| !is_past && label < self.until)
    }
}

impl Listing {
    /// Returns the beginning that was read.
    #[must_use]
    pub fn start(&self) -> Beginning {
        self.start
    }

    /// Returns the label under which the string ends if its closing quote comes next, `None` if it may not.
    #[must_use]
    pub fn end(&self, at: Beginning) -> Option<u32> {
        // A text that ends here sorts before those that continue.
        let text = at.low as usize;
        let ends = self.texts[text].len() == at.depth as usize && self.is_allowed(text);
        ends.then(|| self.keys.as_ref().map_or(0, |(labels, _)| labels[text]))
    }

    /// Returns the beginning with one more byte, `None` if no text that may come has it, or if it takes an escape.
    #[must_use]
    pub fn step(&self, at: Beginning, byte: u8) -> Option<Beginning> {
        if !is_plain(byte) {
            return None;
        }
        let (low, high) = narrow(&self.texts, (at.low, at.high), at.depth, byte)?;
        self.if_allowed(Beginning {
            low,
            high,
            depth: at.depth + 1,
        })
    }

    /// Returns the beginnings with one more byte, in order, without those that take an escape.
    pub fn next(&self, at: Beginning) -> impl Iterator<Item = (u8, Beginning)> + '_ {
        let Beginning {
            mut low,
            high,
            depth,
        } = at;
        let byte = move |text: &str| text.as_bytes().get(depth as usize).copied();
        let groups = std::iter::from_fn(move || {
            let part = &self.texts[low as usize..high as usize];
            let next = byte(part.first()?);
            let same = part.partition_point(|text| byte(text) <= next);
            let group = Beginning {
                low,
                high: low + same as u32,
                depth: depth + 1,
            };
            low = group.high;
            Some((next, group))
        });
        groups.filter_map(|(next, group)| {
            let next = next.filter(|&byte| is_plain(byte))?;
            Some((next, self.if_allowed(group)?))
        })
    }

    /// Returns what was read of a beginning since the [start](Self::start).
    #[must_use]
    pub fn read(&self, at: Beginning) -> &[u8] {
        &self.texts[at.low as usize].as_bytes()[self.start.depth as usize..at.depth as usize]
    }

    /// Returns an upper bound on the number of [next](Self::next) beginnings.
    #[must_use]
    pub fn count(&self, at: Beginning) -> usize {
        (at.high - at.low) as usize
    }

    fn if_allowed(&self, at: Beginning) -> Option<Beginning> {
        let mut texts = at.low as usize..at.high as usize;
        texts.any(|text| self.is_allowed(text)).then_some(at)
    }

    fn is_allowed(&self, text: usize) -> bool {
        match &self.keys {
            None => true,
            Some((labels, allowed)) => allowed.weight(text, labels[text]).is_some(),
        }
    }
}

/// Returns whether a byte of the content may be written without an escape.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// Returns the part of `range` whose texts have `byte` at `depth`, or `None` if there is none.
pub(crate) fn narrow(
    texts: &[Box<str>],
    range: (u32, u32),
    depth: u32,
    byte: u8,
) -> Option<(u32, u32)> {
    let (low, high) = (range.0 as usize, range.1 as usize);
    let at = |text: &str| text.as_bytes().get(depth as usize).copied();
    let part = &texts[low..high];
    // A text that ends here sorts before those that continue.
    let from = low + part.partition_point(|text| at(text) < Some(byte));
    let to = low + part.partition_point(|text| at(text) <= Some(byte));
    (from < to).then_some((from as u32, to as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_as_long_as_its_bytes_when_it_is_read() {
        let long: String = "a\"é\u{1}😀\n".chars().cycle().take(500).collect();
        let texts = [&long[..64], &long[..65], "", &long[..125], &long].map(Box::from);
        let listed: ListedTexts = texts.iter().cloned().collect();
        for (i, text) in texts.iter().enumerate() {
            for depth in 0..=text.len() {
                let read = escaped_length(&text.as_bytes()[depth..]);
                assert_eq!(listed.escaped_from(i, depth), read);
            }
        }
    }
}
