//! Steps are those that decoding makes.

use structgen_decode::constraint::AllowedTokens;
use structgen_decode::samplers::{
    Accepted, AdaptivePParams, Candidates, OwnSamplers, Sampler, SamplerChain, SequenceStart,
};

use super::*;
use crate::app::MOST;
use crate::walk::LOOKS;

/// An output that never has to end, and what is special about it.
#[derive(Clone, Default)]
struct Endless {
    tokens: usize,
    /// How much a logit is below the one before.
    fall: f32,
    temperature: Option<f32>,
    samplers: OwnSamplers,
    warnings: Vec<String>,
}

impl Subject for Endless {
    fn begin(&mut self, _: &str, _: &ConstraintText) -> Result<Begun, Problem> {
        Ok(Begun {
            prompt: vec![TokenId(0)],
            samplers: self.samplers.clone(),
            sets_temperatures: self.temperature.is_some(),
            warnings: self.warnings.clone(),
            ..Begun::default()
        })
    }

    fn look(&mut self, output: &[TokenId]) -> Result<Look, Problem> {
        // The largest logit moves on from token to token.
        let logit = |id: usize| -self.fall * ((id + output.len()) % self.tokens) as f32;
        Ok(Look {
            logits: (0..self.tokens).map(logit).collect(),
            allowed: Arc::new(PlainMask::new(TokenMask::full(self.tokens))),
            temperature: self.temperature,
        })
    }

    fn vocabulary(&self) -> Arc<Vocabulary> {
        let tokens = (0..self.tokens).map(|id| format!("<{id}>").into_bytes());
        Arc::new(Vocabulary::from_tokens(tokens, &[]).unwrap())
    }
}

fn played(subject: Endless, sampling: SamplingParams, keys: &str) -> Headless<Endless> {
    let start = Start {
        sampling,
        ..Start::default()
    };
    let mut play = Headless::new(start, subject);
    for key in keys.chars() {
        send(&mut play, KeyCode::Char(key));
    }
    play
}

fn send(play: &mut Headless<Endless>, key: KeyCode) {
    play.send(Message::Key(KeyEvent::new(key, KeyModifiers::NONE)));
}

fn warm() -> SamplingParams {
    SamplingParams {
        temperature: 1.0,
        ..SamplingParams::default()
    }
}

#[test]
fn an_output_without_end_is_played_up_to_a_limit_and_few_of_its_logits_are_kept() {
    let subject = Endless {
        tokens: 3,
        fall: 1.0,
        ..Endless::default()
    };
    let mut play = played(subject.clone(), warm(), "");
    send(&mut play, KeyCode::End);
    play.finish();
    let app = play.app();
    assert_eq!((app.walk.at(), app.walk.kept()), (MOST, LOOKS));
    let (written, _) = app.output();
    // The model is run again where the logits are no longer kept, and the same tokens follow.
    send(&mut play, KeyCode::Home);
    assert!(play.app().comparison().is_some());
    send(&mut play, KeyCode::End);
    play.finish();
    assert_eq!(play.app().output().0, written);
    assert_eq!(play.app().walk.kept(), LOOKS);

    let scene = Start {
        scene: Some(Scene::Together),
        ..Start::default()
    };
    let mut play = Headless::new(scene, subject);
    play.finish();
    assert_eq!(play.app().walk.at(), MOST);
}

#[test]
fn a_temperature_of_the_constraint_replaces_that_of_the_parameters() {
    let subject = Endless {
        tokens: 9,
        fall: 0.1,
        temperature: Some(0.0),
        ..Endless::default()
    };
    for seed in 0..9 {
        let play = played(subject.clone(), SamplingParams { seed, ..warm() }, "nn");
        let (written, _) = play.app().output();
        assert_eq!(String::from_utf8(written).unwrap(), "<0><8>");
        let comparison = play.app().comparison().unwrap();
        assert_eq!(comparison.drawn.unwrap().probability, 1.0);
    }
}

/// Prefers one token.
#[derive(Clone)]
struct Only(TokenId);

impl Sampler for Only {
    fn apply(&mut self, candidates: &mut Candidates) {
        let at = candidates.ids().iter().position(|&id| id == self.0);
        if let Some(at) = at {
            candidates.logits_mut()[at] += 99.0;
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[test]
fn the_samplers_of_an_output_come_first_and_have_a_column() {
    let subject = Endless {
        tokens: 400,
        samplers: OwnSamplers::new(Only(TokenId(399))),
        ..Endless::default()
    };
    let play = played(subject, warm(), "");
    let comparison = play.app().comparison().unwrap();
    let names: Vec<&str> = comparison
        .columns
        .iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(names[..3], ["model", "mask", "reader"]);
    assert_eq!(comparison.drawn.unwrap().id, 399);
    let screen = text_of(&play.screen(100, 24));
    assert!(screen.contains("▸ \"<399>\""), "{screen}");
    // The most probable token of those kept may be improbable under the model.
    assert!(screen.contains("top 100.0%"), "{screen}");
}

#[test]
fn the_drawn_token_is_on_the_screen_however_improbable_it_is() {
    let subject = Endless {
        tokens: 500,
        ..Endless::default()
    };
    for seed in 0..20 {
        let sampling = SamplingParams { seed, ..warm() };
        let play = played(subject.clone(), sampling, "");
        let drawn = play.app().comparison().unwrap().drawn.unwrap().id;
        for (width, height) in [view::LEAST, (80, 24), (100, 90)] {
            let screen = text_of(&play.screen(width, height));
            let row = format!("▸ \"<{drawn}>\"");
            assert_eq!(screen.matches(&row).count(), 1, "{row}\n{screen}");
            assert_eq!(screen.matches("\"<0>\"").count(), 1, "{screen}");
        }
    }
}

#[test]
fn adaptive_p_learns_from_the_steps_before() {
    let subject = Endless {
        tokens: 12,
        fall: 0.4,
        ..Endless::default()
    };
    let params = SamplingParams {
        adaptive_p: Some(AdaptivePParams {
            target: 0.3,
            decay: 0.5,
        }),
        ..warm()
    };
    let mut play = played(subject.clone(), params.clone(), "");
    let mut chain = SamplerChain::new(&params, 0).unwrap();
    chain.reset(SequenceStart {
        prompt: &[TokenId(0)],
        prefilled: 0,
        eos: &[],
    });
    let mut output: Vec<TokenId> = Vec::new();
    for _ in 0..5 {
        let look = subject.clone().look(&output).unwrap();
        let mut candidates = Candidates::default();
        candidates.fill(&look.logits, &*look.allowed, &[]);
        chain.apply(&mut candidates);
        let comparison = play.app().comparison().unwrap();
        let drawn = comparison.drawn.unwrap();
        let expected = candidates.log_prob(TokenId(drawn.id)).unwrap().exp();
        assert!((drawn.probability - f64::from(expected)).abs() < 1e-5);
        let accepted = Accepted::drawn(TokenId(drawn.id), expected);
        chain.accept(accepted);
        output.push(accepted.token);
        send(&mut play, KeyCode::Char('n'));
    }
    assert_eq!(play.app().walk.tokens(), output);
}

#[test]
fn a_step_without_an_alternative_counts_as_forced() {
    let subject = Endless {
        tokens: 1,
        ..Endless::default()
    };
    let play = played(subject, warm(), "");
    let app = play.app();
    assert_eq!(app.walk.look().unwrap().allowed.count(), 1);
    let drawn = app.comparison().unwrap().drawn.unwrap();
    let accepted = app.walk.accepted(drawn, &app.sampling);
    assert_eq!(accepted, Accepted::certain(TokenId(0)));
}

#[test]
fn warnings_about_the_constraint_are_shown() {
    let subject = Endless {
        tokens: 3,
        warnings: vec!["line 2: spare".to_owned(), "line 3: more".to_owned()],
        ..Endless::default()
    };
    let screen = text_of(&played(subject, warm(), "").screen(120, 24));
    assert!(screen.contains("(line 2: spare; line 3: more)"), "{screen}");
}
