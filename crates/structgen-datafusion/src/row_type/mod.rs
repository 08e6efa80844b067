//! The Arrow type of what a schema's values become, and the values as arrays of it.

mod arrays;
mod cell;
mod schema;

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use datafusion::arrow::error::ArrowError;

use arrays::array_of;
pub use cell::{Cell, CellError};

/// How the values of a schema are kept in a column.
///
/// It follows from the schema's keywords alone: a value that is valid under the schema and still does not fit, such as
/// an integer of 30 digits, is an error of its row ([`RowType::read`]). `null` and a property that is missing are both
/// SQL's NULL, and so is everything in a row that has an error; therefore every part can be NULL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RowType {
    /// `type: boolean`.
    Boolean,
    /// `type: integer`, within 64 bits as far as the schema says.
    Int64,
    /// `type: integer` from zero on, with a maximum that only 64 bits without a sign hold.
    UInt64,
    /// `type: number`: the nearest number of 64 bits.
    Float64,
    /// `type: integer` with bounds beyond 64 bits, and `type: number` with a `multipleOf` such as 0.01: exact, of at
    /// most 38 digits, that many of them after the point.
    Decimal(i8),
    /// `type: string`, enumerations included.
    Text,
    /// `type: string` with `format: date`.
    Date,
    /// `type: string` with `format: date-time`: the instant, in microseconds of UTC.
    Timestamp,
    /// `type: array` with `items`.
    List(Box<RowType>),
    /// `type: object` with `properties` and no others.
    Struct(Vec<(String, RowType)>),
    /// `type: object` whose properties are of one schema, whatever their names.
    Map(Box<RowType>),
    /// Anything else: JSON text.
    Json,
}

impl RowType {
    /// The Arrow type.
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

    /// The array of some values, which [`read`](Self::read) read.
    ///
    /// # Errors
    /// Arrow's, when there are more than an array can hold.
    pub fn array(&self, cells: &[Cell]) -> Result<ArrayRef, ArrowError> {
        array_of(self, &cells.iter().collect::<Vec<_>>())
    }

    /// The same type for files that cannot nest, such as CSV: what is in an array or an object is JSON text.
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
