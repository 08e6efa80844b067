//! Explanations as JSON.

use serde_json::{Map, Value, json};
use structgen_frontend::json_schema::Violation;

use super::{Cause, Explanation, Next, NextRule, NextToken, NextTokens, RuleAt};

impl Explanation {
    /// Returns the explanation as JSON: `{"offset", "line", "column", "found", "expected": {"words", "characters",
    /// "end"}, "cause", "value"?, "keyword"?, "demand"?, "key"?, "causes"?, "limit"?, "what"?, "profile"?,
    /// "left_out"?, "rules"?, "expected_of_rules"?}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mismatch = &self.mismatch;
        let mut object = Map::new();
        object.insert("offset".into(), mismatch.offset.into());
        object.insert("line".into(), mismatch.line.into());
        object.insert("column".into(), mismatch.column.into());
        object.insert("found".into(), mismatch.found.map(String::from).into());
        let expected = json!({
            "words": mismatch.expected_in_words(),
            "characters": characters(&mismatch.expected),
            "end": mismatch.may_end,
        });
        object.insert("expected".into(), expected);
        object.insert("cause".into(), self.cause.name().into());
        if let Some(value) = &self.value {
            object.insert("value".into(), value.as_str().into());
        }
        match &self.cause {
            Cause::Keyword(violation) => {
                if let Value::Object(fields) = of_violation(violation) {
                    object.extend(fields.into_iter().filter(|(name, _)| name != "value"));
                }
            }
            Cause::RepeatedKey(key) => {
                object.insert("key".into(), key.as_str().into());
            }
            Cause::Limit(limit) => {
                object.insert("what".into(), limit.what.into());
                object.insert("limit".into(), limit.limit.into());
                object.insert("profile".into(), limit.profile.name().into());
            }
            Cause::Format(format) => {
                object.insert("keyword".into(), format.keyword.as_str().into());
                object.insert("left_out".into(), format.left_out.into());
            }
            _ => {}
        }
        if !self.rules.is_empty() {
            let rules: Vec<Value> = self.rules.iter().map(of_rule).collect();
            object.insert("rules".into(), rules.into());
        }
        if !self.expected_of_rules.is_empty() {
            object.insert(
                "expected_of_rules".into(),
                of_rules(&self.expected_of_rules),
            );
        }
        Value::Object(object)
    }
}

impl Next {
    /// Returns what may come next as JSON: `{"expected": {"words", "characters", "end"}, "forced"?, "value"?, "keys"?,
    /// "other_keys"?, "rules"?}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = json!({"expected": {
            "words": self.in_words(),
            "characters": characters(&self.bytes),
            "end": self.may_end,
        }});
        if !self.forced.is_empty() {
            object["forced"] = String::from_utf8_lossy(&self.forced).into();
        }
        if let Some(value) = &self.value {
            object["value"] = value.as_str().into();
            let key = |key: &super::NextKey| json!({"key": key.key, "required": key.is_required});
            object["keys"] = self.keys.iter().map(key).collect();
            object["other_keys"] = self.other_keys.into();
        }
        if !self.rules.is_empty() {
            object["rules"] = of_rules(&self.rules);
        }
        object
    }
}

impl NextTokens {
    /// Returns the tokens as JSON: `{"count", "of", "listed": [{"id", "text", "special"?}, …]}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let token = |token: &NextToken| {
            let mut object = json!({"id": token.id.0, "text": token.text});
            if token.is_special {
                object["special"] = true.into();
            }
            object
        };
        let listed: Vec<Value> = self.listed.iter().map(token).collect();
        json!({"count": self.count, "of": self.of, "listed": listed})
    }
}

fn of_violation(violation: &Violation) -> Value {
    let mut object = json!({
        "value": violation.instance,
        "keyword": violation.keyword,
        "demand": violation.demand,
    });
    if let Some(key) = &violation.key {
        object["key"] = key.as_str().into();
    }
    if !violation.causes.is_empty() {
        object["causes"] = violation.causes.iter().map(of_violation).collect();
    }
    object
}

fn of_rule(rule: &RuleAt) -> Value {
    json!({"rule": rule.name, "line": rule.line, "start": rule.start})
}

fn of_rules(rules: &[NextRule]) -> Value {
    let rule = |next: &NextRule| {
        let mut object = of_rule(&next.rule);
        object["words"] = next.in_words().into();
        object["characters"] = characters(&next.bytes);
        object
    };
    rules.iter().map(rule).collect()
}

/// Returns the ASCII characters among the bytes; first bytes of longer characters are described in words only.
fn characters(bytes: &[u8]) -> Value {
    let ascii = bytes.iter().filter(|byte| byte.is_ascii());
    ascii
        .map(|&byte| Value::from(char::from(byte).to_string()))
        .collect()
}
