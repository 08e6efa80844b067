//! What a unit of the text points at and what it stands in, as rows of the table of roles: the last of a [`Site`].
//!
//! Every field and every option owns words and, by the [`lexicon`](super::lexicon), concepts. A unit points most surely
//! at who owns the word itself; then at who owns a word with the same beginning, one of the same concept, one of which
//! it is a cue. Up to four fields are told, a field and its option, and up to two fields of whose kind the unit is:
//! "dachshund" is an animal, as `breed` is. Then come the sentence, whether brackets or quotation marks are open,
//! whether the text repeats the word, and the field at which alone the last and the next unit of the sentence point
//! that point at any.
//!
//! `training/pointers.py` makes the same rows: both agree on `tests/data/sites.jsonl`.
//!
//! [`Site`]: super::sites::Site

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::lexicon::{concepts, kinds};
use super::sites::{Form, Part};
use super::units::{Kind, Unit};
use super::words::is_function_word;

/// The rows of what a unit points at and stands in.
pub(super) const WIDTH: usize = POINTED + 2 + OF_KIND + 3 + 2;

pub(super) type Pointers = [i64; WIDTH];

/// The fields that a unit points at, at most.
const POINTED: usize = 4;

/// The fields of whose kind a unit is, at most.
const OF_KIND: usize = 2;

/// The units to the last and to the next one that points, at most.
const NEAR: usize = 15;

// The first row of each kind.
const NOWHERE: i64 = 136;
const FIELDS: i64 = 137;
const CHOSEN: i64 = 169;
const CHOICES: i64 = 201;
const KINDS: i64 = 219;
const SENTENCES: i64 = 251;
const ENCLOSED: i64 = 267;
const REPEATED: i64 = 271;
const LAST: i64 = 274;
const NEXT: i64 = 306;

const FIELD_COUNT: usize = 32;
const SENTENCE_COUNT: usize = 16;
const MOST_OPTIONS: usize = 15;

/// The rows of units that are not in the text.
pub(super) const AT_NOTHING: Pointers = [NOWHERE; WIDTH];

/// Who owns which words, beginnings of words, concepts and kinds. Owners come in their order.
struct Owners<'f, O> {
    words: HashMap<&'f str, Vec<O>>,
    stems: HashMap<&'f str, Vec<O>>,
    concepts: HashMap<i64, Vec<O>>,
    kinds: HashMap<i64, Vec<O>>,
}

fn add<K: Eq + Hash, O: PartialEq>(owners: &mut HashMap<K, Vec<O>>, key: K, owner: O) {
    let owners = owners.entry(key).or_default();
    if owners.last() != Some(&owner) {
        owners.push(owner);
    }
}

impl<'f, O: Copy + Ord> Owners<'f, O> {
    fn new(owned: impl Iterator<Item = (O, &'f Form)>) -> Self {
        let mut owners = Self {
            words: HashMap::new(),
            stems: HashMap::new(),
            concepts: HashMap::new(),
            kinds: HashMap::new(),
        };
        for (owner, form) in owned {
            if means_something(form) {
                add(&mut owners.words, &*form.text, owner);
                add(&mut owners.stems, form.stem(), owner);
            }
            for concept in concepts(&form.senses) {
                add(&mut owners.concepts, concept, owner);
            }
            for kind in kinds(&form.senses) {
                add(&mut owners.kinds, kind, owner);
            }
        }
        owners
    }

    /// The owners of a unit of the text, level by level, from the surest on.
    fn levels(&self, form: &Form) -> impl Iterator<Item = Vec<O>> {
        let counts = means_something(form);
        let named = [(&self.words, &*form.text), (&self.stems, form.stem())];
        let named = named.map(|(owners, key)| match owners.get(key) {
            Some(owners) if counts => owners.clone(),
            _ => Vec::new(),
        });
        let cued = form.cued.iter().map(|&concept| i64::from(concept));
        let meant = [
            union(&self.concepts, concepts(&form.senses)),
            union(&self.concepts, cued),
        ];
        named.into_iter().chain(meant)
    }
}

/// The owners of any of some concepts or kinds.
fn union<O: Copy + Ord>(owners: &HashMap<i64, Vec<O>>, of: impl Iterator<Item = i64>) -> Vec<O> {
    let mut found: Vec<O> = of
        .filter_map(|row| owners.get(&row))
        .flatten()
        .copied()
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

impl Owners<'_, usize> {
    /// The fields that a unit points at: those of the surest levels, as long as they are few.
    fn fields(&self, form: &Form) -> Vec<usize> {
        let mut found = Vec::new();
        for mut level in self.levels(form) {
            level.retain(|field| !found.contains(field));
            if found.len() + level.len() > POINTED {
                break;
            }
            found.extend(level);
        }
        found
    }

    /// The fields of whose kind a unit is, if they are few, but for some.
    fn of_kind(&self, form: &Form, but: &[usize]) -> Vec<usize> {
        let mut found = union(&self.kinds, kinds(&form.senses));
        found.retain(|field| !but.contains(field));
        if found.len() > OF_KIND {
            found.clear();
        }
        found
    }
}

impl Owners<'_, (usize, usize)> {
    /// The field and the option that a unit points at: 0 for the option where several of the field are as likely.
    fn choice(&self, form: &Form) -> Option<(usize, usize)> {
        let level = self.levels(form).find(|level| !level.is_empty())?;
        let (field, option) = *level.first()?;
        match &level[..] {
            [_] => Some((field, option)),
            [.., (last, _)] if *last == field => Some((field, 0)),
            _ => None,
        }
    }
}

fn means_something(form: &Form) -> bool {
    form.counts && !is_function_word(&form.text)
}

/// The rows of the units of a text.
pub(super) fn pointers(
    parts: &[Part],
    text: &str,
    found: &[Unit],
    forms: &[Form],
) -> Vec<Pointers> {
    let (fields, options): (Vec<&Part>, Vec<&Part>) =
        parts.iter().partition(|part| part.option() == 0);
    let meant = fields
        .iter()
        .flat_map(|part| part.meant().map(|form| (part.field(), form)));
    let named = fields
        .iter()
        .flat_map(|part| part.named().map(|form| (part.field(), form)));
    let said = options.iter().flat_map(|part| {
        let owner = (part.field(), part.option());
        part.forms().map(move |form| (owner, form))
    });
    let (owners, kinds) = (Owners::new(meant), Owners::new(named));
    let choices = Owners::new(said);

    let pointed: Vec<Vec<usize>> = forms.iter().map(|form| owners.fields(form)).collect();
    let sentences = sentences(text, found);
    let last = nearest(&pointed, &sentences, 0..forms.len());
    let next = nearest(&pointed, &sentences, (0..forms.len()).rev());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for form in forms.iter().filter(|form| means_something(form)) {
        *counts.entry(&form.text).or_default() += 1;
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let (mut is_bracketed, mut is_quoted) = (false, false);
    let field_row = |first: i64, field: usize| first + (field % FIELD_COUNT) as i64;
    let mut rows = Vec::with_capacity(forms.len());
    for (at, (unit, form)) in found.iter().zip(forms).enumerate() {
        let mut row = AT_NOTHING;
        let (of_fields, rest) = row.split_at_mut(POINTED);
        let (of_choice, rest) = rest.split_at_mut(2);
        let (of_kinds, place) = rest.split_at_mut(OF_KIND);
        for (row, &field) in of_fields.iter_mut().zip(&pointed[at]) {
            *row = field_row(FIELDS, field);
        }
        if let Some((field, option)) = choices.choice(form) {
            let option = CHOICES + option.min(MOST_OPTIONS) as i64;
            of_choice.copy_from_slice(&[field_row(CHOSEN, field), option]);
        }
        for (row, field) in of_kinds.iter_mut().zip(kinds.of_kind(form, &pointed[at])) {
            *row = field_row(KINDS, field);
        }
        let is_first = seen.insert(&form.text);
        let repeated = match counts.get(&*form.text) {
            Some(2..) if is_first => 1,
            Some(2..) => 2,
            _ => 0,
        };
        let near = |first, field: Option<usize>| field.map_or(NOWHERE, |it| field_row(first, it));
        place.copy_from_slice(&[
            SENTENCES + (sentences[at] % SENTENCE_COUNT) as i64,
            ENCLOSED + i64::from(is_bracketed) + 2 * i64::from(is_quoted),
            REPEATED + repeated,
            near(LAST, last[at]),
            near(NEXT, next[at]),
        ]);
        rows.push(row);
        match text[unit.start..].chars().next() {
            Some('(' | '[') => is_bracketed = true,
            Some(')' | ']') => is_bracketed = false,
            Some('"' | '“' | '”' | '„' | '«' | '»') => is_quoted = !is_quoted,
            Some('\n') => (is_bracketed, is_quoted) = (false, false),
            _ => {}
        }
    }
    rows
}

/// The number of the sentence of each unit; a line break ends one.
fn sentences(text: &str, found: &[Unit]) -> Vec<usize> {
    let mut sentence = 0;
    let number = |(at, unit): (usize, &Unit)| {
        let own = sentence;
        let is_last = || {
            let after = text[unit.end..].chars().next().map(Kind::of);
            found.get(at + 1).is_none_or(|next| next.is_spaced)
                || matches!(after, Some(Kind::Blank | Kind::Line))
        };
        sentence += usize::from(match text[unit.start..].chars().next() {
            Some('\n') => true,
            Some('.' | ';' | '!' | '?') => is_last(),
            _ => false,
        });
        own
    };
    found.iter().enumerate().map(number).collect()
}

/// Of each unit, the field at which alone the nearest unit before it in an order points, of those in its sentence that
/// point at any.
fn nearest(
    pointed: &[Vec<usize>],
    sentences: &[usize],
    order: impl Iterator<Item = usize>,
) -> Vec<Option<usize>> {
    let mut found = vec![None; pointed.len()];
    let mut last: Option<usize> = None;
    for at in order {
        if let Some(from) = last
            && sentences[from] == sentences[at]
            && from.abs_diff(at) <= NEAR
            && let [field] = pointed[from][..]
        {
            found[at] = Some(field);
        }
        if !pointed[at].is_empty() {
            last = Some(at);
        }
    }
    found
}
