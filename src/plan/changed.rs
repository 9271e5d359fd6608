//! Expands `{changed}` to arguments of a command.

use super::facts::{FactAnswer, Facts, Question};
use std::collections::BTreeSet;
use vplan_base::change::{ChangeSet, ChangedFile, ChangedIndex, Status};
use vplan_base::command::Piece;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;

/// Most bytes of arguments of one command, each counted with its closing zero.
pub const MOST_BYTES: usize = 128 * 1024;
/// Most files of one command.
pub const MOST_FILES: usize = 4_000;

/// The changed files that still exist, as far as is known.
pub(super) struct Existing<'a> {
    changes: &'a ChangeSet,
    missing: BTreeSet<&'a [u8]>,
}

impl<'a> Existing<'a> {
    pub fn new(changes: &'a ChangeSet, facts: &'a Facts) -> Self {
        let missing = match facts.get(&Question::MissingChanged) {
            Some(FactAnswer::List(list)) => list.iter().map(Word::as_bytes).collect(),
            Some(FactAnswer::Word(_)) | None => BTreeSet::new(),
        };
        Self { changes, missing }
    }

    /// Whether existence must be looked up: a deleted file is known to be gone.
    pub fn is_open(&self) -> bool {
        let mut files = self.changes.files().iter();
        files.any(|file| file.status != Status::Deleted)
    }

    /// Returns the arguments for some of the changed files, given in byte order: those that exist
    /// below `dir`, relative to it.
    pub fn arguments(&self, files: &[ChangedIndex], dir: &RepoPath) -> Vec<Word> {
        let files = files.iter().map(|index| self.changes.file(*index));
        self.existing(files, dir)
    }

    fn existing<'f>(
        &self,
        files: impl Iterator<Item = &'f ChangedFile>,
        dir: &RepoPath,
    ) -> Vec<Word> {
        let argument = |file: &ChangedFile| {
            let gone =
                file.status == Status::Deleted || self.missing.contains(file.path.as_bytes());
            let name = file.path.below(dir).filter(|_| !gone)?;
            Some(match name {
                [b'-' | b'@', ..] => Word::new([b"./", name].concat()),
                name => Word::new(name),
            })
        };
        files.filter_map(argument).collect()
    }

    /// Returns all changed files below `dir`.
    pub fn all(&self, dir: &RepoPath) -> Vec<Word> {
        self.existing(self.changes.files().iter(), dir)
    }
}

/// Returns the argument vectors of a command: more than one when the files are too many for one.
pub(super) fn batches(pieces: &[Piece], files: &[Word]) -> Vec<Vec<Word>> {
    let times = pieces.iter().filter(|p| **p == Piece::Changed).count();
    let size = |w: &Word| w.as_bytes().len() + 1;
    let sizes = pieces.iter().map(|piece| match piece {
        Piece::Word(word) => size(word),
        Piece::Changed => 0,
    });
    let fixed: usize = sizes.sum();
    let fill = |files: &[Word]| {
        let mut argv = Vec::with_capacity(pieces.len() + times * files.len());
        for piece in pieces {
            match piece {
                Piece::Word(word) => argv.push(word.clone()),
                Piece::Changed => argv.extend(files.iter().cloned()),
            }
        }
        argv
    };
    if times == 0 {
        return vec![fill(&[])];
    }
    let mut batches = Vec::new();
    let mut from = 0;
    let mut bytes = fixed;
    for (at, file) in files.iter().enumerate() {
        let more = times * size(file);
        if at > from && (at - from == MOST_FILES || bytes + more > MOST_BYTES) {
            batches.push(fill(files.get(from..at).unwrap_or_default()));
            from = at;
            bytes = fixed;
        }
        bytes += more;
    }
    batches.push(fill(files.get(from..).unwrap_or_default()));
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let file = |path: &str, status| ChangedFile {
            path: RepoPath::parse(path.as_bytes()).unwrap(),
            status,
        };
        let changes = ChangeSet::new(vec![
            file("d/-x", Status::Added),
            file("d/@y", Status::Modified),
            file("d/gone", Status::Deleted),
            file("d/lost", Status::Modified),
            file("e", Status::Modified),
        ]);
        let mut facts = Facts::default();
        facts.add(
            Question::MissingChanged,
            FactAnswer::List(vec![Word::from("d/lost")]),
        );
        let existing = Existing::new(&changes, &facts);
        let dir = RepoPath::parse(b"d").unwrap();
        assert_eq!(existing.all(&dir), [Word::from("./-x"), Word::from("./@y")]);
        assert_eq!(
            existing.all(&RepoPath::root()),
            [Word::from("d/-x"), Word::from("d/@y"), Word::from("e")]
        );
    }

    #[test]
    fn batches_by_count_and_by_size() {
        let pieces = [
            Piece::Word(Word::from("cat")),
            Piece::Changed,
            Piece::Word(Word::from("end")),
        ];
        let names = |n: usize, len: usize| {
            (0..n)
                .map(|i| Word::from(format!("{i:0len$}")))
                .collect::<Vec<_>>()
        };
        for (n, len, want) in [
            (1, 5, 1),
            (4_000, 5, 1),
            (4_001, 5, 2),
            (1_284, 101, 1),
            (1_285, 101, 2),
            (12_001, 5, 4),
        ] {
            let files = names(n, len);
            let got = batches(&pieces, &files);
            assert_eq!(got.len(), want, "{n} x {len}");
            let back: Vec<Word> = got
                .iter()
                .flat_map(|argv| argv[1..argv.len() - 1].to_vec())
                .collect();
            assert_eq!(back, files);
            assert!(got.iter().all(
                |argv| argv.iter().map(|w| w.as_bytes().len() + 1).sum::<usize>() <= MOST_BYTES
            ));
        }
        assert_eq!(batches(&pieces[..1], &[]), [vec![Word::from("cat")]]);
    }
}
