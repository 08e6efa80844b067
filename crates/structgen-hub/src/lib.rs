//! Model folders from the Hugging Face hub, or from a server with the same API.
//!
//! A [`Hub`] lists a [`Repository`]: its files with their sizes and checksums, its licence. [`variants`] finds the ONNX
//! models in the list, each with the files that belong to it, and [`Hub::download`] downloads a file, resumes an
//! earlier attempt, and verifies the checksum.
//!
//! ```no_run
//! use structgen_hub::{Hub, RepositoryName, variants};
//!
//! let hub = Hub::new("https://huggingface.co", None)?;
//! let repository = hub.repository(&"onnx-community/Qwen3-0.6B-ONNX".parse()?, "main")?;
//! for variant in variants(&repository.files) {
//!     println!("{} {}", variant.name, variant.bytes());
//! }
//! # Ok::<(), structgen_hub::HubError>(())
//! ```

mod checksum;
mod download;
mod error;
mod hub;
mod repository;
mod variants;

pub use checksum::Checksum;
pub use download::Downloaded;
pub use error::HubError;
pub use hub::Hub;
pub use repository::{RemoteFile, Repository, RepositoryName};
pub use variants::{Variant, variants};
