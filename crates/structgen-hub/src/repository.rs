//! The contents of a repository, as listed by the hub.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use serde::Deserialize;

use crate::{Checksum, HubError};

/// The name of a repository, `ORG/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepositoryName {
    whole: String,
    slash: usize,
}

impl RepositoryName {
    /// Returns the user or organisation.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.whole[..self.slash]
    }

    /// Returns the name without its owner.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.whole[self.slash + 1..]
    }
}

impl FromStr for RepositoryName {
    type Err = HubError;

    /// Parses letters, digits and `-`, `_`, `.` on both sides of one slash, as the hub allows.
    fn from_str(name: &str) -> Result<Self, HubError> {
        let is_part = |part: &str| {
            let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=96).contains(&part.len())
                && part.bytes().all(is_usual)
                && !part.starts_with(['.', '-'])
        };
        match name.split_once('/') {
            Some((owner, rest)) if is_part(owner) && is_part(rest) => Ok(Self {
                whole: name.to_owned(),
                slash: owner.len(),
            }),
            _ => Err(HubError::Name {
                name: name.to_owned(),
            }),
        }
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}

/// A repository at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repository {
    /// Its name.
    pub name: RepositoryName,
    /// The commit of the list.
    pub commit: String,
    /// The licence that the repository names, such as `apache-2.0`.
    pub license: Option<String>,
    /// A link to the licence's text, if it is not one of the usual ones.
    pub license_link: Option<String>,
    /// Its files.
    pub files: Vec<RemoteFile>,
}

/// A file of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteFile {
    /// Its path relative to the repository's root, which never leaves it.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its checksum.
    pub checksum: Checksum,
}

/// The part of the hub's reply that is used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    sha: String,
    #[serde(default)]
    tags: Vec<String>,
    card_data: Option<CardData>,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct CardData {
    license: Option<serde_json::Value>,
    license_name: Option<String>,
    license_link: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    blob_id: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    size: u64,
    sha256: String,
}

impl Repository {
    /// Parses the hub's reply to `/api/models/NAME/revision/REVISION?blobs=true`.
    pub(crate) fn from_json(
        name: &RepositoryName,
        url: &str,
        json: &str,
    ) -> Result<Self, HubError> {
        let strange = |what: String| HubError::Strange {
            url: url.to_owned(),
            what,
        };
        let listing: Listing = serde_json::from_str(json)
            .map_err(|error| strange(format!("no list of files ({error})")))?;
        if Checksum::git_object(&listing.sha).is_none() {
            return Err(strange(format!("the commit {:?}", listing.sha)));
        }
        let files = listing.siblings.into_iter().map(|file| {
            let path = file.rfilename;
            if !leads_down(&path) {
                return Err(HubError::UnsafePath { path });
            }
            let of_lfs = file
                .lfs
                .and_then(|lfs| Some((lfs.size, Checksum::sha256(&lfs.sha256)?)));
            let of_git = || Some((file.size?, Checksum::git_object(&file.blob_id?)?));
            match of_lfs.or_else(of_git) {
                Some((size, checksum)) => Ok(RemoteFile {
                    path,
                    size,
                    checksum,
                }),
                None => Err(strange(format!("neither size nor checksum of {path}"))),
            }
        });
        let card = listing.card_data;
        let named = card.as_ref().and_then(|card| {
            let plain = card.license.as_ref().and_then(|license| license.as_str());
            match (plain, card.license_name.as_deref()) {
                (Some("other") | None, Some(name)) => Some(name.to_owned()),
                (license, _) => license.map(str::to_owned),
            }
        });
        let tagged = || {
            let mut tags = listing.tags.iter();
            tags.find_map(|tag| tag.strip_prefix("license:"))
                .map(str::to_owned)
        };
        Ok(Self {
            name: name.clone(),
            license: named.or_else(tagged),
            license_link: card.and_then(|card| card.license_link),
            files: files.collect::<Result<_, _>>()?,
            commit: listing.sha,
        })
    }
}

/// Returns whether a path stays inside its folder, and has no control characters.
fn leads_down(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let has_odd = path.contains('\\') || path.chars().any(char::is_control);
    let has_empty = path.split('/').any(|part| part.is_empty() || part == ".");
    !has_odd && !has_empty && Path::new(path).components().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn read(json: &str) -> Result<Repository, String> {
        let name = "org/name".parse().unwrap();
        Repository::from_json(&name, "URL", json).map_err(|error| error.to_string())
    }

    #[test]
    fn names_have_two_parts_of_usual_characters() {
        let name: RepositoryName = "onnx-community/Qwen3-0.6B-ONNX".parse().unwrap();
        assert_eq!(
            (name.owner(), name.name()),
            ("onnx-community", "Qwen3-0.6B-ONNX")
        );
        for wrong in [
            "", "gpt2", "a/b/c", "../b", "a/..", "a/b?c", "a b/c", "/a", "a/",
        ] {
            assert!(wrong.parse::<RepositoryName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_have_the_checksum_of_their_content_and_licences_come_from_the_card() {
        let (oid, sha) = ("a".repeat(40), "b".repeat(64));
        let files = format!(
            r#"[{{"rfilename": "config.json", "size": 3, "blobId": "{oid}"}},
                {{"rfilename": "onnx/model.onnx", "size": 9, "blobId": "{oid}",
                  "lfs": {{"sha256": "{sha}", "size": 9, "pointerSize": 134}}}}]"#
        );
        let with = |rest: &str| {
            read(&format!(
                r#"{{"sha": "{COMMIT}", "siblings": {files}{rest}}}"#
            ))
            .unwrap()
        };
        let plain = with("");
        assert_eq!(plain.files[0].checksum, Checksum::GitObject(oid));
        assert_eq!(plain.files[1].checksum, Checksum::Sha256(sha));
        assert_eq!((plain.license, plain.commit.as_str()), (None, COMMIT));
        let license = |rest| with(rest).license.unwrap();
        assert_eq!(license(r#", "tags": ["onnx", "license:mit"]"#), "mit");
        assert_eq!(
            license(r#", "tags": ["license:mit"], "cardData": {"license": "apache-2.0"}"#),
            "apache-2.0"
        );
        assert_eq!(
            license(r#", "cardData": {"license": "other", "license_name": "gemma"}"#),
            "gemma"
        );
    }

    #[test]
    fn what_no_hub_lists_is_refused() {
        let one = |name: &str, rest: &str| {
            read(&format!(
                r#"{{"sha": "{COMMIT}", "siblings": [{{"rfilename": {name}{rest}}}]}}"#
            ))
            .unwrap_err()
        };
        let whole = format!(r#", "size": 1, "blobId": "{}""#, "a".repeat(40));
        let errors = [
            read("").unwrap_err(),
            read(r#"{"sha": "x", "siblings": []}"#).unwrap_err(),
            one(r#""../a""#, &whole),
            one(r#""/etc/passwd""#, &whole),
            one(r#""a//b""#, &whole),
            one(r#""a\\..\\b""#, &whole),
            one(r#""a""#, r#", "size": 1"#),
            one(r#""a""#, r#", "size": 1, "blobId": "12""#),
        ];
        expect_test::expect![[r#"
            URL replies with no list of files (EOF while parsing a value at line 1 column 0): it does not seem to be a hub
            URL replies with the commit "x": it does not seem to be a hub
            the repository has a file "../a", which leads out of the folder
            the repository has a file "/etc/passwd", which leads out of the folder
            the repository has a file "a//b", which leads out of the folder
            the repository has a file "a\\..\\b", which leads out of the folder
            URL replies with neither size nor checksum of a: it does not seem to be a hub
            URL replies with neither size nor checksum of a: it does not seem to be a hub"#]].assert_eq(&errors.join("\n"));
    }
}
