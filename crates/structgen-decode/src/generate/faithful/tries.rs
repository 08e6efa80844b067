//! ASAp and rejection: one output after another from the prompt on, each of which teaches the next.

use structgen_vocab::TokenId;

use super::learned::{ExpectedGrammaticality, NodeId, Situation};
use super::path::{Path, Place};
use super::runs::Runs;
use super::steps::{Steps, ln_mass, ln_of, ln_sum, ln_total};
use super::{FaithfulError, FaithfulOutput, ForcedEnd, Score, Template};
use crate::{
    AllowedTokens, Constraint, FinishReason, GenerateError, GenerateOptions, Generator,
    LanguageModel, SequenceRng, numeric,
};

/// How many outputs are drawn one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaithfulOptions {
    /// How many outputs.
    pub outputs: usize,
    /// After so many attempts at one output, the sampler gives up.
    pub attempts: u64,
    /// How the end counts where nothing can follow.
    pub forced_end: ForcedEnd,
}

impl Default for FaithfulOptions {
    /// One output in at most a thousand attempts; its end counts.
    fn default() -> Self {
        Self {
            outputs: 1,
            attempts: 1_000,
            forced_end: ForcedEnd::Counted,
        }
    }
}

/// Outputs that were drawn one after another.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FaithfulSamples {
    /// The outputs, in the order in which they were drawn.
    pub outputs: Vec<FaithfulOutput>,
    /// How often an output was begun.
    pub attempts: u64,
    /// Attempts that ended where the model drew a token that is not allowed.
    pub rejected: u64,
    /// Attempts that ended where nothing with any probability was left, or no tokens.
    pub unfinished: u64,
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Draws outputs by adaptive sampling with approximate expected futures (ASAp; Park et al. 2024, "Grammar-Aligned Decoding").
    ///
    /// Each token is drawn by the model's probability times the bound of what it leads to, among the allowed ones. The first output is what
    /// masks alone would give. With each, `learned` comes closer to the truth and the outputs' distribution to the target, the model's
    /// own one given the constraint; it is reached in the limit only. Outputs depend on those before, by what was learned.
    /// [`sample_by_rejection`](Generator::sample_by_rejection) learns the same and is exact from the first output on; this takes one attempt
    /// for each output.
    ///
    /// The target counts the end as [`ForcedEnd`] says, and knows no steering: an attempt that comes to the last of
    /// `max_new_tokens` without being complete is begun anew.
    ///
    /// ```
    /// use structgen_decode::{
    ///     ExpectedGrammaticality, FaithfulOptions, GenerateOptions, Generator, MockModel, SamplingParams, Unconstrained,
    /// };
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::from_tokens(
    ///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
    ///     &[(TokenId(3), "<eos>")],
    /// )?;
    /// let mut model = MockModel::new(4, 64, [TokenId(3)]);
    /// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
    /// let sampling = SamplingParams { temperature: 1.0, ..SamplingParams::default() };
    /// let options = GenerateOptions { sampling, max_new_tokens: Some(4), ..GenerateOptions::default() };
    /// let mut learned = ExpectedGrammaticality::default();
    /// let faithful = FaithfulOptions { outputs: 20, ..FaithfulOptions::default() };
    /// let samples = Generator::new(&mut model, &vocabulary)
    ///     .sample_asap(&[TokenId(0)], &free, &options, &faithful, &mut learned)?;
    /// assert_eq!(samples.outputs.len(), 20);
    /// assert!(learned.log_bound(&[]) < 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Generator::generate), and [`GenerateError::Faithful`].
    pub fn sample_asap<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        options: &GenerateOptions,
        faithful: &FaithfulOptions,
        learned: &mut ExpectedGrammaticality,
    ) -> Result<FaithfulSamples, GenerateError> {
        self.try_again(prompt, constraint, options, faithful, learned, false)
    }

    /// Draws outputs from the target exactly, each independent of the others: what the model would write, thrown away unless it is a complete
    /// output of at most `max_new_tokens` tokens.
    ///
    /// An attempt ends at the first token that is not allowed. What it told goes into `learned`, and no later attempt can fail
    /// in the same place (adaptive rejection): where the bound of a beginning is `c`, its allowed tokens
    /// share `c`, each by the model's probability times its own bound, and what is missing to `c` is the
    /// chance of rejection. The bounds' product telescopes to that of the empty beginning, so that each complete output comes with its
    /// probability over one constant. [`ExpectedGrammaticality::with_limit`] of zero makes it plain rejection.
    ///
    /// # Errors
    /// As [`generate`](Generator::generate), and [`GenerateError::Faithful`], with [`FaithfulError::Attempts`] where the model hardly ever
    /// writes a complete output.
    pub fn sample_by_rejection<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        options: &GenerateOptions,
        faithful: &FaithfulOptions,
        learned: &mut ExpectedGrammaticality,
    ) -> Result<FaithfulSamples, GenerateError> {
        self.try_again(prompt, constraint, options, faithful, learned, true)
    }

    fn try_again<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        options: &GenerateOptions,
        faithful: &FaithfulOptions,
        learned: &mut ExpectedGrammaticality,
        rejects: bool,
    ) -> Result<FaithfulSamples, GenerateError> {
        let template = Template::new(self, prompt, constraint, options, faithful.forced_end)?;
        let prompt = template.sequence.all();
        learned.enter(Situation {
            prompt: prompt.to_vec(),
            budget: template.budget,
            end: template.end,
        })?;
        let steps = Steps::new(self.model.info().logits_width, constraint.eos());
        let (runs, cache) = Runs::start(self.model, prompt, self.prefill_chunk)?;
        let mut tries = Tries {
            runs,
            cache,
            template: &template,
            learned,
            rejects,
            steps,
            known: Vec::new(),
            tokens: Vec::new(),
            beginnings: Vec::new(),
            scores: Vec::new(),
        };
        let mut samples = FaithfulSamples::default();
        let wanted = faithful.outputs;
        for number in 0..wanted {
            let mut rng = SequenceRng::new(options.sampling.seed, number as u64);
            let mut attempts = 0;
            let output = loop {
                let found = || Box::new(samples.clone());
                if template.sequence.is_late() {
                    let found = found();
                    return Err(FaithfulError::TimeLimit { wanted, found }.into());
                }
                if attempts == faithful.attempts {
                    let found = found();
                    return Err(FaithfulError::Attempts {
                        attempts,
                        wanted,
                        found,
                    }
                    .into());
                }
                attempts += 1;
                samples.attempts += 1;
                match tries.attempt(&mut rng)? {
                    (Outcome::Complete(finish), path) => {
                        break template.output(&path, finish, &tries.scores, &mut tries.runs)?;
                    }
                    (Outcome::Rejected, _) => samples.rejected += 1,
                    (Outcome::Unfinished, _) => samples.unfinished += 1,
                }
            };
            samples.outputs.push(output);
        }
        for output in &mut samples.outputs {
            output.weight = 1.0 / wanted as f64;
        }
        Ok(samples)
    }
}

/// How an attempt ended.
enum Outcome {
    Complete(FinishReason),
    Rejected,
    Unfinished,
}

/// What came of one place.
enum Visit {
    /// A token, and the beginning with it.
    Token(TokenId, NodeId),
    Rejected,
    /// No token has any probability left.
    Nothing,
}

struct Tries<'r, 'a, 'o, M: LanguageModel, C> {
    runs: Runs<'r, M>,
    cache: M::Cache,
    template: &'r Template<'a, 'o, C>,
    learned: &'r mut ExpectedGrammaticality,
    /// Whether what masks remove ends an attempt.
    rejects: bool,
    steps: Steps,
    /// The remembered tokens at a place; a buffer.
    known: Vec<TokenId>,
    /// The tokens of a run.
    tokens: Vec<TokenId>,
    /// The remembered beginnings of the attempt.
    beginnings: Vec<u32>,
    /// What the model said of the tokens of the attempt.
    scores: Vec<Score>,
}

impl<M: LanguageModel, C: Constraint + Clone> Tries<'_, '_, '_, M, C> {
    /// Draws an output from its beginning, and learns from it.
    fn attempt(&mut self, rng: &mut SequenceRng) -> Result<(Outcome, Path<C>), GenerateError> {
        self.runs.rewind(&mut self.cache)?;
        self.beginnings.clear();
        self.scores.clear();
        let mut path = self.template.path();
        let outcome = self.follow(&mut path, rng);
        self.learned.update(&self.beginnings);
        Ok((outcome?, path))
    }

    fn follow(
        &mut self,
        path: &mut Path<C>,
        rng: &mut SequenceRng,
    ) -> Result<Outcome, GenerateError> {
        let mut at = self.learned.root();
        loop {
            let n = path.look_ahead()?;
            if n > 0 {
                self.tokens.clear();
                let tokens = self.runs.tokens(path.tokens(), path.seen(), n);
                self.tokens.extend(tokens);
                let logits = self.runs.run(&self.tokens, n, &mut self.cache)?;
                for position in 0..n {
                    let Some(place) = path.next_place().cloned() else {
                        break;
                    };
                    let mut looking = Looking {
                        learned: self.learned,
                        steps: &mut self.steps,
                        known: &mut self.known,
                        rejects: self.rejects,
                        eos: self.template.sequence.constraint.eos(),
                    };
                    self.beginnings.extend(at);
                    let row = logits.row(0, position);
                    let (visit, score) = looking.visit(at, &place, row, path.seen(), rng)?;
                    match visit {
                        Visit::Rejected => return Ok(Outcome::Rejected),
                        Visit::Nothing => return Ok(Outcome::Unfinished),
                        Visit::Token(token, next) => {
                            self.scores.push(score);
                            if let Some(reason) = path.finish(token) {
                                return Ok(Outcome::Complete(reason));
                            }
                            path.go_on(token)?;
                            at = next;
                        }
                    }
                }
            }
            match path.next_place() {
                Some(Place::FreeEnd) => {
                    return Ok(Outcome::Complete(FinishReason::ConstraintFinished));
                }
                Some(Place::Nothing) => {
                    self.learned.set_rest(at, f64::NEG_INFINITY);
                    self.beginnings.extend(at);
                    return Ok(Outcome::Unfinished);
                }
                _ => {}
            }
        }
    }
}

/// What is needed at a place.
struct Looking<'v> {
    learned: &'v mut ExpectedGrammaticality,
    steps: &'v mut Steps,
    known: &'v mut Vec<TokenId>,
    rejects: bool,
    eos: &'v [TokenId],
}

impl Looking<'_> {
    /// Draws what comes at a place, each token by its probability times the bound of what it leads to.
    fn visit<K: AllowedTokens>(
        &mut self,
        at: NodeId,
        place: &Place<K>,
        logits: &[f32],
        step: usize,
        rng: &mut SequenceRng,
    ) -> Result<(Visit, Score), GenerateError> {
        let ln_total = ln_total(logits, step)?;
        let is_new = !self.learned.is_known(at);
        self.known.clear();
        self.known.extend(self.learned.tokens(at));
        let allowed = self.steps.allowed(place);
        let forced = allowed.count() == 1;
        let ln_rest = ln_mass(logits, &allowed, self.known) - ln_total;
        self.learned.set_rest(at, ln_rest);

        let rest = std::iter::once(ln_rest);
        let children = self.learned.children(at);
        let kept = rest
            .clone()
            .chain(children.clone().map(|(_, ln_p, _)| ln_p));
        let ln_kept = ln_sum(kept);
        let weighed = children.map(|(_, ln_p, ln_bound)| ln_p + ln_bound);
        let ln_bound = ln_sum(rest.chain(weighed));
        let score = |ln_p: f64| Score {
            ln_p,
            ln_kept,
            forced,
        };
        // What masks remove counts once, where a place is new: from then on the bounds of the beginnings before are without it.
        if self.rejects && is_new && rng.uniform() >= numeric::exp_f64(ln_bound) {
            return Ok((Visit::Rejected, score(0.0)));
        }
        if ln_bound == f64::NEG_INFINITY {
            return Ok((Visit::Nothing, score(0.0)));
        }
        let mut target = rng.uniform() - numeric::exp_f64(ln_rest - ln_bound);
        if target >= 0.0 {
            let mut drawn = None;
            for (token, ln_p, ln_bound_of) in self.learned.children(at) {
                let share = numeric::exp_f64(ln_p + ln_bound_of - ln_bound);
                if share > 0.0 {
                    drawn = Some((token, ln_p));
                    target -= share;
                    if target < 0.0 {
                        break;
                    }
                }
            }
            // Where rounding leaves no child, the rest has all.
            if let Some((token, ln_p)) = drawn {
                let next = self.learned.child(at, token);
                return Ok((Visit::Token(token, next), score(ln_p)));
            }
        }
        let Some(token) = self.steps.draw(logits, place, self.known, rng) else {
            return Ok((Visit::Nothing, score(0.0)));
        };
        if matches!(place, Place::ForcedEnd) {
            // Whichever token ends: they count together.
            return Ok((Visit::Token(token, None), score(ln_kept)));
        }
        let ln_p = ln_of(logits, token) - ln_total;
        if self.eos.contains(&token) {
            return Ok((Visit::Token(token, None), score(ln_p)));
        }
        let next = self.learned.add(at, token, ln_p);
        if next.is_some() {
            let at_place = self.known.partition_point(|&known| known < token);
            self.known.insert(at_place, token);
            let allowed = self.steps.allowed(place);
            let ln_rest = ln_mass(logits, &allowed, self.known) - ln_total;
            self.learned.set_rest(at, ln_rest);
        }
        Ok((Visit::Token(token, next), score(ln_p)))
    }
}
