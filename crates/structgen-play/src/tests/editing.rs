//! Texts that are edited while the model works.

use super::*;
use crate::app::{App, Effect, Overlay};

fn key(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Option<Effect> {
    app.update(Message::Key(KeyEvent::new(code, modifiers)))
}

fn plain(app: &mut App, character: char) -> Option<Effect> {
    key(app, KeyCode::Char(character), KeyModifiers::NONE)
}

fn apply(app: &mut App) -> Option<Effect> {
    key(app, KeyCode::Char('s'), KeyModifiers::CONTROL)
}

/// Performs an effect, and returns its answer.
fn answer(fake: &mut Fake, effect: Option<Effect>) -> Message {
    crate::headless::answer(fake, effect.unwrap())
}

/// Returns the state at the first step, with its model.
fn begun() -> (App, Fake) {
    let mut fake = fake();
    let (mut app, effect) = App::new(start(), fake.vocabulary());
    let mut effect = Some(effect);
    while effect.is_some() {
        let next = answer(&mut fake, effect.take());
        effect = app.update(next);
    }
    (app, fake)
}

#[test]
fn a_look_that_is_answered_late_does_not_end_the_wait_for_another_output() {
    let (mut app, mut fake) = begun();
    let look = plain(&mut app, 'n');
    plain(&mut app, 'c');
    plain(&mut app, 'A');
    let first = apply(&mut app);
    assert_eq!(app.update(answer(&mut fake, look)), None);
    // The first edit is still being compiled, so that no second one can be applied.
    plain(&mut app, 'B');
    assert_eq!(apply(&mut app), None);
    app.update(answer(&mut fake, first));
    assert_eq!(app.constraint.text, "{\n  \"type\": \"object\"\n}A");
}

#[test]
fn an_output_has_the_texts_that_it_was_started_with() {
    let (mut app, _) = begun();
    app.update(Message::Begun {
        prompt: "another".to_owned(),
        constraint: ConstraintText {
            kind: ConstraintKind::Pattern,
            text: "a*".to_owned(),
        },
        begun: Ok(Begun::default()),
    });
    assert_eq!((&*app.prompt, &*app.constraint.text), ("another", "a*"));
}

#[test]
fn an_edit_that_is_refused_after_its_editor_was_closed_changes_nothing() {
    let (mut app, mut fake) = begun();
    plain(&mut app, 'c');
    "oops".chars().for_each(|character| {
        plain(&mut app, character);
    });
    let edit = apply(&mut app);
    key(&mut app, KeyCode::Esc, KeyModifiers::NONE);
    app.update(answer(&mut fake, edit));
    assert_eq!(app.constraint, start().constraint);
    assert!(matches!(app.overlay, Overlay::None) && !app.is_done());
    assert!(app.note.as_ref().unwrap().contains("there is no \"oops\""));
    assert!(plain(&mut app, 'n').is_some());
}

#[test]
fn the_answer_to_an_edit_leaves_another_one_alone() {
    for typed in ["oops", ""] {
        let (mut app, mut fake) = begun();
        plain(&mut app, 'c');
        typed.chars().for_each(|character| {
            plain(&mut app, character);
        });
        let edit = apply(&mut app);
        key(&mut app, KeyCode::Esc, KeyModifiers::NONE);
        plain(&mut app, 'p');
        plain(&mut app, 'x');
        app.update(answer(&mut fake, edit));
        let Overlay::Editor(editing) = &app.overlay else {
            panic!("the editor was closed after {typed:?}");
        };
        assert!(editing.editor.text().ends_with('x') && editing.problem.is_none());
    }
}

#[test]
fn what_is_pasted_keeps_its_line_breaks() {
    let mut play = Headless::new(start(), fake());
    type_in(&mut play, "p");
    control(&mut play, 'u');
    play.send(Message::Paste("a\r\nb\rc\nd".to_owned()));
    control(&mut play, 's');
    assert_eq!(play.app().prompt, "a\nb\nc\nd");
}
