//! The environment that `tox` chooses by the Python of a matrix, where `tox-gh` or `tox-gh-actions`
//! is in use: without CI's variables, `tox` would run all of them.

use super::expression::Value;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Declarations, State, Work};
use crate::declared::tree::{Syntax, Tree};

/// Names the environment in all commands from an index on that leave the choice to a plugin.
pub(super) fn choose(tree: &Tree, cell: &Value, found: &mut Declarations, start: usize) {
    let Value::Map(axes) = cell else {
        return;
    };
    let python = axes.iter().find(|(key, _)| {
        let key = key.to_ascii_lowercase();
        key == "py" || key.starts_with("python")
    });
    let Some(python) = python.and_then(|(_, value)| value.scalar()) else {
        return;
    };
    let Some(environments) = environments(tree, &python) else {
        return;
    };
    for candidate in found.candidates.iter_mut().skip(start) {
        let Work::Words(words) = &mut candidate.work else {
            continue;
        };
        let all: Vec<&str> = words.iter().map(String::as_str).collect();
        let at = match all.as_slice() {
            ["python" | "python3", "-m", "tox", ..] => 3,
            ["uvx" | "pipx", "tox", ..] => 2,
            ["tox", ..] => 1,
            _ => continue,
        };
        let chooses = |word: &String| {
            word.starts_with("-e") || word.starts_with("--env") || word == "-m" || word == "-f"
        };
        let arguments = words.get(at..).unwrap_or_default();
        let own = arguments.iter().take_while(|word| *word != "--");
        let command = arguments.first().is_some_and(|first| {
            !first.starts_with('-') && !matches!(&**first, "run" | "r" | "run-parallel" | "p")
        });
        if candidate.state != State::Open || command || own.clone().any(chooses) {
            continue;
        }
        let end = at + own.count();
        words.insert(end, environments.clone());
        words.insert(end, "-e".to_owned());
        candidate
            .notes
            .push(format!("`-e {environments}` is what tox chooses in CI"));
    }
}

/// The text of a script in which `tox` gets a package that another job has built, without that:
/// `tox` builds it then. `None` for any other script.
pub(super) fn without_package(text: &str) -> Option<String> {
    const OPTION: &str = "--installpkg";
    let (before, after) = text.split_once(OPTION)?;
    let command = before.rsplit('\n').next().unwrap_or_default();
    let calls_tox = command.split_whitespace().any(|word| word == "tox");
    let value = after.strip_prefix([' ', '='])?.trim_start_matches(' ');
    let end = match value.chars().next()? {
        quote @ ('`' | '"' | '\'') => value.get(1..)?.find(quote)? + 2,
        '$' if value.starts_with("$(") => value.find(')')? + 1,
        _ => value.find(char::is_whitespace).unwrap_or(value.len()),
    };
    let rest = value.get(end..)?;
    (calls_tox && !rest.contains(OPTION)).then(|| format!("{}{rest}", before.trim_end_matches(' ')))
}

/// The environments of a version of Python, as `tox` takes them behind `-e`.
fn environments(tree: &Tree, python: &str) -> Option<String> {
    let root = RepoPath::root();
    for name in ["tox.ini", "setup.cfg"] {
        let Some((_, text)) = tree.text(&root, name) else {
            continue;
        };
        if let Some(found) = of_ini(text, python) {
            return Some(found);
        }
    }
    for (name, keys) in [
        ("tox.toml", &["gh", "python"][..]),
        ("pyproject.toml", &["tool", "tox", "gh", "python"]),
    ] {
        let Some((file, _)) = tree.text(&root, name) else {
            continue;
        };
        let Ok(doc) = tree.read(&file, Syntax::Toml) else {
            continue;
        };
        let table = keys.iter().try_fold(&doc.root, |node, key| node.get(key));
        let listed = table.map_or(&[][..], |table| table.entries());
        let Some((_, value)) = listed.iter().find(|(key, _)| key.name == python) else {
            continue;
        };
        let listed: Vec<&str> = value.list().iter().filter_map(|one| one.text()).collect();
        let one = value.text().map(str::to_owned);
        return one.or_else(|| (!listed.is_empty()).then(|| listed.join(",")));
    }
    None
}

/// Reads the lines behind `python =` of `[gh]`, `[gh-actions]`, `[tox:gh]`, `[tox:gh-actions]`.
fn of_ini(text: &str, python: &str) -> Option<String> {
    let (mut section, mut key) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[') {
            let name = name.trim_end_matches(']').trim_start_matches("tox:");
            (section, key) = (matches!(name, "gh" | "gh-actions"), false);
            continue;
        }
        if !section || trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            key = trimmed
                .split('=')
                .next()
                .is_some_and(|name| name.trim() == "python");
            continue;
        }
        let Some((version, named)) = trimmed.split_once(['=', ':']).filter(|_| key) else {
            continue;
        };
        if version.trim() == python {
            let all: Vec<&str> = named
                .split(',')
                .map(str::trim)
                .filter(|n| !n.is_empty())
                .collect();
            return (!all.is_empty()).then(|| all.join(","));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::candidate::{Belief, Candidate, Origin};

    fn chosen(file: &str, text: &str, command: &str) -> String {
        let path = RepoPath::parse(file.as_bytes()).unwrap();
        let tree = Tree {
            texts: [(path.clone(), text.to_owned())].into(),
            ..Tree::default()
        };
        let origin = Origin {
            file: path,
            line: 1,
            label: String::new(),
        };
        let words = command.split(' ').map(str::to_owned).collect();
        let mut found = Declarations::default();
        let one = Candidate::new(
            origin,
            Belief::Workflow,
            Work::Words(words),
            RepoPath::root(),
        );
        found.candidates.push(one);
        let cell = Value::Map(vec![("python-version".to_owned(), Value::text("3.13"))]);
        choose(&tree, &cell, &mut found, 0);
        found.candidates[0].text()
    }

    #[test]
    fn the_environment_of_the_chosen_python() {
        let ini = "[tox]\nenv_list = a\n[gh]\npython =\n    3.12 = 3.12\n    3.13 = 3.13, type\n";
        for (command, want) in [
            ("tox", "tox -e 3.13,type"),
            (
                "tox run --skip-pkg-install",
                "tox run --skip-pkg-install -e 3.13,type",
            ),
            ("tox run -- -k x", "tox run -e 3.13,type -- -k x"),
            ("python -m tox", "python -m tox -e 3.13,type"),
            ("tox -e py", "tox -e py"),
            ("tox -epy", "tox -epy"),
            ("tox run -f x", "tox run -f x"),
            ("tox list", "tox list"),
            ("pytest", "pytest"),
        ] {
            assert_eq!(chosen("tox.ini", ini, command), want);
        }
        let actions = "[gh-actions]\npython =\n  3.13: py313\n";
        assert_eq!(chosen("tox.ini", actions, "tox"), "tox -e py313");
        assert_eq!(
            chosen(
                "setup.cfg",
                "[tox:gh-actions]\npython =\n  3.13: py313\n",
                "tox"
            ),
            "tox -e py313"
        );
        assert_eq!(
            chosen("tox.ini", "[gh]\nother =\n  3.13 = x\n", "tox"),
            "tox"
        );
        assert_eq!(chosen("tox.ini", "", "tox"), "tox");
        let toml = "[gh.python]\n\"3.13\" = [\"3.13\", \"type\"]\n";
        assert_eq!(chosen("tox.toml", toml, "tox"), "tox -e 3.13,type");
        let pyproject = "[tool.tox.gh.python]\n\"3.13\" = [\"py313\"]\n";
        assert_eq!(chosen("pyproject.toml", pyproject, "tox"), "tox -e py313");
    }
}
