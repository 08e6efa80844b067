//! Vocabularies: a small one whose tokens cross every border of JSON, and those of real tokenizers.

use std::sync::{Arc, OnceLock};

use structgen::constraint::{Matcher, VocabularyTables};
use structgen::decode::{
    GenerateError, GenerateOptions, Generation, MockModel, Request, Scheduler,
};
use structgen::vocab::{TokenId, Tokenizer, Vocabulary};

use crate::data_folder;

/// Tokens beyond the single bytes: each crosses some border of JSON, or is a common piece of it.
const PIECES: &[&str] = &[
    "\":",
    "\": ",
    "\",",
    "\", ",
    "\", \"",
    "\",\"",
    "{\"",
    "{ \"",
    "\"}",
    "\"]",
    "}}",
    "]}",
    "]]",
    "}]",
    "},{\"",
    "[[",
    "[{\"",
    "[\"",
    "],[",
    ",\"",
    ", \"",
    ":\"",
    ": \"",
    "\\\"",
    "\\\\",
    "\\n",
    "\\u",
    "\\u00",
    "\\ud83d",
    "u0061",
    "00",
    "tr",
    "true",
    "ue",
    "fal",
    "false",
    "null",
    "ll",
    "10",
    "123",
    "0.",
    ".5",
    "1e",
    "e5",
    "E+",
    "-1",
    "-",
    "12345678",
    "99999999",
    "0000",
    "2024-",
    "-01-",
    "T12:",
    ":00Z",
    "@",
    ".com",
    "a@b.",
    "http://",
    "192.168.",
    "é",
    "日",
    "日本",
    "😀",
    "a",
    "aa",
    "aaaa",
    "aaaaaaaa",
    "ab",
    "the",
    " the",
    "name",
    "\"name\"",
    "name\":",
    "id",
    "\"id\":",
    "id\":1",
    "value",
    "items",
    "type",
    "kind",
    " ",
    "  ",
    "    ",
    "\n",
    "\n  ",
    "\t",
    ": ",
    ", ",
    "1,2",
    "1, 2",
    "\"a\":\"b\"",
    "a\":1,\"b\":",
    "red",
    "green",
    "x,y",
    "()",
    "((",
    "))",
    "+1",
    "1+1",
];

/// Tokens that are parts of characters.
const PARTS: &[&[u8]] = &[
    &[0xE6, 0x97],
    &[0x97, 0xA5],
    &[0xC3],
    &[0xF0, 0x9F],
    &[0x98, 0x80],
    &[0xA9, b'"'],
];

/// A vocabulary with its tables and its end-of-sequence id.
#[derive(Clone, Debug)]
pub struct TestVocabulary {
    /// What it is called.
    pub name: &'static str,
    /// The tables of the vocabulary.
    pub tables: Arc<VocabularyTables>,
    /// The end-of-sequence id.
    pub eos: TokenId,
}

impl TestVocabulary {
    /// The vocabulary itself.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.tables.vocabulary()
    }

    /// How many logits there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.vocabulary().len()
    }

    /// The output of a model after a prompt of one token.
    ///
    /// # Errors
    /// As [`Scheduler::run`].
    pub fn generate(
        &self,
        model: MockModel,
        matcher: Matcher,
        options: GenerateOptions,
    ) -> Result<Generation, GenerateError> {
        let request = Request::new([self.eos], matcher).with_options(options);
        let mut scheduler = Scheduler::new(model, self.vocabulary().clone());
        scheduler.run(request)?.single()
    }
}

/// All bytes, and pieces that cross the borders of everything that JSON has.
///
/// # Panics
/// Never: the vocabulary is a constant.
#[must_use]
pub fn small() -> TestVocabulary {
    static SMALL: OnceLock<TestVocabulary> = OnceLock::new();
    SMALL.get_or_init(|| make("small", &[])).clone()
}

/// [`small`] with two special tokens more, `<think>` and `</think>`.
///
/// # Panics
/// Never: the vocabulary is a constant.
#[must_use]
pub fn with_special_tokens() -> TestVocabulary {
    static SPECIAL: OnceLock<TestVocabulary> = OnceLock::new();
    let make = || make("small, with special tokens", &["<think>", "</think>"]);
    SPECIAL.get_or_init(make).clone()
}

fn make(name: &'static str, special: &[&str]) -> TestVocabulary {
    let longer = PIECES.iter().filter(|piece| piece.len() > 1);
    let tokens: Vec<Vec<u8>> = (0..=u8::MAX)
        .map(|byte| vec![byte])
        .chain(longer.map(|piece| piece.as_bytes().to_vec()))
        .chain(
            PARTS
                .iter()
                .filter(|part| part.len() > 1)
                .map(|part| part.to_vec()),
        )
        .collect();
    let eos = TokenId(tokens.len() as u32);
    let names = ["<eos>"].iter().chain(special);
    let ids = tokens.len() as u32..;
    let special: Vec<(TokenId, &str)> = ids.map(TokenId).zip(names.copied()).collect();
    let vocabulary =
        Vocabulary::from_tokens(tokens, &special).expect("the pieces are a vocabulary");
    TestVocabulary {
        name,
        tables: Arc::new(VocabularyTables::new(Arc::new(vocabulary))),
        eos,
    }
}

/// The real tokenizers of the tests, with the names of their end-of-sequence tokens.
pub const REAL: [(&str, &str); 3] = [
    ("gpt2", "<|endoftext|>"),
    ("phi3", "<|endoftext|>"),
    ("llama3", "<|end_of_text|>"),
];

/// The vocabulary of a real tokenizer of [`REAL`], or none where the data set is not there.
///
/// # Panics
/// When there is a file of that name, and it is no tokenizer or has another end-of-sequence token.
#[must_use]
pub fn real(name: &str) -> Option<TestVocabulary> {
    let (name, eos) = REAL.into_iter().find(|(known, _)| *known == name)?;
    let file = data_folder("tokenizers")?.join(format!("{name}.json"));
    let tokenizer = Tokenizer::from_file(file).expect("the tokenizer is understood");
    let vocabulary = tokenizer.vocabulary().clone();
    let eos = vocabulary
        .special_token(eos)
        .expect("the tokenizer has its end-of-sequence token");
    Some(TestVocabulary {
        name,
        tables: Arc::new(VocabularyTables::new(vocabulary)),
        eos,
    })
}
