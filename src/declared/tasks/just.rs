//! Recipes of a justfile, with their dependencies and parameters as far as they are literal.

use super::super::tree::Tree;
use super::kit::{self, Options, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// The names that just looks for, in its order.
pub const NAMES: [&str; 4] = ["justfile", ".justfile", "Justfile", "JUSTFILE"];

/// Options that take a value.
const VALUED: &[&str] = &[
    "-f",
    "--justfile",
    "-d",
    "--working-directory",
    "--shell",
    "--shell-arg",
    "--color",
    "--dotenv-path",
    "-E",
];

/// The most recipes that one command may need.
const MAX_RECIPES: usize = 200;
/// The longest value that is filled in, in bytes.
const MAX_VALUE: usize = 1 << 14;

/// A parameter of a recipe.
#[derive(Clone, Debug)]
struct Parameter {
    name: String,
    default: Option<String>,
    /// `*args` and `+args`: all that is left.
    variadic: bool,
}

/// A recipe.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    parameters: Vec<Parameter>,
    /// Names with arguments, as expressions.
    needs: Vec<(String, Vec<String>)>,
    lines: Vec<(u32, String)>,
    /// The line of its name.
    pub line: u32,
    /// Whether it runs elsewhere, or needs a person.
    odd: Option<&'static str>,
    /// Whether it runs where just was started.
    no_cd: bool,
}

impl Recipe {
    /// Whether it needs no argument.
    pub fn runs_alone(&self) -> bool {
        self.odd.is_none()
            && self
                .parameters
                .iter()
                .all(|p| p.variadic || p.default.is_some())
    }
}

/// A justfile.
#[derive(Clone, Debug, Default)]
pub struct Justfile {
    /// Its recipes.
    pub recipes: BTreeMap<String, Recipe>,
    aliases: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    exported: BTreeSet<String>,
    first: Option<String>,
}

/// Reads a justfile.
pub fn parse(text: &str) -> Justfile {
    let mut found = Justfile::default();
    let mut current: Option<String> = None;
    let mut odd = None;
    let mut no_cd = false;
    for (raw, number) in text.lines().zip(1_u32..) {
        let content = raw.trim();
        if raw.starts_with([' ', '\t']) {
            let recipe = current
                .as_ref()
                .and_then(|name| found.recipes.get_mut(name));
            if let Some(recipe) = recipe.filter(|_| !content.is_empty()) {
                recipe.lines.push((number, content.to_owned()));
            }
            continue;
        }
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        current = None;
        if content.starts_with('[') {
            if content.contains("confirm") {
                odd = Some("it asks a person");
            }
            for system in ["windows", "macos"] {
                if content.contains(system)
                    && !content.contains("unix")
                    && !content.contains("linux")
                {
                    odd = Some("it is for another system");
                }
            }
            no_cd |= content.contains("no-cd");
            continue;
        }
        let (word, rest) = content
            .split_once(char::is_whitespace)
            .unwrap_or((content, ""));
        match word {
            "set" | "import" | "import?" | "mod" | "mod?" => continue,
            "alias" => {
                if let Some((name, to)) = rest.split_once(":=") {
                    found
                        .aliases
                        .insert(name.trim().to_owned(), to.trim().to_owned());
                }
                continue;
            }
            _ => {}
        }
        let exports = word == "export";
        let declaration = if exports { rest } else { content };
        if let Some((name, value)) = declaration.split_once(":=")
            && !name.trim().contains([' ', '"', '\''])
        {
            if let Some(value) = evaluate(value.trim(), &found.variables) {
                found.variables.insert(name.trim().to_owned(), value);
                if exports {
                    found.exported.insert(name.trim().to_owned());
                }
            }
            continue;
        }
        if let Some((name, mut recipe)) = header(content.strip_prefix('@').unwrap_or(content)) {
            recipe.line = number;
            recipe.odd = odd.take();
            recipe.no_cd = std::mem::take(&mut no_cd);
            if found.first.is_none() {
                found.first = Some(name.clone());
            }
            // One for this system is not replaced by one for another.
            if recipe.odd == Some("it is for another system") && found.recipes.contains_key(&name) {
                continue;
            }
            found.recipes.insert(name.clone(), recipe);
            current = Some(name);
        }
    }
    found
}

/// Splits words outside of quotes and parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut depth) = (Vec::new(), String::new(), None, 0_usize);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if quote.is_none() && depth == 0 && c.is_whitespace() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Reads `name param default="x" *rest: need (other "arg")`.
fn header(line: &str) -> Option<(String, Recipe)> {
    let (mut quote, mut colon) = (None, None);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ':') => {
                colon = Some(at);
                break;
            }
            _ => {}
        }
    }
    let (left, right) = line.split_at_checked(colon?)?;
    let mut words = split(left).into_iter();
    let name = words.next()?;
    let plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
    if !name.chars().all(plain) {
        return None;
    }
    let parameters = words.map(|word| {
        let (variadic, word) = match word.strip_prefix(['*', '+']) {
            Some(rest) => (true, rest.to_owned()),
            None => (false, word),
        };
        let word = word.trim_start_matches('$');
        let (name, default) = match word.split_once('=') {
            Some((name, default)) => (name.to_owned(), Some(default.to_owned())),
            None => (word.to_owned(), None),
        };
        Parameter {
            name,
            default,
            variadic,
        }
    });
    let mut recipe = Recipe {
        parameters: parameters.collect(),
        ..Recipe::default()
    };
    let right = right.get(1..).unwrap_or_default();
    for need in split(right.split(" #").next().unwrap_or_default()) {
        if need == "&&" {
            continue;
        }
        let inner = need.strip_prefix('(').and_then(|n| n.strip_suffix(')'));
        let mut words = split(inner.unwrap_or(&need)).into_iter();
        if let Some(name) = words.next() {
            recipe.needs.push((name, words.collect()));
        }
    }
    Some((name, recipe))
}

/// The value of a literal expression: strings and variables, joined by `+` and `/`.
fn evaluate(text: &str, known: &BTreeMap<String, String>) -> Option<String> {
    let mut out = String::new();
    for word in split(text) {
        let quoted = ['"', '\'']
            .iter()
            .find_map(|q| word.strip_prefix(*q)?.strip_suffix(*q));
        match (word.as_str(), quoted) {
            (_, Some(text)) if !text.contains(['"', '\'']) => out.push_str(text),
            ("+", _) => {}
            ("/", _) => out.push('/'),
            (name, _) => out.push_str(known.get(name)?),
        }
        if out.len() > MAX_VALUE {
            return None;
        }
    }
    Some(out)
}

/// Fills `{{ … }}` in; what is not literal stays, and is nothing that a shell understands.
fn filled(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((inner, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            break;
        };
        match evaluate(inner.trim(), known) {
            Some(value) => out.push_str(&value),
            // For the reader: a variable that nothing sets.
            None => out.push_str("${{ just }}"),
        }
        rest = behind;
        if out.len() > kit::MAX_TEXT {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// Finds the lines of the recipes that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    if kit::program(words) != "just" {
        return None;
    }
    let options = Options::of(words.get(1..).unwrap_or_default(), VALUED);
    if options.has(&[
        "--list",
        "-l",
        "--fmt",
        "--dump",
        "--summary",
        "--evaluate",
        "--version",
    ]) {
        return None;
    }
    let found = match options.value(&["-f", "--justfile"]) {
        Some(name) => match dir.join(name.as_bytes()) {
            Ok(file) => {
                let at = file.join(b"..").unwrap_or_else(|_| RepoPath::root());
                Some((at, file))
            }
            Err(_) => {
                return Some(Body::Opaque(format!(
                    "`{name}` is outside of the repository"
                )));
            }
        },
        None => kit::nearest(tree, dir, &NAMES),
    };
    let Some((at, file)) = found else {
        return Some(Body::Opaque(format!("there is no justfile in `{dir}`")));
    };
    let Some(text) = tree.texts.get(&file) else {
        return Some(Body::Opaque(format!("`{file}` is not read")));
    };
    let mut parsed = parse(text);
    let mut rest = options.rest;
    while let Some((first, further)) = rest.split_first()
        && let Some((name, value)) = first.split_once('=')
    {
        parsed.variables.insert(name.to_owned(), value.to_owned());
        rest = further;
    }
    let mut walk = Walk {
        file: &file,
        root: &at,
        here: dir,
        parsed: &parsed,
        seen: BTreeSet::new(),
        lines: Vec::new(),
    };
    let asked = rest.to_vec();
    let asked = if asked.is_empty() {
        parsed.first.iter().cloned().collect()
    } else {
        asked
    };
    Some(match walk.all(&asked) {
        Ok(()) => Body::Lines(walk.lines),
        Err(why) => Body::Opaque(why),
    })
}

struct Walk<'a> {
    file: &'a RepoPath,
    root: &'a RepoPath,
    here: &'a RepoPath,
    parsed: &'a Justfile,
    seen: BTreeSet<(String, Vec<String>)>,
    lines: Vec<Line>,
}

impl Walk<'_> {
    /// Runs `recipe arg… recipe arg…`: each recipe takes as many words as it has parameters.
    fn all(&mut self, words: &[String]) -> Result<(), String> {
        let mut rest = words;
        while let Some((name, further)) = rest.split_first() {
            let recipe = self.recipe(name)?;
            let variadic = recipe.parameters.iter().any(|p| p.variadic);
            let most = if variadic {
                further.len()
            } else {
                recipe.parameters.len()
            };
            let (args, behind) = further.split_at(most.min(further.len()));
            self.run(name, args.to_vec(), 0)?;
            rest = behind;
        }
        Ok(())
    }

    fn recipe(&self, name: &str) -> Result<&Recipe, String> {
        let name = self.parsed.aliases.get(name).map_or(name, String::as_str);
        let found = self.parsed.recipes.get(name);
        found.ok_or_else(|| format!("`{}` has no recipe `{name}`", self.file))
    }

    fn run(&mut self, name: &str, args: Vec<String>, depth: usize) -> Result<(), String> {
        let name = self.parsed.aliases.get(name).map_or(name, String::as_str);
        if !self.seen.insert((name.to_owned(), args.clone())) {
            return Ok(());
        }
        if self.seen.len() > MAX_RECIPES || depth > 32 {
            return Err(format!("`{name}` needs too many recipes"));
        }
        let recipe = self.recipe(name)?.clone();
        if let Some(odd) = recipe.odd {
            return Err(format!("the recipe `{name}`: {odd}"));
        }
        let mut known = self.parsed.variables.clone();
        let mut given = args.into_iter();
        for parameter in &recipe.parameters {
            let value = if parameter.variadic {
                let all: Vec<String> = given.by_ref().collect();
                (!all.is_empty()).then(|| all.join(" "))
            } else {
                given.next()
            };
            let default = || match &parameter.default {
                Some(text) => evaluate(text, &known),
                None => parameter.variadic.then(String::new),
            };
            match value.or_else(default) {
                Some(value) => known.insert(parameter.name.clone(), value),
                None => known.remove(&parameter.name),
            };
        }
        for (need, expressions) in &recipe.needs {
            let values = expressions.iter().map(|e| evaluate(e, &known));
            let Some(values) = values.collect::<Option<Vec<String>>>() else {
                return Err(format!("an argument of `{need}` is not literal"));
            };
            self.run(need, values, depth + 1)?;
        }
        let dir = if recipe.no_cd { self.here } else { self.root };
        let exported = self.parsed.exported.iter();
        let env: BTreeMap<String, String> = exported
            .filter_map(|name| Some((name.clone(), known.get(name)?.clone())))
            .collect();
        // A recipe with `#!` is one script.
        let script = recipe
            .lines
            .first()
            .is_some_and(|(_, text)| text.starts_with("#!"));
        let mut texts: Vec<(u32, String)> = Vec::new();
        let mut goes_on = false;
        for (number, text) in &recipe.lines {
            let text = filled(text, &known);
            match texts.last_mut() {
                Some((_, last)) if script => {
                    last.push('\n');
                    last.push_str(&text);
                }
                Some((_, last)) if goes_on => {
                    last.truncate(last.trim_end_matches('\\').trim_end().len());
                    last.push(' ');
                    last.push_str(&text);
                }
                _ => texts.push((*number, text)),
            }
            goes_on = texts.last().is_some_and(|(_, text)| text.ends_with('\\'));
        }
        for (number, text) in texts {
            let plain = if script {
                &text
            } else {
                text.trim_start_matches(['@', '-'])
            };
            let ignored = !script
                && text.starts_with(['@', '-'])
                && text.split(plain).next().is_some_and(|m| m.contains('-'));
            if plain.trim().is_empty() || !script && plain.starts_with('#') {
                continue;
            }
            let mut one = line(self.file, number, name, plain.to_owned(), dir);
            one.env.clone_from(&env);
            one.ignored = ignored;
            self.lines.push(one);
        }
        if self.lines.len() > kit::MAX_LINES {
            return Err(format!(
                "`{name}` runs more than {} commands",
                kit::MAX_LINES
            ));
        }
        Ok(())
    }
}
