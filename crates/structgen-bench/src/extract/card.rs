//! Formats the figures as a section of a model card.

use std::fmt::Write;

use super::report::{Results, sections};

/// Returns Markdown: a heading, how to read the figures, and the tables of each set.
pub(super) fn markdown(model: &str, all: &[Results]) -> String {
    let mut text = format!(
        "## Measured\n\n\
         Model: {model}. `structgen-bench extract`; brackets are bootstrap intervals of 95% over texts. An object is exact if all\n\
         of it is. A field is a leaf of the schema, an array counting as one; an absent optional property is right if it is\n\
         absent. The soft score is the mean over leaves of aligned documents, in which strings count by edit distance.\n"
    );
    for section in sections(all) {
        // Writing to a string never fails.
        let _ = write!(text, "\n### {}\n", section.heading);
        for table in &section.tables {
            let _ = write!(text, "\n{}", table.markdown());
        }
    }
    text
}
