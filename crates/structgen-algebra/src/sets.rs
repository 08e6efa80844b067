//! Regular sets that grammars are often restricted to.

use structgen_grammar::{CharSet, Regular};

/// All texts of ASCII characters only.
#[must_use]
pub fn ascii_only() -> Regular {
    Regular::repeat(Regular::Chars(CharSet::new([('\0', '\x7F')])), 0, None)
}

/// All texts of at most `characters` characters.
#[must_use]
pub fn at_most(characters: u32) -> Regular {
    Regular::repeat(Regular::Chars(CharSet::all()), 0, Some(characters))
}

/// All texts in which none of the words occurs anywhere. The empty word occurs in every text.
#[must_use]
pub fn without(words: impl IntoIterator<Item = impl AsRef<str>>) -> Regular {
    let words = words
        .into_iter()
        .map(|word| Regular::literal(word.as_ref()));
    let any = Regular::any_text;
    let with = Regular::concat([any(), Regular::union(words), any()]);
    Regular::Complement(with.into())
}
