//! Files that are something else, and files that become something else while they are read: what
//! lies outside the repository is never read, and nothing is waited for.

use super::{CODES, contains, ended};
use crate::faults::sweep::Sweep;
use crate::support::Project;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use vplan::base::glob::{Glob, Item, ItemContent, Selection};
use vplan::base::path::RepoPath;
use vplan::base::span::SourceId;
use vplan::effect::git::fingerprint::fingerprint;
use vplan::effect::git::pins::NothingPinned;
use vplan::effect::os::files::beneath::Beneath;
use vplan::effect::repo::load::{ContractRequest, load, locate};
use vplan::effect::runner::file_facts;
use vplan::effect::runner::reports::Before;

/// What stands in every file outside, and in none inside.
const OUTSIDE: &[u8] = b"this-is-outside";

/// `root/` and `outside/`; in `root/` a contract that imports `d/lib.vplan`, which is reached by
/// several ways.
struct Ground {
    dir: tempfile::TempDir,
    /// Two paths that are exchanged.
    swap: (PathBuf, PathBuf),
}

fn text(mark: &str) -> String {
    format!("vplan 1\n# {mark}\ncheck {mark}: true\n")
}

const REPORT: &str = "<testsuite tests=\"1\"><testcase name=\"MARK\"><failure message=\"MARK\"/></testcase></testsuite>\n";

type Set = fn(&Path, &Path) -> (PathBuf, PathBuf);

/// What is exchanged, again and again, and what for.
const SWAPS: &[(&str, Set)] = &[
    ("a file for a symlink", |root, _| {
        symlink("../../../outside/d/lib.vplan", root.join("contracts/d/x")).unwrap();
        (
            root.join("contracts/d/lib.vplan"),
            root.join("contracts/d/x"),
        )
    }),
    ("a file for an absolute symlink", |root, outside| {
        symlink(outside.join("d/lib.vplan"), root.join("contracts/d/x")).unwrap();
        (
            root.join("contracts/d/lib.vplan"),
            root.join("contracts/d/x"),
        )
    }),
    ("a directory for a symlink", |root, outside| {
        symlink(outside.join("d"), root.join("contracts/x")).unwrap();
        (root.join("contracts/d"), root.join("contracts/x"))
    }),
    ("a directory further up for a symlink", |root, outside| {
        symlink(outside, root.join("x")).unwrap();
        (root.join("contracts"), root.join("x"))
    }),
    ("a symlink inside for one outside", |root, _| {
        std::fs::rename(root.join("contracts/d"), root.join("contracts/real")).unwrap();
        symlink("real", root.join("contracts/d")).unwrap();
        symlink("../../outside/d", root.join("contracts/x")).unwrap();
        (root.join("contracts/d"), root.join("contracts/x"))
    }),
    ("the directory that `..` leaves", |root, outside| {
        // `d` leads up twice; when `deep/deep` stands further up, up twice is outside.
        std::fs::rename(root.join("contracts/d"), root.join("contracts/real")).unwrap();
        std::fs::create_dir_all(root.join("contracts/deep/deep")).unwrap();
        std::fs::create_dir_all(outside.join("contracts/real")).unwrap();
        std::fs::write(
            outside.join("contracts/real/lib.vplan"),
            text("this-is-outside"),
        )
        .unwrap();
        std::fs::create_dir(outside.join("deep")).unwrap();
        symlink("deep/deep/up", root.join("contracts/d")).unwrap();
        for dir in [root.join("contracts/deep/deep"), outside.join("deep")] {
            symlink("../../real", dir.join("up")).unwrap();
        }
        (root.join("contracts/deep/deep"), outside.join("deep"))
    }),
    ("a file for what the process is", |root, _| {
        symlink("/proc/self/environ", root.join("contracts/d/x")).unwrap();
        (
            root.join("contracts/d/lib.vplan"),
            root.join("contracts/d/x"),
        )
    }),
    (
        "a directory for the root of the machine",
        |root, outside| {
            let mut target = PathBuf::from("/proc/self/root");
            target.push(outside.join("d").strip_prefix("/").unwrap());
            symlink(target, root.join("contracts/x")).unwrap();
            (root.join("contracts/d"), root.join("contracts/x"))
        },
    ),
    ("a file for a pipe", |root, _| {
        let pipe = root.join("contracts/d/x");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        (root.join("contracts/d/lib.vplan"), pipe)
    }),
    ("a file for zeros without end", |root, _| {
        symlink("/dev/zero", root.join("contracts/d/x")).unwrap();
        (
            root.join("contracts/d/lib.vplan"),
            root.join("contracts/d/x"),
        )
    }),
    ("a file for a directory", |root, _| {
        std::fs::create_dir(root.join("contracts/d/x")).unwrap();
        (
            root.join("contracts/d/lib.vplan"),
            root.join("contracts/d/x"),
        )
    }),
];

impl Ground {
    fn new(set: Set) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("vplan-race-")
            .tempdir()
            .unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("contracts/d")).unwrap();
        std::fs::create_dir_all(outside.join("d")).unwrap();
        std::fs::write(
            root.join("contracts/verify.vplan"),
            "vplan 1\nimport \"d/lib.vplan\"\ncheck own: true\n",
        )
        .unwrap();
        std::fs::write(root.join("contracts/d/lib.vplan"), text("inside")).unwrap();
        std::fs::write(
            root.join("contracts/d/r.xml"),
            REPORT.replace("MARK", "inside"),
        )
        .unwrap();
        std::fs::write(outside.join("d/lib.vplan"), text("this-is-outside")).unwrap();
        std::fs::write(
            outside.join("d/r.xml"),
            REPORT.replace("MARK", "this-is-outside"),
        )
        .unwrap();
        let swap = set(&root, &outside);
        Self { dir, swap }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }
}

/// The ways to read: each gives what it read, or nothing.
type Reader = fn(&Path, &Beneath) -> Vec<u8>;

const READERS: &[(&str, Reader)] = &[
    ("a file", |_, b| {
        b.read(&path("contracts/d/lib.vplan"), 1 << 16)
            .unwrap_or_default()
    }),
    ("an asserted file", |_, b| {
        file_facts::gather(b, &path("contracts/d/lib.vplan"), true)
            .content
            .unwrap_or_default()
    }),
    ("names", |_, b| b.names(&path("contracts/d")).concat()),
    ("a link", |_, b| {
        // Where a link leads may be said; what is there may not.
        let _ = (
            b.link(&path("contracts/d")),
            b.stamp(&path("contracts/d/lib.vplan")),
        );
        b.list(&path("contracts/d"))
            .into_iter()
            .flat_map(|(name, _)| name)
            .collect()
    }),
    ("an import", |root, _| {
        let site = locate(root, None, &|_| None).unwrap();
        let wanted = ContractRequest {
            contract: None,
            revision: None,
            base: None,
            max_file: 1 << 16,
            text: None,
            folders: vplan::effect::repo::folders::FoldersOf::WorkTree,
        };
        let Ok(loaded) = load(&site, &wanted, &mut NothingPinned) else {
            return Vec::new();
        };
        (0..4)
            .filter_map(|n| loaded.sources.get(SourceId(n)))
            .flat_map(|s| s.text().as_bytes().to_vec())
            .collect()
    }),
    ("report files", |_, b| {
        let glob = Glob::parse("contracts/d/*.xml").unwrap();
        let nothing = tempfile::tempdir().unwrap();
        let nothing = Beneath::open(nothing.path()).unwrap();
        let before = Before::move_away(nothing.into(), glob, None);
        format!(
            "{:?}",
            before.read(
                b,
                &vplan::check::output::resolve_name(
                    vplan::base::vocabulary::FormatName::Junit,
                    vplan::check::Kind::Test
                ),
                &Default::default()
            )
        )
        .into_bytes()
    }),
    ("a fingerprint", |root, b| {
        let all = Selection {
            items: vec![Item {
                not: false,
                what: ItemContent::Glob(Glob::parse("**").unwrap()),
            }],
        };
        format!("{:?}", fingerprint(b, root, None, &all)).into_bytes()
    }),
];

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// How often something is exchanged in one case.
const TIMES: u64 = 10_000;

#[test]
fn what_is_exchanged_while_it_is_read() {
    let mut sweep = Sweep::new(
        "faults::hostile::races::what_is_exchanged_while_it_is_read",
        11,
        100,
    );
    while let Some(case) = sweep.next() {
        let (name, set) = SWAPS[case.number as usize % SWAPS.len()];
        let ground = Ground::new(set);
        let root = ground.root();
        let beneath = Beneath::open(&root).unwrap();
        let (over, reads, inside) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                // The cheap ways more often.
                for turn in (0_usize..).take_while(|_| !over.load(SeqCst)) {
                    let (way, read) = READERS[if turn % 50 == 49 {
                        turn / 50 % READERS.len()
                    } else {
                        turn % 4
                    }];
                    let got = read(&root, &beneath);
                    assert!(
                        !contains(&got, OUTSIDE),
                        "{name}: {way} reads outside: {}",
                        String::from_utf8_lossy(&got)
                    );
                    assert!(
                        !contains(&got, b"PATH=") && !contains(&got, b"\0\0\0\0"),
                        "{name}: {way}"
                    );
                    reads.fetch_add(1, SeqCst);
                    inside.fetch_add(u64::from(contains(&got, b"inside")), SeqCst);
                }
            });
            for turn in 0..TIMES {
                renameat_with(
                    CWD,
                    &ground.swap.0,
                    CWD,
                    &ground.swap.1,
                    RenameFlags::EXCHANGE,
                )
                .unwrap();
                // On one core the reader gets its turn too.
                if turn % 64 == 0 {
                    std::thread::yield_now();
                }
                if reader.is_finished() {
                    break;
                }
            }
            over.store(true, SeqCst);
        });
        sweep.count("exchanges", TIMES);
        sweep.count("reads", reads.into_inner());
        sweep.count("reads of what is inside", inside.into_inner());
        case.held();
    }
    assert!(
        super::alone()
            || sweep.seen("reads of what is inside") > 0
            || sweep.seen("exchanges") == TIMES
    );
}

/// The obvious way, resolving first and opening later, does lose this race: it is one.
#[test]
fn the_race_can_be_lost() {
    let ground = Ground::new(SWAPS[0].1);
    let root = ground.root().canonicalize().unwrap();
    let over = AtomicBool::new(false);
    let lost = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                renameat_with(
                    CWD,
                    &ground.swap.0,
                    CWD,
                    &ground.swap.1,
                    RenameFlags::EXCHANGE,
                )
                .unwrap();
            }
        });
        let start = std::time::Instant::now();
        let file = root.join("contracts/d/lib.vplan");
        let mut lost = false;
        while !lost && start.elapsed() < super::PATIENCE {
            let resolved = file.canonicalize();
            lost = resolved.is_ok_and(|r| {
                r.starts_with(&root) && std::fs::read(r).is_ok_and(|t| contains(&t, OUTSIDE))
            });
        }
        over.store(true, SeqCst);
        lost
    });
    assert!(lost, "nothing raced");
}

/// What a file can be instead of one.
const KINDS: &[&str] = &[
    "pipe",
    "/dev/zero",
    "/proc/self/environ",
    "sparse",
    "directory",
    "socket",
    "loop",
    "/proc/self/mem",
    "/dev/full",
    "/proc/kmsg",
    "/dev/tty",
    "/dev/stdin",
    "/proc/self/fd/0",
    "unreadable",
];

fn become_one(path: &Path, kind: &str) {
    if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        std::fs::remove_dir_all(path).unwrap();
    } else {
        let _ = std::fs::remove_file(path);
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "sparse" => std::fs::File::create(path)
            .unwrap()
            .set_len(10 << 30)
            .unwrap(),
        "directory" => std::fs::create_dir(path).unwrap(),
        "socket" => {
            use std::os::fd::AsRawFd as _;
            // An address has no room for a long path.
            let parent = std::fs::File::open(path.parent().unwrap()).unwrap();
            let short = format!(
                "/proc/self/fd/{}/{}",
                parent.as_raw_fd(),
                path.file_name().unwrap().display()
            );
            drop(std::os::unix::net::UnixListener::bind(short).unwrap());
        }
        "loop" => symlink(path.file_name().unwrap(), path).unwrap(),
        "unreadable" => {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(path, [0xff; 3]).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o0)).unwrap();
        }
        target => symlink(target, path).unwrap(),
    }
}

/// A file, the commands that read it, and whether a person names it on the command line (who may
/// then name a pipe, and wait).
const PLACES: &[(&str, &[&[&str]], bool)] = &[
    (
        "contracts/verify.vplan",
        &[
            &["check"],
            &["plan"],
            &["explain"],
            &["fmt", "--check"],
            &["test"],
            &["run"],
            &["diff", "HEAD", "."],
            &["lock"],
        ],
        false,
    ),
    (
        "contracts/lib.vplan",
        &[
            &["check"],
            &["plan", "--all"],
            &["fmt", "--check"],
            &["test"],
        ],
        false,
    ),
    (
        "contracts/verify.lock.kdl",
        &[&["check"], &["check", "--locked"], &["plan"], &["lock"]],
        false,
    ),
    ("contracts/a.test.vplan", &[&["test"], &["check"]], false),
    (
        "package.json",
        &[
            &["init", "--stdout"],
            &["plan", "--mode", "fallback", "--contract", "none.vplan"],
            &["plan"],
        ],
        false,
    ),
    ("Makefile", &[&["init", "--stdout"], &["plan"]], false),
    ("Cargo.toml", &[&["init", "--stdout"], &["check"]], false),
    (".git/packed-refs", &[&["plan", "--changed-none"]], false),
    (
        ".vplan/runs/RUN/report.json",
        &[
            &["status"],
            &["feedback"],
            &["report"],
            &["verify"],
            &["runs"],
            &["details"],
            &["stats"],
        ],
        false,
    ),
    (
        ".vplan/runs/RUN/events.jsonl",
        &[
            &["status"],
            &["feedback"],
            &["report"],
            &["verify"],
            &["runs"],
            &["details"],
            &["stats"],
        ],
        false,
    ),
    (
        ".vplan/runs/RUN/plan.json",
        &[
            &["status"],
            &["report"],
            &["verify"],
            &["details"],
            &["report", "--html", "-"],
        ],
        false,
    ),
    (
        ".vplan/runs/RUN/logs/own.1.log",
        &[&["log", "own"], &["details"]],
        false,
    ),
    (
        ".vplan",
        &[&["status"], &["runs"], &["run", "--changed-none"]],
        false,
    ),
    (
        ".vplan/runs",
        &[&["status"], &["runs"], &["run", "--changed-none"]],
        false,
    ),
    (
        "../home/state",
        &[
            &["gate", "show"],
            &["run", "--changed-none", "--subject", "a"],
        ],
        false,
    ),
    (
        "given",
        &[
            &["plan", "--changed-from", "given"],
            &["plan", "--commands-from", "given"],
        ],
        true,
    ),
    (
        "given.json",
        &[
            &["run", "--plan", "given.json"],
            &["diff", "given.json", "given.json"],
            &["verify", "given.json"],
        ],
        true,
    ),
    (
        "given.kdl",
        &[
            &["run", "--plan", "given.kdl"],
            &["merge", "given.kdl"],
            &["feedback", "given.kdl"],
        ],
        true,
    ),
    (
        "given/report.json",
        &[
            &["merge", "given"],
            &["feedback", "./given"],
            &["verify", "given"],
        ],
        true,
    ),
    (
        "runr.config.json",
        &[
            &["import", "runr.config.json", "--stdout"],
            &["import", "--from", "runr", "runr.config.json", "--stdout"],
        ],
        true,
    ),
];

fn ground_of_files() -> Project {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nimport \"lib.vplan\"\ncheck own: echo hi\nwhenExists \"Makefile\" {\n  check m: make x\n}\n",
        ),
        ("contracts/lib.vplan", "vplan 1\ncheck lib: npm run x\n"),
        ("package.json", "{\"scripts\":{\"x\":\"true\"}}"),
    ]);
    let ran = project.run(&["run", "--changed-none", "--keep-going"]);
    super::orderly(&ran);
    project
}

#[test]
fn files_that_are_none() {
    let pairs: Vec<(usize, usize)> = (0..PLACES.len())
        .flat_map(|p| (0..KINDS.len()).map(move |k| (p, k)))
        .collect();
    let mut sweep = Sweep::new(
        "faults::hostile::races::files_that_are_none",
        12,
        pairs.len() as u64,
    );
    while let Some(mut case) = sweep.next() {
        let at = if sweep.whole() {
            case.number as usize % pairs.len()
        } else {
            case.below(pairs.len() as u64) as usize
        };
        let (place, commands, named) = PLACES[pairs[at].0];
        let kind = KINDS[pairs[at].1];
        if named && kind == "pipe" {
            sweep.count("pipes that a person asks for", 1);
            case.held();
            continue;
        }
        try_file(place, commands, kind, &mut sweep);
        case.held();
    }
    assert!(super::alone() || sweep.seen("refused") > 0);
}

fn try_file(place: &str, commands: &[&[&str]], kind: &str, sweep: &mut Sweep) {
    let project = ground_of_files();
    let run = super::record(&project);
    let file = project.path(place.replace("RUN", run.file_name().unwrap().to_str().unwrap()));
    become_one(&file, kind);
    for args in commands {
        // An address space of 2 GiB: who reads ten into memory does not get far.
        if args[0] == "log" && kind == "sparse" {
            // It is shown whole, as was asked for: ten gigabytes, a piece at a time.
            continue;
        }
        let plain = project
            .vplan(args)
            .env("VPLAN_MARK_OF_ENVIRON", "not-to-be-seen")
            .command();
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v 2097152; exec \"$@\"", "sh"])
            .arg(plain.get_program())
            .args(plain.get_args());
        command
            .current_dir(project.root())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(n, v)| Some((n, v?))));
        let (code, out, err, took) = ended(&mut command);
        let shown = || {
            format!(
                "{place} is {kind}: {args:?} gave {code}: {}",
                String::from_utf8_lossy(&err)
            )
        };
        assert!(CODES.contains(&code), "{}", shown());
        assert!(
            !contains(&out, b"not-to-be-seen") && !contains(&err, b"not-to-be-seen"),
            "{}",
            shown()
        );
        sweep.count("commands", 1);
        sweep.count(if code == 0 { "not needed" } else { "refused" }, 1);
        sweep.most("ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }
}

/// While a check runs and what it leaves is looked at, somebody exchanges the directory for a
/// symlink that leads outside.
#[test]
fn what_is_exchanged_while_it_is_gathered() {
    let mut sweep = Sweep::new(
        "faults::hostile::races::what_is_exchanged_while_it_is_gathered",
        3,
        60,
    );
    while let Some(mut case) = sweep.next() {
        let project = Project::contract(
            "vplan 1\ncheck make {\n  shell touch out/gen; cat out/app; :\n  produces \"out/**\"\n}\n\
             check own {\n  run true\n  inputs \"out/**\"\n}\n\
             check looks {\n  file \"out/app\" {\n    contains \"this-is-outside\"\n  }\n}\n\
             check reads {\n  test true\n  report junit \"out/*.xml\"\n}\ncheck still {\n  run true\n  unchanged \"out/**\"\n}\n",
        );
        project
            .write("out/app", "inside\n")
            .write("out/r.xml", REPORT.replace("MARK", "inside"));
        project.write("../outside/app", "this-is-outside\n").write(
            "../outside/r.xml",
            REPORT.replace("MARK", "this-is-outside"),
        );
        let away = project.path("away");
        symlink(project.parent().join("outside"), &away).unwrap();
        let over = AtomicBool::new(false);
        let pause = case.below(200);
        let out = project.path("out");
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let mut times = 0_u64;
                while !over.load(SeqCst) {
                    renameat_with(CWD, &out, CWD, &away, RenameFlags::EXCHANGE).unwrap();
                    times += 1;
                    for _ in 0..pause {
                        std::hint::spin_loop();
                    }
                }
                times
            });
            let ran = project.run(&["run", "--changed-none", "--keep-going", "--format", "json"]);
            over.store(true, SeqCst);
            sweep.count("exchanges", swapper.join().unwrap());
            super::orderly(&ran);
            let report = ran.json();
            for step in report["steps"].as_array().unwrap() {
                // What the step itself reads and prints is the step's own doing.
                let says = step.to_string();
                let own = ["make", "looks"].iter().any(|id| step["id"] == *id);
                assert!(own || !says.contains("this-is-outside"), "{report:#}");
                assert!(
                    step["id"] != "looks" || step["status"] != "passed",
                    "{report:#}"
                );
                sweep.count(&format!("steps {}", step["status"].as_str().unwrap()), 1);
            }
        });
        case.held();
    }
    assert!(super::alone() || sweep.seen("exchanges") > 0);
}

/// The names of files in the way of vplan's own files: nothing is written through a symlink.
#[test]
fn links_where_vplan_writes() {
    let mut sweep = Sweep::new("faults::hostile::races::links_where_vplan_writes", 4, 32);
    while let Some(mut case) = sweep.next() {
        let project = Project::contract("vplan 1\ncheck own: echo hi\n");
        let precious = project.parent().join("precious");
        std::fs::write(&precious, "precious").unwrap();
        std::fs::create_dir(project.parent().join("elsewhere")).unwrap();
        let links = [
            ".vplan",
            ".vplan/runs",
            ".vplan/latest",
            ".vplan/.gitignore",
            ".vplan/lock",
            "../home/state/vplan",
            "page.html",
            "j.xml",
        ];
        let link = links[case.number as usize % links.len()];
        let target = if case.below(2) == 0 {
            precious.clone()
        } else {
            project.parent().join("elsewhere")
        };
        std::fs::create_dir_all(project.path(link).parent().unwrap()).unwrap();
        symlink(&target, project.path(link)).unwrap();
        let ran = project.run(&["run", "--changed-none", "--junit", "j.xml"]);
        assert!(
            ran.exit.is_some_and(|code| CODES.contains(&code)),
            "{ran:?}"
        );
        super::orderly(&project.run(&["report", "--html", "page.html"]));
        // Where a person names the file, a symlink of theirs is followed or replaced; what vplan
        // chooses itself is never behind one.
        if !matches!(link, "page.html" | "j.xml") {
            assert_eq!(std::fs::read(&precious).unwrap(), b"precious", "{link}");
            if link.starts_with(".vplan") {
                assert_eq!(
                    super::files(&project.parent().join("elsewhere")),
                    Vec::<PathBuf>::new(),
                    "{link}"
                );
            }
        }
        sweep.count(
            if ran.exit == Some(0) {
                "passed"
            } else {
                "refused"
            },
            1,
        );
        case.held();
    }
}
