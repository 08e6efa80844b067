//! Tool calls in every format: its samples fit, and whatever a model says is read back as calls whose arguments are
//! valid.
//!
//! Some dozen generations for each format by default; `STRUCTGEN_FULL=1` runs 1,000.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use structgen::constraint::{VocabularyTables, oracle};
use structgen::decode::{GenerateOptions, MockModel};
use structgen::tools::{
    Call, Message, Reasoning, Tool, ToolChoice, ToolFormat, ToolGrammar, ToolOptions,
};
use structgen::vocab::{TokenId, Vocabulary};
use structgen::{Checker, Constraint};
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, is_full_run, report, schemas};

const TOOLS: &str = include_str!("../../crates/structgen-tools/presets/samples-tools.json");

fn tools() -> Vec<Tool> {
    Tool::list(TOOLS).expect("the tools are usable")
}

fn formats() -> impl Iterator<Item = ToolFormat> {
    ToolFormat::presets().map(|name| ToolFormat::preset(name).expect("it is a preset"))
}

fn grammar(format: &ToolFormat, options: &ToolOptions) -> ToolGrammar {
    ToolGrammar::new(format.clone(), tools(), options)
        .unwrap_or_else(|error| panic!("{}: {error:?}", format.name))
}

#[test]
fn the_samples_of_every_format_fit_its_grammar() {
    let mut wrong = Vec::new();
    for format in formats() {
        let grammar = grammar(&format, &ToolOptions::new());
        let checker = Checker::new(&Constraint::tools(&grammar)).expect("the grammar compiles");
        let demanding = ToolOptions::new()
            .with_choice(ToolChoice::Required)
            .with_text_before_calls(true);
        let demanding =
            ToolGrammar::new(format.clone(), tools(), &demanding).expect("it is usable");
        let demanding = Checker::new(&Constraint::tools(&demanding)).expect("the grammar compiles");
        for sample in &format.samples {
            let check = |checker: &Checker| {
                checker
                    .check(sample.output.as_bytes())
                    .expect("within the limits")
            };
            if let Some(mismatch) = check(&checker) {
                wrong.push(format!("{}, {}: {mismatch}", format.name, sample.about));
            }
            if check(&demanding).is_none() == sample.calls.is_empty() {
                wrong.push(format!(
                    "{}, {}: with a call demanded",
                    format.name, sample.about
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_fit_the_tools_does_not_fit_the_grammar() {
    for format in formats() {
        let checker = Constraint::tools(&grammar(&format, &ToolOptions::new()));
        let checker = Checker::new(&checker).expect("the grammar compiles");
        let mut damaged = 0;
        for sample in format
            .samples
            .iter()
            .filter(|sample| !sample.calls.is_empty())
        {
            // A tool that does not exist, and arguments that do not.
            for (from, to) in [
                ("get_weather", "get_wether"),
                ("add", "sub"),
                ("ping", "pong"),
                ("location", "place"),
                ("celsius", "kelvin"),
            ] {
                let output = sample.output.replace(from, to);
                if output != sample.output {
                    damaged += 1;
                    let fits = checker
                        .check(output.as_bytes())
                        .expect("within the limits")
                        .is_none();
                    assert!(!fits, "{}: {output}", format.name);
                }
            }
        }
        assert!(damaged >= 2, "{}", format.name);
    }
}

/// The parts of a format's markers that look like special tokens.
fn special_parts(format: &ToolFormat) -> BTreeSet<String> {
    let mut markers = vec![format.calls.trigger.clone(), format!("{:?}", format.call)];
    let calls = [
        &format.calls.begin,
        &format.calls.separator,
        &format.calls.end,
    ];
    let text = [&format.text.begin, &format.text.end];
    let enclosed = [&format.reasoning, &format.preamble];
    let enclosed = enclosed
        .into_iter()
        .flatten()
        .flat_map(|it| [&it.begin, &it.end]);
    for marker in calls.into_iter().chain(text).chain(enclosed) {
        markers.extend(marker.texts().map(str::to_owned));
    }
    let mut parts = BTreeSet::new();
    for marker in markers {
        for (open, close) in [('<', '>'), ('[', ']')] {
            for (at, _) in marker.match_indices(open) {
                if let Some(len) = marker[at..].find(close) {
                    let part = &marker[at..=at + len];
                    let inner = &part[1..part.len() - 1];
                    if inner.len() > 2 && !inner.contains([' ', '\n', '\\', '"', '[', '<', '{']) {
                        parts.insert(part.to_owned());
                    }
                }
            }
        }
    }
    parts
}

/// The small vocabulary, with the parts of a format's markers as ordinary or as special tokens.
fn vocabulary_with(parts: &BTreeSet<String>, special: bool) -> TestVocabulary {
    let small = vocabularies::small();
    let mut tokens: Vec<Vec<u8>> = small
        .vocabulary()
        .tokens()
        .map(|(_, bytes)| bytes.to_vec())
        .collect();
    let mut specials = Vec::new();
    for part in parts {
        if special {
            specials.push((TokenId(tokens.len() as u32), part.as_str()));
            tokens.push(Vec::new());
        } else {
            tokens.push(part.as_bytes().to_vec());
        }
    }
    let eos = TokenId(tokens.len() as u32);
    specials.push((eos, "<eos>"));
    tokens.push(Vec::new());
    let vocabulary =
        Vocabulary::from_tokens(tokens, &specials).expect("the tokens are a vocabulary");
    TestVocabulary {
        name: if special {
            "special markers"
        } else {
            "ordinary markers"
        },
        tables: Arc::new(VocabularyTables::new(Arc::new(vocabulary))),
        eos,
    }
}

fn vocabularies(format: &ToolFormat) -> [TestVocabulary; 3] {
    let parts = special_parts(format);
    [
        vocabularies::small(),
        vocabulary_with(&parts, false),
        vocabulary_with(&parts, true),
    ]
}

/// What is asked of a model.
fn demands(format: &ToolFormat) -> Vec<ToolOptions> {
    let required = ToolOptions::new().with_choice(ToolChoice::Required);
    let names = ["add", "set"].map(str::to_owned).to_vec();
    let mut demands = vec![
        ToolOptions::new(),
        ToolOptions::new().with_choice(ToolChoice::None),
        required.clone(),
        required
            .clone()
            .with_max_calls(1)
            .with_reasoning(Reasoning::Off),
        required.clone().with_text_before_calls(true),
        ToolOptions::new().with_choice(ToolChoice::Named("write_file".to_owned())),
        ToolOptions::new().with_choice(ToolChoice::Subset {
            names,
            required: true,
        }),
    ];
    if format.reasoning.is_some() {
        demands.push(ToolOptions::new().with_reasoning(Reasoning::Open));
        demands.push(required.with_reasoning(Reasoning::Required));
    }
    demands
}

fn validators() -> HashMap<String, jsonschema::Validator> {
    let validator = |tool: Tool| {
        let schema = serde_json::from_str(tool.parameters()).expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema is valid");
        (tool.name, validator)
    };
    tools().into_iter().map(validator).collect()
}

/// What is wrong with a message, if anything is.
fn judge(
    message: &Message,
    options: &ToolOptions,
    validators: &HashMap<String, jsonschema::Validator>,
) -> Result<(), String> {
    for call in &message.calls {
        let validator = validators
            .get(&call.name)
            .ok_or_else(|| format!("there is no tool {:?}", call.name))?;
        validator
            .validate(&call.arguments)
            .map_err(|error| format!("{call:?}: {error}"))?;
    }
    let count = message.calls.len();
    let fits = match &options.choice {
        ToolChoice::None => count == 0,
        ToolChoice::Required => count > 0,
        ToolChoice::Named(name) => count == 1 && message.calls[0].name == *name,
        ToolChoice::Subset { names, required } => {
            (count > 0 || !required) && message.calls.iter().all(|call| names.contains(&call.name))
        }
        ToolChoice::Auto => true,
    };
    let fits = fits && options.max_calls.is_none_or(|max| count <= max as usize);
    match fits {
        true => Ok(()),
        false => Err(format!("{count} calls with {:?}", options.choice)),
    }
}

#[test]
fn whatever_a_model_says_is_read_back_as_valid_calls() {
    let count = if is_full_run() { 1_000 } else { 36 };
    let validators = validators();
    let mut failures = Vec::new();
    for format in formats() {
        let demands = demands(&format);
        let vocabularies = vocabularies(&format);
        let mut compiled = HashMap::new();
        let mut random = SplitMix::new(7);
        let (mut calls, mut texts) = (0, BTreeSet::new());
        for round in 0..count {
            let (which, demand) = (random.below(vocabularies.len()), round % demands.len());
            let vocabulary = &vocabularies[which];
            let options = &demands[demand];
            let (grammar, constraint) = compiled.entry((which, demand)).or_insert_with(|| {
                let grammar = grammar(&format, options);
                let constraint = Constraint::tools(&grammar)
                    .compile(&vocabulary.tables, &[vocabulary.eos])
                    .unwrap_or_else(|error| panic!("{}: {error}", format.name));
                (grammar, constraint)
            });
            let mut model = MockModel::new(vocabulary.width(), 100_000, [vocabulary.eos])
                .with_seed(random.next_u64());
            // A model that likes markers, or what ends strings.
            let liking = random.below(4);
            for (id, bytes) in vocabulary.vocabulary().tokens() {
                let likes = match liking {
                    0 => bytes.len() > 2 && matches!(bytes[0], b'<' | b'['),
                    1 => bytes.contains(&b'"') || bytes.contains(&b'<') || bytes.contains(&b'\n'),
                    _ => false,
                };
                if likes {
                    model = model.preferring(id, 9.0);
                }
            }
            let matcher = constraint.matcher();
            let budget = matcher.clone().completion_cost().unwrap() as usize
                + [0, 5, 40, 150][random.below(4)];
            let generate = GenerateOptions {
                max_new_tokens: Some(budget),
                ..GenerateOptions::default()
            };
            let output = vocabulary
                .generate(model, matcher, generate)
                .unwrap_or_else(|error| panic!("{}: {error}", format.name));
            let mut parser = grammar.parser();
            let mut events = Vec::new();
            let mut written = String::new();
            let parsed = output.tokens.iter().try_for_each(|token| {
                let vocabulary = vocabulary.vocabulary();
                let bytes = vocabulary
                    .token_bytes(token.id)
                    .map(String::from_utf8_lossy);
                written.push_str(
                    &bytes.unwrap_or_else(|| vocabulary.token_name(token.id).unwrap_or("").into()),
                );
                parser.push_token(vocabulary, token.id, &mut events)
            });
            let parsed = parsed.and_then(|()| parser.finish(&mut events));
            let verdict = parsed.map_err(|error| error.to_string()).and_then(|()| {
                let message = Message::from_events(events);
                calls += message.calls.len();
                judge(&message, options, &validators)
            });
            if let Err(error) = verdict {
                failures.push(format!(
                    "{} ({}, {:?}): {error}: {written:?}",
                    format.name, vocabulary.name, options.choice
                ));
            }
            texts.insert(written);
        }
        report(&format!(
            "{}: {count} generations, {} different, {calls} calls",
            format.name,
            texts.len()
        ));
        assert!(
            calls * 2 > count && texts.len() * 3 > count,
            "{}: too little happens",
            format.name
        );
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

#[test]
fn masks_equal_the_oracles_in_every_style() {
    let steps = if is_full_run() { 600 } else { 60 };
    let mut styles = BTreeSet::new();
    for format in formats() {
        let style = match format.call {
            Call::Object { .. } => "object",
            Call::Json { .. } => "json",
            Call::Tagged { .. } => "tagged",
            Call::Quoted { .. } => "quoted",
            Call::Python { .. } => "python",
        };
        if !styles.insert(style) && !is_full_run() {
            continue;
        }
        for vocabulary in vocabularies(&format) {
            let constraint = Constraint::tools(&grammar(&format, &ToolOptions::new()));
            let constraint = constraint
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .expect("the grammar compiles");
            let mut random = SplitMix::new(11);
            let samples: Vec<&str> = format.samples.iter().map(|it| it.output.as_str()).collect();
            for step in 0..steps / 20 {
                let mut matcher = constraint.matcher();
                // Along a sample by tokens chosen at random, and then anywhere.
                let mut rest = samples[step % samples.len()].as_bytes();
                for _ in 0..200 {
                    let fast = matcher.mask().expect("within the limits");
                    let slow = oracle::mask(&matcher).expect("within the limits");
                    assert_eq!(fast.bits(), &slow, "{} ({})", format.name, vocabulary.name);
                    let along: Vec<TokenId> = slow
                        .iter()
                        .filter(|&id| {
                            let tokens = vocabulary.vocabulary();
                            let name = tokens.token_name(id).filter(|_| tokens.is_special(id));
                            let bytes = name.map(str::as_bytes).or(tokens.token_bytes(id));
                            bytes.is_some_and(|bytes| rest.starts_with(bytes))
                        })
                        .collect();
                    let all: Vec<TokenId> = slow.iter().collect();
                    let stray = along.is_empty() || random.below(60) == 0;
                    let from = if stray { &all } else { &along };
                    if from.is_empty() {
                        break;
                    }
                    let token = from[random.below(from.len())];
                    if token == vocabulary.eos {
                        break;
                    }
                    let tokens = vocabulary.vocabulary();
                    let name = tokens
                        .token_name(token)
                        .filter(|_| tokens.is_special(token));
                    let len = name
                        .map(str::len)
                        .or(tokens.token_bytes(token).map(<[u8]>::len))
                        .unwrap_or(0);
                    rest = if stray { &[] } else { &rest[len..] };
                    matcher.accept_token(token).expect("the mask has it");
                }
            }
        }
    }
    assert_eq!(styles.len(), 5, "{styles:?}");
}

/// Whether a number has more digits than a float tells apart: its value, as `serde_json` and the validator see it, is
/// another one.
fn has_long_number(text: &str) -> bool {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    numbers
        .map(|number| number.replace('.', ""))
        .any(|digits| digits.trim_start_matches('0').len() > 15)
}

/// Arguments of every schema of these tests, in every style: valid, or refused by the tool's name.
#[test]
fn arguments_of_any_schema_are_valid_in_every_style() {
    let count = if is_full_run() { 60 } else { 3 };
    let vocabulary = vocabularies::small();
    let mut random = SplitMix::new(3);
    let mut failures = Vec::new();
    for name in ["qwen", "mistral", "qwen-coder", "glm", "gemma", "gemma4"] {
        let (mut taken, mut refused) = (0, 0);
        for case in schemas::ALL {
            let schema: serde_json::Value = serde_json::from_str(case.schema).expect("it is JSON");
            let validator = jsonschema::options()
                .should_validate_formats(true)
                .build(&schema)
                .expect("the schema is valid");
            let tool = Tool::new("tool", schema).expect("the name is usable");
            let format = ToolFormat::preset(name).expect("it is a preset");
            let required = ToolOptions::new().with_choice(ToolChoice::Named("tool".to_owned()));
            let grammar = match ToolGrammar::new(format, vec![tool], &required) {
                Ok(grammar) => grammar,
                Err(error) => {
                    assert!(error.to_string().contains("\"tool\""), "{error}");
                    refused += 1;
                    continue;
                }
            };
            taken += 1;
            let constraint = Constraint::tools(&grammar)
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", case.name));
            for _ in 0..count {
                let seed = random.next_u64();
                let model =
                    MockModel::new(vocabulary.width(), 100_000, [vocabulary.eos]).with_seed(seed);
                let matcher = constraint.matcher();
                let budget = matcher.clone().completion_cost().unwrap() as usize
                    + [0, 20, 90][random.below(3)];
                let generate = GenerateOptions {
                    max_new_tokens: Some(budget),
                    ..GenerateOptions::default()
                };
                let output = vocabulary
                    .generate(model, matcher, generate)
                    .unwrap_or_else(|error| panic!("{name}, {}: {error}", case.name));
                let verdict = grammar
                    .parse(&output.text)
                    .map_err(|error| error.to_string());
                let verdict = verdict.and_then(|message| {
                    let arguments = &message.calls[0].arguments;
                    let result = validator.validate(arguments);
                    result.map_err(|error| format!("{arguments}: {error}"))
                });
                if let Err(error) = verdict
                    && !has_long_number(&output.text)
                {
                    failures.push(format!("{name}, {}: {error}: {:?}", case.name, output.text));
                }
            }
        }
        report(&format!("{name}: {taken} schemas taken, {refused} refused"));
        assert!(taken > 15, "{name}: {taken}");
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}
