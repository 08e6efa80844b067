//! Whatever the model says, what comes out parses, validates, and in profile `rust` deserialises.
//!
//! 1,000 generations by default; `STRUCTGEN_FULL=1` runs 10,000.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use structgen::KeyOrder;
use structgen::constraint::CompiledConstraint;
use structgen::decode::{GenerateOptions, MockModel};
use structgen::grammar::{Indent, Whitespace};
use structgen::{Checker, Constraint, Profile, SchemaOptions};
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, is_full_run, report, schemas, types};

/// A schema, and what has to hold for the texts that are generated from it.
struct Case {
    name: &'static str,
    schema: String,
    profile: Profile,
    validator: jsonschema::Validator,
    /// Every text of any profile is one of profile `exact`.
    exact: Checker,
    deserialise: Option<fn(&str) -> serde_json::Result<()>>,
}

impl Case {
    fn new(
        name: &'static str,
        schema: String,
        profile: Profile,
        deserialise: Option<fn(&str) -> serde_json::Result<()>>,
    ) -> Self {
        let value: Value = serde_json::from_str(&schema).expect("the schema is JSON");
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&value)
            .expect("the schema is valid");
        let exact = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(KeyOrder::Any);
        let exact = Constraint::json_schema_str(&schema, &exact)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let exact = Checker::new(&exact).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self {
            name,
            schema,
            profile,
            validator,
            exact,
            deserialise,
        }
    }

    /// What is wrong with a text, if anything is.
    fn judge(&self, text: &str) -> Result<(), String> {
        serde_json::from_str::<DistinctKeys>(text).map_err(|error| error.to_string())?;
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let Err(error) = self.validator.validate(&value) {
            return Err(format!("invalid: {error}"));
        }
        if let Some(deserialise) = self.deserialise {
            deserialise(text).map_err(|error| format!("does not deserialise: {error}"))?;
        }
        match self.exact.check(text.as_bytes()) {
            Ok(None) => Ok(()),
            Ok(Some(mismatch)) => Err(format!("not in profile exact: {mismatch}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn cases() -> Vec<Case> {
    let schemas = schemas::ALL
        .iter()
        .map(|case| Case::new(case.name, case.schema.to_owned(), Profile::Generate, None));
    let types = types::all().into_iter().map(|case| {
        let schema = case.schema.to_string();
        Case::new(case.name, schema, Profile::Rust, Some(case.deserialise))
    });
    schemas.chain(types).collect()
}

/// JSON in which no object has a key twice.
struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctKeysVisitor)
    }
}

struct DistinctKeysVisitor;

impl<'de> Visitor<'de> for DistinctKeysVisitor {
    type Value = DistinctKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without repeated keys")
    }

    fn visit_unit<E: de::Error>(self) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<DistinctKeys, A::Error> {
        while items.next_element::<DistinctKeys>()?.is_some() {}
        Ok(DistinctKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<DistinctKeys, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            members.next_value::<DistinctKeys>()?;
            if !keys.insert(key.clone()) {
                return Err(de::Error::custom(format!("the key {key:?} comes twice")));
            }
        }
        Ok(DistinctKeys)
    }
}

/// What a model has set its mind on.
const MODELS: [&str; 8] = [
    "random",
    "random",
    "longest",
    "whitespace",
    "quotes",
    "digits",
    "openers",
    "escapes",
];

/// A model whose logits are random, but for a strong wish.
fn model(wish: &str, vocabulary: &TestVocabulary) -> MockModel {
    let wanted = |bytes: &[u8]| -> f32 {
        let all = |test: fn(&u8) -> bool| !bytes.is_empty() && bytes.iter().all(test);
        let starts = |with: &[u8]| bytes.first().is_some_and(|byte| with.contains(byte));
        let is_wanted = match wish {
            "longest" => return bytes.len() as f32 * 20.0,
            "whitespace" => all(u8::is_ascii_whitespace),
            "quotes" => starts(b"\""),
            "digits" => all(u8::is_ascii_digit),
            "openers" => starts(b"[{"),
            "escapes" => starts(b"\\"),
            _ => false,
        };
        if is_wanted { 100.0 } else { 0.0 }
    };
    let mut model = MockModel::new(vocabulary.width(), 100_000, [vocabulary.eos]);
    for (id, bytes) in vocabulary.vocabulary().tokens() {
        let bias = wanted(bytes);
        if bias > 0.0 {
            model = model.preferring(id, bias);
        }
    }
    model
}

/// Forms in which the texts are written: none is the profile's own.
const FORMS: [Option<(KeyOrder, Whitespace)>; 5] = [
    None,
    Some((KeyOrder::Any, Whitespace::Compact)),
    Some((KeyOrder::Declared, Whitespace::Bounded { max: 3 })),
    Some((KeyOrder::RequiredFirst, Whitespace::OneSpace)),
    Some((
        KeyOrder::Declared,
        Whitespace::Indented {
            indent: Indent::Spaces(2),
        },
    )),
];

fn compile(case: &Case, form: usize, vocabulary: &TestVocabulary) -> CompiledConstraint {
    let mut options = SchemaOptions::new().with_profile(case.profile);
    if let Some((order, whitespace)) = FORMS[form] {
        options = options.with_order(order).with_whitespace(whitespace);
    }
    Constraint::json_schema_str(&case.schema, &options)
        .and_then(|constraint| constraint.compile(&vocabulary.tables, &[vocabulary.eos]))
        .unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

#[derive(Default)]
struct Tally {
    generations: usize,
    tokens: usize,
    forced: usize,
    steered: usize,
    texts: BTreeMap<&'static str, BTreeSet<String>>,
    failures: Vec<String>,
}

/// Runs `count` generations over all cases, forms and models.
fn generate(count: usize, vocabulary: &TestVocabulary, seed: u64) -> Tally {
    let cases = cases();
    let models: Vec<MockModel> = MODELS.iter().map(|wish| model(wish, vocabulary)).collect();
    let mut compiled: HashMap<(usize, usize), CompiledConstraint> = HashMap::new();
    let mut random = SplitMix::new(seed);
    let mut tally = Tally::default();
    for round in 0..count {
        let (index, form) = (round % cases.len(), random.below(FORMS.len()));
        let case = &cases[index];
        let constraint = compiled
            .entry((index, form))
            .or_insert_with(|| compile(case, form, vocabulary));
        let wish = random.below(MODELS.len());
        let model = models[wish].clone().with_seed(random.next_u64());
        let matcher = constraint.matcher();
        let needed = matcher.clone().completion_cost().unwrap() as usize;
        let budget = needed + [0, 4, 30, 120][random.below(4)];
        let options = GenerateOptions {
            max_new_tokens: Some(budget),
            ..GenerateOptions::default()
        };
        let output = vocabulary.generate(model, matcher, options);
        tally.generations += 1;
        let verdict = match output {
            Ok(output) => {
                tally.tokens += output.tokens.len();
                tally.forced += output.stats.forced_tokens;
                tally.steered += output.stats.steered_steps;
                let verdict = if output.tokens.len() > budget {
                    Err(format!("{} tokens", output.tokens.len()))
                } else {
                    case.judge(&output.text)
                };
                let verdict = verdict.map_err(|error| format!("{error}: {}", output.text));
                tally
                    .texts
                    .entry(case.name)
                    .or_default()
                    .insert(output.text);
                verdict
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = verdict {
            tally.failures.push(format!(
                "{} ({}, form {form}, model {}, budget {budget} of at least {needed}, round {round}): {error}",
                case.name, vocabulary.name, MODELS[wish],
            ));
        }
    }
    let texts: usize = tally.texts.values().map(BTreeSet::len).sum();
    report(&format!(
        "{}: {} generations over {} schemas, {texts} different texts, {} tokens, {} forced, {} steps steered by the budget, {} failures",
        vocabulary.name,
        tally.generations,
        tally.texts.len(),
        tally.tokens,
        tally.forced,
        tally.steered,
        tally.failures.len(),
    ));
    tally
}

fn assert_all_fit(tally: &Tally) {
    let shown: Vec<String> = tally
        .failures
        .iter()
        .take(20)
        .map(|failure| failure.chars().take(600).collect())
        .collect();
    assert!(
        shown.is_empty(),
        "{} failures:\n{}",
        tally.failures.len(),
        shown.join("\n")
    );
    // A generator that always writes the same would pass everything above.
    let distinct: usize = tally.texts.values().map(BTreeSet::len).sum();
    assert!(
        distinct * 4 > tally.generations,
        "{distinct} different texts"
    );
}

#[test]
fn every_output_fits_whatever_the_model_says() {
    let count = if is_full_run() { 8_000 } else { 900 };
    assert_all_fit(&generate(count, &vocabularies::small(), 1));
}

#[test]
fn every_output_fits_with_real_tokenizers() {
    for (name, count, full) in [("phi3", 75, 1_500), ("llama3", 25, 500)] {
        let Some(vocabulary) = vocabularies::real(name) else {
            return;
        };
        let count = if is_full_run() { full } else { count };
        let tally = generate(count, &vocabulary, 2);
        assert_all_fit(&tally);
    }
}

#[test]
fn there_are_at_least_fifty_schemas_with_different_names() {
    let cases = cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert!(names.len() >= 50 && names.len() == cases.len());
}
