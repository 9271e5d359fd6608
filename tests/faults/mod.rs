//! What must be withstood.
