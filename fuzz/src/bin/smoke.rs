//! Runs every fuzz target for some seconds on random and mutated inputs, on a stable compiler: `smoke --seconds 20 [--seed N]`.
//!
//! An input that makes a target panic is written to `fuzz/artifacts/`, for `smoke TARGET FILE` to run again.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use structgen_fuzz::{
    SplitMix, bytes_of_schema, gbnf, grammar_bytes, json_schema, mask_vs_oracle, regex,
    tokenizer_json,
};

/// A target: its name, its body, what to mutate, and words to put in.
struct Target {
    name: &'static str,
    body: fn(&[u8]) -> bool,
    seeds: Vec<Vec<u8>>,
    words: &'static [&'static str],
}

const SCHEMA_WORDS: &[&str] = &[
    "\"type\":",
    "\"object\"",
    "\"array\"",
    "\"string\"",
    "\"integer\"",
    "\"number\"",
    "\"null\"",
    "\"properties\":{",
    "\"required\":[",
    "\"items\":",
    "\"prefixItems\":[",
    "\"enum\":[",
    "\"const\":",
    "\"anyOf\":[",
    "\"oneOf\":[",
    "\"allOf\":[",
    "\"not\":",
    "\"$ref\":\"#\"",
    "\"$defs\":{",
    "\"pattern\":\"^a+$\"",
    "\"minLength\":2",
    "\"maxLength\":3",
    "\"minimum\":-1.5",
    "\"maximum\":7",
    "\"multipleOf\":0.5",
    "\"minItems\":1",
    "\"maxItems\":2",
    "\"additionalProperties\":",
    "\"if\":",
    "\"then\":",
    "\"else\":",
    "\"format\":\"date\"",
    "true",
    "false",
    "null",
    "{}",
    "[]",
    ",",
    "}",
    "]",
    "1e3",
    "\"\"",
    "\"a\":",
];
const TOKENIZER_WORDS: &[&str] = &[
    "\"type\":\"BPE\"",
    "\"vocab\":{",
    "\"merges\":[",
    "\"added_tokens\":[",
    "\"byte_fallback\":true",
    "\"ByteLevel\"",
    "\"Metaspace\"",
    "\"decoder\":",
    "\"pre_tokenizer\":",
    "\"normalizer\":",
    "null",
    "\"<0x41>\":9",
    "\"special\":true",
    "4294967296",
    "-1",
    "\"\"",
    "{",
    "}",
    "[",
    "]",
    ",",
];
const GBNF_WORDS: &[&str] = &[
    "root ::= ",
    "root",
    "x ::= ",
    "x",
    "\"a\"",
    "[a-z]",
    "[^\"\\n]",
    "*",
    "+",
    "?",
    "{2,3}",
    "{0,}",
    "{,4}",
    "|",
    "(",
    ")",
    "\n",
    "# c\n",
    ".",
    "\\x41",
    "\\u65e5",
    "<[3]>",
    "<eos>",
    " ",
    "\"\"",
    "@n(",
    "%tokens{0,5}(",
    "%chars{1,4}(",
    "%temperature{0.5}(",
    "%json {\"type\": \"integer\"}",
    "%until \"a\"",
    "/a+/",
    "&",
    "~",
];

const REGEX_WORDS: &[&str] = &[
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?P<n>",
    "(?i)",
    "(?x)",
    "(?s-m:",
    ")",
    "|",
    "*",
    "+?",
    "{2,3}",
    "{,4}",
    "{65536}",
    "[a-z]",
    "[^\\d]",
    "[a&&b]",
    "[[:alpha:]]",
    "\\b",
    "\\B",
    "\\pL",
    "\\1",
    "^",
    "$",
    ".",
    "&",
    "~(",
    "\\x41",
    "é",
    "#",
    " ",
    "\n",
    "\u{80}",
    "\u{8c}",
];

/// What every dialect reads.
const PATTERNS: [&str; 10] = [
    "[a-z]+(-[0-9]{2,4})?",
    "(a|b|ab)*abb",
    "^(?:(?!foo)[a-z]{3})+$",
    "\\bfoo\\b.*(?<=b)",
    "(?=.*[0-9])[a-z0-9]{3,8}",
    "(\\d{3}|[^a-c\\s])*?x??",
    "a{1000}|b{2,}",
    "(?i:straße|\\w)\\W",
    "(^|,)a(,|$)",
    "",
];

fn targets() -> Vec<Target> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../grammars");
    let grammars = ["json", "arithmetic", "csv", "dates", "sql-select", "emails"]
        .map(|name| std::fs::read(folder.join(format!("{name}.gbnf"))).unwrap_or_default());
    let small = [
        "root ::= root \"a\" | \"b\"",
        "root ::= %tokens{0,9}(\"(\" root? \")\") | @a(%temperature{0.5}([a-c]+) \"x\")",
        "root ::= %tokens{0,3}([a-z]*) \"1\" %tokens{0,20}(%json {\"type\": \"array\"})",
        "root ::= %chars{2,9}(w & ~(\"ab\" w?)) %until \"b\"\nw ::= [a-c]+",
    ]
    .map(|text| text.as_bytes().to_vec());
    let schemas = SCHEMAS.iter().flat_map(|text| {
        // In each profile.
        (0..3_u8).map(|how| [&[how + 12], text.as_bytes()].concat())
    });
    let patterns = PATTERNS.iter().flat_map(|pattern| {
        // In each dialect, as a whole and anywhere.
        (0..6_u8).map(|how| [&[how % 3 + 4 * (how / 3)], pattern.as_bytes()].concat())
    });
    vec![
        Target {
            name: "json_schema",
            body: json_schema,
            seeds: schemas.collect(),
            words: SCHEMA_WORDS,
        },
        Target {
            name: "mask_vs_oracle",
            body: mask_vs_oracle,
            seeds: vec![b"seed".to_vec()],
            words: &["a", "b", "c", "d"],
        },
        Target {
            name: "gbnf",
            body: gbnf,
            seeds: grammars.into_iter().chain(small).collect(),
            words: GBNF_WORDS,
        },
        Target {
            name: "regex",
            body: regex,
            seeds: patterns.collect(),
            words: REGEX_WORDS,
        },
        Target {
            name: "grammar_bytes",
            body: grammar_bytes,
            seeds: SCHEMAS.map(bytes_of_schema).to_vec(),
            words: &["\0", "\u{1}", "\u{2}", "\u{5}", "\u{b}", "\u{c}", "\u{7f}"],
        },
        Target {
            name: "tokenizer_json",
            body: tokenizer_json,
            seeds: TOKENIZERS.map(|text| text.as_bytes().to_vec()).to_vec(),
            words: TOKENIZER_WORDS,
        },
    ]
}

const SCHEMAS: [&str; 12] = [
    "true",
    r#"{"type":"object","properties":{"a":{"type":"string","minLength":1},"b":{"type":"integer","minimum":-5,"maximum":99}},"required":["a"],"additionalProperties":false}"#,
    r#"{"type":"object","properties":{"a\"b":{"enum":["x",1,null]}},"additionalProperties":{"type":"boolean"}}"#,
    r#"{"type":"array","prefixItems":[{"type":"number","multipleOf":0.25}],"items":{"type":"null"},"minItems":1,"maxItems":3}"#,
    r##"{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"n":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["v","n"]}}}"##,
    r#"{"type":"string","pattern":"^[a-zü]{2,5}(-[0-9]+)?$","maxLength":9}"#,
    r#"{"oneOf":[{"type":"string"},{"type":"integer","minimum":3}],"not":{"const":5}}"#,
    r#"{"allOf":[{"properties":{"a":{"minimum":5}}},{"properties":{"a":{"maximum":8}},"required":["a"]}],"type":"object"}"#,
    r#"{"type":"integer","if":{"minimum":0},"then":{"maximum":9},"else":{"minimum":-9}}"#,
    r#"{"type":"array","items":[{"type":"string"}],"additionalItems":false}"#,
    r#"{"enum":["größe","日本","a\nb",1.50,{"k":[true]}]}"#,
    r#"{"type":["string","null"],"format":"date"}"#,
];

const TOKENIZERS: [&str; 2] = [
    r#"{"version":"1.0","added_tokens":[{"id":4,"content":"<eos>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b"]}}"#,
    r#"{"version":"1.0","added_tokens":[{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"vocab":{"<unk>":0,"<0x41>":1,"▁":2,"a":3,"▁a":4},"merges":["▁ a"]}}"#,
];

/// An input: mostly a seed with some bytes, words and pieces changed, sometimes only words, sometimes noise.
fn input(target: &Target, random: &mut SplitMix) -> Vec<u8> {
    let word = |random: &mut SplitMix| {
        target.words[random.below(target.words.len())]
            .as_bytes()
            .to_vec()
    };
    let mut data: Vec<u8> = match random.below(16) {
        0 => (0..random.below(200))
            .map(|_| random.next_u64() as u8)
            .collect(),
        1 | 2 => (0..random.below(40)).flat_map(|_| word(random)).collect(),
        // Choices of a structured target; their mark, as far as a target has one, is the first byte.
        3 => [0xFF, 0x80 + random.below(16) as u8]
            .into_iter()
            .skip(random.below(2))
            .chain((0..random.below(300)).map(|_| random.next_u64() as u8))
            .collect(),
        _ => target.seeds[random.below(target.seeds.len())].clone(),
    };
    for _ in 0..random.below(6) {
        let at = random.below(data.len() + 1);
        let end = (at + random.below(12)).min(data.len());
        let piece = match random.below(6) {
            0 => vec![random.next_u64() as u8],
            1 => Vec::new(),
            2 | 3 => word(random),
            4 => {
                let other = &target.seeds[random.below(target.seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(80)).min(other.len());
                other[from..to].to_vec()
            }
            // The same many times: nesting, and long runs.
            _ => data[at..end].repeat(random.below(40)),
        };
        let end = if random.below(2) == 0 { at } else { end };
        data.splice(at..end, piece);
    }
    data
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--seconds", seconds] => smoke(seconds, "1"),
        ["--seconds", seconds, "--seed", seed] => smoke(seconds, seed),
        [name, file] => again(name, Path::new(file)),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: smoke --seconds N [--seed N], or: smoke TARGET FILE");
    ExitCode::from(2)
}

/// Runs one input.
fn again(name: &str, file: &Path) -> ExitCode {
    let targets = targets();
    let target = targets.iter().find(|target| target.name == name);
    let (Some(target), Ok(data)) = (target, std::fs::read(file)) else {
        return usage();
    };
    let started = Instant::now();
    let is_taken = (target.body)(&data);
    println!("{name}: taken: {is_taken}, {:?}", started.elapsed());
    ExitCode::SUCCESS
}

fn smoke(seconds: &str, seed: &str) -> ExitCode {
    let (Ok(seconds), Ok(seed)) = (seconds.parse::<f64>(), seed.parse::<u64>()) else {
        return usage();
    };
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        return usage();
    };
    let targets = targets();
    let mut is_clean = true;
    for target in &targets {
        is_clean &= run(target, time / targets.len() as u32, seed);
    }
    if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs one target until its time is over or it panics; false when it did, when a seed is refused, or when an input took too long.
fn run(target: &Target, time: Duration, seed: u64) -> bool {
    let mut random = SplitMix::new(seed);
    let (started, mut runs, mut taken) = (Instant::now(), 0, 0);
    let mut slowest = (Duration::ZERO, Vec::new());
    while started.elapsed() < time {
        // The seeds themselves come first.
        let data = match target.seeds.get(runs) {
            Some(seed) => seed.clone(),
            None => input(target, &mut random),
        };
        let before = Instant::now();
        let result = catch_unwind(|| (target.body)(&data));
        let took = before.elapsed();
        runs += 1;
        let Ok(is_taken) = result else {
            let kept = keep(target.name, &data);
            eprintln!("{}: panicked in run {runs}, on {kept}", target.name);
            return false;
        };
        taken += usize::from(is_taken);
        if runs <= target.seeds.len() && !is_taken {
            let kept = keep(target.name, &data);
            eprintln!("{}: a seed is refused: {kept}", target.name);
            return false;
        }
        if took > slowest.0 {
            slowest = (took, data);
        }
    }
    println!(
        "{}: {runs} runs, {taken} of them taken, the slowest {:?}",
        target.name, slowest.0
    );
    // What takes this long is as good as a hang to whoever waits for it.
    let is_fast = slowest.0 < Duration::from_secs(10);
    if !is_fast {
        let kept = keep(target.name, &slowest.1);
        eprintln!("{}: too slow, on {kept}", target.name);
    }
    is_fast
}

/// Writes an input where it can be found again.
fn keep(name: &str, data: &[u8]) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("artifacts")
        .join(name);
    let sum = data.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    let path = folder.join(format!("smoke-{sum:016x}"));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, data)) {
        Ok(()) => path.display().to_string(),
        Err(_) => format!("{:?}", String::from_utf8_lossy(data)),
    }
}
