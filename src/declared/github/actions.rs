//! Known actions: the commands that they run, the tools that they set up, and those that verify
//! nothing.

use crate::declared::candidate::Reason;

/// A step that uses an action.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    /// `OWNER/NAME`, perhaps with a folder, without the version; `docker://IMAGE` without the tag.
    pub(super) name: &'a str,
    /// The version behind the `@`, or the tag.
    pub(super) version: &'a str,
    /// Its inputs, expressions filled in.
    pub(super) with: &'a [(String, String)],
    /// The names of tracked shell scripts, for those that look for them.
    pub(super) has_shell_scripts: bool,
}

/// The meaning of an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// It runs these.
    Runs(Vec<Run>),
    /// It sets up these tools: name and version, where that is said.
    Tools(Vec<String>),
    /// It prepares, and verifies nothing.
    Nothing,
    /// It filters paths; its outputs are conditions.
    Filter,
    /// It looks at the results of other jobs.
    Results,
    /// It is left out.
    Out(Reason, &'static str),
    /// It is not known.
    Unknown,
}

/// A command that an action runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// Shell text: arguments stay as they were written.
    pub(super) text: String,
    /// The directory that it sets, relative to the root.
    pub(super) dir: Option<String>,
    /// A remark: what was changed.
    pub(super) note: Option<String>,
}

fn run(text: impl Into<String>) -> Run {
    Run {
        text: text.into(),
        dir: None,
        note: None,
    }
}

fn noted(text: impl Into<String>, note: &str) -> Run {
    Run {
        note: Some(note.to_owned()),
        ..run(text)
    }
}

impl Use<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let found = self.with.iter().find(|(k, _)| k.eq_ignore_ascii_case(key));
        found
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    fn is(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    /// The program with the text of an input behind it.
    fn with_args(&self, program: &str, keys: &[&str]) -> String {
        let args = keys
            .iter()
            .find_map(|key| self.get(key))
            .unwrap_or_default();
        joined(&[program, args])
    }
}

/// Joins what is not empty; the lines of an input become one.
fn joined(parts: &[&str]) -> String {
    let words = parts.iter().flat_map(|part| part.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Quotes an input for a shell, unless it is a plain word.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Removes flags with their values from the text of an input. The second text says which.
fn without(args: &str, flags: &[&str]) -> (String, Vec<String>) {
    let mut kept = Vec::new();
    let mut removed = Vec::new();
    let mut words = args.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        if !flags.contains(&name) {
            kept.push(word);
            continue;
        }
        removed.push(format!("`{name}`"));
        let takes = !word.contains('=') && name != "--fix";
        if takes && words.peek().is_some_and(|next| !next.starts_with('-')) {
            words.next();
        }
    }
    (kept.join(" "), removed)
}

fn tool(name: &str, version: Option<&str>) -> String {
    let version = version
        .map(|v| v.trim().trim_start_matches(['v', '^', '~']))
        .filter(|v| {
            !v.is_empty() && v.len() < 24 && !v.contains("${{") && !v.contains(char::is_whitespace)
        });
    match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// Says what an action does.
#[allow(clippy::too_many_lines)]
pub(super) fn meaning(used: &Use<'_>) -> Meaning {
    let lower = used.name.to_ascii_lowercase();
    let tools = |name: &str, keys: &[&str]| {
        let version = keys.iter().find_map(|key| used.get(key));
        Meaning::Tools(vec![tool(name, version)])
    };
    let runs = |text: String| Meaning::Runs(vec![run(text)]);
    match &*lower {
        "golangci/golangci-lint-action" => golangci(used),
        "crate-ci/typos" | "typos-action/typos" => {
            let config = used
                .get("config")
                .map(|c| format!("--config {}", quoted(c)));
            let files = used.get("files").unwrap_or_default();
            runs(joined(&["typos", &config.unwrap_or_default(), files]))
        }
        "codespell-project/actions-codespell" => {
            let mut text = "codespell".to_owned();
            for (key, flag) in [
                ("skip", "--skip"),
                ("ignore_words_list", "--ignore-words-list"),
                ("ignore_words_file", "--ignore-words"),
                ("exclude_file", "--exclude-file"),
                ("builtin", "--builtin"),
            ] {
                if let Some(value) = used.get(key) {
                    text.push_str(&format!(" {flag}={}", quoted(value)));
                }
            }
            if used.is("check_filenames") {
                text.push_str(" --check-filenames");
            }
            if used.is("check_hidden") {
                text.push_str(" --check-hidden");
            }
            runs(joined(&[&text, used.get("path").unwrap_or_default()]))
        }
        "streetsidesoftware/cspell-action" => {
            let config = used
                .get("config")
                .map(|c| format!("--config {}", quoted(c)));
            let globs = used.get("files").unwrap_or("**");
            let globs: Vec<String> = globs.split_whitespace().map(quoted).collect();
            let text = [
                "cspell --no-progress",
                &config.unwrap_or_default(),
                &globs.join(" "),
            ];
            runs(joined(&text))
        }
        "astral-sh/ruff-action" | "chartboost/ruff-action" => {
            let args = used.get("args").unwrap_or("check");
            runs(joined(&["ruff", args, used.get("src").unwrap_or_default()]))
        }
        "psf/black" => {
            let options = used.get("options").unwrap_or("--check --diff");
            runs(joined(&["black", options, used.get("src").unwrap_or(".")]))
        }
        "py-actions/flake8" => {
            let mut text = "flake8".to_owned();
            for (key, flag) in [
                ("ignore", "--ignore"),
                ("max-line-length", "--max-line-length"),
                ("exclude", "--exclude"),
            ] {
                if let Some(value) = used.get(key) {
                    text.push_str(&format!(" {flag}={}", quoted(value)));
                }
            }
            runs(joined(&[
                &text,
                used.get("args").unwrap_or_default(),
                used.get("path").unwrap_or_default(),
            ]))
        }
        "isort/isort-action" => runs(joined(&[
            "isort",
            used.get("configuration").unwrap_or("--check-only --diff"),
            used.get("sort-paths")
                .or_else(|| used.get("sortpaths"))
                .unwrap_or("."),
        ])),
        "jakebailey/pyright-action" => runs(used.with_args("pyright", &["extra-args"])),
        "pre-commit/action" => {
            let args = used.get("extra_args").unwrap_or("--all-files");
            runs(joined(&["pre-commit run", args]))
        }
        "j178/prek-action" => {
            let args = used.get("extra-args").unwrap_or("--all-files");
            runs(joined(&["prek run", args]))
        }
        "terraform-linters/setup-tflint" => tools("tflint", &["tflint_version"]),
        "embarkstudios/cargo-deny-action" => deny(used),
        "actions-rs/cargo" => {
            let command = used.get("command").unwrap_or_default();
            if command.is_empty() || used.is("use-cross") {
                Meaning::Out(Reason::Machine, "it compiles for another machine")
            } else {
                let toolchain = used.get("toolchain").map(|t| format!("+{t}"));
                let args = used.get("args").unwrap_or_default();
                runs(joined(&[
                    "cargo",
                    &toolchain.unwrap_or_default(),
                    command,
                    args,
                ]))
            }
        }
        "actions-rust-lang/rustfmt" => Meaning::Runs(vec![Run {
            dir: used
                .get("manifest-path")
                .and_then(|path| path.rsplit_once('/'))
                .map(|(dir, _)| dir.to_owned()),
            ..run("cargo fmt --all --check")
        }]),
        "giraffate/clippy-action" | "actions-rs/clippy-check" | "clechasseur/rs-clippy-check" => {
            let args = ["args", "clippy_flags"]
                .iter()
                .find_map(|key| used.get(key));
            runs(joined(&["cargo clippy", args.unwrap_or_default()]))
        }
        "obi1kenobi/cargo-semver-checks-action" => {
            Meaning::Out(Reason::Network, "it compares with what is published")
        }
        "rustsec/audit-check" | "actions-rs/audit-check" | "rustsec/rustsec-audit" => {
            Meaning::Out(Reason::Network, "it asks a list of advisories")
        }
        "bnjbvr/cargo-machete" => runs("cargo machete".to_owned()),
        "zizmorcore/zizmor-action" | "woodruffw/zizmor-action" => {
            let persona = used
                .get("persona")
                .filter(|p| *p != "regular")
                .map(|p| format!("--persona {}", quoted(p)));
            let config = used
                .get("config")
                .map(|c| format!("--config {}", quoted(c)));
            let level = used
                .get("min-severity")
                .map(|s| format!("--min-severity {}", quoted(s)));
            let inputs = used.get("inputs").filter(|i| *i != ".");
            let text = joined(&[
                "zizmor --offline",
                &persona.unwrap_or_default(),
                &config.unwrap_or_default(),
                &level.unwrap_or_default(),
                inputs.unwrap_or(".github/workflows"),
            ]);
            Meaning::Runs(vec![noted(text, "`--offline` added")])
        }
        "docker://rhysd/actionlint" => {
            runs(without(&used.with_args("actionlint", &["args"]), &["-color"]).0)
        }
        "reviewdog/action-actionlint" => runs(used.with_args("actionlint", &["actionlint_flags"])),
        "raven-actions/actionlint" | "rhysd/actionlint" | "devops-actions/actionlint" => {
            runs(used.with_args("actionlint", &["flags"]))
        }
        "ludeeus/action-shellcheck" => {
            if !used.has_shell_scripts {
                return Meaning::Out(Reason::Nothing, "no shell script is tracked");
            }
            let severity = used
                .get("severity")
                .map(|s| format!(" --severity={}", quoted(s)));
            let under = used.get("scandir").unwrap_or(".").trim_start_matches("./");
            let glob = if under.is_empty() || under == "." {
                "'*.sh'".to_owned()
            } else {
                quoted(&format!("{}/*.sh", under.trim_end_matches('/')))
            };
            runs(format!(
                "git ls-files -z {glob} | xargs -0 shellcheck{}",
                severity.unwrap_or_default()
            ))
        }
        "azohra/shell-linter"
        | "reviewdog/action-shellcheck"
        | "redhat-plumbers-in-action/differential-shellcheck" => {
            if used.has_shell_scripts {
                runs("git ls-files -z '*.sh' | xargs -0 shellcheck".to_owned())
            } else {
                Meaning::Out(Reason::Nothing, "no shell script is tracked")
            }
        }
        "hadolint/hadolint-action" => {
            let config = used
                .get("config")
                .map(|c| format!("--config {}", quoted(c)));
            let level = used
                .get("failure-threshold")
                .map(|t| format!("--failure-threshold {}", quoted(t)));
            let file = used.get("dockerfile").unwrap_or("Dockerfile");
            if used.is("recursive") {
                return runs(joined(&[
                    "git ls-files -z '*Dockerfile*' | xargs -0 hadolint",
                    &config.unwrap_or_default(),
                    &level.unwrap_or_default(),
                ]));
            }
            runs(joined(&[
                "hadolint",
                &config.unwrap_or_default(),
                &level.unwrap_or_default(),
                &quoted(file),
            ]))
        }
        "ibiqlik/action-yamllint"
        | "karancode/yamllint-github-action"
        | "reviewdog/action-yamllint" => {
            let strict = used.is("strict") || used.is("yamllint_strict");
            let config = ["config_file", "yamllint_config_filepath"]
                .iter()
                .find_map(|k| used.get(k));
            let config = config.map(|c| format!("-c {}", quoted(c)));
            let files = ["file_or_dir", "yamllint_file_or_dir"]
                .iter()
                .find_map(|k| used.get(k));
            let strict = if strict { "-s" } else { "" };
            runs(joined(&[
                "yamllint",
                strict,
                &config.unwrap_or_default(),
                files.unwrap_or("."),
            ]))
        }
        "davidanson/markdownlint-cli2-action" | "nosborn/github-action-markdown-cli" => {
            let config = used
                .get("config")
                .map(|c| format!("--config {}", quoted(c)));
            let separator = used.get("separator").unwrap_or("\n");
            let globs = used.get("globs").unwrap_or("*.{md,markdown}");
            let globs: Vec<String> = globs
                .split([separator.chars().next().unwrap_or('\n'), '\n'])
                .map(str::trim)
                .filter(|glob| !glob.is_empty())
                .map(quoted)
                .collect();
            let text = [
                "markdownlint-cli2",
                &config.unwrap_or_default(),
                &globs.join(" "),
            ];
            Meaning::Runs(vec![run(text
                .iter()
                .filter(|t| !t.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(" "))])
        }
        "super-linter/super-linter"
        | "github/super-linter"
        | "super-linter/super-linter/slim"
        | "oxsecurity/megalinter" => Meaning::Out(
            Reason::Action,
            "it runs many tools; name those that you want",
        ),
        "bufbuild/buf-lint-action" => runs(used.with_args("buf lint", &["input"])),
        "bufbuild/buf-breaking-action" => {
            Meaning::Out(Reason::Network, "it compares with another revision")
        }
        "bufbuild/buf-action" => buf(used),
        "bufbuild/buf-setup-action" => tools("buf", &["version"]),
        "gradle/actions/wrapper-validation" | "gradle/wrapper-validation-action" => {
            Meaning::Out(Reason::Network, "it asks a list of checksums")
        }
        "goreleaser/goreleaser-action" => {
            if used.is("install-only") {
                tools("goreleaser", &[])
            } else {
                let note = used
                    .get("args")
                    .filter(|a| !a.starts_with("check"))
                    .map(|_| "it only checks the configuration");
                Meaning::Runs(vec![Run {
                    note: note.map(str::to_owned),
                    ..run("goreleaser check")
                }])
            }
        }
        "denoland/setup-deno" => tools("deno", &["deno-version"]),
        "dtolnay/rust-toolchain" | "actions-rs/toolchain" | "moonrepo/setup-rust" => {
            let version = used.get("toolchain").or(used.get("channel"));
            let branch =
                Some(used.version).filter(|v| *v != "master" && *v != "v1" && v.len() < 20);
            Meaning::Tools(vec![tool(
                "rust",
                version.or(branch.filter(|_| lower.starts_with("dtolnay"))),
            )])
        }
        "actions-rust-lang/setup-rust-toolchain" => tools("rust", &["toolchain"]),
        "actions/setup-node" => tools("node", &["node-version"]),
        "actions/setup-python" => tools("python", &["python-version"]),
        "actions/setup-go" => tools("go", &["go-version"]),
        "actions/setup-java" => tools("java", &["java-version"]),
        "actions/setup-dotnet" => tools("dotnet", &["dotnet-version"]),
        "astral-sh/setup-uv" => tools("uv", &["version"]),
        "pnpm/action-setup" => tools("pnpm", &["version"]),
        "oven-sh/setup-bun" => tools("bun", &["bun-version"]),
        "biomejs/setup-biome" => tools("biome", &["version"]),
        "jdx/mise-action" => tools("mise", &["version"]),
        "erlef/setup-beam" | "erlef/setup-elixir" => {
            let mut all = Vec::new();
            for (name, key) in [
                ("elixir", "elixir-version"),
                ("erlang", "otp-version"),
                ("gleam", "gleam-version"),
            ] {
                all.extend(used.get(key).map(|v| tool(name, Some(v))));
            }
            Meaning::Tools(all)
        }
        "ruby/setup-ruby" => tools("ruby", &["ruby-version"]),
        "shivammathur/setup-php" => {
            let mut all = vec![tool("php", used.get("php-version"))];
            let more = used.get("tools").unwrap_or_default().split(',');
            let more = more.map(|t| t.split(':').next().unwrap_or_default().trim());
            all.extend(
                more.filter(|t| !t.is_empty() && *t != "none")
                    .map(str::to_owned),
            );
            Meaning::Tools(all)
        }
        "taiki-e/install-action"
        | "taiki-e/cache-cargo-install-action"
        | "baptiste0928/cargo-install" => {
            let named = used.get("tool").or(used.get("crate")).unwrap_or_default();
            let mut all: Vec<String> = named
                .split([',', '\n', ' '])
                .map(str::trim)
                .filter(|t| !t.is_empty())
                .map(|t| {
                    t.split_once('@')
                        .map_or_else(|| t.to_owned(), |(n, v)| tool(n, Some(v)))
                })
                .collect();
            let by_version = !used.version.is_empty()
                && !used
                    .version
                    .starts_with(|c: char| c.is_ascii_digit() || c == 'v')
                && used.version.len() < 32;
            if all.is_empty() && by_version {
                all.push(used.version.to_owned());
            }
            Meaning::Tools(all)
        }
        "moonrepo/setup-toolchain" => tools("moon", &["moon-version"]),
        "extractions/setup-just" => tools("just", &["just-version"]),
        "arduino/setup-task" | "go-task/setup-task" => tools("task", &["version"]),
        "hashicorp/setup-terraform" => tools("terraform", &["terraform_version"]),
        "opentofu/setup-opentofu" => tools("tofu", &["tofu_version"]),
        "mlugg/setup-zig" | "goto-bus-stop/setup-zig" => tools("zig", &["version"]),
        "pypa/hatch" => tools("hatch", &[]),
        "snok/install-poetry" | "abatilo/actions-poetry" => {
            tools("poetry", &["version", "poetry-version"])
        }
        "pdm-project/setup-pdm" => tools("pdm", &["version"]),
        "prefix-dev/setup-pixi" => tools("pixi", &["pixi-version"]),
        "re-actors/alls-green" => Meaning::Results,
        "dorny/paths-filter"
        | "tj-actions/changed-files"
        | "step-security/changed-files"
        | "step-security/paths-filter" => Meaning::Filter,
        "nick-fields/retry" | "nick-invision/retry" | "wandalen/wretry.action" => {
            match used.get("command") {
                Some(command) => runs(command.to_owned()),
                None => Meaning::Unknown,
            }
        }
        "coactions/setup-xvfb" | "gabrielbb/xvfb-action" => match used.get("run") {
            Some(command) => runs(command.to_owned()),
            None => Meaning::Nothing,
        },
        "uraimo/run-on-arch-action"
        | "vmactions/freebsd-vm"
        | "vmactions/openbsd-vm"
        | "vmactions/netbsd-vm"
        | "cross-platform-actions/action"
        | "reactivecircus/android-emulator-runner"
        | "docker/setup-qemu-action" => Meaning::Out(Reason::Machine, "it is another machine"),
        "actions/checkout"
        | "actions/cache"
        | "actions/cache/restore"
        | "actions/cache/save"
        | "actions/download-artifact"
        | "actions/upload-artifact"
        | "swatinem/rust-cache"
        | "actions/setup"
        | "gradle/actions/setup-gradle"
        | "gradle/gradle-build-action"
        | "nrwl/nx-set-shas"
        | "step-security/harden-runner"
        | "rui314/setup-mold"
        | "mozilla-actions/sccache-action"
        | "hendrikmuhs/ccache-action"
        | "msys2/setup-msys2"
        | "ilammy/msvc-dev-cmd"
        | "microsoft/setup-msbuild"
        | "lukka/get-cmake"
        | "seanmiddleditch/gha-setup-ninja"
        | "ashutoshvarma/setup-ninja"
        | "awalsh128/cache-apt-pkgs-action"
        | "jlumbroso/free-disk-space"
        | "easimon/maximize-build-space"
        | "styfle/cancel-workflow-action"
        | "fkirc/skip-duplicate-actions"
        | "webfactory/ssh-agent"
        | "browser-actions/setup-chrome"
        | "cachix/install-nix-action"
        | "cachix/cachix-action"
        | "determinatesystems/nix-installer-action"
        | "determinatesystems/magic-nix-cache-action"
        | "arduino/setup-protoc"
        | "kentaro-m/auto-assign-action"
        | "actions/create-github-app-token"
        | "tibdex/github-app-token"
        | "conda-incubator/setup-miniconda"
        | "mamba-org/setup-micromamba"
        | "cypress-io/setup"
        | "subosito/flutter-action"
        | "dart-lang/setup-dart"
        | "sbt/setup-sbt"
        | "coursier/setup-action"
        | "coursier/cache-action"
        | "haskell-actions/setup"
        | "maxim-lobanov/setup-xcode"
        | "swift-actions/setup-swift"
        | "ramsey/composer-install"
        | "bahmutov/npm-install"
        | "kt3k/license_checker" => Meaning::Nothing,
        "actions/github-script" => Meaning::Out(Reason::Action, "it talks to the forge"),
        _ => by_words(&lower),
    }
}

/// What the name of an action that is in no list says.
fn by_words(name: &str) -> Meaning {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if name.starts_with("docker/") || has(&["docker-build", "kaniko"]) {
        Meaning::Out(Reason::Deploys, "it builds images")
    } else if has(&[
        "deploy",
        "pages",
        "terraform-apply",
        "kubectl",
        "helm",
        "aws-",
        "gcloud",
        "azure/",
    ]) {
        Meaning::Out(Reason::Deploys, "a deployment")
    } else if has(&[
        "publish",
        "release",
        "changesets/action",
        "semantic-release",
    ]) {
        Meaning::Out(Reason::Publishes, "a release")
    } else if has(&[
        "codecov",
        "coveralls",
        "coverage",
        "size-limit",
        "compressed-size",
        "bundlesize",
        "codspeed",
        "benchmark",
        "junit",
        "test-report",
        "report",
    ]) {
        Meaning::Out(Reason::Measures, "it reports")
    } else if has(&[
        "codeql",
        "scorecard",
        "dependency-review",
        "snyk",
        "sonar",
        "trivy",
        "semgrep",
        "gitleaks",
        "fossa",
        "audit",
    ]) {
        Meaning::Out(Reason::Network, "a service")
    } else if has(&[
        "upload",
        "comment",
        "label",
        "stale",
        "slack",
        "notify",
        "discord",
        "assign",
        "milestone",
    ]) {
        Meaning::Out(Reason::Action, "it tells a service")
    } else if has(&["/setup-", "/install-", "-cache"]) {
        Meaning::Nothing
    } else {
        Meaning::Unknown
    }
}

fn golangci(used: &Use<'_>) -> Meaning {
    let args = used.get("args").unwrap_or_default();
    let (args, removed) = without(args, &["--fix", "--out-format"]);
    Meaning::Runs(vec![Run {
        text: joined(&["golangci-lint run", &args]),
        dir: used.get("working-directory").map(str::to_owned),
        note: (!removed.is_empty()).then(|| format!("{} removed", removed.join(", "))),
    }])
}

/// Advisories are asked from the network; all else is in the repository.
fn deny(used: &Use<'_>) -> Meaning {
    let command = used.get("command").unwrap_or("check");
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or("check");
    let named: Vec<&str> = words.collect();
    if first != "check" {
        return Meaning::Runs(vec![run(joined(&["cargo deny", command]))]);
    }
    let flags: Vec<&str> = named
        .iter()
        .copied()
        .filter(|w| w.starts_with('-'))
        .collect();
    let checks: Vec<&str> = named
        .iter()
        .copied()
        .filter(|w| !w.starts_with('-'))
        .collect();
    let kept: Vec<&str> = checks
        .iter()
        .copied()
        .filter(|w| *w != "advisories" && *w != "all")
        .collect();
    let all = checks.is_empty() || checks.contains(&"all");
    let kept = if all {
        vec!["bans", "licenses", "sources"]
    } else {
        kept
    };
    if kept.is_empty() {
        return Meaning::Out(Reason::Network, "it asks a list of advisories");
    }
    let arguments = used.get("arguments").unwrap_or_default();
    let (arguments, _) = without(arguments, &["--log-level"]);
    let parts = [
        "cargo deny",
        &arguments,
        "check",
        &flags.join(" "),
        &kept.join(" "),
    ];
    let left_out = all || checks.contains(&"advisories");
    let note = left_out.then(|| "advisories need the network".to_owned());
    // `--all-features` is the action's own default.
    Meaning::Runs(vec![Run {
        note,
        ..run(joined(&parts))
    }])
}

fn buf(used: &Use<'_>) -> Meaning {
    if used.is("setup_only") {
        return Meaning::Tools(vec![tool("buf", used.get("version"))]);
    }
    let input = used.get("input").map(quoted).unwrap_or_default();
    let mut all = Vec::new();
    if used.get("lint") != Some("false") {
        all.push(run(joined(&["buf lint", &input])));
    }
    if used.get("format") != Some("false") {
        all.push(run(joined(&["buf format", &input, "-d --exit-code"])));
    }
    Meaning::Runs(all)
}
