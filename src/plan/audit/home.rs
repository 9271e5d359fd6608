//! Paths outside of the repository, as they are shown: by the user's folder, to a depth.

use vplan_base::word::Word;
/// The folders of a path that are named, below the user's folder and elsewhere.
pub(super) const SHOWN_DEPTH: usize = 2;

/// Whether a folder is deep enough to be that of one program.
pub(crate) fn is_narrow(home: Option<&Word>, path: &Word) -> bool {
    let (_, rest) = from_home(home, path);
    rest.split(|byte| *byte == b'/').count() >= SHOWN_DEPTH
}

/// Returns the part of an absolute path below a folder, without the slash between them; the empty one
/// of the folder itself.
pub(super) fn below<'p>(path: &'p [u8], root: &[u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(root)?;
    match rest {
        [] => Some(rest),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Returns how a path begins, and its rest: below the user's folder, or the root.
pub(super) fn from_home<'p>(home: Option<&Word>, path: &'p Word) -> (&'static str, &'p [u8]) {
    let path = path.as_bytes();
    match home.and_then(|home| below(path, home.as_bytes())) {
        Some(rest) => ("~", rest),
        None => ("", path.strip_prefix(b"/").unwrap_or(path)),
    }
}
