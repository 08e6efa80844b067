//! Adapts functions of a text and literals to DataFusion.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::scalar::ScalarValue;

use super::Shared;
use crate::{Result, RowType};

/// A function whose first argument is a column of texts, and all others are literals.
pub(super) trait TextFunction: fmt::Debug + Send + Sync {
    /// Returns its name in SQL.
    fn name(&self) -> &'static str;

    /// Returns the minimum and maximum number of literals.
    fn literals(&self) -> (usize, usize);

    /// Returns the type of its values.
    fn row_type(&self, shared: &Arc<Shared>, literals: &[&str]) -> Result<RowType>;

    /// Computes its values, one per text.
    fn values(&self, shared: &Arc<Shared>, literals: &[&str], texts: &ArrayRef)
    -> Result<ArrayRef>;
}

/// A [`TextFunction`] on a model.
#[derive(Debug)]
struct Function {
    function: &'static dyn TextFunction,
    shared: Arc<Shared>,
    signature: Signature,
}

pub(super) fn function(function: &'static dyn TextFunction, shared: &Arc<Shared>) -> ScalarUDF {
    ScalarUDF::from(Function {
        function,
        shared: Arc::clone(shared),
        // Equal rows have equal values, so that SQL may compute a repeated call once.
        signature: Signature::variadic_any(Volatility::Immutable),
    })
}

/// Returns the state that a function shares with its siblings, or `None` if it is not from this crate.
pub(crate) fn shared_of(function: &ScalarUDF) -> Option<Arc<Shared>> {
    let function: &Function = function.inner().downcast_ref()?;
    Some(Arc::clone(&function.shared))
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.function.name() == other.function.name() && Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
        Arc::as_ptr(&self.shared).hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        exec_err!("the type of {} depends on its literals", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let name = self.name();
        let (least, most) = self.function.literals();
        let given = args.scalar_arguments.len().saturating_sub(1);
        if args.scalar_arguments.is_empty() || !(least..=most).contains(&given) {
            return plan_err!(
                "{name} takes a text and {}, and {given} are given after the text",
                match (least, most) {
                    (least, usize::MAX) => format!("at least {least} literals"),
                    (least, most) if least == most => format!("{least} literals"),
                    (least, most) => format!("{least} to {most} literals"),
                }
            );
        }
        let literals = literals(name, args.scalar_arguments[1..].iter().copied())?;
        let row_type = self.function.row_type(&self.shared, &literals)?;
        Ok(Arc::new(Field::new(name, row_type.data_type(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let Some((texts, given)) = args.args.split_first() else {
            return exec_err!("{} takes a text", self.name());
        };
        let scalars = given.iter().map(|argument| match argument {
            ColumnarValue::Scalar(value) => Some(value),
            ColumnarValue::Array(_) => None,
        });
        let literals = literals(self.name(), scalars)?;
        let values = |texts: &ArrayRef| self.function.values(&self.shared, &literals, texts);
        Ok(match texts {
            ColumnarValue::Array(texts) => ColumnarValue::Array(values(texts)?),
            // A single text for all rows gives a single value.
            ColumnarValue::Scalar(text) => {
                let value = values(&text.to_array()?)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?)
            }
        })
    }
}

fn literals<'a>(
    name: &str,
    scalars: impl Iterator<Item = Option<&'a ScalarValue>>,
) -> DataFusionResult<Vec<&'a str>> {
    let texts = scalars.enumerate().map(|(at, scalar)| {
        match scalar.and_then(ScalarValue::try_as_str).flatten() {
            Some(text) => Ok(text),
            None => plan_err!("argument {} of {name} has to be a text literal", at + 2),
        }
    });
    texts.collect()
}
