use std::sync::Arc;

use expect_test::{Expect, expect};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use structgen_decode::SamplingParams;
use structgen_decode::constraint::PlainMask;
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::app::{Message, Start};
use crate::headless::Headless;
use crate::slider::Slider;
use crate::subject::{Begun, ConstraintKind, ConstraintText, Look, Problem, Subject};
use crate::{Scene, picture, view};

mod decoding;
mod editing;

/// The end, the parts of `{"n":3,"city":"Bern"}` with ten digits and twelve cities, and a token that is always refused.
const TOKENS: [&str; 27] = [
    "",
    "{\"n\":",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    ",\"city\":\"",
    "Bern",
    "Graz",
    "Köln",
    "Lima",
    "Oslo",
    "Pisa",
    "Riga",
    "Rome",
    "Split",
    "Turin",
    "Vaduz",
    "Wien",
    "\"}",
    "???",
];

/// A model whose logits fall with the token id, and a constraint that allows a part of them at each position.
struct Fake {
    vocabulary: Arc<Vocabulary>,
    is_free: bool,
}

fn fake() -> Fake {
    let tokens = TOKENS.iter().map(|text| text.as_bytes().to_vec());
    let vocabulary = Vocabulary::from_tokens(tokens, &[(TokenId(0), "<end>")]).unwrap();
    Fake {
        vocabulary: Arc::new(vocabulary),
        is_free: false,
    }
}

impl Subject for Fake {
    fn begin(&mut self, _: &str, constraint: &ConstraintText) -> Result<Begun, Problem> {
        if let Some(at) = constraint.text.find("oops") {
            return Err(Problem::new("there is no \"oops\"").at_byte(&constraint.text, at));
        }
        self.is_free = constraint.kind == ConstraintKind::Free;
        Ok(Begun {
            prompt: vec![TokenId(1)],
            eos: vec![TokenId(0)],
            is_json: !self.is_free,
            ..Begun::default()
        })
    }

    fn look(&mut self, output: &[TokenId]) -> Result<Look, Problem> {
        let allowed = match (self.is_free, output.len()) {
            (true, _) => 0..27,
            (_, 0) => 1..2,
            (_, 1) => 2..12,
            (_, 2) => 12..13,
            (_, 3) => 13..25,
            (_, 4) => 25..26,
            _ => 0..1,
        };
        let mut mask = TokenMask::new(TOKENS.len());
        allowed.for_each(|id| mask.allow(TokenId(id)));
        let logits = (0..TOKENS.len()).map(|id| 3.0 - 0.3 * (id as f32 - 6.0).abs());
        Ok(Look {
            logits: logits.collect(),
            allowed: Arc::new(PlainMask::new(mask)),
            temperature: None,
        })
    }

    fn vocabulary(&self) -> Arc<Vocabulary> {
        Arc::clone(&self.vocabulary)
    }
}

fn start() -> Start {
    Start {
        model: "a model".to_owned(),
        prompt: "Three days\nin Bern".to_owned(),
        constraint: ConstraintText {
            kind: ConstraintKind::Schema,
            text: "{\n  \"type\": \"object\"\n}\n".to_owned(),
        },
        sampling: SamplingParams {
            temperature: 0.7,
            top_k: 5,
            top_p: 0.9,
            ..SamplingParams::default()
        },
        ..Start::default()
    }
}

fn press(play: &mut Headless<Fake>, keys: &[KeyCode]) {
    for &key in keys {
        play.send(Message::Key(KeyEvent::new(key, KeyModifiers::NONE)));
    }
}

fn type_in(play: &mut Headless<Fake>, text: &str) {
    let keys: Vec<KeyCode> = text.chars().map(KeyCode::Char).collect();
    press(play, &keys);
}

fn control(play: &mut Headless<Fake>, key: char) {
    play.send(Message::Key(KeyEvent::new(
        KeyCode::Char(key),
        KeyModifiers::CONTROL,
    )));
}

fn text_of(screen: &Buffer) -> String {
    let area = screen.area();
    let line = |row| {
        let cells = (0..area.width).map(|column| screen[(column, row)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (0..area.height).map(line).collect()
}

fn check(play: &Headless<Fake>, expected: &Expect) {
    expected.assert_eq(&text_of(&play.screen(80, 24)));
}

fn output(play: &Headless<Fake>) -> String {
    String::from_utf8(play.app().output().0).unwrap()
}

#[test]
fn a_step_is_shown_sampler_by_sampler() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "nnn");
    check(
        &play,
        &expect![[r#"
             structgen play  a model · JSON Schema · token 3 of 3 · seed 0
            ┌ Output ──────────────────────────────────┐┌ Tree ────────────────────────────┐
            │after: Three days in Bern                 ││n 5                               │
            │{"n":5,"city":"▏                          ││city "▏                           │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            └──────────────────────────────────────────┘└──────────────────────────────────┘
            ┌ Next token: the mask allows 12 of 27 and refuses 92.6% of the probability ───┐
            │  token           model           mask    temp   top-k   top-p   min-p        │
            │  "4"             16.0% █      refused                                        │
            │  "3"             11.9% ▊      refused                                        │
            │  "Bern"           2.0% ▏        26.6%   35.1%   39.5%   42.5%       · ██▌    │
            │  "Graz"           1.5% ▏        19.7%   22.8%   25.7%   27.7%       · █▋     │
            │▸ "Köln"           1.1% ▏        14.6%   14.9%   16.8%   18.0%       · █▏     │
            │  "Lima"           0.8%          10.8%    9.7%   10.9%   11.8%       · ▊      │
            │  tokens left        27             12      12       5       4     off        │
            │  entropy, nats   2.659          2.079   1.819   1.445   1.280     off        │
            └──────────────────────────────────────────────────────────────────────────────┘
             ▸temperature ━━━━━●────────── 0.70       top-k       ━●────────────── 5
              top-p       ━━━━━━━━━━━━━●── 0.90       min-p       ●─────────────── off
             4 of 12 allowed tokens kept, entropy 1.28 nats, top 42.5%
             n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  ? help  q quit
        "#]],
    );
}

#[test]
fn a_wide_screen_has_room_for_long_bars() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "n");
    expect![[r#"
         structgen play  a model · JSON Schema · token 1 of 1 · seed 0
        ┌ Output ───────────────────────────────────────────────────────────────────┐┌ Tree ───────────────────────────────────────────────────────┐
        │after: Three days in Bern                                                  ││                                                             │
        │{"n":▏                                                                     ││                                                             │
        │                                                                           ││                                                             │
        │                                                                           ││                                                             │
        │                                                                           ││                                                             │
        │                                                                           ││                                                             │
        │                                                                           ││                                                             │
        │                                                                           ││                                                             │
        └───────────────────────────────────────────────────────────────────────────┘└─────────────────────────────────────────────────────────────┘
        ┌ Next token: the mask allows 10 of 27 and refuses 16.3% of the probability ───────────────────────────────────────────────────────────────┐
        │  token                         model                          mask  temperature        top-k        top-p        min-p                   │
        │  "4"                           16.0% ██▋                     19.2%        23.9%        31.7%        31.7%            · █████▏            │
        │  "3"                           11.9% █▉                      14.2%        15.6%        20.7%        20.7%            · ███▎              │
        │▸ "5"                           11.9% █▉                      14.2%        15.6%        20.7%        20.7%            · ███▎              │
        │  "2"                            8.8% █▍                      10.5%        10.1%        13.5%        13.5%            · ██▏               │
        │  "6"                            8.8% █▍                      10.5%        10.1%        13.5%        13.5%            · ██▏               │
        │  "1"                            6.5% █                        7.8%         6.6%          cut                                             │
        │  "7"                            6.5% █                        7.8%         6.6%          cut                                             │
        │  "{\"n\":"                      3.6% ▋                     refused                                                                       │
        │  <end>                          2.7% ▍                     refused                                                                       │
        │  ",\"city\":\""                 2.7% ▍                     refused                                                                       │
        │  tokens left                      27                            10           10            5            5          off                   │
        │  entropy, nats                 2.659                         2.206        2.116        1.556        1.556          off                   │
        └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
         ▸temperature ━━━━━━━━━━━━━━●─────────────────────────────── 0.70       top-k       ━━●─────────────────────────────────────────── 5
          top-p       ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━●───── 0.90       min-p       ●───────────────────────────────────────────── off
         5 of 10 allowed tokens kept, entropy 1.56 nats, top 31.7%
         n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  p prompt  c constraint  ? help  q quit
    "#]].assert_eq(&text_of(&play.screen(140, 30)));
}

#[test]
fn the_end_is_told() {
    let mut play = Headless::new(start(), fake());
    press(&mut play, &[KeyCode::End]);
    play.finish();
    check(
        &play,
        &expect![[r#"
             structgen play  a model · JSON Schema · token 6 of 6 · seed 0
            ┌ Output ──────────────────────────────────┐┌ Tree ────────────────────────────┐
            │after: Three days in Bern                 ││n 5                               │
            │{"n":5,"city":"Köln"}                     ││city "Köln"                       │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            └──────────────────────────────────────────┘└──────────────────────────────────┘
            ┌ The output has ended ────────────────────────────────────────────────────────┐
            │ b goes back a token, Home to the beginning; p and c begin another output.    │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            │                                                                              │
            └──────────────────────────────────────────────────────────────────────────────┘
             ▸temperature ━━━━━●────────── 0.70       top-k       ━●────────────── 5
              top-p       ━━━━━━━━━━━━━●── 0.90       min-p       ●─────────────── off
             complete
             n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  ? help  q quit
        "#]],
    );
}

#[test]
fn help_and_scenes_lie_over_the_screen() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "?");
    check(
        &play,
        &expect![[r#"
             structgen play  a model · JSON Schema · seed 0
            ┌ Output ──────────────────────────────────┐┌ Tree ────────────────────────────┐
            │after: Three days in Bern                 ││                                  │
            │▏      ┌ Keys ────────────────────────────────────────────────────────┐       │
            │       │ n, space, Enter  take the token that is drawn (▸)            │       │
            │       │ b, Backspace     go back a token; n takes the same one again │       │
            │       │ a                play and pause                              │       │
            │       │ Home, End        the beginning; play to the end at once      │       │
            └───────│ ↑ ↓              choose a slider                             │───────┘
            ┌ Next t│ ← →              move it; with Shift ten times as far        │ty ────┐
            │  token│ 0                switch it off                               │       │
            │  "4"  │ r                draw again, with the next seed              │       │
            │  "3"  │ s, 1 to 4        scenes: parameters that move by themselves  │       │
            │  "5"  │ p                edit the prompt                             │       │
            │  "2"  │ c                edit the schema, pattern or grammar         │       │
            │  "6"  │ Esc              stop what goes on, close what is open       │       │
            │▸ "{\"n│ ?, F1            this page                                   │██████ │
            │  token│ q, Ctrl-C        leave                                       │       │
            │  entro│                                                              │       │
            └───────│ Any key closes this page.                                    │───────┘
             ▸temper└──────────────────────────────────────────────────────────────┘
              top-p       ━━━━━━━━━━━━━●── 0.90       min-p       ●─────────────── off
             1 of 1 allowed tokens kept, entropy 0.00 nats, top 100.0%
             n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  ? help  q quit
        "#]],
    );
    type_in(&mut play, "xs");
    check(
        &play,
        &expect![[r#"
             structgen play  a model · JSON Schema · seed 0
            ┌ Output ──────────────────────────────────┐┌ Tree ────────────────────────────┐
            │after: Three days in Bern                 ││                                  │
            │▏                                         ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            │                                          ││                                  │
            └─┌ Scenes ──────────────────────────────────────────────────────────────────┐─┘
            ┌ │ ▸1 the temperature goes from 0.1 to 2; nothing is cut                    │─┐
            │ │  2 top-k goes from 1 to 10, and keeps exactly as many tokens             │ │
            │ │  3 top-p goes from 1 to 0.5                                              │ │
            │ │  4 temperature 0.7, top-k 10 and top-p 0.9, to the end of the output     │ │
            │ │                                                                          │ │
            │ │ Enter or a number starts one, Esc leaves.                                │ │
            │ └──────────────────────────────────────────────────────────────────────────┘ │
            │▸ "{\"n\":"        3.6% ▎       100.0%  100.0%  100.0%  100.0%       · ██████ │
            │  tokens left        27              1       1       1       1     off        │
            │  entropy, nats   2.659          0.000   0.000   0.000   0.000     off        │
            └──────────────────────────────────────────────────────────────────────────────┘
             ▸temperature ━━━━━●────────── 0.70       top-k       ━●────────────── 5
              top-p       ━━━━━━━━━━━━━●── 0.90       min-p       ●─────────────── off
             1 of 1 allowed tokens kept, entropy 0.00 nats, top 100.0%
             n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  ? help  q quit
        "#]],
    );
}

#[test]
fn what_is_wrong_with_a_typed_schema_is_shown_at_its_place() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "c");
    press(&mut play, &[KeyCode::Up, KeyCode::End]);
    type_in(&mut play, ", \"oops\": 1");
    control(&mut play, 's');
    check(
        &play,
        &expect![[r#"
             structgen play  a model · JSON Schema · seed 0
            ┌ ┌ Constraint: JSON Schema ─────────────────────────────────────────────────┐─┐
            │a│{                                                                         │ │
            │▏│  "type": "object", "oops": 1                                             │ │
            │ │}                                                                         │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            └─│                                                                          │─┘
            ┌ │                                                                          │─┐
            │ │                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            │▸│                                                                          │ │
            │ │                                                                          │ │
            │ │                                                                          │ │
            └─│line 2, column 22: there is no "oops"                                     │─┘
             ▸│                                                                          │
              │                                                                          │
             1└ Ctrl-S use  Esc leave  Ctrl-U clear  Ctrl-T another kind ────────────────┘
             n next  b back  a auto  ↑↓←→ sliders  r redraw  s scenes  ? help  q quit
        "#]],
    );
    // The cursor is where the problem is, so that typing there fixes it.
    press(&mut play, &[KeyCode::Delete; 4]);
    type_in(&mut play, "title");
    control(&mut play, 's');
    assert_eq!(
        play.app().constraint.text,
        "{\n  \"type\": \"object\", \"title\": 1\n}"
    );
    assert_eq!(play.app().walk.at(), 0);
}

#[test]
fn another_kind_of_constraint_is_chosen_in_the_editor() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "nc");
    (0..3).for_each(|_| control(&mut play, 't'));
    control(&mut play, 's');
    assert_eq!(play.app().constraint.kind, ConstraintKind::Free);
    assert_eq!(
        play.app().comparison().unwrap().columns[1].left,
        TOKENS.len()
    );
}

#[test]
fn back_and_forward_take_the_same_tokens() {
    let mut play = Headless::new(start(), fake());
    let mut outputs = vec![output(&play)];
    while play.app().comparison().is_some() {
        type_in(&mut play, "n");
        outputs.push(output(&play));
    }
    assert_eq!(outputs.len(), 7);
    for (at, expected) in outputs.iter().enumerate().rev() {
        assert_eq!((play.app().walk.at(), &output(&play)), (at, expected));
        type_in(&mut play, "b");
    }
    for expected in &outputs {
        assert_eq!(&output(&play), expected);
        type_in(&mut play, "n");
    }
    // The same parameters and the same seed give the same output, step by step or at once.
    let mut again = Headless::new(
        Start {
            tokens: 9,
            ..start()
        },
        fake(),
    );
    again.finish();
    assert_eq!(&output(&again), outputs.last().unwrap());
}

#[test]
fn a_step_that_is_made_again_draws_what_its_sliders_say() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "nn");
    assert_ne!(output(&play), "{\"n\":4");
    // Of the digits, 4 is the most probable.
    type_in(&mut play, "b");
    press(&mut play, &[KeyCode::Down]);
    press(&mut play, &[KeyCode::Left; 4]);
    assert_eq!(play.app().sampling.top_k, 1);
    type_in(&mut play, "n");
    assert_eq!(output(&play), "{\"n\":4");
    assert_eq!(play.app().walk.len(), 2);
}

#[test]
fn sliders_stop_at_their_ends() {
    let mut play = Headless::new(start(), fake());
    for slider in Slider::ALL {
        for (key, share) in [(KeyCode::Left, 0.0), (KeyCode::Right, 1.0)] {
            for _ in 0..20 {
                play.send(Message::Key(KeyEvent::new(key, KeyModifiers::SHIFT)));
            }
            assert_eq!(slider.share(&play.app().sampling), share, "{slider:?}");
        }
        press(&mut play, &[KeyCode::Char('0'), KeyCode::Down]);
        assert_eq!(slider.get(&play.app().sampling), slider.off());
    }
}

/// Returns the parameters and the last column at each frame of a scene.
fn frames(scene: Scene) -> Vec<(SamplingParams, usize, f64)> {
    let start = Start {
        scene: Some(scene),
        ..start()
    };
    let mut play = Headless::new(start, fake());
    let mut frames: Vec<(SamplingParams, usize, f64)> = Vec::new();
    while play.app().pause().is_some() {
        play.send(Message::Tick);
        let app = play.app();
        let is_frame = matches!(app.mode, crate::app::Mode::Frame(..));
        if let Some(comparison) = app.comparison().filter(|_| is_frame) {
            // It shows the step with the widest choice: that of the twelve cities, or the digits.
            assert!(comparison.columns[1].left >= 10);
            let last = comparison.last().unwrap();
            frames.push((app.sampling.clone(), last.left, last.entropy));
        }
    }
    assert_eq!(frames.len(), scene.frames());
    frames
}

#[test]
fn a_scene_sweeps_the_temperature_and_cuts_nothing() {
    let frames = frames(Scene::Temperature);
    let temperatures: Vec<f32> = frames
        .iter()
        .map(|(params, ..)| params.temperature)
        .collect();
    assert_eq!(
        (temperatures[0], temperatures[9], temperatures[19]),
        (0.1, 1.0, 2.0)
    );
    assert!(
        frames
            .iter()
            .all(|(params, left, _)| params.top_k == 0 && params.top_p == 1.0 && *left >= 10)
    );
    assert!(frames.is_sorted_by(|a, b| a.2 < b.2));
}

#[test]
fn a_scene_keeps_exactly_k() {
    let left: Vec<usize> = frames(Scene::TopK)
        .iter()
        .map(|(_, left, _)| *left)
        .collect();
    assert_eq!(left, (1..=10).collect::<Vec<_>>());
}

#[test]
fn a_scene_cuts_by_top_p() {
    let frames = frames(Scene::TopP);
    let ps: Vec<f32> = frames.iter().map(|(params, ..)| params.top_p).collect();
    assert_eq!((ps[0], ps[5], ps[10]), (1.0, 0.75, 0.5));
    assert!(frames.is_sorted_by(|a, b| a.1 >= b.1));
    assert!(frames[10].1 < frames[0].1);
}

#[test]
fn a_scene_writes_a_whole_output() {
    let start = Start {
        scene: Some(Scene::Together),
        ..start()
    };
    let mut play = Headless::new(start, fake());
    play.finish();
    let params = &play.app().sampling;
    assert_eq!(
        (params.temperature, params.top_k, params.top_p),
        (0.7, 10, 0.9)
    );
    assert!(play.app().walk.has_ended());
    assert!(output(&play).ends_with("\"}"));
}

#[test]
fn every_size_has_a_screen() {
    let mut play = Headless::new(start(), fake());
    for keys in ["", "nnn", "?", "xs", "\u{1b}c"] {
        for key in keys.chars() {
            let key = if key == '\u{1b}' {
                KeyCode::Esc
            } else {
                KeyCode::Char(key)
            };
            press(&mut play, &[key]);
        }
        for (width, height) in [
            (1, 1),
            (20, 5),
            (63, 18),
            (64, 18),
            (80, 24),
            (200, 60),
            (300, 19),
        ] {
            let is_large = width >= view::LEAST.0 && height >= view::LEAST.1;
            let asks_for_more = text_of(&play.screen(width, height)).starts_with('T');
            assert_eq!(asks_for_more, !is_large, "{width} {height}");
        }
    }
}

#[test]
fn without_colour_nothing_is_coloured() {
    for has_colour in [false, true] {
        let mut play = Headless::new(
            Start {
                has_colour,
                ..start()
            },
            fake(),
        );
        type_in(&mut play, "n");
        let screen = play.screen(80, 24);
        let is_coloured = screen.content().iter().any(|cell| cell.fg != Color::Reset);
        assert_eq!(is_coloured, has_colour);
        // The background is always the terminal's own.
        assert!(screen.content().iter().all(|cell| cell.bg == Color::Reset));
    }
}

#[test]
fn a_screen_is_a_picture() {
    let mut play = Headless::new(
        Start {
            has_colour: true,
            ..start()
        },
        fake(),
    );
    type_in(&mut play, "n");
    let svg = picture::chart(&play.screen(80, 24), "play").svg(structgen_lab::chart::Theme::Auto);
    assert!(svg.contains("temperature") && svg.contains("class=\"s2\""));
}
