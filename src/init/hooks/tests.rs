//! Hooks of small configurations.

use super::*;

/// The commands of a file, with the globs of those that have some, and what is not read.
fn listed(key: &str, file: &str, text: &str) -> Vec<String> {
    let tree = RepositoryTree::from_files(&[(file, text)]);
    let manager = managers().find(|manager| manager.key == key).unwrap();
    let path = RepoPath::parse(file.as_bytes()).unwrap();
    let found = read_file(&tree, manager, &path);
    let one = |one: &SourceCommand| {
        format!("{} {}", one.words.join(" "), one.paths.join(" "))
            .trim()
            .to_owned()
    };
    let not_read = found.not_read.iter();
    let not_read =
        not_read.map(|one| format!("- {}: {}", one.part.clone().unwrap_or_default(), one.why));
    found.found.iter().map(one).chain(not_read).collect()
}

#[test]
fn hooks_of_pre_commit() {
    let hooks = "repos:
- repo: https://example.org/a
  hooks:
  - id: black
  - id: trailing-whitespace
  - id: end-of-file-fixer
  - id: nobody-knows
  - id: flake8
    stages: [commit-msg]
- repo: local
  hooks:
  - {id: own, name: Own, entry: ./check.py, language: system, files: '\\.py$'}
  - {id: whole, name: Whole, entry: ./whole.py, language: system, pass_filenames: false}
  - {id: odd, name: Odd, entry: ./odd.py, language: system, files: 'a+b'}
  - {id: box, name: Box, entry: x, language: docker_image}
";
    assert_eq!(
        listed("pre-commit", ".pre-commit-config.yaml", hooks),
        [
            "black .",
            "./check.py {changed} **/*.py",
            "./whole.py",
            "- nobody-knows: its command is in https://example.org/a",
            "- flake8: only at commit-msg",
            "- odd: a pattern selects its files",
            "- box: it runs in a container",
            "- 2 hooks (end-of-file-fixer, ...): they only rewrite or look at single files",
        ]
    );
}

#[test]
fn jobs_of_lefthook() {
    let text = "pre-commit:
  commands:
    lint: {run: 'eslint {staged_files}', glob: '*.{js,ts}'}
  jobs:
  - {name: types, run: tsc, root: web}
commit-msg:
  commands:
    message: {run: commitlint}
";
    assert_eq!(
        listed("lefthook", "lefthook.yml", text),
        ["eslint {changed} **/*.{js,ts}", "tsc"]
    );
}

#[test]
fn maps_of_lint_staged() {
    let text =
        r#"{"lint-staged": {"*.js": ["eslint --fix", "git add"], "src/**": "prettier --write"}}"#;
    assert_eq!(
        listed("lint-staged", "package.json", text),
        [
            "npx eslint --fix {changed} **/*.js",
            "git add {changed} **/*.js",
            "npx prettier --write {changed} src/**"
        ]
    );
}

#[test]
fn hooks_of_git() {
    let text = "#!/bin/sh\n. \"$(dirname \"$0\")/_/husky.sh\"\nnpm test\n";
    let all = listed("git-hooks", ".husky/pre-commit", text);
    assert_eq!(all.last().map(String::as_str), Some("npm test"));
    let text = r#"{"simple-git-hooks": {"pre-push": "make test", "commit-msg": "x"}}"#;
    assert_eq!(listed("git-hooks", "package.json", text), ["make test"]);
}

#[test]
fn commands_that_start_hooks() {
    let key = |program: &str, rest: &[&str]| {
        let rest = crate::words::words_of(&rest.join(" "));
        started(program, &rest).map(|(m, id)| (m.key, id.map(str::to_owned)))
    };
    assert_eq!(
        key("pre-commit", &["run", "--all-files"]),
        Some(("pre-commit", None))
    );
    assert_eq!(
        key("prek", &["run", "ruff"]),
        Some(("pre-commit", Some("ruff".to_owned())))
    );
    assert_eq!(key("lint-staged", &[]), Some(("lint-staged", None)));
    assert_eq!(key("pre-commit", &["install"]), None);
    assert_eq!(key("ruff", &["run"]), None);
}

#[test]
fn plain_patterns_are_globs() {
    for (pattern, want) in [
        ("\\.py$", Some("**/*.py")),
        ("^src/", Some("src/**")),
        ("\\.(js|ts)$", Some("**/*.{js,ts}")),
        ("^src/.*\\.js$", Some("src/**/*.js")),
        ("^a\\.toml$", Some("a.toml")),
        ("docs/|^ext/.*", Some("**/*docs/** ext/**")),
        ("tests/test_low.py", Some("**/*tests/test_low.py")),
        ("^\\.github", Some(".github* .github*/**")),
        (
            "(?x)^(\n  a/b\\.py |\n  .*_pb2\\.py |\n  c/.*\n)$",
            Some("a/b.py **/*_pb2.py c/**"),
        ),
        ("^$", Some("")),
        ("(?x)a+", None),
        ("[ab]", None),
    ] {
        let globs = plain_patterns(pattern).map(|globs| globs.join(" "));
        assert_eq!(globs.as_deref(), want, "{pattern}");
    }
}

#[test]
fn what_the_configuration_excludes_is_not_looked_at() {
    let hooks = "exclude: ^data/
repos:
- repo: https://example.org/a
  hooks:
  - {id: ruff-format, exclude: tests/low.py}
  - {id: black, exclude: '[ab]'}
  - {id: cargo-check}
- repo: local
  hooks:
  - {id: own, name: Own, entry: ./check.py, language: system, types: [python], exclude: ^a/}
";
    assert_eq!(
        listed("pre-commit", ".pre-commit-config.yaml", hooks),
        [
            "ruff format --force-exclude {changed} !**/*tests/low.py !data/**",
            "cargo check",
            "./check.py {changed} **/*.py **/*.pyi !a/** !data/**",
            "- black: a pattern selects its files",
        ]
    );
}
