//! Numbers as byte automata.
