//! `vplan gc`: removes the records of old runs.

use super::answer::*;
use vplan_run::run_summary::started_at;
use vplan_store::history::Collected;

/// `vplan gc`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 removed; 2 usage; 5 the records cannot be read or removed.\n\nA run that is being written stays. \
                        Nothing outside the folder of the runs is touched, and nothing in it that is no run."
)]
pub struct Gc {
    /// Keep so many runs, the newest.
    #[arg(long, value_name = "N")]
    pub keep: u32,
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GcDocument {
    /// Of all files that were removed.
    bytes: u64,
    /// Whether nothing was really removed.
    dry_run: bool,
    /// Runs that had to stay although they are old.
    kept: Vec<KeptRun>,
    /// The runs that went.
    removed: Vec<Removed>,
}

/// A run that went.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Removed {
    /// Of all its files.
    bytes: u64,
    /// The run.
    run_id: String,
}

/// A run that had to stay.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Kept")]
struct KeptRun {
    /// The reason, in one line.
    reason: String,
    /// The run.
    run_id: String,
}

/// Removes all but the newest runs.
///
/// # Errors
/// Records that cannot be read or removed.
pub fn run(global: &Global, args: &Gc, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (site, history) = open(global, &args.records)?;
    let keep = usize::try_from(args.keep).unwrap_or(usize::MAX);
    let collected = history.collect(keep, args.dry_run)?;
    if let Ok(Some(vault)) = global.engine().kept_vault(&site)
        && !args.dry_run
    {
        let removed = collected.removed.iter();
        removed.for_each(|(id, _)| vault.forget(id));
    }
    let document = GcDocument::new(collected, args.dry_run);
    answer(terminal, format, &versioned(&document), || text(&document));
    Ok(0)
}

impl GcDocument {
    fn new(collected: Collected, dry_run: bool) -> Self {
        let kept = |(run_id, reason)| KeptRun { reason, run_id };
        let removed = |(run_id, bytes)| Removed { bytes, run_id };
        Self {
            bytes: collected.removed.iter().map(|(_, bytes)| bytes).sum(),
            dry_run,
            kept: collected.kept.into_iter().map(kept).collect(),
            removed: collected.removed.into_iter().map(removed).collect(),
        }
    }
}

fn text(document: &GcDocument) -> String {
    let mut text = String::new();
    for run in document.removed.iter().filter(|_| document.dry_run) {
        let (id, size) = (&run.run_id, size(run.bytes));
        let began = started_at(id).unwrap_or_default();
        let day = began.get(..10).unwrap_or_default();
        text.push_str(&format!("  {}  {day}  {size}\n", short(id)));
    }
    for run in &document.kept {
        let (id, reason) = (short(&run.run_id), &run.reason);
        text.push_str(&format!("  {id} stays: {reason}\n"));
    }
    let would = if document.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let (runs, size) = (count(document.removed.len(), "run"), size(document.bytes));
    text + &format!("{would} {runs}, {size}\n")
}

/// A size for people: `340 B`, `1.2 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, want) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (5 << 40, "5.0 TiB"),
        ] {
            assert_eq!(size(bytes), want);
        }
    }
}
