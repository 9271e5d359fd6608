//! Days.

/// Returns the number of days of a common year.
pub fn days() -> u32 {
    365
}

#[cfg(test)]
mod tests {
    #[test]
    fn days() {
        assert_eq!(super::days(), 365);
    }
}
