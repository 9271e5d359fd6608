//! Tests of the actions that are known.

use super::*;

#[test]
fn known_actions() {
    for (uses, with, want) in [
        (
            "golangci/golangci-lint-action",
            &[
                ("args", "--fix --timeout=5m --out-format=x"),
                ("working-directory", "a"),
            ][..],
            "golangci-lint run --timeout=5m in a; `--fix`, `--out-format` removed",
        ),
        ("crate-ci/typos", &[], "typos"),
        (
            "crate-ci/typos",
            &[("config", "t.toml"), ("files", "src docs")],
            "typos --config t.toml src docs",
        ),
        (
            "codespell-project/actions-codespell",
            &[
                ("skip", "*.po"),
                ("ignore_words_file", "w"),
                ("path", "src"),
            ],
            "codespell --skip='*.po' --ignore-words=w src",
        ),
        (
            "streetsidesoftware/cspell-action",
            &[("files", "**/*.md")],
            "cspell --no-progress '**/*.md'",
        ),
        ("astral-sh/ruff-action", &[], "ruff check"),
        (
            "astral-sh/ruff-action",
            &[("args", "format --check")],
            "ruff format --check",
        ),
        ("psf/black", &[], "black --check --diff ."),
        (
            "psf/black",
            &[("options", "--check"), ("src", "src")],
            "black --check src",
        ),
        (
            "py-actions/flake8",
            &[("args", "--count")],
            "flake8 --count",
        ),
        ("isort/isort-action", &[], "isort --check-only --diff ."),
        ("pre-commit/action", &[], "pre-commit run --all-files"),
        (
            "pre-commit/action",
            &[("extra_args", "x")],
            "pre-commit run x",
        ),
        ("j178/prek-action", &[], "prek run --all-files"),
        (
            "EmbarkStudios/cargo-deny-action",
            &[],
            "cargo deny check bans licenses sources; advisories need the network",
        ),
        (
            "EmbarkStudios/cargo-deny-action",
            &[("command", "check bans"), ("arguments", "--all-features")],
            "cargo deny --all-features check bans",
        ),
        (
            "EmbarkStudios/cargo-deny-action",
            &[("command", "check advisories")],
            "network",
        ),
        (
            "actions-rs/cargo",
            &[("command", "test"), ("args", "--all")],
            "cargo test --all",
        ),
        (
            "actions-rs/cargo",
            &[("command", "test"), ("use-cross", "true")],
            "machine",
        ),
        ("actions-rust-lang/rustfmt", &[], "cargo fmt --all --check"),
        ("obi1kenobi/cargo-semver-checks-action", &[], "network"),
        ("rustsec/audit-check", &[], "network"),
        (
            "zizmorcore/zizmor-action",
            &[("persona", "auditor"), ("config", "z.yml")],
            "zizmor --offline --persona auditor --config z.yml .github/workflows; `--offline` added",
        ),
        (
            "docker://rhysd/actionlint",
            &[("args", "-color -ignore x")],
            "actionlint -ignore x",
        ),
        ("reviewdog/action-actionlint", &[], "actionlint"),
        (
            "ludeeus/action-shellcheck",
            &[],
            "git ls-files -z '*.sh' | xargs -0 shellcheck",
        ),
        (
            "ludeeus/action-shellcheck",
            &[("scandir", "./scripts"), ("severity", "error")],
            "git ls-files -z 'scripts/*.sh' | xargs -0 shellcheck --severity=error",
        ),
        (
            "hadolint/hadolint-action",
            &[("dockerfile", "a/Dockerfile")],
            "hadolint a/Dockerfile",
        ),
        (
            "ibiqlik/action-yamllint",
            &[("strict", "true")],
            "yamllint -s .",
        ),
        (
            "karancode/yamllint-github-action",
            &[("yamllint_config_filepath", "y")],
            "yamllint -c y .",
        ),
        (
            "DavidAnson/markdownlint-cli2-action",
            &[("globs", "**/*.md\n#node_modules")],
            "markdownlint-cli2 '**/*.md' '#node_modules'",
        ),
        ("super-linter/super-linter", &[], "action"),
        ("bufbuild/buf-lint-action", &[("input", "p")], "buf lint p"),
        ("bufbuild/buf-breaking-action", &[], "network"),
        (
            "bufbuild/buf-action",
            &[],
            "buf lint | buf format -d --exit-code",
        ),
        (
            "bufbuild/buf-setup-action",
            &[("version", "1.2")],
            "tools buf 1.2",
        ),
        ("gradle/actions/wrapper-validation", &[], "network"),
        (
            "goreleaser/goreleaser-action",
            &[("args", "release --clean")],
            "goreleaser check; it only checks the configuration",
        ),
        (
            "goreleaser/goreleaser-action",
            &[("install-only", "true")],
            "tools goreleaser",
        ),
        ("biomejs/setup-biome", &[], "tools biome"),
        (
            "denoland/setup-deno",
            &[("deno-version", "v2.x")],
            "tools deno 2.x",
        ),
        (
            "dtolnay/rust-toolchain",
            &[("toolchain", "1.80")],
            "tools rust 1.80",
        ),
        ("dtolnay/rust-toolchain@stable", &[], "tools rust stable"),
        ("dtolnay/rust-toolchain@master", &[], "tools rust"),
        ("actions-rust-lang/setup-rust-toolchain", &[], "tools rust"),
        (
            "actions/setup-go",
            &[("go-version", "${{ matrix.x }}")],
            "tools go",
        ),
        (
            "actions/setup-node",
            &[("node-version", "22")],
            "tools node 22",
        ),
        ("astral-sh/setup-uv", &[], "tools uv"),
        ("pnpm/action-setup", &[("version", "9")], "tools pnpm 9"),
        ("jdx/mise-action", &[], "tools mise"),
        (
            "erlef/setup-beam",
            &[("elixir-version", "1.18"), ("otp-version", "27")],
            "tools elixir 1.18, erlang 27",
        ),
        ("ruby/setup-ruby", &[], "tools ruby"),
        (
            "shivammathur/setup-php",
            &[("php-version", "8.4"), ("tools", "composer:v2, phpstan")],
            "tools php 8.4, composer, phpstan",
        ),
        (
            "taiki-e/install-action",
            &[("tool", "nextest@0.9,just")],
            "tools nextest 0.9, just",
        ),
        (
            "taiki-e/install-action@cargo-llvm-cov",
            &[],
            "tools cargo-llvm-cov",
        ),
        ("taiki-e/install-action@v2", &[], "tools"),
        ("moonrepo/setup-toolchain", &[], "tools moon"),
        (
            "nick-fields/retry",
            &[("command", "make test")],
            "make test",
        ),
        ("docker/build-push-action", &[], "deploys"),
        ("github/codeql-action/analyze", &[], "network"),
        ("ossf/scorecard-action", &[], "network"),
        ("actions/dependency-review-action", &[], "network"),
        ("codecov/codecov-action", &[], "measures"),
        ("CodSpeedHQ/action", &[], "measures"),
        ("pypa/gh-action-pypi-publish", &[], "publishes"),
        ("softprops/action-gh-release", &[], "publishes"),
        ("actions/deploy-pages", &[], "deploys"),
        ("actions/labeler", &[], "action"),
        ("actions/stale", &[], "action"),
        ("actions/upload-artifact", &[], "nothing"),
        ("actions/checkout", &[], "nothing"),
        ("dorny/paths-filter", &[], "filter"),
        ("re-actors/alls-green", &[], "results"),
        ("some/thing", &[], "unknown"),
        (
            "https://code.forgejo.org/actions/setup-go@v5",
            &[],
            "tools go",
        ),
        ("docker/setup-qemu-action", &[], "machine"),
    ] {
        let (name, version) = steps::parts(uses);
        let with: Vec<(String, String)> = with
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let used = Use {
            name: &name,
            version: &version,
            with: &with,
            has_shell_scripts: true,
        };
        let got = match meaning(&used) {
            Meaning::Runs(runs) => runs
                .into_iter()
                .map(|run| {
                    let dir = run.dir.map(|d| format!(" in {d}")).unwrap_or_default();
                    let note = run.note.map(|n| format!("; {n}")).unwrap_or_default();
                    format!("{}{dir}{note}", run.text)
                })
                .collect::<Vec<_>>()
                .join(" | "),
            Meaning::Tools(tools) => format!("tools {}", tools.join(", ")).trim_end().to_owned(),
            Meaning::Nothing => "nothing".to_owned(),
            Meaning::Filter => "filter".to_owned(),
            Meaning::Results => "results".to_owned(),
            Meaning::Out(reason, _) => reason.key().to_owned(),
            Meaning::Unknown => "unknown".to_owned(),
        };
        assert_eq!(got, want, "{uses}");
    }
}
