//! Numbers, and other values that may be requested as one.

use super::{Leaf, List, readings};
use crate::{Candidate, Number, TimeUnit, Value};

/// Maximum number of months to which years are converted: leases run for 36 months, but nobody is 432 months old.
const MOST_MONTHS: i128 = 120;

/// Returns whether a duration in some units may be requested in another one: the next larger or smaller.
fn is_said_in(written: &[TimeUnit], unit: TimeUnit, number: Number) -> bool {
    let is_next = |own: &TimeUnit| {
        let (larger, smaller) = (unit.min(*own), unit.max(*own));
        match (larger, smaller) {
            (TimeUnit::Year, TimeUnit::Month) => {
                unit == TimeUnit::Year || number.to_integer().is_some_and(|it| it <= MOST_MONTHS)
            }
            (TimeUnit::Week, TimeUnit::Day)
            | (TimeUnit::Day, TimeUnit::Hour)
            | (TimeUnit::Hour, TimeUnit::Minute)
            | (TimeUnit::Minute, TimeUnit::Second) => true,
            _ => false,
        }
    };
    written.contains(&unit) || written.iter().any(is_next)
}

/// Adds whole numbers as strings of digits.
pub(super) fn digits(candidates: &[Candidate], list: &mut List) {
    for (candidate, reading, value) in readings(candidates) {
        let number = match value {
            Value::Number(number) => *number,
            Value::Ordinal(value) => Number::from(*value),
            _ => continue,
        };
        if let Some(integer) = number.to_integer().filter(|&it| it >= 0) {
            list.add(integer.to_string(), &candidate.span, reading);
        }
    }
}

fn has_number(candidate: &Candidate) -> bool {
    let mut readings = candidate.readings.iter();
    readings.any(|value| matches!(value, Value::Number(_)))
}

pub(super) fn list(candidates: &[Candidate], leaf: Leaf, list: &mut List) {
    for (candidate, reading, value) in readings(candidates) {
        let mut add = |number: Number, reading: usize| match leaf {
            Leaf::Integer => {
                if let Some(integer) = number.to_integer() {
                    list.add(integer.to_string(), &candidate.span, reading);
                }
            }
            _ => {
                list.add(number.to_string(), &candidate.span, reading);
                list.add(number.shortest().to_string(), &candidate.span, reading);
            }
        };
        match value {
            Value::Number(number) | Value::Amount { number, .. } => add(*number, reading),
            Value::Ordinal(value) => add(Number::from(*value), reading),
            Value::Percent(number) => {
                add(*number, reading);
                if let Some(fraction) = number.hundredth() {
                    add(fraction, reading + 1);
                }
            }
            Value::Duration(duration) => {
                let written = duration
                    .parts
                    .iter()
                    .map(|(_, unit)| *unit)
                    .collect::<Vec<_>>();
                for unit in TimeUnit::ALL {
                    if let Some(number) = duration.in_unit(unit)
                        && is_said_in(&written, unit, number)
                    {
                        add(number, reading + usize::from(!written.contains(&unit)));
                    }
                }
            }
            Value::Date(date) => {
                let parts = [
                    date.year,
                    Some(u16::from(date.month)),
                    date.day.map(u16::from),
                ];
                parts
                    .into_iter()
                    .flatten()
                    .for_each(|part| add(Number::from(u32::from(part)), reading));
            }
            // What may be a number, such as `14.30` or the 9 of `at 9`, is that number.
            Value::Time(time) if !has_number(candidate) => {
                add(Number::from(u32::from(time.hour)), reading);
                add(Number::from(u32::from(time.minute)), reading);
            }
            _ => {}
        }
    }
}
