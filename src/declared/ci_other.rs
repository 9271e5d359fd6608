//! Reads the commands of CircleCI (`.circleci/config.yml`) and of Azure Pipelines
//! (`azure-pipelines.yml`).

use super::candidate::{Belief, Declarations, Origin, Reason, State, When};
use super::script::{self, Job, Script};
use super::tree::{DataFile, Syntax, Tree};
use crate::base::path::RepoPath;
use crate::front::tree::{Node, Value};
use std::collections::BTreeMap;

/// Reads one file of a system.
type ReadFile = fn(&mut Reader<'_>, &DataFile, &mut Declarations);

/// How deep commands may use each other.
const MAX_DEPTH: usize = 4;
/// The most steps that are read.
const MAX_STEPS: usize = 2000;

/// The reader of a script's commands.
type Take = fn(&Tree, &mut Job, &Script<'_>, &mut Declarations);

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    read_with(tree, found, script::read);
}

fn read_with(tree: &Tree, found: &mut Declarations, take: Take) {
    let files: [(&str, ReadFile); 4] = [
        (".circleci/config.yml", circle),
        (".circleci/config.yaml", circle),
        ("azure-pipelines.yml", azure),
        ("azure-pipelines.yaml", azure),
    ];
    for (name, of) in files {
        let Ok(file) = RepoPath::parse(name.as_bytes()) else {
            continue;
        };
        if !tree.texts.contains_key(&file) && !tree.unread.contains_key(&file) {
            continue;
        }
        match tree.read(&file, Syntax::YamlMerged) {
            Ok(doc) => {
                let mut reader = Reader {
                    tree,
                    take,
                    left: MAX_STEPS,
                };
                of(&mut reader, &doc, found);
            }
            Err(why) => {
                let origin = Origin {
                    file,
                    line: 1,
                    label: String::new(),
                };
                found.skip(origin, format!("`{name}`"), Reason::NotRead, why);
            }
        }
    }
}

struct Reader<'t> {
    tree: &'t Tree,
    take: Take,
    left: usize,
}

/// A job while its steps are read.
struct At<'d> {
    doc: &'d DataFile,
    job: Job,
    dir: Option<String>,
    env: BTreeMap<String, String>,
    /// Values of parameters and variables.
    values: BTreeMap<String, String>,
    condition: Option<String>,
    out: Option<(Reason, String)>,
}

fn scalar(doc: &DataFile, node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        Value::Bool(yes) => yes.to_string(),
        Value::Whole(n) => n.to_string(),
        Value::Other => doc.raw(node).to_owned(),
        Value::Null | Value::List(_) | Value::Map(_) => String::new(),
    }
}

fn key(doc: &DataFile, node: &Node, name: &str) -> String {
    node.get(name).map(|n| scalar(doc, n)).unwrap_or_default()
}

fn origin(doc: &DataFile, node: &Node, label: &str) -> Origin {
    Origin {
        file: doc.file.clone(),
        line: doc.line(node),
        label: label.to_owned(),
    }
}

/// Replaces what is between two marks by its value; what is not known becomes `${{ … }}`, which
/// no command of a contract has.
fn filled(text: &str, marks: (&str, &str), value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(marks.0) {
        let Some((inner, tail)) = after.split_once(marks.1).filter(|(i, _)| !i.contains('\n'))
        else {
            break;
        };
        out.push_str(before);
        match value(inner.trim()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&format!("${{{{ {} }}}}", inner.trim())),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

impl Reader<'_> {
    fn run(
        &mut self,
        at: &mut At<'_>,
        step: &Node,
        text: &Node,
        found: &mut Declarations,
        marks: &[(&str, &str)],
    ) {
        let doc = at.doc;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let value = |name: &str| at.values.get(name).cloned();
        let fill = |text: &str| {
            marks.iter().fold(text.to_owned(), |text, marks| {
                // `$(…)` of a shell is no macro: those are names.
                filled(&text, *marks, |inner| {
                    let macro_name = marks.0 != "$("
                        || inner
                            .chars()
                            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
                    if macro_name {
                        value(inner)
                    } else {
                        Some(format!("$({inner})"))
                    }
                })
            })
        };
        let body = fill(&scalar(doc, text));
        let named = ["working_directory", "workingDirectory"]
            .iter()
            .map(|name| key(doc, step, name))
            .find(|named| !named.is_empty())
            .or_else(|| at.dir.clone())
            .unwrap_or_default();
        let named = fill(&named);
        let dir = match &*named {
            "" | "." | "~/project" => Some(RepoPath::root()),
            path => {
                let path = path.strip_prefix("~/project/").unwrap_or(path);
                let dir = RepoPath::parse(path.as_bytes()).ok();
                dir.filter(|dir| self.tree.has_folder(dir))
            }
        };
        let mut env = at.env.clone();
        for name in ["environment", "env"] {
            env.extend(variables(doc, step.get(name)));
        }
        let mut out = at.out.clone();
        if out.is_none() && dir.is_none() {
            out = Some((Reason::Unknown, format!("its directory is `{named}`")));
        }
        if out.is_none() && key(doc, step, "continueOnError") == "true" {
            out = Some((Reason::CannotFail, "`continueOnError`".to_owned()));
        }
        let condition = key(doc, step, "condition");
        let condition = Some(condition).filter(|c| !c.is_empty() && !c.contains("succeeded()"));
        let when = key(doc, step, "when");
        if out.is_none() && when == "on_fail" {
            out = Some((Reason::Occasion, "only when a step fails".to_owned()));
        }
        let label = [key(doc, step, "name"), key(doc, step, "displayName")].concat();
        let script = Script {
            text: &body,
            line: doc.text_line(text),
            label,
            dir: dir.unwrap_or_default(),
            env,
            condition: condition.or_else(|| at.condition.clone()),
        };
        let start = found.candidates.len();
        let Some((reason, why)) = out else {
            return (self.take)(self.tree, &mut at.job, &script, found);
        };
        (self.take)(self.tree, &mut at.job.clone(), &script, found);
        for candidate in found.candidates.iter_mut().skip(start) {
            if !matches!(candidate.state, State::Out(Reason::Nothing, _)) {
                candidate.leave_out(reason, &*why);
            }
        }
    }
}

/// Variables with literal values.
fn variables(doc: &DataFile, node: Option<&Node>) -> BTreeMap<String, String> {
    let entries = node.map(Node::entries).unwrap_or_default();
    let noise =
        |name: &str| name.ends_with("_TOKEN") || name.ends_with("_KEY") || name.contains("_CACHE");
    entries
        .iter()
        .map(|(key, node)| (key.name.clone(), scalar(doc, node)))
        .filter(|(name, value)| {
            !noise(name) && !value.contains(['$', '\n']) && !value.contains("<<")
        })
        .collect()
}

fn job(doc: &DataFile, name: &str) -> Job {
    Job {
        file: doc.file.clone(),
        belief: Belief::Workflow,
        name: name.to_owned(),
        when: When::Unsaid,
        tier: 0,
        warning: false,
        timeout: None,
        notes: Vec::new(),
        secrets: Vec::new(),
        services: Vec::new(),
        exported: BTreeMap::new(),
        tool_path: Vec::new(),
        edited: None,
        built: Vec::new(),
        since_compared: Vec::new(),
    }
}

fn circle(reader: &mut Reader<'_>, doc: &DataFile, found: &mut Declarations) {
    let jobs = doc.root.get("jobs").map(Node::entries).unwrap_or_default();
    let workflows = doc
        .root
        .get("workflows")
        .map(Node::entries)
        .unwrap_or_default();
    // A job, with the parameters of its first use; `Err`: the reason why no change starts it.
    let mut used: BTreeMap<String, Result<BTreeMap<String, String>, &str>> = BTreeMap::new();
    for (name, workflow) in workflows {
        if name.name == "version" {
            continue;
        }
        let scheduled = workflow.get("triggers").is_some();
        for item in workflow.get("jobs").map(Node::list).unwrap_or_default() {
            let (name, node) = match item.entries() {
                [(key, node)] => (key.name.clone(), Some(node)),
                _ => (scalar(doc, item), None),
            };
            let filter = |kind: &str| node.and_then(|n| n.get("filters")?.get(kind));
            let ignored = filter("branches").is_some_and(|b| {
                b.get("ignore").is_some_and(|i| {
                    scalar(doc, i) == "/.*/"
                        || i.list().iter().any(|one| scalar(doc, one) == "/.*/")
                })
            });
            let answer = if scheduled {
                Err("a schedule starts it")
            } else if ignored {
                Err("tags start it")
            } else {
                Ok(variables(doc, node))
            };
            let better = used.get(&name).is_none_or(Result::is_err);
            if better {
                used.insert(name, answer);
            }
        }
    }
    for (name, node) in jobs {
        let answer = match used.get(&name.name) {
            Some(answer) => answer.clone(),
            None if workflows.is_empty() => Ok(BTreeMap::new()),
            None => Err("no workflow has it"),
        };
        let mut at = At {
            doc,
            job: job(doc, &name.name),
            dir: Some(key(doc, node, "working_directory"))
                .filter(|d| !d.is_empty() && d != "~/repo"),
            env: variables(doc, node.get("environment")),
            values: parameters(doc, node, &BTreeMap::new()),
            condition: None,
            out: None,
        };
        match answer {
            Ok(given) => at.values.extend(prefixed(given)),
            Err(why) => {
                found.skip(
                    origin(doc, node, &name.name),
                    format!("job `{}`", name.name),
                    Reason::Occasion,
                    why.to_owned(),
                );
                at.out = Some((Reason::Occasion, why.to_owned()));
            }
        }
        let machine = key(doc, node, "machine") + &key(doc, node, "executor");
        if at.out.is_none() && (node.get("macos").is_some() || machine.contains("win")) {
            at.out = Some((Reason::Machine, "another system".to_owned()));
        }
        let steps = node.get("steps").map(Node::list).unwrap_or_default();
        circle_steps(reader, &mut at, steps, found, 0);
    }
    for (name, answer) in &used {
        let own = jobs.iter().any(|(key, _)| key.name == *name);
        if !own && answer.is_ok() && name.contains('/') {
            let origin = origin(doc, &doc.root, name);
            found.skip(
                origin,
                format!("job `{name}`"),
                Reason::Action,
                "an orb".to_owned(),
            );
        }
    }
}

/// The parameters of a job or a command: what is given, else the defaults.
fn parameters(
    doc: &DataFile,
    node: &Node,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let declared = node
        .get("parameters")
        .map(Node::entries)
        .unwrap_or_default();
    let mut all = BTreeMap::new();
    for (name, node) in declared {
        if let Some(default) = node.get("default") {
            all.insert(name.name.clone(), scalar(doc, default));
        }
    }
    all.extend(given.clone());
    prefixed(all)
}

fn prefixed(all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    all.into_iter()
        .map(|(k, v)| (format!("parameters.{k}"), v))
        .collect()
}

fn circle_steps(
    reader: &mut Reader<'_>,
    at: &mut At<'_>,
    steps: &[Node],
    found: &mut Declarations,
    depth: usize,
) {
    let doc = at.doc;
    for step in steps {
        let (name, body) = match step.entries() {
            [(key, node)] => (key.name.clone(), Some(node)),
            _ => (scalar(doc, step), None),
        };
        match (&*name, body) {
            ("run", Some(body)) => {
                let text = body.get("command").unwrap_or(body);
                reader.run(at, body, text, found, &[("<<", ">>")]);
            }
            ("when" | "unless", Some(body)) => {
                let outer = at.condition.clone();
                at.condition = Some("a parameter of the pipeline".to_owned());
                let steps = body.get("steps").map(Node::list).unwrap_or_default();
                if depth < MAX_DEPTH {
                    circle_steps(reader, at, steps, found, depth + 1);
                }
                at.condition = outer;
            }
            (name, body) => {
                let own = doc.root.get("commands").and_then(|c| c.get(name));
                if let Some(command) = own.filter(|_| depth < MAX_DEPTH && reader.left > 0) {
                    reader.left -= 1;
                    let given = variables(doc, body);
                    let outer = at.values.clone();
                    at.values = parameters(doc, command, &given);
                    let steps = command.get("steps").map(Node::list).unwrap_or_default();
                    circle_steps(reader, at, steps, found, depth + 1);
                    at.values = outer;
                } else if name.contains('/') && at.out.is_none() {
                    let what = format!("step `{name}`");
                    let label = at.job.name.clone();
                    found.skip(
                        origin(doc, step, &label),
                        what,
                        Reason::Action,
                        "an orb".to_owned(),
                    );
                }
            }
        }
    }
}

fn azure(reader: &mut Reader<'_>, doc: &DataFile, found: &mut Declarations) {
    let none = |name: &str| key(doc, &doc.root, name) == "none";
    let mut values = BTreeMap::new();
    if let Some(node) = doc.root.get("variables") {
        values.extend(variables(doc, Some(node)));
        for item in node.list() {
            values.insert(key(doc, item, "name"), key(doc, item, "value"));
        }
        values.remove("");
    }
    let mut at = At {
        doc,
        job: job(doc, "azure"),
        dir: None,
        env: BTreeMap::new(),
        values,
        condition: None,
        out: None,
    };
    if none("trigger") && none("pr") {
        let why = "a person starts it".to_owned();
        let what = format!("`{}`", doc.file);
        found.skip(
            origin(doc, &doc.root, ""),
            what,
            Reason::Occasion,
            why.clone(),
        );
        at.out = Some((Reason::Occasion, why));
    }
    azure_part(reader, &mut at, &doc.root, found, 0);
}

/// Reads a pipeline, a stage or a job: it has `stages`, `jobs` or `steps`.
fn azure_part(
    reader: &mut Reader<'_>,
    at: &mut At<'_>,
    part: &Node,
    found: &mut Declarations,
    depth: usize,
) {
    let doc = at.doc;
    if depth > MAX_DEPTH {
        return;
    }
    let outer = (at.out.clone(), at.condition.clone());
    let pool = part
        .get("pool")
        .map(|p| key(doc, p, "vmImage") + &scalar(doc, p))
        .unwrap_or_default();
    let pool = pool.to_ascii_lowercase();
    if at.out.is_none() && (pool.contains("windows") || pool.contains("macos")) {
        at.out = Some((Reason::Machine, format!("`{pool}`")));
    }
    if at.out.is_none() && key(doc, part, "continueOnError") == "true" {
        at.out = Some((Reason::CannotFail, "`continueOnError`".to_owned()));
    }
    let condition = key(doc, part, "condition");
    if !condition.is_empty() && !condition.contains("succeeded()") {
        at.condition = Some(condition);
    }
    for name in ["stages", "jobs"] {
        for item in part.get(name).map(Node::list).unwrap_or_default() {
            if let Some(template) = item.get("template") {
                let what = format!("template `{}`", scalar(doc, template));
                found.skip(
                    origin(doc, item, ""),
                    what,
                    Reason::NotRead,
                    "templates are not read".to_owned(),
                );
                continue;
            }
            let named = key(doc, item, "job");
            if name == "jobs" {
                at.job = job(doc, if named.is_empty() { "azure" } else { &named });
            }
            azure_part(reader, at, item, found, depth + 1);
        }
    }
    for step in part.get("steps").map(Node::list).unwrap_or_default() {
        let marks = [("$(", ")")];
        if let Some(text) = step.get("script").or_else(|| step.get("bash")) {
            reader.run(at, step, text, found, &marks);
        } else if let Some(text) = step.get("pwsh").or_else(|| step.get("powershell")) {
            let outer = at.out.clone();
            at.out = Some((Reason::Machine, "a script for PowerShell".to_owned()));
            reader.run(at, step, text, found, &marks);
            at.out = outer;
        } else if at.out.is_none() {
            for kind in ["task", "template"] {
                let named = key(doc, step, kind);
                if !named.is_empty() {
                    let label = at.job.name.clone();
                    found.skip(
                        origin(doc, step, &label),
                        format!("{kind} `{named}`"),
                        Reason::Action,
                        String::new(),
                    );
                }
            }
        }
    }
    (at.out, at.condition) = outer;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::candidate::{Candidate, Work};

    fn lines(_: &Tree, job: &mut Job, script: &Script<'_>, found: &mut Declarations) {
        for line in script.text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let origin = Origin {
                file: job.file.clone(),
                line: script.line,
                label: job.name.clone(),
            };
            let mut one = Candidate::new(
                origin,
                job.belief,
                Work::Shell(line.to_owned()),
                script.dir.clone(),
            );
            one.notes.extend(script.condition.clone());
            one.env = script.env.clone();
            found.candidates.push(one);
        }
    }

    fn shown(file: &str, text: &str) -> Vec<String> {
        let path = RepoPath::parse(file.as_bytes()).unwrap();
        let folder = RepoPath::parse(b"web/a").unwrap();
        let tree = Tree {
            texts: [(path.clone(), text.to_owned())].into(),
            files: [path, folder].into(),
            ..Tree::default()
        };
        let mut found = Declarations::default();
        read_with(&tree, &mut found, lines);
        read(&tree, &mut Declarations::default());
        let mut all = Vec::new();
        for one in &found.candidates {
            let state = match &one.state {
                State::Out(reason, _) => format!("{} ", reason.key()),
                _ => String::new(),
            };
            let env: Vec<String> = one.env.iter().map(|(k, v)| format!("{k}={v} ")).collect();
            let note = one
                .notes
                .first()
                .map(|n| format!(" ({n})"))
                .unwrap_or_default();
            all.push(format!(
                "{state}{}{}@{}{note}",
                env.concat(),
                one.text(),
                one.dir
            ));
        }
        all.extend(
            found
                .skipped
                .iter()
                .map(|s| format!("- {} {}", s.what, s.reason.key())),
        );
        all
    }

    #[test]
    fn circle() {
        let text = "version: 2.1
commands:
  setup:
    parameters:
      what: { type: string, default: all }
    steps:
      - run: install << parameters.what >>
jobs:
  test:
    docker: [{ image: a }]
    environment: { MODE: x, A_TOKEN: y }
    steps:
      - checkout
      - setup
      - setup: { what: some }
      - run: make test
      - run:
          name: Web
          command: |
            npm test
          working_directory: web
      - run: { command: gone, working_directory: none }
      - run: echo << pipeline.id >>
      - run: { command: report, when: on_fail }
      - when:
          condition: << pipeline.parameters.x >>
          steps:
            - run: maybe
      - codecov/upload
  nightly:
    steps:
      - run: slow
  mac:
    macos: { xcode: '15' }
    steps:
      - run: xcodebuild
workflows:
  all:
    jobs:
      - test
      - mac: { requires: [test] }
      - node/test
  nightly:
    triggers: [{ schedule: { cron: x } }]
    jobs: [nightly]
";
        let want = [
            "MODE=x install all@.",
            "MODE=x install some@.",
            "MODE=x make test@.",
            "MODE=x npm test@web",
            "unknown MODE=x gone@.",
            "MODE=x echo ${{ pipeline.id }}@.",
            "occasion MODE=x report@.",
            "MODE=x maybe@. (a parameter of the pipeline)",
            "occasion slow@.",
            "machine xcodebuild@.",
            "- step `codecov/upload` action",
            "- job `nightly` occasion",
            "- job `node/test` action",
        ];
        assert_eq!(shown(".circleci/config.yml", text), want);
        assert_eq!(
            shown(".circleci/config.yml", "["),
            ["- `.circleci/config.yml` not_read"]
        );
    }

    #[test]
    fn azure() {
        let text = "trigger: [main]
variables: { cfg: Release }
jobs:
  - job: linux
    pool: { vmImage: ubuntu-latest }
    steps:
      - script: dotnet test -c $(cfg)
      - bash: x $(Build.Id) $(git ls-files)
        workingDirectory: web
        env: { A: b }
      - script: y
        continueOnError: true
      - script: z
        condition: eq(1, 2)
      - pwsh: Get-Item
      - task: NodeTool@0
  - job: win
    pool: { vmImage: windows-latest }
    steps:
      - script: w
  - template: t.yml
";
        let want = [
            "dotnet test -c Release@.",
            "A=b x ${{ Build.Id }} $(git ls-files)@web",
            "cannot_fail y@.",
            "z@. (eq(1, 2))",
            "machine Get-Item@.",
            "machine w@.",
            "- task `NodeTool@0` action",
            "- template `t.yml` not_read",
        ];
        assert_eq!(shown("azure-pipelines.yml", text), want);
        let dead = "trigger: none\npr: none\nsteps:\n  - script: x\n";
        assert_eq!(
            shown("azure-pipelines.yml", dead),
            ["occasion x@.", "- `azure-pipelines.yml` occasion"]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_no_panic(text in "[a-z:{}\\[\\]&*<>$() \\n-]{0,160}") {
            for file in [".circleci/config.yml", "azure-pipelines.yml"] {
                shown(file, &text);
            }
        }
    }
}
