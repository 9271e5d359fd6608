//! States the law of parsing git's output and files, for tests and fuzzing.

use super::index::{GitIndex, parse};
use super::listing::Listing;
use super::split_nul;
use super::worktree::listed_entry;

/// Checks the law for any bytes that git may print, or store in an index. Parsing is total, no path
/// is invented or leaves the repository, and each of several lists in a row reads as it does alone.
///
/// # Errors
/// The violated property.
pub fn bytes(bytes: &[u8]) -> Result<(), &'static str> {
    if let Some(listing) = Listing::read(bytes.to_vec()) {
        let mut previous: &[u8] = b"";
        for file in listing.iter() {
            if !bytes.windows(file.path.len()).any(|w| w == file.path) {
                return Err("a path from nowhere");
            }
            if file.path <= previous || listing.get(file.path) != Some(file) {
                return Err("a path out of order");
            }
            previous = file.path;
        }
        if listing.iter().count() != memchr::memchr_iter(0, bytes).count() {
            return Err("a file is missing");
        }
    }
    for record in split_nul(bytes) {
        if let Some(entry) = listed_entry(&record)
            && !record.ends_with(&entry.path)
        {
            return Err("an entry from nowhere");
        }
    }
    for length in [20, 32] {
        let GitIndex::Entries(entries) = parse(bytes, length) else {
            continue;
        };
        if entries.len() > bytes.len() / 40 {
            return Err("more entries than bytes for them");
        }
        if entries
            .iter()
            .any(|e| e.stage > 3 || e.id.length() != length || e.path.contains(&0))
        {
            return Err("no entry");
        }
        // All but the last byte is another form, or damaged.
        let cut = bytes.get(..bytes.len() - 1).unwrap_or_default();
        if let GitIndex::Entries(fewer) = parse(cut, length)
            && fewer.len() != entries.len()
        {
            return Err("other entries without the last byte");
        }
    }
    Ok(())
}
