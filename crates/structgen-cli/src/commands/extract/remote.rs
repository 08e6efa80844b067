//! `structgen extract --server`: extraction on a server.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::Map;
use serde_json::value::RawValue;

use super::Args;
use crate::Outcome;
use crate::args::SchemaFile;
use crate::commands::extract_jsonl::{self, Answer, Extracts};
use crate::error::DONE;
use crate::extraction::{ExtractionArgs, Reply, note_ungrounded};
use crate::output::{detail, write_line};
use crate::remote::{Body, Remote, RemoteError};
use crate::settings::Settings;

/// Concurrent requests, unless `--jobs` gives a number.
const JOBS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// Texts in progress per concurrent request, so that a slow one does not hold up the others.
const AHEAD: usize = 4;

/// A server, and the request to send for each text.
#[derive(Clone)]
struct Extractor {
    remote: Remote,
    /// The fields of a request, except its text.
    fields: Arc<Body>,
}

impl Args {
    /// Extracts on a server.
    pub(super) fn run_on(&self, url: &str, settings: &Settings, schema: &SchemaFile) -> Outcome {
        let extractor = Extractor {
            fields: Arc::new(self.fields(settings, schema)?),
            remote: Remote::new(
                url,
                settings.api_key.as_deref(),
                self.model.model.as_deref(),
            )?,
        };
        settings.report_seed(None);
        if self.jsonl {
            let lines = self.text.open_lines()?;
            let output = extract_jsonl::Output::open(self.resume.as_deref(), self.retry_errors)?;
            let mut workers = Workers::new(extractor, self.jobs.unwrap_or(JOBS), &self.results);
            return extract_jsonl::run(&mut workers, lines, output);
        }
        let started = Instant::now();
        let reply = extractor.extract(&self.text.read()?)?;
        note_ungrounded(&reply.ungrounded);
        let document = self.results.print_reply(&reply, None)?;
        write_line(&self.results.results.shown(&document))?;
        detail(&format!(
            "{} tokens in {:.0} ms",
            reply.usage.completion_tokens,
            started.elapsed().as_secs_f64() * 1e3
        ));
        Ok(DONE)
    }

    fn fields(&self, settings: &Settings, schema: &SchemaFile) -> anyhow::Result<Body> {
        // Every reply has log probabilities.
        let own = [
            "schema.at",
            "schema.strict",
            "schema.source",
            "log_probs",
            "api_key",
        ];
        let mut body = settings.request(&own, Map::new())?;
        body.set_json("schema", schema.to_json()?)?;
        if let Some(is_grounded) = settings.schema.is_grounded() {
            body.set("grounded", is_grounded);
        }
        if self.results.alternatives() > 0 {
            body.set("alternatives", self.results.alternatives());
        }
        if self.refuse_long {
            body.set("long_text", "refuse");
        }
        Ok(body)
    }
}

impl Extractor {
    fn extract(&self, text: &str) -> Result<Reply, RemoteError> {
        let mut body = Body::clone(&self.fields);
        body.set("text", text);
        let reply = self.remote.ask("/v1/extract", body)?;
        serde_json::from_str(&reply).map_err(|_| self.remote.strange("something else"))
    }
}

/// A text, and where to send its extraction.
type Job = (String, SyncSender<Result<Reply, RemoteError>>);

/// Threads that each wait for one reply at a time.
struct Workers<'a> {
    jobs: SyncSender<Job>,
    count: NonZeroUsize,
    results: &'a ExtractionArgs,
}

impl<'a> Workers<'a> {
    fn new(extractor: Extractor, count: NonZeroUsize, results: &'a ExtractionArgs) -> Self {
        let (jobs, queue) = sync_channel::<Job>(count.get() * AHEAD);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..count.get() {
            let (queue, extractor) = (Arc::clone(&queue), extractor.clone());
            thread::spawn(move || {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((text, done)) = next() {
                    // The receiver is gone if the run has ended.
                    let _ = done.send(extractor.extract(&text));
                }
            });
        }
        Self {
            jobs,
            count,
            results,
        }
    }
}

impl Extracts for Workers<'_> {
    type Running = Receiver<Result<Reply, RemoteError>>;

    fn capacity(&self) -> usize {
        self.count.get() * AHEAD
    }

    fn submit(&self, text: String) -> anyhow::Result<Self::Running> {
        let (done, running) = sync_channel(1);
        self.jobs.send((text, done))?;
        Ok(running)
    }

    fn wait(&mut self, running: Self::Running, id: Option<&RawValue>) -> anyhow::Result<Answer> {
        let reply = running.recv()??;
        Ok(Answer {
            document: self.results.print_reply(&reply, id)?,
            ungrounded: reply.ungrounded,
        })
    }

    /// If the error is not about this text, it would repeat for the next ones: the lines left are for `--resume`.
    fn ends_run(&self, error: &anyhow::Error) -> bool {
        let error = error.downcast_ref::<RemoteError>();
        error.is_some_and(|error| !error.is_of_request())
    }
}
