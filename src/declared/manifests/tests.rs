//! Tests of the readers of manifests.

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files)
}

/// What is proposed: `DIR: COMMAND`, the root left out; a reason in front of what is not.
fn proposed(tree: &Tree, before: &[(&str, &str, Belief)]) -> (Vec<String>, Declarations) {
    let mut found = Declarations::default();
    for (dir, command, belief) in before {
        let origin = Reader::origin(&path("ci"), 1, "job");
        let words = command.split(' ').map(str::to_owned).collect();
        let one = Candidate::new(origin, *belief, Work::Words(words), path(dir));
        found.candidates.push(one);
    }
    read(tree, &mut found);
    let shown = found.candidates.iter().skip(before.len()).map(|c| {
        let dir = if c.dir.is_root() {
            String::new()
        } else {
            format!("{}: ", c.dir)
        };
        match &c.state {
            State::Out(reason, _) => format!("{} {dir}{}", reason.key(), c.text()),
            _ => format!("{dir}{}", c.text()),
        }
    });
    (shown.collect(), found)
}

#[test]
fn each_manifest_speaks() {
    let member = "[package]\n";
    for (files, want) in [
        (
            &[("Cargo.toml", member)][..],
            &["cargo fmt --all --check", "cargo test --workspace"][..],
        ),
        (
            &[
                ("Cargo.toml", "[workspace]\nexclude = ['fuzz']\n"),
                ("a/Cargo.toml", member),
                ("fuzz/Cargo.toml", member),
            ],
            &[
                "cargo fmt --all --check",
                "cargo test --workspace",
                "fuzz: cargo fmt --all --check",
                "fuzz: cargo test --workspace",
            ],
        ),
        (
            &[("go.mod", ""), ("sub/go.mod", "")],
            &[
                "go vet ./...",
                "go test ./...",
                "sub: go vet ./...",
                "sub: go test ./...",
            ],
        ),
        (
            &[("pom.xml", ""), ("mvnw", ""), ("a/pom.xml", "")],
            &["./mvnw -B verify"],
        ),
        (&[("build.gradle.kts", "")], &["gradle check"]),
        (
            &[("x.sln", ""), ("a/a.csproj", "")],
            &["dotnet build --no-restore", "dotnet test --no-restore"],
        ),
        (
            &[("mix.exs", ""), ("apps/a/mix.exs", "")],
            &["mix format --check-formatted", "mix test"],
        ),
        (
            &[
                ("Rakefile", "task default: %i[spec rubocop]\n"),
                ("Gemfile", ""),
            ],
            &["bundle exec rake"],
        ),
        (&[("Rakefile", "task default: :build\n")], &[]),
        (
            &[(
                "composer.json",
                "{\"scripts\": {\"test\": \"phpunit\", \"post-install-cmd\": \"x\"}}",
            )],
            &["composer validate", "composer run-script test"],
        ),
        (
            &[
                ("CMakeLists.txt", "enable_testing()"),
                ("src/CMakeLists.txt", ""),
            ],
            &[
                "cmake -B build",
                "cmake --build build",
                "ctest --test-dir build",
            ],
        ),
        (
            &[("meson.build", "test('a', b)")],
            &["meson setup build", "meson test -C build"],
        ),
        (
            &[("configure.ac", ""), ("configure", "")],
            &["./configure", "make check"],
        ),
        (&[("configure.ac", "")], &[]),
        (&[("Package.swift", "")], &["swift test"]),
        (
            &[("deno.json", "{}")],
            &["deno fmt --check", "deno lint", "deno test"],
        ),
        (
            &[
                (
                    "pyproject.toml",
                    "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n",
                ),
                ("uv.lock", ""),
            ],
            &["uv run ruff check", "uv run mypy .", "uv run pytest"],
        ),
        (&[("setup.py", "")], &[]),
        (
            &[("Makefile", "test:\n\tpytest\nlint: ; x\ninstall: ; y\n")],
            &["make lint", "make test"],
        ),
        (
            &[("Makefile", "all: a\na:\n\tcc -o a a.c\n")],
            &["make all"],
        ),
        (&[("Makefile", "all: a\na:\n\t./deploy\n")], &[]),
        (
            &[("justfile", "test:\n  x\nlint what:\n  y\ndeploy:\n  z\n")],
            &["just test"],
        ),
        (
            &[("mise.toml", "[tasks]\nlint = 'x'\n")],
            &["mise run lint"],
        ),
        (
            &[("tox.ini", "[tox]\nenvlist = py39,py312,lint,docs\n")],
            &["tox run -e py312", "tox run -e lint"],
        ),
        (
            &[(
                "noxfile.py",
                "@nox.session\ndef tests(session):\n    session.run('pytest')\n",
            )],
            &["nox -s tests"],
        ),
        // A task that maintainers wrote, and no tool's own command beside it.
        (
            &[("Makefile", "test: ; go test\n"), ("go.mod", "")],
            &["make test", "go vet ./..."],
        ),
        (
            &[
                ("tests/a/go.mod", ""),
                ("vendor/b/go.mod", ""),
                (".x/go.mod", ""),
            ],
            &[],
        ),
    ] {
        assert_eq!(proposed(&tree(files), &[]).0, want, "{files:?}");
    }
}

#[test]
fn scripts_of_packages() {
    let scripts = r#"{"scripts": {"lint": "eslint .", "test": "npm run test:unit && npm run test:e2e", "test:unit": "a",
        "test:e2e": "b", "pretest": "c", "build": "vite build", "dev": "vite", "lint:fix": "d", "check-updates": "ncu",
        "format:check": "e", "deploy": "f", "test:watch": "g", "type-check": "tsc", "lint:\n": "h"}}"#;
    let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    let tree = tree(&[
        ("package.json", none),
        ("pnpm-lock.yaml", ""),
        ("a/package.json", scripts),
        ("b/package.json", "{"),
        ("c/d/e/f/g/package.json", scripts),
    ]);
    let (shown, found) = proposed(&tree, &[]);
    assert_eq!(
        shown,
        [
            "a: pnpm run build",
            "a: pnpm run format:check",
            "a: pnpm run lint",
            "a: pnpm run test",
            "a: pnpm run type-check",
        ]
    );
    assert!(
        found
            .candidates
            .iter()
            .all(|c| c.env.get("CI").is_some_and(|v| v == "1"))
    );
    assert_eq!(found.candidates[0].tier, 1);
    assert_eq!(found.candidates[0].produces, ["a/dist/**"]);
    let skipped: Vec<String> = found.skipped.iter().map(|s| s.what.clone()).collect();
    assert_eq!(
        skipped,
        [
            "scripts of `a/package.json` with unusual names: 1",
            "`b/package.json`",
            "manifests deeper than 4 directories: 1"
        ]
    );
    // What the root starts in each package is one check.
    let root = r#"{"scripts": {"test": "turbo run test", "lint": "eslint ."}}"#;
    let tree = self::tree(&[("package.json", root), ("a/package.json", scripts)]);
    let shown = proposed(&tree, &[]).0;
    assert!(
        shown.contains(&"npm run test".to_owned())
            && !shown.contains(&"a: npm run test".to_owned())
    );
    assert!(shown.contains(&"a: npm run lint".to_owned()), "{shown:?}");
}

/// Gaps are filled, folder by folder and kind by kind; what does that already is not doubled.
#[test]
fn only_gaps() {
    let tree = tree(&[
        ("go.mod", ""),
        (
            "web/package.json",
            r#"{"scripts": {"test": "x", "lint": "y"}}"#,
        ),
    ]);
    for (before, want) in [
        (
            &[(".", "go test ./...", Belief::Workflow)][..],
            &[
                "go vet ./...",
                "not_run go test ./...",
                "web: npm run lint",
                "web: npm run test",
            ][..],
        ),
        (
            &[("web", "npx vitest run", Belief::Hook)],
            &[
                "go vet ./...",
                "go test ./...",
                "web: npm run lint",
                "not_run web: npm run test",
            ],
        ),
        (
            &[(".", "pnpm -r test", Belief::Workflow)],
            &[
                "go vet ./...",
                "go test ./...",
                "web: npm run lint",
                "not_run web: npm run test",
            ],
        ),
        (
            &[(".", "make test", Belief::Predecessor)],
            &[
                "go vet ./...",
                "not_run go test ./...",
                "web: npm run lint",
                "not_run web: npm run test",
            ],
        ),
        (
            &[("other", "go test ./...", Belief::Workflow)],
            &[
                "go vet ./...",
                "go test ./...",
                "web: npm run lint",
                "web: npm run test",
            ],
        ),
    ] {
        assert_eq!(proposed(&tree, before).0, want, "{before:?}");
    }
    // What was left out verifies nothing: the manifest speaks.
    let mut found = proposed(&tree, &[(".", "go test ./...", Belief::Workflow)]).1;
    found.candidates.truncate(1);
    found.candidates[0].leave_out(Reason::Secret, "");
    read(&tree, &mut found);
    assert_eq!(found.candidates[2].text(), "go test ./...");
    assert_eq!(found.candidates[2].state, State::Open);
}

#[test]
fn many_packages_are_bounded() {
    let scripts = r#"{"scripts": {"test": "t"}}"#;
    let names: Vec<String> = (0..600)
        .map(|i| format!("packages/p{i:04}/package.json"))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), scripts)).collect();
    let (shown, found) = proposed(&tree(&files), &[]);
    assert_eq!(shown.len(), MAX_PACKAGES);
    assert_eq!(
        found.skipped[0].what,
        "560 more directories with a manifest"
    );
}
