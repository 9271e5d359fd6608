//! Tests of the reader of GitLab's configuration.

use super::item::Config;
use super::*;
use proptest::prelude::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// A repository with these files.
fn tree(files: &[(&str, &str)]) -> Tree {
    Tree {
        default_branch: Some("main".to_owned()),
        slug: Some("harbour/ledger".to_owned()),
        ..Tree::of(files)
    }
}

/// The lines of a job's scripts with their places, as `FILE:LINE TEXT`.
fn script_of(files: &[(&str, &str)], name: &str) -> Vec<String> {
    let tree = tree(files);
    let mut found = Declarations::default();
    let mut config = Config::load(&tree, &path(FILE), &mut found).expect("it is read");
    let mut job = config.job(name).expect("there is such a job");
    inherit(&config, &mut job);
    let reader = Reader {
        tree: &tree,
        config: &config,
        name,
        at: At::default(),
        job: &job,
    };
    reader
        .lines(&["before_script", "script"])
        .into_iter()
        .map(|(text, at)| {
            let file = config
                .files
                .get(at.file)
                .map_or_else(String::new, ToString::to_string);
            format!("{file}:{} {text}", at.line)
        })
        .collect()
}

#[test]
fn scripts_are_inherited_with_their_places() {
    let main = "\
include:
  - local: /ci/shared.yml
  - project: other/templates
    file: a.yml
default:
  before_script:
    - ./prepare
.base: &base
  script: &lines
    - base one
    - |
      base two
      base three
plain:
  script: plain
anchored:
  <<: *base
  before_script: []
aliased:
  before_script: []
  script:
    - first
    - *lines
extended:
  extends: [.base, .shared]
  before_script: []
referred:
  before_script:
    - !reference [.shared, script]
  script:
    - !reference [.missing, script]
    - own
without:
  inherit:
    default: false
  script:
    - own
";
    let shared = ".shared:\n  script:\n    - shared\n  variables:\n    A: b\n";
    let files = [(FILE, main), ("ci/shared.yml", shared)];
    for (job, want) in [
        (
            "plain",
            &[".gitlab-ci.yml:7 ./prepare", ".gitlab-ci.yml:15 plain"][..],
        ),
        (
            "anchored",
            &[
                ".gitlab-ci.yml:10 base one",
                ".gitlab-ci.yml:12 base two",
                ".gitlab-ci.yml:13 base three",
            ],
        ),
        (
            "aliased",
            &[
                ".gitlab-ci.yml:22 first",
                ".gitlab-ci.yml:10 base one",
                ".gitlab-ci.yml:12 base two",
                ".gitlab-ci.yml:13 base three",
            ],
        ),
        ("extended", &["ci/shared.yml:3 shared"]),
        (
            "referred",
            &["ci/shared.yml:3 shared", ".gitlab-ci.yml:32 own"],
        ),
        ("without", &[".gitlab-ci.yml:37 own"]),
    ] {
        assert_eq!(script_of(&files, job), want, "{job}");
    }
    let mut found = Declarations::default();
    let read = Config::load(&tree(&files), &path(FILE), &mut found);
    assert!(read.is_some());
    let skipped: Vec<&str> = found.skipped.iter().map(|s| s.what.as_str()).collect();
    assert_eq!(skipped, ["project `other/templates`"]);
}

#[test]
fn inputs_are_filled_in() {
    let main = "include:\n  - local: t.yml\n    inputs:\n      tool: ruff\n";
    let template = "\
spec:
  inputs:
    tool:
      default: flake8
    folder:
      default: src
    unknown:
---
lint:
  script:
    - $[[ inputs.tool ]] $[[ inputs.folder ]] $[[ inputs.unknown ]]
";
    let files = [(FILE, main), ("t.yml", template)];
    assert_eq!(
        script_of(&files, "lint"),
        ["t.yml:11 ruff src ${{ inputs.unknown }}"]
    );
}

/// The answer for a job: its tier, its condition and what is not known; or why it is none.
fn answer(job: &str, workflow: &str) -> String {
    let text = format!("variables:\n  OWN: 'yes'\n{workflow}job:\n  script: x\n{job}");
    let tree = tree(&[(FILE, &text), ("src/a.py", "")]);
    let mut found = Declarations::default();
    let mut config = Config::load(&tree, &path(FILE), &mut found)
        .unwrap_or_else(|| panic!("{text}: {:?}", found.skipped));
    let job = config.job("job").unwrap();
    let reader = Reader {
        tree: &tree,
        config: &config,
        name: "job",
        at: At::default(),
        job: &job,
    };
    match reader.answer(&reader.variables()) {
        Ok((answer, tier)) => {
            let changes = answer
                .changes
                .map_or_else(String::new, |c| format!(" {}", c.join(" ")));
            let unknown = if answer.unknown.is_empty() {
                String::new()
            } else {
                format!(" if {}", answer.unknown.join(" | "))
            };
            let warning = if answer.warning == Some(true) {
                " warning"
            } else {
                ""
            };
            format!("tier {tier}{changes}{warning}{unknown}")
        }
        Err((reason, why)) => format!("{}: {why}", reason.key()),
    }
}

#[test]
fn rules_of_jobs() {
    for (job, want) in [
        ("", "tier 0"),
        ("  when: manual\n", "occasion: it runs only by hand"),
        ("  when: delayed\n", "occasion: it runs only after a delay"),
        ("  when: never\n", "occasion: a rule excludes it"),
        (
            "  when: on_failure\n",
            "occasion: it runs only after a failure",
        ),
        // `rules`: the first that holds decides.
        (
            "  rules:\n    - if: $CI_PIPELINE_SOURCE == 'merge_request_event'\n",
            "tier 0",
        ),
        (
            "  rules:\n    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH\n",
            "tier 1",
        ),
        (
            "  rules:\n    - if: '$CI_COMMIT_TAG'\n",
            "occasion: no rule holds for a change",
        ),
        (
            "  rules:\n    - if: $CI_PIPELINE_SOURCE == \"schedule\"\n    - when: never\n",
            "occasion: a rule excludes it",
        ),
        (
            "  rules:\n    - if: $CI_COMMIT_TAG\n      when: never\n    - when: on_success\n",
            "tier 0",
        ),
        (
            "  rules:\n    - when: manual\n",
            "occasion: it runs only by hand",
        ),
        (
            "  rules:\n    - if: $CI_COMMIT_BRANCH =~ /^release/\n",
            "occasion: no rule holds for a change",
        ),
        (
            "  rules:\n    - if: $CI_COMMIT_REF_NAME =~ /^ma(in|ster)$/\n",
            "tier 1",
        ),
        ("  rules:\n    - if: $RUN_SLOW\n", "tier 0 if $RUN_SLOW"),
        (
            "  rules:\n    - if: $OWN == 'yes' && ($CI || $X)\n",
            "tier 0",
        ),
        (
            "  rules:\n    - if: $OWN != 'yes'\n",
            "occasion: no rule holds for a change",
        ),
        (
            "  rules:\n    - if: $CI_MERGE_REQUEST_LABELS =~ /slow/\n",
            "occasion: no rule holds for a change",
        ),
        (
            "  rules:\n    - if: $CI_PROJECT_PATH == 'harbour/ledger'\n",
            "tier 0",
        ),
        (
            "  rules:\n    - if: $CI_PROJECT_NAMESPACE == 'other'\n",
            "occasion: no rule holds for a change",
        ),
        // Conditions.
        (
            "  rules:\n    - changes: [src/**/*, '*.toml']\n",
            "tier 0 src/**/* *.toml",
        ),
        (
            "  rules:\n    - changes:\n        paths: [docs/**/*]\n        compare_to: main\n",
            "tier 0 docs/**/*",
        ),
        (
            "  rules:\n    - changes: [a/*]\n    - changes: [b/*]\n    - when: never\n",
            "tier 0 a/* b/*",
        ),
        (
            "  rules:\n    - changes: [a/*]\n    - when: always\n",
            "tier 0",
        ),
        ("  rules:\n    - changes: [$DIR/*]\n", "tier 0"),
        ("  rules:\n    - exists: ['**/*.py']\n", "tier 0"),
        (
            "  rules:\n    - exists: [go.mod]\n",
            "occasion: no rule holds for a change",
        ),
        (
            "  rules:\n    - if: $CI\n      allow_failure: true\n",
            "tier 0 warning",
        ),
        // `only` and `except`.
        ("  only: [merge_requests]\n", "tier 0"),
        ("  only: [main]\n", "tier 1"),
        (
            "  only: [tags, schedules]\n",
            "occasion: it runs only for other references",
        ),
        (
            "  only: [/^release-.*$/]\n",
            "occasion: it runs only for other references",
        ),
        (
            "  only:\n    refs: [branches]\n    changes: [src/**]\n",
            "tier 0 src/**",
        ),
        ("  only:\n    variables: [$OWN]\n", "tier 0"),
        ("  except: [tags]\n", "tier 0"),
        ("  except: [branches]\n", "occasion: its `except` holds"),
        ("  except:\n    variables: [$SKIP]\n", "tier 0 if except"),
        // Texts that are no expressions are not known to hold.
        ("  rules:\n    - if: '$A = 1'\n", "tier 0 if $A = 1"),
        ("  rules:\n    - if: '((('\n", "tier 0 if ((("),
    ] {
        assert_eq!(answer(job, ""), want, "{job}");
    }
    let never = "workflow:\n  rules:\n    - if: $CI_COMMIT_TAG\n";
    assert_eq!(
        answer("", never),
        "occasion: no pipeline of a change has it"
    );
    let requests = "workflow:\n  rules:\n    - if: $CI_MERGE_REQUEST_IID\n";
    assert_eq!(answer("", requests), "tier 0");
    assert_eq!(
        answer("  only: [main]\n", requests),
        "occasion: it runs only for other references"
    );
}

#[test]
fn jobs_that_are_no_check() {
    for (job, want) in [
        (
            "trigger: other/project",
            "action: it starts another pipeline",
        ),
        ("stage: build", "nothing: it has no script"),
        ("run: [{name: a}]", "not_read: its `run` steps"),
        (
            "script: x\n  environment: production",
            "deploys: it deploys to an environment",
        ),
        ("script: x\n  environment: {name: a, action: verify}", ""),
        (
            "script: x\n  release: {tag_name: v1}",
            "publishes: it makes a release",
        ),
        (
            "script: x\n  tags: [saas-windows-medium-amd64]",
            "machine: saas-windows-medium-amd64",
        ),
        ("script: x\n  tags: [macos]", "machine: macos"),
        ("script: x\n  tags: [linux]", ""),
    ] {
        let text = format!("job:\n  {job}\n");
        let mut found = Declarations::default();
        read(&tree(&[(FILE, &text)]), &mut found);
        let mut got: Vec<String> = found
            .skipped
            .iter()
            .map(|s| format!("{}: {}", s.reason.key(), s.detail))
            .collect();
        // A job with commands is told by these.
        got.extend(found.candidates.iter().filter_map(|one| match &one.state {
            State::Out(reason, why) => {
                let why = why.strip_prefix("job `job`: ")?;
                Some(format!("{}: {why}", reason.key()))
            }
            _ => None,
        }));
        assert_eq!(got.join("\n"), want, "{job}");
    }
}

#[test]
fn cells_of_a_matrix() {
    let choose = |matrix: &str, pin: &str| {
        let text = format!("job:\n  script: x\n  parallel:\n    matrix:\n{matrix}");
        let tree = tree(&[(FILE, &text), (".python-version", pin)]);
        let mut config = Config::load(&tree, &path(FILE), &mut Declarations::default()).unwrap();
        let job = config.job("job").unwrap();
        let matrix = find(&job, "parallel")
            .and_then(|p| p.get("matrix"))
            .unwrap();
        let chosen = cells::choose(&tree, matrix).unwrap();
        let more: Vec<String> = chosen.more.iter().map(cells::words).collect();
        let dropped = chosen.dropped.len();
        format!(
            "{}: {} + {} - {dropped}",
            chosen.count,
            cells::words(&chosen.first),
            more.join(", ")
        )
    };
    for (matrix, pin, want) in [
        (
            "      - PYTHON: ['3.9', '3.12', '3.13']\n",
            "3.12",
            "3: PYTHON=3.12 +  - 0",
        ),
        (
            "      - PYTHON: [3.9, 3.12, 3.13]\n",
            "3.12.4",
            "3: PYTHON=3.12 +  - 0",
        ),
        (
            "      - PYTHON: ['3.9', '3.12', '3.15-dev']\n",
            "",
            "3: PYTHON=3.12 +  - 0",
        ),
        ("      - OS: [windows, ubuntu]\n", "", "2: OS=ubuntu +  - 0"),
        (
            "      - SUITE: [unit, api]\n        NODE_VERSION: ['20', '22']\n",
            "",
            "4: NODE_VERSION=22 SUITE=unit + NODE_VERSION=22 SUITE=api - 0",
        ),
        ("      - SUITE: [a, b, c, d, e]\n", "", "5: SUITE=a +  - 4"),
        ("      - A: x\n      - A: y\n", "", "2: A=x + A=y - 0"),
    ] {
        assert_eq!(choose(matrix, pin), want, "{matrix}");
    }
    // A product that would not end is cut.
    let axis = |name: char| format!("        {name}: [{}]\n", vec!["1"; 60].join(", "));
    let all: String = ('A'..'H').map(axis).collect();
    let matrix = format!("      - {}", all.trim_start());
    assert!(choose(&matrix, "").starts_with("256: "));
}

#[test]
fn variables_are_filled_in() {
    let variables: BTreeMap<String, String> = [("A", "x"), ("B", "two words"), ("D", "src/lib")]
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .into();
    for (text, want) in [
        ("run $A ${D}/t $AB", "run x src/lib/t $AB"),
        ("run '$A' \"$A\" \\$A", "run '$A' \"x\" \\$A"),
        ("run $B ${A:-y}", "run $B ${A:-y}"),
        ("A=1\nrun $A", "A=1\nrun $A"),
        ("# don't\nrun $A", "# don't\nrun x"),
        ("$", "$"),
        ("${", "${"),
        ("${A", "${A"),
    ] {
        assert_eq!(fill(text, &variables), want, "{text}");
    }
}

#[test]
fn variables_that_change_what_a_command_means() {
    for (name, value, want) in [
        ("RUSTFLAGS", "-D warnings", true),
        ("PYTHONWARNINGS", "error", true),
        ("DJANGO_SETTINGS_MODULE", "a.b", true),
        ("PIP_CACHE_DIR", "x", false),
        ("GIT_DEPTH", "1", false),
        ("NPM_TOKEN", "x", false),
        ("IMAGE_TAG", "x", false),
        ("A", "$B/c", false),
        ("A", "", false),
        ("NODE_OPTIONS", "--max-old-space-size=4096", false),
        ("NODE_OPTIONS", "--experimental-vm-modules", true),
    ] {
        assert_eq!(means_something(name, value), want, "{name}={value}");
    }
}

#[test]
fn durations() {
    for (text, want) in [
        ("20 minutes", Some(20)),
        ("1h 30m", Some(90)),
        ("3 hours 10m", Some(190)),
        ("90 seconds", Some(2)),
        ("1h30m", Some(90)),
        ("1 day and 2 hours", Some(1560)),
        ("3600", Some(60)),
        ("soon", None),
        ("", None),
        ("4 parsecs", None),
        ("99999999999 hours", Some(71_582_789)),
    ] {
        assert_eq!(minutes(text), want, "{text}");
    }
}

#[test]
fn what_includes_itself_ends() {
    let text = "include: [local: .gitlab-ci.yml]\n.a:\n  extends: .b\n.b:\n  extends: .a\n\
                x:\n  extends: .a\n  script:\n    - !reference [x, script]\n";
    let mut found = Declarations::default();
    read(&tree(&[(FILE, text)]), &mut found);
    // Eleven parents each: more than would ever be copied.
    let wide: String = (0..12)
        .map(|i| {
            let parents: Vec<String> = (0..12).map(|j| format!(".j{}_{j}", i + 1)).collect();
            (0..12)
                .map(|j| {
                    format!(
                        ".j{i}_{j}:\n  extends: [{}]\n  script: x\n",
                        parents.join(", ")
                    )
                })
                .collect::<String>()
        })
        .collect();
    let text = format!("{wide}job:\n  extends: .j0_0\n");
    let mut found = Declarations::default();
    read(&tree(&[(FILE, &text)]), &mut found);
    assert!(found.skipped.iter().any(|s| s.reason == Reason::NotRead));
}

#[test]
fn commands_of_a_job() {
    let text = "\
variables: {RUSTFLAGS: -D warnings, GIT_DEPTH: '1'}
lint:
  allow_failure: true
  variables: {DIR: src}
  timeout: 10m
  script:
    - failed=
    - cargo clippy || failed=1
    - flake8 $DIR || failed=1
    - test -z \"$failed\"
  after_script: [cargo doc]
database:
  services: [{name: 'postgres:16', alias: db}]
  variables: {DATABASE_URL: 'postgres://db/x'}
  script: [pytest]
";
    let mut found = Declarations::default();
    read(&tree(&[(FILE, text), ("src/a.py", "")]), &mut found);
    let shown: Vec<String> = found
        .candidates
        .iter()
        .map(|one| {
            let out = match &one.state {
                State::Out(reason, _) => format!("{}: ", reason.key()),
                _ => String::new(),
            };
            let env: Vec<String> = one.env.iter().map(|(n, v)| format!("{n}={v} ")).collect();
            format!("{} {out}{}{}", one.origin.line, env.concat(), one.text())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "8 RUSTFLAGS=-D warnings cargo clippy",
            "9 RUSTFLAGS=-D warnings flake8 src",
            "11 cannot_fail: DIR=src RUSTFLAGS=-D warnings cargo doc",
            "15 service: DATABASE_URL=postgres://db/x RUSTFLAGS=-D warnings pytest",
        ]
    );
    assert!(found.candidates[0].warning);
    assert_eq!(found.candidates[0].timeout, Some(10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read_without_panic(text in ".{0,400}") {
        read(&tree(&[(FILE, &text)]), &mut Declarations::default());
    }

    #[test]
    fn any_job_is_read_without_panic(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "job:", "  script:", "    - a", "    - !reference [job, script]", "  extends: .b",
                ".b: &b", "  <<: *b", "  rules:", "    - if: $A == 'b' && (", "    - changes: [a/**]",
                "  parallel:", "    matrix:", "      - A: [1, 2]", "  only: [main]", "  except: 3",
                "include: [local: b.yml]", "variables: {A: $A}", "default: x", "  timeout: 3h",
                "  services: [{name: x}]", "workflow: {rules: [{if: 'a'}]}", "  - |", "     x || f=1",
                "  environment:", "spec:", "---", "  image: !x y", "\t", "  script: [a, [b, [c]]]",
            ]),
            0..24,
        ),
    ) {
        let text = lines.join("\n");
        read(&tree(&[(FILE, &text)]), &mut Declarations::default());
    }
}
