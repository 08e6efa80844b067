//! Texts that a value can have, each with a probability.

use std::ops::Range;

/// Texts, each with a probability, by their beginnings.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Sorted; those of a list may be there several times.
    texts: Vec<Box<[u8]>>,
    /// The sum of the probabilities of those before each, and of all.
    sums: Vec<f64>,
    /// Of the values of a list, where each stands.
    list: Option<List>,
}

/// Where values of a list stand, in units.
#[derive(Debug, Default)]
struct List {
    values: Vec<ListValue>,
    /// Where values begin, and the logarithm of the probability that none of those that begin before is a value of the
    /// list.
    ln_left: Vec<(u32, f64)>,
}

#[derive(Debug, Clone, Copy)]
struct ListValue {
    start: u32,
    end: u32,
    probability: f64,
    /// As in the list, where it begins.
    ln_left: f64,
}

impl List {
    fn ln_left(&self, at: u32) -> f64 {
        self.ln_left[self.ln_left.partition_point(|&(start, _)| start < at)].1
    }

    /// How probable it is that a value is the first in a window.
    fn weight(&self, value: &ListValue, window: Window) -> f64 {
        match window.contains(value.start) {
            true => value.probability * (value.ln_left - self.ln_left(window.from)).exp(),
            false => 0.0,
        }
    }
}

/// A value of a list among others, before it is known which come first.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) text: String,
    pub(super) start: u32,
    pub(super) end: u32,
    /// How probable it is that the list has a value there.
    pub(super) probability: f64,
}

/// The part of a text, in units, in which a value of a list begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Window {
    pub(super) const ALL: Self = Self {
        from: 0,
        to: u32::MAX,
    };

    /// What comes after the values of a list that are written.
    pub(super) fn after(written: Written) -> Self {
        Self {
            from: written.after,
            ..Self::ALL
        }
    }

    fn contains(&self, at: u32) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// The texts that go on from a beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// They are these.
    first: u32,
    end: u32,
    /// Bytes of the beginning.
    len: u32,
    /// Of a list: where the value is, and what the probabilities come to there.
    window: Window,
    total: f64,
}

/// What has been written of a list: the unit after the last value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Written {
    pub(super) after: u32,
}

/// No value is certain to belong to a list, so that one that is left out does not end it.
const MOST_CERTAIN: f64 = 0.9;

impl Texts {
    /// The probabilities come to one at most; equal texts share theirs.
    pub(super) fn new(texts: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut pairs: Vec<(String, f64)> = texts.into_iter().collect();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut found = Self::default();
        let mut sum = 0.0;
        for (text, probability) in pairs {
            let last = found.texts.last();
            if last.is_none_or(|last| **last != *text.as_bytes()) {
                found.sums.push(sum);
                found.texts.push(text.into_bytes().into());
            }
            sum += probability;
        }
        found.sums.push(sum);
        found
    }

    /// The values of a list, which come in the order in which they stand. Each is next with the probability that it
    /// belongs to the list and that none before it does.
    pub(super) fn list(mut values: Vec<Listed>) -> Self {
        values.sort_by_key(|value| value.start);
        // Those that begin at the same place share it.
        let mut begun: Vec<(u32, f64)> = Vec::new();
        for value in &values {
            match begun.last_mut() {
                Some((start, sum)) if *start == value.start => *sum += value.probability,
                _ => begun.push((value.start, value.probability)),
            }
        }
        let mut left = 0.0;
        let mut list = List::default();
        for (start, probability) in begun {
            list.ln_left.push((start, left));
            left += (1.0 - probability.min(MOST_CERTAIN)).ln();
        }
        list.ln_left.push((u32::MAX, left));
        values.sort_by(|a, b| (&a.text, a.start).cmp(&(&b.text, b.start)));
        let mut found = Self::default();
        let mut sum = 0.0;
        for value in values {
            let listed = ListValue {
                start: value.start,
                end: value.end,
                probability: value.probability.min(MOST_CERTAIN),
                ln_left: list.ln_left(value.start),
            };
            found.sums.push(sum);
            sum += list.weight(&listed, Window::ALL);
            list.values.push(listed);
            found.texts.push(value.text.into_bytes().into());
        }
        found.sums.push(sum);
        found.list = Some(list);
        found
    }

    /// Whether they are the values of a list.
    pub(super) fn is_list(&self) -> bool {
        self.list.is_some()
    }

    /// Before the first byte.
    pub(super) fn start(&self, window: Window) -> Place {
        let mut place = Place {
            first: 0,
            end: self.texts.len() as u32,
            len: 0,
            window,
            total: 1.0,
        };
        if self.is_list() {
            place.total = self.weight(place);
        }
        place
    }

    /// The texts that go on with this byte.
    pub(super) fn step(&self, place: Place, byte: u8) -> Place {
        let Place {
            first, end, len, ..
        } = place;
        let texts = &self.texts[first as usize..end as usize];
        let next = |text: &[u8]| text.get(len as usize).copied();
        let below = texts.partition_point(|text| next(text) < Some(byte)) as u32;
        let upto = texts.partition_point(|text| next(text) <= Some(byte)) as u32;
        Place {
            first: first + below,
            end: first + upto,
            len: len + 1,
            ..place
        }
    }

    /// The indices of the texts that go on from here.
    pub(super) fn range(&self, place: Place) -> Range<usize> {
        place.first as usize..place.end as usize
    }

    /// Those of the texts that end here.
    fn ended(&self, place: Place) -> Place {
        let texts = &self.texts[place.first as usize..place.end as usize];
        // The shortest come first.
        let here = texts.partition_point(|text| text.len() == place.len as usize);
        Place {
            end: place.first + here as u32,
            ..place
        }
    }

    /// The index of the text that ends here; of a list, of the one that is most probably next.
    pub(super) fn at_end(&self, place: Place) -> Option<usize> {
        let here = self.ended(place);
        let mut texts = here.first as usize..here.end as usize;
        let Some(list) = &self.list else {
            return texts.next();
        };
        let weight = |at: usize| list.weight(&list.values[at], place.window);
        let here = texts.filter(|&at| place.window.contains(list.values[at].start));
        // Of equal ones, the first.
        here.rev().max_by(|&a, &b| weight(a).total_cmp(&weight(b)))
    }

    /// What has been written of a list with the text that ends here.
    pub(super) fn written(&self, place: Place) -> Option<Written> {
        let list = self.list.as_ref()?;
        let at = self.at_end(place)?;
        Some(Written {
            after: list.values[at].end + 1,
        })
    }

    /// How probable it is that a list has a value that begins in a window.
    pub(super) fn has_some(&self, window: Window) -> f64 {
        let Some(list) = &self.list else { return 1.0 };
        1.0 - (list.ln_left(window.to) - list.ln_left(window.from)).exp()
    }

    /// Where the most probable next value of a list begins.
    pub(super) fn next(&self, window: Window) -> Option<u32> {
        let list = self.list.as_ref()?;
        let weight = |value: &&ListValue| list.weight(value, window);
        let inside = { list.values.iter() }.filter(|value| window.contains(value.start));
        let best = inside.max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
        Some(best.start)
    }

    /// The sum of the probabilities of the texts that go on from here.
    fn weight(&self, place: Place) -> f64 {
        let texts = place.first as usize..place.end as usize;
        match &self.list {
            Some(list) if place.window != Window::ALL => { list.values[texts].iter() }
                .map(|value| list.weight(value, place.window))
                .sum(),
            // Of none, the difference is not always zero exactly.
            _ if texts.is_empty() => 0.0,
            _ => self.sums[texts.end] - self.sums[texts.start],
        }
    }

    /// The probability of the texts that go on from here.
    pub(super) fn probability(&self, place: Place) -> f64 {
        match place.total > 0.0 {
            true => self.weight(place) / place.total,
            false => 0.0,
        }
    }

    /// The probability of the text that ends here.
    pub(super) fn probability_at_end(&self, place: Place) -> f64 {
        self.probability(self.ended(place))
    }

    /// Where a text ends.
    fn end_of(&self, text: &[u8]) -> Place {
        let start = self.start(Window::ALL);
        self.ended(
            text.iter()
                .fold(start, |place, &byte| self.step(place, byte)),
        )
    }

    /// The index of a text.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        self.range(self.end_of(text)).next()
    }

    /// The probability of a text.
    pub(super) fn probability_of(&self, text: &[u8]) -> f64 {
        self.probability(self.end_of(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_have_the_probability_of_what_goes_on_from_them() {
        let pairs = [("12", 0.25), ("1", 0.5), ("3", 0.125), ("12", 0.125)];
        let texts = Texts::new(pairs.map(|(text, p)| (text.to_owned(), p)));
        let start = texts.start(Window::ALL);
        assert_eq!(texts.probability(start), 1.0);
        let one = texts.step(start, b'1');
        assert_eq!(
            (texts.probability(one), texts.probability_at_end(one)),
            (0.875, 0.5)
        );
        let twelve = texts.step(one, b'2');
        assert_eq!(
            (texts.probability(twelve), texts.probability_at_end(twelve)),
            (0.375, 0.375)
        );
        for gone in [texts.step(one, b'9'), texts.step(twelve, b'2')] {
            assert_eq!(texts.probability(gone), 0.0);
            assert_eq!(texts.probability(texts.step(gone, b'1')), 0.0);
        }
    }

    #[test]
    fn values_of_a_list_come_in_the_order_in_which_they_stand() {
        let listed = |text: &str, start, end, probability| Listed {
            text: text.to_owned(),
            start,
            end,
            probability,
        };
        // Two ways to end the first, the same text twice, and something improbable between.
        let texts = Texts::list(vec![
            listed("b", 9, 9, 0.8),
            listed("a", 2, 2, 0.5),
            listed("ax", 2, 4, 0.25),
            listed("c", 6, 6, 0.1),
            listed("a", 12, 12, 0.5),
        ]);
        let start = texts.start(Window::ALL);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");
        let next = [0.75, 0.25 * 0.1, 0.25 * 0.9 * 0.8, 0.25 * 0.9 * 0.2 * 0.5];
        let total: f64 = next.iter().sum();
        let a = texts.step(start, b'a');
        close(texts.probability(a), (next[0] + next[3]) / total);
        close(texts.probability_at_end(a), (0.5 + next[3]) / total);

        // After the first, it is not there any more; the other one of the same text is.
        let written = texts.written(a).unwrap();
        close(
            texts.has_some(Window::after(written)),
            1.0 - 0.9 * 0.2 * 0.5,
        );
        let start = texts.start(Window::after(written));
        close(texts.probability(start), 1.0);
        let rest = 0.1 + 0.9 * 0.8 + 0.9 * 0.2 * 0.5;
        close(texts.probability(texts.step(start, b'b')), 0.9 * 0.8 / rest);
        let again = texts.step(start, b'a');
        close(texts.probability_at_end(again), 0.9 * 0.2 * 0.5 / rest);

        let last = texts.written(again).unwrap();
        close(texts.has_some(Window::after(last)), 0.0);
        assert_eq!(
            texts.probability(texts.step(texts.start(Window::after(last)), b'b')),
            0.0
        );
        assert_eq!(texts.written(texts.step(start, b'x')), None);

        // Of two equal ones, the one that is surer is meant, though it stands later.
        let equal = Texts::list(vec![listed("a", 2, 2, 0.05), listed("a", 9, 9, 0.8)]);
        let written = equal.written(equal.step(equal.start(Window::ALL), b'a'));
        assert_eq!(written, Some(Written { after: 10 }));

        // The last of many is as certain as the first.
        let many = (0..30).map(|at| listed(&at.to_string(), at, at, 0.99));
        let many = Texts::list(many.collect());
        let window = |from| Window { from, to: u32::MAX };
        close(many.has_some(window(29)), MOST_CERTAIN);
        close(many.has_some(window(30)), 0.0);
        assert_eq!(many.next(window(25)), Some(25));
        let last = { b"29".iter() }.fold(many.start(window(29)), |it, &byte| many.step(it, byte));
        close(many.probability_at_end(last), 1.0);

        // A window ends before another value.
        let window = Window { from: 3, to: 9 };
        close(texts.has_some(window), 0.1);
        assert_eq!(texts.next(Window::ALL), Some(2));
        assert_eq!(texts.next(window), Some(6));
        close(
            texts.probability(texts.step(texts.start(window), b'c')),
            1.0,
        );
    }
}
