use structgen_recognize::Leaf;

use crate::{best, other};

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
        ("£3m", "3", "GBP"),
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
