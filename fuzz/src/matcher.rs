//! Matchers under any sequence of operations: the first bytes choose the constraint, the others what is done.

use structgen_constraint::{CompiledConstraint, Matcher};
use structgen_frontend::gbnf::{GbnfOptions, parse};
use structgen_frontend::json_schema::{FormatMode, KeyOrder, SchemaLimits, SchemaOptions, compile};
use structgen_vocab::TokenId;

use crate::SplitMix;
use crate::generator::SchemaGenerator;
use crate::walk::{self, within_limits};

const GRAMMARS: [&str; 6] = [
    "root ::= \"(\" root \")\" root | \"\"",
    "root ::= ([a-c]{2,5} \" \"){0,9} \"é\"?",
    "root ::= root \"+\" root | [0-9]+",
    "root ::= %json {\"type\": \"array\", \"items\": {\"type\": \"integer\"}, \"uniqueItems\": true}",
    "root ::= %tokens{0,7}([a-z]*) (/[^b]{3,40}x/ | \"日本\" root)",
    "root ::= /(\\S{1,9}\\s?){1,30}/ & ~(\"a\" /.*/)",
];

/// Does to a matcher what the bytes say and compares it with one that has taken the same tokens and nothing else.
/// True when the constraint was taken.
///
/// # Panics
/// When the two differ, when a fork touches what it was made of, or when a cost is not kept.
pub fn matcher(data: &[u8]) -> bool {
    let [kind, seed, operations @ ..] = data else {
        return false;
    };
    let Some(constraint) = constraint(*kind, *seed) else {
        return false;
    };
    let mut matcher = constraint.matcher();
    let mut tokens: Vec<TokenId> = Vec::new();
    for pair in operations.chunks_exact(2).take(200) {
        let [operation, argument] = [pair[0] % 8, pair[1]].map(usize::from);
        let any = usize::from(pair[0] / 8) << 8 | argument;
        let done = match operation {
            0..=3 => step(&mut matcher, &mut tokens, argument),
            4 => {
                let n = argument % (tokens.len() + 1);
                tokens.truncate(tokens.len() - n);
                matcher.rollback(n).expect("so many tokens were taken");
                Some(())
            }
            5 => {
                // A fork goes its own way, and only one of the two is gone on with.
                let (mut fork, mut taken) = (matcher.clone(), tokens.clone());
                let stepped = step(&mut fork, &mut taken, argument);
                if argument & 1 == 1 {
                    (matcher, tokens) = (fork, taken);
                }
                stepped
            }
            6 => same(&constraint, &mut matcher, &tokens),
            _ => refuse(&mut matcher, any),
        };
        if done.is_none() {
            return false;
        }
    }
    same(&constraint, &mut matcher, &tokens).is_some()
}

fn constraint(kind: u8, seed: u8) -> Option<CompiledConstraint> {
    if kind & 1 == 1 {
        let text = GRAMMARS[usize::from(seed) % GRAMMARS.len()];
        let grammar = parse(text, &GbnfOptions::default()).expect("it is a grammar");
        return walk::compile(grammar).ok();
    }
    let schema = SchemaGenerator::document(&mut SplitMix::new(u64::from(seed)));
    let order = [KeyOrder::Declared, KeyOrder::Any][usize::from(kind / 2) % 2];
    let options = SchemaOptions::new()
        .with_order(order)
        .with_formats(FormatMode::Annotate)
        .with_limits(SchemaLimits {
            max_steps: 100_000,
            ..SchemaLimits::default()
        });
    walk::compile(compile(&schema, &options).ok()?.grammar).ok()
}

/// Takes an allowed token, whose promised cost is kept. None at a limit, as everywhere here.
fn step(matcher: &mut Matcher, tokens: &mut Vec<TokenId>, argument: usize) -> Option<()> {
    let mask = within_limits(|| matcher.mask())?;
    let allowed: Vec<TokenId> = mask.bits().iter().collect();
    let finished = matcher.is_finished();
    assert_eq!(
        allowed.is_empty(),
        finished && tokens.last() == Some(&walk::EOS)
    );
    if allowed.is_empty() {
        return Some(());
    }
    let token = allowed[argument % allowed.len()];
    let promised = within_limits(|| matcher.completion_cost_after(token))?;
    within_limits(|| matcher.accept_token(token))?;
    tokens.push(token);
    assert_eq!(within_limits(|| matcher.completion_cost())?, promised);
    Some(())
}

/// A token that neither the mask nor the vocabulary has to contain is refused if it is not allowed, and nothing has
/// changed.
fn refuse(matcher: &mut Matcher, any: usize) -> Option<()> {
    let before = within_limits(|| matcher.mask())?;
    let token = TokenId(any as u32 % (walk::EOS.0 + 2));
    if before.bits().contains(token) {
        return Some(());
    }
    assert!(matcher.accept_token(token).is_err());
    let after = within_limits(|| matcher.mask())?;
    assert!(before.bits() == after.bits());
    Some(())
}

/// The matcher is where one is that took the same tokens one after another.
fn same(constraint: &CompiledConstraint, matcher: &mut Matcher, tokens: &[TokenId]) -> Option<()> {
    let mut other = constraint.matcher();
    for &token in tokens {
        within_limits(|| other.accept_token(token))?;
    }
    assert!(matcher.tokens().eq(tokens.iter().copied()));
    assert_eq!(matcher.is_accepting(), other.is_accepting());
    assert_eq!(matcher.is_finished(), other.is_finished());
    assert_eq!(
        within_limits(|| matcher.completion_cost())?,
        within_limits(|| other.completion_cost())?
    );
    let [one, two] = [
        within_limits(|| matcher.mask())?,
        within_limits(|| other.mask())?,
    ];
    assert!(one.bits() == two.bits());
    Some(())
}
