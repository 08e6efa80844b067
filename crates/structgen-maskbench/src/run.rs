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
        file: case.file.clone(),
        status: Status::Ok,
        error: None,
        ttfm_us: None,
        tbm_ns: Vec::new(),
        valid: (0, count(true)),
        invalid: (0, count(false)),
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
        let accepted = encode_answer(tokenizer, &instance.text)
            .map_err(|error| error.to_string())
            .and_then(|tokens| accepts(engine, &compiled, &tokens, &mut result.tbm_ns));
        let (is_accepted, why) = match accepted {
            Ok(None) => (true, String::new()),
            Ok(Some(at)) => (false, format!("refused at token {at}")),
            Err(error) => (false, error),
        };
        match (instance.is_valid, is_accepted) {
            (true, true) => result.valid.0 += 1,
            (false, false) => result.invalid.0 += 1,
            (true, false) if result.status == Status::Ok => {
                result.status = Status::ValidationError;
                result.error = Some(format!("instance {i} is valid: {why}"));
            }
            (false, true) => {
                result.status = Status::InvalidationError;
                result.error = Some(format!("instance {i} is invalid and was accepted"));
            }
            (true, false) => {}
        }
    }
    after(&compiled);
    result
}

/// `None` where all tokens are taken and the output may end, else the first token that is not.
fn accepts<E: Engine>(
    engine: &mut E,
    compiled: &E::Compiled,
    tokens: &[TokenId],
    times: &mut Vec<u64>,
) -> Result<Option<usize>, String> {
    let mut state = engine.start(compiled)?;
    for (at, token) in tokens.iter().enumerate() {
        let begin = Instant::now();
        let is_allowed = engine.mask_has(&mut state, token.0)?;
        if is_allowed {
            engine.accept(&mut state, token.0)?;
        }
        times.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if !is_allowed {
            return Ok(Some(at));
        }
    }
    Ok(if engine.may_end(&mut state)? {
        None
    } else {
        Some(tokens.len())
    })
}
