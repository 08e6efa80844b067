//! Rules of any notation, and writing them as GBNF.

use structgen_grammar::UniqueNames;
use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::notation::{SPECIAL_IN_CLASS, push_char, quantifier};

use super::ConvertError;
use super::scanner::error_at;

/// An expression of a rule.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    /// A reference to a rule, and its position.
    Name(String, usize),
    /// A string, sensitive to the case of ASCII letters or not.
    Text(String, bool),
    /// One character of these ranges, or of all others.
    Chars(Vec<(char, char)>, bool),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
    /// The intersection of these, which are regular.
    Both(Vec<Tree>),
    /// The complement.
    Not(Box<Tree>),
    /// A pattern between slashes, with its flags.
    Pattern(String),
    /// A token terminal in GBNF's syntax.
    Token(String),
    /// A JSON Schema.
    Json(String),
    /// A named part of the output.
    Capture(String, Box<Tree>),
}

impl Tree {
    /// Any character.
    pub(super) fn any() -> Self {
        Self::Chars(Vec::new(), true)
    }

    pub(super) fn choice(mut arms: Vec<Self>) -> Self {
        match arms.len() {
            1 => arms.swap_remove(0),
            _ => Self::Choice(arms),
        }
    }

    pub(super) fn sequence(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => Self::Sequence(parts),
        }
    }

    /// Its children, in order.
    fn parts(&self) -> &[Self] {
        match self {
            Self::Sequence(parts) | Self::Choice(parts) | Self::Both(parts) => parts,
            Self::Repeat(body, ..) | Self::Not(body) | Self::Capture(_, body) => {
                std::slice::from_ref(body)
            }
            _ => &[],
        }
    }

    /// All subtrees, itself first.
    fn all(&self) -> impl Iterator<Item = &Self> {
        let mut stack = vec![self];
        std::iter::from_fn(move || {
            let tree = stack.pop()?;
            stack.extend(tree.parts().iter().rev());
            Some(tree)
        })
    }

    /// The rules that it refers to, and where.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.all().filter_map(|tree| match tree {
            Self::Name(name, at) => Some((name.as_str(), *at)),
            _ => None,
        })
    }

    /// Its patterns.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all().filter_map(|tree| match tree {
            Self::Pattern(pattern) => Some(pattern.as_str()),
            _ => None,
        })
    }

    /// The number of subtrees, including itself.
    pub(super) fn size(&self) -> usize {
        self.all().count()
    }

    /// Renames the rules that it refers to.
    pub(super) fn rename(&mut self, names: &KeyedMap<String, String>) {
        let mut stack = vec![self];
        while let Some(tree) = stack.pop() {
            match tree {
                Self::Name(name, _) => {
                    if let Some(other) = names.get(name) {
                        name.clone_from(other);
                    }
                }
                Self::Sequence(parts) | Self::Choice(parts) | Self::Both(parts) => {
                    stack.extend(parts);
                }
                Self::Repeat(body, ..) | Self::Not(body) | Self::Capture(_, body) => {
                    stack.push(body);
                }
                _ => {}
            }
        }
    }
}

/// A rule, and the position of its definition.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) body: Tree,
}

/// All rules, in order.
#[derive(Debug, Default)]
pub(super) struct Rules(pub(super) Vec<Rule>);

/// The context of an expression, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Position {
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
            Some(root) => match self.0.iter().find(|rule| rule.name == root) {
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
            write(&rule.body, Position::Rule, &names, text, &mut out)?;
            let end = out.trim_end_matches(' ').len();
            out.truncate(end);
            out.push('\n');
        }
        Ok(out)
    }

    /// Unique names that are valid in GBNF.
    fn names(&self, text: &str, start: &str) -> Result<KeyedMap<&str, String>, ConvertError> {
        let mut names = KeyedMap::default();
        let mut taken = UniqueNames::new(["root".to_owned()]);
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
            let name = match rule.name == "root" && start == "root" {
                true => plain,
                false => taken.take(&plain),
            };
            if names.insert(rule.name.as_str(), name).is_some() {
                let message = format!("the rule `{}` is defined already", rule.name);
                return Err(error_at(text, rule.at, message));
            }
        }
        Ok(names)
    }
}

/// Recursive: the parsers bound the depth of trees.
fn write(
    tree: &Tree,
    place: Position,
    names: &KeyedMap<&str, String>,
    text: &str,
    out: &mut String,
) -> Result<(), ConvertError> {
    let own = match tree {
        Tree::Choice(_) => Position::Choice,
        Tree::Sequence(_) | Tree::Both(_) => Position::Sequence,
        _ => Position::Atom,
    };
    let in_group = own < place || (own == Position::Sequence && place == Position::Sequence);
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
                .for_each(|c| push_char(out, c, &['"', '\\']));
            out.push('"');
        }
        Tree::Chars(ranges, true) if ranges.is_empty() => out.push('.'),
        Tree::Chars(ranges, negated) => {
            out.push_str(if *negated { "[^" } else { "[" });
            for &(low, high) in ranges {
                push_char(out, low, SPECIAL_IN_CLASS);
                if low != high {
                    out.push('-');
                    push_char(out, high, SPECIAL_IN_CLASS);
                }
            }
            out.push(']');
        }
        Tree::Sequence(parts) => {
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" });
                write(part, Position::Sequence, names, text, out)?;
            }
            if parts.is_empty() {
                out.push_str("\"\"");
            }
        }
        // No text at all.
        Tree::Choice(arms) if arms.is_empty() => out.push_str("[^\\x00-\\U0010FFFF]"),
        Tree::Choice(arms) => {
            for (i, arm) in arms.iter().enumerate() {
                out.push_str(if i > 0 { " | " } else { "" });
                write(arm, Position::Choice, names, text, out)?;
            }
        }
        Tree::Repeat(body, min, max) => {
            write_operand(body, names, text, out)?;
            out.push_str(&quantifier(*min, *max));
        }
        Tree::Both(sets) => {
            for (i, set) in sets.iter().enumerate() {
                out.push_str(if i > 0 { " & " } else { "" });
                write(set, Position::Sequence, names, text, out)?;
            }
        }
        Tree::Not(body) => {
            out.push('~');
            write_operand(body, names, text, out)?;
        }
        Tree::Pattern(pattern) => out.push_str(pattern),
        Tree::Token(token) => out.push_str(token),
        Tree::Json(schema) => {
            out.push_str("%json ");
            out.push_str(schema);
        }
        Tree::Capture(name, body) => {
            out.push_str(&format!("@{name}("));
            write(body, Position::Rule, names, text, out)?;
            out.push(')');
        }
    }
    if in_group {
        out.push(')');
    }
    Ok(())
}

/// An operand of a prefix or postfix operator.
fn write_operand(
    tree: &Tree,
    names: &KeyedMap<&str, String>,
    text: &str,
    out: &mut String,
) -> Result<(), ConvertError> {
    // A case-insensitive string is a sequence.
    let is_sequence = matches!(tree, Tree::Text(_, true) | Tree::Repeat(..));
    out.push_str(if is_sequence { "(" } else { "" });
    write(tree, Position::Atom, names, text, out)?;
    out.push_str(if is_sequence { ")" } else { "" });
    Ok(())
}

fn either_case(c: char) -> String {
    if c.is_ascii_alphabetic() {
        return format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase());
    }
    let mut text = String::from("\"");
    push_char(&mut text, c, &['"', '\\']);
    text.push('"');
    text
}
