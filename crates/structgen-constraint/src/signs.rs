//! What the subtrees of a trie are made of, so that a walk can take or leave them whole.

use structgen_artifact::{ArtifactError, Column, Reader, Writer};
use structgen_automata::{ByteClasses, Span, Utf8};
use structgen_vocab::TokenTrie;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// For every node of a trie what lies below it.
#[derive(Debug)]
pub(crate) struct Signs {
    below: Column<PackedSign>,
    /// By the place of a child: whether its own byte and all below it is plain text of a JSON string.
    plain: Column<u8>,
}

/// A [`Sign`] as it lies in memory and in files.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct PackedSign {
    classes: [u64; 2],
    characters: u64,
}

impl From<Sign> for PackedSign {
    fn from(sign: Sign) -> Self {
        let bits = sign.classes.to_bits();
        Self {
            classes: [bits as u64, (bits >> 64) as u64],
            characters: sign.characters.into(),
        }
    }
}

/// What lies below a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sign {
    /// The classes of the bytes below. A byte that UTF-8 does not have there, the token's first byte being the first of a character,
    /// is irregular.
    pub(crate) classes: ByteClasses,
    /// How many characters begin below, at most; the largest value stands for all larger ones.
    pub(crate) characters: u8,
}

impl Sign {
    /// Whether every text below goes on, where so many characters of the span are behind.
    pub(crate) fn is_within(self, span: &Span, characters: u32) -> bool {
        self.classes.is_subset(span.closed) && self.ends_within(span, characters)
    }

    /// Whether what goes on below is known to be of the span, so that a mask with its texts has it.
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
        let mut below = vec![Sign::default(); trie.len()];
        let root = trie.node(TokenTrie::ROOT);
        // The open nodes: where each one's subtree ends, its index, where UTF-8 stands behind it, and the class of its own byte.
        let mut open = vec![(
            root.end(),
            TokenTrie::ROOT,
            Some(Utf8::Boundary),
            ByteClasses::NONE,
        )];
        let mut close = |open: &mut Vec<(u32, u32, Option<Utf8>, ByteClasses)>| {
            if let Some((_, index, _, own)) = open.pop()
                && let Some(&(_, parent, ..)) = open.last()
            {
                let sign: Sign = below[index as usize];
                let parent: &mut Sign = &mut below[parent as usize];
                parent.classes |= sign.classes | own;
                let begins = u8::from(!own.is_empty());
                parent.characters = parent
                    .characters
                    .max(sign.characters.saturating_add(begins));
            }
        };
        for i in 1..trie.len() as u32 {
            while open.last().is_some_and(|&(end, ..)| end <= i) {
                close(&mut open);
            }
            let node = trie.node(i);
            let before = open.last().and_then(|&(_, _, utf8, _)| utf8);
            let behind = before.and_then(|utf8| utf8.step(node.byte()));
            let own = match (before, behind) {
                (_, None) => ByteClasses::IRREGULAR,
                (Some(Utf8::Boundary), _) => ByteClasses::of_bytes([node.byte()]),
                _ => ByteClasses::NONE,
            };
            open.push((node.end(), i, behind, own));
        }
        while !open.is_empty() {
            close(&mut open);
        }
        let is_plain = |node: u32, byte: u8| {
            let plain = ByteClasses::PLAIN;
            plain.contains(byte) && below[node as usize].classes.is_subset(plain)
        };
        let bytes = trie.child_bytes().iter().zip(0..);
        let plain = bytes.map(|(&byte, place)| u8::from(is_plain(trie.child_node(place), byte)));
        Self {
            plain: plain.collect(),
            below: below.into_iter().map(PackedSign::from).collect(),
        }
    }

    pub(crate) fn put(&self, writer: &mut Writer) {
        writer.put(&self.below);
        writer.put(&self.plain);
    }

    pub(crate) fn take(reader: &mut Reader, trie: &TokenTrie) -> Result<Self, ArtifactError> {
        let signs = Self {
            below: reader.take()?,
            plain: reader.take()?,
        };
        if signs.below.len() == trie.len() && signs.plain.len() == trie.child_bytes().len() {
            Ok(signs)
        } else {
            Err(ArtifactError::Contents("not every node has a sign"))
        }
    }

    /// Whether all that begins with the child at a place is plain text of a JSON string.
    #[inline]
    pub(crate) fn is_plain(&self, place: u32) -> bool {
        self.plain[place as usize] != 0
    }

    /// What lies below a node.
    #[inline]
    pub(crate) fn below(&self, node: u32) -> Sign {
        let sign = self.below[node as usize];
        let [low, high] = sign.classes.map(u128::from);
        Sign {
            classes: ByteClasses::from_bits(high << 64 | low),
            characters: sign.characters as u8,
        }
    }

    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.below) + self.plain.len()
    }
}
