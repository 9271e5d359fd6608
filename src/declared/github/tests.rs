//! Tests of the reader of GitHub workflows.

mod cells;
mod known_actions;

use super::*;
use crate::declared::candidate::{Belief, Candidate, Work as Command};
use actions::{Meaning, Use, meaning};

/// Takes each line of a script as a command; `echo` verifies nothing.
fn lines(_: &Tree, job: &mut Job, script: &Script<'_>, found: &mut Declarations) {
    for (at, line) in script.text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let origin = place(
            &job.file,
            script.line + u32::try_from(at).unwrap(),
            &job.name,
        );
        let work = Command::Shell(line.trim().to_owned());
        let mut one = Candidate::new(origin, Belief::Workflow, work, script.dir.clone());
        one.env = script.env.clone();
        one.env.extend(job.exported.clone());
        one.when = job.when.clone();
        one.tier = job.tier;
        one.timeout = job.timeout;
        one.notes = job.notes.clone();
        one.notes
            .extend(script.condition.iter().map(|text| format!("if {text}")));
        if line.trim().starts_with("echo") {
            one.leave_out(Reason::Nothing, "");
        }
        found.candidates.push(one);
    }
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree {
        slug: Some("owner/name".to_owned()),
        default_branch: Some("main".to_owned()),
        ..Tree::of(files)
    }
}

fn found(files: &[(&str, &str)]) -> Declarations {
    let tree = tree(files);
    let mut found = Declarations::default();
    read_with(&tree, &workflows(&tree), &mut found, lines);
    found
}

/// The commands, one a line, then what was left out as a whole.
fn shown(found: &Declarations) -> Vec<String> {
    let mut out = Vec::new();
    for one in &found.candidates {
        let mut text = match &one.state {
            State::Open => String::new(),
            State::Merged(_) => "merged ".to_owned(),
            State::Out(Reason::Nothing, _) => continue,
            State::Out(reason, _) => format!("{} ", reason.key()),
        };
        if !one.dir.is_root() {
            text.push_str(&format!("[{}] ", one.dir));
        }
        for (name, value) in &one.env {
            text.push_str(&format!("{name}={value} "));
        }
        text.push_str(&one.text());
        if let When::Changed(globs) = &one.when {
            text.push_str(&format!(" on {}", globs.join(" ")));
        }
        if one.tier > 0 {
            text.push_str(&format!(" tier {}", one.tier));
        }
        if let Some(minutes) = one.timeout {
            text.push_str(&format!(" {minutes}m"));
        }
        if one.state == State::Open && !one.notes.is_empty() {
            text.push_str(&format!(" ({})", one.notes.join("; ")));
        }
        out.push(text);
    }
    for one in &found.skipped {
        out.push(format!("- {}: {}", one.what, one.reason.key()));
    }
    out
}

const CI: &str = ".github/workflows/ci.yml";

/// Checks what becomes of a workflow with other files beside it.
fn check(name: &str, workflow: &str, others: &[(&str, &str)], want: &[&str]) {
    let files = [&[(CI, workflow)], others].concat();
    assert_eq!(shown(&found(&files)), want, "{name}\n{workflow}");
}

/// A live workflow with this job's body.
fn job(body: &str) -> String {
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!("on: pull_request\njobs:\n  j:\n{body}")
}

/// A live workflow with these steps.
fn steps(body: &str) -> String {
    job(&format!("runs-on: ubuntu-latest\nsteps:\n{body}"))
}

#[test]
fn r1_a_workflow_is_live_when_it_judges_a_change() {
    let jobs = "jobs:\n  j:\n    steps:\n      - run: x\n";
    let live = &["x"][..];
    let later = &["x tier 1"][..];
    let dead = &["occasion x", "- workflow `ci.yml`: occasion"][..];
    for (on, want) in [
        ("pull_request", live),
        ("[push, pull_request]", live),
        ("merge_group", live),
        ("push", later),
        ("\n  push:\n    branches: [main]", later),
        ("\n  push:\n    branches: ['ma*', '!main']", dead),
        ("\n  push:\n    branches: ['release/**']", dead),
        ("\n  push:\n    branches-ignore: [main]", dead),
        ("\n  push:\n    branches-ignore: [gh-pages]", later),
        ("\n  push:\n    tags: ['v*']", dead),
        ("\n  push:\n    branches: [main]\n    tags: ['v*']", later),
        ("\n  push:\n    paths: ['**']", later),
        ("\n  pull_request:\n    types: [labeled]", dead),
        ("\n  pull_request:\n    types: [opened, labeled]", live),
        ("pull_request_target", dead),
        ("schedule", dead),
        ("workflow_dispatch", dead),
        ("release", dead),
        ("workflow_run", dead),
        ("issues", dead),
        ("workflow_call", dead),
        (
            "\n  pull_request:\n    paths: ['a/**', '.github/workflows/ci.yml']",
            &["x on a/**"],
        ),
        (
            "\n  pull_request:\n    paths-ignore: ['**.md']",
            &["x on ** !**/*.md"],
        ),
        ("\n  push:\n  pull_request:\n    paths: ['a/**']", live),
        (
            "\n  push:\n    paths: ['b/**']\n  pull_request:\n    paths: ['a/**']",
            &["x on a/** b/**"],
        ),
    ] {
        check("R1", &format!("on: {on}\n{jobs}"), &[], want);
    }
    let quoted = format!("\"on\": pull_request\n{jobs}");
    check("R1", &quoted, &[], live);
    for folder in [".forgejo/workflows/a.yaml", ".gitea/workflows/a.yml"] {
        let text = format!("on: pull_request\n{jobs}");
        assert_eq!(shown(&found(&[(folder, &text)])), ["x"], "{folder}");
    }
    for other in [
        ".github/a.yml",
        ".github/workflows/sub/a.yml",
        ".github/workflows/a.txt",
    ] {
        let text = format!("on: pull_request\n{jobs}");
        assert!(shown(&found(&[(other, &text)])).is_empty(), "{other}");
    }
}

#[test]
fn files_that_are_not_understood_are_named() {
    check("syntax", "on: [", &[], &["- workflow `ci.yml`: not_read"]);
    check(
        "no jobs",
        "on: push\n",
        &[],
        &["- workflow `ci.yml`: not_read"],
    );
    let mut tree = tree(&[]);
    let file = RepoPath::parse(CI.as_bytes()).unwrap();
    tree.unread.insert(file, "too large".to_owned());
    let mut found = Declarations::default();
    read(&tree, &mut found);
    assert_eq!(shown(&found), ["- workflow `ci.yml`: not_read"]);
}

#[test]
fn r1_workflows_call_each_other() {
    let called = "on:
  workflow_call:
    inputs:
      dir: { type: string, default: a }
      strict: { type: boolean }
jobs:
  one:
    steps:
      - run: x ${{ inputs.dir }}
      - run: y
        if: inputs.strict
";
    let other = (".github/workflows/x.yml", called);
    let uses = "uses: ./.github/workflows/x.yml";
    check("default", &job(uses), &[other], &["x a", "occasion y"]);
    let with = format!("{uses}\nwith: {{ dir: b, strict: true }}");
    check("with", &job(&with), &[other], &["x b", "y"]);
    let never = format!("if: github.event_name == 'schedule'\n{uses}");
    let want = [
        "occasion x ${{ inputs.dir }}",
        "occasion y",
        "- job `j`: occasion",
        "- workflow `x.yml`: occasion",
    ];
    check("never", &job(&never), &[other], &want);
    let own = format!("uses: ./{CI}");
    check(
        "itself",
        &job(&own).replace("on: pull_request", "on: [pull_request, workflow_call]"),
        &[],
        &["- job `j`: not_read"],
    );
    check(
        "gone",
        &job("uses: ./.github/workflows/no.yml"),
        &[],
        &["- job `j`: not_read"],
    );
    check(
        "remote",
        &job("uses: a/b/.github/workflows/x.yml@v1"),
        &[],
        &["- job `j`: action"],
    );
    let matrix = format!(
        "{uses}\nwith: {{ dir: '${{{{ matrix.d }}}}' }}\nstrategy: {{ matrix: {{ d: [p, q] }} }}"
    );
    check(
        "matrix",
        &job(&matrix),
        &[other],
        &[
            "x p (one of 2 cells: d p)",
            "occasion y",
            "x q tier 1 (one of 2 cells: d q)",
        ],
    );
}

#[test]
fn r2_jobs_that_look_at_results_are_dropped() {
    let nothing = &["- job `j`: nothing"][..];
    for body in [
        "needs: [a]\nif: always()\nsteps:\n  - if: contains(needs.*.result, 'failure')\n    run: exit 1",
        "needs: a\nif: always()\nsteps:\n  - uses: re-actors/alls-green@release/v1\n    with:\n      jobs: ${{ toJSON(needs) }}",
        "needs: a\nif: always()\nsteps:\n  - run: |\n      r='${{ needs.a.result }}'\n      test \"$r\" = success || exit 1",
        "needs: a\nsteps:\n  - run: jq -e . <<< \"$N\"\n    env: { N: '${{ toJSON(needs) }}' }",
    ] {
        check("R2", &job(body), &[], nothing);
    }
    check(
        "R2",
        &job("needs: a\nsteps:\n  - run: make"),
        &[],
        &["make"],
    );
    check(
        "R2",
        &job("steps:\n  - uses: actions/checkout@v4"),
        &[],
        &[],
    );
}

#[test]
fn r3_conditions_of_jobs_and_steps() {
    for (text, want) in [
        ("always()", &["x"][..]),
        ("failure()", &["occasion x"]),
        ("github.event_name == 'pull_request'", &["x"]),
        ("github.event_name == 'push'", &["x tier 1"]),
        ("github.ref == 'refs/heads/main'", &["x tier 1"]),
        ("github.ref == 'refs/heads/dev'", &["occasion x"]),
        ("startsWith(github.ref, 'refs/tags/')", &["occasion x"]),
        ("github.repository == 'owner/name'", &["x"]),
        ("github.repository_owner == 'other'", &["occasion x"]),
        ("runner.os == 'Linux'", &["x"]),
        ("runner.os == 'Windows'", &["machine x"]),
        (
            "contains(github.event.pull_request.labels.*.name, 'y')",
            &["occasion x"],
        ),
        (
            "!contains(github.event.head_commit.message, '[skip]')",
            &["x"],
        ),
        ("github.event.pull_request.draft == false", &["x"]),
        ("env.TOKEN != ''", &["occasion x"]),
        ("env.PLAIN == 'a'", &["x"]),
        ("github.actor != 'bot'", &["x (if github.actor != 'bot')"]),
        ("${{ vars.RUN }}", &["x (if vars.RUN)"]),
        ("hashFiles('none/**') != ''", &["occasion x"]),
    ] {
        let text = format!(
            "on: [push, pull_request]\nenv: {{ PLAIN: a, TOKEN: '${{{{ secrets.T }}}}' }}\njobs:\n  j:\n    steps:\n      - run: x\n        if: \"{text}\"\n"
        );
        let want: Vec<String> = want
            .iter()
            .map(|w| w.replacen("x", "PLAIN=a x", 1))
            .collect();
        let got = shown(&found(&[(CI, &text)]));
        let want: Vec<&str> = want.iter().map(String::as_str).collect();
        assert_eq!(got, want, "{text}");
    }
    let jobs = "if: github.event_name == 'workflow_dispatch'\nsteps:\n  - run: x";
    check(
        "job",
        &job(jobs),
        &[],
        &["occasion x", "- job `j`: occasion"],
    );
}

#[test]
fn r3_filters_of_paths_are_conditions() {
    let filter = |uses: &str, with: &str, condition: &str| {
        format!(
            "on: pull_request
jobs:
  c:
    outputs:
      a: ${{{{ steps.f.outputs.a }}}}
      t: ${{{{ steps.f.outputs.any_changed }}}}
      y: ${{{{ steps.f.outputs.k_any_changed }}}}
    steps:
      - uses: {uses}
        id: f
        with:
{with}
  j:
    needs: c
    if: {condition}
    steps:
      - run: x
"
        )
    };
    let dorny = |filters: &str, condition: &str| {
        let lines: String = filters
            .lines()
            .map(|l| format!("            {l}\n"))
            .collect();
        filter(
            "dorny/paths-filter@v3",
            &format!("          filters: |\n{lines}"),
            condition,
        )
    };
    let a = "needs.c.outputs.a == 'true'";
    for (text, want) in [
        (
            dorny("a:\n  - 'src/**'\n  - 'x.{js,ts}'", a),
            "x on src/** x.{js,ts}",
        ),
        (
            dorny("s: &s\n  - s/**\na:\n  - *s\n  - b/**", a),
            "x on s/** b/**",
        ),
        (dorny("a:\n  - added|modified: 'src/**'", a), "x on src/**"),
        (dorny("a: 'src/**'", a), "x on src/**"),
        (dorny("a: ['!docs/**']", a), "x on ** !docs/**"),
        (dorny("a: ['src/**', '!docs/**']", a), "x"),
        (dorny("a: ['**']", a), "x"),
        (dorny("a: [", a), "x (if needs.c.outputs.a == 'true')"),
        (dorny("b: [c]", a), "x (if needs.c.outputs.a == 'true')"),
        (
            dorny(
                "a: ['src/**']",
                "needs.c.outputs.a == 'true' || github.event_name == 'push'",
            ),
            "x on src/**",
        ),
        (
            filter(
                "dorny/paths-filter@v3",
                "          predicate-quantifier: every\n          filters: |\n            a: ['src/**', '!**/*.md']",
                a,
            ),
            "x on src/** !**/*.md",
        ),
        (
            filter(
                "tj-actions/changed-files@v45",
                "          files: |\n            src/**\n            b/*.c\n          files_ignore: src/gen/**",
                "needs.c.outputs.t == 'true'",
            ),
            "x on src/** b/*.c !src/gen/**",
        ),
        (
            filter(
                "tj-actions/changed-files@v45",
                "          files_yaml: |\n            k:\n              - src/**",
                "needs.c.outputs.y == 'true'",
            ),
            "x on src/**",
        ),
        (
            filter(
                "tj-actions/changed-files@v45",
                "          a: b",
                "needs.c.outputs.t == 'true'",
            ),
            "x",
        ),
    ] {
        check("C1", &text, &[], &[want]);
    }
    // In the same job, and through an action of the repository.
    let action = (
        "f/action.yml",
        "outputs:\n  o:\n    value: ${{ steps.f.outputs.a }}\nruns:\n  using: composite\n  steps:\n    - uses: dorny/paths-filter@v3\n      id: f\n      with:\n        filters: |\n          a: [src/**]\n",
    );
    let text = steps("  - uses: ./f\n    id: g\n  - run: x\n    if: steps.g.outputs.o == 'true'");
    check("C1", &text, &[action], &["x on src/**"]);
    // Filters in a file of their own.
    let text = dorny("a: [b]", a).replace(
        "filters: |\n            a: [b]",
        "filters: .github/filters.yml",
    );
    check(
        "C1",
        &text,
        &[(".github/filters.yml", "a: [q/**]\n")],
        &["x on q/**"],
    );
}

#[test]
fn r4_what_cannot_fail_is_left_out() {
    let text =
        "  - run: x\n    continue-on-error: true\n  - run: y\n    continue-on-error: ${{ false }}";
    check("R4", &steps(text), &[], &["cannot_fail x", "y"]);
    let text = "continue-on-error: true\nsteps:\n  - run: x";
    check(
        "R4",
        &job(text),
        &[],
        &["cannot_fail x", "- job `j`: cannot_fail"],
    );
    let text = "  - uses: astral-sh/ruff-action@v3\n    continue-on-error: true";
    check("R4", &steps(text), &[], &["cannot_fail ruff check"]);
}

#[test]
fn r5_the_inner_environment_wins_and_noise_is_dropped() {
    let text = "on: pull_request
env: { A: 1, B: 2, FORCE_COLOR: 1, CARGO_TERM_COLOR: always, X_CACHE_DIR: c, A_TOKEN: t }
jobs:
  j:
    env: { B: 3, S: '${{ secrets.S }}', NODE_OPTIONS: --max-old-space-size=4096 }
    steps:
      - run: x
        env: { C: '${{ env.B }}', D: '${{ github.sha }}' }
      - run: y
        env: { SECRET_OF_STEP: '${{ secrets.Q }}' }
      - run: z
        env: { GITHUB_TOKEN: '${{ secrets.GITHUB_TOKEN }}' }
";
    check(
        "R5",
        text,
        &[],
        &["A=1 B=3 C=3 x", "secret A=1 B=3 y", "A=1 B=3 z"],
    );
}

#[test]
fn r6_directories() {
    let text = "on: pull_request
defaults: { run: { working-directory: a } }
jobs:
  j:
    steps:
      - run: one
      - run: two
        working-directory: ./b/
      - run: three
        working-directory: ${{ github.workspace }}/b
      - run: four
        working-directory: none
      - run: five
        working-directory: ${{ runner.temp }}
      - run: cmake -B made
        working-directory: .
      - run: six
        working-directory: made
      - run: seven ${{ github.workspace }}/x
        working-directory: b
  k:
    defaults: { run: { working-directory: b } }
    steps:
      - run: eight
";
    let want = [
        "[a] one",
        "[b] two",
        "[b] three",
        "unknown four",
        "unknown five",
        "cmake -B made",
        "[made] six",
        "[b] seven ../x",
        "[b] eight",
    ];
    check("R6", text, &[("a/f", ""), ("b/f", "")], &want);
    let text = "  - uses: actions/checkout@v4\n    with: { path: here }\n  - uses: actions/checkout@v4\n    with: { repository: o/p, path: there }\n  - run: x\n    working-directory: here/a\n  - run: cd here/a && y\n  - run: z\n    working-directory: there";
    check(
        "R6",
        &steps(text),
        &[("a/f", "")],
        &["[a] x", "cd ./a && y", "unknown z"],
    );
}

#[test]
fn r8_other_shells() {
    for (shell, run, want) in [
        ("bash", "x | y", "x | y"),
        ("pwsh", "make test", "make test"),
        ("pwsh", "Get-Item x", "machine Get-Item x"),
        ("pwsh", "x $y", "machine x $y"),
        ("cmd", "x && y", "machine x && y"),
        ("msys2 {0}", "./x; y", "machine ./x; y"),
        ("python", "print(1)", "inline print(1)"),
        ("bash -l {0}", "x", "x"),
    ] {
        let text = steps(&format!("  - run: {run}\n    shell: {shell}"));
        check("R8", &text, &[], &[want]);
    }
}

#[test]
fn r13_expressions_are_filled_in() {
    let text = "  - run: a ${{ env.V }} ${{ runner.os }} ${{ matrix.none }}z\n    env: { V: w }\n  - run: b ${{ github.sha }}\n  - run: c ${{ secrets.X }}";
    let want = [
        "V=w a w Linux z",
        "b ${{ github.sha }}",
        "c ${{ secrets.X }}",
    ];
    check("R13", &steps(text), &[], &want);
    let text = "  - run: |\n      cd x\n      y ${{ github.workspace }}/z";
    check(
        "R13",
        &steps(text),
        &[],
        &["cd x", "y ${{ github.workspace }}/z"],
    );
}

#[test]
fn r25_containers_and_r26_services() {
    let text = "container: alpine:3\nsteps:\n  - run: x";
    check("R25", &job(text), &[], &["x"]);
    let text = "container: { image: a, options: --privileged }\nsteps:\n  - run: x";
    check("R25", &job(text), &[], &["machine x", "- job `j`: machine"]);
    let text = "on: push
jobs:
  j:
    services:
      postgres: { image: 'postgres:17', ports: ['5432:5432'] }
      cache: { image: 'redis:7', ports: ['6380:6379'] }
    env: { DATABASE_URL: 'postgres://u@localhost:5432/d', OTHER: a }
    steps:
      - run: x
        env: { CACHE_PORT: 6380, REDIS_HOST: localhost }
";
    let tree = tree(&[(CI, text)]);
    let mut seen = Declarations::default();
    fn services(_: &Tree, job: &mut Job, script: &Script<'_>, found: &mut Declarations) {
        let all: Vec<String> = job
            .services
            .iter()
            .map(|(n, v)| format!("{n}={}", v.join(",")))
            .collect();
        let origin = place(&job.file, script.line, "");
        let work = Command::Shell(all.join(" "));
        found.candidates.push(Candidate::new(
            origin,
            Belief::Workflow,
            work,
            RepoPath::root(),
        ));
    }
    read_with(&tree, &workflows(&tree), &mut seen, services);
    assert_eq!(
        shown(&seen),
        ["postgres=DATABASE_URL cache=CACHE_PORT,REDIS_HOST"]
    );
}

#[test]
fn artifacts_of_other_jobs() {
    let text =
        "  - run: x\n  - uses: actions/download-artifact@v4\n    with: { name: dist }\n  - run: y";
    check("R17", &steps(text), &[], &["x", "unknown y"]);
}

#[test]
fn times_and_origins() {
    let text = "timeout-minutes: 30\nsteps:\n  - run: x\n  - name: N\n    timeout-minutes: 5\n    run: |\n      # c\n      y";
    check("times", &job(text), &[], &["x 30m", "# c 5m", "y 5m"]);
    let found = found(&[(CI, &job(text))]);
    let lines: Vec<u32> = found.candidates.iter().map(|c| c.origin.line).collect();
    assert_eq!(lines, [6, 10, 11]);
}

#[test]
fn actions_of_the_repository() {
    let action = "inputs:
  dir: { default: a }
  install: { default: 'true' }
runs:
  using: composite
  steps:
    - run: in ${{ inputs.dir }} ${{ github.action_path }}
      shell: bash
    - run: no
      if: inputs.install == 'false'
      shell: bash
    - uses: ./nested
";
    let nested = "runs:\n  using: composite\n  steps:\n    - run: deep\n      shell: bash\n    - uses: ./nested\n";
    let files = [("act/action.yml", action), ("nested/action.yaml", nested)];
    let text = steps("  - uses: ./act\n    with: { dir: b }\n  - run: after");
    let got = shown(&found(&[&[(CI, &*text)], &files[..]].concat()));
    let want = [
        "in b act",
        "occasion no",
        "deep",
        "deep",
        "after",
        "- action `./nested`: not_read",
    ];
    assert_eq!(got, want);
    let files_of: Vec<String> = found(&[&[(CI, &*text)], &files[..]].concat())
        .candidates
        .iter()
        .map(|c| c.origin.file.to_string())
        .collect();
    assert_eq!(
        files_of,
        [
            "act/action.yml",
            "act/action.yml",
            "nested/action.yaml",
            "nested/action.yaml",
            CI
        ]
    );
    check(
        "gone",
        &steps("  - uses: ./none"),
        &[],
        &["- action `./none`: not_read"],
    );
    let node = ("n/action.yml", "runs:\n  using: node20\n  main: x.js\n");
    check(
        "node",
        &steps("  - uses: ./n"),
        &[node],
        &["- action `./n`: action"],
    );
    let never = steps("  - uses: ./nested\n    if: failure()");
    let want = [
        "occasion deep",
        "occasion deep",
        "occasion deep",
        "- action `./nested`: not_read",
    ];
    let got = shown(&found(&[(CI, &*never), files[1]]));
    assert_eq!(got, want);
}

#[test]
fn actions_set_up_tools_and_flags() {
    let text = "  - uses: actions-rust-lang/setup-rust-toolchain@v1\n  - run: x\n  - uses: some/thing@v1\n  - uses: some/thing@v1\n  - uses: actions/setup-go@v5\n    with: { go-version: 1.20 }";
    let found = found(&[(CI, &steps(text))]);
    assert_eq!(
        shown(&found),
        ["RUSTFLAGS=-D warnings x", "- action `some/thing`: action"]
    );
    assert_eq!(found.tools, ["rust", "go 1.2"]);
    let text = text.replace("@v1\n  - run", "@v1\n    with: { rustflags: '' }\n  - run");
    assert_eq!(shown(&super::tests::found(&[(CI, &steps(&text))]))[0], "x");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_as_a_workflow_gives_no_panic(text in "[a-z:{}\\[\\]&*!|>'\"#$ \\n-]{0,200}") {
        let tree = tree(&[(CI, &text)]);
        read(&tree, &mut Declarations::default());
    }

    #[test]
    fn any_value_at_any_place_gives_no_panic(
        keys in proptest::collection::vec(
            proptest::sample::select(vec![
                "if", "uses", "run", "strategy", "matrix", "include", "exclude", "steps", "with",
                "env", "needs", "runs-on", "container", "services", "ports", "defaults",
                "working-directory", "shell", "outputs", "id", "timeout-minutes",
                "continue-on-error", "name",
            ]),
            1..12,
        ),
        values in proptest::collection::vec(
            proptest::sample::select(vec![
                "x", "1", "1.50", "true", "null", "[]", "{}", "[a, 1, {b: c}]", "{a: [1, 2]}",
                "'${{ matrix.a }}'", "'${{ fromJson(inputs.x) }}'", "'${{ github.workspace }}/..'",
                "./a", "a/b@c", "docker://x", "../..", "/", "--shard", "dorny/paths-filter@v3",
            ]),
            12,
        ),
        deep in 0_usize..4,
    ) {
        let mut body = String::new();
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].contains(key) {
                continue;
            }
            body.push_str(&format!("{key}: {}\n", values[at]));
        }
        let indented = |text: &str, by: usize| -> String {
            text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
        };
        let text = match deep {
            0 => format!("on: push\n{body}"),
            1 => format!("on: push\njobs:\n  j:\n{}", indented(&body, 4)),
            2 => format!("on: push\njobs:\n  j:\n    steps:\n      -\n{}", indented(&body, 8)),
            _ => format!("on: push\njobs:\n  j:\n    strategy:\n      matrix:\n{}    steps: [{{run: 'x ${{{{ matrix.name }}}}'}}]\n", indented(&body, 8)),
        };
        let tree = tree(&[(CI, &text)]);
        let mut found = Declarations::default();
        read_with(&tree, &workflows(&tree), &mut found, lines);
        read(&tree, &mut Declarations::default());
    }
}
