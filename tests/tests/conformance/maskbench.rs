//! Every twentieth file of MaskBench; `STRUCTGEN_FULL=1` judges the instances of all.

use std::collections::BTreeSet;

use structgen::KeyOrder;
use structgen::{Checker, Constraint, Profile, SchemaOptions};
use structgen_maskbench::{Case, case_files};
use structgen_tests::{data_folder, is_full_run, report};

use crate::ratchet::{Findings, compare, one_line};
use crate::{Verdict, judge};

const STEP: usize = 20;

const HEADER: &str = "Files of MaskBench (every 20th) that are refused at compile time, or judged wrongly, each with the reason.\n\
                      Written by STRUCTGEN_UPDATE=1 cargo test -p structgen-tests --test conformance";

#[test]
fn no_verdict_on_a_slice_of_maskbench_is_wrong_but_for_the_recorded_ones() {
    let Some(folder) = data_folder("maskbench") else {
        return;
    };
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any);
    let files = case_files(&[folder]).expect("the folder can be read");
    let step = if is_full_run() { 1 } else { STEP };
    let mut findings = Findings::new();
    let mut judged = BTreeSet::new();
    let (mut schemas, mut compiled, mut instances, mut right) = (0, 0, 0, 0);
    for (index, path) in files.iter().enumerate().step_by(step) {
        let case = Case::read(path, false).expect("the file is a case");
        schemas += 1;
        judged.insert(case.file.clone());
        let checker = Constraint::json_schema(&case.schema, &options)
            .and_then(|constraint| Checker::new(&constraint));
        let checker = match checker {
            Ok(checker) => checker,
            Err(error) => {
                if index % STEP == 0 {
                    findings.insert(
                        format!("refused {}", case.file),
                        one_line(&error.to_string()),
                    );
                }
                continue;
            }
        };
        compiled += 1;
        for (number, instance) in case.instances.iter().enumerate() {
            instances += 1;
            let (kind, reason) = match judge(&checker, &instance.text, instance.is_valid) {
                Verdict::Right => {
                    right += 1;
                    continue;
                }
                Verdict::Accepted => ("ACCEPTED", "?".to_owned()),
                Verdict::Rejected => ("REJECTED", "?".to_owned()),
                Verdict::Unknown(error) => ("undecided", one_line(&error)),
            };
            findings.insert(format!("{kind} {} instance {number}", case.file), reason);
        }
    }
    report(&format!(
        "MaskBench: {schemas} schemas, {compiled} compiled; {right} of {instances} instances judged right"
    ));
    assert!(compiled * 2 > schemas, "hardly anything compiles");
    compare("maskbench", HEADER, &findings, |line| {
        line.split_whitespace()
            .nth(1)
            .is_some_and(|file| judged.contains(file))
    });
}
