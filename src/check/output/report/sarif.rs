//! Reads SARIF 2.1.0, the log format of static analysers.

use crate::Kind;
use crate::output::kit::document::{self, DocumentKind, DocumentReader};
use crate::output::reader::{Format, FormatName};
use crate::results::{Finding, Level, Reading};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A log of findings.
pub const FORMAT: Format = Format::document::<DocumentReader<Sarif>>(
    "sarif",
    &[FormatName::Sarif],
    &[Kind::Lint, Kind::Compile],
)
.asked_by(&["sarif"]);

#[derive(Default)]
struct Sarif;

#[derive(Deserialize)]
struct Log {
    /// Its absence means another kind of document.
    runs: Option<Vec<Run>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Run {
    artifacts: Option<Vec<Artifact>>,
    invocations: Option<Vec<Invocation>>,
    /// Some tools write none where they found none; the standard means a run without a scan.
    results: Option<Results>,
    tool: Tool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tool {
    driver: Component,
    extensions: Vec<Component>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Component {
    rules: Vec<Rule>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    default_configuration: Configuration,
    id: String,
    message_strings: BTreeMap<String, Message>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Configuration {
    level: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Invocation {
    execution_successful: Option<bool>,
    tool_configuration_notifications: Vec<Notification>,
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Notification {
    level: Option<String>,
    message: Message,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SarifResult {
    baseline_state: Option<String>,
    kind: Option<String>,
    level: Option<String>,
    locations: Vec<Location>,
    message: Message,
    rule: RuleReference,
    rule_id: Option<String>,
    rule_index: Option<i64>,
    suppressions: Option<Vec<Suppression>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RuleReference {
    id: Option<String>,
    index: Option<i64>,
    tool_component: Index,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Index {
    index: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Suppression {
    status: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    arguments: Vec<String>,
    id: Option<String>,
    markdown: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ArtifactLocation {
    index: Option<i64>,
    uri: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Artifact {
    location: ArtifactLocation,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Region {
    start_column: Option<f64>,
    start_line: Option<f64>,
}

/// The results of a run: the first of them, and of the others how many there are of each rule and
/// level. The rules may follow them.
#[derive(Default)]
struct Results {
    first: Vec<SarifResult>,
    others: BTreeMap<Kin, u64>,
}

/// The properties that decide the severity of a result.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kin {
    component: Option<i64>,
    id: Option<String>,
    index: Option<i64>,
    level: Option<String>,
}

/// Maximum number of results that are kept to be shown.
const RESULTS_KEPT: usize = 10_000;

impl<'de> Deserialize<'de> for Results {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        let mut results = Results::default();
        document::each(list, |result: SarifResult| {
            if !result.counts() {
                return;
            }
            if results.first.len() < RESULTS_KEPT {
                results.first.push(result);
            } else {
                let count = results.others.entry(result.kin()).or_default();
                *count = count.saturating_add(1);
            }
        })?;
        Ok(results)
    }
}

impl SarifResult {
    /// Whether it counts at all: not of another kind than a failure, gone since the baseline, or
    /// suppressed.
    fn counts(&self) -> bool {
        let fails = self.kind.as_deref().is_none_or(|kind| kind == "fail");
        let absent = self.baseline_state.as_deref() == Some("absent");
        // A suppression that is refused or not yet agreed to suppresses nothing.
        let agreed = |s: &Suppression| {
            s.status
                .as_deref()
                .is_none_or(|status| status == "accepted")
        };
        let suppressed = self
            .suppressions
            .as_ref()
            .is_some_and(|all| !all.is_empty() && all.iter().all(agreed));
        fails && !absent && !suppressed
    }

    fn kin(&self) -> Kin {
        Kin {
            component: self.rule.tool_component.index,
            id: self.rule_id.clone().or_else(|| self.rule.id.clone()),
            index: self.rule_index.or(self.rule.index),
            level: self.level.clone(),
        }
    }
}

impl DocumentKind for Sarif {
    const BEGINS: fn(&str) -> bool = |line| {
        line.strip_prefix('{')
            .is_some_and(|rest| matches!(rest.trim_start().as_bytes(), [] | [b'"', ..]))
    };
    const TELLS: fn(&str) -> bool = |text| {
        let schema = text.contains("\"$schema\"") && text.contains("sarif");
        schema
            || text.contains("\"runs\"") && (text.contains("\"2.1.0\"") || text.contains("sarif"))
    };
    const WORD: &'static str = "log";
    const HAS_TESTS: bool = false;

    fn read(text: &str, reading: &mut Reading) -> Option<()> {
        let (logs, wrong) = document::values::<Log>(text);
        if wrong.is_none() && logs.iter().all(|log| log.runs.is_none()) {
            return None;
        }
        for run in logs.into_iter().filter_map(|log| log.runs).flatten() {
            one(&run, reading);
        }
        if let Some(wrong) = wrong {
            reading.object(format!("the log cannot be read: {wrong}"));
        }
        Some(())
    }
}

fn one(run: &Run, reading: &mut Reading) {
    if run.results.is_none() {
        reading.leave_out("a run in the log has no `results`");
    }
    for result in run.results.iter().flat_map(|results| &results.first) {
        let kin = result.kin();
        let rule = rule(run, &kin);
        let Some(severity) = severity(&kin, rule) else {
            continue;
        };
        let place = result
            .locations
            .first()
            .map(|location| &location.physical_location);
        let region = place.map(|place| &place.region);
        reading.find(Finding {
            code: kin
                .id
                .or_else(|| rule.map(|rule| rule.id.clone()))
                .filter(|id| !id.is_empty()),
            column: document::natural(region.and_then(|region| region.start_column)),
            file: place.and_then(|place| file(run, &place.artifact_location)),
            line: document::natural(region.and_then(|region| region.start_line)),
            message: message(&result.message, rule),
            severity,
        });
    }
    for (kin, number) in run.results.iter().flat_map(|results| &results.others) {
        match severity(kin, rule(run, kin)) {
            Some(Level::Error) => reading.errors = reading.errors.saturating_add(*number),
            Some(Level::Warning) => reading.warnings = reading.warnings.saturating_add(*number),
            None => {}
        }
    }
    for invocation in run.invocations.iter().flatten() {
        let notes = [
            &invocation.tool_execution_notifications,
            &invocation.tool_configuration_notifications,
        ];
        for note in notes
            .into_iter()
            .flatten()
            .filter(|note| note.level.as_deref() == Some("error"))
        {
            let why = message(&note.message, None);
            reading.object(format!(
                "the tool had an error: {}",
                why.lines().next().unwrap_or_default()
            ));
        }
        if invocation.execution_successful == Some(false) {
            reading.object("the log says that the tool did not run successfully");
        }
    }
}

/// Returns the severity of a result; `None` for less than a warning.
fn severity(kin: &Kin, rule: Option<&Rule>) -> Option<Level> {
    let default = || rule.and_then(|rule| rule.default_configuration.level.as_deref());
    match kin.level.as_deref().or_else(default).unwrap_or("warning") {
        "note" | "none" => None,
        level if level == "warning" || level.starts_with("info") => Some(Level::Warning),
        // An unknown level may be worse.
        _ => Some(Level::Error),
    }
}

/// The rule of a result: by its place in the tool or one of its extensions, or by its id. A part of
/// the id after `/` may be finer than the rule.
fn rule<'a>(run: &'a Run, kin: &Kin) -> Option<&'a Rule> {
    let component = match kin.component {
        Some(index) => usize::try_from(index)
            .ok()
            .and_then(|index| run.tool.extensions.get(index))
            .unwrap_or(&run.tool.driver),
        None => &run.tool.driver,
    };
    let index = kin.index.and_then(|index| usize::try_from(index).ok());
    if let Some(rule) = index.and_then(|index| component.rules.get(index)) {
        return Some(rule);
    }
    let mut wanted = kin.id.as_deref()?;
    loop {
        let all = || {
            std::iter::once(&run.tool.driver)
                .chain(&run.tool.extensions)
                .flat_map(|part| &part.rules)
        };
        if let Some(rule) = all().find(|rule| rule.id == wanted) {
            return Some(rule);
        }
        wanted = wanted.rsplit_once('/')?.0;
    }
}

/// The words of a message, given or by the rule's strings, with its arguments in the places `{0}`.
fn message(message: &Message, rule: Option<&Rule>) -> String {
    let own = message.text.as_ref().or(message.markdown.as_ref());
    let string = || {
        let string = rule?.message_strings.get(message.id.as_ref()?)?;
        string.text.as_ref().or(string.markdown.as_ref())
    };
    let mut text = own.or_else(string).cloned().unwrap_or_default();
    for (number, argument) in message.arguments.iter().enumerate().take(16) {
        crate::results::clip(&mut text);
        text = text.replace(&format!("{{{number}}}"), argument);
    }
    vplan_base::inert::without_escapes(&text)
}

/// A file as people write it: without `file://` and percent signs.
fn file(run: &Run, location: &ArtifactLocation) -> Option<String> {
    let indexed = || {
        let index = usize::try_from(location.index?).ok()?;
        run.artifacts.as_ref()?.get(index)?.location.uri.as_ref()
    };
    let uri = location.uri.as_ref().or_else(indexed)?;
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    // `/C:/x` is a file of Windows.
    let path = match path.as_bytes() {
        [b'/', b'a'..=b'z' | b'A'..=b'Z', b':', b'/', ..] => path.get(1..).unwrap_or(path),
        _ => path,
    };
    Some(decoded(path))
}

fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        if byte == b'%'
            && let (Some(high), Some(low)) = (digit(ahead.next()), digit(ahead.next()))
            && let Ok(value) = u8::try_from(high * 16 + low)
        {
            out.push(value);
            bytes = ahead;
        } else {
            out.push(byte);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    fn log(run: &str) -> String {
        format!("{{\"version\":\"2.1.0\",\"runs\":[{{{run}}}]}}")
    }

    fn count_findings(text: &str) -> Option<(u64, u64, usize)> {
        let reading = read(&[&FORMAT], text.as_bytes(), b"")?;
        Some((reading.errors, reading.warnings, reading.problems.len()))
    }

    #[test]
    fn logs() {
        let rules = r#""tool":{"driver":{"rules":[{"id":"A","defaultConfiguration":{"level":"error"}},{"id":"B","defaultConfiguration":{"level":"note"}}]},
            "extensions":[{"rules":[{"id":"E","defaultConfiguration":{"level":"error"}}]}]},"results":"#;
        let with = |results: &str| log(&format!("{rules}[{results}]"));
        for (name, text, want) in [
            (
                "levels",
                with(
                    r#"{"level":"error"},{"level":"warning"},{"level":"note"},{"level":"none"},{}"#,
                ),
                Some((1, 2, 0)),
            ),
            (
                "by id",
                with(
                    r#"{"ruleId":"A"},{"ruleId":"B"},{"ruleId":"A/sub"},{"ruleId":"C"},{"ruleId":"E"}"#,
                ),
                Some((3, 1, 0)),
            ),
            (
                "by place",
                with(
                    r#"{"ruleIndex":0},{"rule":{"index":1}},{"rule":{"index":0,"toolComponent":{"index":0}}}"#,
                ),
                Some((2, 0, 0)),
            ),
            (
                "no such place",
                with(r#"{"ruleIndex":-1,"ruleId":"A"},{"ruleIndex":99}"#),
                Some((1, 1, 0)),
            ),
            (
                "its own level first",
                with(r#"{"ruleId":"A","level":"warning"}"#),
                Some((0, 1, 0)),
            ),
            (
                "kinds",
                with(
                    r#"{"kind":"pass","level":"error"},{"kind":"fail","level":"error"},{"kind":"review"}"#,
                ),
                Some((1, 0, 0)),
            ),
            (
                "suppressed",
                with(
                    r#"{"level":"error","suppressions":[{"kind":"inSource"}]},{"level":"error","suppressions":[]},{"level":"error","suppressions":[{"status":"rejected"}]}"#,
                ),
                Some((2, 0, 0)),
            ),
            (
                "baseline",
                with(
                    r#"{"level":"error","baselineState":"absent"},{"level":"error","baselineState":"unchanged"}"#,
                ),
                Some((1, 0, 0)),
            ),
            (
                "many",
                with(&vec![r#"{"ruleId":"A"}"#; RESULTS_KEPT + 5].join(",")),
                Some((10_005, 0, 0)),
            ),
            ("nothing found", with(""), Some((0, 0, 0))),
            ("no results", log(r#""results":null"#), Some((0, 0, 0))),
            (
                "broken down",
                log(
                    r#""invocations":[{"executionSuccessful":false,"toolExecutionNotifications":[{"level":"error","message":{"text":"no config"}},{"level":"note"}]}]"#,
                ),
                Some((0, 0, 2)),
            ),
            (
                "two logs",
                format!(
                    "{}\n{}",
                    with(r#"{"level":"error"}"#),
                    with(r#"{"level":"error"}"#)
                ),
                Some((2, 0, 0)),
            ),
            (
                "torn",
                with(r#"{"level":"error"}"#)[..200].to_owned() + "\"runs\"",
                Some((0, 0, 1)),
            ),
            (
                "deep",
                log(&format!("\"results\":{}", "[".repeat(100_000))),
                Some((0, 0, 1)),
            ),
            (
                "deep and ignored",
                log(&format!(
                    "\"x\":{}{}",
                    "[".repeat(100_000),
                    "]".repeat(100_000)
                )),
                Some((0, 0, 0)),
            ),
            ("another document", "{\"a\": 1}".to_owned(), None),
            (
                "a word of it",
                "{\"a\": \"\\\"runs\\\"\", \"b\": {\"runs\": 1}}".to_owned(),
                None,
            ),
            ("nothing", String::new(), None),
        ] {
            assert_eq!(count_findings(&text), want, "{name}");
        }
    }

    #[test]
    fn a_result() {
        let text = log(
            r#""tool":{"driver":{"rules":[{"id":"R1","messageStrings":{"default":{"text":"Use {0}, not {1}."}}}]}},
            "artifacts":[{"location":{"uri":"file:///C:/my%20x/a.c"}}],
            "results":[{"ruleId":"R1","message":{"id":"default","arguments":["b","c"]},"locations":[{"physicalLocation":{"artifactLocation":{"index":0},"region":{"startLine":3,"startColumn":7}}}]}]"#,
        );
        let want = Finding {
            code: Some("R1".into()),
            column: Some(7),
            file: Some("C:/my x/a.c".into()),
            line: Some(3),
            message: "Use b, not c.".into(),
            severity: Level::Warning,
        };
        assert_eq!(
            read(&[&FORMAT], text.as_bytes(), b"").unwrap().findings,
            [want]
        );
    }
}
