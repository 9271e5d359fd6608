//! What a command verifies: the one inference of `init`, `import`, fallback, and of commands without a
//! verb. The table of tools decides, then the name of a task or script; a recipe is read one level
//! deep, for whether it writes, installs, or runs hooks, and for what an unclear name means.

use super::tree::Keys as _;
use crate::check::{CheckKey, CommandClass, ProposedCheck};
use crate::found::{CommandEnding, CommandOrigin, Place, SourceCommand, Task};
use crate::shell::ShellScope;
use crate::tasks::{self, Tasks};
use crate::tree::RepositoryTree;
use crate::words::{is_listed, listed, of_shell, quoted, words_of};
use crate::{body, fold, hooks, kinds, shell};
use vplan_base::path::RepoPath;
use vplan_base::word::has_word;
use vplan_check::Kind;
use vplan_check::tool::matched::{CommandReading, read};
use vplan_check::tool::table::{TaskVerb, ToolClass as Row, kept, task_word};
use vplan_check::tool::{Form, is_installed, layers, name, started};

/// Classifies a command.
pub fn classify(found: &SourceCommand, tree: &RepositoryTree) -> ProposedCheck {
    // What is not read has no words.
    if let (Some(why), true) = (&found.unknown, found.words.is_empty()) {
        return blank(found).out(why);
    }
    let one = classified(found, tree).or_else(|| script(found, tree));
    let one = one.or_else(|| unknown(found));
    let mut one = one.unwrap_or_else(|| blank(found).out("not a known tool"));
    one.is_service |= installs_itself(found, tree);
    if !matches!(one.class, CommandClass::Check | CommandClass::Instead(_)) {
        return one;
    }
    // The row may have removed the words that are not known.
    let unknown = one.found.unknown.as_ref();
    let why = match (unknown.filter(|it| remains(it, found, &one)), &found.ending) {
        (Some(unknown), _) if unknown.contains(' ') => Some(unknown.clone()),
        (Some(unknown), _) => Some(format!("`{unknown}` is known only to CI")),
        (None, CommandEnding::Ignored(how)) => Some(format!("cannot fail ({how})")),
        (None, CommandEnding::Background) => Some("runs in the background".to_owned()),
        _ => missing_lock(&found.words, tree).map(|lock| format!("git tracks no `{lock}`")),
    };
    if let Some(why) = why {
        one.class = CommandClass::Out(why);
    }
    // `cd out && cmake ..`: what is made outside of the sources has a folder of its own.
    let words = &one.found.words;
    if one.is_build
        && !tree.has_folder(&found.dir)
        && words.iter().any(|word| word.starts_with(".."))
    {
        let dir = quoted(&found.dir.to_string());
        let enter = format!("mkdir -p {dir} && cd {dir} && ");
        one.found.words = of_shell(&spelled(&enter, words));
        one.found.dir = RepoPath::root();
    }
    one
}

/// Whether a command installs the repository into the system or the home folder, where what follows finds it.
fn installs_itself(found: &SourceCommand, tree: &RepositoryTree) -> bool {
    const PLACES: [&str; 3] = ["$HOME", "${HOME", "/usr/local"];
    let Some((first, rest)) = found.words.split_first() else {
        return false;
    };
    let mut words = rest
        .iter()
        .filter(|word| !word.starts_with('-') && !word.contains('='));
    let is_builder = |word: &String| listed("make gmake ninja cmake meson", name(word));
    let file = found.dir.join(first.as_bytes()).ok();
    let text = file.and_then(|file| tree.texts.get(&file));
    let is_own = text.is_some_and(|text| PLACES.iter().any(|place| text.contains(place)));
    is_own && listed("install install.sh", name(first))
        || listed("sudo doas", first)
            && words.next().is_some_and(is_builder)
            && rest.iter().any(|word| listed("install --install", word))
}

/// Whether the words to propose still have what is not known; where the words do not show it, they do.
fn remains(unknown: &str, found: &SourceCommand, one: &ProposedCheck) -> bool {
    let has = |words: &[String]| words.iter().any(|word| word.contains(unknown));
    !has(&found.words) || has(&one.found.words)
}

/// The lock file on which a command insists, where git tracks none.
fn missing_lock(words: &[String], tree: &RepositoryTree) -> Option<&'static str> {
    let insists = words.iter().any(|w| w == "--locked" || w == "--frozen");
    let mut kept = words.iter().filter(|_| insists).flat_map(|word| kept(word));
    let lock = kept.find(|file| file.ends_with(".lock"))?;
    let is_lock = |file: &RepoPath| file.name() == lock.as_bytes();
    (!tree.files.iter().any(is_lock)).then_some(lock)
}

/// Reads a command by the table of tools, and by the configuration of its tool.
fn read_with(words: &[String], dir: &RepoPath, tree: &RepositoryTree) -> Option<CommandReading> {
    let mut reading = read(words)?;
    if let Some((key, form)) = reading.steered.take() {
        let mut folders = dir.ancestors().into_iter().chain([RepoPath::root()]);
        let is_set = |folder: &RepoPath, config: &str| {
            let part = tree.part(folder, config);
            part.is_some_and(|part| part.scalar_at(key) == "true")
        };
        let configs = reading.config.iter();
        if folders.any(|folder| configs.clone().any(|config| is_set(&folder, config))) {
            reading.form = form;
        }
    }
    Some(reading)
}

fn blank(found: &SourceCommand) -> ProposedCheck {
    ProposedCheck {
        found: found.clone(),
        is_service: found.ending == CommandEnding::Background,
        ..ProposedCheck::default()
    }
}

/// The words that decide, and the text of a shell in front of them: of `sh -c TEXT` those of the text, of
/// `test -z "$(X)"` those of X, of `X | xargs Y` those of Y.
fn deciding(words: &[String]) -> (Vec<String>, Option<&str>) {
    let text = match words {
        [shell, flag, text] if matches!(&**shell, "sh" | "bash") && flag == "-c" => text,
        _ => return (words.to_vec(), None),
    };
    if let Some(at) = text.find("| xargs ") {
        let (before, rest) = text.split_at_checked(at + 2).unwrap_or((text, ""));
        return (words_of(rest), Some(before));
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let tests = matches!(first, "test" | "[" | "[[" | "diff");
    let inner = ["<(", "$("].iter();
    let mut inner = inner.flat_map(|open| text.split(open).skip(1));
    let inner = inner.find(|rest| tests && !rest.starts_with("echo"));
    let inner = inner.map_or(&**text, |rest| rest.split(')').next().unwrap_or(rest));
    (words_of(inner), Some(""))
}

/// The words that send what a command did to a service.
const REPORTER: [&str; 3] = ["nx-cloud", "record", "--"];

/// By the table of tools.
fn classified(found: &SourceCommand, tree: &RepositoryTree) -> Option<ProposedCheck> {
    if let Some(at) = found.words.windows(3).position(|words| words == REPORTER) {
        let mut found = found.clone();
        found.words.drain(at..at + REPORTER.len());
        return classified(&found, tree);
    }
    let (words, shell) = deciding(&found.words);
    let reading = read_with(&words, &found.dir, tree)?;
    let (program, subcommand) = &reading.key;
    if let ("tox", "", Some(list)) = (&**program, &**subcommand, found.env.get("TOXENV")) {
        let mut named = found.clone();
        let words = &mut named.words;
        let end = words
            .iter()
            .position(|word| word == "--")
            .unwrap_or(words.len());
        words.splice(end..end, ["-e".to_owned(), list.clone()]);
        named.env.remove("TOXENV");
        return classified(&named, tree);
    }
    if let ("tox", Some(unknown)) = (&**program, &found.unknown)
        && let Some(tasks) = tasks::of_program(tree, program, &found.dir)
        && let Some(words) = tasks::tox::resolved(&tasks.all, &found.words, unknown)
    {
        let known = SourceCommand {
            words,
            unknown: None,
            ..found.clone()
        };
        let mut one = classified(&known, tree)?;
        one.notes.push(format!("`{unknown}` is known only to CI"));
        return Some(one);
    }
    let mut one = ProposedCheck {
        verb: reading.verb.unwrap_or(Kind::Run),
        paths: reading.paths,
        name: reading.name.clone(),
        key: key(found, &reading, tree),
        tools: [tool_of(&reading)].into(),
        is_uncounted: reading.verb == Some(Kind::Test) && reading.formats.is_empty(),
        is_build: is_build(program, subcommand, reading.verb),
        ..blank(found)
    };
    one.is_service |= matches!(reading.class, Row::Service(_));
    if let Some((manager, id)) = hooks_of(&words) {
        let mut hooks = hooks::read_started(tree, manager, id);
        for one in &mut hooks {
            one.origin = found.origin.min(one.origin);
        }
        one.class = CommandClass::Instead(hooks);
        return Some(one);
    }
    Some(match reading.class {
        Row::Plumbing | Row::Launcher => match script(found, tree) {
            Some(script) => script,
            None if starts_file(&words, program) => {
                one.out("starts a file that git does not track")
            }
            None => one,
        },
        Row::Never(reason) | Row::Service(reason) => one.out(reason),
        Row::Setup(how) => ProposedCheck {
            class: CommandClass::Setup(how),
            ..one
        },
        Row::Tool => tool(one, found, &reading, shell),
        Row::Task => task(one, found, &reading, shell, tree),
    })
}

/// Whether an interpreter is given a file.
fn starts_file(words: &[String], program: &str) -> bool {
    const SCRIPTS: &str = "*.sh *.bash *.py *.js *.mjs *.cjs *.ts *.rb *.pl";
    let is_script = |word: &String| !word.contains(' ') && listed(SCRIPTS, word);
    is_listed("interpreters", program) && words.iter().skip(1).any(is_script)
}

/// Why a command that only its output tells of is not proposed.
const SILENT: &str = "cannot fail (it exits with 0 whatever it finds)";

fn tool(
    mut one: ProposedCheck,
    found: &SourceCommand,
    reading: &CommandReading,
    shell: Option<&str>,
) -> ProposedCheck {
    let is_compared = found.ending == CommandEnding::TreeCompared;
    one.class = CommandClass::Check;
    let inner = found.words.join(" ");
    let is_whole = |end| found.text.contains(&format!("$({inner}{end}"));
    let is_plain = !inner.contains(['$', '"', '\'']);
    // Of a number only nothing is clear.
    let is_none = found.text.split([' ', '"']).any(|word| word == "0") && is_whole(" | wc -l)");
    let is_read = is_plain && (is_whole(")") || is_none);
    if let (true, None, Some(words)) = (reading.lists && is_read, shell, reading.form.words()) {
        one.found.words = must_print_nothing("", words);
        (one.found.text, one.found.unknown) = (inner, None);
        return one;
    }
    match (&reading.form, shell) {
        (Form::AsWritten(_), Some(before)) if reading.silent && !before.is_empty() => {
            return one.out(SILENT);
        }
        (Form::AsWritten(_), Some(_)) => {}
        // Where its output is compared, that is the reason.
        (Form::AsWritten(_), None) if reading.silent && found.unknown.is_none() => {
            return one.out(SILENT);
        }
        (Form::Checking(words), before) if reading.silent && before != Some("") => {
            one.found.words = must_print_nothing(before.unwrap_or_default(), words);
            one.notes.push(writes(&found.words));
        }
        (Form::AsWritten(words), None) => one.found.words.clone_from(words),
        (Form::Checking(words), None) => {
            one.found.words.clone_from(words);
            one.notes.push(writes(&found.words));
        }
        (Form::Checking(words), Some(before)) if !before.is_empty() => {
            one.found.words = of_shell(&spelled(before, words));
            one.notes.push("this is the checking form".to_owned());
        }
        _ if is_compared => one.unchanged = true,
        (Form::Checking(_), Some(_)) => return one.out("it writes"),
        (Form::None(reason), _) => return one.out(reason),
    }
    one
}

/// Words as shell text, after the text that precedes them.
fn spelled(before: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("{before}{}", words.join(" "))
}

/// A command that fails where these words print something.
fn must_print_nothing(before: &str, words: &[String]) -> Vec<String> {
    let text = spelled(before, words);
    let text = format!("found=$({text}) && echo \"$found\" && test -z \"$found\"");
    ["sh", "-c", &text].map(str::to_owned).to_vec()
}

/// The program of a command, and its subcommand.
fn tool_of(reading: &CommandReading) -> String {
    let (program, subcommand) = &reading.key;
    format!("{program} {subcommand}").trim().to_owned()
}

fn writes(words: &[String]) -> String {
    format!("`{}` writes; this is its checking form", words.join(" "))
}

/// A command of a recipe and its meaning.
struct Step {
    found: SourceCommand,
    reading: Option<CommandReading>,
}

impl Step {
    fn is(&self, holds: impl Fn(&CommandReading) -> bool) -> bool {
        self.reading.as_ref().is_some_and(holds)
    }

    fn writes(&self) -> bool {
        self.is(|r| r.class == Row::Tool && !matches!(r.form, Form::AsWritten(_)))
    }

    fn installs(&self) -> bool {
        // `pnpm dlx X` downloads its tool.
        self.found.words.iter().any(|word| word == "dlx")
            || self.is(|reading| matches!(reading.class, Row::Setup(_)))
    }

    /// Words behind the launcher that its tool needs outside of the runner.
    fn launched(&self, words: &[String]) -> Vec<String> {
        [words_of(&self.found.label), words.to_vec()].concat()
    }
}

/// A task of a runner: by its name, and by its recipe where that is read.
fn task(
    mut one: ProposedCheck,
    found: &SourceCommand,
    reading: &CommandReading,
    shell: Option<&str>,
    tree: &RepositoryTree,
) -> ProposedCheck {
    let name = reading.task.as_deref().unwrap_or_default();
    // `diff <(echo -n) <(task lint)`: the task alone would not fail.
    let is_inner = shell.is_some() && found.words.last().is_some_and(|text| text.contains('('));
    if let (Some(words), false) = (reading.form.words(), is_inner) {
        one.found.words = words.to_vec();
    }
    one.class = CommandClass::Check;
    let program = &*reading.key.0;
    if listed("npm pnpm yarn bun", program) && tasks::manager(tree, &found.dir) != program {
        one.found.oddness += 1;
    }
    let (steps, owns) = recipe(found, reading, tree);
    let compares = steps.iter().any(|step| step.found.compares_tree);
    one.unchanged = compares || found.ending == CommandEnding::TreeCompared;
    let tools = steps.iter().filter_map(|step| step.reading.as_ref());
    one.tools.extend(tools.map(tool_of));
    let counts = |r: &CommandReading| !r.formats.is_empty() && r.verb == Some(Kind::Test);
    one.is_uncounted = !steps.iter().any(|step| step.is(counts)) && reading.formats.is_empty();
    let mut all = steps.iter();
    let has_hooks = all.any(|step| hooks_of(&step.found.words).is_some());
    let is_known = |step: &Step| {
        let runs = |r: &CommandReading| is_listed("interpreters", &r.key.0);
        step.is(|r| {
            r.class == Row::Tool && r.verb.is_some() || r.class == Row::Plumbing && !runs(r)
        })
    };
    let is_known = steps.iter().all(is_known);
    let prints = |step: &Step| step.is(|r| r.class == Row::Plumbing && !r.key.1.is_empty());
    if !steps.is_empty() && steps.iter().all(prints) {
        return one.out("its recipe verifies nothing");
    }
    let is_work = |step: &Step| !step.is(|reading| reading.class == Row::Plumbing);
    let work: Vec<Step> = steps.into_iter().filter(is_work).collect();
    let parts = work.iter().map(|step| {
        let mut command = step.found.clone();
        command.env = found.env.clone();
        command.env.extend(step.found.env.clone());
        command.identities()
    });
    one.parts = parts.collect();
    let keys = work
        .iter()
        .map(|step| Some(key(&step.found, step.reading.as_ref()?, tree)));
    one.works = keys.collect::<Option<_>>().unwrap_or_default();
    if has_hooks {
        return instead(one, found, &work, "it starts hooks");
    }
    if !owns && work.iter().any(Step::installs) {
        return instead(one, found, &work, "it installs");
    }
    if work.iter().any(Step::writes) {
        let has_form = |step: &Step| step.is(|r| matches!(r.form, Form::Checking(_)));
        match (&*work, owns) {
            ([step], false) if !one.unchanged || has_form(step) => {
                return checking(one, found, step);
            }
            _ if one.unchanged => {}
            _ => return instead(one, found, &work, "it writes"),
        }
    }
    let said = match (&*reading.key.0, name) {
        (_, "") => TaskVerb::Unclear,
        // The standard target of GNU makefiles that runs the tests.
        ("make" | "gmake", "check" | "distcheck") if work.is_empty() => TaskVerb::Test,
        ("make" | "gmake", "check") => TaskVerb::Unclear,
        // CI ends what it starts: it does not watch.
        (_, name) if found.origin == CommandOrigin::Ci && task_word(name) == TaskVerb::Idle => {
            let mut parts = name.split([':', '-', '_']).map(task_word);
            parts
                .find(|part| *part == TaskVerb::Test)
                .unwrap_or(TaskVerb::Idle)
        }
        (_, name) => task_word(name),
    };
    let of_make = reading.key.0 == "make" && name.ends_with("check");
    let is_plain = name == "check" || task_word(name) == TaskVerb::Unclear;
    let by_make = (of_make && is_plain).then_some(Kind::Test);
    let has = |verb: &Kind| work.iter().any(|step| step.is(|r| r.verb == Some(*verb)));
    let by_tools = [Kind::Test, Kind::Lint, Kind::Compile]
        .into_iter()
        .find(has);
    let verb = match (said, reading.verb) {
        // A name that says test is trusted less than a recipe of known tools.
        (TaskVerb::Test, _) if is_known => by_make.or(by_tools).or(reading.verb),
        (TaskVerb::Test | TaskVerb::Lint | TaskVerb::Compile, verb @ Some(_)) => by_make.or(verb),
        (TaskVerb::Test, None) => Some(Kind::Test),
        (TaskVerb::Writes, _) if one.unchanged => Some(one.verb),
        (TaskVerb::Writes | TaskVerb::Idle, _) => {
            return one.out(&by_name(said).unwrap_or_default());
        }
        _ => {
            // A name such as `ci` counts where its step says so, or a tool is known in it.
            let label = task_word(&found.label).kind();
            let verb = by_tools.or(label).or(by_make).or(reading.verb);
            // Names that have two meanings.
            let usual = match name {
                "check" => Some(Kind::Test),
                name => listed("ci all verify validate default", name).then_some(Kind::Run),
            };
            verb.or(usual).or(name.is_empty().then_some(Kind::Run))
        }
    };
    match verb {
        Some(verb) => one.verb = verb,
        None if one.unchanged => {}
        None => return one.out("its name does not say what it does"),
    }
    one.is_uncounted &= one.verb == Kind::Test;
    one
}

/// Why a task or script is no check, by its name.
fn by_name(said: TaskVerb) -> Option<String> {
    let why = match said {
        TaskVerb::Never(reason) => reason,
        TaskVerb::Writes => "writes",
        TaskVerb::Idle => "verifies nothing",
        TaskVerb::Unclear => return Some("a script whose name does not say what it does".into()),
        _ => return None,
    };
    Some(format!("{why}, by its name"))
}

/// The hooks that a command starts.
fn hooks_of(words: &[String]) -> Option<(kinds::Kind, Option<&str>)> {
    let (program, rest) = words.get(started(words).at()..)?.split_first()?;
    hooks::started(name(program), rest)
}

/// The one command of a task that writes, in its checking form.
fn checking(mut one: ProposedCheck, found: &SourceCommand, step: &Step) -> ProposedCheck {
    let Some((reading, Form::Checking(words))) = step.reading.as_ref().map(|r| (r, &r.form)) else {
        return one.out("it writes, and has no form that only checks");
    };
    one.found.words = step.launched(words);
    one.found.dir.clone_from(&step.found.dir);
    one.unchanged = false;
    one.verb = reading.verb.unwrap_or(Kind::Lint);
    one.notes.push(writes(&found.words));
    one
}

/// Why a command of a recipe of which only parts check is not proposed.
const IN_RECIPE: &str = "not a known tool, in a recipe that does more than check";

/// The commands of a recipe in its place; those that no row knows are only named.
fn instead(
    mut one: ProposedCheck,
    found: &SourceCommand,
    work: &[Step],
    why: &str,
) -> ProposedCheck {
    let checks = |step: &&Step| step.is(|reading| !matches!(reading.form, Form::None(_)));
    let own = work.iter().filter(|step| !step.installs());
    if !own.clone().any(|step| checks(&step)) {
        return one.out(why);
    }
    let unread = |step: &Step| step.reading.is_none().then(|| IN_RECIPE.to_owned());
    let own = own.map(|step| SourceCommand {
        words: step.launched(&step.found.words),
        origin: found.origin,
        job: found.job.clone(),
        label: found.label.clone(),
        paths: found.paths.clone(),
        oddness: found.oddness,
        unknown: step.found.unknown.clone().or_else(|| unread(step)),
        ..step.found.clone()
    });
    one.class = CommandClass::Instead(own.collect());
    one
}

/// The recipe of a task, one level deep, and whether its runner makes its own environment. The label
/// of each command is the launcher that it needs outside of the runner.
fn recipe(
    found: &SourceCommand,
    reading: &CommandReading,
    tree: &RepositoryTree,
) -> (Vec<Step>, bool) {
    let (program, _) = &reading.key;
    let owns = matches!(program.as_str(), "tox" | "nox" | "hatch");
    let layers = layers(&found.words, Some(&found.dir));
    let runner = layers.iter().find(|layer| layer.program == *program);
    // No folder where options lead to several packages.
    let dir = runner.map_or(Some(&found.dir), |runner| runner.dir.as_ref());
    let Some(tasks) = dir.and_then(|dir| tasks::of_program(tree, program, dir)) else {
        return (Vec::new(), owns);
    };
    let name = reading.task.as_deref().unwrap_or_default();
    let name = name.split('(').next().unwrap_or(name);
    let names: Vec<&str> = match (tasks.runner.key, name, tasks.all.first()) {
        ("make" | "just", "", Some(first)) => vec![&first.name],
        ("just", ..) => reading.positional.iter().map(String::as_str).collect(),
        _ => name.split(' ').collect(),
    };
    let named = names.iter().filter_map(|name| tasks.task(name).cloned());
    let started: Vec<Task> = match &**program {
        "tox" => tasks::tox::started(&tasks.all, &found.words, &found.env),
        _ => named.collect(),
    };
    let bodies = started.iter().flat_map(|task| tasks.body(task));
    let steps = bodies.flat_map(|(line, text)| split(found, &tasks, tree, *line, text));
    (steps.collect(), owns)
}

fn split(
    found: &SourceCommand,
    tasks: &Tasks,
    tree: &RepositoryTree,
    line: u32,
    text: &str,
) -> Vec<Step> {
    let launcher = match tasks.runner.key {
        "package-json" => hooks::launcher(tasks::manager(tree, &tasks.dir)),
        _ => "",
    };
    let start = Place::new(&tasks.file, line);
    let step = |mut command: SourceCommand| {
        command.place = start.below(command.place.line);
        command.origin = found.origin;
        let mut found = command;
        if found.text.contains("{{") {
            found.unknown = Some("a parameter of the recipe".to_owned());
        }
        let reading = read_with(&deciding(&found.words).0, &found.dir, tree);
        let first = found.words.first().filter(|word| *word != "node");
        let is_tool = |r: &CommandReading| r.class == Row::Tool && first == Some(&r.key.0);
        if reading.as_ref().is_some_and(is_tool) {
            launcher.clone_into(&mut found.label);
        }
        Step { found, reading }
    };
    let commands = shell::split(text, &ShellScope::new(&tasks.dir)).into_iter();
    commands.map(step).collect()
}

/// Whether later commands of its job use what a command makes.
fn is_build(program: &str, subcommand: &str, verb: Option<Kind>) -> bool {
    let mut words = subcommand.split(|c: char| !c.is_alphanumeric());
    let named = words.any(|word| listed("build compile configure bootstrap", word));
    let tests = verb.is_some_and(|verb| verb != Kind::Compile);
    let is_target = program == "cmake" && !subcommand.is_empty();
    !tests && !is_target && (is_listed("makers", program) || verb == Some(Kind::Compile) && named)
}

/// A tracked script: by its name, its plain arguments, then the step's name and its folder.
fn script(found: &SourceCommand, tree: &RepositoryTree) -> Option<ProposedCheck> {
    let (words, _) = deciding(&found.words);
    let tracked = |word: &String| {
        let path = found.dir.join(word.as_bytes()).ok();
        path.filter(|path| tree.files.contains(path))
    };
    let runs = |word: &&String| {
        let runs = is_listed("interpreters", word) || word.starts_with('-') || word.contains('=');
        runs && tracked(word).is_none()
    };
    let at = words.iter().take_while(runs).count();
    let path = tracked(words.get(at)?)?;
    if words.last().is_some_and(|word| word == "--version") {
        return Some(blank(found));
    }
    let file = String::from_utf8_lossy(path.name()).into_owned();
    let shown = file.trim_start_matches('.');
    let stem = shown
        .rsplit_once('.')
        .map_or(shown, |(stem, _)| stem)
        .to_owned();
    let is_plain = |c: char| c.is_alphanumeric() || "-_:".contains(c);
    let plain = |word: &&String| word.chars().all(is_plain) && !word.starts_with('-');
    let arguments: Vec<String> = words.iter().skip(at + 1).filter(plain).cloned().collect();
    let folder = String::from_utf8_lossy(path.folder().name()).into_owned();
    let said = match task_word(&arguments.join(" ")) {
        // `docs.py update` updates.
        asked @ (TaskVerb::Never(_) | TaskVerb::Writes | TaskVerb::Idle) => asked,
        asked => {
            let [stem, label, folder] = [&stem, &found.label, &folder].map(|name| task_word(name));
            let mut all = [stem, asked, label, folder].into_iter();
            all.find(|verb| *verb != TaskVerb::Unclear).unwrap_or(asked)
        }
    };
    // `gen.sh --verify` does not generate.
    let mut options = words.iter().skip(at + 1);
    let said = match said {
        TaskVerb::Writes | TaskVerb::Unclear
            if options.any(|word| listed("--check --verify --validate", word)) =>
        {
            TaskVerb::Lint
        }
        said => said,
    };
    let of_hook = hooks::is_file(&found.place.file);
    let is_shell = |text: &String| {
        let first = text.lines().next().unwrap_or_default();
        listed("*.sh *.bash", &file) || first.starts_with("#!") && first.contains("sh")
    };
    let text = tree
        .texts
        .get(&path)
        .filter(|text| !of_hook && is_shell(text));
    let (body, compares) = text.map_or((Err(None), false), |text| body::verb(text));
    // What CI starts plainly is trusted unless something bad is known of it.
    let is_trusted =
        found.origin == CommandOrigin::Ci && !of_hook && !found.text.contains(['>', '|']);
    let (verb, why) = match (said, body) {
        (TaskVerb::Test | TaskVerb::Lint, _) => (said.kind(), None),
        // Most scripts of hooks rewrite: one must say that it tests or lints.
        _ if of_hook => (None, by_name(TaskVerb::Unclear)),
        (TaskVerb::Unclear | TaskVerb::Idle, Ok(verb)) => (Some(verb), None),
        (TaskVerb::Unclear | TaskVerb::Compile, Err(Some(why))) => (None, Some(why.to_owned())),
        (TaskVerb::Unclear, Err(None)) if is_trusted => (Some(Kind::Run), None),
        _ => (said.kind(), by_name(said)),
    };
    let is_unclear = |name: &str| task_word(name) == TaskVerb::Unclear;
    let first = arguments
        .first()
        .filter(|first| is_unclear(&stem) && !is_unclear(first));
    let unchanged = found.ending == CommandEnding::TreeCompared || compares;
    if let Some(why) = why.filter(|_| !unchanged || matches!(said, TaskVerb::Never(_))) {
        return Some(blank(found).out(&why));
    }
    let verb = verb.unwrap_or_default();
    let mut one = own_program(found, verb, first.unwrap_or(&stem), path.to_string());
    if verb == Kind::Run && !unchanged {
        one.notes.push("nothing says what it does".to_owned());
    }
    one.unchanged = unchanged;
    one.is_build = verb == Kind::Compile;
    // A script is often named by the tool that it starts.
    one.tools.insert(stem);
    one.key.operands = arguments;
    Some(one)
}

/// A check of a program of the repository.
fn own_program(found: &SourceCommand, verb: Kind, name: &str, tool: String) -> ProposedCheck {
    ProposedCheck {
        class: CommandClass::Check,
        verb,
        name: name.to_owned(),
        paths: "code",
        key: CheckKey {
            verb,
            tool,
            dir: found.dir.clone(),
            ..CheckKey::default()
        },
        is_uncounted: verb == Kind::Test,
        ..blank(found)
    }
}

/// A program that is not known, which CI starts: one that was built before, whose name says that it tests,
/// or one that the project installs, whose words say nothing bad.
fn unknown(found: &SourceCommand) -> Option<ProposedCheck> {
    let (words, _) = deciding(&found.words);
    let at = started(&words).at();
    let (program, rest) = words.get(at..)?.split_first()?;
    let (folder, file) = program.rsplit_once('/').unwrap_or(("/", program));
    let is_built = !folder.starts_with('/') && task_word(file) == TaskVerb::Test;
    let texts = [program, &found.label].into_iter().chain(rest);
    let said: Vec<TaskVerb> = texts.map(|text| task_word(text)).collect();
    let is_bad = |said| matches!(said, TaskVerb::Never(_) | TaskVerb::Writes | TaskVerb::Idle);
    let is_trusted = found.origin == CommandOrigin::Ci && !said.iter().copied().any(is_bad);
    let verb = said.iter().find_map(|said| said.kind());
    let verb = verb.unwrap_or(Kind::Run);
    let verb = if is_built { Kind::Test } else { verb };
    let mut one = own_program(found, verb, name(program), name(program).to_owned());
    one.key.operands = rest.to_vec();
    (is_built || is_trusted && is_installed(&words)).then_some(one)
}

/// The key of a command.
fn key(found: &SourceCommand, reading: &CommandReading, tree: &RepositoryTree) -> CheckKey {
    let program = &reading.key.0;
    let mut key = CheckKey {
        verb: reading.verb.unwrap_or(Kind::Run),
        dir: found.dir.clone(),
        ..CheckKey::default()
    };
    // The folders of builds differ by cell of a matrix; one job's chain stays.
    let builds = listed("cmake ctest meson ninja", program);
    if builds && program != "ninja" && !tree.has_folder(&found.dir) {
        key.dir = RepoPath::root();
    }
    // A phase of Maven and a task such as `check` contain the tests of the earlier ones.
    let is_jvm_test =
        listed("mvn mvnw gradle gradlew", program) && reading.verb == Some(Kind::Test);
    match &reading.task {
        task if is_jvm_test && task.as_deref().is_none_or(is_lifecycle) => {
            key.tool.clone_from(program);
        }
        Some(task) => {
            // A session of nox has its parameters in parentheses.
            let name = task.split('(').next().unwrap_or(task);
            // A script is the same whatever starts it.
            let is_npm = listed("pnpm yarn bun", program);
            let program = if is_npm { "npm" } else { program };
            key.tool = format!("{program} {}", fold::without_versions(name));
            let is_other = |word: &&String| !word.contains('=') && !has_word(task, word.as_bytes());
            let operands = reading.positional.iter().filter(is_other);
            key.operands = operands.cloned().collect();
        }
        None => {
            key.tool = tool_of(reading);
            let operands = reading.positional.iter().map(|w| w.trim_end_matches('/'));
            let operands = operands.filter(|word| *word != "." && !word.contains('='));
            key.operands = operands.map(str::to_owned).collect();
        }
    }
    if builds {
        key.operands.clear();
    }
    options(&found.words, &mut key);
    key
}

/// Whether all tasks of Gradle or phases of Maven are those that every project has, of which the later ones
/// contain the earlier ones, as the default goal does: a task such as `nativeTest` is work of its own.
fn is_lifecycle(tasks: &str) -> bool {
    const TASKS: &str = "clean assemble compile test check build package verify install";
    let mut tasks = tasks.split(' ').map(|task| task.rsplit(':').next());
    tasks.all(|task| task.is_none_or(|task| task.is_empty() || listed(TASKS, task)))
}

/// Packages, profiles and features.
fn options(words: &[String], key: &mut CheckKey) {
    const BUILDERS: &str = "cargo* go cmake*";
    const PACKAGERS: &str = "cargo* npm pnpm yarn bun turbo";
    const PACKAGES: &str =
        "-p --package --profile -w --workspace workspace --filter --manifest-path";
    let program = key.tool.split(' ').next().unwrap_or_default();
    // A property that is a word chooses what is tested; a version is that of a tool.
    let is_property = |value: &str| {
        !matches!(value, "true" | "false") && !value.contains(|c: char| c.is_ascii_digit())
    };
    let own = words.iter().take_while(|word| *word != "--");
    for (at, word) in own.enumerate() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let next = words.get(at + 1).filter(|next| !next.starts_with('-'));
        let with_value = match (value, next) {
            ("", Some(next)) => format!("{name} {next}"),
            _ => format!("{name} {value}"),
        };
        let is = |programs: &str, names: &str| listed(programs, program) && listed(names, name);
        if is("*", "--all-features --no-default-features")
            || is("gradle*", "-P*") && !value.is_empty() && is_property(value)
        {
            key.features.insert(word.clone());
        // Tests in a browser are others than those without one.
        } else if is(BUILDERS, "--release --doc --examples --build") || is("*", "--browser") {
            key.options.insert(name.to_owned());
        } else if is(
            BUILDERS,
            "--features -F -tags --tags --feature-powerset -fuzz --fuzz",
        ) {
            key.features.insert(with_value);
        } else if is(PACKAGERS, PACKAGES) && !with_value.ends_with(" ./Cargo.toml") {
            key.options.insert(with_value);
        }
    }
}

#[cfg(test)]
mod tests;
