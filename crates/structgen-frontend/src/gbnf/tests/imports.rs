//! Rules of other files.

use expect_test::expect;

use super::files;
use super::*;

#[test]
fn files_are_imported_under_a_name() {
    let options = files(&[
        (
            "types/date.gbnf",
            "%import digit \"../digit.gbnf\" # by its folder\nroot ::= year \"-\" month (\"-\" digit::two)?\nyear ::= digit{4}\nmonth ::= digit::two\nspare ::= \"x\"",
        ),
        (
            "digit.gbnf",
            "root ::= [0-9]\ntwo ::= root root & ~\"00\"\n",
        ),
    ]);
    let text = "%import date \"types/date.gbnf\"\n%import d \"digit.gbnf\"\n\nroot ::= date \"!\" year date::year d\nyear ::= d::two (d)+";
    let (grammar, warnings) =
        parse_with_warnings(text, &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings, []);
    expect![[r#"
        root ::= date-root "!" year date-year date-digit-root
        year ::= date-digit-two date-digit-root+
        date-root ::= date-year "-" date-month ("-" date-digit-two)?
        date-year ::= date-digit-root{4}
        date-month ::= date-digit-two
        date-spare ::= "x"
        date-digit-root ::= [0-9]
        date-digit-two ::= two_2
        two_1 ::= regular(complement("00"))
        two_2 ::= regular(intersection([0-9] [0-9], complement("00")))
    "#]]
    .assert_eq(&grammar.to_string());
}

#[test]
fn names_of_imported_rules_give_way() {
    let options = files(&[
        ("b.gbnf", "root ::= c \"1\"\nc ::= (((\"2\")))"),
        ("c.gbnf", "root ::= \"3\""),
    ]);
    let text = "%import a \"b.gbnf\"\n%import a-c \"c.gbnf\"\nroot ::= a-root a::root a::c a-c a a-c::root\na-root ::= \"0\"";
    let grammar = parse(text, &options).unwrap_or_else(|error| panic!("{error}"));
    expect![[r#"
        root ::= a-root a-root-2 a-c a-c-root a-root-2 a-c-root
        a-root ::= "0"
        a-root-2 ::= a-c "1"
        a-c ::= "2"
        a-c-root ::= "3"
    "#]]
    .assert_eq(&grammar.to_string());
    // The printed grammar parses to the same grammar.
    assert_eq!(
        parse(&grammar.to_string(), &GbnfOptions::default()),
        Ok(grammar)
    );
}

#[test]
fn what_cannot_be_imported_is_said_with_its_file() {
    let options = files(&[
        ("a.gbnf", "%import b \"b.gbnf\"\nroot ::= b"),
        ("b.gbnf", "# to a\n%import a \"a.gbnf\"\nroot ::= a"),
        ("self.gbnf", "%import self \"./self.gbnf\"\nroot ::= \"a\""),
        (
            "outer.gbnf",
            "%import inner \"sub/inner.gbnf\"\nroot ::= inner",
        ),
        ("sub/inner.gbnf", "root ::= \"a\" |\n  'b'"),
        ("gone.gbnf", "%import x \"sub/gone.gbnf\"\nroot ::= x"),
        ("undefined.gbnf", "root ::= two\ntow ::= \"a\""),
        ("rootless.gbnf", "two ::= \"a\""),
        (
            "recursive.gbnf",
            "root ::= \"(\" root \")\" | \"\"\nno ::= ~root",
        ),
        ("schema.gbnf", "root ::= %json {\"type\": 1}"),
    ]);
    let mut report = String::new();
    for text in [
        "%import a \"a.gbnf\"\nroot ::= a",
        "%import self \"self.gbnf\"\nroot ::= self",
        "%import outer \"outer.gbnf\"\nroot ::= outer",
        "%import gone \"gone.gbnf\"\nroot ::= gone",
        "%import gone \"../a.gbnf\"\nroot ::= gone",
        "%import u \"undefined.gbnf\"\nroot ::= u",
        "%import r \"rootless.gbnf\"\nroot ::= r",
        "%import r \"rootless.gbnf\"\nroot ::= r::tow",
        "%import r \"rootless.gbnf\"\nroot ::= s::two",
        "%import r \"recursive.gbnf\"\nroot ::= r",
        "%import s \"schema.gbnf\"\nroot ::= s",
        "%import s \"rootless.gbnf\"\ns ::= \"a\"",
        "%import s \"rootless.gbnf\" root ::= s",
        "root ::= %import s \"rootless.gbnf\"",
        "%import \"rootless.gbnf\"\nroot ::= \"a\"",
        "%import s rootless.gbnf\nroot ::= \"a\"",
        "%import s \"\\q\"\nroot ::= \"a\"",
    ] {
        let error = parse(text, &options).expect_err(text);
        report += &format!("{error}\n\n");
    }
    expect![[r#"
        b.gbnf, line 2, column 1: files import one another: a.gbnf -> b.gbnf -> a.gbnf
          |
        2 | %import a "a.gbnf"
          | ^

        self.gbnf, line 1, column 1: files import one another: self.gbnf -> self.gbnf
          |
        1 | %import self "./self.gbnf"
          | ^

        sub/inner.gbnf, line 2, column 3: expected something to match, `|` or the end of the rule
          |
        2 |   'b'
          |   ^
        hint: literals stand in double quotes

        gone.gbnf, line 1, column 1: the file sub/gone.gbnf cannot be read: there is no such file
          |
        1 | %import x "sub/gone.gbnf"
          | ^

        line 1, column 1: the path "../a.gbnf" leads out of the folder
          |
        1 | %import gone "../a.gbnf"
          | ^

        undefined.gbnf, line 1, column 10: there is no rule `two`
          |
        1 | root ::= two
          |          ^
        hint: did you mean `tow`?

        line 2, column 10: there is no rule `r`
          |
        2 | root ::= r
          |          ^
        hint: the file has no rule `root`; others of it are named as `r::rule`

        line 2, column 10: there is no rule `r::tow`
          |
        2 | root ::= r::tow
          |          ^
        hint: did you mean `two`?

        line 2, column 10: there is no rule `s::two`
          |
        2 | root ::= s::two
          |          ^
        hint: nothing is imported as `s`

        recursive.gbnf, line 2, column 8: an operand of `&` or `~` is not regular: it comes back to itself
          |
        2 | no ::= ~root
          |        ^
        hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

        schema.gbnf, line 1, column 10: in the schema: #/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these
          |
        1 | root ::= %json {"type": 1}
          |          ^

        line 2, column 1: the rule `s` is defined already, in line 1
          |
        2 | s ::= "a"
          | ^

        line 1, column 27: expected the end of the line
          |
        1 | %import s "rootless.gbnf" root ::= s
          |                           ^

        line 1, column 10: expected something to match, `|` or the end of the rule
          |
        1 | root ::= %import s "rootless.gbnf"
          |          ^
        hint: an import stands on a line of its own, as `%import name "file.gbnf"`

        line 1, column 9: expected a name
          |
        1 | %import "rootless.gbnf"
          |         ^

        line 1, column 11: expected a literal
          |
        1 | %import s rootless.gbnf
          |           ^

        line 1, column 13: expected an escape
          |
        1 | %import s "\q"
          |             ^
        hint: the escapes are \n \r \t \\ \" \[ \] \- \xXX \uXXXX and \UXXXXXXXX

    "#]].assert_eq(&report);
    let error = parse("%import a \"a\"\nroot ::= a", &GbnfOptions::default());
    expect![[r#"
        line 1, column 1: a grammar given as text cannot use files
          |
        1 | %import a "a"
          | ^"#]]
    .assert_eq(&error.expect_err("no files").to_string());
}

#[test]
fn a_grammar_with_a_name_is_a_file_among_others() {
    let others = [
        ("x/a.gbnf", "%import main \"main.gbnf\"\nroot ::= main"),
        ("x/b.gbnf", "root ::= \"b\""),
    ];
    let mut options = files(&others);
    options.files = options.files.map(|files| files.with_name("x/main.gbnf"));
    assert!(parse("%import b \"b.gbnf\"\nroot ::= b", &options).is_ok());
    let error = parse("%import a \"a.gbnf\"\nroot ::= a", &options).expect_err("a circle");
    assert_eq!(error.file.as_deref(), Some("x/a.gbnf"));
    assert!(
        error
            .to_string()
            .contains("x/main.gbnf -> x/a.gbnf -> x/main.gbnf"),
        "{error}"
    );
    let error = parse("root ::= b", &options).expect_err("no rule");
    assert_eq!(error.file.as_deref(), Some("x/main.gbnf"));
}

#[test]
fn endless_files_come_to_an_end() {
    // A file that always imports another one.
    let chain = GbnfFiles::new(|path| {
        let number: u32 = path.trim_end_matches(".gbnf").parse()?;
        Ok(format!(
            "%import next \"{}.gbnf\"\nroot ::= next",
            number + 1
        ))
    });
    let options = GbnfOptions {
        files: Some(chain.clone()),
        ..GbnfOptions::default()
    };
    let error = parse("%import a \"0.gbnf\"\nroot ::= a", &options).expect_err("endless");
    assert_eq!(
        error.kind,
        GbnfErrorKind::File(Box::new(GbnfFileError::TooDeep(64)))
    );
    assert_eq!(error.file.as_deref(), Some("63.gbnf"));
    let options = GbnfOptions {
        files: Some(chain.with_max_bytes(100)),
        ..GbnfOptions::default()
    };
    let error = parse("%import a \"0.gbnf\"\nroot ::= a", &options).expect_err("endless");
    assert_eq!(
        error.kind,
        GbnfErrorKind::File(Box::new(GbnfFileError::TooLarge(100)))
    );
    // A thousand paths lead to each of these files, and each is read once.
    let diamonds = GbnfFiles::new(|path| {
        let number: u32 = path.trim_end_matches(".gbnf").parse()?;
        Ok(match number {
            50 => "root ::= \"x\"".to_owned(),
            _ => {
                let next = number + 1;
                format!("%import a \"{next}.gbnf\"\n%import b \"./{next}.gbnf\"\nroot ::= a | b")
            }
        })
    });
    let options = GbnfOptions {
        files: Some(diamonds),
        ..GbnfOptions::default()
    };
    let grammar = parse("%import a \"0.gbnf\"\nroot ::= a", &options);
    assert_eq!(grammar.map(|grammar| grammar.rules().len()), Ok(52));
}
