//! From a request's fields to a model's outputs: shared by all endpoints that generate.
//!
//! `settings`, `target`, `tools` and `messages` read fields; `plan` decides how a model fulfils the request, and
//! `cache` keeps plans; `work` limits what compiles and builds them; `prompt` builds the prompt, `job` runs it, and
//! `pieces` splits its output; `tokens` and `report` describe the result.

mod cache;
mod job;
mod messages;
mod pieces;
mod plan;
mod prompt;
mod report;
mod settings;
mod target;
mod tokens;
mod tools;
mod work;

pub(crate) use cache::{PlanKey, Plans};
pub(crate) use job::{Ask, Chat, Done, Job, Prompt, Update, Usage, finish_reason};
pub(crate) use messages::{Conversation, MOST_MESSAGES, past_call, text as content_text};
pub(crate) use pieces::{Answer, AnswerCall, Piece};
pub(crate) use plan::{Goal, How, Plan, constraint_of};
pub(crate) use prompt::check_outputs;
pub(crate) use report::{field as describe_field, seconds as describe_seconds};
pub(crate) use settings::{Settings, parameter_names};
pub(crate) use target::{Target, Wanted, named_schema};
pub(crate) use tokens::{chat_logprobs, completion_logprobs, steps, text as token_text};
pub(crate) use tools::{Nesting, Tools};
