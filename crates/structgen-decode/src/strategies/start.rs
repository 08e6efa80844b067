//! Creates the tasks of a request by its strategy.

use std::sync::Arc;

use super::beam::BeamSearch;
use super::contrast::Contrast;
use super::contrastive_search::Search;
use super::faithful::{Attempts, Smc};
use super::sample::Sample;
use super::speculate::Speculate;
use crate::sequence::Codec;
use crate::task::Task;
use crate::{Constraint, GenerateError, ModelInfo, Request, Strategy};

/// The resources for creating tasks.
pub struct Resources<'a> {
    pub(crate) codec: &'a Codec,
    pub(crate) target: &'a ModelInfo,
    pub(crate) draft: Option<&'a ModelInfo>,
    /// The width of the hidden states that the heads accept, if there are heads.
    pub(crate) heads_width: Option<usize>,
}

/// Creates the tasks of a request, one per output that is found independently.
pub(crate) fn tasks<C: Constraint + Clone + 'static>(
    request: Request<C>,
    resources: &Resources<'_>,
) -> Result<Vec<Box<dyn Task>>, GenerateError> {
    let Request {
        prompt,
        constraint,
        options,
        strategy,
        ..
    } = request;
    strategy.check(&options)?;
    let tasks = strategy.count(&options);
    let options = Arc::new(options);
    let task = |number| -> Result<Box<dyn Task>, GenerateError> {
        let constraint = constraint.clone();
        Ok(match &strategy {
            Strategy::Sample => Box::new(Sample::start(
                &prompt, constraint, &options, number, resources,
            )?),
            Strategy::Speculate(speculation) => Box::new(Speculate::start(
                &prompt,
                constraint,
                &options,
                *speculation,
                number,
                resources,
            )?),
            Strategy::Beam(beams) => Box::new(BeamSearch::start(
                &prompt, constraint, &options, beams, resources,
            )?),
            Strategy::Guidance(guidance) => Box::new(Contrast::guided(
                &prompt, constraint, &options, guidance, number, resources,
            )?),
            Strategy::Contrastive(contrastive) => Box::new(Contrast::contrastive(
                &prompt,
                constraint,
                &options,
                *contrastive,
                number,
                resources,
            )?),
            Strategy::ContrastiveSearch(search) => Box::new(Search::start(
                &prompt, constraint, &options, *search, resources,
            )?),
            Strategy::Asap(asap) => Box::new(Attempts::start(
                &prompt,
                constraint,
                &options,
                asap.clone(),
                false,
                resources,
            )?),
            Strategy::Rejection(rejection) => Box::new(Attempts::start(
                &prompt,
                constraint,
                &options,
                rejection.clone(),
                true,
                resources,
            )?),
            Strategy::Smc(smc) => Box::new(Smc::start(
                &prompt,
                constraint,
                &options,
                smc.clone(),
                resources,
            )?),
        })
    };
    (0..tasks).map(task).collect()
}
