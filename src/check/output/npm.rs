//! Returns the Node tool that a command starts, and the form of output that it requests.

/// Words before a tool that start it: package managers, their verbs, `node` itself.
const LAUNCHERS: [&str; 22] = [
    "bun",
    "bunx",
    "c8",
    "corepack",
    "cross-env",
    "dlx",
    "exec",
    "node",
    "nodejs",
    "npm",
    "npx",
    "nyc",
    "pnpm",
    "pnpx",
    "run",
    "run-script",
    "tsx",
    "x",
    "yarn",
    "yarnpkg",
    "--",
    "env",
];

/// Whether a command starts one of these tools: by name, by path, by its script, through a package
/// manager.
#[must_use]
pub fn starts(argv: &[&str], tools: &[&str]) -> bool {
    argv.iter()
        .map(|word| base(word))
        .find(|word| !word.starts_with('-') && !word.contains('=') && !LAUNCHERS.contains(word))
        .is_some_and(|word| tools.contains(&word))
}

/// Whether a command asks a tool for one of these forms of output: `--reporter tap`, `-f=json`,
/// `--test-reporter=junit`.
#[must_use]
pub fn asks(argv: &[&str], forms: &[&str]) -> bool {
    const OPTIONS: [&str; 8] = [
        "-R",
        "-f",
        "-o",
        "--format",
        "--output-format",
        "--reporter",
        "--reporters",
        "--test-reporter",
    ];
    let mut option = false;
    argv.iter().any(|word| {
        let value = match word.split_once('=') {
            Some((name, value)) if OPTIONS.contains(&name) => Some(value),
            _ => option.then_some(*word),
        };
        option = OPTIONS.contains(word);
        value.is_some_and(|value| {
            forms
                .iter()
                .any(|form| value == *form || value.ends_with(&format!("-{form}")))
        })
    })
}

/// Whether a word names a program, with or without a path.
#[must_use]
pub fn is(word: &str, program: &str) -> bool {
    base(word) == program
}

/// The last part of a path, without what a script's name ends with.
fn base(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = [".js", ".mjs", ".cjs", ".cmd", ".exe"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    name.strip_prefix('_').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn tools() {
        for (text, want) in [
            ("jest", true),
            ("npx jest --ci", true),
            ("npx --yes jest", true),
            ("node node_modules/jest/bin/jest.js", true),
            ("pnpm exec jest", true),
            ("yarn jest a.test.js", true),
            ("cross-env CI=1 jest", true),
            ("./node_modules/.bin/jest", true),
            ("node_modules\\.bin\\jest.cmd", true),
            ("npm test", false),
            ("echo jest", false),
            ("npm run test jest", false),
            ("", false),
        ] {
            assert_eq!(starts(&words(text), &["jest"]), want, "{text}");
        }
    }

    #[test]
    fn forms() {
        for (text, want) in [
            ("mocha -R tap", true),
            ("mocha --reporter=tap", true),
            ("vitest run --reporter tap", true),
            ("eslint -f @x/eslint-formatter-tap .", true),
            ("mocha tap", false),
            ("mocha -R spec tap", false),
            ("mocha -R", false),
        ] {
            assert_eq!(asks(&words(text), &["tap"]), want, "{text}");
        }
    }
}
