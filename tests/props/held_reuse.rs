//! Reuse of real runs, under real confinement: small generated programs read content, look for files
//! that are not there, list folders, read HOME, and remember in a build folder, while files change
//! between the runs. Where a pass is reused, a fresh run does the same. Unconfined, the same programs
//! are found out by `--observe`.

use crate::shared::Store;
use crate::support::{Project, Ran, SYSTEM_PATH};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner, contextualize_config};
use serde_json::Value;
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;

/// What a level holds a step to; the law is claimed for these.
#[derive(Clone, Copy, Debug)]
struct Level {
    word: &'static str,
    /// Whether what is not declared does not exist for it, so that names may decide, too.
    hides_names: bool,
}

const HELD: [Level; 2] = [
    Level {
        word: "files",
        hides_names: false,
    },
    Level {
        word: "sealed",
        hides_names: true,
    },
];
const NONE: Level = Level {
    word: "none",
    hides_names: false,
};

const FILES: [&str; 6] = ["src/a", "src/b", "src/sub/c", "data/d", "other", "new"];
/// Those of them that are there in the beginning.
const THERE: usize = 5;
const INPUTS: [&[&str]; 5] = [
    &["src/**"],
    &["src/a", "other"],
    &["data/*", "src/sub/**"],
    &["**"],
    &["new", "src/b"],
];
const FOLDERS: [&str; 3] = ["src", "data", "."];
/// It is run by Python, so that it calls nothing but what it says.
const INTERPRETER: &str = "/usr/bin/python3";

/// What a program does; the result of each decides its output and its end.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Read(usize),
    ReadHome,
    /// A counter in a folder that git ignores.
    Remember,
    /// Whether a file is there.
    Ask(usize),
    List(usize),
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Write(usize, u8),
    Remove(usize),
    Home(Option<u8>),
    Nothing,
}

#[derive(Clone, Debug)]
struct Story {
    program: Vec<Instruction>,
    inputs: &'static [&'static str],
    /// It says that it reads HOME.
    reads_home: bool,
    edits: Vec<Edit>,
}

fn story(level: Level) -> impl Strategy<Value = Story> {
    let names = u32::from(level.hides_names);
    let instruction = prop_oneof![
        6 => (0..FILES.len()).prop_map(Instruction::Read),
        2 => Just(Instruction::ReadHome),
        1 => Just(Instruction::Remember),
        names => (0..FILES.len()).prop_map(Instruction::Ask),
        names => (0..FOLDERS.len()).prop_map(Instruction::List),
    ];
    let edit = prop_oneof![
        4 => (0..FILES.len(), 0..3_u8).prop_map(|(file, content)| Edit::Write(file, content)),
        2 => (0..FILES.len()).prop_map(Edit::Remove),
        2 => prop::option::of(0..3_u8).prop_map(Edit::Home),
        1 => Just(Edit::Nothing),
    ];
    (
        prop::collection::vec(instruction, 1..6),
        prop::sample::select(&INPUTS[..]),
        any::<bool>(),
        prop::collection::vec(edit, 2..6),
    )
        .prop_map(|(program, inputs, reads_home, edits)| Story {
            program,
            inputs,
            reads_home,
            edits,
        })
}

/// What is refused and what is not there is the same to it: it only looks at content.
const PRELUDE: &str = r#"import os
total, said = 0, []
def note(value):
    global total
    said.append(value)
    total += sum(value.encode())
def attempt(act):
    try:
        note(act())
    except OSError:
        note("-")
def read(path):
    with open(path) as file:
        return file.read()
def remember():
    os.makedirs("build", exist_ok=True)
    count = read("build/mem") if os.path.exists("build/mem") else ""
    with open("build/mem", "w") as file:
        file.write(count + "x")
    return count
"#;

impl Instruction {
    fn line(self) -> String {
        let act = match self {
            Instruction::Read(file) => format!("read({:?})", FILES[file]),
            Instruction::ReadHome => "read(os.environ[\"HOME\"] + \"/conf\")".to_owned(),
            Instruction::Remember => "remember()".to_owned(),
            Instruction::Ask(file) => format!("str(os.path.exists({:?}))", FILES[file]),
            Instruction::List(folder) => {
                format!("\" \".join(sorted(os.listdir({:?})))", FOLDERS[folder])
            }
        };
        format!("attempt(lambda: {act})\n")
    }
}

impl Story {
    fn program(&self) -> String {
        let lines: String = self.program.iter().map(|one| one.line()).collect();
        // A pass is what is reused: it does not pass for each state.
        format!("{PRELUDE}{lines}print(said)\nraise SystemExit(total % 5 == 4)\n")
    }

    fn project(&self, level: Level) -> Project {
        let quoted = |all: &[&str]| {
            let all = all.iter().map(|one| format!(" {one:?}"));
            all.collect::<String>()
        };
        let reads = match (level.word, self.reads_home) {
            ("none", _) | (_, false) => "",
            _ => "  reads \"~/conf\"\n",
        };
        let contract = format!(
            "vplan 1\ncheck one {{\n  run {INTERPRETER} -I -S program.py\n  inputs \"program.py\"{}\n  \
             sandbox {}\n{reads}}}\n",
            quoted(self.inputs),
            level.word
        );
        let project = Project::contract(&contract).env("PATH", SYSTEM_PATH);
        project
            .write(".gitignore", ".vplan/\nbuild/\n")
            .write("program.py", self.program())
            .write("../home/conf", "0");
        for file in &FILES[..THERE] {
            project.write(file, "0");
        }
        project.commit("begin");
        project
    }

    /// Whether a file of the repository is among the inputs.
    fn selects(&self, file: &str) -> bool {
        let mut globs = self.inputs.iter().map(|glob| Glob::parse(glob).unwrap());
        globs.any(|glob| glob.matches(&path(file)))
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn apply(project: &Project, edit: Edit) {
    let (path, content) = match edit {
        Edit::Write(file, content) => (FILES[file], Some(content)),
        Edit::Remove(file) => (FILES[file], None),
        Edit::Home(content) => ("../home/conf", content),
        Edit::Nothing => return,
    };
    if let Some(content) = content {
        project.write(path, content.to_string());
    } else if project.exists(path) {
        project.remove(path);
    }
}

/// How the check ended, and what it printed.
fn end(project: &Project, ran: &Ran) -> (String, String) {
    let report = ran.json();
    let step = &report["steps"][0];
    // Shown if the test fails.
    if let Some(why) = step["notReused"].as_str() {
        println!("not reused: {why}");
    }
    let run = step["cachedFrom"]["runId"].as_str();
    let run = run.or(report["runId"].as_str()).unwrap();
    let log = step["log"].as_str().unwrap_or("logs/one.1.log");
    let log = project.read(&format!(".vplan/runs/{run}/{log}"));
    (step["status"].as_str().unwrap().to_owned(), log)
}

/// Runs fresh where a pass was used after an edit that printed `log`. Returns what differs.
fn differs_fresh(project: &Project, edit: Edit, log: &str) -> Option<String> {
    let args = ["run", "--all", "--format", "json", "--no-cache"];
    let (status, printed) = end(project, &project.run(&args));
    let is_same = status == "passed" && printed == log;
    (!is_same).then(|| format!("after {edit:?}: {log:?}, {status} {printed:?}"))
}

/// Plays a story. Returns how often a pass was reused, and the first time that a fresh run did not do the
/// same.
fn play(level: Level, story: &Story) -> (usize, Option<String>) {
    let project = story.project(level);
    let run = || {
        end(
            &project,
            &project.run(&["run", "--all", "--format", "json"]),
        )
    };
    let mut reused = 0;
    run();
    for edit in &story.edits {
        apply(&project, *edit);
        let (status, log) = run();
        if status != "cached" {
            continue;
        }
        reused += 1;
        let differs = differs_fresh(&project, *edit, &log);
        if differs.is_some() {
            return (reused, differs);
        }
    }
    (reused, None)
}

/// So many stories start real programs: few, and more where `PROPTEST_CASES` asks for many of all.
fn stories() -> Config {
    let asked = contextualize_config(config(6));
    Config {
        cases: (asked.cases / 40).clamp(6, 100),
        max_shrink_iters: 24,
        ..asked
    }
}

/// Whether programs can be held to the levels here.
fn is_possible() -> bool {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let tried = HELD.iter().all(|level| {
        let args = ["audit", "--machine", "--require", level.word];
        project.run(&args).exit == Some(0)
    });
    let is_possible = tried && std::path::Path::new(INTERPRETER).exists();
    if !is_possible {
        eprintln!("SKIPPED: programs that are held to what they declare, or {INTERPRETER}");
    }
    is_possible
}

#[test]
fn what_is_held_to_its_inputs_is_reused_like_a_fresh_run() {
    if !is_possible() {
        return;
    }
    let mut reused = 0;
    for level in HELD {
        let result = TestRunner::new(stories()).run(&story(level), |story| {
            let (_, differs) = play(level, &story);
            differs.map_or(Ok(()), |differs| Err(TestCaseError::fail(differs)))
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", level.word));
        // That something is reused at all is told by one story that must.
        let same = Story {
            program: vec![Instruction::Read(0), Instruction::Read(4)],
            inputs: INPUTS[0],
            reads_home: false,
            edits: vec![Edit::Write(4, 1), Edit::Remove(4), Edit::Home(Some(1))],
        };
        reused += play(level, &same).0;
    }
    assert_eq!(reused, 3 * HELD.len());
}

/// Returns a story, and which of its edits another machine makes as well.
fn shared_stories(level: Level) -> impl Strategy<Value = (Story, Vec<bool>)> {
    let edits = |story: &Story| story.edits.len();
    story(level).prop_flat_map(move |story| {
        let made = prop::collection::vec(prop::bool::weighted(0.8), edits(&story));
        (Just(story), made)
    })
}

/// Plays a story on two machines, of which one keeps its passes for the other. Returns how often one was used, and
/// the first time that a fresh run did not do the same. What it may read in HOME stays as it is: the scope promises that
/// it is the same.
fn play_shared(level: Level, story: &Story, made: &[bool]) -> (usize, Option<String>) {
    let store = Store::new();
    let machine = || {
        let project = story.project(level);
        let contract = project.read("contracts/verify.vplan");
        let at = contract.rfind('}').unwrap();
        let shared = format!(
            "{}  shared\n}}\ntoolchain python: {INTERPRETER} --version\n",
            &contract[..at]
        );
        project.write("contracts/verify.vplan", shared);
        project.commit("shared");
        project
    };
    let (one, other) = (machine(), machine());
    let mut used = 0;
    for (index, edit) in std::iter::once(&Edit::Nothing)
        .chain(&story.edits)
        .enumerate()
    {
        if story.reads_home && matches!(edit, Edit::Home(_)) {
            continue;
        }
        apply(&one, *edit);
        if index == 0 || made[index - 1] {
            apply(&other, *edit);
        }
        let _ = store.keep(&one);
        // A pass of its own would be used first.
        let report = store.run(&other, &[]).json();
        let step = &report["steps"][0];
        if !step["cachedFrom"]["signedBy"].is_string() {
            continue;
        }
        used += 1;
        let run = step["cachedFrom"]["runId"].as_str().unwrap();
        let log = one.read(&format!(".vplan/runs/{run}/logs/one.1.log"));
        let differs = differs_fresh(&other, *edit, &log);
        if differs.is_some() {
            return (used, differs);
        }
    }
    (used, None)
}

#[test]
fn a_pass_of_another_machine_is_one_of_this() {
    if !is_possible() {
        return;
    }
    for level in HELD {
        // Each is two stories.
        let cases = stories().cases / 2;
        let config = Config { cases, ..stories() };
        let result = TestRunner::new(config).run(&shared_stories(level), |(story, made)| {
            let (_, differs) = play_shared(level, &story, &made);
            differs.map_or(Ok(()), |differs| Err(TestCaseError::fail(differs)))
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", level.word));
        // That any is used at all is told by one story that must.
        let same = Story {
            program: vec![Instruction::Read(0), Instruction::Read(4)],
            inputs: INPUTS[0],
            reads_home: false,
            edits: vec![Edit::Write(0, 2), Edit::Write(4, 1), Edit::Home(Some(1))],
        };
        let used = play_shared(level, &same, &[true, false, true]);
        assert_eq!(used, (2, None), "{}", level.word);
    }
}

#[test]
fn the_law_of_reuse_does_not_hold_unconfined() {
    if !is_possible() {
        return;
    }
    let undeclared = |program, edit| Story {
        program: vec![program],
        inputs: INPUTS[0],
        reads_home: false,
        edits: vec![edit],
    };
    for story in [
        undeclared(Instruction::Read(4), Edit::Write(4, 1)),
        undeclared(Instruction::ReadHome, Edit::Home(Some(1))),
        undeclared(Instruction::List(1), Edit::Remove(3)),
    ] {
        let (reused, differs) = play(NONE, &story);
        assert!(reused == 1 && differs.is_some(), "{story:?}");
    }
}

/// What an audit must find of a program that nothing confines: the files that are there and undeclared,
/// and whether it reads HOME.
fn undeclared(story: &Story) -> (BTreeSet<&'static str>, bool) {
    let is_undeclared = |file: &usize| !story.selects(FILES[*file]);
    let files = story.program.iter().filter_map(|one| match one {
        Instruction::Read(file) if *file < THERE => Some(*file),
        _ => None,
    });
    let files = files.filter(is_undeclared).map(|file| FILES[file]);
    let mut all = story.program.iter();
    let home = all.any(|one| matches!(one, Instruction::ReadHome));
    (files.collect(), home)
}

#[test]
fn what_reuse_could_miss_is_found_unconfined() {
    if !is_possible() {
        return;
    }
    let result = TestRunner::new(stories()).run(&story(NONE), |story| {
        let project = story.project(NONE);
        let audit = project.run(&["audit", "--format", "json"]).json();
        let findings = audit["findings"].as_array().unwrap().iter();
        let of = |kind: &str, severity: &str| -> Vec<&Value> {
            let is_it = |one: &&Value| one["kind"] == kind && one["severity"] == severity;
            findings.clone().filter(is_it).collect()
        };
        let errors = of("undeclared_input", "error");
        let found = errors
            .iter()
            .flat_map(|one| one["files"].as_array().unwrap());
        let found: BTreeSet<&str> = found.map(|file| file.as_str().unwrap()).collect();
        let (files, home) = undeclared(&story);
        prop_assert_eq!(found, files, "{}", audit);
        let outside = of("outside", "warning");
        let conf = |one: &&Value| one["files"].to_string().contains("/conf");
        prop_assert_eq!(outside.iter().any(conf), home, "{}", audit);
        // Some of these programs fail; all that they did was seen.
        let gaps = audit["incomplete"].as_array().unwrap().iter();
        let is_end = |one: &&Value| {
            one["reason"]
                .as_str()
                .unwrap()
                .starts_with("it did not pass")
        };
        prop_assert_eq!(gaps.filter(|one| !is_end(one)).count(), 0, "{}", audit);
        // The run that denies such findings is no pass either.
        let denied = ["run", "--all", "--observe", "--deny", "undeclared_input"];
        if !errors.is_empty() {
            prop_assert_ne!(project.run(&denied).exit, Some(0));
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
