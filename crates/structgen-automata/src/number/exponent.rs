//! The exponent part. Once the mantissa is written, the allowed exponents are one interval.

/// Stands for every exponent at or above it. Finite ends of intervals are smaller, so these exponents need not be
/// distinguished.
pub(super) const INFINITE: i64 = 100_000_000_000_000_000;

/// Exponents with more digits are infinite, unless the digits are leading zeros.
pub(super) const MOST_DIGITS: u16 = 18;

/// Returns the largest exponent of `digits` digits, up to [`INFINITE`].
pub(super) fn largest(digits: u16) -> i64 {
    10_i64
        .checked_pow(u32::from(digits))
        .map_or(INFINITE, |power| (power - 1).min(INFINITE))
}

/// A state after `e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exponent {
    part: ExponentPart,
    remaining: u16,
    /// The magnitude so far.
    value: i64,
    /// The interval of the exponent; after the sign, that of its magnitude.
    low: i64,
    high: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ExponentPart {
    /// After `e`.
    Mark,
    /// After the sign.
    Sign,
    Digits,
}

impl Exponent {
    /// Returns the state after `e` for an exponent of at most `digits` digits from `low` to `high`.
    pub(super) fn new(low: i64, high: i64, digits: u16) -> Option<Self> {
        let most = largest(digits);
        let state = Self {
            part: ExponentPart::Mark,
            remaining: digits,
            value: 0,
            low: low.max(-most),
            high: high.min(most),
        };
        (digits > 0 && state.low <= state.high).then_some(state)
    }

    pub(super) fn step(&self, byte: u8) -> Option<Self> {
        match (self.part, byte) {
            (ExponentPart::Mark, b'+') => self.signed(false),
            (ExponentPart::Mark, b'-') => self.signed(true),
            (ExponentPart::Mark, b'0'..=b'9') => self.signed(false)?.push(byte - b'0'),
            (_, b'0'..=b'9') => self.push(byte - b'0'),
            _ => None,
        }
    }

    pub(super) fn is_final(&self) -> bool {
        self.part == ExponentPart::Digits && (self.low..=self.high).contains(&self.value)
    }

    /// Returns the length of the shortest completion.
    pub(super) fn cost(&self) -> Option<u32> {
        match self.part {
            ExponentPart::Digits => self.digits_needed(0),
            ExponentPart::Sign => self.digits_needed(1),
            ExponentPart::Mark => {
                let plain = self.signed(false).and_then(|state| state.cost());
                let negative = self.signed(true).and_then(|state| state.cost());
                match (plain, negative) {
                    (Some(plain), Some(negative)) => Some(plain.min(negative + 1)),
                    (None, Some(negative)) => Some(negative + 1),
                    (plain, None) => plain,
                }
            }
        }
    }

    fn signed(&self, negative: bool) -> Option<Self> {
        let (low, high) = if negative {
            (-self.high, -self.low)
        } else {
            (self.low, self.high)
        };
        let state = Self {
            part: ExponentPart::Sign,
            low: low.max(0),
            high,
            ..*self
        };
        (state.low <= state.high).then_some(state)
    }

    fn push(&self, digit: u8) -> Option<Self> {
        let mut state = Self {
            part: ExponentPart::Digits,
            remaining: self.remaining.checked_sub(1)?,
            value: (self.value * 10 + i64::from(digit)).min(INFINITE),
            ..*self
        };
        state.digits_needed(0)?;
        // An end that every continuation satisfies is forgotten, so that equal states merge.
        if state.low <= state.value {
            state.low = 0;
        }
        if state.reach(u32::from(state.remaining)).1 <= state.high {
            state.high = INFINITE;
        }
        if (state.low, state.high) == (0, INFINITE) {
            state.value = 0;
        }
        Some(state)
    }

    /// Returns the smallest and the largest magnitude with exactly `more` further digits.
    fn reach(&self, more: u32) -> (i64, i64) {
        let power = i128::from(10_i64.checked_pow(more).unwrap_or(INFINITE));
        let low = i128::from(self.value) * power;
        let clip = |value: i128| value.min(i128::from(INFINITE)) as i64;
        (clip(low), clip(low + power - 1))
    }

    /// Returns the least number of further digits, at least `least`, that bring the magnitude into the interval.
    fn digits_needed(&self, least: u32) -> Option<u32> {
        // More digits than an infinite exponent has make no difference.
        let most = u32::from(self.remaining.min(MOST_DIGITS));
        (least..=most).find(|&more| {
            let (low, high) = self.reach(more);
            low <= self.high && self.low <= high
        })
    }
}
