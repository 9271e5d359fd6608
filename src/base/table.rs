//! Reads tables from files. They have rows of columns, for people who know the subject but not
//! Rust.

/// Returns the rows of a table with `N` columns, separated by ` | `. Empty lines and those that
/// begin with `#` are skipped. Missing columns are empty; the last column holds the rest of its
/// line.
pub fn rows<const N: usize>(text: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut columns = line.splitn(N, " | ");
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let read: Vec<[&str; 3]> = rows("# a\n\na | b | c | d\ne\n").collect();
        assert_eq!(read, [["a", "b", "c | d"], ["e", "", ""]]);
    }
}
