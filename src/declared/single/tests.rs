//! Tests of reading one file.

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn tree(name: &str, text: &str) -> Tree {
    let mut tree = Tree::default();
    tree.files.insert(path(name));
    tree.texts.insert(path(name), text.to_owned());
    tree
}

#[test]
fn kinds_of_files() {
    for (name, text, want) in [
        (".github/workflows/a.yml", "", Some(Kind::GithubWorkflow)),
        (
            "x/.forgejo/workflows/a.yaml",
            "",
            Some(Kind::GithubWorkflow),
        ),
        (".gitlab-ci.yml", "", Some(Kind::GitlabCi)),
        ("ci/part.gitlab-ci.yml", "", Some(Kind::GitlabCi)),
        (".lefthook.yml", "", Some(Kind::Lefthook)),
        ("prek.toml", "", Some(Kind::PreCommit)),
        ("a/.moon/tasks.yml", "", Some(Kind::Moon)),
        ("web/package.json", "", Some(Kind::PackageJson)),
        (
            "a.yml",
            "name: x\non: push\njobs:\n  a:\n",
            Some(Kind::GithubWorkflow),
        ),
        (
            "a.yml",
            "repos:\n  - repo: x\n    hooks: []\n",
            Some(Kind::PreCommit),
        ),
        (
            "a.yml",
            "pre-commit:\n  jobs:\n    - run: x\n",
            Some(Kind::Lefthook),
        ),
        (
            "a.yml",
            "stages: [a]\nx:\n  script: y\n",
            Some(Kind::GitlabCi),
        ),
        ("-", "x:\n  stage: a\n  script: y\n", Some(Kind::GitlabCi)),
        ("a.yml", "a: b\n", None),
        ("a.json", "{\"jobs\": 1}", None),
        ("notes.md", "jobs:\non:\n", None),
    ] {
        assert_eq!(recognize(name, text), want, "{name}: {text}");
    }
    for kind in Kind::ALL {
        // A package.json may have both; its name says which is meant.
        let own = recognize(kind.home(), "");
        assert_eq!(own, Some(kind), "{}", kind.name());
    }
}

/// The commands of a file, with what is in the way.
fn listed(name: &str, kind: Kind, text: &str) -> Vec<String> {
    let mut found = Declarations::default();
    read(&tree(name, text), &path(name), kind, &mut found);
    assert!(found.skipped.is_empty(), "{:?}", found.skipped);
    found
        .candidates
        .iter()
        .map(|one| match &one.state {
            State::Out(reason, _) => format!("{}: {}", reason.key(), one.text()),
            _ => format!("{} @{}", one.text(), one.origin.line),
        })
        .collect()
}

#[test]
fn tasks_of_files() {
    for (name, kind, text, want) in [
        (
            "package.json",
            Kind::PackageJson,
            "{\"scripts\": {\n\"lint\": \"x\",\n\"prelint\": \"y\",\n\"prepare\": \"z\"}}",
            &[
                "npm run lint @2",
                "nothing: npm run prelint",
                "nothing: npm run prepare",
            ][..],
        ),
        (
            "Makefile",
            Kind::Make,
            "A := b\nall: x y\n\n.PHONY: all\nx y:\n\tdo: it\n%.o: %.c\nB ?= c:d\n",
            &["make all @2", "make x @5", "make y @5"],
        ),
        (
            "build/rules.mk",
            Kind::Make,
            "t:\n",
            &["make -f rules.mk t @1"],
        ),
        (
            "justfile",
            Kind::Just,
            "set shell := ['sh']\nv := '1'\n@lint:\n  x\n_own:\nrun arg:\nopt arg='1': lint\n[private]\np:\n",
            &[
                "just lint @3",
                "not_run: just _own",
                "unknown: just run",
                "just opt @7",
                "not_run: just p",
            ],
        ),
        (
            "mise.toml",
            Kind::Mise,
            "[tools]\ngo = '1'\n[tasks.lint]\nrun = 'x'\n[tasks.own]\nhide = true\nrun = 'y'\n",
            &["mise run lint @3", "not_run: mise run own"],
        ),
        (
            "tox.ini",
            Kind::Tox,
            "[tox]\nenvlist =\n    py{311,312}-x\n    lint\n[testenv:docs]\n[testenv:lint]\n",
            &[
                "tox run -e py311-x @3",
                "tox run -e py312-x @3",
                "tox run -e lint @4",
                "tox run -e docs @5",
            ],
        ),
        (
            "tox.toml",
            Kind::Tox,
            "env_list = ['a']\n[env.b]\n",
            &["tox run -e a @1", "tox run -e b @2"],
        ),
        (
            "noxfile.py",
            Kind::Nox,
            "import nox\n\n@nox.session(python=['3.12'])\ndef tests(session):\n    pass\n\n\
             @nox.session(name=\"type-check\")\ndef types(session):\n    pass\n\ndef helper():\n    pass\n",
            &["nox -s tests @4", "nox -s type-check @8"],
        ),
        (
            "turbo.json",
            Kind::Turbo,
            "{\"tasks\": {\n\"build\": {},\n\"dev\": {\"persistent\": true},\n\"web#e2e\": {} // x\n}}",
            &[
                "npx turbo run build @2",
                "never_ends: npx turbo run dev",
                "npx turbo run e2e --filter=web @4",
            ],
        ),
        (
            "nx.json",
            Kind::Nx,
            "{\"targetDefaults\": {\n\"test\": {},\n\"@nx/js:tsc\": {}}}",
            &["npx nx run-many -t test @2"],
        ),
        (
            "libs/a/project.json",
            Kind::Nx,
            "{\"targets\": {\n\"lint\": {}, \"serve\": {\"continuous\": true}}}",
            &["npx nx run a:lint @2", "never_ends: npx nx run a:serve"],
        ),
        (
            ".moon/tasks.yml",
            Kind::Moon,
            "tasks:\n  lint:\n    command: x\n  dev:\n    preset: server\n  own:\n    local: true\n",
            &[
                "moon run :lint @2",
                "never_ends: moon run :dev",
                "never_ends: moon run :own",
            ],
        ),
        (
            "apps/web/moon.yml",
            Kind::Moon,
            "tasks:\n  test:\n    command: x\n",
            &["moon run web:test @2"],
        ),
    ] {
        assert_eq!(listed(name, kind, text), want, "{name}");
    }
}

#[test]
fn nothing_is_lost_in_silence() {
    let name = ".pre-commit-config.yaml";
    let text = "repos:\n  - repo: x\n    hooks:\n      - id: flake8\n      - id: check-yaml\n      \
                - id: trailing-whitespace\n";
    let translation = translate(&tree(name, text), &path(name), Kind::PreCommit, name);
    let lost: Vec<String> = translation
        .account
        .iter()
        .map(|e| format!("{} {}:{} {}", e.weight.name(), e.file, e.line, e.what))
        .collect();
    assert_eq!(
        lost,
        [
            "lost .pre-commit-config.yaml:5 check-yaml",
            "lost .pre-commit-config.yaml:6 trailing-whitespace",
        ]
    );
    assert_eq!(translation.checks.len(), 1);
    assert!(
        translation.text.contains("flake8 {changed}"),
        "{}",
        translation.text
    );
    assert!(
        translation.text.contains("Converted from"),
        "{}",
        translation.text
    );
    // A file that is none.
    let translation = translate(&tree(name, "a: ["), &path(name), Kind::PreCommit, name);
    assert_eq!(translation.checks.len(), 0);
    assert_eq!(translation.account.len(), 1);
}
