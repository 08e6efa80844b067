//! What is said about a model that was loaded.

use std::fmt;

use structgen_vocab::TokenId;

/// What a user should know of how a loaded model runs.
///
/// ```
/// use structgen_ort::LoadNote;
///
/// let note = LoadNote::OneTokenAtATime;
/// assert!(note.to_string().contains("one at a time"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadNote {
    /// Several tokens after a past have other logits than one after another, or none.
    OneTokenAtATime,
    /// The graph returns the logits of the last position alone.
    LastPositionAlone,
    /// The graph does not leave padding out.
    RowsApart,
    /// The rows of a run are not independent of one another.
    RowsAlone,
    /// Activations are quantised while the model runs, by a scale that depends on what is run together.
    DynamicQuantization {
        /// The operator that does.
        operator: &'static str,
    },
    /// The configuration names a sliding window that the graph does not have.
    WindowNotInGraph {
        /// The positions of the window.
        window: usize,
    },
    /// The graph has a sliding window that the configuration does not name.
    WindowNotConfigured {
        /// The positions of the window.
        window: usize,
    },
    /// The configuration names a sliding window, and whether the graph has it cannot be seen.
    WindowUnseen {
        /// The positions of the window.
        window: usize,
    },
    /// The graph has the rotary factors for short texts alone, so that the context is theirs.
    ShortContext {
        /// The positions that are used.
        border: usize,
        /// The positions that the configuration names.
        context_length: usize,
    },
    /// End-of-sequence ids that the model has no logits for or the tokenizer does not have.
    UnknownEnds {
        /// The ids, which are ignored.
        ids: Vec<TokenId>,
    },
}

/// The ids that a note lists.
const SHOWN_IDS: usize = 10;

impl LoadNote {
    /// Whether it concerns what the model writes, and not its speed alone.
    #[must_use]
    pub fn is_about_output(&self) -> bool {
        matches!(
            self,
            Self::DynamicQuantization { .. }
                | Self::WindowNotInGraph { .. }
                | Self::WindowNotConfigured { .. }
                | Self::ShortContext { .. }
                | Self::UnknownEnds { .. }
        )
    }
}

impl fmt::Display for LoadNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneTokenAtATime => f.write_str(
                "the graph computes several tokens after a past wrongly, so they are run one at a time: forced tokens \
                 and drafts save no time; a newer export does without",
            ),
            Self::LastPositionAlone => f.write_str(
                "the graph returns the logits of the last position alone: drafts and given texts are run one token \
                 at a time",
            ),
            Self::RowsApart => f.write_str(
                "the graph does not leave padding out, so that rows of different lengths are run apart: batches save \
                 less time",
            ),
            Self::RowsAlone => f.write_str(
                "the graph computes a row together with others otherwise than alone, so rows are run one at a time: \
                 batches save no time",
            ),
            Self::DynamicQuantization { operator } => write!(
                f,
                "the graph quantises activations while it runs ({operator}): its logits depend on how a text is cut \
                 into runs, so that speculation, batches and prompts that begin alike may change the text; run one \
                 token at a time for texts that do not depend on them",
            ),
            Self::WindowNotInGraph { window } => write!(
                f,
                "the configuration names a sliding window of {window} positions, and the graph attends to all of the \
                 text: texts that are longer may differ from the original model's",
            ),
            Self::WindowNotConfigured { window } => write!(
                f,
                "the graph attends to the last {window} positions, and the configuration names no sliding window: \
                 texts that are longer may differ from the original model's",
            ),
            Self::WindowUnseen { window } => write!(
                f,
                "the configuration names a sliding window of {window} positions, and whether the graph has it cannot \
                 be seen",
            ),
            Self::ShortContext { border, context_length } => write!(
                f,
                "the context is {border} positions, and not the configuration's {context_length}: the graph has the \
                 rotary factors for short texts alone; onnxruntime-genai's model builder exports both",
            ),
            Self::UnknownEnds { ids } => {
                let (shown, others) = ids.split_at(ids.len().min(SHOWN_IDS));
                let shown: Vec<String> = shown.iter().map(|id| id.0.to_string()).collect();
                write!(
                    f,
                    "end-of-sequence ids of the configuration that model or tokenizer do not have are ignored: {}",
                    shown.join(", "),
                )?;
                match others.len() {
                    0 => Ok(()),
                    more => write!(f, ", and {more} more"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_unknown_ends_some_are_listed() {
        let note = |count| LoadNote::UnknownEnds {
            ids: (0..count).map(TokenId).collect(),
        };
        assert!(note(2).to_string().ends_with("are ignored: 0, 1"));
        let many = note(100_000).to_string();
        assert!(many.ends_with(", 9, and 99990 more"), "{many}");
    }
}
