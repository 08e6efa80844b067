//! Evaluates expressions.

use std::cmp::Ordering;
use std::rc::Rc;

use super::arguments::CallArguments;
use super::ast::{Arguments, Comparison, Expr, ExprKind};
use super::budget::{Result, fail};
use super::functions::{self, Function};
use super::interpreter::Interpreter;
use super::methods;
use super::operators;
use super::print::print;
use super::text::TextBuilder;
use super::value::{Callable, ListKind, Loop, Map, Value};

impl<'t> Interpreter<'t> {
    pub(super) fn evaluate(&mut self, expr: &'t Expr) -> Result<Value> {
        self.nested(|this| {
            this.line = expr.line;
            this.evaluate_kind(expr)
        })
    }

    fn evaluate_kind(&mut self, expr: &'t Expr) -> Result<Value> {
        match &expr.kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Int(*value)),
            ExprKind::Float(value) => Ok(Value::Float(*value)),
            ExprKind::Text(text) => Value::template(&self.budget, text),
            ExprKind::Name(name) => {
                self.spend_lookup()?;
                Ok(match self.variable(*name) {
                    Some(value) => value.clone(),
                    None => functions::named(self.name(*name)),
                })
            }
            ExprKind::List(items) => self.evaluate_list(ListKind::List, items),
            ExprKind::Tuple(items) => self.evaluate_list(ListKind::Tuple, items),
            ExprKind::Map(entries) => {
                let mut values = Vec::new();
                for (key, value) in entries {
                    values.push((self.evaluate(key)?, self.evaluate(value)?));
                }
                Ok(Value::Map(Map::new(&self.budget, values)?))
            }
            ExprKind::Attribute(object, name) => {
                let value = self.evaluate(object)?;
                if matches!(value, Value::Undefined) {
                    return self.undefined(object);
                }
                self.get_attribute(&value, self.name(*name))
            }
            ExprKind::Item(object, index) => {
                let value = self.evaluate(object)?;
                if matches!(value, Value::Undefined) {
                    return self.undefined(object);
                }
                let index = self.evaluate(index)?;
                self.get_item(&value, &index)
            }
            ExprKind::Slice(object, bounds) => {
                let value = self.evaluate(object)?;
                if matches!(value, Value::Undefined) {
                    return self.undefined(object);
                }
                let mut evaluated = [None, None, None];
                for (bound, value) in bounds.iter().zip(&mut evaluated) {
                    if let Some(bound) = bound {
                        *value = Some(self.evaluate(bound)?);
                    }
                }
                operators::slice(&self.budget, &value, &evaluated)
            }
            ExprKind::Call(callee, arguments) => self.evaluate_call(callee, arguments, None),
            ExprKind::Filter(value, filter, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(arguments)?;
                self.line = expr.line;
                filter(self, value, arguments)
            }
            ExprKind::Test(value, test, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(arguments)?;
                test(self, &value, arguments).map(Value::Bool)
            }
            ExprKind::Not(value) => Ok(Value::Bool(!self.evaluate(value)?.is_true())),
            ExprKind::Negative(value) => operators::negative(self.evaluate(value)?),
            ExprKind::Positive(value) => self.evaluate(value),
            ExprKind::Binary(binary, left, right) => {
                let a = self.evaluate(left)?;
                let b = self.evaluate(right)?;
                for (value, expr) in [(&a, left), (&b, right)] {
                    if matches!(value, Value::Undefined) {
                        return self.undefined(expr);
                    }
                }
                self.line = expr.line;
                operators::binary(&self.budget, *binary, &a, &b)
            }
            ExprKind::Compare(first, rest) => {
                let mut left = self.evaluate(first)?;
                for (comparison, right) in rest {
                    let right = self.evaluate(right)?;
                    if !self.compare(*comparison, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            ExprKind::Concat(operands) => {
                let mut out = TextBuilder::new(&self.budget)?;
                for operand in operands {
                    let value = self.evaluate(operand)?;
                    print(&self.budget, &mut out, &value)?;
                }
                Ok(Value::Text(out.finish()))
            }
            ExprKind::And(operands) => self.evaluate_until(operands, false),
            ExprKind::Or(operands) => self.evaluate_until(operands, true),
            ExprKind::Conditional(condition, then, otherwise) => {
                if self.evaluate(condition)?.is_true() {
                    return self.evaluate(then);
                }
                match otherwise {
                    Some(otherwise) => self.evaluate(otherwise),
                    None => Ok(Value::Undefined),
                }
            }
        }
    }

    fn evaluate_list(&mut self, kind: ListKind, items: &'t [Expr]) -> Result<Value> {
        let mut values = Vec::new();
        for item in items {
            values.push(self.evaluate(item)?);
        }
        Value::list_of(&self.budget, kind, values)
    }

    /// The first of some values whose truth is `wanted`, or else the last.
    fn evaluate_until(&mut self, operands: &'t [Expr], wanted: bool) -> Result<Value> {
        let mut value = Value::Undefined;
        for operand in operands {
            value = self.evaluate(operand)?;
            if value.is_true() == wanted {
                break;
            }
        }
        Ok(value)
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        left: &Value,
        right: &Value,
    ) -> Result<bool> {
        let budget = &self.budget;
        let is_order =
            |accepts: fn(Ordering) -> bool| Ok(left.order(budget, right)?.is_some_and(accepts));
        match comparison {
            Comparison::Equal => left.equals(budget, right),
            Comparison::NotEqual => Ok(!left.equals(budget, right)?),
            Comparison::Less => is_order(Ordering::is_lt),
            Comparison::LessOrEqual => is_order(Ordering::is_le),
            Comparison::Greater => is_order(Ordering::is_gt),
            Comparison::GreaterOrEqual => is_order(Ordering::is_ge),
            Comparison::In => operators::contains(budget, right, left),
            Comparison::NotIn => Ok(!operators::contains(budget, right, left)?),
        }
    }

    pub(super) fn arguments(&mut self, arguments: &'t Arguments) -> Result<CallArguments> {
        let mut evaluated = CallArguments::default();
        for value in &arguments.positional {
            evaluated.positional.push(self.evaluate(value)?);
        }
        for (name, value) in &arguments.named {
            let value = self.evaluate(value)?;
            evaluated.named.push((self.name(*name).clone(), value));
        }
        Ok(evaluated)
    }

    /// A call with `caller` set to a block.
    pub(super) fn call_with_caller(&mut self, call: &'t Expr, caller: Value) -> Result<Value> {
        match &call.kind {
            ExprKind::Call(callee, arguments) => {
                self.evaluate_call(callee, arguments, Some(caller))
            }
            _ => self.evaluate(call),
        }
    }

    fn evaluate_call(
        &mut self,
        callee: &'t Expr,
        arguments: &'t Arguments,
        caller: Option<Value>,
    ) -> Result<Value> {
        let line = callee.line;
        if let ExprKind::Attribute(object, name) = &callee.kind {
            let value = self.evaluate(object)?;
            if matches!(value, Value::Undefined) {
                return self.undefined(object);
            }
            let name = self.name(*name);
            if methods::has(&value, name) {
                let arguments = self.arguments(arguments)?;
                self.line = line;
                return methods::call(self, &value, name, arguments);
            }
            let function = self.get_attribute(&value, name)?;
            let arguments = self.arguments(arguments)?;
            return match function {
                Value::Callable(callable) => self.call(&callable, arguments, caller),
                _ => fail(format!("{} has no method {name}", value.kind())),
            };
        }
        let function = self.evaluate(callee)?;
        let arguments = self.arguments(arguments)?;
        self.line = line;
        match function {
            Value::Callable(callable) => self.call(&callable, arguments, caller),
            Value::Undefined => self.undefined(callee),
            other => fail(format!(
                "{} is {} and cannot be called",
                self.described(callee),
                other.kind()
            )),
        }
    }

    fn call(
        &mut self,
        callable: &Rc<Callable>,
        arguments: CallArguments,
        caller: Option<Value>,
    ) -> Result<Value> {
        match &**callable {
            Callable::Function(function) => function.call(self, arguments),
            Callable::Macro(called) => self.call_macro(called, arguments, caller),
            Callable::Method(value, name) => methods::call(self, value, name, arguments),
        }
    }

    /// `value.name`.
    pub(super) fn get_attribute(&mut self, value: &Value, name: &str) -> Result<Value> {
        self.budget.spend(name.len() as u64 / 64)?;
        match value {
            Value::Map(map) => {
                if let Some(method) = methods::of_map(name) {
                    let method = Callable::Method(value.clone(), method);
                    return Ok(Value::Callable(Rc::new(method)));
                }
                Ok(map
                    .get_str(&self.budget, name)?
                    .cloned()
                    .unwrap_or(Value::Undefined))
            }
            Value::Namespace(id) => Ok(self
                .attribute(*id, name)
                .cloned()
                .unwrap_or(Value::Undefined)),
            Value::Loop(state) => Ok(loop_attribute(state, name)),
            _ => Ok(Value::Undefined),
        }
    }

    /// `value[index]`.
    pub(super) fn get_item(&mut self, value: &Value, index: &Value) -> Result<Value> {
        match (value, index) {
            (Value::Map(map), _) => {
                if let Some(found) = map.get(&self.budget, index)? {
                    return Ok(found.clone());
                }
                match index {
                    Value::Text(name) => self.get_attribute(value, name),
                    _ => Ok(Value::Undefined),
                }
            }
            (Value::List(list), _) if list.kind() != ListKind::Generator => {
                let Some(index) = index.as_int() else {
                    return Ok(Value::Undefined);
                };
                let at = operators::place(index, list.items().len());
                Ok(at.map_or(Value::Undefined, |at| list.items()[at].clone()))
            }
            (Value::Text(text), _) => match index.as_int() {
                Some(index) => operators::character(&self.budget, text, index),
                None => Ok(Value::Undefined),
            },
            (Value::Namespace(_) | Value::Loop(_), Value::Text(name)) => {
                self.get_attribute(value, name)
            }
            _ => Ok(Value::Undefined),
        }
    }

    fn spend_lookup(&self) -> Result<()> {
        self.budget.spend(self.scopes_len() as u64 / 4)
    }

    /// The error for an operation on an undefined value.
    fn undefined<T>(&self, expr: &Expr) -> Result<T> {
        fail(format!("{} is undefined", self.described(expr)))
    }

    /// An expression as it is named in errors.
    pub(super) fn described(&self, expr: &Expr) -> String {
        let mut parts = Vec::new();
        let mut expr = expr;
        // The end of a long path suffices.
        while parts.len() < 8 {
            match &expr.kind {
                ExprKind::Name(name) => {
                    parts.push(self.name(*name).to_string());
                    break;
                }
                ExprKind::Attribute(object, name) => {
                    parts.push(format!(".{}", self.name(*name)));
                    expr = object;
                }
                ExprKind::Item(object, index) => {
                    parts.push(match &index.kind {
                        ExprKind::Text(text) => format!("[{text:?}]"),
                        ExprKind::Int(number) => format!("[{number}]"),
                        _ => "[…]".into(),
                    });
                    expr = object;
                }
                _ => {
                    parts.push("the value".into());
                    break;
                }
            }
        }
        parts.reverse();
        let described = parts.concat();
        match described.char_indices().nth(80) {
            Some((end, _)) => format!("{}…", &described[..end]),
            None => described,
        }
    }
}

fn loop_attribute(state: &Rc<Loop>, name: &str) -> Value {
    let (items, index) = (state.items.items(), state.index);
    let item = |at: Option<usize>| {
        { at.and_then(|at| items.get(at)) }
            .cloned()
            .unwrap_or(Value::Undefined)
    };
    match name {
        "index" => Value::of_len(index + 1),
        "index0" => Value::of_len(index),
        "revindex" => Value::of_len(items.len() - index),
        "revindex0" => Value::of_len(items.len() - index - 1),
        "first" => Value::Bool(index == 0),
        "last" => Value::Bool(index + 1 == items.len()),
        "length" => Value::of_len(items.len()),
        // Only recursive loops, which are not supported, are deeper.
        "depth" => Value::Int(1),
        "depth0" => Value::Int(0),
        "previtem" => item(index.checked_sub(1)),
        "nextitem" => item(Some(index + 1)),
        "cycle" => Value::Callable(Rc::new(Callable::Function(Function::Cycle(index)))),
        _ => Value::Undefined,
    }
}
