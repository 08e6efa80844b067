//! Byte-exact vocabularies from tokenizers, the token trie and the token mask.
