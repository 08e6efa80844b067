//! Summaries of trie subtrees, which let a walk accept or skip a subtree as a whole.

use rustc_hash::FxHashMap;
use structgen_artifact::{ArtifactError, Column, Reader, Writer};
use structgen_automata::{ByteClasses, Span, Utf8};
use structgen_vocab::TokenTrie;

/// A summary of what lies below each node of a trie: byte classes and lengths.
#[derive(Debug)]
pub(crate) struct Signs {
    /// The index of the set of classes, and in the lowest [`CHARACTER_BITS`] the number of characters. Four bytes per
    /// node, because a walk accesses nodes in no order.
    below: Column<u32>,
    /// The distinct sets of classes.
    sets: Column<[u64; 2]>,
    /// By child index: whether its own byte and all below it are plain text of a JSON string.
    plain: Column<u8>,
    /// A bit for each node, set if its own byte is not plain ASCII text of a JSON string.
    breaks: Box<[u64]>,
}

/// The number of bits of [`Sign::characters`]. A trie has fewer nodes, and so fewer sets, than the others can number.
const CHARACTER_BITS: u32 = 8;

/// A summary of what lies below a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sign {
    /// The classes of the bytes below. Bytes that are invalid as UTF-8 in that place are irregular; tokens are read as
    /// beginning with the first byte of a character.
    pub(crate) classes: ByteClasses,
    /// The maximum number of characters that begin below; the largest value stands for all larger ones.
    pub(crate) characters: u8,
}

impl Sign {
    /// Returns whether every text below continues within the span, of which this many characters were read.
    pub(crate) fn is_within(self, span: &Span, characters: u32) -> bool {
        self.classes.is_subset(span.closed) && self.ends_within(span, characters)
    }

    /// Returns whether every text below that continues is within the span, and so is in a mask that has the span's
    /// texts.
    pub(crate) fn is_covered(self, span: &Span, characters: u32) -> bool {
        self.classes.is_disjoint(span.exits)
            && (!span.goes_on || self.ends_within(span, characters))
    }

    fn ends_within(self, span: &Span, characters: u32) -> bool {
        span.code_points == u32::MAX
            || (self.characters < u8::MAX
                && characters + u32::from(self.characters) <= span.code_points)
    }
}

impl Signs {
    pub(crate) fn new(trie: &TokenTrie) -> Self {
        let mut signs = Packed::new(trie.len());
        let root = trie.node(TokenTrie::ROOT);
        // The nodes from the root whose subtrees have not ended.
        let mut open = vec![Open {
            node: TokenTrie::ROOT,
            end: root.end(),
            after: Some(Utf8::Boundary),
            own: ByteClasses::NONE,
            below: Sign::default(),
        }];
        for i in 1..trie.len() as u32 {
            while open.last().is_some_and(|node| node.end <= i) {
                close(&mut open, &mut signs);
            }
            let node = trie.node(i);
            let before = open.last().and_then(|node| node.after);
            let after = before.and_then(|utf8| utf8.step(node.byte()));
            let own = match (before, after) {
                (_, None) => ByteClasses::IRREGULAR,
                (Some(Utf8::Boundary), _) => ByteClasses::of_bytes([node.byte()]),
                _ => ByteClasses::NONE,
            };
            open.push(Open {
                node: i,
                end: node.end(),
                after,
                own,
                below: Sign::default(),
            });
        }
        while !open.is_empty() {
            close(&mut open, &mut signs);
        }
        let mut signs = Self {
            plain: Column::default(),
            breaks: breaks(trie),
            below: signs.below.into(),
            sets: signs.sets.into(),
        };
        let plain = ByteClasses::PLAIN;
        let bytes = trie.child_bytes().iter().zip(0..);
        let is_plain = bytes.map(|(&byte, place)| {
            let below = signs.below(trie.child_node(place));
            u8::from(plain.contains(byte) && below.classes.is_subset(plain))
        });
        let is_plain: Vec<u8> = is_plain.collect();
        signs.plain = is_plain.into();
        signs
    }

    pub(crate) fn put(&self, writer: &mut Writer) {
        writer.put(&self.below);
        writer.put(&self.sets);
        writer.put(&self.plain);
    }

    pub(crate) fn take(reader: &mut Reader, trie: &TokenTrie) -> Result<Self, ArtifactError> {
        let signs = Self {
            below: reader.take()?,
            sets: reader.take()?,
            plain: reader.take()?,
            breaks: breaks(trie),
        };
        if signs.below.len() != trie.len() || signs.plain.len() != trie.child_bytes().len() {
            return Err(ArtifactError::Contents("not every node has a sign"));
        }
        let is_set = |below: &u32| ((below >> CHARACTER_BITS) as usize) < signs.sets.len();
        if signs.below.iter().all(is_set) {
            Ok(signs)
        } else {
            Err(ArtifactError::Contents(
                "a sign of classes that are not there",
            ))
        }
    }

    /// Returns whether everything below this child, including its own byte, is plain text of a JSON string.
    #[inline]
    pub(crate) fn is_plain(&self, place: u32) -> bool {
        self.plain[place as usize] != 0
    }

    /// Returns the first node in a range whose own byte is not plain ASCII text of a JSON string.
    #[inline]
    pub(crate) fn next_break(&self, from: u32, to: u32) -> Option<u32> {
        let mut word = (from / u64::BITS) as usize;
        let mut bits = self.breaks.get(word)? >> (from % u64::BITS) << (from % u64::BITS);
        loop {
            let first = word as u32 * u64::BITS;
            if first >= to {
                return None;
            }
            if bits != 0 {
                return Some(first + bits.trailing_zeros()).filter(|&node| node < to);
            }
            word += 1;
            bits = *self.breaks.get(word)?;
        }
    }

    /// Returns the summary of what lies below a node.
    #[inline]
    pub(crate) fn below(&self, node: u32) -> Sign {
        let below = self.below[node as usize];
        let [low, high] = self.sets[(below >> CHARACTER_BITS) as usize].map(u128::from);
        Sign {
            classes: ByteClasses::from_bits(high << 64 | low),
            characters: below as u8,
        }
    }

    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.below)
            + size_of_val(&*self.sets)
            + self.plain.len()
            + size_of_val(&*self.breaks)
    }
}

/// See [`Signs::next_break`].
fn breaks(trie: &TokenTrie) -> Box<[u64]> {
    let mut breaks = vec![0; trie.len().div_ceil(64)];
    for node in 0..trie.len() as u32 {
        let byte = trie.node(node).byte();
        let is_plain = (b' '..=0x7F).contains(&byte) && !matches!(byte, b'"' | b'\\');
        breaks[node as usize / 64] |= u64::from(!is_plain) << (node % 64);
    }
    breaks.into()
}

/// A node whose subtree is being read.
struct Open {
    node: u32,
    end: u32,
    /// The UTF-8 state after its byte.
    after: Option<Utf8>,
    /// The class of its own byte.
    own: ByteClasses,
    /// The summary of what was read below it so far.
    below: Sign,
}

/// Stores the summary of the last open node, and merges it into that of its parent.
fn close(open: &mut Vec<Open>, signs: &mut Packed) {
    let Some(Open {
        node, own, below, ..
    }) = open.pop()
    else {
        return;
    };
    signs.set(node, below);
    if let Some(Open { below: above, .. }) = open.last_mut() {
        above.classes |= below.classes | own;
        let begins = u8::from(!own.is_empty());
        let characters = below.characters.saturating_add(begins);
        above.characters = above.characters.max(characters);
    }
}

/// Summaries as they are stored.
struct Packed {
    below: Vec<u32>,
    sets: Vec<[u64; 2]>,
    numbers: FxHashMap<u128, u32>,
}

impl Packed {
    fn new(nodes: usize) -> Self {
        Self {
            below: vec![0; nodes],
            sets: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }

    fn set(&mut self, node: u32, sign: Sign) {
        let bits = sign.classes.to_bits();
        let number = *self.numbers.entry(bits).or_insert_with(|| {
            self.sets.push([bits as u64, (bits >> 64) as u64]);
            self.sets.len() as u32 - 1
        });
        self.below[node as usize] = number << CHARACTER_BITS | u32::from(sign.characters);
    }
}
