//! The functions in SQL, on the embedded model; and columns of schemas through Parquet.

mod definition;
mod functions;
mod partitions;
mod queries;
mod round_trip;
mod support;
