//! What does it cost to confine a step? A thousand checks `true`, at each level beside the same at
//! `none`, in turn: the time of a whole run, by its steps. And what it costs to try what the system
//! gives.
//!
//! `cargo bench --bench sandbox [-- PROGRAM]`

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod paired;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The files that each check may read: all of a folder, or so many of it that each has a rule.
const FOLDER: &str = "src/**";
const SINGLE: &str = "src/*.c";
const FILES: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only wants to know whether it runs.
    let (steps, rounds) = if arguments.iter().any(|a| a == "--bench") {
        (1_000, 9)
    } else {
        (5, 1)
    };
    let program = arguments.iter().find(|a| !a.starts_with("--"));
    let program = program.map_or(env!("CARGO_BIN_EXE_vplan"), String::as_str);
    // Not where a sealed step has a folder of its own.
    let dir = tempfile::Builder::new()
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    let vplan = |tree: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(tree).args(args);
        command.env("XDG_STATE_HOME", dir.path().join("state"));
        command
    };
    let [folder, single] = [("folder", FOLDER), ("single", SINGLE)].map(|(name, inputs)| {
        let tree = dir.path().join(name);
        make(&tree, steps, inputs);
        tree
    });
    println!(
        "{:<34} {:>10} {:>10} {:>10} {:>10}",
        "level", "ms a step", "over none", "least", "target"
    );
    let rows: [(&str, &str, &PathBuf, f64); 6] = [
        ("none", "none", &folder, 0.01),
        ("guard", "guard", &folder, 0.15),
        ("files, a folder", "files", &folder, 0.4),
        ("files, 100 single files", "files", &single, 0.4),
        ("sealed, a folder", "sealed", &folder, 1.5),
        ("sealed, 100 single files", "sealed", &single, f64::NAN),
    ];
    for (what, level, tree, target) in rows {
        let tried = vplan(tree, &["audit", "--machine", "--require", level]).output();
        if !tried.unwrap().status.success() {
            println!("{what:<34} is not reached here");
            continue;
        }
        let run = |level| {
            let quiet = ["run", "--all", "--quiet", "--progress", "none"];
            let own = ["--no-cache", "--jobs", "1", "--sandbox", level];
            vplan(tree, &[&quiet[..], &own].concat())
        };
        let compared = paired::compare(rounds, || run(level), || run("none"));
        let each = |time: Duration| ms(time) / f64::from(steps);
        println!(
            "{what:<34} {:>10.3} {:>10.3} {:>10.3} {target:>10.3}",
            each(compared.ours),
            each(compared.ours) - each(compared.floor),
            (compared.least - 1.0) * each(compared.floor),
        );
    }
    let tried = paired::compare(
        3 * rounds,
        || vplan(&folder, &["audit", "--machine"]),
        || vplan(&folder, &["--version"]),
    );
    let (ours, floor) = (ms(tried.ours), ms(tried.floor));
    let what = "the first try, over --version";
    println!(
        "{what:<34} {ours:>10.3} {:>10.3} {:>21.3}",
        ours - floor,
        5.0
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Makes a repository with so many checks.
fn make(root: &Path, steps: u32, inputs: &str) {
    let mut files: Vec<String> = (0..FILES).map(|i| format!("src/{i}.c")).collect();
    files.push("src/other".to_owned());
    let mut contract = String::from("vplan 1\n");
    for i in 0..steps {
        let _ = writeln!(
            contract,
            "check s{i} {{\n  run true {i}\n  inputs \"{inputs}\"\n}}"
        );
    }
    paired::repository(root, &files, &contract);
}
