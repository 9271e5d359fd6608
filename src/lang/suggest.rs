//! Which known word did the user mean?

/// The known word nearest to a misspelt one, if one is near enough: equal but for case, or within a third of its length
/// of insertions, deletions, changes and swaps. The first of equally near ones.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no slips of the finger, and comparing costs the product of both lengths.
    if word.len() > 48 {
        return None;
    }
    let lower = word.to_lowercase();
    let most = |name: &str| (name.len().max(word.len()) / 3).clamp(1, 3);
    known
        .into_iter()
        .filter(|name| name.len().abs_diff(word.len()) <= most(name))
        .filter_map(|name| {
            let folded = name.to_lowercase();
            let distance = if folded == lower { 0 } else { 2 * strsim::osa_distance(&folded, &lower) };
            (distance <= 2 * most(name) && (distance == 0 || name.len() > 2)).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips() {
        let known = ["byRole", "run", "timeout", "tier", "needs", "test"];
        for (word, want) in [
            ("byrole", Some("byRole")),
            ("timeot", Some("timeout")),
            ("tets", Some("test")),
            ("rnu", Some("run")),
            ("x", None),
            ("completely", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), want, "{word}");
        }
    }
}
