//! Atoms: strings, ranges, patterns, names, special tokens and schemas.

use serde::de::IgnoredAny;

use super::super::ConvertError;
use super::super::tree::Tree;
use super::parse::LarkParser;
use super::{Options, is_terminal};
use crate::regex::{self, RegexOptions};

/// The maximum number of tokens in a range that is written out.
const MAX_TOKENS: u32 = 4_096;

impl<'t> LarkParser<'t> {
    pub(super) fn value(&mut self) -> Result<Tree, ConvertError> {
        self.space();
        let at = self.scanner.at;
        match self.scanner.peek() {
            Some('"') => self.string(),
            Some('/') => self.pattern(),
            Some('<') => self.special(),
            Some('%') => self.nested(),
            Some('@') => self.error_at(
                at,
                "other grammars are not named here: convert them too, and join them with GBNF's `%import`",
            ),
            _ => match self.name()? {
                Some((name, at)) => self.reference(name, at),
                None => self.error_at(at, "expected something to match"),
            },
        }
    }

    fn reference(&mut self, name: String, at: usize) -> Result<Tree, ConvertError> {
        let rest = self.scanner.rest();
        if rest.starts_with("::") {
            return self.error_at(
                at,
                "rules with parameters have no counterpart: write a rule for each value",
            );
        }
        if let Some(inner) = rest.strip_prefix('{')
            && !inner
                .trim_start()
                .starts_with(|c: char| c == ',' || c.is_ascii_digit())
        {
            return self.error_at(
                at,
                "templates are not known here: write a rule for each use",
            );
        }
        if self.in_terminal && !is_terminal(&name) {
            return self.error_at(
                at,
                format!("a terminal does not name the rule `{name}`: make that a terminal, in upper case"),
            );
        }
        Ok(Tree::Name(name, at))
    }

    /// A string, or a range of two.
    fn string(&mut self) -> Result<Tree, ConvertError> {
        let at = self.scanner.at;
        let text = self.quoted()?;
        if self.scanner.eat("i") {
            return Ok(match text.is_empty() {
                true => Tree::Text(text, false),
                false => Tree::Pattern(format!("/{}/i", escaped(&text))),
            });
        }
        let behind = self.scanner.at;
        if !self.eat("..") {
            self.scanner.at = behind;
            return Ok(Tree::Text(text, false));
        }
        self.space();
        let other = self.quoted()?;
        let mut ends = [text.chars(), other.chars()];
        match ends.each_mut().map(|it| (it.next(), it.next())) {
            [(Some(low), None), (Some(high), None)] if low <= high => {
                Ok(Tree::Chars(vec![(low, high)], false))
            }
            [(Some(_), None), (Some(_), None)] => {
                self.error_at(at, "the range's ends are out of order")
            }
            _ => self.error_at(at, "the ends of a range are single characters"),
        }
    }

    /// A JSON string in which `\xXX` is a character as well.
    fn quoted(&mut self) -> Result<String, ConvertError> {
        let at = self.scanner.at;
        if !self.scanner.eat("\"") {
            return self.error_at(at, "expected a string in double quotes");
        }
        let mut json = String::from("\"");
        loop {
            match self.scanner.next() {
                Some('"') => break,
                Some('\\') => match self.scanner.next() {
                    Some('x') => json.push_str("\\u00"),
                    Some(c) => json.extend(['\\', c]),
                    None => return self.error_at(at, "the string is not closed"),
                },
                Some('\n') | None => return self.error_at(at, "the string is not closed"),
                Some(c) => json.push(c),
            }
        }
        json.push('"');
        match serde_json::from_str(&json) {
            Ok(text) => Ok(text),
            Err(_) => self.error_at(
                at,
                "the string has an escape or a character that strings of JSON do not have",
            ),
        }
    }

    fn pattern(&mut self) -> Result<Tree, ConvertError> {
        let at = self.scanner.at;
        self.scanner.next();
        let start = self.scanner.at;
        loop {
            match self.scanner.next() {
                Some('/') => break,
                Some('\\') if self.scanner.peek().is_some_and(|c| c != '\n') => {
                    self.scanner.next();
                }
                Some('\n' | '\r' | '\\') => {
                    return self
                        .error_at(at, "a pattern ends in its line: write `\\n` for a line end");
                }
                Some(_) => {}
                None => return self.error_at(at, "the pattern is not closed"),
            }
        }
        let pattern = &self.scanner.text[start..self.scanner.at - 1];
        let flags = self.scanner.take(|c| c.is_ascii_lowercase());
        // Patterns are Unicode-aware anyway.
        let flags: String = flags.chars().filter(|&c| c != 'u').collect();
        if let Some(flag) = flags.chars().find(|c| !"imsx".contains(*c)) {
            return self.error_at(
                at,
                format!("the flag `{flag}` of patterns is not known here"),
            );
        }
        let prefix = match flags.as_str() {
            "" => String::new(),
            flags => format!("(?{flags})"),
        };
        if let Err(error) = regex::parse(&format!("{prefix}{pattern}"), RegexOptions::rust()) {
            let place = start + error.position.saturating_sub(prefix.len());
            return self.error_at(
                place.min(self.scanner.at),
                format!("in the pattern: {}", error.kind),
            );
        }
        Ok(Tree::Pattern(format!("/{pattern}/{flags}")))
    }

    /// `<name>`, `<[1,5-7]>`, `<[^3]>` or `<[*]>`.
    fn special(&mut self) -> Result<Tree, ConvertError> {
        let at = self.scanner.at;
        self.scanner.next();
        let name = self
            .scanner
            .take(|c| !c.is_whitespace() && c != '<' && c != '>');
        if name.is_empty() || !self.scanner.eat(">") {
            return self.error_at(at, "a special token is written `<name>` or `<[number]>`");
        }
        if self.in_terminal {
            return self.error_at(
                at,
                "special tokens are for rules: make this a rule, in lower case",
            );
        }
        // In GBNF, a bracket begins a number.
        let Some(numbers) = name.strip_prefix('[') else {
            return Ok(Tree::Token(format!("<{name}>")));
        };
        let Some(numbers) = numbers.strip_suffix(']') else {
            return self.error_at(at, "a special token is written `<name>` or `<[number]>`");
        };
        if numbers == "*" {
            let all = ["<[0]>", "!<[0]>"].map(|token| Tree::Token(token.to_owned()));
            return Ok(Tree::Choice(all.into()));
        }
        let (numbers, is_negated) = match numbers.strip_prefix('^') {
            Some(numbers) => (numbers, true),
            None => (numbers, false),
        };
        let mut tokens = Vec::new();
        for range in numbers.split(',').filter(|range| !range.is_empty()) {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>())
            else {
                return self.error_at(
                    at,
                    "a token's number, or a range of them, is not understood",
                );
            };
            if high < low {
                return self.error_at(at, "the range's ends are out of order");
            }
            if high - low >= MAX_TOKENS || tokens.len() >= MAX_TOKENS as usize {
                return self.error_at(
                    at,
                    format!("more than {MAX_TOKENS} tokens are not written out: name those that are meant"),
                );
            }
            let sign = if is_negated { "!" } else { "" };
            tokens.extend((low..=high).map(|id| Tree::Token(format!("{sign}<[{id}]>"))));
        }
        match tokens.len() {
            0 => self.error_at(at, "no token is named"),
            1 => Ok(tokens.swap_remove(0)),
            _ if is_negated => self.error_at(
                at,
                "all tokens but several have no counterpart: name those that are meant",
            ),
            _ => Ok(Tree::Choice(tokens)),
        }
    }

    /// `%json {…}`, and other directives in a rule.
    fn nested(&mut self) -> Result<Tree, ConvertError> {
        let at = self.scanner.at;
        self.scanner.next();
        match self.scanner.take(|c| c.is_ascii_alphabetic()) {
            "json" if self.in_terminal => self.error_at(
                at,
                "a schema is no part of a terminal: make this a rule, in lower case",
            ),
            "json" => {
                let (json, value) = self.json()?;
                match value.as_object() {
                    None => self.error_at(at, "a schema is written `%json {…}`"),
                    Some(schema) if schema.contains_key("x-guidance") => self.error_at(
                        at,
                        "`x-guidance` is not known here: say it with `x-structgen`",
                    ),
                    Some(_) => Ok(Tree::Json(json.to_owned())),
                }
            }
            "regex" => self.error_at(
                at,
                "parts of a text have no counterpart: write the pattern, or a rule for each place",
            ),
            "lark" => self.error_at(
                at,
                "a grammar in a grammar is not read: write its rules beside the others",
            ),
            _ => self.error_at(at, "expected `%json {…}`"),
        }
    }

    /// `%llguidance {…}`.
    pub(super) fn options(&mut self, options: &mut Options) -> Result<(), ConvertError> {
        self.space();
        let at = self.scanner.at;
        let (_, value) = self.json()?;
        let Some(entries) = value.as_object() else {
            return self.error_at(at, "options are an object of JSON");
        };
        for (key, value) in entries {
            match (key.as_str(), value.as_bool(), value.as_str()) {
                // Tokenization does not change the language.
                ("no_forcing", Some(_), _) | ("allow_invalid_utf8", Some(false), _) => {}
                ("allow_initial_skip", Some(is_initial), _) => options.initial = is_initial,
                ("skip_repetition", _, Some("once")) => options.once = true,
                ("skip_repetition", _, Some("unbounded")) => options.once = false,
                _ => {
                    return self.error_at(
                        at,
                        format!(
                            "the option `{key}` has no counterpart with this value: leave it out"
                        ),
                    );
                }
            }
        }
        self.space();
        Ok(())
    }

    /// The JSON at this position, and its value.
    fn json(&mut self) -> Result<(&'t str, serde_json::Value), ConvertError> {
        self.space();
        let at = self.scanner.at;
        let rest = self.scanner.rest();
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let read = stream.next();
        let json = &rest[..stream.byte_offset()];
        let error = match read {
            Some(Ok(_)) => match serde_json::from_str(json) {
                Ok(value) => {
                    self.scanner.at += json.len();
                    return Ok((json, value));
                }
                Err(error) => error,
            },
            Some(Err(error)) => error,
            None => return self.error_at(at, "expected JSON"),
        };
        let before: usize = rest
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum();
        let place = (before + error.column().saturating_sub(1)).min(rest.len());
        let place = (0..=place)
            .rev()
            .find(|&at| rest.is_char_boundary(at))
            .unwrap_or(0);
        let reason = error.to_string();
        let reason = reason
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        self.error_at(at + place, format!("this is not JSON: {reason}"))
    }
}

/// A text as a pattern between slashes.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        match c {
            '/' => pattern.push_str("\\/"),
            '\n' => pattern.push_str("\\n"),
            '\r' => pattern.push_str("\\r"),
            c => pattern.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern
}
