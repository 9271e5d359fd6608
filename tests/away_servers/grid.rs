//! BuildGrid: a server whose actions others execute, `bot.py`, each in a sandbox of buildbox.

use super::casd::{SEEN, Started, free_port, listens, program};
use super::{CONTRACT, DOZES, begin, run, sleeping, statuses, step};
use crate::away::There;
use crate::support::eventually;
use crate::support::process::Bounded as _;
use crate::support::tree::have;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

const SETTINGS: &str = include_str!("grid.yml");
const BOT: &str = include_str!("bot.py");
/// PostgreSQL refuses to be root's.
const POSTGRES: &str = r#"set -eu
for bin in /usr/lib/postgresql/*/bin; do PATH=$bin:$PATH; done
as=
if [ "$(id -u)" = 0 ]; then chown postgres "$1"; as='setpriv --reuid=postgres --regid=postgres --clear-groups'; fi
$as initdb -D "$1/data" -A trust -U check --no-sync
exec $as postgres -D "$1/data" -k "$1" -h 127.0.0.1 -p "$2" -F
"#;

/// The server, its database, and those who execute. They end in this order.
struct Grid {
    bots: Vec<Started>,
    server: Started,
    _database: Started,
    port: u16,
    _folder: tempfile::TempDir,
    _data: tempfile::TempDir,
}

impl Grid {
    /// Starts it with so many bots, where there is all that it needs.
    fn start(bots: usize) -> Option<Self> {
        if !have(&["bgd", "buildbox-run", "bwrap", "psql", "setpriv", "strip"]) {
            return None;
        }
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (port, database_port) = (free_port(), free_port());
        let words = ["-c", POSTGRES, "sh", data.path().to_str().unwrap()];
        let mut command = Command::new("sh");
        command.args(words).arg(database_port.to_string());
        let log = folder.path().join("database.log");
        let mut database = Started::new(&mut command, &log);
        eventually("the database answers", || {
            assert!(!database.has_ended(), "{}", said(&log));
            let words = ["-h", "127.0.0.1", "-U", "check", "-c", "select 1"];
            let mut asked = Command::new("psql");
            let asked = asked.args(words).arg("-p").arg(database_port.to_string());
            let asked = asked.arg("postgres").stdin(Stdio::null());
            let asked = asked.stdout(Stdio::null()).stderr(Stdio::null());
            asked.status().unwrap().success()
        });
        let path = |name: &str| folder.path().join(name);
        let settings = SETTINGS
            .replace("PORT", &port.to_string())
            .replace("DATABASE", &database_port.to_string())
            .replace("FOLDER", folder.path().to_str().unwrap());
        std::fs::write(path("grid.yml"), settings).unwrap();
        std::fs::write(path("bot.py"), BOT).unwrap();
        let url = format!("postgresql+psycopg2://check@127.0.0.1:{database_port}/postgres");
        let log = path("tables.log");
        let mut tables = Command::new("bgd");
        let mut tables = Started::new(tables.args(["migrate", "apply", &url]), &log);
        assert!(tables.0.ended().success(), "{}", said(&log));
        let mut grid = Self {
            bots: Vec::new(),
            server: serve(folder.path(), port),
            _database: database,
            port,
            _folder: folder,
            _data: data,
        };
        (0..bots).for_each(|_| grid.add());
        Some(grid)
    }

    /// Ends the server, and starts it with what it has stored.
    fn restart(&mut self) {
        self.server.kill();
        self.server = serve(self._folder.path(), self.port);
    }

    /// Starts one more bot.
    fn add(&mut self) {
        let name = format!("bot{}", self.bots.len());
        let folder = self._folder.path();
        // What BuildGrid is installed for.
        let python = program("bgd").with_file_name("python");
        let mut command = Command::new(python);
        command.arg(folder.join("bot.py"));
        command.arg(format!("127.0.0.1:{}", self.port)).arg(&name);
        command.arg(folder).arg(program("buildbox-run"));
        command.args(SEEN.map(|path| format!("--ro-bind-mount={path}")));
        let log = folder.join(format!("{name}.log"));
        self.bots.push(Started::new(&mut command, &log));
    }

    fn address(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// The bot that executes something that has these words.
    fn runs(&self, words: &str) -> Option<usize> {
        let below = |bot: &Started| bot.below().iter().any(|(_, its)| its.contains(words));
        self.bots.iter().position(below)
    }
}

/// Starts the server of which a folder holds the settings.
fn serve(folder: &Path, port: u16) -> Started {
    let log = folder.join("server.log");
    let mut command = Command::new("bgd");
    command
        .args(["server", "start"])
        .arg(folder.join("grid.yml"));
    let mut server = Started::new(&mut command, &log);
    eventually("the server listens", || {
        assert!(!server.has_ended(), "{}", said(&log));
        listens(port)
    });
    server
}

fn said(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}

#[test]
#[ignore = "needs BuildGrid: `.ci/long servers` installs it and runs this"]
fn buildgrid_has_others_execute_steps() {
    let Some(grid) = Grid::start(2) else { return };
    let there = There::with(CONTRACT, &[]);
    let linux = [
        "--remote-property",
        "OSFamily=linux",
        "--remote-property",
        "ISA=x86-64",
    ];
    for more in [&[][..], &linux] {
        let report = run(&there, &grid.address(), more).json();
        assert_eq!(report["verdict"], "passed", "{report:#}");
        let place = &step(&report, "there")["place"];
        assert_eq!(place["engine"], "reapi");
        assert!(
            place["worker"].as_str().unwrap().starts_with("bot"),
            "{place}"
        );
        assert_eq!(place["orders"], 1);
    }
    // Nobody there has that.
    let ran = run(
        &there,
        &grid.address(),
        &[
            "--remote-property",
            "OSFamily=nothing",
            "--remote-queue",
            "2s",
        ],
    );
    ran.exits(5);
    let report = ran.json();
    let makes = step(&report, "makes");
    assert_eq!(
        (&makes["status"], &makes["reason"]),
        (&"errored".into(), &"away".into())
    );
    let why = makes["detail"].as_str().unwrap();
    assert!(why.contains("no machine there took it within 2s"), "{why}");
    // Nor has the server anything left to do for them.
    let report = run(&there, &grid.address(), &[]).json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
}

#[test]
#[ignore = "needs BuildGrid: `.ci/long servers` installs it and runs this"]
fn a_bot_that_is_gone_in_the_middle_changes_no_verdict() {
    let Some(mut grid) = Grid::start(1) else {
        return;
    };
    // Whoever is first there waits for its end; whoever is second ends at once.
    let there = sleeping("1h");
    let child = begin(&there, &grid.address());
    eventually("it sleeps there", || grid.runs("sleep 43211").is_some());
    let first = grid.runs("sleep 43211").unwrap();
    there.project.write("ended", "");
    grid.bots[first].kill();
    grid.add();
    eventually("another one sleeps", || grid.runs("sleep 43211") == Some(1));
    // An engine that goes away in the middle is no pass either.
    grid.server.kill();
    let ended = child.finished();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(5), "{report:#}");
    assert_eq!(statuses(&report), "slow:errored");
}

#[test]
#[ignore = "needs BuildGrid: `.ci/long servers` installs it and runs this"]
fn bots_do_nothing_once_a_run_is_over() {
    let Some(grid) = Grid::start(1) else { return };
    for (signal, limit, code) in [(Signal::INT, "1h", Some(130)), (Signal::KILL, "2s", None)] {
        let there = sleeping(limit);
        let mut child = begin(&there, &grid.address());
        drop(child.stdout.take());
        eventually("it sleeps there", || grid.runs("sleep 43211").is_some());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.ended().code(), code, "{signal:?}");
        eventually("nothing is left there", || grid.runs("").is_none());
    }
}

#[test]
#[ignore = "needs BuildGrid: `.ci/long servers` installs it and runs this"]
fn a_server_that_was_started_again_has_others_execute_what_it_was_given() {
    let Some(mut grid) = Grid::start(1) else {
        return;
    };
    let there = There::with(DOZES, &[]);
    let child = begin(&there, &grid.address());
    eventually("it runs there", || grid.runs("sleep 4.3211").is_some());
    grid.restart();
    grid.add();
    // It is asked again three times, within seconds: where it is slower to come back, there is no answer.
    let ended = child.finished();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    match ended.status.code() {
        Some(0) => assert_eq!(statuses(&report), "dozes:passed"),
        code => {
            assert_eq!(code, Some(5), "{report:#}");
            assert_eq!(statuses(&report), "dozes:errored");
        }
    }
    let report = run(&there, &grid.address(), &[]).json();
    assert_eq!(statuses(&report), "dozes:passed", "{report:#}");
}
