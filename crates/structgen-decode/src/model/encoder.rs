use structgen_vocab::{TokenId, Tokenizer};

/// Encodes text in tokens as the model was trained to see it: a tokenizer.
pub trait TextEncoder: Send + Sync {
    /// Returns the tokens of a text, without any that start or end a text; `None` if the text cannot be encoded.
    fn encode_text(&self, text: &str) -> Option<Vec<TokenId>>;
}

impl TextEncoder for Tokenizer {
    fn encode_text(&self, text: &str) -> Option<Vec<TokenId>> {
        self.encode(text).ok()
    }
}
