//! The decoding loop: samplers over allowed tokens, stop conditions, streaming, and the language-model trait.
