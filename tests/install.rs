//! What is there to install vplan with fits together, and no text names what does not exist. What
//! needs a forge, a registry, nix or a container engine is not run here: `.github/CONTRIBUTING.md`
//! lists it.

use crate::support::Project;
use crate::support::tree::{copy, have};
use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TOPIC: &str = include_str!("../src/cli/integrations.md");

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The text of a key of a section of the manifest.
fn manifest(section: &str, key: &str) -> String {
    let text = read("Cargo.toml");
    let (_, rest) = text.split_once(&format!("[{section}]\n")).unwrap();
    let rest = rest.split("\n[").next().unwrap();
    let line = rest
        .lines()
        .find_map(|l| l.strip_prefix(&format!("{key} = ")));
    line.unwrap().trim_matches('"').to_owned()
}

/// The block of the help topic with this name.
fn block(kind: &str) -> &'static str {
    let (_, rest) = TOPIC.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("\n```").unwrap().0
}

/// The script behind `run: |` of the step with this name.
fn script(action: &str, step: &str) -> String {
    let (_, rest) = action.split_once(&format!("- name: {step}\n")).unwrap();
    let (_, rest) = rest.split_once("      run: |\n").unwrap();
    rest.lines()
        .map_while(|line| line.strip_prefix("        "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn workflows_pass_actionlint() {
    if !have(&["actionlint"]) {
        return;
    }
    // Within a project it also looks at the inputs of the project's own actions.
    let project = Project::git_empty();
    copy(&Path::new(ROOT).join(".github"), &project.path(".github"));
    let uses = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v5\n      \
                - uses: ./.github/actions/verify\n        with:\n          arguments: --all\n";
    project.write(".github/workflows/snippet.yml", block("yaml github"));
    project.write(".github/workflows/uses.yml", uses);
    let lint = || {
        let mut command = Command::new("actionlint");
        let ran = command
            .arg("-no-color")
            .current_dir(project.root())
            .output();
        ran.unwrap()
    };
    let found = lint();
    assert!(found.status.success(), "{}", shown(&found));
    // It looks at all of them.
    for (path, good, bad) in [
        ("uses.yml", "arguments:", "argument:"),
        ("snippet.yml", "vars.VPLAN_REVISION", "steps.none.outputs.x"),
        (
            "release.yml",
            "needs: [verify, build]",
            "needs: [build, none]",
        ),
    ] {
        let path = format!(".github/workflows/{path}");
        let whole = project.read(&path);
        assert!(whole.contains(good), "{path}");
        project.write(&path, whole.replace(good, bad));
        let found = lint();
        assert!(!found.status.success(), "{path}: {}", shown(&found));
        project.write(&path, whole);
    }
}

#[test]
fn archives_of_a_release_are_where_binstall_looks() {
    let text = |key: &str| manifest("package.metadata.binstall", key);
    let fill = |text: String| {
        text.replace("{ name }", "vplan")
            .replace("{ version }", "VERSION")
            .replace("{ target }", "TARGET")
            .replace("{ bin }", "vplan")
    };
    assert_eq!(
        fill(text("pkg-url")),
        "{ repo }/releases/download/vVERSION/vplan-vVERSION-TARGET.tgz"
    );
    assert_eq!(fill(text("bin-dir")), "vplan-vVERSION-TARGET/vplan");
    // As `.ci/static` names and packs them, and as the workflow uploads them.
    let build = read(".ci/static");
    assert!(build.contains("name=vplan-v$version-$target\n"));
    assert!(build.contains("--directory=target/dist \"$name\" | gzip -n -9 > \"$folder.tgz\""));
    assert!(read(".github/workflows/release.yml").contains("path: target/dist/*.tgz"));
    assert!(read("Cargo.toml").contains("[[bin]]\nname = \"vplan\"\n"));
}

/// Each line of a shell script that names another revision, or none, would build another vplan.
#[test]
fn the_line_that_installs_from_a_repository() {
    let lines: Vec<&str> = ["yaml github", "yaml gitlab"]
        .iter()
        .flat_map(|kind| block(kind).lines())
        .filter_map(|line| line.split_once("cargo install").map(|(_, rest)| rest))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1]);
    // A package of the same name without dependencies, with a second one beside it as vplan has.
    let source = Project::git_with(&[
        (
            "Cargo.toml",
            "[package]\nname = \"vplan\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n",
        ),
        (
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"vplan\"\nversion = \"1.0.0\"\n",
        ),
        (
            "fuzz/Cargo.toml",
            "[package]\nname = \"other\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n",
        ),
        ("fuzz/src/main.rs", "fn main() {}\n"),
        ("src/main.rs", "fn main() { println!(\"the first\"); }\n"),
    ]);
    let first = source.git(&["rev-parse", "HEAD"]);
    source.write("src/main.rs", "fn main() { println!(\"the second\"); }\n");
    source.commit("later");
    let to = source.parent().join("installed");
    let mut shell = Command::new("sh");
    let ran = shell
        .args(["-euc", &format!("cargo install{}", lines[0])])
        .current_dir(source.parent())
        .env(
            "VPLAN_REPOSITORY",
            format!("file://{}", source.root().display()),
        )
        .env("VPLAN_REVISION", first)
        .env("CARGO_INSTALL_ROOT", &to)
        .env("CARGO_TARGET_DIR", source.parent().join("target"))
        .env("CARGO_NET_OFFLINE", "false")
        .env("CARGO_HOME", source.parent().join("cargo"))
        .env_remove("RUSTC_WRAPPER")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", shown(&ran));
    let said = Command::new(to.join("bin/vplan")).output().unwrap();
    assert_eq!(shown(&said), "the first\n");
}

#[test]
fn the_action_runs_what_its_inputs_say_and_nothing_else() {
    let action = read(".github/actions/verify/action.yml");
    // From where the action lies to the root of its repository.
    let build = script(&action, "Build vplan");
    assert!(build.contains("--path \"$GITHUB_ACTION_PATH/../../..\""));
    let root = Path::new(ROOT).join(".github/actions/verify/../../..");
    assert_eq!(
        std::fs::canonicalize(root).unwrap(),
        std::fs::canonicalize(ROOT).unwrap()
    );
    // No input stands in a script.
    let verify = script(&action, "Verify");
    assert!(!verify.contains("${{") && !build.contains("${{"));

    let project = Project::contract("vplan 1\ncheck sound: grep -q good src/a\n");
    project.write("src/a", "good\n").commit("a good start");
    let temp = project.parent().join("runner");
    std::fs::create_dir_all(temp.join("vplan/bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_vplan"), temp.join("vplan/bin/vplan")).unwrap();
    let run = |directory: &str, arguments: &str, base: &str| {
        let home = project.parent().join("home");
        let mut shell = Command::new("bash");
        let shell = shell
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &verify])
            .current_dir(project.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("RUNNER_TEMP", &temp)
            .env("ARGUMENTS", arguments)
            .env("BASE", base)
            .env("DIRECTORY", directory);
        let output = shell.output().unwrap();
        (output.status.code().unwrap(), shown(&output))
    };
    let (exit, said) = run(".", "--last", "HEAD");
    assert_eq!(exit, 0, "{said}");
    project.write("src/a", "broken\n");
    let (exit, said) = run(".", "--last  --keep-going", "HEAD");
    assert_eq!(exit, 40, "{said}");
    let (exit, _) = run("none", "--last", "HEAD");
    assert_eq!(exit, 2);
    for words in [
        "$(touch gone)",
        "; touch gone",
        "`touch gone`",
        "* ; touch gone",
    ] {
        let (exit, said) = run(".", words, "HEAD");
        assert_eq!(exit, 2, "{words}: {said}");
        assert_eq!(run(".", "--last", words).0, 2, "{words}");
    }
    assert!(!project.exists("gone"));
    assert!(!project.exists("src/gone"));
}

/// What the container's image is built from is enough to build vplan, as far as cargo can say so
/// without building it.
#[test]
fn the_container_is_built_from_what_is_there() {
    let file = read(".github/Containerfile");
    let copied = Project::bare();
    let copies = file.lines().filter_map(|line| line.strip_prefix("COPY "));
    for line in copies.filter(|line| !line.starts_with("--from")) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let to = words.pop().unwrap();
        for word in words {
            let from = Path::new(ROOT).join(word);
            if from.is_dir() {
                copy(&from, &copied.path(to));
            } else {
                std::fs::copy(&from, copied.path(to).join(word)).unwrap();
            }
        }
    }
    let ran = Command::new("cargo")
        .args([
            "metadata",
            "--offline",
            "--locked",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(copied.root())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", shown(&ran));
    // No text that is compiled in lies outside of it.
    let asked = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let pieces: Vec<String> = text
            .split("include_str!(\"")
            .skip(1)
            .map(|rest| rest.split_once('"').unwrap().0.to_owned())
            .collect();
        pieces
    };
    let mut open = vec![copied.path("src")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                for named in asked(&path) {
                    let wanted = path.parent().unwrap().join(&named);
                    assert!(wanted.exists(), "{}: {named}", path.display());
                }
            }
        }
    }
    let rust = manifest("workspace.package", "rust-version");
    assert!(file.contains(&format!("/rust:{rust}-")));
}

#[test]
fn the_flake_is_pinned_to_the_revision_that_it_names() {
    let lock: serde_json::Value = serde_json::from_str(&read("flake.lock")).unwrap();
    let node = &lock["nodes"]["nixpkgs"];
    let of = |part: &str, key: &str| node[part][key].as_str().unwrap().to_owned();
    let url = format!(
        "{}:{}/{}/{}",
        of("original", "type"),
        of("original", "owner"),
        of("original", "repo"),
        of("original", "ref")
    );
    let flake = read("flake.nix");
    assert!(flake.contains(&format!("inputs.nixpkgs.url = \"{url}\";")));
    assert_eq!(flake.matches("inputs.").count(), 1);
    assert_eq!(of("locked", "rev").len(), 40);
    assert!(of("locked", "narHash").starts_with("sha256-"));
    assert_eq!(lock["nodes"]["root"]["inputs"]["nixpkgs"], "nixpkgs");
}

/// The command of the flake's check, in a copy of what git has, where nothing of this machine is
/// found: no git, no cargo, no home.
#[test]
fn the_check_of_the_flake() {
    let flake = read("flake.nix");
    let (_, rest) = flake.split_once("cd ${self} && ").unwrap();
    let (command, _) = rest.split_once(" && touch $out").unwrap();
    let copied = Project::bare();
    for part in ["contracts", "src", "tests", ".ci", ".github"] {
        copy(&Path::new(ROOT).join(part), &copied.path(part));
    }
    for part in ["Cargo.toml", "Cargo.lock", "README.md", "fuzz/smoke"] {
        copied.write(part, read(part));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_vplan"));
    let bin = copied.parent().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(program, bin.join("vplan")).unwrap();
    let ran = Command::new("/bin/sh")
        .args(["-euc", command])
        .current_dir(copied.root())
        .env_clear()
        .env("PATH", &bin)
        .env("HOME", "/homeless-shelter")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{command}: {}", shown(&ran));
    // Without `--pure` it fails for want of the contract's tools.
    let impure = command.replace("--pure ", "");
    assert_ne!(impure, command);
    let ran = Command::new("/bin/sh")
        .args(["-euc", &impure])
        .current_dir(copied.root())
        .env_clear()
        .env("PATH", &bin)
        .env("HOME", "/homeless-shelter")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(3), "{}", shown(&ran));
}

/// No registry has vplan, and there is no release of it: texts that say how to install it name
/// neither.
#[test]
fn no_text_names_what_is_not_there() {
    let said = [
        "README.md",
        "src/tour.md",
        "src/reference.md",
        "src/cli/integrations.md",
        ".github/CONTRIBUTING.md",
        ".github/Containerfile",
        ".github/actions/verify/action.yml",
        ".github/ISSUE_TEMPLATE/bug.md",
    ];
    for path in said {
        for line in read(path).lines() {
            if let Some((_, rest)) = line.split_once("cargo install") {
                let from = rest.contains("--path") || rest.contains("--git");
                assert!(from, "{path}: {line}");
            }
            assert!(!line.contains("/releases/"), "{path}: {line}");
            assert!(!line.contains("crates.io/crates/vplan"), "{path}: {line}");
            assert!(!line.contains("cargo binstall vplan"), "{path}: {line}");
        }
    }
}
