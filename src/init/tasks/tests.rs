//! Tasks of small files.

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn kind(key: &str) -> Kind {
    *KINDS.iter().find(|kind| kind.key == key).unwrap()
}

/// The tasks of a file: name, what it needs, commands.
fn listed(key: &str, file: &str, text: &str) -> Vec<String> {
    let tree = RepositoryTree::from_files(&[(file, text)]);
    let tasks = read(&tree, kind(key), &path(file)).unwrap();
    let one = |task: &Task| {
        let commands: Vec<&str> = task.commands.iter().map(|(_, text)| &**text).collect();
        format!(
            "{} [{}] {}",
            task.name,
            task.needs.join(" "),
            commands.join("; ")
        )
    };
    tasks.all.iter().map(one).collect()
}

#[test]
fn makefiles() {
    let text = "PYTHON ?= python3\nFLAGS = -v\n.PHONY: test\ntest: build | order ## runs\n\t@$(PYTHON) -m pytest \\\n\t  $(FLAGS)\n\t-rm x\nbuild:; cc a.c\nifdef X\nlint:\n\truff check\nendif\n%.o: %.c\n\tcc\ntest:\n\t$(info testing)\n\techo $$HOME\n";
    assert_eq!(
        listed("make", "Makefile", text),
        [
            "test [build] python3 -m pytest  -v; rm x || true; echo $HOME",
            "build [] cc a.c",
            "lint [] ruff check",
        ]
    );
}

#[test]
fn a_rule_may_need_what_a_pattern_renames() {
    let text = "EL = a.el\nall: $(EL:.el=.elc)\n\tmake x\nall: V=1\ntest: all ; A=1 run\n";
    assert_eq!(
        listed("make", "Makefile", text),
        ["all [$(EL:.el=.elc)] make x", "test [all] A=1 run"]
    );
}

#[test]
fn scripts_of_packages_and_their_manager() {
    let text =
        r#"{"scripts": {"test": "jest", "lint": "eslint ."}, "packageManager": "pnpm@9.0.0"}"#;
    assert_eq!(
        listed("package-json", "package.json", text),
        ["test [] jest", "lint [] eslint ."]
    );
    let tree = RepositoryTree::from_files(&[
        ("package.json", text),
        ("web/package.json", "{}"),
        ("api/yarn.lock", ""),
    ]);
    assert_eq!(manager(&tree, &path("web")), "pnpm");
    assert_eq!(manager(&tree, &path("api")), "yarn");
    let words = kind("package-json").words(&tree, &RepoPath::root(), "test");
    assert_eq!(words, ["pnpm", "run", "test"]);
}

#[test]
fn environments_of_tox() {
    let text = "[tox]\nenvlist = py310,lint\n[testenv]\ncommands =\n    pytest {posargs:tests}\n    -coverage xml\n[testenv:lint]\ncommands = ruff check\n  lin: mypy\n";
    assert_eq!(
        listed("tox", "tox.ini", text),
        [
            "lint [] ruff check",
            "py310 [] pytest tests; coverage xml || true",
            " [py310 lint] pytest {posargs:tests}; -coverage xml",
        ]
    );
}

#[test]
fn environments_that_tox_generates() {
    let text = "[tox]\nenv_list = py3{8-9}-{a,b},docs\n[testenv]\nchange_dir = x\ncommands =\n  a,!py39: one {tox_root}\n  b: two\n[testenv:docs]\ncommands = sphinx {envtmpdir}\n";
    assert_eq!(
        listed("tox", "tox.ini", text),
        [
            "docs [] cd x && sphinx {{envtmpdir}}",
            "py38-a [] cd x && one .",
            "py38-b [] cd x && one .; cd x && two",
            "py39-a [] cd x && one .",
            "py39-b [] cd x && two",
            " [py38-a py38-b py39-a py39-b docs] a,!py39: one {tox_root}; b: two",
        ]
    );
    let toml = r#"
env_list = ["lint", "py31-a"]
[env_run_base]
commands = [["pytest", "-k", "not slow", { replace = "posargs", default = ["tests"] }]]
[env.lint]
commands = [["ruff", "check", { replace = "env", name = "X" }]]
"#;
    let base = "pytest -k 'not slow' tests";
    assert_eq!(
        listed("tox-toml", "tox.toml", toml),
        [
            "lint [] ruff check {{computed}}".to_owned(),
            format!("py31-a [] {base}"),
            format!(" [lint py31-a] {base}"),
        ]
    );
    let old = "[tool.tox]\nlegacy_tox_ini = '''\n[testenv:lint]\ncommands = mypy\n'''\n";
    assert_eq!(
        listed("tox-toml", "pyproject.toml", old),
        ["lint [] mypy", " [] "]
    );
}

#[test]
fn sessions_of_nox() {
    let text = "import nox\n\n@nox.session(name=\"unit\")\ndef tests(session):\n    session.install('x')\n    session.run(\n        \"pytest\",\n        \"-k\", \"a b\",\n        *session.posargs,\n    )\n\ndef helper():\n    session.run('no')\n";
    assert_eq!(
        listed("nox", "noxfile.py", text),
        ["unit [] pytest -k 'a b'"]
    );
}

#[test]
fn recipes_of_just() {
    let text = "py := 'python3'\n\n# tests\n@test *args: build\n    {{py}} -m pytest {{args}}\n\nbuild:\n  cargo build\nvet *args=all flags=\"\":\n  go vet\nci: build (test \"-race\" all)\nalias t := test\n";
    assert_eq!(
        listed("just", "justfile", text),
        [
            "test [build] python3 -m pytest {{args}}",
            "build [] cargo build",
            "vet [] go vet",
            "ci [build test] ",
        ]
    );
}

#[test]
fn tasks_of_rakefiles() {
    let text = "require 'rake'\nRSpec::Core::RakeTask.new(:spec)\nRuboCop::RakeTask.new\ntask default: [:spec, :rubocop]\ntask :lint do\n  sh 'haml-lint .'\nend\ntask :all => [:spec]\n";
    let found = listed("rake", "Rakefile", text);
    for want in [
        "spec [] rspec",
        "rubocop [] rubocop",
        "lint [] haml-lint .",
        "all [spec] ",
    ] {
        assert!(found.iter().any(|one| one == want), "{want}: {found:?}");
    }
}

#[test]
fn tasks_that_are_data() {
    for (key, file, text, want) in [
        (
            "mise",
            "mise.toml",
            "[tasks.test]\nrun = [\"a\", \"b\"]\ndepends = [\"c\"]\n",
            "test [c] a; b",
        ),
        (
            "taskfile",
            "Taskfile.yml",
            "tasks:\n  test:\n    deps: [c]\n    cmds:\n      - go test ./...\n",
            "test [c] go test ./...",
        ),
        (
            "poe",
            "pyproject.toml",
            "[tool.poe.tasks]\ntest = \"pytest\"\n",
            "test [] pytest",
        ),
        (
            "hatch",
            "pyproject.toml",
            "[tool.hatch.envs.lint.scripts]\nall = [\"ruff check\", \"mypy\"]\n",
            "lint:all [] ruff check; mypy",
        ),
        (
            "composer",
            "composer.json",
            r#"{"scripts": {"test": ["phpunit"]}}"#,
            "test [] phpunit",
        ),
        (
            "deno",
            "deno.json",
            r#"{"tasks": {"test": "deno test"}}"#,
            "test [] deno test",
        ),
        (
            "cargo",
            ".cargo/config.toml",
            "[alias]\nlint = [\"clippy\", \"--all\"]\n",
            "lint [] cargo clippy --all",
        ),
        (
            "turbo",
            "turbo.json",
            r#"{"tasks": {"build": {}}}"#,
            "build [] ",
        ),
    ] {
        assert_eq!(listed(key, file, text), [want], "{key}");
    }
}

#[test]
fn a_broken_file_is_an_error() {
    let tree = RepositoryTree::from_files(&[("package.json", "{")]);
    assert!(read(&tree, kind("package-json"), &path("package.json")).is_err());
    assert!(of_program(&tree, "npm", &RepoPath::root()).is_none());
}
