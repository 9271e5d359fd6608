//! What if nothing may be written, or what was written is swapped for something else?

use super::{DOCUMENTED, Mount, files, must, with_disks};
use crate::faults::sweep::Sweep;
use crate::support::Project;
use std::path::Path;

/// What writes nothing: it ends as it does where everything may be written.
const QUIET: &[&str] = &[
    "check",
    "test",
    "explain --changed src",
    "plan --changed src",
    "plan --changed src --format json",
    "fmt --check",
    "std",
    "schema",
    "completions bash",
    "man",
    "help events",
    "hook claude-code --print",
    "init --stdout",
    "import --stdout --from runr old.json",
    "diff one.json two.json",
    "merge report.json",
    "feedback",
    "status",
    "runs",
    "details",
    "log a",
    "report",
    "stats",
    "verify",
    "gate show",
    "recover",
    "classify --command true",
    "argv 'a b'",
    "gc --keep 5",
    "lock",
];

/// What has to write: it says that it cannot, and has done nothing.
const WRITING: &[&str] = &[
    "run --changed-none",
    "run --changed-none --subject S",
    "run --changed-none --records ../elsewhere",
    "loop --fix ./fixer",
    "init --force",
    "import --from runr old.json -o new.vplan",
    "fmt",
    "gc --keep 0",
    "gate record --subject S --status done",
    "gate reset --all",
];

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The work tree, the records and the state may be read and not written.
#[test]
fn a_read_only_tree() {
    let all = (QUIET.len() + WRITING.len()) as u64;
    let Some(mut sweep) = with_disks("faults::storage::refused::a_read_only_tree", 12, all) else {
        return;
    };
    let contract = "vplan 1\ncheck   a: sh -c 'echo hi; touch ../ran'\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src", "1\n")]);
    project.write("old.json", r#"{"verification":{"tier0":["true"]}}"#);
    project.script("fixer", "#!/bin/sh\ntouch ../ran\n");
    for name in ["one.json", "two.json"] {
        let plan = project
            .run(&["plan", "--changed-none", "--format", "json"])
            .exits(0)
            .out();
        project.write(name, plan);
    }
    project.write("report.json", "{}");
    project
        .run(&["run", "--changed-none", "--subject", "S"])
        .exits(0);
    project.remove("../ran");
    project.commit("all");
    let help = project.run(&["--help"]).out();
    let commands = help
        .lines()
        .skip_while(|l| *l != "Commands:")
        .skip(1)
        .take_while(|l| !l.is_empty());
    for command in commands
        .filter(|l| !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
    {
        let known = QUIET
            .iter()
            .chain(WRITING)
            .any(|line| words(line)[0] == command);
        assert!(
            known,
            "is `{command}` quiet? then it belongs into one of the lists"
        );
    }
    // What is remembered of commits and contents is no one's word; where it cannot be kept, that
    // only takes time.
    let files = |dir: &std::path::Path| {
        let mut found = files(dir);
        found.retain(|name, _| {
            !["/contents/", "/commits"]
                .iter()
                .any(|part| name.to_string_lossy().contains(part))
        });
        found
    };
    let before = files(project.parent());
    let step = if sweep.whole() { 1 } else { all / 12 };
    while let Some(mut case) = sweep.next() {
        let index = if sweep.whole() {
            case.number
        } else {
            (case.number * step + case.below(step)) % all
        };
        let index = usize::try_from(index).unwrap();
        let quiet = QUIET
            .get(index)
            .map(|line| (*line, project.run(&words(line))));
        let parent = project.parent().to_str().unwrap().to_owned();
        let here = Mount::new(project.parent(), &["--bind", &parent]);
        must("mount", &["-o", "remount,bind,ro", &parent]);
        match quiet {
            Some((line, free)) => {
                let ran = project.run(&words(line));
                assert_eq!(
                    (ran.exit, ran.out(), ran.err()),
                    (free.exit, free.out(), free.err()),
                    "{line}"
                );
                assert!(ran.exit != Some(5), "{line}: {}", ran.err());
                sweep.count("commands that write nothing", 1);
            }
            None => {
                let line = WRITING[index - QUIET.len()];
                let ran = project.run(&words(line));
                assert!(
                    ran.err().to_lowercase().contains("read-only"),
                    "{line}: {:?} {}",
                    ran.exit,
                    ran.err()
                );
                assert!(
                    ran.exit.is_some_and(|e| [2, 3, 5].contains(&e)),
                    "{line}: {:?} {}",
                    ran.exit,
                    ran.err()
                );
                sweep.count("commands that refuse", 1);
            }
        }
        drop(here);
        assert_eq!(files(project.parent()), before, "something was written");
        case.held();
    }
    assert!(sweep.seen("commands that write nothing") > 0);
}

/// Where what is swapped stands, from the directory around the project.
const PLACES: &[(&str, &str)] = &[
    ("repo/.vplan", ""),
    ("repo/.vplan/runs", ""),
    ("repo/.vplan/runs/*", ""),
    ("repo/.vplan/runs/*", "/logs"),
    ("repo/.vplan/runs/*", "/events.jsonl"),
    ("repo/.vplan/runs/*", "/plan.json"),
    ("repo/.vplan/runs/*", "/.report.json.new-1-2-3"),
    ("repo/.vplan/runs/*", "/report.json"),
    ("home/state/vplan", ""),
    ("home/state/vplan/*", ""),
    ("home/state/vplan/*", "/results"),
    ("home/state/vplan/*", "/results/salt"),
    ("home/state/vplan/*", "/results/files"),
    ("home/state/vplan/*", "/ledger.json"),
    ("home/state/vplan/*", "/.ledger.json.new-1-2-3"),
    ("home/state/vplan/*", "/ledger.lock"),
];

/// What stands there then.
const SWAPS: &[(&str, &str)] = &[
    ("moved away", ":"),
    ("removed", "rm -rf aside"),
    ("a symlink to a folder", "ln -s \"$PWD/victim\" \"$p\""),
    ("a symlink to a file", "ln -s \"$PWD/victim/kept\" \"$p\""),
    ("a symlink to nothing", "ln -s \"$PWD/victim/made\" \"$p\""),
    ("a file", "echo x >\"$p\""),
    ("a folder", "mkdir \"$p\""),
    (
        "a folder that is not empty",
        "mkdir \"$p\" && echo x >\"$p/x\"",
    ),
    ("a pipe", "mkfifo \"$p\""),
];

/// A step removes what vplan writes, or swaps it for something else. Nothing is written through a
/// symlink, and whoever takes away what stands there has a vplan that works.
#[test]
fn swapped_while_it_runs() {
    let all = (PLACES.len() * SWAPS.len()) as u64;
    let mut sweep = Sweep::new("faults::storage::refused::swapped_while_it_runs", 7, all);
    let contract = "vplan 1\ncheck first {\n  run echo first\n  inputs \"src\"\n}\ncheck swaps: sh -c 'test ! -e ../swap || ../swap'\n\
                    check later {\n  run echo later\n  inputs \"src\"\n}\n";
    let shift = 11;
    while let Some(case) = sweep.next() {
        let number = if sweep.whole() {
            case.number
        } else {
            case.number * shift
        } as usize;
        let ((folder, name), (what, swap)) = (
            PLACES[number / SWAPS.len() % PLACES.len()],
            SWAPS[number % SWAPS.len()],
        );
        let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src", "1\n")]);
        let place = format!("{folder}{name}");
        project.write("../victim/kept", "kept\n");
        let find = format!(
            "cd \"{}\"; for d in {folder}; do :; done; p=\"$d{name}\"",
            project.parent().display()
        );
        project.script(
            "../swap",
            &format!("#!/bin/sh\n{find}\nmkdir -p aside; mv \"$p\" aside 2>/dev/null\n{swap}\n"),
        );
        let args = [
            "run",
            "--changed-none",
            "--subject",
            "S",
            "--progress",
            "none",
        ];
        let victim = |allowed: bool, when: &str| {
            let found = files(&project.path("../victim"));
            let same =
                found.len() == 1 && found.get(Path::new("kept")).is_some_and(|b| b == b"kept\n");
            assert!(same || allowed, "{place} is {what}: {when}: {found:?}");
        };
        let ran = project.run(&args);
        let documented = |exit: Option<i32>| exit.is_some_and(|exit| DOCUMENTED.contains(&exit));
        assert!(
            documented(ran.exit),
            "{place} is {what}: {:?} {}",
            ran.exit,
            ran.err()
        );
        victim(false, "while it runs");
        sweep.count(&format!("exit {}", ran.exit.unwrap()), 1);
        for command in [
            "status",
            "runs",
            "report",
            "verify",
            "details",
            "log later",
            "gate show",
            "gc --keep 9",
        ] {
            let looked = project.run(&words(command));
            assert!(
                documented(looked.exit),
                "{place} is {what}: {command}: {:?} {}",
                looked.exit,
                looked.err()
            );
            assert!(
                !looked.err().contains("vplan::internal"),
                "{command}: {}",
                looked.err()
            );
        }
        // The directory of all state may be a symlink: the user says where it is.
        let followed = place == "home/state/vplan";
        project.remove("../swap");
        let next = project.run(&args);
        assert!(
            documented(next.exit),
            "{place} is {what}: {:?} {}",
            next.exit,
            next.err()
        );
        victim(followed, "in the next run");
        must("sh", &["-c", &format!("{find}; rm -rf \"$p\"")]);
        let mended = project.run(&args);
        mended.exits(0);
        victim(followed, "when it is gone");
        case.held();
    }
    assert!(
        sweep.seen("exit 0") > 0 && sweep.seen("exit 40") == 0,
        "each swap is one"
    );
}
