//! The same contract, the same change: the same plan, byte for byte, wherever and however it is
//! made.

use crate::faults::sweep::{Case, Sweep};
use crate::support::Project;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const FILES: &[(&str, &str)] = &[
    (
        "contracts/verify.vplan",
        "vplan 1\nimport \"lib/more.vplan\" as more at \"src\"\npaths code = \"src/**\" \"!**/*.md\"\nrisk core tier 1 \"src/core/**\"\n\
         check always: npm run lint\nwhenChangedAny code {\n  check each: echo {changed}\n  check made {\n    run make all\n    produces \"out/**\"\n  }\n}\n\
         whenExists \"Makefile\" {\n  check built {\n    file \"out/app\" {\n      exists\n    }\n    requires \"out/**\"\n  }\n}\n\
         byRole tester {\n  tier 1 {\n    check deep: true\n  }\n}\nsequence each -> *\n",
    ),
    (
        "contracts/lib/more.vplan",
        "vplan 1\nwhenChangedAny \"**/*.md\" {\n  check prose: echo {changed}\n}\n",
    ),
    ("package.json", "{\"scripts\":{\"lint\":\"true\"}}"),
    ("Makefile", "all:\n\ttrue\n"),
    ("src/a.rs", "a\n"),
    ("src/core/b.rs", "b\n"),
    ("src/caf\u{e9}.md", "c\n"),
    ("src/\u{130}\u{131}I i.rs", "d\n"),
    ("src/new\nline", "e\n"),
];

/// What is changed after the first commit.
const CHANGES: &[(&str, Option<&str>)] = &[
    ("src/a.rs", Some("A\n")),
    ("src/core/b.rs", None),
    ("src/Z.rs", Some("new\n")),
    ("src/z.rs", Some("new\n")),
    ("src/-x", Some("new\n")),
    ("src/caf\u{e9}.md", Some("C\n")),
    ("src/\u{df}\u{1e9e}.md", Some("new\n")),
];

fn shuffled<T: Clone>(case: &mut Case, all: &[T]) -> Vec<T> {
    let mut left = all.to_vec();
    let mut out = Vec::new();
    while !left.is_empty() {
        out.push(left.swap_remove(case.below(left.len() as u64) as usize));
    }
    out
}

/// The repository, its files written in a random order, in a place with a name of random length.
fn made(case: &mut Case) -> Project {
    let project = Project::git_empty();
    let umask = *case.one_of(&["022", "077", "002"]);
    for (path, text) in shuffled(case, FILES) {
        project.write(path, text);
        std::fs::set_permissions(
            project.path(path),
            std::os::unix::fs::PermissionsExt::from_mode(if umask == "077" {
                0o600
            } else {
                0o644
            }),
        )
        .unwrap();
    }
    project.commit("begin");
    for (path, text) in shuffled(case, CHANGES) {
        match text {
            Some(text) => _ = project.write(path, text),
            None => _ = project.remove(path),
        }
    }
    match case.below(4) {
        0 => drop(project.git(&["gc", "-q"])),
        1 => drop(project.git(&["pack-refs", "--all"])),
        2 => drop(project.git(&["update-index", "--index-version", "4"])),
        _ => {}
    }
    project
}

/// A process of vplan in an environment of its own.
fn planned(case: &mut Case, project: &Project) -> (Vec<u8>, String) {
    let root: PathBuf = match case.below(4) {
        0 => project.root(),
        1 => {
            // By another way.
            let alias = project
                .parent()
                .join(format!("alias{}", "x".repeat(case.below(100) as usize)));
            let _ = std::os::unix::fs::symlink("repo", &alias);
            alias
        }
        2 => project.path("src"),
        _ => project.path("contracts/lib"),
    };
    let home = project.parent().join(format!("home-{}", case.below(4)));
    std::fs::create_dir_all(&home).unwrap();
    let keys = [
        ("core.quotePath", "true"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("core.abbrev", "5"),
        ("core.pager", "false"),
        ("status.showUntrackedFiles", "no"),
        ("core.untrackedCache", "true"),
        ("i18n.logOutputEncoding", "latin1"),
        ("core.preloadIndex", "false"),
        ("diff.noprefix", "true"),
        ("core.precomposeUnicode", "true"),
        ("index.threads", "1"),
        ("core.ignoreCase", "true"),
    ];
    let text: String = shuffled(case, &keys)[..case.below(5) as usize]
        .iter()
        .map(|(k, v)| {
            let (section, key) = k.split_once('.').unwrap();
            format!("[{section}]\n\t{key} = {v}\n")
        })
        .collect();
    std::fs::write(home.join(".gitconfig"), text).unwrap();
    let locales = [
        "C",
        "POSIX",
        "C.UTF-8",
        "tr_TR.UTF-8",
        "de_DE.ISO-8859-1",
        "ja_JP.EUC-JP",
        "zz_ZZ",
        "",
        "en_US.UTF-8",
    ];
    let zones = [
        "UTC",
        "Asia/Kathmandu",
        "America/St_Johns",
        ":/nonexistent",
        "XXX-99",
        "Pacific/Kiritimati",
        "",
    ];
    let mut env: Vec<(String, OsString)> = vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ("HOME".into(), home.clone().into()),
        ("XDG_STATE_HOME".into(), home.join("state").into()),
    ];
    let pairs: Vec<(&str, String)> = vec![
        ("LC_ALL", (*case.one_of(&locales)).into()),
        ("LANG", (*case.one_of(&locales)).into()),
        ("LC_COLLATE", (*case.one_of(&locales)).into()),
        ("LANGUAGE", "tr:de".into()),
        ("TZ", (*case.one_of(&zones)).into()),
        ("COLUMNS", case.below(300).to_string()),
        (
            "TERM",
            (*case.one_of(&["dumb", "xterm-256color", ""])).into(),
        ),
        ("NO_COLOR", "1".into()),
        ("CLICOLOR_FORCE", "1".into()),
        ("USER", format!("user{}", case.below(9))),
        ("TMPDIR", project.parent().to_str().unwrap().into()),
        ("RUST_BACKTRACE", "full".into()),
        ("RUST_LOG", "trace".into()),
        (
            "RUST_MIN_STACK",
            (1_u64 << (20 + case.below(4))).to_string(),
        ),
        ("RAYON_NUM_THREADS", "1".into()),
        ("MALLOC_PERTURB_", case.below(256).to_string()),
        ("SOURCE_DATE_EPOCH", case.below(1 << 40).to_string()),
        ("GIT_DIR", "/nonexistent".into()),
        ("GIT_INDEX_FILE", "/nonexistent".into()),
        ("POSIXLY_CORRECT", "1".into()),
        ("IFS", "x".into()),
        ("PWD", "/nonexistent".into()),
        ("OLDPWD", "x".into()),
        ("SHELL", "/nonexistent".into()),
        ("XDG_CONFIG_HOME", "/nonexistent".into()),
        ("VPLAN_ANYTHING", "1".into()),
        ("PAD", "x".repeat(case.below(5000) as usize)),
    ];
    let many = case.below(pairs.len() as u64) as usize;
    env.extend(
        shuffled(case, &pairs)[..many]
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.into())),
    );
    let env = shuffled(case, &env);
    // `env -i` keeps the order in which it is told.
    let umask = *case.one_of(&["022", "000", "077", "777"]);
    let stdin = *case.one_of(&["</dev/null", "<&-", "</dev/zero"]);
    let limits = *case.one_of(&[
        ":",
        "ulimit -n 64",
        "ulimit -c 0",
        "ulimit -s 512",
        "ulimit -n 1024",
    ]);
    let nice = *case.one_of(&["", "nice", "taskset 1", "nohup", "setsid -w"]);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!(
            "umask {umask}; {limits}; exec {nice} env -i \"$@\" {stdin}"
        ))
        .arg("sh");
    for (name, value) in &env {
        let mut pair = OsString::from(format!("{name}="));
        pair.push(value);
        command.arg(pair);
    }
    command.arg(env!("CARGO_BIN_EXE_vplan"));
    let mut options: Vec<&[&str]> = vec![
        &["--format", "canonical"],
        &["--role", "tester"],
        &["--min-tier", "1"],
    ];
    let color = ["--color", *case.one_of(&["auto", "always", "never"])];
    if case.below(2) == 0 {
        options.push(&color);
    }
    if case.below(4) == 0 {
        options.push(&["-v"]);
    }
    command.arg("plan").args(shuffled(case, &options).concat());
    command.current_dir(&root).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = format!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    (output.stdout, said)
}

#[test]
fn the_same_plan_everywhere() {
    const EACH: u64 = 10;
    let mut sweep = Sweep::new("faults::hostile::same::the_same_plan_everywhere", 3, 100);
    let mut first: Option<Vec<u8>> = None;
    while let Some(mut case) = sweep.next() {
        let project = made(&mut case);
        for _ in 0..EACH {
            let (plan, said) = planned(&mut case, &project);
            let first = first.get_or_insert_with(|| {
                let ran = project.run(&[
                    "plan",
                    "--format",
                    "canonical",
                    "--role",
                    "tester",
                    "--min-tier",
                    "1",
                ]);
                ran.exits(0);
                ran.stdout
            });
            assert_eq!(
                String::from_utf8_lossy(&plan),
                String::from_utf8_lossy(first),
                "{said}"
            );
            sweep.count("environments", 1);
        }
        sweep.count("repositories", 1);
        case.held();
    }
    assert!(first.is_some_and(|plan| plan.len() > 1000 && super::contains(&plan, b"src/Z.rs")));
}
