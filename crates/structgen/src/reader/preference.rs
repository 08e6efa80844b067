//! A sampler that prefers the values that a reader has found.

use std::sync::Arc;

use structgen_decode::samplers::{Accepted, Candidates, Sampler, SequenceStart};
use structgen_vocab::{TokenId, Vocabulary};

use super::document::LazyDocument;
use super::position::Position;

/// Adds to the logit of each token the logarithm of how much more probable, or less, the document is with it, as the
/// reader has it: of the texts of a value, the share that goes on with the token.
#[derive(Clone)]
pub(crate) struct Preference {
    document: Arc<LazyDocument>,
    vocabulary: Arc<Vocabulary>,
    /// Where the output begins.
    start: Position,
    now: Position,
    weight: f32,
}

impl Preference {
    pub(super) fn new(
        document: Arc<LazyDocument>,
        vocabulary: Arc<Vocabulary>,
        weight: f32,
    ) -> Self {
        let start = Position::start();
        Self {
            document,
            vocabulary,
            start,
            now: start,
            weight,
        }
    }

    /// The same for an output that goes on from these tokens.
    pub(crate) fn after(mut self, written: &[TokenId]) -> Self {
        for &token in written {
            self.start = self.with(self.start, token);
        }
        self.now = self.start;
        self
    }

    fn with(&self, mut position: Position, token: TokenId) -> Position {
        for &byte in self.vocabulary.token_bytes(token).unwrap_or_default() {
            position.step(byte, &self.document);
        }
        position
    }
}

impl Sampler for Preference {
    fn apply(&mut self, candidates: &mut Candidates) {
        if candidates.len() < 2 || self.now.is_lost() {
            return;
        }
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (&id, logit) in ids.iter().zip(logits) {
            let gained = self.with(self.now, id).ln_probability - self.now.ln_probability;
            *logit += self.weight * gained as f32;
        }
    }

    fn accept(&mut self, accepted: Accepted) {
        self.now = self.with(self.now, accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.now = self.start;
        let prefill = start.prompt.len() - start.prefilled;
        for &token in &start.prompt[prefill..] {
            self.now = self.with(self.now, token);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::super::document::{Document, ReadValue};
    use super::super::fields::ReadKey;
    use super::super::position::{LEAST_MORE, with_others};
    use super::super::texts::{Listed, Texts};
    use super::*;

    fn value(path: &[&str], texts: Texts) -> ReadValue {
        ReadValue {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            counts: texts.is_list(),
            is_part: texts.is_list() && path.len() > 1,
            array: usize::from(texts.is_list()),
            absent: None,
            texts,
        }
    }

    fn key(path: &[&str], is_required: bool) -> ReadKey {
        ReadKey {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            is_required,
        }
    }

    fn preference() -> Preference {
        let texts =
            |pairs: &[(&str, f64)]| Texts::new(pairs.iter().map(|&(text, p)| (text.to_owned(), p)));
        let values = vec![
            value(
                &["name"],
                texts(&[(r#""Ada""#, 0.75), (r#""A \"B\"""#, 0.25)]),
            ),
            value(
                &["rows", "n"],
                texts(&[("1", 0.5), ("12", 0.25), ("null", 0.25)]),
            ),
            value(&["\u{e4}\"", "ok"], texts(&[("true", 0.9), ("false", 0.1)])),
        ];
        let document = Document::new(values, &[]);
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        tokens.extend([r#"":""#, r#""},{""#, "12}"].map(|token| token.as_bytes().to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0)
    }

    fn ids(text: &str) -> Vec<TokenId> {
        text.bytes().map(|byte| TokenId(u32::from(byte))).collect()
    }

    /// The logarithm of the probability of a text's values.
    fn ln_of(text: &str) -> f64 {
        preference().after(&ids(text)).start.ln_probability
    }

    #[track_caller]
    fn check(text: &str, values: &[f64]) {
        let expected: f64 = values.iter().map(|&p| with_others(p)).sum();
        let got = ln_of(text);
        assert!(
            (got - expected).abs() < 1e-9,
            "{text}: {got}, not {expected}"
        );
    }

    #[test]
    fn a_document_is_as_probable_as_its_values() {
        check(r#"{"name":"Ada""#, &[0.75]);
        check(
            "{\"name\" :\n \"Ada\",\"x\":[1,{\"name\":\"Ada\"}]}",
            &[0.75, 0.0, 0.0, 0.0],
        );
        check(r#"{"name":"A \"B\"","#, &[0.25]);
        check(r#"{"name":"Eve","#, &[0.0]);
        check(
            r#"{"rows":[{"n":1},{"n":12},{"m":1},{"n":null}]}"#,
            &[0.5, 0.25, 0.25],
        );
        check(r#"{"rows":[],"\u00e4\"":{"ok":true}}"#, &[]);
        check("{\"\u{e4}\\\"\":{\"ok\":true}}", &[0.9]);
    }

    #[test]
    fn items_come_in_the_order_of_the_text() {
        let listed = |text: &str, at: u32| Listed {
            text: text.to_owned(),
            start: at,
            end: at,
            probability: 0.5,
        };
        let values =
            |texts: [(&str, u32); 3]| Texts::list(texts.map(|(it, at)| listed(it, at)).into());
        let document = vec![
            value(&["z", "n"], values([("1", 1), ("2", 5), ("1", 9)])),
            value(
                &["z", "a"],
                values([("\"x\"", 2), ("\"y\"", 6), ("\"z\"", 10)]),
            ),
            value(&["tags"], values([("1", 1), ("2", 5), ("1", 9)])),
        ];
        let document = Document::new(document, &[]);
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        let tokens = (0..=255).map(|byte| vec![byte]);
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let preference = Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0);
        let ln_of = |text: &str| preference.clone().after(&ids(text)).start.ln_probability;
        let gained = |before: &str, after: &str| ln_of(&format!("{before}{after}")) - ln_of(before);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");

        // There is one of 1/2, 1/4 and 1/8; then one of 1/2 and 1/4, and the others are gone.
        close(
            gained(r#"{"tags":["#, "2,"),
            with_others(7.0 / 8.0) + with_others(2.0 / 7.0) + 0.5f64.ln(),
        );
        close(gained(r#"{"tags":["#, "]"), with_others(1.0 / 8.0));
        close(gained(r#"{"tags":[2,"#, "2"), with_others(0.0));
        close(gained(r#"{"tags":[2,"#, "1"), with_others(1.0));
        close(
            gained(r#"{"tags":[2,1"#, "]"),
            with_others(1.0) - with_others(1.0) + (1.0 - LEAST_MORE).ln(),
        );
        // Items are counted by the first of their values, in the order of the schema.
        let item = r#"{"z":[{"a":"z","n":1}"#;
        close(gained(item, ","), 0.75f64.ln());
        close(gained(item, "]"), 0.25f64.ln());
        // Each array begins anew; null is no item of those.
        close(gained(r#"{"tags":[2,1],"tags":[2,"#, "1"), with_others(1.0));
        close(gained(r#"{"tags":[2,"#, "null"), 0.0);
        // The other values of an item are before the next one, where 1 has been written: x, and neither y nor z.
        let item = r#"{"z":[{"n":1,"a":"#;
        close(gained(item, "\"x\""), with_others(0.5) + with_others(1.0));
        close(gained(item, "\"y\""), with_others(0.5) + with_others(0.0));
        close(gained(item, "null"), with_others(0.5));
    }

    #[test]
    fn keys_are_as_probable_as_their_values() {
        let sure = || Texts::new([("1".to_owned(), 1.0)]);
        let absent = |path: &[&str], absent| ReadValue {
            absent: Some(absent),
            ..value(path, sure())
        };
        let document = Document::new(
            vec![
                absent(&["o", "ab"], 0.75),
                absent(&["o", "ac"], 0.5),
                value(&["o", "b"], sure()),
                absent(&["o", "c"], 0.125),
            ],
            &[
                key(&["o"], true),
                key(&["o", "ab"], false),
                key(&["o", "ac"], false),
                key(&["o", "b"], true),
                key(&["o", "c"], false),
            ],
        );
        let document = LazyLock::new(Box::new(move || document) as Box<_>);
        let tokens = (0..=255).map(|byte| vec![byte]);
        let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
        let preference = Preference::new(Arc::new(document), Arc::new(vocabulary), 1.0);
        let ln_of = |text: &str| preference.clone().after(&ids(text)).start.ln_probability;
        let check = |text: &str, expected: &[f64]| {
            let expected: f64 = expected.iter().map(|&p| with_others(p)).sum();
            let got = ln_of(text);
            assert!(
                (got - expected).abs() < 1e-9,
                "{text}: {got}, not {expected}"
            );
        };
        // Of the first three, one comes for certain.
        check(r#"{"o":{"a"#, &[0.25 + 0.75 * 0.5]);
        check(r#"{"o":{"ab""#, &[0.25]);
        check(r#"{"o":{"ac":"#, &[0.75 * 0.5]);
        check(r#"{"o":{"b":1"#, &[0.75 * 0.5]);
        check(r#"{"o":{"ab":1,"b":1"#, &[0.25, 0.5]);
        check(r#"{"o":{"b":1}"#, &[0.75 * 0.5, 0.125]);
        check(r#"{"o":{"b":1,"c":1}"#, &[0.75 * 0.5, 0.875]);
        check(r#"{"o":{"b": 1,"c":1}}"#, &[0.75 * 0.5, 0.875, 0.0]);
        // A key that the schema does not have.
        check(r#"{"o":{"z":1"#, &[0.0]);
    }

    #[test]
    fn a_value_that_is_not_complete_is_as_probable_as_what_goes_on_from_it() {
        check(r#"{"name":"A"#, &[1.0]);
        check(r#"{"name":"Ad"#, &[0.75]);
        check(r#"{"rows":[{"n":1"#, &[0.75]);
        check(r#"{"rows":[{"n":1}"#, &[0.5]);
    }

    #[test]
    fn deep_documents_and_what_is_no_json_are_not_followed() {
        check(&format!("{}1", "[".repeat(1000)), &[]);
        check(r#"{"name""Ada"}"#, &[0.0]);
        check("]]", &[0.0]);
    }

    #[test]
    fn tokens_gain_what_the_document_gains() {
        let mut preference = preference().after(&ids(r#"{"rows":[{"n":"#));
        let quote = TokenId(u32::from(b'"'));
        let one = TokenId(u32::from(b'1'));
        let twelve = TokenId(258);
        let logits = |preference: &mut Preference| {
            let mut candidates = Candidates::from_pairs([(quote, 0.0), (one, 0.0), (twelve, 0.0)]);
            preference.apply(&mut candidates);
            candidates.logits().to_vec()
        };
        let expected = [0.0, 0.75, 0.25].map(|p| with_others(p) as f32);
        assert_eq!(logits(&mut preference), expected);
        let mut copy = preference.clone_box();
        preference.accept(Accepted::certain(one));
        assert_ne!(logits(&mut preference), expected);
        // A copy, and the sampler after a reset, are where they were.
        let mut candidates = Candidates::from_pairs([(quote, 0.0), (one, 0.0), (twelve, 0.0)]);
        copy.apply(&mut candidates);
        assert_eq!(candidates.logits(), expected);
        let start = SequenceStart {
            prompt: &ids("{"),
            prefilled: 0,
            eos: &[],
        };
        preference.reset(start);
        assert_eq!(logits(&mut preference), expected);
    }

    #[test]
    fn what_is_prefilled_is_followed() {
        let mut preference = preference();
        let prompt = ids(r#"?{"name":"Ad"#);
        let start = SequenceStart {
            prompt: &prompt,
            prefilled: prompt.len() - 1,
            eos: &[],
        };
        preference.reset(start);
        assert!((preference.now.ln_probability - with_others(0.75)).abs() < 1e-9);
    }
}
