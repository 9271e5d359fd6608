//! The recorded effects of a try: the files that it read, looked up, listed and wrote, and its
//! connections, with the programs responsible.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;

/// All recorded effects of a try.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The files and folders, by place.
    pub files: BTreeMap<Place, Uses>,
    /// Why the record may be incomplete; empty if it is complete.
    pub gaps: BTreeSet<Gap>,
    /// The sockets to which it connected, or tried to, with the programs that did.
    pub peers: BTreeMap<Peer, BTreeSet<Word>>,
}

/// Where a file is. Links are resolved: a link that was followed is a place of its own, that was
/// read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// In the repository.
    Repository(RepoPath),
    /// Elsewhere: an absolute path.
    Elsewhere(Word),
}

/// What was done with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Uses {
    /// Its content was read, or it was executed, and the step had not written it before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
    /// It was made, changed, renamed or removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub written: bool,
    /// It was to be made, as a folder.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub folder: bool,
    /// It is a folder whose entries were listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    /// It was looked up, and existed; this alone does not read its content.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// It was looked up, and did not exist.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// The programs that did it, by the names of their files; at most [`PROGRAMS`]. Of a file that was
    /// read or written those that did that, and not those that looked for it.
    pub programs: BTreeSet<Word>,
}

impl Uses {
    /// Adds what else was done with the file.
    pub fn add(&mut self, other: Self) {
        let (own, others) = (self.weight(), other.weight());
        if others > own {
            self.programs.clear();
        }
        if others >= own {
            let free = PROGRAMS.saturating_sub(self.programs.len());
            let new = other.programs.into_iter();
            let new = new.filter(|program| !self.programs.contains(program));
            let new: Vec<Word> = new.take(free).collect();
            self.programs.extend(new);
        }
        self.read |= other.read;
        self.written |= other.written;
        self.folder |= other.folder;
        self.listed |= other.listed;
        self.found |= other.found;
        self.missing |= other.missing;
    }

    /// How much was done: nothing, looked for, listed, its content read or changed.
    fn weight(&self) -> u8 {
        match self {
            uses if uses.read || uses.written => 3,
            uses if uses.listed => 2,
            uses if uses.found || uses.missing => 1,
            _ => 0,
        }
    }
}

/// Maximum number of programs that are kept per file.
pub const PROGRAMS: usize = 8;

/// What a program connected to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Peer {
    /// A socket with a path.
    Socket(Word),
    /// An abstract socket.
    Abstract(Word),
    /// An address of the network, `127.0.0.1:5432` or `[::1]:80`.
    Address(String),
}

/// Why an effect may be missing from the record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Gap {
    /// The system does not let vplan observe; why.
    Unavailable(String),
    /// A program wanted io_uring, which was refused.
    IoUring(Word),
    /// A program made calls that are not looked into: those of another architecture, such as 32-bit
    /// ones, and opens by handle.
    OtherCalls(Word),
    /// A program connected to a process outside the step, which may have read or written for it.
    Daemon(Word),
    /// The memory of a program could not be read.
    Unreadable(Word),
    /// A program changed its root or its mounts.
    OtherRoot(Word),
    /// More was done than is kept.
    TooMuch,
    /// Recorded effects were lost: the supervisor ended, or their file is damaged.
    Lost,
}

/// A line of the text form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Line<'o> {
    /// The first line: the version of the form and the number of lines that follow.
    Observed {
        version: u32,
        lines: usize,
    },
    File {
        place: Cow<'o, Place>,
        uses: Cow<'o, Uses>,
    },
    Peer {
        peer: Cow<'o, Peer>,
        programs: Cow<'o, BTreeSet<Word>>,
    },
    Gap(Cow<'o, Gap>),
}

/// The version of the text form.
const VERSION: u32 = 1;

impl Observed {
    /// Makes an observation that saw nothing, for this reason.
    pub fn nothing(why: Gap) -> Self {
        Self {
            gaps: BTreeSet::from([why]),
            ..Self::default()
        }
    }

    /// Returns what was done in the repository.
    pub fn in_repository(&self) -> impl Iterator<Item = (&RepoPath, &Uses)> {
        self.files.iter().filter_map(|(place, uses)| match place {
            Place::Repository(path) => Some((path, uses)),
            Place::Elsewhere(_) => None,
        })
    }

    /// Adds the effects of another try of the same step.
    pub fn add(&mut self, other: Self) {
        for (place, uses) in other.files {
            self.files.entry(place).or_default().add(uses);
        }
        for (peer, programs) in other.peers {
            self.peers.entry(peer).or_default().extend(programs);
        }
        self.gaps.extend(other.gaps);
    }

    /// Writes it as lines of JSON: a head, then the files, the sockets and the gaps, sorted. Equal
    /// observations are equal bytes.
    ///
    /// # Errors
    /// Errors of `to`.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let lines = self.files.len() + self.peers.len() + self.gaps.len();
        let head = Line::Observed {
            version: VERSION,
            lines,
        };
        let files = self.files.iter().map(|(place, uses)| Line::File {
            place: Cow::Borrowed(place),
            uses: Cow::Borrowed(uses),
        });
        let peers = self.peers.iter().map(|(peer, programs)| Line::Peer {
            peer: Cow::Borrowed(peer),
            programs: Cow::Borrowed(programs),
        });
        let gaps = self.gaps.iter().map(|gap| Line::Gap(Cow::Borrowed(gap)));
        for line in std::iter::once(head).chain(files).chain(peers).chain(gaps) {
            serde_json::to_writer(&mut to, &line)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads what [`Observed::write`] wrote. `None` for anything else, and for less than all of it.
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut lines = text.strip_suffix(b"\n")?.split(|byte| *byte == b'\n');
        let Line::Observed {
            version: VERSION,
            lines: count,
        } = serde_json::from_slice(lines.next()?).ok()?
        else {
            return None;
        };
        let mut read = Self::default();
        let mut left = count;
        for line in lines {
            left = left.checked_sub(1)?;
            let is_new = match serde_json::from_slice(line).ok()? {
                Line::Observed { .. } => false,
                Line::File { place, uses } => read
                    .files
                    .insert(place.into_owned(), uses.into_owned())
                    .is_none(),
                Line::Peer { peer, programs } => read
                    .peers
                    .insert(peer.into_owned(), programs.into_owned())
                    .is_none(),
                Line::Gap(gap) => read.gaps.insert(gap.into_owned()),
            };
            if !is_new {
                return None;
            }
        }
        (left == 0).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = Word> {
        vec(any::<u8>(), 0..6).prop_map(Word::new)
    }

    fn place() -> impl Strategy<Value = Place> {
        let inside = vec(any::<u8>(), 0..6)
            .prop_map(|bytes| RepoPath::parse(&bytes).unwrap_or_default())
            .prop_map(Place::Repository);
        prop_oneof![inside, word().prop_map(Place::Elsewhere)]
    }

    fn uses() -> impl Strategy<Value = Uses> {
        let programs = btree_set(word(), 0..3);
        (any::<[bool; 6]>(), programs).prop_map(|(flags, programs)| {
            let [read, written, folder, listed, found, missing] = flags;
            Uses {
                read,
                written,
                folder,
                listed,
                found,
                missing,
                programs,
            }
        })
    }

    fn peer() -> impl Strategy<Value = Peer> {
        prop_oneof![
            word().prop_map(Peer::Socket),
            word().prop_map(Peer::Abstract),
            any::<String>().prop_map(Peer::Address),
        ]
    }

    fn gap() -> impl Strategy<Value = Gap> {
        prop_oneof![
            any::<String>().prop_map(Gap::Unavailable),
            word().prop_map(Gap::IoUring),
            word().prop_map(Gap::OtherCalls),
            word().prop_map(Gap::Daemon),
            word().prop_map(Gap::Unreadable),
            word().prop_map(Gap::OtherRoot),
            Just(Gap::TooMuch),
            Just(Gap::Lost),
        ]
    }

    fn observed() -> impl Strategy<Value = Observed> {
        (
            btree_map(place(), uses(), 0..5),
            btree_set(gap(), 0..4),
            btree_map(peer(), btree_set(word(), 0..3), 0..4),
        )
            .prop_map(|(files, gaps, peers)| Observed { files, gaps, peers })
    }

    fn written(observed: &Observed) -> Vec<u8> {
        let mut text = Vec::new();
        observed.write(&mut text).unwrap();
        text
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(observed in observed()) {
            prop_assert_eq!(Observed::read(&written(&observed)), Some(observed));
        }

        #[test]
        fn a_part_of_it_is_nothing(observed in observed(), cut in any::<prop::sample::Index>()) {
            let text = written(&observed);
            prop_assert_eq!(Observed::read(&text[..cut.index(text.len())]), None);
        }
    }

    #[test]
    fn the_programs_are_those_that_did_most() {
        let by = |program: &str, edit: fn(&mut Uses)| {
            let mut uses = Uses::default();
            edit(&mut uses);
            uses.programs.insert(program.into());
            uses
        };
        let mut uses = Uses::default();
        for (more, want) in [
            (by("stat", |uses| uses.found = true), &["stat"][..]),
            (by("ls", |uses| uses.listed = true), &["ls"]),
            (by("cat", |uses| uses.read = true), &["cat"]),
            (by("test", |uses| uses.missing = true), &["cat"]),
            (by("cc", |uses| uses.written = true), &["cat", "cc"]),
        ] {
            uses.add(more);
            let programs: Vec<Word> = uses.programs.iter().cloned().collect();
            let want: Vec<Word> = want.iter().map(|name| Word::from(*name)).collect();
            assert_eq!(programs, want);
        }
        assert!(uses.read && uses.written && uses.listed && uses.found && uses.missing);
    }

    #[test]
    fn the_text() {
        let uses = Uses {
            read: true,
            programs: BTreeSet::from(["cat".into()]),
            ..Uses::default()
        };
        let observed = Observed {
            files: BTreeMap::from([
                (Place::Elsewhere("/etc/x".into()), Uses::default()),
                (Place::Repository(RepoPath::parse(b"a/b").unwrap()), uses),
            ]),
            gaps: BTreeSet::from([Gap::Daemon("dig".into()), Gap::TooMuch]),
            peers: BTreeMap::from([(
                Peer::Address("[::1]:80".into()),
                BTreeSet::from(["dig".into()]),
            )]),
        };
        let text = r#"{"observed":{"version":1,"lines":5}}
{"file":{"place":{"repository":"a/b"},"uses":{"read":true,"programs":["cat"]}}}
{"file":{"place":{"elsewhere":"/etc/x"},"uses":{"programs":[]}}}
{"peer":{"peer":{"address":"[::1]:80"},"programs":["dig"]}}
{"gap":{"daemon":"dig"}}
{"gap":"tooMuch"}
"#;
        assert_eq!(String::from_utf8(written(&observed)).unwrap(), text);
        let twice = text.replace("\"lines\":5", "\"lines\":6") + "{\"gap\":\"tooMuch\"}\n";
        for damaged in [
            "",
            "\n",
            &text.replace("\"version\":1", "\"version\":2"),
            &text.replace("\"lines\":5", "\"lines\":4"),
            &twice,
        ] {
            assert_eq!(Observed::read(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
