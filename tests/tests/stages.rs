//! Modules are declared in stages, the groups of `mod` lines in `src/lib.rs`, and import from earlier stages only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The crates whose modules are declared in stages.
const CRATES: [&str; 5] = ["automata", "constraint", "decode", "frontend", "ort"];

/// The stages of a crate, as its root declares them.
#[derive(Debug, Default)]
struct Stages {
    /// The number of the group in which a module is declared.
    of_module: BTreeMap<String, usize>,
    /// The module from which the root re-exports a name.
    exports: BTreeMap<String, String>,
}

impl Stages {
    fn read(root: &str) -> Self {
        let mut stages = Self::default();
        let mut group = 0;
        for line in root.lines() {
            if line.trim().is_empty() {
                group += 1;
            }
            let declared = line.trim_start_matches("pub ").strip_prefix("mod ");
            if let Some(module) = declared.and_then(|rest| rest.strip_suffix(';')) {
                stages.of_module.insert(module.to_owned(), group);
            }
        }
        for statement in code(root).split(';') {
            let Some((attributes, path)) = statement.split_once("pub use ") else {
                continue;
            };
            let is_attribute = |line: &str| line.trim().is_empty() || line.trim().starts_with("#[");
            if !attributes.lines().all(is_attribute) {
                continue;
            }
            let Some((module, names)) = path.split_once("::") else {
                continue;
            };
            if stages.of_module.contains_key(module) {
                for name in first_names(names) {
                    stages.exports.insert(name, module.to_owned());
                }
            }
        }
        stages
    }

    /// Returns the imports of a module's source that lead to its own stage or a later one.
    fn backward_imports(&self, module: &str, source: &str) -> Vec<String> {
        let own = self.of_module[module];
        let code = code(source);
        let paths = code.split("crate::").skip(1);
        let mut found = Vec::new();
        for name in paths.flat_map(first_names) {
            let target = self.exports.get(&name).unwrap_or(&name);
            let stage = self.of_module.get(target);
            if target != module && stage.is_some_and(|&stage| stage >= own) {
                found.push(format!("{module} imports {target} ({name})"));
            }
        }
        found
    }
}

/// Returns the source without comments and unit tests. A `//` in a string does no harm here.
fn code(source: &str) -> String {
    let lines = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .into_iter()
        .flat_map(str::lines);
    let code = lines.map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.collect::<Vec<_>>().join("\n")
}

/// Returns the first segments of a path: `a` of `a::b`, or `a` and `c` of `{a::{b}, c}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
        text.trim_start().chars().take_while(is_part).collect()
    };
    let Some(group) = path.trim_start().strip_prefix('{') else {
        return vec![name(path)];
    };
    let mut names = vec![name(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(name(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Collects the sources of all modules below a folder, each with the module of the root that it belongs to.
fn sources(folder: &Path, module: Option<&str>, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.expect("file names are UTF-8");
        if stem == "tests" || stem == "lib" {
            continue;
        }
        let module = module.unwrap_or(stem);
        if path.is_dir() {
            sources(&path, Some(module), into);
        } else {
            let source = fs::read_to_string(&path).expect("the file can be read");
            into.push((module.to_owned(), source));
        }
    }
}

#[test]
fn modules_import_earlier_stages_only() {
    let mut back = Vec::new();
    for name in CRATES {
        let folder = format!("../crates/structgen-{name}/src");
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let root = fs::read_to_string(src.join("lib.rs")).expect("the crate has a root");
        let stages = Stages::read(&root);
        let mut modules = Vec::new();
        sources(&src, None, &mut modules);
        let read: BTreeSet<&String> = modules.iter().map(|(module, _)| module).collect();
        assert!(stages.of_module.keys().eq(read), "modules of {name}");
        for (module, source) in &modules {
            let imports = stages.backward_imports(module, source);
            back.extend(imports.iter().map(|import| format!("{name}: {import}")));
        }
    }
    assert!(back.is_empty(), "{}", back.join("\n"));
}

#[test]
fn an_import_of_a_later_stage_is_found() {
    let root = "mod bytes;\n\nmod machine;\nmod other;\n\npub mod network;\n\npub use network::{Frame, Network};\n";
    let stages = Stages::read(root);
    let found = |module, source| stages.backward_imports(module, source).join(", ");
    assert_eq!(found("machine", "use crate::bytes::ByteSet;"), "");
    assert_eq!(found("network", "use crate::{bytes::{self}, machine};"), "");
    assert_eq!(found("machine", "/// [`Network`](crate::Network)"), "");
    assert_eq!(
        found(
            "machine",
            "use crate::{\n    bytes::{A, B},\n    Network,\n};"
        ),
        "machine imports network (Network)"
    );
    assert_eq!(
        found("bytes", "let x = crate::machine::X;"),
        "bytes imports machine (machine)"
    );
    assert_eq!(
        found("other", "use crate::machine::X;"),
        "other imports machine (machine)"
    );
}
