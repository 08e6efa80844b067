//! Steps that read nothing: entering nodes, and resuming after what is complete.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::sets::Place;
use super::{Call, Element, Frame, SetId, StepError};
use crate::LimitExceeded;
use crate::json::{CLOSE, Punctuation};
use crate::program::{Node, NodeId, ProcId, Program};

/// A list of jobs instead of recursion, since grammars nest without limit.
#[derive(Default)]
struct Jobs {
    todo: Vec<Job>,
    seen: FxHashSet<Job>,
    /// The callers of procedures that are not entered yet. Ordered by rank, so that callers come before what they begin
    /// with.
    calls: BTreeMap<(Reverse<u32>, ProcId), Vec<SetId>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Job {
    /// Enters the node. `fresh` means that nothing was read since its procedure was entered; whether the procedure may
    /// be empty is decided by its caller.
    Enter {
        node: NodeId,
        below: SetId,
        fresh: bool,
    },
    /// Like `Enter`, but does not continue after a call that may be empty, since the caller has done so.
    EnterOnly { node: NodeId, below: SetId },
    /// Resumes the frames on top of the set.
    Resume(SetId),
}

impl Jobs {
    fn add(&mut self, job: Job) {
        if self.seen.insert(job) {
            self.todo.push(job);
        }
    }

    /// Calls a procedure; the set waits for its end.
    fn call(&mut self, program: &Program, proc: ProcId, below: SetId) {
        let rank = Reverse(program.left_recursion.rank(proc));
        self.calls.entry((rank, proc)).or_default().push(below);
    }
}

/// Returns the error for too many alternatives side by side.
pub(super) fn too_many_threads(limit: usize) -> LimitExceeded {
    LimitExceeded {
        what: "alternatives side by side",
        limit: limit as u64,
    }
}

impl Call<'_> {
    pub(super) fn make_start(&self) -> Result<SetId, LimitExceeded> {
        let bottom = Element {
            frame: Frame::ACCEPT,
            below: SetId::DEAD,
        };
        let below = self.intern(vec![bottom])?;
        let root = self.program.proc(self.program.root).clone();
        let mut found = Vec::new();
        let mut jobs = Jobs::default();
        jobs.call(&self.program, self.program.root, below);
        self.run(jobs, &mut found).map_err(StepError::limit)?;
        if root.nullable {
            found.push(bottom);
        }
        let start = self.intern(found)?;
        if start == SetId::DEAD {
            return Err(LimitExceeded {
                what: "nested arrays and objects",
                limit: self.program.form.max_depth.into(),
            });
        }
        Ok(start)
    }

    /// Creates the start of what begins at the node.
    pub(super) fn make_start_at(&self, node: NodeId) -> Result<SetId, StepError> {
        let bottom = Element {
            frame: Frame::ACCEPT,
            below: SetId::DEAD,
        };
        let below = self.intern(vec![bottom])?;
        self.value(node, below)
    }

    pub(super) fn intern(&self, elements: Vec<Element>) -> Result<SetId, LimitExceeded> {
        let limit = self.program.limits.threads;
        self.sets.intern(elements, limit, &self.work)
    }

    /// Enters a node.
    pub(super) fn enter_into(
        &self,
        node: NodeId,
        below: SetId,
        fresh: bool,
        found: &mut Vec<Element>,
    ) -> Result<(), StepError> {
        let mut jobs = Jobs::default();
        jobs.add(Job::Enter { node, below, fresh });
        self.run(jobs, found)
    }

    /// Returns the state once the frame above the set is complete.
    fn resume(&self, set: SetId) -> Result<SetId, StepError> {
        let key = u64::from(self.written.get().number()) << 32 | u64::from(set.0);
        if let Some(known) = self.resumed.get(key) {
            return Ok(SetId(known as u32));
        }
        let mut jobs = Jobs::default();
        jobs.add(Job::Resume(set));
        let mut found = Vec::new();
        self.run(jobs, &mut found)?;
        let resumed = self.intern(found)?;
        self.resumed.insert(key, resumed.0.into());
        Ok(resumed)
    }

    fn run(&self, mut jobs: Jobs, found: &mut Vec<Element>) -> Result<(), StepError> {
        let limit = self.program.limits.threads;
        loop {
            let Some(job) = jobs.todo.pop() else {
                let Some(((_, proc), callers)) = jobs.calls.pop_first() else {
                    return Ok(());
                };
                // There are no further callers at this position, so the procedure is entered once, whatever the number
                // of ways.
                let below = self.set_of_all(callers)?;
                self.begin(proc, below, &mut jobs)?;
                continue;
            };
            self.work.spend(1, self.program.limits.work)?;
            // Checked before terminals are created for all of them; a few may be equal.
            if found.len() > limit.saturating_mul(2) {
                return Err(StepError::Limit(too_many_threads(limit)));
            }
            match job {
                Job::Enter { node, below, fresh } => {
                    match *self.program.node(node) {
                        Node::Call { proc, next } if self.program.proc(proc).nullable => {
                            jobs.add(Job::Enter {
                                node: next,
                                below,
                                fresh,
                            });
                        }
                        Node::Repeat { min: 0, next, .. } => {
                            jobs.add(Job::Enter {
                                node: next,
                                below,
                                fresh,
                            });
                        }
                        _ => {}
                    }
                    self.enter(node, below, fresh, &mut jobs, found)?;
                }
                Job::EnterOnly { node, below } => {
                    self.enter(node, below, true, &mut jobs, found)?;
                }
                Job::Resume(set) => {
                    let elements = self.sets.elements(set);
                    self.work
                        .spend(elements.len() as u64, self.program.limits.work)?;
                    for &Element { frame, below } in elements {
                        self.resume_frame(frame, below, &mut jobs, found)?;
                    }
                }
            }
        }
    }

    /// Returns the union of these sets, which wait.
    fn set_of_all(&self, mut sets: Vec<SetId>) -> Result<SetId, LimitExceeded> {
        sets.sort_unstable();
        sets.dedup();
        if let [set] = sets[..] {
            return Ok(set);
        }
        let all = sets.iter().flat_map(|&set| self.sets.elements(set));
        let all = all.copied().collect();
        self.intern(all)
    }

    fn enter(
        &self,
        node: NodeId,
        below: SetId,
        fresh: bool,
        jobs: &mut Jobs,
        found: &mut Vec<Element>,
    ) -> Result<(), StepError> {
        if !self.fits(node, self.sets.depth(below)) {
            return Ok(());
        }
        let program = self.program.clone();
        match program.node(node) {
            Node::End if fresh => {}
            Node::End => jobs.add(Job::Resume(below)),
            Node::Split(arms) => arms
                .iter()
                .rev()
                .for_each(|&node| jobs.add(Job::Enter { node, below, fresh })),
            Node::Terminal { terminal, .. } => {
                self.terminals.ensure(*terminal)?;
                found.push(Element {
                    frame: self.reading(Place::Node(node), *terminal, 0, 0),
                    below,
                });
            }
            Node::Related { related, .. } => self.enter_related(node, *related, below, found)?,
            Node::Token { .. } => found.push(Element {
                frame: Frame {
                    written: self.written.get(),
                    ..Frame::waiting(Place::Node(node), 0, 0)
                },
                below,
            }),
            Node::Call { proc, next } => {
                let below = match program.node(*next) {
                    // Nothing follows the call, so what waits below waits for the callee.
                    Node::End if !self.program.left_recursion.contains(*proc) => below,
                    _ => self.waiting(Place::Return(*next), 0, 0, below)?,
                };
                jobs.call(&program, *proc, below);
            }
            Node::Repeat { proc, max, .. } => {
                if *max != Some(0) {
                    let below = self.waiting(Place::Repeat(node), 0, 0, below)?;
                    jobs.call(&program, *proc, below);
                }
            }
            Node::Object { object, next } => {
                let below = self.waiting_for(*next, below)?;
                let written = self.forgotten(self.written.get(), *object);
                found.extend(self.with_written(written, || self.open_object(*object, below))?);
            }
            Node::Array { array, next } => {
                let below = self.waiting_for(*next, below)?;
                found.extend(self.open_array(*array, below)?);
            }
        }
        Ok(())
    }

    /// Enters a procedure, for whose end `below` waits.
    fn begin(&self, proc: ProcId, below: SetId, jobs: &mut Jobs) -> Result<(), StepError> {
        let below = match self.program.proc(proc).guide {
            None => below,
            Some(_) => self.waiting(Place::Guided(proc), 0, 0, below)?,
        };
        if self.program.left_recursion.contains(proc) {
            self.begin_left_corner(proc, below, jobs)
        } else {
            jobs.add(Job::Enter {
                node: self.program.proc(proc).entry,
                below,
                fresh: true,
            });
            Ok(())
        }
    }

    /// Starts every procedure that the left-recursive `root` may begin with, at the nodes where they begin with a text.
    fn begin_left_corner(
        &self,
        root: ProcId,
        below: SetId,
        jobs: &mut Jobs,
    ) -> Result<(), StepError> {
        let program = self.program.clone();
        for &proc in program.left_recursion.reach(root) {
            let within = self.waiting(Place::LeftCorner(proc), 0, root.number(), below)?;
            for &node in program.left_recursion.starts(proc) {
                jobs.add(Job::EnterOnly {
                    node,
                    below: within,
                });
            }
        }
        Ok(())
    }

    pub(super) fn waiting(
        &self,
        place: Place,
        data: u32,
        extra: u32,
        below: SetId,
    ) -> Result<SetId, LimitExceeded> {
        self.sets.single(Element {
            frame: Frame::waiting(place, data, extra),
            below,
        })
    }

    /// Returns the set that waits for a value followed by the node.
    fn waiting_for(&self, next: NodeId, below: SetId) -> Result<SetId, LimitExceeded> {
        match self.program.node(next) {
            Node::End => Ok(below),
            _ => self.waiting(Place::Return(next), 0, 0, below),
        }
    }

    /// Resumes a frame after what was above it.
    fn resume_frame(
        &self,
        frame: Frame,
        below: SetId,
        jobs: &mut Jobs,
        found: &mut Vec<Element>,
    ) -> Result<(), StepError> {
        match frame.place() {
            Place::Accept => found.push(Element { frame, below }),
            Place::Guided(_) => jobs.add(Job::Resume(below)),
            Place::Return(node) => jobs.add(Job::Enter {
                node,
                below,
                fresh: false,
            }),
            Place::Repeat(node) => self.repeat_again(node, frame.data, below, jobs)?,
            Place::LeftCorner(proc) => {
                let program = self.program.clone();
                let root = ProcId::from_number(frame.extra);
                if proc == root {
                    jobs.add(Job::Resume(below));
                }
                let reach = program.left_recursion.reach(root);
                for site in program.left_recursion.sites(proc) {
                    if reach.binary_search(&site.within).is_err() {
                        continue;
                    }
                    let within =
                        self.waiting(Place::LeftCorner(site.within), 0, root.number(), below)?;
                    match program.node(site.node) {
                        Node::Call { next, .. } => jobs.add(Job::Enter {
                            node: *next,
                            below: within,
                            fresh: false,
                        }),
                        _ => self.repeat_again(site.node, 0, within, jobs)?,
                    }
                }
            }
            Place::ObjectAfter(object) => {
                found.extend(self.after_member(object, frame.data, below)?)
            }
            Place::ArrayAfter(array) => found.extend(self.after_item(array, frame.data, below)?),
            Place::Node(_)
            | Place::Referent(_)
            | Place::ObjectOpen(_)
            | Place::ObjectKey(_)
            | Place::ObjectColon(_)
            | Place::ArrayOpen(_)
            | Place::ArrayItem(_) => {
                unreachable!("these frames read, they do not wait")
            }
        }
        Ok(())
    }

    /// Continues after one more run of a repeated body.
    fn repeat_again(
        &self,
        node: NodeId,
        count: u32,
        below: SetId,
        jobs: &mut Jobs,
    ) -> Result<(), StepError> {
        let Node::Repeat {
            proc,
            min,
            max,
            next,
        } = *self.program.node(node)
        else {
            unreachable!("only repetitions count")
        };
        let count = if max.is_none() {
            (count + 1).min(min)
        } else {
            count + 1
        };
        if count >= min {
            jobs.add(Job::Enter {
                node: next,
                below,
                fresh: false,
            });
        }
        if max.is_none_or(|max| count < max) {
            let below = self.waiting(Place::Repeat(node), count, 0, below)?;
            jobs.call(&self.program, proc, below);
        }
        Ok(())
    }

    /// Returns what follows a terminal that ends in the frame's state.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    pub fn follow(&self, frame: Frame, below: SetId) -> Result<SetId, StepError> {
        let label = self.terminals.get(frame.terminal).accept(frame.state);
        self.follow_under(frame, label.unwrap_or(CLOSE), below)
    }

    /// Returns what follows a terminal that ends under the label.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    pub fn follow_under(&self, frame: Frame, label: u32, below: SetId) -> Result<SetId, StepError> {
        // The way by which a terminal reached its end does not matter.
        let key = (
            Frame {
                terminal: 0,
                state: 0,
                ..frame
            },
            label,
            below,
        );
        if let Some(&known) = self.followed.get(&key) {
            return Ok(known);
        }
        let written = self.written_after(frame, label)?;
        let after = self.with_written(written, || self.follow_uncached(frame, label, below))?;
        Ok(*self.followed.insert(key, after))
    }

    fn follow_uncached(&self, frame: Frame, label: u32, below: SetId) -> Result<SetId, StepError> {
        Ok(match frame.place() {
            Place::Node(node) | Place::Referent(node) => {
                let (Node::Terminal { next, .. } | Node::Related { next, .. }) =
                    *self.program.node(node)
                else {
                    unreachable!("only terminals are in progress")
                };
                let mut found = Vec::new();
                self.enter_into(next, below, false, &mut found)?;
                self.intern(found)?
            }
            Place::ObjectOpen(_)
            | Place::ObjectAfter(_)
            | Place::ArrayOpen(_)
            | Place::ArrayAfter(_)
                if label == CLOSE =>
            {
                self.resume(below)?
            }
            Place::ObjectOpen(object) | Place::ObjectAfter(object) => {
                let found = self.next_key(object, frame.data, below)?;
                self.intern(found.into_iter().collect())?
            }
            Place::ObjectKey(object) => {
                let register = self.take_key(object, frame, label)?;
                let colon = self.terminals.punctuation(Punctuation::Colon, 0)?;
                self.sets.single(Element {
                    frame: self.reading(Place::ObjectColon(object), colon, register, label),
                    below,
                })?
            }
            Place::ObjectColon(object) => {
                let mut found = Vec::new();
                for (register, node) in self.take_value(object, frame.data, frame.extra, below)? {
                    let below = self.waiting(Place::ObjectAfter(object), register, 0, below)?;
                    self.enter_into(node, below, true, &mut found)?;
                }
                self.intern(found)?
            }
            Place::ArrayOpen(array) | Place::ArrayAfter(array) => {
                let found = self.next_items(array, frame.data, below)?;
                self.intern(found)?
            }
            Place::ArrayItem(array) => {
                let register = self.take_item(array, frame, label)?;
                let found = self.after_item(array, register, below)?;
                self.intern(found.into_iter().collect())?
            }
            Place::Return(_)
            | Place::Repeat(_)
            | Place::LeftCorner(_)
            | Place::Guided(_)
            | Place::Accept => {
                unreachable!("frames that wait have no terminal")
            }
        })
    }

    fn value(&self, node: NodeId, below: SetId) -> Result<SetId, StepError> {
        let mut found = Vec::new();
        self.enter_into(node, below, true, &mut found)?;
        Ok(self.intern(found)?)
    }

    /// Returns whether what begins at the node can be completed within the limit on nesting.
    pub(super) fn fits(&self, node: NodeId, depth: u32) -> bool {
        let limit = self.program.form.max_depth;
        // No grammar needs more levels than it has nodes, so the common case needs no measure.
        (depth as usize + self.program.nodes.len() < limit as usize)
            || self.program.height(node).saturating_add(depth) <= limit
    }

    /// Returns the token terminal that a frame waits for, and the node after it.
    pub(super) fn token_of(&self, frame: Frame) -> Option<(u32, NodeId)> {
        match frame.place() {
            Place::Node(node) => match *self.program.node(node) {
                Node::Token { token, next } => Some((token, next)),
                _ => None,
            },
            _ => None,
        }
    }
}
