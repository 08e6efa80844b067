//! Words, as a text and the names of a schema share them.

/// A word in small letters, without accents, and its bytes in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words of a text or of a name: `camelCase` and `snake_case` are two, `don't` is one.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut last: Option<char> = None;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let is_inside = last.is_some_and(char::is_alphanumeric);
        if matches!(letter, '\'' | '’') && is_inside {
            let is_t = |&(_, next): &(usize, char)| matches!(next, 't' | 'T');
            if letters.peek().is_some_and(is_t) {
                // The letter before stays the last one, so that the word goes on.
                continue;
            }
        }
        if is_accent(letter)
            && is_inside
            && let Some(word) = words.last_mut()
        {
            word.end = at + letter.len_utf8();
            continue;
        }
        let follows = is_inside && !(letter.is_uppercase() && last.is_some_and(char::is_lowercase));
        if letter.is_alphanumeric() {
            if !follows {
                words.push(Word {
                    text: String::new(),
                    start: at,
                    end: at,
                });
            }
            if let Some(word) = words.last_mut() {
                letter
                    .to_lowercase()
                    .for_each(|it| fold(it, &mut word.text));
                word.end = at + letter.len_utf8();
            }
        }
        last = Some(letter);
    }
    words
}

/// Whether a character is an accent of the letter before it.
pub(super) fn is_accent(letter: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&letter)
}

/// A word in small letters, without accents, as [`fold`] makes them.
pub(super) fn folded(word: &str) -> String {
    let mut text = String::new();
    { word.chars().flat_map(char::to_lowercase) }.for_each(|letter| fold(letter, &mut text));
    text
}

/// Adds a small letter to a word, without its accent. `ä` and `ae` are the same, as are `ö`, `oe`, `ü` and `ue`.
pub(super) fn fold(letter: char, word: &mut String) {
    let plain = match letter {
        _ if is_accent(letter) => return,
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => 'a',
        'ç' => 'c',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ñ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        'ý' => 'y',
        'ß' => return word.push_str("ss"),
        letter => letter,
    };
    if plain != 'e' || !word.ends_with(['a', 'o', 'u']) {
        word.push(plain);
    }
}

/// The words that mean something, of names and descriptions; each once.
pub(super) fn content_words<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in names.into_iter().flat_map(words) {
        let means_something = word.text.len() >= LEAST_CONTENT && !is_function_word(&word.text);
        if means_something && !found.contains(&word.text) {
            found.push(word.text);
        }
    }
    found
}

/// Whether a word, as [`folded`] leaves it, is in every text.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.binary_search(&word).is_ok()
}

/// Whether two words are forms of one, or one is a part of the other, as in German compounds.
pub(super) fn are_related(a: &str, b: &str) -> bool {
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() == long.len() && shared == long.len()
        || shared >= LEAST_STEM && 5 * shared >= 3 * long.len()
        || short.len() >= LEAST_PART && long.contains(short)
}

/// The bytes of a word that is long enough to mean something.
const LEAST_CONTENT: usize = 3;

/// The bytes that forms of a word share at the beginning, and at least three in five of the longer one.
const LEAST_STEM: usize = 4;

/// The bytes of a word that can be a part of another.
const LEAST_PART: usize = 5;

/// Words of keys and descriptions that are in every text. Sorted, and as [`fold`] leaves them.
const FUNCTION_WORDS: [&str; 65] = [
    "and", "are", "avec", "been", "can", "con", "dans", "darf", "das", "del", "der", "des", "did",
    "die", "doit", "dos", "ein", "eine", "est", "esta", "for", "had", "has", "hat", "have", "hay",
    "ist", "its", "kann", "las", "les", "los", "may", "mit", "muss", "must", "one", "para", "peut",
    "pour", "pude", "qui", "should", "sind", "soll", "sont", "that", "the", "this", "tiene", "una",
    "und", "une", "von", "war", "was", "werden", "what", "whether", "which", "who", "will", "wird",
    "with", "wurde",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_small_letters_without_accents() {
        let said = "Größe größe Groesse GROESSE Été e\u{301}te\u{301} señal Don't d'accord";
        let found: Vec<String> = words(said).into_iter().map(|word| word.text).collect();
        assert_eq!(
            found,
            [
                "grosse", "grosse", "grosse", "grosse", "ete", "ete", "senal", "dont", "d",
                "accord"
            ]
        );
    }

    #[test]
    fn words_know_their_bytes() {
        let text = "à la carteDeVins";
        let found: Vec<&str> = { words(text).into_iter() }
            .map(|word| &text[word.start..word.end])
            .collect();
        assert_eq!(found, ["à", "la", "carte", "De", "Vins"]);
    }

    #[test]
    fn forms_and_compounds_are_related() {
        for (a, b) in [
            ("pet", "pet"),
            ("delivery", "delivered"),
            ("miete", "mieten"),
            ("kaltmiete", "miete"),
            ("aprobado", "aprobar"),
        ] {
            assert!(are_related(a, b) && are_related(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("pet", "petrol"),
            ("rate", "separate"),
            ("united", "until"),
            ("", "a"),
        ] {
            assert!(!are_related(a, b) && !are_related(b, a), "{a} {b}");
        }
    }

    #[test]
    fn function_words_are_left_out() {
        let found = content_words(["isPaid", "whether the invoice was paid", "id of it"]);
        assert_eq!(found, ["paid", "invoice"]);
        assert!(FUNCTION_WORDS.is_sorted());
        for word in FUNCTION_WORDS {
            assert_eq!(words(word)[0].text, word);
        }
    }
}
