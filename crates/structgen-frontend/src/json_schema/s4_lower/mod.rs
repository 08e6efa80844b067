//! Fourth stage: from the canonical form to the grammar IR.
//!
//! Every node that something refers to becomes one rule, named after the pointers of the schemas in its conjunction.
//! What the IR cannot express is refused here, naming the keyword that asserts it.

mod arrays;
mod objects;
mod relations;
mod slots;

use rustc_hash::FxHashMap;
use structgen_grammar::keyed::keyed_hash;
use structgen_grammar::{
    ArrayShape, CharSet, Decimal, Expr, ExprId, Grammar, GrammarBuilder, NumberSet, ObjectShape,
    Regular, RuleId, Slot, StringContent, StringShape, Whitespace,
};

use crate::json_schema::s1_json::embedded::KEYWORD;
use crate::json_schema::s3_canonical::{
    Canonicalizer, NodeId, Numbers, Related, Strings, Values, few_numbers,
};
use crate::json_schema::{Effect, PartOptions, Profile, SchemaError, Source, Words};

/// The maximum number of sets of strings that are joined, and of expressions in each: the cost of a single set is
/// limited.
const MOST_JOINED: usize = 16;
const MOST_EXPRESSIONS: usize = 4_096;

/// Whether the set has few expressions and no look-around, whose number is limited too.
fn is_small_without_looks(regular: &Regular) -> bool {
    let mut open = vec![regular];
    let mut seen = 0;
    while let Some(regular) = open.pop() {
        seen += 1;
        if seen > MOST_EXPRESSIONS || matches!(regular, Regular::Look { .. }) {
            return false;
        }
        open.extend(regular.parts());
    }
    true
}

/// Lowers the node and everything below it.
pub(crate) fn lower(
    canonical: &mut Canonicalizer<'_, '_>,
    root: NodeId,
) -> Result<Grammar, SchemaError> {
    // A value and its rule for most schemas.
    let mut builder = GrammarBuilder::with_capacity(2 * canonical.reached().len());
    let mut lowering = Lowering::new(canonical, &mut builder, PartOptions::default());
    let root = lowering.document(root)?;
    let root = lowering.rule_of(root);
    let form = lowering.canonical.options.form();
    let root = lowering.with_whitespace_around(root, form.whitespace);
    Ok(builder.finish(root, form))
}

/// Lowers the node and everything below it as a part of a grammar that is being built.
pub(crate) fn lower_part(
    canonical: &mut Canonicalizer<'_, '_>,
    root: NodeId,
    part: PartOptions<'_>,
    builder: &mut GrammarBuilder,
) -> Result<ExprId, SchemaError> {
    Lowering::new(canonical, builder, part).document(root)
}

struct Lowering<'c, 'p, 'j, 'b> {
    canonical: &'c mut Canonicalizer<'p, 'j>,
    builder: &'b mut GrammarBuilder,
    part: PartOptions<'b>,
    /// The source of the strings and numbers that are being lowered, unless their own schema names one.
    source: Source,
    /// The node that is being lowered; `None` for any JSON value.
    place: Option<NodeId>,
    rules: FxHashMap<(NodeId, Source), Option<ExprId>>,
    /// The hashes of the names of rules, with the number to try next for another rule of that name. A name that only
    /// shares its hash gets a number that it could do without.
    names: FxHashMap<u64, u32>,
    pending: Vec<(NodeId, Source, RuleId)>,
    /// The rule of any JSON value, for each source.
    json_values: [Option<ExprId>; 2],
    /// Whether some values relate to others.
    has_relations: bool,
}

impl<'c, 'p, 'j, 'b> Lowering<'c, 'p, 'j, 'b> {
    fn new(
        canonical: &'c mut Canonicalizer<'p, 'j>,
        builder: &'b mut GrammarBuilder,
        part: PartOptions<'b>,
    ) -> Self {
        Self {
            source: canonical.options.source,
            place: None,
            canonical,
            builder,
            part,
            rules: FxHashMap::default(),
            names: FxHashMap::default(),
            pending: Vec::new(),
            json_values: [None; 2],
            has_relations: false,
        }
    }

    /// The values of the root, with a rule for every node below it, after relations are resolved.
    fn document(&mut self, root: NodeId) -> Result<ExprId, SchemaError> {
        let root = self.all(root)?;
        if !self.has_relations {
            return Ok(root);
        }
        let resolved = relations::resolve(self.builder, root, self.part.prefix);
        resolved.map_err(|refused| SchemaError::Unsupported {
            keyword: KEYWORD.to_owned(),
            pointer: refused.pointer.into(),
            reason: refused.reason.to_string(),
        })
    }

    /// Wraps strings or numbers in their relation, if they have one.
    fn with_relation(&mut self, values: ExprId, related: Option<&Related>) -> ExprId {
        let Some(Related {
            relation,
            to,
            origin,
        }) = related
        else {
            return values;
        };
        self.has_relations = true;
        if self.canonical.key_order() != self.canonical.options.key_order() {
            let how = "keys come in declared order: what a value relates to is written before it";
            self.canonical.note(*origin, Effect::Narrowed { how });
        }
        let program = &self.canonical.program;
        let pointer = program.keyword_pointer(origin.schema, origin.keyword);
        let referent = format!("{}{to}", self.part.prefix);
        self.builder.related(pointer, *relation, referent, values)
    }

    /// The values of the root, with a rule for every node below it.
    fn all(&mut self, root: NodeId) -> Result<ExprId, SchemaError> {
        let Some(root) = self.node(root)? else {
            let rule = self.builder.declare("false");
            return Ok(self.builder.rule(rule));
        };
        // A work list instead of recursion: nodes may nest as deep as there are definitions.
        let mut next = 0;
        while let Some(&(node, source, rule)) = self.pending.get(next) {
            next += 1;
            self.source = source;
            self.place = Some(node);
            let values = self.canonical.expand(node)?;
            let body = self.values(&values)?;
            self.builder.define(rule, body);
        }
        Ok(root)
    }

    /// A reference to the rule of a node; `None` if the node is empty.
    fn node(&mut self, id: NodeId) -> Result<Option<ExprId>, SchemaError> {
        if id == NodeId::NEVER {
            return Ok(None);
        }
        if id == NodeId::ANY {
            return Ok(Some(self.json_value()));
        }
        if let Some(&known) = self.rules.get(&(id, self.source)) {
            return Ok(known);
        }
        let expr = if self.canonical.is_empty(id)? {
            None
        } else {
            let name = self.unique_name(self.canonical.node_name(id));
            let rule = self.builder.declare(name);
            self.pending.push((id, self.source, rule));
            Some(self.builder.rule(rule))
        };
        self.rules.insert((id, self.source), expr);
        Ok(expr)
    }

    fn unique_name(&mut self, name: String) -> String {
        const LONGEST: usize = 200;
        let mut name = match self.part.prefix {
            "" => name,
            prefix => format!("{prefix}{name}"),
        };
        if name.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&end| name.is_char_boundary(end));
            name.truncate(end.unwrap_or(0));
            name.push('…');
        }
        let own = keyed_hash(&name);
        let Some(next) = self.names.get(&own).copied() else {
            self.names.insert(own, 2);
            return name;
        };
        let mut numbered = (next..).map(|number| (number, format!("{name} ({number})")));
        let unique = numbered.find(|(_, unique)| !self.names.contains_key(&keyed_hash(unique)));
        let Some((number, unique)) = unique else {
            return name;
        };
        self.names.insert(keyed_hash(&unique), 2);
        self.names.insert(own, number + 1);
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

    /// Allows whitespace before and after the whole text if the form allows any: files end with a line break.
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

    /// Any JSON value: one shared rule.
    fn json_value(&mut self) -> ExprId {
        if let Some(expr) = self.json_values[self.source as usize] {
            return expr;
        }
        let name = self.unique_name("json-value".to_owned());
        let rule = self.builder.declare(name);
        let value = self.builder.rule(rule);
        self.json_values[self.source as usize] = Some(value);
        let object = self.builder.expr(Expr::Object(Box::new(ObjectShape {
            additional: Some(Slot::of(value)),
            ..ObjectShape::default()
        })));
        let array = self.builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(value)),
            ..ArrayShape::default()
        })));
        let string = self.builder.expr(Expr::String(StringShape::default()));
        let place = self.place.take();
        let string = self.with_source(string, None, None);
        let number = self.builder.expr(Expr::Number(NumberSet::default()));
        let number = self.with_source(number, None, None);
        self.place = place;
        let Words { yes, no, null } = self.part.words;
        let words = [yes, no, null].map(|word| self.builder.bytes(word));
        let arms = [object, array, string, number].into_iter().chain(words);
        let body = self.builder.choice(arms);
        self.builder.define(rule, body);
        value
    }

    fn values(&mut self, values: &Values) -> Result<ExprId, SchemaError> {
        let mut arms: Vec<ExprId> = Vec::new();
        let inherited = self.source;
        for objects in &values.objects {
            self.source = objects.source.unwrap_or(inherited);
            arms.extend(self.objects(objects)?);
        }
        for arrays in &values.arrays {
            self.source = arrays.source.unwrap_or(inherited);
            arms.extend(self.arrays(arrays)?);
        }
        self.source = inherited;
        if !values.literals.is_empty() {
            let literals = values.literals.iter().cloned().collect();
            arms.push(self.builder.expr(Expr::String(StringShape {
                content: StringContent::Literals(literals),
                ..StringShape::default()
            })));
        }
        self.strings(&values.strings, &mut arms);
        for point in &values.points {
            let set = NumberSet {
                written_whole: self.writes_integers_whole() && point.is_integer(),
                ..NumberSet::point(point.clone())
            };
            arms.push(self.builder.expr(Expr::Number(set)));
        }
        for numbers in &values.numbers {
            arms.push(self.numbers(numbers)?);
        }
        let Words { yes, no, null } = self.part.words;
        for (there, word) in [(values.yes, yes), (values.no, no), (values.null, null)] {
            if there {
                arms.push(self.builder.bytes(word));
            }
        }
        Ok(self.builder.choice(arms))
    }

    /// Joins strings of regular sets with the same lengths into one set. As separate alternatives, each would be walked
    /// on its own for every mask.
    fn strings(&mut self, strings: &[Strings], arms: &mut Vec<ExprId>) {
        let mut joined: Vec<(StringShape, Vec<Regular>)> = Vec::new();
        for Strings {
            shape,
            source,
            format,
            related,
        } in strings
        {
            if strings.len() > 1
                && let StringContent::Regular(regular) = &shape.content
                && related.is_none()
                && source.unwrap_or(self.source) == Source::Model
                && is_small_without_looks(regular)
            {
                let lengths = |shape: &StringShape| (shape.min_length, shape.max_length);
                let known = joined.iter_mut().find(|(known, sets)| {
                    lengths(known) == lengths(shape) && sets.len() < MOST_JOINED
                });
                match known {
                    Some((_, sets)) => sets.push(regular.clone()),
                    None => joined.push((shape.clone(), vec![regular.clone()])),
                }
                continue;
            }
            let strings = self.builder.expr(Expr::String(shape.clone()));
            let strings = self.with_source(strings, *source, format.clone());
            arms.push(self.with_relation(strings, related.as_ref()));
        }
        for (mut shape, sets) in joined {
            if sets.len() > 1 {
                shape.content = StringContent::Regular(Regular::union(sets));
            }
            arms.push(self.builder.expr(Expr::String(shape)));
        }
    }

    /// `1.0` is an integer for JSON Schema, but few parsers read it as one, and nobody expects it where a 1 is listed.
    fn writes_integers_whole(&self) -> bool {
        self.canonical.options.profile != Profile::Exact
    }

    fn numbers(&mut self, numbers: &Numbers) -> Result<ExprId, SchemaError> {
        let mut set = numbers.set.clone();
        set.not_multiples_of = numbers
            .not_multiples_of
            .iter()
            .map(|(divisor, _)| divisor.clone())
            .collect();
        set.not_multiples_of.sort();
        set.not_multiples_of.dedup();
        if self.writes_integers_whole() {
            set.written_whole |= set.multiples_of.iter().any(Decimal::is_integer);
        }
        // The search for a number that is a multiple of none of some divisors is long where few are left. What is
        // grounded or related stays one set.
        let is_plain = numbers.related.is_none()
            && numbers.source.unwrap_or(self.source) == Source::Model
            && !set.not_multiples_of.is_empty();
        let few = is_plain.then(|| few_numbers(&set));
        let number = match few.flatten() {
            Some(values) => {
                let only = |value| NumberSet {
                    written_whole: set.written_whole,
                    ..NumberSet::point(value)
                };
                let values = values.into_iter().map(|value| Expr::Number(only(value)));
                let values: Vec<ExprId> = values.map(|it| self.builder.expr(it)).collect();
                self.builder.choice(values)
            }
            None => self.builder.expr(Expr::Number(set)),
        };
        let number = self.with_source(number, numbers.source, None);
        Ok(self.with_relation(number, numbers.related.as_ref()))
    }

    /// Strings or numbers of this source, or of the inherited one.
    fn with_source(
        &mut self,
        values: ExprId,
        source: Option<Source>,
        format: Option<Box<str>>,
    ) -> ExprId {
        match source.unwrap_or(self.source) {
            Source::Model => values,
            Source::Input => {
                let pointer = match self.place {
                    Some(node) => self.canonical.node_name(node),
                    None => "json-value".to_owned(),
                };
                self.builder.grounded(pointer, format, values)
            }
        }
    }
}
