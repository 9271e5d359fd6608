//! Aligns two lists by their longest common subsequence, for people to read.

/// Maximum number of cells that are compared one by one.
const CELLS: usize = 4_000_000;

/// A row of two aligned lists: equal on both sides, or on one side only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignmentRow<'t> {
    /// The expected name.
    pub expected: Option<&'t str>,
    /// The actual name.
    pub actual: Option<&'t str>,
}

/// Aligns two lists. Either column, read downwards, gives its list; rows with both sides hold equal
/// names, and there are as many of them as possible. If the lists differ over millions of pairs,
/// only their equal beginnings and ends are aligned.
pub fn align<'t>(expected: &[&'t str], actual: &[&'t str]) -> Vec<AlignmentRow<'t>> {
    let is_same = |(a, b): &(&&str, &&str)| a == b;
    let same = expected.iter().zip(actual).take_while(is_same).count();
    let (head, expected) = expected.split_at(same.min(expected.len()));
    let actual = actual.get(same..).unwrap_or_default();
    let ends = expected.iter().rev().zip(actual.iter().rev());
    let tail = ends.take_while(is_same).count();
    let (left, end) = expected.split_at(expected.len() - tail);
    let right = actual.get(..actual.len() - tail).unwrap_or_default();
    let both = |name: &&'t str| AlignmentRow {
        expected: Some(name),
        actual: Some(name),
    };
    let mut rows: Vec<AlignmentRow<'t>> = head.iter().map(both).collect();
    middle(left, right, &mut rows);
    rows.extend(end.iter().map(both));
    rows
}

fn middle<'t>(left: &[&'t str], right: &[&'t str], rows: &mut Vec<AlignmentRow<'t>>) {
    let row = |expected, actual| AlignmentRow { expected, actual };
    let only_left = |name: &&'t str| row(Some(*name), None);
    let only_right = |name: &&'t str| row(None, Some(*name));
    if left.len().saturating_mul(right.len()) > CELLS {
        rows.extend(left.iter().map(only_left));
        rows.extend(right.iter().map(only_right));
        return;
    }
    // For each pair of suffixes of the lists the length of their longest common subsequence, with
    // one more row and column for the empty ones.
    let width = right.len() + 1;
    let mut common = vec![0_u32; (left.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            let best = if a == b {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        match (left.get(i), right.get(j)) {
            (Some(a), Some(b)) if a == b => {
                rows.push(row(Some(*a), Some(*b)));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), Some(_)) if at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                rows.push(only_left(a));
                i += 1;
            }
            (_, Some(b)) => {
                rows.push(only_right(b));
                j += 1;
            }
            (Some(a), None) => {
                rows.push(only_left(a));
                i += 1;
            }
            (None, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        for (expected, actual, want) in [
            ("", "", ""),
            ("a", "", "-a"),
            ("", "a", "+a"),
            ("a b c", "a b c", "a b c"),
            ("a b c", "a c", "a -b c"),
            ("a c", "a b c", "a +b c"),
            ("a b c d", "a x c d", "a -b +x c d"),
            ("a b", "b a", "-a b +a"),
            ("a b c d e", "x b d y e z", "-a +x b -c d +y e +z"),
        ] {
            let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            let show = |row: &AlignmentRow<'_>| match (row.expected, row.actual) {
                (Some(a), Some(_)) => a.to_owned(),
                (Some(a), None) => format!("-{a}"),
                (None, b) => format!("+{}", b.unwrap_or_default()),
            };
            let got: Vec<String> = align(&split(expected), &split(actual))
                .iter()
                .map(show)
                .collect();
            assert_eq!(got.join(" "), want, "{expected} | {actual}");
        }
    }

    #[test]
    fn long_lists_are_not_compared_pair_by_pair() {
        let names: Vec<String> = (0..5_000).map(|i| i.to_string()).collect();
        let there: Vec<&str> = names.iter().map(String::as_str).collect();
        let back: Vec<&str> = there.iter().rev().copied().collect();
        assert_eq!(align(&there, &back).len(), 10_000);
        assert_eq!(align(&there, &there).len(), 5_000);
    }
}
