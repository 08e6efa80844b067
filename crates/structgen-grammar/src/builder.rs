//! Builds grammars.

use hashbrown::HashTable;
use rustc_hash::FxHashSet;

use crate::keyed::keyed_hash;
use crate::passes::rebuild;
use crate::{
    Expr, ExprId, Grammar, Guide, JsonForm, LiteralSet, LiteralsTooLarge, Relation, Rule, RuleId,
};

/// Collects expressions and rules; equal expressions are stored once.
///
/// ```
/// use structgen_grammar::{Expr, GrammarBuilder, JsonForm};
///
/// let mut builder = GrammarBuilder::new();
/// let root = builder.declare("root");
/// let yes = builder.bytes("yes");
/// let no = builder.bytes("no");
/// let body = builder.choice([yes, no]);
/// builder.define(root, body);
/// let grammar = builder.finish(root, JsonForm::generate());
/// assert_eq!(grammar.to_string(), "root ::= \"yes\" | \"no\"\n");
/// ```
#[derive(Debug, Default)]
pub struct GrammarBuilder {
    exprs: Vec<Expr>,
    /// Maps an expression's hash to its id. The expression itself is stored only in `exprs`.
    ids: HashTable<(u64, ExprId)>,
    rules: Vec<Rule>,
}

impl From<Grammar> for GrammarBuilder {
    /// Continues building a grammar; its ids stay valid.
    fn from(grammar: Grammar) -> Self {
        let mut ids = HashTable::with_capacity(grammar.exprs.len());
        // Passes may leave equal expressions at two indices: the first one is found.
        for (index, expr) in grammar.exprs.iter().enumerate() {
            let hash = keyed_hash(expr);
            ids.entry(
                hash,
                |&(other, id): &(u64, ExprId)| other == hash && grammar.exprs[id.index()] == *expr,
                |&(hash, _)| hash,
            )
            .or_insert((hash, ExprId(index as u32)));
        }
        Self {
            exprs: grammar.exprs,
            ids,
            rules: grammar.rules,
        }
    }
}

impl GrammarBuilder {
    /// An empty grammar.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty grammar with room for this many expressions.
    #[must_use]
    pub fn with_capacity(exprs: usize) -> Self {
        Self {
            exprs: Vec::with_capacity(exprs),
            ids: HashTable::with_capacity(exprs),
            rules: Vec::new(),
        }
    }

    /// Adds an expression, or returns the id of an equal one.
    pub fn expr(&mut self, expr: Expr) -> ExprId {
        let Self { exprs, ids, .. } = self;
        let hash = keyed_hash(&expr);
        let is_same = |&(other, id): &(u64, ExprId)| other == hash && exprs[id.index()] == expr;
        if let Some(&(_, id)) = ids.find(hash, is_same) {
            return id;
        }
        let id = ExprId(u32::try_from(exprs.len()).unwrap_or(u32::MAX));
        exprs.push(expr);
        ids.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        id
    }

    /// The expression with this id.
    ///
    /// # Panics
    /// If the id belongs to another builder and is out of range here.
    #[must_use]
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// The number of expressions, which limits on size count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Whether there are no expressions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// The empty set: no text at all.
    pub fn never(&mut self) -> ExprId {
        self.expr(Expr::Never)
    }

    /// The bytes of a text.
    pub fn bytes(&mut self, text: impl AsRef<[u8]>) -> ExprId {
        let bytes = text.as_ref();
        self.expr(if bytes.is_empty() {
            Expr::Empty
        } else {
            Expr::Bytes(bytes.into())
        })
    }

    /// The union of these texts, up to millions of them.
    ///
    /// # Errors
    /// If they are too large for a [`LiteralSet`].
    pub fn literals(
        &mut self,
        texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<ExprId, LiteralsTooLarge> {
        let set = LiteralSet::new(texts)?;
        Ok(match set.count() {
            0 => self.never(),
            1 => {
                let text = set.iter().next().unwrap_or_default();
                self.bytes(text)
            }
            _ => self.expr(Expr::Literals(set)),
        })
    }

    /// The concatenation of the parts: flattened, and `Never` if any part is.
    pub fn sequence(&mut self, parts: impl IntoIterator<Item = ExprId>) -> ExprId {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match self.get(part) {
                Expr::Never => return part,
                Expr::Empty => {}
                Expr::Sequence(inner) => flat.extend_from_slice(inner),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            0 => self.expr(Expr::Empty),
            1 => flat[0],
            _ => self.expr(Expr::Sequence(flat.into())),
        }
    }

    /// The union of the arms: flattened, without duplicates and without arms that are `Never`.
    pub fn choice(&mut self, arms: impl IntoIterator<Item = ExprId>) -> ExprId {
        let arms = arms.into_iter();
        let mut flat = Distinct::with_capacity(arms.size_hint().0);
        for arm in arms {
            match self.get(arm) {
                Expr::Never => {}
                Expr::Choice(inner) => inner.iter().for_each(|&id| flat.add(id)),
                _ => flat.add(arm),
            }
        }
        let flat = flat.list;
        match flat.len() {
            0 => self.never(),
            1 => flat[0],
            _ => self.expr(Expr::Choice(flat.into())),
        }
    }

    /// The body, repeated `min` to `max` times.
    pub fn repeat(&mut self, body: ExprId, min: u32, max: Option<u32>) -> ExprId {
        match (self.get(body), min, max) {
            (_, _, Some(max)) if max < min => self.never(),
            (_, 0, Some(0)) | (Expr::Empty, _, _) | (Expr::Never, 0, _) => self.expr(Expr::Empty),
            (Expr::Never, _, _) | (_, 1, Some(1)) => body,
            _ => self.expr(Expr::Repeat { body, min, max }),
        }
    }

    /// The body as a capture, which names its span in the output.
    pub fn capture(&mut self, name: impl Into<Box<str>>, body: ExprId) -> ExprId {
        self.expr(Expr::Capture {
            name: name.into(),
            body,
        })
    }

    /// The body, generated as the guide requires.
    pub fn guided(&mut self, guide: Guide, body: ExprId) -> ExprId {
        self.expr(Expr::Guided { guide, body })
    }

    /// The body, whose value must come from an input.
    pub fn grounded(
        &mut self,
        pointer: impl Into<Box<str>>,
        format: Option<Box<str>>,
        body: ExprId,
    ) -> ExprId {
        match self.get(body) {
            Expr::Never => body,
            _ => self.expr(Expr::Grounded {
                pointer: pointer.into(),
                format,
                body,
            }),
        }
    }

    /// The body as a referent, which later values are compared with.
    pub fn referent(&mut self, name: impl Into<Box<str>>, body: ExprId) -> ExprId {
        match self.get(body) {
            Expr::Never => body,
            _ => self.expr(Expr::Referent {
                name: name.into(),
                body,
            }),
        }
    }

    /// The body, whose value is related to the referents written before it. `pointer` is the JSON Pointer of the
    /// keyword that requires this.
    pub fn related(
        &mut self,
        pointer: impl Into<Box<str>>,
        relation: Relation,
        referent: impl Into<Box<str>>,
        body: ExprId,
    ) -> ExprId {
        match self.get(body) {
            Expr::Never => body,
            _ => self.expr(Expr::Related {
                pointer: pointer.into(),
                relation,
                referent: referent.into(),
                body,
            }),
        }
    }

    /// The current body of a rule.
    ///
    /// # Panics
    /// If the id belongs to another builder and is out of range here.
    #[must_use]
    pub fn rule_body(&self, rule: RuleId) -> ExprId {
        self.rules[rule.index()].body
    }

    /// The name of a rule.
    ///
    /// # Panics
    /// If the id belongs to another builder and is out of range here.
    #[must_use]
    pub fn rule_name(&self, rule: RuleId) -> &str {
        &self.rules[rule.index()].name
    }

    /// Adds a rule, to be defined later: rules may refer to one another. Its name should be unique.
    pub fn declare(&mut self, name: impl Into<String>) -> RuleId {
        let id = RuleId(u32::try_from(self.rules.len()).unwrap_or(u32::MAX));
        let body = self.never();
        self.rules.push(Rule {
            name: name.into(),
            body,
        });
        id
    }

    /// Sets the body of a declared rule.
    ///
    /// # Panics
    /// If the id belongs to another builder and is out of range here.
    pub fn define(&mut self, rule: RuleId, body: ExprId) {
        self.rules[rule.index()].body = body;
    }

    /// The body of a rule; [`Expr::Never`] until it is defined.
    ///
    /// # Panics
    /// If the id belongs to another builder and is out of range here.
    #[must_use]
    pub fn body(&self, rule: RuleId) -> ExprId {
        self.rules[rule.index()].body
    }

    /// A reference to a rule.
    pub fn rule(&mut self, rule: RuleId) -> ExprId {
        self.expr(Expr::Rule(rule))
    }

    /// Embeds another grammar: adds its rules with `prefix` before their names, and returns a reference to its root.
    /// Its form is left to the caller.
    ///
    /// ```
    /// use structgen_grammar::{GrammarBuilder, JsonForm};
    ///
    /// let mut inner = GrammarBuilder::new();
    /// let root = inner.declare("root");
    /// let body = inner.bytes("yes");
    /// inner.define(root, body);
    /// let inner = inner.finish(root, JsonForm::generate());
    ///
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("root");
    /// let (open, answer) = (builder.bytes("<"), builder.embed(&inner, "answer "));
    /// let body = builder.sequence([open, answer]);
    /// builder.define(root, body);
    /// let grammar = builder.finish(root, JsonForm::generate());
    /// assert_eq!(grammar.rules()[1].name, "answer root");
    /// ```
    pub fn embed(&mut self, grammar: &Grammar, prefix: &str) -> ExprId {
        let rules: Vec<RuleId> = { grammar.rules.iter() }
            .map(|rule| self.declare(format!("{prefix}{}", rule.name)))
            .collect();
        // Children precede their parents in the arena.
        let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs.len());
        for expr in &grammar.exprs {
            let copy = match expr {
                Expr::Rule(rule) => self.rule(rules[rule.index()]),
                expr => rebuild::copy(self, expr.clone(), |id| copies[id.index()]),
            };
            copies.push(copy);
        }
        for (rule, &copy) in grammar.rules.iter().zip(&rules) {
            self.define(copy, copies[rule.body.index()]);
        }
        self.rule(rules[grammar.root.index()])
    }

    /// Finishes the grammar with root `root` and JSON written in `form`.
    #[must_use]
    pub fn finish(self, root: RuleId, form: JsonForm) -> Grammar {
        Grammar {
            exprs: self.exprs,
            rules: self.rules,
            root,
            form,
        }
    }
}

/// A list without duplicates.
struct Distinct {
    list: Vec<ExprId>,
    /// What is in the list, once that is long.
    seen: FxHashSet<ExprId>,
}

impl Distinct {
    /// Up to this number, comparing all is faster than hashing.
    const FEW: usize = 16;

    fn with_capacity(capacity: usize) -> Self {
        Self {
            list: Vec::with_capacity(capacity),
            seen: FxHashSet::default(),
        }
    }

    fn add(&mut self, id: ExprId) {
        let is_new = if self.list.len() < Self::FEW {
            !self.list.contains(&id)
        } else {
            if self.seen.is_empty() {
                self.seen.extend(&self.list);
            }
            self.seen.insert(id)
        };
        if is_new {
            self.list.push(id);
        }
    }
}
