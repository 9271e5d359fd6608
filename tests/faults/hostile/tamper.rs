//! A check that edits what decides: the contract, the lock, the plan, the journal, the report, its
//! own log, what is kept of passes, the ledger. The verdict of its run comes from memory, and what
//! it left behind is never believed to be a pass.

use super::CODES;
use crate::faults::sweep::Sweep;
use crate::support::Project;
use serde_json::Value;

/// What the check called `edits` does, in Perl; `$run` is the directory of this run, `$state`
/// vplan's own directory.
const EDITS: &[(&str, &str)] = &[
    (
        "the contract is emptied",
        r#"put('contracts/verify.vplan', "vplan 1\n")"#,
    ),
    (
        "the contract asks for less",
        r#"put('contracts/verify.vplan', "vplan 1\ncheck edits: true\ncheck fails: true\n")"#,
    ),
    ("the contract is gone", r#"unlink 'contracts/verify.vplan'"#),
    (
        "the contract is no text",
        r#"put('contracts/verify.vplan', "\xff\0")"#,
    ),
    (
        "the contract is a pipe",
        r#"unlink 'contracts/verify.vplan'; system 'mkfifo', 'contracts/verify.vplan'"#,
    ),
    (
        "the lock is forged",
        r#"put('contracts/verify.lock.kdl', "lock 1\n")"#,
    ),
    ("the journal is emptied", r#"put("$run/events.jsonl", '')"#),
    ("the journal is gone", r#"unlink "$run/events.jsonl""#),
    (
        "the journal is cut",
        r#"truncate "$run/events.jsonl", (-s "$run/events.jsonl") - 7"#,
    ),
    (
        "the journal says that all is over",
        r#"add("$run/events.jsonl", journal_of_a_pass())"#,
    ),
    (
        "the journal is another run's",
        r#"put("$run/events.jsonl", journal_of_a_pass())"#,
    ),
    (
        "the journal is replaced",
        r#"put("$run/x", journal_of_a_pass()); rename "$run/x", "$run/events.jsonl""#,
    ),
    (
        "the journal is a symlink",
        r#"rename "$run/events.jsonl", '../away'; symlink '../../../../away', "$run/events.jsonl""#,
    ),
    (
        "the journal is a directory",
        r#"unlink "$run/events.jsonl"; mkdir "$run/events.jsonl""#,
    ),
    (
        "the report is there before",
        r#"put("$run/report.json", report_of_a_pass())"#,
    ),
    ("the report is a directory", r#"mkdir "$run/report.json""#),
    (
        "the report is a symlink",
        r#"symlink '../../../../precious', "$run/report.json""#,
    ),
    (
        "the plan is another",
        r#"my $p = get("$run/plan.json"); $p =~ s/"fails"/"other"/g; put("$run/plan.json", $p)"#,
    ),
    ("the plan is empty", r#"put("$run/plan.json", '')"#),
    ("the plan is gone", r#"unlink "$run/plan.json""#),
    (
        "its own log is forged",
        r#"put($_, "1 passed\n") for glob("$run/logs/*")"#,
    ),
    ("the logs are gone", r#"system 'rm', '-rf', "$run/logs""#),
    (
        "the logs are elsewhere",
        r#"rename "$run/logs", '../logs'; symlink '../../../../logs', "$run/logs""#,
    ),
    ("the run is gone", r#"system 'rm', '-rf', $run"#),
    (
        "the run is elsewhere",
        r#"rename $run, '../away'; mkdir $run"#,
    ),
    ("all runs are gone", r#"system 'rm', '-rf', '.vplan'"#),
    (
        "the records are a symlink",
        r#"rename '.vplan', '../away'; symlink '../away', '.vplan'"#,
    ),
    (
        "a later run passed",
        r#"my $later = $run; $later =~ s/\d{4}(?=\d{4}T)/2999/; system 'cp', '-r', passed(), $later"#,
    ),
    (
        "what is kept of passes is forged",
        r#"for (glob("$state/*/results/*")) { my $t = get($_); $t =~ s/failed/passed/g; put($_, $t . ' ') if -f }"#,
    ),
    (
        "what is kept of passes is gone",
        r#"system 'rm', '-rf', glob("$state/*/results")"#,
    ),
    (
        "the ledger is forged",
        r#"for (glob("$state/*/*.json"), glob("$state/*/ledger*")) { put($_, '{"version":1}') if -f }"#,
    ),
    ("the state is gone", r#"system 'rm', '-rf', $state"#),
    (
        "the state is read-only",
        r#"system 'chmod', '-R', 'a-w', $state"#,
    ),
    (
        "the record is read-only",
        r#"system 'chmod', '-R', 'a-w', $run"#,
    ),
    ("git is gone", r#"system 'rm', '-rf', '.git'"#),
    (
        "git says otherwise",
        r#"system 'git', 'commit', '-qam', 'x'; put('.git/HEAD', "x\n")"#,
    ),
    (
        "the other check is edited",
        r#"put('fails.sh', "exit 0\n")"#,
    ),
    (
        "its parent is told to stop",
        r#"kill 'STOP', getppid; kill 'CONT', getppid"#,
    ),
];

const PERL: &str = r#"
sub put { my ($f, $t) = @_; open(my $h, '>', $f) or return; print $h $t }
sub add { my ($f, $t) = @_; open(my $h, '>>', $f) or return; print $h $t }
sub get { open(my $h, '<', $_[0]) or return ''; local $/; scalar <$h> }
sub passed { (sort glob('.vplan/runs/*'))[0] }
sub journal_of_a_pass { get(passed() . '/events.jsonl') }
sub report_of_a_pass { get(passed() . '/report.json') }
my $run = (sort glob('.vplan/runs/*'))[-1];
my $state = "$ENV{HOME}/state/vplan";
print "editing\n";
"#;

#[test]
fn checks_that_edit_what_decides() {
    let whole = (EDITS.len() * 3) as u64;
    let mut sweep = Sweep::new(
        "faults::hostile::tamper::checks_that_edit_what_decides",
        6,
        whole,
    );
    while let Some(mut case) = sweep.next() {
        let (name, edit) = if sweep.whole() {
            EDITS[case.number as usize % EDITS.len()]
        } else {
            *case.one_of(EDITS)
        };
        let project = Project::contract(
            "vplan 1\ngate {\n  retries 3\n}\ncheck before {\n  run true\n  inputs \"contracts/**\"\n}\ncheck edits: perl edits.pl\n\
             check fails {\n  run sh -c 'exit 3'\n  severity blocking\n}\ncheck behind {\n  run sh fails.sh\n}\n",
        );
        project
            .write("../precious", "precious")
            .write("fails.sh", "exit 4\n")
            .write("edits.pl", "exit 0;\n")
            .write(".gitignore", ".vplan\n");
        project.commit("all");
        // An earlier run that passed as far as it went, to be copied from.
        let earlier = project.run(&[
            "run",
            "--changed-none",
            "--only",
            "before",
            "--subject",
            "s",
            "--format",
            "json",
        ]);
        let earlier: Value = earlier.json();
        assert_eq!(earlier["verdict"], "passed", "{earlier:#}");
        let end = *case.one_of(&[0, 1]);
        project.write("edits.pl", format!("{PERL}\n{edit};\nexit {end};\n"));
        let ran = project.run(&[
            "run",
            "--changed-none",
            "--keep-going",
            "--subject",
            "s",
            "--format",
            "json",
        ]);
        super::orderly(&ran);
        assert_ne!(ran.exit, Some(0), "{name}: {ran:?}");
        sweep.count("edits", 1);
        // Whatever was edited: if there is a report at all, it is the truth.
        if let Ok(report) = serde_json::from_slice::<Value>(&ran.stdout) {
            assert_ne!(report["verdict"], "passed", "{name}: {report:#}");
            let status = |id: &str| {
                report["steps"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|s| s["id"] == id)
                    .map(|s| s["status"].as_str().unwrap().to_owned())
            };
            assert!(
                status("fails").is_some_and(|s| s != "passed"),
                "{name}: {report:#}"
            );
            if end == 1 {
                assert!(
                    status("edits").is_some_and(|s| s != "passed"),
                    "{name}: {report:#}"
                );
            }
            sweep.count("verdicts from memory", 1);
        } else {
            assert!(!ran.stderr.is_empty(), "{name}: {ran:?}");
            sweep.count("runs that could not go on", 1);
        }
        assert_eq!(
            std::fs::read(project.path("../precious")).unwrap(),
            b"precious",
            "{name}"
        );
        // What is left is read without a word of a pass about this run.
        let id = ran_id(&ran.stdout);
        for args in [
            &["status", "--format", "json"][..],
            &["verify", "--format", "json"],
            &["report"],
            &["details"],
            &["feedback"],
            &["runs"],
            &["stats"],
            &["gate", "show"],
        ] {
            let shown = project.run(args);
            assert!(
                shown.exit.is_some_and(|code| CODES.contains(&code)),
                "{name}: {shown:?}"
            );
            if let (Some(id), "status" | "verify") = (&id, args[0])
                && let Ok(told) = serde_json::from_slice::<Value>(&shown.stdout)
                && told["runId"] == id.as_str()
            {
                assert_ne!(told["verdict"], "passed", "{name}: {told:#}");
                if args[0] == "verify" {
                    sweep.count(
                        if shown.exit == Some(0) {
                            "records that are what vplan wrote"
                        } else {
                            "records found to be edited"
                        },
                        1,
                    );
                }
            }
        }
        // And the next run works, or says why not.
        let next = project.run(&[
            "run",
            "--changed-none",
            "--only",
            "fails",
            "--format",
            "json",
        ]);
        super::orderly(&next);
        let gone = ["the contract", "git", "the records are a symlink"]
            .iter()
            .any(|g| name.starts_with(g));
        assert!(gone || next.exit == Some(40), "{name}: {next:?}");
        assert_ne!(
            next.exit,
            Some(0).filter(|_| !name.starts_with("the contract")),
            "{name}"
        );
        case.held();
    }
    assert!(super::alone() || sweep.seen("verdicts from memory") > 0);
}

fn ran_id(stdout: &[u8]) -> Option<String> {
    let report: Value = serde_json::from_slice(stdout).ok()?;
    Some(report["runId"].as_str()?.to_owned())
}

/// A contract that is edited by a check is another contract: what it asked for when the run began
/// is what is verified.
#[test]
fn the_plan_of_a_run_is_the_plan_of_its_beginning() {
    let project = Project::contract("vplan 1\ncheck edits: sh edits.sh\ncheck fails: false\n");
    project
        .write(
            "edits.sh",
            "printf 'vplan 1\\ncheck edits: true\\n' >contracts/verify.vplan\n",
        )
        .commit("all");
    let ran = project.run(&["run", "--changed-none", "--keep-going", "--format", "json"]);
    let report = ran.exits(40).json();
    let ends: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["status"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["passed", "failed"]);
    // The tree that was verified is the one of the beginning: what is here now is not it.
    let status = project.run(&["status"]);
    status.exits(0).says("not verified");
    project
        .run(&["verify"])
        .exits(0)
        .says("does not say which tree was verified");
}
