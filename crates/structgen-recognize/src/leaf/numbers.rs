//! Numbers, and what else can be asked for as one.

use super::{Leaf, List, readings};
use crate::{Candidate, Number, TimeUnit, Value};

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
                    if let Some(number) = duration.in_unit(unit) {
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
            // What is a number first, `14.30`, is that number.
            Value::Time(time) if !matches!(candidate.readings[0], Value::Number(_)) => {
                add(Number::from(u32::from(time.hour)), reading);
                add(Number::from(u32::from(time.minute)), reading);
            }
            _ => {}
        }
    }
}
