//! Files of a vocabulary's tables, whose checksum is made right: what is behind it is looked at, too.

use std::fs;
use std::sync::Arc;

use structgen_artifact::reseal;
use structgen_constraint::{CompiledConstraint, VocabularyTables};
use structgen_frontend::json_schema::{SchemaOptions, compile_str};

use crate::saved_constraint::file;
use crate::{SplitMix, walk};

/// Loads tables and goes some way through the masks that they give.
/// True when there was a file.
///
/// Tables of another vocabulary give other masks: only that nothing panics or hangs is looked at.
pub fn saved_tables(data: &[u8]) -> bool {
    let mut data = data.to_vec();
    reseal(&mut data);
    let file = file("tables");
    fs::write(&file, &data).expect("a file");
    let vocabulary = walk::tables().vocabulary().clone();
    let Ok(tables) = VocabularyTables::load(vocabulary, &file) else {
        return !data.is_empty();
    };
    let schema =
        r#"{"type": "array", "items": {"type": ["string", "number", "null"]}, "maxItems": 3}"#;
    let compiled = compile_str(schema, &SchemaOptions::new()).expect("a schema");
    let options = walk::options();
    let Ok(constraint) = CompiledConstraint::new(compiled.grammar, &Arc::new(tables), &options)
    else {
        return true;
    };
    let mut random = SplitMix::new(data.len() as u64);
    let mut matcher = constraint.matcher();
    for _ in 0..16 {
        let Ok(mask) = matcher.mask() else { break };
        let allowed: Vec<_> = mask.bits().iter().collect();
        if allowed.is_empty() {
            break;
        }
        let _ = matcher.accept_token(allowed[random.below(allowed.len())]);
    }
    true
}

/// The file of the vocabulary that all targets share.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let file = file("seed-tables");
    let saved = walk::tables().save(&file);
    let read = saved.ok().and_then(|()| fs::read(&file).ok());
    read.into_iter().collect()
}
