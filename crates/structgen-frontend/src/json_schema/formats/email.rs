//! `email`: Mailbox of RFC 5321, section 4.1.2, whose domains may have hyphens at any position within labels.

use structgen_grammar::Regular;

use super::syntax::{any, between, class, many, seq, some, text};
use super::{hostname, ipv4, ipv6};

pub(super) fn build() -> Regular {
    let atom = || some(class("A-Za-z0-9!#$%&'*+/=?^_`{|}~-"));
    let dotted = seq([atom(), many(seq([text("."), atom()]))]);
    let quoted = seq([
        text("\""),
        many(any([class(" !#-[]-~"), seq([text("\\"), class(" -~")])])),
        text("\""),
    ]);
    // Section 4.5.3.1.1.
    let local = Regular::Intersection([any([dotted, quoted]), between(class(" -~"), 1, 64)].into());
    let domain = any([
        hostname::plain(),
        seq([text("["), ipv4::build(), text("]")]),
        seq([text("[IPv6:"), ipv6::build(), text("]")]),
    ]);
    seq([local, text("@"), domain])
}

#[cfg(test)]
mod tests {
    use super::super::syntax::contains;
    use super::*;

    #[test]
    fn addresses_are_judged_as_rfc_5321_says() {
        let addresses = build();
        for (address, is_valid) in [
            ("a@example.com", true),
            ("a@ab--cd.com", true),
            ("a@xn--bcher-kva.example", true),
            ("\"a@b\"@example.com", true),
            ("a@[127.0.0.1]", true),
            ("a@[IPv6:::1]", true),
            ("a@b@example.com", false),
            ("a..b@example.com", false),
            ("a@-b", false),
            ("@example.com", false),
        ] {
            assert_eq!(contains(&addresses, address), is_valid, "{address}");
        }
    }
}
