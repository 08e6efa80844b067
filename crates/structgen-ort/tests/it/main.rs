//! Tiny decoders in every layout, on the runtime library, which is fetched where it is missing.

mod careful_runs;
mod encoder_decoders;
mod faults;
mod library;
mod models;
mod programs;
mod recurrent;
mod slots;
mod sources;
mod stages;
mod support;
