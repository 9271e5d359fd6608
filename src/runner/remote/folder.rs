//! The transport that copies folders: each try has a separate folder below one that the operator
//! names, where another vplan executes it.

use super::back::{ANSWER, Back, ORDER, OUT, WORK};
use super::lost::Lost;
use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vplan_away::order::{MOST, MOST_BYTES, SentOrder, WorkOrder};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_base::word::visible;
use vplan_os::environment::StepEnvironment;
use vplan_os::files::beneath::Beneath;
use vplan_os::files::read_plain;
use vplan_os::process::ask::{self, Ask, ask};
use vplan_os::process::pool::Pool;
use vplan_os::process::program::Root;
use vplan_os::process::stop::StopRequest;
use vplan_os::scratch::{Scratch, ScratchKind};
use vplan_reuse::key::Print;
use vplan_store::reuse::content::copy;

/// The folders of tries.
const TRIES: ScratchKind = ScratchKind {
    prefix: "vplan-step-",
    remove: |path| std::fs::remove_dir_all(path),
};
/// Extra time after a try's limit, before it is killed from here.
const OVERTIME: Duration = Duration::from_secs(40);
/// Limit of the far side's output, without its answer, in bytes.
const MOST_SAID: usize = 64 << 10;

/// Executes tries in folders of their own.
#[derive(Debug)]
pub struct FolderTransport {
    dir: PathBuf,
    binary: PathBuf,
    pool: Pool,
}

impl FolderTransport {
    /// Makes it. `dir`: the folder below which tries have theirs, without links; `binary`: the vplan that
    /// executes them.
    pub fn new(dir: PathBuf, binary: PathBuf) -> Self {
        let pool = Pool::new(None);
        Self { dir, binary, pool }
    }

    /// Sends an order, and fetches the outcome.
    ///
    /// # Errors
    /// No outcome could be fetched.
    pub(super) fn carry(
        &self,
        sent: &SentOrder<'_>,
        beneath: &Beneath,
        environment: &StepEnvironment,
        stop: &StopRequest,
        began: &dyn Fn(),
    ) -> Result<Back<'_>, Lost> {
        let folder = Scratch::below(&self.dir, TRIES)?;
        put_in(folder.path(), sent.order, beneath)?;
        std::fs::write(folder.path().join(ORDER), sent.text)?;
        began();
        let root = Root::open(folder.path())?;
        let argv = [
            Word::new(self.binary.as_os_str().as_bytes()),
            Word::from("step"),
            Word::from(ORDER),
        ];
        let asked = Ask {
            root: &root,
            search: &environment.search,
            argv: &argv,
            env: &environment.variables,
            question: b"",
            limit: Duration::from_millis(sent.order.limit_ms) + OVERTIME,
            most: MOST_SAID,
            stop: Some(stop),
        };
        ask(&self.pool, &asked).map_err(|why| Lost::Again(describe(&why)))?;
        let answer = read_plain(&folder.path().join(ANSWER), MOST);
        let answer = answer.map_err(|error| Lost::Again(format!("it left no answer: {error}")))?;
        Ok(Back {
            answer,
            folder: folder.path().to_owned(),
            _held: Box::new(folder),
            engine: "folder",
            worker: None,
            products: None,
        })
    }
}

fn describe(why: &ask::NoAnswer) -> String {
    let stderr = match why {
        ask::NoAnswer::Failed { stderr, .. } => stderr.as_slice(),
        _ => b"",
    };
    let lines = stderr.rsplit(|byte| *byte == b'\n');
    let last = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    last.map_or_else(
        || format!("the vplan there gave no answer: {why}"),
        |line| format!("the vplan there gave no answer: {why}: {}", visible(line)),
    )
}

/// Puts the files of an order into a folder.
fn put_in(folder: &Path, order: &WorkOrder, beneath: &Beneath) -> Result<(), Lost> {
    let work = folder.join(WORK);
    for new in [WORK, "vplan", OUT] {
        std::fs::create_dir(folder.join(new))?;
    }
    let mut folders: BTreeSet<RepoPath> =
        order.files.iter().map(|(path, _)| path.folder()).collect();
    folders.insert(order.step.dir.clone());
    for folder in &folders {
        std::fs::create_dir_all(work.join(folder.to_os()))?;
    }
    let mut bytes: u64 = 0;
    for (path, print) in &order.files {
        let to = work.join(path.to_os());
        bytes = bytes.saturating_add(put(path, print, &to, beneath)?);
        if bytes > MOST_BYTES {
            return Err(Lost::Never("it depends on more than 2 GiB".to_owned()));
        }
    }
    Ok(())
}

/// Puts one file there. Returns its bytes.
fn put(path: &RepoPath, print: &Print, to: &Path, beneath: &Beneath) -> Result<u64, Lost> {
    if let Some(target) = &print.link {
        symlink(std::ffi::OsStr::from_bytes(target.as_bytes()), to)?;
        return Ok(0);
    }
    // A concurrent write causes another try. If it happens each time, the step has no answer.
    let written = || Lost::Again(format!("`{path}` was written while it was sent"));
    let from = beneath.file(path).map_err(|_| written())?;
    let mut new = File::create_new(to)?;
    let (digest, size) = copy(from, &mut new)?;
    if Some(&digest) != print.content.as_ref() {
        return Err(written());
    }
    new.set_permissions(Permissions::from_mode(print.mode))?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_away::order::OrderTerms;
    use vplan_base::canon::Digest;
    use vplan_reuse::key::KeyPrints;

    #[test]
    fn a_file_that_is_written_meanwhile_is_not_sent() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, there) = (dir.path().join("tree"), dir.path().join("there"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::create_dir_all(&there).unwrap();
        std::fs::write(tree.join("a"), "1").unwrap();
        symlink("a", tree.join("b")).unwrap();
        let beneath = Beneath::open(&tree).unwrap();
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let file = Print {
            content: Some(Digest::hash(b"1")),
            link: None,
            mode: 0o755,
        };
        let link = Print {
            content: None,
            link: Some(Word::from("a")),
            mode: 0o644,
        };
        let order = WorkOrder::new(
            &step("x"),
            OrderTerms {
                files: KeyPrints::from([(path("a"), file), (path("b"), link)]),
                limit_ms: 1,
                max_output: 1,
                nonce: [0; 16],
                plan: Digest::hash(b""),
                variables: Default::default(),
            },
        );
        assert!(put_in(&there, &order, &beneath).is_ok());
        assert_eq!(std::fs::read(there.join("work/b")).unwrap(), b"1");
        let mode = there
            .join("work/a")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        std::fs::write(tree.join("a"), "2").unwrap();
        let there = dir.path().join("again");
        std::fs::create_dir_all(&there).unwrap();
        assert!(matches!(
            put_in(&there, &order, &beneath),
            Err(Lost::Again(_))
        ));
    }
}
