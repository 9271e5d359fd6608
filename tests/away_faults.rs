//! A server of the Remote Execution API that fails in every way, in this process: what comes of a try, and how often
//! it is sent.

use crate::support::process::eventually;
use crate::support::reapi::{Fault, Server};
use crate::support::there::{MADE, Site, ends, truthful};
use std::collections::BTreeMap;
use std::time::Duration;
use vplan::away::answer::LeftFile;
use vplan::base::canon::Digest;
use vplan::base::path::RepoPath;
use vplan::check::evidence::UNANSWERED;
use vplan::effect::os::process::stop::{StopLevel, StopRequest};
use vplan::effect::runner::remote::{CameBack, ReapiTransport, UnusableServer};
use vplan::reuse::key::Print;

/// What is expected: that the answer counts, after so many orders; or why none did.
#[derive(Clone, Copy, Debug)]
enum End {
    Came(u32),
    Lost(&'static str),
}

use End::{Came, Lost};

fn no_stop() -> StopRequest {
    StopRequest::new().unwrap()
}

/// Holds an end against what is expected of it.
fn holds(end: End, came: &CameBack, code: i32, made: Option<&str>, of: &str) {
    let evidence = &came.tried.evidence;
    match end {
        Came(orders) => {
            assert_eq!(evidence.spawn_error, None, "{of}");
            assert_eq!(evidence.exit, Some(code), "{of}");
            assert_eq!(came.place.orders, Some(orders), "{of}");
            assert_eq!(came.place.engine, "reapi");
            assert_eq!(made, (code == 0).then_some(MADE), "{of}");
        }
        Lost(why) => {
            let error = evidence.spawn_error.as_ref();
            let error = error.unwrap_or_else(|| panic!("{of}: it counts"));
            assert_eq!(error.code, UNANSWERED, "{of}");
            let said = "no answer that counts came from where it was sent: ";
            assert_eq!(error.message.strip_prefix(said), Some(why), "{of}");
            assert_eq!((evidence.exit, made), (None, None), "{of}");
        }
    }
}

/// Sends a step that passes and one that fails to a server with these faults. Returns how often each was executed.
fn ends_so(server: &Server, faults: &[Option<Fault>], end: End) -> usize {
    let waits = faults
        .iter()
        .flatten()
        .any(|fault| matches!(fault, Fault::Queued));
    let site = Site::new(server, |settings| {
        if waits {
            settings.queue = Duration::from_millis(50);
        }
    });
    let executed = [0, 7].map(|code| {
        server.forget();
        server.fails([None]);
        // The one before, for a server that gives its result again.
        site.execute(&ends(0), &no_stop());
        site.clear();
        server.fails(faults.to_vec());
        let came = site.execute(&ends(code), &no_stop());
        holds(
            end,
            &came,
            code,
            site.made().as_deref(),
            &format!("{faults:?}"),
        );
        server.executed()
    });
    assert_eq!(executed[0], executed[1], "{faults:?}");
    executed[0]
}

/// Of small contents so many are more than what every server takes in one message.
const MANY: usize = 55_000;

#[test]
fn many_small_files_are_sent() {
    let server = Server::made_up(truthful);
    let site = Site::new(&server, |_| {});
    site.fill(MANY);
    let came = site.execute(&ends(0), &no_stop());
    holds(Came(1), &came, 0, site.made().as_deref(), "many");
}

#[test]
#[ignore = "it writes 55,000 files: .ci/long servers"]
fn many_small_products_come_back() {
    let server = Server::made_up(|order| {
        let (mut answer, _) = truthful(order);
        let left = answer.products.pop().unwrap();
        let contents: Vec<String> = (0..MANY).map(|number| format!("-{number}")).collect();
        let products = contents.iter().map(|content| LeftFile {
            path: RepoPath::parse(format!("out/{content}").as_bytes()).unwrap(),
            size: content.len() as u64,
            print: Print {
                content: Some(Digest::hash(content.as_bytes())),
                ..left.print.clone()
            },
        });
        // In the order of their paths.
        let products: BTreeMap<_, _> = products.map(|left| (left.path.clone(), left)).collect();
        answer.products = products.into_values().collect();
        let contents = contents.into_iter().map(String::into_bytes);
        (answer, contents.collect())
    });
    let site = Site::new(&server, |_| {});
    let came = site.execute(&ends(0), &no_stop());
    assert_eq!(came.tried.evidence.exit, Some(0));
    assert_eq!(site.left(), MANY);
}

#[test]
fn each_fault_has_its_end() {
    use Fault::*;
    let server = Server::made_up(truthful);
    let (gone, no_answer) = (
        Lost("Unavailable: it said no more"),
        "it left no answer, and ended there with exit code 0",
    );
    let other = "it is the answer to another order";
    // What is wrong with each execution, the end, and the number of executions.
    let table: Vec<(Vec<Option<Fault>>, End, usize)> = vec![
        (vec![None], Came(1), 1),
        // The connection.
        (vec![Some(Cut(0)), None], Came(1), 2),
        (vec![Some(Cut(1)), None], Came(1), 1),
        (vec![Some(Cut(2)), None], Came(1), 1),
        (vec![Some(Broken(0)), None], Came(1), 2),
        (vec![Some(Broken(1))], Came(1), 1),
        (vec![Some(Broken(2))], Came(1), 1),
        (vec![Some(Forgotten(1)), None], Came(1), 2),
        (vec![Some(Forgotten(2)), None], Came(1), 2),
        (vec![Some(Cut(0))], gone, 8),
        // Its words.
        (vec![Some(NoStage)], Came(1), 1),
        (vec![Some(NoResponse)], Lost(no_answer), 2),
        (vec![Some(Garbage), None], Came(2), 2),
        (vec![Some(Empty)], Lost(no_answer), 2),
        (vec![Some(Empty), None], Came(2), 2),
        (vec![Some(Earlier)], Lost(other), 2),
        (
            vec![Some(Queued)],
            Lost("no machine there took it within 50ms"),
            1,
        ),
        // The answer.
        (
            vec![Some(Answer(|a| a.nonce = "0".repeat(32)))],
            Lost(other),
            2,
        ),
        (
            vec![Some(Answer(|a| {
                a.order = vplan::base::canon::Digest::hash(b"x")
            }))],
            Lost(other),
            2,
        ),
        (
            vec![Some(Answer(|a| a.vplan = "0.0.1".to_owned()))],
            Lost("it is the answer of vplan 0.0.1, and this is 0.1.0"),
            1,
        ),
        (
            vec![Some(Misnamed)],
            Lost("DataLoss: a content is not the one that was named"),
            2,
        ),
        // Contents.
        (
            vec![Some(Short)],
            Lost("DataLoss: a content is not the one that was named"),
            2,
        ),
        (
            vec![Some(Long)],
            Lost("DataLoss: a content is not the one that was named"),
            2,
        ),
        (vec![Some(Evicted)], Lost("NotFound: no such content"), 2),
        (vec![Some(Evicted), None], Came(2), 2),
        (vec![Some(LostInputs), None], Came(1), 2),
        (vec![Some(LostInputs), Some(LostInputs), None], Came(1), 3),
        (
            vec![Some(LostInputs)],
            Lost("FailedPrecondition: an input is not there"),
            6,
        ),
        (vec![Some(HasAll), None], Came(1), 2),
        (vec![Some(HasNothing)], Came(1), 1),
        (vec![Some(NoUpload(14, 1))], Came(1), 1),
        (
            vec![Some(NoUpload(14, usize::MAX))],
            Lost("Unavailable: no upload"),
            0,
        ),
        (
            vec![Some(NoUpload(7, usize::MAX))],
            Lost("PermissionDenied: no upload"),
            0,
        ),
    ];
    for (faults, end, executions) in table {
        assert_eq!(ends_so(&server, &faults, end), executions, "{faults:?}");
    }
    for at in [0, 500, 999] {
        let why = Lost("DataLoss: a content is not the one that was named");
        assert_eq!(ends_so(&server, &[Some(Turned(at))], why), 2);
    }
}

#[test]
fn each_status_has_its_end() {
    let server = Server::made_up(truthful);
    type WithStatus = fn(i32) -> Fault;
    let ways: [(WithStatus, &str); 3] = [
        (Fault::Refused, "refused"),
        (Fault::Error, "error"),
        (Fault::Ended, "ended"),
    ];
    for (fault, message) in ways {
        let said = |name: &str| Lost(format!("{name}: {message}").leak());
        for (code, name, executions) in [
            (14, "Unavailable", 8),
            (8, "ResourceExhausted", 8),
            (10, "Aborted", 8),
            (2, "Unknown", 8),
            (9, "FailedPrecondition", 6),
            (5, "NotFound", 6),
            (13, "Internal", 6),
            (1, "Cancelled", 2),
            (4, "DeadlineExceeded", 2),
            (6, "AlreadyExists", 2),
            (3, "InvalidArgument", 1),
            (7, "PermissionDenied", 1),
            (12, "Unimplemented", 1),
            (16, "Unauthenticated", 1),
        ] {
            let faults = [Some(fault(code))];
            assert_eq!(
                ends_so(&server, &faults, said(name)),
                executions,
                "{faults:?}"
            );
            let once = [Some(fault(code)), None];
            match executions {
                1 => _ = ends_so(&server, &once, said(name)),
                2 => _ = ends_so(&server, &once, Came(2)),
                _ => assert_eq!(ends_so(&server, &once, Came(1)), 2, "{once:?}"),
            }
        }
    }
}

#[test]
fn a_torn_answer_is_none() {
    let server = Server::made_up(truthful);
    let site = Site::new(&server, |_| {});
    for part in (0..1000).step_by(7) {
        server.fails([Some(Fault::Torn(part))]);
        let came = site.execute(&ends(0), &no_stop());
        assert!(came.tried.evidence.spawn_error.is_some(), "{part}");
        assert_eq!(site.made(), None, "{part}");
    }
}

#[test]
fn a_server_that_cannot_is_not_used() {
    let server = Server::made_up(truthful);
    let check = || {
        let settings = crate::support::there::settings(&server, "/bin/true".as_ref());
        ReapiTransport::new(settings).unwrap().check()
    };
    assert!(check().is_ok());
    server.fails([Some(Fault::NoExecution)]);
    assert!(matches!(check(), Err(UnusableServer::Capabilities(_))));
    server.fails([Some(Fault::Api3)]);
    assert!(matches!(check(), Err(UnusableServer::Capabilities(_))));
    server.fails([Some(Fault::OtherDigests)]);
    assert!(matches!(check(), Err(UnusableServer::Capabilities(_))));
    server.fails([Some(Fault::Unknown)]);
    let refused = check().unwrap_err();
    // What it says moves no cursor.
    assert!(
        matches!(&refused, UnusableServer::Refused(said) if !said.contains('\x1b')),
        "{refused}"
    );
}

#[test]
fn what_is_there_is_not_sent_again() {
    let server = Server::made_up(truthful);
    let site = Site::new(&server, |_| {});
    site.execute(&ends(0), &no_stop());
    let first = server.uploaded();
    site.execute(&ends(0), &no_stop());
    // The order, the folder that it is in, the root above, and the action.
    assert_eq!(server.uploaded() - first, 4);
    // Another vplan asks, and need not send the rest either.
    let other = Site::new(&server, |_| {});
    other.execute(&ends(0), &no_stop());
    assert_eq!(server.uploaded() - first, 8);
}

#[test]
fn a_stop_ends_what_waits() {
    let server = Server::made_up(truthful);
    for fault in [Fault::Queued, Fault::Silent] {
        server.fails([Some(fault.clone())]);
        let site = Site::new(&server, |_| {});
        let stop = no_stop();
        let came = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| site.execute(&ends(0), &stop));
            if matches!(fault, Fault::Queued) {
                eventually("it was asked for", || server.executed() == 1);
            }
            stop.ask(StopLevel::Asked);
            waiting.join().unwrap()
        });
        holds(Lost("it was stopped"), &came, 0, None, "stopped");
    }
}
