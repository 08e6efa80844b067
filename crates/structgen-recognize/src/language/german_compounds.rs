//! German compound numbers, which are written as one word: `zweiundzwanzig`, `zweitausenddreihundert`, `zweieinhalb`,
//! `dreimal`; and ordinals such as `einundzwanzigste`.

use crate::Number;

/// Longer ones before their prefixes: `dreizehn` before `drei`.
const UNITS: &[(&str, u64)] = &[
    ("eins", 1),
    ("eine", 1),
    ("ein", 1),
    ("zwei", 2),
    ("zwo", 2),
    ("drei", 3),
    ("vier", 4),
    ("funf", 5),
    ("fuenf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
];
const TEENS: &[(&str, u64)] = &[
    ("zehn", 10),
    ("elf", 11),
    ("zwolf", 12),
    ("zwoelf", 12),
    ("dreizehn", 13),
    ("vierzehn", 14),
    ("funfzehn", 15),
    ("fuenfzehn", 15),
    ("sechzehn", 16),
    ("siebzehn", 17),
    ("achtzehn", 18),
    ("neunzehn", 19),
];
const TENS: &[(&str, u64)] = &[
    ("zwanzig", 20),
    ("dreissig", 30),
    ("vierzig", 40),
    ("funfzig", 50),
    ("fuenfzig", 50),
    ("sechzig", 60),
    ("siebzig", 70),
    ("achtzig", 80),
    ("neunzig", 90),
];

/// The length of the longest such word; longer words are skipped.
const MAX_BYTES: usize = 64;

/// Returns the number for a whole folded word.
pub(crate) fn number_of(word: &str) -> Option<Number> {
    if word.len() > MAX_BYTES {
        return None;
    }
    if let Some(whole) = word.strip_suffix("einhalb") {
        let (value, rest) = below_thousand(whole)?;
        return rest
            .is_empty()
            .then(|| Number::new(i128::from(value * 10 + 5), 1))?;
    }
    let word = word.strip_suffix("mal").unwrap_or(word);
    let (value, rest) = below_million(word)?;
    rest.is_empty().then(|| Number::new(i128::from(value), 0))?
}

/// Returns the ordinal for a whole folded word: `einundzwanzigsten`.
pub(crate) fn ordinal_of(word: &str) -> Option<u32> {
    let endings = ["e", "en", "er", "es", "em"];
    let stem = endings
        .iter()
        .find_map(|ending| word.strip_suffix(ending))?;
    // `dreizehnte`, `zwanzigste`.
    let cardinal = stem.strip_suffix("st").or_else(|| stem.strip_suffix('t'))?;
    let number = number_of(cardinal)?;
    let value = u32::try_from(number.to_integer()?).ok()?;
    (10..1000).contains(&value).then_some(value)
}

/// Returns the value of the number at the start of `word`, and the rest.
fn below_million(word: &str) -> Option<(u64, &str)> {
    let (thousands, rest) = match word.strip_prefix("tausend") {
        Some(rest) => (1, rest),
        None => {
            let (value, rest) = below_thousand(word)?;
            match rest.strip_prefix("tausend") {
                Some(rest) => (value, rest),
                None => return Some((value, rest)),
            }
        }
    };
    let rest = rest.strip_prefix("und").unwrap_or(rest);
    let (value, rest) = below_thousand(rest).unwrap_or((0, rest));
    Some((thousands * 1000 + value, rest))
}

fn below_thousand(word: &str) -> Option<(u64, &str)> {
    let (hundreds, rest) = match word.strip_prefix("hundert") {
        Some(rest) => (1, rest),
        None => match below_hundred(word)? {
            (value, rest) if value < 20 && rest.starts_with("hundert") => {
                (value, &rest["hundert".len()..])
            }
            found => return Some(found),
        },
    };
    let rest = rest.strip_prefix("und").unwrap_or(rest);
    let (value, rest) = below_hundred(rest).unwrap_or((0, rest));
    Some((hundreds * 100 + value, rest))
}

fn below_hundred(word: &str) -> Option<(u64, &str)> {
    if let Some(found) = one_of(TEENS, word).or_else(|| one_of(TENS, word)) {
        return Some(found);
    }
    let (unit, rest) = one_of(UNITS, word)?;
    match rest.strip_prefix("und").and_then(|ten| one_of(TENS, ten)) {
        Some((ten, rest)) => Some((ten + unit, rest)),
        None => Some((unit, rest)),
    }
}

fn one_of<'w>(morphemes: &[(&str, u64)], word: &'w str) -> Option<(u64, &'w str)> {
    morphemes
        .iter()
        .find_map(|(morpheme, value)| Some((*value, word.strip_prefix(morpheme)?)))
}

#[cfg(test)]
mod tests {
    use super::{number_of, ordinal_of};

    #[test]
    fn ordinals_of_one_word_are_read() {
        for (word, value) in [
            ("dreizehnte", Some(13)),
            ("zwanzigsten", Some(20)),
            ("einundzwanzigsten", Some(21)),
            ("hundertster", Some(100)),
            ("zwanzig", None),
            ("beste", None),
        ] {
            assert_eq!(ordinal_of(word), value, "{word}");
        }
    }

    #[test]
    fn compounds_are_read_as_a_whole_or_not_at_all() {
        for (word, value) in [
            ("zweiundzwanzig", "22"),
            ("einhunderteins", "101"),
            ("dreihundertfunfundvierzig", "345"),
            ("zweitausendvierundzwanzig", "2024"),
            ("siebenundsiebzigtausend", "77000"),
            ("zweieinhalb", "2.5"),
            ("achtmal", "8"),
            ("neunzehnhundertneunundneunzig", "1999"),
        ] {
            assert_eq!(
                number_of(word).map(|number| number.to_string()).as_deref(),
                Some(value),
                "{word}"
            );
        }
        for word in [
            "achtung",
            "einundeinundzwanzig",
            "zweig",
            "",
            "und",
            "tausendmark",
        ] {
            assert_eq!(number_of(word), None, "{word}");
        }
    }
}
