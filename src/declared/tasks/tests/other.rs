//! Scripts of Python's, cargo's and composer's manifests.

use super::{run_in, tree, words};

#[test]
fn scripts_of_other_manifests() {
    let project = "\
[tool.hatch.envs.default.scripts]
test = 'pytest {args:tests}'
all = ['lint', '- test -x']
lint = 'ruff check --fix'
loop = ['back']
back = 'loop'
[tool.hatch.envs.docs.scripts]
build = 'mkdocs build'
[tool.pdm.scripts]
types = {cmd = ['mypy', 'src dir']}
[tool.poe.tasks]
check = {sequence = ['types', {cmd = 'pytest'}]}
types = 'mypy'
odd = {script = 'a:b'}
";
    let tree = tree(&[
        ("pyproject.toml", project),
        (
            ".cargo/config.toml",
            "[alias]\nxtask = 'run -p xtask --'\nlint = ['clippy', '--fix']\nself = 'self x'\n",
        ),
        (
            "composer.json",
            "{\"scripts\": {\"test\": [\"@lint\", \"@php a.php\", \"phpunit\"], \"lint\": \"pint\", \"code\": \"A::b\"}}",
        ),
    ]);
    for (command, want) in [
        (
            "hatch run test",
            &["pyproject.toml:2 test: pytest tests"][..],
        ),
        (
            "hatch run test -k a",
            &["pyproject.toml:2 test: pytest -k a"],
        ),
        (
            "hatch run docs:build",
            &["pyproject.toml:8 build: mkdocs build"],
        ),
        (
            "hatch run all",
            &[
                "pyproject.toml:4 lint: ruff check --fix",
                "pyproject.toml:2 test: pytest -x",
            ],
        ),
        ("hatch run loop", &["opaque: `back` needs too many scripts"]),
        ("hatch run pytest", &["no task"]),
        (
            "pdm run types",
            &["pyproject.toml:10 types: mypy 'src dir'"],
        ),
        (
            "poe check",
            &[
                "pyproject.toml:13 types: mypy",
                "pyproject.toml:12 check: pytest",
            ],
        ),
        (
            "poe odd",
            &["opaque: the script `odd` of `pyproject.toml` is no command"],
        ),
        (
            "cargo xtask ci",
            &[".cargo/config.toml:2 xtask: cargo run -p xtask -- ci"],
        ),
        (
            "cargo lint",
            &[".cargo/config.toml:3 lint: cargo clippy --fix"],
        ),
        ("cargo self", &["no task"]),
        ("cargo test", &["no task"]),
        (
            "composer test",
            &[
                "composer.json:1 test: composer run-script lint",
                "composer.json:1 test: php a.php",
                "composer.json:1 test: phpunit",
            ],
        ),
        (
            "composer run-script code",
            &["opaque: `A::b` is code of PHP"],
        ),
        (
            "composer none",
            &["opaque: `composer.json` declares no script `none`"],
        ),
        ("composer install", &["no task"]),
    ] {
        assert_eq!(run_in(&tree, ".", &words(command)), want, "{command}");
    }
}
