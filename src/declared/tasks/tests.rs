//! Tests of the readers of tasks.

use super::super::tree::Tree;
use super::{Body, body, kit};
use crate::base::path::RepoPath;

mod any;
mod other;

pub fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// A repository of these files.
pub fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files)
}

fn words(text: &str) -> Vec<String> {
    kit::words(&text.split(' ').collect::<Vec<_>>())
}

/// What a command runs: `DIR FILE:LINE LABEL: TEXT`, the root left out; `-` in front of what may
/// fail, variables before the text.
fn run_in(tree: &Tree, dir: &str, command: &[String]) -> Vec<String> {
    match body(tree, &path(dir), command) {
        Body::NotATask => vec!["no task".to_owned()],
        Body::Opaque(why) => vec![format!("opaque: {why}")],
        Body::Lines(lines) => lines
            .iter()
            .map(|line| {
                let dir = if line.dir.is_root() {
                    String::new()
                } else {
                    format!("{} ", line.dir)
                };
                let env: String = line.env.iter().map(|(k, v)| format!("{k}={v} ")).collect();
                let mark = if line.ignored { "-" } else { "" };
                let at = &line.origin;
                format!(
                    "{dir}{}:{} {}: {mark}{env}{}",
                    at.file, at.line, at.label, line.text
                )
            })
            .collect(),
    }
}

#[track_caller]
fn compare(tree: &Tree, cases: &[(&str, &str, &[&str])]) {
    for (dir, command, want) in cases {
        assert_eq!(
            run_in(tree, dir, &words(command)),
            *want,
            "{dir}: {command}"
        );
    }
}

#[test]
fn package_scripts() {
    let tree = tree(&[
        ("pnpm-lock.yaml", ""),
        (
            "package.json",
            r#"{"name": "root", "scripts": {
"pretest": "node clean.js",
"test": "vitest run",
"posttest": "node after.js",
"lint": "eslint --fix .",
"all": "run-p lint test:*",
"test:unit": "a",
"test:e2e": "b",
"loop": "npm run loop",
"odd": 5,
"build": "wireit"
},
"wireit": {"build": {"command": "tsc -b", "env": {"A": "1"},
"dependencies": ["lint", {"script": "test"}, "../x:up",
"./packages/ui:build"]}}}"#,
        ),
        (
            "packages/ui/package.json",
            r#"{"name": "@x/ui", "scripts": {"build": "vite build"}}"#,
        ),
        (
            "packages/core/package.json",
            r#"{"name": "@x/core", "scripts": {"build": "tsc"}}"#,
        ),
        ("packages/broken/package.json", "{"),
        (
            "tests/fixtures/a/package.json",
            r#"{"name": "a", "scripts": {"build": "bad"}}"#,
        ),
    ]);
    let test: &[&str] = &[
        "package.json:2 pretest: node clean.js",
        "package.json:3 test: vitest run",
        "package.json:4 posttest: node after.js",
    ];
    let both: &[&str] = &[
        "packages/core packages/core/package.json:1 build: tsc",
        "packages/ui packages/ui/package.json:1 build: vite build",
    ];
    compare(
        &tree,
        &[
            (".", "npm test", test),
            (".", "npm run-script test", test),
            (".", "pnpm t", test),
            (".", "pnpm run test", test),
            (".", "yarn test", test),
            (".", "node --run test", test),
            (
                "packages",
                "npm run lint",
                &["package.json:5 lint: eslint --fix ."],
            ),
            (
                ".",
                "npm run lint -- --quiet src",
                &["package.json:5 lint: eslint --fix . --quiet src"],
            ),
            (
                ".",
                "npm run -s lint x",
                &["package.json:5 lint: eslint --fix . x"],
            ),
            (
                ".",
                "yarn run lint --cache",
                &["package.json:5 lint: eslint --fix . --cache"],
            ),
            (
                ".",
                "pnpm lint -- --cache",
                &["package.json:5 lint: eslint --fix . --cache"],
            ),
            (".", "npm run build -w @x/ui", &both[1..]),
            (".", "npm run build --workspace=packages/core", &both[..1]),
            (".", "npm --prefix packages/ui run build", &both[1..]),
            (".", "npm run build --workspaces --if-present", both),
            (".", "pnpm -r build", both),
            (".", "pnpm --filter @x/* run build", both),
            (
                ".",
                "pnpm --filter ./packages/** --filter !@x/ui build",
                &both[..1],
            ),
            (".", "pnpm -C packages/ui build", &both[1..]),
            (".", "yarn workspace @x/core build", &both[..1]),
            (".", "yarn workspaces foreach -A run build", both),
            (".", "yarn --cwd packages/core build", &both[..1]),
            (".", "bun --cwd packages/core run build", &both[..1]),
            (".", "lerna run build --scope @x/ui", &both[1..]),
            (
                ".",
                "npm run nothing",
                &["opaque: no `package.json` declares `nothing`"],
            ),
            (".", "npm run nothing --if-present", &[]),
            (".", "yarn eslint .", &["no task"]),
            (".", "npm ci", &["no task"]),
            (".", "pnpm install", &["no task"]),
            (".", "yarn", &["no task"]),
            (".", "bun test", &["no task"]),
            (".", "npm run", &["no task"]),
            (
                ".",
                "npm run odd",
                &["opaque: the script `odd` of `package.json` is no text"],
            ),
            (".", "npm run loop", &["package.json:9 loop: npm run loop"]),
            (
                ".",
                "npm --prefix ../.. test",
                &["opaque: `../..` is outside of the repository"],
            ),
            (
                ".",
                "run-p lint test:*",
                &[
                    "package.json:5 lint: pnpm run lint",
                    "package.json:7 test:unit: pnpm run test:unit",
                    "package.json:8 test:e2e: pnpm run test:e2e",
                ],
            ),
            (
                ".",
                "run-s nothing",
                &["opaque: `package.json` declares no script `nothing`"],
            ),
            (
                ".",
                "npm-run-all --parallel lint",
                &["package.json:5 lint: pnpm run lint"],
            ),
        ],
    );
    let wireit = run_in(&tree, ".", &words("npm run build"));
    assert_eq!(wireit, ["opaque: `../x` is outside of the repository"]);
    let conc = kit::words(&[
        "concurrently",
        "-n",
        "a,b",
        "npm:test:*",
        "eslint . --fix",
        "pnpm:lint",
    ]);
    assert_eq!(
        run_in(&tree, ".", &conc),
        [
            "package.json:7 test:unit: pnpm run test:unit",
            "package.json:8 test:e2e: pnpm run test:e2e",
            "package.json:1 concurrently: eslint . --fix",
            "package.json:5 lint: pnpm run lint",
        ]
    );
    let broken = run_in(&tree, "packages/broken", &words("npm test"));
    assert!(broken[0].starts_with("opaque: `packages/broken/package.json` was not understood"));
}

#[test]
fn makefiles() {
    let text = "\
include ci/more.mk
-include .env
PYTHON ?= python3
SRCS = src/a.c src/b.c
NOW := $(shell date)
ESCAPED := $$HOME/x
ifdef V
Q =
else
Q = @
endif
ifeq ($(OS),Windows_NT)
EXE = .exe
endif
export MIX_ENV = test
.PHONY: all lint check empty
all: build/x | dirs
build/x: $(SRCS) ; $(CC) -o $@ $^ # no comment
dirs:
\t@mkdir -p build
lint: style ./more
style: format
\t@echo styled
format:
\tclang-format -i $(SRCS)
check: loop
\t-$(PYTHON) -m pytest \\
\t\t--verbose $(ARGS)
\t@-$(Q)run $(NOW) $(EXE) $(ESCAPED)
\t# nothing
\t+$(MAKE) -C sub $@
loop: check
test-%: data-%
\trun $* $@ $<
data-%:
\tfetch $*
debug: SRCS = only.c
debug:
\tcc $(SRCS)
twice:: a
\tone
twice:: b
\ttwo
huge: HUGE = x
override define MANY
all: never
endef
";
    let files = [
        ("Makefile", text),
        ("ci/more.mk", "more:\n\tmore\n"),
        (
            "sub/GNUmakefile",
            ".ONESHELL:\n.DEFAULT_GOAL := b\na:\n\tcd x\n\tgo\nb: a\n",
        ),
        ("sub/Makefile", "a:\n\twrong\n"),
        ("none/x", ""),
        ("bare.mk", "#nothing\n"),
    ];
    let tree = tree(&files);
    let env = "MIX_ENV=test ";
    let line = |rest: &str, text: &str| format!("{rest}: {env}{text}");
    let format = line("Makefile:25 format", "clang-format -i src/a.c src/b.c");
    let lint = [
        format,
        line("Makefile:23 style", "echo styled"),
        line("ci/more.mk:2 more", "more"),
    ];
    let check = [
        "Makefile:27 check: -MIX_ENV=test python3 -m pytest --verbose "
            .trim_end()
            .to_owned()
            + " ",
        "Makefile:29 check: -MIX_ENV=test run $(shell date) $(EXE) $HOME/x".to_owned(),
        line("Makefile:31 check", "make -C sub check"),
    ];
    for (command, want) in [
        (
            "make all",
            vec![
                line("Makefile:18 build/x", "cc -o build/x src/a.c src/b.c"),
                line("Makefile:20 dirs", "mkdir -p build"),
            ],
        ),
        // The first target is one of the file that is included first.
        ("make", vec![line("ci/more.mk:2 more", "more")]),
        ("make lint", lint.to_vec()),
        ("gmake -j 4 -k ./lint", lint.to_vec()),
        ("make check", check.to_vec()),
        ("make loop", check.to_vec()),
        (
            "make test-unit",
            vec![
                line("Makefile:36 data-%", "fetch unit").replace("data-%", "data-unit"),
                line("Makefile:34 test-unit", "run unit test-unit data-unit"),
            ],
        ),
        ("make debug", vec![line("Makefile:39 debug", "cc only.c")]),
        (
            "make twice",
            vec![
                line("Makefile:41 twice", "one"),
                line("Makefile:43 twice", "two"),
            ],
        ),
        ("make empty", vec![]),
        (
            "make format SRCS=$x",
            vec![line("Makefile:25 format", "clang-format -i $x")],
        ),
        (
            "make none",
            vec!["opaque: `Makefile` has no target `none`".to_owned()],
        ),
        (
            "make -C sub",
            vec!["sub sub/GNUmakefile:4 a: cd x\ngo".to_owned()],
        ),
        (
            "make --directory=sub a",
            vec!["sub sub/GNUmakefile:4 a: cd x\ngo".to_owned()],
        ),
        (
            "make -Csub a",
            vec!["sub sub/GNUmakefile:4 a: cd x\ngo".to_owned()],
        ),
        (
            "make -f ci/more.mk",
            vec!["ci/more.mk:2 more: more".to_owned()],
        ),
        (
            "make -f bare.mk",
            vec!["opaque: `bare.mk` has no default target".to_owned()],
        ),
        (
            "make -f a -f b x",
            vec!["opaque: several makefiles: only make knows its targets".to_owned()],
        ),
        (
            "make -C none",
            vec!["opaque: there is no makefile in `none`".to_owned()],
        ),
        (
            "make -C ../..",
            vec!["opaque: `../..` is outside of the repository".to_owned()],
        ),
    ] {
        assert_eq!(run_in(&tree, ".", &words(command)), want, "{command}");
    }
}

/// What would grow without a bound, or never end.
#[test]
fn hostile_makefiles() {
    let mut wide = String::from("all: ");
    for i in 0..2_000 {
        wide.push_str(&format!("t{i} "));
    }
    wide.push('\n');
    for i in 0..2_000 {
        wide.push_str(&format!("t{i}: all\n\ttrue\n"));
    }
    let mut deep = String::from("A0 = xxxxxxxxxx\n");
    for i in 1..30 {
        let last = i - 1;
        deep.push_str(&format!(
            "A{i} = $(A{last})$(A{last})$(A{last})$(A{last})\n"
        ));
    }
    deep.push_str("all:\n\techo $(A29)\n");
    for (text, want) in [
        (wide.as_str(), "opaque: `t200` runs more than 200 commands"),
        (
            deep.as_str(),
            "opaque: the variables of `all` make a text that is too long",
        ),
        ("include Makefile\nall: ; x\n", "Makefile:2 all: x"),
        ("all: all\n\tx\n", "Makefile:2 all: x"),
        ("X = $(X)\nall:\n\tx $(X)\n", "Makefile:3 all: x $(X)"),
        ("all:\0\n", "opaque: `Makefile` is no text"),
        ("\tx\nall: \\", "opaque: nothing"),
    ] {
        let tree = tree(&[("Makefile", text)]);
        let got = run_in(&tree, ".", &words("make all"));
        if want == "opaque: nothing" {
            assert!(got.is_empty(), "{got:?}");
        } else {
            assert_eq!(got.first().map(String::as_str), Some(want));
        }
    }
}

#[test]
fn script_files() {
    let mut tree = tree(&[
        (
            "scripts/check.sh",
            "#!/bin/bash\nset -e\nexec ruff check \"$@\" $1 \"${2:-.}\" \\$1\n",
        ),
        ("bin/go", "#!/usr/bin/env bash\ngo test ./...\n"),
        ("bin/py", "#!/usr/bin/env python3\nprint()\n"),
        ("bin/plain", "ls\n"),
        ("f.sh", "a() { echo $1; }\na \"$@\"\n"),
    ]);
    tree.files.insert(path("tool/x"));
    tree.files.insert(path("big.sh"));
    tree.unread
        .insert(path("big.sh"), "larger than 1MiB".to_owned());
    let check = "scripts/check.sh:1 check.sh: #!/bin/bash\nset -e\nexec ruff check";
    let with = |tail: &str| format!("{check} {tail}\n");
    for (dir, command, want) in [
        (".", "./scripts/check.sh", with(" $1 \".\" \\$1")),
        (
            ".",
            "scripts/check.sh --fix",
            with("--fix --fix \".\" \\$1"),
        ),
        (
            ".",
            "bash -euo pipefail scripts/check.sh a b",
            with("a b a b \\$1"),
        ),
        (".", "sh -e scripts/check.sh a b", with("a b a b \\$1")),
        (
            "scripts",
            "sh check.sh a b",
            "scripts ".to_owned() + &with("a b a b \\$1"),
        ),
        (
            ".",
            "bin/go",
            "bin/go:1 go: #!/usr/bin/env bash\ngo test ./...\n".to_owned(),
        ),
        (".", "./bin/plain", "bin/plain:1 plain: ls\n".to_owned()),
        (".", "bin/py", "no task".to_owned()),
        (".", "tool/x", "no task".to_owned()),
        (".", "./none.sh", "no task".to_owned()),
        (".", "node_modules/.bin/x", "no task".to_owned()),
        (".", "bash -c ls", "no task".to_owned()),
        (".", "bash", "no task".to_owned()),
        (".", "check.sh", "no task".to_owned()),
        (".", "/bin/x", "no task".to_owned()),
        (
            ".",
            "./big.sh",
            "opaque: `big.sh` was not read: larger than 1MiB".to_owned(),
        ),
        (
            ".",
            "./f.sh x",
            "f.sh:1 f.sh: a() { echo $1; }\na \"$@\"\n".to_owned(),
        ),
    ] {
        assert_eq!(
            run_in(&tree, dir, &words(command)),
            [want],
            "{dir}: {command}"
        );
    }
}

#[test]
fn just_recipes() {
    let text = "\
set shell := ['bash', '-c']
version := `git describe`
packages := './...'
export RUST_LOG := 'warn'
alias t := test

[private]
default:
    @just --list

[group('verify')]
ci: tidy (test '-race' packages) && after
tidy:
    go mod tidy
test flags='' what=packages *more:
    @echo testing
    -go test {{ flags }} {{ what }} {{more}}
after:
    go run . \\
      --version {{ version }}
[confirm]
deploy to:
    kubectl {{ to }}
[no-cd]
here:
    ls
script:
    #!/usr/bin/env bash
    set -e
    cargo test
loop: back
back: loop
    x
[windows]
tidy:
    del x
need: (test version)
";
    let tree = tree(&[("justfile", text), ("sub/x", "")]);
    let e = "RUST_LOG=warn ";
    for (dir, command, want) in [
        (
            "sub",
            "just ci",
            vec![
                format!("justfile:14 tidy: {e}go mod tidy"),
                format!("justfile:16 test: {e}echo testing"),
                format!("justfile:17 test: -{e}go test -race ./... "),
                format!("justfile:19 after: {e}go run . --version ${{{{ just }}}}"),
            ],
        ),
        (
            ".",
            "just packages=./a t -v",
            vec![
                format!("justfile:16 test: {e}echo testing"),
                format!("justfile:17 test: -{e}go test -v ./a "),
            ],
        ),
        (
            ".",
            "just",
            vec![format!("justfile:9 default: {e}just --list")],
        ),
        (
            ".",
            "just deploy x",
            vec!["opaque: the recipe `deploy`: it asks a person".to_owned()],
        ),
        (
            "sub",
            "just here",
            vec![format!("sub justfile:26 here: {e}ls")],
        ),
        (
            ".",
            "just script",
            vec![format!(
                "justfile:28 script: {e}#!/usr/bin/env bash\nset -e\ncargo test"
            )],
        ),
        (".", "just loop", vec![format!("justfile:33 back: {e}x")]),
        (
            ".",
            "just none",
            vec!["opaque: `justfile` has no recipe `none`".to_owned()],
        ),
        (
            ".",
            "just need",
            vec!["opaque: an argument of `test` is not literal".to_owned()],
        ),
        (".", "just --list", vec!["no task".to_owned()]),
    ] {
        assert_eq!(
            run_in(&tree, dir, &words(command)),
            want,
            "{dir}: {command}"
        );
    }
}

#[test]
fn mise_tasks() {
    let tree = tree(&[
        (
            "mise.toml",
            "[tasks.lint]\ndepends = ['lint:*']\n[tasks.'lint:go']\nrun = ['golangci-lint run', 'go vet ./...']\n\
             dir = 'sub'\nenv = { CGO_ENABLED = 0 }\n[tasks]\nshort = 'cargo test'\nloop = { depends = ['loop'] }\n\
             gone = { depends = ['nothing'] }\n",
        ),
        (
            "mise-tasks/lint/shell",
            "#!/bin/sh\n#MISE depends=[\"short\"]\nshellcheck a.sh\n",
        ),
        ("mise-tasks/py", "#!/usr/bin/env python3\n"),
    ]);
    for (command, want) in [
        (
            "mise run lint",
            &[
                "sub mise.toml:4 lint:go: CGO_ENABLED=0 golangci-lint run",
                "sub mise.toml:4 lint:go: CGO_ENABLED=0 go vet ./...",
                "mise.toml:8 short: cargo test",
                "mise-tasks/lint/shell:1 lint:shell: #!/bin/sh\n#MISE depends=[\"short\"]\nshellcheck a.sh\n",
            ][..],
        ),
        (
            "mise r short -- --lib",
            &["mise.toml:8 short: cargo test --lib"],
        ),
        ("mise run loop", &[]),
        (
            "mise run gone",
            &["opaque: mise has no task `nothing` here"],
        ),
        (
            "mise run py",
            &["opaque: the task `py`: `mise-tasks/py` is no shell script"],
        ),
        ("mise install", &["no task"]),
        ("mise", &["no task"]),
    ] {
        assert_eq!(run_in(&tree, ".", &words(command)), want, "{command}");
    }
}

#[test]
fn tasks_of_taskfiles() {
    let text = "\
version: '3'
vars: {PKG: ./...}
tasks:
  default:
    deps: [lint]
    cmds:
      - task: test
  lint: golangci-lint run
  test:
    dir: sub
    env: {CGO_ENABLED: 0}
    vars: {FLAGS: -race}
    cmds:
      - cmd: go test {{.FLAGS}} {{.PKG}} {{.CLI_ARGS}}
        ignore_error: true
      - echo {{now}}
  loop: {deps: [loop]}
";
    let tree = tree(&[("Taskfile.yml", text), ("sub/x", "")]);
    for (command, want) in [
        (
            "task",
            &[
                "Taskfile.yml:8 lint: golangci-lint run",
                "sub Taskfile.yml:14 test: -CGO_ENABLED=0 go test -race ./... ",
                "sub Taskfile.yml:16 test: CGO_ENABLED=0 echo ${{ task }}",
            ][..],
        ),
        ("task loop", &[]),
        ("task none", &["opaque: `Taskfile.yml` has no task `none`"]),
        ("task --list", &["no task"]),
    ] {
        assert_eq!(run_in(&tree, ".", &words(command)), want, "{command}");
    }
}

#[test]
fn environments_of_tox() {
    let ini = "\
[tox]
envlist = py{311,312}-{a,b}, lint
[testenv]
deps = pytest
commands =
    a: pytest {posargs:tests} \\
        --strict
    !a: pytest -k b
    - coverage report
[testenv:lint]
changedir = sub
commands = ruff check --fix {toxinidir} {[base]more}
[base]
more = {envname}
";
    let toml = "env_list = ['lint']\n[env.lint]\ncommands = [['mypy', { replace = 'posargs', default = ['src dir'] }]]\n";
    let tree = tree(&[("tox.ini", ini), ("t/tox.toml", toml), ("sub/x", "")]);
    for (dir, command, want) in [
        (
            ".",
            "tox run -e py312-a",
            &[
                "tox.ini:6 py312-a: pytest tests --strict",
                "tox.ini:9 py312-a: -coverage report",
            ][..],
        ),
        (
            ".",
            "tox -e py312-b -- x",
            &[
                "tox.ini:8 py312-b: pytest -k b",
                "tox.ini:9 py312-b: -coverage report",
            ],
        ),
        (
            ".",
            "tox -elint",
            &["sub tox.ini:12 lint: ruff check --fix . lint"],
        ),
        (
            ".",
            "tox",
            &[
                "tox.ini:6 py311-a: pytest tests --strict",
                "tox.ini:9 py311-a: -coverage report",
                "tox.ini:8 py311-b: pytest -k b",
                "sub tox.ini:12 lint: ruff check --fix . lint",
            ],
        ),
        (
            "t",
            "tox run -e lint",
            &["t t/tox.toml:3 lint: mypy 'src dir'"],
        ),
        (
            "t",
            "tox run -e none",
            &["opaque: `t/tox.toml` has no commands for `none`"],
        ),
        (".", "tox list", &["no task"]),
        ("none", "tox", &["opaque: nothing configures tox in `none`"]),
    ] {
        assert_eq!(
            run_in(&tree, dir, &words(command)),
            want,
            "{dir}: {command}"
        );
    }
    let wide = format!(
        "[tox]\nenvlist = {}\n[testenv]\ncommands = x\n",
        "{a,b,c,d,e,f,g,h}".repeat(30)
    );
    let tree = self::tree(&[("tox.ini", &wide)]);
    assert_eq!(run_in(&tree, ".", &words("tox")).len(), 1);
}

#[test]
fn sessions_of_nox() {
    let text = "\
import nox
nox.options.sessions = ['lint']

@nox.session(python=['3.11', '3.12'])
@nox.parametrize('x', [1])
def tests(session):
    session.install('.[test]')
    session.run('pytest', '--strict', *session.posargs, env={'A': '1'})
    if x:
        session.run(
            'coverage',
            'report',
        )

@nox.session(name='lint')
def check(session: nox.Session) -> None:
    # session.run('wrong')
    session.run('ruff', 'check', '--fix', 'src dir', external=True)
    session.run(TOOL, \"--x\")

def helper(session):
    session.run('wrong')
";
    let tree = tree(&[("noxfile.py", text)]);
    let lint: &[&str] = &[
        "noxfile.py:18 lint: ruff check --fix 'src dir'",
        "noxfile.py:19 lint: ${NOX} --x",
    ];
    for (command, want) in [
        ("nox", lint),
        ("nox -s lint", lint),
        (
            "nox -s tests-3.12 -- -k a",
            &[
                "noxfile.py:8 tests: pytest --strict -k a",
                "noxfile.py:10 tests: coverage report",
            ],
        ),
        (
            "nox --session=helper",
            &["opaque: `noxfile.py` has no session `helper`"],
        ),
        ("nox -l", &["no task"]),
    ] {
        assert_eq!(run_in(&tree, ".", &words(command)), want, "{command}");
    }
}
