//! A loaded constraint equals the saved one, and a changed file is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::prelude::*;
use structgen_constraint::{
    ArtifactError, CompiledConstraint, ConstraintOptions, SavedError, VocabularyTables, WarmLimits,
};
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::{Expr, Grammar, JsonForm, TokenTerminal};
use structgen_vocab::{TokenId, Vocabulary};

const SCHEMAS: [&str; 5] = [
    r#"{"enum": ["foo", "bar", 10, null]}"#,
    r#"{"type": "object", "properties": {"a": {"type": "string", "pattern": "^[ab]{2,40}$"}, "b": {"type": "number", "multipleOf": 0.5}}, "required": ["a"]}"#,
    r#"{"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "null"}, "minProperties": 2}"#,
    r#"{"type": "array", "items": {"enum": [1, "a", 7, null]}, "uniqueItems": true, "contains": {"const": 7}}"#,
    r##"{"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "boolean"}, {"type": "string", "maxLength": 5}]}"##,
];

fn grammars() -> Vec<Grammar> {
    let compile = |schema: &str, profile| {
        let options = SchemaOptions::new().with_profile(profile);
        json_schema::compile_str(schema, &options).unwrap().grammar
    };
    let mut grammars: Vec<Grammar> = SCHEMAS
        .iter()
        .flat_map(|schema| {
            [Profile::Generate, Profile::Exact].map(|profile| compile(schema, profile))
        })
        .collect();
    let token = crate::support::json(
        |builder| {
            let token = builder.expr(Expr::Token(TokenTerminal::Name("<eos>".into())));
            let text = builder.bytes("foo");
            builder.sequence([text, token, text])
        },
        JsonForm::generate(),
    );
    grammars.push(token);
    grammars.push(crate::support::json(
        crate::support::any_value,
        JsonForm::exact(),
    ));
    grammars
}

fn options(tables: &VocabularyTables) -> ConstraintOptions {
    ConstraintOptions {
        eos: vec![tables.vocabulary().special_token("<eos>").unwrap()],
        ..ConstraintOptions::default()
    }
}

const SOME: WarmLimits = WarmLimits {
    states: 60,
    time: Duration::from_secs(60),
};

/// A small constraint with masks of both kinds.
fn small_with(tables: &Arc<VocabularyTables>, options: &ConstraintOptions) -> CompiledConstraint {
    let schema =
        r#"{"anyOf": [{"const": "foo"}, {"type": "string", "minLength": 1, "maxLength": 2}]}"#;
    let compiled = json_schema::compile_str(schema, &SchemaOptions::new()).unwrap();
    let constraint = CompiledConstraint::new(compiled.grammar, tables, options).unwrap();
    constraint.warm(&WarmLimits { states: 6, ..SOME }).unwrap();
    constraint
}

fn small() -> CompiledConstraint {
    let tables = crate::support::vocabulary();
    small_with(&tables, &options(&tables))
}

/// A vocabulary that does not change with the needs of other tests.
fn fixed_vocabulary() -> Arc<VocabularyTables> {
    let bytes = (0..=255).map(|byte| vec![byte]);
    let longer = ["foo", "\"f", "oo\"", "ab"].map(|text| text.as_bytes().to_vec());
    let vocabulary = Vocabulary::from_tokens(bytes.chain(longer), &[]).unwrap();
    Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
}

fn saved(constraint: &CompiledConstraint, folder: &Path) -> PathBuf {
    let file = folder.join("constraint");
    constraint.save(&file).unwrap();
    file
}

fn load(file: &Path) -> Result<CompiledConstraint, SavedError> {
    let tables = crate::support::vocabulary();
    CompiledConstraint::load(&tables, &options(&tables), file)
}

#[test]
fn what_is_loaded_is_what_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    for grammar in grammars() {
        let shown = grammar.to_string();
        let constraint = crate::support::compile(grammar);
        let report = constraint.warm(&SOME).unwrap();
        let file = saved(&constraint, folder.path());
        let loaded = load(&file).unwrap();
        assert_eq!(
            loaded.program().grammar().to_string(),
            constraint.program().grammar().to_string()
        );
        assert_eq!(loaded.eos(), constraint.eos());
        // The masks of the visited states are cached: visiting them again computes none.
        assert_eq!(loaded.warm(&SOME).unwrap(), report);
        assert_eq!(loaded.statistics().masks_computed, 0, "{shown}");
        for seed in 0..6 {
            let text = crate::support::walk_and_compare(&constraint, seed, 30);
            assert_eq!(
                crate::support::walk_and_compare(&loaded, seed, 30),
                text,
                "{shown}"
            );
        }
        // A loaded constraint can be saved again.
        let again = load(&saved(&load(&file).unwrap(), folder.path())).unwrap();
        assert_eq!(again.warm(&SOME).unwrap(), report);
        assert_eq!(again.statistics().masks_computed, 0, "{shown}");
    }
}

#[test]
fn without_masks_there_is_a_grammar() {
    let folder = tempfile::tempdir().unwrap();
    for grammar in grammars() {
        let constraint = crate::support::compile(grammar);
        let loaded = load(&saved(&constraint, folder.path())).unwrap();
        let text = crate::support::walk_and_compare(&constraint, 3, 30);
        assert_eq!(crate::support::walk_and_compare(&loaded, 3, 30), text);
    }
}

#[test]
fn where_states_have_no_room_masks_are_computed() {
    let folder = tempfile::tempdir().unwrap();
    let constraint = crate::support::compile(crate::support::json(
        crate::support::any_value,
        JsonForm::generate(),
    ));
    constraint
        .warm(&WarmLimits {
            states: 10_000,
            ..SOME
        })
        .unwrap();
    let file = saved(&constraint, folder.path());
    let tables = crate::support::vocabulary();
    let cramped = ConstraintOptions {
        mask_bytes: 1_000,
        state_bytes: 1_000,
        ..options(&tables)
    };
    let loaded = CompiledConstraint::load(&tables, &cramped, &file).unwrap();
    for seed in 0..6 {
        let text = crate::support::walk_and_compare(&constraint, seed, 30);
        assert_eq!(crate::support::walk_and_compare(&loaded, seed, 30), text);
    }
}

#[test]
fn another_version_vocabulary_or_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, SavedError::File(error) if error.is_missing()));

    let file = saved(&small(), folder.path());
    let other = fixed_vocabulary();
    let refused = CompiledConstraint::load(&other, &ConstraintOptions::default(), &file);
    assert!(matches!(refused, Err(SavedError::File(ArtifactError::Key))));

    let tables = crate::support::vocabulary();
    let refused = CompiledConstraint::load(&tables, &ConstraintOptions::default(), &file);
    let Err(SavedError::Eos { saved, asked }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((saved, asked), (options(&tables).eos, vec![]));

    let mut bytes = fs::read(&file).unwrap();
    bytes[8] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(matches!(
        load(&file),
        Err(SavedError::File(ArtifactError::Version))
    ));
    tables.save(&file).unwrap();
    assert!(matches!(
        load(&file),
        Err(SavedError::File(ArtifactError::Kind))
    ));
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = saved(&small(), folder.path());
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, bytes).unwrap();
        assert!(load(&file).is_err(), "byte {at} of {}", whole.len());
        fs::write(&file, &whole[..at]).unwrap();
        assert!(load(&file).is_err(), "cut at byte {at} of {}", whole.len());
    }
    fs::write(&file, whole).unwrap();
    load(&file).unwrap();
}

/// If this fails, the contents of files have changed: raise the version in `saved.rs`, or `Grammar::BYTES_VERSION` if
/// the bytes of the grammar changed, then record the new file with `UPDATE_EXPECT=1`.
#[test]
#[cfg(target_endian = "little")]
fn a_change_of_the_file_is_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let options = ConstraintOptions {
        eos: vec![TokenId(7)],
        ..ConstraintOptions::default()
    };
    let constraint = small_with(&fixed_vocabulary(), &options);
    let bytes = fs::read(saved(&constraint, folder.path())).unwrap();
    let version = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    let checksum = u64::from_le_bytes(bytes[56..64].try_into().unwrap());
    let found = format!(
        "version {version:#x}: {} bytes, {checksum:016x}",
        bytes.len()
    );
    expect_test::expect!["version 0x30007: 768 bytes, f9a2b9166cadec63"].assert_eq(&found);
}

/// Updates the checksum of a file whose bytes were changed.
fn sign(bytes: &mut [u8]) {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[..56]);
    hash.update(&bytes[64..]);
    let sum = hash.digest().to_ne_bytes();
    bytes[56..64].copy_from_slice(&sum);
}

/// The files of all grammars.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let written = |grammar| {
        let constraint = crate::support::compile(grammar);
        constraint.warm(&WarmLimits { states: 5, ..SOME }).unwrap();
        fs::read(saved(&constraint, folder.path())).unwrap()
    };
    grammars().into_iter().map(written).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A checksum is not a signature: contents with a correct checksum may be wrong, and are then refused or harmless.
    #[test]
    fn a_forged_file_makes_nothing_panic(
        which in 0_usize..12,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(1_u8), Just(0x80), any::<u8>()]), 1..4),
        seed in any::<u64>(),
    ) {
        let mut bytes = FILES[which].clone();
        for (at, bits) in changes {
            let at = 64 + at.index(bytes.len() - 64);
            bytes[at] ^= bits;
        }
        sign(&mut bytes);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("forged");
        fs::write(&file, bytes).unwrap();
        let Ok(constraint) = load(&file) else { return Ok(()) };
        let mut matcher = constraint.matcher();
        for step in 0..12 {
            let Ok(mask) = matcher.mask() else { break };
            let allowed: Vec<TokenId> = mask.bits().iter().collect();
            let Some(&token) = allowed.get((seed >> step) as usize % allowed.len().max(1)) else { break };
            if matcher.accept_token(token).is_err() { break }
        }
    }
}
