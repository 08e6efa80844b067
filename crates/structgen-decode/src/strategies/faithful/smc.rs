//! Sequential Monte Carlo: parallel particles, of which those with weight are continued.

use std::collections::BTreeMap;
use std::sync::Arc;

use structgen_vocab::TokenId;

use super::allowed::{AllowedDraw, ln_mass, ln_of, ln_total};
use super::path::{Continuation, Path};
use super::{FaithfulError, Resampling, Score, SmcEstimates, SmcOptions, Template};
use crate::demand::{Demand, Given, RowDemand};
use crate::strategies::start::Resources;
use crate::task::{Context, Task, TaskSize};
use crate::{
    Constraint, FinishReason, GenerateError, GenerateOptions, Output, Outputs,
    constraint::AllowedTokens, numeric, request::Report, samplers::SequenceRng,
};

/// An output in progress.
#[derive(Clone)]
struct Particle<C: Constraint + Clone> {
    path: Path<C>,
    scores: Vec<Score>,
    ln_weight: f64,
    /// Its row in the last demand.
    row: usize,
    finish: Option<FinishReason>,
}

impl<C: Constraint + Clone> Particle<C> {
    fn goes_on(&self) -> bool {
        self.finish.is_none() && self.ln_weight > f64::NEG_INFINITY
    }

    /// Draws the token at the next position, and multiplies the weight by the mass that the mask kept.
    fn step(
        &mut self,
        logits: &[f32],
        draw: &mut AllowedDraw,
        rng: &mut SequenceRng,
    ) -> Result<(), GenerateError> {
        let Some(continuation) = self.path.next().cloned() else {
            return Ok(());
        };
        let ln_total = ln_total(logits, self.path.visited())?;
        let allowed = draw.allowed(&continuation);
        let forced = allowed.count() == 1;
        let ln_kept = ln_mass(logits, &allowed, &[]) - ln_total;
        self.ln_weight += ln_kept;
        let Some(token) = draw.draw(logits, &continuation, &[], rng) else {
            return Ok(());
        };
        let ln_p = match continuation {
            // Any end-of-sequence token ends the output: their probabilities are added.
            Continuation::ForcedEnd => ln_kept,
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

/// Particles that draw their tokens in lockstep. The rows of a demand are the distinct particles.
pub(crate) struct Smc<C: Constraint + Clone> {
    template: Template<C>,
    options: SmcOptions,
    draw: AllowedDraw,
    /// Includes finished ones. Before the first run there is one, of which the others will be copies.
    particles: Vec<Particle<C>>,
    /// The random numbers of each particle index: copies of a particle diverge.
    draws: Vec<SequenceRng>,
    seed: u64,
    resampling: SequenceRng,
    effective: Vec<f64>,
    resampled: usize,
    is_stopped: bool,
}

impl<C: Constraint + Clone> Smc<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        smc: SmcOptions,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        smc.validate()?;
        let template = Template::new(prompt, constraint, options, smc.forced_end, resources)?;
        let first = Particle {
            path: template.path(),
            scores: Vec::new(),
            ln_weight: 0.0,
            row: 0,
            finish: None,
        };
        let seed = options.sampling.seed;
        let eos = template.sequence.constraint.eos();
        Ok(Self {
            draw: AllowedDraw::new(resources.target.logits_width, eos),
            particles: vec![first],
            draws: Vec::new(),
            seed,
            resampling: SequenceRng::resampling(seed),
            effective: Vec::new(),
            resampled: 0,
            is_stopped: false,
            options: smc,
            template,
        })
    }

    /// Creates the particles, which costs memory, and therefore waits until the task is admitted.
    fn begin(&mut self) {
        if self.draws.is_empty()
            && let Some(first) = self.particles.pop()
        {
            let number = self.options.particles;
            self.particles = vec![first; number];
            let draws = (0..number as u64).map(|number| SequenceRng::new(self.seed, number));
            self.draws = draws.collect();
        }
    }

    /// Returns the number of positions for which all continuing particles need logits; zero if none continues.
    fn look_ahead(&mut self) -> Result<usize, GenerateError> {
        let mut least: Option<usize> = None;
        for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
            let n = particle.path.look_ahead()?;
            match particle.path.next() {
                Some(Continuation::FreeEnd) => {
                    particle.finish = Some(FinishReason::ConstraintFinished);
                }
                Some(Continuation::Nothing) => particle.ln_weight = f64::NEG_INFINITY,
                _ => least = Some(least.map_or(n, |least| least.min(n))),
            }
        }
        Ok(least.unwrap_or(0))
    }

    /// Returns the next `n` tokens of each continuing particle; equal particles share a row.
    fn rows(&mut self, n: usize) -> Vec<RowDemand> {
        let mut rows = Vec::new();
        let mut alike: BTreeMap<(usize, Vec<TokenId>), usize> = BTreeMap::new();
        for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
            let row = self.template.row(particle.row, &particle.path, n);
            let key = (row.parent, row.tokens.clone());
            particle.row = *alike.entry(key).or_insert_with(|| {
                rows.push(row);
                rows.len() - 1
            });
        }
        rows
    }

    fn ln_sum_of_weights(&self) -> f64 {
        numeric::ln_sum(self.particles.iter().map(|particle| particle.ln_weight))
    }

    /// Resamples the particles if few of them have most of the weight.
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
        if effective >= self.options.threshold * n || !has_to_go_on {
            return;
        }
        self.resampled += 1;
        let chosen = choose(&weights, self.options.resampling, &mut self.resampling);
        // The sum of the weights is preserved: that keeps the estimate of Z unbiased.
        let ln_weight = ln_sum - numeric::ln(n);
        let chosen = chosen.into_iter().map(|i| Particle {
            ln_weight,
            ..self.particles[i].clone()
        });
        self.particles = chosen.collect();
    }
}

impl<C: Constraint + Clone> Task for Smc<C> {
    fn advance(
        &mut self,
        _: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        if self.is_stopped {
            return Ok(());
        }
        self.begin();
        let n = self.look_ahead()?;
        self.is_stopped = self.template.sequence.is_late();
        if n > 0 && !self.is_stopped {
            let rows = self.rows(n);
            demands.push(self.template.demand(rows));
        }
        Ok(())
    }

    fn give(&mut self, _: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        self.template.count_run(given);
        for (particle, rng) in self.particles.iter_mut().zip(&mut self.draws) {
            let Some(output) = given.rows.get(particle.row) else {
                continue;
            };
            for position in 0..output.positions() {
                if particle.goes_on() {
                    particle.step(output.logits(position), &mut self.draw, rng)?;
                }
            }
        }
        if given.is_done {
            self.resample();
        }
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.template.sequence.most_tokens();
        TaskSize::new(self.options.particles, tokens)
    }

    fn stop(&mut self, _: FinishReason) {
        self.is_stopped = true;
    }

    fn finish(mut self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        // Incomplete particles have no weight.
        for particle in self.particles.iter_mut().filter(|p| p.goes_on()) {
            particle.ln_weight = f64::NEG_INFINITY;
        }
        let particles = self.options.particles;
        let ln_sum = self.ln_sum_of_weights();
        if ln_sum == f64::NEG_INFINITY {
            return Err(FaithfulError::NoParticle { particles }.into());
        }
        let mut outputs = Vec::new();
        for Particle {
            path,
            scores,
            ln_weight,
            finish,
            ..
        } in self.particles
        {
            if let Some(finish) = finish
                && ln_weight > f64::NEG_INFINITY
            {
                let number = outputs.len();
                let output = self.template.output(number, &path, finish, &scores, cx)?;
                outputs.push(Ok(Output {
                    weight: Some(numeric::exp_f64(ln_weight - ln_sum)),
                    ..output
                }));
            }
        }
        let report = Report::Smc(SmcEstimates {
            log_z: ln_sum - numeric::ln(particles as f64),
            effective: self.effective,
            resampled: self.resampled,
        });
        Ok(Outputs { outputs, report })
    }
}

/// Draws as many indices as there are weights, which sum to one, each in expectation in proportion to its weight.
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
        // If rounding leaves the sum short of the mark, take the last index with a weight.
        while sum <= mark && at < last {
            at += 1;
            sum += weights[at];
        }
        chosen.push(at);
    }
    chosen
}
