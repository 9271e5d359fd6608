//! What must be withstood.
mod git;
