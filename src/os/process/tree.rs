//! Lists the descendants of this process, and signals them without hitting an unrelated process.

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitStatus, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal,
};
use std::collections::BTreeSet;

/// A process that was found below this one. Number and start time together identify a process,
/// because numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProcessIdentity {
    pub pid: i32,
    /// In clock ticks since boot.
    started: u64,
}

/// The fields of `/proc/PID/stat` that vplan reads.
struct Stat {
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
    threads: u32,
    started: u64,
}

impl Stat {
    /// Whether all its threads have ended. The state is that of the first thread, which can end
    /// before the others.
    fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

/// A child of this process that it has inherited.
pub(super) struct Orphan {
    pub seen: ProcessIdentity,
    /// Its process group; no other process's as long as this process has not waited for the orphan.
    pub group: i32,
    /// Whether it has ended, and is to be waited for.
    pub dead: bool,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{pid}/stat", pid = pid.as_raw_pid())).ok()?;
    parse_stat(&text)
}

/// Whether a process is stopped (SIGSTOP).
pub(super) fn is_stopped(pid: Pid) -> bool {
    stat(pid).is_some_and(|stat| stat.state == b'T')
}

/// Returns the process that traces this one, or 0.
pub(super) fn tracer() -> i32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok());
    number.unwrap_or(0)
}

/// Parses `/proc/PID/stat` (proc(5)): the second field is a name in parentheses and may contain
/// anything.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let threads = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        group,
        session,
        threads,
        started,
    })
}

/// Returns the children of a process, of all its threads.
fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read(thread.path().join("children")) {
            Ok(text) => found.extend(
                text.split(|b| *b == b' ')
                    .filter_map(|n| Pid::from_raw(std::str::from_utf8(n).ok()?.parse().ok()?)),
            ),
            // A thread that is gone has no children; a kernel without these files
            // (CONFIG_PROC_CHILDREN) needs the other method.
            Err(_) if thread.path().exists() => return children_by_scan(pid),
            Err(_) => {}
        }
    }
    found
}

fn children_by_scan(pid: Pid) -> Vec<Pid> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|e| Pid::from_raw(e.file_name().to_str()?.parse().ok()?))
        .filter(|child| stat(*child).is_some_and(|s| s.parent == pid.as_raw_pid()))
        .collect()
}

/// The signal for each process of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Do {
    /// SIGTERM, then SIGCONT, because a stopped process cannot end.
    Terminate,
    /// SIGKILL.
    Kill,
    /// SIGSTOP, unless it is stopped already.
    Freeze,
    /// SIGCONT.
    Thaw,
}

/// The process groups that one pass over the children of this process has ended.
///
/// In a chain of processes that fork and exit, each is gone by the time it is found. But all belong
/// to one group, and a signal to a group reaches all of it at once. It reaches no stranger: a group
/// is within one session, and the session of a supervisor's step contains no other process. Also,
/// no other group gets its number while a child of it has not been waited for.
pub(super) struct Groups {
    own: i32,
    killed: BTreeSet<i32>,
}

impl Groups {
    pub(super) fn new() -> Self {
        // Not by getpgrp(2): it returns 0 for a group of another PID namespace, which the binding
        // treats as impossible.
        let own = stat(rustix::process::getpid()).map_or(0, |s| s.group);
        Self {
            own,
            killed: BTreeSet::new(),
        }
    }

    /// Ends the group of a child that has not been waited for. Not this process's own, which a step
    /// of the same session can join; nor those of another PID namespace, which have no number
    /// here.
    pub(super) fn kill(&mut self, group: i32) {
        if let Some(pid) = Pid::from_raw(group)
            && group > 1
            && group != self.own
            && self.killed.insert(group)
        {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Whether a process with this number has been reached.
pub(super) fn has(reached: &BTreeSet<ProcessIdentity>, pid: Pid) -> bool {
    let pid = pid.as_raw_pid();
    reached
        .range(ProcessIdentity { pid, started: 0 }..)
        .next()
        .is_some_and(|seen| seen.pid == pid)
}

/// Whether it ended by SIGKILL, like everything that a sweep ends. This includes a process that was
/// killed with its group before it was found alive.
pub(super) fn was_killed(status: WaitStatus) -> bool {
    status.terminating_signal() == Some(Signal::KILL.as_raw())
}

/// Walks the trees below `roots`, children of this process, and calls `what` for each living
/// process that `of` admits. Adds the reached processes to `reached`, and counts the new ones; a
/// process that may not be signalled is not reached.
///
/// INVARIANT (no stranger): a signal goes to a process only while it is certain that the number
/// still names it. A child of this very process keeps its number until this process has waited for
/// it. Any other process is held by a descriptor first, and its parent is checked once more after
/// that. [`Groups`] says why those of children may be killed.
///
/// The newest first: of a chain that changes its group with each link only the newest lives, and
/// reading thousands of dead ones takes longer than a link does.
pub(super) fn walk(
    roots: &[Pid],
    what: Do,
    of: impl Fn(&ProcessIdentity) -> bool,
    reached: &mut BTreeSet<ProcessIdentity>,
) -> usize {
    let me = rustix::process::getpid();
    let mut new = 0;
    let mut todo: Vec<(Pid, Pid)> = roots.iter().map(|child| (*child, me)).collect();
    let mut visited = BTreeSet::new();
    let mut groups = Groups::new();
    while let Some((pid, parent)) = todo.pop() {
        if !visited.insert(pid.as_raw_pid()) {
            continue;
        }
        let Some(now) = stat(pid) else { continue };
        let seen = ProcessIdentity {
            pid: pid.as_raw_pid(),
            started: now.started,
        };
        // With the first process of a sealed step's namespaces all below it would end before it is counted.
        if what == Do::Kill && parent == me && of(&seen) {
            groups.kill(now.group);
        }
        if now.is_dead() {
            continue;
        }
        // Its children before itself: once it has been killed, they have moved up to this process.
        let below = children(pid);
        todo.extend(below.into_iter().map(|child| (child, pid)));
        let still = what == Do::Freeze && matches!(now.state, b'T' | b't');
        if still || !of(&seen) {
            continue;
        }
        if signal(pid, parent, (me, roots), what) && reached.insert(seen) {
            new += 1;
        }
    }
    new
}

/// Ends all that is below a child of this process, which is stopped first and is left to the caller.
///
/// This process does not inherit the descendants of such a child. So everything is held and stopped
/// before anything ends, and the newest ends first. A process that lost its parent earlier is not
/// below it.
pub(super) fn end_all_below(child: Pid) {
    let _ = kill_process(child, Signal::STOP);
    let mut held = Vec::new();
    let mut parents = vec![child];
    // Until a pass over all of them finds no new one: a process may have been made before its
    // parent stopped.
    let mut is_new = true;
    while std::mem::take(&mut is_new) {
        let mut at = 0;
        while let Some(parent) = parents.get(at).copied() {
            at += 1;
            let below = children(parent).into_iter();
            for below in below
                .filter(|below| !parents.contains(below))
                .collect::<Vec<_>>()
            {
                let Ok(fd) = pidfd_open(below, PidfdFlags::empty()) else {
                    continue;
                };
                if stat(below).is_some_and(|now| now.parent == parent.as_raw_pid()) {
                    let _ = pidfd_send_signal(&fd, Signal::STOP);
                    parents.push(below);
                    held.push(fd);
                    is_new = true;
                }
            }
        }
    }
    for fd in held.iter().rev() {
        let _ = pidfd_send_signal(fd, Signal::KILL);
    }
}

/// Returns the running children of this process.
pub(super) fn own_children() -> Vec<Pid> {
    children(rustix::process::getpid())
}

/// Returns the session of a process. 0 when the session's leader is outside this process's PID
/// namespace, as for everything that a container was started with: getsid(2) gives that 0 too, but
/// the binding takes a 0 for an impossible number.
pub(super) fn session(pid: Pid) -> Option<i32> {
    stat(pid).map(|s| s.session)
}

/// Describes a child that this process has inherited: one in another session. Processes that it
/// starts itself are in its own session, and no other process can join that. So a git that another
/// thread runs is not taken for an orphan.
pub(super) fn orphan(child: Pid, own: Option<i32>) -> Option<Orphan> {
    // A child that another thread has waited for is gone, and its number may belong to another
    // process.
    let me = rustix::process::getpid().as_raw_pid();
    let now = stat(child).filter(|now| now.parent == me && Some(now.session) != own)?;
    let seen = ProcessIdentity {
        pid: child.as_raw_pid(),
        started: now.started,
    };
    Some(Orphan {
        seen,
        group: now.group,
        dead: now.is_dead(),
    })
}

fn signal(pid: Pid, parent: Pid, (me, roots): (Pid, &[Pid]), what: Do) -> bool {
    let signals: &[Signal] = match what {
        Do::Terminate => &[Signal::TERM, Signal::CONT],
        Do::Kill => &[Signal::KILL],
        Do::Freeze => &[Signal::STOP],
        Do::Thaw => &[Signal::CONT],
    };
    if parent == me {
        return signals.iter().all(|s| kill_process(pid, *s).is_ok());
    }
    let held = pidfd_open(pid, PidfdFlags::empty());
    // An orphan's new parent is this process, or the first process of its namespaces, a child of
    // this one.
    let is_ours = |now: Pid| now == parent || now == me || roots.contains(&now);
    let belongs = stat(pid).is_some_and(|s| Pid::from_raw(s.parent).is_some_and(is_ours));
    if !belongs {
        return false;
    }
    match held {
        Ok(fd) => signals.iter().all(|s| pidfd_send_signal(&fd, *s).is_ok()),
        // Before Linux 5.3 there is no better way.
        Err(Errno::NOSYS) => signals.iter().all(|s| kill_process(pid, *s).is_ok()),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        let line = b"12 (a) Z 1 (b)) S 7 12 13 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1";
        let read = parse_stat(line).unwrap();
        assert_eq!(
            (read.state, read.parent, read.session, read.started),
            (b'S', 7, 13, 4242)
        );
        assert!(!read.is_dead());
        assert!(parse_stat(b"12 (a").is_none());
        assert!(parse_stat(b"").is_none());
    }

    #[test]
    fn a_process_without_its_first_thread_lives() {
        let line = |threads: u32| {
            format!("12 (a) Z 7 12 13 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 4242 1 1")
        };
        assert!(parse_stat(line(1).as_bytes()).unwrap().is_dead());
        assert!(!parse_stat(line(2).as_bytes()).unwrap().is_dead());
    }

    #[test]
    fn what_is_not_meant_does_not_end_with_its_group() {
        use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
        let mut command = std::process::Command::new("sleep");
        let mut child = command.arg("600").process_group(0).spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(walk(&[pid], Do::Kill, |_| false, &mut BTreeSet::new()), 0);
        kill_process(pid, Signal::TERM).unwrap();
        // A SIGKILL that had been sent before would have ended it.
        let ended = child.wait().unwrap().signal();
        assert_eq!(ended, Some(Signal::TERM.as_raw()));
    }

    #[test]
    fn this_process_knows_its_parent() {
        let me = stat(rustix::process::getpid()).unwrap();
        assert_eq!(me.parent, rustix::process::getppid().unwrap().as_raw_pid());
        assert!(children(rustix::process::getppid().unwrap()).contains(&rustix::process::getpid()));
    }
}
