//! The named parts of an output, told as they are found.
//!
//! Captures are found anew in the whole output after each piece, since only the whole decides how it is read. What has
//! changed from one finding to the next is reported.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use structgen_constraint::{CaptureSpan, Matcher};
use structgen_vocab::TokenId;

use super::stream::{EventError, tell_text};
use super::{OutputEvent, OutputPart};

/// What of an output's captures was told.
#[derive(Debug, Clone)]
pub(super) struct CaptureEvents {
    matcher: Matcher,
    /// How many tokens the matcher has taken.
    taken: usize,
    /// What became certain of the text.
    text: String,
    /// The captures that were told and not withdrawn, in the order in which they begin.
    told: Vec<Told>,
    /// How many were told, those that were withdrawn included.
    count: usize,
}

#[derive(Debug, Clone)]
struct Told {
    name: Arc<str>,
    number: usize,
    start: usize,
    /// The end of what was told of it.
    end: usize,
    done: bool,
}

type OnEvent<'e> = &'e mut dyn FnMut(OutputEvent<'_>);

impl CaptureEvents {
    /// From a matcher at the start of an output.
    pub(super) fn new(matcher: Matcher) -> Self {
        Self {
            matcher,
            taken: 0,
            text: String::new(),
            told: Vec::new(),
            count: 0,
        }
    }

    /// Takes more text, and the tokens of the whole output so far.
    pub(super) fn push(
        &mut self,
        text: &str,
        output: &[TokenId],
        on_event: OnEvent<'_>,
    ) -> Result<(), EventError> {
        for &token in output.get(self.taken..).unwrap_or_default() {
            self.matcher.accept_token(token)?;
            self.taken += 1;
        }
        self.text.push_str(text);
        tell_text(text, on_event);
        let found = self.matcher.captures()?;
        self.tell(found, on_event);
        Ok(())
    }

    pub(super) fn finish(&mut self, on_event: OnEvent<'_>) -> Result<(), EventError> {
        let incomplete = EventError::Incomplete {
            offset: self.text.len(),
        };
        // Tokens of which a stop string has taken the text away are no part of the output.
        let vocabulary = self.matcher.constraint().vocabulary();
        let lengths: Vec<usize> = { self.matcher.tokens() }
            .map(|token| vocabulary.token_bytes(token).map_or(0, <[u8]>::len))
            .collect();
        let mut len: usize = lengths.iter().sum();
        let mut back = 0;
        for &token in lengths.iter().rev() {
            if len <= self.text.len() {
                break;
            }
            len -= token;
            back += 1;
        }
        if len != self.text.len() {
            return Err(incomplete);
        }
        self.matcher.rollback(back)?;
        self.taken -= back;
        let found = self.matcher.captures_at_end()?.ok_or(incomplete)?;
        self.tell(found, on_event);
        Ok(())
    }

    /// Tells what of the captures is new, given all of them in the order in which they begin.
    fn tell(&mut self, mut found: Vec<CaptureSpan>, on_event: OnEvent<'_>) {
        let text = &self.text;
        for capture in &mut found {
            // Bytes that are held back are not told of.
            let end = text.floor_char_boundary(capture.span.end);
            capture.is_open |= end < capture.span.end;
            capture.span.end = end;
        }
        found.retain(|capture| {
            let span = &capture.span;
            span.start < span.end || span.start == span.end && !capture.is_open
        });
        let mut known = Known::new(std::mem::take(&mut self.told));
        let before: Vec<Option<Told>> = found.iter().map(|one| known.take(one)).collect();
        for told in known.rest() {
            on_event(OutputEvent::Withdrawn { part: told.part() });
        }
        // Captures lie in one another or side by side: those that the next one is not in are told first.
        let mut around: Vec<(usize, CaptureSpan)> = Vec::new();
        for (capture, before) in found.into_iter().zip(before) {
            while let Some((at, outer)) =
                around.pop_if(|(_, outer)| !outer.is_open && outer.span.end <= capture.span.start)
            {
                self.told[at].go_on(&outer, text, on_event);
            }
            let told = before.unwrap_or_else(|| {
                let told = Told {
                    name: capture.name.clone(),
                    number: self.count,
                    start: capture.span.start,
                    end: capture.span.start,
                    done: false,
                };
                self.count += 1;
                on_event(OutputEvent::Started {
                    part: told.part(),
                    start: told.start,
                });
                told
            });
            around.push((self.told.len(), capture));
            self.told.push(told);
        }
        while let Some((at, outer)) = around.pop() {
            self.told[at].go_on(&outer, text, on_event);
        }
    }
}

impl Told {
    fn part(&self) -> OutputPart<'_> {
        OutputPart::Capture {
            name: Cow::Borrowed(&self.name),
            number: self.number,
        }
    }

    /// Tells what is new about it.
    fn go_on(&mut self, now: &CaptureSpan, text: &str, on_event: OnEvent<'_>) {
        if self.done {
            return;
        }
        if let Some(more) = text.get(self.end..now.span.end)
            && !more.is_empty()
        {
            on_event(OutputEvent::Delta {
                part: self.part(),
                text: Cow::Borrowed(more),
            });
        }
        self.end = now.span.end;
        self.done = !now.is_open;
        if self.done {
            on_event(OutputEvent::Done {
                part: self.part(),
                span: now.span.clone(),
            });
        }
    }
}

/// What was told before, to be found again.
#[derive(Default)]
struct Known {
    told: Vec<Option<Told>>,
    done: HashMap<(Arc<str>, Range<usize>), VecDeque<usize>>,
    open: HashMap<(Arc<str>, usize), VecDeque<usize>>,
}

impl Known {
    fn new(told: Vec<Told>) -> Self {
        let mut known = Self::default();
        for (at, told) in told.iter().enumerate() {
            let name = told.name.clone();
            let same = match told.done {
                true => known.done.entry((name, told.start..told.end)).or_default(),
                false => known.open.entry((name, told.start)).or_default(),
            };
            same.push_back(at);
        }
        known.told = told.into_iter().map(Some).collect();
        known
    }

    /// What was told of this capture, if it still holds.
    fn take(&mut self, capture: &CaptureSpan) -> Option<Told> {
        let (name, span) = (&capture.name, &capture.span);
        if !capture.is_open
            && let Some(same) = self.done.get_mut(&(name.clone(), span.clone()))
            && let Some(at) = same.pop_front()
        {
            return self.told[at].take();
        }
        let same = self.open.get_mut(&(name.clone(), span.start))?;
        let at = *same.front()?;
        // More of it was told than there is.
        if self.told[at]
            .as_ref()
            .is_some_and(|told| told.end > span.end)
        {
            return None;
        }
        same.pop_front();
        self.told[at].take()
    }

    /// What does not hold any more, last one first.
    fn rest(self) -> impl Iterator<Item = Told> {
        self.told.into_iter().rev().flatten()
    }
}
