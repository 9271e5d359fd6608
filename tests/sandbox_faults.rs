//! What a confined step does where the system is older, or has less to give: it starts as it was
//! asked for, or not at all.

use crate::sandbox::guards;
use crate::support::Project;
use std::fmt::Write as _;

/// Answers each question for the version of Landlock with another one, and lets all else be.
const OLDER: &str = r#"
import ctypes, os, select, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
told, tell = os.pipe()
ready, go = os.pipe()
child = os.fork()
if child == 0:
    # landlock_create_ruleset whose third argument asks for the version.
    code = [(0x20, 0, 0, 0), (0x15, 0, 3, 444), (0x20, 0, 0, 32), (0x15, 0, 1, 1),
            (0x06, 0, 0, 0x7fc00000), (0x06, 0, 0, 0x7fff0000)]
    text = b"".join(struct.pack("HBBI", *one) for one in code)
    held = ctypes.create_string_buffer(text, len(text))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(held)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(317, 1, 8, program)
    assert listener >= 0, os.strerror(ctypes.get_errno())
    os.write(tell, str(listener).encode())
    os.read(ready, 1)
    os.execvp(sys.argv[2], sys.argv[2:])
handle = os.pidfd_open(child)
listener = libc.syscall(438, handle, int(os.read(told, 16)), 0)
assert listener >= 0, os.strerror(ctypes.get_errno())
os.write(go, b"x")
poll = select.poll()
poll.register(listener, select.POLLIN)
poll.register(handle, select.POLLIN)
while True:
    ready = dict(poll.poll())
    if ready.get(listener, 0) & select.POLLIN:
        asked = ctypes.create_string_buffer(80)
        if libc.ioctl(listener, ctypes.c_ulong(0xc0502100), asked) == 0:
            answer = struct.pack("QqiI", struct.unpack("Q", asked[:8])[0], int(sys.argv[1]), 0, 0)
            libc.ioctl(listener, ctypes.c_ulong(0xc0182101), ctypes.create_string_buffer(answer))
    elif handle in ready:
        status = os.waitpid(child, 0)[1]
        sys.exit(os.waitstatus_to_exitcode(status) % 256)
"#;

const CONTRACT: &str =
    "vplan 1\ncheck a {\n  run touch out/ran\n  writes \"out/**\"\n  sandbox guard\n}\n";

fn project(contract: &str) -> Project {
    let project = Project::contract(contract);
    project
        .write(".gitignore", "out*/\n.vplan/\n")
        .commit("begin");
    project
}

#[test]
fn an_older_landlock_gives_what_it_knows_and_no_more() {
    let project = project(CONTRACT);
    if !guards(&project) {
        return;
    }
    let older = project.parent().join("older.py");
    project.write("../older.py", OLDER);
    let on = |version: &str, args: &[&str]| {
        let launcher = ["python3", "-I", older.to_str().unwrap(), version];
        project.vplan(args).under(&launcher).run()
    };
    let scopes = "it needs Landlock 6 (Linux 6.12), and this system has";
    for (version, why, missing) in [
        (
            "1",
            "it needs Landlock 3 (Linux 6.2), and this system has 1",
            &["no-tampering", "writes"][..],
        ),
        ("3", scopes, &["no-tampering"]),
        ("5", scopes, &["no-tampering"]),
    ] {
        on(version, &["run", "--all"])
            .exits(5)
            .warns("vplan::sandbox::unavailable")
            .warns(why);
        assert!(!project.exists("out"), "{version}");
        on(version, &["audit", "--machine", "--require", "guard"])
            .exits(5)
            .says(why);
        let less = [
            "run",
            "--all",
            "--sandbox-missing",
            "run",
            "--format",
            "json",
        ];
        let report = on(version, &less).exits(0).json();
        let sandbox = &report["steps"][0]["sandbox"];
        assert_eq!(sandbox["missing"], serde_json::json!(missing), "{version}");
        std::fs::remove_dir_all(project.path("out")).unwrap();
    }
    // The one of this system, given by the same way.
    on("6", &["run", "--all"]).exits(0);
}

#[test]
fn a_thousand_folders_need_no_thousand_descriptors() {
    let mut contract =
        "vplan 1\ncheck a {\n  run touch out999/ran\n  sandbox guard\n  writes".to_owned();
    for n in 0..1000 {
        write!(contract, " \"out{n}/**\"").unwrap();
    }
    contract.push_str("\n}\n");
    let project = project(&contract);
    if !guards(&project) {
        return;
    }
    let few = ["prlimit", "--nofile=256:256"];
    project.vplan(&["run", "--all"]).under(&few).run().exits(0);
    assert!(project.exists("out999/ran"));
}

#[test]
fn without_a_temporary_folder_nothing_starts() {
    let project = project(CONTRACT);
    if !guards(&project) {
        return;
    }
    let nowhere = project.parent().join("nowhere");
    let run = project
        .vplan(&["run", "--all"])
        .env("TMPDIR", &nowhere)
        .env("XDG_RUNTIME_DIR", &nowhere);
    run.run().exits(5).warns("there is no temporary folder");
    assert!(!project.exists("out"));
}

#[test]
fn a_folder_that_became_a_link_after_it_was_looked_at() {
    let contract = "vplan 1\n\
        check first {\n  shell rm -rf out && ln -s ../elsewhere out\n}\n\
        check second {\n  run touch out/ran\n  needs first\n  writes \"out/**\"\n  sandbox guard\n}\n";
    let project = project(contract);
    if !guards(&project) {
        return;
    }
    project
        .write("out/there", "")
        .write("../elsewhere/there", "");
    let ran = project.run(&["run", "--all", "--format", "json"]);
    let report = ran.json();
    let second = &report["steps"][1];
    assert_ne!(second["status"], "passed", "{report}");
    assert_eq!(ran.exit, Some(5), "{report}");
    assert!(!project.exists("../elsewhere/ran"));
}
