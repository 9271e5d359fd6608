//! Reads one table of a configuration file, to compare two versions of it: TOML, JSON, or lines of
//! sections.

use toml::de::{DeTable, DeValue};
use vplan_base::path::RepoPath;

/// Returns the parts of a table of a file; empty if the file has no such table. Equal parts mean
/// the same. `None` if the file cannot be read.
pub fn table(path: &RepoPath, bytes: &[u8], key: &str) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let name = path.name();
    if name.ends_with(b".json") {
        let object: serde_json::Value = serde_json::from_str(text).ok()?;
        let found = object.get(key).map(ToString::to_string);
        return Some(found.into_iter().collect());
    }
    if name.ends_with(b".toml") {
        let document = DeTable::parse(text).ok()?;
        let document = document.get_ref();
        // The values that a workspace shares apply to all of its members, too.
        let shared = document
            .get("workspace")
            .and_then(|w| as_table(w.get_ref()));
        let from = [Some(document), shared].into_iter().flatten();
        let found = from.filter_map(|table| Some(plain(find(table, key)?)));
        return Some(found.collect());
    }
    Some(sections(text, key))
}

fn as_table<'a, 'i>(value: &'a DeValue<'i>) -> Option<&'a DeTable<'i>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn find<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeValue<'i>> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let value = table.get(first)?.get_ref();
    if rest.is_empty() {
        return Some(value);
    }
    find(as_table(value)?, rest)
}

/// Writes a value without its place in the file.
fn plain(value: &DeValue<'_>) -> String {
    let all: Vec<String> = match value {
        DeValue::Array(list) => list.iter().map(|v| plain(v.get_ref())).collect(),
        DeValue::Table(table) => {
            let entry = |(key, v): (&'_ toml::Spanned<_>, &'_ toml::Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                format!("{key:?}={}", plain(v.get_ref()))
            };
            table.iter().map(entry).collect()
        }
        single => return format!("{single:?}"),
    };
    format!("[{}]", all.join(","))
}

/// The lines of the sections whose names begin with this one: `[mypy]` and `[mypy-other]`.
fn sections(text: &str, key: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let rest = header.strip_prefix(key);
            inside = rest.is_some_and(|rest| rest.starts_with([']', '-', ':', '.']));
        }
        if inside {
            found.push(line.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tables() {
        for (name, key, before, after, want) in [
            (
                "pyproject.toml",
                "tool.ruff",
                "[tool.ruff]\na=1\n",
                "[project]\n[tool.ruff]\na = 1 # x\n",
                true,
            ),
            (
                "pyproject.toml",
                "tool.ruff",
                "[tool.ruff]\na=1\n",
                "[tool.ruff]\na=2\n",
                false,
            ),
            (
                "pyproject.toml",
                "tool.ruff",
                "",
                "[tool.ruff.lint]\nselect=[]\n",
                false,
            ),
            (
                "pyproject.toml",
                "tool.ruff",
                "[tool.black]\na=1\n",
                "",
                true,
            ),
            (
                "Cargo.toml",
                "lints",
                "[workspace.lints.rust]\na=\"warn\"\n",
                "[workspace]\n",
                false,
            ),
            (
                "package.json",
                "jest",
                "{\"jest\":{},\"x\":1}",
                "{\"jest\":{}}",
                true,
            ),
            ("package.json", "jest", "{\"jest\":{}}", "{}", false),
            (
                "setup.cfg",
                "mypy",
                "[mypy]\na=1\n[x]\nb=1\n",
                "# c\n[mypy]\na=1\n[x]\nb=2\n",
                true,
            ),
            (
                "setup.cfg",
                "mypy",
                "[mypy]\na=1\n",
                "[mypy]\na=1\n[mypy-y.*]\nignore=1\n",
                false,
            ),
            (
                "setup.cfg",
                "tool:pytest",
                "[tool:pytest]\na =\n  b\n",
                "[tool:pytest]\na =\n  c\n",
                false,
            ),
        ] {
            let path = RepoPath::parse(name.as_bytes()).unwrap();
            let of = |text: &str| table(&path, text.as_bytes(), key).unwrap();
            assert_eq!(of(before) == of(after), want, "{name} {key}: {after}");
        }
        for name in ["a.toml", "a.json"] {
            let path = RepoPath::parse(name.as_bytes()).unwrap();
            assert_eq!(table(&path, b"[", "a"), None);
        }
    }
}
