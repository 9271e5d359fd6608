//! Missing scripts of package managers: their output, and the facts.

use super::*;

/// Checks the output of npm 11.19, pnpm 9 and 10, yarn 1.22 and 4, bun 1, node 22.
#[test]
fn scripts() {
    let npm = "npm error Missing script: \"x\"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run\n";
    let echo = "\n> demo@1.0.0 x\n> node t.js\n\n";
    check(
        &[
            ("npm run x", 1, "", npm, SCRIPT),
            (
                "npm run x",
                1,
                "",
                "npm warn Unknown user config\n\x1b[31mnpm error\x1b[0m Missing script: \"x\"\n",
                SCRIPT,
            ),
            (
                "npm run x",
                1,
                "",
                "npm ERR! Missing script: \"x\"\nnpm ERR! \nnpm ERR! Did you mean this?\n",
                SCRIPT,
            ),
            ("npm run x", 1, "", "npm ERR! missing script: x\n", SCRIPT),
            ("npm run y", 1, "", npm, FAILED),
            ("npm run x", 1, npm, "", FAILED),
            ("npm run x", 1, echo, npm, FAILED),
            ("npm run x", 0, "", npm, FAILED),
            ("npm install x", 1, "", npm, FAILED),
            (
                "npm run x",
                1,
                "",
                "    npm error Missing script: \"x\"\n",
                FAILED,
            ),
            (
                "npm run x",
                1,
                "",
                "see: npm error Missing script: \"x\"\n",
                FAILED,
            ),
            ("env CI=1 npm run x", 1, "", npm, SCRIPT),
            (
                "pnpm x",
                1,
                "\u{2009}ERR_PNPM_NO_SCRIPT\u{2009} Missing script: x\n",
                "",
                SCRIPT,
            ),
            (
                "pnpm x",
                254,
                " ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"x\" not found\n\nDid you mean \"pnpm run x1\"?\n",
                "",
                SCRIPT,
            ),
            (
                "pnpm -r run x",
                1,
                " ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT  None of the selected packages has a \"x\" script\n",
                "",
                SCRIPT,
            ),
            (
                "pnpm exec x",
                254,
                " ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"x\" not found\n",
                "",
                SETUP,
            ),
            (
                "pnpm install",
                1,
                " ERR_PNPM_NO_SCRIPT  Missing script: x\n",
                "",
                FAILED,
            ),
            (
                "yarn x",
                1,
                "yarn run v1.22.22\ninfo Visit https://yarnpkg.com\n",
                "error Command \"x\" not found.\n",
                SCRIPT,
            ),
            (
                "yarn run x",
                1,
                "\x1b[31m\x1b[1mUsage Error\x1b[22m\x1b[39m: Couldn't find a script named \"x\".\n\n$ yarn run [--inspect]\n",
                "",
                SCRIPT,
            ),
            (
                "yarn workspace a x",
                1,
                "Usage Error: Couldn't find a script named \"x\".\n",
                "",
                SCRIPT,
            ),
            (
                "bun run x",
                1,
                "",
                "error: Script not found \"x\"\n",
                SCRIPT,
            ),
            (
                "bun run y",
                1,
                "",
                "error: Script not found \"x\"\n",
                FAILED,
            ),
            (
                "node --run x",
                1,
                "",
                "Missing script: \"x\" for /repo/package.json\n\nAvailable scripts are:\n",
                SCRIPT,
            ),
            ("cargo test", 101, npm, npm, FAILED),
            ("npx x", 1, "", npm, FAILED),
            // A script may be called like a program.
            (
                "npm run npm",
                1,
                "",
                "npm error Missing script: \"npm\"\n",
                SCRIPT,
            ),
        ][..],
        &Facts::default(),
    );
}

#[test]
fn scripts_by_facts() {
    let npm = "npm error Missing script: \"x\"\n";
    let declared = facts(&["x", "test"], &[]);
    check(
        &[
            ("npm run x", 1, "", npm, FAILED),
            ("npm run x -w a", 1, "", npm, SCRIPT),
            ("npm run y", 1, "", "", SCRIPT),
        ],
        &declared,
    );
    check(
        &[
            (
                "npm run y",
                1,
                "\n> demo@1.0.0 y\n> node t.js\n\n",
                "",
                FAILED,
            ),
            ("npm run y -w a", 1, "", "", FAILED),
            // Of a request, whatever it says of a missing one.
            ("npm run --if-present y", 1, "", "", SCRIPT),
            ("npm start", 1, "", "", FAILED),
            // These also search for a program of that name.
            ("pnpm y", 1, "", "", FAILED),
            ("yarn y", 1, "", "", FAILED),
            ("pnpm run y", 1, "", "", SCRIPT),
            ("node --run y", 1, "", "", SCRIPT),
            ("npm run y", 0, "", "", FAILED),
        ],
        &declared,
    );
    let unseen = classify(
        &plan_of_words(&["npm run y"]),
        StepIndex::new(0),
        &Evidence::default(),
        &declared,
    );
    assert_eq!(unseen.code, FAILED, "it may never have been started");
    let mut unknown = Facts::default();
    unknown.add(
        Question::Scripts(RepoPath::root()),
        FactAnswer::Word(vplan_plan::facts::Certainty::Unknown),
    );
    check(
        &[
            ("npm run y", 1, "", "", FAILED),
            ("npm run x", 1, "", npm, SCRIPT),
        ],
        &unknown,
    );
}
