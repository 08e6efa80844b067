//! Tool calls from the outside: samples of all formats, and what is refused.

mod refusals;
mod samples;
mod structural_tags;
