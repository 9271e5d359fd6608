//! Tests of the readers of hooks.

use super::*;
use proptest::prelude::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files)
}

/// Candidates as `COMMAND @ CONDITION`, those that are left out as `REASON: COMMAND`.
fn shown(found: &Declarations) -> Vec<String> {
    found
        .candidates
        .iter()
        .map(|one| match &one.state {
            State::Out(reason, _) => format!("{}: {}", reason.key(), one.text()),
            _ => match &one.when {
                When::Unsaid => one.text(),
                When::Changed(globs) => format!("{} @ {}", one.text(), globs.join(" ")),
            },
        })
        .collect()
}

fn pre_commit(hooks: &str) -> Vec<String> {
    let text = format!("exclude: ^vendor/\nrepos:\n{hooks}");
    let files = [
        (".pre-commit-config.yaml", text.as_str()),
        ("scripts/run", "#!/usr/bin/env bash\n"),
        ("src/a.py", ""),
    ];
    let mut found = Declarations::default();
    read(&tree(&files), &mut found);
    assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    shown(&found)
}

#[test]
fn hooks_of_pre_commit() {
    let of = |id: &str| format!("  - repo: https://example.org/x\n    hooks:\n      - id: {id}\n");
    let local = |rest: &str| format!("  - repo: local\n    hooks:\n      - id: own\n{rest}");
    for (hooks, want) in [
        (
            of("ruff\n        args: [--fix, --exit-non-zero-on-fix]"),
            "ruff check --force-exclude --fix {changed} @ **/*.{py,pyi,ipynb} !vendor/**",
        ),
        (
            of("ruff-format"),
            "ruff format --force-exclude {changed} @ **/*.{py,pyi,ipynb} !vendor/**",
        ),
        (
            of("isort"),
            "isort --filter-files {changed} @ **/*.{py,pyi,pyx,pxd,pxi} !vendor/**",
        ),
        (
            of("isort\n        args: []"),
            "isort {changed} @ **/*.{py,pyi,pyx,pxd,pxi} !vendor/**",
        ),
        (
            of("shellcheck"),
            "shellcheck {changed} @ **/*.{sh,bash,bats,zsh,ksh} scripts/run !vendor/**",
        ),
        (
            of("prettier\n        types_or: [yaml, markdown]\n        files: ^(docs|\\.github)/"),
            "prettier --write --ignore-unknown {changed} @ docs/**/*.{yaml,yml,md,markdown} \
             .github/**/*.{yaml,yml,md,markdown} !vendor/**",
        ),
        (
            of("codespell\n        exclude: ^CHANGELOG\\.md$"),
            "codespell {changed} @ ** !vendor/** !CHANGELOG.md",
        ),
        // Types need the whole program.
        (
            of("mypy\n        files: ^src/"),
            "mypy --ignore-missing-imports --scripts-are-modules src",
        ),
        (of("mypy\n        args: []"), "mypy ."),
        (of("pyright"), "pyright"),
        (
            of("uv-lock"),
            "uv lock @ uv.lock pyproject.toml uv.toml !vendor/**",
        ),
        (
            of("actionlint"),
            "actionlint {changed} @ .github/workflows/**/*.{yaml,yml} !vendor/**",
        ),
        // No form that only checks; nothing outside of pre-commit; not known.
        (of("trailing-whitespace"), "writes: trailing-whitespace"),
        (
            of("pyupgrade\n        args: [--py311-plus]"),
            "writes: pyupgrade --py311-plus",
        ),
        (of("check-yaml"), "hook: check-yaml"),
        (of("no-such-hook"), "hook: no-such-hook"),
        // Stages.
        (
            of("commitizen\n        stages: [commit-msg]"),
            "occasion: commitizen",
        ),
        (
            of("black\n        stages: [pre-commit, manual]"),
            "black {changed} @ **/*.{py,pyi} !vendor/**",
        ),
        // Local ones.
        (
            local(
                "        entry: uv run mypy src\n        types: [python]\n        pass_filenames: false\n",
            ),
            "uv run mypy src @ **/*.py !vendor/**",
        ),
        (
            local("        entry: tools/x 'a b'\n        args: [--y]\n        files: \\.py$\n"),
            "tools/x a b --y {changed} @ **/*.py !vendor/**",
        ),
        (
            local(
                "        entry: make check\n        always_run: true\n        pass_filenames: false\n",
            ),
            "make check",
        ),
        (
            local("        entry: x\n        language: docker_image\n"),
            "machine: x",
        ),
        (
            local("        entry: '^x'\n        language: pygrep\n"),
            "hook: ^x",
        ),
        (
            local("        entry: x\n        exclude_types: [markdown]\n"),
            "x {changed} @ ** !**/*.{md,markdown} !vendor/**",
        ),
        // What no list of globs says is no condition.
        (
            local("        entry: x\n        files: ^(?!a)\n        types: [rust]\n"),
            "x {changed} @ **/*.rs !vendor/**",
        ),
    ] {
        assert_eq!(pre_commit(&hooks).join("\n"), want, "{hooks}");
    }
}

#[test]
fn what_cannot_be_said_of_a_hook_is_a_remark() {
    let text = "repos:\n  - repo: local\n    hooks:\n      - id: a\n        entry: x\n        \
                files: ^(?!a)\n        exclude: (?i)b\n        additional_dependencies: [y==1]\n";
    let mut found = Declarations::default();
    read(&tree(&[(".pre-commit-config.yaml", text)]), &mut found);
    let one = &found.candidates[0];
    assert_eq!(one.when, When::Unsaid);
    assert_eq!(
        one.notes,
        [
            "its `files` cannot be said as globs",
            "its `exclude` cannot be said as globs",
            "the hook also installs y==1",
        ]
    );
    assert_eq!((one.origin.line, one.origin.label.as_str()), (4, "a"));
}

#[test]
fn pre_commit_ci_is_ci() {
    let text = "ci:\n  skip: [flake8]\nrepos:\n  - repo: x\n    hooks:\n      - id: black\n      - id: flake8\n";
    let mut found = Declarations::default();
    read(&tree(&[(".pre-commit-config.yaml", text)]), &mut found);
    let beliefs: Vec<Belief> = found.candidates.iter().map(|c| c.belief).collect();
    assert_eq!(beliefs, [Belief::Started, Belief::Hook]);
}

#[test]
fn prek_is_read_as_toml() {
    let text = "[[repos]]\nrepo = \"local\"\nhooks = [\n  { id = \"a\", entry = \"lint\", \
                files = { glob = \"src/*.rs\" }, language = \"system\" },\n]\n";
    let mut found = Declarations::default();
    read(&tree(&[("prek.toml", text)]), &mut found);
    assert_eq!(shown(&found), ["lint {changed} @ src/*.rs"]);
}

#[test]
fn commands_that_run_hooks() {
    let all = |manager| Some(HookRunner::all(manager));
    let one = |manager, hook: &str| {
        Some(HookRunner {
            manager,
            hook: Some(hook.to_owned()),
        })
    };
    for (command, want) in [
        ("pre-commit run --all-files", all(Manager::PreCommit)),
        ("pre-commit run -a --color always", all(Manager::PreCommit)),
        (
            "pre-commit run ruff --all-files",
            one(Manager::PreCommit, "ruff"),
        ),
        (
            "pre-commit run --hook-stage manual mypy",
            one(Manager::PreCommit, "mypy"),
        ),
        ("uvx pre-commit run", all(Manager::PreCommit)),
        (
            "uv run --group dev prek run --all-files",
            all(Manager::PreCommit),
        ),
        ("python -m pre_commit run", all(Manager::PreCommit)),
        ("pre-commit install", None),
        ("pre-commit autoupdate", None),
        (
            "npx lefthook run pre-commit",
            one(Manager::Lefthook, "pre-commit"),
        ),
        ("lefthook install", None),
        ("npx lint-staged --relative", all(Manager::LintStaged)),
        ("pnpm exec lint-staged", all(Manager::LintStaged)),
        ("hk check --all", all(Manager::Hk)),
        ("hk install", None),
        ("echo pre-commit run", None),
        ("ruff check", None),
        ("", None),
    ] {
        assert_eq!(started(&split(command)), want, "{command}");
    }
}

#[test]
fn what_ci_starts_is_believed_more() {
    let files = [(
        ".pre-commit-config.yaml",
        "repos:\n  - repo: x\n    hooks:\n      - id: black\n      - id: flake8\n",
    )];
    let tree = tree(&files);
    let mut found = Declarations::default();
    read(&tree, &mut found);
    let black = HookRunner {
        manager: Manager::PreCommit,
        hook: Some("black".to_owned()),
    };
    start(&tree, &black, Belief::Workflow, &mut found);
    let beliefs = |found: &Declarations| {
        found
            .candidates
            .iter()
            .map(|c| c.belief)
            .collect::<Vec<_>>()
    };
    assert_eq!(beliefs(&found), [Belief::Started, Belief::Hook]);
    start(
        &tree,
        &HookRunner::all(Manager::PreCommit),
        Belief::Workflow,
        &mut found,
    );
    assert_eq!(beliefs(&found), [Belief::Started, Belief::Started]);
    // Not read before: read now.
    let mut found = Declarations::default();
    start(&tree, &black, Belief::Hook, &mut found);
    assert_eq!(beliefs(&found), [Belief::Hook]);
}

#[test]
fn maps_of_lint_staged() {
    let package = r#"{"lint-staged": {
        "*.{ts,tsx}": ["eslint --fix", "prettier --write"],
        "src/**/*.css": ["stylelint --fix", "git add"],
        "*.svg": "svgo --multipass",
        "!(*test).js": "eslint",
        "!*.md": "x",
        "*.rs": ["custom-fixer", "git add"]
    }}"#;
    let files = [
        ("web/package.json", package),
        (".lintstagedrc", "'*.py':\n  - ruff check --fix\n"),
        ("api/lint-staged.config.mjs", ""),
    ];
    let mut found = Declarations::default();
    read(&tree(&files), &mut found);
    assert_eq!(
        shown(&found),
        [
            "ruff check --fix {changed} @ **/*.py",
            "eslint --fix {changed} @ web/**/*.{ts,tsx}",
            "prettier --write {changed} @ web/**/*.{ts,tsx}",
            "stylelint --fix {changed} @ web/src/**/*.css",
            "writes: git add",
            "writes: svgo --multipass {changed}",
            "eslint {changed} @ web/**/*.js",
            "writes: custom-fixer {changed}",
            "writes: git add",
        ]
    );
    let eslint = &found.candidates[1];
    assert_eq!(eslint.dir, path("web"));
    assert_eq!(
        eslint.tool_path,
        ["web/node_modules/.bin", "node_modules/.bin"]
    );
    assert_eq!(eslint.origin.line, 2);
    let skipped: Vec<&str> = found.skipped.iter().map(|s| s.what.as_str()).collect();
    assert_eq!(skipped, ["`!*.md`", "`api/lint-staged.config.mjs`"]);
}

#[test]
fn words_of_commands() {
    for (text, want) in [
        ("a b  c", &["a", "b", "c"][..]),
        ("a 'b c' \"d e\"", &["a", "b c", "d e"]),
        ("a '' x\\ y", &["a", "", "x y"]),
        (r#"bash -c "a \"b\" \n""#, &["bash", "-c", "a \"b\" \\n"]),
        ("", &[]),
        ("a 'b", &["a", "b"]),
        ("a \\", &["a", "\\"]),
    ] {
        assert_eq!(split(text), want, "{text}");
    }
}

#[test]
fn a_shell_inside_a_hook_is_looked_into() {
    let words = |text: &str| split(text);
    assert_eq!(
        of_shell(&words("bash -c 'tsc --noEmit'")),
        Some("tsc --noEmit")
    );
    assert_eq!(of_shell(&words("/bin/sh -ec 'x'")), Some("x"));
    assert_eq!(of_shell(&words("bash script.sh")), None);
    assert_eq!(of_shell(&words("bash --rc x")), None);
    assert_eq!(of_shell(&words("bash -c")), None);
}

#[test]
fn steps_of_hk() {
    let computed =
        "hooks {\n  [\"check\"] {\n    steps {\n      [\"a\"] = Builtins.prettier\n    }\n  }\n}\n";
    let mut found = Declarations::default();
    read(&tree(&[("hk.pkl", computed)]), &mut found);
    assert_eq!(shown(&found), ["hk check --all"]);
}

#[test]
fn jobs_of_lefthook() {
    let text = r#"
pre-commit:
  exclude: ["gen/*"]
  jobs:
    - name: lint
      glob: "*.{js,ts}"
      run: npx eslint --fix {staged_files}
      stage_fixed: true
    - name: sprites
      run: node tools/sprites.mjs && git add sprites.js
    - group:
        jobs:
          - name: web
            root: web/
            glob: "src/*.ts"
            run: npx tsc --noEmit
    - script: check.sh
      runner: bash
pre-push:
  commands:
    test:
      run: go test ./...
    off:
      skip: true
      run: go vet ./...
commit-msg:
  commands:
    message:
      run: npx commitlint --edit {1}
fixes:
  jobs:
    - run: flake8
"#;
    let package = r#"{"devDependencies": {"eslint": "9", "typescript": "5"}}"#;
    let files = [
        ("lefthook.yml", text),
        ("web/src/a.ts", ""),
        ("package.json", package),
        ("web/package.json", package),
    ];
    let mut found = Declarations::default();
    read(&tree(&files), &mut found);
    let shown: Vec<String> = shown(&found)
        .into_iter()
        .filter(|line| !line.contains("git add"))
        .collect();
    assert_eq!(
        shown,
        [
            "npx eslint --fix {changed} @ **/*.{js,ts} !gen/**",
            "writes: node tools/sprites.mjs",
            "npx tsc --noEmit @ web/** !gen/**",
            "bash .lefthook/pre-commit/check.sh @ ** !gen/**",
            "go test ./...",
            "not_run: go vet ./...",
            "occasion: npx commitlint --edit {1}",
            "not_run: flake8",
        ]
    );
    assert_eq!(found.candidates.iter().map(|c| c.tier).max(), Some(1));
}

#[test]
fn scripts_of_husky() {
    let files = [
        (
            ".husky/pre-commit",
            "#!/bin/sh\n. \"$(dirname -- \"$0\")/_/husky.sh\"\n\nnpx lint-staged\nflake8 src\n",
        ),
        (".husky/post-merge", "npm ci\n"),
        (".husky/_/husky.sh", "exit 1\n"),
        (
            "package.json",
            r#"{"simple-git-hooks": {"pre-push": "mypy src"}}"#,
        ),
    ];
    let mut found = Declarations::default();
    read(&tree(&files), &mut found);
    assert_eq!(
        shown(&found),
        [
            "occasion: npm ci",
            "writes: npx lint-staged",
            "flake8 src",
            "mypy src"
        ]
    );
    assert_eq!(found.candidates[2].origin.line, 5);
}

#[test]
fn literal_steps_of_hk() {
    let text = "hooks {\n  [\"check\"] {\n    steps {\n      [\"py\"] {\n        \
                glob = List(\"*.py\", \"x/*.pyi\")\n        check = \"flake8 {{files}}\"\n        \
                fix = \"black {{files}}\"\n      }\n      [\"f\"] { fix = \"isort .\" }\n    }\n  }\n}\n";
    let mut found = Declarations::default();
    read(&tree(&[("hk.pkl", text)]), &mut found);
    assert_eq!(
        shown(&found),
        ["flake8 {changed} @ **/*.py x/*.pyi", "writes: isort ."]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read_without_panic(text in ".{0,300}") {
        for name in [
            ".pre-commit-config.yaml", "prek.toml", "lefthook.yml", "hk.pkl", "package.json",
            ".lintstagedrc", ".husky/pre-commit", "lefthook.toml",
        ] {
            read(&tree(&[(name, &text)]), &mut Declarations::default());
        }
        let _ = pattern::globs(&text);
        let _ = split(&text);
    }

    #[test]
    fn any_hook_is_read_without_panic(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "repos:", "  - repo: local", "    hooks:", "      - id: ruff", "        entry: 'a ' b'",
                "        files: (a|b", "        exclude: ^x/", "        types: [python, 3]",
                "        stages: push", "        args: {a: b}", "        pass_filenames: no",
                "pre-commit:", "  jobs:", "    - run: a {staged_files}", "      glob: '*.{a'",
                "      root: ../x", "      group:", "  commands:", "    x:", "      run: b",
                "      exclude: '['", "ci:", "exclude: |", "  (?x)", "default_stages: [a]",
            ]),
            0..24,
        ),
    ) {
        let text = lines.join("\n");
        for name in [".pre-commit-config.yaml", "lefthook.yml", ".lintstagedrc"] {
            read(&tree(&[(name, &text)]), &mut Declarations::default());
        }
    }
}
