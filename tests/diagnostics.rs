//! One test per diagnostic code, and a table of malformed contracts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use vplan::base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan::base::source::{Source, Sources};
use vplan::contract::Contract;
use vplan::contract::error as contract;
use vplan::contract::expect::validate::validate_tests;
use vplan::contract::validate::validate;
use vplan::front::vplan_test::lower_tests;
use vplan::front::{self, verify_contract_json as json};
use vplan::lang::error as lang;

/// A text with this line is a file of tests of a contract that has the checks `a` and `b`.
const TEST_FILE: &str = "# a.test.vplan\n";

/// Reads a contract as the program does. What was found is in the order in which it is shown.
fn read(text: &str) -> (Option<Contract>, Vec<Diagnostic>, Sources) {
    let name = if text.starts_with(['{', '[']) {
        "verify.contract.json"
    } else {
        "contracts/verify.vplan"
    };
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name, text));
    let mut sink = Diagnostics::default();
    let contract = if text.contains(TEST_FILE) {
        let tests = lower_tests(&sources, id, 1 << 20, &mut sink);
        let (contract, _, _) = read("vplan 1\ncheck a: true\ncheck b: true\n");
        let expects = validate_tests(
            &tests.expects,
            contract.as_ref().unwrap(),
            &sources,
            &mut sink,
        );
        assert!(
            sink.has_errors() || expects.len() == tests.expects.len(),
            "{text}"
        );
        contract.filter(|_| !sink.has_errors())
    } else {
        let draft = front::lower(&sources, id, &mut sink);
        validate(&draft, &sources, &mut sink)
    };
    assert_eq!(contract.is_none(), sink.has_errors(), "{text}");
    let all = sink.sorted();
    all.iter().for_each(|d| well_formed(d, &sources));
    (contract, all, sources)
}

/// What holds of every message: the conventions, and labels inside the text.
fn well_formed(diagnostic: &Diagnostic, sources: &Sources) {
    let text = &diagnostic.message;
    let lines = diagnostic
        .labels
        .iter()
        .map(|l| &l.text)
        .chain(&diagnostic.help)
        .chain([text]);
    for line in lines {
        assert!(
            !line.is_empty() && !line.contains('\n') && !line.ends_with('.'),
            "{line}"
        );
        assert!(
            !line.chars().any(vplan::base::word::is_unsafe_to_show),
            "{line:?}"
        );
        assert!(
            line.matches('`').count().is_multiple_of(2)
                || line.contains("`'`")
                || line.contains('$'),
            "{line}"
        );
    }
    assert!(
        !text.starts_with(char::is_uppercase) || text.starts_with("JSON"),
        "{text}"
    );
    for label in &diagnostic.labels {
        let source = sources
            .get(label.place.source)
            .expect("a file that was read");
        assert!(
            source
                .text()
                .get(label.place.span.start..label.place.span.end)
                .is_some(),
            "{diagnostic:?}"
        );
    }
}

/// The code without its first part, and the text under the first label.
fn found<'s>(diagnostic: &Diagnostic, sources: &'s Sources) -> (&'static str, &'s str) {
    let place = diagnostic.labels.first().map(|l| l.place);
    let text = place
        .and_then(|p| sources.get(p.source).map(|s| s.slice(p.span)))
        .unwrap_or_default();
    (short(diagnostic.code), text)
}

fn short(code: Code) -> &'static str {
    code.0.trim_start_matches("vplan::")
}

/// A contract, and the one message that it gets.
struct Example {
    /// The text behind `vplan 1`; all of it when that would not be the point, and for JSON.
    text: &'static str,
    code: &'static str,
    message: &'static str,
    help: Option<&'static str>,
    /// What is underlined, and the remark on it.
    labels: &'static [(&'static str, &'static str)],
}

/// One example of each code that a text of ordinary size can get.
const EXAMPLES: &[Example] = &[
    Example {
        text: "",
        code: "lang::missing_header",
        message: "the file does not say which version of the language it is in",
        help: Some("begin the file with the line `vplan 1`"),
        labels: &[("", "`vplan 1` is expected before anything else")],
    },
    Example {
        text: "check a: true\nvplan 1\n",
        code: "lang::misplaced_header",
        message: "the version of the language stands before anything else, and once",
        help: Some("make `vplan 1` the first line of the file"),
        labels: &[("vplan", "not here"), ("check", "the file begins here")],
    },
    Example {
        text: "vplan 2\ncheck a: true\n",
        code: "lang::unknown_version",
        message: "unknown version `2`",
        help: Some("this program knows version 1"),
        labels: &[("2", "of the language")],
    },
    Example {
        text: "vplan\ncheck a: true\n",
        code: "lang::missing_argument",
        message: "`vplan` needs a version",
        help: Some("it is written `vplan 1`"),
        labels: &[("vplan", "a version is expected behind it")],
    },
    Example {
        text: "check a: true\rcheck b: true\n",
        code: "lang::lone_carriage_return",
        message: "a carriage return without a line feed",
        help: Some("save the file with one kind of line ends; in a string, write `\\r`"),
        labels: &[("\r", "a line ends with LF or CR LF")],
    },
    Example {
        text: "contract \"a\0b\"\ncheck a: true\n",
        code: "lang::nul",
        message: "a character NUL",
        help: Some("save the file as UTF-8; in UTF-16 every other byte is NUL"),
        labels: &[("\0", "no argument and no path can hold it")],
    },
    Example {
        text: "contract \"a\u{202e}b\"\ncheck a: true\n",
        code: "lang::bidi_control",
        message: "an invisible character, \\u{202e}, changes the direction of the text",
        help: Some("leave it out; in a string in `\"`, write `\\u{202e}`"),
        labels: &[("\u{202e}", "what is shown is not what is read")],
    },
    Example {
        text: "# a\u{202e}b\ncheck a: true\n",
        code: "lang::bidi_control_in_comment",
        message: "an invisible character, \\u{202e}, changes the direction of the text",
        help: None,
        labels: &[("\u{202e}", "in a comment")],
    },
    Example {
        text: "check a: true \\  \ncheck b: true\n",
        code: "lang::bad_continuation",
        message: "a backslash at the end of a line with nothing to join",
        help: Some(
            "a backslash joins the next line only when it is the line's very last character",
        ),
        labels: &[("\\  ", "blanks behind the backslash")],
    },
    Example {
        text: "contract \"a\ncheck a: true\n",
        code: "lang::unclosed_string",
        message: "the string is not closed",
        help: Some("write `contract \"a\"`"),
        labels: &[("\"a", "opened here")],
    },
    Example {
        text: "contract \"a\\qb\"\ncheck a: true\n",
        code: "lang::bad_escape",
        message: "`\\q` is no escape",
        help: Some(
            "the escapes are `\\\"`, `\\\\`, `\\n`, `\\t`, `\\r` and `\\u{HEX}`; in '…' everything is literal",
        ),
        labels: &[("\\q", "unknown escape")],
    },
    Example {
        text: "paths p = \"a\"\"b\"\nwhenChangedAny p {\n  check a: true\n}\n",
        code: "lang::missing_blank",
        message: "a blank is missing between two arguments",
        help: Some("write `paths p = \"a\" \"b\"`"),
        labels: &[("\"b\"", "no blank before this")],
    },
    Example {
        text: "byrole tester {\n  check a: true\n}\n",
        code: "lang::unknown_statement",
        message: "unknown statement `byrole`",
        help: Some("did you mean `byRole`?"),
        labels: &[("byrole", "begins no statement")],
    },
    Example {
        text: "timeout 5m\ncheck a: true\n",
        code: "lang::misplaced_statement",
        message: "`timeout` does not stand at the top level",
        help: Some(
            "it stands in a `check` block, or in a `defaults` block, or in a `service` block",
        ),
        labels: &[("timeout", "not here")],
    },
    Example {
        text: "check a {\n  lint eslint {changed}\n  fix\n}\n",
        code: "lang::missing_command",
        message: "`fix` has no command",
        help: Some("write what mends a failure of the check, such as `fix cargo fmt`"),
        labels: &[("", "a command is expected here")],
    },
    Example {
        text: "whenChangedAny \"a\" {\n  check a {\n    lint eslint {changed}\n    fix eslint {changed}\n  }\n}\n",
        code: "contract::fix_is_verb",
        message: "the fix is what the check itself does",
        help: Some("write the command that mends a failure, or leave the `fix` out"),
        labels: &[
            ("fix eslint {changed}", "the same command"),
            ("lint eslint {changed}", "does this"),
        ],
    },
    Example {
        text: "check a {\n  run true\n  sandbox files\n}\n",
        code: "contract::sandbox_without_inputs",
        message: "under `sandbox files` a check reads only what it declares",
        help: Some("add `inputs`: `vplan audit` shows what it reads, and `--write` adds it"),
        labels: &[("a", "has no `inputs`")],
    },
    Example {
        text: "check a {\n  run true\n  inputs \"src/**\"\n  sandbox files\n  reads \"src\"\n}\n",
        code: "contract::reads",
        message: "`reads` names what is outside of the repository",
        help: Some(
            "write `~/…` or an absolute path; what is in the repository is named by `inputs`",
        ),
        labels: &[("\"src\"", "begins neither with `/` nor with `~/`")],
    },
    Example {
        text: "check a {\n  run true\n  reads \"~/x\"\n}\n",
        code: "contract::reads_without_sandbox",
        message: "without `sandbox files` it may read everything",
        help: Some("add `sandbox files`, or leave `reads` out"),
        labels: &[("reads \"~/x\"", "allows nothing")],
    },
    Example {
        text: "toolchain sh: sh --version\ncheck a {\n  run true\n  shared\n}\n",
        code: "contract::shared_without_inputs",
        message: "what a shared pass rests on is not said",
        help: Some("add `inputs`: `vplan audit` shows what it reads, and `--write` adds it"),
        labels: &[("shared", "the check has no `inputs`")],
    },
    Example {
        text: "toolchain sh: sh --version\ncheck a {\n  run true\n  inputs \"src/**\"\n  shared\n}\n",
        code: "contract::shared_without_sandbox",
        message: "a pass that may rest on more than the check declares cannot be shared",
        help: Some("add `sandbox files`, or leave `shared` out"),
        labels: &[("shared", "the check may read what it does not declare")],
    },
    Example {
        text: "check a {\n  run true\n  inputs \"src/**\"\n  sandbox files\n  shared\n}\n",
        code: "contract::shared_without_toolchain",
        message: "passes are shared, and no `toolchain` says which programs gave them",
        help: Some("add for example `toolchain node: node --version`"),
        labels: &[("a", "shares its pass")],
    },
    Example {
        text: "machine linux {\n  property \"OS\" \"linux\"\n}\ncheck a {\n  run true\n  inputs \"src/**\"\n  on linus\n}\ncheck b {\n  run true\n  on linux\n  inputs \"b\"\n}\n",
        code: "contract::unknown_machine",
        message: "unknown machine `linus`",
        help: Some("replace `linus` by `linux`"),
        labels: &[("on linus", "did you mean `linux`?")],
    },
    Example {
        text: "machine linux {\n  property \"OS\" \"linux\"\n}\ncheck a {\n  run true\n  on linux\n}\n",
        code: "contract::on_without_inputs",
        message: "what must be on that machine is not said",
        help: Some("add `inputs`: `vplan audit` shows what it reads, and `--write` adds it"),
        labels: &[("on linux", "the check has no `inputs`")],
    },
    Example {
        text: "machine here {\n  property \"OS\" \"linux\"\n}\ncheck a {\n  run true\n  on here\n}\n",
        code: "contract::machine_here",
        message: "`here` is the machine of vplan itself",
        help: Some("give it another name; `on here` needs no block"),
        labels: &[("here", "this name is taken")],
    },
    Example {
        text: "machine linux {\n  property \"p0\" \"\"\n  property \"p1\" \"\"\n  property \"p2\" \"\"\n  property \"p3\" \"\"\n  property \"p4\" \"\"\n  property \"p5\" \"\"\n  property \"p6\" \"\"\n  property \"p7\" \"\"\n  property \"p8\" \"\"\n  property \"p9\" \"\"\n  property \"p10\" \"\"\n  property \"p11\" \"\"\n  property \"p12\" \"\"\n  property \"p13\" \"\"\n  property \"p14\" \"\"\n  property \"p15\" \"\"\n  property \"p16\" \"\"\n  property \"p17\" \"\"\n  property \"p18\" \"\"\n  property \"p19\" \"\"\n  property \"p20\" \"\"\n  property \"p21\" \"\"\n  property \"p22\" \"\"\n  property \"p23\" \"\"\n  property \"p24\" \"\"\n  property \"p25\" \"\"\n  property \"p26\" \"\"\n  property \"p27\" \"\"\n  property \"p28\" \"\"\n  property \"p29\" \"\"\n  property \"p30\" \"\"\n  property \"p31\" \"\"\n  property \"p32\" \"\"\n}\ncheck a {\n  run true\n  inputs \"a\"\n  on linux\n}\n",
        code: "contract::machine_size",
        message: "the machine has 33 properties, 32 are the most",
        help: None,
        labels: &[("property \"p32\" \"\"", "the first one too many")],
    },
    Example {
        text: "machine linux {\n}\ncheck a {\n  run true\n  inputs \"a\"\n  on linux\n}\n",
        code: "contract::empty_machine",
        message: "the machine is like any other",
        help: Some("write what the server knows it by: `property \"OSFamily\" \"linux\"`"),
        labels: &[("linux", "without a property")],
    },
    Example {
        text: "machine linux {\n  property \"OS\" \"linux\"\n}\ncheck a: true\n",
        code: "contract::unused_machine",
        message: "the machine `linux` is never used",
        help: Some("write `on linux` into a check, or remove the block"),
        labels: &[("linux", "no check says `on` and its name")],
    },
    Example {
        text: "defaults tests {\n  timeout 5m\n}\ncheck a: true\n",
        code: "lang::unknown_word",
        message: "unknown word `tests`",
        help: Some("did you mean `test`?"),
        labels: &[("tests", "means nothing here")],
    },
    Example {
        text: "defaults {\n  timeout test 5m\n}\ncheck a: true\n",
        code: "lang::unexpected_argument",
        message: "unexpected `test`",
        help: Some("write `timeout 5m` in a block `defaults test {`"),
        labels: &[("test", "a verb stands in the head of the block")],
    },
    Example {
        text: "defaults test {\n  timeout 5m\n}\ndefaults test {\n  timeout 6m\n}\ncheck a: true\n",
        code: "contract::defaults_twice",
        message: "`timeout` for `test` is set in line 3 already",
        help: Some("keep one of them"),
        labels: &[
            ("timeout 6m", "set again here"),
            ("timeout 5m", "first set here"),
        ],
    },
    Example {
        text: "check a: eslint {staged_files}\n",
        code: "lang::unknown_hole",
        message: "`{staged_files}` stands for nothing",
        help: Some("write `{changed}`: the changed files, one argument each"),
        labels: &[("{staged_files}", "unknown here")],
    },
    Example {
        text: "check a: run npm test\n",
        code: "lang::verb_as_program",
        message: "this starts a program with the name `run`",
        help: Some("leave the verb out, or write it in a block: `check NAME {`"),
        labels: &[("run", "no verb stands here")],
    },
    Example {
        text: "import \"x.vplan\"\ncheck a: true\n",
        code: "contract::import",
        message: "`x.vplan` was not imported",
        help: None,
        labels: &[(
            "import \"x.vplan\"",
            "this text was read on its own, without other files",
        )],
    },
    Example {
        text: "check a: true\nexpect \"x\" {\n  role tester\n}\n",
        code: "contract::empty_expect",
        message: "the test `x` asserts nothing",
        help: Some(
            "`plan` with the names of all checks that run, in order; a `plan` alone says that nothing runs",
        ),
        labels: &[("\"x\"", "neither `plan` nor `runs` nor `skips`")],
    },
    Example {
        text: "check a: true\nexpect \" \" {\n  plan a\n}\n",
        code: "contract::expect_title",
        message: "a test has no title",
        help: Some("say what is expected: it is what a failure shows"),
        labels: &[("\" \"", "nothing is said")],
    },
    Example {
        text: "check a: true\nexpect \"x\" {\n  plan a\n  skips a\n}\n",
        code: "contract::expect_conflict",
        message: "`a` is expected to run and not to run",
        help: Some("no plan fulfils both: keep one of them"),
        labels: &[("a", "not to run here"), ("a", "to run here")],
    },
    Example {
        text: "tests \"verify.vplan\"\ncheck a: true\n",
        code: "contract::tests_misplaced",
        message: "`tests` does not stand in a contract",
        help: Some(
            "`vplan test` reads files of tests, named `NAME.test.vplan`; a contract's own tests need no `tests`",
        ),
        labels: &[(
            "\"verify.vplan\"",
            "this says that the file holds tests of another",
        )],
    },
    Example {
        text: "# a.test.vplan\nexpect \"x\" {\n  plan a b\n}\n",
        code: "contract::tests_missing",
        message: "the file does not say which contract it tests",
        help: Some("write `tests \"verify.vplan\"` behind `vplan 1`: a path relative to this file"),
        labels: &[(
            "expect",
            "`tests \"PATH\"` is expected before anything else",
        )],
    },
    Example {
        text: "# a.test.vplan\ntests \"verify.vplan\"\ncheck a: true\n",
        code: "contract::not_a_test",
        message: "`check` does not stand in a file of tests",
        help: Some("beside `vplan 1` and `tests`, only `expect` does; the rest is the contract's"),
        labels: &[("check", "not here")],
    },
    Example {
        text: "check a: true\nexpect \"x\" {\n  command \"tset:make x\"\n  runs a\n}\n",
        code: "contract::command_verb",
        message: "`tset` is not a verb of a command",
        help: Some("did you mean `test:`? `run:tset:…` starts a program of this name"),
        labels: &[("\"tset:make x\"", "not a verb of a command")],
    },
    Example {
        text: "check a {\n  run true\n",
        code: "lang::unclosed_block",
        message: "a block is not closed",
        help: Some("close it with `}` on a line of its own"),
        labels: &[("{", "opened here")],
    },
    Example {
        text: "check a: true\n}\n",
        code: "lang::unexpected_close",
        message: "a `}` without a block",
        help: Some("leave it out, or look for the `{` that is missing above"),
        labels: &[("}", "no block is open here")],
    },
    Example {
        text: "check a { run true }\n",
        code: "lang::block_on_one_line",
        message: "a block is never on one line",
        help: Some("write `check … {`, then `run true`, then `}`, each on a line of its own"),
        labels: &[(" run true }", "this belongs to the next line")],
    },
    Example {
        text: "byRole tester\ncheck a: true\n",
        code: "lang::missing_block",
        message: "`byRole` needs a block",
        help: Some("write `byRole tester {`"),
        labels: &[("byRole", "its line must end with `{`")],
    },
    Example {
        text: "contract \"a\" {\n}\ncheck a: true\n",
        code: "lang::unexpected_block",
        message: "`contract` has no block",
        help: Some("it is written `contract \"NAME\"`"),
        labels: &[("{", "nothing can be opened here")],
    },
    Example {
        text: "tier 1 {\n  tier 2 {\n    check a: true\n  }\n}\n",
        code: "lang::nested_tier",
        message: "a `tier` block inside another",
        help: Some("a check has one tier: close the outer block first"),
        labels: &[("tier", "this one"), ("tier", "inside this one")],
    },
    Example {
        text: "contract a\ncheck a: true\n",
        code: "lang::unexpected_argument",
        message: "unexpected `a`",
        help: Some("write `contract \"a\"`"),
        labels: &[("a", "a string is expected")],
    },
    Example {
        text: "check 1a: true\n",
        code: "lang::bad_name",
        message: "`1a` is no name",
        help: Some("write `check _1a: true`"),
        labels: &[("1a", "a name is expected here")],
    },
    Example {
        text: "check a:true\n",
        code: "lang::check_colon",
        message: "the `:` of a check stands directly behind its name",
        help: Some("write `check a: true`"),
        labels: &[(":", "no blank behind it")],
    },
    Example {
        text: "check a:\n",
        code: "lang::command_empty",
        message: "the command is missing",
        help: Some("write `check a: COMMAND`, or `check a {` for a block"),
        labels: &[("", "a command is expected here")],
    },
    Example {
        text: "check a: {\n  run true\n}\n",
        code: "lang::command_operator",
        message: "`{` is a shell operator, and no shell reads this",
        help: Some("write `check a {`"),
        labels: &[("{", "means nothing here")],
    },
    Example {
        text: "paths p = a/**\ncheck a: true\n",
        code: "lang::unquoted_glob",
        message: "`a/**` is not quoted",
        help: Some("write `paths p = \"a/**\"`"),
        labels: &[("a/**", "a glob stands in quotes")],
    },
    Example {
        text: "whenExists \"/etc/passwd\" {\n  check a: true\n}\n",
        code: "contract::path",
        message: "the path `/etc/passwd` is absolute",
        help: Some("paths begin at the repository's root: `etc/passwd`"),
        labels: &[("\"/etc/passwd\"", "not a path of the repository")],
    },
    Example {
        text: "tier x {\n  check a: true\n}\n",
        code: "lang::bad_number",
        message: "`x` is no whole number",
        help: None,
        labels: &[("x", "a whole number from 0 to 2 is expected")],
    },
    Example {
        text: "limits {\n  budget 10\n}\ncheck a: true\n",
        code: "lang::bad_duration",
        message: "`10` is no duration",
        help: Some("did you mean `10s`?"),
        labels: &[("10", "the unit is missing")],
    },
    Example {
        text: "gate {\n  on-exhausted alow\n}\ncheck a: true\n",
        code: "lang::unknown_word",
        message: "unknown word `alow`",
        help: Some("did you mean `allow`?"),
        labels: &[("alow", "means nothing here")],
    },
    Example {
        text: "check a: echo $HOME\n",
        code: "lang::command_expansion",
        message: "`$HOME` would be expanded by a shell, and no shell reads this",
        help: Some(
            "there is no expansion: quote it with '…' for the literal text, or use the verb `shell`",
        ),
        labels: &[("$HOME", "stays as it is")],
    },
    Example {
        text: "check a: export A=1\n",
        code: "lang::command_builtin",
        message: "`export` is a part of the shell, no program",
        help: Some("give the check the setting `env NAME=VALUE`"),
        labels: &[("export", "no program has this name")],
    },
    Example {
        text: "check a: echo 'x\n",
        code: "lang::command_quote",
        message: "the quote `'` is not closed",
        help: Some("close it on the same line, or write `\\'` for an apostrophe"),
        labels: &[("'", "opened here")],
    },
    Example {
        text: "check a: -x\n",
        code: "lang::command_program",
        message: "`-x` is not the name of a program",
        help: Some("a program's name does not begin with `-`"),
        labels: &[("-x", "a program is expected here")],
    },
    Example {
        text: "check a: lint --files={changed}\n",
        code: "lang::changed_in_word",
        message: "`{changed}` is part of a longer word",
        help: Some("write `{changed}` between blanks, or quote it with '…' for the literal text"),
        labels: &[(
            "--files={changed}",
            "only a word of its own stands for the changed files",
        )],
    },
    Example {
        text: "check a {\n  shell ls {changed}\n}\n",
        code: "lang::changed_in_shell",
        message: "`{changed}` has no meaning behind `shell`",
        help: Some("use the verb `run` with `{changed}` as a word of its own"),
        labels: &[("ls {changed}", "in this text")],
    },
    Example {
        text: "check a: ls *.ts\n",
        code: "lang::command_glob",
        message: "`*.ts` is passed on literally",
        help: Some("quote it with '…' if the program expands it itself, or use the verb `shell`"),
        labels: &[("*.ts", "there is no shell to expand this")],
    },
    Example {
        text: "check a {\n  run true\n  pass-env *\n}\n",
        code: "lang::bad_variable",
        message: "`*` names no variable",
        help: Some("a name has letters, digits and `_`; only its end may be `*`, as in `CARGO_*`"),
        labels: &[("*", "the name of a variable is expected")],
    },
    Example {
        text: "check a {\n  run true\n  produces \"!out\"\n}\n",
        code: "lang::excluding_glob",
        message: "`produces` takes no excluding globs",
        help: Some("leave the `!` out; a name that begins with `!` is written `'\\!…'`"),
        labels: &[("\"!out\"", "begins with `!`")],
    },
    Example {
        text: "check a {\n  file \"x\" {\n    size 1..10B\n  }\n}\n",
        code: "lang::bad_size",
        message: "`1..10B` is no range of sizes",
        help: Some("a size is written `10B`, `64KiB`, `2MiB`, `1GiB`, `1MB`"),
        labels: &[("1..10B", "the unit is missing")],
    },
    Example {
        text: "check a: true\ncheck a: false\n",
        code: "contract::duplicate_name",
        message: "check `a` is defined twice",
        help: Some("give one of them another name"),
        labels: &[("a", "defined again here"), ("a", "first defined here")],
    },
    Example {
        text: "check aaaa: true\ncheck b {\n  run true\n  needs aaab\n}\n",
        code: "contract::unknown_check",
        message: "unknown check `aaab`",
        help: Some("replace `aaab` by `aaaa`"),
        labels: &[("aaab", "did you mean `aaaa`?")],
    },
    Example {
        text: "each p in a b {\n  check x-{p}: y\n  check z-{p} {\n    run y\n    timeout {p}\n  }\n}\n",
        code: "lang::hole_place",
        message: "the value of `{p}` cannot stand here",
        help: Some(
            "values stand in names, in \"…\", in the words of a command and in the value of an `env`",
        ),
        labels: &[("{p}", "no hole here")],
    },
    Example {
        text: "each py: 3.12 3.13 {\n  check unit-{py}: x\n}\n",
        code: "lang::each_head",
        message: "an `each` is written `each NAME in VALUE … {`",
        help: Some("write `each py in 3.12 3.13 {`"),
        labels: &[(
            "py: 3.12 3.13",
            "names, `in`, and what they stand for, are expected",
        )],
    },
    Example {
        text: "each a b in x, y z {\n  check {a}-{b}: x\n}\n",
        code: "lang::each_row",
        message: "row 1 has 1 value, the `each` has 2 names, `a` and `b`",
        help: Some(
            "a `,` stands between rows, blanks between the values of a row; quote a value with blanks",
        ),
        labels: &[("x", "another number")],
    },
    Example {
        text: "each pkg in-worksapce {\n  check unit-{pkg}: x\n}\n",
        code: "lang::each_head",
        message: "an `each` is written `each NAME in VALUE … {`",
        help: Some("did you mean `each pkg in-workspace`?"),
        labels: &[(
            "pkg in-worksapce",
            "names, `in`, and what they stand for, are expected",
        )],
    },
    Example {
        text: "each d in a {\n  whenChangedAny dependents {d} {\n    check x-{d}: y\n  }\n}\n",
        code: "contract::each_package",
        message: "`dependents {d}` is no package of a workspace",
        help: Some("it stands in a block `each pkg in-workspace {`, as `dependents {pkg}`"),
        labels: &[("dependents {d}", "names no package, in the row d = a")],
    },
    Example {
        text: "each p in packages/* {\n  check x-{p}: y\n}\n",
        code: "lang::each_glob",
        message: "`packages/*` is a value here, not a glob",
        help: Some("write `in-folders \"packages/*\"`, or `'packages/*'` for this one"),
        labels: &[("packages/*", "nothing is looked up")],
    },
    Example {
        text: "each p in-folders \"packages/**\" {\n  check x-{p}: y\n}\n",
        code: "contract::each_glob",
        message: "`packages/**` is no glob of folders",
        help: Some(
            "it is written `each NAME in-folders \"packages/*\" {`, with as many `*` as names",
        ),
        labels: &[(
            "\"packages/**\"",
            "`*` stands for a whole name, and nothing else is a wildcard",
        )],
    },
    Example {
        text: "service db {\n  run postgres\n  ready port {port}\n}\ncheck a {\n  run true\n  with db\n}\n",
        code: "lang::ready_form",
        message: "`port {port}` does not say when a service is ready",
        help: Some("write `ready tcp {port}`"),
        labels: &[(
            "port {port}",
            "`tcp PORT`, `file \"PATH\"`, `line \"TEXT\"` or `run COMMAND` is expected",
        )],
    },
    Example {
        text: "service database: postgres\ncheck a {\n  run true\n  with databse\n}\n",
        code: "contract::unknown_service",
        message: "unknown service `databse`",
        help: Some("replace `databse` by `database`"),
        labels: &[("databse", "did you mean `database`?")],
    },
    Example {
        text: "service db: postgres\ncheck a: true\n",
        code: "contract::unused_service",
        message: "service `db` is never used",
        help: Some("remove it, or write `with` into the block of a check that needs it"),
        labels: &[("db", "no check says `with` and its name")],
    },
    Example {
        text: "each changed in a b {\n  check x-{changed}: y\n}\n",
        code: "lang::each_reserved",
        message: "`{changed}` means the changed files",
        help: Some("give it another name"),
        labels: &[("changed", "a reserved name")],
    },
    Example {
        text: "each p in a b {\n  each p in c {\n    check x-{p}: y\n  }\n}\n",
        code: "lang::each_shadows",
        message: "`p` is a name of an `each` already",
        help: Some("give one of them another name"),
        labels: &[("p", "again here"), ("each", "a name of this one")],
    },
    Example {
        text: "each p in a b {\n  check x-{p}: y\n  limits {\n    jobs 2\n  }\n}\n",
        code: "lang::each_holds",
        message: "`limits` cannot stand in an `each`",
        help: Some("it stands at the top level"),
        labels: &[("limits", "not here")],
    },
    Example {
        text: "each a in 1 {\neach b in 1 {\neach c in 1 {\neach d in 1 {\neach e in 1 {\n\
               run x {a}{b}{c}{d}{e}\n}\n}\n}\n}\n}\n",
        code: "lang::each_depth",
        message: "more than 4 `each` blocks inside each other",
        help: Some(
            "one `each` may have several names: `each NAME NAME in VALUE VALUE, VALUE VALUE {`",
        ),
        labels: &[("each", "one too many")],
    },
    Example {
        text: "each p in 3.12 3.13 3.12 {\n  check x-{p}: y\n}\n",
        code: "contract::each_twice",
        message: "the row `3.12` is there twice",
        help: Some("keep one of them"),
        labels: &[("3.12", "again here"), ("3.12", "first here")],
    },
    Example {
        text: "each a b in 1 x, 2 y {\n  check x-{a}: y\n}\n",
        code: "contract::each_unused",
        message: "`{b}` is used nowhere in the block",
        help: Some("write `{b}` where the value stands, or leave it out"),
        labels: &[("b", "a name without a use")],
    },
    Example {
        text: "each py in 3.12 3.13 {\n  check unit: tox -e {py}\n}\n",
        code: "contract::each_same_name",
        message: "several rows make the check `unit`",
        help: Some("put the value into the name: `unit-{py}`"),
        labels: &[("unit", "the same in each row, in the row py = 3.13")],
    },
    Example {
        text: "each py in 3.12 3.13 {\n  check {py}-tests: tox -e {py}\n}\n",
        code: "contract::each_name",
        message: "`3.12-tests` is no name",
        help: Some("write `tests-{py}`"),
        labels: &[("{py}-tests", "made here, in the row py = 3.12")],
    },
    Example {
        text: "each a in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 {\n\
               each b in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 {\n\
               each c in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 {\n\
               each d in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 {\n\
               check x-{a}-{b}-{c}-{d}: y\n}\n}\n}\n}\n",
        code: "contract::each_too_many",
        message: "38416 checks with all rows, 30000 are the most",
        help: Some("an `each` inside another multiplies the rows"),
        labels: &[("each", "nothing was written out")],
    },
    Example {
        text: "check a {\n  run true\n  needs *\n}\n",
        code: "contract::pattern_all",
        message: "`*` alone names no check",
        help: Some("name them, or a part of their names, as in `build-*`"),
        labels: &[("*", "all checks are meant by `*` in a `sequence` only")],
    },
    Example {
        text: "check build-a: true\ncheck b {\n  run true\n  needs bild-*\n}\n",
        code: "contract::pattern_empty",
        message: "no check is called `bild-*`",
        help: Some("replace `bild-*` by `build-*`"),
        labels: &[("bild-*", "did you mean `build-*`?")],
    },
    Example {
        text: "whenChangedAny apj {\n  check a: true\n}\n",
        code: "contract::unknown_paths",
        message: "unknown named selection `apj`",
        help: Some("a glob stands in quotes: `\"apj\"`"),
        labels: &[("apj", "no named selection has this name")],
    },
    Example {
        text: "byRole testr {\n  check a: true\n}\n",
        code: "contract::unknown_role",
        message: "unknown role `testr`",
        help: Some("replace `testr` by `tester`"),
        labels: &[("testr", "did you mean `tester`?")],
    },
    Example {
        text: "recover {\n  only split-conjuncton\n}\ncheck a: true\n",
        code: "contract::unknown_rule",
        message: "unknown rule `split-conjuncton`",
        help: Some("replace `split-conjuncton` by `split-conjunction`"),
        labels: &[("split-conjuncton", "did you mean `split-conjunction`?")],
    },
    Example {
        text: "recover {\n  off\n  contract\n}\ncheck a: true\n",
        code: "contract::recover_conflict",
        message: "recovery that is off allows nothing else",
        help: Some("keep one of them"),
        labels: &[("off", "off here"), ("contract", "but `contract` here")],
    },
    Example {
        text: "contract \"a\"\ncontract \"b\"\ncheck a: true\n",
        code: "contract::duplicate_line",
        message: "`contract` stands twice",
        help: Some("keep one of them"),
        labels: &[("\"b\"", "again here"), ("\"a\"", "first here")],
    },
    Example {
        text: "base \"a b\"\ncheck a: true\n",
        code: "contract::base_branch",
        message: "this is not the name of a branch",
        help: Some("write the branch that changes are made for, for example `base \"main\"`"),
        labels: &[("\"a b\"", "it names none that git allows")],
    },
    Example {
        text: "judge-with a {changed}\ncheck a: true\n",
        code: "contract::changed_misplaced",
        message: "`judge-with` gets no files as arguments",
        help: Some("the judge receives the changed files with its question, on standard input"),
        labels: &[("a {changed}", "`{changed}` is in this command")],
    },
    Example {
        text: "check a {\n  timeout 5s\n}\n",
        code: "contract::no_verb",
        message: "check `a` does nothing",
        help: Some("add one of `run`, `compile`, `test`, `lint`, `shell`, `file`, `judge`"),
        labels: &[("a", "has no verb")],
    },
    Example {
        text: "check a {\n  run true\n  test true\n}\n",
        code: "contract::several_verbs",
        message: "check `a` does two things",
        help: Some(
            "a check has one verb: write two checks, and `needs` if one goes before the other",
        ),
        labels: &[("test true", "a second verb"), ("run true", "the first")],
    },
    Example {
        text: "check a {\n  run true\n  timeout 5s\n  timeout 6s\n}\n",
        code: "contract::duplicate_setting",
        message: "`timeout` is set twice",
        help: Some("keep one of them"),
        labels: &[
            ("timeout 6s", "set again here"),
            ("timeout 5s", "first set here"),
        ],
    },
    Example {
        text: "check a {\n  run true\n  max-errors 2\n}\n",
        code: "contract::foreign_setting",
        message: "`run` does not know `max-errors`",
        help: Some("it is a setting of `compile`, `lint`"),
        labels: &[("max-errors 2", "not a setting of `run`")],
    },
    Example {
        text: "tier 1 {\n  check a {\n    run true\n    tier 1\n  }\n}\n",
        code: "contract::tier_twice",
        message: "a check inside a `tier` block has the block's tier",
        help: Some("take the setting away, or the check out of the block"),
        labels: &[("tier 1", "a second tier"), ("1", "this block")],
    },
    Example {
        text: "check a: true\ntier 1 {\n  use a\n}\n",
        code: "contract::tier_around_use",
        message: "`use` does not change a check's tier",
        help: Some("move the `use` out of the block, or give the check its `tier`"),
        labels: &[("use a", "inside `tier 1`"), ("1", "this block")],
    },
    Example {
        text: "check a {\n  run true\n  exit 0 77\n  skip-exit 77\n}\n",
        code: "contract::exit_overlap",
        message: "exit code 77 cannot mean both passed and skipped",
        help: Some("keep it in one of them"),
        labels: &[("77", "means skipped here"), ("77", "means passed here")],
    },
    Example {
        text: "check a {\n  test true\n  report sarif \"r.json\"\n}\n",
        code: "contract::report_format",
        message: "a `sarif` report holds nothing that `test` counts",
        help: Some("it is a report for `compile`, `lint`"),
        labels: &[("report sarif \"r.json\"", "not counted")],
    },
    Example {
        text: "check a {\n  file \"x\" {\n  }\n}\n",
        code: "contract::empty_file",
        message: "a `file` check that asserts nothing",
        help: Some("say `exists`, or what else must hold"),
        labels: &[("\"x\"", "nothing is asked of this path")],
    },
    Example {
        text: "check a {\n  file \"x\" {\n    matches 'a(b'\n  }\n}\n",
        code: "contract::regex",
        message: "the regular expression cannot be read: unclosed group",
        help: None,
        labels: &[("matches 'a(b'", "in this expression")],
    },
    Example {
        text: "whenChangedNone \"a\" {\n  check a: eslint {changed}\n}\n",
        code: "contract::changed_in_none",
        message: "`{changed}` stands for no file inside `whenChangedNone`",
        help: Some("move the check out of the block, or let its command find the files itself"),
        labels: &[
            ("eslint {changed}", "`{changed}` is in this command"),
            (
                "whenChangedNone \"a\"",
                "this block applies when no selected file changed",
            ),
        ],
    },
    Example {
        text: "whenChangedAny \"src/[a\" {\n  check a: true\n}\n",
        code: "contract::glob",
        message: "`[` is not closed",
        help: Some("write `src/\\[a`"),
        labels: &[("[", "in this glob")],
    },
    Example {
        text: "whenChangedAny \"!a\" {\n  check a: true\n}\n",
        code: "contract::only_exclusions",
        message: "a selection that only excludes selects nothing",
        help: Some("put what it excludes from in front, such as `\"**\"` for all files"),
        labels: &[("\"!a\"", "this list excludes only")],
    },
    Example {
        text: "paths p = q\npaths q = \"a\" p\nwhenChangedAny p {\n  check a: true\n}\n",
        code: "contract::paths_cycle",
        message: "paths that contain themselves: `p` -> `q` -> `p`",
        help: Some("write the globs that they share into a `paths` of their own"),
        labels: &[("q", "`p` contains `q`"), ("p", "`q` contains `p`")],
    },
    Example {
        text: "check a {\n  run true\n  needs b\n}\ncheck b {\n  run true\n  needs a\n}\n",
        code: "contract::cycle",
        message: "checks that wait for each other: `a` needs `b` (line 4), `b` needs `a` (line 8)",
        help: Some("take one of these away"),
        labels: &[("b", "`a` needs `b`"), ("a", "`b` needs `a`")],
    },
    Example {
        text: "tier 1 {\n  check a: true\n}\ncheck b: true\nsequence a -> b\n",
        code: "contract::sequence_against_tiers",
        message: "`b` of tier 0 cannot run after `a` of tier 1",
        help: Some(
            "tier 0 runs before tier 1, and that before tier 2: turn the sequence around or change a tier",
        ),
        labels: &[("b", "tier 0"), ("a", "tier 1")],
    },
    Example {
        text: "check a: true\ncheck b: true\nsequence a -> b -> a\n",
        code: "contract::sequence_repeats",
        message: "`a` stands twice in a sequence",
        help: Some("a check runs once; keep one of the two"),
        labels: &[("a", "again here"), ("a", "first here")],
    },
    Example {
        text: "check a: true\ncheck b: true\nsequence * -> a -> *\n",
        code: "contract::sequence_rest",
        message: "`*` stands twice in a sequence",
        help: Some("keep one of them"),
        labels: &[
            ("*", "a second `*`"),
            ("*", "all other checks are here already"),
        ],
    },
    Example {
        text: "# nothing\n",
        code: "contract::no_checks",
        message: "the contract has no checks, so it verifies nothing",
        help: None,
        labels: &[],
    },
    Example {
        text: "risk r tier 2 \"a\"\ncheck a: true\n",
        code: "contract::risk_tier",
        message: "a trigger for tier 2 counts as one for tier 1",
        help: Some("write `tier 1`"),
        labels: &[("2", "tier 2 is reserved for the run's end")],
    },
    Example {
        text: "format eslint {\n  finding error '{message}'\n}\ncheck a: true\n",
        code: "contract::format_built_in",
        message: "`eslint` is a format that vplan knows by itself",
        help: Some("call it `own-eslint`, and say so in the checks that use it"),
        labels: &[("eslint", "this name is taken")],
    },
    Example {
        text: "format own {\n  finding '{file}: {sev} {message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        code: "contract::format_hole",
        message: "no hole of a format is called `{sev}`",
        help: Some("replace `{sev}` by `{severity}`"),
        labels: &[("'{file}: {sev} {message}'", "did you mean `{severity}`?")],
    },
    Example {
        text: "format own {\n  heading '{file}'\n  finding warning '{}{line}:{column} {message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        code: "contract::format_touch",
        message: "`{}` and `{line}` touch",
        help: Some("put the text that stands between them, a blank perhaps"),
        labels: &[(
            "'{}{line}:{column} {message}'",
            "where the first ends cannot be told",
        )],
    },
    Example {
        text: "format own {\n  passed '{count} passed, {count} more'\n}\ncheck a {\n  test x\n  format own\n}\n",
        code: "contract::format_twice",
        message: "`{count}` stands in the pattern twice",
        help: Some("write `{}` in place of the `{count}` that does not count"),
        labels: &[("'{count} passed, {count} more'", "a line says it once")],
    },
    Example {
        text: "format own {\n  finding error '{file}: {message}'\n}\ncheck a {\n  test x\n  format own\n}\n",
        code: "contract::format_lacks",
        message: "the format `own` has no `passed`, which a `test` needs",
        help: Some("add a line `passed '{count} passed'` to it, or name another format"),
        labels: &[("format own", "used here"), ("own", "defined here")],
    },
    Example {
        text: "format own {\n  finding error '{message}'\n  clean '{}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        code: "contract::format_any",
        message: "a pattern without text reads every line",
        help: Some("write what only such a line has, as the tool writes it"),
        labels: &[("'{}'", "fits whatever is written")],
    },
    Example {
        text: "format own {\n  finding '{file}: {message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        code: "contract::format_level",
        message: "nothing says of which level the finding is",
        help: Some("write `finding error '{file}: {message}'`"),
        labels: &[(
            "finding '{file}: {message}'",
            "neither a level nor `{severity}`",
        )],
    },
    Example {
        text: "format own {\n  finding error '{message}'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'x'\n  clean 'last'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        code: "contract::format_size",
        message: "the format has 33 lines, 32 are the most",
        help: Some("`{}` stands for whatever differs between lines that say the same"),
        labels: &[("clean 'last'", "the first one too many")],
    },
    Example {
        text: "format own {\n  finding error '{file}: {message}'\n}\ncheck a: true\n",
        code: "contract::format_unused",
        message: "the format `own` is never used",
        help: Some("write `format own` into a check, or remove the block"),
        labels: &[("own", "no check names it")],
    },
    Example {
        text: "paths p = \"a\"\ncheck a: true\n",
        code: "contract::unused_paths",
        message: "`paths p` is never used",
        help: Some("remove it, or name it in a selection"),
        labels: &[("p", "nothing refers to it")],
    },
    Example {
        text: "role qa {\n  only docs\n}\ncheck a {\n  run true\n  tags doc\n}\n",
        code: "contract::unused_tag",
        message: "no check has the tag `docs`",
        help: Some("did you mean `doc`?"),
        labels: &[("docs", "selects no check")],
    },
    Example {
        text: "check a: true\nexpect \"x\" {\n  exists \"src/*.rs\"\n  plan a\n}\n",
        code: "contract::glob_in_path",
        message: "what `exists` names is a path: `*` and `?` in `src/*.rs` stand for themselves",
        help: None,
        labels: &[("\"src/*.rs\"", "not a glob here")],
    },
    Example {
        text: "whenExistsAny \"a\" \"src/**x\" {\n  check a: true\n}\n",
        code: "contract::glob",
        message: "`**` stands for whole segments, it cannot be a part of one",
        help: Some("write `src/**/*x`"),
        labels: &[("**", "in this glob")],
    },
    Example {
        text: "check a {\n  file \"x\" {\n    absent\n    not-empty\n  }\n}\n",
        code: "contract::absent_and_more",
        message: "what is absent has no content, size or type: this can never pass",
        help: None,
        labels: &[
            ("absent", "nothing may be there"),
            ("not-empty", "something must be there"),
        ],
    },
    Example {
        text: "{\"commands\": [\"a\"],}",
        code: "json::syntax",
        message: "a comma behind the last entry",
        help: Some("take the comma away"),
        labels: &[(",", "here")],
    },
    Example {
        text: "{\"comands\": []}",
        code: "json::unknown_key",
        message: "a contract has no key `comands`",
        help: Some("replace `comands` by `commands`"),
        labels: &[("\"comands\"", "did you mean `commands`?")],
    },
    Example {
        text: "{\"commands\": [], \"commands\": []}",
        code: "json::duplicate_key",
        message: "`commands` stands twice",
        help: Some("write all of it under one key"),
        labels: &[
            ("\"commands\"", "again here"),
            ("\"commands\"", "first here"),
        ],
    },
    Example {
        text: "{\"rules\": [{}]}",
        code: "json::missing_key",
        message: "a rule without `commands` does nothing",
        help: None,
        labels: &[("{}", "no `commands` in this rule")],
    },
    Example {
        text: "{\"commands\": 1}",
        code: "json::wrong_type",
        message: "`commands` is a list, not a number",
        help: None,
        labels: &[("1", "a number")],
    },
    Example {
        text: "{\"rules\": [{\"whenChangedAny\": [], \"commands\": []}]}",
        code: "json::empty_condition",
        message: "`whenChangedAny` without globs never holds",
        help: Some("take the key away for a rule that always applies"),
        labels: &[("[]", "an empty list")],
    },
    Example {
        text: "{\"commands\": [\"a\"], \"visualProbes\": []}",
        code: "json::unsupported_key",
        message: "`visualProbes` is not supported",
        help: Some("write what it checks as a command"),
        labels: &[("\"visualProbes\"", "has no effect")],
    },
];

/// Codes for drafts that no front end makes today, its own reading of the text being stricter. The
/// room keeps its promise to those that come; `contract::validate` has their tests. And the code of
/// folders and packages that are not there, which only a repository can say: `tests/folders.rs` and
/// `tests/workspaces.rs` have it.
const BEYOND_THE_TEXT: &[Code] = &[
    contract::EACH_EMPTY,
    contract::EACH_MEMBER,
    contract::EACH_WORKSPACE,
    contract::NAME_LENGTH,
    contract::UNKNOWN_WORD,
    contract::NUMBER,
    contract::DEFAULTS_SETTING,
    contract::ENV_NAME,
    contract::SIZE_RANGE,
    contract::NOT_A_GLOB,
    contract::SEQUENCE_SHORT,
];

/// A text as a contract; a header is put in front unless it has one, or has none on purpose.
fn whole(text: &str) -> String {
    let complete =
        text.starts_with(['{', '[']) || HEADERS.iter().any(|(header, _)| *header == text);
    if complete {
        text.to_owned()
    } else {
        format!("vplan 1\n{text}")
    }
}

#[test]
fn each_code() {
    let mut helps = Vec::new();
    for example in EXAMPLES {
        let text = whole(example.text);
        let (_, all, sources) = read(&text);
        let [only] = all
            .iter()
            .filter(|d| short(d.code) == example.code)
            .collect::<Vec<_>>()[..]
        else {
            panic!("{} once in {text}: {all:?}", example.code);
        };
        assert_eq!(only.message, example.message, "{text}");
        if only.help.as_deref() != example.help {
            helps.push(format!("{text}{:?}, not {:?}", only.help, example.help));
        }
        let labels: Vec<(&str, &str)> = only
            .labels
            .iter()
            .map(|l| {
                (
                    sources.get(l.place.source).unwrap().slice(l.place.span),
                    l.text.as_str(),
                )
            })
            .collect();
        assert_eq!(labels, example.labels, "{text}");
    }
    assert!(helps.is_empty(), "{}", helps.join("\n"));
}

/// Texts that are too large in one respect, with the code and what is underlined.
fn too_large() -> Vec<(String, Code, &'static str)> {
    let deep = "byRole tester {\n".repeat(65) + "check a: true\n" + &"}\n".repeat(65);
    let mut chain = String::new();
    for i in 0..64 {
        writeln!(chain, "paths p{i} = p{}", i + 1).unwrap();
    }
    let nested = format!("{chain}paths p64 = \"a\"\nwhenChangedAny p0 {{\n  check a: true\n}}\n");
    let checks = |count: usize| "run x\n".repeat(count);
    let stars = "check a: true\n".to_owned() + &checks(9_999) + &"sequence a -> *\n".repeat(101);
    vec![
        (
            format!("# {}\n", "x".repeat(100)).repeat(11_000),
            lang::FILE_TOO_LARGE,
            "",
        ),
        (
            format!("# {}\ncheck a: true\n", "x".repeat(70_000)),
            lang::LINE_TOO_LONG,
            "",
        ),
        (
            format!("check {}: true\n", "n".repeat(129)),
            lang::NAME_TOO_LONG,
            NAME,
        ),
        (deep, lang::NESTED_TOO_DEEP, "{"),
        (nested, contract::PATHS_SIZE, "p0"),
        (checks(30_001), contract::TOO_MANY_CHECKS, "run"),
        (stars, contract::SEQUENCE_SIZE, "sequence a -> *"),
        (
            format!("{{\"rules\": {}{}}}", "[".repeat(70), "]".repeat(70)),
            json::DEPTH,
            "[",
        ),
    ]
}

const NAME: &str = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";

#[test]
fn each_cap() {
    for (text, code, marked) in too_large() {
        let text = whole(&text);
        let (_, all, sources) = read(&text);
        let shown: Vec<_> = all
            .iter()
            .map(|d| found(d, &sources))
            .filter(|(_, text)| text.len() < 200)
            .collect();
        assert_eq!(shown, [(short(code), marked)]);
    }
    let (contract, all, _) = read(&whole(&"run x\n".repeat(30_000)));
    assert_eq!(
        (contract.map(|c| c.checks.len()), all),
        (Some(30_000), vec![]),
        "as many as there may be"
    );
}

#[test]
fn no_code_without_an_example() {
    let large = too_large();
    let shown: BTreeSet<&str> = EXAMPLES
        .iter()
        .map(|e| e.code)
        .chain(large.iter().map(|(_, code, _)| short(*code)))
        .collect();
    let beyond: BTreeSet<&str> = BEYOND_THE_TEXT.iter().map(|c| short(*c)).collect();
    let all: BTreeSet<&str> = [lang::CODES, contract::CODES, json::CODES]
        .concat()
        .into_iter()
        .map(short)
        .collect();
    assert_eq!(
        shown.intersection(&beyond).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
    assert_eq!(shown.union(&beyond).copied().collect::<BTreeSet<_>>(), all);
}

/// Texts whose beginning is at fault.
const HEADERS: &[(&str, &[(&str, &str)])] = &[
    ("", &[("lang::missing_header", "")]),
    ("check a: true\n", &[("lang::missing_header", "check")]),
    (
        "check a: true\nvplan 1\n",
        &[("lang::misplaced_header", "vplan")],
    ),
    (
        "vplan 2\ncheck a: true\n",
        &[("lang::unknown_version", "2")],
    ),
    (
        "vplan\ncheck a: true\n",
        &[("lang::missing_argument", "vplan")],
    ),
    (
        "vplan 1\nvplan 1\ncheck a: true\n",
        &[("lang::misplaced_header", "vplan")],
    ),
];

/// Malformed and doubtful contracts, each with everything that is found: the code, and what is
/// underlined.
const MALFORMED: &[(&str, &[(&str, &str)])] = &[
    (
        "check a: true\rcheck b: true\n",
        &[("lang::lone_carriage_return", "\r")],
    ),
    (
        "paths p = \"src/\0\"\ncheck a: true\n",
        &[("lang::nul", "\0")],
    ),
    (
        "contract \"a\u{202e}b\"\ncheck a: true\n",
        &[("lang::bidi_control", "\u{202e}")],
    ),
    (
        "# a\u{202e}b\ncheck a: true\n",
        &[("lang::bidi_control_in_comment", "\u{202e}")],
    ),
    (
        "check a: true \\  \ncheck b: true\n",
        &[("lang::bad_continuation", "\\  ")],
    ),
    (
        "contract \"a\ncheck a: true\n",
        &[("lang::unclosed_string", "\"a")],
    ),
    (
        "contract \"a\\qb\"\ncheck a: true\n",
        &[("lang::bad_escape", "\\q")],
    ),
    (
        "contract 'a\ncheck a: true\n",
        &[("lang::unclosed_string", "'a")],
    ),
    (
        "paths p = \"a\"\"b\"\nwhenChangedAny p {\n  check a: true\n}\n",
        &[("lang::missing_blank", "\"b\"")],
    ),
    (
        "byrole tester {\n  check a: true\n}\n",
        &[("lang::unknown_statement", "byrole")],
    ),
    ("chek a: true\n", &[("lang::unknown_statement", "chek")]),
    (
        "timeout 5m\ncheck a: true\n",
        &[("lang::misplaced_statement", "timeout")],
    ),
    (
        "use a\ncheck a: true\n",
        &[("lang::misplaced_statement", "use")],
    ),
    (
        "import \"x.vplan\"\ncheck a: true\n",
        &[("contract::import", "import \"x.vplan\"")],
    ),
    ("check a {\n  run true\n", &[("lang::unclosed_block", "{")]),
    ("check a: true\n}\n", &[("lang::unexpected_close", "}")]),
    (
        "check a { run true }\n",
        &[("lang::block_on_one_line", " run true }")],
    ),
    (
        "byRole tester {\n  check a: true\n} check b: true\n",
        &[("lang::block_on_one_line", " check b: true")],
    ),
    (
        "byRole tester\ncheck a: true\n",
        &[("lang::missing_block", "byRole")],
    ),
    (
        "contract \"a\" {\n}\ncheck a: true\n",
        &[("lang::unexpected_block", "{")],
    ),
    (
        "tier 1 {\n  tier 2 {\n    check a: true\n  }\n}\n",
        &[("lang::nested_tier", "tier")],
    ),
    (
        "contract\ncheck a: true\n",
        &[("lang::missing_argument", "contract")],
    ),
    (
        "contract a\ncheck a: true\n",
        &[("lang::unexpected_argument", "a")],
    ),
    (
        "contract \"a\" \"b\"\ncheck a: true\n",
        &[("lang::unexpected_argument", "\"b\"")],
    ),
    ("check 1a: true\n", &[("lang::bad_name", "1a")]),
    ("check unit.: true\n", &[("lang::bad_name", "unit.")]),
    ("each {\n  check a: b\n}\n", &[("lang::each_head", "each")]),
    (
        "each p of 1 2 {\n  check a-{p}: b {p}\n  whenChangedAny \"{p}\" {\n    use a-{p}\n  }\n}\n",
        &[("lang::each_head", "p of 1 2")],
    ),
    (
        "each p in {\n  check a-{p}: b\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "for p in 1 2 {\n  check a-{p}: b\n}\nmatrix {\n  check c: d\n}\n",
        &[("lang::each_head", "for"), ("lang::each_head", "matrix")],
    ),
    (
        "each p in 1, 2 {\n  check a-{p}: b\n}\n",
        &[("lang::each_row", ",")],
    ),
    (
        "each p in $x a|b \"$(y)\" {\n  check a-{p}: b\n}\n",
        &[
            ("lang::each_row", "$x"),
            ("lang::each_row", "a|b"),
            ("lang::each_row", "\"$(y)\""),
        ],
    ),
    (
        "each p in \"a*\" 'b*' {\n  check a: b {p}\n}\n",
        &[("lang::each_glob", "\"a*\"")],
    ),
    (
        "each p p in a b {\n  check a-{p}: b\n}\n",
        &[("lang::each_shadows", "p")],
    ),
    (
        "each p in a b {\n  check a-{q}: b {r} x{s} \"{t}\" '{u}' {{p}}\n}\n",
        &[
            ("lang::unknown_hole", "a-{q}"),
            ("lang::unknown_hole", "{r}"),
            ("lang::unknown_hole", "x{s}"),
            ("lang::unknown_hole", "\"{t}\""),
            ("lang::unknown_hole", "{{p}}"),
        ],
    ),
    (
        "each p in a b {\n  whenChangedAny \"{q}/**\" '{r}/**' {\n    check a-{p}: b\n  }\n}\n",
        &[("lang::unknown_hole", "\"{q}/**\"")],
    ),
    (
        "each p in a b {\n  check a-{p} {\n    {p} x\n  }\n  check b-{p} {\n    shell x {p} | y\n  }\n}\n",
        &[
            ("lang::hole_place", "{p}"),
            ("lang::hole_place", "x {p} | y"),
        ],
    ),
    (
        "each p in a b {\n  import \"{p}.vplan\" as {p}\n}\n",
        &[("contract::import_source", "\"{p}.vplan\"")],
    ),
    (
        "whenChangedAny \"{x}/**\" '{y}/**' {\n  check a-{z}: b {v}\n}\n",
        &[
            ("lang::unknown_hole", "\"{x}/**\""),
            ("lang::unknown_hole", "a-{z}"),
            ("lang::unknown_hole", "{v}"),
        ],
    ),
    (
        "whenChangedAny \"a\" {\n  each p in a b {\n    expect \"x\" {\n      plan\n    }\n    check a-{p}: b\n  }\n}\n",
        &[("lang::each_holds", "expect")],
    ),
    (
        "each p in a b {\n  check a-{p}: b\n  expect \"same\" {\n    plan\n  }\n}\n",
        &[("contract::each_same_name", "\"same\"")],
    ),
    (
        "each p in c++ a/b {\n  check a-{p}: b\n  byRole tester {\n    use a-{p}\n  }\n}\n",
        &[
            ("contract::each_name", "a-{p}"),
            ("contract::each_name", "a-{p}"),
        ],
    ),
    (
        "format own {\n  finding error '{file}: x'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[("contract::format_lacks", "'{file}: x'")],
    ),
    (
        "format own {\n  heading 'x'\n  finding error '{message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[("contract::format_lacks", "'x'")],
    ),
    (
        "format own {\n  passed 'x'\n  failed '{count} {name}'\n  skipped ''\n}\ncheck a {\n  test x\n  format own\n}\n",
        &[
            ("contract::format_lacks", "'x'"),
            ("contract::format_lacks", "'{count} {name}'"),
            ("contract::format_lacks", "''"),
        ],
    ),
    (
        "format own {\n  finding error '{severity} {message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[(
            "contract::format_level",
            "finding error '{severity} {message}'",
        )],
    ),
    (
        "format own {\n  finding '{severity} {message}'\n  errors E F\n  warnings E W W\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[
            ("contract::format_twice", "E"),
            ("contract::format_twice", "W"),
        ],
    ),
    (
        "format own {\n  clean '{count} x'\n  finding error '{message} {name}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[
            ("contract::format_hole", "'{count} x'"),
            ("contract::format_hole", "'{message} {name}'"),
        ],
    ),
    (
        "format own {\n  clean 'x'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[("contract::format_lacks", "format own")],
    ),
    (
        "format own {\n  errors E\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[("contract::format_lacks", "own")],
    ),
    (
        "format own {\n  clean 'x'\n}\nformat own {\n  finding error '{message}'\n}\ncheck a: true\n",
        &[
            ("contract::format_unused", "own"),
            ("contract::duplicate_name", "own"),
        ],
    ),
    (
        "format own {\n  finding fatal '{message}'\n}\ncheck a {\n  lint x\n  format own\n}\n",
        &[("lang::unknown_word", "fatal")],
    ),
    (
        "format own {\n  finding error \"{message} {file}\"\n}\ncheck a {\n  lint x\n  format owm\n}\n",
        &[
            ("contract::format_unused", "own"),
            ("contract::unknown_word", "format owm"),
        ],
    ),
    (
        "machine a {\n  property \"OS\" \"x\"\n  property \"OS\" \"y\"\n}\nmachine a {\n  property \"OS\" \"x\"\n}\ncheck a {\n  run x\n  inputs \"x\"\n  on a\n}\n",
        &[
            ("contract::duplicate_line", "property \"OS\" \"y\""),
            ("contract::duplicate_name", "a"),
        ],
    ),
    (
        "machine a {\n  property \"OS\"\n}\ncheck a {\n  run x\n  on a\n}\n",
        &[("lang::missing_argument", "property")],
    ),
    (
        "machine 7 {\n  property \"OS\" \"x\"\n}\ncheck a {\n  run x\n  on a\n}\n",
        &[("lang::bad_name", "7")],
    ),
    (
        "check a {\n  run x\n  on a\n}\ncheck b {\n  run x\n  on here there\n}\n",
        &[("lang::unexpected_argument", "there")],
    ),
    (
        "check a {\n  file \"x\" {\n    exists\n  }\n  on here\n}\n",
        &[("contract::foreign_setting", "on here")],
    ),
    (
        "format go-build {\n  finding error '{message}'\n}\ncheck a: true\n",
        &[("contract::format_built_in", "go-build")],
    ),
    (
        "each p in a b {\n  format own-{p} {\n    clean 'x'\n  }\n  check {p}: b\n}\n",
        &[("lang::each_holds", "format")],
    ),
    ("check tag:x: true\n", &[("lang::bad_name", "tag:x")]),
    ("check test-*: true\n", &[("lang::bad_name", "test-*")]),
    ("check lint:pnpm lint\n", &[("lang::check_colon", ":")]),
    (
        "check a: true\nsequence b-* -> a\n",
        &[("contract::pattern_empty", "b-*")],
    ),
    (
        "check a: true\nbyRole tester {\n  use *\n}\n",
        &[("contract::pattern_all", "*")],
    ),
    (
        "check a-1: true\nsequence a-1 -> a-*\n",
        &[("contract::sequence_repeats", "a-*")],
    ),
    (
        "check a: true\nexpect \"t\" {\n  runs b*\n}\n",
        &[("contract::pattern_empty", "b*")],
    ),
    (
        "check a: true\npaths a* = \"x\"\nwhenChangedAny !a* {\n  check b: true\n}\n",
        &[("lang::bad_name", "a*"), ("lang::bad_name", "a*")],
    ),
    (
        "check a {\n  run true\n  timeout 1m90s\n}\n",
        &[("lang::bad_duration", "1m90s")],
    ),
    ("check a true\n", &[("lang::unexpected_argument", "true")]),
    ("check a:true\n", &[("lang::check_colon", ":")]),
    ("check a : true\n", &[("lang::check_colon", ":")]),
    ("check a:\n", &[("lang::command_empty", "")]),
    (
        "check a: {\n  run true\n}\n",
        &[("lang::command_operator", "{")],
    ),
    (
        "paths p \"a\"\ncheck a: true\n",
        &[("lang::missing_argument", "\"a\"")],
    ),
    (
        "paths p =\ncheck a: true\n",
        &[("lang::missing_argument", "paths")],
    ),
    (
        "paths = \"a\"\ncheck a: true\n",
        &[("lang::unexpected_argument", "=")],
    ),
    (
        "paths p = a/**\ncheck a: true\n",
        &[("lang::unquoted_glob", "a/**")],
    ),
    (
        "paths p = !\"a\"\ncheck a: true\n",
        &[("lang::unquoted_glob", "!\"a\"")],
    ),
    (
        "paths p = \"a\", \"b\"\ncheck a: true\n",
        &[("lang::unexpected_argument", ",")],
    ),
    (
        "byRole {\n  check a: true\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "byRole \"tester\" {\n  check a: true\n}\n",
        &[("lang::unexpected_argument", "\"tester\"")],
    ),
    (
        "whenChangedAny {\n  check a: true\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "whenExists Cargo.toml {\n  check a: true\n}\n",
        &[("lang::unexpected_argument", "Cargo.toml")],
    ),
    (
        "whenExists \"/etc/passwd\" {\n  check a: true\n}\n",
        &[("contract::path", "\"/etc/passwd\"")],
    ),
    (
        "whenAbsent {\n  check a: true\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "whenAbsent \"../x\" {\n  check a: true\n}\n",
        &[("contract::path", "\"../x\"")],
    ),
    (
        "whenExistsAny {\n  check a: true\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "whenExistsAny \"a\" \"../x\" \"../*\" {\n  check a: true\n}\n",
        &[("contract::path", "\"../x\""), ("contract::glob", "..")],
    ),
    (
        "whenAbsent \"/etc/*\" \"!*.md\" {\n  check a: true\n}\n",
        &[("contract::glob", "/"), ("contract::glob", "!")],
    ),
    (
        "whenExists \"a[*\" {\n  check a: true\n}\n",
        &[("contract::glob", "[")],
    ),
    (
        "whenExistsAll \"a\" {\n  check a: true\n}\n",
        &[("lang::unknown_statement", "whenExistsAll")],
    ),
    (
        "tier {\n  check a: true\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "tier x {\n  check a: true\n}\n",
        &[("lang::bad_number", "x")],
    ),
    (
        "tier 3 {\n  check a: true\n}\n",
        &[("lang::bad_number", "3")],
    ),
    (
        "risk r \"a\"\ncheck a: true\n",
        &[("lang::missing_argument", "\"a\"")],
    ),
    (
        "risk r tier 9 \"a\"\ncheck a: true\n",
        &[("lang::bad_number", "9")],
    ),
    (
        "risk tier 1 \"a\"\ncheck a: true\n",
        &[("lang::missing_argument", "1")],
    ),
    (
        "sequence a\ncheck a: true\n",
        &[("lang::missing_argument", "sequence")],
    ),
    (
        "sequence a b\ncheck a: true\ncheck b: true\n",
        &[("lang::unexpected_argument", "b")],
    ),
    (
        "sequence a -> \ncheck a: true\n",
        &[("lang::missing_argument", "sequence")],
    ),
    (
        "role {\n}\ncheck a: true\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "role qa {\n  only\n}\ncheck a: true\n",
        &[("lang::missing_argument", "only")],
    ),
    (
        "role qa {\n  max-checks many\n}\ncheck a: true\n",
        &[("lang::bad_number", "many")],
    ),
    (
        "limits {\n  budget 10\n}\ncheck a: true\n",
        &[("lang::bad_duration", "10")],
    ),
    (
        "limits {\n  jobs 0\n}\ncheck a: true\n",
        &[("lang::bad_number", "0")],
    ),
    (
        "limits {\n  jobs autos\n}\ncheck a: true\n",
        &[("lang::bad_number", "autos")],
    ),
    (
        "limits {\n  bugdet 10m\n}\ncheck a: true\n",
        &[("lang::unknown_statement", "bugdet")],
    ),
    (
        "defaults {\n  needs a\n}\ncheck a: true\n",
        &[("lang::misplaced_statement", "needs")],
    ),
    (
        "scope {\n  forbid \"a\"\n}\ncheck a: true\n",
        &[("lang::unknown_statement", "forbid")],
    ),
    (
        "recover {\n  on\n}\ncheck a: true\n",
        &[("lang::misplaced_statement", "on")],
    ),
    (
        "gate {\n  on-exhausted alow\n}\ncheck a: true\n",
        &[("lang::unknown_word", "alow")],
    ),
    (
        "gate {\n  confirmations 0\n}\ncheck a: true\n",
        &[("lang::bad_number", "0")],
    ),
    (
        "gate {\n  same-failure 1\n}\ncheck a: true\n",
        &[("lang::bad_number", "1")],
    ),
    (
        "judge-with\ncheck a: true\n",
        &[("lang::command_empty", "")],
    ),
    (
        "check a: true && false\n",
        &[("lang::command_operator", "&&")],
    ),
    (
        "check a: cd x && make\n",
        &[("lang::command_operator", "&&")],
    ),
    (
        "check a: make | tee log\n",
        &[("lang::command_operator", "|")],
    ),
    (
        "check a: echo $HOME\n",
        &[("lang::command_expansion", "$HOME")],
    ),
    (
        "check a: export A=1\n",
        &[("lang::command_builtin", "export")],
    ),
    ("check a: echo 'x\n", &[("lang::command_quote", "'")]),
    ("check a: -x\n", &[("lang::command_program", "-x")]),
    ("check a: FOO=1\n", &[("lang::command_empty", "")]),
    ("check a: '' x\n", &[("lang::command_empty", "''")]),
    (
        "check a: lint --files={changed}\n",
        &[("lang::changed_in_word", "--files={changed}")],
    ),
    (
        "check a {\n  shell ls {changed}\n}\n",
        &[("lang::changed_in_shell", "ls {changed}")],
    ),
    (
        "check a {\n  shell\n}\n",
        &[("lang::command_empty", "shell")],
    ),
    ("check a: ls *.ts\n", &[("lang::command_glob", "*.ts")]),
    (
        "check a {\n  test -f x\n}\n",
        &[("lang::command_program", "-f")],
    ),
    ("run\n", &[("lang::command_empty", "")]),
    (
        "check a {\n  run true\n  timeot 5s\n}\n",
        &[("lang::unknown_statement", "timeot")],
    ),
    (
        "check a {\n  run true\n  timeout 5\n}\n",
        &[("lang::bad_duration", "5")],
    ),
    (
        "check a {\n  run true\n  timeout 0s\n}\n",
        &[("lang::bad_duration", "0s")],
    ),
    (
        "check a {\n  run true\n  timeout 99999999999999999999h\n}\n",
        &[("lang::bad_duration", "99999999999999999999h")],
    ),
    (
        "check a {\n  run true\n  retries -1\n}\n",
        &[("lang::bad_number", "-1")],
    ),
    (
        "check a {\n  run true\n  exit 256\n}\n",
        &[("lang::bad_number", "256")],
    ),
    (
        "check a {\n  run true\n  env A\n}\n",
        &[("lang::unexpected_argument", "A")],
    ),
    (
        "check a {\n  run true\n  env A-B=1\n}\n",
        &[("lang::unexpected_argument", "A-B=1")],
    ),
    (
        "check a {\n  run true\n  pass-env *\n}\n",
        &[("lang::bad_variable", "*")],
    ),
    (
        "check a {\n  run true\n  severity fatal\n}\n",
        &[("lang::unknown_word", "fatal")],
    ),
    (
        "check a {\n  run true\n  setup yes\n}\n",
        &[("lang::unexpected_argument", "yes")],
    ),
    (
        "check a {\n  run true\n  exclusive\n}\n",
        &[("lang::missing_argument", "exclusive")],
    ),
    (
        "check a {\n  run true\n  describe text\n}\n",
        &[("lang::unexpected_argument", "text")],
    ),
    (
        "check a {\n  test true\n  format jets\n}\n",
        &[("contract::unknown_word", "format jets")],
    ),
    (
        "check a {\n  test true\n  report junt \"r.xml\"\n}\n",
        &[("lang::unknown_word", "junt")],
    ),
    (
        "check a {\n  test true\n  report junit r.xml\n}\n",
        &[("lang::unquoted_glob", "r.xml")],
    ),
    (
        "check a {\n  test true\n  min-tests many\n}\n",
        &[("lang::bad_number", "many")],
    ),
    (
        "check a {\n  run true\n  produces out\n}\n",
        &[("lang::unquoted_glob", "out")],
    ),
    (
        "check a {\n  run true\n  produces \"!out\"\n}\n",
        &[("lang::excluding_glob", "\"!out\"")],
    ),
    (
        "check a {\n  file \"x\" {\n    exist\n  }\n}\n",
        &[("lang::unknown_statement", "exist")],
    ),
    (
        "check a {\n  file \"x\" {\n    size 1..10B\n  }\n}\n",
        &[("lang::bad_size", "1..10B")],
    ),
    (
        "check a {\n  file \"x\" {\n    size\n  }\n}\n",
        &[("lang::missing_argument", "size")],
    ),
    (
        "check a {\n  file \"x\" {\n    type png\n  }\n}\n",
        &[("lang::unknown_word", "png")],
    ),
    (
        "check a {\n  file \"x\" {\n    contains\n  }\n}\n",
        &[("lang::missing_argument", "contains")],
    ),
    (
        "check a {\n  file \"x\"\n}\n",
        &[("lang::missing_block", "file")],
    ),
    (
        "check a {\n  file x {\n    exists\n  }\n}\n",
        &[("lang::unexpected_argument", "x")],
    ),
    (
        "check a {\n  judge why\n}\n",
        &[("lang::unexpected_argument", "why")],
    ),
    (
        "check a: true\ncheck a: false\n",
        &[("contract::duplicate_name", "a")],
    ),
    (
        "paths p = \"a\"\npaths p = \"b\"\nwhenChangedAny p {\n  check a: true\n}\n",
        &[("contract::duplicate_name", "p")],
    ),
    (
        "role qa {\n}\nrole qa {\n}\ncheck a: true\n",
        &[("contract::duplicate_name", "qa")],
    ),
    (
        "risk r tier 1 \"a\"\nrisk r tier 1 \"b\"\ncheck a: true\n",
        &[("contract::duplicate_name", "r")],
    ),
    (
        "check aaaa: true\ncheck b {\n  run true\n  needs aaab\n}\n",
        &[("contract::unknown_check", "aaab")],
    ),
    (
        "check a: true\nbyRole tester {\n  use nosuch\n}\n",
        &[("contract::unknown_check", "nosuch")],
    ),
    (
        "check a: true\nsequence a -> nosuch\n",
        &[("contract::unknown_check", "nosuch")],
    ),
    (
        "whenChangedAny apj {\n  check a: true\n}\n",
        &[("contract::unknown_paths", "apj")],
    ),
    (
        "paths api = \"a\"\nwhenChangedAny apj api {\n  check a: true\n}\n",
        &[("contract::unknown_paths", "apj")],
    ),
    (
        "byRole testr {\n  check a: true\n}\n",
        &[("contract::unknown_role", "testr")],
    ),
    (
        "byRole lead {\n  check a: true\n}\n",
        &[("contract::unknown_role", "lead")],
    ),
    (
        "recover {\n  only split-conjuncton\n}\ncheck a: true\n",
        &[("contract::unknown_rule", "split-conjuncton")],
    ),
    (
        "recover {\n  off\n  contract\n}\ncheck a: true\n",
        &[("contract::recover_conflict", "off")],
    ),
    (
        "contract \"a\"\ncontract \"b\"\ncheck a: true\n",
        &[("contract::duplicate_line", "\"b\"")],
    ),
    (
        "limits {\n  jobs 1\n}\nlimits {\n  jobs 2\n}\ncheck a: true\n",
        &[("contract::duplicate_line", "jobs 2")],
    ),
    (
        "scope {\n  allow \"a\"\n  allow \"b\"\n}\ncheck a: true\n",
        &[("contract::duplicate_line", "allow \"b\"")],
    ),
    (
        "gate {\n  retries 1\n  retries 2\n}\ncheck a: true\n",
        &[("contract::duplicate_line", "retries 2")],
    ),
    (
        "role qa {\n  only x\n  only x\n}\ncheck a {\n  run true\n  tags x\n}\n",
        &[("contract::duplicate_line", "only x")],
    ),
    (
        "base \"a\"\nbase \"b\"\ncheck a: true\n",
        &[("contract::duplicate_line", "\"b\"")],
    ),
    (
        "base \"a b\"\ncheck a: true\n",
        &[("contract::base_branch", "\"a b\"")],
    ),
    (
        "base \"\"\ncheck a: true\n",
        &[("contract::base_branch", "\"\"")],
    ),
    (
        "base \"-x\"\ncheck a: true\n",
        &[("contract::base_branch", "\"-x\"")],
    ),
    (
        "base \"a..b\"\ncheck a: true\n",
        &[("contract::base_branch", "\"a..b\"")],
    ),
    (
        "base main\ncheck a: true\n",
        &[("lang::unexpected_argument", "main")],
    ),
    (
        "whenChangedAny \"a\" {\n  base \"main\"\n  check a: true\n}\n",
        &[("lang::misplaced_statement", "base")],
    ),
    (
        "judge-with a\njudge-with b\ncheck a: true\n",
        &[("contract::duplicate_line", "b")],
    ),
    (
        "judge-with a {changed}\ncheck a: true\n",
        &[("contract::changed_misplaced", "a {changed}")],
    ),
    (
        "check a {\n  timeout 5s\n}\n",
        &[("contract::no_verb", "a")],
    ),
    (
        "check a {\n  run true\n  test true\n}\n",
        &[("contract::several_verbs", "test true")],
    ),
    (
        "check a {\n  run true\n  timeout 5s\n  timeout 6s\n}\n",
        &[("contract::duplicate_setting", "timeout 6s")],
    ),
    (
        "check a {\n  run true\n  env A=1\n  env B=1\n  env A=2\n}\n",
        &[("contract::duplicate_setting", "env A=2")],
    ),
    (
        "defaults {\n  retries 1\n}\ndefaults {\n  retries 2\n}\ncheck a: true\n",
        &[("contract::duplicate_setting", "retries 2")],
    ),
    (
        "defaults test {\n  retries 1\n  timeout 5m\n}\ndefaults test {\n  tags a\n  timeout 5m\n}\ncheck a: true\n",
        &[("contract::defaults_twice", "timeout 5m")],
    ),
    (
        "defaults run {\n  env A=1\n}\ndefaults run {\n  env B=1\n}\ndefaults run {\n  env A=1\n}\ncheck a: true\n",
        &[("contract::defaults_twice", "env A=1")],
    ),
    (
        "defaults lint {\n  timeout 5m\n  timeout 5m\n}\ncheck a: true\n",
        &[("contract::duplicate_setting", "timeout 5m")],
    ),
    (
        "defaults file {\n  tags a\n  env A=1\n}\ncheck a: true\n",
        &[("contract::foreign_setting", "env A=1")],
    ),
    (
        "defaults test lint {\n  timeout 5m\n}\ncheck a: true\n",
        &[("lang::unexpected_argument", "lint")],
    ),
    (
        "defaults \"test\" {\n  timeout 5m\n}\ncheck a: true\n",
        &[("lang::unexpected_argument", "\"test\"")],
    ),
    (
        "defaults test {\n  needs a\n}\ncheck a: true\n",
        &[("lang::misplaced_statement", "needs")],
    ),
    (
        "check a {\n  run true\n  fix A=1 true\n  fix true\n}\n",
        &[
            ("contract::duplicate_setting", "fix true"),
            ("contract::fix_is_verb", "fix true"),
        ],
    ),
    (
        "check a {\n  shell make fmt\n  fix make fmt\n}\n",
        &[("contract::fix_is_verb", "fix make fmt")],
    ),
    (
        "check a {\n  run true\n  fix A=1 # nothing\n}\n",
        &[("lang::missing_command", "")],
    ),
    (
        "check a {\n  file \"a\" {\n    exists\n  }\n  fix make a\n}\n",
        &[("contract::foreign_setting", "fix make a")],
    ),
    (
        "check a {\n  judge \"good?\"\n  fix make a\n}\njudge-with true\n",
        &[("contract::foreign_setting", "fix make a")],
    ),
    (
        "check a {\n  run true\n  fix make a | tee b\n}\n",
        &[("lang::command_operator", "|")],
    ),
    (
        "defaults {\n  fix make a\n}\ncheck a: true\n",
        &[("lang::misplaced_statement", "fix")],
    ),
    (
        "whenChangedNone \"a\" {\n  check a {\n    run true\n    fix mend {changed}\n  }\n}\n",
        &[("contract::changed_in_none", "fix mend {changed}")],
    ),
    (
        "check a {\n  run true\n  max-errors 2\n}\n",
        &[("contract::foreign_setting", "max-errors 2")],
    ),
    (
        "check a {\n  lint true\n  min-tests 2\n}\n",
        &[("contract::foreign_setting", "min-tests 2")],
    ),
    (
        "check a {\n  file \"x\" {\n    exists\n  }\n  timeout 5s\n}\n",
        &[("contract::foreign_setting", "timeout 5s")],
    ),
    (
        "check a {\n  run true\n  context \"a\"\n}\n",
        &[("contract::foreign_setting", "context \"a\"")],
    ),
    (
        "tier 1 {\n  check a {\n    run true\n    tier 1\n  }\n}\n",
        &[("contract::tier_twice", "tier 1")],
    ),
    (
        "check a: true\ntier 1 {\n  use a\n}\n",
        &[("contract::tier_around_use", "use a")],
    ),
    (
        "check a {\n  run true\n  exit 0 77\n  skip-exit 77\n}\n",
        &[("contract::exit_overlap", "77")],
    ),
    (
        "check a {\n  run true\n  skip-exit 0\n}\n",
        &[("contract::exit_overlap", "0")],
    ),
    (
        "check a {\n  test true\n  report sarif \"r.json\"\n}\n",
        &[("contract::report_format", "report sarif \"r.json\"")],
    ),
    (
        "check a {\n  run true\n  dir \"/tmp\"\n}\n",
        &[("contract::path", "dir \"/tmp\"")],
    ),
    (
        "check a {\n  run true\n  dir \"../x\"\n}\n",
        &[("contract::path", "dir \"../x\"")],
    ),
    (
        "check a {\n  run true\n  tool-path \"\"\n}\n",
        &[("contract::path", "\"\"")],
    ),
    (
        "check a {\n  file \"../x\" {\n    exists\n  }\n}\n",
        &[("contract::path", "\"../x\"")],
    ),
    (
        "check a {\n  file \"x\" {\n  }\n}\n",
        &[("contract::empty_file", "\"x\"")],
    ),
    (
        "check a {\n  file \"x\" {\n    matches 'a(b'\n  }\n}\n",
        &[("contract::regex", "matches 'a(b'")],
    ),
    (
        "check a {\n  file \"x\" {\n    size 2MiB..1B\n  }\n}\n",
        &[("lang::bad_size", "2MiB..1B")],
    ),
    (
        "check a {\n  file \"x\" {\n    size ..\n  }\n}\n",
        &[("lang::bad_size", "..")],
    ),
    (
        "whenChangedNone \"a\" {\n  check a: eslint {changed}\n}\n",
        &[("contract::changed_in_none", "eslint {changed}")],
    ),
    (
        "check a: eslint {changed}\nwhenChangedNone \"a\" {\n  use a\n}\n",
        &[("contract::changed_in_none", "a")],
    ),
    (
        "whenChangedAny \"src/[a\" {\n  check a: true\n}\n",
        &[("contract::glob", "[")],
    ),
    (
        "whenChangedAny \"/src\" \"a\" {\n  check a: true\n}\n",
        &[("contract::glob", "/")],
    ),
    (
        "whenChangedAny \"!a\" {\n  check a: true\n}\n",
        &[("contract::only_exclusions", "\"!a\"")],
    ),
    (
        "paths p = \"a\"\nwhenChangedAny !p {\n  check a: true\n}\n",
        &[("contract::only_exclusions", "!p")],
    ),
    (
        "paths p = q\npaths q = \"a\" p\nwhenChangedAny p {\n  check a: true\n}\n",
        &[("contract::paths_cycle", "q")],
    ),
    (
        "paths p = p\nwhenChangedAny p {\n  check a: true\n}\n",
        &[("contract::paths_cycle", "p")],
    ),
    (
        "check a {\n  run true\n  needs b\n}\ncheck b {\n  run true\n  needs a\n}\n",
        &[("contract::cycle", "b")],
    ),
    (
        "check a {\n  run true\n  needs a\n}\n",
        &[("contract::cycle", "a")],
    ),
    (
        "check a: true\ncheck b {\n  run true\n  needs a\n}\nsequence b -> a\n",
        &[("contract::cycle", "sequence b -> a")],
    ),
    (
        "check a: true\ncheck b: true\nsequence a -> b\nsequence b -> a\n",
        &[("contract::cycle", "sequence b -> a")],
    ),
    (
        "tier 1 {\n  check a: true\n}\ncheck b: true\nsequence a -> b\n",
        &[("contract::sequence_against_tiers", "b")],
    ),
    (
        "check a: true\ncheck b: true\nsequence a -> b -> a\n",
        &[("contract::sequence_repeats", "a")],
    ),
    (
        "check a: true\ncheck b: true\nsequence * -> a -> *\n",
        &[("contract::sequence_rest", "*")],
    ),
    ("# nothing\n", &[("contract::no_checks", "")]),
    (
        "risk r tier 2 \"a\"\ncheck a: true\n",
        &[("contract::risk_tier", "2")],
    ),
    (
        "paths p = \"a\"\ncheck a: true\n",
        &[("contract::unused_paths", "p")],
    ),
    (
        "role qa {\n  only docs\n}\ncheck a {\n  run true\n  tags doc\n}\n",
        &[("contract::unused_tag", "docs")],
    ),
    (
        "check a {\n  file \"x\" {\n    absent\n    not-empty\n  }\n}\n",
        &[("contract::absent_and_more", "absent")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n}\n",
        &[("contract::empty_expect", "\"x\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  role tester\n}\n",
        &[("contract::empty_expect", "\"x\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  role testr\n  plan\n}\n",
        &[("contract::unknown_role", "testr")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  role\n  plan\n}\n",
        &[("lang::missing_argument", "role")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  role tester worker\n  plan\n}\n",
        &[("lang::unexpected_argument", "worker")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  role \"tester\"\n  plan\n}\n",
        &[("lang::unexpected_argument", "\"tester\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan\n  role tester\n  role worker\n}\n",
        &[("contract::duplicate_line", "role worker")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan c\n}\n",
        &[("contract::unknown_check", "c")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  runs a c\n  skips d\n}\n",
        &[
            ("contract::unknown_check", "c"),
            ("contract::unknown_check", "d"),
        ],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan ns/c\n}\n",
        &[("contract::unknown_check", "ns/c")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan a 1x\n}\n",
        &[("lang::bad_name", "1x")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan a, b\n}\n",
        &[("lang::unexpected_argument", ",")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan \"a\"\n}\n",
        &[("lang::unexpected_argument", "\"a\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan a\n  plan b\n}\n",
        &[("contract::duplicate_line", "plan b")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan a b a\n}\n",
        &[("contract::expect_conflict", "a")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  runs a a\n}\n",
        &[("contract::expect_conflict", "a")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  runs a\n  skips a\n}\n",
        &[("contract::expect_conflict", "a")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan a\n  runs b\n}\n",
        &[("contract::expect_conflict", "b")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  plan\n  runs a\n}\n",
        &[("contract::expect_conflict", "a")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  runs\n}\n",
        &[("lang::missing_argument", "runs")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  skips\n}\n",
        &[("lang::missing_argument", "skips")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed\n  plan\n}\n",
        &[("lang::missing_argument", "changed")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed src/a.rs\n  plan\n}\n",
        &[("lang::unexpected_argument", "src/a.rs")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed \"../x\"\n  plan\n}\n",
        &[("contract::path", "\"../x\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed \"added:/x\"\n  plan\n}\n",
        &[("contract::path", "\"added:/x\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed \"deleted:\"\n  plan\n}\n",
        &[("contract::path", "\"deleted:\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed \".\"\n  plan\n}\n",
        &[("contract::path", "\".\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  changed \"src/**\"\n  plan\n}\n",
        &[("contract::glob_in_path", "\"src/**\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  exists \"src/*\"\n  plan\n}\n",
        &[("contract::glob_in_path", "\"src/*\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  exists \"\"\n  plan\n}\n",
        &[("contract::path", "\"\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  exists \"a\"\n  exists \"b\"\n  plan\n}\n",
        &[("contract::duplicate_line", "exists \"b\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  exists\n  plan\n}\n",
        &[("lang::missing_argument", "exists")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  tier 3\n  plan\n}\n",
        &[("lang::bad_number", "3")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  tier 1 {\n  plan\n}\n",
        &[("lang::unexpected_block", "{")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  risk-level severe\n  plan\n}\n",
        &[("lang::unknown_word", "severe")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  risk-level hgih\n  plan\n}\n",
        &[("lang::unknown_word", "hgih")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  at midnight\n  plan\n}\n",
        &[("lang::unknown_word", "midnight")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  at\n  plan\n}\n",
        &[("lang::missing_argument", "at")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  command true\n  plan\n}\n",
        &[("lang::unexpected_argument", "true")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  command \"a\" \"b\"\n  plan\n}\n",
        &[("lang::unexpected_argument", "\"b\"")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  rusn a\n}\n",
        &[("lang::unknown_statement", "rusn")],
    ),
    (
        "check a: true\ncheck b: true\nexpect \"x\" {\n  check c: true\n  plan\n}\n",
        &[("lang::misplaced_statement", "check")],
    ),
    (
        "check a: true\nplan a\n",
        &[("lang::misplaced_statement", "plan")],
    ),
    (
        "check a: true\nexpect {\n  plan a\n}\n",
        &[("lang::missing_argument", "{")],
    ),
    (
        "check a: true\nexpect x {\n  plan a\n}\n",
        &[("lang::unexpected_argument", "x")],
    ),
    (
        "check a: true\nexpect \"x\"\n",
        &[("lang::missing_block", "expect")],
    ),
    (
        "check a: true\nexpect \"x\" { plan a }\n",
        &[("lang::block_on_one_line", " plan a }")],
    ),
    (
        "check a: true\nexpect \"x\" {\n  plan a\n",
        &[("lang::unclosed_block", "{")],
    ),
    (
        "check a: true\nexpect \"x\" {\n  plan a\nexpect \"y\" {\n  plan a\n}\n",
        &[("lang::unclosed_block", "{")],
    ),
    (
        "check a: true\nexpect \"\" {\n  plan a\n}\n",
        &[("contract::expect_title", "\"\"")],
    ),
    (
        "check a: true\nexpect \"x\" {\n  plan a\n}\nexpect \"x\" {\n  plan\n}\n",
        &[("contract::duplicate_name", "\"x\"")],
    ),
    (
        "byRole tester {\n  expect \"x\" {\n    plan a\n  }\n}\ncheck a: true\n",
        &[("lang::misplaced_statement", "expect")],
    ),
    (
        "# a.test.vplan\nexpect \"x\" {\n  plan a b\n}\n",
        &[("contract::tests_missing", "expect")],
    ),
    ("# a.test.vplan\n", &[("contract::tests_missing", "")]),
    (
        "# a.test.vplan\ntests verify.vplan\nexpect \"x\" {\n  plan a b\n}\n",
        &[("lang::unexpected_argument", "verify.vplan")],
    ),
    (
        "# a.test.vplan\ntests \"a\"\ntests \"b\"\nexpect \"x\" {\n  plan a b\n}\n",
        &[("contract::duplicate_line", "\"b\"")],
    ),
    (
        "# a.test.vplan\ntests \"a\"\ncheck c: true\nexpect \"x\" {\n  plan c\n}\n",
        &[
            ("contract::not_a_test", "check"),
            ("contract::unknown_check", "c"),
        ],
    ),
    (
        "# a.test.vplan\ntests \"a\"\nexpect \"x\" {\n  role testr\n}\n",
        &[
            ("contract::empty_expect", "\"x\""),
            ("contract::unknown_role", "testr"),
        ],
    ),
    (
        "# a.test.vplan\ntests \"a\"\nexpect \"x\" {\n  plan b\n}\nexpect \"x\" {\n  plan\n}\n",
        &[("contract::duplicate_name", "\"x\"")],
    ),
    (
        "tests \"a\"\ncheck a: true\n",
        &[("contract::tests_misplaced", "\"a\"")],
    ),
    (
        "check a {\n  run true\n  tests \"a\"\n}\n",
        &[("lang::misplaced_statement", "tests")],
    ),
    (
        "chek a: true\ncheck b: x && y\ncheck b {\n  run true\n  needs c\n  timeout 5\n}\nbyRole testr {\n  check d: true\n}\n",
        &[
            ("lang::unknown_statement", "chek"),
            ("lang::command_operator", "&&"),
            ("contract::duplicate_name", "b"),
            ("contract::unknown_check", "c"),
            ("lang::bad_duration", "5"),
            ("contract::unknown_role", "testr"),
        ],
    ),
    ("{\"commands\": [\"a\"],}", &[("json::syntax", ",")]),
    ("{\"comands\": []}", &[("json::unknown_key", "\"comands\"")]),
    (
        "{\"commands\": [], \"commands\": []}",
        &[("json::duplicate_key", "\"commands\"")],
    ),
    ("{\"rules\": [{}]}", &[("json::missing_key", "{}")]),
    ("{\"commands\": 1}", &[("json::wrong_type", "1")]),
    (
        "{\"rules\": [{\"whenChangedAny\": [], \"commands\": []}]}",
        &[("json::empty_condition", "[]")],
    ),
    (
        "{\"commands\": [\"a\"], \"visualProbes\": []}",
        &[("json::unsupported_key", "\"visualProbes\"")],
    ),
    (
        "{\"byRole\": {\"Tester\": [\"t\"]}}",
        &[("contract::unknown_role", "\"Tester\"")],
    ),
    (
        "{\"rules\": [{\"whenChangedAny\": [\"src/[a\"], \"commands\": [\"t\"]}]}",
        &[("contract::glob", "[")],
    ),
];

#[test]
fn malformed() {
    let mut wrong = Vec::new();
    for (text, want) in HEADERS.iter().chain(MALFORMED) {
        let text = whole(text);
        let (_, all, sources) = read(&text);
        let got: Vec<(&str, &str)> = all.iter().map(|d| found(d, &sources)).collect();
        if got != *want {
            wrong.push(format!("{text}wanted {want:?}\n   got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Whatever is cut off, left out or doubled: messages that keep the conventions, and no panic.
#[test]
fn damaged() {
    for (text, _) in HEADERS.iter().chain(MALFORMED) {
        let text = whole(text);
        for (cut, _) in text.char_indices() {
            read(&text[..cut]);
            let rest = text[cut..]
                .chars()
                .next()
                .map_or(cut, |c| cut + c.len_utf8());
            read(&format!("{}{}", &text[..cut], &text[rest..]));
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for skip in 0..lines.len() {
            let but_one = |l: &(usize, &&str)| l.0 != skip;
            read(
                &lines
                    .iter()
                    .enumerate()
                    .filter(but_one)
                    .map(|(_, l)| *l)
                    .collect::<String>(),
            );
        }
        read(&text.repeat(2));
    }
}
