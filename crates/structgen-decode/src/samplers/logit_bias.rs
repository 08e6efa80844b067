use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use crate::samplers::{Candidates, Sampler};

/// Adds fixed numbers to the logits of given tokens.
///
/// `-inf` bans a token. If that would leave nothing, the ban is lifted, and counted ([`Candidates::lifted_bans`]).
///
/// ```
/// use std::collections::BTreeMap;
/// use structgen_decode::samplers::{Candidates, LogitBias, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut bias = LogitBias::new(BTreeMap::from([(TokenId(1), 0.5), (TokenId(2), f32::NEG_INFINITY)]));
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), 9.0)]);
/// bias.apply(&mut candidates);
/// assert_eq!((candidates.ids(), candidates.logits()), (&[TokenId(1)][..], &[1.5][..]));
/// ```
#[derive(Debug, Clone)]
pub struct LogitBias {
    /// Sorted by id.
    bias: Vec<(TokenId, f32)>,
    suppressed: Vec<TokenId>,
}

impl LogitBias {
    /// Adds `bias[t]` to the logit of each token `t`.
    pub fn new(bias: BTreeMap<TokenId, f32>) -> Self {
        let (suppressed, bias): (Vec<_>, Vec<_>) =
            bias.into_iter().partition(|&(_, b)| b == f32::NEG_INFINITY);
        let suppressed = suppressed.into_iter().map(|(id, _)| id).collect();
        Self { bias, suppressed }
    }
}

impl Sampler for LogitBias {
    fn apply(&mut self, candidates: &mut Candidates) {
        candidates.ban(&self.suppressed);
        candidates.change_logits_of(&self.bias, |logit, bias| logit + bias);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        tokens.extend(self.bias.iter().map(|(id, _)| id).chain(&self.suppressed));
        true
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
        assert_eq!(c.lifted_bans(), 0);
    }

    #[test]
    fn suppressing_everything_suppresses_nothing() {
        let mut c = candidates(&[1.0, 2.0]);
        bias(&[(0, f32::NEG_INFINITY), (1, f32::NEG_INFINITY)]).apply(&mut c);
        assert_eq!(ids(&c), [0, 1]);
        assert_eq!(c.lifted_bans(), 1);
    }
}
