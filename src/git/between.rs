//! Lists the differences between two commits, with one call of git and without reading any content.

use super::error::GitError;
use super::object::Oid;
use super::{Git, words};
use vplan_base::path::RepoPath;

/// The mode and id that a commit has at a path; `None` if it has no entry there.
pub type DiffSide = Option<(u32, Oid)>;

/// The arguments of the call.
const DIFFERENCE: &str = "diff-tree -r --raw -z --no-renames --no-abbrev --no-ext-diff --no-textconv \
                          --no-relative --ignore-submodules=none";

impl Git {
    /// Returns git's output about the difference from one commit to another, which [`read`] parses.
    ///
    /// # Errors
    /// Errors of git.
    pub fn difference(&self, from: &Oid, to: &Oid) -> Result<Vec<u8>, GitError> {
        self.ask(&words(DIFFERENCE, [from.to_string(), to.to_string()]))
    }
}

/// Parses every path that differs, with the entry in the first commit of the comparison. `None` for
/// text that git does not write.
pub fn read(difference: &[u8]) -> Option<Vec<(RepoPath, DiffSide)>> {
    let mut fields = difference
        .strip_suffix(b"\0")
        .unwrap_or(difference)
        .split(|b| *b == 0);
    let mut changes = Vec::new();
    if difference.is_empty() {
        return Some(changes);
    }
    while let Some(head) = fields.next() {
        let path = RepoPath::from_exact(fields.next()?)?;
        let words: Vec<&[u8]> = head.strip_prefix(b":")?.split(|b| *b == b' ').collect();
        let [mode, _, id, _, letter] = words.as_slice() else {
            return None;
        };
        if !matches!(letter, [b'A' | b'D' | b'M' | b'T' | b'U']) {
            return None;
        }
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        let at = match mode {
            0 => None,
            _ => Some((mode, Oid::parse(id)?)),
        };
        changes.push((path, at));
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_records() {
        let (a, b) = ("1".repeat(40), "2".repeat(40));
        let text = format!(":100644 100755 {a} {b} M\0x\ny\0:000000 100644 {a} {b} A\0n\0");
        let changes = read(text.as_bytes()).unwrap();
        assert_eq!(
            changes
                .iter()
                .map(|(path, _)| path.as_bytes())
                .collect::<Vec<_>>(),
            [&b"x\ny"[..], b"n"]
        );
        assert_eq!(
            changes[0].1,
            Oid::parse(a.as_bytes()).map(|id| (0o100_644, id))
        );
        assert_eq!(changes[1].1, None);
        assert_eq!(read(b""), Some(Vec::new()));
        for bad in [
            "x",
            ":1 2 3 4 M\0",
            ":100644 100644 1 2 M\0a\0",
            ":100644\0a\0",
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
    }
}
