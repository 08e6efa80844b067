//! The registry with several processes and damaged files.

use std::fs;

use structgen_registry::{RegisteredModel, Registry, RegistryError};

fn model(name: &str, gigabytes: f64, capabilities: &[&str]) -> RegisteredModel {
    let bytes = (gigabytes * 1e9).round() as u64;
    RegisteredModel::new(name, format!("/models/{name}"), bytes)
        .with_capabilities(capabilities.iter().copied())
}

fn five(registry: &Registry) {
    for model in [
        model("llama3.1:8b", 4.5, &["chat", "reasoning", "summarization"]),
        model("phi3:3.8b", 2.2, &["chat", "classification"]),
        model("codellama:7b", 3.8, &["code", "chat"]),
        model("nomic-embed", 0.3, &["embedding"]),
        model(
            "mistral:7b",
            4.1,
            &["chat", "reasoning", "summarization", "classification"],
        ),
    ] {
        registry.add(model).unwrap();
    }
}

#[test]
fn questions_go_to_the_smallest_model_in_any_order() {
    let questions = [
        ("chat", 15),
        ("code", 10),
        ("classification", 10),
        ("embedding", 8),
        ("summarization", 4),
        ("reasoning", 3),
    ];
    for first in 0..questions.len() {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry::in_folder(dir.path());
        five(&registry);
        let total: u64 = registry
            .list()
            .unwrap()
            .iter()
            .map(|model| model.bytes)
            .sum();
        assert_eq!(total, 14_900_000_000);
        for turn in 0..questions.len() {
            let (capability, times) = questions[(first + turn) % questions.len()];
            // Counted at once or one by one.
            match turn % 2 {
                0 => drop(registry.best(capability, times).unwrap()),
                _ => (0..times).for_each(|_| drop(registry.best(capability, 1).unwrap())),
            }
        }
        let usage: Vec<(String, u64, u64)> = { registry.usage().unwrap().into_iter() }
            .map(|usage| (usage.name, usage.uses, (usage.share * 100.0).round() as u64))
            .collect();
        let expected = [
            ("phi3:3.8b", 25, 50),
            ("codellama:7b", 10, 20),
            ("nomic-embed", 8, 16),
            ("mistral:7b", 7, 14),
        ];
        let expected = expected.map(|(name, uses, share)| (name.to_owned(), uses, share));
        assert_eq!(usage, expected);
    }
}

#[test]
fn names_are_unique_and_no_paths() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path().join("not/there/yet"));
    assert_eq!(registry.list().unwrap(), []);
    registry.add(model("a", 1.0, &[])).unwrap();
    assert!(matches!(
        registry.add(model("a", 2.0, &[])),
        Err(RegistryError::Taken { .. })
    ));
    for name in ["", "a/b", "../a", ".hidden", "-x", "a b", "ä"] {
        let refused = registry.add(RegisteredModel::new(name, "/", 0));
        assert!(matches!(refused, Err(RegistryError::Name { .. })), "{name}");
    }
    let unknown = registry.remove("b").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no model b; there are: a");
    let unknown = registry.best("chat", 1).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "no model has the capability \"chat\"; none is registered"
    );
}

#[test]
fn a_damaged_file_is_an_error_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    five(&registry);
    let whole = fs::read_to_string(registry.path()).unwrap();
    for damaged in [
        String::new(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"version\": 1", "\"version\": 99"),
        whole.replace("4500000000", "-1"),
        whole.replace("phi3:3.8b", "codellama:7b"),
        "[]".to_owned(),
    ] {
        fs::write(registry.path(), &damaged).unwrap();
        let error = registry.list().unwrap_err();
        assert!(error.to_string().contains("models.json"), "{error}");
        registry.add(model("new", 1.0, &[])).unwrap_err();
        registry.remove("phi3:3.8b").unwrap_err();
        registry.best("chat", 1).unwrap_err();
        assert_eq!(fs::read_to_string(registry.path()).unwrap(), damaged);
    }
}

#[test]
fn many_writers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    registry.add(model("shared", 1.0, &["chat"])).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let registry = &registry;
            scope.spawn(move || {
                for number in 0..10 {
                    registry
                        .add(model(&format!("m{thread}-{number}"), 2.0, &[]))
                        .unwrap();
                    registry.count_use("shared").unwrap();
                }
            });
        }
    });
    assert_eq!(registry.list().unwrap().len(), 41);
    assert_eq!(registry.get("shared").unwrap().uses, 40);
    let others: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(others.len(), 2, "nothing is left but the file and its lock");
}

#[test]
fn capabilities_are_added_and_nothing_else_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    five(&registry);
    registry.count_use("phi3:3.8b").unwrap();
    let model = registry.add_capabilities("phi3:3.8b", ["code", "chat"]);
    let model = model.unwrap();
    assert_eq!(model, registry.get("phi3:3.8b").unwrap());
    let capabilities: Vec<&str> = model.capabilities.iter().map(String::as_str).collect();
    assert_eq!(
        (capabilities, model.uses),
        (vec!["chat", "classification", "code"], 1)
    );
    assert!(matches!(
        registry.add_capabilities("other", ["code"]),
        Err(RegistryError::Unknown { .. })
    ));
}

#[test]
fn numbers_of_uses_beyond_all_sums_are_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    for name in ["a", "b"] {
        registry.add(model(name, 1.0, &[name])).unwrap();
        registry.best(name, u64::MAX).unwrap();
    }
    let usage = registry.usage().unwrap();
    assert_eq!((usage[0].uses, usage[1].uses), (u64::MAX, u64::MAX));
}

#[test]
#[cfg(unix)]
fn a_replaced_file_keeps_its_mode_and_a_link_to_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    five(&registry);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let usual = dir.path().join("usual");
    fs::write(&usual, "").unwrap();
    assert_eq!(mode(registry.path()), mode(usual));
    let target = dir.path().join("target.json");
    fs::rename(registry.path(), &target).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("target.json", registry.path()).unwrap();
    registry.remove("phi3:3.8b").unwrap();
    assert!(registry.path().is_symlink());
    assert_eq!(mode(target), 0o640);
    assert_eq!(registry.list().unwrap().len(), 4);
}

#[test]
#[cfg(unix)]
fn pipes_and_devices_are_refused_and_not_read() {
    for name in ["models.json", "models.lock"] {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry::in_folder(dir.path());
        let pipe = dir.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = registry.add(model("a", 1.0, &[])).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::in_folder(dir.path());
    std::os::unix::fs::symlink("/dev/zero", registry.path()).unwrap();
    let error = registry.list().unwrap_err().to_string();
    assert!(error.contains("no regular file"), "{error}");
}
