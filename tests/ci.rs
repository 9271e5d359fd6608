//! What `--base auto` compares with, in clones as CI systems make them, by the variables and events
//! that they give.

use crate::support::Project;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use vplan::base::change::Status;
use vplan::effect::git::Git;
use vplan::effect::repo::changes::error::ChangeError;
use vplan::effect::repo::changes::gathered::Gathered;
use vplan::effect::repo::changes::{BaseRevision, ChangeSource, gather};
use vplan::plan::request::ChangedIn;

/// The forge's repository. `main`: root, main1, main2; `work`: root, w1, w2; `merge`: work merged
/// into main2, at `refs/pull/7/merge`; `train`: another change, merged before it.
struct Forge {
    project: Project,
    ids: BTreeMap<&'static str, String>,
}

impl Forge {
    fn new() -> Self {
        let project = Project::git_empty();
        let mut ids = BTreeMap::new();
        let mut commit = |name: &'static str| {
            project.write(name, "");
            ids.insert(name, project.commit(name));
        };
        commit("root");
        commit("main1");
        project.git(&["checkout", "-q", "-b", "work", "HEAD~1"]);
        commit("w1");
        commit("w2");
        project.git(&["checkout", "-q", "main"]);
        commit("main2");
        project.git(&["checkout", "-q", "--detach"]);
        project.git(&["merge", "-q", "--no-ff", "-m", "merge", "work"]);
        ids.insert("merge", project.git(&["rev-parse", "HEAD"]));
        // A queue: another change is merged first, then this one.
        project.git(&["checkout", "-q", "-b", "other", "main"]);
        let mut commit = |name: &'static str| {
            project.write(name, "");
            ids.insert(name, project.commit(name));
        };
        commit("other");
        project.git(&["checkout", "-q", "--detach", "main"]);
        project.git(&["merge", "-q", "--no-ff", "-m", "first", "other"]);
        project.git(&["merge", "-q", "--no-ff", "-m", "second", "work"]);
        ids.insert("train", project.git(&["rev-parse", "HEAD"]));
        project.git(&["update-ref", "refs/pull/7/merge", &ids["merge"]]);
        project.git(&["branch", "gh-readonly-queue/main/pr-7", "HEAD"]);
        project.git(&["checkout", "-q", "main"]);
        // Forges give commits by their ids.
        project.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        Self { project, ids }
    }

    /// A clone that fetches only what it is told, with a commit checked out.
    fn clone(&self, at: &str, depth: Option<u32>, references: &[&str]) -> Project {
        let clone = Project::git_empty();
        let (url, id) = (
            format!("file://{}", self.project.root().display()),
            &self.ids[at],
        );
        clone.git(&["remote", "add", "origin", &url]);
        let depth = depth.map(|d| format!("--depth={d}"));
        let own = format!("+{id}:refs/checkout");
        let args = ["fetch", "-q", "--no-tags"]
            .into_iter()
            .chain(depth.as_deref())
            .chain(["origin", &own]);
        clone.git(&args.chain(references.iter().copied()).collect::<Vec<_>>());
        clone.git(&["checkout", "-q", "--detach", id]);
        clone
    }

    /// With all branches of the remote and their history.
    fn whole(&self, at: &str) -> Project {
        self.clone(
            at,
            None,
            &[
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*",
            ],
        )
    }

    /// `$name` of a text is the id of that commit.
    fn fill(&self, text: &str) -> String {
        self.ids.iter().fold(text.to_owned(), |text, (name, id)| {
            text.replace(&format!("${name}"), id)
        })
    }
}

fn gathered(clone: &Project, vars: &[(String, String)]) -> Result<Gathered, ChangeError> {
    let mut all: BTreeMap<String, OsString> =
        vars.iter().map(|(k, v)| (k.clone(), v.into())).collect();
    all.insert("PATH".to_owned(), std::env::var_os("PATH").unwrap());
    all.insert(
        "HOME".to_owned(),
        clone.parent().join("home").into_os_string(),
    );
    let lookup = |name: &str| all.get(name).cloned();
    let git = Git::open(&clone.root(), &lookup);
    gather(
        Some(&ChangeSource::Base(BaseRevision::Auto)),
        git.as_ref(),
        &lookup,
    )
}

/// A job: its variables, and its event.
struct Job<'a> {
    forge: &'a Forge,
    vars: Vec<(String, String)>,
    event: Option<Value>,
}

impl<'a> Job<'a> {
    fn new(forge: &'a Forge, vars: &str) -> Self {
        let vars = vars.split_whitespace().map(|v| v.split_once('=').unwrap());
        let vars = vars.map(|(k, v)| (k.to_owned(), forge.fill(v))).collect();
        Self {
            forge,
            vars,
            event: None,
        }
    }

    fn event(mut self, event: &Value) -> Self {
        self.event = Some(serde_json::from_str(&self.forge.fill(&event.to_string())).unwrap());
        self
    }

    fn run(&self, clone: &Project) -> Result<Gathered, ChangeError> {
        let mut vars = self.vars.clone();
        if let Some(event) = &self.event {
            clone.write("../event.json", event.to_string());
            vars.push((
                "GITHUB_EVENT_PATH".to_owned(),
                clone.path("../event.json").display().to_string(),
            ));
        }
        gathered(clone, &vars)
    }

    /// What changed, by what was found in the clone.
    #[track_caller]
    fn gives(&self, clone: &Project, want: &[&str]) -> Gathered {
        let gathered = self
            .run(clone)
            .unwrap_or_else(|e| panic!("{:?}: {e}", self.vars));
        let changed: Vec<String> = gathered
            .changes
            .files()
            .iter()
            .map(|f| f.path.to_string())
            .collect();
        assert_eq!(changed, want, "{:?}: {}", self.vars, gathered.description);
        assert_eq!(gathered.place, Some(ChangedIn::WorkTree), "{:?}", self.vars);
        gathered
    }

    /// Everything counts as changed, and that is said.
    #[track_caller]
    fn is_whole(&self, clone: &Project) {
        let gathered = self
            .run(clone)
            .unwrap_or_else(|e| panic!("{:?}: {e}", self.vars));
        let tracked = clone.git(&["ls-files"]).lines().count();
        assert_eq!(
            gathered.place,
            Some(ChangedIn::Tracked),
            "{:?}: {}",
            self.vars,
            gathered.description
        );
        assert_eq!(gathered.changes.len(), tracked, "{:?}", self.vars);
        assert_eq!(codes(&gathered), ["whole_tree"], "{:?}", self.vars);
    }

    /// What is wanted is not here; the command that the message names gets it.
    #[track_caller]
    fn wants(&self, clone: &Project, command: &str, then: &[&str]) {
        let command = self.forge.fill(command);
        let error = self.run(clone).unwrap_err();
        assert!(
            error
                .help()
                .is_some_and(|h| h.contains(&format!("`{command}`"))),
            "{error}: {:?}",
            error.help()
        );
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        clone.git(&words);
        self.gives(clone, then);
    }
}

fn codes(gathered: &Gathered) -> Vec<&'static str> {
    gathered.caveats.iter().map(|c| c.code.name()).collect()
}

const PULL: &str = "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request GITHUB_REF=refs/pull/7/merge GITHUB_SHA=$merge \
                    GITHUB_BASE_REF=main GITHUB_HEAD_REF=work";

fn pull_event() -> Value {
    json!({
        "action": "synchronize",
        "number": 7,
        "pull_request": {"base": {"ref": "main", "sha": "$main1"}, "head": {"ref": "work", "sha": "$w2"}},
        "repository": {"default_branch": "main"},
    })
}

fn push_event(before: &str, default: &str, forced: bool) -> Value {
    json!({"before": before, "forced": forced, "repository": {"default_branch": default}, "head_commit": {"id": "x"}})
}

const ZEROS: &str = "0000000000000000000000000000000000000000";
const ABSENT: &str = "1234567890123456789012345678901234567890";

fn push<'a>(forge: &'a Forge, branch: &str, event: &Value) -> Job<'a> {
    let vars = format!("GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/{branch}");
    Job::new(forge, &vars).event(event)
}

#[test]
fn a_pull_request_of_github() {
    let forge = Forge::new();
    let job = Job::new(&forge, PULL).event(&pull_event());
    let two = forge.clone("merge", Some(2), &[]);
    let gathered = job.gives(&two, &["w1", "w2"]);
    assert_eq!(gathered.base.unwrap().to_string(), forge.ids["main2"]);
    assert!(codes(&gathered).is_empty());
    job.gives(&forge.whole("merge"), &["w1", "w2"]);
    // Without the event the variables are enough.
    Job::new(&forge, PULL).gives(&two, &["w1", "w2"]);
    let one = forge.clone("merge", Some(1), &[]);
    job.wants(&one, "git fetch --depth=2 origin $merge", &["w1", "w2"]);
    // The change itself, as `ref: ${{ github.event.pull_request.head.sha }}` checks it out.
    job.gives(&forge.whole("w2"), &["w1", "w2"]);
    let head = forge.clone("w2", Some(1), &[]);
    job.wants(&head, "git fetch --unshallow origin main", &["w1", "w2"]);
    // The branch is not here, and a commit of it is.
    job.gives(
        &forge.clone("w2", None, &["+refs/heads/main:refs/x"]),
        &["w1", "w2"],
    );
    let single = forge.clone("w2", None, &[]);
    single.git(&[
        "config",
        "remote.origin.fetch",
        "+refs/heads/work:refs/remotes/origin/work",
    ]);
    let plain = Job::new(&forge, PULL);
    plain.wants(
        &single,
        "git fetch origin +refs/heads/main:refs/remotes/origin/main",
        &["w1", "w2"],
    );
}

#[test]
fn a_merge_that_the_forge_did_not_make_is_no_base() {
    let forge = Forge::new();
    // The author's own merge: its first parent is the whole change.
    let job = Job::new(&forge, &PULL.replace("$merge", "$own")).event(&pull_event());
    let clone = forge.whole("w2");
    clone.git(&["merge", "-q", "--no-ff", "-m", "own", "origin/main"]);
    let own = clone.git(&["rev-parse", "HEAD"]);
    let vars = job
        .vars
        .iter()
        .map(|(k, v)| (k.clone(), v.replace("$own", &own)))
        .collect();
    let job = Job { vars, ..job };
    job.gives(&clone, &["w1", "w2"]);
    // The same where it is checked out, and the forge's is another one.
    Job::new(&forge, PULL)
        .event(&pull_event())
        .gives(&clone, &["w1", "w2"]);
}

#[test]
fn the_target_checked_out_is_no_change() {
    let forge = Forge::new();
    let vars = "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request_target GITHUB_REF=refs/heads/main GITHUB_SHA=$main2 \
                GITHUB_BASE_REF=main";
    for at in ["main2", "main1"] {
        let error = Job::new(&forge, vars)
            .event(&json!({}))
            .run(&forge.whole(at))
            .unwrap_err();
        assert_eq!(error.code(), "vplan::changes::ci_no_change", "{error}");
    }
}

#[test]
fn a_merge_queue() {
    let forge = Forge::new();
    let vars = "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=merge_group GITHUB_REF=refs/heads/gh-readonly-queue/main/pr-7";
    let event = json!({
        "merge_group": {"base_ref": "refs/heads/main", "base_sha": "$merge"},
        "repository": {"default_branch": "else"},
    });
    let job = Job::new(&forge, vars).event(&event);
    // What stands before it in the queue is no part of the branch yet.
    job.gives(&forge.whole("train"), &["other", "w1", "w2"]);
    job.wants(
        &forge.clone("train", Some(2), &[]),
        "git fetch --unshallow origin main",
        &["other", "w1", "w2"],
    );
    let vars = "BUILDKITE=true BUILDKITE_SOURCE=webhook BUILDKITE_BRANCH=gh-readonly-queue/main/pr-7 \
                BUILDKITE_MERGE_QUEUE_BASE_BRANCH=main BUILDKITE_MERGE_QUEUE_BASE_COMMIT=$merge";
    Job::new(&forge, vars).gives(&forge.whole("train"), &["other", "w1", "w2"]);
}

#[test]
fn a_push_to_another_branch_of_github() {
    let forge = Forge::new();
    for before in ["$w1", ZEROS, ABSENT] {
        let job = push(&forge, "work", &push_event(before, "main", false));
        let gathered = job.gives(&forge.whole("w2"), &["w1", "w2"]);
        assert!(codes(&gathered).is_empty());
        job.wants(
            &forge.clone("w2", Some(2), &[]),
            "git fetch --unshallow origin main",
            &["w1", "w2"],
        );
    }
    // The default branch is the event's, whatever is called so here.
    push(&forge, "main", &push_event("$main1", "work", false))
        .gives(&forge.whole("main2"), &["main1", "main2"]);
    // Without the event it is a guess.
    let vars = "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/work";
    Job::new(&forge, vars).gives(&forge.whole("w2"), &["w1", "w2"]);
    // A branch that brings nothing.
    push(&forge, "new", &push_event(ZEROS, "main", false)).gives(&forge.whole("main1"), &[]);
}

#[test]
fn a_push_to_the_default_branch_of_github() {
    let forge = Forge::new();
    let clone = forge.whole("main2");
    let job = push(&forge, "main", &push_event("$main1", "main", false));
    assert_eq!(codes(&job.gives(&clone, &["main2"])), ["earlier_pushes"]);
    assert_eq!(
        codes(&job.gives(&forge.clone("main2", Some(2), &[]), &["main2"])),
        ["earlier_pushes"]
    );
    job.wants(
        &forge.clone("main2", Some(1), &[]),
        "git fetch --unshallow origin main",
        &["main2"],
    );
    let gathered = push(&forge, "main", &push_event(ZEROS, "main", false))
        .gives(&clone, &["main1", "main2", "root"]);
    assert!(
        gathered
            .changes
            .files()
            .iter()
            .all(|f| f.status == Status::Added)
    );
    // Rewritten: gone, or not below.
    push(&forge, "main", &push_event(ABSENT, "main", true)).is_whole(&clone);
    push(&forge, "main", &push_event(ABSENT, "main", true)).is_whole(&forge.clone(
        "main2",
        Some(1),
        &[],
    ));
    push(&forge, "main", &push_event(ABSENT, "main", false)).is_whole(&clone);
    push(&forge, "main", &push_event("$w2", "main", true)).is_whole(&clone);
    // Back to an earlier commit.
    push(&forge, "main", &push_event("$main2", "main", true)).is_whole(&forge.whole("main1"));
    // The same again.
    push(&forge, "main", &push_event("$main2", "main", false)).is_whole(&clone);
    push(
        &forge,
        "main",
        &json!({"repository": {"default_branch": "main"}}),
    )
    .is_whole(&clone);
    // No event: the default branch is a guess, and what was there before is not known.
    Job::new(
        &forge,
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/main",
    )
    .is_whole(&clone);
}

#[test]
fn what_is_neither_push_nor_request() {
    let forge = Forge::new();
    let clone = forge.whole("main2");
    for vars in [
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=schedule GITHUB_REF=refs/heads/main",
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=workflow_dispatch GITHUB_REF=refs/heads/work",
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_REF=refs/tags/v1",
        "GITHUB_ACTIONS=true",
        "GITLAB_CI=true CI_PIPELINE_SOURCE=schedule CI_COMMIT_BRANCH=work CI_DEFAULT_BRANCH=main",
        "GITLAB_CI=true CI_PIPELINE_SOURCE=web CI_COMMIT_BRANCH=main CI_DEFAULT_BRANCH=main",
        "GITLAB_CI=true CI_PIPELINE_SOURCE=push CI_COMMIT_TAG=v1 CI_DEFAULT_BRANCH=main",
        "BUILDKITE=true BUILDKITE_SOURCE=ui BUILDKITE_BRANCH=work BUILDKITE_PIPELINE_DEFAULT_BRANCH=main",
        "BUILDKITE=true BUILDKITE_SOURCE=webhook BUILDKITE_BRANCH=v1 BUILDKITE_TAG=v1",
        "CIRCLECI=true CIRCLE_TAG=v1",
        "TF_BUILD=True BUILD_REASON=Schedule BUILD_SOURCEBRANCH=refs/heads/main",
        "TF_BUILD=True BUILD_REASON=IndividualCI BUILD_SOURCEBRANCH=refs/tags/v1",
        "JENKINS_URL=http://x/ BRANCH_NAME=v1 TAG_NAME=v1",
        "CODEBUILD_BUILD_ID=x:1",
        "APPVEYOR=True APPVEYOR_REPO_BRANCH=work APPVEYOR_SCHEDULED_BUILD=True",
        "DRONE=true DRONE_BUILD_EVENT=cron DRONE_BRANCH=work DRONE_REPO_BRANCH=main",
        "TRAVIS=true TRAVIS_EVENT_TYPE=cron TRAVIS_BRANCH=work TRAVIS_PULL_REQUEST=false",
        "SEMAPHORE=true SEMAPHORE_GIT_BRANCH=work SEMAPHORE_WORKFLOW_TRIGGERED_BY_SCHEDULE=true",
        "CI_PIPELINE_EVENT=manual CI_COMMIT_BRANCH=work CI_REPO_DEFAULT_BRANCH=main",
    ] {
        Job::new(&forge, vars).is_whole(&clone);
    }
    // For a comparison of two contracts, everything is no base.
    let git = Git::open(&clone.root(), &vplan::effect::git::environment).unwrap();
    let lookup = |name: &str| match name {
        "GITHUB_EVENT_NAME" => Some(OsString::from("schedule")),
        _ => None,
    };
    let error = vplan::effect::repo::changes::base(&git, &BaseRevision::Auto, &lookup).unwrap_err();
    assert_eq!(error.code(), "vplan::changes::ci_whole", "{error}");
}

#[test]
fn gitlab() {
    let forge = Forge::new();
    let branch = |branch: &str, before: &str| {
        let vars = format!(
            "GITLAB_CI=true CI_PIPELINE_SOURCE=push CI_COMMIT_BRANCH={branch} CI_DEFAULT_BRANCH=main CI_COMMIT_BEFORE_SHA={before}"
        );
        Job::new(&forge, &vars)
    };
    let request = |kind: &str, more: &str| {
        let vars = format!(
            "GITLAB_CI=true CI_PIPELINE_SOURCE=merge_request_event CI_MERGE_REQUEST_EVENT_TYPE={kind} \
             CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main CI_DEFAULT_BRANCH=else CI_COMMIT_BEFORE_SHA={ZEROS} {more}"
        );
        Job::new(&forge, &vars)
    };
    // `GIT_DEPTH: "0"` fetches all branches; otherwise there is the one of the pipeline, or none.
    let few = |at: &str| forge.clone(at, Some(20), &["+refs/heads/work:refs/remotes/origin/work"]);
    for before in ["$w1", ZEROS] {
        branch("work", before).gives(&forge.whole("w2"), &["w1", "w2"]);
        branch("work", before).wants(&few("w2"), "git fetch origin main", &["w1", "w2"]);
    }
    assert_eq!(
        codes(&branch("main", "$main1").gives(&forge.whole("main2"), &["main2"])),
        ["earlier_pushes"]
    );
    branch("main", ZEROS).gives(&forge.whole("main2"), &["main1", "main2", "root"]);
    branch("main", ABSENT).is_whole(&forge.whole("main2"));
    // Of the request itself, of what it would be once merged, of a place in a train.
    let detached = request("detached", "CI_MERGE_REQUEST_DIFF_BASE_SHA=$root");
    detached.gives(&forge.whole("w2"), &["w1", "w2"]);
    detached.gives(&forge.clone("w2", Some(20), &[]), &["w1", "w2"]);
    detached.wants(
        &forge.clone("w2", Some(1), &[]),
        "git fetch --unshallow origin main",
        &["w1", "w2"],
    );
    let merged = "CI_COMMIT_SHA=$merge CI_MERGE_REQUEST_TARGET_BRANCH_SHA=$main2 CI_MERGE_REQUEST_SOURCE_BRANCH_SHA=$w2 \
                  CI_MERGE_REQUEST_DIFF_BASE_SHA=$root";
    request("merged_result", merged).gives(&forge.clone("merge", Some(2), &[]), &["w1", "w2"]);
    request("merged_result", merged).gives(&forge.whole("merge"), &["w1", "w2"]);
    let train = "CI_COMMIT_SHA=$train CI_MERGE_REQUEST_DIFF_BASE_SHA=$root";
    request("merge_train", train).gives(&forge.whole("train"), &["other", "w1", "w2"]);
}

#[test]
fn other_systems() {
    let forge = Forge::new();
    let (work, main) = (forge.whole("w2"), forge.whole("main2"));
    for clone in [&work, &main] {
        clone.git(&[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ]);
    }
    for vars in [
        "BUILDKITE=true BUILDKITE_SOURCE=webhook BUILDKITE_BRANCH=work BUILDKITE_PULL_REQUEST_BASE_BRANCH=main",
        "BUILDKITE=true BUILDKITE_SOURCE=webhook BUILDKITE_BRANCH=work BUILDKITE_PIPELINE_DEFAULT_BRANCH=main",
        "CIRCLECI=true CIRCLE_BRANCH=work",
        "CIRCLECI=true CIRCLE_BRANCH=pull/7",
        "TF_BUILD=True BUILD_REASON=PullRequest SYSTEM_PULLREQUEST_TARGETBRANCH=refs/heads/main BUILD_SOURCEBRANCH=refs/heads/work",
        "TF_BUILD=True BUILD_REASON=IndividualCI BUILD_SOURCEBRANCH=refs/heads/work",
        "JENKINS_URL=http://x/ BRANCH_NAME=PR-7 CHANGE_ID=7 CHANGE_TARGET=main",
        "JENKINS_URL=http://x/ BRANCH_NAME=work GIT_PREVIOUS_SUCCESSFUL_COMMIT=$w1",
        "CIRRUS_CI=true CIRRUS_BRANCH=pull/7 CIRRUS_BASE_BRANCH=main CIRRUS_BASE_SHA=$main1",
        "CIRRUS_CI=true CIRRUS_BRANCH=work CIRRUS_DEFAULT_BRANCH=main CIRRUS_LAST_GREEN_CHANGE=$w1",
        "BITBUCKET_BUILD_NUMBER=1 BITBUCKET_BRANCH=work BITBUCKET_PR_DESTINATION_BRANCH=main",
        "BITBUCKET_BUILD_NUMBER=1 BITBUCKET_BRANCH=work",
        "CODEBUILD_BUILD_ID=x CODEBUILD_WEBHOOK_EVENT=PULL_REQUEST_UPDATED CODEBUILD_WEBHOOK_BASE_REF=refs/heads/main",
        "CODEBUILD_BUILD_ID=x CODEBUILD_WEBHOOK_EVENT=PUSH CODEBUILD_WEBHOOK_HEAD_REF=refs/heads/work",
        "BITRISE_IO=true BITRISEIO_GIT_BRANCH_DEST=main BITRISE_GIT_BRANCH=work",
        "CI_PIPELINE_EVENT=pull_request CI_COMMIT_BRANCH=main CI_COMMIT_TARGET_BRANCH=main CI_REPO_DEFAULT_BRANCH=main",
        "CI_PIPELINE_EVENT=push CI_COMMIT_BRANCH=work CI_REPO_DEFAULT_BRANCH=main CI_PREV_COMMIT_SHA=$w1",
        "DRONE=true DRONE_BUILD_EVENT=pull_request DRONE_PULL_REQUEST=7 DRONE_BRANCH=main DRONE_TARGET_BRANCH=main",
        "DRONE=true DRONE_BUILD_EVENT=push DRONE_BRANCH=work DRONE_TARGET_BRANCH=work DRONE_REPO_BRANCH=main",
        "TRAVIS=true TRAVIS_EVENT_TYPE=pull_request TRAVIS_BRANCH=main TRAVIS_PULL_REQUEST=7",
        "TRAVIS=true TRAVIS_EVENT_TYPE=push TRAVIS_BRANCH=work TRAVIS_PULL_REQUEST=false TRAVIS_COMMIT_RANGE=$w1...$w2",
        "APPVEYOR=True APPVEYOR_REPO_BRANCH=main APPVEYOR_PULL_REQUEST_NUMBER=7",
        "APPVEYOR=True APPVEYOR_REPO_BRANCH=work",
        "SEMAPHORE=true SEMAPHORE_GIT_BRANCH=main SEMAPHORE_GIT_PR_NUMBER=7",
        "SEMAPHORE=true SEMAPHORE_GIT_BRANCH=work",
    ] {
        let gathered = Job::new(&forge, vars).gives(&work, &["w1", "w2"]);
        assert!(codes(&gathered).is_empty(), "{vars}");
    }
    // The default branch: what it was before, where the system says it.
    for vars in [
        "JENKINS_URL=http://x/ BRANCH_NAME=main BRANCH_IS_PRIMARY=true GIT_PREVIOUS_SUCCESSFUL_COMMIT=$main1",
        "CIRRUS_CI=true CIRRUS_BRANCH=main CIRRUS_DEFAULT_BRANCH=main CIRRUS_LAST_GREEN_CHANGE=$main1",
        "CODEBUILD_BUILD_ID=x CODEBUILD_WEBHOOK_EVENT=PUSH CODEBUILD_WEBHOOK_HEAD_REF=refs/heads/main \
         CODEBUILD_WEBHOOK_BASE_REF=refs/heads/main CODEBUILD_WEBHOOK_PREV_COMMIT=$main1",
        "DRONE=true DRONE_BUILD_EVENT=push DRONE_BRANCH=main DRONE_REPO_BRANCH=main DRONE_COMMIT_BEFORE=$main1",
        "TRAVIS=true TRAVIS_EVENT_TYPE=push TRAVIS_BRANCH=main TRAVIS_PULL_REQUEST=false TRAVIS_COMMIT_RANGE=$main1...$main2",
        "SEMAPHORE=true SEMAPHORE_GIT_BRANCH=main SEMAPHORE_GIT_COMMIT_RANGE=$main1...$main2",
    ] {
        assert_eq!(
            codes(&Job::new(&forge, vars).gives(&main, &["main2"])),
            ["earlier_pushes"],
            "{vars}"
        );
    }
    for vars in [
        "BUILDKITE=true BUILDKITE_SOURCE=webhook BUILDKITE_BRANCH=main BUILDKITE_PIPELINE_DEFAULT_BRANCH=main",
        "CIRCLECI=true CIRCLE_BRANCH=main",
        "TF_BUILD=True BUILD_REASON=BatchedCI BUILD_SOURCEBRANCH=refs/heads/main",
        "JENKINS_URL=http://x/ BRANCH_NAME=main BRANCH_IS_PRIMARY=true",
        "BITBUCKET_BUILD_NUMBER=1 BITBUCKET_BRANCH=main",
        "CI_PIPELINE_EVENT=push CI_COMMIT_BRANCH=main CI_REPO_DEFAULT_BRANCH=main CI_PREV_COMMIT_SHA=$main1",
        "APPVEYOR=True APPVEYOR_REPO_BRANCH=main",
    ] {
        Job::new(&forge, vars).is_whole(&main);
    }
    // The merge that the forge made.
    let vars = "TF_BUILD=True BUILD_REASON=PullRequest SYSTEM_PULLREQUEST_TARGETBRANCH=main BUILD_SOURCEBRANCH=refs/pull/7/merge \
                BUILD_SOURCEVERSION=$merge SYSTEM_PULLREQUEST_SOURCECOMMITID=$w2";
    Job::new(&forge, vars).gives(&forge.clone("merge", Some(2), &[]), &["w1", "w2"]);
}

#[test]
fn a_default_branch_that_nobody_names() {
    let forge = Forge::new();
    let job = Job::new(&forge, "CIRCLECI=true CIRCLE_BRANCH=work");
    let bare = forge.clone("w2", None, &[]);
    let error = job.run(&bare).unwrap_err();
    assert_eq!(error.code(), "vplan::changes::ci_default", "{error}");
    let help = error.help().unwrap();
    assert!(
        help.contains("`git fetch origin && git remote set-head origin -a`"),
        "{help}"
    );
    bare.git(&["fetch", "-q", "origin"]);
    bare.git(&["remote", "set-head", "origin", "-a"]);
    job.gives(&bare, &["w1", "w2"]);
    // No system at all.
    let error = Job::new(&forge, "CI=true").run(&bare).unwrap_err();
    assert_eq!(error.code(), "vplan::changes::no_ci_base", "{error}");
}

#[test]
fn an_event_that_cannot_be_read_is_a_mistake() {
    let forge = Forge::new();
    let clone = forge.whole("w2");
    let path = clone.path("../event.json");
    let job = Job::new(
        &forge,
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/work",
    );
    let with = |path: &std::path::Path| {
        let mut vars = job.vars.clone();
        vars.push(("GITHUB_EVENT_PATH".to_owned(), path.display().to_string()));
        gathered(&clone, &vars)
    };
    for text in [
        "",
        "{",
        "[",
        "{\"before\": 7}",
        "{\"repository\": \"main\"}",
        "\u{0}",
    ] {
        clone.write("../event.json", text);
        assert_eq!(
            with(&path).unwrap_err().code(),
            "vplan::changes::ci_event",
            "{text:?}"
        );
    }
    clone.mkdir("../folder");
    assert_eq!(
        with(&clone.path("../folder")).unwrap_err().code(),
        "vplan::changes::ci_event"
    );
    clone.remove("../event.json");
    assert_eq!(with(&path).unwrap().changes.len(), 2);
    // Nothing waits for who never writes.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert_eq!(with(&path).unwrap_err().code(), "vplan::changes::ci_event");
}

#[test]
fn histories_that_have_nothing_in_common() {
    let forge = Forge::new();
    let clone = forge.whole("w2");
    clone.git(&["checkout", "-q", "--orphan", "alone"]);
    clone.git(&["commit", "-q", "-m", "alone"]);
    let job = Job::new(
        &forge,
        "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request GITHUB_BASE_REF=main",
    );
    let gathered = job.gives(&clone, &["root", "w1", "w2"]);
    assert!(
        gathered
            .changes
            .files()
            .iter()
            .all(|f| f.status == Status::Added),
        "{}",
        gathered.description
    );
}
