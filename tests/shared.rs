//! Passes that stand for a step on another machine, end to end: two projects at different places, each with
//! a state of its own, and one store.

use crate::sandbox::seals;
use crate::support::{Project, Ran, SYSTEM_PATH};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A check that only reads, one that makes a file, and one whose toolchain is said.
const CONTRACT: &str = r#"vplan 1

toolchain tool: sh tool.sh

check reads {
  run sh -c 'grep -q ok src/a'
  inputs "src/**"
  sandbox files
  shared
}

check makes {
  run sh -c 'mkdir -p out/bin; cp src/a out/bin/tool; chmod 755 out/bin/tool; echo text > out/text'
  inputs "src/**"
  produces "out/**"
  sandbox sealed
  shared
}
"#;

const PRIVATE: &str = include_str!("keys/private.pem");
const PUBLIC: &str = include_str!("keys/public.pem");
const OTHER: &str = include_str!("keys/other.pem");

/// A store, and the keys.
pub struct Store {
    folder: tempfile::TempDir,
    address: String,
}

impl Store {
    /// Makes one that is a folder.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("private.pem"), PRIVATE).unwrap();
        std::fs::write(path("trust"), format!("{OTHER}{PUBLIC}")).unwrap();
        std::fs::write(path("others"), OTHER).unwrap();
        std::fs::create_dir(path("store")).unwrap();
        let address = format!("folder:{}", path("store").display());
        Self { folder, address }
    }

    /// Makes one at an address.
    pub fn at(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            ..Self::new()
        }
    }

    /// Returns the port of its address.
    #[cfg(feature = "remote")]
    pub fn port(&self) -> u16 {
        let host = self.address.split("://").nth(1).unwrap();
        let host = host.split('/').next().unwrap();
        host.rsplit(':').next().unwrap().parse().unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns the flags that name it.
    pub fn flags(&self) -> Vec<String> {
        let flags = [
            "--cache",
            &self.address,
            "--cache-scope",
            "one",
            "--cache-trust",
        ];
        let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
        flags.push(self.path("trust"));
        flags
    }

    /// Runs all with it.
    pub fn run(&self, project: &Project, more: &[&str]) -> Ran {
        run_with(project, &self.flags(), more)
    }

    /// Runs, and keeps what passes for others.
    pub fn keep(&self, project: &Project) -> Ran {
        project.run(&self.keeping(&[]))
    }

    /// Returns the words of such a run.
    pub fn keeping(&self, more: &[&str]) -> Vec<String> {
        let key = self.path("private.pem");
        words(
            &self.flags(),
            &[&["--cache-write", "--cache-sign", &key], more].concat(),
        )
    }

    /// The files of the store.
    fn files(&self, kind: &str) -> Vec<PathBuf> {
        let folder = self.folder.path().join("store").join(kind);
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn machine() -> Project {
    machine_of(CONTRACT)
}

fn machine_of(contract: &str) -> Project {
    let project = Project::contract(contract).env("PATH", SYSTEM_PATH);
    project
        .write(".gitignore", ".vplan/\nout/\n")
        .write("src/a", "ok\n")
        .write("tool.sh", "echo tool 1\n");
    project.commit("begin");
    project
}

fn words(flags: &[String], more: &[&str]) -> Vec<String> {
    let mut words = ["run", "--all", "--format", "json"]
        .map(str::to_owned)
        .to_vec();
    words.extend(flags.iter().cloned());
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

fn run_with(project: &Project, flags: &[String], more: &[&str]) -> Ran {
    project.run(&words(flags, more))
}

/// Another machine with the same repository, whose umask is another one.
pub fn other_machine() -> Project {
    let project = machine();
    project.mode("src/a", 0o664);
    project
}

/// Two of them, where steps can be confined.
pub fn machines() -> Option<(Project, Project)> {
    let one = machine();
    seals(&one, &[]).then(|| (one, other_machine()))
}

/// `id:status`, in order; `=` behind those that another machine's pass stands for.
pub fn statuses(ran: &Ran) -> String {
    let report = ran.json();
    let steps = report["steps"].as_array().unwrap().iter().map(|step| {
        let (id, status) = (&step["id"], &step["status"]);
        let by = &step["cachedFrom"]["signedBy"];
        let mark = if by.is_string() { "=" } else { "" };
        format!(
            "{}:{}{mark}",
            id.as_str().unwrap(),
            status.as_str().unwrap()
        )
    });
    steps.collect::<Vec<_>>().join(" ")
}

pub fn notes(report: &Value) -> String {
    let list = report["notes"].as_array().cloned().unwrap_or_default();
    let messages = list
        .iter()
        .map(|n| n["message"].as_str().unwrap().to_owned());
    messages.collect::<Vec<_>>().join("\n")
}

pub const SHARED: &str = "reads:cached= makes:cached=";
pub const OWN: &str = "reads:passed makes:passed";

#[test]
fn a_pass_stands_for_a_step_on_another_machine() {
    let Some((one, other)) = machines() else {
        return;
    };
    let store = Store::new();
    // Without a key to sign with, nothing is kept.
    assert_eq!(statuses(store.run(&one, &[]).exits(0)), OWN);
    assert!(store.files("ac").is_empty());
    assert_eq!(statuses(store.run(&other, &["--no-cache"]).exits(0)), OWN);

    let (one, other) = (machine(), other_machine());
    // With this content, and not executable.
    other.write("out/bin/tool", "ok\n");
    assert_eq!(statuses(store.keep(&one).exits(0)), OWN);
    assert_eq!((store.files("ac").len(), store.files("cas").len()), (2, 2));
    let ran = store.run(&other, &[]);
    assert_eq!(statuses(ran.exits(0)), SHARED);
    let report = ran.json();
    let from = &report["steps"][1]["cachedFrom"];
    assert_eq!(from["scope"], "one", "{from}");
    assert_eq!(from["signedBy"].as_str().unwrap().len(), 16, "{from}");
    assert_eq!(
        from["runId"],
        store.run(&one, &[]).json()["steps"][1]["cachedFrom"]["runId"]
    );
    // What it makes is there as if it had run.
    assert_eq!(other.read("out/bin/tool"), "ok\n");
    assert_eq!(other.read("out/text"), "text\n");
    let mode = |path: &str| {
        let metadata = std::fs::metadata(other.path(path)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    assert_eq!((mode("out/bin/tool"), mode("out/text")), (0o755, 0o644));
    // Other users of the store may read it, as far as the umask lets them.
    for path in store.files("ac").into_iter().chain(store.files("cas")) {
        let folder = path.parent().unwrap();
        for (path, wanted) in [(&*path, 0o644), (folder, 0o755)] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, wanted, "{path:?}");
        }
    }
    // Asked for as a fresh run, it runs.
    assert_eq!(statuses(store.run(&other, &["--no-cache"]).exits(0)), OWN);
}

#[test]
fn what_cannot_be_kept_is_said_where_it_is_to_be_kept() {
    let contract = CONTRACT.replace("echo text > out/text", "ln -s bin out/text");
    let project = machine_of(&contract);
    if !seals(&project, &[]) {
        return;
    }
    let store = Store::new();
    let said = |ran: Ran| notes(&ran.exits(0).json());
    let only_read = said(store.run(&project, &["--no-cache"]));
    assert!(!only_read.contains("is not shared"), "{only_read}");
    let key = store.path("private.pem");
    let keep = ["--no-cache", "--cache-write", "--cache-sign", &key];
    let said = said(store.run(&project, &keep));
    assert!(said.contains("a pass of `makes` is not shared"), "{said}");
}

#[test]
fn another_machine_or_other_content_runs_it() {
    let Some((one, _)) = machines() else {
        return;
    };
    let store = Store::new();
    store.keep(&one).exits(0);
    type Change = fn(&Project);
    let changes: [(&str, Change); 5] = [
        ("content", |p| _ = p.write("src/a", "ok too\n")),
        ("a file more", |p| _ = p.write("src/b", "")),
        ("executable", |p| _ = p.mode("src/a", 0o755)),
        ("toolchain", |p| _ = p.write("tool.sh", "echo tool 2\n")),
        // It says the same, and is another command.
        ("what says the toolchain", |p| {
            let other = CONTRACT.replace("sh tool.sh", "echo tool 1");
            p.write("contracts/verify.vplan", other);
        }),
    ];
    for (what, change) in changes {
        let other = other_machine();
        change(&other);
        assert_eq!(statuses(store.run(&other, &[]).exits(0)), OWN, "{what}");
    }
    let other = other_machine();
    let mut flags = store.flags();
    flags[3] = "two".to_owned();
    let ran = run_with(&other, &flags, &[]);
    assert_eq!(statuses(ran.exits(0)), OWN, "another scope");
    // A variable that counts, as seen on that machine.
    let other = other_machine().env("TZ", "Europe/Berlin");
    assert_eq!(statuses(store.run(&other, &[]).exits(0)), OWN, "a variable");
}

#[test]
fn a_variable_that_a_pattern_lets_through_counts() {
    if !seals(&machine(), &[]) {
        return;
    }
    let contract = CONTRACT.replace("  shared\n", "  pass-env KIND BUILD_*\n  shared\n");
    let machine = |name: &str, value: &str| machine_of(&contract).env(name, value);
    let store = Store::new();
    for (name, value, wanted) in [
        ("BUILD_KIND", "release", OWN),
        ("BUILD_KIND", "release", SHARED),
        ("BUILD_KIND", "debug", OWN),
        ("BUILD_MODE", "release", OWN),
        ("KIND", "release", OWN),
        ("KIND", "debug", OWN),
        ("KIND", "release", SHARED),
        // Not asked for.
        ("OTHER", "release", OWN),
        ("OTHER", "debug", SHARED),
    ] {
        let ran = store.keep(&machine(name, value));
        assert_eq!(statuses(ran.exits(0)), wanted, "{name}={value}");
    }
    // What is let through without being named is not known.
    let store = Store::new();
    let key = store.path("private.pem");
    let keep = ["--inherit-env", "--cache-write", "--cache-sign", &key];
    let ran = store.run(&machine("BUILD_KIND", "release"), &keep);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(said.contains("inherits variables"), "{said}");
    assert!(store.files("ac").is_empty());
}

#[test]
fn what_is_not_signed_by_a_trusted_key_is_not_believed() {
    let Some((one, _)) = machines() else {
        return;
    };
    let store = Store::new();
    store.keep(&one).exits(0);
    let passes: Vec<(PathBuf, Vec<u8>)> = store
        .files("ac")
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    let runs_all = |why: &str| {
        let ran = store.run(&other_machine(), &[]);
        assert_eq!(statuses(ran.exits(0)), OWN, "{why}");
        notes(&ran.json())
    };
    let swap = |change: &dyn Fn(&[u8]) -> Vec<u8>| {
        for (path, bytes) in &passes {
            std::fs::write(path, change(bytes)).unwrap();
        }
    };
    swap(&|bytes| {
        let body = bytes.split(|b| *b == b'\n').next().unwrap();
        [body, b"\n"].concat()
    });
    let said = runs_all("unsigned");
    assert!(said.contains("is not believed: it is not signed"), "{said}");
    swap(&|bytes| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.replace("\"tests\"", "\"TESTS\"")
            .replacen("exitCode\":0", "exitCode\":1", 1)
            .into_bytes()
    });
    let said = runs_all("another text");
    assert!(
        said.contains("its signature is not one of this text"),
        "{said}"
    );
    // The pass of another step, signed well.
    std::fs::write(&passes[0].0, &passes[1].1).unwrap();
    std::fs::write(&passes[1].0, &passes[0].1).unwrap();
    let said = runs_all("the pass of another key");
    assert!(said.contains("it is no pass of this key"), "{said}");
    for cut in [0, 1, 100] {
        swap(&|bytes| bytes[..bytes.len() - 1 - cut].to_vec());
        runs_all("cut off");
    }
    swap(&|_| Vec::new());
    runs_all("empty");
    swap(&|bytes| bytes.to_vec());
    let mut flags = store.flags();
    *flags.last_mut().unwrap() = store.path("others");
    let ran = run_with(&other_machine(), &flags, &[]);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(said.contains("that signed it is not trusted"), "{said}");
    // As it was, it is believed.
    assert_eq!(statuses(store.run(&other_machine(), &[]).exits(0)), SHARED);
}

#[test]
fn what_it_makes_is_whole_or_it_runs() {
    let Some((one, _)) = machines() else {
        return;
    };
    let store = Store::new();
    store.keep(&one).exits(0);
    let half = "reads:cached= makes:passed";
    let contents = store.files("cas");
    for path in &contents {
        let bytes = std::fs::read(path).unwrap();
        for other in [Some(b"".to_vec()), Some(b"xx\n".to_vec()), None] {
            match other {
                Some(other) => std::fs::write(path, other).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
            let machine = other_machine();
            assert_eq!(statuses(store.run(&machine, &[]).exits(0)), half);
            assert_eq!(machine.read("out/text"), "text\n");
        }
        std::fs::write(path, bytes).unwrap();
    }
    // A link in the store leads nowhere.
    let kept = std::fs::read(&contents[0]).unwrap();
    std::fs::remove_file(&contents[0]).unwrap();
    let outside = store.folder.path().join("copy");
    std::fs::write(&outside, kept).unwrap();
    std::os::unix::fs::symlink(&outside, &contents[0]).unwrap();
    assert_eq!(statuses(store.run(&other_machine(), &[]).exits(0)), half);
}

#[test]
fn a_store_that_fails_changes_no_verdict() {
    let Some((one, other)) = machines() else {
        return;
    };
    let store = Store::new();
    store.keep(&one).exits(0);
    // It is gone, and the trusted keys are.
    let gone = Store::at(&format!("{}/none", store.address));
    let ran = gone.run(&other, &[]);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(said.contains("passes are not shared"), "{said}");
    let other = other_machine();
    let args = [
        "run",
        "--all",
        "--format",
        "json",
        "--cache",
        &store.address,
        "--cache-scope",
        "one",
    ];
    let ran = other.run(&args);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(said.contains("`~/.config/vplan/trust`"), "{said}");
    // The user's own keys.
    let home = other.parent().join("home/.config/vplan");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("trust"), PUBLIC).unwrap();
    let other = other_machine();
    let home = other.parent().join("home/.config/vplan");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("trust"), PUBLIC).unwrap();
    assert_eq!(statuses(other.run(&args).exits(0)), SHARED);
}

#[test]
fn what_is_confirmed_is_compared_with_passes_of_other_machines() {
    let one = machine();
    if !seals(&one, &[]) {
        return;
    }
    // What it makes depends on what is not in the key: the operator's promise is broken.
    let unsteady = CONTRACT.replace("echo text >", "cat /proc/sys/kernel/random/uuid >");
    let store = Store::new();
    store.keep(&machine_of(&unsteady)).exits(0);
    let other = machine_of(&unsteady);
    let ran = store.run(&other, &["--confirm"]);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(
        said.contains(", signed by ") && said.contains("it made another `out/text`"),
        "{said}"
    );
    let report = ran.json();
    let steps = report["steps"].as_array().unwrap();
    assert!(steps[0]["confirmation"]["runId"].is_string(), "{report}");
    assert!(steps[0]["confirmation"]["difference"].is_null());
    assert_eq!(
        steps[1]["confirmation"]["difference"],
        "it made another `out/text`"
    );
}

#[test]
fn a_toolchain_is_asked_again_once_it_may_have_changed() {
    if !seals(&machine(), &[]) {
        return;
    }
    let contract = r#"vplan 1

toolchain tool: cat out/version

limits {
  jobs 1
}

check early {
  run true
  inputs "src/a"
  sandbox files
  shared
}

check install {
  run sh -c 'cp src/version out/version'
}

check late {
  run true
  inputs "src/a"
  sandbox files
  shared
}
"#;
    let machine = |version: &str| {
        let project = machine_of(contract);
        project.write("src/version", version);
        project.write("out/version", "1");
        project
    };
    let store = Store::new();
    let keep = |version| statuses(store.keep(&machine(version)).exits(0));
    assert_eq!(keep("2"), "early:passed install:passed late:passed");
    assert_eq!(keep("3"), "early:cached= install:passed late:passed");
    assert_eq!(keep("2"), "early:cached= install:passed late:cached=");
}

#[test]
fn a_toolchain_that_changes_while_a_step_runs_is_not_shared() {
    if !seals(&machine(), &[]) {
        return;
    }
    // One waits for the other: the toolchain is asked, then it changes, then the step ends.
    let contract = r#"vplan 1

toolchain tool: sh -c 'cat out/version; touch out/asked'

limits {
  jobs 2
}

check steady {
  run sh -c 'until test -e out/changed; do sleep 0.01; done'
  inputs "src/a"
  sandbox files
  shared
}

check changes {
  run sh -c 'until test -e out/asked; do sleep 0.01; done; cp src/a out/version; touch out/changed'
}
"#;
    let project = machine_of(contract);
    project.write("out/version", "1");
    let store = Store::new();
    let ran = store.keep(&project);
    assert_eq!(statuses(ran.exits(0)), "steady:passed changes:passed");
    let said = notes(&ran.json());
    assert!(said.contains("changed while it ran"), "{said}");
    assert!(store.files("ac").is_empty());
}

#[test]
fn what_a_later_step_makes_doubtful_is_not_shared() {
    if !seals(&machine(), &[]) {
        return;
    }
    let contract = format!(
        "{CONTRACT}\ncheck spoils {{\n  run sh -c 'echo changed > src/a'\n}}\n\nsequence reads -> makes -> spoils\n"
    );
    let store = Store::new();
    store.keep(&machine_of(&contract)).exits(44);
    assert!(store.files("ac").is_empty());
}

#[test]
fn a_granted_secret_is_not_shared() {
    let one = machine();
    if !seals(&one, &[]) {
        return;
    }
    let contract = CONTRACT.replacen("  shared\n", "  pass-env MY_TOKEN\n  shared\n", 1);
    let machine = |secret: &str| {
        let project = machine().env("MY_TOKEN", secret);
        project.write("contracts/verify.vplan", &contract);
        project.commit("token");
        project
    };
    let store = Store::new();
    let key = store.path("private.pem");
    let keep = [
        "--grant-env",
        "MY_TOKEN",
        "--cache-write",
        "--cache-sign",
        &key,
    ];
    let ran = store.run(&machine("a secret value"), &keep);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(
        said.contains("a pass of `reads` is not shared: it was granted a secret"),
        "{said}"
    );
    assert_eq!(store.files("ac").len(), 1);
    for path in store.files("ac").into_iter().chain(store.files("cas")) {
        let kept = std::fs::read(path).unwrap();
        assert!(!kept.windows(14).any(|w| w == b"a secret value"));
    }
}

#[test]
fn a_toolchain_that_does_not_answer_is_not_shared() {
    let one = machine();
    if !seals(&one, &[]) {
        return;
    }
    one.write("tool.sh", "echo no; exit 3\n");
    let store = Store::new();
    let ran = store.keep(&one);
    assert_eq!(statuses(ran.exits(0)), OWN);
    let said = notes(&ran.json());
    assert!(
        said.contains("toolchain `tool`: it ended with exit code 3"),
        "{said}"
    );
    assert!(store.files("ac").is_empty());
}

#[test]
fn what_contradicts_itself_is_refused_before_anything_runs() {
    let project = machine();
    let store = Store::new();
    let inside = format!("folder:{}", project.path("store").display());
    let socket = format!("unix:{}", project.path("socket").display());
    let own_trust = project.path("trust");
    std::fs::write(&own_trust, PUBLIC).unwrap();
    let own_trust = own_trust.to_str().unwrap();
    let none = store.path("none");
    let scope = ["--cache-scope", "one"];
    let cases: [(&[&str], i32, &str); 14] = [
        (&["--cache", &store.address], 2, "needs `--cache-scope`"),
        (
            &["--cache", "ftp://host/x", scope[0], scope[1]],
            2,
            "names no store",
        ),
        (
            &["--cache", "folder:store", scope[0], scope[1]],
            2,
            "is no absolute path",
        ),
        (
            &["--cache", &inside, scope[0], scope[1]],
            2,
            "is in the repository",
        ),
        (
            &["--cache", "unix:socket", scope[0], scope[1]],
            2,
            "is no absolute path",
        ),
        (
            &["--cache", &socket, scope[0], scope[1]],
            2,
            "is in the repository",
        ),
        (
            &["--cache", "http://example.com/x", scope[0], scope[1]],
            2,
            "--cache-insecure",
        ),
        (
            &[
                "--cache",
                "https://me:secret@example.com/x",
                scope[0],
                scope[1],
            ],
            2,
            "holds a name or a password",
        ),
        (
            &[
                "--cache",
                &store.address,
                scope[0],
                scope[1],
                "--cache-trust",
                own_trust,
            ],
            2,
            "whose keys are to be trusted, is in the repository",
        ),
        (
            &[
                "--cache",
                &store.address,
                scope[0],
                scope[1],
                "--cache-trust",
                &none,
            ],
            5,
            "vplan::cache::key_unreadable",
        ),
        (&["--cache-write"], 2, "--cache-sign"),
        (
            &["--cache-trust", &none],
            2,
            "`--cache-trust` needs a store",
        ),
        (
            &["--cache", "http:///x", scope[0], scope[1]],
            2,
            "is no host",
        ),
        (
            &[
                "--cache",
                "https://example.com/x?me:secret",
                scope[0],
                scope[1],
            ],
            2,
            "is no host, perhaps with a path",
        ),
    ];
    for (flags, exit, text) in cases {
        let ran = project.run(&[&["run", "--all"], flags].concat());
        ran.exits(exit).warns(text).never_says("me:secret");
    }
    assert!(!project.exists(".vplan"), "a run was begun");
    // What is staged is verified elsewhere; the work tree is the repository still.
    project.write("staged", "").git(&["add", "staged"]);
    let own = cases
        .iter()
        .filter(|(.., text)| text.ends_with("in the repository"));
    for (flags, exit, text) in own {
        let ran = project.run(&[&["run", "--staged"], *flags].concat());
        ran.exits(*exit).warns(text);
    }
    let project = machine().env("VPLAN_CACHE", "ftp://host");
    project
        .run(&["run", "--all"])
        .exits(2)
        .warns("names no store");
}

#[test]
fn a_comparison_says_what_a_shared_pass_rests_on() {
    let project = machine();
    let text = CONTRACT.to_owned();
    project.write("old", &text);
    for (from, to, said) in [
        ("toolchain tool: sh tool.sh\n", "", "toolchain"),
        ("sh tool.sh", "true", "toolchain"),
        ("  sandbox files\n  shared\n", "  sandbox files\n", "shared"),
    ] {
        project.write("new", text.replacen(from, to, 1));
        let ran = project.run(&["diff", "old", "new"]);
        assert!(ran.out().contains(said), "{from:?}: {}", ran.out());
    }
}

#[test]
fn a_contract_says_what_a_shared_pass_rests_on() {
    let check = |lines: &str| {
        let text = format!(
            "vplan 1\ntoolchain sh: sh --version\ncheck a {{\n  run true\n{lines}  shared\n}}\n"
        );
        Project::contract(&text).run(&["check"])
    };
    check("  inputs \"src/**\"\n  sandbox files\n").exits(0);
    check("  inputs \"src/**\"\n  produces \"out/**\"\n  sandbox sealed\n").exits(0);
    check("").exits(3).warns("shared_without_inputs");
    check("  inputs \"src/**\"\n")
        .exits(3)
        .warns("shared_without_sandbox")
        .warns("sandbox files");
    check("  inputs \"src/**\"\n  sandbox guard\n")
        .exits(3)
        .warns("shared_without_sandbox");
    check("  inputs \"src/**\"\n  produces \"out/**\"\n  sandbox files\n")
        .exits(3)
        .warns("shared_without_sandbox")
        .warns("sandbox sealed");
    let run = |text: &str| Project::contract(text).run(&["check"]);
    let shared = "check a {\n  run true\n  inputs \"src/**\"\n  sandbox files\n  shared\n}\n";
    run(&format!("vplan 1\n{shared}"))
        .exits(0)
        .warns("shared_without_toolchain");
    for (line, text) in [
        ("toolchain sh", "`: COMMAND`"),
        ("toolchain sh {", "toolchain"),
        ("toolchain sh:", "the command is missing"),
        ("toolchain sh: sh | cat", "shell"),
        ("toolchain sh: sh {changed}", "gets no files as arguments"),
        ("toolchain sh: sh\ntoolchain sh: sh", "two toolchains `sh`"),
    ] {
        run(&format!("vplan 1\n{line}\n{shared}"))
            .exits(3)
            .warns(text);
    }
    let importing = Project::contract("vplan 1\nimport \"other.vplan\" as other\n");
    importing.write(
        "contracts/other.vplan",
        format!("vplan 1\ntoolchain sh: sh --version\n{shared}"),
    );
    importing
        .run(&["check"])
        .exits(3)
        .warns("toolchain_imported");
}
