//! The steps of a job: scripts, actions of the repository, and actions that the table of tools knows.

use super::{Flow, MAX_DEPTH, Reader, given};
use crate::actions::{Meaning, meaning};
use crate::found::Place;
use crate::listed::listed;
use crate::shell::Value as Variable;
use crate::tree::{DataFile, Keys, scalar};
use vplan_base::path::RepoPath;
use vplan_front::tree::Node;

/// Programs that read a step's text and are no shell.
const OTHER_SHELLS: &str = "pwsh powershell python cmd node perl ruby";

/// The variables that a step sets for later ones.
type Sets = Vec<(String, Variable)>;

impl Reader<'_> {
    /// Reads the steps of a job for one cell of its matrix.
    pub(super) fn steps(&mut self, mut flow: Flow<'_>, node: &Node) {
        let event = flow.events.first().copied().unwrap_or_default();
        for (name, value) in [
            ("GITHUB_EVENT_NAME", event),
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
        let ignored = flow.ignores(node);
        flow.script.ignored = ignored.then(|| "continue-on-error".to_owned());
        let services = node.entries_at("services").iter();
        flow.script.services = services.map(|(key, _)| key.name.clone()).collect();
        for step in node.list_at("steps") {
            self.step(&mut flow, step);
        }
    }

    fn step(&mut self, flow: &mut Flow<'_>, node: &Node) {
        let (script, scope) = (flow.script.clone(), flow.scope.clone());
        flow.add_env(node, true);
        let name = flow.scope.fill(&node.scalar_at("name"));
        let run = node.get("run");
        let place = match run {
            Some(run) => flow.doc.text_place(run),
            None => flow.doc.place(node.place),
        };
        let part = (!name.is_empty()).then(|| format!("step `{name}`"));
        let mut sets = Sets::new();
        match (self.events(flow, node), run) {
            (Err(why), Some(_)) => self.sink.not_read(place, part, why),
            (Err(_), None) => {}
            (Ok(_), run) => {
                if flow.ignores(node) {
                    flow.script.ignored = Some("continue-on-error".to_owned());
                }
                flow.script.label = name;
                match run {
                    Some(run) => sets = self.run(flow, node, &place, part, &scalar(run)),
                    None => self.uses(flow, node, place, part),
                }
            }
        }
        // A step leaves what it checked out, what it sets, and its commands to the next one.
        let after = std::mem::replace(&mut flow.script, script);
        (flow.script.checkout, flow.script.before) = (after.checkout, after.before);
        flow.scope = scope;
        for (name, value) in sets {
            flow.script.variables.set(&name, value, false);
        }
    }

    /// Reads a script.
    fn run(
        &mut self,
        flow: &mut Flow<'_>,
        node: &Node,
        place: &Place,
        part: Option<String>,
        text: &str,
    ) -> Sets {
        let own = |key: &str, default: &str| match node.scalar_at(key) {
            text if text.is_empty() => default.to_owned(),
            text => text,
        };
        let shell = flow.scope.fill(&own("shell", &flow.shell));
        let program = shell.split_whitespace().next().unwrap_or_default();
        if listed(OTHER_SHELLS, program) {
            let why = format!("its shell is `{program}`");
            self.sink.not_read(place.clone(), part, why);
            return Sets::new();
        }
        let dir = own("working-directory", &flow.dir);
        let text = flow.scope.fill(text);
        self.text(flow, &dir, place, &text)
    }

    /// Adds the commands of shell text that runs in a folder of the workspace.
    fn text(&mut self, flow: &mut Flow<'_>, dir: &str, place: &Place, text: &str) -> Sets {
        // The repository's own folder lies in that of the runner; what is next to it is taken to be
        // in it, so that `..` leads to the root.
        let slug = self.tree.slug.as_deref();
        let name = slug.and_then(|slug| slug.rsplit('/').next());
        let own = format!("$RUNNER_WORKSPACE/{}", name.unwrap_or("\0"));
        let put = |text: &str| {
            let text = text.replace(&own, "$GITHUB_WORKSPACE");
            text.replace("$RUNNER_WORKSPACE", "$GITHUB_WORKSPACE")
        };
        let dir = put(&flow.scope.fill(dir)).replace("$GITHUB_WORKSPACE", ".");
        match folder(&dir) {
            Ok(parsed) if !dir.contains("${{") => flow.script.dir = parsed,
            _ => flow.script.lost = Some(format!("it runs in `{dir}`")),
        }
        let text = put(text);
        let place_of = |line| place.below(line);
        let (added, sets) = self.sink.script(place, &text, &flow.script, place_of);
        flow.script.before = added;
        sets
    }

    /// Reads a step that uses an action.
    fn uses(&mut self, flow: &mut Flow<'_>, node: &Node, place: Place, part: Option<String>) {
        let scope = &flow.scope;
        let named = scope.fill(&node.scalar_at("uses"));
        let input = |name: &str| Some(scope.fill(&scalar(given(node, name)?)));
        if named.starts_with("./") {
            if let Err(why) = self.local(flow, node, &named) {
                self.sink.not_read(place, part, format!("`{named}`: {why}"));
            }
            return;
        }
        if named.starts_with("actions/checkout@") {
            let repository = input("repository").unwrap_or_default();
            let slug = self.tree.slug.as_deref();
            let is_own =
                repository.is_empty() || repository.contains("${{") || slug == Some(&repository);
            let Ok(path) = folder(&input("path").unwrap_or_default()) else {
                return;
            };
            let checkout = &mut flow.script.checkout;
            match &checkout.own {
                None if is_own => checkout.own = Some(path),
                Some(own) if is_own && *own == path => {}
                _ => checkout.others.push(path),
            }
            return;
        }
        match meaning(&named, input) {
            Meaning::Command(command) => {
                let dir = input("working-directory").unwrap_or_default();
                if flow.script.label.is_empty() {
                    flow.script.label = named;
                }
                self.text(flow, &dir, &place, &command);
            }
            Meaning::Nothing => {}
            Meaning::NotRead(why) => self.sink.not_read(place, part, format!("`{named}`: {why}")),
        }
    }

    /// Reads an action of the repository.
    fn local(&mut self, flow: &mut Flow<'_>, node: &Node, named: &str) -> Result<(), String> {
        let doc = self.open_action(flow, named)?;
        let using = doc.root.scalar_at("runs.using");
        if using != "composite" {
            return Err(format!("an action in {using}"));
        }
        let mut scope = flow.scope.clone();
        let inputs = flow.inputs(doc.root.entries_at("inputs"), node, true);
        scope.set("inputs", inputs);
        let event = flow.events.first().copied().unwrap_or_default();
        let path = format!("$GITHUB_WORKSPACE/{}", doc.file.folder());
        scope.set("github", super::github(self.tree, event, Some(&path)));
        let mut inner = Flow {
            doc: &doc,
            scope,
            chain: [&*flow.chain, std::slice::from_ref(&doc.file)].concat(),
            dir: String::new(),
            shell: String::new(),
            ..flow.clone()
        };
        inner.script.before = Vec::new();
        for step in doc.root.list_at("runs.steps") {
            self.step(&mut inner, step);
        }
        flow.script.checkout = inner.script.checkout;
        flow.script.before = inner.script.before;
        Ok(())
    }

    fn open_action(&self, flow: &Flow<'_>, named: &str) -> Result<DataFile, String> {
        let folder = RepoPath::parse(named.as_bytes()).map_err(|_| "outside of the repository")?;
        let folder = flow.script.checkout.to_root(&folder)?;
        let mut names = ["action.yml", "action.yaml"].iter();
        let name = names.find(|name| self.tree.has(&folder, name));
        let file = name.and_then(|name| folder.join(name.as_bytes()).ok());
        let file = file.ok_or("it is not in the repository")?;
        if flow.chain.contains(&file) {
            return Err("it calls itself".to_owned());
        }
        if flow.chain.len() > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} actions call each other"));
        }
        self.tree.read(&file)
    }
}

/// A folder of the workspace; without a name the workspace itself.
fn folder(name: &str) -> Result<RepoPath, vplan_base::path::PathError> {
    match name {
        "" => Ok(RepoPath::root()),
        name => RepoPath::parse(name.as_bytes()),
    }
}
