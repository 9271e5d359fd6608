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
    for foreign in ["http://", "https://", "<script", "src=", "url(", "@import"] {
        assert!(!plain.contains(foreign), "{foreign}");
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
