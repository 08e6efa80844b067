//! Tests of the whole compiler.

#[test]
fn smoke() {
    let c = super::compile_str(
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        &Default::default(),
    )
    .unwrap();
    println!("{}", c.grammar);
}
