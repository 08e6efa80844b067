//! Formats of which only a subset is generated.

use serde_json::json;

use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Effect, Profile, SchemaOptions, compile};

#[test]
fn fractions_of_a_second_have_nine_digits_at_most_where_they_are_generated() {
    let judged = |profile, format: &str, text: &str| {
        let options = SchemaOptions::new().with_profile(profile);
        let (schema, instance) = (json!({"format": format}), json!(text));
        let read = |value| Json::from_value(value, &options.limits).expect("it is small");
        let judged = judge(&read(&schema), &[read(&instance)], &options);
        judged.canonical.expect("the schema is supported")[0]
    };
    for profile in [Profile::Generate, Profile::Rust, Profile::Exact] {
        let nine = "2024-05-12T23:59:59.123456789Z";
        let more = "2024-05-12T23:59:59.1234567890Z";
        assert!(judged(profile, "date-time", nine), "{profile:?}");
        assert!(judged(profile, "time", &nine[11..]), "{profile:?}");
        let is_exact = profile == Profile::Exact;
        assert_eq!(judged(profile, "date-time", more), is_exact, "{profile:?}");
        assert_eq!(judged(profile, "time", &more[11..]), is_exact);
        let leap = "22:59:60.1234567890-01:00";
        assert_eq!(judged(profile, "time", leap), is_exact);
    }
}

#[test]
fn what_is_not_generated_is_in_the_report() {
    let report = |schema| {
        let compiled = compile(&schema, &SchemaOptions::new());
        compiled.expect("the schema is supported").report
    };
    let narrowed = report(json!({"format": "time"}));
    let entry = narrowed.narrowed().next().expect("it is narrowed");
    assert_eq!(entry.pointer(), "#/format");
    let how = "fractions of a second with more than 9 digits are left out";
    assert_eq!(entry.effect, Effect::Narrowed { how });
    // The negation excludes no valid value.
    let negated = report(json!({"type": "string", "not": {"format": "time"}}));
    assert_eq!(negated.narrowed().count(), 0);
}
