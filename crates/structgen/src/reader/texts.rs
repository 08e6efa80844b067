//! Texts that a value can have, each with a probability.

/// Texts, each with a probability, by their beginnings.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// Sorted, each once.
    texts: Vec<Box<[u8]>>,
    /// The sum of the probabilities of those before each, and of all.
    sums: Vec<f64>,
}

/// The texts that go on from a beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// They are these.
    first: u32,
    end: u32,
    /// Bytes of the beginning.
    len: u32,
}

impl Texts {
    /// The probabilities come to one at most; equal texts share theirs.
    pub(super) fn new(texts: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut pairs: Vec<(String, f64)> = texts.into_iter().collect();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut found = Self::default();
        let mut sum = 0.0;
        for (text, probability) in pairs {
            if found
                .texts
                .last()
                .is_none_or(|last| **last != *text.as_bytes())
            {
                found.sums.push(sum);
                found.texts.push(text.into_bytes().into());
            }
            sum += probability;
        }
        found.sums.push(sum);
        found
    }

    /// Before the first byte.
    pub(super) fn start(&self) -> Place {
        Place {
            first: 0,
            end: self.texts.len() as u32,
            len: 0,
        }
    }

    /// The texts that go on with this byte.
    pub(super) fn step(&self, place: Place, byte: u8) -> Place {
        let Place { first, end, len } = place;
        let texts = &self.texts[first as usize..end as usize];
        let next = |text: &[u8]| text.get(len as usize).copied();
        let below = texts.partition_point(|text| next(text) < Some(byte)) as u32;
        let upto = texts.partition_point(|text| next(text) <= Some(byte)) as u32;
        Place {
            first: first + below,
            end: first + upto,
            len: len + 1,
        }
    }

    /// The index of the text that ends here.
    pub(super) fn at_end(&self, place: Place) -> Option<usize> {
        // The shortest comes first.
        let first = place.first as usize;
        let is_here = place.first < place.end && self.texts[first].len() == place.len as usize;
        is_here.then_some(first)
    }

    /// The probability of the texts that go on from here.
    pub(super) fn probability(&self, place: Place) -> f64 {
        // Of none, the difference is not always zero exactly.
        match place.first < place.end {
            true => self.sums[place.end as usize] - self.sums[place.first as usize],
            false => 0.0,
        }
    }

    /// The probability of the text that ends here.
    pub(super) fn probability_at_end(&self, place: Place) -> f64 {
        self.at_end(place)
            .map_or(0.0, |at| self.sums[at + 1] - self.sums[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_have_the_probability_of_what_goes_on_from_them() {
        let pairs = [("12", 0.25), ("1", 0.5), ("3", 0.125), ("12", 0.125)];
        let texts = Texts::new(pairs.map(|(text, p)| (text.to_owned(), p)));
        let start = texts.start();
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
}
