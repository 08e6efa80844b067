//! Running an engine over a case.

use std::time::Instant;

use structgen_vocab::{TokenId, Tokenizer};

use crate::{Case, Engine, FileResult, Status, encode_answer};

/// Judges and times every instance of a case.
pub fn run_case<E: Engine>(engine: &mut E, case: &Case, tokenizer: &Tokenizer) -> FileResult {
    run_case_with(engine, case, tokenizer, |_| ())
}

/// The same; what was compiled is shown to `after` when all is done, outside of all times.
pub fn run_case_with<E: Engine>(
    engine: &mut E,
    case: &Case,
    tokenizer: &Tokenizer,
    after: impl FnOnce(&E::Compiled),
) -> FileResult {
    let count = |is_valid| {
        case.instances
            .iter()
            .filter(|instance| instance.is_valid == is_valid)
            .count()
    };
    let mut result = FileResult {
        valid: (0, count(true)),
        invalid: (0, count(false)),
        ..FileResult::new(case.file.clone())
    };
    let begin = Instant::now();
    // The first mask is part of the time to it, whatever it says of token 0.
    let compiled = engine.compile(case).and_then(|compiled| {
        let mut state = engine.start(&compiled)?;
        engine.mask_has(&mut state, 0)?;
        Ok(compiled)
    });
    let elapsed = begin.elapsed();
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            result.status = Status::CompileError;
            if result.valid.1 == 0 && engine.is_unsatisfiable(case) {
                result.status = Status::Unsatisfiable;
                result.invalid.0 = result.invalid.1;
            }
            result.error = Some(error);
            return result;
        }
    };
    result.ttfm_us = Some(elapsed.as_secs_f64() * 1e6);
    for (i, instance) in case.instances.iter().enumerate() {
        let before = result.tbm_ns.len();
        let judged = encode_answer(tokenizer, &instance.text)
            .map_err(|error| error.to_string())
            .and_then(|tokens| refusal(engine, &compiled, &tokens, &mut result.tbm_ns));
        result.steps.push(result.tbm_ns.len() - before);
        record(&mut result, i, instance.is_valid, judged);
    }
    after(&compiled);
    result
}

/// Counts the judgement of an instance; a wrong one decides the status, and after these an engine's failure.
fn record(
    result: &mut FileResult,
    i: usize,
    is_valid: bool,
    judged: Result<Option<usize>, String>,
) {
    let is_undecided = matches!(result.status, Status::Ok | Status::Undecided);
    match (is_valid, judged) {
        (true, Ok(None)) => result.valid.0 += 1,
        (false, Ok(Some(_))) => result.invalid.0 += 1,
        (true, Ok(Some(at))) => {
            if is_undecided {
                result.status = Status::ValidationError;
                result.error = Some(format!("instance {i} is valid: refused at token {at}"));
            }
        }
        (false, Ok(None)) => {
            result.status = Status::InvalidationError;
            result.error = Some(format!("instance {i} is invalid and was accepted"));
        }
        (_, Err(error)) => {
            result.undecided += 1;
            if result.status == Status::Ok {
                result.status = Status::Undecided;
                result.error = Some(format!("instance {i} is undecided: {error}"));
            }
        }
    }
}

/// The first token that is refused, or `None` if all are accepted and the output may end.
fn refusal<E: Engine>(
    engine: &mut E,
    compiled: &E::Compiled,
    tokens: &[TokenId],
    times: &mut Vec<u64>,
) -> Result<Option<usize>, String> {
    let mut state = engine.start(compiled)?;
    for (at, token) in tokens.iter().enumerate() {
        let begin = Instant::now();
        let is_taken = take(engine, &mut state, token.0);
        times.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if !is_taken? {
            return Ok(Some(at));
        }
    }
    Ok(if engine.may_end(&mut state)? {
        None
    } else {
        Some(tokens.len())
    })
}

/// Whether the token is in the mask; then it is accepted.
fn take<E: Engine>(engine: &mut E, state: &mut E::State, token: u32) -> Result<bool, String> {
    let is_allowed = engine.mask_has(state, token)?;
    if is_allowed {
        engine.accept(state, token)?;
    }
    Ok(is_allowed)
}

#[cfg(test)]
mod tests;
