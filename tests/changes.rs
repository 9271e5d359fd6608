//! Sources of changed files, on real repositories.
