//! Values of flags that stand in several files of flags.

/// Reads a length of time. Returns its milliseconds.
pub(super) fn duration(text: &str) -> Result<u64, String> {
    vplan_base::unit::parse_duration(text)
        .map_err(|_| "expected a duration such as `10m`".to_owned())
}
