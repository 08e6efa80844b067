use std::fmt;
use std::sync::Arc;

use super::Sampler;

/// The caller's own samplers, which run in order before all others, on the model's original logits.
///
/// Each sequence gets its own [copy](Sampler::clone_box). Two lists are equal if they contain the same sampler objects,
/// rather than samplers with the same effect.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::samplers::{Candidates, OwnSamplers, Sampler};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// /// Makes the model say the opposite.
/// #[derive(Clone)]
/// struct Contrary;
///
/// impl Sampler for Contrary {
///     fn apply(&mut self, candidates: &mut Candidates) {
///         for logit in candidates.logits_mut() {
///             *logit = -*logit;
///         }
///     }
///
///     fn clone_box(&self) -> Box<dyn Sampler> {
///         Box::new(self.clone())
///     }
/// }
///
/// let vocabulary = Vocabulary::from_tokens(["a", "b"].map(|token| token.as_bytes().to_vec()), &[])?;
/// let mut scheduler = Scheduler::new(MockModel::new(2, 64, []), vocabulary.clone());
/// let mut first = |samplers| {
///     let options = GenerateOptions { samplers, max_new_tokens: Some(1), ..GenerateOptions::default() };
///     let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[]);
///     scheduler.run(Request::new([TokenId(0)], free).with_options(options))?.single()
/// };
/// let plain = first(OwnSamplers::default())?;
/// assert_ne!(first(OwnSamplers::new(Contrary))?.text, plain.text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct OwnSamplers(Vec<Arc<dyn Sampler + Sync>>);

impl OwnSamplers {
    /// Creates a list of one sampler.
    pub fn new(sampler: impl Sampler + Sync + 'static) -> Self {
        Self(vec![Arc::new(sampler)])
    }

    /// Appends a sampler.
    #[must_use]
    pub fn with(mut self, sampler: impl Sampler + Sync + 'static) -> Self {
        self.0.push(Arc::new(sampler));
        self
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns copies for a sequence.
    pub(super) fn copies(&self) -> Vec<Box<dyn Sampler>> {
        self.0.iter().map(|sampler| sampler.clone_box()).collect()
    }
}

impl PartialEq for OwnSamplers {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(a, b);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }
}

impl fmt::Debug for OwnSamplers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnSamplers")
            .field("len", &self.0.len())
            .finish()
    }
}
