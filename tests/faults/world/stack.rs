//! Is depth an error rather than an overflow, with a small stack, whatever is read?

use super::World;
use crate::faults::sweep::Sweep;
use std::process::{Command, Stdio};

/// Smaller than any system gives by itself.
const STACK: u64 = 100 << 10;

/// What is read, and the text of a depth.
type Shape = (&'static str, fn(usize) -> String);

const CONTRACTS: &[Shape] = &[
    ("blocks", |n| {
        format!(
            "vplan 1\n{}check x: true\n{}",
            "whenChangedAny \"a\" {\n".repeat(n),
            "}\n".repeat(n)
        )
    }),
    ("unclosed", |n| {
        format!("vplan 1\n{}", "check x {\n".repeat(n))
    }),
    ("braces", |n| {
        format!("vplan 1\n{}{}\n", "{".repeat(n), "}".repeat(n))
    }),
    ("parentheses", |n| {
        format!(
            "vplan 1\ncheck x: echo {}{}\n",
            "(".repeat(n),
            ")".repeat(n)
        )
    }),
    ("substitutions", |n| {
        format!(
            "vplan 1\ncheck x: echo {}{}\n",
            "$(".repeat(n),
            ")".repeat(n)
        )
    }),
    ("alternatives", |n| {
        format!(
            "vplan 1\nwhenChangedAny \"{}{}\" {{\ncheck x: true\n}}\n",
            "{a,".repeat(n),
            "}".repeat(n)
        )
    }),
    ("classes", |n| {
        format!(
            "vplan 1\nwhenChangedAny \"{}{}\" {{\ncheck x: true\n}}\n",
            "[".repeat(n),
            "]".repeat(n)
        )
    }),
    ("stars", |n| {
        format!(
            "vplan 1\nwhenChangedAny \"{}\" {{\ncheck x: true\n}}\n",
            "**/".repeat(n)
        )
    }),
    ("expressions", |n| {
        format!(
            "vplan 1\ncheck x {{\nfile \"a\" {{\nmatches \"{}{}\"\n}}\n}}\n",
            "(".repeat(n),
            ")".repeat(n)
        )
    }),
    ("a chain", |n| {
        let many = n.min(20_000);
        let checks: String = (0..many)
            .map(|i| format!("check c{i} {{\n  run true\n  needs c{}\n}}\n", i + 1))
            .collect();
        format!("vplan 1\n{checks}check c{many}: true\n")
    }),
    ("conjunctions", |n| {
        format!("vplan 1\ncheck x: true{}\n", " && true".repeat(n))
    }),
    ("JSON lists", |n| {
        format!("{}{}", "[".repeat(n), "]".repeat(n))
    }),
    ("JSON objects", |n| {
        format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n))
    }),
    ("JSON comments", |n| {
        format!("{}{}", "/*".repeat(n), "*/".repeat(n))
    }),
];

const OTHERS: &[Shape] = &[
    ("lists", |n| format!("{}{}", "[".repeat(n), "]".repeat(n))),
    ("objects", |n| {
        format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n))
    }),
    ("a plan of lists", |n| {
        format!(
            "{{\"digest\":\"sha256:0\",\"plan\":{}{}}}",
            "[".repeat(n),
            "]".repeat(n)
        )
    }),
    ("nodes", |n| {
        format!("{}{}", "a {\n".repeat(n), "}\n".repeat(n))
    }),
    ("comments", |n| {
        format!("{}{}", "/*".repeat(n), "*/".repeat(n))
    }),
    ("slashdashes", |n| format!("{}a\n", "/-".repeat(n))),
    ("a table of lists", |n| {
        format!("a={}{}\n", "[".repeat(n), "]".repeat(n))
    }),
    ("dotted keys", |n| format!("a{}=1\n", ".a".repeat(n))),
    ("inline tables", |n| {
        format!("a={}1{}\n", "{a=".repeat(n), "}".repeat(n))
    }),
    ("indentation", |n| {
        (0..n.min(2_000))
            .map(|i| format!("{}a:\n", " ".repeat(i)))
            .collect()
    }),
    ("sequences", |n| format!("{}x\n", "- ".repeat(n))),
    ("anchors", |n| {
        (1..n.min(5_000)).fold("a0: &a0 [x]\n".to_owned(), |t, i| {
            format!("{t}a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1)
        })
    }),
];

/// Runs a command with the small stack. How it ended, or that it did not.
fn end(world: &World, args: &[&str]) -> Option<i32> {
    let wrap = ["timeout", "120", "prlimit", &format!("--stack={STACK}")];
    let mut command: Command = world.wrapped(&wrap, args);
    command.stderr(Stdio::from(
        std::fs::File::create(world.project.parent().join("err")).unwrap(),
    ));
    command.status().unwrap().code()
}

fn is_an_answer(world: &World, args: &[&str], what: &str, depth: usize) -> bool {
    let exit = end(world, args);
    let answers = exit.is_some_and(|code| [0, 2, 3, 4, 5, 40, 45].contains(&code));
    assert!(
        answers,
        "{what}, {depth} deep: {args:?} gave {exit:?}: {}",
        &world.said().chars().take(400).collect::<String>()
    );
    exit == Some(0)
}

#[test]
fn contracts() {
    let mut sweep = Sweep::new("faults::world::stack::contracts", 8, 84);
    while let Some(mut case) = sweep.next() {
        let number = usize::try_from(case.number).unwrap();
        let (what, text) = CONTRACTS[number % CONTRACTS.len()];
        let depth = if sweep.whole() {
            10_usize.pow(u32::try_from(number / CONTRACTS.len() % 6).unwrap() + 1)
        } else {
            10_usize.pow(u32::try_from(case.below(4)).unwrap() + 1)
        };
        let world = World::new("");
        let name = if what.starts_with("JSON") {
            "deep.json"
        } else {
            "deep.vplan"
        };
        world.project.write(name, text(depth));
        for args in [
            &["check", "--contract", name, "--max-file", "64MiB"][..],
            &[
                "plan",
                "--changed-none",
                "--contract",
                name,
                "--max-file",
                "64MiB",
            ],
            &[
                "explain",
                "--changed-none",
                "--contract",
                name,
                "--max-file",
                "64MiB",
            ],
            &["fmt", "--check", "--max-file", "64MiB", name],
            &["diff", "--max-file", "64MiB", name, name],
        ] {
            sweep.count(
                if is_an_answer(&world, args, what, depth) {
                    "accepted"
                } else {
                    "refused"
                },
                1,
            );
        }
        sweep.most("depth", depth as u64);
        case.held();
    }
    assert!(sweep.seen("refused") > 0);
}

#[test]
fn everything_else_that_is_read() {
    let mut sweep = Sweep::new("faults::world::stack::everything_else_that_is_read", 3, 72);
    while let Some(mut case) = sweep.next() {
        let number = usize::try_from(case.number).unwrap();
        let (what, text) = OTHERS[number % OTHERS.len()];
        let depth = if sweep.whole() {
            10_usize.pow(u32::try_from(number / OTHERS.len() % 6).unwrap() + 1)
        } else {
            10_usize.pow(u32::try_from(case.below(4)).unwrap() + 1)
        };
        let world = World::new("");
        let text = text(depth);
        for name in [
            "deep.json",
            "deep.kdl",
            "deep.toml",
            "deep.yml",
            "contracts/verify.lock.kdl",
            "home.test.vplan",
        ] {
            world.project.write(name, &text);
        }
        let run = world
            .project
            .path(".vplan/runs/20260102T030405.678Z-0123456789abcdef0123456789abcdef");
        std::fs::create_dir_all(&run).unwrap();
        for name in ["events.jsonl", "report.json", "plan.json"] {
            std::fs::write(run.join(name), &text).unwrap();
        }
        let mut commands = vec![
            vec!["run", "--plan", "deep.json"],
            vec!["run", "--plan", "deep.kdl"],
            vec!["lock", "--check", "--offline"],
            vec!["verify"],
            vec!["verify", "deep.json"],
            vec!["status"],
            vec!["report"],
            vec!["details"],
            vec!["stats"],
            vec!["merge", "deep.json"],
            vec!["test", "home.test.vplan"],
            vec!["recover", "--plan", "deep.json", "--failed", "1"],
            vec!["recover", "--command", "true", "--failure", "deep.json"],
        ];
        // Here each line is a command; what ten thousand of them cost is no question of depth.
        if depth <= 1_000 {
            commands.push(vec![
                "run",
                "--changed-none",
                "--commands-from",
                "deep.json",
            ]);
        }
        for kind in ["runr", "ralph-tui", "acode", "verify-contract-json"] {
            for name in ["deep.json", "deep.toml", "deep.yml"] {
                commands.push(vec!["import", "--from", kind, "--stdout", name]);
            }
        }
        for args in commands {
            let exit = end(&world, &[&args[..], &["--max-file", "64MiB"]].concat());
            let said: String = world.said().chars().take(400).collect();
            assert!(
                exit.is_some_and(|c| c < 124 && c != 1),
                "{what}, {depth} deep: {args:?} gave {exit:?}: {said}"
            );
            sweep.count(
                if exit == Some(0) {
                    "accepted"
                } else {
                    "refused"
                },
                1,
            );
        }
        sweep.most("depth", depth as u64);
        case.held();
    }
    assert!(sweep.seen("refused") > 0);
}

/// Files that import files that import files; and what a step prints, read for what a tool may have
/// said in it.
#[test]
fn chains_and_outputs() {
    let mut sweep = Sweep::new("faults::world::stack::chains_and_outputs", 3, 24);
    while let Some(case) = sweep.next() {
        let number = usize::try_from(case.number).unwrap();
        let length = [2, 7, 9, 70, 700, 3_000][number % 6];
        let world = World::new("import \"f0.vplan\"\n");
        for i in 0..length {
            world.project.write(
                format!("contracts/f{i}.vplan"),
                format!("vplan 1\nimport \"f{}.vplan\"\ncheck c{i}: true\n", i + 1),
            );
        }
        world.project.write(
            format!("contracts/f{length}.vplan"),
            "vplan 1\ncheck last: true\n",
        );
        for args in [
            &["check"][..],
            &["plan", "--changed-none"],
            &["explain", "--changed-none"],
            &["lock", "--check"],
        ] {
            sweep.count(
                if is_an_answer(&world, args, "imports", length) {
                    "accepted"
                } else {
                    "refused"
                },
                1,
            );
        }
        let depth = 10_usize.pow(u32::try_from(number % 5).unwrap() + 1);
        let world = World::new(
            "check out {\n  test cat deep.json\n}\ncheck xml {\n  test cp deep.xml out.xml\n  report junit \"out.xml\"\n}\n\
             check trx {\n  test cp deep.xml out.trx\n  report trx \"out.trx\"\n}\n",
        );
        world.project.write(
            "deep.json",
            format!("{}1{}\n", "{\"a\":".repeat(depth), "}".repeat(depth)),
        );
        world.project.write(
            "deep.xml",
            format!(
                "{}{}",
                "<testsuite>".repeat(depth),
                "</testsuite>".repeat(depth)
            ),
        );
        let exit = end(&world, &["run", "--changed-none", "--keep-going"]);
        assert!(
            exit.is_some_and(|c| [0, 40, 42].contains(&c)),
            "{depth} deep: {exit:?}: {}",
            world.said()
        );
        sweep.count("outputs read", 3);
        sweep.most("depth", depth as u64);
        case.held();
    }
    assert!(sweep.seen("accepted") > 0 && sweep.seen("outputs read") > 0);
}
