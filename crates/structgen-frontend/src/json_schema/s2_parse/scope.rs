//! Dynamic scope: the target of `$dynamicRef` and `$recursiveRef` depends on the path of resources that were entered.
//!
//! Only one property of that path matters: for each dynamic anchor, the outermost resource that defines it. This is a
//! scope. A schema is identified by its location and its scope, so one location is several schemas if it is reached in
//! several scopes. There are finitely many, so recursion terminates.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use structgen_grammar::keyed::KeyedMap;

use super::resolve::ResourceId;
use super::{Program, SchemaId};
use crate::json_schema::SchemaError;

/// A scope of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(u32);

impl ScopeId {
    /// No scope: the schema as read with its document. In a document without dynamic anchors it is the same as with
    /// [`ScopeId::EMPTY`]; otherwise it only records which schemas exist, and where.
    pub(crate) const UNSCOPED: Self = Self(0);
    /// The scope in which no dynamic anchor is bound.
    pub(crate) const EMPTY: Self = Self(1);
}

/// A bound name: that of a `$dynamicAnchor`, or `None` for `$recursiveAnchor`.
pub(crate) type Name<'j> = Option<&'j str>;

type Bindings<'j> = Rc<[(Name<'j>, ResourceId)]>;

/// The scopes of a [`Program`].
pub(crate) struct Scopes<'j> {
    /// Sorted by name, so that equal bindings are one scope.
    bindings: Vec<Bindings<'j>>,
    ids: KeyedMap<Bindings<'j>, ScopeId>,
    /// The scope after entering a resource.
    entered: FxHashMap<(ScopeId, ResourceId), ScopeId>,
}

impl<'j> Scopes<'j> {
    pub(crate) fn new() -> Self {
        let none: Bindings<'j> = Rc::new([]);
        Self {
            bindings: vec![Rc::clone(&none), Rc::clone(&none)],
            ids: KeyedMap::from_iter([(none, ScopeId::EMPTY)]),
            entered: FxHashMap::default(),
        }
    }

    /// The resource that the name is bound to.
    fn bound(&self, scope: ScopeId, name: Name<'_>) -> Option<ResourceId> {
        let bindings = &self.bindings[scope.0 as usize];
        let at = bindings.binary_search_by(|binding| binding.0.cmp(&name));
        at.ok().map(|at| bindings[at].1)
    }
}

impl<'j> Program<'j> {
    /// The schema when reached in a scope.
    pub(crate) fn within(&mut self, id: SchemaId, scope: ScopeId) -> SchemaId {
        let schema = self.get(id);
        let scope = self.enter(scope, schema.resource);
        if scope == ScopeId::EMPTY && !self.resources.has_dynamic_anchors(schema.resource) {
            return id;
        }
        self.read(schema.json, schema.location.clone(), schema.resource, scope)
    }

    /// The scope in which the references of a schema are resolved.
    pub(crate) fn scope_of(&self, id: SchemaId) -> ScopeId {
        match self.schema_ref(id).scope {
            ScopeId::UNSCOPED => ScopeId::EMPTY,
            scope => scope,
        }
    }

    /// The scope after entering a resource: binds those of its dynamic anchors that are not bound yet.
    pub(crate) fn enter(&mut self, scope: ScopeId, resource: ResourceId) -> ScopeId {
        let names = &self.resources.get(resource).dynamic;
        if names.is_empty() {
            return scope;
        }
        if let Some(&known) = self.scopes.entered.get(&(scope, resource)) {
            return known;
        }
        let mut bindings = self.scopes.bindings[scope.0 as usize].to_vec();
        let new = names
            .iter()
            .filter(|&&name| self.scopes.bound(scope, name).is_none());
        bindings.extend(new.map(|&name| (name, resource)));
        bindings.sort_unstable_by_key(|binding| binding.0);
        self.read_again += bindings.len() as u64;
        let bindings: Bindings<'j> = bindings.into();
        let scopes = &mut self.scopes;
        let next = ScopeId(u32::try_from(scopes.bindings.len()).unwrap_or(u32::MAX));
        let id = *scopes.ids.entry(Rc::clone(&bindings)).or_insert(next);
        if id == next {
            scopes.bindings.push(bindings);
        }
        scopes.entered.insert((scope, resource), id);
        id
    }

    /// The target of a dynamic reference whose static target is `target`: another one only if that is itself a dynamic
    /// anchor of this name.
    pub(crate) fn dynamic_target(
        &self,
        target: SchemaId,
        name: Name<'_>,
        scope: ScopeId,
    ) -> SchemaId {
        let here = self.schema_ref(target).resource;
        if self.resources.dynamic_anchor(here, name) != Some(target) {
            return target;
        }
        let outermost = self.scopes.bound(scope, name);
        let bound = outermost.and_then(|resource| self.resources.dynamic_anchor(resource, name));
        bound.unwrap_or(target)
    }

    /// The error if the schemas of a document were reached in too many scopes.
    pub(crate) fn too_many_scopes(&self, id: SchemaId) -> Option<SchemaError> {
        (self.read_again > self.most_read_again).then(|| SchemaError::Limit {
            what: "values of schemas reached in different dynamic scopes",
            limit: self.most_read_again,
            pointer: self.pointer(id).to_owned(),
        })
    }
}
