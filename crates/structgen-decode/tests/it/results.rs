//! What an output reports about its tokens and values, on models with scripted probabilities.

use std::time::Duration;

use serde_json::json;
use structgen_decode::{
    Constraint, FinishReason, GenerateError, GenerateOptions, Generation, LanguageModel, MockModel,
    ModelError, ModelInfo, Outputs, Request, SamplingParams, Scheduler, Unconstrained,
    confidence::ConfidenceError,
    model::{ModelStats, RowId, RowOutput, RowRun, RunOutput},
    request::StopText,
    strategies::{BeamOptions, PromptLookup, Speculation},
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{self, EOS, constraint, prompt, run, run_all, scheduler, schemas, vocabulary};

/// A model with scripted probabilities by position; all other tokens have none.
struct Scripted {
    rows: MockModel,
    /// For each position of the output, tokens and their probabilities.
    script: Vec<Vec<(TokenId, f32)>>,
    logits: Vec<f32>,
}

impl Scripted {
    fn new(vocabulary: &Vocabulary, script: &[&[(&str, f32)]]) -> Self {
        let token = |text: &str| match text {
            "" => EOS,
            _ => {
                let of_text = |&(_, bytes): &(TokenId, &[u8])| bytes == text.as_bytes();
                vocabulary.tokens().find(of_text).unwrap().0
            }
        };
        let step = |step: &&[(&str, f32)]| step.iter().map(|&(text, p)| (token(text), p)).collect();
        Self {
            rows: MockModel::new(vocabulary.len(), 100, [EOS]),
            script: script.iter().map(step).collect(),
            logits: Vec::new(),
        }
    }
}

impl LanguageModel for Scripted {
    fn info(&self) -> &ModelInfo {
        self.rows.info()
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        self.rows.open_row()
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.rows.fork_row(row, len)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.rows.cut_row(row, len)
    }

    fn close_row(&mut self, row: RowId) {
        self.rows.close_row(row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.rows.row_len(row)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        self.rows.run(rows, hidden)?;
        let width = self.rows.info().logits_width;
        self.logits.clear();
        for run in rows {
            let end = self.rows.row_len(run.row).unwrap_or(0);
            for at in end - run.positions..end {
                let start = self.logits.len();
                self.logits.resize(start + width, f32::NEG_INFINITY);
                // The prompt is one token, after which the output starts.
                for &(token, p) in self.script.get(at).into_iter().flatten() {
                    self.logits[start + token.index()] = p.ln();
                }
            }
        }
        let mut rest = &self.logits[..];
        let outputs = rows.iter().map(|run| {
            let (own, others) = rest.split_at(run.positions * width);
            rest = others;
            RowOutput::new(own, width)
        });
        Ok(RunOutput::new(outputs.collect()))
    }

    fn stats(&self) -> ModelStats {
        self.rows.stats()
    }
}

fn options() -> GenerateOptions {
    GenerateOptions {
        log_probs: true,
        ..GenerateOptions::default()
    }
}

fn generate(
    script: &[&[(&str, f32)]],
    constraint: impl Constraint + Clone + 'static,
    options: &GenerateOptions,
) -> Result<Generation, GenerateError> {
    generate_on(Scripted::new(&vocabulary(), script), constraint, options)
}

fn generate_on(
    model: Scripted,
    constraint: impl Constraint + Clone + 'static,
    options: &GenerateOptions,
) -> Result<Generation, GenerateError> {
    let request = Request::new([TokenId(0)], constraint).with_options(options.clone());
    Scheduler::new(model, vocabulary()).run(request)?.single()
}

fn free() -> Unconstrained {
    Unconstrained::new(vocabulary().text_tokens().clone(), &[EOS])
}

/// `{"a":"xy","b":12}`, with a token that closes a string and opens the next key.
fn document(options: &GenerateOptions) -> Result<Generation, GenerateError> {
    let script: &[&[(&str, f32)]] = &[
        &[("{\"", 0.9), ("[", 0.1)],
        &[("a", 1.0)],
        &[("\":", 1.0)],
        &[("\"", 0.5), ("1", 0.5)],
        &[("x", 0.8), ("y", 0.2)],
        &[("y", 0.7), ("x", 0.2), ("z", 0.1)],
        &[("\",\"", 0.6), ("q", 0.4)],
        &[("b", 1.0)],
        &[("\":", 1.0)],
        &[("1", 0.4), ("2", 0.3), ("3", 0.3)],
        &[("2", 0.5), ("}", 0.25), (",", 0.25)],
        &[("}", 0.95), (",", 0.05)],
        &[("", 0.75), (" ", 0.25)],
    ];
    generate(script, free(), options)
}

/// `["8"]` under a constraint that allows `["7"]` and `["8"]`.
fn constrained(options: &GenerateOptions) -> Generation {
    let script: &[&[(&str, f32)]] = &[
        &[("[", 0.5), ("x", 0.5)],
        &[("\"", 1.0)],
        &[("7", 0.1), ("8", 0.3), ("9", 0.6)],
        &[("\"", 0.25), ("0", 0.75)],
        &[("]", 1.0)],
    ];
    let schema = json!({"enum": [["7"], ["8"]]});
    let matcher = constraint(&vocabulary(), &schema).matcher();
    generate(script, matcher, options).unwrap()
}

fn close(a: impl Into<f64>, b: f64) {
    let a = a.into();
    assert!((a - b).abs() < 1e-5, "{a} {b}");
}

#[test]
fn a_field_is_as_probable_as_the_tokens_that_have_a_byte_of_it() {
    let output = document(&options()).unwrap();
    assert_eq!(output.text, r#"{"a":"xy","b":12}"#);
    let confidence = output.confidence().unwrap();
    let of = |pointer: &str| confidence.get(pointer).unwrap();
    // The token that closes the string and opens the next key counts for the string.
    let a = of("/a");
    assert_eq!(&output.text[a.span.clone()], "\"xy\"");
    assert_eq!((a.score.tokens, a.score.forced), (4, 0));
    close(a.score.model.probability(), 0.5 * 0.8 * 0.7 * 0.6);
    close(a.score.model.lowest, 0.5_f64.ln());
    close(a.score.model.mean, a.score.model.log_prob / 4.0);
    let b = of("/b");
    assert_eq!(&output.text[b.span.clone()], "12");
    assert_eq!(b.score.tokens, 2);
    close(b.score.model.probability(), 0.4 * 0.5);
    // The object has every token once; the output also has its end.
    let whole = of("");
    assert_eq!(whole.score.tokens, 12);
    let all = 0.9 * (0.5 * 0.8 * 0.7 * 0.6) * (0.4 * 0.5) * 0.95;
    close(whole.score.model.probability(), all);
    close(whole.score.model.lowest, 0.4_f64.ln());
    let score = output.score().unwrap();
    assert_eq!(score.tokens, 13);
    close(score.model.probability(), all * 0.75);
    assert!(confidence.get("/c").is_none() && confidence.get("a").is_none());
    assert_eq!(confidence.pointer(2), "/b");
}

#[test]
fn forced_tokens_are_certain_under_the_constraint_and_the_models_own_without_it() {
    let output = constrained(&options());
    assert_eq!(output.text, r#"["8"]"#);
    let forced: Vec<bool> = output.tokens.iter().map(|token| token.forced).collect();
    assert_eq!(forced, [true, true, false, true, true]);
    let confidence = output.confidence().unwrap();
    let item = confidence.get("/0").unwrap().score;
    assert_eq!((item.tokens, item.forced), (3, 2));
    close(item.model.probability(), 0.3 * 0.25);
    close(item.allowed.probability(), 0.75);
    let whole = confidence.get("").unwrap().score;
    assert_eq!((whole.tokens, whole.forced), (5, 4));
    close(whole.model.probability(), 0.5 * 0.3 * 0.25);
    close(whole.allowed.probability(), 0.75);
    // Forced tokens had no choice that could be averaged.
    close(whole.allowed.mean, 0.75_f64.ln());
    close(whole.log_kept_mass().exp(), 0.5 * 0.4 * 0.25);
    let removed = output
        .tokens
        .iter()
        .map(|t| t.log_probs.unwrap().removed_mass());
    for (removed, expected) in removed.zip([0.5, 0.0, 0.6, 0.75, 0.0]) {
        close(removed, expected);
    }
}

#[test]
fn alternatives_are_the_most_probable_allowed_tokens_and_nobody_else() {
    let output = constrained(&GenerateOptions {
        alternatives: 3,
        ..options()
    });
    assert!(output.tokens[0].alternatives.is_empty());
    let found = &output.tokens[2].alternatives;
    let ids: Vec<TokenId> = found.iter().map(|found| found.id).collect();
    assert_eq!(ids, [b'8', b'7'].map(|byte| TokenId(byte.into())));
    close(found[1].log_probs.model, 0.1_f64.ln());
    close(found[1].log_probs.allowed, 0.25_f64.ln());
    let alone = constrained(&GenerateOptions {
        alternatives: 1,
        ..GenerateOptions::default()
    });
    assert_eq!(alone.tokens[2].alternatives, found[..1]);
    assert_eq!(alone.tokens[2].log_probs, None);
    let without = constrained(&options());
    assert!(
        without
            .tokens
            .iter()
            .all(|token| token.alternatives.is_empty())
    );
}

#[test]
fn a_report_on_the_mask_has_what_the_model_preferred_and_could_not_have() {
    let output = constrained(&GenerateOptions {
        refused: 1,
        ..GenerateOptions::default()
    });
    let reports: Vec<bool> = { output.tokens.iter() }
        .map(|token| token.mask.is_some())
        .collect();
    assert_eq!(reports, [false, false, true, false, false]);
    let report = output.tokens[2].mask.as_ref().unwrap();
    assert_eq!(report.allowed, 2);
    let [refused] = &report.refused[..] else {
        panic!("{report:?}");
    };
    assert!(![b'7', b'8'].contains(&(refused.id.0 as u8)));
    assert!(refused.log_probs.model > f32::NEG_INFINITY);
    assert_eq!(refused.log_probs.allowed, f32::NEG_INFINITY);
    let without = constrained(&options());
    assert!(without.tokens.iter().all(|token| token.mask.is_none()));
}

#[test]
fn the_end_is_a_token_with_probabilities_where_the_model_chose_it() {
    let output = document(&GenerateOptions {
        alternatives: 2,
        ..options()
    })
    .unwrap();
    let end = output.end.unwrap();
    assert_eq!((end.id, end.span), (EOS, 17..17));
    assert_eq!(output.finish, FinishReason::Eos(EOS));
    close(end.log_probs.unwrap().model, 0.75_f64.ln());
    assert_eq!(end.alternatives.len(), 2);
    assert_eq!(constrained(&options()).end, None);
}

#[test]
fn without_log_probabilities_or_json_there_is_no_confidence() {
    let output = document(&GenerateOptions::default()).unwrap();
    assert_eq!(output.confidence(), Err(ConfidenceError::NoLogProbs));
    assert_eq!((output.score(), output.span_score(0..2)), (None, None));
    let words: &[&[(&str, f32)]] = &[&[("a", 1.0)], &[("", 1.0)]];
    let words = generate(words, free(), &options()).unwrap();
    assert!(matches!(
        words.confidence(),
        Err(ConfidenceError::NotJson(_))
    ));
}

#[test]
fn what_was_cut_has_the_fields_that_had_begun() {
    let cut = document(&GenerateOptions {
        max_new_tokens: Some(6),
        ..options()
    })
    .unwrap();
    assert_eq!(cut.text, "{\"a\":\"xy");
    let confidence = cut.confidence().unwrap();
    let fields: Vec<_> = { confidence.fields().iter() }
        .map(|field| (field.span.clone(), field.is_complete))
        .collect();
    assert_eq!(fields, [(0..8, false), (5..8, false)]);
    close(
        confidence.get("/a").unwrap().score.model.probability(),
        0.5 * 0.8 * 0.7,
    );
}

#[test]
fn a_prefill_is_given_and_counts_nowhere() {
    let script: &[&[(&str, f32)]] = &[&[], &[("5", 0.4), ("6", 0.1)], &[("]", 0.5)], &[("", 1.0)]];
    let output = generate(
        script,
        free(),
        &GenerateOptions {
            prefill: vec![TokenId(b'['.into())],
            ..options()
        },
    )
    .unwrap();
    assert_eq!(
        (output.text.as_str(), output.tokens[0].span.clone()),
        ("[5]", 1..2)
    );
    let confidence = output.confidence().unwrap();
    // Probabilities that the script omits are missing everywhere: the others are shares of their sum.
    close(confidence.get("/0").unwrap().score.model.probability(), 0.8);
    assert_eq!(confidence.get("").unwrap().score.tokens, 2);
}

#[test]
fn spans_of_tokens_are_their_bytes_of_the_text() {
    let output = document(&options()).unwrap();
    let vocabulary = vocabulary();
    let mut end = 0;
    for token in &output.tokens {
        let bytes = vocabulary.token_bytes(token.id).unwrap();
        assert_eq!(output.text.as_bytes()[token.span.clone()], *bytes);
        assert_eq!(token.span.start, end);
        end = token.span.end;
    }
    assert_eq!(end, output.text.len());
}

#[test]
fn spans_end_where_the_text_was_trimmed() {
    for (stop_text, text, spans) in [
        (StopText::Trimmed, "{\"a\":", [5..5, 5..5]),
        (StopText::Kept, "{\"a\":\"x", [5..6, 6..7]),
    ] {
        let output = document(&GenerateOptions {
            stop: vec!["\"x".into()],
            stop_text,
            ..options()
        })
        .unwrap();
        assert_eq!(output.text, text);
        let found = output.tokens[3..].iter().map(|token| token.span.clone());
        assert_eq!(found.collect::<Vec<_>>(), spans);
    }
}

#[test]
fn tokens_share_what_took_the_place_of_bytes_that_are_no_text() {
    // E2 82 starts a character that is never completed.
    let ids = [b'a', 0xE2, 0x82, b'b', 0xFF, b'c'].map(|byte| TokenId(byte.into()));
    let prefill = ids[..2].to_vec();
    let mut model = Scripted::new(&vocabulary(), &[]);
    model.script = std::iter::once(&[][..])
        .chain(ids[1..].iter().map(std::slice::from_ref))
        .map(|ids| ids.iter().map(|&id| (id, 1.0)).collect())
        .collect();
    model.script.push(vec![(EOS, 1.0)]);
    let options = GenerateOptions {
        prefill,
        ..options()
    };
    let output = generate_on(model, free(), &options).unwrap();
    assert_eq!(output.text, "a\u{fffd}b\u{fffd}c");
    let spans: Vec<_> = output
        .tokens
        .iter()
        .map(|token| token.span.clone())
        .collect();
    assert_eq!(spans, [1..4, 4..5, 5..8, 8..9]);
}

#[test]
fn times_are_told_where_they_are_asked_for() {
    let output = document(&GenerateOptions {
        token_times: true,
        ..options()
    })
    .unwrap();
    let times: Option<Vec<Duration>> = output.tokens.iter().map(|token| token.time).collect();
    let times = times.unwrap();
    assert!(times.is_sorted() && times[0] >= output.stats.first_token_time);
    assert!(output.end.unwrap().time.unwrap() <= output.stats.total_time);
    assert!(output.stats.prefill_time <= output.stats.model_time);
    let without = document(&options()).unwrap();
    assert!(without.tokens.iter().all(|token| token.time.is_none()));
}

#[test]
fn every_strategy_says_the_same_of_its_tokens_and_fields() {
    let vocabulary = vocabulary();
    let free_of_times = |output: Generation| {
        let confidence = output.confidence().unwrap();
        (output.text, output.tokens, output.end, confidence)
    };
    let best =
        |outputs: Result<Outputs, GenerateError>| free_of_times(outputs.unwrap().single().unwrap());
    for (number, schema) in schemas().iter().enumerate() {
        let number = number as u32;
        let compiled = constraint(&vocabulary, schema);
        let model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(number.into());
        let draft = model.clone().preferring(TokenId(b'a'.into()), 1.0);
        let prompts = [prompt(3, number), prompt(9, number + 1)];
        for temperature in [0.0, 1.5] {
            let options = GenerateOptions {
                alternatives: 2,
                max_new_tokens: Some(60),
                sampling: SamplingParams {
                    temperature,
                    ..SamplingParams::default()
                },
                ..options()
            };
            let requests = prompts.each_ref().map(|prompt| {
                Request::new(&prompt[..], compiled.matcher()).with_options(options.clone())
            });
            let plain = { requests.clone() }.map(|request| best(run(&model, &vocabulary, request)));
            let batch = run_all(&mut scheduler(model.clone(), &vocabulary), requests.clone());
            for (output, plain) in batch.into_iter().zip(&plain) {
                assert_eq!(free_of_times(output.unwrap()), *plain);
            }
            let [request, _] = requests;
            let is_greedy = temperature == 0.0;
            if is_greedy {
                let beams = request.clone().with_strategy(BeamOptions {
                    width: 1,
                    ..BeamOptions::default()
                });
                assert_eq!(best(run(&model, &vocabulary, beams)), plain[0]);
            }
            let mut drafting = scheduler(model.clone(), &vocabulary)
                .with_draft(draft.clone(), &vocabulary)
                .unwrap();
            let drafted = drafting.run(request.with_strategy(Speculation {
                lookup: Some(PromptLookup::default()),
                model: is_greedy,
                ..Speculation::default()
            }));
            assert_eq!(best(drafted), plain[0]);
        }
    }
}

#[test]
fn fields_add_up_like_their_spans_token_by_token() {
    let vocabulary = vocabulary();
    let schema = json!({"type": "array", "minItems": 3, "maxItems": 9, "items": {
        "type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "number"}}}});
    let compiled = constraint(&vocabulary, &schema);
    for seed in 0..20 {
        let model = MockModel::new(vocabulary.len(), 900, [EOS]).with_seed(seed);
        let (prompt, matcher) = (prompt(2, 1), compiled.matcher());
        let output = support::generate(&model, &vocabulary, &prompt, &matcher, &options()).unwrap();
        let confidence = output.confidence().unwrap();
        assert!(confidence.fields().len() > 6);
        for (index, field) in confidence.fields().iter().enumerate() {
            let direct = output.span_score(field.span.clone()).unwrap();
            assert_eq!(
                (direct.tokens, direct.forced),
                (field.score.tokens, field.score.forced)
            );
            close(direct.model.log_prob, field.score.model.log_prob);
            close(direct.allowed.log_prob, field.score.allowed.log_prob);
            assert_eq!(direct.model.lowest, field.score.model.lowest);
            assert_eq!(direct.allowed.lowest, field.score.allowed.lowest);
            let pointer = confidence.pointer(index);
            assert_eq!(confidence.get(&pointer), Some(field));
            let value: serde_json::Value = serde_json::from_str(&output.text).unwrap();
            let written: serde_json::Value =
                serde_json::from_str(&output.text[field.span.clone()]).unwrap();
            assert_eq!(value.pointer(&pointer), Some(&written));
        }
    }
}

#[test]
fn confidence_as_json_is_a_list_of_fields() {
    let confidence = constrained(&options()).confidence().unwrap();
    let json = serde_json::to_value(&confidence).unwrap();
    assert_eq!(json[1]["pointer"], "/0");
    assert_eq!(json[1]["kind"], "string");
    assert_eq!(json[1]["span"], json!({"start": 1, "end": 4}));
    assert_eq!(
        (&json[0]["tokens"], &json[0]["forced"]),
        (&json!(5), &json!(4))
    );
    close(
        json[1]["allowed"]["log_prob"].as_f64().unwrap(),
        0.75_f64.ln(),
    );
    assert_eq!(json[1].get("complete"), None);
}
