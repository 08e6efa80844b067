//! Where a walk stands on the automaton's side.

use structgen_automata::{
    ByteSet, Element, Ends, LimitExceeded, Memory, Network, SetId, Span, StepError,
};
use structgen_vocab::TokenMask;

use crate::texts::Texts;

/// Where the walk stands on the automaton's side: mostly inside one terminal, where a step is a table look-up.
#[derive(Clone, Copy)]
pub(super) enum Cursor {
    /// Inside the terminal on top of one stack, where it cannot end.
    Inside(Element),
    /// The same, where it may end under the label, and what follows then: a number, or whitespace.
    Ending {
        element: Element,
        label: u32,
        after: SetId,
    },
    /// Anywhere.
    Set(SetId),
    /// Where only a stretch that is known to go on is left to follow.
    Nowhere,
}

impl Cursor {
    pub(super) fn new(network: &mut Network, set: SetId) -> Result<Self, StepError> {
        match *network.elements(set) {
            [element] if element.frame.reads() => Self::of(network, element),
            _ => Ok(Self::Set(set)),
        }
    }

    fn of(network: &mut Network, element: Element) -> Result<Self, StepError> {
        let Some(label) = network.accept_label(element.frame) else {
            return Ok(Self::Inside(element));
        };
        let after = network.follow(element.frame, element.below)?;
        if network.is_end(element.frame) {
            return Self::new(network, after);
        }
        Ok(Self::Ending {
            element,
            label,
            after,
        })
    }

    /// The cursor behind one more byte; `None` where no text goes on.
    #[inline]
    pub(super) fn step(
        self,
        network: &mut Network,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<Self>, StepError> {
        let (element, known) = match self {
            Self::Inside(element) => (element, None),
            Self::Ending {
                element,
                label,
                after,
            } => (element, Some((label, after))),
            Self::Nowhere => return Ok(None),
            Self::Set(set) => {
                let next = network.step(set, byte, memory)?;
                return match next {
                    SetId::DEAD => Ok(None),
                    next => Self::new(network, next).map(Some),
                };
            }
        };
        let frame = element.frame;
        let state = network.step_terminal(frame, frame.state(), byte, memory)?;
        let is_dead = state == structgen_automata::DEAD;
        let frame = frame.with_state(state);
        let element = Element { frame, ..element };
        let Some((label, after)) = known else {
            return if is_dead {
                Ok(None)
            } else {
                Self::of(network, element).map(Some)
            };
        };
        let next = network.step(after, byte, memory)?;
        match (is_dead, next) {
            (true, SetId::DEAD) => Ok(None),
            (true, next) => Self::new(network, next).map(Some),
            // The terminal goes on, and what follows it does not change.
            (false, SetId::DEAD)
                if network.accept_label(frame) == Some(label) && !network.is_end(frame) =>
            {
                Ok(Some(Self::Ending {
                    element,
                    label,
                    after,
                }))
            }
            (false, SetId::DEAD) => Self::of(network, element).map(Some),
            (false, next) => {
                let own = network.single(frame, element.below)?;
                let both = network.union(own, next)?;
                Self::new(network, both).map(Some)
            }
        }
    }
}

impl Cursor {
    /// The bytes that may come next, as far as that is known without trying each.
    pub(super) fn first(self, network: &mut Network) -> ByteSet {
        match self {
            Self::Inside(element) => network.first_of(element.frame),
            Self::Ending { element, after, .. } => {
                let mut first = network.first(after);
                first.union_with(network.first_of(element.frame));
                first
            }
            Self::Set(set) => network.first(set),
            Self::Nowhere => ByteSet::ALL,
        }
    }

    /// A stretch of text that goes on from here, with all that may leave it.
    pub(super) fn stretch(self, network: &mut Network) -> Result<Option<Span>, LimitExceeded> {
        match self {
            Self::Inside(element) | Self::Ending { element, .. } => {
                let stretch = stretch(network, element, true)?;
                Ok(stretch.map(|stretch| stretch.span))
            }
            Self::Set(_) | Self::Nowhere => Ok(None),
        }
    }

    /// The elements of the state.
    pub(super) fn elements(self, network: &Network) -> Vec<Element> {
        match self {
            Self::Inside(element) | Self::Ending { element, .. } => vec![element],
            Self::Set(set) => network.elements(set).to_vec(),
            Self::Nowhere => Vec::new(),
        }
    }

    /// Where plain text leads to from here that begins with none of the bytes, if that is one place.
    pub(super) fn text(self, network: &mut Network) -> Option<(Self, ByteSet)> {
        let Self::Inside(element) = self else {
            return None;
        };
        let (frame, except) = network.uniform(element.frame)?;
        let text = Self::of(network, Element { frame, ..element });
        Some((text.ok()?, ByteSet::of(&except)))
    }

    /// A stretch of text that goes on from here whatever it is made of.
    pub(super) fn span(self, network: &mut Network, search: bool) -> Option<Span> {
        let set = match self {
            Self::Inside(Element { frame, .. })
            | Self::Ending {
                element: Element { frame, .. },
                ..
            } => return network.span(frame, search),
            Self::Set(set) => set,
            Self::Nowhere => return None,
        };
        let count = network.elements(set).len().min(MOST_ELEMENTS);
        let spans = (0..count).filter_map(|i| {
            let frame = network.elements(set)[i].frame;
            network.span(frame, search)
        });
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
    network: &mut Network,
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
    network: &mut Network,
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

/// Where so many bytes may come next, words may.
pub(super) const MANY_BYTES: u32 = 32;

/// The elements, and with each the first bytes of what has to be looked at from it. Where one may end and words may follow, what begins
/// there is an element like the others: its tokens are told by what they are made of, if it is a word, and not by a walk.
pub(crate) fn parts(
    network: &mut Network,
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
