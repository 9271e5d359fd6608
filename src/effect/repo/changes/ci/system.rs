//! Reads the variables and the event of a CI job; each system is described by a row of a table.

use super::event::Event;

/// Looks a variable up: text that is not blank.
pub type Text<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A value, and the variable that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The variable, or that of the event file.
    pub variable: &'static str,
    /// The value; a branch without `refs/heads/`.
    pub value: String,
}

/// The kind of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// A change that goes into a branch: a pull request, a merge request, a place in a merge queue.
    Request(Request),
    /// A push to a branch.
    Push(Push),
    /// Neither: everything counts as changed.
    Whole(String),
}

/// A change that goes into a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The branch.
    pub target: Option<Named>,
    /// Commits of that branch, the best first.
    pub ids: Vec<Named>,
    /// The merge commit of the branch and the change that the forge made.
    pub merge: Option<Merge>,
}

/// A commit that a forge makes: the branch, with the change merged into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Its id.
    pub commit: String,
    /// Its reference, where it has one.
    pub reference: Option<String>,
    /// Its first parent, where it is known: the branch.
    pub first: Option<String>,
    /// Its second parent, where it is known: the change.
    pub second: Option<String>,
}

/// A push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The branch.
    pub branch: Named,
    /// The default branch.
    pub default: Main,
    /// The branch's commit before the push.
    pub before: Option<Named>,
    /// Whether that commit is no longer an ancestor of the branch.
    pub forced: bool,
}

/// The default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Main {
    /// This one.
    Named(Named),
    /// The one that was pushed.
    ThisOne,
    /// The system does not name it.
    Unknown,
}

/// The condition under which the variables of a request describe one.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// This variable is set, and not `false`.
    With(&'static str),
    /// This variable does not have this value.
    Unless(&'static str, &'static str),
}

/// A CI system, by its variables. An empty list: the system has no such variable.
struct System {
    /// One of these is set: the system's own, then those that only it has.
    signs: &'static [&'static str],
    when: When,
    targets: &'static [&'static str],
    ids: &'static [&'static str],
    branch: &'static str,
    tag: &'static str,
    default: &'static str,
    before: &'static str,
    /// The variable that names what started the job, and its values for a push.
    started: Option<(&'static str, &'static [&'static str])>,
    /// Variables that are `true` for anything but a push.
    no_push: &'static [&'static str],
    merge: Option<fn(Text<'_>) -> Option<Merge>>,
}

/// A system without variables.
const NOTHING: System = System {
    signs: &[],
    when: When::Always,
    targets: &[],
    ids: &[],
    branch: "",
    tag: "",
    default: "",
    before: "",
    started: None,
    no_push: &[],
    merge: None,
};

/// All but those with GitHub's events.
const SYSTEMS: &[System] = &[
    // GitLab
    System {
        signs: &[
            "GITLAB_CI",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA",
        ],
        targets: &[
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
            "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME",
        ],
        ids: &[
            "CI_MERGE_REQUEST_DIFF_BASE_SHA",
            "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA",
        ],
        branch: "CI_COMMIT_BRANCH",
        tag: "CI_COMMIT_TAG",
        default: "CI_DEFAULT_BRANCH",
        before: "CI_COMMIT_BEFORE_SHA",
        started: Some(("CI_PIPELINE_SOURCE", &["push", "webide", "parent_pipeline"])),
        merge: Some(merged_result),
        ..NOTHING
    },
    // Cirrus
    System {
        signs: &["CIRRUS_CI", "CIRRUS_BASE_BRANCH", "CIRRUS_BASE_SHA"],
        targets: &["CIRRUS_BASE_BRANCH"],
        ids: &["CIRRUS_BASE_SHA"],
        branch: "CIRRUS_BRANCH",
        tag: "CIRRUS_TAG",
        default: "CIRRUS_DEFAULT_BRANCH",
        before: "CIRRUS_LAST_GREEN_CHANGE",
        ..NOTHING
    },
    // Buildkite
    System {
        signs: &["BUILDKITE", "BUILDKITE_PULL_REQUEST_BASE_BRANCH"],
        targets: &[
            "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
            "BUILDKITE_MERGE_QUEUE_BASE_BRANCH",
        ],
        branch: "BUILDKITE_BRANCH",
        tag: "BUILDKITE_TAG",
        default: "BUILDKITE_PIPELINE_DEFAULT_BRANCH",
        started: Some(("BUILDKITE_SOURCE", &["webhook", "trigger_job"])),
        ..NOTHING
    },
    // CircleCI: it names neither the target of a pull request nor the default branch.
    System {
        signs: &["CIRCLECI"],
        branch: "CIRCLE_BRANCH",
        tag: "CIRCLE_TAG",
        ..NOTHING
    },
    // Jenkins, multibranch. Its last good build is an earlier commit than the last build, or the
    // same.
    System {
        signs: &["JENKINS_URL", "CHANGE_TARGET", "BRANCH_IS_PRIMARY"],
        targets: &["CHANGE_TARGET"],
        branch: "BRANCH_NAME",
        tag: "TAG_NAME",
        before: "GIT_PREVIOUS_SUCCESSFUL_COMMIT",
        ..NOTHING
    },
    // Azure Pipelines
    System {
        signs: &["TF_BUILD", "SYSTEM_PULLREQUEST_TARGETBRANCH"],
        targets: &["SYSTEM_PULLREQUEST_TARGETBRANCH"],
        branch: "BUILD_SOURCEBRANCH",
        started: Some(("BUILD_REASON", &["IndividualCI", "BatchedCI"])),
        merge: Some(azure_merge),
        ..NOTHING
    },
    // Bitbucket Pipelines
    System {
        signs: &["BITBUCKET_BUILD_NUMBER", "BITBUCKET_PR_DESTINATION_BRANCH"],
        targets: &["BITBUCKET_PR_DESTINATION_BRANCH"],
        ids: &["BITBUCKET_PR_DESTINATION_COMMIT"],
        branch: "BITBUCKET_BRANCH",
        tag: "BITBUCKET_TAG",
        ..NOTHING
    },
    // AWS CodeBuild
    System {
        signs: &["CODEBUILD_BUILD_ID", "CODEBUILD_WEBHOOK_BASE_REF"],
        when: When::Unless("CODEBUILD_WEBHOOK_EVENT", "PUSH"),
        targets: &["CODEBUILD_WEBHOOK_BASE_REF"],
        branch: "CODEBUILD_WEBHOOK_HEAD_REF",
        before: "CODEBUILD_WEBHOOK_PREV_COMMIT",
        started: Some(("CODEBUILD_WEBHOOK_EVENT", &["PUSH"])),
        ..NOTHING
    },
    // Bitrise
    System {
        signs: &["BITRISE_IO", "BITRISEIO_GIT_BRANCH_DEST"],
        targets: &["BITRISEIO_GIT_BRANCH_DEST"],
        branch: "BITRISE_GIT_BRANCH",
        tag: "BITRISE_GIT_TAG",
        ..NOTHING
    },
    // Woodpecker. The commit of the pipeline before may be that of a pull request, and is not what
    // was there before.
    System {
        signs: &["CI_PIPELINE_EVENT", "CI_COMMIT_TARGET_BRANCH"],
        targets: &["CI_COMMIT_TARGET_BRANCH"],
        branch: "CI_COMMIT_BRANCH",
        tag: "CI_COMMIT_TAG",
        default: "CI_REPO_DEFAULT_BRANCH",
        started: Some(("CI_PIPELINE_EVENT", &["push"])),
        ..NOTHING
    },
    // Drone
    System {
        signs: &["DRONE", "DRONE_TARGET_BRANCH"],
        when: When::With("DRONE_PULL_REQUEST"),
        targets: &["DRONE_TARGET_BRANCH"],
        branch: "DRONE_BRANCH",
        tag: "DRONE_TAG",
        default: "DRONE_REPO_BRANCH",
        before: "DRONE_COMMIT_BEFORE",
        started: Some(("DRONE_BUILD_EVENT", &["push"])),
        ..NOTHING
    },
    // Travis: outside a pull request the variable names the branch itself.
    System {
        signs: &["TRAVIS", "TRAVIS_BRANCH"],
        when: When::With("TRAVIS_PULL_REQUEST"),
        targets: &["TRAVIS_BRANCH"],
        branch: "TRAVIS_BRANCH",
        tag: "TRAVIS_TAG",
        before: "TRAVIS_COMMIT_RANGE",
        started: Some(("TRAVIS_EVENT_TYPE", &["push"])),
        ..NOTHING
    },
    // AppVeyor: likewise.
    System {
        signs: &["APPVEYOR", "APPVEYOR_REPO_BRANCH"],
        when: When::With("APPVEYOR_PULL_REQUEST_NUMBER"),
        targets: &["APPVEYOR_REPO_BRANCH"],
        branch: "APPVEYOR_REPO_BRANCH",
        no_push: &[
            "APPVEYOR_REPO_TAG",
            "APPVEYOR_SCHEDULED_BUILD",
            "APPVEYOR_FORCED_BUILD",
        ],
        ..NOTHING
    },
    // Semaphore: likewise.
    System {
        signs: &["SEMAPHORE", "SEMAPHORE_GIT_BRANCH"],
        when: When::With("SEMAPHORE_GIT_PR_NUMBER"),
        targets: &["SEMAPHORE_GIT_BRANCH"],
        branch: "SEMAPHORE_GIT_BRANCH",
        tag: "SEMAPHORE_GIT_TAG_NAME",
        before: "SEMAPHORE_GIT_COMMIT_RANGE",
        no_push: &[
            "SEMAPHORE_WORKFLOW_TRIGGERED_BY_SCHEDULE",
            "SEMAPHORE_WORKFLOW_TRIGGERED_BY_MANUAL_RUN",
        ],
        ..NOTHING
    },
];

/// The variables that identify GitHub, and Gitea and Forgejo, which set the same ones.
const GITHUB: &[&str] = &[
    "GITHUB_ACTIONS",
    "GITHUB_EVENT_NAME",
    "GITHUB_BASE_REF",
    "GITEA_BASE_REF",
];
/// The variable of its event file.
pub const EVENT_FILE: &str = "GITHUB_EVENT_PATH";

/// Returns the kind of the job; `None` where no system is known.
#[must_use]
pub fn look(text: Text<'_>, event: &Event) -> Option<Job> {
    if GITHUB.iter().any(|sign| text(sign).is_some()) {
        return Some(github(text, event));
    }
    SYSTEMS
        .iter()
        .find(|s| s.signs.iter().any(|sign| text(sign).is_some()))
        .map(|system| system.job(text))
}

/// Returns the variables that identify a system, for the message that none is known.
pub fn signs() -> impl Iterator<Item = &'static str> {
    let first = |signs: &'static [&'static str]| signs.first().copied();
    first(GITHUB)
        .into_iter()
        .chain(SYSTEMS.iter().filter_map(move |s| first(s.signs)))
}

impl System {
    fn job(&self, text: Text<'_>) -> Job {
        let named = |variable: &'static str| {
            text(variable).map(|value| Named {
                variable,
                value: branch_name(&value),
            })
        };
        let is_request = match self.when {
            When::Always => true,
            When::With(variable) => {
                text(variable).is_some_and(|v| !v.eq_ignore_ascii_case("false"))
            }
            When::Unless(variable, value) => text(variable).is_none_or(|v| v != value),
        };
        let target = self.targets.iter().find_map(|v| named(v));
        let ids: Vec<Named> = self
            .ids
            .iter()
            .filter_map(|v| named(v))
            .filter(|id| !is_zeros(&id.value))
            .collect();
        if is_request && (target.is_some() || !ids.is_empty()) {
            return Job::Request(Request {
                target,
                ids,
                merge: self.merge.and_then(|merge| merge(text)),
            });
        }
        if let Some((variable, pushes)) = self.started
            && let Some(what) = text(variable)
            && !pushes.contains(&what.as_str())
        {
            return Job::Whole(format!("`{variable}` is `{what}`"));
        }
        let is_true = |v: &&&str| text(v).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        if let Some(variable) = self.no_push.iter().find(is_true) {
            return Job::Whole(format!("`{variable}` is `true`"));
        }
        if let Some(tag) = named(self.tag) {
            return Job::Whole(format!(
                "the tag `{}` was pushed (`{}`)",
                tag.value, self.tag
            ));
        }
        let Some(branch) = named(self.branch).filter(|b| !b.value.starts_with("refs/")) else {
            let what = named(self.branch).map(|b| format!("`{}` is `{}`", b.variable, b.value));
            let first = self.signs.first().copied().unwrap_or_default();
            return Job::Whole(
                what.unwrap_or_else(|| {
                    format!("`{first}` is set, and nothing says what was pushed")
                }),
            );
        };
        let primary =
            self.branch == "BRANCH_NAME" && text("BRANCH_IS_PRIMARY").is_some_and(|v| v == "true");
        let default = named(self.default).map_or(Main::Unknown, Main::Named);
        Job::Push(Push {
            branch,
            default: if primary { Main::ThisOne } else { default },
            before: named(self.before).map(|b| Named {
                value: range_begin(&b.value),
                ..b
            }),
            forced: false,
        })
    }
}

fn github(text: Text<'_>, event: &Event) -> Job {
    let of_event = |value: &Option<String>| {
        let value = value.as_ref().filter(|v| !v.trim().is_empty())?;
        Some(Named {
            variable: EVENT_FILE,
            value: branch_name(value),
        })
    };
    let named = |variable: &'static str| {
        text(variable).map(|value| Named {
            variable,
            value: branch_name(&value),
        })
    };
    let request = event.pull_request.as_ref();
    let base = request.and_then(|r| r.base.as_ref());
    let target = named("GITHUB_BASE_REF")
        .or_else(|| named("GITEA_BASE_REF"))
        .or_else(|| base.and_then(|b| of_event(&b.branch)));
    if let Some(target) = target {
        let head = request
            .and_then(|r| r.head.as_ref())
            .and_then(|h| h.sha.clone());
        return Job::Request(Request {
            target: Some(target),
            ids: base
                .and_then(|b| of_event(&b.sha))
                .into_iter()
                .filter(|id| !is_zeros(&id.value))
                .collect(),
            merge: pull_merge(text, "GITHUB_REF", "GITHUB_SHA", head),
        });
    }
    let what = text("GITHUB_EVENT_NAME");
    if what.as_deref() == Some("merge_group")
        && let Some(target) = event
            .merge_group
            .as_ref()
            .and_then(|group| of_event(&group.base_ref))
    {
        return Job::Request(Request {
            target: Some(target),
            ..Request::default()
        });
    }
    let reference = text("GITHUB_REF").unwrap_or_default();
    match (what.as_deref(), reference.strip_prefix("refs/heads/")) {
        (Some("push"), Some(branch)) => Job::Push(Push {
            branch: Named {
                variable: "GITHUB_REF",
                value: branch.to_owned(),
            },
            default: event
                .repository
                .as_ref()
                .and_then(|r| of_event(&r.default_branch))
                .map_or(Main::Unknown, Main::Named),
            before: of_event(&event.before),
            forced: event.forced == Some(true),
        }),
        (Some("push"), None) => Job::Whole(format!("`GITHUB_REF` is `{reference}`")),
        (what, _) => Job::Whole(format!(
            "`GITHUB_EVENT_NAME` is `{}`",
            what.unwrap_or_default()
        )),
    }
}

/// Returns the merge commit of a pull request at `refs/pull/NUMBER/merge`.
fn pull_merge(
    text: Text<'_>,
    reference: &str,
    commit: &str,
    second: Option<String>,
) -> Option<Merge> {
    let is_merge = |r: &String| r.starts_with("refs/pull/") && r.ends_with("/merge");
    let reference = text(reference).filter(is_merge)?;
    Some(Merge {
        commit: text(commit)?,
        reference: Some(reference),
        first: None,
        second,
    })
}

fn azure_merge(text: Text<'_>) -> Option<Merge> {
    pull_merge(
        text,
        "BUILD_SOURCEBRANCH",
        "BUILD_SOURCEVERSION",
        text("SYSTEM_PULLREQUEST_SOURCECOMMITID"),
    )
}

/// Returns the merge commit of a pipeline for the merged result. In a merge train the first parent
/// is the train before, which is not part of the branch yet.
fn merged_result(text: Text<'_>) -> Option<Merge> {
    text("CI_MERGE_REQUEST_EVENT_TYPE").filter(|kind| kind == "merged_result")?;
    Some(Merge {
        commit: text("CI_COMMIT_SHA")?,
        reference: None,
        first: Some(text("CI_MERGE_REQUEST_TARGET_BRANCH_SHA").filter(|id| !is_zeros(id))?),
        second: text("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").filter(|id| !is_zeros(id)),
    })
}

fn branch_name(value: &str) -> String {
    let value = value.trim();
    value
        .strip_prefix("refs/heads/")
        .unwrap_or(value)
        .to_owned()
}

/// Returns the beginning of a range `A...B`.
fn range_begin(value: &str) -> String {
    value
        .split_once("..")
        .map_or(value, |(begin, _)| begin)
        .to_owned()
}

/// Whether an id consists of zeros.
#[must_use]
pub fn is_zeros(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b == b'0')
}
