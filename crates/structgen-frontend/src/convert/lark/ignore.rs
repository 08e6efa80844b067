//! `%ignore`: what may occur between two lexemes, but neither before the first nor after the last.
//! A rule is written in up to two variants. For positions after the first lexeme, every lexeme has ignored text before
//! it. For the position of the first lexeme, the variant has no ignored text before it and excludes the empty text. So
//! nothing is ignored at the start, even if the first part is nullable.

use structgen_grammar::UniqueNames;
use structgen_grammar::keyed::{KeyedMap, KeyedSet};
use structgen_regular::{RegularLimits, RegularMachine};

use super::super::ConvertError;
use super::super::scanner::error_at;
use super::super::tree::{Rule, Rules, Tree};
use super::{Definition, Lark};
use crate::regex::{self, RegexOptions};

/// The maximum number of nodes of all rules: a sequence of optional parts is written once for each part that may be the
/// first.
const MAX_NODES: usize = 1_000_000;

/// The variant of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum RuleVariant {
    /// With ignored text before every lexeme.
    Behind,
    /// Not empty, and with ignored text before every lexeme except the first.
    First,
}

pub(super) fn between_lexemes(
    text: &str,
    lark: Lark,
    start: &str,
    order: &[usize],
) -> Result<Rules, ConvertError> {
    let names = { lark.definitions.iter() }.map(|definition| definition.name.clone());
    let mut taken = UniqueNames::new(names);
    let mut writer = Writer {
        text,
        nullable: Nullable::of(text, &lark, order)?,
        ignored: taken.take("ignored"),
        wanted: Vec::new(),
        seen: KeyedSet::default(),
        nodes: 0,
    };
    let definitions: KeyedMap<&str, &Definition> = lark
        .definitions
        .iter()
        .map(|definition| (definition.name.as_str(), definition))
        .collect();
    writer.want(
        start,
        match lark.options.initial {
            true => RuleVariant::Behind,
            false => RuleVariant::First,
        },
    );
    let ignored = writer.plain(&Tree::choice(lark.ignored.clone()));
    let mut rules = Vec::new();
    let mut next = 0;
    while let Some((name, way)) = writer.wanted.get(next).cloned() {
        next += 1;
        let definition = definitions[name.as_str()];
        let mut body = writer.body(definition, way)?;
        if rules.is_empty() && way == RuleVariant::First && writer.nullable.names.contains(start) {
            body = Tree::Choice(vec![body, Tree::Text(String::new(), false)]);
        }
        rules.push(Rule {
            name: key(&name, way),
            at: definition.at,
            body,
        });
    }
    rules.push(Rule {
        name: writer.ignored.clone(),
        at: 0,
        body: Tree::Repeat(Box::new(ignored), 0, lark.options.once.then_some(1)),
    });
    // A rule with one variant keeps its name.
    let mut names: KeyedMap<String, String> = KeyedMap::default();
    for (name, way) in &writer.wanted {
        let is_twice = writer.seen.contains(&(name.clone(), RuleVariant::Behind));
        let written = match way {
            RuleVariant::First if is_twice => taken.take(&format!("{name}-first")),
            _ => name.clone(),
        };
        names.insert(key(name, *way), written);
    }
    for rule in &mut rules {
        rule.body.rename(&names);
        if let Some(name) = names.get(&rule.name) {
            rule.name.clone_from(name);
        }
    }
    Ok(Rules(rules))
}

/// The provisional name of a variant; no rule has a name with a space.
fn key(name: &str, way: RuleVariant) -> String {
    match way {
        RuleVariant::Behind => format!("{name} behind"),
        RuleVariant::First => format!("{name} first"),
    }
}

struct Writer<'t> {
    text: &'t str,
    nullable: Nullable,
    /// The rule of ignored text.
    ignored: String,
    /// The variants to write, and those already written.
    wanted: Vec<(String, RuleVariant)>,
    seen: KeyedSet<(String, RuleVariant)>,
    nodes: usize,
}

/// All functions on trees are recursive: the parser has bounded their depth.
impl Writer<'_> {
    fn want(&mut self, name: &str, way: RuleVariant) -> Tree {
        if self.seen.insert((name.to_owned(), way)) {
            self.wanted.push((name.to_owned(), way));
        }
        Tree::Name(key(name, way), 0)
    }

    fn count(&mut self) -> Result<(), ConvertError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_large(self.text));
        }
        Ok(())
    }

    fn body(&mut self, definition: &Definition, way: RuleVariant) -> Result<Tree, ConvertError> {
        if super::is_terminal(&definition.name) {
            return Ok(self.plain(&definition.body));
        }
        match (way, definition.is_lexeme) {
            (RuleVariant::Behind, true) => self.lexeme_behind(&definition.body),
            (RuleVariant::Behind, false) => self.behind(&definition.body),
            (RuleVariant::First, true) => Ok(self.nonempty(&definition.body)),
            (RuleVariant::First, false) => {
                let first = self.first(&definition.body)?;
                Ok(first.unwrap_or(Tree::Choice(Vec::new())))
            }
        }
    }

    /// A part of a lexeme, unchanged; its terminals are needed.
    fn plain(&mut self, tree: &Tree) -> Tree {
        let mut plain = tree.clone();
        let names: Vec<String> = tree.names().map(|(name, _)| name.to_owned()).collect();
        let mut renamed = KeyedMap::default();
        for name in names {
            self.want(&name, RuleVariant::Behind);
            let key = key(&name, RuleVariant::Behind);
            renamed.insert(name, key);
        }
        plain.rename(&renamed);
        plain
    }

    fn is_lexeme(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Name(name, _) => super::is_terminal(name),
            Tree::Sequence(_)
            | Tree::Choice(_)
            | Tree::Repeat(..)
            | Tree::Capture(..)
            | Tree::Token(_)
            | Tree::Json(_) => false,
            Tree::Text(..) | Tree::Chars(..) | Tree::Pattern(_) | Tree::Both(_) | Tree::Not(_) => {
                true
            }
        }
    }

    /// The texts of a lexeme except the empty one.
    fn nonempty(&mut self, tree: &Tree) -> Tree {
        if !self.nullable.is(tree) {
            return self.plain(tree);
        }
        match tree {
            Tree::Capture(name, body) => Tree::Capture(name.clone(), Box::new(self.nonempty(body))),
            tree => {
                let empty = Tree::Text(String::new(), false);
                Tree::Both(vec![self.plain(tree), Tree::Not(Box::new(empty))])
            }
        }
    }

    /// Ignored text and then the lexeme; or nothing, if the lexeme may be empty.
    fn lexeme_behind(&mut self, tree: &Tree) -> Result<Tree, ConvertError> {
        self.count()?;
        let lexeme = self.nonempty(tree);
        let parts = self.after_ignored(lexeme);
        Ok(match self.nullable.is(tree) {
            true => Tree::Repeat(Box::new(parts), 0, Some(1)),
            false => parts,
        })
    }

    fn after_ignored(&self, tree: Tree) -> Tree {
        Tree::Sequence(vec![Tree::Name(self.ignored.clone(), 0), tree])
    }

    fn behind(&mut self, tree: &Tree) -> Result<Tree, ConvertError> {
        self.count()?;
        if self.is_lexeme(tree) {
            return match tree {
                Tree::Text(text, _) if text.is_empty() => Ok(tree.clone()),
                _ => self.lexeme_behind(tree),
            };
        }
        Ok(match tree {
            Tree::Name(name, _) => self.want(name, RuleVariant::Behind),
            Tree::Sequence(parts) => Tree::Sequence(self.all_behind(parts)?),
            Tree::Choice(arms) => Tree::Choice(self.all_behind(arms)?),
            Tree::Repeat(body, min, max) => Tree::Repeat(Box::new(self.behind(body)?), *min, *max),
            Tree::Capture(name, body) => {
                // Ignored text is not part of the captured text.
                let named = |body| Tree::Capture(name.clone(), Box::new(body));
                let mut arms = Vec::new();
                if let Some(first) = self.first(body)? {
                    arms.push(self.after_ignored(named(first)));
                }
                if self.nullable.is(body) {
                    arms.push(named(Tree::Text(String::new(), false)));
                }
                Tree::choice(arms)
            }
            tree => self.after_ignored(tree.clone()),
        })
    }

    fn all_behind(&mut self, trees: &[Tree]) -> Result<Vec<Tree>, ConvertError> {
        trees.iter().map(|tree| self.behind(tree)).collect()
    }

    /// The texts except the empty one, without ignored text before them; `None` if there are none.
    fn first(&mut self, tree: &Tree) -> Result<Option<Tree>, ConvertError> {
        self.count()?;
        if self.is_lexeme(tree) {
            return Ok(match tree {
                Tree::Text(text, _) if text.is_empty() => None,
                _ => Some(self.nonempty(tree)),
            });
        }
        Ok(match tree {
            Tree::Name(name, _) => Some(self.want(name, RuleVariant::First)),
            Tree::Sequence(parts) => {
                let mut arms = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    if let Some(first) = self.first(part)? {
                        let rest = self.all_behind(&parts[index + 1..])?;
                        let all = std::iter::once(first).chain(rest);
                        arms.push(Tree::sequence(all.collect()));
                    }
                    if !self.nullable.is(part) {
                        break;
                    }
                }
                one_of(arms)
            }
            Tree::Choice(arms) => {
                let mut firsts = Vec::new();
                for arm in arms {
                    firsts.extend(self.first(arm)?);
                }
                one_of(firsts)
            }
            Tree::Repeat(_, _, Some(0)) => None,
            Tree::Repeat(body, min, max) => match self.first(body)? {
                None => None,
                Some(first) => {
                    let rest = self.behind(body)?;
                    let max = max.map(|max| max - 1);
                    let rest = Tree::Repeat(Box::new(rest), min.saturating_sub(1), max);
                    Some(Tree::Sequence(match max {
                        Some(0) => vec![first],
                        _ => vec![first, rest],
                    }))
                }
            },
            Tree::Capture(name, body) => self
                .first(body)?
                .map(|first| Tree::Capture(name.clone(), Box::new(first))),
            tree => Some(tree.clone()),
        })
    }
}

fn one_of(arms: Vec<Tree>) -> Option<Tree> {
    (!arms.is_empty()).then(|| Tree::choice(arms))
}

fn too_large(text: &str) -> ConvertError {
    error_at(
        text,
        0,
        "with what is ignored between lexemes the grammar becomes too large: write white space where it may stand",
    )
}

/// The definitions and patterns that match the empty text.
struct Nullable {
    /// The names of definitions.
    names: KeyedSet<String>,
    /// The patterns, as written.
    patterns: KeyedSet<String>,
}

impl Nullable {
    /// `order` has the terminals, each after those that it refers to.
    fn of(text: &str, lark: &Lark, order: &[usize]) -> Result<Self, ConvertError> {
        let mut found = Self {
            names: KeyedSet::default(),
            patterns: KeyedSet::default(),
        };
        let bodies = lark.definitions.iter().map(|it| &it.body);
        for tree in bodies.chain(&lark.ignored) {
            for pattern in tree.patterns() {
                if found.patterns.contains(pattern) {
                    continue;
                }
                if is_nullable(pattern).ok_or_else(|| too_large(text))? {
                    found.patterns.insert(pattern.to_owned());
                }
            }
        }
        for &index in order {
            let definition = &lark.definitions[index];
            if found.is(&definition.body) {
                found.names.insert(definition.name.clone());
            }
        }
        let mut steps = 0;
        loop {
            let before = found.names.len();
            for definition in &lark.definitions {
                if super::is_terminal(&definition.name) || found.names.contains(&definition.name) {
                    continue;
                }
                steps += definition.body.size();
                if found.is(&definition.body) {
                    found.names.insert(definition.name.clone());
                }
            }
            if found.names.len() == before {
                return Ok(found);
            }
            if steps > 20 * MAX_NODES {
                return Err(too_large(text));
            }
        }
    }

    fn is(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Name(name, _) => self.names.contains(name),
            Tree::Text(text, _) => text.is_empty(),
            Tree::Pattern(pattern) => self.patterns.contains(pattern),
            Tree::Chars(..) | Tree::Token(_) | Tree::Json(_) => false,
            Tree::Sequence(parts) | Tree::Both(parts) => parts.iter().all(|part| self.is(part)),
            Tree::Choice(arms) => arms.iter().any(|arm| self.is(arm)),
            Tree::Repeat(body, min, _) => *min == 0 || self.is(body),
            Tree::Not(body) => !self.is(body),
            Tree::Capture(_, body) => self.is(body),
        }
    }
}

/// Whether a pattern between slashes, with its flags, matches the empty text; `None` if deciding that exceeds a limit.
fn is_nullable(written: &str) -> Option<bool> {
    let (pattern, flags) = written.strip_prefix('/')?.rsplit_once('/')?;
    let pattern = match flags {
        "" => pattern.to_owned(),
        flags => format!("(?{flags}){pattern}"),
    };
    let set = regex::parse(&pattern, RegexOptions::rust()).ok()?;
    let mut machine = RegularMachine::new(&set, RegularLimits::default()).ok()?;
    machine.contains(b"").ok()
}
