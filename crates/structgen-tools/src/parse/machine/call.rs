//! The states within and after a call.

use serde_json::Value;

use super::super::arguments::{ListedArguments, TaggedValue, Wrong};
use super::super::object::Json;
use super::super::spec::Ends;
use super::super::{Event, ParseErrorKind, ToolCall};
use super::{Events, Machine, State, Step, Then, Unfinished, emit_arguments};
use crate::format::{Call, core};
use crate::tool::is_name_char;

impl Machine {
    /// Begins the content of a call.
    pub(super) fn content(&mut self) {
        self.call = Unfinished::default();
        self.state = match self.spec.format().call {
            Call::Object { .. } => State::Object(Box::default()),
            Call::Json { .. } | Call::Tagged { .. } | Call::Quoted { .. } | Call::Python { .. } => {
                State::Name
            }
        };
    }

    pub(super) fn name(&mut self, c: char, events: Events<'_>) -> Step {
        let name = &mut self.call.name;
        if is_name_char(c) {
            name.push(c);
            return Ok(());
        }
        if name.is_empty() {
            return match crate::is_space(c) {
                true => Ok(()),
                false => Err(ParseErrorKind::NoName),
            };
        }
        self.give_back(&c.to_string());
        let spec = self.spec.clone();
        let mut id_follows = false;
        if let Call::Json { id: Some(id), .. } = &spec.format().call {
            let begin = core(&id.begin);
            id_follows = !begin.starts_with(is_name_char);
            let name = &mut self.call.name;
            if !id_follows && let Some(at) = name.rfind(begin) {
                self.call.id = Some(id.whole(&name[..at], &name[at + begin.len()..]));
                name.truncate(at);
            }
        }
        if !id_follows {
            self.start_call(events);
        }
        self.behind_name(id_follows);
        Ok(())
    }

    pub(super) fn start_call(&self, events: Events<'_>) {
        events.push(Event::CallStarted {
            index: self.calls,
            name: self.call.name.clone(),
            id: self.call.id.clone(),
        });
    }

    /// Ends the id after a name.
    pub(super) fn end_id(&mut self, id: &str, events: Events<'_>) {
        if let Call::Json {
            id: Some(format), ..
        } = &self.spec.format().call
        {
            self.call.id = Some(format.whole(&self.call.name, id));
        }
        self.start_call(events);
        self.behind_name(false);
    }

    pub(super) fn behind_name(&mut self, id_follows: bool) {
        let spec = self.spec.clone();
        match &spec.format().call {
            Call::Json { id: Some(id), .. } if id_follows => {
                self.choose([(id.begin.as_str(), Then::Id)], None)
            }
            Call::Json { name_end, .. } | Call::Tagged { name_end, .. } => {
                self.markers(
                    name_end.texts().collect::<Vec<_>>().into_iter(),
                    Then::Arguments,
                );
            }
            Call::Quoted { .. } => self.choose([("{", Then::Arguments)], None),
            Call::Python { .. } | Call::Object { .. } => {
                self.choose([("(", Then::Arguments)], None)
            }
        }
    }

    pub(super) fn arguments(&mut self) {
        match &self.spec.clone().format().call {
            Call::Tagged { .. } => self.parameters(),
            Call::Python { .. } => self.listed(ListedArguments::python()),
            Call::Quoted { quote, .. } => self.listed(ListedArguments::quoted(quote)),
            Call::Json { .. } | Call::Object { .. } => {
                self.state = State::Json {
                    json: Json::default(),
                    text: String::new(),
                };
            }
        }
    }

    fn listed(&mut self, arguments: ListedArguments) {
        self.state = State::Listed(Box::new(arguments));
    }

    /// Expects another argument between tags, or the end of the call.
    pub(super) fn parameters(&mut self) {
        let spec = self.spec.clone();
        if let Call::Tagged { parameter, end, .. } = &spec.format().call {
            self.choose(
                [
                    (parameter.begin.as_str(), Then::Key),
                    (end.as_str(), Then::CallEnd),
                ],
                None,
            );
        }
    }

    pub(super) fn value(&mut self, key: String, events: Events<'_>) {
        let spec = self.spec.clone();
        if let Call::Tagged { parameter, .. } = &spec.format().call {
            let kind = spec.kind(&self.call.name, &key);
            let ends = Ends::new(&parameter.key_end, &parameter.end);
            let mut json = String::new();
            let value = TaggedValue::new(key, kind, &ends, &mut self.call.arguments, &mut json);
            emit_arguments(events, self.calls, &json);
            self.state = State::Value(Box::new(value));
        }
    }

    pub(super) fn object(&mut self, c: char, events: Events<'_>) -> Step {
        let State::Object(object) = &mut self.state else {
            return Ok(());
        };
        let members = &self.spec.members;
        let Some(progress) = object.push(c, &members.name, &members.arguments) else {
            let expected = vec!["\"{\"".to_owned()];
            return Err(ParseErrorKind::Expected { expected });
        };
        if progress.named {
            self.call.name = object.name.clone().unwrap_or_default();
        }
        let whole = progress.done.then(|| object.value());
        if progress.named {
            self.start_call(events);
        }
        emit_arguments(events, self.calls, &progress.arguments);
        let Some(whole) = whole else { return Ok(()) };
        let mut whole = whole.map_err(|error| self.unreadable(&error))?;
        if self.call.name.is_empty() {
            return Err(ParseErrorKind::NoName);
        }
        let mut arguments = whole[&self.spec.members.arguments].take();
        // Some models encode the arguments once more, as a string.
        if let Value::String(text) = &arguments {
            arguments = serde_json::from_str(text).map_err(|error| self.unreadable(&error))?;
        }
        if !arguments.is_object() {
            let name = self.call.name.clone();
            return Err(ParseErrorKind::NoArguments { name });
        }
        let id = self.spec.members.id.as_ref().and_then(|key| whole.get(key));
        self.call.id = id.and_then(Value::as_str).map(str::to_owned);
        self.end_call(arguments, events);
        self.behind_arguments();
        Ok(())
    }

    pub(super) fn unreadable(&self, reason: &serde_json::Error) -> ParseErrorKind {
        ParseErrorKind::Arguments {
            name: self.call.name.clone(),
            reason: reason.to_string(),
        }
    }

    pub(super) fn wrong<T>(&self, result: Result<T, Wrong>) -> Result<T, ParseErrorKind> {
        let name = self.call.name.clone();
        result.map_err(|wrong| match wrong {
            Wrong::Twice(key) => ParseErrorKind::Twice { name, key },
            Wrong::Unreadable(reason) => ParseErrorKind::Arguments { name, reason },
        })
    }

    pub(super) fn end_collected(&mut self, events: Events<'_>) {
        emit_arguments(events, self.calls, self.call.arguments.end());
        let arguments = Value::Object(std::mem::take(&mut self.call.arguments.values));
        self.end_call(arguments, events);
    }

    pub(super) fn end_call(&mut self, arguments: Value, events: Events<'_>) {
        let Unfinished { name, id, .. } = std::mem::take(&mut self.call);
        let call = ToolCall {
            name,
            arguments,
            id,
        };
        events.push(Event::CallFinished {
            index: self.calls,
            call,
        });
        self.calls += 1;
    }

    /// Expects the end of a call whose arguments are complete.
    pub(super) fn behind_arguments(&mut self) {
        let spec = self.spec.clone();
        self.markers(std::iter::once(spec.format().call.end()), Then::AfterCall);
    }

    /// Expects another call, or the end of all calls.
    pub(super) fn after_call(&mut self) {
        let spec = self.spec.clone();
        let next = spec.next.iter().map(|it| (it.as_str(), Then::NextCall));
        let end = spec
            .format()
            .calls
            .end
            .texts()
            .map(|it| (it, Then::Trailing));
        let by_name = spec.next.iter().any(|next| core(next).is_empty());
        let fallback = if by_name { Then::Content } else { Then::Text };
        self.choose(next.chain(end), Some(fallback));
    }

    /// After all calls: nothing, or text after all.
    pub(super) fn trailing(&mut self) {
        let spec = self.spec.clone();
        let ends = spec
            .longer_ends
            .iter()
            .map(|it| (it.as_str(), Then::Trailing));
        self.choose(ends, Some(Then::Text));
    }
}

/// Whether the character may occur in ids after names.
pub(super) fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
