//! Serialises plans with calls of the functions, to send them between processes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use structgen_datafusion::{Definition, Functions};

/// Number of cached functions of other plans, so that the tasks of a query compile its schemas once.
const KEPT: usize = 16;

/// Writes each call of a function with its [`Definition`], which contains the schemas and the model's hash, and reads
/// it as a function on the model of this process.
#[derive(Debug)]
pub(super) struct FunctionCodec {
    functions: Functions,
    /// The functions read recently, the latest first.
    read: Mutex<VecDeque<(Definition, Functions)>>,
    plans: BallistaPhysicalExtensionCodec,
}

impl FunctionCodec {
    pub(super) fn new(functions: Functions) -> Self {
        Self {
            functions,
            read: Mutex::default(),
            plans: BallistaPhysicalExtensionCodec::default(),
        }
    }

    fn defined(&self, definition: Definition) -> Functions {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match read.iter().position(|(known, _)| *known == definition) {
            Some(at) => read.remove(at),
            None => None,
        };
        let entry = entry.unwrap_or_else(|| {
            let functions = self.functions.defined(&definition);
            (definition, functions)
        });
        let functions = entry.1.clone();
        read.push_front(entry);
        read.truncate(KEPT);
        functions
    }
}

impl PhysicalExtensionCodec for FunctionCodec {
    fn try_decode(
        &self,
        plan: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.plans.try_decode(plan, inputs, context, converter)
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        to: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.plans.try_encode(plan, to, converter)
    }

    fn try_decode_udf(&self, name: &str, definition: &[u8]) -> Result<Arc<ScalarUDF>> {
        let definition = serde_json::from_slice(definition).map_err(external)?;
        let mut functions = self.defined(definition).all().into_iter();
        let function = functions.find(|function| function.name() == name);
        let function = function.ok_or_else(|| {
            DataFusionError::Plan(format!("there is no function {name} in this build"))
        })?;
        Ok(Arc::new(function))
    }

    fn try_encode_udf(&self, function: &ScalarUDF, to: &mut Vec<u8>) -> Result<()> {
        // DataFusion's own functions are found by name.
        match Functions::of(function) {
            Some(functions) => serde_json::to_writer(to, &functions.definition()).map_err(external),
            None => Ok(()),
        }
    }
}

fn external(error: serde_json::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
