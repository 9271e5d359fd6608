//! In which order do things stand that must stand in some order? Tables of who is before whom,
//! filled by brute force.

/// `table[a][b]`: whether a stands before b.
pub type Before = Vec<Vec<bool>>;

/// Nobody before anybody.
pub fn nothing(count: usize) -> Before {
    vec![vec![false; count]; count]
}

/// Adds what follows: before the one before is before.
pub fn closed(mut table: Before) -> Before {
    let count = table.len();
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                table[a][b] |= table[a][middle] && table[middle][b];
            }
        }
    }
    table
}

/// Whether somebody is before himself.
pub fn is_cyclic(table: &Before) -> bool {
    let all = closed(table.clone());
    (0..all.len()).any(|a| all[a][a])
}

/// Of those that wait for nobody any more, again and again the least; none when everybody left
/// waits.
pub fn sorted<K: Ord>(table: &Before, key: impl Fn(usize) -> K) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::new();
    let mut left: Vec<usize> = (0..table.len()).collect();
    while !left.is_empty() {
        let is_ready = |n: &&usize| !left.iter().any(|other| table[*other][**n]);
        let next = *left.iter().filter(is_ready).min_by_key(|n| key(**n))?;
        order.push(next);
        left.retain(|n| *n != next);
    }
    Some(order)
}
