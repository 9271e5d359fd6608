//! The kinds of files that declare commands, by the table of tools.

use std::sync::LazyLock;
use vplan_check::tool::table::columns;

/// A kind of file that declares commands: of CI, of hooks, of a task runner. Lists are words of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name: that of `import --from`.
    pub key: &'static str,
    /// What starts its commands; empty for CI.
    pub programs: &'static str,
    /// Its files, in the order in which the program looks for them.
    files: &'static str,
    /// The words in front of a task's name; empty where there are no tasks.
    pub(crate) start: &'static str,
    /// Where its tasks are, if they are in mappings from names to commands; `*` is the name of an environment.
    pub(crate) keys: &'static str,
}

/// The kinds, by the table of tools. Their order decides which names a task where two runners have it.
pub static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let kinds = columns("source").map(|[key, programs, files, start, keys]| Kind {
        key,
        programs,
        files,
        start,
        keys,
    });
    kinds.collect()
});

impl Kind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.key
    }

    /// The path of such a file in a repository, for one that comes from elsewhere.
    pub fn home(self) -> &'static str {
        self.files().next().unwrap_or_default()
    }

    /// The names of its files, in the order in which the program looks for them.
    pub fn files(self) -> impl Iterator<Item = &'static str> {
        self.files.split(' ')
    }

    /// Whether it has tasks.
    pub fn has_tasks(self) -> bool {
        !self.start.is_empty()
    }

    /// Whether it has hooks.
    pub fn has_hooks(self) -> bool {
        self.start.is_empty() && !self.programs.is_empty()
    }
}
