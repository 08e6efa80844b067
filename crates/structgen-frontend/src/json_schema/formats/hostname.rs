//! `hostname`: RFC 1123, section 2.1: labels of up to 63 characters, 253 in all.
//!
//! Since draft 7 the format accepts A-labels (`xn--`, RFC 5890), and no other labels with hyphens in both the third and
//! the fourth position. Whether an A-label is valid depends on what its Punycode decodes to, which would take far too
//! many states: [`build`] leaves A-labels out. `labels.rs` decides it for a given name.

use structgen_grammar::Regular;

use super::Narrowed;
use super::labels::{LabelRules, is_name};
use super::syntax::{any, between, class, many, optional, seq, text};

pub(super) const NARROWED: Narrowed = Narrowed {
    contains,
    outer,
    left_out: "A-labels (`xn--`) are left out",
    left_out_of_negation: "names with an invalid A-label (`xn--`) are left out",
};

pub(super) fn build() -> Regular {
    name_of(label())
}

/// Labels of this kind, separated by full stops.
fn name_of(label: Regular) -> Regular {
    let dotted = seq([label.clone(), many(seq([text("."), label]))]);
    let length = between(class("A-Za-z0-9.-"), 1, 253);
    Regular::Intersection([dotted, length].into())
}

fn contains(text: &str) -> bool {
    let rules = LabelRules {
        takes_unicode: false,
        checks_reserved: true,
    };
    is_name(text, rules)
}

/// Names whose A-labels may be invalid.
fn outer() -> Regular {
    let inner = between(class("A-Za-z0-9-"), 0, 58);
    let a_label = seq([
        class("Xx"),
        class("Nn"),
        text("--"),
        inner,
        class("A-Za-z0-9"),
    ]);
    name_of(any([label(), a_label]))
}

/// Names of RFC 1034 as relaxed by RFC 1123, with hyphens at any position within labels.
pub(super) fn plain() -> Regular {
    let end = || class("A-Za-z0-9");
    let behind = seq([between(class("A-Za-z0-9-"), 0, 61), end()]);
    name_of(seq([end(), optional(behind)]))
}

/// One label.
pub(super) fn label() -> Regular {
    let end = || class("A-Za-z0-9");
    let inner = || class("A-Za-z0-9-");
    // The third and the fourth character are not both hyphens.
    let tail = |min: u32, max: u32| seq([between(inner(), min, max), end()]);
    any([seq([
        end(),
        optional(any([
            end(),
            seq([inner(), end()]),
            // Three or more characters after the first.
            seq([inner(), end(), optional(tail(0, 59))]),
            seq([inner(), text("-"), end(), optional(tail(0, 58))]),
        ])),
    ])])
}

#[cfg(test)]
mod tests {
    use super::super::syntax;
    use super::*;

    #[test]
    fn names_are_decided_between_the_two_sets() {
        let (inner, outer, plain) = (build(), outer(), plain());
        for (name, is_valid) in [
            ("www.example.com", true),
            ("a--b.com", true),
            ("xn--4gbwdl.xn--wgbh1c", true),
            ("XN--BCHER-KVA.example", true),
            ("ab--cd.com", false),
            ("xn--a", false),
            ("xn--X", false),
            ("xn--example-", false),
            ("xn--hello-txk", false),
            ("xn---9uc", false),
            ("1a.xn--4gbwdl", false),
            ("b\u{fc}cher", false),
            ("a.", false),
            ("a\u{3002}b", false),
            ("", false),
        ] {
            assert_eq!(contains(name), is_valid, "{name}");
            assert!(is_valid || !syntax::contains(&inner, name), "{name}");
            assert!(!is_valid || syntax::contains(&outer, name), "{name}");
        }
        assert!(!syntax::contains(&outer, "ab--cd.com"));
        assert!(syntax::contains(&plain, "ab--cd.com"));
        let long = |count| vec!["a"; count].join(".");
        assert!(contains(&long(127)) && !contains(&long(128)));
        let label = |count: usize| "a".repeat(count);
        assert!(contains(&label(63)) && !contains(&label(64)));
    }
}
