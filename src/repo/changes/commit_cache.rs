//! Caches facts about commits in the state directory, by commit ids, which never change their
//! meaning.
//!
//! Missing or damaged entries only cost time: each line carries the digest of its content.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use vplan_base::canon::Digest;
use vplan_os::files;
use vplan_os::state_dir::StateDir;

/// The file's name in the state directory.
const NAME: &str = "commits";
/// The name of the one long answer.
const LARGE: &str = "difference";
/// Size limit of the long answer, in bytes.
const MAX_LARGE: u64 = 64 << 20;
/// Maximum number of stored answers; the oldest are dropped.
const MOST: usize = 512;
/// Size limit of the file, in bytes.
const MAX: u64 = 1 << 20;

/// Answers to questions about commits.
#[derive(Debug, Default)]
pub struct CommitCache {
    /// The folder of all repositories' state, and the root of this one.
    place: Option<(PathBuf, PathBuf)>,
    /// Read on the first query.
    lines: RefCell<Option<Vec<(String, String)>>>,
}

impl CommitCache {
    /// Makes a cache that lasts no longer than this process.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Makes a cache in the state directory of the repository at `root`, below `base`.
    pub fn below(base: PathBuf, root: &Path) -> Self {
        Self {
            place: Some((base, root.to_owned())),
            lines: RefCell::default(),
        }
    }

    /// Returns the answer to a question. Neither has a tab or a line end.
    pub fn get(&self, question: &str) -> Option<String> {
        if self.lines.borrow().is_none() {
            let lines = self.read();
            *self.lines.borrow_mut() = Some(lines);
        }
        let lines = self.lines.borrow();
        lines
            .iter()
            .flatten()
            .find(|(q, _)| q == question)
            .map(|(_, answer)| answer.clone())
    }

    /// Stores an answer. A failure to store it only costs time.
    pub fn put(&self, question: &str, answer: &str) {
        if [question, answer]
            .iter()
            .any(|text| text.contains(['\t', '\n', '\r']))
        {
            return;
        }
        // Others may have stored something meanwhile. Of two simultaneous entries, one is lost and
        // computed again.
        let mut lines = self.read();
        lines.retain(|(q, _)| q != question);
        lines.push((question.to_owned(), answer.to_owned()));
        let surplus = lines.len().saturating_sub(MOST);
        lines.drain(..surplus);
        if let Some((base, root)) = &self.place {
            let text: String = lines
                .iter()
                .map(|(q, a)| format!("{}\t{q}\t{a}\n", sum(q, a)))
                .collect();
            match StateDir::open(base, root)
                .map(|state| files::replace(&state.path.join(NAME), text.as_bytes()))
            {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "not kept"),
                Err(error) => tracing::debug!(%error, "not kept"),
            }
        }
        *self.lines.borrow_mut() = Some(lines);
    }

    /// Returns the long answer to a question, if it was the last one of its kind.
    pub fn large(&self, question: &str) -> Option<Vec<u8>> {
        let (base, root) = self.place.as_ref()?;
        let state = StateDir::find(base, root).ok()??;
        let bytes = files::read_plain(&state.path.join(LARGE), MAX_LARGE).ok()?;
        let (head, answer) = bytes.split_at_checked(bytes.iter().position(|b| *b == b'\n')? + 1)?;
        (head == large_head(question, answer).as_bytes()).then(|| answer.to_vec())
    }

    /// Stores an answer of any bytes in place of the previous one.
    pub(crate) fn put_large(&self, question: &str, answer: &[u8]) {
        let Some((base, root)) = &self.place else {
            return;
        };
        if answer.len() as u64 > MAX_LARGE / 2 {
            return;
        }
        let bytes = [large_head(question, answer).as_bytes(), answer].concat();
        if let Ok(state) = StateDir::open(base, root)
            && let Err(error) = files::replace(&state.path.join(LARGE), &bytes)
        {
            tracing::debug!(%error, "not kept");
        }
    }

    fn read(&self) -> Vec<(String, String)> {
        let Some((base, root)) = &self.place else {
            return self.lines.borrow().clone().unwrap_or_default();
        };
        let Ok(Some(state)) = StateDir::find(base, root) else {
            return Vec::new();
        };
        let bytes = files::read_plain(&state.path.join(NAME), MAX).unwrap_or_default();
        let whole = |line: &str| {
            let mut fields = line.split('\t');
            let (sum_of, question, answer) = (fields.next()?, fields.next()?, fields.next()?);
            (fields.next().is_none() && sum(question, answer) == sum_of)
                .then(|| (question.to_owned(), answer.to_owned()))
        };
        String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(whole)
            .collect()
    }
}

fn large_head(question: &str, answer: &[u8]) -> String {
    format!("{question}\t{}\n", Digest::hash(answer))
}

fn sum(question: &str, answer: &str) -> String {
    let digest = Digest::hash(format!("{question}\t{answer}").as_bytes()).hex();
    digest.get(..32).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_asked_again() {
        let (state, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = || CommitCache::below(state.path().join("s"), tree.path());
        assert_eq!(kept().get("a b"), None);
        kept().put("a b", "c");
        kept().put("d", "");
        kept().put("a b", "e");
        kept().put("x\ty", "never");
        assert_eq!(
            (kept().get("a b"), kept().get("d")),
            (Some("e".to_owned()), Some(String::new()))
        );
        let path = StateDir::find(&state.path().join("s"), tree.path())
            .unwrap()
            .unwrap()
            .path
            .join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        std::fs::write(&path, text.replace("\te\n", "\tf\n")).unwrap();
        assert_eq!(
            (kept().get("a b"), kept().get("d")),
            (None, Some(String::new()))
        );
        std::fs::write(&path, b"\xff\xfe\0").unwrap();
        assert_eq!(kept().get("d"), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        kept().put("d", "g");
        assert_eq!(kept().get("d"), None);
    }

    #[test]
    fn a_long_answer_is_kept_until_the_next() {
        let (state, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = CommitCache::below(state.path().join("s"), tree.path());
        assert_eq!(kept.large("a"), None);
        kept.put_large("a", b"x\0\ny");
        assert_eq!(kept.large("a").as_deref(), Some(&b"x\0\ny"[..]));
        assert_eq!(kept.large("b"), None);
        let path = StateDir::find(&state.path().join("s"), tree.path())
            .unwrap()
            .unwrap()
            .path
            .join(LARGE);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = b'z';
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(kept.large("a"), None);
    }

    #[test]
    fn the_newest_answers_are_kept() {
        let kept = CommitCache::nowhere();
        for number in 0..MOST + 3 {
            kept.put(&number.to_string(), "x");
        }
        assert_eq!((kept.get("2"), kept.get("3").as_deref()), (None, Some("x")));
    }
}
