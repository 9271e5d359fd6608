//! Reads ESLint's JSON (`-f json`).

use super::eslint::{is_ignored, leave_out};
use crate::Kind;
use crate::output::kit::document::{self, DocumentKind, DocumentReader};
use crate::output::reader::{Format, FormatName};
use crate::results::{Finding, Level, Reading};
use serde::Deserialize;
use vplan_base::word::count;

/// `[{"filePath":…,"messages":[…]}]`.
pub const FORMAT: Format = Format::document::<DocumentReader<EslintJson>>(
    "eslint-json",
    &[FormatName::Eslint],
    &[Kind::Lint, Kind::Compile],
);

#[derive(Default)]
struct EslintJson;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    error_count: u64,
    file_path: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    column: Option<f64>,
    #[serde(default)]
    line: Option<f64>,
    message: String,
    #[serde(default)]
    rule_id: Option<String>,
    severity: u64,
}

impl DocumentKind for EslintJson {
    const BEGINS: fn(&str) -> bool = |line| {
        line.strip_prefix('[')
            .is_some_and(|rest| matches!(rest.trim_start().as_bytes(), [] | [b'{' | b']', ..]))
    };
    const TELLS: fn(&str) -> bool = |text| text.trim() == "[]" || text.contains("\"filePath\"");
    const WORD: &'static str = "output";
    const HAS_TESTS: bool = false;

    fn read(text: &str, reading: &mut Reading) -> Option<()> {
        let (outputs, wrong) = document::values::<Vec<File>>(text);
        for file in outputs.into_iter().flatten() {
            let errors = file.messages.iter().filter(|m| m.severity != 1).count() as u64;
            if errors < file.error_count {
                let counts = count(file.error_count, "error");
                let path = &file.file_path;
                reading.object(format!("{path}: it counts {counts} and shows {errors}"));
            }
            for message in file.messages {
                if is_ignored(&message.message) {
                    leave_out(reading, Some(&file.file_path));
                    continue;
                }
                reading.find(Finding {
                    code: message.rule_id,
                    column: document::natural(message.column),
                    file: Some(file.file_path.clone()),
                    line: document::natural(message.line),
                    message: message.message,
                    severity: Level::warning_if(message.severity == 1),
                });
            }
        }
        if let Some(wrong) = wrong {
            reading.object(format!("the output cannot be read: {wrong}"));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

    #[test]
    fn outputs() {
        let found = |text: &str| {
            let reading = read(&[&FORMAT], text.as_bytes(), b"")?;
            Some((reading.errors, reading.warnings, reading.problems.len()))
        };
        let one = r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":2,"fatal":true,"message":"Parsing","line":1,"column":1.0},
            {"ruleId":"semi","severity":1,"message":"x"}],"errorCount":1}]"#;
        for (text, want) in [
            (one.to_owned(), Some((1, 1, 0))),
            (
                format!("> a@1 lint\n> eslint -f json .\n\n{one}\n"),
                Some((1, 1, 0)),
            ),
            (format!("{one}\n{one}\n"), Some((2, 2, 0))),
            (format!("{one}\nDone in 2s.\n"), Some((1, 1, 0))),
            (
                r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":1,"message":"File ignored by default."}],"warningCount":1}]"#.to_owned(),
                Some((0, 0, 0)),
            ),
            ("[]".to_owned(), Some((0, 0, 0))),
            (one[..80].to_owned(), Some((0, 0, 1))),
            ("[1]".to_owned(), None),
            (format!("[INFO] x\n{one}"), None),
            (String::new(), None),
        ] {
            assert_eq!(found(&text), want, "{text}");
        }
    }
}
