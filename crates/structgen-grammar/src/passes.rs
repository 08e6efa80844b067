//! Passes over a grammar, in the order in which they run.
