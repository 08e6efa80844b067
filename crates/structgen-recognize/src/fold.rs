//! Folds words to lowercase without accents.

/// Appends the folded word: `März` is `marz`, `DREISSIG` and `dreißig` are `dreissig`.
pub(crate) fn fold_into(word: &str, folded: &mut String) {
    if word.is_ascii() {
        folded.push_str(word);
        folded.make_ascii_lowercase();
        return;
    }
    for character in word.chars().flat_map(char::to_lowercase) {
        match character {
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => folded.push('a'),
            'ç' => folded.push('c'),
            'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
            'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
            'ñ' => folded.push('n'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => folded.push('o'),
            'ù' | 'ú' | 'û' | 'ü' => folded.push('u'),
            'ł' => folded.push('l'),
            'ß' => folded.push_str("ss"),
            'œ' => folded.push_str("oe"),
            _ if is_combining(character) => {}
            _ => folded.push(character),
        }
    }
}

/// Returns whether this is a combining mark.
pub(crate) fn is_combining(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}
