//! Random grammars: ambiguous, left-recursive in all ways, with rules that may be empty, and with rules that derive
//! nothing.
//!
//! `STRUCTGEN_SEED=N` takes others. `STRUCTGEN_VERDICTS=FILE` writes all verdicts, which
//! `tests/conformance/llama_cpp_grammars.py` compares with those of llama.cpp's own code.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::json;
use structgen::{Checker, Constraint};
use structgen_tests::{SplitMix, is_full_run, report, vocabularies};

use crate::compare_masks;
use crate::earley::{Productions, Symbol};

/// What a rule consists of.
enum Tree {
    Rule(usize),
    Literal(&'static str),
    Class(&'static str, &'static [char], bool),
    Group(Vec<Vec<Tree>>),
    Repeat(Box<Tree>, usize, Option<usize>),
}

const CHARS: [char; 6] = ['a', 'b', 'c', 'é', '+', '\n'];

fn alternatives(random: &mut SplitMix, rules: usize, depth: usize) -> Vec<Vec<Tree>> {
    let arms = 1 + random.below(3);
    let sequence = |random: &mut SplitMix| {
        let parts = [0, 1, 1, 2, 2, 3][random.below(6)];
        (0..parts).map(|_| tree(random, rules, depth)).collect()
    };
    (0..arms).map(|_| sequence(random)).collect()
}

fn tree(random: &mut SplitMix, rules: usize, depth: usize) -> Tree {
    match random.below(if depth == 0 { 7 } else { 11 }) {
        0..=2 => Tree::Rule(random.below(rules)),
        3..=5 => Tree::Literal(["", "a", "b", "c", "ab", "é", "+", "\n"][random.below(8)]),
        6 => match random.below(4) {
            0 => Tree::Class("[a-b]", &['a', 'b'], false),
            1 => Tree::Class("[^ab]", &['a', 'b'], true),
            2 => Tree::Class(r"[\né]", &['\n', 'é'], false),
            _ => Tree::Class(".", &[], true),
        },
        7 | 8 => Tree::Group(alternatives(random, rules, depth - 1)),
        _ => {
            let body = Box::new(tree(random, rules, depth - 1));
            let min = random.below(3);
            let max = match random.below(2) {
                0 => None,
                _ => Some(min + random.below(3)),
            };
            Tree::Repeat(body, min, max)
        }
    }
}

fn write_all(arms: &[Vec<Tree>]) -> String {
    let arm = |arm: &Vec<Tree>| arm.iter().map(write).collect::<Vec<_>>().join(" ");
    let mut written = arms.iter().map(arm).collect::<Vec<_>>().join(" | ");
    if arms.last().is_some_and(Vec::is_empty) {
        // A line that ends in a bar would go on.
        written.push_str("\"\"");
    }
    written
}

fn write(tree: &Tree) -> String {
    match tree {
        Tree::Rule(0) => "root".to_owned(),
        Tree::Rule(n) => format!("rule-{n}"),
        Tree::Literal(text) => format!("\"{}\"", text.replace('\n', "\\n")),
        Tree::Class(written, ..) => (*written).to_owned(),
        Tree::Group(arms) => format!("({})", write_all(arms)),
        Tree::Repeat(body, min, max) => {
            // A literal is repeated as a whole, and so is what a quantifier made.
            let body = write(body);
            match (min, max) {
                (0, None) => format!("{body}*"),
                (1, None) => format!("{body}+"),
                (0, Some(1)) => format!("{body}?"),
                (min, None) => format!("{body}{{{min},}}"),
                (min, Some(max)) if min == max => format!("{body}{{{min}}}"),
                (min, Some(max)) => format!("{body}{{{min},{max}}}"),
            }
        }
    }
}

/// The productions of the alternatives, as those of the nonterminal.
fn lower_all(productions: &mut Productions, nonterminal: usize, arms: &[Vec<Tree>]) {
    for arm in arms {
        let symbols = arm
            .iter()
            .flat_map(|part| lower(productions, part))
            .collect();
        productions.of[nonterminal].push(symbols);
    }
}

fn lower(productions: &mut Productions, tree: &Tree) -> Vec<Symbol> {
    match tree {
        Tree::Rule(n) => vec![Symbol::Nonterminal(*n)],
        Tree::Literal(text) => text
            .chars()
            .map(|c| Symbol::Char {
                chars: vec![c],
                negated: false,
            })
            .collect(),
        Tree::Class(_, chars, negated) => vec![Symbol::Char {
            chars: chars.to_vec(),
            negated: *negated,
        }],
        Tree::Group(arms) => {
            let group = productions.add();
            lower_all(productions, group, arms);
            vec![Symbol::Nonterminal(group)]
        }
        Tree::Repeat(body, min, max) => {
            let once = productions.add();
            let body = lower(productions, body);
            productions.of[once] = vec![body];
            let mut symbols = vec![Symbol::Nonterminal(once); *min];
            match max {
                None => {
                    let more = productions.add();
                    let again = vec![Symbol::Nonterminal(once), Symbol::Nonterminal(more)];
                    productions.of[more] = vec![vec![], again];
                    symbols.push(Symbol::Nonterminal(more));
                }
                Some(max) => {
                    let optional = productions.add();
                    productions.of[optional] = vec![vec![], vec![Symbol::Nonterminal(once)]];
                    symbols.extend(vec![Symbol::Nonterminal(optional); max - min]);
                }
            }
            symbols
        }
    }
}

/// A text that is derived at random; none where the derivation takes more steps than that.
fn derive(productions: &Productions, steps: usize, random: &mut SplitMix) -> Option<String> {
    let mut text = String::new();
    let mut stack = vec![Symbol::Nonterminal(0)];
    for _ in 0..steps {
        match stack.pop() {
            None => return Some(text),
            Some(Symbol::Char { chars, negated }) => {
                let fitting: Vec<char> = CHARS
                    .into_iter()
                    .filter(|c| chars.contains(c) != negated)
                    .collect();
                text.push(*fitting.get(random.below(fitting.len().max(1)))?);
            }
            Some(Symbol::Nonterminal(nonterminal)) => {
                let choices = &productions.of[nonterminal];
                let chosen = &choices[random.below(choices.len())];
                stack.extend(chosen.iter().rev().cloned());
            }
        }
    }
    None
}

#[test]
fn grammars_take_what_an_earley_recogniser_takes() {
    let (grammars, every) = if is_full_run() {
        (40_000, 200)
    } else {
        (150, 15)
    };
    let mut file = std::env::var_os("STRUCTGEN_VERDICTS")
        .map(|path| BufWriter::new(File::create(path).expect("the file can be written")));
    let vocabulary = vocabularies::small();
    let seed = std::env::var("STRUCTGEN_SEED").ok();
    let seed = seed.map_or(1_970, |seed| seed.parse().expect("the seed is a number"));
    let mut random = SplitMix::new(seed);
    let mut walks = SplitMix::new(seed);
    let (mut verdicts, mut taken, mut masks, mut without_text) = (0, 0, 0, 0);
    let mut stopped = 0;
    for number in 0..grammars {
        let rules = 1 + random.below(5);
        let bodies: Vec<Vec<Vec<Tree>>> = (0..rules)
            .map(|_| alternatives(&mut random, rules, 2))
            .collect();
        let lines: Vec<String> = bodies
            .iter()
            .enumerate()
            .map(|(n, body)| format!("{} ::= {}", write(&Tree::Rule(n)), write_all(body)))
            .collect();
        let source = lines.join("\n");
        let mut productions = Productions::default();
        (0..rules).for_each(|_| {
            productions.add();
        });
        for (n, body) in bodies.iter().enumerate() {
            lower_all(&mut productions, n, body);
        }
        let constraint =
            Constraint::gbnf(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let checker = match Checker::new(&constraint) {
            Ok(checker) => checker,
            Err(error) => {
                assert!(!productions.has_text(), "{source}\n{error}");
                without_text += 1;
                continue;
            }
        };
        assert!(productions.has_text(), "{source}");
        let derived: Vec<String> = (0..12)
            .filter_map(|_| derive(&productions, 120, &mut random))
            .filter(|text| text.chars().count() <= 16)
            .collect();
        let mut texts = derived.clone();
        for text in derived.iter().take(6) {
            let mut chars: Vec<char> = text.chars().collect();
            let at = random.below(chars.len() + 1);
            chars.splice(at..at, [CHARS[random.below(CHARS.len())]]);
            texts.push(chars.into_iter().collect());
        }
        // What is exponential in the text shows: an ambiguous grammar has many readings of this one.
        let long = (0..60)
            .filter_map(|_| derive(&productions, 400, &mut random))
            .find(|text| text.chars().count() > 30);
        texts.extend(long);
        for _ in 0..8 {
            let length = random.below(7);
            texts.push(
                (0..length)
                    .map(|_| CHARS[random.below(CHARS.len())])
                    .collect(),
            );
        }
        let mut judged = Vec::new();
        for text in &texts {
            let expected = productions.accepts(text);
            let mismatch = match checker.check(text.as_bytes()) {
                Ok(mismatch) => mismatch,
                Err(error) => {
                    // The limit of work for one text: long texts have readings without number.
                    let is_limit = error.to_string().contains("looked at for one text");
                    assert!(
                        is_limit && text.chars().count() > 30,
                        "{source}\non {text:?}: {error}"
                    );
                    stopped += 1;
                    continue;
                }
            };
            assert_eq!(
                mismatch.is_none(),
                expected,
                "{source}\non {text:?}: {mismatch:?}"
            );
            verdicts += 1;
            taken += usize::from(expected);
            judged.push((text, mismatch.is_none()));
        }
        if let Some(file) = &mut file {
            writeln!(file, "{}", json!({"grammar": source, "texts": judged}))
                .expect("it is written");
        }
        if number % every == 0
            && let Some(text) = texts.iter().max_by_key(|text| text.len())
        {
            let compiled = constraint
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .expect("it compiled");
            masks += compare_masks(&source, &compiled, &vocabulary, text, &mut walks);
        }
    }
    report(&format!(
        "{grammars} grammars ({without_text} without a text), {verdicts} verdicts ({taken} taken), {stopped} texts stopped at a limit, {masks} masks, no disagreement"
    ));
    assert!(stopped * 20 < grammars, "{stopped} of {grammars}");
    assert!(
        taken * 5 > verdicts && taken * 5 < verdicts * 4,
        "{taken} of {verdicts}"
    );
}
