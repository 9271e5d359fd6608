//! Commands that write, and their forms that only check.

use super::super::candidate::Reason;
use super::super::tree::Tree;
use super::Judged;
use super::settings;
use super::table::{ROWS, Row};
use super::words::Call;
use crate::base::command::to_text;
use crate::base::path::RepoPath;
use crate::base::word::Word;
use std::collections::BTreeMap;

/// Formatters of Go, whose `-l` and `-d` exit with 0 whatever they find (older `gofmt`).
const LISTING: &[&str] = &[
    "gofmt",
    "gofumpt",
    "goimports",
    "goimports-reviser",
    "gofumports",
    "golines",
    "gci",
];

/// Generators: `PROGRAM [WORD…]`.
const GENERATORS: &[&str] = &[
    "protoc",
    "go generate",
    "graphql-codegen",
    "gql-gen",
    "sqlc generate",
    "sqlc",
    "openapi-generator",
    "openapi-generator-cli",
    "openapi-typescript",
    "openapi",
    "oapi-codegen",
    "swagger generate",
    "swagger-codegen",
    "buf generate",
    "mockgen",
    "mockery",
    "moq",
    "stringer",
    "controller-gen",
    "deepcopy-gen",
    "client-gen",
    "swag init",
    "prisma generate",
    "wire",
    "wire gen",
    "templ generate",
    "gqlgen",
    "bindgen",
    "cbindgen",
    "typeshare",
    "helm-docs",
    "tree-sitter generate",
    "flatc",
    "thrift",
    "capnp",
    "autorest",
    "orval",
    "openapi-ts",
    "sphinx-apidoc",
    "pip-compile",
    "uv pip compile",
    "build_runner",
    "dart run build_runner",
    "doctoc",
    "markdown-toc",
    "all-contributors generate",
    "quicktype",
    "swiftgen",
    "sourcery",
    "drizzle-kit generate",
    "kubebuilder",
    "operator-sdk generate",
    "easyjson",
    "enumer",
    "jsonschema2md",
    "tsr generate",
    "json2ts",
    "datamodel-codegen",
    "wit-bindgen",
    "antlr4",
    "re2c",
    "bison",
    "flex",
    "xcodegen",
    "embedmd",
    "gomarkdoc",
    "tfplugindocs",
    "go-licenses",
    "cargo about",
    "cargo-about",
    "svelte-kit sync",
    "typia generate",
];

/// Hook managers and collections of formatters, which write even in the forms for CI.
const REWRITERS: &[&str] = &[
    "pre-commit run",
    "prek run",
    "prek",
    "lefthook run",
    "trunk fmt",
    "trunk check",
    "treefmt",
    "nix fmt",
    "hk run",
    "lint-staged",
    "husky",
    "nano-staged",
    "qlty fmt",
    "megalinter",
    "mega-linter-runner",
    "overcommit",
    "fmt-all",
    "devenv test",
];

/// Whether a command writes, and how it would only check.
pub fn judge(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    call: &Call<'_>,
) -> Judged {
    if LISTING.contains(&call.name) {
        return listing(call);
    }
    if REWRITERS.iter().any(|row| call.is(row).is_some()) {
        return Judged::Never(Reason::Writes, format!("`{}` rewrites files", call.shown()));
    }
    if GENERATORS.iter().any(|row| call.is(row).is_some())
        && !call.has(&["--check", "--dry-run", "--diff", "--exit-code"])
    {
        return Judged::Generates;
    }
    let watched = watching(env, call);
    if watched != Judged::Fine {
        return watched;
    }
    for row in ROWS {
        let Some(end) = call.is(row.call) else {
            continue;
        };
        if row.when.is_empty() || !call.has(row.when) {
            if !row.when.is_empty() {
                continue;
            }
            if call.has(row.unless) {
                return by_configuration(tree, dir, call);
            }
        } else if !row.unless.is_empty()
            && call.has(row.unless)
            && row
                .when
                .iter()
                .all(|w| *w == "--fix" || row.unless.contains(w))
        {
            return by_configuration(tree, dir, call);
        }
        return row.checking(call, end);
    }
    by_configuration(tree, dir, call)
}

impl Row {
    /// The command without what writes.
    fn checking(&self, call: &Call<'_>, end: usize) -> Judged {
        if self.add.is_empty() && self.to.is_empty() && self.when.is_empty() {
            return Judged::Never(Reason::Writes, format!("`{}` writes files", call.shown()));
        }
        let removed: Vec<&str> = self
            .when
            .iter()
            .copied()
            .filter(|flag| call.has(&[flag]))
            .collect();
        let front = Call::new(call.words.get(..end).unwrap_or_default());
        let front = front.without(self.when);
        // The rest as if behind a program.
        let mut rest = vec![String::new()];
        rest.extend(call.words.get(end..).unwrap_or_default().iter().cloned());
        let rest = Call {
            name: call.name,
            words: &rest,
            operands: Vec::new(),
        };
        let mut rest = rest.without(self.when);
        rest.remove(0);
        let mut words: Vec<String> = Vec::new();
        if self.to.is_empty() {
            words.extend(front);
        } else if self.to.len() == 1 && !self.call.contains(&self.to.concat()) && end > 1 {
            // A goal in its place among others.
            words.extend(front.iter().take(front.len().saturating_sub(1)).cloned());
            let old = call.words.get(end - 1).map_or("", String::as_str);
            let project = old.rsplit_once(':').filter(|_| call.name == "gradle");
            let goal = self.to.concat();
            words.push(project.map_or(goal.clone(), |(project, _)| format!("{project}:{goal}")));
        } else {
            // Options in front of the words of the call stay there.
            let own: Vec<&str> = self.call.split_whitespace().collect();
            let between = front.iter().skip(1).filter(|w| !own.contains(&w.as_str()));
            for word in self.to {
                match *word {
                    "=" => {
                        words.extend(front.first().cloned());
                        words.extend(between.clone().cloned());
                    }
                    "!" => rest.clear(),
                    word => words.push(word.to_owned()),
                }
            }
        }
        let missing = |flag: &&&str| !words.iter().chain(&rest).any(|w| w == **flag);
        let paired = self.add.first() == Some(&"-o") || self.add.first() == Some(&"--mode");
        let add: Vec<String> = if paired {
            self.add.iter().map(|w| (*w).to_owned()).collect()
        } else {
            self.add
                .iter()
                .filter(missing)
                .map(|w| (*w).to_owned())
                .collect()
        };
        let mut changed: Vec<String> = removed
            .iter()
            .map(|flag| format!("`{flag}` removed"))
            .collect();
        if !add.is_empty() {
            changed.push(format!("`{}` added", add.join(" ")));
        }
        if !self.to.is_empty() {
            changed.push(format!("instead of `{}`", call.shown()));
        }
        words.extend(add);
        words.extend(rest);
        if words == call.words {
            return Judged::Fine;
        }
        Judged::Checking(words, changed.join(", "))
    }
}

/// Formatters of Go in the form that fails.
fn listing(call: &Call<'_>) -> Judged {
    if call.operands.is_empty() && !call.has(&["-w", "-l", "-d"]) {
        return Judged::Fine;
    }
    if call.name == "gci" {
        return match call.operand(0) {
            "write" => {
                let mut words = call.without(&[]);
                if let Some(word) = call.operands.first().and_then(|at| words.get_mut(*at)) {
                    "diff".clone_into(word);
                }
                emptiness(&words, call)
            }
            "diff" | "list" => emptiness(call.words, call),
            _ => Judged::Fine,
        };
    }
    let mut words = call.without(&["-w", "-d", "-l"]);
    words.insert(1.min(words.len()), "-l".to_owned());
    emptiness(&words, call)
}

/// `test -z "$(COMMAND)"`.
fn emptiness(words: &[String], call: &Call<'_>) -> Judged {
    let argv: Vec<Word> = words.iter().map(|w| Word::from(w.as_str())).collect();
    let text = to_text(&BTreeMap::new(), &argv);
    let text = format!("test -z \"$({text})\"");
    Judged::CheckingShell(text, format!("instead of `{}`", call.shown()))
}

/// Runners of tests that would wait for changes.
fn watching(env: &BTreeMap<String, String>, call: &Call<'_>) -> Judged {
    let flags: &[&str] = match call.name {
        "jest" => &["--watch", "--watchAll"],
        "vitest" => &["--watch", "-w", "watch", "dev"],
        _ => &[],
    };
    let ci = env
        .get("CI")
        .is_some_and(|v| !matches!(v.as_str(), "" | "0" | "false"));
    let named = call.name == "vitest" && matches!(call.operand(0), "watch" | "dev");
    if !flags.is_empty() && (call.has(flags) || named) {
        let mut words = call.without(flags);
        if named && words.len() > 1 {
            words.retain(|w| w != "watch" && w != "dev");
        }
        if call.name == "vitest" {
            words.insert(1.min(words.len()), "run".to_owned());
        }
        words.insert(0, "CI=1".to_owned());
        let inner = Call::new(words.get(1..).unwrap_or_default());
        if inner.has(&["-u", "--update", "--updateSnapshot"]) {
            return Judged::Never(Reason::Writes, call.shown());
        }
        return Judged::Checking(words, "watching removed".to_owned());
    }
    let once = call.has(&["run", "--run", "--no-watch"])
        || matches!(call.operand(0), "run" | "related" | "list" | "typecheck")
        || call
            .words
            .iter()
            .any(|w| w == "--watch=false" || w == "--run");
    let waits = (call.name == "vitest" && !once && call.operand(0) != "bench")
        || (call.name == "react-scripts"
            && call.operand(0) == "test"
            && !call
                .words
                .iter()
                .any(|w| w.starts_with("--watch") && w.ends_with("=false")));
    if waits && !ci && !call.has(&["-u", "--update"]) {
        let mut words = call.words.to_vec();
        words.insert(0, "CI=1".to_owned());
        return Judged::Checking(words, "`CI=1` added: it would wait for changes".to_owned());
    }
    Judged::Fine
}

/// Configuration that has a tool write.
fn by_configuration(tree: &Tree, dir: &RepoPath, call: &Call<'_>) -> Judged {
    if !settings::writes(tree, dir, call.name) {
        return generic(call);
    }
    let insert = |flag: &str, at: usize| {
        let mut words = call.words.to_vec();
        words.insert(at.min(words.len()), flag.to_owned());
        Judged::Checking(
            words,
            format!("`{flag}` added: the configuration has it write"),
        )
    };
    match call.name {
        "ruff" if call.is("ruff format").is_some() || call.has(&["--no-fix"]) => Judged::Fine,
        "ruff" => match call.is("ruff check") {
            Some(end) => insert("--no-fix", end),
            None => Judged::Fine,
        },
        "golangci-lint" if call.words.iter().any(|w| w == "--fix=false") => Judged::Fine,
        "golangci-lint" => match call.is("golangci-lint run") {
            Some(end) => insert("--fix=false", end),
            None => Judged::Fine,
        },
        "pytest" => Judged::Never(
            Reason::Writes,
            "its configuration updates snapshots".to_owned(),
        ),
        _ => Judged::Never(Reason::Writes, "its configuration has it write".to_owned()),
    }
}

/// Commands that write by their name or by the name of an option.
fn generic(call: &Call<'_>) -> Judged {
    const CHECKS: &[&str] = &[
        "--check",
        "-check",
        "--diff",
        "-diff",
        "--dry-run",
        "--lint",
        "-lint",
        "--list-different",
        "--verify",
        "--test",
        "--validate",
        "--check-only",
        "--verify-no-changes",
        "--version",
        "--help",
        "--set-exit-if-changed",
        "--mode",
        "-d",
        "-n",
    ];
    // They take these options for something else, or have been judged by a row.
    const OTHERS: &[&str] = &[
        "npm", "pnpm", "yarn", "bun", "make", "just", "git", "cargo", "turbo", "nx", "echo",
        "grep", "rg", "test", "[",
    ];
    let writer = [
        "--write",
        "--fix",
        "--apply",
        "--in-place",
        "--inplace",
        "--autofix",
        "--autocorrect",
        "--auto-correct",
        "--replace",
    ];
    if !OTHERS.contains(&call.name) {
        let end = call.words.len();
        if let Some(at) = call.option(&writer).filter(|at| *at < end) {
            let flag = call.words.get(at).cloned().unwrap_or_default();
            let own_row = ROWS
                .iter()
                .any(|row| call.is(row.call).is_some() && row.unless.contains(&flag.as_str()));
            if !own_row && !call.has(CHECKS) {
                return Judged::Never(Reason::Writes, format!("`{flag}`"));
            }
        }
    }
    let formats = |name: &str| {
        (name.ends_with("fmt")
            || name.ends_with("-format")
            || name.ends_with("formatter")
            || name.ends_with("-fix")
            || name.ends_with("-fixer"))
            && name != "echo"
    };
    let known = ROWS
        .iter()
        .any(|row| row.call.split(' ').next() == Some(call.name));
    if !known && formats(call.name) && call.has(&["-i"]) {
        return Judged::Never(Reason::Writes, "`-i`".to_owned());
    }
    if !known && formats(call.name) && !call.has(CHECKS) {
        return Judged::Never(Reason::Writes, format!("`{}` is a formatter", call.name));
    }
    let sub = call.operand(0);
    const TOOLS: &[&str] = &[
        "cargo",
        "go",
        "mix",
        "dotnet",
        "dart",
        "gleam",
        "zig",
        "deno",
        "terraform",
        "tofu",
        "nix",
        "hk",
        "trunk",
        "buf",
        "uv",
        "rebar3",
        "swift",
        "elixir",
        "forge",
        "aiken",
        "sui",
        "vp",
        "qlty",
        "moon",
        "ruff",
        "biome",
        "stack",
        "cabal",
        "flutter",
    ];
    if TOOLS.contains(&call.name)
        && (formats(sub) || matches!(sub, "fmt" | "format" | "fix"))
        && !call.has(CHECKS)
        && !ROWS.iter().any(|row| call.is(row.call).is_some())
    {
        return Judged::Never(
            Reason::Writes,
            format!("`{} {sub}` writes files", call.name),
        );
    }
    Judged::Fine
}
