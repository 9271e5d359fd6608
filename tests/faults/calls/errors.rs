//! What if any one call fails?

use super::place::{Fault, Place, RUN, able};
use crate::faults::sweep::Sweep;

/// What a system may say of files, processes and pipes.
const ERRORS: [&str; 9] = [
    "EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "ENFILE", "EINTR", "ENOMEM",
];

/// What vplan asks of files. Not `close`: strace would leave the descriptor open, which no system
/// does, whatever it says.
const FILES: &str = "open,openat,openat2,write,writev,pwrite64,read,pread64,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,\
                     unlink,unlinkat,ftruncate,fallocate,flock,lseek,getdents64,newfstatat,fstat,statx,readlink,\
                     faccessat2,fchmod,fchmodat,chdir,fchdir,pipe2,dup2,fcntl,socketpair,sendmsg,recvmsg,eventfd2,\
                     epoll_create1,epoll_ctl,utimensat,prctl,copy_file_range";

/// What waits or transfers, and may be interrupted by a signal: whoever is, asks again.
const INTERRUPTIBLE: [&str; 9] = [
    "openat",
    "openat2",
    "write",
    "read",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fallocate",
    "flock",
];

fn each(name: &'static str, fast: u64, everyone: bool, errors: &[&str], kinds: &str) {
    if !able(name) {
        return;
    }
    let place = Place::three();
    let points = place.points(kinds, everyone, &RUN, 0);
    let total = (points.len() * errors.len()) as u64;
    let mut sweep = Sweep::new(name, fast, total);
    while let Some(case) = sweep.next() {
        let at = usize::try_from(case.point(total)).unwrap();
        let ((calls, nth), error) = (&points[at / errors.len()], errors[at % errors.len()]);
        let about = format!("{calls} {nth} fails with {error}");
        place.clear();
        let before = place.runs();
        let fault = Fault::new(calls, &format!("error={error}"), *nth);
        let ran = place.traced(&if everyone { fault.everywhere() } else { fault }, &RUN);
        if ran.hit.is_empty() {
            sweep.count("calls not there", 1);
            assert_eq!(ran.exit, Some(0), "{about}: {ran:#?}");
        } else if ran.impossible() {
            sweep.count("faults that no system has", 1);
        } else if ran.not_loaded() {
            sweep.count("not even loaded", 1);
        } else {
            ran.owns_up();
            place.run_holds(&ran, &before, &about);
            let passed = ran.exit == Some(0);
            if error == "EINTR" && !everyone && INTERRUPTIBLE.contains(&calls.as_str()) {
                assert!(passed, "not asked again: {about}: {ran:#?}");
                sweep.count("interrupted calls asked again", 1);
            }
            sweep.count(
                if passed {
                    "passed all the same"
                } else {
                    "refused or incomplete"
                },
                1,
            );
        }
        place.is_left_alone();
        if case.number % 16 == 0 {
            place.goes_on(&about);
        }
        case.held();
    }
    let (passed, refused) = (
        sweep.seen("passed all the same"),
        sweep.seen("refused or incomplete"),
    );
    // Most calls can be done without: a few cases may all be of that kind.
    assert!(refused > 0 || passed > 0 && !sweep.whole());
}

/// Each call of vplan's own, with each error: no pass without its evidence, no panic, no damaged
/// file, never a hang.
#[test]
fn of_vplan() {
    each("faults::calls::errors::of_vplan", 20, false, &ERRORS, FILES);
}

/// The same call of every process: git's, the supervisors', the steps'.
#[test]
fn of_everyone() {
    each(
        "faults::calls::errors::of_everyone",
        12,
        true,
        &["EIO", "ENOMEM", "EINTR"],
        FILES,
    );
}

/// A disk that does not take what was written: what may be lost is no pass, whatever a second try
/// says.
#[test]
fn of_every_sync() {
    let name = "faults::calls::errors::of_every_sync";
    if !able(name) {
        return;
    }
    let place = Place::three();
    let points = place.points("fsync,fdatasync", false, &RUN, 0);
    let mut sweep = Sweep::new(name, 8, points.len() as u64);
    while let Some(case) = sweep.next() {
        let (calls, nth) = &points[usize::try_from(case.point(points.len() as u64)).unwrap()];
        let about = format!("every {calls} from {nth} on fails");
        place.clear();
        let before = place.runs();
        let fault = Fault {
            nth: None,
            what: format!("error=EIO:when={nth}+"),
            ..Fault::new(calls, "", 0)
        };
        let ran = place.traced(&fault, &RUN);
        ran.owns_up();
        place.run_holds(&ran, &before, &about);
        assert_eq!(ran.exit == Some(0), ran.hit.is_empty(), "{about}: {ran:#?}");
        sweep.count(
            if ran.hit.is_empty() {
                "syncs not there"
            } else {
                "never a pass"
            },
            1,
        );
        place.goes_on(&about);
        case.held();
    }
    assert!(sweep.seen("never a pass") + sweep.seen("syncs not there") > 0);
}
