//! Returns the program that a command starts, by which formats recognise their own tool.

/// The name of the program: without directory and `.exe`.
#[must_use]
pub fn program<'a>(argv: &[&'a str]) -> &'a str {
    let first = argv.first().copied().unwrap_or_default();
    let name = first.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether a command starts one of these programs, with this as one of its words.
#[must_use]
pub fn starts(argv: &[&str], programs: &[&str], word: &str) -> bool {
    programs.contains(&program(argv)) && argv.iter().skip(1).any(|w| *w == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        for (words, want) in [
            (&["/usr/bin/go", "test"][..], "go"),
            (&["C:\\x\\dotnet.exe"], "dotnet"),
            (&["gcc"], "gcc"),
            (&[], ""),
        ] {
            assert_eq!(program(words), want);
        }
        assert!(starts(&["go", "-C", "d", "test"], &["go"], "test"));
        assert!(!starts(&["test", "go"], &["go"], "test"));
    }
}
