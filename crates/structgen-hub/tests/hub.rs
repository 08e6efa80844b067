//! Downloads from a local server in place of the hub.

mod support;

use std::fs;

use structgen_hub::{Downloaded, Hub, HubError, Repository};
use support::{Behaviour, Server};

const NAME: &str = "org/name";

fn repository(server: &Server) -> (Hub, Repository) {
    let hub = Hub::new(&server.url, Some("secret")).unwrap();
    let repository = hub.repository(&NAME.parse().unwrap(), "main").unwrap();
    (hub, repository)
}

/// More than one buffer, and without repetition.
fn content() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

fn server(behaviour: Behaviour) -> Server {
    Server::start(
        &[
            ("config.json", b"{}".to_vec()),
            ("onnx/model.onnx", content()),
        ],
        behaviour,
    )
}

#[test]
fn files_are_downloaded_once_and_compared_with_their_checksums() {
    let server = server(Behaviour::default());
    let (hub, repository) = repository(&server);
    assert_eq!(repository.license.as_deref(), Some("apache-2.0"));
    let dir = tempfile::tempdir().unwrap();
    for file in &repository.files {
        let target = dir.path().join(&file.path);
        let mut seen = 0;
        let mut download = || {
            hub.download(&repository, file, &target, |n| seen = n)
                .unwrap()
        };
        assert_eq!(download(), Downloaded::Whole);
        assert_eq!(download(), Downloaded::Already);
        assert_eq!(seen, file.size);
    }
    assert_eq!(
        fs::read(dir.path().join("onnx/model.onnx")).unwrap(),
        content()
    );
    assert_eq!(fs::read_dir(dir.path().join("onnx")).unwrap().count(), 1);
    // One list and two files; the token was sent with each request.
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
    assert!(
        requests
            .iter()
            .all(|request| request.contains("Bearer secret"))
    );
}

#[test]
fn a_connection_that_ends_early_is_continued() {
    let server = server(Behaviour {
        cut_after: Some(500_000),
        ..Behaviour::default()
    });
    let (hub, repository) = repository(&server);
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("model.onnx");
    let file = &repository.files[1];
    assert_eq!(
        hub.download(&repository, file, &target, |_| {}).unwrap(),
        Downloaded::Whole
    );
    assert_eq!(fs::read(&target).unwrap(), content());
    let requests = server.requests();
    assert!(requests[2].contains("bytes=500000-"), "{requests:?}");
    assert!(requests[3].contains("bytes=1000000-"), "{requests:?}");
}

/// Each attempt after the first begins anew or receives nothing.
#[test]
fn a_file_that_is_shorter_than_listed_is_not_requested_forever() {
    let server = server(Behaviour {
        ends_at: Some(50),
        ..Behaviour::default()
    });
    let (hub, repository) = repository(&server);
    let dir = tempfile::tempdir().unwrap();
    let file = &repository.files[1];
    let error = hub
        .download(&repository, file, &dir.path().join("model.onnx"), |_| {})
        .unwrap_err();
    assert!(
        matches!(error, HubError::Cut { received: 50, size, .. } if size == file.size),
        "{error}"
    );
}

#[test]
fn a_later_download_continues_what_an_earlier_one_left() {
    let whole = content();
    for (ignores_ranges, left, expected) in [
        (false, whole[..700_000].to_vec(), 700_000),
        // A server that sends the whole file again, and a partial file that is longer than the file.
        (true, whole[..700_000].to_vec(), 700_000),
        (false, [&whole[..], b"more"].concat(), 0),
    ] {
        let server = server(Behaviour {
            ignores_ranges,
            ..Behaviour::default()
        });
        let (hub, repository) = repository(&server);
        let file = &repository.files[1];
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("model.onnx");
        let part = format!("model.onnx.{}.part", &file.checksum.digits()[..8]);
        fs::write(dir.path().join(part), left).unwrap();
        let downloaded = hub.download(&repository, file, &target, |_| {}).unwrap();
        match expected {
            0 => assert_eq!(downloaded, Downloaded::Whole),
            from => assert_eq!(downloaded, Downloaded::Rest { from }),
        }
        assert_eq!(fs::read(&target).unwrap(), whole);
    }
}

#[test]
fn damaged_files_are_refused_and_leave_nothing() {
    let server = server(Behaviour {
        damages: true,
        ..Behaviour::default()
    });
    let (hub, repository) = repository(&server);
    let dir = tempfile::tempdir().unwrap();
    for file in &repository.files {
        let target = dir.path().join("file");
        let error = hub
            .download(&repository, file, &target, |_| {})
            .unwrap_err();
        assert!(matches!(error, HubError::Damaged { .. }), "{error}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    // A file that was changed locally is downloaded again.
    let server = self::server(Behaviour::default());
    let (hub, repository) = self::repository(&server);
    let target = dir.path().join("config.json");
    fs::write(&target, "[]").unwrap();
    let downloaded = hub.download(&repository, &repository.files[0], &target, |_| {});
    assert_eq!(downloaded.unwrap(), Downloaded::Whole);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}");
}

#[test]
fn two_downloads_of_a_file_do_not_mix() {
    let server = server(Behaviour::default());
    let (hub, repository) = repository(&server);
    let file = &repository.files[1];
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("model.onnx");
    let part = format!("model.onnx.{}.part", &file.checksum.digits()[..8]);
    let other = fs::File::create(dir.path().join(part)).unwrap();
    other.lock().unwrap();
    let error = hub
        .download(&repository, file, &target, |_| {})
        .unwrap_err();
    assert!(matches!(error, HubError::Busy { .. }), "{error}");
}

#[test]
fn a_token_stays_with_its_host() {
    let store = server(Behaviour::default());
    let server = server(Behaviour {
        redirect_to: Some(store.url.replace("127.0.0.1", "localhost")),
        ..Behaviour::default()
    });
    let (hub, repository) = repository(&server);
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("model.onnx");
    let part = format!(
        "model.onnx.{}.part",
        &repository.files[1].checksum.digits()[..8]
    );
    fs::write(dir.path().join(part), &content()[..9]).unwrap();
    hub.download(&repository, &repository.files[1], &target, |_| {})
        .unwrap();
    let requests = store.requests();
    assert!(requests[0].contains("bytes=9-"), "{requests:?}");
    assert!(!requests[0].contains("secret"), "{requests:?}");
}

#[test]
fn a_redirection_from_a_hub_without_encryption_to_a_host_with_it_is_followed() {
    let store = server(Behaviour::default());
    let server = server(Behaviour {
        redirect_to: Some(store.url.replace("http:", "https:")),
        ..Behaviour::default()
    });
    let (hub, repository) = repository(&server);
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("config.json");
    // The host does not encrypt in fact, and its reply is no TLS.
    let error = hub
        .download(&repository, &repository.files[0], &target, |_| {})
        .unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
}

#[test]
fn what_is_missing_closed_or_no_hub_is_named() {
    let server = server(Behaviour::default());
    let hub = Hub::new(&server.url, None).unwrap();
    let ask = |hub: &Hub, name: &str, revision: &str| {
        let error = hub
            .repository(&name.parse().unwrap(), revision)
            .unwrap_err();
        error.to_string().replace(&hub_url(hub), "HUB")
    };
    let errors = [
        ask(&hub, "org/other", "main"),
        ask(&hub, "org/name", "other"),
        ask(&hub, "org/gated", "main"),
        ask(&hub, "org/broken", "main"),
        ask(&hub, "org/strange", "main"),
        ask(&hub, "org/name", "../main"),
        ask(&hub, "org/name", "a?b"),
        Hub::new("ftp://hub", None).unwrap_err().to_string(),
        Hub::new("https://user@hub", None).unwrap_err().to_string(),
        Hub::new("https://hub", Some("a\nb"))
            .unwrap_err()
            .to_string(),
    ];
    expect_test::expect![[r#"
        HUB has no repository org/other with a revision main, or only with a token that may read it
        HUB has no repository org/name with a revision other, or only with a token that may read it
        the files of org/gated are for users who have accepted its terms at HUB/org/gated, and need their token
        HUB/api/models/org/broken/revision/main?blobs=true replies with status 500
        HUB/api/models/org/strange/revision/main?blobs=true replies with no list of files (EOF while parsing a value at line 1 column 0): it does not seem to be a hub
        "../main" is no branch, tag or commit
        "a?b" is no branch, tag or commit
        "ftp://hub" is no URL of a hub, such as https://huggingface.co
        "https://user@hub" is no URL of a hub, such as https://huggingface.co
        the access token has characters that no token has"#]].assert_eq(&errors.join("\n"));
    let nobody = Hub::new("http://127.0.0.1:1", None).unwrap();
    let error = nobody
        .repository(&NAME.parse().unwrap(), "main")
        .unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
}

fn hub_url(hub: &Hub) -> String {
    hub.endpoint().to_owned()
}
