//! Plans whose digests never change: who pinned one must find the same with the next vplan, on
//! every machine.
//!
//! The inputs are the data sets `select` and `tier` and the contract `tests/golden/settings.vplan`
//! under many requests; their digests stand in `tests/golden/digests.json`. `UPDATE_GOLDEN=1` adds
//! those that are new. One that is there may only change with the version of plans
//! (`plan::document::VERSION`), because then every digest does; those of version 1 stand in
//! `tests/golden/version-1`, where `tests/plan_version_1.rs` reads them. One exception was made:
//! seven plans of `settings.vplan` were recorded anew when the check with a judge went behind the
//! others of its tier.

use crate::support::Project;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap()
}

/// The digest, which must be that of the canonical form.
fn digest(project: &Project, args: &[&str]) -> String {
    let args = |format| [&["plan", "--format", format], args].concat();
    let ran = project.run(&args("json"));
    ran.exits(0);
    let digest = ran.json()["digest"].as_str().unwrap().to_owned();
    let canonical = project.run(&args("canonical"));
    assert_eq!(
        vplan::base::canon::Digest::hash(&canonical.stdout).to_string(),
        digest
    );
    digest
}

fn of_vectors() -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    for area in ["select", "tier"] {
        for case in read(&format!("vectors/{area}.json")).as_array().unwrap() {
            let plans =
                case["expected"]["steps"].is_array() || case["expected"]["commands"].is_array();
            if plans && case["expected"]["exit"].is_null() {
                let id = case["id"].as_str().unwrap();
                digests.insert(id.to_owned(), crate::vectors::plan_digest(&case["input"]));
            }
        }
    }
    digests
}

fn of_settings() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file("golden/settings.vplan")).unwrap();
    let project = Project::bare();
    project.write("contracts/verify.vplan", text);
    let requests: &[&[&str]] = &[
        &["--changed-none"],
        &["--changed", "apps/api/a.ts"],
        &["--changed", "apps/api/a.ts", "lib/b.rs"],
        &["--changed", "apps/api/README.md"],
        &["--changed", "docs/a.md", "README.md"],
        &["--changed", "deleted:apps/api/a.ts"],
        &["--changed", "src/auth/x.rs"],
        &["--changed", "db/migrations/1.sql"],
        &["--changed", "apps/api/secrets/key"],
        &["--changed", "apps/api/ä b\"c.ts"],
        &["--changed", "contracts/verify.vplan"],
        &["--changed", "Makefile", "package.json"],
        &["--changed", "lib/z.rs"],
        &["--changed", "lib/b.c", "apps/api/x.go", "docs/x"],
    ];
    let also: &[&[&str]] = &[
        &[],
        &["--role", "tester"],
        &["--role", "docser", "--last"],
        &["--risk", "high", "--keep-going", "--jobs", "2"],
        &["--last", "--no-recover"],
        &[
            "--run-end",
            "--role",
            "reviewer",
            "--command",
            "FOO=1 cargo test --locked",
            "--command",
            "a && b",
        ],
        &[
            "--role",
            "lead",
            "--min-tier",
            "1",
            "--command",
            "x",
            "--command",
            "y",
            "--command",
            "z",
        ],
        &["--skip", "plain", "--reason", "known", "--budget", "90s"],
    ];
    let mut digests = BTreeMap::new();
    for request in requests {
        for more in also {
            let args = [*request, *more].concat();
            digests.insert(args.join(" "), digest(&project, &args));
        }
    }
    digests
}

#[test]
fn hash_stable_across_versions() {
    let version = vplan::plan::document::VERSION;
    let golden = if file("golden/digests.json").exists() {
        read("golden/digests.json")
    } else {
        json!({"version": version})
    };
    let mut known: BTreeMap<String, String> =
        serde_json::from_value(golden.get("plans").cloned().unwrap_or_else(|| json!({}))).unwrap();
    let now: BTreeMap<String, String> = of_vectors().into_iter().chain(of_settings()).collect();
    if golden["version"] != version {
        known.clear();
    }
    let changed: Vec<&String> = now
        .iter()
        .filter(|(id, d)| known.get(*id).is_some_and(|k| k != *d))
        .map(|(id, _)| id)
        .collect();
    assert!(
        changed.is_empty(),
        "plans have other digests than version {version} gave them: {changed:#?}"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        known.extend(now);
        let text =
            serde_json::to_string_pretty(&json!({"plans": known, "version": version})).unwrap();
        std::fs::write(file("golden/digests.json"), text + "\n").unwrap();
        return;
    }
    assert!(now.len() >= 100, "{} plans", now.len());
    let missing: Vec<&String> = now.keys().filter(|id| !known.contains_key(*id)).collect();
    let gone: Vec<&String> = known.keys().filter(|id| !now.contains_key(*id)).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "new: {missing:?}; gone: {gone:?}"
    );
}
