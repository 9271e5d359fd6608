//! A hash table for lookups only: no result depends on its order.

/// The initial hash.
pub(super) const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a hash by one byte (FNV-1a, 64 bits), so that one pass over a path yields the hash of
/// each of its ancestors.
#[inline]
pub(super) fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// Hashes some bytes.
pub(super) fn hash<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes.into_iter().fold(SEED, |hash, byte| step(hash, *byte))
}

/// Open addressing from hashes to numbers; the caller stores the keys.
#[derive(Default)]
pub(super) struct Table {
    /// A part of the hash, and the number plus one; zero in a free slot.
    slots: Vec<(u32, u32)>,
    used: usize,
}

impl Table {
    /// Finds the number of a key. `same` decides whether a number belongs to exactly this key.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let (mut slot, tag) = self.place(hash)?;
        loop {
            match self.slots.get(slot) {
                Some((_, 0)) | None => return None,
                Some((other, number)) if *other == tag && same(number - 1) => {
                    return Some(number - 1);
                }
                Some(_) => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Inserts a key that is not in the table. `rehash` returns the hash of a number's key.
    pub(super) fn insert(&mut self, hash: u64, number: u32, rehash: impl Fn(u32) -> u64) {
        // At most half full, so that a search for a missing key ends soon.
        if self.slots.len() < 2 * (self.used + 1) {
            let size = (4 * (self.used + 1)).next_power_of_two().max(8);
            let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
            for (_, number) in old.into_iter().filter(|(_, number)| *number > 0) {
                self.insert_slot(rehash(number - 1), number - 1);
            }
        }
        self.insert_slot(hash, number);
        self.used += 1;
    }

    fn insert_slot(&mut self, hash: u64, number: u32) {
        let Some((mut slot, tag)) = self.place(hash) else {
            return;
        };
        while let Some(entry) = self.slots.get_mut(slot) {
            if entry.1 == 0 {
                *entry = (tag, number + 1);
                return;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns the start of a search, and the tag that is compared first.
    #[inline]
    fn place(&self, hash: u64) -> Option<(usize, u32)> {
        let last = self.slots.len().checked_sub(1)?;
        // FNV's high bits are its good ones.
        let mixed = hash ^ (hash >> 32);
        let slot = usize::try_from(mixed & 0xffff_ffff).unwrap_or(0) & last;
        Some((slot, (hash >> 32) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found() {
        // The hashes collide in their place, in their tag, and in both.
        let keys: Vec<u64> = (0..500)
            .map(|i| [i << 32, i, i % 7, i * 0x1_0000_0001][i as usize % 4])
            .collect();
        let mut table = Table::default();
        for (key, number) in keys.iter().zip(0..) {
            assert_eq!(table.find(*key, |n| n == number), None);
            table.insert(*key, number, |n| keys[n as usize]);
        }
        for (key, number) in keys.iter().zip(0..) {
            assert_eq!(table.find(*key, |n| n == number), Some(number));
        }
        // FNV-1a, 64 bits, of `foobar`, from its authors' test suite.
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
