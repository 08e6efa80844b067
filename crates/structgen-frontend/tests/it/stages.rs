//! Data flows one way in `json_schema`: scans the source for modules that refer to a later one.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of `json_schema` that are not the folder of a stage, with the stage they belong to; 0 is below all
/// stages.
const OTHER_MODULES: [(&str, u32); 11] = [
    ("error", 0),
    ("formats", 0),
    ("options", 0),
    ("pointer", 0),
    ("report", 0),
    ("violation", 0),
    ("warning", 0),
    ("keywords", 2),
    // These run the stages.
    ("pipeline", 9),
    ("part", 9),
    ("instance", 9),
];

#[test]
fn no_stage_of_json_schema_uses_a_later_one() {
    let mut found = Vec::new();
    for file in sources("json_schema") {
        let Some(own) = stage_of(&file) else {
            continue;
        };
        for (line, text) in code(&file) {
            let later = |&(stage, _): &(u32, _)| stage > own;
            if let Some((_, name)) = modules_named_in(text).find(later) {
                found.push(format!(
                    "{}:{line}: stage {own} uses {name}",
                    file.display()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_module_of_json_schema_has_a_stage() {
    for file in sources("json_schema") {
        let is_top = file.ends_with("json_schema/mod.rs")
            || file.components().any(|part| part.as_os_str() == "tests");
        assert_eq!(stage_of(&file).is_none(), is_top, "{}", file.display());
    }
}

/// The stage that a file of `json_schema` belongs to.
fn stage_of(file: &Path) -> Option<u32> {
    let text = file.to_str()?;
    let (_, inside) = text.split_once("json_schema/")?;
    let module = inside.split(['/', '.']).next()?;
    numbered(module).or_else(|| {
        let other = OTHER_MODULES.iter().find(|(name, _)| *name == module);
        other.map(|&(_, stage)| stage)
    })
}

/// The number in the name of a stage's folder, as in `s2_parse`.
fn numbered(name: &str) -> Option<u32> {
    let (number, _) = name.strip_prefix('s')?.split_once('_')?;
    number.parse().ok()
}

/// The modules of `json_schema` that a line refers to, each with its stage.
fn modules_named_in(line: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let stages = std::iter::from_fn(move || words.find_map(|word| Some((numbered(word)?, word))));
    let others = OTHER_MODULES.iter().filter(move |(name, _)| {
        let path = format!("json_schema::{name}");
        let mut found = line.match_indices(&path);
        found.any(|(at, _)| line[at + path.len()..].starts_with([':', ';']))
    });
    stages.chain(others.map(|&(name, stage)| (stage, name)))
}

/// The source files of a module's folder.
fn sources(module: &str) -> Vec<PathBuf> {
    let mut folders = vec![
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(module),
    ];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The lines of a file with their numbers, without comments and code compiled for tests only.
fn code(file: &Path) -> Vec<(usize, &'static str)> {
    let text = fs::read_to_string(file)
        .expect("the file can be read")
        .leak();
    let text = text.split("#[cfg(test)]\n").next().unwrap_or_default();
    let lines = text.lines().zip(1..);
    lines
        .map(|(line, number)| (number, line.split("//").next().unwrap_or_default()))
        .collect()
}
