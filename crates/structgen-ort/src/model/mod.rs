//! A decoder in an ONNX Runtime session.

mod bare;
mod encoded;
mod encoder;
mod graph;
mod growing;
mod inputs;
mod load;
mod outputs;
mod probe;
mod slots;
mod steps;
mod texts;

pub use bare::BareRun;
pub use load::{LoadOptions, ModelSource};
pub(crate) use load::{refused, session_builder};

use structgen_decode::{
    LanguageModel, ModelError, ModelInfo,
    model::{ModelStats, RowId, RowRun, RunOutput, check_run},
};
use structgen_vocab::TokenId;

use crate::LoadNote;
use crate::cache::growing::GrowingRows;
use crate::cache::slots::SlotRows;
use crate::cache::states::StateRows;
use encoded::Encoded;
use graph::Graph;
use outputs::Outputs;
use probe::Abilities;
use texts::RowTexts;

/// A language model that ONNX Runtime runs.
///
/// Where the graph returns its cache, rows that are run together share tensors
/// ([`Packing::Uniform`](structgen_decode::model::Packing::Uniform)), and are fed back without a copy as long as the
/// same rows are run. Where it [writes its cache in place](OrtModel::shares_buffers), rows have buffers with room for
/// more ([`Packing::Slots`](structgen_decode::model::Packing::Slots)), and a token costs no copy at all.
///
/// ```no_run
/// use structgen_decode::LanguageModel;
/// use structgen_ort::{LoadOptions, OrtModel, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let model = OrtModel::open(runtime, "path/to/model".as_ref(), &LoadOptions::default())?;
/// println!("{} positions", model.info().context_length);
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug)]
pub struct OrtModel {
    graph: Graph,
    info: ModelInfo,
    rows: Rows,
    /// Their states of fixed size, where the graph has any.
    states: StateRows,
    /// The number of rows ever opened.
    opened: u64,
    /// What the graph does right, as far as it matters for how texts are cut into runs.
    abilities: Abilities,
    /// The rows' texts, where they may have to be run again: where rotary factors depend on their length, and where
    /// rows have states of fixed size.
    texts: Option<RowTexts>,
    /// The encoder and what its inputs became, for an encoder-decoder.
    encoded: Option<Encoded>,
    notes: Vec<LoadNote>,
    workspace_bytes_per_token: usize,
    /// What the last run returned, for views of it.
    outputs: Outputs,
}

/// The rows of a model, as its graph keeps them.
#[derive(Debug)]
enum Rows {
    Growing(GrowingRows),
    Slots(SlotRows),
}

impl OrtModel {
    /// Whether keys and values of past and present are one buffer, which each run writes to: what
    /// `past_present_share_buffer` in `genai_config.json` says.
    ///
    /// Then a token costs no copy of the past. On a device, such models run as others do: each run returns new tensors
    /// there.
    #[must_use]
    pub fn shares_buffers(&self) -> bool {
        matches!(self.rows, Rows::Slots(_))
    }

    /// The names and types of the graph's inputs, in its order; those of several graphs one after the other.
    pub fn inputs(&self) -> Vec<(String, String)> {
        outlets(self.graph.sessions().flat_map(|session| session.inputs()))
    }

    /// The names and types of the graph's outputs, in its order; those of several graphs one after the other.
    pub fn outputs(&self) -> Vec<(String, String)> {
        outlets(self.graph.sessions().flat_map(|session| session.outputs()))
    }

    /// What a user should know of how the model runs: what its graph cannot do, and what that costs.
    #[must_use]
    pub fn notes(&self) -> &[LoadNote] {
        &self.notes
    }

    /// The most bytes that a step takes beside the cache, for each position of each row: none where keys and values are
    /// read as the cache has them.
    ///
    /// Graphs that are exported by optimum repeat the keys and values of a layer for all heads of queries, and on the
    /// processor those in float16 widen them to float32. They do so layer by layer, so it is the size of one layer; and
    /// twice that, since it grows with the text, and the runtime's arena keeps the pieces that became too small.
    #[must_use]
    pub fn workspace_bytes_per_token(&self) -> usize {
        self.workspace_bytes_per_token
    }

    /// The most bytes that a row's states of fixed size take, with its snapshots; 0 for a model that has none.
    #[must_use]
    pub fn state_bytes_per_row(&self) -> usize {
        self.states.most_bytes()
    }

    fn next_row(&mut self) -> RowId {
        let row = RowId(self.opened);
        self.opened += 1;
        row
    }

    /// The number of tokens of a row whose keys and values are in the decoder's cache.
    fn cached_len(&self, row: RowId) -> Option<usize> {
        match &self.rows {
            Rows::Growing(rows) => rows.len(row),
            Rows::Slots(rows) => rows.len(row),
        }
    }

    /// Cuts a row's cache to a length, or where it has states to that of the last snapshot before it.
    fn cut_cache(&mut self, row: RowId, len: usize) {
        let len = self.states.cut(row, len);
        match &mut self.rows {
            Rows::Growing(rows) => rows.cut(row, len),
            Rows::Slots(rows) => rows.cut(row, len),
        }
    }

    /// Runs what the cache lacks of the rows' texts before a call, as far as that is best run by itself.
    fn catch_up(&mut self, runs: &[RowRun<'_>]) -> Result<(), ModelError> {
        let Some(texts) = self.texts.take() else {
            return Ok(());
        };
        let missing = runs.iter().filter_map(|run| {
            let cached = self.cached_len(run.row)?;
            let tokens = texts.missing(run.row, cached)?;
            let positions = 0;
            Some(RowRun {
                row: run.row,
                tokens,
                positions,
            })
        });
        let missing: Vec<RowRun<'_>> = missing.collect();
        let ran = match &missing[..] {
            [] => Ok(()),
            missing if self.is_one_step(missing) => self.run_step(missing, false).map(drop),
            missing => self.run_in_steps(missing, false).map(drop),
        };
        self.texts = Some(texts);
        // Nobody asked for these.
        self.outputs.clear();
        ran
    }

    /// What is run of the rows whose cache lacks the end of their texts, or has to be emptied; `None` where there are
    /// no texts.
    fn replayed(&mut self, runs: &[RowRun<'_>]) -> Option<Vec<Option<Vec<TokenId>>>> {
        self.texts.as_ref()?;
        let replayed = runs.iter().map(|run| {
            let texts = self.texts.as_mut()?;
            if texts.is_outgrown(run.row, run.tokens.len()) {
                self.cut_cache(run.row, 0);
            }
            let cached = self.cached_len(run.row)?;
            let texts = self.texts.as_ref()?;
            texts.replayed(run.row, cached, run.tokens)
        });
        Some(replayed.collect())
    }

    /// How many of a row's first `len` tokens stay in the decoder's cache.
    fn cached_of(&self, row: RowId, len: usize) -> usize {
        let input = { self.encoded.as_ref() }.map_or(0, |encoded| encoded.input_len(row));
        // What is to be run again has nothing in the cache.
        let cached = self.cached_len(row).unwrap_or(0);
        cached.min(len.saturating_sub(input))
    }

    /// Checks that a row has `wanted` tokens.
    fn check_len(&self, row: RowId, wanted: usize) -> Result<(), ModelError> {
        let len = self.row_len(row).ok_or(ModelError::UnknownRow { row })?;
        if wanted > len {
            return Err(ModelError::RowLength { row, len, wanted });
        }
        Ok(())
    }
}

impl LanguageModel for OrtModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        let row = self.next_row();
        match &mut self.rows {
            Rows::Growing(rows) => rows.open(row),
            Rows::Slots(rows) => rows.open(row),
        }
        if let Some(texts) = &mut self.texts {
            texts.open(row);
        }
        if let Some(encoded) = &mut self.encoded {
            encoded.open(row);
        }
        Ok(row)
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.check_len(row, len)?;
        let fork = self.next_row();
        let cached = self.cached_of(row, len);
        let cached = self.states.fork(row, cached, fork);
        match &mut self.rows {
            Rows::Growing(rows) => rows.fork(row, cached, fork),
            Rows::Slots(rows) => rows.fork(row, cached, fork)?,
        }
        if let Some(texts) = &mut self.texts {
            texts.fork(row, len, fork);
        }
        if let Some(encoded) = &mut self.encoded {
            encoded.fork(row, len, fork);
        }
        Ok(fork)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.check_len(row, len)?;
        if let Some(texts) = &mut self.texts {
            texts.cut(row, len);
        }
        let cached = self.cached_of(row, len);
        self.cut_cache(row, cached);
        if let Some(encoded) = &mut self.encoded {
            encoded.cut(row, len);
        }
        Ok(())
    }

    fn close_row(&mut self, row: RowId) {
        match &mut self.rows {
            Rows::Growing(rows) => rows.close(row),
            Rows::Slots(rows) => rows.close(row),
        }
        self.states.close(row);
        if let Some(texts) = &mut self.texts {
            texts.close(row);
        }
        if let Some(encoded) = &mut self.encoded {
            encoded.close(row);
        }
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        match (&self.texts, &self.encoded) {
            (Some(texts), _) => texts.len(row),
            (None, Some(encoded)) => Some(self.cached_len(row)? + encoded.input_len(row)),
            (None, None) => self.cached_len(row),
        }
    }

    fn row_bytes(&self, row: RowId) -> usize {
        let input = self
            .encoded
            .as_ref()
            .map_or(0, |encoded| encoded.bytes(row));
        let cached = match &self.rows {
            Rows::Growing(rows) => rows.bytes(row),
            Rows::Slots(rows) => rows.bytes(row),
        };
        input + cached + self.states.bytes(row)
    }

    fn run(&mut self, runs: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        check_run(self, runs, hidden)?;
        let before = self.graph.stats.backend_time;
        self.outputs.clear();
        self.catch_up(runs)?;
        let places = self.run_call(runs, hidden)?;
        if let Some(texts) = &mut self.texts {
            runs.iter()
                .for_each(|run| texts.commit(run.row, run.tokens));
        }
        let spent = self.graph.stats.backend_time.saturating_sub(before);
        let output = self.outputs.view(&places.by_row(), hidden)?;
        Ok(output.with_backend_time(spent))
    }

    fn stats(&self) -> ModelStats {
        self.graph.stats
    }
}

fn outlets<'o>(outlets: impl Iterator<Item = &'o ort::value::Outlet>) -> Vec<(String, String)> {
    let pairs = outlets.map(|o| (o.name().to_owned(), o.dtype().to_string()));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use structgen_vocab::TokenId;

    use super::*;
    use crate::{Device, LoadOptions};

    /// Opens a model of the tests' folder.
    pub(super) fn open(name: &str) -> OrtModel {
        let say = |line: &str| {
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ))
        };
        let runtime = crate::ensure_runtime(say).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(name);
        let options = LoadOptions {
            device: Device::cpu(1),
            ..LoadOptions::default()
        };
        OrtModel::open(runtime, &folder, &options).unwrap()
    }

    pub(super) fn tokens(ids: std::ops::Range<u32>) -> Vec<TokenId> {
        ids.map(TokenId).collect()
    }

    #[test]
    fn a_run_with_bound_outputs_equals_a_plain_one() {
        // The path that GPUs take, with the processor's memory in the place of theirs.
        for name in [
            "optimum",
            "float16",
            "merged",
            "genai_gpt2",
            "hidden_states",
            "hidden_states_float16",
        ] {
            let mut outputs = Vec::new();
            for bound in [false, true] {
                let mut model = open(name);
                if bound {
                    model.graph.cache_memory = Some(graph::cpu_memory().unwrap());
                }
                let hidden = model.info.hidden_width.is_some();
                let rows = [(); 2].map(|()| model.open_row().unwrap());
                let mut run = |model: &mut OrtModel, rows: &[RowId], ids| {
                    let ids = tokens(ids);
                    let runs: Vec<_> = rows.iter().map(|&row| RowRun::last(row, &ids)).collect();
                    for row in model.run(&runs, hidden).unwrap().rows() {
                        assert_eq!(row.hidden(0).is_some(), hidden);
                        outputs.push([row.last(), row.hidden(0).unwrap_or_default()].concat());
                    }
                };
                run(&mut model, &rows[..1], 3..6);
                run(&mut model, &rows, 6..7);
                model.cut_row(rows[0], 2).unwrap();
                run(&mut model, &rows, 7..9);
            }
            let (plain, bound) = outputs.split_at(5);
            assert_eq!(plain, bound, "{name}");
        }
    }
}
