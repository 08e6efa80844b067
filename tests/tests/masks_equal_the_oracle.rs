//! Masks equal those of the naive oracle, state by state, on real schemas, patterns and grammars with three real
//! tokenizers.
//!
//! By default a sample of the states. `STRUCTGEN_FULL=1` compares every distinct state that the walks meet, which takes
//! hours, or with `STRUCTGEN_STATES=N` as well, the first `N` of each subject.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;
use structgen::KeyOrder;
use structgen::constraint::{CompiledConstraint, Matcher, oracle};
use structgen::grammar::{Indent, Whitespace};
use structgen::vocab::TokenId;
use structgen::{Constraint, Profile, SchemaOptions};
use structgen_maskbench::{Case, case_files};
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, data_folder, is_full_run, report, schemas, types};

/// Something to walk through, and texts to walk along.
struct Subject {
    name: String,
    constraint: Constraint,
    texts: Vec<Vec<u8>>,
}

const PATTERNS: [&str; 14] = [
    "[a-z]+",
    "(?i)error: [0-9]{3}( [a-z]+){1,4}",
    "\\d{4}-\\d{2}-\\d{2}",
    "(a|b|ab)*abb",
    "[^\\n]{0,40}\\n",
    "(?s).*end",
    "\\p{Greek}+|\\p{Han}{2,}",
    "[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?",
    "(https?|ftp)://[a-z0-9.-]+(:[0-9]{1,5})?(/[^ ]*)?",
    "((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
    "(yes|no|maybe)(, (yes|no|maybe)){0,9}",
    "\"(\\\\.|[^\"\\\\])*\"",
    "😀{1,3}|[à-ÿ]{3,}",
    "(?:[^aeiou]{1,3}[aeiou]){2,200}",
];

/// The forms in which a schema is compiled.
fn forms() -> [SchemaOptions; 5] {
    let options = SchemaOptions::new();
    let exact = || options.clone().with_profile(Profile::Exact);
    [
        options.clone(),
        options
            .clone()
            .with_profile(Profile::Rust)
            .with_order(KeyOrder::Any),
        exact().with_order(KeyOrder::Any),
        exact().with_order(KeyOrder::Declared),
        options
            .clone()
            .with_order(KeyOrder::RequiredFirst)
            .with_whitespace(Whitespace::Indented {
                indent: Indent::Spaces(2),
            }),
    ]
}

/// Everything that is walked through. What is not compiled yet is left out here; other tests count it.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    let mut add_schema = |name: &str, schema: &Value, texts: &[Vec<u8>]| {
        for (form, options) in forms().iter().enumerate() {
            if let Ok(constraint) = Constraint::json_schema(schema, options) {
                subjects.push(Subject {
                    name: format!("{name} (form {form})"),
                    constraint,
                    texts: texts.to_vec(),
                });
            }
        }
    };
    for case in schemas::ALL {
        let schema = serde_json::from_str(case.schema).expect("the schema is JSON");
        add_schema(case.name, &schema, &[]);
    }
    for case in types::all() {
        add_schema(case.name, &case.schema, &[]);
    }
    if let Some(folder) = data_folder("maskbench") {
        let files = case_files(&[folder]).expect("the folder can be read");
        for path in files.iter().step_by(if is_full_run() { 60 } else { 400 }) {
            let case = Case::read(path, false).expect("the file is a case");
            let texts: Vec<Vec<u8>> = case
                .instances
                .iter()
                .map(|instance| instance.text.clone().into_bytes())
                .collect();
            add_schema(&case.file, &case.schema, &texts);
        }
    }
    for pattern in PATTERNS {
        subjects.push(Subject {
            name: pattern.to_owned(),
            constraint: Constraint::regex(pattern).expect("the pattern is understood"),
            texts: vec![],
        });
    }
    let grammars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../grammars");
    for grammar in ["json", "arithmetic", "csv", "dates", "sql-select", "emails"] {
        let text = std::fs::read_to_string(grammars.join(format!("{grammar}.gbnf")))
            .expect("the grammar can be read");
        let samples = std::fs::read_dir(grammars.join("samples").join(grammar).join("accept"))
            .expect("the grammar has samples");
        let mut samples: Vec<_> = samples
            .map(|entry| entry.expect("the folder can be read").path())
            .collect();
        samples.sort();
        subjects.push(Subject {
            name: format!("{grammar}.gbnf"),
            constraint: Constraint::gbnf(&text).expect("the grammar is understood"),
            texts: samples
                .iter()
                .map(|path| std::fs::read(path).expect("the sample can be read"))
                .collect(),
        });
    }
    subjects
}

/// Compares states that walks through one subject meet, each once.
struct Comparison<'a> {
    vocabulary: &'a TestVocabulary,
    random: SplitMix,
    /// The most states of a subject to compare.
    most: usize,
    states: usize,
    tokens: usize,
    failures: Vec<String>,
}

impl Comparison<'_> {
    fn subject(&mut self, subject: &Subject) {
        let constraint = subject
            .constraint
            .compile(&self.vocabulary.tables, &[self.vocabulary.eos])
            .unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        let mut seen = HashSet::new();
        let (walks, steps) = if is_full_run() { (2, 40) } else { (1, 30) };
        let chosen = self.random.below(subject.texts.len().max(1));
        let along = subject.texts.iter().skip(chosen).take(walks);
        for text in along {
            self.walk(subject, &constraint, &mut seen, Some(text), 400);
        }
        for _ in 0..walks {
            self.walk(subject, &constraint, &mut seen, None, steps);
        }
        self.states += seen.len();
    }

    /// Walks along a text, or at random, and compares at every state that was not seen.
    fn walk(
        &mut self,
        subject: &Subject,
        constraint: &CompiledConstraint,
        seen: &mut HashSet<(u64, structgen::automata::SetId)>,
        text: Option<&[u8]>,
        steps: usize,
    ) {
        let mut matcher = constraint.matcher();
        let mut at = 0;
        for _ in 0..steps {
            if seen.len() >= self.most {
                return;
            }
            let mask = matcher.mask().expect("within the limits");
            // Not every state of a long text: neighbours are much alike.
            if (text.is_none() || is_full_run() || self.random.below(4) == 0)
                && seen.insert(oracle::state(&matcher).expect("within the limits"))
            {
                self.compare(subject, &mut matcher);
            }
            if mask.count() == 0 {
                return;
            }
            let token = match text {
                Some(text) => {
                    let Some((token, len)) = longest_token(self.vocabulary, &text[at..]) else {
                        return;
                    };
                    at += len;
                    token
                }
                None => self.pick(&mask.bits().iter().collect::<Vec<_>>()),
            };
            if !mask.bits().contains(token) || token == self.vocabulary.eos {
                return;
            }
            matcher.accept_token(token).expect("the mask has it");
        }
    }

    /// Any token, half of the time rather one with something of JSON's structure in it: most tokens are plain letters.
    fn pick(&mut self, tokens: &[TokenId]) -> TokenId {
        let structural = self.random.below(2) == 0;
        for _ in 0..12 {
            let token = tokens[self.random.below(tokens.len())];
            let bytes = self.vocabulary.vocabulary().token_bytes(token);
            let has = |bytes: &[u8]| bytes.iter().any(|byte| b"\"{}[],:\\".contains(byte));
            if !structural || bytes.is_some_and(has) {
                return token;
            }
        }
        tokens[self.random.below(tokens.len())]
    }

    fn compare(&mut self, subject: &Subject, matcher: &mut Matcher) {
        let mask = matcher.mask().expect("within the limits");
        let naive = oracle::mask(matcher).expect("within the limits");
        self.tokens += naive.count();
        let mut wrong = Vec::new();
        if mask.bits() != &naive {
            let differ = (0..naive.len() as u32)
                .map(TokenId)
                .filter(|&token| naive.contains(token) != mask.bits().contains(token));
            wrong.extend(differ);
        }
        // The mask has a token exactly where it is taken.
        for _ in 0..8 {
            let token = TokenId(self.random.below(naive.len()) as u32);
            if matcher.clone().accept_token(token).is_ok() != naive.contains(token) {
                wrong.push(token);
            }
        }
        if naive.count() == 0 || !wrong.is_empty() {
            let bytes = |token: TokenId| self.vocabulary.vocabulary().token_bytes(token);
            let text: Vec<u8> = matcher
                .tokens()
                .filter_map(bytes)
                .flatten()
                .copied()
                .collect();
            let tokens: Vec<_> = wrong
                .iter()
                .take(5)
                .map(|&token| (token, bytes(token)))
                .collect();
            self.failures.push(format!(
                "{}: after {:?}: {} allowed, {} differ: {tokens:?}",
                subject.name,
                String::from_utf8_lossy(&text),
                naive.count(),
                wrong.len(),
            ));
        }
    }
}

/// How many states of a subject a full run compares at most.
fn states_per_subject() -> usize {
    let given = std::env::var("STRUCTGEN_STATES").ok();
    given.map_or(usize::MAX, |given| {
        given.parse().expect("STRUCTGEN_STATES is a number")
    })
}

/// The longest token that a text begins with.
fn longest_token(vocabulary: &TestVocabulary, text: &[u8]) -> Option<(TokenId, usize)> {
    let trie = vocabulary.vocabulary().trie();
    let most = text.len().min(vocabulary.vocabulary().max_token_len());
    (1..=most).rev().find_map(|len| {
        let node = trie.find(&text[..len])?;
        Some((*trie.tokens(node).first()?, len))
    })
}

/// `sample`: every how many-th subject, and how many states of each at most, where not everything is asked for.
fn run(vocabulary: &TestVocabulary, sample: (usize, usize)) {
    let (step, most) = if is_full_run() {
        (1, states_per_subject())
    } else {
        sample
    };
    let mut comparison = Comparison {
        vocabulary,
        random: SplitMix::new(7),
        most,
        states: 0,
        tokens: 0,
        failures: Vec::new(),
    };
    let subjects = subjects();
    let mut count = 0;
    for subject in subjects.iter().step_by(step) {
        comparison.subject(subject);
        count += 1;
        if is_full_run() && count % 20 == 0 {
            report(&format!(
                "{}: {count} of {} subjects, {} states, {} failures",
                vocabulary.name,
                subjects.len(),
                comparison.states,
                comparison.failures.len()
            ));
        }
    }
    report(&format!(
        "{}: {} distinct states of {count} subjects compared, {} allowed tokens in all, {} failures",
        vocabulary.name,
        comparison.states,
        comparison.tokens,
        comparison.failures.len()
    ));
    let shown: Vec<&String> = comparison.failures.iter().take(10).collect();
    assert!(shown.is_empty(), "{shown:#?}");
    assert!(comparison.states > 50);
}

fn run_real(name: &str, sample: (usize, usize)) {
    if let Some(vocabulary) = vocabularies::real(name) {
        run(&vocabulary, sample);
    }
}

#[test]
fn with_a_small_vocabulary_of_bytes_and_pieces() {
    run(&vocabularies::small(), (1, 60));
}

#[test]
fn with_gpt2() {
    run_real("gpt2", (5, 4));
}

#[test]
fn with_phi3() {
    run_real("phi3", (3, 5));
}

#[test]
fn with_llama3() {
    run_real("llama3", (11, 4));
}
