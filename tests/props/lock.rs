//! Laws of the lock: what is written is read again, changes touch nothing else, and no slip goes
//! unnoticed.

use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::base::canon::Digest;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::origin::{GitOrigin, GitRef, is_ref_name};
use vplan::base::span::SourceId;
use vplan::lock::{Lock, PinnedImport, PinnedRef, RecordedAnswer, decode, encode, update};

fn origins() -> impl Strategy<Value = GitOrigin> {
    let url = prop_oneof![
        "https://[a-z]{1,8}\\.org(:[1-9][0-9]{0,3})?/[a-zA-Z0-9._~/-]{1,12}",
        "ssh://(git@)?[a-z]{1,8}/[a-z%]{0,3}x%20y",
        "file:///[a-z/]{1,12}",
    ];
    let revision = prop_oneof!["[0-9a-f]{39}1", "[0-9a-f]{63}1"];
    let path = "[a-zä\"#?\\\\ ]{1,6}(/[a-z.\"]{1,2}x){0,2}";
    let read = |(url, revision, path): (String, String, String)| {
        GitOrigin::parse(&format!("git+{url}?rev={revision}#{path}")).ok()
    };
    (url, revision, path).prop_filter_map("not every text is an origin", read)
}

fn digests() -> impl Strategy<Value = Digest> {
    any::<[u8; 4]>().prop_map(|bytes| Digest::hash(&bytes))
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z{}\":, ]{0,30}",
        "[\"#\\\\a]{0,12}",
        any::<String>(),
        Just("{\"checks\":[\"a \\\"b\\\"\"]}".to_owned()),
        Just("\u{202e}\n\r\t\0".to_owned()),
    ]
}

fn locks() -> impl Strategy<Value = Lock> {
    let import =
        (origins(), digests(), any::<u64>()).prop_map(|(origin, digest, bytes)| PinnedImport {
            origin,
            digest,
            bytes,
        });
    let answer =
        (digests(), texts(), texts()).prop_map(|(question, proposer, answer)| RecordedAnswer {
            question,
            proposer,
            answer,
        });
    let at = (0..3_u8, "[a-z]{1,3}(/[a-z0-9.]{1,3}x)?").prop_map(|(url, name)| GitRef {
        url: format!("https://example.org/{url}"),
        name,
    });
    let pinned = (at, "[0-9a-f]{40}", prop::option::of(digests()));
    let pinned = pinned.prop_map(|(at, commit, accepted)| PinnedRef {
        at,
        commit,
        accepted,
    });
    let lists = (
        prop::collection::vec(
            pinned.prop_filter("a name", |p| is_ref_name(&p.at.name)),
            0..3,
        ),
        prop::collection::vec(import, 0..5),
        prop::collection::vec(answer, 0..4),
    );
    lists.prop_map(|(refs, imports, answers)| {
        let mut lock = Lock::default();
        refs.into_iter().for_each(|r| lock.pin_ref(r));
        imports.into_iter().for_each(|i| lock.pin(i));
        answers.into_iter().for_each(|a| lock.record(a));
        lock
    })
}

/// A lock and another that shares some of its entries.
fn two_locks() -> impl Strategy<Value = (Lock, Lock)> {
    (locks(), locks(), any::<u8>(), any::<u64>()).prop_map(|(a, b, keep, bytes)| {
        let mut second = b;
        for (i, import) in a
            .imports
            .iter()
            .enumerate()
            .filter(|(i, _)| keep >> (i % 8) & 1 == 1)
        {
            // One of them with another content.
            let bytes = if i == 0 { bytes } else { import.bytes };
            second.pin(PinnedImport {
                bytes,
                ..import.clone()
            });
        }
        for pinned in a.refs.iter().skip(usize::from(keep) % 2) {
            second.pin_ref(pinned.clone());
        }
        for answer in a.proposals.iter().skip(usize::from(keep) % 3) {
            second.record(answer.clone());
        }
        (a, second)
    })
}

fn read(text: &str) -> (Lock, Diagnostics) {
    decode(text, SourceId::default())
}

fn good(text: &str) -> Lock {
    let (lock, found) = read(text);
    assert!(found.is_empty(), "{text}\n{found:?}");
    lock
}

/// Text of people around the entries of a lock. Each comment is one of a kind.
fn decorated(text: &str, seed: u64) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut comments = Vec::new();
    let mut state = seed;
    let mut number = 0;
    let mut next = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut say = |form: u64| {
        number += 1;
        let comment = match form {
            0 => format!("// note {number} \"{{ import"),
            1 => format!("/* note {number} /* deeper \" */ * / \n {{ */"),
            _ => format!("// note {number} é \\"),
        };
        comments.push(comment.clone());
        comment
    };
    for line in text.lines() {
        let inside = line.starts_with("  ");
        match next(6) {
            0 if !inside => out.push_str(&format!("{}\n", say(next(3)))),
            1 if !inside => out.push_str("\n \t\n"),
            2 if !inside => out.push_str("  "),
            3 if !inside => out.push_str(&format!("{} ", say(1))),
            4 if inside => out.push_str(&format!(" {} ", say(1))),
            _ => {}
        }
        out.push_str(line);
        match next(4) {
            0 if !line.ends_with('\\') => out.push_str(&format!(" {}", say(0))),
            1 if !line.ends_with('\\') => out.push_str(" ;"),
            2 if line.ends_with('\\') => out.push_str(&format!("   {}", say(0))),
            _ => {}
        }
        out.push('\n');
    }
    (out, comments)
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn lock_roundtrip_canonical(lock in locks()) {
        let text = encode(&lock);
        prop_assert_eq!(good(&text), lock.clone());
        // Canonical: the order in which entries came to be does not show.
        let mut other = lock.clone();
        other.imports.reverse();
        other.proposals.reverse();
        prop_assert_eq!(encode(&other), text);
    }

    #[test]
    fn kdl_reads_the_same(lock in locks(), seed in any::<u64>()) {
        let (text, _) = decorated(&encode(&lock), seed);
        prop_assert_eq!(good(&text), lock.clone());
        let document = kdl::KdlDocument::parse_v2(&text).map_err(|e| TestCaseError::fail(format!("{text}\n{e:?}")))?;
        let mut theirs = Lock::default();
        for node in document.nodes() {
            let text = |key: &str| node.get(key).unwrap().as_string().unwrap().to_owned();
            match node.name().value() {
                "version" => prop_assert_eq!(node.get(0).unwrap().as_integer(), Some(1)),
                "ref" => theirs.pin_ref(PinnedRef {
                    at: GitRef::parse(node.get(0).unwrap().as_string().unwrap()).unwrap(),
                    commit: text("commit"),
                    accepted: node.get("accepted").map(|v| v.as_string().unwrap().parse().unwrap()),
                }),
                "import" => theirs.pin(PinnedImport {
                    origin: GitOrigin::parse(node.get(0).unwrap().as_string().unwrap()).unwrap(),
                    digest: text("digest").parse().unwrap(),
                    bytes: u64::try_from(node.get("bytes").unwrap().as_integer().unwrap()).unwrap(),
                }),
                _ => theirs.record(RecordedAnswer {
                    question: text("question").parse().unwrap(),
                    proposer: text("proposer"),
                    answer: text("answer"),
                }),
            }
        }
        prop_assert_eq!(theirs, lock);
    }

    #[test]
    fn an_update_is_what_would_have_been_written((old, new) in two_locks()) {
        prop_assert_eq!(update(&encode(&old), &new), encode(&new));
        prop_assert_eq!(update("", &new), encode(&new));
    }

    #[test]
    fn an_update_touches_nothing_else((old, new) in two_locks(), seed in any::<u64>(), crlf in any::<bool>()) {
        let (text, comments) = decorated(&encode(&old), seed);
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        prop_assert_eq!(&update(&text, &old), &text, "nothing changed");
        let updated = update(&text, &new);
        prop_assert_eq!(good(&updated), new.clone(), "{}", updated);
        prop_assert_eq!(&update(&updated, &new), &updated);
        for comment in comments {
            let comment = if crlf { comment.replace('\n', "\r\n") } else { comment };
            prop_assert!(updated.contains(&comment), "{comment} is gone from\n{updated}\nwhich was\n{text}");
        }
        // Lines without a node, and those of entries that stay, are there as they were.
        for line in text.split_inclusive('\n').filter(|l| !l.contains("import ") && !l.contains("ref ") && !l.contains("seal=") && !l.contains("proposal ")) {
            prop_assert!(updated.contains(line.trim()), "{line:?}");
        }
    }

    #[test]
    fn any_text_is_read_and_mended(text in "[ -~\\n\"#/*\\\\{}\u{feff}\u{202e}]{0,200}", (old, new) in two_locks(), at in any::<prop::sample::Index>()) {
        let whole = encode(&old);
        let mut at = at.index(whole.len() + 1);
        while !whole.is_char_boundary(at) {
            at -= 1;
        }
        let mixed = format!("{}{text}{}", &whole[..at], &whole[at..]);
        for text in [&text, &mixed] {
            let (_, found) = read(text);
            for diagnostic in found.iter() {
                for label in &diagnostic.labels {
                    prop_assert!(text.get(label.place.span.start..label.place.span.end).is_some(), "{diagnostic:?}");
                }
            }
            prop_assert_eq!(good(&update(text, &new)), new.clone());
        }
    }
}

/// Every place of a lock, each with many characters put in, put instead, and taken out.
#[test]
fn lock_any_bit_flip_detected() {
    let mut lock = Lock::default();
    let origin = format!("git+https://example.org/x.git?rev={}#a\"b", "0a".repeat(20));
    lock.pin(PinnedImport {
        origin: GitOrigin::parse(&origin).unwrap(),
        digest: Digest::hash(b"x"),
        bytes: 10,
    });
    let answer = "{\"checks\":[\"pnpm test\"]}".to_owned();
    lock.record(RecordedAnswer {
        question: Digest::hash(b"q"),
        proposer: "ask\n--json".to_owned(),
        answer,
    });
    let plain = encode(&lock);
    let (decorated, _) = decorated(&plain, 7);
    let others = " \n;/*\\\"#={-01aF\u{feff}";
    let mut harmless = 0;
    for text in [plain, decorated] {
        let mut check = |edited: String| {
            let (read, found) = read(&edited);
            if found.is_empty() {
                harmless += 1;
                assert_eq!(read, lock, "unnoticed:\n{edited}");
            }
            assert!(found.iter().all(|d| !d.labels.is_empty()), "{found:?}");
        };
        for (at, old) in text.char_indices() {
            let (before, behind) = (&text[..at], &text[at + old.len_utf8()..]);
            check(format!("{before}{behind}"));
            for new in others.chars() {
                check(format!("{before}{new}{behind}"));
                check(format!("{before}{new}{old}{behind}"));
            }
            // The neighbours: one digit more or less, the other case.
            for new in [
                char::from_u32(u32::from(old) ^ 1),
                char::from_u32(u32::from(old) ^ 0x20),
            ]
            .into_iter()
            .flatten()
            {
                check(format!("{before}{new}{behind}"));
            }
        }
        others.chars().for_each(|new| check(format!("{text}{new}")));
    }
    assert!(harmless > 1_000, "comments and blanks are free: {harmless}");
}

#[test]
fn no_text_is_too_deep() {
    let many = 300_000;
    for text in [
        "a{".repeat(many),
        "/*".repeat(many),
        format!("{}{}", "/*".repeat(many), "*/".repeat(many)),
        format!("/*{}*/", " * /".repeat(many)),
        "/-".repeat(many),
        "(".repeat(many),
        "a = b\n".repeat(many),
        "\\\n".repeat(many),
        "#".repeat(many),
        format!("version 1\nimport {}", "\"a\" ".repeat(many)),
        format!("version 1\nimport \"{}", "\\u{61}".repeat(many)),
    ] {
        let (lock, found) = read(&text);
        assert!(lock.is_empty());
        assert!(found.iter().count() <= 300);
        assert_eq!(good(&update(&text, &Lock::default())), Lock::default());
    }
}
