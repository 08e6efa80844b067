//! Parses a JSON value as a type.

use std::fmt;

use chrono::{DateTime, NaiveDate, Timelike};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use structgen::grammar::Decimal;
use structgen::grammar::json_pointer::escaped;

use super::RowType;

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// Of [`RowType::Boolean`].
    Boolean(bool),
    /// Of [`RowType::Int64`], [`RowType::UInt64`], [`RowType::Decimal`] (in units of the last digit), [`RowType::Date`]
    /// (in days) and [`RowType::Timestamp`] (in microseconds).
    Integer(i128),
    /// Of [`RowType::Float64`].
    Float(f64),
    /// Of [`RowType::Text`] and [`RowType::Json`].
    Text(String),
    /// Of [`RowType::List`], and of [`RowType::Struct`] in the order of its fields.
    Cells(Vec<Cell>),
    /// Of [`RowType::Map`].
    Entries(Vec<(String, Cell)>),
}

/// Why a value does not have a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellError {
    pointer: String,
    reason: &'static str,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, reason } = self;
        match pointer.is_empty() {
            true => write!(f, "the value {reason}"),
            false => write!(f, "{pointer}: the value {reason}"),
        }
    }
}

impl std::error::Error for CellError {}

impl CellError {
    fn new(reason: &'static str) -> Self {
        let pointer = String::new();
        Self { pointer, reason }
    }

    fn within(mut self, part: &str) -> Self {
        self.pointer = format!("/{}{}", escaped(part), self.pointer);
        self
    }
}

impl RowType {
    /// Parses JSON text as a value of this type. Numbers are parsed exactly.
    ///
    /// ```
    /// use structgen_datafusion::{Cell, RowType};
    ///
    /// assert_eq!(RowType::Decimal(2).read("19.9")?, Cell::Integer(1990));
    /// let error = RowType::Int64.read("9223372036854775808").unwrap_err();
    /// assert_eq!(error.to_string(), "the value is no integer that the column can hold");
    /// # Ok::<(), structgen_datafusion::CellError>(())
    /// ```
    ///
    /// # Errors
    /// If a value does not have the type; the error says where in the text, and why.
    pub fn read(&self, json: &str) -> Result<Cell, CellError> {
        let value: &RawValue =
            serde_json::from_str(json).map_err(|_| CellError::new("is not JSON"))?;
        self.read_raw(value)
    }

    fn read_raw(&self, value: &RawValue) -> Result<Cell, CellError> {
        let json = value.get();
        if json == "null" {
            return Ok(Cell::Null);
        }
        match self {
            Self::Json => Ok(Cell::Text(json.to_owned())),
            Self::Boolean => parse(json, "is no boolean").map(Cell::Boolean),
            Self::Text => parse(json, "is no string").map(Cell::Text),
            Self::Float64 => match float(json).ok_or(CellError::new("is no number"))? {
                number if number.is_finite() => Ok(Cell::Float(number)),
                _ => Err(CellError::new("is too large for a number of 64 bits")),
            },
            Self::Int64 => integer(json, 0)
                .filter(|&it| i64::try_from(it).is_ok())
                .map(Cell::Integer)
                .ok_or_else(no_integer),
            Self::UInt64 => integer(json, 0)
                .filter(|&it| u64::try_from(it).is_ok())
                .map(Cell::Integer)
                .ok_or_else(no_integer),
            Self::Decimal(scale) => integer(json, i64::from(*scale))
                .map(Cell::Integer)
                .ok_or(CellError::new("is no decimal that the column can hold")),
            Self::Date => {
                let text: String = parse(json, "is no date")?;
                let date: NaiveDate = text.parse().map_err(|_| CellError::new("is no date"))?;
                Ok(Cell::Integer(i128::from(date.to_epoch_days())))
            }
            Self::Timestamp => timestamp(&parse::<String>(json, "is no date with a time")?),
            Self::List(items) => {
                let values: Vec<&RawValue> = parse(json, "is no array")?;
                let items = values.into_iter().enumerate().map(|(at, value)| {
                    items
                        .read_raw(value)
                        .map_err(|error| error.within(&at.to_string()))
                });
                items.collect::<Result<_, _>>().map(Cell::Cells)
            }
            Self::Struct(fields) => {
                let mut members: IndexMap<String, &RawValue> = parse(json, "is no object")?;
                let mut cells = Vec::with_capacity(fields.len());
                for (name, field) in fields {
                    let cell = match members.shift_remove(name) {
                        Some(value) => { field.read_raw(value) }.map_err(|it| it.within(name))?,
                        None => Cell::Null,
                    };
                    cells.push(cell);
                }
                match members.keys().next() {
                    Some(other) => Err(CellError::new("has no column").within(other)),
                    None => Ok(Cell::Cells(cells)),
                }
            }
            Self::Map(values) => {
                let members: IndexMap<String, &RawValue> = parse(json, "is no object")?;
                let entries = members.into_iter().map(|(name, value)| {
                    let cell = { values.read_raw(value) }.map_err(|it| it.within(&name))?;
                    Ok((name, cell))
                });
                entries.collect::<Result<_, _>>().map(Cell::Entries)
            }
        }
    }
}

fn parse<'j, T: Deserialize<'j>>(json: &'j str, reason: &'static str) -> Result<T, CellError> {
    serde_json::from_str(json).map_err(|_| CellError::new(reason))
}

/// Parses a number as the nearest float, which serde_json may miss by one in the last place.
fn float(json: &str) -> Option<f64> {
    let is_number = json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    json.parse().ok().filter(|_| is_number)
}

fn no_integer() -> CellError {
    CellError::new("is no integer that the column can hold")
}

/// Parses a number in units of 10^-scale, if it is a whole number of them, with at most 38 digits.
fn integer(json: &str, scale: i64) -> Option<i128> {
    let number: Decimal = json.parse().ok()?;
    let places = number.exponent().checked_add(scale)?;
    if number.is_zero() {
        return Some(0);
    }
    let zeros = places.checked_sub(number.digits().len() as i64)?;
    if zeros < 0 || places > 38 {
        return None;
    }
    let digits = number.digits().iter().map(|&digit| i128::from(digit));
    let digits = digits.chain((0..zeros).map(|_| 0));
    let magnitude = digits.fold(0, |all, digit| all * 10 + digit);
    Some(match number.is_negative() {
        true => -magnitude,
        false => magnitude,
    })
}

fn timestamp(text: &str) -> Result<Cell, CellError> {
    let instant = DateTime::parse_from_rfc3339(text)
        .map_err(|_| CellError::new("is no date with a time that the calendar has"))?;
    let nanoseconds = instant.nanosecond();
    // Larger values occur in leap seconds, which timestamps do not represent.
    if nanoseconds >= 1_000_000_000 || nanoseconds % 1_000 != 0 {
        return Err(CellError::new("has a time that microseconds cannot hold"));
    }
    Ok(Cell::Integer(i128::from(instant.timestamp_micros())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(of: &RowType, json: &str) -> String {
        of.read(json).unwrap_err().to_string()
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(RowType::Int64.read("1.50e2"), Ok(Cell::Integer(150)));
        let largest = i128::from(u64::MAX);
        let text = largest.to_string();
        assert_eq!(RowType::UInt64.read(&text), Ok(Cell::Integer(largest)));
        assert!(RowType::Int64.read(&text).is_err());
        assert!(RowType::UInt64.read("-1").is_err());
        assert!(RowType::Int64.read("1.5").is_err());
        assert!(RowType::Int64.read("1e999999999").is_err());
        assert_eq!(RowType::Decimal(2).read("-0.10"), Ok(Cell::Integer(-10)));
        assert!(RowType::Decimal(2).read("0.001").is_err());
        let nines = "9".repeat(38);
        let cell = Cell::Integer(nines.parse().unwrap());
        assert_eq!(RowType::Decimal(0).read(&nines), Ok(cell));
        assert!(RowType::Decimal(0).read(&format!("{nines}0")).is_err());
        assert_eq!(RowType::Float64.read("0.1"), Ok(Cell::Float(0.1)));
        assert!(RowType::Float64.read("1e400").is_err());
        assert!(RowType::Float64.read("\"1\"").is_err());
        for nearest in [0.1 + 0.2, 5e-324, 0.9452706955539223, 0.38120423768821243] {
            let json = format!("{nearest:e}");
            assert_eq!(RowType::Float64.read(&json), Ok(Cell::Float(nearest)));
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(RowType::Date.read("\"1970-02-01\""), Ok(Cell::Integer(31)));
        assert!(RowType::Date.read("\"1970-02-30\"").is_err());
        let noon = RowType::Timestamp.read("\"1970-01-01T12:00:00+02:00\"");
        assert_eq!(noon, Ok(Cell::Integer(10 * 3_600 * 1_000_000)));
        assert!(RowType::Timestamp.read("\"2016-12-31T23:59:60Z\"").is_err());
        let fine = "\"1970-01-01T00:00:00.0000001Z\"";
        assert!(RowType::Timestamp.read(fine).is_err());
    }

    #[test]
    fn errors_have_the_pointer_of_the_value() {
        let row = RowType::Struct(vec![(
            "a/b".to_owned(),
            RowType::List(Box::new(RowType::Boolean)),
        )]);
        assert_eq!(
            refused(&row, r#"{"a/b": [true, 1]}"#),
            "/a~1b/1: the value is no boolean"
        );
        assert_eq!(refused(&row, r#"{"c": 1}"#), "/c: the value has no column");
        assert_eq!(row.read("{}"), Ok(Cell::Cells(vec![Cell::Null])));
    }
}
