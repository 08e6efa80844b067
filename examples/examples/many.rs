//! Many texts, several at a time, and one value while it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use structgen::Extractor;

#[derive(Debug, JsonSchema, Deserialize)]
#[expect(dead_code, reason = "its fields are printed")]
struct Order {
    number: String,
    items: u8,
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn main() -> anyhow::Result<()> {
    structgen_examples::runtime()?;
    let orders = Extractor::<Order>::builder().workers(2).build()?;
    let texts = [
        "Order AB-1234: 3 items, please.",
        "We are waiting for the 12 items of order QX-88.",
        "Cancel KL-5 with its 2 items",
    ];
    for (text, found) in texts.iter().zip(orders.extract_all(texts)) {
        match found {
            Ok(found) => println!("{text}: {:?}", found.value),
            Err(error) => println!("{text}: {error}"),
        }
    }
    let mut stream = orders.extract_stream(texts[0])?;
    for partial in &mut stream {
        println!("{}", partial?);
    }
    println!("{:?}", stream.finish()?.value);
    Ok(())
}
