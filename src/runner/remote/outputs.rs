//! Copies the outputs of a remote step into the repository: all that the answer lists, or none.

use super::lost::Lost;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use vplan_away::answer::LeftFile;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_os::files::beneath::Beneath;
use vplan_os::process::program::{Root, message_of};
use vplan_os::process::writable::{copy_in, link_in};
use vplan_os::scratch;
use vplan_store::reuse::content::copy;

/// Copies the files that an answer lists from a folder.
///
/// # Errors
/// The files differ from the list: then none is taken. A file cannot be written. For people.
pub(super) fn take(root: &Root, from: &Path, left: &[LeftFile]) -> Result<(), Lost> {
    if left.is_empty() {
        return Ok(());
    }
    let system = |error: std::io::Error| Lost::Again(message_of(&error));
    let beneath = Beneath::open(from).map_err(system)?;
    let folder = scratch::temporary().map_err(system)?;
    let mut links = Vec::new();
    let mut copies = Vec::new();
    for LeftFile { path, print, size } in left {
        let refused = |why: &str| Lost::Again(format!("`{path}`, which it left, {why}"));
        if let Some(target) = &print.link {
            if !path
                .leads_to(target.as_bytes())
                .is_some_and(|to| is_free(&to))
            {
                let target = visible(target.as_bytes());
                return Err(refused(&format!(
                    "is a link to `{target}`, which leads elsewhere"
                )));
            }
            links.push((path, target));
            continue;
        }
        let file = beneath
            .file(path)
            .map_err(|_| refused("did not come back"))?;
        let own = folder.path().join(copies.len().to_string());
        let mut new = File::create_new(&own).map_err(system)?;
        let (digest, bytes) = copy(file, &mut new).map_err(system)?;
        if print.content.as_ref() != Some(&digest) || bytes != *size {
            return Err(refused("came back with another content"));
        }
        let mode = if print.mode & 0o100 == 0 {
            0o644
        } else {
            0o755
        };
        new.set_permissions(Permissions::from_mode(mode))
            .map_err(system)?;
        copies.push((path, own));
    }
    let uncopied = |path| move |e| Lost::Again(format!("`{path}`, which it left: {e}"));
    for (path, own) in copies {
        copy_in(root, path, &own).map_err(uncopied(path))?;
    }
    for (path, target) in links {
        link_in(root, path, target.as_bytes()).map_err(uncopied(path))?;
    }
    Ok(())
}

/// Whether a link may lead to a place.
fn is_free(path: &RepoPath) -> bool {
    let hidden = [&b".git"[..], b".vplan"];
    !path.is_root() && !path.segments().any(|part| hidden.contains(&part))
}
