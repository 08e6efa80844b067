//! llguidance's dialect of Lark (its `docs/syntax.md`, as of version 1.9), except what does not describe a language.
//!
//! It takes three steps: `parse` reads statements, rules and terminals as trees; `lazy` applies the attributes of a
//! rule's text; `ignore` inserts ignored text between lexemes. Features that control generation or have no counterpart
//! are errors that suggest an alternative.

mod common;
mod ignore;
mod lazy;
mod parse;
mod value;

use structgen_grammar::keyed::KeyedMap;

use super::ConvertError;
use super::scanner::error_at;
use super::tree::{Rule, Rules, Tree};

/// A rule or a terminal.
struct Definition {
    name: String,
    at: usize,
    body: Tree,
    /// Whether it is one lexeme, in which nothing is ignored.
    is_lexeme: bool,
}

/// A parsed grammar.
#[derive(Default)]
struct Lark {
    definitions: Vec<Definition>,
    /// What is ignored between lexemes.
    ignored: Vec<Tree>,
    options: Options,
}

/// The options of `%llguidance`.
#[derive(Default)]
struct Options {
    /// Whether ignored text may also precede the first lexeme.
    initial: bool,
    /// Whether it occurs there only once.
    once: bool,
}

/// The rules of a grammar; the first is the start rule.
pub(super) fn rules(text: &str, root: Option<&str>) -> Result<Rules, ConvertError> {
    let lark = parse::parse(text)?;
    let start = root.unwrap_or("start");
    let order = check(text, &lark, start)?;
    if !lark.ignored.is_empty() {
        return ignore::between_lexemes(text, lark, start, &order);
    }
    let mut rules: Vec<Rule> = lark.definitions.into_iter().map(Definition::rule).collect();
    // Stable, so that only the first one moves.
    rules.sort_by_key(|rule| rule.name != start);
    Ok(Rules(rules))
}

impl Definition {
    fn rule(self) -> Rule {
        Rule {
            name: self.name,
            at: self.at,
            body: self.body,
        }
    }
}

/// Whether the name is a terminal's.
fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_')
        .starts_with(|c: char| c.is_ascii_uppercase())
}

/// Checks that every name has one definition and no terminal is recursive. Returns the terminals, each after those that
/// it refers to.
fn check(text: &str, lark: &Lark, start: &str) -> Result<Vec<usize>, ConvertError> {
    let mut places: KeyedMap<&str, usize> = KeyedMap::default();
    for (index, definition) in lark.definitions.iter().enumerate() {
        if places.insert(&definition.name, index).is_some() {
            let message = format!("`{}` is defined already", definition.name);
            return Err(error_at(text, definition.at, message));
        }
    }
    if !places.contains_key(start) {
        return Err(error_at(
            text,
            0,
            format!("there is no rule `{start}` to start from"),
        ));
    }
    // An explicit stack of terminals, each with the names in its body.
    let named = |tree: &Tree| -> Result<Vec<usize>, ConvertError> {
        let mut found = Vec::new();
        for (name, at) in tree.names() {
            match places.get(name) {
                Some(&index) => found.extend(is_terminal(name).then_some(index)),
                None => {
                    let kind = if is_terminal(name) {
                        "terminal"
                    } else {
                        "rule"
                    };
                    return Err(error_at(text, at, format!("there is no {kind} `{name}`")));
                }
            }
        }
        Ok(found)
    };
    for ignored in &lark.ignored {
        named(ignored)?;
    }
    let mut order = Vec::new();
    let mut is_done = vec![false; lark.definitions.len()];
    let mut is_open = vec![false; lark.definitions.len()];
    for (first, definition) in lark.definitions.iter().enumerate() {
        let mut way = vec![(first, named(&definition.body)?)];
        if !is_terminal(&definition.name) {
            continue;
        }
        if is_done[first] {
            continue;
        }
        is_open[first] = true;
        while let Some((index, wanted)) = way.last_mut() {
            let index = *index;
            match wanted.pop() {
                Some(next) if is_open[next] => {
                    let definition = &lark.definitions[next];
                    let message = format!(
                        "the terminal `{}` comes back to itself: make it a rule, in lower case",
                        definition.name
                    );
                    return Err(error_at(text, definition.at, message));
                }
                Some(next) if is_done[next] => {}
                Some(next) => {
                    is_open[next] = true;
                    way.push((next, named(&lark.definitions[next].body)?));
                }
                None => {
                    is_open[index] = false;
                    is_done[index] = true;
                    order.push(index);
                    way.pop();
                }
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests;
