//! Extraction from many texts at a time.

use std::collections::VecDeque;
use std::fmt;

use serde::de::DeserializeOwned;

use crate::extracting::Extracting;
use crate::{Extraction, Result, SchemaExtractor};

/// An iterator over the extractions of several texts, in order:
/// [`Extractor::extract_all`](crate::Extractor::extract_all).
#[must_use = "iterators do nothing unless they are consumed"]
pub struct ExtractAll<I, T> {
    extractor: SchemaExtractor,
    texts: I,
    /// Extractions in progress, in the order of their texts.
    pending: VecDeque<Result<Extracting<T>>>,
    /// The maximum number of extractions in progress.
    most: usize,
}

impl<I, T> ExtractAll<I, T> {
    pub(crate) fn new(extractor: SchemaExtractor, texts: I) -> Self {
        let most = extractor.model().engine().capacity();
        Self {
            extractor,
            texts,
            pending: VecDeque::new(),
            most,
        }
    }
}

impl<I, T> Iterator for ExtractAll<I, T>
where
    I: Iterator<Item: AsRef<str>>,
    T: DeserializeOwned,
{
    type Item = Result<Extraction<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.pending.len() < self.most
            && let Some(text) = self.texts.next()
        {
            self.pending.push_back(self.extractor.submit(text.as_ref()));
        }
        let first = self.pending.pop_front()?;
        Some(first.and_then(Extracting::wait))
    }
}

impl<I, T> fmt::Debug for ExtractAll<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractAll")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}
