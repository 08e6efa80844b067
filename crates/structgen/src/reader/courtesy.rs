//! Courtesy titles: the guest in "for Mrs Helen Arbuthnot" is Helen Arbuthnot, while "Mrs Arbuthnot" stays as it is.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::text_units::TextUnits;

/// Courtesy titles of English, German, French and Spanish, whatever the language of the text. Those that say what
/// somebody does, such as `Dr` and `Captain`, are part of a name.
static TITLES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("courtesy.txt").split_whitespace().collect());

/// What may stand between a given name and a surname.
const PARTICLES: [&str; 16] = [
    "von", "vom", "zu", "van", "der", "den", "ter", "de", "du", "del", "la", "le", "da", "dos",
    "di", "della",
];

/// Returns the unit at which a name begins that was read with a courtesy title before a given name and a surname; of
/// all else, the first unit as it is.
pub(super) fn without_courtesy(text: &str, units: &TextUnits, first: usize, last: usize) -> usize {
    let (start, end) = (units.spans[first].start, units.spans[last].end);
    let name = text.get(start..end).and_then(full_name);
    let unit = name.and_then(|name| units.at(end - name.len()));
    unit.filter(|unit| units.starts.binary_search(unit).is_ok())
        .unwrap_or(first)
}

/// Returns a name without the courtesy title before it, if it has a given name, or its initial, and a surname.
fn full_name(text: &str) -> Option<&str> {
    let (title, name) = text.split_once(char::is_whitespace)?;
    let name = name.trim_start();
    let mut words = name.split_whitespace();
    let given = words.next()?;
    let next = words.find(|word| !PARTICLES.contains(word))?;
    let is_title = TITLES.contains(title.strip_suffix('.').unwrap_or(title));
    let is_initial = given.chars().count() == 2 && given.ends_with('.');
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase)
            && word.chars().all(|c| c.is_alphabetic() || "-'’".contains(c))
    };
    let is_given = is_name(given) && !TITLES.contains(given) || is_initial;
    (is_title && is_given && is_name(next.trim_end_matches(','))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::text_units::tests::units_of;
    use super::*;

    /// The text of a span from its first to its last unit, without a title.
    fn named(text: &str) -> &str {
        let units = units_of(text);
        let first = without_courtesy(text, &units, 0, units.spans.len() - 1);
        &text[units.spans[first].start..]
    }

    #[test]
    fn full_names_have_no_courtesy_title() {
        for (text, name) in [
            ("Mrs Helen Arbuthnot", "Helen Arbuthnot"),
            ("Mr. F. Crane", "F. Crane"),
            ("Herrn Jürgen von Altmann", "Jürgen von Altmann"),
            ("M. Gaël Kerbrat", "Gaël Kerbrat"),
            ("Sra. Nuria Peña Ruiz", "Nuria Peña Ruiz"),
        ] {
            assert_eq!(named(text), name);
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for text in [
            "Mrs Arbuthnot",
            "Mrs",
            "Frau Dr. Hofmann",
            "Dr Ilse Baumann",
            "Mr and Mrs Lund",
            "Mr Lund and Petra",
            "Mr 3D Systems",
            "Mister Minit Ltd",
        ] {
            assert_eq!(named(text), text);
        }
    }
}
