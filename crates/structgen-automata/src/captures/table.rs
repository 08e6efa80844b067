//! Computes which expression matches from where to where, and one reading of the whole.
//!
//! Every user of a key receives each of its matches once (semi-naive evaluation), so a list takes time proportional to
//! its length, whether it recurses on the left or on the right.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{ExprId, RuleId, TokenTerminal};

use super::{CaptureNode, CaptureProgram, Text};
use crate::network::Network;
use crate::{LimitExceeded, Memory, Program, SetId, StepError};

/// The maximum work for one text: visited facts and steps of networks.
pub(super) const MAX_STEPS: u64 = 20_000_000;

/// The steps that a network counts for, by its memory.
const NETWORK_STEPS: u64 = 200;

/// The maximum number of keys for one text, at about 250 bytes each.
const MAX_KEYS: u32 = 1_000_000;

/// A query: an expression, the index of the first remaining part of a sequence or the number of rounds of a repetition,
/// and a position in the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    expr: ExprId,
    index: u32,
    at: u32,
    /// Whether the match has to reach the end of the text. Then no other end is stored, so a repetition up to the end
    /// does not take a quadratic table.
    is_last: bool,
}

impl Key {
    /// Returns the key of all of a part that has to reach as far.
    fn of(self, expr: ExprId) -> Self {
        Self {
            expr,
            index: 0,
            ..self
        }
    }
}

/// What is known about a key.
#[derive(Default)]
struct TableEntry {
    /// The ends of matches, in order.
    ends: Vec<u32>,
    /// Whether the text may end within a match.
    is_open: bool,
    users: Vec<User>,
}

impl TableEntry {
    fn matches(&self, until: Until) -> bool {
        match until {
            Until::End(end) => self.ends.binary_search(&end).is_ok(),
            Until::Open => self.is_open,
        }
    }

    /// Adds a match; returns whether it is new.
    fn learn(&mut self, until: Until) -> bool {
        match until {
            Until::End(end) => match self.ends.binary_search(&end) {
                Ok(_) => false,
                Err(place) => {
                    self.ends.insert(place, end);
                    true
                }
            },
            Until::Open => !std::mem::replace(&mut self.is_open, true),
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

/// A key that depends on another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum User {
    /// A key with the same matches.
    Whole(u32),
    /// A sequence or repetition whose first part it is.
    First(u32),
}

/// That a key has a match up to a position.
#[derive(Clone, Copy)]
struct Fact {
    id: u32,
    until: Until,
}

/// The rules that are being read over the same bytes: an index into [`Table::rules`].
type OpenRules = Option<u32>;

/// A capture with its start and end; without an end, it continues beyond the text.
pub(super) struct FoundCapture {
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
    entries: Vec<TableEntry>,
    /// The dependencies between keys.
    asked: FxHashSet<(u32, User)>,
    /// Keys that are not evaluated yet.
    begun: Vec<u32>,
    /// Facts that were not passed to their users yet.
    news: Vec<Fact>,
    networks: FxHashMap<ExprId, Network>,
    /// Rules being read, each linked to those around it over the same bytes.
    rules: Vec<(RuleId, OpenRules)>,
    most_steps: u64,
    steps: u64,
}

impl<'t> Table<'t> {
    pub(super) fn new(
        program: &'t CaptureProgram,
        text: &'t Text<'t, 't>,
        terminals: &'t [TokenTerminal],
        steps: u64,
    ) -> Self {
        Self {
            program,
            text,
            terminals,
            ids: FxHashMap::default(),
            keys: Vec::new(),
            entries: Vec::new(),
            asked: FxHashSet::default(),
            begun: Vec::new(),
            news: Vec::new(),
            networks: FxHashMap::default(),
            rules: Vec::new(),
            most_steps: steps,
            steps: 0,
        }
    }

    /// Returns the captures of the text; `None` if it is neither a text of the grammar nor the beginning of one.
    pub(super) fn read(
        &mut self,
        is_complete: bool,
    ) -> Result<Option<Vec<FoundCapture>>, LimitExceeded> {
        let grammar = &self.program.grammar;
        let root = Key {
            expr: grammar.rule(grammar.root()).body,
            index: 0,
            at: 0,
            is_last: true,
        };
        let id = self.id(root)?;
        loop {
            if let Some(id) = self.begun.pop() {
                self.begin(id)?;
            } else if let Some(fact) = self.news.pop() {
                for at in 0..self.entries[fact.id as usize].users.len() {
                    let user = self.entries[fact.id as usize].users[at];
                    self.pass(user, fact.until)?;
                }
            } else {
                break;
            }
        }
        let until = match is_complete {
            true => Until::End(self.text.end()),
            false => Until::Open,
        };
        if !self.entries[id as usize].matches(until) {
            return Ok(None);
        }
        let rules = self.within(grammar.root(), None);
        self.walk(Fact { id, until }, rules).map(Some)
    }

    fn spend(&mut self, steps: u64) -> Result<(), LimitExceeded> {
        self.steps += steps;
        if self.steps > self.most_steps {
            return Err(LimitExceeded {
                what: "steps of looking for captures",
                limit: self.most_steps,
            });
        }
        Ok(())
    }

    pub(super) fn steps_left(&self) -> u64 {
        self.most_steps.saturating_sub(self.steps)
    }

    fn id(&mut self, key: Key) -> Result<u32, LimitExceeded> {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            if next == MAX_KEYS {
                return Err(LimitExceeded {
                    what: "questions in looking for captures",
                    limit: MAX_KEYS.into(),
                });
            }
            self.keys.push(key);
            self.entries.push(TableEntry::default());
            self.begun.push(id);
        }
        Ok(id)
    }

    /// Registers a user of a key; it receives the known matches and all later ones.
    fn ask(&mut self, key: Key, user: User) -> Result<(), LimitExceeded> {
        let id = self.id(key)?;
        if !self.asked.insert((id, user)) {
            return Ok(());
        }
        self.entries[id as usize].users.push(user);
        if self.entries[id as usize].is_open {
            self.pass(user, Until::Open)?;
        }
        for at in 0..self.entries[id as usize].ends.len() {
            let end = self.entries[id as usize].ends[at];
            self.pass(user, Until::End(end))?;
        }
        Ok(())
    }

    /// Adds what follows from a match of a key that was used.
    fn pass(&mut self, user: User, until: Until) -> Result<(), LimitExceeded> {
        self.spend(1)?;
        match (user, until) {
            (User::Whole(id), _) => self.tell(id, until),
            (User::First(id), Until::Open) => self.tell(id, Until::Open),
            (User::First(id), Until::End(end)) => {
                let key = self.keys[id as usize];
                if end > key.at || !self.needs_bytes(key) {
                    self.ask(self.rest(key, end), User::Whole(id))?;
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, id: u32, until: Until) {
        if let Until::End(end) = until
            && self.keys[id as usize].is_last
            && end != self.text.end()
        {
            return;
        }
        if self.entries[id as usize].learn(until) {
            self.news.push(Fact { id, until });
        }
    }

    /// Registers the keys that a key depends on.
    fn begin(&mut self, id: u32) -> Result<(), LimitExceeded> {
        let key = self.keys[id as usize];
        let program = self.program;
        self.spend(1)?;
        match &program.nodes[&key.expr] {
            CaptureNode::Never => {}
            CaptureNode::Leaf(leaf) => self.run_leaf(id, key, leaf)?,
            node @ (CaptureNode::Choice(_)
            | CaptureNode::Rule { .. }
            | CaptureNode::Capture { .. }) => {
                for &part in node.children() {
                    self.ask(key.of(part), User::Whole(id))?;
                }
            }
            CaptureNode::Sequence(_) | CaptureNode::Repeat { .. } => {
                let (first, may_end) = self.first_part(key);
                if may_end {
                    self.tell(id, Until::End(key.at));
                }
                if let Some(first) = first {
                    self.ask(first, User::First(id))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the first part of a sequence or repetition, and whether it may be over.
    fn first_part(&self, key: Key) -> (Option<Key>, bool) {
        match &self.program.nodes[&key.expr] {
            CaptureNode::Sequence(parts) => {
                let part = parts.get(key.index as usize);
                let is_last = key.is_last && key.index as usize + 1 == parts.len();
                let first = |part: &ExprId| Key {
                    is_last,
                    ..key.of(*part)
                };
                (part.map(first), part.is_none())
            }
            CaptureNode::Repeat { body, min, max } => {
                let goes_on = max.is_none_or(|max| key.index < max);
                let round = Key {
                    is_last: false,
                    ..key.of(*body)
                };
                (goes_on.then_some(round), key.index >= *min)
            }
            _ => (None, false),
        }
    }

    /// Returns whether the first part must have bytes, as every round beyond the required ones must.
    fn needs_bytes(&self, key: Key) -> bool {
        match &self.program.nodes[&key.expr] {
            CaptureNode::Repeat { min, .. } => key.index >= *min,
            _ => false,
        }
    }

    /// Returns the rest of a sequence or repetition after its first part.
    fn rest(&self, key: Key, at: u32) -> Key {
        let index = match &self.program.nodes[&key.expr] {
            // After the minimum, the number of rounds does not matter.
            CaptureNode::Repeat { min, max: None, .. } => (key.index + 1).min(*min),
            _ => key.index + 1,
        };
        Key { index, at, ..key }
    }

    /// Runs the network of a part without captures.
    fn run_leaf(&mut self, id: u32, key: Key, leaf: &Arc<Program>) -> Result<(), LimitExceeded> {
        let network = match self.networks.remove(&key.expr) {
            Some(network) => network,
            None => {
                self.spend(NETWORK_STEPS)?;
                Network::new(leaf.clone())?
            }
        };
        // A token that matches a terminal skips its bytes, so that several ways may meet.
        let mut states = BTreeMap::from([(key.at, network.start())]);
        while let Some((at, state)) = states.pop_first() {
            self.spend(1)?;
            if network
                .call()
                .is_accepting(state)
                .map_err(StepError::limit)?
            {
                self.tell(id, Until::End(at));
            }
            if at == self.text.end() {
                if !network.call().is_final(state).map_err(StepError::limit)? {
                    self.tell(id, Until::Open);
                }
                break;
            }
            let mut lead = |network: &Network, to: u32, next: SetId| {
                let other = states.get(&to).copied().unwrap_or(SetId::DEAD);
                let both = match (other, next) {
                    (other, SetId::DEAD) => other,
                    (SetId::DEAD, next) => next,
                    (other, next) => network.call().union(other, next)?,
                };
                if both != SetId::DEAD {
                    states.insert(to, both);
                }
                Ok::<(), LimitExceeded>(())
            };
            if let Some(byte) = self.text.byte(at) {
                let next = network.call().step(state, byte, Memory::Exact);
                lead(&network, at + 1, next.map_err(StepError::limit)?)?;
            }
            let Some((end, terminals)) = self.text.token(at) else {
                continue;
            };
            for &terminal in terminals {
                let terminal = self.terminals.get(terminal as usize);
                let mut own = leaf.token_terminals().iter();
                if let Some(own) = own.position(|own| Some(own) == terminal) {
                    let next = network.call().step_token(state, own as u32);
                    lead(&network, end, next.map_err(StepError::limit)?)?;
                }
            }
        }
        self.networks.insert(key.expr, network);
        Ok(())
    }

    /// Returns one reading of a fact: the one that counts.
    fn walk(&mut self, root: Fact, rules: OpenRules) -> Result<Vec<FoundCapture>, LimitExceeded> {
        let program = self.program;
        let mut found = Vec::new();
        let mut todo = vec![(root, rules)];
        let mut way = Vec::new();
        while let Some((fact, mut rules)) = todo.pop() {
            self.spend(1)?;
            let key = self.keys[fact.id as usize];
            match &program.nodes[&key.expr] {
                CaptureNode::Rule { rule, .. } => rules = self.within(*rule, rules),
                CaptureNode::Capture { name, .. } => found.push(FoundCapture {
                    name: name.clone(),
                    start: key.at,
                    end: match fact.until {
                        Until::End(end) => Some(end),
                        Until::Open => None,
                    },
                }),
                _ => {}
            }
            self.ways(fact, |table, parts| {
                way.clear();
                for &part in parts {
                    let goes_round = table.is_same_span(fact, part) && table.is_circle(fact, part);
                    let rules = if goes_round { rules } else { None };
                    if !table.is_read_without(part, rules)? {
                        return Ok(false);
                    }
                    way.push((part, rules));
                }
                Ok(true)
            })?;
            todo.extend(way.drain(..).rev());
        }
        Ok(found)
    }

    fn within(&mut self, rule: RuleId, rules: OpenRules) -> OpenRules {
        self.rules.push((rule, rules));
        Some(self.rules.len() as u32 - 1)
    }

    fn is_same_span(&self, fact: Fact, part: Fact) -> bool {
        let [at, part_at] = [fact, part].map(|fact| self.keys[fact.id as usize].at);
        (at, fact.until) == (part_at, part.until)
    }

    /// Returns whether a fact may be a part of its own part.
    fn is_circle(&self, fact: Fact, part: Fact) -> bool {
        let [circle, part_circle] = [fact, part].map(|fact| {
            let expr = self.keys[fact.id as usize].expr;
            self.program.circles.get(&expr)
        });
        circle.is_some() && circle == part_circle
    }

    /// Passes the parts of each reading of a fact to `take`, the preferred one first, until it accepts one.
    fn ways(
        &mut self,
        fact: Fact,
        mut take: impl FnMut(&mut Self, &[Fact]) -> Result<bool, LimitExceeded>,
    ) -> Result<(), LimitExceeded> {
        let program = self.program;
        let until = fact.until;
        let key = self.keys[fact.id as usize];
        match &program.nodes[&key.expr] {
            CaptureNode::Never => {}
            CaptureNode::Leaf(_) => {
                take(self, &[])?;
            }
            node @ (CaptureNode::Choice(_)
            | CaptureNode::Rule { .. }
            | CaptureNode::Capture { .. }) => {
                for &arm in node.children() {
                    if let Some(arm) = self.fact(key.of(arm), until)
                        && take(self, &[arm])?
                    {
                        break;
                    }
                }
            }
            CaptureNode::Sequence(_) | CaptureNode::Repeat { .. } => {
                let (first, may_end) = self.first_part(key);
                if may_end && until == Until::End(key.at) {
                    take(self, &[])?;
                    return Ok(());
                }
                let Some(first) = first else {
                    return Ok(());
                };
                if until == Until::Open
                    && let Some(first) = self.fact(first, Until::Open)
                    && take(self, &[first])?
                {
                    return Ok(());
                }
                let first = self.ids[&first];
                let ends = &self.entries[first as usize].ends;
                let mut left = match until {
                    Until::End(last) => ends.partition_point(|&end| end <= last),
                    Until::Open => ends.len(),
                };
                // The longest first.
                while left > 0 {
                    self.spend(1)?;
                    left -= 1;
                    let end = self.entries[first as usize].ends[left];
                    if end == key.at && self.needs_bytes(key) {
                        break;
                    }
                    let first = Fact {
                        id: first,
                        until: Until::End(end),
                    };
                    if let Some(rest) = self.fact(self.rest(key, end), until)
                        && take(self, &[first, rest])?
                    {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the fact that a key has this match, if it does.
    fn fact(&self, key: Key, until: Until) -> Option<Fact> {
        let &id = self.ids.get(&key)?;
        let fact = Fact { id, until };
        self.entries[id as usize].matches(until).then_some(fact)
    }

    /// Returns whether a fact can be read without those rules over the same bytes, and without reading a rule as
    /// itself.
    fn is_read_without(&mut self, goal: Fact, rules: OpenRules) -> Result<bool, LimitExceeded> {
        let mut busy = FxHashSet::default();
        let mut next = rules;
        while let Some(place) = next {
            self.spend(1)?;
            let (rule, within) = self.rules[place as usize];
            busy.insert(rule);
            next = within;
        }
        if busy.is_empty() {
            return Ok(true);
        }
        // All facts that may be parts over the same bytes, and which of them each reading consists of.
        let program = self.program;
        let mut facts = vec![goal];
        let mut places = FxHashMap::from_iter([(goal.id, 0)]);
        let mut ways: Vec<Vec<Vec<usize>>> = Vec::new();
        while let Some(&fact) = facts.get(ways.len()) {
            self.spend(1)?;
            let mut own = Vec::new();
            let expr = self.keys[fact.id as usize].expr;
            let is_busy = match &program.nodes[&expr] {
                CaptureNode::Rule { rule, .. } => busy.contains(rule),
                _ => false,
            };
            if !is_busy {
                self.ways(fact, |table, parts| {
                    table.spend(1)?;
                    let mut inner = Vec::new();
                    for &part in parts {
                        if table.is_same_span(fact, part) {
                            inner.push(*places.entry(part.id).or_insert(facts.len()));
                            if facts.len() == places.len() - 1 {
                                facts.push(part);
                            }
                        }
                    }
                    let is_certain = inner.is_empty();
                    own.push(inner);
                    Ok(is_certain)
                })?;
            }
            ways.push(own);
        }
        // The parts of a fact were mostly found after it.
        let mut is_read = vec![false; facts.len()];
        loop {
            self.spend(facts.len() as u64)?;
            let mut has_changed = false;
            for (place, ways) in ways.iter().enumerate().rev() {
                let reads = |way: &Vec<usize>| way.iter().all(|&part| is_read[part]);
                if !is_read[place] && ways.iter().any(reads) {
                    is_read[place] = true;
                    has_changed = true;
                }
            }
            if is_read[0] || !has_changed {
                return Ok(is_read[0]);
            }
        }
    }
}
