//! Tables of real tokenizers out of their files: the same as computed ones, and how long both take.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use structgen::constraint::{TablesSource, VocabularyTables};
use structgen::vocab::Vocabulary;
use structgen_tests::{data_folder, report};

#[test]
fn saved_tables_of_real_tokenizers_are_the_computed_ones() {
    let Some(data) = data_folder("tokenizers") else {
        return;
    };
    for name in ["gpt2", "phi3", "llama3", "o200k"] {
        let read = || {
            let json = fs::read(data.join(name).with_extension("json")).expect("it is in the data");
            Arc::new(Vocabulary::from_tokenizer_json(&json).expect("it is a tokenizer"))
        };
        let (first, second) = (read(), read());
        let folder = tempfile::tempdir().expect("there is room");
        let started = Instant::now();
        let computed = VocabularyTables::new(first.clone());
        let computing = started.elapsed();
        let file = VocabularyTables::file_in(folder.path(), &first);
        computed.save(&file).expect("it can be written");
        let started = Instant::now();
        let (loaded, source) = VocabularyTables::load_or_build(second, folder.path());
        let loading = started.elapsed();
        assert!(matches!(source, TablesSource::Loaded), "{source:?}");
        let again = folder.path().join("again");
        loaded.save(&again).expect("it can be written");
        let (written, again) = (fs::read(&file), fs::read(&again));
        assert!(written.expect("it is there") == again.expect("it is there"));
        report(&format!(
            "{name}: {} ids, computed in {:.1} ms, loaded in {:.1} ms; {:.1} MB in memory with the trie's {:.1}, {:.1} MB on disk",
            first.len(),
            computing.as_secs_f64() * 1e3,
            loading.as_secs_f64() * 1e3,
            (computed.memory() + first.trie().memory()) as f64 / 1e6,
            first.trie().memory() as f64 / 1e6,
            fs::metadata(&file).expect("it is there").len() as f64 / 1e6,
        ));
    }
}
