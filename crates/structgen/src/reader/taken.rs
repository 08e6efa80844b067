//! Places that other fields take.

use super::question::Reading;
use super::text_units::TextUnits;

/// What the logit of a place loses that may belong to other fields: so many times the logarithm of the probability
/// that it does not. A value hardly ever belongs to two fields. Of held-out families and domains, 74.0 and 69.3 percent
/// of the fields are right with this, 73.0 and 69.0 without (where the reader weighs 8).
const TAKEN: f32 = 0.5;

/// No place is taken for certain.
const MOST_TAKEN: f64 = 0.98;

/// Fields that have a place with less probability do not count.
const LEAST_TAKEN: f64 = 0.01;

/// Makes places less probable that other fields have.
pub(super) fn avoid_taken(readings: &mut [Reading<'_>], units: &TextUnits) {
    let probable = |reading: &Reading<'_>| {
        let mut found = reading.place_probabilities(units);
        found.retain(|&(_, probability)| probability >= LEAST_TAKEN);
        found
    };
    let own: Vec<Vec<(usize, f64)>> = readings.iter().map(probable).collect();
    let mut taken: Vec<(usize, f64)> = own.concat();
    taken.sort_by_key(|&(place, _)| place);
    taken.dedup_by(|(place, probability), (before, sum)| {
        let is_same = place == before;
        if is_same {
            *sum += *probability;
        }
        is_same
    });
    for (reading, own) in readings.iter_mut().zip(own) {
        for &(place, sum) in &taken {
            let at = own.binary_search_by_key(&place, |&(place, _)| place);
            let others = sum - at.map_or(0.0, |at| own[at].1);
            let free = 1.0 - others.clamp(0.0, MOST_TAKEN);
            reading.starts[units.first + place] += TAKEN * free.ln() as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use structgen_ort::SpanLogits;

    use super::super::fields::fields;
    use super::super::question::AskedField;
    use super::super::text_units::tests::units_of;
    use super::*;
    use serde_json::json;
    use structgen_automata::Input;

    #[test]
    fn a_field_gives_way_to_one_that_is_surer() {
        let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        let fields = fields(&schema);
        let asked = |query| AskedField {
            query,
            options: Vec::new(),
            none: None,
        };
        let text = "Rome Oslo";
        let (units, input) = (units_of(text), Input::new(text).unwrap());
        let logits = SpanLogits {
            // Of Rome and Oslo.
            starts: [[9.0, 0.0], [1.0, 0.9]].concat(),
            ends: vec![0.0; 4],
            ..SpanLogits::default()
        };
        let asked = [0, 1].map(asked);
        let read =
            |number: usize| Reading::new(&fields[number], &asked[number], &logits, &units, &input);
        let mut readings = [read(0), read(1)];
        avoid_taken(&mut readings, &units);
        let [sure, other] = readings;
        assert!(sure.starts[0] > sure.starts[1] + 5.0, "{:?}", sure.starts);
        assert!(
            other.starts[1] > other.starts[0] + 1.0,
            "{:?}",
            other.starts
        );
    }
}
