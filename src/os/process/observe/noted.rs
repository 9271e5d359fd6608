//! Collects the observed effects of a step, by place.

use super::look::{FileKind, Looked};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::observed::{Gap, Observed, PROGRAMS, Peer, Place, Uses};

/// Maximum number of places and sockets that are kept.
const PLACES: usize = 1_000_000;

/// Folders without real files: of processes, of the system, of devices. Nothing in them is noted,
/// except below [`SHARED`].
const NO_FILES: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];
/// A folder for shared memory, treated like files.
const SHARED: &[u8] = b"/dev/shm/";

/// Sockets of services that log a line, or resolve the name of a user or a host, for a program:
/// they read and write nothing for it.
const HARMLESS: &str = "/dev/log /run/nscd/ /run/systemd/journal/ /run/systemd/resolve/ \
                        /run/systemd/userdb/ /run/unscd/ /var/run/nscd/ /var/lib/sss/pipes/";

/// Whether a file is at a path or below it.
fn is_in(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The effects observed so far.
pub(super) struct Noted {
    /// The repository, an absolute path without links.
    root: Vec<u8>,
    pub observed: Observed,
    /// The folders that the step has made. Everything inside is its own.
    made: BTreeSet<Vec<u8>>,
    /// The abstract sockets that the step has bound.
    bound: BTreeSet<Vec<u8>>,
}

impl Noted {
    pub(super) fn new(root: &[u8]) -> Self {
        Self {
            root: root.to_vec(),
            observed: Observed::default(),
            made: BTreeSet::new(),
            bound: BTreeSet::new(),
        }
    }

    fn place(&self, path: &[u8]) -> Place {
        let inside = match path.strip_prefix(&self.root[..]) {
            Some(b"") => Some(RepoPath::root()),
            Some(rest) if self.root == b"/" => RepoPath::from_exact(rest),
            Some(rest) => rest.strip_prefix(b"/").and_then(RepoPath::from_exact),
            None => None,
        };
        inside.map_or_else(|| Place::Elsewhere(Word::new(path)), Place::Repository)
    }

    /// Whether the step has written a file, or made a folder above it.
    pub(super) fn is_own(&self, path: &[u8]) -> bool {
        let known = self.observed.files.get(&self.place(path));
        if known.is_some_and(|uses| uses.written) {
            return true;
        }
        let mut above = path;
        while !self.made.is_empty()
            && let Some(end) = above.iter().rposition(|byte| *byte == b'/')
        {
            if self.made.contains(above) {
                return true;
            }
            above = above.get(..end).unwrap_or_default();
        }
        false
    }

    fn use_of(&mut self, path: &[u8], program: &Word, with: impl FnOnce(&mut Uses)) {
        let is_no_file = NO_FILES.iter().any(|folder| is_in(path, folder));
        if path.first() != Some(&b'/') || (is_no_file && !path.starts_with(SHARED)) {
            return;
        }
        let place = self.place(path);
        let is_full = self.observed.files.len() >= PLACES;
        if is_full && !self.observed.files.contains_key(&place) {
            self.gap(Gap::TooMuch);
            return;
        }
        let mut uses = Uses::default();
        with(&mut uses);
        uses.programs.insert(program.clone());
        self.observed.files.entry(place).or_default().add(uses);
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        self.observed.gaps.insert(gap);
    }

    pub(super) fn read(&mut self, path: &[u8], program: &Word) {
        if !self.is_own(path) {
            self.use_of(path, program, |uses| uses.read = true);
        }
    }

    fn written(&mut self, path: &[u8], program: &Word) {
        self.use_of(path, program, |uses| uses.written = true);
    }

    /// Notes the links that were followed, which were read.
    fn links(&mut self, looked: &Looked, program: &Word) {
        for link in &looked.links {
            self.read(link, program);
        }
    }

    /// Notes that the program searched for a file.
    pub(super) fn sought(&mut self, looked: &Looked, program: &Word) {
        self.links(looked, program);
        if self.is_own(&looked.path) {
            return;
        }
        let is_there = looked.found.is_there();
        self.use_of(&looked.path, program, |uses| {
            uses.found |= is_there;
            uses.missing |= !is_there;
        });
    }

    /// Notes that a link was read for its target.
    pub(super) fn link_read(&mut self, looked: &Looked, program: &Word) {
        self.links(looked, program);
        if looked.found == FileKind::Link {
            self.read(&looked.path, program);
        } else {
            self.sought(looked, program);
        }
    }

    /// Notes that a file was opened.
    pub(super) fn opened(&mut self, looked: &Looked, flags: OFlags, program: &Word) {
        self.links(looked, program);
        let path = &looked.path;
        let mode = flags & OFlags::RWMODE;
        let makes = flags.contains(OFlags::CREATE);
        match looked.found {
            FileKind::Nothing if makes => self.written(path, program),
            FileKind::Nothing | FileKind::NoFolder | FileKind::Link => self.sought(looked, program),
            _ if flags.contains(OFlags::PATH) || (makes && flags.contains(OFlags::EXCL)) => {
                self.sought(looked, program);
            }
            FileKind::Folder if mode == OFlags::RDONLY => {
                if !self.is_own(path) {
                    self.use_of(path, program, |uses| uses.listed = true);
                }
            }
            FileKind::Folder => self.sought(looked, program),
            FileKind::File => {
                let empties = flags.contains(OFlags::TRUNC);
                if mode != OFlags::WRONLY && !empties {
                    self.read(path, program);
                }
                if mode != OFlags::RDONLY || empties {
                    self.written(path, program);
                }
            }
        }
    }

    /// Notes that a folder was to be made, or anything else; it is not if something is there.
    pub(super) fn made(&mut self, looked: &Looked, is_folder: bool, program: &Word) {
        self.links(looked, program);
        if looked.found != FileKind::Nothing {
            return self.sought(looked, program);
        }
        self.use_of(&looked.path, program, |uses| {
            (uses.written, uses.folder) = (true, is_folder);
        });
        if is_folder && self.made.len() < PLACES {
            self.made.insert(looked.path.clone());
        }
    }

    /// Notes that a file was to be changed or removed.
    pub(super) fn changed(&mut self, looked: &Looked, program: &Word) {
        self.links(looked, program);
        if looked.found.is_there() {
            self.written(&looked.path, program);
        } else {
            self.sought(looked, program);
        }
    }

    /// Notes that a file got another name, or a second one if it `stays`. Its content can be read
    /// there, so it counts as read.
    pub(super) fn add_name(&mut self, from: &Looked, to: &Looked, stays: bool, program: &Word) {
        self.links(from, program);
        self.links(to, program);
        if !from.found.is_there() || to.found == FileKind::NoFolder {
            self.sought(from, program);
            return self.sought(to, program);
        }
        if from.found != FileKind::Folder {
            self.read(&from.path, program);
        } else if self.is_own(&from.path) && self.made.len() < PLACES {
            self.made.insert(to.path.clone());
        }
        if !stays {
            self.written(&from.path, program);
        }
        self.written(&to.path, program);
    }

    /// Notes that an abstract socket was bound.
    pub(super) fn bound(&mut self, name: &[u8]) {
        if self.bound.len() < PLACES {
            self.bound.insert(name.to_vec());
        }
    }

    /// Notes that a program connected to a socket; `is_there`: something can listen to it.
    pub(super) fn connected(&mut self, peer: Peer, is_there: bool, program: &Word) {
        let is_strange = match &peer {
            Peer::Socket(path) => {
                let path = path.as_bytes();
                let is_harmless = |known: &str| {
                    path == known.as_bytes()
                        || (known.ends_with('/') && path.starts_with(known.as_bytes()))
                };
                !self.is_own(path) && !HARMLESS.split(' ').any(is_harmless)
            }
            Peer::Abstract(name) => !self.bound.contains(name.as_bytes()),
            Peer::Address(_) => false,
        };
        if is_there && is_strange {
            self.gap(Gap::Daemon(program.clone()));
        }
        if self.observed.peers.len() >= PLACES && !self.observed.peers.contains_key(&peer) {
            return self.gap(Gap::TooMuch);
        }
        let programs = self.observed.peers.entry(peer).or_default();
        if programs.len() < PROGRAMS {
            programs.insert(program.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(path: &str, found: FileKind) -> Looked {
        Looked {
            path: path.into(),
            links: Vec::new(),
            found,
        }
    }

    fn noted() -> Noted {
        Noted::new(b"/r")
    }

    fn uses(noted: &Noted, path: &str) -> Option<Uses> {
        let place = noted.place(path.as_bytes());
        noted.observed.files.get(&place).cloned()
    }

    #[test]
    fn places() {
        let noted = noted();
        let inside = |path: &[u8]| Place::Repository(RepoPath::parse(path).unwrap());
        assert_eq!(noted.place(b"/r"), inside(b"."));
        assert_eq!(noted.place(b"/r/a/b"), inside(b"a/b"));
        assert_eq!(noted.place(b"/ra"), Place::Elsewhere("/ra".into()));
        assert_eq!(noted.place(b"/"), Place::Elsewhere("/".into()));
        let whole = Noted::new(b"/");
        assert_eq!(whole.place(b"/a"), inside(b"a"));
        assert_eq!(whole.place(b"/"), inside(b"."));
    }

    #[test]
    fn what_is_no_file_is_left_out() {
        let mut noted = noted();
        for path in ["/proc", "/proc/1/maps", "/dev/null", "/sys/x", "pipe:[1]"] {
            noted.read(path.as_bytes(), &"cat".into());
        }
        assert!(noted.observed.files.is_empty());
        for path in ["/dev/shm/x", "/processes", "/device"] {
            noted.read(path.as_bytes(), &"cat".into());
        }
        assert_eq!(noted.observed.files.len(), 3);
    }

    #[test]
    fn opens_by_their_flags() {
        let (create, read, write) = (OFlags::CREATE, OFlags::RDONLY, OFlags::WRONLY);
        let (both, empty) = (OFlags::RDWR, OFlags::TRUNC);
        for (found, flags, want) in [
            (FileKind::File, read, "r"),
            (FileKind::File, read | create, "r"),
            (FileKind::File, write, "w"),
            (FileKind::File, both, "rw"),
            (FileKind::File, both | empty, "w"),
            (FileKind::File, OFlags::PATH, "f"),
            (FileKind::File, write | create | OFlags::EXCL, "f"),
            (FileKind::Folder, read, "l"),
            (FileKind::Folder, OFlags::PATH, "f"),
            (FileKind::Folder, write, "f"),
            (FileKind::Link, read, "f"),
            (FileKind::Nothing, read, "m"),
            (FileKind::Nothing, both | create, "w"),
            (FileKind::NoFolder, both | create, "m"),
        ] {
            let mut noted = noted();
            noted.opened(&looked("/r/x", found), flags, &"p".into());
            let uses = uses(&noted, "/r/x").unwrap();
            let letters = [
                (uses.read, "r"),
                (uses.written, "w"),
                (uses.listed, "l"),
                (uses.found, "f"),
                (uses.missing, "m"),
            ];
            let letters: String = letters.iter().filter(|l| l.0).map(|l| l.1).collect();
            assert_eq!(letters, want, "{found:?} {flags:?}");
        }
    }

    #[test]
    fn own_products_are_no_inputs() {
        let mut noted = noted();
        let program = "p".into();
        noted.made(&looked("/r/d", FileKind::Nothing), true, &program);
        noted.read(b"/r/d/x", &program);
        noted.opened(&looked("/r/d", FileKind::Folder), OFlags::RDONLY, &program);
        noted.sought(&looked("/r/d/none", FileKind::Nothing), &program);
        let from = looked("/r/d", FileKind::Folder);
        noted.add_name(&from, &looked("/r/e", FileKind::Nothing), false, &program);
        noted.read(b"/r/e/x", &program);
        assert_eq!(noted.observed.files.len(), 2, "{:?}", noted.observed);
        assert!(
            noted
                .observed
                .files
                .values()
                .all(|uses| uses.written && !uses.listed)
        );
        // An existing folder does not count.
        noted.made(&looked("/r/old", FileKind::Folder), true, &program);
        noted.read(b"/r/old/x", &program);
        assert!(uses(&noted, "/r/old/x").is_some_and(|uses| uses.read));
    }

    #[test]
    fn daemons() {
        let program: Word = "p".into();
        let mut noted = noted();
        noted.made(&looked("/r/own", FileKind::Nothing), false, &program);
        noted.bound(b"x");
        let socket = |path: &str| Peer::Socket(path.into());
        for (peer, is_there, is_daemon) in [
            (socket("/r/own"), true, false),
            (socket("/run/nscd/socket"), true, false),
            (socket("/dev/log"), true, false),
            (socket("/none"), false, false),
            (Peer::Abstract("x".into()), true, false),
            (Peer::Address("[::1]:1".into()), true, false),
            (socket("/dev/logs"), true, true),
            (Peer::Abstract("y".into()), true, true),
        ] {
            noted.observed.gaps.clear();
            noted.connected(peer.clone(), is_there, &program);
            assert_eq!(!noted.observed.gaps.is_empty(), is_daemon, "{peer:?}");
        }
    }
}
