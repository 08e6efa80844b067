//! A decoder in an ONNX Runtime session.

mod bare;
mod graph;
mod growing;
mod inputs;
mod load;
mod outputs;
mod padding;
mod slots;

pub use bare::BareRun;
pub use load::{LoadOptions, ModelSource};
pub(crate) use load::{refused, session_builder};

use structgen_decode::{
    LanguageModel, ModelError, ModelInfo,
    model::{ModelStats, RowId, RowRun, RunOutput, check_run},
};

use crate::cache::growing::GrowingRows;
use crate::cache::slots::SlotRows;
use graph::Graph;
use outputs::Outputs;

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
    /// The number of rows ever opened.
    opened: u64,
    /// Whether the graph leaves out padding on the left, so that rows of different lengths may share tensors.
    takes_padding: bool,
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

    /// The names and types of the graph's inputs, in its order.
    pub fn inputs(&self) -> Vec<(String, String)> {
        outlets(self.graph.session.inputs())
    }

    /// The names and types of the graph's outputs, in its order.
    pub fn outputs(&self) -> Vec<(String, String)> {
        outlets(self.graph.session.outputs())
    }

    fn next_row(&mut self) -> RowId {
        let row = RowId(self.opened);
        self.opened += 1;
        row
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
        Ok(row)
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.check_len(row, len)?;
        let fork = self.next_row();
        match &mut self.rows {
            Rows::Growing(rows) => rows.fork(row, len, fork),
            Rows::Slots(rows) => rows.fork(row, len, fork)?,
        }
        Ok(fork)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.check_len(row, len)?;
        match &mut self.rows {
            Rows::Growing(rows) => rows.cut(row, len),
            Rows::Slots(rows) => rows.cut(row, len),
        }
        Ok(())
    }

    fn close_row(&mut self, row: RowId) {
        match &mut self.rows {
            Rows::Growing(rows) => rows.close(row),
            Rows::Slots(rows) => rows.close(row),
        }
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        match &self.rows {
            Rows::Growing(rows) => rows.len(row),
            Rows::Slots(rows) => rows.len(row),
        }
    }

    fn row_bytes(&self, row: RowId) -> usize {
        match &self.rows {
            Rows::Growing(rows) => rows.bytes(row),
            Rows::Slots(rows) => rows.bytes(row),
        }
    }

    fn run(&mut self, runs: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        check_run(self, runs, hidden)?;
        let (graph, outputs) = (&mut self.graph, &mut self.outputs);
        let before = graph.stats.backend_time;
        outputs.clear();
        let places = match &mut self.rows {
            Rows::Growing(rows) => {
                let padding = self.takes_padding;
                let places = growing::run(graph, rows, padding, runs, hidden, outputs)?;
                rows.release_left_blocks();
                places
            }
            Rows::Slots(rows) => slots::run(graph, rows, runs, hidden, outputs)?,
        };
        let spent = graph.stats.backend_time.saturating_sub(before);
        let output = outputs.view(runs, &places, hidden)?;
        Ok(output.with_backend_time(spent))
    }

    fn stats(&self) -> ModelStats {
        self.graph.stats
    }
}

fn outlets(outlets: &[ort::value::Outlet]) -> Vec<(String, String)> {
    let pairs = outlets
        .iter()
        .map(|o| (o.name().to_owned(), o.dtype().to_string()));
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
