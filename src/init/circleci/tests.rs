//! Tests of the reader of CircleCI.

use super::*;
use proptest::prelude::*;

fn read(tree: &RepositoryTree) -> SourceReading {
    super::read(tree, &tree.present(".circleci/config.yml"))
}

fn check(files: &[(&str, &str)], want: &[&str], want_not_read: &[&str]) {
    let reading = read(&RepositoryTree::from_files(files));
    let show = |found: &crate::found::SourceCommand| {
        let dir = if found.dir.is_root() {
            String::new()
        } else {
            format!("{}: ", found.dir)
        };
        let env: String = found
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        let unknown = found
            .unknown
            .as_ref()
            .map(|why| format!(" ?{why}"))
            .unwrap_or_default();
        format!(
            "{}: {dir}{env}{}{unknown}",
            found.place.line,
            found.words.join(" ")
        )
    };
    let found: Vec<String> = reading.found.iter().map(show).collect();
    assert_eq!(found, want);
    let show = |skipped: &crate::found::NotRead| {
        format!(
            "{}: {}: {}",
            skipped.place.line,
            skipped.part.as_deref().unwrap_or("file"),
            skipped.why
        )
    };
    let not_read: Vec<String> = reading.not_read.iter().map(show).collect();
    assert_eq!(not_read, want_not_read);
}

const CONFIG: &str = "version: 2.1\nparameters: {all: {default: yes-all}}\ncommands:\n  own:\n    parameters: {flag: {default: --d}}\n    steps: [{run: own << parameters.flag >>}]\njobs:\n  t:\n    docker: [{image: x}]\n    parameters: {v: {type: string}}\n    working_directory: ~/project/sub\n    environment: {RUSTFLAGS: -D}\n    steps:\n    - checkout\n    - run: x << parameters.v >> << pipeline.parameters.all >>\n    - run:\n        name: n\n        command: |\n          y \\\n            z\n        working_directory: other\n    - own: {flag: --e}\n    - own\n    - when: {condition: c, steps: [{run: 'w << parameters.none >>'}]}\n    - browser/test\n    - steps: << parameters.more >>\n    - run: {command: f, when: on_fail}\n  m:\n    macos: {xcode: 1}\nworkflows:\n  all:\n    jobs:\n    - t:\n        matrix: {parameters: {v: [a]}}\n    - m\n    - hold: {type: approval}\n    - d: {filters: {branches: {only: main}}}\n    - t: {v: b, name: named, filters: {branches: {ignore: /.*/}}}\n  nightly: {triggers: [{schedule: {}}], jobs: [t]}\n";

#[test]
fn steps_of_jobs() {
    check(
        &[(".circleci/config.yml", CONFIG)],
        &[
            "15: sub: RUSTFLAGS=-D x ${{ parameters.v }} ${{ pipeline.parameters.all }} ?${{ parameters.v }}",
            "19: other: RUSTFLAGS=-D y z",
            "6: sub: RUSTFLAGS=-D own ${{ parameters.flag }} ?${{ parameters.flag }}",
            "24: sub: RUSTFLAGS=-D w ${{ parameters.none }} ?${{ parameters.none }}",
        ],
        &[
            "25: step `browser/test`: its commands are not in the file",
            "26: job `t`, steps of a parameter: its commands are not in the file",
            "35: job `m`: it runs on another system",
            "36: job `hold`: a person starts it",
            "37: job `d`: a job of an orb",
            "38: job `named`: it runs for tags or some branches only",
            "39: workflow `nightly`: it starts on a schedule",
        ],
    );
}

proptest! {
    #[test]
    fn any_configuration_is_read(at in 0..400_usize, cut in 0..40_usize, piece in "[ -~\n]{0,3}") {
        let whole = CONFIG;
        let at = at.min(whole.len());
        let end = (at + cut).min(whole.len());
        let text = format!("{}{piece}{}", &whole[..at], &whole[end..]);
        let _ = read(&RepositoryTree::from_files(&[(".circleci/config.yml", &text)]));
    }
}
