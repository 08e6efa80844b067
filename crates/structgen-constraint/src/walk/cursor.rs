//! The automaton's side of a walk.

use structgen_automata::{
    ByteSet, Call, Element, Ends, LimitExceeded, Memory, SHORT_TEXT, SetId, Span, StepError,
    TerminalCursor, TerminalState,
};

use crate::draft::Draft;
use crate::error::limit;
use crate::texts::Texts;

/// The state of a walk: usually inside one terminal, where a step is a table lookup.
#[derive(Clone, Copy)]
pub(crate) enum Cursor<'n> {
    /// Inside the terminal on top of the only stack, where it cannot end.
    Inside(Top<'n>),
    /// The same where the terminal may end under `label`, such as a number or whitespace; `after` is what then follows.
    Ending {
        top: Top<'n>,
        label: u32,
        after: SetId,
    },
    /// Any set of stacks.
    Set(SetId),
    /// No state: only a span that is known to continue is followed.
    Nowhere,
}

/// The top of a stack: a terminal in progress.
#[derive(Clone, Copy)]
pub(crate) struct Top<'n> {
    element: Element,
    pub(crate) at: TerminalCursor<'n>,
}

impl<'n> Top<'n> {
    #[inline]
    pub(crate) fn new(network: &'n Call<'_>, element: Element) -> Self {
        Self {
            element,
            at: network.cursor(element.frame),
        }
    }

    /// Returns whether the terminal continues with one more byte.
    #[inline]
    fn continues(self, network: &Call<'_>, byte: u8, memory: Memory) -> Result<bool, StepError> {
        let Some(at) = self.at.step(byte, memory)? else {
            return Ok(false);
        };
        self.check_end(at, network)?;
        Ok(true)
    }

    /// Fails if the terminal may end in another state, and it depends on what a sketch omits whether it does.
    #[inline]
    pub(super) fn check_end(
        self,
        at: TerminalCursor<'n>,
        network: &Call<'_>,
    ) -> Result<(), StepError> {
        match at.accept() {
            Some(label) => network.check_end(self.moved_to(at).element.frame, label),
            None => Ok(()),
        }
    }

    /// Returns the cursor after the terminal, which ends under the label.
    pub(super) fn after(self, label: u32, network: &'n Call<'_>) -> Result<Cursor<'n>, StepError> {
        let Element { frame, below } = self.element;
        Cursor::new(network, network.follow_under(frame, label, below)?)
    }

    /// Returns the cursor after some bytes of the terminal, or `None` if no text continues.
    pub(crate) fn run<'b>(
        self,
        bytes: impl IntoIterator<Item = &'b u8>,
        network: &'n Call<'_>,
        memory: Memory,
    ) -> Result<Option<Cursor<'n>>, StepError> {
        let mut at = self.at;
        for &byte in bytes {
            match at.step(byte, memory)? {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        Cursor::of(network, self.moved_to(at)).map(Some)
    }

    /// Returns the cursor with the terminal in another state.
    pub(crate) fn at_state(
        self,
        state: TerminalState,
        network: &'n Call<'_>,
    ) -> Result<Cursor<'n>, StepError> {
        let frame = self.element.frame.with_state(state);
        Cursor::of(network, self.moved_to(network.cursor(frame)))
    }

    /// Returns the top with its terminal in another state.
    #[inline]
    pub(super) fn moved_to(self, at: TerminalCursor<'n>) -> Self {
        let frame = self.element.frame.with_state(at.state());
        Self {
            element: Element {
                frame,
                ..self.element
            },
            at,
        }
    }
}

impl<'n> Cursor<'n> {
    pub(super) fn new(network: &'n Call<'_>, set: SetId) -> Result<Self, StepError> {
        match *network.elements(set) {
            [element] if element.frame.reads() => Self::of(network, Top::new(network, element)),
            _ => Ok(Self::Set(set)),
        }
    }

    #[inline]
    pub(super) fn of(network: &'n Call<'_>, top: Top<'n>) -> Result<Self, StepError> {
        match top.at.accept() {
            None => Ok(Self::Inside(top)),
            Some(label) => Self::ending(network, top, label),
        }
    }

    fn ending(network: &'n Call<'_>, top: Top<'n>, label: u32) -> Result<Self, StepError> {
        let Element { frame, below } = top.element;
        let after = network.follow_under(frame, label, below)?;
        if top.at.is_end() {
            return Self::new(network, after);
        }
        Ok(Self::Ending { top, label, after })
    }

    /// Returns the cursor after one more byte, or `None` if no text continues.
    #[inline]
    pub(super) fn step(
        self,
        network: &'n Call<'_>,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<Self>, StepError> {
        match self {
            Self::Inside(top) => match top.at.step(byte, memory)? {
                Some(at) => Self::of(network, top.moved_to(at)).map(Some),
                None => Ok(None),
            },
            Self::Ending { top, label, after } => {
                Self::step_both(network, (top, label), after, byte, memory)
            }
            Self::Nowhere => Ok(None),
            Self::Set(set) => match network.step(set, byte, memory)? {
                SetId::DEAD => Ok(None),
                next => Self::new(network, next).map(Some),
            },
        }
    }

    /// Returns whether some text continues with one more byte, without creating the state after it.
    #[inline]
    pub(super) fn continues(
        self,
        network: &'n Call<'_>,
        byte: u8,
        memory: Memory,
    ) -> Result<bool, StepError> {
        match self {
            Self::Inside(top) => top.continues(network, byte, memory),
            Self::Ending { top, after, .. } => {
                Ok(top.continues(network, byte, memory)?
                    || network.continues(after, byte, memory)?)
            }
            Self::Set(set) => network.continues(set, byte, memory),
            Self::Nowhere => Ok(false),
        }
    }

    /// Steps a terminal that may end, and what follows it.
    fn step_both(
        network: &'n Call<'_>,
        (top, label): (Top<'n>, u32),
        after: SetId,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<Self>, StepError> {
        let own = top.at.step(byte, memory)?.map(|at| top.moved_to(at));
        let next = network.step(after, byte, memory)?;
        match (own, next) {
            (None, SetId::DEAD) => Ok(None),
            (None, next) => Self::new(network, next).map(Some),
            // The terminal continues, and what follows it does not change.
            (Some(top), SetId::DEAD) if top.at.accept() == Some(label) && !top.at.is_end() => {
                Ok(Some(Self::Ending { top, label, after }))
            }
            (Some(top), SetId::DEAD) => Self::of(network, top).map(Some),
            (Some(top), next) => {
                let Element { frame, below } = top.element;
                let own = network.single(frame, below)?;
                let both = network.union(own, next)?;
                Self::new(network, both).map(Some)
            }
        }
    }

    /// Returns whether a quote closes the string that the terminal on top reads.
    pub(super) fn closes(self, memory: Memory) -> Result<bool, LimitExceeded> {
        let Self::Inside(top) = self else {
            return Ok(false);
        };
        let closed = top.at.step(b'"', memory).map_err(limit)?;
        Ok(closed.is_some_and(|closed| closed.accept().is_some()))
    }

    /// Returns the top of the stack if the terminal cannot end.
    #[inline]
    pub(super) fn inside(self) -> Option<Top<'n>> {
        match self {
            Self::Inside(top) => Some(top),
            _ => None,
        }
    }

    /// Returns a superset of the bytes that may come next, if it is known without trying them.
    pub(super) fn known_first(self, network: &'n Call<'_>) -> Option<ByteSet> {
        match self {
            Self::Inside(top) => top.at.known_first().copied(),
            Self::Ending { top, after, .. } => {
                let mut first = network.known_first(after)?;
                first.union_with(*top.at.known_first()?);
                Some(first)
            }
            Self::Set(set) => network.known_first(set),
            Self::Nowhere => None,
        }
    }

    /// Returns a superset of the bytes that may come next, trying them if need be.
    pub(super) fn first(self, network: &'n Call<'_>) -> ByteSet {
        match self {
            Self::Inside(top) => top.at.first(),
            Self::Ending { top, after, .. } => {
                let mut first = network.first(after);
                first.union_with(top.at.first());
                first
            }
            Self::Set(set) => network.first(set),
            Self::Nowhere => ByteSet::ALL,
        }
    }

    /// Returns a span of text that continues from here, including everything that may leave it.
    pub(super) fn covered_span(
        self,
        network: &'n Call<'_>,
        memory: Memory,
        saved: u32,
    ) -> Result<Option<Span>, LimitExceeded> {
        match self {
            Self::Inside(top) | Self::Ending { top, .. } => {
                let spans = covered_spans(network, top.element, memory, saved)?;
                Ok(spans.map(|spans| spans.span))
            }
            Self::Set(_) | Self::Nowhere => Ok(None),
        }
    }

    /// Returns the elements of the state.
    pub(super) fn elements(self, network: &'n Call<'_>) -> Vec<Element> {
        match self {
            Self::Inside(top) | Self::Ending { top, .. } => vec![top.element],
            Self::Set(set) => network.elements(set).to_vec(),
            Self::Nowhere => Vec::new(),
        }
    }

    /// Returns how the string ends if it may hold any text.
    pub(super) fn any_text(self, network: &'n Call<'_>) -> Option<AnyText<'n>> {
        match self {
            Self::Inside(top) => AnyText::new(network, top.element),
            _ => None,
        }
    }

    /// Returns a span of text that continues from here, whatever may leave it.
    #[inline]
    pub(super) fn span(self, network: &'n Call<'_>, saved: u32) -> Option<Span> {
        let set = match self {
            Self::Inside(top) | Self::Ending { top, .. } => return top.at.span(saved),
            Self::Set(set) => set,
            Self::Nowhere => return None,
        };
        let elements = network.elements(set).iter().take(MOST_ELEMENTS);
        let spans = elements.filter_map(|element| network.span(element.frame, saved));
        // The largest one.
        spans.max_by_key(|span| (span.closed.len(), span.code_points))
    }
}

/// A state in a string that may hold any text, up to a maximum length: how the string ends is the same for all texts,
/// or for all but a few.
pub(crate) struct AnyText<'n> {
    /// A state after text, in which the string may end.
    pub(super) text: Top<'n>,
    /// The first bytes of texts after which it ends differently, or may not end; a quote for the empty text.
    pub(crate) except: ByteSet,
    /// The minimum number of characters before the string may end.
    pub(super) at_least: u32,
    /// The maximum number of characters.
    pub(super) at_most: u32,
    /// Whether plain text of any length, the empty one aside, leads to the same state.
    is_one_state: bool,
}

impl<'n> AnyText<'n> {
    pub(crate) fn new(network: &'n Call<'_>, element: Element) -> Option<Self> {
        // Where a terminal may end, a quote may come after it.
        if network.accept_label(element.frame).is_some() {
            return None;
        }
        let uniform = network.uniform(element.frame)?;
        let frame = uniform.state;
        Some(Self {
            text: Top::new(network, Element { frame, ..element }),
            except: ByteSet::of(&uniform.except),
            at_least: uniform.at_least,
            at_most: uniform.at_most,
            is_one_state: uniform.is_one_state(),
        })
    }

    /// Returns the state after plain text, if it is one, and the first bytes of texts that lead elsewhere.
    pub(crate) fn one_state(&self) -> Option<(Top<'n>, ByteSet)> {
        let mut except = self.except;
        if self.at_least > 0 {
            except.insert(b'"');
        }
        self.is_one_state.then_some((self.text, except))
    }
}

/// Texts that are known to continue from a state, as one or two spans.
#[derive(Clone, Copy)]
pub(crate) struct CoveredSpans {
    pub(crate) span: Span,
    /// A span of fewer characters without a maximum length, for what is longer than `span`.
    pub(crate) endless: Option<Span>,
}

impl CoveredSpans {
    /// Adds the tokens among the texts that are within the spans.
    pub(crate) fn allow(&self, texts: &Texts, mask: &mut Draft) {
        let spans = [Some(self.span), self.endless];
        for span in spans.iter().flatten() {
            mask.union_with(&texts.of(span.closed, span.code_points));
        }
    }
}

/// Returns the span as a walk with this memory sees it: a walk for short tokens does not reach the end of a long span.
/// What it finds of longer tokens is meaningless.
#[inline]
pub(super) fn within_reach(span: Span, memory: Memory) -> Span {
    match memory {
        Memory::Short if span.code_points >= SHORT_TEXT => Span {
            code_points: u32::MAX,
            ..span
        },
        _ => span,
    }
}

/// Returns the texts that continue from the element, including what may leave them and what may follow the terminal,
/// for a walk with this memory.
pub(crate) fn covered_spans(
    network: &Call<'_>,
    element: Element,
    memory: Memory,
    saved: u32,
) -> Result<Option<CoveredSpans>, LimitExceeded> {
    let Some(span) = network.span(element.frame, saved) else {
        return Ok(None);
    };
    let Some(span) = with_ends(network, element, span)? else {
        return Ok(None);
    };
    let endless = match network.endless_span(element.frame) {
        Some(endless) => with_ends(network, element, endless)?,
        None => None,
    };
    Ok(Some(CoveredSpans {
        span: within_reach(span, memory),
        endless,
    }))
}

/// Adds to the exits of a span what may follow the terminal; `None` if the same characters continue both.
fn with_ends(
    network: &Call<'_>,
    element: Element,
    span: Span,
) -> Result<Option<Span>, LimitExceeded> {
    let label = match span.ends {
        Ends::Never => return Ok(Some(span)),
        Ends::Differently => return Ok(None),
        Ends::Under(label) => label,
    };
    let after = match network.follow_under(element.frame, label, element.below) {
        Ok(after) => network.first(after).classes(),
        Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
    // If what follows may begin with the same characters, both continue side by side, which takes a walk.
    let exits = span.exits | after;
    Ok(after
        .is_disjoint(span.closed)
        .then_some(Span { exits, ..span }))
}

/// The maximum number of elements of a state that are asked for a span.
const MOST_ELEMENTS: usize = 4;

/// If at least this many bytes may come next, words may.
pub(super) const MANY_BYTES: u32 = 32;

/// Returns the elements, each with the first bytes to walk from it. If an element may end and words may follow, what
/// begins there is an element of its own, so that words are decided by their characters and not by a walk.
pub(crate) fn parts(
    network: &Call<'_>,
    elements: &[Element],
) -> Result<Vec<(Element, ByteSet)>, LimitExceeded> {
    let mut parts = Vec::with_capacity(elements.len());
    for &element in elements {
        let Element { frame, below } = element;
        if network.accept_label(frame).is_some() {
            let after = match network.follow(frame, below) {
                Ok(after) if network.first(after).len() >= MANY_BYTES => after,
                Err(StepError::Limit(limit)) => return Err(limit),
                _ => {
                    parts.push((element, ByteSet::ALL));
                    continue;
                }
            };
            parts.push((element, network.first_of(frame)));
            let begun = network.elements(after).iter();
            parts.extend(begun.map(|&element| (element, ByteSet::ALL)));
        } else {
            parts.push((element, ByteSet::ALL));
        }
    }
    Ok(parts)
}
