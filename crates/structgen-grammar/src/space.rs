//! The white space of patterns.

/// The ASCII white space of both ECMA-262 and Python.
pub const ASCII_SPACE: [(char, char); 2] = [('\t', '\r'), (' ', ' ')];

/// The white space beyond ASCII that both share: spaces (Unicode's category Zs) and the line and paragraph separators.
pub const WIDE_SPACE: [(char, char); 7] = [
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
];

/// Returns the white space of ECMA-262: what `\s` stands for in the patterns of JSON Schema.
pub fn ecma_space() -> impl Iterator<Item = (char, char)> {
    let mark = ('\u{FEFF}', '\u{FEFF}');
    ASCII_SPACE.into_iter().chain(WIDE_SPACE).chain([mark])
}
