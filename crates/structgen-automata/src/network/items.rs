//! Arrays: which item may come next, and what their registers remember.

use std::sync::{Arc, Mutex};

use super::distinct::ItemMachine;
use super::register::ArrayRegister;
use super::sets::{LOST, NOT_BEGUN, Place};
use super::{Element, Frame, Network, SetId, StepError};
use crate::LimitExceeded;
use crate::json::{KeyContent, Punctuation, Value, escaped_length};
use crate::program::{Alternative, ArrayProgram, Bounds, Group, NodeId, Program, Use};

/// The most items that a set of distinct ones may have to have.
const MAX_DISTINCT: u32 = 128;

/// How many arrays of distinct items may be inside one another.
const MAX_LEVELS: u32 = 48;

/// How many arrays that need several distinct items may need one another for that.
const MAX_NEEDED_LEVELS: u32 = 4;

impl Network {
    pub(super) fn open_array(
        &mut self,
        array: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let shape = &self.program.arrays[array as usize];
        let data = if shape.remembers() {
            let counts = shape.no_counts();
            self.registers.add_array(ArrayRegister {
                counts,
                ..ArrayRegister::default()
            })
        } else {
            0
        };
        let (more_allowed, close_allowed) = self.items_go_on(array, data, below)?;
        let open = Punctuation::Open {
            open: b'[',
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(open, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ArrayOpen(array), terminal, data, 0),
            below,
        }))
    }

    pub(super) fn after_item(
        &mut self,
        array: u32,
        data: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let (more_allowed, close_allowed) = self.items_go_on(array, data, below)?;
        let after = Punctuation::After {
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(after, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ArrayAfter(array), terminal, data, 0),
            below,
        }))
    }

    /// Whether another item may come, and whether the array may end.
    fn items_go_on(
        &mut self,
        array: u32,
        data: u32,
        below: SetId,
    ) -> Result<(bool, bool), StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        if !shape.remembers() {
            return Ok((self.item_allowed(array, data, below), data >= shape.min));
        }
        let counts = self.registers.array(data).counts.clone();
        let close_allowed = shape.bounds().are_met(&counts);
        let more_allowed = if shape.is_plainly_distinct() && self.is_vast_item(shape) {
            shape.max.is_none_or(|max| counts.members < max) && self.item_fits(shape, below)
        } else {
            self.has_next_item(array, data, below)?
        };
        Ok((more_allowed, close_allowed))
    }

    /// Whether another item may come. Nothing is entered where that can be told without: items may be arrays like this one.
    fn has_next_item(&mut self, array: u32, data: u32, below: SetId) -> Result<bool, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let register = self.registers.array(data).clone();
        if shape.unique && (register.unknown || !register.values.is_empty()) {
            return Ok(!self.next_items(array, data, below)?.is_empty());
        }
        let depth = self.sets.depth(below) + 1;
        for alternative in shape.slot(register.counts.members).into_iter().flatten() {
            let fits = self.fits(alternative.node, depth);
            let counts = shape.add(&register.counts, alternative.tallies);
            let Some(counts) = counts.filter(|_| fits) else {
                continue;
            };
            let is_possible = if shape.unique {
                self.distinct_left(shape, &counts, &register.values, alternative, depth)?
                    .is_some()
            } else {
                self.items_left(shape, &counts, depth)?.is_some()
            };
            if is_possible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an item may follow `count` others, in an array that remembers no more than that.
    pub(super) fn item_allowed(&self, array: u32, count: u32, below: SetId) -> bool {
        let shape = &self.program.arrays[array as usize];
        let depth = self.sets.depth(below) + 1;
        let fits = |alternative: &Alternative| self.fits(alternative.node, depth);
        shape.max.is_none_or(|max| count < max)
            && shape.slot(count).is_some_and(|slot| slot.iter().any(fits))
    }

    /// The elements that read the next item.
    pub(super) fn next_items(
        &mut self,
        array: u32,
        data: u32,
        below: SetId,
    ) -> Result<Vec<Element>, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let depth = self.sets.depth(below) + 1;
        let mut found = Vec::new();
        if !shape.remembers() {
            let waiting = Place::ArrayAfter(array);
            let below = self.waiting(waiting, shape.counted(data), 0, below)?;
            for alternative in shape.slot(data).into_iter().flatten() {
                self.enter_into(alternative.node, below, true, &mut found)?;
            }
            return Ok(found);
        }
        let register = self.registers.array(data).clone();
        if let Some((texts, _)) = listed_items(&program, shape) {
            let terminal = self.listed_terminal(texts, &register.values)?;
            let is_full = shape.max.is_some_and(|max| register.counts.members >= max);
            return Ok(terminal
                .filter(|_| !is_full && self.item_fits(shape, below))
                .map(|terminal| Element {
                    frame: Frame::reading(Place::ArrayItem(array), terminal, data, LOST),
                    below,
                })
                .into_iter()
                .collect());
        }
        if register.unknown {
            let [alternative] = shape.rest.as_deref().unwrap_or_default() else {
                return Err(StepError::NeedsExact);
            };
            if !shape.is_plainly_distinct() || !self.is_vast_item(shape) {
                return Err(StepError::NeedsExact);
            }
            let terminal = self.partial_terminal(alternative.node, depth)?;
            return Ok(vec![Element {
                frame: Frame::reading(Place::ArrayItem(array), terminal, data, NOT_BEGUN),
                below,
            }]);
        }
        let slot = shape.slot(register.counts.members);
        for (i, alternative) in slot.into_iter().flatten().enumerate() {
            if !self.fits(alternative.node, depth) {
                continue;
            }
            let Some(counts) = shape.add(&register.counts, alternative.tallies) else {
                continue;
            };
            if shape.unique {
                let left =
                    self.distinct_left(shape, &counts, &register.values, alternative, depth)?;
                let Some((_, excluded)) = left else {
                    continue;
                };
                let terminal = self.item_terminal(alternative.node, depth, excluded, i as u32)?;
                let Some(terminal) = terminal else {
                    continue;
                };
                let state = self
                    .terminals
                    .get_mut(terminal)
                    .sketch(crate::terminal::START)?;
                let frame = Frame {
                    state,
                    ..Frame::reading(Place::ArrayItem(array), terminal, data, NOT_BEGUN)
                };
                found.push(Element { frame, below });
            } else if self.items_left(shape, &counts, depth)?.is_some() {
                let register = self.registers.add_array(ArrayRegister {
                    counts,
                    ..ArrayRegister::default()
                });
                let below = self.waiting(Place::ArrayAfter(array), register, 0, below)?;
                self.enter_into(alternative.node, below, true, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Whether the items are out of so many values that no number of others matters.
    fn is_vast_item(&mut self, shape: &ArrayProgram) -> bool {
        let Some([alternative]) = shape.rest.as_deref() else {
            return false;
        };
        let node = alternative.node;
        if let Some(&known) = self.vast.get(&node) {
            return known;
        }
        let vast = self.program.is_vast(node);
        self.vast.insert(node, vast);
        vast
    }

    fn item_fits(&self, shape: &ArrayProgram, below: SetId) -> bool {
        let depth = self.sets.depth(below) + 1;
        let slot = shape.rest.iter().flatten();
        slot.into_iter()
            .any(|alternative| self.fits(alternative.node, depth))
    }

    /// The cost of the items that an array with tallies still needs, each with its comma; `None` where it cannot be completed.
    pub(super) fn items_left(
        &self,
        shape: &ArrayProgram,
        counts: &crate::program::Counts,
        depth: u32,
    ) -> Result<Option<u64>, LimitExceeded> {
        let measures = self.program.measures();
        shape.items_left(counts, |node| {
            self.fits(node, depth).then(|| measures.cost[node as usize])
        })
    }

    /// The register behind an item that is unlike the others.
    pub(super) fn take_item(
        &mut self,
        array: u32,
        frame: Frame,
        label: u32,
    ) -> Result<u32, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let mut register = self.registers.array(frame.data).clone();
        if let Some((texts, alternative)) = listed_items(&program, shape) {
            // Which of the texts it is is the label.
            if let Some(counts) = shape.add(&register.counts, alternative.tallies) {
                register.counts = counts;
            }
            let text = texts[label as usize].clone();
            register.values = with(&register.values, Value::String(text));
            return Ok(self.registers.add_array(register));
        }
        let slot = shape.slot(register.counts.members);
        let tallies = slot
            .and_then(|slot| slot.get(label as usize))
            .map_or(0, |it| it.tallies);
        if let Some(counts) = shape.add(&register.counts, tallies) {
            register.counts = counts;
        }
        if frame.extra == LOST {
            register.unknown = true;
        } else {
            let value = Value::read(&self.registers.text(frame.extra))?;
            register.values = with(&register.values, value);
        }
        Ok(self.registers.add_array(register))
    }

    /// What the items behind the next one cost at most, each with its comma, once that one has been counted; and the values that the next
    /// one must not have. `None` where the array could not be completed behind it.
    pub(super) fn distinct_left(
        &mut self,
        shape: &ArrayProgram,
        counts: &crate::program::Counts,
        values: &Arc<[Value]>,
        next: &Alternative,
        depth: u32,
    ) -> Result<Option<Left>, StepError> {
        let bounds: Bounds = shape.bounds();
        let missing = bounds.missing(counts);
        if missing == 0 {
            return Ok(Some((0, values.clone())));
        }
        if missing > MAX_DISTINCT {
            return Err(StepError::Limit(LimitExceeded {
                what: "items that have to be distinct",
                limit: u64::from(MAX_DISTINCT),
            }));
        }
        if !shape.prefix.is_empty() && !shape.tallies.is_empty() {
            return Err(StepError::Limit(LimitExceeded {
                what: "tallies of distinct items that differ by place",
                limit: 0,
            }));
        }
        if shape.prefix.is_empty() {
            // All items are of one kind, so that it does not matter which value the next one takes: there is one less, at worst the cheapest.
            let slot = shape.rest.as_deref().unwrap_or_default();
            let mut groups = Vec::new();
            for alternative in slot
                .iter()
                .filter(|it| self.fits(it.node, depth))
                .copied()
                .collect::<Vec<_>>()
            {
                let is_next = alternative.node == next.node;
                let wanted = missing as usize + usize::from(is_next);
                let costs = self.fresh(alternative.node, depth, values, wanted)?;
                let uses = costs.iter().skip(usize::from(is_next)).map(|(cost, _)| {
                    vec![Use {
                        cost: cost + 1,
                        tallies: alternative.tallies,
                    }]
                });
                groups.push(Group {
                    uses: uses.collect(),
                    ..Group::default()
                });
            }
            let cost = if shape.tallies.is_empty() {
                cheapest_of(groups, missing as usize)
            } else {
                bounds.cheapest(counts, &groups)?
            };
            return Ok(cost.map(|cost| (cost, values.clone())));
        }
        self.distinct_in_order(shape, counts.members, missing, values, depth)
    }

    /// The same where what an item may be depends on its place: no place may be left without a value of its own (Hall, 1935).
    fn distinct_in_order(
        &mut self,
        shape: &ArrayProgram,
        from: u32,
        missing: u32,
        values: &Arc<[Value]>,
        depth: u32,
    ) -> Result<Option<Left>, StepError> {
        // With as many values as there are places, any will do, whatever the others take.
        let enough = missing as usize + 1;
        let mut places: Vec<Vec<Value>> = Vec::new();
        let mut cost = 0_u64;
        for place in from..from + missing {
            let mut domain: Vec<(u64, Value)> = Vec::new();
            for alternative in shape.slot(place).into_iter().flatten() {
                if self.fits(alternative.node, depth) {
                    domain.extend(
                        self.fresh(alternative.node, depth, values, enough)?
                            .iter()
                            .cloned(),
                    );
                }
            }
            let Some(dearest) = domain.iter().map(|(cost, _)| *cost).max() else {
                return Ok(None);
            };
            cost = cost.saturating_add(dearest).saturating_add(1);
            let mut domain: Vec<Value> = domain.into_iter().map(|(_, value)| value).collect();
            domain.sort();
            domain.dedup();
            if domain.len() < enough {
                places.push(domain);
            }
        }
        if !is_matching(&places, None) {
            return Ok(None);
        }
        let mut excluded = values.clone();
        let mut scarce: Vec<&Value> = places.iter().flatten().collect();
        scarce.sort();
        scarce.dedup();
        for value in scarce {
            if !is_matching(&places, Some(value)) {
                excluded = with(&excluded, value.clone());
            }
        }
        Ok(Some((cost, excluded)))
    }

    /// Values of what begins at the node that are not among `values`, up to `n`, each with the bytes it takes, the cheapest known first;
    /// fewer only where there are no more.
    fn fresh(
        &mut self,
        node: NodeId,
        depth: u32,
        values: &Arc<[Value]>,
        n: usize,
    ) -> Result<Arc<[(u64, Value)]>, StepError> {
        if let Some(texts) = self.program.listed(node) {
            let mut left: Vec<(u64, Value)> = texts
                .iter()
                .map(|text| (u64::from(escaped_length(text.as_bytes())) + 2, text))
                .map(|(cost, text)| (cost, Value::String(text.clone())))
                .filter(|(_, value)| values.binary_search(value).is_err())
                .collect();
            left.sort();
            left.truncate(n);
            return Ok(left.into());
        }
        let near = self.near(depth);
        let key = (node, near, values.clone());
        if let Some((complete, known)) = self.fresh.get(&key)
            && (*complete || known.len() >= n)
        {
            return Ok(known[..known.len().min(n)].into());
        }
        if self.level >= MAX_NEEDED_LEVELS {
            return Err(StepError::Limit(LimitExceeded {
                what: "arrays inside one another that need several distinct items",
                limit: u64::from(MAX_NEEDED_LEVELS),
            }));
        }
        let mut excluded = values.clone();
        let mut found: Vec<(u64, Value)> = Vec::new();
        while found.len() < n {
            let item = self.item_network(node, depth)?;
            let mut machine = ItemMachine::new(item, &excluded, &self.program, 0)?;
            let Some(text) = machine.shortest()? else {
                break;
            };
            let value = Value::read(&text)?;
            excluded = with(&excluded, value.clone());
            found.push((text.len() as u64, value));
        }
        // Texts are found as they are cheap by a measure that may be off: costs go up all the same.
        for i in 1..found.len() {
            found[i].0 = found[i].0.max(found[i - 1].0);
        }
        let complete = found.len() < n;
        let found: Arc<[(u64, Value)]> = found.into();
        self.fresh.insert(key, (complete, found.clone()));
        Ok(found)
    }

    /// The network that reads one item.
    fn item_network(
        &mut self,
        node: NodeId,
        depth: u32,
    ) -> Result<Arc<Mutex<Network>>, LimitExceeded> {
        let near = self.near(depth);
        if let Some(known) = self.items.get(&(node, near)) {
            return Ok(known.clone());
        }
        if self.level >= MAX_LEVELS {
            return Err(LimitExceeded {
                what: "arrays of distinct items inside one another",
                limit: u64::from(MAX_LEVELS),
            });
        }
        let network = Self::at(self.program.clone(), node, near, self.level + 1)?;
        let network = Arc::new(Mutex::new(network));
        self.items.insert((node, near), network.clone());
        Ok(network)
    }

    fn item_terminal(
        &mut self,
        node: NodeId,
        depth: u32,
        excluded: Arc<[Value]>,
        label: u32,
    ) -> Result<Option<u32>, StepError> {
        let key = (node, self.near(depth), excluded, label);
        if let Some(known) = self.terminals.known_item(&key) {
            return Ok(known);
        }
        let item = self.item_network(node, depth)?;
        let machine = ItemMachine::new(item, &key.2, &self.program, label)?;
        Ok(self.terminals.add_item(key, machine)?)
    }

    /// The terminal of an item out of a list, without those that are there; `None` where none is left.
    fn listed_terminal(
        &mut self,
        texts: &[Box<str>],
        values: &Arc<[Value]>,
    ) -> Result<Option<u32>, StepError> {
        let is_there = |text: &str| values.binary_search(&Value::String(text.into())).is_ok();
        let key = (texts.as_ptr().addr(), values.clone());
        if let Some(known) = self.terminals.known_listed(&key) {
            return Ok(known);
        }
        let content = KeyContent {
            keys: texts.into(),
            labels: (0..texts.len() as u32).collect(),
            allowed: texts
                .iter()
                .map(|text| (!is_there(text)).then_some(0))
                .collect(),
            classes: Vec::new(),
            covers: false,
        };
        Ok(self.terminals.add_listed(key, content)?)
    }

    /// The terminal of an item that is compared with values that a sketch does not know.
    fn partial_terminal(&mut self, node: NodeId, depth: u32) -> Result<u32, StepError> {
        let key = (node, self.near(depth), Arc::from([]), u32::MAX);
        if let Some(Some(known)) = self.terminals.known_item(&key) {
            return Ok(known);
        }
        let item = self.item_network(node, depth)?;
        let machine = ItemMachine::partial(item, 0);
        self.terminals
            .add_item(key, machine)?
            .ok_or(StepError::NeedsExact)
    }

    /// What an array of distinct items costs from its start, or `None` where there are not enough values.
    pub(crate) fn distinct_cost(&mut self, array: u32) -> Result<Option<u64>, LimitExceeded> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let bounds = shape.bounds();
        let counts = shape.no_counts();
        if bounds.are_met(&counts) {
            return Ok(Some(1));
        }
        let mut least: Option<u64> = None;
        for alternative in shape.slot(0).into_iter().flatten() {
            let Some(counts) = shape.add(&counts, alternative.tallies) else {
                continue;
            };
            let empty: Arc<[Value]> = [].into();
            let left = self
                .distinct_left(shape, &counts, &empty, alternative, 1)
                .map_err(StepError::limit)?;
            let Some((rest, excluded)) = left else {
                continue;
            };
            let first = self
                .fresh(alternative.node, 1, &excluded, 1)
                .map_err(StepError::limit)?;
            if let Some((cost, _)) = first.first() {
                let cost = cost.saturating_add(rest).saturating_add(1);
                least = Some(least.map_or(cost, |least| least.min(cost)));
            }
        }
        Ok(least)
    }
}

impl ArrayProgram {
    /// Whether its items are distinct and nothing else is remembered of them: then any may come as often as any other.
    fn is_plainly_distinct(&self) -> bool {
        self.unique && self.prefix.is_empty() && self.tallies.is_empty()
    }
}

/// The list that the items of an array are out of, where they are distinct and nothing else is remembered of them.
fn listed_items<'p>(
    program: &'p Program,
    shape: &'p ArrayProgram,
) -> Option<(&'p [Box<str>], &'p Alternative)> {
    let [alternative] = shape.rest.as_deref()? else {
        return None;
    };
    let texts = program
        .listed(alternative.node)
        .filter(|_| shape.is_plainly_distinct())?;
    Some((texts, alternative))
}

/// What items behind the next one cost, and the values that the next one must not have.
type Left = (u64, Arc<[Value]>);

/// The values with one more, sorted.
fn with(values: &Arc<[Value]>, value: Value) -> Arc<[Value]> {
    match values.binary_search(&value) {
        Ok(_) => values.clone(),
        Err(at) => {
            let mut values = values.to_vec();
            values.insert(at, value);
            values.into()
        }
    }
}

/// The cost of the `n` cheapest uses of groups in which they get dearer.
fn cheapest_of(groups: Vec<Group>, n: usize) -> Option<u64> {
    let uses = groups.into_iter().flat_map(|group| group.uses);
    let mut costs: Vec<u64> = uses.flatten().map(|way| way.cost).collect();
    costs.sort_unstable();
    (costs.len() >= n).then(|| {
        costs
            .iter()
            .take(n)
            .fold(0_u64, |all, cost| all.saturating_add(*cost))
    })
}

/// Whether every place can have a value of its own, without `but`: augmenting paths (Berge, 1957).
fn is_matching(places: &[Vec<Value>], but: Option<&Value>) -> bool {
    use rustc_hash::{FxHashMap, FxHashSet};

    fn place_finds<'v>(
        place: usize,
        places: &'v [Vec<Value>],
        but: Option<&Value>,
        taken: &mut FxHashMap<&'v Value, usize>,
        tried: &mut FxHashSet<&'v Value>,
    ) -> bool {
        for value in &places[place] {
            if Some(value) == but || !tried.insert(value) {
                continue;
            }
            let free = match taken.get(value).copied() {
                None => true,
                Some(other) => place_finds(other, places, but, taken, tried),
            };
            if free {
                taken.insert(value, place);
                return true;
            }
        }
        false
    }

    let mut taken = FxHashMap::default();
    (0..places.len())
        .all(|place| place_finds(place, places, but, &mut taken, &mut FxHashSet::default()))
}
