//! Walks a token trie on an automaton: token masks, the matcher and the naive oracle.
//!
//! [`CompiledConstraint`] joins a [`Program`](structgen_automata::Program) to a vocabulary. It is immutable, shared and
//! cheap to clone; inside, it caches what its matchers compute (states and masks), up to a limit on memory. A
//! [`Matcher`] is one output in progress.

mod error;
mod mask;
mod signs;
mod statistics;

mod draft;
mod position;
mod saved_masks;
mod texts;

mod masks;
mod named_tokens;
mod tables;

mod in_string;
mod shared;
mod walk;

mod grounded;
mod literals;
mod step;

mod compute;
mod store;

mod visit;

mod limits;
mod warm_literals;
mod within;

mod constraint;

mod matcher;
mod warm;

mod batch;
mod captures;
mod check;
mod nearest;
pub mod oracle;
mod saved;

pub use batch::batch_masks;
pub use check::Refusal;
pub use constraint::{BoundConstraint, CompiledConstraint, ConstraintOptions};
pub use error::{CompileError, MatcherError};
pub use mask::Mask;
pub use matcher::Matcher;
pub use nearest::NearText;
pub use saved::SavedError;
pub use statistics::Statistics;
pub use structgen_artifact::ArtifactError;
pub use structgen_automata::{CancelToken, Candidate, CandidateValue, CaptureSpan, Input};
pub use tables::{TablesSource, VocabularyTables};
pub use warm::{WarmLimits, WarmReport};
