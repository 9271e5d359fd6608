//! `vplan import`: every key of every format, malformed files, the command line.

use crate::props::convert::SAMPLES;
use crate::support::Project;
use std::collections::BTreeSet;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::source::{Source, Sources};
use vplan::front::convert::{CODES, Conversion, Format, convert, recognize, text, verify};

/// What the account says of each file of runr, because it changes what a loop does.
const OF_EVERY_RUNR_LOOP: [&str; 2] = [
    "the three retries of a milestone",
    "`verification.max_verify_time_per_milestone`",
];

/// The text of the conversion without header and comments, and the account as `weight what`.
fn account(format: Format, content: &str) -> (String, Vec<String>) {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("file", content));
    let mut sink = Diagnostics::default();
    let Some(conversion) = convert(&sources, id, format, &mut sink) else {
        panic!("{sink:?}\n{content}")
    };
    let written = text(&conversion, &sources);
    verify(&conversion, &sources, &written).unwrap_or_else(|e| panic!("{e}\n{written}"));
    let lines = written
        .lines()
        .filter(|l| !l.trim_start().starts_with('#') && !l.trim().is_empty() && *l != "vplan 1");
    let Conversion { lost, .. } = conversion;
    let line = |place| sources.position(place).line;
    let lost = lost
        .iter()
        .filter(|l| format != Format::Runr || !OF_EVERY_RUNR_LOOP.contains(&l.what.as_str()))
        .map(|l| format!("{} {}: {}", line(l.place), l.weight.name(), l.what))
        .collect();
    (lines.map(str::trim).collect::<Vec<_>>().join("\n"), lost)
}

/// A file, lines of the contract that must be there, and the account.
type Key<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

fn keys(format: Format, table: &[Key<'_>]) {
    for (content, lines, lost) in table {
        let (written, found) = account(format, content);
        for line in *lines {
            assert!(
                written.lines().any(|l| l == *line),
                "no line `{line}` for\n{content}\n---\n{written}"
            );
        }
        assert_eq!(&found, lost, "{content}\n---\n{written}");
    }
}

#[test]
fn every_key_of_verify_contract_json() {
    keys(
        Format::VerifyContractJson,
        &[
            (
                r#"{"commands": ["CI=1 pnpm test", "lint {changed}"]}"#,
                &["run CI=1 pnpm test", "run lint {changed}"],
                &[],
            ),
            (
                r#"{"byRole": {"tester": ["a"]}}"#,
                &["byRole tester {", "run a"],
                &[],
            ),
            (
                r#"{"byRole": {"lead": ["a"]}}"#,
                &["byRole lead {", "role lead {"],
                &["1 changed: role `lead`"],
            ),
            (
                r#"{"rules": [{"whenChangedAny": ["a", "!b"], "whenChangedAll": ["c'\"d"], "commands": ["x"]}]}"#,
                &[
                    "whenChangedAny \"a\" \"!b\" {",
                    "whenChangedAll \"c'\\\"d\" {",
                    "run x",
                ],
                &[],
            ),
            (r#"{"rules": [{"commands": ["x"]}]}"#, &["run x"], &[]),
            (
                r#"{"rules": [{"whenChangedAny": ["a"], "commands": []}]}"#,
                &[],
                &["1 no-effect: a condition"],
            ),
            (
                "{\"visualProbes\": [],\n\"note\": 1}",
                &[],
                &["1 lost: `visualProbes`", "2 lost: `note`"],
            ),
            (
                r#"{"byRole": {"docser": ["a"]}}"#,
                &["byRole docser {", "run a"],
                &["1 no-effect: what a task of `docser` may add"],
            ),
            (
                r#"{"commands": ["cd x && A=1 b && c"]}"#,
                &[
                    "timeout 5m",
                    "tool-path \"node_modules/.bin\"",
                    "run A=1 b",
                    "dir \"x\"",
                    "tool-path \"x/node_modules/.bin\"",
                    "run c",
                    "needs cd-x-A-1-b-c-part",
                ],
                &["1 changed: `cd x && A=1 b && c`"],
            ),
            (
                r#"{"commands": ["cd src", "true"]}"#,
                &["run true", "dir \"src\""],
                &["1 changed: `true`"],
            ),
            (
                r#"{"commands": ["a | b"]}"#,
                &["shell a | b"],
                &["1 changed: `a | b`"],
            ),
            (
                r#"{"commands": ["a\nb"]}"#,
                &["check a-b: sh -c $'a\\x0ab'"],
                &["1 changed: `a\\nb`"],
            ),
            (
                r#"{"commands": ["a {changed} | b"]}"#,
                &["check a-changed-b: sh -c 'a {changed} | b'"],
                &["1 changed: `a {changed} | b`"],
            ),
            (
                r#"{"commands": ["a && cd x"]}"#,
                &["shell a && cd x"],
                &["1 changed: `a && cd x`"],
            ),
            (
                r#"{"commands": ["cd /x && a"]}"#,
                &["shell cd /x && a"],
                &["1 changed: `cd /x && a`"],
            ),
        ],
    );
}

fn verification(inner: &str) -> String {
    format!("{{\"verification\": {{{inner}, \"max_verify_time_per_milestone\": 60}}}}")
}

#[test]
fn every_key_of_runr() {
    let risk = |patterns: &str| {
        verification(&format!(
            "\"risk_triggers\": [{{\"name\": \"t\", \"tier\": \"tier1\", \"patterns\": {patterns}}}]"
        ))
    };
    let table: &[(String, &[&str], &[&str])] = &[
        ("{}".to_owned(), &["budget 10m", "timeout 10m"], &[]),
        (verification("\"tier0\": [\"pnpm lint\", \"pnpm lint\"]"), &["check pnpm-lint: pnpm lint", "check pnpm-lint-2: pnpm lint"], &[]),
        (verification("\"tier1\": [\"a\"]"), &["tier 1 {", "check a: a", "budget 1m", "timeout 1m"], &[]),
        (verification("\"tier2\": [\"a\"], \"tier0\": []"), &["tier 2 {", "check a: a"], &[]),
        (verification("\"cwd\": \"./web/\", \"tier0\": [\"cd ../api && x\"]"), &["dir \"web\"", "dir \"api\"", "run x"], &[]),
        (verification("\"tier0\": [\"ls *.ts\"]"), &["shell ls *.ts"], &[]),
        (verification("\"tier0\": [\"echo {changed}\"]"), &["check echo-changed: echo '{changed}'"], &[]),
        (verification("\"tier0\": [\"a && b\"]"), &["check a: a", "run b", "needs a"], &["1 changed: `a && b`"]),
        (risk("[\"package.json\"]"), &["risk t tier 1 \"package.json\""], &[]),
        (risk("[\"**/auth/**\"]"), &["risk t tier 1 \"**/auth/**\""], &["1 changed: its wildcards"]),
        (risk("[]"), &[], &["1 no-effect: trigger `t`"]),
        (risk("[\"/abs\"]"), &[], &["1 no-effect: pattern `/abs`"]),
        (
            risk("[\"!a.md\"]"),
            &["paths trigger-t-not-1 = \"**\" \"!a.md\"", "risk t tier 1 trigger-t-not-1"],
            &["1 changed: pattern `!a.md`"],
        ),
        (
            risk("[\"src/+(a|b)\"]"),
            &["risk t tier 1 \"src/*\""],
            &["1 changed: pattern `src/+(a|b)`", "1 changed: its wildcards"],
        ),
        (
            verification("\"risk_triggers\": [{\"name\": \"a b\", \"tier\": \"tier2\", \"patterns\": [\"x\"]}, {\"name\": \"a-b\", \"tier\": \"tier0\", \"patterns\": [\"x\"]}]"),
            &["risk a-b tier 1 \"x\"", "risk a-b-2 tier 0 \"x\""],
            &["1 changed: trigger `a b`", "1 changed: trigger `a-b`"],
        ),
        (verification("\"tier3\": []"), &[], &["1 lost: `verification.tier3`"]),
        (
            "{\"scope\": {\"allowlist\": [\"src/**\", \"x\", \".github/**\"], \"denylist\": [\"infra/a\"], \"lockfiles\": [\"l\"]}}".to_owned(),
            &["paths scope-allowlist = \"src/**\" \"!**/.*/**\"", "allow scope-allowlist \"x\" \".github/**\"", "deny \"infra/a\" \"l\""],
            &["1 changed: pattern `.github/**`", "1 changed: `scope.lockfiles`"],
        ),
        (
            "{\"scope\": {\"allowlist\": [\"!(x)\"], \"presets\": [\"a\"], \"env_allowlist\": [], \"other\": 1}}".to_owned(),
            &["deny \"**\""],
            &["1 changed: pattern `!(x)`", "1 lost: `scope.presets`", "1 no-effect: `scope.env_allowlist`", "1 lost: `scope.other`"],
        ),
        (
            "{\"agent\": {\"name\": \"it's\", \"version\": \"1\"}}".to_owned(),
            &["contract \"it's\""],
            &["1 no-effect: `agent.version`"],
        ),
        (
            "{\"repo\": 1, \"workers\": 1,\n\"phases\": 1, \"resilience\": 1, \"receipts\": 1, \"workflow\": 1, \"task\": 1, \"$schema\": 1, \"verificaton\": 1}".to_owned(),
            &[],
            &[
                "1 no-effect: `repo`", "1 no-effect: `workers`", "2 no-effect: `phases`", "2 no-effect: `resilience`",
                "2 no-effect: `receipts`", "2 no-effect: `workflow`", "2 no-effect: `task`", "2 no-effect: `$schema`",
                "2 lost: `verificaton`",
            ],
        ),
    ];
    for (content, lines, lost) in table {
        keys(Format::Runr, &[(content, lines, lost)]);
    }
}

#[test]
fn what_moves_a_loop_is_accounted_for() {
    let project = Project::git_with(&[
        (
            "runr.config.json",
            r#"{"verification":{"tier0":["a"],"max_verify_time_per_milestone":600}}"#,
        ),
        ("default.json", r#"{"verification":{"tier0":["a"]}}"#),
        (
            "criteria.yml",
            "criteria:\n- {type: llm_review, prompt: is it good?}\n- {type: llm_review, prompt: x, context: [a]}\n",
        ),
    ]);
    let of = |file: &str| {
        project.run(&[
            "import",
            file,
            "--from",
            if file.ends_with("yml") {
                "acode"
            } else {
                "runr"
            },
            "--stdout",
        ])
    };
    let ran = of("runr.config.json");
    ran.exits(0)
        .warns("for all verifications of a milestone, here for one run")
        .warns("the three retries of a milestone")
        .warns("same-failure 4");
    // The default of runr is no text of the file that would mean something else.
    let ran = of("default.json");
    ran.exits(0).warns("the three retries of a milestone");
    let text = ran.err();
    assert!(!text.contains("changed:"), "{text}");
    let ran = of("criteria.yml");
    ran.exits(0).warns("`judge-with COMMAND`, and `context");
    let text = ran.err();
    assert_eq!(text.matches("`judge-with COMMAND`").count(), 2, "{text}");
    assert_eq!(text.matches("and `context").count(), 1, "{text}");
}

#[test]
fn every_key_of_ralph_tui() {
    let gate = &["timeout 1m", "retries 2", "on-exhausted fail"][..];
    keys(
        Format::RalphTui,
        &[
            ("", &[], &["1 no-effect: `verification`"]),
            ("[verification]\nenabled = true\n", gate, &[]),
            (
                "[verification]\nenabled = true\ncommands = [\"bun test\"]\n",
                &["check bun-test: bun test"],
                &[],
            ),
            (
                "[verification]\ncommands = ['a']\n",
                &["check a: a"],
                &["1 changed: `verification.enabled`"],
            ),
            (
                "[verification]\nenabled = false\ncommands = ['a']\n",
                &["check a: a"],
                &["2 changed: `verification.enabled`"],
            ),
            (
                "[verification]\nenabled = true\ncommands = ['a | b']\n",
                &["shell a | b"],
                &[],
            ),
            (
                "verification = {enabled = true, timeoutMs = 90_000, maxRetries = 0}\n",
                &["timeout 90s", "retries 0"],
                &[],
            ),
            (
                "[verification]\nenabled = true\ntimeoutMs = 0\n",
                &["timeout 24h"],
                &["3 changed: `verification.timeoutMs`"],
            ),
            (
                "[verification]\nenabled = true\nretry = 1\n",
                gate,
                &["3 lost: `verification.retry`"],
            ),
            (
                "verify = true\n[verification]\n",
                &[],
                &["1 lost: `verify`"],
            ),
            (
                "agent = 'a'\ntracker = 'b'\nmaxIterations = 1\nautoCommit = true\n[[agents]]\nname = 'x'\n[verification]\n",
                &[],
                &[
                    "1 no-effect: `agent`",
                    "2 no-effect: `tracker`",
                    "3 no-effect: `maxIterations`",
                    "4 no-effect: `autoCommit`",
                    "5 no-effect: `agents`",
                ],
            ),
        ],
    );
}

#[test]
fn every_key_of_acode() {
    keys(
        Format::Acode,
        &[
            ("# nothing\n", &[], &["1 no-effect: the configuration"]),
            (
                "schema_version: '1.0.0'\nmode: {}\nmodel: x\n",
                &[],
                &[
                    "1 no-effect: `schema_version`",
                    "2 no-effect: `mode`",
                    "3 no-effect: `model`",
                ],
            ),
            (
                "project: {name: shop, type: node}\n",
                &["contract \"shop\""],
                &["1 no-effect: `project.type`"],
            ),
            (
                "commands:\n  setup: npm ci\n  test: npm test\n",
                &[
                    "run npm ci",
                    "setup",
                    "timeout 5m",
                    "test npm test",
                    "sequence setup -> *",
                ],
                &[],
            ),
            (
                "commands:\n  build: [make, make install]\n",
                &[
                    "compile make",
                    "compile make install",
                    "sequence build -> build-2",
                ],
                &[],
            ),
            (
                "commands:\n  lint: {run: eslint ., timeout: 30, retry: 2, continue_on_error: true}\n",
                &[
                    "lint eslint .",
                    "timeout 30s",
                    "retries 2",
                    "severity warning",
                ],
                &[],
            ),
            (
                "commands:\n  test: {run: npm test, cwd: web/, env: {CI: '1', TOKEN: '${TOKEN}'}}\n",
                &["dir \"web\"", "env CI=1", "pass-env TOKEN"],
                &[],
            ),
            (
                "commands:\n  test:\n    run: npm test\n    env:\n      X: a${B}\n",
                &["test npm test"],
                &["5 lost: `commands.test.env.X`"],
            ),
            (
                "commands:\n  test: {run: x, timeout: 0}\n",
                &["timeout 24h"],
                &["2 changed: `commands.test.timeout`"],
            ),
            (
                "commands:\n  test: {run: x, platforms: {linux: y}}\n",
                &["test x"],
                &["2 lost: `commands.test.platforms`"],
            ),
            (
                "commands:\n  test: {run: x, shell: bash}\n",
                &["test x"],
                &["2 lost: `commands.test.shell`"],
            ),
            (
                "commands:\n  format: f\n  start: s\n  deploy: d\n",
                &[],
                &[
                    "2 lost: `commands.format`",
                    "3 lost: `commands.start`",
                    "4 lost: `commands.deploy`",
                ],
            ),
            (
                "commands:\n  test: npm run a && npm run b\n",
                &[
                    "check npm-run-a {",
                    "run npm run a",
                    "test npm run b",
                    "needs npm-run-a",
                ],
                &["2 changed: `npm run a && npm run b`"],
            ),
            (
                "commands:\n  test: npm test | tee log\n",
                &["test sh -c 'npm test | tee log'"],
                &[],
            ),
            (
                "commands: {test: x, build: y, lint: z}\nverifier:\n  checks: {tests: false, compilation: false, static_analysis: true}\n",
                &["lint z"],
                &[
                    "3 no-effect: `verifier.checks.tests`",
                    "3 no-effect: `verifier.checks.compilation`",
                ],
            ),
            (
                "verifier:\n  checks: {file_exists: true, file_content: false, llm_review: true}\n",
                &[],
                &[
                    "2 lost: `verifier.checks.file_exists`",
                    "2 lost: `verifier.checks.llm_review`",
                ],
            ),
            (
                "verifier:\n  tools: {typescript: tsc, tests: jest, linter: eslint .}\n  thresholds: {max_errors: 1, max_warnings: 10}\n",
                &[
                    "compile tsc",
                    "test jest",
                    "lint eslint .",
                    "max-errors 1",
                    "max-warnings 10",
                ],
                &[],
            ),
            (
                "verifier:\n  tools:\n    typescript: {command: npx tsc --noEmit}\n    tests: {command: npm test, timeout_seconds: 90}\n    linter: {command: eslint ., max_warnings: 3}\n",
                &[
                    "compile npx tsc --noEmit",
                    "test npm test",
                    "timeout 90s",
                    "lint eslint .",
                    "max-warnings 3",
                ],
                &[],
            ),
            (
                "commands: {build: a, test: b, lint: c}\nverifier:\n  test_timeout_seconds: 7\n  compilation_timeout_seconds: 8\n  llm_timeout_seconds: 9\n  linter_timeout_seconds: 6\n  max_linter_warnings: 10\n  max_linter_errors: 1\n  require_test_pass: true\n",
                &[
                    "timeout 7s",
                    "timeout 8s",
                    "timeout 6s",
                    "max-warnings 10",
                    "max-errors 1",
                ],
                &[
                    "5 lost: `verifier.llm_timeout_seconds`",
                    "9 no-effect: `verifier.require_test_pass`",
                ],
            ),
            (
                "commands: {test: b, lint: c}\nverifier:\n  timeouts: {test_timeout_seconds: 7}\n  thresholds:\n    max_linter_warnings: 10\n    require_test_pass: false\n",
                &["timeout 7s", "max-warnings 10"],
                &["6 changed: `verifier.thresholds.require_test_pass`"],
            ),
            (
                "commands: {test: b}\nverifier:\n  checks: {compilation: false}\n  timeouts: {compilation: 8, tests: 7}\n  thresholds: {max_errors: 1}\n  max_linter_warnings: 10\n",
                &["timeout 7s"],
                &[
                    "3 no-effect: `verifier.checks.compilation`",
                    "4 no-effect: `verifier.timeouts.compilation`",
                    "5 lost: `verifier.thresholds.max_errors`",
                    "6 lost: `verifier.max_linter_warnings`",
                ],
            ),
            (
                "criteria:\n- type: file_exists\n  paths: [a.txt, b.txt]\n- type: file_exists\n  path: 'src/*.ts'\n- type: file_exists\n",
                &[
                    "check file_exists-a-txt {",
                    "file \"a.txt\" {",
                    "file \"b.txt\" {",
                    "exists",
                ],
                &[
                    "5 lost: `src/*.ts` of a criterion `file_exists`",
                    "6 lost: a criterion `file_exists`",
                ],
            ),
            (
                "criteria:\n- {type: file_content, path: a, contains: [p, q], not_contains: r, pattern: '^x', min_size: 2}\n- {type: file_content, path: b}\n",
                &[
                    "contains \"p\"",
                    "contains \"q\"",
                    "lacks \"r\"",
                    "matches \"^x\"",
                    "size 2B..",
                    "not-empty",
                ],
                &["3 changed: a criterion `file_content`"],
            ),
            (
                "criteria:\n- {type: compilation, language: csharp, command: dotnet build, files: '**/*.cs'}\n",
                &["check compilation {", "compile dotnet build", "timeout 1m"],
                &[
                    "2 no-effect: `criteria[].language`",
                    "2 lost: `criteria[].files`",
                ],
            ),
            (
                "criteria:\n- {type: tests, required: all_pass, command: npm test, min_tests: 3}\n- {type: tests, command: x, required: false}\n- {type: tests, command: y, required: 0.9}\n",
                &["test npm test", "min-tests 3", "severity warning"],
                &["4 changed: `criteria[].required`"],
            ),
            (
                "verifier:\n  tools: {tests: npm test}\n  criteria:\n  - {type: tests}\n  - {type: compilation, max_warnings: 1}\n",
                &["test npm test"],
                &[
                    "4 no-effect: a criterion `tests`",
                    "5 lost: `max-warnings` of a criterion `compilation`",
                    "5 lost: a criterion `compilation`",
                ],
            ),
            (
                "steps:\n- id: 1\n  criteria:\n  - {type: linter, command: eslint ., max_errors: 0, max_warnings: 10}\n",
                &["lint eslint .", "max-errors 0", "max-warnings 10"],
                &["2 no-effect: `steps[].id`"],
            ),
            (
                "criteria:\n- {type: llm_review, prompt: is it good?, context: [docs/a.md, '!x'], timeout: 9, model: m}\n- {type: llm_review}\n- the tests pass\n",
                &[
                    "judge \"is it good?\"",
                    "context \"docs/a.md\" \"!x\"",
                    "timeout 9s",
                ],
                &[
                    "2 changed: a criterion `llm_review`",
                    "2 lost: `criteria[].model`",
                    "3 lost: a criterion `llm_review`",
                    "4 lost: `criteria`",
                ],
            ),
            (
                "verifier:\n  checks: {file_exists: true, file_content: false}\ncriteria:\n- {type: file_exists, path: a}\n- {type: file_content, path: b}\n",
                &["file \"a\" {"],
                &["5 no-effect: a criterion `file_content`"],
            ),
            (
                "verifier: {timeout_seconds: 180, max_cycles: 3, parallel: 4}\n",
                &["budget 3m", "retries 3", "on-exhausted escalate", "jobs 4"],
                &[],
            ),
            (
                "verifier:\n  timeouts: {tests: 7, compilation: 8, static_analysis: 9, llm_review: 10}\ncommands: {test: a, build: b, lint: c}\n",
                &["timeout 7s", "timeout 8s", "timeout 9s"],
                &["2 lost: `verifier.timeouts.llm_review`"],
            ),
            (
                "verifier:\n  steps:\n  - {name: a b, kind: custom, run: x}\n",
                &["check a-b {", "run x", "timeout 1m"],
                &["3 changed: step `a b`"],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: build, run: x}\n  - {name: b, kind: test, run: y, depends_on: [A], min_tests: 3}\n",
                &["compile x", "test y", "needs a", "min-tests 3"],
                &[],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: lint, run: x, max_errors: 1, max_warnings: 2}\n",
                &["lint x", "max-errors 1", "max-warnings 2"],
                &[],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: file, path: d/x, exists: true, not_empty: true, contains: [p], not_contains: [q], matches: '^a', min_size: 1, max_size: 1024}\n",
                &[
                    "file \"d/x\" {",
                    "exists",
                    "not-empty",
                    "contains \"p\"",
                    "lacks \"q\"",
                    "matches \"^a\"",
                    "size 1B..1KiB",
                ],
                &[],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: file, path: x, exists: false, timeout: 5}\n",
                &["absent"],
                &["3 no-effect: `timeout` of step `a`"],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: llm_review, question: is it good?}\n",
                &["judge \"is it good?\"", "timeout 30s"],
                &["3 changed: step `a`"],
            ),
            (
                "verifier:\n  steps:\n  - {name: a, kind: custom, run: x, enabled: false}\n  - {name: b, kind: custom, run: y, depends_on: [a]}\n",
                &["check b {"],
                &["3 no-effect: step `a`", "4 changed: depends_on `a`"],
            ),
            (
                "verifier: {step: [], checks: {x: true}, tools: {x: y}, timeouts: {x: 1}, thresholds: {x: 1}}\nci: 1\n",
                &[],
                &[
                    "1 lost: `verifier.step`",
                    "1 lost: `verifier.checks.x`",
                    "1 lost: `verifier.tools.x`",
                    "1 lost: `verifier.timeouts.x`",
                    "1 lost: `verifier.thresholds.x`",
                    "2 lost: `ci`",
                ],
            ),
            (
                "commands: {test: &t npm test, build: *t}\n",
                &["compile npm test", "test npm test"],
                &[],
            ),
            ("commands: {test: !!str 5}\n", &["test 5"], &[]),
        ],
    );
}

/// A file and its errors: code and underlined text.
type Fault<'a> = (Format, &'a str, &'a [(&'a str, &'a str)]);

const MALFORMED: &[Fault<'_>] = &[
    (Format::VerifyContractJson, "", &[("json::syntax", "")]),
    (
        Format::VerifyContractJson,
        "[]",
        &[("json::wrong_type", "[]")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": 1}",
        &[("json::wrong_type", "1")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\"a\"], \"commands\": []}",
        &[("json::duplicate_key", "\"commands\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\" \"]}",
        &[("convert::empty_command", "\" \"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\"# a\"]}",
        &[("convert::empty_command", "\"# a\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\"A=1\"]}",
        &[("convert::empty_command", "\"A=1\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\"set -e\", \"a\"]}",
        &[("convert::shell_state", "\"set -e\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"commands\": [\"a\\u0000b\"]}",
        &[("convert::bad_command", "\"a\\u0000b\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"byRole\": {\"a b\": [\"x\"]}}",
        &[("convert::bad_value", "\"a b\"")],
    ),
    (
        Format::VerifyContractJson,
        "{\"rules\": [{}]}",
        &[("json::missing_key", "{}")],
    ),
    (
        Format::VerifyContractJson,
        "{\"rules\": [{\"whenChangedAny\": [\"[a\"], \"commands\": [\"x\"]}]}",
        &[("contract::glob", "[")],
    ),
    (
        Format::VerifyContractJson,
        "{\"rules\": [{\"whenChangedAny\": [\"!a\"], \"commands\": [\"x\"]}]}",
        &[("contract::only_exclusions", "\"!a\"")],
    ),
    (Format::Runr, "", &[("json::syntax", "")]),
    (
        Format::Runr,
        "{\"verification\": {},}",
        &[("json::syntax", ",")],
    ),
    (Format::Runr, "[1]", &[("convert::wrong_type", "[1]")]),
    (
        Format::Runr,
        "{\"verification\": []}",
        &[("convert::wrong_type", "[]")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"tier0\": \"a\"}}",
        &[("convert::wrong_type", "\"a\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"tier0\": [1, null]}}",
        &[
            ("convert::wrong_type", "1"),
            ("convert::wrong_type", "null"),
        ],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"tier0\": [\"a\", \"cd d\"]}}",
        &[("convert::shell_state", "\"cd d\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"tier0\": [\"\"]}}",
        &[("convert::empty_command", "\"\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"cwd\": \"../x\"}}",
        &[("convert::bad_value", "\"../x\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"max_verify_time_per_milestone\": 0}}",
        &[("convert::bad_value", "0")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"max_verify_time_per_milestone\": 1.5}}",
        &[("convert::wrong_type", "1.5")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"risk_triggers\": [{\"name\": \"a\", \"tier\": \"tier3\", \"patterns\": []}]}}",
        &[("convert::bad_value", "\"tier3\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"risk_triggers\": [{\"name\": \"a\", \"tier\": \"tier1\", \"patterns\": [\"\"]}]}}",
        &[("convert::bad_value", "\"\"")],
    ),
    (
        Format::Runr,
        "{\"verification\": {\"risk_triggers\": [{}]}}",
        &[
            ("convert::bad_value", "{}"),
            ("convert::bad_value", "{}"),
            ("convert::bad_value", "{}"),
        ],
    ),
    (
        Format::Runr,
        "{\"agent\": {\"name\": 5}}",
        &[("convert::wrong_type", "5")],
    ),
    (
        Format::RalphTui,
        "a = 1\na = 2\n",
        &[("convert::toml", "a")],
    ),
    (
        Format::RalphTui,
        "a = \n[b\n",
        &[("convert::toml", ""), ("convert::toml", "")],
    ),
    (
        Format::RalphTui,
        "{\"verification\": {}}",
        &[("convert::toml", "")],
    ),
    (
        Format::RalphTui,
        "[verification]\ncommands = 'a'\n",
        &[("convert::wrong_type", "'a'")],
    ),
    (
        Format::RalphTui,
        "[verification]\ncommands = [1, ' ']\n",
        &[
            ("convert::wrong_type", "1"),
            ("convert::empty_command", "' '"),
        ],
    ),
    (
        Format::RalphTui,
        "[verification]\nenabled = 'yes'\n",
        &[("convert::wrong_type", "'yes'")],
    ),
    (
        Format::RalphTui,
        "[verification]\ntimeoutMs = -1\n",
        &[("convert::bad_value", "-1")],
    ),
    (
        Format::RalphTui,
        "[verification]\ntimeoutMs = 1.5\n",
        &[("convert::wrong_type", "1.5")],
    ),
    (
        Format::RalphTui,
        "[verification]\nmaxRetries = 1979-05-27\n",
        &[("convert::wrong_type", "1979-05-27")],
    ),
    (
        Format::RalphTui,
        "verification = 3\n",
        &[("convert::wrong_type", "3")],
    ),
    (
        Format::RalphTui,
        "[[verification]]\n",
        &[("convert::wrong_type", "[[verification]]")],
    ),
    (Format::Acode, "a: b: c\n", &[("convert::yaml", "")]),
    (Format::Acode, "- a\n", &[("convert::wrong_type", "- a\n")]),
    (
        Format::Acode,
        "a: 1\na: 2\n",
        &[("convert::duplicate_key", "a")],
    ),
    (
        Format::Acode,
        "a: 1\n---\nb: 2\n",
        &[("convert::yaml", "---")],
    ),
    (
        Format::Acode,
        "commands: {test: !custom x}\n",
        &[("convert::yaml", "!custom x")],
    ),
    (
        Format::Acode,
        "commands: {<<: {}}\n",
        &[("convert::yaml", "<<")],
    ),
    (Format::Acode, "? [a]\n: b\n", &[("convert::yaml", "[a]")]),
    (
        Format::Acode,
        "commands: {test: 5}\n",
        &[("convert::wrong_type", "5")],
    ),
    (
        Format::Acode,
        "commands: {test: {cwd: x}}\n",
        &[("convert::bad_value", "{cwd: x}")],
    ),
    (
        Format::Acode,
        "commands: {test: {run: x, cwd: /x}}\n",
        &[("convert::bad_value", "/x")],
    ),
    (
        Format::Acode,
        "commands: {test: {run: x, retry: -1}}\n",
        &[("convert::bad_value", "-1")],
    ),
    (
        Format::Acode,
        "commands: {test: {run: x, env: {1x: y}}}\n",
        &[("convert::bad_value", "1x")],
    ),
    (
        Format::Acode,
        "commands: {test: {run: x, env: {X: 1}}}\n",
        &[("convert::wrong_type", "1")],
    ),
    (
        Format::Acode,
        "commands: {test: ''}\n",
        &[("convert::empty_command", "''")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: nope}]}\n",
        &[("convert::bad_value", "nope")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a}]}\n",
        &[("convert::bad_value", "{name: a}")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: test}]}\n",
        &[("convert::bad_value", "a")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: test, run: x}, {name: A, kind: test, run: x}]}\n",
        &[("convert::duplicate_step", "A")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: test, run: x, depends_on: [b]}]}\n",
        &[("convert::bad_value", "b")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: test, run: x, depends_on: [b]}, {name: b, kind: test, run: x, depends_on: [a]}]}\n",
        &[("contract::cycle", "b")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: file, path: ../x}]}\n",
        &[("contract::path", "../x")],
    ),
    (
        Format::Acode,
        "verifier: {steps: [{name: a, kind: file, path: x, matches: '('}]}\n",
        &[("contract::regex", "'('")],
    ),
];

fn errors(format: Format, content: &str) -> Vec<(String, String)> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("file", content));
    let mut sink = Diagnostics::default();
    assert!(
        convert(&sources, id, format, &mut sink).is_none(),
        "{:?}",
        content.get(..80)
    );
    let show = |d: vplan::base::diagnostic::Diagnostic| {
        let place = d.labels[0].place;
        assert!(
            !d.message.contains('\n') && d.message.starts_with(|c: char| !c.is_uppercase()),
            "{}",
            d.message
        );
        (
            d.code.0.trim_start_matches("vplan::").to_owned(),
            sources
                .get(place.source)
                .unwrap()
                .slice(place.span)
                .to_owned(),
        )
    };
    sink.sorted().into_iter().map(show).collect()
}

#[test]
fn malformed() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut wrong = Vec::new();
    for (format, content, want) in MALFORMED {
        let got = errors(*format, content);
        seen.extend(got.iter().map(|(code, _)| format!("vplan::{code}")));
        let got: Vec<(&str, &str)> = got
            .iter()
            .map(|(code, text)| (code.as_str(), text.as_str()))
            .collect();
        if &got != want {
            wrong.push(format!("{content:?}\n  got  {got:?}\n  want {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Aliases count as what they stand for; depth is bounded before anything is built.
    let bomb: String = (0..9)
        .map(|i| {
            format!(
                "a{i}: &a{i} [{}]\n",
                if i == 0 {
                    "x".to_owned()
                } else {
                    vec![format!("*a{}", i - 1); 9].join(", ")
                }
            )
        })
        .collect();
    let deep =
        |open: &str, close: &str| format!("a: {}{}", open.repeat(5_000), close.repeat(5_000));
    for (format, content, code) in [
        (Format::Acode, bomb, "convert::too_large"),
        (Format::Acode, deep("[", "]"), "convert::yaml"),
        (Format::Acode, deep("{a: ", "}"), "convert::yaml"),
        (
            Format::Acode,
            format!(
                "a:\n{}",
                (1..500)
                    .map(|i| format!("{}- \n", " ".repeat(i)))
                    .collect::<String>()
            ),
            "convert::yaml",
        ),
        (
            Format::RalphTui,
            format!("a = {}{}", "[".repeat(5_000), "]".repeat(5_000)),
            "convert::toml",
        ),
        (
            Format::RalphTui,
            format!("a = [{}]", "1,".repeat(200_000)),
            "convert::too_large",
        ),
        (
            Format::Runr,
            format!("{{\"a\": {}{}}}", "[".repeat(5_000), "]".repeat(5_000)),
            "json::depth",
        ),
        (
            Format::VerifyContractJson,
            format!("{{\"commands\": [\"{}\"]}}", "a | ".repeat(5_000)),
            "convert::bad_command",
        ),
        (
            Format::VerifyContractJson,
            format!("{{\"commands\": [\"{}\"]}}", "a ".repeat(40_000)),
            "convert::too_large",
        ),
    ] {
        let got = errors(format, &content);
        assert_eq!(
            got.first().map(|(c, _)| c.as_str()),
            Some(code),
            "{format:?} {:?}",
            content.get(..40)
        );
        seen.extend(got.iter().map(|(code, _)| format!("vplan::{code}")));
    }
    let missing: Vec<&str> = CODES
        .iter()
        .map(|c| c.0)
        .filter(|c| !seen.contains(*c))
        .collect();
    assert!(missing.is_empty(), "no example for {missing:?}");
}

#[test]
fn the_kind_of_a_file() {
    for (name, content, want) in [
        (
            "verify.contract.json",
            "not json",
            Some(Format::VerifyContractJson),
        ),
        (".runr/runr.config.json", "", Some(Format::Runr)),
        ("x/agent.config.json", "", Some(Format::Runr)),
        (".ralph-tui/config.toml", "", Some(Format::RalphTui)),
        (".agent/config.yml", "", Some(Format::Acode)),
        ("config.toml", "[verification]\n", Some(Format::RalphTui)),
        ("config.yml", "commands: {}\n", Some(Format::Acode)),
        ("plan.yml", "criteria: []\n", Some(Format::Acode)),
        ("config.json", "{\"verification\": {}}", Some(Format::Runr)),
        (
            "config.json",
            "{\"byRole\": {}}",
            Some(Format::VerifyContractJson),
        ),
        ("config.json", "{\"a\": 1}", None),
        ("config.toml", "[package]\n", None),
        ("config.yml", "commands: [\n", None),
        ("config", "", None),
    ] {
        assert_eq!(recognize(name, content), want, "{name} {content}");
    }
}

/// Each sample stands beside what it is converted to.
#[test]
fn samples() {
    let folders = [
        "convert-opentiger",
        "convert-runr",
        "convert-ralph-tui",
        "convert-acode",
    ];
    let names = [
        "verify.contract.json",
        ".runr/runr.config.json",
        ".ralph-tui/config.toml",
        ".agent/config.yml",
    ];
    for ((folder, name), (_, content)) in folders.iter().zip(names).zip(SAMPLES) {
        let project = Project::git_with(&[(name, content)]);
        let ran = project.run(&["import", name]);
        ran.exits(0)
            .says("lost: not in the contract")
            .says(&format!("{name}:"));
        let golden = format!(
            "{}/tests/trees/{folder}/converted.vplan",
            env!("CARGO_MANIFEST_DIR")
        );
        let written = project.read("contracts/verify.vplan");
        if std::env::var_os("VPLAN_TEST_BLESS").is_some() {
            std::fs::write(&golden, &written).unwrap();
        }
        assert_eq!(
            written,
            std::fs::read_to_string(&golden).unwrap(),
            "{golden}"
        );
        project.run(&["check"]).exits(0);
        project.run(&["plan", "--changed-none"]).exits(0);
    }
}

const SMALL: &str = "{\"commands\": [\"true\"]}";

#[test]
fn what_is_written_where() {
    let project = Project::git_with(&[
        ("verify.contract.json", SMALL),
        ("lossy.json", "{\"commands\": [\"a | b\"], \"x\": 1}"),
    ]);
    project
        .run(&["import", "verify.contract.json", "--stdout"])
        .exits(0)
        .says("run true")
        .warns("1 check");
    assert!(!project.exists("contracts"));
    let ran = project.run(&["import", "verify.contract.json", "-o", "mine.vplan"]);
    ran.exits(0)
        .says("next: `vplan check --contract mine.vplan`");
    project
        .run(&["import", "verify.contract.json", "-o", "mine.vplan"])
        .exits(2)
        .warns("--force");
    project
        .run(&["import", "verify.contract.json"])
        .exits(0)
        .says("contracts/verify.vplan")
        .says("next: `vplan check`");
    let first = project.read("contracts/verify.vplan");
    let refused = project.run(&["import", "lossy.json"]);
    refused.exits(2).warns("is there already").warns("--stdout");
    assert_eq!(project.read("contracts/verify.vplan"), first);
    project
        .run(&["import", "lossy.json", "--force", "--strict"])
        .exits(3)
        .warns("2 things are lost or changed")
        .warns("a | b");
    assert_eq!(project.read("contracts/verify.vplan"), first);
    project
        .run(&["import", "lossy.json", "--force", "-q"])
        .exits(0);
    assert!(
        project
            .read("contracts/verify.vplan")
            .contains("shell a | b")
    );
    project
        .run(&["import", "verify.contract.json", "--strict", "--force"])
        .exits(0);
    project
        .run(&["import", "verify.contract.json", "-o", "contracts"])
        .exits(2)
        .warns("directory");
    project
        .run(&["import", "verify.contract.json", "-o", "mine.vplan/x"])
        .exits(5)
        .warns("cannot be written");
    project
        .run(&["import", "verify.contract.json", "-o", "x", "--stdout"])
        .exits(2);
    let ran = project
        .vplan(&["import", "-", "--from", "runr", "--stdout"])
        .stdin("{\"verification\": {\"tier0\": [\"true\"]}}")
        .run();
    ran.exits(0).says("Converted from -");
}

/// A conversion that verifies nothing is none: no contract without checks is written.
#[test]
fn a_conversion_without_checks() {
    let project = Project::git_with(&[
        ("runr.config.json", "{}"),
        ("Makefile", "X := 1\n"),
        (
            ".pre-commit-config.yaml",
            "repos:\n  - repo: x\n    hooks:\n      - id: trailing-whitespace\n",
        ),
    ]);
    for file in ["runr.config.json", "Makefile", ".pre-commit-config.yaml"] {
        let ran = project.run(&["import", file]);
        ran.exits(3).warns("vplan::import::no_checks");
        assert!(!project.path("contracts/verify.vplan").exists(), "{file}");
        project.run(&["import", file, "--stdout"]).exits(3);
    }
    project
        .run(&["import", ".pre-commit-config.yaml"])
        .exits(3)
        .warns("lost")
        .warns(".pre-commit-config.yaml:4: 1 hook (trailing-whitespace)");
}

/// Files that declare commands, with what is lost of them.
#[test]
fn files_that_declare_commands() {
    let project = Project::git_with(&[
        (
            ".pre-commit-config.yaml",
            "repos:\n  - repo: x\n    hooks:\n      - id: flake8\n      - id: check-yaml\n",
        ),
        (".lintstagedrc.json", "{\"*.md\": \"markdownlint\"}\n"),
        ("justfile", "lint:\n  flake8 src\nrun arg:\n  x\n"),
        ("other.txt", "\"*.md\": markdownlint\n"),
        ("a.py", "x = 1\n"),
        ("a.md", "x\n"),
    ]);
    for (file, check, lost) in [
        (".pre-commit-config.yaml", "lint flake8", "check-yaml"),
        (".lintstagedrc.json", "markdownlint {changed}", ""),
        ("justfile", "just lint", "just run"),
    ] {
        let ran = project.run(&["import", file, "--stdout"]);
        ran.exits(0).says(check);
        if !lost.is_empty() {
            ran.warns(lost);
            project
                .run(&["import", file, "--stdout", "--strict"])
                .exits(3)
                .warns("`--strict` was said");
        }
        project.run(&["import", file, "--force"]).exits(0);
        project.run(&["check"]).exits(0);
        project.run(&["fmt", "--check"]).exits(0);
    }
    let ran = project.run(&["import", "justfile", "--stdout", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.exits(0).out()).unwrap();
    assert_eq!(json["from"], "just");
    assert_eq!(
        (&json["lost"][0]["line"], &json["lost"][0]["weight"]),
        (&3.into(), &"lost".into())
    );
    // The kind is said where the name does not tell it.
    project
        .run(&["import", "other.txt"])
        .exits(2)
        .warns("--from");
    project
        .run(&["import", "other.txt", "--from", "lint-staged", "--stdout"])
        .exits(0)
        .says("markdownlint {changed}");
    let ran = project
        .vplan(&["import", "-", "--from", "just", "--stdout"])
        .stdin("a:\n  flake8 src\n")
        .run();
    ran.exits(0).says("just a");
}

#[test]
fn a_file_that_asks_for_no_check_becomes_no_contract() {
    let project = Project::git_with(&[
        ("none.json", "{\"commands\": [], \"visualProbes\": [1]}"),
        ("setup.yml", "commands: {setup: npm ci, format: x}\n"),
        ("list.json", "{\"commands\": [\"cd src\", \"true\"]}"),
        ("bad.yml", "criteria:\n- {type: vibes}\n"),
    ]);
    for (file, lost) in [
        ("none.json", "`visualProbes`"),
        ("setup.yml", "`commands.format`"),
    ] {
        for more in [&[][..], &["--stdout"], &["--force"]] {
            let args = [&["import", file][..], more].concat();
            let ran = project.run(&args);
            ran.exits(3)
                .warns("vplan::import::no_checks")
                .warns(lost)
                .warns("`vplan init`");
            assert!(ran.out().is_empty() && !project.exists("contracts"));
        }
    }
    project
        .run(&["import", "bad.yml"])
        .exits(3)
        .warns("there is no type `vibes`")
        .warns("file_exists");
    // A directory is carried into what follows: it is no check that always passes.
    project.run(&["import", "list.json"]).exits(0);
    let written = project.read("contracts/verify.vplan");
    assert!(
        !written.contains("cd src") || !written.contains("shell"),
        "{written}"
    );
    assert!(written.contains("dir \"src\""), "{written}");
}

#[test]
fn a_converted_contract_runs_as_long_and_finds_the_same_programs() {
    let project = Project::git_with(&[(
        "verify.contract.json",
        "{\"commands\": [\"vitest run\", \"cd web && vitest run\"]}",
    )]);
    project
        .script("node_modules/.bin/vitest", "#!/bin/sh\npwd > root.out\n")
        .script("web/node_modules/.bin/vitest", "#!/bin/sh\npwd > web.out\n");
    project.write(".gitignore", "node_modules\n*.out\n");
    project.run(&["import", "verify.contract.json"]).exits(0);
    let plan = project.run(&["plan", "--changed-none", "--format", "json"]);
    let plan = plan.exits(0).json();
    let steps = plan["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert!(
        steps.iter().all(|step| step["timeoutMs"] == 300_000),
        "{steps:?}"
    );
    project.run(&["run", "--changed-none"]).exits(0);
    assert!(project.exists("root.out") && project.exists("web/web.out"));
}

#[test]
fn a_missing_contract_names_what_can_be_imported() {
    let project = Project::git_with(&[("a", "x")]);
    let ran = project.run(&["run"]);
    ran.exits(3).warns("`vplan init` writes one");
    assert!(!ran.err().contains("vplan import"));
    project.write(".runr/runr.config.json", "{}");
    project.write(".opentiger/verify.contract.json", SMALL);
    project.mkdir(".ralph-tui/config.toml");
    for command in ["run", "check", "explain"] {
        let ran = project.run(&[command]);
        ran.exits(3)
            .warns("`vplan import .opentiger/verify.contract.json`")
            .warns("`vplan import .runr/runr.config.json`");
        assert!(!ran.err().contains("ralph"), "a folder is no configuration");
    }
}

#[test]
fn what_a_json_contract_asks_for_in_vain_is_said_by_every_run() {
    let project = Project::git_with(&[(
        "verify.contract.json",
        "{\"commands\": [\"true\"], \"visualProbes\": [{}]}",
    )]);
    for command in ["run", "plan", "explain", "check"] {
        project
            .run(&[command, "--contract", "verify.contract.json"])
            .exits(0)
            .warns("`visualProbes` is not supported");
    }
}

#[test]
fn the_account_for_machines() {
    let project = Project::git_with(&[(
        "verify.contract.json",
        "{\"commands\": [\"a\"],\n \"x\": 1}",
    )]);
    let ran = project.run(&["import", "verify.contract.json", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.exits(0).out()).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["from"], "verify-contract-json");
    assert_eq!(json["output"], "contracts/verify.vplan");
    assert_eq!((&json["checks"], &json["triggers"]), (&1.into(), &0.into()));
    assert_eq!(json["lost"][0]["weight"], "lost");
    assert_eq!(
        (&json["lost"][0]["line"], &json["lost"][0]["column"]),
        (&2.into(), &2.into())
    );
    let ran = project.run(&[
        "import",
        "verify.contract.json",
        "--format",
        "json",
        "--stdout",
    ]);
    let json: serde_json::Value = serde_json::from_str(&ran.exits(0).out()).unwrap();
    assert!(json["text"].as_str().unwrap().contains("run a"));
    project
        .run(&["import", "verify.contract.json", "--format", "dot"])
        .exits(2);
}

#[test]
fn files_that_are_none() {
    let project = Project::git_with(&[
        ("a.json", "{\"a\": 1}"),
        ("bad.json", "{\"commands\": [1]}"),
    ]);
    project
        .write("latin.json", b"{\"commands\": [\"\xe9\"]}")
        .write("large.json", "x".repeat(2 << 20))
        .mkdir("dir");
    project.symlink("link.json", "a.json");
    let made = std::process::Command::new("mkfifo")
        .arg(project.path("pipe.json"))
        .status()
        .unwrap();
    assert!(made.success());
    let file = std::fs::File::create(project.path("huge.json")).unwrap();
    file.set_len(1 << 30).unwrap();
    for (args, exit, words) in [
        (&["import"][..], 2, "FILE"),
        (&["import", "none.json"], 2, "none.json"),
        (&["import", "a.json"], 2, "--from runr"),
        (&["import", "a.json", "--from", "cmake"], 2, "cmake"),
        (&["import", "-"], 2, "--from"),
        (&["import", "dir"], 2, "dir"),
        (&["import", "pipe.json"], 2, "no regular file"),
        (&["import", "link.json"], 2, "symlink"),
        (&["import", "latin.json"], 3, "UTF-8"),
        (&["import", "large.json"], 3, "--max-file"),
        (&["import", "huge.json"], 3, "--max-file"),
        (
            &["import", "bad.json"],
            3,
            "an entry of `commands` is a string, not a number",
        ),
        (
            &["import", "a.json", "--from", "ralph-tui"],
            3,
            "this is not TOML",
        ),
    ] {
        let ran = project.run(args);
        ran.exits(exit).warns(words);
        assert!(
            ran.out().is_empty() && !ran.err().contains("panicked"),
            "{args:?}: {}",
            ran.err()
        );
    }
    assert!(!project.exists("contracts"), "nothing is written");
}
