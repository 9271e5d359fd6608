//! The steps of a job: scripts, actions of the repository, and actions that the table of tools knows.

use super::{Flow, Reader, given};
use crate::expression::Value;
use crate::found::Place;
use crate::shell::ShellValue as Variable;
use crate::tree::{Keys, scalar};
use crate::words::listed;
use std::rc::Rc;
use vplan_base::path::RepoPath;
use vplan_check::tool::table::{self};
use vplan_front::tree::TreeNode;

/// Programs that read a step's text and are no shell.
const OTHER_SHELLS: &str = "pwsh powershell python cmd node perl ruby";

/// The variables that a step sets for later ones; the error is why it is not read.
type Sets = Result<Vec<(String, Variable)>, String>;

impl Reader<'_> {
    /// Reads the steps of a job for one cell of its matrix.
    pub(super) fn steps(&mut self, mut flow: Flow, node: &TreeNode) {
        for (name, value) in [
            ("GITHUB_EVENT_NAME", flow.event),
            ("RUNNER_OS", "Linux"),
            ("CI", "true"),
        ] {
            let value = Variable::Known(value.to_owned());
            flow.script.variables.set(name, value, false);
        }
        flow.add_env(node, false);
        let default = |name: &str| {
            let key = format!("defaults.run.{name}");
            let own = node.at(&key).or_else(|| flow.doc.root.at(&key));
            own.map(scalar).unwrap_or_default()
        };
        (flow.dir, flow.shell) = (default("working-directory"), default("shell"));
        flow.ignore(node);
        let services = node.entries_at("services").iter();
        flow.script.services = services.map(|(key, _)| key.name.clone()).collect();
        for step in node.list_at("steps") {
            self.step(&mut flow, step);
        }
    }

    fn step(&mut self, outer: &mut Flow, node: &TreeNode) {
        let mut flow = outer.clone();
        flow.add_env(node, true);
        flow.ignore(node);
        flow.script.label = flow.scope.fill(&node.scalar_at("name"));
        let label = Some(&flow.script.label).filter(|name| !name.is_empty());
        let part = label.map(|name| format!("step `{name}`"));
        let run = node.get("run");
        let place = match run {
            Some(run) => flow.doc.text_place(run),
            None => flow.doc.place(node.place),
        };
        let sets = match (flow.condition(node), run) {
            (Err(_), None) => Ok(Vec::new()),
            (Err(why), Some(_)) => Err(why),
            (Ok(()), Some(run)) => self.run(&mut flow, node, &place, &scalar(run)),
            (Ok(()), None) => self.uses(&mut flow, node, &place),
        };
        // A step leaves what it checked out, what it sets, and its commands to the next one.
        (outer.script.checkout, outer.script.before) = (flow.script.checkout, flow.script.before);
        let sets = sets.unwrap_or_else(|why| {
            self.sink.out.skip(place, part, why);
            Vec::new()
        });
        for (name, value) in sets {
            outer.script.variables.set(&name, value, false);
        }
    }

    /// Reads a script.
    fn run(&mut self, flow: &mut Flow, node: &TreeNode, place: &Place, text: &str) -> Sets {
        let own = |key: &str, default: &str| match node.scalar_at(key) {
            text if text.is_empty() => default.to_owned(),
            text => text,
        };
        let shell = flow.scope.fill(&own("shell", &flow.shell));
        let program = shell.split_whitespace().next().unwrap_or_default();
        if listed(OTHER_SHELLS, program) {
            return Err(format!("its shell is `{program}`"));
        }
        let dir = own("working-directory", &flow.dir);
        self.text(flow, &dir, place, text)
    }

    /// Adds the commands of shell text that runs in a folder of the workspace.
    fn text(&mut self, flow: &mut Flow, dir: &str, place: &Place, text: &str) -> Sets {
        // The repository's own folder lies in that of the runner; what is next to it is taken to be
        // in it, so that `..` leads to the root.
        let slug = self.tree.slug.as_deref();
        let name = slug.and_then(|slug| slug.rsplit('/').next());
        let own = format!("$RUNNER_WORKSPACE/{}", name.unwrap_or("\0"));
        let fill = |text: &str| {
            let text = flow.scope.fill(text).replace(&own, "$GITHUB_WORKSPACE");
            text.replace("$RUNNER_WORKSPACE", "$GITHUB_WORKSPACE")
        };
        let (dir, text) = (fill(dir).replace("$GITHUB_WORKSPACE", "."), fill(text));
        match folder(&dir) {
            Some(parsed) if !dir.contains("${{") => flow.script.dir = parsed,
            _ => flow.script.lost = Some(format!("it runs in `{dir}`")),
        }
        let place_of = |line| place.below(line);
        let (added, sets) = self.sink.script(place, &text, &flow.script, place_of);
        flow.script.before = added;
        Ok(sets)
    }

    /// Reads a step that uses an action.
    fn uses(&mut self, flow: &mut Flow, node: &TreeNode, place: &Place) -> Sets {
        let scope = &flow.scope;
        let named = scope.fill(&node.scalar_at("uses"));
        let not_read = |why: &str| format!("`{named}`: {why}");
        let input = |name: &str| Some(scope.fill(&scalar(given(node, name)?)));
        if named.starts_with("./") {
            let read = self.local(flow, node, &named);
            read.map_err(|why| not_read(&why))?;
        } else if named.starts_with("actions/checkout@") {
            let repository = input("repository").unwrap_or_default();
            let is_own = repository.is_empty()
                || repository.contains("${{")
                || self.tree.slug.as_ref() == Some(&repository);
            if let Some(path) = folder(&input("path").unwrap_or_default()) {
                flow.script.checkout.add(path, is_own);
            }
        } else if let Some(action) = table::action(&named) {
            let dir = input("working-directory").unwrap_or_default();
            let Some(command) = action.filled(input) else {
                let why = Some(action.reason).filter(|why| !why.is_empty());
                return why.map_or(Ok(Vec::new()), |why| Err(not_read(why)));
            };
            if flow.script.label.is_empty() {
                flow.script.label = named;
            }
            return self.text(flow, &dir, place, &command);
        }
        Ok(Vec::new())
    }

    /// Reads an action of the repository.
    fn local(&mut self, flow: &mut Flow, node: &TreeNode, named: &str) -> Result<(), String> {
        let folder = RepoPath::parse(named.as_bytes()).map_err(|_| "outside of the repository")?;
        let folder = flow.script.checkout.to_root(&folder)?;
        let mut names = ["action.yml", "action.yaml"].iter();
        let name = names.find(|name| self.tree.has(&folder, name));
        let file = name.and_then(|name| folder.join(name.as_bytes()).ok());
        let file = file.ok_or("it is not in the repository")?;
        let doc = flow.open(self.tree, &file)?;
        let using = doc.root.scalar_at("runs.using");
        if using != "composite" {
            return Err(format!("an action in {using}"));
        }
        let mut scope = flow.scope.clone();
        let inputs = flow.inputs(doc.root.entries_at("inputs"), node, true);
        scope.set("inputs", inputs);
        let path = format!("$GITHUB_WORKSPACE/{folder}");
        scope.put("github", "action_path", Value::Text(path));
        let mut inner = flow.inside(doc, scope);
        inner.script.before = Vec::new();
        for step in Rc::clone(&inner.doc).root.list_at("runs.steps") {
            self.step(&mut inner, step);
        }
        flow.script.checkout = inner.script.checkout;
        flow.script.before = inner.script.before;
        Ok(())
    }
}

/// A folder of the workspace; without a name the workspace itself.
fn folder(name: &str) -> Option<RepoPath> {
    match name {
        "" => Some(RepoPath::root()),
        name => RepoPath::parse(name.as_bytes()).ok(),
    }
}
