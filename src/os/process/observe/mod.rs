//! Observes a step: which files it reads, searches for, lists and writes, and what it connects to.
//!
//! The step runs under a filter that traps the calls that take a path or the name of a socket
//! (`calls`). Each call waits until the supervisor has read its arguments and resolved the file as
//! the step will (`look`). Then the call continues, and its effect is noted (`noted`). What the
//! system opens by itself to execute a program is found by reading the program (`program`).
//!
//! Observation restricts only io_uring, whose calls no filter can trap: they fail as unsupported.
//! Also, a filter requires that programs cannot gain privileges by their file (setuid), unless
//! vplan has privileges itself. Observation proves nothing: a path can change between the lookup
//! and the call, and a program can hide its effects on purpose. Known gaps are recorded as [`Gap`].
//!
//! Left out: `/proc`, `/sys` and `/dev` (but `/dev/shm`), pipes and files that were removed; times,
//! modes, owners and attributes.

mod calls;
mod look;
mod noted;
mod peer;
mod program;

use super::filter::ARCHITECTURE;
use super::sys::{self, Trapped};
use crate::parallel::locked;
use crate::retry_eintr::open;
use calls::{CallArguments, NameAt, PathAt, asked};
use look::{Looked, View, link};
use noted::Noted;
use peer::Name;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use vplan_base::word::Word;
use vplan_check::observed::{Gap, Peer};

/// The longest path (`PATH_MAX`).
const PATH: usize = 4096;
/// Maximum number of remembered names of programs.
const NAMES: usize = 4096;
/// Maximum number of programs that execute one another (`#!` of a script of scripts).
const SCRIPTS: usize = 6;
/// Maximum number of examined messages in one call.
const MESSAGES: u64 = 1024;
/// `ENOSYS`.
const NO_SUCH_CALL: i32 = 38;

/// Observes one step.
pub(super) struct Observer {
    /// Receives trapped calls. `None` if there are none, or no longer any.
    listener: Option<OwnedFd>,
    /// The thread that starts the step, to which the filter applies as well.
    starter: Option<u32>,
    /// The step's program, until it is executed. Before that, the step's process is a copy of this
    /// one, whose memory cannot be read.
    first: Option<Vec<u8>>,
    /// The root and the mounts of the step's program: those of this process, unless the step has
    /// its own.
    own_root: Option<RootOf>,
    /// Resolves its paths.
    view: View,
    /// Whether a process may have another root than the step's program.
    is_wary: bool,
    /// The names of the programs of threads.
    programs: BTreeMap<u32, Word>,
    noted: Noted,
}

/// Identifies the root of a process.
type RootOf = (Vec<u8>, u64);

fn root_of(process: &str) -> Option<RootOf> {
    let root = link(format!("/proc/{process}/root").as_bytes()).ok()?;
    let mounts = std::fs::metadata(format!("/proc/{process}/ns/mnt")).ok()?;
    Some((root, mounts.ino()))
}

/// The observed request of a trapped call.
enum SeenCall {
    Opened(Looked, OFlags),
    /// A program, and the files that the system opens for it.
    Executed(Vec<Looked>),
    Sought(Looked),
    LinkRead(Looked),
    Made(Looked, bool),
    Changed(Looked),
    Named(Looked, Looked, bool),
    Connected(Vec<(Peer, bool)>),
    Bound(Vec<u8>),
}

/// Why a call shows nothing.
enum Unseen {
    /// It will fail, it concerns something without a name, or it has no effect.
    Nothing,
    Gap(fn(Word) -> Gap),
}

impl From<Errno> for Unseen {
    fn from(error: Errno) -> Self {
        if matches!(error, Errno::PERM | Errno::ACCESS) {
            Self::Gap(Gap::Unreadable)
        } else {
            Self::Nothing
        }
    }
}

/// Starts a step by `spawn`, under observation if the system supports it. `program`: the absolute
/// path of the first program.
///
/// The filter holds for a thread and what it starts, so `spawn` is called in a thread of its own,
/// which ends at once. Its calls are answered here meanwhile: starting a process opens files too.
pub(super) fn begin<S>(root: &[u8], program: Vec<u8>, spawn: S) -> (io::Result<Pid>, Observer)
where
    S: FnOnce() -> io::Result<Pid> + Send + 'static,
{
    let mut observer = Observer::waiting(root, program);
    let leader = observer.start(spawn);
    (leader, observer)
}

/// Descriptors for an observer in another process: the listener of trapped calls, the root, and the
/// mounts.
pub(super) type Handed = [OwnedFd; 3];

/// Starts a step by `spawn` with trapped calls, in a process that has the step's root. First it
/// hands over the observer's descriptors, or why there are none. Then the calls wait for the
/// observer.
pub(super) fn begin_for_another(
    spawn: impl FnOnce() -> io::Result<Pid> + Send,
    hand_over: impl FnOnce(io::Result<Handed>) -> io::Result<()>,
) -> io::Result<Pid> {
    let (root, mounts) = (
        open(CWD, "/", OFlags::PATH | OFlags::DIRECTORY)?,
        open(CWD, "/proc/self/ns/mnt", OFlags::RDONLY)?,
    );
    std::thread::scope(|scope| {
        let (say, heard) = channel();
        // The filter holds for a thread and what it starts, and this thread must hand over the
        // listener.
        let starter = move || {
            let _ = say.send(trap());
            spawn()
        };
        let starter = std::thread::Builder::new().spawn_scoped(scope, starter)?;
        let gone = || io::Error::from(io::ErrorKind::Other);
        let listener = heard.recv().map_err(|_| gone())?;
        hand_over(listener.map(|listener| [listener, root, mounts]))?;
        starter.join().map_err(|_| gone())?
    })
}

/// Returns the absolute path of the first program, in this directory.
pub(super) fn first_program(dir: &OwnedFd, program: &[u8]) -> Vec<u8> {
    let dir = link(format!("/proc/self/fd/{}", dir.as_raw_fd()).as_bytes());
    join(&dir.unwrap_or_default(), program)
}

fn take<T>(from: &Mutex<Option<T>>) -> Option<T> {
    locked(from).take()
}

/// Installs the filter for this thread. If its privileges suffice for that, the step keeps them;
/// otherwise `no_new_privs` is set.
fn trap() -> io::Result<OwnedFd> {
    let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
    let filter = calls::filter(architecture);
    match sys::trap_calls(&filter) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rustix::thread::set_no_new_privs(true)?;
            sys::trap_calls(&filter)
        }
        trapped => trapped,
    }
}

fn why(error: &io::Error) -> String {
    if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) {
        return "vplan itself is observed, or runs where calls are trapped already".to_owned();
    }
    format!("the system does not let vplan trap calls: {error}")
}

impl Observer {
    /// Makes one that waits for a step to be started.
    pub(super) fn waiting(root: &[u8], program: Vec<u8>) -> Self {
        Self {
            listener: None,
            starter: None,
            first: Some(program),
            own_root: root_of("self"),
            view: View::default(),
            is_wary: false,
            programs: BTreeMap::new(),
            noted: Noted::new(root),
        }
    }

    /// Takes the result of [`begin_for_another`], and answers calls until `done` becomes readable.
    /// `starter`: the process that called it.
    pub(super) fn attach(
        &mut self,
        handed: io::Result<Handed>,
        starter: Pid,
        done: &OwnedFd,
    ) -> io::Result<()> {
        let [listener, root, mounts] = match handed {
            Ok(handed) => handed,
            Err(error) => {
                self.noted.gap(Gap::Unavailable(why(&error)));
                return Ok(());
            }
        };
        self.own_root = Some((b"/".to_vec(), fstat(&mounts)?.st_ino));
        self.view = View::below(root);
        self.listener = Some(listener);
        self.starter = other_thread(starter);
        self.serve_until(done)?;
        self.starter = None;
        Ok(())
    }

    fn start<S>(&mut self, spawn: S) -> io::Result<Pid>
    where
        S: FnOnce() -> io::Result<Pid> + Send + 'static,
    {
        let spawn = Arc::new(Mutex::new(Some(spawn)));
        let leader = self.start_trapped(&spawn);
        leader.unwrap_or_else(|error| {
            self.noted.gap(Gap::Unavailable(why(&error)));
            take(&spawn).map_or_else(|| Err(error), |spawn| spawn())
        })
    }

    /// Calls `spawn` with trapped calls. An error if it was not called.
    fn start_trapped<S>(&mut self, spawn: &Arc<Mutex<Option<S>>>) -> io::Result<io::Result<Pid>>
    where
        S: FnOnce() -> io::Result<Pid> + Send + 'static,
    {
        let done = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (ring, spawn) = (done.try_clone()?, Arc::clone(spawn));
        let (say, heard) = channel();
        let (give, given) = channel();
        let starter = move || match trap() {
            Ok(listener) => {
                let own = rustix::thread::gettid().as_raw_pid().cast_unsigned();
                let _ = say.send(Ok((listener, own)));
                if let Some(spawn) = take(&spawn) {
                    let _ = give.send(spawn());
                }
                let _ = rustix::io::write(&ring, &1_u64.to_ne_bytes());
            }
            Err(error) => drop(say.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("starter".to_owned());
        // The thread is not waited for: its calls at its end are trapped too.
        drop(thread.spawn(starter)?);
        let gone = |_| io::Error::from(io::ErrorKind::Other);
        let (listener, starter) = heard.recv().map_err(gone)??;
        (self.listener, self.starter) = (Some(listener), Some(starter));
        self.serve_until(&done)?;
        self.starter = None;
        given.recv().map_err(gone)
    }

    fn serve_until(&mut self, done: &OwnedFd) -> io::Result<()> {
        while let Some(listener) = &self.listener {
            let mut fds = [
                PollFd::new(listener, PollFlags::IN),
                PollFd::new(done, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [trapped, done] = fds.map(|fd| fd.revents());
            self.ready(trapped);
            if !done.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the descriptor to poll for trapped calls, while there can be any.
    pub(super) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(|listener| listener.as_fd())
    }

    /// Answers a trapped call, if the poll reported one.
    pub(super) fn ready(&mut self, polled: PollFlags) {
        if polled.contains(PollFlags::IN) {
            self.serve();
        } else if polled.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            // The filter no longer applies to any process.
            self.listener = None;
        }
    }

    fn serve(&mut self) {
        let Some(Ok(trapped)) = self.listener.as_ref().map(sys::next_trapped) else {
            return;
        };
        let asked = asked(&trapped);
        let program = self.program(trapped.pid);
        let seen = self.see(&trapped, asked);
        let error = (asked == CallArguments::Ring).then_some(NO_SUCH_CALL);
        let Some(listener) = &self.listener else {
            return;
        };
        // If the thread is no longer waiting, its number may have belonged to another one during
        // the lookup.
        if !sys::answer_trapped(listener, trapped.id, error) {
            return;
        }
        if matches!(asked, CallArguments::Execute(_)) {
            self.programs.remove(&trapped.pid);
        }
        self.note(seen, &program);
    }

    /// Returns the name of a thread's program: that of its file.
    fn program(&mut self, pid: u32) -> Word {
        if let Some(program) = &self.first {
            return base_name(program);
        }
        if let Some(name) = self.programs.get(&pid) {
            return name.clone();
        }
        let name = match link(format!("/proc/{pid}/exe").as_bytes()) {
            Ok(path) => base_name(path.strip_suffix(b" (deleted)").unwrap_or(&path)),
            Err(_) => {
                let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
                Word::new(name.trim_ascii_end())
            }
        };
        if self.programs.len() >= NAMES {
            self.programs.clear();
        }
        self.programs.insert(pid, name.clone());
        name
    }

    fn see(&mut self, trapped: &Trapped, asked: CallArguments) -> Result<SeenCall, Unseen> {
        let pid = trapped.pid;
        if self.starter == Some(pid) {
            return Err(Unseen::Nothing);
        }
        let is_start = matches!(asked, CallArguments::Execute(_));
        if self.first.is_some() {
            let first = if is_start { self.first.take() } else { None };
            let first = first.ok_or(Unseen::Nothing)?;
            return Ok(SeenCall::Executed(executed(&self.view, first, b"/")));
        }
        self.is_wary |= asked == CallArguments::Root;
        if self.is_wary || is_start {
            let root = root_of(&pid.to_string());
            if root.is_none() {
                return Err(Unseen::Gap(Gap::Unreadable));
            }
            if root != self.own_root {
                self.is_wary = true;
                return Err(Unseen::Gap(Gap::OtherRoot));
            }
        }
        read_call(&self.view, pid, asked)
    }

    fn note(&mut self, seen: Result<SeenCall, Unseen>, program: &Word) {
        let noted = &mut self.noted;
        match seen {
            Err(Unseen::Nothing) => {}
            Err(Unseen::Gap(gap)) => noted.gap(gap(program.clone())),
            Ok(SeenCall::Opened(looked, flags)) => noted.opened(&looked, flags, program),
            Ok(SeenCall::Executed(all)) => {
                for looked in &all {
                    noted.opened(looked, OFlags::RDONLY, program);
                }
            }
            Ok(SeenCall::Sought(looked)) => noted.sought(&looked, program),
            Ok(SeenCall::LinkRead(looked)) => noted.link_read(&looked, program),
            Ok(SeenCall::Made(looked, is_folder)) => noted.made(&looked, is_folder, program),
            Ok(SeenCall::Changed(looked)) => noted.changed(&looked, program),
            Ok(SeenCall::Named(from, to, stays)) => noted.add_name(&from, &to, stays, program),
            Ok(SeenCall::Connected(peers)) => {
                for (peer, is_there) in peers {
                    noted.connected(peer, is_there, program);
                }
            }
            Ok(SeenCall::Bound(name)) => noted.bound(&name),
        }
    }

    /// Writes the observed effects; nothing at all if that fails.
    pub(super) fn finish(self, to: OwnedFd) {
        let file = File::from(to);
        let mut buffered = BufWriter::new(&file);
        let written = self.noted.observed.write(&mut buffered);
        if written.and_then(|()| buffered.flush()).is_err() {
            drop(buffered.into_parts());
            let _ = file.set_len(0);
        }
    }
}

fn base_name(path: &[u8]) -> Word {
    Word::new(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default())
}

/// Returns the thread of a process that is not its first one.
fn other_thread(process: Pid) -> Option<u32> {
    let first = process.as_raw_pid().cast_unsigned();
    let threads = std::fs::read_dir(format!("/proc/{first}/task")).ok()?;
    let mut threads = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    threads.find(|thread| *thread != first)
}

/// Looks into a call.
fn read_call(view: &View, pid: u32, asked: CallArguments) -> Result<SeenCall, Unseen> {
    let file = |at: PathAt, follow: bool| {
        let path = path(view, pid, at)?;
        // An empty path refers to the descriptor, whose name is a link.
        view.resolve(&path, follow || at.may_be_empty)
            .ok_or(Unseen::Nothing)
    };
    Ok(match asked {
        CallArguments::Open(at, flags) => opened(view, pid, at, flags)?,
        CallArguments::OpenHow(at, how) => {
            let mut flags = [0; 8];
            read_exact(pid, how, &mut flags)?;
            opened(view, pid, at, u64::from_ne_bytes(flags))?
        }
        CallArguments::Execute(at) => {
            let cwd = link(format!("/proc/{pid}/cwd").as_bytes())?;
            SeenCall::Executed(executed(view, path(view, pid, at)?, &cwd))
        }
        CallArguments::Exists(at, follow) => {
            let path = path(view, pid, at)?;
            let looked = view.exists(&path, follow || at.may_be_empty);
            SeenCall::Sought(looked.ok_or(Unseen::Nothing)?)
        }
        CallArguments::ReadLink(at) => SeenCall::LinkRead(file(at, false)?),
        CallArguments::MakeFolder(at) => SeenCall::Made(file(at, false)?, true),
        CallArguments::Make(at) => SeenCall::Made(file(at, false)?, false),
        CallArguments::Remove(at) => SeenCall::Changed(file(at, false)?),
        CallArguments::Truncate(at) => SeenCall::Changed(file(at, true)?),
        CallArguments::Rename(from, to) => {
            SeenCall::Named(file(from, false)?, file(to, false)?, false)
        }
        CallArguments::Link(from, follow, to) => {
            SeenCall::Named(file(from, follow)?, file(to, false)?, true)
        }
        CallArguments::Connect(at) => {
            let peer = name(pid, at)?.and_then(|name| peer(view, pid, name));
            SeenCall::Connected(peer.into_iter().collect())
        }
        CallArguments::Bind(at) => match name(pid, at)? {
            Some(Name::Path(path)) => {
                let path = absolute(view, pid, None, &path)?;
                SeenCall::Made(view.resolve(&path, false).ok_or(Unseen::Nothing)?, false)
            }
            Some(Name::Abstract(name)) => SeenCall::Bound(name),
            Some(Name::Address(_)) | None => return Err(Unseen::Nothing),
        },
        CallArguments::Send(address, count) => {
            SeenCall::Connected(receivers(view, pid, address, count)?)
        }
        CallArguments::Ring => return Err(Unseen::Gap(Gap::IoUring)),
        CallArguments::Root => return Err(Unseen::Nothing),
        CallArguments::Other => return Err(Unseen::Gap(Gap::OtherCalls)),
    })
}

fn opened(view: &View, pid: u32, at: PathAt, flags: u64) -> Result<SeenCall, Unseen> {
    let low = u32::try_from(flags & u64::from(u32::MAX)).unwrap_or(0);
    let flags = OFlags::from_bits_retain(low);
    let stays = OFlags::CREATE.union(OFlags::EXCL);
    let follow = !flags.contains(OFlags::NOFOLLOW) && !flags.contains(stays);
    let path = path(view, pid, at)?;
    let looked = view.resolve(&path, follow).ok_or(Unseen::Nothing)?;
    Ok(if flags.contains(OFlags::TMPFILE) {
        SeenCall::Sought(looked)
    } else {
        SeenCall::Opened(looked, flags)
    })
}

/// Returns a program and all that the system opens to execute it. `cwd`: the directory that the
/// interpreter of a script is relative to.
fn executed(view: &View, path: Vec<u8>, cwd: &[u8]) -> Vec<Looked> {
    let mut all = Vec::new();
    let mut next = Some(path);
    while let Some(looked) = next
        .and_then(|path| view.resolve(&path, true))
        .filter(|_| all.len() < SCRIPTS)
    {
        let file = view.file(&looked.path);
        let interpreter = file.and_then(|file| program::interpreter(&file));
        next = interpreter.map(|path| join(cwd, &path));
        all.push(looked);
    }
    all
}

/// Reads a path of a process, as an absolute one.
fn path(view: &View, pid: u32, at: PathAt) -> Result<Vec<u8>, Unseen> {
    let text = text(pid, at.address)?;
    match at.folder {
        Some(fd) if text.is_empty() && at.may_be_empty => {
            behind_proc(view, pid, format!("/proc/{pid}/fd/{fd}").into_bytes())
        }
        None if text.is_empty() && at.may_be_empty => absolute(view, pid, None, b"."),
        _ if text.is_empty() => Err(Unseen::Nothing),
        folder => absolute(view, pid, folder, &text),
    }
}

fn absolute(view: &View, pid: u32, folder: Option<i32>, path: &[u8]) -> Result<Vec<u8>, Unseen> {
    if path.first() == Some(&b'/') {
        return behind_proc(view, pid, of_process(pid, path));
    }
    let base = folder.map_or("cwd".to_owned(), |fd| format!("fd/{fd}"));
    let base = link(format!("/proc/{pid}/{base}").as_bytes())?;
    if base.starts_with(b"(unreachable)") {
        return Err(Unseen::Gap(Gap::OtherRoot));
    }
    if base.first() != Some(&b'/') || base.ends_with(b" (deleted)") {
        return Err(Unseen::Nothing);
    }
    Ok(join(&base, path))
}

fn join(base: &[u8], path: &[u8]) -> Vec<u8> {
    if path.first() == Some(&b'/') {
        return path.to_vec();
    }
    [base, b"/", path].concat()
}

/// Replaces a path in this process's own `/proc` by its target, for a step with another `/proc`.
/// Paths with process numbers of that one are not resolved.
fn behind_proc(view: &View, pid: u32, path: Vec<u8>) -> Result<Vec<u8>, Unseen> {
    let own = format!("/proc/{pid}");
    let Some(below) = path.strip_prefix(b"/proc/").filter(|_| view.is_other()) else {
        return Ok(path);
    };
    let mut parts = below.split(|byte| *byte == b'/').skip(1);
    if !path.starts_with(format!("{own}/").as_bytes()) {
        let leads_on = |part: &[u8]| [&b"cwd"[..], b"fd", b"map_files", b"root"].contains(&part);
        let leads_on = parts.any(leads_on) && parts.next().is_some();
        return Err(if leads_on {
            Unseen::Gap(Gap::OtherRoot)
        } else {
            Unseen::Nothing
        });
    }
    let mut part = parts.next().unwrap_or_default();
    if part == b"task" {
        part = parts.nth(1).unwrap_or_default();
    }
    let mut leading = join(own.as_bytes(), part);
    match part {
        b"cwd" | b"root" | b"exe" => {}
        b"fd" => leading = join(&leading, parts.next().unwrap_or_default()),
        _ => return Err(Unseen::Nothing),
    }
    let target = link(&leading)?;
    if target.first() != Some(&b'/') || target.ends_with(b" (deleted)") {
        return Err(Unseen::Nothing);
    }
    Ok(parts.fold(target, |path, part| join(&path, part)))
}

/// Replaces the names that mean another file in each process.
fn of_process(pid: u32, path: &[u8]) -> Vec<u8> {
    let own = [
        (&b"/proc/self"[..], format!("/proc/{pid}")),
        (b"/proc/thread-self", format!("/proc/{pid}/task/{pid}")),
        (b"/dev/fd", format!("/proc/{pid}/fd")),
        (b"/dev/stdin", format!("/proc/{pid}/fd/0")),
        (b"/dev/stdout", format!("/proc/{pid}/fd/1")),
        (b"/dev/stderr", format!("/proc/{pid}/fd/2")),
    ];
    for (name, real) in own {
        match path.strip_prefix(name) {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => {
                return [real.as_bytes(), rest].concat();
            }
            _ => {}
        }
    }
    path.to_vec()
}

/// Reads a text that ends with a NUL.
fn text(pid: u32, address: u64) -> Result<Vec<u8>, Unseen> {
    const STEP: usize = 256;
    let mut text = Vec::new();
    while text.len() < PATH {
        let mut part = [0; STEP];
        let at = address.wrapping_add(text.len() as u64);
        let length = read(pid, at, &mut part)?;
        let part = part.get(..length).unwrap_or_default();
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend(part.get(..end).unwrap_or_default());
            return Ok(text);
        }
        if length == 0 {
            break;
        }
        text.extend(part);
    }
    Err(Unseen::Nothing)
}

fn read(pid: u32, address: u64, into: &mut [u8]) -> Result<usize, Unseen> {
    sys::read_memory(pid, address, into).map_err(|error| {
        let number = error.raw_os_error();
        number.map_or(Unseen::Nothing, |number| {
            Errno::from_raw_os_error(number).into()
        })
    })
}

fn read_exact(pid: u32, address: u64, into: &mut [u8]) -> Result<(), Unseen> {
    let is_all = read(pid, address, into)? == into.len();
    is_all.then_some(()).ok_or(Unseen::Nothing)
}

/// Reads the name of a socket.
fn name(pid: u32, at: NameAt) -> Result<Option<Name>, Unseen> {
    // The longest name that the system takes (`struct sockaddr_storage`).
    let mut bytes = [0; 128];
    let length = usize::try_from(at.length & u64::from(u32::MAX)).unwrap_or(0);
    let bytes = bytes.get_mut(..length).ok_or(Unseen::Nothing)?;
    read_exact(pid, at.address, bytes)?;
    Ok(peer::name(bytes))
}

/// Returns the peer with a name, and whether anything can be there.
fn peer(view: &View, pid: u32, name: Name) -> Option<(Peer, bool)> {
    Some(match name {
        Name::Path(path) => {
            let looked = view.resolve(&absolute(view, pid, None, &path).ok()?, true)?;
            let is_there = looked.found.is_there();
            (Peer::Socket(Word::new(looked.path)), is_there)
        }
        Name::Abstract(name) => (Peer::Abstract(Word::new(name)), true),
        Name::Address(address) => (Peer::Address(address.to_string()), true),
    })
}

/// Returns the receivers that messages name (`struct mmsghdr`, which begins with a `struct msghdr`).
fn receivers(view: &View, pid: u32, address: u64, count: u64) -> Result<Vec<(Peer, bool)>, Unseen> {
    const MESSAGE: u64 = 64;
    let count = (count & u64::from(u32::MAX)).min(MESSAGES);
    let mut found = Vec::new();
    for index in 0..count {
        let mut head = [0; 16];
        read_exact(pid, address.wrapping_add(index * MESSAGE), &mut head)?;
        let [start, length] = [head.first_chunk(), head.last_chunk()]
            .map(|half| half.map_or(0, |half| u64::from_ne_bytes(*half)));
        if start != 0 && length & u64::from(u32::MAX) != 0 {
            let address = start;
            let name = name(pid, NameAt { address, length })?;
            found.extend(name.and_then(|name| peer(view, pid, name)));
        }
    }
    Ok(found)
}
