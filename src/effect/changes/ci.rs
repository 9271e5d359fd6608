//! Which revision does the CI system say a change is built on?

use super::super::git::Lookup;

/// What a CI system's variable says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiBase {
    /// The variable.
    pub variable: &'static str,
    /// Its value, without `refs/heads/`.
    pub value: String,
    /// Whether it names a branch, which in a CI checkout mostly exists as `REMOTE/NAME` only.
    pub is_branch: bool,
}

/// A variable, whether it names a branch, and a variable that must be set (and not `false`) for it to mean anything.
type Rule = (&'static str, bool, Option<&'static str>);

/// By system. An id comes before a branch of the same system: it cannot have moved since.
const RULES: &[Rule] = &[
    // GitLab
    ("CI_MERGE_REQUEST_DIFF_BASE_SHA", false, None),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", true, None),
    // Cirrus
    ("CIRRUS_BASE_SHA", false, None),
    ("CIRRUS_BASE_BRANCH", true, None),
    // GitHub, Gitea, Forgejo
    ("GITHUB_BASE_REF", true, None),
    ("GITEA_BASE_REF", true, None),
    // Buildkite
    ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", true, None),
    // Jenkins
    ("CHANGE_TARGET", true, None),
    // Azure Pipelines
    ("SYSTEM_PULLREQUEST_TARGETBRANCH", true, None),
    // Bitbucket Pipelines
    ("BITBUCKET_PR_DESTINATION_BRANCH", true, None),
    // AWS CodeBuild
    ("CODEBUILD_WEBHOOK_BASE_REF", true, None),
    // Bitrise
    ("BITRISEIO_GIT_BRANCH_DEST", true, None),
    // Woodpecker, Drone
    ("CI_COMMIT_TARGET_BRANCH", true, None),
    ("DRONE_TARGET_BRANCH", true, Some("DRONE_PULL_REQUEST")),
    // Travis: outside a pull request the variable names the branch itself.
    ("TRAVIS_BRANCH", true, Some("TRAVIS_PULL_REQUEST")),
    // AppVeyor
    ("APPVEYOR_REPO_BRANCH", true, Some("APPVEYOR_PULL_REQUEST_NUMBER")),
    // Semaphore
    ("SEMAPHORE_GIT_BRANCH", true, Some("SEMAPHORE_GIT_PR_NUMBER")),
];

/// The first variable that is set and means something.
#[must_use]
pub fn base(lookup: Lookup<'_>) -> Option<CiBase> {
    let text = |name: &str| lookup(name).and_then(|v| v.into_string().ok()).filter(|v| !v.trim().is_empty());
    RULES.iter().find_map(|(variable, is_branch, only_with)| {
        if only_with.is_some_and(|other| text(other).is_none_or(|v| v == "false")) {
            return None;
        }
        let value = text(variable)?;
        let value = value.strip_prefix("refs/heads/").unwrap_or(&value).to_owned();
        // GitLab sets an id of zeros where there is none.
        (!value.bytes().all(|b| b == b'0')).then_some(CiBase { variable, value, is_branch: *is_branch })
    })
}

/// The names of all variables that are looked at, for the message that none is set.
pub fn variables() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn variables_of_ci_systems() {
        for (env, want) in [
            (&[][..], None),
            (&[("GITHUB_BASE_REF", "main")], Some(("GITHUB_BASE_REF", "main"))),
            (&[("GITHUB_BASE_REF", "")], None),
            (
                &[("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/dev/x")],
                Some(("SYSTEM_PULLREQUEST_TARGETBRANCH", "dev/x")),
            ),
            (&[("TRAVIS_BRANCH", "main"), ("TRAVIS_PULL_REQUEST", "false")], None),
            (&[("TRAVIS_BRANCH", "main"), ("TRAVIS_PULL_REQUEST", "7")], Some(("TRAVIS_BRANCH", "main"))),
            (
                &[("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "abc1")],
                Some(("CI_MERGE_REQUEST_DIFF_BASE_SHA", "abc1")),
            ),
        ] {
            let lookup = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            let got = base(&lookup);
            assert_eq!(got.as_ref().map(|b| (b.variable, b.value.as_str())), want, "{env:?}");
        }
        assert!(variables().any(|v| v == "GITHUB_BASE_REF"));
    }
}
