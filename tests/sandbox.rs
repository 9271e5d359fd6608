//! What a confined step, and a confined fixer, can do and cannot: each act is tried in a real one, as
//! root and as another user, and where the system itself is confined.

use crate::support::{Project, Ran};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;
use vplan::check::confine::{NetworkUse, SandboxLevel};

/// Tries acts, and says of each whether it was done, or the name of the error.
const ACTS: &str = r#"
import ctypes, errno, os, resource, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def act(name, do):
    try:
        do()
        print("act", name, "done")
    except OSError as error:
        print("act", name, errno.errorcode.get(error.errno, error.errno))
    sys.stdout.flush()
def call(*words):
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "")
def write(path):
    with open(path, "a") as file:
        file.write("x")
def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
supervisor = os.getppid()
vplan = parent(supervisor)
home, state = os.environ["HOME"], os.environ["HOME"] + "/state"
act("read-home", lambda: open(home + "/secret").read())
act("stat-outside", lambda: os.stat("../outside"))
act("chmod-outside", lambda: os.chmod("../outside", 0o600))
act("write-outside", lambda: write("../outside"))
act("make-outside", lambda: write("../made"))
act("remove-outside", lambda: os.remove("../outside"))
act("write-home", lambda: write(home + "/.bashrc"))
act("write-tmp", lambda: write(os.environ["HOME"] + "/../other-tmp"))
act("write-own-tmp", lambda: write(os.environ.get("TMPDIR", home) + "/x"))
act("write-vplan", lambda: (write(sys.argv[1] + ".forged"), os.remove(sys.argv[1] + ".forged")))
act("write-hooks", lambda: write(".git/hooks/pre-commit"))
act("commit", lambda: write(".git/index.lock"))
act("write-records", lambda: write(".vplan/x"))
act("write-state", lambda: write(state + "/x"))
guarded = sys.argv[3] == "guarded"
if guarded and vplan > 0:
    # Where these succeed, vplan cannot go on.
    act("write-contract", lambda: write("contracts/verify.vplan"))
    act("truncate-contract", lambda: os.truncate("contracts/verify.vplan", 0))
    act("limit-vplan", lambda: resource.prlimit(vplan, resource.RLIMIT_FSIZE, (0, 0)))
act("write-source", lambda: write("src/a"))
act("write-declared", lambda: write("out/x"))
act("make-declared", lambda: (os.makedirs("out/a/b", exist_ok=True), write("out/a/b/c"), os.rename("out/a/b/c", "out/c")))
act("move-source", lambda: os.rename("src/a", "out/a-moved"))
act("link-source", lambda: os.link("src/a", "out/a-linked"))
act("signal-vplan", lambda: os.kill(vplan, 0))
act("signal-supervisor", lambda: os.kill(supervisor, 0))
act("memory-of-vplan", lambda: os.close(os.open(f"/proc/{vplan}/mem", os.O_RDWR)))
act("memory-of-supervisor", lambda: os.close(os.open(f"/proc/{supervisor}/mem", os.O_RDWR)))
act("environ-of-vplan", lambda: open(f"/proc/{vplan}/environ").read())
act("trace-vplan", lambda: call(101, 16, vplan, 0, 0))
def take():
    pidfd = libc.syscall(434, supervisor, 0)
    if pidfd < 0:
        raise OSError(ctypes.get_errno(), "")
    call(438, pidfd, 0, 0)
act("take-descriptor", take)
act("read-own-limit", lambda: resource.prlimit(0, resource.RLIMIT_FSIZE))
act("priority-of-vplan", lambda: os.setpriority(os.PRIO_PROCESS, vplan, 19))
act("own-priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
act("mount", lambda: call(165, b"none", b"/mnt", b"tmpfs", 0, 0))
act("socket-tcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
act("socket-udp", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close())
act("socket-netlink", lambda: socket.socket(16, socket.SOCK_RAW, 0).close())
def pathname():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("../socket")
act("socket-with-a-path", pathname)
def abstract():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + sys.argv[2])
act("socket-with-a-name", abstract)
act("socket-of-a-host", lambda: socket.socket(40, socket.SOCK_STREAM).close())
def reach(address):
    with socket.socket() as one:
        one.settimeout(20)
        one.connect(address)
act("connect-outside", lambda: reach(("127.0.0.1", int(sys.argv[4]))))
def serve():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        reach(server.getsockname())
act("own-server", serve)
def enter(pid):
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    call(308, fd, 0x40000000)
act("enter-network-of-all", lambda: enter(1))
act("enter-network-of-supervisor", lambda: enter(supervisor))
act("connect-outside-at-last", lambda: reach(("127.0.0.1", int(sys.argv[4]))))
def by(path, flags=os.O_RDONLY, **at):
    os.close(os.open(path, flags, **at))
here = os.getcwd()
act("stat-undeclared", lambda: (os.stat("src/b"), os.access("src/b", os.R_OK)))
act("list-repository", lambda: (os.listdir("."), os.listdir("src"), os.listdir("closed")))
act("read-declared", lambda: (open("acts.py").read(), open("src/c").read(), open("src/link").read()))
act("read-own-output", lambda: (open("out/there").read(), write("out/new"), open("out/new").read()))
act("read-toolchain", lambda: (open("/etc/passwd").read(), by(sys.executable), os.listdir("/usr/bin")))
act("read-own-tmp", lambda: open(os.environ.get("TMPDIR", home) + "/x", "a+").read())
act("read-named", lambda: (open(home + "/named/x").read(), os.listdir(home + "/named")))
act("write-named", lambda: write(home + "/named/x"))
act("read-devices", lambda: (open("/dev/null").read(), by("/dev/urandom"), open("/proc/self/status").read(), open("/proc/meminfo").read()))
act("read-keys", lambda: open(home + "/.ssh/id").read())
act("list-home", lambda: os.listdir(home))
act("list-above", lambda: os.listdir(".."))
act("read-outside", lambda: open("../other-outside").read())
act("read-undeclared", lambda: open("src/b").read())
act("read-excluded", lambda: open("src/deep/left-out").read())
act("read-secrets", lambda: open(".env").read())
act("read-other-output", lambda: open("other/x").read())
act("read-contract", lambda: open("contracts/verify.vplan").read())
act("read-git", lambda: open(".git/config").read())
act("read-nested-git", lambda: open("whole/nested/.git/config").read())
act("read-nested", lambda: open("whole/nested/a").read())
act("read-over-link", lambda: open("src/link-to-b").read())
act("read-over-own-link", lambda: (os.symlink("../src/b", "out/own-link"), open("out/own-link").read()))
act("read-over-root", lambda: open("/proc/self/root" + here + "/src/b").read())
act("read-over-cwd", lambda: open("/proc/self/cwd/src/b").read())
act("read-over-supervisor", lambda: open(f"/proc/{supervisor}/root{here}/src/b").read())
act("read-over-descriptor", lambda: by("/proc/self/fd/%d" % os.open("src/b", os.O_PATH)))
act("read-from-above", lambda: by("other-outside", dir_fd=os.open("..", os.O_PATH)))
act("read-with-writing", lambda: by("src/b", os.O_RDWR))
act("execute-undeclared", lambda: os.waitpid(os.posix_spawn("closed/tool", ["tool"], {}), 0))
def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    call(303, -100, b"src/b", handle, ctypes.byref(mount), 0)
    call(304, os.open(".", os.O_RDONLY), handle, 0)
act("read-by-handle", by_handle)
def moved(a, b):
    os.rename(a, b)
    open(b).read()
act("read-moved", lambda: moved("gen/secret", "gen/renamed"))
act("move-to-read", lambda: moved("gen/second", "out/second"))
act("move-folder-to-read", lambda: (os.rename("gen/folder", "out/folder"), open("out/folder/x").read()))
act("move-to-tmp", lambda: moved("gen/third", os.environ.get("TMPDIR", "out") + "/third"))
act("link-to-read", lambda: (os.link("gen/fourth", "out/fourth"), open("out/fourth").read()))
def exchanged():
    call(316, -100, b"gen/fifth", -100, b"out/exchanged", 2)
    open("out/exchanged").read()
act("exchange-to-read", exchanged)
act("io-uring", lambda: call(425, 1, ctypes.create_string_buffer(256)))
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print("act no-new-privileges", status["NoNewPrivs"].strip())
print("act capabilities", (int(status["CapEff"], 16) | int(status["CapPrm"], 16)) & ~0xdb == 0 or status["CapEff"])
"#;

fn project(settings: &str, name: &str, port: u16) -> Project {
    let vplan = env!("CARGO_BIN_EXE_vplan");
    let project = Project::contract(&format!(
        "vplan 1\ncheck acts {{\n  run python3 -I acts.py {vplan} {name} {} {port}\n  writes \"out/**\" \"gen/made\"\n  pass-env HOME\n{settings}}}\n",
        if settings.contains("sandbox") {
            "guarded"
        } else {
            "free"
        }
    ));
    project
        .write(".gitignore", "out/\ngen/\nother/\n.env\nwhole/\n.vplan/\n")
        .write("acts.py", ACTS)
        .write("src/a", "a\n")
        .write("src/b", "b\n")
        .write("src/c", "c\n")
        .write("src/deep/left-out", "b\n")
        .write("out/there", "x\n")
        .write("out/exchanged", "x\n")
        .write("other/x", "x\n")
        .write(".env", "SECRET=1\n")
        .write("whole/nested/a", "a\n")
        .write("../outside", "outside\n")
        .write("../other-outside", "outside\n")
        .write("../home/.ssh/id", "secret\n")
        .write("../home/named/x", "x\n")
        .write("../home/secret", "secret\n");
    for name in ["secret", "second", "folder/x", "third", "fourth", "fifth"] {
        project.write(format!("gen/{name}"), "secret\n");
    }
    project
        .script("closed/tool", "#!/bin/sh\n")
        .symlink("src/link", "c")
        .symlink("src/link-to-b", "b");
    project.git(&["init", "-q", "whole/nested"]);
    project.commit("begin");
    project
}

const USER: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// Ways to start vplan: how they are called, and the words before its own.
pub fn launchers() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all = vec![("as this user", vec![])];
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: a sandbox as root, and as another user: it needs root");
        return all;
    }
    all.push(("as another user", USER.to_vec()));
    let spaces = [&USER[..], &["unshare", "--user", "--map-root-user"]].concat();
    let tried = Command::new(spaces[0])
        .args(&spaces[1..])
        .arg("true")
        .status();
    if tried.is_ok_and(|status| status.success()) {
        all.push(("in a user namespace", spaces));
    } else {
        eprintln!("SKIPPED: a sandbox in a user namespace: there are none here");
    }
    all
}

/// Gives a project to the user of a launcher.
pub fn give(project: &Project, launcher: &[&str]) {
    if launcher.first() == USER.first() {
        let owned = Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(project.parent())
            .status();
        assert!(owned.unwrap().success());
    }
}

fn acts(ran: &Ran) -> BTreeMap<String, String> {
    let out = ran.out();
    let acts = out.lines().filter_map(|line| line.strip_prefix("act "));
    let acts = acts.filter_map(|line| line.split_once(' '));
    acts.map(|(name, what)| (name.to_owned(), what.to_owned()))
        .collect()
}

/// Whether this system has what `guard` needs; the test says that it is skipped.
pub fn guards(project: &Project) -> bool {
    let tried = project.run(&["audit", "--machine", "--require", "guard"]);
    if tried.exit != Some(0) {
        eprintln!("SKIPPED: a sandbox: {}", tried.out());
    }
    tried.exit == Some(0)
}

fn is_refused(what: &str) -> bool {
    ["EACCES", "EPERM", "EXDEV", "EROFS"].contains(&what)
}

#[test]
fn each_act_at_each_level() {
    let name = format!("vplan-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _named = UnixListener::bind_addr(&address).unwrap();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let all = SandboxLevel::ALL.map(|level| NetworkUse::ALL.map(|network| (level, network)));
    for (level, network) in all.into_iter().flatten() {
        let mut settings = match level {
            SandboxLevel::None => String::new(),
            level => format!("  sandbox {}\n", level.name()),
        };
        if level >= SandboxLevel::Files {
            settings += "  inputs \"acts.py\" \"src/**\" \"whole/**\" \"!src/{b,deep/left-out}\"\n  reads \"~/named\"\n";
        }
        settings += &format!("  network {}\n", network.name());
        for (who, launcher) in launchers() {
            let project = project(&settings, &name, port);
            if !guards(&project) {
                return;
            }
            if level == SandboxLevel::Sealed && !seals(&project, &launcher) {
                continue;
            }
            let _listener = UnixListener::bind(project.parent().join("socket")).unwrap();
            give(&project, &launcher);
            let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
            let ran = launched(&["run", "--all", "-q"]);
            let log = launched(&["log", "acts"]);
            let acts = acts(&log);
            assert!(acts.len() > 75, "{who}: {}\n{}", ran.err(), log.out());
            let context = format!("{who}, {settings}{acts:#?}");
            match level {
                SandboxLevel::Sealed => {
                    judge_sealed(&acts, network, &context);
                    // Where the repository is in `/tmp`, what is around it is its own.
                    assert_eq!(project.read("../outside"), "outside\n", "{context}");
                    for made in ["../made", "../other-tmp", "../home/.bashrc"] {
                        assert!(!project.path(made).exists(), "{made}: {context}");
                    }
                }
                level => judge(&acts, level, network, &context),
            }
        }
    }
}

/// Whether this system can seal a step of a launcher; the test says that it is skipped.
pub fn seals(project: &Project, launcher: &[&str]) -> bool {
    let tried = project.vplan(&["audit", "--machine", "--require", "sealed"]);
    let tried = tried.under(launcher).run();
    if tried.exit != Some(0) {
        eprintln!("SKIPPED: sandbox sealed: {}", tried.out());
    }
    tried.exit == Some(0)
}

/// Whether nothing was there for a sealed step but what it declares.
fn judge_sealed(acts: &BTreeMap<String, String>, network: NetworkUse, context: &str) {
    for done in [
        "write-declared",
        "make-declared",
        "write-own-tmp",
        "read-own-limit",
        "socket-netlink",
        "read-declared",
        "read-toolchain",
        "read-own-tmp",
        "read-named",
        "read-devices",
        "read-nested",
    ] {
        assert_eq!(acts[done], "done", "{done}: {context}");
    }
    // What was in its folders before is not there either.
    for absent in [
        "read-home",
        "read-keys",
        "stat-outside",
        "chmod-outside",
        "stat-undeclared",
        "read-outside",
        "read-undeclared",
        "read-excluded",
        "read-secrets",
        "read-other-output",
        "read-own-output",
        "read-contract",
        "read-git",
        "read-nested-git",
        "read-over-link",
        "read-over-own-link",
        "read-over-root",
        "read-over-cwd",
        "read-over-supervisor",
        "read-over-descriptor",
        "read-from-above",
        "read-by-handle",
        "read-moved",
        "move-to-read",
        "move-folder-to-read",
        "move-to-tmp",
        "link-to-read",
        "exchange-to-read",
        "execute-undeclared",
        "write-hooks",
        "socket-with-a-path",
    ] {
        let what = &*acts[absent];
        let is_gone = ["ENOENT", "EACCES", "EPERM", "EXDEV"].contains(&what);
        assert!(is_gone, "{absent}: {context}");
    }
    for never in [
        "write-vplan",
        "write-state",
        "write-records",
        "commit",
        "write-source",
        "move-source",
        "link-source",
        "write-named",
        "signal-supervisor",
        "memory-of-supervisor",
        "memory-of-vplan",
        "environ-of-vplan",
        "trace-vplan",
        "take-descriptor",
        "mount",
        "enter-network-of-all",
        "enter-network-of-supervisor",
    ] {
        assert_ne!(acts[never], "done", "{never}: {context}");
    }
    let off = network == NetworkUse::Off;
    for by_network in ["socket-tcp", "socket-udp"] {
        assert_eq!(
            is_refused(&acts[by_network]),
            off,
            "{by_network}: {context}"
        );
    }
    let named = if network == NetworkUse::On {
        "EPERM"
    } else {
        "ECONNREFUSED"
    };
    assert_eq!(acts["socket-with-a-name"], named, "{context}");
    let reached = match network {
        NetworkUse::On => "done",
        NetworkUse::Loopback => "ECONNREFUSED",
        NetworkUse::Off => "EACCES",
    };
    assert_eq!(acts["connect-outside"], reached, "{context}");
    assert_eq!(acts["own-server"] == "done", !off, "{context}");
    assert_eq!(acts["capabilities"], "True", "{context}");
    assert_eq!(acts["no-new-privileges"], "1", "{context}");
}

/// Whether of what a step did everything was refused that should be, and nothing else.
fn judge(acts: &BTreeMap<String, String>, level: SandboxLevel, network: NetworkUse, context: &str) {
    let guard = level >= SandboxLevel::Guard;
    let done = |name: &str| acts.get(name).is_some_and(|what| what == "done");
    let refused = |name: &str| acts.get(name).is_some_and(|what| is_refused(what));
    let off = network == NetworkUse::Off;
    let restricted = network != NetworkUse::On;
    judge_reads(acts, level, context);
    for always in [
        "stat-outside",
        "chmod-outside",
        "write-declared",
        "make-declared",
        "read-own-limit",
        "own-priority",
        "socket-with-a-path",
        "socket-netlink",
    ] {
        assert!(done(always), "{always}: {context}");
    }
    for never in [
        "memory-of-vplan",
        "memory-of-supervisor",
        "trace-vplan",
        "take-descriptor",
    ] {
        assert!(refused(never), "{never}: {context}");
    }
    for by_guard in [
        "write-outside",
        "make-outside",
        "remove-outside",
        "write-home",
        "write-tmp",
        "write-hooks",
        "commit",
        "write-records",
        "write-source",
        "link-source",
        "signal-vplan",
        "signal-supervisor",
    ] {
        assert_eq!(refused(by_guard), guard, "{by_guard}: {context}");
    }
    // Root without its capabilities has no power over the priority of a root that has them.
    if guard || !restricted {
        assert_eq!(refused("priority-of-vplan"), guard, "{context}");
    }
    let named = match (guard, network) {
        (_, NetworkUse::Loopback) => "ECONNREFUSED",
        (true, _) => "EPERM",
        (false, _) => "done",
    };
    assert_eq!(acts["socket-with-a-name"], named, "{context}");
    for by_network in ["socket-tcp", "socket-udp"] {
        assert_eq!(refused(by_network), off, "{by_network}: {context}");
    }
    let reached = match network {
        NetworkUse::On => "done",
        NetworkUse::Loopback => "ECONNREFUSED",
        NetworkUse::Off => "EACCES",
    };
    assert_eq!(acts["connect-outside"], reached, "{context}");
    assert_eq!(acts["connect-outside-at-last"], reached, "{context}");
    assert_eq!(done("own-server"), !off, "{context}");
    if guard {
        assert!(done("write-own-tmp"), "{context}");
        for act in [
            "environ-of-vplan",
            "mount",
            "write-vplan",
            "write-contract",
            "truncate-contract",
            "limit-vplan",
            "move-source",
        ] {
            assert!(refused(act), "{act}: {context}");
        }
        assert_eq!(acts["capabilities"], "True", "{context}");
    }
    if restricted {
        assert_eq!(acts["io-uring"], "ENOSYS", "{context}");
        assert_eq!(acts["socket-of-a-host"], "EACCES", "{context}");
        assert_eq!(acts["capabilities"], "True", "{context}");
        assert!(refused("enter-network-of-all"), "{context}");
        assert!(refused("enter-network-of-supervisor"), "{context}");
    }
    let privileges = if guard || restricted { "1" } else { "0" };
    assert_eq!(acts["no-new-privileges"], privileges, "{context}");
}

/// Whether content was refused that was not declared, and nothing else.
fn judge_reads(acts: &BTreeMap<String, String>, level: SandboxLevel, context: &str) {
    for always in [
        "stat-undeclared",
        "list-repository",
        "read-declared",
        "read-own-output",
        "read-toolchain",
        "read-own-tmp",
        "read-named",
        "read-devices",
        "read-nested",
    ] {
        assert_eq!(acts[always], "done", "{always}: {context}");
    }
    for by_files in [
        "read-home",
        "read-keys",
        "list-home",
        "list-above",
        "read-outside",
        "read-undeclared",
        "read-excluded",
        "read-secrets",
        "read-other-output",
        "read-contract",
        "read-git",
        "read-nested-git",
        "read-over-link",
        "read-over-own-link",
        "read-over-root",
        "read-over-cwd",
        "read-over-descriptor",
        "read-from-above",
        "execute-undeclared",
        "read-moved",
        "move-to-read",
        "move-folder-to-read",
        "move-to-tmp",
        "link-to-read",
        "exchange-to-read",
    ] {
        if level == SandboxLevel::Files {
            assert!(is_refused(&acts[by_files]), "{by_files}: {context}");
        } else {
            // As root of a container, another file system may lie between the two.
            let may = acts[by_files] == "done" || acts[by_files] == "EXDEV";
            assert!(may, "{by_files}: {context}");
        }
    }
    if level == SandboxLevel::Files {
        for act in [
            "write-named",
            "read-with-writing",
            "read-over-supervisor",
            "read-by-handle",
        ] {
            assert!(is_refused(&acts[act]), "{act}: {context}");
        }
    }
}

/// A filter of system calls under which a program is started, as containers and older systems have one:
/// the calls of these numbers get these errors.
pub const FILTER: &str = r#"
import ctypes, os, struct, sys
pairs = [tuple(map(int, word.split(":"))) for word in sys.argv[1].split(",")]
code = [(0x20, 0, 0, 0)]
for number, error in pairs:
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
code += [(0x06, 0, 0, 0x7fff0000)]
text = b"".join(struct.pack("HBBI", *one) for one in code)
held = ctypes.create_string_buffer(text, len(text))
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[2], sys.argv[2:])
"#;

#[test]
fn where_a_level_is_not_reached_nothing_starts() {
    let project = Project::contract(
        "vplan 1\ncheck one {\n  run touch out/ran\n  writes \"out/**\"\n  inputs \"src/**\"\n  sandbox guard\n}\n\
         check two {\n  run touch ran\n  network off\n}\n\
         check three {\n  run touch ran\n  network loopback\n}\n\
         check kept {\n  run true\n  inputs \"src/**\"\n  sandbox guard\n}\n",
    );
    project
        .write(".gitignore", "out/\nran\n.vplan/\n")
        .write("src/a", "a\n")
        .write("../filter.py", FILTER);
    project.commit("begin");
    let filter = project.parent().join("filter.py");
    let under = |calls: &str, args: &[&str]| {
        let filter = filter.to_str().unwrap();
        let launcher = ["python3", "-I", filter, calls];
        project.vplan(args).under(&launcher).run()
    };
    // No Landlock, as old and some other kernels; Landlock that is off; no filters of calls.
    for (calls, check, why) in [
        ("444:38", "one", "this kernel has no Landlock"),
        ("444:95", "one", "Landlock is not enabled"),
        ("446:1", "one", "Landlock's rules could not be applied"),
        ("317:1", "two", "its system calls could not be filtered"),
        // No namespaces, as in most containers.
        ("272:1", "three", "Operation not permitted"),
        ("272:28", "three", "No space left on device"),
    ] {
        under(calls, &["run", check])
            .exits(5)
            .warns("vplan::sandbox::unavailable")
            .warns(why)
            .warns("--sandbox-missing run");
        assert!(!project.exists("out") && !project.exists("ran"), "{calls}");
        let exit = if check == "three" { 0 } else { 5 };
        under(calls, &["audit", "--machine", "--require", "guard"])
            .exits(exit)
            .says(why);
    }
    // Only the operator turns it down, and then it is no full pass, and stands for nothing later.
    let less = |more: &[&str]| {
        under(
            "444:38",
            &[&["run", "kept", "--sandbox-missing", "run"], more].concat(),
        )
    };
    less(&["--require", "full"]).exits(44);
    let report = less(&["--format", "json"]).exits(0).json();
    assert_eq!(report["coverage"], "narrowed");
    let step = &report["steps"][0];
    assert_eq!(step["status"], "passed");
    assert_eq!(step["sandbox"]["asked"], "guard");
    let missing = serde_json::json!(["no-tampering", "writes"]);
    assert_eq!(step["sandbox"]["missing"], missing);
    less(&[])
        .exits(0)
        .says("ran without all that it was to be confined by");
    if !guards(&project) {
        return;
    }
    let again = project
        .run(&["run", "kept", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(again["steps"][0]["status"], "passed", "{again}");
    let again = project
        .run(&["run", "kept", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(again["steps"][0]["status"], "cached", "{again}");
    // What a container usually refuses is not needed.
    under("272:1,165:1", &["run", "one", "two", "--no-cache"]).exits(0);
}

/// Servers on the same port, an outside that cannot be reached, and who the program is.
const SERVERS: &str = r#"
import os, socket, subprocess, sys
print("fact user", os.getuid(), os.getgid())
for family, address in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
    with socket.create_server((address, 4567), family=family) as server:
        with socket.create_connection((address, 4567)):
            print("fact served", address)
print("fact interfaces", *[name for _, name in socket.if_nameindex()])
for address in ["192.0.2.1", "2001:db8::1"]:
    try:
        socket.create_connection((address, 80), timeout=20)
    except OSError as error:
        print("fact outside", error.strerror)
daemon = "import socket, time; s = socket.create_server(('127.0.0.1', 4567)); time.sleep(600)"
if sys.argv[1] == "leaves":
    subprocess.Popen([sys.executable, "-I", "-c", daemon], start_new_session=True)
if sys.argv[1] == "hangs":
    exec(daemon)
"#;

#[test]
fn a_loopback_of_its_own() {
    for (who, launcher) in launchers() {
        let project = Project::contract(
            "vplan 1\ndefaults {\n  network loopback\n}\n\
             check one: python3 -I servers.py ends\n\
             check two: python3 -I servers.py ends\n\
             check leaves: python3 -I servers.py leaves\n\
             check hangs {\n  run python3 -I servers.py hangs\n  timeout 2s\n}\n\
             check code {\n  run sh -c 'exit 7'\n  exit 7\n}\n\
             check signal: sh -c 'kill -SEGV $$'\n",
        );
        project
            .write(".gitignore", ".vplan/\n")
            .write("servers.py", SERVERS);
        project.commit("begin");
        give(&project, &launcher);
        let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
        for flags in [&[][..], &["--observe"]] {
            let args = [
                "run",
                "--all",
                "--keep-going",
                "--jobs",
                "3",
                "--format",
                "json",
            ];
            let report = launched(&[&args, flags].concat()).json();
            let step = |id: &str| {
                let steps = report["steps"].as_array().unwrap().iter();
                steps.clone().find(|step| step["id"] == id).unwrap().clone()
            };
            let status = ["one", "two", "code"].map(|id| step(id)["status"].clone());
            assert_eq!(status, ["passed"; 3], "{who}: {report}");
            let reached = serde_json::json!(["network-loopback"]);
            assert_eq!(step("one")["sandbox"]["reached"], reached, "{report}");
            let text = ["leaves", "hangs", "signal"].map(|id| step(id).to_string());
            assert!(text[0].contains("leaked\":1"), "{who}: {}", text[0]);
            assert!(text[1].contains("timed"), "{who}: {}", text[1]);
            assert!(text[2].contains("SIGSEGV"), "{who}: {}", text[2]);
        }
        let log = launched(&["log", "one"]).out();
        let facts: Vec<&str> = log
            .lines()
            .filter_map(|l| l.strip_prefix("fact "))
            .collect();
        let user = match who {
            "as another user" => "user 65534 65534",
            _ => "user 0 0",
        };
        assert!(who == "as this user" || facts[0] == user, "{who}: {log}");
        let unreachable = "outside Network is unreachable";
        let want = [
            "served 127.0.0.1",
            "served ::1",
            "interfaces lo",
            unreachable,
            unreachable,
        ];
        assert_eq!(facts[1..], want, "{who}: {log}");
    }
}

#[test]
fn what_decides_can_never_be_declared_as_written() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project
        .write(".gitignore", ".vplan/\n")
        .write("src/a", "a\n")
        .mkdir("real");
    project.symlink("linked", "real");
    project.commit("begin");
    if !guards(&project) {
        return;
    }
    for (line, why) in [
        ("writes \"**\"", "name a folder"),
        ("writes \"*.txt\"", "name a folder"),
        ("writes \"new.txt\"", "name a folder"),
        ("writes \"contracts/**\"", "`contracts/verify."),
        (
            "writes \"contracts/new/**\" \"contracts/*.md\"",
            "`contracts/verify.",
        ),
        ("writes \".vplan/**\"", "`.vplan`"),
        ("produces \".git/x/*\"", "`.git`"),
        ("cleans \".git/hooks/*\"", "`.git`"),
        ("writes \"linked/**\"", "link"),
        ("env TMPDIR=/tmp", "`env TMPDIR`"),
    ] {
        let text =
            format!("vplan 1\ncheck a {{\n  run touch src/ran\n  {line}\n  sandbox guard\n}}\n");
        project.write("contracts/verify.vplan", text);
        let ran = project.run(&["run", "--all"]);
        assert!(
            matches!(ran.exit, Some(3 | 5)),
            "{line}: {}{}",
            ran.out(),
            ran.err()
        );
        if ran.exit == Some(5) {
            ran.warns("vplan::sandbox::conflict").warns(why);
        }
        assert!(!project.exists("src/ran"), "{line}");
    }
    // A file that is there, and folders that are not.
    for line in [
        "writes \"src/a\"",
        "writes \"new/deep/**\"",
        "produces \"new/file.txt\"",
    ] {
        let text = format!("vplan 1\ncheck a {{\n  run true\n  {line}\n  sandbox guard\n}}\n");
        project.write("contracts/verify.vplan", text);
        project.run(&["run", "--all"]).exits(0);
    }
    project
        .run(&["run", "--all", "--sandbox", "locked"])
        .exits(2)
        .warns("guard");
}

#[test]
fn a_step_that_fails_confined_is_told_where_to_look() {
    let project =
        Project::contract("vplan 1\ncheck a {\n  run touch src/made\n  sandbox guard\n}\n");
    project
        .write(".gitignore", ".vplan/\n")
        .write("src/a", "a\n");
    project.commit("begin");
    if !guards(&project) {
        return;
    }
    project
        .run(&["run", "--all"])
        .exits(40)
        .says("it runs confined: `vplan audit a` shows what it needs");
    project
        .run(&["explain", "--all"])
        .exits(0)
        .says("sandbox guard");
}

#[test]
fn the_tools_of_others_run_guarded_and_offline() {
    let project = Project::contract(
        "vplan 1\ndefaults {\n  sandbox guard\n  network off\n}\n\
         check make {\n  compile make\n  writes \"build/**\"\n}\n\
         check python {\n  test python3 -m unittest discover -v\n  env PYTHONDONTWRITEBYTECODE=1\n}\n\
         check git: git status\n\
         check shell {\n  shell sort < src/a | uniq > $TMPDIR/x && test -s $TMPDIR/x\n}\n\
         check nested {\n  run sh -c '{vplan} -C {inner} run --all --records $TMPDIR/records --state-dir $TMPDIR/state'\n}\n"
            .replace("{vplan}", env!("CARGO_BIN_EXE_vplan"))
            .replace("{inner}", "inner").as_str(),
    );
    project
        .write(".gitignore", "build/\ninner/\n.vplan/\n")
        .write("Makefile", "all: build/a\nbuild/a: src/a.c\n\tmkdir -p build\n\tcc -o $@ $<\n")
        .write("src/a.c", "int main(void) { return 0; }\n")
        .write("src/a", "b\na\n")
        .write("test_one.py", "import tempfile, unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        tempfile.mkdtemp()\n")
        .write("inner/contracts/verify.vplan", "vplan 1\ncheck a {\n  run true\n  sandbox guard\n  network off\n}\n");
    project.git(&["init", "-q", "inner"]);
    project.commit("begin");
    if !guards(&project) {
        return;
    }
    project.run(&["run", "--all", "--keep-going"]).exits(0);
}

/// Tries what a fixer may and may not, and mends the work.
const FIXER: &str = r#"#!/bin/sh
try() { if sh -c "$2" >/dev/null 2>&1; then echo "act $1 done"; else echo "act $1 EACCES"; fi; }
try write-contract 'echo x >> contracts/verify.vplan'
try remove-contract 'rm -f contracts/verify.vplan'
try move-contracts 'mv contracts c2'
try test 'echo x >> contracts/verify.test.vplan'
try link-contract 'ln contracts/verify.vplan contracts/c'
try move-git 'mv .git g2'
try hooks 'echo x > .git/hooks/pre-commit'
try config 'git config user.name evil'
try ignored 'echo x >> .git/info/exclude'
try records 'echo x > .vplan/x'
try outside 'echo x > ../outside'
try home 'echo x > ~/.bashrc'
try state "echo x > $HOME/state/x"
try unmount 'umount contracts/verify.vplan'
try signal 'kill -0 $(awk "{print \$4}" /proc/$PPID/stat)'
try own-folder 'echo x > "$TMPDIR/x"'
try new-files 'mkdir d && echo x > d/x && rm -r d'
try commit 'echo good > src/a && git -c user.name=a -c user.email=a@b commit -qam mended'
"#;

#[test]
fn a_fixer_that_is_guarded_changes_the_work_and_nothing_that_decides() {
    for (who, launcher) in launchers() {
        let project = Project::contract("vplan 1\nbase \"main\"\ncheck good: grep -q good src/a\n");
        project
            .write(".gitignore", ".vplan/\n")
            .write("contracts/verify.test.vplan", "vplan 1\n")
            .write("src/a", "fine and good\n");
        project.commit("begin");
        project.git(&["checkout", "-q", "-b", "work"]);
        project.write("src/a", "bad\n");
        project.script("../fix.sh", FIXER);
        if !guards(&project) {
            return;
        }
        give(&project, &launcher);
        let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
        let ran = launched(&[
            "loop",
            "--fix",
            "../fix.sh",
            "--fix-sandbox",
            "guard",
            "--format",
            "json",
        ]);
        if ran.exit == Some(5) && who != "as this user" {
            eprintln!("SKIPPED: a fixer {who}: {}", ran.err());
            continue;
        }
        let outcome = ran.exits(0).json();
        let log = outcome["rounds"][0]["fix"]["log"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let log =
            std::fs::read_to_string(project.path(&log)).unwrap_or_else(|_| panic!("{outcome}"));
        let lines = log.lines().filter_map(|line| line.strip_prefix("act "));
        let acts: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(' ')).collect();
        assert_eq!(acts.len(), 18, "{who}: {log}");
        let may = ["own-folder", "new-files", "commit"];
        for (act, what) in &acts {
            assert_eq!(*what == "done", may.contains(act), "{who}, {act}: {log}");
        }
        assert_eq!(project.read("src/a"), "good\n");
    }
}

#[test]
fn a_fixer_that_turns_git_elsewhere_ends_the_loop() {
    let contract = "vplan 1\ncheck good: grep -q good src/a\n";
    for (name, command) in [
        ("commondir", "mkdir evil && echo ../evil > .git/commondir"),
        ("config.worktree", "echo '[core]' > .git/config.worktree"),
    ] {
        let project = Project::contract(contract);
        project
            .write(".gitignore", ".vplan/\n")
            .write("src/a", "bad\n");
        project.script(
            "../fix.sh",
            &format!("#!/bin/sh\n{command}\necho good > src/a\n"),
        );
        project.commit("begin");
        if !guards(&project) {
            return;
        }
        project
            .run(&[
                "loop",
                "--all",
                "--fix",
                "../fix.sh",
                "--fix-sandbox",
                "guard",
            ])
            .exits(40)
            .warns("vplan::sandbox::changed")
            .warns(name);
        assert!(!project.exists(&format!(".git/{name}")));
        project.git(&["status"]);
    }
    // In a linked work tree `.git` is a file that says where git's directory is.
    let project = Project::contract(contract);
    project.write(".gitignore", ".vplan/\nlinked/\n");
    project.write("src/a", "bad\n");
    project.script(
        "../fix.sh",
        "#!/bin/sh\necho 'gitdir: /nowhere' > .git || echo good > src/a\ngit -c user.name=a -c user.email=a@b commit -qam mended\n",
    );
    project.commit("begin");
    project.git(&["worktree", "add", "-q", "linked", "-b", "other"]);
    let linked = project.read("linked/.git");
    project
        .vplan(&[
            "loop",
            "--all",
            "--fix",
            "../../fix.sh",
            "--fix-sandbox",
            "guard",
        ])
        .within("linked")
        .run()
        .exits(0);
    assert_eq!(project.read("linked/.git"), linked);
    assert_eq!(
        project.git_in("linked", &["log", "-1", "--format=%s"]),
        "mended"
    );
}

#[test]
fn a_fixer_that_cannot_be_guarded_is_not_started() {
    let project = Project::contract("vplan 1\ncheck good: grep -q good src/a\n");
    project
        .write(".gitignore", ".vplan/\n")
        .write("src/a", "bad\n")
        .write("../filter.py", FILTER);
    project.script("../fix.sh", "#!/bin/sh\necho good > src/a\n");
    project.commit("begin");
    let filter = project.parent().join("filter.py");
    // No mounts, as in most containers.
    let launcher = ["python3", "-I", filter.to_str().unwrap(), "272:1"];
    project
        .vplan(&[
            "loop",
            "--all",
            "--fix",
            "../fix.sh",
            "--fix-sandbox",
            "guard",
        ])
        .under(&launcher)
        .run()
        .exits(5)
        .warns("vplan::sandbox::unavailable");
    assert_eq!(project.read("src/a"), "bad\n");
    project
        .run(&["loop", "--fix-sandbox", "guard"])
        .exits(2)
        .warns("--fix");
}
