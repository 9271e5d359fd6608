//! What people wait for each time: whole processes of vplan, each beside what the same question
//! costs without it, in the same rounds.
//!
//! `cargo bench --bench felt [-- --once] [PROGRAM]` prints one table. `--once` takes few rounds.
//! What is measured is a copy of the program (what a linker has just written lies in small pieces
//! in the page cache), or of `PROGRAM`, say of the one that is built statically as README says. A
//! row whose floor moved by more than a tenth between the halves of its rounds says `noise`. Peers
//! that are not on the PATH are named at the end.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark may stop"
)]

mod floor;
mod monorepo;
mod paired;
#[path = "felt/trees.rs"]
mod trees;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trees::Tree;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, steps, jobs] = arguments.as_slice()
        && flag == "--floor"
    {
        return floor::spawn_and_wait(steps.parse().unwrap(), jobs.parse().unwrap(), Path::new(""));
    }
    let is = |flag: &str| arguments.iter().any(|a| a == flag);
    // `cargo test --benches` only wants to know whether it runs.
    let size = match () {
        () if !is("--bench") => Size::Tiny,
        () if is("--once") => Size::Once,
        () => Size::Whole,
    };
    let program = arguments.iter().find(|a| !a.starts_with("--"));
    let program = program.map_or(env!("CARGO_BIN_EXE_vplan"), String::as_str);
    let dir = tempfile::tempdir().unwrap();
    let installed = dir.path().join("vplan");
    std::fs::copy(program, &installed).unwrap();
    let mut table = Table {
        vplan: installed,
        dir: dir.path().to_owned(),
        size,
        missing: Vec::new(),
    };
    println!(
        "{:<46} {:>10} {:>10} {:>7} {:>7} {:>7}",
        "what (median)", "vplan", "floor", "ratio", "least", "target"
    );
    table.start();
    table.runs();
    table.reused();
    table.executed();
    table.steps();
    table.collected();
    table.compared();
    table.tested();
    table.planned();
    for peer in &table.missing {
        println!("{peer}: not here");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Tiny,
    Once,
    Whole,
}

struct Table {
    vplan: PathBuf,
    dir: PathBuf,
    size: Size,
    missing: Vec<&'static str>,
}

impl Table {
    fn rounds(&self, whole: usize) -> usize {
        match self.size {
            Size::Tiny => 1,
            Size::Once => whole.div_ceil(4).max(5),
            Size::Whole => whole,
        }
    }

    fn files(&self, files: usize) -> usize {
        if self.size == Size::Tiny { 20 } else { files }
    }

    fn tree(&self, name: &str, files: usize, contract: &str) -> Tree {
        let tree = Tree::new(&self.dir.join(name), files, contract);
        if self.size != Size::Tiny {
            // A digest is remembered only of a file that was at rest for some seconds.
            std::thread::sleep(Duration::from_secs(3));
        }
        tree
    }

    fn vplan(&self, tree: &Tree, args: &[&str]) -> Command {
        let mut command = Command::new(&self.vplan);
        command.current_dir(&tree.root).args(args);
        command.env("XDG_STATE_HOME", self.dir.join("state"));
        command
    }

    fn run(&self, tree: &Tree, args: &[&str]) -> Command {
        let mut command = self.vplan(tree, &["run", "--quiet", "--progress", "none"]);
        command.args(args);
        command
    }

    /// Measures one row.
    fn row(
        &self,
        what: &str,
        target: f64,
        rounds: usize,
        ours: impl Fn() -> Command,
        floor: impl Fn() -> Command,
    ) {
        let compared = paired::compare(self.rounds(rounds), ours, floor);
        println!(
            "{what:<46} {:>10.2?} {:>10.2?} {:>7} {:>7.2} {target:>7.2}",
            compared.ours,
            compared.floor,
            if compared.moved > 0.1 {
                "noise".to_owned()
            } else {
                format!("{:.2}", compared.ratio)
            },
            compared.least,
        );
    }

    /// Measures a peer beside the same floor.
    fn peer(
        &mut self,
        name: &'static str,
        rounds: usize,
        theirs: impl Fn() -> Command,
        floor: impl Fn() -> Command,
    ) {
        if !is_here(name) {
            if !self.missing.contains(&name) {
                self.missing.push(name);
            }
            return;
        }
        let compared = paired::compare(self.rounds(rounds), theirs, floor);
        println!(
            "{:<46} {:>10.2?} {:>10.2?} {:>7.2} {:>7.2}",
            format!("    {name}"),
            compared.ours,
            compared.floor,
            compared.ratio,
            compared.least
        );
    }

    /// A tree of which vplan knows all files, as git does: one run, and none of them is young.
    fn known(&self, name: &str, files: usize, contract: &str) -> Tree {
        let tree = self.tree(name, files, contract);
        paired::time(&mut self.run(&tree, &[]));
        if self.size != Size::Tiny {
            std::thread::sleep(Duration::from_secs(3));
            paired::time(&mut self.run(&tree, &[]));
        }
        tree
    }

    /// The start of the program, and git as the source of changes.
    fn start(&self) {
        let mut contract = String::from("vplan 1\ncontract \"ten\"\n");
        for i in 0..10 {
            let _ = write!(
                contract,
                "\nwhenChangedAny \"src/{i}/**\" \"**/*.rs\" {{\n  check c{i}: true {i}\n}}\n"
            );
        }
        let tree = self.known("start", self.files(1_000), &contract);
        self.row(
            "explain --changed, over git --version",
            1.15,
            200,
            || self.vplan(&tree, &["explain", "--changed", "src/1/1/file41.txt"]),
            || tree.git(&["--version"]),
        );
        self.row(
            "explain, over git's two calls",
            1.1,
            100,
            || self.vplan(&tree, &["explain"]),
            || {
                let mut both = Command::new("sh");
                both.current_dir(&tree.root).args([
                    "-c",
                    "git diff-index --raw -z --no-renames HEAD -- & git ls-files -z --others --exclude-standard; wait",
                ]);
                both
            },
        );
    }

    /// One check that does nothing.
    fn runs(&self) {
        for (files, target, rounds) in [(100, 2.5, 100), (10_000, 1.8, 40), (100_000, 1.8, 12)] {
            let files = self.files(files);
            let tree = self.known(
                &format!("run{rounds}"),
                files,
                "vplan 1\ncontract \"one\"\ncheck a: true\n",
            );
            self.row(
                &format!("run, one check, {files} files, over git status"),
                target,
                rounds,
                || self.run(&tree, &[]),
                || tree.git(&["status", "--porcelain"]),
            );
        }
    }

    /// Checks for which earlier passes stand.
    fn reused(&mut self) {
        for (files, target, rounds) in [(300, 1.2, 100), (10_000, 1.2, 40), (100_000, 1.3, 12)] {
            let files = self.files(files);
            let checks: String = (0..3)
                .map(|i| format!("check c{i} {{\n  run true {i}\n  inputs \"src/**\"\n}}\n"))
                .collect();
            let contract = format!("vplan 1\ncontract \"reused\"\n{checks}");
            let tree = self.known(&format!("reused{rounds}"), files, &contract);
            let status = || tree.git(&["status", "--porcelain"]);
            self.row(
                &format!("3 checks reused, {files} files, over git status"),
                target,
                rounds,
                || self.run(&tree, &[]),
                status,
            );
            tree.ninja();
            self.peer(
                "ninja",
                rounds,
                || tree.command("ninja", &["--quiet"]),
                status,
            );
            self.peer("n2", rounds, || tree.command("n2", &[]), status);
        }
    }

    /// A check with inputs that runs, beside the same without the cache: what is known of its
    /// inputs costs more.
    fn executed(&self) {
        let contract =
            "vplan 1\ncontract \"executed\"\ncheck a {\n  run sleep 0.3\n  inputs \"src/**\"\n}\n";
        let files = self.files(100_000);
        let tree = self.known("executed", files, contract);
        let compared = paired::compare(
            self.rounds(12),
            || {
                tree.change();
                self.run(&tree, &[])
            },
            || {
                tree.change();
                self.run(&tree, &["--no-cache"])
            },
        );
        let more = compared.ours.as_secs_f64() - compared.floor.as_secs_f64();
        println!(
            "{:<46} {:>10.2?} {:>10.2?} {:>7.1}ms {:>13}",
            format!("inputs of {files} files, over --no-cache"),
            compared.ours,
            compared.floor,
            more * 1e3,
            "2ms"
        );
    }

    /// Many steps, beside a program that starts the same commands and waits.
    fn steps(&self) {
        let steps = if self.size == Size::Tiny { 10 } else { 1_000 };
        let mut contract = String::from("vplan 1\ncontract \"steps\"\n");
        for i in 0..steps {
            let _ = writeln!(contract, "check s{i}: true {i}");
        }
        let tree = self.tree("steps", 10, &contract);
        let own = std::env::current_exe().unwrap();
        for (jobs, target) in [("1", 1.25), ("2", 1.35)] {
            self.row(
                &format!("{steps} steps, {jobs} at a time, over spawn and wait"),
                target,
                7,
                || self.run(&tree, &["--changed-none", "--jobs", jobs]),
                || {
                    let mut command = Command::new(&own);
                    command.args(["--floor", &steps.to_string(), jobs]);
                    command
                },
            );
        }
    }

    /// Old records, removed.
    fn collected(&self) {
        let runs = if self.size == Size::Tiny { 5 } else { 10_000 };
        let tree = self.tree("gc", 10, "vplan 1\ncontract \"one\"\ncheck a: true\n");
        paired::time(&mut self.run(&tree, &["--changed-none"]));
        tree.copy_records(runs);
        let took = paired::time(&mut self.vplan(&tree, &["gc", "--quiet", "--keep", "10"]));
        alone(&format!("gc of {runs} runs"), took, "500ms");
        // What the file system asks for.
        tree.copy_records(runs);
        let took = paired::time(&mut tree.command("rm", &["-rf", ".vplan/runs"]));
        alone("    rm -rf of as many", took, "");
    }

    /// Rules that all differ.
    fn compared(&self) {
        let rules = if self.size == Size::Tiny { 5 } else { 1_000 };
        let text = |extensions: &str| {
            let rule = |i| {
                format!(
                    "whenChangedAny \"src/m{i}/**/*.{extensions}\" {{\n  check c{i}: tool verify {i}\n}}\n"
                )
            };
            "vplan 1\n".to_owned() + &(0..rules).map(rule).collect::<String>()
        };
        let tree = self.tree("diff", 1, &text("rs"));
        std::fs::write(tree.root.join("wider.vplan"), text("{rs,go}")).unwrap();
        let args = ["diff", "contracts/verify.vplan", "wider.vplan"];
        let took = self.median(|| self.vplan(&tree, &args));
        alone(&format!("diff, {rules} rules, all differ"), took, "50ms");
    }

    /// As many tests as checks, each of which selects one.
    fn tested(&self) {
        let count = if self.size == Size::Tiny { 5 } else { 3_000 };
        let check =
            |i| format!("whenChangedAny \"src/m{i}/**\" {{\n  check c{i}: tool verify {i}\n}}\n");
        let checks: String = (0..count).map(check).collect();
        let case =
            |i| format!("expect \"t{i}\" {{\n  changed \"src/m{i}/a.rs\"\n  runs c{i}\n}}\n");
        let cases: String = (0..count).map(case).collect();
        let tree = self.tree("test", 1, &format!("vplan 1\n{checks}"));
        std::fs::write(
            tree.root.join("contracts/all.test.vplan"),
            format!("vplan 1\ntests \"verify.vplan\"\n{cases}"),
        )
        .unwrap();
        let took = self.median(|| self.vplan(&tree, &["test"]));
        alone(
            &format!("test, {count} cases of {count} checks"),
            took,
            "100ms",
        );
    }

    /// As many checks as a contract may have, and more changed files than any repository.
    fn planned(&self) {
        let (checks, files) = match self.size {
            Size::Tiny => (10, 10),
            Size::Once | Size::Whole => (30_000, 1_000_000),
        };
        let tree = self.tree("plan", 1, &monorepo::contract(checks));
        std::fs::write(tree.root.join("changed.txt"), monorepo::changed(files)).unwrap();
        let options = ["--max-file", "256MiB", "--changed-from", "changed.txt"];
        let args = [&["plan", "--format", "json"][..], &options].concat();
        let took = paired::time(&mut self.vplan(&tree, &args));
        let peak = paired::peak(&mut self.vplan(&tree, &args));
        let what = format!("plan, {checks} checks, {files} files");
        alone(&what, took, "4s");
        println!("{:<46} {peak:>7.0}MiB {:>34}", "    its memory", "450MiB");
    }

    /// The median of some runs of a command.
    fn median(&self, ours: impl Fn() -> Command) -> Duration {
        let rounds = 0..self.rounds(11);
        paired::median(rounds.map(|_| paired::time(&mut ours())).collect())
    }
}

/// Prints a row that has no floor.
fn alone(what: &str, took: Duration, target: &str) {
    println!("{what:<46} {took:>10.2?} {target:>34}");
}

fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| Path::new(&dir).join(program).is_file())
}
