//! Saves the tables of a vocabulary to a file and loads them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use structgen_artifact::{ArtifactError, Column, Format, Reader, Writer};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use super::{
    AnyStrings, BeforeQuote, SignedTrie, Strings, Structure, VocabularyTables, first_bytes,
    plain_texts, prefixes,
};
use crate::signs::Signs;
use crate::texts::Texts;

/// The version changes with the contents and layout of the tables; a file of another version is computed again.
const FORMAT: Format = Format {
    magic: *b"sg-tabls",
    version: 5,
};

/// Where [`VocabularyTables::load_or_build`] got the tables.
#[derive(Debug)]
#[non_exhaustive]
pub enum TablesSource {
    /// From the file.
    Loaded,
    /// They were computed.
    Built {
        /// Why the file could not be used; [`is_missing`](ArtifactError::is_missing) if there was none.
        unusable: ArtifactError,
        /// Why the tables could not be written, if they could not. They will be computed again next time.
        not_saved: Option<ArtifactError>,
    },
}

impl VocabularyTables {
    /// Loads the tables from their file in a folder, or computes them and writes the file.
    ///
    /// The file is named after the vocabulary's fingerprint. A file that is damaged or of another version or vocabulary
    /// is replaced. Failing to write to the folder is not an error: [`TablesSource`] reports it, and the tables are
    /// returned.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use structgen_constraint::{TablesSource, VocabularyTables};
    /// use structgen_vocab::Vocabulary;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let vocabulary = Arc::new(Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[])?);
    /// let (_, source) = VocabularyTables::load_or_build(vocabulary.clone(), folder.path());
    /// assert!(matches!(source, TablesSource::Built { not_saved: None, .. }));
    /// let (_, source) = VocabularyTables::load_or_build(vocabulary, folder.path());
    /// assert!(matches!(source, TablesSource::Loaded));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_or_build(vocabulary: Arc<Vocabulary>, folder: &Path) -> (Self, TablesSource) {
        let file = Self::file_in(folder, &vocabulary);
        match Self::load(vocabulary.clone(), &file) {
            Ok(tables) => (tables, TablesSource::Loaded),
            Err(unusable) => {
                let tables = Self::new(vocabulary);
                let not_saved = tables.save(&file).err();
                let source = TablesSource::Built {
                    unusable,
                    not_saved,
                };
                (tables, source)
            }
        }
    }

    /// Returns the path of a vocabulary's tables in a folder.
    #[must_use]
    pub fn file_in(folder: &Path, vocabulary: &Vocabulary) -> PathBuf {
        let name: String = vocabulary.fingerprint()[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        folder.join(format!("tables-{name}.bin"))
    }

    /// Loads the tables of a vocabulary from a file. The large ones stay in the file's bytes.
    ///
    /// # Errors
    /// If the file does not contain the tables of this vocabulary in this version.
    pub fn load(vocabulary: Arc<Vocabulary>, file: &Path) -> Result<Self, ArtifactError> {
        let mut reader = Reader::open(file, FORMAT, vocabulary.fingerprint())?;
        let ids = vocabulary.len();
        if !vocabulary.adopt_trie(TokenTrie::take(&mut reader, ids)?) {
            return Err(ArtifactError::Contents("a trie is not the vocabulary's"));
        }
        let signs = Signs::take(&mut reader, vocabulary.trie())?;
        let texts = Texts::take(&mut reader, ids)?;
        let spaced = Texts::take(&mut reader, ids)?;
        let strings = Strings::take(&mut reader, &vocabulary, plain_texts(&texts).bits())?;
        let long = SignedTrie::take(&mut reader, ids)?;
        let longest_gap: u16 = reader.take_one()?;
        if usize::from(longest_gap) > vocabulary.max_token_len() {
            return Err(ArtifactError::Contents("whitespace longer than any token"));
        }
        reader.finish()?;
        Ok(Self {
            first_bytes: first_bytes(&vocabulary),
            structure: Structure::of(&vocabulary),
            vocabulary,
            signs,
            texts,
            spaced,
            strings,
            long,
            longest_gap,
            cut_off: OnceLock::new(),
        })
    }

    /// Writes the tables to a file. The file is replaced atomically, and readers of the old file keep it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn save(&self, file: &Path) -> Result<(), ArtifactError> {
        let mut writer = Writer::new(FORMAT, self.vocabulary.fingerprint());
        self.vocabulary.trie().put(&mut writer);
        self.signs.put(&mut writer);
        self.texts.put(&mut writer);
        self.spaced.put(&mut writer);
        self.strings.put(&mut writer);
        self.long.put(&mut writer);
        writer.put(&[self.longest_gap]);
        writer.save(file)
    }
}

impl SignedTrie {
    fn put(&self, writer: &mut Writer) {
        self.trie.put(writer);
        self.signs.put(writer);
    }

    fn take(reader: &mut Reader, ids: usize) -> Result<Self, ArtifactError> {
        let trie = TokenTrie::take(reader, ids)?;
        let signs = Signs::take(reader, &trie)?;
        Ok(Self { trie, signs })
    }
}

impl Strings {
    fn put(&self, writer: &mut Writer) {
        for signed in [
            &self.closing,
            &self.remainders,
            &self.escaped,
            &self.escaped_closing,
        ] {
            signed.put(writer);
        }
        writer.put(&self.at_quote);
    }

    fn take(
        reader: &mut Reader,
        vocabulary: &Vocabulary,
        plain: &TokenMask,
    ) -> Result<Self, ArtifactError> {
        let ids = vocabulary.len();
        let mut signed = || SignedTrie::take(reader, ids);
        let (closing, remainders) = (signed()?, signed()?);
        let (escaped, escaped_closing) = (signed()?, signed()?);
        let at_quote: Column<TokenId> = reader.take()?;
        if at_quote.iter().any(|token| token.index() >= ids) {
            return Err(ArtifactError::Contents("a token beyond the vocabulary"));
        }
        let tokens_of = |signed: &SignedTrie| -> Vec<(TokenId, &[u8])> {
            let tokens = signed.trie.subtree_tokens(TokenTrie::ROOT).iter();
            { tokens.map(|&id| (id, vocabulary.token_bytes(id).unwrap_or_default())) }.collect()
        };
        let (text, escapes) = (tokens_of(&closing), tokens_of(&escaped));
        let mut are_text = TokenMask::new(ids);
        text.iter().for_each(|&(id, _)| are_text.allow(id));
        if escapes.iter().any(|&(id, _)| are_text.contains(id)) {
            return Err(ArtifactError::Contents(
                "a token both with an escape and without",
            ));
        }
        let more_than_text = [&text[..], &escapes[..]].concat();
        Ok(Self {
            any: AnyStrings::new(vocabulary, plain, &more_than_text),
            before_quote: BeforeQuote::new(&more_than_text),
            prefixes: prefixes(text.into_iter()),
            closing,
            remainders,
            at_quote: at_quote.to_vec(),
            escaped,
            escaped_closing,
        })
    }
}
