//! How long a store on another machine may take.

use std::time::Duration;

/// The time to connect, and that of a look-up.
pub(super) const CONNECT: Duration = Duration::from_secs(2);
pub(super) const LOOK_UP: Duration = Duration::from_secs(1);
/// The time that a content has whatever its size, the most that it has, and the bytes for which it has a second more.
const LEAST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);
const A_SECOND: u64 = 1 << 20;

/// Returns the time that a content of so many bytes has on its way.
pub(super) fn time_of(bytes: u64) -> Duration {
    LONGEST.min(LEAST + Duration::from_secs(bytes / A_SECOND))
}
