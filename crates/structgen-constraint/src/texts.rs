//! The tokens that are texts over a set of characters.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use structgen_artifact::{ArtifactError, Reader, Writer};
use structgen_automata::{ByteClasses, Utf8};
use structgen_vocab::{TokenId, TokenMask};

use crate::Mask;

/// Answers "all tokens of at most `n` characters from this set" without a walk.
///
/// A token is a text if its bytes are UTF-8, except that the last character may be cut off.
#[derive(Debug)]
pub(crate) struct Texts {
    /// By `n`: the texts of at most `n` characters, up to where few are longer.
    up_to: Vec<TokenMask>,
    /// The longer texts with their lengths, the shortest first.
    longer: Box<[(u32, TokenId)]>,
    /// For each class, the texts that contain a character of it.
    with: Vec<Tokens>,
    /// The same for sets of classes that patterns often exclude together.
    with_any: Vec<(ByteClasses, TokenMask)>,
    /// Recent answers.
    known: Mutex<Known>,
}

type Key = (ByteClasses, u32);

/// A cache of answers in two generations.
#[derive(Debug, Default)]
struct Known {
    recent: FxHashMap<Key, Mask>,
    old: FxHashMap<Key, Mask>,
}

/// The maximum number of texts that are listed because they are longer than most.
const FEW: usize = 256;

/// The number of answers in a generation.
const KEPT: usize = 48;

/// Tags in a file: a list or a mask follows.
const LIST: u32 = 0;
const MASK: u32 = 1;

/// A set of tokens in the shorter of two representations.
#[derive(Debug)]
enum Tokens {
    List(Box<[TokenId]>),
    Mask(TokenMask),
}

impl Texts {
    /// Collects the texts among tokens of a vocabulary of `width` ids; the bytes may be a part of the token's.
    pub(crate) fn new<'t>(width: usize, tokens: impl Iterator<Item = (TokenId, &'t [u8])>) -> Self {
        let mut with_any = groups().map(|group| (group, TokenMask::new(width)));
        let mut by_length: Vec<Vec<TokenId>> = vec![Vec::new()];
        let mut with: Vec<Vec<TokenId>> = vec![Vec::new(); ByteClasses::COUNT as usize];
        for (id, bytes) in tokens {
            let Some((classes, length)) = text_of(bytes) else {
                continue;
            };
            if by_length.len() <= length {
                by_length.resize_with(length + 1, Vec::new);
            }
            by_length[length].push(id);
            for class in classes.classes() {
                with[class as usize].push(id);
            }
            for (group, mask) in &mut with_any {
                if !group.is_disjoint(classes) {
                    mask.allow(id);
                }
            }
        }
        let mut few = 0;
        let is_few = |tokens: &&Vec<TokenId>| {
            few += tokens.len();
            few <= FEW
        };
        let longer = by_length.iter().skip(1).rev().take_while(is_few).count();
        let masks = by_length.len() - longer;
        let longer = by_length.iter().zip(0_u32..).skip(masks);
        let longer = longer.flat_map(|(tokens, length)| tokens.iter().map(move |&id| (length, id)));
        let longer = longer.collect();
        let mut so_far = TokenMask::new(width);
        let up_to = by_length[..masks].iter().map(|tokens| {
            so_far.allow_all(tokens);
            so_far.clone()
        });
        let up_to = up_to.collect();
        let with = with.into_iter().map(|tokens| {
            if tokens.len() * size_of::<TokenId>() <= width / 8 {
                return Tokens::List(tokens.into());
            }
            let mut mask = TokenMask::new(width);
            mask.allow_all(&tokens);
            Tokens::Mask(mask)
        });
        Self {
            up_to,
            longer,
            with: with.collect(),
            with_any: with_any.into(),
            known: Mutex::default(),
        }
    }

    pub(crate) fn put(&self, writer: &mut Writer) {
        let words = |masks: &mut dyn Iterator<Item = &TokenMask>| {
            masks
                .flat_map(|mask| mask.words().iter().copied())
                .collect()
        };
        let up_to: Vec<u64> = words(&mut self.up_to.iter());
        let with_any: Vec<u64> = words(&mut self.with_any.iter().map(|(_, mask)| mask));
        let (lengths, ids): (Vec<u32>, Vec<TokenId>) = self.longer.iter().copied().unzip();
        writer.put(&up_to);
        writer.put(&lengths);
        writer.put(&ids);
        writer.put(&with_any);
        for tokens in &self.with {
            match tokens {
                Tokens::List(tokens) => {
                    writer.put(&[LIST]);
                    writer.put(tokens);
                }
                Tokens::Mask(mask) => {
                    writer.put(&[MASK]);
                    writer.put(mask.words());
                }
            }
        }
    }

    /// Reads the texts of a vocabulary of `width` ids from a file.
    pub(crate) fn take(reader: &mut Reader, width: usize) -> Result<Self, ArtifactError> {
        let wrong = || ArtifactError::Contents("texts are no sets of the vocabulary's tokens");
        let mask = |words: &[u64]| TokenMask::from_words(words, width).ok_or_else(wrong);
        let masks = |reader: &mut Reader| -> Result<Vec<TokenMask>, ArtifactError> {
            let words = reader.take::<u64>()?;
            words.chunks(width.div_ceil(64).max(1)).map(mask).collect()
        };
        let tokens = |reader: &mut Reader| {
            let tokens = reader.take::<TokenId>()?;
            let are_ids = tokens.iter().all(|token| token.index() < width);
            if are_ids { Ok(tokens) } else { Err(wrong()) }
        };
        let up_to = masks(reader)?;
        let lengths = reader.take::<u32>()?;
        let ids = tokens(reader)?;
        let is_sorted =
            lengths.is_sorted() && lengths.first().is_none_or(|&n| n as usize >= up_to.len());
        if lengths.len() != ids.len() || !is_sorted {
            return Err(wrong());
        }
        let with_any = masks(reader)?;
        let groups = groups();
        // Masks of width 0 have no words to count them by; the tables of such a vocabulary are always computed.
        if up_to.is_empty() || with_any.len() != groups.len() {
            return Err(wrong());
        }
        let mut with = Vec::with_capacity(ByteClasses::COUNT as usize);
        for _ in 0..ByteClasses::COUNT {
            with.push(match reader.take_one::<u32>()? {
                LIST => Tokens::List(tokens(reader)?[..].into()),
                MASK => Tokens::Mask(mask(&reader.take::<u64>()?)?),
                _ => return Err(wrong()),
            });
        }
        let longer = lengths.iter().copied().zip(ids.iter().copied()).collect();
        Ok(Self {
            up_to,
            longer,
            with,
            with_any: groups.into_iter().zip(with_any).collect(),
            known: Mutex::default(),
        })
    }

    /// Returns the texts of at most `characters` characters, all of them of these classes.
    pub(crate) fn of(&self, classes: ByteClasses, characters: u32) -> Mask {
        let longest = match self.longer.last() {
            Some(&(length, _)) => length,
            None => self.up_to.len() as u32 - 1,
        };
        let key = (classes, characters.min(longest));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mask) = known.recent.get(&key) {
            return mask.copy();
        }
        let mask = match known.old.remove(&key) {
            Some(mask) => mask,
            None => Mask::of(self.compute(classes, key.1)),
        };
        if known.recent.len() >= KEPT {
            known.old = std::mem::take(&mut known.recent);
        }
        known.recent.insert(key, mask.copy());
        mask
    }

    fn compute(&self, classes: ByteClasses, characters: u32) -> TokenMask {
        let masks = self.up_to.len() - 1;
        let mut mask = self.up_to[masks.min(characters as usize)].clone();
        let longer = self.longer.iter();
        for &(_, token) in longer.take_while(|&&(length, _)| length <= characters) {
            mask.allow(token);
        }
        let mut without = !classes;
        for (group, tokens) in &self.with_any {
            if group.is_subset(without) {
                mask.subtract(tokens);
                without = without & !*group;
            }
        }
        for class in without.classes() {
            match &self.with[class as usize] {
                Tokens::List(tokens) => tokens.iter().for_each(|&token| mask.deny(token)),
                Tokens::Mask(tokens) => mask.subtract(tokens),
            }
        }
        mask
    }

    pub(crate) fn memory(&self) -> usize {
        let with = self.with.iter().map(|tokens| match tokens {
            Tokens::List(tokens) => size_of_val(&**tokens),
            Tokens::Mask(mask) => mask.words().len() * 8,
        });
        let masks = self
            .up_to
            .iter()
            .chain(self.with_any.iter().map(|(_, mask)| mask));
        with.sum::<usize>()
            + size_of_val(&*self.longer)
            + masks.map(|mask| mask.words().len() * 8).sum::<usize>()
    }
}

/// Classes that patterns often exclude together.
fn groups() -> [ByteClasses; 5] {
    [
        ByteClasses::of_bytes(b'a'..=b'z'),
        ByteClasses::of_bytes(b'A'..=b'Z'),
        ByteClasses::of_bytes(b'0'..=b'9'),
        ByteClasses::of_bytes(0xC2..=0xF4),
        ByteClasses::of_bytes(
            (b'!'..=b'/')
                .chain(b':'..=b'@')
                .chain(b'['..=b'`')
                .chain(b'{'..=0x7F),
        ),
    ]
}

/// Returns the classes of a text's characters and their number, or `None` if it is not a text. A cut-off character at
/// the end counts as one.
fn text_of(bytes: &[u8]) -> Option<(ByteClasses, usize)> {
    let mut utf8 = Utf8::Boundary;
    let (mut classes, mut length) = (ByteClasses::NONE, 0);
    for &byte in bytes {
        if utf8 == Utf8::Boundary {
            classes |= ByteClasses::of_bytes([byte]);
            length += 1;
        }
        utf8 = utf8.step(byte)?;
    }
    (length > 0).then_some((classes, length))
}
