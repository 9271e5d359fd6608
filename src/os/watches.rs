//! Tells which files of some folders are written, made, removed or renamed, by the system's own
//! watches (inotify).
//!
//! They only tell where to look again, and when. A write through a second link outside of the
//! folders gives no message, nor does a write by another machine on a shared file system. So
//! silence proves nothing: the caller scans once more at the end.

use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use vplan_base::path::RepoPath;

/// Maximum number of watched folders; the system keeps a kilobyte for each.
const MOST: usize = 20_000;
/// The number of bytes that are read at once: some hundred messages.
const BUFFER: usize = 64 << 10;

/// A file or folder that a message was about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToldChange {
    pub path: RepoPath,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// The folders that are watched.
#[derive(Debug, Default)]
pub struct Watches {
    inotify: Option<OwnedFd>,
    folders: BTreeMap<i32, RepoPath>,
    /// Whether messages were lost, or cannot be received. Then nothing is watched any longer.
    is_lost: bool,
}

impl Watches {
    /// Watches an open folder. `false` if that is impossible.
    pub fn add(&mut self, path: &RepoPath, folder: BorrowedFd<'_>) -> bool {
        if self.is_lost || self.folders.len() >= MOST {
            return false;
        }
        let wanted = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        // By its descriptor: a name could lead elsewhere by now.
        let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let inotify = match &self.inotify {
            Some(inotify) => inotify,
            None => match init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
                Ok(inotify) => self.inotify.insert(inotify),
                Err(_) => return false,
            },
        };
        match add_watch(inotify, name, wanted) {
            Ok(watch) => {
                self.folders.insert(watch, path.clone());
                true
            }
            Err(_) => false,
        }
    }

    /// Takes the messages since the last call; `None` if messages were lost. By the time a process
    /// has ended, all messages about its writes are there.
    pub fn take_changes(&mut self) -> Option<Vec<ToldChange>> {
        if self.is_lost {
            return None;
        }
        let Some(inotify) = &self.inotify else {
            return Some(Vec::new());
        };
        let told = read(inotify.as_fd(), &self.folders);
        if told.is_none() {
            *self = Self {
                is_lost: true,
                ..Self::default()
            };
        }
        told
    }
}

fn read(inotify: BorrowedFd<'_>, folders: &BTreeMap<i32, RepoPath>) -> Option<Vec<ToldChange>> {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut told = Vec::new();
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => continue,
            Err(_) => return None,
        };
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            return None;
        }
        let folder = folders.get(&event.wd())?;
        let change = match event.file_name() {
            Some(name) => ToldChange {
                path: folder.join(name.to_bytes()).ok()?,
                is_folder: event.events().contains(ReadFlags::ISDIR),
            },
            None => ToldChange {
                path: folder.clone(),
                is_folder: true,
            },
        };
        if told.last() != Some(&change) {
            told.push(change);
        }
    }
    told.sort();
    told.dedup();
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn path(text: &str) -> RepoPath {
        RepoPath::from_exact(text.as_bytes()).unwrap()
    }

    fn changes(watches: &mut Watches) -> Vec<(String, bool)> {
        let told = watches.take_changes().unwrap().into_iter();
        told.map(|change| (change.path.to_string(), change.is_folder))
            .collect()
    }

    #[test]
    fn what_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        fs::create_dir_all(place("a/below")).unwrap();
        fs::create_dir(place("b")).unwrap();
        fs::write(place("a/old"), "").unwrap();
        fs::write(place("elsewhere"), "").unwrap();
        let mut watches = Watches::default();
        for name in ["a", "b"] {
            let folder = fs::File::open(place(name)).unwrap();
            assert!(watches.add(&path(name), folder.as_fd()));
        }
        assert_eq!(changes(&mut watches), []);
        let file = |path: &str| (path.to_owned(), false);
        let folder = |path: &str| (path.to_owned(), true);
        type Act<'a> = (&'a dyn Fn(), Vec<(String, bool)>);
        let acts: [Act<'_>; 8] = [
            (&|| drop(fs::read(place("a/old")).unwrap()), vec![]),
            (
                &|| fs::write(place("a/old"), "x").unwrap(),
                vec![file("a/old")],
            ),
            (
                &|| fs::write(place("a/new"), "").unwrap(),
                vec![file("a/new")],
            ),
            (
                &|| fs::rename(place("a/new"), place("b/new")).unwrap(),
                vec![file("a/new"), file("b/new")],
            ),
            (
                &|| fs::create_dir(place("b/made")).unwrap(),
                vec![folder("b/made")],
            ),
            (&|| fs::write(place("a/below/x"), "").unwrap(), vec![]),
            (&|| fs::write(place("elsewhere"), "x").unwrap(), vec![]),
            (
                &|| fs::remove_file(place("a/old")).unwrap(),
                vec![file("a/old")],
            ),
        ];
        for (number, (act, expected)) in acts.into_iter().enumerate() {
            act();
            assert_eq!(changes(&mut watches), expected, "{number}");
        }
        fs::remove_dir_all(place("b")).unwrap();
        assert!(changes(&mut watches).contains(&folder("b")));
    }

    #[test]
    fn lost_messages_are_not_silence() {
        let dir = tempfile::tempdir().unwrap();
        let mut watches = Watches::default();
        let folder = fs::File::open(dir.path()).unwrap();
        assert!(watches.add(&RepoPath::root(), folder.as_fd()));
        let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let most: usize = most.trim().parse().unwrap();
        let mut number = 0;
        while number <= most {
            fs::write(dir.path().join(format!("{}", number % 100)), "x").unwrap();
            number += 1;
        }
        assert_eq!(watches.take_changes(), None);
        assert_eq!(watches.take_changes(), None);
        assert!(!watches.add(&RepoPath::root(), folder.as_fd()));
    }
}
