//! Left recursion: procedures that call themselves before they have read anything.
//!
//! Stacks cannot be pushed without end, so such a call is not made. The procedures that begin with one another form a
//! component. Entering one of them starts the alternatives of all that begin with a text; when one is complete, those
//! that began with it continue: a left-corner parse (Rosenkrantz and Lewis, 1970), computed at run time.

use rustc_hash::FxHashSet;
use structgen_grammar::lists::Lists;

use super::{Node, NodeId, Proc, ProcId};
use crate::components::cyclic_components;

/// The left-recursive procedures of a program, and which procedures begin with which.
#[derive(Debug, Default)]
pub(crate) struct LeftRecursion {
    /// The component of each procedure that is left-recursive.
    component: Vec<Option<u32>>,
    /// The nodes at which each such procedure begins with a text, or with a procedure outside its component.
    starts: Vec<Vec<NodeId>>,
    /// The sites that begin with this procedure, by the procedure that contains them.
    sites: Vec<Vec<LeftSite>>,
    /// The procedures of each component, sorted; each of them may begin with each.
    members: Vec<Vec<ProcId>>,
    /// By procedure, see [`rank`](LeftRecursion::rank).
    ranks: Vec<u32>,
}

/// A call site that begins with a left-recursive procedure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftSite {
    /// The procedure that contains the site.
    pub(crate) within: ProcId,
    /// The calling node, a `Call` or `Repeat`.
    pub(crate) node: NodeId,
}

impl LeftRecursion {
    pub(super) fn find(nodes: &[Node], procs: &[Proc]) -> Self {
        let mut seen = FxHashSet::default();
        let firsts: Vec<Vec<NodeId>> = procs
            .iter()
            .map(|proc| first_nodes(nodes, procs, proc.entry, &mut seen))
            .collect();
        let callee = |node: NodeId| match nodes[node.index()] {
            Node::Call { proc, .. } | Node::Repeat { proc, .. } => Some(proc),
            _ => None,
        };
        let mut edges = Vec::new();
        for (proc, nodes) in (0..).zip(&firsts) {
            let callees = nodes.iter().copied().filter_map(callee);
            edges.extend(callees.map(|called| (proc, called.number())));
        }
        let (component, ranks) = cyclic_components(&Lists::new(procs.len(), &edges));
        let Some(last) = component.iter().flatten().max() else {
            return Self {
                ranks,
                ..Self::default()
            };
        };
        let mut found = Self {
            starts: vec![Vec::new(); procs.len()],
            sites: vec![Vec::new(); procs.len()],
            members: vec![Vec::new(); *last as usize + 1],
            component,
            ranks,
        };
        for (proc, nodes) in firsts.iter().enumerate() {
            let Some(own) = found.component[proc] else {
                continue;
            };
            for &node in nodes {
                match callee(node) {
                    Some(called) if found.component[called.index()] == Some(own) => {
                        found.sites[called.index()].push(LeftSite {
                            within: ProcId::new(proc),
                            node,
                        });
                    }
                    _ => found.starts[proc].push(node),
                }
            }
        }
        for (proc, own) in found.component.iter().enumerate() {
            if let Some(own) = own {
                found.members[*own as usize].push(ProcId::new(proc));
            }
        }
        found
    }

    /// Returns whether the procedure calls itself, perhaps through others, before it reads anything.
    pub(crate) fn contains(&self, proc: ProcId) -> bool {
        self.component
            .get(proc.index())
            .is_some_and(Option::is_some)
    }

    /// Returns a number greater than the rank of every procedure that this one begins with, unless that one begins with
    /// this one.
    pub(crate) fn rank(&self, proc: ProcId) -> u32 {
        self.ranks[proc.index()]
    }

    pub(crate) fn starts(&self, proc: ProcId) -> &[NodeId] {
        &self.starts[proc.index()]
    }

    pub(crate) fn sites(&self, proc: ProcId) -> &[LeftSite] {
        &self.sites[proc.index()]
    }

    /// Returns the procedures that are begun when `proc` is entered, sorted.
    pub(crate) fn reach(&self, proc: ProcId) -> &[ProcId] {
        self.component[proc.index()].map_or(&[], |own| &self.members[own as usize])
    }
}

/// Returns the nodes, except splits, that are reached from `entry` without reading anything. `seen` is a buffer.
fn first_nodes(
    nodes: &[Node],
    procs: &[Proc],
    entry: NodeId,
    seen: &mut FxHashSet<NodeId>,
) -> Vec<NodeId> {
    seen.clear();
    let mut found = Vec::new();
    let mut stack = vec![entry];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &nodes[id.index()] {
            Node::End => {}
            Node::Split(arms) => stack.extend(arms.iter().rev()),
            Node::Call { proc, next } => {
                found.push(id);
                if procs[proc.index()].nullable {
                    stack.push(*next);
                }
            }
            Node::Repeat { min, next, .. } => {
                found.push(id);
                if *min == 0 {
                    stack.push(*next);
                }
            }
            Node::Terminal { .. }
            | Node::Related { .. }
            | Node::Token { .. }
            | Node::Object { .. }
            | Node::Array { .. } => found.push(id),
        }
    }
    found
}
