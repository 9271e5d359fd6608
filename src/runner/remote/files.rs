//! The files that go with a step: all inputs that the contract declares.

use super::lost::Lost;
use std::collections::BTreeSet;
use vplan_away::answer::LeftFile;
use vplan_away::order::{MOST_BYTES, MOST_FILES};
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_os::files::beneath::Beneath;
use vplan_os::process::program::{Root, SearchPath, resolve};
use vplan_os::stat_cache::StatCacheStats;
use vplan_plan::Step;
use vplan_reuse::key::{KeyPrints, Print, all_of, depends_on};
use vplan_reuse::shared::portable;
use vplan_store::reuse::scan::{InputScan, Same, ScanPlace, scan};

/// The files that a step is sent with.
pub struct SentFiles {
    /// How they are.
    pub prints: KeyPrints,
    /// Their sizes in bytes, in the order of the paths; 0 for symlinks.
    pub sizes: Vec<u64>,
}

/// Returns the files that a step depends on, without machine-specific ones and its own outputs.
/// That is the selection of `inputs`, `requires` and `unchanged`, and its program if it is in the
/// repository. `stats`: known digests.
///
/// # Errors
/// Why they cannot be sent.
pub(super) fn given(
    root: &Root,
    beneath: &Beneath,
    step: &Step,
    search: &SearchPath,
    stats: &mut StatCacheStats,
) -> Result<SentFiles, Lost> {
    let mut wanted = depends_on(step);
    wanted.extend(step.unchanged.clone());
    let word = step
        .argv
        .iter()
        .flatten()
        .next()
        .map_or(&b""[..], Word::as_bytes);
    // If it is not found, the answer reports that.
    if let Ok((program, _)) = resolve(root, search, &step.dir, word) {
        let real = program.path.canonicalize().ok();
        let both = [Some(program.path), real].into_iter().flatten();
        wanted.extend(both.filter_map(|path| in_repository(root, &path)));
    }
    let scanned = scanned(root, beneath, &wanted, stats)?;
    let is_made = |path: &RepoPath| step.produces.iter().any(|glob| glob.matches(path));
    let (prints, sizes): (Vec<(RepoPath, Print)>, Vec<u64>) = scanned
        .files()
        .filter(|(path, _)| !is_made(path))
        .map(|(path, file)| {
            let mut print = portable(&file.print);
            if print.link.is_some() {
                print.content = None;
            }
            let stamp = file.stamp.filter(|_| print.content.is_some());
            let size = stamp.map_or(0, |stamp| stamp.size());
            ((path.clone(), print), size)
        })
        .unzip();
    let prints: KeyPrints = prints.into_iter().collect();
    if prints.len() > MOST_FILES {
        let count = prints.len();
        let why = format!("it depends on {count} files, and at most {MOST_FILES} are sent");
        return Err(Lost::Never(why));
    }
    if sizes.iter().sum::<u64>() > MOST_BYTES {
        return Err(Lost::Never("it depends on more than 2 GiB".to_owned()));
    }
    fit(&prints)?;
    Ok(SentFiles { prints, sizes })
}

/// Checks that all files can be expressed elsewhere.
fn fit(files: &KeyPrints) -> Result<(), Lost> {
    let unfit = |why| Err(Lost::Never(why));
    let mut folders = None;
    for (path, print) in files {
        if std::str::from_utf8(path.as_bytes()).is_err() {
            return unfit(format!("the name of `{path}` is not UTF-8"));
        }
        let Some(link) = &print.link else { continue };
        if std::str::from_utf8(link.as_bytes()).is_err() {
            return unfit(format!("`{path}` leads to what is not UTF-8"));
        }
        let target = path.leads_to(link.as_bytes());
        let folders: &BTreeSet<RepoPath> =
            folders.get_or_insert_with(|| files.keys().flat_map(RepoPath::ancestors).collect());
        if !target.is_some_and(|to| files.contains_key(&to) || folders.contains(&to)) {
            return unfit(format!("`{path}` is a link to what does not go with it"));
        }
    }
    Ok(())
}

/// Returns the files that a step produces, that are there, and that it has not made now.
pub(super) fn stale(
    root: &Root,
    beneath: &Beneath,
    step: &Step,
    made: &[LeftFile],
) -> Vec<RepoPath> {
    if step.produces.is_empty() {
        return Vec::new();
    }
    let made: BTreeSet<&RepoPath> = made.iter().map(|file| &file.path).collect();
    let there = scanned(
        root,
        beneath,
        &[all_of(&step.produces)],
        &mut StatCacheStats::default(),
    );
    let there = there.unwrap_or_default();
    let paths = there.files().map(|(path, _)| path);
    paths.filter(|path| !made.contains(path)).cloned().collect()
}

fn scanned(
    root: &Root,
    beneath: &Beneath,
    wanted: &[Selection],
    stats: &mut StatCacheStats,
) -> Result<InputScan, Lost> {
    let place = ScanPlace {
        root: root.path(),
        beneath,
        tree: None,
        same: Same::All,
    };
    let scanned = scan(place, wanted, stats).map_err(|why| Lost::Never(why.to_string()))?;
    Ok(scanned.scan)
}

/// Returns the selection of a file of the repository.
fn in_repository(root: &Root, file: &std::path::Path) -> Option<Selection> {
    use std::os::unix::ffi::OsStrExt as _;
    let below = file.strip_prefix(root.path()).ok()?;
    let path = RepoPath::parse(below.as_os_str().as_bytes()).ok()?;
    let glob = vplan_base::glob::Glob::literal(&path)?;
    Some(all_of(&[glob]))
}
