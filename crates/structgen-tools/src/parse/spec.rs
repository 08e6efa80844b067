//! A format, prepared for the parser.

use structgen_grammar::keyed::KeyedMap;

use crate::format::{Call, Marker, MemberContent, Position, ToolFormat, core, edges};
use crate::lower::ArgumentKind;
use crate::{Content, Reasoning, ToolOptions};

/// A format, prepared for the parser.
#[derive(Debug)]
pub(crate) struct Spec {
    format: ToolFormat,
    kinds: KeyedMap<String, KeyedMap<String, ArgumentKind>>,
    pub(super) reasoning: Reasoning,
    /// Whether calls may follow text without markers.
    pub(super) finds_calls_in_text: bool,
    pub(super) triggers: Vec<Trigger>,
    /// The separators between two calls, with the beginning of the next call.
    pub(super) next: Vec<String>,
    /// What a longer end of all calls has beyond a shorter one.
    pub(super) longer_ends: Vec<String>,
    /// The keys of the members with the name and with the arguments.
    pub(super) members: Members,
}

/// The keys of a call that is a JSON object.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) id: Option<String>,
}

/// The trigger of calls, and what follows it.
#[derive(Clone, Debug)]
pub(super) struct Trigger {
    pub(super) text: String,
    /// The markers between the trigger and the call's content.
    pub(super) rest: Vec<String>,
    /// The part of the content that the trigger contains.
    pub(super) content: String,
}

/// How to find the end of a text.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// The markers that end it, with and without the whitespace before them.
    pub(super) markers: Vec<String>,
    /// The whitespace at the end of the marker before the text.
    pub(super) lead: String,
    /// The whitespace at the end of the marker after it.
    pub(super) behind: String,
}

impl Ends {
    /// If a marker has several texts, the first determines its whitespace.
    pub(super) fn new(begin: &Marker, end: &Marker) -> Self {
        let ends = end.texts().filter(|end| !core(end).is_empty());
        let markers = ends.flat_map(|end| [end.trim_end_matches(crate::is_space), core(end)]);
        Self {
            markers: markers.map(str::to_owned).collect(),
            lead: edges(begin.first()).1.to_owned(),
            behind: edges(end.first()).1.to_owned(),
        }
    }
}

impl Spec {
    pub(crate) fn new(
        format: ToolFormat,
        kinds: KeyedMap<String, KeyedMap<String, ArgumentKind>>,
        options: &ToolOptions,
    ) -> Self {
        let begin = format.call.begin();
        let opening = format.call.opening();
        let is_named = !format.calls.trigger.is_empty();
        let triggers = format.triggers().into_iter().map(|text| {
            let mut trigger = Trigger {
                text: core(&text).to_owned(),
                rest: Vec::new(),
                content: opening[begin.len()..].to_owned(),
            };
            if is_named {
                trigger.content.clear();
                for calls in format.calls.begin.texts() {
                    let whole = format!("{calls}{begin}");
                    match whole.strip_prefix(text.as_str()) {
                        Some(left) => trigger.rest.push(left.to_owned()),
                        // The format's check ensures that the call continues like this.
                        None => trigger.content = text[whole.len()..].to_owned(),
                    }
                }
            }
            if trigger.rest.is_empty() {
                trigger.rest.push(String::new());
            }
            trigger
        });
        let triggers: Vec<Trigger> = triggers.collect();
        let finds_calls_in_text =
            format.calls.position == Position::Anywhere && options.content == Content::Text;
        let mut next = Vec::new();
        if format.calls.parallel {
            let separators = format.calls.separator.texts();
            next.extend(separators.map(|it| format!("{it}{opening}")));
        }
        let ends = format
            .calls
            .end
            .texts()
            .map(core)
            .filter(|end| !end.is_empty());
        let ends: Vec<&str> = ends.collect();
        let longer = ends
            .iter()
            .flat_map(|end| ends.iter().filter_map(move |it| it.strip_prefix(*end)));
        let longer = longer.filter(|rest| !rest.is_empty());
        let longer_ends = longer.map(str::to_owned).collect();
        let mut keys = Members::default();
        if let Call::Object { members, .. } = &format.call {
            for member in members {
                match member.holds {
                    MemberContent::Name => keys.name.clone_from(&member.key),
                    MemberContent::Arguments => keys.arguments.clone_from(&member.key),
                    MemberContent::Id => keys.id = Some(member.key.clone()),
                    MemberContent::Constant => {}
                }
            }
        }
        Self {
            kinds,
            reasoning: options.reasoning,
            finds_calls_in_text,
            triggers,
            next,
            longer_ends,
            members: keys,
            format,
        }
    }

    pub(crate) fn format(&self) -> &ToolFormat {
        &self.format
    }

    /// How an argument between tags is parsed. Arguments that are not in the schema are parsed by what they look like.
    pub(super) fn kind(&self, tool: &str, key: &str) -> ArgumentKind {
        let kind = self.kinds.get(tool).and_then(|kinds| kinds.get(key));
        kind.copied().unwrap_or(ArgumentKind::Either)
    }
}
