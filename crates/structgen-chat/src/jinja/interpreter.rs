//! Runs the statements of a template. Expressions are in `evaluate`.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use super::arguments::CallArguments;
use super::ast::{
    FilterCall, For, Macro, MacroId, Name, Statement, StatementKind, Target, Template,
};
use super::budget::{Budget, Failure, Held, Result, fail};
use super::print::print;
use super::text::{Origin, Text, TextBuilder};
use super::value::{Callable, List, ListKind, Loop, MacroValue, Value};

/// The maximum nesting of running statements, expressions and macros. The thread's stack is large enough for it.
const MAX_DEPTH: u32 = 1_000;

/// The state of one render.
pub(crate) struct Interpreter<'t> {
    pub(super) template: &'t Template,
    pub(super) budget: Budget,
    /// Variables of the outermost scope: those from the caller, and those that the template sets.
    root: Scope,
    /// Inner scopes, innermost last.
    scopes: Vec<Scope>,
    /// The attributes of each namespace.
    pub(super) namespaces: Vec<Namespace>,
    out: TextBuilder,
    pub(super) now: SystemTime,
    pub(super) line: u32,
    depth: u32,
}

struct Scope {
    variables: HashMap<Name, Value>,
    held: Held,
}

pub(super) struct Namespace {
    attributes: HashMap<Arc<str>, Value>,
    held: Held,
}

/// The approximate memory of a variable in a scope.
const VARIABLE_BYTES: usize = 64;

/// How a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl Scope {
    fn new(budget: &Budget) -> Result<Self> {
        budget.spend_making()?;
        Ok(Self {
            variables: HashMap::new(),
            held: budget.hold(VARIABLE_BYTES)?,
        })
    }

    fn set(&mut self, name: Name, value: Value) -> Result<()> {
        if self.variables.insert(name, value).is_none() {
            self.held.grow(VARIABLE_BYTES)?;
        }
        Ok(())
    }
}

impl<'t> Interpreter<'t> {
    pub(crate) fn new(template: &'t Template, budget: Budget, now: SystemTime) -> Result<Self> {
        Ok(Self {
            template,
            root: Scope::new(&budget)?,
            scopes: Vec::new(),
            namespaces: Vec::new(),
            out: TextBuilder::new(&budget)?,
            now,
            line: 1,
            depth: 0,
            budget,
        })
    }

    /// Sets a variable of the outermost scope, if its name occurs in the template.
    pub(crate) fn set_global(&mut self, name: &str, value: Value) -> Result<()> {
        let names = &self.template.names;
        match names.iter().position(|known| **known == *name) {
            Some(at) => self.root.set(Name(at as u32), value),
            None => Ok(()),
        }
    }

    /// The line of the last statement.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// Runs the whole template.
    pub(crate) fn run(&mut self) -> Result<TextBuilder> {
        let template = self.template;
        self.statements(&template.body)?;
        let empty = TextBuilder::new(&self.budget)?;
        Ok(std::mem::replace(&mut self.out, empty))
    }

    /// Counts a step, one level deeper.
    pub(super) fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.budget.spend(1)?;
        if self.depth >= MAX_DEPTH {
            return Err(Failure::Limit("levels of calls", u64::from(MAX_DEPTH)));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    pub(super) fn name(&self, name: Name) -> &'t Arc<str> {
        &self.template.names[name.0 as usize]
    }

    pub(super) fn definition(&self, id: MacroId) -> &'t Macro {
        &self.template.macros[id.0]
    }

    pub(super) fn scopes_len(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn variable(&self, name: Name) -> Option<&Value> {
        let scopes = self.scopes.iter().rev().chain([&self.root]);
        scopes
            .into_iter()
            .find_map(|scope| scope.variables.get(&name))
    }

    fn set(&mut self, name: Name, value: Value) -> Result<()> {
        let scope = self.scopes.last_mut().unwrap_or(&mut self.root);
        scope.set(name, value)
    }

    /// Runs in a new scope.
    fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scope = Scope::new(&self.budget)?;
        self.scopes.push(scope);
        let result = run(self);
        self.scopes.pop();
        result
    }

    /// Captures the output of some statements.
    fn captured(&mut self, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<Text> {
        let inner = TextBuilder::new(&self.budget)?;
        let outer = std::mem::replace(&mut self.out, inner);
        let result = run(self);
        let inner = std::mem::replace(&mut self.out, outer);
        result.map(|()| inner.finish())
    }

    fn statements(&mut self, statements: &'t [Statement]) -> Result<Flow> {
        for statement in statements {
            self.line = statement.line;
            let flow = self.nested(|this| this.statement(statement))?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Runs statements that no `break` can leave.
    fn body(&mut self, statements: &'t [Statement]) -> Result<()> {
        self.statements(statements).map(|_| ())
    }

    fn statement(&mut self, statement: &'t Statement) -> Result<Flow> {
        match &statement.kind {
            StatementKind::Data(text) => self.out.push(text, Origin::Template)?,
            StatementKind::Print(value) => {
                let value = self.evaluate(value)?;
                print(&self.budget, &mut self.out, &value)?;
            }
            StatementKind::For(each) => self.run_for(each)?,
            StatementKind::If(branches, otherwise) => {
                for (condition, body) in branches {
                    if self.evaluate(condition)?.is_true() {
                        return self.statements(body);
                    }
                }
                return self.statements(otherwise);
            }
            StatementKind::Set(target, value) => {
                let value = self.evaluate(value)?;
                self.assign(target, value)?;
            }
            StatementKind::SetBlock(target, filters, body) => {
                let text = self.captured(|this| this.scoped(|this| this.body(body)))?;
                let value = self.filtered(filters, Value::Text(text))?;
                self.assign(target, value)?;
            }
            StatementKind::With(assignments, body) => {
                let mut values = Vec::new();
                for (_, value) in assignments {
                    values.push(self.evaluate(value)?);
                }
                return self.scoped(|this| {
                    for ((target, _), value) in assignments.iter().zip(values) {
                        this.assign(target, value)?;
                    }
                    this.statements(body)
                });
            }
            StatementKind::Macro(definition) => {
                let value = self.macro_value(*definition)?;
                self.set(self.definition(*definition).name, value)?;
            }
            StatementKind::CallBlock(caller, call) => {
                let caller = self.macro_value(*caller)?;
                let value = self.call_with_caller(call, caller)?;
                print(&self.budget, &mut self.out, &value)?;
            }
            StatementKind::FilterBlock(filters, body) => {
                let text = self.captured(|this| this.scoped(|this| this.body(body)))?;
                let value = self.filtered(filters, Value::Text(text))?;
                print(&self.budget, &mut self.out, &value)?;
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn filtered(&mut self, filters: &'t [FilterCall], mut value: Value) -> Result<Value> {
        for call in filters {
            self.line = call.line;
            let arguments = self.arguments(&call.arguments)?;
            value = (call.filter)(self, value, arguments)?;
        }
        Ok(value)
    }

    fn run_for(&mut self, each: &'t For) -> Result<()> {
        let iterable = self.evaluate(&each.iterable)?;
        let Some(mut items) = iterable.items(&self.budget)? else {
            let what = self.described(&each.iterable);
            return fail(format!(
                "{what} is {} and cannot be iterated over",
                iterable.kind()
            ));
        };
        if let Some(condition) = &each.condition {
            let mut kept = Vec::new();
            for item in items.items() {
                let is_kept = self.scoped(|this| {
                    this.assign(&each.target, item.clone())?;
                    Ok(this.evaluate(condition)?.is_true())
                })?;
                if is_kept {
                    kept.push(item.clone());
                }
            }
            items = List::new(&self.budget, ListKind::List, kept)?;
        }
        if items.items().is_empty() {
            return self.scoped(|this| this.body(&each.otherwise));
        }
        for (index, item) in items.items().iter().enumerate() {
            let state = Value::Loop(Rc::new(Loop {
                items: items.clone(),
                index,
            }));
            let flow = self.scoped(|this| {
                this.set(Name::LOOP, state)?;
                this.assign(&each.target, item.clone())?;
                this.statements(&each.body)
            })?;
            if flow == Flow::Break {
                break;
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => self.set(*name, value),
            Target::Tuple(targets) => {
                let Some(items) = value.items(&self.budget)? else {
                    return fail(format!("{} cannot be unpacked", value.kind()));
                };
                if items.items().len() != targets.len() {
                    return fail(format!(
                        "{} values cannot be unpacked into {}",
                        items.items().len(),
                        targets.len()
                    ));
                }
                for (target, item) in targets.iter().zip(items.items()) {
                    self.assign(target, item.clone())?;
                }
                Ok(())
            }
            Target::Attribute(object, attribute) => match self.variable(*object) {
                Some(Value::Namespace(id)) => {
                    let (id, name) = (*id, self.name(*attribute).clone());
                    self.set_attribute(id, name, value)
                }
                _ => fail(format!("{} is not a namespace", self.name(*object))),
            },
        }
    }

    pub(super) fn new_namespace(&mut self) -> Result<usize> {
        self.budget.spend_making()?;
        self.namespaces.push(Namespace {
            attributes: HashMap::new(),
            held: self.budget.hold(VARIABLE_BYTES)?,
        });
        Ok(self.namespaces.len() - 1)
    }

    pub(super) fn set_attribute(&mut self, id: usize, name: Arc<str>, value: Value) -> Result<()> {
        let namespace = &mut self.namespaces[id];
        let length = name.len();
        self.budget.spend(length as u64 / 64)?;
        if namespace.attributes.insert(name, value).is_none() {
            namespace.held.grow(VARIABLE_BYTES + length)?;
        }
        Ok(())
    }

    pub(super) fn attribute(&self, id: usize, name: &str) -> Option<&Value> {
        self.namespaces[id].attributes.get(name)
    }

    fn macro_value(&mut self, definition: MacroId) -> Result<Value> {
        let mut captured = Vec::new();
        for scope in &self.scopes {
            self.budget.spend(1 + scope.variables.len() as u64)?;
            let variables = scope.variables.iter();
            captured.extend(variables.map(|(name, value)| (*name, value.clone())));
        }
        let held = self.budget.hold(VARIABLE_BYTES * (1 + captured.len()))?;
        let value = MacroValue::new(definition, captured, held)?;
        Ok(Value::Callable(Rc::new(Callable::Macro(value))))
    }

    /// Calls a macro within the scopes around its definition; returns its output.
    pub(super) fn call_macro(
        &mut self,
        called: &MacroValue,
        arguments: CallArguments,
        caller: Option<Value>,
    ) -> Result<Value> {
        let definition = self.definition(called.definition);
        let name = self.name(definition.name);
        let mut scope = Scope::new(&self.budget)?;
        self.budget.spend(called.captured.len() as u64)?;
        for (name, value) in &called.captured {
            scope.set(*name, value.clone())?;
        }
        let parameters = &definition.parameters;
        if arguments.positional.len() > parameters.len() {
            return fail(format!(
                "{name} takes at most {} arguments",
                parameters.len()
            ));
        }
        let mut given = vec![None; parameters.len()];
        for (place, value) in given.iter_mut().zip(arguments.positional) {
            *place = Some(value);
        }
        let mut caller = caller;
        for (parameter, value) in arguments.named {
            let is_named = |(found, _): &(Name, _)| *self.name(*found) == parameter;
            match parameters.iter().position(is_named) {
                Some(at) if given[at].is_none() => given[at] = Some(value),
                Some(_) => return fail(format!("{name} is given {parameter} twice")),
                None if &*parameter == "caller" => caller = Some(value),
                None => return fail(format!("{name} has no parameter {parameter}")),
            }
        }
        let outer = std::mem::replace(&mut self.scopes, vec![scope]);
        let text = self.captured(|this| {
            this.scoped(|this| {
                if let Some(caller) = caller {
                    this.set(Name::CALLER, caller)?;
                }
                for ((parameter, default), value) in parameters.iter().zip(given) {
                    let value = match (value, default) {
                        (Some(value), _) => value,
                        (None, Some(default)) => this.evaluate(default)?,
                        (None, None) => Value::Undefined,
                    };
                    this.set(*parameter, value)?;
                }
                this.body(&definition.body)
            })
        });
        self.scopes = outer;
        Ok(Value::Text(text?))
    }
}
