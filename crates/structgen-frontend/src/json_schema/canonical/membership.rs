//! Whether a value is in the canonical form: what the tests of the canonical form ask.
