//! Examines `format` blocks, and what checks name of them.

use super::Check;
use super::checker::{Checker, KnownFormat};
use super::draft::{self, At, FormatLine};
use super::error::{
    FORMAT_ANY, FORMAT_BUILT_IN, FORMAT_HOLE, FORMAT_LACKS, FORMAT_LEVEL, FORMAT_SIZE,
    FORMAT_TOUCH, FORMAT_TWICE, FORMAT_UNUSED, UNKNOWN_WORD, defined_twice,
};
use super::settings::quoted_list;
use std::collections::BTreeMap;
use std::sync::Arc;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::nearest::nearest;
use vplan_base::setting::{Row, Value};
use vplan_base::span::Place;
use vplan_base::vocabulary::FormatName;
use vplan_base::word::{quote_pattern, visible};
use vplan_check::definition::{FormatDefinition, LINES, LineLevel, LineMeaning, LinePattern};
use vplan_check::output::is_built_in;
use vplan_check::pattern::{LineHole, Pattern, PatternFault};

impl Checker<'_> {
    /// Reads all `format` blocks.
    pub(super) fn read_formats(&mut self) {
        for format in &self.draft.formats {
            let At { value: name, place } = &format.name;
            if is_built_in(name.rsplit('/').next().unwrap_or(name)) {
                let message = format!("`{name}` is a format that vplan knows by itself");
                let help = format!("call it `own-{name}`, and say so in the checks that use it");
                let error = Diagnostic::at(FORMAT_BUILT_IN, message, *place, "this name is taken");
                let error = error.help(help);
                self.report(error);
                continue;
            }
            if let Some(first) = self.formats.get(name) {
                let what = format!("the format `{name}`");
                self.report(defined_twice(&what, *place, first.place));
                continue;
            }
            let definition = self.format(format).map(Arc::new);
            let known = KnownFormat {
                place: *place,
                definition,
                is_used: false,
            };
            self.formats.insert(name.clone(), known);
        }
    }

    /// Reads a block. Reports all its errors, and returns `None` if it has any.
    fn format(&mut self, format: &draft::Format) -> Option<FormatDefinition> {
        let mut definition = FormatDefinition::default();
        let mut is_sound = !format.is_broken;
        let mut seen: BTreeMap<&str, (LineLevel, Place)> = BTreeMap::new();
        if let Some(line) = format.lines.get(LINES) {
            let count = format.lines.len();
            let message = format!("the format has {count} lines, {LINES} are the most");
            let error = Diagnostic::error(FORMAT_SIZE, message)
                .label(line.place, "the first one too many")
                .help("`{}` stands for whatever differs between lines that say the same");
            self.report(error);
            is_sound = false;
        }
        for line in &format.lines {
            match &line.value {
                FormatLine::Words(level, words) => {
                    for word in words {
                        is_sound &= self.severity(*level, word, &mut seen);
                    }
                    let words = words.iter().map(|word| word.value.clone());
                    match level {
                        LineLevel::Error => definition.errors.extend(words),
                        LineLevel::Warning => definition.warnings.extend(words),
                        LineLevel::Note => definition.notes.extend(words),
                    }
                }
                FormatLine::Pattern(says, level, text) => {
                    let pattern = self.pattern(*says, *level, text, line.place);
                    is_sound &= pattern.is_some();
                    definition.lines.extend(pattern);
                }
            }
        }
        if definition.lines.is_empty() && is_sound {
            let help =
                "write a line as the tool writes it: `finding error '{file}:{line}: {message}'`";
            let error = Diagnostic::error(FORMAT_LACKS, "the format reads no line")
                .label(format.name.place, "without a pattern")
                .help(help);
            self.report(error);
            is_sound = false;
        }
        // Their order says nothing, so that it is not in a plan either.
        definition.errors.sort();
        definition.warnings.sort();
        definition.notes.sort();
        is_sound.then_some(definition)
    }

    /// Whether a word of `{severity}` is in no list yet.
    fn severity<'w>(
        &mut self,
        level: LineLevel,
        word: &'w At<String>,
        seen: &mut BTreeMap<&'w str, (LineLevel, Place)>,
    ) -> bool {
        let Some((other, first)) = seen.insert(&word.value, (level, word.place)) else {
            return true;
        };
        let shown = visible(&word.value);
        let message = if other == level {
            format!("`{shown}` is in `{}s` twice", level.name())
        } else {
            format!(
                "`{shown}` is in `{}s` and in `{}s`",
                other.name(),
                level.name()
            )
        };
        let error = Diagnostic::twice(FORMAT_TWICE, message, word.place, first);
        let error = error.help("keep it in one of them");
        self.report(error);
        false
    }

    /// Reads a pattern, and whether it says what its line needs.
    fn pattern(
        &mut self,
        says: LineMeaning,
        level: Option<LineLevel>,
        text: &At<String>,
        line: Place,
    ) -> Option<LinePattern> {
        let pattern = match Pattern::parse(&text.value) {
            Ok(pattern) => pattern,
            Err(fault) => {
                self.report_pattern(says, &fault, text);
                return None;
            }
        };
        let foreign = |hole: &LineHole| *hole != LineHole::Skipped && !says.holes().contains(hole);
        if let Some(hole) = pattern.holes().find(foreign) {
            let error =
                Diagnostic::error(FORMAT_HOLE, format!("`{}` has no `{hole}`", says.name()));
            let error = error.label(text.place, format!("`{hole}` says nothing here"));
            self.report(error.help(holes_help(says)));
            return None;
        }
        let lacking = match says {
            LineMeaning::Finding
                if level != Some(LineLevel::Note) && !pattern.has(LineHole::Message) =>
            {
                Some((
                    "`{message}`",
                    "put `{message}` where the finding is described",
                ))
            }
            LineMeaning::Heading if !pattern.has(LineHole::File) => {
                Some(("`{file}`", "put `{file}` where the file is named"))
            }
            LineMeaning::Passed | LineMeaning::Failed | LineMeaning::Skipped
                if pattern.has(LineHole::Count) == pattern.has(LineHole::Name) =>
            {
                Some((
                    "one of `{count}` and `{name}`",
                    "put `{count}` where their number is, or `{name}` where one test is named",
                ))
            }
            _ => None,
        };
        if let Some((what, help)) = lacking {
            let error = Diagnostic::error(FORMAT_LACKS, format!("a `{}` has {what}", says.name()));
            self.report(error.label(text.place, "not in here").help(help));
            return None;
        }
        // Matching every line as an error fails; as anything else, it would accept any output.
        let is_strict = level == Some(LineLevel::Error) || pattern.has(LineHole::Severity);
        if says != LineMeaning::Heading && !is_strict && !pattern.has_text() {
            let error = Diagnostic::error(FORMAT_ANY, "a pattern without text reads every line")
                .label(text.place, "fits whatever is written")
                .help("write what only such a line has, as the tool writes it");
            self.report(error);
            return None;
        }
        if says == LineMeaning::Finding && level.is_some() == pattern.has(LineHole::Severity) {
            let error = match level {
                None => {
                    Diagnostic::error(FORMAT_LEVEL, "nothing says of which level the finding is")
                        .label(line, "neither a level nor `{severity}`")
                        .help(format!(
                            "write `finding error {}`",
                            quote_pattern(&text.value)
                        ))
                }
                Some(level) => {
                    let message = "two things say of which level the finding is";
                    Diagnostic::error(FORMAT_LEVEL, message)
                        .label(line, format!("`{}` and `{{severity}}`", level.name()))
                        .help("leave the level out, or write `{}` in place of `{severity}`")
                }
            };
            self.report(error);
            return None;
        }
        Some(LinePattern {
            level,
            pattern,
            says,
        })
    }

    fn report_pattern(&mut self, says: LineMeaning, fault: &PatternFault, text: &At<String>) {
        let (code, label, help) = match fault {
            PatternFault::Unknown(word) => {
                let known = says.holes().iter().map(|hole| hole.name());
                match nearest(word, known).or_else(|| other_word(word)) {
                    Some(near) => (
                        FORMAT_HOLE,
                        format!("did you mean `{{{near}}}`?"),
                        format!("replace `{{{word}}}` by `{{{near}}}`"),
                    ),
                    None => (
                        FORMAT_HOLE,
                        "means nothing here".to_owned(),
                        holes_help(says),
                    ),
                }
            }
            PatternFault::Touch(..) => (
                FORMAT_TOUCH,
                "where the first ends cannot be told".to_owned(),
                "put the text that stands between them, a blank perhaps".to_owned(),
            ),
            PatternFault::Twice(hole) => (
                FORMAT_TWICE,
                "a line says it once".to_owned(),
                format!("write `{{}}` in place of the `{hole}` that does not count"),
            ),
            PatternFault::Empty => (
                FORMAT_LACKS,
                "an empty line says nothing".to_owned(),
                "write the line as the tool writes it".to_owned(),
            ),
        };
        let error = Diagnostic::error(code, fault.to_string());
        self.report(error.label(text.place, label).help(help));
    }

    /// Reads the name of a format: a built-in one, or one of the contract.
    pub(super) fn format_named(&mut self, name: &str, place: Place) -> Option<Value> {
        if let Some(known) = self.formats.get_mut(name) {
            known.is_used = true;
            return Some(Value::Text(name.to_owned()));
        }
        if let Some(known) = FormatName::NAMES.iter().find(|known| **known == name) {
            return Some(Value::Word(known));
        }
        let is_absent = |prefix: &String| name.starts_with(prefix.as_str());
        if self.incomplete || self.draft.absent.iter().any(is_absent) {
            return None;
        }
        let own = self.formats.keys().map(String::as_str);
        let known: Vec<&str> = FormatName::NAMES.iter().copied().chain(own).collect();
        let named = At::new(name, place);
        let error = (self.names).unknown(UNKNOWN_WORD, "format", named, known.iter().copied());
        self.report(error.or_help(|| {
            let (known, name) = (quoted_list(&known), visible(name));
            format!("known are {known}; a block `format {name} {{` makes another one known")
        }));
        None
    }

    /// Returns how a check's format reads lines, if the contract defines it; reports one that says
    /// nothing of what the check is about.
    pub(super) fn definition_for(
        &mut self,
        made: &Check,
        check: &draft::Check,
    ) -> Option<Arc<FormatDefinition>> {
        let name = match made.settings.get(&Row::Format)? {
            Value::Text(name) => name,
            _ => return None,
        };
        let known = self.formats.get(name)?;
        let definition = known.definition.clone()?;
        if let Some(lacking) = definition.lacks(made.kind) {
            let own = check.settings.iter().find(|s| s.value.row == Row::Format);
            let (name, what, verb) = (visible(name), lacking.name(), made.kind.verb());
            let message = format!("the format `{name}` has no `{what}`, which a `{verb}` needs");
            let line = match lacking {
                LineMeaning::Passed => "passed '{count} passed'",
                _ => "finding error '{file}:{line}: {message}'",
            };
            let used = own.map_or(check.place, |setting| setting.place);
            let error = Diagnostic::at(FORMAT_LACKS, message, used, "used here");
            let error = error.label(known.place, "defined here");
            let error = error.help(format!("add a line `{line}` to it, or name another format"));
            self.report(error);
        }
        Some(definition)
    }

    /// Returns the definitions of all formats.
    pub(super) fn definitions(&self) -> BTreeMap<String, Arc<FormatDefinition>> {
        let sound = |(name, known): (&String, &KnownFormat)| {
            Some((name.clone(), known.definition.clone()?))
        };
        self.formats.iter().filter_map(sound).collect()
    }

    /// Warns of formats of the contract itself that nothing names. What is imported may have more
    /// than is used.
    pub(super) fn report_unused_formats(&mut self) {
        let imported: Vec<_> = self.draft.imported.iter().map(|file| file.source).collect();
        // A file of formats, for others.
        if self.names.defined.is_empty() || self.incomplete {
            return;
        }
        for (name, known) in &self.formats {
            if !known.is_used && !imported.contains(&known.place.source) {
                let message = format!("the format `{name}` is never used");
                let help = format!("write `format {name}` into a check, or remove the block");
                let warning = Diagnostic::warning(FORMAT_UNUSED, message)
                    .label(known.place, "no check names it");
                self.sink.push(warning.help(help));
            }
        }
    }
}

/// Returns the placeholder for a word of another tool.
fn other_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "sev" | "level" | "type" | "kind" => "severity",
        "col" => "column",
        "path" | "filename" => "file",
        "row" | "lineno" => "line",
        "rule" | "id" | "check" => "code",
        "msg" | "text" => "message",
        "n" | "num" | "number" => "count",
        "test" => "name",
        _ => return None,
    })
}

/// Lists the placeholders of a line, for a help text.
fn holes_help(says: LineMeaning) -> String {
    let holes = says.holes().iter().map(ToString::to_string);
    let holes: Vec<String> = holes.chain(["{}".to_owned()]).collect();
    format!("its holes are {}; `{{}}` skips", quoted_list(&holes))
}
