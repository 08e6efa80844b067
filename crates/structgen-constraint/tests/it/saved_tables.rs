//! Loaded tables equal computed ones, and a file that cannot be trusted is replaced.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use structgen_constraint::{ArtifactError, TablesSource, VocabularyTables};
use structgen_grammar::JsonForm;
use structgen_vocab::{TokenId, Vocabulary};

/// A vocabulary that has not built its trie yet.
fn vocabulary() -> Arc<Vocabulary> {
    let known = crate::support::vocabulary();
    let known = known.vocabulary();
    let tokens = (0..known.len() as u32).map(TokenId);
    let bytes = tokens.map(|id| known.token_bytes(id).unwrap_or_default().to_vec());
    let eos = known.special_token("<eos>").unwrap();
    Arc::new(Vocabulary::from_tokens(bytes, &[(eos, "<eos>")]).unwrap())
}

fn is_loaded(source: &TablesSource) -> bool {
    matches!(source, TablesSource::Loaded)
}

/// Returns the contents of tables as bytes.
fn written(tables: &VocabularyTables, folder: &Path) -> Vec<u8> {
    let file = folder.join("compared");
    tables.save(&file).unwrap();
    fs::read(file).unwrap()
}

#[test]
fn loaded_tables_are_those_that_would_be_computed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("not/there/yet");
    let (built, source) = VocabularyTables::load_or_build(vocabulary(), &cache);
    assert!(
        matches!(source, TablesSource::Built { unusable, not_saved: None } if unusable.is_missing())
    );
    let (loaded, source) = VocabularyTables::load_or_build(vocabulary(), &cache);
    assert!(is_loaded(&source), "{source:?}");
    assert_eq!(loaded.vocabulary().trie(), built.vocabulary().trie());
    assert_eq!(
        written(&loaded, folder.path()),
        written(&built, folder.path())
    );
    assert_eq!(loaded.memory(), built.memory());
    assert_eq!(
        fs::read_dir(&cache).unwrap().count(),
        1,
        "a temporary file is left"
    );
}

#[test]
fn masks_of_loaded_tables_are_the_oracles() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _) = VocabularyTables::load_or_build(vocabulary(), folder.path());
    let (loaded, source) = VocabularyTables::load_or_build(vocabulary(), folder.path());
    assert!(is_loaded(&source));
    let grammar = crate::support::json(crate::support::any_value, JsonForm::generate());
    let constraint = crate::support::compile_with(grammar.clone(), &Arc::new(loaded));
    let fresh = crate::support::compile(grammar);
    for seed in 0..20 {
        let text = crate::support::walk_and_compare(&constraint, seed, 30);
        assert_eq!(text, crate::support::walk_and_compare(&fresh, seed, 30));
    }
}

#[test]
fn an_old_version_and_another_vocabulary_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = VocabularyTables::file_in(folder.path(), &vocabulary());
    let _ = VocabularyTables::load_or_build(vocabulary(), folder.path());
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] ^= 0xFF;
    fs::write(&file, bytes).unwrap();
    let (_, source) = VocabularyTables::load_or_build(vocabulary(), folder.path());
    let TablesSource::Built {
        unusable,
        not_saved: None,
    } = source
    else {
        panic!("{source:?}");
    };
    assert!(matches!(unusable, ArtifactError::Version));

    // A valid file of other tokens under this vocabulary's name.
    let other = Vocabulary::from_tokens([b"a".to_vec()], &[]).unwrap();
    VocabularyTables::new(Arc::new(other)).save(&file).unwrap();
    let (_, source) = VocabularyTables::load_or_build(vocabulary(), folder.path());
    let TablesSource::Built { unusable, .. } = source else {
        panic!("{source:?}");
    };
    assert!(matches!(unusable, ArtifactError::Key));
    let (_, source) = VocabularyTables::load_or_build(vocabulary(), folder.path());
    assert!(is_loaded(&source));
}

/// If this fails, the contents of tables have changed, and old files must not be loaded: raise the version in
/// `tables/saved.rs`, then record the new file with `UPDATE_EXPECT=1`.
#[test]
#[cfg(target_endian = "little")]
fn a_change_of_the_tables_is_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = written(&VocabularyTables::new(vocabulary()), folder.path());
    let version = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    let checksum = u64::from_le_bytes(bytes[56..64].try_into().unwrap());
    let found = format!("version {version}: {} bytes, {checksum:016x}", bytes.len());
    expect_test::expect!["version 5: 31248 bytes, 74dad61999d722a3"].assert_eq(&found);
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    // A folder cannot be created below a file, whatever the permissions.
    let (tables, source) = VocabularyTables::load_or_build(vocabulary(), &file.join("cache"));
    let TablesSource::Built {
        not_saved: Some(_), ..
    } = source
    else {
        panic!("{source:?}");
    };
    let fresh = VocabularyTables::new(vocabulary());
    assert_eq!(
        written(&tables, folder.path()),
        written(&fresh, folder.path())
    );
}

#[test]
fn many_may_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| VocabularyTables::load_or_build(vocabulary(), folder.path()));
        }
    });
    assert!(
        VocabularyTables::load(
            vocabulary(),
            &VocabularyTables::file_in(folder.path(), &vocabulary())
        )
        .is_ok()
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Updates the checksum of a file whose bytes were changed.
fn sign(bytes: &mut [u8]) {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[..56]);
    hash.update(&bytes[64..]);
    let sum = hash.digest().to_ne_bytes();
    bytes[56..64].copy_from_slice(&sum);
}

/// Where the tokens of two tries are, counted in arrays from the end. Each of these tries has eight arrays with its
/// summaries, of which the tokens are the second; after four of them are the tokens at a quote, a trie, and a number.
const CLOSING: usize = 4 * 8 + 1 + 8 + 1 - 1;
const ESCAPED: usize = CLOSING - 2 * 8;

/// Returns the arrays of a file of tables.
fn arrays(file: &[u8]) -> Vec<Vec<u8>> {
    let mut arrays = Vec::new();
    let mut at = 64;
    while at < file.len() {
        let length = u64::from_ne_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let start = at + 16;
        arrays.push(file[start..start + length].to_vec());
        at = (start + length).next_multiple_of(16);
    }
    arrays
}

/// Returns a file with the head of another one and these arrays.
fn file_of(head: &[u8], arrays: &[Vec<u8>]) -> Vec<u8> {
    let mut file = head[..64].to_vec();
    for array in arrays {
        file.extend((array.len() as u64).to_ne_bytes());
        file.resize(file.len().next_multiple_of(16), 0);
        file.extend(array);
        file.resize(file.len().next_multiple_of(16), 0);
    }
    structgen_artifact::reseal(&mut file);
    file
}

/// Loads tables whose arrays were changed.
fn load_forged(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Result<VocabularyTables, ArtifactError> {
    let folder = tempfile::tempdir().unwrap();
    let whole = written(&VocabularyTables::new(vocabulary()), folder.path());
    let mut arrays = arrays(&whole);
    assert_eq!(file_of(&whole, &arrays), whole);
    change(&mut arrays);
    let file = folder.path().join("forged");
    fs::write(&file, file_of(&whole, &arrays)).unwrap();
    VocabularyTables::load(vocabulary(), &file)
}

/// With each repetition the trie that is built from the tokens would grow, beyond what any trie may have.
#[test]
fn a_token_that_a_trie_lists_again_is_refused() {
    for times in [1, 1 << 24] {
        let forged = load_forged(|arrays| {
            let closing = arrays.len() - CLOSING;
            let tokens = &mut arrays[closing];
            let last = *tokens.last_chunk::<4>().unwrap();
            tokens.extend(last.repeat(times));
            let count = (tokens.len() / 4) as u32;
            // The node after the last one, in which the tokens end.
            let ends_at = arrays[closing - 1].last_chunk_mut::<4>().unwrap();
            *ends_at = count.to_ne_bytes();
        });
        let error = forged.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("a trie is none"), "{error}");
    }
}

#[test]
fn a_token_in_two_tries_that_share_none_is_refused() {
    let forged = load_forged(|arrays| {
        let len = arrays.len();
        let closing = *arrays[len - CLOSING].first_chunk::<4>().unwrap();
        *arrays[len - ESCAPED].first_chunk_mut::<4>().unwrap() = closing;
    });
    let error = forged.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("both with an escape and without"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damage_is_noticed(at in any::<prop::sample::Index>(), bits in 1_u8.., cut in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let file = VocabularyTables::file_in(folder.path(), &vocabulary());
        let _ = VocabularyTables::load_or_build(vocabulary(), folder.path());
        let whole = fs::read(&file).unwrap();
        let mut bytes = whole.clone();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= bits }
        fs::write(&file, bytes).unwrap();
        let (_, source) = VocabularyTables::load_or_build(vocabulary(), folder.path());
        prop_assert!(!is_loaded(&source));
        prop_assert_eq!(fs::read(&file).unwrap(), whole);
    }

    /// A checksum is not a signature: contents with a correct checksum may be wrong, and are then refused or harmless.
    #[test]
    fn a_forged_file_makes_nothing_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(1_u8), Just(0x80), any::<u8>()]), 1..4),
        seed in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = VocabularyTables::file_in(folder.path(), &vocabulary());
        let _ = VocabularyTables::load_or_build(vocabulary(), folder.path());
        let mut bytes = fs::read(&file).unwrap();
        for (at, bits) in changes {
            let at = 64 + at.index(bytes.len() - 64);
            bytes[at] ^= bits;
        }
        sign(&mut bytes);
        fs::write(&file, bytes).unwrap();
        let (tables, _) = VocabularyTables::load_or_build(vocabulary(), folder.path());
        let grammar = crate::support::json(crate::support::any_value, JsonForm::generate());
        let constraint = crate::support::compile_with(grammar, &Arc::new(tables));
        let mut matcher = constraint.matcher();
        for step in 0..12 {
            let mask = matcher.mask().unwrap();
            let allowed: Vec<TokenId> = mask.bits().iter().collect();
            let Some(&token) = allowed.get((seed >> step) as usize % allowed.len().max(1)) else { break };
            if matcher.accept_token(token).is_err() { break }
        }
    }
}
