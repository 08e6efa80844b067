//! Where a walk stands on the automaton's side.

use structgen_automata::{
    ByteSet, Call, Element, Ends, LimitExceeded, Memory, SetId, Span, StepError, TerminalCursor,
};
use structgen_vocab::TokenMask;

use crate::texts::Texts;

/// Where the walk stands on the automaton's side: mostly inside one terminal, where a step is a table look-up.
#[derive(Clone, Copy)]
pub(super) enum Cursor<'n> {
    /// Inside the terminal on top of one stack, where it cannot end.
    Inside(Top<'n>),
    /// The same, where it may end under the label, and what follows then: a number, or whitespace.
    Ending {
        top: Top<'n>,
        label: u32,
        after: SetId,
    },
    /// Anywhere.
    Set(SetId),
    /// Where only a stretch that is known to go on is left to follow.
    Nowhere,
}

/// The top of a stack, a terminal in progress.
#[derive(Clone, Copy)]
pub(super) struct Top<'n> {
    element: Element,
    pub(super) at: TerminalCursor<'n>,
}

impl<'n> Top<'n> {
    #[inline]
    fn new(network: &'n Call<'_>, element: Element) -> Self {
        Self {
            element,
            at: network.cursor(element.frame),
        }
    }

    /// The top where its terminal is at another place.
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

    /// The cursor after one more byte; `None` where no text goes on.
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

    /// The step of a terminal that may end, and of what follows it then.
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
            // The terminal goes on, and what follows it does not change.
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

    /// The top of the stack where the terminal cannot end.
    #[inline]
    pub(super) fn inside(self) -> Option<Top<'n>> {
        match self {
            Self::Inside(top) => Some(top),
            _ => None,
        }
    }

    /// The bytes that may come next, as far as that is known without trying each.
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

    /// A stretch of text that goes on from here, with all that may leave it.
    pub(super) fn stretch(self, network: &'n Call<'_>) -> Result<Option<Span>, LimitExceeded> {
        match self {
            Self::Inside(top) | Self::Ending { top, .. } => {
                let stretch = stretch(network, top.element, true)?;
                Ok(stretch.map(|stretch| stretch.span))
            }
            Self::Set(_) | Self::Nowhere => Ok(None),
        }
    }

    /// The elements of the state.
    pub(super) fn elements(self, network: &'n Call<'_>) -> Vec<Element> {
        match self {
            Self::Inside(top) | Self::Ending { top, .. } => vec![top.element],
            Self::Set(set) => network.elements(set).to_vec(),
            Self::Nowhere => Vec::new(),
        }
    }

    /// Where plain text leads to from here that begins with none of the bytes, if that is one place.
    pub(super) fn text(self, network: &'n Call<'_>) -> Option<(Self, ByteSet)> {
        let Self::Inside(Top { element, .. }) = self else {
            return None;
        };
        let (frame, except) = network.uniform(element.frame)?;
        let text = Top::new(network, Element { frame, ..element });
        Some((Self::of(network, text).ok()?, ByteSet::of(&except)))
    }

    /// A stretch of text that goes on from here whatever it is made of.
    #[inline]
    pub(super) fn span(self, network: &'n Call<'_>, search: bool) -> Option<Span> {
        let set = match self {
            Self::Inside(top) | Self::Ending { top, .. } => return top.at.span(search),
            Self::Set(set) => set,
            Self::Nowhere => return None,
        };
        let elements = network.elements(set).iter().take(MOST_ELEMENTS);
        let spans = elements.filter_map(|element| network.span(element.frame, search));
        // One that takes as much as possible: no other does more.
        spans.max_by_key(|span| (span.closed.len(), span.code_points))
    }
}

/// The texts that go on from a state.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) span: Span,
    /// Where that one ends, another that does not, of fewer characters.
    pub(crate) endless: Option<Span>,
}

impl Stretch {
    /// The tokens among the texts that are such texts.
    pub(crate) fn allow(&self, texts: &Texts, mask: &mut TokenMask) {
        let spans = [Some(self.span), self.endless];
        for span in spans.iter().flatten() {
            mask.union_with(&texts.of(span.closed, span.code_points));
        }
    }
}

/// The texts that go on from the element, with all that may leave them, what follows the terminal's end included.
pub(crate) fn stretch(
    network: &Call<'_>,
    element: Element,
    search: bool,
) -> Result<Option<Stretch>, LimitExceeded> {
    let Some(span) = network.span(element.frame, search) else {
        return Ok(None);
    };
    let Some(span) = with_ends(network, element, span)? else {
        return Ok(None);
    };
    let endless = match network.endless_span(element.frame) {
        Some(endless) => with_ends(network, element, endless)?,
        None => None,
    };
    Ok(Some(Stretch { span, endless }))
}

/// The span with what follows the terminal's end among what leaves it; `None` where both may go on alike.
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
    // Where what follows may begin with the same characters, both go on side by side: that is for a walk to find out.
    let exits = span.exits | after;
    Ok(after
        .is_disjoint(span.closed)
        .then_some(Span { exits, ..span }))
}

/// How many alternatives of a state are asked for a span.
const MOST_ELEMENTS: usize = 4;

/// Where at least this many bytes may come next, words may.
pub(super) const MANY_BYTES: u32 = 32;

/// The elements, and with each the first bytes of what has to be looked at from it. Where one may end and words may
/// follow, what begins there is an element like the others: its tokens are told by what they are made of, if it is a
/// word, and not by a walk.
pub(crate) fn parts(
    network: &Call<'_>,
    elements: Vec<Element>,
) -> Result<Vec<(Element, ByteSet)>, LimitExceeded> {
    let mut parts = Vec::with_capacity(elements.len());
    for element in elements {
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
