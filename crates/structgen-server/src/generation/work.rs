//! Work on blocking threads, with limited concurrency: on prompts, and on constraints.

use std::sync::Arc;
use std::time::Instant;

use axum::http::StatusCode;
use structgen::CancelToken;
use tracing::Instrument;

use super::cache::PlanKey;
use super::plan::{Plan, SharedPlan};
use crate::error::{ApiError, Result};
use crate::models::ServedModel;
use crate::state::App;

impl App {
    /// Runs work on a prompt, with limited concurrency.
    pub(crate) async fn prepare<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.preparing).acquire_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        { task.instrument(tracing::info_span!("prepare")).await }
            .unwrap_or_else(|_| Err(ApiError::internal("the request could not be prepared")))
    }

    /// Runs work on a constraint, with limited concurrency and within the time limit, which starts once others' work is
    /// done. If the client disconnects, the work is cancelled.
    pub(crate) async fn compile<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelToken) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let limits = &self.config.limits;
        let permit = Arc::clone(&self.compiling).acquire_owned();
        let Ok(permit) = tokio::time::timeout(limits.compile_wait, permit).await else {
            let message = "too many constraints are waiting to be compiled; try again later";
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message);
            return Err(error.with_code("too_many_compilations"));
        };
        let cancel = CancelToken::with_timeout(limits.compile_time);
        let _guard = CancelOnDrop(cancel.clone());
        let started = Instant::now();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&cancel)
        });
        let made = { task.instrument(tracing::info_span!("compile")).await }
            .unwrap_or_else(|_| Err(ApiError::internal("the constraint could not be compiled")));
        self.metrics.compile_time.observe(started.elapsed());
        made.inspect_err(|error| {
            if let Some(keyword) = &error.keyword {
                self.metrics.refused_keyword(keyword);
            }
        })
    }

    /// Returns the plan with a key, compiled now or cached.
    pub(crate) async fn plan_for(
        &self,
        served: &Arc<ServedModel>,
        key: PlanKey,
        make: impl FnOnce(&CancelToken) -> Result<Plan> + Send + 'static,
    ) -> Result<SharedPlan> {
        if let Some(plan) = served.plans.get(key) {
            self.metrics.constraint_hits.add(1);
            return Ok(plan);
        }
        self.metrics.constraint_misses.add(1);
        let served = Arc::clone(served);
        self.compile(move |cancel| {
            // Another request may have compiled the same plan in the meantime.
            if let Some(plan) = served.plans.get(key) {
                return Ok(plan);
            }
            let plan = SharedPlan::new(make(cancel)?);
            served.plans.put(key, &plan);
            Ok(plan)
        })
        .await
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::ServerConfig;

    fn app(compile_time: Duration, compile_wait: Duration) -> App {
        let mut config = ServerConfig::default();
        config.limits.compilations = 1;
        (config.limits.compile_time, config.limits.compile_wait) = (compile_time, compile_wait);
        App::new(config)
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Runtime::new().unwrap().block_on(work)
    }

    #[test]
    fn time_spent_waiting_for_others_is_not_time_spent_compiling() {
        let app = Arc::new(app(Duration::from_secs(1), Duration::from_secs(60)));
        block_on(async {
            let others = Arc::clone(&app.compiling).acquire_owned().await;
            let waiting = Arc::clone(&app);
            let compiled = tokio::spawn(async move {
                let work = |cancel: &CancelToken| Ok(cancel.check().is_ok());
                waiting.compile(work).await
            });
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            drop(others);
            assert!(compiled.await.unwrap().unwrap());
        });
    }

    #[test]
    fn who_would_wait_too_long_may_try_again_later() {
        let app = app(Duration::from_secs(1), Duration::from_millis(1));
        block_on(async {
            let _others = Arc::clone(&app.compiling).acquire_owned().await;
            let refused = app.compile(|_| Ok(())).await.unwrap_err();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        });
    }

    #[test]
    fn work_for_a_client_that_leaves_is_cancelled() {
        let app = Arc::new(app(Duration::from_secs(600), Duration::from_secs(60)));
        block_on(async {
            let (begin, begun) = tokio::sync::oneshot::channel();
            let (tell, ended) = tokio::sync::oneshot::channel();
            let busy = Arc::clone(&app);
            let client = tokio::spawn(async move {
                let work = |cancel: &CancelToken| {
                    let _ = begin.send(());
                    while cancel.check().is_ok() {
                        std::thread::yield_now();
                    }
                    let _ = tell.send(());
                    Ok(())
                };
                busy.compile(work).await
            });
            begun.await.unwrap();
            client.abort();
            ended.await.unwrap();
        });
    }
}
