//! Any text is read.

use super::super::{Body, body, kit};
use super::{tree, words};
use crate::base::path::RepoPath;

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    /// Any text is read without a panic, within the bounds.
    #[test]
    fn any_text(text in "([a-zA-Z0-9 \\t\\n:=$(){}@%'\"#,\\[\\]\\\\./-]|all|\\n\\t|\\n    |test: |session.run\\(|\\{posargs:|\\{\\{|é){0,200}") {
        const FILES: [&str; 10] = [
            "Makefile", "justfile", "mise.toml", "tox.ini", "noxfile.py", "package.json", "pyproject.toml",
            "Taskfile.yml", "composer.json", "x.sh",
        ];
        const COMMANDS: [&str; 14] = [
            "make", "make all", "just", "just all", "mise run all", "tox", "tox -e all", "nox", "npm run all",
            "run-p all *", "hatch run all", "task all", "composer all", "./x.sh a b",
        ];
        let files: Vec<(&str, &str)> = FILES.iter().map(|file| (*file, text.as_str())).collect();
        let tree = tree(&files);
        for command in COMMANDS {
            if let Body::Lines(lines) = body(&tree, &RepoPath::root(), &words(command)) {
                proptest::prop_assert!(lines.len() <= kit::MAX_LINES);
                proptest::prop_assert!(lines.iter().all(|l| l.text.len() <= kit::MAX_TEXT));
            }
        }
        let mut found = crate::declared::candidate::Declarations::default();
        crate::declared::manifests::read(&tree, &mut found);
        crate::declared::runners::apply(&tree, &mut found);
    }
}
