//! Which tiers does a request reach, and why?
