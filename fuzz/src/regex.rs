//! Regular expressions: the bytes are the pattern, or choose one by its structure.

use arbitrary::{Arbitrary, Unstructured};
use regex_automata::meta::Regex;
use structgen_frontend::regex::{Dialect, RegexOptions, parse};
use structgen_grammar::{Expr, GrammarBuilder, JsonForm};

use crate::SplitMix;
use crate::clock::untimed;
use crate::walk::{self, within_limits};

/// A pattern by its structure.
#[derive(Arbitrary, Debug)]
enum Tree {
    Leaf(u8),
    Char(char),
    Class(bool, Vec<(char, char)>),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Both(Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Group(u8, Box<Tree>),
    Repeat(Box<Tree>, u8, Option<u8>, bool),
}

const LEAVES: [&str; 24] = [
    ".",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\d",
    "\\W",
    "\\s",
    "\\A",
    "\\z",
    "\\Z",
    "\\pL",
    "\\p{Lu}",
    "[a-z&&[^b]]",
    "[[:alpha:]]",
    "(?i)",
    "(?m)",
    "(?sx)",
    "\\1",
    "a",
    "ab",
    "é",
    "(?:)",
    "a{65536}",
];
const GROUPS: [&str; 12] = [
    "(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?P<n>", "(?<n>", "(?s-i:", "(?>", "(?m:",
];

impl Tree {
    /// Recursive: `arbitrary` bounds the depth.
    fn write(&self, out: &mut String) {
        let all = |trees: &[Self], between: &str, out: &mut String| {
            for (i, tree) in trees.iter().enumerate() {
                out.push_str(if i > 0 { between } else { "" });
                tree.write(out);
            }
        };
        match self {
            Self::Leaf(leaf) => out.push_str(LEAVES[usize::from(*leaf) % LEAVES.len()]),
            Self::Char(c) => {
                out.push_str(if "\\.+*?()|[]{}^$#&-~".contains(*c) {
                    "\\"
                } else {
                    ""
                });
                out.push(*c);
            }
            Self::Class(negated, ranges) => {
                out.push_str(if *negated { "[^" } else { "[" });
                for (low, high) in ranges {
                    let (low, high) = (low.min(high), low.max(high));
                    let (low, high) = (u32::from(*low), u32::from(*high));
                    *out += &format!("\\u{{{low:x}}}-\\u{{{high:x}}}");
                }
                out.push(']');
            }
            Self::Sequence(parts) => all(parts, "", out),
            Self::Choice(arms) => {
                out.push_str("(?:");
                all(arms, "|", out);
                out.push(')');
            }
            Self::Both(one, other) => {
                out.push('(');
                one.write(out);
                out.push('&');
                other.write(out);
                out.push(')');
            }
            Self::Not(body) => {
                out.push_str("~(");
                body.write(out);
                out.push(')');
            }
            Self::Group(kind, body) => {
                out.push_str(GROUPS[usize::from(*kind) % GROUPS.len()]);
                body.write(out);
                out.push(')');
            }
            Self::Repeat(body, min, more, lazy) => {
                out.push_str("(?:");
                body.write(out);
                *out += &match more {
                    None => format!("){{{min},}}"),
                    Some(more) => format!("){{{min},{}}}", u32::from(*min) + u32::from(*more)),
                };
                out.push_str(if *lazy { "?" } else { "" });
            }
        }
    }
}

/// Reads a pattern of any dialect, generates texts that match it, and checks them; where the crate `regex` reads the
/// pattern, it has to match them too. The first byte says how the pattern is read, and whether the rest is its text or
/// its structure. True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not match, or on a dead end.
pub fn regex(data: &[u8]) -> bool {
    let Some((&how, rest)) = data.split_first() else {
        return false;
    };
    let pattern = if how & 0x80 == 0 {
        match std::str::from_utf8(rest) {
            Ok(text) => text.to_owned(),
            Err(_) => return false,
        }
    } else {
        let mut pattern = String::new();
        match Tree::arbitrary(&mut Unstructured::new(rest)) {
            Ok(tree) => tree.write(&mut pattern),
            Err(_) => return false,
        }
        pattern
    };
    let dialect = [Dialect::Rust, Dialect::Ecma262, Dialect::Python][usize::from(how & 3) % 3];
    let options = RegexOptions::rust()
        .with_dialect(dialect)
        .with_search(how & 4 != 0)
        .with_operators(how & 8 != 0);
    let set = match parse(&pattern, options) {
        Ok(set) => set,
        Err(error) => {
            assert!(
                pattern.is_char_boundary(error.position),
                "{pattern}: {error}"
            );
            return false;
        }
    };
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(Expr::Regular(set));
    builder.define(root, body);
    let Ok(constraint) = walk::compile(builder.finish(root, JsonForm::generate())) else {
        return false;
    };
    let theirs = theirs(&pattern, dialect, options);
    let mut random = SplitMix::new(data.len() as u64);
    for _ in 0..3 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        walk::is_taken(&constraint, &text);
        let Some(theirs) = &theirs else { continue };
        for text in std::iter::once(text.clone()).chain((0..3).map(|_| changed(&text, &mut random)))
        {
            let Ok(text) = std::str::from_utf8(&text) else {
                continue;
            };
            let Some(refusal) = within_limits(|| constraint.matcher().check_text(text.as_bytes()))
            else {
                continue;
            };
            let is_theirs = untimed(|| theirs.is_match(text));
            assert_eq!(is_theirs, refusal.is_none(), "{pattern}: {text:?}");
        }
    }
    true
}

/// What the crate regex makes of a pattern, where it takes it and means the same.
fn theirs(pattern: &str, dialect: Dialect, options: RegexOptions) -> Option<Regex> {
    if dialect != Dialect::Rust || options.operators {
        return None;
    }
    let whole = match options.search {
        true => pattern.to_owned(),
        false => format!("\\A(?:{pattern})\\z"),
    };
    untimed(|| Regex::new(&whole).ok())
}

/// A text with one byte replaced, removed or doubled.
fn changed(text: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut text = text.to_vec();
    let at = random.below(text.len() + 1);
    let end = (at + 1).min(text.len());
    let piece = match random.below(3) {
        0 => vec![b"abA1 \n_-"[random.below(8)]],
        1 => Vec::new(),
        _ => text[at..end].repeat(2),
    };
    text.splice(at..end, piece);
    text
}
