//! Terminals that many grammars have: what is found out of one serves all of them.
//!
//! Schemas are made of the same few terminals: any string, integers, the formats of strings. Building that of a format takes
//! longer than reading most schemas, and its states take longer than their masks. So the terminals that were used last are
//! kept for the whole process. A terminal takes the same texts whoever has asked it before, so sharing one saves time and
//! changes nothing else.

use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use structgen_grammar::{EscapeForm, JsonForm, NumberForm, StringContent};
use structgen_regular::RegularLimits;

use super::TerminalSpec;
use crate::TokenLengths;
use crate::terminal::Terminal;

/// How many terminals are kept of those that were used last, and as many of those before.
const KEPT: usize = 64;

/// How many bytes a terminal may take to be shared. One that has grown larger is left to those who have it.
const MAX_BYTES: usize = 1 << 20;

/// What part of its limit on expressions a terminal may have used to be shared, so that who takes it has the rest.
const MAX_USED: usize = 16;

/// For how many vocabularies a terminal is kept.
const MAX_VOCABULARIES: usize = 4;

static COMMON: LazyLock<Mutex<Common>> = LazyLock::new(Mutex::default);

/// Two generations: what is used of the older one moves to the younger, and the rest goes when that is full.
#[derive(Default)]
struct Common {
    young: HashTable<KnownTerminal>,
    old: HashTable<KnownTerminal>,
}

struct KnownTerminal {
    hash: u64,
    spec: TerminalSpec,
    escapes: EscapeForm,
    numbers: NumberForm,
    limits: RegularLimits,
    cost: Option<u32>,
    /// The terminal for each vocabulary.
    terminals: Vec<(TokenLengths, Arc<Terminal>)>,
}

/// A terminal that others may have as well: what it reads, in which form, and within which limits.
#[derive(Clone, Copy)]
pub(crate) struct CommonTerminal<'p> {
    hash: u64,
    spec: &'p TerminalSpec,
    form: &'p JsonForm,
    limits: RegularLimits,
}

impl<'p> CommonTerminal<'p> {
    /// `None` for what other grammars hardly have, what costs nothing to build, and what belongs to one input.
    pub(crate) fn of(
        spec: &'p TerminalSpec,
        form: &'p JsonForm,
        limits: RegularLimits,
    ) -> Option<Self> {
        let is_common = match spec {
            TerminalSpec::Regular(_) | TerminalSpec::Number(_) => true,
            TerminalSpec::String(shape) => !matches!(shape.content, StringContent::Literals(_)),
            TerminalSpec::Bytes(_)
            | TerminalSpec::Literals(_)
            | TerminalSpec::ListedNumbers(_)
            | TerminalSpec::Span { .. } => false,
        };
        is_common.then(|| Self {
            hash: FxBuildHasher.hash_one(spec),
            spec,
            form,
            limits,
        })
    }

    /// The length in bytes of its shortest known text, if that is known: `Some(None)` where it accepts no text.
    pub(super) fn cost(self) -> Option<Option<u32>> {
        Some(common().find(self)?.cost)
    }

    /// Notes the length in bytes of its shortest known text.
    pub(super) fn insert(self, cost: Option<u32>) {
        let mut common = common();
        if common.find(self).is_none() {
            common.insert(KnownTerminal {
                hash: self.hash,
                spec: self.spec.clone(),
                escapes: self.form.escapes,
                numbers: self.form.numbers,
                limits: self.limits,
                cost,
                terminals: Vec::new(),
            });
        }
    }

    /// The terminal for a vocabulary, if it is there and has not grown too large.
    pub(crate) fn terminal(self, tokens: TokenLengths) -> Option<Arc<Terminal>> {
        let mut common = common();
        let terminals = &mut common.find(self)?.terminals;
        let place = terminals.iter().position(|(of, _)| *of == tokens)?;
        if is_small(&terminals[place].1, self.limits) {
            Some(terminals[place].1.clone())
        } else {
            terminals.swap_remove(place);
            None
        }
    }

    /// Shares a terminal for a vocabulary.
    pub(crate) fn share(self, tokens: TokenLengths, terminal: &Arc<Terminal>) {
        if !is_small(terminal, self.limits) {
            return;
        }
        let mut common = common();
        common.drop_large();
        if let Some(entry) = common.find(self)
            && entry.terminals.len() < MAX_VOCABULARIES
            && entry.terminals.iter().all(|(of, _)| *of != tokens)
        {
            entry.terminals.push((tokens, terminal.clone()));
        }
    }
}

fn common() -> MutexGuard<'static, Common> {
    COMMON.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_small(terminal: &Terminal, limits: RegularLimits) -> bool {
    let usable = limits.bytes() / MAX_USED;
    // One that is at work will be looked at again.
    { terminal.memory_if_free() }.is_none_or(|bytes| bytes <= MAX_BYTES.min(usable))
}

impl Common {
    fn find(&mut self, terminal: CommonTerminal<'_>) -> Option<&mut KnownTerminal> {
        let is_same = |entry: &KnownTerminal| {
            entry.hash == terminal.hash
                && entry.escapes == terminal.form.escapes
                && entry.numbers == terminal.form.numbers
                && entry.limits == terminal.limits
                && entry.spec == *terminal.spec
        };
        if self.young.find(terminal.hash, is_same).is_none() {
            let older = self.old.find_entry(terminal.hash, is_same).ok()?;
            let (entry, _) = older.remove();
            self.insert(entry);
        }
        self.young.find_mut(terminal.hash, is_same)
    }

    fn insert(&mut self, entry: KnownTerminal) {
        if self.young.len() >= KEPT {
            self.old = std::mem::take(&mut self.young);
        }
        self.young
            .insert_unique(entry.hash, entry, |entry| entry.hash);
    }

    /// Leaves what has grown too large to those who have it.
    fn drop_large(&mut self) {
        for entry in self.young.iter_mut().chain(self.old.iter_mut()) {
            let limits = entry.limits;
            { &mut entry.terminals }.retain(|(_, terminal)| is_small(terminal, limits));
        }
    }
}
