//! A repository whose own configuration tries to run programs: none of them runs.

use crate::support::Project;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use vplan::base::canon::Digest;
use vplan::base::change::ChangeSet;
use vplan::base::glob::{Glob, Item, ItemContent, Selection};
use vplan::base::path::RepoPath;
use vplan::effect::git::Git;
use vplan::effect::git::fingerprint::fingerprint;
use vplan::effect::os::files::beneath::Beneath;
use vplan::effect::repo::changes::{BaseRevision, ChangeSource, gather};
use vplan::effect::repo::facts::{FactSources, answer};
use vplan::effect::repo::load::{ContractRequest, load, locate};
use vplan::plan::facts::Question;

/// A repository in which every program that git could be told to run leaves a file in `../marks/`.
fn hostile() -> Project {
    let project = Project::git_empty();
    project.mkdir("../marks");
    let marks = project.parent().join("marks");
    let hook = project.parent().join("hook.sh");
    project.script(
        "../hook.sh",
        &format!("#!/bin/sh\n: > \"{}/$$\"\ncat\n", marks.display()),
    );
    project
        .write("contracts/verify.vplan", "vplan 1\ncheck a: true\n")
        .write("package.json", "{\"scripts\":{}}");
    project
        .write("a.txt", "a\n")
        .write("b.txt", "b\n")
        .write("d/c.txt", "c\n")
        .write("Makefile", "all:\n");
    // Time stamps in the future are never older than the index, which makes git compare contents
    // through the filter.
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
    for name in ["a.txt", "b.txt", "d/c.txt", "package.json"] {
        std::fs::File::options()
            .append(true)
            .open(project.path(name))
            .unwrap()
            .set_modified(future)
            .unwrap();
    }
    project.commit("begin");
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("w.txt", "w\n").commit("work");

    let program = hook.to_str().unwrap().to_owned();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "pager.ls-files",
        "pager.diff-index",
        "gpg.program",
        "credential.helper",
        "sequence.editor",
        "uploadpack.packObjectsHook",
        "trace2.eventTarget",
    ] {
        project.git(&["config", key, &program]);
    }
    for command in [
        "rev-parse",
        "diff-index",
        "ls-files",
        "merge-base",
        "cat-file",
        "ls-tree",
        "status",
        "diff",
    ] {
        project.git(&[
            "config",
            &format!("alias.{command}"),
            &format!("!{program}"),
        ]);
    }
    project.git(&["config", "filter.evil.required", "true"]);
    project.git(&[
        "config",
        "core.worktree",
        project.parent().to_str().unwrap(),
    ]);
    project.git(&[
        "config",
        "core.hooksPath",
        project.parent().join("hooks").to_str().unwrap(),
    ]);
    project.git(&["config", "core.untrackedCache", "true"]);
    for name in [
        "post-index-change",
        "fsmonitor-watchman",
        "query-watchman",
        "reference-transaction",
        "pre-commit",
    ] {
        project.script(&format!("../hooks/{name}"), &format!("#!{program}\n"));
        project.script(&format!(".git/hooks/{name}"), &format!("#!{program}\n"));
    }
    project.write(".gitattributes", "* diff=evil merge=evil\n");
    project.write(
        ".git/info/attributes",
        "* filter=evil diff=evil merge=evil\n",
    );
    // References and a replacement that are options or lies.
    let commit = project.git(&["rev-parse", "HEAD"]);
    let target = project.parent().join("marks/output");
    for reference in [
        "--output=x".to_owned(),
        format!("--output={}", target.display()),
        "--upload-pack=x".to_owned(),
    ] {
        let path = project.path(format!(".git/refs/heads/{reference}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{commit}\n")).unwrap();
    }
    // A bare repository in the tree, with a configuration of its own.
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n".to_owned()),
        (
            "config",
            format!("[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {program}\n"),
        ),
        ("objects/info/x", String::new()),
        ("refs/heads/x", String::new()),
    ] {
        project.write(format!("embedded/{name}"), text);
    }
    project
        .write("b.txt", "changed\n")
        .write("untracked.txt", "");
    project
}

/// The environment of somebody who wants to help the repository along.
fn environment(project: &Project) -> impl Fn(&str) -> Option<OsString> + Sync + use<> {
    let hook = project.parent().join("hook.sh").into_os_string();
    let home = project.parent().join("home").into_os_string();
    let root = project.root();
    move |name| match name {
        "PATH" => {
            let mut path = root.join("bin").into_os_string().into_vec();
            path.extend(b"::.:");
            path.extend(std::env::var_os("PATH").unwrap().into_vec());
            Some(OsString::from_vec(path))
        }
        "HOME" => Some(home.clone()),
        "GIT_DIR" | "GIT_WORK_TREE" | "GIT_INDEX_FILE" | "GIT_OBJECT_DIRECTORY" => {
            Some(root.join("embedded").into())
        }
        "GIT_EXTERNAL_DIFF" | "GIT_PAGER" | "GIT_EDITOR" | "GIT_SSH" | "GIT_SSH_COMMAND"
        | "GIT_ASKPASS" => Some(hook.clone()),
        "GIT_CONFIG_COUNT" => Some("1".into()),
        "GIT_CONFIG_KEY_0" => Some("core.fsmonitor".into()),
        "GIT_CONFIG_VALUE_0" => Some(hook.clone()),
        "GITHUB_BASE_REF" => Some("main".into()),
        _ => None,
    }
}

fn marks(project: &Project) -> usize {
    std::fs::read_dir(project.parent().join("marks"))
        .unwrap()
        .count()
}

#[test]
fn nothing_that_the_configuration_names_runs() {
    let project = hostile();
    project.script("bin/git", "#!/bin/sh\n../hook.sh < /dev/null\n");
    let lookup = environment(&project);
    let before = marks(&project);
    let site = locate(&project.path("d"), None, &lookup).unwrap();
    let git = site.git.as_ref().unwrap();
    let work_tree = gather(Some(&ChangeSource::WorkTree), Ok(git), &lookup).unwrap();
    let paths: Vec<String> = work_tree
        .changes
        .files()
        .iter()
        .map(|f| f.path.to_string())
        .collect();
    assert_eq!(
        paths,
        [
            ".gitattributes",
            "b.txt",
            "bin/git",
            "embedded/HEAD",
            "embedded/config",
            "embedded/objects/info/x",
            "embedded/refs/heads/x",
            "untracked.txt",
        ]
    );
    for source in [
        ChangeSource::Base(BaseRevision::Revision("main".to_owned())),
        ChangeSource::Base(BaseRevision::Auto),
        ChangeSource::Staged,
        ChangeSource::All,
    ] {
        assert!(
            gather(Some(&source), Ok(git), &lookup).is_ok(),
            "{source:?}"
        );
    }
    for revision in ["--output=x", "--upload-pack=x", "refs/heads/--output=x"] {
        // As a revision such a branch may be read; as an option it is not.
        let source = ChangeSource::Base(BaseRevision::Revision(revision.to_owned()));
        let _ = gather(Some(&source), Ok(git), &lookup);
        assert!(!project.exists("x") && !project.exists("d/x"), "{revision}");
    }
    let path = |p: &str| RepoPath::parse(p.as_bytes()).unwrap();
    let questions = [
        Question::BaseScripts(path(".")),
        Question::BaseMakeTargets(path(".")),
        Question::Tracked(path("a.txt")),
        Question::Exists(path("a.txt")),
        Question::MissingChanged,
    ];
    let ground = FactSources {
        root: &site.root,
        git: Some(git),
        base: work_tree.base.as_ref(),
        changes: &ChangeSet::default(),
    };
    answer(&questions.into_iter().collect(), &ground).unwrap();
    for revision in [None, Some("main"), Some("--output=x")] {
        let wanted = ContractRequest {
            contract: None,
            revision,
            base: None,
            max_file: 1 << 20,
            text: None,
            folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
        };
        let _ = load(&site, &wanted, &mut vplan::effect::git::pins::NothingPinned);
    }
    let all = Selection {
        items: vec![Item {
            not: false,
            what: ItemContent::Glob(Glob::parse("**").unwrap()),
        }],
    };
    let beneath = Beneath::open(&site.root).unwrap();
    assert!(
        fingerprint(&beneath, &site.root, Some(git), &all)
            .unwrap()
            .contains_key(&path("a.txt"))
    );
    assert_eq!(
        marks(&project),
        before,
        "a program of the configuration ran"
    );
}

#[test]
fn the_trap_is_a_real_one() {
    // What the test above withstands does bite git itself, or it would prove nothing.
    let project = hostile();
    let before = marks(&project);
    let mut git = std::process::Command::new("git");
    git.args(["-c", "core.worktree="])
        .arg("--work-tree=.")
        .args(["-c", "core.fsmonitor=false", "diff-index", "HEAD"]);
    git.current_dir(project.root())
        .env("HOME", project.parent().join("home"))
        .output()
        .unwrap();
    assert!(marks(&project) > before, "the clean filter did not run");
}

#[test]
fn nothing_is_written() {
    let project = hostile();
    let lookup = environment(&project);
    let index = || Digest::hash(&std::fs::read(project.path(".git/index")).unwrap());
    let before = (
        index(),
        std::fs::metadata(project.path(".git/index"))
            .unwrap()
            .modified()
            .unwrap(),
    );
    let git = Git::open(&project.root(), &lookup).unwrap();
    gather(None, Ok(&git), &lookup).unwrap();
    assert_eq!(
        (
            index(),
            std::fs::metadata(project.path(".git/index"))
                .unwrap()
                .modified()
                .unwrap()
        ),
        before
    );
    assert!(!project.exists(".git/index.lock"));
}

#[test]
fn an_embedded_bare_repository_is_no_repository() {
    let project = hostile();
    let lookup = environment(&project);
    let before = marks(&project);
    // From inside it, the repository around it is not found through it.
    match Git::open(&project.path("embedded"), &lookup) {
        Ok(git) => {
            assert_eq!(git.root(), project.root().canonicalize().unwrap());
            let _ = gather(None, Ok(&git), &lookup);
        }
        Err(e) => assert_eq!(e.code(), "vplan::git::bare_repository"),
    }
    assert_eq!(marks(&project), before);
}

#[test]
fn a_replaced_commit_does_not_hide_a_change() {
    let project = Project::git_with(&[("a.txt", "a\n")]);
    let first = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("a.txt", "b\n");
    let second = project.commit("work");
    // The base pretends to have the new content already.
    let tree = project.git(&["rev-parse", &format!("{second}^{{tree}}")]);
    let lie = project.git(&["commit-tree", &tree, "-m", "lie"]);
    project.git(&["replace", "-f", &first, &lie]);
    let lookup = environment(&project);
    let git = Git::open(&project.root(), &lookup).unwrap();
    let source = ChangeSource::Base(BaseRevision::Revision("main".to_owned()));
    let gathered = gather(Some(&source), Ok(&git), &lookup).unwrap();
    assert_eq!(gathered.changes.len(), 1);
}

#[test]
fn somebody_elses_repository_is_refused() {
    // Only root can give a repository away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::git_with(&[("a.txt", "a\n")]);
    for path in ["", ".git"] {
        std::os::unix::fs::chown(project.path(path), Some(12345), None).unwrap();
    }
    let lookup = environment(&project);
    let git = Git::open(&project.root(), &lookup).unwrap();
    let error = gather(None, Ok(&git), &lookup).unwrap_err();
    assert_eq!(error.code(), "vplan::git::dubious_ownership", "{error}");
    assert!(error.help().unwrap().contains("safe.directory"));
}
