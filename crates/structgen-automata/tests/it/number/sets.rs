//! Single sets: what they accept, how few states they need, and what is refused.

use std::collections::HashSet;

use structgen_automata::number::{ExcludingMachine, NumberMachine, is_empty};
use structgen_automata::{LimitExceeded, Machine};
use structgen_grammar::{Decimal, NumberForm, NumberSet};

use super::support::{self, BYTES, accepts, exact, generate, machine, set, walk};

fn check(words: &str, form: &NumberForm, yes: &[&str], no: &[&str]) {
    let mut machine = machine(&set(words), form);
    for text in yes {
        assert!(accepts(&mut machine, text), "{text} is in {words}");
    }
    for text in no {
        assert!(!accepts(&mut machine, text), "{text} is not in {words}");
    }
}

#[test]
fn any_number_is_any_json_number() {
    let yes = ["0", "-0", "10", "0.50", "1e5", "1E-05", "-12.75e+9"];
    let no = [
        "", "-", "01", "1.", ".5", "+1", "1e", "1e1234", "0x1", "1 ", "--1",
    ];
    check("", &exact(), &yes, &no);
}

#[test]
fn generated_numbers_are_plain_and_canonical() {
    let yes = ["0", "10", "0.5", "-0.05", "100", "-1234567890123456789"];
    let no = [
        "-0",
        "-0.0",
        "0.50",
        "1.0",
        "0.0",
        "1e5",
        "12345678901234567890",
    ];
    check("", &generate(), &yes, &no);
}

#[test]
fn integers_may_have_any_form_where_the_form_allows() {
    let yes = ["15", "1.5e1", "1.50e1", "15.0", "1500e-2", "-0.0", "0e-9"];
    check("*1", &exact(), &yes, &["1.5", "15e-1", "1.55e1"]);
    check(
        "*1",
        &generate(),
        &["15", "-15", "0"],
        &["15.0", "1.5", "1.5e1", "-0"],
    );
}

#[test]
fn prices_have_two_digits_at_most() {
    check(
        "*0.01 >=0",
        &generate(),
        &["0", "0.01", "12.3"],
        &["-1", "0.001", "1.10"],
    );
    check(
        "*0.01 >=0",
        &exact(),
        &["1.10", "1.100e0", "5e-2", "-0"],
        &["5e-3", "-5e-2"],
    );
}

#[test]
fn extreme_values_are_exact() {
    check(
        ">=1e400",
        &exact(),
        &["1e400", "10e399", "0.1e401"],
        &["9.99e399", "1e399"],
    );
    check(
        "<=-1e-300",
        &exact(),
        &["-1e-300", "-1"],
        &["0", "-1e-301", "-0.9e-300"],
    );
    check(
        "*1e-20 >0 <=1e-20",
        &exact(),
        &["1e-20", "0.00000000000000000001"],
        &["2e-20", "5e-21"],
    );
    check(
        "*123456789.123456789",
        &exact(),
        &["246913578.246913578", "0"],
        &["123456789.12345679"],
    );
    check(
        ">=0.000001",
        &generate(),
        &["0.000001", "3"],
        &["0.0000009", "0"],
    );
    check(
        "*1e400",
        &exact(),
        &["0", "1e400", "25e401"],
        &["1", "1e399"],
    );
}

#[test]
fn what_no_text_can_say_is_empty() {
    let empty = |words: &str, form: &NumberForm| is_empty(&set(words), form);
    assert_eq!(empty("*1 >=1.1 <=1.9", &exact()), Ok(true));
    assert_eq!(empty(">=2 <=1", &exact()), Ok(true));
    assert_eq!(empty(">=1e20", &generate()), Ok(true));
    assert_eq!(empty(">=1e19", &generate()), Ok(true));
    assert_eq!(empty(">=9999999999999999999", &generate()), Ok(false));
    assert_eq!(empty(">0 <1e-15", &generate()), Ok(true));
    assert_eq!(empty(">0 <1e-15", &exact()), Ok(false));
    assert_eq!(empty(">=1e1100", &exact()), Ok(true));
    assert_eq!(empty(">0 <=0", &exact()), Ok(true));
    assert_eq!(empty("*7 >7 <14", &exact()), Ok(true));
    assert_eq!(empty("*1e400", &generate()), Ok(false));
    assert_eq!(empty("*1e400 >0", &generate()), Ok(true));
}

#[test]
fn only_zero_is_a_multiple_of_zero() {
    let zero = NumberSet {
        multiples_of: vec![Decimal::default()],
        ..NumberSet::default()
    };
    let mut machine = machine(&zero, &generate());
    assert!(accepts(&mut machine, "0"));
    assert!(!accepts(&mut machine, "1"));
    assert!(!accepts(&mut machine, "0.5"));
}

#[test]
fn divisors_beyond_the_limit_are_refused() {
    let error = NumberMachine::new(&set("*1234567890123456789.1"), &exact()).map(|_| ());
    assert!(
        matches!(error, Err(LimitExceeded { limit, .. }) if limit == 1_000_000_000_000_000_000)
    );
    assert!(is_empty(&set("*1000000007 *998244353 *19"), &exact()).is_err());
}

#[test]
fn huge_bounds_and_forms_are_answered() {
    let digits = "123456789".repeat(20_000);
    let form = NumberForm {
        integer_digits: 1000,
        fraction_digits: 1000,
        exponent_digits: u16::MAX,
        ..exact()
    };
    for words in [
        format!(">={digits}"),
        format!("<=-0.{digits}"),
        format!(">={digits} <={digits} *1"),
    ] {
        for form in [exact(), generate(), form] {
            let mut machine = machine(&set(&words), &form);
            if let Some(state) = machine.start().expect("within limits") {
                assert!(machine.cost(&state) > 0);
            }
        }
    }
    let mut machine = machine(&set(">=1e999999999999999"), &form);
    assert!(accepts(&mut machine, "1e999999999999999"));
    assert!(accepts(
        &mut machine,
        "1e00000000000000000000999999999999999"
    ));
    assert!(accepts(&mut machine, "1e99999999999999999999999999999"));
    assert!(!accepts(&mut machine, "9e999999999999998"));
    let longest = format!("{}.{}", "7".repeat(1000), "3".repeat(1000));
    let mut machine = support::machine(&set(&format!(">={longest} <={longest}")), &form);
    let start = machine.start().expect("within limits");
    assert_eq!(start.map(|start| machine.cost(&start)), Some(2001));
    assert!(accepts(&mut machine, &longest));
    let longer = NumberForm {
        fraction_digits: 1001,
        ..form
    };
    assert!(matches!(
        NumberMachine::new(&set(""), &longer),
        Err(LimitExceeded { limit: 1000, .. })
    ));
}

/// Returns how many states can be reached.
fn states(words: &str, form: &NumberForm) -> usize {
    let mut machine = machine(&set(words), form);
    let mut open: Vec<_> = machine
        .start()
        .expect("within limits")
        .into_iter()
        .collect();
    let mut seen: HashSet<_> = open.iter().copied().collect();
    while let Some(state) = open.pop() {
        for &byte in BYTES {
            let next = machine.step(&state, byte).expect("within limits");
            open.extend(next.filter(|&next| seen.insert(next)));
        }
    }
    seen.len()
}

#[test]
fn common_sets_need_few_states() {
    // 15 digits on either side of the point, each of the latter also after a zero; start, minus, zero and its
    // fractions.
    let form = NumberForm {
        integer_digits: 15,
        fraction_digits: 15,
        ..generate()
    };
    assert!(states("", &form) < 80);
    assert!(states("*1", &form) < 20);
    assert!(states("*1 >=0", &form) < 20);
    assert!(states("*1 >=0 <=100", &form) < 10);
    assert!(states("*0.01", &form) < 40);
    assert!(states("", &exact()) < 180);
}

#[test]
fn the_sign_is_forgotten_where_it_makes_no_difference() {
    let mut machine = machine(&set(">=-100 <=100"), &generate());
    assert_eq!(walk(&mut machine, "-12.5"), walk(&mut machine, "12.5"));
    assert_ne!(walk(&mut machine, "-0"), walk(&mut machine, "0"));
}

#[test]
fn few_of_the_multiples_of_a_large_number_are_excluded() {
    // A search through all remainders would take hundreds of thousands of states.
    for form in [exact(), generate()] {
        for words in [
            "*8721 !2 !5 !6.5 !7 !11 !37",
            "*8721 !2 !5 !6.5 !7 !11 !37 <-10000",
        ] {
            let mut machine = ExcludingMachine::new(&set(words), &form).expect("within limits");
            let mut accepts = |text: &str| {
                let mut state = machine.start().expect("within limits");
                for byte in text.bytes() {
                    state =
                        state.and_then(|state| machine.step(&state, byte).expect("within limits"));
                }
                state.is_some_and(|state| machine.accept(&state).is_some())
            };
            assert!(accepts("-26163"));
            assert_eq!(accepts("-26163.0e0"), form == exact());
            assert_eq!(accepts("-2.6163e4"), form == exact());
            assert_eq!(accepts("26163"), !words.contains('<'));
            // Multiples of 8721 and of 2, of 7 and of 37.
            for text in [
                "-17442", "-61047", "-322677", "-26162", "0", "-17442e0", "-26163e1",
            ] {
                assert!(!accepts(text), "{text}");
            }
        }
    }
}

#[test]
fn the_next_number_that_is_not_excluded_is_near() {
    for digits in [15, 40, 100] {
        let form = NumberForm {
            integer_digits: digits,
            ..generate()
        };
        let mut machine = ExcludingMachine::new(&set("*1 !2"), &form).expect("within limits");
        let start = machine.start().expect("within limits").expect("not empty");
        let two = machine.step(&start, b'2').expect("within limits");
        assert_eq!(machine.cost(&two.expect("live")), 1);
    }
}
