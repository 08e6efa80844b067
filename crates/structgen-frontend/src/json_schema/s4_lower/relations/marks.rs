//! Marks referents. Rules on the path to a referent are copied if they are also used elsewhere, where their values are
//! not referents.

use rustc_hash::FxHashMap;
use structgen_grammar::{ArrayShape, Expr, ExprId, GrammarBuilder, Slot};

/// Marks the values at the end of a path as referents.
pub(super) struct Marks<'b> {
    pub(super) builder: &'b mut GrammarBuilder,
    pub(super) references: FxHashMap<ExprId, u32>,
    pub(super) name: &'b str,
    /// The results, by expression and length of the remaining path.
    pub(super) marked: FxHashMap<(ExprId, usize), Option<ExprId>>,
}

impl Marks<'_> {
    /// The expression with its referents marked; `None` if it has none. `is_own`: nothing else refers to it.
    pub(super) fn mark(
        &mut self,
        id: ExprId,
        path: &[&str],
        is_document: bool,
        is_own: bool,
    ) -> Option<ExprId> {
        let place = (id, path.len());
        if let Some(&known) = self.marked.get(&place) {
            return known;
        }
        // If it refers to itself without advancing on the path, there is nothing more to mark.
        self.marked.insert(place, None);
        let is_own = is_own && self.references.get(&id).is_none_or(|&count| count <= 1);
        let marked = self.mark_now(id, path, is_document, is_own);
        self.marked.insert(place, marked);
        marked
    }

    fn mark_now(
        &mut self,
        id: ExprId,
        path: &[&str],
        is_document: bool,
        is_own: bool,
    ) -> Option<ExprId> {
        match (self.builder.get(id).clone(), path) {
            (Expr::Rule(rule), _) => {
                let body = self.builder.rule_body(rule);
                let body = self.mark(body, path, is_document, is_own)?;
                if is_own {
                    self.builder.define(rule, body);
                    return Some(id);
                }
                let name = format!("{} ({})", self.builder.rule_name(rule), self.name);
                let copy = self.builder.declare(name);
                self.builder.define(copy, body);
                Some(self.builder.rule(copy))
            }
            (Expr::Choice(arms), _) => {
                let marked: Vec<Option<ExprId>> = { arms.iter() }
                    .map(|&arm| self.mark(arm, path, is_document, is_own))
                    .collect();
                marked.iter().any(Option::is_some).then(|| {
                    let arms = arms.iter().zip(marked);
                    let arms: Vec<ExprId> = arms.map(|(&arm, it)| it.unwrap_or(arm)).collect();
                    self.builder.choice(arms)
                })
            }
            (Expr::Object(mut shape), [key, rest @ ..]) => {
                let property = { shape.properties.iter_mut() }.find(|it| *it.key == **key)?;
                property.value = self.mark_slot(&property.value, rest, is_own)?;
                if is_document {
                    shape.referents.push(self.name.into());
                }
                Some(self.builder.expr(Expr::Object(shape)))
            }
            (Expr::Array(mut shape), [segment, rest @ ..]) => {
                let ArrayShape {
                    prefix, rest: all, ..
                } = &mut *shape;
                let mut is_marked = false;
                let listed = prefix.len();
                for (at, slot) in prefix.iter_mut().chain(all).enumerate() {
                    let is_named = at < listed && *segment == at.to_string();
                    if (*segment == "*" || is_named)
                        && let Some(marked) = self.mark_slot(slot, rest, is_own)
                    {
                        (*slot, is_marked) = (marked, true);
                    }
                }
                is_marked.then(|| self.builder.expr(Expr::Array(shape)))
            }
            (
                Expr::String(_)
                | Expr::Number(_)
                | Expr::Grounded { .. }
                | Expr::Related { .. }
                | Expr::Referent { .. },
                [],
            ) => Some(self.builder.referent(self.name, id)),
            _ => None,
        }
    }

    fn mark_slot(&mut self, slot: &Slot, path: &[&str], is_own: bool) -> Option<Slot> {
        let mut is_marked = false;
        let slot = slot
            .clone()
            .map(|value| match self.mark(value, path, false, is_own) {
                Some(marked) => {
                    is_marked = true;
                    marked
                }
                None => value,
            });
        is_marked.then_some(slot)
    }
}
