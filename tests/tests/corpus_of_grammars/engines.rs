//! One grammar on three engines, in step: the naive oracle, masks made when they are asked for, and masks out of a
//! file.

use std::collections::HashSet;

use structgen::Constraint;
use structgen::constraint::{CompiledConstraint, ConstraintOptions, Matcher, WarmLimits, oracle};
use structgen::vocab::{TokenId, TokenMask};
use structgen_tests::SplitMix;
use structgen_tests::vocabularies::TestVocabulary;

/// The engines, and what they were asked.
pub(crate) struct Engines<'v> {
    vocabulary: &'v TestVocabulary,
    lazy: CompiledConstraint,
    ready: CompiledConstraint,
    random: SplitMix,
    seen: HashSet<(u64, structgen::automata::SetId)>,
    /// The masks that were compared, one for each state.
    pub(crate) masks: usize,
    pub(crate) errors: Vec<String>,
}

impl<'v> Engines<'v> {
    pub(crate) fn new(
        constraint: &Constraint,
        vocabulary: &'v TestVocabulary,
    ) -> Result<Self, structgen::Error> {
        let compile = || constraint.compile(&vocabulary.tables, &[vocabulary.eos]);
        let warm = compile()?;
        let limits = WarmLimits {
            states: 60,
            ..WarmLimits::default()
        };
        warm.warm(&limits)?;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("constraint");
        warm.save(&file).expect("the constraint can be written");
        let options = ConstraintOptions {
            eos: vec![vocabulary.eos],
            ..ConstraintOptions::default()
        };
        let ready = CompiledConstraint::load(&vocabulary.tables, &options, &file)
            .expect("the constraint can be read");
        Ok(Self {
            vocabulary,
            lazy: compile()?,
            ready,
            random: SplitMix::new(11),
            seen: HashSet::new(),
            masks: 0,
            errors: Vec::new(),
        })
    }

    /// Whether a text is taken, as bytes, as long tokens and as some of any length. What differs is an error.
    pub(crate) fn takes_text(&mut self, text: &[u8]) -> bool {
        let mut verdicts = [1, usize::MAX, 0].map(|longest| {
            let tokens = self.tokens(text, longest);
            self.takes(&tokens)
        });
        verdicts.sort_unstable();
        if verdicts[0] != verdicts[2] {
            self.errors.push(format!(
                "{:?} is taken in some tokens only",
                String::from_utf8_lossy(text)
            ));
        }
        verdicts[0]
    }

    /// Whether a text in pieces is taken; see `Case::accept_tokens`.
    pub(crate) fn takes_pieces(&mut self, pieces: &[String]) -> bool {
        let mut tokens = Vec::new();
        for piece in pieces {
            let id = piece
                .strip_prefix("<[")
                .and_then(|id| id.strip_suffix("]>"));
            match (id, self.vocabulary.vocabulary().special_token(piece)) {
                (Some(id), _) => tokens.push(TokenId(id.parse().expect("a number"))),
                (None, Some(special)) => tokens.push(special),
                (None, None) => tokens.extend(self.tokens(piece.as_bytes(), usize::MAX)),
            }
        }
        self.takes(&tokens)
    }

    /// A text as tokens of at most so many bytes; 0: of any length, by chance.
    fn tokens(&mut self, text: &[u8], longest: usize) -> Vec<TokenId> {
        let vocabulary = self.vocabulary.vocabulary();
        let trie = vocabulary.trie();
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let most = vocabulary.max_token_len().min(text.len() - at);
            let most = match longest {
                0 => 1 + self.random.below(most),
                _ => most.min(longest),
            };
            let (token, len) = (1..=most)
                .rev()
                .find_map(|len| {
                    let node = trie.find(&text[at..at + len])?;
                    Some((*trie.tokens(node).first()?, len))
                })
                .expect("every byte is a token");
            tokens.push(token);
            at += len;
        }
        tokens
    }

    fn takes(&mut self, tokens: &[TokenId]) -> bool {
        let (mut lazy, mut ready) = (self.lazy.matcher(), self.ready.matcher());
        for (taken, &token) in tokens.iter().enumerate() {
            let mask = self.mask(&mut lazy, &mut ready, &tokens[..taken]);
            if !mask.contains(token) {
                if lazy.clone().accept_token(token).is_ok() {
                    self.errors
                        .push(format!("{token:?} is taken, and not in the mask"));
                }
                return false;
            }
            for matcher in [&mut lazy, &mut ready] {
                if let Err(error) = matcher.accept_token(token) {
                    self.errors
                        .push(format!("{token:?} is in the mask, and refused: {error}"));
                    return false;
                }
            }
        }
        let mask = self.mask(&mut lazy, &mut ready, tokens);
        mask.contains(self.vocabulary.eos)
    }

    /// The mask, which has to be the same on all engines.
    fn mask(&mut self, lazy: &mut Matcher, ready: &mut Matcher, taken: &[TokenId]) -> TokenMask {
        let mask = lazy.mask().expect("within the limits").bits().clone();
        let loaded = ready.mask().expect("within the limits");
        let mut wrong = Vec::new();
        if loaded.bits() != &mask {
            wrong.push("out of a file");
        }
        if self
            .seen
            .insert(oracle::state(lazy).expect("within the limits"))
        {
            self.masks += 1;
            if oracle::mask(lazy).expect("within the limits") != mask {
                wrong.push("of the oracle");
            }
        }
        if mask.count() == 0 {
            wrong.push("of no token at all");
        }
        for what in wrong {
            let bytes = |&token: &TokenId| self.vocabulary.vocabulary().token_bytes(token);
            let text: Vec<u8> = taken.iter().filter_map(bytes).flatten().copied().collect();
            self.errors.push(format!(
                "a mask {what} differs behind {:?}",
                String::from_utf8_lossy(&text)
            ));
        }
        mask
    }
}
