//! The real tokenizers of the data set, which is not part of the repository.

#[path = "../../../../../tests/src/data.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the tests of the whole, which use all of it"
)]
mod data_set;

/// The content of a real `tokenizer.json`; prints a message and returns `None` if the data set is missing.
///
/// The data is the folder `tokenizers` of the data set.
pub(crate) fn real_tokenizer(name: &str) -> Option<Vec<u8>> {
    let folder = data_set::data_folder("tokenizers")?;
    let bytes = std::fs::read(folder.join(format!("{name}.json"))).ok();
    if bytes.is_none() {
        data_set::skip(&format!("there is no tokenizer {name} in STRUCTGEN_DATA"));
    }
    bytes
}
