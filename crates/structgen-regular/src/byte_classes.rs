//! Classes of bytes that lead from an expression to the same one.

/// The set of first bytes of runs; the bytes of a run are equivalent.
pub(super) type Boundaries = [u64; 4];

/// Bytes in classes whose members have the same derivative. A class consists of runs, such as the letters and digits of
/// `[A-Za-z0-9]`.
#[derive(Clone, Debug)]
pub(super) struct ByteClasses {
    boundaries: Boundaries,
    /// The class of each run.
    classes: Box<[u16]>,
    count: u16,
}

/// The classes that an automaton splits off others: the old class, the target of its bytes, and the new class.
pub(super) type SplitOff = Vec<(u16, u32, u16)>;

/// Above this, the numbers of classes that no longer exist are reused.
const MOST_NUMBERS: u16 = 256;

impl ByteClasses {
    /// Creates one class of all bytes, divided into these runs.
    pub(super) fn of_runs(boundaries: Boundaries) -> Self {
        let runs: u32 = boundaries.iter().map(|word| word.count_ones()).sum();
        Self {
            boundaries,
            classes: vec![0; runs as usize].into(),
            count: 1,
        }
    }

    /// Splits classes by where an automaton leads their bytes: from the first to the last byte of a transition to its
    /// target, and all others nowhere. Transitions begin and end with runs.
    pub(super) fn split(
        &mut self,
        transitions: impl IntoIterator<Item = (u8, u8, u32)>,
        off: &mut SplitOff,
    ) {
        off.clear();
        if self.count > MOST_NUMBERS {
            self.number();
        }
        for (low, high, target) in transitions {
            for run in self.run_of(low)..=self.run_of(high) {
                let class = self.classes[run];
                let known = off
                    .iter()
                    .find(|&&(from, to, _)| (from, to) == (class, target));
                self.classes[run] = match known {
                    Some(&(_, _, new)) => new,
                    None => {
                        let new = self.count;
                        self.count += 1;
                        off.push((class, target, new));
                        new
                    }
                };
            }
        }
    }

    /// Numbers the existing classes from zero, in the order of their first bytes, once all are split.
    pub(super) fn number(&mut self) {
        // An automaton splits off at most as many classes as there are runs, which is 256.
        let mut numbers = [u16::MAX; MOST_NUMBERS as usize * 2];
        let mut count = 0;
        for class in &mut self.classes {
            let number = &mut numbers[usize::from(*class)];
            if *number == u16::MAX {
                *number = count;
                count += 1;
            }
            *class = *number;
        }
        self.count = count;
    }

    /// Returns the number of classes.
    pub(super) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns the number of runs.
    pub(super) fn runs(&self) -> usize {
        self.classes.len()
    }

    /// Returns the class of a byte.
    pub(super) fn class_of(&self, byte: u8) -> usize {
        usize::from(self.classes[self.run_of(byte)])
    }

    /// Returns the index of a byte's run.
    fn run_of(&self, byte: u8) -> usize {
        let word = usize::from(byte >> 6);
        let up_to = u64::MAX >> (63 - (byte & 63));
        let below: usize = self.boundaries[..word]
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum();
        below + (self.boundaries[word] & up_to).count_ones() as usize - 1
    }

    /// Returns the first and last byte of a byte's run.
    pub(super) fn run(&self, byte: u8) -> (u8, u8) {
        // The start at or before the byte, and the one after it; byte 0 is always a start.
        let mut word = usize::from(byte >> 6);
        let mut starts = self.boundaries[word] & (u64::MAX >> (63 - (byte & 63)));
        while starts == 0 {
            word -= 1;
            starts = self.boundaries[word];
        }
        let low = (word * 64) as u8 + (63 - starts.leading_zeros()) as u8;
        let mut word = usize::from(byte >> 6);
        let mut starts = self.boundaries[word] & (u64::MAX - 1) << (byte & 63);
        while starts == 0 {
            word += 1;
            match self.boundaries.get(word) {
                Some(&next) => starts = next,
                None => return (low, u8::MAX),
            }
        }
        (low, (word * 64) as u8 + starts.trailing_zeros() as u8 - 1)
    }

    /// Returns the first byte of every class, in order.
    pub(super) fn representatives(&self) -> impl Iterator<Item = u8> + use<> {
        let mut next = 0;
        let classes = self.classes.clone();
        let mut runs = starts(self.boundaries).zip(0..);
        std::iter::from_fn(move || {
            let (byte, _) = runs.find(|&(_, run): &(u8, usize)| classes[run] == next)?;
            next += 1;
            Some(byte)
        })
    }

    /// Returns the first byte of every run with the run's length, in order.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (u8, u16)> + use<> {
        let mut firsts = starts(self.boundaries).peekable();
        std::iter::from_fn(move || {
            let first = firsts.next()?;
            let end = firsts.peek().map_or(256, |&next| u16::from(next));
            Some((first, end - u16::from(first)))
        })
    }
}

fn starts(boundaries: Boundaries) -> impl Iterator<Item = u8> {
    (0..=u8::MAX).filter(move |byte| boundaries[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::ByteClasses;

    #[test]
    fn bytes_that_all_automata_take_alike_are_one_class() {
        let mut boundaries = [1, 0, 0, 0];
        for byte in [b'0', b':', b'A', b'[', b'a', b'g', b'{'] {
            boundaries[usize::from(byte >> 6)] |= 1_u64 << (byte & 63);
        }
        let mut off = Vec::new();
        let mut classes = ByteClasses::of_runs(boundaries);
        classes.split(
            [(b'0', b'9', 1), (b'A', b'Z', 1), (b'a', b'z', 1)],
            &mut off,
        );
        classes.split([(b'0', b'9', 2), (b'a', b'f', 2)], &mut off);
        classes.number();
        let representatives: Vec<u8> = classes.representatives().collect();
        assert_eq!(representatives, [0, b'0', b'A']);
        assert_eq!(classes.class_of(b'c'), classes.class_of(b'5'));
        assert_eq!(classes.class_of(b'z'), classes.class_of(b'Q'));
        assert_ne!(classes.class_of(b'c'), classes.class_of(b'z'));
        assert_eq!(classes.run(b'c'), (b'a', b'f'));
    }
}
