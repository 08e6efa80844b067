//! Converted grammars in llguidance's dialect of Lark judge texts as llguidance does.

use std::path::Path;
use std::sync::Arc;

use structgen_bench::grammars::{self, Gbnf, Lark};
use structgen_bench::llguidance_engine::LlGuidance;
use structgen_constraint::VocabularyTables;
use structgen_frontend::convert::{Notation, to_gbnf};
use structgen_maskbench::{Engine, FileResult, Instance, run_case};
use structgen_vocab::Tokenizer;

struct Engines {
    tokenizer: Arc<Tokenizer>,
    ours: Gbnf,
    theirs: Lark,
}

impl Engines {
    fn new() -> Self {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../structgen-model/assets/main");
        let tokenizer = Arc::new(Tokenizer::from_file(model.join("tokenizer.json")).unwrap());
        let (eos, _) = tokenizer.vocabulary().special_tokens().next().unwrap();
        let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
        Self {
            ours: Gbnf::new(tables, eos),
            theirs: Lark(LlGuidance::new(&tokenizer, eos).unwrap()),
            tokenizer,
        }
    }
}

/// Returns why an engine rejects a text that should match, if it does.
fn judge<E: Engine>(
    engine: &mut E,
    source: &str,
    text: &str,
    tokenizer: &Tokenizer,
) -> Option<String> {
    let instance = Instance {
        text: text.to_owned(),
        is_valid: true,
    };
    let case = grammars::case("lark", source.to_owned(), vec![instance]);
    let FileResult { error, .. } = run_case(engine, &case, tokenizer);
    error.map(|error| error.to_string())
}

#[test]
fn converted_grammars_judge_all_samples_right() {
    let Engines {
        tokenizer,
        mut ours,
        ..
    } = Engines::new();
    let mut judged = 0;
    for name in grammars::NAMES {
        let (_, lark) = grammars::sources(name).unwrap();
        let gbnf = to_gbnf(&lark, Notation::Lark, None).unwrap_or_else(|error| panic!("{error}"));
        for sample in grammars::samples(name).unwrap() {
            let said = judge(&mut ours, &gbnf, &sample.text, &tokenizer);
            assert_eq!(
                said.is_none(),
                sample.is_valid,
                "{name}: {said:?}: {}",
                sample.text
            );
            judged += 1;
        }
    }
    assert!(judged > 50, "{judged}");
}

#[test]
fn both_engines_judge_alike() {
    let cases: &[(&str, &[&str])] = &[
        (
            "start: \"a\" (\"b\" | \"c\")~2..3 [\"d\"] \"e\"..\"g\"{1,2}",
            &[
                "abce", "abccdfg", "abe", "abbbbe", "abch", "abcde", "abcdefg", "",
            ],
        ),
        (
            "start: expr\nexpr: expr \"+\" term | term\nterm: \"(\" expr \")\" | INT\n%import common.INT\n%ignore /[ \\t]+/",
            &[
                "1", "1+2", "1 + 2", " 1", "( 1 +2)", "1 2", "1 +", "12+(3)", "(\t1\t)", "1 + + 2",
                "",
            ],
        ),
        ("start: WORD & ~KEY\nWORD: /[a-z]+/\nKEY: \"if\"", &["a"]),
        (
            "start: NAME \"=\" VALUE\nNAME: /[a-z]+/ & ~KEY\nKEY: \"if\" | \"else\"\nVALUE: ~/[0-9]+/ & /[0-9a-z]{1,3}/",
            &[
                "a=b", "if=b", "iff=b", "a=1", "a=1a", "else=x", "a=abcd", "a=",
            ],
        ),
        (
            "start: \"if\"i \"K\"i \"é\"i \".\"",
            &["ifkÉ.", "IFKé.", "iFké.", "if\u{212A}é.", "ifke.", "ıfké."],
        ),
        (
            "start: a b\na[lazy]: /[a-z]*;/\nb: /[a-z;]*/",
            &["x;", "x;y;z", ";", "x", ";;;", "x;y"],
        ),
        (
            "start: \"<\" body \">\"\nbody[suffix=\"</\"]: /(?s:.*)/",
            &["<x</>", "</>", "<x</</>", "<x>", "<a<</>", "<</>"],
        ),
        (
            "start: body \".\"\nbody[capture, suffix=\"aba\"]: /[ab]*/",
            &[
                "aba.", "baba.", "ababa.", "abba.", "ab.", "aaba.", "abababa.",
            ],
        ),
        (
            "start: \"f\" %json {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"], \"additionalProperties\": false} \";\"",
            &["f{\"a\":1};", "f{};", "f{\"a\":\"x\"};", "f{\"a\":12}"],
        ),
        (
            "start: ITEM (\",\" ITEM)*\nITEM: DIGIT ~2 | LETTER{2,}\n%import common (DIGIT, LETTER)\n%ignore \" \"",
            &["12", "1 2", "12,ab", "12 , abc", "a", "123", "12,", "12, 3"],
        ),
        (
            "start: ESCAPED_STRING \":\" SIGNED_NUMBER\n%import common.ESCAPED_STRING\n%import common.SIGNED_NUMBER",
            &[
                "\"a\":1",
                "\"\\\"\":-1.5e3",
                "\"a:1",
                "\"a\":+.5",
                "\"a\":1.",
                "\"a\":e5",
                "\"\":0",
            ],
        ),
        (
            "start: a? b? \"c\"\na: \"a\"\nb: \"b\"\n%ignore \" \"",
            &["c", "a c", "b c", " c", "a b c", "ab  c", "b a c", "a  bc"],
        ),
        (
            "%llguidance {\"allow_initial_skip\": true}\nstart: \"a\" \"b\"\n%ignore \" \"",
            &["ab", " ab", "  a b", "a  b"],
        ),
        (
            "start: CPP_COMMENT \"\\n\" C_COMMENT \";\"\n%import common.CPP_COMMENT\n%import common.C_COMMENT",
            &[
                "// x\n/* y */;",
                "//\n/***/;",
                "//\n/* * / **/;",
                "//\n/*;",
                "/\n/**/;",
            ],
        ),
    ];
    let Engines {
        tokenizer,
        mut ours,
        mut theirs,
    } = Engines::new();
    let (mut wrong, mut fits, mut others) = (Vec::new(), 0, 0);
    for (lark, texts) in cases {
        let Ok(gbnf) = to_gbnf(lark, Notation::Lark, None) else {
            // What structgen refuses, llguidance refuses too.
            assert!(
                judge(&mut theirs, lark, texts[0], &tokenizer).is_some(),
                "{lark}"
            );
            continue;
        };
        for text in *texts {
            let our = judge(&mut ours, &gbnf, text, &tokenizer);
            let their = judge(&mut theirs, lark, text, &tokenizer);
            fits += usize::from(our.is_none());
            others += usize::from(our.is_some());
            if our.is_none() != their.is_none() {
                wrong.push(format!("{lark}\n{gbnf}{text:?}: {our:?} and {their:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(fits > 30 && others > 30, "{fits} and {others}");
}
