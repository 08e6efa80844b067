//! Where a text does not fit, and what could stand there: no model is needed.

use structgen::{Checker, Constraint, Profile, SchemaOptions};

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    let schema = r#"{
        "type": "object",
        "properties": {"price": {"type": "number", "minimum": 0, "multipleOf": 0.01}},
        "required": ["price"]
    }"#;
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let checker = Checker::new(&Constraint::json_schema_str(schema, &options)?)?;
    for text in [
        r#"{"price": 12.50}"#,
        r#"{"price": 12.505}"#,
        r#"{"prize": 1}"#,
        r#"{"price": 1"#,
    ] {
        match checker.check(text.as_bytes())? {
            None => println!("{text}: fits"),
            Some(mismatch) => println!("{text}: {mismatch}"),
        }
    }
    Ok(())
}
