//! Says for people what an audit has found.

use crate::command::answer::*;
use crate::render::diff::unified;
use vplan_engine::audit::{AuditedContract, FixedContract};
use vplan_plan::audit::{Finding, Severity};

/// Prints all of it.
pub(super) fn print(
    found: &AuditedContract,
    mended: Option<&FixedContract>,
    written: bool,
    terminal: &Terminal,
) {
    let mut out = String::new();
    let mut last = None;
    for finding in &found.audited.findings {
        let class = (finding.kind, finding.severity);
        if last.replace(class) != Some(class) {
            let head = format!("{}: {}", finding.kind.name(), finding.meaning());
            out.push_str(&paint(terminal.color, tone(finding.severity), &head));
            out.push('\n');
        }
        out.push_str(&lines(finding));
    }
    for gap in &found.audited.incomplete {
        let line = format!("observation_incomplete: {}: {}", gap.check, gap.reason);
        out.push_str(&paint(terminal.color, Tone::Warn, &line));
        out.push('\n');
    }
    if !out.is_empty() {
        out.push('\n');
    }
    if let Some(mended) = mended {
        out.push_str(&diff(mended, terminal.color));
        out.push('\n');
    }
    out.push_str(&summary(found, mended.is_some(), written));
    terminal.print(&out);
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Faint,
    }
}

fn lines(finding: &Finding) -> String {
    let source = &finding.source;
    let program = framed("  by ", finding.program.as_ref(), "");
    let (check, what) = (visible(&finding.check), finding.what());
    let (file, line) = (visible(&source.file), source.line);
    let mut out = format!("  {check} ({file}:{line})  {what}{program}\n");
    if let Some(line) = &finding.line {
        out.push_str(&format!("    would be mended by: {}\n", visible(line)));
    }
    out
}

/// Returns the change of the contract.
pub(super) fn diff(mended: &FixedContract, color: bool) -> String {
    unified(&mended.name, &mended.old, (&mended.new, "mended"), color)
}

fn summary(found: &AuditedContract, is_mended: bool, written: bool) -> String {
    let of = |severity: Severity| {
        let findings = found.audited.findings.iter();
        findings.filter(|f| f.severity == severity).count()
    };
    let seen = format!("seen in {}", count(found.runs.len(), "run"));
    let errors = count(of(Severity::Error), "error");
    let warnings = count(of(Severity::Warning), "warning");
    let notes = count(of(Severity::Note), "note");
    let mended = match (is_mended, written) {
        (false, _) => String::new(),
        (true, true) => format!("; `{}` was written", found.loaded.path),
        (true, false) => "; `vplan audit --write` writes this".to_owned(),
    };
    let whole = match found.audited.incomplete.len() {
        0 => "",
        _ => "; not everything could be seen",
    };
    format!("audited: {errors}, {warnings}, {notes}, {seen}{whole}{mended}\n")
}
