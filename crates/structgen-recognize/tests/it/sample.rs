//! The recall on texts of the training data. The lines are the output of `training/recognized_values.py passages 550
//! 500`.

use serde::Deserialize;
use structgen_recognize::Leaf;

use crate::values;

#[derive(Deserialize)]
struct Sample {
    text: String,
    values: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    leaf: String,
    text: String,
}

#[test]
fn typed_answers_are_among_the_candidates() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/values.jsonl").lines() {
        let sample: Sample = serde_json::from_str(line).expect("the sample is made by a script");
        for expected in &sample.values {
            let leaf = match expected.leaf.as_str() {
                "integer" => Leaf::Integer,
                "number" => Leaf::Number,
                "hour-minute" => Leaf::HourMinute,
                "currency" => Leaf::Currency,
                format => Leaf::for_format(format).expect("the sample has no other formats"),
            };
            count += 1;
            if !values(&sample.text, leaf)
                .iter()
                .any(|allowed| allowed.text == expected.text)
            {
                wrong.push(format!("{leaf:?} {} in {:?}", expected.text, sample.text));
            }
        }
    }
    assert!(count > 500, "{count} values");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
