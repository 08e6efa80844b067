//! The terminals of a network: those of the program, and those that depend on what an object or array still allows.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_grammar::{Regular, Whitespace};

use super::Frame;
use super::distinct::ItemMachine;
use super::values::Excluded;
use crate::json::{
    ClassMachine, Content, KeyContent, Punctuation, PunctuationMachine, StringMachine,
};
use crate::program::{NodeId, Program};
use crate::terminal::{DEAD, START, Terminal, TerminalState};
use crate::{LimitExceeded, StepError, TokenLengths};
use structgen_regular::{RegularLimits, RegularMachine};

/// Terminals by number: first those of the program, then the others as they are needed.
#[derive(Debug)]
pub(crate) struct Terminals {
    program: Arc<Program>,
    built: Vec<Option<Terminal>>,
    punctuation: FxHashMap<(Punctuation, u32), u32>,
    keys: FxHashMap<KeyPlace, Option<u32>>,
    /// By object and class of keys.
    classes: FxHashMap<(u32, usize), ClassMachine>,
    items: FxHashMap<ItemPlace, u32>,
    /// By the terminal of an item and the sketch of a start the start itself, where that is not [`START`].
    starts: FxHashMap<(u32, TerminalState), TerminalState>,
    listed: FxHashMap<ListedPlace, Option<u32>>,
    /// The lists of such items, by their addresses, each with the numbers of its texts.
    lists: FxHashMap<usize, List>,
    /// Which alternative of its slot the terminal of an item reads, where that is not the first.
    alternatives: FxHashMap<u32, u32>,
    /// The most whitespace that a token has in a row.
    tokens: TokenLengths,
}

/// What the next key of an object depends on: the object, its register, and its depth where that is near the limit.
type KeyPlace = (u32, u32, u32);

/// Texts and their labels.
type List = (Arc<[Box<str>]>, Arc<[u32]>);

/// What the next of several distinct items out of a list depends on: the list, by its address in the program, and the values that are
/// there.
pub(super) type ListedPlace = (usize, Excluded);

/// What reads one of several distinct items, whatever the others are: where it begins, its depth where that is near the limit, and its
/// label.
pub(super) type ItemPlace = (NodeId, u32, u32);

impl Terminals {
    pub(super) fn new(program: &Arc<Program>, tokens: TokenLengths) -> Self {
        Self {
            program: program.clone(),
            built: program.terminals.iter().map(|_| None).collect(),
            punctuation: FxHashMap::default(),
            keys: FxHashMap::default(),
            classes: FxHashMap::default(),
            items: FxHashMap::default(),
            starts: FxHashMap::default(),
            listed: FxHashMap::default(),
            lists: FxHashMap::default(),
            alternatives: FxHashMap::default(),
            tokens,
        }
    }

    /// Makes sure that a terminal of the program is there.
    pub(super) fn ensure(&mut self, terminal: u32) -> Result<(), LimitExceeded> {
        if self.built[terminal as usize].is_none() {
            let program = self.program.clone();
            let spec = &program.terminals[terminal as usize];
            let built = match program.ready.take(terminal) {
                Some(built) => built,
                None => spec.terminal(&program.form, &program.limits)?,
            };
            self.built[terminal as usize] = Some(built.for_tokens(self.tokens));
        }
        Ok(())
    }

    /// A terminal that is there, since a frame is in it.
    pub(super) fn get(&self, terminal: u32) -> &Terminal {
        self.built[terminal as usize]
            .as_ref()
            .expect("a frame is made once its terminal is there")
    }

    pub(super) fn get_mut(&mut self, terminal: u32) -> &mut Terminal {
        self.built[terminal as usize]
            .as_mut()
            .expect("a frame is made once its terminal is there")
    }

    #[inline]
    pub(super) fn step(
        &mut self,
        terminal: u32,
        state: TerminalState,
        byte: u8,
    ) -> Result<TerminalState, StepError> {
        self.get_mut(terminal).step(state, byte)
    }

    fn add(&mut self, terminal: Terminal) -> u32 {
        let terminal = terminal.for_tokens(self.tokens);
        self.built.push(Some(terminal));
        (self.built.len() - 1) as u32
    }

    /// The terminal of punctuation of an object or array whose members are so deep.
    pub(super) fn punctuation(
        &mut self,
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
        let id = self.add(Terminal::new(machine)?);
        self.punctuation.insert((punctuation, depth), id);
        Ok(id)
    }

    /// The terminal of an object's next key, where it has been asked for already: `Some(None)` where no key may come.
    pub(super) fn known_keys(&self, state: KeyPlace) -> Option<Option<u32>> {
        self.keys.get(&state).copied()
    }

    /// Makes the terminal of an object's next key; `None` where no key may come.
    pub(super) fn add_keys(
        &mut self,
        state: KeyPlace,
        content: KeyContent,
    ) -> Result<Option<u32>, LimitExceeded> {
        let id = self.add_strings(content)?;
        self.keys.insert(state, id);
        Ok(id)
    }

    /// The automaton of a class of an object's keys.
    pub(super) fn class_machine(
        &mut self,
        class: (u32, usize),
        keys: &Regular,
        limits: RegularLimits,
    ) -> Result<ClassMachine, LimitExceeded> {
        if let Some(known) = self.classes.get(&class) {
            return Ok(known.clone());
        }
        let machine = ClassMachine::new(RegularMachine::new(keys, limits)?);
        self.classes.insert(class, machine.clone());
        Ok(machine)
    }

    /// The terminal of an item, where it has been asked for already.
    pub(super) fn known_item(&self, place: &ItemPlace) -> Option<u32> {
        self.items.get(place).copied()
    }

    /// The state before an item that is none of some values, without the texts that sketches do not keep; `None` where there is no such item.
    pub(super) fn item_start(
        &mut self,
        terminal: u32,
        excluded: Excluded,
    ) -> Result<Option<TerminalState>, StepError> {
        let item = self.get_mut(terminal);
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

    /// The state before an item, with all texts, for a frame in which nothing has been read.
    pub(super) fn exact_start(&self, frame: Frame) -> TerminalState {
        let start = self.starts.get(&(frame.terminal, frame.state));
        start.copied().unwrap_or(START)
    }

    /// Which alternative of its slot the terminal of an item reads.
    pub(super) fn alternative(&self, terminal: u32) -> usize {
        self.alternatives.get(&terminal).copied().unwrap_or(0) as usize
    }

    /// A list of items, as all terminals share it.
    pub(super) fn list(&mut self, texts: &[Box<str>]) -> List {
        let list = self.lists.entry(texts.as_ptr().addr());
        let new = || (texts.into(), (0..texts.len() as u32).collect());
        list.or_insert_with(new).clone()
    }

    /// The terminal of an item out of a list, where it has been asked for already.
    pub(super) fn known_listed(&self, place: &ListedPlace) -> Option<Option<u32>> {
        self.listed.get(place).copied()
    }

    /// Makes the terminal of an item out of a list; `None` where none is left.
    pub(super) fn add_listed(
        &mut self,
        place: ListedPlace,
        content: KeyContent,
    ) -> Result<Option<u32>, LimitExceeded> {
        let id = self.add_strings(content)?;
        self.listed.insert(place, id);
        Ok(id)
    }

    fn add_strings(&mut self, content: KeyContent) -> Result<Option<u32>, LimitExceeded> {
        let escapes = self.program.form.escapes;
        let terminal = Terminal::new(StringMachine::new(Content::Keys(content), escapes))?;
        Ok((!terminal.is_never()).then(|| self.add(terminal)))
    }

    /// Makes the terminal of an item.
    pub(super) fn add_item(
        &mut self,
        place: ItemPlace,
        machine: ItemMachine,
    ) -> Result<u32, LimitExceeded> {
        let id = self.add(Terminal::new(machine)?);
        self.alternatives.insert(id, place.2);
        self.items.insert(place, id);
        Ok(id)
    }

    pub(super) fn memory(&self) -> usize {
        let terminals = self.built.iter().flatten().map(Terminal::memory);
        terminals.sum::<usize>()
            + self.built.capacity() * size_of::<Option<Terminal>>()
            + (self.items.capacity() + self.starts.capacity() + self.listed.capacity()) * 20
    }
}
