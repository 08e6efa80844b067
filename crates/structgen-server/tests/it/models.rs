//! Several models: loaded on request, unloaded when memory is short; a broken one does not affect the others.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use structgen_server::ModelSpec;
use tempfile::TempDir;

use crate::support::model::chat_model;
use crate::support::{Running, client, serve_with};

fn ask(server: &Running, model: &str, status: u16) -> Value {
    let body = json!({
        "model": model,
        "messages": [{"role": "user", "content": "Which?"}],
        "guided_choice": ["red", "green"],
    });
    server.post("/v1/chat/completions", &body).expect(status)
}

/// Returns whether no error names a folder of this machine.
fn is_discreet(error: &Value) -> bool {
    !error
        .to_string()
        .contains(std::env::temp_dir().to_str().unwrap())
}

#[test]
fn models_are_loaded_when_they_are_asked_for() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models.push(spec));
    assert_eq!(server.metric("structgen_loaded_models"), 0);
    let reply = ask(&server, "chat", 200);
    assert_eq!(reply["model"], "chat");
    assert_eq!(server.metric("structgen_loaded_models"), 1);
    assert_eq!(ask(&server, "structgen", 200)["model"], "structgen");
    assert_eq!(server.metric("structgen_loaded_models"), 2);
    let names = server.get("/v1/models").expect(200);
    assert_eq!(names["data"][1]["id"], "chat");
}

/// Returns the models with the names `m0`, `m1` and so on.
fn numbered(folders: &[(TempDir, ModelSpec)]) -> Vec<ModelSpec> {
    let numbered = folders.iter().enumerate().map(|(at, (_, spec))| {
        let mut spec = spec.clone();
        spec.name = format!("m{at}");
        spec
    });
    numbered.collect()
}

#[test]
fn the_model_that_was_used_least_recently_makes_room() {
    let folders: Vec<_> = (0..3).map(|_| chat_model()).collect();
    let bytes = fs::metadata(folders[0].0.path().join("model.onnx"))
        .unwrap()
        .len();
    let server = serve_with(|config| {
        config.models = numbered(&folders);
        config.limits.model_bytes = Some(bytes * 2);
    });
    for (name, loaded) in [("m0", 1), ("m1", 2), ("m0", 2), ("m2", 2)] {
        ask(&server, name, 200);
        assert_eq!(server.metric("structgen_loaded_models"), loaded, "{name}");
    }
    // The model m1 was unloaded: m0 still works, though its folder is deleted.
    fs::remove_dir_all(folders[0].0.path()).unwrap();
    fs::remove_dir_all(folders[1].0.path()).unwrap();
    ask(&server, "m0", 200);
    assert_eq!(
        ask(&server, "m1", 503)["error"]["code"],
        "model_unavailable"
    );
}

#[test]
fn a_folder_that_vanishes_disturbs_nobody_who_has_its_model() {
    let (folder, spec) = chat_model();
    let (late, mut other) = chat_model();
    other.name = "late".to_owned();
    let server = serve_with(|config| config.models = vec![spec, other]);
    let long = json!({"model": "chat", "messages": [{"role": "user", "content": "x"}], "stream": true,
        "ignore_eos": true, "max_tokens": 200});
    let mut stream = server.stream("/v1/chat/completions", &long);
    stream.event();
    let kept = late.path().with_extension("kept");
    fs::remove_dir_all(folder.path()).unwrap();
    fs::rename(late.path(), &kept).unwrap();
    assert_eq!(
        stream.chunks().last().unwrap()["choices"][0]["finish_reason"],
        "length"
    );
    ask(&server, "chat", 200);
    let error = ask(&server, "late", 503);
    assert_eq!(error["error"]["code"], "model_unavailable");
    assert!(is_discreet(&error), "{error}");
    // Once the folder is back, it is loaded.
    fs::rename(&kept, late.path()).unwrap();
    ask(&server, "late", 200);
}

#[test]
fn a_broken_folder_is_an_error_of_its_own_until_it_is_mended() {
    let (folder, spec) = chat_model();
    let server = serve_with(|config| config.models.push(spec));
    for (file, content) in [
        ("model.onnx", &b"garbage"[..]),
        ("tokenizer.json", b"{"),
        ("config.json", b"[1]"),
        ("tokenizer_config.json", b"\xFF"),
    ] {
        let path = folder.path().join(file);
        let good = fs::read(&path).unwrap();
        fs::write(&path, content).unwrap();
        let error = ask(&server, "chat", 503);
        assert_eq!(error["error"]["code"], "model_unavailable", "{file}");
        assert!(is_discreet(&error), "{error}");
        ask(&server, "structgen", 200);
        fs::write(&path, good).unwrap();
    }
    ask(&server, "chat", 200);
}

#[test]
fn requests_that_wait_for_a_broken_model_share_one_attempt_to_load_it() {
    let (folder, spec) = chat_model();
    // Read before the model is refused, so that requests come while it is.
    fs::write(folder.path().join("tokenizer_config.json"), b"\xFF").unwrap();
    let server = serve_with(|config| config.models.push(spec));
    let started = std::sync::Barrier::new(40);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                started.wait();
                ask(&server, "chat", 503);
            });
        }
    });
    let attempts = server.metric("structgen_failed_loads_total");
    assert!((1..20).contains(&attempts), "{attempts} attempts");
}

#[test]
fn a_default_model_that_is_broken_makes_the_server_unready() {
    let server = serve_with(|config| config.models = vec![ModelSpec::folder("/nowhere/ghost")]);
    assert_eq!(
        server.get("/ready").expect(503)["error"]["code"],
        "model_unavailable"
    );
    server.get("/health").expect(200);
}

#[test]
fn a_load_goes_on_when_the_client_that_caused_it_leaves() {
    let (_folder, spec) = chat_model();
    let server = serve_with(|config| config.models = vec![spec]);
    let asking = client::send(server.address, "GET", "/ready", &[], None);
    let wait_for = |gauges: &[&str]| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while gauges.iter().all(|gauge| server.metric(gauge) == 0) {
            assert!(Instant::now() < deadline, "nothing of {gauges:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(&["structgen_loading_models", "structgen_loaded_models"]);
    drop(asking);
    wait_for(&["structgen_loaded_models"]);
}

#[test]
fn whoever_asks_whether_a_broken_model_is_ready_causes_one_attempt_to_load_it() {
    let server = serve_with(|config| config.models = vec![ModelSpec::folder("/nowhere/ghost")]);
    for _ in 0..5 {
        server.get("/ready").expect(503);
    }
    assert_eq!(server.metric("structgen_failed_loads_total"), 1);
    // Requests try again at once.
    ask(&server, "ghost", 503);
    assert_eq!(server.metric("structgen_failed_loads_total"), 2);
}

#[test]
fn a_model_that_made_room_for_another_counts_as_ready() {
    let folders: Vec<_> = (0..2).map(|_| chat_model()).collect();
    let server = serve_with(|config| {
        config.models = numbered(&folders);
        config.limits.model_bytes = Some(1);
    });
    ask(&server, "m0", 200);
    ask(&server, "m1", 200);
    fs::remove_dir_all(folders[0].0.path()).unwrap();
    server.get("/ready").expect(200);
    assert_eq!(server.metric("structgen_loaded_models"), 1);
}
