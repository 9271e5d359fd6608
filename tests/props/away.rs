//! A report is the same wherever the steps of its plan are executed: generated contracts, with real steps,
//! here and elsewhere: in folders, by a server in this process, and by buildbox-casd.

use crate::away::{There, comparable};
#[cfg(feature = "remote")]
use crate::away_servers::casd::Casd;
#[cfg(feature = "remote")]
use crate::support::reapi::Server;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner, contextualize_config};
use vplan::arbitrary::config;

/// What a check does: its command, and what it says besides its inputs.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Copies its inputs to a folder of its own.
    Makes,
    /// Ends with this code, once it has said something.
    Exits(u8),
    /// Fails on its first try alone, where it can remember that: never elsewhere, nor sealed.
    Compares(usize),
    /// Is ended by a signal.
    Crashes,
    /// Writes what tests did.
    Tests(u8, u8),
    /// Leaves a process behind.
    Leaves,
    /// Is out of time.
    Sleeps,
    /// Is not there.
    Missing,
}

/// What a check says.
#[derive(Clone, Debug)]
struct Check {
    does: Does,
    /// Whether it depends on what the check before it makes, and needs it.
    uses: bool,
    /// Whether it has inputs, without which it stays here.
    has_inputs: bool,
    retries: u8,
    skips: bool,
    warning: bool,
    sandbox: &'static str,
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        5 => Just(Does::Makes),
        2 => (0..4_u8).prop_map(Does::Exits),
        4 => (0..3_usize).prop_map(Does::Compares),
        1 => Just(Does::Crashes),
        2 => (0..4_u8, 0..2_u8).prop_map(|(passed, failed)| Does::Tests(passed, failed)),
        1 => Just(Does::Leaves),
        1 => Just(Does::Sleeps),
        1 => Just(Does::Missing),
    ]
}

fn check() -> impl Strategy<Value = Check> {
    (
        does(),
        any::<bool>(),
        prop::bool::weighted(0.85),
        0..2_u8,
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop_oneof![3 => Just("none"), 1 => Just("files"), 1 => Just("sealed")],
    )
        .prop_map(
            |(does, uses, has_inputs, retries, skips, warning, sandbox)| Check {
                does,
                uses,
                has_inputs,
                retries,
                skips,
                warning,
                sandbox,
            },
        )
}

impl Check {
    fn text(&self, number: usize) -> String {
        let own = format!("out/{number}");
        let before = number.checked_sub(1).filter(|_| self.uses);
        let (verb, command) = match self.does {
            Does::Makes => (
                "run",
                format!("sh -c 'mkdir -p {own} && cat src/* > {own}/all && echo made {number}'"),
            ),
            Does::Exits(code) => ("run", format!("sh -c 'echo said >&2; exit {code}'")),
            Does::Compares(file) => ("run", format!("grep -q ok src/{file}")),
            Does::Crashes => ("run", "sh -c 'kill -SEGV $$'".to_owned()),
            Does::Tests(passed, failed) => ("test", format!("sh tap.sh {passed} {failed}")),
            Does::Leaves => ("run", "sh -c 'sleep 100 & exit 0'".to_owned()),
            Does::Sleeps => ("run", "sleep 100".to_owned()),
            Does::Missing => ("run", "no-such-program".to_owned()),
        };
        let mut lines = vec![format!("{verb} {command}")];
        let mut inputs = vec!["src/**".to_owned(), "tap.sh".to_owned()];
        if let Some(before) = before {
            inputs.push(format!("out/{before}/**"));
            lines.push(format!("needs c{before}"));
        }
        if self.has_inputs {
            let inputs: Vec<String> = inputs.iter().map(|glob| format!("{glob:?}")).collect();
            lines.push(format!("inputs {}", inputs.join(" ")));
            lines.push(format!("sandbox {}", self.sandbox));
        }
        if matches!(self.does, Does::Makes) {
            lines.push(format!("produces \"{own}/**\""));
        }
        if matches!(self.does, Does::Tests(..)) {
            lines.push("format tap".to_owned());
        }
        if matches!(self.does, Does::Sleeps) {
            lines.push("timeout 50ms".to_owned());
        }
        if self.retries > 0 {
            lines.push(format!("retries {}", self.retries));
        }
        if self.skips {
            lines.push("skip-exit 3".to_owned());
        }
        if self.warning {
            lines.push("severity warning".to_owned());
        }
        format!("check c{number} {{\n  {}\n}}\n", lines.join("\n  "))
    }
}

/// Where steps are executed that go.
#[derive(Clone, Copy, Debug)]
enum Place {
    Folders,
    /// A server in this process.
    Server,
    /// A real one, where it is on this machine.
    Casd,
}

/// The servers, started when a plan needs one.
#[derive(Default)]
struct Servers {
    #[cfg(feature = "remote")]
    own: std::cell::OnceCell<Server>,
    #[cfg(feature = "remote")]
    casd: std::cell::OnceCell<Option<Casd>>,
}

impl Servers {
    #[cfg(feature = "remote")]
    fn at(&self, there: There, place: Place) -> There {
        match place {
            Place::Folders => there,
            Place::Server => there.by(&self.own.get_or_init(Server::real).url),
            Place::Casd => match self.casd.get_or_init(Casd::start) {
                Some(casd) => there.by(&casd.address()),
                None => there,
            },
        }
    }

    #[cfg(not(feature = "remote"))]
    fn at(&self, there: There, _: Place) -> There {
        there
    }
}

/// Plans whose steps are executed here, elsewhere, or some of each.
fn plans() -> impl Strategy<Value = (Place, Vec<Check>, bool, u8, [bool; 3])> {
    (
        prop_oneof![
            11 => Just(Place::Folders),
            7 => Just(Place::Server),
            // A tenth of them.
            2 => Just(Place::Casd),
        ],
        prop::collection::vec(check(), 1..5),
        any::<bool>(),
        1..4_u8,
        any::<[bool; 3]>(),
    )
}

const TAP: &str = "n=$(($1 + $2)); echo 1..$n; i=0\nwhile [ $i -lt $1 ]; do i=$((i + 1)); echo ok $i - a; done\nwhile [ $i -lt $n ]; do i=$((i + 1)); echo not ok $i - b; done\n[ $2 = 0 ]\n";

#[test]
fn a_report_is_the_same_wherever() {
    // Each runs real programs twice: few, and more where `PROPTEST_CASES` asks for many of all.
    let asked = contextualize_config(config(6));
    let mut runner = TestRunner::new(Config {
        cases: (asked.cases / 2).clamp(6, 1000),
        max_shrink_iters: 16,
        ..asked
    });
    let servers = Servers::default();
    let law = |(place, mut checks, keep_going, jobs, ok): (_, Vec<Check>, bool, u8, [bool; 3])| {
        if matches!(place, Place::Casd) {
            // Its own sandbox lets no step confine itself further.
            checks.iter_mut().for_each(|check| check.sandbox = "none");
        }
        let checks = checks.iter().enumerate().map(|(n, check)| check.text(n));
        let contract = format!("vplan 1\n\n{}", checks.collect::<Vec<_>>().join("\n"));
        let text = |ok: bool| if ok { "ok\n" } else { "no\n" };
        let files = [
            ("src/0", text(ok[0])),
            ("src/1", text(ok[1])),
            ("src/2", text(ok[2])),
            ("tap.sh", TAP),
        ];
        let there = servers.at(There::with(&contract, &files), place);
        let jobs = jobs.to_string();
        let going: &[&str] = if keep_going { &["--keep-going"] } else { &[] };
        let elsewhere = there.report(&[going, &["--remote-jobs", &jobs]].concat());
        if there.project.exists("out") {
            there.project.remove("out");
        }
        let here = there.report_here(going);
        prop_assert_eq!(comparable(elsewhere), comparable(here), "{}", contract);
        prop_assert!(there.left().is_empty());
        Ok(())
    };
    if let Err(error) = runner.run(&plans(), law) {
        panic!("{error}");
    }
}
