//! Which outputs a run is asked for, and their numbers as f32.

use half::f16;
use ort::session::HasSelectedOutputs;
use ort::session::{OutputSelector, RunOptions, Session};
use ort::value::DynValue;
use structgen_decode::ModelError;

use crate::cache::backend;
use crate::signature::{Float, Output};

use super::{dims, unexpected};

/// The outputs of a run: what nobody asks for is not computed, where nothing else needs it, and not given out.
pub(super) struct Selection {
    /// The places of the outputs in the session, with what they are.
    pub(super) roles: Vec<(usize, Output)>,
    pub(super) options: RunOptions<HasSelectedOutputs>,
}

impl Selection {
    pub(super) fn new(session: &Session, roles: &[Output], hidden: bool) -> ort::Result<Self> {
        let wants = |role: &Output| match role {
            Output::Logits | Output::Present(_) => true,
            Output::Hidden => hidden,
            Output::Unused => false,
        };
        let places = roles.iter().copied().enumerate();
        let roles: Vec<_> = places.filter(|(_, role)| wants(role)).collect();
        let selector = roles
            .iter()
            .fold(OutputSelector::no_default(), |selector, &(place, _)| {
                selector.with(session.outputs()[place].name())
            });
        Ok(Self {
            roles,
            options: RunOptions::new()?.with_outputs(selector),
        })
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Selection").field(&self.roles).finish()
    }
}

/// An output `[rows, positions, width]`, which a run keeps for views of it.
#[derive(Debug)]
pub(super) struct Kept {
    what: &'static str,
    float: Float,
    width: usize,
    value: Option<DynValue>,
    /// The numbers as f32, where the graph computes in f16, or where its rows were run one after the other, without a value of their own.
    converted: Vec<f32>,
}

impl Kept {
    pub(super) fn new(what: &'static str, float: Float, width: usize) -> Self {
        Self {
            what,
            float,
            width,
            value: None,
            converted: Vec::new(),
        }
    }

    /// Keeps the output of a run of `n` tokens in each row; some graphs compute the last `positions` only.
    pub(super) fn keep(
        &mut self,
        value: Option<DynValue>,
        rows: usize,
        n: usize,
        positions: usize,
    ) -> Result<(), ModelError> {
        self.value = Some(self.checked(value, rows, n, positions)?.0);
        Ok(())
    }

    /// The output, and for how many positions of each row it is.
    fn checked(
        &self,
        value: Option<DynValue>,
        rows: usize,
        n: usize,
        positions: usize,
    ) -> Result<(DynValue, usize), ModelError> {
        let value = value.ok_or_else(|| unexpected(self.what, &[]))?;
        let given = match *dims(&value) {
            [r, given, width]
                if r == rows as i64
                    && width == self.width as i64
                    && (given == n as i64 || given == positions as i64) =>
            {
                given as usize
            }
            ref other => return Err(unexpected(self.what, other)),
        };
        Ok((value, given))
    }

    /// Forgets what was kept: rows follow, one after the other.
    pub(super) fn clear(&mut self) {
        self.value = None;
        self.converted.clear();
    }

    /// Adds zeros for so many positions of a row, which are padding: nobody looks at them.
    pub(super) fn keep_padding(&mut self, positions: usize) {
        let len = self.converted.len() + positions * self.width;
        self.converted.resize(len, 0.0);
    }

    /// Adds the last positions of the output of a run of `n` tokens in one row.
    pub(super) fn keep_row(
        &mut self,
        value: Option<DynValue>,
        n: usize,
        positions: usize,
    ) -> Result<(), ModelError> {
        let (value, given) = self.checked(value, 1, n, positions)?;
        let start = (given - positions) * self.width;
        match self.float {
            Float::F32 => {
                let (_, numbers) = value.try_extract_tensor::<f32>().map_err(backend)?;
                self.converted.extend_from_slice(&numbers[start..]);
            }
            Float::F16 => {
                let (_, half) = value.try_extract_tensor::<f16>().map_err(backend)?;
                let numbers = half[start..].iter().map(|number| number.to_f32());
                self.converted.extend(numbers);
            }
        }
        Ok(())
    }

    /// The numbers of at least the last `positions`, and of how many positions they are.
    pub(super) fn numbers(
        &mut self,
        rows: usize,
        positions: usize,
    ) -> Result<(&[f32], usize), ModelError> {
        let Some(value) = &self.value else {
            return Ok((&self.converted, positions));
        };
        let given = dims(value).get(1).map_or(0, |&given| given as usize);
        if self.float == Float::F32 {
            let (_, numbers) = value.try_extract_tensor::<f32>().map_err(backend)?;
            return Ok((numbers, given));
        }
        let (_, half) = value.try_extract_tensor::<f16>().map_err(backend)?;
        self.converted.clear();
        for row in 0..rows {
            let start = (row * given + given - positions) * self.width;
            let wanted = &half[start..start + positions * self.width];
            self.converted
                .extend(wanted.iter().map(|number| number.to_f32()));
        }
        Ok((&self.converted, positions))
    }
}
