//! Rules of any notation, and how they are written as GBNF.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::ConvertError;
use super::scanner::error_at;

/// What a rule consists of.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    /// A rule, and where it is named.
    Name(String, usize),
    /// A text, with or without regard to the case of ASCII letters.
    Text(String, bool),
    /// One character of these ranges, or of all others.
    Chars(Vec<(char, char)>, bool),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
    /// The first, but not the second.
    Except(Box<Tree>, Box<Tree>),
}

/// A rule, and where it is defined.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) body: Tree,
}

/// All rules, in order.
#[derive(Debug, Default)]
pub(super) struct Rules(pub(super) Vec<Rule>);

/// What an expression stands in: what has to be in parentheses there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Rule,
    Choice,
    Sequence,
    Atom,
}

impl Rules {
    pub(super) fn write(&self, text: &str, root: Option<&str>) -> Result<String, ConvertError> {
        let Some(first) = self.0.first() else {
            return Err(error_at(text, 0, "there is no rule"));
        };
        let start = match root {
            None => first.name.as_str(),
            Some(root) => match self
                .0
                .iter()
                .find(|rule| rule.name.eq_ignore_ascii_case(root))
            {
                Some(rule) => rule.name.as_str(),
                None => return Err(error_at(text, 0, format!("there is no rule `{root}`"))),
            },
        };
        let names = self.names(text, start)?;
        let mut out = String::new();
        if start != "root" {
            out += &format!("root ::= {}\n", names[start]);
        }
        for rule in &self.0 {
            out += &format!("{} ::= ", names[rule.name.as_str()]);
            write(&rule.body, Place::Rule, &names, text, &mut out)?;
            let end = out.trim_end_matches(' ').len();
            out.truncate(end);
            out.push('\n');
        }
        Ok(out)
    }

    /// Names as GBNF has them, all different.
    fn names(&self, text: &str, start: &str) -> Result<FxHashMap<&str, String>, ConvertError> {
        let mut names = FxHashMap::default();
        let mut taken: BTreeSet<String> = BTreeSet::from(["root".to_owned()]);
        for rule in &self.0 {
            let plain: String = rule
                .name
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || c == '-' {
                        c
                    } else {
                        '-'
                    }
                })
                .collect();
            let mut name = plain.clone();
            let mut number = 1;
            while !(taken.insert(name.clone()) || (rule.name == "root" && start == "root")) {
                number += 1;
                name = format!("{plain}-{number}");
            }
            if names.insert(rule.name.as_str(), name).is_some() {
                let message = format!("the rule `{}` is defined already", rule.name);
                return Err(error_at(text, rule.at, message));
            }
        }
        Ok(names)
    }
}

/// Recursive: whoever reads a tree bounds its depth.
fn write(
    tree: &Tree,
    place: Place,
    names: &FxHashMap<&str, String>,
    text: &str,
    out: &mut String,
) -> Result<(), ConvertError> {
    let own = match tree {
        Tree::Choice(_) => Place::Choice,
        Tree::Sequence(_) | Tree::Except(..) => Place::Sequence,
        _ => Place::Atom,
    };
    let in_group = own < place || (own == Place::Sequence && place == Place::Sequence);
    if in_group {
        out.push('(');
    }
    match tree {
        Tree::Name(name, at) => match names.get(name.as_str()) {
            Some(name) => out.push_str(name),
            None => return Err(error_at(text, *at, format!("there is no rule `{name}`"))),
        },
        Tree::Text(literal, true) if literal.chars().any(|c| c.is_ascii_alphabetic()) => {
            let parts: Vec<String> = literal.chars().map(either_case).collect();
            out.push_str(&parts.join(" "));
        }
        Tree::Text(literal, _) => {
            out.push('"');
            literal
                .chars()
                .for_each(|c| out.push_str(&escaped(c, "\"\\")));
            out.push('"');
        }
        Tree::Chars(ranges, negated) => {
            out.push_str(if *negated { "[^" } else { "[" });
            for &(low, high) in ranges {
                out.push_str(&escaped(low, "]\\-^["));
                if low != high {
                    out.push('-');
                    out.push_str(&escaped(high, "]\\-^["));
                }
            }
            out.push(']');
        }
        Tree::Sequence(parts) => {
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" });
                write(part, Place::Sequence, names, text, out)?;
            }
            if parts.is_empty() {
                out.push_str("\"\"");
            }
        }
        Tree::Choice(arms) => {
            for (i, arm) in arms.iter().enumerate() {
                out.push_str(if i > 0 { " | " } else { "" });
                write(arm, Place::Choice, names, text, out)?;
            }
        }
        Tree::Repeat(body, min, max) => {
            // A text without regard to case is a sequence.
            let is_sequence = matches!(&**body, Tree::Text(_, true) | Tree::Repeat(..));
            out.push_str(if is_sequence { "(" } else { "" });
            write(body, Place::Atom, names, text, out)?;
            out.push_str(if is_sequence { ")" } else { "" });
            out.push_str(&match (min, max) {
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (0, Some(1)) => "?".to_owned(),
                (min, None) => format!("{{{min},}}"),
                (min, Some(max)) if min == max => format!("{{{min}}}"),
                (min, Some(max)) => format!("{{{min},{max}}}"),
            });
        }
        Tree::Except(one, other) => {
            write(one, Place::Sequence, names, text, out)?;
            out.push_str(" & ~");
            let is_sequence = matches!(&**other, Tree::Text(_, true) | Tree::Repeat(..));
            out.push_str(if is_sequence { "(" } else { "" });
            write(other, Place::Atom, names, text, out)?;
            out.push_str(if is_sequence { ")" } else { "" });
        }
    }
    if in_group {
        out.push(')');
    }
    Ok(())
}

fn either_case(c: char) -> String {
    if c.is_ascii_alphabetic() {
        format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase())
    } else {
        format!("\"{}\"", escaped(c, "\"\\"))
    }
}

/// A character with a backslash where it needs one, by its number where it is not to be seen.
fn escaped(c: char, special: &str) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        // GBNF has no escape for a circumflex.
        '^' if special.contains('^') => "\\x5E".to_owned(),
        c if special.contains(c) => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        c if c.is_alphanumeric() => c.to_string(),
        c if u32::from(c) <= 0xFF => format!("\\x{:02X}", u32::from(c)),
        c if u32::from(c) <= 0xFFFF => format!("\\u{:04X}", u32::from(c)),
        c => format!("\\U{:08X}", u32::from(c)),
    }
}
