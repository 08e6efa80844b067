//! The dialect of the Rust crate `regex`, read by `regex-syntax`.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};
use structgen_grammar::{CharSet, Regular};

use super::class;
use super::{MAX_ANCHORS, RegexError, RegexOptions, boundary};

/// The syntax tree of the pattern; anchors and boundaries are look-arounds in it.
pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
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
fn lower(hir: &Hir, anchors: &mut u32) -> Result<Regular, RegexError> {
    Ok(match hir.kind() {
        HirKind::Empty => Regular::Empty,
        HirKind::Literal(literal) => Regular::Bytes((&*literal.0).into()),
        HirKind::Class(class) => lower_class(class),
        HirKind::Look(look) => {
            *anchors += 1;
            if *anchors > MAX_ANCHORS {
                return Err(RegexError::limit(0, "anchors", MAX_ANCHORS));
            }
            lower_look(*look)
        }
        HirKind::Repetition(repetition) => {
            let body = lower(&repetition.sub, anchors)?;
            Regular::repeat(body, repetition.min, repetition.max)
        }
        HirKind::Capture(capture) => lower(&capture.sub, anchors)?,
        HirKind::Concat(parts) => Regular::concat(lower_all(parts, anchors)?),
        HirKind::Alternation(arms) => Regular::union(lower_all(arms, anchors)?),
    })
}

fn lower_all(parts: &[Hir], anchors: &mut u32) -> Result<Vec<Regular>, RegexError> {
    parts.iter().map(|part| lower(part, anchors)).collect()
}

fn lower_class(class: &Class) -> Regular {
    match class {
        Class::Unicode(class) => Regular::Chars(char_set(class)),
        Class::Bytes(class) => Regular::union(
            class
                .iter()
                .map(|range| Regular::ByteRange(range.start(), range.end())),
        ),
    }
}

fn char_set(class: &ClassUnicode) -> CharSet {
    CharSet::new(class.iter().map(|range| (range.start(), range.end())))
}

fn lower_look(look: Look) -> Regular {
    let word = match look {
        Look::WordUnicode
        | Look::WordUnicodeNegate
        | Look::WordStartUnicode
        | Look::WordEndUnicode
        | Look::WordStartHalfUnicode
        | Look::WordEndHalfUnicode => unicode_word(),
        _ => class::word(),
    };
    let one_of = |behind, set: CharSet| Regular::look(behind, false, Regular::Chars(set));
    let none_of = |behind, set: CharSet| Regular::look(behind, true, Regular::Chars(set));
    let others = |chars: &[char]| CharSet::from_iter(chars.iter().copied()).complement();
    // No end of a line: between the two characters that end it together.
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

/// `\w` as the crate `regex` means it: the ASCII one where its tables are not built in.
fn unicode_word() -> CharSet {
    match regex_syntax::parse(r"\w").as_ref().map(Hir::kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => char_set(class),
        _ => class::word(),
    }
}
