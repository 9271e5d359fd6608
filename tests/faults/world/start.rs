//! What cannot be started, by its words, its files, its room?

use super::{World, status, wait};
use crate::faults::harness::Guard;
use crate::faults::sweep::Sweep;
use std::fmt::Write as _;

/// A hundred thousand files of one change are handed over in as many commands as it takes, none of
/// them twice, none lost.
#[test]
fn a_hundred_thousand_files() {
    let mut sweep = Sweep::new("faults::world::start::a_hundred_thousand_files", 1, 3);
    let many: usize = if sweep.whole() { 100_000 } else { 5_000 };
    while let Some(case) = sweep.next() {
        let world = World::new(
            "check all {\n  run sh -c 'printf \"%s\\n\" \"$@\" >> ../seen' sh {changed}\n}\n",
        );
        let folder = format!(
            "src/{}",
            "deep/".repeat(usize::try_from(case.number).unwrap() * 12)
        );
        world.project.mkdir(&folder);
        let mut list = String::new();
        for n in 0..many {
            writeln!(list, "{folder}file {n}").unwrap();
            std::fs::write(world.project.path(format!("{folder}file {n}")), "").unwrap();
        }
        world.project.write("../list", &list);
        let args = [
            "run",
            "--changed-from",
            "../list",
            "--format",
            "json",
            "--only",
            "all",
        ];
        let exit = wait(&mut Guard(world.wrapped(&[], &args).spawn().unwrap()));
        assert_eq!(exit, Some(0), "{}", world.said());
        let seen = world.project.read("../seen");
        let mut seen: Vec<&str> = seen.lines().collect();
        let mut wanted: Vec<&str> = list.lines().collect();
        seen.sort_unstable();
        wanted.sort_unstable();
        assert!(seen == wanted, "{} of {} files", seen.len(), wanted.len());
        sweep.count("files", many as u64);
        sweep.most(
            "commands for them",
            world.report()["steps"].as_array().unwrap().len() as u64,
        );
        case.held();
    }
}

/// Each kind by its name; none is a pass, none is guessed from an exit code, and what comes after
/// it is still decided.
#[test]
fn what_cannot_be_started() {
    let mut sweep = Sweep::new("faults::world::start::what_cannot_be_started", 1, 4);
    let words = format!("run true \"{}\"", "x".repeat(60_000));
    let long = format!(
        "run sh -c true {}",
        vec!["\"".to_owned() + &"y".repeat(60_000) + "\""; 1].join(" ")
    );
    let environment = |many: usize| {
        let line = |n| format!("\n  env V{n}={}", "z".repeat(60_000));
        format!("run true{}", (0..many).map(line).collect::<String>())
    };
    let plenty = environment(60);
    let cases: &[(&str, &str, &str)] = &[
        ("no program", "run no-such-program", "not on the PATH"),
        ("no file", "run ./none", "does not exist"),
        ("no permission", "run ./plain", "plain"),
        ("a directory", "run ./sub", "sub"),
        ("no interpreter", "run ./no-interpreter", "`/nowhere/sh`"),
        ("no format", "run ./no-format", "no-format"),
        ("no directory", "run true\n  dir \"gone\"", "gone"),
        ("a file as directory", "run true\n  dir \"plain\"", "plain"),
        ("a loop of links", "run ./loop", "loop"),
        (
            "too large an environment",
            &plenty,
            "longer than the system allows",
        ),
    ];
    while let Some(case) = sweep.next() {
        for (name, lines, said) in cases {
            let world = World::new(&format!("check odd {{\n  {lines}\n}}\n"));
            world.project.write("plain", "#!/bin/sh\n").mkdir("sub");
            world
                .project
                .script("no-interpreter", "#!/nowhere/sh\n")
                .script("no-format", "\0\0\0\0");
            world.project.symlink("loop", "loop");
            let args = ["--keep-going", "--max-file", "64MiB", "--no-recover"];
            let exit = wait(&mut Guard(world.run(&args).spawn().unwrap()));
            let report = world.report();
            assert_eq!(status(&report, "odd"), "errored", "{name}: {report}");
            assert_eq!(status(&report, "fine"), "passed", "{name}: {report}");
            assert!(matches!(exit, Some(5 | 40)), "{name}: {exit:?} {report}");
            let step = report["steps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s["id"] == "odd")
                .unwrap();
            assert!(
                step["detail"].as_str().unwrap().contains(said),
                "{name}: {step}"
            );
            assert!(step.get("exitCode").is_none(), "{name}: {step}");
            sweep.count("kinds", 1);
            world.is_honest(exit);
        }
        for fits in [&words, &long, &environment(16)] {
            let world = World::new(&format!("check odd {{\n  {fits}\n}}\n"));
            let exit = wait(&mut Guard(
                world.run(&["--max-file", "64MiB"]).spawn().unwrap(),
            ));
            assert_eq!(exit, Some(0), "{}", world.said());
            sweep.count("large, but possible", 1);
        }
        // Its own directory is taken away while it runs, and that of a step before its turn.
        let world = World::new(
            "check away: rm -r sub\ncheck odd {\n  run true\n  dir \"sub\"\n  needs away\n}\n",
        );
        world.project.mkdir("sub");
        let exit = wait(&mut Guard(world.run(&["--keep-going"]).spawn().unwrap()));
        assert_eq!(
            (exit, status(&world.report(), "odd")),
            (Some(5), "errored"),
            "{}",
            world.said()
        );
        let world = World::new("check away: sh -c \"rm -r ../repo\"\ncheck odd: true\n");
        let exit = wait(&mut Guard(
            world
                .run(&["--keep-going", "--records", "../records"])
                .spawn()
                .unwrap(),
        ));
        assert!(
            exit.is_some_and(|code| code != 1),
            "{exit:?}: {}",
            world.said()
        );
        sweep.count("directories taken away", 2);
        case.held();
    }
}
