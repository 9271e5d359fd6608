//! Reads `hk.pkl`: the steps that are literal. Pkl is a programming language; what is computed is not
//! read, and `hk check --all` is the one command then.

use super::Group;
use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Declarations, Reason, When};
use crate::declared::tree::Tree;

/// A step: a name and the entries of its block.
#[derive(Debug, Default)]
struct Step {
    name: String,
    line: u32,
    check: Option<(String, u32)>,
    fix: Option<(String, u32)>,
    globs: Vec<String>,
    dir: Option<String>,
    /// Whether an entry is not literal.
    computed: bool,
}

/// Reads a configuration.
pub(super) fn read(
    tree: &Tree,
    file: &RepoPath,
    belief: Belief,
    found: &mut Declarations,
) -> Result<(), String> {
    let text = tree.texts.get(file).ok_or_else(|| {
        let why = tree.unread.get(file).map(String::as_str);
        why.unwrap_or("it is not there").to_owned()
    })?;
    let steps = steps(text);
    let literal = steps.iter().all(|step| !step.computed) && !text.contains("Builtins.");
    if steps.is_empty() || !literal {
        let words = ["hk", "check", "--all"].map(str::to_owned).to_vec();
        Group::new(file, belief, "hk").words(tree, words, false, 1, found);
        return Ok(());
    }
    for step in steps {
        let mut group = Group::new(file, belief, step.name.as_str());
        if !step.globs.is_empty() && step.globs.iter().all(|g| Glob::parse(g).is_ok()) {
            group.when = When::Changed(step.globs.clone());
        }
        if let Some(dir) = &step.dir
            && let Ok(dir) = RepoPath::root().join(dir.as_bytes())
        {
            group.dir = dir;
        }
        let Some((text, line)) = step.check.as_ref() else {
            // Only a fixer: it is told, and judged by nothing.
            if let Some((text, line)) = &step.fix {
                let range = group.shell(tree, &filled(text), *line, found);
                let why = "a step without `check`";
                super::leave_out(found, range, Reason::Writes, why);
            }
            continue;
        };
        group.shell(tree, &filled(text), *line, found);
    }
    Ok(())
}

fn filled(text: &str) -> String {
    let mut out = text.to_owned();
    for form in ["{{files}}", "{{ files }}"] {
        for form in [format!("\"{form}\""), form.to_owned()] {
            out = out.replace(&form, "{changed}");
        }
    }
    // What is left of a template is a text that depends on hk.
    out.replace("{{", "${{")
}

/// The blocks `["name"] { … }` with an entry `check`, `fix` or `glob`.
fn steps(text: &str) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    let mut open: Option<(Step, usize)> = None;
    let mut depth = 0_usize;
    for (line, number) in text.lines().zip(1_u32..) {
        let trimmed = line.trim();
        if trimmed.starts_with("//") {
            continue;
        }
        if let Some(name) = header(trimmed) {
            // Blocks of steps are blocks, too: the innermost counts.
            open = Some((
                Step {
                    name: name.to_owned(),
                    line: number,
                    ..Step::default()
                },
                depth,
            ));
        }
        if let Some((step, _)) = &mut open {
            entry(step, trimmed, number);
        }
        for c in unquoted(trimmed).chars() {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    if let Some((_, at)) = &open
                        && depth <= *at
                        && let Some((step, _)) = open.take()
                        && (step.check.is_some() || step.fix.is_some() || step.computed)
                    {
                        all.push(step);
                    }
                }
                _ => {}
            }
        }
    }
    all.sort_by_key(|step| step.line);
    all
}

/// The name of `["name"] {`.
fn header(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[\"")?;
    let (name, rest) = rest.split_once("\"]")?;
    rest.trim_start().contains('{').then_some(name)
}

/// Reads the entries of a line; several may be behind `{` on it.
fn entry(step: &mut Step, line: &str, number: u32) {
    let body = match line.split_once('{') {
        Some((before, body)) if before.starts_with('[') => body,
        _ => line,
    };
    for part in body.split(';') {
        let Some((key, value)) = part.split_once('=') else {
            continue;
        };
        let value = value.trim().trim_end_matches('}').trim();
        match key.trim() {
            "check" => match literal(value) {
                Some(text) => step.check = Some((text, number)),
                None => step.computed = true,
            },
            "fix" => {
                step.fix = literal(value).map(|text| (text, number));
            }
            "dir" => step.dir = literal(value),
            "glob" => match list(value) {
                Some(globs) => step.globs = globs.iter().map(|g| anywhere(g)).collect(),
                None => step.computed = true,
            },
            _ => {}
        }
    }
}

/// A glob without a slash is about names.
fn anywhere(glob: &str) -> String {
    if glob.contains('/') {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    }
}

/// A string without interpolation.
fn literal(value: &str) -> Option<String> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let plain = !inner.contains("\\(") && !inner.starts_with('"');
    plain.then(|| inner.replace("\\\"", "\"").replace("\\\\", "\\"))
}

fn list(value: &str) -> Option<Vec<String>> {
    if let Some(one) = literal(value).filter(|one| !one.contains('"')) {
        return Some(vec![one]);
    }
    let inner = value.strip_prefix("List(")?.strip_suffix(')')?;
    inner.split(',').map(|part| literal(part.trim())).collect()
}

/// A line without what is inside quotes.
fn unquoted(line: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    line.chars()
        .filter(|c| {
            let quote = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            inside ^= quote;
            !inside && !quote
        })
        .collect()
}
