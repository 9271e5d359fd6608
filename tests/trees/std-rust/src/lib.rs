//! A small crate.

/// The sum of two numbers.
///
/// ```
/// assert_eq!(std_rust::sum(1, 2), 3);
/// ```
pub fn sum(a: i64, b: i64) -> i64 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn adds() {
        assert_eq!(sum(2, 2), 4);
    }
}
