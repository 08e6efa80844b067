//! Numbers in words: `twenty-five`, `quatre-vingt-dix`, `treinta y cinco`, `zweitausenddreihundert`, `half a dozen`.

use super::quantity::Quantity;
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Language, Number};

/// Larger products of scales are not words that people use.
const MAX_TOTAL: i128 = 10i128.pow(24);

pub(super) fn scan(tokens: &Tokens<'_>, list: &mut Vec<Quantity>) {
    for (at, number) in &tokens.compounds {
        let language = Some(Language::German);
        list.push(Quantity {
            language,
            ..Quantity::of(*at, at + 1, *number)
        });
    }
    let mut read_until = [0; Language::ALL.len()];
    let mut longest = 0..0;
    for at in 0..tokens.len() {
        let mut tried = [false; Language::ALL.len()];
        for entry in tokens.entries(at) {
            let language = entry.language as usize;
            if at < read_until[language] || std::mem::replace(&mut tried[language], true) {
                continue;
            }
            if let Some((end, number)) = number(tokens, at, entry.language) {
                // It is a part of a longer number of another language.
                if longest.start < at && end <= longest.end {
                    continue;
                }
                if end > longest.end {
                    longest = at..end;
                }
                read_until[language] = end;
                add(tokens, at, end, number, entry.language, list);
            }
        }
    }
}

/// Adds a number once, since languages share words: `six`, `million`. If the words are another number in the language
/// of the text, only that one counts: `six billion`.
fn add(
    tokens: &Tokens<'_>,
    at: usize,
    end: usize,
    number: Number,
    language: Language,
    list: &mut Vec<Quantity>,
) {
    let added = Quantity {
        language: Some(language),
        ..Quantity::of(at, end, number)
    };
    let from = list.len().saturating_sub(Language::ALL.len());
    let known = list[from..]
        .iter_mut()
        .find(|known| (known.first, known.end) == (at, end));
    match known {
        Some(known) if known.readings == added.readings => {}
        Some(known) if language == tokens.language => *known = added,
        Some(known) if known.language == Some(tokens.language) => {}
        _ => list.push(added),
    }
}

/// Returns the number that starts at a word, in one language, and its end.
fn number(tokens: &Tokens<'_>, at: usize, language: Language) -> Option<(usize, Number)> {
    let (end, number) =
        part_of_larger(tokens, at, language).or_else(|| whole(tokens, at, language))?;
    Some(spoken_fraction(tokens, end, number, language).unwrap_or((end, number)))
}

/// `half a dozen`, `ein halbes Dutzend`, `half a million`; a half or a quarter on its own.
fn part_of_larger(tokens: &Tokens<'_>, at: usize, language: Language) -> Option<(usize, Number)> {
    let next = |at: usize| {
        at + usize::from(matches!(tokens.kind(at), Some(Kind::Space)) || tokens.is_hyphen(at))
    };
    let mut part = at;
    let three = tokens.has(at, language, Sense::Unit(3));
    if three || tokens.has(at, language, Sense::Unit(1)) || tokens.has(at, language, Sense::Article)
    {
        part = next(at + 1);
    }
    let divisor = tokens
        .senses(part, language)
        .find_map(|sense| match sense {
            Sense::Half if !three => Some(2),
            Sense::Quarter => Some(4),
            _ => None,
        })?;
    if three {
        return Some((part + 1, Number::new(75, 2)?));
    }
    let mut of = next(part + 1);
    if tokens.has(of, language, Sense::Article) {
        of = next(of + 1);
    }
    let larger = tokens.senses(of, language).find_map(|sense| match sense {
        Sense::Collective(size) => Some(u64::from(size)),
        Sense::Scale(scale) if scale > 1 && tokens.str(of).len() > 1 => Some(scale),
        _ => None,
    });
    match larger {
        Some(size) => Some((
            of + 1,
            Number::new(i128::from(size), 0)?.divided(divisor, 2)?,
        )),
        None => Some((part + 1, Number::from(1).divided(divisor, 2)?)),
    }
}

/// A number that grows word by word: `total` in thousands and more, `group` below.
#[derive(Default)]
struct Growing {
    total: i128,
    group: i128,
    last: Option<Sense>,
    /// The smallest scale so far.
    scale: Option<i128>,
}

impl Growing {
    /// Adds the word if it can continue the number; returns whether it could.
    fn add(&mut self, sense: Sense, language: Language) -> bool {
        let opens = matches!(self.last, None | Some(Sense::Scale(_)));
        let after_hundreds =
            opens || matches!(self.last, Some(Sense::Hundred | Sense::Hundreds(_)));
        let french = language == Language::French;
        let grown = match sense {
            Sense::Zero if self.last.is_none() => 0,
            Sense::Unit(unit) if after_hundreds || self.after_ten() => {
                self.group + i128::from(unit)
            }
            Sense::Teen(teen) if after_hundreds => self.group + i128::from(teen),
            Sense::Teen(teen) if french && matches!(self.last, Some(Sense::Ten(60 | 80))) => {
                self.group + i128::from(teen)
            }
            // Seventeen to nineteen are ten-seven to ten-nine.
            Sense::Unit(unit @ 7..=9) if french && self.last == Some(Sense::Teen(10)) => {
                self.group + i128::from(unit)
            }
            Sense::Ten(ten) if after_hundreds => self.group + i128::from(ten),
            Sense::Ten(20)
                if french && self.last == Some(Sense::Unit(4)) && self.group % 100 == 4 =>
            {
                self.group += 76;
                self.last = Some(Sense::Ten(80));
                return true;
            }
            Sense::Hundreds(hundreds) if opens => i128::from(hundreds),
            Sense::Hundred if opens => 100,
            Sense::Hundred if self.group < 100 && self.group > 0 => self.group * 100,
            Sense::Scale(scale) => return self.multiply(i128::from(scale)),
            _ => return false,
        };
        // Nothing follows zero: `zero five` is two numbers.
        if self.last == Some(Sense::Zero) {
            return false;
        }
        self.group = grown;
        self.last = Some(sense);
        true
    }

    fn after_ten(&self) -> bool {
        matches!(self.last, Some(Sense::Ten(ten)) if ten % 10 == 0)
    }

    fn multiply(&mut self, scale: i128) -> bool {
        let counted = self.group.max(i128::from(self.last.is_none()));
        if counted > 0 && self.scale.is_none_or(|smallest| scale < smallest) {
            self.total += counted * scale;
        } else if self.group == 0
            && self.total > 0
            && self.scale.is_some_and(|smallest| scale > smallest)
        {
            // `mil millones`.
            match self.total.checked_mul(scale) {
                Some(total) if total < MAX_TOTAL => self.total = total,
                _ => return false,
            }
        } else {
            return false;
        }
        self.group = 0;
        self.scale = Some(scale);
        self.last = Some(Sense::Scale(scale as u64));
        true
    }

    /// Adds a smaller number of one word after a scale: `zwei Millionen fünfhunderttausend`.
    fn add_rest(&mut self, rest: i128) -> bool {
        let added = self.group == 0 && self.scale.is_some_and(|scale| rest < scale);
        self.total += if added { rest } else { 0 };
        added
    }

    /// Returns whether the language puts "and" between the number so far and a smaller one.
    fn takes_and(&self, language: Language) -> bool {
        match language {
            Language::English | Language::German => {
                matches!(self.last, Some(Sense::Hundred | Sense::Scale(_)))
            }
            Language::French | Language::Spanish => self.after_ten(),
        }
    }
}

fn whole(tokens: &Tokens<'_>, at: usize, language: Language) -> Option<(usize, Number)> {
    let mut growing = Growing::default();
    let mut next = at;
    let mut end = at;
    if tokens.has(at, language, Sense::Article) {
        next = tokens.skip_space(at + 1);
        // Only `a hundred` and the like: an article alone is not a number.
        let counts = |sense| {
            matches!(
                sense,
                Sense::Hundred | Sense::Scale(_) | Sense::Collective(_)
            )
        };
        if next == at + 1
            || tokens.str(next).len() == 1
            || !tokens.senses(next, language).any(counts)
        {
            return None;
        }
    }
    loop {
        // A single letter such as `k` is a scale only directly after digits.
        let word = Some(next).filter(|word| tokens.str(*word).len() > 1 || next != at);
        let senses = word
            .into_iter()
            .flat_map(|word| tokens.senses(word, language));
        let mut added = false;
        for sense in senses {
            match sense {
                Sense::Collective(size) if growing.total == 0 => {
                    let count = growing.group.max(1);
                    return Some((next + 1, Number::new(count * i128::from(size), 0)?));
                }
                Sense::Tenths(tenths) if growing.last.is_none() => {
                    return Some((next + 1, Number::new(i128::from(tenths), 1)?));
                }
                // A million needs a number or an article, or is an abbreviation.
                Sense::Scale(100_000..) if next == at => {}
                _ if !added => added = growing.add(sense, language),
                _ => {}
            }
        }
        if !added {
            if let Some(rest) = compound_after(tokens, next, language)
                && growing.add_rest(rest)
            {
                end = next + 1;
            }
            break;
        }
        end = next + 1;
        let after =
            end + usize::from(tokens.kind(end) == Some(Kind::Space) || tokens.is_hyphen(end));
        if after == end {
            break;
        }
        // `twenty-third` is an ordinal.
        if tokens.is_hyphen(end)
            && tokens
                .senses(after, language)
                .any(|sense| matches!(sense, Sense::Ordinal(_)))
        {
            return None;
        }
        let and = growing.takes_and(language) && tokens.has(after, language, Sense::And);
        next = if and { after + 2 } else { after };
    }
    growing.last?;
    Some((end, Number::new(growing.total + growing.group, 0)?))
}

/// Returns the German number of one word at a position.
fn compound_after(tokens: &Tokens<'_>, at: usize, language: Language) -> Option<i128> {
    let compounds = &tokens.compounds;
    let found = compounds.binary_search_by_key(&at, |(at, _)| *at).ok()?;
    let number = compounds[found].1.to_integer();
    number.filter(|_| language == Language::German)
}

/// `three point one four`: the digits after the point, one by one, or as a number in `drei Komma fünf`.
fn spoken_fraction(
    tokens: &Tokens<'_>,
    end: usize,
    whole: Number,
    language: Language,
) -> Option<(usize, Number)> {
    let point = tokens.skip_space(end);
    if point == end || !tokens.has(point, language, Sense::Point) {
        return None;
    }
    let mut digits = String::new();
    let mut last = point + 1;
    loop {
        let at = tokens.skip_space(last);
        let digit = tokens.senses(at, language).find_map(|sense| match sense {
            Sense::Zero => Some(0),
            Sense::Unit(unit) => Some(unit),
            _ => None,
        });
        match digit {
            Some(digit) if at > last && digits.len() < 9 => digits.push(char::from(b'0' + digit)),
            _ => break,
        }
        last = at + 1;
    }
    let whole = whole.to_integer()?.to_string();
    let number = Number::from_digits([whole.as_str()], &digits)?;
    (!digits.is_empty()).then_some((last, number))
}
