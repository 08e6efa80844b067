//! One of several markers, behind any whitespace.

use crate::format::core;
use crate::is_space;

/// Decides between markers, which are told apart before any of them ends.
#[derive(Clone, Debug)]
pub(super) struct Choose<T> {
    /// None is empty.
    options: Vec<(Vec<char>, T)>,
    /// Whether whitespace says something once a marker has begun.
    exact: bool,
    /// Which of them are still possible.
    live: Vec<bool>,
    matched: usize,
    /// All that was read.
    seen: String,
}

/// What a character decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision<T> {
    /// Nothing yet.
    Open,
    /// This marker.
    Is(T),
    /// None of them.
    None,
}

impl<T: Copy + PartialEq> Choose<T> {
    /// Markers in which and around which any whitespace may stand. Empty markers are left out.
    pub(super) fn new<'m>(options: impl IntoIterator<Item = (&'m str, T)>) -> Self {
        Self::with(options, false)
    }

    /// Markers as they are, but for whitespace at their ends: for where there might be text instead. Empty ones are left out.
    pub(super) fn exact<'m>(options: impl IntoIterator<Item = (&'m str, T)>) -> Self {
        Self::with(options, true)
    }

    fn with<'m>(options: impl IntoIterator<Item = (&'m str, T)>, exact: bool) -> Self {
        let mut kept: Vec<(Vec<char>, T)> = Vec::new();
        for (text, tag) in options {
            let text = core(text).chars().filter(|&c| exact || !is_space(c));
            let text: Vec<char> = text.collect();
            if !text.is_empty() && !kept.iter().any(|(known, _)| *known == text) {
                kept.push((text, tag));
            }
        }
        Self {
            live: vec![true; kept.len()],
            options: kept,
            exact,
            matched: 0,
            seen: String::new(),
        }
    }

    pub(super) fn push(&mut self, c: char) -> Decision<T> {
        self.seen.push(c);
        if is_space(c) && (self.matched == 0 || !self.exact) {
            return Decision::Open;
        }
        let at = self.matched;
        self.matched += 1;
        let mut decision = Decision::None;
        for ((text, tag), live) in self.options.iter().zip(&mut self.live) {
            *live = *live && text.get(at) == Some(&c);
            match *live {
                true if text.len() == self.matched => return Decision::Is(*tag),
                true => decision = Decision::Open,
                false => {}
            }
        }
        decision
    }

    /// Whether one of the markers is this one.
    pub(super) fn leads_to(&self, tag: T) -> bool {
        self.options.iter().any(|(_, own)| *own == tag)
    }

    /// All that was read.
    pub(super) fn seen(&mut self) -> String {
        std::mem::take(&mut self.seen)
    }

    /// The markers.
    pub(super) fn expected(&self) -> Vec<String> {
        let texts = self.options.iter().map(|(text, _)| text);
        texts
            .map(|text| format!("{:?}", text.iter().collect::<String>()))
            .collect()
    }
}
