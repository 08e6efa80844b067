//! A column of texts, whatever Arrow type it has.

use std::str;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;

use crate::Result;
use crate::row_error::RowError;

/// The texts of a column.
pub(crate) struct Texts {
    column: ArrayRef,
    max_bytes: usize,
}

impl Texts {
    /// Creates it from a column of text or bytes; dictionaries and views are unpacked, and other types are formatted as
    /// text.
    pub(crate) fn new(column: &ArrayRef, max_bytes: usize) -> Result<Self> {
        let as_read = match column.data_type() {
            DataType::LargeUtf8 | DataType::LargeBinary => return Self::plain(column, max_bytes),
            DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                DataType::LargeBinary
            }
            DataType::Dictionary(_, values) if values.is_binary() => DataType::LargeBinary,
            _ => DataType::LargeUtf8,
        };
        Self::plain(&cast(column, &as_read)?, max_bytes)
    }

    fn plain(column: &ArrayRef, max_bytes: usize) -> Result<Self> {
        let column = ArrayRef::clone(column);
        Ok(Self { column, max_bytes })
    }

    pub(crate) fn len(&self) -> usize {
        self.column.len()
    }

    /// Returns the text of a row, `None` if it is NULL, or an error if its bytes are not valid text.
    pub(crate) fn get(&self, row: usize) -> Option<Result<&str, RowError>> {
        if self.column.is_null(row) {
            return None;
        }
        let bytes = match self.column.data_type() {
            DataType::LargeBinary => self.column.as_binary::<i64>().value(row),
            _ => self.column.as_string::<i64>().value(row).as_bytes(),
        };
        if bytes.len() > self.max_bytes {
            let (length, most) = (bytes.len(), self.max_bytes);
            let reason = format!("the text has {length} bytes, and {most} are allowed");
            return Some(Err(reason.into()));
        }
        Some(str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            format!("the text is not UTF-8: the byte at offset {at} begins no character").into()
        }))
    }
}
