//! Terminals shared by many grammars: what is computed for one grammar serves all.
//!
//! Schemas consist of the same few terminals: any string, integers, the formats of strings. Building the terminal of a
//! format takes longer than reading most schemas, and computing its states takes longer than their masks. So the most
//! recently used terminals are cached for the whole process. A terminal accepts the same texts whoever used it before,
//! so sharing saves time and changes nothing else.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use structgen_grammar::keyed::keyed_hash;
use structgen_grammar::{EscapeForm, JsonForm, NumberForm, StringContent};
use structgen_regular::RegularLimits;

use super::TerminalSpec;
use crate::TokenLengths;
use crate::terminal::Terminal;

/// The number of recently used terminals that are kept, in each of two generations.
const KEPT: usize = 64;

/// The maximum size in bytes of a shared terminal. One that has grown larger is left to its current users.
const MAX_BYTES: usize = 1 << 20;

/// A shared terminal may have used this fraction of its limit on expressions, so that its users have the rest.
const MAX_USED: usize = 16;

/// The number of vocabularies for which a terminal is kept.
const MAX_VOCABULARIES: usize = 4;

static COMMON: LazyLock<Mutex<Common>> = LazyLock::new(Mutex::default);

/// Two generations: what is used moves from the older to the younger one; when that is full, the rest is dropped.
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

/// A terminal that others may use: what it reads, in which form, and within which limits.
#[derive(Clone, Copy)]
pub(crate) struct CommonTerminal<'p> {
    hash: u64,
    spec: &'p TerminalSpec,
    form: &'p JsonForm,
    limits: RegularLimits,
}

impl<'p> CommonTerminal<'p> {
    /// Returns `None` for terminals that other grammars rarely have, that are cheap to build, or that belong to one
    /// input.
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
            hash: keyed_hash(spec),
            spec,
            form,
            limits,
        })
    }

    /// Returns the length in bytes of its shortest known text, if cached; `Some(None)` if it accepts no text.
    pub(super) fn cost(self) -> Option<Option<u32>> {
        Some(common().find(self)?.cost)
    }

    /// Caches the length in bytes of the shortest known text of a terminal that was just built.
    pub(super) fn insert(self, terminal: &Terminal, cost: Option<u32>) {
        if is_small(terminal, self.limits) {
            common().insert(self, cost);
        }
    }

    /// Returns the terminal for a vocabulary, if it is cached and has not grown too large.
    pub(crate) fn terminal(self, tokens: TokenLengths) -> Option<Arc<Terminal>> {
        common().terminal(self, tokens)
    }

    /// Shares a terminal for a vocabulary.
    pub(crate) fn share(self, tokens: TokenLengths, terminal: &Arc<Terminal>) {
        if is_small(terminal, self.limits) {
            common().share(self, tokens, terminal);
        }
    }
}

fn common() -> MutexGuard<'static, Common> {
    COMMON.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_small(terminal: &Terminal, limits: RegularLimits) -> bool {
    let usable = limits.bytes() / MAX_USED;
    // One that is in use will be checked again.
    { terminal.memory_if_free() }.is_none_or(|bytes| bytes <= MAX_BYTES.min(usable))
}

impl Common {
    fn find(&mut self, terminal: CommonTerminal<'_>) -> Option<&mut KnownTerminal> {
        let is_same = |known: &KnownTerminal| {
            known.hash == terminal.hash
                && known.escapes == terminal.form.escapes
                && known.numbers == terminal.form.numbers
                && known.limits == terminal.limits
                && known.spec == *terminal.spec
        };
        if self.young.find(terminal.hash, is_same).is_none() {
            let older = self.old.find_entry(terminal.hash, is_same).ok()?;
            let (known, _) = older.remove();
            self.add(known);
        }
        self.young.find_mut(terminal.hash, is_same)
    }

    fn insert(&mut self, terminal: CommonTerminal<'_>, cost: Option<u32>) {
        if self.find(terminal).is_none() {
            self.add(KnownTerminal {
                hash: terminal.hash,
                spec: terminal.spec.clone(),
                escapes: terminal.form.escapes,
                numbers: terminal.form.numbers,
                limits: terminal.limits,
                cost,
                terminals: Vec::new(),
            });
        }
    }

    fn add(&mut self, known: KnownTerminal) {
        if self.young.len() >= KEPT {
            self.old = std::mem::take(&mut self.young);
        }
        { &mut self.young }.insert_unique(known.hash, known, |known| known.hash);
    }

    fn terminal(
        &mut self,
        terminal: CommonTerminal<'_>,
        tokens: TokenLengths,
    ) -> Option<Arc<Terminal>> {
        let terminals = &mut self.find(terminal)?.terminals;
        let place = terminals.iter().position(|(of, _)| *of == tokens)?;
        if is_small(&terminals[place].1, terminal.limits) {
            return Some(terminals[place].1.clone());
        }
        terminals.swap_remove(place);
        None
    }

    fn share(
        &mut self,
        terminal: CommonTerminal<'_>,
        tokens: TokenLengths,
        shared: &Arc<Terminal>,
    ) {
        self.drop_large();
        if let Some(known) = self.find(terminal)
            && known.terminals.len() < MAX_VOCABULARIES
            && known.terminals.iter().all(|(of, _)| *of != tokens)
        {
            known.terminals.push((tokens, shared.clone()));
        }
    }

    /// Drops terminals that have grown too large; their users keep them.
    fn drop_large(&mut self) {
        for known in self.young.iter_mut().chain(self.old.iter_mut()) {
            let limits = known.limits;
            { &mut known.terminals }.retain(|(_, terminal)| is_small(terminal, limits));
        }
    }
}

#[cfg(test)]
mod tests {
    use structgen_grammar::{CharSet, Regular};

    use super::*;
    use crate::Limits;
    use crate::terminal::START;

    const TOKENS: TokenLengths = TokenLengths::UNKNOWN;

    fn spec(first: char) -> TerminalSpec {
        let words = Regular::repeat(Regular::Chars(CharSet::new([('a', 'z')])), 1, Some(400));
        TerminalSpec::Regular(Regular::concat([
            Regular::literal(&first.to_string()),
            words,
        ]))
    }

    /// Returns the terminal, built if it is not cached.
    fn find_or_build(common: &mut Common, spec: &TerminalSpec, limits: &Limits) -> Arc<Terminal> {
        let form = JsonForm::generate();
        let place = CommonTerminal::of(spec, &form, limits.regular).expect("others may have it");
        if let Some(known) = common.terminal(place, TOKENS) {
            return known;
        }
        let built = spec.terminal(&form, limits).expect("it is small");
        let built = Arc::new(built.for_tokens(TOKENS));
        common.insert(place, Some(2));
        common.share(place, TOKENS, &built);
        built
    }

    #[test]
    fn a_terminal_is_shared_until_it_has_used_its_part_of_the_limit() {
        let mut common = Common::default();
        let mut limits = Limits::default();
        limits.regular.expressions = 2_000;
        let words = spec('1');
        let terminal = find_or_build(&mut common, &words, &limits);
        assert!(Arc::ptr_eq(
            &terminal,
            &find_or_build(&mut common, &words, &limits)
        ));
        let others = find_or_build(&mut common, &words, &Limits::default());
        assert!(!Arc::ptr_eq(&terminal, &others), "limits are part of it");

        let mut state = START;
        for byte in [b"1", &[b'a'; 200][..]].concat() {
            state = terminal.step(state, byte).expect("it goes on");
        }
        assert!(!Arc::ptr_eq(
            &terminal,
            &find_or_build(&mut common, &words, &limits)
        ));
    }

    #[test]
    fn those_that_were_used_last_are_kept() {
        let mut common = Common::default();
        let limits = Limits::default();
        let (used, left) = (spec('1'), spec('2'));
        let first = find_or_build(&mut common, &used, &limits);
        find_or_build(&mut common, &left, &limits);
        for other in ('\u{4E00}'..).take(4 * KEPT) {
            find_or_build(&mut common, &spec(other), &limits);
            assert!(Arc::ptr_eq(
                &first,
                &find_or_build(&mut common, &used, &limits)
            ));
        }
        let form = JsonForm::generate();
        let left = CommonTerminal::of(&left, &form, limits.regular).expect("others may have it");
        assert!(common.find(left).is_none());
        assert!(common.young.len() + common.old.len() <= 2 * KEPT);
    }
}
