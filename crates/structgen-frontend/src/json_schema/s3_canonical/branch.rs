//! Taking schemas apart: a branch is a conjunction of atoms with disjunctions that are yet to be multiplied out.

use std::rc::Rc;

use super::Canonicalizer;
use crate::json_schema::formats;
use crate::json_schema::s2_parse::atoms::{
    Atom, KeyLiteral, Literal, Origin, Source, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Assertion, Dependent, Keyword, SchemaId};
use crate::json_schema::{Effect, FormatMode, Profile, SchemaError};

/// A conjunction on its way to a set of values.
#[derive(Clone, Debug)]
pub(super) struct Branch<'j> {
    /// The types that are left; without any, the branch is dead.
    pub(super) types: TypeSet,
    /// In the order in which the schema says them: it is what the order of keys comes from.
    pub(super) atoms: Vec<TracedAtom<'j>>,
    /// The disjunctions that are left, in order.
    pub(super) choices: std::collections::VecDeque<Choice<'j>>,
    /// How many of the atoms were looked at for contradictions.
    pub(super) looked_at: usize,
    /// What is in already: `S and S` is `S`.
    seen: Vec<Literal>,
}

/// A disjunction of conjunctions.
#[derive(Clone, Debug)]
pub(super) struct Choice<'j> {
    pub(super) arms: Rc<[Arm<'j>]>,
    /// For `oneOf`: by arm, the schemas that may fit together with the arm's, and must not.
    pub(super) overlaps: Rc<[Vec<SchemaId>]>,
    pub(super) path: Path,
}

/// A conjunction within a [`Choice`].
pub(super) type Arm<'j> = Vec<Part<'j>>;

/// A part of a conjunction.
#[derive(Clone, Debug)]
pub(super) enum Part<'j> {
    Literal(Literal),
    Atom(TracedAtom<'j>),
    /// One of these conjunctions at least.
    Choice(Vec<Arm<'j>>),
}

/// The literals that something was found in, innermost first: one that is met again inside itself has no meaning.
pub(super) type Path = Option<Rc<Link>>;

/// A link of a [`Path`].
#[derive(Debug)]
pub(super) struct Link {
    literal: Literal,
    outer: Path,
    depth: u32,
}

/// How many schemas may be applied to the same value inside one another.
const MAX_NESTING: u32 = 256;

impl<'j> Branch<'j> {
    pub(super) fn new() -> Self {
        Self {
            types: TypeSet::ALL,
            atoms: Vec::new(),
            choices: std::collections::VecDeque::new(),
            looked_at: 0,
            seen: Vec::new(),
        }
    }

    /// Whether the literal is one of the conjunction's.
    pub(super) fn has(&self, literal: Literal) -> bool {
        self.seen.contains(&literal)
    }

    /// What it costs to copy the branch.
    pub(super) fn size(&self) -> usize {
        1 + self.atoms.len() + self.seen.len() / 4 + self.choices.len()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.types.is_empty()
    }

    fn kill(&mut self) {
        self.types = TypeSet::NONE;
    }

    pub(super) fn push(&mut self, traced: TracedAtom<'j>) {
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
            match part {
                Part::Literal(literal) => self.add_literal(branch, *literal, path)?,
                Part::Atom(traced) => branch.push(traced.clone()),
                Part::Choice(arms) => self.add_choice(branch, arms.clone(), path)?,
            }
        }
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
        // A schema within itself has no meaning, and its negation within it is no contradiction.
        if let Source::Schema(id) = literal.source {
            self.check_circle(literal, id, path)?;
        }
        if branch.seen.contains(&literal.complement()) {
            branch.kill();
            return Ok(());
        }
        let id = match literal.source {
            Source::Schema(id) => id,
            Source::Value(id) => {
                let values = std::slice::from_ref(self.value(id));
                let origin = Origin {
                    schema: SchemaId(0),
                    keyword: "const",
                };
                if literal.negated {
                    let parts = self.none_of(values, origin);
                    return self.add_parts(branch, &parts, path);
                }
                let atom = Atom::Values(values);
                branch.push(TracedAtom { atom, origin });
                return Ok(());
            }
        };
        if branch.seen.contains(&literal) {
            return Ok(());
        }
        branch.seen.push(literal);
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
            self.add_rust_texts(branch, origin, || Some(formats::rust::without_zero()));
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
                pointer: self.program.pointer(id),
            });
        }
        let mut at = path;
        while let Some(link) = at {
            if link.literal.source == literal.source {
                let pointer = self.program.pointer(id);
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
        let traced = |atom| TracedAtom { atom, origin };
        let literals = |ids: &[SchemaId]| {
            let arm = |&id: &SchemaId| vec![Part::Literal(Literal::schema(id))];
            ids.iter().map(arm).collect::<Vec<_>>()
        };
        match &keyword.assertion {
            Assertion::Never => branch.kill(),
            Assertion::Atom(atom) => branch.push(traced(atom.clone())),
            Assertion::Pattern(source) => {
                if branch.types.meets(TypeSet::STRING)
                    && let Some(regular) = self.pattern(source, origin)?
                {
                    branch.push(traced(Atom::Text(regular)));
                    self.add_rust_texts(branch, origin, || formats::rust::texts_of_pattern(source));
                }
            }
            Assertion::Format(format) => {
                if self.options.formats == FormatMode::Assert {
                    self.note_left_out(origin, format);
                    branch.push(traced(Atom::Text(format.regular())));
                    self.add_rust_texts(branch, origin, || {
                        formats::rust::texts_of_format(format.name())
                    });
                }
            }
            Assertion::RustFormat(name) => {
                if let Some((lower, upper)) = formats::rust::number_range(name)
                    && self.options.profile == Profile::Rust
                {
                    let how = "numbers that the Rust type does not hold are left out";
                    self.note(origin, Effect::Narrowed { how });
                    branch.push(traced(Atom::Lower(lower)));
                    branch.push(traced(Atom::Upper(upper)));
                }
                self.add_rust_texts(branch, origin, || formats::rust::texts_of_format(name));
            }
            Assertion::AllOf(arms) => {
                for &arm in arms {
                    self.add_literal(branch, Literal::schema(arm), path)?;
                }
            }
            Assertion::AnyOf(arms) => self.add_choice(branch, literals(arms), path)?,
            Assertion::OneOf(schemas) => match schemas.as_slice() {
                [only] => self.add_literal(branch, Literal::schema(*only), path)?,
                _ => {
                    let overlaps = self.overlaps(schemas)?;
                    let mut arms = literals(schemas);
                    if self.options.profile == Profile::Rust {
                        self.add_rust_tags(schemas, &mut arms, origin)?;
                    }
                    branch.choices.push_back(Choice {
                        arms: arms.into(),
                        overlaps: overlaps.into(),
                        path: path.clone(),
                    });
                }
            },
            Assertion::Not(inner) => self.add_literal(branch, Literal::not(*inner), path)?,
            Assertion::Conditional {
                condition,
                then,
                otherwise,
            } => {
                let arm = |first: Literal, second: &Option<SchemaId>| {
                    let second = second.map(Literal::schema);
                    let parts = std::iter::once(first).chain(second);
                    parts.map(Part::Literal).collect::<Arm<'j>>()
                };
                let arms = vec![
                    arm(Literal::schema(*condition), then),
                    arm(Literal::not(*condition), otherwise),
                ];
                self.add_choice(branch, arms, path)?;
            }
            Assertion::Dependent(dependencies) => {
                for (key, dependent) in dependencies {
                    if let Dependent::Schema(id) = dependent
                        && self.add_implication(branch, key, *id, origin)?
                    {
                        continue;
                    }
                    let present = |key| Part::Atom(traced(Atom::Present(key)));
                    let mut with = vec![
                        Part::Atom(traced(Atom::Types(TypeSet::OBJECT))),
                        present(*key),
                    ];
                    match dependent {
                        Dependent::Keys(keys) => {
                            for other in keys.iter() {
                                let literals =
                                    [KeyLiteral::Absent(key), KeyLiteral::Has(other, None)];
                                branch.push(traced(Atom::Clause(literals.into())));
                            }
                            continue;
                        }
                        Dependent::Schema(id) => with.push(Part::Literal(Literal::schema(*id))),
                    }
                    let without = vec![Part::Atom(traced(Atom::Forbidden(key)))];
                    self.add_choice(branch, vec![with, without], path)?;
                }
            }
            Assertion::Reference(reference) => {
                let target = self.program.resolve(id, keyword.name, reference)?;
                self.add_literal(branch, Literal::schema(target), path)?;
            }
            Assertion::Unevaluated(of, rest) => {
                let arms = self.unevaluated(origin, *of, *rest)?;
                self.add_choice(branch, arms, path)?;
            }
            Assertion::IfAlone(_) | Assertion::ContainsAny(_) => {}
            Assertion::Refused(types, reason) => branch.push(traced(Atom::Refused(*types, reason))),
            Assertion::Invalid(error) => return Err((**error).clone()),
        }
        Ok(())
    }

    /// Notes which strings of a format are not compiled.
    pub(super) fn note_left_out(&mut self, origin: Origin, format: &formats::Format) {
        if let Some(how) = format.left_out() {
            self.note(origin, Effect::Narrowed { how });
        }
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
