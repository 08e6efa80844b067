//! Outputs that follow the model's own distribution, given a constraint.

use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    ExpectedGrammaticality, FaithfulOptions, FaithfulSamples, GenerateOptions, SmcOptions,
    SmcSamples,
};
use structgen_vocab::TokenId;

use crate::generate::{generator, under};
use crate::{Model, Result};

impl Model {
    /// Draws outputs whose distribution comes to the model's own, given the constraint, as more of them are drawn (ASAp).
    ///
    /// See [`Generator::sample_asap`](structgen_decode::Generator::sample_asap). The sampling's temperature has to be one, and nothing else on.
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and what faithful samplers refuse.
    pub fn sample_asap(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        faithful: &FaithfulOptions,
        learned: &mut ExpectedGrammaticality,
    ) -> Result<FaithfulSamples> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.sample_asap(prompt, constraint, options, faithful, learned)?)
        })
    }

    /// Draws outputs from the model's own distribution, given the constraint, exactly: by rejection that learns.
    ///
    /// See [`Generator::sample_by_rejection`](structgen_decode::Generator::sample_by_rejection).
    ///
    /// ```no_run
    /// use structgen::decode::{ExpectedGrammaticality, FaithfulOptions};
    /// use structgen::{Constraint, GenerateOptions, Model, ModelOptions, SamplingParams};
    ///
    /// let mut model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompt = model.encode_prompt("A number: ")?;
    /// let number = model.compile(&Constraint::regex("[0-9]+")?)?;
    /// let sampling = SamplingParams { temperature: 1.0, seed: 7, ..SamplingParams::default() };
    /// let options = GenerateOptions { sampling, max_new_tokens: Some(8), ..GenerateOptions::default() };
    /// let faithful = FaithfulOptions { outputs: 20, ..FaithfulOptions::default() };
    /// let mut learned = ExpectedGrammaticality::default();
    /// let samples = model.sample_by_rejection(&prompt, Some(&number), &options, &faithful, &mut learned)?;
    /// for output in &samples.outputs {
    ///     println!("{} {:.3}", output.generation.text, output.log_prob);
    /// }
    /// println!("at most {:.4} of what the model writes is a number", learned.log_bound(&[]).exp());
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and what faithful samplers refuse.
    pub fn sample_by_rejection(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        faithful: &FaithfulOptions,
        learned: &mut ExpectedGrammaticality,
    ) -> Result<FaithfulSamples> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.sample_by_rejection(prompt, constraint, options, faithful, learned)?)
        })
    }

    /// Draws weighted outputs that stand for the model's own distribution, given the constraint, the better the more particles there are.
    ///
    /// See [`Generator::sample_smc`](structgen_decode::Generator::sample_smc).
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and what faithful samplers refuse.
    pub fn sample_smc(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        smc: &SmcOptions,
    ) -> Result<SmcSamples> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.sample_smc(prompt, constraint, options, smc)?)
        })
    }
}
