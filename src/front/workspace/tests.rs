//! Trees of each kind of workspace, and what is read of them.

use super::*;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

/// Reads the workspace of a tree, given as paths and texts.
fn read_in(asked: &str, tree: &[(&str, &str)]) -> Result<Workspace, WorkspaceFault> {
    let texts: BTreeMap<RepoPath, &str> = tree.iter().map(|(p, text)| (path(p), *text)).collect();
    let paths: Vec<RepoPath> = texts.keys().cloned().collect();
    let text = |path: &RepoPath| {
        let text = texts.get(path).map(|text| (*text).to_owned());
        text.ok_or_else(|| io::Error::other("it is not there"))
    };
    let query = WorkspaceQuery::parse(&RepoPath::root(), asked).unwrap();
    let files = WorkspaceFiles {
        paths: &paths,
        text: &text,
    };
    read(&query, files)
}

/// The packages as `FOLDER=NAME: USED USED`.
fn shown_of(workspace: &Workspace) -> Vec<String> {
    let one = |(folder, member): (&RepoPath, &Member)| {
        let uses: Vec<String> = member.uses.iter().map(ToString::to_string).collect();
        format!("{folder}={}: {}", member.name, uses.join(" "))
            .trim_end()
            .to_owned()
    };
    workspace.found.members.iter().map(one).collect()
}

fn remarks(workspace: &Workspace) -> Vec<&str> {
    workspace
        .remarks
        .iter()
        .map(|remark| remark.message.as_str())
        .collect()
}

#[test]
fn npm_and_its_kin() {
    let tree = [
        (
            "package.json",
            r#"{"workspaces": {"packages": ["packages/*", "./apps/**", "!packages/old"]}}"#,
        ),
        (
            "packages/ui/package.json",
            r#"{"name": "@acme/ui", "dependencies": {"base": "^1"}}"#,
        ),
        (
            "packages/base/package.json",
            "\u{feff}{\"name\": \"base\", \"name\": \"base\"}",
        ),
        ("packages/old/package.json", "no JSON, and not read"),
        ("packages/notes/README.md", ""),
        (
            "apps/web/package.json",
            r#"{"devDependencies": {"@acme/ui": "workspace:*", "left-pad": "1"}}"#,
        ),
        ("apps/web/node_modules/x/package.json", "{"),
        (
            "apps/in/side/package.json",
            r#"{"name": "i", "peerDependencies": {"b2": "npm:base@1", "tools": "file:../../../tools", "up": "link:../../.."}}"#,
        ),
        (
            "tools/package.json",
            r#"{"optionalDependencies": {"@acme/ui": "1", "gen": "file:./gen"}}"#,
        ),
    ];
    let found = read_in(".", &tree).unwrap();
    assert_eq!(
        shown_of(&found),
        [
            "apps/in/side=i: . packages/base packages/ui tools tools/gen",
            "apps/web=web: packages/ui",
            "packages/base=base:",
            "packages/ui=@acme/ui: packages/base",
        ]
    );
    assert_eq!(found.manifest, path("package.json"));
    assert!(found.remarks.is_empty());
}

#[test]
fn pnpm_comes_before_its_package_json() {
    let tree = [
        (
            "pnpm-workspace.yaml",
            "packages:\n  - 'packages/*' # all\n  - '!**/test/**'\n",
        ),
        ("package.json", r#"{"name": "root", "workspaces": ["x/*"]}"#),
        (
            "packages/a/package.json",
            r#"{"name": "a", "dependencies": {"b": "workspace:^"}}"#,
        ),
        ("packages/a/test/package.json", "{}"),
        (
            "packages/b/package.json",
            r#"{"name": "b", "dependencies": {"a": "workspace:^"}}"#,
        ),
    ];
    let found = read_in(".", &tree).unwrap();
    // A cycle is not an error.
    assert_eq!(
        shown_of(&found),
        ["packages/a=a: packages/b", "packages/b=b: packages/a"]
    );
    // A file of settings alone declares nothing.
    let settings = [
        ("pnpm-workspace.yaml", "onlyBuiltDependencies: [esbuild]\n"),
        tree[1],
    ];
    let found = read_in(".", &settings).unwrap();
    assert_eq!(found.manifest, path("package.json"));
    assert_eq!(
        remarks(&found),
        ["`x/*` is no folder with a `package.json`"]
    );
}

#[test]
fn cargo_brings_in_what_is_used_by_path() {
    let tree = [
        (
            "Cargo.toml",
            "[package]\nname = \"top\"\n[dependencies]\nui.workspace = true\n[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/out\"]\n\
             [workspace.dependencies]\nui = { path = \"crates/ui\" }\nserde = \"1\"\n[patch.crates-io]\nserde = { path = \"vendor/serde\" }\n",
        ),
        (
            "crates/ui/Cargo.toml",
            "[package]\nname = \"ui\"\n[target.'cfg(unix)'.dev-dependencies]\nmore = { path = \"../../more\", package = \"m\" }\n",
        ),
        ("crates/out/Cargo.toml", "[package]\nname = \"out\"\n"),
        (
            "crates/app/Cargo.toml",
            "[package]\nname = \"app\"\n[build-dependencies]\nout = { path = \"../out\" }\nfar = { path = \"../../../far\" }\n[dependencies]\nui = \"1\"\nserde = \"1\"\n",
        ),
        ("more/Cargo.toml", "[package]\nname = \"m\"\n"),
        ("vendor/serde/Cargo.toml", "[package]\nname = \"serde\"\n"),
    ];
    let found = read_in("Cargo.toml", &tree).unwrap();
    assert_eq!(
        shown_of(&found),
        [
            ".=top: crates/ui",
            "crates/app=app: crates/out vendor/serde",
            "crates/ui=ui: more",
            "more=m:",
        ]
    );
}

#[test]
fn go_uses_what_it_requires() {
    let tree = [
        (
            "back/go.work",
            "go 1.22\n\nuse ./api // the server\nuse (\n\t\"./lib\"\n\t../shared\n\t./gone\n)\nreplace example.com/old v1.0.0 => ./old\n",
        ),
        (
            "back/api/go.mod",
            "module example.com/api\nrequire (\n\texample.com/lib v0.0.0 // indirect\n\texample.com/other v1.0.0\n)\nreplace example.com/other => ../../other\n",
        ),
        (
            "back/lib/go.mod",
            "module example.com/lib\nrequire example.com/old v1.0.0\n",
        ),
        (
            "shared/go.mod",
            "module example.com/shared\nreplace example.com/x v1 => example.com/y v2\n",
        ),
    ];
    let found = read_in("back", &tree).unwrap();
    assert_eq!(
        shown_of(&found),
        [
            "back/api=example.com/api: back/lib other",
            "back/lib=example.com/lib: back/old",
            "shared=example.com/shared:",
        ]
    );
    assert_eq!(remarks(&found), ["`./gone` is no folder with a `go.mod`"]);
}

#[test]
fn uv_compares_names_in_all_spellings() {
    let tree = [
        (
            "pyproject.toml",
            "[project]\nname = \"Root.App\"\ndependencies = [\"my_lib[x]>=1; python_version > '3'\"]\n[dependency-groups]\ndev = [\"tool\", {include-group = \"x\"}]\n\
             [tool.uv.sources]\nmy-lib = { workspace = true }\ntool = { path = \"tool\" }\n[tool.uv.workspace]\nmembers = [\"libs/*\"]\nexclude = [\"libs/skip\"]\n",
        ),
        ("libs/a/pyproject.toml", "[project]\nname = \"My-Lib\"\n"),
        ("libs/skip/pyproject.toml", "broken = "),
    ];
    let found = read_in(".", &tree).unwrap();
    assert_eq!(
        shown_of(&found),
        [".=root-app: libs/a tool", "libs/a=my-lib:"]
    );
}

#[test]
fn what_is_no_workspace() {
    let none = |tree: &[(&str, &str)]| read_in(".", tree).unwrap_err();
    assert_eq!(none(&[]), WorkspaceFault::None(None));
    let single = ("Cargo.toml", "[package]\nname = \"a\"\n");
    let web = ("web/package.json", r#"{"workspaces": []}"#);
    assert_eq!(
        none(&[single, web]),
        WorkspaceFault::None(Some(path("web/package.json")))
    );
    let named = read_in("Cargo.toml", &[single]).unwrap_err();
    let reason = "it declares no workspace".to_owned();
    assert_eq!(named, WorkspaceFault::Broken(path("Cargo.toml"), reason));
    assert_eq!(
        read_in("go.work", &[single]).unwrap_err(),
        WorkspaceFault::None(None)
    );
    let both = [("Cargo.toml", "[workspace]\n"), ("go.work", "")];
    let several = vec![path("Cargo.toml"), path("go.work")];
    assert_eq!(none(&both), WorkspaceFault::Several(several));
}

/// Each has the file and the reason.
#[test]
fn broken_manifests() {
    let root = ("package.json", r#"{"workspaces": ["a"]}"#);
    for (tree, file, reason) in [
        (
            vec![("package.json", "{")],
            "package.json",
            "this is not JSON",
        ),
        (
            vec![root, ("a/package.json", "[]")],
            "a/package.json",
            "it is no object",
        ),
        (
            vec![root, ("a/package.json", r#"{"name": "a//b"}"#)],
            "a/package.json",
            "`a//b` is no name",
        ),
        (
            vec![("package.json", r#"{"workspaces": ["+(a|b)/**x"]}"#)],
            "package.json",
            "is no glob of folders",
        ),
        (
            vec![("package.json", r#"{"workspaces": ["a\u0000b"]}"#)],
            "package.json",
            "no path of the repository",
        ),
        (
            vec![("Cargo.toml", "[workspace")],
            "Cargo.toml",
            "this is not TOML",
        ),
        (
            vec![
                ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
                ("a/Cargo.toml", "[workspace]\n"),
            ],
            "a/Cargo.toml",
            "it has no `package.name`",
        ),
        (
            vec![("pnpm-workspace.yaml", "packages: [")],
            "pnpm-workspace.yaml",
            "",
        ),
        (
            vec![("go.work", "use ./a\n"), ("a/go.mod", "go 1.22\n")],
            "a/go.mod",
            "it has no `module`",
        ),
        (
            vec![
                ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"a\"]\n"),
                ("a/pyproject.toml", ""),
            ],
            "a/pyproject.toml",
            "it has no `project.name`",
        ),
    ] {
        match read_in(".", &tree) {
            Err(WorkspaceFault::Broken(found, why)) => {
                assert_eq!(found, path(file));
                assert!(why.contains(reason), "{why}");
            }
            other => panic!("{tree:?} {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_meant_is_remarked() {
    let found = read_in(
        ".",
        &[
            (
                "package.json",
                r#"{"workspaces": ["../else", "none/*", "a", "b"]}"#,
            ),
            ("a/package.json", r#"{"name": "same"}"#),
            ("b/package.json", r#"{"name": "same"}"#),
        ],
    )
    .unwrap();
    assert_eq!(
        remarks(&found),
        [
            "`../else` is outside of the repository",
            "`none/*` is no folder with a `package.json`",
            "`a` and `b` are both packages named `same`",
        ]
    );
    assert_eq!(shown_of(&found), ["a=same:", "b=same:"]);
}
