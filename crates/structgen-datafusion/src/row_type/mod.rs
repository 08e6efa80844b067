//! The Arrow type of a schema's values, and arrays of them.

mod arrays;
mod cell;
mod schema;

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use datafusion::arrow::error::ArrowError;

use arrays::array_of;
pub use cell::{Cell, CellError};

/// How the values of a schema are represented in a column.
///
/// The type is determined by the schema's keywords alone: a value that is valid under the schema but does not fit, such
/// as an integer of 30 digits, is an error of its row ([`RowType::read`]). `null` and a missing property are both SQL's
/// NULL, and so is everything in a row with an error; therefore every part is nullable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RowType {
    /// `type: boolean`.
    Boolean,
    /// `type: integer`, within 64 bits as far as the schema says.
    Int64,
    /// `type: integer` from zero on, with a maximum that requires 64 bits without a sign.
    UInt64,
    /// `type: number`: the nearest 64-bit float.
    Float64,
    /// `type: integer` with bounds beyond 64 bits, and `type: number` with a `multipleOf` such as 0.01: exact, with at
    /// most 38 digits, this many of them after the point.
    Decimal(i8),
    /// `type: string`, including enumerations.
    Text,
    /// `type: string` with `format: date`.
    Date,
    /// `type: string` with `format: date-time`: the instant, in microseconds, UTC.
    Timestamp,
    /// `type: array` with `items`.
    List(Box<RowType>),
    /// `type: object` with `properties` and no others.
    Struct(Vec<(String, RowType)>),
    /// `type: object` whose properties all have the same schema, whatever their names.
    Map(Box<RowType>),
    /// Anything else: JSON text.
    Json,
}

impl RowType {
    /// Returns the Arrow type.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int64 => DataType::Int64,
            Self::UInt64 => DataType::UInt64,
            Self::Float64 => DataType::Float64,
            Self::Decimal(scale) => DataType::Decimal128(38, *scale),
            Self::Text | Self::Json => DataType::Utf8,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::List(items) => DataType::List(items.item_field()),
            Self::Struct(fields) => DataType::Struct(struct_fields(fields)),
            Self::Map(values) => DataType::Map(values.entries_field(), false),
        }
    }

    /// Returns the array of some values, which [`read`](Self::read) parsed.
    ///
    /// # Errors
    /// Those of Arrow, if there are more values than an array can hold.
    pub fn array(&self, cells: &[Cell]) -> Result<ArrayRef, ArrowError> {
        array_of(self, &cells.iter().collect::<Vec<_>>())
    }

    /// Returns the same type for files that cannot nest, such as CSV: nested arrays and objects become JSON text.
    #[must_use]
    pub fn flattened(self) -> Self {
        match self {
            Self::Struct(fields) => {
                let flat = |(name, field)| match field {
                    Self::Struct(_) | Self::List(_) | Self::Map(_) => (name, Self::Json),
                    scalar => (name, scalar),
                };
                Self::Struct(fields.into_iter().map(flat).collect())
            }
            Self::List(_) | Self::Map(_) => Self::Json,
            scalar => scalar,
        }
    }

    fn item_field(&self) -> Arc<Field> {
        Arc::new(Field::new_list_field(self.data_type(), true))
    }

    fn entries_field(&self) -> Arc<Field> {
        let entries = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", self.data_type(), true),
        ]);
        Arc::new(Field::new("entries", DataType::Struct(entries), false))
    }
}

fn struct_fields(fields: &[(String, RowType)]) -> Fields {
    let fields = fields.iter();
    fields
        .map(|(name, field)| Field::new(name, field.data_type(), true))
        .collect()
}
