use expect_test::expect;
use proptest::prelude::*;

use super::ir::MAX_NESTING;
use crate::{
    Alternative, ArrayShape, BytesError, CharSet, Decimal, EscapeForm, Expr, ExprId, Grammar,
    GrammarBuilder, Guide, Indent, JsonForm, KeyPattern, LiteralSet, NumberBound, NumberSet,
    ObjectShape, Property, Regular, Relation, Rule, RuleId, Slot, StringContent, StringShape,
    Tally, Temperature, TokenTerminal, Whitespace,
};

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// A regular set with a node of each kind.
fn regular() -> Regular {
    let chars = CharSet::new([('a', 'z'), ('\u{E000}', char::MAX)]);
    let word = Regular::repeat(Regular::Chars(chars), 2, Some(300));
    let parts = [
        Regular::literal("é"),
        Regular::ByteRange(3, 0x80),
        word.clone(),
        Regular::Empty,
        Regular::Union([Regular::Never, Regular::any_text()].into()),
        Regular::look(true, false, Regular::literal("x")),
        Regular::anchor(false),
    ];
    let joined = Regular::Concat(parts.into());
    Regular::Intersection([joined, Regular::Complement(word.into())].into())
}

/// A grammar with every kind of expression.
fn specimen() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let [root, other] = ["root", "other"].map(|name| builder.declare(name));
    let leaves = [
        Expr::Never,
        Expr::Empty,
        Expr::Bytes([0, 0xFF, b'a'].into()),
        Expr::Regular(regular()),
        Expr::Token(TokenTerminal::Name("<|call|>".into())),
        Expr::Token(TokenTerminal::Id(70_000)),
        Expr::Token(TokenTerminal::NotName("<|call|>".into())),
        Expr::Token(TokenTerminal::NotId(70_000)),
        Expr::Rule(other),
        Expr::String(StringShape::default()),
        Expr::String(StringShape {
            content: StringContent::Regular(regular()),
            min_length: 3,
            max_length: Some(65_536),
        }),
        Expr::String(StringShape {
            content: StringContent::Literals(["a".into(), "é\"".into()].into()),
            ..StringShape::default()
        }),
        Expr::Number(NumberSet {
            lower: Some(NumberBound {
                value: decimal("-1.5e-300"),
                exclusive: true,
            }),
            upper: Some(NumberBound {
                value: decimal("12300"),
                exclusive: false,
            }),
            multiples_of: vec![decimal("0.01"), decimal("1")],
            not_multiples_of: vec![decimal("7")],
            written_whole: true,
        }),
        Expr::Literals(LiteralSet::new(["", "a", "ban", "can", "canal"]).unwrap()),
    ];
    let leaves = leaves.map(|leaf| builder.expr(leaf));
    let slot = |tallies: u32| Slot {
        alternatives: [(leaves[7], tallies), (leaves[10], 0)]
            .map(|(value, tallies)| Alternative { value, tallies })
            .into(),
    };
    let tallies = vec![
        Tally { min: 1, max: None },
        Tally {
            min: 0,
            max: Some(2),
        },
    ];
    let object = builder.expr(Expr::Object(Box::new(ObjectShape {
        properties: vec![
            Property {
                key: "name".into(),
                value: slot(3),
                required: true,
                absent: 0,
            },
            Property {
                key: "".into(),
                value: Slot::default(),
                required: false,
                absent: 1,
            },
        ],
        ordered: 1,
        patterns: vec![KeyPattern {
            keys: regular(),
            value: slot(2),
        }],
        additional: Some(slot(0)),
        min_members: 1,
        max_members: Some(9),
        tallies: tallies.clone(),
        referents: vec!["/start".into()],
    })));
    let array = builder.expr(Expr::Array(Box::new(ArrayShape {
        prefix: vec![slot(1), Slot::of(object)],
        rest: Some(slot(2)),
        min_items: 2,
        max_items: None,
        tallies,
        unique: true,
    })));
    let times = builder.repeat(object, 2, Some(5));
    let loops = builder.repeat(leaves[2], 0, None);
    let named = builder.capture("times", times);
    let short = builder.guided(Guide::MaxTokens(300), named);
    let half = Guide::Temperature(Temperature::new(0.5).unwrap());
    let guided = builder.guided(half, short);
    let body = builder.sequence([array, guided, leaves[3], leaves[4]]);
    let grounded = builder.grounded("#/born", Some("date".into()), leaves[9]);
    let related = builder.related("#/end", Relation::AtLeast, "/start", leaves[10]);
    let referent = builder.referent("/end", related);
    let other_body = builder.choice([
        grounded, referent, leaves[2], loops, leaves[5], leaves[6], leaves[8], leaves[9],
        leaves[11],
    ]);
    builder.define(root, body);
    builder.define(other, other_body);
    builder.finish(root, JsonForm::exact())
}

/// If this fails, the encoding has changed, and older bytes must not be read: raise `BYTES_VERSION`, then record the
/// new bytes with `UPDATE_EXPECT=1`.
#[test]
fn a_change_of_the_bytes_is_a_new_version() {
    let mut written = specimen().to_bytes().unwrap();
    let forms = [
        (Whitespace::Compact, EscapeForm::Any),
        (Whitespace::Spaced, EscapeForm::Needed),
        (Whitespace::OneSpace, EscapeForm::Any),
        (
            Whitespace::Indented {
                indent: Indent::Spaces(2),
            },
            EscapeForm::Any,
        ),
        (
            Whitespace::Indented {
                indent: Indent::Tab,
            },
            EscapeForm::Any,
        ),
        (Whitespace::Bounded { max: 300 }, EscapeForm::Any),
    ];
    for (whitespace, escapes) in forms {
        let grammar = Grammar {
            form: JsonForm {
                whitespace,
                escapes,
                ..JsonForm::generate()
            },
            ..specimen()
        };
        let bytes = grammar.to_bytes().unwrap();
        assert_eq!(Grammar::from_bytes(&bytes).unwrap(), grammar);
        written.extend(bytes);
    }
    // FNV-1a.
    let hash = written
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
    let version = Grammar::BYTES_VERSION;
    let found = format!("version {version}: {} bytes, {hash:016x}", written.len());
    expect!["version 7: 3628 bytes, 91be4930e37ba7b7"].assert_eq(&found);
}

#[test]
fn what_is_cut_or_goes_on_is_no_grammar() {
    let bytes = specimen().to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(Grammar::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(matches!(
        Grammar::from_bytes(&longer),
        Err(BytesError::Unreadable { offset, .. }) if offset == bytes.len()
    ));
}

/// Encodes expressions that a builder would not create, and decodes them.
fn refused(exprs: Vec<Expr>) -> String {
    let body = ExprId(exprs.len() as u32 - 1);
    let grammar = Grammar {
        exprs,
        rules: vec![Rule {
            name: "root".into(),
            body,
        }],
        root: RuleId(0),
        form: JsonForm::generate(),
    };
    let written = grammar.to_bytes().unwrap_err();
    let mut bytes = Vec::new();
    super::Coded::put(&grammar, &mut bytes);
    let read = Grammar::from_bytes(&bytes).unwrap_err();
    assert!(read == written || matches!(read, BytesError::Unreadable { .. }));
    read.to_string()
}

#[test]
fn promises_are_checked() {
    let object = |shape: ObjectShape| vec![Expr::Never, Expr::Object(Box::new(shape))];
    let property = |absent| Property {
        absent,
        ..Property::default()
    };
    let number = |multiples_of| {
        vec![Expr::Number(NumberSet {
            multiples_of,
            ..NumberSet::default()
        })]
    };
    let slot = Slot {
        alternatives: [Alternative {
            value: ExprId(0),
            tallies: 2,
        }]
        .into(),
    };
    let bounded = Tally {
        min: 0,
        max: Some(1),
    };
    let cases = [
        vec![Expr::Sequence([ExprId(0)].into())],
        vec![Expr::Rule(RuleId(1))],
        vec![
            Expr::Never,
            Expr::Repeat {
                body: ExprId(0),
                min: 2,
                max: Some(1),
            },
        ],
        vec![Expr::Regular(Regular::Repeat {
            body: Regular::Empty.into(),
            min: 2,
            max: Some(1),
        })],
        vec![Expr::Regular(Regular::ByteRange(2, 1))],
        vec![Expr::Literals(LiteralSet::new([""]).unwrap())],
        vec![Expr::String(StringShape {
            content: StringContent::Literals(["b".into(), "a".into()].into()),
            ..StringShape::default()
        })],
        number(vec![decimal("0")]),
        number(vec![decimal("2"), decimal("2")]),
        object(ObjectShape {
            properties: vec![property(0), property(0)],
            ..ObjectShape::default()
        }),
        object(ObjectShape {
            properties: vec![property(1)],
            tallies: vec![bounded],
            ..ObjectShape::default()
        }),
        object(ObjectShape {
            tallies: vec![bounded; 33],
            ..ObjectShape::default()
        }),
        object(ObjectShape {
            additional: Some(slot),
            tallies: vec![bounded],
            ..ObjectShape::default()
        }),
    ];
    let found: Vec<String> = cases.map(refused).into();
    expect![[r#"
        the grammar breaks a promise: expressions stand behind what they are made of
        the grammar breaks a promise: a reference leads to a rule
        the grammar breaks a promise: the fewest times are at most the most
        the grammar breaks a promise: the fewest times are at most the most
        the grammar breaks a promise: a range of bytes ends behind its beginning
        the grammar breaks a promise: some text of a list of literals has a byte
        the grammar breaks a promise: literals are sorted, without duplicates
        the grammar breaks a promise: divisors are positive
        the grammar breaks a promise: divisors are sorted, without duplicates
        the grammar breaks a promise: no two properties have a key
        the grammar breaks a promise: what is absent counts for tallies without an upper bound
        the grammar breaks a promise: a shape has at most 32 tallies
        the grammar breaks a promise: alternatives count for tallies that there are"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn depth_and_what_unfolds_are_limited() {
    let nested = |depth| {
        let inner = |set, _| Regular::Complement(Regular::into(set));
        vec![Expr::Regular((1..depth).fold(Regular::Empty, inner))]
    };
    assert!(refused(nested(MAX_NESTING + 1)).contains("nest"));
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(nested(MAX_NESTING).remove(0));
    builder.define(root, body);
    let deepest = builder.finish(root, JsonForm::generate());
    let bytes = deepest.to_bytes().unwrap();
    assert_eq!(Grammar::from_bytes(&bytes).unwrap(), deepest);

    // Sixty-four expressions that unfold to 2^64.
    let mut exprs = vec![Expr::Bytes(b"a"[..].into())];
    for half in (0..64).map(ExprId) {
        exprs.push(Expr::Sequence([half, half].into()));
    }
    assert!(refused(exprs).contains("shared ones"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever decodes also encodes to the same bytes: no bytes are read as something else.
    #[test]
    fn damaged_bytes_are_refused_or_another_grammar(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = specimen().to_bytes().unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.remove(cut.index(bytes.len()));
        }
        if let Ok(grammar) = Grammar::from_bytes(&bytes) {
            prop_assert_eq!(grammar.to_bytes().unwrap(), bytes);
        }
    }
}
