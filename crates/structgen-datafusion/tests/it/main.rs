//! The functions in SQL, on the embedded model; and columns of schemas through Parquet.

mod functions;
mod partitions;
mod queries;
mod round_trip;
mod support;
