//! GBNF: the bytes are the grammar, or choose one by its structure.

use arbitrary::{Arbitrary, Unstructured};
use structgen_frontend::gbnf::{GbnfOptions, parse};

use crate::SplitMix;
use crate::walk;

/// The body of a rule by its structure.
#[derive(Arbitrary, Debug)]
enum Tree {
    Rule(u8),
    Text(Vec<u8>),
    Class(bool, char, char),
    Any,
    Token(bool, u8),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u8, Option<u8>),
    Named(u8, Box<Tree>),
    Tokens(u8, Box<Tree>),
    Chars(u8, Option<u8>, Box<Tree>),
    Temperature(u8, Box<Tree>),
    Both(Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Leaf(u8),
}

/// What has nothing in it.
const LEAVES: [&str; 12] = [
    "/[a-c]+(?=b).*/",
    "/(?i:ab|\\d{2})/",
    "%until \"ab\"",
    "%json {}",
    "%json {\"type\": \"integer\", \"maximum\": 12}",
    "%json {\"enum\": [\"a\", null, [1]]}",
    "%json {\"type\": \"array\", \"items\": {\"type\": \"boolean\"}, \"uniqueItems\": true}",
    "%json {\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\", \"maxLength\": 3}}",
    "!<[97]>",
    "<<eos>>",
    "\"\"",
    "[^a]",
];

impl Tree {
    /// Recursive: `arbitrary` bounds the depth.
    fn write(&self, rules: usize, out: &mut String) {
        let all = |trees: &[Self], between: &str, out: &mut String| {
            out.push('(');
            for (i, tree) in trees.iter().enumerate() {
                out.push_str(if i > 0 { between } else { "" });
                tree.write(rules, out);
            }
            out.push(')');
        };
        let escaped = |c: char| format!("\\U{:08x}", u32::from(c));
        match self {
            Self::Rule(rule) => *out += &rule_name(usize::from(*rule) % rules),
            Self::Text(bytes) => {
                out.push('"');
                let letters = bytes.iter().map(|byte| char::from(b'a' + byte % 3));
                out.extend(letters);
                out.push('"');
            }
            Self::Class(negated, one, other) => {
                let (low, high) = (escaped(*one.min(other)), escaped(*one.max(other)));
                *out += &format!("[{}{low}-{high}]", if *negated { "^" } else { "" });
            }
            Self::Any => out.push('.'),
            Self::Token(negated, id) => {
                *out += &format!("{}<[{id}]>", if *negated { "!" } else { "" })
            }
            Self::Sequence(parts) => all(parts, " ", out),
            Self::Choice(arms) => all(arms, "\n | ", out),
            Self::Repeat(body, min, more) => {
                body.write(rules, out);
                *out += &match more {
                    None => format!("{{{min},}}"),
                    Some(more) => format!("{{{min},{}}}", u32::from(*min) + u32::from(*more)),
                };
            }
            Self::Named(name, body) => within(&format!("@n{}", name % 4), body, rules, out),
            Self::Tokens(most, body) => {
                let most = u32::from(*most) + 1;
                within(&format!("%tokens{{0,{most}}}"), body, rules, out);
            }
            Self::Chars(min, more, body) => {
                let max = more.map_or(String::new(), |more| {
                    (u32::from(*min) + u32::from(more)).to_string()
                });
                within(&format!("%chars{{{min},{max}}}"), body, rules, out);
            }
            Self::Temperature(tenths, body) => {
                let (ones, tenths) = (tenths / 10, tenths % 10);
                within(
                    &format!("%temperature{{{ones}.{tenths}}}"),
                    body,
                    rules,
                    out,
                );
            }
            Self::Both(one, other) => {
                within("", one, rules, out);
                *out += " & ";
                within("", other, rules, out);
            }
            Self::Not(body) => within("~", body, rules, out),
            Self::Leaf(leaf) => *out += LEAVES[usize::from(*leaf) % LEAVES.len()],
        }
    }
}

/// A parenthesis, and what stands before it.
fn within(head: &str, body: &Tree, rules: usize, out: &mut String) {
    *out += head;
    out.push('(');
    body.write(rules, out);
    out.push(')');
}

fn rule_name(rule: usize) -> String {
    match rule {
        0 => "root".to_owned(),
        rule => format!("r{rule}"),
    }
}

/// The grammar that the bytes choose.
fn structured(data: &[u8]) -> Option<String> {
    let bodies = <Vec<Tree>>::arbitrary(&mut Unstructured::new(data)).ok()?;
    let mut text = String::new();
    for (rule, body) in bodies.iter().enumerate() {
        text += &format!("{} ::= ", rule_name(rule));
        body.write(bodies.len(), &mut text);
        text.push('\n');
    }
    (!bodies.is_empty()).then_some(text)
}

/// Reads a grammar, generates from it, and checks what came out. Bytes behind 0xFF, with which no text begins, choose a
/// grammar by its structure. True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not fit, or on a dead end.
pub fn gbnf(data: &[u8]) -> bool {
    let text = match data.split_first() {
        Some((0xFF, choices)) => structured(choices),
        _ => std::str::from_utf8(data).ok().map(str::to_owned),
    };
    let Some(text) = text else {
        return false;
    };
    let grammar = match parse(&text, &GbnfOptions::default()) {
        Ok(grammar) => grammar,
        Err(error) => {
            // The error shows the place that it is about.
            assert!(error.line >= 1 && error.column >= 1 && !error.to_string().is_empty());
            return false;
        }
    };
    let Ok(constraint) = walk::compile(grammar) else {
        return false;
    };
    let mut random = SplitMix::new(data.len() as u64);
    for _ in 0..3 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        walk::is_taken(&constraint, &text);
    }
    true
}
