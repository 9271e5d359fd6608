//! Remembers how each run ended, as vplan itself recorded it: `ended/` in the state directory, one
//! small file a run, written when its record is whole.
//!
//! A process that can write the repository can write `.vplan/` too. A record is trusted only if it
//! is the one remembered here; any other one is of unknown origin. No process waits for another:
//! each run writes its own file. Nothing is synced to disk: a file that a loss of power damages
//! cannot be read, and its record is not trusted.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use std::io;
use vplan_base::canon::to_canonical;
use vplan_os::atomic_file::{CACHED, NEW, replace};
use vplan_os::retry_eintr::read_dir;
use vplan_os::state_dir::StateDir;
use vplan_os::state_files;
use vplan_run::recorded_answer::EndedRun;
use vplan_run::run_summary::{is_one_in_sixteen, is_run_id};

/// The folder in the state directory.
pub const FOLDER: &str = "ended";
/// The number of runs that are remembered at least, the newest.
const MOST: usize = 2000;
/// Size limit of a file that is read, in bytes.
const LARGEST: u64 = 4096;

/// The remembered runs of a repository.
#[derive(Debug)]
pub struct Vault {
    folder: OwnedFd,
}

impl Vault {
    /// Opens the folder; makes it if it is not there.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(state: &StateDir) -> io::Result<Self> {
        let folder = state_files::folder(&state.folder, FOLDER)?;
        Ok(Self { folder })
    }

    /// Opens the folder for reading only: nothing is made.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn find(state: &StateDir) -> io::Result<Option<Self>> {
        match state_files::find(&state.folder, FOLDER) {
            Ok(folder) => Ok(Some(Self { folder })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Remembers a run. One run in sixteen forgets the oldest ones beyond the bound: to list thousands
    /// costs more than a small run.
    ///
    /// # Errors
    /// Errors of the system; the run is not remembered then.
    pub fn put(&self, ended: &EndedRun) -> io::Result<()> {
        if !is_run_id(&ended.run_id) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let text = to_canonical(ended);
        replace(&self.folder, &ended.run_id, text.as_bytes(), CACHED)?;
        if is_one_in_sixteen(&ended.run_id) {
            self.forget_the_oldest(MOST);
        }
        Ok(())
    }

    /// Returns what is remembered of a run; `None` also where that cannot be read.
    pub fn get(&self, id: &str) -> Option<EndedRun> {
        if !is_run_id(id) {
            return None;
        }
        let bytes = state_files::read(&self.folder, id, LARGEST).ok()?;
        let ended: EndedRun = serde_json::from_slice(&bytes).ok()?;
        (ended.run_id == id && ended.version == 1).then_some(ended)
    }

    /// Returns the remembered runs, newest first.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let mut ids = self.names(is_run_id)?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// Forgets a run whose record was removed.
    pub fn forget(&self, id: &str) {
        if is_run_id(id) {
            let _ = unlinkat(&self.folder, id, AtFlags::empty());
        }
    }

    fn names(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in read_dir(&self.folder)? {
            if let Ok(name) = entry?.file_name().to_str()
                && wanted(name)
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Removes files beyond the bound. A process that is killed before it has renamed its file
    /// leaves one that, sooner or later, belongs to a run older than those that are kept.
    fn forget_the_oldest(&self, most: usize) {
        let Ok(ids) = self.ids() else { return };
        let Some(oldest) = most.checked_sub(1).and_then(|last| ids.get(last)) else {
            return;
        };
        for id in ids.iter().skip(most) {
            self.forget(id);
        }
        let unfinished = |name: &str| {
            name.strip_prefix('.')
                .and_then(|name| name.split_once(NEW))
                .is_some_and(|(id, _)| is_run_id(id) && id < oldest.as_str())
        };
        for name in self.names(unfinished).unwrap_or_default() {
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use vplan_base::canon::Digest;
    use vplan_plan::Coverage;
    use vplan_run::verdict::Verdict;

    fn id(n: u32) -> String {
        format!("20260101T000000.{n:03}Z-{n:032x}")
    }

    fn ended(n: u32) -> EndedRun {
        EndedRun {
            coverage: Coverage::Full,
            exit_code: 0,
            plan_digest: Some(Digest::hash(b"plan")),
            report: Some(Digest::hash(&n.to_le_bytes())),
            run_id: id(n),
            tree: Some("sha256:0".to_owned()),
            verdict: Verdict::Passed,
            version: 1,
        }
    }

    fn vault() -> (tempfile::TempDir, StateDir, Vault) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("state"), dir.path()).unwrap();
        let vault = Vault::open(&state).unwrap();
        (dir, state, vault)
    }

    #[test]
    fn what_is_written_is_read() {
        let (_dir, state, vault) = vault();
        vault.put(&ended(1)).unwrap();
        vault.put(&ended(2)).unwrap();
        assert_eq!(vault.get(&id(1)), Some(ended(1)));
        assert_eq!(vault.ids().unwrap(), [id(2), id(1)]);
        assert_eq!(
            Vault::find(&state).unwrap().unwrap().get(&id(2)),
            Some(ended(2))
        );
        vault.forget(&id(1));
        assert_eq!((vault.get(&id(1)), vault.get("../x")), (None, None));
        assert!(
            vault
                .put(&EndedRun {
                    run_id: "../x".to_owned(),
                    ..ended(1)
                })
                .is_err()
        );
    }

    #[test]
    fn a_look_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("state"), dir.path()).unwrap();
        assert!(Vault::find(&state).unwrap().is_none());
        assert!(!state.path.join(FOLDER).exists());
    }

    #[test]
    fn what_is_damaged_is_not_known() {
        let (_dir, state, vault) = vault();
        vault.put(&ended(1)).unwrap();
        let path = state.path.join(FOLDER).join(id(1));
        let whole = fs::read_to_string(&path).unwrap();
        for damage in [
            "",
            "{}",
            &whole[..whole.len() - 1],
            &whole.replace("\"version\":1", "\"version\":2"),
            &" ".repeat(5000),
        ] {
            fs::write(&path, damage).unwrap();
            assert_eq!(vault.get(&id(1)), None, "{damage}");
        }
        // The entry of another run.
        fs::write(&path, to_canonical(&ended(2))).unwrap();
        assert_eq!(vault.get(&id(1)), None);
        fs::remove_file(&path).unwrap();
        let elsewhere = state.path.join("elsewhere");
        fs::write(&elsewhere, whole).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(vault.get(&id(1)), None, "a symlink is not followed");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(vault.get(&id(1)), None);
        assert!(vault.put(&ended(1)).is_err());
        assert_eq!(
            fs::read_dir(state.path.join(FOLDER)).unwrap().count(),
            1,
            "nothing unfinished stays"
        );
    }

    #[test]
    fn only_the_newest_are_remembered() {
        let (_dir, state, vault) = vault();
        fs::write(
            state.path.join(FOLDER).join(format!(".{}{NEW}1", id(1))),
            "{",
        )
        .unwrap();
        for n in 1..=5 {
            vault.put(&ended(n)).unwrap();
        }
        fs::write(
            state.path.join(FOLDER).join(format!(".{}{NEW}1", id(9))),
            "{",
        )
        .unwrap();
        vault.forget_the_oldest(3);
        assert_eq!(vault.ids().unwrap(), [id(5), id(4), id(3)]);
        assert_eq!(
            fs::read_dir(state.path.join(FOLDER)).unwrap().count(),
            4,
            "one that may still be written stays"
        );
    }

    #[test]
    fn many_runs_at_once() {
        let (_dir, state, _vault) = vault();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let state = &state;
                scope.spawn(move || {
                    let vault = Vault::open(state).unwrap();
                    (0..20).for_each(|i| vault.put(&ended(n * 20 + i)).unwrap());
                });
            }
        });
        let vault = Vault::open(&state).unwrap();
        assert_eq!(vault.ids().unwrap().len(), 160);
        assert!((0..160).all(|n| vault.get(&id(n)) == Some(ended(n))));
    }
}
