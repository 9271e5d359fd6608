//! Reads a workspace: its packages, and which of them use which, from manifests alone.
//!
//! Pure: a list of paths and a way to read text go in, so that facts, and the proposal of a
//! contract, see the same packages. What a manifest says in a way that is not decided without its
//! tool (version ranges) counts as a use: an edge too many starts a check too many, one too few none.

mod cargo;
mod go;
mod npm;
mod python;
mod said;

use super::tree::{self, TreeNode, TreeValue};
use said::{Declared, Package};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::glob::{Glob, escape};
use vplan_base::path::{PathError, RepoPath};
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, SourceId};
use vplan_base::word::visible;
use vplan_base::workspace::{FoundMembers, Manifest, Member, WorkspaceQuery};

/// The files of a tree.
#[derive(Clone, Copy)]
pub struct WorkspaceFiles<'t> {
    /// Their paths, in the order of their bytes: those that count as the repository's.
    pub paths: &'t [RepoPath],
    /// Reads one; why it cannot be read.
    pub text: &'t dyn Fn(&RepoPath) -> io::Result<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub manifest: RepoPath,
    pub found: FoundMembers,
    /// What its manifests say that cannot be meant. Nothing is missing for it.
    pub remarks: Vec<WorkspaceRemark>,
}

/// Something in a manifest that names nothing, or two things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRemark {
    pub file: RepoPath,
    /// What it is.
    pub message: String,
    /// What can be done.
    pub help: String,
}

/// Why the packages of a workspace are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceFault {
    /// No manifest in this folder declares a workspace; one elsewhere that may.
    None(Option<RepoPath>),
    /// Several do, and it is not said which one is meant.
    Several(Vec<RepoPath>),
    /// A manifest cannot be read.
    Broken(RepoPath, String),
}

/// Returns the manifests of a folder that declare a workspace. A `package.json` next to a
/// `pnpm-workspace.yaml` that lists packages does not count.
///
/// # Errors
/// A manifest that cannot be read.
pub fn manifests(
    dir: &RepoPath,
    files: WorkspaceFiles<'_>,
) -> Result<Vec<Manifest>, WorkspaceFault> {
    let mut found = Vec::new();
    for manifest in Manifest::ALL {
        let path = path_in(dir, manifest.name());
        let is_hidden = manifest == Manifest::Npm && found.contains(&Manifest::Pnpm);
        if !is_hidden && files.has(&path) && declared(manifest, dir, files)?.is_some() {
            found.push(manifest);
        }
    }
    Ok(found)
}

/// Reads the requested workspace.
///
/// # Errors
/// There is none, or more than one, or a manifest cannot be read.
pub fn read(
    query: &WorkspaceQuery,
    files: WorkspaceFiles<'_>,
) -> Result<Workspace, WorkspaceFault> {
    let manifest = match query.manifest {
        Some(manifest) => manifest,
        None => match manifests(&query.dir, files)?.as_slice() {
            [] => return Err(WorkspaceFault::None(elsewhere(files))),
            [one] => *one,
            several => {
                let paths = several.iter().map(|one| path_in(&query.dir, one.name()));
                return Err(WorkspaceFault::Several(paths.collect()));
            }
        },
    };
    let path = path_in(&query.dir, manifest.name());
    if !files.has(&path) {
        return Err(WorkspaceFault::None(elsewhere(files)));
    }
    let Some(declared) = declared(manifest, &query.dir, files)? else {
        let reason = "it declares no workspace".to_owned();
        return Err(WorkspaceFault::Broken(path, reason));
    };
    let mut reader = Reader {
        dir: &query.dir,
        manifest,
        files,
        declared,
        path,
        candidates: BTreeSet::new(),
        excluded: Vec::new(),
        remarks: Vec::new(),
    };
    let found = reader.packages()?;
    Ok(Workspace {
        manifest: reader.path,
        found,
        remarks: reader.remarks,
    })
}

/// Returns a workspace's manifest in another folder, the shallowest.
fn elsewhere(files: WorkspaceFiles<'_>) -> Option<RepoPath> {
    let names = Manifest::ALL.map(Manifest::name);
    let is_manifest = |path: &&RepoPath| names.iter().any(|name| name.as_bytes() == path.name());
    let mut paths: Vec<&RepoPath> = files.paths.iter().filter(is_manifest).collect();
    paths.sort_by_key(|path| path.segments().count());
    let declares = |path: &&&RepoPath| {
        let mut all = Manifest::ALL.into_iter();
        let manifest = all.find(|m| m.name().as_bytes() == path.name());
        let declared = manifest.map(|m| declared(m, &path.folder(), files));
        matches!(declared, Some(Ok(Some(_))))
    };
    let near = paths.iter().take(NEAR).find(declares);
    near.map(|path| (*path).clone())
}

/// Maximum number of manifests searched for a workspace to suggest.
const NEAR: usize = 50;

fn declared(
    manifest: Manifest,
    dir: &RepoPath,
    files: WorkspaceFiles<'_>,
) -> Result<Option<Declared>, WorkspaceFault> {
    let path = path_in(dir, manifest.name());
    let text = files.read(&path)?;
    match manifest {
        Manifest::Npm => Ok(npm::workspace(&json(&path, &text)?)),
        Manifest::Pnpm => Ok(npm::pnpm(&with(tree::yaml, &path, &text)?)),
        Manifest::Cargo => Ok(cargo::workspace(&with(tree::toml, &path, &text)?, dir)),
        Manifest::Go => Ok(Some(go::workspace(&text, dir))),
        Manifest::Uv => Ok(python::workspace(&with(tree::toml, &path, &text)?, dir)),
    }
}

/// Returns a path in a folder; a name of a manifest leads nowhere else.
fn path_in(dir: &RepoPath, name: &str) -> RepoPath {
    dir.join(name.as_bytes()).unwrap_or_default()
}

impl WorkspaceFiles<'_> {
    fn has(&self, path: &RepoPath) -> bool {
        self.paths.binary_search(path).is_ok()
    }

    fn read(&self, path: &RepoPath) -> Result<String, WorkspaceFault> {
        (self.text)(path).map_err(|error| WorkspaceFault::Broken(path.clone(), error.to_string()))
    }
}

/// What reads the packages of one workspace.
struct Reader<'t> {
    dir: &'t RepoPath,
    manifest: Manifest,
    files: WorkspaceFiles<'t>,
    declared: Declared,
    /// The manifest of the workspace.
    path: RepoPath,
    /// The folders that have the manifest of a package.
    candidates: BTreeSet<RepoPath>,
    excluded: Vec<Pattern>,
    remarks: Vec<WorkspaceRemark>,
}

/// Folders that the manifest of a workspace names.
enum Pattern {
    Folder(RepoPath),
    Glob(Glob),
}

impl Reader<'_> {
    fn packages(&mut self) -> Result<FoundMembers, WorkspaceFault> {
        let name = self.manifest.of_package().as_bytes();
        let is_package = |path: &&RepoPath| {
            let mut folders = path.segments();
            path.name() == name && !folders.any(|folder| folder == b"node_modules")
        };
        let packages = self.files.paths.iter().filter(is_package);
        self.candidates = packages.map(RepoPath::folder).collect();
        let mut open = self.members()?;
        let mut members: BTreeMap<RepoPath, Package> = BTreeMap::new();
        while let Some(folder) = open.pop() {
            if members.contains_key(&folder) {
                continue;
            }
            let package = self.package(&folder)?;
            open.extend(self.brought(&package));
            members.insert(folder, package);
        }
        self.remark_names(&members);
        let others = self.others(&members)?;
        Ok(self.found_members(members, &others))
    }

    /// The folders that the manifest lists.
    fn members(&mut self) -> Result<Vec<RepoPath>, WorkspaceFault> {
        let mut included = Vec::new();
        for text in std::mem::take(&mut self.declared.excluded) {
            let pattern = self.pattern(&text)?;
            self.excluded.extend(pattern);
        }
        for text in std::mem::take(&mut self.declared.members) {
            match text.strip_prefix('!') {
                Some(text) => {
                    let pattern = self.pattern(text)?;
                    self.excluded.extend(pattern);
                }
                None => included.extend(self.pattern(&text)?.map(|pattern| (text, pattern))),
            }
        }
        let mut members = Vec::new();
        members.extend(self.declared.is_package.then(|| self.dir.clone()));
        for (text, pattern) in included {
            let of_pattern: Vec<RepoPath> = match &pattern {
                Pattern::Folder(folder) => {
                    self.candidates.get(folder).into_iter().cloned().collect()
                }
                Pattern::Glob(glob) => {
                    let folders = self.candidates.iter();
                    let folders = folders.filter(|folder| glob.matches(folder));
                    folders.cloned().collect()
                }
            };
            if of_pattern.is_empty() {
                let file = self.manifest.of_package();
                let message = format!("`{}` is no folder with a `{file}`", quote(&text));
                self.remark(message, "take it out of the list, or add the package");
            }
            let of_pattern = of_pattern.into_iter();
            members.extend(of_pattern.filter(|folder| !self.is_excluded(folder)));
        }
        Ok(members)
    }

    /// Reads what names folders; what is outside of the repository is remarked.
    fn pattern(&mut self, text: &str) -> Result<Option<Pattern>, WorkspaceFault> {
        let is_glob = |segment: &str| segment.contains(['*', '?', '[', '{']);
        let segments: Vec<&str> = text.split('/').collect();
        let plain = segments.iter().take_while(|segment| !is_glob(segment));
        let plain = plain.count();
        let (before, behind) = segments.split_at_checked(plain).unwrap_or((&segments, &[]));
        // A leading `.` makes the path relative.
        let before = format!("./{}", before.join("/"));
        let folder = match self.dir.join(before.as_bytes()) {
            Ok(folder) => folder,
            Err(PathError::Outside) => {
                let message = format!("`{}` is outside of the repository", quote(text));
                let help = "no change of this repository touches it: nothing is verified for it";
                self.remark(message, help);
                return Ok(None);
            }
            Err(_) => return Err(self.no_pattern(text, "no path of the repository")),
        };
        let behind = behind.join("/");
        if behind.is_empty() {
            return Ok(Some(Pattern::Folder(folder)));
        }
        let behind = behind.trim_end_matches('/');
        let glob = match (folder.is_root(), std::str::from_utf8(folder.as_bytes())) {
            (true, _) => behind.to_owned(),
            (false, Ok(folder)) => format!("{}/{behind}", escape(folder)),
            (false, Err(_)) => return Err(self.no_pattern(text, "its folder is not UTF-8")),
        };
        match Glob::parse(&glob) {
            Ok(glob) => Ok(Some(Pattern::Glob(glob))),
            Err(fault) => Err(self.no_pattern(text, &fault.message)),
        }
    }

    fn no_pattern(&self, text: &str, why: &str) -> WorkspaceFault {
        let reason = format!("`{}` is no glob of folders: {why}", quote(text));
        WorkspaceFault::Broken(self.path.clone(), reason)
    }

    fn is_excluded(&self, folder: &RepoPath) -> bool {
        self.excluded.iter().any(|pattern| match pattern {
            Pattern::Folder(out) => folder == out || folder.below(out).is_some(),
            Pattern::Glob(glob) => glob.matches(folder),
        })
    }

    fn package(&self, folder: &RepoPath) -> Result<Package, WorkspaceFault> {
        let path = path_in(folder, self.manifest.of_package());
        let text = self.files.read(&path)?;
        let package = match self.manifest {
            Manifest::Npm | Manifest::Pnpm => npm::package(&json(&path, &text)?, folder),
            Manifest::Cargo => {
                let inherited = &self.declared.inherited;
                cargo::package(&with(tree::toml, &path, &text)?, folder, inherited)
            }
            Manifest::Go => go::package(&text, folder),
            Manifest::Uv => python::package(&with(tree::toml, &path, &text)?, folder),
        };
        let package =
            package.map_err(|reason| WorkspaceFault::Broken(path.clone(), reason.to_owned()))?;
        if package.name.contains("//") || package.name.contains(char::is_control) {
            let reason = format!("`{}` is no name of a package", quote(&package.name));
            return Err(WorkspaceFault::Broken(path, reason));
        }
        Ok(package)
    }

    /// The folders that become packages because one uses them: cargo's.
    fn brought(&self, package: &Package) -> Vec<RepoPath> {
        let is_brought = |folder: &&RepoPath| {
            self.manifest == Manifest::Cargo
                && folder.below(self.dir).is_some()
                && self.candidates.contains(folder)
                && !self.is_excluded(folder)
        };
        package.folders.iter().filter(is_brought).cloned().collect()
    }

    /// Returns the packages outside of the workspace that its packages use, directly or not.
    fn others(
        &self,
        members: &BTreeMap<RepoPath, Package>,
    ) -> Result<BTreeMap<RepoPath, Package>, WorkspaceFault> {
        let mut open: Vec<RepoPath> = members.values().flat_map(|p| p.folders.clone()).collect();
        open.extend(self.declared.named.values().cloned());
        let mut others: BTreeMap<RepoPath, Package> = BTreeMap::new();
        while let Some(folder) = open.pop() {
            let is_known = members.contains_key(&folder) || others.contains_key(&folder);
            if !is_known && self.candidates.contains(&folder) {
                let package = self.package(&folder)?;
                open.extend(package.folders.iter().cloned());
                others.insert(folder, package);
            }
        }
        Ok(others)
    }

    fn found_members(
        &self,
        members: BTreeMap<RepoPath, Package>,
        others: &BTreeMap<RepoPath, Package>,
    ) -> FoundMembers {
        let mut named: BTreeMap<&str, Vec<&RepoPath>> = BTreeMap::new();
        // Cargo asks for what is in the repository by its path.
        for (folder, package) in members.iter().filter(|_| self.manifest != Manifest::Cargo) {
            named.entry(&package.name).or_default().push(folder);
        }
        for (name, folder) in &self.declared.named {
            named.entry(name).or_default().push(folder);
        }
        let direct = |package: &Package| -> Vec<RepoPath> {
            let names = package
                .names
                .iter()
                .filter_map(|name| named.get(name.as_str()));
            let by_name = names.flatten().map(|folder| (*folder).clone());
            by_name.chain(package.folders.iter().cloned()).collect()
        };
        let uses = |own: &RepoPath, package: &Package| {
            let (mut uses, mut open) = (BTreeSet::new(), direct(package));
            while let Some(folder) = open.pop() {
                if folder != *own && uses.insert(folder.clone()) {
                    open.extend(others.get(&folder).into_iter().flat_map(direct));
                }
            }
            uses
        };
        let uses: Vec<BTreeSet<RepoPath>> = members
            .iter()
            .map(|(folder, package)| uses(folder, package))
            .collect();
        let member = |((folder, package), uses): ((RepoPath, Package), BTreeSet<RepoPath>)| {
            let name = package.name;
            (folder, Member { name, uses })
        };
        FoundMembers {
            manifest: Some(self.manifest),
            members: members.into_iter().zip(uses).map(member).collect(),
        }
    }

    fn remark_names(&mut self, members: &BTreeMap<RepoPath, Package>) {
        let mut known: BTreeMap<&str, &RepoPath> = BTreeMap::new();
        let mut twice: Vec<(&str, &RepoPath, &RepoPath)> = Vec::new();
        for (folder, package) in members {
            let first = known.insert(&package.name, folder);
            twice.extend(first.map(|first| (package.name.as_str(), first, folder)));
        }
        if let Some((name, first, second)) = twice.first() {
            let mut message = format!(
                "`{first}` and `{second}` are both packages named `{}`",
                quote(name)
            );
            if let more @ 1.. = twice.len() - 1 {
                message.push_str(&format!(", and so are {more} more of others"));
            }
            let help = "give one of them another name: who asks for it by name uses both";
            self.remark(message, help);
        }
    }

    fn remark(&mut self, message: String, help: &str) {
        self.remarks.push(WorkspaceRemark {
            file: self.path.clone(),
            message,
            help: help.to_owned(),
        });
    }
}

fn quote(text: &str) -> String {
    visible(text)
}

/// Reads JSON; of keys that occur twice the last counts.
fn json(path: &RepoPath, text: &str) -> Result<TreeNode, WorkspaceFault> {
    fn node(json: serde_json::Value) -> TreeNode {
        let entry = |(name, json)| {
            let place = Place::default();
            (tree::TreeKey { name, place }, node(json))
        };
        let value = match json {
            serde_json::Value::Null => TreeValue::Null,
            serde_json::Value::Bool(is) => TreeValue::Bool(is),
            serde_json::Value::Number(n) => TreeValue::Other(n.to_string()),
            serde_json::Value::String(text) => TreeValue::Text(text),
            serde_json::Value::Array(list) => TreeValue::List(list.into_iter().map(node).collect()),
            serde_json::Value::Object(map) => TreeValue::Map(map.into_iter().map(entry).collect()),
        };
        let place = Place::default();
        TreeNode { place, value }
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = serde_json::from_str(text).map(node);
    read.map_err(|e| WorkspaceFault::Broken(path.clone(), format!("this is not JSON: {e}")))
}

type Parse = fn(&Sources, SourceId, &mut Diagnostics) -> Option<TreeNode>;

fn with(parse: Parse, path: &RepoPath, text: &str) -> Result<TreeNode, WorkspaceFault> {
    let (mut sources, mut sink) = (Sources::default(), Diagnostics::default());
    let id = sources.add(Source::new("", text));
    let read = parse(&sources, id, &mut sink);
    let fault = sink
        .iter()
        .next()
        .map_or("it cannot be read", |fault| &fault.message);
    read.ok_or_else(|| WorkspaceFault::Broken(path.clone(), fault.to_owned()))
}

#[cfg(test)]
mod tests;
