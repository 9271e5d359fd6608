//! What if a file of ours ends anywhere, or one bit of it is another? Each cut and each flip, in
//! this process, through the readers that vplan uses.

use super::files;
use crate::faults::sweep::Sweep;
use crate::frozen::oracle::run::journal_laws;
use crate::support::Project;
use std::path::PathBuf;
use vplan::base::canon::Digest;
use vplan::base::origin::GitOrigin;
use vplan::base::span::SourceId;
use vplan::ledger::document as ledger;
use vplan::lock::{self, Lock, PinnedImport, RecordedAnswer};
use vplan::plan::Plan;
use vplan::plan::digest::digest;
use vplan::plan::document::{self, DocumentForm};
use vplan::reuse::entry::KeptPass as Pass;
use vplan::run::authenticity::{AspectState, examine};
use vplan::run::journal::{JournalEnd, ReplayedRun, StepState, replay};
use vplan::run::merge;

/// What is done to a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// It ends before this byte.
    Cut(usize),
    /// This bit of this byte is another.
    Flip(usize, u32),
}

impl Damage {
    /// Nine for each byte: it is cut off, and each of its bits is flipped. All of them, in an order
    /// that is spread out.
    fn nth(number: u64, bytes: usize) -> Self {
        // A prime larger than any file here: every number below the end comes once.
        const STRIDE: u128 = 4_294_967_291;
        let all = 9 * bytes as u128;
        let at = usize::try_from(u128::from(number) * STRIDE % all).unwrap();
        match at % 9 {
            8 => Damage::Cut(at / 9),
            bit => Damage::Flip(at / 9, u32::try_from(bit).unwrap()),
        }
    }

    fn of(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Damage::Cut(end) => bytes[..end].to_vec(),
            Damage::Flip(at, bit) => {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= 1 << bit;
                bytes
            }
        }
    }
}

const CONTRACT: &str = "vplan 1\ncheck first {\n  shell cat src/a\n  inputs \"src/**\"\n}\n\
     check flaky {\n  shell test -e ../tried || { touch ../tried; exit 1; }\n  retries 1\n}\n\
     check tests {\n  shell echo test result: ok. 3 passed\\; 0 failed; exit $(cat ../exit)\n}\ncheck last: echo done\n";

/// A project and `count` real runs of it: they pass, fail, have a flaky step, a step that an
/// earlier pass stands for.
fn runs(count: usize) -> (Project, Vec<PathBuf>) {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/a", "1\n"),
        ("src/b", "2\n"),
    ]);
    let mut runs = Vec::new();
    for n in 0..count {
        project.write("../exit", if n % 3 == 1 { "1" } else { "0" });
        if n % 4 == 2 {
            project.remove("../tried");
        }
        let flags: &[&str] = if n % 2 == 0 {
            &["--subject", "S"]
        } else {
            &["--keep-going"]
        };
        let _ = project.run(&[&["run", "--changed-none", "--progress", "none"], flags].concat());
    }
    for entry in std::fs::read_dir(project.path(".vplan/runs")).unwrap() {
        runs.push(entry.unwrap().path());
    }
    runs.sort();
    assert_eq!(runs.len(), count);
    (project, runs)
}

/// A journal with what it says up to the end of each line.
struct Journal {
    bytes: Vec<u8>,
    ends: Vec<(usize, ReplayedRun)>,
}

impl Journal {
    fn new(bytes: Vec<u8>) -> Self {
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'\n')
            .map(|(i, _)| i + 1);
        let ends: Vec<_> = std::iter::once(0)
            .chain(ends)
            .map(|end| (end, replay(&bytes[..end])))
            .collect();
        assert_eq!(ends.last().unwrap().1.bytes, bytes.len(), "it is whole");
        Self { bytes, ends }
    }

    /// What its whole lines before a byte say.
    fn before(&self, at: usize) -> &ReplayedRun {
        &self
            .ends
            .iter()
            .rev()
            .find(|(end, _)| *end <= at)
            .unwrap()
            .1
    }

    fn whole(&self) -> &ReplayedRun {
        &self.ends.last().unwrap().1
    }
}

fn passes(stands: StepState) -> bool {
    matches!(stands, StepState::Ended(status, _) if status.is_pass())
}

/// A journal that ends anywhere says what its whole lines say. One with a damaged line says what
/// stands before it, or, where the line can still be read, nothing better than it did.
#[test]
fn journals() {
    let mut sweep = Sweep::new("faults::storage::damage::journals", 6_000, 589_824);
    const BYTES: usize = 64 << 10;
    let mut journals: Vec<Journal> = Vec::new();
    let mut count = if sweep.whole() { 28 } else { 3 };
    loop {
        let (_project, runs) = runs(count);
        journals.extend(
            runs.iter()
                .map(|run| Journal::new(std::fs::read(run.join("events.jsonl")).unwrap())),
        );
        let bytes: usize = journals.iter().map(|j| j.bytes.len()).sum();
        if !sweep.whole() || bytes >= BYTES {
            break;
        }
        count = 5;
    }
    assert!(
        journals.iter().any(|j| j.whole().is_pass())
            && journals.iter().any(|j| !j.whole().is_pass())
    );
    let all = if sweep.whole() {
        BYTES
    } else {
        journals.iter().map(|j| j.bytes.len()).sum()
    };
    while let Some(case) = sweep.next() {
        let (mut damage, mut of) = (Damage::nth(case.number, all), 0);
        loop {
            let (Damage::Cut(at) | Damage::Flip(at, _)) = &mut damage;
            match at.checked_sub(journals[of].bytes.len()) {
                Some(rest) => (*at, of) = (rest, of + 1),
                None => break,
            }
        }
        let journal = &journals[of];
        let damaged = damage.of(&journal.bytes);
        let found = replay(&damaged);
        match damage {
            Damage::Cut(at) => {
                assert_eq!(&found, journal.before(at), "{damage:?} of the journal {of}");
                sweep.count("cuts", 1);
            }
            Damage::Flip(at, _) => {
                let before = journal.before(at);
                if found.bytes == before.bytes {
                    assert_eq!(&found, before, "{damage:?} of the journal {of}");
                    sweep.count("flips that end it", 1);
                } else {
                    assert!(
                        found.bytes > before.bytes,
                        "{damage:?}: what stands before it is there"
                    );
                    sweep.count("flips that can still be read", 1);
                }
                let whole = journal.whole();
                assert!(
                    !found.is_pass() || whole.is_pass(),
                    "{damage:?} makes it a pass"
                );
                if let JournalEnd::Finished { exit_code: 0, .. } = found.end {
                    assert!(
                        matches!(whole.end, JournalEnd::Finished { exit_code: 0, .. }),
                        "{damage:?} makes it exit 0"
                    );
                }
                for step in &found.steps {
                    let known = whole.steps.iter().find(|s| s.id == step.id);
                    let better = found.is_pass()
                        && passes(step.state)
                        && known.is_some_and(|k| !passes(k.state));
                    assert!(!better, "{damage:?} makes {} pass", step.id);
                }
            }
        }
        if case.number % 64 == 0 {
            journal_laws(&damaged).unwrap();
        }
        case.held();
    }
    assert!(sweep.seen("cuts") > 0 && sweep.seen("flips that end it") > 0);
}

/// What a reader makes of a damaged file.
enum Reads {
    /// It says that it is damaged.
    Refuses,
    /// The same as before.
    Same,
    /// A part of what stood there, and nothing else: what is missing is missed where it is used.
    Less,
}

/// What it makes of bytes; what they mean, when that is something else than before.
type Reader = Box<dyn Fn(&[u8]) -> Result<Reads, String>>;

struct Paper {
    name: &'static str,
    bytes: Vec<u8>,
    read: Reader,
}

fn same_or<T: PartialEq + std::fmt::Debug>(found: Option<T>, whole: &T) -> Result<Reads, String> {
    match found {
        None => Ok(Reads::Refuses),
        Some(found) if found == *whole => Ok(Reads::Same),
        Some(found) => Err(format!("{found:?}")),
    }
}

/// A plan is what its digest says; where its parts come from is for people.
fn same_plan(found: Option<Plan>, whole: &Plan) -> Result<Reads, String> {
    same_or(found.map(|plan| digest(&plan)), &digest(whole))
}

fn a_lock() -> Lock {
    let mut lock = Lock::default();
    for (i, path) in ["a.vplan", "deep/b.vplan"].into_iter().enumerate() {
        let origin = format!(
            "git+https://example.org/x{i}.git?rev=0123456789abcdef0123456789abcdef01234567#{path}"
        );
        lock.pin(PinnedImport {
            origin: GitOrigin::parse(&origin).unwrap(),
            digest: Digest::hash(path.as_bytes()),
            bytes: 100 + i as u64,
        });
    }
    lock.record(RecordedAnswer {
        question: Digest::hash(b"question"),
        proposer: "ask --json".to_owned(),
        answer: r#"{"checks":["pnpm test"]}"#.to_owned(),
    });
    lock
}

/// A file of each kind, as a real run leaves it.
fn papers() -> Vec<Paper> {
    let (project, runs) = runs(3);
    let mut papers = Vec::new();
    let mut add = |name, bytes: Vec<u8>, read: Reader| {
        assert!(matches!(read(&bytes), Ok(Reads::Same)), "{name} is whole");
        papers.push(Paper { name, bytes, read });
    };
    // One that failed.
    for run in &runs[1..2] {
        let file = |name: &str| std::fs::read(run.join(name)).unwrap();
        let journal = replay(&file("events.jsonl"));
        let plan = document::from_json(&String::from_utf8(file("plan.json")).unwrap()).unwrap();
        let whole = merge::read("report.json", &file("report.json"))
            .unwrap()
            .report;
        let of = plan.clone();
        add(
            "report",
            file("report.json"),
            Box::new(move |bytes| {
                let Ok(found) = merge::read("report.json", bytes) else {
                    return Ok(Reads::Refuses);
                };
                let found = found.report;
                if found == whole {
                    return Ok(Reads::Same);
                }
                if examine(&found, Some(&of), Some(&journal))
                    .iter()
                    .any(|a| a.holds == AspectState::No)
                {
                    return Ok(Reads::Refuses);
                }
                // What nothing else says may be another; not what was found.
                let essence = |r: &vplan::run::report::Report| {
                    let steps: Vec<_> = r
                        .steps
                        .iter()
                        .map(|s| (s.id.clone(), s.command.clone(), s.status))
                        .collect();
                    (
                        r.verdict,
                        r.coverage,
                        r.exit_code,
                        r.run_id.clone(),
                        r.plan_digest.clone(),
                        steps,
                    )
                };
                if essence(&found) == essence(&whole) {
                    Ok(Reads::Same)
                } else {
                    Err(format!("{:?}", essence(&found)))
                }
            }),
        );
        let whole = plan.clone();
        add(
            "plan of a run",
            file("plan.json"),
            Box::new(move |bytes| {
                same_plan(
                    std::str::from_utf8(bytes)
                        .ok()
                        .and_then(|t| document::from_json(t).ok()),
                    &whole,
                )
            }),
        );
        for (name, form) in [
            ("plan file in JSON", DocumentForm::Json),
            ("plan file in KDL", DocumentForm::Kdl),
        ] {
            let whole = plan.clone();
            add(
                name,
                form.write(&plan).into_bytes(),
                Box::new(move |bytes| {
                    same_plan(
                        std::str::from_utf8(bytes)
                            .ok()
                            .and_then(|t| form.read(t).ok()),
                        &whole,
                    )
                }),
            );
        }
    }
    let whole = a_lock();
    add(
        "lock",
        lock::encode(&whole).into_bytes(),
        Box::new(move |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Ok(Reads::Refuses);
            };
            let (found, diagnostics) = lock::decode(text, SourceId::default());
            let part = found.imports.iter().all(|i| whole.imports.contains(i))
                && found.proposals.iter().all(|p| whole.proposals.contains(p));
            match (diagnostics.has_errors(), found == whole, part) {
                (true, ..) => Ok(Reads::Refuses),
                (_, true, _) => Ok(Reads::Same),
                (_, _, true) => Ok(Reads::Less),
                _ => Err(format!("{found:?}")),
            }
        }),
    );
    for (path, bytes) in files(&project.path("../home/state/vplan")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "ledger.json" {
            let whole = ledger::decode(&bytes).unwrap();
            add(
                "ledger",
                bytes,
                Box::new(move |bytes| same_or(ledger::decode(bytes).ok(), &whole)),
            );
        } else if name.len() == 64 {
            let key: Digest = format!("sha256:{name}").parse().unwrap();
            let whole = Pass::decode(&key, &bytes).unwrap();
            add(
                "kept pass",
                bytes,
                Box::new(move |bytes| same_or(Pass::decode(&key, bytes), &whole)),
            );
        }
    }
    let mut stats = vplan::effect::os::stat_cache::StatCacheStats::default();
    let about = rustix::fs::stat(project.path("src/a")).unwrap();
    stats.learn(b"src/a", (&about).into(), Digest::hash(b"1\n"), i128::MAX);
    assert_eq!(stats.len(), 1);
    let whole = stats.encode();
    add(
        "digests of files",
        stats.encode(),
        Box::new(move |bytes| {
            let found = vplan::effect::os::stat_cache::StatCacheStats::decode(bytes.to_vec());
            same_or(
                Some(found).filter(|f| !f.is_empty()).map(|f| f.encode()),
                &whole,
            )
        }),
    );
    papers
}

/// Whatever else vplan writes and reads again: damage is found, or means nothing.
#[test]
fn papers_of_all_kinds() {
    let mut sweep = Sweep::new(
        "faults::storage::damage::papers_of_all_kinds",
        4_000,
        400_000,
    );
    let papers = papers();
    for kind in [
        "report",
        "plan of a run",
        "plan file in JSON",
        "plan file in KDL",
        "lock",
        "ledger",
        "kept pass",
    ] {
        assert!(papers.iter().any(|p| p.name == kind), "there is no {kind}");
    }
    let bytes: usize = papers.iter().map(|p| p.bytes.len()).sum();
    while let Some(case) = sweep.next() {
        if case.number >= 9 * bytes as u64 {
            sweep.exhausted();
            case.held();
            break;
        }
        let (mut damage, mut of) = (Damage::nth(case.number, bytes), 0);
        loop {
            let (Damage::Cut(at) | Damage::Flip(at, _)) = &mut damage;
            match at.checked_sub(papers[of].bytes.len()) {
                Some(rest) => (*at, of) = (rest, of + 1),
                None => break,
            }
        }
        let paper = &papers[of];
        let read = (paper.read)(&damage.of(&paper.bytes));
        let read = read.unwrap_or_else(|found| {
            panic!(
                "{} with {damage:?} means something else: {found}",
                paper.name
            )
        });
        match read {
            Reads::Refuses => sweep.count("found to be damaged", 1),
            Reads::Same => sweep.count("means the same", 1),
            Reads::Less => {
                assert!(
                    paper.name == "lock",
                    "{} with {damage:?} says less",
                    paper.name
                );
                sweep.count("says less", 1);
            }
        }
        case.held();
    }
    assert!(sweep.seen("found to be damaged") > 0);
}
