//! What must be safe on any input is watched by the kernel: it starts nothing but git, opens no
//! connection, writes no file, and ends, also with a small stack and a small memory.

use super::{CODES, names};
use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use std::path::Path;
use std::process::{Command, Stdio};

/// The commands that promise to be quiet.
const VERBS: &[&[&str]] = &[
    &["check"],
    &["check", "--format", "json"],
    &["check", "--locked"],
    &["check", "--deny", "shell"],
    &["explain"],
    &["explain", "--all"],
    &["explain", "own"],
    &["explain", "--format", "json"],
    &["explain", "--format", "dot"],
    &["explain", "--format", "mermaid"],
    &["explain", "--format", "shell"],
    &["explain", "--contract-from", "HEAD"],
    &["plan"],
    &["plan", "--format", "json"],
    &["plan", "--format", "kdl"],
    &["plan", "--all"],
    &["plan", "--staged"],
    &["plan", "--base", "main"],
    &["plan", "--base", "auto"],
    &["plan", "--mode", "fallback"],
    &["plan", "--mode", "off"],
    &["plan", "--command", "cargo test && rm -rf /"],
    &["plan", "--mode", "llm", "--proposer", "./hook.sh"],
    &["plan", "--mode", "hybrid", "--proposer", "./hook.sh"],
    &["fmt", "--check"],
    &["diff", "HEAD", "."],
    &["diff", "HEAD", ".", "--format", "json"],
    &["test"],
    &["test", "--format", "json"],
    &["test", "--format", "junit"],
    &["schema"],
    &["schema", "plan"],
    &["std"],
    &["std", "rust"],
    &["status"],
    &["status", "--format", "json"],
    &["runs"],
    &["details"],
    &["details", "--format", "json"],
    &["report"],
    &["report", "--html", "-"],
    &["feedback"],
    &["feedback", "--format", "md"],
    &["log", "own"],
    &["stats"],
    &["verify"],
    &["gate", "show"],
    &["help"],
    &["help", "run"],
    &["help", "language"],
    &["completions", "bash"],
    &["man"],
    &["--version"],
    &["argv", "a 'b c' $'\\x41'"],
    &["classify", "--exit", "1", "--command", "npm run x"],
    &[
        "recover",
        "--command",
        "npm run x",
        "--failed",
        "1",
        "--exit",
        "1",
    ],
    &["init", "--stdout"],
    &["import", "runr.config.json", "--stdout"],
    &[
        "import",
        "--from",
        "verify-contract-json",
        "contract.json",
        "--stdout",
    ],
    &["plan", "--plan", "x"],
    &["nonsense"],
    &[],
];

const WATCHED: &str = "trace=execve,execveat,socket,connect,bind,open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,\
mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,mknod,mknodat,chmod,fchmodat,fchmod,chown,fchownat,truncate,ftruncate,\
fallocate,setxattr,utimensat,ptrace,kill,tkill,mount,chroot";

/// A contract with faults of one kind, and what to look at it with.
fn hostile_contract(case: &mut Case) -> Vec<u8> {
    let deep = 10_usize.pow(1 + u32::try_from(case.below(4)).unwrap());
    let header = "vplan 1\n";
    let text = match case.below(18) {
        0 => format!("{header}{}", "whenChangedAny \"a\" {\n".repeat(deep)),
        1 => format!(
            "{header}whenChangedAny \"{}a{}\" {{\n  check a: true\n}}\n",
            "{".repeat(deep),
            "}".repeat(deep)
        ),
        2 => format!(
            "{header}whenChangedAny \"{}\" {{\n  check a: true\n}}\n",
            "*".repeat(deep)
        ),
        3 => format!(
            "{header}whenChangedAny \"{}x\" {{\n  check own: true\n}}\n",
            "**/*a".repeat(80)
        ),
        4 => format!(
            "{header}whenChangedAny \"{}\" {{\n  check own: true\n}}\n",
            "{a,b}".repeat(60)
        ),
        5 => format!(
            "{header}check own {{\n  file \"d/c.txt\" {{\n    matches '{}a{}'\n  }}\n}}\n",
            "(".repeat(deep),
            "){9}".repeat(deep)
        ),
        6 => format!(
            "{header}check own {{\n  file \"d/c.txt\" {{\n    matches '(((a{{100}}){{100}}){{100}}){{100}}'\n  }}\n}}\n"
        ),
        7 => format!(
            "{header}{}",
            (0..deep.min(3000))
                .map(|i| format!(
                    "check c{i} {{\n  run true\n  needs c{}\n}}\n",
                    (i + 1) % deep.min(3000)
                ))
                .collect::<String>()
        ),
        8 => format!(
            "{header}{}",
            "import \"verify.vplan\" as a\n".repeat(deep.min(1000))
        ),
        9 => format!(
            "{header}import \"../../../../etc/passwd\"\nimport \"/proc/self/environ\"\nimport \"git+ssh://h/r?rev={}#x\"\n",
            "a".repeat(40)
        ),
        10 => format!("{header}check own: {}\n", "'".repeat(deep)),
        11 => format!("{header}check own: {}\n", "\\\n".repeat(deep)),
        12 => format!("{header}contract \"\u{202e}evil\u{2066}\"\ncheck own: echo \u{1b}[2J\n"),
        13 => format!("{header}check own {{\n{}}}\n", "  env A=1\n".repeat(deep)),
        14 => format!(
            "{header}judge-with ./hook.sh\ncheck own {{\n  judge \"is it?\"\n  context \"**\"\n}}\n"
        ),
        15 => format!("vplan {}\n", "9".repeat(deep)),
        16 => {
            return (0..case.below(4000))
                .map(|_| u8::try_from(case.below(256)).unwrap())
                .collect();
        }
        _ => {
            return [
                b"vplan 1\ncheck own: x \0\xff\xfe".as_slice(),
                &vec![b'x'; deep * 10],
            ]
            .concat();
        }
    };
    text.into_bytes()
}

/// A repository with everything that could make somebody do something.
fn hostile(case: &mut Case) -> Project {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nwhenChangedAny \"d/*\" {\n  check own: npm run x\n}\ncheck fails {\n  test ./hook.sh\n}\n",
        ),
        (
            "contracts/a.test.vplan",
            "vplan 1\ntests \"verify.vplan\"\nexpect \"x\" {\n  changed \"d/c.txt\"\n  plan own fails\n}\n",
        ),
        (
            "package.json",
            "{\"scripts\":{\"x\":\"./hook.sh\",\"test\":\"./hook.sh\",\"lint\":\"./hook.sh\"}}",
        ),
        (
            "Makefile",
            "X := $(shell ./hook.sh)\ntest:\n\t./hook.sh\ninclude $(shell ./hook.sh)\n",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"x\"\nbuild = \"hook.rs\"\n",
        ),
        ("pyproject.toml", "[tool.pytest]\n"),
        ("build.gradle", "exec { commandLine './hook.sh' }\n"),
        (
            "runr.config.json",
            "{\"verification\":{\"tier0\":[\"./hook.sh\"]}}",
        ),
        ("contract.json", "{\"commands\":[\"./hook.sh\"]}"),
        ("d/c.txt", "1\n"),
    ]);
    project.script("hook.sh", "#!/bin/sh\ntouch ../marked\n");
    project.commit("all");
    // A record, made by a run that nobody watches.
    super::orderly(&project.run(&["run", "--changed", "d/c.txt", "--keep-going"]));
    let _ = std::fs::remove_file(project.path("../marked"));
    let hook = project.path("hook.sh").to_str().unwrap().to_owned();
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "core.pager",
        "core.sshCommand",
    ] {
        project.git(&["config", key, &hook]);
    }
    project
        .write(".git/info/attributes", "* filter=evil\n")
        .write("d/c.txt", "2\n");
    for name in names(case, 6) {
        if ![&b"contracts"[..], b"d", b"hook.sh"].contains(&&name[..])
            && !project.path(super::os(&name)).exists()
        {
            project.write_bytes(&name, "x");
        }
    }
    if case.below(4) != 0 {
        project.write("contracts/verify.vplan", hostile_contract(case));
    }
    let record = super::record(&project);
    for name in ["report.json", "events.jsonl", "plan.json"] {
        damage(case, &record.join(name));
    }
    project
}

/// Sometimes a file of a record is cut, turned, repeated, or deep.
fn damage(case: &mut Case, file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let at = case.below(bytes.len() as u64) as usize;
    match case.below(10) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << case.below(8),
        2 => bytes.extend_from_within(at..),
        3 => bytes = [b"[".repeat(100_000), bytes].concat(),
        4 => bytes = b"{\"a\":".repeat(50_000),
        _ => return,
    }
    std::fs::write(file, bytes).unwrap();
}

/// What of a trace is not quiet.
fn loud(trace: &str, root: &Path) -> Vec<String> {
    let mut first = true;
    let mut found = Vec::new();
    for line in trace.lines() {
        // `PID call(…) = result`, or the second half of a call that others interrupted.
        let call = line.split_once(' ').map_or("", |(_, c)| c.trim_start());
        let failed = call
            .rsplit_once(" = ")
            .is_some_and(|(_, r)| r.starts_with('-'));
        let (name, rest) = call.split_once('(').unwrap_or(("", ""));
        let quiet = match name {
            "" => true,
            _ if name.starts_with(['<', '+', '-', ' ']) => true,
            "execve" => {
                let program = rest.split('"').nth(1).unwrap_or_default();
                let own = std::mem::replace(&mut first, false) || failed;
                own || (program.ends_with("/git") && !Path::new(program).starts_with(root))
            }
            "open" | "openat" | "openat2" => {
                // What is known of commits is kept in the state directory, which no file of the
                // repository can name.
                let keeps = rest.contains("/home/state");
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"]
                    .iter()
                    .any(|f| rest.contains(f));
                !writes
                    || failed
                    || keeps
                    || rest.contains("\"/dev/null\"")
                    || rest.contains("\"/dev/tty\"")
            }
            // A socket pair of the standard library's own is no connection; it has a call of its
            // own.
            "socket" | "connect" | "bind" => {
                rest.starts_with("AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC") && failed
            }
            // Who ends a git that takes too long, or asks whether somebody is there.
            "fchmod" => rest.starts_with(|c: char| c.is_ascii_digit()),
            "kill" | "tkill" => false,
            "ptrace" => false,
            _ => failed || rest.contains("/home/state"),
        };
        if !quiet {
            found.push(line.to_owned());
        }
    }
    found
}

/// Whether this machine lets one process watch another.
fn can_watch() -> bool {
    let status = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

/// All files, but for those of the state directory.
fn files_of(project: &Project) -> Vec<std::path::PathBuf> {
    let state = project.parent().join("home/state");
    super::files(project.parent())
        .into_iter()
        .filter(|file| !file.starts_with(&state))
        .collect()
}

#[test]
fn quiet_commands_are_quiet() {
    let mut sweep = Sweep::new("faults::hostile::quiet::quiet_commands_are_quiet", 2, 12);
    if !can_watch() {
        return sweep.cannot("no strace, or it may not watch");
    }
    while let Some(mut case) = sweep.next() {
        let project = hostile(&mut case);
        let before = files_of(&project);
        let every = if sweep.whole() {
            VERBS.len() as u64
        } else {
            10
        };
        let start = case.below(VERBS.len() as u64) as usize;
        for turn in 0..every as usize {
            let args = VERBS[(start + turn) % VERBS.len()];
            let trace = project.parent().join("trace");
            let plain = project
                .vplan(args)
                .env("GITHUB_BASE_REF", "main")
                .env("CI", "true")
                .command();
            let mut command = Command::new("strace");
            command
                .args(["-f", "-qq", "-y", "-e", WATCHED, "-e", "signal=none", "-o"])
                .arg(&trace);
            command
                .arg(plain.get_program())
                .args(plain.get_args())
                .current_dir(project.root());
            command
                .env_clear()
                .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
            let (code, _, err, took) = super::ended(&mut command);
            let said = String::from_utf8_lossy(&err);
            assert!(
                CODES.contains(&code) && !said.contains("panicked"),
                "{args:?}: {code}: {said}"
            );
            let trace = std::fs::read(&trace).unwrap();
            let trace = String::from_utf8_lossy(&trace);
            let found = loud(&trace, &project.root());
            assert!(found.is_empty(), "{args:?}: {found:#?}\n{said}");
            sweep.count("commands", 1);
            sweep.count("calls of git", trace.matches("/git\", [").count() as u64);
            sweep.count("files opened", trace.matches("open").count() as u64);
            sweep.most(
                "ms, watched",
                u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            );
        }
        std::fs::remove_file(project.parent().join("trace")).unwrap();
        assert_eq!(files_of(&project), before, "files");
        case.held();
    }
    assert!(super::alone() || !sweep.whole() || sweep.seen("calls of git") > 0);
    assert!(sweep.seen("files opened") > 0);
}

#[test]
fn the_watch_sees_what_is_loud() {
    if !can_watch() {
        eprintln!("SKIPPED: no strace, or it may not watch");
        return;
    }
    let project = Project::contract("vplan 1\ncheck own: ls\n");
    let trace = project.parent().join("trace");
    let plain = project.vplan(&["run", "--changed-none"]).command();
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-e", WATCHED, "-e", "signal=none", "-o"])
        .arg(&trace);
    command
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(project.root());
    command
        .env_clear()
        .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
    super::ended(&mut command);
    let found = loud(&std::fs::read_to_string(&trace).unwrap(), &project.root()).join("\n");
    for part in ["/ls\"", "report.json", "mkdir"] {
        assert!(found.contains(part), "{part}: {found}");
    }
}

/// How much stack an unoptimised program needs to read a command line at all; an optimised one is
/// content with 128 KiB.
const STACK_KIB: u64 = if cfg!(debug_assertions) { 1024 } else { 256 };

/// A small stack and an address space of 1 GiB are enough for everything: no abort, whatever is
/// nested.
#[test]
fn a_small_stack_is_enough() {
    let mut sweep = Sweep::new("faults::hostile::quiet::a_small_stack_is_enough", 3, 40);
    while let Some(mut case) = sweep.next() {
        let project = hostile(&mut case);
        for _ in 0..if sweep.whole() { 12 } else { 4 } {
            let args = *case.one_of(VERBS);
            let plain = project.vplan(args).command();
            let mut command = Command::new("bash");
            command
                .args([
                    "-c",
                    &format!("ulimit -s {STACK_KIB}; ulimit -v 1048576; exec \"$@\""),
                    "sh",
                ])
                .arg(plain.get_program())
                .args(plain.get_args());
            command
                .current_dir(project.root())
                .env_clear()
                .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
            let (code, _, err, took) = super::ended(&mut command);
            let said = String::from_utf8_lossy(&err);
            assert!(
                CODES.contains(&code) && !said.contains("panicked"),
                "{args:?}: {code}: {said}"
            );
            sweep.count("commands", 1);
            sweep.most("ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        }
        assert!(!project.exists("../marked"), "a hook ran");
        case.held();
    }
    assert!(super::alone() || sweep.seen("commands") > 0);
}
