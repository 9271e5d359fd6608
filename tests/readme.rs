//! What newcomers and contributors read is true: the README and the tour are executed, their tables
//! name every command and topic, their links lead somewhere.
//!
//! The `console` blocks of a page run in order, in one directory that is empty at first; what they
//! print must be what they show. `$ ` begins a command, `> ` goes on with it, the rest is output
//! (standard output and error together). A line `[exit N]` after the output is the exit code, when
//! it is not 0. Times, ids and digests differ between runs and are compared as such.
//! `UPDATE_README=1 cargo test --test main readme` writes what was printed into both pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vplan::base::vocabulary::Exit;

/// What pages show for the directory around the one in which everything runs, which is also the
/// home directory.
const HOME: &str = "/home/you/repos";

struct Step {
    command: String,
    output: String,
    /// Lines of the page that hold the output, half open.
    lines: (usize, usize),
}

fn steps(text: &str) -> Vec<Step> {
    let lines: Vec<&str> = text.lines().collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut in_command = false;
    for (i, line) in lines.iter().enumerate() {
        if line.starts_with("```") {
            inside = *line == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            steps.push(Step {
                command: command.to_owned(),
                output: String::new(),
                lines: (i + 1, i + 1),
            });
            in_command = true;
        } else if let (true, true, Some(more)) = (inside, in_command, line.strip_prefix('>')) {
            let step = steps.last_mut().expect("a command to go on with");
            step.command += &format!("\n{}", more.strip_prefix(' ').unwrap_or(more));
            step.lines = (i + 1, i + 1);
        } else if inside {
            in_command = false;
            let step = steps.last_mut().expect("output of a command");
            step.output += &format!("{line}\n");
            step.lines.1 = i + 1;
        }
    }
    steps
}

/// Replaces what differs between two runs by a name.
pub fn scrub(text: &str) -> String {
    let rules = [
        (r"sha256:[0-9a-f]{8,64}", "sha256:<digest>"),
        (r"\b[0-9a-f]{40}\b", "<commit>"),
        (r"\b[0-9a-f]{12}\b", "<short commit>"),
        (r#"seal="[0-9a-f]{16}""#, "seal=<seal>"),
        (r"\b\d{8}T\d{6}[0-9A-Za-z.-]*", "<run>"),
        (
            r"\b\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?Z?)?",
            "<date>",
        ),
        (r"\b[0-9a-f]{8}\b", "<short run>"),
        (r"\b\d+(\.\d+)? (B|KiB)\b", "<size>"),
        (r"\b\d+(\.\d+)? ?(ms|s|m)\b", "<time>"),
        (r"  +", "  "),
        (r"[ \t]+\n", "\n"),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, name)| {
        regex::Regex::new(pattern)
            .expect("a pattern")
            .replace_all(&text, *name)
            .into_owned()
    })
}

fn run(command: &str, dir: &Path, home: &Path) -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_vplan"));
    let path = format!(
        "{}:{}",
        binary.parent().expect("a directory").display(),
        std::env::var("PATH").expect("a PATH")
    );
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(dir)
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
            [
                (format!("GIT_{who}_NAME"), "you"),
                (format!("GIT_{who}_EMAIL"), "you@example.com"),
            ]
        }))
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    let mut text =
        String::from_utf8_lossy(&output.stdout).replace(&home.display().to_string(), HOME);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => {}
        code => {
            text += &format!(
                "[exit {}]\n",
                code.map_or("by a signal".to_owned(), |c| c.to_string())
            )
        }
    }
    text
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Runs the session of a page, and compares what it prints, or writes it into the page.
fn execute(name: &str, at_least: usize) {
    let text = page(name);
    let steps = steps(&text);
    assert!(steps.len() >= at_least, "{name} shows a whole session");
    // A path as long as what the page shows for it, because marks below a line of a message are as
    // long as what they mark.
    let parent = tempfile::Builder::new()
        .prefix(".vplan")
        .rand_bytes(4)
        .tempdir_in("/tmp")
        .expect("a directory");
    assert_eq!(parent.path().as_os_str().len(), HOME.len());
    let dir = parent.path().join("hello");
    std::fs::create_dir(&dir).expect("an empty directory");
    let printed: Vec<String> = steps
        .iter()
        .map(|s| run(&s.command, &dir, parent.path()))
        .collect();
    if std::env::var_os("UPDATE_README").is_some() {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (step, output) in steps.iter().zip(&printed).rev() {
            lines.splice(
                step.lines.0..step.lines.1,
                output.lines().map(|l| l.trim_end().to_owned()),
            );
        }
        std::fs::write(root().join(name), lines.join("\n") + "\n").expect("the page is written");
        return;
    }
    for (step, output) in steps.iter().zip(&printed) {
        assert_eq!(
            scrub(output),
            scrub(&step.output),
            "{name}: $ {}",
            step.command
        );
    }
}

#[test]
fn every_command_prints_what_the_readme_shows() {
    execute("README.md", 10);
}

#[test]
fn every_command_prints_what_the_tour_shows() {
    execute("src/tour.md", 60);
}

/// A state of a file that makes a check of a page pass, and one that makes it fail.
struct Example {
    check: &'static str,
    file: &'static str,
    good: &'static str,
    bad: &'static str,
}

/// Runs the session of a page up to its contract, then each check of that in both states.
fn fails_and_passes(name: &str, examples: &[Example]) {
    let parent = tempfile::tempdir().expect("a directory");
    let dir = parent.path().join("hello");
    std::fs::create_dir(&dir).expect("an empty directory");
    let text = page(name);
    let mut contract = None;
    for step in steps(&text) {
        run(&step.command, &dir, parent.path());
        if step.command.contains("> contracts/verify.vplan") {
            contract = Some(step.command);
            break;
        }
    }
    let contract = contract.unwrap_or_else(|| panic!("{name} shows a contract"));
    run("git add -A && git commit -qm begin", &dir, parent.path());
    let checks = contract
        .lines()
        .filter_map(|l| l.trim().strip_prefix("check "));
    for check in checks {
        let check = check.split([' ', ':']).next().expect("a name");
        assert!(examples.iter().any(|e| e.check == check), "{name}: {check}");
    }
    for example in examples {
        for (content, want) in [
            (example.good, "passed"),
            (example.bad, "failed"),
            (example.good, "passed"),
        ] {
            let file = dir.join(example.file);
            let before = std::fs::read(&file).ok();
            std::fs::write(&file, content).expect("it is written");
            let command = format!(
                "vplan run --changed {} --format json 2>/dev/null",
                example.file
            );
            let out = run(&command, &dir, parent.path());
            let json = out.rfind("\n[exit ").map_or(out.as_str(), |at| &out[..at]);
            let report: serde_json::Value =
                serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {out}"));
            let steps = report["steps"].as_array().expect("steps");
            let step = steps.iter().find(|s| s["id"] == example.check);
            let step = step.unwrap_or_else(|| panic!("{name}: {} does not run", example.check));
            assert_eq!(step["status"], want, "{name}: {}: {step:#}", example.check);
            match before {
                Some(before) => std::fs::write(&file, before).expect("it is written"),
                None => std::fs::remove_file(&file).expect("it is removed"),
            }
        }
    }
}

#[test]
fn each_check_of_the_readme_fails_and_passes() {
    fails_and_passes(
        "README.md",
        &[
            Example {
                check: "syntax",
                file: "greet.sh",
                good: "echo \"hello, $1\"\n# hi\n",
                bad: "if\n",
            },
            Example {
                check: "unit",
                file: "greet.sh",
                good: "echo \"hello, $1\"\n# hi\n",
                bad: "echo \"bye, $1\"\n",
            },
            Example {
                check: "prose",
                file: "README.md",
                good: "Says hello.\n",
                bad: "Says hello.\nTODO: says more.\n",
            },
        ],
    );
}

#[test]
fn each_check_of_the_tour_fails_and_passes() {
    const RULES: &str = ".PHONY: test clean\nall: build/greet\nbuild/greet: greet.sh\n\tmkdir -p build\n\tcp greet.sh build/greet\ntest: all\n\t@sh test.sh\nclean:\n";
    const GOOD: &str = "echo \"hello, $1\"\n# hi\n";
    let clean = format!("{RULES}\trm -rf build\n");
    let sticks = format!("{RULES}\tfalse\n");
    let (clean, sticks): (&'static str, &'static str) = (clean.leak(), sticks.leak());
    let greet = |check, bad| Example {
        check,
        file: "greet.sh",
        good: GOOD,
        bad,
    };
    fails_and_passes(
        "src/tour.md",
        &[
            Example {
                check: "build",
                file: "Makefile",
                good: clean,
                bad: "all:\n\tfalse\nclean:\n",
            },
            greet("unit", "echo \"bye, $1\" # hello\n"),
            greet("style", "echo \"hello, $1\" # TODO\n"),
            greet("result", "echo \"hel\"\"lo, $1\"\n"),
            Example {
                check: "prose",
                file: "README.md",
                good: "Says hello.\n",
                bad: "Says hello.\nTODO: says more.\n",
            },
            Example {
                check: "clean",
                file: "Makefile",
                good: clean,
                bad: sticks,
            },
        ],
    );
}

/// The first line says what vplan is and for which system; installing comes before all else; the
/// two commands are in blocks of their own.
#[test]
fn the_readme_is_short_and_begins_with_what_a_newcomer_needs() {
    let text = page("README.md");
    assert!(text.lines().count() <= 250, "{}", text.lines().count());
    let first = text.lines().next().expect("a first line");
    assert!(first.starts_with("# vplan: ") && first.contains("Linux"));
    let mut headings = text.lines().filter_map(|l| l.strip_prefix("## "));
    assert_eq!(headings.next(), Some("Install"));
    for command in ["cargo run -- tour", "cargo test --workspace"] {
        assert!(
            text.contains(&format!("\n```sh\n{command}\n```\n")),
            "{command}"
        );
    }
    assert!(
        page(".ci/run")
            .lines()
            .any(|l| l == "cargo test --workspace")
    );
    let rust = env!("CARGO_PKG_RUST_VERSION");
    for name in ["README.md", ".github/CONTRIBUTING.md"] {
        assert!(
            page(name).contains(&format!("Rust {rust} or later")),
            "{name}"
        );
    }
}

/// Paths that Markdown links name, and the programs of `.ci`, `fuzz` and `tests` in code spans.
fn named_paths(text: &str) -> Vec<String> {
    let links = regex::Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").expect("a pattern");
    let programs =
        regex::Regex::new(r"`((?:\.ci|fuzz|tests|\.github|src)/[\w./-]*)").expect("a pattern");
    let links = links.captures_iter(text).map(|c| c[1].to_owned());
    links
        .chain(programs.captures_iter(text).map(|c| format!("/{}", &c[1])))
        .collect()
}

#[test]
fn what_the_pages_for_people_link_and_name_is_there() {
    // `fuzz/campaign.md` is written by the campaign.
    let made = ["/fuzz/campaign.md"];
    let mut found = 0;
    for name in [
        "README.md",
        ".github/CONTRIBUTING.md",
        ".github/SECURITY.md",
        ".github/ISSUE_TEMPLATE/bug.md",
        ".github/ISSUE_TEMPLATE/unearned-green.md",
    ] {
        let folder = Path::new(name).parent().expect("a folder");
        for path in named_paths(&page(name)) {
            if made.contains(&path.as_str()) {
                continue;
            }
            let whole = match path.strip_prefix('/') {
                Some(from_root) => root().join(from_root),
                None => root().join(folder).join(&path),
            };
            assert!(whole.exists(), "{name} names {path}");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn the_table_of_commands_has_each_of_them_and_no_other() {
    let text = page("src/reference.md");
    let readme = page("README.md");
    let (_, table) = text
        .split_once("\n| command | does |\n")
        .expect("a table of commands");
    let rows = table.lines().skip(1).take_while(|l| l.starts_with('|'));
    let told: BTreeSet<String> = rows
        .flat_map(|row| {
            let cell = row
                .trim_start_matches('|')
                .split('|')
                .next()
                .expect("a first cell");
            let code: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            code.into_iter()
                .map(|c| c.split(' ').next().expect("a word").to_owned())
        })
        .collect();
    let help = Command::new(env!("CARGO_BIN_EXE_vplan"))
        .arg("help")
        .output()
        .expect("vplan runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let known: BTreeSet<String> = crate::cli::commands(&help).into_iter().collect();
    assert_eq!(told, known);
    let topics = help
        .split_once("Topics of `vplan help TOPIC`:\n")
        .expect("a list of topics")
        .1;
    let topics = topics
        .lines()
        .map_while(|l| l.strip_prefix("  "))
        .map(|l| l.split(' ').next().expect("a word"));
    for topic in topics {
        let shown = Command::new(env!("CARGO_BIN_EXE_vplan"))
            .args(["help", topic])
            .output()
            .expect("vplan runs");
        assert!(
            shown.status.success()
                && text.contains(&format!("`{topic}`"))
                && readme.contains(&format!("`vplan help {topic}`")),
            "{topic}"
        );
    }
}

#[test]
fn the_table_of_exit_codes_has_each_of_them_and_no_other() {
    let text = page("src/reference.md");
    let (_, table) = text
        .split_once("\n| exit | meaning |\n")
        .expect("a table of exit codes");
    let rows = table.lines().skip(1).take_while(|l| l.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let told: Vec<u8> = cells
        .flat_map(|cell| cell.split(','))
        .map(|code| code.trim().parse().expect("a number"))
        .collect();
    let known: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
    assert_eq!(told, known);
}
