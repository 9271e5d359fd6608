//! Reads the workspace of a `Cargo.toml`.

/// Returns what the workspace of a Cargo.toml excludes; `None` when it has no workspace. Read line
/// by line: enough for what people write, and a member that is taken for a package is only verified
/// twice.
pub(in crate::effect) fn workspace_excludes(manifest: &str) -> Option<Vec<String>> {
    let header = |line: &str| {
        line.trim()
            .strip_prefix('[')
            .and_then(|l| l.split(']').next())
            .map(|n| n.trim().to_owned())
    };
    let mut inside = false;
    let mut excludes: Option<String> = None;
    let mut found = false;
    let mut open = false;
    for line in manifest.lines() {
        let line = line.split(" #").next().unwrap_or(line);
        if open {
            excludes.get_or_insert_default().push_str(line);
            open = !line.contains(']');
        } else if line.trim_start().starts_with('[') {
            let name = header(line).unwrap_or_default();
            inside = name == "workspace";
            found |= inside || name.starts_with("workspace.");
        } else if inside
            && let Some(rest) = line.trim_start().strip_prefix("exclude")
            && let Some(rest) = rest.trim_start().strip_prefix('=')
        {
            excludes.get_or_insert_default().push_str(rest);
            open = !rest.contains(']');
        }
    }
    let text = excludes.unwrap_or_default();
    // The text between quotes is every other part.
    let quoted = text
        .split(['"', '\''])
        .skip(1)
        .step_by(2)
        .map(str::to_owned);
    found.then(|| quoted.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces() {
        for (text, want) in [
            ("[package]\nname = \"a\"\n", None),
            ("[workspace]\nmembers = [\"a\"]\n", Some(vec![])),
            ("[workspace.package]\nedition = \"2024\"\n", Some(vec![])),
            ("[package]\nexclude = [\"x\"]\n[workspace]\n", Some(vec![])),
            (
                "[workspace]\nexclude = [\"fuzz\", 'b'] # c\n",
                Some(vec!["fuzz", "b"]),
            ),
            (
                "[workspace]\nexclude = [\n  \"fuzz\",\n  \"b\",\n]\n[package]\n",
                Some(vec!["fuzz", "b"]),
            ),
        ] {
            let want: Option<Vec<String>> =
                want.map(|w: Vec<&str>| w.iter().map(|s| (*s).to_owned()).collect());
            assert_eq!(workspace_excludes(text), want, "{text}");
        }
    }
}
