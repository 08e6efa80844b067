//! A grammar joined to a vocabulary.

use std::sync::Arc;

use arc_swap::Guard;
use structgen_automata::{
    BoundProgram, CaptureProgram, Input, LimitExceeded, Limits, MachineMeter, Program,
};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Vocabulary};

use crate::named_tokens::NamedTokens;
use crate::shared::Shared;
use crate::store::{States, Store, StoreBytes};
use crate::visit::Visit;
use crate::warm_literals::warm_literals;
use crate::{CompileError, MatcherError, Statistics, VocabularyTables};

/// A grammar compiled for a vocabulary: immutable, `Send + Sync`, and cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
/// use structgen_grammar::{GrammarBuilder, JsonForm};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let mut builder = GrammarBuilder::new();
/// let root = builder.declare("root");
/// let (yes, no) = (builder.bytes("yes"), builder.bytes("no"));
/// let body = builder.choice([yes, no]);
/// builder.define(root, body);
/// let grammar = builder.finish(root, JsonForm::generate());
///
/// // All single bytes, and "yes" as one token.
/// let tokens = (0..=255).map(|byte| vec![byte]).chain([b"yes".to_vec()]);
/// let vocabulary = Arc::new(Vocabulary::from_tokens(tokens, &[])?);
/// let tables = Arc::new(VocabularyTables::new(vocabulary));
/// let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
///
/// let mut matcher = constraint.matcher();
/// let mask = matcher.mask()?;
/// let allowed = [TokenId(u32::from(b'n')), TokenId(u32::from(b'y')), TokenId(256)];
/// assert_eq!(mask.list(), Some(&allowed[..]));
/// matcher.accept_token(TokenId(256))?;
/// assert!(matcher.is_finished());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompiledConstraint {
    inner: Arc<Inner>,
}

/// Aligned to a cache line, apart from the reference count of the `Arc`, which every new matcher changes.
#[derive(Debug)]
#[repr(align(64))]
struct Inner {
    program: Arc<Program>,
    captures: Option<Arc<CaptureProgram>>,
    shared: Shared,
    store: Store,
}

/// A constraint that is bound to an input.
#[derive(Clone, Debug)]
pub struct BoundConstraint {
    /// The constraint.
    pub constraint: CompiledConstraint,
    /// JSON Pointers into the schema, sorted, of the values that are written as if they were not grounded: required
    /// ones that the input does not contain, and further ones if nothing could be written with only these ungrounded.
    pub ungrounded: Vec<Box<str>>,
}

/// How a constraint is compiled.
#[derive(Clone, Debug)]
pub struct ConstraintOptions {
    /// The model's end-of-sequence ids, allowed exactly where the output may end.
    pub eos: Vec<TokenId>,
    /// Limits of the automata.
    pub limits: Limits,
    /// The maximum size of cached masks, in bytes.
    pub mask_bytes: usize,
    /// The maximum size of cached states, in bytes.
    pub state_bytes: usize,
}

impl Default for ConstraintOptions {
    fn default() -> Self {
        Self {
            eos: Vec::new(),
            limits: Limits::default(),
            mask_bytes: 128 << 20,
            state_bytes: 256 << 20,
        }
    }
}

impl CompiledConstraint {
    /// Compiles a grammar for a vocabulary.
    ///
    /// # Errors
    /// If the grammar matches no text, it names a token that the vocabulary lacks, the vocabulary lacks a byte, or a
    /// limit is exceeded.
    pub fn new(
        grammar: Grammar,
        tables: &Arc<VocabularyTables>,
        options: &ConstraintOptions,
    ) -> Result<Self, CompileError> {
        let span = tracing::debug_span!("compile", nodes = tracing::field::Empty).entered();
        let captures = CaptureProgram::new(&grammar, &options.limits)?.map(Arc::new);
        let program = Arc::new(Program::new(grammar, options.limits.clone())?);
        span.record("nodes", program.len());
        let vocabulary = tables.vocabulary();
        check_bytes(vocabulary)?;
        if let Some(&id) = options.eos.iter().find(|id| id.index() >= vocabulary.len()) {
            return Err(CompileError::EosOutOfRange {
                id,
                len: vocabulary.len(),
            });
        }
        let bytes = StoreBytes {
            masks: options.mask_bytes,
            states: options.state_bytes,
        };
        let constraint = Self::of_program(program, captures, tables, &options.eos, bytes)?;
        let states = constraint.states();
        let visit = constraint.visit(&states);
        warm_literals(visit.with_cancel_token(options.limits.cancel.as_ref()))?;
        drop(states);
        Ok(constraint)
    }

    fn of_program(
        program: Arc<Program>,
        captures: Option<Arc<CaptureProgram>>,
        tables: &Arc<VocabularyTables>,
        eos: &[TokenId],
        bytes: StoreBytes,
    ) -> Result<Self, CompileError> {
        let tokens: Result<Vec<NamedTokens>, CompileError> = program
            .token_terminals()
            .iter()
            .map(|token| NamedTokens::find(token, tables.vocabulary(), eos))
            .collect();
        let shared = Shared {
            tables: tables.clone(),
            tokens: tokens?,
            eos: eos.into(),
        };
        let store = Store::new(program.clone(), tables, bytes)?;
        let inner = Inner {
            program,
            captures,
            shared,
            store,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Returns the constraint with its grounded values restricted to those of the input, for one request. The schema is
    /// not compiled again.
    ///
    /// Binding a bound constraint binds the one that it was made from.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use structgen_constraint::{CompiledConstraint, ConstraintOptions, Input, VocabularyTables};
    /// use structgen_grammar::{Expr, GrammarBuilder, JsonForm, StringShape};
    /// use structgen_vocab::Vocabulary;
    ///
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("name");
    /// let string = builder.expr(Expr::String(StringShape::default()));
    /// let body = builder.grounded("name", None, string);
    /// builder.define(root, body);
    /// let grammar = builder.finish(root, JsonForm::generate());
    ///
    /// let tokens = (0..=255).map(|byte| vec![byte]);
    /// let tables = Arc::new(VocabularyTables::new(Arc::new(Vocabulary::from_tokens(tokens, &[])?)));
    /// let constraint = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())?;
    ///
    /// let input = Arc::new(Input::new("Ada Lovelace\nwas 36.")?);
    /// let mut matcher = constraint.bind(&input)?.constraint.matcher();
    /// assert_eq!(matcher.check_text(b"\"Ada Lovelace\"")?, None);
    /// assert_eq!(matcher.check_text(b"\"Lovelace was\"")?, None);
    /// assert!(matcher.check_text(b"\"Ada was\"")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn bind(&self, input: &Arc<Input>) -> Result<BoundConstraint, CompileError> {
        let Inner {
            program,
            captures,
            shared,
            store,
        } = &*self.inner;
        let BoundProgram {
            program,
            ungrounded,
        } = program.bind(input)?;
        let constraint = Self::of_program(
            Arc::new(program),
            captures.clone(),
            &shared.tables,
            &shared.eos,
            store.bytes(),
        )?;
        Ok(BoundConstraint {
            constraint,
            ungrounded,
        })
    }

    /// Returns the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.inner.shared.tables.vocabulary()
    }

    /// Returns the program that the grammar was lowered to.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.inner.program
    }

    /// Returns the program that finds captures, if the grammar has any.
    #[must_use]
    pub fn captures(&self) -> Option<&CaptureProgram> {
        self.inner.captures.as_deref()
    }

    /// Returns whether the grammar names tokens.
    pub(crate) fn names_tokens(&self) -> bool {
        !self.shared().tokens.is_empty()
    }

    /// Returns the end-of-sequence ids.
    #[must_use]
    pub fn eos(&self) -> &[TokenId] {
        &self.inner.shared.eos
    }

    /// Returns what the matchers have done so far. This is cheap.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.inner.store.statistics()
    }

    /// Returns the approximate size of the cached states in bytes. Unlike [`statistics`](Self::statistics), it is
    /// measured at each call, which takes a while if there are many states.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        self.states().memory()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    /// Returns the current states.
    #[inline]
    pub(crate) fn states(&self) -> Guard<Arc<States>> {
        self.inner.store.states()
    }

    /// Returns the states for a new operation; drops the current ones first if they take too much memory.
    #[inline]
    pub(crate) fn states_with_room(&self) -> Result<Guard<Arc<States>>, LimitExceeded> {
        self.inner.store.states_with_room(self.shared())
    }

    /// Repeats with new states an operation for which those of an epoch were too full.
    pub(crate) fn renew<T>(
        &self,
        epoch: u64,
        attempt: impl FnOnce(&States) -> Result<T, MatcherError>,
    ) -> Result<T, MatcherError> {
        self.inner.store.renew(epoch, self.shared(), attempt)
    }

    /// Limits the work of machines for one operation on this thread.
    #[inline]
    pub(crate) fn meter(&self) -> MachineMeter {
        MachineMeter::begin(self.program().limits().machine_work())
    }

    /// Starts an operation on some states of this constraint.
    #[inline]
    pub(crate) fn visit<'s>(&'s self, states: &'s States) -> Visit<'s> {
        Visit::new(states, self.shared(), &self.inner.store)
    }
}

/// Every byte that can occur in UTF-8 must be a token: then any completion in bytes is also one in tokens.
fn check_bytes(vocabulary: &Vocabulary) -> Result<(), CompileError> {
    let in_utf8 = |byte: &u8| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
    match (0..=u8::MAX)
        .filter(in_utf8)
        .find(|&byte| vocabulary.byte_tokens()[usize::from(byte)].is_none())
    {
        Some(byte) => Err(CompileError::IncompleteVocabulary { byte }),
        None => Ok(()),
    }
}
