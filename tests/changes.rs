//! Which files changed, in real repositories.

use crate::support::Project;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsString;
use vplan::arbitrary::config;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::path::RepoPath;
use vplan::effect::git::Git;
use vplan::effect::git::error::GitError;
use vplan::effect::repo::changes::error::ChangeError;
use vplan::effect::repo::changes::gathered::Gathered;
use vplan::effect::repo::changes::list::{ListFormat, parse};
use vplan::effect::repo::changes::{BaseRevision, ChangeSource, gather};

/// What `gather` says in a directory of the project.
fn ask_in(
    project: &Project,
    dir: &str,
    source: Option<ChangeSource>,
    env: &[(&str, &str)],
) -> Result<Gathered, ChangeError> {
    let mut vars: BTreeMap<&str, OsString> =
        env.iter().map(|(k, v)| (*k, OsString::from(v))).collect();
    vars.entry("PATH")
        .or_insert_with(|| std::env::var_os("PATH").unwrap());
    vars.insert("HOME", project.parent().join("home").into_os_string());
    let lookup = |name: &str| vars.get(name).cloned();
    let git = Git::open(&project.path(dir), &lookup);
    gather(source.as_ref(), git.as_ref(), &lookup)
}

fn ask(project: &Project, source: Option<ChangeSource>) -> Result<Gathered, ChangeError> {
    ask_in(project, "", source, &[])
}

fn base(revision: &str) -> Option<ChangeSource> {
    Some(ChangeSource::Base(BaseRevision::Revision(
        revision.to_owned(),
    )))
}

/// The change set as `X:path`, with git's letters.
fn shown(changes: &ChangeSet) -> Vec<String> {
    let letter = |s: Status| match s {
        Status::Added => 'A',
        Status::Modified => 'M',
        Status::Deleted => 'D',
        Status::TypeChanged => 'T',
    };
    changes
        .files()
        .iter()
        .map(|f| format!("{}:{}", letter(f.status), f.path))
        .collect()
}

#[track_caller]
fn expect(project: &Project, source: Option<ChangeSource>, want: &[&str]) {
    let gathered = ask(project, source).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(shown(&gathered.changes), want, "{}", gathered.description);
}

fn project() -> Project {
    let project = Project::git_empty();
    project
        .write(".gitignore", "*.log\nout/\n")
        .write("src/a.ts", "a\n")
        .write("src/b.ts", "b\n")
        .write("tool.sh", "");
    project.commit("begin");
    project
}

#[test]
fn a_clean_work_tree() {
    let project = project();
    let gathered = ask(&project, None).unwrap();
    assert!(gathered.is_empty_by_default());
    assert_eq!(
        gathered.base.unwrap().to_string(),
        project.git(&["rev-parse", "HEAD"])
    );
    assert!(
        !ask(&project, Some(ChangeSource::WorkTree))
            .unwrap()
            .is_empty_by_default()
    );
}

/// Where nothing has moved and no file is untracked, git is not asked; of untracked files, whether
/// this machine ignores them.
#[test]
fn git_is_asked_no_more_than_it_must() {
    let project = Project::contract("vplan 1\ncontract \"t\"\ncheck unit: true\n");
    let (path, asked) = (
        std::env::var("PATH").unwrap(),
        project.parent().join("asked"),
    );
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        asked.display()
    );
    project.mkdir("../bin").script("../bin/git", &script);
    let path = format!("{}:{path}", project.parent().join("bin").display());
    let ask = || {
        std::fs::write(&asked, "").unwrap();
        project
            .vplan(&["explain", "--format", "json"])
            .env("PATH", &path)
            .run()
            .exits(0);
        std::fs::read_to_string(&asked).unwrap()
    };
    project.run(&["run"]).exits(0);
    assert_eq!(ask(), "");
    project.write("src/new.py", "");
    let said = ask();
    assert!(
        said.contains(" check-ignore ") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_new_time_stamp_is_no_change() {
    let project = project();
    project.touch("src/a.ts");
    // The same bytes in a new file: another inode, too.
    project.remove("src/b.ts").write("src/b.ts", "b\n");
    expect(&project, None, &[]);
}

#[test]
fn the_same_size_and_time_stamp_hide_nothing() {
    let project = project();
    // Written in the same instant as the index, with the time stamp that the index knows.
    let time = std::fs::metadata(project.path("src/a.ts"))
        .unwrap()
        .modified()
        .unwrap();
    project.write("src/a.ts", "x\n");
    std::fs::File::options()
        .append(true)
        .open(project.path("src/a.ts"))
        .unwrap()
        .set_modified(time)
        .unwrap();
    expect(&project, None, &["M:src/a.ts"]);
}

#[test]
fn changes_of_every_kind() {
    let project = project();
    project
        .write("gone", "")
        .write("kind", "")
        .write("link/x", "")
        .write("mode", "");
    project.commit("more");
    project
        .write("src/a.ts", "new\n")
        .remove("src/b.ts")
        .mode("mode", 0o755);
    project.remove("kind").symlink("kind", "mode");
    project.remove("link").symlink("link", "src");
    project
        .write("new dir/deep/x.ts", "")
        .write(".env", "")
        .write("x.log", "")
        .write("out/y", "");
    project.write("staged", "").git(&["add", "staged"]);
    project.git(&["rm", "-q", "gone"]);
    project.write(".vplan/runs/x", "");
    expect(
        &project,
        None,
        &[
            "A:.env",
            "D:gone",
            "T:kind",
            "A:link",
            "D:link/x",
            "M:mode",
            "A:new dir/deep/x.ts",
            "M:src/a.ts",
            "D:src/b.ts",
            "A:staged",
        ],
    );
    expect(
        &project,
        Some(ChangeSource::Staged),
        &["D:gone", "A:staged"],
    );
}

#[test]
fn names_of_every_kind() {
    let project = project();
    for name in [
        "a\nb",
        "tab\there",
        "-rf",
        "@file",
        "\"quoted\"",
        "back\\slash",
        "日本/語",
        "\u{202e}x",
        "added:x",
    ] {
        project.write(name, "");
    }
    project.write_bytes(b"raw\xff\xfe/\x1b", "");
    let changes = ask(&project, None).unwrap().changes;
    let has = |name: &[u8]| changes.contains(&RepoPath::from_exact(name).unwrap());
    assert_eq!(changes.len(), 10);
    assert!(
        has(b"a\nb") && has(b"raw\xff\xfe/\x1b") && has("日本/語".as_bytes()) && has(b"\"quoted\"")
    );
    // Tracked, they go through the index and its names.
    project.commit("names");
    expect(&project, None, &[]);
    std::fs::remove_dir_all(project.path("日本")).unwrap();
    project.write_bytes(b"raw\xff\xfe/\x1b", "x");
    expect(&project, None, &["M:raw\\xff\\xfe/\\u{1b}", "D:日本/語"]);
}

#[test]
fn the_index_hides_nothing() {
    let project = project();
    project.git(&["update-index", "--assume-unchanged", "src/a.ts"]);
    project.git(&["update-index", "--skip-worktree", "src/b.ts"]);
    project.write("src/a.ts", "x").write("src/b.ts", "x");
    expect(&project, None, &["M:src/a.ts", "M:src/b.ts"]);
    // Without a sparse checkout, a file that is not there is missing.
    project.remove("src/b.ts");
    expect(&project, None, &["M:src/a.ts", "D:src/b.ts"]);
}

#[test]
fn staged_and_work_tree_count_together() {
    let project = project();
    project
        .write("src/a.ts", "staged\n")
        .git(&["add", "src/a.ts"]);
    project.write("src/a.ts", "a\n");
    project.write("fleeting", "").git(&["add", "fleeting"]);
    project.remove("fleeting");
    expect(&project, None, &[]);
    expect(
        &project,
        Some(ChangeSource::Staged),
        &["A:fleeting", "M:src/a.ts"],
    );
    project
        .write("intended", "")
        .git(&["add", "-N", "intended"]);
    project.git(&["rm", "-q", "--cached", "src/b.ts"]);
    expect(&project, None, &["A:intended", "M:src/b.ts"]);
}

#[test]
fn a_conflict_is_a_change() {
    let project = project();
    project.git(&["checkout", "-q", "-b", "other"]);
    project.write("src/a.ts", "other\n").commit("other");
    project.git(&["checkout", "-q", "main"]);
    project.write("src/a.ts", "main\n").commit("main");
    let merge = std::process::Command::new("git")
        .args(["merge", "-q", "other"])
        .current_dir(project.root())
        .output();
    assert!(!merge.unwrap().status.success());
    let changes = ask(&project, None).unwrap().changes;
    assert!(
        shown(&changes).contains(&"M:src/a.ts".to_owned()),
        "{changes:?}"
    );
}

#[test]
fn indexes_of_every_form() {
    for version in ["2", "3", "4"] {
        let project = project();
        for i in 0..40 {
            project.write(format!("deep/dir{}/file{i}.ts", i % 3), format!("{i}"));
        }
        project.commit("more");
        project.git(&["update-index", "--index-version", version]);
        project.git(&["update-index", "--skip-worktree", "tool.sh"]);
        project
            .write("deep/dir1/file1.ts", "x")
            .remove("deep/dir2/file2.ts");
        expect(
            &project,
            None,
            &["M:deep/dir1/file1.ts", "D:deep/dir2/file2.ts"],
        );
    }
    let project = project();
    project.git(&["update-index", "--split-index"]);
    project.write("src/a.ts", "x").touch("src/b.ts");
    expect(&project, None, &["M:src/a.ts"]);
    // A damaged index is git's to complain about.
    project.write(".git/index", "DIRC nonsense");
    assert!(matches!(
        ask(&project, None),
        Err(ChangeError::Git(GitError::Failed { .. }))
    ));
}

#[test]
fn sparse_checkouts() {
    let project = project();
    project.write("other/x", "").commit("more");
    project.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    assert!(!project.exists("other/x"));
    expect(&project, None, &[]);
    project.write("src/a.ts", "x").write("other/x", "found");
    expect(&project, None, &["M:other/x", "M:src/a.ts"]);
}

#[test]
fn object_ids_of_both_lengths() {
    let project = Project::bare();
    project.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    project.write("a", "").write("b", "");
    expect(&project, None, &["A:a", "A:b"]);
    project.commit("begin");
    project.touch("a").write("b", "x");
    expect(&project, None, &["M:b"]);
}

#[test]
fn a_branch_without_commits() {
    let project = Project::git_empty();
    expect(&project, None, &[]);
    project.write("a", "").write("b", "").git(&["add", "a"]);
    expect(&project, None, &["A:a", "A:b"]);
    expect(&project, Some(ChangeSource::Staged), &["A:a"]);
    expect(&project, Some(ChangeSource::All), &["M:a", "A:b"]);
    assert!(matches!(
        ask(&project, base("HEAD")),
        Err(ChangeError::Git(GitError::UnknownRevision(_)))
    ));
}

#[test]
fn bases() {
    let project = project();
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("w", "").write("t", "").commit("one");
    project.git(&["rm", "-q", "t"]);
    project.commit("two");
    project.git(&["checkout", "-q", "-b", "side", "main"]);
    project.write("other", "").commit("side");
    project.git(&["checkout", "-q", "work"]);
    project.git(&["mv", "tool.sh", "tool2.sh"]);
    project.write("n", "");
    // `side` went on; what it did there is no change of ours.
    for revision in ["main", "side", "HEAD~2", "refs/heads/main"] {
        expect(
            &project,
            base(revision),
            &["A:n", "D:tool.sh", "A:tool2.sh", "A:w"],
        );
    }
    expect(&project, base("HEAD"), &["A:n", "D:tool.sh", "A:tool2.sh"]);
    let gathered = ask(&project, base("side")).unwrap();
    assert_eq!(
        gathered.base.unwrap().to_string(),
        project.git(&["rev-parse", "main"])
    );
    for wrong in [
        "no-such",
        "--output=x",
        "src/a.ts",
        "",
        " ",
        "main..work",
        "^main",
        "HEAD:src",
        "a\0b",
    ] {
        let error = ask(&project, base(wrong)).unwrap_err();
        assert!(
            matches!(&error, ChangeError::Git(GitError::UnknownRevision(r)) if r == wrong),
            "{wrong}: {error}"
        );
    }
    assert!(!project.exists("x"));
}

#[test]
fn unrelated_histories_are_compared_from_nothing() {
    let project = project();
    project.git(&["checkout", "-q", "--orphan", "alone"]);
    project.commit("alone");
    expect(
        &project,
        base("main"),
        &["A:.gitignore", "A:src/a.ts", "A:src/b.ts", "A:tool.sh"],
    );
}

#[test]
fn a_shallow_clone_says_how_to_deepen_it() {
    let origin = project();
    origin.git(&["checkout", "-q", "-b", "work"]);
    origin.write("w", "").commit("work");
    origin.git(&["checkout", "-q", "main"]);
    origin.write("m", "").commit("main");
    let url = format!("file://{}", origin.root().display());
    let clone = Project::bare();
    clone.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        "--no-single-branch",
        "-b",
        "work",
        &url,
        ".",
    ]);
    for revision in ["origin/main", "refs/remotes/origin/main", "main"] {
        let error = ask(&clone, base(revision)).unwrap_err();
        assert!(
            matches!(&error, ChangeError::Lacking(lacking) if lacking.shallow),
            "{error}"
        );
        let help = error.help().unwrap();
        assert!(
            help.contains("`git fetch --unshallow origin main`"),
            "{help}"
        );
    }
    clone.git(&["fetch", "-q", "--unshallow"]);
    expect(&clone, base("origin/main"), &["A:w"]);
    // A branch that only the remote has is found there.
    expect(&clone, base("main"), &["A:w"]);
}

#[test]
fn the_base_of_a_ci_system() {
    let origin = project();
    let url = format!("file://{}", origin.root().display());
    let clone = Project::bare();
    clone.git(&["clone", "-q", &url, "."]);
    clone.git(&["checkout", "-q", "-b", "work"]);
    clone.write("w", "").commit("work");
    // The local branch is stale, which is the usual state of it.
    clone.git(&["branch", "-f", "main", "work"]);
    let auto = Some(ChangeSource::Base(BaseRevision::Auto));
    for variable in [
        "GITHUB_BASE_REF",
        "CHANGE_TARGET",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    ] {
        let gathered = ask_in(&clone, "", auto.clone(), &[(variable, "main")]).unwrap();
        assert_eq!(shown(&gathered.changes), ["A:w"]);
        assert_eq!(
            gathered.notes,
            [format!("the base is `main`, from `{variable}`")]
        );
    }
    let id = clone.git(&["rev-parse", "HEAD~1"]);
    let gathered = ask_in(
        &clone,
        "",
        auto.clone(),
        &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", &id)],
    )
    .unwrap();
    assert_eq!(shown(&gathered.changes), ["A:w"]);
    let id = clone.git(&["rev-parse", "HEAD"]);
    let error = ask_in(
        &clone,
        "",
        auto.clone(),
        &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", &id)],
    )
    .unwrap_err();
    assert!(matches!(error, ChangeError::CiNoChange { .. }), "{error}");
    let error = ask_in(&clone, "", auto.clone(), &[]).unwrap_err();
    assert!(
        matches!(error, ChangeError::NoCiBase)
            && error.help().unwrap().contains("`GITHUB_ACTIONS`")
    );
    let error = ask_in(&clone, "", auto, &[("GITHUB_BASE_REF", "gone")]).unwrap_err();
    assert_eq!(
        error.help().as_deref(),
        Some("fetch it first: `git fetch origin gone`")
    );
}

#[test]
fn submodules_are_paths_and_what_changed_in_them() {
    let library = project();
    let url = format!("file://{}", library.root().display());
    let project = project();
    project.git(&["submodule", "--quiet", "add", &url, "lib"]);
    let inside = [
        "A:lib/.gitignore",
        "A:lib/src/a.ts",
        "A:lib/src/b.ts",
        "A:lib/tool.sh",
    ];
    expect(
        &project,
        None,
        &[&["A:.gitmodules", "A:lib"], &inside[..]].concat(),
    );
    project.commit("lib");
    expect(&project, None, &[]);
    // Something changed inside.
    project.write("lib/src/a.ts", "x");
    expect(&project, None, &["M:lib", "M:lib/src/a.ts"]);
    project.git_in("lib", &["checkout", "-q", "."]);
    project.write("lib/untracked", "");
    expect(&project, None, &["M:lib", "A:lib/untracked"]);
    project.remove("lib/untracked");
    expect(&project, None, &[]);
    // Another commit.
    project.git_in("lib", &["commit", "-q", "--allow-empty", "-m", "more"]);
    expect(&project, None, &["M:lib"]);
    expect(&project, Some(ChangeSource::Staged), &[]);
    project.git(&["add", "lib"]);
    expect(&project, Some(ChangeSource::Staged), &["M:lib"]);
    project.git(&["commit", "-q", "-m", "bump"]);
    expect(&project, None, &[]);
    // A file in its place, and then nothing.
    project.remove("lib").write("lib", "");
    expect(&project, None, &["T:lib"]);
    project.remove("lib");
    expect(&project, None, &["D:lib"]);
    // Not populated: nothing to say, unless somebody hides something there.
    project.mkdir("lib");
    expect(&project, None, &[]);
    project.write("lib/hidden", "");
    expect(&project, None, &["M:lib", "A:lib/hidden"]);
}

#[test]
fn a_nested_repository_hides_nothing() {
    let project = project();
    project
        .write("nested/x.ts", "")
        .write("nested/deep/y.ts", "");
    project.git_in("nested", &["init", "-q"]);
    expect(
        &project,
        None,
        &["A:nested", "A:nested/deep/y.ts", "A:nested/x.ts"],
    );
}

#[test]
fn linked_work_trees_and_subdirectories() {
    let project = project();
    project.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    project.write("../linked/src/a.ts", "x");
    let gathered = ask_in(&project, "../linked/src", None, &[]).unwrap();
    assert_eq!(shown(&gathered.changes), ["M:src/a.ts"]);
    project.write("n", "");
    let gathered = ask_in(&project, "src", None, &[]).unwrap();
    assert_eq!(
        shown(&gathered.changes),
        ["A:n"],
        "paths count from the root, and the whole tree is looked at"
    );
    let named = Some(ChangeSource::Named(vec![b"a.ts".to_vec()]));
    let gathered = ask_in(&project, "src", named, &[]).unwrap();
    assert_eq!(
        shown(&gathered.changes),
        ["M:a.ts"],
        "named paths count from the root as well"
    );
}

#[test]
fn packed_references_and_a_detached_head() {
    let project = project();
    project.git(&["pack-refs", "--all"]);
    project.write("n", "");
    expect(&project, None, &["A:n"]);
    project.git(&["checkout", "-q", "--detach"]);
    expect(&project, None, &["A:n"]);
    project.git(&["symbolic-ref", "HEAD", "refs/tags/odd"]);
    project.git(&["update-ref", "refs/tags/odd", "main"]);
    expect(&project, None, &["A:n"]);
}

#[test]
fn without_git() {
    let project = Project::bare();
    let named = Some(ChangeSource::Named(vec![b"deleted:a.ts".to_vec()]));
    expect(&project, named.clone(), &["D:a.ts"]);
    assert!(matches!(
        ask(&project, None),
        Err(ChangeError::Git(GitError::NotARepository(_)))
    ));
    // A repository, but no program.
    let project = self::project();
    for path in ["", "relative", "/nonexistent"] {
        let error = ask_in(&project, "", None, &[("PATH", path)]).unwrap_err();
        assert!(
            matches!(error, ChangeError::Git(GitError::Missing)),
            "{error}"
        );
        assert_eq!(
            shown(
                &ask_in(&project, "", named.clone(), &[("PATH", path)])
                    .unwrap()
                    .changes
            ),
            ["D:a.ts"]
        );
    }
    let bare = Project::bare();
    bare.git(&["init", "-q", "--bare", "."]);
    assert!(matches!(
        ask(&bare, None),
        Err(ChangeError::Git(GitError::Bare(_)))
    ));
}

#[test]
fn modes_count_whatever_the_configuration_says() {
    let project = project();
    project.git(&["config", "core.fileMode", "false"]);
    // This file system has modes, whatever the configuration says.
    project.mode("tool.sh", 0o755);
    expect(&project, None, &["M:tool.sh"]);
    project.git(&["update-index", "--chmod=+x", "src/a.ts"]);
    expect(&project, None, &["M:tool.sh"]);
    expect(&project, Some(ChangeSource::Staged), &["M:src/a.ts"]);
}

#[test]
fn a_tracked_record_is_a_mistake() {
    let project = project();
    project
        .write(".vplan/x", "")
        .git(&["add", "-f", ".vplan/x"]);
    for source in [None, Some(ChangeSource::Staged), Some(ChangeSource::All)] {
        let error = ask(&project, source).unwrap_err();
        assert!(
            matches!(error, ChangeError::Git(GitError::TrackedRecord(_))),
            "{error}"
        );
    }
}

#[test]
fn lists_that_git_writes() {
    let project = project();
    project
        .write("ä\n\"x", "1\n2\n3\n")
        .write("-name", "")
        .commit("more");
    project.git(&["mv", "ä\n\"x", "renamed"]);
    project
        .write("src/a.ts", "x")
        .remove("-name")
        .git(&["add", "-A"]);
    let want = ["D:-name", "A:renamed", "M:src/a.ts", "D:ä\\n\"x"];
    for nul in [false, true] {
        for (flag, format) in [
            ("--name-status", ListFormat::NameStatus),
            ("--raw", ListFormat::Raw),
        ] {
            let mut args = vec!["diff-index", "--cached", "-M", flag, "HEAD"];
            args.extend(nul.then_some("-z"));
            let bytes = [
                project.git(&args).into_bytes(),
                if nul { vec![] } else { vec![b'\n'] },
            ]
            .concat();
            let files = parse(&bytes, format, nul).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(shown(&ChangeSet::new(files)), want, "{flag} {nul}");
        }
    }
}

/// Something that happens to a repository.
#[derive(Clone, Debug)]
enum Happening {
    Write(usize, u8),
    Remove(usize),
    Mode(usize, bool),
    Link(usize, usize),
    Touch(usize),
    Stage(usize),
    Unstage(usize),
    Commit,
}

const PATHS: [&str; 7] = ["a", "b", "d/a", "d/b", "d/e/x", "x y", "ignored.log"];

fn happening() -> impl Strategy<Value = Happening> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => (path.clone(), 0..3_u8).prop_map(|(p, c)| Happening::Write(p, c)),
        2 => path.clone().prop_map(Happening::Remove),
        1 => (path.clone(), any::<bool>()).prop_map(|(p, x)| Happening::Mode(p, x)),
        1 => (path.clone(), path.clone()).prop_map(|(p, t)| Happening::Link(p, t)),
        1 => path.clone().prop_map(Happening::Touch),
        2 => path.clone().prop_map(Happening::Stage),
        1 => path.prop_map(Happening::Unstage),
        1 => Just(Happening::Commit),
    ]
}

fn happen(project: &Project, happening: &Happening) {
    let there = |i: usize| project.exists(PATHS[i]);
    let plain = |i: usize| {
        project
            .path(PATHS[i])
            .symlink_metadata()
            .is_ok_and(|m| m.is_file())
    };
    match *happening {
        Happening::Write(path, content) => {
            if there(path) {
                project.remove(PATHS[path]);
            }
            project.write(PATHS[path], format!("{content}\n"));
        }
        Happening::Remove(path) if there(path) => drop(project.remove(PATHS[path])),
        Happening::Mode(path, x) if plain(path) => {
            project.mode(PATHS[path], if x { 0o755 } else { 0o644 });
        }
        Happening::Link(path, target) => {
            if there(path) {
                project.remove(PATHS[path]);
            }
            project.symlink(PATHS[path], PATHS[target]);
        }
        Happening::Touch(path) if plain(path) => drop(project.touch(PATHS[path])),
        Happening::Stage(path) if there(path) => {
            drop(project.git(&["add", "-f", "--", PATHS[path]]))
        }
        Happening::Unstage(path) => drop(project.git(&[
            "rm",
            "-q",
            "-f",
            "--cached",
            "--ignore-unmatch",
            PATHS[path],
        ])),
        Happening::Commit => drop(project.git(&["commit", "-q", "--allow-empty", "-m", "x"])),
        _ => {}
    }
}

/// What git itself says about a harmless repository.
fn oracle(project: &Project) -> ChangeSet {
    let changed = project.git(&["diff", "-z", "--name-status", "--no-renames", "HEAD"]);
    let mut files = parse(changed.as_bytes(), ListFormat::NameStatus, true).unwrap();
    let untracked = project.git(&["ls-files", "-z", "-o", "--exclude-standard"]);
    let untracked = parse(untracked.as_bytes(), ListFormat::Names, true).unwrap();
    files.extend(untracked.into_iter().map(|f| ChangedFile {
        status: Status::Added,
        ..f
    }));
    ChangeSet::new(files)
}

proptest! {
    #![proptest_config(config(128))]

    /// vplan compares the work tree itself; on harmless repositories it agrees with git.
    #[test]
    fn git_set_equals_reference(happenings in proptest::collection::vec(happening(), 1..10)) {
        let project = Project::git_empty();
        project.write(".gitignore", "*.log\n").write("a", "0\n").write("d/a", "0\n").write("x y", "0\n").commit("begin");
        for each in &happenings {
            happen(&project, each);
        }
        let ours = ask(&project, None).unwrap();
        prop_assert_eq!(shown(&ours.changes), shown(&oracle(&project)));
    }
}

/// A file that is too large to be read in any time is known by its size; one of the same size is
/// read.
#[test]
fn large_files_are_read_only_if_their_size_says_nothing() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nwhenChangedAny \"big\" {\n  check big: true\n}\n",
        ),
        ("big", "small\n"),
    ]);
    let open = || {
        let path = project.path("big");
        std::fs::File::options().write(true).open(path).unwrap()
    };
    let checks = || {
        let plan = project.run(&["plan", "--base", "HEAD", "--format", "json"]);
        plan.exits(0).json()["steps"].as_array().unwrap().len()
    };
    open().set_len(1 << 42).unwrap();
    assert_eq!(checks(), 1);
    open().set_len((64 << 20) + 1).unwrap();
    project.commit("large");
    for (byte, changed) in [(0, 0), (1, 1), (0, 0)] {
        std::os::unix::fs::FileExt::write_all_at(&open(), &[byte], 64 << 20).unwrap();
        assert_eq!(checks(), changed, "{byte}");
    }
}
