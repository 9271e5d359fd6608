//! The names of checks: of the task or tool; where two would be equal with the folder, what is
//! different in their words, the step, a number.

use crate::check::ProposedCheck;
use std::collections::BTreeSet;

/// The most characters that tell a check from others of its name.
const MAX_MARK: usize = 24;

/// Makes the names unique.
pub fn name(mut checks: Vec<ProposedCheck>) -> Vec<ProposedCheck> {
    let marks: Vec<Vec<String>> = checks.iter().map(|own| wanted(&checks, own)).collect();
    let mut taken = BTreeSet::new();
    for (check, wanted) in checks.iter_mut().zip(marks) {
        let numbered = (2..).map(|number: u64| format!("{}-{number}", check.name));
        let mut all = wanted.into_iter().chain(numbered);
        let free = all.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(free.clone());
        check.name = free;
    }
    checks
}

fn wanted(checks: &[ProposedCheck], own: &ProposedCheck) -> Vec<String> {
    let same = checks.iter().filter(|check| check.name == own.name);
    let same: Vec<&ProposedCheck> = same.collect();
    let mut wanted = Vec::new();
    if same.len() == 1 || own.found.dir.is_root() {
        wanted.push(own.name.clone());
    }
    if !own.found.dir.is_root() {
        let folder = word(&String::from_utf8_lossy(own.found.dir.name()));
        wanted.push(format!("{folder}-{}", own.name));
        let path = word(&own.found.dir.to_string());
        wanted.push(format!("{path}-{}", own.name));
    }
    let is_rare = |word: &&String| !same.iter().all(|check| check.found.words.contains(word));
    let rare = own.found.words.iter().skip(1).filter(is_rare).cloned();
    let (options, operands): (Vec<String>, _) = rare.partition(|word| word.starts_with('-'));
    for rare in [operands, options, vec![own.found.label.clone()]] {
        let mark = word(&rare.join("-"));
        if !rare.is_empty() && mark.len() <= MAX_MARK && mark != own.name && mark != "check" {
            wanted.push(format!("{}-{mark}", own.name));
        }
    }
    wanted
}

/// A text as a name of the language.
pub fn word(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(40) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    match out.trim_matches('-') {
        "" => "check".to_owned(),
        out if out.starts_with(|c: char| c.is_ascii_digit()) => format!("c-{out}"),
        out => out.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::check;
    use vplan_base::path::RepoPath;

    #[test]
    fn names_are_unique_and_say_what_is_different() {
        let mut web = check("npm test");
        web.found.dir = RepoPath::parse(b"web").unwrap();
        let mut all = vec![
            check("cargo test"),
            check("cargo test --doc"),
            check("cargo test"),
            web,
        ];
        for check in &mut all {
            check.name = "test".to_owned();
        }
        let names: Vec<String> = name(all).into_iter().map(|check| check.name).collect();
        assert_eq!(names, ["test", "test-doc", "test-2", "web-test"]);
    }

    #[test]
    fn words_are_names() {
        for (text, want) in [
            ("Test:Unit", "test-unit"),
            ("", "check"),
            ("3d", "c-3d"),
            ("é", "check"),
        ] {
            assert_eq!(word(text), want, "{text}");
        }
    }
}
