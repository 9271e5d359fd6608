//! What a commit holds is what its id says: an object that was written under the id of another one
//! hides nothing.

use crate::support::{Project, Ran};

const CONTRACT: &str =
    "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: grep -q ok src/deep/a\n}\n";

/// Bad work that is committed.
fn project() -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/deep/a", "ok\n"),
        (".gitignore", "/.vplan\n"),
    ]);
    project.write("src/deep/a", "bad\n");
    project.commit("work");
    project
}

fn object(project: &Project, name: &str) -> String {
    let id = project.git(&["rev-parse", name]);
    format!(".git/objects/{}/{}", &id[..2], &id[2..])
}

/// Writes one object under the id of another one.
fn swap(project: &Project, old: &str, new: &str) {
    let (old, new) = (object(project, old), object(project, new));
    project
        .mode(&old, 0o644)
        .write(&old, std::fs::read(project.path(&new)).unwrap());
}

#[track_caller]
fn refused(ran: &Ran) {
    assert!(
        matches!(ran.exit, Some(2 | 4 | 42 | 44)),
        "{:?}: {}{}",
        ran.exit,
        ran.out(),
        ran.err()
    );
    ran.never_says("grafts");
}

#[test]
fn a_folder_under_the_id_of_another_one() {
    for of in ["^{tree}", ":src", ":src/deep"] {
        let project = project();
        project.run(&["run"]).exits(40);
        let project = self::project();
        swap(&project, &format!("main~1{of}"), &format!("main{of}"));
        for args in [
            &["run"][..],
            &["explain"],
            &["run", "--subject", "S"],
            &["run", "--base", "main~1"],
        ] {
            let ran = project.run(args);
            // Git itself looks at the commit's own.
            ran.exits(2).warns(if of == "^{tree}" {
                "`git ls-tree` failed"
            } else {
                "is not what its id says"
            });
            ran.never_says("grafts");
        }
    }
}

#[test]
fn a_folder_under_the_id_of_another_one_in_a_pack() {
    let project = project();
    let id = |name: &str| project.git(&["rev-parse", name]);
    let (old, new) = (id("main~1:src"), id("main:src"));
    project.git(&["repack", "-adq", "--window=0", "--depth=0"]);
    project.git(&["prune-packed"]);
    let folder = project.path(".git/objects/pack");
    let name = std::fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|e| e.path());
    let index = name
        .into_iter()
        .find(|p| p.extension().is_some_and(|e| e == "idx"))
        .unwrap();
    let mut bytes = std::fs::read(&index).unwrap();
    // Magic, version, 256 counts; then ids, checksums and places of all objects.
    let count = u32::from_be_bytes(bytes[8 + 255 * 4..8 + 256 * 4].try_into().unwrap()) as usize;
    let raw = |id: &str| -> Vec<u8> {
        (0..20)
            .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap())
            .collect()
    };
    let at = |id: &str| {
        let found = (0..count)
            .find(|i| bytes[8 + 1024 + 20 * i..][..20] == *raw(id))
            .unwrap();
        8 + 1024 + 24 * count + 4 * found
    };
    let (to, from) = (at(&old), at(&new));
    bytes.copy_within(from..from + 4, to);
    std::fs::set_permissions(&index, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&index, bytes).unwrap();
    assert_eq!(
        project.git(&["rev-parse", "main~1:src/deep"]),
        id("main:src/deep"),
        "git believes it"
    );
    project
        .run(&["run"])
        .exits(2)
        .warns("is not what its id says");
}

#[test]
fn a_commit_under_the_id_of_another_one() {
    let project = project();
    project.run(&["gate", "begin", "--subject", "S"]).exits(0);
    swap(&project, "main~1", "main");
    refused(&project.run(&["run"]));
    refused(&project.run(&["run", "--subject", "S"]));
}

#[test]
fn a_contract_under_the_id_of_the_one_at_the_base() {
    for of in [":contracts/verify.vplan", ":contracts"] {
        let project = project();
        project.write(
            "contracts/verify.vplan",
            CONTRACT.replace("grep -q ok src/deep/a", "true"),
        );
        project.commit("a weaker contract");
        let json = |args: &[&str]| project.run(&[args, &["--format", "json"]].concat());
        let codes = |ran: &Ran| -> Vec<String> {
            let caveats = ran.json()["caveats"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            caveats
                .iter()
                .map(|c| c["code"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(codes(json(&["run"]).exits(0)), ["contract_weakened"]);
        swap(&project, &format!("main~2{of}"), &format!("main{of}"));
        if of == ":contracts" {
            // What was listed before is known.
            project.remove("../home/state");
            project
                .run(&["run"])
                .exits(2)
                .warns("is not what its id says");
            continue;
        }
        assert_eq!(codes(json(&["run"]).exits(0)), ["base_contract_unreadable"]);
        json(&["run", "--require", "full"]).exits(44);
        assert_eq!(
            codes(json(&["run", "--subject", "S"]).exits(44)),
            ["base_contract_unreadable"]
        );
    }
}

#[test]
fn folders_that_an_old_git_wrote_are_what_they_say() {
    let project = project();
    let blob = project.git(&["rev-parse", "main~1:src/deep/a"]);
    let raw: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let write = |content: &[u8]| {
        project.git_stdin(
            &["hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
            content,
        )
    };
    let deep = write(&[b"100664 a\0", &raw[..]].concat());
    let id: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&deep[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let src = write(&[b"40000 deep\0", &id[..]].concat());
    let rest = project.git(&["ls-tree", "main"]);
    let rest: Vec<&str> = rest
        .lines()
        .filter(|line| !line.ends_with("\tsrc"))
        .collect();
    let text = format!("{}\n040000 tree {src}\tsrc\n", rest.join("\n"));
    let root = project.git_stdin(&["mktree"], text.as_bytes());
    let commit = project.git(&["commit-tree", "-m", "old", &root]);
    project.git(&["reset", "-q", "--hard", &commit]);
    project.pushed(&commit);
    project
        .run(&["explain"])
        .exits(0)
        .says("nothing changed since");
    project.write("src/deep/a", "bad\n");
    project.run(&["run"]).exits(40);
}
