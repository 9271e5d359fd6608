//! When does a `file` check pass?
