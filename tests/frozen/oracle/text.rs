//! Small texts: commands, globs, words and units; and what makes foreign text harmless.

use super::choices::fields;
use crate::reference::shell::simple_command;
use vplan::base::command::{Command, Piece};
use vplan::base::inert::{
    inert as made_inert, json_without_commands, without_commands, without_escapes,
};
use vplan::base::origin::{GitOrigin, GitRef};
use vplan::base::path::RepoPath;
use vplan::base::unit::{MAX_INTEGER, parse_duration, parse_size, show_duration, show_size};
use vplan::base::word::{is_unsafe_to_show, quote_string, visible};
use vplan::contract::import::source::{ImportSource, ImportedName};
use vplan::lang::command::parse_command;

/// Any text as a command: reading is total, what is read round-trips, and what is accepted means
/// what a shell would make of it, word for word, of a text that asks nothing else of it.
pub fn command(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    super::language::command(text).unwrap();
    // Here a line that goes on begins with a blank, in a shell it does not.
    if text.contains("\\\n") {
        return;
    }
    let Command::Argv { env, pieces } = parse_command(text) else {
        return;
    };
    let (assignments, words) =
        simple_command(text).unwrap_or_else(|| panic!("a shell would do more with {text:?}"));
    let theirs: vplan::base::command::Env = assignments
        .into_iter()
        .map(|(name, value)| (name, vplan::base::word::Word::new(value)))
        .collect();
    assert_eq!(env, theirs, "{text:?}");
    let ours: Vec<Vec<u8>> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Word(word) => word.as_bytes().to_vec(),
            Piece::Changed => b"{changed}".to_vec(),
        })
        .collect();
    assert_eq!(ours, words, "{text:?}");
}

/// Any globs, a line each, a zero, any paths: the matcher, the index of many and a naive reference
/// agree.
pub fn glob(bytes: &[u8]) {
    let [globs, paths] = fields(bytes);
    vplan::arbitrary::glob::oracle(globs, paths);
}

/// Any secrets, a line each, a zero, sizes of pieces, a zero, any text: what lies in a secret is
/// masked, nothing else is, and where pieces end makes no difference.
pub fn mask(bytes: &[u8]) {
    let [secrets, pieces, text] = fields(bytes);
    let secrets = secrets
        .split(|b| *b == b'\n')
        .take(16)
        .map(<[u8]>::to_vec)
        .collect();
    vplan::effect::os::process::mask::oracle(secrets, text, pieces);
}

/// Any text as a duration, a size, a path, an origin, a quoted string: what is read is what is
/// written.
pub fn words(bytes: &[u8]) {
    match RepoPath::parse(bytes) {
        Ok(path) => {
            assert_eq!(RepoPath::parse(path.as_bytes()).as_ref(), Ok(&path));
            assert_eq!(
                RepoPath::from_exact(path.as_bytes()).as_ref(),
                Some(&path).filter(|p| !p.is_root())
            );
            let is_plain = |s: &[u8]| !matches!(s, b"" | b"..") && !s.contains(&0);
            assert!(path.segments().all(is_plain), "{path:?}");
            assert!(
                path.is_root() || path.segments().all(|s| s != b"."),
                "{path:?}"
            );
            // By way of its directory it is the same file.
            assert_eq!(RepoPath::root().join(path.as_bytes()), Ok(path));
        }
        Err(_) => assert!(
            bytes.is_empty() || bytes[0] == b'/' || bytes.contains(&0) || leaves(bytes),
            "refused without a reason: {bytes:?}"
        ),
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let shown = visible(bytes);
    assert!(
        !shown.chars().any(is_unsafe_to_show) && !shown.contains('\n'),
        "{shown:?}"
    );
    let ours = parse_duration(text).ok();
    assert_eq!(ours, duration(text), "{text:?}");
    if let Some(value) = ours {
        assert_eq!(parse_duration(&show_duration(value)), Ok(value), "{text:?}");
    }
    let sizes = [
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    unit(text, parse_size(text).ok(), parse_size, show_size, &sizes);
    if let Ok(origin) = GitOrigin::parse(text) {
        assert_eq!(
            GitOrigin::parse(&origin.to_string()).as_ref(),
            Ok(&origin),
            "{text:?}"
        );
    }
    let importer = ImportSource::Local(RepoPath::from_exact(b"contracts/verify.vplan").unwrap());
    match ImportSource::parse(text, &importer) {
        // A path that is read leads somewhere inside, from wherever it is read.
        Ok(ImportedName::Source(ImportSource::Local(path))) => {
            assert!(
                !path.is_root() && RepoPath::from_exact(path.as_bytes()).is_some(),
                "{text:?}"
            )
        }
        Ok(ImportedName::Source(source)) => {
            let written = source.to_string();
            if let ImportSource::Git(origin) = &source {
                assert_eq!(GitOrigin::parse(&written).as_ref(), Ok(origin), "{text:?}");
            }
            let again = ImportSource::parse(&written, &importer).ok();
            assert_eq!(again, Some(ImportedName::Source(source)), "{text:?}");
        }
        Ok(ImportedName::Moving { at, path }) => {
            assert_eq!(GitRef::parse(&at.to_string()).as_ref(), Ok(&at), "{text:?}");
            let again = format!("{at}#{path}");
            let again = ImportSource::parse(&again, &importer).ok();
            assert_eq!(again, Some(ImportedName::Moving { at, path }), "{text:?}");
        }
        Err(fault) => assert!(
            !fault.message.contains('\n') && !fault.message.ends_with('.'),
            "{fault:?}"
        ),
    }
    if !text.contains('\0') {
        let written = format!("vplan 1\ncontract {}\ncheck a: true\n", quote_string(text));
        let (_, draft, _) = super::contract::drafted("contracts/verify.vplan", written.as_bytes());
        assert_eq!(
            draft
                .names
                .iter()
                .map(|n| n.value.as_str())
                .collect::<Vec<_>>(),
            [text],
            "{written}"
        );
    }
}

fn leaves(path: &[u8]) -> bool {
    let mut depth = 0;
    path.split(|b| *b == b'/').any(|name| {
        depth += match name {
            b".." => -1,
            b"" | b"." => 0,
            _ => 1,
        };
        depth < 0
    })
}

/// Numbers with units, the larger first; each but the first below the next larger unit.
fn duration(text: &str) -> Option<u64> {
    const UNITS: [(&str, u128); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
    let (mut rest, mut sum, mut last) = (text, 0_u128, UNITS.len());
    while !rest.is_empty() {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let behind = &rest[digits.len()..];
        let letters: String = behind.chars().take_while(|c| !c.is_ascii_digit()).collect();
        let at = UNITS.iter().position(|(name, _)| *name == letters)?;
        let number = digits.trim_start_matches('0');
        if digits.is_empty() || number.len() >= 20 || at >= last {
            return None;
        }
        let number = number
            .bytes()
            .fold(0_u128, |sum, b| sum * 10 + u128::from(b - b'0'));
        let value = number * UNITS[at].1;
        if last < UNITS.len() && value >= UNITS[at + 1].1 {
            return None;
        }
        (sum, last) = (sum + value, at);
        rest = &behind[letters.len()..];
    }
    u64::try_from(sum)
        .ok()
        .filter(|sum| *sum > 0 && *sum <= MAX_INTEGER)
}

/// A number and its unit, by a sum of digits.
fn unit<E: std::fmt::Debug + PartialEq>(
    text: &str,
    ours: Option<u64>,
    parse: fn(&str) -> Result<u64, E>,
    show: fn(u64) -> String,
    units: &[(&str, u128)],
) {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let unit = units
        .iter()
        .find(|(name, _)| text[digits.len()..] == **name)
        .map(|(_, factor)| *factor);
    let number = digits.trim_start_matches('0');
    let theirs = unit
        .filter(|_| !number.is_empty() && number.len() < 20)
        .and_then(|factor| {
            let value = number
                .bytes()
                .fold(0_u128, |sum, b| sum * 10 + u128::from(b - b'0'))
                * factor;
            u64::try_from(value).ok().filter(|v| *v <= MAX_INTEGER)
        });
    assert_eq!(ours, theirs, "{text:?}");
    if let Some(value) = ours {
        assert_eq!(parse(&show(value)), Ok(value), "{text:?}");
    }
}

/// Any output: what is shown of it moves no cursor, sets no colour, hides nothing, and no program
/// that reads a log obeys a line of it; what is clean stays as it is; a document stays the same
/// document.
pub fn inert(bytes: &[u8]) {
    let shown = made_inert(bytes);
    assert!(
        shown
            .chars()
            .all(|c| matches!(c, '\n' | '\t') || !is_unsafe_to_show(c)),
        "{shown:?}"
    );
    assert_eq!(made_inert(shown.as_bytes()), shown);
    assert!(
        shown.len() <= 3 * bytes.len() + 3,
        "{} bytes of {}",
        shown.len(),
        bytes.len()
    );
    let mut terminal = vt100::Parser::new(
        std::num::NonZero::new(24).unwrap(),
        std::num::NonZero::new(80).unwrap(),
        0,
    );
    terminal.process(shown.replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    assert!(!screen.hide_cursor() && !screen.alternate_screen() && !screen.bracketed_paste());
    assert_eq!(
        (screen.fgcolor(), screen.bgcolor()),
        (vt100::Color::Default, vt100::Color::Default)
    );
    assert!(!screen.inverse() && !screen.bold() && !screen.underline());

    let text = String::from_utf8_lossy(bytes);
    let bare = without_escapes(&text);
    assert!(!bare.contains('\u{1b}'), "{bare:?}");
    assert!(is_part(&bare, &text), "{bare:?} is not part of {text:?}");
    for said in [&text, shown.as_str()] {
        let said = without_commands(said);
        assert_eq!(obeyed(&said), None, "{said:?}");
        assert_eq!(without_commands(&said), said, "once is enough");
    }
    let document = serde_json::to_string(&[&text, &text]).unwrap();
    let harmless = json_without_commands(&document);
    assert_eq!(obeyed(&harmless), None, "{harmless:?}");
    let (before, after): (Vec<String>, Vec<String>) = (
        serde_json::from_str(&document).unwrap(),
        serde_json::from_str(&harmless).unwrap(),
    );
    assert_eq!(before, after);
    // In Markdown it is one piece of code, and nothing around it is anything else.
    let code = vplan::cli::render::feedback::code(&text);
    let mut events = pulldown_cmark::Parser::new(&code).collect::<Vec<_>>();
    let is_frame = |e: &pulldown_cmark::Event<'_>| {
        use pulldown_cmark::{Event, Tag, TagEnd};
        matches!(
            e,
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)
        )
    };
    events.retain(|e| !is_frame(e));
    let is_blank = |text: &str| text == "(blank)" && code == text;
    let fine = match events.as_slice() {
        [pulldown_cmark::Event::Code(_)] => true,
        [pulldown_cmark::Event::Text(text)] => is_blank(text),
        _ => false,
    };
    assert!(fine, "{code:?} is {events:?}");
}

fn is_part(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

/// The line of a log that GitHub's runner would obey: `::` at its beginning, `##[` anywhere; told
/// by .NET's comparison, which overlooks what has no width, in lines as .NET cuts them.
fn obeyed(log: &str) -> Option<String> {
    let is_unseen = |c: &char| {
        let mark = matches!(c, '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
        let format = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}');
        let control = c.is_control() && !c.is_whitespace();
        mark || format || control
    };
    log.split(['\n', '\r']).find_map(|line| {
        let seen: String = line.chars().filter(|c| !is_unseen(c)).collect();
        (seen.trim().starts_with("::") || seen.contains("##[")).then(|| line.to_owned())
    })
}
