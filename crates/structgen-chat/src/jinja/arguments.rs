//! The arguments of a call, bound to parameters as in Python.

use std::sync::Arc;

use super::budget::{Result, fail};
use super::value::Value;

/// The evaluated arguments of a call.
#[derive(Default)]
pub(crate) struct CallArguments {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

/// The values of the parameters; `None` for those without an argument.
pub(crate) type Bound<const N: usize> = [Option<Value>; N];

impl CallArguments {
    pub(crate) fn bind<const N: usize>(
        self,
        callee: &str,
        parameters: [&str; N],
    ) -> Result<Bound<N>> {
        let mut bound = [const { None }; N];
        let given = self.positional.len();
        if given > N {
            return fail(format!(
                "{callee} takes at most {N} arguments, and {given} are given"
            ));
        }
        for (place, value) in bound.iter_mut().zip(self.positional) {
            *place = Some(value);
        }
        for (name, value) in self.named {
            let Some(at) = parameters.iter().position(|parameter| **parameter == *name) else {
                return fail(format!("{callee} has no parameter {name}"));
            };
            if bound[at].is_some() {
                return fail(format!("{callee} is given {name} twice"));
            }
            bound[at] = Some(value);
        }
        Ok(bound)
    }
}

/// The value of a required parameter.
pub(crate) fn required(callee: &str, parameter: &str, value: Option<Value>) -> Result<Value> {
    match value {
        Some(value) => Ok(value),
        None => fail(format!("{callee} needs {parameter}")),
    }
}
