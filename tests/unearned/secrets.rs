//! What a step may print of a secret that it was granted: nothing that shows it, however it is
//! dressed.

use crate::support::Project;

/// A project whose only check prints this, as `printf` reads it.
fn printing(text: &str, stream: &str, exit: u8) -> Project {
    let contract = "vplan 1\ncheck a {\n  run ./prints\n  pass-env TOKEN\n}\n";
    let project = Project::contract(contract);
    let script = format!("#!/bin/sh\nprintf '{text}'{stream}\nexit {exit}\n");
    project.script("prints", &script);
    project
}

/// A terminal removes what stands between the letters, and so do vplan's own readers.
#[test]
fn a_secret_behind_a_terminal_sequence_is_masked() {
    for (name, printed) in [
        ("a colour", r"open\033[31m-sesame"),
        ("two of them", r"op\033[1;31men-ses\033[0mame"),
        ("a title", r"open-\033]0;title\007sesame"),
        ("a hyperlink", r"open\033]8;;http://x\033\\-sesame"),
        ("a character set", r"open-se\033(Bsame"),
        ("nothing", r"open-sesame"),
    ] {
        for stream in ["", " >&2"] {
            let project = printing(&format!("test %s{printed} ... FAILED\\n"), stream, 1);
            let args = "run --all --format json --grant-env TOKEN --junit r.xml --sarif r.sarif";
            let args: Vec<&str> = args.split(' ').collect();
            let ran = project.vplan(&args).env("TOKEN", "open-sesame").run();
            let report = ran.exits(40).json();
            let of = if stream.is_empty() {
                "stdoutTail"
            } else {
                "stderrTail"
            };
            let shown = report["steps"][0][of].as_str().unwrap();
            assert!(shown.contains("test *** ... FAILED"), "{name}: {shown}");
            let files = std::process::Command::new("grep")
                .args(["-rlE", "sesame|-ses", ".vplan", "r.xml", "r.sarif"])
                .current_dir(project.root())
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&files.stdout), "", "{name}");
        }
    }
}

/// A secret of several lines comes with the line ends of a terminal.
#[test]
fn a_secret_of_several_lines_is_masked_with_other_line_ends() {
    for printed in [
        r"open\r\nthe-door",
        r"open\nthe-door",
        r"op\033[0men\r\nthe\033[31m-door",
    ] {
        let project = printing(&format!("x{printed}y\\n"), "", 0);
        let args = ["run", "--all", "--format", "json", "--grant-env", "TOKEN"];
        let ran = project.vplan(&args).env("TOKEN", "open\nthe-door").run();
        let report = ran.exits(0).json();
        assert_eq!(report["steps"][0]["stdoutTail"], "x***y\n", "{printed}");
    }
}
