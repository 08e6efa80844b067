/// What came of keeping the rows of finished requests for prompts that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PrefixStats {
    /// Texts of which a beginning was known.
    pub hits: u64,
    /// Texts of which none was.
    pub misses: u64,
    /// Tokens that were not run again.
    pub reused_tokens: u64,
    /// Kept texts that were evicted.
    pub evicted: u64,
    /// Texts that are kept now.
    pub kept: usize,
    /// The bytes that these take.
    pub bytes: usize,
}
