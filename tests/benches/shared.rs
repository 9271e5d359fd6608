//! What does it cost to take a pass of another machine? A thousand shared checks, of which each has a signed pass in
//! a store, beside the same checks with passes of this machine: the time of a whole run, by its steps.
//!
//! `cargo bench --bench shared [-- PROGRAM [URL]]`; without URL the store is a folder.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod paired;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PRIVATE: &str = include_str!("../keys/private.pem");
const PUBLIC: &str = include_str!("../keys/public.pem");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only wants to know whether it runs.
    let (steps, rounds) = if arguments.iter().any(|a| a == "--bench") {
        (1_000, 9)
    } else {
        (5, 1)
    };
    let mut named = arguments.iter().filter(|a| !a.starts_with("--"));
    let program = named.next();
    let program = program.map_or(env!("CARGO_BIN_EXE_vplan"), String::as_str);
    let dir = tempfile::Builder::new()
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (key, trust) = (file("key", PRIVATE), file("trust", PUBLIC));
    let store = dir.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let folder = format!("folder:{}", store.display());
    let url = named.next().unwrap_or(&folder);
    let scope = dir.path().to_str().unwrap();
    let cache = [
        "--cache",
        url,
        "--cache-scope",
        scope,
        "--cache-trust",
        &trust,
    ];
    let [one, other] = ["one", "other"].map(|name| {
        let tree = dir.path().join(name);
        make(&tree, steps);
        tree
    });
    let vplan = |tree: &Path, more: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(tree);
        command.args(["run", "--all", "--quiet", "--progress", "none"]);
        command.args(more);
        command.env("XDG_STATE_HOME", dir.path().join("state"));
        command
    };
    let write = ["--cache-write", "--cache-sign", &key];
    let kept = vplan(&one, &[&cache[..], &write].concat()).status();
    if !kept.unwrap().success() {
        println!("steps cannot be confined here, so that no pass is shared");
        return;
    }
    let compared = paired::compare(rounds, || vplan(&other, &cache), || vplan(&one, &[]));
    let each = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(steps);
    println!(
        "{steps} passes: {:.3} s, to reach 1.5; a pass {:.3} ms, {:.3} over one of this machine, to reach 2",
        compared.ours.as_secs_f64(),
        each(compared.ours),
        each(compared.ours) - each(compared.floor),
    );
}

/// Makes a repository with so many checks.
fn make(root: &Path, steps: u32) {
    let mut contract = String::from("vplan 1\ntoolchain sh: sh -c 'command -v sh'\n");
    for i in 0..steps {
        let _ = writeln!(
            contract,
            "check s{i} {{\n  run true {i}\n  inputs \"src/**\"\n  sandbox files\n  shared\n}}"
        );
    }
    paired::repository(root, &["src/a"], &contract);
}
