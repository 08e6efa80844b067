//! Runs of graphs whose past and present are one buffer.
//!
//! Such a graph has ONNX Runtime's operator `GroupQueryAttention`: where it finds past and present in the same memory, it writes new keys and values
//! behind those that are there. How many these are it takes from the attention mask, as a number for each row; so rows begin at the beginning of their
//! buffer, and are padded on the right. It takes several tokens of several rows only where nothing was run before. Ours are padded on the left
//! and may be anywhere: rows that it would not take together are run one after the other, each in a buffer of its own.

use std::error::Error;
use std::ops::Range;
use std::time::Instant;

use ort::session::SessionInputValue;
use ort::value::DynValue;
use structgen_decode::{Forward, LanguageModel, Logits, ModelError, ModelStats};
use structgen_vocab::TokenId;

use super::outputs::Kept;
use super::{Given, OrtModel, cpu_memory, inputs, selection};
use crate::LoadError;
use crate::cache::{OrtCache, backend};
use crate::signature::{Input, Output};

impl OrtModel {
    /// Lets caches be buffers from now on, if a run of one token shows that the graph can do with them.
    pub(super) fn share_buffers(&mut self) -> Result<(), LoadError> {
        if self.signature.cache.iter().any(|tensor| tensor.joint) {
            return Err(LoadError::NotShared {
                reason: "its keys and values are one tensor".into(),
            });
        }
        self.shares_buffers = true;
        let mut tried = || {
            let mut cache = self.new_cache(&[0])?;
            self.forward(Forward::last(&[TokenId(0)]), &mut cache)
                .map(drop)
        };
        tried().map_err(|error: ModelError| LoadError::NotShared {
            reason: error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string),
        })?;
        self.stats = ModelStats::default();
        Ok(())
    }

    /// Runs `n` tokens more of every row.
    pub(super) fn forward_shared(
        &mut self,
        input: Forward<'_>,
        cache: &mut OrtCache,
        n: usize,
    ) -> Result<Logits<'_>, ModelError> {
        let rows = cache.left_padding.len();
        let total = cache.len + n;
        let spans: Vec<Range<usize>> = (0..rows)
            .map(|row| cache.used(row, cache.len)..cache.used(row, total))
            .collect();
        let longest = spans.iter().map(|span| span.end).max().unwrap_or(0);
        cache.reserve(longest)?;
        let is_whole = spans.iter().all(|span| span.len() == n);
        if is_whole && (rows == 1 || n == 1 || cache.len == 0) {
            let given = self.run_shared(&input, &spans, &mut cache.tensors)?;
            self.keep(given, rows, n, &input)?;
        } else {
            self.logits.clear();
            self.hidden.iter_mut().for_each(Kept::clear);
            for (row, span) in spans.iter().enumerate() {
                let tokens = &input.tokens[row * n..(row + 1) * n];
                self.forward_row(Forward { tokens, ..input }, span, row, cache)?;
            }
        }
        cache.len = total;
        self.view(rows, &input)
    }

    /// Runs the last tokens of one row, those that `span` has places for.
    fn forward_row(
        &mut self,
        input: Forward<'_>,
        span: &Range<usize>,
        row: usize,
        cache: &mut OrtCache,
    ) -> Result<(), ModelError> {
        let new = span.len();
        let positions = input.positions.min(new);
        let padding = input.positions - positions;
        self.logits.keep_padding(padding);
        let hidden = self.hidden.as_mut().filter(|_| input.hidden);
        if let Some(kept) = hidden {
            kept.keep_padding(padding);
        }
        if new == 0 {
            return Ok(());
        }
        let mut alone = cache.row(row, span.end)?;
        let tokens = &input.tokens[input.tokens.len() - new..];
        let input = Forward {
            tokens,
            positions,
            ..input
        };
        let given = self.run_shared(&input, std::slice::from_ref(span), &mut alone.tensors)?;
        self.logits.keep_row(given.logits, new, positions)?;
        if let Some(kept) = self.hidden.as_mut().filter(|_| input.hidden) {
            kept.keep_row(given.hidden, new, positions)?;
        }
        cache.take_row(row, &alone, span.clone())
    }

    /// One run of the session, in which each row gets longer by its span.
    fn run_shared(
        &mut self,
        input: &Forward<'_>,
        spans: &[Range<usize>],
        tensors: &mut [DynValue],
    ) -> Result<Given, ModelError> {
        let rows = spans.len();
        let n = input.tokens.len() / rows;
        self.buffers.fill_shared(input.tokens, spans);
        let longest = spans.iter().map(|span| span.end).max().unwrap_or(0);
        let has_past = spans.iter().any(|span| span.start > 0);
        let mut binding = self.session.create_binding().map_err(backend)?;
        for (outlet, role) in self.session.inputs().iter().zip(&self.signature.inputs) {
            let value: SessionInputValue<'_> = match *role {
                Input::Ids(ty) => self.buffers.ids.tensor(ty, [rows, n], true)?,
                Input::AttentionMask(ty) => self.buffers.mask.tensor(ty, [rows, longest], true)?,
                Input::PositionIds(ty) => self.buffers.positions.tensor(ty, [rows, n], true)?,
                Input::UseCacheBranch => inputs::cache_branch(has_past)?,
                Input::LogitsToKeep => inputs::logits_to_keep(input.positions)?,
                Input::Past(i) => (&tensors[i]).into(),
            };
            binding
                .bind_input(outlet.name(), &*value)
                .map_err(backend)?;
        }
        let processor = cpu_memory().map_err(backend)?;
        let selection = selection(&self.plain, &self.with_hidden, input);
        for &(place, role) in &selection.roles {
            let name = self.session.outputs()[place].name();
            match role {
                Output::Present(i) => binding.bind_output(name, &mut tensors[i]),
                _ => binding.bind_output_to_device(name, &processor),
            }
            .map_err(backend)?;
        }
        let names = selection.roles.iter().map(|&(place, role)| {
            let name = self.session.outputs()[place].name().to_owned();
            (name, role)
        });
        let names: Vec<_> = names.collect();
        let started = Instant::now();
        let outputs = self.session.run_binding(&binding);
        self.stats.record(input.tokens.len(), started.elapsed());
        let mut outputs = outputs.map_err(backend)?;
        let mut given = Given::default();
        for (name, role) in names {
            match role {
                Output::Logits => given.logits = outputs.remove(name),
                Output::Hidden => given.hidden = outputs.remove(name),
                Output::Present(_) | Output::Unused => {}
            }
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use structgen_decode::KeyValueCache;

    use super::*;
    use crate::LoadOptions;

    fn places(cache: &OrtCache) -> Vec<*const f32> {
        let tensors = cache.tensors.iter();
        tensors
            .map(|tensor| tensor.try_extract_tensor::<f32>().unwrap().1.as_ptr())
            .collect()
    }

    /// How many positions of the first head of each row are written to.
    fn written(cache: &OrtCache, rows: usize) -> Vec<usize> {
        let (_, numbers) = cache.tensors[0].try_extract_tensor::<f32>().unwrap();
        let of_row = numbers.len() / rows;
        let dim = cache.layout[0].head_dim;
        let first_head = |row: usize| &numbers[row * of_row..][..cache.capacity * dim];
        (0..rows)
            .map(|row| {
                let positions = first_head(row).chunks(dim);
                positions
                    .take_while(|p| p.iter().any(|&x| x != 0.0))
                    .count()
            })
            .collect()
    }

    #[test]
    fn runs_write_behind_what_is_there_and_move_nothing_while_there_is_room() {
        let say = |line: &str| {
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ))
        };
        let runtime = crate::ensure_runtime(say).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shared_buffer");
        let mut model = OrtModel::open(runtime, &folder, &LoadOptions::default()).unwrap();
        assert_eq!(model.stats(), ModelStats::default());
        let mut cache = model.new_cache(&[0, 2]).unwrap();
        let tokens: Vec<TokenId> = (4..24).map(TokenId).collect();
        model
            .forward(Forward::last(&tokens[..6]), &mut cache)
            .unwrap();
        let first = places(&cache);
        assert_eq!(written(&cache, 2), [3, 1]);
        for i in 0..10 {
            let next = &tokens[i..i + 2];
            model.forward(Forward::last(next), &mut cache).unwrap();
            assert_eq!(written(&cache, 2), [4 + i, 2 + i]);
        }
        // Several rows of several tokens are run apart, and copied back to where they were.
        cache.truncate(5).unwrap();
        model.forward(Forward::last(&tokens), &mut cache).unwrap();
        assert_eq!(cache.len(), 15);
        assert_eq!(places(&cache), first);
        // Behind what is cut there are numbers that nobody reads.
        assert_eq!(written(&cache, 2), [15, 13]);
        // The room of 16 is used up.
        model.forward(Forward::last(&tokens), &mut cache).unwrap();
        assert_ne!(places(&cache), first);
        assert_eq!((cache.capacity, written(&cache, 2)), (32, vec![25, 23]));
    }
}
