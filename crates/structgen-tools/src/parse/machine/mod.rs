//! The state machine of the parser.

mod call;

use std::collections::VecDeque;
use std::sync::Arc;

use self::call::is_id_char;
use super::arguments::{Collected, ListedArguments, TaggedValue, strip};
use super::choose::{Choose, Decision};
use super::finder::Finder;
use super::object::{Json, ObjectCall};
use super::spec::{Ends, Spec};
use super::{Event, ParseError, ParseErrorKind};
use crate::Reasoning;
use crate::format::{Call, Marker, core};

/// A parser over characters.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    spec: Arc<Spec>,
    state: State,
    /// Characters that a state returned unread.
    queue: VecDeque<char>,
    /// The current call.
    call: Unfinished,
    /// The number of complete calls.
    calls: usize,
}

#[derive(Clone, Debug, Default)]
struct Unfinished {
    name: String,
    id: Option<String>,
    arguments: Collected,
}

#[derive(Clone, Debug)]
enum State {
    /// Expects a marker, or else enters the fallback.
    Marker {
        choose: Choose<Then>,
        fallback: Option<Then>,
        /// Whether whitespace at the end of the output is text.
        keeps_space: bool,
        /// The whitespace at the end of the previous marker.
        lead: String,
    },
    /// Text up to the end or to a call.
    Text {
        finder: Finder,
        lead: String,
    },
    /// Text between markers.
    Enclosed {
        what: Enclosing,
        finder: Finder,
        lead: String,
    },
    Name,
    Id {
        id: String,
    },
    Object(Box<ObjectCall>),
    Json {
        json: Json,
        text: String,
    },
    Key {
        finder: Finder,
        key: String,
    },
    Value(Box<TaggedValue>),
    Listed(Box<ListedArguments>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enclosing {
    Reasoning,
    Preamble,
    Text,
}

/// What follows a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Enclosed(Enclosing),
    Trigger(usize),
    Text,
    /// The content of a call, after its trigger or the text before a call.
    Content,
    NextCall,
    Id,
    Arguments,
    Key,
    CallEnd,
    AfterCall,
    Trailing,
}

type Events<'e> = &'e mut Vec<Event>;
type Step = Result<(), ParseErrorKind>;

impl Machine {
    pub(super) fn new(spec: Arc<Spec>) -> Self {
        let mut machine = Self {
            spec,
            state: State::Name,
            queue: VecDeque::new(),
            call: Unfinished::default(),
            calls: 0,
        };
        let is_open = machine.spec.reasoning == Reasoning::Open;
        if is_open && let Some(reasoning) = &machine.spec.format().reasoning {
            let ends = Ends::new(&Marker::default(), &reasoning.end);
            machine.state = State::Enclosed {
                what: Enclosing::Reasoning,
                finder: Finder::new(ends.markers),
                lead: String::new(),
            };
        } else {
            machine.open(true, String::new());
        }
        machine
    }

    /// Consumes a character; `offset` is the offset after it.
    pub(super) fn take(
        &mut self,
        c: char,
        offset: usize,
        events: Events<'_>,
    ) -> Result<(), ParseError> {
        self.queue.push_back(c);
        // A state returns a character only while changing to a state that consumes it.
        while let Some(c) = self.queue.pop_front() {
            self.step(c, events)
                .map_err(|kind| ParseError { offset, kind })?;
        }
        Ok(())
    }

    /// Ends the output.
    pub(super) fn finish(&mut self, offset: usize, events: Events<'_>) -> Result<(), ParseError> {
        match &mut self.state {
            State::Marker {
                choose,
                fallback: Some(Then::Text),
                keeps_space: true,
                lead,
            } => {
                let mut lead = std::mem::take(lead);
                let text: String = choose
                    .seen()
                    .chars()
                    .filter(|&c| !strip(&mut lead, c))
                    .collect();
                emit_text(events, &text);
            }
            // The previous call is complete.
            State::Marker {
                fallback: Some(Then::Text | Then::AfterCall),
                ..
            } => {}
            State::Marker { choose, .. } if choose.leads_to(Then::AfterCall) => {}
            State::Text { finder, .. } => emit_text(events, &finder.rest()),
            State::Enclosed { what, finder, .. } => {
                let rest = finder.rest();
                emit(events, *what, &rest);
            }
            _ => {
                let kind = ParseErrorKind::Incomplete;
                return Err(ParseError { offset, kind });
            }
        }
        if let State::Enclosed {
            what: Enclosing::Reasoning,
            ..
        } = self.state
        {
            emit(events, Enclosing::Reasoning, "");
        }
        Ok(())
    }

    fn step(&mut self, c: char, events: Events<'_>) -> Step {
        match &mut self.state {
            State::Marker {
                choose,
                fallback,
                lead,
                ..
            } => match choose.push(c) {
                Decision::Open => Ok(()),
                Decision::Is(then) => {
                    self.enter(then, String::new(), events);
                    Ok(())
                }
                Decision::None => match *fallback {
                    Some(then) => {
                        let seen = choose.seen();
                        let lead = std::mem::take(lead);
                        self.give_back(&seen);
                        self.enter(then, lead, events);
                        Ok(())
                    }
                    None => Err(ParseErrorKind::Expected {
                        expected: choose.expected(),
                    }),
                },
            },
            State::Text { finder, lead } => {
                if strip(lead, c) {
                    return Ok(());
                }
                let mut text = String::new();
                let found = finder.push(c, &mut text);
                emit_text(events, &text);
                // If calls are searched for in text, there is one trigger.
                if found {
                    self.behind_trigger(0);
                }
                Ok(())
            }
            State::Enclosed { what, finder, lead } => {
                let what = *what;
                if strip(lead, c) {
                    return Ok(());
                }
                let mut text = String::new();
                let found = finder.push(c, &mut text);
                emit(events, what, &text);
                if found {
                    self.behind_enclosed(what);
                }
                Ok(())
            }
            State::Name => self.name(c, events),
            State::Id { id } => {
                if is_id_char(c) {
                    id.push(c);
                    return Ok(());
                }
                let id = std::mem::take(id);
                self.give_back(&c.to_string());
                self.end_id(&id, events);
                Ok(())
            }
            State::Object(_) => self.object(c, events),
            State::Json { json, text } => {
                let starts = text.is_empty();
                if starts && crate::is_space(c) {
                    return Ok(());
                }
                if starts && c != '{' {
                    let name = self.call.name.clone();
                    return Err(ParseErrorKind::NoArguments { name });
                }
                json.push(c);
                text.push(c);
                let whole = (json.depth == 0).then(|| std::mem::take(text));
                emit_arguments(events, self.calls, c.encode_utf8(&mut [0; 4]));
                let Some(whole) = whole else { return Ok(()) };
                let arguments =
                    serde_json::from_str(&whole).map_err(|error| self.unreadable(&error))?;
                self.end_call(arguments, events);
                self.behind_arguments();
                Ok(())
            }
            State::Key { finder, key } => {
                if finder.push(c, key) {
                    let key = key.trim_matches(crate::is_space).to_owned();
                    self.value(key, events);
                }
                Ok(())
            }
            State::Value(value) => {
                let mut json = String::new();
                let done = value.push(c, &mut self.call.arguments, &mut json);
                emit_arguments(events, self.calls, &json);
                if self.wrong(done)? {
                    self.parameters();
                }
                Ok(())
            }
            State::Listed(listed) => {
                let mut json = String::new();
                let done = listed.push(c, &mut self.call.arguments, &mut json);
                emit_arguments(events, self.calls, &json);
                if self.wrong(done)? {
                    self.end_collected(events);
                    self.behind_arguments();
                }
                Ok(())
            }
        }
    }

    fn give_back(&mut self, text: &str) {
        for c in text.chars().rev() {
            self.queue.push_front(c);
        }
    }

    fn enter(&mut self, then: Then, lead: String, events: Events<'_>) {
        match then {
            Then::Enclosed(what) => self.enclosed(what, events),
            Then::Trigger(index) => self.behind_trigger(index),
            Then::Text => self.text(lead),
            Then::Content => self.content(),
            Then::NextCall => {
                if matches!(self.spec.format().call, Call::Object { .. }) {
                    self.give_back("{");
                }
                self.content();
            }
            Then::Id => self.state = State::Id { id: String::new() },
            Then::Arguments => self.arguments(),
            Then::Key => {
                let spec = self.spec.clone();
                if let Call::Tagged { parameter, .. } = &spec.format().call {
                    self.state = State::Key {
                        finder: Finder::new(
                            parameter.key_end.texts().map(|it| core(it).to_owned()),
                        ),
                        key: String::new(),
                    };
                }
            }
            Then::CallEnd => {
                self.end_collected(events);
                self.after_call();
            }
            Then::AfterCall => self.after_call(),
            Then::Trailing => self.trailing(),
        }
    }

    fn choose<'m>(
        &mut self,
        options: impl IntoIterator<Item = (&'m str, Then)>,
        fallback: Option<Then>,
    ) {
        self.state = State::Marker {
            choose: Choose::new(options),
            fallback,
            keeps_space: false,
            lead: String::new(),
        };
    }

    /// Expects what may open the output, or what may follow its reasoning or a preamble.
    fn open(&mut self, at_start: bool, lead: String) {
        let spec = self.spec.clone();
        let format = spec.format();
        let mut options: Vec<(&str, Then)> = Vec::new();
        if let Some(reasoning) = &format.reasoning
            && at_start
            && spec.reasoning != Reasoning::Off
        {
            options.extend(enclosing(&reasoning.begin, Enclosing::Reasoning));
        }
        if format.encloses_text() {
            options.extend(enclosing(&format.text.begin, Enclosing::Text));
        }
        if let Some(preamble) = &format.preamble {
            options.extend(enclosing(&preamble.begin, Enclosing::Preamble));
        }
        if format.encloses_text() || !spec.finds_calls_in_text {
            let triggers = spec.triggers.iter().enumerate();
            options.extend(triggers.map(|(index, it)| (it.text.as_str(), Then::Trigger(index))));
        }
        if options.is_empty() {
            return self.text(lead);
        }
        self.state = State::Marker {
            choose: Choose::exact(options),
            fallback: Some(Then::Text),
            keeps_space: true,
            lead,
        };
    }

    fn text(&mut self, lead: String) {
        let triggers = self.spec.triggers.iter().map(|it| it.text.clone());
        let finder = match self.spec.finds_calls_in_text {
            true => Finder::new(triggers),
            false => Finder::default(),
        };
        self.state = State::Text { finder, lead };
    }

    fn enclosed(&mut self, what: Enclosing, events: Events<'_>) {
        let ends = self.ends(what);
        emit(events, what, "");
        self.state = State::Enclosed {
            what,
            finder: Finder::new(ends.markers),
            lead: ends.lead,
        };
    }

    fn ends(&self, what: Enclosing) -> Ends {
        let format = self.spec.format();
        let (begin, end) = match (what, &format.reasoning, &format.preamble) {
            (Enclosing::Reasoning, Some(it), _) | (Enclosing::Preamble, _, Some(it)) => {
                (&it.begin, &it.end)
            }
            _ => (&format.text.begin, &format.text.end),
        };
        Ends::new(begin, end)
    }

    fn behind_enclosed(&mut self, what: Enclosing) {
        match what {
            Enclosing::Text => self.trailing(),
            Enclosing::Reasoning | Enclosing::Preamble => {
                let behind = self.ends(what).behind;
                self.open(false, behind);
            }
        }
    }

    fn behind_trigger(&mut self, index: usize) {
        let spec = self.spec.clone();
        let trigger = &spec.triggers[index];
        self.give_back(&trigger.content);
        self.markers(trigger.rest.iter().map(String::as_str), Then::Content);
    }

    /// Expects one of some markers, unless one of them is empty.
    fn markers<'m>(&mut self, markers: impl Iterator<Item = &'m str> + Clone, then: Then) {
        let may_be_missing = markers.clone().any(|it| core(it).is_empty());
        self.choose(
            markers.map(|marker| (marker, then)),
            may_be_missing.then_some(then),
        );
    }
}

fn enclosing(begin: &Marker, what: Enclosing) -> impl Iterator<Item = (&str, Then)> {
    begin.texts().map(move |text| (text, Then::Enclosed(what)))
}

fn emit(events: Events<'_>, what: Enclosing, text: &str) {
    match what {
        Enclosing::Reasoning => match events.last_mut() {
            Some(Event::Reasoning(all)) => all.push_str(text),
            _ => events.push(Event::Reasoning(text.to_owned())),
        },
        Enclosing::Preamble | Enclosing::Text => emit_text(events, text),
    }
}

fn emit_text(events: Events<'_>, text: &str) {
    match events.last_mut() {
        _ if text.is_empty() => {}
        Some(Event::Text(all)) => all.push_str(text),
        _ => events.push(Event::Text(text.to_owned())),
    }
}

fn emit_arguments(events: Events<'_>, call: usize, json: &str) {
    match events.last_mut() {
        _ if json.is_empty() => {}
        Some(Event::Arguments { index, json: all }) if *index == call => all.push_str(json),
        _ => events.push(Event::Arguments {
            index: call,
            json: json.to_owned(),
        }),
    }
}
