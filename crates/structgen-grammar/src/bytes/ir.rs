//! The encoding of the types of the IR.

use super::BytesError;
use super::code::{Coded, Input, coded, put_bytes, take_bytes};
use crate::{
    Alternative, ArrayShape, CharSet, Decimal, EscapeForm, Expr, ExprId, Grammar, Guide, Indent,
    JsonForm, KeyPattern, LiteralSet, NumberBound, NumberForm, NumberSet, ObjectShape, Property,
    Regular, Relation, Rule, RuleId, Shared, Slot, StringContent, StringShape, Tally, Temperature,
    TokenTerminal, Whitespace,
};

coded!(struct Grammar { exprs, rules, root, form });
coded!(struct Rule { name, body });
coded!(struct ExprId { 0 });
coded!(struct RuleId { 0 });

coded!(enum Expr {
    0 = Never {},
    1 = Empty {},
    2 = Bytes { 0: bytes },
    3 = Regular { 0: set },
    4 = Sequence { 0: parts },
    5 = Choice { 0: arms },
    6 = Repeat { body: body, min: min, max: max },
    7 = Rule { 0: rule },
    8 = Token { 0: token },
    9 = String { 0: shape },
    10 = Number { 0: set },
    11 = Object { 0: shape },
    12 = Array { 0: shape },
    13 = Literals { 0: set },
    14 = Capture { name: name, body: body },
    15 = Guided { guide: guide, body: body },
    16 = Grounded { pointer: pointer, format: format, body: body },
    17 = Referent { name: name, body: body },
    18 = Related { pointer: pointer, relation: relation, referent: referent, body: body },
});

coded!(enum Relation {
    0 = In {},
    1 = AtLeast {},
    2 = AtMost {},
    3 = NotEqual {},
});

coded!(enum Guide {
    0 = MaxTokens { 0: most },
    1 = Temperature { 0: temperature },
});

impl Coded for Temperature {
    fn put(&self, out: &mut Vec<u8>) {
        self.get().to_bits().put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let number = f32::from_bits(u32::take(input)?);
        let temperature = Self::new(number).filter(|it| it.get().to_bits() == number.to_bits());
        temperature.ok_or_else(|| input.wrong("no temperature"))
    }
}

coded!(enum TokenTerminal {
    0 = Name { 0: name },
    1 = Id { 0: id },
    2 = NotName { 0: name },
    3 = NotId { 0: id },
});

coded!(struct JsonForm { whitespace, escapes, numbers, max_depth });
coded!(enum Whitespace {
    0 = Compact {},
    1 = Spaced {},
    2 = OneSpace {},
    3 = Indented { indent: indent },
    4 = Bounded { max: max },
});
coded!(enum Indent {
    0 = Spaces { 0: width },
    1 = Tab {},
});
coded!(enum EscapeForm {
    0 = Any {},
    1 = Needed {},
});
coded!(struct NumberForm {
    exponent,
    redundant_fraction,
    negative_zero,
    integer_digits,
    fraction_digits,
    exponent_digits,
});

coded!(struct StringShape { content, min_length, max_length });
coded!(enum StringContent {
    0 = Any {},
    1 = Regular { 0: set },
    2 = Literals { 0: texts },
});
coded!(struct NumberBound { value, exclusive });
coded!(struct NumberSet { lower, upper, multiples_of, not_multiples_of, written_whole });
coded!(struct ObjectShape {
    properties,
    ordered,
    patterns,
    additional,
    min_members,
    max_members,
    tallies,
    referents,
});
coded!(struct Property { key, value, required, absent });
coded!(struct KeyPattern { keys, value });
coded!(struct Slot { alternatives });
coded!(struct Alternative { value, tallies });
coded!(struct Tally { min, max });
coded!(struct ArrayShape { prefix, rest, min_items, max_items, tallies, unique });

impl Coded for Decimal {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_negative().put(out);
        put_bytes(self.digits(), out);
        self.exponent().put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let negative = bool::take(input)?;
        let digits = take_bytes(input)?;
        let exponent = i64::take(input)?;
        let decimal = Self::from_canonical(negative, digits, exponent);
        decimal.ok_or_else(|| input.wrong("no decimal"))
    }
}

impl Coded for (char, char) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        Ok((char::take(input)?, char::take(input)?))
    }
}

impl Coded for CharSet {
    fn put(&self, out: &mut Vec<u8>) {
        (self.ranges().len() as u64).put(out);
        for range in self.ranges() {
            range.put(out);
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let ranges: Vec<(char, char)> = Vec::take(input)?;
        let set = Self::new(ranges.iter().copied());
        if set.ranges() != ranges {
            return Err(input.wrong("ranges that are not in order"));
        }
        Ok(set)
    }
}

impl Coded for LiteralSet {
    /// Writes node by node, children first.
    fn put(&self, out: &mut Vec<u8>) {
        (self.nodes() as u64).put(out);
        for node in 0..=self.root() {
            self.is_final(node).put(out);
            (self.edges(node).len() as u64).put(out);
            for edge in self.edges(node) {
                put_bytes(self.label(edge), out);
                self.child(edge).put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        let mut wrong = None;
        let nodes = input.length()?;
        let nodes = (0..nodes).map_while(|_| {
            take_literals_node(input)
                .map_err(|error| wrong = Some(error))
                .ok()
        });
        let set = Self::from_nodes(nodes);
        match (wrong, set) {
            (Some(wrong), _) => Err(wrong),
            (None, Some(set)) => Ok(set),
            (None, None) => Err(input.wrong("a list of literals that is not one")),
        }
    }
}

type LiteralsNode = (bool, Vec<(Box<[u8]>, u32)>);

fn take_literals_node(input: &mut Input<'_>) -> Result<LiteralsNode, BytesError> {
    let is_final = bool::take(input)?;
    let mut edges = Vec::new();
    for _ in 0..input.length()? {
        edges.push((take_bytes(input)?.into(), u32::take(input)?));
    }
    Ok((is_final, edges))
}

/// The maximum nesting of a regular set in a file: cloning, comparing and dropping a tree recurse.
pub(super) const MAX_NESTING: u32 = 1_000;

/// A node of a regular set, written after its parts, with their number.
enum RegularNode {
    Leaf(Regular),
    Many(fn(Shared<[Regular]>) -> Regular, usize),
    Complement,
    Repeat(u32, Option<u32>),
    Look(bool, bool),
}

const END: u8 = 0;

impl Coded for Regular {
    /// Nodes follow their parts, so decoding uses a stack and no recursion.
    fn put(&self, out: &mut Vec<u8>) {
        let mut open = vec![(self, false)];
        while let Some((set, parts_are_there)) = open.pop() {
            let parts = set.parts();
            if parts_are_there || parts.is_empty() {
                put_node(set, out);
            } else {
                open.push((set, true));
                open.extend(parts.iter().rev().map(|part| (part, false)));
            }
        }
        out.push(END);
    }

    fn take(input: &mut Input<'_>) -> Result<Self, BytesError> {
        // Decoded sets, each with its depth.
        let mut done: Vec<(Self, u32)> = Vec::new();
        while let Some(node) = take_node(input)? {
            let parts = match node {
                RegularNode::Leaf(_) => 0,
                RegularNode::Many(_, parts) => parts,
                _ => 1,
            };
            let Some(first) = done.len().checked_sub(parts) else {
                return Err(input.wrong("parts of a regular set are missing"));
            };
            let parts = done.split_off(first);
            let depth = parts.iter().map(|&(_, depth)| depth).max().unwrap_or(0) + 1;
            if depth > MAX_NESTING {
                return Err(input.wrong("a regular set that nests too deep"));
            }
            let mut parts = parts.into_iter().map(|(part, _)| part);
            // There is one part for each call.
            let mut body = || Shared::new(parts.next().unwrap_or(Self::Never));
            let set = match node {
                RegularNode::Leaf(set) => set,
                RegularNode::Many(make, _) => make(parts.collect()),
                RegularNode::Complement => Self::Complement(body()),
                RegularNode::Repeat(min, max) => Self::Repeat {
                    body: body(),
                    min,
                    max,
                },
                RegularNode::Look(behind, negated) => Self::Look {
                    behind,
                    negated,
                    body: body(),
                },
            };
            done.push((set, depth));
        }
        match (done.pop(), done.is_empty()) {
            (Some((set, _)), true) => Ok(set),
            _ => Err(input.wrong("a regular set that is not one")),
        }
    }
}

fn put_node(set: &Regular, out: &mut Vec<u8>) {
    match set {
        Regular::Never => out.push(1),
        Regular::Empty => out.push(2),
        Regular::Bytes(bytes) => {
            out.push(3);
            bytes.put(out);
        }
        Regular::Chars(set) => {
            out.push(4);
            set.put(out);
        }
        Regular::ByteRange(low, high) => out.extend([5, *low, *high]),
        Regular::Concat(parts) => {
            out.push(6);
            (parts.len() as u64).put(out);
        }
        Regular::Union(arms) => {
            out.push(7);
            (arms.len() as u64).put(out);
        }
        Regular::Intersection(arms) => {
            out.push(8);
            (arms.len() as u64).put(out);
        }
        Regular::Complement(_) => out.push(9),
        Regular::Repeat { min, max, .. } => {
            out.push(10);
            min.put(out);
            max.put(out);
        }
        Regular::Look {
            behind, negated, ..
        } => {
            out.push(11);
            behind.put(out);
            negated.put(out);
        }
    }
}

/// Reads the next node; `None` at the end of the set.
fn take_node(input: &mut Input<'_>) -> Result<Option<RegularNode>, BytesError> {
    let parts = |input: &mut Input<'_>| {
        let parts = u64::take(input)?;
        usize::try_from(parts).map_err(|_| input.wrong("parts of a regular set are missing"))
    };
    Ok(Some(match u8::take(input)? {
        END => return Ok(None),
        1 => RegularNode::Leaf(Regular::Never),
        2 => RegularNode::Leaf(Regular::Empty),
        3 => RegularNode::Leaf(Regular::Bytes(Coded::take(input)?)),
        4 => RegularNode::Leaf(Regular::Chars(Coded::take(input)?)),
        5 => RegularNode::Leaf(Regular::ByteRange(u8::take(input)?, u8::take(input)?)),
        6 => RegularNode::Many(Regular::Concat, parts(input)?),
        7 => RegularNode::Many(Regular::Union, parts(input)?),
        8 => RegularNode::Many(Regular::Intersection, parts(input)?),
        9 => RegularNode::Complement,
        10 => RegularNode::Repeat(Coded::take(input)?, Coded::take(input)?),
        11 => RegularNode::Look(bool::take(input)?, bool::take(input)?),
        _ => return Err(input.wrong("an unknown kind of regular set")),
    }))
}
