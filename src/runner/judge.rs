//! Builds the questions of `judge` checks. Reads files only; the program itself runs as every step
//! does.

use std::path::Path;
use vplan_base::canon::Digest;
use vplan_base::change::ChangeSet;
use vplan_base::command::Env;
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::unit::show_size;
use vplan_base::word::Word;
use vplan_check::evidence::SpawnError;
use vplan_check::judge::{Content, MAX_CONTEXT, MAX_FILES, ask};
use vplan_git::Git;
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::files::walk;
use vplan_plan::Step;

/// The judge's program, and how its questions are made.
pub struct JudgeRunner<'a> {
    pub argv: Vec<Word>,
    /// Variables that its command sets.
    pub env: Env,
    /// Makes the question of a step. Called on the step's thread.
    pub question: &'a (dyn Fn(&Step) -> PreparedQuestion + Sync),
}

/// The action for a step's question.
pub enum PreparedQuestion {
    /// It is sent to the judge.
    Question {
        digest: Digest,
        /// The exact bytes.
        text: String,
    },
    /// Its answer is recorded.
    Recorded {
        /// The exact bytes of the answer.
        answer: String,
        /// The identity of the question.
        digest: Digest,
    },
    /// The judge cannot be called.
    Refused(SpawnError),
}

impl PreparedQuestion {
    /// Makes a question for a judge that cannot be called.
    pub fn refused(code: &str, message: impl Into<String>) -> Self {
        Self::Refused(SpawnError {
            code: code.to_owned(),
            message: message.into(),
        })
    }
}

/// The files that a question is made from.
pub struct JudgeContext<'a> {
    pub root: &'a Path,
    pub beneath: &'a Beneath,
    /// Its git, if it has one.
    pub git: Option<&'a Git>,
}

/// Makes the question of a step: the exact bytes and their identity.
///
/// # Errors
/// Its files cannot be read completely: then the judge is not called.
pub fn question(
    ground: &JudgeContext<'_>,
    step: &Step,
    changed: &ChangeSet,
) -> Result<(String, Digest), SpawnError> {
    let context = match &step.context {
        Some(selection) => context(ground, selection)?,
        None => Vec::new(),
    };
    Ok(ask(
        step.question.as_deref().unwrap_or_default(),
        &context,
        changed,
    ))
}

fn context(ground: &JudgeContext<'_>, selection: &Selection) -> Result<Vec<Content>, SpawnError> {
    let refuse = |code: &str, message: String| SpawnError {
        code: code.to_owned(),
        message,
    };
    let unlisted = |why: String| {
        refuse(
            "CONTEXT_UNREADABLE",
            format!("the files of the repository cannot be listed: {why}"),
        )
    };
    let mut files = match ground.git {
        Some(git) => git.present().map_err(|e| unlisted(e.to_string()))?,
        None => walk(ground.root, &RepoPath::root()).map_err(|e| unlisted(e.to_string()))?,
    };
    files.retain(|path| selection.selects(path));
    files.sort();
    let too_large = |what: String| {
        let most = show_size(MAX_CONTEXT);
        refuse(
            "CONTEXT_TOO_LARGE",
            format!(
                "`context` selects {what}; at most {MAX_FILES} files with {most} in all go with a question"
            ),
        )
    };
    if files.len() > MAX_FILES {
        return Err(too_large(format!("{} files", files.len())));
    }
    let mut left = MAX_CONTEXT;
    let mut context = Vec::new();
    for path in files {
        match ground.beneath.read(&path, left) {
            Ok(bytes) => {
                left = left.saturating_sub(bytes.len() as u64);
                context.push(Content {
                    content: Word::new(bytes),
                    path,
                });
            }
            // The file was deleted in the work tree, so there is no content; `changed` records
            // that.
            Err(ReadError::Missing) => {}
            Err(ReadError::TooLarge(_)) => return Err(too_large("more than that".to_owned())),
            Err(error) => {
                return Err(refuse(
                    "CONTEXT_UNREADABLE",
                    format!("`{path}` cannot be read: {error}"),
                ));
            }
        }
    }
    Ok(context)
}
