//! Writes a grammar in GBNF.

use structgen_grammar::notation::{class, push_char, quantifier};
use structgen_grammar::{Expr, ExprId, Grammar, Regular, TokenTerminal, UniqueNames};

use crate::automaton::token_name;
use crate::error::over;
use crate::{AlgebraError, AlgebraLimits};

/// The maximum nesting of parentheses in the output; deeper expressions become rules of their own.
const NESTING: usize = 24;

/// Writes a plain grammar, as [`plain`](crate::plain()) returns it, in the notation of llama.cpp. Its root is named
/// `root`, and characters that are not valid in names become hyphens.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, plain, to_gbnf};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let text = "root ::= (\"a\" | \"b\"){2} rest\nrest ::= [^\"]+\n";
/// let grammar = parse(text, &GbnfOptions::default())?;
/// let limits = AlgebraLimits::default();
/// assert_eq!(to_gbnf(&plain(&grammar, &limits)?.grammar, &limits)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`AlgebraError::Memory`] if the grammar is not plain, [`AlgebraError::Token`] if a token's name cannot be written;
/// also if the text would exceed the limit on expressions.
pub fn to_gbnf(grammar: &Grammar, limits: &AlgebraLimits) -> Result<String, AlgebraError> {
    let mut taken = UniqueNames::new(["root".to_owned()]);
    let mut writer = Writer {
        grammar,
        names: names(grammar, &mut taken),
        taken,
        text: String::new(),
        parts: Vec::new(),
        pieces: 0,
        most: limits.expressions,
    };
    let root = grammar.root().index();
    let others = (0..grammar.rules().len()).filter(|&rule| rule != root);
    for rule in [root].into_iter().chain(others) {
        let name = writer.names[rule].clone();
        writer.rule(&name, grammar.rules()[rule].body)?;
        while let Some((name, body)) = writer.parts.pop() {
            writer.rule(&name, body)?;
        }
    }
    Ok(writer.text)
}

/// Unique names of rules that are valid in GBNF; that of the root is taken.
fn names(grammar: &Grammar, taken: &mut UniqueNames) -> Vec<String> {
    let rules = grammar.rules().iter().enumerate();
    rules
        .map(|(index, rule)| {
            if index == grammar.root().index() {
                return "root".to_owned();
            }
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let plain: String = rule
                .name
                .chars()
                .map(|c| if fits(c) { c } else { '-' })
                .collect();
            let plain = match plain.trim_matches('-') {
                "" => "rule",
                trimmed => trimmed,
            };
            taken.take(plain)
        })
        .collect()
}

/// The context of an expression, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Rule,
    Sequence,
    Repeat,
}

struct Writer<'g> {
    grammar: &'g Grammar,
    /// The names of the rules.
    names: Vec<String>,
    taken: UniqueNames,
    text: String,
    /// Expressions that nest too deep in place, with the names of their rules.
    parts: Vec<(String, ExprId)>,
    pieces: usize,
    most: usize,
}

impl Writer<'_> {
    fn rule(&mut self, name: &str, body: ExprId) -> Result<(), AlgebraError> {
        self.text.push_str(name);
        self.text.push_str(" ::= ");
        self.expr(body, Place::Rule, 0)?;
        self.text.push('\n');
        Ok(())
    }

    /// Recursive: an expression nested deeper than [`NESTING`] parentheses becomes a rule.
    fn expr(&mut self, id: ExprId, place: Place, depth: usize) -> Result<(), AlgebraError> {
        self.pieces += 1;
        if self.pieces > self.most {
            return Err(over("pieces of a grammar in GBNF", self.most));
        }
        let grammar = self.grammar;
        let expr = grammar.expr(id);
        let own = match expr {
            Expr::Choice(_) => Place::Rule,
            Expr::Sequence(_) => Place::Sequence,
            _ => Place::Repeat,
        };
        let parentheses =
            place > own || (place == Place::Repeat && matches!(expr, Expr::Repeat { .. }));
        if depth > NESTING && (parentheses || matches!(expr, Expr::Repeat { .. })) {
            let name = self.taken.take("part");
            self.text.push_str(&name);
            self.parts.push((name, id));
            return Ok(());
        }
        if parentheses {
            self.text.push('(');
        }
        match expr {
            Expr::Empty => self.text.push_str("\"\""),
            Expr::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| AlgebraError::NoCharacters)?;
                self.text.push('"');
                for c in text.chars() {
                    push_char(&mut self.text, c, &['"', '\\']);
                }
                self.text.push('"');
            }
            Expr::Regular(Regular::Chars(set)) => self.text.push_str(&class(set, usize::MAX)),
            Expr::Sequence(parts) => {
                for (index, &part) in parts.iter().enumerate() {
                    if index > 0 {
                        self.text.push(' ');
                    }
                    self.expr(part, Place::Sequence, depth + 1)?;
                }
            }
            Expr::Choice(arms) => {
                for (index, &arm) in arms.iter().enumerate() {
                    if index > 0 {
                        self.text.push_str(" | ");
                    }
                    self.expr(arm, Place::Rule, depth + 1)?;
                }
            }
            Expr::Repeat { body, min, max } => {
                self.expr(*body, Place::Repeat, depth + 1)?;
                self.text.push_str(&quantifier(*min, *max));
            }
            Expr::Rule(rule) => self.text.push_str(&self.names[rule.index()]),
            Expr::Token(token) => {
                let name = token_name(token);
                let fits = |name: &str| {
                    let inner = name
                        .strip_prefix('<')
                        .and_then(|name| name.strip_suffix('>'));
                    inner.is_some_and(|inner| {
                        !inner.is_empty() && !inner.contains(['>', '\n', '\r'])
                    })
                };
                let is_named = matches!(token, TokenTerminal::Name(_) | TokenTerminal::NotName(_));
                if is_named && (!fits(&name) || name.starts_with("<[")) {
                    return Err(AlgebraError::Token(name));
                }
                if matches!(token, TokenTerminal::NotName(_) | TokenTerminal::NotId(_)) {
                    self.text.push('!');
                }
                self.text.push_str(&name);
            }
            Expr::Regular(_)
            | Expr::Literals(_)
            | Expr::Capture { .. }
            | Expr::Guided { .. }
            | Expr::Grounded { .. }
            | Expr::Referent { .. }
            | Expr::Related { .. }
            | Expr::String(_)
            | Expr::Number(_)
            | Expr::Object(_)
            | Expr::Array(_) => {
                return Err(AlgebraError::Memory("what is not in a plain grammar"));
            }
            Expr::Never => return Err(AlgebraError::Empty),
        }
        if parentheses {
            self.text.push(')');
        }
        Ok(())
    }
}
