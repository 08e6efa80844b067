//! What the decoder of an encoder-decoder attends to besides its own text: the encoder's states of an input, and keys
//! and values that the decoder has made of them once, layer by layer.

use std::sync::Arc;

use ort::value::DynValue;
use structgen_decode::ModelError;
use structgen_vocab::TokenId;

use super::tensors::stacked;

/// An input that was encoded. Rows that go on from one input share it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) tokens: Vec<TokenId>,
    /// `[1, tokens, width]`.
    pub(crate) states: DynValue,
    /// `[1, heads, tokens, size of a head]` each.
    pub(crate) cross: Vec<DynValue>,
}

impl Source {
    /// The bytes of all tensors.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = self.cross.iter().chain([&self.states]);
        tensors.map(super::tensors::bytes).sum()
    }
}

/// What the rows of one run attend to, all of one length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attending<'t> {
    pub(crate) rows: usize,
    /// The number of tokens of each input.
    pub(crate) len: usize,
    pub(crate) states: &'t DynValue,
    pub(crate) cross: &'t [DynValue],
}

/// The sources of the rows of one run, and their tensors as the run takes them.
#[derive(Debug)]
pub(crate) struct Attended {
    sources: Vec<Arc<Source>>,
    /// The tensors of several rows: states, and then keys and values.
    stacked: Option<(DynValue, Vec<DynValue>)>,
}

impl Attended {
    fn new(sources: Vec<Arc<Source>>) -> Result<Self, ModelError> {
        let stacked = match &sources[..] {
            [_] => None,
            sources => {
                let of = |tensor: &dyn Fn(&Source) -> &DynValue| {
                    let tensors = sources.iter().map(|source| tensor(source));
                    stacked(&tensors.collect::<Vec<_>>())
                };
                let count = sources.first().map_or(0, |source| source.cross.len());
                let cross = (0..count).map(|at| of(&|source| &source.cross[at]));
                Some((
                    of(&|source| &source.states)?,
                    cross.collect::<Result<_, _>>()?,
                ))
            }
        };
        Ok(Self { sources, stacked })
    }

    pub(crate) fn view(&self) -> Option<Attending<'_>> {
        let first = self.sources.first()?;
        let (states, cross) = match &self.stacked {
            Some((states, cross)) => (states, &cross[..]),
            None => (&first.states, &first.cross[..]),
        };
        Some(Attending {
            rows: self.sources.len(),
            len: first.tokens.len(),
            states,
            cross,
        })
    }
}

/// The tensors of the last runs of several rows. The same rows run together again and again, and their inputs stay.
#[derive(Debug, Default)]
pub(crate) struct RecentlyAttended(Vec<Arc<Attended>>);

impl RecentlyAttended {
    /// Groups of rows that run in turns.
    const MOST: usize = 4;

    /// The tensors of these sources, in this order.
    pub(crate) fn of(&mut self, sources: Vec<Arc<Source>>) -> Result<Arc<Attended>, ModelError> {
        let is_same = |attended: &Arc<Attended>| {
            attended.sources.len() == sources.len() && { attended.sources.iter().zip(&sources) }
                .all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some(at) = self.0.iter().position(is_same) {
            let attended = self.0.remove(at);
            self.0.push(Arc::clone(&attended));
            return Ok(attended);
        }
        let attended = Arc::new(Attended::new(sources)?);
        if attended.stacked.is_some() {
            if self.0.len() == Self::MOST {
                self.0.remove(0);
            }
            self.0.push(Arc::clone(&attended));
        }
        Ok(attended)
    }

    /// Forgets tensors of sources that no row has any more.
    pub(crate) fn release(&mut self) {
        let all = self.0.iter().flat_map(|attended| &attended.sources);
        let held: Vec<*const Source> = all.map(Arc::as_ptr).collect();
        self.0.retain(|attended| {
            { attended.sources.iter() }.all(|source| {
                let own = held.iter().filter(|&&other| other == Arc::as_ptr(source));
                Arc::strong_count(source) > own.count()
            })
        });
    }
}
