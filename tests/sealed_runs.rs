//! Whole runs of checks that are sealed: killed, refused, compared, joined, with what goes wrong around
//! them, and with checks that cheat.

use crate::plan_files::{merge, shards};
use crate::sandbox::{FILTER, give, launchers, seals};
use crate::sandbox_files::diff;
use crate::sandbox_sealed::{USUAL, contract, project, run, step};
use crate::sealed::{kill_all_that_started, with_word};
use crate::support::process::{Bounded as _, eventually};
use crate::support::{Project, Ran};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::{Child, Stdio};

/// The seconds that a process sleeps, by which it is found; `number` tells two of one test apart.
fn mark(test: usize, number: usize) -> String {
    format!("100000{test}.{}{number}", std::process::id())
}

/// A step of three processes, of which two are in sessions of their own and one ignores signals.
fn sleepers(mark: &str) -> String {
    format!(
        "setsid sleep {mark} &\nsetsid sh -c \"trap '' TERM INT HUP; sleep {mark}; true\" &\nsleep {mark}\n"
    )
}

fn started(project: &Project, launcher: &[&str]) -> Child {
    let run = project.vplan(&["run", "--all"]).under(launcher);
    let mut command = run.command();
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn nothing_outlives_a_sealed_step() {
    for (number, (who, launcher)) in launchers().into_iter().enumerate() {
        let mark = mark(1, number);
        let Some(project) = project(USUAL, &sleepers(&mark)) else {
            return;
        };
        give(&project, &launcher);
        let mut vplan = started(&project, &launcher);
        kill_all_that_started(&mut vplan, &mark, 3, who);
        assert_eq!(with_word(&mark), [0; 0], "{who}");
    }
}

#[test]
fn where_a_supervisor_is_killed_its_sealed_step_is_no_pass_and_is_gone() {
    let mark = mark(2, 0);
    let Some(project) = project(USUAL, &sleepers(&mark)) else {
        return;
    };
    let mut vplan = started(&project, &[]);
    eventually("the step", || with_word(&mark).len() >= 3);
    let children = format!("/proc/{0}/task/{0}/children", vplan.id());
    let supervisors = std::fs::read_to_string(children).unwrap();
    for number in supervisors.split_whitespace() {
        let pid = Pid::from_raw(number.parse().unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
    let ended = vplan.ended();
    assert!(ended.code().is_some_and(|code| code != 0), "{ended:?}");
    eventually("the end of the step", || with_word(&mark).is_empty());
}

#[test]
fn where_it_cannot_be_sealed_a_run_says_why_and_starts_nothing() {
    let project =
        Project::contract("vplan 1\ncheck a {\n  run touch ran\n  inputs \"src/**\"\n}\n");
    project
        .write(".gitignore", "ran\n.vplan/\n")
        .write("src/a", "a\n")
        .write("../filter.py", FILTER);
    project.commit("begin");
    if !seals(&project, &[]) {
        return;
    }
    let filter = project.parent().join("filter.py");
    let under = |calls: &'static str| {
        let filter = filter.to_str().unwrap();
        ["python3", "-I", filter, calls].map(str::to_owned).to_vec()
    };
    // unshare, mount, umount2, pivot_root, chroot, setns, clone3 and what moves and sets mounts.
    let docker = under("272:1,165:1,166:1,155:1,161:1,308:1,435:38,428:1,429:1,442:1");
    let mut cases = vec![
        (docker, "absence", "a container's profile, AppArmor", ""),
        (under("317:1"), "network-off", "could not be filtered", ""),
        // Each means of the level by itself.
        (
            under("155:1"),
            "absence",
            "its files could not be put together",
            "",
        ),
        (
            under("442:38"),
            "absence",
            "its files could not be put together",
            "",
        ),
        (
            under("446:1"),
            "writes",
            "Landlock's rules could not be applied",
            "",
        ),
    ];
    if let [_, user, ..] = &launchers()[..] {
        let words = [
            &user.1[..],
            &["unshare", "--user", "--map-root-user", "sh", "-c"],
            &["echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \"$@\"", "sh"],
        ].concat();
        let words = words.into_iter().map(str::to_owned).collect();
        cases.push((
            words,
            "absence",
            "`sysctl user.max_user_namespaces` allows no more",
            "another user",
        ));
    }
    for (launcher, guarantee, why, who) in cases {
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        if !who.is_empty() {
            give(&project, &launcher);
        }
        let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
        launched(&["run", "--all", "--sandbox", "sealed"])
            .exits(5)
            .warns("vplan::sandbox::unavailable")
            .warns(&format!("`{guarantee}` does not hold"))
            .warns(why)
            .warns("--sandbox-missing run");
        assert!(!project.exists("ran"), "{launcher:?}");
        launched(&["audit", "--machine", "--require", "sealed"])
            .exits(5)
            .says(why);
    }
}

#[test]
fn what_is_weaker_than_sealed() {
    let of = |more: &str| format!("  inputs \"src/**\"\n  writes \"out/**\"\n{more}");
    let sealed = of("  sandbox sealed\n");
    diff(&sealed, &of("  sandbox sealed\n  network off\n"))
        .exits(0)
        .says("the contracts mean the same");
    for weak in [
        of(""),
        of("  sandbox guard\n  network off\n"),
        of("  sandbox files\n  network off\n"),
        of("  sandbox sealed\n  network loopback\n"),
        of("  sandbox sealed\n  network on\n"),
        of("  sandbox sealed\n  reads \"~/a\"\n"),
        sealed.replace("\"out/**\"", "\"out/**\" \"more/**\""),
    ] {
        diff(&sealed, &weak).exits(45).says("weakens:");
        diff(&weak, &sealed)
            .exits(0)
            .says("strengthens:")
            .never_says("weakens:");
    }
    // From none at all, with what it then has to name: nothing of that stays.
    diff("  inputs \"src/**\"\n", &sealed)
        .exits(0)
        .says("strengthens:")
        .says("nothing of that stays")
        .never_says("weakens:");
    // But what it may write begins empty, and what it does not declare is not there to be found wrong.
    diff(
        "  inputs \"src/**\"\n",
        &sealed.replace("out/**", "src/made/**"),
    )
    .exits(45)
    .says("not decided:");
    let fewer = sealed.replace("src/**", "src/a");
    diff(&sealed, &fewer).exits(45).says("not decided:");
    diff(&fewer, &sealed).exits(45).says("weakens:");
}

#[test]
fn joined_with_another_each_step_keeps_its_own() {
    let text = contract(USUAL) + "check b: true\n";
    let Some(project) = project(USUAL, "true\n") else {
        return;
    };
    project.write("contracts/verify.vplan", text);
    project.commit("two");
    project.run(&["plan", "--all", "-o", "p.kdl"]).exits(0);
    let runs = shards(&project, 2, &[0, 0]);
    let of = |run: &str| -> Value {
        let text = std::fs::read_to_string(format!("{run}/report.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let contained = [of(&runs[0]), of(&runs[1])].map(|one| one["containment"].clone());
    assert_eq!(contained, ["namespace", "subtree"]);
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let merged = merge(&project, &runs).exits(0).json();
    assert_eq!(merged["containment"], "subtree");
    let steps = &merged["steps"];
    assert_eq!(steps[0]["sandbox"]["asked"], "sealed", "{merged}");
    assert_eq!(steps[0]["inputs"], "enforced", "{merged}");
    assert_eq!(steps[1].get("sandbox"), None, "{merged}");
    project.write("../merged.json", merged.to_string());
    project.run(&["verify", "../merged.json"]).exits(0);
}

#[test]
fn a_report_of_sealed_steps_is_verified() {
    let Some(project) = project(USUAL, "true\n") else {
        return;
    };
    let report = run(&project).exits(0).json();
    let id = report["runId"].as_str().unwrap();
    project.run(&["verify"]).exits(0);
    project
        .run(&["explain", "--all"])
        .exits(0)
        .says("   sandbox sealed, network off\n")
        .says("   writes \"out/**\";");
    // It says no more than what held.
    let path = format!(".vplan/runs/{id}/report.json");
    let honest = project.read(&path);
    type Forge<'a> = &'a dyn Fn(&mut Value);
    let cases: [Forge<'_>; 4] = [
        &|report| report["containment"] = json!("everything"),
        &|report| report["steps"][0]["sandbox"]["network"] = json!("on"),
        &|report| {
            report["steps"][0]["sandbox"]["reached"] = json!(["absence"]);
        },
        &|report| drop(report["steps"][0]["sandbox"].take()),
    ];
    for (number, forge) in cases.iter().enumerate() {
        let mut forged: Value = serde_json::from_str(&honest).unwrap();
        forge(&mut forged);
        project.write(&path, forged.to_string());
        let exit = project.run(&["verify"]).exit;
        assert_ne!(exit, Some(0), "{number}");
    }
    project.write(&path, honest);
    project.run(&["verify"]).exits(0);
}

/// A check that makes something of what a sealed one has, before it.
fn after(first: &str, lines: &str, work: &str) -> Option<Project> {
    let project = project(lines, work)?;
    let first = format!("check first {{\n  shell {first}\n}}\n");
    let second = contract(&format!("  needs first\n{lines}")).replace("vplan 1\n", "");
    project
        .write(
            "contracts/verify.vplan",
            format!("vplan 1\n{first}{second}"),
        )
        .write(".gitignore", ".vplan/\nout*/\ndata/\ndata\nout\n")
        .write("data/x", "x\n")
        .write("out/there", "")
        .write("../elsewhere/x", "elsewhere\n");
    project.commit("first");
    Some(project)
}

fn second(ran: &Ran) -> Value {
    ran.json()["steps"][1].clone()
}

#[test]
fn what_became_of_a_folder_between_plan_and_start() {
    let inputs = "  inputs \"work.sh\" \"data/**\"\n";
    for (first, lines, work, exit) in [
        // What is gone is not there, and what leads elsewhere leads nowhere.
        ("rm -r data", inputs, "! cat data/x\n", 0),
        (
            "rm -r data && ln -s ../elsewhere data",
            inputs,
            "! cat data/x\n",
            0,
        ),
        (
            "ln -s ../../elsewhere/x data/y",
            inputs,
            "cat data/x && ! cat data/y\n",
            0,
        ),
        (
            "mkfifo data/pipe",
            inputs,
            "test ! -e data/pipe && cat data/x\n",
            0,
        ),
        // What it would change is made again, and is not what is behind a link.
        ("rm -r out", USUAL, "echo x > out/ran\n", 0),
        (
            "rm -r out && ln -s ../elsewhere out",
            USUAL,
            "echo x > out/ran\n",
            5,
        ),
        ("rm -r out && touch out", USUAL, "echo x > out/ran\n", 5),
    ] {
        let Some(project) = after(first, lines, work) else {
            return;
        };
        let ran = run(&project);
        assert_eq!(ran.exit, Some(exit), "{first}: {}{}", ran.out(), ran.err());
        let status = second(&ran)["status"].clone();
        assert_eq!(status == "passed", exit == 0, "{first}: {}", ran.out());
        assert!(!project.exists("../elsewhere/ran"), "{first}");
        assert_eq!(project.read("../elsewhere/x"), "elsewhere\n", "{first}");
    }
}

#[test]
fn a_folder_that_leads_out_of_the_tree_is_not_written_in() {
    let Some(project) = project(USUAL, "echo x > out/ran\n") else {
        return;
    };
    project
        .write("../elsewhere/there", "")
        .symlink("out", "../elsewhere")
        .write(".gitignore", ".vplan/\nout\n");
    project.commit("a link");
    project
        .run(&["run", "--all"])
        .exits(5)
        .warns("vplan::sandbox::conflict")
        .warns("leads over the link `out`");
    assert!(!project.exists("../elsewhere/ran"));
}

#[test]
fn where_temporary_folders_are() {
    let Some(project) = project(
        "  inputs \"work.sh\"\n  produces \"out/made\"\n",
        "echo x > /tmp/x && cp /tmp/x out/made\n",
    ) else {
        return;
    };
    if launchers().len() == 1 {
        eprintln!("SKIPPED: temporary folders elsewhere: to mount needs root");
        return;
    }
    project.mkdir("../other");
    let other = project.parent().join("other");
    let other = other.to_str().unwrap();
    let on = |options: &str| {
        let mount = format!("mount -t tmpfs -o {options} none {other} && exec \"$@\"");
        let launcher = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
        let run = ["run", "--all", "--no-cache", "--format", "json"];
        project
            .vplan(&run)
            .env("TMPDIR", other)
            .under(&launcher)
            .run()
    };
    // Another file system than the repository's.
    assert_eq!(step(on("rw").exits(0))["status"], "passed");
    assert_eq!(project.read("out/made"), "x\n");
    project.remove("out/made");
    // One where nothing can be written, and one that is full.
    for options in ["ro", "nr_inodes=2"] {
        let ran = on(options);
        ran.exits(5);
        assert!(!project.exists("out/made"), "{options}");
    }
    // In what it reads, or where there is none.
    project.mkdir("src/tmp");
    project.write(
        "contracts/verify.vplan",
        contract("  inputs \"work.sh\" \"src/**\"\n  produces \"out/made\"\n"),
    );
    let run = project.vplan(&["run", "--all"]);
    let tmp = project.path("src/tmp");
    run.env("TMPDIR", tmp)
        .run()
        .exits(5)
        .says("its temporary folder would be in what it reads");
    assert!(!project.exists("out/made"));
}

#[test]
fn a_thousand_folders_and_files_need_no_thousand_descriptors() {
    let mut writes = "  inputs \"work.sh\" \"many/*.txt\"\n  writes".to_owned();
    for n in 0..1000 {
        write!(writes, " \"out/{n}/**\"").unwrap();
    }
    let work = "set -e\ntouch out/999/ran\ntest \"$(cat many/*.txt | wc -l)\" = 1000\n";
    let Some(project) = project(&(writes + "\n"), work) else {
        return;
    };
    for n in 0..1000 {
        project.write(format!("many/{n}.txt"), "x\n");
    }
    project.write("many/left.out", "");
    project.commit("many");
    let few = ["prlimit", "--nofile=256:256"];
    project.vplan(&["run", "--all"]).under(&few).run().exits(0);
}

/// What a check tries to get more than its due, each with whether it may.
const CHEATS: &str = r#"
import os, signal, socket, stat, subprocess, sys, time
def act(name, do):
    try:
        print("act", name, do() or "done")
    except OSError as error:
        print("act", name, "refused")
    sys.stdout.flush()
def write(path, text="x", mode="a"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, mode) as file:
        file.write(text)
root = os.getcwd()
home = os.environ["HOME"]
act("git", lambda: write(".git/config"))
act("hooks", lambda: write(".git/hooks/pre-commit"))
act("contract", lambda: write("contracts/verify.vplan", "vplan 1\n", "w"))
act("keys", lambda: open(home + "/.ssh/id").read())
act("env", lambda: open(".env").read())
act("root-of-first", lambda: os.listdir("/proc/1/root" + root + "/contracts"))
def of_first():
    for fd in range(4096):
        try:
            return os.readlink(f"/proc/1/fd/{fd}")
        except OSError:
            pass
        try:
            return str(os.open(f"/proc/1/fd/{fd}", os.O_PATH))
        except OSError:
            pass
    raise OSError
act("descriptors-of-first", of_first)
def inherited():
    open_ones = []
    for fd in range(3, 4096):
        try:
            os.write(fd, b"\0" * 64)
            open_ones.append(fd)
        except OSError as error:
            if error.errno != 9:
                open_ones.append(fd)
    return "some %s" % open_ones if open_ones else "none"
act("inherited", inherited)
act("own-streams", lambda: " ".join("pipe" if stat.S_ISFIFO(os.fstat(fd).st_mode) else "other" for fd in (1, 2)))
act("parent", lambda: "number %d" % os.getppid())
act("replace-folder", lambda: os.rename("out", "elsewhere"))
act("remove-folder", lambda: os.rmdir("out"))
act("folder-by-link", lambda: (os.rmdir("out"), os.symlink("../elsewhere", "out")))
act("products-by-link", lambda: (os.rmdir("out/linked"), os.symlink("../../elsewhere", "out/linked")))
act("link-in-root", lambda: os.symlink("/etc", "etc"))
act("hard-link", lambda: os.link("src/a", "out/a"))
act("device", lambda: os.mknod("out/device", 0o600 | stat.S_IFBLK, os.makedev(8, 0)))
act("kill-all", lambda: os.kill(-1, signal.SIGKILL))
act("kill-first", lambda: os.kill(1, signal.SIGKILL))
def mounts():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    def call(name, *words):
        if libc.syscall(*words) < 0:
            raise OSError(ctypes.get_errno(), "")
    return call
call = mounts()
act("mount", lambda: call("mount", 165, b"none", b"/tmp", b"tmpfs", 0, 0))
act("remount", lambda: call("mount", 165, b"none", b"/usr", b"none", 32 | 4096, 0))
act("umount", lambda: call("umount", 166, (root + "/out").encode(), 2))
act("pivot", lambda: call("pivot", 155, b".", b"."))
act("tree", lambda: call("open_tree", 428, -100, b"/", 1))
def nested(act):
    pid = os.fork()
    if pid == 0:
        try:
            call("unshare", 272, 0x10000000 | 0x20000)
            act()
            os._exit(0)
        except OSError:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError
act("uncover", lambda: nested(lambda: (call("umount", 166, (root + "/out").encode(), 2), open("out/old").read())))
act("uncover-root", lambda: nested(lambda: (call("umount", 166, root.encode(), 2), os.stat("/proc/../" + root + "/.env"))))
act("fill", lambda: write("/tmp/big", "x" * (1 << 20)))
act("fill-memory", lambda: write("/dev/shm/big", "x" * (1 << 20)))
subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
write("out/bin/tool", "made\n", "w")
os.chmod("out/bin/tool", 0o6755)
os.mkfifo("out/bin/pipe")
socket.socket(socket.AF_UNIX).bind("out/bin/socket")
os.symlink("../elsewhere", "out/far")
write("out/old", "changed\n", "w")
"#;

/// What the acts of [`CHEATS`] end with.
const ENDED: [(&str, &str); 28] = [
    ("git", "refused"),
    ("hooks", "refused"),
    ("contract", "refused"),
    ("keys", "refused"),
    ("env", "refused"),
    ("root-of-first", "refused"),
    ("descriptors-of-first", "refused"),
    ("inherited", "none"),
    ("own-streams", "pipe pipe"),
    ("parent", "number 1"),
    ("replace-folder", "refused"),
    ("remove-folder", "refused"),
    ("folder-by-link", "refused"),
    ("products-by-link", "refused"),
    ("link-in-root", "refused"),
    ("hard-link", "refused"),
    ("device", "refused"),
    // There is nobody whom it could kill.
    ("kill-all", "refused"),
    ("kill-first", "refused"),
    ("mount", "refused"),
    ("remount", "refused"),
    ("umount", "refused"),
    ("pivot", "refused"),
    ("tree", "refused"),
    ("uncover", "refused"),
    ("uncover-root", "refused"),
    ("fill", "done"),
    ("fill-memory", "done"),
];

#[test]
fn a_sealed_check_that_cheats_gets_nothing() {
    for (number, (who, launcher)) in launchers().into_iter().enumerate() {
        let mark = mark(3, number);
        let lines = "  inputs \"cheats.py\" \"src/**\"\n  writes \"out/**\"\n  produces \"out/bin/**\" \"out/linked/**\"\n  pass-env HOME\n";
        let text = contract(lines).replace("sh work.sh", &format!("python3 -I cheats.py {mark}"));
        let Some(project) = project(lines, "") else {
            return;
        };
        project
            .write("contracts/verify.vplan", &text)
            .write("cheats.py", CHEATS)
            .write(".gitignore", ".vplan/\nout/\n.env\n")
            .write(".env", "SECRET=1\n")
            .write("out/old", "old\n")
            .write("../home/.ssh/id", "secret\n");
        project.commit("cheats");
        give(&project, &launcher);
        let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
        let ran = launched(&["run", "--all", "--format", "json"]);
        let log = launched(&["log", "a"]).out();
        for (name, want) in ENDED {
            let start = format!("act {name} ");
            let mut lines = log.lines().filter_map(|line| line.strip_prefix(&start));
            assert_eq!(
                lines.next(),
                Some(want),
                "{who}, {name}: {log}{}",
                ran.err()
            );
        }
        // It has passed, and what it left behind was found, and ended.
        let one = step(ran.exits(0)).to_string();
        assert!(one.contains("\"leaked\":1"), "{who}: {one}");
        assert_eq!(with_word(&mark), [0; 0], "{who}");
        // Its product stays, as a plain file, and nothing else does.
        let mut made: Vec<_> = std::fs::read_dir(project.path("out/bin"))
            .unwrap()
            .collect();
        let tool = made.pop().unwrap().unwrap();
        assert!(
            made.is_empty() && tool.file_name() == "tool",
            "{who}: {made:?}"
        );
        use std::os::unix::fs::PermissionsExt as _;
        let mode = tool.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{who}");
        assert_eq!(project.read("out/old"), "old\n", "{who}");
        let linked = project.path("out/linked").symlink_metadata().unwrap();
        assert!(linked.is_dir() && !project.exists("out/far"), "{who}");
        assert_eq!(project.read("contracts/verify.vplan"), text, "{who}");
        assert!(!project.exists(".git/hooks/pre-commit"), "{who}");
        assert_eq!(project.read("src/a"), "a\n", "{who}");
    }
}
