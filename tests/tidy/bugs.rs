//! How much of the code is about what cannot happen: sites of the internal error, and lookups that
//! bail out in silence where an index does not fit.

use super::{code, source_files};
use regex::Regex;

/// The most sites of `bug(`.
const BUGS: usize = 19;
/// The most lookups of the form `let Some(..) = ..get(..) else { return }`. It may only fall: what
/// is left looks up something that need not be there, by a name, or in a text or a file.
const BAIL_OUTS: usize = 20;

fn bail_outs(code: &str) -> Vec<String> {
    let lookup = r"let Some\([^=;]*\)\s*=\s*[^;]*?\.get(?:_mut)?\([^;]*?";
    let way_out = r"else\s*\{\s*(?:return[^;{}]*|continue);?\s*\}";
    let shape = Regex::new(&format!("{lookup}{way_out}")).unwrap();
    let found = shape.find_iter(code).map(|m| m.as_str().to_owned());
    found.collect()
}

#[test]
fn what_cannot_happen_is_a_bug_in_few_places() {
    let site = Regex::new(r"\bbug\(").unwrap();
    let mut sites = Vec::new();
    for (file, text) in source_files() {
        let code = code(&text).replace("fn bug(", "");
        sites.extend(site.find_iter(&code).map(|_| file.clone()));
    }
    assert!(sites.len() > 2, "the pattern finds nothing: {sites:?}");
    assert!(
        sites.len() <= BUGS,
        "{} sites of `bug(`, more than {BUGS}: {sites:#?}",
        sites.len()
    );
}

#[test]
fn few_lookups_bail_out_in_silence() {
    let mut found = Vec::new();
    // A key of somebody's file need not be there.
    let by_key = Regex::new(r#"\.get\("[^"]*"\)"#).unwrap();
    for (file, text) in source_files() {
        if file.ends_with("tests.rs") {
            continue;
        }
        let all = bail_outs(&by_key.replace_all(&code(&text), ".key()"));
        found.extend(all.into_iter().map(|shape| format!("src/{file}: {shape}")));
    }
    assert!(
        found.len() <= BAIL_OUTS,
        "{} lookups, more than {BAIL_OUTS}:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn bail_outs_are_found() {
    let text = "let Some(a) = b.get(1) else { return };
let Some((a, b)) = self.c.get_mut(i).zip(d.get(i))
else {
    continue;
};
let Some(a) = b.get(1) else { return None; };
let Some(a) = b.first() else { return };
let Some(a) = b.get(1) else { bug(\"no b\") };
let a = b.get(1)?; let Some(a) = c else { return };
";
    assert_eq!(bail_outs(text).len(), 3, "{:#?}", bail_outs(text));
}
