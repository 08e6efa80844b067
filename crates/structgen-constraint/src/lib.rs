//! Automata on a token trie: masks, the matcher and the naive oracle.
