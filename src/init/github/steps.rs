//! The steps of a job: scripts, actions of the repository, and actions that the table of tools knows.

use super::value::{text_at, text_of};
use super::{Flow, Job, MAX_DEPTH, Reader, add_env, inputs_of, shown};
use crate::actions::{Meaning, meaning};
use crate::found::Place;
use crate::listed::listed;
use crate::shell::Value as Variable;
use crate::sink::{Script, below};
use crate::tree::{DataFile, Keys, Syntax};
use vplan_base::path::RepoPath;
use vplan_front::tree::Node;

/// Programs that read a step's text and are no shell.
const OTHER_SHELLS: &str = "pwsh powershell python cmd node perl ruby";

/// Where the repository lies in the workspace.
#[derive(Clone, Debug, Default)]
struct Checkout {
    /// The folder of the repository, once it is checked out.
    own: Option<RepoPath>,
    /// The folders of other repositories and of further copies.
    others: Vec<RepoPath>,
}

impl Checkout {
    /// The folder of the repository at a folder of the workspace.
    fn to_root(&self, dir: &RepoPath) -> Result<RepoPath, String> {
        let inside =
            |folder: &&RepoPath| folder.is_root() || dir == *folder || dir.below(folder).is_some();
        let depth = |folder: &RepoPath| {
            if folder.is_root() {
                0
            } else {
                folder.as_bytes().len()
            }
        };
        let own = self.own.iter().find(inside);
        let other = self.others.iter().filter(inside).map(depth).max();
        match (own, &self.own, other) {
            (Some(own), _, other) if other.is_none_or(|other| depth(own) > other) => {
                let rest = if own.is_root() {
                    Some(dir.clone())
                } else {
                    None
                };
                let below = || dir.below(own).and_then(RepoPath::from_exact);
                Ok(rest.or_else(below).unwrap_or_default())
            }
            (_, _, Some(_)) => Err("it runs in another checkout".to_owned()),
            (_, Some(_), None) => Err("it runs outside of the checkout".to_owned()),
            (_, None, None) => Ok(dir.clone()),
        }
    }
}

/// The state of a job between its steps.
struct Steps<'d> {
    flow: Flow<'d>,
    script: Script,
    /// The folder and the shell of steps that say none.
    dir: String,
    shell: String,
    checkout: Checkout,
    /// The commands of the step before.
    before: Vec<usize>,
}

impl Reader<'_> {
    /// Reads the steps of a job for one cell of its matrix.
    pub(super) fn cell(&mut self, flow: &Flow<'_>, job: &Job<'_>) {
        let (doc, node) = (flow.doc, job.node);
        let mut scope = flow.scope.clone();
        let mut variables = job.variables.clone();
        let event = flow.events.first().copied().unwrap_or_default();
        for (name, value) in [
            ("GITHUB_EVENT_NAME", event),
            ("RUNNER_OS", "Linux"),
            ("CI", "true"),
        ] {
            variables.set(name, Variable::Known(value.to_owned()), false);
        }
        add_env(doc, node, &mut scope, &mut variables, false);
        let default = |name: &str| {
            let of = |node: &Node| Some(text_of(doc, node.get("defaults")?.get("run")?.get(name)?));
            of(node).or_else(|| of(&doc.root)).unwrap_or_default()
        };
        let ignored = text_at(doc, node, "continue-on-error");
        let services = node.entries_at("services").iter();
        let script = Script {
            job: job.id.clone(),
            paths: flow.paths.clone(),
            ignored: (!ignored.is_empty() && scope.condition(&ignored) == Some(true))
                .then(|| "continue-on-error".to_owned()),
            variables,
            services: services.map(|(key, _)| key.name.clone()).collect(),
            oddness: flow.oddness,
            ..Script::default()
        };
        let mut steps = Steps {
            dir: default("working-directory"),
            shell: default("shell"),
            script,
            checkout: Checkout::default(),
            before: Vec::new(),
            flow: Flow {
                scope,
                ..flow.clone()
            },
        };
        for step in node.list_at("steps") {
            self.step(&mut steps, step);
        }
    }

    fn step(&mut self, steps: &mut Steps<'_>, node: &Node) {
        let doc = steps.flow.doc;
        let (variables, scope) = (steps.script.variables.clone(), steps.flow.scope.clone());
        add_env(
            doc,
            node,
            &mut steps.flow.scope,
            &mut steps.script.variables,
            true,
        );
        let name = steps.flow.scope.fill(&text_at(doc, node, "name"));
        let run = node.get("run");
        let line = run.map_or_else(|| doc.line(node), |run| doc.text_line(run));
        let place = Place::of(&doc.file, line);
        let condition = text_at(doc, node, "if");
        let events = self.events(&steps.flow.scope, &condition, &steps.flow.events);
        let part = (!name.is_empty()).then(|| format!("step `{name}`"));
        let mut sets = Vec::new();
        if events.is_empty() {
            let why = format!(
                "its `if` is false for a pull request: `{}`",
                shown(&condition)
            );
            if run.is_some() {
                self.sink.not_read(place, part, why);
            }
        } else {
            let script = steps.script.clone();
            let ignored = text_at(doc, node, "continue-on-error");
            if !ignored.is_empty() && steps.flow.scope.condition(&ignored) == Some(true) {
                steps.script.ignored = Some("continue-on-error".to_owned());
            }
            steps.script.label.clone_from(&name);
            match run {
                Some(run) => sets = self.run(steps, node, &place, part, &text_of(doc, run)),
                None => self.uses(steps, node, place, part),
            }
            steps.script = script;
        }
        (steps.script.variables, steps.flow.scope) = (variables, scope);
        for (name, value) in sets {
            steps.script.variables.set(&name, value, false);
        }
    }

    /// Reads a script.
    fn run(
        &mut self,
        steps: &mut Steps<'_>,
        node: &Node,
        place: &Place,
        part: Option<String>,
        text: &str,
    ) -> Vec<(String, Variable)> {
        let doc = steps.flow.doc;
        let own = |key: &str, default: &str| match text_at(doc, node, key) {
            text if text.is_empty() => default.to_owned(),
            text => text,
        };
        let shell = steps.flow.scope.fill(&own("shell", &steps.shell));
        let program = shell.split_whitespace().next().unwrap_or_default();
        if listed(OTHER_SHELLS, program) {
            self.sink
                .not_read(place.clone(), part, format!("its shell is `{program}`"));
            return Vec::new();
        }
        let dir = own("working-directory", &steps.dir);
        let text = steps.flow.scope.fill(text);
        self.text(steps, &dir, place, &text)
    }

    /// Adds the commands of shell text that runs in a folder of the workspace.
    fn text(
        &mut self,
        steps: &mut Steps<'_>,
        dir: &str,
        place: &Place,
        text: &str,
    ) -> Vec<(String, Variable)> {
        // The repository's own folder lies in that of the runner; what is next to it is taken to be
        // in it, so that `..` leads to the root.
        let name = self
            .tree
            .slug
            .as_deref()
            .and_then(|slug| slug.rsplit('/').next());
        let own = format!("$RUNNER_WORKSPACE/{}", name.unwrap_or("\0"));
        let put = |text: &str| {
            let text = text.replace(&own, "$GITHUB_WORKSPACE");
            text.replace("$RUNNER_WORKSPACE", "$GITHUB_WORKSPACE")
        };
        let text = put(text);
        let dir = put(&steps.flow.scope.fill(dir)).replace("$GITHUB_WORKSPACE", ".");
        let parsed = if dir.is_empty() {
            Ok(RepoPath::root())
        } else {
            RepoPath::parse(dir.as_bytes())
        };
        let known = !dir.contains("${{");
        match parsed {
            Ok(parsed) if known => steps.script.dir = parsed,
            _ => steps.script.lost = Some(format!("it runs in `{dir}`")),
        }
        let checkout = steps.checkout.clone();
        let (before, script) = (&steps.before, &steps.script);
        let (added, sets) = self.sink.script(
            place,
            &text,
            script,
            before,
            |line| below(place, line),
            |dir| checkout.to_root(dir),
        );
        steps.before = added;
        sets
    }

    /// Reads a step that uses an action.
    fn uses(&mut self, steps: &mut Steps<'_>, node: &Node, place: Place, part: Option<String>) {
        let doc = steps.flow.doc;
        let named = steps.flow.scope.fill(&text_at(doc, node, "uses"));
        let scope = &steps.flow.scope;
        let input = |name: &str| {
            let mut with = node.entries_at("with").iter();
            let found = with.find(|(key, _)| key.name.eq_ignore_ascii_case(name));
            found.map(|(_, value)| scope.fill(&text_of(doc, value)))
        };
        if named.starts_with("./") {
            return self.local(steps, node, &named, place, part);
        }
        if named.starts_with("actions/checkout@") {
            let path = input("path").unwrap_or_default();
            let repository = input("repository").unwrap_or_default();
            let slug = self.tree.slug.as_deref();
            let is_own =
                repository.is_empty() || repository.contains("${{") || slug == Some(&repository);
            let Ok(path) = RepoPath::parse(if path.is_empty() {
                b"."
            } else {
                path.as_bytes()
            }) else {
                return;
            };
            match &steps.checkout.own {
                None if is_own => steps.checkout.own = Some(path),
                Some(own) if is_own && *own == path => {}
                _ => steps.checkout.others.push(path),
            }
            return;
        }
        match meaning(&named, input) {
            Meaning::Command(command) => {
                let dir = input("working-directory").unwrap_or_default();
                if steps.script.label.is_empty() {
                    steps.script.label.clone_from(&named);
                }
                self.text(steps, &dir, &place, &command);
            }
            Meaning::Nothing => {}
            Meaning::NotRead(why) => self.sink.not_read(place, part, format!("`{named}`: {why}")),
        }
    }

    /// Reads an action of the repository.
    fn local(
        &mut self,
        steps: &mut Steps<'_>,
        node: &Node,
        named: &str,
        place: Place,
        part: Option<String>,
    ) {
        let doc = match self.open_action(steps, named) {
            Ok(doc) => doc,
            Err(why) => return self.sink.not_read(place, part, format!("`{named}`: {why}")),
        };
        let runs = doc.root.get("runs");
        let using = runs
            .map(|runs| text_at(&doc, runs, "using"))
            .unwrap_or_default();
        if using != "composite" {
            let why = format!("`{named}`: an action in {using}");
            return self.sink.not_read(place, part, why);
        }
        let folder = doc.file.folder();
        let mut scope = steps.flow.scope.clone();
        scope.set(
            "inputs",
            inputs_of(&doc, doc.root.entries_at("inputs"), &steps.flow, node, true),
        );
        let event = steps.flow.events.first().copied().unwrap_or_default();
        let path = format!("$GITHUB_WORKSPACE/{folder}");
        scope.set("github", super::github(self.tree, event, Some(&path)));
        let mut chain = steps.flow.chain.clone();
        chain.push(doc.file.clone());
        let mut inner = Steps {
            script: steps.script.clone(),
            dir: String::new(),
            shell: String::new(),
            checkout: steps.checkout.clone(),
            before: Vec::new(),
            flow: Flow {
                doc: &doc,
                scope,
                chain,
                ..steps.flow.clone()
            },
        };
        for step in runs.map_or(&[][..], |runs| runs.list_at("steps")) {
            self.step(&mut inner, step);
        }
        steps.checkout = inner.checkout;
        steps.before = inner.before;
    }

    fn open_action(&self, steps: &Steps<'_>, named: &str) -> Result<DataFile, String> {
        let folder = RepoPath::parse(named.as_bytes()).map_err(|_| "outside of the repository")?;
        let folder = steps.checkout.to_root(&folder)?;
        let file = ["action.yml", "action.yaml"]
            .iter()
            .find(|name| self.tree.has(&folder, name));
        let file = file.and_then(|name| folder.join(name.as_bytes()).ok());
        let file = file.ok_or("it is not in the repository")?;
        if steps.flow.chain.contains(&file) {
            return Err("it calls itself".to_owned());
        }
        if steps.flow.chain.len() > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} actions call each other"));
        }
        self.tree.read(&file, Syntax::YamlMerged)
    }
}
