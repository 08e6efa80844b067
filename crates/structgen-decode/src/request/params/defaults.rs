use serde_json::Value;

use super::{PARAMETERS, Params};
use crate::Strategy;
use crate::parameter::{Parameter, ParameterKind, Place, form_of};

impl Parameter {
    /// Returns its default value. For a parameter in a [group](ParameterKind::Group), this is its value once the group
    /// is enabled.
    #[must_use]
    pub fn default_value(&self) -> Value {
        let mut form = form_of(&Params::default());
        if let Some(strategy) = self.strategy() {
            form["strategy"] = form_of(&Strategy::named(strategy));
        }
        self.value_in(&form)
    }

    /// Returns its value in a serde form, or its default if its group is off.
    #[must_use]
    pub fn value_in(&self, form: &Value) -> Value {
        let path = self.path();
        let mut value = form;
        let mut keys = path.split('.');
        while let Some(key) = keys.next() {
            match value.get(key) {
                Some(Value::Null) => {
                    let Some(last) = keys.next() else { break };
                    let group: Value = serde_json::from_str(self.group()).unwrap_or_default();
                    return group.get(last).cloned().unwrap_or_default();
                }
                Some(inner) => value = inner,
                None => return Value::Null,
            }
        }
        let pointer = format!("/{}", path.replace('.', "/"));
        form.pointer(&pointer).cloned().unwrap_or_default()
    }

    /// Returns the values of the other parameters in its group when it enables the group; empty if it is in no group.
    pub(super) fn group(&self) -> &'static str {
        let group = self.name.rsplit_once('.').map(|(group, _)| group);
        let mut rows = PARAMETERS.iter();
        let row = rows.find(|row| Some(row.name) == group && row.place == self.place);
        match row.map(|row| row.kind) {
            Some(ParameterKind::Group(on)) => on,
            _ => "",
        }
    }

    /// Returns the strategies that honour it, by their defaults.
    #[must_use]
    pub fn honoured_by(&self) -> Vec<&'static str> {
        let honours = |name: &&str| match self.place {
            Place::Strategy => self.strategy() == Some(*name),
            _ => Strategy::named(name).is_some_and(|strategy| strategy.honours(self)),
        };
        Strategy::NAMES.iter().copied().filter(honours).collect()
    }
}
