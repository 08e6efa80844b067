//! Recognises typed values in a text, in the notations that people use, and normalises them.
//!
//! [`recognize`] finds numbers, dates, times, durations, amounts of money, percentages, e-mail and web addresses, host
//! names, IP addresses, phone numbers, UUIDs and codes. [`allowed`] lists them in the form that a leaf of a JSON Schema
//! requires. So a constraint can limit a model to the values of its text, however the text writes them.
//!
//! ```
//! use structgen_recognize::{Leaf, Options, allowed, recognize};
//!
//! let text = "Two dozen crates, $1,250.00 in all, by 12 May 2024 at half past nine.";
//! let candidates = recognize(text, &Options::default());
//! let texts = |leaf| allowed(&candidates, leaf).into_iter().map(|value| value.text).collect::<Vec<_>>();
//!
//! assert_eq!(texts(Leaf::Date), ["2024-05-12"]);
//! assert_eq!(texts(Leaf::HourMinute)[0], "09:30");
//! assert!(texts(Leaf::Integer).contains(&"24".to_owned()));
//! assert!(texts(Leaf::Number).contains(&"1250.00".to_owned()));
//! assert_eq!(texts(Leaf::Currency)[0], "USD");
//! ```
//!
//! # What is recognised
//!
//! Words of English, German, French and Spanish are recognised at the same time. An ambiguous value has several
//! readings, best first, by the rules in [`Options`]. Recognition is generous: a candidate is a possible meaning of the
//! text, and candidates overlap. But nothing is inferred that the text does not contain: relative words such as
//! `tomorrow`, sums and counts of things are not recognised.
//!
//! # Bounds
//!
//! Memory is linear in the length of the text, and so is time except for sorting and searching the candidates. Numbers
//! with more than [`MAX_DIGITS`] digits, and addresses and codes longer than their specifications allow, are not
//! recognised. No text makes a function panic.

mod candidate;
mod date;
mod duration;
mod fold;
mod language;
mod leaf;
mod number;
mod options;
mod scan;
mod tokens;

pub use candidate::{Candidate, Value};
pub use date::{Date, Time};
pub use duration::{Duration, TimeUnit};
pub use language::Language;
pub use leaf::{Allowed, Leaf, allowed};
pub use number::{MAX_DIGITS, NotANumber, Number};
pub use options::{DateOrder, DecimalMark, Options};

/// Returns the values of a text, ordered by their starts, longer ones first.
///
/// ```
/// use structgen_recognize::{Options, Value, recognize};
///
/// let candidates = recognize("Es sind 1.234", &Options::default());
/// let numbers: Vec<String> = candidates[0]
///     .readings
///     .iter()
///     .filter_map(|value| match value {
///         Value::Number(number) => Some(number.to_string()),
///         _ => None,
///     })
///     .collect();
/// assert_eq!(numbers, ["1234", "1.234"], "the comma is the decimal mark in German");
/// ```
pub fn recognize(text: &str, options: &Options) -> Vec<Candidate> {
    scan::scan(&tokens::Tokens::new(text, options.language), options)
}
