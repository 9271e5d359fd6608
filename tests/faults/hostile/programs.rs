//! A PATH that leads into the repository, and programs there that are called like others: none of
//! them runs.

use crate::faults::sweep::Sweep;
use crate::support::Project;
use std::ffi::OsString;
use std::path::Path;

/// What may stand in PATH and leads into the repository, or to wherever one happens to be.
const ENTRIES: &[fn(&Path) -> OsString] = &[
    |_| ".".into(),
    |_| "".into(),
    |_| "./".into(),
    |_| "bin".into(),
    |_| "./bin".into(),
    |_| "bin/../bin".into(),
    |_| "../repo/bin".into(),
    |root| root.into(),
    |root| root.join("bin").into(),
    |root| root.join("bin/.").into(),
    |root| root.join("../repo/bin").into(),
    |root| root.join("bin/../../repo/bin/").into(),
    |root| {
        let mut path = OsString::from("/");
        path.push(root.join("bin"));
        path
    },
    |root| root.parent().unwrap().join("alias/bin").into(),
    |root| root.parent().unwrap().join("to-bin").into(),
    |root| root.parent().unwrap().join("alias").into(),
    |_| "/proc/self/cwd".into(),
    |_| "/proc/self/cwd/bin".into(),
    |_| "/proc/thread-self/cwd/bin".into(),
    |root| {
        let mut path = OsString::from("/proc/self/root");
        path.push(root.join("bin"));
        path
    },
    |root| root.join("sub/link-to-bin").into(),
    // Not there yet when vplan looks: a check makes it.
    |root| root.parent().unwrap().join("alias/later").into(),
    |root| root.parent().unwrap().join("not-there/../repo/bin").into(),
    |root| root.parent().unwrap().join("../proc/self/cwd").into(),
    |_| "~/bin".into(),
    |_| "$PWD/bin".into(),
    |_| "*".into(),
];

/// The programs that vplan and the checks call.
const SHADOWED: &[&str] = &[
    "git", "sh", "true", "cargo", "npm", "make", "env", "perl", "cat", "node", "ssh",
];

#[test]
fn programs_of_the_repository() {
    let whole = (ENTRIES.len() * 3) as u64;
    let mut sweep = Sweep::new(
        "faults::hostile::programs::programs_of_the_repository",
        8,
        whole,
    );
    while let Some(mut case) = sweep.next() {
        let project = Project::contract(
            "vplan 1\ncheck plain: mkdir -p later\ncheck made: /bin/cp -r bin/. later\ncheck through-shell {\n  shell true && cat /dev/null && env true\n}\n\
             check in-bin {\n  run true\n  dir \"bin\"\n}\ncheck only-there {\n  run gitt\n  severity warning\n}\n\
             check shell-only-there {\n  shell gitt || exit 0\n}\ncheck own-path {\n  run PATH=.:bin:/bin:/usr/bin sh -c true\n}\n",
        );
        let marks = project.parent().join("marks");
        std::fs::create_dir(&marks).unwrap();
        let script = format!("#!/bin/sh\n: >{}/$$-${{0##*/}}\n", marks.display());
        for name in SHADOWED.iter().chain(&["gitt"]) {
            project
                .script(&format!("bin/{name}"), &script)
                .script(name, &script);
        }
        project.symlink("sub/link-to-bin", "../bin");
        std::os::unix::fs::symlink("repo", project.parent().join("alias")).unwrap();
        std::os::unix::fs::symlink("repo/bin", project.parent().join("to-bin")).unwrap();
        let entry = ENTRIES[case.number as usize % ENTRIES.len()](&project.root());
        let usual = std::env::var_os("PATH").unwrap();
        let mut path = OsString::new();
        match case.number as usize / ENTRIES.len() {
            0 => [&entry, &":".into(), &usual]
                .iter()
                .for_each(|p| path.push(p)),
            1 => [&usual, &":".into(), &entry]
                .iter()
                .for_each(|p| path.push(p)),
            _ => [
                &entry,
                &":".into(),
                &entry,
                &"::".into(),
                &usual,
                &":".into(),
            ]
            .iter()
            .for_each(|p| path.push(p)),
        }
        let dir = *case.one_of(&["", "bin", "sub"]);
        for args in [
            &["plan"][..],
            &["explain", "--all"],
            &["check"],
            &["run", "--changed-none", "--keep-going"],
            &["status"],
            &["verify"],
        ] {
            let ran = project
                .vplan(args)
                .within(dir)
                .env("PATH", path.clone())
                .run();
            super::orderly(&ran);
            let ran_there = super::files(&marks);
            assert!(
                ran_there.is_empty(),
                "PATH={path:?}: {args:?}: {ran_there:?}: {ran:?}"
            );
            sweep.count("commands", 1);
            if args[0] == "run" {
                ran.says("gitt");
                let passed = ran.err().matches('✓').count();
                assert_eq!(passed, 6, "{ran:?}");
                sweep.count("steps passed", 6);
            }
        }
        // The control: a shell with this PATH does run them, mostly.
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", "gitt; git --version; exec true"])
            .current_dir(project.path(dir))
            .env("PATH", &path);
        let _ = shell.output().unwrap();
        sweep.count(
            "a shell runs them",
            u64::from(!super::files(&marks).is_empty()),
        );
        case.held();
    }
    assert!(super::alone() || sweep.seen("a shell runs them") > 0);
}
