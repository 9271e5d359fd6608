//! Each row of the tables of commands, alone and behind whatever may start it.

mod never;

use super::*;

fn words(text: &str) -> Vec<String> {
    crate::declared::shell::read(text)
        .commands
        .last()
        .map(|simple| {
            let set = simple.env.iter();
            let set = set.map(|(name, value)| format!("{name}={}", value.shown()));
            set.chain(simple.shown()).collect()
        })
        .unwrap_or_default()
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files)
}

/// A repository whose manifests name the tools of the tests.
fn known() -> Tree {
    tree(&[
        (
            "package.json",
            r#"{"devDependencies": {"prettier": "3", "eslint": "9", "@biomejs/biome": "2", "typescript": "5", "vitest": "3", "jest": "29", "tool": "1"}}"#,
        ),
        (
            "pyproject.toml",
            "[dependency-groups]\ndev = ['ruff', 'black', 'tool']\n",
        ),
        ("Cargo.lock", ""),
        ("src/a.ts", ""),
    ])
}

fn judged(text: &str) -> Judged {
    command(&known(), &RepoPath::root(), &BTreeMap::new(), &words(text))
}

/// The rows of "what writes, and its checking form".
const TABLE: &[(&str, &str)] = &[
    ("ruff check --fix .", "ruff check --no-fix ."),
    ("ruff format .", "ruff format --check ."),
    ("black src", "black --check src"),
    ("isort .", "isort --check-only ."),
    ("yapf -i -r .", "yapf --diff -r ."),
    ("yapf -ri .", "yapf --diff -r ."),
    ("autopep8 -i a.py", "autopep8 --diff --exit-code a.py"),
    ("autoflake -i -r src", "autoflake --check -r src"),
    ("docformatter -i -r src", "docformatter --check -r src"),
    ("docformatter --in-place src", "docformatter --check src"),
    (
        "pyproject-fmt pyproject.toml",
        "pyproject-fmt --check pyproject.toml",
    ),
    ("mdformat docs", "mdformat --check docs"),
    ("codespell -w src", "codespell src"),
    ("codespell --write-changes src", "codespell src"),
    ("typos -w", "typos"),
    ("prettier --write .", "prettier --check ."),
    ("prettier --write --check .", "prettier --check ."),
    ("prettier -w src", "prettier --check src"),
    (
        "eslint --fix --max-warnings 0 .",
        "eslint --max-warnings 0 .",
    ),
    ("eslint --fix=true .", "eslint ."),
    ("biome check --write src", "biome ci src"),
    ("biome check --apply src", "biome ci src"),
    ("biome format --write src", "biome format src"),
    ("oxfmt", "oxfmt --check"),
    ("oxlint --fix", "oxlint"),
    ("dprint fmt", "dprint check"),
    ("stylelint --fix '**/*.css'", "stylelint **/*.css"),
    ("markdownlint-cli2 --fix '*.md'", "markdownlint-cli2 *.md"),
    ("deno fmt", "deno fmt --check"),
    ("deno lint --fix", "deno lint"),
    ("standard --fix", "standard"),
    ("xo --fix", "xo"),
    ("semistandard --fix", "semistandard"),
    ("sort-package-json", "sort-package-json --check"),
    ("syncpack fix", "syncpack lint"),
    ("syncpack format", "syncpack lint"),
    ("knip --fix", "knip"),
    ("yarn dedupe", "yarn dedupe --check"),
    ("pnpm dedupe", "pnpm dedupe --check"),
    ("ultracite fix", "ultracite check"),
    ("nx format:write", "nx format:check"),
    ("nx sync", "nx sync:check"),
    ("jest -u", "jest --ci"),
    ("vitest run -u", "vitest run"),
    ("pytest --snapshot-update tests", "pytest tests"),
    ("api-extractor run --local", "api-extractor run"),
    ("prisma format", "prisma format --check"),
    ("cargo fmt --all", "cargo fmt --check --all"),
    ("cargo +nightly fmt", "cargo +nightly fmt --check"),
    ("rustfmt a.rs", "rustfmt --check a.rs"),
    ("cargo clippy --fix --allow-dirty", "cargo clippy"),
    ("cargo fix --allow-dirty", "cargo check"),
    ("taplo fmt", "taplo fmt --check"),
    ("cargo sort", "cargo sort --check"),
    ("cargo hakari generate", "cargo hakari generate --diff"),
    (
        "cargo hakari manage-deps",
        "cargo hakari manage-deps --dry-run",
    ),
    ("cargo shear --fix", "cargo shear"),
    ("cargo machete --fix", "cargo machete"),
    ("cargo insta test --accept", "INSTA_UPDATE=no cargo test"),
    (
        "cargo update -p serde",
        "cargo metadata --locked --offline --format-version=1",
    ),
    (
        "cargo generate-lockfile",
        "cargo metadata --locked --offline --format-version=1",
    ),
    ("golangci-lint run --fix ./...", "golangci-lint run ./..."),
    ("golangci-lint fmt", "golangci-lint fmt --diff"),
    ("go mod tidy", "go mod tidy -diff"),
    ("misspell -w .", "misspell -error ."),
    ("buf format -w", "buf format -d --exit-code"),
    ("clang-format -i a.c", "clang-format --dry-run -Werror a.c"),
    ("clang-tidy --fix a.c", "clang-tidy a.c"),
    (
        "cmake-format -i CMakeLists.txt",
        "cmake-format --check CMakeLists.txt",
    ),
    ("gersemi -i .", "gersemi --check ."),
    ("shfmt -w -i 2 .", "shfmt -d -i 2 ."),
    ("meson format -i", "meson format --check-only"),
    ("mix format", "mix format --check-formatted"),
    ("mix deps.unlock --unused", "mix deps.unlock --check-unused"),
    ("rubocop -a", "rubocop"),
    ("rubocop -A lib", "rubocop lib"),
    ("rubocop -aD", "rubocop -D"),
    ("rubocop --autocorrect-all", "rubocop"),
    ("standardrb --fix", "standardrb"),
    ("erb_lint --autocorrect .", "erb_lint ."),
    (
        "php-cs-fixer fix src",
        "php-cs-fixer fix --dry-run --diff src",
    ),
    (
        "vendor/bin/php-cs-fixer fix",
        "vendor/bin/php-cs-fixer fix --dry-run --diff",
    ),
    ("phpcbf src", "phpcs src"),
    ("pint", "pint --test"),
    ("rector process", "rector process --dry-run"),
    ("composer normalize", "composer normalize --dry-run"),
    ("./gradlew spotlessApply", "./gradlew spotlessCheck"),
    (
        "gradle clean :app:spotlessApply",
        "gradle clean :app:spotlessCheck",
    ),
    ("mvn -B spotless:apply", "mvn -B spotless:check"),
    ("ktlint -F", "ktlint"),
    ("./gradlew ktlintFormat", "./gradlew ktlintCheck"),
    (
        "google-java-format -i A.java",
        "google-java-format --dry-run --set-exit-if-changed A.java",
    ),
    ("mvn formatter:format", "mvn formatter:validate"),
    ("sbt scalafmtAll", "sbt scalafmtCheckAll"),
    ("scalafmt", "scalafmt --check"),
    ("scalafix", "scalafix --check"),
    ("dotnet format", "dotnet format --verify-no-changes"),
    ("csharpier format .", "csharpier check ."),
    ("fantomas src", "fantomas --check src"),
    (
        "dart format .",
        "dart format -o none --set-exit-if-changed .",
    ),
    ("swiftformat .", "swiftformat --lint ."),
    ("swiftlint --fix", "swiftlint"),
    ("terraform fmt", "terraform fmt -check -recursive"),
    ("tofu fmt -recursive", "tofu fmt -check -recursive"),
    (
        "terraform-docs markdown .",
        "terraform-docs --output-check markdown .",
    ),
    ("packer fmt .", "packer fmt -check ."),
    ("nixfmt a.nix", "nixfmt --check a.nix"),
    ("alejandra .", "alejandra --check ."),
    ("stylua .", "stylua --check ."),
    ("zig fmt .", "zig fmt --check ."),
    ("ormolu -i A.hs", "ormolu --mode check A.hs"),
    ("fourmolu -i A.hs", "fourmolu --mode check A.hs"),
    ("dune fmt", "dune build @fmt"),
    ("ocamlformat -i a.ml", "dune build @fmt"),
    ("gleam format", "gleam format --check"),
    ("elm-format --yes src", "elm-format --validate src"),
    ("crystal tool format", "crystal tool format --check"),
    ("erlfmt -w src", "erlfmt --check src"),
    ("sqlfluff fix models", "sqlfluff lint models"),
    ("sqlfluff format models", "sqlfluff lint models"),
    ("djlint --reformat .", "djlint --check ."),
    ("yamlfix .", "yamlfix --check ."),
    ("yamlfmt .", "yamlfmt -lint ."),
    (
        "mixed-line-ending --fix=auto a",
        "mixed-line-ending --fix=no a",
    ),
    (
        "pretty-format-json --autofix a.json",
        "pretty-format-json a.json",
    ),
    ("uv lock", "uv lock --check"),
    ("poetry lock", "poetry check --lock"),
    ("pdm lock", "pdm lock --check"),
    ("addlicense .", "addlicense -check ."),
    ("reuse annotate -c x src", "reuse lint"),
    ("nbstripout a.ipynb", "nbstripout --verify a.ipynb"),
    (
        "./manage.py makemigrations",
        "./manage.py makemigrations --check --dry-run",
    ),
    ("just --fmt", "just --fmt --check"),
    ("mise fmt", "mise fmt --check"),
    ("hk fix", "hk check"),
    ("zizmor --fix .", "zizmor ."),
    ("tombi format", "tombi format --check"),
    ("autocorrect --fix .", "autocorrect --lint ."),
];

/// Wrappers of one command.
const WRAPPERS: &[&str] = &[
    "env A=1",
    "time",
    "nice -n 5",
    "timeout 5m",
    "uv run",
    "uv run --group dev",
    "poetry run",
    "bundle exec",
    "pnpm exec",
    "yarn exec",
    "npx --no-install",
    "mise x --",
    "nix develop -c",
    "nix develop .#ci --command",
    "xargs",
    "xargs -0 -n 1",
    "find . -name a -exec",
    "direnv exec .",
    "xvfb-run -a",
    "command",
    "retry -t 3 --",
];

#[test]
fn every_writer_has_its_checking_form() {
    for (writes, checks) in TABLE {
        match judged(writes) {
            Judged::Checking(words, note) => {
                assert_eq!(words.join(" "), *checks, "{writes}");
                assert!(!note.is_empty(), "{writes}");
            }
            other => panic!("{writes}: {other:?}"),
        }
        // The checking form is one.
        let again = judged(&checks.replace("**/*.css", "a.css"));
        assert_eq!(again, Judged::Fine, "{checks}");
        for wrapper in WRAPPERS {
            let text = format!("{wrapper} {writes}");
            match judged(&text) {
                Judged::Checking(words, _) => {
                    let want = format!(
                        "{wrapper} {}",
                        checks.trim_start_matches("INSTA_UPDATE=no ")
                    );
                    assert_eq!(
                        words.join(" ").trim_start_matches("INSTA_UPDATE=no "),
                        want,
                        "{text}"
                    );
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        // A shell's text is not rewritten, and never proposed.
        for shell in [
            "sh -c",
            "bash -euo pipefail -c",
            "nix-shell --run",
            "env bash -lc",
        ] {
            let mut argv = words(shell);
            argv.push((*writes).to_owned());
            let found = command(&known(), &RepoPath::root(), &BTreeMap::new(), &argv);
            assert!(
                matches!(found, Judged::Never(Reason::Writes, _)),
                "{shell} '{writes}': {found:?}"
            );
        }
    }
}

#[test]
fn formatters_of_go() {
    for (writes, checks) in [
        ("gofmt -w -s .", "test -z \"$(gofmt -l -s .)\""),
        ("gofmt -l .", "test -z \"$(gofmt -l .)\""),
        ("gofumpt -w .", "test -z \"$(gofumpt -l .)\""),
        (
            "goimports -w -local a.b .",
            "test -z \"$(goimports -l -local a.b .)\"",
        ),
        ("gci write .", "test -z \"$(gci diff .)\""),
    ] {
        match judged(writes) {
            Judged::CheckingShell(text, _) => assert_eq!(text, checks, "{writes}"),
            other => panic!("{writes}: {other:?}"),
        }
        assert_eq!(
            text(&known(), &RepoPath::root(), &BTreeMap::new(), checks),
            Judged::Fine,
            "{checks}"
        );
    }
}

#[test]
fn what_only_checks_is_fine() {
    for text in [
        "cargo test --workspace",
        "cargo clippy -- -D warnings",
        "cargo fmt --all -- --check",
        "cargo deny check bans licenses sources",
        "cargo doc --no-deps",
        "cargo nextest run",
        "cargo publish --dry-run",
        "cargo test install",
        "cargo run -p xtask -- check",
        "go test ./...",
        "go vet ./...",
        "go build ./...",
        "golangci-lint run",
        "go run golang.org/x/vuln/cmd/x@v1 ./...",
        "ruff check",
        "ruff format --check",
        "ruff format --diff",
        "black --check .",
        "isort --check .",
        "mypy .",
        "pytest -q",
        "uv run --locked pytest",
        "uv run ruff check",
        "uvx ruff check",
        "uv lock --check",
        "npx prettier --check .",
        "npx tsc --noEmit",
        "npx eslint .",
        "npm test",
        "npm run lint",
        "pnpm -r test",
        "yarn jest",
        "yarn workspace a test",
        "bun test",
        "make",
        "make -j4 test",
        "make check",
        "cmake --build build",
        "ctest --test-dir build",
        "meson test -C build",
        "tox -e py",
        "nox -s tests",
        "./gradlew check",
        "mvn -B verify",
        "./mvnw -B clean verify",
        "dotnet test --no-restore",
        "mix test",
        "mix format --check-formatted",
        "bundle exec rspec",
        "composer validate --strict",
        "vendor/bin/phpunit",
        "vendor/bin/phpstan analyse",
        "shellcheck a.sh",
        "actionlint",
        "typos",
        "codespell",
        "git diff --check",
        "terraform validate",
        "terraform fmt -check",
        "helm lint charts/a",
        "goreleaser check",
        "alembic check",
        "vitest run",
        "vitest --run",
        "jest --ci",
        "jest -w 4",
        "playwright test",
        "cypress run",
        "vite build",
        "next build",
        "node --test",
        "node scripts/check.js",
        "python scripts/check.py",
        "./scripts/test.sh",
        "bash scripts/lint.sh",
        "sh -c 'cargo test'",
        "turbo run test",
        "turbo run test --ui=stream",
        "nx run-many -t test",
        "buf lint",
        "deno test",
        "deno lint",
        "rubocop",
        "eslint --fix-dry-run .",
        "eslint --fix=false .",
        "tar xf a.tar",
        "mkdir -p build",
        "cp a build/b",
        "test -f a",
        "npm ls",
        "pip check",
        "tsc -b",
        "tsc -p .",
        "npm run build -w a",
        "go test -run X ./...",
        "bundle check",
        "find . -name '*.sh' -exec shellcheck {} +",
        "xargs shellcheck",
        "command -v make",
        "cat a",
        "grep -q x a",
        "diff -u a b",
        "cargo hack check --feature-powerset",
        "prettier --check . --log-level warn",
        "dart format --set-exit-if-changed .",
        "npm pkg get name",
    ] {
        assert_eq!(judged(text), Judged::Fine, "{text}");
    }
}

#[test]
fn what_configuration_adds() {
    let root = RepoPath::root();
    let env = BTreeMap::new();
    let at = |files: &[(&str, &str)], dir: &str, text: &str| {
        command(
            &tree(files),
            &root.join(dir.as_bytes()).unwrap(),
            &env,
            &words(text),
        )
    };
    for file in [
        ("ruff.toml", "fix = true\n"),
        (".ruff.toml", "fix = true\n"),
        ("pyproject.toml", "[tool.ruff]\nfix = true\n"),
    ] {
        let Judged::Checking(got, _) = at(&[file], "a/b", "ruff check .") else {
            panic!("{file:?}");
        };
        assert_eq!(got.join(" "), "ruff check --no-fix .");
        assert_eq!(at(&[file], ".", "ruff check --no-fix ."), Judged::Fine);
    }
    assert_eq!(
        at(&[("ruff.toml", "fix = false\n")], ".", "ruff check"),
        Judged::Fine
    );
    let Judged::Checking(got, _) = at(
        &[(".golangci.yml", "issues:\n  fix: true\n")],
        ".",
        "golangci-lint run ./...",
    ) else {
        panic!()
    };
    assert_eq!(got.join(" "), "golangci-lint run --fix=false ./...");
    for (file, text) in [
        (
            ("pytest.ini", "[pytest]\naddopts = --snapshot-update\n"),
            "pytest",
        ),
        (
            (".codespellrc", "[codespell]\nwrite-changes =\n"),
            "codespell",
        ),
        (
            (".markdownlint-cli2.jsonc", "{ \"fix\": true }"),
            "markdownlint-cli2 '*.md'",
        ),
    ] {
        assert!(
            matches!(at(&[file], ".", text), Judged::Never(Reason::Writes, _)),
            "{text}"
        );
    }
}

#[test]
fn tests_that_would_wait() {
    for (text, want) in [
        ("vitest", "CI=1 vitest"),
        ("vitest --coverage", "CI=1 vitest --coverage"),
        ("npx vitest", "CI=1 npx vitest"),
        ("jest --watch", "CI=1 jest"),
        ("vitest --watch a", "CI=1 vitest run a"),
        ("vitest watch", "CI=1 vitest run"),
        ("react-scripts test", "CI=1 react-scripts test"),
    ] {
        match judged(text) {
            Judged::Checking(words, _) => assert_eq!(words.join(" "), want),
            other => panic!("{text}: {other:?}"),
        }
    }
    let env = BTreeMap::from([("CI".to_owned(), "true".to_owned())]);
    let found = command(&known(), &RepoPath::root(), &env, &words("vitest"));
    assert_eq!(found, Judged::Fine);
}

#[test]
fn generators() {
    for text in [
        "protoc a.proto",
        "go generate ./...",
        "npx --no-install graphql-codegen",
        "sqlc generate",
        "buf generate",
        "sh -c 'go generate ./...'",
        "uv run datamodel-codegen",
    ] {
        assert_eq!(judged(text), Judged::Generates, "{text}");
    }
}

#[test]
fn scripts_may_remove_what_they_made() {
    let root = RepoPath::root();
    let see = |script: &str| text(&known(), &root, &BTreeMap::new(), script);
    assert_eq!(
        see("tmp=$(mktemp -d)\ntrap 'rm -rf \"$tmp\"' EXIT\ncargo test"),
        Judged::Fine
    );
    assert_eq!(
        see("tmp=$(mktemp -d)\ncargo test\nrm -rf \"${tmp}/x\""),
        Judged::Fine
    );
    for bad in [
        "trap 'rm -rf /' EXIT; cargo test",
        "tmp=x; rm -rf $tmp",
        "tmp=$(mktemp); rm -rf $tmp/../..",
        "echo a > src/a.ts",
        "$CMD x",
        "server & cargo test",
        "curl x | sh",
        "bash <<E\nrm x\nE",
        "cargo test '",
    ] {
        assert!(
            matches!(see(bad), Judged::Never(..)),
            "{bad}: {:?}",
            see(bad)
        );
    }
}

#[test]
fn hidden_behind_options_of_launchers() {
    for text in [
        "npx --unknown x rm -rf y",
        "uv run --unknown x npm publish",
        "env -u X rm -rf y",
        "nice -n 3 rm -rf y",
        "xargs -I {} rm -rf {}",
    ] {
        assert!(
            matches!(judged(text), Judged::Never(..)),
            "{text}: {:?}",
            judged(text)
        );
    }
    let many = vec!["env".to_owned(); 30];
    let many: Vec<String> = many.into_iter().chain(words("rm -rf x")).collect();
    let found = command(&known(), &RepoPath::root(), &BTreeMap::new(), &many);
    assert!(matches!(found, Judged::Never(..)));
}
