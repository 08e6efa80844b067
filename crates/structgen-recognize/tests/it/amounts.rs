use structgen_recognize::{Leaf, Options, Value, recognize};

use crate::{best, never, other};

#[test]
fn amounts_are_numbers_with_the_code_of_their_currency() {
    for (text, number, currency) in [
        ("€12.50", "12.50", "EUR"),
        ("12,50 €", "12.50", "EUR"),
        ("12,50€", "12.50", "EUR"),
        ("EUR 1.234,50", "1234.50", "EUR"),
        ("12 euros", "12", "EUR"),
        ("zwölf Euro", "12", "EUR"),
        ("12 € 50", "12.50", "EUR"),
        ("12,- €", "12", "EUR"),
        ("$1,234.50", "1234.50", "USD"),
        ("US$5", "5", "USD"),
        ("C$5", "5", "CAD"),
        ("five dollars", "5", "USD"),
        ("5 US dollars", "5", "USD"),
        ("£3m", "3000000", "GBP"),
        ("20 pounds", "20", "GBP"),
        ("CHF 20.-", "20", "CHF"),
        ("Fr. 12.50", "12.50", "CHF"),
        ("12 Franken", "12", "CHF"),
        ("1'250.00 CHF", "1250.00", "CHF"),
        ("it was 1.234 € then", "1234", "EUR"),
        ("50 kr", "50", "SEK"),
        ("12 zł", "12", "PLN"),
        ("500 pesos", "500", "MXN"),
        ("¥500", "500", "JPY"),
        ("50 cents", "0.50", "USD"),
        ("3 million dollars", "3000000", "USD"),
    ] {
        best(Leaf::Number, &[(text, number)]);
        best(Leaf::Currency, &[(text, currency)]);
    }
}

#[test]
fn a_sign_of_several_currencies_can_be_each() {
    other(
        Leaf::Currency,
        &[("$5", "CAD"), ("50 kr", "NOK"), ("500 pesos", "ARS")],
    );
}

/// Checks the best reading of the longest amount of each text.
#[track_caller]
fn amounts(cases: &[(&str, &str, &str)]) {
    for (text, number, currency) in cases {
        let candidates = recognize(text, &Options::default());
        let longest = candidates
            .iter()
            .filter(|candidate| matches!(candidate.readings[0], Value::Amount { .. }))
            .max_by_key(|candidate| candidate.span.len());
        let Some(Value::Amount {
            number: own,
            currencies,
        }) = longest.map(|candidate| &candidate.readings[0])
        else {
            panic!("{text:?} has no amount but {candidates:?}");
        };
        assert_eq!(own.to_string(), *number, "{text:?}");
        assert_eq!(currencies[0], *currency, "{text:?}");
    }
}

#[test]
fn a_sign_before_the_currency_is_the_sign_of_the_amount() {
    amounts(&[
        ("Balance: -$12.50", "-12.50", "USD"),
        ("paid -€5 today", "-5", "EUR"),
        ("−US$5", "-5", "USD"),
        ("-EUR 5", "-5", "EUR"),
        ("10–€12", "12", "EUR"),
    ]);
    best(Leaf::Number, &[("-$12", "-12"), ("-$12", "12")]);
    never(Leaf::Number, &[("$10-$12", "-12"), ("a - $5", "-5")]);
}

#[test]
fn scales_before_a_currency_are_multiplied() {
    amounts(&[
        ("2,5 Mio. €", "2500000", "EUR"),
        ("3 Mrd. Euro", "3000000000", "EUR"),
        ("20 Tsd. Euro", "20000", "EUR"),
        ("kostet 2 Bio. Euro", "2000000000000", "EUR"),
        ("5 Mia. CHF", "5000000000", "CHF"),
        ("20 TEUR", "20000", "EUR"),
        ("20 T€", "20000", "EUR"),
        ("5 k€", "5000", "EUR"),
        ("3 M€", "3000000", "EUR"),
        ("5 Md€", "5000000000", "EUR"),
        ("5 Mds d'euros", "5000000000", "EUR"),
        ("2 milliards d'euros", "2000000000", "EUR"),
        ("un million et demi d'euros", "1500000", "EUR"),
        ("une centaine d'euros", "100", "EUR"),
        ("3 millones de euros", "3000000", "EUR"),
        ("5 millones y medio de euros", "5500000", "EUR"),
        ("5 mil millones de euros", "5000000000", "EUR"),
        ("5 mil 300 millones de pesos", "5300000000", "MXN"),
        ("un billón de pesos", "1000000000000", "MXN"),
        ("5 mill. de euros", "5000000", "EUR"),
        ("12 mdd", "12000000", "USD"),
        ("3 million dollars", "3000000", "USD"),
        ("a 5-million-dollar deal", "5000000", "USD"),
        ("a couple of dollars", "2", "USD"),
        ("fünfundzwanzig Millionen Euro", "25000000", "EUR"),
    ]);
}

#[test]
fn scales_after_a_currency_are_multiplied() {
    amounts(&[
        ("$34 trillion", "34000000000000", "USD"),
        ("$2.5tn", "2500000000000", "USD"),
        ("$2T", "2000000000000", "USD"),
        ("$5 bn", "5000000000", "USD"),
        ("£1.2B", "1200000000", "GBP"),
        ("€3m", "3000000", "EUR"),
        ("$5MM", "5000000", "USD"),
        ("USD 5m", "5000000", "USD"),
        ("we paid $5 mil for it", "5000000", "USD"),
        ("₹5 crore", "50000000", "INR"),
    ]);
    let dash = recognize("$10k-$20k", &Options::default());
    assert!(dash.iter().all(|candidate| candidate.span != (1..6)));
    never(Leaf::Duration, &[("£3m", "PT3M"), ("3m€", "PT3M")]);
    best(
        Leaf::Number,
        &[("$3–5 million", "3000000"), ("$3-$5 million", "5000000")],
    );
}

#[test]
fn indian_groups_have_two_digits_except_the_last() {
    amounts(&[
        ("₹1,50,000", "150000", "INR"),
        ("Rs. 12,34,567.50", "1234567.50", "INR"),
    ]);
    best(Leaf::Integer, &[("1,50,000", "150000"), ("1,50,000", "50")]);
    never(
        Leaf::Integer,
        &[
            ("₹1,50,000", "50"),
            ("7,8,50,000", "850000"),
            ("pages 10,20,300", "1020300"),
        ],
    );
}

#[test]
fn currencies_have_their_country_and_their_cents() {
    amounts(&[
        ("500 US$", "500", "USD"),
        ("500 US-$", "500", "USD"),
        ("US-$ 500", "500", "USD"),
        ("AUD$5", "5", "AUD"),
        ("das sind 20 ct", "0.20", "EUR"),
    ]);
}
