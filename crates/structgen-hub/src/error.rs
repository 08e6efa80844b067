//! Errors of a hub.

use std::io;
use std::path::PathBuf;

use crate::{Checksum, RepositoryName};

/// Why a request to a hub failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A repository's name is not valid.
    #[error("{name:?} is no name of a repository: it must be ORG/NAME")]
    Name {
        /// The name.
        name: String,
    },
    /// A branch, tag or commit is not valid.
    #[error("{revision:?} is no branch, tag or commit")]
    Revision {
        /// The revision.
        revision: String,
    },
    /// The hub's URL is not valid.
    #[error("{endpoint:?} is no URL of a hub, such as https://huggingface.co")]
    Endpoint {
        /// The URL.
        endpoint: String,
    },
    /// The access token contains invalid characters.
    #[error("the access token has characters that no token has")]
    Token,
    /// The hub cannot be reached.
    #[error("{endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// The hub.
        endpoint: String,
        /// The reason.
        reason: String,
    },
    /// The hub has no such repository, or does not show it to this user.
    #[error(
        "{endpoint} has no repository {name} with a revision {revision}, or only with a token that may read it"
    )]
    NotFound {
        /// The hub.
        endpoint: String,
        /// The repository.
        name: RepositoryName,
        /// The branch, tag or commit.
        revision: String,
    },
    /// The user must accept the repository's terms first.
    #[error(
        "the files of {name} are for users who have accepted its terms at {endpoint}/{name}, and need their token"
    )]
    Gated {
        /// The hub.
        endpoint: String,
        /// The repository.
        name: RepositoryName,
    },
    /// The hub replied with another error.
    #[error("{url} replies with status {status}")]
    Status {
        /// The requested URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// The reply is not that of a hub.
    #[error("{url} replies with {what}: it does not seem to be a hub")]
    Strange {
        /// The requested URL.
        url: String,
        /// What is wrong with the reply.
        what: String,
    },
    /// A repository contains a file that would be written outside of the folder.
    #[error("the repository has a file {path:?}, which leads out of the folder")]
    UnsafePath {
        /// The file's path in the repository.
        path: String,
    },
    /// The connection kept ending before a file was complete. What was received is kept for the next attempt.
    #[error(
        "the connection ended after {received} of {size} bytes of {path}; another attempt continues there"
    )]
    Cut {
        /// The file's path in the repository.
        path: String,
        /// The number of bytes received.
        received: u64,
        /// Its size.
        size: u64,
    },
    /// A file does not have the listed checksum. It is deleted.
    #[error("{path} is damaged: the hub lists {expected}, and the file has {got}")]
    Damaged {
        /// The file's path in the repository.
        path: String,
        /// The listed checksum.
        expected: Checksum,
        /// The checksum of the received file.
        got: Checksum,
    },
    /// Another process is downloading the same file.
    #[error("{} is being downloaded by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be read or written.
    #[error("{} cannot be written: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}
