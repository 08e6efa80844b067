//! Fourth stage: from the canonical form to the grammar IR.
//!
//! Every node that something refers to becomes one rule, named after the pointers of what it is the conjunction of. What the
//! IR has no shape for is refused here, by the keyword that asked for it.

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{
    ArrayShape, CharSet, Decimal, Expr, ExprId, Grammar, GrammarBuilder, NumberSet, ObjectShape,
    Property, Regular, RuleId, StringContent, StringShape, Whitespace,
};

use super::canonical::atoms::Place;
use super::canonical::{Arrays, Canonicalizer, NodeId, Numbers, Objects, Values};
use super::{Effect, KeyOrder, Profile, SchemaError};

/// Lowers the node and everything below it.
pub(crate) fn lower(
    canonical: &mut Canonicalizer<'_, '_>,
    root: NodeId,
) -> Result<Grammar, SchemaError> {
    let mut lowering = Lowering {
        canonical,
        builder: GrammarBuilder::new(),
        rules: FxHashMap::default(),
        names: FxHashSet::default(),
        pending: Vec::new(),
        json_value: None,
    };
    let root = match lowering.node(root)? {
        Some(expr) => lowering.rule_of(expr),
        None => {
            let rule = lowering.builder.declare("false");
            let never = lowering.builder.never();
            lowering.builder.define(rule, never);
            rule
        }
    };
    // A stack and not recursion: nodes may be nested as deep as definitions are many.
    let mut next = 0;
    while let Some(&(node, rule)) = lowering.pending.get(next) {
        next += 1;
        let values = lowering.canonical.expand(node)?;
        let body = lowering.values(&values)?;
        lowering.builder.define(rule, body);
    }
    let form = lowering.canonical.options.form();
    let root = lowering.with_whitespace_around(root, form.whitespace);
    Ok(lowering.builder.finish(root, form))
}

struct Lowering<'c, 'p, 'j> {
    canonical: &'c mut Canonicalizer<'p, 'j>,
    builder: GrammarBuilder,
    rules: FxHashMap<NodeId, Option<ExprId>>,
    names: FxHashSet<String>,
    pending: Vec<(NodeId, RuleId)>,
    json_value: Option<ExprId>,
}

impl<'j> Lowering<'_, '_, 'j> {
    /// A reference to the rule of a node; `None` where nothing fits it.
    fn node(&mut self, id: NodeId) -> Result<Option<ExprId>, SchemaError> {
        if id == NodeId::NEVER {
            return Ok(None);
        }
        if id == NodeId::ANY {
            return Ok(Some(self.json_value()));
        }
        if let Some(&known) = self.rules.get(&id) {
            return Ok(known);
        }
        let expr = if self.canonical.is_empty(id)? {
            None
        } else {
            let name = self.unique_name(self.canonical.node_name(id));
            let rule = self.builder.declare(name);
            self.pending.push((id, rule));
            Some(self.builder.rule(rule))
        };
        self.rules.insert(id, expr);
        Ok(expr)
    }

    fn unique_name(&mut self, mut name: String) -> String {
        const LONGEST: usize = 200;
        if name.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&end| name.is_char_boundary(end));
            name.truncate(end.unwrap_or(0));
            name.push('…');
        }
        let mut unique = name.clone();
        let mut number = 1;
        while !self.names.insert(unique.clone()) {
            number += 1;
            unique = format!("{name} ({number})");
        }
        unique
    }

    fn rule_of(&mut self, expr: ExprId) -> RuleId {
        if let Expr::Rule(rule) = self.builder.get(expr) {
            return *rule;
        }
        let rule = self.builder.declare("root");
        self.builder.define(rule, expr);
        rule
    }

    /// A whole text may have whitespace before and behind its value, where the form allows any: files end with a line break.
    fn with_whitespace_around(&mut self, root: RuleId, whitespace: Whitespace) -> RuleId {
        let Whitespace::Bounded { max: max @ 1.. } = whitespace else {
            return root;
        };
        let name = self.unique_name("text".to_owned());
        let text = self.builder.declare(name);
        let characters = CharSet::new([' ', '\t', '\n', '\r'].map(|c| (c, c)));
        let gap = self.builder.expr(Expr::Regular(Regular::Repeat {
            body: Regular::Chars(characters).into(),
            min: 0,
            max: Some(max.into()),
        }));
        let value = self.builder.rule(root);
        let body = self.builder.sequence([gap, value, gap]);
        self.builder.define(text, body);
        text
    }

    /// Any JSON value: one rule that everything free-form shares.
    fn json_value(&mut self) -> ExprId {
        if let Some(expr) = self.json_value {
            return expr;
        }
        let name = self.unique_name("json-value".to_owned());
        let rule = self.builder.declare(name);
        let value = self.builder.rule(rule);
        self.json_value = Some(value);
        let object = self.builder.expr(Expr::Object(Box::new(ObjectShape {
            properties: Vec::new(),
            additional: Some(value),
        })));
        let array = self.builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(value),
            ..ArrayShape::default()
        })));
        let string = self.builder.expr(Expr::String(StringShape::default()));
        let number = self.builder.expr(Expr::Number(NumberSet::default()));
        let words = ["true", "false", "null"].map(|word| self.builder.bytes(word));
        let arms = [object, array, string, number].into_iter().chain(words);
        let body = self.builder.choice(arms);
        self.builder.define(rule, body);
        value
    }

    fn values(&mut self, values: &Values<'j>) -> Result<ExprId, SchemaError> {
        let mut arms: Vec<ExprId> = Vec::new();
        for objects in &values.objects {
            if objects.others.is_empty() {
                arms.extend(self.objects(objects)?);
                continue;
            }
            // Closed by the profile, the keys are known, and with them what "some other key" can be.
            let mut closed = objects.clone();
            if let Some(place) = self.closes(objects) {
                self.narrow(place);
                closed.additional = NodeId::NEVER;
                closed
                    .properties
                    .retain(|field| field.node != NodeId::NEVER);
            }
            for objects in self.canonical.with_other_fields(closed)? {
                arms.extend(self.objects(&objects)?);
            }
        }
        for arrays in &values.arrays {
            arms.extend(self.arrays(arrays)?);
        }
        if !values.literals.is_empty() {
            let literals = values.literals.iter().cloned().collect();
            arms.push(self.builder.expr(Expr::String(StringShape {
                content: StringContent::Literals(literals),
                ..StringShape::default()
            })));
        }
        for strings in &values.strings {
            arms.push(self.builder.expr(Expr::String(strings.clone())));
        }
        for point in &values.points {
            let set = NumberSet::point(point.clone());
            arms.push(self.builder.expr(Expr::Number(set)));
        }
        for numbers in &values.numbers {
            arms.push(self.numbers(numbers)?);
        }
        for (there, word) in [
            (values.yes, "true"),
            (values.no, "false"),
            (values.null, "null"),
        ] {
            if there {
                arms.push(self.builder.bytes(word));
            }
        }
        Ok(self.builder.choice(arms))
    }

    fn numbers(&mut self, numbers: &Numbers) -> Result<ExprId, SchemaError> {
        for (_, place) in &numbers.not_multiples_of {
            self.canonical.refuse(
                *place,
                "numbers that are no multiple of something are not generated",
            )?;
        }
        let mut set = numbers.set.clone();
        // Whoever writes `1.0` for an integer means something else by it, and few parsers take it as one.
        if self.canonical.options.profile != Profile::Exact {
            set.written_whole |= set.multiples_of.iter().any(Decimal::is_integer);
        }
        Ok(self.builder.expr(Expr::Number(set)))
    }

    fn objects(&mut self, objects: &Objects<'j>) -> Result<Option<ExprId>, SchemaError> {
        if let Some((_, place)) = objects.patterns.first() {
            self.canonical
                .refuse(*place, "keys that match a pattern are not generated")?;
        }
        if let Some((_, place)) = objects.names.first() {
            self.canonical
                .refuse(*place, "keys are generated from lists of names only")?;
        }
        if let Some((_, place)) = objects.others.first() {
            self.canonical
                .refuse(*place, "that some other key does not fit is not tracked")?;
        }
        for (_, place) in objects.min.iter().chain(&objects.max) {
            self.canonical
                .refuse(*place, "the number of keys is not counted")?;
        }
        let additional = match self.closes(objects) {
            Some(place) => {
                self.narrow(place);
                None
            }
            None => self.node(objects.additional)?,
        };
        let mut properties = Vec::with_capacity(objects.properties.len());
        for field in &objects.properties {
            let value = match self.node(field.node)? {
                Some(value) => value,
                None if field.required => return Ok(None),
                // In a closed object a key that has no value is a key like any other that is not there.
                None if additional.is_none() => continue,
                None => self.builder.never(),
            };
            properties.push(Property {
                key: field.key.clone(),
                value,
                required: field.required,
            });
        }
        if self.canonical.options.key_order() == KeyOrder::RequiredFirst {
            // Stable: among themselves both kinds stay as declared.
            properties.sort_by_key(|property| !property.required);
        }
        Ok(Some(self.builder.expr(Expr::Object(Box::new(
            ObjectShape {
                properties,
                additional,
            },
        )))))
    }

    fn narrow(&mut self, place: Place) {
        let how = "keys that the schema says nothing about are left out";
        self.canonical.note(place, Effect::Narrowed { how });
    }

    /// Where the profile leaves out keys that nothing is said about: in objects that have keys of their own.
    fn closes(&self, objects: &Objects<'_>) -> Option<Place> {
        let is_narrow = self.canonical.options.profile != Profile::Exact;
        let declares = objects
            .properties
            .iter()
            .any(|field| field.node != NodeId::NEVER);
        let narrows = is_narrow
            && declares
            && !objects.stated
            && objects.names.is_empty()
            && objects.additional == NodeId::ANY;
        objects.place.filter(|_| narrows)
    }

    fn arrays(&mut self, arrays: &Arrays) -> Result<Option<ExprId>, SchemaError> {
        if let Some(place) = arrays.unique {
            self.canonical
                .refuse(place, "items are not compared with one another")?;
        }
        if let Some((_, place)) = arrays.contains.first() {
            self.canonical
                .refuse(*place, "items that fit are not counted")?;
        }
        if let Some((_, place)) = arrays.others.first() {
            self.canonical
                .refuse(*place, "that some item does not fit is not tracked")?;
        }
        let mut shape = ArrayShape {
            prefix: Vec::with_capacity(arrays.prefix.len()),
            rest: None,
            min_items: arrays.min,
            max_items: arrays.max,
        };
        let mut is_cut = false;
        for &node in &arrays.prefix {
            match self.node(node)? {
                Some(item) => shape.prefix.push(item),
                None => {
                    is_cut = true;
                    break;
                }
            }
        }
        if !is_cut {
            shape.rest = self.node(arrays.rest)?;
        }
        if shape.rest.is_none() {
            let listed = u32::try_from(shape.prefix.len()).unwrap_or(u32::MAX);
            shape.max_items = Some(shape.max_items.map_or(listed, |max| max.min(listed)));
        }
        if shape.max_items.is_some_and(|max| max < shape.min_items) {
            return Ok(None);
        }
        Ok(Some(self.builder.expr(Expr::Array(Box::new(shape)))))
    }
}
