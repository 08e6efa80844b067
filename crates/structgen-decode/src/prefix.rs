//! What was run before, for prompts that begin alike.

use structgen_vocab::TokenId;

use crate::{KeyValueCache, ModelError};

/// Caches of texts that a model has run, so that a prompt that begins like one of them is run from where it parts.
///
/// A [`Generator`](crate::Generator) with one ([`with_prefix_cache`](crate::Generator::with_prefix_cache)) looks for each prompt's longest known beginning, copies that much, and
/// leaves prompt and output here when it is done, which costs no copy. The texts that were used least recently go when all of them take more than the limit. It belongs to one model:
/// what another model has run is refused as such, or, where the shapes agree, gives wrong logits.
///
/// ```
/// use structgen_decode::{GenerateOptions, Generator, MockModel, PrefixCache, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let mut prefixes = PrefixCache::new(1 << 20);
/// let prompt = [TokenId(0), TokenId(1), TokenId(2)];
/// for reused in [0, 2] {
///     let mut generator = Generator::new(&mut model, &vocabulary).with_prefix_cache(&mut prefixes);
///     let output = generator.generate(&prompt, &mut free.clone(), &options)?;
///     assert_eq!(output.stats.reused_tokens, reused);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrefixCache<K> {
    /// Least recently used first.
    entries: Vec<Entry<K>>,
    bytes: usize,
    max_bytes: usize,
    stats: PrefixStats,
}

#[derive(Debug)]
struct Entry<K> {
    tokens: Vec<TokenId>,
    cache: K,
    bytes: usize,
}

/// What a [`PrefixCache`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PrefixStats {
    /// Prompts of which a beginning was known.
    pub hits: u64,
    /// Prompts of which none was.
    pub misses: u64,
    /// Tokens that were not run again.
    pub reused_tokens: u64,
    /// Texts that had to go.
    pub evicted: u64,
}

impl<K: KeyValueCache> PrefixCache<K> {
    /// An empty one, which keeps at most so many bytes of keys and values. Zero keeps nothing.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: Vec::new(),
            bytes: 0,
            max_bytes,
            stats: PrefixStats::default(),
        }
    }

    /// A cache of one row with the longest known beginning of `tokens`, its length at most `most`; none where not even the first token is known.
    ///
    /// # Errors
    /// When the backend cannot copy it.
    pub fn longest(&mut self, tokens: &[TokenId], most: usize) -> Result<Option<K>, ModelError> {
        let common = |entry: &Entry<K>| {
            let pairs = entry.tokens.iter().zip(tokens).take(most);
            pairs.take_while(|(own, other)| own == other).count()
        };
        let lengths = self.entries.iter().map(common).enumerate();
        // Of several as long, the one used last.
        let best = lengths.max_by_key(|&(at, length)| (length, at));
        let Some((at, length)) = best.filter(|&(_, length)| length > 0) else {
            self.stats.misses += 1;
            return Ok(None);
        };
        let entry = self.entries.remove(at);
        let copy = entry.cache.fork_prefix(length);
        self.entries.push(entry);
        let copy = copy?;
        self.stats.hits += 1;
        self.stats.reused_tokens += length as u64;
        Ok(Some(copy))
    }

    /// Keeps the cache of one row that holds `tokens`; others have to go for it where there is no room.
    ///
    /// One of several rows, of another length, or larger than the limit is dropped. Of two texts of which one begins with the other, the longer stays.
    pub fn keep(&mut self, tokens: &[TokenId], cache: K) {
        let bytes = cache.bytes().saturating_add(size_of_val(tokens));
        if cache.rows() != 1
            || cache.len() != tokens.len()
            || tokens.is_empty()
            || bytes > self.max_bytes
        {
            return;
        }
        if let Some(at) = { self.entries.iter() }.position(|entry| entry.tokens.starts_with(tokens))
        {
            let longer = self.entries.remove(at);
            self.entries.push(longer);
            return;
        }
        self.entries
            .retain(|entry| !tokens.starts_with(&entry.tokens));
        self.entries.push(Entry {
            tokens: tokens.to_vec(),
            cache,
            bytes,
        });
        self.bytes = self.entries.iter().map(|entry| entry.bytes).sum();
        while self.bytes > self.max_bytes {
            self.bytes -= self.entries.remove(0).bytes;
            self.stats.evicted += 1;
        }
    }

    /// Forgets all texts.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the texts take, in bytes: keys, values and tokens.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The most that they may take, in bytes.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// What became of prompts so far.
    #[must_use]
    pub fn stats(&self) -> PrefixStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Forward, LanguageModel, MockCache, MockModel};

    fn tokens(ids: &[u32]) -> Vec<TokenId> {
        ids.iter().copied().map(TokenId).collect()
    }

    fn cache(ids: &[u32]) -> (Vec<TokenId>, MockCache) {
        let mut model = MockModel::new(10, 64, [TokenId(0)]);
        let mut cache = model.new_cache(&[0]).unwrap();
        let ids = tokens(ids);
        model.forward(Forward::last(&ids), &mut cache).unwrap();
        (ids, cache)
    }

    fn kept(prefixes: &mut PrefixCache<MockCache>, ids: &[u32]) {
        let (ids, cache) = cache(ids);
        prefixes.keep(&ids, cache);
    }

    #[test]
    fn the_longest_beginning_is_copied_and_the_rest_left_out() {
        let mut prefixes = PrefixCache::new(1000);
        kept(&mut prefixes, &[1, 2, 3, 4]);
        kept(&mut prefixes, &[1, 2, 5]);
        let mut longest = |ids: &[u32], most| {
            let found = prefixes.longest(&tokens(ids), most).unwrap();
            found.map(|found| (found.len(), found))
        };
        assert_eq!(longest(&[1, 2, 3, 9], 9), Some((3, cache(&[1, 2, 3]).1)));
        assert_eq!(longest(&[1, 2, 5, 6, 7], 9), Some((3, cache(&[1, 2, 5]).1)));
        assert_eq!(longest(&[1, 2, 5, 6, 7], 2), Some((2, cache(&[1, 2]).1)));
        assert_eq!(longest(&[2, 1], 9), None);
        assert_eq!(longest(&[1, 2], 0), None);
        let stats = prefixes.stats();
        assert_eq!((stats.hits, stats.misses, stats.reused_tokens), (3, 2, 8));
    }

    #[test]
    fn a_text_that_another_begins_with_is_not_kept_twice() {
        let mut prefixes = PrefixCache::new(1000);
        kept(&mut prefixes, &[1, 2, 3]);
        kept(&mut prefixes, &[1, 2]);
        assert_eq!(prefixes.len(), 1);
        kept(&mut prefixes, &[1, 2, 3, 4]);
        assert_eq!(prefixes.len(), 1);
        // Four ids of four bytes, in the text and in the cache.
        assert_eq!(prefixes.bytes(), 32);
        let found = prefixes.longest(&tokens(&[1, 2, 3, 4, 5]), 9).unwrap();
        assert_eq!(found.unwrap().len(), 4);
    }

    #[test]
    fn the_least_recently_used_goes_first_and_the_limit_holds() {
        let mut prefixes = PrefixCache::new(3 * 2 * 8);
        for first in 1..=3 {
            kept(&mut prefixes, &[first, 9]);
        }
        assert_eq!(prefixes.bytes(), prefixes.max_bytes());
        prefixes.longest(&tokens(&[1, 9]), 9).unwrap().unwrap();
        kept(&mut prefixes, &[4, 9]);
        assert_eq!((prefixes.len(), prefixes.stats().evicted), (3, 1));
        let mut knows = |first| prefixes.longest(&tokens(&[first]), 9).unwrap().is_some();
        assert_eq!([1, 2, 3, 4].map(&mut knows), [true, false, true, true]);
        // What is larger than all there may be takes nobody's place.
        kept(&mut prefixes, &[5; 7]);
        assert_eq!(prefixes.len(), 3);
        prefixes.clear();
        assert!(prefixes.is_empty() && prefixes.bytes() == 0);
    }

    #[test]
    fn caches_of_several_rows_or_of_another_text_are_not_kept() {
        let mut prefixes = PrefixCache::new(1000);
        let (ids, mut cache) = cache(&[1, 2, 3]);
        prefixes.keep(&ids[..2], cache.clone());
        cache.select_rows(&[0, 0]).unwrap();
        prefixes.keep(&ids, cache);
        assert!(prefixes.is_empty());
    }
}
