//! The texts of a finite set.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use structgen_grammar::Regular;

/// The maximum number of texts.
pub(super) const MAX_TEXTS: usize = 10_000;
/// The maximum number of bytes in texts, with those that are made on the way to longer ones.
pub(super) const MAX_BYTES: usize = 1 << 22;

/// Texts, each with the set of the same text that looks around, if it matches only at some positions.
pub(super) type Texts = BTreeMap<String, Option<Regular>>;

/// Why there is no list of a set's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTexts {
    /// There are infinitely many.
    Infinite,
    /// There are too many.
    TooMany,
    /// They are too long, or take too many bytes together.
    TooLong,
    /// They are those of an intersection or a complement, which are not listed.
    Unlisted,
}

/// The texts of a set of texts. `bytes` counts the bytes of all texts that were made so far.
///
/// Recursive: the depth of trees is limited.
pub(super) fn texts(set: &Regular, bytes: &mut usize) -> Result<Texts, NoTexts> {
    match set {
        Regular::Never => Ok(Texts::new()),
        Regular::Empty => Ok(just("")),
        // Patterns are made of whole characters.
        Regular::Bytes(text) => {
            spend(bytes, text.len())?;
            Ok(std::str::from_utf8(text).map_or_else(|_| Texts::new(), just))
        }
        Regular::ByteRange(..) => Ok(Texts::new()),
        Regular::Look { .. } => Ok(Texts::from([(String::new(), Some(set.clone()))])),
        Regular::Chars(set) => {
            let sizes = set.ranges().iter();
            let count = sizes.map(|&(low, high)| u32::from(high) - u32::from(low) + 1);
            let count = count.sum::<u32>() as usize;
            if count > MAX_TEXTS {
                return Err(NoTexts::TooMany);
            }
            spend(bytes, count)?;
            let chars = set.ranges().iter().flat_map(|&(low, high)| low..=high);
            Ok(chars.map(|c| (String::from(c), None)).collect())
        }
        Regular::Concat(parts) => {
            let mut all = just("");
            for part in parts.iter() {
                all = product(&all, &texts(part, bytes)?, bytes)?;
            }
            Ok(all)
        }
        Regular::Union(arms) => {
            let mut all = Texts::new();
            for arm in arms.iter() {
                extend(&mut all, texts(arm, bytes)?, bytes)?;
            }
            Ok(all)
        }
        Regular::Repeat { max: Some(0), .. } => Ok(just("")),
        &Regular::Repeat { ref body, min, max } => {
            let once = texts(body, bytes)?;
            if once.keys().all(String::is_empty) {
                return Ok(if min == 0 { just("") } else { once });
            }
            let max = max.ok_or(NoTexts::Infinite)?;
            let mut power = power(&once, min, bytes)?;
            let mut all = power.clone();
            for _ in min..max {
                power = product(&power, &once, bytes)?;
                extend(&mut all, power.clone(), bytes)?;
            }
            Ok(all)
        }
        Regular::Intersection(_) | Regular::Complement(_) => Err(NoTexts::Unlisted),
    }
}

fn just(text: &str) -> Texts {
    Texts::from([(text.to_owned(), None)])
}

/// The texts of the one set, each followed by those of the other.
fn product(left: &Texts, right: &Texts, bytes: &mut usize) -> Result<Texts, NoTexts> {
    let mut all = Texts::new();
    for (one, here) in left {
        for (other, there) in right {
            spend(bytes, one.len() + other.len() + 1)?;
            let looking = (here.is_some() || there.is_some()).then(|| {
                Regular::concat([set_of(one, here.as_ref()), set_of(other, there.as_ref())])
            });
            add(&mut all, format!("{one}{other}"), looking)?;
        }
    }
    Ok(all)
}

/// The texts, `count` times one after the other.
fn power(once: &Texts, count: u32, bytes: &mut usize) -> Result<Texts, NoTexts> {
    let (mut all, mut square) = (just(""), once.clone());
    let mut left = count;
    while left > 0 {
        if left % 2 == 1 {
            all = product(&all, &square, bytes)?;
        }
        left /= 2;
        if left > 0 {
            square = product(&square, &square, bytes)?;
        }
    }
    Ok(all)
}

/// The set of one text.
pub(super) fn set_of(text: &str, looking: Option<&Regular>) -> Regular {
    looking.cloned().unwrap_or_else(|| Regular::literal(text))
}

fn extend(all: &mut Texts, more: Texts, bytes: &mut usize) -> Result<(), NoTexts> {
    for (text, looking) in more {
        spend(bytes, text.len() + 1)?;
        add(all, text, looking)?;
    }
    Ok(())
}

fn add(all: &mut Texts, text: String, looking: Option<Regular>) -> Result<(), NoTexts> {
    match all.entry(text) {
        Entry::Vacant(entry) => {
            entry.insert(looking);
        }
        Entry::Occupied(mut entry) => {
            let before = entry.get_mut().take();
            let both = before.zip(looking);
            entry.insert(both.map(|(one, other)| Regular::union([one, other])));
        }
    }
    match all.len() <= MAX_TEXTS {
        true => Ok(()),
        false => Err(NoTexts::TooMany),
    }
}

fn spend(bytes: &mut usize, more: usize) -> Result<(), NoTexts> {
    *bytes = bytes.saturating_add(more);
    if *bytes > MAX_BYTES {
        return Err(NoTexts::TooLong);
    }
    Ok(())
}
