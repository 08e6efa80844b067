//! `idn-email`: Mailbox of RFC 5321 with the additions of RFC 6531, section 3.3.

use std::net::{Ipv4Addr, Ipv6Addr};

use structgen_grammar::{CharSet, Regular};

use super::idna::union;
use super::labels::{LabelRules, is_name};
use super::syntax::{any, between, char_set, class, many, seq, some, text};
use super::{Narrowed, hostname, idn_hostname, ipv4, ipv6};

pub(super) const NARROWED: Narrowed = Narrowed {
    contains,
    outer,
    left_out: "addresses whose domain is a name that `idn-hostname` leaves out are left out",
    left_out_of_negation: "texts with a domain of permitted characters that is no name are left out",
};

pub(super) fn build() -> Regular {
    seq([
        local(),
        text("@"),
        any([idn_hostname::build(), hostname::plain(), literal()]),
    ])
}

fn local() -> Regular {
    let beyond_ascii = CharSet::new([('\u{80}', char::MAX)]);
    let with = |ascii: &str| Regular::Chars(union(&char_set(ascii), &beyond_ascii));
    let atom = || some(with("A-Za-z0-9!#$%&'*+/=?^_`{|}~-"));
    let dotted = seq([atom(), many(seq([text("."), atom()]))]);
    let quoted = seq([
        text("\""),
        many(any([with(" !#-[]-~"), seq([text("\\"), class(" -~")])])),
        text("\""),
    ]);
    // RFC 5321, section 4.5.3.1.1, counts octets.
    let octets = between(Regular::ByteRange(0, u8::MAX), 1, 64);
    Regular::Intersection([any([dotted, quoted]), octets].into())
}

/// An address in brackets.
fn literal() -> Regular {
    any([
        seq([text("["), ipv4::build(), text("]")]),
        seq([text("[IPv6:"), ipv6::build(), text("]")]),
    ])
}

fn outer() -> Regular {
    seq([local(), text("@"), any([idn_hostname::outer(), literal()])])
}

fn contains(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let rules = LabelRules {
        takes_unicode: true,
        checks_reserved: false,
    };
    is_local(local) && (is_literal(domain) || is_name(domain, rules))
}

fn is_local(text: &str) -> bool {
    let is_atom =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c);
    let is_valid = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"').is_some_and(is_quoted),
        None => text
            .split('.')
            .all(|atom| !atom.is_empty() && atom.chars().all(is_atom)),
    };
    is_valid && text.len() <= 64
}

/// Whether this may stand between quotation marks.
fn is_quoted(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let is_valid = match c {
            '\\' => chars.next().is_some_and(|c| (' '..='~').contains(&c)),
            '"' => false,
            c => !c.is_ascii() || (' '..='~').contains(&c),
        };
        if !is_valid {
            return false;
        }
    }
    true
}

fn is_literal(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inner.is_some_and(|inner| match inner.strip_prefix("IPv6:") {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => inner.parse::<Ipv4Addr>().is_ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::syntax;
    use super::*;

    #[test]
    fn addresses_are_decided_between_the_two_sets() {
        let (inner, outer) = (build(), outer());
        let long = format!("a@{}.example", "\u{3b1}".repeat(40));
        for (address, is_valid) in [
            ("a@b\u{fc}cher.example", true),
            ("\u{3b1}.b@example", true),
            ("a@ab--cd.example", true),
            ("a@xn--a.example", true),
            ("\"a\\\" \u{3b1}\"@example", true),
            ("a@[127.0.0.1]", true),
            ("a@[IPv6:::1]", true),
            (&*long, true),
            ("a@\u{fc}_", false),
            ("a@-\u{fc}", false),
            ("a..b@example", false),
            ("\"a\"b\"@example", false),
            ("\"a\\\"@example", false),
            ("a b@example", false),
            ("a@[127.0.0.300]", false),
            ("a", false),
            ("@a", false),
            ("a@", false),
        ] {
            assert_eq!(contains(address), is_valid, "{address}");
            assert!(is_valid || !syntax::contains(&inner, address), "{address}");
            assert!(!is_valid || syntax::contains(&outer, address), "{address}");
        }
        assert!(syntax::contains(&inner, "a@ab--cd.example"));
        assert!(!syntax::contains(&outer, "a@b@example"));
    }
}
