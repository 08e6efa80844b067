//! Regular sets as byte automata, by derivatives.
