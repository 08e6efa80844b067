//! Masks and matchers compared with the naive oracle: one at a time, in parallel, and loaded from files.

mod batches;
mod cancel;
mod captures;
mod choice_lists;
mod counted_parts;
mod counting;
mod distinct_memory;
mod gbnf_extensions;
mod grounded;
mod grounded_guarantee;
mod guides;
mod in_strings;
mod large_vocabulary;
mod many_keys;
mod masks_equal_the_oracle;
mod nested_counters;
mod relations;
mod saved_constraints;
mod saved_tables;
mod shapes_with_memory;
mod small;
mod steady_state;
mod support;
mod threads;
mod token_terminals;
mod warm;
