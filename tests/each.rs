//! `each`: what it is written out to, what it shows, what is refused.

use crate::support::Project;
use serde_json::Value;

/// A contract with an `each`, and the same by hand.
const PAIRS: &[(&str, &str)] = &[
    (
        "each py in 3.12 3.13 {
  check unit-{py}: tox run -e py{py}
}",
        "check unit-3.12: tox run -e py3.12
check unit-3.13: tox run -e py3.13",
    ),
    (
        "each arch host in arm64 aarch64-linux-gnu, i386 i686-linux-gnu {
  whenChangedAny \"src/{arch}/**\" \"!src/{arch}/doc/**\" {
    check conf-{arch} {
      run ./configure --host={host} \"{arch} x\" '{arch}' {changed}
      dir \"src\"
      env A={arch}-\"{host}\"
      needs get-{arch}
    }
  }
  check get-{arch}: B=\"{arch}\" get {host}
}
sequence get-i386 -> get-arm64",
        "whenChangedAny \"src/arm64/**\" \"!src/arm64/doc/**\" {
  check conf-arm64 {
    run ./configure --host=aarch64-linux-gnu \"arm64 x\" '{arch}' {changed}
    dir \"src\"
    env A=arm64-aarch64-linux-gnu
    needs get-arm64
  }
}
check get-arm64: B=arm64 get aarch64-linux-gnu
whenChangedAny \"src/i386/**\" \"!src/i386/doc/**\" {
  check conf-i386 {
    run ./configure --host=i686-linux-gnu \"i386 x\" '{arch}' {changed}
    dir \"src\"
    env A=i386-i686-linux-gnu
    needs get-i386
  }
}
check get-i386: B=i386 get i686-linux-gnu
sequence get-i386 -> get-arm64",
    ),
    (
        "whenChangedNone \"zz\" {
  each a in 1 2 {
    each b in x 'y z' \"$\" {
      run t {a} {b} \"{b}.c\"
    }
    byRole tester {
      each c in p {
        use u-{a}
        check {c}-{a} {
          file \"{c}/{a}.txt\" {
            contains \"[{a}]\"
            matches \"^{c}.{a}$\"
          }
        }
      }
    }
  }
}
each a in 1 2 {
  whenChangedNone \"**\" {
    check u-{a}: u
  }
}",
        "whenChangedNone \"zz\" {
  run t 1 x x.c
  run t 1 'y z' 'y z.c'
  run t 1 '$' '$.c'
  byRole tester {
    use u-1
    check p-1 {
      file \"p/1.txt\" {
        contains \"[1]\"
        matches \"^p.1$\"
      }
    }
  }
  run t 2 x x.c
  run t 2 'y z' 'y z.c'
  run t 2 '$' '$.c'
  byRole tester {
    use u-2
    check p-2 {
      file \"p/2.txt\" {
        contains \"[2]\"
        matches \"^p.2$\"
      }
    }
  }
}
whenChangedNone \"**\" {
  check u-1: u
  check u-2: u
}",
    ),
    (
        "paths w = \"w/**\"
each n in 'a*' b.c 'd,e' 'f/g' {
  paths p{n}q = \"{n}\" !w
}",
        "",
    ),
    (
        "each n in a b {
  paths p-{n} = \"{n}/**\"
  risk r-{n} tier 1 p-{n}
  tier 1 {
    check t-{n} {
      run x {n}
      describe \"of {n}\"
      tags {n} all
      exclusive {n}
    }
  }
  sequence all -> t-{n}
}
check all: a
each n in '*' '[x]' '{a}' '!' {
  whenChangedAny \"{n}/z\" {
    run y {n}
  }
}",
        "paths p-a = \"a/**\"
risk r-a tier 1 p-a
paths p-b = \"b/**\"
risk r-b tier 1 p-b
tier 1 {
  check t-a {
    run x a
    describe \"of a\"
    tags a all
    exclusive a
  }
  check t-b {
    run x b
    describe \"of b\"
    tags b all
    exclusive b
  }
}
sequence all -> t-a
sequence all -> t-b
check all: a
whenChangedAny '\\*/z' {
  run y '*'
}
whenChangedAny '\\[x\\]/z' {
  run y '[x]'
}
whenChangedAny '\\{a\\}/z' {
  run y '{a}'
}
whenChangedAny '\\!/z' {
  run y '!'
}",
    ),
];

/// The steps of a plan without what says where they are written.
fn steps(text: &str, args: &[&str]) -> Value {
    let project = Project::contract(&format!("vplan 1\n{text}\n"));
    project.write("x", "");
    let args = [&["plan", "--format", "json"][..], args].concat();
    let plan = project.run(&args).exits(0).json();
    let mut steps = plan["steps"].clone();
    for step in steps.as_array_mut().unwrap() {
        let step = step.as_object_mut().unwrap();
        step.remove("source");
        step.remove("each");
        for reason in step["reasons"].as_array_mut().unwrap() {
            reason.as_object_mut().unwrap().remove("line");
        }
    }
    steps
}

#[test]
fn it_means_what_it_is_by_hand() {
    for (text, by_hand) in PAIRS.iter().filter(|(_, by_hand)| !by_hand.is_empty()) {
        for args in [
            &["--changed-none", "--run-end", "--role", "tester"][..],
            &[
                "--changed",
                "src/arm64/a.c",
                "src/i386/doc/x",
                "src/i386/b.c",
            ],
            // Names with a colon are no globs, whatever they look like.
            &["--changed", "a/x", ":*/z", ":[x]/z", ":{a}/z", "!/z", "x/z"],
        ] {
            assert_eq!(steps(text, args), steps(by_hand, args), "{text}\n{args:?}");
        }
    }
}

#[test]
fn it_is_laid_out_as_it_is_written() {
    for (text, _) in PAIRS {
        let project = Project::contract(&format!("vplan 1\n{text}\n"));
        project.run(&["fmt", "--check"]).exits(0);
    }
    let project = Project::contract(
        "vplan 1\neach  a  b in x  'y' ,\\\n z  \"w\"{\nrun t {a}  x{b}'{a}' \"{b}\"\n}\n",
    );
    project.run(&["fmt"]).exits(0);
    let text = std::fs::read_to_string(project.path("contracts/verify.vplan")).unwrap();
    assert_eq!(
        text,
        "vplan 1\neach a b in x 'y', \\\n    z \"w\" {\n  run t {a} x{b}'{a}' \"{b}\"\n}\n"
    );
    // A line that is too long has a row a line.
    let value = "v".repeat(60);
    let head = format!("each a b in {value}1 x, {value}2 y");
    project.write(
        "contracts/verify.vplan",
        format!("vplan 1\n{head} {{\n  run t {{a}} {{b}}\n}}\n"),
    );
    project.run(&["fmt"]).exits(0);
    let text = std::fs::read_to_string(project.path("contracts/verify.vplan")).unwrap();
    let want = format!("each a b in \\\n    {value}1 x, \\\n    {value}2 y {{\n");
    assert!(text.contains(&want), "{text}");
    project.run(&["fmt", "--check"]).exits(0);
}

#[test]
fn what_is_quoted_otherwise_is_the_same_contract() {
    let digest = |text: &str| {
        let project = Project::contract(&format!("vplan 1\n{text}\n"));
        let plan = project
            .run(&["plan", "--changed-none", "--format", "json"])
            .exits(0)
            .json();
        plan["contract"]["digest"].clone()
    };
    let one = digest("each a in x 'y z' {\n  run t {a} \"{a}.c\" '{a}' \"b c\"\n}");
    assert_eq!(
        one,
        digest("each a in 'x' \"y z\" {\n  run t \"{a}\" {a}.c \\{a} 'b c'\n}")
    );
    for other in [
        "each a in x 'y z' {\n  run t {a} \"{a}.c\" {a} \"b c\"\n}",
        "each a in x y z {\n  run t {a} \"{a}.c\" '{a}' \"b c\"\n}",
        "each b in x 'y z' {\n  run t {b} \"{b}.c\" '{b}' \"b c\"\n}",
    ] {
        assert_ne!(one, digest(other), "{other}");
    }
}

const SHOP: &str = "vplan 1
each pkg in core web api {
  whenChangedAny \"packages/{pkg}/**\" {
    check lint-{pkg}: lint {pkg}
    check test-{pkg}: test {pkg}
  }
  expect \"{pkg} is tested\" {
    changed \"packages/{pkg}/a.ts\"
    plan *-{pkg}
  }
}
";

#[test]
fn rows_in_plans_explanations_and_tests() {
    let project = Project::contract(SHOP);
    let plan = project
        .run(&["plan", "--format", "json", "--changed", "packages/web/a.ts"])
        .exits(0)
        .json();
    assert_eq!(plan["steps"][0]["each"]["pkg"], "web");
    assert_eq!(plan["omitted"][0]["each"]["pkg"], "core");
    let explain = |args: &[&str]| {
        let ran = project.run(&[&["explain", "--changed", "packages/web/a.ts"][..], args].concat());
        ran.exits(0).out().to_owned()
    };
    let short = explain(&[]);
    assert!(short.contains(
        "test-{pkg}  2 of 3: no changed file is selected by whenChangedAny \"packages/{pkg}/**\" (line 3)"
    ), "{short}");
    assert!(!short.contains("test-core"), "{short}");
    let long = explain(&["-v"]);
    assert!(
        long.contains("test-core") && long.contains("test-api"),
        "{long}"
    );
    // A definition counts once, whichever row was touched.
    let tests = project.run(&["test"]);
    tests
        .exits(0)
        .says("coverage 100%: checks 2/2 (100%), conditions 2/2 (100%)");
    project.write(
        "contracts/verify.vplan",
        SHOP.replace("plan *-{pkg}", "plan lint-{pkg} test-core"),
    );
    project.run(&["test"]).exits(40);
    // A plan that is saved says its rows, and is no other for it.
    project.write("contracts/verify.vplan", SHOP);
    let args = ["plan", "--changed", "packages/web/a.ts", "--format"];
    let kdl = project
        .run(&[&args[..], &["kdl"]].concat())
        .exits(0)
        .out()
        .to_owned();
    assert!(kdl.contains("each pkg=\"web\""), "{kdl}");
    project.write("p.kdl", &kdl);
    project
        .run(&["explain", "--changed", "packages/web/a.ts", "lint-web"])
        .exits(0)
        .says("whenChangedAny");
}

#[test]
fn values_never_mean_more_than_themselves() {
    let values = [
        "$(touch /tmp/x)",
        "a b",
        "*",
        "{changed}",
        "{v}",
        "a'b",
        "\\",
        "--",
        "../..",
        "a;b",
        "~",
    ];
    for value in values {
        let quoted = format!("\"{}\"", value.replace('\\', "\\\\").replace('$', "\\$"));
        let quoted = if value.contains('*') {
            "'*'".to_owned()
        } else {
            quoted
        };
        let text = format!("each v in {quoted} {{\n  run show {{v}} \"[{{v}}]\" {{changed}}\n}}");
        let steps = steps(&text, &["--changed", "x"]);
        let want = serde_json::json!(["show", value, format!("[{value}]")]);
        let argv = steps[0]["argv"].as_array().unwrap();
        assert_eq!(argv.get(..3).unwrap(), want.as_array().unwrap(), "{value}");
    }
}

#[test]
fn product_bombs_end_at_once() {
    let rows: Vec<String> = (0..1_000).map(|n| format!("v{n}")).collect();
    let rows = rows.join(" ");
    let mut text = "vplan 1\n".to_owned();
    for name in ["a", "b", "c", "d"] {
        text.push_str(&format!("each {name} in {rows} {{\n"));
    }
    text.push_str("check x-{a}-{b}-{c}-{d}: y\n}\n}\n}\n}\n");
    let project = Project::contract(&text);
    project
        .run(&["check"])
        .exits(3)
        .warns("vplan::contract::each_too_many");
    let text = format!("vplan 1\neach a in {rows} one {{\n  check x-{{a}}: y\n}}\n");
    project.write("contracts/verify.vplan", text);
    project
        .run(&["check"])
        .exits(3)
        .warns("an `each` of 1001 rows, 1000 are the most");
}
