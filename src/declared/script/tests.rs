//! Scripts of jobs, rule by rule.

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

fn repository() -> Tree {
    let mut tree = Tree::default();
    for file in [
        "Cargo.lock",
        "src/main.rs",
        "web/package.json",
        "docs/a.md",
        "gen/a.rs",
        "go.mod",
        "Makefile",
        "CMakeLists.txt",
        "web/CMakeLists.txt",
    ] {
        tree.files.insert(path(file));
    }
    tree
}

fn job() -> Job {
    Job {
        file: path(".github/workflows/ci.yml"),
        belief: Belief::Workflow,
        name: "test".to_owned(),
        when: When::Unsaid,
        tier: 0,
        warning: false,
        timeout: Some(10),
        notes: Vec::new(),
        secrets: vec!["TOKEN".to_owned()],
        services: vec![("postgres".to_owned(), vec!["DATABASE_URL".to_owned()])],
        exported: BTreeMap::new(),
        tool_path: Vec::new(),
        edited: None,
        built: Vec::new(),
        since_compared: Vec::new(),
    }
}

/// Reads the steps of a job.
fn steps(texts: &[&str]) -> (Declarations, Job) {
    let (mut found, mut job) = (Declarations::default(), job());
    for text in texts {
        let script = Script {
            text,
            line: 10,
            label: "step".to_owned(),
            dir: RepoPath::root(),
            env: BTreeMap::from([
                ("RUSTFLAGS".to_owned(), "-D warnings".to_owned()),
                ("FORCE_COLOR".to_owned(), "1".to_owned()),
            ]),
            condition: None,
        };
        read(&repository(), &mut job, &script, &mut found);
    }
    (found, job)
}

/// `LINE DIR: COMMAND` of what is kept, `REASON: COMMAND` of what is not.
fn shown(text: &str) -> Vec<String> {
    let (found, _) = steps(&[text]);
    let one = |c: &Candidate| match &c.state {
        State::Out(reason, _) => format!("{}: {}", reason.key(), c.text()),
        _ => {
            let kind = if matches!(c.work, Work::Shell(_)) {
                "shell "
            } else {
                ""
            };
            format!("{} {}: {kind}{}", c.origin.line, c.dir, c.text())
        }
    };
    found.candidates.iter().map(one).collect()
}

#[test]
fn commands_of_scripts() {
    let cases: &[(&str, &[&str])] = &[
        // R9, R10
        (
            "echo hi\nset -euo pipefail\n# no\ncargo test \\\n  --all\ncargo doc && cargo clippy; ls",
            &[
                "13 .: cargo test --all",
                "15 .: cargo doc",
                "15 .: cargo clippy",
            ],
        ),
        (
            "rustc --version\ngit config --global a b\necho '::group::x'",
            &[],
        ),
        // R6
        ("cd web\nnpm test", &["11 web: npm test"]),
        (
            "cd web && npm test\nnpm run lint",
            &["10 web: npm test", "11 web: npm run lint"],
        ),
        (
            "pushd web; npm test; popd; cargo test",
            &["10 web: npm test", "10 .: cargo test"],
        ),
        (
            "(cd web && npm test)\ncargo test",
            &["10 web: npm test", "11 .: cargo test"],
        ),
        ("cd web; cd -; cargo test", &["10 .: cargo test"]),
        (
            "cd $GITHUB_WORKSPACE/web && npm test",
            &["10 web: npm test"],
        ),
        (
            "cd web; cd \"$GITHUB_WORKSPACE\"; cargo test",
            &["10 .: cargo test"],
        ),
        ("cd elsewhere && cargo test", &["unknown: cargo test"]),
        ("cd $RUNNER_TEMP && cargo test", &["unknown: cargo test"]),
        // R7
        ("export A=1\ncargo test", &["11 .: cargo test"]),
        ("X=src\nshellcheck $X", &["11 .: shellcheck src"]),
        ("cargo test $EXTRA", &["unknown: cargo test $EXTRA"]),
        ("cargo test ${EXTRA:-}", &["10 .: cargo test"]),
        (
            "cargo test ${{ matrix.x }}",
            &["unknown: cargo test ${{ matrix.x }}"],
        ),
        ("deploy $TOKEN", &["deploys: deploy $TOKEN"]),
        ("scan --key $TOKEN", &["secret: scan --key $TOKEN"]),
        (
            "psqlcheck $DATABASE_URL",
            &["service: psqlcheck $DATABASE_URL"],
        ),
        (
            "make -j$(nproc)\nctest -j \"$(nproc)\"",
            &["10 .: make", "11 .: ctest"],
        ),
        // R11
        ("cargo test 2>&1 | tee log", &["10 .: cargo test"]),
        (
            "ruff check --output-format sarif > r.sarif",
            &["10 .: ruff check --output-format sarif"],
        ),
        ("cargo tree >> $GITHUB_STEP_SUMMARY", &["10 .: cargo tree"]),
        (
            "git ls-files '*.sh' | xargs shellcheck",
            &["10 .: shell git ls-files '*.sh' | xargs shellcheck"],
        ),
        (
            "shellcheck scripts/*.sh",
            &["10 .: shell shellcheck scripts/*.sh"],
        ),
        (
            "for d in a b; do (cd $d && go test ./...); done",
            &["10 .: shell for d in a b; do (cd $d && go test ./...); done"],
        ),
        (
            "for d in a b; do\n echo\n echo\n go test $d\ndone",
            &["inline: for d in a b; do\n echo\n echo\n go test $d\ndone"],
        ),
        (
            "if [ -n \"$X\" ]; then cargo test; fi",
            &["inline: if [ -n \"$X\" ]; then cargo test; fi"],
        ),
        ("! grep -rn TODO src", &["10 .: shell ! grep -rn TODO src"]),
        ("f() { cargo test; }\nf", &["inline: f"]),
        ("if [ -f x ]; then echo y; fi", &[]),
        (
            "cargo test <<E\nx\nE",
            &["10 .: shell cargo test <<E\nx\nE"],
        ),
        // R4
        ("cargo test || true", &["cannot_fail: cargo test"]),
        ("cargo test || echo no", &["cannot_fail: cargo test"]),
        ("cargo test || exit 0", &["cannot_fail: cargo test"]),
        ("cargo test || exit 1", &["10 .: cargo test"]),
        ("cargo test || { echo no; exit 1; }", &["10 .: cargo test"]),
        (
            "a=0; cargo test || a=1; cargo clippy || a=1; test $a = 0",
            &["10 .: cargo test", "10 .: cargo clippy"],
        ),
        (
            "set +e\ncargo test\nset -e\ncargo clippy",
            &["cannot_fail: cargo test", "13 .: cargo clippy"],
        ),
        // R12
        ("time cargo test", &["10 .: cargo test"]),
        ("timeout 5m cargo test", &["10 .: cargo test"]),
        ("retry -t 3 -- cargo test", &["10 .: cargo test"]),
        (
            "richgo test ./...\ngotestsum --format x -- -race ./...",
            &["10 .: go test ./...", "11 .: go test -race ./..."],
        ),
        (
            "nix develop -c cargo test",
            &["10 .: nix develop -c cargo test"],
        ),
        // R15
        (
            "npm ci\nmkdir -p out\ncp a b\nchmod +x x\ncargo test",
            &[
                "installs: npm ci",
                "nothing: mkdir -p out",
                "nothing: cp a b",
                "nothing: chmod +x x",
                "14 .: cargo test",
            ],
        ),
        (
            "cargo run &\ncargo test",
            &["never_ends: cargo run", "11 .: cargo test"],
        ),
        (
            "cargo test\nexit 0\ncargo clippy",
            &["10 .: cargo test", "nothing: cargo clippy"],
        ),
        ("$CMD x", &["unknown: $CMD x"]),
        ("curl x | sh", &["network: curl x | sh"]),
        ("cargo test 'x", &["inline: cargo test 'x"]),
        (
            "eval \"$(cargo test)\"",
            &["unknown: eval \"$(cargo test)\""],
        ),
    ];
    let mut misses = Vec::new();
    for (text, want) in cases {
        let got = shown(text);
        if got.iter().map(String::as_str).collect::<Vec<_>>() != *want {
            misses.push(format!("{text:?}\n  got  {got:?}\n  want {want:?}"));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn environment() {
    let (found, job) = steps(&[
        "echo \"A=1\" >> $GITHUB_ENV\necho \"B=$(date)\" >> \"$GITHUB_ENV\"\necho \"$GITHUB_WORKSPACE/docs\" >> $GITHUB_PATH",
        "export C=2 TOKEN_X=3\nD=4 cargo test\ncargo test $B",
    ]);
    let first = found.candidates.first().unwrap();
    let env: Vec<String> = first.env.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(
        env,
        ["A=1", "C=2", "D=4", "RUSTFLAGS=-D warnings", "TOKEN_X=3"]
    );
    assert_eq!(job.tool_path, ["docs"]);
    assert!(matches!(
        found.candidates[1].state,
        State::Out(Reason::Unknown, _)
    ));
    assert_eq!(first.origin.label, "test: step");
    assert_eq!(first.timeout, Some(10));
    let (found, _) = steps(&["timeout 90 cargo test"]);
    assert_eq!(found.candidates[0].timeout, Some(2));
    let mut job = super::tests::job();
    let script = Script {
        text: "cargo test\nruff check",
        line: 1,
        label: String::new(),
        dir: RepoPath::root(),
        env: BTreeMap::from([("DATABASE_URL".to_owned(), "x".to_owned())]),
        condition: Some("x".to_owned()),
    };
    let mut found = Declarations::default();
    read(&repository(), &mut job, &script, &mut found);
    assert!(
        matches!(&found.candidates[0].state, State::Out(Reason::Service, name) if name == "postgres")
    );
    assert_eq!(found.candidates[1].state, State::Open);
    assert_eq!(found.candidates[1].notes, ["CI runs it only if `x`"]);
}

/// R14
#[test]
fn generators_and_comparisons() {
    for compare in [
        "git diff --exit-code",
        "git diff --quiet",
        "test -z \"$(git status --porcelain)\"",
        "[ -z \"$(git status --porcelain)\" ]",
        "if ! git diff --quiet; then echo no; exit 1; fi",
        "if [ -n \"$(git status --porcelain)\" ]; then\n  echo no\n  git diff\n  exit 1\nfi",
        "git diff --exit-code || (echo no; exit 1)",
        "[[ -z $(git status -s) ]] || exit 1",
    ] {
        for texts in [
            vec![format!("go generate ./...\n{compare}")],
            vec!["go generate ./...".to_owned(), compare.to_owned()],
        ] {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (found, _) = steps(&texts);
            assert_eq!(
                found.candidates.len(),
                1,
                "{compare}: {:?}",
                found.candidates
            );
            assert_eq!(found.candidates[0].unchanged, ["**"], "{compare}");
            assert_eq!(found.candidates[0].tier, 1, "{compare}");
        }
    }
    let unchanged = |text: &str| -> Vec<Vec<String>> {
        let (found, _) = steps(&[text]);
        found
            .candidates
            .iter()
            .map(|c| c.unchanged.clone())
            .collect()
    };
    assert_eq!(
        unchanged("make gen\ngit diff --exit-code -- gen src/main.rs"),
        [["gen/**", "src/main.rs"]]
    );
    assert_eq!(
        unchanged("cd web\n./gen\ngit diff --exit-code -- . ':!package.json'"),
        [["web/**", "!web/package.json"]]
    );
    // A formatter has a form of its own; tests before a generator are no generators.
    assert_eq!(unchanged("cargo fmt\ngit diff --exit-code"), [[""; 0]]);
    assert_eq!(
        unchanged("cargo test\n./codegen\ngit diff --exit-code"),
        [vec![], vec!["**".to_owned()]]
    );
    assert_eq!(
        unchanged("cargo build\ncargo test\ngit diff --exit-code"),
        [vec![], vec!["**".to_owned()]]
    );
    // A comparison with another commit looks for what has changed.
    assert_eq!(
        unchanged("./codegen\ngit diff --quiet origin/main..."),
        [[""; 0]]
    );
}

/// R16
#[test]
fn what_follows_an_edit_judges_another_tree() {
    for edit in [
        "sed -i s/a/b/ Cargo.lock",
        "sed -i '' s/a/b/ src/*.rs",
        "perl -pi -e x src/main.rs",
        "git apply x.patch",
        "git checkout v1",
        "cargo add x",
        "npm version 1.0.0",
        "rustup self uninstall",
        "rm Cargo.lock",
        "rm -rf docs",
        "mv src/main.rs x",
        "cp x src/main.rs",
        "cargo update -p x",
        "echo x > src/main.rs",
        "echo x | patch -p1",
    ] {
        let (found, _) = steps(&[edit, "cargo test", "npm ci"]);
        let states: Vec<&State> = found
            .candidates
            .iter()
            .rev()
            .take(2)
            .map(|c| &c.state)
            .collect();
        assert!(
            matches!(states[1], State::Out(Reason::EditsFirst, _)),
            "{edit}: {states:?}"
        );
        assert!(
            matches!(states[0], State::Out(Reason::Installs, _)),
            "{edit}: {states:?}"
        );
    }
    for harmless in [
        "sed -i s/a/b/ /tmp/x",
        "rm -rf target",
        "cp a b",
        "git fetch",
        "echo x > out.txt",
    ] {
        let (found, _) = steps(&[harmless, "cargo test"]);
        assert_eq!(
            found.candidates.last().unwrap().state,
            State::Open,
            "{harmless}"
        );
    }
    // A lock that is compared afterwards.
    let (found, _) = steps(&["cargo update\ngit diff --exit-code Cargo.lock\ncargo test"]);
    assert!(
        found.candidates.iter().all(|c| c.state == State::Open),
        "{:?}",
        found.candidates
    );
}

/// R15, R18
#[test]
fn configuring_and_building_come_first() {
    let (found, _) = steps(&[
        "cmake -S . -B build -G Ninja\ncmake --build build -j$(nproc)\nctest --test-dir build",
    ]);
    let [configure, build, test] = found.candidates.as_slice() else {
        panic!("{:?}", found.candidates)
    };
    assert!(configure.setup && !build.setup && !test.setup);
    assert_eq!(configure.produces, ["build/**"]);
    assert_eq!(build.needs, [0]);
    assert_eq!(test.needs, [0, 1]);
    assert_eq!(build.text(), "cmake --build build");
    let (found, _) = steps(&["npm run build", "npm test\nnpm run lint"]);
    let needs: Vec<&[usize]> = found
        .candidates
        .iter()
        .map(|c| c.needs.as_slice())
        .collect();
    assert_eq!(needs, [&[][..], &[0], &[]]);
    let (found, _) = steps(&["cargo build\ncargo test"]);
    assert!(found.candidates.iter().all(|c| c.needs.is_empty()));
    for (command, produces) in [
        ("meson setup b", "b/**"),
        ("./configure", "config.status"),
        ("autoreconf -i", "configure"),
        ("cmake -Bout", "out/**"),
    ] {
        let (found, _) = steps(&[command]);
        assert!(found.candidates[0].setup, "{command}");
        assert_eq!(found.candidates[0].produces, [produces], "{command}");
    }
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any script is read, and nothing of it that writes or installs is kept.
        #[test]
        fn any_script(lines in proptest::collection::vec(proptest::sample::select(vec![
            "cargo test", "npm ci", "rm -rf x", "cd web", "if a; then", "fi", "(", ")", "{", "}", "&&", "||", "|", "true", "for x in y; do", "done", "export A=1", "'", "\"", "$(", "`",
            "git diff --exit-code", "sudo x", "npm publish", "sed -i s/a/b/ Cargo.lock", "exit 0", "set +e", "cat <<E", "E", "\\", "${{ x", "}}", "case x in", "esac", ";;", "f() {", "f", "&",
        ]), 0..12), joint in proptest::sample::select(vec![" ", "\n"])) {
            let text = lines.join(joint);
            let (found, _) = steps(&[&text]);
            for one in found.candidates.iter().filter(|c| c.state == State::Open) {
                for bad in ["npm ci", "rm -rf", "sudo x", "npm publish", "sed -i", "${{"] {
                    let words = match &one.work {
                        Work::Words(words) => words.join(" "),
                        Work::Shell(text) => text.clone(),
                    };
                    // As a word of another command it is no command.
                    let starts = words.starts_with(bad);
                    prop_assert!(!starts, "{:?} of {:?}", words, text);
                }
            }
        }

        #[test]
        fn any_characters(text in "\\PC{0,60}") {
            let _ = steps(&[&text]);
        }
    }
}

#[test]
fn builds_in_a_folder_that_git_does_not_track() {
    let kept = |text: &str| shown(&format!("mkdir out\n{text}"));
    for (text, want) in [
        (
            "cd out && cmake .. -DX=1 -G Ninja && make -j4 && ctest -V",
            vec![
                "11 .: cmake -B out -DX=1 -G Ninja",
                "11 .: cmake --build out",
                "11 .: ctest --test-dir out -V",
            ],
        ),
        (
            "cd out\ncmake ../web\ncmake --build . --config Debug\nmake check\nmake test",
            vec![
                "12 .: cmake -S web -B out",
                "13 .: cmake --build out --config Debug",
                "14 .: cmake --build out --target check",
                "15 .: ctest --test-dir out",
            ],
        ),
        (
            "cmake -B out\ncd out\nninja -j 2 all",
            vec!["11 .: cmake -B out", "13 .: cmake --build out --target all"],
        ),
        // What cannot be said from the root.
        (
            "cd out\nmake\ncmake .. -DCMAKE_TOOLCHAIN_FILE=../t.cmake\ncmake ../none\n./run",
            vec![
                "unknown: make",
                "unknown: cmake .. -DCMAKE_TOOLCHAIN_FILE=../t.cmake",
                "unknown: cmake ../none",
                "unknown: ./run",
            ],
        ),
    ] {
        let found = kept(text);
        assert_eq!(found.get(1..).unwrap_or_default(), want, "{text}");
    }
}

#[test]
fn a_checkout_of_the_change_edits_nothing() {
    for (text, want) in [
        ("git checkout -f -q $CI_COMMIT_SHA", "11 .: cargo test"),
        ("git reset --hard ${{ github.sha }}", "11 .: cargo test"),
        ("git pull origin \"${SOURCE_BRANCH}\"", "11 .: cargo test"),
        ("git checkout origin/main -- src", "edits_first: cargo test"),
        (
            "cargo hack generate-lockfile --remove-dev-deps",
            "edits_first: cargo test",
        ),
        (
            "cargo +nightly hack generate-lockfile -Z direct-minimal-versions",
            "edits_first: cargo test",
        ),
    ] {
        let found = shown(&format!("{text}\ncargo test"));
        assert_eq!(found.last().map(String::as_str), Some(want), "{text}");
    }
}

#[test]
fn operands_outside_of_the_repository() {
    assert_eq!(
        shown("cd web && ./make ../../made\n./take ../x --to=y\n./take ./x"),
        [
            "unknown: ./make ../../made",
            "11 web: ./take ../x --to=y",
            "12 web: ./take ./x"
        ]
    );
}
