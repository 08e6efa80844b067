//! Tracing spans report the work done. This is a separate program because `tracing` caches per process whether anyone
//! listens to a span.

#[path = "it/small/mod.rs"]
mod small;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use small::choices;
use structgen_vocab::TokenId;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Fields with their values.
type Recorded = Vec<(String, u64)>;

/// Records the name and the fields of every span.
#[derive(Clone, Default)]
struct Collector {
    ids: Arc<AtomicU64>,
    spans: Arc<Mutex<Vec<(String, Recorded)>>>,
}

impl Collector {
    fn named(&self, name: &str) -> Vec<Recorded> {
        let spans = self.spans.lock().unwrap();
        let named = spans.iter().filter(|(is, _)| is == name);
        named.map(|(_, fields)| fields.clone()).collect()
    }
}

struct Fields<'a>(&'a mut Recorded);

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name().to_owned(), value));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.spans.lock().unwrap();
        spans.push((span.metadata().name().to_owned(), Vec::new()));
        Id::from_u64(self.ids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.spans.lock().unwrap();
        values.record(&mut Fields(&mut spans[span.into_u64() as usize - 1].1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn every_compile_and_every_computed_mask_is_a_span() {
    let collector = Collector::default();
    tracing::subscriber::with_default(collector.clone(), || {
        let constraint = choices(&["yes", "you", "no"]);
        let mut matcher = constraint.matcher();
        for _ in 0..3 {
            assert_eq!(matcher.mask().unwrap().count(), 2);
        }
        matcher.accept_token(TokenId(b'y'.into())).unwrap();
        assert_eq!(matcher.mask().unwrap().count(), 2);
        let statistics = constraint.statistics();
        assert_eq!(
            (statistics.masks_computed, statistics.masks_found),
            (2, 2),
            "{statistics:?}"
        );
        let walked: u64 = collector
            .named("mask")
            .iter()
            .map(|fields| fields[0].1)
            .sum();
        assert_eq!(statistics.nodes_walked, walked);
    });
    let masks = collector.named("mask");
    assert_eq!(masks.len(), 2, "{masks:?}");
    for fields in &masks {
        let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["nodes_walked", "tokens"]);
        assert!(fields[0].1 >= 2 && fields[1].1 == 2, "{fields:?}");
    }
    let compiled = collector.named("compile");
    assert!(compiled.len() == 1 && compiled[0][0].1 > 0, "{compiled:?}");
}
