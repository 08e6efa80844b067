//! Named groups as captures.
//!
//! The parts around named groups become expressions of a grammar; all other parts stay patterns.

use regex_syntax::ast::{
    self, AssertionKind, Ast, Flag, FlagsItemKind, GroupKind, LiteralKind, RepetitionKind,
    RepetitionRange,
};
use structgen_grammar::{Expr, ExprId, Grammar, GrammarBuilder, JsonForm};

use super::rust::{RustSyntax, syntax};
use super::{Dialect, RegexError, RegexOptions, parse};

/// Parses a pattern with named groups, `(?P<name>…)` or `(?<name>…)`, in the syntax of the crate `regex`, into a
/// grammar in which they are captures. Returns `None` if the pattern has none, and in other dialects.
///
/// ```
/// use structgen_frontend::regex::{RegexOptions, parse_named};
///
/// let grammar = parse_named("(?P<year>[0-9]{4})-(?P<month>[0-9]{2})", RegexOptions::rust())?.unwrap();
/// assert!(grammar.to_string().contains("@year("));
/// assert!(parse_named("[0-9]{4}", RegexOptions::rust())?.is_none());
/// # Ok::<(), structgen_frontend::regex::RegexError>(())
/// ```
///
/// # Errors
/// As [`parse`], and [`RegexErrorKind::Unsupported`](super::RegexErrorKind::Unsupported) if a part of the pattern would
/// not match on its own: if named groups occur together with boundaries, look-around, the operators `&` and `~`, the
/// flag `x` or anchors other than those around the whole pattern, or in a pattern that is searched for.
pub fn parse_named(pattern: &str, options: RegexOptions) -> Result<Option<Grammar>, RegexError> {
    if options.dialect != Dialect::Rust || !has_named(pattern) {
        return Ok(None);
    }
    // A pattern with named groups has the same errors as any other.
    parse(pattern, options)?;
    let RustSyntax { looks, ast, .. } = syntax(pattern, options)?;
    if !is_named(&ast) {
        return Ok(None);
    }
    let operator = find(&ast, &is_operator).filter(|_| options.operators);
    let refused = [
        (looks.into_keys().min(), "a named group beside look-around"),
        (
            options.search.then_some(0),
            "a named group beside what a search passes over",
        ),
        (operator, "a named group beside an operator of sets"),
    ];
    for (position, what) in refused {
        if let Some(position) = position {
            return Err(RegexError::unsupported(position, what));
        }
    }
    let mut lowering = CaptureLowering {
        pattern,
        options,
        builder: GrammarBuilder::new(),
    };
    let root = lowering.builder.declare("root");
    let body = lowering.whole(&ast)?;
    lowering.builder.define(root, body);
    Ok(Some(lowering.builder.finish(root, JsonForm::generate())))
}

/// Returns whether the pattern may have a named group. What looks like one may be part of a class or begin a
/// look-behind.
fn has_named(pattern: &str) -> bool {
    pattern.contains("(?P<") || pattern.contains("(?<")
}

/// Whether it contains a named group. Recursive: `regex-syntax` has bounded the depth.
fn is_named(ast: &Ast) -> bool {
    match ast {
        Ast::Group(group) => {
            matches!(group.kind, GroupKind::CaptureName { .. }) || is_named(&group.ast)
        }
        Ast::Repetition(repetition) => is_named(&repetition.ast),
        Ast::Concat(concat) => concat.asts.iter().any(is_named),
        Ast::Alternation(alternation) => alternation.asts.iter().any(is_named),
        _ => false,
    }
}

struct CaptureLowering<'p> {
    pattern: &'p str,
    options: RegexOptions,
    builder: GrammarBuilder,
}

impl CaptureLowering<'_> {
    /// The pattern without the anchors around it, which have no effect if the whole text must match.
    fn whole(&mut self, ast: &Ast) -> Result<ExprId, RegexError> {
        let Ast::Concat(concat) = ast else {
            return self.lower(ast, "");
        };
        let is = |ast: Option<&Ast>, kinds: [AssertionKind; 2]| matches!(ast, Some(Ast::Assertion(assertion)) if kinds.contains(&assertion.kind));
        let mut parts = &concat.asts[..];
        if is(
            parts.first(),
            [AssertionKind::StartLine, AssertionKind::StartText],
        ) {
            parts = &parts[1..];
        }
        // After the flag `m`, the anchor may have another meaning.
        let has_flags = parts.iter().any(|part| matches!(part, Ast::Flags(_)));
        if is(
            parts.last(),
            [AssertionKind::EndLine, AssertionKind::EndText],
        ) && !has_flags
        {
            parts = &parts[..parts.len() - 1];
        }
        self.concat(parts, "")
    }

    /// Recursive: `regex-syntax` has bounded the depth. `flags` are the groups of flags such as `(?i)` in effect.
    fn lower(&mut self, ast: &Ast, flags: &str) -> Result<ExprId, RegexError> {
        if !is_named(ast) {
            return self.leaf(std::slice::from_ref(ast), flags);
        }
        match ast {
            Ast::Group(group) => match &group.kind {
                GroupKind::CaptureName { name, .. } => {
                    let body = self.lower(&group.ast, flags)?;
                    Ok(self.builder.capture(name.name.as_str(), body))
                }
                GroupKind::CaptureIndex(_) => self.lower(&group.ast, flags),
                GroupKind::NonCapturing(own) => {
                    let flags = self.with_flags(flags, own)?;
                    self.lower(&group.ast, &flags)
                }
            },
            Ast::Repetition(repetition) => {
                let (min, max) = match &repetition.op.kind {
                    RepetitionKind::ZeroOrOne => (0, Some(1)),
                    RepetitionKind::ZeroOrMore => (0, None),
                    RepetitionKind::OneOrMore => (1, None),
                    RepetitionKind::Range(RepetitionRange::Exactly(n)) => (*n, Some(*n)),
                    RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (*n, None),
                    RepetitionKind::Range(RepetitionRange::Bounded(n, m)) => (*n, Some(*m)),
                };
                let body = self.lower(&repetition.ast, flags)?;
                Ok(self.builder.repeat(body, min, max))
            }
            Ast::Concat(concat) => self.concat(&concat.asts, flags),
            Ast::Alternation(alternation) => {
                let mut arms = Vec::with_capacity(alternation.asts.len());
                let mut flags = flags.to_owned();
                for arm in &alternation.asts {
                    arms.push(self.lower(arm, &flags)?);
                    // The flags of an arm also apply to the arms after it.
                    flags = self.behind(arm, flags)?;
                }
                Ok(self.builder.choice(arms))
            }
            _ => self.leaf(std::slice::from_ref(ast), flags),
        }
    }

    fn concat(&mut self, parts: &[Ast], flags: &str) -> Result<ExprId, RegexError> {
        let mut flags = flags.to_owned();
        let mut found = Vec::with_capacity(parts.len());
        for run in parts.chunk_by(|one, other| !is_named(one) && !is_named(other)) {
            found.push(match run {
                [part] => self.lower(part, &flags)?,
                run => self.leaf(run, &flags)?,
            });
            for part in run {
                flags = self.behind(part, flags)?;
            }
        }
        Ok(self.builder.sequence(found))
    }

    /// The flags in effect after a part.
    fn behind(&self, part: &Ast, flags: String) -> Result<String, RegexError> {
        match part {
            Ast::Flags(own) => self.with_flags(&flags, &own.flags),
            Ast::Concat(concat) => {
                { concat.asts.iter() }.try_fold(flags, |flags, part| self.behind(part, flags))
            }
            _ => Ok(flags),
        }
    }

    fn with_flags(&self, flags: &str, own: &ast::Flags) -> Result<String, RegexError> {
        let is_x = |item: &ast::FlagsItem| item.kind == FlagsItemKind::Flag(Flag::IgnoreWhitespace);
        let (start, end) = (own.span.start.offset, own.span.end.offset);
        if own.items.iter().any(is_x) {
            return Err(RegexError::unsupported(
                start,
                "a named group beside the flag x",
            ));
        }
        Ok(match start == end {
            true => flags.to_owned(),
            false => format!("{flags}(?{})", &self.pattern[start..end]),
        })
    }

    /// Consecutive parts without named groups.
    fn leaf(&mut self, parts: &[Ast], flags: &str) -> Result<ExprId, RegexError> {
        if let Some(position) = parts.iter().find_map(|part| find(part, &is_assertion)) {
            return Err(RegexError::unsupported(
                position,
                "a named group beside an anchor or a boundary",
            ));
        }
        let says_nothing = |part: &Ast| matches!(part, Ast::Flags(_) | Ast::Empty(_));
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return Ok(self.builder.bytes([]));
        };
        let text = &self.pattern[first.span().start.offset..last.span().end.offset];
        for part in parts {
            self.behind(part, String::new())?;
        }
        if parts.iter().all(says_nothing) {
            return Ok(self.builder.bytes([]));
        }
        let set = parse(&format!("{flags}(?:{text})"), self.options)?;
        Ok(self.builder.expr(Expr::Regular(set)))
    }
}

/// Whether it is an anchor or a boundary.
fn is_assertion(leaf: &Ast) -> bool {
    matches!(leaf, Ast::Assertion(_))
}

/// Whether it is `&` or `~`, not escaped.
fn is_operator(leaf: &Ast) -> bool {
    matches!(leaf, Ast::Literal(literal)
        if literal.kind == LiteralKind::Verbatim && matches!(literal.c, '&' | '~'))
}

/// The position of the first such leaf. Recursive, as above.
fn find(ast: &Ast, wanted: &dyn Fn(&Ast) -> bool) -> Option<usize> {
    match ast {
        Ast::Group(group) => find(&group.ast, wanted),
        Ast::Repetition(repetition) => find(&repetition.ast, wanted),
        Ast::Concat(concat) => concat.asts.iter().find_map(|part| find(part, wanted)),
        Ast::Alternation(choice) => choice.asts.iter().find_map(|part| find(part, wanted)),
        leaf => wanted(leaf).then(|| leaf.span().start.offset),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RegexErrorKind;
    use super::*;

    fn printed(pattern: &str) -> String {
        match parse_named(pattern, RegexOptions::rust()) {
            Ok(Some(grammar)) => grammar.to_string(),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn named_groups_are_captures_and_flags_hold_where_they_stand() {
        assert_eq!(printed("a(b)[(?P<]"), "none");
        assert_eq!(printed("^(?P<a>x)$"), printed("(?<a>x)"));
        let flagged = printed("(?i)a(?P<x>b(?-i)c)(?s:.(?P<y>.)?)");
        assert_eq!(flagged.matches("[Aa]").count(), 1, "{flagged}");
        assert_eq!(flagged.matches("[Bb]").count(), 1, "{flagged}");
        assert!(!flagged.contains("[Cc]"), "{flagged}");
        assert!(
            flagged.contains("@x(") && flagged.contains("@y("),
            "{flagged}"
        );
    }

    #[test]
    fn what_does_not_match_by_itself_is_refused_by_its_place() {
        for (pattern, position) in [
            (r"(?P<a>x)\b(?P<b>y)", 8),
            ("(?P<a>x)(?=y)y", 8),
            ("(?P<a>x|^y)", 8),
            ("(?x)(?P<a>x)", 2),
        ] {
            let error = parse_named(pattern, RegexOptions::rust()).unwrap_err();
            assert_eq!(error.position, position, "{pattern}: {error}");
        }
        assert!(printed("(?P<a>x").contains("unclosed"));
    }

    #[test]
    fn operators_of_sets_beside_a_named_group_are_not_supported() {
        let options = RegexOptions::rust().with_operators(true);
        for (pattern, position) in [
            ("(?P<x>[a-z]+)&(ab)?", 13),
            ("[a-z]+&(?P<x>no|yes)", 6),
            ("~(?P<x>a)", 0),
            ("(?P<x>a(b~c)?)", 9),
        ] {
            let error = parse_named(pattern, options).unwrap_err();
            assert_eq!(error.position, position, "{pattern}: {error}");
            let is_unsupported = matches!(error.kind, RegexErrorKind::Unsupported(_));
            assert!(is_unsupported, "{pattern}: {error}");
        }
        // They are characters without the option, within a class, and after a backslash.
        assert!(printed("(?P<x>a)&~").contains("@x("));
        let escaped = parse_named(r"(?P<x>a)[&~]\&\~", options);
        assert!(matches!(escaped, Ok(Some(_))), "{escaped:?}");
    }

    #[test]
    fn a_pattern_without_named_groups_has_none_whatever_else_it_has() {
        for pattern in ["a(?<=a)b", "a(?<!b)", "(?=a)[(?P<]", "[(?<]~a"] {
            for options in [RegexOptions::rust(), RegexOptions::rust().with_search(true)] {
                let found = parse_named(pattern, options.with_operators(true));
                assert!(matches!(found, Ok(None)), "{pattern}: {found:?}");
            }
        }
    }
}
