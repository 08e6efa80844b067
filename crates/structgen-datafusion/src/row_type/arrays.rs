//! Converts values to Arrow arrays.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray,
    MapArray, StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::error::ArrowError;

use super::{Cell, RowType, struct_fields};

/// Returns the array of some values, which [`RowType::read`] parsed.
pub(crate) fn array_of(of: &RowType, cells: &[&Cell]) -> Result<ArrayRef, ArrowError> {
    let integers = cells.iter().map(|cell| match cell {
        Cell::Integer(value) => Some(*value),
        _ => None,
    });
    let of_64_bits = integers
        .clone()
        .map(|it| it.and_then(|it| i64::try_from(it).ok()));
    Ok(match of {
        RowType::Boolean => {
            let values = cells.iter().map(|cell| match cell {
                Cell::Boolean(value) => Some(*value),
                _ => None,
            });
            Arc::new(values.collect::<BooleanArray>())
        }
        RowType::Float64 => {
            let values = cells.iter().map(|cell| match cell {
                Cell::Float(value) => Some(*value),
                _ => None,
            });
            Arc::new(values.collect::<Float64Array>())
        }
        RowType::Int64 => Arc::new(of_64_bits.collect::<Int64Array>()),
        RowType::UInt64 => {
            let values = integers.map(|it| it.and_then(|it| u64::try_from(it).ok()));
            Arc::new(values.collect::<UInt64Array>())
        }
        RowType::Decimal(scale) => {
            let values = integers.collect::<Decimal128Array>();
            Arc::new(values.with_precision_and_scale(38, *scale)?)
        }
        RowType::Date => {
            let values = integers.map(|it| it.and_then(|it| i32::try_from(it).ok()));
            Arc::new(values.collect::<Date32Array>())
        }
        RowType::Timestamp => {
            let values = of_64_bits.collect::<TimestampMicrosecondArray>();
            Arc::new(values.with_timezone("UTC"))
        }
        RowType::Text | RowType::Json => {
            let values = cells.iter().map(|cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                _ => None,
            });
            Arc::new(values.collect::<StringArray>())
        }
        RowType::List(items) => {
            let lists = cells.iter().map(parts);
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(<[Cell]>::len));
            let flat: Vec<&Cell> = lists.flatten().collect();
            Arc::new(ListArray::try_new(
                items.item_field(),
                offsets,
                array_of(items, &flat)?,
                nulls(cells),
            )?)
        }
        RowType::Struct(fields) => {
            let mut arrays = Vec::with_capacity(fields.len());
            for (at, (_, field)) in fields.iter().enumerate() {
                let column = cells
                    .iter()
                    .map(|cell| parts(cell).get(at).unwrap_or(&Cell::Null));
                arrays.push(array_of(field, &column.collect::<Vec<_>>())?);
            }
            Arc::new(StructArray::try_new_with_length(
                struct_fields(fields),
                arrays,
                nulls(cells),
                cells.len(),
            )?)
        }
        RowType::Map(values) => map_of(values, cells)?,
    })
}

fn map_of(values: &RowType, cells: &[&Cell]) -> Result<ArrayRef, ArrowError> {
    let maps = cells.iter().map(|cell| match cell {
        Cell::Entries(entries) => entries.as_slice(),
        _ => &[],
    });
    let offsets = OffsetBuffer::from_lengths(maps.clone().map(<[_]>::len));
    let keys: StringArray = { maps.clone().flatten() }
        .map(|(key, _)| Some(key.as_str()))
        .collect();
    let entries: Vec<&Cell> = maps.flatten().map(|(_, value)| value).collect();
    let field = values.entries_field();
    let datafusion::arrow::datatypes::DataType::Struct(fields) = field.data_type() else {
        return Err(ArrowError::SchemaError(
            "a map's entries are structs".to_owned(),
        ));
    };
    let entries = StructArray::try_new(
        fields.clone(),
        vec![Arc::new(keys) as ArrayRef, array_of(values, &entries)?],
        None,
    )?;
    let map = MapArray::try_new(field, offsets, entries, nulls(cells), false)?;
    Ok(Arc::new(map))
}

fn parts<'c>(cell: &&'c Cell) -> &'c [Cell] {
    match cell {
        Cell::Cells(parts) => parts,
        _ => &[],
    }
}

fn nulls(cells: &[&Cell]) -> Option<NullBuffer> {
    let valid = cells.iter().map(|cell| !matches!(cell, Cell::Null));
    Some(valid.collect())
}
