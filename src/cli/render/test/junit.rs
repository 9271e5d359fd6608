//! The results of a contract's tests as JUnit XML, for servers that collect it.

use super::{Results, what};
use crate::base::source::Source;
use crate::base::span::SourceId;
use crate::base::word::is_unsafe_to_show;
use std::fmt::Write as _;

/// One `testsuite` for each file, one `testcase` for each test. Nothing depends on the clock, so there is no time in it.
#[must_use]
pub fn document(results: &Results<'_>) -> String {
    let mut files: Vec<SourceId> = results.expects.iter().map(|e| e.place.source).collect();
    files.dedup();
    let ran = results.verdicts.is_some();
    let skipped = if ran { 0 } else { results.expects.len() };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (tests, failed) = (results.expects.len(), results.failed());
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<testsuites name=\"vplan test\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">"
    );
    for file in files {
        let name = escape(results.sources.get(file).map_or("", Source::name));
        let of_file: Vec<usize> =
            results.expects.iter().enumerate().filter(|(_, e)| e.place.source == file).map(|(i, _)| i).collect();
        let verdict = |i: &usize| results.verdicts.and_then(|v| v.get(*i));
        let failures = of_file.iter().filter(|i| verdict(i).is_some_and(|v| !v.passed())).count();
        let skipped = if ran { 0 } else { of_file.len() };
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">",
            of_file.len()
        );
        for i in &of_file {
            let Some(expect) = results.expects.get(*i) else { continue };
            let title = escape(&expect.title);
            let _ = write!(
                out,
                "    <testcase classname=\"{name}\" name=\"{title}\" file=\"{name}\" line=\"{}\"",
                expect.line
            );
            let Some(verdict) = verdict(i) else {
                out.push_str(">\n      <skipped/>\n    </testcase>\n");
                continue;
            };
            if verdict.passed() {
                out.push_str("/>\n");
                continue;
            }
            let lines: Vec<String> = verdict
                .differences
                .iter()
                .map(|d| format!("{}: `{}` {}: {}", d.assertion.keyword(), d.name, what(d), d.why))
                .chain(verdict.refused.iter().map(|r| r.message.clone()))
                .collect();
            let first = escape(lines.first().map_or("", String::as_str));
            let plan = if verdict.plan.is_empty() { "nothing".to_owned() } else { verdict.plan.join(" ") };
            let body = escape(&format!("{}\nthe plan is: {plan}", lines.join("\n"))).replace("&#10;", "\n");
            let _ = writeln!(
                out,
                ">\n      <failure type=\"expect\" message=\"{first}\">{body}</failure>\n    </testcase>"
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Text for an attribute or an element. What XML 1.0 cannot hold at all, or a reader would not see, is
/// shown as vplan shows it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if is_unsafe_to_show(c) => out.extend(c.escape_unicode()),
            '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => {
                out.push(c);
            }
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping() {
        for (text, want) in [
            ("a <b> & \"c\" 'd'", "a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;"),
            ("]]>", "]]&gt;"),
            ("a\nb\tc\r", "a&#10;b&#9;c&#13;"),
            ("é日\u{10000}", "é日\u{10000}"),
            ("\u{1b}[2J\u{7f}\u{fffe}", "\\u{1b}[2J\\u{7f}\\u{fffe}"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(escape(text), want);
        }
    }
}
