//! No two types of a crate share a name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The names of the types that a source declares.
fn types(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| {
        // Associated types are named by their trait, so only declarations without indentation count.
        let line = match line.strip_prefix("pub") {
            Some(rest) => rest.split_once(' ')?.1,
            None => line,
        };
        let keywords = ["struct ", "enum ", "type ", "trait "];
        let rest = keywords.iter().find_map(|&word| line.strip_prefix(word))?;
        let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
        Some(rest.chars().take_while(is_part).collect())
    })
}

/// Returns the names that are declared more than once.
fn repeated(sources: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in sources.iter().flat_map(|source| types(source)) {
        *counts.entry(name).or_default() += 1;
    }
    let repeated = counts.into_iter().filter(|&(_, count)| count > 1);
    repeated.map(|(name, _)| name).collect()
}

fn read(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, into);
        } else {
            into.push(fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn types_have_names_of_their_own() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["automata", "regular", "grammar", "algebra"] {
        let mut sources = Vec::new();
        read(&crates.join(format!("structgen-{name}/src")), &mut sources);
        assert!(sources.len() > 10, "the sources of {name} were not found");
        assert_eq!(repeated(&sources), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_name_that_is_used_twice_is_found() {
    let sources = [
        "pub(crate) struct Place {\n    type State = u32;\n}",
        "enum Place {}\nimpl X for Y {\n    type State = u32;\n}",
    ];
    assert_eq!(repeated(&sources.map(str::to_owned)), ["Place"]);
}
