//! Resolves a revision to a commit. An ambiguous name is refused, not guessed.

use super::error::{self, GitError};
use super::object::Oid;
use super::refs::Refs;
use super::{Git, repository, words};

/// Git's message on standard error about a name that it finds in more than one place (in the locale
/// `C`).
const AMBIGUOUS: &[u8] = b"is ambiguous";

impl Git {
    /// Resolves a revision of vplan's own: an object id, a full reference, `HEAD`.
    ///
    /// # Errors
    /// The revision does not exist.
    pub fn resolve(&self, revision: &str) -> Result<Oid, GitError> {
        if !is_queryable(revision) {
            return Err(GitError::UnknownRevision(revision.to_owned()));
        }
        let expression = [format!("{revision}^{{commit}}")];
        let words = words("rev-parse --verify --quiet --end-of-options", expression);
        let output = self.call(&words)?;
        self.read_commit(revision, &output)
    }

    fn read_commit(&self, revision: &str, output: &super::call::Output) -> Result<Oid, GitError> {
        let unknown = || GitError::UnknownRevision(revision.to_owned());
        match output.exit {
            Some(0) => Oid::parse(output.stdout.trim_ascii_end()).ok_or_else(unknown),
            _ if output.stderr.is_empty() => Err(unknown()),
            // Ownership and damage do not depend on the revision; any other error does.
            _ => Err(match self.failure("rev-parse", output) {
                error @ GitError::DubiousOwnership(_) => error,
                _ => unknown(),
            }),
        }
    }

    /// Resolves a revision that a user or a file names: a name that is not local is looked up as a
    /// remote's branch.
    ///
    /// # Errors
    /// The name is unknown or ambiguous: a tag and a branch, a local branch and a remote's of the
    /// same short name, the beginning of an id and a branch, branches of several remotes.
    pub fn resolve_name(&self, revision: &str) -> Result<Oid, GitError> {
        let stem = stem(revision);
        let is_id = Oid::parse(stem.as_bytes()).is_some_and(|id| {
            self.layout()
                .head()
                .is_none_or(|head| head.length() == id.length())
        });
        if stem.is_empty() || matches!(stem, "HEAD" | "@") || is_id || !is_queryable(revision) {
            return self.resolve(revision);
        }
        let expression = format!("{revision}^{{commit}}");
        let asked = self.start(&["rev-parse", "--verify", "--end-of-options", &expression])?;
        let references = self.references(stem)?;
        let output = asked.output()?;
        let found = self.read_commit(revision, &output);
        let is_full = stem.starts_with("refs/");
        if is_full {
            // Git would go on and read it as `refs/heads/refs/…`.
            return match references.own.iter().any(|name| name == stem) {
                true => found,
                false => Err(GitError::UnknownRevision(revision.to_owned())),
            };
        }
        let mut parts = output.stderr.windows(AMBIGUOUS.len());
        let said = parts.any(|part| part == AMBIGUOUS);
        let ambiguous = |found| GitError::AmbiguousRevision {
            name: stem.to_owned(),
            found,
        };
        match found {
            Ok(commit) if !said && !references.is_ambiguous() => {
                let meanings = self.of_no_remote(stem, &references)?;
                meanings.map_or(Ok(commit), |found| Err(ambiguous(found)))
            }
            Ok(_) => Err(ambiguous(self.meanings(stem, references))),
            Err(GitError::UnknownRevision(_)) if stem == revision && references.own.is_empty() => {
                let reference = one_of(stem, references.of_remotes)?;
                let unknown = || GitError::UnknownRevision(revision.to_owned());
                self.resolve(&reference.ok_or_else(unknown)?)
            }
            Err(e) => Err(e),
        }
    }

    /// Resolves a local branch whose name reads like a remote's branch. All remotes are considered;
    /// without any, `origin`.
    fn of_no_remote(
        &self,
        stem: &str,
        references: &References,
    ) -> Result<Option<Vec<String>>, GitError> {
        let [local] = references.own.as_slice() else {
            return Ok(None);
        };
        let (true, Some((remote, branch))) =
            (*local == format!("refs/heads/{stem}"), stem.split_once('/'))
        else {
            return Ok(None);
        };
        if remote != "origin" && Refs::new(self).remotes()?.iter().all(|r| r.name != remote) {
            return Ok(None);
        }
        Ok(Some(vec![
            local.clone(),
            format!("the branch {branch} of a remote {remote}, which is not here"),
        ]))
    }

    /// Returns the parents that a commit names, in its order, whether they are here or not.
    ///
    /// # Errors
    /// Errors of git.
    pub fn parents(&self, commit: &Oid) -> Result<Vec<Oid>, GitError> {
        let text = self.ask(&["cat-file", "commit", &commit.to_string()])?;
        let lines = text.split(|b| *b == b'\n');
        let header = lines.take_while(|line| !line.is_empty());
        let parents = header.filter_map(|line| Oid::parse(line.strip_prefix(b"parent ")?));
        Ok(parents.collect())
    }

    /// Returns the commit of a branch of this name on a remote; `origin` comes first.
    ///
    /// # Errors
    /// Several remotes have such a branch, and `origin` is not among them.
    pub fn remote_branch(&self, name: &str) -> Result<Option<(String, Oid)>, GitError> {
        if !error::is_branch_name(name) {
            return Ok(None);
        }
        let found = one_of(name, self.references(name)?.of_remotes)?;
        let resolved = found.map(|reference| {
            let commit = self.resolve(&reference)?;
            Ok((reference, commit))
        });
        resolved.transpose()
    }

    /// Collects the references that a short name can mean.
    fn references(&self, stem: &str) -> Result<References, GitError> {
        if !stem.bytes().all(can_be_in_reference) {
            return Ok(References::default());
        }
        let own = own_names(stem);
        let of_remotes = format!("refs/remotes/*/{stem}");
        let mut args = vec!["for-each-ref", "--format=%(refname)"];
        let full = own.iter().map(String::as_str);
        args.extend(full.filter(|name| name.starts_with("refs/")));
        args.push(&of_remotes);
        let output = self.ask(&args)?;
        let text = String::from_utf8_lossy(&output);
        let listed: Vec<&str> = text.lines().collect();
        let ends = format!("/{stem}");
        let is_of_remote = |name: &&&str| {
            let rest = name.strip_prefix("refs/remotes/");
            let rest = rest.and_then(|n| n.strip_suffix(&ends));
            rest.is_some_and(|remote| !remote.is_empty() && !remote.contains('/'))
        };
        let of_remotes = listed.iter().filter(is_of_remote);
        let of_remotes = of_remotes.map(|n| (*n).to_owned()).collect();
        let own = own.into_iter();
        let own = own.filter(|name| listed.contains(&name.as_str())).collect();
        Ok(References { own, of_remotes })
    }

    /// Lists all meanings of a name, for the message.
    fn meanings(&self, stem: &str, references: References) -> Vec<String> {
        let mut found = Vec::new();
        let plain = stem.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if plain && repository::is_reference_file(&self.layout().git_dir.join(stem)) {
            found.push(format!(".git/{stem}"));
        }
        let clashes = references.clashes();
        found.extend(references.own);
        if clashes {
            found.extend(references.of_remotes);
        }
        if found.len() < 2 && stem.bytes().all(|b| b.is_ascii_hexdigit()) {
            found.push("the beginning of an object id".to_owned());
        }
        found
    }
}

/// Collects the references that a short name can mean.
#[derive(Debug, Default)]
struct References {
    /// The references that git would choose from, its first choice first.
    own: Vec<String>,
    /// The branches of remotes with this short name, by their full names.
    of_remotes: Vec<String>,
}

impl References {
    fn is_ambiguous(&self) -> bool {
        self.own.len() > 1 || self.clashes()
    }

    /// Whether git reads the name as something else than a branch, while a remote has a branch of
    /// this name.
    fn clashes(&self) -> bool {
        let branch =
            |name: &String| name.starts_with("refs/heads/") || name.starts_with("refs/remotes/");
        !self.of_remotes.is_empty() && !self.own.iter().any(branch)
    }
}

/// Returns the references that git tries for a name, in its order.
fn own_names(stem: &str) -> Vec<String> {
    let mut names = vec![stem.to_owned()];
    let prefixes = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
    names.extend(prefixes.map(|prefix| format!("{prefix}{stem}")));
    names.push(format!("refs/remotes/{stem}/HEAD"));
    names
}

fn one_of(name: &str, found: Vec<String>) -> Result<Option<String>, GitError> {
    let origin = format!("refs/remotes/origin/{name}");
    match found.as_slice() {
        [] => Ok(None),
        list if list.contains(&origin) => Ok(Some(origin)),
        [one] => Ok(Some(one.clone())),
        _ => Err(GitError::AmbiguousBranch {
            name: name.to_owned(),
            found,
        }),
    }
}

fn is_queryable(revision: &str) -> bool {
    !revision.trim().is_empty() && !revision.contains('\0')
}

/// Returns the name that a revision begins with: `main` of `main~2`, `main@{1}`, `main^{commit}`.
fn stem(revision: &str) -> &str {
    let ends = revision.find(['~', '^', ':']).into_iter();
    let end = ends.chain(revision.find("@{")).min();
    end.and_then(|end| revision.get(..end)).unwrap_or(revision)
}

/// Whether git allows a byte in the name of a reference, wherever in it.
fn can_be_in_reference(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f && !b"~^:?*[\\".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_a_revision() {
        for (revision, want) in [
            ("main", "main"),
            ("main~2", "main"),
            ("a/b^{commit}", "a/b"),
            ("v1.0^0~3", "v1.0"),
            ("main@{1}", "main"),
            ("main@{upstream}~1", "main"),
            ("@{-1}", ""),
            (":/fix", ""),
            ("^main", ""),
            ("a@b", "a@b"),
            ("@", "@"),
        ] {
            assert_eq!(stem(revision), want, "{revision}");
        }
    }

    #[test]
    fn a_tag_and_a_branch_of_a_remote_clash() {
        let references = |own: &[&str], of_remotes: &[&str]| References {
            own: own.iter().map(|n| (*n).to_owned()).collect(),
            of_remotes: of_remotes.iter().map(|n| (*n).to_owned()).collect(),
        };
        let of_remote = &["refs/remotes/origin/x"][..];
        for (own, of_remotes, want) in [
            (&["refs/heads/x"][..], of_remote, false),
            (&["refs/remotes/x"], of_remote, false),
            (&["refs/tags/x"], &[], false),
            (&["refs/tags/x"], of_remote, true),
            // An id with this prefix, or a file in the repository's folder.
            (&[], of_remote, true),
            (&["refs/tags/x", "refs/heads/x"], &[], true),
        ] {
            assert_eq!(
                references(own, of_remotes).is_ambiguous(),
                want,
                "{own:?} {of_remotes:?}"
            );
        }
    }
}
