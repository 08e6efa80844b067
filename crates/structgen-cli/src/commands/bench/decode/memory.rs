//! What the cache takes by the formula, beside what the process uses.

use structgen::Model;
use structgen::decode::LanguageModel;

use super::tasks::Task;
use crate::process;

pub(super) fn line(model: &mut Model, tasks: &[Task], max_tokens: usize) -> String {
    let longest = tasks
        .iter()
        .map(|task| task.prompt.len())
        .max()
        .unwrap_or(0);
    let info = model.language_model().info();
    let length = (longest + max_tokens).min(info.context_length);
    let bytes = info.cache_bytes_per_token;
    format!(
        "\ncache: {bytes} bytes a token (2 x layers x heads x size of a head x size of a number), {:.2} MB at {length} tokens, {:.2} MB at the whole \
         context of {}; the process: {}\n",
        (bytes * length) as f64 / 1e6,
        (bytes * info.context_length) as f64 / 1e6,
        info.context_length,
        process::memory(),
    )
}
