//! Which expression matches from where to where, and one way of reading the whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{ExprId, TokenTerminal};

use super::{CaptureProgram, Node, Text};
use crate::network::Network;
use crate::{LimitExceeded, Memory, Program, SetId, StepError};

/// The most work for one text: looks at facts, and steps of networks.
const MAX_STEPS: u64 = 20_000_000;

/// What is asked: an expression, for sequences from which part on and for repetitions behind how many rounds, and where in the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    expr: ExprId,
    index: u32,
    at: u32,
    /// Whether the match has to reach the end of the text: then no other end is noted, so that what repeats to the end takes no table that is the
    /// square of the text.
    is_last: bool,
}

impl Key {
    /// The question for all of a part that has to reach as far.
    fn of(self, expr: ExprId) -> Self {
        Self {
            expr,
            index: 0,
            ..self
        }
    }
}

/// What is known of a key, each with a number that is larger than those of the facts that it follows from.
#[derive(Default)]
struct Entry {
    /// Where a match may end.
    ends: BTreeMap<u32, u32>,
    /// Whether the text may end in the middle of a match.
    open: Option<u32>,
    /// What follows from it.
    users: Vec<u32>,
    is_waiting: bool,
}

impl Entry {
    fn rank(&self, until: Until) -> Option<u32> {
        match until {
            Until::End(end) => self.ends.get(&end).copied(),
            Until::Open => self.open,
        }
    }
}

/// How far a match reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End(u32),
    /// Beyond the text.
    Open,
}

/// A capture: from which place to which; without an end, beyond the text.
pub(super) struct Found {
    pub(super) name: Arc<str>,
    pub(super) start: u32,
    pub(super) end: Option<u32>,
}

pub(super) struct Table<'t> {
    program: &'t CaptureProgram,
    text: &'t Text<'t, 't>,
    terminals: &'t [TokenTerminal],
    ids: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    entries: Vec<Entry>,
    /// Who has asked whom.
    asked: FxHashSet<(u32, u32)>,
    waiting: Vec<u32>,
    networks: FxHashMap<ExprId, Network>,
    facts: u32,
    steps: u64,
}

impl<'t> Table<'t> {
    pub(super) fn new(
        program: &'t CaptureProgram,
        text: &'t Text<'t, 't>,
        terminals: &'t [TokenTerminal],
    ) -> Self {
        Self {
            program,
            text,
            terminals,
            ids: FxHashMap::default(),
            keys: Vec::new(),
            entries: Vec::new(),
            asked: FxHashSet::default(),
            waiting: Vec::new(),
            networks: FxHashMap::default(),
            facts: 0,
            steps: 0,
        }
    }

    /// The captures of the text; `None` where it is no text of the grammar, or no beginning of one that goes on.
    pub(super) fn read(&mut self, is_complete: bool) -> Result<Option<Vec<Found>>, LimitExceeded> {
        let root = Key {
            expr: self.program.root,
            index: 0,
            at: 0,
            is_last: true,
        };
        let root = self.id(root);
        while let Some(id) = self.waiting.pop() {
            self.entries[id as usize].is_waiting = false;
            self.compute(id)?;
        }
        let until = match is_complete {
            true => Until::End(self.text.end()),
            false => Until::Open,
        };
        if self.entries[root as usize].rank(until).is_none() {
            return Ok(None);
        }
        self.walk(root, until).map(Some)
    }

    fn spend(&mut self, steps: u64) -> Result<(), LimitExceeded> {
        self.steps += steps;
        if self.steps > MAX_STEPS {
            return Err(LimitExceeded {
                what: "steps of looking for captures",
                limit: MAX_STEPS,
            });
        }
        Ok(())
    }

    fn id(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
            self.entries.push(Entry {
                is_waiting: true,
                ..Entry::default()
            });
            self.waiting.push(id);
        }
        id
    }

    /// What a key that another follows from is known to match.
    fn ask(&mut self, user: u32, key: Key) -> u32 {
        let id = self.id(key);
        if self.asked.insert((id, user)) {
            self.entries[id as usize].users.push(user);
        }
        id
    }

    fn tell(&mut self, id: u32, until: Until) {
        if let Until::End(end) = until
            && self.keys[id as usize].is_last
            && end != self.text.end()
        {
            return;
        }
        let entry = &mut self.entries[id as usize];
        if entry.rank(until).is_some() {
            return;
        }
        self.facts += 1;
        match until {
            Until::End(end) => {
                entry.ends.insert(end, self.facts);
            }
            Until::Open => entry.open = Some(self.facts),
        }
        for at in 0..self.entries[id as usize].users.len() {
            let user = self.entries[id as usize].users[at];
            let entry = &mut self.entries[user as usize];
            if !std::mem::replace(&mut entry.is_waiting, true) {
                self.waiting.push(user);
            }
        }
    }

    /// Adds what follows from what is known.
    fn compute(&mut self, id: u32) -> Result<(), LimitExceeded> {
        let key = self.keys[id as usize];
        let program = self.program;
        self.spend(1)?;
        match &program.nodes[&key.expr] {
            Node::Leaf(leaf) => {
                if let Some(leaf) = leaf {
                    self.run_leaf(id, key, leaf)?;
                }
            }
            Node::Choice(arms) => {
                for &arm in arms {
                    self.copy(id, key.of(arm))?;
                }
            }
            Node::Rule(body) | Node::Capture { body, .. } => self.copy(id, key.of(*body))?,
            Node::Sequence(_) | Node::Repeat { .. } => {
                let (first, ends_here) = self.first_part(key);
                if ends_here {
                    self.tell(id, Until::End(key.at));
                }
                let Some((first, needs_bytes)) = first else {
                    return Ok(());
                };
                let first = self.ask(id, first);
                let entry = &self.entries[first as usize];
                let ends: Vec<u32> = entry.ends.keys().copied().collect();
                if entry.open.is_some() {
                    self.tell(id, Until::Open);
                }
                for end in ends {
                    if end > key.at || !needs_bytes {
                        self.copy(id, self.rest(key, end))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What a sequence or repetition reads first, and whether that has to have bytes; and whether it may be over.
    fn first_part(&self, key: Key) -> (Option<(Key, bool)>, bool) {
        match &self.program.nodes[&key.expr] {
            Node::Sequence(parts) => {
                let part = parts.get(key.index as usize);
                let is_last = key.is_last && key.index as usize + 1 == parts.len();
                let first = |part: &ExprId| Key {
                    is_last,
                    ..key.of(*part)
                };
                (part.map(|part| (first(part), false)), part.is_none())
            }
            Node::Repeat { body, min, max } => {
                let may_end = key.index >= *min;
                let goes_on = max.is_none_or(|max| key.index < max);
                let round = Key {
                    is_last: false,
                    ..key.of(*body)
                };
                (goes_on.then_some((round, may_end)), may_end)
            }
            _ => (None, false),
        }
    }

    /// What a sequence or repetition goes on with behind its first part.
    fn rest(&self, key: Key, at: u32) -> Key {
        let index = match &self.program.nodes[&key.expr] {
            // Behind the fewest rounds, how many there were says nothing.
            Node::Repeat { min, max: None, .. } => (key.index + 1).min(*min),
            _ => key.index + 1,
        };
        Key { index, at, ..key }
    }

    /// All that another key matches.
    fn copy(&mut self, id: u32, from: Key) -> Result<(), LimitExceeded> {
        let from = self.ask(id, from);
        let entry = &self.entries[from as usize];
        let ends: Vec<u32> = entry.ends.keys().copied().collect();
        let is_open = entry.open.is_some();
        self.spend(1 + ends.len() as u64)?;
        if is_open {
            self.tell(id, Until::Open);
        }
        for end in ends {
            self.tell(id, Until::End(end));
        }
        Ok(())
    }

    /// Runs the network of a part without captures.
    fn run_leaf(&mut self, id: u32, key: Key, leaf: &Arc<Program>) -> Result<(), LimitExceeded> {
        let mut network = match self.networks.remove(&key.expr) {
            Some(network) => network,
            None => Network::new(leaf.clone())?,
        };
        // A token that is a terminal leads beyond the bytes that it has, so that several ways may meet.
        let mut states = BTreeMap::from([(key.at, network.start())]);
        while let Some((at, state)) = states.pop_first() {
            self.spend(1)?;
            if network.is_accepting(state).map_err(StepError::limit)? {
                self.tell(id, Until::End(at));
            }
            if at == self.text.end() {
                if !network.is_final(state).map_err(StepError::limit)? {
                    self.tell(id, Until::Open);
                }
                break;
            }
            let mut lead = |network: &mut Network, to: u32, next: SetId| {
                let other = states.get(&to).copied().unwrap_or(SetId::DEAD);
                let both = match (other, next) {
                    (other, SetId::DEAD) => other,
                    (SetId::DEAD, next) => next,
                    (other, next) => network.union(other, next)?,
                };
                if both != SetId::DEAD {
                    states.insert(to, both);
                }
                Ok::<(), LimitExceeded>(())
            };
            if let Some(byte) = self.text.byte(at) {
                let next = network.step(state, byte, Memory::Exact);
                lead(&mut network, at + 1, next.map_err(StepError::limit)?)?;
            }
            let Some((end, terminals)) = self.text.token(at) else {
                continue;
            };
            for &terminal in terminals {
                let terminal = self.terminals.get(terminal as usize);
                let mut own = leaf.token_terminals().iter();
                if let Some(own) = own.position(|own| Some(own) == terminal) {
                    let next = network.step_token(state, own as u32);
                    lead(&mut network, end, next.map_err(StepError::limit)?)?;
                }
            }
        }
        self.networks.insert(key.expr, network);
        Ok(())
    }

    /// One way of reading what a key matches: the one that counts.
    fn walk(&mut self, root: u32, until: Until) -> Result<Vec<Found>, LimitExceeded> {
        let program = self.program;
        let mut found = Vec::new();
        let mut todo = vec![(root, until)];
        while let Some((id, until)) = todo.pop() {
            self.spend(1)?;
            let key = self.keys[id as usize];
            // Nothing is read as itself: over the same bytes, what leads back has to have been known before.
            let leads = |table: &mut Self, part: Key, to: Until| -> Result<_, LimitExceeded> {
                let Some(part_id) = table.matches(part, to) else {
                    return Ok(None);
                };
                let is_same = part.at == key.at && to == until;
                let leads = !is_same
                    || table.rank(part_id, to) < table.rank(id, until)
                    || !table.leads_back(part_id, until, id)?;
                Ok(leads.then_some(part_id))
            };
            match &program.nodes[&key.expr] {
                Node::Leaf(_) => {}
                Node::Choice(arms) => {
                    for arm in arms {
                        if let Some(arm) = leads(self, key.of(*arm), until)? {
                            todo.push((arm, until));
                            break;
                        }
                    }
                }
                Node::Rule(body) => {
                    let body = leads(self, key.of(*body), until)?;
                    todo.extend(body.map(|body| (body, until)));
                }
                Node::Capture { name, body } => {
                    found.push(Found {
                        name: name.clone(),
                        start: key.at,
                        end: match until {
                            Until::End(end) => Some(end),
                            Until::Open => None,
                        },
                    });
                    let body = leads(self, key.of(*body), until)?;
                    todo.extend(body.map(|body| (body, until)));
                }
                Node::Sequence(_) | Node::Repeat { .. } => {
                    let (Some((first, needs_bytes)), _) = self.first_part(key) else {
                        continue;
                    };
                    if until == Until::Open
                        && let Some(first) = leads(self, first, Until::Open)?
                    {
                        todo.push((first, Until::Open));
                        continue;
                    }
                    // Without a part to begin with, a repetition is over.
                    for end in self.ends(first, key.at, needs_bytes) {
                        self.spend(1)?;
                        let Some(first) = leads(self, first, Until::End(end))? else {
                            continue;
                        };
                        if let Some(rest) = leads(self, self.rest(key, end), until)? {
                            todo.push((rest, until));
                            todo.push((first, Until::End(end)));
                            break;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Where what a sequence begins with may end, the longest first.
    fn ends(&self, first: Key, at: u32, needs_bytes: bool) -> Vec<u32> {
        let Some(&first) = self.ids.get(&first) else {
            return Vec::new();
        };
        let ends = self.entries[first as usize].ends.keys().rev().copied();
        ends.filter(|&end| end > at || !needs_bytes).collect()
    }

    fn rank(&self, id: u32, until: Until) -> Option<u32> {
        self.entries[id as usize].rank(until)
    }

    /// The question, if it is known to match so far.
    fn matches(&self, key: Key, until: Until) -> Option<u32> {
        let &id = self.ids.get(&key)?;
        self.rank(id, until).map(|_| id)
    }

    /// Whether what is matched may be read as the goal, which is asked at the same place, over the same bytes.
    fn leads_back(&mut self, from: u32, until: Until, goal: u32) -> Result<bool, LimitExceeded> {
        let mut seen = FxHashSet::default();
        let mut open = vec![from];
        while let Some(id) = open.pop() {
            if id == goal {
                return Ok(true);
            }
            if !seen.insert(id) {
                continue;
            }
            self.spend(1)?;
            let key = self.keys[id as usize];
            match &self.program.nodes[&key.expr] {
                Node::Leaf(_) => {}
                Node::Choice(arms) => {
                    let arms = arms.iter();
                    open.extend(arms.filter_map(|arm| self.matches(key.of(*arm), until)));
                }
                Node::Rule(body) | Node::Capture { body, .. } => {
                    open.extend(self.matches(key.of(*body), until));
                }
                Node::Sequence(_) | Node::Repeat { .. } => {
                    let (Some((first, needs_bytes)), _) = self.first_part(key) else {
                        continue;
                    };
                    // The first part is all there is, or nothing is.
                    let rest_is_empty = match until {
                        Until::Open => true,
                        Until::End(end) => self.matches(self.rest(key, end), until).is_some(),
                    };
                    if rest_is_empty {
                        open.extend(self.matches(first, until));
                    }
                    if !needs_bytes && self.matches(first, Until::End(key.at)).is_some() {
                        open.extend(self.matches(self.rest(key, key.at), until));
                    }
                }
            }
        }
        Ok(false)
    }
}
