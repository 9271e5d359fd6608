//! How is git asked, hardened against the repository's own configuration?
