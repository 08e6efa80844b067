//! Lists of numbers, one for each key, side by side: the edges of a graph, without an allocation for each vertex.

/// A list of numbers for each key from zero, in the order of the pairs they came from.
///
/// ```
/// use structgen_grammar::lists::Lists;
///
/// let lists = Lists::new(3, &[(2, 7), (0, 1), (2, 5)]);
/// assert_eq!(lists.of(2), [7, 5]);
/// assert!(lists.of(1).is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Where the list of each key begins; one more for the end of the last one.
    starts: Vec<u32>,
    numbers: Vec<u32>,
}

impl Lists {
    /// Collects pairs of a key below `keys` and a number.
    ///
    /// # Panics
    /// If a key is not below `keys`.
    #[must_use]
    pub fn new(keys: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; keys + 1];
        for &(key, _) in pairs {
            starts[key as usize] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        // Each list is filled from its end, so its start moves to where it belongs.
        let mut numbers = vec![0; pairs.len()];
        for &(key, number) in pairs.iter().rev() {
            let start = &mut starts[key as usize];
            *start -= 1;
            numbers[*start as usize] = number;
        }
        Self { starts, numbers }
    }

    /// Returns the numbers of a key.
    ///
    /// # Panics
    /// If there is no such key.
    #[must_use]
    pub fn of(&self, key: usize) -> &[u32] {
        &self.numbers[self.starts[key] as usize..self.starts[key + 1] as usize]
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    #[test]
    fn every_key_has_its_numbers_in_order() {
        let lists = Lists::new(4, &[(2, 7), (0, 1), (2, 5), (3, 9), (2, 7)]);
        let all: Vec<&[u32]> = (0..4).map(|key| lists.of(key)).collect();
        assert_eq!(all, [&[1][..], &[], &[7, 5, 7], &[9]]);
        assert_eq!((lists.len(), lists.is_empty()), (4, false));
        let none = Lists::new(0, &[]);
        assert_eq!((none.len(), none.is_empty()), (0, true));
    }
}
