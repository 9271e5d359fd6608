//! Which files have changed, from whichever source the caller names?
