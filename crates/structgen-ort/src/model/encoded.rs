//! Rows of an encoder-decoder: the tokens of a text up to the one that starts the output are the encoder's input, and
//! those from there on are the decoder's.
//!
//! So a text is one list of tokens here as everywhere, and strategies, prefixes and forks need know nothing of
//! encoders: a row whose output has not begun holds tokens that nothing was computed of, and costs nothing to cut, to
//! fork or to run in pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use structgen_decode::{
    ModelError,
    model::{OutputStart, RowId, RowRun},
};
use structgen_vocab::TokenId;

use super::OrtModel;
use super::Rows;
use super::encoder::Encoder;
use super::graph::{Call, unexpected};
use super::inputs::Feed;
use super::outputs::OutputPlace;
use crate::cache::cross::{Attended, Attending, RecentlyAttended, Source};
use crate::cache::empty;
use crate::cache::growing::Block;

/// The encoder's side of a model.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) encoder: Encoder,
    start: OutputStart,
    rows: BTreeMap<RowId, Reading>,
    recent: RecentlyAttended,
}

/// What is known of a row's input.
#[derive(Debug, Clone)]
enum Reading {
    /// Its beginning. The decoder has no tokens.
    Collected(Vec<TokenId>),
    /// All of it, encoded. The decoder has at least one token.
    Encoded(Arc<Source>),
}

impl Reading {
    fn len(&self) -> usize {
        match self {
            Self::Collected(tokens) => tokens.len(),
            Self::Encoded(source) => source.tokens.len(),
        }
    }

    /// What a row holds after it is cut to `len` tokens.
    fn cut(&self, len: usize) -> Self {
        match self {
            Self::Encoded(source) if len > source.tokens.len() => self.clone(),
            Self::Encoded(source) => Self::Collected(source.tokens[..len].to_vec()),
            Self::Collected(tokens) => Self::Collected(tokens[..len.min(tokens.len())].to_vec()),
        }
    }
}

impl Encoded {
    pub(super) fn new(encoder: Encoder, start: OutputStart) -> Self {
        Self {
            encoder,
            start,
            rows: BTreeMap::new(),
            recent: RecentlyAttended::default(),
        }
    }

    pub(super) fn open(&mut self, row: RowId) {
        self.rows.insert(row, Reading::Collected(Vec::new()));
    }

    pub(super) fn close(&mut self, row: RowId) {
        self.rows.remove(&row);
        self.recent.release();
    }

    pub(super) fn fork(&mut self, row: RowId, len: usize, fork: RowId) {
        if let Some(reading) = self.rows.get(&row) {
            let reading = reading.cut(len);
            self.rows.insert(fork, reading);
        }
    }

    pub(super) fn cut(&mut self, row: RowId, len: usize) {
        if let Some(reading) = self.rows.get_mut(&row) {
            *reading = reading.cut(len);
        }
    }

    /// The number of tokens of a row that are the encoder's.
    pub(super) fn input_len(&self, row: RowId) -> usize {
        self.rows.get(&row).map_or(0, Reading::len)
    }

    /// The row's share of the tensors that its input became.
    pub(super) fn bytes(&self, row: RowId) -> usize {
        match self.rows.get(&row) {
            Some(Reading::Encoded(source)) => source.bytes() / Arc::strong_count(source),
            _ => 0,
        }
    }

    /// The source of another row with the same input.
    fn source_of(&self, input: &[TokenId]) -> Option<Arc<Source>> {
        self.rows.values().find_map(|reading| match reading {
            Reading::Encoded(source) if source.tokens == input => Some(Arc::clone(source)),
            _ => None,
        })
    }

    /// What the decoder attends to in a run of these rows, whose inputs are of one length.
    pub(super) fn attended(&mut self, rows: &[RowId]) -> Result<Arc<Attended>, ModelError> {
        let sources = rows.iter().map(|row| match self.rows.get(row) {
            Some(Reading::Encoded(source)) => Ok(Arc::clone(source)),
            _ => Err(ModelError::UnknownRow { row: *row }),
        });
        let sources = sources.collect::<Result<_, _>>()?;
        self.recent.of(sources)
    }

    /// A text before the tokens that a model is tried with.
    pub(super) fn start_of_attempt(&self, width: u32) -> Vec<TokenId> {
        let others = { (0..width).map(TokenId) }.filter(|&token| token != self.start.start);
        others.take(2).chain(self.start.tokens()).collect()
    }

    /// What a run does to a row that has no output yet.
    fn begin(&self, run: &RowRun<'_>) -> Result<Beginning, ModelError> {
        let before = match self.rows.get(&run.row) {
            Some(Reading::Collected(tokens)) => &tokens[..],
            _ => &[],
        };
        let text = [before, run.tokens].concat();
        let Some(at) = self.start.place(&text) else {
            return match run.positions {
                0 => Ok(Beginning::Collects(text)),
                _ => Err(ModelError::NoOutputStart {
                    start: self.start.start,
                }),
            };
        };
        let outputs = text.len() - at;
        if run.positions > outputs {
            return Err(ModelError::NoOutputStart {
                start: self.start.start,
            });
        }
        self.check_length(at)?;
        Ok(Beginning::Starts {
            input: text[..at].to_vec(),
            outputs,
        })
    }

    fn check_length(&self, needed: usize) -> Result<(), ModelError> {
        match needed <= self.start.longest {
            true => Ok(()),
            false => Err(ModelError::ContextOverflow {
                needed,
                context_length: self.start.longest,
            }),
        }
    }
}

/// What a run of a row without output comes to.
enum Beginning {
    /// The encoder's input is not complete.
    Collects(Vec<TokenId>),
    /// It is, and this many tokens of the run are the decoder's.
    Starts { input: Vec<TokenId>, outputs: usize },
}

impl OrtModel {
    /// Runs rows of an encoder-decoder. After an error each is as it was.
    pub(super) fn run_encoded(
        &mut self,
        runs: &[RowRun<'_>],
    ) -> Result<Vec<Vec<OutputPlace>>, ModelError> {
        let Some(encoded) = &self.encoded else {
            return Err(unexpected("the encoder", &[]));
        };
        let mut beginnings = Vec::with_capacity(runs.len());
        for run in runs {
            let decoded = self.cached_len(run.row).unwrap_or(0);
            beginnings.push(match decoded {
                0 => Some(encoded.begin(run)?),
                _ => None,
            });
            let outputs = match beginnings.last() {
                Some(Some(Beginning::Starts { outputs, .. })) => *outputs,
                Some(Some(Beginning::Collects(_))) => 0,
                _ => run.tokens.len(),
            };
            encoded.check_length(decoded + outputs)?;
        }
        let before: Vec<Option<Reading>> = { runs.iter() }
            .map(|run| encoded.rows.get(&run.row).cloned())
            .collect();
        let result = self.run_beginnings(runs, beginnings);
        if result.is_err() {
            for (run, reading) in runs.iter().zip(before) {
                if let Some(reading @ Reading::Collected(_)) = reading {
                    self.cut_cache(run.row, 0);
                    self.set_reading(run.row, reading);
                }
            }
        }
        result
    }

    fn run_beginnings(
        &mut self,
        runs: &[RowRun<'_>],
        beginnings: Vec<Option<Beginning>>,
    ) -> Result<Vec<Vec<OutputPlace>>, ModelError> {
        let mut places = vec![Vec::new(); runs.len()];
        let mut rest: Vec<(usize, RowRun<'_>)> = Vec::with_capacity(runs.len());
        for (at, (run, beginning)) in runs.iter().zip(beginnings).enumerate() {
            match beginning {
                None => rest.push((at, *run)),
                Some(Beginning::Collects(tokens)) => {
                    self.set_reading(run.row, Reading::Collected(tokens));
                }
                Some(Beginning::Starts { input, outputs }) => {
                    let place = self.start_output(run.row, input)?;
                    if run.positions == outputs {
                        places[at].push(place);
                    }
                    let tokens = &run.tokens[run.tokens.len() - outputs + 1..];
                    if !tokens.is_empty() {
                        let positions = run.positions.min(tokens.len());
                        let after = RowRun {
                            tokens,
                            positions,
                            ..*run
                        };
                        rest.push((at, after));
                    }
                }
            }
        }
        let (indices, rest): (Vec<usize>, Vec<RowRun<'_>>) = rest.into_iter().unzip();
        if rest.is_empty() {
            return Ok(places);
        }
        if self.is_one_step(&rest) {
            let found = self.run_step(&rest, false)?;
            for (at, place) in indices.into_iter().zip(found) {
                places[at].push(place);
            }
        } else {
            let found = self.run_in_steps(&rest, false)?;
            for (at, found) in indices.into_iter().zip(found) {
                places[at].extend(found);
            }
        }
        for places in &mut places {
            places.retain(|place| place.positions > 0);
        }
        Ok(places)
    }

    /// Encodes an input, and runs the token that starts the output.
    fn start_output(&mut self, row: RowId, input: Vec<TokenId>) -> Result<OutputPlace, ModelError> {
        let (Some(encoded), Rows::Growing(rows)) = (&mut self.encoded, &mut self.rows) else {
            return Err(unexpected("the encoder", &[]));
        };
        let known = encoded.source_of(&input);
        let fresh = match known {
            Some(_) => None,
            None => Some(encoded.encoder.states(&input)?),
        };
        let known_states = known.as_ref().map(|source| &source.states);
        let states = { known_states.or(fresh.as_ref()) }
            .ok_or_else(|| unexpected("the encoder's states", &[]))?;
        // The graph makes keys and values of the states, and takes none.
        let none = empty(&self.graph.signature.cross)?;
        let attending = Attending {
            rows: 1,
            len: input.len(),
            states,
            cross: &none,
        };
        let start = [encoded.start.start];
        let feed = Feed {
            tokens: &start,
            valid: 0..1,
        };
        let past = rows.assemble(&[row])?;
        // A decoder with an encoder has no states of fixed size.
        let states = self.states.assemble(&[None])?;
        let call = Call {
            rows: &[feed],
            columns: 1,
            positions: 1,
            hidden: false,
            counted: 1,
        };
        let grown = self
            .graph
            .run_growing(&call, &past, &states, Some(attending))?;
        let source = known.or_else(|| {
            Some(Arc::new(Source {
                tokens: input,
                states: fresh?,
                cross: grown.cross,
            }))
        });
        let source = source.ok_or_else(|| unexpected("the encoder's states", &[]))?;
        let run = self.outputs.keep(grown.given, 1, 1, 1, false)?;
        let block = Block::new(grown.present, vec![0], 1);
        rows.commit(&[row], block, 1);
        encoded.rows.insert(row, Reading::Encoded(source));
        Ok(OutputPlace {
            run,
            row: 0,
            positions: 1,
        })
    }

    fn set_reading(&mut self, row: RowId, reading: Reading) {
        if let Some(encoded) = &mut self.encoded {
            encoded.rows.insert(row, reading);
        }
    }
}
