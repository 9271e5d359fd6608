//! Validates the settings of a check and merges them with the defaults.

use super::checker::{Checker, Reference};
use super::draft::{self, At, Changed, Setting, VerbDefaults, Written};
use super::error::{
    DEFAULTS_SETTING, DEFAULTS_TWICE, DUPLICATE_SETTING, ENV_NAME, EXIT_OVERLAP, FIX_IS_VERB,
    FOREIGN_SETTING, NUMBER, READS, REPORT_FORMAT, TIER_TWICE, UNKNOWN_WORD,
};
use super::{Body, Check, InclusionIndex};
use std::borrow::Cow;
use std::collections::BTreeMap;
use vplan_base::command::{Env, is_env_name};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::bug;
use vplan_base::path::RepoPath;
use vplan_base::service::Service;
use vplan_base::setting::{Row, Settings, Takes, Unset, Value, Verbs};
use vplan_base::span::Place;
use vplan_base::unit::MAX_INTEGER;
use vplan_base::vocabulary::ReportKind;
use vplan_check::confine::SandboxLevel;
use vplan_check::{Kind, Report};

const FINDINGS: &[Kind] = &[Kind::Compile, Kind::Lint];
const READ: &[Kind] = &[Kind::Compile, Kind::Test, Kind::Lint];

/// Returns the verbs that know a setting. What starts no process has no environment, no exit code
/// and no time limit; what writes no output that is read has no format; and a `file` check tried
/// again at once would see the same file.
pub fn known_by(row: Row) -> &'static [Kind] {
    use Kind::{Compile, Judge, Lint, Run, Shell, Test};
    match row.setting().with {
        Verbs::All => &Kind::ALL,
        Verbs::Commands => &[Run, Compile, Test, Lint, Shell],
        Verbs::AllButFile => &[Run, Compile, Test, Lint, Shell, Judge],
        Verbs::Reading => READ,
        Verbs::Findings => FINDINGS,
        Verbs::Test => &[Test],
        Verbs::Judge => &[Judge],
    }
}

/// The verbs that count what a report holds: SARIF has findings and no tests, TRX and TAP have tests
/// and no findings, and linters write JUnit too.
fn counting(report: ReportKind) -> &'static [Kind] {
    match report {
        ReportKind::Junit => READ,
        ReportKind::Trx | ReportKind::Tap => &[Kind::Test],
        ReportKind::Sarif => FINDINGS,
    }
}

/// The settings of one check, or those of `defaults`, each read once.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    dir: Option<RepoPath>,
    env: Env,
    pass_env: Option<Vec<String>>,
    tool_path: Vec<RepoPath>,
    exit: Option<Vec<i32>>,
    skip_exit: Vec<i32>,
    tier: Option<u8>,
    tags: Vec<String>,
    pub(super) needs: Vec<Reference>,
    report: Option<Report>,
    /// All others.
    settings: Settings,
}

/// The defaults of a file.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    /// Those of all checks.
    all: Values,
    /// Those of the checks with a verb, which count before them.
    of_verbs: BTreeMap<Kind, Values>,
}

impl Values {
    /// The tier of a check with these settings inside this block.
    pub(super) fn tier_in(&self, block: Option<&At<u8>>) -> u8 {
        self.tier.or(block.map(|b| b.value)).unwrap_or(0)
    }

    /// These settings, filled up with defaults as far as a verb knows them. `env`, `tags`, `reads` and
    /// `tool-path` add up: the own value of a variable wins, the own folders are searched first.
    fn or(self, defaults: &Values, kind: Kind, changed: &[At<Changed>]) -> Self {
        let is_changed = |row: Row, variable: Option<&str>| {
            changed.iter().any(|part| match &part.value {
                Changed::Setting(name) if name.row == row => {
                    name.variable.is_none() || name.variable.as_deref() == variable
                }
                _ => false,
            })
        };
        let knows = |row: Row| known_by(row).contains(&kind) && !is_changed(row, None);
        let env = defaults.env.clone().into_iter();
        let env = env.filter(|(name, _)| !is_changed(Row::Env, Some(name)));
        let folders = defaults.tool_path.iter().filter(|_| knows(Row::ToolPath));
        let tags = defaults.tags.iter().filter(|_| knows(Row::Tags));
        let mut settings = defaults.settings.clone();
        settings.retain(|row, _| knows(*row));
        let reads = [&self.settings, &settings].map(outside).concat();
        settings.extend(self.settings);
        if !reads.is_empty() {
            settings.insert(Row::Reads, Value::Outside(each_once(reads.iter())));
        }
        Self {
            dir: (self.dir).or_else(|| defaults.dir.clone().filter(|_| knows(Row::Dir))),
            env: env.filter(|_| knows(Row::Env)).chain(self.env).collect(),
            pass_env: (self.pass_env)
                .or_else(|| defaults.pass_env.clone().filter(|_| knows(Row::PassEnv))),
            tool_path: each_once(self.tool_path.iter().chain(folders)),
            tags: each_once(tags.chain(&self.tags)),
            settings,
            ..self
        }
    }

    /// A check with these settings, the defaults filled in. Place, placements and tier are the
    /// caller's.
    pub(super) fn into_check(
        self,
        id: String,
        kind: Kind,
        body: Body,
        defaults: &Defaults,
        changed: &[At<Changed>],
    ) -> Check {
        let own = match defaults.of_verbs.get(&kind) {
            Some(of_verb) => self.or(of_verb, kind, changed),
            None => self,
        };
        let own = own.or(&defaults.all, kind, changed);
        let mut check = Check {
            id,
            named: false,
            inclusion: InclusionIndex::CONTRACT,
            place: Place::default(),
            line: 0,
            column: 0,
            kind,
            body,
            placements: Vec::new(),
            tier: 0,
            dir: own.dir.unwrap_or_else(RepoPath::root),
            env: own.env,
            pass_env: own.pass_env.unwrap_or_default(),
            tool_path: own.tool_path,
            exit: own.exit.unwrap_or_else(|| vec![0]),
            skip_exit: own.skip_exit,
            tags: own.tags,
            needs: each_once(own.needs.iter().map(|n| &n.value)),
            report: own.report,
            format_definition: None,
            changed: Vec::new(),
            settings: Settings::new(),
        };
        for (row, value) in own.settings {
            check.set(row, value);
        }
        check
    }
}

/// What a setting sets, in words, and the name of the variable if it is one.
fn what_is_set(setting: &At<Setting>) -> (String, &str) {
    match &setting.value.value {
        Written::Variable(name, _) => (format!("the variable `{name}`"), name),
        _ => (format!("`{}`", setting.value.keyword()), ""),
    }
}

fn each_once<'a, T: Clone + Ord + 'a>(list: impl Iterator<Item = &'a T>) -> Vec<T> {
    let mut seen = std::collections::BTreeSet::new();
    list.filter(|item| seen.insert(*item)).cloned().collect()
}

/// Returns what `reads` names.
fn outside(settings: &Settings) -> Vec<String> {
    match settings.get(&Row::Reads) {
        Some(Value::Outside(paths)) => paths.clone(),
        _ => Vec::new(),
    }
}

/// Reads a path outside of the repository: absolute, or below HOME. The message why it is none.
fn path_outside(text: &str) -> Result<String, &'static str> {
    let below = text.strip_prefix("~/").or_else(|| text.strip_prefix('/'));
    let below = below.ok_or("begins neither with `/` nor with `~/`")?;
    let below = below.trim_end_matches('/');
    if below.is_empty() {
        return Err("names everything");
    }
    if below.split('/').any(|name| ["", ".", ".."].contains(&name)) {
        return Err("has an empty segment, `.` or `..`");
    }
    let start = if text.starts_with('~') { "~/" } else { "/" };
    Ok(format!("{start}{below}"))
}

impl Checker<'_> {
    /// Reads the `defaults` blocks of a file: those without a verb together, and those of each verb.
    pub(super) fn read_defaults(
        &mut self,
        settings: &[At<Setting>],
        of_verbs: &[VerbDefaults],
    ) -> Defaults {
        let mut defaults = Defaults {
            all: self.read_block(settings, Values::default()),
            of_verbs: BTreeMap::new(),
        };
        let mut seen = BTreeMap::new();
        for VerbDefaults { verb, settings } in of_verbs {
            for setting in settings {
                self.report_foreign(setting, *verb);
            }
            self.report_defaults_twice(*verb, settings, &mut seen);
            let before = defaults.of_verbs.remove(verb).unwrap_or_default();
            let values = self.read_block(settings, before);
            defaults.of_verbs.insert(*verb, values);
        }
        defaults
    }

    /// A setting that another block sets for the same verb; those that add up may. Of variables,
    /// each is a setting of its own.
    fn report_defaults_twice<'s>(
        &mut self,
        verb: Kind,
        settings: &'s [At<Setting>],
        seen: &mut BTreeMap<(Kind, &'static str, &'s str), Place>,
    ) {
        let mut own = Vec::new();
        let adds_up = |row: Row| matches!(row, Row::Tags | Row::ToolPath | Row::Reads);
        for setting in settings.iter().filter(|s| !adds_up(s.value.row)) {
            let (what, name) = what_is_set(setting);
            let key = (verb, setting.value.keyword(), name);
            if let Some(first) = seen.get(&key) {
                let line = self.sources.position(*first).line;
                let message = format!("{what} for `{}` is set in line {line} already", verb.verb());
                let error =
                    Diagnostic::at(DEFAULTS_TWICE, message, setting.place, "set again here");
                let error = error.label(*first, "first set here");
                self.report(error.help("keep one of them"));
            }
            own.push((key, setting.place));
        }
        for (key, place) in own {
            seen.entry(key).or_insert(place);
        }
    }

    /// Reads the settings of a block of `defaults`, on top of those of another one.
    fn read_block(&mut self, settings: &[At<Setting>], before: Values) -> Values {
        let known = Row::in_defaults();
        for setting in settings {
            let keyword = setting.value.keyword();
            if !known.contains(&keyword) {
                let message = format!("`defaults` cannot hold `{keyword}`");
                let label = "belongs to a check";
                let error = Diagnostic::at(DEFAULTS_SETTING, message, setting.place, label);
                self.report(error.help(format!("defaults are {}", quoted_list(&known))));
            }
        }
        self.report_duplicates(settings);
        let mut values = before;
        for setting in settings
            .iter()
            .filter(|s| known.contains(&s.value.keyword()))
        {
            self.read(setting, None, &mut values);
        }
        values
    }

    /// Reads the settings of a service: its directory, its environment, the time that it has to
    /// become ready, and the checks that prepare it.
    pub(super) fn service_settings(
        &mut self,
        settings: &[At<Setting>],
    ) -> (RepoPath, Env, u64, Vec<Reference>) {
        self.report_duplicates(settings);
        let mut values = Values::default();
        for setting in settings {
            self.read(setting, None, &mut values);
        }
        let timeout_ms = match values.settings.get(&Row::Timeout) {
            Some(Value::Number(ms)) => *ms,
            _ => Service::TIMEOUT_MS,
        };
        let dir = values.dir.unwrap_or_else(RepoPath::root);
        (dir, values.env, timeout_ms, values.needs)
    }

    /// Reads the settings of a check.
    pub(super) fn read_check(&mut self, check: &draft::Check) -> Values {
        let verb = check.verbs.first().filter(|v| !self.is_broken(v));
        let kind = verb.map(|v| v.value.kind());
        self.report_duplicates(&check.settings);
        let own = check.name.as_ref().map(|name| name.value.as_str());
        let mut values = Values::default();
        for setting in &check.settings {
            self.read(setting, own, &mut values);
            if let Some(kind) = kind {
                self.report_foreign(setting, kind);
            }
            self.report_setting(setting, check, kind);
        }
        self.report_exit_overlap(&check.settings);
        values
    }

    /// A setting that a verb does not know.
    fn report_foreign(&mut self, setting: &At<Setting>, kind: Kind) {
        let (row, keyword) = (setting.value.row, setting.value.keyword());
        if known_by(row).contains(&kind) {
            return;
        }
        let verb = kind.verb();
        let knowing = quoted_list(known_by(row).iter().map(|k| k.verb()));
        let message = format!("`{verb}` does not know `{keyword}`");
        let label = format!("not a setting of `{verb}`");
        let error = Diagnostic::at(FOREIGN_SETTING, message, setting.place, label);
        self.report(error.help(format!("it is a setting of {knowing}")));
    }

    /// Checks a setting against its place.
    fn report_setting(&mut self, setting: &At<Setting>, check: &draft::Check, kind: Option<Kind>) {
        match (&setting.value.value, &check.tier_block) {
            (Written::Number(_), Some(block)) if setting.value.row == Row::Tier => self.report(
                Diagnostic::error(
                    TIER_TWICE,
                    "a check inside a `tier` block has the block's tier",
                )
                .label(setting.place, "a second tier")
                .label(block.place, "this block")
                .help("take the setting away, or the check out of the block"),
            ),
            (Written::Command(fix), _) => {
                let is_fix = |verb: &&At<draft::Verb>| match &verb.value {
                    draft::Verb::Command(_, command) => command == fix,
                    draft::Verb::Shell(text) => *text == fix.to_text(),
                    draft::Verb::File { .. } | draft::Verb::Judge(_) => false,
                };
                if let Some(verb) = check.verbs.iter().find(is_fix) {
                    self.report(
                        Diagnostic::error(FIX_IS_VERB, "the fix is what the check itself does")
                            .label(setting.place, "the same command")
                            .label(verb.place, "does this")
                            .help("write the command that mends a failure, or leave the `fix` out"),
                    );
                }
            }
            (Written::Report(format, _), _) => {
                let verbs = ReportKind::parse(format).map(counting);
                if let (Some(verbs), Some(kind)) = (verbs, kind.filter(|k| READ.contains(k)))
                    && !verbs.contains(&kind)
                {
                    let verb = kind.verb();
                    let message = format!("a `{format}` report holds nothing that `{verb}` counts");
                    let verbs = quoted_list(verbs.iter().map(|k| k.verb()));
                    let error =
                        Diagnostic::at(REPORT_FORMAT, message, setting.place, "not counted");
                    self.report(error.help(format!("it is a report for {verbs}")));
                }
            }
            _ => {}
        }
    }

    /// A setting twice, or one variable twice.
    fn report_duplicates(&mut self, settings: &[At<Setting>]) {
        let mut seen: BTreeMap<(&str, &str), Place> = BTreeMap::new();
        for setting in settings {
            let (what, name) = what_is_set(setting);
            let key = (setting.value.keyword(), name);
            let Some(first) = seen.get(&key) else {
                seen.insert(key, setting.place);
                continue;
            };
            let is_list = setting.value.row.setting().takes.is_list();
            let message = format!("{what} is set twice");
            let error = Diagnostic::at(DUPLICATE_SETTING, message, setting.place, "set again here");
            let error = error.label(*first, "first set here");
            self.report(error.help(match is_list {
                true => "write all values on one line",
                false => "keep one of them",
            }));
        }
    }

    fn report_exit_overlap(&mut self, settings: &[At<Setting>]) {
        let codes = |row: Row| {
            settings.iter().find_map(|s| match &s.value.value {
                Written::Codes(codes) if s.value.row == row => Some(codes),
                _ => None,
            })
        };
        let accepted = codes(Row::Exit);
        for At { value, place } in codes(Row::SkipExit).into_iter().flatten() {
            let same = accepted.and_then(|codes| codes.iter().find(|c| c.value == *value));
            let (passes, why, help) = match same {
                Some(same) => (same.place, "means passed here", "keep it in one of them"),
                None if accepted.is_none() && *value == 0 => (
                    *place,
                    "means passed unless `exit` says otherwise",
                    "name the accepted codes with `exit`",
                ),
                None => continue,
            };
            let message = format!("exit code {value} cannot mean both passed and skipped");
            let error = Diagnostic::at(EXIT_OVERLAP, message, *place, "means skipped here");
            let error = error.label(passes, why);
            self.report(error.help(help));
        }
    }

    /// Reads one value. After an error the value stays away; the error keeps the contract from
    /// being used.
    fn read(&mut self, setting: &At<Setting>, own: Option<&str>, into: &mut Values) {
        let (row, place) = (setting.value.row, setting.place);
        match (&setting.value.value, row) {
            (Written::Text(text), Row::Dir) => {
                self.warn_of_path("`dir`", text, place);
                into.dir = self.path("the directory", text, place);
            }
            (Written::Variable(name, value), _) => {
                self.check_env_name(name, place, false);
                into.env.insert(name.clone(), value.clone());
            }
            (Written::Texts(names), Row::PassEnv) => {
                for name in names {
                    self.check_env_name(&name.value, name.place, true);
                }
                into.pass_env = Some(each_once(names.iter().map(|n| &n.value)));
            }
            (Written::Texts(folders), Row::ToolPath) => {
                for folder in folders {
                    self.warn_of_path("`tool-path`", &folder.value, folder.place);
                    into.tool_path
                        .extend(self.path("the folder", &folder.value, folder.place));
                }
            }
            (Written::Codes(codes), Row::SkipExit) => into.skip_exit = self.exit_codes(codes),
            (Written::Codes(codes), _) => into.exit = Some(self.exit_codes(codes)),
            (Written::Number(tier), Row::Tier) => {
                into.tier = Some(self.tier(u8::try_from(*tier).unwrap_or(u8::MAX), place));
            }
            (Written::Texts(names), Row::Needs) => {
                for name in names {
                    let found = self.names.checks(name, own, self.sink);
                    let found = found.into_iter().map(|index| At::new(index, name.place));
                    into.needs.extend(found);
                }
            }
            (Written::Texts(names), Row::With) => {
                let (services, prepared) = self.with(names);
                into.needs.extend(prepared);
                let services = Some(services).filter(|services| !services.is_empty());
                let value = services.map(|services| (row, Value::Services(services)));
                into.settings.extend(value);
            }
            (Written::Text(name), Row::On) => {
                let on = self.on(name, place);
                into.settings.extend(on.map(|on| (row, Value::On(on))));
            }
            (Written::Texts(paths), Row::Reads) => {
                let mut all = outside(&into.settings);
                all.extend(paths.iter().filter_map(|path| self.path_to_read(path)));
                into.settings
                    .insert(row, Value::Outside(each_once(all.iter())));
            }
            (Written::Texts(tags), _) => {
                into.tags.extend(tags.iter().map(|t| t.value.clone()));
            }
            (Written::Report(format, item), _) => {
                self.check_word("report format", format, place, ReportKind::NAMES);
                into.report = self.single_glob("report", item).map(|glob| Report {
                    format: format.as_str().into(),
                    glob,
                });
            }
            (value, _) => {
                let value = self.value(row, value, place);
                into.settings.extend(value.map(|value| (row, value)));
            }
        }
    }

    /// Reads a value that needs no more than the table says of it.
    fn value(&mut self, row: Row, value: &Written, place: Place) -> Option<Value> {
        let (word, takes) = (row.setting().word, row.setting().takes);
        Some(match (value, takes) {
            (Written::Number(n), Takes::Number { .. }) => Value::Number(self.limit(*n, place)),
            (Written::Number(ms), _) => Value::Number(*ms),
            (Written::Text(text), Takes::Word { .. }) if row == Row::Format => {
                self.format_named(text, place)?
            }
            (Written::Text(text), Takes::Word { known, .. }) => {
                self.check_word(word, text, place, known);
                Value::Word(known.iter().find(|known| *known == text)?)
            }
            (Written::Text(text), _) => Value::Text(text.clone()),
            (Written::Sels(items), Takes::Globs) => Value::Globs(self.globs(word, items)),
            (Written::Sels(items), _) => Value::Selection(self.selection(items)?),
            (Written::Command(command), _) => Value::Command(command.clone()),
            (Written::Flag, _) => Value::Flag,
            _ => bug("a setting with a value of another kind"),
        })
    }

    fn path_to_read(&mut self, path: &At<String>) -> Option<String> {
        let why = match path_outside(&path.value) {
            Ok(path) => return Some(path),
            Err(why) => why,
        };
        let message = "`reads` names what is outside of the repository";
        let error = Diagnostic::at(READS, message, path.place, why);
        self.report(error.help(
            "write `~/…` or an absolute path; what is in the repository is named by `inputs`",
        ));
        None
    }

    fn exit_codes(&mut self, codes: &[At<i32>]) -> Vec<i32> {
        for code in codes.iter().filter(|c| !(0..=255).contains(&c.value)) {
            let message = format!("{} is no exit code", code.value);
            let label = "exit codes are 0 to 255";
            self.report(Diagnostic::at(NUMBER, message, code.place, label));
        }
        let mut sorted: Vec<i32> = codes.iter().map(|c| c.value).collect();
        sorted.sort_unstable();
        sorted.dedup();
        sorted
    }

    /// Reports a tier that does not exist.
    pub(super) fn tier(&mut self, tier: u8, place: Place) -> u8 {
        if tier > 2 {
            let error = Diagnostic::error(NUMBER, format!("there is no tier {tier}"));
            self.report(error.label(place, "tiers are 0, 1 and 2"));
        }
        tier
    }

    /// Reports a number that readers of JSON would round.
    pub(super) fn limit(&mut self, value: u64, place: Place) -> u64 {
        if value > MAX_INTEGER {
            let error = Diagnostic::error(NUMBER, format!("{value} is too large"));
            self.report(error.label(place, format!("{MAX_INTEGER} is the greatest number")));
        }
        value
    }

    /// Reports a word that is none of the known ones.
    pub(super) fn check_word(&mut self, what: &str, word: &str, place: Place, known: &[&str]) {
        if !known.contains(&word) {
            let (word, others) = (At::new(word, place), known.iter().copied());
            let error = self.names.unknown(UNKNOWN_WORD, what, word, others);
            let help = || format!("known are {}", quoted_list(known));
            self.report(error.or_help(help));
        }
    }

    fn check_env_name(&mut self, name: &str, place: Place, star: bool) {
        let stem = name.strip_suffix('*').filter(|_| star).unwrap_or(name);
        // `*` alone would let everything through; that is the operator's to say (`--inherit-env`).
        if self.incomplete || is_env_name(stem) {
            return;
        }
        let error = Diagnostic::error(ENV_NAME, format!("`{name}` is no name of a variable"))
            .label(place, "letters, digits and `_`, no digit in front");
        let all = star && stem.is_empty();
        self.report(if all {
            error.help("name the variables; a `*` may stand behind at least one letter")
        } else {
            error
        });
    }
}

/// `a`, `b`, `c`
pub(super) fn quoted_list<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    words
        .into_iter()
        .map(|w| format!("`{}`", w.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Check {
    /// Creates a check that says no more than what it does, with no place.
    pub fn plain(id: &str, kind: Kind, body: Body) -> Self {
        let unset = Defaults::default();
        Values::default().into_check(id.to_owned(), kind, body, &unset, &[])
    }

    /// Gives a setting of the table a value. What holds anyway is not kept, so that checks that
    /// mean the same are equal.
    pub fn set(&mut self, row: Row, value: Value) {
        if self.usual(row).as_ref() == Some(&value) {
            self.settings.remove(&row);
        } else {
            self.settings.insert(row, value);
        }
    }

    /// Whether it says something by a setting of the table that does not hold anyway.
    pub fn has(&self, row: Row) -> bool {
        self.settings.contains_key(&row)
    }

    /// Returns the level at which it is confined.
    pub fn level(&self) -> SandboxLevel {
        match self.settings.get(&Row::Sandbox) {
            Some(Value::Word(word)) => SandboxLevel::parse(word).unwrap_or_default(),
            _ => SandboxLevel::None,
        }
    }

    /// Whether it is a command with `inputs` that may read more than these.
    pub fn may_read_more(&self) -> bool {
        let is_command = known_by(Row::Sandbox).contains(&self.kind);
        is_command && self.has(Row::Inputs) && self.level() < SandboxLevel::Files
    }

    /// Returns the globs of a setting of the table.
    pub fn globs(&self, row: Row) -> &[Glob] {
        match self.settings.get(&row) {
            Some(Value::Globs(globs)) => globs,
            _ => &[],
        }
    }

    /// Returns the selection of a setting of the table.
    pub fn selection(&self, row: Row) -> Option<&Selection> {
        match self.settings.get(&row) {
            Some(Value::Selection(selection)) => Some(selection),
            _ => None,
        }
    }

    /// Returns what a setting of the table is for it: its own value, or what holds anyway.
    pub fn value(&self, row: Row) -> Option<Cow<'_, Value>> {
        match self.settings.get(&row) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.usual(row).map(Cow::Owned),
        }
    }

    /// Returns what holds where a setting is not written.
    fn usual(&self, row: Row) -> Option<Value> {
        let setting = row.setting();
        if setting.of_verb && !known_by(row).contains(&self.kind) {
            return None;
        }
        match setting.unset {
            Unset::Number(n) => Some(Value::Number(n)),
            Unset::Word(_) if row == Row::Network => {
                Some(Value::Word(self.level().usual_network().name()))
            }
            Unset::Word(word) => Some(Value::Word(word)),
            Unset::ByVerb => Some(Value::Number(self.kind.default_timeout_ms())),
            Unset::Nothing | Unset::Unlimited | Unset::AtMost(_) => None,
        }
    }
}

impl draft::Verb {
    /// The kind of check that it makes.
    pub fn kind(&self) -> Kind {
        match self {
            draft::Verb::Command(kind, _) => *kind,
            draft::Verb::Shell(_) => Kind::Shell,
            draft::Verb::File { .. } => Kind::File,
            draft::Verb::Judge(_) => Kind::Judge,
        }
    }
}
