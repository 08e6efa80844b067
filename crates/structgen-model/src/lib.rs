//! The embedded extraction model: weights, tokenizer and draft model.
