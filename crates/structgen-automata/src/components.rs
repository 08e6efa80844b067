//! Finds the vertices of a graph that lie on cycles.

use structgen_grammar::lists::Lists;

/// Returns the component of each vertex that lies on a cycle, and for every vertex a rank that is lower where edges
/// lead to another component. Tarjan's algorithm (1972), with an explicit stack.
pub(crate) fn cyclic_components(edges: &Lists) -> (Vec<Option<u32>>, Vec<u32>) {
    const UNSEEN: u32 = u32::MAX;
    let n = edges.len();
    let mut index = vec![UNSEEN; n];
    let mut low = vec![0_u32; n];
    let mut on_stack = vec![false; n];
    let mut stack = Vec::new();
    let mut component = vec![None; n];
    let mut ranks = vec![0; n];
    let mut components = 0;
    let mut next_index = 0;
    let mut work = Vec::new();
    for root in 0..n {
        if index[root] != UNSEEN {
            continue;
        }
        work.push((root, 0_usize));
        while let Some(&mut (v, ref mut edge)) = work.last_mut() {
            if *edge == 0 {
                index[v] = next_index;
                low[v] = next_index;
                next_index += 1;
                stack.push(v);
                on_stack[v] = true;
            }
            if let Some(&w) = edges.of(v).get(*edge) {
                *edge += 1;
                let w = w as usize;
                if index[w] == UNSEEN {
                    work.push((w, 0));
                } else if on_stack[w] {
                    low[v] = low[v].min(index[w]);
                }
                // A vertex without edges also counts as begun.
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[v]);
            }
            if low[v] == index[v] {
                let from = stack.iter().rposition(|&w| w == v).unwrap_or(0);
                let members = stack.split_off(from);
                let is_cycle = members.len() > 1 || edges.of(v).contains(&(v as u32));
                for w in members {
                    on_stack[w] = false;
                    component[w] = is_cycle.then_some(components);
                    ranks[w] = components;
                }
                components += 1;
            }
        }
    }
    (component, ranks)
}
