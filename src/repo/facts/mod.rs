//! Answers the questions of `plan::facts` about the repository, each only when it is needed.

mod calls;
pub mod makefile;
pub mod matched;
pub mod package;
mod tables;

use matched::matched;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, visible};
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_os::files::beneath::{Beneath, DirectoryNames, ReadError};
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};

/// Size limit of a manifest or makefile, in bytes; a larger one is "unknown".
const MAX_MANIFEST: u64 = 4 << 20;

/// The inputs for the answers.
#[derive(Clone, Copy, Debug)]
pub struct FactSources<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// Git, when there is a repository.
    pub git: Option<&'a Git>,
    /// The base revision: `Gathered::base`. Without one it is HEAD.
    pub base: Option<&'a Oid>,
    /// The changed files of the request.
    pub changes: &'a ChangeSet,
}

/// Answers questions in rounds, at most so many: answers raise further questions. Without a root
/// that can be opened, nothing is known.
pub(crate) fn settled(
    root: &Path,
    git: Option<&Git>,
    most: usize,
    asked: impl Fn(&Facts) -> BTreeSet<Question>,
) -> Facts {
    let changes = ChangeSet::default();
    let ground = FactSources {
        root,
        git,
        base: None,
        changes: &changes,
    };
    let mut known = Facts::default();
    for _ in 0..most {
        let questions = asked(&known);
        match answer(&questions, &ground) {
            Ok(answers) if !questions.is_empty() => known.0.extend(answers.0),
            _ => break,
        }
    }
    known
}

/// Answers all questions.
///
/// # Errors
/// The root cannot be opened. Any other failure is the answer "unknown".
pub fn answer(questions: &BTreeSet<Question>, ground: &FactSources<'_>) -> std::io::Result<Facts> {
    let beneath = Beneath::open(ground.root)?;
    let mut names = DirectoryNames::default();
    let mut base = Base {
        ground,
        commit: None,
    };
    let mut tracked = tracked(questions, ground.git);
    let globs = questions.iter().filter_map(|question| match question {
        Question::ExistsMatch(glob) => Some(glob.clone()),
        _ => None,
    });
    let matched = matched(&globs.collect(), ground.root, ground.git, |_| true);
    let mut facts = Facts::default();
    for question in questions {
        let answer = match question {
            Question::Exists(path) => word(beneath.exists(path, &mut names)),
            Question::ExistsMatch(glob) => match &matched {
                Ok(matched) => word(matched.contains(glob)),
                Err(error) => {
                    tracing::debug!(%error, "the files cannot be listed");
                    UNKNOWN
                }
            },
            Question::MissingChanged => {
                let gone = |path: &&RepoPath| !beneath.exists(path, &mut names);
                let paths = ground.changes.files().iter().map(|f| &f.path);
                list(paths.filter(gone).map(|p| p.as_bytes().to_vec()))
            }
            Question::Scripts(dir) => scripts(dir, |path| work_tree(&beneath, &mut names, path)),
            Question::MakeTargets(dir) => {
                make_targets(dir, |path| work_tree(&beneath, &mut names, path))
            }
            Question::BaseScripts(dir) => scripts(dir, |path| base.read(path)),
            Question::BaseMakeTargets(dir) => make_targets(dir, |path| base.read(path)),
            Question::MakefileTargets(path) => {
                targets_of(work_tree(&beneath, &mut names, path)).unwrap_or(word(false))
            }
            Question::BaseMakefileTargets(path) => {
                targets_of(base.read(path)).unwrap_or(word(false))
            }
            Question::Tracked(path) => tracked.remove(path).map_or(UNKNOWN, word),
            Question::Calls(path) => calls_of(path, work_tree(&beneath, &mut names, path)),
            Question::SameTable(path, key) => {
                let now = work_tree(&beneath, &mut names, path);
                same_table(path, key, base.read(path), now)
            }
            // The contract answers these itself.
            Question::Folders(_) | Question::BaseFolders(_) => UNKNOWN,
        };
        if tracing::enabled!(tracing::Level::DEBUG) {
            let question = visible(question.to_word());
            tracing::debug!(%question, answer = %describe(&answer), "fact");
        }
        facts.add(question.clone(), answer);
    }
    Ok(facts)
}

/// Describes an answer to people.
fn describe(answer: &FactAnswer) -> String {
    match answer {
        FactAnswer::Word(Certainty::Yes) => "yes".to_owned(),
        FactAnswer::Word(Certainty::No) => "no".to_owned(),
        FactAnswer::Word(Certainty::Unknown) => "unknown".to_owned(),
        FactAnswer::List(list) => list.iter().map(visible).collect::<Vec<_>>().join(" "),
    }
}

const UNKNOWN: FactAnswer = FactAnswer::Word(Certainty::Unknown);

fn word(yes: bool) -> FactAnswer {
    FactAnswer::Word(if yes { Certainty::Yes } else { Certainty::No })
}

fn list(items: impl Iterator<Item = Vec<u8>>) -> FactAnswer {
    let sorted: BTreeSet<Vec<u8>> = items.collect();
    FactAnswer::List(sorted.into_iter().map(Word::new).collect())
}

/// The result of reading a file.
enum Content {
    Bytes(Vec<u8>),
    Missing,
    Unreadable,
}

impl Content {
    fn answer(self, read: impl FnOnce(&[u8]) -> Option<FactAnswer>) -> FactAnswer {
        match self {
            Content::Missing => word(false),
            Content::Unreadable => UNKNOWN,
            Content::Bytes(bytes) => read(&bytes).unwrap_or(UNKNOWN),
        }
    }
}

fn work_tree(beneath: &Beneath, names: &mut DirectoryNames, path: &RepoPath) -> Content {
    if !beneath.exists(path, names) {
        // A broken symlink is not a file, but no tool would overlook it either.
        return if beneath.link(path).is_some() {
            Content::Unreadable
        } else {
            Content::Missing
        };
    }
    match beneath.read(path, MAX_MANIFEST) {
        Ok(bytes) => Content::Bytes(bytes),
        Err(ReadError::Missing) => Content::Missing,
        Err(_) => Content::Unreadable,
    }
}

/// The base revision, resolved once, on the first question about it.
struct Base<'a> {
    ground: &'a FactSources<'a>,
    /// Inside: `None` for a branch without commits.
    commit: Option<Result<Option<Oid>, ()>>,
}

impl Base<'_> {
    fn read(&mut self, path: &RepoPath) -> Content {
        let Some(git) = self.ground.git else {
            return Content::Unreadable;
        };
        let given = self.ground.base.copied();
        let commit = self.commit.get_or_insert_with(|| match given {
            Some(commit) => Ok(Some(commit)),
            None => git.head().map_err(|_| ()),
        });
        match commit {
            Err(()) => Content::Unreadable,
            Ok(None) => Content::Missing,
            Ok(Some(commit)) => match git.file_at(commit, path, MAX_MANIFEST) {
                Ok(Some(bytes)) => Content::Bytes(bytes),
                Ok(None) => Content::Missing,
                Err(_) => Content::Unreadable,
            },
        }
    }
}

fn scripts(dir: &RepoPath, mut read: impl FnMut(&RepoPath) -> Content) -> FactAnswer {
    let Ok(path) = dir.join(b"package.json") else {
        return UNKNOWN;
    };
    read(&path).answer(|bytes| {
        let scripts = package::read(bytes)?.scripts.into_keys();
        Some(list(scripts.map(String::into_bytes)))
    })
}

fn make_targets(dir: &RepoPath, mut read: impl FnMut(&RepoPath) -> Content) -> FactAnswer {
    for name in makefile::NAMES {
        let Ok(path) = dir.join(name.as_bytes()) else {
            return UNKNOWN;
        };
        if let Some(answer) = targets_of(read(&path)) {
            return answer;
        }
    }
    word(false)
}

/// Returns the targets of one makefile; `None` if it does not exist.
fn targets_of(content: Content) -> Option<FactAnswer> {
    let targets = |bytes: &[u8]| Some(list(makefile::targets(bytes)?.into_iter()));
    (!matches!(content, Content::Missing)).then(|| content.answer(targets))
}

fn calls_of(path: &RepoPath, content: Content) -> FactAnswer {
    content.answer(|bytes| {
        let lines = calls::calls(path, bytes)?.into_iter();
        Some(list(lines.map(String::into_bytes)))
    })
}

fn same_table(path: &RepoPath, key: &str, before: Content, now: Content) -> FactAnswer {
    let table = |content| match content {
        Content::Missing => Some(Vec::new()),
        Content::Unreadable => None,
        Content::Bytes(bytes) => tables::table(path, &bytes, key),
    };
    match (table(before), table(now)) {
        (Some(before), Some(now)) => word(before == now),
        _ => UNKNOWN,
    }
}

/// Answers all questions about tracked files with one call.
fn tracked(questions: &BTreeSet<Question>, git: Option<&Git>) -> BTreeMap<RepoPath, bool> {
    let asked = |q: &Question| match q {
        Question::Tracked(path) => Some(path.clone()),
        _ => None,
    };
    let paths: Vec<RepoPath> = questions.iter().filter_map(asked).collect();
    let (Some(git), false) = (git, paths.is_empty()) else {
        return BTreeMap::new();
    };
    // Far below the maximum length of a command line.
    let answers = paths.chunks(1_000).map(|part| git.tracked_of(part));
    match answers.collect::<Result<Vec<_>, _>>() {
        Ok(parts) => paths.into_iter().zip(parts.into_iter().flatten()).collect(),
        Err(_) => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::change::{ChangedFile, Status};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn answers_without_git() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                "package.json",
                "{\"scripts\":{\"test\":\"t\",\"lint\":\"l\"}}",
            ),
            ("broken/package.json", "{"),
            ("Makefile", "all:\n"),
            ("sub/Makefile", "wrong:\n"),
            ("sub/makefile", "right:\n"),
            ("inc/Makefile", "include x\n"),
            ("ci/build.mk", "\u{feff}./lint:\nbuild-%:\n"),
            ("ci/test.sh", ". ./lib.sh\n"),
            ("here.ts", ""),
        ] {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let changed = |p| ChangedFile {
            path: path(p),
            status: Status::Modified,
        };
        let changes = ChangeSet::new(vec![changed("here.ts"), changed("gone.ts")]);
        let ground = FactSources {
            root: dir.path(),
            git: None,
            base: None,
            changes: &changes,
        };
        let yes = FactAnswer::Word(Certainty::Yes);
        let no = FactAnswer::Word(Certainty::No);
        let words = |list: &[&str]| FactAnswer::List(list.iter().map(|w| Word::from(*w)).collect());
        let cases = [
            (Question::Exists(path("package.json")), yes),
            (Question::Exists(path("Package.json")), no.clone()),
            (Question::MissingChanged, words(&["gone.ts"])),
            (Question::Scripts(path(".")), words(&["lint", "test"])),
            (Question::Scripts(path("broken")), UNKNOWN),
            (Question::Scripts(path("none")), no.clone()),
            (Question::MakeTargets(path(".")), words(&["all"])),
            (Question::MakeTargets(path("sub")), words(&["right"])),
            (Question::MakeTargets(path("inc")), UNKNOWN),
            (
                Question::MakefileTargets(path("ci/build.mk")),
                words(&["build-%", "lint"]),
            ),
            (Question::MakefileTargets(path("inc/Makefile")), UNKNOWN),
            (Question::MakefileTargets(path("ci/none.mk")), no.clone()),
            (Question::BaseMakefileTargets(path("ci/build.mk")), UNKNOWN),
            (Question::MakeTargets(path("broken")), no.clone()),
            (Question::BaseScripts(path(".")), UNKNOWN),
            (Question::BaseMakeTargets(path(".")), UNKNOWN),
            (Question::Tracked(path("here.ts")), UNKNOWN),
            (Question::Calls(path("ci/test.sh")), words(&[". ./lib.sh"])),
            (Question::Calls(path("ci/none.sh")), no),
            (Question::Calls(path("broken/package.json")), UNKNOWN),
            (
                Question::SameTable(path("package.json"), "jest".to_owned()),
                UNKNOWN,
            ),
        ];
        let questions = cases.iter().map(|(q, _)| q.clone()).collect();
        let facts = answer(&questions, &ground).unwrap();
        for (question, want) in cases {
            assert_eq!(facts.get(&question), Some(&want), "{question:?}");
        }
    }
}
