//! Results are equal for any number of partitions, batches and workers.

use std::sync::Arc;

use datafusion::arrow::array::StringArray;
use structgen::{GenerateOptions, SamplingParams};
use structgen_datafusion::{FunctionOptions, Functions, Schemas};

use crate::support::{CONTACT, TEXTS, model, printed, rows, session};

const SQL: &str = "SELECT body, extract(body, 'contact', 'confidence').*, classify(body, 'a', 'b') AS c, \
    generate(body, '{\"type\": \"string\", \"maxLength\": 8}') AS g FROM mails";

#[tokio::test]
async fn a_rows_value_depends_on_nothing_but_its_text() {
    // Including equal texts, which have equal values even when sampling.
    let texts: Vec<String> = (0..24)
        .map(|row| format!("{} Room {}.", TEXTS[row % 4], row % 6))
        .collect();
    let sampling = SamplingParams {
        temperature: 1.5,
        seed: 7,
        ..SamplingParams::default()
    };
    let mut all = Vec::new();
    for (workers, partitions, batch_rows) in [(1, 1, 100), (2, 1, 5), (3, 4, 2), (1, 7, 1)] {
        let options = FunctionOptions::new()
            .with_schemas(Schemas::new().with("contact", CONTACT))
            .with_generate_options(GenerateOptions {
                sampling: sampling.clone(),
                ..GenerateOptions::default()
            });
        let functions = Functions::new(move || model(workers), options);
        let config = Functions::session_config()
            .with_target_partitions(partitions)
            .with_batch_size(batch_rows);
        let body = Arc::new(StringArray::from(texts.clone()));
        let context = session(&functions, config, body);
        let found = rows(&context, &functions, SQL).await;
        assert_eq!(functions.errors(), 0);
        all.push(printed(&found));
    }
    assert_eq!(all[0].len(), 24);
    for other in &all[1..] {
        assert_eq!(other, &all[0]);
    }
    let distinct: std::collections::BTreeSet<_> = all[0].iter().collect();
    assert_eq!(distinct.len(), 12, "rows of equal texts are equal");
}
