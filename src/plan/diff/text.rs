//! Writes a comparison as text for people.

use super::difference::{At, Class, ContractDiff, Difference, DifferingRequest};
use super::plans::{Changed, Field, Members, PlanDiff};
use crate::explain::{Mark, Style};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use vplan_base::command::quote;
use vplan_base::word::{first_of, visible};

/// The longest value that a line shows, in characters.
const LONGEST: usize = 100;

/// A text that grows line by line.
struct Lines<'a> {
    style: &'a dyn Style,
    text: String,
}

impl Lines<'_> {
    fn add(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn painted(&mut self, indent: usize, mark: Mark, line: &str) {
        self.add(indent, &self.style.paint(mark, line));
    }

    /// Adds a line of what one side has and the other has not.
    fn signed(&mut self, mark: Mark, sign: char, what: &str) {
        self.painted(2, mark, &format!("{sign} {what}"));
    }

    fn heading(&mut self, what: &str, name: &str) {
        let name = self.style.paint(Mark::Id, &visible(name));
        self.add(2, &format!("{what} {name}"));
    }
}

/// Formats a comparison of contracts.
pub fn contracts(diff: &ContractDiff, style: &dyn Style) -> String {
    let text = String::new();
    let mut out = Lines { style, text };
    let mut told = BTreeSet::new();
    for class in Class::ALL {
        let list = diff.differences.iter().filter(|d| d.class == class);
        let list: Vec<&Difference> = list.collect();
        if list.is_empty() {
            continue;
        }
        let (heading, mark) = head(class);
        out.painted(0, mark, heading);
        for same in list.chunk_by(|a, b| is_row_of_same(a, b)) {
            one(same, &mut out);
            // A request is shown at the first difference that it explains; that of the first row
            // represents the others.
            let request = (same.first())
                .and_then(|difference| difference.request)
                .filter(|_| matches!(class, Class::Weakens | Class::Strengthens));
            if let Some((number, asked)) = request.and_then(|n| Some((n, diff.requests.get(n)?))) {
                let name = format!("request {}", number + 1);
                if told.insert(number) {
                    out.painted(4, Mark::Dim, &format!("{name}:"));
                    for line in test(asked).lines() {
                        out.painted(6, Mark::Command, line);
                    }
                } else {
                    out.painted(4, Mark::Dim, &format!("{name} shows it"));
                }
            }
        }
        out.add(0, "");
    }
    out.add(0, &summary(diff));
    out.text
}

/// Formats a request as a test, or as a comment when it cannot be one.
fn test(asked: &DifferingRequest) -> String {
    asked.expect.clone().unwrap_or_else(|| {
        let files = asked.changed.iter();
        let files = files.map(|f| format!("# changed {}\n", visible(f.to_named())));
        let files: String = files.collect();
        format!("# no test can name this path: it is not UTF-8\n{files}")
    })
}

/// Returns the last line: how many of each class.
pub fn summary(diff: &ContractDiff) -> String {
    if diff.differences.is_empty() {
        return "the contracts mean the same".to_owned();
    }
    let words = Class::ALL.map(|class| (diff.count(class), class));
    let accepted = diff.differences.iter().filter(|d| d.accepted).count();
    let word = |(count, class)| {
        let end = if count == 1 { "s" } else { "" };
        match class {
            Class::Undecided if accepted > 0 => {
                format!("{count} not decided ({accepted} accepted)")
            }
            Class::Weakens => format!("{count} weaken{end}"),
            Class::Undecided => format!("{count} not decided"),
            Class::Strengthens => format!("{count} strengthen{end}"),
            Class::Changes => format!("{count} other"),
            Class::Cosmetic => format!("{count} cosmetic"),
        }
    };
    let words = words.into_iter().filter(|(count, _)| *count > 0);
    Vec::from_iter(words.map(word)).join(", ")
}

/// Returns how a class is headed and painted.
fn head(class: Class) -> (&'static str, Mark) {
    match class {
        Class::Weakens => ("weakens:", Mark::Bad),
        Class::Undecided => ("not decided:", Mark::Warn),
        Class::Strengthens => ("strengthens:", Mark::Good),
        Class::Changes => ("changes:", Mark::Title),
        Class::Cosmetic => ("cosmetic:", Mark::Title),
    }
}

/// Whether two differences are the same of two checks that one definition makes.
fn is_row_of_same(a: &Difference, b: &Difference) -> bool {
    let is_check = |d: &Difference| d.subject.starts_with("check ") && d.accept.is_none();
    is_check(a)
        && is_check(b)
        && (&a.old, &a.new, &a.what, &a.why) == (&b.old, &b.new, &b.what, &b.why)
}

/// Maximum number of checks that a line names.
const NAMED: usize = 6;

/// Writes a difference of some checks of one definition, most often of one.
fn one(same: &[&Difference], out: &mut Lines<'_>) {
    let Some((difference, others)) = same.split_first() else {
        return;
    };
    let others = others
        .iter()
        .map(|d| d.subject.trim_start_matches("check "));
    let names = std::iter::once(difference.subject.as_str()).chain(others);
    let subject = first_of(names.map(str::to_owned), NAMED);
    let place = |at: &At| format!("{}:{}", visible(&at.file), at.line);
    let places = match (&difference.old, &difference.new) {
        (Some(old), Some(new)) => format!("{} -> {}", place(old), place(new)),
        (Some(old), None) => format!("{} -> nothing", place(old)),
        (None, Some(new)) => format!("nothing -> {}", place(new)),
        (None, None) => String::new(),
    };
    let subject = out.style.paint(Mark::Id, &subject);
    out.add(2, &format!("{subject}: {}", difference.what));
    if let Some(why) = &difference.why {
        out.add(4, why);
    }
    if !places.is_empty() {
        out.painted(4, Mark::Dim, &places);
    }
    match &difference.accept {
        Some(_) if difference.accepted => out.painted(4, Mark::Good, "accepted"),
        Some(accept) => {
            let value = quote(&accept.to_string().into());
            let way = format!("a maintainer accepts it with --accept {value}");
            out.painted(4, Mark::Dim, &way);
        }
        None => {}
    }
}

/// Formats a comparison of plans.
pub fn plans(diff: &PlanDiff, style: &dyn Style) -> String {
    if diff.equal {
        let digest = diff.new.as_ref();
        let digest = digest.map_or(String::new(), |d| format!(": {d}"));
        return format!("the plans are the same{digest}\n");
    }
    let text = String::new();
    let mut out = Lines { style, text };
    if let (Some(old), Some(new)) = (&diff.old, &diff.new) {
        out.painted(0, Mark::Dim, &format!("{old} -> {new}"));
    }
    members("step", &diff.steps, &mut out);
    for changed in &diff.reasons {
        out.heading("reasons of", &changed.name);
        for field in &changed.fields {
            let [old, new] = [&field.old, &field.new].map(|side| reasons(side.as_ref()));
            for lost in old.iter().filter(|r| !new.contains(r)) {
                out.signed(Mark::Bad, '-', lost);
            }
            for gained in new.iter().filter(|r| !old.contains(r)) {
                out.signed(Mark::Good, '+', gained);
            }
            if old.len() == new.len() && old.iter().all(|r| new.contains(r)) {
                out.add(4, "in another order");
            }
        }
    }
    members("left out", &diff.omitted, &mut out);
    members("tier", &diff.tiers, &mut out);
    members("fact", &diff.facts, &mut out);
    for field in &diff.other {
        one_field(field, 2, &mut out);
    }
    let counts = [
        (diff.steps.added.len(), "added"),
        (diff.steps.removed.len(), "removed"),
        (diff.steps.changed.len(), "changed"),
        (diff.steps.moved.len(), "moved"),
    ];
    let counts = counts.iter().filter(|(n, _)| *n > 0);
    let counts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
    let steps = match counts.is_empty() {
        true => "the same".to_owned(),
        false => counts.join(", "),
    };
    out.add(0, &format!("\nsteps: {steps}"));
    out.text
}

fn members(what: &str, members: &Members, out: &mut Lines<'_>) {
    let named = |name: &String| format!("{what} {}", visible(name));
    for name in &members.removed {
        out.signed(Mark::Bad, '-', &named(name));
    }
    for name in &members.added {
        out.signed(Mark::Good, '+', &named(name));
    }
    for Changed { fields, name } in &members.changed {
        out.heading(what, name);
        fields.iter().for_each(|field| one_field(field, 4, out));
    }
    for name in &members.moved {
        out.signed(Mark::Warn, '~', &format!("{} moved", named(name)));
    }
}

fn one_field(field: &Field, indent: usize, out: &mut Lines<'_>) {
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), format_value);
    let (old, new) = (side(&field.old), side(&field.new));
    out.add(indent, &format!("{} {old} -> {new}", field.field));
}

/// Formats a value on one line, cut when it is long.
fn format_value(value: &Value) -> String {
    let text = visible(value.to_string());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

fn reasons(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array);
    list.into_iter().flatten().map(format_value).collect()
}
