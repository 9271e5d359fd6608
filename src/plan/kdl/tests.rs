//! Tests what the reader accepts, what it refuses, and at which place.

use super::text::{DEEPEST, KdlValue, parse};
use super::*;
use crate::arbitrary::made::{plan, step};
use crate::error;

/// Checks that the crate reads a text that vplan's reader accepts as the same nodes; another is
/// refused at the first fault.
#[test]
fn texts() {
    fn same(ours: &[text::KdlNode], theirs: &kdl::KdlDocument) {
        assert_eq!(ours.len(), theirs.nodes().len());
        for (a, b) in ours.iter().zip(theirs.nodes()) {
            assert_eq!(
                (a.name.text.as_str(), a.entries.len()),
                (b.name().value(), b.entries().len())
            );
            assert_eq!(
                a.mark.as_ref().map(|m| m.text.as_str()),
                b.ty().map(|t| t.value())
            );
            for (a, b) in a.entries.iter().zip(b.entries()) {
                assert_eq!(
                    a.name.as_ref().map(|n| n.text.as_str()),
                    b.name().map(|n| n.value())
                );
                match (&a.value, b.value()) {
                    (KdlValue::Text(a) | KdlValue::Bare(a), kdl::KdlValue::String(b)) => {
                        assert_eq!(a, b)
                    }
                    (KdlValue::Integer(a), kdl::KdlValue::Integer(b)) => assert_eq!(a, b),
                    (KdlValue::Bool(a), kdl::KdlValue::Bool(b)) => assert_eq!(a, b),
                    (KdlValue::Null, kdl::KdlValue::Null) => {}
                    other => panic!("{other:?}"),
                }
            }
            match (&a.children, b.children()) {
                (Some(a), Some(b)) => same(a, b),
                (None, None) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    let deep = |n: usize| format!("{}{}", "a {\n".repeat(n), "}\n".repeat(n));
    for (text, wrong) in [
        ("a \"b {\" c #\"\"{\"# //\n".replace("\"\"{", "\" {") + "// {\n/* { /* } */ { */ z", ""),
        (
            "a b=1 c=\"x\" #true #null -5 +7 1_000 {\n  - 1; - 2\n}\n(list)b \"\\u{41}\\s\\n\" \\ // x\n  c; d"
                .to_owned(),
            "",
        ),
        ("/- a { b; }\nc /- 1 2 /- x=1 /- { d; }\n".to_owned(), ""),
        ("\"a b\" \"c\"=1 (mark)2 e=(mark)3".to_owned(), ""),
        ("- . -x a.b ->x".to_owned(), "a blank is expected here"),
        (deep(DEEPEST), ""),
        (deep(DEEPEST + 1), "blocks are nested too deeply"),
        ("{".repeat(1_000_000), "a word is expected here"),
        ("a{".repeat(1_000_000), "blocks are nested too deeply"),
        ("(".repeat(1_000_000), "a word is expected here"),
        ("a c = 1 \\ /* x */ // y\r\n  \"d\"\t=#\"e\"# \\".to_owned(), ""),
        (";".to_owned(), "nothing stands in front of this `;`"),
        ("a b;;".to_owned(), "nothing stands in front of this `;`"),
        ("a }".to_owned(), "this `}` closes nothing"),
        ("a {".to_owned(), "this `{` is not closed"),
        ("a;;b".to_owned(), "nothing stands in front of this `;`"),
        ("a {} b".to_owned(), "a line end or `;` is expected behind a block"),
        ("a {} {}".to_owned(), "this node has two blocks"),
        ("a \"b".to_owned(), "this text is not closed"),
        ("a \"b\n\"".to_owned(), "this text is not closed"),
        ("a \"\"\"\nb\n\"\"\"".to_owned(), "a text stands on one line here, in one pair of quotes"),
        ("a ##\"b\"#".to_owned(), "this text is not closed"),
        ("a \"\\q\"".to_owned(), "nothing is written with this `\\`"),
        ("a \"\\u{110000}\"".to_owned(), "no character has this number"),
        ("a \"\\u日\"".to_owned(), "no character has this number"),
        ("a \"b\"c".to_owned(), "a blank is expected here"),
        ("a 1.5".to_owned(), "numbers are whole, and written in decimal"),
        ("a 0x1f".to_owned(), "numbers are whole, and written in decimal"),
        ("a true".to_owned(), "it is written `#true`, or in quotes"),
        ("a #yes".to_owned(), "nothing is written with this `#`"),
        ("a = 1".to_owned(), "a word is expected here"),
        ("a (b".to_owned(), "this `(` is not closed"),
        ("5 a".to_owned(), "a name is expected here"),
        ("/* /* */".to_owned(), "this comment is not closed"),
        ("/*".repeat(100_000), "this comment is not closed"),
        ("/-".repeat(100_000), "`/-` must stand in front of what it leaves out"),
        ("// a\r{".to_owned(), "the character U+000D, which nobody sees, must be written `\\u{d}`"),
        ("// a\u{2028}{".to_owned(), "the character U+2028, which nobody sees, must be written `\\u{2028}`"),
        ("a 1\n<<<<<<< HEAD\n".to_owned(), "a merge left a conflict here"),
    ] {
        match parse(&text) {
            Ok(nodes) => {
                assert_eq!(wrong, "", "{:.80}", text);
                same(&nodes, &text.parse().unwrap());
            }
            Err(e) => {
                assert_eq!(e.message, wrong, "{:.80}", text);
                assert!(text.get(e.span.start..e.span.end).is_some(), "{:.80}", text);
            }
        }
    }
}

#[test]
fn faults_have_their_place() {
    let mut one = step("one");
    one.after = vec!["zero".to_owned()];
    let good = to_kdl(&plan(vec![step("zero"), one]));
    assert!(from_kdl(&good).is_ok(), "{good}");
    for (from, to, code, message, at) in [
        (
            "version 2",
            "version 3",
            error::VERSION,
            "this plan has version 3, known are 1 and 2",
            "3",
        ),
        (
            "version 2",
            "",
            error::DOCUMENT,
            "this is no plan: it does not say its version",
            "",
        ),
        (
            "role \"worker\"",
            "role \"other\"",
            error::TAMPERED,
            "the plan says its digest is ",
            "\"sha256:",
        ),
        ("role \"worker\"", "role worker", "", "", ""),
        (
            "role \"worker\"",
            "/* a comment */ role \\\n \"worker\" // here",
            "",
            "",
            "",
        ),
        (
            "role \"worker\"",
            "role 7",
            error::DOCUMENT,
            "a text in quotes is expected here",
            "7",
        ),
        (
            "role \"worker\"",
            "role \"a\" \"b\"",
            error::DOCUMENT,
            "a text is expected here, and nothing else",
            "role",
        ),
        (
            "role \"worker\"",
            "",
            error::DOCUMENT,
            "`role` is missing",
            "request",
        ),
        (
            "role \"worker\"",
            "role \"worker\"\nrole \"worker\"",
            error::DOCUMENT,
            "`role` is here twice",
            "role",
        ),
        (
            "role \"worker\"",
            "role \"worker\"\nrol 1",
            error::DOCUMENT,
            "`rol` has no place here",
            "rol",
        ),
        (
            "role \"worker\"",
            "role (list)\"worker\"",
            error::DOCUMENT,
            "a value has no mark in a plan",
            "list",
        ),
        (
            "kind=\"run\"",
            "kind=\"runn\"",
            error::DOCUMENT,
            "`runn` is none of the words that can stand here",
            "kind=\"runn\"",
        ),
        (
            "timeoutMs 60000",
            "timeoutMs 1.5",
            error::SYNTAX,
            "numbers are whole, and written in decimal",
            "1.5",
        ),
        (
            "timeoutMs 60000",
            "timeoutMs -1",
            error::DOCUMENT,
            "the number -1 is too large or too small here",
            "-1",
        ),
        (
            "timeoutMs 60000",
            "timeoutMs",
            error::DOCUMENT,
            "a whole number is expected here, and nothing else",
            "timeoutMs",
        ),
        (
            "after \"zero\"",
            "after { x \"zero\"; }",
            error::DOCUMENT,
            "an item of a list begins with `-`",
            "x",
        ),
        ("after \"zero\"", "after { - \"zero\"; }", "", "", ""),
        ("after \"zero\"", "(list)after \"zero\"", "", "", ""),
        (
            "after \"zero\"",
            "(lis)after \"zero\"",
            error::DOCUMENT,
            "`(lis)` is no mark of a plan",
            "lis",
        ),
        (
            "dir \".\"",
            "dir \"../x\"",
            error::DOCUMENT,
            "not a path of the repository",
            "\"../x\"",
        ),
        (
            "steps {",
            "<<<<<<< ours\nsteps {",
            error::CONFLICT,
            "a merge left a conflict here",
            "<<<<<<<",
        ),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let text = good.replacen(from, to, 1);
        match from_kdl(&text) {
            Ok(_) => assert_eq!(message, "", "{to}"),
            Err(e) => {
                let place = e.span.map_or("", |s| &text[s.start..s.end]);
                assert!(
                    e.error.message.starts_with(message) && place.starts_with(at),
                    "{to}: {e:?} at {place:?}"
                );
                assert_eq!(e.error.code, code, "{to}: {e:?}");
            }
        }
    }
}
