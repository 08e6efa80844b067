//! Recognises one of several markers, after any whitespace.

use crate::format::core;
use crate::is_space;

/// Decides between markers, none of which is a prefix of another.
#[derive(Clone, Debug)]
pub(super) struct Choose<T> {
    /// The markers, none of them empty.
    options: Vec<(Vec<char>, T)>,
    /// Whether whitespace is significant once a marker has begun.
    exact: bool,
    /// Which markers are still possible.
    live: Vec<bool>,
    matched: usize,
    /// Everything read so far.
    seen: String,
}

/// The decision after a character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision<T> {
    /// Not decided yet.
    Open,
    /// This marker.
    Is(T),
    /// None of them.
    None,
}

impl<T: Copy + PartialEq> Choose<T> {
    /// Markers with any whitespace in and around them. Empty markers are ignored.
    pub(super) fn new<'m>(options: impl IntoIterator<Item = (&'m str, T)>) -> Self {
        Self::with(options, false)
    }

    /// Markers with whitespace only at their ends, for positions where text is possible instead. Empty markers are
    /// ignored.
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

    /// Whether one of the markers has this tag.
    pub(super) fn leads_to(&self, tag: T) -> bool {
        self.options.iter().any(|(_, own)| *own == tag)
    }

    /// Takes everything read so far.
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
