//! Secrets that a check gets, or does not get, and prints in every way that output can take: none
//! stands in any file that vplan writes, in what it prints, or in the arguments of anything that it
//! starts.

use super::contains;
use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many secrets there are in a run of the whole set, of which every second is granted.
const SECRETS: usize = 200;

/// Perl, which finds the names of the secrets in `@n`, each value in `$ENV{$_}`; the whole is one
/// step.
const SCENARIOS: &[(&str, &str, &str)] = &[
    ("whole", "run", r#"print "$ENV{$_}\n" for @n"#),
    (
        "on the other stream",
        "run",
        r#"print STDERR "$ENV{$_}\n" for @n"#,
    ),
    ("without an end of line", "run", r#"print $ENV{$_} for @n"#),
    (
        "one behind the other",
        "run",
        r#"print $ENV{$_} x 3 for @n"#,
    ),
    ("with its name", "run", r#"print "$_=$ENV{$_}\n" for @n"#),
    (
        "as the environment",
        "run",
        r#"print "$_=$ENV{$_}\n" for sort keys %ENV"#,
    ),
    (
        "byte by byte",
        "run",
        r#"for (@n) { syswrite STDOUT, $_ for split //, $ENV{$_} }"#,
    ),
    (
        "byte by byte on the other stream",
        "run",
        r#"for (@n) { syswrite STDERR, $_ for split //, $ENV{$_} }"#,
    ),
    (
        "in halves",
        "run",
        r#"for (@n) { my $h = length($ENV{$_}) / 2; syswrite STDOUT, substr($ENV{$_}, 0, $h); select undef, undef, undef, .001; syswrite STDOUT, substr($ENV{$_}, $h) }"#,
    ),
    (
        "over the border of a chunk",
        "run",
        r#"for my $n (@n[0..19]) { print 'x' x (65536 - 5), $ENV{$n}, 'x' x 4096 }"#,
    ),
    (
        "over the border of what is kept",
        "run",
        r#"print 'x' x (65536 - 4), $ENV{$n[0]}, 'y' x 200000, $ENV{$n[2]}, 'z' x (65536 - 4)"#,
    ),
    (
        "at every place of a block",
        "run",
        r#"for my $at (0..300) { syswrite STDOUT, 'x' x (4096 - $at % 40) . $ENV{$n[$at % @n]} }"#,
    ),
    (
        "in JSON",
        "run",
        r#"print "{\"token\":\"$ENV{$_}\"}\n" for @n"#,
    ),
    (
        "in XML",
        "run",
        r#"print "<t v='$ENV{$_}'>$ENV{$_}</t>" for @n"#,
    ),
    (
        "in Markdown",
        "run",
        r#"print "```\n$ENV{$_}\n```\n`$ENV{$_}`" for @n"#,
    ),
    (
        "in a command of a pipeline",
        "run",
        r#"print "::add-mask::$ENV{$_}\n##[set-output]$ENV{$_}\n::error::$ENV{$_}\n" for @n"#,
    ),
    (
        "in a URL",
        "run",
        r#"print "https://user:$ENV{$_}\@host/path?q=$ENV{$_}#x\n" for @n"#,
    ),
    (
        "in quotes",
        "run",
        r#"print "'$ENV{$_}' \"$ENV{$_}\" ($ENV{$_}) [$ENV{$_}]\n" for @n"#,
    ),
    (
        "in colours",
        "run",
        r#"print "\e[31m$ENV{$_}\e[0m\n" for @n"#,
    ),
    (
        "behind a return",
        "run",
        r#"print "progress\r$ENV{$_}\r\n" for @n"#,
    ),
    ("between zeros", "run", r#"print "\0$ENV{$_}\0" for @n"#),
    (
        "between bytes that are no text",
        "run",
        r#"print "\xff\xfe$ENV{$_}\xc3" for @n"#,
    ),
    (
        "in a long line",
        "run",
        r#"print join(',', map { $ENV{$_} } @n)"#,
    ),
    (
        "many times",
        "run",
        r#"for (1..50) { print "$ENV{$_}\n" for @n[0..9] }"#,
    ),
    (
        "at the very end",
        "run",
        r#"print 'x' x 1000; print $ENV{$n[-2]}"#,
    ),
    (
        "by two at the same time",
        "run",
        r#"if (fork) { print "$ENV{$_}\n" for @n; wait } else { print STDERR "$ENV{$_}\n" for @n; exit }"#,
    ),
    (
        "by a child that stays",
        "run",
        r#"$| = 1; if (!fork) { print "$ENV{$_}\n" for @n; close STDOUT; close STDERR; sleep 600 } select undef, undef, undef, .05"#,
    ),
    (
        "as a finding",
        "lint",
        r#"print "src/$ENV{$_}.c:1:2: error: $ENV{$_} [$ENV{$_}]\n" for @n"#,
    ),
    (
        "as a warning",
        "lint",
        r#"print STDERR "src/x.c:1:2: warning: unused $ENV{$_}\n" for @n"#,
    ),
    (
        "as the name of a test",
        "test",
        r#"print "TAP version 13\n1..", scalar @n, "\n"; my $i; print "not ok ", ++$i, " - $ENV{$_}\n" for @n"#,
    ),
    (
        "as the message of a test",
        "test",
        r#"print "TAP version 13\n1..1\nnot ok 1 - x\n  ---\n  message: '$ENV{$n[0]}'\n  got: $ENV{$n[2]}\n  ...\n# $ENV{$n[4]}\n""#,
    ),
    (
        "in a report file",
        "report",
        r#"open(my $f, '>', "out.xml"); print $f "<testsuite name='s'>"; for (@n) { my $v = $ENV{$_}; $v =~ s/([&<>"'\n\t])/'&#'.ord($1).';'/ge; print $f "<testcase name='$v' file='$v'><failure message='$v'>$v</failure></testcase>" } print $f "</testsuite>""#,
    ),
    (
        "in a report file, raw",
        "report",
        r#"open(my $f, '>', "out.xml"); print $f "<testsuite name='s'>"; for (@n) { print $f "<testcase name='x'><failure><![CDATA[$ENV{$_}]]></failure></testcase>" } print $f "</testsuite>""#,
    ),
    (
        "in a report file that is none",
        "report",
        r#"open(my $f, '>', "out.xml"); print $f "$ENV{$_}\n" for @n"#,
    ),
    (
        "as arguments of a child",
        "run",
        r#"system('echo', map { $ENV{$_} } @n[0..9])"#,
    ),
    (
        "as a program that is not there",
        "run",
        r#"system($ENV{$_}) for @n[0..3]; exec $ENV{$n[0]}"#,
    ),
    (
        "as what it dies of",
        "run",
        r#"die join("\n", map { $ENV{$_} } @n)"#,
    ),
    (
        "as what a shell says",
        "run",
        r#"system('sh', '-c', 'set -x; : "$' . $_ . '"; "$' . $_ . '"') for @n[0..9]"#,
    ),
    (
        "as errors of rustc",
        "compile",
        r#"print STDERR "error[E0001]: $ENV{$_}\n --> src/$ENV{$_}.rs:1:1\n" for @n"#,
    ),
    (
        "as an error of tsc",
        "compile",
        r#"print "src/a.ts(1,2): error TS1: $ENV{$_}\n" for @n"#,
    ),
    (
        "as a missing script",
        "run",
        r#"print STDERR "npm ERR! Missing script: \"$ENV{$n[0]}\"\n"; print STDERR "npm error Missing script: \"$ENV{$_}\"\n" for @n"#,
    ),
    (
        "as a missing target",
        "run",
        r#"print STDERR "make: *** No rule to make target '$ENV{$_}'.  Stop.\n" for @n; exit 2"#,
    ),
    (
        "until its time is up",
        "slow",
        r#"$| = 1; print "$ENV{$_}\n" for @n; sleep 600"#,
    ),
    (
        "until it is killed",
        "run",
        r#"$| = 1; print "$ENV{$_}\n" for @n; kill 9, $$"#,
    ),
    (
        "with passing words",
        "test",
        r#"print "TAP version 13\n1..1\nok 1 - $ENV{$n[0]}\n""#,
    ),
    (
        "as what a file holds that must stay",
        "changes",
        r#"open(my $f, '>', 'gen/x'); print $f "$ENV{$_}\n" for @n; close $f; system('cat', 'gen/x')"#,
    ),
    (
        "of its parent",
        "run",
        r#"for (getppid, 1) { open(my $f, '<', "/proc/$_/environ") or next; local $/; print <$f> } print "done\n""#,
    ),
    (
        "of whoever lets it look",
        "run",
        r#"for my $d (glob '/proc/[0-9]*') { open(my $e, '<', "$d/environ") or next; local $/; my $t = <$e> // ''; print $t if $t =~ /VPLAN_SECRETS_OF_THIS_RUN/ } print "done\n""#,
    ),
    ("on a second try", "again", r#"print "$ENV{$_}\n" for @n"#),
    (
        "with a passing end",
        "run",
        r#"print "$ENV{$_}\n" for @n; exit 0"#,
    ),
];

/// What cannot be masked, because it is another text; said so in the reference. Counted, so that it
/// is known when it changes.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "in base64",
        r#"use MIME::Base64; print encode_base64($ENV{$_}, '') for @n"#,
    ),
    ("backwards", r#"print scalar reverse($ENV{$_}) for @n"#),
    ("in hexadecimal", r#"print unpack('H*', $ENV{$_}) for @n"#),
];

/// A secret of one of the shapes that secrets have.
fn secret(case: &mut Case, at: usize) -> Vec<u8> {
    let mut some = |alphabet: &[u8], length: u64| -> Vec<u8> {
        (0..length).map(|_| *case.one_of(alphabet)).collect()
    };
    let own = format!("{at:03}");
    let mut value = match at % 10 {
        0 => [
            b"ghp_".as_slice(),
            &some(b"abcdefghijklmnopqrstuvwxyzABCDEF0123456789", 36),
        ]
        .concat(),
        1 => some(b"0123456789abcdef", 64),
        2 => some(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            43,
        ),
        3 => some(b"!#$%&*+-.:;<=>?@^_`{|}~\"'\\()[],/", 20),
        // Of the least length that is a secret.
        4 => some(b"abcdefghijklmnopqrstuvwxyz", 5),
        // Many that begin alike.
        5 => [b"sk-live-common-beginning-".as_slice(), &some(b"xy", 20)].concat(),
        // Many that hold themselves.
        6 => b"abab".repeat(4),
        7 => format!(
            "p\u{e4}ssw\u{f6}rt-\u{65e5}\u{672c}-{}",
            String::from_utf8(some(b"abc", 12)).unwrap()
        )
        .into_bytes(),
        8 => [
            b"-----BEGIN KEY-----".as_slice(),
            &some(b"abcdefgh+/", 400),
            b"-----END KEY-----",
        ]
        .concat(),
        _ => [some(b"\x80\x90\xa0\xff\xfe", 4), some(b"abcdef", 10)].concat(),
    };
    value.extend_from_slice(own.as_bytes());
    value
}

fn project(case: &mut Case, only: &[usize], names: &str) -> Project {
    let mut contract = "vplan 1\nrecover {\n  contract\n}\n".to_owned();
    let project = Project::git_empty();
    let prefix = r#"my @n = grep { /^VPLAN_SECRET_/ } sort keys %ENV; @n = ('VPLAN_SECRET_0') unless @n; push @n, @n while @n < 20; "#;
    let mut add = |id: &str, verb: &str, script: &str| {
        project.write(format!("{id}.pl"), format!("{prefix}{script}; exit 1;\n"));
        let (verb, more) = match verb {
            "report" => ("test", "  report junit \"out.xml\"\n"),
            "lint" => ("lint", "  format gcc\n"),
            "test" => ("test", "  format tap\n"),
            "slow" => ("run", "  timeout 300ms\n"),
            "again" => ("run", "  retries 1\n"),
            "changes" => ("run", "  unchanged \"gen/**\"\n"),
            verb => (verb, ""),
        };
        let program = *case.one_of(&["perl", "perl", "env perl"]);
        writeln!(
            contract,
            "check {id} {{\n  {verb} {program} {id}.pl\n  pass-env {names}\n{more}}}"
        )
        .unwrap();
    };
    for at in only {
        let (_, verb, script) = SCENARIOS[*at];
        add(&format!("s{at}"), verb, script);
    }
    for (at, (_, script)) in OTHERWISE.iter().enumerate() {
        add(&format!("o{at}"), "run", script);
    }
    project
        .write("contracts/verify.vplan", contract)
        .mkdir("gen")
        .write("gen/x", "");
    project.commit("all");
    project
}

#[test]
fn secrets_stay_secret() {
    let mut sweep = Sweep::new("faults::hostile::secrets::secrets_stay_secret", 1, 3);
    assert_eq!(SCENARIOS.len(), 50);
    while let Some(mut case) = sweep.next() {
        // The kernel lets root read every environment, also of a process that says it is not to be
        // read.
        let root = rustix::process::geteuid().is_root();
        let mut only: Vec<usize> = (0..SCENARIOS.len())
            .filter(|at| !root || SCENARIOS[*at].0 != "of whoever lets it look")
            .collect();
        sweep.count(
            "scenarios that root cannot be kept from",
            (SCENARIOS.len() - only.len()) as u64,
        );
        if !sweep.whole() {
            only = (0..4)
                .map(|_| only[case.below(only.len() as u64) as usize])
                .collect();
            only.sort_unstable();
            only.dedup();
        }
        let project = project(&mut case, &only, "VPLAN_SECRET_*");
        let secrets: BTreeMap<String, Vec<u8>> = (0..if sweep.whole() { SECRETS } else { 40 })
            .map(|at| (format!("VPLAN_SECRET_{at}"), secret(&mut case, at)))
            .collect();
        // What is not asked for is another matter: it must not even arrive.
        let unasked = b"never-asked-for-0123456789";
        let mut args = vec![
            "run".to_owned(),
            "--changed-none".into(),
            "--keep-going".into(),
            "--junit".into(),
            "../j.xml".into(),
        ];
        args.extend(
            [
                "--sarif",
                "../s.json",
                "--events",
                "../e.jsonl",
                "-vv",
                "-j",
                "2",
            ]
            .map(str::to_owned),
        );
        for name in secrets.keys().step_by(2) {
            args.extend(["--grant-env".to_owned(), name.clone()]);
        }
        let with = |args: &[String]| {
            let mut run = project
                .vplan(args)
                .env("GITHUB_ACTIONS", "true")
                .env("GITHUB_STEP_SUMMARY", project.path("../summary"));
            run = run.env("VPLAN_SECRETS_OF_THIS_RUN", "1").env(
                "UNASKED_TOKEN",
                std::ffi::OsStr::new(std::str::from_utf8(unasked).unwrap()),
            );
            for (name, value) in &secrets {
                run = run.env(name, super::os(value));
            }
            run.run()
        };
        let ran = with(&args);
        super::orderly(&ran);
        let mut texts = vec![
            ("stdout of run".to_owned(), ran.stdout.clone()),
            ("stderr of run".to_owned(), ran.stderr.clone()),
        ];
        for args in [
            &["feedback"][..],
            &["feedback", "--format", "md"],
            &["feedback", "--format", "json"],
            &["report", "--tail", "0"],
            &["details"],
            &["details", "--format", "json"],
            &["report", "--html", "-"],
            &["stats"],
            &["status"],
            &["plan"],
            &["plan", "--format", "json"],
            &["explain"],
            &["explain", "--format", "shell"],
            &["-vv", "plan"],
        ] {
            let shown = with(&args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
            texts.push((format!("{args:?}"), [shown.stdout, shown.stderr].concat()));
        }
        for at in &only {
            let shown = with(&["log".to_owned(), format!("s{at}"), "--raw".into()]);
            texts.push((format!("log of {:?}", SCENARIOS[*at].0), shown.stdout));
        }
        for file in super::files(project.parent()) {
            // What the checks themselves write is theirs.
            let own = file
                .strip_prefix(project.root())
                .is_ok_and(|p| p.starts_with("gen") || p.ends_with("out.xml"));
            if !own {
                texts.push((file.display().to_string(), std::fs::read(&file).unwrap()));
            }
        }
        for (what, text) in &texts {
            for (name, value) in &secrets {
                assert!(
                    !contains(text, value),
                    "{what} holds {name}: {}",
                    excerpt(text, value)
                );
                // As vplan writes it where it cannot stand as it is.
                let lossy = String::from_utf8_lossy(value).into_owned();
                let json = serde_json::to_string(&lossy).unwrap();
                for other in [lossy.as_str(), json.trim_matches('"')] {
                    assert!(
                        !contains(text, other.as_bytes()),
                        "{what} holds {name}, written otherwise: {}",
                        excerpt(text, other.as_bytes())
                    );
                }
            }
            assert!(
                !contains(text, unasked),
                "{what} holds what nobody asked for"
            );
        }
        sweep.count("secrets in a scenario", (secrets.len() * only.len()) as u64);
        sweep.count("files and outputs looked through", texts.len() as u64);
        let masked = texts
            .iter()
            .filter(|(_, text)| contains(text, b"***"))
            .count();
        assert!(masked > 0, "nothing was masked");
        sweep.count("of them with marks", masked as u64);
        // The honest part.
        for (at, (how, _)) in OTHERWISE.iter().enumerate() {
            let log = with(&["log".to_owned(), format!("o{at}"), "--raw".into()]).stdout;
            sweep.count(
                &format!("not masked: {how}"),
                u64::from(!contains(&log, b"***")),
            );
        }
        case.held();
    }
    assert!(sweep.seen("secrets in a scenario") > 0);
}

fn excerpt(text: &[u8], value: &[u8]) -> String {
    let at = memchr::memmem::find(text, value).unwrap_or(0);
    String::from_utf8_lossy(&text[at.saturating_sub(100)..text.len().min(at + value.len() + 50)])
        .into_owned()
}
