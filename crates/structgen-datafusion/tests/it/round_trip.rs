//! Columns of 30 schemas through Parquet. The files are kept in the target folder, for `clients/check_pandas.py`.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::json::LineDelimitedWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use structgen_datafusion::{Cell, RowType};

/// A name, a schema, the Arrow type, and values of it.
const CASES: [(&str, &str, &str, &[&str]); 30] = [
    (
        "boolean",
        r#"{"type": "boolean"}"#,
        "Boolean",
        &["true", "false", "null"],
    ),
    (
        "integer",
        r#"{"type": "integer"}"#,
        "Int64",
        &["-9223372036854775808", "1e3", "null"],
    ),
    (
        "unsigned",
        r#"{"type": "integer", "minimum": 0, "maximum": 18446744073709551615}"#,
        "UInt64",
        &["18446744073709551615", "0"],
    ),
    (
        "huge",
        r#"{"type": "integer", "maximum": 1e30}"#,
        "Decimal128(38, 0)",
        &["-1000000000000000000000000000000", "7"],
    ),
    (
        "number",
        r#"{"type": "number"}"#,
        "Float64",
        &["0.1", "-1e300", "null"],
    ),
    (
        "money",
        r#"{"type": "number", "multipleOf": 0.01}"#,
        "Decimal128(38, 2)",
        &["19.99", "-0.1", "100"],
    ),
    (
        "thousandths",
        r#"{"type": "number", "multipleOf": 0.001, "minimum": 0}"#,
        "Decimal128(38, 3)",
        &["0.125"],
    ),
    (
        "whole_steps",
        r#"{"type": "number", "multipleOf": 5}"#,
        "Float64",
        &["15"],
    ),
    (
        "string",
        r#"{"type": "string"}"#,
        "Utf8",
        &[r#""Zo\u00eb \"Ray\"\n""#, r#""""#, "null"],
    ),
    (
        "enumeration",
        r#"{"enum": ["red", "green"]}"#,
        "Utf8",
        &[r#""red""#],
    ),
    ("constant", r#"{"const": 7}"#, "Int64", &["7"]),
    (
        "mixed_enumeration",
        r#"{"enum": ["red", 1]}"#,
        "Utf8",
        &[r#""red""#, "1"],
    ),
    (
        "date",
        r#"{"type": "string", "format": "date"}"#,
        "Date32",
        &[r#""0001-01-01""#, r#""2024-02-29""#],
    ),
    (
        "instant",
        r#"{"type": "string", "format": "date-time"}"#,
        "Timestamp(µs, \"UTC\")",
        &[r#""2024-02-29T12:00:00.000001+05:30""#],
    ),
    (
        "time",
        r#"{"type": "string", "format": "time"}"#,
        "Utf8",
        &[r#""12:00:00Z""#],
    ),
    (
        "uuid",
        r#"{"type": "string", "format": "uuid"}"#,
        "Utf8",
        &[r#""6ba7b810-9dad-11d1-80b4-00c04fd430c8""#],
    ),
    (
        "nullable",
        r#"{"type": ["integer", "null"]}"#,
        "Int64",
        &["1", "null"],
    ),
    (
        "alternative_to_null",
        r#"{"anyOf": [{"type": "null"}, {"type": "boolean"}]}"#,
        "Boolean",
        &["true", "null"],
    ),
    (
        "list",
        r#"{"type": "array", "items": {"type": "integer"}}"#,
        "List(Int64)",
        &["[]", "[1, 2]", "[null]", "null"],
    ),
    (
        "list_of_lists",
        r#"{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}"#,
        "List(List(Utf8))",
        &[r#"[["a"], [], ["b", "c"]]"#],
    ),
    (
        "object",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}"#,
        "Struct(\"a\": Int64, \"b\": Utf8)",
        &[r#"{"a": 1, "b": "x"}"#, "{}", "null"],
    ),
    (
        "nested_objects",
        r#"{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "number"}}}}}"#,
        "Struct(\"a\": Struct(\"b\": Float64))",
        &[r#"{"a": {"b": 2.5}}"#, r#"{"a": null}"#, r#"{"a": {}}"#],
    ),
    (
        "list_of_objects",
        r#"{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}"#,
        "List(Struct(\"a\": Int64))",
        &[r#"[{"a": 1}, {}, {"a": 3}]"#],
    ),
    (
        "map",
        r#"{"type": "object", "additionalProperties": {"type": "number"}}"#,
        "Map(\"entries\": non-null Struct(\"key\": non-null Utf8, \"value\": Float64), unsorted)",
        &[r#"{"a": 1, "b": null}"#, "{}", "null"],
    ),
    (
        "reference",
        r##"{"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}"##,
        "Int64",
        &["3"],
    ),
    (
        "tree",
        r##"{"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}}"##,
        "Struct(\"v\": Int64, \"next\": Utf8)",
        &[r#"{"v": 1, "next": {"v": 2}}"#],
    ),
    (
        "open_object",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true}"#,
        "Utf8",
        &[r#"{"a": 1, "z": [2]}"#],
    ),
    (
        "alternatives",
        r#"{"anyOf": [{"type": "integer"}, {"type": "string"}]}"#,
        "Utf8",
        &["1", r#""a""#],
    ),
    ("anything", "{}", "Utf8", &[r#"{"a": [1, null]}"#, "null"]),
    (
        "odd_names",
        r#"{"type": "object", "properties": {"": {"type": "integer"}, "a b.c": {"type": "integer"}, "Ä": {"type": "boolean"}}}"#,
        "Struct(\"\": Int64, \"a b.c\": Int64, \"Ä\": Boolean)",
        &[r#"{"": 1, "a b.c": 2, "Ä": true}"#],
    ),
];

#[test]
fn columns_of_all_kinds_of_schemas_are_the_same_after_parquet() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("round-trip");
    fs::create_dir_all(&folder).unwrap();
    for (name, schema, data_type, values) in CASES {
        let schema = serde_json::from_str(schema).unwrap();
        let row_type = RowType::of_schema(&schema);
        assert_eq!(row_type.data_type().to_string(), data_type, "{name}");
        let cells = values.iter().map(|value| row_type.read(value).unwrap());
        let cells: Vec<Cell> = cells.collect();
        let field = Field::new("value", row_type.data_type(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let array = row_type.array(&cells).unwrap();
        let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let path = folder.join(format!("{name}.parquet"));
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap());
        let mut batches = reader.unwrap().build().unwrap();
        let read = batches.next().unwrap().unwrap();
        assert_eq!(
            read.schema().field(0).data_type(),
            &row_type.data_type(),
            "{name}"
        );
        assert_eq!(read.column(0), batch.column(0), "{name}");
        // For comparison by another reader.
        let json = File::create(folder.join(format!("{name}.jsonl"))).unwrap();
        let mut json = LineDelimitedWriter::new(json);
        json.write(&batch).unwrap();
        json.finish().unwrap();
    }
}
