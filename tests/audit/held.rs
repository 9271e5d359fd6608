//! Real tools under `sandbox files` and `network off`, and under `sandbox sealed`, with what `audit --write`
//! proposes, unedited: an audit without confinement finds the inputs, one with it what is read outside.

use super::trees::{IGNORED, copy_tree, with_toolchains};
use crate::sandbox::seals;
use crate::support::Project;
use crate::support::tree::have;

/// How many audits it may take until nothing is missing.
const MOST_AUDITS: usize = 6;

/// What a maintainer writes, and in what.
struct Tool {
    tools: &'static [&'static str],
    /// The files that are there; a tree of `tests/trees` is copied by its name.
    tree: Result<&'static str, &'static [(&'static str, &'static str)]>,
    /// The contract, with an `inputs` that lacks most.
    contract: &'static str,
}

const CARGO: Tool = Tool {
    tools: &["cargo"],
    tree: Ok("cargo"),
    contract: "vplan 1\n\ncheck unit {\n  test cargo test --offline --workspace\n  produces \"target/**\"\n  inputs \"Cargo.toml\"\n}\n",
};
const MAKE: Tool = Tool {
    tools: &["make", "cc"],
    tree: Ok("make"),
    contract: "vplan 1\n\ncheck build {\n  compile make headers all check\n  produces \"gen/**\"\n  inputs \"Makefile\"\n}\n",
};
const PYTHON: Tool = Tool {
    tools: &["/usr/bin/python3", "/usr/bin/pytest"],
    tree: Ok("python"),
    contract: "vplan 1\n\ndefaults {\n  env PYTHONDONTWRITEBYTECODE=1\n}\n\ncheck manifest {\n  run python3 tools/manifest.py\n  \
               produces \"build/**\"\n  inputs \"tools/**\"\n}\n\ncheck unit {\n  test python3 -m pytest -q -p no:cacheprovider\n  \
               needs manifest\n  inputs \"pyproject.toml\"\n}\n",
};
const NODE: Tool = Tool {
    tools: &["node", "npm"],
    tree: Err(&[
        (
            "package.json",
            "{\"name\": \"x\", \"scripts\": {\"test\": \"node --test\"}}\n",
        ),
        ("src/one.js", "exports.one = 1;\n"),
        (
            "test/one.test.js",
            "const { one } = require(\"../src/one.js\");\n\
             require(\"node:test\")(\"one\", () => require(\"node:assert\").equal(one, 1));\n",
        ),
    ]),
    contract: "vplan 1\n\ncheck unit {\n  test npm test\n  inputs \"package.json\"\n}\n",
};
const RUFF: Tool = Tool {
    tools: &["ruff"],
    tree: Err(&[
        ("ruff.toml", "line-length = 80\n"),
        ("pkg/__init__.py", ""),
        ("pkg/one.py", "import os\n\nprint(os.name)\n"),
    ]),
    contract: "vplan 1\n\ncheck style {\n  lint ruff check .\n  inputs \"ruff.toml\"\n}\n",
};
const MYPY: Tool = Tool {
    tools: &["mypy"],
    tree: Err(&[
        ("mypy.ini", "[mypy]\nstrict = True\n"),
        ("pkg/__init__.py", ""),
        ("pkg/one.py", "def one() -> int:\n    return 1\n"),
        ("pkg/two.py", "from pkg.one import one\n\nTWO = one() + 1\n"),
    ]),
    contract: "vplan 1\n\ncheck types {\n  lint mypy pkg\n  inputs \"mypy.ini\"\n}\n",
};
const TSC: Tool = Tool {
    tools: &["node", "tsc"],
    tree: Err(&[
        (
            "tsconfig.json",
            "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n",
        ),
        ("src/one.ts", "export const one: number = 1;\n"),
        (
            "src/two.ts",
            "import { one } from \"./one\";\nexport const two = one + 1;\n",
        ),
    ]),
    contract: "vplan 1\n\ncheck types {\n  lint tsc --project .\n  inputs \"tsconfig.json\"\n}\n",
};
const ESLINT: Tool = Tool {
    tools: &["node", "eslint"],
    tree: Err(&[
        ("package.json", "{\"name\": \"x\"}\n"),
        (
            "eslint.config.js",
            "module.exports = [{ rules: { \"no-unused-vars\": \"error\" } }];\n",
        ),
        ("src/one.js", "exports.one = 1;\n"),
    ]),
    contract: "vplan 1\n\ncheck style {\n  lint eslint src\n  inputs \"package.json\"\n}\n",
};
impl Tool {
    /// A repository of it; none where a tool or the level is missing.
    fn project(&self) -> Option<Project> {
        if !have(self.tools) {
            return None;
        }
        let project = with_toolchains(Project::git_empty());
        match self.tree {
            Ok(name) => copy_tree(&project, name),
            Err(files) => files.iter().for_each(|(path, text)| {
                project.write(path, text);
            }),
        }
        project
            .write(".gitignore", format!("{IGNORED}.mypy_cache\n.ruff_cache\n"))
            .write("contracts/verify.vplan", self.contract)
            .commit("begin");
        let tried = project.run(&["audit", "--machine", "--require", "files"]);
        if tried.exit != Some(0) {
            eprintln!("SKIPPED: sandbox files: {}", tried.out());
            return None;
        }
        Some(project)
    }

    /// Holds it to what audits propose; then it passes, and depends on nothing else.
    fn is_held(&self) {
        let Some(project) = self.project() else {
            return;
        };
        let audit = || project.run(&["audit", "--write"]);
        let fresh = || project.git(&["clean", "-xfdq", "-e", ".vplan"]);
        // Where it fails for want of one file, the next audit says what it wants then.
        let mend = || {
            for _ in 0..MOST_AUDITS {
                fresh();
                let found = audit();
                match found.exit {
                    Some(0) => return,
                    Some(40 | 44) if found.out().contains("was written") => {}
                    _ => panic!("{}", found.out()),
                }
            }
            panic!("{}", project.read("contracts/verify.vplan"));
        };
        audit().exits(40).says("was written");
        let contract = project.read("contracts/verify.vplan");
        let confined = contract.replace("\n  inputs", "\n  sandbox files\n  network off\n  inputs");
        project.write("contracts/verify.vplan", &confined);
        mend();
        let passes_with = |guarantees: &[&str]| {
            fresh();
            let ran = project.run(&["run", "--all", "--no-cache", "--format", "json"]);
            for step in ran.exits(0).json()["steps"].as_array().unwrap() {
                let reached = step["sandbox"]["reached"].to_string();
                for one in guarantees {
                    assert!(reached.contains(one), "{step}");
                }
            }
        };
        passes_with(&["network-off", "\"reads\"", "\"writes\""]);
        if seals(&project, &[]) {
            let sealed = project.read("contracts/verify.vplan");
            let sealed = sealed.replace("sandbox files\n  network off", "sandbox sealed");
            project.write("contracts/verify.vplan", sealed);
            // What it only lists does not exist for it: that has to be declared now.
            mend();
            passes_with(&["absence", "network-off", "no-survivor", "sockets"]);
            // Nor does it look for anything else that is there.
            fresh();
            project.run(&["audit"]).exits(0);
        }
        // Without what was proposed it does not pass: the level was the one that held it.
        fresh();
        let bare = self
            .contract
            .replace("\n  inputs", "\n  sandbox files\n  inputs");
        project.write("contracts/verify.vplan", bare);
        let ran = project.run(&["run", "--all", "--no-cache"]);
        assert_ne!(ran.exit, Some(0), "{ran:?}");
    }
}

#[test]
fn cargo_is_held_to_what_an_audit_proposes() {
    CARGO.is_held();
}

#[test]
fn make_is_held_to_what_an_audit_proposes() {
    MAKE.is_held();
}

#[test]
fn pytest_is_held_to_what_an_audit_proposes() {
    PYTHON.is_held();
}

#[test]
fn npm_is_held_to_what_an_audit_proposes() {
    NODE.is_held();
}

#[test]
fn ruff_is_held_to_what_an_audit_proposes() {
    RUFF.is_held();
}

#[test]
fn mypy_is_held_to_what_an_audit_proposes() {
    MYPY.is_held();
}

#[test]
fn tsc_is_held_to_what_an_audit_proposes() {
    TSC.is_held();
}

#[test]
fn eslint_is_held_to_what_an_audit_proposes() {
    ESLINT.is_held();
}
