//! Reads the variables and the event of a CI job; `systems.table` describes each system.

use super::event::CiEvent;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use vplan_base::table;

/// Looks a variable up: text that is not blank.
pub type Text<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A value, and the variable that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiSystem {
    /// The variable, or that of the event file.
    pub variable: &'static str,
    /// The value; a branch without `refs/heads/`.
    pub value: String,
}

impl CiSystem {
    fn new(variable: &'static str, value: &str) -> Self {
        let value = value.trim();
        let branch = value.strip_prefix("refs/heads/").unwrap_or(value);
        Self {
            variable,
            value: branch.to_owned(),
        }
    }
}

/// The kind of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CiJob {
    /// A change with a target branch: a pull request, a merge request, a place in a merge queue.
    Request(CiMergeRequest),
    /// A push to a branch.
    Push(Push),
    /// Neither: everything counts as changed.
    Whole(String),
}

/// A change with a target branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CiMergeRequest {
    pub target: Option<CiSystem>,
    /// Commits of that branch, the best first.
    pub ids: Vec<CiSystem>,
    /// The merge commit of the branch and the change that the forge made.
    pub merge: Option<CiMerge>,
}

/// A commit that a forge makes: the branch, with the change merged into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiMerge {
    pub commit: String,
    /// Its reference, if it has one.
    pub reference: Option<String>,
    /// Its first parent, the branch, if it is known.
    pub first: Option<String>,
    /// Its second parent, the change, if it is known.
    pub second: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub branch: CiSystem,
    /// The default branch.
    pub default: Main,
    /// The branch's commit before the push.
    pub before: Option<CiSystem>,
    /// Whether that commit is no longer an ancestor of the branch.
    pub forced: bool,
}

/// The default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Main {
    /// This one.
    Named(CiSystem),
    /// The one that was pushed.
    ThisOne,
    /// The system does not name it.
    Unknown,
}

/// A CI system of `systems.table`: its lines, by their first word.
#[derive(Default)]
struct System(BTreeMap<&'static str, Vec<&'static str>>);

static SYSTEMS: LazyLock<Vec<System>> = LazyLock::new(|| {
    let mut systems: Vec<System> = Vec::new();
    for [line] in table::rows(include_str!("systems.table")) {
        match (line.strip_prefix("  "), systems.last_mut()) {
            (Some(line), Some(system)) => {
                let mut words = line.split(' ');
                let kind = words.next().unwrap_or_default();
                system.0.insert(kind, words.collect());
            }
            _ => systems.push(System::default()),
        }
    }
    systems
});

/// The variables that identify GitHub, and Gitea and Forgejo, which set the same ones.
const GITHUB: &[&str] = &[
    "GITHUB_ACTIONS",
    "GITHUB_EVENT_NAME",
    "GITHUB_BASE_REF",
    "GITEA_BASE_REF",
];
/// The variable of its event file.
pub(crate) const EVENT_FILE: &str = "GITHUB_EVENT_PATH";

/// Returns the kind of the job; `None` if the system is unknown.
pub fn detect(text: Text<'_>, event: &CiEvent) -> Option<CiJob> {
    if GITHUB.iter().any(|sign| text(sign).is_some()) {
        return Some(github(text, event));
    }
    let is_it = |s: &&System| s.all("signs").iter().any(|sign| text(sign).is_some());
    SYSTEMS.iter().find(is_it).map(|system| system.job(text))
}

/// Returns the variables that identify a system, for the message about an unknown one.
pub fn signs() -> impl Iterator<Item = &'static str> {
    let github = GITHUB.iter().take(1).copied();
    github.chain(SYSTEMS.iter().map(|system| system.one("signs")))
}

impl System {
    fn all(&self, kind: &str) -> &[&'static str] {
        self.0.get(kind).map_or(&[], Vec::as_slice)
    }

    fn one(&self, kind: &str) -> &'static str {
        self.all(kind).first().copied().unwrap_or_default()
    }

    fn job(&self, text: Text<'_>) -> CiJob {
        let named = |variable: &'static str| Some(CiSystem::new(variable, &text(variable)?));
        let is_request = match (self.all("with"), self.all("unless")) {
            ([variable], _) => text(variable).is_some_and(|v| !v.eq_ignore_ascii_case("false")),
            (_, [variable, value]) => text(variable).is_none_or(|v| v != *value),
            _ => true,
        };
        let target = self.all("targets").iter().find_map(|v| named(v));
        let ids = self.all("ids").iter().filter_map(|v| named(v));
        let ids: Vec<CiSystem> = ids.filter(|id| !is_zeros(&id.value)).collect();
        if is_request && (target.is_some() || !ids.is_empty()) {
            return CiJob::Request(CiMergeRequest {
                target,
                ids,
                merge: match self.one("merge") {
                    "merged_result" => merged_result(text),
                    "azure_merge" => azure_merge(text),
                    _ => None,
                },
            });
        }
        if let [variable, pushes @ ..] = self.all("started")
            && let Some(what) = text(variable)
            && !pushes.contains(&what.as_str())
        {
            return CiJob::Whole(format!("`{variable}` is `{what}`"));
        }
        let is_true = |v: &&&str| text(v).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        if let Some(variable) = self.all("no-push").iter().find(is_true) {
            return CiJob::Whole(format!("`{variable}` is `true`"));
        }
        if let Some(CiSystem { variable, value }) = named(self.one("tag")) {
            return CiJob::Whole(format!("the tag `{value}` was pushed (`{variable}`)"));
        }
        let branch = named(self.one("branch"));
        let branch = match branch {
            Some(branch) if !branch.value.starts_with("refs/") => branch,
            Some(CiSystem { variable, value }) => {
                return CiJob::Whole(format!("`{variable}` is `{value}`"));
            }
            None => {
                let first = self.one("signs");
                let why = format!("`{first}` is set, and nothing says what was pushed");
                return CiJob::Whole(why);
            }
        };
        let primary = branch.variable == "BRANCH_NAME"
            && text("BRANCH_IS_PRIMARY").is_some_and(|v| v == "true");
        let default = named(self.one("default")).map_or(Main::Unknown, Main::Named);
        CiJob::Push(Push {
            branch,
            default: if primary { Main::ThisOne } else { default },
            before: named(self.one("before")).map(|b| CiSystem {
                value: range_begin(&b.value),
                ..b
            }),
            forced: false,
        })
    }
}

fn github(text: Text<'_>, event: &CiEvent) -> CiJob {
    let of_event = |value: &Option<String>| {
        let value = value.as_ref().filter(|v| !v.trim().is_empty())?;
        Some(CiSystem::new(EVENT_FILE, value))
    };
    let named = |variable: &'static str| Some(CiSystem::new(variable, &text(variable)?));
    let request = event.pull_request.as_ref();
    let base = request.and_then(|r| r.base.as_ref());
    let target = named("GITHUB_BASE_REF")
        .or_else(|| named("GITEA_BASE_REF"))
        .or_else(|| base.and_then(|b| of_event(&b.branch)));
    if let Some(target) = target {
        let head = request.and_then(|r| r.head.as_ref()?.sha.clone());
        let id = base.and_then(|b| of_event(&b.sha));
        return CiJob::Request(CiMergeRequest {
            target: Some(target),
            ids: id.filter(|id| !is_zeros(&id.value)).into_iter().collect(),
            merge: pull_merge(text, "GITHUB_REF", "GITHUB_SHA", head),
        });
    }
    let what = text("GITHUB_EVENT_NAME");
    let group = event.merge_group.as_ref();
    let target = group.and_then(|group| of_event(&group.base_ref));
    if what.as_deref() == Some("merge_group") && target.is_some() {
        return CiJob::Request(CiMergeRequest {
            target,
            ..CiMergeRequest::default()
        });
    }
    let repository = event.repository.as_ref();
    let default = repository.and_then(|r| of_event(&r.default_branch));
    let reference = text("GITHUB_REF").unwrap_or_default();
    match (what.as_deref(), reference.strip_prefix("refs/heads/")) {
        (Some("push"), Some(branch)) => CiJob::Push(Push {
            branch: CiSystem {
                variable: "GITHUB_REF",
                value: branch.to_owned(),
            },
            default: default.map_or(Main::Unknown, Main::Named),
            before: of_event(&event.before),
            forced: event.forced == Some(true),
        }),
        (Some("push"), None) => CiJob::Whole(format!("`GITHUB_REF` is `{reference}`")),
        (what, _) => {
            let what = what.unwrap_or_default();
            CiJob::Whole(format!("`GITHUB_EVENT_NAME` is `{what}`"))
        }
    }
}

/// Returns the merge commit of a pull request at `refs/pull/NUMBER/merge`.
fn pull_merge(
    text: Text<'_>,
    reference: &str,
    commit: &str,
    second: Option<String>,
) -> Option<CiMerge> {
    let is_merge = |r: &String| r.starts_with("refs/pull/") && r.ends_with("/merge");
    let reference = text(reference).filter(is_merge)?;
    Some(CiMerge {
        commit: text(commit)?,
        reference: Some(reference),
        first: None,
        second,
    })
}

fn azure_merge(text: Text<'_>) -> Option<CiMerge> {
    pull_merge(
        text,
        "BUILD_SOURCEBRANCH",
        "BUILD_SOURCEVERSION",
        text("SYSTEM_PULLREQUEST_SOURCECOMMITID"),
    )
}

/// Returns the merge commit of a pipeline for the merged result. In a merge train the first parent
/// is the train before, which is not part of the branch yet.
fn merged_result(text: Text<'_>) -> Option<CiMerge> {
    text("CI_MERGE_REQUEST_EVENT_TYPE").filter(|kind| kind == "merged_result")?;
    Some(CiMerge {
        commit: text("CI_COMMIT_SHA")?,
        reference: None,
        first: Some(text("CI_MERGE_REQUEST_TARGET_BRANCH_SHA").filter(|id| !is_zeros(id))?),
        second: text("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").filter(|id| !is_zeros(id)),
    })
}

/// Returns the beginning of a range `A...B`.
fn range_begin(value: &str) -> String {
    let begin = value.split_once("..").map_or(value, |(begin, _)| begin);
    begin.to_owned()
}

/// Whether an id consists of zeros.
pub(crate) fn is_zeros(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::word::has_word;

    #[test]
    fn the_table_has_lines_of_known_kinds() {
        let kinds = "signs with unless targets ids branch tag default before started no-push merge";
        assert_eq!(SYSTEMS.len(), 14);
        for kind in SYSTEMS.iter().flat_map(|system| system.0.keys()) {
            assert!(has_word(kinds, kind), "{kind}");
        }
    }
}
