//! Tests of the reader of GitHub workflows.

use super::*;
use crate::found::CommandEnding;
use proptest::prelude::*;

fn read(tree: &RepositoryTree) -> SourceReading {
    super::read(tree, &files(tree))
}

const CI: &str = ".github/workflows/ci.yml";

fn tree(files: &[(&str, &str)]) -> RepositoryTree {
    RepositoryTree {
        slug: Some("own/repo".to_owned()),
        default_branch: Some("main".to_owned()),
        ..RepositoryTree::from_files(files)
    }
}

/// The commands of a reading, each on one line.
fn commands(reading: &SourceReading) -> Vec<String> {
    let show = |found: &crate::found::SourceCommand| {
        let mut out = String::new();
        if !found.dir.is_root() {
            out.push_str(&format!("{}: ", found.dir));
        }
        for (name, value) in &found.env {
            out.push_str(&format!("{name}={value} "));
        }
        out.push_str(&found.words.join(" "));
        if let Some(unknown) = &found.unknown {
            out.push_str(&format!(" ?{unknown}"));
        }
        match &found.ending {
            CommandEnding::Counts => {}
            CommandEnding::Ignored(how) => out.push_str(&format!(" [{how}]")),
            CommandEnding::Background => out.push_str(" [&]"),
            CommandEnding::TreeCompared => out.push_str(" [tree]"),
        }
        match found.oddness % NARROW {
            0 => {}
            odd => out.push_str(&format!(" ~{odd}")),
        }
        out
    };
    reading.found.iter().map(show).collect()
}

fn not_read(reading: &SourceReading) -> Vec<String> {
    let show = |skipped: &crate::found::NotRead| {
        let part = skipped.part.as_deref().unwrap_or("file");
        format!("{}: {part}: {}", skipped.place.line, skipped.why)
    };
    reading.not_read.iter().map(show).collect()
}

/// Compares what one workflow with these jobs gives.
fn jobs(jobs: &str, want: &[&str], want_not_read: &[&str]) {
    let text = format!("on: [push, pull_request]\njobs:\n{jobs}");
    let reading = read(&tree(&[(CI, &text)]));
    assert_eq!(commands(&reading), want, "{jobs}");
    assert_eq!(not_read(&reading), want_not_read, "{jobs}");
}

/// Compares what the steps of one job give.
fn steps(steps: &str, want: &[&str], want_not_read: &[&str]) {
    let text = format!("  a:\n    runs-on: ubuntu-latest\n    steps:\n{steps}");
    jobs(&text, want, want_not_read);
}

#[test]
fn workflows_of_a_change_are_read() {
    let body = "jobs: {a: {runs-on: ubuntu-latest, steps: [{run: make}]}}";
    for (on, want) in [
        ("push", None),
        ("[push, workflow_dispatch]", None),
        ("{pull_request: {branches: [main, 'v*']}}", None),
        ("{push: {branches: ['**']}}", None),
        ("{push: {tags: ['v*'], branches: [main]}}", None),
        ("merge_group", None),
        ("{pull_request: {types: [opened, synchronize]}}", None),
        ("release", Some("it starts on release")),
        (
            "{schedule: [{cron: 0 0 * * *}], workflow_dispatch: {}}",
            Some("it starts on schedule, workflow_dispatch"),
        ),
        (
            "{push: {tags: ['v*']}}",
            Some("it starts on tags or other branches"),
        ),
        (
            "{push: {branches: [release]}}",
            Some("it starts on tags or other branches"),
        ),
        (
            "{push: {branches-ignore: [main]}}",
            Some("it starts on tags or other branches"),
        ),
        (
            "{pull_request: {types: [closed]}}",
            Some("it starts on other branches or types of pull requests"),
        ),
        (
            "{push: {paths: ['.github/workflows/x.yml']}}",
            Some("it starts only on changes below `.github/`"),
        ),
        ("workflow_call", Some("no workflow that is read calls it")),
        ("{}", Some("nothing starts it")),
    ] {
        let reading = read(&tree(&[(CI, &format!("on: {on}\n{body}\n"))]));
        let got = reading.not_read.first().map(|skipped| &*skipped.why);
        assert_eq!(got, want, "{on}");
        assert_eq!(reading.found.is_empty(), want.is_some(), "{on}");
    }
}

#[test]
fn paths_of_the_workflow_go_to_its_commands() {
    let body = "jobs: {a: {runs-on: ubuntu-latest, steps: [{run: make}]}}";
    for (on, want) in [
        (
            "{pull_request: {paths: ['src/**', '.github/workflows/ci.yml']}}",
            &["src/**"][..],
        ),
        (
            "{pull_request: {paths-ignore: ['**.md']}}",
            &["**", "!**/*.md"],
        ),
        ("{push: {paths: [a]}, pull_request: {}}", &[]),
        ("{pull_request: {paths: ['a+']}}", &[]),
    ] {
        let reading = read(&tree(&[(CI, &format!("on: {on}\n{body}\n"))]));
        assert_eq!(reading.found[0].paths, want, "{on}");
    }
}

#[test]
fn conditions_leave_out_jobs_and_steps() {
    jobs(
        "  a:\n    if: github.event_name == 'schedule'\n    steps: [{run: x}]\n  b:\n    if: github.actor != 'bot'\n    steps: [{run: y}]\n",
        &["y"],
        &["3: job `a`: its `if` is false for a pull request: `github.event_name == 'schedule'`"],
    );
    // A push comes after the change, where a pull request starts it, too.
    jobs(
        "  a:\n    if: github.event_name == 'push'\n    steps: [{run: x}]\n  b:\n    if: github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name != github.repository\n    steps: [{run: y}]\n",
        &["y"],
        &["3: job `a`: its `if` is false for a pull request: `github.event_name == 'push'`"],
    );
    steps(
        "    - run: x\n      if: ${{ runner.os == 'Windows' }}\n    - run: y\n      if: always()\n    - run: z\n      if: steps.q.outputs.r == 1\n    - if: failure()\n      uses: a/b@v1\n",
        &["y", "z"],
        &[
            "6: step: its `if` is false for a pull request: `runner.os == 'Windows'`"
                .replace("step:", "file:")
                .as_str(),
        ],
    );
}

#[test]
fn expressions_have_three_values() {
    let mut scope = super::scope(&tree(&[]), "pull_request");
    let entry = |key: &str, value: Value| (key.to_owned(), value);
    let cell = vec![
        entry("os", Value::text("linux")),
        entry("n", Value::text("3")),
    ];
    scope.set("matrix", Value::Map(cell));
    for (text, want) in [
        ("", Some(true)),
        ("${{ !cancelled() }}", Some(true)),
        (
            "github.event_name == 'PULL_REQUEST' && runner.os == 'Linux'",
            Some(true),
        ),
        ("github.repository == 'own/repo'", Some(true)),
        ("github.repository_owner != 'own'", Some(false)),
        ("github.ref == 'refs/heads/main'", Some(false)),
        ("github.event.pull_request.draft == false", Some(true)),
        (
            "contains(github.event.pull_request.labels.*.name, 'x')",
            Some(false),
        ),
        (
            "contains(github.event.head_commit.message, 'skip')",
            Some(false),
        ),
        (
            "startsWith(matrix.os, 'LIN') && endsWith(matrix.os, 'x')",
            Some(true),
        ),
        (
            "contains(fromJSON('[\"a\", \"linux\"]'), matrix.os)",
            Some(true),
        ),
        ("matrix.n == 3 && matrix.missing == ''", Some(true)),
        ("contains(fromJSON('[{\"a\": 1}]').*.a, 1)", None),
        (
            "matrix.missing == null && matrix.missing == false",
            Some(true),
        ),
        (
            "format('{0}-{1}', matrix.os, matrix.n) == 'linux-3'",
            Some(true),
        ),
        ("github.actor == 'x'", None),
        ("github.actor == 'x' || true", Some(true)),
        ("github.actor == 'x' && false", Some(false)),
        ("!(github.actor == 'x')", None),
        ("secrets.TOKEN != ''", Some(false)),
        ("needs.a.result == 'success'", None),
        ("it is not an expression", None),
        ("'it''s' == 'it''s'", Some(true)),
        ("${{ false }} && x", Some(true)),
    ] {
        assert_eq!(scope.condition(text), want, "{text}");
    }
    for (text, want) in [
        ("a ${{ matrix.os }}-${{ matrix.n }}", "a linux-3"),
        ("${{ secrets.A || 'x' }}", "${{ secrets.A || 'x' }}"),
        ("${{ matrix.missing }}", ""),
        ("${{ github.sha }}", "${{ github.sha }}"),
        ("${{ open", "${{ open"),
        ("${{ matrix.n == 3 && '--all' || '--some' }}", "--all"),
    ] {
        assert_eq!(scope.fill(text), want, "{text}");
    }
    let deep = "(".repeat(5000);
    assert_eq!(scope.condition(&deep), None);
}

#[test]
fn cells_of_linux_are_read_once() {
    jobs(
        "  a:\n    runs-on: ${{ matrix.os }}\n    strategy:\n      matrix:\n        os: [ubuntu-latest, windows-latest]\n        v: ['1.9', '1.10', nightly]\n        exclude: [{os: ubuntu-latest, v: nightly}]\n        include: [{os: ubuntu-latest, v: '1.10', flag: --all}, {os: ubuntu-24.04, target: armv7-unknown-linux}]\n    steps:\n    - run: try ${{ matrix.v }} ${{ matrix.flag }}\n    - run: same\n",
        &["try 1.9 ~1", "same", "try 1.10 --all", "try ~8"],
        &[],
    );
    jobs(
        "  a:\n    runs-on: ${{ matrix.os }}\n    strategy: {matrix: {os: [macos-14, windows-latest]}}\n    steps: [{run: x}]\n  b:\n    runs-on: {labels: [self-hosted, windows]}\n    steps: [{run: x}]\n",
        &[],
        &[
            "3: job `a`: it runs on macos-14, windows-latest",
            "7: job `b`: it runs on self-hosted, windows",
        ],
    );
    // A matrix that CI computes.
    jobs(
        "  a:\n    strategy: {matrix: '${{ fromJSON(needs.b.outputs.c) }}'}\n    steps: [{run: 'x; y ${{ matrix.z }}'}]\n",
        &["x", "y ${{ matrix.z }} ?${{ matrix.z }}"],
        &[],
    );
    // A step that only some cells run is read.
    jobs(
        "  a:\n    strategy: {matrix: {z: [p, q]}}\n    steps: [{run: x, if: matrix.z == 'q'}]\n",
        &["x"],
        &[],
    );
    let many = (0..40)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!(
        "on: push\njobs: {{a: {{strategy: {{matrix: {{a: [{many}], b: [{many}]}}}}, steps: [{{run: 'x ${{{{ matrix.a }}}} ${{{{ matrix.b }}}}'}}]}}}}"
    );
    assert_eq!(read(&tree(&[(CI, &text)])).found.len(), 256);
}

#[test]
fn folders_and_variables_of_steps() {
    let text = "on: push\nenv: {RUSTFLAGS: -D warnings, CARGO_TERM_COLOR: always, PLAIN: p, NAMED: n}\ndefaults: {run: {working-directory: sub}}\njobs:\n  a:\n    env: {TOXENV: '${{ matrix.env }}', TOKEN: '${{ secrets.T }}'}\n    strategy: {matrix: {env: [py]}}\n    steps:\n    - run: x $NAMED $TOKEN\n    - run: y $PUT\n      working-directory: ${{ github.workspace }}/other\n      env: {OWN: o, GITHUB_TOKEN: '1', PUT: in, BLANK: ' '}\n    - run: echo \"NEW=1\" >> $GITHUB_ENV\n    - run: z --new=$NEW ${{ env.PLAIN }}\n      working-directory: ../out\n";
    let reading = read(&tree(&[(CI, text)]));
    let env = "RUSTFLAGS=-D warnings TOXENV=py";
    assert_eq!(
        commands(&reading),
        [
            format!("sub: {env} x n $TOKEN ?$TOKEN"),
            "other: OWN=o RUSTFLAGS=-D warnings TOXENV=py y in".to_owned(),
            format!("sub: {env} echo NEW=1"),
            format!("{env} z --new=1 p ?it runs in `../out`"),
        ]
    );
    assert_eq!(reading.found[1].job.as_deref(), Some("ci.yml/a"));
}

#[test]
fn checkouts_decide_which_folder_is_the_root() {
    steps(
        "    - uses: actions/checkout@v4\n      with: {path: src}\n    - uses: actions/checkout@v4\n      with: {path: tools, repository: else/where}\n    - run: cd src && x\n    - run: y\n    - run: z\n      working-directory: tools\n    - run: w\n      working-directory: src/deep\n",
        &[
            "x",
            "y ?it runs outside of the checkout",
            "tools: z ?it runs in another checkout",
            "deep: w",
        ],
        &[],
    );
}

#[test]
fn failures_that_do_not_count() {
    steps(
        "    - run: x\n      continue-on-error: true\n    - run: y\n      continue-on-error: ${{ github.actor == 'q' }}\n    - run: z &\n    - run: make fmt\n    - run: git diff --exit-code\n",
        &["x [continue-on-error]", "y", "z [&]", "make fmt [tree]"],
        &[],
    );
    jobs(
        "  a:\n    continue-on-error: ${{ matrix.experimental }}\n    strategy: {matrix: {include: [{experimental: false, v: 2}, {experimental: true, v: 3}]}}\n    steps: [{run: 'x ${{ matrix.v }}'}]\n",
        &["x 2 ~1", "x 3 [continue-on-error] ~4"],
        &[],
    );
    steps(
        "    - run: Get-Item\n      shell: pwsh\n    - run: x\n      shell: bash -l {0}\n",
        &["x"],
        &["6: file: its shell is `pwsh`"],
    );
}

#[test]
fn workflows_and_actions_of_the_repository_are_followed() {
    let call = "on: push\njobs:\n  a:\n    strategy: {matrix: {v: [1, 2]}}\n    uses: ./.github/workflows/called.yml\n    with: {v: '${{ matrix.v }}'}\n  b: {uses: other/repo/.github/workflows/x.yml@v1}\n";
    let called = "on: {workflow_call: {inputs: {v: {type: string}, all: {default: true}}}}\njobs:\n  t:\n    steps:\n    - uses: ./tools/act\n      with: {flag: '-${{ inputs.v }}'}\n    - run: y\n      if: inputs.all\n";
    let action = "inputs: {flag: {}, more: {default: m}}\nruns:\n  using: composite\n  steps:\n  - run: x ${{ inputs.flag }} ${{ inputs.more }}; ${{ github.action_path }}/s.sh\n    shell: bash\n  - uses: ./tools/act\n";
    let reading = read(&tree(&[
        (CI, call),
        (".github/workflows/called.yml", called),
        ("tools/act/action.yml", action),
    ]));
    assert_eq!(
        commands(&reading),
        ["x -1 m ~1", "./tools/act/s.sh", "y", "x -2 m"]
    );
    assert_eq!(
        reading.found[0].place.file.to_string(),
        "tools/act/action.yml"
    );
    assert_eq!(reading.found[2].job.as_deref(), Some("ci.yml/a/t"));
    assert_eq!(
        not_read(&reading),
        [
            "7: job `b`: a workflow of another repository: other/repo/.github/workflows/x.yml@v1",
            "7: file: `./tools/act`: it calls itself",
        ]
    );
}

#[test]
fn actions_of_others() {
    steps(
        "    - uses: actions/setup-node@v4\n    - uses: pre-commit/action@v3\n      with: {extra_args: -a}\n    - uses: who/knows@v1\n    - uses: who/setup-it@v1\n    - uses: who/mongodb-github-action@v1\n    - uses: ./missing\n    - name: own\n      uses: ./js\n",
        &["pre-commit run -a"],
        &[
            "9: file: `who/knows@v1`: an action that is not known",
            "11: file: `who/mongodb-github-action@v1`: starts a service",
            "12: file: `./missing`: it is not in the repository",
            "13: step `own`: `./js`: it is not in the repository",
        ],
    );
}

#[test]
fn bad_workflows_are_one_line_each() {
    let bomb = format!(
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n{}",
        (0..9)
            .map(|n| {
                let (from, to) = (
                    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'][n],
                    ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'][n],
                );
                format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 10].join(","))
            })
            .collect::<String>()
    );
    let good = "on: push\njobs: {a: {steps: [{run: x}]}}";
    for text in [
        "on: push\njobs: [",
        "\tx: y",
        "on: push",
        "on: push\njobs: 3",
        "- a",
        "",
        "on: push\non: push\njobs: {a: {}}",
        &bomb,
        &"[".repeat(9000),
        "a: *b",
        "a: &a [*a]",
    ] {
        let reading = read(&tree(&[(CI, text), (".github/workflows/good.yml", good)]));
        assert_eq!(commands(&reading), ["x"], "{text:.40}");
        assert_eq!(reading.not_read.len(), 1, "{text:.40}");
    }
    let mut large = tree(&[(".github/workflows/good.yml", good)]);
    let file = RepoPath::parse(CI.as_bytes()).unwrap();
    large.files.insert(file.clone());
    large
        .unread
        .insert(file, "it is larger than 1 MiB".to_owned());
    assert_eq!(
        not_read(&read(&large)),
        ["1: file: it is larger than 1 MiB"]
    );
}

#[test]
fn cycles_and_odd_values_end() {
    let cycle = "on: [push, workflow_call]\njobs: {a: {uses: ./.github/workflows/ci.yml}, b: {uses: ../x.yml}, c: {uses: ./../../x.yml}}";
    let reading = read(&tree(&[(CI, cycle)]));
    assert_eq!(reading.not_read.len(), 3);
    for odd in [
        "on: push\njobs: {a: null, b: 3, c: [x], d: {steps: 3}, e: {steps: [null, 3, [x], {run: {a: b}}, {run: null}, {uses: 3}]}}",
        "on: {push: 3, pull_request: [x]}\nenv: [x]\ndefaults: 3\njobs: {a: {strategy: 3, env: 3, runs-on: {x: y}, steps: [{run: x}]}}",
        "on: push\njobs: {a: {strategy: {matrix: {a: {b: c}, include: 3, exclude: [3]}}, steps: [{run: x, with: 3, env: 3}]}}",
    ] {
        let _ = read(&tree(&[(CI, odd)]));
    }
    let merged = "on: push\njobs:\n  a: &a\n    env: &e {RUSTFLAGS: -x}\n    steps: &s [{run: x}]\n  b:\n    <<: *a\n    env: {<<: *e, TZ: UTC}\n";
    let reading = read(&tree(&[(CI, merged)]));
    assert_eq!(
        commands(&reading),
        ["RUSTFLAGS=-x x", "RUSTFLAGS=-x TZ=UTC x"]
    );
    let named = tree(&[(
        ".github/workflows/a\nb.yml",
        "on: push\njobs: {\"a\\nb\": {steps: [{name: \"c\\nd\", run: x}]}}",
    )]);
    assert_eq!(read(&named).found.len(), 1);
}

/// A workflow of which a part is cut out, doubled or replaced.
fn mutated() -> impl Strategy<Value = String> {
    const WHOLE: &str = "on:\n  push: {branches: [main], paths: ['a/**', '!b']}\n  pull_request: &p\n    paths-ignore: ['**.md']\nenv: {A: '${{ github.ref }}', B: 2}\njobs:\n  a:\n    if: ${{ !cancelled() && matrix.x }}\n    runs-on: ${{ matrix.os }}\n    strategy:\n      matrix:\n        os: [ubuntu-latest, macos-14]\n        v: [3.10, '3.11']\n        include: [{os: ubuntu-latest, x: {y: z}}]\n    steps:\n    - uses: actions/checkout@v4\n      with: {path: p}\n    - name: n\n      run: |\n        cd p && make -j$(nproc) \"$A\" || exit 1\n        for i in 1 2; do x $i; done\n      working-directory: q\n    - <<: *p\n      uses: ./act\n";
    let piece = proptest::sample::select(vec![
        "", "\n", "  ", "- ", ": ", "{", "}", "[", "]", "&p ", "*p", "'", "\"", "${{", "}}", "|",
        "#", "é", "\u{0}", "\t", "run: x",
    ]);
    (0..WHOLE.len(), 0..60_usize, piece, 1..3_usize).prop_map(|(at, cut, piece, times)| {
        let end = (at + cut).min(WHOLE.len());
        format!("{}{}{}", &WHOLE[..at], piece.repeat(times), &WHOLE[end..])
    })
}

proptest! {
    #[test]
    fn any_workflow_is_read(text in mutated()) {
        let reading = read(&tree(&[(CI, &text), ("act/action.yml", &text)]));
        for found in &reading.found {
            prop_assert!(!found.words.is_empty() || found.unknown.is_some());
            prop_assert!(!found.text.contains('\n'));
        }
    }
}
