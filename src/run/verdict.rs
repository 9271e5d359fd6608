//! Is the plan verified, and which exit code says so?
