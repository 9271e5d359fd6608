//! Renders a plan as text for people.

use super::checks::{changed_texts, taken_out, taken_out_text};
use super::forecast::{Outlook, StepOutlook};
use super::{Mark, Options, sentence};
use crate::caveat;
use crate::definition::DEFINITION_CHANGED;
use crate::field::FieldValue;
use crate::parallel::StepBeside;
use crate::select::items_text;
use crate::{Coverage, Omitted, Plan, Policy, SandboxFrom, Step};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::{quote, to_text};
use vplan_base::hole::{Alike, Values};
use vplan_base::service::{Ready, Service};
use vplan_base::setting::{Explained, Row, Setting, Takes, Unset};
use vplan_base::unit::{show_duration, show_time};
use vplan_base::word::{count, first_of, framed, text_if, visible};
use vplan_check::confine::{Confinement, NetworkUse};

/// Maximum number of other steps that a step names on a line.
const STEPS_SHOWN: usize = 8;
/// The widest id that widens the column of reasons.
const WIDEST_ID: usize = 28;

/// Renders the whole plan: a summary, every step in order, every omitted check, tiers, repairs,
/// notes.
pub fn explain_text(plan: &Plan, options: &Options) -> String {
    let mut page = Page {
        options,
        changed: options.contract.map(changed_texts).unwrap_or_default(),
        out: String::new(),
    };
    page.compared(plan);
    page.caveats(plan);
    page.summary(plan);
    page.notes(plan);
    let outlook = options.outlook;
    page.expected(outlook);
    let digits = plan.steps.len().to_string().len();
    for (at, step) in plan.steps.iter().enumerate() {
        page.out.push('\n');
        page.step(at + 1, digits, step);
        let of_step = outlook.and_then(|outlook| outlook.steps.get(at));
        page.write_forecast(digits + 2, of_step);
    }
    page.omitted(plan);
    page.taken_out();
    page.tiers(plan);
    page.rewrites(plan);
    page.out
}

/// Lists the settings of a step that are not the defaults, and its time limit.
pub fn settings(step: &Step) -> Vec<String> {
    let mut parts = vec![
        step.kind.verb().to_owned(),
        format!("up to {}", show_duration(step.timeout_ms)),
    ];
    let codes = |word: &str, list: &[i32]| {
        let codes: Vec<String> = list.iter().map(ToString::to_string).collect();
        format!("{word} {}", codes.join(" "))
    };
    for row in Row::explained().iter().copied() {
        let word = row.setting().word;
        parts.extend(match row {
            Row::Tier => (step.tier > 0).then(|| format!("{word} {}", step.tier)),
            Row::Exit => (step.exit != [0]).then(|| codes(word, &step.exit)),
            Row::SkipExit => (!step.skip_exit.is_empty()).then(|| codes(word, &step.skip_exit)),
            Row::Report => step.report.as_ref().map(|r| {
                let [format, glob] = [&*r.format, r.glob.text()].map(visible);
                format!("{word} {format} {glob}")
            }),
            row => {
                setting(row.setting(), step.held(row)).map(|said| match &step.format_definition {
                    Some(definition) if row == Row::Format => {
                        let patterns = count(definition.lines.len() as u64, "pattern");
                        format!("{said} by {patterns} of the contract")
                    }
                    _ => said,
                })
            }
        });
    }
    parts
}

/// Returns how a step is confined, by whom if not by the contract, and what else it may read.
/// `None` for an unconfined step.
pub fn confinement(step: &Step) -> Option<String> {
    let asked = asked_settings(step.confinement());
    let flags: Vec<String> = asked.iter().map(|(row, _)| format!("--{row}")).collect();
    let by = |SandboxFrom::Operator| format!(" (asked by {})", flags.join(" or "));
    let by = step.sandbox_from.map(by);
    let reads: Vec<String> = step.reads.iter().map(visible).collect();
    let reads = (!reads.is_empty()).then(|| format!(", reads {}", reads.join(" ")));
    let more = by.unwrap_or_default() + &reads.unwrap_or_default();
    (!asked.is_empty()).then(|| confined(step.confinement()) + &more)
}

/// Returns a confinement as the settings that ask for it: `sandbox guard, network off`.
pub fn confined(by: Confinement) -> String {
    let asked = asked_settings(by).into_iter();
    let asked: Vec<String> = asked.map(|(row, word)| format!("{row} {word}")).collect();
    asked.join(", ")
}

/// Returns the settings that ask for a confinement, with their words.
fn asked_settings(by: Confinement) -> Vec<(&'static str, &'static str)> {
    let rows = [Row::Sandbox, Row::Network].map(Row::setting);
    let words = [by.level.name(), by.network.name()];
    let asked = rows.iter().zip(words);
    // What is usual at a level is not usual everywhere.
    let is_sealed = by.level.usual_network() != NetworkUse::default();
    let asked = asked.filter(|(row, word)| is_sealed || row.unset != Unset::Word(word));
    asked.map(|(row, word)| (row.word, word)).collect()
}

/// Returns a setting in a few words, unless it has its usual value.
fn setting(setting: &Setting, held: FieldValue<'_>) -> Option<String> {
    use FieldValue::{Globs, Nothing, Outside, Selection, Services};
    let value = match (held, setting.unset) {
        (FieldValue::Number(n), Unset::Number(usual)) if n == usual => return None,
        (FieldValue::Text(word), Unset::Word(usual)) if word == usual => return None,
        (FieldValue::Flag, _) => String::new(),
        (FieldValue::Number(n), _) if setting.takes == Takes::Duration => show_duration(n),
        (FieldValue::Number(n), _) => n.to_string(),
        (FieldValue::Text(text), _) => visible(text),
        (Nothing | Globs(_) | Outside(_) | Selection(_) | Services(_), _) => return None,
    };
    Some(match setting.explained {
        Explained::Word => format!("{} {value}", setting.word).trim_end().to_owned(),
        Explained::Called(words) => format!("{words} {value}"),
        Explained::Phrase(words) => words.to_owned(),
        Explained::Counted(one, _) if value == "1" => format!("{value} {one}"),
        Explained::Counted(_, many) => format!("{value} {many}"),
        Explained::Line(..) | Explained::Apart => return None,
    })
}

/// Returns the command as it is started, without the environment, which has its own line.
pub fn command_line(step: &Step) -> String {
    match &step.argv {
        Some(argv) => to_text(&Default::default(), argv),
        None => visible(&step.command),
    }
}

/// Describes a service on a line.
pub(crate) fn service_line(service: &Service) -> String {
    let ready = match &service.ready {
        None => "as soon as it is started".to_owned(),
        Some(Ready::Tcp(port)) => format!("when something listens on {}", visible(port)),
        Some(Ready::File(path)) => format!("when \"{}\" is there", visible(path)),
        Some(Ready::Line(text)) => format!("when it has printed \"{}\"", visible(text)),
        Some(Ready::Run(run)) => {
            let command = to_text(&run.env, &run.argv);
            format!("when `{}` exits with 0", visible(&command))
        }
    };
    let file = framed("", service.file.as_ref().map(visible), ", ");
    let place = service.line.map(|line| format!("{file}line {line}"));
    let place = framed(" (", place, ")");
    let dir = text_if(!service.dir.is_root(), || format!(" in {}", service.dir));
    format!(
        "{}{place}: {}{dir}; ready {ready}, within {}",
        service.name,
        to_text(&service.env, &service.argv),
        show_duration(service.timeout_ms)
    )
}

/// Names steps, the first of them.
fn names(steps: &[String]) -> String {
    first_of(steps.iter().map(visible), STEPS_SHOWN)
}

struct Page<'a> {
    options: &'a Options<'a>,
    /// What the blocks of imports change, by the name of the check.
    changed: BTreeMap<&'a str, String>,
    out: String,
}

impl Page<'_> {
    fn paint(&self, mark: Mark, text: &str) -> String {
        self.options.style.paint(mark, text)
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn title(&mut self, text: &str) {
        let title = self.paint(Mark::Title, text);
        self.line("");
        self.line(&title);
    }

    /// Prints a label of a fixed width, then text with a hanging indent.
    fn labelled(&mut self, indent: usize, label: &str, mark: Mark, text: &str) {
        let column = indent + label.chars().count();
        let head = format!("{:indent$}{}", "", self.paint(Mark::Dim, label));
        let head = (head.as_str(), column);
        let options = self.options;
        options.hang(&mut self.out, head, column, Some(mark), text);
    }

    fn summary(&mut self, plan: &Plan) {
        let mut head = count(plan.steps.len(), "step");
        if !plan.omitted.is_empty() {
            head.push_str(&format!(", {} left out", plan.omitted.len()));
        }
        let head = self.paint(Mark::Title, &head);
        let request = &plan.request;
        let mut about = vec![
            format!("role {}", visible(&request.role)),
            count(request.changed.len(), "changed file"),
            format!("risk {}", request.risk),
        ];
        about.extend(request.boundaries.iter().map(word));
        if request.min_tier > 0 {
            about.push(format!("at least tier {}", request.min_tier));
        }
        if word(&request.mode) != "contract" {
            about.push(format!("mode {}", word(&request.mode)));
        }
        if !request.only.is_empty() {
            about.push(format!("only {}", visible(request.only.join(" "))));
        }
        self.line(&format!("{head} for {}", about.join(", ")));
        let policy = &plan.policy;
        let budget = |ms| format!("budget {}", show_duration(ms));
        let how = [
            plan.contract.as_ref().map(|used| visible(&used.path)),
            policy.budget_ms.map(budget),
            (policy.jobs != Policy::JOBS).then(|| format!("{} jobs", policy.jobs)),
            (!policy.fail_fast).then(|| "keeps going".to_owned()),
            plan.digest.as_ref().map(ToString::to_string),
        ];
        let how: Vec<String> = how.into_iter().flatten().collect();
        let how = self.paint(Mark::Dim, &how.join("  "));
        self.line(&how);
    }

    /// Prints what the changed files were compared with, first of all.
    fn compared(&mut self, plan: &Plan) {
        if let Some(compared) = &plan.compared {
            self.labelled(0, "compared: ", Mark::Dim, &compared.for_people());
        }
    }

    /// Prints the caveats before the plan, those that decide first.
    fn caveats(&mut self, plan: &Plan) {
        for caveat in caveat::sorted(&plan.caveats) {
            self.labelled(0, "! ", Mark::Warn, &caveat.for_people());
        }
    }

    fn notes(&mut self, plan: &Plan) {
        for note in &plan.notes {
            self.labelled(0, "note: ", Mark::Warn, &visible(&note.message));
        }
    }

    /// Prints how long the steps are expected to take together.
    fn expected(&mut self, outlook: Option<&Outlook>) {
        let Some((outlook, ms)) = outlook.and_then(|o| Some((o, o.expected_ms?))) else {
            return;
        };
        let replaced = outlook.steps.iter().filter(|s| s.replaced_by.is_some());
        let mut text = format!("about {} by earlier runs", show_time(ms));
        for (number, what) in [
            (replaced.count(), "replaced by an earlier pass"),
            (outlook.unknown, "of unknown time"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number, "step")));
            }
        }
        self.labelled(0, "expected: ", Mark::Dim, &text);
    }

    /// Prints what earlier runs say of a step.
    fn write_forecast(&mut self, indent: usize, outlook: Option<&StepOutlook>) {
        let Some(outlook) = outlook else { return };
        if outlook.replaced_by.is_some() {
            let text = "an earlier pass stands for it";
            self.labelled(indent, "reuse  ", Mark::Good, text);
        } else {
            if let Some(why) = &outlook.not_reused {
                let text = format!("none: {}", visible(why));
                self.labelled(indent, "reuse  ", Mark::Warn, &text);
            }
            if let Some(ms) = outlook.expected_ms {
                let text = format!("about {}", show_time(ms));
                self.labelled(indent, "time   ", Mark::Dim, &text);
            }
        }
        if let Some(beside) = &outlook.beside {
            self.write_parallel(indent, beside);
        }
    }

    /// Prints which other steps may run in parallel with a step.
    fn write_parallel(&mut self, indent: usize, beside: &StepBeside) {
        if !beside.beside.is_empty() {
            self.labelled(indent, "beside ", Mark::Dim, &names(&beside.beside));
        }
        if let Some(why) = &beside.alone {
            let text = format!("anything: {why}");
            self.labelled(indent, "not beside ", Mark::Warn, &text);
        }
        for not in &beside.not_beside {
            let text = format!("{}: {}", names(&not.steps), not.reason);
            self.labelled(indent, "not beside ", Mark::Dim, &text);
        }
        if beside.more > 0 {
            let text = format!("{} more", beside.more);
            self.labelled(indent, "not beside ", Mark::Dim, &text);
        }
    }

    fn step(&mut self, number: usize, digits: usize, step: &Step) {
        let indent = digits + 2;
        let id = self.paint(Mark::Id, &visible(&step.id));
        let settings = self.paint(Mark::Dim, &settings(step).join(", "));
        self.line(&format!("{number:>digits$}  {id}  {settings}"));
        if let Some(text) = &step.describe {
            self.labelled(indent, "", Mark::Dim, &visible(text));
        }
        let listed = |texts: &mut dyn Iterator<Item = String>| -> Option<String> {
            let texts: Vec<String> = texts.collect();
            (!texts.is_empty()).then(|| texts.join(" "))
        };
        let command = self.paint(Mark::Command, &command_line(step));
        let sign = self.paint(Mark::Dim, if step.argv.is_some() { "$" } else { "·" });
        self.line(&format!("{:indent$}{sign} {command}", ""));
        if let Some(unsupported) = &step.unsupported {
            let text = format!("no command: `{}` needs a shell", visible(&unsupported.text));
            self.labelled(indent, "  ", Mark::Warn, &text);
        }
        let variable = |(name, value)| format!("{}={}", visible(name), quote(value));
        let services = step.with.iter().map(service_line);
        let fix = step.fix.as_ref();
        let fix = fix.map(|fix| format!("{}; only `vplan fix` starts it", visible(fix)));
        let lines = [
            (
                "in     ",
                (!step.dir.is_root()).then(|| step.dir.to_string()),
            ),
            ("env    ", listed(&mut step.env.iter().map(variable))),
            ("pass   ", listed(&mut step.pass_env.iter().map(visible))),
            (
                "tools  ",
                listed(&mut step.tool_path.iter().map(ToString::to_string)),
            ),
            ("import ", self.changed.get(step.check()).cloned()),
        ];
        let lines = lines
            .into_iter()
            .chain(services.map(|text| ("with   ", Some(text))));
        for (label, text) in lines.chain([("fix    ", fix)]) {
            if let Some(text) = text {
                let is_import = label == "import ";
                let mark = if is_import { Mark::Dim } else { Mark::Command };
                self.labelled(indent, label, mark, &text);
            }
        }
        for row in Row::explained().iter().copied() {
            if let (Explained::Line(label, rest), FieldValue::Selection(selection)) =
                (row.setting().explained, step.held(row))
            {
                let text = items_text(selection.items.iter()) + rest;
                self.labelled(indent, label, Mark::Command, &text);
            }
        }
        if let Some(text) = confinement(step) {
            self.labelled(indent, "", Mark::Command, &text);
        }
        for (i, reason) in step.reasons.iter().enumerate() {
            let mark = match reason.condition.as_str() {
                DEFINITION_CHANGED => Mark::Warn,
                _ => Mark::Good,
            };
            let label = if i == 0 { "why    " } else { "       " };
            self.labelled(indent, label, mark, &sentence(reason, self.options.files));
        }
        if !step.after.is_empty() {
            self.labelled(indent, "after  ", Mark::Dim, &names(&step.after));
        }
    }

    fn omitted(&mut self, plan: &Plan) {
        if plan.omitted.is_empty() {
            return;
        }
        self.title("left out");
        let omitted = if self.options.rows {
            let each = |out: &'_ Omitted| (visible(&out.id), omission(out), out.narrows);
            plan.omitted.iter().map(each).collect()
        } else {
            by_definition(plan)
        };
        let widths = omitted.iter().map(|(id, ..)| id.chars().count());
        let widest = widths.max().unwrap_or(0).min(WIDEST_ID);
        for (id, text, narrows) in &omitted {
            let pad = widest.saturating_sub(id.chars().count());
            let columns = id.chars().count() + pad + 4;
            let head = format!("  {}{:pad$}  ", self.paint(Mark::Id, id), "");
            let mark = if *narrows { Mark::Warn } else { Mark::Bad };
            let head = (head.as_str(), columns);
            self.options
                .hang(&mut self.out, head, columns, Some(mark), text);
        }
    }

    /// Prints the checks that the blocks of imports take out.
    fn taken_out(&mut self) {
        let taken = self.options.contract.map(taken_out).unwrap_or_default();
        if !taken.is_empty() {
            self.title("taken out of imports");
            for text in taken_out_text(&taken) {
                self.line(&format!("  {text}"));
            }
        }
    }

    fn tiers(&mut self, plan: &Plan) {
        if plan.tiers.len() < 2 {
            return;
        }
        self.title("tiers");
        for tier in &plan.tiers {
            let reasons = visible(tier.reasons.join(", "));
            self.line(&format!("  {}  {reasons}", tier.tier));
            for trigger in &tier.triggers {
                self.labelled(5, "", Mark::Dim, &sentence(trigger, self.options.files));
            }
        }
    }

    fn rewrites(&mut self, plan: &Plan) {
        if plan.rewrites.is_empty() {
            return;
        }
        self.title("repaired");
        for rewrite in &plan.rewrites {
            let narrowed = match rewrite.coverage {
                Coverage::Narrowed => ", coverage narrowed",
                Coverage::Full => "",
            };
            let rule = self.paint(Mark::Id, &visible(&*rewrite.recovery_rule));
            let reason = visible(&rewrite.reason);
            self.line(&format!("  {rule}  {reason}{narrowed}"));
            if let Some(evidence) = &rewrite.evidence {
                self.labelled(4, "because  ", Mark::Dim, &visible(evidence));
            }
            let (before, after) = (&rewrite.previous_commands, &rewrite.next_commands);
            for command in before.iter().filter(|c| !after.contains(c)) {
                self.labelled(4, "- ", Mark::Bad, &visible(command));
            }
            for command in after.iter().filter(|c| !before.contains(c)) {
                self.labelled(4, "+ ", Mark::Good, &visible(command));
            }
        }
    }
}

/// Returns a line for each omitted check, and one for the rows of a definition that were omitted
/// for the same reason: the name, the reason, whether it narrows the coverage.
fn by_definition(plan: &Plan) -> Vec<(String, String, bool)> {
    let own = plan.contract.as_ref().map_or("", |contract| &contract.path);

    let definition = |out: &'_ Omitted| {
        let line = out.line.filter(|_| !out.each.is_empty())?;
        let file = out.file.clone().unwrap_or_else(|| own.to_owned());
        Some((file, line))
    };
    let planned = plan.steps.iter().filter_map(|step| {
        let source = step.source.as_ref().filter(|_| !step.each.is_empty())?;
        Some(((source.file.clone(), source.line), step.check()))
    });
    // The rows of each definition.
    let mut rows: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for (definition, id) in planned {
        rows.entry(definition).or_default().insert(id);
    }
    /// Rows that were omitted for the same reason.
    struct Group {
        name: Alike,
        reason: Alike,
        narrows: bool,
        /// How many rows the definition has is known at the end.
        definition: (String, usize),
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut of_definition: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    // Lines in order: of a single check, or of a group.
    let mut lines: Vec<Result<(String, String, bool), usize>> = Vec::new();
    for out in &plan.omitted {
        let (id, reason) = (visible(&out.id), omission(out));
        let Some(definition) = definition(out) else {
            lines.push(Ok((id, reason, out.narrows)));
            continue;
        };
        rows.entry(definition.clone()).or_default().insert(&out.id);
        let values: Values = out.each.clone().into_iter().collect();
        let same = of_definition.entry(definition.clone()).or_default();
        let takes = |at: &&usize| {
            let group = groups
                .get_mut(**at)
                .filter(|group| group.narrows == out.narrows);
            group.is_some_and(|group| {
                let mut reasons = group.reason.clone();
                let is_same =
                    reasons.takes(&values, &reason) && group.name.takes(&values.in_names(), &id);
                if is_same {
                    group.reason = reasons;
                }
                is_same
            })
        };
        if same.iter().find(takes).is_none() {
            same.push(groups.len());
            lines.push(Err(groups.len()));
            groups.push(Group {
                name: Alike::new(values.in_names(), &id),
                reason: Alike::new(values, &reason),
                narrows: out.narrows,
                definition,
            });
        }
    }
    let line = |line: Result<(String, String, bool), usize>| match line {
        Ok(line) => Some(line),
        Err(at) => groups.get(at).map(|group| {
            let (name, reason) = (group.name.written(), group.reason.written());
            let all = rows.get(&group.definition).map_or(0, BTreeSet::len);
            let reason = match group.reason.count() {
                1 => reason.to_owned(),
                count => format!("{count} of {all}: {reason}"),
            };
            (name.to_owned(), reason, group.narrows)
        }),
    };
    lines.into_iter().filter_map(line).collect()
}

/// Explains why a check was omitted, with the lines of the contract that decided.
pub fn omission(omitted: &Omitted) -> String {
    let lines = omitted.reasons.iter();
    let mut lines: Vec<(Option<&str>, usize)> = lines
        .filter_map(|r| Some((r.file.as_deref(), r.line?)))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let has_file = lines.iter().any(|(file, _)| file.is_some());
    let shown = lines.iter().map(|(file, line)| match has_file {
        true => super::place(*file, *line),
        false => line.to_string(),
    });
    let shown: Vec<String> = shown.collect();
    let at = match shown.as_slice() {
        [] => String::new(),
        all if has_file => format!(" ({})", all.join(", ")),
        [one] => format!(" (line {one})"),
        many => format!(" (lines {})", many.join(", ")),
    };
    format!("{}{at}", visible(&omitted.reason))
}

/// Returns the name that a plain enumeration has in JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
