//! Random sets with random texts and random walks, in the forms of the profiles.

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use structgen_automata::Machine;
use structgen_grammar::{NumberForm, NumberSet};

use super::oracle;
use super::support::{BYTES, accepts, exact, generate, machine, set};

/// A number text: few or many digits, ordinary and extreme exponents.
fn number() -> impl Strategy<Value = String> {
    let digits = prop_oneof![
        4 => 0_u64..1_000,
        2 => 0_u64..1_000_000_000,
        1 => any::<u64>(),
    ];
    let exponent = prop_oneof![
        6 => -6_i32..6,
        2 => -40_i32..40,
        1 => -1_100_i32..1_100,
    ];
    (any::<bool>(), digits, exponent).prop_map(|(negative, digits, exponent)| {
        let sign = if negative && digits > 0 { "-" } else { "" };
        match exponent {
            0 => format!("{sign}{digits}"),
            _ => format!("{sign}{digits}e{exponent}"),
        }
    })
}

/// The words of a set; the second bound is often close to the first.
fn words() -> impl Strategy<Value = Vec<String>> {
    let divisor = prop_oneof![
        3 => Just("*1".to_owned()),
        2 => Just("*0.01".to_owned()),
        1 => Just("*1e-20".to_owned()),
        1 => Just("*123456789.123456789".to_owned()),
        3 => (1_u32..2_000, -8_i32..8).prop_map(|(digits, exponent)| format!("*{digits}e{exponent}")),
        1 => (1_u32..9, -400_i32..400).prop_map(|(digits, exponent)| format!("*{digits}e{exponent}")),
    ];
    let lower = proptest::option::weighted(0.6, (any::<bool>(), number()));
    let upper = proptest::option::weighted(0.6, (any::<bool>(), number()));
    (
        lower,
        upper,
        any::<bool>(),
        proptest::collection::vec(divisor, 0..2),
    )
        .prop_map(|(lower, upper, close, mut words)| {
            if let Some((exclusive, number)) = &lower {
                words.push(format!("{}{number}", if *exclusive { ">" } else { ">=" }));
            }
            if let Some((exclusive, number)) = upper {
                let near = lower
                    .as_ref()
                    .filter(|_| close)
                    .map(|(_, lower)| nudged(lower, 1));
                let number = near.unwrap_or(number);
                words.push(format!("{}{number}", if exclusive { "<" } else { "<=" }));
            }
            words
        })
}

/// Moves the last digit before the exponent away from zero.
fn nudged(number: &str, by: i128) -> String {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let mantissa: i128 = mantissa.parse().expect("an integer");
    format!("{}e{exponent}", mantissa + by)
}

/// Returns another spelling of the number: the point and the exponent moved, zeros added.
fn rewritten(number: &str, shift: usize, zeros: usize, plain: bool) -> String {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let exponent: i64 = exponent.parse().expect("an integer");
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let digits = format!("{digits}{}", "0".repeat(zeros));
    let exponent = exponent - zeros as i64;
    let padded = format!(
        "{}{digits}",
        "0".repeat((shift + 1).saturating_sub(digits.len()))
    );
    let shift = if plain {
        usize::try_from(-exponent).unwrap_or(0).min(60)
    } else {
        shift
    };
    let padded = format!(
        "{}{padded}",
        "0".repeat((shift + 1).saturating_sub(padded.len()))
    );
    let (whole, fraction) = padded.split_at(padded.len() - shift);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let exponent = exponent + shift as i64;
    if exponent == 0 {
        format!("{sign}{whole}{point}{fraction}")
    } else {
        format!("{sign}{whole}{point}{fraction}e{exponent}")
    }
}

/// A text near the bounds or the divisors of the set, or any text.
fn text(words: &[String]) -> impl Strategy<Value = String> + use<> {
    let mut known: Vec<String> = words
        .iter()
        .map(|word| word.trim_start_matches(['<', '>', '=', '*']).to_owned())
        .filter(|word| !word.contains('.'))
        .collect();
    known.push("0".to_owned());
    let near = (
        proptest::sample::select(known),
        prop_oneof![Just(1_i128), Just(2), Just(-1), 0_i128..2_000],
        any::<bool>(),
    )
        .prop_map(|(number, change, multiply)| {
            let (mantissa, exponent) = number.split_once('e').unwrap_or((&number, "0"));
            let mantissa: i128 = mantissa.parse().expect("an integer");
            let mantissa = if multiply {
                mantissa * change
            } else {
                mantissa + change % 3 - 1
            };
            format!("{mantissa}e{exponent}")
        });
    let written = (
        prop_oneof![3 => near, 1 => number()],
        0_usize..6,
        0_usize..3,
        any::<bool>(),
    )
        .prop_map(|(number, shift, zeros, plain)| rewritten(&number, shift, zeros, plain));
    prop_oneof![
        6 => written,
        1 => "-?[0-9]{1,3}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?",
        1 => "[-0-9.eE+]{1,6}",
    ]
}

fn forms() -> impl Strategy<Value = NumberForm> {
    let other = (any::<bool>(), any::<bool>(), 1_u16..25, 0_u16..25, 0_u16..4).prop_map(
        |(exponent, redundant_fraction, integer_digits, fraction_digits, exponent_digits)| {
            NumberForm {
                exponent,
                redundant_fraction,
                negative_zero: redundant_fraction,
                integer_digits,
                fraction_digits,
                exponent_digits,
            }
        },
    );
    prop_oneof![2 => Just(exact()), 2 => Just(generate()), 1 => other]
}

fn live_bytes(
    machine: &mut structgen_automata::number::NumberMachine,
    state: &structgen_automata::number::NumberState,
) -> Vec<(u8, structgen_automata::number::NumberState)> {
    BYTES
        .iter()
        .filter_map(|&byte| {
            let next = machine.step(state, byte).expect("within limits")?;
            Some((byte, next))
        })
        .collect()
}

/// Steps along random live bytes, then to the end by falling cost, and checks the text.
fn random_walk(set: &NumberSet, form: &NumberForm, steps: usize, rng: &mut TestRng) {
    let mut machine = machine(set, form);
    let Some(mut state) = machine.start().expect("within limits") else {
        return;
    };
    let mut text = String::new();
    for _ in 0..steps {
        let next = live_bytes(&mut machine, &state);
        assert!(
            !next.is_empty() || machine.accept(&state).is_some(),
            "dead end behind {text}"
        );
        if next.is_empty() {
            break;
        }
        let (byte, after) = next[(rng.next_u32() as usize) % next.len()];
        text.push(char::from(byte));
        state = after;
    }
    let mut cost = machine.cost(&state);
    while cost > 0 {
        let cheaper = live_bytes(&mut machine, &state)
            .into_iter()
            .map(|(byte, after)| (machine.cost(&after), byte, after))
            .find(|&(after, ..)| after < cost);
        let Some((lower, byte, after)) = cheaper else {
            panic!("no byte lowers the cost {cost} behind {text}");
        };
        text.push(char::from(byte));
        (cost, state) = (lower, after);
    }
    assert!(machine.accept(&state).is_some(), "{text}");
    assert!(oracle::accepts(set, form, &text), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn accepts_what_the_oracle_accepts(
        (words, texts) in words().prop_flat_map(|words| {
            let texts = proptest::collection::vec(text(&words), 12);
            (Just(words), texts)
        }),
        form in forms(),
    ) {
        let set = set(&words.join(" "));
        let mut machine = machine(&set, &form);
        for text in texts {
            prop_assert_eq!(
                accepts(&mut machine, &text),
                oracle::accepts(&set, &form, &text),
                "{} in {:?}", text, words
            );
        }
    }

    #[test]
    fn walks_over_live_bytes_end_in_the_set(
        words in words(),
        form in forms(),
        steps in 0_usize..60,
        seed in any::<u64>(),
    ) {
        let set = set(&words.join(" "));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &bytes);
        random_walk(&set, &form, steps, &mut rng);
    }
}
