//! Resolving references, within the document and the documents registered by the caller.
//!
//! A document is split into resources, one per `$id`; a reference is resolved against the base URI of the resource that
//! contains it (RFC 3986, section 5), and its fragment is a JSON Pointer (RFC 6901) or an anchor.

use std::rc::Rc;

use fluent_uri::{Uri, UriRef};
use rustc_hash::FxHashMap;
use structgen_grammar::json_pointer::unescaped;
use structgen_grammar::keyed::KeyedMap;

use super::dialect::SchemaDialect;
use super::scope::{Name, ScopeId};
use super::{Location, Program, SchemaId};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s1_json::metaschemas;
use crate::json_schema::{Draft, SchemaError};

/// A resource of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceId(u32);

/// A schema with a base URI of its own.
#[derive(Debug)]
pub(crate) struct Resource<'j> {
    /// The base URI of its references.
    pub(crate) base: Option<String>,
    /// The URI of the whole document, for messages; the main document has none.
    pub(crate) document: Option<Rc<str>>,
    pub(crate) root: &'j Json<'j>,
    pub(crate) dialect: SchemaDialect,
    /// The resource of the whole document.
    pub(crate) origin: Option<ResourceId>,
    /// The names of its dynamic anchors.
    pub(crate) dynamic: Vec<Name<'j>>,
    /// For the resource of a document: whether it contains dynamic anchors.
    has_dynamic_anchors: bool,
}

impl<'j> Resource<'j> {
    pub(crate) fn new(
        base: Option<String>,
        document: Option<Rc<str>>,
        root: &'j Json<'j>,
        dialect: SchemaDialect,
    ) -> Self {
        Self {
            base,
            document,
            root,
            dialect,
            origin: None,
            dynamic: Vec::new(),
            has_dynamic_anchors: false,
        }
    }
}

/// Returns a registered document: its URI as registered, and its JSON.
pub(crate) type Library<'j> =
    dyn Fn(usize) -> Result<Option<(&'j str, &'j Json<'j>)>, SchemaError> + 'j;

/// The resources of a program, in which references are resolved.
pub(crate) struct Resources<'j> {
    resources: Vec<Resource<'j>>,
    by_uri: KeyedMap<String, ResourceId>,
    anchors: KeyedMap<(ResourceId, &'j str), SchemaId>,
    /// The anchors that are targets of dynamic references.
    dynamic_anchors: KeyedMap<(ResourceId, Name<'j>), SchemaId>,
    library: &'j Library<'j>,
    /// The number of documents of the library that were read.
    opened: usize,
    pub(crate) default_draft: Draft,
    /// Whether the caller or the schema decides what `format` does.
    pub(crate) formats_are_set: bool,
    /// The dialects named by `$schema` so far.
    pub(crate) dialects: KeyedMap<&'j str, Option<SchemaDialect>>,
    /// Resolved references, by the schema that contains the reference and the keyword.
    found: FxHashMap<(SchemaId, &'static str), SchemaId>,
    /// Indices of large objects, so that many references into one object are cheap.
    large: FxHashMap<usize, KeyedMap<&'j str, &'j Json<'j>>>,
}

impl<'j> Resources<'j> {
    pub(crate) fn new(library: &'j Library<'j>, default_draft: Draft) -> Self {
        Self {
            resources: Vec::new(),
            by_uri: KeyedMap::default(),
            anchors: KeyedMap::default(),
            dynamic_anchors: KeyedMap::default(),
            library,
            opened: 0,
            default_draft,
            formats_are_set: false,
            dialects: KeyedMap::default(),
            found: FxHashMap::default(),
            large: FxHashMap::default(),
        }
    }

    pub(crate) fn get(&self, id: ResourceId) -> &Resource<'j> {
        &self.resources[id.0 as usize]
    }

    pub(crate) fn set_dialect(&mut self, id: ResourceId, dialect: SchemaDialect) {
        self.resources[id.0 as usize].dialect = dialect;
    }

    /// The document that the caller registered under this URI, or that has it as the `$id` of its root.
    pub(crate) fn registered(&self, uri: &str) -> Result<Option<&'j Json<'j>>, SchemaError> {
        let plain = |uri: &str| uri.strip_suffix('#').unwrap_or(uri).to_owned();
        let uri = plain(uri);
        let mut index = 0;
        while let Some((registered, json)) = (self.library)(index)? {
            let named = matches!(json.get("$id"), Some(Json::String(id)) if plain(id) == uri);
            if named || plain(registered) == uri {
                return Ok(Some(json));
            }
            index += 1;
        }
        Ok(None)
    }

    pub(crate) fn set_anchor(&mut self, resource: ResourceId, anchor: &'j str, schema: SchemaId) {
        self.anchors.entry((resource, anchor)).or_insert(schema);
    }

    /// Registers a dynamic anchor.
    pub(crate) fn set_dynamic_anchor(
        &mut self,
        resource: ResourceId,
        name: Name<'j>,
        schema: SchemaId,
    ) {
        if self.dynamic_anchors.contains_key(&(resource, name)) {
            return;
        }
        self.dynamic_anchors.insert((resource, name), schema);
        let within = &mut self.resources[resource.0 as usize];
        within.dynamic.push(name);
        let origin = within.origin.unwrap_or(resource);
        self.resources[origin.0 as usize].has_dynamic_anchors = true;
    }

    /// The schema of a dynamic anchor.
    pub(crate) fn dynamic_anchor(&self, resource: ResourceId, name: Name<'_>) -> Option<SchemaId> {
        self.dynamic_anchors.get(&(resource, name)).copied()
    }

    /// Whether the document of the resource contains dynamic anchors.
    pub(crate) fn has_dynamic_anchors(&self, resource: ResourceId) -> bool {
        let origin = self.get(resource).origin.unwrap_or(resource);
        self.get(origin).has_dynamic_anchors
    }

    pub(crate) fn add(&mut self, resource: Resource<'j>) -> ResourceId {
        let id = ResourceId(u32::try_from(self.resources.len()).unwrap_or(u32::MAX));
        if let Some(base) = &resource.base {
            self.by_uri.entry(base.clone()).or_insert(id);
        }
        self.resources.push(resource);
        id
    }

    /// Opens the resource of an `$id` without its fragment; at the root of a document it is the document's resource.
    pub(crate) fn open(
        &mut self,
        outer: ResourceId,
        json: &'j Json<'j>,
        id: &str,
        dialect: SchemaDialect,
        is_root: bool,
    ) -> ResourceId {
        let base = join(self.get(outer).base.as_deref(), id).ok();
        if is_root {
            if let Some(base) = &base {
                self.by_uri.entry(base.clone()).or_insert(outer);
            }
            self.resources[outer.0 as usize].base = base;
            return outer;
        }
        let outer_resource = self.get(outer);
        let mut resource = Resource::new(base, outer_resource.document.clone(), json, dialect);
        resource.origin = outer_resource.origin.or(Some(outer));
        self.add(resource)
    }

    fn child(&mut self, json: &'j Json<'j>, key: &str) -> Option<&'j Json<'j>> {
        match json {
            Json::Object(entries) if entries.len() > 16 => {
                let by_key = self
                    .large
                    .entry(std::ptr::from_ref(json).addr())
                    .or_insert_with(|| {
                        entries
                            .iter()
                            .map(|(key, value)| (key.as_ref(), value))
                            .collect()
                    });
                by_key.get(key).copied()
            }
            Json::Object(_) => json.get(key),
            Json::Array(items) => {
                let canonical = key == "0" || !key.starts_with(['0', '+']);
                items.get(key.parse::<usize>().ok().filter(|_| canonical)?)
            }
            _ => None,
        }
    }
}

impl<'j> Program<'j> {
    /// Resolves the reference that is the value of `keyword` in `from`.
    pub(crate) fn resolve(
        &mut self,
        from: SchemaId,
        keyword: &'static str,
        reference: &'j str,
    ) -> Result<SchemaId, SchemaError> {
        if let Some(&found) = self.resources.found.get(&(from, keyword)) {
            return Ok(found);
        }
        let mut target = self
            .look_up(from, reference)?
            .ok_or_else(|| self.unresolved(from, keyword, reference, "there is no such schema"))?;
        let scope = self.scope_of(from);
        match keyword {
            "$recursiveRef" => target = self.dynamic_target(target, None, scope),
            "$dynamicRef" => {
                // No anchor has the name of a JSON Pointer.
                let fragment = reference.split_once('#').map(|parts| parts.1);
                let name = fragment.and_then(percent_decoded);
                if let Some(name) = name.filter(|name| !name.starts_with('/')) {
                    target = self.dynamic_target(target, Some(&name), scope);
                }
            }
            _ => {}
        }
        let found = self.within(target, scope);
        self.resources.found.insert((from, keyword), found);
        Ok(found)
    }

    fn unresolved(
        &self,
        from: SchemaId,
        keyword: &str,
        reference: &str,
        reason: &str,
    ) -> SchemaError {
        SchemaError::UnresolvedReference {
            reference: reference.to_owned(),
            pointer: self.keyword_pointer(from, keyword),
            reason: reason.to_owned(),
        }
    }

    fn look_up(
        &mut self,
        from: SchemaId,
        reference: &'j str,
    ) -> Result<Option<SchemaId>, SchemaError> {
        let here = self.schema_ref(from).resource;
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let Some(resource) = self.find_resource(here, path)? else {
            return Ok(None);
        };
        let Some(fragment) = percent_decoded(fragment) else {
            return Ok(None);
        };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let anchor = self.resources.anchors.get(&(resource, fragment.as_str()));
            return Ok(anchor.copied());
        }
        let mut json = self.resources.get(resource).root;
        for token in fragment.split('/').skip(1) {
            match self.resources.child(json, &unescaped(token)) {
                Some(child) => json = child,
                None => return Ok(None),
            }
        }
        Ok(Some(self.read_at(json, resource, &fragment)))
    }

    /// The schema at a JSON Pointer into the document of `root`. The keywords of the document do not apply to it.
    ///
    /// # Errors
    /// If the pointer leads nowhere, naming the last value on its path.
    pub(crate) fn at_pointer(
        &mut self,
        root: SchemaId,
        pointer: &str,
    ) -> Result<SchemaId, SchemaError> {
        let resource = self.schema_ref(root).resource;
        let mut json = self.resources.get(resource).root;
        let mut passed = String::from("#");
        let nowhere = |reason| SchemaError::UnresolvedReference {
            reference: format!("#{pointer}"),
            pointer: "#".to_owned(),
            reason,
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(nowhere("a JSON Pointer begins with `/`".to_owned()));
        }
        for token in pointer.split('/').skip(1) {
            let key = unescaped(token);
            let Some(child) = self.resources.child(json, &key) else {
                return Err(nowhere(format!("`{passed}` {}", lacks(json, &key))));
            };
            json = child;
            passed.push('/');
            passed.push_str(token);
        }
        Ok(self.read_at(json, resource, pointer))
    }

    /// The schema that a pointer leads to. Where no keyword makes the value a schema, the pointer does.
    fn read_at(&mut self, json: &'j Json<'j>, resource: ResourceId, pointer: &str) -> SchemaId {
        if let Some(id) = self.at_address(json, ScopeId::UNSCOPED) {
            return id;
        }
        let document = self.resources.get(resource).document.as_deref();
        let location = format!("{}#{pointer}", document.unwrap_or_default());
        let location = Location::At(location.into());
        self.read(json, location, resource, ScopeId::UNSCOPED)
    }

    fn find_resource(
        &mut self,
        here: ResourceId,
        path: &str,
    ) -> Result<Option<ResourceId>, SchemaError> {
        if path.is_empty() {
            return Ok(Some(here));
        }
        let Ok(uri) = join(self.resources.get(here).base.as_deref(), path) else {
            return Ok(None);
        };
        loop {
            if let Some(&found) = self.resources.by_uri.get(&uri) {
                return Ok(Some(found));
            }
            // Documents are read when a reference needs one, in order until it is found, because an `$id` may be
            // anywhere in them.
            let Some((registered, json)) = (self.resources.library)(self.resources.opened)? else {
                // The caller's documents take precedence over the built-in ones.
                let Some((uri, json)) = metaschemas::find(&uri) else {
                    return Ok(None);
                };
                let draft = self.resources.default_draft;
                self.read_document(json, Some(uri), draft);
                return Ok(self.resources.by_uri.get(uri).copied());
            };
            self.resources.opened += 1;
            let draft = self.resources.default_draft;
            let registered = registered.strip_suffix('#').unwrap_or(registered);
            self.read_document(json, Some(registered), draft);
        }
    }
}

/// The reason why a value has no child with this key.
fn lacks(json: &Json<'_>, key: &str) -> String {
    const MOST_KEYS: usize = 10;
    match json {
        Json::Object(entries) => {
            let mut keys: Vec<&str> = json.keys().take(MOST_KEYS).collect();
            if entries.len() > MOST_KEYS {
                keys.push("…");
            }
            format!("has no member `{key}`; its members: {}", keys.join(", "))
        }
        Json::Array(items) => format!("has no item `{key}`; it has {} items", items.len()),
        _ => "has no members".to_owned(),
    }
}

/// Resolves a reference without a fragment against a base.
fn join(base: Option<&str>, path: &str) -> Result<String, ()> {
    let reference = UriRef::parse(path).map_err(|_| ())?;
    let Some(base) = base else {
        // Without a base, a reference can still name a document that is registered under the same text.
        return Ok(path.to_owned());
    };
    match Uri::parse(base) {
        Ok(base) => {
            let joined = reference.resolve_against(&base).map_err(|_| ())?;
            Ok(joined.into_string())
        }
        Err(_) => Ok(path.to_owned()),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}
