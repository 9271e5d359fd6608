//! The messages of fixes for people.

use crate::render::style::{Tone, count, paint};
use vplan_base::unit::show_duration;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{first_of, visible};
use vplan_engine::fix::{FixOutcome, FixRecord};

/// The most checks without a fix that are named.
const NAMED: usize = 5;

/// Describes what a fix did.
pub(in crate::command) fn fixed(record: &FixRecord, color: bool) -> String {
    let how = match (record.outcome, record.exit_code, &record.signal) {
        (_, Some(code), _) => format!("exit code {code}"),
        ("timed_out", ..) => "its time was up".to_owned(),
        ("not_started", ..) => record.reason.clone().unwrap_or_default(),
        ("signalled" | "interrupted", _, Some(signal)) => format!("ended by {signal}"),
        (other, ..) => other.replace('_', " "),
    };
    let changed = match record.changed.len() {
        0 => "changed nothing".to_owned(),
        files => format!("changed {}", count(files, "file")),
    };
    let (sign, check) = (paint(color, Tone::Warn, "↻"), visible(&record.check));
    let how = visible(&how);
    let time = show_duration(record.duration_ms);
    let mut text = format!("  {sign} fix of {check}: {changed} ({how}, {time})\n");
    for path in &record.changed {
        text.push_str(&format!("    {path}\n"));
    }
    if record.leaked > 0 {
        let left = count(record.leaked as usize, "process");
        text.push_str(&format!("    left {left} behind, stopped\n"));
    }
    for path in &record.outside {
        let sign = paint(color, Tone::Bad, "✗");
        let path = visible(path);
        text.push_str(&format!("    {sign} {path}: it must not change this\n"));
    }
    if record.outcome != "exited" || record.changed.is_empty() {
        for log in &record.logs {
            text.push_str(&format!("    {}\n", paint(color, Tone::Faint, log)));
        }
    }
    text
}

/// Describes what became of it all.
pub(super) fn summary(outcome: &FixOutcome, exit: u8, color: bool) -> String {
    let without = first_of(
        outcome
            .without
            .iter()
            .map(|id| format!("`{}`", visible(id))),
        NAMED,
    );
    let is_outside = outcome.fixes.iter().any(|fix| !fix.outside.is_empty());
    let words = match (outcome.fixes.is_empty(), is_outside) {
        (true, _) if outcome.without.is_empty() => "nothing to fix".to_owned(),
        (true, _) => format!("nothing to fix with: no `fix` in {without}"),
        (_, true) if outcome.changed.is_empty() => {
            "a fix changed what it must not, and nothing of it was kept".to_owned()
        }
        (_, true) => "a fix changed what it must not: look at it, it is kept".to_owned(),
        _ => {
            let files = match outcome.changed.len() {
                0 => "nothing changed".to_owned(),
                files => format!("{} changed", count(files, "file")),
            };
            let fixes = count(outcome.fixes.len(), "fix");
            let fixes = fixes.replace("fixs", "fixes");
            format!("{files} by {fixes}")
        }
    };
    let tone = if exit == Exit::Success.code() {
        Tone::Good
    } else {
        Tone::Bad
    };
    let mut text = format!("\n{}\n", paint(color, tone, &words));
    if !outcome.fixes.is_empty() && !outcome.without.is_empty() {
        text.push_str(&format!("no `fix` in {without}\n"));
    }
    text
}
