//! Reads the event of a CI job from the file that GitHub, Gitea and Forgejo write.

use serde::Deserialize;

/// Size limit of an event, in bytes: GitHub sends at most 25 MB.
pub const MAX: u64 = 32 << 20;

/// The parts of an event that vplan reads; everything else in it is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CiEvent {
    /// Of a push: the branch's commit before it.
    pub before: Option<String>,
    /// Of a push: whether that commit is no longer an ancestor of the branch.
    pub forced: Option<bool>,
    /// Of a merge queue: the changes that are tried together.
    pub merge_group: Option<MergeGroup>,
    /// Of a pull request: its two branches.
    pub pull_request: Option<PullRequest>,
    pub repository: Option<Repository>,
}

/// The changes that a merge queue tries together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MergeGroup {
    /// The full name of the branch that they go into.
    pub base_ref: Option<String>,
}

/// A pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PullRequest {
    /// The target branch.
    pub base: Option<PushEnd>,
    /// The source branch.
    pub head: Option<PushEnd>,
}

/// One end of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PushEnd {
    #[serde(rename = "ref")]
    pub branch: Option<String>,
    pub sha: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Repository {
    /// The default branch.
    pub default_branch: Option<String>,
}

/// Parses an event from any bytes.
///
/// # Errors
/// It is no JSON, or a part that vplan reads has another form.
pub fn read(bytes: &[u8]) -> serde_json::Result<CiEvent> {
    let bytes = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii();
    if !bytes.starts_with(b"{") {
        return Err(serde::de::Error::custom("it is no JSON object"));
    }
    serde_json::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_is_none() {
        assert_eq!(read(b"{}").unwrap(), CiEvent::default());
        assert_eq!(
            read(b"\xef\xbb\xbf{\"before\": null, \"more\": {\"before\": 1}}").unwrap(),
            CiEvent::default()
        );
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        // An ignored part is skipped without recursion.
        let nested = [b"{\"x\": ".to_vec(), deep.clone(), b"}".to_vec()].concat();
        assert_eq!(read(&nested).unwrap(), CiEvent::default());
        for bytes in [
            &b""[..],
            b"null",
            b"[]",
            b"{",
            b"{\"before\": 1}",
            b"{\"repository\": \"x\"}",
            b"\xff",
            &deep,
        ] {
            let shown =
                String::from_utf8_lossy(bytes.get(..20.min(bytes.len())).unwrap_or_default())
                    .into_owned();
            assert!(read(bytes).is_err(), "{shown}");
        }
        // A duplicate key is an error.
        assert!(read(b"{\"before\": \"a\", \"before\": \"b\"}").is_err());
    }
}
