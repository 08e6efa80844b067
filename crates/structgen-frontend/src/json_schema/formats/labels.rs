//! Whether one given name is valid, label by label: RFC 5890 to 5893 with the tables of `idna.txt`. Finite automata
//! cannot decide this, since it involves Punycode.
//!
//! That U-labels are in Unicode's normalisation form C is not checked.

use std::sync::LazyLock;

use super::idna::Tables;
use super::punycode::{decode, encode};

/// Full stops: RFC 3490, section 3.1.
pub(super) const SEPARATORS: &str = ".\u{3002}\u{FF0E}\u{FF61}";

/// Which labels a name may have.
#[derive(Clone, Copy)]
pub(super) struct LabelRules {
    /// Whether labels may be U-labels, and whether any of [`SEPARATORS`] separates them.
    pub(super) takes_unicode: bool,
    /// Whether labels with hyphens in both the third and the fourth position must be valid A-labels.
    pub(super) checks_reserved: bool,
}

/// Whether the text is a name with such labels.
pub(super) fn is_name(text: &str, rules: LabelRules) -> bool {
    let separators = if rules.takes_unicode { SEPARATORS } else { "." };
    let mut labels = Vec::new();
    // With a full stop after each label, one more than a name may have.
    let mut left: usize = 254;
    for part in text.split(|c| separators.contains(c)) {
        let Some(label) = Label::read(part, rules) else {
            return false;
        };
        match left.checked_sub(label.ascii_length + 1) {
            Some(rest) => left = rest,
            None => return false,
        }
        labels.push(label);
    }
    !labels.iter().any(Label::is_right_to_left) || labels.iter().all(Label::meets_bidi_rule)
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

struct Label {
    /// In lower case; of an A-label, what it encodes.
    chars: Vec<char>,
    ascii_length: usize,
}

impl Label {
    fn read(text: &str, rules: LabelRules) -> Option<Self> {
        /// The maximum number of octets.
        const MAX_LENGTH: usize = 63;
        const PREFIX: &str = "xn--";
        if !text.is_ascii() {
            // Each character takes an octet at least.
            let chars: Vec<char> = text.chars().take(MAX_LENGTH).collect();
            let is_valid = rules.takes_unicode
                && chars.len() + PREFIX.len() <= MAX_LENGTH
                && is_unicode_label(&chars);
            let ascii_length = PREFIX.len() + if is_valid { encode(&chars).len() } else { 0 };
            return (is_valid && ascii_length <= MAX_LENGTH).then_some(Self {
                chars,
                ascii_length,
            });
        }
        let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = text.as_bytes();
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        if bytes.len() > MAX_LENGTH
            || !is_end(bytes.first())
            || !is_end(bytes.last())
            || !bytes.iter().all(is_inner)
        {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let chars = match text.get(2..4) {
            Some("--") if rules.checks_reserved => {
                let encoded = text.strip_prefix(PREFIX)?;
                let label = decode(encoded)?;
                let is_unicode = label.iter().any(|c| !c.is_ascii());
                let is_valid = is_unicode && is_unicode_label(&label) && encode(&label) == encoded;
                is_valid.then_some(label)?
            }
            _ => text.chars().collect(),
        };
        Some(Self {
            chars,
            ascii_length: text.len(),
        })
    }

    fn is_right_to_left(&self) -> bool {
        let mut classes = self.chars.iter().map(|&c| BidiClass::of(c));
        classes.any(|class| matches!(class, BidiClass::Right | BidiClass::ArabicNumber))
    }

    /// RFC 5893, section 2.
    fn meets_bidi_rule(&self) -> bool {
        use BidiClass::{ArabicNumber, EuropeanNumber, Left, Neutral, Nonspacing, Right};
        let classes: Vec<BidiClass> = self.chars.iter().map(|&c| BidiClass::of(c)).collect();
        let last = classes.iter().rfind(|class| **class != Nonspacing);
        match classes.first() {
            Some(Left) => {
                let fits = |class: &BidiClass| !matches!(class, Right | ArabicNumber);
                classes.iter().all(fits) && matches!(last, Some(Left | EuropeanNumber))
            }
            Some(Right) => {
                let mixes = [EuropeanNumber, ArabicNumber].map(|class| classes.contains(&class));
                !classes.contains(&Left)
                    && mixes != [true, true]
                    && !matches!(last, None | Some(Neutral))
            }
            _ => false,
        }
    }
}

/// RFC 5892, and RFC 5891, section 4.2.3.
fn is_unicode_label(label: &[char]) -> bool {
    let is_hyphen = |index: usize| label.get(index) == Some(&'-');
    let starts_well = label
        .first()
        .is_some_and(|&c| c != '-' && !TABLES.marks.contains(c));
    starts_well
        && label.last() != Some(&'-')
        && !(is_hyphen(2) && is_hyphen(3))
        && (0..label.len()).all(|index| is_permitted(label, index))
}

/// Whether the character may occur at its position: RFC 5892, sections 2 and 3 and appendix A.
fn is_permitted(label: &[char], index: usize) -> bool {
    let before = index.checked_sub(1).map(|before| label[before]);
    let after = label.get(index + 1).copied();
    let follows_virama = || before.is_some_and(|c| TABLES.virama.contains(c));
    let has = |low: char, high: char| label.iter().any(|c| (low..=high).contains(c));
    match label[index] {
        '\u{B7}' => before == Some('l') && after == Some('l'),
        '\u{375}' => after.is_some_and(|c| TABLES.greek.contains(c)),
        '\u{5F3}' | '\u{5F4}' => before.is_some_and(|c| TABLES.hebrew.contains(c)),
        '\u{30FB}' => label.iter().any(|&c| TABLES.kana_and_han.contains(c)),
        '\u{660}'..='\u{669}' => !has('\u{6F0}', '\u{6F9}'),
        '\u{6F0}'..='\u{6F9}' => !has('\u{660}', '\u{669}'),
        '\u{200D}' => follows_virama(),
        '\u{200C}' => follows_virama() || is_between_joining(label, index),
        c => TABLES.all.contains(c),
    }
}

/// Whether the characters around the index, apart from transparent ones, join: RFC 5892, appendix A.1.
fn is_between_joining(label: &[char], index: usize) -> bool {
    let is_opaque = |c: &&char| !TABLES.transparent.contains(**c);
    let before = label[..index].iter().rfind(is_opaque);
    let after = label[index + 1..].iter().find(is_opaque);
    before.is_some_and(|&c| TABLES.joining_left.contains(c))
        && after.is_some_and(|&c| TABLES.joining_right.contains(c))
}

/// The bidirectional classes, as far as RFC 5893 distinguishes them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BidiClass {
    Left,
    Right,
    ArabicNumber,
    EuropeanNumber,
    Neutral,
    Nonspacing,
}

impl BidiClass {
    fn of(c: char) -> Self {
        if c == '-' || matches!(c, '\u{200C}' | '\u{200D}') {
            return Self::Neutral;
        }
        let classes = [
            (&TABLES.right_to_left, Self::Right),
            (&TABLES.arabic_number, Self::ArabicNumber),
            (&TABLES.european_number, Self::EuropeanNumber),
            (&TABLES.neutral, Self::Neutral),
            (&TABLES.nonspacing, Self::Nonspacing),
        ];
        let found = classes.iter().find(|(set, _)| set.contains(c));
        found.map_or(Self::Left, |(_, class)| *class)
    }
}
