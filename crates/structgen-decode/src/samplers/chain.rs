mod contrast;
mod guided;

pub(crate) use contrast::{ContrastRule, Opinions};

use std::sync::Arc;

use structgen_vocab::TokenId;

use self::contrast::Contrast;
use self::guided::Guided;
use super::draw::Choice;
use super::history::sort_ids;
use super::{
    Accepted, AdaptiveP, BadWords, Dry, DynamicTemperature, Epsilon, Eta, ForcedTokens,
    FrequencyPresencePenalty, LengthDecay, LogitBias, MinLength, MinP, Mirostat, Mirostat2,
    NoRepeatNGram, OwnSamplers, RepetitionGuard, RepetitionPenalty, Sampler, SamplerKind,
    SamplingError, SamplingParams, SequenceStart, Suppress, Temperature, TopH, TopK, TopNSigma,
    TopP, TypicalP, Watermark, Xtc,
};
use crate::candidates::Largest;
use crate::{
    constraint::AllowedTokens,
    numeric,
    samplers::{Candidates, SequenceRng, masked_argmax},
};

/// Below this temperature, quotients may exceed the range of `f32`.
const SMALL_TEMPERATURE: f32 = 1e-3;

/// A sequence of samplers, and the choice after them: an arg-max or a seeded draw.
///
/// ```
/// use structgen_decode::{SamplingParams, samplers::{Candidates, SamplerChain}};
/// use structgen_vocab::TokenId;
///
/// let mut chain = SamplerChain::new(&SamplingParams::default(), 0)?;
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 2.0)]);
/// assert_eq!(chain.choose(&mut candidates).unwrap().token, TokenId(4));
/// # Ok::<(), structgen_decode::samplers::SamplingError>(())
/// ```
pub struct SamplerChain {
    samplers: Vec<Box<dyn Sampler>>,
    /// The kind of each sampler.
    kinds: Vec<SamplerKind>,
    /// Whether each sampler bans tokens.
    bans: Vec<bool>,
    choice: Choice,
    leading: Option<LeadingTopK>,
    /// Temperature, `p` and `min_keep` of a chain with no other samplers.
    only_top_p: Option<(f32, f32, usize)>,
    /// Present if a grammar sets the temperature.
    guided: Option<Guided>,
    /// Present if contrast scores replace the logits.
    contrast: Option<Contrast>,
    /// The caller's samplers, which come first.
    own: Vec<Box<dyn Sampler>>,
}

/// The start of a chain whose top-k comes first, or after a temperature, or after samplers that touch few tokens.
#[derive(Debug, Clone)]
struct LeadingTopK {
    /// The number of samplers before it.
    before: usize,
    k: usize,
    temperature: f32,
    /// Buffers for the tokens that the samplers before it touch, and for those of them that are allowed.
    touched: Vec<TokenId>,
    left_out: Vec<TokenId>,
}

impl SamplerChain {
    /// Creates the chain of sequence number `sequence` with these parameters.
    ///
    /// # Errors
    /// The errors of [`SamplingParams::validate`].
    pub fn new(params: &SamplingParams, sequence: u64) -> Result<Self, SamplingError> {
        params.validate()?;
        let on = params.order.iter().filter(|&&kind| params.is_on(kind));
        let kinds: Vec<SamplerKind> = on.copied().collect();
        let samplers = kinds.iter().map(|&kind| build(kind, params, sequence));
        let choice = if params.temperature == 0.0 {
            Choice::Largest
        } else {
            Choice::Draw(Box::new(SequenceRng::new(params.seed, sequence)))
        };
        Ok(Self {
            samplers: samplers.collect(),
            bans: bans(&kinds, params),
            choice,
            leading: leading_top_k(&kinds, params),
            only_top_p: match kinds[..] {
                [SamplerKind::TopP] => Some((1.0, params.top_p, params.min_keep)),
                [SamplerKind::Temperature, SamplerKind::TopP]
                    if params.dynamic_temperature.is_none() =>
                {
                    Some((params.temperature, params.top_p, params.min_keep))
                }
                _ => None,
            },
            guided: None,
            contrast: None,
            own: Vec::new(),
            kinds,
        })
    }

    /// Creates a chain for a constraint that sets temperatures
    /// ([`Constraint::sets_temperatures`](crate::Constraint::sets_temperatures)).
    /// [`set_temperature`](SamplerChain::set_temperature) sets that of the next token; while it is zero, the samplers
    /// that are off at temperature 0 are off.
    ///
    /// The temperature is applied at its place in the parameters' order, or last if it has none.
    ///
    /// # Errors
    /// The errors of [`SamplingParams::validate`].
    pub fn guided(params: &SamplingParams, sequence: u64) -> Result<Self, SamplingError> {
        params.validate()?;
        // A temperature other than zero and one includes every sampler that may ever be on.
        let warm = SamplingParams {
            temperature: if params.temperature == 0.0 {
                0.5
            } else {
                params.temperature
            },
            ..params.clone()
        };
        let is_temperature = |kind: SamplerKind| kind == SamplerKind::Temperature;
        let on = |&kind: &SamplerKind| warm.is_on(kind) || is_temperature(kind);
        let mut kinds: Vec<SamplerKind> = warm.order.iter().copied().filter(on).collect();
        if !kinds.iter().copied().any(is_temperature) {
            kinds.push(SamplerKind::Temperature);
        }
        let samplers = kinds.iter().map(|&kind| build(kind, &warm, sequence));
        let samplers: Vec<Box<dyn Sampler>> = samplers.collect();
        Ok(Self {
            guided: Guided::new(&kinds, &samplers, params),
            bans: bans(&kinds, params),
            samplers,
            choice: Choice::Draw(Box::new(SequenceRng::new(params.seed, sequence))),
            // These assume a fixed temperature.
            leading: None,
            only_top_p: None,
            contrast: None,
            own: Vec::new(),
            kinds,
        })
    }

    /// Creates the chain that decoding uses for sequence number `sequence`: [guided](SamplerChain::guided) if the
    /// sequence's constraint sets temperatures, with the caller's samplers first.
    ///
    /// # Errors
    /// The errors of [`SamplingParams::validate`].
    pub fn of_sequence(
        params: &SamplingParams,
        own: &OwnSamplers,
        sets_temperatures: bool,
        sequence: u64,
    ) -> Result<Self, SamplingError> {
        let chain = match sets_temperatures {
            true => Self::guided(params, sequence)?,
            false => Self::new(params, sequence)?,
        };
        Ok(chain.with_own(own))
    }

    /// Sets the temperature for choosing the next token; `None` restores the chain's own. It has no effect on a chain
    /// that is not [guided](SamplerChain::guided).
    ///
    /// ```
    /// use structgen_decode::{SamplingParams, samplers::{Candidates, SamplerChain}};
    /// use structgen_vocab::TokenId;
    ///
    /// let params = SamplingParams { temperature: 1.0, ..SamplingParams::default() };
    /// let mut chain = SamplerChain::guided(&params, 0)?;
    /// chain.set_temperature(Some(0.0));
    /// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 0.6)]);
    /// let chosen = chain.choose(&mut candidates).unwrap();
    /// assert_eq!((chosen.token, chosen.probability), (TokenId(4), None));
    /// # Ok::<(), structgen_decode::samplers::SamplingError>(())
    /// ```
    pub fn set_temperature(&mut self, temperature: Option<f32>) {
        if let Some(guided) = &mut self.guided {
            guided.set(temperature, &mut self.samplers);
        }
    }

    /// Returns whether [`set_temperature`](SamplerChain::set_temperature) has an effect.
    pub fn is_guided(&self) -> bool {
        self.guided.is_some()
    }

    /// From now on, replaces the logits by this rule's scores, before all samplers.
    /// [`set_opinions`](SamplerChain::set_opinions) provides their inputs before each choice.
    pub(crate) fn set_contrast(&mut self, rule: ContrastRule) {
        self.contrast = Some(Contrast::new(rule));
        // Both would bypass the scores.
        self.leading = None;
        self.only_top_p = None;
    }

    /// Adds the caller's samplers before the chain's own.
    #[must_use]
    pub fn with_own(mut self, own: &OwnSamplers) -> Self {
        if !own.is_empty() {
            self.own = own.copies();
            // Both would bypass them.
            self.leading = None;
            self.only_top_p = None;
        }
        self
    }

    /// Returns whether there are samplers of the caller's.
    pub(crate) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns the allowed tokens, after the caller's samplers.
    pub(crate) fn own(&mut self, logits: &[f32], allowed: &impl AllowedTokens) -> Candidates {
        let mut candidates = Candidates::default();
        self.fill_own(&mut candidates, logits, allowed);
        candidates
    }

    /// Returns the logarithm of the sum of the exponentials of the allowed logits, after the caller's samplers; `None`
    /// if no logit is above `-inf`.
    pub(crate) fn own_log_sum_exp(
        &mut self,
        candidates: &mut Candidates,
        logits: &[f32],
        allowed: &impl AllowedTokens,
    ) -> Option<f64> {
        self.fill_own(candidates, logits, allowed);
        numeric::log_sum_exp(candidates.logits())
    }

    fn fill_own(
        &mut self,
        candidates: &mut Candidates,
        logits: &[f32],
        allowed: &impl AllowedTokens,
    ) {
        candidates.fill(logits, allowed, &[]);
        for sampler in &mut self.own {
            sampler.apply(candidates);
        }
    }

    /// Sets the logits that the next choice contrasts, if the chain [does so](SamplerChain::set_contrast).
    pub(crate) fn set_opinions(&mut self, opinions: Arc<Opinions>) {
        if let Some(contrast) = &mut self.contrast {
            contrast.opinions = opinions;
        }
    }

    /// Fills `candidates` with the allowed tokens, except `banned` (sorted), for [`choose`](SamplerChain::choose).
    ///
    /// Tokens that the chain would remove before looking at any other may be omitted at once, which changes neither the
    /// chosen token nor its probability.
    pub fn fill(
        &mut self,
        candidates: &mut Candidates,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
    ) {
        let Some(leading) = &mut self.leading else {
            candidates.fill(logits, allowed, banned);
            return;
        };
        leading.touched.clear();
        let before = &mut self.samplers[..leading.before];
        let touched = &mut leading.touched;
        // A list is short: omitting some of it costs more than it saves.
        let few = before.iter_mut().all(|sampler| {
            let at = touched.len();
            let few = sampler.touched(touched);
            // Penalties mostly touch the same tokens.
            if touched[..at] == touched[at..] {
                touched.truncate(at);
            }
            few
        });
        if allowed.list().is_some() || !few {
            candidates.fill(logits, allowed, banned);
            return;
        }
        sort_ids(touched);
        touched.retain(|id| banned.binary_search(id).is_err());
        leading.left_out.clear();
        leading.left_out.extend(banned.iter().chain(&*touched));
        sort_ids(&mut leading.left_out);
        let largest = Largest {
            k: leading.k,
            temperature: leading.temperature,
            also: &leading.touched,
            left_out: &leading.left_out,
        };
        candidates.fill_largest(logits, allowed, banned, &largest);
    }

    /// Combines [`fill`](SamplerChain::fill) and [`choose`](SamplerChain::choose), without a list of candidates if none
    /// is needed: for an arg-max, and for top-p alone. The contents of `candidates` afterwards are unspecified.
    pub fn pick(
        &mut self,
        candidates: &mut Candidates,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
    ) -> Option<Accepted> {
        if self.is_plain_argmax() {
            return masked_argmax(logits, allowed, banned).map(Accepted::certain);
        }
        if let (Some(top_p), Choice::Draw(rng), None) =
            (self.only_top_p, &mut self.choice, allowed.list())
        {
            let drawn = candidates.draw_nucleus(logits, allowed, banned, top_p, rng);
            return drawn.map(|(token, probability)| Accepted::drawn(token, probability));
        }
        self.fill(candidates, logits, allowed, banned);
        self.choose(candidates)
    }

    /// Returns whether the chain only picks the largest logit, so that no list of candidates is needed.
    pub fn is_plain_argmax(&self) -> bool {
        self.is_plain() && matches!(self.choice, Choice::Largest)
    }

    /// Runs the samplers and chooses a candidate; returns `None` if no candidate has a logit above `-inf`.
    ///
    /// The samplers' state does not change until [`accept`](SamplerChain::accept).
    pub fn choose(&mut self, candidates: &mut Candidates) -> Option<Accepted> {
        self.apply(candidates);
        self.draw_applied(candidates)
    }

    /// Chooses one of the candidates that the samplers left: the second half of [`choose`](SamplerChain::choose).
    pub fn draw_applied(&mut self, candidates: &mut Candidates) -> Option<Accepted> {
        match self.is_greedy() {
            true => Choice::Largest.choose(candidates),
            false => self.choice.choose(candidates),
        }
    }

    /// Runs the samplers: the softmax of the remaining candidates is the distribution from which
    /// [`choose`](SamplerChain::choose) draws.
    ///
    /// If the chain [is greedy](SamplerChain::is_greedy), it takes the largest instead.
    pub fn apply(&mut self, candidates: &mut Candidates) {
        self.apply_with(candidates, &mut |_, _| {});
    }

    /// Like [`apply`](SamplerChain::apply), but shows the candidates after each sampler to a callback: after the
    /// caller's samplers, if there are any, with `None`, and after each of the chain's own with its kind.
    ///
    /// ```
    /// use structgen_decode::{SamplingParams, samplers::{Candidates, SamplerChain, SamplerKind}};
    /// use structgen_vocab::TokenId;
    ///
    /// let params = SamplingParams { temperature: 0.5, top_k: 1, ..SamplingParams::default() };
    /// let mut chain = SamplerChain::new(&params, 0)?;
    /// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 2.0)]);
    /// let mut left = Vec::new();
    /// chain.apply_shown(&mut candidates, |sampler, candidates| left.push((sampler, candidates.len())));
    /// assert_eq!(left, [(Some(SamplerKind::Temperature), 2), (Some(SamplerKind::TopK), 1)]);
    /// # Ok::<(), structgen_decode::samplers::SamplingError>(())
    /// ```
    pub fn apply_shown(
        &mut self,
        candidates: &mut Candidates,
        mut show: impl FnMut(Option<SamplerKind>, &mut Candidates),
    ) {
        self.apply_with(candidates, &mut show);
    }

    fn apply_with(
        &mut self,
        candidates: &mut Candidates,
        show: &mut impl FnMut(Option<SamplerKind>, &mut Candidates),
    ) {
        if let Some(contrast) = &self.contrast {
            contrast.score(candidates);
        }
        for sampler in &mut self.own {
            sampler.apply(candidates);
        }
        if !self.own.is_empty() {
            show(None, candidates);
        }
        // Bans first: after the cut, only banned candidates might be left, so that bans would be lifted.
        self.apply_those(true, candidates, show);
        if let Some(contrast) = &self.contrast {
            contrast.keep_plausible(candidates);
        }
        self.apply_those(false, candidates, show);
    }

    /// Runs the samplers that come before the cut of contrasting, or those after it.
    fn apply_those(
        &mut self,
        first: bool,
        candidates: &mut Candidates,
        show: &mut impl FnMut(Option<SamplerKind>, &mut Candidates),
    ) {
        let cuts = self.contrast.as_ref().is_some_and(Contrast::cuts);
        for (place, sampler) in self.samplers.iter_mut().enumerate() {
            let guided = self.guided.as_ref();
            let is_first = cuts && self.bans[place];
            if is_first == first && guided.is_none_or(|guided| guided.is_on(place)) {
                sampler.apply(candidates);
                show(Some(self.kinds[place]), candidates);
            }
        }
    }

    /// Returns whether no sampler is on, so that [`apply`](SamplerChain::apply) changes nothing.
    pub fn is_plain(&self) -> bool {
        self.samplers.is_empty() && self.own.is_empty() && self.contrast.is_none()
    }

    /// Returns whether the chain takes the largest candidate and draws no random numbers.
    pub fn is_greedy(&self) -> bool {
        match &self.guided {
            Some(guided) => guided.is_greedy(),
            None => matches!(self.choice, Choice::Largest),
        }
    }

    /// Returns the next random number of the sequence, uniform in `[0, 1)`; `None` if the chain is greedy.
    pub(crate) fn uniform(&mut self) -> Option<f64> {
        let is_greedy = self.is_greedy();
        match &mut self.choice {
            Choice::Draw(rng) if !is_greedy => Some(rng.uniform()),
            _ => None,
        }
    }

    /// Notifies every sampler of a token that became part of the output.
    pub fn accept(&mut self, accepted: Accepted) {
        for sampler in self.own.iter_mut().chain(&mut self.samplers) {
            sampler.accept(accepted);
        }
    }

    /// Starts a new sequence. The random numbers continue.
    pub fn reset(&mut self, start: SequenceStart<'_>) {
        for sampler in self.own.iter_mut().chain(&mut self.samplers) {
            sampler.reset(start);
        }
    }
}

impl Clone for SamplerChain {
    fn clone(&self) -> Self {
        Self {
            samplers: self.samplers.iter().map(|s| s.clone_box()).collect(),
            own: self.own.iter().map(|s| s.clone_box()).collect(),
            kinds: self.kinds.clone(),
            bans: self.bans.clone(),
            choice: self.choice.clone(),
            leading: self.leading.clone(),
            only_top_p: self.only_top_p,
            guided: self.guided.clone(),
            contrast: self.contrast.clone(),
        }
    }
}

impl std::fmt::Debug for SamplerChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamplerChain")
            .field("samplers", &self.samplers.len())
            .field("choice", &self.choice)
            .finish()
    }
}

/// Returns, for each sampler, whether it bans tokens, whatever the other candidates are.
fn bans(kinds: &[SamplerKind], params: &SamplingParams) -> Vec<bool> {
    use SamplerKind as S;
    let is_ban = |kind: &SamplerKind| match kind {
        S::ForcedTokens | S::Suppress | S::MinLength | S::BadWords | S::NoRepeatNgram => true,
        S::LogitBias => params.logit_bias.values().any(|&b| b == f32::NEG_INFINITY),
        _ => false,
    };
    kinds.iter().map(is_ban).collect()
}

/// Returns whether top-k comes before every sampler that looks at more than a few tokens.
fn leading_top_k(kinds: &[SamplerKind], params: &SamplingParams) -> Option<LeadingTopK> {
    let at = kinds.iter().position(|&kind| kind == SamplerKind::TopK)?;
    if params.top_k_ties {
        return None;
    }
    let few_touched = at > 0 && kinds[0] != SamplerKind::Temperature;
    if few_touched && params.temperature < SMALL_TEMPERATURE {
        // Which logits become equal by division then depends on the largest one, which a sampler may change.
        return None;
    }
    let (before, temperature) = match kinds[..at].split_last() {
        Some((SamplerKind::Temperature, before)) if params.dynamic_temperature.is_none() => {
            (before.len(), params.temperature)
        }
        _ => (at, 1.0),
    };
    Some(LeadingTopK {
        before,
        k: params.top_k,
        temperature,
        touched: Vec::with_capacity(1024),
        left_out: Vec::with_capacity(1024),
    })
}

fn build(kind: SamplerKind, params: &SamplingParams, sequence: u64) -> Box<dyn Sampler> {
    use SamplerKind as S;
    let p = params;
    let tokens = |ids: &[u32]| ids.iter().copied().map(TokenId).collect();
    match kind {
        S::ForcedTokens => {
            let forced = p.forced_tokens.iter();
            Box::new(ForcedTokens::new(
                forced.map(|(&at, &id)| (at, TokenId(id))).collect(),
            ))
        }
        S::Suppress => Box::new(Suppress::new(tokens(&p.suppress))),
        S::LogitBias => {
            let bias = p.logit_bias.iter();
            Box::new(LogitBias::new(
                bias.map(|(&id, &b)| (TokenId(id), b)).collect(),
            ))
        }
        S::MinLength => Box::new(MinLength::new(p.min_length, 0)),
        S::BadWords => Box::new(BadWords::new(
            p.bad_words.iter().map(|ids| tokens(ids)).collect(),
        )),
        S::RepetitionPenalty => Box::new(
            RepetitionPenalty::new(p.repetition_penalty)
                .within(p.repetition_scope, p.repetition_window),
        ),
        S::RepetitionGuard => {
            Box::new(RepetitionGuard::new(p.repetition_guard.unwrap_or_default()))
        }
        S::FrequencyPresencePenalty => Box::new(
            FrequencyPresencePenalty::new(p.frequency_penalty, p.presence_penalty)
                .within(p.frequency_scope, p.frequency_window),
        ),
        S::Dry => Box::new(Dry::new(&p.dry.clone().unwrap_or_default())),
        S::NoRepeatNgram => Box::new(NoRepeatNGram::new(p.no_repeat_ngram)),
        S::LengthDecay => {
            let (start, factor) = p.length_decay.map_or((0, 1.0), |d| (d.start, d.factor));
            Box::new(LengthDecay::new(start, factor))
        }
        S::TopNSigma => Box::new(TopNSigma::new(p.top_n_sigma)),
        S::Temperature => match p.dynamic_temperature {
            Some(dynamic) => Box::new(DynamicTemperature::new(
                (p.temperature - dynamic.range).max(0.0),
                p.temperature + dynamic.range,
                dynamic.exponent,
            )),
            None => Box::new(Temperature::new(p.temperature)),
        },
        S::TopH => Box::new(TopH::new(p.top_h)),
        S::TopK => match TopK::new(p.top_k) {
            top_k if p.top_k_ties => Box::new(top_k.with_ties()),
            top_k => Box::new(top_k),
        },
        S::TypicalP => Box::new(TypicalP::new(p.typical_p, p.min_keep)),
        S::TopP => Box::new(TopP::new(p.top_p, p.min_keep)),
        S::MinP => Box::new(MinP::new(p.min_p, p.min_keep)),
        S::Epsilon => Box::new(Epsilon::new(p.epsilon_cutoff, p.min_keep)),
        S::Eta => Box::new(Eta::new(p.eta_cutoff, p.min_keep)),
        S::Xtc => {
            let (probability, threshold) =
                p.xtc.map_or((0.0, 1.0), |x| (x.probability, x.threshold));
            let coins = SequenceRng::coins(p.seed, sequence);
            Box::new(Xtc::new(probability, threshold, p.min_keep, coins))
        }
        S::Watermark => Box::new(Watermark::new(p.watermark.unwrap_or_default())),
        S::Mirostat => {
            let mirostat = p.mirostat.unwrap_or_default();
            if mirostat.version == 1 {
                Box::new(Mirostat::new(mirostat.tau, mirostat.eta))
            } else {
                Box::new(Mirostat2::new(mirostat.tau, mirostat.eta))
            }
        }
        S::AdaptiveP => {
            let adaptive = p.adaptive_p.unwrap_or_default();
            Box::new(AdaptiveP::new(adaptive.target, adaptive.decay))
        }
    }
}

#[cfg(test)]
mod tests;
