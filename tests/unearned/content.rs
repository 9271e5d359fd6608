//! What is compared is content: neither flags in the index, nor a setting of the machine, nor a
//! rule that is not tracked keeps a file from the answer.

use crate::support::{Project, eventually};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use vplan::arbitrary::config;
use vplan::base::change::Status;
use vplan::effect::git::Git;
use vplan::effect::git::skipped::Unseen;
use vplan::effect::repo::changes::{ChangeSource, gather};

const CONTRACT: &str =
    "vplan 1\ncontract \"t\"\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";

fn project() -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        (".gitignore", "*.log\n/out/\n"),
        ("src/a.py", "one\n"),
        ("src/b.py", "two\n"),
        ("tests/test_a.py", "test\n"),
    ])
}

fn opened(project: &Project) -> Git {
    let path = std::env::var_os("PATH").unwrap();
    let home = project.parent().join("home").into_os_string();
    let lookup = |name: &str| match name {
        "PATH" => Some(path.clone()),
        "HOME" => Some(home.clone()),
        _ => None::<OsString>,
    };
    let git = Git::open(&project.root(), &lookup)
        .unwrap()
        .with_memory(&project.parent().join("states"));
    git.keep();
    git
}

/// What changed, and what was not looked into.
fn compared(project: &Project) -> (Vec<String>, Unseen) {
    let git = opened(project);
    let gathered = gather(Some(&ChangeSource::WorkTree), Ok(&git), &|_| None)
        .unwrap_or_else(|e| panic!("{e}"));
    let letter = |s: Status| match s {
        Status::Added => 'A',
        Status::Modified => 'M',
        Status::Deleted => 'D',
        Status::TypeChanged => 'T',
    };
    let shown = gathered
        .changes
        .files()
        .iter()
        .map(|f| format!("{}:{}", letter(f.status), f.path))
        .collect();
    (shown, git.skipped_paths())
}

#[track_caller]
fn changes(project: &Project, want: &[&str]) {
    assert_eq!(compared(project).0, want);
    // From its table, too, when it has one.
    assert_eq!(compared(project).0, want, "the second time");
}

/// The caveat with a code, in what `explain` says.
fn caveat(project: &Project, code: &str) -> Option<Value> {
    let plan = project
        .run(&["explain", "--base", "HEAD", "--format", "json"])
        .json();
    let caveats = plan["caveats"].as_array().cloned().unwrap_or_default();
    caveats.into_iter().find(|c| c["code"] == code)
}

/// Writes what the index says of an entry: the status of the file that is there now, or another id.
fn forge(project: &Project, path: &str, id: Option<&str>) {
    let file = project.path(".git/index");
    let mut bytes = std::fs::read(&file).unwrap();
    assert_eq!(bytes[..8], *b"DIRC\0\0\0\x02");
    let count = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
    let mut at = 12;
    for _ in 0..count {
        let length =
            usize::from(u16::from_be_bytes(bytes[at + 60..at + 62].try_into().unwrap()) & 0xfff);
        if bytes[at + 62..at + 62 + length] == *path.as_bytes() {
            match id {
                Some(id) => {
                    for (byte, hex) in bytes[at + 40..at + 60]
                        .iter_mut()
                        .zip(id.as_bytes().chunks(2))
                    {
                        *byte = u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
                    }
                }
                None => {
                    let m = std::fs::symlink_metadata(project.path(path)).unwrap();
                    let all = [
                        m.ctime(),
                        m.ctime_nsec(),
                        m.mtime(),
                        m.mtime_nsec(),
                        m.dev() as i64,
                        m.ino() as i64,
                        i64::from(m.mode()),
                        i64::from(m.uid()),
                        i64::from(m.gid()),
                        m.size() as i64,
                    ];
                    for (i, value) in all.into_iter().enumerate().filter(|(i, _)| *i != 6) {
                        bytes[at + 4 * i..at + 4 * i + 4]
                            .copy_from_slice(&(value as u32).to_be_bytes());
                    }
                }
            }
            std::fs::write(&file, bytes).unwrap();
            return;
        }
        at += (62 + length) / 8 * 8 + 8;
    }
    panic!("no entry {path}");
}

#[test]
fn a_forged_status_in_the_index() {
    let project = project();
    project.write("src/a.py", "bad\n").touch("src/a.py");
    forge(&project, "src/a.py", None);
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "",
        "git believes it"
    );
    changes(&project, &["M:src/a.py"]);
}

#[test]
fn a_forged_cache_of_trees_in_the_index() {
    let project = project();
    project.git(&["read-tree", "HEAD"]);
    project.write("src/a.py", "bad\n");
    let id = project.git(&["hash-object", "-w", "src/a.py"]);
    forge(&project, "src/a.py", Some(&id));
    let believed = project.git(&["diff-index", "--cached", "--name-only", "HEAD"]);
    assert_eq!(believed, "", "git believes it");
    changes(&project, &["M:src/a.py"]);
    let staged = gather(Some(&ChangeSource::Staged), Ok(&opened(&project)), &|_| {
        None
    })
    .unwrap();
    assert_eq!(staged.changes.len(), 1, "what is staged as well");
}

#[test]
fn flags_in_the_index() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let project = project();
        project.git(&[
            "update-index",
            flag,
            "src/a.py",
            "src/b.py",
            "tests/test_a.py",
        ]);
        project.write("src/a.py", "bad\n").remove("tests/test_a.py");
        project.remove("src/b.py").symlink("src/b.py", "a.py");
        changes(&project, &["M:src/a.py", "T:src/b.py", "D:tests/test_a.py"]);
    }
}

#[test]
fn settings_of_git() {
    let project = project();
    for (name, value) in [
        ("core.ignoreCase", "true"),
        ("core.fileMode", "false"),
        ("core.trustctime", "false"),
        ("core.checkStat", "minimal"),
        ("core.preloadIndex", "true"),
        ("core.fsmonitor", "true"),
        ("core.untrackedCache", "true"),
        ("core.symlinks", "false"),
        ("core.quotePath", "false"),
        ("index.version", "4"),
        ("core.virtualFilesystem", ".git/hook"),
        ("status.showUntrackedFiles", "no"),
        ("diff.ignoreSubmodules", "all"),
    ] {
        project.git(&["config", name, value]);
    }
    project
        .write("src/A.PY", "another file\n")
        .mode("src/b.py", 0o755);
    project
        .remove("tests/test_a.py")
        .symlink("tests/test_a.py", "x");
    changes(&project, &["A:src/A.PY", "M:src/b.py", "T:tests/test_a.py"]);
}

#[test]
fn a_time_stamp_that_was_put_back() {
    let project = project();
    let table = |states: &Path| {
        let repositories = std::fs::read_dir(states).into_iter().flatten().flatten();
        repositories
            .map(|r| r.path().join("contents/files"))
            .any(|file| file.exists())
    };
    // What was written just now is not remembered.
    changes(&project, &[]);
    eventually("the table is kept", || {
        changes(&project, &[]);
        table(&project.parent().join("states"))
    });
    let time = std::fs::metadata(project.path("src/a.py"))
        .unwrap()
        .modified()
        .unwrap();
    project.write("src/a.py", "bad\n");
    std::fs::File::options()
        .append(true)
        .open(project.path("src/a.py"))
        .unwrap()
        .set_modified(time)
        .unwrap();
    changes(&project, &["M:src/a.py"]);
    // A table that is damaged, and one of another repository.
    for entry in std::fs::read_dir(project.parent().join("states")).unwrap() {
        std::fs::write(
            entry.unwrap().path().join("contents/files"),
            "vplan stats 2\n\0\0nonsense",
        )
        .unwrap();
    }
    changes(&project, &["M:src/a.py"]);
}

#[test]
fn no_place_for_the_table() {
    let project = project();
    std::fs::write(project.parent().join("states"), "a file").unwrap();
    project.write("src/a.py", "bad\n");
    changes(&project, &["M:src/a.py"]);
    let state = project.parent().join("home/state");
    std::fs::write(&state, "a file").unwrap();
    project
        .run(&["explain", "--base", "HEAD"])
        .exits(0)
        .says("unit");
}

#[test]
fn a_submodule_that_is_none() {
    let project = project();
    let head = project.git(&["rev-parse", "HEAD"]);
    project.write("src/new/bad.py", "bad\n");
    project.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},src/new"),
    ]);
    assert!(
        !project.git(&["ls-files", "--others"]).contains("bad.py"),
        "git does not look there"
    );
    changes(&project, &["A:src/new", "A:src/new/bad.py"]);
    // A repository of its own changes nothing.
    project.git_in("src/new", &["init", "-q"]);
    changes(&project, &["A:src/new", "A:src/new/bad.py"]);
}

fn with_attributes(attributes: &str, files: &[(&str, &[u8])]) -> Project {
    let project = project();
    project.write(".gitattributes", attributes);
    for (path, content) in files {
        project.write(path, content);
    }
    project.commit("attributes");
    changes(&project, &[]);
    project
}

#[test]
fn conversions_that_are_tracked_hide_what_they_must_and_nothing_else() {
    let project = with_attributes(
        "*.bat text eol=crlf\n*.auto text=auto\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE-BOM\n*.bin binary\n",
        &[
            ("src/x.bat", b"a\r\nb\r\n"),
            ("src/x.auto", b"a\nb\n"),
            ("src/x.id", b"$Id: 0$\n"),
            ("src/x.u16", b"\xff\xfea\0\n\0"),
            ("src/x.bin", b"a\n"),
        ],
    );
    // As a checkout with other line ends would have them.
    project
        .write("src/x.bat", "a\nb\n")
        .write("src/x.auto", "a\r\nb\r\n")
        .write("src/x.id", "$Id: 1 $\n");
    project.write("src/x.u16", b"\xfe\xff\0a\0\n");
    changes(&project, &[]);
    // A checkout would not give it these, and what runs it may tell them apart.
    let said = caveat(&project, "line_ends").unwrap();
    assert_eq!(
        (&said["files"], &said["effect"]),
        (&serde_json::json!(["src/x.auto"]), &"note".into())
    );
    project.write("src/x.bin", "a\r\n");
    changes(&project, &["M:src/x.bin"]);
    project
        .write("src/x.bat", "a\r\nc\r\n")
        .write("src/x.auto", "a\r\nb\r\n\0")
        .write("src/x.id", "$Id: 1 $ x\n");
    project.write("src/x.u16", b"\xff\xfeb\0\n\0");
    changes(
        &project,
        &[
            "M:src/x.auto",
            "M:src/x.bat",
            "M:src/x.bin",
            "M:src/x.id",
            "M:src/x.u16",
        ],
    );
}

#[test]
fn a_stamp_of_git_is_no_place_for_code() {
    let project = with_attributes("*.js ident\n", &[("src/x.js", b"/* $Id$ */\nfail();\n")]);
    project.write("src/x.js", "/* $Id: 0123abcd $ */\nfail();\n");
    changes(&project, &[]);
    project.write("src/x.js", "/* $Id: */ exit(); /* $ */\nfail();\n");
    assert_eq!(
        project.git(&["diff", "--name-only"]),
        "",
        "git would commit the same"
    );
    changes(&project, &["M:src/x.js"]);
}

#[test]
fn files_outside_the_sparse_checkout_of_a_submodule() {
    let inner = Project::git_with(&[("x/a", "1\n"), ("b", "1\n")]);
    let project = project();
    let url = inner.root().display().to_string();
    project.git(&["submodule", "--quiet", "add", &url, "src/sub"]);
    project.pushed(&project.commit("submodule"));
    assert_eq!(caveat(&project, "sparse"), None);
    project.git_in("src/sub", &["config", "core.sparseCheckout", "true"]);
    project.git_in("src/sub", &["update-index", "--skip-worktree", "x/a"]);
    project.remove("src/sub/x/a");
    assert_eq!(
        compared(&project)
            .1
            .left_out
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["src/sub/x/a"]
    );
    project.write("src/a.py", "new\n");
    assert_eq!(caveat(&project, "sparse").unwrap()["effect"], "narrows");
}

#[test]
fn a_conversion_that_is_not_tracked() {
    let crlf = || {
        let project = project();
        project.write("src/a.py", "one\r\n");
        project
    };
    for (name, value) in [
        ("core.autocrlf", "true"),
        ("core.autocrlf", "input"),
        ("core.eol", "crlf"),
    ] {
        let project = crlf();
        project.git(&["config", name, value]);
        changes(&project, &["M:src/a.py"]);
    }
    let project = crlf();
    project.write(".git/info/attributes", "* text\n");
    changes(&project, &["M:src/a.py"]);
    let project = crlf();
    project
        .write(".git/a", "* text\n")
        .git(&["config", "core.attributesFile", ".git/a"]);
    changes(&project, &["M:src/a.py"]);
    // Nor does the change say itself how it is looked at.
    let project = crlf();
    project.write(".gitattributes", "* text\n");
    changes(&project, &["A:.gitattributes", "M:src/a.py"]);
    let project = crlf();
    project
        .write("src/.gitattributes", "* text\n")
        .write(".git/info/exclude", ".gitattributes\n");
    changes(&project, &["M:src/a.py"]);
    let project = with_attributes("*.txt text\n", &[("src/x.txt", b"a\n")]);
    project
        .write("src/x.txt", "a\r\n")
        .write(".gitattributes", "# text\n*.txt text\n");
    changes(&project, &["M:.gitattributes", "M:src/x.txt"]);
    // What was committed with other line ends is another content, whatever the attributes would
    // make of it.
    let project = with_attributes("*.txt text\n", &[("src/x.txt", b"a\n")]);
    project.write("src/x.txt", "a\r\n");
    let id = project.git_stdin(&["hash-object", "-w", "--stdin", "--no-filters"], b"a\r\n");
    project.git(&[
        "update-index",
        "--cacheinfo",
        &format!("100644,{id},src/x.txt"),
    ]);
    changes(&project, &["M:src/x.txt"]);
}

#[test]
fn a_filter_runs_no_program_and_hides_nothing() {
    use sha2::Digest as _;
    let project = project();
    let large = "a large file\n".repeat(1000);
    let sha: String = sha2::Sha256::digest(large.as_bytes())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let pointer = |sha: &str| {
        format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {}\n",
            large.len()
        )
    };
    project.write(
        ".gitattributes",
        "*.big filter=lfs diff=lfs merge=lfs -text\n*.secret filter=crypt\n",
    );
    project
        .write("src/x.big", pointer(&sha))
        .write("src/y.secret", "as it is\n")
        .write("src/z.secret", "sealed\n");
    project.commit("filters");
    for filter in ["lfs", "crypt"] {
        for way in ["clean", "smudge", "process"] {
            project.git(&[
                "config",
                &format!("filter.{filter}.{way}"),
                "touch ../ran; cat",
            ]);
        }
    }
    // A pointer that was not replaced, and the file in its place.
    changes(&project, &[]);
    project.write("src/x.big", &large);
    changes(&project, &[]);
    project.write("src/x.big", large.replace('l', "L"));
    changes(&project, &["M:src/x.big"]);
    project.write("src/x.big", pointer(&"0".repeat(64)));
    changes(&project, &["M:src/x.big"]);
    project.write("src/x.big", pointer(&sha));
    // Of what another filter makes, nothing is known.
    project
        .write("src/z.secret", "open\n")
        .touch("src/y.secret");
    changes(&project, &["M:src/z.secret"]);
    assert!(!project.exists("../ran"), "a filter ran");
}

/// A way to hide a file, by its name.
type Hide = (&'static str, fn(&Project));

#[test]
fn files_that_only_local_rules_hide() {
    let hide: [Hide; 6] = [
        (".git/info/exclude", |p| {
            _ = p.write(".git/info/exclude", "bad*\n")
        }),
        ("core.excludesFile", |p| {
            p.write(".git/x", "/src/bad*\n")
                .git(&["config", "core.excludesFile", ".git/x"]);
        }),
        ("the user's file", |p| {
            _ = p.write("../home/.config/git/ignore", "bad.py\n")
        }),
        ("a .gitignore that ignores itself", |p| {
            _ = p.write("src/.gitignore", "*\n")
        }),
        ("one that nothing tracks", |p| {
            p.write(".git/info/exclude", ".gitignore\n")
                .write("src/.gitignore", "/bad.py\n");
        }),
        ("one above", |p| {
            p.git(&["rm", "-q", "--cached", ".gitignore"]);
            p.write(".gitignore", "/.gitignore\n*.log\nsrc/bad*\n");
        }),
    ];
    for (name, hide) in hide {
        let project = project();
        hide(&project);
        project
            .write("src/bad.py", "bad\n")
            .write("src/x.log", "tracked rules may hide");
        assert!(
            !compared(&project).0.contains(&"A:src/bad.py".to_owned()),
            "{name}"
        );
        let caveat =
            caveat(&project, "hidden_files").unwrap_or_else(|| panic!("{name}: nothing is said"));
        assert_eq!(
            (&caveat["effect"], &caveat["checks"][0]),
            (&"narrows".into(), &"unit".into()),
            "{name}: {caveat}"
        );
        assert!(
            caveat["files"]
                .as_array()
                .unwrap()
                .contains(&"src/bad.py".into()),
            "{name}: {caveat}"
        );
        let report = project
            .run(&["run", "--base", "HEAD", "--format", "json"])
            .json();
        assert_ne!(report["coverage"], "full", "{name}");
        project
            .run(&["run", "--base", "HEAD", "--require", "full"])
            .exits(44);
    }
}

#[test]
fn files_that_local_rules_hide_from_no_check() {
    let project = project();
    project
        .write(".git/info/exclude", ".idea/\n*.swp\n")
        .write(".idea/workspace.xml", "")
        .write("x.swp", "");
    let (changed, unseen) = compared(&project);
    assert_eq!((changed.len(), unseen.hidden.len()), (0, 2));
    assert_eq!(
        caveat(&project, "hidden_files"),
        None,
        "no check would get them"
    );
}

#[test]
fn files_that_the_change_itself_hides() {
    let both = CONTRACT.to_owned() + "check own {\n  run true\n  inputs \"lib/**\"\n}\n";
    type Case<'a> = (&'a str, fn(&Project), Option<(&'a str, &'a [&'a str])>);
    let cases: [Case<'_>; 11] = [
        (
            "a line",
            |p| _ = p.write(".gitignore", "*.log\n/out/\n/src/new*\n"),
            Some((".gitignore:3: /src/new*", &["src/new.py"])),
        ),
        (
            "committed",
            |p| _ = p.write(".gitignore", "new.py\n*.log\n/out/\n").commit("x"),
            Some((".gitignore:1: new.py", &["src/new.py"])),
        ),
        (
            "a folder",
            |p| {
                p.write("src/deep/er/x.py", "")
                    .write(".gitignore", "*.log\n/out/\n/src/deep\n");
            },
            Some((".gitignore:3: /src/deep", &["src/deep/er/x.py"])),
        ),
        (
            "a new file of rules",
            |p| {
                p.write("src/.gitignore", "new.py\n")
                    .git(&["add", "src/.gitignore"]);
            },
            Some(("src/.gitignore:1: new.py", &["src/new.py"])),
        ),
        (
            "a line that is taken out",
            |p| {
                p.remove("src/new.py")
                    .write(".gitignore", "*.log\nnew.py\n!/src/new.py\n")
                    .commit("x");
                super::pushed(p);
                p.write(".gitignore", "*.log\nnew.py\n")
                    .write("src/new.py", "bad\n");
            },
            Some((".gitignore:2: new.py", &["src/new.py"])),
        ),
        (
            "what `inputs` select",
            |p| {
                p.write("lib/x", "")
                    .write(".gitignore", "*.log\n/out/\nlib\n");
            },
            Some((".gitignore:3: lib", &["lib/x"])),
        ),
        (
            "what was hidden before",
            |p| {
                p.write("src/x.log", "")
                    .write(".gitignore", "/out/\n*.log\n*.lo?\n");
            },
            None,
        ),
        (
            "what no check selects",
            |p| {
                _ = p
                    .write("docs/x", "")
                    .write(".gitignore", "*.log\n/out/\n/docs/\n")
            },
            None,
        ),
        (
            "what is tracked",
            |p| _ = p.write(".gitignore", "*.log\n/out/\nsrc/a.py\n"),
            None,
        ),
        (
            "what is not hidden after all",
            |p| _ = p.write(".gitignore", "*.log\n/out/\n*.py\n!src/*.py\n"),
            None,
        ),
        (
            "nothing is touched",
            |p| _ = p.write("src/a.py", "two\n"),
            None,
        ),
    ];
    for (name, hide, want) in cases {
        let project = project();
        project
            .write("contracts/verify.vplan", &both)
            .commit("contract");
        super::pushed(&project);
        project.write("src/new.py", "bad\n");
        hide(&project);
        let plan = project
            .run(&["explain", "--format", "json"])
            .exits(0)
            .json();
        let caveats = plan["caveats"].as_array().cloned().unwrap_or_default();
        let said = caveats.into_iter().find(|c| c["code"] == "newly_ignored");
        let Some((line, files)) = want else {
            assert_eq!(said, None, "{name}");
            continue;
        };
        let said = said.unwrap_or_else(|| panic!("{name}: nothing is said"));
        assert_eq!(
            (&said["effect"], &said["files"]),
            (&"narrows".into(), &serde_json::json!(files)),
            "{name}: {said}"
        );
        assert!(
            said["message"]
                .as_str()
                .unwrap()
                .contains(&format!("`{line}`")),
            "{name}: {said}"
        );
        project
            .run(&["run", "--progress", "none"])
            .exits(0)
            .says("the change hides files that checks select");
    }
}

#[test]
fn a_hidden_file_is_in_the_tree() {
    let project = project();
    project
        .write(".git/info/exclude", "bad*\n")
        .write("src/x.log", "");
    let before = opened(&project).snapshot().unwrap();
    project.write("src/x.log", "ignored by a tracked file");
    assert_eq!(before, opened(&project).snapshot().unwrap());
    project.write("src/bad.py", "bad\n");
    let after = opened(&project).snapshot().unwrap();
    assert_eq!(
        before
            .differences(&after)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["src/bad.py"]
    );
}

#[test]
fn a_contract_outside_a_sparse_checkout_is_no_deleted_one() {
    for (set, add) in [
        (&["--cone", "src"][..], "contracts"),
        (&["--no-cone", "/src/"], "contracts"),
        (&["--cone", "--sparse-index", "src"], "contracts"),
    ] {
        let project = project();
        project.git(&[&["sparse-checkout", "set"], set].concat());
        assert!(!project.exists("contracts"), "{set:?}");
        for command in [
            &["run"][..],
            &["check"],
            &["explain"],
            &["run", "--mode", "fallback"],
        ] {
            project
                .run(command)
                .exits(3)
                .warns("vplan::load::sparse")
                .warns("`contracts/verify.vplan` is outside the sparse checkout")
                .warns(&format!("git sparse-checkout add '{add}'"));
        }
        project.git(&["sparse-checkout", "add", add]);
        project.run(&["run", "--base", "HEAD"]).exits(0);
        // Without its entry among those that are left out, it is deleted.
        project.git(&["sparse-checkout", "disable"]);
        project.remove("contracts");
        project.run(&["run"]).exits(3).warns("vplan::load::deleted");
    }
}

#[test]
fn files_outside_a_sparse_checkout() {
    let project = project();
    project.write("docs/x", "").commit("docs");
    project.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/*",
        "!/src/b.py",
        "!/docs/",
    ]);
    assert!(!project.exists("src/b.py"));
    let (changed, unseen) = compared(&project);
    assert_eq!((changed.len(), unseen.left_out.len()), (0, 2));
    // Nothing in the plan would get one of them.
    let said = caveat(&project, "sparse").unwrap();
    assert_eq!(said["effect"], "note");
    assert!(
        said["message"]
            .as_str()
            .unwrap()
            .starts_with("2 files are outside"),
        "{said}"
    );
    // Now `unit` is in the plan, and it selects one.
    project.write("src/a.py", "new\n");
    let said = caveat(&project, "sparse").unwrap();
    assert_eq!(
        (&said["effect"], &said["checks"][0]),
        (&"narrows".into(), &"unit".into())
    );
    project
        .run(&["run", "--base", "HEAD", "--require", "full"])
        .exits(44);
    // A check without conditions may read any of them.
    let whole = Project::contract("vplan 1\ncheck all: true\n");
    whole.write("src/b.py", "two\n").commit("b");
    whole.pushed(&whole.git(&["rev-parse", "HEAD"]));
    whole.git(&["config", "core.sparseCheckout", "true"]);
    whole.git(&["update-index", "--skip-worktree", "src/b.py"]);
    whole.remove("src/b.py");
    assert_eq!(caveat(&whole, "sparse").unwrap()["checks"][0], "all");
    whole.run(&["run", "--require", "full"]).exits(44);
    // A file that is not what the commit has is a change, seen or not.
    let id = project.git_stdin(&["hash-object", "-w", "--stdin"], b"other\n");
    project.git(&[
        "update-index",
        "--cacheinfo",
        &format!("100644,{id},src/b.py"),
    ]);
    project.git(&["update-index", "--skip-worktree", "src/b.py"]);
    assert!(compared(&project).0.contains(&"M:src/b.py".to_owned()));
}

/// Something that happens to a repository, to its index or to its settings.
#[derive(Clone, Debug)]
enum Happening {
    Write(usize, usize),
    Remove(usize),
    Mode(usize, bool),
    Link(usize),
    Git(usize, usize),
    Forge(usize),
    Set(usize),
    Local(usize),
}

const PATHS: [&str; 10] = [
    "src/a.py",
    "src/b.py",
    "src/A.py",
    "src/d/x.txt",
    "src/d/Y.txt",
    "src/n.py",
    "t.txt",
    "src/x.log",
    "src/e/.git",
    "src/__pycache__/x.py",
];
const CONTENTS: [&str; 5] = ["one\n", "two\n", "bad\n", "one\r\n", "two\r\n"];
const GIT: [&[&str]; 8] = [
    &["add", "-f"],
    &["rm", "-q", "-f", "--cached"],
    &["add", "-f", "-N"],
    &["update-index", "--assume-unchanged"],
    &["update-index", "--skip-worktree"],
    &["update-index", "--split-index"],
    &["commit", "-q", "-m", "x"],
    &["checkout", "-q", "HEAD"],
];
const SETTINGS: [(&str, &str); 9] = [
    ("core.ignoreCase", "true"),
    ("core.fileMode", "false"),
    ("core.trustctime", "false"),
    ("core.checkStat", "minimal"),
    ("core.autocrlf", "true"),
    ("core.eol", "crlf"),
    ("core.sparseCheckout", "true"),
    ("core.untrackedCache", "true"),
    ("core.excludesFile", ".git/info/none"),
];
const LOCAL: [(&str, &str); 5] = [
    (".git/info/exclude", "*.py\n"),
    (".git/info/exclude", "*\n"),
    (".git/info/attributes", "* text=auto\n"),
    ("src/.gitignore", "*\n"),
    ("src/d/.gitattributes", "* text\n"),
];

fn happening() -> impl Strategy<Value = Happening> {
    let path = || 0..PATHS.len();
    prop_oneof![
        5 => (path(), 0..CONTENTS.len()).prop_map(|(p, c)| Happening::Write(p, c)),
        2 => path().prop_map(Happening::Remove),
        1 => (path(), any::<bool>()).prop_map(|(p, x)| Happening::Mode(p, x)),
        1 => path().prop_map(Happening::Link),
        4 => (0..GIT.len(), path()).prop_map(|(g, p)| Happening::Git(g, p)),
        2 => path().prop_map(Happening::Forge),
        2 => (0..SETTINGS.len()).prop_map(Happening::Set),
        2 => (0..LOCAL.len()).prop_map(Happening::Local),
    ]
}

/// Git may refuse; what it does not do has not happened.
fn try_git(project: &Project, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    let identity = [
        "user.name=A",
        "user.email=a@example.org",
        "commit.gpgSign=false",
    ]
    .iter()
    .flat_map(|c| ["-c", c]);
    command
        .current_dir(project.root())
        .env("HOME", project.parent().join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(identity).args(args).output().unwrap();
}

fn happen(project: &Project, happening: &Happening) {
    let plain = |path: &str| {
        project
            .path(path)
            .symlink_metadata()
            .is_ok_and(|m| m.is_file())
    };
    match *happening {
        Happening::Write(path, content) => {
            if project.exists(PATHS[path]) {
                project.remove(PATHS[path]);
            }
            project
                .write(PATHS[path], CONTENTS[content])
                .touch(PATHS[path]);
        }
        Happening::Remove(path) if project.exists(PATHS[path]) => _ = project.remove(PATHS[path]),
        Happening::Mode(path, x) if plain(PATHS[path]) => {
            project.mode(PATHS[path], if x { 0o755 } else { 0o644 });
        }
        Happening::Link(path) => {
            if project.exists(PATHS[path]) {
                project.remove(PATHS[path]);
            }
            project.symlink(PATHS[path], "a.py");
        }
        Happening::Git(git, path) => {
            let whole = matches!(GIT[git][0], "commit") || GIT[git].contains(&"--split-index");
            let args: Vec<&str> = GIT[git]
                .iter()
                .copied()
                .chain(
                    (!whole)
                        .then_some(["--", PATHS[path]])
                        .into_iter()
                        .flatten(),
                )
                .collect();
            try_git(project, &args);
        }
        Happening::Forge(path) if plain(PATHS[path]) => {
            let listed = project.git(&["ls-files", "--", PATHS[path]]);
            try_git(
                project,
                &["update-index", "--no-split-index", "--index-version", "2"],
            );
            let version = std::fs::read(project.path(".git/index"))
                .unwrap()
                .get(7)
                .copied();
            if !listed.is_empty() && version == Some(2) {
                forge(project, PATHS[path], None);
            }
        }
        Happening::Set(setting) => try_git(
            project,
            &["config", SETTINGS[setting].0, SETTINGS[setting].1],
        ),
        Happening::Local(local) => _ = project.write(LOCAL[local].0, LOCAL[local].1),
        _ => {}
    }
}

/// A file: its kind and permission to run, and its bytes.
type File = (&'static str, Vec<u8>);

fn on_disk(project: &Project, path: &str) -> Option<File> {
    let place = project.path(path);
    let meta = place.symlink_metadata().ok()?;
    if meta.is_symlink() {
        return Some((
            "link",
            std::fs::read_link(&place)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes(),
        ));
    }
    let kind = if meta.permissions().mode() & 0o100 == 0 {
        "file"
    } else {
        "program"
    };
    Some((kind, std::fs::read(&place).unwrap()))
}

/// The files of HEAD, each read by its id.
fn committed(project: &Project) -> BTreeMap<String, File> {
    let listing = project.git(&["ls-tree", "-r", "HEAD"]);
    let file = |line: &str| {
        let (head, path) = line.split_once('\t').unwrap();
        let mut fields = head.split(' ');
        let kind = match fields.next().unwrap() {
            "120000" => "link",
            "100755" => "program",
            _ => "file",
        };
        let output = std::process::Command::new("git")
            .current_dir(project.root())
            .args(["cat-file", "blob", fields.nth(1).unwrap()])
            .output();
        (path.to_owned(), (kind, output.unwrap().stdout))
    };
    listing.lines().map(file).collect()
}

proptest! {
    #![proptest_config(config(48))]

    /// Whatever happened to the repository: each file that is not what was committed is in the change, or said to be outside.
    #[test]
    fn every_difference_is_in_the_plan_or_in_the_answer(
        happenings in proptest::collection::vec(happening(), 1..14),
    ) {
        let project = Project::git_empty();
        project.write("contracts/verify.vplan", CONTRACT).write(".gitignore", "*.log\n").write(".gitattributes", "*.txt text=auto\n");
        project.write("src/a.py", "one\n").write("src/b.py", "two\r\n").write("src/d/x.txt", "one\n").write("t.txt", "two\n");
        project.commit("begin");
        for each in &happenings {
            happen(&project, each);
        }
        let base = committed(&project);
        let (changed, unseen) = compared(&project);
        let said: BTreeSet<String> = changed
            .iter()
            .map(|line| line[2..].to_owned())
            .chain(unseen.hidden.keys().chain(&unseen.left_out).map(ToString::to_string))
            .collect();
        let tracked = project.git(&["ls-files"]);
        let without_cr = |file: &Option<File>| file.clone().map(|(kind, bytes)| {
            (kind, String::from_utf8(bytes).unwrap().replace("\r\n", "\n"))
        });
        for path in PATHS {
            let (before, now) = (base.get(path).cloned(), on_disk(&project, path));
            let is_ignored = path.ends_with(".log") && before.is_none() && !tracked.lines().any(|l| l == path);
            let converted = path.ends_with(".txt") && without_cr(&before) == without_cr(&now);
            if before != now && !is_ignored && !converted {
                prop_assert!(said.contains(path), "{path}: {before:?} became {now:?}, and nothing says so: {changed:?} {unseen:?}");
            }
        }
        // And what is selected brings its check, or a caveat; but for what tools leave.
        let is_tools = |path: &str| path.contains("__pycache__") && !changed.iter().any(|c| &c[2..] == path);
        if said.iter().any(|path| path.starts_with("src/") && !is_tools(path)) {
            let plan = project.run(&["explain", "--base", "HEAD", "--format", "json"]).json();
            let hidden: BTreeSet<String> = unseen.hidden.keys().map(ToString::to_string).collect();
            let narrows = plan["caveats"].as_array().is_some_and(|c| c.iter().any(|c| c["code"] == "hidden_files" && c["effect"] == "narrows"));
            let counts = |path: &String| path.starts_with("src/") && !is_tools(path);
            prop_assert!(!hidden.iter().any(counts) || narrows, "{hidden:?}: {plan}");
            let planned = plan["steps"].as_array().is_some_and(|steps| !steps.is_empty());
            let caveats = plan["caveats"].as_array().is_some_and(|c| c.iter().any(|c| c["effect"] != "note" || c["code"] == "sparse"));
            prop_assert!(planned || caveats, "{said:?}: {plan}");
        }
    }
}

/// A line of a `.gitignore`, made of what has a meaning in one.
fn ignore_line() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        "*",
        "**",
        "?",
        "/",
        "/",
        "[ab]",
        "[!a]",
        "[a-",
        "]",
        "\\",
        "\\a",
        "!",
        "#",
        " ",
        ".",
        "*b",
        "[[:alpha:]]",
        "[^b]*",
        "\t",
        "\r",
    ]);
    proptest::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(config(48))]

    /// What is left out because a tracked `.gitignore` says so is what git leaves out by the same files, and nothing else.
    #[test]
    fn ignore_rules_are_read_as_git_reads_them(
        top in proptest::collection::vec(ignore_line(), 0..5),
        below in proptest::collection::vec(ignore_line(), 0..4),
        files in proptest::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,2}", 1..14),
    ) {
        let project = Project::git_empty();
        project.write(".gitignore", top.join("\n")).write("a/.gitignore", below.join("\n"));
        project.git(&["add", "-f", ".gitignore", "a/.gitignore"]);
        project.git(&["commit", "-q", "-m", "begin"]);
        for file in &files {
            // A file is not also a directory.
            if !files.iter().any(|other| other.starts_with(&format!("{file}/"))) && file != "a" {
                project.write(file, "x");
            }
        }
        let listed = project.git(&["-c", "core.quotePath=false", "ls-files", "--others", "--exclude-per-directory=.gitignore"]);
        let want: BTreeSet<String> = listed.lines().map(|path| format!("A:{path}")).collect();
        prop_assert_eq!(compared(&project).0.into_iter().collect::<BTreeSet<_>>(), want, "{:?} {:?}", top, below);
    }
}
