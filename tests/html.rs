//! `vplan report --html`: one page that needs nothing else and that nothing foreign can change.

use crate::support::Project;

/// The tags of a page, without what stands between them and without the values of attributes.
pub fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, from)) = rest.split_once('<') {
        let (mut tag, mut quoted, mut end) = (String::new(), false, from.len());
        for (i, c) in from.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '>' if !quoted => {
                    end = i;
                    break;
                }
                c if !quoted => tag.push(c),
                _ => {}
            }
        }
        tags.push(tag);
        rest = &from[end..];
    }
    tags
}

fn page(foreign: &str) -> String {
    let project = Project::contract(
        "vplan 1\nrecover {\n  contract\n}\ncheck loud {\n  test sh loud.sh\n  retries 1\n}\ncheck ok: true\ncheck gone: npm run nope\n\
         whenChangedAny \"never/**\" {\n  check other: true\n}\n",
    );
    project.write("package.json", "{\"scripts\":{}}\n");
    project.write("foreign.txt", foreign);
    project.write(
        "loud.sh",
        "echo 'TAP version 13'\necho 1..1\nprintf 'not ok 1 - '\ncat foreign.txt\ncat foreign.txt >&2\nexit 1\n",
    );
    project.commit("all there is");
    project
        .run(&["run", "--changed", "loud.sh", "--keep-going"])
        .exits(42);
    project
        .run(&["report", "--html", "page.html"])
        .exits(0)
        .says("wrote `page.html`");
    project.read("page.html")
}

#[test]
fn nothing_foreign_changes_the_page() {
    let plain = page("x\n");
    for part in [
        "<h1 class=\"bad\">failed</h1>",
        "timeline",
        "left out",
        "loud",
        "never/**",
        "default-src 'none'",
    ] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    for foreign in [
        "http://", "https://", " src=", "url(", "@import", " style=", "unsafe", "onclick",
    ] {
        assert!(!plain.contains(foreign), "{foreign}");
    }
    // One script and one style, of vplan's own, and the policy has their hashes.
    for (element, directive) in [("script", "script-src"), ("style", "style-src")] {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        assert_eq!(
            plain.matches(&format!("<{element}")).count(),
            1,
            "{element}"
        );
        let body = plain
            .split_once(&open)
            .unwrap()
            .1
            .split_once(&close)
            .unwrap()
            .0;
        let digest = vplan::base::canon::Digest::hash(body.as_bytes());
        let hash = vplan::base::word::encode_base64(digest.as_bytes());
        assert!(
            plain.contains(&format!("{directive} 'sha256-{hash}'")),
            "{directive}"
        );
    }
    for foreign in [
        "<script>alert(1)</script>\n",
        "</pre></details><h1>passed</h1>\n",
        "\"><img src=x onerror=alert(1)>\n",
        "' style='position:fixed\n",
        "<!-- \n",
        "]]>&lt;b&gt;&amp;\u{202e}\u{1b}]0;x\u{7}\u{0}\n",
    ] {
        let hostile = page(foreign);
        assert_eq!(tags(&hostile), tags(&plain), "{foreign:?}");
        assert!(!hostile.contains(foreign.trim_end()), "{foreign:?}");
    }
}

#[test]
fn a_page_shows_the_last_runs_of_its_contract_and_names_the_project() {
    let project = Project::contract("vplan 1\ncheck flag: test -e flag\n");
    let root = project.root();
    let name = root.file_name().unwrap().to_str().unwrap();
    project.run(&["run", "--changed-none"]).exits(40);
    project.run(&["report", "--html", "one.html"]).exits(0);
    let one = project.read("one.html");
    assert!(
        one.contains(&format!("<title>{name}: failed · vplan</title>")),
        "{one}"
    );
    assert!(!one.contains("last runs"), "one run is no trend");
    project.write("flag", "");
    project.run(&["run", "--changed-none"]).exits(0);
    // Runs of another contract are not of this trend.
    project.write("other.vplan", "vplan 1\ncheck other: true\n");
    project
        .run(&["--contract", "other.vplan", "run", "--changed-none"])
        .exits(0);
    project
        .run(&["report", "latest~1", "--html", "two.html"])
        .exits(0);
    let two = project.read("two.html");
    assert!(
        two.contains("the last 2 runs of this contract: 1 passed; the longest took "),
        "{two}"
    );
    assert_eq!(two.matches("<g><title>").count(), 2);
    assert_eq!(two.matches("(this one)").count(), 1);
    // The digest is folded, and whole on demand.
    let digest = project
        .run(&["details", "latest~1", "--format", "json"])
        .json();
    let digest = digest["run"]["planDigest"].as_str().unwrap().to_owned();
    let short = &digest["sha256:".len()..][..12];
    assert!(two.contains(&format!(
        "<summary><code>{short}…</code></summary><code>{digest}</code>"
    )));
    // No more than 50, and the one of the page among them.
    for _ in 0..52 {
        project
            .run(&["run", "--changed-none", "--no-cache"])
            .exits(0);
    }
    project
        .run(&["report", "latest~54", "--html", "old.html"])
        .exits(0);
    let old = project.read("old.html");
    assert_eq!(old.matches("<g><title>").count(), 50);
    assert_eq!(old.matches("(this one)").count(), 1);
    assert!(old.contains("<h1 class=\"bad\">failed</h1>"));
}

#[test]
fn what_cannot_be_shown_or_written() {
    let project = Project::contract("vplan 1\ncheck ok: true\n");
    project.run(&["report", "--html", "x.html"]).exits(2);
    project.run(&["run", "--changed-none"]).exits(0);
    project
        .run(&["report", "--html", "no/such/place.html", "--format", "json"])
        .exits(2)
        .warns("vplan::usage::html");
    project.mkdir("taken");
    project
        .run(&["report", "--html", "taken"])
        .exits(2)
        .warns("vplan::usage::html");
    project
        .run(&["report", "--html", "-"])
        .exits(0)
        .says("<!DOCTYPE html>");
    let runs: Vec<_> = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    std::fs::remove_file(runs[0].join("report.json")).unwrap();
    project
        .run(&["report", "--html", "x.html"])
        .exits(2)
        .warns("vplan::records::no_page");
    assert!(!project.exists("x.html"));
}
