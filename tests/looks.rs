//! How often a run looks at the files of the repository, and what it believes without looking
//! again.

use crate::support::Project;
use crate::support::tree::{have, rest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;
use vplan::effect::git::Git;
use vplan::effect::git::snapshot::Snapshot;
use vplan::effect::os::files::beneath::Beneath;
use vplan::effect::os::stat_cache::{StatCacheStats, StatStamp};
use vplan::effect::os::watches::ToldChange;
use vplan::effect::store::reuse::scan::{Same, ScanPlace, ToldFiles, scan};
use vplan::reuse::key::all_of;

const FILES: usize = 60;

/// A committed repository of so many files.
fn project(contract: &str) -> Project {
    let mut files = vec![
        ("contracts/verify.vplan".to_owned(), contract.to_owned()),
        (".gitignore".to_owned(), ".vplan/\ncache/\n".to_owned()),
    ];
    files.extend((0..FILES).map(|i| (format!("src/{}/file{i}", i % 6), i.to_string())));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, &**t)).collect();
    Project::git_with(&files)
}

/// What a run asked of the system.
struct Counted {
    report: Value,
    /// By the name of a file of `src`: how often its metadata was read.
    looks: BTreeMap<String, usize>,
    /// How often each program was started.
    programs: BTreeMap<String, usize>,
}

/// Runs vplan under strace; returns its report, and which of these calls it made.
fn traced(project: &Project, args: &[&str], calls: &str) -> (Value, String) {
    let trace = project.parent().join("trace");
    let args = [&["run", "--format", "json"], args].concat();
    let ran = project.vplan(&args).under(&[
        "strace",
        "-f",
        "-qq",
        "-e",
        &format!("trace={calls}"),
        "-e",
        "signal=none",
        "-o",
        trace.to_str().unwrap(),
    ]);
    let report = ran.run().json();
    (report, std::fs::read_to_string(&trace).unwrap())
}

fn counted(project: &Project, args: &[&str]) -> Counted {
    let (report, trace) = traced(project, args, "newfstatat,lstat,stat,statx,execve");
    let (mut looks, mut programs) = (BTreeMap::new(), BTreeMap::new());
    for line in trace.lines() {
        let Some(name) = line.split('"').nth(1) else {
            continue;
        };
        let name = Path::new(name).file_name().unwrap_or_default();
        let name = name.to_str().unwrap().to_owned();
        // A call that another thread's line interrupts is shown in two parts: the first has the name.
        let is_begun = line.contains("unfinished") || line.ends_with("= 0");
        if line.contains("execve(") && is_begun {
            *programs.entry(name).or_default() += 1;
        } else if name.starts_with("file")
            && name.trim_start_matches("file").len() < 4
            && name != "files"
            && line.contains("stat")
        {
            *looks.entry(name).or_default() += 1;
        }
    }
    Counted {
        report,
        looks,
        programs,
    }
}

impl Counted {
    /// Checks that each file was looked at so often, but for `file0`, which has changed.
    fn looked(&self, times: usize) -> &Self {
        let other: Vec<_> = (self.looks.iter())
            .filter(|(name, count)| **name != "file0" && **count != times)
            .collect();
        assert!(other.is_empty(), "not {times} times: {other:?}");
        assert_eq!(self.looks.len(), FILES, "{:?}", self.looks);
        self
    }

    fn started(&self, programs: &[(&str, usize)]) -> &Self {
        let wanted = programs
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        assert_eq!(self.programs, wanted.collect());
        self
    }

    fn passed(&self, reused: usize) -> &Self {
        let steps = self.report["steps"].as_array().unwrap();
        let count = |status: &str| steps.iter().filter(|s| s["status"] == status).count();
        let expected = (steps.len() - reused, reused);
        assert_eq!(
            (count("passed"), count("cached")),
            expected,
            "{:#}",
            self.report
        );
        self
    }
}

const INPUTS: &str = "vplan 1
contract \"looks\"
check a {
  run true a
  inputs \"src/**\"
}
check b {
  run true b
  inputs \"src/0/**\" \"src/1/**\"
}
check c {
  run true c
  inputs \"**\"
}
";

#[test]
fn each_file_is_looked_at_twice_whatever_runs() {
    if !have(&["strace"]) {
        return;
    }
    let project = project(INPUTS);
    project.write("src/0/file0", "changed");
    // The first run reads all files, and git is asked for the commit.
    counted(&project, &[]).passed(0);
    project.write("src/0/file0", "changed again");
    let run = counted(&project, &[]);
    run.passed(0).looked(2);
    run.started(&[("true", 3), ("exe", 1), ("vplan", 1)]);
    // Of nothing that runs, the first look is the last.
    rest();
    counted(&project, &[]);
    let run = counted(&project, &[]);
    run.passed(3).looked(1);
    assert!(!run.programs.contains_key("git"), "{:?}", run.programs);
    assert_eq!(run.looks["file0"], 1);
}

#[test]
fn an_untracked_file_is_read_once() {
    if !have(&["strace"]) {
        return;
    }
    let project = project("vplan 1\ncontract \"one\"\ncheck a: true\n");
    project
        .write("src/0/file0", "changed")
        .write("src/0/filenew", "x");
    let run = counted(&project, &[]);
    // Twice by git, which is asked whether rules of this machine hide it: for the change, and for the
    // tree that was verified.
    assert_eq!(run.looks["filenew"], 4);
}

/// A write through a second link outside of the inputs, which the system's watches do not tell.
#[test]
fn what_no_watch_tells_is_not_believed() {
    let project = project(
        "vplan 1
contract \"links\"
check a {
  run sh -c 'cat cache/in/file && printf %s \"$((1 + $(cat other/link 2>/dev/null || echo 0)))\" >cache/link'
  inputs \"cache/in/**\"
}
",
    );
    project.mkdir("cache/in");
    project.write("cache/in/file", "1");
    std::fs::hard_link(project.path("cache/in/file"), project.path("cache/link")).unwrap();
    for _ in 0..3 {
        let report = project.run(&["run", "--all", "--format", "json"]).json();
        let step = &report["steps"][0];
        assert_eq!(step["status"], "passed");
        assert!(step["cachedFrom"].is_null(), "{step:#}");
        let why = step["notReused"].as_str().unwrap();
        assert!(why.contains("this pass was not kept"), "{why}");
    }
}

/// A check whose inputs another one, which it does not wait for, has written since they were looked
/// at: a pass on what they were is kept.
#[test]
fn no_pass_stands_for_a_step_because_watches_are_silent() {
    let project = project(
        "vplan 1
contract \"order\"
check first {
  run sh -c 'cat src/0/file0 >cache/link'
  inputs \"src/0/**\"
}
check second {
  run grep -qx good src/1/file1
  inputs \"src/1/**\"
}
",
    );
    project.write("src/1/file1", "good\n").mkdir("cache");
    project.commit("good");
    std::fs::hard_link(project.path("src/1/file1"), project.path("cache/link")).unwrap();
    let second = |args: &[&str]| {
        let args = [&["run", "--all", "--format", "json"], args].concat();
        let report = project.run(&args).json();
        let steps = report["steps"].as_array().unwrap();
        let second = steps.iter().find(|step| step["id"] == "second").unwrap();
        second["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(second(&["second"]), "passed");
    // The digest of a file that was just written is not remembered: it would be read again.
    rest();
    assert_eq!(second(&["second"]), "cached");
    // `first` leaves what `second` does not accept, by a name where no watch of ours looks.
    project.write("src/0/file0", "bad\n");
    assert_eq!(second(&[]), "failed");
}

/// The tree that a comparison has seen is not the one with which the run begins, when something
/// else ran in between.
#[test]
fn a_proposer_that_writes_is_before_the_run() {
    let project = project("vplan 1\ncontract \"one\"\ncheck a: true\n");
    project.write("src/0/file0", "changed");
    project.script(
        "../propose",
        "#!/bin/sh\ncat >/dev/null\necho new >src/0/made\necho '{\"commands\":[\"true proposed\"]}'\n",
    );
    let program = project.path("../propose");
    let ran = project.run(&[
        "run",
        "--mode",
        "llm",
        "--proposer",
        program.to_str().unwrap(),
        "--format",
        "json",
    ]);
    let report = ran.json();
    // No step has left it.
    let left = report["newFiles"].as_array();
    assert!(left.is_none_or(Vec::is_empty), "{report:#}");
    assert!(project.exists("src/0/made"));
}

/// Returns a source of numbers below a bound.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut next = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |most: u64| {
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        next % most
    }
}

/// Adds and removes some of what a folder can hold; repositories only if wanted.
fn edit(project: &Project, below: &mut impl FnMut(u64) -> u64, with_repositories: bool) {
    let folders = [
        "", "a/", "a/b/", "a/b/c/", "d/", "out/", "d/out/", "e/", "e/f/",
    ];
    for _ in 0..below(14) {
        let folder = folders[usize::try_from(below(9)).unwrap()];
        let name = ["x", "y", "z.log", "w", ".vplan/v"];
        let path = format!("{folder}{}", name[usize::try_from(below(5)).unwrap()]);
        if project.path(&path).symlink_metadata().is_ok() {
            if below(3) == 0 && project.path(&path).is_file() {
                project.remove(&path);
            }
            continue;
        }
        match below(14) {
            0 => drop(project.symlink(&path, "x")),
            1 => drop(project.symlink(&path, "../a/b")),
            2 => drop(project.symlink(&path, "nowhere")),
            3 => drop(project.mkdir(&path)),
            4 => drop(project.write(format!("{path}.d/.git/HEAD"), "no repository")),
            5 => drop(project.write(format!("{path}.d/.gitignore"), "y\n")),
            6 if with_repositories => {
                project.mkdir(&format!("{path}.r"));
                project.git_in(&format!("{path}.r"), &["init", "-q"]);
                project.write(format!("{path}.r/in"), "1");
            }
            7 => drop(project.script(&path, "#!/bin/sh\n")),
            _ => drop(project.write(&path, below(5).to_string())),
        }
    }
}

/// Random trees of what a folder can hold, at rest.
fn random_trees(count: u64) -> Vec<Project> {
    let trees: Vec<Project> = (0..count)
        .map(|seed| {
            let mut below = numbers(seed);
            let project = Project::git_with(&[(".gitignore", "out/\n*.log\n")]);
            edit(&project, &mut below, false);
            project.git(&["add", "--all", "--force"]);
            project.git(&["commit", "-q", "--allow-empty", "-m", "some"]);
            edit(&project, &mut below, true);
            project
        })
        .collect();
    rest();
    trees
}

fn git(project: &Project) -> Git {
    let root = project.root().canonicalize().unwrap();
    Git::open(&root, &|name| std::env::var_os(name)).unwrap()
}

/// What a second look finds is the same whether or not a first one has listed the folders.
#[test]
fn a_first_look_hides_nothing_from_a_second() {
    let (mut changed, mut same) = (0, 0);
    for (project, seed) in random_trees(60).iter().zip(1000..) {
        let own = git(project);
        let first = own.snapshot().unwrap();
        let mut below = numbers(seed);
        edit(project, &mut below, true);
        let there = |path: &str| project.path(path).is_dir();
        match below(8) {
            0 => drop(project.write(".gitignore", "d/\n")),
            1 => drop(project.remove(".gitignore")),
            2 => drop(project.git(&["update-index", "--force-remove", ".gitignore"])),
            3 => drop(project.git(&["rm", "-r", "-f", "-q", "--cached", "."])),
            4 if there("a/b") => {
                std::fs::rename(project.path("a/b"), project.path("moved")).unwrap();
                project.symlink("a/b", "../moved");
            }
            5 if there("a") && !there("g") => {
                std::fs::rename(project.path("a"), project.path("g")).unwrap();
            }
            6 if there("a") => {
                project.git_in("a", &["init", "-q"]);
            }
            _ => {}
        }
        let (second, alone) = (own.snapshot().unwrap(), git(project).snapshot().unwrap());
        let folders = |of: &Snapshot| of.folders().collect::<Vec<_>>();
        assert_eq!(second.differences(&alone), [], "{:?}", project.root());
        assert_eq!(folders(&second), folders(&alone));
        // The later one may find at rest what the earlier one did not.
        for (known, found) in second.whole_folders().zip(alone.whole_folders()) {
            assert!(known.1.is_none() || known == found, "{known:?} {found:?}");
        }
        *(if first == second {
            &mut same
        } else {
            &mut changed
        }) += 1;
    }
    assert!(changed > 20 && same > 5, "{changed} {same}");
}

/// Many folders are searched in shares: none is left out, and each has the rules of those above it.
#[test]
fn all_of_many_folders_are_searched() {
    let mut files = vec![
        (".gitignore".to_owned(), "*.log\n"),
        ("d1/.gitignore".to_owned(), "hidden/\n"),
    ];
    files.extend((0..1500).map(|i| (format!("d{}/e{i}/f{}/file", i % 20, i % 3), "1")));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (&**p, *t)).collect();
    let project = Project::git_with(&files);
    for i in 0..1500 {
        let folder = format!("d{}/e{i}/f{}", i % 20, i % 3);
        project.write(format!("{folder}/a.log"), "1");
        project.write(format!("{folder}/hidden/new"), "1");
    }
    let mut expected: Vec<String> = (0..1500)
        .map(|i| format!("d{}/e{i}/f{}/", i % 20, i % 3))
        .flat_map(|folder| {
            let hidden = (!folder.starts_with("d1/")).then(|| format!("{folder}hidden/new"));
            [Some(format!("{folder}file")), hidden]
        })
        .flatten()
        .chain([".gitignore".to_owned(), "d1/.gitignore".to_owned()])
        .collect();
    expected.sort();
    let git = git(&project);
    for _ in 0..2 {
        let tree = git.snapshot().unwrap();
        let found: Vec<String> = tree.files().map(|(path, _)| path.to_string()).collect();
        assert!(found == expected, "{} of {}", found.len(), expected.len());
    }
}

/// A folder is listed once in a run, unless something was added to it or removed.
#[test]
fn a_folder_is_listed_once() {
    if !have(&["strace"]) {
        return;
    }
    let project =
        project("vplan 1\ncontract \"one\"\ncheck a: touch src/1/new\ncheck b: rm src/2/file2\n");
    rest();
    let (_, trace) = traced(&project, &["--changed-none"], "openat");
    let listed = |folder: &str| {
        let name = format!("\"{folder}\", ");
        let is_listed = |line: &&str| line.contains(&name) && line.contains("O_DIRECTORY");
        trace.lines().filter(is_listed).count()
    };
    let folders = ["src", "src/0", "src/1", "src/2", "src/3", "src/4", "src/5"];
    assert_eq!(folders.map(listed), [1, 1, 2, 2, 1, 1, 1], "{trace}");
}

/// What a scan finds is the same whether it takes files from a snapshot or lists all folders.
#[test]
fn a_snapshot_changes_nothing_that_is_scanned() {
    let globs = [
        "**",
        "a/**",
        "a/b/x",
        "*",
        "**/x",
        "out/**",
        "e/f/**",
        "d/out/z.log",
    ];
    let (mut taken, mut watched, mut whole) = (0, 0, 0);
    for project in random_trees(60) {
        let root = project.root().canonicalize().unwrap();
        let beneath = Beneath::open(&root).unwrap();
        let git = git(&project);
        let tree = git.snapshot().unwrap();
        let scanned = |glob: &str, tree, same| {
            let wanted = [all_of(&[Glob::parse(glob).unwrap()])];
            let place = ScanPlace {
                root: &root,
                beneath: &beneath,
                tree,
                same,
            };
            let scanned = scan(place, &wanted, &mut StatCacheStats::default());
            let scanned = scanned.map_err(|why| why.to_string())?;
            let folders: Vec<RepoPath> = scanned.folders.keys().cloned().collect();
            Ok::<_, String>((scanned.scan, folders))
        };
        let is_whole = |(_, stamp): &(RepoPath, Option<StatStamp>)| stamp.is_some();
        whole += tree.whole_folders().filter(is_whole).count();
        for glob in globs {
            let listed = scanned(glob, None, Same::All);
            assert_eq!(scanned(glob, Some(&tree), Same::All), listed, "{glob}");
            taken += usize::from(listed.is_ok_and(|(scan, _)| !scan.is_empty()));
        }
        // Changes that watches tell.
        let mut heard = ToldFiles::default();
        heard.folders.extend(tree.folders());
        for (path, is_folder) in [
            ("a/new", false),
            ("x", false),
            ("a/b/y", false),
            ("d/new/", true),
        ] {
            let is_made = match is_folder {
                true => std::fs::create_dir_all(root.join(path)).is_ok(),
                false => std::fs::write(root.join(path), "told").is_ok(),
            };
            if is_made {
                let path = RepoPath::parse(path.as_bytes()).unwrap();
                heard.add(&ToldChange { path, is_folder });
                watched += 1;
            }
        }
        for glob in globs {
            let listed = scanned(glob, None, Same::All);
            let believed = scanned(glob, Some(&tree), Same::Watched(&heard));
            assert_eq!(believed, listed, "{glob}, {root:?}");
        }
    }
    let counts = (taken, watched, whole);
    assert!(taken > 200 && watched > 60 && whole > 60, "{counts:?}");
}

/// A folder that has to be listed, the root among them, says when it is not the snapshot's any more.
#[test]
fn a_folder_that_lists_others_is_later_than_the_snapshot() {
    let project = Project::git_with(&[(".gitignore", "*.log\n"), ("a/x", "1"), ("x", "1")]);
    project.write("a/i.log", "1").write("i.log", "1");
    rest();
    let root = project.root().canonicalize().unwrap();
    let beneath = Beneath::open(&root).unwrap();
    let git = git(&project);
    let tree = git.snapshot().unwrap();
    let is_later = |glob: &str| {
        let place = ScanPlace {
            root: &root,
            beneath: &beneath,
            tree: Some(&tree),
            same: Same::All,
        };
        let wanted = [all_of(&[Glob::parse(glob).unwrap()])];
        // The digests of all files are known after the first scan.
        let mut stats = StatCacheStats::default();
        scan(place, &wanted, &mut stats).unwrap();
        scan(place, &wanted, &mut stats).unwrap().is_later
    };
    assert_eq!((is_later("*"), is_later("a/*")), (false, false));
    project.write("a/new.log", "1");
    assert_eq!((is_later("*"), is_later("a/*")), (false, true));
    project.write("new.log", "1");
    assert_eq!((is_later("*"), is_later("a/*")), (true, true));
}

/// A file of which no digest is known is read after the snapshot, and is the one of it where any write
/// since would show.
#[test]
fn a_file_that_is_read_later_is_the_snapshots_if_it_was_at_rest() {
    let project = Project::git_with(&[("a", "1"), ("b", "1"), ("link", "1"), ("new", "1")]);
    project.remove("link").symlink("link", "a");
    rest();
    project.write("new", "2");
    let root = project.root().canonicalize().unwrap();
    let beneath = Beneath::open(&root).unwrap();
    let git = git(&project);
    let tree = git.snapshot().unwrap();
    let is_later = |file: &str| {
        let place = ScanPlace {
            root: &root,
            beneath: &beneath,
            tree: Some(&tree),
            same: Same::All,
        };
        let wanted = [all_of(&[Glob::parse(file).unwrap()])];
        let scanned = scan(place, &wanted, &mut StatCacheStats::default()).unwrap();
        assert!(!scanned.scan.is_empty(), "{file}");
        scanned.is_later
    };
    assert!(!is_later("a") && !is_later("b"), "at rest");
    assert!(is_later("new"), "written just before the snapshot");
    assert!(is_later("link"), "what a symlink leads to");
    // Another content of the same size, with the old time of modification.
    let old = std::fs::metadata(root.join("b")).unwrap().modified();
    project.write("b", "2");
    let file = std::fs::File::options().write(true).open(root.join("b"));
    file.unwrap().set_modified(old.unwrap()).unwrap();
    assert!(is_later("b") && !is_later("a"));
}

/// The index is read again once it may be another, whatever it says of its time.
#[test]
fn an_index_that_was_written_is_read_again() {
    let project = Project::git_with(&[("a", "1"), ("b", "1")]);
    project.write("c", "1");
    rest();
    let root = project.root().canonicalize().unwrap();
    let git = git(&project);
    let indexed = || {
        let files = git.files_indexed().unwrap();
        files.iter().map(RepoPath::to_string).collect::<Vec<_>>()
    };
    let index = root.join(".git/index");
    let of_index = || std::fs::metadata(&index).unwrap().modified().unwrap();
    let before = of_index();
    assert_eq!([indexed(), indexed()], [["a", "b"], ["a", "b"]]);
    for (added, removed, want) in [("c", "a", ["b", "c"]), ("a", "c", ["a", "b"])] {
        project.git(&["add", added]);
        project.git(&["rm", "-q", "--cached", removed]);
        // As many bytes, with the old time.
        let file = std::fs::File::options().write(true).open(&index).unwrap();
        file.set_modified(before).unwrap();
        assert_eq!(
            (of_index(), indexed().as_slice()),
            (before, &want.map(String::from)[..])
        );
    }
}
