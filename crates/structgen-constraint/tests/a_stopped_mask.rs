//! No request waits for another's work. This is a separate program because `tracing` caches per process whether anyone
//! listens to a span: another test's thread that reached the span first would leave it switched off.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_vocab::{TokenId, Vocabulary};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Stops the first mask that its thread computes: signals that it was begun, and waits for a signal to continue.
struct Gate {
    begun: SyncSender<()>,
    go_on: Mutex<Option<Receiver<()>>>,
}

impl Subscriber for Gate {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "mask"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn enter(&self, _: &Id) {
        if let Some(go_on) = self.go_on.lock().unwrap().take() {
            self.begun.send(()).unwrap();
            go_on.recv().unwrap();
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn exit(&self, _: &Id) {}
}

/// Compiles a schema for tokens that are single bytes.
fn compile(schema: &str) -> CompiledConstraint {
    let compiled = json_schema::compile_str(schema, &SchemaOptions::new()).unwrap();
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let vocabulary = Arc::new(Vocabulary::from_tokens(bytes, &[]).unwrap());
    let tables = Arc::new(VocabularyTables::new(vocabulary));
    CompiledConstraint::new(compiled.grammar, &tables, &ConstraintOptions::default()).unwrap()
}

#[test]
fn a_request_in_the_middle_of_its_step_stops_no_other() {
    let constraint = compile(
        r#"{"type": "object", "properties": {
            "urls": {"type": "array", "uniqueItems": true, "items": {"type": "string", "format": "uri"}},
            "name": {"type": "string", "maxLength": 9}
        }}"#,
    );
    let take = |matcher: &mut Matcher, text: &str| {
        for byte in text.bytes() {
            matcher.accept_token(TokenId(byte.into())).unwrap();
        }
    };
    let urls: Vec<String> = (0..300).map(|i| format!("\"https://e.org/{i}\"")).collect();
    let mut slow = constraint.matcher();
    take(&mut slow, &format!("{{\"urls\":[{},\"", urls.join(",")));
    let (begun, has_begun) = sync_channel(0);
    let (go_on, may_go_on) = sync_channel(0);
    thread::scope(|scope| {
        let slow = scope.spawn(move || {
            let gate = Gate {
                begun,
                go_on: Mutex::new(Some(may_go_on)),
            };
            tracing::subscriber::with_default(gate, || slow.mask().unwrap())
        });
        has_begun.recv().unwrap();
        // Masks that are not cached, some of which are computed in parallel with the stopped one.
        let mut quick = constraint.matcher();
        for byte in "{\"name\":\"abc\"}".bytes() {
            assert!(quick.mask().unwrap().contains(TokenId(byte.into())));
            quick.accept_token(TokenId(byte.into())).unwrap();
        }
        assert!(quick.is_accepting());
        // In the same array as well.
        let mut other = constraint.matcher();
        take(
            &mut other,
            "{\"urls\":[\"https://e.org/1\",\"https://e.org/",
        );
        assert!(other.mask().unwrap().contains(TokenId(b'2'.into())));
        go_on.send(()).unwrap();
        assert!(slow.join().unwrap().contains(TokenId(b'h'.into())));
    });
}
