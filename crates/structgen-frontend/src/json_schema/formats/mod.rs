//! The formats that a draft defines, as exact sets of strings.

mod color;
mod date;
mod date_time;
mod duration;
mod email;
mod hostname;
mod ipv4;
mod ipv6;
mod json_pointer;
mod syntax;
mod time;
mod uri;
mod uri_template;
mod uuid;

use std::sync::OnceLock;

use structgen_grammar::{Decimal, NumberBound, Regular};

/// A format that a draft of JSON Schema defines.
#[derive(Debug)]
pub(crate) struct Format {
    name: &'static str,
    build: Build,
    /// Built on first use, then shared by all schemas.
    built: OnceLock<Regular>,
}

#[derive(Debug)]
enum Build {
    /// The strings of the format.
    Set(fn() -> Regular),
    /// The format is defined, but not compiled: why.
    Refused(&'static str),
}

impl Format {
    /// The strings of the format, or why they are not compiled.
    pub(crate) fn regular(&self) -> Result<Regular, &'static str> {
        match self.build {
            Build::Set(build) => Ok(self.built.get_or_init(build).clone()),
            Build::Refused(reason) => Err(reason),
        }
    }
}

/// The formats of all drafts, those of draft 3 that are still in use included. `phone`, `style` and `utc-millisec` of draft 3 define
/// nothing that could be enforced.
static FORMATS: [Format; 22] = [
    set("color", color::build),
    set("date", date::build),
    set("date-time", date_time::build),
    set("duration", duration::build),
    set("email", email::build),
    set("host-name", hostname::build),
    set("hostname", hostname::build),
    refused("idn-email", "internationalised addresses are not compiled"),
    refused(
        "idn-hostname",
        "internationalised host names are not compiled",
    ),
    set("ip-address", ipv4::build),
    set("ipv4", ipv4::build),
    set("ipv6", ipv6::build),
    set("iri", uri::iri),
    set("iri-reference", uri::iri_reference),
    set("json-pointer", json_pointer::build),
    refused("regex", "regular expressions nest, and no regular set does"),
    set("relative-json-pointer", json_pointer::relative),
    set("time", time::build),
    set("uri", uri::uri),
    set("uri-reference", uri::uri_reference),
    set("uri-template", uri_template::build),
    set("uuid", uuid::build),
];

const fn set(name: &'static str, build: fn() -> Regular) -> Format {
    Format {
        name,
        build: Build::Set(build),
        built: OnceLock::new(),
    }
}

const fn refused(name: &'static str, reason: &'static str) -> Format {
    Format {
        name,
        build: Build::Refused(reason),
        built: OnceLock::new(),
    }
}

/// The format of this name, if a draft defines it.
pub(crate) fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The range of the numbers of a Rust type, by the `format` that schemars gives it.
pub(crate) fn number_range(name: &str) -> Option<(NumberBound, NumberBound)> {
    let (low, high) = match name {
        "int8" => ("-128", "127"),
        "int16" => ("-32768", "32767"),
        "int32" => ("-2147483648", "2147483647"),
        "int64" | "int" => ("-9223372036854775808", "9223372036854775807"),
        "uint8" => ("0", "255"),
        "uint16" => ("0", "65535"),
        "uint32" => ("0", "4294967295"),
        "uint64" | "uint" => ("0", "18446744073709551615"),
        _ => return None,
    };
    let bound = |text: &str| NumberBound {
        value: text.parse::<Decimal>().unwrap_or_default(),
        exclusive: false,
    };
    Some((bound(low), bound(high)))
}
