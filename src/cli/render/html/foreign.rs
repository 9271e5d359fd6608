//! Makes foreign text harmless for a page.

use maud::{Markup, PreEscaped};
use vplan_base::inert::inert;
use vplan_base::markup::escape;
use vplan_base::word::visible;

/// Foreign text on one line, for an element's content or a quoted attribute.
pub(super) fn text(foreign: &str) -> Markup {
    PreEscaped(escape(&visible(foreign)))
}

/// Foreign text of several lines.
pub(super) fn lines(foreign: &str) -> Markup {
    PreEscaped(escape(&inert(foreign.as_bytes())))
}

/// A moment for people: `2026-01-02 03:04:05 UTC` of RFC 3339.
pub(super) fn when(at: &str) -> String {
    match at.split_once('T') {
        Some((day, time)) if at.ends_with('Z') => {
            format!("{day} {} UTC", time.get(..8).unwrap_or(time))
        }
        _ => at.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_text() {
        assert_eq!(
            text("<script>alert(\"1\")</script>&'").0,
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&apos;"
        );
        assert_eq!(
            lines("a\n</pre><b>\u{1b}[31m").0,
            "a\n&lt;/pre&gt;&lt;b&gt;"
        );
        assert!(!text("a\nb\u{202e}").0.contains(['\n', '\u{202e}']));
    }

    #[test]
    fn moments() {
        assert_eq!(when("2026-01-02T03:04:05.678Z"), "2026-01-02 03:04:05 UTC");
        assert_eq!(when("yesterday"), "yesterday");
    }
}
