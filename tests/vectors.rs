//! The data sets under `vectors/`, each a table of input and expected answer, asked through the
//! command line.
//!
//! A case that belongs to a later version is listed in [`LATER`] with its reason; the list is
//! checked: a listed case that does not exist, or that passes, fails the test.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vplan::base::command::Command as VplanCommand;
use vplan::lang::command::parse_command;

/// Cases that ask for what this version does not have, and why.
const LATER: &[(&str, &str)] = &[];

struct Case {
    id: String,
    input: Value,
    expected: Value,
}

fn cases(area: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(format!("{area}.json"));
    let list: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    list.into_iter()
        .map(|v| Case {
            id: v["id"].as_str().unwrap().to_owned(),
            input: v["input"].clone(),
            expected: v["expected"].clone(),
        })
        .collect()
}

/// Runs every case of an area and reports all that disagree.
fn check(area: &str, answer: impl Fn(&Case) -> Result<(), String>) {
    let mut wrong = Vec::new();
    let cases = cases(area);
    assert!(!cases.is_empty());
    for case in &cases {
        let result = answer(case);
        match (LATER.iter().find(|(id, _)| *id == case.id), result) {
            (None, Err(why)) => wrong.push(format!("{}: {why}\n  input {}", case.id, case.input)),
            (Some((id, _)), Ok(())) => wrong.push(format!("{id} passes: take it off the list")),
            _ => {}
        }
    }
    for (id, _) in LATER
        .iter()
        .filter(|(id, _)| id.starts_with(&format!("{area}-")))
    {
        assert!(
            cases.iter().any(|c| c.id == *id),
            "{id} is listed but does not exist"
        );
    }
    assert!(
        wrong.is_empty(),
        "{} of {} disagree:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// A directory with a repository `repo` inside.
struct Repo {
    parent: tempfile::TempDir,
}

struct Ran {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
    seconds: f64,
}

impl Ran {
    fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.stdout)
            .map_err(|e| format!("{e}: {} {}", self.shown(), self.stderr))
    }

    fn shown(&self) -> String {
        format!(
            "exit {:?}: {}",
            self.code,
            String::from_utf8_lossy(&self.stdout)
        )
    }

    fn must_exit(&self, code: i64) -> Result<(), String> {
        if self.code.map(i64::from) == Some(code) {
            return Ok(());
        }
        Err(format!(
            "expected exit {code}, got {}\n{}",
            self.shown(),
            self.stderr
        ))
    }
}

impl Repo {
    fn new(files: &Value) -> Self {
        let repo = Self {
            parent: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(repo.root()).unwrap();
        repo.write_all(files);
        repo
    }

    fn root(&self) -> PathBuf {
        self.parent.path().join("repo")
    }

    fn write_all(&self, files: &Value) {
        for (name, content) in files.as_object().into_iter().flatten() {
            self.write(name, content);
        }
    }

    fn write(&self, name: &str, content: &Value) {
        self.write_bytes(&self.root().join(name), content);
    }

    fn write_bytes(&self, path: &Path, content: &Value) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(target) = content.get("symlink") {
            std::os::unix::fs::symlink(target.as_str().unwrap(), path).unwrap();
            return;
        }
        let bytes = match content {
            Value::String(text) => text.clone().into_bytes(),
            v if v.get("hex").is_some() => unhex(v["hex"].as_str().unwrap()),
            v if v.get("bytes").is_some() => {
                vec![b'x'; usize::try_from(v["bytes"].as_u64().unwrap()).unwrap()]
            }
            v => v["content"].as_str().unwrap().as_bytes().to_vec(),
        };
        std::fs::write(path, bytes).unwrap();
        if let Some(mode) = content.get("mode") {
            let mode = u32::from_str_radix(mode.as_str().unwrap(), 8).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    fn git<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.com",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn commit(&self) {
        self.git(&["init", "-q"]);
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        // The remote `origin` has it too, so that it is known what the change is compared with.
        self.git(&["remote", "add", "origin", "/nowhere"]);
        self.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        self.git(&[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ]);
    }

    /// Says that the remote's default branch has what is committed: then it is known what a change
    /// begins from.
    fn pushed(&self) {
        self.git(&["config", "remote.origin.url", "/nowhere"]);
        self.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        self.git(&[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ]);
    }

    fn vplan(&self, args: &[String], env: &BTreeMap<String, String>) -> Ran {
        let started = std::time::Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_vplan"))
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.parent.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs(env)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    fn ask(&self, args: &[&str]) -> Ran {
        self.vplan(
            &args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>(),
            &BTreeMap::new(),
        )
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect()
}

/// The words of a command, or its text without outer blanks when it is none.
fn words(text: &str) -> Value {
    match parse_command(text) {
        VplanCommand::Unsupported { .. } => json!(text.trim()),
        command @ VplanCommand::Argv { .. } => json!(command.to_text()),
    }
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{what}: got {got}, expected {want}"))
    }
}

fn same_commands(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    let list = |v: &Value| Value::Array(strings(v).iter().map(|c| words(c)).collect());
    same(what, &list(got), &list(want))
}

fn sorted(mut list: Vec<Value>) -> Value {
    list.sort_by_key(Value::to_string);
    Value::Array(list)
}

#[test]
fn argv() {
    let repo = Repo::new(&json!({}));
    check("argv", |case| {
        let ran = repo.ask(&[
            "argv",
            "--format",
            "json",
            "--",
            case.input["text"].as_str().unwrap(),
        ]);
        let got = ran.json()?;
        match case.expected.get("unsupported") {
            None => {
                ran.must_exit(0)?;
                same("argv", &got["argv"], &case.expected["argv"])?;
                same("env", &got["env"], &case.expected["env"])
            }
            Some(want) => {
                ran.must_exit(3)?;
                want.as_object()
                    .unwrap()
                    .iter()
                    .try_for_each(|(k, v)| same(k, &got["unsupported"][k], v))
            }
        }
    });
}

#[test]
fn glob() {
    check("glob", |case| {
        let list: Vec<String> = strings(&case.input["select"])
            .iter()
            .map(|g| format!("'{g}'"))
            .collect();
        let contract = format!(
            "vplan 1\nwhenChangedAny {} {{\n  check c: true\n}}\n",
            list.join(" ")
        );
        let repo = Repo::new(&json!({ "contracts/verify.vplan": contract }));
        let changed = format!(":{}", case.input["path"].as_str().unwrap());
        let ran = repo.ask(&["plan", "--format", "json", "--changed", &changed]);
        if let Some(code) = case.expected["error"].as_i64() {
            return ran.must_exit(code);
        }
        ran.must_exit(0)?;
        let selected = ran.json()?["steps"]
            .as_array()
            .is_some_and(|s| s.len() == 1);
        same("selected", &json!(selected), &case.expected["selected"])
    });
}

/// Writes the contract of an input and returns the arguments that name it.
fn write_contract(repo: &Repo, input: &Value) -> Vec<String> {
    if let Some(text) = input.get("vplan") {
        repo.write("contracts/verify.vplan", text);
        return Vec::new();
    }
    let text = match (input.get("contract"), input.get("contractText")) {
        (Some(contract), _) => json!(contract.to_string()),
        (None, Some(text)) => text.clone(),
        (None, None) => return Vec::new(),
    };
    repo.write("verify.contract.json", &text);
    vec!["--contract".to_owned(), "verify.contract.json".to_owned()]
}

fn request_args(request: &Value) -> Vec<String> {
    let mut args = Vec::new();
    let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
    for (key, name) in [
        ("role", "--role"),
        ("risk", "--risk"),
        ("mode", "--mode"),
        ("attempt", "--attempt"),
    ] {
        match &request[key] {
            Value::String(text) => flag(name, text),
            Value::Number(number) => flag(name, &number.to_string()),
            _ => {}
        }
    }
    if let Some(tier) = request["minTier"].as_u64() {
        flag("--min-tier", &tier.to_string());
    }
    strings(&request["explicit"])
        .iter()
        .for_each(|c| flag("--command", c));
    strings(&request["only"])
        .iter()
        .for_each(|c| flag("--only", c));
    for skip in request["skip"].as_array().into_iter().flatten() {
        flag("--skip", skip["name"].as_str().unwrap());
        flag("--reason", skip["reason"].as_str().unwrap_or("because"));
    }
    strings(&request["boundaries"])
        .iter()
        .for_each(|b| args.push(format!("--{b}")));
    match strings(&request["changed"]) {
        list if list.is_empty() => args.push("--changed-none".to_owned()),
        list => list
            .iter()
            .for_each(|c| args.extend(["--changed".to_owned(), c.clone()])),
    }
    args
}

fn plan(input: &Value, extra: &[&str]) -> (Repo, Ran) {
    let repo = Repo::new(&input["files"]);
    let mut args = vec!["plan".to_owned(), "--no-preflight".to_owned()];
    args.extend(extra.iter().map(|a| (*a).to_owned()));
    args.extend(write_contract(&repo, input));
    args.extend(request_args(&input["request"]));
    let ran = repo.vplan(&args, &BTreeMap::new());
    (repo, ran)
}

/// The digest of the plan for an input of the data sets.
pub fn plan_digest(input: &Value) -> String {
    let (_, ran) = plan(input, &["--format", "json"]);
    ran.must_exit(0).unwrap();
    ran.json().unwrap()["digest"].as_str().unwrap().to_owned()
}

fn check_plan(input: &Value, expected: &Value) -> Result<(), String> {
    let (_repo, ran) = plan(input, &["--format", "json"]);
    if let Some(code) = expected["error"].as_i64() {
        return ran.must_exit(code);
    }
    ran.must_exit(0)?;
    let got = ran.json()?;
    let steps = got["steps"].as_array().cloned().unwrap_or_default();
    if let Some(want) = expected.get("commands") {
        same_commands(
            "commands",
            &steps.iter().map(|s| s["command"].clone()).collect(),
            want,
        )?;
    }
    if let Some(want) = expected.get("steps") {
        same(
            "steps",
            &steps.iter().map(|s| s["id"].clone()).collect(),
            want,
        )?;
    }
    if let Some(want) = expected.get("omitted") {
        let omitted = got["omitted"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["id"].clone())
            .collect();
        same(
            "omitted",
            &sorted(omitted),
            &sorted(want.as_array().unwrap().clone()),
        )?;
    }
    for (id, fields) in expected["fields"].as_object().into_iter().flatten() {
        let step = steps
            .iter()
            .find(|s| s["id"] == *id)
            .ok_or(format!("no step {id}"))?;
        fields
            .as_object()
            .unwrap()
            .iter()
            .try_for_each(|(k, v)| same(k, &step[k], v))?;
    }
    if let Some(want) = expected.get("tiers") {
        same(
            "tiers",
            &got["tiers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| t["tier"].clone())
                .collect(),
            want,
        )?;
    }
    for (tier, want) in expected["reasons"].as_object().into_iter().flatten() {
        let tier: u64 = tier.parse().unwrap();
        let found = got["tiers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|t| t["tier"].as_u64() == Some(tier));
        same(
            "reasons",
            &found.map_or(Value::Null, |t| t["reasons"].clone()),
            want,
        )?;
    }
    Ok(())
}

#[test]
fn select() {
    check("select", |case| {
        let Some(one) = case.input.get("one") else {
            return check_plan(&case.input, &case.expected);
        };
        let mut digests = Vec::new();
        for input in [one, &case.input["two"]] {
            let (_, ran) = plan(input, &["--format", "json"]);
            ran.must_exit(0)?;
            let digest = ran.json()?["digest"].as_str().unwrap().to_owned();
            let (_, canonical) = plan(input, &["--format", "canonical"]);
            same(
                "digest",
                &json!(digest),
                &json!(vplan::base::canon::Digest::hash(&canonical.stdout).to_string()),
            )?;
            digests.push(digest);
        }
        match case.expected["sameDigest"].as_bool() {
            Some(want) => same(
                "same digest",
                &json!(digests[0] == digests[1]),
                &json!(want),
            ),
            None => Ok(()),
        }
    });
}

#[test]
fn tier() {
    check("tier", |case| check_plan(&case.input, &case.expected));
}

/// The arguments that carry evidence, with both outputs in files beside the repository.
fn evidence_args(repo: &Repo, input: &Value) -> Vec<String> {
    let mut args = Vec::new();
    if let Some(exit) = input["exit"].as_i64() {
        args.extend(["--exit".to_owned(), exit.to_string()]);
    }
    for (key, name) in [("signal", "--signal"), ("spawnError", "--spawn-error")] {
        if let Some(text) = input[key].as_str() {
            args.extend([name.to_owned(), text.to_owned()]);
        }
    }
    for key in ["stdout", "stderr"] {
        if let Some(text) = input[key].as_str() {
            let path = repo.parent.path().join(key);
            std::fs::write(&path, text).unwrap();
            args.extend([format!("--{key}"), path.to_str().unwrap().to_owned()]);
        }
    }
    args
}

#[test]
fn classify() {
    check("classify", |case| {
        let repo = Repo::new(&case.input["files"]);
        repo.commit();
        let mut args = vec![
            "classify".to_owned(),
            "--format".to_owned(),
            "json".to_owned(),
        ];
        args.push(format!(
            "--command={}",
            case.input["command"].as_str().unwrap()
        ));
        strings(&case.input["previous"])
            .iter()
            .for_each(|p| args.push(format!("--previous={p}")));
        args.extend(evidence_args(&repo, &case.input));
        let ran = repo.vplan(&args, &BTreeMap::new());
        ran.must_exit(0)?;
        same(
            "failureCode",
            &ran.json()?["failureCode"],
            &case.expected["failureCode"],
        )
    });
}

#[test]
fn recover() {
    check("recover", |case| {
        let repo = Repo::new(&case.input["files"]);
        repo.commit();
        let mut args = vec![
            "recover".to_owned(),
            "--format".to_owned(),
            "json".to_owned(),
        ];
        strings(&case.input["commands"])
            .iter()
            .for_each(|c| args.push(format!("--command={c}")));
        args.extend(["--failed".to_owned(), case.input["failed"].to_string()]);
        if let Some(code) = case.input["code"].as_str() {
            args.extend(["--code".to_owned(), code.to_owned()]);
        }
        args.extend(evidence_args(&repo, &case.input));
        let ran = repo.vplan(&args, &BTreeMap::new());
        let got = ran.json()?;
        if case.expected.get("refused").is_some() {
            ran.must_exit(44)?;
            return same("refused", &json!(got["refused"].is_string()), &json!(true));
        }
        if let Some(rule) = case.expected.get("notRule") {
            return same(
                "another rule",
                &json!(got["recoveryRule"] != *rule),
                &json!(true),
            );
        }
        ran.must_exit(0)?;
        case.expected
            .as_object()
            .unwrap()
            .iter()
            .try_for_each(|(key, want)| match key.as_str() {
                "nextCommands" | "previousCommands" => same_commands(key, &got[key], want),
                _ => same(key, &got[key], want),
            })
    });
}

#[test]
fn filecheck() {
    check("filecheck", |case| {
        let repo = Repo::new(&case.input["files"]);
        let lines = strings(&case.input["assert"]).join("\n    ");
        let path = case.input["path"].as_str().unwrap();
        let contract = format!("vplan 1\ncheck f {{\n  file '{path}' {{\n    {lines}\n  }}\n}}\n");
        repo.write("contracts/verify.vplan", &json!(contract));
        let ran = repo.ask(&["run", "--format", "json", "--changed-none"]);
        if let Some(code) = case.expected["error"].as_i64() {
            return ran.must_exit(code);
        }
        let status = ran.json()?["steps"][0]["status"].clone();
        match &case.expected["status"] {
            Value::Array(accepted) if accepted.contains(&status) => Ok(()),
            want => same("status", &status, want),
        }
    });
}

/// Whether one of two paths ends with the other, by whole segments.
fn same_place(one: &str, other: &str) -> bool {
    let clean = |path: &str| {
        path.replace('\\', "/")
            .trim_start_matches("./")
            .trim_start_matches('/')
            .to_owned()
    };
    let (one, other) = (clean(one), clean(other));
    let ends = |long: &str, short: &str| long == short || long.ends_with(&format!("/{short}"));
    ends(&one, &other) || ends(&other, &one)
}

/// Each expected finding must be there; errors and warnings each in the order given.
fn same_findings(got: &[Value], want: &[Value]) -> Result<(), String> {
    for severity in ["error", "warning"] {
        let mut got = got.iter().filter(|d| d["severity"] == severity);
        for want in want.iter().filter(|d| d["severity"] == severity) {
            let agrees = |got: &Value| {
                want.as_object().unwrap().iter().all(|(key, value)| {
                    match (key.as_str(), value, &got[key]) {
                        ("file", Value::String(want), Value::String(got)) => same_place(want, got),
                        (_, want, got) => want == got,
                    }
                })
            };
            got.find(|d| agrees(d))
                .ok_or(format!("no finding {want}"))?;
        }
    }
    Ok(())
}

#[test]
fn output() {
    check("output", |case| {
        let (input, expected) = (&case.input, &case.expected);
        let repo = Repo::new(&json!({}));
        let text = match input["textHex"].as_str() {
            Some(hex) => unhex(hex),
            None => input["text"]
                .as_str()
                .unwrap_or_default()
                .as_bytes()
                .to_vec(),
        };
        std::fs::write(repo.root().join("said"), text).unwrap();
        let is_report = input.get("report").is_some();
        let says = match (&input["report"], input["stream"].as_str()) {
            (Value::Bool(true), _) => "mkdir -p out && cat said > out/report",
            (Value::Null, _) if is_report => "true",
            (_, Some("stderr")) => "cat said >&2",
            _ => "cat said",
        };
        repo.write(
            "say.sh",
            &json!(format!("{says}\nexit {}\n", input["exit"])),
        );
        if let Some(stale) = input.get("stale") {
            repo.write("out/report", stale);
        }
        let format = input["format"].as_str().unwrap();
        let read = if is_report {
            format!("report {format} \"out/*\"")
        } else {
            format!("format {format}")
        };
        let settings = strings(&input["settings"]).join("\n  ");
        let kind = input["kind"].as_str().unwrap();
        let contract =
            format!("vplan 1\ncheck c {{\n  {kind} sh say.sh\n  {read}\n  {settings}\n}}\n");
        repo.write("contracts/verify.vplan", &json!(contract));
        let ran = repo.ask(&["run", "--format", "json", "--changed-none"]);
        let step = ran.json()?["steps"][0].clone();
        let told = |why: String| format!("{why}\n  {step:#}");
        let passes = expected["pass"].as_bool().unwrap();
        let fails = match kind {
            "compile" => 41,
            "test" => 42,
            _ => 40,
        };
        ran.must_exit(if passes { 0 } else { fails })?;
        for (key, want) in expected["tests"].as_object().into_iter().flatten() {
            same(key, &step["tests"][key], want).map_err(told)?;
        }
        for key in ["errors", "warnings"] {
            expected
                .get(key)
                .map_or(Ok(()), |want| same(key, &step[key], want))
                .map_err(told)?;
        }
        let list = |v: &Value| v["diagnostics"].as_array().cloned().unwrap_or_default();
        same_findings(&list(&step), &list(expected)).map_err(told)
    });
}

#[test]
fn exit() {
    check("exit", |case| {
        let input = &case.input;
        let repo = Repo::new(&input["files"]);
        write_contract(&repo, input);
        repo.commit();
        let env: BTreeMap<String, String> =
            serde_json::from_value(input["env"].clone()).unwrap_or_default();
        if let Some(steps) = input["steps"].as_array() {
            return exit_steps(&repo, steps, &case.expected, &env);
        }
        let mut args = strings(&input["args"]);
        let is_run = args.first().is_some_and(|a| a == "run");
        match input.get("changed").map(strings) {
            Some(list) if list.is_empty() => args.push("--changed-none".to_owned()),
            Some(list) => list
                .iter()
                .for_each(|c| args.extend(["--changed".to_owned(), c.clone()])),
            None => {}
        }
        if is_run {
            args.extend(["--format".to_owned(), "json".to_owned()]);
        }
        let ran = repo.vplan(&args, &env);
        let expected = &case.expected;
        if let Some(code) = expected["exit"].as_i64() {
            ran.must_exit(code)?;
        }
        if let Some(code) = expected["exitNot"].as_i64() {
            same(
                "exit differs",
                &json!(ran.code.map(i64::from) != Some(code)),
                &json!(true),
            )?;
        }
        if let Some(want) = expected.get("verdict") {
            same("verdict", &ran.json()?["verdict"], want)?;
        }
        for (id, want) in expected["statuses"].as_object().into_iter().flatten() {
            let got = ran.json()?;
            let step = got["steps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s["id"] == *id)
                .cloned();
            same(id, &step.ok_or(format!("no step {id}"))?["status"], want)?;
        }
        if let Some(limit) = expected["seconds"].as_f64() {
            // Twice the figure: these machines are shared, and what is told apart is "bounded" from
            // "hangs".
            same("in time", &json!(ran.seconds < limit * 2.0), &json!(true))?;
        }
        for name in strings(&expected["absent"]) {
            same(
                &name,
                &json!(repo.root().join(&name).exists()),
                &json!(false),
            )?;
        }
        Ok(())
    });
}

fn exit_steps(
    repo: &Repo,
    steps: &[Value],
    expected: &Value,
    env: &BTreeMap<String, String>,
) -> Result<(), String> {
    let mut last = None;
    for step in steps {
        repo.write_all(&step["write"]);
        let args = strings(&step["args"]);
        if args.is_empty() {
            continue;
        }
        let ran = repo.vplan(&args, env);
        if let Some(code) = step["exit"].as_i64() {
            ran.must_exit(code)?;
        }
        last = ran.code;
    }
    let last = json!(last);
    if let Some(want) = expected.get("last") {
        same("last", &last, want)?;
    }
    if let Some(want) = expected.get("lastNot") {
        same("last differs", &json!(last != *want), &json!(true))?;
    }
    match expected["lastIn"].as_array() {
        Some(list) if !list.contains(&last) => {
            Err(format!("last: got {last}, expected one of {list:?}"))
        }
        _ => Ok(()),
    }
}

fn apply(repo: &Repo, op: &Value) {
    use std::os::unix::fs::PermissionsExt;
    let (name, value) = op.as_object().unwrap().iter().next().unwrap();
    let path = |v: &Value| repo.root().join(v.as_str().unwrap());
    match name.as_str() {
        "git" => {
            let parent = repo.parent.path().to_str().unwrap();
            repo.git(
                &strings(value)
                    .iter()
                    .map(|a| a.replace("{parent}", parent))
                    .collect::<Vec<_>>(),
            );
        }
        "write" => repo.write(value[0].as_str().unwrap(), &value[1]),
        "writeHex" => {
            let name = std::ffi::OsString::from_vec(unhex(value[0].as_str().unwrap()));
            repo.write_bytes(&repo.root().join(name), &value[1]);
        }
        "remove" => std::fs::remove_file(path(value)).unwrap(),
        "symlink" => {
            std::os::unix::fs::symlink(value[1].as_str().unwrap(), path(&value[0])).unwrap()
        }
        "mkdir" => std::fs::create_dir_all(path(value)).unwrap(),
        "touch" => {
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
            std::fs::File::options()
                .append(true)
                .open(path(value))
                .unwrap()
                .set_modified(later)
                .unwrap();
        }
        "exe" => {
            let (path, content) = match value {
                Value::String(_) => (path(value), None),
                _ => (path(&value[0]), Some(&value[1])),
            };
            if let Some(content) = content {
                repo.write_bytes(&path, content);
            }
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        other => panic!("unknown operation {other}"),
    }
}

#[test]
fn changed() {
    check("changed", |case| {
        let repo = Repo::new(&json!({
            "contracts/verify.vplan": "vplan 1\ncheck ok: true\n",
            ".gitignore": "*.log\nout/\n",
            "src/a.ts": "a",
            "src/b.ts": "b",
            "docs/guide.md": "guide\n",
            "name with blank.txt": "x\n",
            "tool.sh": "#!/bin/sh\n",
        }));
        repo.commit();
        case.input["ops"]
            .as_array()
            .unwrap()
            .iter()
            .for_each(|op| apply(&repo, op));
        let list = repo.parent.path().join("list");
        if let Some(text) = case.input["list"].as_str() {
            std::fs::write(&list, text).unwrap();
        }
        let mut args = vec!["plan".to_owned(), "--format".to_owned(), "json".to_owned()];
        args.extend(
            strings(&case.input["args"])
                .iter()
                .map(|a| a.replace("{file}", list.to_str().unwrap())),
        );
        if args.len() == 3 {
            // The vectors without a source are about what differs from HEAD.
            args.extend(["--base", "HEAD"].map(str::to_owned));
        }
        let ran = repo.vplan(&args, &BTreeMap::new());
        for name in strings(&case.input["absent"]) {
            same(
                &name,
                &json!(repo.root().join(&name).exists()),
                &json!(false),
            )?;
        }
        if case.expected.get("error").is_some() {
            return same("an error", &json!(ran.code != Some(0)), &json!(true));
        }
        ran.must_exit(0)?;
        let got = ran.json()?["request"]["changed"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let want = case.expected["changed"].as_array().unwrap();
        let paths = |list: &[Value]| sorted(list.iter().map(|f| f["path"].clone()).collect());
        same("paths", &paths(&got), &paths(want))?;
        want.iter()
            .filter(|f| f.get("status").is_some())
            .try_for_each(|f| {
                let found = got
                    .iter()
                    .find(|g| g["path"] == f["path"])
                    .cloned()
                    .unwrap_or_default();
                same("status", &found["status"], &f["status"])
            })
    });
}

/// One round: `gate record`, `gate reset`, or `run`.
fn round_args(round: &Value, state: &str) -> Vec<String> {
    let text = |key: &str| round[key].as_str().map(str::to_owned);
    let words: Vec<String> = if let Some(subject) = text("reset") {
        let which = if subject == "*" {
            vec!["--all".into()]
        } else {
            vec!["--subject".into(), subject]
        };
        ["gate", "reset"]
            .map(String::from)
            .into_iter()
            .chain(which)
            .collect()
    } else if let Some(subject) = text("run") {
        let mut words: Vec<String> = ["run", "--subject"]
            .map(String::from)
            .into_iter()
            .chain([subject])
            .collect();
        words.extend(
            text("status")
                .into_iter()
                .flat_map(|s| ["--status".to_owned(), s]),
        );
        words
    } else {
        let flag = |key: &str| text(key).map(|value| [format!("--{key}"), value]);
        let flags = ["subject", "status", "changed"]
            .into_iter()
            .filter_map(flag)
            .flatten();
        ["gate", "record"]
            .map(String::from)
            .into_iter()
            .chain(flags)
            .collect()
    };
    words
        .into_iter()
        .chain(["--format", "json", "--state-dir", state].map(String::from))
        .collect()
}

fn play_round(repo: &Repo, round: &Value, want: &Value) -> Result<(), String> {
    let state = repo
        .parent
        .path()
        .join(if round.get("elsewhere").is_some() {
            "elsewhere"
        } else {
            "state"
        });
    repo.write_all(&round["write"]);
    strings(&round["remove"])
        .iter()
        .for_each(|name| std::fs::remove_file(repo.root().join(name)).unwrap());
    if let Some(text) = round["damage"].as_str() {
        let mut damaged = 0;
        for repository in std::fs::read_dir(&state).unwrap() {
            for file in std::fs::read_dir(repository.unwrap().path()).unwrap() {
                std::fs::write(file.unwrap().path(), text).unwrap();
                damaged += 1;
            }
        }
        assert!(damaged > 0);
    }
    let ran = repo.vplan(
        &round_args(round, state.to_str().unwrap()),
        &BTreeMap::new(),
    );
    if want.get("failed").is_some() {
        let ok = matches!(ran.code, Some(0 | 20 | 21 | 22 | 44) | None);
        return if ok {
            Err(format!("expected an error, got {}", ran.shown()))
        } else {
            Ok(())
        };
    }
    if let Some(code) = want["exit"].as_i64() {
        ran.must_exit(code)?;
    }
    if ran.code == Some(2) {
        return Ok(());
    }
    let got = ran.json()?;
    for key in ["counter", "required", "decision"] {
        if let Some(want) = want.get(key) {
            same(key, &got[key], want)?;
        }
    }
    if let Some(others) = want.get("others") {
        let list = got["others"].as_array().cloned().unwrap_or_default();
        let listed: serde_json::Map<String, Value> = list
            .iter()
            .map(|o| {
                (
                    o["subject"].as_str().unwrap().to_owned(),
                    o["counter"].clone(),
                )
            })
            .collect();
        same("others", &json!(listed), others)?;
    }
    Ok(())
}

#[test]
fn ledger() {
    check("ledger", |case| {
        let repo = Repo::new(&case.input["files"]);
        write_contract(&repo, &case.input);
        repo.commit();
        repo.pushed();
        let rounds = case.input["rounds"].as_array().unwrap();
        for (index, round) in rounds.iter().enumerate() {
            play_round(&repo, round, &case.expected["rounds"][index])
                .map_err(|why| format!("round {}: {why}", index + 1))?;
        }
        Ok(())
    });
}
