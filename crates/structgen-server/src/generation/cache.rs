//! A cache of plans.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::plan::SharedPlan;

/// The most recently used plans of a model.
pub(crate) struct Plans {
    most: usize,
    /// Most recent first. There are so few that a linear search is fast.
    plans: Mutex<VecDeque<(PlanKey, SharedPlan)>>,
}

/// The key of a plan: a hash of everything that determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanKey([u8; 32]);

impl PlanKey {
    pub(crate) fn of(goal: &str) -> Self {
        Self(Sha256::digest(goal.as_bytes()).into())
    }
}

impl Plans {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            plans: Mutex::default(),
        }
    }

    /// Returns the plan with a key, which becomes the most recent one.
    pub(crate) fn get(&self, key: PlanKey) -> Option<SharedPlan> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let at = plans.iter().position(|(other, _)| *other == key)?;
        let found = plans.remove(at)?;
        let plan = SharedPlan::clone(&found.1);
        plans.push_front(found);
        Some(plan)
    }

    /// Adds a plan, and evicts the least recently used one if there are too many.
    pub(crate) fn put(&self, key: PlanKey, plan: &SharedPlan) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|(other, _)| *other != key);
        plans.push_front((key, SharedPlan::clone(plan)));
        plans.truncate(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::plan::{How, Plan};

    #[test]
    fn the_least_recent_plan_goes_first() {
        let plans = Plans::new(2);
        let plan = || {
            let enforced = serde_json::Value::Null;
            SharedPlan::new(Plan {
                how: How::Free,
                enforced,
            })
        };
        let [a, b, c] = ["a", "b", "c"].map(PlanKey::of);
        plans.put(a, &plan());
        plans.put(b, &plan());
        assert!(plans.get(a).is_some());
        plans.put(c, &plan());
        assert!(plans.get(b).is_none());
        assert!(plans.get(a).is_some() && plans.get(c).is_some());
    }
}
