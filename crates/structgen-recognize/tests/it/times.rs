use structgen_recognize::Leaf;

use crate::{best, never, other, values};

#[test]
fn times_are_read_in_digits() {
    best(
        Leaf::HourMinute,
        &[
            ("09:30", "09:30"),
            ("9:30", "09:30"),
            ("9:30pm", "21:30"),
            ("9:30 p.m.", "21:30"),
            ("9 a.m.", "09:00"),
            ("9PM", "21:00"),
            ("12am", "00:00"),
            ("12 pm", "12:00"),
            ("9.30 pm", "21:30"),
            ("7:30 in the evening", "19:30"),
            ("7 in the morning", "07:00"),
            ("9.30 Uhr", "09:30"),
            ("9 Uhr", "09:00"),
            ("9 Uhr 30", "09:30"),
            ("um 9.30", "09:30"),
            ("8 Uhr abends", "20:00"),
            ("um 18:13 am 3. Mai", "18:13"),
            ("9h30", "09:30"),
            ("9 h 30", "09:30"),
            ("9 h", "09:00"),
            ("9 heures 30", "09:30"),
            ("8 heures du soir", "20:00"),
            ("3h de l'après-midi", "15:00"),
            ("9:30 h", "09:30"),
            ("a las 9 de la noche", "21:00"),
            ("las 9 y media", "09:30"),
            ("at 9", "09:00"),
            ("1430 hrs", "14:30"),
            ("9–11 Uhr", "09:00"),
            ("from 9 to 11 am", "09:00"),
            ("9-5pm", "17:00"),
            ("24:00", "00:00"),
            ("10 o'clock", "10:00"),
            ("half past 9", "09:30"),
            ("halb 10", "09:30"),
            ("10 past 8", "08:10"),
            ("10 nach 8", "08:10"),
            ("9.00 - 12.30 Uhr", "09:00"),
            ("11:30-14:15", "14:15"),
            ("7:30–9:00 pm", "19:30"),
            ("between 2 and 4 pm", "14:00"),
            ("zwischen 9 und 11 Uhr", "09:00"),
        ],
    );
    best(
        Leaf::HourMinuteSecond,
        &[
            ("14:30:05", "14:30:05"),
            ("14:30", "14:30:00"),
            ("14:30:05.123", "14:30:05.123"),
            ("14:30:05,123", "14:30:05.123"),
            ("9:30:05.5 pm", "21:30:05.5"),
            ("14:30:05.1234567891", "14:30:05.123456789"),
        ],
    );
    never(
        Leaf::HourMinute,
        &[
            ("25:00", "25:00"),
            ("9:75", "09:75"),
            ("ab:cd:12:30:45:ef", "30:45"),
        ],
    );
}

#[test]
fn times_are_read_in_words() {
    best(
        Leaf::HourMinute,
        &[
            ("half past nine", "09:30"),
            ("Half Past Nine", "09:30"),
            ("half nine", "09:30"),
            ("quarter past eight", "08:15"),
            ("a quarter to nine", "08:45"),
            ("ten past nine", "09:10"),
            ("twenty-five to six", "05:35"),
            ("ten minutes to nine", "08:50"),
            ("open quarter to eleven to 10pm", "22:00"),
            ("from ten to twelve", "12:00"),
            ("nine thirty", "09:30"),
            ("nine-thirty", "09:30"),
            ("nine o'clock", "09:00"),
            ("between two and four", "04:00"),
            ("three in the afternoon", "15:00"),
            ("nine o’clock in the evening", "21:00"),
            ("half past two in the afternoon", "14:30"),
            ("at nine", "09:00"),
            ("from nine to five", "05:00"),
            ("noon", "12:00"),
            ("12 noon", "12:00"),
            ("midnight", "00:00"),
            ("quarter to one", "12:45"),
            ("halb zehn", "09:30"),
            ("um halb eins", "12:30"),
            ("Viertel nach acht", "08:15"),
            ("Viertel vor neun", "08:45"),
            ("viertel neun", "08:15"),
            ("drei viertel neun", "08:45"),
            ("dreiviertel acht", "07:45"),
            ("zehn nach acht", "08:10"),
            ("fünf vor halb neun", "08:25"),
            ("fünf nach halb neun", "08:35"),
            ("neun Uhr dreißig", "09:30"),
            ("neun Uhr", "09:00"),
            ("zwanzig Uhr fünfzehn", "20:15"),
            ("halb acht abends", "19:30"),
            ("Mitternacht", "00:00"),
            ("dix heures et demie", "10:30"),
            ("dix heures et quart", "10:15"),
            ("dix heures moins le quart", "09:45"),
            ("dix heures moins dix", "09:50"),
            ("dix heures vingt", "10:20"),
            ("dix heures du soir", "22:00"),
            ("midi", "12:00"),
            ("midi et demi", "12:30"),
            ("minuit", "00:00"),
            ("las nueve y media", "09:30"),
            ("nueve y cuarto", "09:15"),
            ("las nueve menos cuarto", "08:45"),
            ("las diez menos diez", "09:50"),
            ("las nueve y veinte", "09:20"),
            ("a las nueve", "09:00"),
            ("a la una", "01:00"),
            ("las ocho de la tarde", "20:00"),
            ("las nueve en punto", "09:00"),
            ("mediodía", "12:00"),
        ],
    );
}

#[test]
fn an_hour_of_twelve_can_be_in_the_afternoon() {
    other(
        Leaf::HourMinute,
        &[
            ("half past nine", "21:30"),
            ("at 7:30", "19:30"),
            ("halb acht", "19:30"),
        ],
    );
    other(
        Leaf::HourMinute,
        &[
            ("14.30 Kaffee", "14:30"),
            ("doors 7.30", "07:30"),
            ("doors 7.30", "19:30"),
        ],
    );
    never(
        Leaf::HourMinute,
        &[
            ("07:30", "19:30"),
            ("7:30 am", "19:30"),
            ("um 14 Uhr", "02:00"),
        ],
    );
    never(
        Leaf::HourMinute,
        &[
            ("by 12 May", "12:00"),
            ("within 3.50 €", "03:50"),
            ("after three weeks", "03:00"),
        ],
    );
}

#[test]
fn rfc_3339_takes_the_offset_of_the_text_or_z() {
    best(
        Leaf::Time,
        &[
            ("09:30", "09:30:00Z"),
            ("09:30:05+02:00", "09:30:05+02:00"),
            ("09:30 UTC", "09:30:00Z"),
            ("09:30:05 -0500", "09:30:05-05:00"),
        ],
    );
    best(
        Leaf::DateTime,
        &[
            ("2024-05-12T09:30:00Z", "2024-05-12T09:30:00Z"),
            (
                "2024-05-12T09:30:00.250+02:00",
                "2024-05-12T09:30:00.250+02:00",
            ),
            ("2024-05-12 09:30:00", "2024-05-12T09:30:00Z"),
            ("12/May/2024:09:30:00", "2024-05-12T09:30:00Z"),
            (
                "2024-05-11 08:00:00 up\n2024-05-12 09:30:00 down",
                "2024-05-12T09:30:00Z",
            ),
            ("12 May 2024 at half past nine", "2024-05-12T09:30:00Z"),
            ("at 9:30 on 12 May 2024", "2024-05-12T09:30:00Z"),
            (
                "May 12 09:30:00 host: started in 2024",
                "2024-05-12T09:30:00Z",
            ),
        ],
    );
}

#[test]
fn offsets_from_utc_are_read_in_every_notation() {
    best(
        Leaf::DateTime,
        &[
            ("2025-05-12 09:30:05 -0500", "2025-05-12T09:30:05-05:00"),
            ("Mon, 12 May 2025 09:30 +1000", "2025-05-12T09:30:00+10:00"),
            ("[12/May/2025:09:30:05 +0200]", "2025-05-12T09:30:05+02:00"),
            ("2025-05-12 09:30:05+02", "2025-05-12T09:30:05+02:00"),
            (
                "2025-05-12 09:30:05.123-05",
                "2025-05-12T09:30:05.123-05:00",
            ),
            ("2025-05-12T09:30-05:00", "2025-05-12T09:30:00-05:00"),
            ("2025-05-12 9:30:00 AM -05:00", "2025-05-12T09:30:00-05:00"),
            (
                "2025-05-12T09:30:00-0300/2025-05-13T01:00:00-0300",
                "2025-05-12T09:30:00-03:00",
            ),
            ("2025-05-12T09:30:00+02:00,5.2", "2025-05-12T09:30:00+02:00"),
            ("DTSTART:20250512T093000Z", "2025-05-12T09:30:00Z"),
            ("20250512T0930+0200", "2025-05-12T09:30:00+02:00"),
        ],
    );
    best(
        Leaf::Time,
        &[
            ("09:30 UTC+2", "09:30:00+02:00"),
            ("09:30 GMT-3", "09:30:00-03:00"),
            ("09:30 UTC+5:30", "09:30:00+05:30"),
            ("09:30 UTC -02:00", "09:30:00-02:00"),
            ("14.30 Uhr (UTC+2)", "14:30:00+02:00"),
            ("14h30 UTC+1", "14:30:00+01:00"),
            ("9:30 pm UTC−5", "21:30:00-05:00"),
            ("9am PST", "09:00:00-08:00"),
            ("14:00 CEST", "14:00:00+02:00"),
            ("um 9 Uhr MEZ", "09:00:00+01:00"),
            ("09:30 EST", "09:30:00-05:00"),
            ("9:00–10:00 UTC+2", "09:00:00+02:00"),
        ],
    );
    other(Leaf::Time, &[("at 7:30 EST", "19:30:00-05:00")]);
}

#[test]
fn a_hyphen_after_a_time_is_no_offset_if_it_joins_a_range_or_a_count() {
    best(
        Leaf::Time,
        &[
            ("09:30 - 10:30", "09:30:00Z"),
            ("09:30-10:30", "09:30:00Z"),
            ("12.05.2025 09:30 -10:30", "09:30:00Z"),
            ("09:30:05-10:30:05", "09:30:05Z"),
            ("9:00 UTC-10:00 UTC", "09:00:00Z"),
            ("at 09:30 -5 people", "09:30:00Z"),
            ("at 09:30:05 -5 people", "09:30:05Z"),
            ("um 9 Uhr +49 30 123456", "09:00:00Z"),
            ("LE TRAIN DE 09:30 EST EN RETARD", "09:30:00Z"),
        ],
    );
}

#[test]
fn a_price_is_no_time() {
    never(Leaf::HourMinute, &[("it was $12.50", "12:50")]);
}

#[test]
fn a_fraction_of_a_second_is_kept_and_the_time_without_it_is_less_likely() {
    best(
        Leaf::DateTime,
        &[
            ("at 2024-05-12T14:30:00.123Z ok", "2024-05-12T14:30:00.123Z"),
            ("2024-05-12T14:30:00.5+02:00", "2024-05-12T14:30:00.5+02:00"),
            ("2024-05-12T14:30:00.123456Z", "2024-05-12T14:30:00.123456Z"),
            ("2024-05-12T14:30:00,123Z", "2024-05-12T14:30:00.123Z"),
            ("2024-05-12T14:30:00,5Z", "2024-05-12T14:30:00.5Z"),
            ("20240512T143000.25Z", "2024-05-12T14:30:00.25Z"),
        ],
    );
    best(Leaf::Time, &[("16:05:09.123Z", "16:05:09.123Z")]);
    other(Leaf::Time, &[("16:05:09.123Z", "16:05:09Z")]);
    other(
        Leaf::DateTime,
        &[("2024-05-12T14:30:00.123Z", "2024-05-12T14:30:00Z")],
    );
}

#[test]
fn a_comma_between_the_cells_of_a_row_begins_no_fraction_of_a_second() {
    best(
        Leaf::HourMinuteSecond,
        &[
            ("14:30:05,250,blue", "14:30:05"),
            ("Ada,14:30:05,250", "14:30:05"),
            ("14:30:05,5", "14:30:05"),
        ],
    );
    never(Leaf::HourMinuteSecond, &[("14:30:05,5", "14:30:05.5")]);
}

#[test]
fn a_bare_number_after_a_preposition_is_only_itself_as_a_number() {
    for (text, numbers) in [
        ("We print on A4 paper", &["4"][..]),
        ("A5 paper", &["5"]),
        ("No 1 at 10 Downing Street", &["1", "10"]),
        ("Wir kommen um 9 zu euch", &["9"]),
        ("on arrive à 9", &["9"]),
        ("at nine", &["9"]),
    ] {
        let found: Vec<String> = values(text, Leaf::Integer)
            .into_iter()
            .map(|value| value.text)
            .collect();
        assert_eq!(found, numbers, "{text:?}");
    }
    best(Leaf::Number, &[("ab 9.50", "9.5")]);
    never(Leaf::Number, &[("ab 9.50", "50"), ("ab 9.50", "21")]);
}

#[test]
fn hours_and_minutes_of_a_clear_time_are_numbers() {
    for (text, number) in [
        ("at 9:45", "45"),
        ("um 9.45 Uhr", "45"),
        ("half past nine", "30"),
        ("um 9 Uhr abends", "21"),
        ("at 9 pm", "21"),
        ("2–4 pm", "14"),
    ] {
        best(Leaf::Integer, &[(text, number)]);
    }
}

#[test]
fn a_letter_directly_before_a_number_is_no_preposition() {
    for text in ["We print on A4 paper", "A5"] {
        assert_eq!(values(text, Leaf::Time), [], "{text:?}");
    }
    best(Leaf::HourMinute, &[("on arrive à 9", "09:00")]);
}
