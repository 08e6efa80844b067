//! Files of constraints, whose checksum is made right: what is behind it is looked at, too.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use structgen_artifact::reseal;
use structgen_constraint::{CompiledConstraint, WarmLimits};
use structgen_frontend::json_schema::{SchemaOptions, compile_str};
use tempfile::TempDir;

use crate::SplitMix;
use crate::walk;

/// Loads a constraint and goes some way through its masks.
/// True when there was a file.
///
/// A file with another's masks or another grammar is no error: only that nothing panics or hangs is looked at.
pub fn saved_constraint(data: &[u8]) -> bool {
    let mut data = data.to_vec();
    reseal(&mut data);
    let file = file("constraint");
    fs::write(&file, &data).expect("a file");
    let Ok(constraint) = CompiledConstraint::load(walk::tables(), &walk::options(), &file) else {
        return !data.is_empty();
    };
    let mut random = SplitMix::new(data.len() as u64);
    let mut matcher = constraint.matcher();
    for _ in 0..16 {
        let Ok(mask) = matcher.mask() else { break };
        let allowed: Vec<_> = mask.bits().iter().collect();
        if allowed.is_empty() {
            break;
        }
        // A mask of the file may be one of another state: then its tokens are refused.
        let _ = matcher.accept_token(allowed[random.below(allowed.len())]);
    }
    true
}

/// Files of two schemas, with some of their masks.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let schemas = [
        r#"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}, "b": {"enum": [1, "x"]}}, "required": ["a"]}"#,
        r#"{"type": "array", "items": {"type": "integer", "minimum": -5, "maximum": 50}, "maxItems": 3}"#,
    ];
    let save = |schema| {
        let compiled = compile_str(schema, &SchemaOptions::new()).ok()?;
        let constraint = walk::compile(compiled.grammar).ok()?;
        let few = WarmLimits {
            states: 30,
            ..WarmLimits::default()
        };
        constraint.warm(&few).ok()?;
        let file = file("seed");
        constraint.save(&file).ok()?;
        fs::read(&file).ok()
    };
    schemas.into_iter().filter_map(save).collect()
}

/// A file of this process.
pub(crate) fn file(name: &str) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    folder.path().join(name)
}
