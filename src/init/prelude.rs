//! The names that most modules use.

pub(crate) use crate::check::{CheckKey, Folded, ProposedCheck, ProposedCondition, Uncovered};
pub(crate) use crate::found::{
    CommandEnding, CommandOrigin, NotRead, Place, SourceCommand, SourceReading, Task,
};
pub(crate) use crate::globs::any_of;
pub(crate) use crate::hooks::CHANGED;
pub(crate) use crate::kinds::KINDS;
pub(crate) use crate::shell::ShellScope;
pub(crate) use crate::sink::{Script, Sink};
pub(crate) use crate::tree::{DataFile, Keys, RepositoryTree, scalar, scalars};
pub(crate) use crate::variables::Variables;
pub(crate) use crate::words::{is_listed, listed, of_shell, quoted, words_of};
pub(crate) use crate::{conditions, shell, tasks};
pub(crate) use regex::{Captures, Regex};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Serialize;
pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::rc::Rc;
pub(crate) use std::sync::LazyLock;
pub(crate) use vplan_base::command::is_env_name;
pub(crate) use vplan_base::diagnostic::Diagnostics;
pub(crate) use vplan_base::glob::{Glob, escape};
pub(crate) use vplan_base::path::RepoPath;
pub(crate) use vplan_base::source::{Source, Sources};
pub(crate) use vplan_base::word::{count, has_word, visible};
pub(crate) use vplan_check::Kind;
pub(crate) use vplan_check::tool::table::{self, TaskVerb, ToolClass, columns, task_word};
pub(crate) use vplan_front::tree::TreeNode;
