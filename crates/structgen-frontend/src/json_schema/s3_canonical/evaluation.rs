//! `unevaluatedProperties` and `unevaluatedItems`: which keys and items the other keywords of a schema evaluate.
//!
//! That depends on which of the schemas applied to the same value hold. So the keyword becomes a disjunction of cases.
//! Each case fixes, for every schema that evaluates something, whether it holds, so it knows what is evaluated. The
//! cases are mutually exclusive. If the other keywords of the schema hold, they are exhaustive; if not, the schema does
//! not hold anyway, whatever this keyword asserts.

use std::rc::Rc;

use super::Canonicalizer;
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::atoms::{
    Atom, Elements, Fields, Literal, Origin, OtherField, SomeMember, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Arm, Evaluated, Evaluates, Form, Of, Part, SchemaId};

/// A conjunction that defines a case, and what is evaluated in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Case<'j> {
    parts: Arm<'j>,
    evaluated: Evaluated<'j>,
}

/// What a case asserts about the value, as an atom and its negation; `None` if everything is evaluated.
type Demand<'j> = Option<(Atom<'j>, Atom<'j>)>;

/// The maximum number of cases of a keyword.
const MAX_CASES: usize = 4_096;

/// The maximum nesting of schemas that apply to the same value.
const MAX_NESTING: usize = 256;

/// The cases of schemas, computed on demand.
pub(super) type Known<'j> = rustc_hash::FxHashMap<(SchemaId, Of), Rc<[Case<'j>]>>;

impl<'j> Canonicalizer<'_, 'j> {
    /// The disjunction which asserts that everything unevaluated is valid under `rest`.
    pub(super) fn unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let traced = |atom| Part::Atom(TracedAtom { atom, origin });
        let mut demands = self.demands(origin, of, rest)?;
        // A single case needs no restriction to the type.
        if let [(case, _)] = demands.as_slice()
            && case.is_empty()
        {
            let demand = demands.pop().and_then(|only| only.1);
            return Ok(vec![
                demand.map(|demand| traced(demand.0)).into_iter().collect(),
            ]);
        }
        let mut arms = vec![vec![traced(Atom::Types(types(of).complement()))]];
        for (case, demand) in demands {
            let mut arm = vec![traced(Atom::Types(types(of)))];
            arm.extend(case);
            arm.extend(demand.map(|demand| traced(demand.0)));
            arms.push(arm);
        }
        Ok(arms)
    }

    /// The disjunction which asserts that something unevaluated is not valid under `rest`.
    pub(super) fn not_unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let traced = |atom| Part::Atom(TracedAtom { atom, origin });
        let mut arms = Vec::new();
        for (case, demand) in self.demands(origin, of, rest)? {
            if let Some((_, negation)) = demand {
                let mut arm = vec![traced(Atom::Types(types(of)))];
                arm.extend(case);
                arm.push(traced(negation));
                arms.push(arm);
            }
        }
        Ok(arms)
    }

    fn demands(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<(Arm<'j>, Demand<'j>)>, SchemaError> {
        if self.is_trivial(Literal::schema(rest)) {
            return Ok(vec![(Vec::new(), None)]);
        }
        let cases = match self.evaluation.get(&(origin.schema, of)) {
            Some(cases) => Rc::clone(cases),
            None => {
                let cases = self.cases(origin, of, origin.schema, &mut Vec::new())?;
                let cases: Rc<[Case<'j>]> = cases.into();
                self.evaluation
                    .insert((origin.schema, of), Rc::clone(&cases));
                cases
            }
        };
        let mut demands = Vec::with_capacity(cases.len());
        for case in cases.iter() {
            self.step(1 + case.parts.len() + case.evaluated.keys.len())?;
            let demand = self.demand(&case.evaluated, origin.schema, of, rest);
            demands.push((case.parts.clone(), demand));
        }
        Ok(demands)
    }

    fn demand(
        &mut self,
        evaluated: &Evaluated<'j>,
        within: SchemaId,
        of: Of,
        rest: SchemaId,
    ) -> Demand<'j> {
        if evaluated.all {
            return None;
        }
        let anything = self.program.anything(within);
        Some(match of {
            Of::Properties => {
                let mut fields = Fields::default();
                let any = |&key: &&'j str| (key, anything);
                fields.properties = evaluated.keys.iter().map(any).collect();
                fields.patterns = evaluated.patterns.iter().map(any).collect();
                fields.additional = Some(rest);
                fields.index();
                let fields = Rc::new(fields);
                let other = OtherField {
                    fields: Rc::clone(&fields),
                    pattern: None,
                };
                (Atom::Fields(fields), Atom::Some(SomeMember::Field(other)))
            }
            Of::Items => {
                let rest = if evaluated.contained.is_empty() {
                    rest
                } else {
                    let mut arms = evaluated.contained.clone();
                    arms.push(rest);
                    self.program.any_of(within, arms)
                };
                let elements = Rc::new(Elements {
                    prefix: vec![anything; evaluated.prefix],
                    rest: Some(rest),
                });
                (
                    Atom::Elements(Rc::clone(&elements)),
                    Atom::OtherElement(elements),
                )
            }
        })
    }

    /// The cases in which a schema holds.
    fn cases(
        &mut self,
        origin: Origin,
        of: Of,
        id: SchemaId,
        path: &mut Vec<SchemaId>,
    ) -> Result<Vec<Case<'j>>, SchemaError> {
        if path.contains(&id) {
            let pointer = self.program.pointer(id).to_owned();
            return Err(SchemaError::CircularReference { pointer });
        }
        if path.len() >= MAX_NESTING {
            return Err(SchemaError::Limit {
                what: "schemas applied to one value inside one another",
                limit: MAX_NESTING as u64,
                pointer: self.program.pointer(id).to_owned(),
            });
        }
        path.push(id);
        let schema = self.program.get(id);
        let draft = self.program.resources.get(schema.resource).dialect.draft;
        let mut cases = vec![Case::default()];
        for keyword in &schema.keywords {
            self.step(1)?;
            if id == origin.schema && keyword.name == origin.keyword {
                continue;
            }
            let here = Origin {
                schema: id,
                keyword: keyword.name,
            };
            let own = |evaluated| Case {
                parts: Vec::new(),
                evaluated,
            };
            if let Form::Invalid(error) = keyword.assertion.form() {
                return Err(error.clone());
            }
            let more = match keyword.assertion.evaluates(of, draft) {
                Evaluates::Nothing => continue,
                Evaluates::Own(evaluated) => vec![own(evaluated)],
                Evaluates::AllOf(arms) => {
                    let mut more = vec![Case::default()];
                    for &arm in arms {
                        let cases = self.cases(origin, of, arm, path)?;
                        more = self.product(here, more, &cases)?;
                    }
                    more
                }
                Evaluates::AnyOf(arms) => {
                    let mut more = vec![Case::default()];
                    for &arm in arms {
                        if let Some(mut holds) = self.holding(origin, of, arm, path)? {
                            holds.push(failing([arm]));
                            more = self.product(here, more, &holds)?;
                        }
                    }
                    more
                }
                Evaluates::OneOf(arms) => {
                    let mut more = Vec::new();
                    let mut others = Vec::new();
                    for &arm in arms {
                        if let Some(holds) = self.holding(origin, of, arm, path)? {
                            more.extend(holds);
                            others.push(arm);
                        }
                    }
                    more.push(failing(others));
                    more
                }
                Evaluates::Conditional {
                    condition,
                    then,
                    otherwise,
                } => self.conditional(origin, of, [Some(condition), then, otherwise], path)?,
                Evaluates::Dependent(dependencies) => {
                    let mut more = vec![Case::default()];
                    for (key, arm) in dependencies {
                        let Some(mut holds) = self.holding(origin, of, arm, path)? else {
                            continue;
                        };
                        for case in &mut holds {
                            let present = Part::atom(Atom::Required([key].into()), here);
                            case.parts.insert(0, present);
                        }
                        holds.push(Case {
                            parts: vec![Part::atom(Atom::Forbidden(key), here)],
                            evaluated: Evaluated::default(),
                        });
                        more = self.product(here, more, &holds)?;
                    }
                    more
                }
                Evaluates::Reference(reference) => {
                    let target = self.program.resolve(id, keyword.name, reference)?;
                    self.cases(origin, of, target, path)?
                }
            };
            cases = self.product(here, cases, &more)?;
        }
        path.pop();
        Ok(cases)
    }

    /// The cases of a schema, each with the condition that it holds; `None` if it never evaluates anything.
    fn holding(
        &mut self,
        origin: Origin,
        of: Of,
        arm: SchemaId,
        path: &mut Vec<SchemaId>,
    ) -> Result<Option<Vec<Case<'j>>>, SchemaError> {
        let mut cases = self.cases(origin, of, arm, path)?;
        let says_nothing = |case: &Case<'j>| case.evaluated.is_nothing();
        if cases.iter().all(says_nothing) {
            return Ok(None);
        }
        for case in &mut cases {
            case.parts.insert(0, Part::Literal(Literal::schema(arm)));
        }
        Ok(Some(cases))
    }

    fn conditional(
        &mut self,
        origin: Origin,
        of: Of,
        [condition, then, otherwise]: [Option<SchemaId>; 3],
        path: &mut Vec<SchemaId>,
    ) -> Result<Vec<Case<'j>>, SchemaError> {
        let Some(condition) = condition else {
            return Ok(vec![Case::default()]);
        };
        let mut part = |schema: Option<SchemaId>| match schema {
            Some(schema) => self.cases(origin, of, schema, path),
            None => Ok(vec![Case::default()]),
        };
        let (first, then, otherwise) = (part(Some(condition))?, part(then)?, part(otherwise)?);
        let mut every = first.iter().chain(&then).chain(&otherwise);
        if every.all(|case| case.evaluated.is_nothing()) {
            return Ok(vec![Case::default()]);
        }
        let mut cases = self.product(origin, first, &then)?;
        for case in &mut cases {
            let holds = Part::Literal(Literal::schema(condition));
            case.parts.insert(0, holds);
        }
        cases.extend(self.product(origin, vec![failing([condition])], &otherwise)?);
        Ok(cases)
    }

    fn product(
        &mut self,
        origin: Origin,
        one: Vec<Case<'j>>,
        other: &[Case<'j>],
    ) -> Result<Vec<Case<'j>>, SchemaError> {
        if one.len().saturating_mul(other.len()) > MAX_CASES {
            return Err(SchemaError::Limit {
                what: "combinations of schemas that evaluate properties or items",
                limit: MAX_CASES as u64,
                pointer: self.program.keyword_pointer(origin.schema, origin.keyword),
            });
        }
        let mut product = Vec::with_capacity(one.len() * other.len());
        for left in &one {
            for right in other {
                self.step(1 + left.size() + right.size())?;
                let mut case = left.clone();
                case.parts.extend(right.parts.iter().cloned());
                case.evaluated.unite(&right.evaluated);
                product.push(case);
            }
        }
        Ok(product)
    }
}

impl Case<'_> {
    fn size(&self) -> usize {
        let evaluated = &self.evaluated;
        self.parts.len()
            + evaluated.keys.len()
            + evaluated.patterns.len()
            + evaluated.contained.len()
    }
}

/// The case in which none of the schemas holds.
fn failing<'j>(schemas: impl IntoIterator<Item = SchemaId>) -> Case<'j> {
    let not = |id| Part::Literal(Literal::not(id));
    Case {
        parts: schemas.into_iter().map(not).collect(),
        evaluated: Evaluated::default(),
    }
}

fn types(of: Of) -> TypeSet {
    match of {
        Of::Properties => TypeSet::OBJECT,
        Of::Items => TypeSet::ARRAY,
    }
}
