//! `regex`: patterns of ECMA-262 (2024, section 22.2.1, with the flag `u`), up to a nesting depth.

use structgen_grammar::Regular;

use super::Narrowed;
use super::ecma_syntax::is_pattern;
use super::syntax::{
    any, between, char_set, class, digit, hex, many, optional, seq, some, text, texts,
};

pub(super) const NARROWED: Narrowed = Narrowed {
    contains: is_pattern,
    outer,
    left_out: "patterns with groups nested more than five deep, back-references by number, ranges in classes other \
        than of digits and of letters, `(?<` in classes, two names of groups with the same first letter (`\\(?<a` \
        counts as one), references by name other than to one-letter groups before them, names of groups beyond \
        ASCII, `{n,m}` with n from 100, numbers of more than five digits, `\\0`, and `\\p` with other than common \
        properties and scripts are left out",
    left_out_of_negation: "texts whose only mistakes are groups that do not match between the first `(` and the last \
        `)`, quantifiers without anything to repeat, ranges or numbers out of order, and names that are unknown, \
        missing or not unique are left out",
};

/// The maximum nesting of groups.
const DEPTH: u32 = 5;

/// The maximum nesting of groups inside a named group that is referred to.
const DEPTH_OF_NAMED: u32 = 1;

const NAME_STARTS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

pub(super) fn build() -> Regular {
    let pattern = Pieces::new("").disjunction(DEPTH);
    any([
        Regular::Intersection([pattern, distinct_names()].into()),
        with_references(),
    ])
}

/// At most one group name starts with each letter, so that no name occurs twice.
fn distinct_names() -> Regular {
    let twice = NAME_STARTS.chars().map(|letter| {
        let group = text(&format!("(?<{letter}"));
        let rest = Regular::any_text;
        seq([rest(), group.clone(), rest(), group, rest()])
    });
    // One complement for all letters instead of one each: it is a single part of the intersection and stepped once.
    Regular::Complement(any(twice).into())
}

/// The parts of patterns, except groups.
struct Pieces {
    /// A term without a group.
    simple: Regular,
    quantifier: Regular,
    group_name: Regular,
}

impl Pieces {
    /// Parts in which the characters of `without` do not occur unescaped, except in classes.
    fn new(without: &str) -> Self {
        let quantifier = optional(seq([any([class("*+?"), braces()]), optional(text("?"))]));
        let plain = char_set(&format!("^$\\.*+?()[]{{}}|{without}")).complement();
        let plain = Regular::Chars(plain);
        let atom = any([plain, text("."), seq([text("\\"), escape("")]), bracketed()]);
        let assertion = texts(&["^", "$", "\\b", "\\B"]);
        Self {
            simple: any([seq([atom, quantifier.clone()]), assertion]),
            quantifier,
            group_name: seq([class("A-Za-z_"), many(class("A-Za-z0-9_$"))]),
        }
    }

    fn disjunction(&self, depth: u32) -> Regular {
        many(any([self.term(depth), text("|")]))
    }

    fn term(&self, depth: u32) -> Regular {
        let Some(inner) = depth.checked_sub(1) else {
            return self.simple.clone();
        };
        let inner = seq([self.disjunction(inner), text(")")]);
        let named = seq([text("?<"), self.group_name.clone(), text(">")]);
        let kind = any([Regular::Empty, text("?:"), named]);
        let look = texts(&["?=", "?!", "?<=", "?<!"]);
        let group = any([
            seq([kind, inner.clone(), self.quantifier.clone()]),
            seq([look, inner]),
        ]);
        any([self.simple.clone(), seq([text("("), group])])
    }

    fn unnamed(&self, depth: u32) -> Regular {
        let term = match depth {
            0 => self.simple.clone(),
            _ => any([
                self.simple.clone(),
                seq([
                    text("("),
                    optional(text("?:")),
                    self.unnamed(depth - 1),
                    text(")"),
                    self.quantifier.clone(),
                ]),
            ]),
        };
        many(any([term, text("|")]))
    }
}

/// Patterns with one named group, whose name is one letter, and references to it after it.
fn with_references() -> Regular {
    // Without an unescaped `<` outside classes and `(?<` in them, nothing else looks like the start of such a group.
    let pieces = Pieces::new("<");
    let unnamed = pieces.unnamed(DEPTH_OF_NAMED);
    let name = || class("A-Za-z_");
    let reference = seq([text("\\k<"), name(), text(">"), pieces.quantifier.clone()]);
    let shape = seq([
        unnamed.clone(),
        text("(?<"),
        name(),
        text(">"),
        unnamed,
        text(")"),
        pieces.quantifier.clone(),
        many(any([reference, pieces.simple.clone(), text("|")])),
    ]);
    let other = Regular::Chars(char_set("\\").complement());
    let escaped = seq([text("\\"), Regular::Chars(char_set("k").complement())]);
    let consistent = NAME_STARTS.chars().map(|name| {
        let reference = text(&format!("\\k<{name}>"));
        seq([
            Regular::any_text(),
            text(&format!("(?<{name}>")),
            many(any([other.clone(), escaped.clone(), reference])),
        ])
    });
    Regular::Intersection([shape, any(consistent)].into())
}

/// `{n}`, `{n,}` and `{n,m}`, with the numbers in order.
fn braces() -> Regular {
    let number = || between(digit(), 1, 5);
    let more_digits = |from: u32| seq([class("1-9"), between(digit(), from, 5)]);
    let mut ordered = vec![
        seq([digit(), text(","), more_digits(1)]),
        seq([class("1-9"), digit(), text(","), more_digits(2)]),
    ];
    for low in 0..10 {
        ordered.push(text_and_class(&format!("{low},"), low));
        for tens in 1..10 {
            let higher = (tens < 9).then(|| seq([from_digit(tens + 1), digit()]));
            let same = seq([text(&tens.to_string()), from_digit(low)]);
            let start = text(&format!("{tens}{low},"));
            ordered.push(seq([start, any(higher.into_iter().chain([same]))]));
        }
    }
    let count = any([seq([number(), optional(text(","))]), any(ordered)]);
    seq([text("{"), count, text("}")])
}

fn text_and_class(start: &str, low: u32) -> Regular {
    seq([text(start), from_digit(low)])
}

/// The digits from `low` to 9.
fn from_digit(low: u32) -> Regular {
    class(&format!("{low}-9"))
}

/// What may follow a backslash; the characters of `more` may be escaped too.
fn escape(more: &str) -> Regular {
    let code_point = any([
        between(hex(), 1, 4),
        seq([text("0"), between(hex(), 4, 5)]),
        seq([class("1-9A-Fa-f"), between(hex(), 4, 4)]),
        seq([text("10"), between(hex(), 4, 4)]),
    ]);
    any([
        // Punctuation stands for itself, as without the flag `u`: many patterns contain `\-` or `\,`.
        class(&format!(
            "^$\\.*+?()[]{{}}|/fnrtvdDsSwW!\"#%&',:;<=>@`~{more}-"
        )),
        seq([text("c"), class("A-Za-z")]),
        seq([text("x"), hex(), hex()]),
        seq([text("u"), hex(), hex(), hex(), hex()]),
        seq([text("u{"), code_point, text("}")]),
        seq([class("pP"), text("{"), properties(), text("}")]),
    ])
}

/// Property names and values listed in ECMA-262.
fn properties() -> Regular {
    let categories = texts(&[
        "L",
        "LC",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "M",
        "Mn",
        "Mc",
        "Me",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
        "S",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Z",
        "Zs",
        "Zl",
        "Zp",
        "C",
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Letter",
        "Uppercase_Letter",
        "Lowercase_Letter",
        "Mark",
        "Number",
        "Decimal_Number",
        "Punctuation",
        "Symbol",
        "Separator",
        "Other",
    ]);
    let binary = texts(&[
        "Any",
        "ASCII",
        "Alphabetic",
        "Emoji",
        "ID_Continue",
        "ID_Start",
        "Lowercase",
        "Uppercase",
        "White_Space",
        "XID_Continue",
        "XID_Start",
    ]);
    let scripts = texts(&[
        "Arabic",
        "Armenian",
        "Bengali",
        "Common",
        "Cyrillic",
        "Devanagari",
        "Ethiopic",
        "Georgian",
        "Greek",
        "Han",
        "Hangul",
        "Hebrew",
        "Hiragana",
        "Inherited",
        "Katakana",
        "Khmer",
        "Latin",
        "Tamil",
        "Telugu",
        "Thai",
    ]);
    let category = seq([texts(&["General_Category=", "gc="]), categories.clone()]);
    let script = seq([
        texts(&["Script=", "sc=", "Script_Extensions=", "scx="]),
        scripts,
    ]);
    any([categories, binary, category, script])
}

/// A class in brackets. A hyphen is literal only at either end, and ranges are in order.
fn bracketed() -> Regular {
    let plain = Regular::Chars(char_set("]\\^-").complement());
    let escaped = seq([text("\\"), escape("b")]);
    let items = vec![plain, text("^"), escaped, ranges()];
    let mut first = items.clone();
    first.remove(1);
    let hyphen = || optional(text("-"));
    // A caret negates at the start; elsewhere it is literal.
    let behind = optional(seq([
        any([any(first), text("-")]),
        many(any(items)),
        hyphen(),
    ]));
    let contents = without_group_names(seq([optional(text("^")), behind]));
    seq([text("["), contents, text("]")])
}

/// The texts that do not contain `(?<`. In a class it begins no name of a group, but it would count for
/// [`distinct_names`], and letters in a class would lead to as many states as there are sets of names.
fn without_group_names(texts: Regular) -> Regular {
    let begun = [Regular::any_text(), text("(?<"), Regular::any_text()];
    Regular::Intersection([texts, Regular::Complement(seq(begun).into())].into())
}

/// Ranges of digits and of letters, in order. They are literals, all of which become one automaton: a class would
/// otherwise have an alternative for each start of a range.
fn ranges() -> Regular {
    let groups = ['0'..='9', 'A'..='Z', 'a'..='z'];
    any(groups.into_iter().flat_map(|group| {
        let last = *group.end();
        group.flat_map(move |low| (low..=last).map(move |high| text(&format!("{low}-{high}"))))
    }))
}

/// A superset of all patterns. Of groups it requires only that the first parenthesis opens one and the last closes
/// one.
fn outer() -> Regular {
    let digits = || some(digit());
    let until = |end: &str| many(Regular::Chars(char_set(end).complement()));
    let escaped = seq([
        text("\\"),
        any([
            escape(""),
            text("b"),
            text("B"),
            digits(),
            seq([text("k<"), until(">"), text(">")]),
            seq([text("u{"), some(hex()), text("}")]),
            seq([
                class("pP"),
                text("{"),
                some(class("A-Za-z0-9_=")),
                text("}"),
            ]),
        ]),
    ]);
    let in_class = any([
        Regular::Chars(char_set("]\\").complement()),
        escaped.clone(),
    ]);
    let braces = seq([
        text("{"),
        digits(),
        optional(seq([text(","), many(digit())])),
        text("}"),
    ]);
    let quantifier = || {
        let count = any([class("*+?"), braces.clone()]);
        optional(seq([count, optional(text("?"))]))
    };
    let plain = Regular::Chars(char_set("\\*+?()[]{}").complement());
    let atom = any([plain, escaped, seq([text("["), many(in_class), text("]")])]);
    let term = seq([atom, quantifier()]);
    let named = seq([text("<"), until(">"), text(">")]);
    let kind = seq([text("?"), any([texts(&[":", "=", "!", "<=", "<!"]), named])]);
    let open = seq([text("("), optional(kind)]);
    let close = seq([text(")"), quantifier()]);
    let terms = || many(term.clone());
    let within = many(any([term.clone(), open.clone(), close.clone()]));
    seq([terms(), optional(seq([open, within, close, terms()]))])
}

#[cfg(test)]
mod tests {
    use super::super::syntax::contains;
    use super::{build, is_pattern, outer};

    #[test]
    fn patterns_are_judged_as_ecma_262_says() {
        let (patterns, outer) = (build(), outer());
        for pattern in [
            "",
            "^[a-z_][a-z0-9_-]*$",
            "([abc])+\\s+$",
            "(?<year>\\d{4})-(?<month>\\d\\d?)",
            "(?<n>a)b\\k<n>{2,3}?",
            "(?<=a+)b|(?!c)",
            "[]|[^]|[-a]|[a-]|[\\]\\-^]",
            "\\d+\\-\\d+\\,[\\,\\<]\\<\\@",
            "(?<n>a)\\-\\<\\k<n>",
            "\\cA\\x41\\u0041\\u{10FFFF}\\/",
            "\\p{L}\\P{Script=Greek}",
            "a{2}b{2,}c{2,10}d{0,0}",
            "(((((a)))))",
            "(?<n>[(?][?<])[<]{2}\\k<n>",
        ] {
            assert!(contains(&patterns, pattern), "{pattern}");
            assert!(is_pattern(pattern), "{pattern}");
            assert!(contains(&outer, pattern), "{pattern}");
            let read = crate::regex::parse(pattern, crate::regex::RegexOptions::json_schema());
            let is_syntax = |error: &crate::regex::RegexError| {
                matches!(error.kind, crate::regex::RegexErrorKind::Syntax(_))
            };
            assert!(!read.is_err_and(|error| is_syntax(&error)), "{pattern}");
        }
        for pattern in [
            "^(abc]",
            "a**",
            "*",
            "(?P<n>x)",
            "(?i)a",
            "\\a",
            "\\",
            "[b-a]",
            "[\\d-z]",
            "a{2,1}",
            "a{19,9}",
            "(?<n>a)(?<n>b)",
            "\\k<n>",
            "(?<n>a)\\k<m>",
            "a)",
            "(a",
            "[a",
            "{",
            "}",
            "]",
            "\\u{110000}",
            "\\xZ0",
            "(?=a)*",
            "^*",
            "\\p{Nope}",
        ] {
            assert!(!contains(&patterns, pattern), "{pattern}");
            assert!(!is_pattern(pattern), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_the_set_leaves_out_are_decided() {
        let (patterns, outer) = (build(), outer());
        for pattern in [
            "^[ -~]+$",
            "((((((((a))))))))",
            "(a)\\1|\\2(b)",
            "\\k<after>(?<after>a)",
            "(?<\u{e9}t\u{e9}>a)(?<ete>b)",
            "(?<\\u0061b>c)\\k<ab>",
            "a{100,200}b{007,7}c{123456}",
            "\\0[\\0]\\p{Script=Mongolian}\\p{sc=Thaa}\\P{Alpha}\\p{Cased_Letter}",
            "[(?<]",
            "[\\uD83D\\uDE00-\\u{1F64F}][(?<a>][\\x00-\\cZ][--a]",
            "\\u{00000041}\\-",
        ] {
            assert!(!contains(&patterns, pattern), "{pattern}");
            assert!(is_pattern(pattern), "{pattern}");
            assert!(contains(&outer, pattern), "{pattern}");
        }
        for pattern in [
            "a{200,100}",
            "a{8,007}",
            "(a)\\2",
            "(?<a>b)|(?<\\u0061>c)",
            "(?<1>a)",
            "(?<>a)",
            "(?<a",
            "\\k<a",
            "\\00",
            "\\p{greek}",
            "\\p{sc=Nope}",
            "\\p{Other=L}",
            "[\\u{1F64F}-\\u{1F600}]",
            "[a-\\w]",
            "[a-",
            "\\u{}",
            "\\c1",
            "\\_",
            "a{,3}",
        ] {
            assert!(!is_pattern(pattern), "{pattern}");
        }
        // What a negation generates.
        for text in [
            "(", ")", ")(", "a)(b", "*", "a**", "[", "a{", "\\", "\\a", "(?P<n>x)",
        ] {
            assert!(!is_pattern(text) && !contains(&outer, text), "{text}");
        }
    }
}
