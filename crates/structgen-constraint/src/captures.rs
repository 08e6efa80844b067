//! The named parts of an output.

use structgen_automata::{CapturePiece, CaptureSpan};
use structgen_vocab::TokenId;

use crate::{Matcher, MatcherError};

impl Matcher {
    /// Returns the captures of the output so far, ordered by start, outer ones before inner ones. A name may occur
    /// several times. The list is empty if the grammar has no captures.
    ///
    /// Spans are byte offsets into the text of the tokens; special tokens have no text. Until the output is
    /// [finished](Self::is_finished), it is read as the beginning of a longer one: a capture that may continue is open,
    /// and ambiguous captures may change as more text comes. If a text can be read in several ways, then from left to
    /// right each part takes as many bytes as the whole allows, the first of several alternatives for the same bytes
    /// counts, and no rule is read as itself over the same bytes.
    ///
    /// Spans are computed from the tokens at each call, so they account for rollbacks. This takes time proportional to
    /// the text, and more if captures repeat.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
    /// use structgen_grammar::{CharSet, Expr, GrammarBuilder, JsonForm, Regular};
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// // @word([a-z]+) "!"
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("root");
    /// let letter = builder.expr(Expr::Regular(Regular::Chars(CharSet::new([('a', 'z')]))));
    /// let letters = builder.repeat(letter, 1, None);
    /// let word = builder.capture("word", letters);
    /// let mark = builder.bytes("!");
    /// let body = builder.sequence([word, mark]);
    /// builder.define(root, body);
    /// let grammar = builder.finish(root, JsonForm::generate());
    ///
    /// let vocabulary = Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?;
    /// let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    /// let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
    /// let mut matcher = constraint.matcher();
    /// for byte in "hey".bytes() {
    ///     matcher.accept_token(TokenId(byte.into()))?;
    /// }
    /// let captures = matcher.captures()?;
    /// assert_eq!((&*captures[0].name, captures[0].span.clone(), captures[0].is_open), ("word", 0..3, true));
    /// matcher.accept_token(TokenId(u32::from(b'!')))?;
    /// assert!(!matcher.captures()?[0].is_open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text and its captures exceed a limit.
    pub fn captures(&self) -> Result<Vec<CaptureSpan>, MatcherError> {
        let is_finished = self.is_finished();
        let found = match self.read_captures(is_finished)? {
            // If nothing can follow, the text is complete.
            None if !is_finished => self.read_captures(true)?,
            found => found,
        };
        Ok(found.unwrap_or_default())
    }

    /// Returns the captures of the output if it ends here, or `None` if it may not.
    ///
    /// # Errors
    /// As [`captures`](Self::captures).
    pub fn captures_at_end(&self) -> Result<Option<Vec<CaptureSpan>>, MatcherError> {
        match self.is_accepting() {
            true => Ok(Some(self.read_captures(true)?.unwrap_or_default())),
            false => Ok(None),
        }
    }

    fn read_captures(&self, is_complete: bool) -> Result<Option<Vec<CaptureSpan>>, MatcherError> {
        let Some(captures) = self.constraint().captures() else {
            return Ok(None);
        };
        let shared = self.constraint().shared();
        let mut tokens: Vec<TokenId> = self.tokens().collect();
        if self.has_ended() {
            // The end-of-sequence token is not part of the text.
            tokens.pop();
        }
        let vocabulary = self.constraint().vocabulary();
        let pieces: Vec<CapturePiece<'_>> = { tokens.iter() }
            .map(|&token| CapturePiece {
                bytes: vocabulary.token_bytes(token).unwrap_or_default(),
                terminals: (0..)
                    .zip(&shared.tokens)
                    .filter(|(_, named)| named.contains(token))
                    .map(|(terminal, _)| terminal)
                    .collect(),
            })
            .collect();
        Ok(captures.find(
            &pieces,
            self.constraint().program().token_terminals(),
            is_complete,
        )?)
    }
}
