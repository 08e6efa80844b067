//! The dialect of the Rust crate `regex`, read by `regex-syntax`.

use regex_syntax::hir::{Class, Hir, HirKind, Look};
use structgen_grammar::{CharSet, Regular};

use super::anchored::Anchored;
use super::ecma::MAX_ANCHORS;
use super::{RegexError, RegexOptions};

pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Anchored, RegexError> {
    let hir = regex_syntax::ParserBuilder::new()
        .nest_limit(options.nesting())
        .build()
        .parse(pattern)
        .map_err(|error| translate(&error, options))?;
    lower(&hir, &mut 0)
}

fn translate(error: &regex_syntax::Error, options: RegexOptions) -> RegexError {
    match error {
        regex_syntax::Error::Parse(error) => {
            let position = error.span().start.offset;
            match error.kind() {
                regex_syntax::ast::ErrorKind::NestLimitExceeded(_) => {
                    RegexError::limit(position, "nested groups", options.nesting())
                }
                regex_syntax::ast::ErrorKind::UnsupportedLookAround => {
                    RegexError::unsupported(position, "look-around")
                }
                regex_syntax::ast::ErrorKind::UnsupportedBackreference => {
                    RegexError::unsupported(position, "a back-reference")
                }
                kind => RegexError::syntax(position, kind.to_string()),
            }
        }
        regex_syntax::Error::Translate(error) => {
            RegexError::syntax(error.span().start.offset, error.kind().to_string())
        }
        other => RegexError::syntax(0, other.to_string()),
    }
}

/// Recursive: `regex-syntax` has bounded the depth.
///
/// A `Hir` has no positions, so what it holds and we refuse is reported at byte 0 and named.
fn lower(hir: &Hir, anchors: &mut u32) -> Result<Anchored, RegexError> {
    Ok(match hir.kind() {
        HirKind::Empty => Anchored::EMPTY,
        HirKind::Literal(literal) => Anchored::consuming(Regular::Bytes((&*literal.0).into())),
        HirKind::Class(Class::Unicode(class)) => Anchored::chars(CharSet::new(
            class.iter().map(|range| (range.start(), range.end())),
        )),
        HirKind::Class(Class::Bytes(class)) => Anchored::union(
            class
                .iter()
                .map(|range| Anchored::consuming(Regular::ByteRange(range.start(), range.end())))
                .collect(),
        ),
        HirKind::Look(look) => {
            *anchors += 1;
            if *anchors > MAX_ANCHORS {
                return Err(RegexError::limit(0, "anchors", MAX_ANCHORS));
            }
            match look {
                Look::Start => Anchored::START,
                Look::End => Anchored::END,
                Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => {
                    return Err(RegexError::unsupported(0, "an anchor of a line (flag `m`)"));
                }
                _ => return Err(RegexError::unsupported(0, "a word boundary")),
            }
        }
        HirKind::Repetition(repetition) => {
            lower(&repetition.sub, anchors)?.repeat(repetition.min, repetition.max)
        }
        HirKind::Capture(capture) => lower(&capture.sub, anchors)?,
        HirKind::Concat(parts) => Anchored::concat(lower_all(parts, anchors)?),
        HirKind::Alternation(arms) => Anchored::union(lower_all(arms, anchors)?),
    })
}

fn lower_all(parts: &[Hir], anchors: &mut u32) -> Result<Vec<Anchored>, RegexError> {
    parts.iter().map(|part| lower(part, anchors)).collect()
}
