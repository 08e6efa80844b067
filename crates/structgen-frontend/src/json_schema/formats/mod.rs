//! The formats that a draft defines, as exact sets of strings.

mod color;
mod date;
mod date_time;
mod duration;
mod email;
mod hostname;
mod idn_email;
mod idn_hostname;
mod idna;
mod ipv4;
mod ipv6;
mod json_pointer;
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
    /// The complement, for negations.
    outer: OnceLock<Regular>,
}

/// A format that is not a regular set: a subset of it is compiled.
#[derive(Debug)]
struct Narrowed {
    /// A superset of the format; the complement of this contains no string of the format.
    outer: fn() -> Regular,
    left_out: &'static str,
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

    /// Strings that certainly do not have the format: all of them, unless the format is narrowed.
    pub(crate) fn complement(&self) -> Regular {
        let complement = || {
            let outer = match &self.narrowed {
                Some(narrowed) => (narrowed.outer)(),
                None => self.regular(),
            };
            Regular::Complement(outer.into())
        };
        self.outer.get_or_init(complement).clone()
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
}

/// The formats of all drafts, including those of draft 3 that are still in use. `phone`, `style` and `utc-millisec` of
/// draft 3 are missing, because they define nothing enforceable.
static FORMATS: [Format; 22] = [
    exact("color", color::build),
    exact("date", date::build),
    bounded("date-time", date_time::build, date_time::generated),
    exact("duration", duration::build),
    narrowed("email", email::build, email::outer, hostname::LEFT_OUT),
    narrowed(
        "host-name",
        hostname::build,
        hostname::outer,
        hostname::LEFT_OUT,
    ),
    narrowed(
        "hostname",
        hostname::build,
        hostname::outer,
        hostname::LEFT_OUT,
    ),
    narrowed(
        "idn-email",
        idn_email::build,
        idn_email::outer,
        idn_hostname::LEFT_OUT,
    ),
    narrowed(
        "idn-hostname",
        idn_hostname::build,
        idn_hostname::outer,
        idn_hostname::LEFT_OUT,
    ),
    exact("ip-address", ipv4::build),
    exact("ipv4", ipv4::build),
    exact("ipv6", ipv6::build),
    exact("iri", uri::iri),
    exact("iri-reference", uri::iri_reference),
    exact("json-pointer", json_pointer::build),
    narrowed("regex", regex::build, regex::outer, regex::LEFT_OUT),
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

const fn narrowed(
    name: &'static str,
    build: fn() -> Regular,
    outer: fn() -> Regular,
    left_out: &'static str,
) -> Format {
    format(name, build, Some(Narrowed { outer, left_out }), None)
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
static PLAIN_HOSTNAME: Format = exact("hostname", hostname::outer);

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
