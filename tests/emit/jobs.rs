//! Runs the jobs of the emitted files as their systems would, with the commands as they stand there:
//! each in a folder of its own, with nothing but a checkout and the artifacts that it asks for.

use super::{changed, emitted, project};
use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::copy;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::source::{Source, Sources};
use vplan::front::tree::{TreeNode, yaml};

/// Reads a text as YAML 1.2 that is nothing but strings, lists and mappings.
pub fn read(text: &str) -> TreeNode {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("ci.yml", text));
    let mut sink = Diagnostics::default();
    let node = yaml(&sources, id, &mut sink);
    assert!(!sink.has_errors(), "{text}");
    node.unwrap()
}

pub fn text<'n>(node: &'n TreeNode, key: &str) -> &'n str {
    node.get(key).and_then(TreeNode::text).unwrap_or_default()
}

/// A place where jobs run, and what they keep.
struct Runner {
    project: Project,
    jobs: usize,
    /// The job whose artifacts are lost.
    loses: Option<&'static str>,
    /// What the last command said.
    said: String,
}

impl Runner {
    fn new(project: Project) -> Self {
        let tools = project.parent().join("tools");
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::create_dir_all(project.parent().join("artifacts")).unwrap();
        Self {
            project,
            jobs: 0,
            loses: None,
            said: String::new(),
        }
    }

    fn artifacts(&self) -> PathBuf {
        self.project.parent().join("artifacts")
    }

    /// An empty folder for the next job, or a checkout.
    fn folder(&mut self) -> PathBuf {
        self.jobs += 1;
        let folder = self.project.parent().join(format!("job-{}", self.jobs));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn checkout(&self, folder: &Path) {
        let from = self.project.root().to_string_lossy().into_owned();
        let to = folder.to_string_lossy().into_owned();
        self.project.git(&["clone", "-q", &from, &to]);
    }

    /// Runs a script, and gives its exit code.
    fn script(&mut self, folder: &Path, script: &str, env: &[(&str, String)]) -> i32 {
        let own = Path::new(env!("CARGO_BIN_EXE_vplan")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let places = [self.project.parent().join("tools"), own.to_owned()];
        let path: OsString =
            std::env::join_paths(places.into_iter().chain(std::env::split_paths(&path))).unwrap();
        let home = self.project.parent().join("home");
        let mut command = Command::new("bash");
        let command = command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(folder)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("CI", "true")
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ran = command.spawn().unwrap().finished();
        self.said = String::from_utf8_lossy(&ran.stdout).into_owned()
            + &String::from_utf8_lossy(&ran.stderr);
        ran.status.code().unwrap()
    }

    /// A `cargo` that installs this vplan, and writes down what it was asked for.
    fn with_cargo(self) -> Self {
        let program = env!("CARGO_BIN_EXE_vplan");
        let script = format!(
            "#!/bin/sh\necho \"$PWD: $*\" > \"$HOME/cargo\"\nwhile [ \"$1\" != --root ]; do shift; done\n\
             mkdir -p \"$2/bin\"\ncp {program} \"$2/bin/vplan\"\n"
        );
        self.project.script("../tools/cargo", &script);
        self
    }
}

/// Runs a step of a workflow; the outputs of the job go into `outputs`.
fn github_step(
    runner: &mut Runner,
    step: &TreeNode,
    folder: &Path,
    (index, shard): (usize, &str),
    outputs: &mut String,
) -> i32 {
    let filled = |text: &str| {
        text.replace("${{ strategy.job-index }}", &index.to_string())
            .replace("${{ matrix.shard }}", shard)
            .replace("${{ vars.VPLAN_REPOSITORY }}", "https://example.org/vplan")
            .replace("${{ vars.VPLAN_REVISION }}", "0123abc")
    };
    let with = |key: &str| {
        step.get("with")
            .map_or(String::new(), |w| filled(text(w, key)))
    };
    let (name, place) = (with("name"), folder.join(with("path")));
    match text(step, "uses").split('@').next().unwrap() {
        "" => {
            let temp = folder.join("../temp");
            std::fs::create_dir_all(&temp).unwrap();
            let said = folder.join("../output");
            let _ = std::fs::remove_file(&said);
            let mut env = vec![
                ("RUNNER_TEMP", temp.to_string_lossy().into_owned()),
                ("GITHUB_OUTPUT", said.to_string_lossy().into_owned()),
                ("GITHUB_ACTIONS", "true".to_owned()),
            ];
            let own = step.get("env").map_or(&[][..], TreeNode::entries);
            env.extend(
                own.iter()
                    .map(|(key, value)| (key.name.as_str(), filled(value.text().unwrap()))),
            );
            let script = text(step, "run");
            assert!(!script.contains("${{"), "{script}");
            let exit = runner.script(folder, script, &env);
            outputs.push_str(&std::fs::read_to_string(said).unwrap_or_default());
            exit
        }
        "actions/checkout" => {
            runner.checkout(folder);
            0
        }
        "actions/upload-artifact" => {
            if runner.loses == Some(&name) {
                return 0;
            }
            let into = runner.artifacts().join(&name);
            let _ = std::fs::remove_dir_all(&into);
            std::fs::create_dir_all(&into).unwrap();
            // Paths are kept below the folder that all of them have.
            for path in with("path").lines().map(|line| folder.join(line)) {
                match path.is_dir() {
                    true => copy(&path, &into),
                    false => drop(std::fs::copy(&path, into.join(path.file_name().unwrap()))),
                }
            }
            0
        }
        "actions/download-artifact" if !name.is_empty() => {
            let from = runner.artifacts().join(&name);
            if !from.is_dir() {
                return 1;
            }
            copy(&from, &place);
            0
        }
        "actions/download-artifact" => {
            let begin = with("pattern").trim_end_matches('*').to_owned();
            for entry in std::fs::read_dir(runner.artifacts()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.starts_with(&begin) {
                    copy(&runner.artifacts().join(&name), &place.join(&name));
                }
            }
            0
        }
        "actions/cache/restore" | "actions/cache/save" => 0,
        other => panic!("{other}"),
    }
}

/// Runs a job; its end is that of the first step that failed.
fn github_job(runner: &mut Runner, job: &TreeNode, of: (usize, &str), outputs: &mut String) -> i32 {
    let around = runner.folder();
    let folder = around.join("work");
    std::fs::create_dir(&folder).unwrap();
    let mut end = 0;
    for step in job.get("steps").unwrap().list() {
        if end == 0 || text(step, "if") == "always()" {
            let exit = github_step(runner, step, &folder, of, outputs);
            end = if end == 0 { exit } else { end };
        }
    }
    end
}

/// Runs a workflow; gives the ends of all jobs, the verdict last.
fn github(runner: &mut Runner, workflow: &str) -> Vec<i32> {
    let workflow = read(workflow);
    let rights = workflow.get("permissions").unwrap();
    assert_eq!(
        (rights.entries().len(), text(rights, "contents")),
        (1, "read")
    );
    let job = |name: &str| workflow.get("jobs").unwrap().get(name).unwrap();
    let mut outputs = String::new();
    let mut ends = vec![github_job(runner, job("plan"), (0, ""), &mut outputs)];
    if ends[0] == 0 {
        let shards = outputs.trim_end().strip_prefix("shards=").unwrap();
        let shards: Vec<String> = serde_json::from_str(shards).unwrap();
        for (index, shard) in shards.iter().enumerate() {
            ends.push(github_job(
                runner,
                job("shard"),
                (index, shard),
                &mut String::new(),
            ));
        }
    }
    assert_eq!(text(job("verdict"), "if"), "always()");
    ends.push(github_job(
        runner,
        job("verdict"),
        (0, ""),
        &mut String::new(),
    ));
    ends
}

#[test]
fn the_workflow_of_github() {
    let words = ["github", "--shards", "2", "--base-from", "all"];
    let installed = [&words[..], &["--program", "installed"]].concat();
    let mut runner = Runner::new(project());
    let workflow = emitted(&runner.project, &installed);
    assert_eq!(github(&mut runner, &workflow), [0, 0, 0, 0]);
    assert!(runner.artifacts().join("vplan-verdict/vplan.xml").is_file());

    // Fewer shards where that suffices: one.
    let mut runner = Runner::new(project());
    let auto = emitted(
        &runner.project,
        &["github", "--base-from", "all", "--program", "installed"],
    );
    assert_eq!(github(&mut runner, &auto), [0, 0, 0]);

    // A check that fails; the other shard runs all the same.
    let mut runner = Runner::new(project());
    runner.project.write("src/b", "broken\n").commit("broken");
    assert_eq!(github(&mut runner, &workflow), [0, 0, 40, 40]);

    // What a shard reported is lost, and the shard was green.
    let mut runner = Runner::new(project());
    runner.loses = Some("vplan-shard-1");
    assert_eq!(github(&mut runner, &workflow), [0, 0, 0, 44]);

    // Nor can a commit bring along what no shard has reported.
    let mut runner = Runner::new(project());
    assert_eq!(github(&mut runner, &workflow), [0, 0, 0, 0]);
    let forged = runner.artifacts().join("vplan-shard-1");
    copy(&forged, &runner.project.path(".vplan/shards/vplan-shard-1"));
    runner.project.commit("forged");
    std::fs::remove_dir_all(runner.artifacts()).unwrap();
    std::fs::create_dir(runner.artifacts()).unwrap();
    runner.loses = Some("vplan-shard-1");
    let ends = github(&mut runner, &workflow);
    assert_eq!(ends, [2, 1], "{}", runner.said);

    // Shards that were dealt otherwise than the division says.
    let mut runner = Runner::new(project());
    let in_turn = changed(
        &workflow,
        "--division .vplan/division.json --shard",
        "--shard",
    );
    assert_eq!(github(&mut runner, &in_turn), [0, 0, 0, 4]);
    assert!(
        runner.said.contains("vplan::merge::division"),
        "{}",
        runner.said
    );

    // No plan: no shard, and no pass.
    let mut runner = Runner::new(project());
    runner
        .project
        .write("contracts/verify.vplan", "vplan 1\ncheck\n")
        .commit("broken");
    let ends = github(&mut runner, &workflow);
    assert!(ends.len() == 2 && ends[0] == 3 && ends[1] != 0, "{ends:?}");

    // The program is built once, from what the project says, and started in each job.
    let mut runner = Runner::new(project()).with_cargo();
    let workflow = emitted(&runner.project, &words);
    assert_eq!(github(&mut runner, &workflow), [0, 0, 0, 0]);
    let asked = runner.project.read("../home/cargo");
    assert!(
        asked.contains(
            "/temp: install --locked --git https://example.org/vplan --rev 0123abc --root"
        ),
        "{asked}"
    );
}

/// Copies a tree as artifacts of GitLab are: with the modes of its files.
fn copy_with_modes(from: &Path, to: &Path) {
    let mut command = Command::new("cp");
    let command = command.arg("-a").arg(from.join(".")).arg(to);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Runs a pipeline; gives the ends of all jobs, the verdict last.
fn gitlab(runner: &mut Runner, pipeline: &str) -> Vec<i32> {
    let pipeline = read(pipeline);
    let mut ends = Vec::new();
    let mut kept: Vec<(String, PathBuf)> = Vec::new();
    for (name, job) in pipeline.entries() {
        let copies = job.get("parallel").map_or(1, |n| match &n.value {
            vplan::front::tree::TreeValue::Whole(n) => *n,
            other => panic!("{other:?}"),
        });
        if text(job, "when") != "always" && ends.iter().any(|end| *end != 0) {
            continue;
        }
        let mut made = Vec::new();
        for index in 1..=copies {
            let folder = runner.folder();
            runner.checkout(&folder);
            for wanted in job.get("dependencies").map_or(&[][..], TreeNode::list) {
                let of = |(from, _): &&(String, PathBuf)| Some(from.as_str()) == wanted.text();
                kept.iter()
                    .filter(of)
                    .for_each(|(_, path)| copy_with_modes(path, &folder));
            }
            let lines = job.get("script").unwrap().list().iter();
            let script: Vec<&str> = lines.map(|line| line.text().unwrap()).collect();
            let env = [
                ("CI_NODE_INDEX", index.to_string()),
                ("CI_NODE_TOTAL", copies.to_string()),
                ("CI_PROJECT_DIR", folder.to_string_lossy().into_owned()),
                ("VPLAN_REPOSITORY", "https://example.org/vplan".to_owned()),
                ("VPLAN_REVISION", "0123abc".to_owned()),
            ];
            let exit = runner.script(&folder, &script.join("\n"), &env);
            ends.push(exit);
            let artifacts = job.get("artifacts").unwrap();
            let is_lost = runner.loses == Some(&format!("{}-{index}", name.name));
            if is_lost || exit != 0 && text(artifacts, "when") != "always" {
                continue;
            }
            let into = runner.artifacts().join(format!("{}-{index}", name.name));
            for path in artifacts.get("paths").unwrap().list() {
                let path = path.text().unwrap();
                let (from, to) = (folder.join(path), into.join(path));
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                match from.is_dir() {
                    true => copy(&from, &to),
                    false => drop(std::fs::copy(&from, &to)),
                }
            }
            made.push((name.name.clone(), into));
        }
        kept.extend(made);
    }
    ends
}

#[test]
fn the_pipeline_of_gitlab() {
    let words = ["gitlab", "--shards", "2", "--base-from", "all"];
    let installed = [&words[..], &["--program", "installed"]].concat();
    let mut runner = Runner::new(project());
    let pipeline = emitted(&runner.project, &installed);
    assert_eq!(gitlab(&mut runner, &pipeline), [0, 0, 0, 0]);
    let forged = runner.artifacts().join("vplan-shard-2");

    // What a commit brings along is nobody's report.
    copy(&forged, &runner.project.root());
    runner.project.git(&["add", "-f", ".vplan"]);
    runner.project.commit("forged");
    let ends = gitlab(&mut runner, &pipeline);
    assert_eq!(ends, [2, 1], "{}", runner.said);

    let mut runner = Runner::new(project());
    runner.project.write("src/b", "broken\n").commit("broken");
    assert_eq!(gitlab(&mut runner, &pipeline), [0, 0, 40, 40]);
    let mut runner = Runner::new(project());
    runner.loses = Some("vplan-shard-2");
    assert_eq!(gitlab(&mut runner, &pipeline), [0, 0, 0, 44]);
    let mut runner = Runner::new(project());
    let in_turn = changed(
        &pipeline,
        "--division .vplan/division.json --shard",
        "--shard",
    );
    assert_eq!(gitlab(&mut runner, &in_turn), [0, 0, 0, 4]);

    // More shards than steps: the others have nothing to verify.
    let mut runner = Runner::new(project());
    let many = emitted(
        &runner.project,
        &[
            "gitlab",
            "--shards",
            "5",
            "--base-from",
            "all",
            "--program",
            "installed",
        ],
    );
    assert_eq!(gitlab(&mut runner, &many), [0; 7], "{}", runner.said);

    let mut runner = Runner::new(project()).with_cargo();
    let pipeline = emitted(&runner.project, &words);
    assert_eq!(
        gitlab(&mut runner, &pipeline),
        [0, 0, 0, 0],
        "{}",
        runner.said
    );
    assert!(
        runner
            .project
            .read("../home/cargo")
            .starts_with("/: install --locked --git")
    );
}

/// What stands in for `sbatch`: it runs a job at once. As the real one does, it copies the script.
const SBATCH: &str = r#"#!/usr/bin/env bash
echo "$*" >> "$HOME/sbatch"
array= output= waits=
while [[ $1 = --* ]]; do
  case $1 in --array=1-*) array=${1#--array=1-} ;; --output=*) output=${1#--output=} ;; --wait) waits=1 ;; esac
  shift
done
job=$(mktemp)
cat "$1" > "$job"
echo "7;cluster"
for ((i = 1; i <= ${array:-1}; i++)); do
  code=0
  SLURM_ARRAY_TASK_ID=$i bash "$job" "${@:2}" > "${output/\%a/$i}" 2>&1 || code=$?
done
rm "$job"
[ -z "$waits" ] || exit "$code"
"#;

#[test]
fn the_script_of_slurm() {
    let words = [
        "slurm",
        "--shards",
        "2",
        "--base-from",
        "all",
        "--sbatch-args",
        "--partition=ci",
    ];
    let ran = |project: Project, change: &dyn Fn(&str) -> String| {
        let mut runner = Runner::new(project);
        runner.project.script("../tools/sbatch", SBATCH);
        let script = change(&emitted(&runner.project, &words));
        runner.project.write("../verify.sh", script);
        let folder = runner.project.root();
        let exit = runner.script(&folder, "cd src && bash ../../verify.sh", &[]);
        (exit, runner)
    };
    let same = |text: &str| text.to_owned();
    let (exit, runner) = ran(project(), &same);
    assert_eq!(exit, 0, "{}", runner.said);
    assert!(runner.said.contains("passed: 3 passed"), "{}", runner.said);
    assert_eq!(runner.project.git(&["status", "--porcelain"]), "");
    let asked = runner.project.read("../home/sbatch");
    let asked: Vec<&str> = asked.lines().collect();
    assert!(
        asked[0].contains("--partition=ci --parsable --job-name=vplan-shard --array=1-2 "),
        "{asked:?}"
    );
    assert!(asked[1].contains("--dependency=afterany:7 "), "{asked:?}");

    let broken = project();
    broken.write("src/b", "broken\n").commit("broken");
    let (exit, runner) = ran(broken, &same);
    assert_eq!(exit, 40, "{}", runner.said);
    // A shard that ends well and has done nothing.
    let lost = |text: &str| {
        changed(
            text,
            "shard() {",
            "shard() { [ \"$SLURM_ARRAY_TASK_ID\" = 1 ] || exit 0;",
        )
    };
    let (exit, runner) = ran(project(), &lost);
    assert_eq!(exit, 44, "{}", runner.said);
    let in_turn = |text: &str| changed(text, "--division \"$2/division.json\" --shard", "--shard");
    let (exit, runner) = ran(project(), &in_turn);
    assert_eq!(exit, 4, "{}", runner.said);
    // Whatever `sbatch` says, without the word of the job that merges there is no pass.
    let silent = |text: &str| changed(text, "--parsable --wait", "--parsable --wait --array=1-0");
    let (exit, runner) = ran(project(), &silent);
    assert_ne!(exit, 0, "{}", runner.said);
}
