//! Decodes UTF-8 that arrives in pieces.

/// An incomplete character, and the number of bytes before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Utf8 {
    held: Vec<u8>,
    offset: usize,
}

impl Utf8 {
    /// Passes on complete characters, each with the offset after it.
    pub(super) fn push<E>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(char, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let joined;
        let mut rest = bytes;
        if !self.held.is_empty() {
            self.held.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.held);
            rest = &joined;
        }
        while !rest.is_empty() {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    // The error reports that this part is valid.
                    let valid = std::str::from_utf8(valid).unwrap_or_default();
                    (valid, Some((bad, error.error_len())))
                }
            };
            for c in valid.chars() {
                self.offset += c.len_utf8();
                take(c, self.offset)?;
            }
            rest = match bad {
                None => &[],
                Some((bad, None)) => {
                    self.held = bad.to_vec();
                    &[]
                }
                Some((bad, Some(len))) => {
                    self.offset += len;
                    take(char::REPLACEMENT_CHARACTER, self.offset)?;
                    &bad[len..]
                }
            };
        }
        Ok(())
    }

    /// Passes on an incomplete character as U+FFFD, and returns the total number of bytes.
    pub(super) fn finish<E>(
        &mut self,
        mut take: impl FnMut(char, usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        self.offset += self.held.len();
        if !std::mem::take(&mut self.held).is_empty() {
            take(char::REPLACEMENT_CHARACTER, self.offset)?;
        }
        Ok(self.offset)
    }
}
