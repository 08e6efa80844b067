//! Splits template source into tokens, with the whitespace control of Jinja's options `trim_blocks` and
//! `lstrip_blocks`.

use std::borrow::Cow;

/// A token and the line in which it begins, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) line: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// Text between tags.
    Data(String),
    PrintBegin,
    PrintEnd,
    BlockBegin,
    BlockEnd,
    Name(String),
    Text(String),
    Int(i128),
    Float(f64),
    Operator(&'static str),
}

/// A syntax error and its line.
pub(super) struct SyntaxError {
    pub(super) line: u32,
    pub(super) reason: String,
}

/// Longer operators come first.
const OPERATORS: [&str; 27] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";", "!",
];

pub(super) fn tokens(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let source = normalized(source);
    let mut lexer = Lexer {
        source: &source,
        at: 0,
        line: 1,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

/// The source with `\n` for every line break, and without one at the end.
fn normalized(source: &str) -> Cow<'_, str> {
    let mut source = match source.contains('\r') {
        true => Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(source),
    };
    if source.ends_with('\n') {
        match &mut source {
            Cow::Owned(text) => {
                text.pop();
            }
            Cow::Borrowed(text) => *text = &text[..text.len() - 1],
        }
    }
    source
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: u32,
    tokens: Vec<Token>,
}

/// The sign in `{%-`, `{%+`, `-%}` and `+%}`.
fn sign(text: &str) -> Option<char> {
    text.chars().next().filter(|c| matches!(c, '-' | '+'))
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.at..self.at + bytes];
        self.line += passed.bytes().filter(|&b| b == b'\n').count() as u32;
        self.at += bytes;
    }

    fn skip_whitespace(&mut self) {
        let rest = self.rest();
        self.advance(rest.len() - rest.trim_start().len());
    }

    fn push(&mut self, kind: TokenKind) {
        let line = self.line;
        self.tokens.push(Token { kind, line });
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, SyntaxError> {
        let (line, reason) = (self.line, reason.into());
        Err(SyntaxError { line, reason })
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let tags = rest
                .match_indices('{')
                .map(|(at, _)| at)
                .find(|&at| matches!(rest.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')));
            let Some(tag) = tags else {
                self.data(rest);
                return Ok(());
            };
            let kind = rest.as_bytes()[tag + 1];
            let sign = sign(&rest[tag + 2..]);
            let text = self.before_tag(&rest[..tag], sign, kind != b'{');
            self.data(text);
            self.advance(tag - text.len());
            match kind {
                b'{' => self.expression_tag(sign, "}}", TokenKind::PrintBegin, TokenKind::PrintEnd),
                b'#' => self.comment(),
                _ => match self.raw_begin() {
                    Some(length) => self.raw(length),
                    None => {
                        self.expression_tag(sign, "%}", TokenKind::BlockBegin, TokenKind::BlockEnd)
                    }
                },
            }?;
        }
    }

    fn data(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(TokenKind::Data(text.to_owned()));
            self.advance(text.len());
        }
    }

    /// The text before a tag, without the whitespace that the tag removes.
    fn before_tag(&self, text: &'s str, sign: Option<char>, is_block: bool) -> &'s str {
        if sign == Some('-') {
            return text.trim_end();
        }
        if sign == Some('+') || !is_block {
            return text;
        }
        let line_start = text.rfind('\n').map_or(0, |at| at + 1);
        let starts_line = line_start > 0 || self.source[..self.at].ends_with('\n') || self.at == 0;
        let is_blank = text[line_start..].trim().is_empty();
        match starts_line && is_blank {
            true => &text[..line_start],
            false => text,
        }
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        let Some(end) = self.rest()[2..].find("#}") else {
            return self.error("a comment is not closed");
        };
        let sign = self.rest()[..2 + end].chars().next_back();
        self.advance(2 + end);
        self.end_tag(2, sign.filter(|_| end > 0));
        Ok(())
    }

    /// Skips the two characters that end a block or comment. Also skips the whitespace that the sign before them
    /// removes, or `trim_blocks` if there is no sign.
    fn end_tag(&mut self, length: usize, sign: Option<char>) {
        self.advance(length);
        match sign {
            Some('-') => self.skip_whitespace(),
            Some('+') => {}
            _ if self.rest().starts_with('\n') => self.advance(1),
            _ => {}
        }
    }

    /// The length of `{% raw %}`, if that comes next.
    fn raw_begin(&self) -> Option<usize> {
        let rest = self.rest()[2..].trim_start_matches(['-', '+']).trim_start();
        let rest = rest.strip_prefix("raw")?.trim_start();
        let after = match rest.strip_prefix("-%}") {
            Some(after) => after.trim_start(),
            None => rest.strip_prefix("%}")?,
        };
        Some(self.rest().len() - after.len())
    }

    fn raw(&mut self, length: usize) -> Result<(), SyntaxError> {
        self.advance(length);
        let rest = self.rest();
        for (at, _) in rest.match_indices("{%") {
            let tag = &rest[at + 2..];
            let begin = sign(tag);
            let Some(tag) = tag[begin.map_or(0, char::len_utf8)..]
                .trim_start()
                .strip_prefix("endraw")
            else {
                continue;
            };
            let tag = tag.trim_start();
            let end = sign(tag);
            let tag = &tag[end.map_or(0, char::len_utf8)..];
            if !tag.starts_with("%}") {
                continue;
            }
            let text = self.before_tag(&rest[..at], begin, true);
            self.data(text);
            self.advance(rest.len() - tag.len() - text.len());
            self.end_tag(2, end);
            return Ok(());
        }
        self.error("a raw block is not closed")
    }

    fn expression_tag(
        &mut self,
        sign: Option<char>,
        end: &str,
        begins: TokenKind,
        ends: TokenKind,
    ) -> Result<(), SyntaxError> {
        self.push(begins);
        self.advance(2 + sign.map_or(0, char::len_utf8));
        // Inside brackets, `}}` closes two of them.
        let mut open = 0_usize;
        loop {
            self.skip_whitespace();
            let rest = self.rest();
            if open == 0 {
                let found = rest.strip_prefix(['-', '+']).unwrap_or(rest);
                let has_sign = found.len() < rest.len();
                // `+}}` does not end a tag.
                if found.starts_with(end) && !(has_sign && rest.starts_with('+') && end == "}}") {
                    self.push(ends);
                    let sign = has_sign.then(|| rest.as_bytes()[0] as char);
                    let length = rest.len() - found.len() + 2;
                    match end {
                        "%}" => self.end_tag(length, sign),
                        _ => {
                            self.advance(length);
                            if has_sign {
                                self.skip_whitespace();
                            }
                        }
                    }
                    return Ok(());
                }
            }
            let Some(first) = rest.chars().next() else {
                return self.error("unexpected end of the template");
            };
            if first == '"' || first == '\'' {
                self.text(first)?;
            } else if first.is_ascii_digit() {
                self.number()?;
            } else if first.is_alphabetic() || first == '_' {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                self.push(TokenKind::Name(rest[..end].to_owned()));
                self.advance(end);
            } else if let Some(&operator) = OPERATORS.iter().find(|o| rest.starts_with(**o)) {
                match operator {
                    "(" | "[" | "{" => open += 1,
                    ")" | "]" | "}" => {
                        if open == 0 {
                            return self.error(format!("unexpected {operator:?}"));
                        }
                        open -= 1;
                    }
                    _ => {}
                }
                self.push(TokenKind::Operator(operator));
                self.advance(operator.len());
            } else {
                return self.error(format!("unexpected {first:?}"));
            }
        }
    }

    fn text(&mut self, quote: char) -> Result<(), SyntaxError> {
        let body = &self.rest()[1..];
        let mut is_escaped = false;
        let end = body.char_indices().find(|&(_, c)| {
            let is_end = c == quote && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let Some((end, _)) = end else {
            return self.error("a string is not closed");
        };
        let text = match unescaped(&body[..end]) {
            Ok(text) => text,
            Err(reason) => return self.error(reason),
        };
        self.push(TokenKind::Text(text));
        self.advance(end + 2);
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let rest = self.rest();
        let digits = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '_');
            end.unwrap_or(text.len())
        };
        let mut end = digits(rest);
        let mut is_float = false;
        if let Some(fraction) = rest[end..].strip_prefix('.')
            && fraction.starts_with(|c: char| c.is_ascii_digit())
        {
            end += 1 + digits(fraction);
            is_float = true;
        }
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
                end += 1 + exponent.len() - unsigned.len() + digits(unsigned);
                is_float = true;
            }
        }
        let written = rest[..end].replace('_', "");
        let kind = match is_float {
            true => written.parse().ok().map(TokenKind::Float),
            false => written.parse().ok().map(TokenKind::Int),
        };
        let Some(kind) = kind else {
            return self.error("a number is too large");
        };
        self.push(kind);
        self.advance(end);
        Ok(())
    }
}

/// The content of a string literal, with Python's escapes resolved.
fn unescaped(body: &str) -> Result<String, String> {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(c) = rest.chars().next() else { break };
        rest = &rest[c.len_utf8()..];
        let simple = match c {
            '\n' => continue,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => c,
            'x' => take_code(&mut rest, 2, 16)?,
            'u' => take_code(&mut rest, 4, 16)?,
            'U' => take_code(&mut rest, 8, 16)?,
            '0'..='7' => {
                let more = rest
                    .bytes()
                    .take(2)
                    .take_while(|b| (b'0'..=b'7').contains(b));
                let count = more.count();
                let digits = format!("{c}{}", &rest[..count]);
                rest = &rest[count..];
                take_code(&mut digits.as_str(), digits.len(), 8)?
            }
            other => {
                text.push('\\');
                other
            }
        };
        text.push(simple);
    }
    text.push_str(rest);
    Ok(text)
}

fn take_code(rest: &mut &str, digits: usize, radix: u32) -> Result<char, String> {
    let code = rest.get(..digits).ok_or("an escape is cut short")?;
    *rest = &rest[digits..];
    { u32::from_str_radix(code, radix).ok() }
        .and_then(char::from_u32)
        .ok_or_else(|| format!("{code:?} is not the code of a character"))
}
