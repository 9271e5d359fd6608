//! Runs the operator's proposer and collects its output, which is parsed elsewhere.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::time::Duration;
use vplan_base::command::Env;
use vplan_base::word::Word;
use vplan_os::process::ask::{self, Ask, NoAnswer};
use vplan_os::process::pool::Pool;
use vplan_os::process::program::{Root, SearchPath, message_of};
use vplan_plan::proposal::MAX_ANSWER;

/// Starts the program at the repository's root with the operator's own environment, because it is
/// the operator's program: no contract can name it. It is searched for like the programs of steps:
/// in the repository only if its name has a slash.
///
/// # Errors
/// The proposer gave no answer.
pub fn propose(
    root: &Path,
    argv: &[Word],
    env: &Env,
    question: &str,
    limit: Duration,
) -> Result<Vec<u8>, NoAnswer> {
    let root = Root::open(root).map_err(|e| NoAnswer::NotStarted(message_of(&e)))?;
    let mut all: BTreeMap<Vec<u8>, Vec<u8>> = std::env::vars_os()
        .map(|(name, value)| (name.into_vec(), value.into_vec()))
        .collect();
    let search = SearchPath::new(&root, all.get(&b"PATH"[..]).map(Vec::as_slice));
    all.extend(
        env.iter()
            .map(|(name, value)| (name.clone().into_bytes(), value.as_bytes().to_vec())),
    );
    let pool = Pool::new(None);
    let what = Ask {
        root: &root,
        search: &search,
        argv,
        env: &all,
        question: question.as_bytes(),
        limit,
        most: MAX_ANSWER,
        stop: None,
    };
    ask::ask(&pool, &what)
}
