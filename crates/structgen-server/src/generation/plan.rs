//! How a model fulfils a request: under which constraint, with which kind of prompt, and how its output is parsed.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use structgen::constraint::{CompiledConstraint, ConstraintOptions};
use structgen::tools::{
    Content, Reasoning, StructuralTag, ToolChoice, ToolError, ToolGrammar, ToolOptions,
};
use structgen::{
    CancelToken, Constraint, GenerateOptions, Model, SchemaExtractor, SchemaOptions, Source,
};

use super::target::{Target, Wanted};
use super::tools::Tools;
use crate::error::{ApiError, Result, paragraph};
use crate::models::ServedModel;

/// How to fulfil a request. Identical requests to a model share a plan.
pub(crate) struct Plan {
    pub(crate) how: How,
    /// What is enforced, for reports.
    pub(crate) enforced: Value,
}

pub(crate) enum How {
    /// Free text.
    Free,
    /// Text under a constraint.
    Constrained(CompiledConstraint),
    /// Reasoning, text and calls in the model's format, parsed by the grammar's parser.
    Calls {
        compiled: CompiledConstraint,
        grammar: ToolGrammar,
    },
    /// JSON that the embedded model extracts from the user's last message.
    Extraction {
        extractor: Box<SchemaExtractor>,
        writes: Writes,
    },
}

/// What the JSON of an extraction becomes in the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Its content.
    Content,
    /// The arguments of this tool.
    Arguments(String),
    /// An object with the name of a tool and its arguments.
    Call,
}

/// What is requested from a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal<'a> {
    pub(crate) target: &'a Target,
    pub(crate) tools: Option<&'a Tools>,
    /// For a model that reasons: whether the answer starts with reasoning.
    pub(crate) reasoning: Reasoning,
    /// Maximum number of reasoning tokens.
    pub(crate) reasoning_tokens: Option<u32>,
}

impl Goal<'_> {
    /// Returns a key that is equal for goals that are fulfilled in the same way.
    pub(crate) fn key(&self) -> String {
        let Self {
            target,
            tools,
            reasoning,
            reasoning_tokens,
        } = self;
        let tools = tools.map(|tools| (&tools.list, &tools.choice, tools.parallel));
        format!(
            "{:?} {:?} {tools:?} {reasoning:?} {reasoning_tokens:?}",
            target.wanted, target.whitespace
        )
    }
}

impl Plan {
    /// Compiles what is needed to fulfil a goal.
    pub(crate) fn new(served: &ServedModel, goal: Goal<'_>, cancel: &CancelToken) -> Result<Self> {
        Planner::new(served, goal, cancel).plan()
    }

    /// Compiles a schema for extraction, whatever the model.
    pub(crate) fn extraction(
        served: &ServedModel,
        target: &Target,
        source: Option<Source>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let Wanted::Schema(schema) = &target.wanted else {
            return Err(ApiError::invalid(
                &target.param,
                "only schemas are extracted by",
            ));
        };
        let goal = Goal {
            target,
            tools: None,
            reasoning: Reasoning::Off,
            reasoning_tokens: None,
        };
        let mut planner = Planner::new(served, goal, cancel);
        if let Some(source) = source {
            planner.options = planner.options.with_source(source);
        }
        planner.extract(schema, &target.param, Writes::Content)
    }
}

struct Planner<'a> {
    served: &'a ServedModel,
    model: &'a Model,
    goal: Goal<'a>,
    options: SchemaOptions,
    cancel: &'a CancelToken,
}

impl<'a> Planner<'a> {
    fn new(served: &'a ServedModel, goal: Goal<'a>, cancel: &'a CancelToken) -> Self {
        let mut options = SchemaOptions::new();
        options.cancel = Some(cancel.clone());
        options.whitespace = goal.target.whitespace;
        Self {
            served,
            model: &served.model,
            goal,
            options,
            cancel,
        }
    }

    fn plan(&self) -> Result<Plan> {
        let Goal {
            target,
            tools,
            reasoning,
            ..
        } = self.goal;
        let callable = tools.filter(|tools| tools.choice != ToolChoice::None);
        if self.model.is_embedded() {
            return match (callable, &target.wanted) {
                (Some(tools), Wanted::Free) => self.extract_call(tools),
                (Some(_), _) => Err(self.one_of("tools")),
                (None, Wanted::Schema(text)) => self.extract(text, &target.param, Writes::Content),
                (None, _) => self.constrain(),
            };
        }
        let reasons = self.served.reasons && reasoning != Reasoning::Off;
        let has_place_for_both = match &target.wanted {
            Wanted::Free | Wanted::Schema(_) => true,
            // A structural tag describes the whole output, including reasoning.
            Wanted::Tag(_) => false,
            Wanted::Regex(_) | Wanted::Choice(_) | Wanted::Gbnf(_) => {
                self.served.format.encloses_text()
            }
        };
        match (callable.is_some(), &target.wanted) {
            (true, _) if has_place_for_both => self.call(reasons),
            (true, _) => Err(self.one_of("tools")),
            (false, Wanted::Tag(_)) => self.constrain(),
            (false, _) if reasons => self.call(reasons),
            (false, _) => self.constrain(),
        }
    }

    fn one_of(&self, other: &str) -> ApiError {
        let param = &self.goal.target.param;
        let message =
            format!("{param} cannot be combined with {other} on this model: give one of them");
        ApiError::invalid(param, message)
    }

    /// Constrains the output to the target alone.
    fn constrain(&self) -> Result<Plan> {
        let target = self.goal.target;
        let refused = |error| ApiError::of(&error, &target.param);
        let kind = match &target.wanted {
            Wanted::Free => {
                return Ok(Plan {
                    how: How::Free,
                    enforced: json!({"kind": "text"}),
                });
            }
            Wanted::Schema(_) => "json_schema",
            Wanted::Regex(_) => "regex",
            Wanted::Choice(_) => "choice",
            Wanted::Gbnf(_) => "grammar",
            Wanted::Tag(_) => "structural_tag",
        };
        let constraint = constraint_of(target, &self.options)?;
        let compiled = self.compile(&constraint).map_err(refused)?;
        let mut enforced = json!({"kind": kind});
        if kind == "json_schema" {
            enforced["report"] = constraint.report().to_json();
        }
        if !constraint.warnings().is_empty() {
            let warnings = constraint.warnings().iter().map(ToString::to_string);
            enforced["warnings"] = warnings.collect();
        }
        Ok(Plan {
            how: How::Constrained(compiled),
            enforced,
        })
    }

    /// Plans reasoning, text or JSON, and calls in the model's format.
    fn call(&self, reasons: bool) -> Result<Plan> {
        let Goal {
            target,
            tools,
            reasoning,
            ..
        } = self.goal;
        let content = match &target.wanted {
            Wanted::Schema(text) => Content::Json(text.clone()),
            Wanted::Free => Content::Text,
            _ => {
                let constraint = constraint_of(target, &self.options)?;
                Content::Grammar(Arc::new(constraint.grammar().clone()))
            }
        };
        let mut options = ToolOptions::new()
            .with_choice(tools.map_or(ToolChoice::None, |tools| tools.choice.clone()))
            .with_reasoning(if reasons { reasoning } else { Reasoning::Off })
            .with_content(content)
            .with_schema_options(self.options.clone());
        if tools.is_some_and(|tools| !tools.parallel) {
            options = options.with_max_calls(1);
        }
        options.reasoning_tokens = self.goal.reasoning_tokens.filter(|_| reasons);
        let list = tools.map_or_else(Vec::new, |tools| tools.list.clone());
        let refused = |error: &structgen::Error| match error {
            structgen::Error::Tools(ToolError::Schema { tool, source }) => {
                let place = self.place_of(tool);
                ApiError::of(&source.clone().into(), &place)
            }
            structgen::Error::Tools(ToolError::Content(_)) => ApiError::of(error, &target.param),
            _ => ApiError::of(error, "tools"),
        };
        let grammar = ToolGrammar::new(self.served.format.clone(), list, &options)
            .map_err(|error| refused(&error.into()))?;
        let compiled = self
            .compile(&Constraint::tools(&grammar))
            .map_err(|error| refused(&error))?;
        let reports: serde_json::Map<String, Value> = { grammar.reports() }
            .map(|(name, report)| (name.to_owned(), report.to_json()))
            .collect();
        let enforced =
            json!({"kind": "tools", "format": self.served.format.name, "reports": reports});
        Ok(Plan {
            how: How::Calls { compiled, grammar },
            enforced,
        })
    }

    /// Returns the path of a tool's schema.
    fn place_of(&self, name: &str) -> String {
        let tools = self.goal.tools.map_or_else(Vec::new, Tools::callable);
        let found = tools.iter().find(|(tool, _)| tool.name == name);
        found.map_or_else(|| "tools".to_owned(), |(_, path)| (*path).to_owned())
    }

    /// Plans a call as an extraction: of the arguments if there is a single tool, else of its name as well.
    fn extract_call(&self, tools: &Tools) -> Result<Plan> {
        let callable = tools.callable();
        if let [(tool, path)] = callable[..] {
            let schema = with_keywords(tool.parameters(), &[("type", "object")]);
            return self.extract(&schema, path, Writes::Arguments(tool.name.clone()));
        }
        let calls: Vec<String> = { callable.iter().enumerate() }
            .map(|(at, (tool, _))| {
                // References are relative to the tool's own schema.
                let id = format!("urn:structgen:tool:{at}");
                let keywords = [("$id", id.as_str()), ("type", "object")];
                let arguments = with_keywords(tool.parameters(), &keywords);
                let name = Value::from(tool.name.as_str());
                format!(
                    r#"{{"type":"object","properties":{{"name":{{"const":{name}}},"arguments":{arguments}}},"required":["name","arguments"],"additionalProperties":false}}"#
                )
            })
            .collect();
        let schema = format!(r#"{{"anyOf":[{}]}}"#, calls.join(","));
        self.extract(&schema, "tools", Writes::Call)
    }

    fn extract(&self, schema: &str, param: &str, writes: Writes) -> Result<Plan> {
        let refused = |error: &structgen::Error| ApiError::of(error, param);
        let value: Value = serde_json::from_str(schema).map_err(|error| {
            ApiError::invalid(param, format!("the schema is not JSON: {error}"))
        })?;
        let options = self.model.extraction_options(&value, &self.options);
        let constraint =
            Constraint::json_schema_str(schema, &options).map_err(|error| refused(&error))?;
        let enforced = json!({"kind": "json_schema", "report": constraint.report().to_json()});
        let extractor = SchemaExtractor::with_constraint(
            self.model.clone(),
            value,
            &constraint,
            GenerateOptions::default(),
        )
        .map_err(|error| refused(&error))?;
        let extractor = Box::new(extractor);
        Ok(Plan {
            how: How::Extraction { extractor, writes },
            enforced,
        })
    }

    fn compile(&self, constraint: &Constraint) -> structgen::Result<CompiledConstraint> {
        self.served.compile(constraint, self.cancel)
    }
}

impl ServedModel {
    /// Compiles a constraint for the model's vocabulary.
    pub(crate) fn compile(
        &self,
        constraint: &Constraint,
        cancel: &CancelToken,
    ) -> structgen::Result<CompiledConstraint> {
        let mut options = ConstraintOptions {
            eos: self.model.eos().to_vec(),
            ..ConstraintOptions::default()
        };
        options.limits.cancel = Some(cancel.clone());
        constraint.compile_with(self.model.tables(), &options)
    }
}

/// Adds keywords to the text of a schema that is an object, where it does not have them. Its numbers stay exact.
fn with_keywords(schema: &str, keywords: &[(&str, &str)]) -> String {
    let known: Map<String, Value> = serde_json::from_str(schema).unwrap_or_default();
    let missing = keywords
        .iter()
        .filter(|(name, _)| !known.contains_key(*name));
    let mut members: Vec<String> = missing
        .map(|(name, value)| format!("{}:{}", Value::from(*name), Value::from(*value)))
        .collect();
    let schema = schema.trim();
    let inner = schema.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    match inner {
        Some(inner) => {
            members.extend({ !known.is_empty() }.then(|| inner.trim().to_owned()));
            format!("{{{}}}", members.join(","))
        }
        None => schema.to_owned(),
    }
}

/// Parses a structural tag; errors point into the field that contains it.
fn structural_tag(text: &str, param: &str, options: &SchemaOptions) -> Result<StructuralTag> {
    StructuralTag::from_json(text, options).map_err(|error| {
        let place = error.pointer().map_or_else(
            || param.to_owned(),
            |pointer| format!("{param}#{}", pointer.trim_start_matches('#')),
        );
        ApiError::invalid(place, paragraph(&error)).with_code("invalid_structural_tag")
    })
}

/// Returns the constraint of a target, for any model.
pub(crate) fn constraint_of(target: &Target, options: &SchemaOptions) -> Result<Constraint> {
    let constraint = match &target.wanted {
        Wanted::Schema(text) => Constraint::json_schema_str(text, options),
        Wanted::Regex(pattern) => Constraint::regex(pattern),
        Wanted::Choice(choices) => Constraint::choices(choices),
        Wanted::Gbnf(grammar) => Constraint::gbnf(grammar),
        Wanted::Tag(text) => {
            let tag = structural_tag(text, &target.param, options)?;
            Ok(Constraint::structural_tag(&tag))
        }
        Wanted::Free => return Err(ApiError::internal("free text has no constraint")),
    };
    constraint.map_err(|error| ApiError::of(&error, &target.param))
}

/// A plan that is shared.
pub(crate) type SharedPlan = Arc<Plan>;
