//! The idiom "run all, then fail": `failed=; a || failed=1; b || failed=1; test -z "$failed"`. Each
//! command before `|| failed=1` counts.

/// Takes the idiom out of a script, where its end is there. Every line stays where it is.
#[must_use]
pub fn without(text: &str) -> String {
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| noted(line).map(|(_, name)| name))
        .collect();
    let mut kept: Vec<String> = text.lines().map(str::to_owned).collect();
    for name in names {
        // Without the end that fails, no command can: its `||` stays, and says so.
        let Some(end) = kept.iter().rposition(|line| ends(line, name)) else {
            continue;
        };
        for line in kept.iter_mut().take(end) {
            if let Some((command, set)) = noted(line)
                && set == name
            {
                *line = command.to_owned();
            } else if begins(line, name) {
                line.clear();
            }
        }
        if let Some(line) = kept.get_mut(end) {
            line.clear();
        }
        // `if [ … ]; then`, `exit 1`, `fi` on lines of their own.
        let mut rest = kept.iter_mut().skip(end + 1);
        let body: Vec<&mut String> = rest.by_ref().take(4).collect();
        let closes = body.iter().position(|line| line.trim() == "fi");
        let only_exits = |line: &str| {
            let line = line.trim();
            line.is_empty()
                || line == "then"
                || line == "fi"
                || line.starts_with("exit")
                || line.starts_with("echo")
        };
        if let Some(closes) = closes
            && text.lines().nth(end).is_some_and(|l| l.contains("if "))
            && body.iter().take(closes + 1).all(|line| only_exits(line))
        {
            for line in body.into_iter().take(closes + 1) {
                line.clear();
            }
        }
    }
    let mut out = kept.join("\n");
    if text.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The command of `COMMAND || NAME=1`, and the name.
fn noted(line: &str) -> Option<(&str, &str)> {
    let (command, after) = line.rsplit_once("||")?;
    let after = after.trim();
    let inner = after
        .strip_prefix('{')
        .and_then(|a| a.strip_suffix('}'))
        .map(|inner| {
            inner
                .split(';')
                .map(str::trim)
                .find(|part| part.contains('=') && !part.starts_with("echo"))
                .unwrap_or_default()
        })
        .unwrap_or(after);
    let (name, value) = inner.split_once('=')?;
    let name_is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let value = value.trim_matches(['"', '\'']);
    let sets = matches!(value, "1" | "true" | "yes" | "$?");
    let plain = !command.trim().is_empty() && !command.trim_start().starts_with('#');
    (name_is_plain && sets && plain).then_some((command.trim_end(), name))
}

/// Whether a line only gives the name a value before all.
fn begins(line: &str, name: &str) -> bool {
    let line = line.trim().trim_end_matches(';');
    line.strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='))
        .is_some_and(|value| matches!(value.trim_matches(['"', '\'']), "" | "0" | "false"))
}

/// Whether a line fails when the name was set.
fn ends(line: &str, name: &str) -> bool {
    let line = line.trim().trim_end_matches(';');
    let compact: String = line
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '{' | '}'))
        .collect();
    let value = format!("${name}");
    let tests = [
        format!("test -z {value}"),
        format!("[ -z {value} ]"),
        format!("[[ -z {value} ]]"),
        format!("[ {value} -eq 0 ]"),
        format!("[ {value} = 0 ]"),
        format!("[ {value} == 0 ]"),
        format!("[[ {value} -eq 0 ]]"),
        format!("[[ {value} == 0 ]]"),
        format!("test {value} -eq 0"),
        format!("test {value} = 0"),
        format!("exit {value}"),
        format!("exit ${{{name}:-0}}").replace(['{', '}'], ""),
    ];
    if tests.contains(&compact) {
        return true;
    }
    let opens = [
        format!("if [ -n {value} ]"),
        format!("if [[ -n {value} ]]"),
        format!("if [ {value} -ne 0 ]"),
        format!("if [[ {value} -ne 0 ]]"),
        format!("if [ {value} != 0 ]"),
        format!("if [ {value} = 1 ]"),
        format!("if [ {value} -eq 1 ]"),
        format!("if [[ {value} -eq 1 ]]"),
        format!("if test -n {value}"),
    ];
    let exits = |rest: &str| {
        let rest = rest.trim_start_matches([';', ' ']);
        rest.is_empty()
            || rest == "then"
            || rest.starts_with("then") && rest.contains("exit 1") && rest.ends_with("fi")
    };
    opens
        .iter()
        .any(|open| compact.strip_prefix(open.as_str()).is_some_and(exits))
        || [
            format!("[ -n {value} ] && exit 1"),
            format!("[ {value} -ne 0 ] && exit 1"),
            format!("[ -z {value} ] || exit 1"),
            format!("[ {value} -eq 0 ] || exit 1"),
            format!("test -z {value} || exit 1"),
        ]
        .contains(&compact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idiom_is_taken_out_where_it_fails_in_the_end() {
        for (text, want) in [
            (
                "failed=\na || failed=1\nb c || failed=1\ntest -z \"$failed\"\n",
                "\na\nb c\n\n",
            ),
            ("rc=0\na || rc=$?\nexit $rc", "\na\n"),
            (
                "a || { echo no; bad=1; }\nif [ -n \"$bad\" ]; then exit 1; fi",
                "a\n",
            ),
            (
                "e=0\na || e=1\nif [ $e -ne 0 ]; then\n  echo bad\n  exit 1\nfi\nb",
                "\na\n\n\n\n\nb",
            ),
            // Without an end nothing fails.
            ("a || failed=1\nb", "a || failed=1\nb"),
            ("a || true", "a || true"),
            // What comes after the end is not covered by it.
            ("a || f=1\ntest -z \"$f\"\nb || f=1", "a\n\nb || f=1"),
            ("", ""),
        ] {
            assert_eq!(without(text), want, "{text}");
            assert_eq!(
                without(text).lines().count(),
                text.lines().count() - usize::from(!text.ends_with('\n') && want.ends_with('\n')),
                "{text}"
            );
        }
    }
}
