//! Renders the result of formatting for people.

use crate::render::diff::unified;
use crate::render::style::count;
use crate::terminal::Terminal;
use vplan_engine::layout::{Formatting, Text};

pub(super) fn print(done: &Formatting, check: bool, terminal: &Terminal) {
    let items = &done.texts;
    let sound = done.is_sound();
    let to_stdout = items.iter().any(|i| i.file.is_none());
    if to_stdout && !check {
        // A filter gives back what it cannot read: an editor may put it in the place of the text.
        for item in items {
            let text = item
                .new
                .as_ref()
                .map_or(item.bytes.as_slice(), |new| new.as_bytes());
            terminal.print_with(|out| out.write_all(text));
        }
        return;
    }
    let differing: Vec<&Text> = items.iter().filter(|i| i.differs()).collect();
    if check {
        for item in &differing {
            terminal.say(&diff(item, terminal.color));
        }
    }
    if terminal.quiet || !sound || check && !differing.is_empty() {
        return;
    }
    if !check {
        differing
            .iter()
            .for_each(|item| terminal.say(&format!("{}: formatted\n", item.name)));
    }
    if differing.is_empty() {
        terminal.print(&format!(
            "{}, all formatted already\n",
            count(items.len(), "file")
        ));
    }
}

pub(super) fn diff(item: &Text, color: bool) -> String {
    let old = String::from_utf8_lossy(&item.bytes);
    unified(
        &item.name,
        &old,
        (item.new.as_deref().unwrap_or_default(), "formatted"),
        color,
    )
}
