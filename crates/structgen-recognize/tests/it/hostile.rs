//! Every text is processed in linear time and without a panic.

use std::time::Instant;

use proptest::prelude::*;
use structgen_recognize::{Leaf, Options, allowed, recognize};

/// Calls everything on a text.
fn exercise(text: &str) -> usize {
    let candidates = recognize(text, &Options::default());
    for candidate in &candidates {
        assert!(!text[candidate.span.clone()].is_empty() && !candidate.readings.is_empty());
    }
    let leaves = Leaf::STRINGS
        .into_iter()
        .chain([Leaf::Integer, Leaf::Number]);
    leaves.map(|leaf| allowed(&candidates, leaf).len()).sum()
}

/// Fragments that recognisers look for, combined at random.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "1",
        "23",
        "0",
        "2024",
        "999",
        ".",
        ",",
        ":",
        "/",
        "-",
        " ",
        "  ",
        "\n",
        "\n\n",
        "'",
        "’",
        "@",
        "://",
        "www.",
        "%",
        "€",
        "$",
        "½",
        "h",
        "Uhr",
        "am",
        "pm",
        "p.m.",
        "May",
        "de",
        "of",
        "half",
        "past",
        "to",
        "nine",
        "quatre",
        "vingt",
        "dix",
        "mil",
        "und",
        "and",
        "a",
        "einundzwanzig",
        "Viertel",
        "vor",
        "halb",
        "y",
        "media",
        "menos",
        "hora",
        "minutes",
        "e",
        "k",
        "M",
        "million",
        "T",
        "Z",
        "+",
        "(",
        ")",
        "#",
        "PT",
        "x.com",
        "ü",
        "\u{301}",
        "\u{a0}",
        "🦀",
        "minus",
        "point",
        "hundred",
        "thousand",
        "dozen",
        "cents",
        "US",
        "::",
        "th",
        "bis",
        "zum",
        "1er",
        "\r\n",
        "UTC",
        "EST",
        "+02",
        "000",
        "Mio.",
        "millones",
        "billion",
        "d'",
        "[",
        "]",
        "xn--",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        exercise(&text);
    }

    #[test]
    fn any_order_of_known_pieces_is_read(text in pieces()) {
        exercise(&text);
    }
}

#[test]
fn long_runs_take_linear_time() {
    let runs = [
        "9",
        "1,",
        "1.",
        "1 234 ",
        "12/",
        "1:",
        "1-",
        "9 9",
        "@",
        "a@",
        "a.",
        "http://",
        "www.",
        "(",
        "one ",
        "hundred ",
        "mil ",
        "quatre-",
        "und",
        "einund",
        "3 und ",
        "3, ",
        "1h",
        "May ",
        "1 May ",
        "12.5.",
        "half ",
        "a:",
        "::",
        "P1",
        "ü",
        "é\u{301}",
        "5 minus ",
        "12 € ",
        "9 to ",
        "- ",
        "#",
        "a-",
        "1 May 2024 at 9:30, ",
        "\u{a0}",
        ".-",
        "1/2 ",
        "5 mil ",
        "1,50,",
        "$5m ",
        "$5-",
        "5 to 6 million ",
        "3 million and a half ",
        "030 123456 / ",
        "09:30 UTC+",
        "o'a@b.co ",
        "http://[",
        "2024 May ",
    ];
    for run in runs {
        let begun = Instant::now();
        exercise(&run.repeat(20_000));
        let spent = begun.elapsed();
        assert!(spent.as_secs() < 10, "{run:?} repeated takes {spent:?}");
    }
}

#[test]
fn products_of_scales_have_a_limit() {
    for text in [
        "5 Billionen Billiarden Trillionen",
        "5 milliards billions trillions",
        "5 millardos billones trillones",
    ] {
        assert!(exercise(text) > 0, "{text}");
    }
}
