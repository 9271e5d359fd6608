//! Reads the declarations of a `package.json`.

use std::collections::{BTreeMap, BTreeSet};

/// The parts of a manifest that vplan reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PackageManifest {
    /// The scripts and their commands.
    pub scripts: BTreeMap<String, String>,
    /// `packageManager`, such as `pnpm@9.1.0`.
    pub package_manager: Option<String>,
    pub name: Option<String>,
    /// The names of its dependencies, of every kind.
    pub depends_on: BTreeSet<String>,
}

/// Parses a manifest; `None` if it is not a JSON object, or its scripts are not an object of
/// strings.
pub fn read(bytes: &[u8]) -> Option<PackageManifest> {
    // npm drops a byte-order mark, too.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // The parser refuses more than 128 levels by itself.
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes).ok()?;
    let mut scripts = BTreeMap::new();
    match object.get("scripts") {
        None | Some(serde_json::Value::Null) => {}
        Some(declared) => {
            for (name, command) in declared.as_object()? {
                scripts.insert(name.clone(), command.as_str()?.to_owned());
            }
        }
    }
    let text = |key: &str| object.get(key).and_then(|v| v.as_str().map(str::to_owned));
    let kinds = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
    ];
    let depends_on = kinds
        .iter()
        .filter_map(|kind| object.get(*kind)?.as_object())
        .flat_map(|o| o.keys().cloned());
    Some(PackageManifest {
        depends_on: depends_on.collect(),
        name: text("name"),
        package_manager: text("packageManager"),
        scripts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests() {
        let deep = format!("{{\"x\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
        for (text, want) in [
            ("{}", Some(vec![])),
            (
                "\u{feff}{\"scripts\":{\"test\":\"a\",\"b\":\"\"}}",
                Some(vec!["b", "test"]),
            ),
            ("{\"scripts\":null}", Some(vec![])),
            ("{\"scripts\":{\"test\":5}}", None),
            ("{\"scripts\":[]}", None),
            ("{\"scripts\":{\"test\":\"a\"}", None),
            ("[]", None),
            ("", None),
            (&deep, None),
        ] {
            let got = read(text.as_bytes()).map(|m| m.scripts.into_keys().collect::<Vec<_>>());
            let want: Option<Vec<String>> =
                want.map(|w| w.iter().map(|s| (*s).to_owned()).collect());
            assert_eq!(got, want, "{}", text.chars().take(60).collect::<String>());
        }
    }
}
