//! Comments have at most 120 columns, but for code and tables in them.

use std::fs;
use std::path::Path;

const WIDTH: usize = 120;

#[test]
fn comments_have_at_most_120_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wide = Vec::new();
    for folder in ["crates", "examples", "fuzz", "tests"] {
        check_folder(&root.join(folder), &mut wide);
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

fn check_folder(folder: &Path, wide: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                check_folder(&path, wide);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            check_file(&path, &fs::read_to_string(&path).unwrap(), wide);
        }
    }
}

fn check_file(path: &Path, source: &str, wide: &mut Vec<String>) {
    let mut is_code = false;
    for (number, line) in (1..).zip(source.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let text = comment.trim_start_matches(['/', '!']);
        if text.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let is_free = is_code || text.starts_with(" |") || text.starts_with("     ");
        if !is_free && line.chars().count() > WIDTH {
            wide.push(format!("{}:{number}", path.display()));
        }
    }
}

#[test]
fn what_is_too_wide_is_found() {
    let long = "x".repeat(WIDTH);
    let source = format!(
        "// {long}\n/// ```\n/// {long}\n/// ```\n/// | {long} |\n    /// {long}\nlet s = \"{long}\";"
    );
    let mut wide = Vec::new();
    check_file(Path::new("f"), &source, &mut wide);
    assert_eq!(wide, ["f:1", "f:6"]);
}
