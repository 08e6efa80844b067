use structgen_recognize::Leaf;

use crate::{best, values};

#[test]
fn addresses_are_read_without_the_punctuation_around_them() {
    best(
        Leaf::Email,
        &[
            ("write to ada@example.com.", "ada@example.com"),
            ("<a.b+c@sub.example.co.uk>", "a.b+c@sub.example.co.uk"),
            ("mailto:ada@example.com", "ada@example.com"),
            ("ada@example.com,bob@example.org", "bob@example.org"),
            ("to o'brien@example.com", "o'brien@example.com"),
            ("l'adresse d'ada@example.com", "ada@example.com"),
            ("ada@example.xn--p1ai", "ada@example.xn--p1ai"),
        ],
    );
    best(
        Leaf::Uri,
        &[
            (
                "see https://example.com/a?b=1#c.",
                "https://example.com/a?b=1#c",
            ),
            ("(http://example.com/a_(b))", "http://example.com/a_(b)"),
            ("www.example.com", "https://www.example.com"),
            ("on example.com/path, now", "https://example.com/path"),
            ("https://example.com/ü", "https://example.com/%C3%BC"),
            ("https://example.com/100%", "https://example.com/100%25"),
            ("https://example.com/a%20b", "https://example.com/a%20b"),
            ("http://[::1]:80/x", "http://[::1]:80/x"),
            ("(http://[2001:db8::1])", "http://[2001:db8::1]"),
            ("example.com:8080/path", "https://example.com:8080/path"),
        ],
    );
    best(
        Leaf::Hostname,
        &[
            ("at db.Example.com:5432", "db.example.com"),
            ("host web-05 is down", "web-05"),
        ],
    );
    best(
        Leaf::Ipv4,
        &[
            ("from 192.0.2.1:80,", "192.0.2.1"),
            ("10.0.0.0/8", "10.0.0.0"),
        ],
    );
    best(
        Leaf::Ipv6,
        &[
            ("from 2001:DB8::1.", "2001:db8::1"),
            ("[::1]:80", "::1"),
            ("fe80::1%eth0", "fe80::1"),
        ],
    );
    best(
        Leaf::Uuid,
        &[(
            "id 3F2C9A1E-0000-4000-8000-123456789ABC.",
            "3f2c9a1e-0000-4000-8000-123456789abc",
        )],
    );
    best(
        Leaf::Phone,
        &[
            ("+49 30 123456", "+4930123456"),
            ("(030) 12 34 56", "030123456"),
            ("555-123-4567", "5551234567"),
            ("06.12.34.56.78", "0612345678"),
            ("call 0171/1234567.", "01711234567"),
            ("Tel:030 123456", "030123456"),
            ("tel:+4930123456", "+4930123456"),
        ],
    );
    best(
        Leaf::Identifier,
        &[
            ("(CVE-2025-82218)", "CVE-2025-82218"),
            ("order #1042,", "#1042"),
            ("AB-1234/5", "AB-1234/5"),
        ],
    );
}

#[test]
fn what_only_looks_like_an_address_is_none() {
    for (text, leaf) in [
        ("a@b", Leaf::Email),
        ("@example.com", Leaf::Email),
        ("10:20:30", Leaf::Ipv6),
        ("1.2.3.4.5", Leaf::Ipv4),
        ("300.1.1.1", Leaf::Ipv4),
        ("://", Leaf::Uri),
        ("12.05.2024", Leaf::Hostname),
        ("12", Leaf::Identifier),
        ("12 34", Leaf::Phone),
    ] {
        assert_eq!(values(text, leaf), [], "{text:?}");
    }
}

#[test]
fn each_of_several_phone_numbers_is_one_candidate() {
    for (text, numbers) in [
        ("030 123456 / 030 654321", ["030123456", "030654321"]),
        ("030/123456/030/654321", ["030123456", "030654321"]),
        ("030 123456 030 654321", ["030123456", "030654321"]),
        ("555-123-4567 / 555-987-6543", ["5551234567", "5559876543"]),
        ("555-123-4567/555-987-6543", ["5551234567", "5559876543"]),
        ("555-123-4567 555-987-6543", ["5551234567", "5559876543"]),
        ("555-123-4567 (555) 987-6543", ["5551234567", "5559876543"]),
        (
            "+49 30 123456/+49 30 654321",
            ["+4930123456", "+4930654321"],
        ),
        (
            "01 42 68 53 00 01 42 68 53 01",
            ["0142685300", "0142685301"],
        ),
        (
            "030 12345678 - 030 87654321",
            ["03012345678", "03087654321"],
        ),
        ("555-1234 - 555-9876", ["5551234", "5559876"]),
        ("030 123456,040 654321", ["030123456", "040654321"]),
        ("555-1234\n555-9876", ["5551234", "5559876"]),
        ("555-1234\r\n555-9876", ["5551234", "5559876"]),
        ("555-1234 \n555-9876", ["5551234", "5559876"]),
    ] {
        let found: Vec<String> = values(text, Leaf::Phone)
            .into_iter()
            .map(|value| value.text)
            .collect();
        assert_eq!(found, numbers, "{text:?}");
    }
}

#[test]
fn a_phone_number_contains_slashes_but_no_date_time_or_amount() {
    best(
        Leaf::Phone,
        &[
            ("0171 / 1234567", "01711234567"),
            ("033701 / 12345", "03370112345"),
            ("+49 33701 / 12345", "+493370112345"),
            ("+49 (0) 6221 / 1234567", "+4962211234567"),
            ("020 7946 0958", "02079460958"),
            ("030 / 123456 - 0", "0301234560"),
            ("555-1234 10:30", "5551234"),
            ("555-1234 12.05.2025", "5551234"),
            ("555-1234 12,50 €", "5551234"),
        ],
    );
}

#[test]
fn dates_and_amounts_are_no_phone_numbers() {
    for text in [
        "2025-05-12 09:30",
        "May 12 2025 09:30",
        "12.05.2025",
        "30.12.2024 - 2.1.2025",
        "1.234.567,89",
        "1.000.000 €",
        "$1.000.000",
    ] {
        assert_eq!(values(text, Leaf::Phone), [], "{text:?}");
    }
}

#[test]
fn the_zero_in_brackets_is_left_out_after_a_country_code_only() {
    for (text, number) in [
        ("+44 (0)20 7946 0958", "+442079460958"),
        ("+49 (0) 30 123456", "+4930123456"),
        ("(0) 30 123456", "030123456"),
    ] {
        let found = values(text, Leaf::Phone);
        assert_eq!(found.len(), 1, "{text:?}");
        assert_eq!(found[0].text, number, "{text:?}");
        assert_eq!(found[0].spans[0], 0..text.len(), "{text:?}");
    }
}
