//! What can go wrong with a hub.

use std::io;
use std::path::PathBuf;

use crate::{Checksum, RepositoryName};

/// Why a hub could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A name that cannot be a repository's.
    #[error("{name:?} is no name of a repository: it must be ORG/NAME")]
    Name {
        /// The name.
        name: String,
    },
    /// A branch, tag or commit that cannot be one.
    #[error("{revision:?} is no branch, tag or commit")]
    Revision {
        /// The revision.
        revision: String,
    },
    /// The URL of the hub is none.
    #[error("{endpoint:?} is no URL of a hub, such as https://huggingface.co")]
    Endpoint {
        /// The URL.
        endpoint: String,
    },
    /// The access token has characters that no token has.
    #[error("the access token has characters that no token has")]
    Token,
    /// There is no connection to the hub.
    #[error("{endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// The hub.
        endpoint: String,
        /// Why.
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
    /// The repository's terms have to be accepted first.
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
        /// What was asked for.
        url: String,
        /// The status.
        status: u16,
    },
    /// The reply is not one of a hub.
    #[error("{url} replies with {what}: it does not seem to be a hub")]
    Strange {
        /// What was asked for.
        url: String,
        /// What is wrong with the reply.
        what: String,
    },
    /// A repository has a file that would be written outside of the folder.
    #[error("the repository has a file {path:?}, which leads out of the folder")]
    UnsafePath {
        /// The file's path in the repository.
        path: String,
    },
    /// The connection ended before a file was complete, again and again. What was received is kept for the next attempt.
    #[error(
        "the connection ended after {received} of {size} bytes of {path}; another attempt continues there"
    )]
    Cut {
        /// The file's path in the repository.
        path: String,
        /// The bytes that were received.
        received: u64,
        /// Its size.
        size: u64,
    },
    /// A file is not what the hub lists. It is deleted.
    #[error("{path} is damaged: the hub lists {expected}, and the file has {got}")]
    Damaged {
        /// The file's path in the repository.
        path: String,
        /// What the hub lists.
        expected: Checksum,
        /// What came.
        got: Checksum,
    },
    /// Another process downloads the same file.
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
        /// Why.
        source: io::Error,
    },
}
