//! What outlives a run: locks, ledgers, kept passes, reports.

use super::choices::{Choices, fields, mutated};
use vplan::base::canon::Digest;
use vplan::base::span::SourceId;
use vplan::check::evidence::EarlierPass;
use vplan::ledger::document::{decode as ledger_of, encode as ledger_text};
use vplan::ledger::round::{Round, RoundChange, RoundResult, SubjectRequest, record};
use vplan::ledger::{Contents, Exhausted, Ledger, Propagate, Status, Terms};
use vplan::lock::{Lock, decode, encode, update};
use vplan::reuse::entry::KeptPass;
use vplan::reuse::key::{FileSet, JUDGING, Parts, Tool};
use vplan::run::merge::read;
use vplan::run::run_summary;
use vplan::run::stop::stop_memo;

/// A text, a zero, another one, as locks: reading is total and points inside; what is accepted is
/// written in the one form that reads back to it, and is KDL; a text is brought up to date whatever
/// is in it, and one that is stays as it is.
pub fn lock(bytes: &[u8]) {
    let [one, two] = fields(bytes);
    let (Ok(one), Ok(two)) = (std::str::from_utf8(one), std::str::from_utf8(two)) else {
        return;
    };
    let (first, is_good) = read_lock(one);
    let (second, _) = read_lock(two);
    for lock in [&first, &second] {
        let text = encode(lock);
        assert_eq!(read_lock(&text), (lock.clone(), true), "{text}");
        assert_eq!(update("", lock), text);
    }
    if is_good {
        match kdl::KdlDocument::parse_v2(one) {
            // A text of comments alone is given its version.
            Ok(theirs) if theirs.get("version").is_none() => {}
            Ok(_) => assert_eq!(update(one, &first), one, "nothing has changed"),
            // An update leaves a `;` where a node was, and that is read again; KDL wants a node in
            // front of it.
            Err(error) => assert!(one.contains(';'), "{one}\n{error:?}"),
        }
        // Whatever is changed of one that was written is harmless, or is noticed.
        let written = encode(&first);
        let edited = mutated(written.as_bytes(), &mut Choices(two.as_bytes()));
        if let Ok(edited) = std::str::from_utf8(&edited) {
            let (read, is_good) = read_lock(edited);
            let kept = read.imports.iter().all(|i| first.imports.contains(i))
                && read.proposals.iter().all(|p| first.proposals.contains(p));
            assert!(!is_good || kept, "an edit that nobody noticed:\n{edited}");
        }
    }
    let updated = update(one, &second);
    assert_eq!(read_lock(&updated), (second.clone(), true), "{updated}");
    assert_eq!(update(&updated, &second), updated);
}

fn read_lock(text: &str) -> (Lock, bool) {
    let (lock, found) = decode(text, SourceId::default());
    for diagnostic in found.iter() {
        assert!(!diagnostic.message.contains('\n'), "{diagnostic:?}");
        for label in &diagnostic.labels {
            assert!(
                text.get(label.place.span.start..label.place.span.end)
                    .is_some(),
                "{diagnostic:?}\n{text:?}"
            );
        }
    }
    (lock, found.is_empty())
}

/// Any bytes as a ledger, a kept pass, a report, the name of a run: a value that is written again
/// to the same, or an error. And of those that vplan writes, drawn by the bytes: whatever is
/// changed is noticed, or changes nothing.
pub fn state(bytes: &[u8]) {
    if let Ok(ledger) = ledger_of(bytes) {
        assert_eq!(
            ledger_of(ledger_text(&ledger).as_bytes()).as_ref(),
            Ok(&ledger)
        );
    }
    let key = Digest::hash(b"key");
    assert_eq!(
        KeptPass::decode(&key, bytes),
        None,
        "no bytes are a pass of what nobody ran"
    );
    if let Ok(part) = read("report.json", bytes) {
        let text = serde_json::to_vec(&part.report).unwrap();
        let again = read("report.json", &text)
            .unwrap_or_else(|e| panic!("{e:?}\n{}", String::from_utf8_lossy(&text)));
        assert_eq!(again.report, part.report);
        let memo = stop_memo(&part.report);
        assert!(
            memo.chars()
                .all(|c| c == '\n' || c == '\t' || !vplan::base::word::is_unsafe_to_show(c)),
            "{memo:?}"
        );
        let _ = vplan::run::authenticity::examine(&part.report, None, None);
    }
    let name = String::from_utf8_lossy(bytes);
    if run_summary::is_run_id(&name) {
        assert!(
            !name.contains(['/', '\0']) && name != "." && name != "..",
            "{name:?} leads elsewhere"
        );
        assert_eq!(run_summary::find(&[name.to_string()], &name), Ok(&*name));
    }

    let mut choices = Choices(bytes);
    let ledger = ledger(&mut choices);
    let text = ledger_text(&ledger);
    assert_eq!(ledger_of(text.as_bytes()).as_ref(), Ok(&ledger), "{text}");
    let edited = mutated(text.as_bytes(), &mut choices);
    if let Ok(read) = ledger_of(&edited) {
        assert_eq!(read, ledger, "{}", String::from_utf8_lossy(&edited));
    }
    let entry = entry(&mut choices);
    let whole = entry.encode();
    assert_eq!(KeptPass::decode(&entry.key, &whole).as_ref(), Some(&entry));
    let edited = mutated(&whole, &mut choices);
    if edited != whole {
        assert_eq!(
            KeptPass::decode(&entry.key, &edited),
            None,
            "{}",
            String::from_utf8_lossy(&edited)
        );
    }
    assert_eq!(KeptPass::decode(&key, &whole), None, "under another key");
}

fn ledger(choices: &mut Choices<'_>) -> Ledger {
    let mut ledger = Ledger::default();
    let terms = Terms {
        confirmations: u32::from(choices.byte() % 4) + 1,
        exhausted: choices.one(&[Exhausted::Fail, Exhausted::Escalate, Exhausted::Allow]),
        propagate: choices.one(&[Propagate::Downgrade, Propagate::Reset, Propagate::Off]),
        retries: u32::from(choices.byte() % 4),
        same_failure: 3,
    };
    for _ in 0..choices.byte() % 6 {
        let files = choices.byte();
        let status = choices.one(&[
            Status::Done,
            Status::Continue,
            Status::Rotate,
            Status::Stuck,
        ]);
        let round = Round {
            about: SubjectRequest::default(),
            changed: if files.is_multiple_of(2) {
                RoundChange::Auto
            } else {
                RoundChange::Files(u64::from(files % 3))
            },
            contents: Contents {
                digest: Digest::hash(&[files]),
                files: u64::from(files),
            },
            ended_at: "2026-01-01T00:00:00Z",
            result: RoundResult::ByHand(status),
            subject: choices.one(&["A", "B", "größer \"x\""]),
        };
        let before = ledger.rounds;
        ledger = record(&ledger, &terms, &round).0;
        assert_eq!(ledger.rounds, before + 1);
        assert!(
            ledger
                .subjects
                .iter()
                .all(|s| s.counter <= terms.confirmations),
            "{ledger:?}"
        );
    }
    ledger
}

fn entry(choices: &mut Choices<'_>) -> KeptPass {
    let mut digest = || Digest::hash(&[choices.byte()]);
    let parts = Parts {
        enforced: Vec::new(),
        environment: vec![("PATH".into(), digest())],
        files: FileSet {
            count: 3,
            digest: digest(),
        },
        judging: JUDGING,
        place: digest(),
        platform: "linux-x86_64".to_owned(),
        predecessors: digest(),
        reads: None,
        toolchains: None,
        settings: digest(),
        tools: vec![Tool {
            digest: digest(),
            path: "/bin/true".into(),
        }],
        vplan: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let pass: EarlierPass = serde_json::from_value(serde_json::json!({
        "at": "2026-01-01T00:00:00Z", "durationMs": 5, "exitCode": 0, "runId": "r",
    }))
    .unwrap();
    KeptPass::new(parts, Vec::new(), pass)
}
