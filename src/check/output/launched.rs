//! Returns the tool that a command runs, after the launchers that only find it.

/// The name of the tool (without directory and `.exe`), and its arguments.
#[must_use]
pub fn launched<'a, 'b>(argv: &'b [&'a str]) -> (&'a str, &'b [&'a str]) {
    let mut words = argv;
    // Launchers of launchers are rare; the limit keeps this an answer for any words.
    for _ in 0..4 {
        let Some((first, rest)) = words.split_first() else {
            break;
        };
        let name = name(first);
        words = match (name, rest) {
            (
                "uv" | "poetry" | "pdm" | "hatch" | "rye" | "pipenv" | "pipx" | "pixi" | "coverage"
                | "xvfb-run",
                ["run", rest @ ..],
            ) => behind_options(rest),
            ("uvx" | "nice" | "time" | "stdbuf" | "env" | "xvfb-run" | "sudo", _) => {
                behind_options(rest)
            }
            ("timeout", _) => behind_options(rest).get(1..).unwrap_or_default(),
            _ if is_python(name) => match rest.iter().position(|word| *word == "-m") {
                Some(at) if rest.iter().take(at).all(|word| word.starts_with('-')) => {
                    rest.get(at + 1..).unwrap_or_default()
                }
                _ => return (name, rest),
            },
            ("-m", _) => rest,
            _ => return (name, rest),
        };
    }
    ("", &[])
}

fn name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// `python`, `python3`, `python3.13`, `pypy3`, `py`.
fn is_python(name: &str) -> bool {
    let version = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"))
        .or_else(|| name.strip_prefix("py"));
    version.is_some_and(|v| {
        v.bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b't'))
    })
}

/// Behind options and assignments. `coverage run -m pytest` keeps its `-m`, which means what it
/// does for Python.
fn behind_options<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let skipped = |word: &&str| *word != "-m" && (word.starts_with('-') || word.contains('='));
    let at = words
        .iter()
        .position(|word| !skipped(word))
        .unwrap_or(words.len());
    words.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_behind_launchers() {
        for (words, want, arguments) in [
            ("cargo test", "cargo", 1),
            ("/usr/bin/pytest -q", "pytest", 1),
            ("python3.13 -m pytest -q", "pytest", 1),
            ("python -X dev -m pytest", "python", 4),
            ("python -B -m unittest discover", "unittest", 1),
            ("python t.py -m pytest", "python", 3),
            ("uv run --frozen pytest", "pytest", 0),
            ("uv run python -m pytest", "pytest", 0),
            ("coverage run -m pytest a", "pytest", 1),
            ("timeout 60 mypy .", "mypy", 1),
            ("env A=1 ruff check", "ruff", 1),
            ("C:\\x\\ruff.exe check", "ruff", 1),
            ("pyright", "pyright", 0),
            ("", "", 0),
            ("env", "", 0),
        ] {
            let argv: Vec<&str> = words.split_whitespace().collect();
            let (name, rest) = launched(&argv);
            assert_eq!((name, rest.len()), (want, arguments), "{words}");
        }
    }
}
