//! The interned values that items are compared with, and how far a text agrees with theirs.
//!
//! Strings and numbers are trees by their characters and digits, in which a text has one position, however many values
//! there are. Each other value has a position of its own.

mod numbers;
mod stepped;
mod strings;

use structgen_grammar::JsonForm;

use super::StepError;
use crate::interned::Interned;
use crate::json::{TextSet, TextSets};
use crate::value::Value;
use crate::{ByteSet, LimitExceeded};

use numbers::NumberProgress;
use stepped::{MAX_VALUES, SteppedSet, SteppedSets};
use strings::{AfterByte, StringProgress};

/// The number of an interned value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(u32);

/// Values that an item must differ from, and the position in the text of each; values with another text so far are
/// dropped. Equal ones have equal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Excluded(u32);

impl Excluded {
    /// No values.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn of(number: u32) -> Self {
        Self(number)
    }
}

/// The interned values.
#[derive(Debug)]
pub(super) struct Values {
    form: JsonForm,
    values: Interned<Value>,
    /// What the numbers of [`Excluded`] stand for.
    sets: Interned<Progress>,
    /// Strings and numbers.
    texts: TextSets,
    others: SteppedSets,
    /// The number of bytes that values own.
    bytes: usize,
}

/// The position in the texts of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Progress {
    /// Before the first byte that is not whitespace.
    Before(Unread),
    String(StringProgress),
    Number(NumberProgress),
    Other(SteppedSet),
    /// After the last byte of a string.
    End,
}

/// Values of which nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Unread {
    strings: TextSet,
    numbers: TextSet,
    others: SteppedSet,
}

impl Unread {
    const NONE: Self = Self {
        strings: TextSet::NONE,
        numbers: TextSet::NONE,
        others: SteppedSet::NONE,
    };
}

impl Values {
    pub(super) fn new(form: JsonForm) -> Self {
        let mut sets = Interned::default();
        let none = sets.id(Progress::Before(Unread::NONE));
        debug_assert_eq!(none, Excluded::NONE.0);
        Self {
            others: SteppedSets::new(form.clone()),
            form,
            values: Interned::default(),
            sets,
            texts: TextSets::default(),
            bytes: 0,
        }
    }

    /// Returns the number of a value.
    pub(super) fn id(&mut self, value: Value) -> Result<ValueId, LimitExceeded> {
        let size = value.memory();
        let before = self.values.len();
        let id = self.values.id(value);
        if id >= MAX_VALUES {
            return Err(LimitExceeded {
                what: "values that items are compared with",
                limit: MAX_VALUES.into(),
            });
        }
        self.bytes += size * (self.values.len() - before);
        Ok(ValueId(id))
    }

    /// Returns the values with one more, of which nothing was read.
    pub(super) fn with(&mut self, set: Excluded, value: ValueId) -> Excluded {
        let mut unread = self.unread(set);
        match self.values.get(value.0) {
            Value::String(text) => {
                unread.strings = self.texts.with(unread.strings, text.as_bytes());
            }
            Value::Number(number) => {
                unread.numbers = numbers::with(unread.numbers, number, &self.texts);
            }
            _ => unread.others = self.others.with(unread.others, value),
        }
        Excluded(self.sets.id(Progress::Before(unread)))
    }

    /// Returns whether a value is among those of which nothing was read.
    pub(super) fn has(&self, set: Excluded, value: &Value) -> bool {
        let unread = self.unread(set);
        match value {
            Value::String(text) => self.texts.has(unread.strings, text.as_bytes()),
            Value::Number(number) => numbers::has(unread.numbers, number, &self.texts),
            _ => self
                .values
                .find(value)
                .is_some_and(|id| self.others.has(unread.others, ValueId(id))),
        }
    }

    fn unread(&self, set: Excluded) -> Unread {
        match *self.sets.get(set.0) {
            Progress::Before(unread) => unread,
            _ => Unread::NONE,
        }
    }

    /// Returns the values that are left after one more byte.
    pub(super) fn step(&mut self, set: Excluded, byte: u8) -> Result<Excluded, StepError> {
        let progress = match *self.sets.get(set.0) {
            Progress::Before(_) if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => return Ok(set),
            Progress::Before(unread) => self.begin(unread, byte)?,
            Progress::String(progress) => match progress.step(byte, &self.texts) {
                AfterByte::Inside(progress) => Some(Progress::String(progress)),
                AfterByte::Ended => Some(Progress::End),
                AfterByte::Nothing => None,
            },
            Progress::Number(progress) => self.step_number(progress, byte),
            Progress::Other(others) => self.step_others(others, byte)?,
            Progress::End => None,
        };
        Ok(progress.map_or(Excluded::NONE, |progress| Excluded(self.sets.id(progress))))
    }

    fn begin(&mut self, unread: Unread, byte: u8) -> Result<Option<Progress>, StepError> {
        let Unread {
            strings,
            numbers,
            others,
        } = unread;
        match byte {
            b'"' if strings == TextSet::NONE => Ok(None),
            b'"' => Ok(Some(Progress::String(StringProgress::opened(strings)))),
            b'-' | b'0'..=b'9' if numbers == TextSet::NONE => Ok(None),
            b'-' => {
                let progress = NumberProgress::signed(numbers, true, &self.texts);
                Ok(Some(Progress::Number(progress)))
            }
            b'0'..=b'9' => {
                let progress = NumberProgress::signed(numbers, false, &self.texts);
                Ok(self.step_number(progress, byte))
            }
            _ => self.step_others(others, byte),
        }
    }

    fn step_number(&self, progress: NumberProgress, byte: u8) -> Option<Progress> {
        let next = progress.step(byte, &self.form.numbers, &self.texts);
        next.map(Progress::Number)
    }

    fn step_others(&mut self, others: SteppedSet, byte: u8) -> Result<Option<Progress>, StepError> {
        let next = self.others.step(others, byte, &self.values)?;
        Ok((next != SteppedSet::NONE).then_some(Progress::Other(next)))
    }

    /// Returns a superset of the bytes that may come next in a text: after any other byte, no value is left.
    pub(super) fn first(&mut self, set: Excluded) -> Result<ByteSet, StepError> {
        let mut first = ByteSet::default();
        match *self.sets.get(set.0) {
            Progress::Before(unread) if unread == Unread::NONE => {}
            Progress::Before(unread) => {
                first = ByteSet::of(b" \t\n\r");
                if unread.strings != TextSet::NONE {
                    first.insert(b'"');
                }
                if unread.numbers != TextSet::NONE {
                    first.union_with(NumberProgress::FIRST);
                }
                self.others
                    .add_first(unread.others, &self.values, &mut first)?;
            }
            Progress::String(progress) => progress.add_first(&self.texts, &mut first),
            Progress::Number(_) => first = NumberProgress::FIRST,
            Progress::Other(others) => self.others.add_first(others, &self.values, &mut first)?,
            Progress::End => {}
        }
        Ok(first)
    }

    /// Returns the number of values that are left within a string.
    pub(super) fn strings(&self, set: Excluded) -> Option<u32> {
        match *self.sets.get(set.0) {
            Progress::String(progress) => Some(progress.len(&self.texts)),
            _ => None,
        }
    }

    /// Returns for each value the keys whose colon was not read. `None` if some value is not an object whose text has
    /// begun, or there are more than `most` values.
    pub(super) fn keys_left(&self, set: Excluded, most: usize) -> Option<Vec<Vec<&str>>> {
        let Progress::Other(others) = *self.sets.get(set.0) else {
            return None;
        };
        let mut left = Vec::new();
        let is_known = self.others.add_keys_left(others, most, &mut left);
        is_known.then_some(left)
    }

    /// Returns whether the text is one of a value's.
    pub(super) fn is_text(&self, set: Excluded) -> bool {
        match *self.sets.get(set.0) {
            Progress::Before(_) | Progress::String(_) => false,
            Progress::Number(progress) => progress.is_text(&self.texts),
            Progress::Other(others) => self.others.is_text(others),
            Progress::End => true,
        }
    }

    /// Returns the approximate size in bytes of the values and of what reads them.
    pub(super) fn memory(&self) -> usize {
        self.bytes
            + self.values.memory()
            + self.sets.memory()
            + self.texts.memory()
            + self.others.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a text is one of some values', and whether some of them continue after it.
    fn read(values: &[&str], text: &str, form: JsonForm) -> (bool, bool) {
        let mut store = Values::new(form);
        let mut set = Excluded::NONE;
        for value in values {
            let id = store.id(Value::read(value.as_bytes()).expect("not deep"));
            set = store.with(set, id.expect("few values"));
        }
        for byte in text.bytes() {
            let first = store.first(set).expect("no limit");
            let next = store.step(set, byte).expect("no limit");
            assert!(
                next == Excluded::NONE || first.contains(byte),
                "{text}: {byte}"
            );
            set = next;
        }
        (store.is_text(set), set != Excluded::NONE)
    }

    fn is_text(values: &[&str], text: &str) -> bool {
        read(values, text, JsonForm::exact()).0
    }

    #[test]
    fn strings_are_found_in_every_way_to_write_them() {
        let values = [r#""ab""#, r#""a/é""#, r#""😀""#, r#""\n\"""#, r#""""#];
        for text in [
            r#""ab""#,
            r#" "\u0061b""#,
            r#""a\/\u00E9""#,
            r#""a/é""#,
            r#""\ud83d\uDE00""#,
            r#""😀""#,
            r#""\u000a\u0022""#,
            r#""""#,
        ] {
            assert!(is_text(&values, text), "{text}");
        }
        for text in [
            r#""a""#,
            r#""abc""#,
            r#""a/e""#,
            r#""\ud83d\ude01""#,
            r#""ab"#,
            r#""ab" "#,
        ] {
            assert!(!is_text(&values, text), "{text}");
        }
    }

    #[test]
    fn strings_are_left_with_the_first_character_that_they_do_not_have() {
        let goes_on = |text| read(&[r#""abc""#, r#""aé""#], text, JsonForm::exact()).1;
        for text in [r#""a"#, r#""a\"#, r#""a\u00"#, r#""a\u00e"#, r#""ab\u0063"#] {
            assert!(goes_on(text), "{text}");
        }
        for text in [r#""b"#, r#""a\n"#, r#""a\u01"#, r#""abd"#, r#""abc\"#] {
            assert!(!goes_on(text), "{text}");
        }
    }

    #[test]
    fn numbers_are_found_in_every_way_to_write_them() {
        let values = ["12", "120", "1.25", "-0.005", "0", "3e30"];
        for text in [
            "12", "1.2e1", "12.00", "0.012e3", "1200e-2", "120", "12e1", "1.2E+2", "1.25",
            "125e-02", "-0.005", "-5e-3", "-0.00500", "0", "-0", "0.000", "0e7", "3e30", "0.3e31",
            "300E28",
        ] {
            assert!(is_text(&values, text), "{text}");
        }
        for text in [
            "1", "-12", "1.2", "1200", "12e2", "0.005", "0.0001", "3e3", "3e31", "12e",
        ] {
            assert!(!is_text(&values, text), "{text}");
        }
    }

    #[test]
    fn numbers_without_exponents_are_left_where_the_point_stands_elsewhere() {
        let goes_on = |text| read(&["12", "120", "1.25"], text, JsonForm::generate());
        assert_eq!(goes_on("12"), (true, true));
        assert_eq!(goes_on("120"), (true, true));
        assert_eq!(goes_on("12.0"), (true, true));
        assert_eq!(goes_on("1200"), (false, false));
        assert_eq!(goes_on("120.00"), (true, true));
        assert_eq!(goes_on("13"), (false, false));
        assert_eq!(goes_on("-1"), (false, false));
    }

    #[test]
    fn other_values_are_compared_part_by_part() {
        let values = [r#"{"a":1,"b":[true]}"#, "null", "[]", r#"["a"]"#];
        for text in [r#"{"b":[true],"a":1.0}"#, "null", "[ ]", r#"["\u0061"]"#] {
            assert!(is_text(&values, text), "{text}");
        }
        for text in [r#"{"b":[true]}"#, "true", "[[]]", r#"["b"]"#, r#""a""#, "1"] {
            assert!(!is_text(&values, text), "{text}");
        }
    }
}
