//! Prints the results.

use std::collections::BTreeMap;

use structgen::vocab::Tokenizer;
use structgen_maskbench::{Case, FileResult, Percentiles, Status, Summary, encode_answer};

/// Prints the two engines' distributions and their ratios, over the files that both judge correctly.
pub(crate) fn compare(results: &[(FileResult, Option<FileResult>)], title: &str) {
    let both: Vec<(&FileResult, &FileResult)> = results
        .iter()
        .filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)))
        .filter(|(ours, theirs)| ours.status == Status::Ok && theirs.status == Status::Ok)
        .collect();
    let ours = Summary::new(both.iter().map(|&(ours, _)| ours));
    let theirs = Summary::new(both.iter().map(|&(_, theirs)| theirs));
    println!(
        "\nstructgen / llguidance, {title}, over the {} cases that both judge right",
        both.len()
    );
    println!("ratio                      {}", Percentiles::HEADER);
    for (name, ours, theirs) in [
        ("compile + first mask", &ours.ttfm_us, &theirs.ttfm_us),
        ("mask + accept", &ours.tbm_us, &theirs.tbm_us),
    ] {
        print_ratios(name, ours, theirs);
    }
}

/// Prints two distributions and their ratio, in three lines.
pub(crate) fn print_ratios(name: &str, ours: &Percentiles, theirs: &Percentiles) {
    println!("{name:<27}{ours}   structgen");
    println!("{name:<27}{theirs}   llguidance");
    let ratio = |a: f64, b: f64| format!("{:.3}", a / b);
    println!(
        "{name:<27}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}   ratio",
        ratio(ours.average, theirs.average),
        ratio(ours.p50, theirs.p50),
        ratio(ours.p90, theirs.p90),
        ratio(ours.p99, theirs.p99),
        ratio(ours.p999, theirs.p999),
        ratio(ours.max, theirs.max)
    );
}

/// Groups failures by message, without pointers.
pub(crate) fn explain(results: &[(FileResult, Option<FileResult>)]) {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (result, _) in results {
        if let Some(error) = &result.error {
            let reason = match result.status {
                Status::CompileError => error
                    .split_once(": ")
                    .map_or(error.as_str(), |(_, reason)| reason),
                _ => error,
            };
            groups
                .entry(format!("{:?}: {reason}", result.status))
                .or_default()
                .push(&result.file);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    println!();
    slowest(results, "compile + first mask", |result| {
        result.ttfm_us.unwrap_or(0.0)
    });
    slowest(results, "mask + accept", |result| {
        result
            .tbm_ns
            .iter()
            .max()
            .map_or(0.0, |&ns| ns as f64 / 1e3)
    });
    for (reason, files) in groups {
        println!("{:>6}  {reason}  (such as {})", files.len(), files[0]);
    }
}

/// Lists the files with the largest of some time.
fn slowest(
    results: &[(FileResult, Option<FileResult>)],
    name: &str,
    time: impl Fn(&FileResult) -> f64,
) {
    let mut sorted: Vec<_> = results
        .iter()
        .map(|(result, _)| (time(result), &result.file))
        .collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (time, file) in sorted.into_iter().take(8) {
        println!("{time:>12.0} us  {name}: {file}");
    }
}

/// Prints the steps that took long: the time, the text so far and the token.
pub(crate) fn print_steps(
    case: &Case,
    tokenizer: &Tokenizer,
    result: &FileResult,
    least_ns: u64,
) -> anyhow::Result<()> {
    for (instance, times) in case.instances.iter().zip(result.instance_times()) {
        let tokens = encode_answer(tokenizer, &instance.text)?;
        for (i, (&token, &ns)) in tokens.iter().zip(times).enumerate() {
            if ns >= least_ns {
                let before = tokenizer.decode_bytes(&tokens[i.saturating_sub(12)..i]);
                let next = tokenizer.decode_bytes(&[token]);
                println!(
                    "{:>9.1} us  {} step {i}: ...{} | {}",
                    ns as f64 / 1e3,
                    case.file,
                    String::from_utf8_lossy(&before),
                    String::from_utf8_lossy(&next)
                );
            }
        }
    }
    Ok(())
}
