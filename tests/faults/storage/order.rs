//! What if writes that nobody has made sure of come late, in another order, in part, or never?
//!
//! The real program is traced. From what it wrote, renamed and synced, each state is made that a
//! disk may be found in when the power goes at any point: of the bytes of a file those that were
//! synced, and of the others any sectors; of the names in a directory those that were synced, and
//! of the changes since then any. Where the file system has one log of all names, in their order,
//! syncing a file also syncs the names that were changed before it was. Then vplan's readers read
//! what is left.

use super::files;
use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use vplan::base::canon::Digest;
use vplan::ledger::document as ledger;
use vplan::plan::document;
use vplan::reuse::entry::KeptPass as Pass;
use vplan::run::journal::{JournalEntry, Line, lines, replay};
use vplan::run::merge;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

#[derive(Clone, Copy, Debug)]
enum Node {
    File(usize),
    Folder(usize),
}

#[derive(Clone, Debug)]
enum Name {
    Is(String, Node),
    IsGone(String),
    Moves(String, String, Node),
}

/// What the program did to its disk.
#[derive(Clone, Debug)]
enum Did {
    Write(usize, usize, Vec<u8>),
    Truncate(usize, usize),
    /// Of what was done before the call began, by number.
    SyncFile(usize, usize),
    Names(usize, Name),
    SyncFolder(usize, usize),
    /// To somebody who knows it from then on.
    Tell(Vec<u8>),
}

/// A traced program: the disk as it was, and what it did.
#[derive(Default)]
struct Trace {
    /// Whether the file system has one log of all names.
    is_ordered: bool,
    /// The content of files before.
    before: Vec<Vec<u8>>,
    /// The names in folders before; the first one is the root.
    names: Vec<BTreeMap<String, Node>>,
    did: Vec<Did>,
    // As they are while the trace is read.
    files: Vec<usize>,
    folders: Vec<BTreeMap<String, Node>>,
}

fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x")
        .skip(1)
        .map(|hex| u8::from_str_radix(&hex[..2], 16).unwrap())
        .collect()
}

fn path_of(text: &str) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(unhex(text)))
}

/// One call: its name, its arguments and what it gave.
struct Call<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
    result: i64,
}

impl<'a> Call<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(") ")?;
        let result = result
            .trim_start()
            .strip_prefix("= ")?
            .split([' ', '<'])
            .next()?
            .parse()
            .ok()?;
        Some(Self {
            name,
            arguments: arguments.split(", ").collect(),
            result,
        })
    }

    /// The path behind a descriptor.
    fn descriptor(&self, at: usize) -> Option<PathBuf> {
        let (_, path) = self.arguments.get(at)?.split_once('<')?;
        Some(path_of(path.strip_suffix('>')?))
    }

    /// A path, relative to a descriptor.
    fn path(&self, at: usize) -> Option<PathBuf> {
        Some(
            self.descriptor(at)?
                .join(path_of(self.arguments.get(at + 1)?)),
        )
    }
}

impl Trace {
    /// Traces a command of vplan. `root`: whose content is looked at; `told`: a file in it that
    /// somebody reads.
    fn of(project: &Project, root: &Path, told: &str, args: &[&str]) -> Option<Self> {
        // It may be made only now.
        let there = root.ancestors().find(|path| path.exists()).unwrap();
        let mut trace = Self {
            is_ordered: super::orders_names(there),
            names: vec![BTreeMap::new()],
            ..Self::default()
        };
        for (path, content) in files(root) {
            let folder = trace.known_folder(path.parent().unwrap());
            trace.before.push(content);
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            trace.names[folder].insert(name, Node::File(trace.before.len() - 1));
        }
        trace.files = trace.before.iter().map(Vec::len).collect();
        trace.folders.clone_from(&trace.names);
        let out = project.parent().join("trace");
        let calls = "trace=openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,linkat,mkdir,mkdirat,unlink,\
                     unlinkat,ftruncate";
        let limit = [
            "strace",
            "-f",
            "-y",
            "-xx",
            "-s",
            "10000000",
            "-o",
            out.to_str().unwrap(),
            "-e",
            calls,
        ];
        let ran = super::vplan(project, &limit, args);
        if ran
            .exit
            .is_none_or(|exit| !super::DOCUMENTED.contains(&exit))
        {
            return None;
        }
        let text = std::fs::read_to_string(&out).unwrap();
        let mut unfinished: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        for line in text.lines() {
            let Some((pid, rest)) = line.split_once(' ') else {
                continue;
            };
            let rest = rest.trim_start();
            if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
                unfinished.insert(pid, (begun, trace.did.len()));
                continue;
            }
            let (whole, begun) = match rest
                .strip_prefix("<... ")
                .and_then(|r| r.split_once(" resumed>"))
            {
                Some((_, end)) => {
                    let (text, begun) = unfinished.remove(pid).unwrap_or_default();
                    (format!("{text}{end}"), begun)
                }
                None => (rest.to_owned(), trace.did.len()),
            };
            if let Some(call) = Call::parse(&whole).filter(|call| call.result >= 0) {
                trace.take(root, told, &call, begun);
            }
        }
        assert!(
            trace.did.len() > 3,
            "nothing was traced:\n{}",
            &text[..text.len().min(2000)]
        );
        Some(trace)
    }

    fn known_folder(&mut self, path: &Path) -> usize {
        let mut at = 0;
        for name in path.iter() {
            let name = name.to_str().unwrap();
            at = match self.names[at].get(name) {
                Some(Node::Folder(folder)) => *folder,
                Some(Node::File(_)) => panic!("{name} is a file"),
                None => {
                    self.names.push(BTreeMap::new());
                    let made = self.names.len() - 1;
                    self.names[at].insert(name.to_owned(), Node::Folder(made));
                    made
                }
            };
        }
        at
    }

    fn find(&self, root: &Path, path: &Path) -> Option<Node> {
        let mut at = Node::Folder(0);
        for name in path.strip_prefix(root).ok()?.iter() {
            let Node::Folder(folder) = at else {
                return None;
            };
            at = *self.folders[folder].get(name.to_str()?)?;
        }
        Some(at)
    }

    /// The folder and the name of a path in it.
    fn place(&self, root: &Path, path: &Path) -> Option<(usize, String)> {
        match self.find(root, path.parent()?)? {
            Node::Folder(folder) => Some((folder, path.file_name()?.to_str()?.to_owned())),
            Node::File(_) => None,
        }
    }

    fn make(&mut self, root: &Path, path: &Path, folder: bool) {
        let Some((at, name)) = self.place(root, path) else {
            return;
        };
        let node = if folder {
            self.names.push(BTreeMap::new());
            self.folders.push(BTreeMap::new());
            Node::Folder(self.folders.len() - 1)
        } else {
            self.before.push(Vec::new());
            self.files.push(0);
            Node::File(self.files.len() - 1)
        };
        self.folders[at].insert(name.clone(), node);
        self.did.push(Did::Names(at, Name::Is(name, node)));
    }

    fn take(&mut self, root: &Path, told: &str, call: &Call<'_>, begun: usize) {
        match call.name {
            "openat" => {
                let Some(path) = call.path(0) else { return };
                let flags = call.arguments.get(2).copied().unwrap_or_default();
                match self.find(root, &path) {
                    None if flags.contains("O_CREAT") => self.make(root, &path, false),
                    Some(Node::File(file)) if flags.contains("O_TRUNC") => {
                        self.files[file] = 0;
                        self.did.push(Did::Truncate(file, 0));
                    }
                    _ => {}
                }
            }
            "mkdir" => self.make(root, &path_of(call.arguments[0]), true),
            "mkdirat" => {
                let Some(path) = call.path(0) else { return };
                self.make(root, &path, true);
            }
            "write" => {
                let Some(Node::File(file)) = call.descriptor(0).and_then(|p| self.find(root, &p))
                else {
                    return;
                };
                let bytes =
                    unhex(call.arguments[1])[..usize::try_from(call.result).unwrap()].to_vec();
                if call.descriptor(0).is_some_and(|p| p.ends_with(told)) {
                    self.did.push(Did::Tell(bytes));
                } else {
                    let at = self.files[file];
                    self.files[file] += bytes.len();
                    self.did.push(Did::Write(file, at, bytes));
                }
            }
            "pwrite64" => assert!(
                call.descriptor(0).is_none_or(|p| !p.starts_with(root)),
                "not known here"
            ),
            "ftruncate" => {
                let Some(Node::File(file)) = call.descriptor(0).and_then(|p| self.find(root, &p))
                else {
                    return;
                };
                self.files[file] = call.arguments[1].parse().unwrap();
                self.did.push(Did::Truncate(file, self.files[file]));
            }
            "fsync" | "fdatasync" => match call.descriptor(0).and_then(|p| self.find(root, &p)) {
                Some(Node::File(file)) => self.did.push(Did::SyncFile(file, begun)),
                Some(Node::Folder(folder)) => self.did.push(Did::SyncFolder(folder, begun)),
                None => {}
            },
            "rename" | "renameat" | "renameat2" => {
                let (from, to) = match call.name {
                    "rename" => (path_of(call.arguments[0]), path_of(call.arguments[1])),
                    _ => (call.path(0).unwrap(), call.path(2).unwrap()),
                };
                let Some(node) = self.find(root, &from) else {
                    return;
                };
                let (at, from) = self.place(root, &from).unwrap();
                let (same, to) = self.place(root, &to).unwrap();
                assert_eq!(at, same, "all renames are within one folder");
                self.folders[at].remove(&from);
                self.folders[at].insert(to.clone(), node);
                self.did.push(Did::Names(at, Name::Moves(from, to, node)));
            }
            "linkat" => {
                let (Some(from), Some(to)) = (call.path(0), call.path(2)) else {
                    return;
                };
                let (Some(node), Some((at, name))) =
                    (self.find(root, &from), self.place(root, &to))
                else {
                    return;
                };
                self.folders[at].insert(name.clone(), node);
                self.did.push(Did::Names(at, Name::Is(name, node)));
            }
            "unlink" | "unlinkat" => {
                let path = if call.name == "unlink" {
                    Some(path_of(call.arguments[0]))
                } else {
                    call.path(0)
                };
                let Some((at, name)) = path.and_then(|p| self.place(root, &p)) else {
                    return;
                };
                if self.folders[at].remove(&name).is_some() {
                    self.did.push(Did::Names(at, Name::IsGone(name)));
                }
            }
            _ => {}
        }
    }

    /// What is found when the power goes after so many calls; `survives` says of each thing that
    /// nobody has made sure of whether it came to the disk.
    fn cut(
        &self,
        calls: usize,
        case: &mut Case,
        survives: &dyn Fn(&mut Case) -> bool,
    ) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut contents = self.before.clone();
        let mut names = self.names.clone();
        let mut open_files: BTreeMap<usize, Vec<(usize, &Did)>> = BTreeMap::new();
        let mut open_names: BTreeMap<usize, Vec<(usize, &Name)>> = BTreeMap::new();
        for (number, did) in self.did[..calls].iter().enumerate() {
            match did {
                Did::Write(file, ..) | Did::Truncate(file, _) => {
                    open_files.entry(*file).or_default().push((number, did))
                }
                Did::Names(folder, name) => {
                    open_names.entry(*folder).or_default().push((number, name))
                }
                Did::SyncFile(file, begun) => {
                    let mut last = 0;
                    for (number, did) in open_files
                        .entry(*file)
                        .or_default()
                        .extract_if(.., |(n, _)| *n < *begun)
                    {
                        apply(&mut contents[*file], did, case, &|_| true);
                        last = number;
                    }
                    // The change of the file is in the log behind them.
                    for (folder, pending) in open_names.iter_mut().filter(|_| self.is_ordered) {
                        let logged = pending.extract_if(.., |(n, _)| *n < last);
                        logged.for_each(|(_, name)| rename(&mut names[*folder], name));
                    }
                }
                Did::SyncFolder(folder, begun) => {
                    let synced = open_names
                        .entry(*folder)
                        .or_default()
                        .extract_if(.., |(n, _)| *n < *begun);
                    synced.for_each(|(_, name)| rename(&mut names[*folder], name));
                }
                Did::Tell(_) => {}
            }
        }
        for (file, pending) in open_files {
            let content = &mut contents[file];
            let synced = content.len();
            let mut end = synced;
            for (_, did) in pending {
                apply(content, did, case, survives);
                if let Did::Write(_, at, bytes) = did {
                    end = end.max(at + bytes.len());
                }
            }
            // Its length is known of on its own.
            match case.below(3) {
                0 => content.resize(content.len().max(end), 0),
                1 if content.len() > synced => {
                    content.truncate(
                        synced
                            + usize::try_from(case.below((content.len() - synced) as u64 + 1))
                                .unwrap(),
                    );
                }
                _ => {}
            }
        }
        for (folder, pending) in open_names {
            for (_, name) in pending {
                if survives(case) {
                    rename(&mut names[folder], name);
                }
            }
        }
        let mut found = BTreeMap::new();
        let mut open = vec![(PathBuf::new(), 0)];
        while let Some((path, folder)) = open.pop() {
            for (name, node) in &names[folder] {
                match node {
                    Node::File(file) => {
                        drop(found.insert(path.join(name), contents[*file].clone()))
                    }
                    Node::Folder(folder) => open.push((path.join(name), *folder)),
                }
            }
        }
        found
    }

    /// What was told until then.
    fn told(&self, calls: usize) -> Vec<u8> {
        let told = self.did[..calls].iter().filter_map(|did| {
            if let Did::Tell(bytes) = did {
                Some(bytes)
            } else {
                None
            }
        });
        told.flatten().copied().collect()
    }
}

fn apply(content: &mut Vec<u8>, did: &Did, case: &mut Case, survives: &dyn Fn(&mut Case) -> bool) {
    match did {
        Did::Write(_, at, bytes) => {
            let mut from = 0;
            while from < bytes.len() {
                let to = bytes.len().min(((at + from) / SECTOR + 1) * SECTOR - at);
                if survives(case) {
                    if content.len() < at + to {
                        content.resize(at + to, 0);
                    }
                    content[at + from..at + to].copy_from_slice(&bytes[from..to]);
                }
                from = to;
            }
        }
        Did::Truncate(_, length) if survives(case) => content.truncate(*length),
        _ => {}
    }
}

fn rename(names: &mut BTreeMap<String, Node>, change: &Name) {
    match change {
        Name::Is(name, node) => drop(names.insert(name.clone(), *node)),
        Name::IsGone(name) => drop(names.remove(name)),
        Name::Moves(from, to, node) => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
    }
}

/// What must hold of what is found, after so many of the calls.
type Law = Box<dyn Fn(&BTreeMap<PathBuf, Vec<u8>>, &[u8], bool)>;

fn one<'a>(all: &'a BTreeMap<PathBuf, Vec<u8>>, name: &str) -> Option<&'a Vec<u8>> {
    all.iter()
        .find(|(path, _)| path.file_name().is_some_and(|n| n == name))
        .map(|(_, content)| content)
}

/// A ledger is the old one or the new one, and the new one for whoever was told.
fn ledger_law(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> impl Fn(&BTreeMap<PathBuf, Vec<u8>>, bool) + use<> {
    let (old, new) = (
        one(before, "ledger.json").cloned(),
        one(after, "ledger.json").cloned(),
    );
    assert!(new.is_some() && new != old);
    move |found, over| {
        let ledger = one(found, "ledger.json").cloned();
        assert!(
            ledger == new || !over && ledger == old,
            "a ledger that nobody wrote: {ledger:?}"
        );
        assert!(ledger.is_none_or(|ledger| ledger::decode(&ledger).is_ok()));
    }
}

/// The laws of a run whose round is counted.
fn run_law(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Law {
    let of_ledger = ledger_law(before, after);
    let of_record = record_law(before, after, true);
    Box::new(move |found, told, over| {
        of_record(found, told, over);
        of_ledger(found, over || has_ended(told));
    })
}

/// The laws of a run that starts nothing: its report may be lost, its end is there.
fn reused_law(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Law {
    let started = |content: &Vec<u8>| {
        lines(content).any(|line| matches!(line.entry, JournalEntry::StepStarted { .. }))
    };
    let fresh = |(path, _): &(&PathBuf, _)| !before.contains_key(*path);
    assert!(
        !after
            .iter()
            .filter(fresh)
            .any(|(_, content)| started(content)),
        "an earlier pass stands for every step"
    );
    record_law(before, after, false)
}

fn has_ended(told: &[u8]) -> bool {
    lines(told).any(|line| matches!(line.entry, JournalEntry::RunFinished { .. }))
}

/// Whether the readers of a file of a record refuse it.
fn is_refused(name: &str, content: &[u8]) -> bool {
    match name {
        "plan.json" => {
            std::str::from_utf8(content).map_or(true, |text| document::from_json(text).is_err())
        }
        _ => merge::read(name, content).is_err(),
    }
}

/// `is_reported`: whether the report is there when the run is over.
fn record_law(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
    is_reported: bool,
) -> Law {
    let fresh = |path: &&PathBuf| path.ends_with("events.jsonl") && !before.contains_key(*path);
    let events = after.keys().find(fresh).expect("a journal").clone();
    let folder = events.parent().unwrap().to_owned();
    let after = after.clone();
    let all: Vec<Line> = lines(&after[&events]).collect();
    Box::new(move |found, told, over| {
        let journal = found.get(&events).map(Vec::as_slice).unwrap_or_default();
        let kept: Vec<Line> = lines(journal).collect();
        assert!(all.starts_with(&kept), "it says what was never written");
        assert!(!replay(journal).is_pass() || kept.len() == all.len());
        assert!(!over || kept.len() == all.len(), "the end is lost");
        let known: Vec<Line> = lines(told).collect();
        for line in known
            .iter()
            .filter(|line| !matches!(line.entry, JournalEntry::StepStarted { .. }))
        {
            assert!(kept.contains(line), "told, and not there: {line:?}");
        }
        for name in ["report.json", "plan.json"] {
            let path = folder.join(name);
            let must_be_whole = name == "report.json" && is_reported;
            assert!(
                found
                    .get(&path)
                    .is_none_or(|content| *content == after[&path]
                        || !must_be_whole && is_refused(name, content)),
                "{name} is not whole"
            );
        }
        assert!(
            !(is_reported && (over || has_ended(told)))
                || found.contains_key(&folder.join("report.json")),
            "there is no report"
        );
        for (path, content) in found {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == ".gitignore" {
                assert!(
                    content.is_empty() || content == b"*\n" || !over,
                    "{content:?}"
                );
            }
            if name.len() == 64 && path.parent().is_some_and(|p| p.ends_with("results")) {
                let key: Digest = format!("sha256:{name}").parse().unwrap();
                let pass = Pass::decode(&key, content);
                assert!(
                    pass.is_none() || after.get(path) == Some(content),
                    "a pass that nobody wrote"
                );
            }
        }
    })
}

fn gate_law(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Law {
    let of_ledger = ledger_law(before, after);
    Box::new(move |found, _, over| of_ledger(found, over))
}

fn lock_law(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Law {
    const NAME: &str = "verify.lock.kdl";
    let (old, new) = (one(before, NAME).cloned(), one(after, NAME).cloned());
    assert!(new.is_some() && new != old);
    Box::new(move |found, _, over| {
        let lock = one(found, NAME).cloned();
        assert!(
            lock == new || !over && lock == old,
            "a lock that nobody wrote: {lock:?}"
        );
    })
}

fn traces() -> Option<Vec<(&'static str, Trace, Law)>> {
    let contract = "vplan 1\ncheck first {\n  run echo first\n  inputs \"src\"\n}\ncheck second {\n  shell test -e ../../tried || { touch ../../tried; exit 1; }\n  retries 1\n}\n\
                    check third {\n  shell echo third; grep -q good src\n  inputs \"src\"\n}\n";
    let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src", "good\n")]);
    project.mkdir("../disk").write("../disk/told", "");
    let root = project.parent().join("disk");
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let (told, records, state) = (path("told"), path("records/of/this"), path("state/of/this"));
    let alone = [
        "run",
        "--changed-none",
        "--progress",
        "none",
        "--records",
        &records,
        "--state-dir",
        &state,
    ];
    let counted = [&alone[..], &["--subject", "S"]].concat();
    let run = [&counted[..], &["--events", &told]].concat();
    let gate = [
        "gate",
        "record",
        "--subject",
        "S",
        "--status",
        "done",
        "--state-dir",
        &state,
    ];
    let fresh = [
        "gate",
        "record",
        "--subject",
        "S",
        "--status",
        "done",
        "--state-dir",
        &path("other/state"),
    ];
    let mut all: Vec<(&'static str, Trace, Law)> = Vec::new();
    let mut add = |name, project: &Project, root: &Path, args: &[&str], law: fn(&_, &_) -> Law| {
        let before = files(root);
        let trace = Trace::of(project, root, "told", args)?;
        let after = files(root);
        // The model knows what the disk knows.
        let law = law(&before, &after);
        all.push((name, trace, law));
        Some(())
    };
    add("a run on a new disk", &project, &root, &run, run_law)?;
    add("a run after another", &project, &root, &run, run_law)?;
    project.write("src", "bad\n");
    add("a run that fails", &project, &root, &run, run_law)?;
    project.write("src", "good too\n");
    add(
        "a run that nobody follows",
        &project,
        &root,
        &counted,
        run_law,
    )?;
    // A file system that orders nothing: each folder is synced by itself.
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        let [records, state] =
            ["records", "state"].map(|name| memory.path().join(name).to_str().unwrap().to_owned());
        let places = ["--records", &records, "--state-dir", &state];
        let elsewhere = [&alone[..4], &["--subject", "S"], &places].concat();
        add(
            "a run on another file system",
            &project,
            memory.path(),
            &elsewhere,
            run_law,
        )?;
    }
    add("a round", &project, &root, &gate, gate_law)?;
    add(
        "the first round",
        &project,
        &root.join("other"),
        &fresh,
        gate_law,
    )?;
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck first {\n  run true\n  inputs \"src\"\n}\n",
    );
    project.run(&alone).exits(0);
    add(
        "a run that starts nothing",
        &project,
        &root,
        &alone,
        reused_law,
    )?;
    let remote = Project::git_with(&[("shared.vplan", "vplan 1\ncheck shared: true\n")]);
    let mut revisions = vec![remote.git(&["rev-parse", "HEAD"])];
    remote.write("shared.vplan", "vplan 1\ncheck shared: false\n");
    revisions.push(remote.commit("other"));
    for (name, revision) in ["the first lock", "a lock"].into_iter().zip(&revisions) {
        let url = format!("file://{}", remote.root().display());
        project.write(
            "contracts/verify.vplan",
            format!("vplan 1\nimport \"git+{url}?rev={revision}#shared.vplan\" as shared\ncheck own: true\n"),
        );
        add(
            name,
            &project,
            &project.path("contracts"),
            &["lock"],
            lock_law,
        )?;
    }
    let elsewhere = |(name, ..): &&(&str, Trace, Law)| *name == "a run on another file system";
    assert!(
        all.iter()
            .find(elsewhere)
            .is_none_or(|(_, trace, _)| !trace.is_ordered),
        "memory has no log"
    );
    Some(all)
}

#[test]
fn writes_out_of_order() {
    let mut sweep = Sweep::new(
        "faults::storage::order::writes_out_of_order",
        4_000,
        200_000,
    );
    if !crate::support::tree::have(&["strace"]) {
        return sweep.cannot("no strace");
    }
    let Some(traces) = traces() else {
        return sweep.cannot("strace may not trace here");
    };
    let points: Vec<(usize, usize)> = traces
        .iter()
        .enumerate()
        .flat_map(|(i, (_, trace, _))| (0..=trace.did.len()).map(move |at| (i, at)))
        .collect();
    let none = |_: &mut Case| false;
    let every = |_: &mut Case| true;
    let half = |case: &mut Case| case.below(2) == 0;
    let few = |case: &mut Case| case.below(8) == 0;
    let most = |case: &mut Case| case.below(8) != 0;
    let ways: [&dyn Fn(&mut Case) -> bool; 5] = [&none, &every, &half, &few, &most];
    while let Some(mut case) = sweep.next() {
        let number = usize::try_from(case.number).unwrap();
        // First each point with nothing and with everything, then any.
        let ((which, at), way) = match number.checked_sub(2 * points.len()) {
            None => (points[number / 2], number % 2),
            Some(_) => (
                *case.one_of(&points),
                2 + usize::try_from(case.below(3)).unwrap(),
            ),
        };
        let (name, trace, law) = &traces[which];
        let found = trace.cut(at, &mut case, &ways[way]);
        let over = at == trace.did.len();
        sweep.count(name, 1);
        law(&found, &trace.told(at), over);
        case.held();
    }
    sweep.count("points", points.len() as u64);
    assert!(sweep.seen("a run on a new disk") > 0 && sweep.seen("a lock") > 0);
}
