//! Adapts llguidance to the benchmark's engine interface.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory, TokenParser};
use structgen::vocab::{TokenId, Tokenizer};
use structgen_maskbench::{Case, Engine, encode_answer};
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenizerEnv};

/// llguidance, with what it builds once per tokenizer.
pub struct LlGuidance {
    factory: ParserFactory,
}

struct Environment {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        // Forced text is tokenized as by the tokenizer, so it has to be the real one.
        self.trie.tokenize_with_greedy_fallback(bytes, |text| {
            let tokens = encode_answer(&self.tokenizer, text).unwrap_or_default();
            tokens.into_iter().map(|token| token.0).collect()
        })
    }
}

impl LlGuidance {
    /// Creates the engine with a tokenizer.
    ///
    /// # Errors
    /// If llguidance does not accept the vocabulary.
    pub fn new(tokenizer: &Arc<Tokenizer>, eos: TokenId) -> anyhow::Result<Self> {
        let vocabulary = tokenizer.vocabulary();
        // A special token has a marker byte before its name, which no text contains.
        let bytes = |id: u32| match vocabulary.token_bytes(TokenId(id)) {
            Some(bytes) => bytes.to_vec(),
            None => {
                let name = vocabulary.token_name(TokenId(id)).unwrap_or_default();
                [&[TokTrie::SPECIAL_TOKEN_MARKER], name.as_bytes()].concat()
            }
        };
        let words: Vec<Vec<u8>> = (0..vocabulary.len() as u32).map(bytes).collect();
        let info = TokRxInfo::new(words.len() as u32, eos.0);
        let env: TokEnv = Arc::new(Environment {
            trie: TokTrie::from(&info, &words),
            tokenizer: tokenizer.clone(),
        });
        let mut factory = ParserFactory::new_simple(&env)?;
        factory.quiet();
        Ok(Self { factory })
    }

    /// Compiles a grammar of any kind.
    pub(crate) fn compile_grammar(&self, grammar: TopLevelGrammar) -> Result<TokenParser, String> {
        self.factory
            .create_parser(grammar)
            .map_err(|error| error.to_string())
    }
}

impl Engine for LlGuidance {
    type Compiled = TokenParser;
    type State = Matcher;

    fn compile(&mut self, case: &Case) -> Result<TokenParser, String> {
        self.compile_grammar(TopLevelGrammar::from_json_schema(case.schema.clone()))
    }

    fn start(&mut self, compiled: &TokenParser) -> Result<Matcher, String> {
        Ok(Matcher::new(Ok(compiled.deep_clone())))
    }

    fn mask_has(&mut self, state: &mut Matcher, token: u32) -> Result<bool, String> {
        Ok(state
            .compute_mask()
            .map_err(|error| error.to_string())?
            .is_allowed(token))
    }

    fn accept(&mut self, state: &mut Matcher, token: u32) -> Result<(), String> {
        state
            .consume_token(token)
            .map_err(|error| error.to_string())
    }

    fn may_end(&mut self, state: &mut Matcher) -> Result<bool, String> {
        state.is_accepting().map_err(|error| error.to_string())
    }
}
