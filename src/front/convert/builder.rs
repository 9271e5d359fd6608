//! Builds a draft together with the account of what it lacks.

use super::account::{
    BAD_COMMAND, BAD_VALUE, EMPTY_COMMAND, Lost, SHELL_STATE, Statement, WRONG_TYPE, cut,
};
use crate::tree::{TreeKey, TreeNode, TreeValue};
use crate::verify_contract_json::carried_settings;
use std::collections::BTreeSet;
use vplan_base::carried::Carried;
use vplan_base::command::{Command, Env, Link, Piece, UnsupportedReason};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::name;
use vplan_base::nearest::nearest;
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId};
use vplan_base::word::{Word, has_word, visible};
use vplan_check::Kind;
use vplan_contract::draft::{At, Check, CheckEntry, Draft, Setting, Verb};
use vplan_contract::settings::known_by;
use vplan_lang::command::{is_shell_line, only_changes_shell, parse_command, would_expand};

/// The longest command, in bytes: its line, quoted, must still fit in a contract.
const MAX_COMMAND: usize = 15 << 10;

/// Builds a draft and its account together.
pub(crate) struct Builder<'s> {
    pub(crate) sources: &'s Sources,
    pub(crate) id: SourceId,
    pub(crate) sink: &'s mut Diagnostics,
    pub(crate) draft: Draft,
    pub(crate) lost: Vec<Lost>,
    pub(super) names: BTreeSet<String>,
    /// The list of commands that is being read, if it is one.
    list: Option<List>,
}

/// A list of commands, read as one shell would read it.
struct List {
    /// The changes of its `cd` and `export` so far, and where it began.
    carried: Carried,
    from: RepoPath,
    /// The last of them, while no command comes after it.
    waiting: Option<(String, Place)>,
}

/// A command that was written for a shell.
pub(crate) struct Spec<'a> {
    pub(crate) text: &'a str,
    pub(crate) place: Place,
    /// The name of the check; made a valid name, and unique. Empty: derived from its words.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) tier: Option<At<u8>>,
    pub(crate) settings: Vec<Setting>,
    /// Its directory, from the root: written out unless it is the default.
    pub(crate) dir: Option<&'a str>,
    /// The `dir` of `defaults`.
    pub(crate) default_dir: Option<&'a str>,
    /// The directory that the list has changed to before it.
    pub(crate) carried_dir: Option<String>,
}

impl<'a> Spec<'a> {
    /// Makes a plain command: a `run` at the root, named after its words.
    pub(crate) fn bare(text: &'a str, place: Place) -> Self {
        let (name, settings) = (String::new(), Vec::new());
        Self {
            text,
            place,
            name,
            kind: Kind::Run,
            tier: None,
            settings,
            dir: None,
            default_dir: None,
            carried_dir: None,
        }
    }

    fn own_dir(&self) -> Option<&str> {
        self.dir.or(self.carried_dir.as_deref())
    }
}

impl<'s> Builder<'s> {
    pub fn new(sources: &'s Sources, id: SourceId, sink: &'s mut Diagnostics) -> Self {
        let path = sources[id].name().to_owned();
        let draft = Draft {
            path,
            ..Draft::default()
        };
        Self {
            sources,
            id,
            sink,
            draft,
            lost: Vec::new(),
            names: BTreeSet::new(),
            list: None,
        }
    }

    /// Reads the commands of a list. Each `cd` and `export` is carried into the commands after it.
    pub(crate) fn list_of<T>(&mut self, dir: Option<&str>, read: impl FnOnce(&mut Self) -> T) -> T {
        let from =
            RepoPath::parse(dir.unwrap_or(".").as_bytes()).unwrap_or_else(|_| RepoPath::root());
        let carried = Carried {
            dir: from.clone(),
            env: Env::new(),
        };
        self.list = Some(List {
            carried,
            from,
            waiting: None,
        });
        let read = read(self);
        if let Some((text, place)) = self.list.take().and_then(|list| list.waiting) {
            self.state(&text, place, "no command comes after it");
        }
        read
    }

    /// Carries a text that only changes the shell into the commands after it, or refuses it: as a
    /// check of its own it would pass and leave the others as they are.
    fn carry(&mut self, text: &str, place: Place) {
        let followed = match (&mut self.list, parse_command(text)) {
            (Some(list), Command::Unsupported { unsupported, .. }) => {
                list.carried.follow_all(&unsupported)
            }
            _ => None,
        };
        if followed.is_none() {
            return self.state(text, place, "only a shell can follow it");
        }
        if let Some(list) = &mut self.list {
            list.waiting = Some((text.to_owned(), place));
        }
        let why = "it is carried into the commands behind it in the list, as their `dir` and `env`";
        let what = format!("`{}`", cut(text, 60));
        self.lose(Lost::changed(what, place, why));
    }

    /// Refuses a text that changes the commands after it and verifies nothing.
    pub(super) fn state(&mut self, text: &str, place: Place, why: &str) {
        let message = format!(
            "`{}` changes what the commands behind it run in: {why}",
            visible(cut(text, 60))
        );
        let help = Some(
            "put it into one entry with the commands that need it (`… && make`), or into a script",
        );
        self.fault(SHELL_STATE, place, message, "no check", help);
    }

    /// Reports a key that the format is not known to have.
    pub(crate) fn unknown(&mut self, within: &str, key: &TreeKey, known: &str) {
        let why = "a key that vplan does not know in this format";
        let mut lost = Lost::omitted(format!("`{within}{}`", key.name), key.place, why);
        if let Some(near) = nearest(&key.name, known.split(' ')) {
            lost = lost.by_hand(format!("was `{near}` meant?"));
        }
        self.lose(lost);
    }

    /// Accounts for something.
    pub(crate) fn lose(&mut self, lost: Lost) {
        self.lost.push(lost);
    }

    /// Accounts for a key that requires no check.
    pub(crate) fn no_effect(&mut self, within: &str, key: &TreeKey, why: &str) {
        let what = format!("`{within}{}`", key.name);
        self.lose(Lost::no_effect(what, key.place, why));
    }

    /// Accounts for what a question of another tool lacks to be answered here.
    pub(crate) fn unanswered(&mut self, what: &str, place: Place, has_context: bool) {
        let (why, hand) = if has_context {
            (
                "there the tool asks its own model; here the contract names the program that answers",
                "`judge-with COMMAND`",
            )
        } else {
            (
                "there the tool asks its own model about what its plan names; here the contract names the program that answers and the files that it reads",
                "`judge-with COMMAND`, and `context \"GLOB\"` in the check",
            )
        };
        self.lose(Lost::changed(what, place, why).by_hand(hand));
    }

    /// Looks up what a key means; reports one that the format is not known to have.
    pub(crate) fn meaning<T: Copy>(
        &mut self,
        within: &str,
        key: &TreeKey,
        known: &[(&str, T)],
    ) -> Option<T> {
        let found = known.iter().find(|(name, _)| *name == key.name);
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.unknown(within, key, &names.join(" "));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Reads the part of a file that names the project; its other keys require no check.
    pub(crate) fn project(&mut self, within: &str, node: &TreeNode, known: &str, why: &str) {
        for (key, node) in self.map(within, node) {
            let what = format!("{within}.{}", key.name);
            match key.name.as_str() {
                "name" => {
                    let name = self.read_string(&what, node);
                    self.draft.names.extend(name);
                }
                name if has_word(known, name) => self.no_effect(&format!("{within}."), key, why),
                _ => self.unknown(&format!("{within}."), key, known),
            }
        }
    }

    /// Reports a value that its key does not take.
    pub(crate) fn bad_value(&mut self, place: Place, message: String, label: &str) {
        self.fault(BAD_VALUE, place, message, label, None);
    }

    pub(crate) fn fault(
        &mut self,
        code: Code,
        place: Place,
        message: String,
        label: &str,
        help: Option<&str>,
    ) {
        let mut error = Diagnostic::error(code, message).label(place, label);
        error.help = help.map(str::to_owned);
        self.sink.push(error);
    }

    pub(crate) fn wrong_type(&mut self, what: &str, wanted: &str, node: &TreeNode) {
        let message = format!("`{what}` is {wanted}, not {}", node.value.name());
        self.fault(WRONG_TYPE, node.place, message, node.value.name(), None);
    }

    /// Returns what was read of a node, or reports that it has another type.
    fn typed<T>(
        &mut self,
        what: &str,
        wanted: &str,
        node: &TreeNode,
        read: Option<T>,
    ) -> Option<T> {
        if read.is_none() {
            self.wrong_type(what, wanted, node);
        }
        read
    }

    pub(crate) fn map<'n>(&mut self, what: &str, node: &'n TreeNode) -> &'n [(TreeKey, TreeNode)] {
        let entries = match &node.value {
            TreeValue::Map(entries) => Some(entries.as_slice()),
            _ => None,
        };
        self.typed(what, "a mapping", node, entries)
            .unwrap_or_default()
    }

    pub(crate) fn list<'n>(&mut self, what: &str, node: &'n TreeNode) -> &'n [TreeNode] {
        let nodes = match &node.value {
            TreeValue::List(nodes) => Some(nodes.as_slice()),
            _ => None,
        };
        self.typed(what, "a list", node, nodes).unwrap_or_default()
    }

    pub(crate) fn text<'n>(&mut self, what: &str, node: &'n TreeNode) -> Option<&'n str> {
        self.typed(what, "a string", node, node.text())
    }

    pub(crate) fn texts<'n>(&mut self, what: &str, node: &'n TreeNode) -> Vec<(&'n str, Place)> {
        let nodes = self.list(what, node).iter();
        nodes
            .filter_map(|n| Some((self.text(what, n)?, n.place)))
            .collect()
    }

    /// Reads a string, as it is to be written.
    pub(crate) fn read_string(&mut self, what: &str, node: &TreeNode) -> Option<At<String>> {
        let text = self.text(what, node)?;
        Some(At::new(text.to_owned(), node.place))
    }

    pub(crate) fn boolean(&mut self, what: &str, node: &TreeNode) -> Option<bool> {
        let value = match node.value {
            TreeValue::Bool(value) => Some(value),
            _ => None,
        };
        self.typed(what, "a boolean", node, value)
    }

    /// Reads a whole number within bounds.
    pub(crate) fn whole(
        &mut self,
        what: &str,
        node: &TreeNode,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        let TreeValue::Whole(value) = node.value else {
            self.wrong_type(what, "a whole number", node);
            return None;
        };
        let found = u64::try_from(value).ok();
        let found = found.filter(|n| (least..=most).contains(n));
        if found.is_none() {
            let label = format!("from {least} to {most}");
            self.bad_value(node.place, format!("`{what}` cannot be {value}"), &label);
        }
        found
    }

    /// Reads a directory of the repository, as it is to be written.
    pub(crate) fn directory(&mut self, what: &str, node: &TreeNode) -> Option<String> {
        let text = self.text(what, node)?;
        match RepoPath::parse(text.as_bytes()) {
            Ok(path) => {
                let mut chunks = path.as_bytes().utf8_chunks();
                chunks.next().map(|chunk| chunk.valid().to_owned())
            }
            Err(_) => {
                let message = format!("`{what}` leaves the repository: `{}`", visible(text));
                let label = "a directory below the root is expected";
                self.bad_value(node.place, message, label);
                None
            }
        }
    }

    /// Makes a name that no check has yet, as near to the wish as the language allows.
    pub(crate) fn name(&mut self, wish: &str) -> String {
        unused(&mut self.names, wish)
    }

    /// Whether the draft has a check of a kind with a command or a question.
    pub(crate) fn has_check(&self, kind: Kind) -> bool {
        let is_of_kind = |verb: &At<Verb>| match &verb.value {
            Verb::Command(own, _) => *own == kind,
            Verb::Judge(_) => kind == Kind::Judge,
            Verb::Shell(_) | Verb::File { .. } => false,
        };
        self.draft.entries.iter().any(|entry| match entry {
            CheckEntry::Check(check) => check.verbs.iter().any(is_of_kind),
            _ => false,
        })
    }

    /// Makes the checks for a shell command, and returns their names, in order. Each but the first
    /// needs the one before it.
    pub fn command(&mut self, spec: Spec<'_>) -> Vec<String> {
        if !self.can_be_written(spec.text, spec.place) {
            return Vec::new();
        }
        let text = spec.text.trim();
        if only_changes_shell(text) {
            self.carry(text, spec.place);
            return Vec::new();
        }
        let spec = self.with_carried(spec);
        let own_dir = spec.own_dir();
        let read = match parse_command(text) {
            // In another tool's file `{changed}` is literal text.
            Command::Argv { env, pieces } => Command::Argv {
                env,
                pieces: pieces.into_iter().map(literal).collect(),
            },
            other => other,
        };
        let parts = match &read {
            _ if would_expand(text) => None,
            Command::Argv { .. } => Some(vec![(read, None)]),
            Command::Unsupported { unsupported, .. } => {
                parts_of(&unsupported.chain, own_dir.or(spec.default_dir))
            }
        };
        // Without parts a shell reads the text.
        let parts = parts.map_or(vec![None], |parts| parts.into_iter().map(Some).collect());
        let last = parts.len().saturating_sub(1);
        let first_entry = self.draft.entries.len();
        let mut made: Vec<String> = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            // The parts before the last one prepare it.
            let kind = if index == last { spec.kind } else { Kind::Run };
            let (words, verb, dir) = match part {
                Some((command, dir)) => (words_of(&command), Verb::Command(kind, command), dir),
                None => (text.to_owned(), shell(kind, text), None),
            };
            let own = index < last || spec.name.is_empty();
            let name = self.name(if own { &words } else { &spec.name });
            let dir = dir.or_else(|| own_dir.map(str::to_owned));
            let dir = dir.map(|dir| Setting::new(Row::Dir, dir));
            let needs = made.last().map(|n| At::new(n.clone(), spec.place));
            let needs = needs.map(|needed| Setting::new(Row::Needs, vec![needed]));
            let settings = spec.settings.iter().cloned().chain(dir).chain(needs);
            let settings = settings
                .filter(|s| known_by(s.row).contains(&kind))
                .collect();
            let verb = At::new(verb, spec.place);
            self.push_check(&name, verb, settings, spec.tier.clone(), spec.place);
            made.push(name);
        }
        if last > 0 {
            let why = "`&&` became checks that need each other; time limits and retries apply to each of them";
            let what = format!("`{}`", cut(text, 60));
            self.lose(
                Lost::changed(what, spec.place, why)
                    .before_statement(Statement::Entry(first_entry)),
            );
        }
        made
    }

    /// Returns the command with the directory and variables that the list has carried to it. A
    /// directory of its own is one from the root, and stays.
    fn with_carried<'t>(&mut self, mut spec: Spec<'t>) -> Spec<'t> {
        if let Some(list) = &mut self.list {
            list.waiting = None;
            for setting in carried_settings(&list.carried) {
                match setting.dir().cloned() {
                    Some(dir) => {
                        spec.carried_dir = Some(dir).filter(|_| list.carried.dir != list.from)
                    }
                    None => spec.settings.push(setting),
                }
            }
            if list.carried.dir.is_root() && !list.from.is_root() {
                spec.carried_dir = Some(".".to_owned());
            }
        }
        spec
    }

    /// Adds a check of one verb.
    pub(crate) fn push_check(
        &mut self,
        name: &str,
        verb: At<Verb>,
        settings: Vec<Setting>,
        tier_block: Option<At<u8>>,
        place: Place,
    ) {
        self.draft.entries.push(CheckEntry::Check(Box::new(Check {
            name: Some(At::new(name.to_owned(), place)),
            verbs: vec![verb],
            settings: settings.into_iter().map(|s| At::new(s, place)).collect(),
            tier_block,
            place,
            ..Check::default()
        })));
    }

    /// Reports commands that do nothing, and those that no line of a contract can hold.
    pub(super) fn can_be_written(&mut self, text: &str, place: Place) -> bool {
        let trimmed = text.trim();
        let comment = trimmed.starts_with('#') && !trimmed.contains('\n');
        let assigns = matches!(
            parse_command(trimmed),
            Command::Unsupported { unsupported, .. } if unsupported.reason == UnsupportedReason::Empty
        );
        if comment || assigns {
            let help = Some("take the entry away; a check has a command");
            let message = "a command without a word".to_owned();
            self.fault(EMPTY_COMMAND, place, message, "nothing to run", help);
            return false;
        }
        if text.contains('\0') {
            let message = "a command with a character NUL".to_owned();
            self.fault(BAD_COMMAND, place, message, "no argument can hold it", None);
            return false;
        }
        if text.len() > MAX_COMMAND {
            let length = text.len();
            let message = format!("a command of {length} bytes, {MAX_COMMAND} are the most");
            let (label, help) = ("too long for a line", Some("put it into a script"));
            self.fault(BAD_COMMAND, place, message, label, help);
            return false;
        }
        true
    }
}

/// Makes the parts of a conjunction as checks: commands, each in its directory (none: the check's
/// own). `None` when a part
/// is neither a command, nor a `cd` to a directory of the repository, nor an `export`, or when the
/// last part is one of these two.
pub(super) fn parts_of(
    chain: &[Link],
    dir: Option<&str>,
) -> Option<Vec<(Command, Option<String>)>> {
    let dir = RepoPath::parse(dir.unwrap_or(".").as_bytes()).ok()?;
    let mut here = Carried {
        dir,
        env: Env::new(),
    };
    let mut moved = false;
    let mut parts = Vec::new();
    for link in chain {
        match link {
            Link::Other { .. } => return None,
            Link::ChangeDirectory { .. } | Link::Export { .. } => {
                here.follow(link)?;
                moved |= matches!(link, Link::ChangeDirectory { .. });
            }
            Link::Run { argv, env } => {
                let pieces = argv.iter().cloned().map(Piece::Word).collect();
                let dir = std::str::from_utf8(here.dir.as_bytes()).ok()?.to_owned();
                let env = here.env_of(env);
                parts.push((Command::Argv { env, pieces }, Some(dir).filter(|_| moved)));
            }
        }
    }
    let ends = chain.last().is_none_or(Link::is_carried);
    (!ends).then_some(parts)
}

/// Makes a verb for a shell's text. Where the verb `shell` cannot hold it, or the check has another
/// verb, `sh` is the program.
pub(super) fn shell(kind: Kind, text: &str) -> Verb {
    if kind == Kind::Run && is_shell_line(text) && !text.contains("{changed}") {
        return Verb::Shell(text.to_owned());
    }
    let pieces = ["sh", "-c", text]
        .map(|w| Piece::Word(Word::from(w)))
        .into();
    let env = Env::new();
    Verb::Command(kind, Command::Argv { env, pieces })
}

/// Returns the words of a command, for its name.
fn words_of(command: &Command) -> String {
    match command {
        Command::Argv { pieces, .. } => {
            let (env, pieces) = (Env::new(), pieces.clone());
            Command::Argv { env, pieces }.to_text()
        }
        Command::Unsupported { text, .. } => text.clone(),
    }
}

fn literal(piece: Piece) -> Piece {
    match piece {
        Piece::Changed => Piece::Word(Word::from("{changed}")),
        word => word,
    }
}

/// Makes a name that is none of these, as near to the wish as the language allows, and adds it.
pub(crate) fn unused(names: &mut BTreeSet<String>, wish: &str) -> String {
    let base = slug(wish);
    let mut name = base.clone();
    let mut counter = 1;
    while !names.insert(name.clone()) {
        counter += 1;
        name = format!("{base}-{counter}");
    }
    name
}

/// Makes the nearest name of the language: letters, digits and `_` stay, all else becomes `-`. A
/// valid name stays as it is.
pub(crate) fn slug(text: &str) -> String {
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && begins(text) && text.len() <= 100 {
        return text.to_owned();
    }
    name::slug(text, 64, "check")
}
