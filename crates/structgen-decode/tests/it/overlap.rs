//! A mask that is not ready is computed while the model runs, without any other effect.

use std::sync::{Arc, Barrier};

use structgen_decode::{
    Constraint, GenerateError, GenerateOptions, Generation, MockModel, Request, SamplingParams,
    Scheduler, Unconstrained,
    constraint::{ConstraintError, PlainMask},
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::support::hooked;

/// Free text whose masks are never ready, and wait until a model runs; from `fails_at` on they fail.
#[derive(Clone)]
struct Late {
    free: Unconstrained,
    meeting: Arc<Barrier>,
    fails_at: usize,
    taken: usize,
}

impl Constraint for Late {
    type Mask = PlainMask;

    fn mask(&mut self) -> Result<Arc<PlainMask>, ConstraintError> {
        self.meeting.wait();
        if self.taken >= self.fails_at {
            return Err(ConstraintError::new(std::fmt::Error));
        }
        self.free.mask()
    }

    fn ready_mask(&mut self) -> Result<Option<Arc<PlainMask>>, ConstraintError> {
        Ok(None)
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        self.taken += 1;
        self.free.accept_token(token)
    }

    fn is_accepting(&self) -> bool {
        true
    }

    fn is_finished(&self) -> bool {
        self.free.is_finished()
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        self.free.rollback(n)
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        Ok(None)
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn completion_cost_after(&mut self, _: TokenId) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn eos(&self) -> &[TokenId] {
        self.free.eos()
    }

    fn has_structure(&self) -> bool {
        false
    }
}

const EOS: TokenId = TokenId(26);

fn vocabulary() -> Vocabulary {
    let letters = (b'a'..=b'z').map(|letter| vec![letter]);
    Vocabulary::from_tokens(letters, &[(EOS, "<eos>")]).unwrap()
}

fn free() -> Unconstrained {
    let mut allowed = TokenMask::new(27);
    allowed.allow_all(&[TokenId(3), TokenId(4), TokenId(17)]);
    Unconstrained::new(allowed, &[EOS])
}

fn options() -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(30),
        min_new_tokens: 8,
        log_probs: true,
        sampling: SamplingParams {
            temperature: 0.9,
            seed: 5,
            ..SamplingParams::default()
        },
        ..GenerateOptions::default()
    }
}

fn model() -> MockModel {
    MockModel::new(27, 100, [EOS]).with_seed(9)
}

fn overlapped(fails_at: usize) -> Result<Generation, GenerateError> {
    let meeting = Arc::new(Barrier::new(2));
    let meets = meeting.clone();
    // Each run waits until a mask is being computed.
    let model = hooked(model(), move |_, _| {
        meets.wait();
        Ok(())
    });
    let late = Late {
        free: free(),
        meeting,
        fails_at,
        taken: 0,
    };
    let request = Request::new([TokenId(1)], late).with_options(options());
    Scheduler::new(model, vocabulary()).run(request)?.single()
}

#[test]
fn model_and_mask_are_under_way_at_once_with_the_same_result() {
    // Each side waits for the other: in sequence, this would never end.
    let overlapped = overlapped(usize::MAX).unwrap();
    let request = Request::new([TokenId(1)], free()).with_options(options());
    let sequential = Scheduler::new(model(), vocabulary()).run(request);
    let sequential = sequential.unwrap().single().unwrap();
    assert!(overlapped.tokens.len() >= 8);
    assert_eq!(overlapped.text, sequential.text);
    assert_eq!(overlapped.tokens, sequential.tokens);
    assert_eq!(overlapped.finish, sequential.finish);
    assert_eq!(overlapped.stats.runs, sequential.stats.runs);
}

#[test]
fn a_mask_that_fails_meanwhile_is_the_error_of_its_step() {
    let error = overlapped(3).unwrap_err();
    assert!(
        matches!(error, GenerateError::Constraint { step: 3, .. }),
        "{error}"
    );
}
