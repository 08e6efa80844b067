//! The dialect of the Rust crate `regex`, read by `regex-syntax`.
//!
//! That crate has no look-around, so it is replaced before parsing: a look-around becomes a plain group at the same
//! position, which is recorded.

use regex_syntax::ast::{self, Ast, Flag, FlagsItemKind, GroupKind, LiteralKind, RepetitionRange};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, HirKind, Look};
use rustc_hash::FxHashMap;
use structgen_grammar::{CharSet, Regular};

use super::class::{self, char_set};
use super::groups::Groups;
use super::{MAX_ANCHORS, RegexError, RegexOptions, boundary};

/// The syntax tree of the pattern; anchors, boundaries and look-arounds are look-arounds in it.
pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    let RustSyntax { text, looks, ast } = syntax(pattern, options)?;
    let lowering = RustLowering {
        pattern: &text,
        looks,
        groups: Groups::new(options, RustFlags::default()),
        operators: options.operators,
    };
    ast::visit(&ast, lowering)
}

/// A pattern as `regex-syntax` reads it.
pub(super) struct RustSyntax {
    /// The pattern with a plain group for each look-around.
    text: String,
    /// The look-arounds by position: whether each one looks behind, and whether it is negated.
    pub(super) looks: FxHashMap<usize, (bool, bool)>,
    pub(super) ast: Ast,
}

pub(super) fn syntax(pattern: &str, options: RegexOptions) -> Result<RustSyntax, RegexError> {
    let mut text = pattern.to_owned();
    let mut looks = FxHashMap::default();
    loop {
        let parsed = ast::parse::ParserBuilder::new()
            .nest_limit(options.nesting())
            .build()
            .parse(&text);
        match parsed {
            Ok(ast) => return Ok(RustSyntax { text, looks, ast }),
            Err(error) => match write_over(&mut text, &error) {
                Some((opened, _)) if text.len() > MAX_LOOKING as usize => {
                    let what = "bytes of a pattern that looks around";
                    return Err(RegexError::limit(opened, what, MAX_LOOKING));
                }
                Some((opened, _)) if looks.len() == MAX_ANCHORS as usize => {
                    return Err(RegexError::limit(opened, "anchors", MAX_ANCHORS));
                }
                Some((opened, look)) => {
                    looks.insert(opened, look);
                }
                None => return Err(translate(&error, options)),
            },
        }
    }
}

/// The maximum length of a pattern with look-around, which is parsed once for each look-around.
const MAX_LOOKING: u32 = 1 << 16;

/// Replaces the look-around that the parser rejects by a group; returns its position, whether it looks behind, and
/// whether it is negated.
fn write_over(text: &mut String, error: &ast::Error) -> Option<(usize, (bool, bool))> {
    if *error.kind() != ast::ErrorKind::UnsupportedLookAround {
        return None;
    }
    let (opened, end) = (error.span().start.offset, error.span().end.offset);
    // The replacements have the same length; `U` swaps greedy and lazy, which does not change what matches.
    for (prefix, group, look) in [
        ("?=", "?:", (false, false)),
        ("?!", "?:", (false, true)),
        ("?<=", "?U:", (true, false)),
        ("?<!", "?U:", (true, true)),
    ] {
        let start = end.checked_sub(prefix.len())?;
        if text.get(start..end) == Some(prefix) {
            text.replace_range(start..end, group);
            return Some((opened, look));
        }
    }
    None
}

fn translate(error: &ast::Error, options: RegexOptions) -> RegexError {
    let position = error.span().start.offset;
    match error.kind() {
        ast::ErrorKind::NestLimitExceeded(_) => {
            RegexError::limit(position, "nested groups", options.nesting())
        }
        ast::ErrorKind::UnsupportedBackreference => {
            RegexError::unsupported(position, "a back-reference")
        }
        kind => RegexError::syntax(position, kind.to_string()),
    }
}

/// The flags that change what matches.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RustFlags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    crlf: bool,
    unicode: bool,
}

impl Default for RustFlags {
    fn default() -> Self {
        Self {
            ignore_case: false,
            multi_line: false,
            dot_all: false,
            crlf: false,
            unicode: true,
        }
    }
}

impl RustFlags {
    fn with(mut self, flags: &ast::Flags) -> Self {
        let mut on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => on = false,
                FlagsItemKind::Flag(Flag::CaseInsensitive) => self.ignore_case = on,
                FlagsItemKind::Flag(Flag::MultiLine) => self.multi_line = on,
                FlagsItemKind::Flag(Flag::DotMatchesNewLine) => self.dot_all = on,
                FlagsItemKind::Flag(Flag::CRLF) => self.crlf = on,
                FlagsItemKind::Flag(Flag::Unicode) => self.unicode = on,
                // The parser has handled white space; laziness does not change what matches.
                FlagsItemKind::Flag(Flag::SwapGreed | Flag::IgnoreWhitespace) => {}
            }
        }
        self
    }
}

/// Lowers the tree from left to right. The visitor keeps its own stack.
struct RustLowering<'p> {
    pattern: &'p str,
    /// The positions of look-arounds.
    looks: FxHashMap<usize, (bool, bool)>,
    groups: Groups<RustFlags>,
    operators: bool,
}

impl ast::Visitor for RustLowering<'_> {
    type Output = Regular;
    type Err = RegexError;

    fn finish(self) -> Result<Regular, RegexError> {
        self.groups.finish()
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), RegexError> {
        if let Ast::Group(group) = ast {
            let opened = group.span.start.offset;
            self.groups.open(opened, self.looks.get(&opened).copied())?;
            if let GroupKind::NonCapturing(flags) = &group.kind {
                self.groups.flags = self.groups.flags.with(flags);
            }
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), RegexError> {
        let at = ast.span().start.offset;
        match ast {
            Ast::Empty(_) | Ast::Alternation(_) | Ast::Concat(_) => Ok(()),
            Ast::Flags(set) => {
                self.groups.flags = self.groups.flags.with(&set.flags);
                Ok(())
            }
            Ast::Group(_) => self.groups.close(at),
            Ast::Repetition(repetition) => {
                let counts = match &repetition.op.kind {
                    ast::RepetitionKind::ZeroOrOne => (0, Some(1)),
                    ast::RepetitionKind::ZeroOrMore => (0, None),
                    ast::RepetitionKind::OneOrMore => (1, None),
                    ast::RepetitionKind::Range(range) => match *range {
                        RepetitionRange::Exactly(times) => (times, Some(times)),
                        RepetitionRange::AtLeast(min) => (min, None),
                        RepetitionRange::Bounded(min, max) => (min, Some(max)),
                    },
                };
                let operator = repetition.op.span.start.offset;
                self.groups.quantify(operator, counts, true)
            }
            Ast::Literal(literal) => {
                let is_plain = literal.kind == LiteralKind::Verbatim;
                match literal.c {
                    '&' if self.operators && is_plain => self.groups.and(at),
                    '~' if self.operators && is_plain => {
                        self.groups.not(at);
                        Ok(())
                    }
                    c if is_plain && !self.groups.flags.ignore_case => self.groups.push_char(at, c),
                    _ => self.leaf(ast),
                }
            }
            _ => self.leaf(ast),
        }
    }

    fn visit_alternation_in(&mut self) -> Result<(), RegexError> {
        self.groups.bar()
    }
}

impl RustLowering<'_> {
    /// A leaf, translated by `regex-syntax` under the flags in effect.
    fn leaf(&mut self, ast: &Ast) -> Result<(), RegexError> {
        let flags = self.groups.flags;
        let hir = TranslatorBuilder::new()
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .crlf(flags.crlf)
            .unicode(flags.unicode)
            .build()
            .translate(self.pattern, ast)
            .map_err(|error| {
                RegexError::syntax(error.span().start.offset, error.kind().to_string())
            })?;
        let at = ast.span().start.offset;
        match hir.kind() {
            HirKind::Look(look) => self.groups.look(at, lower_look(*look)),
            HirKind::Class(class) => self.groups.push_set(at, lower_class(class)),
            HirKind::Literal(literal) => {
                let mut chars = std::str::from_utf8(&literal.0).unwrap_or_default().chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => self.groups.push_char(at, c),
                    _ => Err(not_understood(at)),
                }
            }
            _ => Err(not_understood(at)),
        }
    }
}

/// The error for parts that leaves are never translated to.
fn not_understood(at: usize) -> RegexError {
    RegexError::unsupported(at, "this part of a pattern")
}

fn lower_class(class: &Class) -> CharSet {
    match class {
        Class::Unicode(class) => char_set(class),
        // Without `u`, non-ASCII is refused: it could match a part of a character.
        Class::Bytes(class) => CharSet::new(
            class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end()))),
        ),
    }
}

fn lower_look(look: Look) -> Regular {
    let word = match look {
        Look::WordUnicode
        | Look::WordUnicodeNegate
        | Look::WordStartUnicode
        | Look::WordEndUnicode
        | Look::WordStartHalfUnicode
        | Look::WordEndHalfUnicode => {
            class::unicode_class(r"\w").unwrap_or_else(|| class::word(false))
        }
        _ => class::word(false),
    };
    let one_of = |behind, set: CharSet| Regular::look(behind, false, Regular::Chars(set));
    let none_of = |behind, set: CharSet| Regular::look(behind, true, Regular::Chars(set));
    let others = |chars: &[char]| CharSet::from_iter(chars.iter().copied()).complement();
    // Between a carriage return and a line feed there is no line end.
    let inside_crlf = || {
        Regular::union([
            none_of(true, CharSet::from_iter(['\r'])),
            none_of(false, CharSet::from_iter(['\n'])),
        ])
    };
    match look {
        Look::Start | Look::End => Regular::anchor(look == Look::Start),
        Look::StartLF | Look::EndLF => none_of(look == Look::StartLF, others(&['\n'])),
        Look::StartCRLF | Look::EndCRLF => Regular::concat([
            none_of(look == Look::StartCRLF, others(&['\r', '\n'])),
            inside_crlf(),
        ]),
        Look::WordAscii | Look::WordUnicode => boundary(word, false),
        Look::WordAsciiNegate | Look::WordUnicodeNegate => boundary(word, true),
        Look::WordStartAscii | Look::WordStartUnicode => {
            Regular::concat([none_of(true, word.clone()), one_of(false, word)])
        }
        Look::WordEndAscii | Look::WordEndUnicode => {
            Regular::concat([one_of(true, word.clone()), none_of(false, word)])
        }
        Look::WordStartHalfAscii | Look::WordStartHalfUnicode => none_of(true, word),
        Look::WordEndHalfAscii | Look::WordEndHalfUnicode => none_of(false, word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the crate itself accepts the pattern.
    fn is_taken(pattern: &str) -> bool {
        regex_syntax::parse(pattern).is_ok()
    }

    #[test]
    fn what_the_crate_takes_is_taken_and_nothing_else() {
        use proptest::prelude::*;
        proptest!(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() },
            |(pattern in r"(\(\?|[()\[\]{}|*+?^$\\.,:=!<>\-&~#0-9abimsuxRU PpLWbBn]|é){0,12}")| {
            let looks = ["?=", "?!", "?<=", "?<!"].iter().any(|prefix| pattern.contains(prefix));
            if !looks {
                let ours = parse(&pattern, RegexOptions::rust());
                prop_assert_eq!(ours.is_ok(), is_taken(&pattern), "{}: {:?}", pattern, ours);
            }
        });
    }
}
