//! Reads `.pre-commit-config.yaml` and `prek.toml`.

use super::known::{self, KnownHook, Reads};
use super::{Group, pattern, split, types};
use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Declarations, Reason, State, When};
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::{Node, Value};

/// Flags that only mean something beside one that writes.
const BESIDE_FIX: &[&str] = &["--exit-non-zero-on-fix", "--exit-non-zero-on-format"];

/// Reads a configuration.
pub(super) fn read(
    tree: &Tree,
    file: &RepoPath,
    only: Option<&str>,
    belief: Belief,
    found: &mut Declarations,
) -> Result<(), String> {
    let syntax = if file.as_bytes().ends_with(b".toml") {
        Syntax::Toml
    } else {
        Syntax::YamlMerged
    };
    let document = tree.read(file, syntax)?;
    let root = &document.root;
    let ci = root.get("ci");
    let skipped = ci
        .and_then(|ci| ci.get("skip"))
        .map_or_else(Vec::new, words);
    let shared = Shared {
        tree,
        document: &document,
        exclude: root.get("exclude"),
        files: root.get("files"),
        stages: root.get("default_stages").map_or_else(Vec::new, words),
        belief,
    };
    for repository in root.get("repos").map_or(&[][..], Node::list) {
        let name = repository
            .get("repo")
            .and_then(Node::text)
            .unwrap_or_default();
        for hook in repository.get("hooks").map_or(&[][..], Node::list) {
            let Some(id) = hook.get("id").and_then(Node::text) else {
                continue;
            };
            let alias = hook.get("alias").and_then(Node::text);
            if only.is_some_and(|only| only != id && Some(only) != alias) {
                continue;
            }
            // pre-commit.ci runs all but what it is told to skip.
            let by_service = ci.is_some() && !skipped.iter().any(|s| s == id);
            let belief = if by_service {
                shared.belief.max(Belief::Started)
            } else {
                shared.belief
            };
            shared.hook(name, id, hook, belief, found);
        }
    }
    Ok(())
}

/// The settings for all hooks of a configuration.
struct Shared<'s> {
    tree: &'s Tree,
    document: &'s DataFile,
    exclude: Option<&'s Node>,
    files: Option<&'s Node>,
    stages: Vec<String>,
    belief: Belief,
}

impl Shared<'_> {
    fn hook(
        &self,
        repository: &str,
        id: &str,
        hook: &Node,
        belief: Belief,
        found: &mut Declarations,
    ) {
        let known = if matches!(repository, "local" | "meta" | "builtin") {
            None
        } else {
            known::of(id)
        };
        let text = |key: &str| hook.get(key).and_then(Node::text);
        let entry = text("entry").or(known.map(|known| known.entry));
        let arguments = match hook.get("args") {
            Some(node) => words(node),
            None => known.map_or_else(Vec::new, |known| {
                known.args.iter().map(|arg| (*arg).to_owned()).collect()
            }),
        };
        let line = self.document.line(hook.get("id").unwrap_or(hook));
        let mut group = Group::new(&self.document.file, belief, id);
        let stages = hook
            .get("stages")
            .map_or_else(|| self.stages.clone(), words);
        let at = |names: &[&str]| stages.iter().any(|stage| names.contains(&stage.as_str()));
        let here = stages.is_empty() || at(&["pre-commit", "commit", "manual"]);
        let pushes = at(&["pre-push", "push"]);
        group.tier = u8::from(!here && pushes);
        let mut out = None;
        if !here && !pushes {
            out = Some((Reason::Occasion, format!("only at {}", stages.join(", "))));
        } else if repository != "local" && known::FIXERS.contains(&id) {
            let why = "it writes, and has no form that only checks".to_owned();
            out = Some((Reason::Writes, why));
        } else if known::OWN.contains(&id) && entry.is_none() || repository == "meta" {
            out = Some((Reason::Hook, "covered by pre-commit itself".to_owned()));
        } else if let Some(language) = text("language") {
            out = match language {
                "pygrep" | "fail" => {
                    Some((Reason::Hook, "covered by pre-commit itself".to_owned()))
                }
                "docker" | "docker_image" => {
                    Some((Reason::Machine, "it runs in a container".to_owned()))
                }
                _ => None,
            };
        }
        let Some(entry) = entry else {
            let (reason, why) =
                out.unwrap_or_else(|| (Reason::Hook, format!("its command is in {repository}")));
            let all = std::iter::once(id.to_owned()).chain(arguments).collect();
            let range = group.words(self.tree, all, false, line, found);
            super::leave_out(found, range, reason, &why);
            return;
        };
        let mut all = split(entry);
        all.extend(arguments);
        if all.iter().any(|word| word.starts_with("--fix")) || known.is_some() {
            all.retain(|word| !BESIDE_FIX.contains(&word.as_str()));
        }
        let passes = match hook.get("pass_filenames").map(|node| &node.value) {
            Some(Value::Bool(passes)) => *passes,
            _ => known.is_none_or(|known| known.reads != Reads::Itself),
        };
        let whole = known.is_some_and(|known| known.reads == Reads::Whole) && passes;
        let (when, notes) = self.when(hook, known.as_ref());
        group.notes = notes;
        let needed = hook
            .get("additional_dependencies")
            .map_or_else(Vec::new, words);
        if !needed.is_empty() {
            group
                .notes
                .push(format!("the hook also installs {}", needed.join(", ")));
        }
        if whole {
            all.extend(self.folders(&all, hook));
        } else {
            group.when = when;
        }
        let always = matches!(
            hook.get("always_run").map(|node| &node.value),
            Some(Value::Bool(true))
        );
        if always && !passes {
            group.when = When::Unsaid;
        }
        let changed = passes && !whole && out.is_none();
        let range = group.words(self.tree, all, changed, line, found);
        if let Some((reason, why)) = out {
            for candidate in found.candidates.get_mut(range).into_iter().flatten() {
                if candidate.state == State::Open {
                    candidate.leave_out(reason, why.clone());
                }
            }
        }
    }

    /// The folders that a tool looks at as a whole, in place of the changed files.
    fn folders(&self, words: &[String], hook: &Node) -> Vec<String> {
        // pyright and ty find what they check by their configuration.
        let by_itself = words.first().is_some_and(|word| word != "mypy");
        let named = words.iter().skip(1).any(|word| {
            RepoPath::parse(word.as_bytes())
                .is_ok_and(|path| self.tree.files.contains(&path) || self.tree.has_folder(&path))
        });
        if by_itself || named {
            return Vec::new();
        }
        let globs = hook
            .get("files")
            .and_then(Node::text)
            .and_then(pattern::globs);
        let folders: Option<Vec<String>> = globs.and_then(|globs| {
            globs
                .iter()
                .map(|glob| {
                    let folder = glob.split_once("/**").map(|(folder, _)| folder)?;
                    (!folder.contains(['*', '?', '[', '{', '\\'])).then(|| folder.to_owned())
                })
                .collect()
        });
        folders.unwrap_or_else(|| vec![".".to_owned()])
    }

    /// The changes for which a hook runs, and what could not be said of them.
    fn when(&self, hook: &Node, known: Option<&KnownHook>) -> (When, Vec<String>) {
        let mut notes = Vec::new();
        let known_files = known
            .map(|known| known.files)
            .filter(|files| !files.is_empty());
        let own = hook.get("files");
        let files = match (own, known_files) {
            (Some(node), _) => globs(node),
            (None, Some(files)) => Some(pattern::globs(files).unwrap_or_default()),
            (None, None) => self.files.map_or_else(|| Some(all()), globs),
        };
        let files = files.unwrap_or_else(|| {
            notes.push("its `files` cannot be said as globs".to_owned());
            all()
        });
        let list = |key: &str| hook.get(key).map_or_else(Vec::new, words);
        let (types, mut types_or) = (list("types"), list("types_or"));
        if types.is_empty()
            && types_or.is_empty()
            && let Some(known) = known
        {
            types_or = known.types.iter().map(|tag| (*tag).to_owned()).collect();
        }
        let mut selected = match types::both(&types, &types_or) {
            types::Files::All => files,
            types::Files::Names(names) => {
                let tags: Vec<String> = types.iter().chain(&types_or).cloned().collect();
                let mut selected = types::within(&files, &names);
                for script in types::scripts(self.tree, &tags) {
                    let is = |glob: &String| Glob::parse(glob).is_ok_and(|g| g.matches(&script));
                    if files.iter().any(is) && !selected.iter().any(is) {
                        selected.extend(Glob::literal(&script).map(|g| g.text().to_owned()));
                    }
                }
                selected
            }
        };
        for tag in list("exclude_types") {
            if let types::Files::Names(names) = types::of(&tag) {
                selected.extend(
                    types::within(&all(), &names)
                        .iter()
                        .map(|g| format!("!{g}")),
                );
            }
        }
        for (node, whose) in [
            (self.exclude, "the top-level `exclude`"),
            (hook.get("exclude"), "its `exclude`"),
        ] {
            let Some(node) = node.filter(|node| !is_nothing(node)) else {
                continue;
            };
            match globs(node) {
                Some(globs) => selected.extend(globs.iter().map(|glob| format!("!{glob}"))),
                None => notes.push(format!("{whose} cannot be said as globs")),
            }
        }
        if selected == all() {
            return (When::Unsaid, notes);
        }
        (When::Changed(selected), notes)
    }
}

fn all() -> Vec<String> {
    vec!["**".to_owned()]
}

/// Whether an expression is the one that excludes nothing.
fn is_nothing(node: &Node) -> bool {
    matches!(node.text().map(str::trim), Some("^$" | ""))
}

/// The globs of `files` or `exclude`: an expression, or prek's `{ glob = … }`.
fn globs(node: &Node) -> Option<Vec<String>> {
    if let Some(globs) = node.get("glob") {
        return Some(words(globs));
    }
    match node.text().map(str::trim) {
        Some("") => Some(all()),
        Some(text) => pattern::globs(text),
        None => None,
    }
}

/// The texts of a list, or of a single text.
fn words(node: &Node) -> Vec<String> {
    match &node.value {
        Value::Text(text) => vec![text.clone()],
        Value::Whole(number) => vec![number.to_string()],
        Value::List(nodes) => nodes.iter().flat_map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Other | Value::Map(_) => Vec::new(),
    }
}
