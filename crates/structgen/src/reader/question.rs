//! What a reader is asked: the fields of a schema and a text, as units; and what its answer comes to.

use serde_json::Value;
use structgen_automata::Input;
use structgen_ort::SpanLogits;

use super::articles::{AfterArticle, leave_out_articles};
use super::courtesy::without_courtesy;
use super::document::ReadValue;
use super::fields::{FieldKind, ReadField};
use super::labels::prefer_labelled;
use super::numbers::numbers;
use super::spans::{Candidate, Ends, recognized, span_text};
use super::text_units::TextUnits;
use super::texts::{Listed, Texts};

/// Spans begin where that is at least this probable, in comparison with the most probable place.
const LEAST_START: f64 = 3e-4;

/// A place of a list is at least this probable.
const LEAST_LISTED: f64 = 0.05;

/// A value of a list ends at a unit with at least this probability, if it begins at its first.
const LEAST_END: f64 = 0.01;

/// The most spans that a field in an array keeps, and the most recognised values of any field.
const MAX_LISTED: usize = 512;

/// The most spans that a field keeps.
const MAX_SPANS: usize = 64;

/// A field among the units.
#[derive(Debug, Clone)]
pub(super) struct AskedField {
    /// The number of the first position that is asked where its values are: its own, or, of options in an array, that
    /// of each of them.
    pub(super) query: usize,
    /// Where its options are.
    pub(super) options: Vec<usize>,
    /// The position that stands for no value.
    pub(super) none: Option<usize>,
}

/// What is read of a field: the reader's logits, with what the words of the text add to them.
pub(super) struct Reading<'r> {
    pub(super) field: &'r ReadField,
    asked: &'r AskedField,
    pub(super) starts: Vec<f32>,
    /// Of options in an array, where each is said.
    said: Vec<&'r [f32]>,
    ends: Ends<'r>,
    recognized: Vec<Candidate>,
    articles: Vec<AfterArticle>,
}

impl<'r> Reading<'r> {
    /// That of a field.
    pub(super) fn new(
        field: &'r ReadField,
        asked: &'r AskedField,
        logits: &'r SpanLogits,
        units: &'r TextUnits,
        input: &Input,
    ) -> Self {
        let sequence = units.first + units.spans.len();
        let row = |query: usize| &logits.starts[query * sequence..][..sequence];
        let mut starts = row(asked.query).to_vec();
        let has_options = matches!(field.kind, FieldKind::Options(_));
        if !has_options && !field.is_many {
            prefer_labelled(field, asked.none, units, &mut starts);
        }
        let mut recognized = match &field.kind {
            FieldKind::Options(_) => Vec::new(),
            FieldKind::Number { is_whole } => numbers(*is_whole, input, units),
            FieldKind::String {
                format,
                has_pattern,
            } => recognized(format.as_deref(), *has_pattern, input, units),
        };
        lower_unlikely_places(&mut recognized, &mut starts[units.first..]);
        let is_free = FieldKind::String {
            format: None,
            has_pattern: false,
        };
        let articles = match field.kind == is_free {
            true => leave_out_articles(input.text(), units, &mut starts),
            false => Vec::new(),
        };
        let said = if field.is_many {
            asked.options.len()
        } else {
            0
        };
        Self {
            field,
            asked,
            starts,
            said: (0..said).map(|option| row(asked.query + option)).collect(),
            ends: Ends::new(asked.query, logits, units),
            recognized,
            articles,
        }
    }

    /// The units at which a value can begin.
    fn places(&self, units: &TextUnits) -> Vec<usize> {
        let is_any = match self.field.kind {
            FieldKind::Options(_) => return Vec::new(),
            FieldKind::Number { .. } => false,
            FieldKind::String { has_pattern, .. } => has_pattern || self.recognized.is_empty(),
        };
        if is_any {
            return units.starts.clone();
        }
        let mut places: Vec<usize> = self.recognized.iter().map(|it| it.first).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The units at which a value can begin, in their order, each with the probability that it does.
    pub(super) fn place_probabilities(&self, units: &TextUnits) -> Vec<(usize, f64)> {
        let places = self.places(units);
        let logit = |&at: &usize| self.starts[units.first + at];
        let probabilities: Vec<f64> = match self.field.is_many {
            true => {
                let none = self.asked.none.map_or(0.0, |at| self.starts[at]);
                { places.iter() }
                    .map(|at| logistic(logit(at) - none))
                    .collect()
            }
            false => {
                let none = self.asked.none.map(|at| self.starts[at]);
                softmax(places.iter().map(logit).chain(none))
            }
        };
        places.into_iter().zip(probabilities).collect()
    }

    /// What is known of the value: the texts that it can have, and how probable each is.
    pub(super) fn value(&self, units: &TextUnits, input: &Input) -> ReadValue {
        let field = self.field;
        ReadValue {
            path: field.path.clone(),
            texts: self.texts(units, input),
            is_part: field.is_many && !field.is_item,
            array: field.array,
            counts: field.is_many && !matches!(field.kind, FieldKind::Options(_)),
            absent: self.is_left_out().then(|| self.none(units)),
        }
    }

    /// Whether the key is left out where there is no value.
    fn is_left_out(&self) -> bool {
        !self.field.is_nullable && !self.field.is_many && self.asked.none.is_some()
    }

    /// The probability that there is no value.
    fn none(&self, units: &TextUnits) -> f64 {
        if let FieldKind::Options(_) = self.field.kind {
            let positions = self.asked.options.iter().copied().chain(self.asked.none);
            let mut probabilities = softmax(positions.map(|at| self.starts[at]));
            return probabilities.pop().unwrap_or(0.0);
        }
        let places = self.place_probabilities(units);
        1.0 - places.iter().map(|(_, it)| it).sum::<f64>()
    }

    /// The texts that the value can have, and how probable each is.
    fn texts(&self, units: &TextUnits, input: &Input) -> Texts {
        let Self {
            field,
            asked,
            starts,
            ..
        } = self;
        if let FieldKind::Options(options) = &field.kind {
            if field.is_many {
                return self.said(options, units);
            }
            let none = asked.none.filter(|_| field.is_nullable);
            let positions = asked.options.iter().copied().chain(none);
            let probabilities = softmax(positions.map(|at| starts[at]));
            let nulls = field.is_nullable.then(|| "null".to_owned());
            let texts = options.iter().map(ToString::to_string).chain(nulls);
            return Texts::new(texts.zip(probabilities));
        }
        let places = self.place_probabilities(units);
        if field.is_many {
            return self.list(&places, units, input);
        }
        // Where the key is left out, that it is there is already known.
        let none = match asked.none {
            Some(_) if !self.is_left_out() => self.none(units),
            _ => 0.0,
        };
        let found = self.candidates(&places, units, input);
        let total: f64 = found.iter().map(|(_, weight)| weight).sum();
        let share = (1.0 - none) / total.max(f64::MIN_POSITIVE);
        let values = { found.into_iter() }.map(|(it, weight)| (it.text, weight * share));
        let null = field.is_nullable.then(|| ("null".to_owned(), none));
        Texts::new(values.chain(null))
    }

    /// Options in an array, where the text says them.
    fn said(&self, options: &[Value], units: &TextUnits) -> Texts {
        let mut values = Vec::new();
        for (option, starts) in options.iter().zip(&self.said) {
            let none = self.asked.none.map_or(0.0, |at| starts[at]);
            for &at in &units.starts {
                let probability = logistic(starts[units.first + at] - none);
                if probability >= LEAST_LISTED {
                    values.push(Listed {
                        text: option.to_string(),
                        start: at as u32,
                        end: at as u32,
                        probability,
                    });
                }
            }
        }
        values.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        values.truncate(MAX_LISTED);
        Texts::list(values)
    }

    /// The texts that the input has for the field, each with how probable its place is.
    fn candidates(
        &self,
        places: &[(usize, f64)],
        units: &TextUnits,
        input: &Input,
    ) -> Vec<(Candidate, f64)> {
        let probability = |first: usize| {
            let at = places.binary_search_by_key(&first, |&(place, _)| place);
            at.map_or(0.0, |at| places[at].1)
        };
        let largest = { places.iter() }.map(|(_, it)| *it).fold(0.0, f64::max);
        let (least, most) = match self.field.is_many {
            true => (LEAST_LISTED, MAX_LISTED),
            false => (largest * LEAST_START, MAX_SPANS),
        };
        let mut found: Vec<(Candidate, f64)> = { self.recognized.iter() }
            .map(|it| (it.clone(), probability(it.first)))
            .filter(|(_, probability)| *probability >= least)
            .collect();
        found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        found.truncate(MAX_LISTED);
        for (it, weight) in &mut found {
            *weight *= (self.ends.at(it.first, it.last) + it.ln_meant).exp();
        }
        let FieldKind::String { has_pattern, .. } = self.field.kind else {
            return found;
        };
        if !self.recognized.is_empty() && !has_pattern {
            return found;
        }
        let mut spans: Vec<(usize, usize, f64)> = Vec::new();
        for &(first, probability) in places.iter().filter(|(_, it)| *it >= least) {
            let mut end = |from: usize, probability: f64| {
                let after = self.ends.after(from).filter(|&(last, _)| last >= first);
                spans.extend(after.map(|(last, ln)| (first, last, probability * ln.exp())));
            };
            // What begins with an article ends where it would end with it.
            let article = self.articles.binary_search_by_key(&first, |it| it.word);
            let article = article.ok().map(|at| self.articles[at]);
            let share = article.map_or(0.0, |it| it.share);
            end(first, probability * (1.0 - share));
            if let Some(AfterArticle { article, .. }) = article {
                end(article, probability * share);
            }
        }
        for (first, last, _) in spans.iter_mut().filter(|_| !has_pattern) {
            *first = without_courtesy(input.text(), units, *first, *last);
        }
        // A span may come from the place of an article or a title as well.
        spans.sort_by_key(|&(first, last, _)| (first, last));
        spans.dedup_by(|(first, last, more), (kept_first, kept_last, weight)| {
            let is_same = (*first, *last) == (*kept_first, *kept_last);
            if is_same {
                *weight += *more;
            }
            is_same
        });
        if self.field.is_many {
            spans.retain(|&(first, _, weight)| weight >= LEAST_END * probability(first));
        }
        spans.sort_by(|(.., a), (.., b)| b.total_cmp(a));
        for (first, last, weight) in spans.into_iter().take(most) {
            let text = span_text(input, units, first, last);
            let span = Candidate {
                text,
                first,
                last,
                ln_meant: 0.0,
            };
            found.push((span, weight));
        }
        found
    }

    /// The values of a list.
    fn list(&self, places: &[(usize, f64)], units: &TextUnits, input: &Input) -> Texts {
        let mut found = self.candidates(places, units, input);
        found.sort_by_key(|(it, _)| it.first);
        let mut values = Vec::new();
        // Those that begin at a place share its probability.
        for here in found.chunk_by(|(a, _), (b, _)| a.first == b.first) {
            let at = places.binary_search_by_key(&here[0].0.first, |&(place, _)| place);
            let probability = at.map_or(0.0, |at| places[at].1);
            if probability < LEAST_LISTED {
                continue;
            }
            let total: f64 = here.iter().map(|(_, weight)| weight).sum();
            let share = probability / total.max(f64::MIN_POSITIVE);
            values.extend(here.iter().map(|(it, weight)| Listed {
                text: it.text.clone(),
                start: it.first as u32,
                end: it.last as u32,
                probability: weight * share,
            }));
        }
        Texts::list(values)
    }
}

/// Lowers the logits of places where no value is likely to be meant; each place keeps how likely its values are beside
/// one another.
fn lower_unlikely_places(recognized: &mut [Candidate], starts: &mut [f32]) {
    recognized.sort_by_key(|it| it.first);
    for here in recognized.chunk_by_mut(|a, b| a.first == b.first) {
        let best = { here.iter() }.fold(f64::NEG_INFINITY, |best, it| best.max(it.ln_meant));
        starts[here[0].first] += best as f32;
        here.iter_mut().for_each(|it| it.ln_meant -= best);
    }
}

/// How probable something is whose logit is so much more than that of its opposite.
fn logistic(gained: f32) -> f64 {
    1.0 / (1.0 + f64::from(-gained).exp())
}

fn softmax(logits: impl Iterator<Item = f32> + Clone) -> Vec<f64> {
    let largest = logits.clone().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = logits
        .map(|logit| f64::from(logit - largest).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fields::fields;
    use super::super::texts::Window;
    use super::super::units::units;
    use super::*;

    #[test]
    fn parts_of_numbers_give_way() {
        let schema = json!({"properties": {"n": {"type": "number"}}});
        let fields = fields(&schema);
        let text = "3 454,95 or 8";
        let (units, input) = (
            TextUnits::new(1, &units(text), text),
            crate::recognized_input(text).unwrap(),
        );
        let asked = AskedField {
            query: 0,
            options: Vec::new(),
            none: None,
        };
        let sequence = 1 + units.spans.len();
        let logits = SpanLogits {
            starts: vec![0.0; sequence],
            ends: vec![0.0; sequence],
            first_vectors: vec![0.0; sequence],
            last_vectors: vec![0.0; sequence],
            distances: vec![0.0; 8],
        };
        let reading = Reading::new(&fields[0], &asked, &logits, &units, &input);
        let places = reading.place_probabilities(&units);
        let [whole, part, other] = places[..] else {
            panic!("{places:?}");
        };
        // The whole number and its first part begin at one place.
        assert!((whole.1 - other.1).abs() < 1e-6, "{places:?}");
        assert!((whole.1 / part.1).ln() > 2.9, "{places:?}");
        let found = reading.candidates(&places, &units, &input);
        let weight = |text: &str| {
            let own = found.iter().filter(|(it, _)| it.text == text);
            own.map(|(_, weight)| weight).sum::<f64>()
        };
        assert!((weight("3454.95") / weight("3")).ln() > 2.9, "{found:?}");
    }

    #[test]
    fn options_in_arrays_stand_where_the_text_says_them() {
        let schema = json!({"properties": {"rows": {"items": {"properties": {
            "state": {"enum": ["open", "done"]},
        }}}}});
        let fields = fields(&schema);
        let text = "left; finished; left";
        let (units, input) = (
            TextUnits::new(3, &units(text), text),
            Input::new(text).unwrap(),
        );
        let asked = AskedField {
            query: 0,
            options: vec![0, 1],
            none: Some(2),
        };
        // Of the options, of none, and of the five units.
        let logits = SpanLogits {
            starts: [
                [0.0, 0.0, 1.0, 5.0, -5.0, -5.0, -5.0, 3.0],
                [0.0, 0.0, 2.0, -5.0, -5.0, 4.0, -5.0, -5.0],
            ]
            .concat(),
            ends: vec![0.0; 16],
            first_vectors: vec![0.0; 8],
            last_vectors: vec![0.0; 8],
            distances: vec![0.0; 4],
        };
        let reading = Reading::new(&fields[0], &asked, &logits, &units, &input);
        let value = reading.value(&units, &input);
        assert!(value.is_part && !value.counts && value.absent.is_none());
        let option = |window, text: &str| {
            let start = value.texts.start(window);
            let place = { text.bytes() }.fold(start, |place, byte| value.texts.step(place, byte));
            value.texts.probability_at_end(place)
        };
        let after = |from| Window { from, to: u32::MAX };
        assert!(option(Window::ALL, "\"open\"") > 0.85);
        assert!(option(after(1), "\"done\"") > 0.75);
        assert!(option(after(3), "\"open\"") > 0.99);
        assert_eq!(value.texts.next(Window::ALL), Some(0));
        let middle = Window { from: 1, to: 4 };
        assert!((value.texts.has_some(middle) - logistic(2.0)).abs() < 0.1);
    }
}
