//! The formats that a draft defines, as exact sets of strings.

mod color;
mod date;
mod date_time;
mod duration;
mod ecma_properties;
mod ecma_syntax;
mod email;
mod hostname;
mod idn_email;
mod idn_hostname;
mod idna;
mod ipv4;
mod ipv6;
mod json_pointer;
mod labels;
mod punycode;
mod regex;
pub(crate) mod rust;
mod syntax;
mod time;
mod uri;
mod uri_template;
mod uuid;

use std::sync::OnceLock;

use super::{Draft, Profile};
use structgen_grammar::Regular;

/// A format that a draft of JSON Schema defines.
#[derive(Debug)]
pub(crate) struct Format {
    name: &'static str,
    build: fn() -> Regular,
    narrowed: Option<Narrowed>,
    bounded: Option<Bounded>,
    /// Built on first use, then shared by all schemas.
    built: OnceLock<Regular>,
    generated: OnceLock<Regular>,
    outer: OnceLock<Regular>,
}

/// A format that is not a regular set: a subset of it is compiled.
#[derive(Debug)]
struct Narrowed {
    /// Whether a string has the format.
    contains: fn(&str) -> bool,
    /// A superset of the format.
    outer: fn() -> Regular,
    left_out: &'static str,
    /// Which strings of the superset do not have the format, for the report on negations.
    left_out_of_negation: &'static str,
}

/// A format of which only a subset is generated.
#[derive(Debug)]
struct Bounded {
    generated: fn() -> Regular,
    left_out: &'static str,
}

impl Format {
    /// The strings of the format in a profile, without those that [`Format::left_out`] names.
    pub(crate) fn strings(&self, profile: Profile) -> Regular {
        match &self.bounded {
            Some(bounded) if profile != Profile::Exact => {
                self.generated.get_or_init(bounded.generated).clone()
            }
            _ => self.regular(),
        }
    }

    fn regular(&self) -> Regular {
        self.built.get_or_init(self.build).clone()
    }

    /// All strings of the format, and others if it is narrowed.
    pub(crate) fn superset(&self) -> Regular {
        match &self.narrowed {
            Some(narrowed) => self.outer.get_or_init(narrowed.outer).clone(),
            None => self.regular(),
        }
    }

    /// Strings that do not have the format: all of them, unless the format is narrowed.
    pub(crate) fn complement(&self) -> Regular {
        Regular::Complement(self.superset().into())
    }

    /// All strings that do not have the format, and others if it is narrowed.
    pub(crate) fn superset_of_complement(&self) -> Regular {
        Regular::Complement(self.regular().into())
    }

    /// Whether the string has the format; `None` if [`Format::superset`] decides this.
    pub(crate) fn decide(&self, text: &str) -> Option<bool> {
        let narrowed = self.narrowed.as_ref()?;
        Some((narrowed.contains)(text))
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Which strings of the format a profile leaves out, if any.
    pub(crate) fn left_out(&self, profile: Profile) -> Option<&'static str> {
        let bounded = self.bounded.as_ref().filter(|_| profile != Profile::Exact);
        let narrowed = self.narrowed.as_ref().map(|narrowed| narrowed.left_out);
        bounded.map(|bounded| bounded.left_out).or(narrowed)
    }

    /// Which strings without the format its negation leaves out, if any.
    pub(crate) fn left_out_of_negation(&self) -> Option<&'static str> {
        let narrowed = self.narrowed.as_ref()?;
        Some(narrowed.left_out_of_negation)
    }
}

/// The formats of all drafts, including those of draft 3 that are still in use. `phone`, `style` and `utc-millisec` of
/// draft 3 are missing, because they define nothing enforceable.
static FORMATS: [Format; 22] = [
    exact("color", color::build),
    exact("date", date::build),
    bounded("date-time", date_time::build, date_time::generated),
    exact("duration", duration::build),
    exact("email", email::build),
    narrowed("host-name", hostname::build, hostname::NARROWED),
    narrowed("hostname", hostname::build, hostname::NARROWED),
    narrowed("idn-email", idn_email::build, idn_email::NARROWED),
    narrowed("idn-hostname", idn_hostname::build, idn_hostname::NARROWED),
    exact("ip-address", ipv4::build),
    exact("ipv4", ipv4::build),
    exact("ipv6", ipv6::build),
    exact("iri", uri::iri),
    exact("iri-reference", uri::iri_reference),
    exact("json-pointer", json_pointer::build),
    narrowed("regex", regex::build, regex::NARROWED),
    exact("relative-json-pointer", json_pointer::relative),
    bounded("time", time::build, time::generated),
    exact("uri", uri::uri),
    exact("uri-reference", uri::uri_reference),
    exact("uri-template", uri_template::build),
    exact("uuid", uuid::build),
];

const fn exact(name: &'static str, build: fn() -> Regular) -> Format {
    format(name, build, None, None)
}

const fn narrowed(name: &'static str, build: fn() -> Regular, narrowed: Narrowed) -> Format {
    format(name, build, Some(narrowed), None)
}

const fn bounded(name: &'static str, build: fn() -> Regular, generated: fn() -> Regular) -> Format {
    let left_out = time::LEFT_OUT;
    let bounded = Bounded {
        generated,
        left_out,
    };
    format(name, build, None, Some(bounded))
}

const fn format(
    name: &'static str,
    build: fn() -> Regular,
    narrowed: Option<Narrowed>,
    bounded: Option<Bounded>,
) -> Format {
    Format {
        name,
        build,
        narrowed,
        bounded,
        built: OnceLock::new(),
        generated: OnceLock::new(),
        outer: OnceLock::new(),
    }
}

/// `hostname` in drafts 4 and 6: RFC 1034 alone, without rules for A-labels.
static PLAIN_HOSTNAME: Format = exact("hostname", hostname::plain);

/// The names of the formats that some draft or profile enforces, without their older names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let drafts = FORMATS.iter().map(Format::name);
    let drafts = drafts.filter(|name| !matches!(*name, "host-name" | "ip-address"));
    drafts.chain(rust::NAMES)
}

/// The format of this name, if a draft defines it.
pub(crate) fn find(name: &str, draft: Draft) -> Option<&'static Format> {
    if draft < Draft::Draft7 && matches!(name, "hostname" | "host-name") {
        return Some(&PLAIN_HOSTNAME);
    }
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::s3_canonical::matching::Machines;

    /// Checks every short text over the alphabet.
    fn check(format: &str, alphabet: &str, length: usize) {
        let format = find(format, Draft::Draft2020).expect("a draft defines it");
        let (subset, superset) = (format.strings(Profile::Exact), format.superset());
        let mut machines = Machines::default();
        let mut contains = |set: &Regular, text: &str| {
            let mut budget = u64::MAX;
            let found = machines.contains(set, text, &mut budget);
            found.expect("the budget suffices")
        };
        let mut texts = vec![String::new()];
        let mut counts = [0; 3];
        for round in 0..=length {
            for text in &texts {
                let has_it = format.decide(text).expect("the format is narrowed");
                let (inside, around) = (contains(&subset, text), contains(&superset, text));
                assert!(has_it || !inside, "{text:?}");
                assert!(around || !has_it, "{text:?}");
                counts[usize::from(has_it) + usize::from(around)] += 1;
            }
            if round < length {
                let with = |c: char| texts.iter().map(move |text| format!("{text}{c}"));
                texts = alphabet.chars().flat_map(with).collect();
            }
        }
        assert!(!counts.contains(&0), "{counts:?}");
    }

    #[test]
    fn a_narrowed_format_is_between_its_subset_and_its_superset() {
        check("regex", "()[]{}\\*?a-1", 4);
        check("regex", "(?<a>\\k", 5);
        check("idn-hostname", "a\u{fc}\u{5d0}1-.\u{301}", 4);
        check("idn-email", "a\u{fc}@.\"-", 5);
        check("hostname", "xn-1a.", 6);
    }
}
