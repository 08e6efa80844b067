//! Random patterns in the syntax of the crate `regex`.

use regex_automata::meta::Regex;
use structgen::Constraint;
use structgen::frontend::regex::{RegexErrorKind, RegexOptions, parse};
use structgen::regular::{RegularLimits, RegularMachine};
use structgen_tests::{SplitMix, is_full_run, report, vocabularies};

use crate::compare_masks;

/// A pattern, and texts that are likely to match it: as likely as anchors and flags let them.
struct Generated {
    pattern: String,
    samples: [String; SAMPLES],
}

const SAMPLES: usize = 4;
const ALPHABET: [char; 16] = [
    'a', 'b', 'c', 'A', 'B', 'é', 'É', 'ſ', 's', 'K', 'k', '1', '_', ' ', '\n', '\r',
];
const LEAVES: [(&str, &str); 44] = [
    ("a", "a"),
    ("b", "b"),
    ("c", "cC"),
    ("é", "éÉ"),
    ("s", "sſS"),
    ("k", "kK"),
    ("ab", "a"),
    (".", "aé\n"),
    (r"\.", "."),
    (r"\x61", "a"),
    (r"\u{e9}", "é"),
    (r"\U0000004B", "K"),
    (r"\n", "\n"),
    (r"\t|", "\t"),
    (r"\d", "1"),
    (r"\D", "aé"),
    (r"\w", "aé_1"),
    (r"\W", " \n"),
    (r"\s", " \n"),
    (r"\S", "a"),
    (r"(?-u:\w)", "a1"),
    (r"\pL", "aÉ"),
    (r"\p{Lu}", "AÉ"),
    (r"\P{Greek}", "a"),
    ("[abc]", "abc"),
    ("[^a]", "bé\n"),
    ("[a-c1]", "b1"),
    ("[]a]", "]a"),
    ("[a-]", "-a"),
    (r"[\w&&[^a]]", "bé1"),
    ("[a-z--[bc]]", "ask"),
    ("[a-c~~b-d]", "ad"),
    ("[[:alpha:]_]", "ab_"),
    ("[[:^alpha:]&&[:ascii:]]", "1 "),
    ("[[a-c][^\\n]]", "aé"),
    ("^", ""),
    ("$", ""),
    (r"\b", ""),
    (r"\B", ""),
    (r"\A", ""),
    (r"\z", ""),
    (r"\b{start}", ""),
    (r"\b{end-half}", ""),
    ("(?:)", ""),
];
const FLAGS: [&str; 9] = ["i", "m", "s", "ms", "R", "mR", "U", "-i", "i-s"];
const COUNTERS: [(&str, usize, usize); 8] = [
    ("*", 0, 3),
    ("+", 1, 3),
    ("?", 0, 1),
    ("{2}", 2, 2),
    ("{1,3}", 1, 3),
    ("{0,2}", 0, 2),
    ("{2,}", 2, 4),
    ("{0}", 0, 0),
];

fn generate(random: &mut SplitMix, depth: usize) -> Generated {
    if depth == 0 || random.below(4) == 0 {
        let (pattern, texts) = LEAVES[random.below(LEAVES.len())];
        let texts: Vec<char> = texts.chars().collect();
        let pattern = if pattern.ends_with('|') {
            format!("(?:{}a)", pattern)
        } else {
            pattern.to_owned()
        };
        let samples = std::array::from_fn(|_| {
            let chosen = texts.get(random.below(texts.len().max(1)));
            chosen.map_or_else(String::new, char::to_string)
        });
        return Generated { pattern, samples };
    }
    let part = |random: &mut SplitMix| generate(random, depth - 1);
    match random.below(8) {
        0..=2 => {
            let parts: Vec<Generated> = (0..2 + random.below(2)).map(|_| part(random)).collect();
            let patterns: Vec<&str> = parts.iter().map(|part| part.pattern.as_str()).collect();
            Generated {
                pattern: format!("(?:{})", patterns.join("")),
                samples: std::array::from_fn(|i| {
                    parts.iter().map(|part| part.samples[i].as_str()).collect()
                }),
            }
        }
        3 | 4 => {
            let arms: Vec<Generated> = (0..2 + random.below(2)).map(|_| part(random)).collect();
            let patterns: Vec<&str> = arms.iter().map(|arm| arm.pattern.as_str()).collect();
            // Flags that are set within hold in the arms behind, too.
            let flags = match random.below(4) {
                0 => format!("(?{})", FLAGS[random.below(FLAGS.len())]),
                _ => String::new(),
            };
            Generated {
                pattern: format!("({flags}{})", patterns.join("|")),
                samples: std::array::from_fn(|i| arms[random.below(arms.len())].samples[i].clone()),
            }
        }
        5 | 6 => {
            let body = part(random);
            let (counter, min, max) = COUNTERS[random.below(COUNTERS.len())];
            let lazy = ["", "?"][random.below(2)];
            Generated {
                pattern: format!("(?:{}){counter}{lazy}", body.pattern),
                samples: std::array::from_fn(|_| {
                    (0..min + random.below(max - min + 1))
                        .map(|_| body.samples[random.below(SAMPLES)].as_str())
                        .collect()
                }),
            }
        }
        _ => {
            let body = part(random);
            let pattern = match random.below(3) {
                0 => format!("(?{}:{})", FLAGS[random.below(FLAGS.len())], body.pattern),
                1 => format!("(?<n{}>{})", random.next_u64(), body.pattern),
                _ => format!("(?x:{}  # (\n )", body.pattern.replace(' ', "\\ ")),
            };
            Generated {
                pattern,
                samples: body.samples,
            }
        }
    }
}

/// The samples, some with a character changed, and texts of the alphabet.
fn texts(random: &mut SplitMix, samples: &[String]) -> Vec<String> {
    let mut texts: Vec<String> = samples.to_vec();
    for sample in samples {
        let mut chars: Vec<char> = sample.chars().collect();
        let at = random.below(chars.len() + 1);
        let with = ALPHABET[random.below(ALPHABET.len())];
        if at < chars.len() && random.below(2) == 0 {
            chars[at] = with;
        } else {
            chars.insert(at, with);
        }
        texts.push(chars.into_iter().collect());
    }
    for _ in 0..4 {
        let random_char = |random: &mut SplitMix| ALPHABET[random.below(ALPHABET.len())];
        texts.push((0..random.below(6)).map(|_| random_char(random)).collect());
    }
    texts
}

#[test]
fn patterns_match_what_regex_automata_matches() {
    let (patterns, every) = if is_full_run() {
        (10_000, 50)
    } else {
        (400, 100)
    };
    let vocabulary = vocabularies::small();
    let mut random = SplitMix::new(20_261_121);
    let (mut compared, mut matches, mut masks, mut limits) = (0, 0, 0, 0);
    let mut number = 0;
    while number < patterns {
        let depth = 1 + random.below(5);
        let Generated { pattern, samples } = generate(&mut random, depth);
        let whole = Regex::new(&format!(r"\A(?:{pattern})\z"));
        let (Ok(whole), Ok(anywhere)) = (whole, Regex::new(&pattern)) else {
            // Names that come twice, or more than the crate likes to build; then it is refused here too, or for its
            // size.
            continue;
        };
        number += 1;
        for (theirs, search) in [(whole, false), (anywhere, true)] {
            let set = match parse(&pattern, RegexOptions::rust().with_search(search)) {
                Ok(set) => set,
                Err(error) if matches!(error.kind, RegexErrorKind::Limit { .. }) => {
                    limits += 1;
                    continue;
                }
                Err(error) => panic!("{pattern}: {error}"),
            };
            let Ok(mut machine) = RegularMachine::new(&set, RegularLimits::default()) else {
                limits += 1;
                continue;
            };
            for text in texts(&mut random, &samples) {
                let expected = theirs.is_match(&text);
                match machine.contains(text.as_bytes()) {
                    Ok(found) => {
                        assert_eq!(found, expected, "{pattern} on {text:?}, search: {search}");
                        compared += 1;
                        matches += usize::from(found);
                    }
                    Err(_) => limits += 1,
                }
            }
        }
        if number % every == 0
            && let Ok(constraint) = Constraint::regex(&pattern)
            && let Ok(compiled) = constraint.compile(&vocabulary.tables, &[vocabulary.eos])
        {
            masks += compare_masks(&pattern, &compiled, &vocabulary, &samples[0], &mut random);
        }
    }
    report(&format!(
        "{patterns} patterns, {compared} verdicts ({matches} matches), {masks} masks, {limits} limits met, no disagreement"
    ));
    assert!(
        matches * 5 > compared && matches * 5 < compared * 4,
        "{matches} of {compared}"
    );
    assert!(limits * 50 < compared, "{limits} limits");
}
