//! How often a call is computed, and what SQL parses as one.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::datatypes::Float64Type;
use structgen_datafusion::Functions;

use crate::support::{TEXTS, functions, rows, session};

#[tokio::test]
async fn a_call_is_computed_once_for_each_row_that_is_wanted() {
    let texts = Arc::new(StringArray::from(TEXTS.to_vec()));
    for (sql, expected) in [
        ("SELECT extract(body, 'contact').* FROM mails", 4),
        (
            "SELECT extract(body, 'contact').* FROM mails WHERE body LIKE '%Graz%'",
            1,
        ),
        (
            "SELECT extract(body, 'contact')['name'], extract(body, 'contact')['city'] FROM mails",
            4,
        ),
        (
            "SELECT f['name'], f['city'] FROM (SELECT extract(body, 'contact') AS f FROM mails)",
            4,
        ),
        (
            "SELECT 1 FROM mails WHERE extract(body, 'contact')['city'] IS NOT NULL",
            4,
        ),
    ] {
        let functions = functions();
        let config = Functions::session_config().with_target_partitions(1);
        let context = session(&functions, config, texts.clone());
        rows(&context, &functions, sql).await;
        assert_eq!(functions.rows(), expected, "{sql}");
    }
}

#[tokio::test]
async fn extract_of_the_standard_is_still_there() {
    let functions = functions();
    let texts = Arc::new(StringArray::from(TEXTS.to_vec()));
    let context = session(&functions, Functions::session_config(), texts);
    let sql = "SELECT CAST(EXTRACT(year FROM DATE '2024-02-29') AS DOUBLE)";
    let found = rows(&context, &functions, sql).await;
    assert_eq!(
        found[0].column(0).as_primitive::<Float64Type>().value(0),
        2024.0
    );
}
