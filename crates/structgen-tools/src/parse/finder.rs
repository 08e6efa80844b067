//! Finds markers in a text that arrives character by character.

/// Finds the first of some markers. What may be the beginning of one is held back.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    /// The markers, none of them empty.
    markers: Vec<String>,
    held: String,
}

impl Finder {
    pub(super) fn new(markers: impl IntoIterator<Item = String>) -> Self {
        let mut markers: Vec<String> = markers.into_iter().filter(|it| !it.is_empty()).collect();
        markers.sort_unstable();
        markers.dedup();
        Self {
            markers,
            held: String::new(),
        }
    }

    /// Consumes a character; returns whether it completes a marker. Appends what is certainly text to `text`.
    pub(super) fn push(&mut self, c: char, text: &mut String) -> bool {
        self.held.push(c);
        // The longest suffix that begins a marker is held back.
        let start = self.held.char_indices().map(|(at, _)| at);
        let start = start.chain([self.held.len()]).find(|&at| {
            let end = &self.held[at..];
            self.markers.iter().any(|marker| marker.starts_with(end))
        });
        let start = start.unwrap_or(self.held.len());
        text.extend(self.held.drain(..start));
        let found = !self.held.is_empty() && self.markers.contains(&self.held);
        if found {
            self.held.clear();
        }
        found
    }

    /// Takes what is held back, which turned out to be text.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(markers: &[&str], text: &str) -> (String, Option<usize>, String) {
        let mut finder = Finder::new(markers.iter().map(|&it| it.to_owned()));
        let mut before = String::new();
        for (at, c) in text.char_indices() {
            if finder.push(c, &mut before) {
                return (before, Some(at + c.len_utf8()), finder.rest());
            }
        }
        (before, None, finder.rest())
    }

    #[test]
    fn the_first_marker_is_found_and_what_may_begin_one_is_held_back() {
        let markers = ["<end>", "\n<end>"];
        assert_eq!(
            find(&markers, "a\n\n<end>b"),
            ("a\n".into(), Some(8), String::new())
        );
        assert_eq!(
            find(&markers, "a<<end>"),
            ("a<".into(), Some(7), String::new())
        );
        assert_eq!(find(&markers, "a\n<en"), ("a".into(), None, "\n<en".into()));
        assert_eq!(find(&["aab"], "aaab"), ("a".into(), Some(4), String::new()));
        assert_eq!(find(&[], "abc"), ("abc".into(), None, String::new()));
    }
}
