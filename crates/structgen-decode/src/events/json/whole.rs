//! The events of a complete JSON text.

use std::collections::VecDeque;

use super::{JsonEvents, NotJson, OutputEvent};

/// An iterator over the events of a whole JSON text, created by [`JsonEvents::of`].
///
/// Each string has a single delta. The iterator ends after an error.
#[derive(Debug, Clone)]
pub struct JsonEventsOf<'t> {
    events: JsonEvents,
    /// The text that is not read yet; `None` once the end was reported.
    rest: Option<&'t str>,
    told: VecDeque<OutputEvent<'static>>,
    failed: Option<NotJson>,
}

impl JsonEvents {
    /// Returns the events of a complete text, such as a finished output.
    ///
    /// ```
    /// use structgen_decode::events::{JsonEvents, OutputEvent};
    ///
    /// let text = r#"{"sizes": [37, 41]}"#;
    /// let mut spans = Vec::new();
    /// for event in JsonEvents::of(text) {
    ///     if let OutputEvent::Done { span, .. } = event? {
    ///         spans.push(&text[span]);
    ///     }
    /// }
    /// assert_eq!(spans, ["37", "41", "[37, 41]", text]);
    /// # Ok::<(), structgen_decode::events::NotJson>(())
    /// ```
    #[must_use]
    pub fn of(text: &str) -> JsonEventsOf<'_> {
        JsonEventsOf {
            events: Self::new(),
            rest: Some(text),
            told: VecDeque::new(),
            failed: None,
        }
    }
}

impl JsonEventsOf<'_> {
    /// Reads up to where a value may start or end.
    fn go_on(&mut self) {
        let Some(text) = self.rest else { return };
        let told = &mut self.told;
        let mut on_event = |event: OutputEvent<'_>| {
            if let OutputEvent::Delta { text, .. } = &event
                && let Some(OutputEvent::Delta { text: before, .. }) = told.back_mut()
            {
                before.to_mut().push_str(text);
            } else {
                told.push_back(event.into_owned());
            }
        };
        let end = text.find(['{', '}', '[', ']', ',', ':', '"']);
        let result = match end.map(|at| text.split_at(at + 1)) {
            Some((piece, rest)) => {
                self.rest = Some(rest);
                self.events.push(piece, &mut on_event)
            }
            None => {
                self.rest = None;
                let result = self.events.push(text, &mut on_event);
                result.and_then(|()| self.events.finish(&mut on_event))
            }
        };
        if let Err(error) = result {
            self.rest = None;
            self.failed = Some(error);
        }
    }
}

impl Iterator for JsonEventsOf<'_> {
    type Item = Result<OutputEvent<'static>, NotJson>;

    fn next(&mut self) -> Option<Self::Item> {
        // The last delta may be continued.
        while self.rest.is_some()
            && (self.told.len() < 2
                && matches!(self.told.front(), None | Some(OutputEvent::Delta { .. })))
        {
            self.go_on();
        }
        match self.told.pop_front() {
            Some(event) => Some(Ok(event)),
            None => self.failed.take().map(Err),
        }
    }
}
