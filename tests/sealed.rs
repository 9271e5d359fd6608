//! The mechanism that seals a step: what exists for it, and how it ends, as root and as another user.

use crate::support::Project;
use crate::support::process::{Bounded as _, PATIENCE, eventually};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::check::confine::{Guarantee, SandboxLevel};
use vplan::effect::os::process::attempt::{Attempt, AttemptProgress, AttemptResult, Buffer, Try};
use vplan::effect::os::process::confine::{Confine, Writable};
use vplan::effect::os::process::mask::Secrets;
use vplan::effect::os::process::pool::Pool;
use vplan::effect::os::process::program::{Root, SearchPath};
use vplan::effect::os::process::sealed_files::SealedFiles;

/// The variable in which the process that runs a sealed step finds what to do.
const WHAT: &str = "VPLAN_TEST_SEALED";

/// Behind how a step is ended where it is observed, too.
const SEEN: &str = " seen";

/// What that is: the folder of the repository, how the step is ended, and the text of a shell.
fn told() -> Option<[String; 3]> {
    let text = std::env::var(WHAT).ok()?;
    let words: Vec<String> = text.splitn(3, '\n').map(str::to_owned).collect();
    words.try_into().ok()
}

fn toolchain() -> Vec<PathBuf> {
    let roots = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"];
    roots
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

fn guarantees() -> Vec<Guarantee> {
    let more = [
        Guarantee::Absence,
        Guarantee::NetworkOff,
        Guarantee::NoSurvivor,
        Guarantee::Sockets,
    ];
    more.into_iter()
        .chain(SandboxLevel::Guard.guarantees().iter().copied())
        .collect()
}

/// Runs a shell in a sealed step. Started in a process of its own.
#[test]
#[ignore = "started in a process of its own"]
fn inner() {
    let Some([folder, ending, text]) = told() else {
        return;
    };
    let (ending, is_seen) = match ending.strip_suffix(SEEN) {
        Some(ending) => (ending, true),
        None => (&*ending, false),
    };
    let vplan = PathBuf::from(env!("CARGO_BIN_EXE_vplan"));
    vplan::effect::os::own_program::be(vplan.clone());
    let root = Root::open(Path::new(&folder)).unwrap();
    let own = || tempfile::tempdir_in(Path::new(&folder).parent().unwrap()).unwrap();
    let (temporary, made) = (own(), own());
    let of = |path: &str| root.path().join(path);
    let mut readable = toolchain();
    readable.extend(["src", "one.txt", "link.txt", "deep/er/file"].map(of));
    let files = SealedFiles {
        readable,
        writable: match ending {
            "root" => vec![root.path().to_owned()],
            _ => vec![of("out"), of("src/made")],
        },
        root: root.path().to_owned(),
        temporary: temporary.path().to_owned(),
        made: made.path().to_owned(),
    };
    files.prepare().unwrap();
    let mut writable: Vec<Writable> = files
        .changed()
        .map(|path| Writable::open(&path).unwrap())
        .collect();
    for device in ["null", "zero", "full", "tty"] {
        writable.push(Writable::open(&Path::new("/dev").join(device)).unwrap());
    }
    let confine = match Confine::new(&guarantees()) {
        Ok(confine) => {
            for one in &writable {
                confine.let_change(one).unwrap();
            }
            confine.with_only(files.clone())
        }
        Err(why) => {
            println!("unconfined {why}");
            return;
        }
    };
    let pool = Pool::new(Some(vplan));
    let tried = run(&pool, &root, &confine, &text, (ending, is_seen));
    let evidence = &tried.evidence;
    println!("gaps {:?}", tried.observed.map(|observed| observed.gaps));
    println!(
        "exit {:?} signal {:?} leaked {}",
        evidence.exit, evidence.signal, evidence.leaked
    );
    println!("stopped {}", evidence.timed_out);
    if let Some(error) = &evidence.spawn_error {
        println!("refused {} {}", error.code, error.message);
    }
    for written in [&evidence.stdout, &evidence.stderr] {
        print!("{}", String::from_utf8_lossy(&written.text()));
    }
    let made = files.made(&of("out/product")).unwrap();
    println!("product {:?}", std::fs::read_to_string(made).ok());
    // What it could only read it has not made, also where it could write all around.
    assert_eq!(
        (files.made(&of("one.txt")), files.made(&of("src/a"))),
        (None, None)
    );
}

fn run(
    pool: &Pool,
    root: &Root,
    confine: &Confine,
    text: &str,
    (ending, is_seen): (&str, bool),
) -> AttemptResult {
    let search = SearchPath::new(root, Some(b"/usr/bin:/bin"));
    let argv = ["sh", "-c", text].map(Word::from);
    let env = BTreeMap::from([(b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())]);
    let what = Try {
        root,
        search: &search,
        dir: &RepoPath::root(),
        argv: &argv,
        env: &env,
        input: None,
        secrets: &Secrets::default(),
        log: None,
        max_output: 1 << 20,
        live: None,
        formats: None,
        limit_ms: if ending == "late" { 1_000 } else { u64::MAX },
        observe: is_seen,
        confine: Some(confine),
    };
    let mut buffer = Buffer::default();
    let mut attempt = match Attempt::begin(pool, &what) {
        Ok(attempt) => attempt,
        Err(refused) => return *refused,
    };
    loop {
        let mut fds = Vec::new();
        attempt.watch(&mut fds);
        rustix::event::poll(&mut fds, None).unwrap();
        let ready = [0, 1, 2].map(|i: usize| !fds[i].revents().is_empty());
        match attempt.ready(ready, &mut buffer) {
            AttemptProgress::Over => return attempt.finish(pool, false, &mut buffer),
            AttemptProgress::Frozen => attempt.thaw(),
            _ if ready[1] && ending == "freeze" => assert!(attempt.freeze()),
            _ if ready[1] && ending == "terminate" => attempt.terminate(),
            _ if ready[1] && ending == "kill" => attempt.kill(),
            _ => {}
        }
    }
}

fn project() -> Project {
    let project = Project::bare();
    project
        .write("src/a", "a\n")
        .write("src/deep/b", "b\n")
        .write("src/made/old", "old\n")
        .write("one.txt", "one\n")
        .write("deep/er/file", "deep\n")
        .write("deep/er/other", "other\n")
        .write("secret.txt", "secret\n")
        .write("out/old", "old\n")
        .write("../outside", "outside\n");
    project.symlink("link.txt", "one.txt");
    project
}

/// Runs a text in a sealed step, below a launcher; returns what the process says, without its end.
fn command(project: &Project, launcher: &[&str], text: &str, ending: &str) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut words = launcher.iter().map(|word| (*word).to_owned());
    let first = words.next();
    let mut command = match first {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(&own);
            command
        }
        None => Command::new(&own),
    };
    command
        .args([
            "--exact",
            "sealed::inner",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(
            WHAT,
            [project.root().to_str().unwrap(), ending, text].join("\n"),
        )
        .current_dir(project.root());
    command
}

fn sealed(project: &Project, launcher: &[&str], text: &str) -> String {
    ended(project, launcher, text, "itself")
}

fn ended(project: &Project, launcher: &[&str], text: &str, ending: &str) -> String {
    let Output { stdout, stderr, .. } = command(project, launcher, text, ending).output().unwrap();
    format!(
        "{}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    )
}

const ACTS: &str = r#"
say() { echo "act $1: $(eval "$2" 2>&1 | tr '\n' ' ')"; }
say root 'ls -A /'
say repository 'find . | sort'
say content 'cat src/a src/deep/b one.txt link.txt deep/er/file'
say secret 'test -e secret.txt; echo $?; test -e ../outside; echo $?; test -e .git; echo $?'
say home 'ls -A /root /home $HOME 2>/dev/null; echo none'
say processes 'ls -d /proc/[0-9]* | wc -l; echo $$; readlink /proc/1/exe'
say name 'uname -n'
say network 'grep -c : /proc/net/dev'
say temporary 'ls -A /tmp; echo x > /tmp/x && cat /tmp/x'
say devices 'echo x > /dev/null; head -c 4 /dev/zero | wc -c; ls /dev; echo x > /dev/shm/x && cat /dev/shm/x'
say write-input 'echo x >> src/a && echo done'
say write-new 'echo x > src/new && echo done'
say write-root 'echo x > new; echo x > /new; echo x > /usr/new'
say write-out 'echo made > out/product; cat out/product; ls -A out'
say write-made 'ls -A src/made; echo x > src/made/x && cat src/made/x'
say remove 'rm src/a one.txt && echo done'
say mount 'mount -t tmpfs none /tmp && echo done'
say signal 'kill -9 1; echo $?'
say init 'cat /proc/1/environ /proc/1/maps && echo done; ls /proc/1/fd /proc/1/root/ && echo done'
say nested 'unshare -Urm sh -c "umount -l src; umount -l out; umount -l /usr; umount -l /proc; cat secret.txt && echo done; ls -A out; ls /root && echo done"'
say mounts 'umount -l src; umount -l /tmp; pwd'
say outside-of-folder 'cat /proc/self/cwd/../outside ../../../../../../../etc/../root/x && echo done'
say handle 'python3 -Ic "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(b\"\\x08\\0\\0\\0\\x01\\0\\0\\0\" + bytes(8))
print(\"open\", libc.open_by_handle_at(3, handle, 0), ctypes.get_errno(), \"keys\", libc.syscall(250, 0, -3, 0, 0, 0), ctypes.get_errno())
"'
say user 'id -u; id -g'
"#;

/// What each act of [`ACTS`] says, as far as it is the same for every user.
const SAID: [(&str, &str); 22] = [
    (
        "repository",
        ". ./deep ./deep/er ./deep/er/file ./link.txt ./one.txt ./out ./src ./src/a ./src/deep ./src/deep/b ./src/made",
    ),
    ("content", "a b one one deep"),
    ("secret", "1 1 1"),
    ("home", "none"),
    ("name", "vplan"),
    ("network", "1"),
    (
        "devices",
        "4 fd full null ptmx pts random shm stderr stdin stdout tty urandom zero x",
    ),
    ("write-out", "made product"),
    ("write-made", "x"),
    ("write-input", "Read-only file system"),
    ("write-new", "Read-only file system"),
    ("remove", "Read-only file system"),
    ("mount", "mount: /tmp:"),
    ("signal", "not permitted"),
    ("temporary", "x"),
    // The thread that starts it has the number before.
    ("processes", " 3"),
    ("init", "ermission denied"),
    ("nested", "ermission denied"),
    ("mounts", "/repo"),
    ("outside-of-folder", "No such file"),
    ("handle", "keys -1 38"),
    ("write-root", "/usr/new: Read-only file system"),
];

#[test]
fn what_exists_for_a_sealed_step() {
    for (who, launcher) in crate::sandbox::launchers() {
        let project = project();
        project.git(&["init", "-q", "."]);
        crate::sandbox::give(&project, &launcher);
        let said = sealed(&project, &launcher, ACTS);
        let act = |name: &str| {
            let lines = said.lines();
            let start = format!("act {name}: ");
            let line = lines.filter_map(|line| line.strip_prefix(&start)).next();
            line.unwrap_or_else(|| panic!("{who}, {name}: {said}"))
                .trim()
                .to_owned()
        };
        for (name, want) in SAID {
            let (got, want) = (act(name), want.trim());
            let is_whole = ![
                "mount",
                "signal",
                "processes",
                "temporary",
                "init",
                "nested",
                "mounts",
                "outside-of-folder",
                "handle",
            ]
            .contains(&name)
                && !want.contains("Read-only");
            assert!(
                if is_whole {
                    got == want
                } else {
                    got.contains(want)
                },
                "{who}, {name}: {said}"
            );
            assert!(!got.contains("done"), "{who}, {name}: {said}");
        }
        // Nothing but the toolchain, what a system has, and the way to the repository.
        let known = [
            "bin", "sbin", "lib", "lib32", "lib64", "usr", "etc", "proc", "dev", "tmp",
        ];
        let way = project.root();
        let way = way
            .components()
            .nth(1)
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .to_owned();
        let root = act("root");
        assert!(
            root.split(' ')
                .all(|name| known.contains(&name) || name == way),
            "{who}: {said}"
        );
        let user = if who == "as another user" {
            "65534 65534"
        } else {
            "0 0"
        };
        assert!(
            who == "as this user" || act("user") == user,
            "{who}: {said}"
        );
        assert!(said.contains("product Some(\"made\\n\")"), "{who}: {said}");
        // The repository itself is as it was.
        assert_eq!(project.read("src/a"), "a\n");
        assert_eq!(project.read("out/old"), "old\n");
        assert!(
            !project.exists("out/product") && !project.exists("src/made/x"),
            "{who}"
        );
    }
}

#[test]
fn where_it_cannot_have_namespaces_of_users() {
    let [_, user, ..] = &crate::sandbox::launchers()[..] else {
        return;
    };
    let launcher = [
        &user.1[..],
        &["unshare", "--user", "--map-root-user", "sh", "-c"],
        &["echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \"$@\"", "sh"],
    ].concat();
    let project = project();
    crate::sandbox::give(&project, &launcher);
    let said = sealed(&project, &launcher, "touch out/ran");
    assert!(
        said.contains("unconfined") && said.contains("max_user_namespaces"),
        "{said}"
    );
}

#[test]
fn a_root_of_its_own_to_write_in() {
    for (who, launcher) in crate::sandbox::launchers() {
        let project = project();
        crate::sandbox::give(&project, &launcher);
        let text = "mkdir out && echo made > out/product && echo x > new && rm new
            cat src/a one.txt; echo x > one.txt; rm link.txt one.txt; ls";
        let said = ended(&project, &launcher, text, "root");
        let want = [
            "product Some(\"made\\n\")",
            "a\none\n",
            "Read-only",
            "one.txt\nout\nsrc\n",
        ];
        assert!(want.iter().all(|want| said.contains(want)), "{who}: {said}");
        assert_eq!(project.read("one.txt"), "one\n", "{who}");
        assert!(
            project.exists("secret.txt") && !project.exists("out/product"),
            "{who}"
        );
    }
}

#[test]
fn what_is_declared_and_not_there_starts_nothing() {
    let project = project();
    std::fs::remove_file(project.path("one.txt")).unwrap();
    let said = sealed(&project, &[], "touch out/ran");
    assert!(said.contains("refused SANDBOX_FAILED"), "{said}");
    assert!(said.contains("No such file"), "{said}");
}

#[test]
fn how_a_sealed_step_ends() {
    for (who, launcher) in crate::sandbox::launchers() {
        let project = project();
        crate::sandbox::give(&project, &launcher);
        for (text, ending, want) in [
            ("exit 3", "itself", "exit Some(3) signal None leaked 0"),
            (
                "kill -SEGV $$",
                "itself",
                "exit None signal Some(\"SIGSEGV\") leaked 0",
            ),
            (
                "kill -TERM $$",
                "itself",
                "exit None signal Some(\"SIGTERM\") leaked 0",
            ),
            (
                "sleep 600 & exit 4",
                "itself",
                // How often one is counted that moves to another parent is left to chance.
                "exit Some(4) signal None leaked",
            ),
            (
                "setsid sh -c 'sleep 600 & sleep 600 & : > /tmp/up; wait' & \
                 until [ -e /tmp/up ]; do sleep 0.01; done; exit 5",
                "itself",
                "exit Some(5) signal None leaked",
            ),
            (
                "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done",
                "terminate",
                "exit Some(9) signal None leaked 0",
            ),
            (
                "trap '' TERM; echo up; sleep 600; sleep 600",
                "kill",
                "exit None signal Some(\"SIGKILL\") leaked 0",
            ),
            (
                "echo up; sleep 0.2; exit 7",
                "freeze",
                "exit Some(7) signal None leaked 0",
            ),
            ("/no/such/program", "itself", "exit Some(127)"),
        ] {
            let said = ended(&project, &launcher, text, ending);
            assert!(said.contains(want), "{who}, {text}: {said}");
            let is_silent = |said: &str| text.contains("600 &") && said.contains("leaked 0");
            assert!(!is_silent(&said), "{who}, {text}: {said}");
            // Who looks changes nothing.
            let said = ended(&project, &launcher, text, &format!("{ending}{SEEN}"));
            let is_seen = said.contains("gaps Some({})") && !is_silent(&said);
            assert!(said.contains(want) && is_seen, "{who}, {text}: {said}");
        }
        for ending in ["late".to_owned(), format!("late{SEEN}")] {
            let said = ended(&project, &launcher, "sleep 600", &ending);
            assert!(said.contains("stopped true"), "{who}: {said}");
        }
        // What ends a moment later is no leak; on a busy machine that moment may be long.
        let is_none = |_| {
            let said = ended(&project, &launcher, "sleep 0.01 & exit 6", "itself");
            assert!(
                said.contains("exit Some(6) signal None leaked"),
                "{who}: {said}"
            );
            said.contains("leaked 0")
        };
        assert!((0..50).any(is_none), "{who}");
    }
}

/// Returns the processes whose command line has a word.
pub fn with_word(word: &str) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words)
            .split('\0')
            .any(|one| one == word)
    };
    numbers.filter(has).collect()
}

#[test]
fn nothing_of_a_sealed_step_survives_all_that_started_it() {
    for (number, (who, launcher)) in crate::sandbox::launchers().into_iter().enumerate() {
        let project = project();
        crate::sandbox::give(&project, &launcher);
        let mark = format!("1000000.{}{number}", std::process::id());
        let text = format!("setsid sleep {mark} & trap '' TERM; sleep {mark}; true");
        let mut started = command(&project, &launcher, &text, "itself")
            .spawn()
            .unwrap();
        kill_all_that_started(&mut started, &mark, 2, who);
    }
}

/// Kills a process and its children, which started so many others with a word in their command lines, all
/// at once; then those have to end.
pub fn kill_all_that_started(started: &mut Child, mark: &str, count: usize, who: &str) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
    eventually(who, || with_word(mark).len() >= count);
    let pid = |number: i32| Pid::from_raw(number).unwrap();
    let held = with_word(mark)
        .into_iter()
        .map(|number| pidfd_open(pid(number), PidfdFlags::empty()).unwrap());
    let held: Vec<_> = held.collect();
    let threads = std::fs::read_dir(format!("/proc/{}/task", started.id())).unwrap();
    let children = threads
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children = children.collect::<String>();
    let supervisors = children
        .split_whitespace()
        .map(|number| pid(number.parse().unwrap()));
    let all = supervisors
        .chain([pid(started.id().cast_signed())])
        .collect::<Vec<_>>();
    assert!(all.len() > 1, "{who}: {children}");
    // Stopped first, so that none can do anything for the others.
    for signal in [Signal::STOP, Signal::KILL] {
        all.iter()
            .for_each(|pid| kill_process(*pid, signal).unwrap());
    }
    started.ended();
    for one in &held {
        let limit = Timespec::try_from(PATIENCE).unwrap();
        let mut fds = [PollFd::new(one, PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&limit)), Ok(1), "{who}: it lives");
    }
}

#[test]
fn where_it_cannot_be_sealed_it_does_not_start() {
    let project = project();
    project.write("../filter.py", crate::sandbox::FILTER);
    let filter = project.parent().join("filter.py");
    // unshare, mount, mount_setattr, pivot_root.
    for (calls, why) in [
        ("272:1", "namespaces"),
        ("272:28", "namespaces"),
        ("165:1", "files"),
        ("442:38", "files"),
        ("155:1", "files"),
    ] {
        let launcher = ["python3", "-I", filter.to_str().unwrap(), calls];
        let said = sealed(&project, &launcher, "touch out/ran");
        assert!(
            said.contains("refused SANDBOX_FAILED") && said.contains(why),
            "{calls}: {said}"
        );
        assert!(said.contains("product None"), "{calls}: {said}");
    }
}
