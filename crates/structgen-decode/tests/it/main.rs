//! Decoding from the outside: strategies, batches, budgets and goldens, on models without weights.

mod batches;
mod beam_groups;
mod beams;
mod caches;
mod constrained;
mod contrast;
mod contrastive_search;
mod engine;
mod events;
mod faithful;
mod generate;
mod goldens;
mod heads;
mod jump_forward;
mod limits;
mod overlap;
mod results;
mod speculation;
mod steady_state;
mod strategies;
mod support;
mod temperatures;
