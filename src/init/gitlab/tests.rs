//! Tests of the reader of GitLab pipelines.

use super::*;
use crate::found::CommandEnding;

fn read(tree: &RepositoryTree) -> SourceReading {
    super::read(tree, &tree.present(".gitlab-ci.yml"))
}

fn tree(files: &[(&str, &str)]) -> RepositoryTree {
    RepositoryTree {
        default_branch: Some("main".to_owned()),
        ..RepositoryTree::from_files(files)
    }
}

fn check(files: &[(&str, &str)], want: &[&str], want_not_read: &[&str]) {
    let reading = read(&tree(files));
    let show = |found: &crate::found::SourceCommand| {
        let env: String = found
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        let ending = if found.ending == CommandEnding::Counts {
            ""
        } else {
            " [ignored]"
        };
        let unknown = found
            .unknown
            .as_ref()
            .map(|why| format!(" ?{why}"))
            .unwrap_or_default();
        let paths = found.paths.concat();
        let dir = if found.dir.is_root() {
            String::new()
        } else {
            format!("{}: ", found.dir)
        };
        format!(
            "{}: {dir}{env}{}{unknown}{ending}{paths}",
            found.place.line,
            found.words.join(" ")
        )
    };
    let found: Vec<String> = reading.found.iter().map(show).collect();
    assert_eq!(found, want, "{files:?}");
    let show = |skipped: &crate::found::NotRead| {
        format!(
            "{}: {}: {}",
            skipped.place.line,
            skipped.part.as_deref().unwrap_or("file"),
            skipped.why
        )
    };
    let not_read: Vec<String> = reading.not_read.iter().map(show).collect();
    assert_eq!(not_read, want_not_read, "{files:?}");
}

fn one(text: &str, want: &[&str], want_not_read: &[&str]) {
    check(&[(".gitlab-ci.yml", text)], want, want_not_read);
}

#[test]
fn scripts_share_a_shell_and_keep_their_lines() {
    one(
        "variables: {RUSTFLAGS: -D, NAME: n}\ndefault:\n  before_script: [cd sub]\nt:\n  script:\n  - X=1\n  - |\n    x $X $NAME\n    y\n  - cd ..\n  - z\n",
        &[
            "8: sub: RUSTFLAGS=-D x 1 n",
            "9: sub: RUSTFLAGS=-D y",
            "11: RUSTFLAGS=-D z",
        ],
        &[],
    );
}

#[test]
fn inheritance_and_references_are_put_in() {
    one(
        ".a: {script: [x], variables: {TZ: UTC}}\n.b: {before_script: [y], script: [never]}\nt: {extends: [.b, .a]}\nu:\n  script:\n  - !reference [.b, before_script]\n  - z\n",
        &["2: TZ=UTC y", "1: TZ=UTC x", "2: y", "7: z"],
        &[],
    );
    // Cycles end.
    one(
        ".a: {extends: .b}\n.b: {extends: .a, script: [x]}\nt: {extends: .a}\n",
        &["2: x"],
        &[],
    );
    one(
        ".a: {script: [!reference [.a, script]]}\nt: {extends: .a}\n",
        &[],
        &["2: job `t`: it has no script"],
    );
}

#[test]
fn rules_decide_which_jobs_run() {
    let rule = |rule: &str| format!("t: {{script: [x], rules: [{rule}]}}\n");
    for (rules, want) in [
        (
            "{if: $CI_PIPELINE_SOURCE == \"merge_request_event\"}",
            Some("1: x"),
        ),
        (
            "{if: '$CI_PIPELINE_SOURCE =~ /^(merge|push)/ && $CI_COMMIT_TAG == null'}",
            Some("1: x"),
        ),
        ("{if: $CI_COMMIT_BRANCH}", Some("1: x")),
        ("{if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}", None),
        ("{if: $CI_COMMIT_TAG}", None),
        ("{if: $UNSET}", None),
        ("{if: $CI_SOMETHING}", Some("1: x")),
        ("{if: $CI_PIPELINE_SOURCE, when: never}", None),
        ("{if: $CI_SOMETHING, when: never}, {}", Some("1: x")),
        ("{when: manual}", None),
        ("{changes: [src/**]}", Some("1: xsrc/**")),
        (
            "{changes: {paths: [src/**]}, allow_failure: true}",
            Some("1: x [ignored]src/**"),
        ),
        ("{exists: [none]}", None),
    ] {
        let reading = read(&tree(&[(".gitlab-ci.yml", &rule(rules))]));
        assert_eq!(reading.found.is_empty(), want.is_none(), "{rules}");
        if let Some(want) = want {
            one(&rule(rules), &[want], &[]);
        }
    }
    one(
        "workflow: {rules: [{if: $CI_COMMIT_TAG}]}\nt: {script: [x]}\n",
        &[],
        &["2: job `t`: `workflow: rules`: no rule of it holds for a merge request"],
    );
}

#[test]
fn only_and_except() {
    for (keys, runs) in [
        ("only: [merge_requests]", true),
        ("only: [branches]", true),
        ("only: [main]", true),
        ("only: [tags]", false),
        ("only: {refs: [schedules]}", false),
        ("extends: .s, only: {changes: [a]}", false),
        ("except: [tags]", true),
        ("except: [branches]", false),
        ("only: [/^change$/]", true),
        ("when: manual", false),
        ("tags: [saas-windows-medium]", false),
        ("trigger: {include: x.yml}", false),
    ] {
        let text = format!(".s: {{only: {{refs: [schedules]}}}}\nt: {{script: [x], {keys}}}\n");
        let reading = read(&tree(&[(".gitlab-ci.yml", &text)]));
        assert_eq!(!reading.found.is_empty(), runs, "{keys}");
        assert_eq!(reading.not_read.is_empty(), runs, "{keys}");
    }
}

#[test]
fn includes_and_matrices() {
    check(
        &[
            (
                ".gitlab-ci.yml",
                "include: [{local: /ci/a.yml}, {project: p, file: f}, ci/none.yml]\nt: {script: [x $V], parallel: {matrix: [{V: [1, 2]}]}}\n",
            ),
            (
                "ci/a.yml",
                "include: .gitlab-ci.yml\nt: {allow_failure: true}\nu: {script: [y]}\n",
            ),
        ],
        &["2: x $V ?$V [ignored]", "3: y"],
        &[
            "1: include `ci/none.yml`: it is not in the repository",
            "1: include `p`: it is not in the repository",
        ],
    );
}

#[test]
fn bad_configurations_are_read_as_far_as_they_go() {
    for text in [
        "t: [",
        "t: 3",
        "- x",
        "",
        "include: 3\nt: {script: {a: b}}",
        "t: {extends: 3, rules: x, only: 3, parallel: {matrix: 3}, script: x}",
        "include: .gitlab-ci.yml",
        "t: {script: !reference 3}",
        "variables: 3\ndefault: 3\nworkflow: 3\nt: {script: [[[x]]]}",
    ] {
        let _ = read(&tree(&[(".gitlab-ci.yml", text)]));
    }
    let wide: String = (0..200)
        .map(|n| format!(".e{n}: {{extends: [.e{}, .e{0}], script: [x]}}\n", n + 1))
        .collect();
    let _ = read(&tree(&[(
        ".gitlab-ci.yml",
        &format!("{wide}t: {{extends: .e0}}\n"),
    )]));
}
