/// Why two opinions, or the tokens of a contrastive search, cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContrastError {
    /// A number outside its range.
    #[error("{name} is {value}, and must be {range}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f32,
        /// The valid range.
        range: &'static str,
    },
    /// The text is too long for the amateur.
    #[error("the amateur's context does not hold a text of {tokens} tokens")]
    AmateurContext {
        /// Tokens of the prompt and the output so far.
        tokens: usize,
    },
}

/// Returns an error if a parameter is invalid.
pub(in crate::strategies) fn check(
    name: &'static str,
    value: f32,
    is_valid: bool,
    range: &'static str,
) -> Result<(), ContrastError> {
    match is_valid {
        true => Ok(()),
        false => Err(ContrastError::OutOfRange { name, value, range }),
    }
}
