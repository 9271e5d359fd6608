//! `vplan lock`: what is fetched and pinned, what the pins are worth, and what it withstands.

use super::support::{Project, Ran};
use crate::support::process::{Bounded as _, PATIENCE};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;
use vplan::base::canon::Digest;
use vplan::base::origin::GitOrigin;
use vplan::base::span::SourceId;
use vplan::lock::{Lock, PinnedImport, RecordedAnswer, decode, encode};

fn eventually(holds: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

const LOCK: &str = "contracts/verify.lock.kdl";
const CONTRACT: &str = "contracts/verify.vplan";
const SHARED: &str = "vplan 1\ncheck shared: true\n";

/// Messages are broken into lines as wide as they may be, wherever that is.
trait Tells {
    fn tells(&self, text: &str) -> &Self;
}

impl Tells for Ran {
    #[track_caller]
    fn tells(&self, text: &str) -> &Self {
        let joined = |s: &str| {
            s.chars()
                .filter(|c| !c.is_whitespace() && *c != '│')
                .collect::<String>()
        };
        assert!(
            joined(&self.err()).contains(&joined(text)),
            "no {text:?} in {}",
            self.err()
        );
        self
    }
}

/// A project that imports `shared.vplan` of the repository beside it.
struct Setup {
    project: Project,
    revision: String,
}

impl Setup {
    fn new() -> Self {
        let project = Project::git_with(&[("a.txt", "a\n")]);
        project.mkdir("../remote");
        project.git_in("../remote", &["init", "-q", "-b", "main"]);
        project
            .write("../remote/shared.vplan", SHARED)
            .write("../remote/deep/other.vplan", "vplan 1\ncheck other: true\n");
        project.symlink("../remote/link.vplan", "shared.vplan");
        let mut setup = Self {
            project,
            revision: String::new(),
        };
        setup.revision = setup.commit_remote();
        setup.import(&["shared.vplan"]);
        setup
    }

    fn commit_remote(&self) -> String {
        self.project.git_in("../remote", &["add", "-A"]);
        self.project
            .git_in("../remote", &["commit", "-q", "-m", "next"]);
        self.project.git_in("../remote", &["rev-parse", "HEAD"])
    }

    fn url(&self) -> String {
        format!("file://{}", self.project.parent().join("remote").display())
    }

    fn origin(&self, path: &str) -> GitOrigin {
        GitOrigin::parse(&format!("git+{}?rev={}#{path}", self.url(), self.revision)).unwrap()
    }

    fn import(&self, paths: &[&str]) {
        self.import_texts(
            &paths
                .iter()
                .map(|p| self.origin(p).to_string())
                .collect::<Vec<_>>(),
        );
    }

    fn import_texts(&self, texts: &[String]) {
        let mut text = "vplan 1\n".to_owned();
        texts
            .iter()
            .for_each(|t| text.push_str(&format!("import \"{t}\"\n")));
        self.project.write(CONTRACT, text + "check own: true\n");
    }

    fn lock(&self) -> Ran {
        self.project.run(&["lock"])
    }

    fn read(&self) -> Lock {
        let text = self.project.read(LOCK);
        let (lock, found) = decode(&text, SourceId::default());
        assert!(found.is_empty(), "{found:?}");
        lock
    }

    fn cached(&self, content: &str) -> PathBuf {
        let hex = Digest::hash(content.as_bytes()).hex();
        self.project
            .parent()
            .join("home/.cache/vplan/sha256")
            .join(&hex[..2])
            .join(hex)
    }

    fn plan(&self) -> Ran {
        self.project.run(&["plan", "--all", "--format", "json"])
    }

    /// Processes that carry this project's home in their environment.
    fn survivors(&self) -> Vec<String> {
        let mark = format!("HOME={}", self.project.parent().join("home").display());
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let carries = |dir: &PathBuf| {
            let environment = std::fs::read(dir.join("environ")).unwrap_or_default();
            environment.split(|b| *b == 0).any(|v| v == mark.as_bytes())
        };
        let found = processes.map(|e| e.path()).filter(carries);
        found
            .map(|d| {
                String::from_utf8_lossy(&std::fs::read(d.join("cmdline")).unwrap_or_default())
                    .into_owned()
            })
            .collect()
    }
}

#[test]
fn pinned_then_used_then_kept() {
    let setup = Setup::new();
    setup
        .plan()
        .exits(4)
        .tells("vplan::lock::not_pinned")
        .tells("`vplan lock` fetches and pins it");
    setup
        .lock()
        .exits(0)
        .says("pinned   git+file://")
        .says("contracts/verify.lock.kdl: 1 import\n");
    let lock = setup.read();
    let pin = PinnedImport {
        origin: setup.origin("shared.vplan"),
        digest: Digest::hash(SHARED.as_bytes()),
        bytes: SHARED.len() as u64,
    };
    assert_eq!(lock.imports, [pin]);
    assert_eq!(setup.project.read(LOCK), encode(&lock));
    assert_eq!(
        std::fs::read_to_string(setup.cached(SHARED)).unwrap(),
        SHARED
    );
    setup.plan().exits(0).says("\"shared\"");
    setup.project.run(&["plan", "--all", "--locked"]).exits(0);
    setup
        .project
        .run(&["lock", "--check"])
        .exits(0)
        .says("1 import");

    // From now on without the remote, and without writing anything.
    setup.project.remove("../remote");
    let before = std::fs::metadata(setup.project.path(LOCK))
        .unwrap()
        .modified()
        .unwrap();
    setup.lock().exits(0).says("1 import").never_says("pinned ");
    setup
        .project
        .run(&["lock", "--offline", "--locked"])
        .exits(0);
    assert_eq!(
        std::fs::metadata(setup.project.path(LOCK))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    setup.plan().exits(0);

    // A cache of somebody else has nothing; one that is named is used.
    setup
        .project
        .run(&["plan", "--all", "--cache-dir", "cache"])
        .exits(4)
        .tells("vplan::lock::not_cached");
    setup
        .project
        .run(&["lock", "--check", "--cache-dir", "cache"])
        .exits(4)
        .tells("vplan::lock::not_cached");
    setup
        .project
        .run(&["lock", "--cache-dir", "cache", "--offline"])
        .exits(4)
        .tells("vplan::lock::offline");
    setup
        .project
        .run(&["lock", "--cache-dir", "cache"])
        .exits(4)
        .tells("vplan::lock::fetch_failed");
}

#[test]
fn lock_extra_entry_is_warning_not_power() {
    let setup = Setup::new();
    setup.import(&["shared.vplan", "deep/other.vplan"]);
    setup.lock().exits(0).says("2 imports");
    let both = setup.project.read(LOCK);
    setup.project.write(
        LOCK,
        both.replace("version 1\n", "version 1 // ours\n// about other\n"),
    );
    setup.import(&["shared.vplan"]);

    setup.plan().exits(0);
    setup
        .project
        .run(&["plan", "--all", "--locked"])
        .exits(4)
        .tells("vplan::lock::surplus")
        .tells("other.vplan");
    setup
        .project
        .run(&["lock", "--check"])
        .exits(4)
        .says("surplus  git+")
        .tells("1 import too many");
    let json = setup.project.run(&["lock", "--check", "--format", "json"]);
    assert_eq!(json.exits(4).json()["entries"][1]["state"], "surplus");
    setup
        .project
        .run(&["lock", "--locked"])
        .exits(4)
        .tells("vplan::lock::stale");
    assert!(
        setup.project.read(LOCK).contains("other.vplan"),
        "nothing was written"
    );

    let done = setup.project.run(&["lock", "--format", "json"]);
    let json = done.exits(0).json();
    assert_eq!(
        (&json["written"], &json["version"], &json["lock"]),
        (&true.into(), &1.into(), &LOCK.into())
    );
    let states: Vec<&str> = json["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["kept", "removed"]);
    let text = setup.project.read(LOCK);
    assert!(
        text.contains("version 1 // ours\n// about other\n") && !text.contains("other.vplan"),
        "{text}"
    );
    setup.project.run(&["plan", "--all", "--locked"]).exits(0);

    // A recorded answer is nobody's import, and stays.
    let mut lock = setup.read();
    lock.record(RecordedAnswer {
        question: Digest::hash(b"?"),
        proposer: "ask".to_owned(),
        answer: "{}".to_owned(),
    });
    setup.project.write(LOCK, encode(&lock));
    setup.import(&[]);
    setup
        .lock()
        .exits(0)
        .says("removed")
        .says("0 imports, 1 recorded answer");
    assert_eq!(
        (setup.read().imports.len(), setup.read().proposals.len()),
        (0, 1)
    );
}

#[test]
fn without_imports_there_is_no_lock() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project.run(&["lock"]).exits(0).says("0 imports");
    project.run(&["lock", "--check"]).exits(0);
    project.run(&["plan", "--all", "--locked"]).exits(0);
    assert!(!project.exists(LOCK));
    for empty in ["", "// nothing yet\n", "version 1\n"] {
        project.write(LOCK, empty);
        project.run(&["lock"]).exits(0);
        project.run(&["lock", "--check"]).exits(0);
        assert_eq!(project.read(LOCK), empty);
    }
}

#[test]
fn imports_of_imports_are_pinned_too() {
    let setup = Setup::new();
    let inner = setup.origin("deep/other.vplan");
    setup.project.write(
        "../remote/outer.vplan",
        format!("vplan 1\nimport \"{inner}\"\ncheck outer: true\n"),
    );
    let revision = setup.commit_remote();
    setup.import_texts(&[format!("git+{}?rev={revision}#outer.vplan", setup.url())]);
    setup.lock().exits(0).says("2 imports");
    setup.plan().exits(0).says("\"other\"").says("\"outer\"");
}

#[test]
fn a_server_that_gives_branches_only() {
    let setup = Setup::new();
    let old = setup.revision.clone();
    setup
        .project
        .write("../remote/shared.vplan", "vplan 1\ncheck newer: true\n");
    setup.commit_remote();
    // Version 0 of the protocol gives what its branches point to, and nothing behind it.
    setup
        .project
        .write("../home/.gitconfig", "[protocol]\n\tversion = 0\n");
    setup.lock().exits(0);
    setup.plan().exits(0).says("\"shared\"");
    assert_eq!(setup.read().imports[0].origin.revision, old);

    // Nothing can be had of a commit that no branch reaches.
    let nowhere = "1234567890123456789012345678901234567890";
    setup.import_texts(&[format!("git+{}?rev={nowhere}#shared.vplan", setup.url())]);
    setup
        .lock()
        .exits(4)
        .tells("vplan::lock::no_such_commit")
        .tells("git ls-remote");
}

#[test]
fn what_cannot_be_imported() {
    let setup = Setup::new();
    setup
        .project
        .git_in("../remote", &["tag", "-a", "-m", "t", "v1"]);
    let tag = setup.project.git_in("../remote", &["rev-parse", "v1"]);
    let tree = setup
        .project
        .git_in("../remote", &["rev-parse", "HEAD^{tree}"]);
    let blob = setup
        .project
        .git_in("../remote", &["rev-parse", "HEAD:shared.vplan"]);
    let url = setup.url();
    let at = |revision: &str, path: &str| format!("git+{url}?rev={revision}#{path}");
    let here = setup.revision.as_str();
    for (import, code, words) in [
        (at(here, "link.vplan"), "not_a_file", "is a symlink"),
        (at(here, "deep"), "not_a_file", "is a directory"),
        (
            at(here, "none.vplan"),
            "no_such_file",
            "there is no `none.vplan`",
        ),
        (at(here, "link.vplan/x"), "no_such_file", "there is no"),
        (at(here, "*.vplan"), "no_such_file", "there is no"),
        (at(&tag, "shared.vplan"), "not_a_commit", here),
        (at(&tree, "shared.vplan"), "not_a_commit", "is no commit"),
        (at(&blob, "shared.vplan"), "not_a_commit", "is no commit"),
        (
            at(&"1".repeat(40), "shared.vplan"),
            "no_such_commit",
            "has no commit",
        ),
        (
            at(&"1".repeat(64), "shared.vplan"),
            "fetch_failed",
            "cannot be fetched",
        ),
        (
            format!("git+file:///nowhere/at/all?rev={here}#a"),
            "fetch_failed",
            "cannot be fetched",
        ),
        (
            format!("git+file:///etc/passwd?rev={here}#a"),
            "fetch_failed",
            "cannot be fetched",
        ),
    ] {
        setup.import_texts(std::slice::from_ref(&import));
        setup
            .lock()
            .exits(4)
            .tells(&format!("vplan::lock::{code}"))
            .tells(words)
            .tells("vplan::lock::incomplete");
        assert!(!setup.project.exists(LOCK), "{import}");
    }
    setup.import(&["shared.vplan"]);
    setup.project.run(&["lock", "--max-file", "20B"]).exits(3);
    setup.import_texts(&[at(here, "shared.vplan")]);
    setup.project.write("../remote/big.vplan", "#".repeat(3000));
    let big = setup.commit_remote();
    setup.import_texts(&[at(&big, "big.vplan")]);
    setup
        .project
        .run(&["lock", "--max-file", "2KiB"])
        .exits(4)
        .tells("vplan::lock::too_large")
        .tells("--max-file");
}

#[test]
fn a_cache_is_not_believed() {
    let setup = Setup::new();
    setup.lock().exits(0);
    let file = setup.cached(SHARED);
    for tampered in ["vplan 1\ncheck shared: false\n", "", "vplan 1\ncheck share"] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&file, tampered).unwrap();
        setup
            .plan()
            .exits(4)
            .tells("vplan::lock::cache_tampered")
            .tells("`vplan lock` fetches it again");
        setup
            .project
            .run(&["lock", "--check"])
            .exits(4)
            .tells("cache_tampered");
        setup
            .project
            .run(&["lock", "--offline"])
            .exits(4)
            .tells("vplan::lock::offline");
        setup.lock().exits(0);
        setup.plan().exits(0);
    }
    // A pipe that nobody writes to, and a link to something that looks right.
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    setup.plan().exits(4).tells("vplan::lock::cache");
    setup.lock().exits(0);
    setup.project.write("../same", SHARED);
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(setup.project.parent().join("same"), &file).unwrap();
    setup.plan().exits(4).tells("vplan::lock::cache");
    setup.lock().exits(0);
    setup.plan().exits(0);
}

#[test]
fn bytes_that_change_under_their_pin() {
    let setup = Setup::new();
    setup.lock().exits(0);
    let good = setup.project.read(LOCK);
    // Somebody pins other bytes to the same commit, seal and all, and puts them into the cache.
    let other = "vplan 1\ncheck other: false\n";
    let mut lock = setup.read();
    lock.pin(PinnedImport {
        origin: setup.origin("shared.vplan"),
        digest: Digest::hash(other.as_bytes()),
        bytes: other.len() as u64,
    });
    setup.project.write(LOCK, encode(&lock));
    setup.plan().exits(4).tells("not_cached");
    setup
        .lock()
        .exits(4)
        .tells("vplan::lock::changed")
        .tells("but the lock pins");
    assert_eq!(
        setup.project.read(LOCK),
        encode(&lock),
        "nothing is pinned anew behind anybody's back"
    );

    // By hand, without the seal: noticed without a connection and before anything is used.
    let digest = Digest::hash(SHARED.as_bytes()).to_string();
    let forged = good.replace(&digest, &Digest::hash(other.as_bytes()).to_string());
    setup.project.write(LOCK, &forged);
    for args in [
        &["plan", "--all"][..],
        &["lock", "--check"],
        &["lock", "--locked"],
    ] {
        setup
            .project
            .run(args)
            .exits(4)
            .tells("vplan::lock::seal")
            .tells("verify.lock.kdl:3:1");
    }
    setup.lock().exits(0).tells("vplan::lock::seal");
    assert_eq!(setup.project.read(LOCK), good);
}

#[test]
fn locks_with_mistakes() {
    let setup = Setup::new();
    setup.lock().exits(0);
    let good = setup.project.read(LOCK);
    let entry = good.split_once("version 1\n").unwrap().1;
    for (text, code, mended) in [
        (good.replace("version 1", "version 2"), "newer", false),
        (good.replace("version 1\n", ""), "version", true),
        (format!("{good}{entry}"), "duplicate", true),
        (format!("{good}pin \"x\"\n"), "unknown_node", true),
        (good.replace("bytes=", "size="), "unknown_value", true),
        (good.replace("bytes=", ""), "unknown_value", true),
        (good.replace("bytes=", "bytes=x"), "bad_value", true),
        (good.replace("?rev=", "?rev=A"), "bad_value", true),
        (good.replace("import ", "//import "), "commented", true),
        (
            format!("<<<<<<< HEAD\n{entry}=======\n{entry}>>>>>>> theirs\n"),
            "conflict",
            true,
        ),
        (good.replace("version 1", "version 1 {\n}"), "syntax", true),
        (format!("{good}/* no end"), "syntax", true),
        ("a{".repeat(100_000), "syntax", true),
        (
            format!("{}{}", "/*".repeat(100_000), "*/".repeat(100_000)),
            "",
            true,
        ),
        ("a = b\n".repeat(100_000), "too_many", true),
    ] {
        setup.project.write(LOCK, &text);
        let shown: String = text.chars().take(300).collect();
        if !code.is_empty() {
            for args in [
                &["plan", "--all"][..],
                &["lock", "--check"],
                &["run", "--all"],
            ] {
                setup
                    .project
                    .run(args)
                    .exits(4)
                    .tells(&format!("vplan::lock::{code}"))
                    .tells("verify.lock.kdl");
            }
        }
        let ran = setup.lock();
        if mended {
            ran.exits(0);
            setup.project.run(&["lock", "--check"]).exits(0);
            assert_eq!(setup.read().imports.len(), 1, "{shown}");
        } else {
            ran.exits(4).tells("newer vplan");
            assert_eq!(setup.project.read(LOCK), text, "{shown}");
        }
    }
}

#[test]
fn locks_that_are_no_files() {
    let setup = Setup::new();
    setup.lock().exits(0);
    let good = setup.project.read(LOCK);
    let refused = |words: &str| {
        for args in [
            &["plan", "--all"][..],
            &["lock", "--check"],
            &["lock"],
            &["plan", "--all", "--locked"],
        ] {
            setup
                .project
                .run(args)
                .exits(4)
                .tells("vplan::lock::unreadable")
                .tells(words);
        }
        setup.project.remove(LOCK);
    };
    setup.project.write(LOCK, b"version 1\n// \xff\n");
    refused("not UTF-8");
    setup
        .project
        .write(LOCK, format!("{good}{}", "\n".repeat(1 << 20)));
    refused("larger than 1MiB");
    setup.project.remove("../home/.cache");
    for target in ["../../outside.kdl", "/dev/zero", "other.kdl", "nowhere.kdl"] {
        setup
            .project
            .write("../outside.kdl", &good)
            .write("contracts/other.kdl", &good);
        setup.project.symlink(LOCK, target);
        refused("symlink");
    }
    let path = setup.project.path(LOCK);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    refused("no regular file");
    setup.project.mkdir(LOCK);
    refused("no regular file");
}

#[test]
fn a_lock_of_a_revision() {
    let setup = Setup::new();
    setup.lock().exits(0);
    setup.project.commit("pinned");
    setup.project.remove(LOCK);
    setup.plan().exits(4);
    setup
        .project
        .run(&["plan", "--all", "--contract-from", "HEAD"])
        .exits(0);
}

/// On a machine with an empty cache, what a revision pins can be had without checking it out.
#[test]
fn what_a_revision_pins_is_fetched() {
    let setup = Setup::new();
    setup.lock().exits(0);
    setup.project.commit("pinned");
    setup.project.write(CONTRACT, "vplan 1\ncheck own: true\n");
    setup.lock().exits(0).says("removed");
    setup.project.commit("not imported any more");
    setup.project.remove("../home/.cache");
    let (before, from) = (setup.project.read(LOCK), ["--contract-from", "HEAD~1"]);
    let with = |words: &[&str]| setup.project.run(&[words, &from].concat());
    for words in [&["plan", "--all"][..], &["lock", "--check"]] {
        with(words)
            .exits(4)
            .tells("not_cached")
            .tells("`vplan lock --contract-from HEAD~1` fetches it");
    }
    setup
        .project
        .run(&["diff", "--base", "HEAD~1"])
        .exits(4)
        .tells("vplan lock --contract-from");
    setup.lock().exits(0);
    with(&["plan", "--all"]).exits(4);
    with(&["lock", "--offline"])
        .exits(4)
        .tells("vplan::lock::offline");
    let account = with(&["lock", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&account["written"], &account["entries"][0]["state"]),
        (&false.into(), &"kept".into())
    );
    with(&["lock", "--check"]).exits(0);
    with(&["plan", "--all", "--locked"]).exits(0);
    setup.project.run(&["diff", "--base", "HEAD~1"]).exits(45);
    assert_eq!(
        setup.project.read(LOCK),
        before,
        "the lock of the work tree stays as it is"
    );
    for words in [
        &["lock"][..],
        &["lock", "--check"],
        &["plan", "--all", "--locked"],
        &["plan", "--all"],
    ] {
        setup
            .project
            .run(&[words, &["--contract-from", "nope"]].concat())
            .exits(2)
            .tells("unknown_revision");
    }
    // A revision whose lock does not pin what it imports, has mistakes, or is none.
    setup.import(&["shared.vplan", "deep/other.vplan"]);
    setup.project.commit("imported and not pinned");
    setup
        .project
        .run(&["lock", "--contract-from", "HEAD"])
        .exits(4)
        .tells("does not pin");
    setup
        .project
        .write(LOCK, "version 1\nnonsense\n")
        .commit("torn");
    setup
        .project
        .run(&["lock", "--contract-from", "HEAD"])
        .exits(4)
        .tells("vplan::lock::unknown_node");
    assert_eq!(setup.project.read(LOCK), "version 1\nnonsense\n");
}

#[test]
fn two_at_once() {
    let setup = Setup::new();
    setup.import(&["shared.vplan", "deep/other.vplan"]);
    let start = || {
        let run = setup.project.vplan(&["lock"]);
        run.command()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    for _ in 0..3 {
        let _ = std::fs::remove_file(setup.project.path(LOCK));
        let running: Vec<_> = (0..4).map(|_| start()).collect();
        for child in running {
            let output = child.finished();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert_eq!(setup.read().imports.len(), 2);
        assert_eq!(setup.project.read(LOCK), encode(&setup.read()));
        let names = std::fs::read_dir(setup.project.path("contracts"))
            .unwrap()
            .count();
        assert_eq!(names, 2, "nothing else is left");
    }
}

#[test]
fn a_remote_that_hangs() {
    let setup = Setup::new();
    // Connections are accepted by the system, and nobody ever says a word.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for scheme in ["https", "ssh"] {
        setup.import_texts(&[format!(
            "git+{scheme}://127.0.0.1:{port}/x.git?rev={}#a",
            setup.revision
        )]);
        let ran = setup.project.run(&["lock", "--timeout", "1s"]);
        ran.exits(4)
            .tells("vplan::lock::fetch_timed_out")
            .tells("within 1s")
            .tells("--timeout");
        assert_eq!(setup.survivors(), Vec::<String>::new());
        assert!(!setup.project.exists(LOCK));
    }
}

#[test]
fn nothing_is_left_when_vplan_is_killed() {
    let setup = Setup::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    setup.import_texts(&[format!(
        "git+https://127.0.0.1:{port}/x.git?rev={}#a",
        setup.revision
    )]);
    let run = setup.project.vplan(&["lock"]);
    let mut vplan = run
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Git's helper has connected.
    let (_connection, _) = listener.accept().unwrap();
    assert!(
        setup.survivors().iter().any(|p| p.contains("remote-https")),
        "{:?}",
        setup.survivors()
    );
    vplan.kill().unwrap();
    vplan.ended();
    assert!(
        eventually(|| setup.survivors().is_empty()),
        "{:?}",
        setup.survivors()
    );
}

#[test]
fn a_remote_that_is_gone_or_no_git() {
    let setup = Setup::new();
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for scheme in ["https", "ssh"] {
        setup.import_texts(&[format!(
            "git+{scheme}://127.0.0.1:{port}/x.git?rev={}#a",
            setup.revision
        )]);
        setup
            .lock()
            .exits(4)
            .tells("vplan::lock::fetch_failed")
            .tells("cannot be fetched")
            .tells("git ls-remote");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let garbage = std::thread::spawn(move || {
        use std::io::Write as _;
        // Until the test's own connection says that it is over.
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut first = [0];
            if matches!(stream.peek(&mut first), Ok(1)) && first == *b"!" {
                return;
            }
            let _ = stream.write_all(&[0x1b; 4096]);
        }
    });
    for scheme in ["https", "ssh"] {
        setup.import_texts(&[format!(
            "git+{scheme}://127.0.0.1:{port}/x.git?rev={}#a",
            setup.revision
        )]);
        let ran = setup.project.run(&["lock", "--timeout", "30s"]);
        ran.exits(4)
            .tells("vplan::lock::fetch_failed")
            .never_says("\u{1b}");
    }
    std::io::Write::write_all(
        &mut std::net::TcpStream::connect(("127.0.0.1", port)).unwrap(),
        b"!",
    )
    .unwrap();
    garbage.join().unwrap();
    assert_eq!(setup.survivors(), Vec::<String>::new());
}

#[test]
fn nothing_of_the_repository_runs() {
    let setup = Setup::new();
    let trap = setup.project.parent().join("trapped");
    let script = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", trap.display());
    for path in [
        "git",
        "bin/git",
        ".git/hooks/reference-transaction",
        ".git/hooks/post-checkout",
        "askpass",
    ] {
        setup.project.script(path, &script);
    }
    setup
        .project
        .script("../remote/.git/hooks/post-upload-pack", &script);
    let ask = setup.project.path("askpass").display().to_string();
    setup.project.git(&["config", "core.askPass", &ask]);
    setup.project.git(&["config", "core.sshCommand", &ask]);
    setup
        .project
        .git(&["config", "url.ext::sh.insteadOf", "file://"]);
    let path = format!(
        ".:{}:{}",
        setup.project.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let run = setup
        .project
        .vplan(&["lock"])
        .env("PATH", path)
        .env("GIT_ASKPASS", ask.clone())
        .env("GIT_SSH_COMMAND", ask);
    run.run().exits(0);
    assert!(!trap.exists());
}

#[test]
fn bad_flags() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project.run(&["lock", "--timeout", "0s"]).exits(2);
    project.run(&["lock", "--timeout", "soon"]).exits(2);
    project.run(&["lock", "--format", "kdl"]).exits(2);
    project.run(&["lock", "--contract", "../x.vplan"]).exits(2);
    project.run(&["lock", "--contract", "none.vplan"]).exits(3);
    project.write(CONTRACT, "vplan 1\nchek a: true\n");
    project.run(&["lock"]).exits(3).tells("unknown_statement");
    project.run(&["lock", "--check"]).exits(3);
}

/// A contract that imports from the branch `main` of the remote.
fn from_branch(setup: &Setup, files: &[(&str, &str)]) {
    let imports: Vec<String> = files
        .iter()
        .map(|(alias, path)| {
            format!(
                "import \"git+{}?ref=main#{path}\" as {alias}\n",
                setup.url()
            )
        })
        .collect();
    let text = format!("vplan 1\n{}check own: true\n", imports.concat());
    setup.project.write(CONTRACT, text);
}

#[test]
fn a_branch_is_pinned_and_moves_when_it_is_asked_to() {
    let mut setup = Setup::new();
    from_branch(&setup, &[("r", "shared.vplan"), ("o", "deep/other.vplan")]);
    setup.plan().exits(4).tells("vplan::lock::not_pinned");
    setup
        .project
        .run(&["lock", "--offline"])
        .exits(4)
        .tells("vplan::lock::offline");
    let short = setup.revision[..12].to_owned();
    setup
        .lock()
        .exits(0)
        .says(&format!("?ref=main  {short}"))
        .says("2 imports");
    let lock = setup.read();
    assert_eq!(lock.refs.len(), 1, "one commit for both");
    assert_eq!(lock.refs[0].commit, setup.revision);
    assert_eq!(setup.project.read(LOCK), encode(&lock));
    setup.plan().exits(0).says("r/shared").says("o/other");

    // The branch moves; nobody asked.
    let stronger = format!("{SHARED}check more: true\n");
    setup.project.write("../remote/shared.vplan", &stronger);
    let first = std::mem::take(&mut setup.revision);
    setup.revision = setup.commit_remote();
    let pinned = setup.project.read(LOCK);
    setup.lock().exits(0).never_says("moved");
    assert_eq!(setup.project.read(LOCK), pinned);
    setup.plan().exits(0).never_says("r/more");
    // Nothing weakens: it moves, with all that is imported from there.
    let moved = setup.project.run(&["lock", "--update", "r"]);
    moved
        .exits(0)
        .says("moved")
        .says(&format!("{} -> {}", &first[..12], &setup.revision[..12]))
        .says("check `r/more`");
    setup.plan().exits(0).says("r/more");
    let lock = setup.read();
    assert!(
        lock.imports
            .iter()
            .all(|i| i.origin.revision == setup.revision)
    );
    assert_eq!(
        (lock.imports.len(), lock.refs[0].accepted.clone()),
        (2, None)
    );
    setup.project.run(&["lock", "--check"]).exits(0);
    setup
        .project
        .run(&["lock", "--update"])
        .exits(0)
        .never_says("moved");

    // A check is gone: that is shown, and takes a maintainer.
    setup.project.write("../remote/shared.vplan", SHARED);
    setup.revision = setup.commit_remote();
    let pinned = setup.project.read(LOCK);
    let refused = setup.project.run(&["lock", "--update"]);
    refused
        .exits(45)
        .says("check `r/more`: removed")
        .tells("vplan::lock::weaker");
    assert_eq!(setup.project.read(LOCK), pinned, "nothing was written");
    let document = setup.project.run(&["lock", "--update", "--format", "json"]);
    document.exits(45);
    assert_eq!(document.json()["entries"][0]["state"], "moved");
    assert_eq!(document.json()["written"], false);
    let url = setup.url();
    setup
        .project
        .run(&["lock", "--update", &url, "--accept"])
        .exits(0);
    let lock = setup.read();
    assert_eq!(lock.refs[0].commit, setup.revision);
    assert!(
        lock.refs[0].accepted.is_some(),
        "the lock says that it was accepted"
    );
    setup.plan().exits(0).never_says("r/more");
    // Whatever is done next, it stays said.
    setup.lock().exits(0);
    assert_eq!(setup.read(), lock);

    // Another commit, by hand.
    let edited = setup.project.read(LOCK).replace(&setup.revision, &first);
    setup.project.write(LOCK, edited);
    setup.plan().exits(4).tells("vplan::lock::invalid");
    setup
        .project
        .run(&["lock", "--check"])
        .exits(4)
        .tells("vplan::lock::seal");
}

#[test]
fn what_cannot_move() {
    let setup = Setup::new();
    let update = |args: &[&str]| setup.project.run(&[&["lock", "--update"], args].concat());
    // A commit does not move.
    setup.lock().exits(0);
    update(&[]).exits(0);
    update(&["nothing"])
        .exits(2)
        .tells("no import is called `nothing`");
    let origin = setup.origin("shared.vplan").to_string();
    update(&[&origin]).exits(2).tells("which does not move");
    from_branch(&setup, &[("rules", "shared.vplan")]);
    setup.lock().exits(0);
    update(&["rule"]).exits(2).tells("did you mean `rules`?");
    update(&["--locked"]).exits(2).tells("keeps it as it is");
    update(&["--check"]).exits(2);
    update(&["--record"]).exits(2);
    setup.project.run(&["lock", "--accept"]).exits(2);
    update(&["--offline"])
        .exits(4)
        .tells("vplan::lock::offline");
    // The branch is gone, or is a tag too; a tag stands for the commit behind it.
    setup
        .project
        .git_in("../remote", &["tag", "-a", "-m", "one", "v1"]);
    let tagged = |name: &str| {
        let text = format!("git+{}?ref={name}#shared.vplan", setup.url());
        setup.import_texts(&[text]);
        setup.lock()
    };
    tagged("v1").exits(0);
    assert_eq!(setup.read().refs[0].commit, setup.revision);
    assert_eq!(
        setup.read().refs.len(),
        1,
        "what is not imported any more is taken out"
    );
    tagged("v2")
        .exits(4)
        .tells("vplan::lock::no_such_ref")
        .tells("no branch and no tag `v2`");
    setup.project.write("../remote/x", "x");
    setup.commit_remote();
    setup.project.git_in("../remote", &["branch", "v1"]);
    setup.project.remove(LOCK);
    tagged("v1").exits(4).tells("a branch and a tag `v1`");
    tagged("a..b")
        .exits(3)
        .tells("is no name of a branch or tag");
    tagged("main&rev=1").exits(3).tells("either `rev` or `ref`");
    // Two commits of one repository are worth a word.
    let texts = [
        format!("git+{}?ref=main#deep/other.vplan", setup.url()),
        setup.origin("shared.vplan").to_string(),
    ];
    setup.import_texts(&texts);
    setup.lock().exits(0).says("is imported at 2 commits");
    // What a newer contract asks for is missing, what it does not is too many.
    setup.import(&["shared.vplan"]);
    setup
        .project
        .run(&["lock", "--check"])
        .exits(4)
        .says("surplus");
    from_branch(&setup, &[("r", "link.vplan")]);
    setup
        .project
        .run(&["lock", "--check"])
        .exits(4)
        .says("missing");
}
