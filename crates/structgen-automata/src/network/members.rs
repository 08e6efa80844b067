//! Objects and arrays: which key or item may come next, and what their registers remember.

use structgen_grammar::KeyOrder;

use super::register::ObjectRegister;
use super::sets::Place;
use super::{Element, Frame, Network, SetId, StepError};
use crate::LimitExceeded;
use crate::json::{KeyContent, OTHER_KEY, Punctuation};

impl Network {
    pub(super) fn open_object(
        &mut self,
        object: u32,
        below: SetId,
    ) -> Result<Option<Element>, LimitExceeded> {
        let register = ObjectRegister {
            seen: match self.program.form.order {
                KeyOrder::Any => vec![
                    0;
                    self.program.objects[object as usize]
                        .properties
                        .len()
                        .div_ceil(64)
                ]
                .into(),
                KeyOrder::Declared => [].into(),
            },
            ..ObjectRegister::default()
        };
        let close_allowed = self.missing(object, &register).next().is_none();
        let register = self.registers.intern(register);
        let more_allowed = self.key_terminal(object, register, below)?.is_some();
        let open = Punctuation::Open {
            open: b'{',
            close: b'}',
            more_allowed,
            close_allowed,
        };
        let terminal = self.terminals.punctuation(open)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ObjectOpen(object), terminal, register, 0),
            below,
        }))
    }

    pub(super) fn after_member(
        &mut self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<Element>, LimitExceeded> {
        let close_allowed = self
            .missing(object, self.registers.object(register))
            .next()
            .is_none();
        let more_allowed = self.key_terminal(object, register, below)?.is_some();
        let after = Punctuation::After {
            close: b'}',
            more_allowed,
            close_allowed,
        };
        let terminal = self.terminals.punctuation(after)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ObjectAfter(object), terminal, register, 0),
            below,
        }))
    }

    pub(super) fn next_key(
        &mut self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<Element>, LimitExceeded> {
        let terminal = self.key_terminal(object, register, below)?;
        Ok(terminal.map(|terminal| Element {
            frame: Frame::reading(Place::ObjectKey(object), terminal, register, 0),
            below,
        }))
    }

    /// The required properties that an object still lacks.
    pub(super) fn missing<'n>(
        &'n self,
        object: u32,
        register: &'n ObjectRegister,
    ) -> impl Iterator<Item = usize> + 'n {
        let order = self.program.form.order;
        let properties = self.program.objects[object as usize]
            .properties
            .iter()
            .enumerate();
        properties
            .filter(move |(i, property)| property.required && !register.has(*i, order))
            .map(|(i, _)| i)
    }

    /// The terminal of the next key, or `None` where none may come.
    pub(super) fn key_terminal(
        &mut self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<u32>, LimitExceeded> {
        let depth = self.sets.depth(below) + 1;
        let limit = self.program.form.max_depth as usize;
        // Only near the limit does the depth decide which values still fit.
        let near = if depth as usize + self.program.nodes.len() < limit {
            0
        } else {
            depth
        };
        if let Some(known) = self.terminals.known_keys((object, register, near)) {
            return Ok(known);
        }
        let content = self.key_content(object, register, depth);
        self.terminals.add_keys((object, register, near), content)
    }

    fn key_content(&self, object: u32, register: u32, depth: u32) -> KeyContent {
        let shape = &self.program.objects[object as usize];
        let order = self.program.form.order;
        let register = self.registers.object(register);
        let mut allowed: Vec<u32> = Vec::new();
        let mut open = shape
            .additional
            .is_some_and(|value| self.fits(value, depth));
        for (i, property) in shape.properties.iter().enumerate() {
            if register.has(i, order) {
                continue;
            }
            if !property.is_forbidden && self.fits(property.value, depth) {
                allowed.push(shape.places[i]);
            }
            if order == KeyOrder::Declared && property.required {
                // Whatever comes behind it has to wait.
                open = false;
                break;
            }
        }
        let mut content = KeyContent {
            program: self.program.clone(),
            object,
            keys: shape.keys.clone(),
            labels: shape.labels.clone(),
            allowed: vec![0; shape.keys.len().div_ceil(64)].into(),
            open,
        };
        if !register.others.is_empty() {
            content = content.with_seen(&register.others);
            for place in &mut allowed {
                let key = &shape.keys[*place as usize];
                *place = content.keys.binary_search(key).unwrap_or_default() as u32;
            }
        }
        for key in allowed {
            content.allow(key);
        }
        content
    }

    /// The register of an object with one more key.
    pub(super) fn take_key(
        &mut self,
        object: u32,
        frame: Frame,
        label: u32,
    ) -> Result<u32, StepError> {
        let mut register = self.registers.object(frame.data).clone();
        match (label, self.program.form.order) {
            (OTHER_KEY, order) => {
                if order == KeyOrder::Declared {
                    register.passed = self.program.objects[object as usize].properties.len() as u32;
                }
                if frame.extra == 0 {
                    if register.unknown {
                        return Err(StepError::NeedsExact);
                    }
                    register.unknown = true;
                } else {
                    let text = self.registers.text(frame.extra);
                    // The terminal has read it: it is a JSON string.
                    let key: Box<str> = serde_json::from_slice(&text).unwrap_or_default();
                    let mut others = register.others.to_vec();
                    if let Err(at) = others.binary_search(&key) {
                        others.insert(at, key);
                    }
                    register.others = others.into();
                }
            }
            (property, KeyOrder::Declared) => register.passed = property + 1,
            (property, KeyOrder::Any) => {
                register.seen[property as usize / 64] |= 1 << (property % 64)
            }
        }
        Ok(self.registers.intern(register))
    }

    pub(super) fn open_array(
        &mut self,
        array: u32,
        below: SetId,
    ) -> Result<Option<Element>, LimitExceeded> {
        let more_allowed = self.item_allowed(array, 0, below);
        let close_allowed = self.program.arrays[array as usize].min == 0;
        let open = Punctuation::Open {
            open: b'[',
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self.terminals.punctuation(open)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ArrayOpen(array), terminal, 0, 0),
            below,
        }))
    }

    pub(super) fn after_item(
        &mut self,
        array: u32,
        count: u32,
        below: SetId,
    ) -> Result<Option<Element>, LimitExceeded> {
        let more_allowed = self.item_allowed(array, count, below);
        let close_allowed = count >= self.program.arrays[array as usize].min;
        let after = Punctuation::After {
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self.terminals.punctuation(after)?;
        Ok(Some(Element {
            frame: Frame::reading(Place::ArrayAfter(array), terminal, count, 0),
            below,
        }))
    }

    pub(super) fn item_allowed(&self, array: u32, count: u32, below: SetId) -> bool {
        let shape = &self.program.arrays[array as usize];
        let depth = self.sets.depth(below) + 1;
        shape.max.is_none_or(|max| count < max)
            && shape.item(count).is_some_and(|item| self.fits(item, depth))
    }
}

impl ObjectRegister {
    /// Whether the property is there, or is out of turn.
    pub(super) fn has(&self, property: usize, order: KeyOrder) -> bool {
        match order {
            KeyOrder::Declared => property < self.passed as usize,
            KeyOrder::Any => self.seen[property / 64] >> (property % 64) & 1 == 1,
        }
    }
}
