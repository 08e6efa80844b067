//! Reports the named parts of an output as they are found.
//!
//! After each piece, captures are searched anew in the whole output, since only the whole output determines how it is
//! parsed. The difference to the previous search is reported.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use structgen_constraint::{CaptureSpan, Matcher};
use structgen_vocab::TokenId;

use super::stream::{EventError, tell_text};
use super::{OutputEvent, OutputPart};

/// The captures of an output reported so far.
#[derive(Debug, Clone)]
pub(super) struct CaptureEvents {
    matcher: Matcher,
    /// The number of tokens that the matcher has accepted.
    taken: usize,
    /// The text that is final.
    text: String,
    /// The captures reported and not withdrawn, in the order of their starts.
    told: Vec<Told>,
    /// The number of captures reported, including those withdrawn.
    count: usize,
}

#[derive(Debug, Clone)]
struct Told {
    name: Arc<str>,
    number: usize,
    start: usize,
    /// The end of what was reported of it.
    end: usize,
    done: bool,
}

type OnEvent<'e> = &'e mut dyn FnMut(OutputEvent<'_>);

impl CaptureEvents {
    /// Creates it from a matcher at the start of an output.
    pub(super) fn new(matcher: Matcher) -> Self {
        Self {
            matcher,
            taken: 0,
            text: String::new(),
            told: Vec::new(),
            count: 0,
        }
    }

    /// Accepts more text, and the tokens of the whole output so far.
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
        // Tokens whose text a stop string removed are not part of the output.
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

    /// Reports what is new, given all captures in the order of their starts.
    fn tell(&mut self, mut found: Vec<CaptureSpan>, on_event: OnEvent<'_>) {
        let text = &self.text;
        for capture in &mut found {
            // Do not report bytes that are held back.
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
        // Captures are nested or disjoint: report those that do not contain the next one first.
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

    /// Reports what is new about it.
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

/// The captures reported before, for comparison.
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

    /// Returns what was reported of this capture, if it is still valid.
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
        // More of it was reported than exists now.
        if self.told[at]
            .as_ref()
            .is_some_and(|told| told.end > span.end)
        {
            return None;
        }
        same.pop_front();
        self.told[at].take()
    }

    /// Returns what is no longer valid, last one first.
    fn rest(self) -> impl Iterator<Item = Told> {
        self.told.into_iter().rev().flatten()
    }
}
