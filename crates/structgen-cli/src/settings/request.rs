//! Converts settings to a request to a server.

use anyhow::bail;
use serde_json::{Map, Value};
use structgen::decode::params::{Parameter, ParameterKind, Place};

use super::{Settings, form_of, parameters};
use crate::remote::Body;

/// Parameters that are fields of OpenAI's API, with the fields' names. All others go into `structgen.params`.
const FIELDS: [(&str, &str); 8] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
    ("stop", "stop"),
    ("max_new_tokens", "max_tokens"),
    ("sequences", "n"),
];

/// Parameters whose defaults differ from a server's.
const ALWAYS: [&str; 2] = ["temperature", "seed"];

impl Settings {
    /// Returns the fields of a request with these settings. The command handles the parameters in `own` itself, and
    /// puts what is in `extras` into the field `structgen`.
    ///
    /// # Errors
    /// If a server does not honour a parameter; the error names it.
    pub(crate) fn request(
        &self,
        own: &[&str],
        mut extras: Map<String, Value>,
    ) -> anyhow::Result<Body> {
        let (form, default) = (form_of(self)?, form_of(&Self::default())?);
        let mut body = Body::default();
        let mut params = Map::new();
        let table = parameters();
        for row in table.iter().filter(|row| !own.contains(&row.name)) {
            let value = row.value_in(&form);
            if value == row.value_in(&default) && !ALWAYS.contains(&row.name) {
                continue;
            }
            if let Some(reason) = reason_against(row) {
                bail!("{} cannot be used with --server: {reason}", row.name);
            }
            if let Some((_, field)) = FIELDS.iter().find(|(name, _)| *name == row.name) {
                body.set(field, value);
            } else if !is_in_group(row, &table) {
                let off = match row.kind {
                    ParameterKind::Group(_) => "off",
                    _ => "none",
                };
                let value = if value.is_null() { off.into() } else { value };
                params.insert(row.name.to_owned(), value);
            }
        }
        if !params.is_empty() {
            extras.insert("params".to_owned(), params.into());
        }
        if !extras.is_empty() {
            body.set("structgen", extras);
        }
        Ok(body)
    }
}

/// Returns why a server does not honour a parameter, or `None` if it does.
fn reason_against(row: &Parameter) -> Option<&'static str> {
    match (row.place, row.name) {
        (Place::Options, "log_probs" | "alternatives" | "refused" | "token_times") => {
            Some("it is for --details, which needs a model here")
        }
        (Place::Sampling | Place::Options, _) => None,
        (Place::Strategy, _) | (Place::Top, "strategy" | "guidance_prompt") => {
            Some("a server samples, and has no other strategies")
        }
        (Place::Top, name) if name.starts_with("model.") => {
            Some("how models are loaded is up to the server")
        }
        (Place::Top, name) if name.starts_with("schema.") => {
            Some("the schema may say it itself, in an object x-structgen")
        }
        (Place::Top, "tools.format") => Some("the server knows the format of its models"),
        (Place::Top, _) => Some("a request has nothing for it"),
    }
}

/// Returns whether a parameter belongs to a group that is sent as a whole.
fn is_in_group(row: &Parameter, table: &[Parameter]) -> bool {
    let group = row.name.rsplit_once('.').map(|(group, _)| group);
    { table.iter() }
        .any(|other| Some(other.name) == group && matches!(other.kind, ParameterKind::Group(_)))
}

#[cfg(test)]
mod tests {
    use structgen::decode::params::set_parameter;

    use super::*;

    fn request(set: &[(&str, &str)]) -> anyhow::Result<Value> {
        let mut settings = Settings::default();
        for (name, value) in set {
            set_parameter(&mut settings, &parameters(), name, value)?;
        }
        let body = settings.request(&["schema.at"], Map::new())?;
        Ok(serde_json::from_str(&body.into_json())?)
    }

    #[test]
    fn what_is_set_is_sent_and_nothing_else() {
        let plain = serde_json::json!({"temperature": 0.0, "seed": 0});
        assert_eq!(request(&[]).unwrap(), plain);
        let set = [
            ("temperature", "0.1"),
            ("max_new_tokens", "9"),
            ("stop", "x"),
            ("dry", "on"),
            ("dry.base", "2"),
            ("top_h", "0.4"),
            ("overflow", "crop:8"),
            ("schema.at", "/a"),
        ];
        let sent = request(&set).unwrap();
        assert_eq!(sent["temperature"], 0.1);
        assert_eq!(sent["max_tokens"], 9);
        assert_eq!(sent["stop"], serde_json::json!(["x"]));
        let params = &sent["structgen"]["params"];
        assert_eq!(params["dry"]["base"], 2.0);
        assert_eq!(params["top_h"], 0.4);
        assert_eq!(params["overflow"]["crop"]["keep"], 8);
        assert_eq!(params.as_object().unwrap().len(), 3, "{params}");
    }

    #[test]
    fn what_a_server_does_not_honour_is_refused_by_name() {
        for (name, value) in [
            ("strategy", "beam"),
            ("model.rows", "2"),
            ("schema.order", "any"),
            ("regex.search", "true"),
            ("alternatives", "2"),
        ] {
            let error = request(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} cannot")), "{error}");
        }
    }
}
