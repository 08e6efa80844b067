//! Unique names of rules.

use crate::keyed::{KeyedMap, KeyedSet};

/// Names that are taken, and the last number that was appended to each.
///
/// ```
/// use structgen_grammar::UniqueNames;
///
/// let mut names = UniqueNames::new(["root".to_owned()]);
/// assert_eq!(["root", "item", "root"].map(|name| names.take(name)), ["root-2", "item", "root-3"]);
/// ```
#[derive(Debug, Default)]
pub struct UniqueNames {
    taken: KeyedSet<String>,
    numbers: KeyedMap<String, u32>,
}

impl UniqueNames {
    /// Starts with names that are taken.
    pub fn new(taken: impl IntoIterator<Item = String>) -> Self {
        Self {
            taken: taken.into_iter().collect(),
            numbers: KeyedMap::default(),
        }
    }

    /// Returns whether a name is taken.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes this name, or if it is taken, the one with the lowest number appended that is free.
    pub fn take(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let unique = format!("{name}-{number}");
            if self.taken.insert(unique.clone()) {
                return unique;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UniqueNames;

    #[test]
    fn a_taken_name_gets_the_lowest_free_number() {
        let mut names = UniqueNames::new(["a", "a-3"].map(str::to_owned));
        let taken = ["a", "a", "b", "a-3", "a", "b"].map(|name| names.take(name));
        assert_eq!(taken, ["a-2", "a-4", "b", "a-3-2", "a-5", "b-2"]);
    }

    #[test]
    fn many_rules_of_one_name_are_no_burden() {
        let mut names = UniqueNames::default();
        let last = (0..100_000).map(|_| names.take("rule")).last();
        assert_eq!(last.as_deref(), Some("rule-100000"));
    }
}
