//! Saves a constraint to a file and loads it.
//!
//! Compiling a source text takes most of the time, so the file has the grammar; its program is made again, which takes
//! less than reading a source text. The masks that [`CompiledConstraint::warm`] computed follow. Ids of states do not
//! outlive a process, so a mask is stored with the tokens that lead to its state, as a tree; replaying the tokens finds
//! the states again, whatever their ids are.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_artifact::{ArtifactError, Column, Format, Reader, Writer, is_special};
use structgen_grammar::{BytesError, Grammar};
use structgen_vocab::TokenId;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::saved_masks::{MaskWriter, MasksInFile, SavedMasks};
use crate::step::{Step, state_after};
use crate::{CompileError, CompiledConstraint, ConstraintOptions, VocabularyTables, WarmLimits};

/// The version changes with the layout of the file and the bytes of a grammar. It must also change if a state's mask
/// does.
const FORMAT: Format = Format {
    magic: *b"sg-cnstr",
    version: (3 << 16) | Grammar::BYTES_VERSION,
};

/// Why a constraint could not be saved or loaded.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The file is missing, damaged, of another version or vocabulary, or cannot be written.
    #[error(transparent)]
    File(#[from] ArtifactError),
    /// The grammar is invalid, or is too large for a file.
    #[error(transparent)]
    Grammar(#[from] BytesError),
    /// The constraint is bound to an input; only unbound ones can be saved.
    #[error("a constraint that is bound to an input cannot be saved")]
    Bound,
    /// The grammar cannot be compiled within the limits of the options.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The file was written for other end-of-sequence ids than those of the options.
    #[error("it was made for the end-of-sequence ids {saved:?}, not {asked:?}")]
    Eos {
        /// The ids in the file.
        saved: Vec<TokenId>,
        /// The ids in the options.
        asked: Vec<TokenId>,
    },
}

structgen_sentence::debug_as_sentence!(SavedError);

impl CompiledConstraint {
    /// Writes the constraint to a file: the grammar, and the masks that [`warm`](Self::warm) computed or that were
    /// loaded from a file, as far as they are cached. The file is replaced atomically, and readers of the old file keep
    /// it.
    ///
    /// The limits of the options are not written; [`load`](Self::load) has its own. A pipe or a device is written to,
    /// and not replaced.
    ///
    /// # Errors
    /// If the constraint is bound to an input, the grammar is too large for a file, or writing fails.
    pub fn save(&self, file: &Path) -> Result<(), SavedError> {
        if self.program().is_bound() {
            return Err(SavedError::Bound);
        }
        let mut writer = Writer::new(FORMAT, self.vocabulary().fingerprint());
        // The passes remove captures from a grammar, so a grammar with captures is written as it was given.
        let grammar = match self.captures() {
            Some(captures) => captures.grammar(),
            None => self.program().grammar(),
        };
        writer.put(&grammar.to_bytes()?);
        writer.put(self.eos());
        let mut masks = MaskWriter::default();
        let states = self.states();
        let visit = self.visit(&states);
        let found = states.steps().clone();
        let mut steps = Vec::with_capacity(found.len());
        for step in found {
            let kept = visit.kept(step.state).map_err(CompileError::from)?;
            steps.push(SavedStep {
                parent: step.parent,
                token: step.token,
                mask: kept.as_ref().map_or(NO_MASK, |(mask, _)| masks.add(mask)),
                is_exact: kept.is_some_and(|(_, is_exact)| is_exact).into(),
            });
        }
        writer.put(&steps);
        masks.put(&mut writer);
        Ok(match is_special(file) {
            true => writer.write_to(file),
            false => writer.save(file),
        }?)
    }

    /// Loads a constraint from a file that [`save`](Self::save) wrote with the same vocabulary. Masks stay in the
    /// file's bytes until they are requested.
    ///
    /// Everything in the file is checked, except that each mask is that of its state, which would take computing it. So
    /// load only files that you trust as much as the program itself.
    ///
    /// # Errors
    /// If the file is missing, damaged, or of another version, vocabulary or end-of-sequence ids, or if its grammar
    /// exceeds a limit.
    pub fn load(
        tables: &Arc<VocabularyTables>,
        options: &ConstraintOptions,
        file: &Path,
    ) -> Result<Self, SavedError> {
        let vocabulary = tables.vocabulary();
        let mut reader = Reader::open(file, FORMAT, vocabulary.fingerprint())?;
        let grammar: Column<u8> = reader.take()?;
        let eos: Column<TokenId> = reader.take()?;
        let steps: Column<SavedStep> = reader.take()?;
        let masks = SavedMasks::take(&mut reader, vocabulary.len())?;
        reader.finish()?;
        if eos[..] != options.eos[..] {
            return Err(SavedError::Eos {
                saved: eos.to_vec(),
                asked: options.eos.clone(),
            });
        }
        let constraint = Self::new(Grammar::from_bytes(&grammar)?, tables, options)?;
        constraint.replay(&steps, masks)?;
        Ok(constraint)
    }

    /// Finds the states of the masks in a file.
    fn replay(&self, steps: &[SavedStep], masks: SavedMasks) -> Result<(), SavedError> {
        let contents = |what| Err(SavedError::File(ArtifactError::Contents(what)));
        if steps.len() > WarmLimits::MOST_STATES {
            return contents("more states than are ever saved");
        }
        let ids = self.vocabulary().len();
        let states = self.states();
        let mut found: Vec<Step> = Vec::with_capacity(steps.len());
        let mut by_state = FxHashMap::default();
        for (i, step) in steps.iter().enumerate() {
            let current = self.states_with_room().map_err(CompileError::from)?;
            if current.epoch != states.epoch {
                // The limit on states is too low for them.
                return Ok(());
            }
            let visit = self.visit(&states);
            let state = if i == 0 {
                visit.start().map_err(CompileError::from)?
            } else {
                let parent = found.get(step.parent as usize);
                let Some(parent) = parent.filter(|_| step.token.index() < ids) else {
                    return contents("a state comes before the one that leads to it");
                };
                let state = state_after(&visit.network, parent.state, step.token, self.shared());
                match state.map_err(CompileError::from)? {
                    Ok(state) => state,
                    Err(_) => return contents("no state is where a mask's should be"),
                }
            };
            found.push(Step {
                parent: step.parent,
                token: step.token,
                state,
            });
            if step.mask == NO_MASK {
                continue;
            }
            if !masks.has(step.mask) || step.is_exact > 1 {
                return contents("a mask that is not there");
            }
            let state = match step.is_exact {
                1 => state,
                _ => visit.network.sketch(state).map_err(CompileError::from)?,
            };
            by_state.insert(state, step.mask);
        }
        *states.steps() = found;
        states.ready.get_or_init(|| MasksInFile { by_state, masks });
        Ok(())
    }
}

/// A [`Step`] in a file, with the mask of its state.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct SavedStep {
    parent: u32,
    token: TokenId,
    /// The number of the mask, or [`NO_MASK`].
    mask: u32,
    /// 1 if the mask depends on texts and thus belongs to this state alone, otherwise 0.
    is_exact: u32,
}

/// The mask was not cached.
const NO_MASK: u32 = u32::MAX;
