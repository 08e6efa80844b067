//! `structgen model`, and registered names in place of folders.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, model_folder, run, runtime, structgen};

fn model(home: &Path, args: &[&str]) -> Run {
    run(structgen(["model"]).args(args).env("STRUCTGEN_HOME", home))
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../structgen-ort/tests/fixtures")
        .join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn models_are_added_asked_for_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let (plain, small) = (fixture("optimum"), fixture("shared_float16"));
    let ask = |args: &[&str]| model(home.path(), args);
    let added = ask(&[
        "add",
        text(&plain),
        "--name",
        "plain:1",
        "--capability",
        "chat",
    ]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.out.contains("float32"), "{added:?}");
    let added = ask(&[
        "add",
        text(&small),
        "--capability",
        "chat",
        "--capability",
        "code",
    ]);
    assert!(added.out.starts_with("added shared_float16"), "{added:?}");
    ask(&["add", text(&small)]).is_bad_input(&["there is a model shared_float16 already"]);
    ask(&["add", text(home.path())]).is_bad_input(&["cannot be used"]);

    let listed: Value = serde_json::from_str(&ask(&["list", "--json"]).out).unwrap();
    let models = listed["models"].as_array().unwrap();
    let sum: u64 = models
        .iter()
        .map(|model| model["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!((models.len(), listed["bytes"].as_u64()), (2, Some(sum)));
    let smallest = models
        .iter()
        .min_by_key(|model| model["bytes"].as_u64())
        .unwrap();
    let best = ask(&["best", "--capability", "chat", "--times", "3"]);
    assert_eq!(best.out.trim_end(), smallest["name"].as_str().unwrap());
    ask(&["best", "--capability", "code"]);
    ask(&["best", "--capability", "music"]).is_bad_input(&["there are: chat, code"]);
    let usage = ask(&["usage"]);
    assert!(usage.out.contains('%'), "{usage:?}");

    let removed = ask(&["remove", "plain:1"]);
    assert!(removed.out.contains("stay in"), "{removed:?}");
    assert!(plain.is_dir());
    ask(&["remove", "plain:1"]).is_bad_input(&["there is no model plain:1", "shared_float16"]);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn only_downloads_that_no_other_name_uses_are_deleted() {
    let home = tempfile::tempdir().unwrap();
    let (own, downloaded) = (
        home.path().join("own"),
        home.path().join("models/org/plain"),
    );
    for folder in [&own, &downloaded] {
        copy(&fixture("optimum"), folder);
    }
    crate::support::write(&own, "sub/thesis.txt", "years");
    let ask = |args: &[&str]| model(home.path(), args);
    for (folder, name) in [
        (&own, "own"),
        (&downloaded, "first"),
        (&downloaded, "second"),
    ] {
        let added = ask(&["add", text(folder), "--name", name]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    ask(&["remove", "own", "--files"]).is_bad_input(&["own is not deleted", "not downloaded"]);
    assert!(own.join("sub/thesis.txt").is_file());
    ask(&["remove", "first", "--files"]).is_bad_input(&["the model second uses it too"]);
    assert!(downloaded.is_dir());
    // Both stay in the list.
    assert_eq!(ask(&["remove", "own"]).code, 0);
    assert_eq!(ask(&["remove", "first"]).code, 0);
    let removed = ask(&["remove", "second", "--files"]);
    assert!(removed.out.contains("freed"), "{removed:?}");
    assert!(!downloaded.exists() && own.is_dir());
}

#[test]
fn a_damaged_list_is_named_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("models.json");
    std::fs::write(&file, "{\"version\": 1, \"models\": [").unwrap();
    model(home.path(), &["list"]).is_bad_input(&["models.json is damaged"]);
    let folder = fixture("optimum");
    model(home.path(), &["add", text(&folder)]).is_bad_input(&["models.json is damaged"]);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .ends_with("[ ".trim_end())
    );
}

#[test]
fn sizes_beyond_all_sums_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let entry = |name: &str| {
        format!(
            r#"{{"name": "{name}", "folder": "/x", "bytes": {}, "quantization": "int4"}}"#,
            u64::MAX
        )
    };
    let list = format!(
        r#"{{"version": 1, "models": [{}, {}]}}"#,
        entry("a"),
        entry("b")
    );
    std::fs::write(home.path().join("models.json"), list).unwrap();
    let listed = model(home.path(), &["list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.out.contains("2 models"), "{listed:?}");
}

#[test]
fn a_name_works_wherever_a_folder_does() {
    runtime();
    let home = tempfile::tempdir().unwrap();
    let folder = model_folder();
    model(home.path(), &["add", text(&folder), "--name", "small"]);
    let with =
        |args: &[&str]| run(structgen(args.iter().copied()).env("STRUCTGEN_HOME", home.path()));
    let generated = with(&["generate", "--model", "small", "--regex", "[a-c]{2}", "x"]);
    assert_eq!(generated.code, 0, "{generated:?}");
    let mask = with(&["mask", "--model", "small", "--regex", "[ab]"]);
    assert!(mask.out.contains("2 of 4096"), "{mask:?}");
    let doctor = with(&["doctor", "--model", "small", "--json"]);
    let found: Value = serde_json::from_str(&doctor.out).unwrap();
    assert_eq!(found["ok"], true, "{found}");
    let usage: Value = serde_json::from_str(&model(home.path(), &["usage", "--json"]).out).unwrap();
    assert_eq!(usage[0]["uses"], 3, "{usage}");
    assert_eq!(with(&["generate", "--model", "large", "x"]).code, 2);
}

#[test]
fn memory_is_estimated_from_parameters() {
    let home = tempfile::tempdir().unwrap();
    for (billions, context, total, room, code) in [
        ("7", "4096", "6.00 GB", "headroom        18.00 GB", 0),
        ("13", "2048", "8.83 GB", "headroom        15.17 GB", 0),
        ("70", "4096", "49.24 GB", "short of        25.24 GB", 1),
    ] {
        let args = [
            "memory",
            "--billions",
            billions,
            "--context",
            context,
            "--available",
            "24",
        ];
        let shown = model(home.path(), &args);
        assert_eq!(shown.code, code, "{shown:?}");
        assert!(
            shown.out.contains(total) && shown.out.contains(room),
            "{shown:?}"
        );
    }
}

#[test]
fn memory_of_a_folder_is_that_of_its_tensors() {
    runtime();
    let home = tempfile::tempdir().unwrap();
    for (name, value_bytes, is_grouped) in [
        ("optimum", 4, false),
        ("shared_float16", 2, false),
        ("grouped_query", 4, true),
    ] {
        let folder = fixture(name);
        let args = [
            "memory",
            text(&folder),
            "--context",
            "100",
            "--batch",
            "3",
            "--json",
        ];
        let shown = model(home.path(), &args);
        let found: Value = serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"));
        let per_token = found["cache_bytes_per_token"].as_u64().unwrap();
        assert!(
            per_token > 0 && per_token.is_multiple_of(value_bytes),
            "{name}: {found}"
        );
        let cache = per_token * 300;
        assert_eq!(found["cache_bytes"], cache, "{name}");
        let copies = if name.starts_with("shared") { 1 } else { 2 };
        assert_eq!(found["cache_copies"], copies, "{name}");
        let types = found["weights"].as_array().unwrap();
        let sum: u64 = types
            .iter()
            .map(|weights| weights["bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(found["weight_bytes"], sum, "{name}");
        let held = found["held_bytes"].as_u64().unwrap();
        let process = found["process_bytes"].as_u64().unwrap_or_default();
        let on_processor = found["weight_bytes_on_processor"].as_u64().unwrap();
        let is_widened = name.ends_with("float16") && cfg!(target_arch = "x86_64");
        assert_eq!(on_processor > sum, is_widened, "{name}");
        assert_eq!(held, on_processor.max(process), "{name}");
        let workspace = found["workspace_bytes"].as_u64().unwrap();
        assert_eq!(workspace > 0, is_grouped, "{name}");
        assert_eq!(found["bytes"], held + copies * cache + workspace, "{name}");
        if is_grouped {
            let all: Value = serde_json::from_str(
                &model(
                    home.path(),
                    &["memory", text(&fixture("optimum")), "--json"],
                )
                .out,
            )
            .unwrap();
            assert!(
                per_token < all["cache_bytes_per_token"].as_u64().unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_quantisation_report_has_more_decibels_for_more_bits() {
    let home = tempfile::tempdir().unwrap();
    let folder = fixture("external_data");
    let shown = model(home.path(), &["quantize-report", text(&folder), "--json"]);
    let found: Value = serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"));
    let bits = found["bits"].as_array().unwrap();
    assert_eq!(bits.len(), 6);
    for way in ["per_tensor", "per_row", "importance_aware"] {
        let ratios = bits
            .iter()
            .map(|bits| bits[way]["snr_db"].as_f64().unwrap());
        assert!(ratios.is_sorted(), "{way}: {found}");
    }
    let quantised = fixture("dynamic_int8");
    let refused = model(home.path(), &["quantize-report", text(&quantised)]);
    assert!(
        refused.code == 0 || refused.err.contains("no float weights"),
        "{refused:?}"
    );
}

#[test]
fn conversion_names_the_exporters_and_what_was_checked() {
    let home = tempfile::tempdir().unwrap();
    let known = model(home.path(), &["convert-help", "Qwen/Qwen3-0.6B"]);
    assert!(
        known
            .out
            .contains("optimum-cli export onnx --model Qwen/Qwen3-0.6B"),
        "{known:?}"
    );
    assert!(
        known.out.contains("onnxruntime_genai.models.builder"),
        "{known:?}"
    );
    let unknown = model(home.path(), &["convert-help", "state-spaces/mamba-130m"]);
    assert!(unknown.out.contains("is not known here"), "{unknown:?}");
}

#[test]
fn a_model_agrees_with_itself() {
    runtime();
    let home = tempfile::tempdir().unwrap();
    let main = model_folder();
    let compared = model(
        home.path(),
        &[
            "compare",
            text(&main),
            text(&main),
            "--rounds",
            "1",
            "--tokens",
            "4",
            "--json",
        ],
    );
    let found: Value =
        serde_json::from_str(&compared.out).unwrap_or_else(|_| panic!("{compared:?}"));
    let agreement = &found["agreement"];
    assert_eq!(agreement["same_greedy_token"], 1.0, "{found}");
    assert!(agreement["mean_kl"].as_f64().unwrap() < 1e-9, "{found}");
    assert!(agreement["positions"].as_u64().unwrap() > 200, "{found}");
    for side in ["a", "b"] {
        assert!(
            found[side]["tokens_per_second"].as_f64().unwrap() > 0.0,
            "{found}"
        );
        assert!(
            found[side]["load_seconds"].as_f64().unwrap() > 0.0,
            "{found}"
        );
    }
    let shown = model(
        home.path(),
        &["compare", text(&main), text(&main), "--rounds", "1"],
    );
    for line in ["size", "quantisation", "tokens/s", "100.0% of"] {
        assert!(shown.out.contains(line), "{shown:?}");
    }
    let missing = model(home.path(), &["compare", text(&main), "nowhere"]);
    missing.is_bad_input(&["nowhere cannot be used"]);
}

#[test]
fn a_quantisation_report_says_how_far_a_model_agrees_with_another() {
    runtime();
    let home = tempfile::tempdir().unwrap();
    let main = model_folder();
    let texts = home.path().join("texts");
    std::fs::write(&texts, "The parcel was sent on Monday.\n\nWho signed?\n").unwrap();
    let args = [
        "quantize-report",
        text(&main),
        "--against",
        text(&main),
        "--texts",
        text(&texts),
    ];
    let shown = model(home.path(), &args);
    assert!(shown.out.contains("100.0% of"), "{shown:?}");
    let without = model(
        home.path(),
        &["quantize-report", text(&main), "--texts", text(&texts)],
    );
    assert_eq!(without.code, 2, "{without:?}");
}

/// A folder with the draft of the embedded model, and the model itself as its variant `other`.
fn folder_with_variant(dir: &Path) -> PathBuf {
    let main = model_folder();
    let folder = dir.join("variants");
    std::fs::create_dir(&folder).unwrap();
    let draft = main.with_file_name("draft");
    for entry in std::fs::read_dir(draft).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    std::fs::copy(main.join("model.onnx"), folder.join("model_other.onnx")).unwrap();
    folder
}

#[test]
fn the_agreement_is_that_of_the_variant_and_counts_one_use() {
    runtime();
    let home = tempfile::tempdir().unwrap();
    let folder = folder_with_variant(home.path());
    let texts = home.path().join("texts");
    std::fs::write(&texts, "The parcel was sent on Monday.\n").unwrap();
    let added = model(home.path(), &["add", text(&folder), "--name", "both"]);
    assert_eq!(added.code, 0, "{added:?}");
    let agreement = |variant: &[&str]| {
        let args = [
            "quantize-report",
            "both",
            "--json",
            "--bits",
            "4",
            "--against",
        ];
        let texts = [text(&folder), "--texts", text(&texts)];
        let shown = model(home.path(), &[&args[..], &texts, variant].concat());
        let found: Value = serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"));
        found["agreement"]["mean_kl"].as_f64().unwrap()
    };
    assert!(agreement(&[]) < 1e-9);
    assert!(agreement(&["--variant", "other"]) > 0.01);
    let usage: Value = serde_json::from_str(&model(home.path(), &["usage", "--json"]).out).unwrap();
    assert_eq!(usage[0]["uses"], 2, "{usage}");
}

#[test]
fn options_for_model_folders_are_refused_for_a_file() {
    let home = tempfile::tempdir().unwrap();
    let file = fixture("external_data").join("model.onnx");
    for option in ["--variant", "--against"] {
        let args = ["quantize-report", text(&file), option, "x"];
        model(home.path(), &args).is_bad_input(&[option, "is a file"]);
    }
}

#[test]
fn tensors_with_infinite_numbers_are_left_out_of_a_quantisation_report() {
    let home = tempfile::tempdir().unwrap();
    let folder = fixture("external_data");
    std::fs::copy(folder.join("model.onnx"), home.path().join("model.onnx")).unwrap();
    let mut weights = std::fs::read(folder.join("model.onnx_data")).unwrap();
    let report = || {
        let file = home.path().join("model.onnx");
        let shown = model(home.path(), &["quantize-report", text(&file), "--json"]);
        serde_json::from_str::<Value>(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"))
    };
    std::fs::write(home.path().join("model.onnx_data"), &weights).unwrap();
    let all = report();
    assert_eq!(all["left_out"], Value::Null);
    weights[..4].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
    std::fs::write(home.path().join("model.onnx_data"), &weights).unwrap();
    let rest = report();
    assert_eq!(rest["left_out"].as_array().unwrap().len(), 1, "{rest}");
    assert!(rest["weights"].as_u64().unwrap() < all["weights"].as_u64().unwrap());
}
