//! What other programs print or keep: reports, lists of files, makefiles, manifests.

use super::choices::fields;
use std::collections::BTreeSet;
use vplan::effect::repo::changes::list::{ListFormat, encode, parse};
use vplan::effect::repo::facts::{makefile, package};

/// Any output of a step by every format: reading is total and bounded, and does not depend on
/// pieces, colours or ends of lines.
pub fn output(bytes: &[u8]) {
    super::readings::bytes(bytes).unwrap();
}

/// Any bytes as a list of changed files: total; what is read can be written and read again, names
/// no file outside, and is made of the bytes that are there.
pub fn changes(bytes: &[u8]) {
    for format in [ListFormat::Names, ListFormat::NameStatus, ListFormat::Raw] {
        for nul in [false, true] {
            match parse(bytes, format, nul) {
                Ok(files) => {
                    assert_eq!(
                        parse(&encode(&files, format, nul), format, nul).as_ref(),
                        Ok(&files)
                    );
                    for file in &files {
                        let path = file.path.as_bytes();
                        assert!(!path.is_empty() && path[0] != b'/' && !path.contains(&0));
                        assert!(
                            path.split(|b| *b == b'/')
                                .all(|name| !matches!(name, b"" | b"." | b".."))
                        );
                        let is_there = |name: &[u8]| bytes.windows(name.len()).any(|w| w == name);
                        let names = path.split(|b| *b == b'/');
                        assert!(
                            bytes.contains(&b'\\') || names.clone().all(is_there),
                            "from nowhere: {:?}",
                            file.path
                        );
                    }
                }
                Err(error) => assert!(
                    error.number >= 1 && !error.problem.to_string().contains(['\n', '\u{1b}']),
                    "{error:?}"
                ),
            }
        }
    }
}

/// Any bytes that git may print, or keep in its index: total, and no path is invented.
pub fn git(bytes: &[u8]) {
    vplan::effect::git::oracle::bytes(bytes).unwrap();
}

/// A makefile, a zero, a manifest: what is said to be there stands there, and what stands there
/// plainly is not said to be missing.
pub fn facts(bytes: &[u8]) {
    let [make, json] = fields(bytes);
    let plain: BTreeSet<&[u8]> = make
        .split(|b| *b == b'\n')
        .filter_map(|line| line.iter().position(|b| *b == b':').map(|at| &line[..at]))
        .filter(|name| !name.is_empty() && name.iter().all(|b| b.is_ascii_lowercase()))
        .collect();
    if let Some(targets) = makefile::targets(make) {
        for name in &targets {
            let is_there = make
                .windows(name.len().max(1))
                .any(|w| w == name.as_slice());
            assert!(
                is_there,
                "a target from nowhere: {:?}",
                String::from_utf8_lossy(name)
            );
        }
        // A name in the first column is a target, if nothing joins its line to the one before.
        if !make.contains(&b'\\') && !make.windows(6).any(|w| w == b"define") {
            for name in plain {
                let line = [name, b":"].concat();
                let assigns = |b: Option<&u8>| matches!(b, Some(b'=' | b':'));
                let all = make.split(|b| *b == b'\n').filter(|l| l.starts_with(&line));
                let is_rule = all.clone().next().is_some()
                    && all
                        .clone()
                        .all(|l| !assigns(l.get(line.len())) && !l.contains(&b'='));
                assert!(
                    !is_rule || targets.contains(name),
                    "{:?} is missing",
                    String::from_utf8_lossy(name)
                );
            }
        }
    }
    match (
        package::read(json),
        serde_json::from_slice::<serde_json::Value>(json),
    ) {
        (Some(manifest), Ok(value)) => {
            let scripts = value
                .get("scripts")
                .and_then(|s| s.as_object())
                .cloned()
                .unwrap_or_default();
            assert_eq!(manifest.scripts.len(), scripts.len());
            assert!(
                manifest
                    .scripts
                    .iter()
                    .all(|(name, command)| scripts[name] == **command)
            );
        }
        (None, Ok(value)) => {
            let scripts = value.get("scripts");
            let fine = scripts.is_none_or(|s| {
                s.is_null()
                    || s.as_object()
                        .is_some_and(|o| o.values().all(|v| v.is_string()))
            });
            assert!(!(value.is_object() && fine), "refused: {value}");
        }
        (Some(_), Err(error)) => assert!(
            json.starts_with(b"\xef\xbb\xbf"),
            "no JSON, and accepted: {error}"
        ),
        (None, Err(_)) => {}
    }
}
