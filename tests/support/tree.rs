//! Real trees for real tools, where this machine has them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a program is there.
pub fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Whether these programs are there; without them a test is skipped, aloud. With
/// `VPLAN_TEST_TOOLS=required` (as in CI) it fails.
pub fn have(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|p| !is_there(p)).collect();
    let required = std::env::var_os("VPLAN_TEST_TOOLS").is_some_and(|v| v == "required");
    assert!(missing.is_empty() || !required, "{missing:?} missing");
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?} not on this machine");
    }
    missing.is_empty()
}

/// Copies a tree; what links lead to, in their place.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Waits until all that was written is so old that a digest of it is remembered.
pub fn rest() {
    // It is the clock itself that is waited for.
    std::thread::sleep(std::time::Duration::from_secs(3));
}
