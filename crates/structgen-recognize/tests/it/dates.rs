use structgen_recognize::{DateOrder, Leaf, Options, allowed, recognize};

use crate::{best, never, other, values};

#[test]
fn dates_are_read_in_digits_and_with_names_of_months() {
    best(
        Leaf::Date,
        &[
            ("2024-05-12", "2024-05-12"),
            ("2024/5/12", "2024-05-12"),
            ("12.05.2024", "2024-05-12"),
            ("12.5.24", "2024-05-12"),
            ("12. 5. 2024", "2024-05-12"),
            ("12 May 2024", "2024-05-12"),
            ("12TH MAY 2024", "2024-05-12"),
            ("the 12th of May, 2024", "2024-05-12"),
            ("May 12, 2024", "2024-05-12"),
            ("May 12th 2024", "2024-05-12"),
            ("Sept. 3, 2024", "2024-09-03"),
            ("12-May-2024", "2024-05-12"),
            ("12-May-24", "2024-05-12"),
            ("12 May '24", "2024-05-12"),
            ("Sunday, 12 May 2024", "2024-05-12"),
            ("the first of May 2024", "2024-05-01"),
            ("twenty-first of May 2024", "2024-05-21"),
            ("12. Mai 2024", "2024-05-12"),
            ("Sonntag, den 12. März 2024", "2024-03-12"),
            ("12. maerz 2024", "2024-03-12"),
            ("ersten Mai 2024", "2024-05-01"),
            ("am einundzwanzigsten Mai 2024", "2024-05-21"),
            ("2024 May 12, not 2023", "2024-05-12"),
            ("2024-May-12", "2024-05-12"),
            ("20240512T093000Z", "2024-05-12"),
            ("12 mai 2024", "2024-05-12"),
            ("1er février 2024", "2024-02-01"),
            ("le premier août 2024", "2024-08-01"),
            ("12 de mayo de 2024", "2024-05-12"),
            ("12 de mayo del 2024", "2024-05-12"),
            ("1 mar. 2024", "2024-03-01"),
            ("29 February 2024", "2024-02-29"),
            ("3–5 May 2024", "2024-05-03"),
            ("from 3 to 5 May 2024", "2024-05-03"),
            ("May 3-5, 2024", "2024-05-05"),
            ("vom 3. bis zum 5. Mai 2024", "2024-05-03"),
            ("vom 3. bis einschließlich 17. Mai 2024", "2024-05-03"),
            ("3.-5.5.2024", "2024-05-03"),
            ("3., 5. und 7. Mai 2024", "2024-05-05"),
            ("del 3 al 5 de mayo de 2024", "2024-05-03"),
            ("du 3 au 5 mai 2024", "2024-05-03"),
            ("[12/May/2024:10:00:00 +0000]", "2024-05-12"),
        ],
    );
    other(Leaf::Date, &[("backup-20240512", "2024-05-12")]);
    never(
        Leaf::Date,
        &[
            ("30 February 2024", "2024-02-30"),
            ("29.2.2023", "2023-02-29"),
            ("1.2.3.2024", "2024-03-02"),
        ],
    );
}

#[test]
fn the_order_of_day_and_month_follows_the_stated_rule() {
    best(
        Leaf::Date,
        &[
            ("5/12/24", "2024-05-12"),
            ("le 5/12/24 et le reste", "2024-12-05"),
        ],
    );
    other(
        Leaf::Date,
        &[
            ("5/12/24", "2024-12-05"),
            ("le 5/12/24 et le reste", "2024-05-12"),
        ],
    );
    best(
        Leaf::Date,
        &[
            ("on 31/12/24 and 5/12/24", "2024-12-05"),
            ("5-12-2024 is the day", "2024-05-12"),
        ],
    );
    let mut options = Options::default();
    options.date_order = Some(DateOrder::DayFirst);
    assert_eq!(
        allowed(&recognize("5/12/24", &options), Leaf::Date)[0].text,
        "2024-12-05"
    );
}

#[test]
fn years_of_two_digits_are_near() {
    best(
        Leaf::Date,
        &[
            ("1.1.39", "2039-01-01"),
            ("1.1.40", "1940-01-01"),
            ("1.1.99", "1999-01-01"),
        ],
    );
    other(
        Leaf::Date,
        &[("1.1.39", "1939-01-01"), ("1.1.56", "2056-01-01")],
    );
}

#[test]
fn a_date_without_a_year_is_in_the_nearest_year_of_the_text() {
    best(
        Leaf::Date,
        &[
            ("12 May 2024, then 3 June", "2024-06-03"),
            (
                "written on 1 January 2023; and until 12 May 2024, from 3 May",
                "2024-05-03",
            ),
            ("Minutes 2024. Next on 3 June", "2024-06-03"),
            ("am 3.6. und am 12.5.2024", "2024-06-03"),
            ("5/6 or 12/31/2024", "2024-05-06"),
        ],
    );
    assert!(values("12 May, tomorrow, next Friday", Leaf::Date).is_empty());
    never(Leaf::Date, &[("29 February, not 1 May 2023", "2023-02-29")]);
}

#[test]
fn a_month_with_its_year_is_no_date_but_a_month() {
    assert!(values("May 2024", Leaf::Date).is_empty());
    best(
        Leaf::YearMonth,
        &[
            ("May 2024", "2024-05"),
            ("12.05.2024", "2024-05"),
            ("mayo de 2024", "2024-05"),
        ],
    );
}

#[test]
fn parts_of_dates_are_numbers() {
    best(
        Leaf::Integer,
        &[
            ("12 May '24", "2024"),
            ("12 May '24", "5"),
            ("12.05.2024", "5"),
        ],
    );
}

#[test]
fn two_digits_after_day_and_month_are_a_year() {
    best(
        Leaf::Date,
        &[
            ("3 Sep 23", "2023-09-03"),
            ("5 May 85", "1985-05-05"),
            ("1 January 99", "1999-01-01"),
            ("3. Sept. 23", "2023-09-03"),
            ("on 5 May 85 in Rome", "1985-05-05"),
            ("5 de mayo de 85", "1985-05-05"),
            ("3 mai 23 à 14 h 30", "2023-05-03"),
            ("3 Sep 23 14:30", "2023-09-03"),
            ("3 Sep 23 - 5 Oct 23", "2023-09-03"),
            ("3–5 May 23", "2023-05-03"),
        ],
    );
    other(Leaf::Date, &[("5 May 56", "2056-05-05")]);
    assert_eq!(values("3 Sep 23", Leaf::Date).len(), 1);
}

#[test]
fn two_digits_after_day_and_month_that_count_something_are_no_year() {
    best(
        Leaf::Date,
        &[
            ("on 3 May 12 people came (2024)", "2024-05-03"),
            ("3 May 2024, 3 May 12 pm", "2024-05-03"),
        ],
    );
    other(Leaf::Date, &[("on 3 May 12 people came", "2012-05-03")]);
    for text in [
        "12 May 10 am",
        "12. Mai 14 Uhr",
        "12 May 10:30",
        "12 May 10-12",
        "12 May 10 to 12",
        "12 May 24 hours",
        "12 May 20 €",
        "12 May 12 noon",
        "12 May 16 June",
        "12 May 23rd",
        "12 May 20 000 people",
    ] {
        assert_eq!(values(text, Leaf::Date), [], "{text:?}");
    }
}
