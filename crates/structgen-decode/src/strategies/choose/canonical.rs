//! The probability of one token sequence per choice: a walk over their shared prefixes.

use structgen_vocab::TokenId;

use super::{ChoiceError, Distinct, Distribution};
use crate::demand::{Demand, Given, Text};
use crate::task::{Context, Task, TaskSize};
use crate::{FinishReason, GenerateError, Outputs};

/// Maximum number of positions whose logits one demand requests.
const POSITIONS: usize = 32;

/// The depth-first walk over the trie of all sequences. The model's row is always the prompt and a prefix of one
/// sequence.
pub(super) struct Canonical {
    prompt: Vec<TokenId>,
    choices: Distinct<Vec<TokenId>>,
    ends: Vec<TokenId>,
    /// The logarithms of the sorted sequences' probabilities.
    logs: Vec<f64>,
    /// Branches to walk, the next one last.
    open: Vec<Branch>,
    walked: Option<TokenRun>,
    has_prompt: bool,
    stopped: Option<FinishReason>,
}

/// Sequences with a common prefix.
struct Branch {
    /// The range of the sorted sequences.
    low: usize,
    high: usize,
    /// The number of common first tokens that the logarithm includes. The last of them, or of the prompt, is not run
    /// yet.
    counted: usize,
    log: f64,
}

/// A branch up to where its sequences diverge.
struct TokenRun {
    branch: Branch,
    /// The number of first tokens that all of its sequences share.
    common: usize,
    /// The number of first tokens after which the model's distribution was used.
    looked_at: usize,
    /// The number after which it is used last.
    end: usize,
}

impl Canonical {
    pub(super) fn new(prompt: Vec<TokenId>, choices: &[Vec<TokenId>], ends: Vec<TokenId>) -> Self {
        let choices = Distinct::new(choices);
        let all = Branch {
            low: 0,
            high: choices.sorted.len(),
            counted: 0,
            log: 0.0,
        };
        Self {
            prompt,
            logs: vec![f64::NEG_INFINITY; choices.sorted.len()],
            choices,
            ends,
            open: vec![all],
            walked: None,
            has_prompt: false,
            stopped: None,
        }
    }

    /// Returns the maximum number of tokens in the row.
    pub(super) fn most_tokens(&self) -> usize {
        let longest = self.choices.sorted.iter().map(Vec::len).max();
        // After the last token, the model is needed only for the end.
        let last = usize::from(self.ends.is_empty());
        self.prompt.len() + longest.unwrap_or(0).saturating_sub(last)
    }

    /// Returns the next branch for which the model has to be run.
    fn next(&mut self) -> Option<TokenRun> {
        while let Some(branch) = self.open.pop() {
            let sorted = &self.choices.sorted;
            let (first, last) = (&sorted[branch.low], &sorted[branch.high - 1]);
            let pairs = first.iter().zip(last);
            let common = pairs.take_while(|(a, b)| a == b).count();
            // After the end of the only remaining sequence, nothing counts.
            let is_alone = branch.high - branch.low == 1 && self.ends.is_empty();
            if is_alone && branch.counted == common {
                self.logs[branch.low] = branch.log;
                continue;
            }
            return Some(TokenRun {
                common,
                looked_at: branch.counted,
                end: common + 1 - usize::from(is_alone),
                branch,
            });
        }
        None
    }

    /// Uses the distribution after the next token of a run.
    fn look_at(&mut self, run: &mut TokenRun, distribution: &Distribution<'_>) {
        let sorted = &self.choices.sorted;
        let TokenRun { branch, common, .. } = run;
        let first = &sorted[branch.low];
        let at = run.looked_at;
        run.looked_at += 1;
        if at < *common {
            branch.log += distribution.log(first[at]);
            if run.looked_at == run.end {
                self.logs[branch.low] = branch.log;
            }
            return;
        }
        let mut low = branch.low;
        if first.len() == *common {
            self.logs[low] = branch.log;
            if !self.ends.is_empty() {
                self.logs[low] += distribution.log_of_any(&self.ends);
            }
            low += 1;
        }
        let from = self.open.len();
        while low < branch.high {
            let token = sorted[low][*common];
            let alike =
                sorted[low..branch.high].partition_point(|sequence| sequence[*common] == token);
            self.open.push(Branch {
                low,
                high: low + alike,
                counted: *common + 1,
                log: branch.log + distribution.log(token),
            });
            low += alike;
        }
        self.open[from..].reverse();
    }
}

impl Task for Canonical {
    fn advance(
        &mut self,
        _: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        if self.stopped.is_some() {
            return Ok(());
        }
        if self
            .walked
            .as_ref()
            .is_none_or(|run| run.looked_at == run.end)
        {
            self.walked = self.next();
        }
        let Some(run) = &self.walked else {
            return Ok(());
        };
        let positions = (run.end - run.looked_at).min(POSITIONS);
        // The logits of the prompt's last token are those of the first position.
        let first = self.prompt.len() - 1 + run.looked_at;
        let keep = if self.has_prompt { first } else { 0 };
        let sequence = &self.choices.sorted[run.branch.low];
        let text = self.prompt.iter().chain(sequence);
        let tokens = text.skip(keep).take(first + positions - keep);
        let tokens = tokens.copied().collect();
        demands.push(Demand::row(Text::Main, keep, tokens, positions));
        self.has_prompt = true;
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let (Some(mut run), [output]) = (self.walked.take(), given.rows) else {
            return Ok(());
        };
        for position in 0..output.positions() {
            let tokens = self.prompt.len() + run.looked_at;
            let distribution = Distribution::new(output.logits(position), tokens)?;
            self.look_at(&mut run, &distribution);
        }
        self.walked = Some(run);
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.most_tokens();
        TaskSize::new(1, tokens)
    }

    fn stop(&mut self, reason: FinishReason) {
        self.stopped = Some(reason);
    }

    fn finish(self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        if let Some(reason) = self.stopped {
            return Err(ChoiceError::Stopped { reason }.into());
        }
        let found: Vec<(f64, f64)> = self.logs.iter().map(|&log| (log, 0.0)).collect();
        Ok(self.choices.report(&found))
    }
}
