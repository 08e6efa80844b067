//! Walks a token trie on an automaton: token masks, the matcher and the naive oracle.
//!
//! [`CompiledConstraint`] joins a [`Program`](structgen_automata::Program) to a vocabulary. It is immutable, shared and
//! cheap to clone; inside, it caches what its matchers compute (states and masks), up to a limit on memory. A
//! [`Matcher`] is one output in progress.

mod batch;
mod captures;
mod check;
mod compute;
mod constraint;
mod draft;
mod error;
mod grounded;
mod in_string;
mod limits;
mod literals;
mod mask;
mod masks;
mod matcher;
mod named_tokens;
mod nearest;
pub mod oracle;
mod saved;
mod signs;
mod statistics;
mod step;
mod store;
mod tables;
mod texts;
mod visit;
mod walk;
mod warm;
mod within;

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
pub use warm::{WarmLimits, Warmth};
