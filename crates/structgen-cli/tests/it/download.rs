//! `structgen model add hf:ORG/NAME`, with a local server in place of the hub.

#[path = "../../../structgen-hub/tests/support/mod.rs"]
mod hub;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, run, structgen};
use hub::{Behaviour, Server};

/// A server that offers the model of a fixture, in one or two variants, and the embedded model's tokenizer.
fn server(graphs: &[&'static str], behaviour: Behaviour) -> Server {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../structgen-ort/tests/fixtures/optimum");
    let read = |name: &str| fs::read(fixture.join(name)).unwrap();
    let mut files = vec![
        ("README.md", b"# A model".to_vec()),
        ("config.json", read("config.json")),
        ("tokenizer.json", b"{}".to_vec()),
    ];
    files.extend(graphs.iter().map(|&name| (name, read("model.onnx"))));
    Server::start(&files, behaviour)
}

struct Home {
    dir: tempfile::TempDir,
    endpoint: String,
}

impl Home {
    fn new(endpoint: &str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            endpoint: endpoint.to_owned(),
        }
    }

    fn model(&self, args: &[&str]) -> Run {
        let mut command = structgen(["model"]);
        command.args(args).env("STRUCTGEN_HOME", self.dir.path());
        command.env("HF_ENDPOINT", &self.endpoint);
        for name in ["HF_TOKEN", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy"] {
            command.env_remove(name);
        }
        run(&mut command)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join("models/org").join(name)
    }
}

#[test]
fn a_repository_becomes_a_registered_folder() {
    let server = server(&["onnx/model.onnx"], Behaviour::default());
    let home = Home::new(&server.url);
    let added = home.model(&["add", "hf:org/name", "--capability", "chat"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.out.starts_with("added name "), "{added:?}");
    assert!(added.err.contains("licence apache-2.0"), "{added:?}");
    assert!(home.folder("name/onnx/model.onnx").is_file());
    assert!(!home.folder("name/README.md").exists());

    // The second time everything is cached, and only the file list is requested.
    let requests = server.requests().len();
    let again = home.model(&["add", "hf:org/name", "--json", "--quiet"]);
    let object: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((again.code, again.err.as_str()), (0, ""), "{again:?}");
    assert_eq!(object["source"]["license"], "apache-2.0");
    assert_eq!(object["source"]["variant"], "plain");
    assert_eq!(server.requests().len(), requests + 1);
    // A name that is in use is refused before anything is downloaded.
    home.model(&[
        "add",
        "hf:org/name",
        "--to",
        home.folder("other").to_str().unwrap(),
    ])
    .is_bad_input(&["there is a model name already", "--name"]);
    assert!(!home.folder("other").exists());
}

#[test]
fn of_several_variants_one_is_chosen_by_name() {
    let graphs = ["onnx/model_fp16.onnx", "onnx/model_q4.onnx"];
    let server = server(&graphs, Behaviour::default());
    let home = Home::new(&server.url);
    home.model(&["add", "hf:org/name"])
        .is_bad_input(&["choose one with --variant: fp16 (", "q4 ("]);
    home.model(&["add", "hf:org/name", "--variant", "int8"])
        .is_bad_input(&["no variant \"int8\"", "fp16 (", "q4 ("]);
    let added = home.model(&["add", "hf:org/name", "--variant", "q4"]);
    assert!(added.out.starts_with("added name:q4 "), "{added:?}");
    assert!(home.folder("name@q4/onnx/model_q4.onnx").is_file());
    assert!(!home.folder("name@q4/onnx/model_fp16.onnx").exists());
}

#[test]
fn what_cannot_be_downloaded_is_named_and_nothing_is_added() {
    let damaging = server(
        &["model.onnx"],
        Behaviour {
            damages: true,
            ..Behaviour::default()
        },
    );
    let home = Home::new(&damaging.url);
    home.model(&["add", "hf:org/name", "--quiet"])
        .is_bad_input(&["is damaged", "was not added"]);
    let listed: Value = serde_json::from_str(&home.model(&["list", "--json"]).out).unwrap();
    assert_eq!(listed["models"], Value::Array(Vec::new()));

    let none = server(&[], Behaviour::default());
    let home = Home::new(&none.url);
    home.model(&["add", "hf:org/name"])
        .is_bad_input(&["org/name has no ONNX model", "model convert-help org/name"]);
    home.model(&["add", "hf:org/other"])
        .is_bad_input(&["has no repository org/other"]);
    home.model(&["add", "hf:name"])
        .is_bad_input(&["no name of a repository"]);
    home.model(&["add", "some/folder", "--variant", "q4"])
        .is_bad_input(&["are for repositories"]);
}

#[test]
fn a_name_that_is_not_valid_is_refused_before_anything_is_requested() {
    let server = server(&["model.onnx"], Behaviour::default());
    let home = Home::new(&server.url);
    home.model(&["add", "hf:org/name", "--name", "my model"])
        .is_bad_input(&["\"my model\" is no name of a model"]);
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn a_licence_does_not_control_the_terminal() {
    let server = server(
        &["model.onnx"],
        Behaviour {
            license: Some("\\u001b[2Jmit"),
            ..Behaviour::default()
        },
    );
    let home = Home::new(&server.url);
    let added = home.model(&["add", "hf:org/name"]);
    assert!(added.err.contains("licence \u{fffd}[2Jmit"), "{added:?}");
    let again = home.model(&["add", "hf:org/name", "--json"]);
    assert!(again.out.contains(r"\u001b[2Jmit"), "{again:?}");
}

#[test]
fn without_a_network_the_refusal_says_what_works() {
    let home = Home::new("http://127.0.0.1:1");
    home.model(&["add", "hf:org/name"]).is_bad_input(&[
        "cannot be reached",
        "a model folder that is on this machine",
    ]);
    let mut offline = structgen(["model", "add", "hf:org/name"]);
    let offline = run(offline.env("HF_HUB_OFFLINE", "1"));
    offline.is_bad_input(&[
        "HF_HUB_OFFLINE is set",
        "a model folder that is on this machine",
    ]);
}

#[test]
fn a_variant_in_a_folder_of_an_earlier_version_stays_there_and_is_not_overwritten() {
    let graphs = ["model.onnx", "model_q4.onnx"];
    let server = server(&graphs, Behaviour::default());
    let home = Home::new(&server.url);
    let earlier = home.folder("name-q4");
    let variant = ["add", "hf:org/name", "--variant", "q4"];
    let to = [&variant[..], &["--to", earlier.to_str().unwrap()]].concat();
    assert_eq!(home.model(&to).code, 0);
    let again = home.model(&variant);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(!home.folder("name@q4").exists());
    let requests = server.requests().len();
    let plain = ["add", "hf:org/name", "--variant", "plain"];
    home.model(&[&plain[..], &["--to", earlier.to_str().unwrap()]].concat())
        .is_bad_input(&["is the folder of the model name:q4", "--to"]);
    // Only the file list was requested.
    assert_eq!(server.requests().len(), requests + 1);
}

#[test]
fn a_registered_model_gets_more_capabilities() {
    let server = server(&["model.onnx"], Behaviour::default());
    let home = Home::new(&server.url);
    let add = |capability: &str| {
        let added = home.model(&["add", "hf:org/name", "--json", "--capability", capability]);
        let object: Value = serde_json::from_str(&added.out).unwrap();
        object["capabilities"].clone()
    };
    assert_eq!(add("chat"), serde_json::json!(["chat"]));
    assert_eq!(add("code"), serde_json::json!(["chat", "code"]));
    let best = home.model(&["best", "--capability", "code"]);
    assert_eq!(best.out, "name\n");
}
