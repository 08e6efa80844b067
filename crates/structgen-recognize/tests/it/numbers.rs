use structgen_recognize::{DecimalMark, Leaf, Options, allowed, recognize};

use crate::{best, never, other, values};

#[test]
fn digits_are_read_with_groups_and_fractions_of_any_notation() {
    best(
        Leaf::Number,
        &[
            ("1.234,50", "1234.50"),
            ("1.234,50", "1234.5"),
            ("1,234.50", "1234.50"),
            ("1'234.50", "1234.50"),
            ("1’234’567", "1234567"),
            ("1 234,50", "1234.50"),
            ("1\u{a0}234\u{a0}567,8", "1234567.8"),
            ("1\u{202f}234", "1234"),
            ("1.234.567", "1234567"),
            ("0.234", "0.234"),
            ("0,234", "0.234"),
            ("12,5", "12.5"),
            ("1234.567", "1234.567"),
            (".5 l", "0.5"),
            ("-5", "-5"),
            ("−5,5 °C", "-5.5"),
            ("minus 5 Grad", "-5"),
            ("1.5e6", "1500000"),
            ("2E-3", "0.002"),
            ("2½ cups", "2.5"),
            ("2 1/2 cups", "2.5"),
            ("1/4 l", "0.25"),
            ("3 million", "3000000"),
            ("2,5 Mio. Euro", "2500000"),
            ("5k followers", "5000"),
            ("1.2M", "1200000"),
            ("3 mil habitantes", "3000"),
            ("12kg", "12"),
            ("B12", "12"),
            ("007", "7"),
            ("4.00", "4"),
            ("10x20x30", "20"),
        ],
    );
}

#[test]
fn a_single_separator_before_three_digits_is_read_both_ways() {
    best(
        Leaf::Number,
        &[
            ("1.234 is what we have", "1.234"),
            ("1,234 is what we have", "1234"),
        ],
    );
    other(
        Leaf::Number,
        &[
            ("1.234 is what we have", "1234"),
            ("1,234 is what we have", "1.234"),
        ],
    );
    best(
        Leaf::Number,
        &[("Das sind 1.234", "1234"), ("Das sind 1,234", "1.234")],
    );
    best(
        Leaf::Number,
        &[
            ("the 20.000 there are", "20000"),
            ("sind es 5,000", "5000"),
            ("1.234 of 12,50", "1234"),
            ("Das sind 1.234 von 12.50", "1.234"),
        ],
    );
    let options = {
        let mut options = Options::default();
        options.decimal_mark = Some(DecimalMark::Comma);
        options
    };
    assert_eq!(
        allowed(&recognize("1.234", &options), Leaf::Number)[0].text,
        "1234"
    );
}

#[test]
fn what_no_notation_groups_is_read_part_by_part() {
    best(
        Leaf::Integer,
        &[
            ("v1.22.333", "22"),
            ("10.0.0.7", "7"),
            ("7,8,2.5,9", "8"),
            ("a,12,34,b", "34"),
        ],
    );
    best(Leaf::Number, &[("7,8,2.5,9", "2.5")]);
    never(
        Leaf::Number,
        &[
            ("1.22.333", "1.22"),
            ("12.50", "50"),
            ("1234 567", "1234567"),
        ],
    );
}

#[test]
fn words_are_numbers_in_four_languages() {
    best(
        Leaf::Integer,
        &[
            ("three", "3"),
            ("TWENTY-FIVE", "25"),
            ("two hundred and fifty-one", "251"),
            ("a hundred", "100"),
            ("three thousand four hundred", "3400"),
            ("twenty-five hundred", "2500"),
            ("a dozen eggs", "12"),
            ("half a dozen", "6"),
            ("two dozen", "24"),
            ("a couple of days", "2"),
            ("half a million", "500000"),
            ("zweiundzwanzig", "22"),
            ("ZWEIUNDDREISSIG", "32"),
            ("dreihundertfünfundvierzig", "345"),
            ("zweitausend", "2000"),
            ("fuenf", "5"),
            ("ein Dutzend", "12"),
            ("ein halbes Dutzend", "6"),
            ("dreimal", "3"),
            ("zwei Millionen", "2000000"),
            ("dix-sept", "17"),
            ("vingt et un", "21"),
            ("soixante et onze", "71"),
            ("soixante-dix-sept", "77"),
            ("quatre-vingts", "80"),
            ("quatre-vingt-dix", "90"),
            ("quatre-vingt-dix-neuf", "99"),
            ("deux cent trente", "230"),
            ("mille deux cents", "1200"),
            ("une douzaine", "12"),
            ("une demi-douzaine", "6"),
            ("une vingtaine", "20"),
            ("veintidós", "22"),
            ("treinta y cinco", "35"),
            ("ciento veinte", "120"),
            ("dos mil quinientos", "2500"),
            ("una docena", "12"),
            ("media docena", "6"),
            ("cinco mil millones", "5000000000"),
            ("el once de mayo", "11"),
        ],
    );
    best(
        Leaf::Number,
        &[
            ("two and a half", "2.5"),
            ("two and a half million", "2500000"),
            ("anderthalb", "1.5"),
            ("zweieinhalb", "2.5"),
            ("deux et demi", "2.5"),
            ("dos y medio", "2.5"),
            ("three point one four", "3.14"),
            ("drei Komma fünf", "3.5"),
            ("minus ten", "-10"),
            ("half", "0.5"),
        ],
    );
}

#[test]
fn parts_of_a_number_in_words_are_no_numbers() {
    never(
        Leaf::Integer,
        &[
            ("cent vingt et un", "1"),
            ("twenty-third", "20"),
            ("zweiundzwanzig", "2"),
            ("some bn or Mio", "1000000"),
        ],
    );
}

#[test]
fn a_word_that_another_language_uses_otherwise_counts_in_its_own_only() {
    never(
        Leaf::Integer,
        &[
            ("I was at the shop once or twice", "11"),
            ("that is the media", "0.5"),
        ],
    );
    best(Leaf::Integer, &[("somos once en la clase", "11")]);
}

#[test]
fn positions_percentages_and_amounts_are_numbers() {
    best(
        Leaf::Integer,
        &[
            ("third", "3"),
            ("the 3rd floor", "3"),
            ("twenty-first", "21"),
            ("dritte", "3"),
            ("2ème", "2"),
            ("troisième", "3"),
            ("1.º", "1"),
            ("tercera", "3"),
        ],
    );
    best(
        Leaf::Number,
        &[
            ("19 %", "19"),
            ("7.5 percent", "7.5"),
            ("trois pour cent", "3"),
            ("€12.50", "12.50"),
        ],
    );
    other(Leaf::Number, &[("19 %", "0.19"), ("7.5 %", "0.075")]);
}

#[test]
fn numbers_are_listed_once_with_all_their_places() {
    let text = "3 of three";
    let values = allowed(&recognize(text, &Options::default()), Leaf::Integer);
    let three: Vec<_> = values
        .iter()
        .filter(|allowed| allowed.text == "3")
        .collect();
    assert_eq!(three.len(), 1);
    let places: Vec<_> = three[0]
        .spans
        .iter()
        .map(|span| &text[span.clone()])
        .collect();
    assert_eq!(places, ["3", "three"]);
}

#[test]
fn each_place_has_its_own_reading() {
    let text = "1.234 or 1.234 €";
    let values = allowed(&recognize(text, &Options::default()), Leaf::Number);
    let readings = |number: &str| {
        let value = values.iter().find(|allowed| allowed.text == number);
        let value = value.unwrap_or_else(|| panic!("{values:?}"));
        let places = value.spans.iter().map(|span| &text[span.clone()]);
        places.zip(value.readings.clone()).collect::<Vec<_>>()
    };
    // A price has two decimals.
    assert_eq!(
        readings("1.234"),
        [("1.234", 0), ("1.234 €", 1), ("1.234", 0)]
    );
    assert_eq!(
        readings("1234"),
        [("1.234", 1), ("1.234 €", 0), ("1.234", 1)]
    );
}

#[test]
fn more_digits_than_the_bound_are_no_number() {
    let most = "9".repeat(structgen_recognize::MAX_DIGITS);
    best(Leaf::Integer, &[(&most, &most)]);
    assert!(crate::values(&format!("{most}9"), Leaf::Integer).is_empty());
}

#[test]
fn whole_numbers_are_strings_of_digits() {
    best(
        Leaf::Digits,
        &[
            ("twelve", "12"),
            ("1,234 people", "1234"),
            ("the third", "3"),
            ("zwölf", "12"),
        ],
    );
    never(Leaf::Digits, &[("4.50", "4.5"), ("36 years", "432")]);
}

#[test]
fn a_scale_has_the_meaning_that_it_has_in_the_language_of_the_text() {
    best(
        Leaf::Integer,
        &[
            ("der Schaden liegt bei 1 Billion Euro", "1000000000000"),
            ("das sind zwei Billionen", "2000000000000"),
            ("eine Trillion", "1000000000000000000"),
            ("it is 1 billion in all", "1000000000"),
            ("six billion of them", "6000000000"),
            ("three trillion", "3000000000000"),
            ("un billion d'euros pour nous", "1000000000000"),
            ("deux billions", "2000000000000"),
            ("dos billones", "2000000000000"),
            ("mil millones", "1000000000"),
        ],
    );
    never(
        Leaf::Integer,
        &[
            ("it is 1 billion in all", "1000000000000"),
            ("six billion of them", "6000000000000"),
        ],
    );
    // Without common words, it may have either meaning.
    other(Leaf::Integer, &[("1 Billion Euro", "1000000000000")]);
}

#[test]
fn scales_multiply_fractions_and_numbers_of_one_word() {
    best(
        Leaf::Integer,
        &[
            ("fünfundzwanzig Millionen", "25000000"),
            ("zweihundert Millionen", "200000000"),
            ("zweieinhalb Millionen", "2500000"),
            ("anderthalb Milliarden", "1500000000"),
            ("zwei Millionen fünfhunderttausend", "2500000"),
            ("neunzehnhundertneunundneunzig", "1999"),
            ("three point five million", "3500000"),
            ("2½ million", "2500000"),
            ("½ million", "500000"),
            ("a million and a half", "1500000"),
            ("un millón y medio", "1500000"),
            ("a dozen and a half", "18"),
            ("5 mil millones", "5000000000"),
            ("5 hundred thousand", "500000"),
            ("minus 5 million", "-5000000"),
            ("3 to 5 million", "3000000"),
            ("3 to 5 million", "3"),
            ("between 2.5 and 5 million", "2500000"),
            ("between three and five million", "3000000"),
            ("5 lakh", "500000"),
        ],
    );
    best(Leaf::Number, &[("-2½ °C", "-2.5"), ("2⅜ in", "2.375")]);
    never(
        Leaf::Integer,
        &[
            ("In 2024, 5 million people", "2024000000"),
            ("rooms 3 and 5 million people", "3000000"),
            ("3 Bio Eier", "3000000000000"),
            ("2 mill workers", "2000000"),
            ("12\t345", "12345"),
            ("1 000 €", "0"),
        ],
    );
}

#[test]
fn ordinals_are_read_with_groups_and_as_one_word() {
    best(
        Leaf::Integer,
        &[
            ("the 1,000th visitor", "1000"),
            ("am einundzwanzigsten", "21"),
            ("zum dreizehnten", "13"),
            ("le vingtième", "20"),
            ("el vigésimo", "20"),
        ],
    );
    never(
        Leaf::Integer,
        &[
            ("the 1,000th visitor", "0"),
            ("the 1,234,567th visitor", "234567"),
        ],
    );
}

#[test]
fn both_ends_of_a_range_of_percentages_are_percentages() {
    other(
        Leaf::Number,
        &[
            ("5–10 %", "0.05"),
            ("5 bis 10 Prozent", "0.05"),
            ("between 5 and 10 percent", "0.05"),
            ("half a percent", "0.005"),
        ],
    );
    never(Leaf::Number, &[("in 2020 and 5 %", "20.20")]);
}

#[test]
fn a_number_without_its_sign_does_not_span_it() {
    for text in ["soit -33 %", "soit −33 %"] {
        let found = values(text, Leaf::Number);
        let spans = |number: &str| -> Vec<&str> {
            let own = found.iter().filter(|value| value.text == number);
            own.flat_map(|value| &value.spans)
                .map(|span| &text[span.clone()])
                .collect()
        };
        let sign = &text[5..text.len() - 4];
        assert_eq!(spans("33"), ["33 %", "33"], "{text:?}");
        assert_eq!(
            spans("-33"),
            [format!("{sign}33 %"), format!("{sign}33")],
            "{text:?}"
        );
    }
    best(Leaf::Number, &[("paid -€5 today", "-5"), ("−7", "-7")]);
}
