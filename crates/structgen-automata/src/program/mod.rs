//! A grammar as a recursive transition network: nodes with terminals on them, and procedures that nodes call.
//!
//! A program is immutable and has no state; [`Network`](crate::Network) runs it.

mod cheapest;
mod common;
mod error;
mod grounded;
mod guides;
mod ids;
mod keys;
mod layout;
mod left_recursion;
mod levels;
mod lower;
mod many_values;
mod measure;
mod nullable;
mod plan;
mod related;
mod terminals;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use structgen_grammar::{
    Decimal, Grammar, Guide, JsonForm, LiteralSet, NumberSet, Regular, StringShape, Tally,
    TokenTerminal,
};

use crate::input::Recognised;
use crate::json::class_of;
use crate::listing::ListedTexts;
use crate::{Input, Limits};
pub(crate) use cheapest::Meter;
pub(crate) use common::CommonTerminal;
pub use error::ProgramError;
pub(crate) use grounded::is_in_input;
pub use guides::GuideRefused;
pub(crate) use ids::{NodeId, ProcId};
pub(crate) use keys::KeyCosts;
pub(crate) use left_recursion::LeftRecursion;
pub(crate) use levels::MAX_NEEDED_LEVELS;
pub(crate) use lower::{Lowered, lower};
pub(crate) use measure::{Inside, Measures};
pub(crate) use plan::{Bounds, Counts, Group, MAX_STATES, MembersLeft, Use};
pub(crate) use related::{RelatedPlace, RelatedValue, built, compared, order};
pub(crate) use terminals::ReadyTerminals;
pub use terminals::any_string;

/// What happens at a node of the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The procedure is complete.
    End,
    /// Reads a text of the terminal.
    Terminal { terminal: u32, next: NodeId },
    /// Reads a value that takes part in relations.
    Related { related: u32, next: NodeId },
    /// Accepts one token of the vocabulary.
    Token { token: u32, next: NodeId },
    /// Continues at any of these nodes; an empty list is a dead end.
    Split(Box<[NodeId]>),
    /// Runs a procedure.
    Call { proc: ProcId, next: NodeId },
    /// Runs a procedure `min` to `max` times.
    Repeat {
        proc: ProcId,
        min: u32,
        max: Option<u32>,
        next: NodeId,
    },
    /// Reads an object.
    Object { object: u32, next: NodeId },
    /// Reads an array.
    Array { array: u32, next: NodeId },
}

/// A part of a grammar that is entered at one node and left at `End`.
#[derive(Clone, Debug)]
pub(crate) struct Proc {
    pub(crate) entry: NodeId,
    pub(crate) nullable: bool,
    /// The guide for its tokens.
    pub(crate) guide: Option<Guide>,
}

/// What a terminal of the program reads; equal ones are stored once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TerminalSpec {
    Bytes(Box<[u8]>),
    Literals(LiteralSet),
    Regular(Regular),
    Number(NumberSet),
    /// One of many numbers.
    ListedNumbers(Box<[Decimal]>),
    String(StringShape),
    /// A string of the shape that is a span of the input, or one of the strings that were recognised in it.
    Span {
        shape: StringShape,
        input: SharedInput,
        recognised: Recognised,
    },
}

/// An input, which is equal only to itself.
#[derive(Clone, Debug)]
pub(crate) struct SharedInput(pub(crate) Arc<Input>);

impl PartialEq for SharedInput {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedInput {}

impl Hash for SharedInput {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// An object: the nodes at which the values of its keys begin, and its sorted keys.
#[derive(Debug)]
pub(crate) struct ObjectProgram {
    /// The properties as declared.
    pub(crate) properties: Box<[PropertyProgram]>,
    /// The number of ordered properties, which come first.
    pub(crate) ordered: u32,
    /// The classes of undeclared keys; a key is in at most one of them.
    pub(crate) classes: Box<[KeyClass]>,
    /// Whether every key is a property or in a class.
    pub(crate) covers: bool,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) tallies: Box<[Tally]>,
    /// The referents that are forgotten where it begins and ends, sorted.
    pub(crate) referents: Box<[u32]>,
    /// The declared keys, sorted.
    pub(crate) keys: ListedTexts,
    /// The property of each sorted key.
    pub(crate) labels: Arc<[u32]>,
    /// The index of each property among the sorted keys.
    pub(crate) places: Box<[u32]>,
}

#[derive(Debug)]
pub(crate) struct PropertyProgram {
    /// The length in bytes of its key within quotes, written in the shortest way.
    pub(crate) key_length: u32,
    /// Without alternatives, the key is forbidden, even if undeclared keys are allowed.
    pub(crate) value: Slot,
    pub(crate) required: bool,
    /// A bit for each tally that counts if it is absent.
    pub(crate) absent: u32,
}

/// A class of undeclared keys.
#[derive(Debug)]
pub(crate) struct KeyClass {
    /// The keys; `None` for every text.
    pub(crate) keys: Option<Regular>,
    pub(crate) value: Slot,
    /// The costs of its shortest keys.
    pub(crate) costs: KeyCosts,
}

/// An array: the nodes at which its items begin.
#[derive(Debug)]
pub(crate) struct ArrayProgram {
    pub(crate) prefix: Box<[Slot]>,
    pub(crate) rest: Option<Slot>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) tallies: Box<[Tally]>,
    pub(crate) unique: bool,
}

/// The alternatives of a member or item.
pub(crate) type Slot = Box<[Alternative]>;

/// One of the values that a member or item may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alternative {
    /// The node at which the value begins.
    pub(crate) node: NodeId,
    /// A bit for each tally that it counts for.
    pub(crate) tallies: u32,
}

impl ObjectProgram {
    /// Returns the alternatives of the value of a key with this label.
    pub(crate) fn slot(&self, label: u32) -> &Slot {
        match class_of(label) {
            Some(class) => &self.classes[class].value,
            None => &self.properties[label as usize].value,
        }
    }

    /// Returns whether the number of its members is bounded, or any tally counts them.
    pub(crate) fn is_counted(&self) -> bool {
        self.min > 0 || self.max.is_some() || !self.tallies.is_empty()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        let properties = self.properties.iter().map(|property| &property.value);
        properties.chain(self.classes.iter().map(|class| &class.value))
    }
}

impl ArrayProgram {
    /// Returns the alternatives of the item at this index.
    pub(crate) fn slot(&self, index: u32) -> Option<&Slot> {
        self.prefix.get(index as usize).or(self.rest.as_ref())
    }

    /// Returns whether its register has more than the number of items.
    pub(crate) fn remembers(&self) -> bool {
        self.unique || !self.tallies.is_empty()
    }

    /// Returns the number of items from which one more makes no difference.
    pub(crate) fn settled(&self) -> u32 {
        self.min.max(self.prefix.len() as u32)
    }

    /// Returns the number of items after one more.
    pub(crate) fn counted(&self, count: u32) -> u32 {
        match self.max {
            Some(_) => count + 1,
            None => (count + 1).min(self.settled()),
        }
    }
}

/// A compiled grammar.
#[derive(Debug)]
pub struct Program {
    grammar: Grammar,
    pub(crate) nodes: Vec<Node>,
    pub(crate) procs: Vec<Proc>,
    pub(crate) root: ProcId,
    pub(crate) terminals: Vec<TerminalSpec>,
    /// By terminal, the length in bytes of its shortest known text.
    pub(crate) text_costs: Vec<u32>,
    pub(crate) ready: ReadyTerminals,
    pub(crate) tokens: Vec<TokenTerminal>,
    pub(crate) objects: Vec<ObjectProgram>,
    pub(crate) arrays: Vec<ArrayProgram>,
    pub(crate) related: Vec<RelatedValue>,
    /// By node, what begins there if these are only related values; empty if there are none.
    related_places: Vec<Option<RelatedPlace>>,
    pub(crate) form: JsonForm,
    pub(crate) limits: Limits,
    pub(crate) left_recursion: LeftRecursion,
    /// By array: the cost of the distinct items that it needs, if that is not a multiple of the cost of one item.
    distinct_costs: Box<[Option<u64>]>,
    measures: OnceLock<Measures>,
    heights: OnceLock<Vec<u32>>,
    widest_byte: OnceLock<u64>,
    most_tokens: u64,
    sets_temperatures: bool,
    is_bound: bool,
}

impl Program {
    /// Returns the grammar that was lowered, as the passes left it. It has the texts of the original one.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    pub(crate) fn into_grammar(self) -> Grammar {
        self.grammar
    }

    /// Sets the costs of the required items of arrays with distinct items. All costs are computed again.
    pub(crate) fn set_distinct_costs(&mut self, costs: Box<[Option<u64>]>) {
        self.distinct_costs = costs;
        self.measures = OnceLock::new();
    }

    /// Returns whether its grounded values are those of an input.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Returns the token terminals of the grammar; [`Call::step_token`](crate::Call::step_token) expects an index into
    /// this list.
    #[must_use]
    pub fn token_terminals(&self) -> &[TokenTerminal] {
        &self.tokens
    }

    /// Returns whether some part of the grammar limits its tokens.
    #[must_use]
    pub fn limits_tokens(&self) -> bool {
        self.most_tokens > 0
    }

    /// Returns whether some part of the grammar sets the temperature of its tokens.
    #[must_use]
    pub fn sets_temperatures(&self) -> bool {
        self.sets_temperatures
    }

    /// Returns the largest of all limits on tokens.
    pub(crate) fn most_tokens(&self) -> u64 {
        self.most_tokens
    }

    /// Returns the limits on the program's states.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the form of the JSON in the grammar.
    #[must_use]
    pub fn form(&self) -> &JsonForm {
        &self.form
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the program has no nodes, which is never so for a program that was compiled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn proc(&self, id: ProcId) -> &Proc {
        &self.procs[id.index()]
    }
}
