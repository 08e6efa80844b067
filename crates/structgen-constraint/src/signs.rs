//! What the subtrees of a trie are made of, so that a walk can take or leave them whole.

use rustc_hash::FxHashMap;
use structgen_artifact::{ArtifactError, Column, Reader, Writer};
use structgen_automata::{ByteClasses, Span, Utf8};
use structgen_vocab::TokenTrie;

/// For every node of a trie what lies below it.
#[derive(Debug)]
pub(crate) struct Signs {
    /// Which of the sets it is, and in the lowest [`CHARACTER_BITS`] the characters. Four bytes a node: a walk jumps about among them.
    below: Column<u32>,
    /// The sets of classes that occur, each once.
    sets: Column<[u64; 2]>,
    /// By the place of a child: whether its own byte and all below it is plain text of a JSON string.
    plain: Column<u8>,
}

/// The bits of [`Sign::characters`]. A trie has fewer nodes than the others can tell apart.
const CHARACTER_BITS: u32 = 8;

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
        let plain = plain.collect();
        let mut sets = Vec::new();
        let mut numbers = FxHashMap::default();
        let pack = |sign: Sign| {
            let bits = sign.classes.to_bits();
            let number = *numbers.entry(bits).or_insert_with(|| {
                sets.push([bits as u64, (bits >> 64) as u64]);
                sets.len() as u32 - 1
            });
            number << CHARACTER_BITS | u32::from(sign.characters)
        };
        let below: Vec<u32> = below.into_iter().map(pack).collect();
        Self {
            plain,
            below: below.into(),
            sets: sets.into(),
        }
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

    /// Whether all that begins with the child at a place is plain text of a JSON string.
    #[inline]
    pub(crate) fn is_plain(&self, place: u32) -> bool {
        self.plain[place as usize] != 0
    }

    /// What lies below a node.
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
        size_of_val(&*self.below) + size_of_val(&*self.sets) + self.plain.len()
    }
}
