//! Sequential Monte Carlo: particles side by side, of which those with weight go on.

use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use super::path::{Path, Place};
use super::runs::Runs;
use super::steps::{Steps, ln_mass, ln_of, ln_sum, ln_total};
use super::{FaithfulError, FaithfulOutput, ForcedEnd, Score, Template};
use crate::{
    AllowedTokens, Constraint, FinishReason, GenerateError, GenerateOptions, Generator,
    KeyValueCache, LanguageModel, Logits, SequenceRng, numeric,
};

/// How particles are followed.
#[derive(Debug, Clone, PartialEq)]
pub struct SmcOptions {
    /// How many particles, all of them in one run of the model.
    pub particles: usize,
    /// Particles are drawn anew when their effective number falls below this share of them, from 0 (never) to 1.
    pub threshold: f64,
    /// How they are drawn anew.
    pub resampling: Resampling,
    /// How the end counts where nothing can follow.
    pub forced_end: ForcedEnd,
}

impl Default for SmcOptions {
    /// 16 particles, drawn anew systematically when fewer than half of them count; their ends count.
    fn default() -> Self {
        Self {
            particles: 16,
            threshold: 0.5,
            resampling: Resampling::Systematic,
            forced_end: ForcedEnd::Counted,
        }
    }
}

/// How particles are drawn anew in proportion to their weights (Douc and Cappé 2005 compare the ways).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resampling {
    /// One random number, and equal steps from there through the weights: a particle with the weight of 2.3 goes on twice or three times.
    #[default]
    Systematic,
    /// A random number in each of as many equal parts as there are particles.
    Stratified,
    /// Independent draws.
    Multinomial,
}

/// Weighted outputs, which together stand for the target.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SmcSamples {
    /// The particles that became complete, in no order that means anything. An output may be there more than once. Their weights add up
    /// to one.
    pub outputs: Vec<FaithfulOutput>,
    /// The natural logarithm of an estimate of the model's probability of all complete outputs together. The estimate itself is unbiased.
    pub log_z: f64,
    /// The effective number of particles behind each run of the model: the square of the sum of the weights over the sum of their
    /// squares, before any drawing anew.
    pub effective: Vec<f64>,
    /// How often particles were drawn anew.
    pub resampled: usize,
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Draws weighted outputs by sequential Monte Carlo (Loula et al. 2025, "Syntactic and Semantic Control of Large Language Models via
    /// Sequential Monte Carlo").
    ///
    /// Each particle draws its tokens under the mask, and its weight takes the probability that the mask let through. Where few
    /// particles have most of the weight, all are drawn anew in proportion to it. The weighted outputs tend to the target as
    /// the number of particles grows: for few, the distribution of an output drawn by weight lies between that of masks and the target.
    ///
    /// The target counts the end as [`ForcedEnd`] says, and knows no steering: a particle that comes to the last of
    /// `max_new_tokens` without being complete has no weight. Particles that are equal share their runs of the model.
    ///
    /// ```
    /// use structgen_decode::{GenerateOptions, Generator, MockModel, SamplingParams, SmcOptions, Unconstrained};
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
    /// let smc = SmcOptions { particles: 32, ..SmcOptions::default() };
    /// let samples = Generator::new(&mut model, &vocabulary).sample_smc(&[TokenId(0)], &free, &options, &smc)?;
    /// let sum: f64 = samples.outputs.iter().map(|output| output.weight).sum();
    /// assert!((sum - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Generator::generate), and [`GenerateError::Faithful`], with [`FaithfulError::NoParticle`] where no particle
    /// became complete.
    pub fn sample_smc<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        options: &GenerateOptions,
        smc: &SmcOptions,
    ) -> Result<SmcSamples, GenerateError> {
        smc.validate()?;
        let template = Template::new(self, prompt, constraint, options, smc.forced_end)?;
        let prompt = template.sequence.all();
        let steps = Steps::new(self.model.info().logits_width, constraint.eos());
        let (runs, cache) = Runs::start(self.model, prompt, self.prefill_chunk)?;
        let seed = options.sampling.seed;
        let first = Particle {
            path: template.path(),
            scores: Vec::new(),
            ln_weight: 0.0,
            row: 0,
            finish: None,
        };
        let swarm = Swarm {
            runs,
            cache,
            template: &template,
            smc,
            steps,
            particles: vec![first; smc.particles],
            draws: (0..smc.particles as u64)
                .map(|number| SequenceRng::new(seed, number))
                .collect(),
            resampling: SequenceRng::resampling(seed),
            run: 0,
            effective: Vec::new(),
            resampled: 0,
        };
        swarm.run()
    }
}

impl SmcOptions {
    /// Checks every field.
    ///
    /// # Errors
    /// [`FaithfulError::OutOfRange`] for the first field that makes no sense.
    pub fn validate(&self) -> Result<(), FaithfulError> {
        let check = |name, value: f64, is_valid: bool, range| match is_valid {
            true => Ok(()),
            false => Err(FaithfulError::OutOfRange { name, value, range }),
        };
        let particles = self.particles as f64;
        check("particles", particles, self.particles > 0, "1 or more")?;
        let is_share = (0.0..=1.0).contains(&self.threshold);
        check("threshold", self.threshold, is_share, "from 0 to 1")
    }
}

/// An output on its way.
#[derive(Clone)]
struct Particle<C: Constraint + Clone> {
    path: Path<C>,
    scores: Vec<Score>,
    ln_weight: f64,
    /// Its row in the cache.
    row: usize,
    finish: Option<FinishReason>,
}

impl<C: Constraint + Clone> Particle<C> {
    fn goes_on(&self) -> bool {
        self.finish.is_none() && self.ln_weight > f64::NEG_INFINITY
    }

    /// Draws what comes at the next place, and takes what the mask let through as weight.
    fn step(
        &mut self,
        logits: &[f32],
        steps: &mut Steps,
        rng: &mut SequenceRng,
    ) -> Result<(), GenerateError> {
        let Some(place) = self.path.next_place().cloned() else {
            return Ok(());
        };
        let ln_total = ln_total(logits, self.path.seen())?;
        let allowed = steps.allowed(&place);
        let forced = allowed.count() == 1;
        let ln_kept = ln_mass(logits, &allowed, &[]) - ln_total;
        self.ln_weight += ln_kept;
        let Some(token) = steps.draw(logits, &place, &[], rng) else {
            return Ok(());
        };
        let ln_p = match place {
            // Whichever token ends: they count together.
            Place::ForcedEnd => ln_kept,
            _ => ln_of(logits, token) - ln_total,
        };
        self.scores.push(Score {
            ln_p,
            ln_kept,
            forced,
        });
        self.finish = self.path.finish(token);
        match self.finish {
            Some(_) => Ok(()),
            None => self.path.go_on(token),
        }
    }
}

/// All particles, finished ones included.
struct Swarm<'r, 'a, 'o, M: LanguageModel, C: Constraint + Clone> {
    runs: Runs<'r, M>,
    cache: M::Cache,
    template: &'r Template<'a, 'o, C>,
    smc: &'r SmcOptions,
    steps: Steps,
    particles: Vec<Particle<C>>,
    /// The random numbers of each place among the particles: two that were one go apart.
    draws: Vec<SequenceRng>,
    resampling: SequenceRng,
    /// How many places the model was asked about.
    run: usize,
    effective: Vec<f64>,
    resampled: usize,
}

impl<M: LanguageModel, C: Constraint + Clone> Swarm<'_, '_, '_, M, C> {
    fn run(mut self) -> Result<SmcSamples, GenerateError> {
        let particles = self.particles.len();
        loop {
            let n = self.look_ahead()?;
            if n == 0 {
                break;
            }
            if self.template.sequence.is_late() {
                // What is not complete by now has no weight.
                for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
                    particle.ln_weight = f64::NEG_INFINITY;
                }
                break;
            }
            self.step(n)?;
            self.resample();
        }
        let ln_sum = self.ln_sum_of_weights();
        if ln_sum == f64::NEG_INFINITY {
            return Err(FaithfulError::NoParticle { particles }.into());
        }
        let mut outputs = Vec::new();
        for particle in &self.particles {
            if let Some(finish) = &particle.finish
                && particle.ln_weight > f64::NEG_INFINITY
            {
                let (path, scores) = (&particle.path, &particle.scores);
                let output = self
                    .template
                    .output(path, finish.clone(), scores, &mut self.runs)?;
                outputs.push(FaithfulOutput {
                    weight: numeric::exp_f64(particle.ln_weight - ln_sum),
                    ..output
                });
            }
        }
        Ok(SmcSamples {
            outputs,
            log_z: ln_sum - numeric::ln(particles as f64),
            effective: self.effective,
            resampled: self.resampled,
        })
    }

    /// For how many places the model can be asked about all particles at once; zero where none goes on.
    fn look_ahead(&mut self) -> Result<usize, GenerateError> {
        let mut least: Option<usize> = None;
        for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
            let n = particle.path.look_ahead()?;
            match particle.path.next_place() {
                Some(Place::FreeEnd) => particle.finish = Some(FinishReason::ConstraintFinished),
                Some(Place::Nothing) => particle.ln_weight = f64::NEG_INFINITY,
                _ => least = Some(least.map_or(n, |least| least.min(n))),
            }
        }
        Ok(least.unwrap_or(0))
    }

    /// Runs the model on `n` tokens of each particle that goes on, and lets them draw.
    fn step(&mut self, n: usize) -> Result<(), GenerateError> {
        let start = self.run;
        let mut rows = Vec::new();
        let mut tokens: Vec<TokenId> = Vec::new();
        let mut alike: BTreeMap<(usize, Vec<TokenId>), usize> = BTreeMap::new();
        for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
            let new: Vec<TokenId> =
                { self.runs.tokens(particle.path.tokens(), start, n) }.collect();
            let before = particle.row;
            particle.row = *alike.entry((before, new)).or_insert_with_key(|(_, new)| {
                rows.push(before);
                tokens.extend(new);
                rows.len() - 1
            });
        }
        if !rows.iter().copied().eq(0..self.cache.rows()) {
            self.cache.select_rows(&rows)?;
        }
        let logits: Logits<'_> = self.runs.run(&tokens, n, &mut self.cache)?;
        self.run += n;
        for (particle, rng) in self.particles.iter_mut().zip(&mut self.draws) {
            for position in 0..n {
                if particle.goes_on() {
                    let row = logits.row(particle.row, position);
                    particle.step(row, &mut self.steps, rng)?;
                }
            }
        }
        Ok(())
    }

    fn ln_sum_of_weights(&self) -> f64 {
        ln_sum(self.particles.iter().map(|particle| particle.ln_weight))
    }

    /// Draws the particles anew if few of them have most of the weight.
    fn resample(&mut self) {
        let ln_sum = self.ln_sum_of_weights();
        if ln_sum == f64::NEG_INFINITY {
            self.effective.push(0.0);
            return;
        }
        let weights: Vec<f64> = { self.particles.iter() }
            .map(|particle| numeric::exp_f64(particle.ln_weight - ln_sum))
            .collect();
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        self.effective.push(effective);
        let n = weights.len() as f64;
        let has_to_go_on = self.particles.iter().any(Particle::goes_on);
        if effective >= self.smc.threshold * n || !has_to_go_on {
            return;
        }
        self.resampled += 1;
        let chosen = choose(&weights, self.smc.resampling, &mut self.resampling);
        // The sum of the weights stays: that keeps the estimate of Z unbiased.
        let ln_weight = ln_sum - numeric::ln(n);
        let chosen = chosen.into_iter().map(|i| Particle {
            ln_weight,
            ..self.particles[i].clone()
        });
        self.particles = chosen.collect();
    }
}

/// As many places as there are weights, which add up to one, each expected as often as its weight says.
fn choose(weights: &[f64], resampling: Resampling, rng: &mut SequenceRng) -> Vec<usize> {
    let n = weights.len();
    let first = rng.uniform();
    let mut marks: Vec<f64> = (0..n)
        .map(|i| {
            let within = match resampling {
                Resampling::Systematic => first,
                _ if i == 0 => first,
                _ => rng.uniform(),
            };
            match resampling {
                Resampling::Multinomial => within,
                _ => (i as f64 + within) / n as f64,
            }
        })
        .collect();
    marks.sort_by(f64::total_cmp);
    let last = weights
        .iter()
        .rposition(|&weight| weight > 0.0)
        .unwrap_or(0);
    let (mut at, mut sum) = (0, weights[0]);
    let mut chosen = Vec::with_capacity(n);
    for mark in marks {
        // Where rounding leaves the sum short of the mark, the last one with weight is the one.
        while sum <= mark && at < last {
            at += 1;
            sum += weights[at];
        }
        chosen.push(at);
    }
    chosen
}
