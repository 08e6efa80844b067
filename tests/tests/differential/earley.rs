//! A recogniser after Earley ("An Efficient Context-Free Parsing Algorithm", 1970), with the treatment of empty rules
//! by Aycock and Horspool ("Practical Earley Parsing", 2002).

use std::collections::HashSet;

/// A symbol of a production.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    /// One character of these, or of all others.
    Char {
        chars: Vec<char>,
        negated: bool,
    },
    Nonterminal(usize),
}

/// Productions by nonterminal; the first is the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Productions {
    pub(crate) of: Vec<Vec<Vec<Symbol>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Item {
    nonterminal: usize,
    production: usize,
    dot: usize,
    origin: usize,
}

impl Productions {
    pub(crate) fn add(&mut self) -> usize {
        self.of.push(Vec::new());
        self.of.len() - 1
    }

    /// Which nonterminals have a derivation all of whose characters `fits` takes.
    fn closure(&self, fits: impl Fn(&Symbol) -> bool) -> Vec<bool> {
        let mut found = vec![false; self.of.len()];
        loop {
            let before = found.clone();
            for (nonterminal, productions) in self.of.iter().enumerate() {
                found[nonterminal] |= productions.iter().any(|production| {
                    production.iter().all(|symbol| match symbol {
                        Symbol::Nonterminal(other) => before[*other],
                        symbol => fits(symbol),
                    })
                });
            }
            if found == before {
                return found;
            }
        }
    }

    /// Whether some text is derived at all.
    pub(crate) fn has_text(&self) -> bool {
        self.closure(|symbol| match symbol {
            Symbol::Char { chars, negated } => *negated || !chars.is_empty(),
            Symbol::Nonterminal(_) => false,
        })[0]
    }

    pub(crate) fn accepts(&self, text: &str) -> bool {
        let nullable = self.closure(|_| false);
        let chars: Vec<char> = text.chars().collect();
        let start = |nonterminal: usize, origin: usize| {
            (0..self.of[nonterminal].len()).map(move |production| Item {
                nonterminal,
                production,
                dot: 0,
                origin,
            })
        };
        let mut sets: Vec<(Vec<Item>, HashSet<Item>)> =
            vec![(Vec::new(), HashSet::new()); chars.len() + 1];
        let add = |set: &mut (Vec<Item>, HashSet<Item>), item: Item| {
            if set.1.insert(item) {
                set.0.push(item);
            }
        };
        start(0, 0).for_each(|item| add(&mut sets[0], item));
        for at in 0..sets.len() {
            let mut next = 0;
            while let Some(&item) = sets[at].0.get(next) {
                next += 1;
                let advanced = Item {
                    dot: item.dot + 1,
                    ..item
                };
                match self.of[item.nonterminal][item.production].get(item.dot) {
                    Some(Symbol::Nonterminal(wanted)) => {
                        start(*wanted, at).for_each(|item| add(&mut sets[at], item));
                        if nullable[*wanted] {
                            add(&mut sets[at], advanced);
                        }
                    }
                    Some(Symbol::Char {
                        chars: set,
                        negated,
                    }) => {
                        if chars.get(at).is_some_and(|c| set.contains(c) != *negated) {
                            add(&mut sets[at + 1], advanced);
                        }
                    }
                    None => {
                        let waits = |waiting: &&Item| {
                            let production = &self.of[waiting.nonterminal][waiting.production];
                            matches!(production.get(waiting.dot), Some(Symbol::Nonterminal(wanted)) if *wanted == item.nonterminal)
                        };
                        let completed: Vec<Item> =
                            sets[item.origin].0.iter().filter(waits).copied().collect();
                        for waiting in completed {
                            let dot = waiting.dot + 1;
                            add(&mut sets[at], Item { dot, ..waiting });
                        }
                    }
                }
            }
        }
        sets[chars.len()].0.iter().any(|item| {
            item.nonterminal == 0
                && item.origin == 0
                && item.dot == self.of[0][item.production].len()
        })
    }
}

#[test]
fn the_recogniser_knows_what_it_should() {
    let char = |c| Symbol::Char {
        chars: vec![c],
        negated: false,
    };
    // s ::= s s | "a" s? "b" | ""
    let ambiguous = Productions {
        of: vec![vec![
            vec![Symbol::Nonterminal(0), Symbol::Nonterminal(0)],
            vec![char('a'), Symbol::Nonterminal(0), char('b')],
            vec![],
        ]],
    };
    for (text, expected) in [
        ("", true),
        ("ab", true),
        ("aabbab", true),
        ("ba", false),
        ("aab", false),
    ] {
        assert_eq!(ambiguous.accepts(text), expected, "{text}");
    }
    let endless = Productions {
        of: vec![vec![vec![Symbol::Nonterminal(0), char('a')]]],
    };
    assert!(!endless.has_text() && ambiguous.has_text());
}
