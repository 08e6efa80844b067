use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use crate::{Candidates, Sampler};

/// Adds a fixed number to the logits of chosen tokens.
///
/// `-inf` suppresses a token, unless that would leave nothing: a soft wish never empties the candidates.
#[derive(Debug, Clone)]
pub struct LogitBias(BTreeMap<TokenId, f32>);

impl LogitBias {
    /// Adds `bias[t]` to the logit of each token `t`.
    pub fn new(bias: BTreeMap<TokenId, f32>) -> Self {
        Self(bias)
    }
}

impl Sampler for LogitBias {
    fn apply(&mut self, candidates: &mut Candidates) {
        let bias = &self.0;
        let suppressed = |id: TokenId| bias.get(&id) == Some(&f32::NEG_INFINITY);
        candidates.retain_unless_empty(|id| !suppressed(id));
        candidates.change_logits_of(bias, |logit, bias| {
            if bias == f32::NEG_INFINITY {
                logit
            } else {
                logit + bias
            }
        });
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids};

    fn bias(pairs: &[(u32, f32)]) -> LogitBias {
        LogitBias::new(pairs.iter().map(|&(id, b)| (TokenId(id), b)).collect())
    }

    #[test]
    fn adds_and_suppresses() {
        let mut c = candidates(&[1.0, 2.0, 3.0]);
        bias(&[(0, 0.5), (2, f32::NEG_INFINITY), (77, 1.0)]).apply(&mut c);
        assert_eq!(ids(&c), [0, 1]);
        assert_eq!(c.logits(), [1.5, 2.0]);
    }

    #[test]
    fn suppressing_everything_suppresses_nothing() {
        let mut c = candidates(&[1.0, 2.0]);
        bias(&[(0, f32::NEG_INFINITY), (1, f32::NEG_INFINITY)]).apply(&mut c);
        assert_eq!(ids(&c), [0, 1]);
    }
}
