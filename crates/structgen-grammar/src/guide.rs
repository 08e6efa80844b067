//! Guides: requirements on how a part of an output is generated, whatever its text.

use std::fmt;

/// A requirement on how a part of the output is generated. Texts have no tokens and no temperature, so a guide does not
/// change which texts match.
///
/// ```
/// use structgen_grammar::{GrammarBuilder, Guide, JsonForm, Temperature};
///
/// // root ::= %temperature{0.5}(%tokens{0,20}("a"*)) "."
/// let mut builder = GrammarBuilder::new();
/// let root = builder.declare("root");
/// let (a, dot) = (builder.bytes("a"), builder.bytes("."));
/// let word = builder.repeat(a, 0, None);
/// let short = builder.guided(Guide::MaxTokens(20), word);
/// let half = Temperature::new(0.5).ok_or("a temperature")?;
/// let calm = builder.guided(Guide::Temperature(half), short);
/// let body = builder.sequence([calm, dot]);
/// builder.define(root, body);
/// let grammar = builder.finish(root, JsonForm::generate());
/// assert_eq!(grammar.to_string(), "root ::= %temperature{0.5}(%tokens{0,20}(\"a\"*)) \".\"\n");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guide {
    /// At most this many tokens begin in the part. A token that begins before the part and ends within it does not
    /// count.
    MaxTokens(u32),
    /// The temperature for sampling tokens that begin in the part. If several apply, the innermost counts in each
    /// reading, and the highest among the readings.
    Temperature(Temperature),
}

impl fmt::Display for Guide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxTokens(most) => write!(f, "%tokens{{0,{most}}}"),
            Self::Temperature(it) => write!(f, "%temperature{{{}}}", it.get()),
        }
    }
}

/// A temperature: finite and not negative; 0 selects the most probable token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Temperature(u32);

impl Temperature {
    /// The temperature; `None` if the number is not a valid one.
    #[must_use]
    pub fn new(temperature: f32) -> Option<Self> {
        // The bits of non-negative floats are ordered like the numbers; `abs` leaves a single zero.
        (temperature.is_finite() && temperature >= 0.0).then(|| Self(temperature.abs().to_bits()))
    }

    /// The temperature as a number.
    #[must_use]
    pub fn get(self) -> f32 {
        f32::from_bits(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Temperature;

    #[test]
    fn temperatures_are_numbers_that_are_not_negative_in_their_order() {
        for bad in [-1.0, -f32::MIN_POSITIVE, f32::NAN, f32::INFINITY] {
            assert_eq!(Temperature::new(bad), None);
        }
        assert_eq!(Temperature::new(-0.0), Temperature::new(0.0));
        let numbers = [0.0, f32::MIN_POSITIVE, 0.5, 1.0, 2.5, f32::MAX];
        let temperatures = numbers.map(|number| Temperature::new(number).expect("a temperature"));
        assert!(temperatures.is_sorted());
        assert_eq!(temperatures.map(Temperature::get), numbers);
    }
}
