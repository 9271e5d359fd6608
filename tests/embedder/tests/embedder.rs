//! An embedder's program verifies a change, and depends on nothing of a command line.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests are outside the pure core"
)]

use std::path::Path;
use std::process::Command;

#[test]
fn change_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let verifies = |contract: &str| {
        std::fs::create_dir_all(folder.path().join("contracts")).unwrap();
        std::fs::write(folder.path().join("contracts/verify.vplan"), contract).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_vplan-embedder"));
        program.arg(folder.path());
        let state = folder.path().join("state");
        let output = program.env("XDG_STATE_HOME", state).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    let git = Command::new("git")
        .arg("init")
        .arg("-q")
        .arg(folder.path())
        .status();
    assert!(git.unwrap().success());
    let (code, said) = verifies("vplan 1\ncheck greets: echo hello\n");
    assert_eq!((code, said.contains("greets: echo hello")), (Some(0), true));
    let (code, _) = verifies("vplan 1\ncheck greets: sh -c \"exit 1\"\n");
    assert_eq!(code, Some(1));
}

#[test]
fn nothing_of_a_command_line_is_a_dependency() {
    let tree = |package: &str| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--package", package, "--edges", "normal"])
            .args(["--prefix", "none", "--format", "{lib}"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap()
    };
    let has = |tree: &str, name: &str| tree.lines().any(|line| line == name);
    let shell = ["clap", "clap_complete", "clap_mangen", "indicatif"];
    let shell = shell.into_iter().chain(["miette", "vplan_cli"]);
    let (program, embedder) = (tree("vplan"), tree("vplan-embedder"));
    assert!(has(&embedder, "vplan_engine"), "{embedder}");
    for name in shell {
        assert!(has(&program, name), "the program does not have {name}");
        assert!(!has(&embedder, name), "{name}: {embedder}");
    }
    assert!(!has(&embedder, "proptest") && !has(&embedder, "tonic"));
}
