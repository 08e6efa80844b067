use structgen_vocab::{TokenId, Tokenizer};

/// Writes a text in tokens as the model has learnt to: a tokenizer.
pub trait TextEncoder: Send + Sync {
    /// The tokens of a text, without any that start or end one; none where the text cannot be written.
    fn encode_text(&self, text: &str) -> Option<Vec<TokenId>>;
}

impl TextEncoder for Tokenizer {
    fn encode_text(&self, text: &str) -> Option<Vec<TokenId>> {
        self.encode(text).ok()
    }
}
