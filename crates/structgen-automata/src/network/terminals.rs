//! The terminals of a network: those of the program, and those that depend on what an object or array still allows.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use structgen_grammar::{Regular, Whitespace};
use structgen_memo::{Memo, Segments};

use super::Frame;
use super::distinct::ItemMachine;
use super::values::Excluded;
use super::written::CostClass;
use crate::json::{
    ClassMachine, Content, KeyContent, Punctuation, PunctuationMachine, StringMachine, TextSet,
};
use crate::listing::ListedTexts;
use crate::program::{CommonTerminal, NodeId, Program};
use crate::terminal::{DEAD, START, Terminal, TerminalState};
use crate::{LimitExceeded, StepError, TokenLengths};
use structgen_regular::{RegularLimits, RegularMachine};

/// Terminals by number: first those of the program, then others as they are needed.
#[derive(Debug)]
pub(crate) struct Terminals {
    program: Arc<Program>,
    of_program: Box<[Built]>,
    others: Segments<Built>,
    /// The number of terminals so far.
    len: AtomicU32,
    punctuation: Memo<(Punctuation, u32), u32>,
    keys: Memo<KeyPlace, Option<KeyStart>>,
    /// The costs of an object's declared keys beyond their bytes.
    weights: Memo<WeightPlace, Arc<[Option<u32>]>>,
    /// By object and class of keys.
    classes: Memo<(u32, usize), ClassMachine>,
    items: Memo<ItemPlace, u32>,
    /// The exact start state by item terminal and the sketch of that state, if it is not [`START`].
    starts: Memo<(u32, TerminalState), TerminalState>,
    listed: Memo<ListedPlace, Option<u32>>,
    /// The lists of such items by address, each with the numbers of its texts.
    lists: Memo<usize, List>,
    /// The alternative of the slot that an item's terminal reads, if it is not the first.
    alternatives: Memo<u32, u32>,
    /// The maximum lengths of tokens.
    tokens: TokenLengths,
}

/// A terminal, built on demand.
type Built = OnceLock<Arc<Terminal>>;

/// What the next key of an object depends on: the object, its register, its depth if that is near the limit, and the
/// class of costs of related values.
type KeyPlace = (u32, u32, u32, CostClass);

/// Where the next key of an object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyStart {
    pub(super) terminal: u32,
    pub(super) state: TerminalState,
}

/// What the weights of an object's keys depend on: the object, its depth if that is near the limit, and the class of
/// costs of related values.
pub(super) type WeightPlace = (u32, u32, CostClass);

/// Texts and their labels.
type List = (ListedTexts, Arc<[u32]>);

/// What the next of several distinct listed items depends on: the list, by its address in the program, and the values
/// already present.
pub(super) type ListedPlace = (usize, Excluded);

/// What the terminal of a distinct item depends on, whatever the others are: its node, its depth where that matters,
/// and its label.
pub(super) type ItemPlace = (NodeId, u32, u32);

impl Terminals {
    pub(super) fn new(program: &Arc<Program>, tokens: TokenLengths) -> Self {
        Self {
            program: program.clone(),
            of_program: program.terminals.iter().map(|_| Built::new()).collect(),
            others: Segments::default(),
            len: AtomicU32::new(program.terminals.len() as u32),
            punctuation: Memo::default(),
            keys: Memo::default(),
            weights: Memo::default(),
            classes: Memo::default(),
            items: Memo::default(),
            starts: Memo::default(),
            listed: Memo::default(),
            lists: Memo::default(),
            alternatives: Memo::default(),
            tokens,
        }
    }

    /// Returns the maximum lengths of the tokens that terminals are stepped with.
    pub(super) fn tokens(&self) -> TokenLengths {
        self.tokens
    }

    /// Builds a terminal of the program if necessary.
    pub(super) fn ensure(&self, terminal: u32) -> Result<(), LimitExceeded> {
        let place = &self.of_program[terminal as usize];
        if place.get().is_none() {
            let program = &self.program;
            let spec = &program.terminals[terminal as usize];
            let common = CommonTerminal::of(spec, &program.form, program.limits.regular);
            let terminal = match common.and_then(|common| common.terminal(self.tokens)) {
                Some(shared) => shared,
                None => {
                    let built = match program.ready.take(terminal) {
                        Some(built) => built,
                        None => spec.terminal(&program.form, &program.limits)?,
                    };
                    let built = Arc::new(built.for_tokens(self.tokens));
                    if let Some(common) = common {
                        common.share(self.tokens, &built);
                    }
                    built
                }
            };
            // If several threads have built it, the first one is kept.
            place.get_or_init(|| terminal);
        }
        Ok(())
    }

    /// Returns a terminal that was built, since a frame is in it.
    #[inline(always)]
    pub(super) fn get(&self, terminal: u32) -> &Terminal {
        let number = terminal as usize;
        let built = match self.of_program.get(number) {
            Some(built) => built,
            None => &self.others[number - self.of_program.len()],
        };
        built
            .get()
            .expect("a frame is made once its terminal is there")
    }

    pub(super) fn add(&self, terminal: Terminal) -> u32 {
        let number = self.len.fetch_add(1, Ordering::Relaxed);
        let place = self.others.make(number as usize - self.of_program.len());
        place.get_or_init(|| Arc::new(terminal.for_tokens(self.tokens)));
        number
    }

    /// Returns the terminal of punctuation of an object or array whose members are at this depth.
    pub(super) fn punctuation(
        &self,
        punctuation: Punctuation,
        depth: u32,
    ) -> Result<u32, LimitExceeded> {
        let whitespace = self.program.form.whitespace;
        let depth = match whitespace {
            Whitespace::Indented { .. } if punctuation != Punctuation::Colon => depth,
            _ => 0,
        };
        if let Some(&id) = self.punctuation.get(&(punctuation, depth)) {
            return Ok(id);
        }
        let machine = PunctuationMachine::new(punctuation, whitespace, depth);
        let terminal = Terminal::new(machine)?;
        let place = (punctuation, depth);
        Ok(*self
            .punctuation
            .get_or_insert_with(place, || self.add(terminal)))
    }

    /// Returns the cached start of an object's next key; `Some(None)` if no key may come.
    pub(super) fn known_keys(&self, place: KeyPlace) -> Option<Option<KeyStart>> {
        self.keys.get(&place).copied()
    }

    /// Builds the terminal of an object's next key; `None` if no key may come.
    pub(super) fn add_keys(
        &self,
        place: KeyPlace,
        content: KeyContent,
    ) -> Result<Option<KeyStart>, LimitExceeded> {
        let terminal = self.strings(content)?;
        Ok(*self.keys.get_or_insert_with(place, || {
            terminal.map(|terminal| KeyStart {
                terminal: self.add(terminal),
                state: START,
            })
        }))
    }

    /// Adds the start of a key that is none of those seen, in the terminal of the object's keys; `None` if no key may
    /// come.
    pub(super) fn add_keys_without(
        &self,
        place: KeyPlace,
        all: Option<KeyStart>,
        seen: TextSet,
    ) -> Result<Option<KeyStart>, StepError> {
        let start = match all {
            Some(KeyStart { terminal, .. }) if seen != TextSet::NONE => {
                let state = self.get(terminal).start_without(seen.number())?;
                Some(KeyStart { terminal, state }).filter(|_| state != DEAD)
            }
            all => all,
        };
        Ok(*self.keys.insert(place, start))
    }

    /// Returns the cached costs of an object's declared keys beyond their bytes.
    pub(super) fn known_weights(&self, place: &WeightPlace) -> Option<Arc<[Option<u32>]>> {
        self.weights.get(place).cloned()
    }

    /// Caches the costs of an object's declared keys beyond their bytes.
    pub(super) fn add_weights(
        &self,
        place: WeightPlace,
        weights: Arc<[Option<u32>]>,
    ) -> Arc<[Option<u32>]> {
        self.weights.insert(place, weights).clone()
    }

    /// Returns the automaton of a class of an object's keys.
    pub(super) fn class_machine(
        &self,
        class: (u32, usize),
        keys: &Regular,
        limits: RegularLimits,
    ) -> Result<ClassMachine, LimitExceeded> {
        if let Some(known) = self.classes.get(&class) {
            return Ok(known.clone());
        }
        let machine = ClassMachine::new(RegularMachine::new(keys, limits)?);
        Ok(self.classes.insert(class, machine).clone())
    }

    /// Returns the cached terminal of an item.
    pub(super) fn known_item(&self, place: &ItemPlace) -> Option<u32> {
        self.items.get(place).copied()
    }

    /// Returns the state before an item that differs from some values, without the texts that sketches omit; `None` if
    /// there is no such item.
    pub(super) fn item_start(
        &self,
        terminal: u32,
        excluded: Excluded,
    ) -> Result<Option<TerminalState>, StepError> {
        let item = self.get(terminal);
        if excluded == Excluded::NONE {
            return Ok(Some(item.sketch(START)?).filter(|_| !item.is_never()));
        }
        let start = item.start_without(excluded.number())?;
        if start == DEAD {
            return Ok(None);
        }
        let sketch = item.sketch(start)?;
        self.starts.insert((terminal, sketch), start);
        Ok(Some(sketch))
    }

    /// Returns the exact state before an item, for a frame in which nothing was read.
    pub(super) fn exact_start(&self, frame: Frame) -> TerminalState {
        let start = self.starts.get(&(frame.terminal, frame.state));
        start.copied().unwrap_or(START)
    }

    /// Returns the alternative of its slot that an item's terminal reads.
    pub(super) fn alternative(&self, terminal: u32) -> usize {
        self.alternatives.get(&terminal).copied().unwrap_or(0) as usize
    }

    /// Returns a list of items, which all terminals share.
    pub(super) fn list(&self, texts: &[Box<str>]) -> List {
        let address = texts.as_ptr().addr();
        if let Some(known) = self.lists.get(&address) {
            return known.clone();
        }
        let list = (
            texts.iter().cloned().collect(),
            (0..texts.len() as u32).collect(),
        );
        self.lists.insert(address, list).clone()
    }

    /// Returns the cached terminal of a listed item.
    pub(super) fn known_listed(&self, place: &ListedPlace) -> Option<Option<u32>> {
        self.listed.get(place).copied()
    }

    /// Builds the terminal of a listed item; `None` if none is left.
    pub(super) fn add_listed(
        &self,
        place: ListedPlace,
        content: KeyContent,
    ) -> Result<Option<u32>, LimitExceeded> {
        let terminal = self.strings(content)?;
        Ok(*self
            .listed
            .get_or_insert_with(place, || terminal.map(|it| self.add(it))))
    }

    /// Creates a terminal of strings; `None` if it accepts no text.
    fn strings(&self, content: KeyContent) -> Result<Option<Terminal>, LimitExceeded> {
        let escapes = self.program.form.escapes;
        let terminal = Terminal::new(StringMachine::new(Content::Keys(content), escapes))?;
        Ok(Some(terminal).filter(|terminal| !terminal.is_never()))
    }

    /// Builds the terminal of an item.
    pub(super) fn add_item(
        &self,
        place: ItemPlace,
        machine: ItemMachine,
    ) -> Result<u32, LimitExceeded> {
        let terminal = Terminal::new(machine)?;
        Ok(*self.items.get_or_insert_with(place, || {
            let number = self.add(terminal);
            self.alternatives.insert(number, place.2);
            number
        }))
    }

    pub(super) fn memory(&self) -> usize {
        let others = self.len.load(Ordering::Relaxed) as usize - self.of_program.len();
        let others = (0..others).filter_map(|number| self.others.get(number));
        let built = self.of_program.iter().chain(others);
        let built = built.filter_map(|built| Some(built.get()?.memory()));
        built.sum::<usize>()
            + size_of_val(&*self.of_program)
            + self.others.memory()
            + self.items.memory()
            + self.starts.memory()
            + self.listed.memory()
            + self.keys.memory()
    }
}
