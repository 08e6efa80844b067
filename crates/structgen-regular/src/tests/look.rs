//! Look-around compared with a backtracking matcher.

use proptest::prelude::*;

use super::*;

/// A pattern, to be printed and to be matched.
#[derive(Clone, Debug)]
enum Pattern {
    Class(&'static str, &'static [char]),
    Any,
    Start,
    End,
    Boundary(bool),
    Sequence(Vec<Pattern>),
    Choice(Vec<Pattern>),
    Repeat(Box<Pattern>, usize, Option<usize>),
    Ahead(bool, Box<Pattern>),
    Behind(bool, Box<Pattern>),
}

impl Pattern {
    fn write(&self) -> String {
        let all = |parts: &[Self], between| {
            parts
                .iter()
                .map(Self::write)
                .collect::<Vec<_>>()
                .join(between)
        };
        match self {
            Self::Class(source, _) => (*source).to_owned(),
            Self::Any => ".".to_owned(),
            Self::Start => "^".to_owned(),
            Self::End => "$".to_owned(),
            Self::Boundary(true) => "\\b".to_owned(),
            Self::Boundary(false) => "\\B".to_owned(),
            Self::Sequence(parts) => all(parts, ""),
            Self::Choice(arms) => format!("(?:{})", all(arms, "|")),
            Self::Repeat(body, min, None) => format!("(?:{}){{{min},}}", body.write()),
            Self::Repeat(body, min, Some(max)) => format!("(?:{}){{{min},{max}}}", body.write()),
            Self::Ahead(true, body) => format!("(?={})", body.write()),
            Self::Ahead(false, body) => format!("(?!{})", body.write()),
            Self::Behind(true, body) => format!("(?<={})", body.write()),
            Self::Behind(false, body) => format!("(?<!{})", body.write()),
        }
    }

    /// Returns whether a match from `at` on can continue with `next`: continuation-passing style.
    fn matches(&self, text: &[char], at: usize, next: &mut dyn FnMut(usize) -> bool) -> bool {
        let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let is_word = |at: usize| text.get(at).is_some_and(word);
        match self {
            Self::Class(_, chars) => {
                text.get(at).is_some_and(|c| chars.contains(c)) && next(at + 1)
            }
            Self::Any => {
                let ends_line = |c: &char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
                text.get(at).is_some_and(|c| !ends_line(c)) && next(at + 1)
            }
            Self::Start => at == 0 && next(at),
            Self::End => at == text.len() && next(at),
            Self::Boundary(wanted) => {
                let before = at > 0 && is_word(at - 1);
                (before != is_word(at)) == *wanted && next(at)
            }
            Self::Sequence(parts) => match parts.split_first() {
                None => next(at),
                Some((first, rest)) => {
                    let rest = Self::Sequence(rest.to_vec());
                    first.matches(text, at, &mut |at| rest.matches(text, at, next))
                }
            },
            Self::Choice(arms) => arms.iter().any(|arm| arm.matches(text, at, next)),
            Self::Repeat(body, min, max) => Self::rounds(body, *min, *max, text, at, next),
            Self::Ahead(wanted, body) => {
                body.matches(text, at, &mut |_| true) == *wanted && next(at)
            }
            Self::Behind(wanted, body) => {
                let found = (0..=at).any(|from| body.matches(text, from, &mut |end| end == at));
                found == *wanted && next(at)
            }
        }
    }

    fn rounds(
        body: &Self,
        min: usize,
        max: Option<usize>,
        text: &[char],
        at: usize,
        next: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        if min == 0 && next(at) {
            return true;
        }
        if max == Some(0) {
            return false;
        }
        body.matches(text, at, &mut |end| {
            // After the minimum, a round that consumes nothing leads nowhere new.
            (end > at || min > 0)
                && Self::rounds(
                    body,
                    min.saturating_sub(1),
                    max.map(|max| max - 1),
                    text,
                    end,
                    next,
                )
        })
    }

    fn found_in(&self, text: &[char]) -> bool {
        (0..=text.len()).any(|at| self.matches(text, at, &mut |_| true))
    }

    /// Returns whether it looks ahead, which is not allowed in a look-behind.
    fn looks_ahead(&self) -> bool {
        match self {
            Self::End | Self::Boundary(_) | Self::Ahead(..) => true,
            Self::Sequence(parts) | Self::Choice(parts) => parts.iter().any(Self::looks_ahead),
            Self::Repeat(body, ..) | Self::Behind(_, body) => body.looks_ahead(),
            _ => false,
        }
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let leaf = prop_oneof![
        3 => Just(Pattern::Class("a", &['a'])),
        2 => Just(Pattern::Class("b", &['b'])),
        1 => Just(Pattern::Class("-", &['-'])),
        1 => Just(Pattern::Class("é", &['é'])),
        1 => Just(Pattern::Class("[ab]", &['a', 'b'])),
        1 => Just(Pattern::Class("[aé]", &['a', 'é'])),
        1 => Just(Pattern::Any),
        1 => Just(Pattern::Start),
        1 => Just(Pattern::End),
        1 => any::<bool>().prop_map(Pattern::Boundary),
    ];
    leaf.prop_recursive(5, 14, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 0..4).prop_map(Pattern::Sequence),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(Pattern::Choice),
            3 => (inner.clone(), 0_usize..4, prop::option::of(0_usize..3)).prop_map(
                |(body, min, more)| Pattern::Repeat(body.into(), min, more.map(|more| min + more))
            ),
            2 => (any::<bool>(), inner.clone())
                .prop_map(|(wanted, body)| Pattern::Ahead(wanted, body.into())),
            2 => (any::<bool>(), inner.prop_filter("it looks ahead", |body| !body.looks_ahead()))
                .prop_map(|(wanted, body)| Pattern::Behind(wanted, body.into())),
        ]
    })
}

/// Every text of up to `longest` letters.
fn texts(longest: usize) -> Vec<Vec<char>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..longest {
        let to = all.len();
        for index in from..to {
            for letter in ['a', 'b', '-', 'é'] {
                let mut longer: Vec<char> = all[index].clone();
                longer.push(letter);
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

fn set_of(pattern: &Pattern) -> Regular {
    let source = pattern.write();
    parse(&source, RegexOptions::json_schema()).expect(&source)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns_find_what_a_backtracking_matcher_finds(pattern in pattern()) {
        let mut machine = machine(&set_of(&pattern));
        for text in texts(4) {
            let expected = pattern.found_in(&text);
            let text: String = text.iter().collect();
            let found = machine.contains(text.as_bytes()).expect("within the limits");
            prop_assert_eq!(found, expected, "{} in {:?}", pattern.write(), text);
            if text.len() > 3 {
                continue;
            }
            let state = walk(&mut machine, text.as_bytes());
            prop_assert!(state.is_some() || !expected, "{} behind {:?}", pattern.write(), text);
            if let Some(state) = state {
                let mut whole = text.clone().into_bytes();
                whole.extend(completion(&mut machine, state));
                let whole = String::from_utf8(whole).expect("only texts match");
                let letters: Vec<char> = whole.chars().collect();
                prop_assert!(pattern.found_in(&letters), "{} in {:?}", pattern.write(), whole);
            }
        }
    }

    #[test]
    fn patterns_combine_like_sets(one in pattern(), other in pattern(), min in 0_u32..3) {
        let (left, right) = (set_of(&one), set_of(&other));
        let lengths = Regular::repeat(Regular::Chars(CharSet::all()), min, Some(min + 1));
        let mut both = machine(&Regular::Intersection([
            left.clone(),
            Regular::Complement(right.clone().into()),
            lengths,
        ].into()));
        let mut either = machine(&Regular::union([left.clone(), Regular::Complement(right.into())]));
        let mut in_brackets = machine(&Regular::concat([
            Regular::literal("<"),
            left,
            Regular::literal(">"),
        ]));
        for text in texts(3) {
            let (in_one, in_other) = (one.found_in(&text), other.found_in(&text));
            let fits = (min as usize..=min as usize + 1).contains(&text.len());
            let text: String = text.iter().collect();
            let names = format!("{} and {} in {text:?}", one.write(), other.write());
            let found = accepts(&mut both, text.as_bytes());
            prop_assert_eq!(found, in_one && !in_other && fits, "{}", names);
            let found = accepts(&mut either, text.as_bytes());
            prop_assert_eq!(found, in_one || !in_other, "{}", names);
            let inside = format!("<{text}>");
            prop_assert_eq!(accepts(&mut in_brackets, inside.as_bytes()), in_one, "{}", names);
        }
    }
}

/// Patterns of the crate `regex` with all its anchors.
fn places() -> impl Strategy<Value = String> {
    let place = prop::sample::select(vec![
        "^",
        "$",
        r"\b",
        r"\B",
        r"(?-u:\b)",
        r"\b{start}",
        r"\b{end}",
        r"\b{start-half}",
        r"\b{end-half}",
        "(?m:^)",
        "(?m:$)",
        "(?Rm:^)",
        "(?Rm:$)",
    ]);
    let leaf = prop_oneof![
        2 => "[aé-]",
        1 => Just("[\r\n]".to_owned()),
        2 => place.prop_map(str::to_owned),
    ];
    patterns(leaf, 4, 12, "\\*|\\+|\\?|\\{2,3\\}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn places_are_those_of_the_regex_crate(
        pattern in places(),
        texts in prop::collection::vec("[aé\\-\r\n]{0,5}", 24),
    ) {
        let theirs = regex_automata::meta::Regex::new(&pattern).expect("a pattern of the dialect");
        let options = RegexOptions::rust().with_search(true);
        let mut ours = machine(&parse(&pattern, options).expect("a pattern of the dialect"));
        for text in &texts {
            let found = accepts(&mut ours, text.as_bytes());
            prop_assert_eq!(found, theirs.is_match(text), "{} in {:?}", pattern, text);
        }
    }
}

#[test]
fn patterns_that_people_write() {
    check("^(?!foo).*$", &["", "fo", "afoo"], &["foo", "foobar"]);
    check(
        "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d).{4,8}$",
        &["aB3x", "xxxxA1xx"],
        &["aB3", "ab3x", "aB3xxxxxx"],
    );
    check("^(?:(?!--).)*$", &["", "a-b-c", "-"], &["--", "a--b"]);
    check(
        "\\bcat\\b",
        &["cat", "a cat.", "cat cat"],
        &["cats", "concat", "_cat"],
    );
    check("^\\Bx", &[], &["x", "xx"]);
    check(
        "(?<=\\$)\\d+(?!\\d|\\.)",
        &["$12", "a $3 b"],
        &["12", "$12.", "$"],
    );
    check("(?<!a)b", &["b", "cb", "abb"], &["ab", "a"]);
    check(
        "^(?:a(?=b)|b(?=a|$))*$",
        &["", "ab", "abab", "b"],
        &["a", "aa", "aba", "bb"],
    );
    check(
        "^((?!-)[a-z-]{1,5}(?<!-)\\.)+com$",
        &["a-b.com", "x.y.com"],
        &["-a.com", "a-.com"],
    );
    check("^(?!.*(.)\\bx).*$", &["xa", "ax"], &["-x", "a -x"]);
    check("(?=a)(?!a)", &[], &["", "a", "aa"]);
    check(
        "^(?=(?:..)*$)(?=(?:...)*$)a*$",
        &["", "aaaaaa"],
        &["aa", "aaa", "aaaa"],
    );
}

#[test]
fn contradictions_that_look_around_are_empty() {
    for pattern in [
        "^(?!a)a",
        "a\\bb",
        "^(?=b)(?:a|$)",
        "(?<=a)(?<!a)",
        "^(?:(?!a).)+$(?<=a)",
    ] {
        let set = parse(pattern, RegexOptions::json_schema()).expect(pattern);
        assert_eq!(
            is_empty(&set, RegularLimits::default()),
            Ok(true),
            "{pattern}"
        );
    }
}

#[test]
fn behind_the_start_a_set_is_as_plain_as_without_look_around() {
    let set = parse("^(?!foo)[a-z]{1,40}$", RegexOptions::json_schema()).expect("it is read");
    let mut machine = machine(&set);
    let state = walk(&mut machine, b"fa").expect("alive");
    let mut plain = self::machine(&Regular::repeat(chars('a', 'z'), 0, Some(38)));
    let start = plain.start().expect("live").expect("not empty");
    assert_eq!(machine.cost(&state), plain.cost(&start));
    let size = machine.size();
    let stepped = walk(&mut machine, b"fabcdefabcdef");
    assert!(stepped.is_some());
    // A step adds only the next counter.
    assert_eq!(machine.size() - size, 11);
}

#[test]
fn hostile_look_around_ends_at_a_limit() {
    let tight = RegularLimits {
        expressions: 5_000,
        search: 500,
    };
    let run = |source: &str| {
        let set = parse(source, RegexOptions::json_schema()).expect(source);
        let mut machine = RegularMachine::new(&set, tight)?;
        let mut state = machine.start()?;
        let mut seed = 1_u32;
        for _ in 0..1_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let byte = if seed >> 31 == 0 { b'a' } else { b'b' };
            state = match state {
                Some(at) => machine.step(&at, byte)?,
                None => break,
            };
        }
        Ok::<_, LimitExceeded>(state)
    };
    assert_eq!(
        run("^(?!(?:a|b)*a(?:a|b){40}$)(?:a|b)*$")
            .expect_err("2⁴⁰ states")
            .to_string(),
        "expressions of a regular set exceed the limit of 5000"
    );
    let many = (0..65)
        .map(|n| format!("(?<=a{{{}}})", n + 2))
        .collect::<String>();
    assert_eq!(
        run(&many).expect_err("too many").to_string(),
        "look-behinds of a regular set exceed the limit of 64"
    );
}
