//! Makes example paths that a glob selects.

use super::Glob;
use super::automaton::machine::{Letters, Piece, pieces};
use super::pattern::Class;

impl Glob {
    /// Returns some paths that the glob selects, shortest first for each alternative. `**` becomes
    /// nothing or a filler, `*` and `?` its first letter.
    pub fn examples(&self, fillers: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for pieces in self.alternatives().iter().map(pieces) {
            for filler in std::iter::once(None).chain(fillers.iter().map(Some)) {
                let letter = filler.and_then(|f| f.chars().next()).unwrap_or('x');
                let of = |piece: &Piece| match piece {
                    Piece::Any => filler.map(|f| (*f).to_owned()),
                    Piece::One(letters) => {
                        Some(letters.iter().filter_map(|l| one(l, letter)).collect())
                    }
                };
                let path = pieces
                    .iter()
                    .filter_map(of)
                    .collect::<Vec<String>>()
                    .join("/");
                // `x/**` selects x too, but the author hardly meant that.
                let bare = filler.is_none() && matches!(pieces.last(), Some(Piece::Any));
                if !path.is_empty() && !bare && !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// Returns a character of the wanted letters; `*` gives one.
fn one(wanted: &Letters, letter: char) -> Option<char> {
    match wanted {
        Letters::Star | Letters::One => Some(letter),
        Letters::Char(c) => Some(*c),
        Letters::Class(Class {
            negated: false,
            ranges,
        }) => ranges.first().map(|(from, _)| *from),
        Letters::Class(class) => [letter, 'x', 'a', '0', '_', 'ä']
            .into_iter()
            .find(|c| class.contains(Some(*c))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_selected() {
        for (text, want) in [
            ("src/**", &["src/f"][..]),
            ("**/*.rs", &["x.rs", "f/f.rs"]),
            ("a/**/b?", &["a/bx", "a/f/bf"]),
            ("{a,b/[!x]}", &["a", "b/a", "b/f"]),
            (r"\*[c-e]", &["*c"]),
        ] {
            let glob = Glob::parse(text).unwrap();
            let found = glob.examples(&["f"]);
            assert_eq!(found, want, "{text}");
            for path in found {
                assert!(
                    glob.matches(&crate::path::RepoPath::parse(path.as_bytes()).unwrap()),
                    "{text} {path}"
                );
            }
        }
    }
}
