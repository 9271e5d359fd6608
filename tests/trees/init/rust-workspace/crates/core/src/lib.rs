//! Counts hovering birds.

/// Adds one bird.
///
/// ```
/// assert_eq!(kestrel_core::add(1), 2);
/// ```
pub fn add(birds: u32) -> u32 {
    birds + 1
}
