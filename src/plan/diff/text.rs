//! Writes a comparison as text for people.

use super::difference::{At, Class, ContractDiff, Difference, DifferingRequest};
use super::plans::{Changed, Field, Members, PlanDiff};
use crate::explain::{Mark, Style};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use vplan_base::command::quote;
use vplan_base::word::visible;

/// The longest value that a line shows, in characters.
const LONGEST: usize = 100;

/// Formats a comparison of contracts.
#[must_use]
pub fn contracts(diff: &ContractDiff, style: &dyn Style) -> String {
    let mut text = String::new();
    let mut told = BTreeSet::new();
    for class in Class::ALL {
        let list: Vec<&Difference> = diff
            .differences
            .iter()
            .filter(|d| d.class == class)
            .collect();
        if list.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", style.paint(mark(class), heading(class)));
        for same in list.chunk_by(|a, b| is_row_of_same(a, b)) {
            one(same, style, &mut text);
            // A request is shown at the first difference that it explains; that of the first row
            // represents the others.
            let request = (same.first())
                .and_then(|difference| difference.request)
                .filter(|_| matches!(class, Class::Weakens | Class::Strengthens));
            if let Some((number, asked)) = request.and_then(|n| Some((n, diff.requests.get(n)?))) {
                if told.insert(number) {
                    let _ = writeln!(
                        text,
                        "    {}",
                        style.paint(Mark::Dim, &format!("request {}:", number + 1))
                    );
                    for line in test(asked).lines() {
                        let _ = writeln!(text, "      {}", style.paint(Mark::Command, line));
                    }
                } else {
                    let _ = writeln!(
                        text,
                        "    {}",
                        style.paint(Mark::Dim, &format!("request {} shows it", number + 1))
                    );
                }
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(diff));
    text
}

/// Formats a request as a test, or as a comment when it cannot be one.
fn test(asked: &DifferingRequest) -> String {
    asked.expect.clone().unwrap_or_else(|| {
        let files = asked
            .changed
            .iter()
            .map(|f| format!("# changed {}\n", visible(f.to_named())));
        format!(
            "# no test can name this path: it is not UTF-8\n{}",
            files.collect::<String>()
        )
    })
}

/// Returns the last line: how many of each class.
#[must_use]
pub fn summary(diff: &ContractDiff) -> String {
    if diff.differences.is_empty() {
        return "the contracts mean the same".to_owned();
    }
    let words = Class::ALL
        .iter()
        .map(|class| (diff.count(*class), class))
        .filter(|(count, _)| *count > 0);
    let accepted = diff.differences.iter().filter(|d| d.accepted).count();
    let words: Vec<String> = words
        .map(|(count, class)| match class {
            Class::Undecided if accepted > 0 => {
                format!("{count} not decided ({accepted} accepted)")
            }
            Class::Weakens => format!("{count} weaken{}", if count == 1 { "s" } else { "" }),
            Class::Undecided => format!("{count} not decided"),
            Class::Strengthens => {
                format!("{count} strengthen{}", if count == 1 { "s" } else { "" })
            }
            Class::Changes => format!("{count} other"),
            Class::Cosmetic => format!("{count} cosmetic"),
        })
        .collect();
    words.join(", ")
}

fn heading(class: Class) -> &'static str {
    match class {
        Class::Weakens => "weakens:",
        Class::Undecided => "not decided:",
        Class::Strengthens => "strengthens:",
        Class::Changes => "changes:",
        Class::Cosmetic => "cosmetic:",
    }
}

fn mark(class: Class) -> Mark {
    match class {
        Class::Weakens => Mark::Bad,
        Class::Undecided => Mark::Warn,
        Class::Strengthens => Mark::Good,
        Class::Changes | Class::Cosmetic => Mark::Title,
    }
}

/// Whether two differences are the same of two checks that one definition makes.
fn is_row_of_same(a: &Difference, b: &Difference) -> bool {
    let is_check = |d: &Difference| d.subject.starts_with("check ") && d.accept.is_none();
    is_check(a)
        && is_check(b)
        && (&a.old, &a.new, &a.what, &a.why) == (&b.old, &b.new, &b.what, &b.why)
}

/// The most checks that a line names.
const NAMED: usize = 6;

/// Writes a difference of some checks of one definition, most often of one.
fn one(same: &[&Difference], style: &dyn Style, text: &mut String) {
    let Some((difference, others)) = same.split_first() else {
        return;
    };
    let mut subject = difference.subject.clone();
    for other in others.iter().take(NAMED - 1) {
        subject.push_str(", ");
        subject.push_str(other.subject.trim_start_matches("check "));
    }
    if others.len() >= NAMED {
        subject.push_str(&format!(" and {} more", others.len() + 1 - NAMED));
    }
    let place = |at: &At| format!("{}:{}", visible(&at.file), at.line);
    let places = match (&difference.old, &difference.new) {
        (Some(old), Some(new)) => format!("{} -> {}", place(old), place(new)),
        (Some(old), None) => format!("{} -> nothing", place(old)),
        (None, Some(new)) => format!("nothing -> {}", place(new)),
        (None, None) => String::new(),
    };
    let _ = writeln!(
        text,
        "  {}: {}",
        style.paint(Mark::Id, &subject),
        difference.what
    );
    if let Some(why) = &difference.why {
        let _ = writeln!(text, "    {why}");
    }
    if !places.is_empty() {
        let _ = writeln!(text, "    {}", style.paint(Mark::Dim, &places));
    }
    match &difference.accept {
        Some(_) if difference.accepted => {
            let _ = writeln!(text, "    {}", style.paint(Mark::Good, "accepted"));
        }
        Some(accept) => {
            let value = quote(&accept.to_string().into());
            let way = format!("a maintainer accepts it with --accept {value}");
            let _ = writeln!(text, "    {}", style.paint(Mark::Dim, &way));
        }
        None => {}
    }
}

/// Formats a comparison of plans.
#[must_use]
pub fn plans(diff: &PlanDiff, style: &dyn Style) -> String {
    if diff.equal {
        let digest = diff
            .new
            .as_ref()
            .map_or(String::new(), |d| format!(": {d}"));
        return format!("the plans are the same{digest}\n");
    }
    let mut text = String::new();
    if let (Some(old), Some(new)) = (&diff.old, &diff.new) {
        let _ = writeln!(
            text,
            "{}",
            style.paint(Mark::Dim, &format!("{old} -> {new}"))
        );
    }
    members("step", &diff.steps, style, &mut text);
    for changed in &diff.reasons {
        heading_of("reasons of", &changed.name, style, &mut text);
        for field in &changed.fields {
            let (old, new) = (reasons(field.old.as_ref()), reasons(field.new.as_ref()));
            old.iter()
                .filter(|r| !new.contains(r))
                .for_each(|r| line(&mut text, style, Mark::Bad, '-', r));
            new.iter()
                .filter(|r| !old.contains(r))
                .for_each(|r| line(&mut text, style, Mark::Good, '+', r));
            if old.len() == new.len() && old.iter().all(|r| new.contains(r)) {
                let _ = writeln!(text, "    in another order");
            }
        }
    }
    members("left out", &diff.omitted, style, &mut text);
    members("tier", &diff.tiers, style, &mut text);
    members("fact", &diff.facts, style, &mut text);
    diff.other
        .iter()
        .for_each(|field| one_field(field, "  ", &mut text));
    let counts = [
        (diff.steps.added.len(), "added"),
        (diff.steps.removed.len(), "removed"),
        (diff.steps.changed.len(), "changed"),
        (diff.steps.moved.len(), "moved"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    let steps = if counts.is_empty() {
        "the same".to_owned()
    } else {
        counts.join(", ")
    };
    let _ = writeln!(text, "\nsteps: {steps}");
    text
}

fn members(what: &str, members: &Members, style: &dyn Style, text: &mut String) {
    let named = |name: &String| format!("{what} {}", visible(name));
    members
        .removed
        .iter()
        .for_each(|name| line(text, style, Mark::Bad, '-', &named(name)));
    members
        .added
        .iter()
        .for_each(|name| line(text, style, Mark::Good, '+', &named(name)));
    for Changed { fields, name } in &members.changed {
        heading_of(what, name, style, text);
        fields
            .iter()
            .for_each(|field| one_field(field, "    ", text));
    }
    members.moved.iter().for_each(|name| {
        line(
            text,
            style,
            Mark::Warn,
            '~',
            &format!("{} moved", named(name)),
        )
    });
}

fn heading_of(what: &str, name: &str, style: &dyn Style, text: &mut String) {
    let _ = writeln!(text, "  {what} {}", style.paint(Mark::Id, &visible(name)));
}

fn line(text: &mut String, style: &dyn Style, mark: Mark, sign: char, what: &str) {
    let _ = writeln!(text, "  {}", style.paint(mark, &format!("{sign} {what}")));
}

fn one_field(field: &Field, indent: &str, text: &mut String) {
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), shown);
    let _ = writeln!(
        text,
        "{indent}{} {} -> {}",
        field.field,
        side(&field.old),
        side(&field.new)
    );
}

/// Formats a value on one line, cut when it is long.
fn shown(value: &Value) -> String {
    let text = visible(value.to_string());
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

fn reasons(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(shown)
        .collect()
}
