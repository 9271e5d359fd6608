//! A text for an agent, in Markdown, that is not longer than an agent is given.

use crate::render::feedback::code;

/// The longest text that an agent is given, in bytes.
const MOST: usize = 8 << 10;
/// Limit of the list of failing checks, in bytes: their names come before any details.
pub(super) const NAMES: usize = 4 << 10;
/// Limit of any other list, in bytes.
pub(super) const LIST: usize = 2 << 10;
/// Bytes reserved for an item about changed files, which is added after the body.
const LATER: usize = 512;
/// The end of a text that was cut.
const CUT: &str = "\n(more was said: it does not fit here)\n";

/// A text for an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// The summary, in vplan's own words.
    pub head: String,
    /// The instructions, in Markdown, a line each.
    pub items: Vec<String>,
    /// The evidence, in Markdown.
    pub body: String,
    /// The command to run next.
    pub next: String,
}

impl Page {
    /// All of it in Markdown. Only the body is cut to fit.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", self.head);
        if !self.items.is_empty() {
            out.push('\n');
        }
        for item in &self.items {
            out.push_str(&format!("- {item}\n"));
        }
        let end = format!("\nRun next: {}\n", code(&self.next));
        if !self.body.is_empty() {
            out.push('\n');
            let room = MOST.saturating_sub(out.len() + end.len());
            out.push_str(&fit(&self.body, room));
        }
        out + &end
    }

    /// The bytes that are left for a body; some are kept for an item that is added later.
    pub(super) fn room(&self) -> usize {
        let bare = Self {
            body: String::new(),
            ..self.clone()
        };
        MOST.saturating_sub(bare.text().len() + LATER)
    }
}

/// As many lines of Markdown as fit; a fence that is open where they end is closed.
fn fit(body: &str, room: usize) -> String {
    if body.len() <= room {
        return body.to_owned();
    }
    let (mut out, mut fence) = (String::new(), None);
    for line in body.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        let closes = fence == Some(ticks) && line.len() == ticks;
        let opens = fence.is_none() && ticks >= 3;
        let reserved = CUT.len() + 2 + fence.unwrap_or(0).max(if opens { ticks } else { 0 });
        let left = room.saturating_sub(out.len() + reserved);
        if line.len() > left {
            if fence.is_some() && !closes {
                out.push_str(cut(line, left));
                out.push('\n');
            }
            break;
        }
        out.push_str(line);
        out.push('\n');
        fence = if closes {
            None
        } else {
            fence.or(opens.then_some(ticks))
        };
    }
    if let Some(ticks) = fence {
        out.push_str(&"`".repeat(ticks));
        out.push('\n');
    }
    out + CUT
}

/// As many of them as fit on a line, and how many more there are.
pub(super) fn list(items: &[String]) -> String {
    list_within(items, LIST)
}

/// As many of them as fit into so many bytes, and how many more there are.
pub(super) fn list_within(items: &[String], most: usize) -> String {
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        let item = cut(item, LIST / 4);
        if out.len() + item.len() > most {
            return out + &format!(" and {} more", items.len() - at);
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(item);
    }
    out
}

/// The first bytes of a text, at a character's edge.
pub(super) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_and_nothing_gets_out_of_its_fence() {
        for (line, fence) in [
            ("x".repeat(60), "```"),
            ("``` y".to_owned(), "````"),
            ("é".repeat(5000), "```"),
        ] {
            let body = format!(
                "## Failed\n\n{fence}text\n{}{fence}\n- last\n",
                format!("{line}\n").repeat(2_000)
            );
            let page = Page {
                head: "h".to_owned(),
                items: vec!["i".to_owned()],
                body,
                next: "vplan run".to_owned(),
            };
            let text = page.text();
            assert!(
                text.len() <= MOST && text.len() > MOST - 600,
                "{}",
                text.len()
            );
            assert!(
                text.ends_with("\nRun next: `vplan run`\n") && text.contains(CUT.trim()),
                "{text}"
            );
            assert_eq!(
                text.lines()
                    .filter(|l| l.trim_end_matches("text") == fence)
                    .count(),
                2,
                "{text}"
            );
        }
        assert_eq!(fit("short\n", 100), "short\n");
    }

    #[test]
    fn a_long_list_says_how_much_is_left_out() {
        let names: Vec<String> = (0..1000).map(|n| format!("`check-{n}`")).collect();
        let text = list(&names);
        assert!(
            text.len() < LIST + 20
                && text.starts_with("`check-0`, `check-1`")
                && text.ends_with(" more"),
            "{text}"
        );
    }
}
