//! Reads output by a format that a contract defines: line by line, by its patterns.

use super::reader::{Reader, Stream};
use crate::definition::{FormatDefinition, LineLevel, LineMeaning, LinePattern};
use crate::pattern::{LineHole, LineParts, single_blanks};
use crate::results::{FailedTest, Finding, Level, Reading, TestCounts};
use std::sync::Arc;

/// A fresh reader. `name` is what the contract calls the format.
pub(super) fn reader(name: &str, definition: &Arc<FormatDefinition>) -> Box<dyn Reader> {
    Box::new(DefinedReader {
        definition: Arc::clone(definition),
        reading: Reading::from_format(name),
        heading: None,
        clean: None,
        is_read: false,
        counted: Tally::default(),
        named: Tally::default(),
    })
}

/// Numbers of tests; `None` where no line said one.
#[derive(Default)]
struct Tally {
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
}

struct DefinedReader {
    definition: Arc<FormatDefinition>,
    reading: Reading,
    /// The file of the findings that name none.
    heading: Option<String>,
    /// The first line that says that nothing was found.
    clean: Option<String>,
    is_read: bool,
    /// By lines with a number.
    counted: Tally,
    /// By lines with a name.
    named: Tally,
}

impl Reader for DefinedReader {
    fn line(&mut self, _: Stream, line: &str) {
        let line = single_blanks(line);
        let definition = Arc::clone(&self.definition);
        let is_heading = |pattern: &&LinePattern| pattern.says == LineMeaning::Heading;
        let others = definition.lines.iter().filter(|p| !is_heading(p));
        let headings = definition.lines.iter().filter(is_heading);
        let found = others
            .chain(headings)
            .find_map(|pattern| Some((pattern, pattern.pattern.read(&line)?)));
        if let Some((pattern, parts)) = found {
            self.is_read |= pattern.says != LineMeaning::Heading;
            self.take(pattern, &parts, &line);
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        if !self.is_read {
            return None;
        }
        let mut reading = self.reading;
        let said = [&self.counted, &self.named]
            .iter()
            .any(|t| t.passed.or(t.failed).or(t.skipped).is_some());
        // What counts its tests and names them says the same twice.
        let of = |counted: Option<u64>, named: Option<u64>| counted.or(named).unwrap_or(0);
        reading.tests = said.then(|| TestCounts {
            failed: of(self.counted.failed, self.named.failed),
            passed: of(self.counted.passed, self.named.passed),
            skipped: of(self.counted.skipped, self.named.skipped),
            ..TestCounts::default()
        });
        let found = reading.errors.saturating_add(reading.warnings);
        if let Some(clean) = self.clean.filter(|_| found > 0) {
            let findings = vplan_base::word::count(found, "finding");
            reading.object(format!("it says `{clean}` beside {findings}"));
        }
        Some(reading)
    }
}

impl DefinedReader {
    fn take(&mut self, pattern: &LinePattern, parts: &LineParts<'_>, line: &str) {
        let text = |hole| parts.text(hole).map(str::to_owned);
        match pattern.says {
            LineMeaning::Heading => self.heading = text(LineHole::File),
            LineMeaning::Clean => {
                self.clean.get_or_insert_with(|| line.to_owned());
            }
            LineMeaning::Finding => {
                let severity = match self.definition.level(pattern, parts) {
                    LineLevel::Error => Level::Error,
                    LineLevel::Warning => Level::Warning,
                    LineLevel::Note => return,
                };
                self.reading.find(Finding {
                    code: text(LineHole::Code),
                    column: parts.number(LineHole::Column),
                    file: text(LineHole::File).or_else(|| self.heading.clone()),
                    line: parts.number(LineHole::Line),
                    message: text(LineHole::Message).unwrap_or_default(),
                    severity,
                });
            }
            says @ (LineMeaning::Passed | LineMeaning::Failed | LineMeaning::Skipped) => {
                let (tally, more) = match parts.number(LineHole::Count) {
                    Some(count) => (&mut self.counted, count),
                    None => (&mut self.named, 1),
                };
                tally.add(says, more);
                if let (LineMeaning::Failed, Some(name)) = (says, text(LineHole::Name)) {
                    self.reading.fail(FailedTest::from_name(name));
                }
            }
        }
    }
}

impl Tally {
    fn add(&mut self, says: LineMeaning, more: u64) {
        let number = match says {
            LineMeaning::Passed => &mut self.passed,
            LineMeaning::Failed => &mut self.failed,
            _ => &mut self.skipped,
        };
        *number = Some(number.unwrap_or(0).saturating_add(more));
    }
}
