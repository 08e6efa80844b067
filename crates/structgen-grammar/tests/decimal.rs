//! Exact decimals: parsing, order and printing.

use std::collections::HashSet;

use proptest::prelude::*;
use structgen_grammar::Decimal;
use structgen_grammar::decimal::DecimalError;

fn number(text: &str) -> Decimal {
    text.parse().expect("a number")
}

#[test]
fn only_json_numbers_are_read() {
    for text in [
        "", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1e1.5", "1,5", " 1", "1 ", "--1",
        "0x1", "NaN", "1e5e5", "1.2.3", "١",
    ] {
        assert_eq!(
            text.parse::<Decimal>(),
            Err(DecimalError::Syntax),
            "{text:?}"
        );
    }
}

#[test]
fn one_number_is_one_value_however_it_is_written() {
    let same: HashSet<Decimal> = ["150", "1.5e2", "150.000", "1500E-1", "0.0015e+5"]
        .into_iter()
        .map(number)
        .collect();
    assert_eq!(same.len(), 1);
    let zero: HashSet<Decimal> = ["0", "-0", "0.000", "-0e7", "0e99999999999999999999999"]
        .into_iter()
        .map(number)
        .collect();
    assert_eq!(zero, HashSet::from([Decimal::default()]));
}

#[test]
fn the_value_and_not_the_text_decides_whether_the_exponent_is_in_range() {
    for text in [
        "1e999999999999999",
        "0.001e1000000000000002",
        "1000e-1000000000000003",
    ] {
        let read = number(text);
        assert_eq!(number(&read.to_string()), read, "{text}");
    }
    for text in [
        "10e999999999999999999",
        "1e1000000000000000",
        "1e99999999999999999999",
        "1e-1000000000000002",
    ] {
        assert_eq!(
            text.parse::<Decimal>(),
            Err(DecimalError::Exponent),
            "{text}"
        );
    }
}

#[test]
fn numbers_are_written_as_json() {
    for (text, written) in [
        ("-0", "0"),
        ("1e3", "1000"),
        ("-12.50", "-12.5"),
        ("0.001e1", "0.01"),
        ("1e400", "1e400"),
        ("-1.25e-300", "-1.25e-300"),
        (
            "123456789012345678901234567890",
            "12345678901234567890123456789e1",
        ),
    ] {
        assert_eq!(number(text), number(written));
        let shown = number(text).to_string();
        assert_eq!(number(&shown), number(text), "{shown}");
    }
    assert_eq!(number("-12.50").to_string(), "-12.5");
    assert_eq!(number("1e3").to_string(), "1000");
    assert_eq!(number("1e400").to_string(), "1e400");
}

/// mantissa × 10^exponent, as a text and in units of 10^-12.
fn scaled() -> impl Strategy<Value = (String, i128)> {
    (-2_000_i128..2_000, -12_i32..12).prop_map(|(mantissa, exponent)| {
        let value = mantissa * 10_i128.pow(u32::try_from(exponent + 12).expect("from zero"));
        (format!("{mantissa}e{exponent}"), value)
    })
}

proptest! {
    #[test]
    fn order_is_that_of_the_values((left, left_value) in scaled(), (right, right_value) in scaled()) {
        let (left, right) = (number(&left), number(&right));
        prop_assert_eq!(left.cmp(&right), left_value.cmp(&right_value));
        prop_assert_eq!(left == right, left_value == right_value);
        prop_assert_eq!(left.clone().negated().cmp(&right.clone().negated()), right.cmp(&left));
    }

    #[test]
    fn parts_say_what_the_number_is((text, value) in scaled()) {
        let read = number(&text);
        prop_assert_eq!(read.is_zero(), value == 0);
        prop_assert_eq!(read.is_negative(), value < 0);
        prop_assert_eq!(read.is_integer(), value % 1_000_000_000_000 == 0);
        let digits = read.digits();
        prop_assert!(digits.first() != Some(&0) && digits.last() != Some(&0));
    }

    #[test]
    fn what_is_written_reads_back(text in "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?") {
        let read = number(&text);
        prop_assert_eq!(number(&read.to_string()), read);
    }

    #[test]
    fn integers_are_read_from_integers(value in any::<i64>()) {
        prop_assert_eq!(Decimal::from(value), number(&value.to_string()));
    }
}
