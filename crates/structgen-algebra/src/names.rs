//! Unique names of rules.

use structgen_grammar::keyed::{KeyedMap, KeyedSet};

/// Names that are taken, and the last number that was appended to each.
#[derive(Default)]
pub(crate) struct Names {
    taken: KeyedSet<String>,
    numbers: KeyedMap<String, u32>,
}

impl Names {
    pub(crate) fn new(taken: impl IntoIterator<Item = String>) -> Self {
        Self {
            taken: taken.into_iter().collect(),
            numbers: KeyedMap::default(),
        }
    }

    /// Takes this name, or if it is taken, the one with the lowest number appended that is free.
    pub(crate) fn take(&mut self, name: &str) -> String {
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
    use super::Names;

    #[test]
    fn a_taken_name_gets_the_lowest_free_number() {
        let mut names = Names::new(["a", "a-3"].map(str::to_owned));
        let taken = ["a", "a", "b", "a-3", "a", "b"].map(|name| names.take(name));
        assert_eq!(taken, ["a-2", "a-4", "b", "a-3-2", "a-5", "b-2"]);
    }

    #[test]
    fn many_rules_of_one_name_are_no_burden() {
        let mut names = Names::default();
        let last = (0..100_000).map(|_| names.take("rule")).last();
        assert_eq!(last.as_deref(), Some("rule-100000"));
    }
}
