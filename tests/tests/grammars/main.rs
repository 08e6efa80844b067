//! The grammars of `grammars/` do what their samples say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use structgen::decode::{GenerateOptions, MockModel};
use structgen::{Checker, Constraint};
use structgen_tests::{report, vocabularies};

mod parsers;

/// How many random texts of each grammar are made.
const TEXTS: u64 = 200;
/// The grammars of formats that another parser reads.
const JUDGED: [&str; 15] = [
    "json",
    "json-lines",
    "csv",
    "dates",
    "emails",
    "emoji",
    "markdown-list",
    "markdown-table",
    "semver",
    "sql",
    "sql-select",
    "toml",
    "url",
    "xml",
    "yaml",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../grammars")
}

/// The files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_stem()
        .expect("a file has a name")
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path) -> Constraint {
    let text = std::fs::read_to_string(path).expect("the grammar can be read");
    Constraint::gbnf(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn samples_are_accepted_and_rejected_as_their_folders_say() {
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in files(&folder(), "gbnf") {
        let grammar = name(&path);
        let checker = Checker::new(&read(&path)).expect("the grammar compiles");
        for (kind, fits) in [("accept", true), ("reject", false)] {
            let samples = files(&folder().join("samples").join(&grammar).join(kind), "txt");
            assert!(samples.len() >= 6, "{grammar}: too few samples to {kind}");
            for sample in samples {
                let file = std::fs::read(&sample).expect("the sample can be read");
                let text = file.strip_suffix(b"\n").unwrap_or(&file);
                let judged = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| parsers::judge(&grammar, text));
                if let Some(Err(error)) = judged.filter(|_| fits) {
                    wrong.push(format!("no sample: {} {error}", sample.display()));
                }
                match checker.check(text).expect("a sample is within the limits") {
                    None if !fits => wrong.push(format!("accepted: {}", sample.display())),
                    Some(mismatch) if fits => {
                        wrong.push(format!("rejected: {} {mismatch}", sample.display()));
                    }
                    _ => {}
                }
            }
        }
        names.insert(grammar);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let samples: BTreeSet<String> = std::fs::read_dir(folder().join("samples"))
        .expect("there are samples")
        .map(|entry| name(&entry.expect("the folder can be read").path()))
        .collect();
    assert_eq!(names, samples, "grammars, and grammars with samples");
    assert!(names.len() >= 20);
}

#[test]
fn random_texts_of_each_grammar_are_finished_and_fit_and_other_parsers_agree() {
    let vocabulary = vocabularies::small();
    let mut wrong = Vec::new();
    for path in files(&folder(), "gbnf") {
        let grammar = name(&path);
        let constraint = read(&path);
        let checker = Checker::new(&constraint).expect("the grammar compiles");
        let compiled = constraint
            .compile(&vocabulary.tables, &[vocabulary.eos])
            .expect("the grammar compiles");
        let (mut longest, mut judged) = (0, 0);
        for seed in 0..TEXTS {
            let matcher = compiled.matcher();
            let budget = matcher.clone().completion_cost().unwrap() as usize + seed as usize;
            let model =
                MockModel::new(vocabulary.width(), 10_000, [vocabulary.eos]).with_seed(seed);
            let options = GenerateOptions {
                max_new_tokens: Some(budget),
                ..GenerateOptions::default()
            };
            let output = vocabulary
                .generate(model, matcher, options)
                .unwrap_or_else(|error| panic!("{grammar}: {error}"));
            let text = output.text;
            let mismatch = checker.check(text.as_bytes()).expect("within the limits");
            assert_eq!(mismatch, None, "{grammar}: {text}");
            match parsers::judge(&grammar, &text) {
                Some(Ok(())) => judged += 1,
                Some(Err(error)) => wrong.push(format!("{grammar}: {error}: {text:?}")),
                None => {}
            }
            longest = longest.max(text.len());
        }
        report(&format!(
            "{grammar}: {TEXTS} random texts, the longest of {longest} bytes; another parser takes {judged}"
        ));
        assert!(longest > 5, "{grammar}");
        if JUDGED.contains(&grammar.as_str()) {
            assert!(judged > TEXTS / 3, "{grammar}: {judged}");
        }
    }
    assert!(
        wrong.is_empty(),
        "{} texts, such as {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(12)]
    );
}
