use structgen_recognize::Leaf;

use crate::{best, never};

#[test]
fn durations_are_iso_8601() {
    best(
        Leaf::Duration,
        &[
            ("20 minutes", "PT20M"),
            ("90 min", "PT90M"),
            ("90 min", "PT1H30M"),
            ("90-minute", "PT1H30M"),
            ("1 h 30 min", "PT1H30M"),
            ("1h30", "PT1H30M"),
            ("2h15m", "PT2H15M"),
            ("1 h 50 de trajet", "PT1H50M"),
            ("2 hours and 15 minutes", "PT2H15M"),
            ("half an hour", "PT30M"),
            ("an hour", "PT1H"),
            ("an hour and a half", "PT1H30M"),
            ("two and a half hours", "PT2H30M"),
            ("1.5 hours", "PT1H30M"),
            ("a quarter of an hour", "PT15M"),
            ("three quarters of an hour", "PT45M"),
            ("trois quarts d'heure", "PT45M"),
            ("three weeks", "P3W"),
            ("a couple of weeks", "P2W"),
            ("a fortnight", "P2W"),
            ("34-year-old", "P34Y"),
            ("2 years and 3 months", "P2Y3M"),
            ("eine halbe Stunde", "PT30M"),
            ("eine Stunde", "PT1H"),
            ("anderthalb Stunden", "PT1H30M"),
            ("eineinhalb Stunden", "PT1H30M"),
            ("eine Viertelstunde", "PT15M"),
            ("drei Tage", "P3D"),
            ("2 Std. 30 Min.", "PT2H30M"),
            ("une demi-heure", "PT30M"),
            ("une heure et demie", "PT1H30M"),
            ("un quart d'heure", "PT15M"),
            ("quinze jours", "P15D"),
            ("media hora", "PT30M"),
            ("una hora y media", "PT1H30M"),
            ("un cuarto de hora", "PT15M"),
            ("dos semanas", "P2W"),
            ("1:30 h", "PT1H30M"),
            ("00:45:10", "PT45M10S"),
            ("PT1H30M", "PT1H30M"),
            ("P1Y2M", "P1Y2M"),
            ("PT1.5H", "PT1H30M"),
            ("P0,5D", "PT12H"),
            ("20-30 minutes", "PT20M"),
            ("two to three weeks", "P2W"),
            ("retry after 30s", "PT30S"),
        ],
    );
}

#[test]
fn durations_are_numbers_of_each_unit_in_which_they_are_said() {
    best(
        Leaf::Number,
        &[("half an hour", "0.5"), ("90 minutes", "90")],
    );
    crate::other(
        Leaf::Number,
        &[
            ("half an hour", "30"),
            ("90 minutes", "1.5"),
            ("two weeks", "14"),
            ("3 years", "36"),
            ("eine Viertelstunde", "0.25"),
        ],
    );
    never(
        Leaf::Number,
        &[
            ("a month", "30"),
            ("half an hour", "60"),
            ("a quarter of an hour", "1"),
            ("20 minutes", "0.333"),
            ("36 years", "432"),
            ("30 days", "43200"),
            ("two weeks", "336"),
        ],
    );
}
