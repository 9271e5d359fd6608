use super::scan::{DEEPEST, scan};
use super::*;
use crate::arbitrary::run::{plan, step};
use crate::plan::error;

#[test]
fn what_cannot_be_parsed_is_not_parsed() {
    let deep = |n: usize| format!("{}{}", "a {\n".repeat(n), "}\n".repeat(n));
    for (text, wrong) in [
        ("a \"b {\" { c #\"\"{\"# \"\"\"\n{\n\"\"\" }\n// {\n/* { /* } */ { */".to_owned(), ""),
        (deep(DEEPEST), ""),
        (deep(DEEPEST + 1), "blocks are nested too deeply"),
        ("{".repeat(1_000_000), "blocks are nested too deeply"),
        ("a }".to_owned(), "this `}` closes nothing"),
        ("a {".to_owned(), "this `{` is not closed"),
        ("a \"b".to_owned(), "this text is not closed"),
        ("a \"b\n\"".to_owned(), "this text is not closed"),
        ("a \"\"\"b\"".to_owned(), "this text is not closed"),
        ("a ##\"b\"#".to_owned(), "this text is not closed"),
        ("a \"\\q\"".to_owned(), "nothing is written with this `\\`"),
        ("a \"\\u{110000000}\"".to_owned(), "no character has this number"),
        ("/* /* */".to_owned(), "this comment is not closed"),
        ("/*".repeat(100_000), "comments are nested too deeply"),
        ("/-".repeat(100_000), "too many `/-` one behind another"),
        ("// a\r{".to_owned(), "a line ends here with a character that nobody sees"),
        ("// a\u{2028}{".to_owned(), "a line ends here with a character that nobody sees"),
        ("a 1\n<<<<<<< HEAD\n".to_owned(), "a merge left a conflict here"),
    ] {
        let found = scan(&text).err().map_or(String::new(), |e| e.message);
        assert_eq!(found, wrong, "{:.80}", text);
    }
}

/// The deepest text that the scan lets through does not harm the parser, nor does a long run of any sign.
#[test]
fn what_is_parsed_harms_nobody() {
    let mut texts = vec![format!("{}{}", "a {\n".repeat(DEEPEST), "}\n".repeat(DEEPEST))];
    for sign in ["(", ")", "#", "\\", "=", ";", "-", "/", "a ", "(a)", "a=1 ", "\\\n", "/- ", "a\n", "\"\" ", "// x\n", "/**/"] {
        texts.push(sign.repeat(2_000));
        texts.push(format!("a {}", sign.repeat(2_000)));
    }
    for text in texts {
        assert!(from_kdl(&text).is_err());
    }
}

#[test]
fn faults_have_their_place() {
    let mut one = step("one");
    one.after = vec!["zero".to_owned()];
    let good = to_kdl(&plan(vec![step("zero"), one]));
    assert!(from_kdl(&good).is_ok(), "{good}");
    for (from, to, code, message, at) in [
        ("version 1", "version 2", error::VERSION, "this plan has version 2, known is 1", "2"),
        ("version 1", "", error::DOCUMENT, "this is no plan: it does not say its version", ""),
        ("role \"worker\"", "role \"other\"", error::TAMPERED, "the plan says its digest is ", "\"sha256:"),
        ("role \"worker\"", "role worker", "", "", ""),
        ("role \"worker\"", "/* a comment */ role \\\n \"worker\" // here", "", "", ""),
        ("role \"worker\"", "role 7", error::DOCUMENT, "a text in quotes is expected here", "7"),
        ("role \"worker\"", "role \"a\" \"b\"", error::DOCUMENT, "a text is expected here, and nothing else", "role"),
        ("role \"worker\"", "", error::DOCUMENT, "`role` is missing", "request"),
        ("role \"worker\"", "role \"worker\"\nrole \"worker\"", error::DOCUMENT, "`role` is here twice", "role"),
        ("role \"worker\"", "role \"worker\"\nrol 1", error::DOCUMENT, "`rol` has no place here", "rol"),
        ("role \"worker\"", "role (list)\"worker\"", error::DOCUMENT, "a value has no mark in a plan", "list"),
        ("kind=\"run\"", "kind=\"runn\"", error::DOCUMENT, "`runn` is none of the words that can stand here", "\"runn\""),
        ("timeoutMs 60000", "timeoutMs 1.5", error::DOCUMENT, "a whole number is expected here", "1.5"),
        ("timeoutMs 60000", "timeoutMs -1", error::DOCUMENT, "the number -1 is too large or too small here", "-1"),
        ("timeoutMs 60000", "timeoutMs", error::DOCUMENT, "a whole number is expected here, and nothing else", "timeoutMs"),
        ("after \"zero\"", "after { x \"zero\"; }", error::DOCUMENT, "an item of a list begins with `-`", "x"),
        ("after \"zero\"", "after { - \"zero\"; }", "", "", ""),
        ("after \"zero\"", "(list)after \"zero\"", "", "", ""),
        ("after \"zero\"", "(lis)after \"zero\"", error::DOCUMENT, "`(lis)` is no mark of a plan", "lis"),
        ("dir \".\"", "dir \"../x\"", error::DOCUMENT, "not a path of the repository", "\"../x\""),
        ("steps {", "<<<<<<< ours\nsteps {", error::CONFLICT, "a merge left a conflict here", "<<<<<<<"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let text = good.replacen(from, to, 1);
        match from_kdl(&text) {
            Ok(_) => assert_eq!(message, "", "{to}"),
            Err(e) => {
                let place = e.span.map_or("", |s| &text[s.start..s.end]);
                assert!(e.error.message.starts_with(message) && place.starts_with(at), "{to}: {e:?} at {place:?}");
                assert_eq!(e.error.code, code, "{to}: {e:?}");
            }
        }
    }
}
