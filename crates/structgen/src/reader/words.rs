//! Words, as a text and the names of a schema share them.

/// A word in small letters, and the byte after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    text: String,
    end: usize,
}

/// The words of a text or of a name: `camelCase` and `snake_case` are two.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut last: Option<char> = None;
    for (at, letter) in text.char_indices() {
        let follows = last.is_some_and(char::is_alphanumeric)
            && !(letter.is_uppercase() && last.is_some_and(char::is_lowercase));
        if letter.is_alphanumeric() {
            if !follows {
                words.push(Word {
                    text: String::new(),
                    end: at,
                });
            }
            if let Some(word) = words.last_mut() {
                word.text.extend(letter.to_lowercase());
                word.end = at + letter.len_utf8();
            }
        }
        last = Some(letter);
    }
    words
}

/// Whether the words of an option stand in a text one after another.
pub(super) fn contains(text: &[Word], option: &str) -> bool {
    let option = words(option);
    let is_same = |found: &[Word]| {
        found
            .iter()
            .map(|it| &it.text)
            .eq(option.iter().map(|it| &it.text))
    };
    !option.is_empty() && text.windows(option.len()).any(is_same)
}

/// Where words end that a key has as well, or a form of one that is a little longer: what stands after them may be the
/// key's value.
pub(super) fn labels<'t>(text: &'t [Word], key: &str) -> impl Iterator<Item = usize> + 't {
    let mut key = words(key);
    key.retain(|it| it.text.len() >= LEAST_LABEL);
    let is_label = move |word: &&Word| {
        key.iter().any(|it| {
            let rest = word.text.strip_prefix(&it.text);
            rest.is_some_and(|rest| rest.len() <= MAX_ENDING)
        })
    };
    text.iter().filter(is_label).map(|word| word.end)
}

/// The bytes of a word that is long enough to be told from those that are everywhere.
const LEAST_LABEL: usize = 3;

/// The bytes that a form of a word may have more.
const MAX_ENDING: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_word_by_word() {
        let text = words("The parcel (in-stock) was NOT returned: isOpen");
        for said in [
            "in_stock",
            "In Stock",
            "inStock",
            "RETURNED",
            "not returned",
            "is open",
        ] {
            assert!(contains(&text, said), "{said}");
        }
        for other in ["stock in", "return", "parcel returned", "", "-"] {
            assert!(!contains(&text, other), "{other}");
        }
    }

    #[test]
    fn labels_are_words_of_the_key() {
        let text = words("Total (EUR): 12.50, invoices of totalitarians, Gesamt");
        let of = |key| labels(&text, key).collect::<Vec<_>>();
        assert_eq!(of("invoice_total"), [5, 28]);
        assert_eq!(of("eurAmount"), [10]);
        assert!(of("of").is_empty());
    }
}
