//! The digits of a set's numbers: those of the form, with room for the numbers that a schema names.

use structgen_grammar::{Decimal, NumberBound, NumberForm, NumberSet};

use super::{MAX_FORM_DIGITS, exponent};

/// Returns the form with as many digits as the bounds of the set have, and as its numbers nearest to zero need.
///
/// A form bounds what a model may write where a schema says nothing. It must leave room for a constant of 41 digits,
/// for what is at least 10⁴⁰, and for what lies between two fractions of 41 digits.
///
/// Without an exponent, a number that may have a fraction has no more digits before the point than after it: readers
/// take it as a double, in which a long one would be whole.
pub(crate) fn with_room(set: &NumberSet, form: &NumberForm) -> NumberForm {
    let mut form = *form;
    if !set.written_whole && !form.exponent {
        form.integer_digits = form.integer_digits.min(form.fraction_digits);
    }
    let least = |digits: i64| digits.clamp(0, i64::from(MAX_FORM_DIGITS)) as u16;
    // One more where the bound itself is not in the set.
    let more = i64::from(set.as_point().is_none());
    if let Some(nearest) = nearest_to_zero(set) {
        let divisors = set.multiples_of.iter().map(Decimal::exponent).max();
        let digits = nearest.exponent().max(divisors.unwrap_or(0));
        form.integer_digits = form.integer_digits.max(least(digits + more));
    }
    for bound in set.lower.iter().chain(&set.upper) {
        let bound = &bound.value;
        let after_point = bound.digits().len() as i64 - bound.exponent();
        if after_point > 0 {
            form.fraction_digits = form.fraction_digits.max(least(after_point + more));
        }
        if form.exponent && !bound.is_zero() {
            let digits = (bound.exponent() - 1).unsigned_abs().checked_ilog10();
            let digits = digits.map_or(1, |log| log as u16 + 1);
            form.exponent_digits = form.exponent_digits.max(digits.min(exponent::MOST_DIGITS));
        }
    }
    form
}

/// Returns the bound that is nearest to zero, if zero is not in the set.
fn nearest_to_zero(set: &NumberSet) -> Option<&Decimal> {
    let excludes_zero = |bound: &&NumberBound, is_beyond: bool| {
        is_beyond || bound.exclusive && bound.value.is_zero()
    };
    let lower = set.lower.as_ref().filter(|it| {
        let value = &it.value;
        excludes_zero(it, !value.is_zero() && !value.is_negative())
    });
    let upper = set.upper.as_ref();
    let upper = upper.filter(|it| excludes_zero(it, it.value.is_negative()));
    lower.or(upper).map(|bound| &bound.value)
}
