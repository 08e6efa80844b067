//! `structgen extract --jsonl`: parallel, in order, and resuming an interrupted run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::support::on_full_disk;
use crate::support::{PERSON, Run, run, run_with, runtime, structgen, write};

/// Texts with ids, some without, and a line that is bad.
fn input(lines: usize) -> String {
    let line = |i: usize| match i % 5 {
        0 => format!("Person {i} is {} years old", i % 90),
        3 => format!("{{\"id\": {i}}}"),
        _ => json!({"id": i, "text": format!("Name{i} is {} years old", i % 90)}).to_string(),
    };
    (0..lines).map(|i| line(i) + "\n").collect()
}

fn extract(schema: &Path, input: &Path, flags: &[&str]) -> Command {
    let mut command = structgen(["extract", "--jsonl", "--schema"]);
    command.arg(schema).arg("--file").arg(input).args(flags);
    command
}

fn lines(run: &Run) -> Vec<Value> {
    let lines = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn any_number_of_jobs_gives_the_same_lines_with_their_ids() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.jsonl", input(13));
    let one = run(&mut extract(&schema, &input, &["--jobs", "1"]));
    assert_eq!(one.code, 2, "{one:?}");
    let found = lines(&one);
    assert_eq!(found.len(), 13);
    for (i, line) in found.iter().enumerate() {
        match i % 5 {
            0 => assert!(line["name"].is_string(), "{line}"),
            3 => assert_eq!((&line["id"], &line["line"]), (&json!(i), &json!(i + 1))),
            _ => assert!(
                line["id"] == i && line["value"]["name"].is_string(),
                "{line}"
            ),
        }
    }
    for jobs in [&["--jobs", "3"][..], &[]] {
        assert_eq!(
            run(&mut extract(&schema, &input, jobs)).out,
            one.out,
            "{jobs:?}"
        );
    }
    let told = lines(&run(&mut extract(&schema, &input, &["--confidence"])));
    assert_eq!(told[1]["id"], 1);
    let name = &told[1]["fields"][0];
    assert_eq!(
        (&name["pointer"], &name["value"]),
        (&json!("/name"), &told[1]["value"]["name"])
    );
    assert!(name["confidence"].is_number() && name.get("spans").is_none());
    assert_eq!(told[1]["value"], found[1]["value"]);
}

#[test]
fn a_program_that_is_killed_loses_and_doubles_nothing() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.jsonl", input(120));
    let expected = run(&mut extract(&schema, &input, &[])).out;
    let out = dir.path().join("out.jsonl");
    let resume = || {
        let mut command = extract(&schema, &input, &["--jobs", "2", "--resume"]);
        command
            .arg(&out)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    };
    for least in [10, 40] {
        let mut child = resume().spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let written = || fs::read_to_string(&out).unwrap_or_default();
        while written().lines().count() < least && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let written = written();
        assert!(written.lines().count() >= least);
        assert!(
            expected.starts_with(&written),
            "what is there is the beginning"
        );
    }
    // A crash may leave an incomplete line.
    let part = fs::read(&out).unwrap();
    fs::write(&out, &part[..part.len() - 7]).unwrap();
    let last = run(&mut resume());
    assert_eq!((last.code, last.out.as_str()), (2, ""), "{last:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    // Completed lines are not computed again, and those with errors still count.
    let again = run(&mut resume());
    assert_eq!(again.code, 2, "{again:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
}

#[test]
fn lines_with_errors_are_tried_again_in_their_places_also_after_a_kill() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.jsonl", input(60));
    let expected = run(&mut extract(&schema, &input, &[])).out;
    // Every second text of an earlier run failed for a reason that has passed.
    let earlier = expected.lines().take(50).enumerate().map(|(i, line)| {
        let id = match i % 5 {
            0 => String::new(),
            _ => format!(",\"id\":{i}"),
        };
        match i % 2 {
            0 => format!("{{\"error\":\"it was busy\",\"line\":{}{id}}}\n", i + 1),
            _ => format!("{line}\n"),
        }
    });
    let out = write(dir.path(), "out.jsonl", earlier.collect::<String>());
    let before = fs::read_to_string(&out).unwrap();
    let new = dir.path().join("out.jsonl.retry");
    let retry = || {
        let flags = ["--jobs", "2", "--retry-errors", "--resume"];
        let mut command = extract(&schema, &input, &flags);
        command
            .arg(&out)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    };
    let written = || fs::read_to_string(&new).unwrap_or_default();
    for least in [5, 15] {
        let mut child = retry().spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while written().lines().count() < least && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(written().lines().count() >= least);
        assert!(expected.starts_with(&written()));
        assert_eq!(fs::read_to_string(&out).unwrap(), before);
    }
    // A crash may leave an incomplete line.
    let part = fs::read(&new).unwrap();
    fs::write(&new, &part[..part.len() - 7]).unwrap();
    let last = run(&mut retry());
    // Some lines are errors for good.
    assert_eq!((last.code, last.out.as_str()), (2, ""), "{last:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    assert!(!new.exists());

    // The second file of another output is not used.
    fs::write(&out, &before).unwrap();
    fs::write(&new, before.replace("Name", "Nobody")).unwrap();
    let stale = run(&mut retry());
    assert_eq!(stale.code, 2);
    assert_eq!(fs::read_to_string(&out).unwrap(), before);
    fs::remove_file(&new).unwrap();
    // Without errors nothing is written again.
    let input = write(dir.path(), "one.jsonl", "Name1 is 1 years old\n");
    fs::write(&out, expected.lines().next().unwrap()).unwrap();
    let flags = ["--retry-errors", "--resume", out.to_str().unwrap()];
    assert_eq!(run(&mut extract(&schema, &input, &flags)).code, 0);
    assert!(!new.exists());
    let alone = run(&mut extract(&schema, &input, &["--retry-errors"]));
    assert!(
        alone.code == 2 && alone.err.contains("--resume"),
        "{alone:?}"
    );
}

#[test]
fn an_output_of_another_input_is_left_alone() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(
        dir.path(),
        "in.jsonl",
        "{\"id\": 4, \"text\": \"Ada is 36\"}\n",
    );
    for (content, says) in [
        ("{\"id\":3,\"value\":{}}\n", "the id 4"),
        ("{\"id\":4,\"value\":{}}\n{}\n", "more than the 1 lines"),
    ] {
        let out = write(dir.path(), "out.jsonl", content);
        let mut command = extract(&schema, &input, &["--resume"]);
        run(command.arg(&out)).is_bad_input(&["out.jsonl", says]);
        assert_eq!(fs::read_to_string(&out).unwrap(), content);
    }
}

#[test]
fn a_line_is_answered_before_the_next_one_is_there() {
    use std::io::{BufRead, BufReader, Write};
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let mut command = structgen(["extract", "--jsonl", "--jobs", "2", "--schema"]);
    let mut child = { command.arg(&schema) }
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for text in ["Ada is 36 years old", "Bob is 7"] {
        writeln!(input, "{text}").unwrap();
        let line = output.next().unwrap().unwrap();
        assert!(serde_json::from_str::<Value>(&line).unwrap()["age"].is_u64());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn no_more_sessions_are_opened_than_there_are_lines() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let sessions = |lines: usize| {
        let lines = "Ada is 36 years old\n".repeat(lines);
        let input = write(dir.path(), "in.txt", lines);
        let done = run(&mut extract(&schema, &input, &["-v", "--jobs", "4"]));
        assert_eq!(done.code, 0, "{done:?}");
        let mut said = done.err.lines();
        let count = said.find_map(|line| line.strip_prefix("model sessions in use: "));
        count.unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(sessions(1), 1);
    assert!(sessions(2) <= 2);
}

#[test]
fn a_file_to_resume_is_not_replaced_by_the_one_of_output() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.jsonl", "Ada is 36\nBob is 7\n");
    let done = "{\"name\":\"Ada\",\"age\":36}\n";
    let out = write(dir.path(), "out.jsonl", done);
    let out = out.to_str().unwrap();
    let mut after = extract(&schema, &input, &["--resume", out, "-o", out]);
    let mut before = structgen(["--output", out, "extract", "--jsonl", "--schema"]);
    before.arg(&schema).arg("--file").arg(&input);
    for command in [&mut after, before.args(["--resume", out])] {
        run(command).is_bad_input(&["--resume", "--output"]);
        assert_eq!(fs::read_to_string(out).unwrap(), done);
    }
    // With a server too.
    let server = ["--resume", out, "-o", out, "--server", "127.0.0.1:1"];
    run(&mut extract(&schema, &input, &server)).is_bad_input(&["--resume", "--output"]);
}

#[test]
fn ids_come_back_as_they_were_written() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let big = "12345678901234567890123";
    let lines = format!("{{\"text\": \"Ada is 36\", \"id\": {big}}}\n{{\"id\": 1.50}}\n");
    let input = write(dir.path(), "in.jsonl", lines);
    let done = run(&mut extract(&schema, &input, &[]));
    let written: Vec<&str> = done.out.lines().collect();
    assert!(
        written[0].starts_with(&format!("{{\"id\":{big},\"value\":")),
        "{done:?}"
    );
    assert!(written[1].ends_with("\"line\":2,\"id\":1.50}"), "{done:?}");
    let out = write(dir.path(), "out.jsonl", &done.out);
    let out = out.to_str().unwrap();
    let resumed = run(&mut extract(&schema, &input, &["--resume", out]));
    assert_eq!(resumed.code, done.code, "{resumed:?}");
    let other = done.out.replace(big, "12345678901234567890124");
    fs::write(out, &other).unwrap();
    run(&mut extract(&schema, &input, &["--resume", out])).is_bad_input(&[big, "line 1 of"]);
    let check = format!("{{\"id\": {big}, \"regex\": \"a\", \"instances\": [\"a\"]}}");
    let checked = run_with(&mut structgen(["check", "--jsonl"]), check.as_bytes());
    assert!(
        checked.out.contains(&format!("\"id\":{big},")),
        "{checked:?}"
    );
}

#[test]
fn a_file_to_resume_has_a_document_in_each_line() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    for (input, done, says) in [
        ("Ada is 36\nBob is 7\n", "{}\ngarbage\n", "line 2 of"),
        ("Ada is 36\n", "\n", "is no JSON"),
        (
            "{\"id\": 1, \"text\": \"x\"}\n",
            "[1]\n",
            "is no JSON object",
        ),
    ] {
        let input = write(dir.path(), "in.jsonl", input);
        let out = write(dir.path(), "out.jsonl", done);
        let mut command = extract(&schema, &input, &["--resume"]);
        run(command.arg(&out)).is_bad_input(&["out.jsonl", says]);
        assert_eq!(fs::read_to_string(&out).unwrap(), done);
    }
}

#[test]
fn a_file_that_is_no_output_keeps_its_last_line() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.txt", "Ada is 36\nBob is 7\n");
    for notes in [
        "my notes, without a line break at the end",
        "{}\nand a last line",
    ] {
        let out = write(dir.path(), "notes.txt", notes);
        let mut command = extract(&schema, &input, &["--resume"]);
        run(command.arg(&out)).is_bad_input(&["notes.txt", "no"]);
        assert_eq!(fs::read_to_string(&out).unwrap(), notes);
    }
    // A document is complete without the line break that follows it.
    let out = write(dir.path(), "out.jsonl", "{\"name\":\"Ada\"}");
    let mut command = extract(&schema, &input, &["--resume"]);
    assert_eq!(run(command.arg(&out)).code, 0);
    let all = fs::read_to_string(&out).unwrap();
    assert!(all.starts_with("{\"name\":\"Ada\"}\n"), "{all}");
    assert_eq!(all.lines().count(), 2, "{all}");
}

#[test]
fn errors_of_an_earlier_run_still_count() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let lines = "{\"id\": 1, \"txt\": \"x\"}\n{\"id\": 2, \"text\": \"Ada is 36\"}\n";
    let input = write(dir.path(), "in.jsonl", lines);
    let out = dir.path().join("out.jsonl");
    for _ in 0..2 {
        let mut command = extract(&schema, &input, &["--resume"]);
        let resumed = run(command.arg(&out));
        assert_eq!(resumed.code, 2, "{resumed:?}");
        let says = "1 of 2 lines could not be done";
        assert!(resumed.err.contains(says), "{resumed:?}");
    }
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_keeps_the_lines_that_are_done_and_the_older_output() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let texts = (0..200).map(|i| format!("Name{i} is {} years old\n", i % 90));
    let input = write(dir.path(), "in.txt", texts.collect::<String>());
    let expected = run(&mut extract(&schema, &input, &[])).out;
    assert!(expected.len() > 4_096);
    let out = dir.path().join("out.jsonl");
    let resume = extract(&schema, &input, &["--resume", out.to_str().unwrap()]);
    let full = run(&mut on_full_disk(&resume, 2));
    full.is_bad_input(&["out.jsonl", "File too large"]);
    let kept = fs::read_to_string(&out).unwrap();
    assert!(kept.lines().count() > 10, "{kept}");
    assert!(expected.starts_with(&kept), "{kept}");
    let mut resume = resume;
    assert_eq!(run(&mut resume).code, 0);
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    // What --output replaces stays until the command is done.
    let older = write(dir.path(), "older", "older");
    let output = extract(&schema, &input, &["-o", older.to_str().unwrap()]);
    run(&mut on_full_disk(&output, 2)).is_bad_input(&["File too large"]);
    assert_eq!(fs::read_to_string(&older).unwrap(), "older");
    let names = fs::read_dir(dir.path()).unwrap();
    assert_eq!(names.count(), 4, "a temporary file was left");
}

#[test]
fn two_runs_do_not_write_to_one_file() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let input = write(dir.path(), "in.txt", "Ada is 36\n");
    let out = write(dir.path(), "out.jsonl", "");
    let other = fs::File::open(&out).unwrap();
    other.lock().unwrap();
    let mut command = extract(&schema, &input, &["--resume"]);
    run(command.arg(&out)).is_bad_input(&["out.jsonl", "another process"]);
}
