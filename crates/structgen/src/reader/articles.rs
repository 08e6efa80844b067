//! Articles: strings do not begin with one, as in "the venue is the Methodist hall".

use std::collections::HashSet;
use std::sync::LazyLock;

use super::text_units::TextUnits;

/// Lowercase articles of English, German, French and Spanish, whatever the language of the text. Those with a capital
/// letter may begin a title.
static ARTICLES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("articles.txt").split_whitespace().collect());

/// The logit of an article.
const LEAST: f32 = -30.0;

/// A place that gained what the article before it had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AfterArticle {
    pub(super) word: usize,
    pub(super) article: usize,
    /// The share that comes from the article.
    pub(super) share: f64,
}

/// Makes a string begin after the article where it would begin with one: the place of the article gives what it has to
/// the next one. They come in their order.
pub(super) fn leave_out_articles(
    text: &str,
    units: &TextUnits,
    starts: &mut [f32],
) -> Vec<AfterArticle> {
    let mut found = Vec::new();
    // From left to right, so what an article before an article has goes on to the word.
    for &article in &units.starts {
        let Some(word) = after_article(text, units, article) else {
            continue;
        };
        let [given, own] = [article, word].map(|at| units.first + at);
        let sum = log_add(starts[own], starts[given]);
        found.push(AfterArticle {
            word,
            article,
            share: f64::from(starts[given] - sum).exp(),
        });
        (starts[own], starts[given]) = (sum, LEAST);
    }
    found
}

/// The unit at which a value can begin right after an article; `None` after anything else.
fn after_article(text: &str, units: &TextUnits, article: usize) -> Option<usize> {
    let span = &units.spans[article];
    let (own, rest) = (&text[span.clone()], &text[span.end..]);
    let word = match rest.strip_prefix(['\'', '’']) {
        Some(word) => (own == "l").then_some(word)?,
        None => ARTICLES.contains(own).then_some(rest.trim_start())?,
    };
    let at = text.len() - word.len();
    let is_word = at > span.end && word.starts_with(char::is_alphanumeric);
    let unit = units.at(at).filter(|_| is_word)?;
    units.starts.binary_search(&unit).is_ok().then_some(unit)
}

/// The logarithm of the sum of two numbers that are given as logarithms.
fn log_add(a: f32, b: f32) -> f32 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::super::text_units::tests::units_of;
    use super::*;

    /// The words that gain from articles before them.
    fn gaining(text: &str) -> Vec<&str> {
        let units = units_of(text);
        let mut starts = vec![0.0; units.spans.len()];
        leave_out_articles(text, &units, &mut starts);
        { units.spans.iter().zip(starts) }
            .filter(|(_, start)| *start > 0.0)
            .map(|(span, _)| &text[span.clone()])
            .collect()
    }

    #[test]
    fn what_stands_after_an_article_gains() {
        assert_eq!(
            gaining("at the Methodist hall, a\nsmall one"),
            ["Methodist", "small"]
        );
        assert_eq!(gaining("für den Kinderchor"), ["Kinderchor"]);
        assert_eq!(gaining("dans l'emballage et l’étui"), ["emballage", "étui"]);
    }

    #[test]
    fn titles_and_other_words_keep_what_they_have() {
        let none: [&str; 0] = [];
        assert_eq!(gaining("The Man, Los Angeles, L'Oréal"), none);
        assert_eq!(gaining("plan a, b; the (old) one; l' x"), none);
        assert_eq!(gaining("the"), none);
    }

    #[test]
    fn nothing_is_lost() {
        let text = "the old mill";
        let units = units_of(text);
        let mut starts = vec![0.0; units.spans.len()];
        (starts[units.starts[0]], starts[units.starts[1]]) = (3.0, 1.0);
        let found = leave_out_articles(text, &units, &mut starts);
        let expected = (3f32.exp() + 1f32.exp()).ln();
        let [one] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((one.article, one.word), (units.starts[0], units.starts[1]));
        assert!((one.share - f64::from(3f32.exp() / expected.exp())).abs() < 1e-5);
        assert!((starts[units.starts[1]] - expected).abs() < 1e-5);
        assert_eq!(starts[units.starts[0]], LEAST);
    }
}
