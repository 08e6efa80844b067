//! The probability of one sequence of tokens for each choice.

use structgen_vocab::TokenId;

use super::{ChoiceProbability, ChooseError, Runner, distinct, shares};
use crate::LanguageModel;

/// Sequences that agree so far.
struct Shared {
    /// Their places among the sorted sequences.
    low: usize,
    high: usize,
    /// How many of their first tokens they share and the logarithm counts. The last of them, or of the prompt, is not run yet.
    counted: usize,
    log: f64,
}

/// How probable it is that each sequence of tokens follows the prompt, exactly: the product of its tokens' probabilities and, where `ends` has
/// end-of-sequence ids, that of any of them behind it.
///
/// What sequences begin with in common is run once, and what has no branch is run at once. Without `ends`, a sequence that begins another is the
/// event that includes the other.
///
/// ```
/// use structgen_decode::{MockModel, choose};
/// use structgen_vocab::TokenId;
///
/// let mut model = MockModel::new(8, 32, [TokenId(0)]);
/// let choices = [[1, 2], [1, 3]].map(|ids| ids.map(TokenId).to_vec());
/// let found = choose::canonical(&mut model, &[TokenId(5)], &choices, &[TokenId(0)])?;
/// assert!((found[0].share + found[1].share - 1.0).abs() < 1e-12);
/// assert!(found[0].probability() < 1.0);
/// # Ok::<(), structgen_decode::ChooseError>(())
/// ```
///
/// # Errors
/// [`ChooseError`]: without a prompt or a choice, and where the model fails.
pub fn canonical<M: LanguageModel>(
    model: &mut M,
    prompt: &[TokenId],
    choices: &[Vec<TokenId>],
    ends: &[TokenId],
) -> Result<Vec<ChoiceProbability>, ChooseError> {
    let Some((&last, before)) = prompt.split_last() else {
        return Err(ChooseError::EmptyPrompt);
    };
    if choices.is_empty() {
        return Err(ChooseError::NoChoices);
    }
    let (sorted, places) = distinct(choices);
    let mut logs = vec![f64::NEG_INFINITY; sorted.len()];
    let mut runner = Runner::new(model)?;
    if !before.is_empty() {
        runner.behind(before, |_| ())?;
    }
    let mut open = vec![Shared {
        low: 0,
        high: sorted.len(),
        counted: 0,
        log: 0.0,
    }];
    while let Some(Shared {
        low,
        high,
        counted,
        mut log,
    }) = open.pop()
    {
        let (first, last_one) = (sorted[low], sorted[high - 1]);
        let pairs = first.iter().zip(last_one);
        let common = pairs.take_while(|(a, b)| a == b).count();
        // Behind the end of a sequence that is alone nobody asks what comes.
        let is_alone = high - low == 1 && ends.is_empty();
        if is_alone && counted == common {
            logs[low] = log;
            continue;
        }
        let mut tokens = vec![if counted == 0 {
            last
        } else {
            first[counted - 1]
        }];
        tokens.extend_from_slice(&first[counted..common - usize::from(is_alone)]);
        runner.truncate(before.len() + counted)?;
        let from = open.len();
        runner.run(&tokens, |position, distribution| {
            let at = counted + position;
            if at < common {
                log += distribution.log(first[at]);
                return;
            }
            let mut start = low;
            if first.len() == common {
                logs[low] = log;
                if !ends.is_empty() {
                    logs[low] += distribution.log_of_any(ends);
                }
                start += 1;
            }
            while start < high {
                let token = sorted[start][common];
                let length =
                    sorted[start..high].partition_point(|sequence| sequence[common] == token);
                open.push(Shared {
                    low: start,
                    high: start + length,
                    counted: common + 1,
                    log: log + distribution.log(token),
                });
                start += length;
            }
        })?;
        open[from..].reverse();
        if is_alone {
            logs[low] = log;
        }
    }
    let found: Vec<(f64, f64)> = logs.into_iter().map(|log| (log, 0.0)).collect();
    let found = shares(&found);
    Ok(places.into_iter().map(|place| found[place]).collect())
}
