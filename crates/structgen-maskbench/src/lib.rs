//! MaskBench: schemas with instances, judged and timed token by token, for any engine.
//!
//! The rules are those of guidance-ai/jsonschemabench: an instance is serialised as Python's
//! `json.dumps(data, ensure_ascii=False)` does it and encoded without special tokens; for each token the mask is
//! computed, the token looked up in it and accepted. An instance counts as accepted if every token was allowed and the
//! output may end after it, and as undecided if the engine failed. TTFM is compiling plus the first mask, TBM one mask
//! plus accepting its token. What an engine builds once per tokenizer is in neither.

mod case;
mod compared;
mod document;
mod encode;
mod engine;
mod forced;
mod order;
mod result;
mod run;
mod statistics;
#[cfg(test)]
mod testing;

pub use case::{Case, CaseError, Instance, case_files};
pub use compared::{ComparedMasks, WrongMask, compare_masks};
pub use encode::encode_answer;
pub use engine::{Engine, Structgen};
pub use forced::{ForcedCounts, count_forced};
pub use result::{FileResult, Status};
pub use run::{run_case, run_case_with};
pub use statistics::{Percentiles, Summary};
pub use structgen_frontend::json_schema::KeyOrder;
