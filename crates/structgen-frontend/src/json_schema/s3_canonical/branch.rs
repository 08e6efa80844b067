//! Decomposing schemas: a branch is a conjunction of atoms, with disjunctions that are not multiplied out yet.

use std::rc::Rc;

use super::Canonicalizer;
use super::literals::Literals;
use crate::json_schema::formats;
use crate::json_schema::keywords::{none_of, rust_strings};
use crate::json_schema::s2_parse::atoms::{
    Atom, Literal, Origin, RelatedTo, Subject, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Arm, Form, Keyword, Part, SchemaId};
use crate::json_schema::{Profile, SchemaError, Source};

/// A conjunction that is being expanded to sets of values.
#[derive(Clone, Debug)]
pub(super) struct Branch<'j> {
    /// The remaining types; without any, the branch is empty.
    pub(super) types: TypeSet,
    /// In the order of the schema, from which the order of keys derives.
    pub(super) atoms: Vec<TracedAtom<'j>>,
    /// The remaining disjunctions, in order.
    pub(super) choices: std::collections::VecDeque<Choice<'j>>,
    /// The number of atoms that were checked for contradictions.
    pub(super) looked_at: usize,
    /// The literals added so far: `S and S` is `S`.
    seen: Literals,
}

/// A disjunction of conjunctions.
#[derive(Clone, Debug)]
pub(super) struct Choice<'j> {
    pub(super) arms: Rc<[Arm<'j>]>,
    /// For `oneOf`: by arm, the schemas that may overlap with the arm's and must not hold.
    pub(super) overlaps: Rc<[Vec<SchemaId>]>,
    pub(super) path: Path,
}

/// The enclosing literals, innermost first: a literal within itself has no meaning.
pub(super) type Path = Option<Rc<Link>>;

/// A link of a [`Path`].
#[derive(Debug)]
pub(super) struct Link {
    literal: Literal,
    outer: Path,
    depth: u32,
}

/// The maximum nesting of schemas that apply to the same value.
const MAX_NESTING: u32 = 256;

impl<'j> Branch<'j> {
    pub(super) fn new() -> Self {
        Self {
            types: TypeSet::ALL,
            atoms: Vec::new(),
            choices: std::collections::VecDeque::new(),
            looked_at: 0,
            seen: Literals::default(),
        }
    }

    /// Whether the conjunction contains the literal.
    pub(super) fn has(&self, literal: Literal) -> bool {
        self.seen.contains(literal)
    }

    /// The source of strings and numbers, if the schema names one.
    pub(super) fn source(&self) -> Option<Source> {
        let sources = self.atoms.iter().filter_map(|traced| match traced.atom {
            Atom::Source(source) => Some(source),
            _ => None,
        });
        // Of several sources, the stricter one.
        sources.max_by_key(|source| *source == Source::Input)
    }

    /// How strings and numbers relate to other values, if the schema names a relation.
    pub(super) fn relations(&self) -> impl Iterator<Item = (RelatedTo<'j>, Origin)> + '_ {
        self.atoms.iter().filter_map(|traced| match traced.atom {
            Atom::Related(related) => Some((related, traced.origin)),
            _ => None,
        })
    }

    /// The cost of copying the branch.
    pub(super) fn size(&self) -> usize {
        1 + self.atoms.len() + self.seen.size() + self.choices.len()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.types.is_empty()
    }

    fn kill(&mut self) {
        self.types = TypeSet::NONE;
    }

    fn push(&mut self, traced: TracedAtom<'j>) {
        match traced.atom {
            Atom::Types(types) => self.types = self.types.intersection(types),
            _ => self.atoms.push(traced),
        }
    }
}

impl<'j> Canonicalizer<'_, 'j> {
    /// Adds an arm of a choice.
    pub(super) fn add_arm(
        &mut self,
        branch: &mut Branch<'j>,
        choice: &Choice<'j>,
        arm: &Arm<'j>,
    ) -> Result<(), SchemaError> {
        self.add_parts(branch, arm, &choice.path)
    }

    fn add_parts(
        &mut self,
        branch: &mut Branch<'j>,
        parts: &[Part<'j>],
        path: &Path,
    ) -> Result<(), SchemaError> {
        for part in parts {
            if branch.is_dead() {
                break;
            }
            self.step(1)?;
            self.add_part(branch, part, path)?;
        }
        Ok(())
    }

    fn add_part(
        &mut self,
        branch: &mut Branch<'j>,
        part: &Part<'j>,
        path: &Path,
    ) -> Result<(), SchemaError> {
        match part {
            Part::Literal(literal) => self.add_literal(branch, *literal, path),
            Part::Atom(traced) => {
                branch.push(traced.clone());
                Ok(())
            }
            Part::Choice(arms) => self.add_choice(branch, arms.clone(), path),
            Part::OneOf { schemas, origin } => self.add_one_of(branch, schemas, *origin, path),
            &Part::Implication {
                key,
                schema,
                origin,
            } => {
                if self.add_implication(branch, key, schema, origin)? {
                    return Ok(());
                }
                let mut with = Part::about(TypeSet::OBJECT, [Atom::Present(key)], origin);
                with.push(Part::schema(schema));
                let without = vec![Part::atom(Atom::Forbidden(key), origin)];
                self.add_choice(branch, vec![with, without], path)
            }
        }
    }

    /// Adds that exactly one of the schemas holds, as a disjunction whose arms exclude the schemas that overlap with
    /// them.
    fn add_one_of(
        &mut self,
        branch: &mut Branch<'j>,
        schemas: &[SchemaId],
        origin: Origin,
        path: &Path,
    ) -> Result<(), SchemaError> {
        if let [only] = schemas {
            return self.add_literal(branch, Literal::schema(*only), path);
        }
        let overlaps = self.overlaps(schemas)?;
        let arms = schemas.iter().map(|&id| vec![Part::schema(id)]);
        let mut arms: Vec<Arm<'j>> = arms.collect();
        if self.options.profile == Profile::Rust {
            self.add_rust_tags(schemas, &mut arms, origin)?;
        }
        branch.choices.push_back(Choice {
            arms: arms.into(),
            overlaps: overlaps.into(),
            path: path.clone(),
        });
        Ok(())
    }

    /// Adds a literal to the conjunction.
    pub(super) fn add_literal(
        &mut self,
        branch: &mut Branch<'j>,
        literal: Literal,
        path: &Path,
    ) -> Result<(), SchemaError> {
        if branch.is_dead() {
            return Ok(());
        }
        self.depth += 1;
        let added = self.add_literal_now(branch, literal, path);
        self.depth -= 1;
        added
    }

    fn add_literal_now(
        &mut self,
        branch: &mut Branch<'j>,
        literal: Literal,
        path: &Path,
    ) -> Result<(), SchemaError> {
        self.step(1)?;
        // A schema within itself has no meaning, so its negation within it is no contradiction.
        if let Subject::Schema(id) = literal.source {
            self.check_circle(literal, id, path)?;
        }
        if branch.has(literal.complement()) {
            branch.kill();
            return Ok(());
        }
        let id = match literal.source {
            Subject::Schema(id) => id,
            Subject::Value(id) => {
                let values = std::slice::from_ref(self.value(id));
                let origin = Origin {
                    schema: SchemaId(0),
                    keyword: "const",
                };
                if literal.negated {
                    let parts = none_of(values, origin, self);
                    return self.add_parts(branch, &parts, path);
                }
                let atom = Atom::Values(values);
                branch.push(TracedAtom { atom, origin });
                return Ok(());
            }
        };
        if !branch.seen.insert(literal) {
            return Ok(());
        }
        self.reach(id);
        let inner = Some(Rc::new(Link {
            literal,
            depth: path.as_ref().map_or(0, |link| link.depth + 1),
            outer: path.clone(),
        }));
        let schema = self.program.get(id);
        if literal.negated {
            let arms = self.negated(id, &schema)?;
            return self.add_choice(branch, arms, &inner);
        }
        if self.options.profile == Profile::Rust
            && let Some(keyword) = self.bytes_without_zero(&schema)
        {
            let origin = Origin {
                schema: id,
                keyword,
            };
            let part = rust_strings(origin, self, || Some(formats::rust::without_zero()));
            if let Some(part) = part {
                self.add_part(branch, &part, path)?;
            }
        }
        for keyword in &schema.keywords {
            if branch.is_dead() {
                break;
            }
            self.step(1)?;
            self.add_keyword(branch, id, keyword, &inner)?;
        }
        Ok(())
    }

    fn check_circle(&self, literal: Literal, id: SchemaId, path: &Path) -> Result<(), SchemaError> {
        if path.as_ref().is_some_and(|link| link.depth >= MAX_NESTING) {
            return Err(SchemaError::Limit {
                what: "schemas applied to one value inside one another",
                limit: u64::from(MAX_NESTING),
                pointer: self.program.pointer(id).to_owned(),
            });
        }
        let mut at = path;
        while let Some(link) = at {
            if link.literal.source == literal.source {
                let pointer = self.program.pointer(id).to_owned();
                return Err(SchemaError::CircularReference { pointer });
            }
            at = &link.outer;
        }
        Ok(())
    }

    fn add_choice(
        &mut self,
        branch: &mut Branch<'j>,
        arms: Vec<Arm<'j>>,
        path: &Path,
    ) -> Result<(), SchemaError> {
        match arms.as_slice() {
            [] => branch.kill(),
            [only] => self.add_parts(branch, only, path)?,
            _ if arms.iter().any(Vec::is_empty) => {}
            _ if self.add_clause(branch, &arms)? => {}
            _ => branch.choices.push_back(Choice {
                arms: arms.into(),
                overlaps: Rc::new([]),
                path: path.clone(),
            }),
        }
        Ok(())
    }

    fn add_keyword(
        &mut self,
        branch: &mut Branch<'j>,
        id: SchemaId,
        keyword: &Keyword<'j>,
        path: &Path,
    ) -> Result<(), SchemaError> {
        let origin = Origin {
            schema: id,
            keyword: keyword.name,
        };
        if self.ignored.contains(&origin) {
            return Ok(());
        }
        if let Form::Atom(atom) = keyword.assertion.form() {
            branch.push(TracedAtom { atom, origin });
            return Ok(());
        }
        for part in keyword.assertion.affirmed(origin, branch.types, self)? {
            self.add_part(branch, &part, path)?;
        }
        Ok(())
    }

    /// For each of the schemas, the others that are not proven to be disjoint from it.
    fn overlaps(&mut self, schemas: &[SchemaId]) -> Result<Vec<Vec<SchemaId>>, SchemaError> {
        let mut overlaps = vec![Vec::new(); schemas.len()];
        for (i, &one) in schemas.iter().enumerate() {
            for (j, &other) in schemas.iter().enumerate().skip(i + 1) {
                self.step(1)?;
                if !self.are_disjoint(one, other)? {
                    overlaps[i].push(other);
                    overlaps[j].push(one);
                }
            }
        }
        Ok(overlaps)
    }
}
