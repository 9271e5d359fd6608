//! The files of a repository that say how it is verified, as read before anything is decided.

use crate::base::diagnostic::Diagnostics;
use crate::base::path::RepoPath;
use crate::base::source::{Source, Sources};
use crate::base::span::SourceId;
use crate::front::tree::{self, Node};
use std::collections::{BTreeMap, BTreeSet};

/// A repository: its tracked files by path, and the text of those that may declare something.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All tracked files.
    pub files: BTreeSet<RepoPath>,
    /// The text of configurations, manifests and scripts: at most 1 MiB each.
    pub texts: BTreeMap<RepoPath, String>,
    /// Files that would have been read, with the reason why they were not.
    pub unread: BTreeMap<RepoPath, String>,
    /// `OWNER/NAME` of the repository, from the URL of `origin`.
    pub slug: Option<String>,
    /// The default branch, as `origin/HEAD` or the current branch names it.
    pub default_branch: Option<String>,
    /// Prose (`*.md`, LICENSE …) that a source file names inside quotes or embeds.
    pub mentioned: BTreeSet<RepoPath>,
}

/// A configuration that was read as data with places.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its path.
    pub file: RepoPath,
    /// Its value.
    pub root: Node,
    sources: Sources,
}

impl Document {
    /// The line of a value, from 1.
    #[must_use]
    pub fn line(&self, node: &Node) -> u32 {
        self.line_of(node.place)
    }

    /// The line of a place, from 1.
    #[must_use]
    pub fn line_of(&self, place: crate::base::span::Place) -> u32 {
        u32::try_from(self.sources.position(place).line).unwrap_or(u32::MAX)
    }

    /// The lines of a text scalar's own lines, from 1: a block scalar (`|`, `>`) begins on the line
    /// after its key.
    #[must_use]
    pub fn text_line(&self, node: &Node) -> u32 {
        let raw = self.sources[node.place.source].slice(node.place.span);
        let block = raw.starts_with(['|', '>']);
        self.line(node).saturating_add(u32::from(block))
    }
}

/// The formats of configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON; comments are allowed.
    Json,
    /// TOML 1.0.
    Toml,
    /// YAML 1.2, one document.
    Yaml,
}

impl Tree {
    /// The text of a file of a directory.
    #[must_use]
    pub fn text(&self, dir: &RepoPath, name: &str) -> Option<(RepoPath, &str)> {
        let path = dir.join(name.as_bytes()).ok()?;
        let text = self.texts.get(&path)?;
        Some((path, text))
    }

    /// Whether git tracks a file of a directory.
    #[must_use]
    pub fn has(&self, dir: &RepoPath, name: &str) -> bool {
        dir.join(name.as_bytes())
            .is_ok_and(|path| self.files.contains(&path))
    }

    /// Whether git tracks a file below a directory.
    #[must_use]
    pub fn has_folder(&self, dir: &RepoPath) -> bool {
        dir.is_root() || self.files.iter().any(|file| file.below(dir).is_some())
    }

    /// Reads a file as data. The error is one line for people.
    ///
    /// # Errors
    /// The file was not read, or is not of the format.
    pub fn read(&self, file: &RepoPath, syntax: Syntax) -> Result<Document, String> {
        let text = self.texts.get(file).ok_or_else(|| {
            let why = self.unread.get(file).map(String::as_str);
            why.unwrap_or("it is not there").to_owned()
        })?;
        let mut sources = Sources::default();
        let id: SourceId = sources.add(Source::new(file.to_string(), text));
        let mut sink = Diagnostics::default();
        let root = match syntax {
            Syntax::Json => tree::json_with_comments(&sources, id, &mut sink),
            Syntax::Toml => tree::toml(&sources, id, &mut sink),
            Syntax::Yaml => tree::yaml(&sources, id, &mut sink),
        };
        match root {
            Some(root) => Ok(Document {
                file: file.clone(),
                root,
                sources,
            }),
            None => Err(sink
                .iter()
                .next()
                .map_or_else(|| "it cannot be read".to_owned(), |d| d.message.clone())),
        }
    }
}
