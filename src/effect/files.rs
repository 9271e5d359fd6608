//! How are files of the repository read and found?
